package memory

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// PutTurnState implements store.Records.
func (s *Store) PutTurnState(ctx context.Context, st store.TurnState) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, err := s.messageOf(st.Owner, st.Msg); err != nil {
		return err
	}
	st.ExpiresAt, st.Data = st.ExpiresAt.UTC(), bytes.Clone(st.Data)
	s.turns[st.Msg] = st
	return nil
}

// TurnState implements store.Records.
func (s *Store) TurnState(ctx context.Context, msg string) (store.TurnState, error) {
	if err := s.lock(ctx); err != nil {
		return store.TurnState{}, err
	}
	defer s.mu.Unlock()
	st, ok := s.turns[msg]
	if !ok {
		return store.TurnState{}, notFound("state of the turn of message", msg)
	}
	return st, nil
}

// DeleteTurnState implements store.Records.
func (s *Store) DeleteTurnState(ctx context.Context, msg string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	delete(s.turns, msg)
	return nil
}

// PausedBefore implements store.Records.
func (s *Store) PausedBefore(ctx context.Context, t time.Time) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []store.TurnState
	for msg, st := range s.turns {
		if st.Paused && !st.ExpiresAt.IsZero() && st.ExpiresAt.Before(t) && s.messages[msg].Status == event.StatusPaused {
			found = append(found, st)
		}
	}
	slices.SortFunc(found, func(a, b store.TurnState) int {
		return cmp.Or(a.ExpiresAt.Compare(b.ExpiresAt), cmp.Compare(a.Msg, b.Msg))
	})
	var msgs []string
	for _, st := range found {
		msgs = append(msgs, st.Msg)
	}
	return msgs, nil
}

// ResumeTurn implements store.Records.
func (s *Store) ResumeTurn(ctx context.Context, o store.Owner, msg string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	m, err := s.messageOf(o, msg)
	if err != nil {
		return err
	}
	c := s.conversations[m.Conversation]
	switch {
	case m.Status != event.StatusPaused:
		return fmt.Errorf("memory: resume the turn of %s: it is not paused: %w", msg, store.ErrConflict)
	case c.Running != "":
		return fmt.Errorf("memory: resume the turn of %s: %w", msg, &store.RunningError{Msg: c.Running})
	}
	m.Status, c.Running = event.StatusRunning, msg
	s.tell(c, store.FeedMessageUpdated, store.FeedData{MsgID: msg, Seq: m.Seq, Status: m.Status})
	s.tell(c, store.FeedTurnStarted, store.FeedData{MsgID: msg})
	s.touch(c)
	return nil
}

// PutFeedback implements store.Records.
func (s *Store) PutFeedback(ctx context.Context, o store.Owner, msg string, f store.Feedback) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	m, err := s.messageOf(o, msg)
	if err != nil {
		return err
	}
	if f.At.IsZero() {
		f.At = s.now()
	}
	f.At = f.At.UTC()
	m.Feedback = &f
	if f.Rating == "" {
		m.Feedback = nil
	}
	s.tell(s.conversations[m.Conversation], store.FeedMessageUpdated, store.FeedData{MsgID: msg, Seq: m.Seq, Status: m.Status})
	return nil
}
