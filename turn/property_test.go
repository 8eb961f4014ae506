package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
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

// TestPausesAreLawful plays random turns that pause, with random answers,
// follow-ups, stops, expiries and restarts, and expects of every log what no
// single case can show: it is lawful, its questions and the client's calls begin
// and end once, it is paused exactly while one is open, its record says the same,
// and no payment was made that was not approved.
func TestPausesAreLawful(t *testing.T) {
	for seed := range uint64(60) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			play(t, rand.New(rand.NewPCG(seed, 1)))
		})
	}
}

func play(t *testing.T, rnd *rand.Rand) {
	var b bank
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	disk := memory.New()
	defer disk.Close()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(b.tool(t), okTool(t))
	if err != nil {
		t.Fatal(err)
	}
	wanted := make(map[string]int) // payments that were agreed to
	amount := 0
	steps := func() []step {
		var list []step
		for range 1 + rnd.IntN(3) {
			var cs []model.Call
			for i := range 1 + rnd.IntN(3) {
				switch id := fmt.Sprintf("c%d", i); rnd.IntN(4) {
				case 0:
					cs = append(cs, call(id, "show_sales", `{"quarter":"2026Q3"}`))
				case 2:
					cs = append(cs, selected(id, "Sample "+id))
				case 1:
					cs = append(cs, call(id, "ask_user", `{"question":"Which?","options":["a","b"]}`))
				default:
					amount++
					cs = append(cs, pay(id, fmt.Sprintf("P%d", amount), 50+amount))
				}
			}
			list = append(list, step{text: strings.Repeat("Well. ", rnd.IntN(2)), calls: cs})
		}
		return append(list, step{text: "Done."})
	}
	start := func() *turn.Runner {
		r, err := turn.New(turn.Config{
			Store: disk, Model: &script{steps: slices.Concat(steps(), steps(), steps(), steps())}, Tools: set, Registry: reg, AskUser: true, ClientTools: true,
			Limits: turn.Limits{Coalesce: -1}, Now: func() time.Time { return time.Unix(0, now.Load()) },
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	idle := func(r *turn.Runner) {
		for r.Running() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	r := start()
	s, err := r.Start(t.Context(), turn.Request{Owner: alice, Text: "go", Tools: []turn.ClientTool{selection}})
	if err != nil {
		t.Fatal(err)
	}
	idle(r)
	for range 2 + rnd.IntN(8) {
		m, err := disk.Message(t.Context(), alice, s.Msg)
		if err != nil {
			t.Fatal(err)
		}
		lawful(t, disk, m)
		var open []block.Block
		for _, q := range questions(event.State{Blocks: m.Blocks}) {
			if q.State == nil {
				open = append(open, q)
			}
		}
		w, err := r.Waiting(t.Context(), alice, m.ID)
		if err != nil {
			t.Fatal(err)
		}
		switch n := rnd.IntN(12); {
		case n == 0:
			idle(r)
			r = start()
		case n == 1:
			_, err = r.Stop(t.Context(), alice, m.ID)
		case n == 2:
			now.Add(int64(2 * time.Hour))
			_, err = r.Recover(t.Context())
		case n <= 4:
			_, err = r.Follow(t.Context(), turn.FollowRequest{Owner: alice, Msg: m.ID, Wait: time.Second}, func(ctx context.Context, f *turn.Follow) error {
				if n == 3 {
					return errBackend
				}
				return f.Out(ctx, "x", nil, nil).Code(block.Code{Lang: "go", Source: "1"})
			})
		case len(w.Calls) > 0 && (len(open) == 0 || n <= 8):
			var results []turn.ClientResult
			for _, c := range w.Calls[:1+rnd.IntN(len(w.Calls))] {
				results = append(results, turn.ClientResult{Call: c.ID, Content: "A1", Failed: rnd.IntN(4) == 0})
			}
			_, err = r.Supply(t.Context(), turn.SupplyRequest{Owner: alice, Msg: m.ID, Results: results})
		case len(open) > 0:
			q := open[rnd.IntN(len(open))]
			req := turn.AnswerRequest{Owner: alice, Msg: m.ID, Block: q.ID, Action: tool.Reject}
			var c block.Confirm
			if err := json.Unmarshal(q.Payload, &c); err != nil {
				t.Fatal(err)
			}
			switch {
			case q.Type == "question":
				req.Action, req.Payload = tool.Reply, json.RawMessage(`{"choices":["1"]}`)
			case n <= 8:
				req.Action = tool.Approve
				var p payment
				if err := json.Unmarshal(c.Args, &p); err != nil {
					t.Fatal(err)
				}
				wanted[fmt.Sprintf("%d to %s by  (true approve)", p.Amount, p.To)]++
			case n == 9:
				amount++
				req.Action, req.Payload = tool.Edit, json.RawMessage(fmt.Sprintf(`{"to":"E%d","amount":1}`, amount))
				wanted[fmt.Sprintf("1 to E%d by  (true edit)", amount)]++
			}
			_, err = r.Answer(t.Context(), req)
		}
		if err != nil {
			t.Errorf("%v", err)
		}
		idle(r)
	}
	m, err := disk.Message(t.Context(), alice, s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	lawful(t, disk, m)
	for _, p := range b.paid {
		if wanted[p]--; wanted[p] < 0 {
			t.Errorf("paid %s, which nobody agreed to", p)
		}
	}
}

// lawful checks the log of a message and its record.
func lawful(t *testing.T, st store.Store, m store.Message) {
	t.Helper()
	agree(t, st, 0, m)
	open, asked := make(map[string]bool), make(map[string]bool)
	f := event.NewFolder(m.ID)
	for ev, err := range st.Read(t.Context(), m.ID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		f.Apply(ev)
		switch ev.Type {
		case event.PendingQuestionStart:
			if asked[ev.Block] {
				t.Errorf("%s is asked twice", ev.Block)
			}
			open[ev.Block], asked[ev.Block] = true, true
		case event.PendingQuestionEnd:
			if !open[ev.Block] {
				t.Errorf("%s ends and is not open", ev.Block)
			}
			delete(open, ev.Block)
		case event.ClientToolCall, event.ToolCallEnd:
			var d event.ToolCallData
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				t.Fatal(err)
			}
			switch {
			case ev.Type == event.ClientToolCall:
				if asked[d.ToolCallID] {
					t.Errorf("%s is called twice", d.ToolCallID)
				}
				open[d.ToolCallID], asked[d.ToolCallID] = true, true
			case d.Client:
				if !open[d.ToolCallID] {
					t.Errorf("%s ends and is not open", d.ToolCallID)
				}
				delete(open, d.ToolCallID)
			}
		case event.Done, event.Error:
			if s := f.State(); (s.Status == event.StatusPaused) != (len(open) > 0) {
				t.Errorf("at %d the message is %s with %d open questions and calls", ev.Seq, s.Status, len(open))
			}
		}
	}
}
