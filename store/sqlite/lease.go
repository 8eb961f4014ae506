package sqlite

import (
	"container/list"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/store"
)

// messageLog is what memory knows of a message whose group is open or whose
// lease somebody holds.
//
// The writer's goroutine changes it, holding Store.mu for the fields that
// others read; it reads them without.
type messageLog struct {
	id  int64
	msg string

	// group, epoch, owner, expires, tail and released are read under Store.mu.
	group   int
	epoch   uint64
	owner   string // empty while nobody has the lease
	expires time.Time
	// tail is nil once the group has ended and readers find all of it stored.
	tail *tail
	// released is closed when the lease is given back.
	released chan struct{}
	dropped  bool

	// base is the last seq before the group.
	base uint64
	// seq and at are the last event's, also while its commit is under way.
	seq   uint64
	at    int64
	ended bool
	// deleted says that the message is gone.
	deleted bool
	// staged are this batch's appends; chunked says that all frames up to
	// them are in chunks, with this batch.
	staged  []*op
	chunked bool
	pin     *list.Element
}

// releaseGrace is how long Acquire waits for the holder of an ended group.
const releaseGrace = time.Second

// Acquire implements store.Log.
func (s *Store) Acquire(ctx context.Context, msg, owner string, ttl time.Duration) (store.Lease, uint64, error) {
	if msg == "" || owner == "" {
		return store.Lease{}, 0, errors.New("sqlite: acquire: a message and an owner are needed")
	}
	patience := time.NewTimer(releaseGrace)
	defer patience.Stop()
	for {
		var lease store.Lease
		var seq uint64
		var released <-chan struct{}
		err := s.write(ctx, func(t *tx) (err error) {
			released = nil
			lease, seq, released, err = s.acquire(t, msg, owner, ttl)
			return err
		})
		if released == nil {
			return lease, seq, err
		}
		select {
		case <-released:
		case <-patience.C:
			return store.Lease{}, 0, err
		case <-ctx.Done():
			return store.Lease{}, 0, ctx.Err()
		}
	}
}

// acquire takes the lease in the writer's transaction. With an ErrConflict
// that will soon be over it returns what to wait for.
func (s *Store) acquire(t *tx, msg, owner string, ttl time.Duration) (store.Lease, uint64, <-chan struct{}, error) {
	now := s.opt.now()
	s.mu.RLock()
	l := s.logs[msg]
	held := l != nil && l.owner != "" && now.Before(l.expires)
	s.mu.RUnlock()
	if held {
		err := fmt.Errorf("sqlite: the log of %s is leased by %s: %w", msg, l.owner, store.ErrConflict)
		if l.ended {
			return store.Lease{}, 0, l.released, err
		}
		return store.Lease{}, 0, nil, err
	}
	if l == nil || l.ended {
		var err error
		if l, err = s.openGroup(t, msg); err != nil {
			return store.Lease{}, 0, nil, err
		}
	}
	s.w.epoch++
	epoch := s.w.epoch
	if _, err := t.exec("UPDATE logs SET epoch = ?, owner = ? WHERE id = ?", epoch, owner, l.id); err != nil {
		return store.Lease{}, 0, nil, wrap("acquire "+msg, err)
	}
	before := *l
	t.onUndo(func() {
		s.mu.Lock()
		l.epoch, l.owner, l.expires = before.epoch, before.owner, before.expires
		s.mu.Unlock()
	})
	s.mu.Lock()
	l.epoch, l.owner, l.expires = epoch, owner, now.Add(ttl)
	s.mu.Unlock()
	return store.Lease{Msg: msg, Group: l.group, Epoch: epoch, Owner: owner}, l.seq, nil, nil
}

// openGroup opens the next group of a message, whose log it creates if need
// be. Nobody holds its lease yet.
func (s *Store) openGroup(t *tx, msg string) (*messageLog, error) {
	l := &messageLog{msg: msg, released: make(chan struct{})}
	err := t.scan("SELECT id, grp, last_seq, last_at FROM logs WHERE msg = ?", []any{msg},
		&l.id, &l.group, &l.seq, &l.at)
	switch {
	case errors.Is(err, store.ErrNotFound):
		err = t.scan(`INSERT INTO logs (msg, grp, base, epoch, owner, open, last_seq, last_at)
			VALUES (?, 1, 0, 0, '', 1, 0, 0) RETURNING id`, []any{msg}, &l.id)
		l.group = 1
	case err == nil:
		l.group++
		_, err = t.exec("UPDATE logs SET open = 1, grp = ?, base = last_seq, owner = '' WHERE id = ?", l.group, l.id)
	}
	if err != nil {
		return nil, wrap("open the log of "+msg, err)
	}
	l.base = l.seq
	l.tail = &tail{first: l.seq + 1}
	s.mu.Lock()
	previous := s.logs[msg]
	s.logs[msg] = l
	s.mu.Unlock()
	t.onUndo(func() {
		s.mu.Lock()
		if previous != nil {
			s.logs[msg] = previous
		} else {
			delete(s.logs, msg)
		}
		s.mu.Unlock()
		l.deleted = true
		l.tail.end()
	})
	return l, nil
}

// Renew implements store.Log.
func (s *Store) Renew(ctx context.Context, lease store.Lease, ttl time.Duration) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.logs[lease.Msg]
	if l == nil || l.epoch != lease.Epoch || l.owner != lease.Owner {
		return errStale(lease)
	}
	l.expires = s.opt.now().Add(ttl)
	return nil
}

// Release implements store.Log.
func (s *Store) Release(ctx context.Context, lease store.Lease) error {
	return s.write(ctx, func(t *tx) error {
		s.mu.RLock()
		l := s.logs[lease.Msg]
		s.mu.RUnlock()
		if l == nil || l.epoch != lease.Epoch || l.owner != lease.Owner {
			return nil
		}
		if !l.ended {
			if l.seq > l.base {
				return fmt.Errorf("sqlite: release %s: group %d is open: %w", l.msg, l.group, store.ErrConflict)
			}
			query := "UPDATE logs SET open = 0, grp = grp - 1 WHERE id = ?"
			if l.seq == 0 {
				query = "DELETE FROM logs WHERE id = ?"
			}
			if _, err := t.exec(query, l.id); err != nil {
				return wrap("release "+l.msg, err)
			}
			l.ended = true
			t.onUndo(func() { l.ended = false })
		}
		t.onCommit(func() {
			s.drop(l)
			s.signals.clear(l.msg)
		})
		return nil
	})
}

// ended takes the memory of an ended group out of the way. Readers that have
// it keep it until they are through.
func (s *Store) ended(l *messageLog) {
	s.mu.Lock()
	l.tail = nil
	s.mu.Unlock()
	s.signals.clear(l.msg)
}

// drop forgets a log whose lease is over.
func (s *Store) drop(l *messageLog) {
	s.mu.Lock()
	if s.logs[l.msg] == l {
		delete(s.logs, l.msg)
	}
	t := l.tail
	l.tail = nil
	// A lease may be given back, swept and lost with its message in one batch.
	if !l.dropped {
		l.dropped = true
		close(l.released)
	}
	s.mu.Unlock()
	if t != nil {
		t.publish(nil, true)
	}
}

// Unfinished implements store.Log.
func (s *Store) Unfinished(ctx context.Context) ([]string, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	now := s.opt.now()
	s.mu.RLock()
	defer s.mu.RUnlock()
	var msgs []string
	for _, l := range s.logs {
		if l.tail != nil && !now.Before(l.expires) {
			msgs = append(msgs, l.msg)
		}
	}
	slices.Sort(msgs)
	return msgs, nil
}

// sweepLeases forgets ended groups whose holder never released them.
func (s *Store) sweepLeases(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		now := s.opt.now()
		s.mu.RLock()
		defer s.mu.RUnlock()
		for _, l := range s.logs {
			if l.ended && !now.Before(l.expires) {
				t.onCommit(func() { s.drop(l) })
			}
		}
		return nil
	})
}

// loadOpen brings the logs into memory that were open when the database was
// last used. Nobody can hold a lease on them.
func (s *Store) loadOpen(ctx context.Context) error {
	err := s.w.conn.QueryRowContext(ctx, "SELECT coalesce(max(epoch), 0) FROM logs").Scan(&s.w.epoch)
	if err != nil {
		return err
	}
	rows, err := s.w.conn.QueryContext(ctx,
		"SELECT id, msg, grp, base, epoch, last_seq, last_at FROM logs WHERE open = 1")
	if err != nil {
		return err
	}
	return eachRow(rows, func(row scanner) error {
		l := &messageLog{released: make(chan struct{})}
		if err := row.Scan(&l.id, &l.msg, &l.group, &l.base, &l.epoch, &l.seq, &l.at); err != nil {
			return err
		}
		l.tail = &tail{first: l.seq + 1}
		s.logs[l.msg] = l
		return nil
	})
}

func errStale(lease store.Lease) error {
	return fmt.Errorf("sqlite: the lease of %s on %s: %w", lease.Owner, lease.Msg, store.ErrStaleLease)
}

func errSequence(msg, format string, args ...any) error {
	return fmt.Errorf("sqlite: append to %s: "+format+": %w", append(append([]any{msg}, args...), store.ErrSequence)...)
}
