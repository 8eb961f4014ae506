package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// PutTurnState implements store.Records.
func (s *Store) PutTurnState(ctx context.Context, st store.TurnState) error {
	return s.write(ctx, func(t *tx) error {
		err := t.owned(st.Owner, st.Msg)
		if err == nil {
			_, err = t.exec(`INSERT INTO turn_states (message, paused, expires, data) VALUES (?, ?, ?, ?)
				ON CONFLICT (message) DO UPDATE SET paused = excluded.paused, expires = excluded.expires, data = excluded.data`,
				st.Msg, st.Paused, nanos(st.ExpiresAt), []byte(st.Data))
		}
		return wrap("store the state of the turn of "+st.Msg, err)
	})
}

// TurnState implements store.Records.
func (s *Store) TurnState(ctx context.Context, msg string) (store.TurnState, error) {
	st := store.TurnState{Msg: msg}
	var expires int64
	err := s.scan(ctx, `SELECT m.tenant, m.user, t.paused, t.expires, t.data
		FROM turn_states t JOIN messages m ON m.id = t.message WHERE t.message = ?`, []any{msg},
		&st.Owner.Tenant, &st.Owner.User, &st.Paused, &expires, (*[]byte)(&st.Data))
	if err != nil {
		return store.TurnState{}, wrap("state of the turn of "+msg, err)
	}
	st.ExpiresAt = fromNanos(expires)
	return st, nil
}

// DeleteTurnState implements store.Records.
func (s *Store) DeleteTurnState(ctx context.Context, msg string) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM turn_states WHERE message = ?", msg)
		return wrap("delete the state of the turn of "+msg, err)
	})
}

// PausedBefore implements store.Records.
func (s *Store) PausedBefore(ctx context.Context, before time.Time) ([]string, error) {
	var msgs []string
	err := s.each(ctx, `SELECT t.message FROM turn_states t JOIN messages m ON m.id = t.message
		WHERE t.paused = 1 AND t.expires > 0 AND t.expires < ? AND m.status = 'paused' ORDER BY t.expires, t.message`,
		[]any{nanos(before)}, func(row scanner) error {
			var msg string
			err := row.Scan(&msg)
			msgs = append(msgs, msg)
			return err
		})
	return msgs, wrap("paused turns", err)
}

// ResumeTurn implements store.Records.
func (s *Store) ResumeTurn(ctx context.Context, o store.Owner, msg string) error {
	return s.write(ctx, func(t *tx) error { return wrap("resume the turn of "+msg, s.resume(t, o, msg)) })
}

func (s *Store) resume(t *tx, o store.Owner, msg string) error {
	var conv, running string
	var status event.Status
	var seq uint64
	err := t.scan(`SELECT m.conversation, m.status, m.seq, c.running FROM messages m JOIN conversations c ON c.id = m.conversation
		WHERE m.id = ? AND m.tenant = ? AND m.user = ?`, []any{msg, o.Tenant, o.User}, &conv, &status, &seq, &running)
	switch {
	case err != nil:
		return err
	case status != event.StatusPaused:
		return fmt.Errorf("it is not paused: %w", store.ErrConflict)
	case running != "":
		return &store.RunningError{Msg: running}
	}
	if _, err := t.exec("UPDATE messages SET status = 'running' WHERE id = ?", msg); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE conversations SET running = ? WHERE id = ?", msg, conv); err != nil {
		return err
	}
	if err := s.touch(t, conv); err != nil {
		return err
	}
	for _, e := range []struct {
		typ  string
		data store.FeedData
	}{
		{store.FeedMessageUpdated, store.FeedData{MsgID: msg, Seq: seq, Status: event.StatusRunning}},
		{store.FeedTurnStarted, store.FeedData{MsgID: msg}},
		{store.FeedConversationUpdated, store.FeedData{ID: conv}},
	} {
		if _, err := s.feed(t, conv, e.typ, e.data); err != nil {
			return err
		}
	}
	return nil
}

// PutFeedback implements store.Records.
func (s *Store) PutFeedback(ctx context.Context, o store.Owner, msg string, f store.Feedback) error {
	if f.At.IsZero() {
		f.At = s.opt.now()
	}
	f.At = f.At.UTC()
	var doc []byte
	if f.Rating != "" {
		var err error
		if doc, err = json.Marshal(f); err != nil {
			return err
		}
	}
	return s.write(ctx, func(t *tx) error {
		var conv string
		d := store.FeedData{MsgID: msg}
		err := t.scan("UPDATE messages SET feedback = ? WHERE id = ? AND tenant = ? AND user = ? RETURNING conversation, seq, status",
			[]any{doc, msg, o.Tenant, o.User}, &conv, &d.Seq, &d.Status)
		if err == nil {
			_, err = s.feed(t, conv, store.FeedMessageUpdated, d)
		}
		return wrap("store feedback on message "+msg, err)
	})
}
