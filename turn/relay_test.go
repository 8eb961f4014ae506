package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// elsewhere is an agent whose runs are written down.
type elsewhere struct {
	mu   sync.Mutex
	runs []func(ctx context.Context, req agent.Request, on func(agent.Piece) error) (agent.Outcome, error)
	reqs []agent.Request
}

func (e *elsewhere) Info() model.Info { return model.Info{Kind: "ag-ui", Name: "planner"} }

func (e *elsewhere) Run(ctx context.Context, req agent.Request, on func(agent.Piece) error) (agent.Outcome, error) {
	e.mu.Lock()
	e.reqs = append(e.reqs, req)
	if len(e.runs) == 0 {
		e.mu.Unlock()
		return agent.Outcome{}, errors.New("no more runs were written down")
	}
	run := e.runs[0]
	e.runs = e.runs[1:]
	e.mu.Unlock()
	return run(ctx, req, on)
}

func (e *elsewhere) request(i int) agent.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.reqs[i]
}

// sends is a run that sends pieces and ends so.
func ends(out agent.Outcome, pieces ...agent.Piece) func(context.Context, agent.Request, func(agent.Piece) error) (agent.Outcome, error) {
	if out.Finish == "" {
		out.Finish = model.FinishStop
	}
	return func(_ context.Context, _ agent.Request, on func(agent.Piece) error) (agent.Outcome, error) {
		for _, p := range pieces {
			if err := on(p); err != nil {
				return agent.Outcome{Finish: model.FinishIncomplete}, err
			}
		}
		return out, nil
	}
}

func tells(text string) agent.Piece { return agent.Piece{Kind: agent.Text, Text: text} }

func makes(id, name, args string) []agent.Piece {
	return []agent.Piece{
		{Kind: agent.CallStart, ID: id, Name: name},
		{Kind: agent.CallArguments, ID: id, Name: name, JSON: json.RawMessage(args)},
	}
}

func gives(id, name, content string) agent.Piece {
	return agent.Piece{Kind: agent.CallResult, ID: id, Name: name, Text: content}
}

func newRelay(t *testing.T, cfg turn.Config, runs ...func(context.Context, agent.Request, func(agent.Piece) error) (agent.Outcome, error)) (*rig, *elsewhere) {
	e := &elsewhere{runs: runs}
	cfg.Upstream, cfg.ClientTools = e, true
	return newRig(t, cfg, nil), e
}

func all(parts ...any) []agent.Piece {
	var out []agent.Piece
	for _, p := range parts {
		switch p := p.(type) {
		case agent.Piece:
			out = append(out, p)
		case []agent.Piece:
			out = append(out, p...)
		}
	}
	return out
}

// salesJSON is what the agent's tool found.
func salesJSON(t *testing.T) string {
	t.Helper()
	raw, err := json.Marshal(sales("North"))
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestUpstreamBecomesTheLog(t *testing.T) {
	show := func(_ context.Context, _ json.RawMessage, content string, out *tool.Out) error {
		return out.Block("chart", 1, block.Meta{Title: "Sales"}, json.RawMessage(content))
	}
	r, e := newRelay(t, turn.Config{Results: map[string]turn.ShowResult{"get_sales": show}},
		ends(agent.Outcome{Usage: model.Usage{InputTokens: 7, OutputTokens: 3}}, all(
			agent.Piece{Kind: agent.Reasoning, Text: "Look it up."},
			tells("Let me "), tells("see."), agent.Piece{Kind: agent.TextEnd},
			makes("c1", "get_sales", `{"quarter":"2026Q3"}`), gives("c1", "get_sales", salesJSON(t)),
			makes("c2", "note", `{}`), gives("c2", "note", `{"content":"kept","ui":{"type":"metric","version":"1.0","data":{"items":[{"label":"Total","value":4}]}}}`),
			tells("North leads."),
			agent.Piece{Kind: agent.Part, ID: "p1", Name: "inlay.table", JSON: json.RawMessage(`{"type":"table","version":1,"status":"loading"}`)},
			agent.Piece{Kind: agent.Part, ID: "p1", Name: "inlay.table", JSON: json.RawMessage(`{"type":"table","version":1,"status":"done","fallback":"A table.","payload":{"columns":[{"field":"a","label":"A"}],"rows":[{"a":1}]}}`)},
			agent.Piece{Kind: agent.Part, ID: "p2", Name: "acme.gantt", JSON: json.RawMessage(`{"type":"acme.gantt","version":1,"status":"done","fallback":"A plan.","payload":{}}`)},
			agent.Piece{Kind: agent.Part, ID: "p3", Name: "table", JSON: json.RawMessage(`{"columns":"none"}`)},
			agent.Piece{Kind: agent.State, JSON: json.RawMessage(`{"step":2}`)},
		)...),
		ends(agent.Outcome{}, tells("Again.")))
	s, evs, st := r.ask("How was the third quarter?")
	var got []string
	for _, b := range st.Blocks {
		got = append(got, string(b.Type)+" "+string(b.Status))
	}
	want := "text done, chart done, metric done, text done, table done, text done, table error"
	if strings.Join(got, ", ") != want {
		t.Errorf("blocks\n got %s\nwant %s\n%s", strings.Join(got, ", "), want, types(evs))
	}
	if b := st.Blocks[1]; b.Meta == nil || b.Meta.Title != "Sales" || b.Meta.ToolCallID != "c1" || len(b.Payload) == 0 {
		t.Errorf("chart: %+v %+v", b, b.Err)
	}
	if st.Reasoning != "Look it up." || st.Usage.InputTokens != 7 || len(st.Tools) != 2 || st.Tools[0].Status != event.ToolOK {
		t.Errorf("reasoning %q usage %+v tools %+v", st.Reasoning, st.Usage, st.Tools)
	}
	if !strings.Contains(types(evs), "state") {
		t.Errorf("no state in %s", types(evs))
	}
	m, err := r.store.Message(t.Context(), alice, s.Msg)
	if err != nil || m.Model == nil || m.Model.Kind != "ag-ui" || m.Model.Name != "planner" {
		t.Fatalf("message %+v: %v", m.Model, err)
	}

	// The next run has all that was said, and what was done since.
	r.submitted(s)
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "Why?"}))
	req := e.request(1)
	var said []string
	for _, msg := range req.Messages {
		line := string(msg.Role) + ":" + msg.Content
		for _, c := range msg.Calls {
			line += "[" + c.Name + string(c.Arguments) + "]"
		}
		said = append(said, line)
	}
	for i, part := range []string{"user:How", `assistant:Let me see.[get_sales{"quarter":"2026Q3"}]`, "tool:{", "assistant:[note{}]", "tool:{\"content\":\"kept\"", "assistant:North leads.", "assistant:A plan.", "user:Why?"} {
		if i >= len(said) || !strings.HasPrefix(said[i], part) {
			t.Fatalf("message %d of\n%s\nis not %q", i, strings.Join(said, "\n"), part)
		}
	}
	if len(req.Context) != 1 || req.Context[0].Value != "submitted the form" {
		t.Errorf("context %+v", req.Context)
	}
	if req.Thread != "thread-"+s.Conversation {
		t.Errorf("thread %q", req.Thread)
	}
}

func TestUpstreamFails(t *testing.T) {
	for _, tt := range []struct {
		name, code string
		run        func(context.Context, agent.Request, func(agent.Piece) error) (agent.Outcome, error)
	}{
		{"says nothing", turn.CodeModelEmpty, ends(agent.Outcome{})},
		{"breaks off", turn.CodeModelIncomplete, ends(agent.Outcome{Finish: model.FinishIncomplete}, tells("Half"))},
		{"refuses", model.CodeUnauthorized, func(context.Context, agent.Request, func(agent.Piece) error) (agent.Outcome, error) {
			return agent.Outcome{}, &model.Error{Code: model.CodeUnauthorized, Message: "secret words of the agent"}
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, _ := newRelay(t, turn.Config{}, tt.run)
			_, evs, st := r.ask("hello")
			if st.Status != event.StatusError || st.Err == nil || st.Err.Code != tt.code {
				t.Errorf("status %s, error %+v", st.Status, st.Err)
			}
			for _, ev := range evs {
				if strings.Contains(string(ev.Data), "secret words") {
					t.Errorf("the agent's own words reach the client: %s", ev.Data)
				}
			}
			for _, b := range st.Blocks {
				if b.Status == block.StatusLoading {
					t.Errorf("block %s is left loading", b.Type)
				}
			}
		})
	}
}

func TestUpstreamOutputIsBounded(t *testing.T) {
	r, _ := newRelay(t, turn.Config{Limits: turn.Limits{OutputBytes: 10}}, ends(agent.Outcome{}, tells("0123456789"), tells("x"), tells("never")))
	_, _, st := r.ask("hello")
	if st.FinishReason != event.FinishLength || text(st) != "0123456789" {
		t.Errorf("finish %q, text %q", st.FinishReason, text(st))
	}
}

// part is a part as an agent sends it that knows nothing of ours.
func part(id, name, content string) agent.Piece {
	return agent.Piece{Kind: agent.Part, ID: id, Name: name, JSON: json.RawMessage(content)}
}

func TestUpstreamShowsAPartAnew(t *testing.T) {
	r, _ := newRelay(t, turn.Config{}, ends(agent.Outcome{},
		part("p", "metric", `{"items":[{"label":"Done","value":1}]}`), tells("Working."), part("p", "metric", `{"items":"none"}`),
		part("p", "metric", `{"items":[{"label":"Done","value":2}]}`), part("p", "table", `{"columns":[],"rows":[]}`)))
	_, _, st := r.ask("hello")
	if st.Status != event.StatusDone || len(st.Blocks) != 2 || st.Blocks[0].Status != block.StatusDone || !strings.Contains(string(st.Blocks[0].Payload), `"value":2`) {
		t.Errorf("%s: %+v", st.Status, st.Blocks)
	}
}

// What an agent sends over and over is not written over and over.
func TestUpstreamFloods(t *testing.T) {
	const many = 20_000
	repeat := func(n int, piece func(i int) agent.Piece) func(context.Context, agent.Request, func(agent.Piece) error) (agent.Outcome, error) {
		return func(_ context.Context, _ agent.Request, on func(agent.Piece) error) (agent.Outcome, error) {
			for i := range n {
				if err := on(piece(i)); err != nil {
					return agent.Outcome{Finish: model.FinishIncomplete}, err
				}
			}
			return agent.Outcome{Finish: model.FinishStop}, nil
		}
	}
	metric := func(i int) string { return fmt.Sprintf(`{"items":[{"label":"Done","value":%d}]}`, i) }
	for name, tt := range map[string]struct {
		run    func(int) agent.Piece
		finish string
	}{
		"states":     {func(i int) agent.Piece { return agent.Piece{Kind: agent.State, JSON: json.RawMessage(metric(i))} }, event.FinishStop},
		"one part":   {func(i int) agent.Piece { return part("p", "metric", metric(i)) }, event.FinishStop},
		"many parts": {func(i int) agent.Piece { return part(fmt.Sprint(i), "metric", metric(i)) }, event.FinishStop},
		"paragraphs": {func(i int) agent.Piece {
			if i%2 == 0 {
				return tells("x")
			}
			return agent.Piece{Kind: agent.TextEnd}
		}, event.FinishLength},
		"fallbacks": {func(i int) agent.Piece {
			return part(fmt.Sprint(i), "acme.none", `{"type":"acme.none","status":"done","payload":{},"fallback":"`+strings.Repeat("x", 10_000)+`"}`)
		}, event.FinishLength},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRelay(t, turn.Config{}, repeat(many, tt.run))
			_, events, st := r.ask("hello")
			if st.FinishReason != tt.finish || len(events) > many*9/10 {
				t.Errorf("finish %q after %d events", st.FinishReason, len(events))
			}
			last := fmt.Sprintf(`"value":%d`, many-1)
			switch name {
			case "states":
				if ev := events[len(events)-2]; ev.Type != event.AppState || !strings.Contains(string(ev.Data), last) {
					t.Errorf("the last state is not written: %s", ev.Data)
				}
			case "one part":
				if !strings.Contains(string(st.Blocks[0].Payload), last) {
					t.Errorf("the last part is not shown: %s", st.Blocks[0].Payload)
				}
			}
		})
	}
}

// Results of an agent bring neither questions nor buttons.
func TestUpstreamResultsAskNothing(t *testing.T) {
	r, _ := newRelay(t, turn.Config{}, ends(agent.Outcome{}, all(
		makes("c1", "a", `{}`), gives("c1", "a", `{"ui":{"type":"confirm","version":"1.0","data":{"prompt":"Pay?"}}}`),
		makes("c2", "b", `{}`), gives("c2", "b", `{"ui":{"type":"metric","version":"1.0","data":{"items":[{"label":"Total","value":4}]},"actions":[{"id":"go","label":"Go","kind":"prompt","prompt":"Pay"}]}}`),
	)...))
	_, _, st := r.ask("hello")
	if len(st.Blocks) != 1 || st.Blocks[0].Type != "metric" || st.Blocks[0].Status != block.StatusDone || len(st.Blocks[0].Actions) > 0 {
		t.Errorf("%+v", st.Blocks)
	}
}

func TestUpstreamAsksTooMuch(t *testing.T) {
	asked := make([]agent.Interrupt, 60)
	for i := range asked {
		asked[i] = agent.Interrupt{ID: fmt.Sprint("i", i), Approval: true, Message: "May it?"}
	}
	r, _ := newRelay(t, turn.Config{}, ends(agent.Outcome{Interrupts: asked}))
	_, events, st := r.ask("hello")
	if last := events[len(events)-1]; st.Status != event.StatusError || !strings.Contains(string(last.Data), model.CodeBadResponse) {
		t.Errorf("%s %s", st.Status, last.Data)
	}
}

func TestUpstreamIsStopped(t *testing.T) {
	begun := make(chan struct{})
	r, _ := newRelay(t, turn.Config{}, func(ctx context.Context, _ agent.Request, on func(agent.Piece) error) (agent.Outcome, error) {
		if err := on(tells("One")); err != nil {
			return agent.Outcome{}, err
		}
		close(begun)
		<-ctx.Done()
		return agent.Outcome{Finish: model.FinishIncomplete}, ctx.Err()
	})
	s := r.start(turn.Request{Text: "hello"})
	<-begun
	if running, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil || !running {
		t.Fatalf("stop: %v %v", running, err)
	}
	_, st := r.wait(s)
	if st.Status != event.StatusCancelled || text(st) != "One" {
		t.Errorf("status %s, text %q", st.Status, text(st))
	}
}

func TestUpstreamAsks(t *testing.T) {
	form := json.RawMessage(`{"type":"object","properties":{"seats":{"type":"integer","minimum":1}},"required":["seats"]}`)
	interrupted := ends(agent.Outcome{Interrupts: []agent.Interrupt{
		{ID: "i1", Approval: true, Call: "c1", Message: "Book it?"},
		{ID: "i2", Message: "How many seats?", Schema: form},
	}}, all(tells("I need you."), makes("c1", "book", `{"train":"G1"}`))...)
	r, e := newRelay(t, turn.Config{}, interrupted,
		ends(agent.Outcome{}, gives("c1", "book", "booked"), tells("Done.")))
	s, _, st := r.ask("book a train")
	if st.Status != event.StatusPaused || len(st.Blocks) != 3 {
		t.Fatalf("status %s, blocks %+v", st.Status, st.Blocks)
	}
	confirm, question := st.Blocks[1], st.Blocks[2]
	if confirm.Type != "confirm" || question.Type != "question" || !strings.Contains(string(confirm.Payload), `"G1"`) {
		t.Fatalf("confirm %s, question %s", confirm.Payload, question.Payload)
	}
	reply := func(b, action, payload string) (turn.Started, error) {
		return r.runner.Answer(t.Context(), turn.AnswerRequest{
			Owner: alice, Caller: tool.Caller{Tenant: "t1", User: "alice"}, Msg: s.Msg, Block: b, Action: action, Payload: json.RawMessage(payload),
		})
	}
	if _, err := reply(question.ID, tool.Reply, `{"seats":0}`); err == nil {
		t.Fatal("an answer that is not of the form was taken")
	}
	again, err := reply(question.ID, tool.Reply, `{"seats":2}`)
	if err != nil {
		t.Fatal(err)
	}
	if _, st = r.wait(again); st.Status != event.StatusPaused {
		t.Fatalf("after one of two answers: %s", st.Status)
	}
	if again, err = reply(confirm.ID, tool.Approve, ``); err != nil {
		t.Fatal(err)
	}
	_, st = r.wait(again)
	if st.Status != event.StatusDone || !strings.HasSuffix(text(st), "Done.") {
		t.Errorf("status %s, text %q", st.Status, text(st))
	}
	got := e.request(1).Replies
	if len(got) != 2 || got[0].Interrupt != "i1" || got[0].Call != "c1" || !got[0].Approved || string(got[1].Payload) != `{"seats":2}` {
		t.Errorf("replies %+v", got)
	}
	for _, m := range e.request(1).Messages {
		if m.Role == model.RoleTool {
			t.Errorf("the agent is told of a result that nobody has: %+v", m)
		}
	}
	m, err := r.store.Message(t.Context(), alice, s.Msg)
	if err != nil || !strings.Contains(string(m.Exchange), `"booked"`) {
		t.Errorf("exchange %s: %v", m.Exchange, err)
	}
}

func TestUpstreamIsRefused(t *testing.T) {
	r, e := newRelay(t, turn.Config{},
		ends(agent.Outcome{Interrupts: []agent.Interrupt{{ID: "i1", Approval: true, Message: "Delete?"}}}, tells("Sure?")),
		ends(agent.Outcome{}, tells("I leave it.")))
	s, _, st := r.ask("delete it")
	again, err := r.runner.Answer(t.Context(), turn.AnswerRequest{
		Owner: alice, Msg: s.Msg, Block: st.Blocks[1].ID, Action: tool.Reject, Payload: json.RawMessage(`{"reason":"too early"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	r.wait(again)
	if got := e.request(1).Replies; len(got) != 1 || got[0].Approved || got[0].Cancelled || got[0].Reason != "too early" {
		t.Errorf("replies %+v", got)
	}
}

func TestUpstreamCallsTheClient(t *testing.T) {
	asks := agent.Outcome{Calls: []model.Call{{ID: "c1", Name: "read_selection", Arguments: json.RawMessage(`{"sheet":"one"}`)}}}
	wrong := agent.Outcome{Calls: []model.Call{{ID: "c2", Name: "read_selection", Arguments: json.RawMessage(`{"sheet":""}`)}}}
	r, e := newRelay(t, turn.Config{},
		ends(wrong, makes("c2", "read_selection", `{"sheet":""}`)...),
		ends(asks, makes("c1", "read_selection", `{"sheet":"one"}`)...),
		ends(agent.Outcome{}, tells("A1 is selected.")))
	s, evs, st := r.askClient(turn.Request{Context: []turn.ContextEntry{{Description: "page", Value: "sheets"}}, State: json.RawMessage(`{"a":1}`)}, selection)
	if st.Status != event.StatusPaused || strings.Count(types(evs), "client_tool_call") != 1 {
		t.Fatalf("status %s: %s", st.Status, types(evs))
	}
	if first := e.request(0); len(first.Tools) != 1 || len(first.Context) != 1 || string(first.State) != `{"a":1}` {
		t.Errorf("request %+v", first)
	}
	if told := e.request(1).Messages; !strings.Contains(told[len(told)-1].Content, "invalid_arguments") {
		t.Errorf("told %+v", told)
	}
	_, st = r.mustSupply(s.Msg, turn.ClientResult{Call: "c1", Content: "A1"})
	if st.Status != event.StatusDone || text(st) != "A1 is selected." {
		t.Errorf("status %s, text %q", st.Status, text(st))
	}
	told := e.request(2).Messages
	if last := told[len(told)-1]; last.Role != model.RoleTool || last.CallID != "c1" || last.Content != "A1" {
		t.Errorf("told %+v", last)
	}
}
