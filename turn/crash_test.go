package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
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

// TestCrashAnywhere kills the process after every single write of a turn, and
// of a retry. Whatever was left is ended: the log lawfully, the record like the
// log, the conversation free for the next turn.
func TestCrashAnywhere(t *testing.T) {
	for _, retry := range []bool{false, true} {
		t.Run(fmt.Sprintf("retry=%v", retry), func(t *testing.T) {
			for n := 0; ; n++ {
				if survived := crashAfter(t, n, retry); survived || t.Failed() {
					t.Logf("%d writes", n)
					break
				}
			}
		})
	}
}

func crashAfter(t *testing.T, n int, retry bool) (survived bool) {
	ctx := t.Context()
	disk := memory.New()
	defer disk.Close()
	var fail atomic.Bool
	fail.Store(retry)
	flaky := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		if fail.Swap(false) {
			return errBackend
		}
		return out.Chart(sales("East"))
	})
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(flaky)
	if err != nil {
		t.Fatal(err)
	}
	start := func(st store.Store, steps ...step) *turn.Runner {
		r, err := turn.New(turn.Config{Store: st, Model: &script{steps: steps}, Tools: set, Registry: reg, Limits: turn.Limits{Coalesce: -1, Lease: 30 * time.Millisecond}})
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
	mort := &mortal{Store: disk}
	mort.left.Store(1 << 20)
	if !retry {
		mort.left.Store(int32(n))
	}
	old := start(mort, step{text: "Look: ", calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "East leads."})
	s, err := old.Start(ctx, turn.Request{Owner: alice, Text: "sales?"})
	idle(old)
	if retry {
		m, err := disk.Message(ctx, alice, s.Msg)
		if err != nil || len(m.Blocks) != 3 {
			t.Fatalf("%+v, %v", m, err)
		}
		mort.left.Store(int32(n))
		_, err = old.Rerun(ctx, turn.BlockRequest{Owner: alice, Block: m.Blocks[1].ID})
		idle(old)
		survived = err == nil && mort.left.Load() >= 0
	} else {
		survived = err == nil && mort.left.Load() >= 0
	}

	// Another process comes, once the leases have run out.
	time.Sleep(40 * time.Millisecond)
	next := start(disk, step{text: "Again."})
	if _, err := next.Recover(ctx); err != nil {
		t.Errorf("%d writes: recover: %v", n, err)
	}
	if again, err := next.Recover(ctx); again != 0 || err != nil {
		t.Errorf("%d writes: a second recovery ended %d, %v", n, again, err)
	}
	list, _, err := disk.Conversations(ctx, alice, store.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range list {
		if c.Running != "" {
			t.Errorf("%d writes: %s still runs", n, c.Running)
		}
		path, err := disk.Path(ctx, alice, c.ID, "")
		if err != nil {
			t.Fatal(err)
		}
		m := path[len(path)-1]
		guard, folder := event.NewGuard(m.ID), event.NewFolder(m.ID)
		for ev, err := range disk.Read(ctx, m.ID, 0) {
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
		st := folder.State()
		if guard.Open() {
			t.Errorf("%d writes: the log is open", n)
		}
		if m.Status == event.StatusRunning || st.Seq > 0 && (m.Status != st.Status || m.Seq != st.Seq || m.FinishReason != st.FinishReason) {
			t.Errorf("%d writes: the record says %s %s at %d, the log %s %s at %d", n, m.Status, m.FinishReason, m.Seq, st.Status, st.FinishReason, st.Seq)
		}
		a, _ := json.Marshal(m.Blocks)
		b, _ := json.Marshal(st.Blocks)
		if st.Seq > 0 && string(a) != string(b) {
			t.Errorf("%d writes: blocks\n%s\nthe log has\n%s", n, a, b)
		}
		if slices.ContainsFunc(m.Blocks, func(b block.Block) bool { return b.Status == block.StatusLoading }) {
			t.Errorf("%d writes: a block is still loading", n)
		}
		if retry && (m.Status != event.StatusDone || len(m.Exchange) == 0) {
			t.Errorf("%d writes: the retry changed the turn: %s, %s", n, m.Status, m.Exchange)
		}
		var said []model.Message
		if len(m.Exchange) > 0 {
			if err := json.Unmarshal(m.Exchange, &said); err != nil {
				t.Fatal(err)
			}
		}
		validHistory(t, said)
		if _, err := next.Start(ctx, turn.Request{Owner: alice, Conversation: c.ID, Text: "and now?"}); err != nil {
			t.Errorf("%d writes: the next turn: %v", n, err)
		}
		idle(next)
	}
	return survived
}
