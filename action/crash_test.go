package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

var errKilled = errors.New("the process was killed")

// process is a store and a runner as one process sees them, until it is killed:
// at its step number kill, before or after what that step does.
type process struct {
	store.Store
	turns Turns

	mu    sync.Mutex
	steps int
	kill  int // 0 lives on
	after bool
	dead  bool
}

// step takes one step of the process: do is skipped when it was killed before,
// and its result is lost when it is killed after.
func (p *process) step(do func() error) error {
	p.mu.Lock()
	p.steps++
	now := p.steps == p.kill
	dead := p.dead || now && !p.after
	p.dead = p.dead || now
	p.mu.Unlock()
	if dead {
		return errKilled
	}
	if err := do(); !now {
		return err
	}
	return errKilled
}

func (p *process) killed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.dead
}

func (p *process) ActionCall(ctx context.Context, o store.Owner, key string) (c store.ActionCall, err error) {
	err = p.step(func() error { c, err = p.Store.ActionCall(ctx, o, key); return err })
	return c, err
}

func (p *process) Message(ctx context.Context, o store.Owner, id string) (m store.Message, err error) {
	err = p.step(func() error { m, err = p.Store.Message(ctx, o, id); return err })
	return m, err
}

func (p *process) BlockState(ctx context.Context, o store.Owner, id string) (s store.BlockState, err error) {
	err = p.step(func() error { s, err = p.Store.BlockState(ctx, o, id); return err })
	return s, err
}

func (p *process) BlockStates(ctx context.Context, o store.Owner, msg string) (s []store.BlockState, err error) {
	err = p.step(func() error { s, err = p.Store.BlockStates(ctx, o, msg); return err })
	return s, err
}

func (p *process) ReserveAction(ctx context.Context, r store.ActionReserve) (s store.BlockState, err error) {
	err = p.step(func() error { s, err = p.Store.ReserveAction(ctx, r); return err })
	return s, err
}

func (p *process) FinishAction(ctx context.Context, f store.ActionFinish) (c store.ActionCall, s store.BlockState, err error) {
	err = p.step(func() error { c, s, err = p.Store.FinishAction(ctx, f); return err })
	return c, s, err
}

func (p *process) TakeAction(ctx context.Context, id, holder string, now, until time.Time) (c store.ActionCall, err error) {
	err = p.step(func() error { c, err = p.Store.TakeAction(ctx, id, holder, now, until); return err })
	return c, err
}

func (p *process) ExpiredActions(ctx context.Context, now time.Time) (c []store.ActionCall, err error) {
	err = p.step(func() error { c, err = p.Store.ExpiredActions(ctx, now); return err })
	return c, err
}

func (p *process) UnknownActions(ctx context.Context, since time.Time, limit int) (c []store.ActionCall, err error) {
	err = p.step(func() error { c, err = p.Store.UnknownActions(ctx, since, limit); return err })
	return c, err
}

func (p *process) MarkLogged(ctx context.Context, block string, rev int) error {
	return p.step(func() error { return p.Store.MarkLogged(ctx, block, rev) })
}

func (p *process) AppendAudit(ctx context.Context, e store.AuditEntry) error {
	return p.step(func() error { return p.Store.AppendAudit(ctx, e) })
}

func (p *process) Start(ctx context.Context, req turn.Request) (st turn.Started, err error) {
	err = p.step(func() error { st, err = p.turns.Start(ctx, req); return err })
	return st, err
}

func (p *process) Follow(ctx context.Context, req turn.FollowRequest, body func(context.Context, *turn.Follow) error) (st turn.Started, err error) {
	err = p.step(func() error { st, err = p.turns.Follow(ctx, req, body); return err })
	return st, err
}

func (p *process) Answer(ctx context.Context, req turn.AnswerRequest) (st turn.Started, err error) {
	err = p.step(func() error { st, err = p.turns.Answer(ctx, req); return err })
	return st, err
}

// business is the system behind the action. It counts what really happened.
type business struct {
	mu      sync.Mutex
	effects map[string]int // by call
	rnd     *rand.Rand
	process *process
	// idempotent systems know calls that they have carried out.
	idempotent bool
}

func (b *business) total() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	n := 0
	for _, k := range b.effects {
		n += k
	}
	return n
}

func (b *business) chance(n int) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.rnd.IntN(n) == 0
}

func (b *business) run(_ context.Context, c Call, _ *tool.Out) (Result, error) {
	if b.chance(8) {
		return Result{}, &tool.Error{Message: "refused"}
	}
	if b.chance(8) {
		return Result{}, errors.New("broken before")
	}
	err := b.process.step(func() error {
		b.mu.Lock()
		defer b.mu.Unlock()
		if !b.idempotent || b.effects[c.ID] == 0 {
			b.effects[c.ID]++
		}
		return nil
	})
	if err != nil {
		return Result{}, err
	}
	if b.chance(8) {
		return Result{}, errors.New("broken after")
	}
	return Result{Value: c.ID}, nil
}

func (b *business) lookup(_ context.Context, c Call) (bool, Result, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.rnd.IntN(4) == 0 {
		return false, Result{}, errors.New("cannot say")
	}
	return b.effects[c.ID] > 0, Result{Value: c.ID}, nil
}

// TestCrashes lets two devices press the same button in random schedules, with
// their own keys and with the same, again and with other values, while the
// process is killed between any two of its steps and started anew. Whatever
// happens, the business call happens at most once, and the state says done only
// when it did.
func TestCrashes(t *testing.T) {
	schedules := 10_000
	if testing.Short() || underRace {
		schedules = 500
	}
	const lanes = 4 // of the seeds, side by side
	var mu sync.Mutex
	outcomes := map[string]int{}
	t.Run("lanes", func(t *testing.T) {
		for lane := range lanes {
			t.Run(strconv.Itoa(lane), func(t *testing.T) {
				t.Parallel()
				for outcome, n := range crashes(t, lane, schedules, lanes) {
					mu.Lock()
					outcomes[outcome] += n
					mu.Unlock()
				}
			})
		}
	})
	t.Logf("%d schedules: %v", schedules, outcomes)
	for _, want := range []string{"done", "unknown", "failed", "untouched"} {
		if outcomes[want] == 0 {
			t.Errorf("no schedule came to %s", want)
		}
	}
}

// crashes runs the schedules of every step-th seed from first on, and counts
// what they came to.
func crashes(t *testing.T, first, end, step int) map[string]int {
	b := &business{}
	def := export(b.run)
	look := def
	look.Name, look.Lookup = "look", b.lookup
	again := def
	again.Name, again.Idempotent = "touch", true
	r := newRig(t, def, look, again)
	// The three kinds of handler stand behind the same button of three forms.
	forms := map[string]string{"": "form", "look": "form_look", "touch": "form_idempotent"}
	outcomes := map[string]int{}
	for seed := first; seed < end; seed += step {
		rnd := rand.New(rand.NewPCG(uint64(seed), 7))
		kind := []string{"", "look", "touch"}[seed%3]
		m := r.show(forms[kind])
		*b = business{effects: map[string]int{}, rnd: rand.New(rand.NewPCG(uint64(seed), 8)), idempotent: kind == "touch"}
		schedule(t, r, b, m, rnd)
		outcome := settledOutcome(t, r, b, m, seed)
		outcomes[outcome]++
		if t.Failed() {
			t.Fatalf("schedule %d", seed)
		}
		if err := r.store.DeleteConversation(context.Background(), r.owner(), m.Conversation); err != nil {
			t.Fatal(err)
		}
	}
	return outcomes
}

// schedule plays one schedule: one to three processes, one after the other.
func schedule(t *testing.T, r *rig, b *business, m store.Message, rnd *rand.Rand) {
	key1, key2 := newKey(), newKey()
	if rnd.IntN(2) == 0 {
		key2 = key1
	}
	answers := map[string][]byte{}
	for range 1 + rnd.IntN(3) {
		p := &process{Store: r.store, turns: r.runner, after: rnd.IntN(2) == 0}
		if rnd.IntN(4) > 0 {
			p.kill = 1 + rnd.IntN(24)
		}
		b.process = p
		g := newProcess(t, r, p)
		if rnd.IntN(2) == 0 {
			r.clock.forward(31 * time.Second) // the leases of the dead run out
		}
		if rnd.IntN(2) == 0 {
			_ = g.Sweep(context.Background()) // it may be killed, too
		}
		var wg sync.WaitGroup
		var mu sync.Mutex
		for _, key := range []string{key1, key2} {
			presses := 1 + rnd.IntN(3)
			seeds := rand.New(rand.NewPCG(rnd.Uint64(), 1))
			wg.Go(func() {
				for range presses {
					req := r.press(m, "submit", `{"name":"x"}`)
					req.Key = key
					edited := false
					switch seeds.IntN(6) {
					case 0:
						req.Payload, edited = json.RawMessage(`{"name":"y"}`), true
					case 1:
						req.Rev = 1 + seeds.IntN(3)
					}
					a, err := g.Do(context.Background(), req)
					if err != nil || edited {
						continue
					}
					mu.Lock()
					if before := answers[key]; before != nil && a.Replayed && !same(before, a.Body) && !unknownBefore(before) {
						t.Errorf("another answer to the same key:\n%s%s", before, a.Body)
					}
					answers[key] = a.Body
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		closed(t, g)
	}
}

// unknownBefore is an answer that may become another one.
func unknownBefore(body []byte) bool {
	var a answered
	return json.Unmarshal(body, &a) == nil && a.Status == "unknown"
}

func newProcess(t *testing.T, r *rig, p *process) *Gateway {
	t.Helper()
	g, err := New(Config{
		Store: p, Turns: p, Actions: r.reg, Blocks: r.blocks, Signer: r.ring, Now: r.clock.now,
		Limits: Limits{Backoff: time.Microsecond, Wait: time.Minute},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func closed(t *testing.T, g *Gateway) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := g.Close(ctx); err != nil {
		t.Fatal(err)
	}
}

// settledOutcome lets a process that lives find out what became of everything,
// and holds what it says against what happened.
func settledOutcome(t *testing.T, r *rig, b *business, m store.Message, seed int) string {
	t.Helper()
	p := &process{Store: r.store, turns: r.runner}
	b.process = p
	g := newProcess(t, r, p)
	defer closed(t, g)
	r.clock.forward(31 * time.Second)
	if err := g.Sweep(context.Background()); err != nil {
		t.Fatal(err)
	}
	if calls, err := r.store.ExpiredActions(context.Background(), r.clock.now()); err != nil || len(calls) != 0 {
		t.Errorf("schedule %d: left: %v %v", seed, calls, err)
	}
	happened := b.total()
	st, err := r.store.BlockState(context.Background(), r.owner(), blockOf(t, m).ID)
	outcome := "untouched"
	if err == nil {
		outcome = statusOf(st.State)
	} else if !errors.Is(err, store.ErrNotFound) {
		t.Fatal(err)
	}
	ok := happened <= 1
	switch outcome {
	case "done":
		ok = ok && happened == 1
	case "failed", "untouched":
		ok = ok && happened == 0
	case "unknown":
	default:
		ok = false
	}
	if !ok {
		t.Errorf("schedule %d: it happened %d times, the state is %q %s", seed, happened, outcome, st.State)
	}
	// Whoever presses now, it does not happen a second time.
	b.mu.Lock()
	b.rnd = rand.New(rand.NewPCG(uint64(seed), 9))
	b.mu.Unlock()
	_, pressed := g.Do(context.Background(), r.press(m, "submit", `{"name":"z"}`))
	if locked := outcome == "done" || outcome == "unknown"; locked != (codeOf(pressed) == CodeSubmitted && pressed != nil) {
		t.Errorf("schedule %d: pressed once more after %s: %v", seed, outcome, pressed)
	}
	if n := b.total(); n > 1 {
		t.Errorf("schedule %d: it happened %d times", seed, n)
	}
	return outcome
}

// TestEveryStep kills the process at each step of one press, before and after,
// and then lets the same person try the same again.
func TestEveryStep(t *testing.T) {
	for _, kind := range []string{"form", "form_look", "form_idempotent"} {
		for step := 1; ; step++ {
			killed := false
			for _, after := range []bool{false, true} {
				name := fmt.Sprintf("%s step %d after %v", kind, step, after)
				b := &business{effects: map[string]int{}, rnd: rand.New(rand.NewPCG(1, 1)), idempotent: kind == "form_idempotent"}
				b.rnd = rand.New(lucky{})
				def := export(b.run)
				look := def
				look.Name, look.Lookup = "look", func(_ context.Context, c Call) (bool, Result, error) {
					return b.effects[c.ID] > 0, Result{Value: c.ID}, nil
				}
				again := def
				again.Name, again.Idempotent = "touch", true
				r := newRig(t, def, look, again)
				m := r.show(kind)
				p := &process{Store: r.store, turns: r.runner, kill: step, after: after}
				b.process = p
				g := newProcess(t, r, p)
				req := r.press(m, "submit", `{"name":"x"}`)
				_, _ = g.Do(context.Background(), req)
				closed(t, g)
				killed = killed || p.killed()

				p = &process{Store: r.store, turns: r.runner}
				b.process = p
				g = newProcess(t, r, p)
				r.clock.forward(31 * time.Second)
				a, err := g.Do(context.Background(), req)
				closed(t, g)
				var body answered
				if err != nil || json.Unmarshal(a.Body, &body) != nil {
					t.Fatalf("%s: %v %s", name, err, a.Body)
				}
				n := b.total()
				switch {
				case body.Status == "done" && n == 1:
				case body.Status == "unknown" && n <= 1 && kind == "form":
				case body.Error != nil && n == 0 && kind == "form_look": // it did not happen, and says so
				default:
					t.Errorf("%s: happened %d times, answer %d %s", name, n, a.Status, a.Body)
				}
			}
			if !killed {
				if step < 8 {
					t.Errorf("%s: only %d steps", kind, step)
				}
				break
			}
		}
	}
}

// lucky is a source by which no chance comes true.
type lucky struct{}

func (lucky) Uint64() uint64 { return 1<<63 - 1 }
