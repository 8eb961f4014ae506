package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// plainTool is a tool without an announced block.
func plainTool(t *testing.T, name string, run func(ctx context.Context, q quarter, out *tool.Out) error) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: name, Description: "Do something."}, run)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// exchange is what a message keeps for the next turn.
func (r *rig) exchange(msg string) []model.Message {
	r.t.Helper()
	m, err := r.store.Message(r.t.Context(), alice, msg)
	if err != nil {
		r.t.Fatal(err)
	}
	var list []model.Message
	if len(m.Exchange) > 0 {
		if err := json.Unmarshal(m.Exchange, &list); err != nil {
			r.t.Fatal(err)
		}
	}
	return list
}

// validHistory is what every endpoint demands: after an assistant message with
// calls come their results, one each, in order; no assistant message is empty.
func validHistory(t *testing.T, list []model.Message) {
	t.Helper()
	for i := 0; i < len(list); i++ {
		m := list[i]
		switch m.Role {
		case model.RoleTool:
			t.Errorf("message %d: a result without its call: %+v", i, m)
		case model.RoleAssistant:
			if m.Content == "" && len(m.Calls) == 0 {
				t.Errorf("message %d: an empty assistant message", i)
			}
			for _, c := range m.Calls {
				i++
				if i >= len(list) || list[i].Role != model.RoleTool || list[i].CallID != c.ID {
					t.Errorf("message %d: want the result of %s", i, c.ID)
					return
				}
			}
		}
	}
}

// An error whose methods panic, as a nil pointer in an error does, is the
// tool's failure and not the server's.
func TestToolErrorThatPanics(t *testing.T) {
	typedNil := chartTool(t, "typed_nil", func(context.Context, quarter, *tool.Out) error {
		var e *tool.Error
		return e
	})
	bomb := chartTool(t, "bomb", func(context.Context, quarter, *tool.Out) error { return bombError{} })
	for _, name := range []string{"typed_nil", "bomb"} {
		r := newRig(t, turn.Config{}, []tool.Tool{typedNil, bomb},
			step{calls: []model.Call{call("c1", name, `{"quarter":"2026Q3"}`)}}, step{text: "It failed."})
		_, _, st := r.ask("sales?")
		if st.Status != event.StatusDone || len(st.Blocks) != 2 || st.Blocks[0].Err == nil || st.Blocks[0].Err.Code != block.CodeToolPanic {
			t.Errorf("%s: %s: %+v", name, st.Status, st.Blocks)
		}
		if told := r.lastTold(); len(told) != 1 || !strings.Contains(told[0], "TOOL_PANIC") {
			t.Errorf("%s: told %q", name, told)
		}
	}
}

type bombError struct{}

func (bombError) Error() string { panic("no words") }

// A title that panics costs the title.
func TestTitleThatPanics(t *testing.T) {
	tl, err := tool.New(tool.Spec{
		Name: "show_sales", Description: "Show sales.",
		Block: &tool.BlockSpec{Type: "chart", Title: "Sales", TitleFrom: func(context.Context, json.RawMessage) string { panic("no title") }},
	}, func(_ context.Context, _ quarter, out *tool.Out) error { return out.Chart(sales("East")) })
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, step{calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Here."})
	if _, _, st := r.ask("sales?"); st.Status != event.StatusDone || st.Blocks[0].Status != block.StatusDone {
		t.Errorf("%s %+v %+v", st.Status, st.Err, st.Blocks)
	}
}

// What has not begun when the user stops does not begin.
func TestStopBeforeAToolBegan(t *testing.T) {
	var ran atomic.Int32
	began := make(chan struct{})
	first := plainTool(t, "first", func(ctx context.Context, _ quarter, _ *tool.Out) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	deed := plainTool(t, "deed", func(context.Context, quarter, *tool.Out) error { ran.Add(1); return nil })
	calls := []model.Call{call("c0", "first", `{"quarter":"2026Q1"}`)}
	for i := range 4 {
		calls = append(calls, call(fmt.Sprintf("c%d", i+1), "deed", fmt.Sprintf(`{"quarter":"202%dQ1"}`, i)))
	}
	r := newRig(t, turn.Config{Limits: turn.Limits{Parallel: 1}}, []tool.Tool{first, deed}, step{calls: calls})
	s := r.start(turn.Request{Text: "go"})
	<-began
	if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
		t.Fatal(err)
	}
	_, st := r.wait(s)
	if n := ran.Load(); n != 0 {
		t.Errorf("%d tools were begun after the stop", n)
	}
	if st.Status != event.StatusCancelled {
		t.Errorf("status %s", st.Status)
	}
	for _, a := range st.Tools {
		if a.Status != event.ToolCancelled {
			t.Errorf("%s is %s", a.ID, a.Status)
		}
	}
	validHistory(t, r.exchange(s.Msg))
}

// Whatever happens in a turn, the next one hands the model a history that
// endpoints take.
func TestHistoryStaysValid(t *testing.T) {
	q := `{"quarter":"2026Q3"}`
	for name, steps := range map[string][]step{
		"calls at the last step":  {{calls: []model.Call{call("c1", "show_sales", q)}}, {calls: []model.Call{call("c2", "show_sales", `{"quarter":"2026Q2"}`)}}},
		"length with calls":       {{finish: model.FinishLength, calls: []model.Call{call("c1", "show_sales", q)}}},
		"filter without text":     {{finish: model.FinishContentFilter}},
		"error after calls":       {{calls: []model.Call{call("c1", "show_sales", q)}}, {err: &model.Error{Code: model.CodeBadRequest}}},
		"error after text":        {{text: "half", err: &model.Error{Code: model.CodeUnavailable, Retryable: true}}},
		"incomplete with calls":   {{text: "half", finish: model.FinishIncomplete, calls: []model.Call{call("c1", "show_sales", q)}}},
		"one id for two calls":    {{calls: []model.Call{call("c1", "show_sales", q), call("c1", "show_sales", `{"quarter":"2026Q2"}`)}}, {text: "both"}},
		"no id":                   {{calls: []model.Call{call("", "show_sales", q), call("", "show_sales", `{"quarter":"2026Q2"}`)}}, {text: "both"}},
		"one id in two steps":     {{calls: []model.Call{call("c1", "show_sales", q)}}, {calls: []model.Call{call("c1", "nope", q)}}},
		"unknown and wrong calls": {{calls: []model.Call{call("c1", "nope", q), call("c2", "show_sales", `{`), call("c3", "show_sales", `{"quarter":"x"}`)}}, {text: "sorry"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := newRig(t, turn.Config{Limits: turn.Limits{Steps: 2}}, []tool.Tool{okTool(t)}, steps...)
			s, _, _ := r.ask("first")
			r.model.mu.Lock()
			r.model.steps = []step{{text: "fine"}}
			r.model.mu.Unlock()
			if _, st := r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "second"})); st.Status != event.StatusDone {
				t.Fatalf("second turn: %s %+v", st.Status, st.Err)
			}
			for i, req := range r.model.requests() {
				seen := map[string]bool{}
				validHistory(t, req.Messages)
				for _, m := range req.Messages {
					for _, c := range m.Calls {
						if seen[c.ID] || c.ID == "" {
							t.Errorf("request %d: the call id %q is not the call's own", i, c.ID)
						}
						seen[c.ID] = true
					}
				}
			}
		})
	}
}

// What a tool says is bounded wherever it goes, and is text wherever it goes.
func TestToolThatSaysTooMuch(t *testing.T) {
	const mega = 5 << 20
	junk := strings.Repeat("\xff\x00\u2028東", mega/8)
	tools := []tool.Tool{
		plainTool(t, "summary", func(_ context.Context, _ quarter, out *tool.Out) error { out.Summary("%s", junk); return nil }),
		plainTool(t, "remark", func(_ context.Context, _ quarter, out *tool.Out) error { out.Remark("%s", junk); return nil }),
		plainTool(t, "failure", func(context.Context, quarter, *tool.Out) error {
			return &tool.Error{Message: junk, Err: errors.New(junk)}
		}),
		plainTool(t, "code", func(context.Context, quarter, *tool.Out) error { return &tool.Error{Code: junk} }),
		chartTool(t, "charted", func(context.Context, quarter, *tool.Out) error { return &tool.Error{Code: junk, Message: junk} }),
		plainTool(t, "panicking", func(context.Context, quarter, *tool.Out) error { panic(junk) }),
		plainTool(t, "fallback", func(_ context.Context, _ quarter, out *tool.Out) error {
			out.Fallback(junk)
			return out.Chart(sales("East"))
		}),
	}
	for _, tl := range tools {
		name := tl.Spec().Name
		t.Run(name, func(t *testing.T) {
			r := newRig(t, turn.Config{}, []tool.Tool{tl},
				step{calls: []model.Call{call("c1", name, `{"quarter":"2026Q3"}`)}}, step{text: "Enough."})
			s, _, st := r.ask("go")
			if st.Status != event.StatusDone {
				t.Errorf("%s %+v", st.Status, st.Err)
			}
			for _, b := range st.Blocks {
				if b.Status == block.StatusLoading {
					t.Errorf("block %s is still loading", b.ID)
				}
			}
			if told := r.lastTold(); len(told) != 1 || len(told[0]) > 8<<10 {
				t.Errorf("the model was told %d bytes", len(told[0]))
			}
			doc, err := r.store.Trajectory(t.Context(), alice, s.Msg)
			if err != nil {
				t.Fatal(err)
			}
			if len(doc) > 256<<10 {
				t.Errorf("the trajectory has %d bytes", len(doc))
			}
		})
	}
}

// Names that a model makes up are bounded too.
func TestModelThatShouts(t *testing.T) {
	long := strings.Repeat("nonsense", 20_000)
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)},
		step{calls: []model.Call{call("c1", long, `{}`), call("c2", "show_sales", `{"quarter":"`+long+`"}`), call("c3", "show_sales", `{`+long)}},
		step{text: "sorry"})
	_, _, st := r.ask("go")
	if st.Status != event.StatusDone || text(st) != "sorry" {
		t.Errorf("%s %+v", st.Status, st.Err)
	}
	told := r.lastTold()
	for i, code := range []string{"unknown_tool", "invalid_arguments", "invalid_arguments"} {
		if !strings.Contains(told[i], code) || len(told[i]) > 8<<10 {
			t.Errorf("call %d: told %d bytes: %.200s", i, len(told[i]), told[i])
		}
	}
	for _, a := range st.Tools {
		if len(a.Name) > 200 {
			t.Errorf("a tool's name has %d bytes", len(a.Name))
		}
	}
}

// A model that cuts its pieces inside characters is read whole.
func TestPiecesOfCharacters(t *testing.T) {
	const answer = "东区领先 📈 €\u2028 naïve"
	for _, coalesce := range []time.Duration{-1, 5 * time.Millisecond} {
		r := newRig(t, turn.Config{Limits: turn.Limits{Coalesce: coalesce}}, nil,
			step{reasoning: answer, text: strings.Repeat(answer, 50), each: 1})
		_, _, st := r.ask("go")
		if got := text(st); got != strings.Repeat(answer, 50) {
			t.Errorf("coalesce %v: %.100q", coalesce, got)
		}
	}
	// What is no text at all becomes a sign for it, at the end too.
	r := newRig(t, turn.Config{}, nil, step{text: "a\xffb\xe4\xb8", each: 1})
	if _, _, st := r.ask("go"); text(st) != "a\ufffdb\ufffd\ufffd" && text(st) != "a\ufffdb\ufffd" {
		t.Errorf("%q", text(st))
	}
}

// Tools of one step that are shown as text do not get into each other's way.
func TestTextBlocksInParallel(t *testing.T) {
	say := plainTool(t, "say", func(_ context.Context, q quarter, out *tool.Out) error {
		for range 20 {
			if err := out.UI(json.RawMessage(`{"toolId":"x","content":"words of ` + q.Quarter + `","ui":{"type":"nope","version":"1.0","data":{}}}`)); err != nil {
				return err
			}
		}
		return nil
	})
	var calls []model.Call
	for i := range 4 {
		calls = append(calls, call(fmt.Sprint("c", i), "say", fmt.Sprintf(`{"quarter":"202%dQ1"}`, i)))
	}
	r := newRig(t, turn.Config{Limits: turn.Limits{Blocks: 100}}, []tool.Tool{say}, step{text: "Look:", calls: calls}, step{text: "There."})
	_, _, st := r.ask("go")
	for _, a := range st.Tools {
		if a.Status != event.ToolOK {
			t.Errorf("%s is %s", a.ID, a.Status)
		}
	}
	if n := len(st.Blocks); n != 82 {
		t.Errorf("%d blocks, want 82: %+v", n, st.Err)
	}
}

// A message of one conversation is not that of another.
func TestConversationMustBeTheMessages(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "one"}, step{text: "two"}, step{text: "three"})
	a, _, _ := r.ask("first")
	b, _, _ := r.ask("second")
	for _, req := range []turn.Request{
		{Conversation: b.Conversation, EditOf: a.User, Text: "edited"},
		{Conversation: b.Conversation, RegenerateOf: a.Msg},
		{Conversation: "c_nowhere", RegenerateOf: a.Msg},
	} {
		req.Owner = alice
		_, err := r.runner.Start(t.Context(), req)
		var te *turn.Error
		if !errors.As(err, &te) || te.Code != turn.CodeNotFound {
			t.Errorf("%+v: %v", req, err)
		}
	}
}

// The instructions of a stateless request are not what is left out of it.
func TestSystemMessagesStay(t *testing.T) {
	r := newRig(t, turn.Config{Limits: turn.Limits{ContextBytes: 4 << 10}}, nil, step{text: "ok"})
	history := []model.Message{{Role: model.RoleSystem, Content: "Speak like a pirate."}}
	for i := range 50 {
		history = append(history, model.Message{Role: model.RoleUser, Content: fmt.Sprint(i, strings.Repeat(" word", 40))},
			model.Message{Role: model.RoleAssistant, Content: "aye"})
	}
	history = append(history, model.Message{Role: model.RoleUser, Content: "now?"})
	r.wait(r.start(turn.Request{History: history}))
	list := r.model.requests()[0].Messages
	if len(list) > 60 || list[1].Content != "Speak like a pirate." || list[2].Role != model.RoleUser {
		t.Errorf("%d messages, then %+v", len(list), list[1:3])
	}
}

// slowRead holds the reading of messages back until told.
type slowRead struct {
	store.Store
	gate func()
}

func (s slowRead) RunningMessages(ctx context.Context) ([]store.Message, error) {
	list, err := s.Store.RunningMessages(ctx)
	s.gate()
	return list, err
}

// A turn that ends while recovery looks around keeps what it stored.
func TestRecoverBesideTheEnd(t *testing.T) {
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)},
		step{calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "East", hold: true})
	var s turn.Started
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	var once sync.Once
	other, err := turn.New(turn.Config{Store: slowRead{r.store, func() {
		once.Do(func() {
			if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
				t.Error(err)
			}
			r.wait(s)
			for r.runner.Running() > 0 {
				time.Sleep(time.Millisecond)
			}
		})
	}}, Model: r.model, Tools: r.tools, Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	s = r.start(turn.Request{Text: "sales?"})
	for len(r.model.requests()) < 2 {
		time.Sleep(time.Millisecond)
	}
	if _, err := other.Recover(t.Context()); err != nil {
		t.Fatal(err)
	}
	if list := r.exchange(s.Msg); len(list) < 2 {
		t.Errorf("the exchange is %+v", list)
	}
	m, err := r.store.Message(t.Context(), alice, s.Msg)
	if err != nil || m.Status != event.StatusCancelled || m.FinishReason != event.FinishCancelled {
		t.Errorf("%+v, %v", m, err)
	}
}

// Two people press retry at once: the tool runs once.
func TestTwoRetriesAtOnce(t *testing.T) {
	var runs atomic.Int32
	flaky := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		if runs.Add(1) == 1 {
			return errBackend
		}
		time.Sleep(20 * time.Millisecond)
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{flaky},
		step{calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Sorry."})
	s, _, st := r.ask("sales?")
	id := st.Blocks[0].ID
	var wg sync.WaitGroup
	var ok atomic.Int32
	for range 8 {
		wg.Go(func() {
			time.Sleep(time.Duration(ok.Load()) * time.Millisecond)
			_, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: id})
			var te *turn.Error
			switch {
			case err == nil:
				ok.Add(1)
			case !errors.As(err, &te) || te.Code != turn.CodeTurnRunning && te.Code != turn.CodeNotRetryable:
				t.Error(err)
			}
		})
	}
	wg.Wait()
	_, st = r.wait(s)
	if ok.Load() != 1 || runs.Load() != 2 || st.Blocks[0].Status != block.StatusDone {
		t.Errorf("%d retries began, the tool ran %d times, the block is %s", ok.Load(), runs.Load(), st.Blocks[0].Status)
	}
}

// A tool that goes on after it was left, or after its end, changes nothing.
func TestToolThatWritesTooLate(t *testing.T) {
	late := make(chan error, 3)
	tl := plainTool(t, "late", func(_ context.Context, _ quarter, out *tool.Out) error {
		h, err := out.Start("table", 1, block.Meta{})
		if err != nil {
			return err
		}
		go func() {
			time.Sleep(50 * time.Millisecond)
			late <- h.Delta(json.RawMessage(`[{"op":"add","path":"","value":{}}]`))
			late <- out.Chart(sales("East"))
			late <- out.Finish(h, "table", 1, tool.Finished{Payload: json.RawMessage(`{"columns":[],"rows":[]}`)})
		}()
		return nil
	})
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, step{calls: []model.Call{call("c1", "late", `{"quarter":"2026Q3"}`)}}, step{text: "Done."})
	_, _, st := r.ask("go")
	for range 3 {
		if err := <-late; err == nil {
			t.Error("a tool wrote after its end")
		}
	}
	if len(st.Blocks) != 2 || st.Blocks[0].Err == nil {
		t.Errorf("%+v", st.Blocks)
	}
}

// gated lets the first append of a log wait, and tells of which.
type gated struct {
	store.Store
	began chan string
	gate  chan struct{}
}

func (g gated) Append(ctx context.Context, l store.Lease, evs ...event.Event) error {
	if evs[0].Seq == 1 {
		g.began <- l.Msg
		<-g.gate
	}
	return g.Store.Append(ctx, l, evs...)
}

// A turn that is stopped, or whose server ends, before its first event is
// durable has an end like every other.
func TestEndBeforeTheBeginning(t *testing.T) {
	for _, shutdown := range []bool{false, true} {
		r := newRig(t, turn.Config{}, nil)
		g := gated{r.store, make(chan string, 1), make(chan struct{})}
		reg, err := block.NewRegistry(block.Builtins()...)
		if err != nil {
			t.Fatal(err)
		}
		runner, err := turn.New(turn.Config{Store: g, Model: r.model, Tools: r.tools, Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			msg := <-g.began
			if shutdown {
				ctx, cancel := context.WithCancel(context.Background())
				cancel()
				go func() { _ = runner.Shutdown(ctx) }()
			} else if _, err := runner.Stop(context.Background(), alice, msg); err != nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond)
			close(g.gate)
		}()
		s, err := runner.Start(t.Context(), turn.Request{Owner: alice, Text: "go"})
		if err != nil {
			t.Fatalf("shutdown %v: %v", shutdown, err)
		}
		_, st := r.wait(s)
		if want := map[bool]event.Status{false: event.StatusCancelled, true: event.StatusError}[shutdown]; st.Status != want {
			t.Errorf("shutdown %v: %s %+v", shutdown, st.Status, st.Err)
		}
		for runner.Running() > 0 {
			time.Sleep(time.Millisecond)
		}
		c, err := r.store.Conversation(t.Context(), alice, s.Conversation)
		if err != nil || c.Running != "" {
			t.Errorf("shutdown %v: %+v, %v", shutdown, c, err)
		}
	}
}

// A conversation that is deleted while its turn begins is not found.
func TestDeletedWhileBeginning(t *testing.T) {
	r := newRig(t, turn.Config{}, nil)
	g := gated{r.store, make(chan string, 1), make(chan struct{})}
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := turn.New(turn.Config{Store: g, Model: r.model, Tools: r.tools, Registry: reg})
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		m, err := r.store.MessageOf(context.Background(), <-g.began)
		if err == nil {
			err = r.store.DeleteConversation(context.Background(), alice, m.Conversation)
		}
		if err != nil {
			t.Error(err)
		}
		close(g.gate)
	}()
	_, err = runner.Start(t.Context(), turn.Request{Owner: alice, Text: "go"})
	var te *turn.Error
	if !errors.As(err, &te) || te.Code != turn.CodeNotFound {
		t.Errorf("%v", err)
	}
	for runner.Running() > 0 {
		time.Sleep(time.Millisecond)
	}
}
