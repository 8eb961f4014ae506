package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// again answers a request whose key is known.
func (g *Gateway) again(ctx context.Context, c *check, call store.ActionCall) (Answer, error) {
	c.reg, _ = g.cfg.Actions.named(call.Name)
	if call.Fingerprint != c.print {
		return Answer{}, &Error{Code: CodeKeyReused, Message: "The idempotency key was used for another request."}
	}
	if call.Status == store.CallDone {
		return replay(call), nil
	}
	g.mu.Lock()
	accepted := g.accepted[call.ID]
	g.mu.Unlock()
	if accepted != nil {
		return Answer{Status: http.StatusAccepted, Body: accepted, Replayed: true}, nil
	}
	if call.Status == store.CallUnknown && !g.tellable(c.reg) {
		return replay(call), nil
	}
	wasUnknown := call.Status == store.CallUnknown
	call, err := g.take(ctx, call.ID)
	if errors.Is(err, store.ErrConflict) {
		return Answer{}, running()
	}
	if err != nil {
		return Answer{}, fmt.Errorf("take over call: %w", err)
	}
	a, _, err := g.settleFor(ctx, call, c, wasUnknown)
	return a, err
}

func replay(call store.ActionCall) Answer {
	return Answer{Status: call.HTTPStatus, Body: call.Answer, Replayed: true}
}

// tellable says whether anything can be found out about an unknown call.
func (g *Gateway) tellable(reg *registered) bool {
	return reg != nil && (reg.Lookup != nil || reg.Idempotent)
}

func (r *Registry) named(name string) (*registered, bool) {
	if name == answerName {
		return answers, true
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	reg, ok := r.byName[name]
	return reg, ok
}

// take takes over a call that nobody runs any more.
func (g *Gateway) take(ctx context.Context, id string) (store.ActionCall, error) {
	now := g.cfg.Now()
	return g.cfg.Store.TakeAction(context.WithoutCancel(ctx), id, g.cfg.Instance, now, now.Add(g.cfg.Limits.Lease))
}

// settle finds out what became of a call that was taken over, without the
// person who made it.
func (g *Gateway) settle(ctx context.Context, call store.ActionCall, wasUnknown bool) (Answer, store.BlockState, error) {
	reg, _ := g.cfg.Actions.named(call.Name)
	c := &check{reg: reg, req: Request{
		Owner: call.Owner, Caller: tool.Caller{Tenant: call.Owner.Tenant, User: call.Owner.User, Lang: call.Lang},
		Msg: call.Msg, Block: call.Block, Action: call.Action, Key: call.Key, TraceID: call.TraceID, Payload: call.Payload,
	}}
	return g.settleFor(ctx, call, c, wasUnknown)
}

// settleFor settles a call that was taken over. With the person there, who
// asks for the same again, an idempotent call is run again under its old id;
// otherwise its handler is asked. What nobody can tell stays unknown and is
// never run again by itself.
func (g *Gateway) settleFor(ctx context.Context, call store.ActionCall, c *check, wasUnknown bool) (Answer, store.BlockState, error) {
	there := c.print != ""
	j := &job{g: g, c: c, call: call, began: time.Now(), doubtful: true, wasUnknown: wasUnknown}
	e := end{verdict: doubt_, err: errors.New("its process ended before its outcome was stored")}
	err := g.recall(ctx, c)
	switch {
	case err != nil:
		g.cfg.Logger.Warn("block of an unfinished action", "call", call.ID, "err", err)
	case c.reg != nil && c.reg.Effect == Read:
		// Whether it was read does not matter to anybody.
		e = end{verdict: refused, err: &tool.Error{Message: builtinWords["failed"].For(call.Lang), Retryable: true, Err: e.err}}
	case c.reg != nil && c.reg.Idempotent && there && g.permitted(ctx, c) == nil:
		if c.payload, err = c.reg.accepts(c.block, c.act, c.req.Payload); err == nil {
			j.group = g.newGroup(c)
			a, err := j.carryOut(context.WithoutCancel(ctx))
			return a, j.state, err
		}
	default:
		e = g.ask(ctx, c, call, e.err)
	}
	if c.reg == nil {
		// The action was taken out of the program.
		c.reg = &registered{Def: Def{Name: call.Name, Effect: Write, Report: ReportNone}}
	}
	j.group = &group{g: g, closed: true, ended: make(chan struct{}), req: g.newGroup(c).req}
	a, err := j.finish(ctx, e)
	if err == nil {
		j.group.finish(j, e, nil)
	}
	return a, j.state, err
}

// recall finds the block and the button of a call again. Both may have changed
// or gone since; the call keeps what it needs.
func (g *Gateway) recall(ctx context.Context, c *check) error {
	m, err := g.message(ctx, c)
	if err != nil {
		return err
	}
	c.msg = m
	st, err := g.cfg.Store.BlockState(ctx, c.req.Owner, c.req.Block)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("read state: %w", err)
	}
	b, ok := m.Block(c.req.Block)
	if !ok {
		return fmt.Errorf("block %s: %w", c.req.Block, store.ErrNotFound)
	}
	c.block = b
	if st.Block == "" {
		st = stateOf(c.req.Owner, c.req.Msg, b)
	}
	c.state = st
	for _, a := range b.Actions {
		if a.ID == c.req.Action {
			c.act = a
		}
	}
	return nil
}

// doubt is a call whose outcome may be found out later.
type doubt struct {
	owner store.Owner
	key   string
	next  time.Time
	wait  time.Duration
}

// The pauses between questions about a call of unknown outcome.
const (
	doubtFirst = time.Minute
	doubtMost  = time.Hour
)

// remember keeps a call in mind while its outcome may be found out, and
// forgets it when it is known.
func (g *Gateway) remember(call store.ActionCall, reg *registered) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if call.Status != store.CallUnknown || reg == nil || reg.Lookup == nil {
		delete(g.unknown, call.ID)
		return
	}
	d := g.unknown[call.ID]
	d.wait = min(max(2*d.wait, doubtFirst), doubtMost)
	d.owner, d.key, d.next = call.Owner, call.Key, g.cfg.Now().Add(d.wait)
	g.unknown[call.ID] = d
}
