package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// FollowRequest asks for a further group of a message.
type FollowRequest struct {
	Owner  store.Owner
	Caller tool.Caller
	Msg    string
	// Wait is how long to wait for another group of the message to end; 0 does
	// not wait.
	Wait time.Duration
	// Timeout bounds the body; 0 means the time of a turn.
	Timeout time.Duration
	// Cause names what asked for it, for the logs.
	Cause string
}

// Follow opens a further group of a message that is finished or paused and
// runs body in it, on its own: ctx bounds only the wait for the lease. It
// returns once the lease is taken. A body that returns nil and has written
// nothing leaves no group; an error of it ends the group with that error, an
// *Error with its code and words. What the message came to stays as it was.
// Errors are *Error.
func (r *Runner) Follow(ctx context.Context, req FollowRequest, body func(ctx context.Context, f *Follow) error) (Started, error) {
	var m store.Message
	lease, last, err := r.next(ctx, req.Msg, req.Wait, func() (err error) {
		m, err = r.finished(ctx, req.Owner, req.Msg)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	t := r.newFollowUp(ctx, lease, last, m, req.Caller)
	t.timeout = req.Timeout
	if req.Cause != "" {
		t.log = t.log.With("cause", req.Cause)
	}
	return t.started(), r.launch(ctx, t, func(ctx context.Context, first chan<- error) ending {
		first <- nil
		f := &Follow{t: t}
		defer f.end()
		return t.followed(ctx, body(ctx, f))
	})
}

// started names a group that follows others of its message.
func (t *run) started() Started {
	m := t.message
	return Started{Msg: m.ID, Conversation: m.Conversation, User: m.Parent, Group: t.lease.Group, After: t.last}
}

// followed is the ending of a follow-up whose body returned err.
func (t *run) followed(ctx context.Context, err error) ending {
	var own *Error
	switch {
	case ctx.Err() != nil:
		return interrupted(ctx)
	case t.out.Err() != nil:
		return ending{lost: true}
	case errors.As(err, &own):
		return failed(own.Code, own.Message, own.Retryable)
	case err != nil:
		t.log.Error("follow-up failed", "err", err)
		return failed(CodeInternal, "The server failed.", true)
	}
	return ending{reason: event.FinishStop, open: block.Error{Code: block.CodeDataFetchFailed, Message: noData}}
}

// finished reads a message that may be added to.
func (r *Runner) finished(ctx context.Context, o store.Owner, msg string) (store.Message, error) {
	m, err := r.cfg.Store.Message(ctx, o, msg)
	switch {
	case err != nil:
		return m, storeError("read message", err)
	case m.Role != store.RoleAssistant:
		return m, &Error{Code: CodeInvalidRequest, Message: "Only an answer can be added to."}
	case m.Status == event.StatusRunning:
		return m, &Error{Code: CodeTurnRunning, Message: "The answer is still being written.", Retryable: true, Msg: m.ID}
	}
	return m, nil
}

// retryEvery is how often a lease that somebody holds is asked for again.
const retryEvery = 20 * time.Millisecond

// next takes the lease for the next group of a message. check judges the
// message before and, because only what is read then stands, again under the
// lease. While something else writes the message it is tried again, for as
// long as wait.
func (r *Runner) next(ctx context.Context, msg string, wait time.Duration, check func() error) (store.Lease, uint64, error) {
	deadline := time.Now().Add(wait)
	for {
		lease, last, err := r.tryNext(ctx, msg, check)
		var te *Error
		if !errors.As(err, &te) || te.Code != CodeTurnRunning || !time.Now().Before(deadline) {
			return lease, last, err
		}
		select {
		case <-ctx.Done():
			return lease, last, err
		case <-time.After(min(retryEvery, time.Until(deadline))):
		}
	}
}

func (r *Runner) tryNext(ctx context.Context, msg string, check func() error) (store.Lease, uint64, error) {
	if r.isClosing() {
		return store.Lease{}, 0, &Error{Code: CodeShuttingDown, Message: "The server is shutting down.", Retryable: true}
	}
	if err := check(); err != nil {
		return store.Lease{}, 0, err
	}
	for {
		lease, last, err := r.cfg.Store.Acquire(ctx, msg, r.cfg.Instance, r.cfg.Limits.Lease)
		if err != nil {
			te := storeError("acquire lease", err)
			te.Msg = msg
			return lease, 0, te
		}
		left, err := r.left(ctx, lease, last)
		if err != nil {
			r.release(lease)
			return lease, 0, storeError("read log", err)
		}
		if !left {
			if err := check(); err != nil {
				r.release(lease)
				return lease, 0, err
			}
			return lease, last, nil
		}
		// Its writer died: it is ended first.
		err = r.endLeft(ctx, lease, last)
		r.release(lease)
		if err != nil {
			return lease, 0, storeError("end what was left open", err)
		}
	}
}

// left says whether the group of a lease was begun by another holder, who left
// it without an end.
func (r *Runner) left(ctx context.Context, lease store.Lease, last uint64) (bool, error) {
	if last == 0 {
		return false, nil
	}
	for ev, err := range r.cfg.Store.Read(ctx, lease.Msg, last-1) {
		if err != nil {
			return false, fmt.Errorf("read the last event: %w", err)
		}
		if ev.Seq == last && ev.Type != event.Snapshot {
			return !ev.Type.Terminal(), nil
		}
	}
	return false, nil
}

// Follow is a group of a message while it is written by Runner.Follow.
type Follow struct {
	t     *run
	sinks []*sink
}

// Again says how blocks can be made again: by running a tool.
type Again struct {
	Tool      string
	Arguments json.RawMessage
}

// Message returns the message as it was when the group began.
func (f *Follow) Message() store.Message { return f.t.message }

// Out returns an Out whose blocks are appended to the message. name is who
// writes, for the logs. acted is the block that Out.Update fills again, nil for
// none; again is how the first new block can be made again, nil when it cannot.
func (f *Follow) Out(ctx context.Context, name string, acted *block.Block, again *Again) *tool.Out {
	s := &sink{t: f.t, acted: acted, log: f.t.log.With("by", name)}
	if again != nil {
		s.tool, s.args = again.Tool, again.Arguments
		if found, _, ok := f.t.r.lookup(again.Tool); ok {
			s.refreshable = found.Spec().Refreshable
		}
	}
	f.sinks = append(f.sinks, s)
	out := tool.NewOut(ctx, f.t.r.cfg.Registry, s, nil, tool.Opening{})
	out.UseFiles(f.t.r.cfg.OutFiles, f.t.message.Conversation)
	return out
}

// end closes the blocks that Outs were handed and nobody finished.
func (f *Follow) end() {
	for _, s := range f.sinks {
		s.close(event.ToolOK)
	}
}

// Reopen puts a block of the message back to loading, to be filled again in
// its place, as a refresh does. The members that are set in meta are laid over
// the block's.
func (f *Follow) Reopen(ctx context.Context, blockID string, meta block.Meta) (tool.Handle, error) {
	b, ok := f.t.message.Block(blockID)
	if !ok {
		return nil, &Error{Code: CodeNotFound, Message: "The message has no such block."}
	}
	s := &sink{t: f.t, log: f.t.log}
	f.sinks = append(f.sinks, s)
	opened, err := s.open(ctx, b.ID, tool.Opening{Type: b.Type, Version: b.Version, Meta: meta})
	if err != nil {
		return nil, err
	}
	return handle{opened, s}, nil
}

// State writes a block's new state; rev must be higher than before.
func (f *Follow) State(blockID string, state json.RawMessage, rev int) error {
	return f.t.out.State(blockID, state, rev)
}

// Note adds a step to the message's trajectory.
func (f *Follow) Note(step trajectory.Turn) {
	if step.At.IsZero() {
		step.At = f.t.r.cfg.Now()
	}
	f.t.step(step)
}

// Durable waits until everything written so far is stored.
func (f *Follow) Durable(ctx context.Context) error { return f.t.out.Flush(ctx) }
