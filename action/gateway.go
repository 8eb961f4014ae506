package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// Turns begins turns and adds to messages; *turn.Runner implements it.
type Turns interface {
	Start(ctx context.Context, req turn.Request) (turn.Started, error)
	Follow(ctx context.Context, req turn.FollowRequest, body func(context.Context, *turn.Follow) error) (turn.Started, error)
	Answer(ctx context.Context, req turn.AnswerRequest) (turn.Started, error)
}

// Observer is told what became of actions, for metrics. Its methods must
// return at once.
type Observer interface {
	// Action reports one request; outcome is done, accepted, unknown, replayed
	// or the code of a refusal, name empty when no registered action was meant.
	Action(name, outcome string, d time.Duration)
}

// Limits bound actions. Zero values mean the defaults named here.
type Limits struct {
	// Payload bounds what a person sends, in bytes. Default 256 KiB.
	Payload int
	// State bounds what is kept of it on the block. Default 16 KiB, at most 48.
	State int
	// Result bounds what a handler gives back. Default 64 KiB.
	Result int
	// Prompt bounds the text of a prompt action, in bytes. Default 64 KiB.
	Prompt int
	// Confirm is the life of a confirmation. Default 5 min.
	Confirm time.Duration
	// Lease is the life of a call's lease; it is renewed at a third of it.
	// Default 30 s.
	Lease time.Duration
	// Wait is how long a call waits to write to a message that something else
	// writes to. Default 10 s.
	Wait time.Duration
	// Attempts is how often an idempotent call is run while its outcome is not
	// known. Default 3.
	Attempts int
	// Backoff is the pause before the second attempt; it doubles. Default
	// 500 ms.
	Backoff time.Duration
	// Keep is how long calls and their keys are remembered. Default 24 h.
	Keep time.Duration
}

// maxState leaves room for the rest of an event.
const maxState = 48 << 10

func (l Limits) withDefaults() Limits {
	num := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	dur := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	num(&l.Payload, 256<<10)
	num(&l.State, 16<<10)
	l.State = min(l.State, maxState)
	num(&l.Result, 64<<10)
	num(&l.Prompt, 64<<10)
	num(&l.Attempts, 3)
	dur(&l.Confirm, 5*time.Minute)
	dur(&l.Lease, 30*time.Second)
	dur(&l.Wait, 10*time.Second)
	dur(&l.Backoff, 500*time.Millisecond)
	dur(&l.Keep, 24*time.Hour)
	return l
}

// Config is what a Gateway needs. Store, Turns, Actions, Blocks and Signer are
// required.
type Config struct {
	Store   store.Store
	Turns   Turns
	Actions *Registry
	// Blocks are the block types that handlers may write.
	Blocks *block.Registry
	// Signer makes confirmations.
	Signer Signer
	// Files is where handlers put the files they make; nil for none.
	Files  tool.Files
	Limits Limits
	// Instance names this process as the holder of calls; it must differ from
	// every other process's, also from this one's before a restart.
	Instance string
	Logger   *slog.Logger
	Observer Observer
	Now      func() time.Time
}

// Gateway runs actions. It is safe for concurrent use.
type Gateway struct {
	cfg   Config
	rates rates

	mu      sync.Mutex
	closing bool
	// accepted are the answers of calls that run in the background here.
	accepted map[string][]byte
	// unknown are calls whose outcome may be found out yet; adopted is when
	// those of other processes were last looked for.
	unknown map[string]doubt
	adopted time.Time
	wg      sync.WaitGroup
}

// New returns a Gateway.
func New(cfg Config) (*Gateway, error) {
	if cfg.Store == nil || cfg.Turns == nil || cfg.Actions == nil || cfg.Blocks == nil || cfg.Signer == nil {
		return nil, errors.New("action: store, turns, actions, blocks and signer are required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Instance == "" {
		cfg.Instance = id.New("i")
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	cfg.Limits = cfg.Limits.withDefaults()
	return &Gateway{cfg: cfg, rates: newRates(), accepted: make(map[string][]byte), unknown: make(map[string]doubt)}, nil
}

type noObserver struct{}

func (noObserver) Action(string, string, time.Duration) {}

// Close waits until nothing runs any more, or ctx ends.
func (g *Gateway) Close(ctx context.Context) error {
	g.mu.Lock()
	g.closing = true
	g.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		g.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("actions still run: %w", context.Cause(ctx))
	}
}

// enter counts something that runs; false says that the gateway closes.
func (g *Gateway) enter() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closing {
		return false
	}
	g.wg.Add(1)
	return true
}

// Request is what a person asks for.
type Request struct {
	Owner  store.Owner
	Caller tool.Caller
	// Msg, Block and Action name the button.
	Msg, Block, Action string
	// Payload is a JSON object; empty or null is {}.
	Payload json.RawMessage
	// Key is the idempotency key.
	Key string
	// Rev is the block's rev that the person saw; 0 for clients that do not say.
	Rev int
	// ConfirmToken is that of a confirmation_required before.
	ConfirmToken string
	TraceID      string
	// Caps is what the person's client draws, for turns that begin.
	Caps block.Caps
}

// Answer is what the client gets: a body to be sent as it is.
type Answer struct {
	// Status is the HTTP status of the outcome.
	Status int
	// Body is JSON with a line end.
	Body []byte
	// Replayed says that the call was made before, with the same key.
	Replayed bool
}

// check is a request on its way through the checks.
type check struct {
	req     Request
	print   string // fingerprint
	msg     store.Message
	block   block.Block
	act     block.Action
	reg     *registered
	state   store.BlockState
	payload json.RawMessage // checked, with the action's own values
	nonce   token
}

// Do runs an action. Errors are *Error or *turn.Error, or end with ctx; the
// action itself does not end with ctx once it was reserved.
func (g *Gateway) Do(ctx context.Context, req Request) (Answer, error) {
	began := time.Now()
	c := &check{req: req}
	a, err := g.do(ctx, c)
	name := ""
	if c.reg != nil {
		name = c.reg.Name
	}
	g.cfg.Observer.Action(name, outcomeOf(a, err), time.Since(began))
	if err != nil && c.block.ID != "" {
		g.denied(ctx, c, err)
	}
	return a, err
}

func outcomeOf(a Answer, err error) string {
	if err != nil {
		return codeOf(err)
	}
	var body struct {
		Status string `json:"status"`
	}
	switch {
	case a.Replayed:
		return "replayed"
	case json.Unmarshal(a.Body, &body) == nil && body.Status != "":
		return body.Status
	default:
		return stateFailed
	}
}

func codeOf(err error) string {
	var own *Error
	var te *turn.Error
	switch {
	case errors.As(err, &own):
		return own.Code
	case errors.As(err, &te):
		return te.Code
	}
	return turn.CodeInternal
}

func (g *Gateway) do(ctx context.Context, c *check) (Answer, error) {
	if !g.enter() {
		return Answer{}, &turn.Error{Code: turn.CodeShuttingDown, Message: "The server is shutting down.", Retryable: true}
	}
	defer g.wg.Done()
	ctx = tool.WithCaller(ctx, c.req.Caller)
	if err := g.readable(c); err != nil {
		return Answer{}, err
	}
	// A request that was made before is answered as before, whatever has
	// changed since.
	if call, err := g.cfg.Store.ActionCall(ctx, c.req.Owner, c.req.Key); err == nil {
		return g.again(ctx, c, call)
	} else if !errors.Is(err, store.ErrNotFound) {
		return Answer{}, fmt.Errorf("look up key: %w", err)
	}
	if err := g.find(ctx, c); err != nil {
		return Answer{}, err
	}
	if c.act.Kind == block.ActionPrompt {
		if err := c.stateAllows(c.state, false); err != nil {
			return Answer{}, err
		}
		return g.prompt(ctx, c)
	}
	if err := c.stateAllows(c.state, c.reg.once(c.block.Type)); err != nil {
		return Answer{}, err
	}
	if c.reg == answers {
		return g.answer(ctx, c)
	}
	var err error
	if c.payload, err = c.reg.accepts(c.block, c.act, c.req.Payload); err != nil {
		return Answer{}, err
	}
	if err := g.permitted(ctx, c); err != nil {
		return Answer{}, err
	}
	if err := g.sound(ctx, c); err != nil {
		return Answer{}, err
	}
	if c.reg.Confirm.Level == LevelToken {
		t, reason := g.confirmed(c)
		if reason != "" {
			return Answer{}, g.confirm(c, reason)
		}
		c.nonce = t
	}
	if wait := g.rates.take(c.req.Owner, c.reg.Name, c.reg.PerMinute, g.cfg.Now()); wait > 0 {
		return Answer{}, &Error{Code: CodeRateLimited, Message: "This was done too often. Please wait a moment.", Retryable: true, After: wait}
	}
	if c.reg.Background {
		return g.background(ctx, c)
	}
	return g.foreground(ctx, c)
}

// readable checks what can be checked of a request alone.
func (g *Gateway) readable(c *check) error {
	r := &c.req
	for _, f := range []struct{ name, value string }{{"msgId", r.Msg}, {"blockId", r.Block}, {"actionId", r.Action}, {"idempotencyKey", r.Key}} {
		if f.value == "" {
			return invalid(f.name, f.name+" is missing.")
		}
	}
	if len(r.Payload) > g.cfg.Limits.Payload {
		return &Error{Code: CodeTooLarge, Message: "The payload is too large.", Details: map[string]any{"limit": g.cfg.Limits.Payload}}
	}
	if r.Rev < 0 {
		return invalid("rev", "rev must not be negative.")
	}
	var err error
	if r.Payload, err = canonical(r.Payload); err != nil {
		return &Error{Code: CodeInvalid, Message: "payload must be an object of names and values.", Details: map[string]any{"field": "payload"}, Err: err}
	}
	c.print = fingerprint(r)
	return nil
}

// find finds the button: it must be one that the server put on that very block
// of the caller's own, and lead to a registered action.
func (g *Gateway) find(ctx context.Context, c *check) error {
	m, err := g.message(ctx, c)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return notFound(err)
	case err != nil:
		return err
	}
	b, ok := m.Block(c.req.Block)
	if !ok || b.Status != block.StatusDone {
		return notFound(nil)
	}
	j := slices.IndexFunc(b.Actions, func(a block.Action) bool { return a.ID == c.req.Action })
	if j < 0 {
		return notFound(nil)
	}
	c.msg, c.act = m, b.Actions[j]
	switch c.act.Kind {
	case block.ActionPrompt:
	case block.ActionAPI:
		reg, ok := g.cfg.Actions.lookup(c.act, b.Type)
		if isAnswer(b, c.act) {
			reg, ok = answers, true
		}
		if !ok {
			return notFound(fmt.Errorf("action %s of block %s is not registered", c.act.ID, b.ID))
		}
		c.reg = reg
	default:
		c.block = b
		return &Error{Code: CodeUnsupportedKind, Message: "Actions of this kind are not run by the server.", Details: map[string]any{"kind": c.act.Kind}}
	}
	c.block = b
	return g.readState(ctx, c)
}

// message reads a request's message as it is now.
func (g *Gateway) message(ctx context.Context, c *check) (store.Message, error) {
	m, err := g.cfg.Store.Message(ctx, c.req.Owner, c.req.Msg)
	if err == nil {
		m, err = store.Current(ctx, g.cfg.Store, m)
	}
	if err != nil {
		return m, fmt.Errorf("read message: %w", err)
	}
	return m, nil
}

// readState reads the block's state, and what became of a call that left it
// pending and died.
func (g *Gateway) readState(ctx context.Context, c *check) error {
	st, err := g.cfg.Store.BlockState(ctx, c.req.Owner, c.req.Block)
	if errors.Is(err, store.ErrNotFound) {
		c.state = stateOf(c.req.Owner, c.req.Msg, c.block)
		return nil
	}
	if err != nil {
		return fmt.Errorf("read state: %w", err)
	}
	if st.Pending {
		// ErrConflict is a call that runs.
		if call, err := g.take(ctx, st.Call); err == nil {
			if _, st, err = g.settle(ctx, call, false); err != nil {
				return err
			}
		} else if !errors.Is(err, store.ErrConflict) {
			return fmt.Errorf("take over call: %w", err)
		}
	}
	c.state = st
	c.block.State, c.block.Rev = st.State, st.Rev
	return nil
}

func (c *check) stateAllows(st store.BlockState, exclusive bool) error {
	switch {
	case st.Locked, c.act.DisabledWhen != "" && c.act.DisabledWhen == statusOf(st.State):
		details := map[string]any{"block": view(st)}
		if res := resultOf(st.State); res != nil {
			details["result"] = res
		}
		return &Error{Code: CodeSubmitted, Message: "This was done already.", Details: details}
	case st.Pending && exclusive:
		return running()
	case c.req.Rev != 0 && c.req.Rev != st.Rev:
		b := c.block
		b.State, b.Rev = st.State, st.Rev
		return &Error{Code: CodeStale, Message: "The block has changed meanwhile.", Details: map[string]any{"block": b}}
	}
	return nil
}

func (g *Gateway) permitted(ctx context.Context, c *check) (err error) {
	if c.reg.Permit == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = &Error{Code: CodeForbidden, Message: "You may not do this.", Err: fmt.Errorf("panic in Permit: %v", v)}
		}
	}()
	if err := c.reg.Permit(ctx, c.req.Caller); err != nil {
		message := "You may not do this."
		var own *tool.Error
		if errors.As(err, &own) && own.Message != "" {
			message = own.Message
		}
		return &Error{Code: CodeForbidden, Message: message, Err: err}
	}
	return nil
}

// sound asks the action itself whether the values make sense.
func (g *Gateway) sound(ctx context.Context, c *check) (err error) {
	if c.reg.Check == nil {
		return nil
	}
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("panic in Check of %s: %v", c.reg.Name, v)
		}
	}()
	err = c.reg.Check(ctx, c.call(store.ActionCall{
		Name: c.reg.Name, Action: c.act.ID, TraceID: c.req.TraceID, Conversation: c.msg.Conversation, Msg: c.req.Msg,
	}, 0))
	var own *tool.Error
	if err == nil || !errors.As(err, &own) || own.Message == "" {
		return err
	}
	return &Error{
		Code: CodePayloadInvalid, Message: own.Message, Err: err,
		Details: map[string]any{"violations": []map[string]string{{"path": "", "message": own.Message}}},
	}
}

// reserve begins the call: from here on it is known by its key.
func (g *Gateway) reserve(ctx context.Context, c *check) (store.ActionCall, store.BlockState, error) {
	now := g.cfg.Now()
	call := store.ActionCall{
		ID: id.New("x"), Owner: c.req.Owner, Conversation: c.msg.Conversation, Msg: c.req.Msg, Block: c.req.Block,
		Action: c.act.ID, Name: c.reg.Name, Key: c.req.Key, Fingerprint: c.print,
		Payload: secrets(c.block, c.payload, c.act.InputSchema, c.reg.Schema),
		TraceID: c.req.TraceID, Lang: c.req.Caller.Lang, Status: store.CallRunning,
		Holder: g.cfg.Instance, LeaseUntil: now.Add(g.cfg.Limits.Lease), StartedAt: now,
	}
	r := store.ActionReserve{Call: call, Rev: c.req.Rev, Exclusive: c.reg.once(c.block.Type)}
	if r.Exclusive {
		s := state{Status: stateSubmitting, Locked: true, ActionID: c.act.ID, At: now.UnixMilli(), CallID: call.ID}
		s.Values = valuesOf(c.block, call.Payload)
		r.State = s.encode(nil, g.cfg.Limits.State)
	}
	if c.nonce.Nonce != "" {
		r.Nonce, r.NonceUntil = c.nonce.Nonce, time.UnixMilli(c.nonce.Expires)
	}
	st, err := g.cfg.Store.ReserveAction(ctx, r)
	if err == nil {
		if st.Block == "" {
			st = c.state
		}
		return call, st, nil
	}
	var conflict *store.StateError
	switch {
	case errors.Is(err, store.ErrTokenUsed):
		return call, st, g.confirm(c, confirmUsed)
	case errors.As(err, &conflict):
		if refused := c.stateAllows(conflict.State, r.Exclusive); refused != nil {
			return call, st, refused
		}
		return call, st, running()
	case errors.Is(err, store.ErrNotFound):
		return call, st, notFound(err) // deleted meanwhile
	}
	return call, st, fmt.Errorf("reserve action: %w", err)
}

// valuesOf are the values that a block keeps of what it was given.
func valuesOf(b block.Block, payload json.RawMessage) json.RawMessage {
	if b.Type != "form" || bytes.Equal(payload, []byte("{}")) {
		return nil
	}
	return payload
}

// denied writes a refusal to the audit log.
func (g *Gateway) denied(ctx context.Context, c *check, err error) {
	code := codeOf(err)
	if code == turn.CodeInternal || ctx.Err() != nil {
		return
	}
	e := g.entry(c)
	e.Decision, e.Outcome, e.RevAfter = "denied", code, c.state.Rev
	if err := g.cfg.Store.AppendAudit(ctx, e); err != nil {
		g.cfg.Logger.Error("write audit log", "err", err)
	}
}

// entry is an audit entry for a request.
func (g *Gateway) entry(c *check) store.AuditEntry {
	e := store.AuditEntry{
		ID: id.New("l"), At: g.cfg.Now(), Tenant: c.req.Owner.Tenant, User: c.req.Owner.User, Conversation: c.msg.Conversation,
		Msg: c.req.Msg, Block: c.req.Block, Action: c.req.Action, Key: c.req.Key, PayloadHash: digest(c.req.Payload),
		RevBefore: c.state.Rev, TraceID: c.req.TraceID,
	}
	if c.reg != nil {
		e.Name = c.reg.Name
	}
	return e
}
