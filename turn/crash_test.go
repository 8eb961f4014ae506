package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// mortal is the store as seen by a process that dies after some writes: what
// it did stays, what it would have done does not happen.
type mortal struct {
	store.Store
	left atomic.Int32
}

var errDead = errors.New("the process is dead")

func (m *mortal) write(f func() error) error {
	if m.left.Add(-1) < 0 {
		return errDead
	}
	return f()
}

func (m *mortal) Acquire(ctx context.Context, msg, owner string, ttl time.Duration) (l store.Lease, seq uint64, err error) {
	err = m.write(func() (err error) { l, seq, err = m.Store.Acquire(ctx, msg, owner, ttl); return err })
	return l, seq, err
}

func (m *mortal) Renew(ctx context.Context, l store.Lease, ttl time.Duration) error {
	if m.left.Load() <= 0 {
		return errDead
	}
	return m.Store.Renew(ctx, l, ttl)
}

func (m *mortal) Release(ctx context.Context, l store.Lease) error {
	return m.write(func() error { return m.Store.Release(ctx, l) })
}

func (m *mortal) Append(ctx context.Context, l store.Lease, evs ...event.Event) error {
	// One by one: a batch may be cut anywhere.
	for _, e := range evs {
		if err := m.write(func() error { return m.Store.Append(ctx, l, e) }); err != nil {
			return err
		}
	}
	return nil
}

func (m *mortal) Begin(ctx context.Context, b store.BeginTurn) error {
	return m.write(func() error { return m.Store.Begin(ctx, b) })
}

func (m *mortal) PutMessage(ctx context.Context, msg store.Message) error {
	return m.write(func() error { return m.Store.PutMessage(ctx, msg) })
}

func (m *mortal) PutBlockCall(ctx context.Context, c store.BlockCall) error {
	return m.write(func() error { return m.Store.PutBlockCall(ctx, c) })
}

func (m *mortal) PutTrajectory(ctx context.Context, o store.Owner, msg string, doc json.RawMessage) error {
	return m.write(func() error { return m.Store.PutTrajectory(ctx, o, msg, doc) })
}

func (m *mortal) PutTurnState(ctx context.Context, s store.TurnState) error {
	return m.write(func() error { return m.Store.PutTurnState(ctx, s) })
}

func (m *mortal) DeleteTurnState(ctx context.Context, msg string) error {
	return m.write(func() error { return m.Store.DeleteTurnState(ctx, msg) })
}

func (m *mortal) ResumeTurn(ctx context.Context, o store.Owner, msg string) error {
	return m.write(func() error { return m.Store.ResumeTurn(ctx, o, msg) })
}

// TestCrashAnywhere kills the process after every single write of a turn, of
// what can be done with a finished or paused one, and of a pause. Whatever was
// left is ended: the log lawfully, the record like the log, the conversation
// free for the next turn. A paused turn waits or is ended, and what was approved
// is done once at most.
func TestCrashAnywhere(t *testing.T) {
	for _, what := range []string{"turn", "retry", "follow", "pause", "answer", "answer one of two", "reject", "stop",
		"client", "supply", "supply one of two", "stop before the client"} {
		t.Run(what, func(t *testing.T) {
			for n := 0; ; n++ {
				if survived := crashAfter(t, n, what); survived || t.Failed() {
					t.Logf("%d writes", n)
					break
				}
			}
		})
	}
}

func crashAfter(t *testing.T, n int, what string) (survived bool) {
	ctx := t.Context()
	disk := memory.New()
	defer disk.Close()
	var fail atomic.Bool
	fail.Store(what == "retry")
	flaky := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		if fail.Swap(false) {
			return errBackend
		}
		return out.Chart(sales("East"))
	})
	var b bank
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(flaky, b.tool(t))
	if err != nil {
		t.Fatal(err)
	}
	start := func(st store.Store, steps ...step) *turn.Runner {
		r, err := turn.New(turn.Config{Store: st, Model: &script{steps: steps}, Tools: set, Registry: reg, ClientTools: true, Limits: turn.Limits{Coalesce: -1, Lease: 30 * time.Millisecond}})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	idle := func(r *turn.Runner) {
		for r.Running() > 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond)
	}
	list := []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}
	switch what {
	case "pause", "answer", "reject", "stop":
		list = append(list, pay("c2", "Ann", 50))
	case "answer one of two":
		list = append(list, pay("c2", "Ann", 50), pay("c3", "Bob", 60))
	case "client", "supply", "stop before the client":
		list = append(list, selected("c2", "Sample"))
	case "supply one of two":
		list = append(list, selected("c2", "Sample"), pay("c3", "Ann", 50))
	}
	mort := &mortal{Store: disk}
	mort.left.Store(1 << 20)
	first := what == "turn" || what == "pause" || what == "client"
	if first {
		mort.left.Store(int32(n))
	}
	old := start(mort, step{text: "Look: ", calls: list}, step{text: "East leads."})
	s, err := old.Start(ctx, turn.Request{Owner: alice, Text: "sales?", Tools: []turn.ClientTool{selection}})
	idle(old)
	var asked []block.Block
	if !first {
		m, merr := disk.Message(ctx, alice, s.Msg)
		if merr != nil || len(m.Blocks) < 2 {
			t.Fatalf("%+v, %v", m, merr)
		}
		asked = questions(event.State{Blocks: m.Blocks})
		answer := func(action string) error {
			_, err := old.Answer(ctx, turn.AnswerRequest{Owner: alice, Msg: s.Msg, Block: asked[0].ID, Action: action})
			return err
		}
		mort.left.Store(int32(n))
		switch what {
		case "retry":
			_, err = old.Rerun(ctx, turn.BlockRequest{Owner: alice, Block: m.Blocks[1].ID})
		case "follow":
			_, err = old.Follow(ctx, turn.FollowRequest{Owner: alice, Msg: s.Msg}, func(ctx context.Context, f *turn.Follow) error {
				if err := f.Out(ctx, "x", nil, nil).Code(block.Code{Lang: "go", Source: "1"}); err != nil {
					return err
				}
				return f.State(m.Blocks[1].ID, json.RawMessage(`{"status":"done"}`), 2)
			})
		case "answer", "answer one of two":
			err = answer("approve")
		case "reject":
			err = answer("reject")
		case "supply", "supply one of two":
			_, err = old.Supply(ctx, turn.SupplyRequest{Owner: alice, Msg: s.Msg, Results: []turn.ClientResult{{Call: "c2", Content: "A1"}}})
		case "stop", "stop before the client":
			_, err = old.Stop(ctx, alice, s.Msg)
		}
		idle(old)
	}
	survived = err == nil && mort.left.Load() >= 0

	// Another process comes, once the leases have run out.
	time.Sleep(40 * time.Millisecond)
	next := start(disk, step{text: "Again."}, step{text: "And again."}, step{text: "And again."})
	if _, err := next.Recover(ctx); err != nil {
		t.Errorf("%d writes: recover: %v", n, err)
	}
	idle(next)
	if again, err := next.Recover(ctx); again != 0 || err != nil {
		t.Errorf("%d writes: a second recovery ended %d, %v", n, again, err)
	}
	conversations, _, err := disk.Conversations(ctx, alice, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range conversations {
		if c.Running != "" {
			t.Errorf("%d writes: %s still runs", n, c.Running)
		}
		path, err := disk.Path(ctx, alice, c.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		m := path[len(path)-1]
		agree(t, disk, n, m)
		paid := b.list()
		switch {
		case (what == "retry" || what == "follow") && (m.Status != event.StatusDone || len(m.Exchange) == 0):
			t.Errorf("%d writes: the %s changed the turn: %s, %s", n, what, m.Status, m.Exchange)
		case what == "pause" && (m.Status == event.StatusPaused) != (len(questions(event.State{Blocks: m.Blocks})) > 0 && m.Err == nil):
			t.Errorf("%d writes: %s with %d blocks", n, m.Status, len(m.Blocks))
		case what == "client" && (m.Status == event.StatusPaused) != (slices.ContainsFunc(m.Tools, runsAway) && m.Err == nil):
			t.Errorf("%d writes: %s with %+v", n, m.Status, m.Tools)
		case m.Status != event.StatusPaused:
			if slices.ContainsFunc(m.Tools, runsAway) {
				t.Errorf("%d writes: the turn has ended, a call of the client runs: %+v", n, m.Tools)
			}
			if _, err := disk.TurnState(ctx, m.ID); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%d writes: the turn has ended, its state stays: %v", n, err)
			}
			for _, q := range questions(event.State{Blocks: m.Blocks}) {
				if status, _ := blockStatus(t, q); status == "" {
					t.Errorf("%d writes: the turn has ended, its question is open", n)
				}
			}
		default:
			// It waits: whoever has not been heard answers, and it is done once.
			for _, q := range questions(event.State{Blocks: m.Blocks}) {
				if q.State != nil {
					continue
				}
				if _, err := next.Answer(ctx, turn.AnswerRequest{Owner: alice, Msg: m.ID, Block: q.ID, Action: "approve"}); err != nil {
					t.Errorf("%d writes: answer: %v", n, err)
				}
				idle(next)
			}
			w, err := next.Waiting(ctx, alice, m.ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range w.Calls {
				if _, err := next.Supply(ctx, turn.SupplyRequest{Owner: alice, Msg: m.ID, Results: []turn.ClientResult{{Call: c.ID, Content: "A1"}}}); err != nil {
					t.Errorf("%d writes: supply: %v", n, err)
				}
				idle(next)
			}
			if m, err = disk.Message(ctx, alice, m.ID); err != nil || m.Status != event.StatusDone {
				t.Errorf("%d writes: %s after the answer, %v", n, m.Status, err)
			}
			agree(t, disk, n, m)
			if paid = b.list(); len(questions(event.State{Blocks: m.Blocks})) > 0 && !strings.Contains(paid, "50 to Ann") {
				t.Errorf("%d writes: paid %s", n, paid)
			}
		}
		if strings.Count(paid, "Ann") > 1 || strings.Count(paid, "Bob") > 1 || what == "reject" && survived && paid != "" {
			t.Errorf("%d writes: paid %s", n, paid)
		}
		if _, err := next.Start(ctx, turn.Request{Owner: alice, Conversation: c.ID, Text: "and now?"}); err != nil {
			t.Errorf("%d writes: the next turn: %v", n, err)
		}
		idle(next)
	}
	return survived
}

// runsAway reports whether a call waits for the client.
func runsAway(a event.ToolActivity) bool { return a.Client && a.Status == event.ToolRunning }

// agree expects a message's log to be lawful and over, and its record to say
// the same.
func agree(t *testing.T, st store.Store, n int, m store.Message) {
	t.Helper()
	guard, folder := event.NewGuard(m.ID), event.NewFolder(m.ID)
	for ev, err := range st.Read(t.Context(), m.ID, 0) {
		if errors.Is(err, store.ErrNotFound) {
			break // it died before the first event
		}
		if err == nil {
			err = guard.Check(ev)
		}
		if err != nil {
			t.Fatalf("%d writes: %v", n, err)
		}
		folder.Apply(ev)
	}
	f := folder.State()
	if guard.Open() {
		t.Errorf("%d writes: the log is open", n)
	}
	if m.Status == event.StatusRunning || f.Seq > 0 && (m.Status != f.Status || m.Seq != f.Seq || m.FinishReason != f.FinishReason || f.Status != event.StatusError && m.Usage != f.Usage) {
		t.Errorf("%d writes: the record says %s %s at %d, the log %s %s at %d", n, m.Status, m.FinishReason, m.Seq, f.Status, f.FinishReason, f.Seq)
	}
	a, _ := json.Marshal(m.Blocks)
	b, _ := json.Marshal(f.Blocks)
	if f.Seq > 0 && string(a) != string(b) {
		t.Errorf("%d writes: blocks\n%s\nthe log has\n%s", n, a, b)
	}
	if slices.ContainsFunc(m.Blocks, func(b block.Block) bool { return b.Status == block.StatusLoading }) {
		t.Errorf("%d writes: a block is still loading", n)
	}
	var said []model.Message
	if len(m.Exchange) > 0 {
		if err := json.Unmarshal(m.Exchange, &said); err != nil {
			t.Fatal(err)
		}
	}
	validHistory(t, said)
}
