package memory

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// messageLog is one message's log. Elements of events are never changed.
type messageLog struct {
	group   int
	base    uint64 // the last seq before the group
	epoch   uint64
	owner   string // empty while nobody has the lease
	expires time.Time
	open    bool
	ended   time.Time
	trimmed uint64
	events  []event.Event // from trimmed+1 on
	// changed is closed and replaced when there is something new to read.
	changed chan struct{}
}

// wake tells the readers of the log that something changed.
func (l *messageLog) wake() {
	close(l.changed)
	l.changed = make(chan struct{})
}

func (l *messageLog) last() uint64 { return l.trimmed + uint64(len(l.events)) }

func (l *messageLog) holds(lease store.Lease) bool {
	return l != nil && l.epoch == lease.Epoch && l.owner == lease.Owner
}

// Acquire implements store.Log.
func (s *Store) Acquire(ctx context.Context, msg, owner string, ttl time.Duration) (store.Lease, uint64, error) {
	if msg == "" || owner == "" {
		return store.Lease{}, 0, errors.New("memory: acquire: a message and an owner are needed")
	}
	patience := time.After(time.Second)
	for {
		if err := s.lock(ctx); err != nil {
			return store.Lease{}, 0, err
		}
		l := s.logs[msg]
		if l == nil || l.owner == "" || !s.now().Before(l.expires) {
			break
		}
		err := fmt.Errorf("memory: the log of %s is leased by %s: %w", msg, l.owner, store.ErrConflict)
		open, changed := l.open, s.changed
		s.mu.Unlock()
		if open {
			return store.Lease{}, 0, err
		}
		select {
		case <-changed:
		case <-patience:
			return store.Lease{}, 0, err
		case <-ctx.Done():
			return store.Lease{}, 0, ctx.Err()
		}
	}
	defer s.mu.Unlock()
	l := s.logs[msg]
	if l == nil {
		l = &messageLog{changed: make(chan struct{})}
		s.logs[msg] = l
	}
	if !l.open {
		l.open, l.base = true, l.last()
		l.group++
	}
	s.epoch++
	l.epoch, l.owner, l.expires = s.epoch, owner, s.now().Add(ttl)
	return store.Lease{Msg: msg, Group: l.group, Epoch: l.epoch, Owner: owner}, l.last(), nil
}

// Renew implements store.Log.
func (s *Store) Renew(ctx context.Context, lease store.Lease, ttl time.Duration) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.logs[lease.Msg]
	if !l.holds(lease) {
		return fmt.Errorf("memory: renew %s: %w", lease.Msg, store.ErrStaleLease)
	}
	l.expires = s.now().Add(ttl)
	return nil
}

// Release implements store.Log.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.logs[lease.Msg]
	switch {
	case !l.holds(lease):
		return nil
	case l.open && l.last() > l.base:
		return fmt.Errorf("memory: release %s: group %d is open: %w", lease.Msg, l.group, store.ErrConflict)
	case l.open:
		l.open = false
		l.group--
	}
	l.owner = ""
	if l.last() == 0 {
		delete(s.logs, lease.Msg)
	}
	delete(s.signals, lease.Msg)
	l.wake()
	s.wake()
	return nil
}

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, lease store.Lease, evs ...event.Event) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.logs[lease.Msg]
	if !l.holds(lease) || l.group != lease.Group {
		return fmt.Errorf("memory: append to %s: %w", lease.Msg, store.ErrStaleLease)
	}
	open := l.open
	for i, e := range evs {
		if !open || e.Msg != lease.Msg || e.Group != lease.Group || e.Seq != l.last()+1+uint64(i) {
			return fmt.Errorf("memory: append seq %d of group %d to %s: %w", e.Seq, e.Group, lease.Msg, store.ErrSequence)
		}
		open = !e.Type.Terminal()
	}
	if len(evs) == 0 {
		return nil
	}
	l.events = append(l.events, evs...)
	l.open = open
	if !open {
		l.ended = s.now()
		delete(s.signals, lease.Msg)
	}
	l.wake()
	return nil
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error] {
	return s.follow(ctx, msg, after, false)
}

// Tail implements store.Log.
func (s *Store) Tail(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error] {
	return s.follow(ctx, msg, after, true)
}

func (s *Store) follow(ctx context.Context, msg string, after uint64, live bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		fail := func(err error) { yield(event.Event{}, err) }
		for {
			evs, open, changed, err := s.after(ctx, msg, after)
			if err != nil {
				fail(err)
				return
			}
			for _, e := range evs {
				after = e.Seq
				if !yield(e, nil) {
					return
				}
			}
			switch {
			case len(evs) > 0:
				continue
			case !live || !open:
				return
			}
			select {
			case <-changed:
			case <-ctx.Done():
				fail(ctx.Err())
				return
			}
		}
	}
}

// after returns the events after a seq, whether more will come, and what to
// wait for then.
func (s *Store) after(ctx context.Context, msg string, after uint64) ([]event.Event, bool, chan struct{}, error) {
	if err := s.lock(ctx); err != nil {
		return nil, false, nil, err
	}
	defer s.mu.Unlock()
	l := s.logs[msg]
	if l == nil {
		return nil, false, nil, fmt.Errorf("memory: read %s: %w", msg, store.ErrNotFound)
	}
	if after < l.trimmed {
		e, err := s.snapshot(msg, l)
		return []event.Event{e}, l.open, l.changed, err
	}
	if after >= l.last() {
		return nil, l.open, l.changed, nil
	}
	return slices.Clip(l.events[after-l.trimmed:]), l.open, l.changed, nil
}

// snapshot makes the event that stands for the forgotten ones.
func (s *Store) snapshot(msg string, l *messageLog) (event.Event, error) {
	data := event.SnapshotData{Blocks: []block.Block{}, Seq: l.trimmed, Status: event.StatusDone}
	if m := s.messages[msg]; m != nil {
		data = store.Snapshot(s.view(m))
	}
	b, err := json.Marshal(data)
	return event.Event{Msg: msg, Type: event.Snapshot, Seq: data.Seq, Group: l.group, Data: b}, err
}

// Last implements store.Log.
func (s *Store) Last(ctx context.Context, msg string) (uint64, bool, error) {
	if err := s.lock(ctx); err != nil {
		return 0, false, err
	}
	defer s.mu.Unlock()
	l := s.logs[msg]
	if l == nil {
		return 0, false, fmt.Errorf("memory: last seq of %s: %w", msg, store.ErrNotFound)
	}
	return l.last(), l.open, nil
}

// Unfinished implements store.Log.
func (s *Store) Unfinished(ctx context.Context) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var msgs []string
	for msg, l := range s.logs {
		if l.open && !s.now().Before(l.expires) {
			msgs = append(msgs, msg)
		}
	}
	slices.Sort(msgs)
	return msgs, nil
}

// Trim implements store.Log.
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for msg, l := range s.logs {
		m := s.messages[msg]
		if l.open || !l.ended.Before(before) || m != nil && (m.Seq < l.last() || m.Status == event.StatusPaused) {
			continue
		}
		l.trimmed, l.events = l.last(), nil
	}
	for id, c := range s.conversations {
		if c.Hidden && c.Running == "" && !s.paused(id) && c.UpdatedAt.Before(before) {
			s.drop(id)
		}
	}
	for _, c := range s.conversations {
		c.feed = slices.DeleteFunc(c.feed, func(e feedEntry) bool { return e.at.Before(before) })
	}
	return nil
}

// paused reports whether a turn of a conversation waits for a person.
func (s *Store) paused(conversation string) bool {
	for _, m := range s.messages {
		if m.Conversation == conversation && m.Status == event.StatusPaused {
			return true
		}
	}
	return false
}

// Send implements store.Signals.
func (s *Store) Send(ctx context.Context, msg string, sig store.Signal) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	l := s.logs[msg]
	if l == nil {
		return fmt.Errorf("memory: signal %s: %w", msg, store.ErrNotFound)
	}
	if l.open {
		s.signals[msg] = append(s.signals[msg], sig)
		s.wake()
	}
	return nil
}

// Watch implements store.Signals.
func (s *Store) Watch(ctx context.Context, msg string) iter.Seq2[store.Signal, error] {
	return func(yield func(store.Signal, error) bool) {
		for {
			if err := s.lock(ctx); err != nil {
				if ctx.Err() == nil {
					yield(store.Signal{}, err)
				}
				return
			}
			changed := s.changed
			unseen := s.signals[msg]
			delete(s.signals, msg)
			s.mu.Unlock()
			for _, sig := range unseen {
				if !yield(sig, nil) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
