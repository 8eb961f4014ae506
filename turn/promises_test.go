package turn_test

import (
	"context"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// TestRetryUsesTheRightsOfNow expects a retry to run with the arguments of
// then and the token of the request that asks for it.
func TestRetryUsesTheRightsOfNow(t *testing.T) {
	var seen []string
	tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
		token := tool.CallerFrom(ctx).Token
		seen = append(seen, q.Quarter+" "+token)
		if token != "new" {
			return &tool.Error{Message: "Not yet.", Retryable: true}
		}
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl},
		step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Failed."})
	s := r.start(turn.Request{Text: "sales", Caller: tool.Caller{Token: "old"}})
	_, st := r.wait(s)
	again, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Caller: tool.Caller{User: alice.User, Token: "new"}, Block: st.Blocks[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, st = r.wait(again); st.Blocks[0].Status != block.StatusDone {
		t.Errorf("block %+v", st.Blocks[0])
	}
	if got := strings.Join(seen, ", "); got != "2026Q3 old, 2026Q3 new" {
		t.Errorf("the tool saw %s", got)
	}
}

// TestModelIsToldOfUndrawnBlocks expects the model to know when the asking
// client got plain text, and the log to hold the whole block all the same.
func TestModelIsToldOfUndrawnBlocks(t *testing.T) {
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)},
		step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Done."})
	_, st := r.wait(r.start(turn.Request{Text: "sales", Caps: reg.Negotiate("table@1", true)}))
	if told := r.lastTold(); len(told) != 1 || !strings.Contains(told[0], "ui_block_not_supported_by_client: This client cannot draw chart; its plain text was shown instead.") {
		t.Errorf("the model was told %q", told)
	}
	if b := st.Blocks[0]; b.Type != "chart" || b.Payload == nil {
		t.Errorf("the log holds %+v", b)
	}
}

// TestExclusiveToolRunsAlone expects no other tool of the step to run beside
// an exclusive one.
func TestExclusiveToolRunsAlone(t *testing.T) {
	var running, most atomic.Int32
	run := func(ctx context.Context, q quarter, out *tool.Out) error {
		n := running.Add(1)
		defer running.Add(-1)
		if q.Quarter == "2026Q2" { // the exclusive one
			most.Store(max(most.Load(), n))
		}
		time.Sleep(20 * time.Millisecond)
		if q.Quarter == "2026Q2" {
			most.Store(max(most.Load(), running.Load()))
		}
		return out.Chart(sales("East"))
	}
	exclusive, err := tool.New(tool.Spec{Name: "exclusive", Description: "Runs alone.", Exclusive: true}, run)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{chartTool(t, "first", run), exclusive, chartTool(t, "last", run)},
		step{calls: []model.Call{
			call("a", "first", `{"quarter":"2026Q1"}`), call("b", "exclusive", `{"quarter":"2026Q2"}`), call("c", "last", `{"quarter":"2026Q3"}`),
		}},
		step{text: "Done."})
	_, _, st := r.ask("all of them")
	if len(st.Blocks) != 4 || most.Load() != 1 {
		t.Errorf("%d blocks, %d tools at once beside the exclusive one", len(st.Blocks), most.Load())
	}
}
