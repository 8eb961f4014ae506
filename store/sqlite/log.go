package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// Append implements store.Log.
func (s *Store) Append(ctx context.Context, lease store.Lease, evs ...event.Event) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(evs) == 0 {
		return nil
	}
	s.mu.RLock()
	l := s.logs[lease.Msg]
	s.mu.RUnlock()
	if l == nil {
		// A message that is being deleted is out of memory before it is out of
		// the file. Whoever hears that the lease is lost must find it gone.
		return s.write(ctx, func(*tx) error { return errStale(lease) })
	}
	o := newOp()
	for i, e := range evs {
		switch {
		case e.Msg != lease.Msg || e.Group != lease.Group:
			o.free()
			return errSequence(lease.Msg, "an event of group %d of %s under the lease of group %d", e.Group, e.Msg, lease.Group)
		case e.Seq != evs[0].Seq+uint64(i):
			o.free()
			return errSequence(lease.Msg, "seq %d after %d", e.Seq, evs[i-1].Seq)
		case e.Type.Terminal() && i < len(evs)-1:
			o.free()
			return errSequence(lease.Msg, "events after %s", e.Type)
		}
		e.Msg = "" // the log knows
		o.frames = event.AppendFrame(o.frames, e)
	}
	o.log, o.lease, o.evs = l, lease, evs
	o.ends = evs[len(evs)-1].Type.Terminal()
	return s.w.do(o)
}

// Read implements store.Log.
func (s *Store) Read(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error] {
	return s.follow(ctx, msg, after, false)
}

// Tail implements store.Log.
func (s *Store) Tail(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error] {
	return s.follow(ctx, msg, after, true)
}

// follow reads what is stored, then what is in memory, then waits for more if
// live is set.
func (s *Store) follow(ctx context.Context, msg string, after uint64, live bool) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		r := reader{s: s, msg: msg, after: after, live: live, yield: yield}
		r.end(r.run(ctx))
	}
}

// end tells the caller why it gets no more. It is a function of its own so
// that its frame is not on the stack of a reader that waits.
func (r *reader) end(err error) {
	if err != nil && !errors.Is(err, errEnough) {
		r.yield(event.Event{}, err)
	}
}

// errEnough ends a reader whose caller wants no more.
var errEnough = errors.New("enough")

// reader is one pass over a message's log.
type reader struct {
	s     *Store
	msg   string
	after uint64
	live  bool
	yield func(event.Event, error) bool
}

func (r *reader) run(ctx context.Context) error {
	if r.s.isClosed() {
		return store.ErrClosed
	}
	for {
		t := r.s.tailOf(r.msg)
		if t == nil {
			if err := r.stored(ctx); err != nil || !r.live {
				return err
			}
			// A follow-up may have begun meanwhile.
			if r.s.tailOf(r.msg) == nil {
				return nil
			}
			continue
		}
		more, err := r.tail(ctx, t)
		if err != nil || !more {
			return err
		}
	}
}

// tail reads one group from memory until it is over. It reports whether
// another may follow.
func (r *reader) tail(ctx context.Context, t *tail) (more bool, err error) {
	if !r.live {
		for err == nil && !more {
			more, _, err = r.pass(ctx, t)
		}
		return false, err
	}
	wake := t.join()
	defer t.leave(wake)
	// One channel to wait on, woken by whatever there is to wait for: many
	// readers must not share the lock of another one.
	defer context.AfterFunc(ctx, func() { nudge(wake) })()
	for {
		idle, over, err := r.pass(ctx, t)
		if err != nil || over {
			return over, err
		}
		if !idle {
			continue
		}
		if err := r.ended(ctx); err != nil {
			return false, err
		}
		<-wake
	}
}

// ended says why a reader should not wait any more.
func (r *reader) ended(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if r.s.isClosed() {
		return store.ErrClosed
	}
	return nil
}

// pass gives the caller what there is now. It reports whether there was
// nothing, and whether nothing will come.
func (r *reader) pass(ctx context.Context, t *tail) (idle, over bool, err error) {
	evs, over, deleted, ok := t.after(r.after)
	switch {
	case deleted:
		return false, false, errGone(r.msg)
	case !ok:
		before := r.after
		if err := r.stored(ctx); err != nil {
			return false, false, err
		}
		if r.after == before {
			return false, false, fmt.Errorf("sqlite: read %s: nothing is stored after seq %d", r.msg, before)
		}
		return false, false, nil
	case len(evs) == 0:
		return true, over, nil
	}
	for i := range evs {
		if err := r.give(evs[i]); err != nil {
			return false, false, err
		}
	}
	return false, false, ctx.Err()
}

func (r *reader) give(e event.Event) error {
	r.after = e.Seq
	if !r.yield(e, nil) {
		return errEnough
	}
	return nil
}

// stored reads what the file has. It holds no connection while the caller
// looks at an event.
func (r *reader) stored(ctx context.Context) error {
	type state struct {
		id            int64
		last, trimmed uint64
	}
	for before := (state{}); ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		var log state
		err := r.s.scan(ctx, "SELECT id, last_seq, trimmed FROM logs WHERE msg = ?", []any{r.msg},
			&log.id, &log.last, &log.trimmed)
		if err != nil {
			return wrap("read "+r.msg, err)
		}
		if r.after < log.trimmed {
			e, err := r.s.snapshot(ctx, r.msg)
			if err != nil {
				return err
			}
			if err := r.give(e); err != nil {
				return err
			}
		}
		err = r.chunks(ctx, log.id, log.last)
		// Without its chunks a log was deleted or trimmed just now, or else the
		// file is damaged.
		if !errors.Is(err, store.ErrNotFound) {
			return err
		}
		if log == before {
			return fmt.Errorf("sqlite: read %s: the events after seq %d are missing from the file", r.msg, r.after)
		}
		before = log
	}
}

// chunks reads the chunks of a log up to a seq.
func (r *reader) chunks(ctx context.Context, log int64, last uint64) error {
	for r.after < last {
		if err := ctx.Err(); err != nil {
			return err
		}
		var frames []byte
		err := r.s.scan(ctx, "SELECT frames FROM chunks WHERE log = ? AND last_seq > ? ORDER BY last_seq LIMIT 1",
			[]any{log, r.after}, &frames)
		if err != nil {
			return wrap("read "+r.msg, err)
		}
		for len(frames) > 0 {
			e, rest, err := event.ReadFrame(frames)
			if err != nil {
				return fmt.Errorf("sqlite: read %s after seq %d: %w", r.msg, r.after, err)
			}
			frames = rest
			if e.Seq <= r.after {
				continue
			}
			e.Msg = r.msg
			if err := r.give(e); err != nil {
				return err
			}
		}
	}
	return nil
}

// snapshot makes the event that stands for the forgotten ones.
func (s *Store) snapshot(ctx context.Context, msg string) (event.Event, error) {
	e := event.Event{Msg: msg, Type: event.Snapshot}
	var trimmed uint64
	err := s.scan(ctx, "SELECT trimmed, grp, last_at FROM logs WHERE msg = ?", []any{msg}, &trimmed, &e.Group, &e.At)
	if err != nil {
		return e, wrap("read "+msg, err)
	}
	data := event.SnapshotData{Blocks: []block.Block{}, Seq: trimmed, Status: event.StatusDone}
	switch m, err := s.MessageOf(ctx, msg); {
	case err == nil:
		data = store.Snapshot(m)
	case !errors.Is(err, store.ErrNotFound): // a log without a record
		return e, err
	}
	e.Seq = data.Seq
	e.Data, err = json.Marshal(data)
	return e, err
}

// tailOf returns the memory of a message's open group, nil when none is open.
func (s *Store) tailOf(msg string) *tail {
	s.mu.RLock()
	defer s.mu.RUnlock()
	if l := s.logs[msg]; l != nil {
		return l.tail
	}
	return nil
}

// Last implements store.Log.
func (s *Store) Last(ctx context.Context, msg string) (uint64, bool, error) {
	if t := s.tailOf(msg); t != nil {
		return t.last(), true, nil
	}
	var seq uint64
	if err := s.scan(ctx, "SELECT last_seq FROM logs WHERE msg = ?", []any{msg}, &seq); err != nil {
		return 0, false, wrap("last seq of "+msg, err)
	}
	return seq, false, nil
}

// trimStep is how many messages are trimmed in one transaction, so that
// appends do not wait for long.
const trimStep = 100

// Trim implements store.Log.
func (s *Store) Trim(ctx context.Context, before time.Time) error {
	limit := before.UnixNano()
	for more := true; more; {
		err := s.write(ctx, func(t *tx) (err error) {
			more, err = trimLogs(t, limit)
			return err
		})
		if err != nil {
			return wrap("trim", err)
		}
	}
	for more := true; more; {
		err := s.write(ctx, func(t *tx) (err error) {
			more, err = s.trimHidden(t, limit)
			return err
		})
		if err != nil {
			return wrap("trim", err)
		}
	}
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM feed WHERE created < ?", limit)
		return wrap("trim the feeds", err)
	})
}

// trimLogs forgets the events of some messages that ended before limit and
// whose record is as new as their log, and not paused.
func trimLogs(t *tx, limit int64) (more bool, err error) {
	var ids []int64
	err = t.each(`SELECT l.id FROM logs l LEFT JOIN messages m ON m.id = l.msg
		WHERE l.open = 0 AND l.trimmed < l.last_seq AND l.ended < ? AND (m.seq IS NULL OR m.seq >= l.last_seq AND m.status <> 'paused')
		LIMIT ?`, []any{limit, trimStep}, func(row scanner) error {
		var id int64
		err := row.Scan(&id)
		ids = append(ids, id)
		return err
	})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if _, err := t.exec("DELETE FROM chunks WHERE log = ?", id); err != nil {
			return false, err
		}
		if _, err := t.exec("UPDATE logs SET trimmed = last_seq WHERE id = ?", id); err != nil {
			return false, err
		}
	}
	return len(ids) == trimStep, nil
}

// trimHidden deletes some hidden conversations that ended before limit.
func (s *Store) trimHidden(t *tx, limit int64) (more bool, err error) {
	var ids []string
	err = t.each(`SELECT id FROM conversations c WHERE hidden = 1 AND running = '' AND updated < ?
			AND NOT EXISTS (SELECT 1 FROM messages m WHERE m.conversation = c.id AND m.status = 'paused') LIMIT ?`,
		[]any{limit, trimStep}, func(row scanner) error {
			var id string
			err := row.Scan(&id)
			ids = append(ids, id)
			return err
		})
	if err != nil {
		return false, err
	}
	for _, id := range ids {
		if err := s.deleteConversation(t, id); err != nil {
			return false, err
		}
	}
	return len(ids) == trimStep, nil
}

func errGone(msg string) error {
	return fmt.Errorf("sqlite: read %s: the message was deleted: %w", msg, store.ErrNotFound)
}
