package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// run is one group of one message while it is written: the turn itself or a
// follow-up.
type run struct {
	r       *Runner
	log     *slog.Logger
	lease   store.Lease
	message store.Message
	caller  tool.Caller
	caps    block.Caps // of the stream that started the group
	emitted *tool.Spec // of emit_ui_block; nil when it is not offered
	client  *client    // what the client has brought
	out     *emit.Stream
	began   time.Time
	// last is the message's last seq before the group.
	last uint64
	// follow says that the group does not change what the message came to.
	follow bool
	// timeout bounds the group; 0 means the time of a turn.
	timeout time.Duration

	history  []model.Message // before the turn, the question last
	given    []model.Message // the history that the request brought
	exchange []model.Message // said in the turn beyond its text blocks
	cards    *cards          // in the model's text; nil for none
	wrote    *written        // what of the message exchange accounts for
	usage    model.Usage
	steps    int // model calls so far
	bytes    int // text written so far
	calls    int // tools called so far
	results  map[string]result
	bad      map[string]int    // how often the same wrong call was made
	barred   map[string]bool   // tools not offered any more
	named    map[string]bool   // ids of the turn's calls
	waiting  map[string]string // calls of earlier answers that wait, since when
	reports  []string          // what people did with blocks since the last answer
	replies  []agent.Reply     // to what the upstream agent asked
	far      string            // what the upstream agent calls its answer
	saved    bool              // the store has a state of the turn
	// unattended says that nobody is here whose rights a tool could run with.
	unattended bool

	saving sync.Mutex // held while the state is stored

	mu    sync.Mutex // guards traj, noted, slots and the state of the client
	slots []slot     // the results of the step that runs
	traj  *trajectory.Builder
	noted bool // the trajectory grew
}

// ending is how a group ends.
type ending struct {
	reason string           // of done
	err    *event.ErrorData // instead of done
	open   block.Error      // for blocks still open
	lost   bool             // another owner ends the group
}

// newRun is the run of a new message.
func (r *Runner) newRun(lease store.Lease, m store.Message, caller tool.Caller, caps block.Caps, session *emit.Session, brought *client) *run {
	t := r.empty(lease, m, caller, caps)
	t.client = brought
	t.traj = trajectory.NewBuilder(m.ID, m.Conversation, t.agent())
	cfg := r.stream(lease, caps, session)
	cfg.Started = t.began
	t.out = emit.New(context.Background(), cfg)
	return t
}

// newGroup is a run that appends a further group to a message. goesOn says that
// it goes on with the message's turn.
func (r *Runner) newGroup(ctx context.Context, lease store.Lease, last uint64, m store.Message, caller tool.Caller, caps block.Caps, goesOn bool) *run {
	t := r.empty(lease, m, caller, caps)
	t.last = last
	folder := r.folded(ctx, m, last)
	t.traj = trajectory.NewBuilder(m.ID, m.Conversation, t.agent())
	if raw, err := r.cfg.Store.Trajectory(ctx, m.Owner, m.ID); err == nil {
		if doc, err := trajectory.Read(raw); err == nil {
			t.traj = trajectory.Continue(doc)
		}
	}
	cfg := r.stream(lease, caps, r.sessionBefore(ctx, m))
	cfg.Folder, cfg.Last, cfg.Continues, cfg.Started = folder, last, goesOn, m.CreatedAt
	if ts := folder.State().Start.TS; ts != 0 {
		cfg.Started = time.UnixMilli(ts)
	}
	t.out = emit.New(context.Background(), cfg)
	return t
}

func (r *Runner) empty(lease store.Lease, m store.Message, caller tool.Caller, caps block.Caps) *run {
	t := &run{
		r: r, lease: lease, message: m, caller: caller, caps: caps, client: &client{},
		log:     r.cfg.Logger.With("msg", m.ID, "group", lease.Group),
		began:   r.cfg.Now(),
		results: make(map[string]result),
		bad:     make(map[string]int),
		barred:  make(map[string]bool),
		named:   make(map[string]bool),
	}
	if spec, ok := r.emitSpec(caps); ok {
		t.emitted = &spec
	}
	t.cards = t.newCards()
	return t
}

func (r *Runner) stream(lease store.Lease, caps block.Caps, session *emit.Session) emit.Config {
	return emit.Config{
		Log: r.cfg.Store, Lease: lease, Registry: r.cfg.Registry, Caps: caps, Allow: &r.cfg.Destinations, Session: session,
		Coalesce: r.cfg.Limits.Coalesce, Cap: r.cfg.Limits.Blocks, OptionalCap: r.cfg.Limits.Optional, Now: r.cfg.Now,
		Appended: r.cfg.Observer.Events,
	}
}

// session is what the messages before a turn have shown that no tool was asked
// for; nil where that is not bounded.
func (r *Runner) session(path []store.Message) *emit.Session {
	limits := r.cfg.Limits.Session
	if limits == nil {
		return nil
	}
	s := &emit.Session{Most: limits.Blocks, Recent: make(map[string]bool)}
	answers := 0
	for _, m := range slices.Backward(path) {
		if m.Role != store.RoleAssistant {
			continue
		}
		answers++
		for _, b := range m.Blocks {
			if b.Status != block.StatusDone {
				continue
			}
			if b.Meta != nil && b.Meta.Producer != "" {
				s.Blocks++
			}
			if t, ok := r.cfg.Registry.Lookup(b.Type, b.Version); ok && t.Targets != nil && answers <= limits.Turns {
				for _, target := range t.Targets.List(b.Payload) {
					if target != (block.Target{}) { // it leads nowhere
						s.Recent[target.Key()] = true
					}
				}
			}
		}
	}
	return s
}

// sessionBefore is the session of a message that is there already.
func (r *Runner) sessionBefore(ctx context.Context, m store.Message) *emit.Session {
	if r.cfg.Limits.Session == nil || m.Parent == "" {
		return r.session(nil)
	}
	path, err := r.cfg.Store.Path(ctx, m.Owner, m.Conversation, m.Parent)
	if err != nil {
		// Rather too few blocks than too many.
		r.cfg.Logger.Warn("read what the conversation has shown", "msg", m.ID, "err", err)
		return &emit.Session{Blocks: r.cfg.Limits.Session.Blocks, Most: r.cfg.Limits.Session.Blocks}
	}
	return r.session(path)
}

// agent is who acts in the trajectory of a run.
func (t *run) agent() trajectory.Agent {
	a := trajectory.Agent{Name: t.r.cfg.Agent, Version: t.r.cfg.Version, ModelName: t.r.cfg.info().Name}
	for _, s := range t.specs() {
		if def, err := definition(s.Name, s.Description, tool.Parameters(s)); err == nil {
			a.ToolDefinitions = append(a.ToolDefinitions, def)
		}
	}
	return a
}

// definition is a tool as trajectories define it.
func definition(name, description string, parameters json.RawMessage) (json.RawMessage, error) {
	return json.Marshal(map[string]any{"type": "function", "function": map[string]any{
		"name": name, "description": description, "parameters": parameters,
	}})
}

// launch runs body in the background until it ends, is stopped, times out or
// loses its lease, and returns once the group's first event is durable.
func (r *Runner) launch(ctx context.Context, t *run, body func(context.Context, chan<- error) ending) error {
	runCtx, cancel := context.WithCancelCause(tool.WithCaller(context.Background(), t.caller))
	r.mu.Lock()
	if r.closing {
		r.mu.Unlock()
		cancel(errShutdown)
		return t.refuse(&Error{Code: CodeShuttingDown, Message: "The server is shutting down.", Retryable: true})
	}
	over := make(chan struct{})
	r.running[t.message.ID] = &active{stop: cancel, over: over}
	r.wg.Add(1)
	r.mu.Unlock()

	first := make(chan error, 1)
	r.cfg.Observer.TurnStarted()
	go func() {
		defer r.wg.Done()
		defer close(over)
		timed, stopTimer := context.WithTimeoutCause(runCtx, cmp.Or(t.timeout, r.cfg.Limits.Turn), errTimeout)
		watch, stopWatch := context.WithCancel(runCtx)
		var helpers sync.WaitGroup
		helpers.Go(func() { t.renew(watch, cancel) })
		helpers.Go(func() { t.listen(watch, cancel) })
		e := t.guarded(timed, first, body)
		status := t.finish(e)
		stopWatch()
		stopTimer()
		helpers.Wait()
		cancel(nil)
		r.mu.Lock()
		delete(r.running, t.message.ID)
		r.mu.Unlock()
		r.release(t.lease)
		r.cfg.Observer.TurnEnded(string(status), r.cfg.Now().Sub(t.began))
	}()
	select {
	case err := <-first:
		if err != nil {
			return t.unbegun(err)
		}
		return nil
	case <-ctx.Done():
		// The caller has gone; the turn goes on.
		return nil
	}
}

// unbegun words why the first event could not be written.
func (t *run) unbegun(err error) error {
	const doing = "write the first event"
	if errors.Is(err, store.ErrStaleLease) {
		if _, gone := t.r.cfg.Store.MessageOf(context.Background(), t.message.ID); errors.Is(gone, store.ErrNotFound) {
			return storeError(doing, gone) // deleted meanwhile
		}
		return &Error{Code: CodeInterrupted, Message: "The answer was interrupted.", Retryable: true, Err: fmt.Errorf("%s: %w", doing, err)}
	}
	return storeError(doing, err)
}

// refuse gives back what was taken for a run that may not start.
func (t *run) refuse(err *Error) error {
	t.message.Status = event.StatusError
	t.message.Err = &event.ErrorData{Code: err.Code, Message: err.Message, Retryable: true}
	if t.lease.Group == 1 {
		if perr := t.r.cfg.Store.PutMessage(context.Background(), t.message); perr != nil && !errors.Is(perr, store.ErrNotFound) {
			t.log.Error("store message", "err", perr)
		}
	}
	if _, cerr := t.out.Close(); cerr != nil {
		t.log.Error("close log", "err", cerr)
	}
	t.r.release(t.lease)
	return err
}

// guarded runs body and turns its panic into an error of the turn.
func (t *run) guarded(ctx context.Context, first chan<- error, body func(context.Context, chan<- error) ending) (e ending) {
	defer func() {
		if p := recover(); p != nil {
			t.log.Error("panic in turn", "panic", p, "stack", string(debug.Stack()))
			e = failed(CodeInternal, "The server failed.", true)
		}
	}()
	return body(ctx, first)
}

func failed(code, message string, retryable bool) ending {
	return ending{
		err:  &event.ErrorData{Code: code, Message: message, Retryable: retryable},
		open: block.Error{Code: block.CodeInterrupted, Message: message, Retryable: true},
	}
}

// interrupted is the ending of a run whose context has ended.
func interrupted(ctx context.Context) ending {
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errStopped):
		return ending{reason: event.FinishCancelled, open: block.Error{Code: block.CodeCancelled, Message: "Stopped.", Retryable: true}}
	case errors.Is(cause, errTimeout):
		return failed(CodeTurnTimeout, "The answer took too long.", true)
	case errors.Is(cause, errLease):
		return ending{lost: true}
	default:
		return failed(CodeInterrupted, "The answer was interrupted by a restart of the server.", true)
	}
}

// finish stores the message and ends the group. The record is written before
// the terminal event, so that whoever has seen the end finds it stored.
func (t *run) finish(e ending) event.Status {
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	status := event.StatusDone
	switch {
	case e.err != nil:
		status = event.StatusError
	case e.reason == event.FinishCancelled:
		status = event.StatusCancelled
	case e.reason == event.FinishPaused:
		status = event.StatusPaused
	}
	lost := func(doing string, err error) event.Status {
		// The lease runs out and recovery ends the message.
		if cause := t.out.Err(); cause != nil {
			err = cause
		}
		level := slog.LevelError
		if _, gone := t.r.cfg.Store.MessageOf(ctx, t.message.ID); errors.Is(gone, store.ErrNotFound) {
			level = slog.LevelInfo // it was deleted: nobody misses the rest
		}
		t.log.Log(ctx, level, doing, "err", err)
		if errors.Is(err, store.ErrFull) || errors.Is(err, store.ErrBusy) {
			te := storeError(doing, err)
			t.r.mu.Lock()
			t.r.lost[t.message.ID] = event.ErrorData{Code: te.Code, Message: te.Message, Retryable: true}
			t.r.mu.Unlock()
		}
		_, _ = t.out.Close() // the same error again
		return event.StatusError
	}
	if e.lost {
		return lost("end turn", errLease)
	}
	// Whoever reads the end of the text may ask the next question at once.
	t.answered(nil)
	if status != event.StatusPaused {
		if err := t.dropQuestions(ctx); err != nil {
			return lost("end questions", err)
		}
	}
	st, err := t.out.Settle(ctx, e.open)
	if err != nil {
		return lost("settle blocks", err)
	}
	if t.follow && e.err == nil && st.Seq == t.last {
		// Nothing was written: there is no group, and releasing the lease leaves
		// none.
		t.store(ctx)
		_, _ = t.out.Close()
		return status
	}
	usage := usageOf(t.usage)
	t.message.Blocks, t.message.Seq = st.Blocks, st.Seq+1
	t.message.Tools = withCalls(slices.Clone(t.message.Tools), st.Tools)
	if !t.follow {
		t.message.Reasoning = st.Reasoning
		t.message.Status, t.message.FinishReason, t.message.Usage, t.message.Err = status, e.reason, usage, e.err
		t.message.Exchange = t.said(ctx, status, st.Blocks)
	}
	if err := t.retrying(ctx, func() error { return t.r.cfg.Store.PutMessage(ctx, t.message) }); err != nil {
		if !errors.Is(err, store.ErrNotFound) { // deleted meanwhile
			t.log.Error("store message", "err", err)
		}
	}
	t.store(ctx)
	if t.saved && status != event.StatusPaused {
		// A state that stays behind says nothing: the message is not paused.
		if err := t.r.cfg.Store.DeleteTurnState(ctx, t.message.ID); err != nil {
			t.log.Warn("forget the state of the turn", "err", err)
		}
	}
	if e.err != nil {
		err = t.out.Error(*e.err)
	} else {
		err = t.out.Done(event.DoneData{FinishReason: e.reason, Usage: usage, Model: t.message.Model})
	}
	if err != nil {
		return lost("write the end", err)
	}
	if _, err := t.out.Close(); err != nil {
		return lost("write the end", err)
	}
	return status
}

// said is the exchange as later turns read it.
func (t *run) said(ctx context.Context, status event.Status, blocks []block.Block) json.RawMessage {
	said := t.state().results(waitingPlaceholder)
	if status != event.StatusPaused {
		said = t.state().cut(blocks, t.r.cardSource(ctx, t.message.Owner))
	}
	raw, err := json.Marshal(t.cards.withNotes(said))
	if err != nil {
		t.log.Error("encode exchange", "err", err)
		return nil
	}
	return raw
}

// store stores the trajectory where it grew.
func (t *run) store(ctx context.Context) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.follow && !t.noted {
		return
	}
	if doc, err := t.traj.Encode(); err != nil {
		t.log.Error("trajectory", "err", err)
	} else if err := t.r.cfg.Store.PutTrajectory(ctx, t.message.Owner, t.message.ID, doc); err != nil && !errors.Is(err, store.ErrNotFound) {
		t.log.Error("store trajectory", "err", err)
	}
}

// withCalls adds the calls of a fold to those recorded: a follow-up whose log
// has forgotten the turn knows its own only.
func withCalls(recorded, folded []event.ToolActivity) []event.ToolActivity {
	for _, f := range folded {
		i := slices.IndexFunc(recorded, func(r event.ToolActivity) bool { return r.ID == f.ID })
		if i < 0 {
			recorded = append(recorded, f)
		} else {
			recorded[i] = f // one that the client ran has ended
		}
	}
	return recorded
}

// retrying tries a write again while the store is busy.
func (t *run) retrying(ctx context.Context, write func() error) error {
	wait := 20 * time.Millisecond
	for attempt := 0; ; attempt++ {
		err := write()
		if err == nil || !errors.Is(err, store.ErrBusy) || attempt == 6 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", context.Cause(ctx), err)
		case <-time.After(wait):
			wait *= 2
		}
	}
}

// renew keeps the lease alive until ctx ends; a lease that was lost ends the
// run.
func (t *run) renew(ctx context.Context, cancel context.CancelCauseFunc) {
	ttl := t.r.cfg.Limits.Lease
	tick := time.NewTicker(ttl / 3)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := t.r.cfg.Store.Renew(ctx, t.lease, ttl)
		if errors.Is(err, store.ErrStaleLease) {
			cancel(errLease)
			return
		}
		if err != nil && ctx.Err() == nil {
			t.log.Warn("renew lease", "err", err)
		}
	}
}

// listen waits for signals from other instances.
func (t *run) listen(ctx context.Context, cancel context.CancelCauseFunc) {
	for s, err := range t.r.cfg.Store.Watch(ctx, t.message.ID) {
		if err != nil {
			if ctx.Err() == nil {
				t.log.Warn("watch signals", "err", err)
			}
			return
		}
		switch s.Kind {
		case store.SignalStop:
			cancel(errStopped)
			return
		case store.SignalNext:
			t.r.cutShort(t.message.ID)
		}
	}
}
