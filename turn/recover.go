package turn

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// Recover ends what a crash or a lost lease left open: open blocks with
// block_error, the group with an error that may be tried again. It returns how
// many messages it ended, and is called at start and from time to time.
func (r *Runner) Recover(ctx context.Context) (int, error) {
	open, err := r.cfg.Store.Unfinished(ctx)
	if err != nil {
		return 0, fmt.Errorf("list unfinished turns: %w", err)
	}
	records, err := r.cfg.Store.RunningMessages(ctx)
	if err != nil {
		return 0, fmt.Errorf("list running messages: %w", err)
	}
	byID := make(map[string]store.Message, len(records))
	for _, m := range records {
		byID[m.ID] = m
	}
	n := 0
	var failures []error
	for _, msg := range open {
		if r.runs(msg) {
			continue
		}
		delete(byID, msg)
		if err := r.recoverLog(ctx, msg); err != nil {
			failures = append(failures, fmt.Errorf("end %s: %w", msg, err))
			continue
		}
		n++
	}
	// Records whose log is closed, or was never begun.
	for _, m := range byID {
		if r.runs(m.ID) {
			continue
		}
		_, open, err := r.cfg.Store.Last(ctx, m.ID)
		if err == nil && open {
			continue // another instance writes it
		}
		// The turn may have ended, with all it knows, since the list was read.
		m, err := r.cfg.Store.MessageOf(ctx, m.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && m.Status != event.StatusRunning {
			continue
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("read record: %w", err))
			continue
		}
		if err := r.recoverRecord(ctx, m); err != nil {
			failures = append(failures, fmt.Errorf("end record %s: %w", m.ID, err))
			continue
		}
		n++
	}
	return n, errors.Join(failures...)
}

// recoverLog ends the open group of a log. Where the record was written
// already and only the terminal event is missing, the log gets the end that the
// record names.
func (r *Runner) recoverLog(ctx context.Context, msg string) error {
	lease, last, err := r.cfg.Store.Acquire(ctx, msg, r.cfg.Instance, r.cfg.Limits.Lease)
	if err != nil {
		return err
	}
	defer r.release(lease)
	return r.endLeft(ctx, lease, last)
}

// endLeft ends the group of a lease that another holder left open.
func (r *Runner) endLeft(ctx context.Context, lease store.Lease, last uint64) error {
	msg := lease.Msg
	m, err := r.cfg.Store.MessageOf(ctx, msg)
	recorded := err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if last == 0 && !recorded {
		return nil // a lease taken before anything else was; releasing it is all
	}
	folder := event.NewFolder(msg)
	for ev, err := range r.cfg.Store.Read(ctx, msg, 0) {
		if err != nil {
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			return err
		}
		folder.Apply(ev)
	}
	st := folder.State()
	if last > 0 && !st.Open {
		return nil // ended meanwhile
	}
	out := emit.New(ctx, emit.Config{
		Log: r.cfg.Store, Lease: lease, Registry: r.cfg.Registry, Folder: folder, Last: last,
		Started: r.startOf(st, m), Now: r.cfg.Now, Appended: r.cfg.Observer.Events,
	})
	err = r.endGroup(ctx, out, m, recorded, lease, last)
	if _, closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		r.mu.Lock()
		delete(r.lost, msg)
		r.mu.Unlock()
	}
	return err
}

// cause is why a message was left without its end, as far as this process
// knows.
func (r *Runner) cause(msg string) event.ErrorData {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.lost[msg]; ok {
		return e
	}
	return event.ErrorData{Code: CodeInterrupted, Message: "The answer was interrupted by a restart of the server.", Retryable: true}
}

func (r *Runner) endGroup(ctx context.Context, out *emit.Stream, m store.Message, recorded bool, lease store.Lease, last uint64) error {
	group := lease.Group
	cause := r.cause(lease.Msg)
	if last == 0 {
		if err := out.Start(event.StartData{ConversationID: m.Conversation, UserMessageID: m.Parent, Model: m.Model}); err != nil {
			return err
		}
	}
	st, err := out.Settle(ctx, block.Error{Code: block.CodeInterrupted, Message: cause.Message, Retryable: true})
	if err != nil {
		return err
	}
	if !recorded {
		return out.Error(cause)
	}
	switch {
	case group == 1 && m.Status == event.StatusError && m.Err != nil:
		return out.Error(*m.Err)
	case group == 1 && m.Status != event.StatusRunning:
		return out.Done(event.DoneData{FinishReason: m.FinishReason, Usage: m.Usage, Model: m.Model})
	}
	m.Blocks, m.Seq, m.Reasoning, m.Tools = st.Blocks, st.Seq+1, st.Reasoning, st.Tools
	if group == 1 {
		m.Status, m.Err = event.StatusError, &cause
	}
	if err := r.cfg.Store.PutMessage(ctx, m); err != nil {
		return err
	}
	return out.Error(cause)
}

func (r *Runner) startOf(st event.State, m store.Message) time.Time {
	switch {
	case st.Start.TS != 0:
		return time.UnixMilli(st.Start.TS)
	case !m.CreatedAt.IsZero():
		return m.CreatedAt
	}
	return r.cfg.Now()
}

// recoverRecord brings a record in line with its finished log.
func (r *Runner) recoverRecord(ctx context.Context, m store.Message) error {
	st, err := event.Fold(r.cfg.Store.Read(ctx, m.ID, 0))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	m.Blocks, m.Seq, m.Status = st.Blocks, st.Seq, st.Status
	m.Reasoning, m.Tools = st.Reasoning, st.Tools
	m.FinishReason, m.Usage, m.Err = st.FinishReason, st.Usage, st.Err
	if m.Status == event.StatusRunning {
		m.Status = event.StatusError
		m.Err = &event.ErrorData{Code: CodeInterrupted, Message: "The answer was interrupted by a restart of the server.", Retryable: true}
	}
	return r.cfg.Store.PutMessage(ctx, m)
}
