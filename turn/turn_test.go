package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
	"github.com/inlay-ui/inlay/turn"
)

func TestChartThenComment(t *testing.T) {
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)},
		step{text: "Let me look. ", calls: []model.Call{call("call_1", "show_sales", `{"quarter":"2026Q3"}`)}},
		step{text: "East leads."})
	s, evs, st := r.ask("Q3 sales by region")
	want := "start text_delta text_end tool_call_start block_start block_end tool_call_end text_delta text_end done"
	if got := types(evs); got != want {
		t.Errorf("events\n got %s\nwant %s", got, want)
	}
	if got := text(st); got != "Let me look. |<chart done>|East leads." {
		t.Errorf("blocks %q", got)
	}
	chart := st.Blocks[1]
	if chart.Meta == nil || chart.Meta.EstimatedHeight != 320 || chart.Meta.Title != "Sales" || chart.Fallback == "" || !chart.Meta.CanRefresh {
		t.Errorf("chart %+v meta %+v", chart, chart.Meta)
	}
	told := r.lastTold()
	if len(told) != 1 || !strings.HasPrefix(told[0], "Shown to the user as a chart block; do not repeat the numbers.") ||
		!strings.Contains(told[0], "530") || !strings.Contains(told[0], "max 320 (East)") {
		t.Errorf("the model was told %q", told)
	}
	m, err := r.store.Message(t.Context(), alice, s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	stored, _ := json.Marshal(m.Blocks)
	folded, _ := json.Marshal(st.Blocks)
	if string(stored) != string(folded) || m.Status != event.StatusDone || m.FinishReason != "stop" || m.Seq != st.Seq {
		t.Errorf("stored view differs from live view\n%s\n%s\n%s %s %d/%d", stored, folded, m.Status, m.FinishReason, m.Seq, st.Seq)
	}
	raw, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := trajectory.Read(raw)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Steps) != 4 || (*doc.Steps[2].ToolCalls)[0].Extra["block_id"] != chart.ID || doc.TrajectoryID != s.Msg {
		t.Errorf("trajectory %s", raw)
	}
}

func TestToolFailures(t *testing.T) {
	cases := []struct {
		name string
		run  func(ctx context.Context, q quarter, out *tool.Out) error
		code string
		// told and hidden must and must not be in what the model is told and
		// the user sees.
		told, hidden string
		retryable    bool
	}{
		{"plain error", func(context.Context, quarter, *tool.Out) error { return errBackend }, "DATA_FETCH_FAILED", "retryable: true", "10.0.0.1", true},
		{"own words", func(context.Context, quarter, *tool.Out) error {
			return &tool.Error{Code: "NOT_AUTHORIZED", Message: "You may not see sales.", Err: errBackend}
		}, "NOT_AUTHORIZED", "You may not see sales.", "10.0.0.1", false},
		{"panic", func(context.Context, quarter, *tool.Out) error { panic("secret detail") }, "TOOL_PANIC", "TOOL_PANIC", "secret detail", true},
		{"nothing", func(context.Context, quarter, *tool.Out) error { return nil }, "DATA_FETCH_FAILED", "no data", "", false},
		{"bad payload", func(ctx context.Context, q quarter, out *tool.Out) error {
			return out.Block("chart", 1, block.Meta{}, json.RawMessage(`{"version":1,"type":"bar","nope":1}`))
		}, "SCHEMA_INVALID", "detail:", "", false},
		{"huge payload", func(ctx context.Context, q quarter, out *tool.Out) error {
			return out.Code(block.Code{Lang: "text", Source: strings.Repeat("x", 100<<10)})
		}, "PAYLOAD_TOO_LARGE", "too large", "", false},
		{"too slow", func(ctx context.Context, q quarter, out *tool.Out) error { <-ctx.Done(); return ctx.Err() }, "TOOL_TIMEOUT", "TOOL_TIMEOUT", "", true},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			tl := chartTool(t, "show_sales", c.run)
			if c.name == "huge payload" {
				var err error
				tl, err = tool.New(tool.Spec{Name: "show_sales", Description: "x", Block: &tool.BlockSpec{Type: "code"}}, c.run)
				if err != nil {
					t.Fatal(err)
				}
			}
			r := newRig(t, turn.Config{Limits: turn.Limits{Tool: 50 * time.Millisecond}}, []tool.Tool{tl},
				step{calls: []model.Call{call("call_1", "show_sales", `{"quarter":"2026Q3"}`)}},
				step{text: "It failed."})
			_, evs, st := r.ask("sales")
			b := st.Blocks[0]
			if b.Status != block.StatusError || b.Err == nil || b.Err.Code != c.code || b.Err.Retryable != c.retryable {
				t.Fatalf("block %+v err %+v\n%s", b, b.Err, types(evs))
			}
			told := strings.Join(r.lastTold(), "\n")
			if !strings.Contains(told, c.told) {
				t.Errorf("told %q, want %q in it", told, c.told)
			}
			all, _ := json.Marshal(evs)
			if c.hidden != "" && (strings.Contains(told, c.hidden) || strings.Contains(string(all), c.hidden)) {
				t.Errorf("%q leaked", c.hidden)
			}
			if st.Status != event.StatusDone || st.FinishReason != "stop" {
				t.Errorf("the turn did not go on: %s %s", st.Status, st.FinishReason)
			}
		})
	}
}

func TestParallelStartedInOrderFinishedAsReady(t *testing.T) {
	release := make(chan struct{})
	slow := chartTool(t, "slow", func(ctx context.Context, q quarter, out *tool.Out) error {
		select {
		case <-release:
		case <-ctx.Done():
		}
		return out.Chart(sales("East"))
	})
	fast := chartTool(t, "fast", func(ctx context.Context, q quarter, out *tool.Out) error {
		defer close(release)
		return out.Chart(sales("West"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{slow, fast},
		step{calls: []model.Call{call("a", "slow", `{"quarter":"2026Q2"}`), call("b", "fast", `{"quarter":"2026Q3"}`)}},
		step{text: "Both."})
	_, evs, st := r.ask("two charts")
	var order []string
	for _, ev := range evs {
		if ev.Type == event.BlockStart || ev.Type == event.BlockEnd {
			i := 0
			for j, b := range st.Blocks {
				if b.ID == ev.Block {
					i = j
				}
			}
			order = append(order, string(ev.Type)+[]string{"0", "1", "2"}[i])
		}
	}
	if got := strings.Join(order, " "); got != "block_start0 block_start1 block_end1 block_end0" {
		t.Errorf("order %s", got)
	}
	var ids []string
	for _, m := range r.model.requests()[1].Messages {
		if m.Role == model.RoleTool {
			ids = append(ids, m.CallID)
		}
	}
	if strings.Join(ids, ",") != "a,b" {
		t.Errorf("tool messages in order %v, want call order", ids)
	}
}

func TestWrongCalls(t *testing.T) {
	var ran atomic.Int32
	tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
		ran.Add(1)
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl},
		step{calls: []model.Call{call("1", "show_sales", `{"quarter":"now"}`)}},
		step{calls: []model.Call{call("2", "show_sals", `{}`)}},
		step{calls: []model.Call{call("3", "show_sales", `{"quarter":`)}},
		step{calls: []model.Call{call("4", "show_sales", `{"quarter":"2026Q3"}`), call("5", "show_sales", `{"quarter":"2026Q3"}`)}},
		step{text: "Done."})
	_, _, st := r.ask("sales")
	told := r.lastTold()
	for i, want := range []string{"/quarter", "show_sals", `{"quarter":`, "Shown to the user", "The same call was made"} {
		if !strings.Contains(told[i], want) {
			t.Errorf("call %d: told %q, want %q in it", i+1, told[i], want)
		}
	}
	if ran.Load() != 1 {
		t.Errorf("the tool ran %d times, want once", ran.Load())
	}
	if got := text(st); got != "<chart done>|Done." {
		t.Errorf("blocks %q", got)
	}
}

func TestSameWrongCallTwiceBarsTheTool(t *testing.T) {
	bad := []model.Call{call("1", "show_sales", `{"quarter":"now"}`)}
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)}, step{calls: bad}, step{calls: bad}, step{text: "Sorry."})
	r.ask("sales")
	reqs := r.model.requests()
	if n := len(reqs[2].Tools); n != 0 {
		t.Errorf("the tool is still offered (%d)", n)
	}
}

func TestModelThatLoops(t *testing.T) {
	steps := make([]step, 8)
	for i := range steps {
		steps[i] = step{calls: []model.Call{call("c", "show_sales", `{"quarter":"2026Q3"}`)}}
	}
	r := newRig(t, turn.Config{Limits: turn.Limits{Steps: 5}}, []tool.Tool{okTool(t)}, steps...)
	_, _, st := r.ask("sales")
	reqs := r.model.requests()
	if len(reqs) != 5 || reqs[4].ToolChoice != model.ToolNone || reqs[3].ToolChoice != model.ToolAuto {
		t.Errorf("%d model calls, last choice %q", len(reqs), reqs[len(reqs)-1].ToolChoice)
	}
	if st.FinishReason != event.FinishMaxSteps {
		t.Errorf("finish %q", st.FinishReason)
	}
}

func TestTooManyCalls(t *testing.T) {
	var calls []model.Call
	for i := range 20 {
		calls = append(calls, call(string(rune('a'+i)), "show_sales", `{"quarter":"20`+string(rune('0'+i/10))+string(rune('0'+i%10))+`Q1"}`))
	}
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)}, step{calls: calls}, step{text: "Enough."})
	_, _, st := r.ask("sales")
	charts := 0
	for _, b := range st.Blocks {
		if b.Type == "chart" {
			charts++
		}
	}
	if told := r.lastTold(); charts != 16 || !strings.Contains(told[16], "too_many_calls") || len(told) != 20 {
		t.Errorf("%d charts, %d results", charts, len(r.lastTold()))
	}
}

func TestStopReachesModelAndTool(t *testing.T) {
	t.Run("model", func(t *testing.T) {
		r := newRig(t, turn.Config{}, nil, step{text: "I will talk for ever", hold: true})
		s := r.start(turn.Request{Text: "talk"})
		for ev := range r.store.Tail(t.Context(), s.Msg, 0) {
			if ev.Type == event.TextDelta {
				break
			}
		}
		running, err := r.runner.Stop(t.Context(), alice, s.Msg)
		if err != nil || !running {
			t.Fatal(running, err)
		}
		_, st := r.wait(s)
		if st.Status != event.StatusCancelled || text(st) != "I will talk for ever" {
			t.Errorf("%s %q", st.Status, text(st))
		}
		if running, err := r.runner.Stop(t.Context(), alice, s.Msg); running || err != nil {
			t.Errorf("a second stop: %v %v", running, err)
		}
	})
	t.Run("tool", func(t *testing.T) {
		began := make(chan struct{})
		tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
			close(began)
			<-ctx.Done()
			return ctx.Err()
		})
		r := newRig(t, turn.Config{}, []tool.Tool{tl}, step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Next answer."})
		s := r.start(turn.Request{Text: "sales"})
		<-began
		if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
			t.Fatal(err)
		}
		_, st := r.wait(s)
		if b := st.Blocks[0]; b.Status != block.StatusError || b.Err.Code != block.CodeCancelled {
			t.Errorf("block %+v", b)
		}
		// The next turn's conversation has a result for every call.
		next := r.start(turn.Request{Text: "again", Conversation: s.Conversation})
		r.wait(next)
		reqs := r.model.requests()
		open := map[string]bool{}
		for _, m := range reqs[len(reqs)-1].Messages {
			for _, c := range m.Calls {
				open[c.ID] = true
			}
			delete(open, m.CallID)
		}
		if len(open) != 0 {
			t.Errorf("calls without result: %v", open)
		}
	})
	t.Run("someone else", func(t *testing.T) {
		r := newRig(t, turn.Config{}, nil, step{text: "x", hold: true})
		s := r.start(turn.Request{Text: "talk"})
		_, err := r.runner.Stop(t.Context(), store.Owner{Tenant: "t1", User: "mallory"}, s.Msg)
		var te *turn.Error
		if !errors.As(err, &te) || te.Code != turn.CodeNotFound {
			t.Errorf("stop by another user: %v", err)
		}
		_, _ = r.runner.Stop(t.Context(), alice, s.Msg)
		r.wait(s)
	})
}

func TestModelErrors(t *testing.T) {
	overloaded := &model.Error{Code: model.CodeRateLimited, Message: "key sk-1 is over quota", Retryable: true}
	for _, c := range []struct {
		name  string
		steps []step
		calls int
		code  string
		shown string
	}{
		{"tried again", []step{{err: overloaded}, {text: "Here."}}, 2, "", "Here."},
		{"given up", []step{{err: overloaded}, {err: overloaded}, {err: overloaded}}, 3, model.CodeRateLimited, ""},
		{"not after text", []step{{text: "Half", err: overloaded}, {text: "never"}}, 1, model.CodeRateLimited, "Half"},
		{"not retryable", []step{{err: &model.Error{Code: model.CodeUnauthorized, Message: "bad key sk-1"}}}, 1, model.CodeUnauthorized, ""},
		{"broke off", []step{{text: "Half", finish: model.FinishIncomplete}}, 1, turn.CodeModelIncomplete, "Half"},
		{"empty once", []step{{}, {text: "Now."}}, 2, "", "Now."},
		{"empty twice", []step{{}, {}}, 2, turn.CodeModelEmpty, ""},
		{"filtered", []step{{text: "I", finish: model.FinishContentFilter}}, 1, "", "I"},
		{"cut calls do not run", []step{{text: "T", finish: model.FinishLength, calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}}, 1, "", "T"},
		{"too long once", []step{{err: &model.Error{Code: model.CodeContextTooLong}}, {text: "Short."}}, 2, "", "Short."},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)}, c.steps...)
			s, evs, st := r.ask("hello")
			if got := len(r.model.requests()); got != c.calls {
				t.Errorf("%d model calls, want %d", got, c.calls)
			}
			if (st.Err == nil) != (c.code == "") || st.Err != nil && st.Err.Code != c.code {
				t.Errorf("error %+v, want %q", st.Err, c.code)
			}
			if text(st) != c.shown {
				t.Errorf("shown %q, want %q", text(st), c.shown)
			}
			all, _ := json.Marshal(evs)
			if strings.Contains(string(all), "sk-1") {
				t.Error("the endpoint's words reached the client")
			}
			m, err := r.store.Message(t.Context(), alice, s.Msg)
			if err != nil || m.Status != st.Status {
				t.Errorf("stored status %s, live %s (%v)", m.Status, st.Status, err)
			}
		})
	}
}

func TestOutputLimit(t *testing.T) {
	r := newRig(t, turn.Config{Limits: turn.Limits{OutputBytes: 1000}}, nil, step{text: strings.Repeat("很", 2000), each: 3})
	_, _, st := r.ask("talk")
	if st.FinishReason != event.FinishLength || len(text(st)) > 1000 || strings.Contains(text(st), "\uFFFD") {
		t.Errorf("%s, %d bytes", st.FinishReason, len(text(st)))
	}
}

func TestTurnTimeout(t *testing.T) {
	r := newRig(t, turn.Config{Limits: turn.Limits{Turn: 100 * time.Millisecond}}, nil, step{text: "x", hold: true})
	_, _, st := r.ask("talk")
	if st.Err == nil || st.Err.Code != turn.CodeTurnTimeout || !st.Err.Retryable {
		t.Errorf("error %+v", st.Err)
	}
}

func TestOneTurnPerConversation(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "x", hold: true})
	s := r.start(turn.Request{Text: "talk", IdempotencyKey: "key-00001", Fingerprint: "f1"})
	_, err := r.runner.Start(t.Context(), turn.Request{Owner: alice, Text: "again", Conversation: s.Conversation})
	var te *turn.Error
	if !errors.As(err, &te) || te.Code != turn.CodeTurnRunning || te.Msg != s.Msg {
		t.Errorf("second turn: %v", err)
	}
	joined, err := r.runner.Start(t.Context(), turn.Request{Owner: alice, Text: "talk", IdempotencyKey: "key-00001", Fingerprint: "f1"})
	if err != nil || !joined.Joined || joined.Msg != s.Msg || joined.User != s.User {
		t.Errorf("joined %+v %v", joined, err)
	}
	_, err = r.runner.Start(t.Context(), turn.Request{Owner: alice, Text: "other", IdempotencyKey: "key-00001", Fingerprint: "f2"})
	if !errors.As(err, &te) || te.Code != turn.CodeKeyReused {
		t.Errorf("key reused: %v", err)
	}
	_, _ = r.runner.Stop(t.Context(), alice, s.Msg)
	r.wait(s)
	// Whoever has seen the end may ask at once.
	for range 20 {
		r.model.mu.Lock()
		r.model.steps = []step{{text: "quick"}}
		r.model.mu.Unlock()
		r.wait(r.start(turn.Request{Text: "next", Conversation: s.Conversation}))
	}
}

func TestRegenerateAndEditMakeSiblings(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "one"}, step{text: "two"}, step{text: "three"}, step{text: "four"})
	a, _, _ := r.ask("question")
	b := r.start(turn.Request{RegenerateOf: a.Msg})
	r.wait(b)
	m, err := r.store.Message(t.Context(), alice, b.Msg)
	if err != nil || strings.Join(m.Siblings, ",") != a.Msg+","+b.Msg || m.Parent != a.User {
		t.Errorf("siblings %v parent %s (%v)", m.Siblings, m.Parent, err)
	}
	c := r.start(turn.Request{EditOf: a.User, Text: "other question"})
	r.wait(c)
	u, err := r.store.Message(t.Context(), alice, c.User)
	if err != nil || strings.Join(u.Siblings, ",") != a.User+","+c.User {
		t.Errorf("user siblings %v (%v)", u.Siblings, err)
	}
	last := r.model.requests()[2].Messages
	if n := len(last); n != 2 || last[1].Content != "other question" {
		t.Errorf("an edited root is answered with %d messages %+v", n, last)
	}
	d := r.start(turn.Request{Text: "follow up", Conversation: a.Conversation})
	r.wait(d)
	path, err := r.store.Path(t.Context(), alice, a.Conversation, "")
	if err != nil || len(path) != 4 || path[1].ID != c.Msg {
		t.Errorf("path of %d (%v)", len(path), err)
	}
}

func TestStatelessHistory(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "Hi Bob."})
	s := r.start(turn.Request{History: []model.Message{
		{Role: model.RoleUser, Content: "I am Bob"}, {Role: model.RoleAssistant, Content: "Hello"}, {Role: model.RoleUser, Content: "Who am I?"},
	}})
	r.wait(s)
	if got := r.model.requests()[0].Messages; len(got) != 4 || got[1].Content != "I am Bob" || got[3].Content != "Who am I?" {
		t.Errorf("messages %+v", got)
	}
	list, _, err := r.store.Conversations(t.Context(), alice, store.ListOptions{})
	if err != nil || len(list) != 0 {
		t.Errorf("hidden conversation listed: %v %v", list, err)
	}
}

func TestCallerReachesTool(t *testing.T) {
	var got atomic.Value
	tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
		got.Store(tool.CallerFrom(ctx))
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "ok"})
	s := r.start(turn.Request{Text: "sales", Caller: tool.Caller{Token: "tok-alice"}})
	_, _ = r.wait(s)
	if c := got.Load().(tool.Caller); c.User != "alice" || c.Token != "tok-alice" {
		t.Errorf("caller %+v", c)
	}
	raw, _ := r.store.Trajectory(t.Context(), alice, s.Msg)
	if strings.Contains(string(raw), "tok-alice") {
		t.Error("the token is in the trajectory")
	}
}

func TestRetryAndRefresh(t *testing.T) {
	var n atomic.Int32
	tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
		switch n.Add(1) {
		case 1, 4:
			return errBackend
		}
		return out.Chart(sales([]string{"", "", "East", "North"}[n.Load()]))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "It failed."})
	s, _, st := r.ask("sales")
	id := st.Blocks[0].ID
	rerun := func(refresh bool) (event.State, error) {
		got, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: id, Refresh: refresh})
		if err != nil {
			return event.State{}, err
		}
		_, st := r.wait(got)
		return st, nil
	}
	if _, err := rerun(true); err == nil {
		t.Error("a failed block was refreshed")
	}
	if _, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: store.Owner{Tenant: "t1", User: "mallory"}, Block: id}); err == nil {
		t.Error("another user's block was tried again")
	}
	st, err := rerun(false)
	if err != nil {
		t.Fatal(err)
	}
	if b := st.Blocks[0]; b.ID != id || b.Status != block.StatusDone || !strings.Contains(string(b.Payload), "East") || text(st) != "<chart done>|It failed." {
		t.Errorf("retried: %q %+v", text(st), b)
	}
	if _, err := rerun(false); err == nil {
		t.Error("a finished block was tried again")
	}
	if st, err = rerun(true); err != nil {
		t.Fatal(err)
	}
	if b := st.Blocks[0]; !strings.Contains(string(b.Payload), "North") || b.Meta.RefreshedAt == 0 {
		t.Errorf("refreshed: %s %+v", b.Payload, b.Meta)
	}
	// A refresh that fails keeps what was shown.
	if st, err = rerun(true); err != nil {
		t.Fatal(err)
	}
	if b := st.Blocks[0]; !strings.Contains(string(b.Payload), "North") || b.Err == nil {
		t.Errorf("failed refresh: %s %+v", b.Payload, b.Err)
	}
	m, _ := r.store.Message(t.Context(), alice, s.Msg)
	if m.Status != event.StatusDone || m.FinishReason != "stop" || m.Usage.InputTokens != 20 {
		t.Errorf("a follow-up changed the message: %+v", m)
	}
	if got := len(r.model.requests()); got != 2 {
		t.Errorf("%d model calls, want 2", got)
	}
	raw, _ := r.store.Trajectory(t.Context(), alice, s.Msg)
	doc, err := trajectory.Read(raw)
	if err != nil || len(doc.Steps) != 7 {
		t.Errorf("trajectory of %d steps: %v", len(doc.Steps), err)
	}
}

func TestModelHTMLIsTextOnly(t *testing.T) {
	const evil = "<script>alert(1)</script><img src=x onerror=alert(1)>"
	r := newRig(t, turn.Config{}, nil, step{text: evil, each: 7})
	_, _, st := r.ask("attack")
	if text(st) != evil || len(st.Blocks) != 1 || st.Blocks[0].Type != "text" {
		t.Errorf("%q", text(st))
	}
}

func TestClockGoingBackwards(t *testing.T) {
	var n atomic.Int64
	base := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	clock := func() time.Time {
		// Every call is an hour earlier than the one before.
		return base.Add(-time.Duration(n.Add(1)) * time.Hour)
	}
	r := newRig(t, turn.Config{Now: clock, Limits: turn.Limits{Coalesce: 50 * time.Millisecond}}, []tool.Tool{okTool(t)},
		step{text: strings.Repeat("word ", 50), each: 5, calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "ok"})
	_, evs, st := r.ask("sales")
	if st.Status != event.StatusDone || !strings.HasPrefix(text(st), strings.Repeat("word ", 50)) {
		t.Errorf("%s %q", st.Status, text(st))
	}
	for i := 1; i < len(evs); i++ {
		if evs[i].At < evs[i-1].At {
			t.Fatalf("time of event %d goes back", evs[i].Seq)
		}
	}
}

func TestToolDeafToItsContextIsLeft(t *testing.T) {
	free := make(chan struct{})
	t.Cleanup(func() { close(free) })
	tl := chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error {
		<-free
		return out.Chart(sales("late"))
	})
	r := newRig(t, turn.Config{Limits: turn.Limits{Tool: 20 * time.Millisecond}}, []tool.Tool{tl},
		step{calls: []model.Call{call("1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Too slow."})
	_, _, st := r.ask("sales")
	if st.Blocks[0].Err == nil || st.Blocks[0].Err.Code != block.CodeToolTimeout || text(st) != "<chart error>|Too slow." {
		t.Errorf("%q %+v", text(st), st.Blocks[0].Err)
	}
}

func TestReasoningIsKeptApart(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{reasoning: "hmm", text: "Answer."})
	_, _, st := r.ask("think")
	if text(st) != "Answer." || st.Reasoning != "hmm" {
		t.Errorf("%q, reasoning %q", text(st), st.Reasoning)
	}
}

func TestCoalescing(t *testing.T) {
	r := newRig(t, turn.Config{Limits: turn.Limits{Coalesce: 20 * time.Millisecond}}, nil, step{text: strings.Repeat("各区域🎉", 200), each: 13})
	_, evs, st := r.ask("talk")
	if text(st) != strings.Repeat("各区域🎉", 200) {
		t.Error("text was lost")
	}
	deltas := strings.Count(types(evs), "text_delta")
	if deltas > 20 {
		t.Errorf("%d deltas were not joined", deltas)
	}
}
