package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

type trip struct {
	To string `json:"to"`
}

// guide is a tool that suggests where to go: routes, parted by blanks.
func guide(t *testing.T, name string, spec *tool.BlockSpec) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: name, Description: "Suggest where to go.", Block: spec}, func(_ context.Context, p trip, out *tool.Out) error {
		var r block.Recommendation
		for i, to := range strings.Fields(p.To) {
			r.Items = append(r.Items, block.RecommendationItem{
				ID: fmt.Sprintf("i%d", i), Label: "Go", Action: block.ActionTo(block.Target{Kind: block.TargetRoute, Value: to}),
			})
		}
		return out.Recommendation(r)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// led are the routes that a message's blocks lead to, in order.
func led(t *testing.T, st event.State) []string {
	t.Helper()
	var out []string
	for _, b := range st.Blocks {
		if b.Type != block.FeatureRecommendationName || b.Status != block.StatusDone {
			continue
		}
		var r block.Recommendation
		if err := json.Unmarshal(b.Payload, &r); err != nil {
			t.Fatalf("%s (%s): %v", b.ID, b.Status, err)
		}
		for _, it := range r.Items {
			out = append(out, it.Action.Target)
		}
	}
	return out
}

// TestToolsLeadWhereAllowed: what tools show leads where the product allows it,
// nowhere twice, and the model is told what was left out and why. What is
// refused is in no log, no record and no trajectory as shown.
func TestToolsLeadWhereAllowed(t *testing.T) {
	for _, announced := range []*tool.BlockSpec{nil, {Type: block.FeatureRecommendationName}} {
		r := newRig(t, turn.Config{Destinations: block.Destinations{Routes: []string{"/wallet", "/market/*"}}, Limits: turn.Limits{Parallel: 1}},
			[]tool.Tool{guide(t, "guide", announced)},
			calls(
				call("c1", "guide", `{"to":"/wallet /admin"}`),
				call("c2", "guide", `{"to":"/market/btc /wallet"}`),
				call("c3", "guide", `{"to":"/wallet /market/btc"}`),
				call("c4", "guide", `{"to":"/admin"}`),
				call("c5", "guide", `{"to":"//evil.example"}`),
			), step{text: "Go on there."})
		s, evs, st := r.ask("where to?")
		if got, want := led(t, st), []string{"/wallet", "/market/btc"}; !slices.Equal(got, want) {
			t.Errorf("leads to %v, want %v", got, want)
		}
		told := r.lastTold()
		for i, want := range []string{
			"Not shown: ui_block_schema_invalid: item 2 (route /admin): ",
			"Not shown: ui_block_duplicate_action: item 2 (route /wallet): ",
			"Not shown: ui_block_duplicate_action: Nothing of the block is left. ",
			"Not shown: ui_block_schema_invalid: Nothing of the block is left. ",
			"error: SCHEMA_INVALID ",
		} {
			if !strings.Contains(told[i], want) || (i < 2) != strings.Contains(told[i], "Shown to the user as a "+block.FeatureRecommendationName) {
				t.Errorf("call %d: the model was told %q, want %q", i+1, told[i], want)
			}
		}
		if !strings.Contains(told[3], "route: /wallet, /market/*") || !strings.Contains(told[3], "[label](url)") {
			t.Errorf("the model is not told where it may lead: %q", told[3])
		}
		// The last one failed, which is seen in its place; c3 and c4 are nowhere.
		if got, want := len(r.record(s.Msg).Blocks), 4; got != want {
			t.Errorf("%d blocks, want %d: %s", got, want, text(st))
		}
		if got, want := strings.Count(types(evs), "block_"), 4; got != want {
			t.Errorf("log %s", types(evs))
		}
		raw, err := r.store.Trajectory(t.Context(), alice, s.Msg)
		if err != nil {
			t.Fatal(err)
		}
		var doc struct {
			Steps []struct {
				Extra struct {
					Blocks []string `json:"blocks"`
				} `json:"extra"`
			} `json:"steps"`
		}
		if err := json.Unmarshal(raw, &doc); err != nil {
			t.Fatal(err)
		}
		for _, step := range doc.Steps {
			for _, id := range step.Extra.Blocks {
				if !slices.ContainsFunc(st.Blocks, func(b block.Block) bool { return b.ID == id }) {
					t.Errorf("the trajectory names %s, which is not there", id)
				}
			}
		}
	}
}

// TestParallelToolsLeadNowhereTwice: tools of one step run at once; one of them
// shows the place, the others' models are told.
func TestParallelToolsLeadNowhereTwice(t *testing.T) {
	var list []tool.Tool
	st := step{}
	for i := range 4 {
		name := fmt.Sprintf("guide%d", i)
		list = append(list, guide(t, name, nil))
		st.calls = append(st.calls, call(name, name, `{"to":"/wallet"}`))
	}
	r := newRig(t, turn.Config{Destinations: block.Destinations{Routes: []string{"/wallet"}}}, list, st, step{text: "There."})
	_, _, got := r.ask("where to?")
	if to := led(t, got); !slices.Equal(to, []string{"/wallet"}) {
		t.Errorf("leads to %v", to)
	}
	if n := strings.Count(strings.Join(r.lastTold(), "\n"), emit.CodeDuplicateAction+": Nothing"); n != 3 {
		t.Errorf("%d were told that it is offered already: %q", n, r.lastTold())
	}
}

// TestPlacesOutliveAPause: a turn that went on after an answer has the places
// that were left, and leads nowhere twice.
func TestPlacesOutliveAPause(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{Destinations: block.Destinations{Routes: []string{"/*"}}, Limits: turn.Limits{Blocks: 4}},
		[]tool.Tool{b.tool(t), guide(t, "guide", nil)},
		calls(call("c1", "guide", `{"to":"/wallet"}`), pay("c2", "Ann", 50)), // a card and a question
		calls(call("c3", "guide", `{"to":" /wallet"}`)),
		calls(call("c4", "guide", `{"to":"/market"}`)),
		calls(call("c5", "guide", `{"to":"/news"}`)),
		step{text: "Paid."})
	s, _, st := r.ask("pay Ann")
	// What is done with a block meanwhile has places of its own.
	follow, err := r.runner.Follow(t.Context(), turn.FollowRequest{Owner: alice, Msg: s.Msg}, func(ctx context.Context, f *turn.Follow) error {
		return f.Out(ctx, "test", nil, nil).Table(block.Table{Columns: []block.TableColumn{{Field: "n", Label: "N"}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(follow)
	_, st = r.mustAnswer(s.Msg, questions(st)[0].ID, tool.Approve, "") // and the receipt
	if got := led(t, st); !slices.Equal(got, []string{"/wallet", "/market"}) {
		t.Errorf("leads to %v", got)
	}
	told := r.lastTold()
	if got := told[len(told)-3]; !strings.Contains(got, emit.CodeDuplicateAction) {
		t.Errorf("the same place after the pause: %q", got)
	}
	if got := told[len(told)-1]; !strings.Contains(got, emit.CodeTurnCap) || !strings.Contains(got, "4 blocks") {
		t.Errorf("a fifth block: %q", got)
	}
}

// TestModelIsToldHowUndrawnBlocksStand: by the code, with what stands there
// instead and what to do.
func TestModelIsToldHowUndrawnBlocksStand(t *testing.T) {
	tl, err := tool.New(tool.Spec{Name: "export", Description: "Export."}, func(_ context.Context, _ struct{}, out *tool.Out) error {
		raw, err := json.Marshal(block.File{AssetID: "a_1", Name: "q3.csv", Mime: "text/csv", Size: 3})
		if err != nil {
			return err
		}
		if err := out.Block("file", 1, block.Meta{}, raw); err != nil {
			return err
		}
		return out.Code(block.Code{Lang: "sql", Source: "SELECT 1"})
	})
	if err != nil {
		t.Fatal(err)
	}
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, calls(call("c1", "export", "{}")), step{text: "There."})
	_, st := r.wait(r.start(turn.Request{Text: "export", Caps: reg.Negotiate("table@1", true)}))
	told := r.lastTold()[0]
	for _, want := range []string{
		"ui_block_not_supported_by_client: This client cannot draw file; a link was shown instead.",
		"ui_block_not_supported_by_client: This client cannot draw code; its plain text was shown instead.",
		"[label](url)",
	} {
		if !strings.Contains(told, want) {
			t.Errorf("the model was told %q, want %q", told, want)
		}
	}
	if strings.Contains(told, "Shown to the user as") || len(st.Blocks) != 3 || st.Blocks[0].Payload == nil {
		t.Errorf("told %q, blocks %s", told, text(st))
	}
}

// TestUIBlockOfATool: what a skill answers is shown with its place and what its
// vendor says of it, in the log and in the record.
func TestUIBlockOfATool(t *testing.T) {
	const answer = `{"id":"x1","namespace":"minara","block_type":"feature_recommendation","version":"1.0.0","position":"after_text",
		"data":{"items":[{"id":"deposit","label":"Deposit","action":{"kind":"modal","name":"deposit"}}]},
		"_meta":{"minara/source":"skill","minara/reason":"asked how to deposit","acme/trace":{"n":[1, 2.50]},"inlay/actions":[]}}`
	tl, err := tool.New(tool.Spec{Name: "skill", Description: "Ask the skill."}, func(_ context.Context, _ struct{}, out *tool.Out) error {
		if err := out.UIBlock(json.RawMessage(answer)); err != nil {
			return err
		}
		return out.UIBlock(json.RawMessage(`{"id":"x2"}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{Destinations: block.Destinations{Modals: []string{"deposit"}}}, []tool.Tool{tl}, calls(call("c1", "skill", "{}")), step{text: "There."})
	s, evs, st := r.ask("how do I deposit?")
	if got := types(evs); !strings.Contains(got, "tool_call_start block_end tool_call_end") {
		t.Errorf("log %s", got)
	}
	for _, b := range []block.Block{st.Blocks[0], r.record(s.Msg).Blocks[0]} {
		if b.Meta.Position != "after_text" || b.Meta.Producer != "" || b.Meta.ToolCallID != "c1" {
			t.Errorf("meta %+v", b.Meta)
		}
		if v := b.Meta.Vendor; len(v) != 3 || string(v["minara/source"]) != `"skill"` || string(v["acme/trace"]) != `{"n":[1,2.50]}` || v["minara/reason"] == nil {
			t.Errorf("vendor %s", v)
		}
	}
	if told := r.lastTold()[0]; !strings.Contains(told, "Not shown: ui_block_schema_invalid: ") {
		t.Errorf("the model was told %q", told)
	}
}

// subs are the calls within calls of a message: id, name, title and status.
func subs(st event.State) string {
	var out []string
	for _, tl := range st.Tools {
		if tl.Sub {
			out = append(out, fmt.Sprintf("%s %s %q %s", tl.ID, tl.Name, tl.Title, tl.Status))
		}
	}
	return strings.Join(out, "\n")
}

// TestCallsWithinCalls: what a tool calls is seen with its name and how it
// ended, however the tool ends, between the start and the end of its call, and
// nothing else of it is told.
func TestCallsWithinCalls(t *testing.T) {
	secret := errors.New("secret of the backend")
	begun := make(chan struct{})
	late := make(chan struct{})
	runs := map[string]func(ctx context.Context, out *tool.Out) error{
		"well": func(ctx context.Context, out *tool.Out) error {
			var wg sync.WaitGroup
			for i := range 3 {
				wg.Go(func() {
					end := out.Sub(fmt.Sprintf("part%d", i), "Look up")
					end([]error{nil, secret, fmt.Errorf("asked: %w", context.Canceled)}[i])
					end(secret) // only the first counts
				})
			}
			wg.Wait()
			return nil
		},
		"left open": func(ctx context.Context, out *tool.Out) error {
			out.Sub("open", "")
			return nil
		},
		"failed": func(ctx context.Context, out *tool.Out) error {
			out.Sub("open", "")
			return secret
		},
		"panicked": func(ctx context.Context, out *tool.Out) error {
			out.Sub("open", strings.Repeat("title ", 1000))
			panic(secret)
		},
		"stopped": func(ctx context.Context, out *tool.Out) error {
			end := out.Sub("open", "")
			close(begun)
			<-ctx.Done()
			go func() {
				defer close(late)
				time.Sleep(10 * time.Millisecond)
				end(nil)
				out.Sub("late", "")(nil)
			}()
			return ctx.Err()
		},
	}
	want := map[string][]string{
		"well":      {`part0 "Look up" ok`, `part1 "Look up" error`, `part2 "Look up" cancelled`},
		"left open": {`c1.1 open "" ok`},
		"failed":    {`c1.1 open "" error`},
		"panicked":  {`c1.1 open "title `, `error`},
		"stopped":   {`c1.1 open "" cancelled`},
	}
	for what, run := range runs {
		t.Run(what, func(t *testing.T) {
			tl, err := tool.New(tool.Spec{Name: "outer", Description: "Do it."}, func(ctx context.Context, _ struct{}, out *tool.Out) error { return run(ctx, out) })
			if err != nil {
				t.Fatal(err)
			}
			r := newRig(t, turn.Config{}, []tool.Tool{tl}, calls(call("c1", "outer", "{}")), step{text: "There."})
			s := r.start(turn.Request{Text: "go"})
			if what == "stopped" {
				<-begun
				if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
					t.Fatal(err)
				}
			}
			evs, st := r.wait(s) // which checks that the log is lawful
			if what == "stopped" {
				<-late
			}
			open := 0
			within := false
			for _, ev := range evs {
				switch ev.Type {
				case event.ToolCallStart:
					within = true
				case event.ToolCallEnd:
					within = false
					if open != 0 {
						t.Errorf("%d calls are open at the end of their tool's", open)
					}
				case event.SubToolStart:
					open++
				case event.SubToolEnd:
					open--
				default:
					continue
				}
				if strings.HasPrefix(string(ev.Type), "sub_") && !within {
					t.Errorf("%s outside of its tool's call", ev.Type)
				}
				if strings.Contains(string(ev.Data), "secret") || len(ev.Data) > 2<<10 {
					t.Errorf("%s says %.200s", ev.Type, ev.Data)
				}
			}
			got := subs(st)
			for _, w := range want[what] {
				if !strings.Contains(got, w) {
					t.Errorf("calls\n%s\nwant %s", got, w)
				}
			}
			if m := r.record(s.Msg); len(m.Tools) != len(st.Tools) {
				t.Errorf("the record has %d calls, the log %d", len(m.Tools), len(st.Tools))
			}
		})
	}
}

// TestCallsWithinARetry: a tool that runs again says again what it calls, under
// the id of the new call.
func TestCallsWithinARetry(t *testing.T) {
	fail := true
	tl := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		end := out.Sub("query", "Ask the warehouse")
		defer end(nil)
		if fail {
			return &tool.Error{Message: "Not now.", Retryable: true}
		}
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, calls(call("c1", "show_sales", `{"quarter":"2026Q3"}`)), step{text: "Failed."})
	s, _, st := r.ask("sales")
	fail = false
	again, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: st.Blocks[0].ID})
	if err != nil {
		t.Fatal(err)
	}
	_, st = r.wait(again)
	if n := strings.Count(subs(st), "query"); n != 2 || st.Blocks[0].Status != block.StatusDone {
		t.Errorf("calls\n%s", subs(st))
	}
	// Outside of a call there is no place for them.
	f, err := r.runner.Follow(t.Context(), turn.FollowRequest{Owner: alice, Msg: s.Msg}, func(ctx context.Context, f *turn.Follow) error {
		f.Out(ctx, "test", nil, nil).Sub("nobody", "")(nil)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if evs, _ := r.wait(f); len(evs) != int(f.After) {
		t.Errorf("an action wrote %s", types(evs[f.After:]))
	}
}
