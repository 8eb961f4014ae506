package action

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
	"github.com/inlay-ui/inlay/turn"
)

// group is the group of the message that a call writes to. It is opened by the
// first block that the handler writes: a call that shows nothing never waits
// for the message. It implements tool.Sink.
type group struct {
	g   *Gateway
	req turn.FollowRequest
	// acted is the block that Update fills again.
	acted block.Block

	mu     sync.Mutex
	opened bool
	closed bool // the handler is done
	err    error
	f      *turn.Follow
	out    *tool.Out
	start  turn.Started
	// seq is start.After once there is a group; it is read within transactions.
	seq atomic.Pointer[uint64]
	// ended is closed when the group may end; rest writes what comes last.
	ended chan struct{}
	rest  func(ctx context.Context, f *turn.Follow) error
	// lent says that somebody else ends the group.
	lent bool
}

func (g *Gateway) newGroup(c *check) *group {
	return &group{g: g, acted: c.block, ended: make(chan struct{}), req: turn.FollowRequest{
		Owner: c.req.Owner, Caller: c.req.Caller, Msg: c.req.Msg, Wait: g.cfg.Limits.Wait,
		Timeout: time.Duration(g.cfg.Limits.Attempts+1)*c.reg.Timeout + time.Minute, Cause: "action " + c.reg.Name,
	}}
}

// groupIn is a group that is open already.
func (g *Gateway) groupIn(c *check, f *turn.Follow, at turn.Started) *group {
	gr := g.newGroup(c)
	gr.opened, gr.f, gr.start, gr.lent = true, f, at, true
	gr.seq.Store(&gr.start.After)
	return gr
}

// open opens the group if it is not. A group that cannot be opened refuses
// blocks, which does not fail the call: it happened, and is only not shown.
func (gr *group) open() error {
	if gr.closed {
		return &tool.Refusal{Code: turn.CodeInterrupted, Hint: "the action is over"}
	}
	if gr.opened {
		return gr.err
	}
	gr.opened = true
	ready := make(chan *turn.Follow, 1)
	var err error
	gr.start, err = gr.g.cfg.Turns.Follow(context.Background(), gr.req, func(ctx context.Context, f *turn.Follow) error {
		ready <- f
		select {
		case <-gr.ended:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		gr.mu.Lock()
		rest := gr.rest
		gr.mu.Unlock()
		return rest(ctx, f)
	})
	if err != nil {
		gr.g.cfg.Logger.Warn("blocks of an action cannot be shown", "msg", gr.req.Msg, "cause", gr.req.Cause, "err", err)
		gr.err = &tool.Refusal{Code: codeOf(err), Hint: "the message cannot be written to"}
		return gr.err
	}
	gr.f = <-ready
	gr.seq.Store(&gr.start.After)
	return nil
}

// Open implements tool.Sink.
func (gr *group) Open(o tool.Opening) (tool.Handle, error) {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	if err := gr.open(); err != nil {
		return nil, err
	}
	return gr.handle(o)
}

func (gr *group) handle(o tool.Opening) (tool.Handle, error) {
	if gr.out == nil {
		gr.out = gr.f.Out(context.Background(), gr.req.Cause, &gr.acted, nil)
	}
	h, err := gr.out.Start(o.Type, o.Version, o.Meta)
	if err == nil && h == nil {
		refused := gr.out.Result().Refused
		code, hint, _ := strings.Cut(refused[len(refused)-1], ": ")
		return nil, &tool.Refusal{Code: code, Hint: hint}
	}
	return h, err
}

// Reopen implements tool.Reopener.
func (gr *group) Reopen() (tool.Handle, tool.Opening, error) {
	gr.mu.Lock()
	defer gr.mu.Unlock()
	o := tool.Opening{Type: gr.acted.Type, Version: gr.acted.Version}
	if err := gr.open(); err != nil {
		return nil, o, err
	}
	meta := block.Meta{RefreshedAt: gr.g.cfg.Now().UnixMilli()}
	h, err := gr.f.Reopen(context.Background(), gr.acted.ID, meta)
	if err != nil {
		return nil, o, err
	}
	return keeping{h, gr.acted}, o, nil
}

// keeping is the handle of a block that is filled again: what it could do
// before it can do after, unless something else is said.
type keeping struct {
	tool.Handle
	before block.Block
}

// End implements tool.Handle.
func (k keeping) End(f tool.Finished) (tool.Shown, error) {
	if f.Actions == nil {
		f.Actions = k.before.Actions
	}
	return k.Handle.End(f)
}

// EndBuilt implements tool.Handle.
func (k keeping) EndBuilt(f tool.Finished) (tool.Shown, error) {
	if f.Actions == nil {
		f.Actions = k.before.Actions
	}
	return k.Handle.EndBuilt(f)
}

// done says that the handler writes nothing any more, and waits until what it
// wrote can be read by everybody: the answer says that it is there.
func (gr *group) done(ctx context.Context) {
	gr.mu.Lock()
	gr.closed = true
	f := gr.f
	gr.mu.Unlock()
	if f == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	if err := f.Durable(ctx); err != nil {
		gr.g.cfg.Logger.Error("blocks of an action are not stored", "msg", gr.req.Msg, "cause", gr.req.Cause, "err", err)
	}
}

// after is the seq before the group; nil when there is none.
func (gr *group) after() *uint64 { return gr.seq.Load() }

// finish writes the state and the trajectory's step: into the group while it is
// there, else into one of its own, in the background. What does not get there
// the sweeper brings.
func (gr *group) finish(j *job, e end, failed error) {
	write := func(ctx context.Context, f *turn.Follow) error {
		if failed != nil {
			return nil // there is no outcome yet: the sweeper finds it
		}
		j.note(f, e)
		gr.g.writeStates(ctx, f, j.c.req.Owner, j.c.req.Msg)
		return nil
	}
	gr.mu.Lock()
	f, lent := gr.f, gr.lent
	gr.rest = write
	gr.mu.Unlock()
	switch {
	case f != nil && lent:
		ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
		defer cancel()
		_ = write(ctx, f) // nil
	case f != nil:
		close(gr.ended)
	case failed == nil:
		gr.g.follow(gr.req, write)
	}
}

// follow writes a group of its own in the background.
func (g *Gateway) follow(req turn.FollowRequest, write func(context.Context, *turn.Follow) error) {
	req.Timeout = 0
	g.wg.Add(1) // the caller is counted already
	go func() {
		defer g.wg.Done()
		if _, err := g.cfg.Turns.Follow(context.Background(), req, write); err != nil && codeOf(err) != turn.CodeNotFound {
			g.cfg.Logger.Info("state is written later", "msg", req.Msg, "err", err)
		}
	}()
}

// writeStates brings the log up to the states of a message's blocks. What it
// cannot write now is written later.
func (g *Gateway) writeStates(ctx context.Context, f *turn.Follow, o store.Owner, msg string) {
	if err := g.tryStates(ctx, f, o, msg); err != nil && ctx.Err() == nil {
		g.cfg.Logger.Error("write states", "msg", msg, "err", err)
	}
}

func (g *Gateway) tryStates(ctx context.Context, f *turn.Follow, o store.Owner, msg string) error {
	states, err := g.cfg.Store.BlockStates(ctx, o, msg)
	if err != nil {
		if errors.Is(err, store.ErrNotFound) {
			return nil // deleted meanwhile
		}
		return err
	}
	var written []store.BlockState
	for _, st := range states {
		if st.Pending || st.Rev <= st.Logged {
			continue
		}
		// A crash between the log and this mark leaves states that are there
		// already: the log refuses an old rev.
		if err := f.State(st.Block, st.State, st.Rev); err != nil && !errors.Is(err, &event.GuardError{Rule: event.RuleRev}) {
			return err
		}
		written = append(written, st)
	}
	if err := f.Durable(ctx); err != nil {
		return err
	}
	for _, st := range written {
		if err := g.cfg.Store.MarkLogged(ctx, st.Block, st.Rev); err != nil {
			return err
		}
	}
	return nil
}

// note adds a call to the message's trajectory, as a step without the model.
func (j *job) note(f *turn.Follow, e end) {
	outcome := map[verdict]string{happened: stateDone, refused: stateFailed, doubt_: stateUnknown}[e.verdict]
	extra := map[string]any{
		"msg_id": j.call.Msg, "block_id": j.call.Block, "cause": "action", "action_id": j.call.Action, "call": j.call.ID,
		"user": j.call.Owner.User, "outcome": outcome, "trace_id": j.call.TraceID,
	}
	args := j.call.Payload
	if len(args) == 0 {
		args = json.RawMessage("{}")
	}
	told := outcome
	if res := j.result(e); res != nil {
		told = clip(string(res), maxReport)
	}
	f.Note(trajectory.Turn{
		At: j.g.cfg.Now(), Calls: []trajectory.Call{{ID: j.call.ID, Function: j.call.Name, Arguments: args, Result: told, IsError: e.verdict != happened}}, Extra: extra,
	})
}
