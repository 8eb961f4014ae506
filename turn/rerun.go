package turn

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// Rerun runs the tool of one block again with the arguments of then and the
// rights of the caller of now, without the model, as a follow-up group of the
// block's message. Errors are *Error.
func (r *Runner) Rerun(ctx context.Context, req BlockRequest) (Started, error) {
	call, err := r.cfg.Store.BlockCall(ctx, req.Owner, req.Block)
	if err != nil {
		return Started{}, storeError("read how the block was made", err)
	}
	if strings.HasPrefix(call.Tool, cardTool) {
		return r.rerunCard(ctx, req, call)
	}
	var p repeat
	lease, last, err := r.next(ctx, call.Message, 0, func() (err error) {
		p, err = r.repeatable(ctx, req)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	t := r.newFollowUp(ctx, lease, last, p.message, req.Caller)
	c := &pending{
		call: model.Call{ID: id.New("t"), Name: p.spec.Name, Arguments: p.args},
		spec: p.spec, tool: p.tool, args: p.args, run: true, same: -1,
	}
	c.sink = t.sinkOf(c)
	return t.started(), r.launch(ctx, t, func(ctx context.Context, first chan<- error) ending {
		return t.again(ctx, first, c, p.block, req.Refresh)
	})
}

// repeat is a call that may be made again.
type repeat struct {
	message store.Message
	block   block.Block
	tool    tool.Tool
	spec    tool.Spec
	args    json.RawMessage
}

// repeatable reads how a block was made and checks that it may be made again
// now.
func (r *Runner) repeatable(ctx context.Context, req BlockRequest) (repeat, error) {
	call, err := r.cfg.Store.BlockCall(ctx, req.Owner, req.Block)
	if err != nil {
		return repeat{}, storeError("read how the block was made", err)
	}
	m, b, err := r.settled(ctx, req, call)
	if err != nil {
		return repeat{}, err
	}
	found, check, ok := r.lookup(call.Tool)
	if !ok {
		return repeat{}, notAgain(req.Refresh, "The tool that made the block does not exist any more.")
	}
	spec := found.Spec()
	switch {
	case req.Refresh && !(spec.Refreshable && b.Status == block.StatusDone):
		return repeat{}, notAgain(true, "The block cannot be refreshed.")
	case !req.Refresh && (spec.Unrepeatable || b.Err == nil || !b.Err.Retryable):
		return repeat{}, notAgain(false, "The block cannot be tried again.")
	}
	args, err := check.Args(call.Arguments)
	if err != nil {
		return repeat{}, notAgain(req.Refresh, "The tool does not take the arguments of then any more.")
	}
	if spec.Ask != nil {
		askCtx, cancel := context.WithTimeout(tool.WithCaller(ctx, req.Caller), r.cfg.Limits.Tool)
		defer cancel()
		if ask, err := askTool(askCtx, spec, args); err != nil || ask != nil {
			return repeat{}, notAgain(req.Refresh, "It is not done again without being asked for.")
		}
	}
	return repeat{message: m, block: b, tool: found, spec: spec, args: args}, nil
}

// settled reads a block of a message that is not being written.
func (r *Runner) settled(ctx context.Context, req BlockRequest, call store.BlockCall) (store.Message, block.Block, error) {
	m, err := r.cfg.Store.Message(ctx, req.Owner, call.Message)
	if err != nil {
		return m, block.Block{}, storeError("read message", err)
	}
	if m.Status == event.StatusRunning {
		return m, block.Block{}, &Error{Code: CodeTurnRunning, Message: "The answer is still being written.", Retryable: true, Msg: m.ID}
	}
	b, ok := m.Block(req.Block)
	if !ok {
		return m, b, &Error{Code: CodeNotFound, Message: "Not found."}
	}
	return m, b, nil
}

func notAgain(refresh bool, message string) *Error {
	if refresh {
		return &Error{Code: CodeNotRefreshable, Message: message}
	}
	return &Error{Code: CodeNotRetryable, Message: message}
}

// newFollowUp is a run that appends a further group to a message without
// changing what it came to.
func (r *Runner) newFollowUp(ctx context.Context, lease store.Lease, last uint64, m store.Message, caller tool.Caller) *run {
	t := r.newGroup(ctx, lease, last, m, caller, block.Caps{}, false)
	t.follow = true
	return t
}

// folded is a message as its log says, or as its record does where the log has
// forgotten it.
func (r *Runner) folded(ctx context.Context, m store.Message, last uint64) *event.Folder {
	f := event.NewFolder(m.ID)
	for ev, err := range r.cfg.Store.Read(ctx, m.ID, 0) {
		if err != nil {
			s := store.Snapshot(m)
			s.Seq = last
			return event.FromSnapshot(m.ID, s)
		}
		f.Apply(ev)
	}
	return f
}

// again is the body of a retry or refresh.
func (t *run) again(ctx context.Context, first chan<- error, p *pending, b block.Block, refresh bool) ending {
	meta := block.Meta{}
	if b.Meta != nil {
		meta = *b.Meta
	}
	if refresh {
		meta.RefreshedAt = t.r.cfg.Now().UnixMilli()
	}
	meta.ToolCallID = p.call.ID
	opened, err := p.sink.open(ctx, b.ID, tool.Opening{Type: b.Type, Version: b.Version, Meta: meta})
	if err == nil {
		p.block = opened
		err = t.out.ToolStart(event.ToolCallData{ToolCallID: p.call.ID, Name: p.call.Name, Title: titleFor(p.spec, t.caller.Lang)})
	}
	if err == nil {
		err = t.out.Flush(ctx)
	}
	if t.early(ctx, err) {
		first <- nil
		return interrupted(ctx)
	}
	first <- err
	if err != nil {
		if t.out.Err() != nil || errors.Is(err, emit.ErrClosed) {
			return ending{lost: true}
		}
		return failed(CodeInternal, "The block could not be opened again.", true)
	}
	t.execute(ctx, p)
	what := "retry"
	if refresh {
		what = "refresh"
	}
	t.step(trajectory.Turn{
		At: t.r.cfg.Now(), Calls: []trajectory.Call{p.out.record(p.call)},
		Extra: map[string]any{"msg_id": t.message.ID, "block_id": b.ID, "cause": what, "user": t.caller.User, "previous": previous(b, refresh)},
	})
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return ending{reason: event.FinishStop}
}

// previous keeps the payload that a refresh replaces.
func previous(b block.Block, refresh bool) json.RawMessage {
	if !refresh || b.Payload == nil {
		return json.RawMessage("null")
	}
	return b.Payload
}
