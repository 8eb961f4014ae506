package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
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

type payment struct {
	To     string `json:"to"`
	Amount int    `json:"amount" minimum:"1" maximum:"1000"`
}

// bank is a tool that asks before it pays more than 10, and keeps what it paid.
type bank struct {
	mu   sync.Mutex
	paid []string
	ask  func(args json.RawMessage) (*tool.Ask, error)
}

func (b *bank) tool(t testing.TB) tool.Tool {
	t.Helper()
	spec := tool.Spec{
		Name: "pay", Description: "Pay somebody.", Title: map[string]string{"": "Pay"}, Block: &tool.BlockSpec{Type: "metric"}, Refreshable: true,
		Ask: func(_ context.Context, args json.RawMessage) (*tool.Ask, error) {
			if b.ask != nil {
				return b.ask(args)
			}
			var p payment
			if err := json.Unmarshal(args, &p); err != nil {
				return nil, err
			}
			if p.Amount <= 10 {
				return nil, nil
			}
			return &tool.Ask{Prompt: fmt.Sprintf("Pay %d to %s?", p.Amount, p.To), Severity: "danger", Edit: true, ExpiresIn: time.Hour}, nil
		},
	}
	tl, err := tool.New(spec, func(ctx context.Context, p payment, out *tool.Out) error {
		a, asked := tool.AnswerFrom(ctx)
		b.mu.Lock()
		b.paid = append(b.paid, fmt.Sprintf("%d to %s by %s (%v %s)", p.Amount, p.To, tool.CallerFrom(ctx).Token, asked, a.Action))
		b.mu.Unlock()
		return out.Metric(block.Metric{Items: []block.MetricItem{{Label: "Paid", Value: float64(p.Amount)}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func (b *bank) list() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return strings.Join(b.paid, ", ")
}

func pay(id, to string, amount int) model.Call {
	return call(id, "pay", fmt.Sprintf(`{"to":%q,"amount":%d}`, to, amount))
}

func calls(list ...model.Call) step { return step{calls: list} }

// answer answers the question of a block.
func (r *rig) answer(msg, blockID, action, payload string) (turn.Started, error) {
	req := turn.AnswerRequest{Owner: alice, Caller: tool.Caller{Tenant: "t1", User: "alice", Token: "second"}, Msg: msg, Block: blockID, Action: action}
	if payload != "" {
		req.Payload = json.RawMessage(payload)
	}
	return r.runner.Answer(r.t.Context(), req)
}

func (r *rig) mustAnswer(msg, blockID, action, payload string) ([]event.Event, event.State) {
	r.t.Helper()
	s, err := r.answer(msg, blockID, action, payload)
	if err != nil {
		r.t.Fatalf("answer: %v", err)
	}
	evs, st := r.wait(s)
	if len(evs) <= int(s.After) {
		r.t.Fatalf("nothing came after %d", s.After)
	}
	return evs[s.After:], st
}

func (r *rig) record(msg string) store.Message {
	r.t.Helper()
	m, err := r.store.Message(context.Background(), alice, msg)
	if err != nil {
		r.t.Fatal(err)
	}
	return m
}

func wantCode(t testing.TB, err error, code string) {
	t.Helper()
	var te *turn.Error
	if !errors.As(err, &te) || te.Code != code {
		t.Errorf("%v, want %s", err, code)
	}
}

// questions are the blocks that ask something, in order; those that were cut off
// ask nothing.
func questions(st event.State) []block.Block {
	var out []block.Block
	for _, b := range st.Blocks {
		if b.Status == block.StatusDone && (b.Type == "confirm" || b.Type == "question") {
			out = append(out, b)
		}
	}
	return out
}

func blockStatus(t testing.TB, b block.Block) (status, answer string) {
	t.Helper()
	if len(b.State) == 0 {
		return "", ""
	}
	var s struct {
		Status string `json:"status"`
		Locked bool   `json:"locked"`
		Answer string `json:"answer"`
	}
	if err := json.Unmarshal(b.State, &s); err != nil || !s.Locked {
		t.Errorf("state %s, %v", b.State, err)
	}
	return s.Status, s.Answer
}

func TestApprove(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, step{text: "Let me pay. ", calls: []model.Call{pay("c1", "Ann", 50)}}, step{text: "Paid."})
	s, evs, st := r.ask("pay Ann")
	if got, want := types(evs), "start text_delta text_end block_start block_end pending_question_start done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if st.Status != event.StatusPaused || st.FinishReason != event.FinishPaused || b.list() != "" {
		t.Fatalf("%s %s, paid %q", st.Status, st.FinishReason, b.list())
	}
	q := questions(st)[0]
	var c block.Confirm
	if err := json.Unmarshal(q.Payload, &c); err != nil {
		t.Fatal(err)
	}
	if c.Prompt != "Pay 50 to Ann?" || c.Severity != "danger" || string(c.Args) != `{"to":"Ann","amount":50}` || !strings.HasPrefix(c.ArgsDigest, "sha256:") || c.Schema == nil || c.ExpiresAt == 0 {
		t.Errorf("%s", q.Payload)
	}
	var ids []string
	for _, a := range q.Actions {
		ids = append(ids, a.ID+":"+a.Label)
	}
	if fmt.Sprint(ids) != "[approve:Approve reject:Reject edit:Change]" {
		t.Errorf("%v", ids)
	}
	m := r.record(s.Msg)
	conv, err := r.store.Conversation(t.Context(), alice, s.Conversation)
	if err != nil || conv.Running != "" || m.Status != event.StatusPaused || m.Seq != st.Seq {
		t.Errorf("conversation %+v, message %s at %d, %v", conv, m.Status, m.Seq, err)
	}
	if !strings.Contains(string(m.Exchange), "waits for the user's approval since") {
		t.Errorf("exchange %s", m.Exchange)
	}
	more, st := r.mustAnswer(s.Msg, q.ID, tool.Approve, "")
	if got, want := types(more), "pending_question_end block_state tool_call_start block_start block_end tool_call_end text_delta text_end done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if b.list() != "50 to Ann by second (true approve)" {
		t.Errorf("paid %s", b.list())
	}
	if text(st) != "Let me pay. |<confirm done>|<metric done>|Paid." || st.Status != event.StatusDone || st.Usage.InputTokens != 20 {
		t.Errorf("%s %s %+v", text(st), st.Status, st.Usage)
	}
	if status, how := blockStatus(t, questions(st)[0]); status != "answered" || how != "approve" {
		t.Errorf("state %s %s", status, how)
	}
	if m = r.record(s.Msg); m.Status != event.StatusDone || m.FinishReason != event.FinishStop || strings.Contains(string(m.Exchange), "waits for") {
		t.Errorf("%s %s %s", m.Status, m.FinishReason, m.Exchange)
	}
	if _, err := r.store.TurnState(t.Context(), s.Msg); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the state stays: %v", err)
	}
	if told := r.lastTold(); len(told) != 1 || !strings.Contains(told[0], "Shown to the user") {
		t.Errorf("%q", told)
	}
	_, err = r.answer(s.Msg, q.ID, tool.Approve, "")
	wantCode(t, err, turn.CodeNotPaused)
	// What took an approval is not repeated without one.
	_, err = r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: st.Blocks[2].ID, Refresh: true})
	wantCode(t, err, turn.CodeNotRefreshable)
	doc, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil || !strings.Contains(string(doc), `"cause":"approve"`) {
		t.Errorf("trajectory %s, %v", doc, err)
	}
}

func TestAnswers(t *testing.T) {
	var b bank
	small := calls(pay("c1", "Ann", 5))
	for _, c := range []struct {
		name, action, payload string
		first                 step
		code                  string // of the refusal
		paid, told, state     string
	}{
		{name: "nobody is asked about little", first: small, paid: "5 to Ann by  (false )"},
		{name: "rejected", first: calls(pay("c1", "Ann", 50)), action: "reject", payload: `{"reason":"not  today"}`, told: "REJECTED", state: "reject"},
		{name: "edited", first: calls(pay("c1", "Ann", 50)), action: "edit", payload: `{"to":"Bob","amount":20}`, paid: "20 to Bob by second (true edit)", told: "The user changed the arguments", state: "edit"},
		{name: "rejected without a word", first: calls(pay("c1", "Ann", 50)), action: "reject", told: "REJECTED", state: "reject"},
		{name: "rejected with more", first: calls(pay("c1", "Ann", 50)), action: "reject", payload: `{"reason":"no","amount":5}`, code: turn.CodePayloadInvalid},
		{name: "rejected with a number", first: calls(pay("c1", "Ann", 50)), action: "reject", payload: `{"reason":5}`, code: turn.CodePayloadInvalid},
		{name: "rejected with a list", first: calls(pay("c1", "Ann", 50)), action: "reject", payload: `[]`, code: turn.CodePayloadInvalid},
		{name: "edited badly", first: calls(pay("c1", "Ann", 50)), action: "edit", payload: `{"to":"Bob","amount":5000}`, code: turn.CodePayloadInvalid},
		{name: "edited to nothing", first: calls(pay("c1", "Ann", 50)), action: "edit", code: turn.CodePayloadInvalid},
		{name: "answered as a question", first: calls(pay("c1", "Ann", 50)), action: "answer", payload: `{"text":"yes"}`, code: turn.CodeInvalidRequest},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.paid = nil
			r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, c.first, step{text: "Fine."})
			s, _, st := r.ask("pay")
			if c.action == "" {
				if st.Status != event.StatusDone || b.list() != c.paid {
					t.Errorf("%s, paid %s", st.Status, b.list())
				}
				return
			}
			q := questions(st)[0]
			if c.code != "" {
				_, err := r.answer(s.Msg, q.ID, c.action, c.payload)
				wantCode(t, err, c.code)
				if c.code == turn.CodePayloadInvalid && c.payload != "" {
					var args *tool.ArgumentError
					var schema *block.SchemaError
					if !(errors.As(err, &args) && len(args.Violations) > 0) && !(errors.As(err, &schema) && len(schema.Violations) > 0) {
						t.Errorf("%v names no violation", err)
					}
				}
				if m := r.record(s.Msg); m.Status != event.StatusPaused || b.list() != "" {
					t.Errorf("%s, paid %s", m.Status, b.list())
				}
				return
			}
			_, st = r.mustAnswer(s.Msg, q.ID, c.action, c.payload)
			if b.list() != c.paid || st.Status != event.StatusDone {
				t.Errorf("%s, paid %s", st.Status, b.list())
			}
			if told := r.lastTold(); !strings.Contains(told[0], c.told) {
				t.Errorf("told %q", told)
			}
			if _, how := blockStatus(t, questions(st)[0]); how != c.state {
				t.Errorf("state %s", questions(st)[0].State)
			}
			if c.action == "edit" {
				reqs := r.model.requests()
				if got := string(reqs[len(reqs)-1].Messages[2].Calls[0].Arguments); got != c.payload {
					t.Errorf("the call in the exchange has %s", got)
				}
				if !strings.Contains(string(r.record(s.Msg).Exchange), `\"to\":\"Bob\"`) && !strings.Contains(string(r.record(s.Msg).Exchange), `"to":"Bob"`) {
					t.Errorf("%s", r.record(s.Msg).Exchange)
				}
			}
		})
	}
}

// What nobody answered before the turn was stopped was not done, and the model of
// the next turn is told so.
func TestStoppedQuestionIsTold(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)), step{text: "Next."})
	s, _, _ := r.ask("pay Ann")
	if ran, err := r.runner.Stop(t.Context(), alice, s.Msg); !ran || err != nil {
		t.Fatalf("stop: %v, %v", ran, err)
	}
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "and now?"}))
	if told := r.lastTold(); len(told) != 1 || !strings.Contains(told[0], "had not answered; the call was not run") {
		t.Errorf("told %q", told)
	}
}

func TestAskUser(t *testing.T) {
	ask := call("c1", "ask_user", `{"question":"Which quarter?","options":["Q2","Q3"],"other":true}`)
	free := call("c1", "ask_user", `{"question":"Why?"}`)
	for _, c := range []struct {
		call          model.Call
		payload, told string
		code          string
	}{
		{ask, `{"choices":["2"]}`, "The user answered: Q3", ""},
		{ask, `{"text":"the whole year"}`, "The user answered: the whole year", ""},
		{ask, `{"choices":["3"]}`, "", turn.CodePayloadInvalid},
		{ask, `{"choices":["1","2"]}`, "", turn.CodePayloadInvalid},
		{ask, `{}`, "", turn.CodePayloadInvalid},
		{free, `{"text":"because"}`, "The user answered: because", ""},
		{free, `{"choices":["1"]}`, "", turn.CodePayloadInvalid},
	} {
		r := newRig(t, turn.Config{AskUser: true}, nil, calls(c.call), step{text: "I see."})
		s, evs, st := r.ask("compare")
		if got := types(evs); got != "start block_start block_end pending_question_start done" {
			t.Fatal(got)
		}
		if tools := r.model.requests()[0].Tools; len(tools) != 1 || tools[0].Name != "ask_user" {
			t.Errorf("offered %v", tools)
		}
		q := questions(st)[0]
		if q.Type != "question" || len(q.Actions) != 1 || q.Actions[0].ID != "answer" || q.Actions[0].InputSchema == nil {
			t.Errorf("%+v", q)
		}
		if c.code != "" {
			_, err := r.answer(s.Msg, q.ID, "answer", c.payload)
			wantCode(t, err, c.code)
			continue
		}
		_, st = r.mustAnswer(s.Msg, q.ID, "answer", c.payload)
		if told := r.lastTold(); told[0] != c.told || text(st) != "<question done>|I see." {
			t.Errorf("%q, %s", told, text(st))
		}
	}
}

// TestSecretAnswer expects what is secret in an answer to reach the tool and
// nothing that is kept.
func TestSecretAnswer(t *testing.T) {
	const secret = "hunter2"
	var got string
	tl, err := tool.New(tool.Spec{Name: "login", Description: "Log in.", Ask: func(context.Context, json.RawMessage) (*tool.Ask, error) {
		return &tool.Ask{Prompt: "Who?", Question: &tool.Question{
			Schema:   json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"},"pin":{"type":"string"}},"required":["pin"]}`),
			UISchema: json.RawMessage(`{"pin":{"ui:widget":"password"}}`),
		}}, nil
	}}, func(ctx context.Context, _ struct{}, out *tool.Out) error {
		a, _ := tool.AnswerFrom(ctx)
		got = string(a.Value)
		out.Summary("Logged in.")
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{tl}, calls(call("c1", "login", "{}"), call("c2", "ask_user", `{"question":"And?"}`)))
	w := &watched{Store: r.store}
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	if r.runner, err = turn.New(turn.Config{Store: w, Model: r.model, Tools: r.tools, Registry: reg, AskUser: true}); err != nil {
		t.Fatal(err)
	}
	s, _, st := r.ask("log in")
	started, err := r.runner.Answer(t.Context(), turn.AnswerRequest{Owner: alice, Msg: s.Msg, Block: questions(st)[0].ID, Action: tool.Reply,
		Payload: json.RawMessage(`{"name":"ann","pin":"` + secret + `"}`), Values: json.RawMessage(`{"name":"ann"}`)})
	if err != nil {
		t.Fatal(err)
	}
	evs, st := r.wait(started)
	if !strings.Contains(got, secret) || st.Status != event.StatusPaused {
		t.Errorf("the tool got %s, %s", got, st.Status)
	}
	log, err := json.Marshal(evs)
	if err != nil {
		t.Fatal(err)
	}
	doc, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	if all := string(log) + string(doc) + w.seen() + string(r.record(s.Msg).Exchange); strings.Contains(all, secret) {
		t.Errorf("the secret is kept: %s", all)
	}
	if !strings.Contains(string(questions(st)[0].State), `"name":"ann"`) {
		t.Errorf("%s", questions(st)[0].State)
	}
}

// watched keeps the states of turns that were stored.
type watched struct {
	store.Store
	mu     sync.Mutex
	states []string
}

func (w *watched) PutTurnState(ctx context.Context, s store.TurnState) error {
	w.mu.Lock()
	w.states = append(w.states, string(s.Data))
	w.mu.Unlock()
	return w.Store.PutTurnState(ctx, s)
}

func (w *watched) seen() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.states, "\n")
}

// TestSeveralQuestions expects the other calls of a step to run at once, each
// answer to have a group of its own, and the turn to go on when all are there.
func TestSeveralQuestions(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t), okTool(t)},
		calls(pay("c1", "Ann", 50), call("c2", "show_sales", `{"quarter":"2026Q3"}`), pay("c3", "Bob", 60), pay("c4", "Ann", 50)), step{text: "Fine."})
	s, _, st := r.ask("pay both")
	if text(st) != "<confirm done>|<chart done>|<confirm done>" || st.Status != event.StatusPaused {
		t.Fatalf("%s %s", text(st), st.Status)
	}
	ann, bob := questions(st)[0], questions(st)[1]
	more, st := r.mustAnswer(s.Msg, bob.ID, "approve", "")
	if st.Status != event.StatusPaused || b.list() != "60 to Bob by second (true approve)" || len(r.model.requests()) != 1 {
		t.Errorf("%s after %s, paid %s", st.Status, types(more), b.list())
	}
	if conv, _ := r.store.Conversation(t.Context(), alice, s.Conversation); conv.Running != "" {
		t.Error("the conversation is still taken")
	}
	_, err := r.answer(s.Msg, bob.ID, "approve", "")
	wantCode(t, err, turn.CodeNotPaused)
	// A follow-up in between changes nothing.
	r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		return f.Out(ctx, "x", nil, nil).Code(block.Code{Lang: "go", Source: "1"})
	})
	if _, st = r.wait(s); st.Status != event.StatusPaused {
		t.Errorf("%s", st.Status)
	}
	_, st = r.mustAnswer(s.Msg, ann.ID, "reject", "")
	if st.Status != event.StatusDone || st.Group != 4 || text(st) != "<confirm done>|<chart done>|<confirm done>|<metric done>|<code done>|Fine." {
		t.Errorf("%s %s in group %d", st.Status, text(st), st.Group)
	}
	told := r.lastTold()
	if len(told) != 4 || !strings.Contains(told[0], "REJECTED") || !strings.Contains(told[1], "chart") || !strings.Contains(told[2], "metric") || !strings.Contains(told[3], "same call") || !strings.Contains(told[3], "REJECTED") {
		t.Errorf("%q", told)
	}
	if b.list() != "60 to Bob by second (true approve)" {
		t.Errorf("paid %s", b.list())
	}
}

// TestApprovalOnlyResumes expects nothing of the steps before a question to be
// done again by its answer.
func TestApprovalOnlyResumes(t *testing.T) {
	var b bank
	var looked atomic.Int32
	look := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		looked.Add(1)
		return out.Chart(sales("East"))
	})
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t), look}, sales3(), calls(pay("c2", "Ann", 5)), calls(pay("c3", "Bob", 50)), step{text: "Paid."})
	s, _, st := r.ask("pay what they earned")
	if len(r.model.requests()) != 3 || st.Status != event.StatusPaused {
		t.Fatalf("%d model calls, %s", len(r.model.requests()), st.Status)
	}
	_, st = r.mustAnswer(s.Msg, questions(st)[0].ID, "approve", "")
	if looked.Load() != 1 || b.list() != "5 to Ann by  (false ), 50 to Bob by second (true approve)" || len(r.model.requests()) != 4 {
		t.Errorf("looked %d times, paid %s, %d model calls", looked.Load(), b.list(), len(r.model.requests()))
	}
	if st.Usage.InputTokens != 40 {
		t.Errorf("usage %+v", st.Usage)
	}
	validHistory(t, r.model.requests()[3].Messages)
}

// TestNewMessageWhilePaused expects the conversation to go on beside the open
// question, the model to know of it, and the same call not to be asked twice.
func TestNewMessageWhilePaused(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)},
		calls(pay("c1", "Ann", 50)), calls(pay("d1", "Ann", 50), pay("d2", "Ann", 7)), step{text: "It waits for you."}, step{text: "Paid now."})
	s, _, st := r.ask("pay Ann")
	q := questions(st)[0]
	next := r.start(turn.Request{Conversation: s.Conversation, Text: "and?"})
	_, other := r.wait(next)
	if other.Status != event.StatusDone || len(questions(other)) != 0 || b.list() != "7 to Ann by  (false )" {
		t.Errorf("%s %s, paid %s", other.Status, text(other), b.list())
	}
	told := r.lastTold()
	if len(told) != 3 || !strings.Contains(told[0], "waits for the user's approval since") || !strings.Contains(told[1], "waiting_for_user") {
		t.Errorf("%q", told)
	}
	validHistory(t, r.model.requests()[2].Messages)
	// While another turn runs the paused one cannot go on.
	r.model.mu.Lock()
	r.model.steps = []step{{text: "on and on", hold: true}}
	r.model.mu.Unlock()
	held := r.start(turn.Request{Conversation: s.Conversation, Text: "talk"})
	_, err := r.answer(s.Msg, q.ID, "approve", "")
	wantCode(t, err, turn.CodeTurnRunning)
	if _, err := r.runner.Stop(t.Context(), alice, held.Msg); err != nil {
		t.Fatal(err)
	}
	r.wait(held)
	r.model.mu.Lock()
	r.model.steps = []step{{text: "Paid now."}}
	r.model.mu.Unlock()
	_, st = r.mustAnswer(s.Msg, q.ID, "approve", "")
	if st.Status != event.StatusDone || text(st) != "<confirm done>|<metric done>|Paid now." {
		t.Errorf("%s %s", st.Status, text(st))
	}
	reqs := r.model.requests()
	if last := reqs[len(reqs)-1].Messages; len(last) != 4 || last[1].Content != "pay Ann" {
		t.Errorf("it went on with %+v", last)
	}
}

// TestRestartWhilePaused expects another process to go on, and exactly one of
// many answers to count.
func TestRestartWhilePaused(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)))
	s, _, st := r.ask("pay Ann")
	q := questions(st)[0]
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	var runners []*turn.Runner
	for range 2 {
		next, err := turn.New(turn.Config{Store: r.store, Model: &script{steps: []step{{text: "Paid."}}}, Tools: r.tools, Registry: reg})
		if err != nil {
			t.Fatal(err)
		}
		if n, err := next.Recover(t.Context()); n != 0 || err != nil {
			t.Errorf("recovered %d, %v", n, err)
		}
		runners = append(runners, next)
	}
	var won atomic.Int32
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			_, err := runners[i%2].Answer(t.Context(), turn.AnswerRequest{Owner: alice, Msg: s.Msg, Block: q.ID, Action: "approve", Wait: 5 * time.Second})
			if err == nil {
				won.Add(1)
				return
			}
			wantCode(t, err, turn.CodeNotPaused)
		})
	}
	wg.Wait()
	_, st = r.wait(s)
	if won.Load() != 1 || b.list() != "50 to Ann by  (true approve)" || st.Status != event.StatusDone || st.Group != 2 {
		t.Errorf("%d won, paid %s, %s in group %d", won.Load(), b.list(), st.Status, st.Group)
	}
}

func TestExpiry(t *testing.T) {
	var b bank
	var now atomic.Int64
	now.Store(time.Now().UnixNano())
	clock := func() time.Time { return time.Unix(0, now.Load()) }
	r := newRig(t, turn.Config{Now: clock}, []tool.Tool{b.tool(t)},
		calls(pay("c1", "Ann", 50)), step{text: "Nobody answered."}, calls(pay("c1", "Ann", 60)), step{text: "Too late."})
	s, _, _ := r.ask("pay Ann")
	if n, err := r.runner.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	now.Add(int64(2 * time.Hour))
	if n, err := r.runner.Recover(t.Context()); n != 1 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
	evs, st := r.wait(s)
	if got, want := types(evs[5:]), "pending_question_end block_state text_delta text_end done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if status, _ := blockStatus(t, questions(st)[0]); status != "expired" || st.Status != event.StatusDone || b.list() != "" {
		t.Errorf("%s, %s, paid %s", status, st.Status, b.list())
	}
	if told := r.lastTold(); !strings.Contains(told[0], "EXPIRED") {
		t.Errorf("%q", told)
	}
	if reqs := r.model.requests(); reqs[1].ToolChoice != model.ToolNone {
		t.Error("tools were offered with nobody there")
	}
	// An answer that comes too late ends the question too.
	s, _, st = r.ask("pay Ann again")
	now.Add(int64(2 * time.Hour))
	_, err := r.answer(s.Msg, questions(st)[0].ID, "approve", "")
	wantCode(t, err, turn.CodeNotPaused)
	if _, st = r.wait(s); text(st) != "<confirm done>|Too late." || b.list() != "" {
		t.Errorf("%s, paid %s", text(st), b.list())
	}
}

func TestStopWhilePaused(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)), step{text: "Next."})
	s, before, st := r.ask("pay Ann")
	q := questions(st)[0]
	if stopped, err := r.runner.Stop(t.Context(), alice, s.Msg); !stopped || err != nil {
		t.Fatalf("%v, %v", stopped, err)
	}
	evs, st := r.wait(s)
	if got, want := types(evs[len(before):]), "pending_question_end block_state done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	m := r.record(s.Msg)
	if status, _ := blockStatus(t, questions(st)[0]); status != "cancelled" || st.Status != event.StatusCancelled || m.Status != event.StatusCancelled || m.Seq != st.Seq || st.Usage.InputTokens != 10 {
		t.Errorf("%s %s %s %+v", status, st.Status, m.Status, st.Usage)
	}
	_, err := r.answer(s.Msg, q.ID, "approve", "")
	wantCode(t, err, turn.CodeNotPaused)
	if stopped, err := r.runner.Stop(t.Context(), alice, s.Msg); stopped || err != nil {
		t.Errorf("stopped twice: %v, %v", stopped, err)
	}
	_, after := r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "and?"}))
	if after.Status != event.StatusDone || b.list() != "" {
		t.Errorf("%s, paid %s", after.Status, b.list())
	}
	validHistory(t, r.model.requests()[1].Messages)
}

// TestBranchesOfAPausedAnswer expects regenerating, editing and deleting to
// leave the question to its own branch.
func TestBranchesOfAPausedAnswer(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)), step{text: "Another way."}, step{text: "Edited."}, step{text: "Paid."})
	s, _, st := r.ask("pay Ann")
	q := questions(st)[0]
	_, again := r.wait(r.start(turn.Request{RegenerateOf: s.Msg}))
	_, edited := r.wait(r.start(turn.Request{EditOf: s.User, Text: "pay nobody"}))
	if text(again) != "Another way." || text(edited) != "Edited." {
		t.Errorf("%s, %s", text(again), text(edited))
	}
	if _, st = r.mustAnswer(s.Msg, q.ID, "approve", ""); text(st) != "<confirm done>|<metric done>|Paid." {
		t.Error(text(st))
	}
	r = newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)))
	s, _, st = r.ask("pay Ann")
	if err := r.store.DeleteConversation(t.Context(), alice, s.Conversation); err != nil {
		t.Fatal(err)
	}
	_, err := r.answer(s.Msg, questions(st)[0].ID, "approve", "")
	wantCode(t, err, turn.CodeNotFound)
	if n, err := r.runner.Recover(t.Context()); n != 0 || err != nil {
		t.Errorf("%d, %v", n, err)
	}
}

// TestEditedSecrets expects what a person typed into a secret field to reach
// the tool, and neither the model nor the disk.
func TestEditedSecrets(t *testing.T) {
	const pin = "4711-0815"
	ran := ""
	signs, err := tool.New(tool.Spec{
		Name: "sign", Description: "Sign.",
		Parameters: json.RawMessage(`{"type":"object","properties":{"doc":{"type":"string"},"pin":{"type":"string","writeOnly":true}},"additionalProperties":false}`),
		Ask: func(context.Context, json.RawMessage) (*tool.Ask, error) {
			return &tool.Ask{Prompt: "Sign?", Edit: true}, nil
		},
	}, func(_ context.Context, a struct {
		Doc string `json:"doc"`
		PIN string `json:"pin,omitempty"`
	}, out *tool.Out) error {
		ran = a.Doc + " with " + a.PIN
		return out.Metric(block.Metric{Items: []block.MetricItem{{Label: "Signed", Value: 1}}})
	})
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, turn.Config{}, []tool.Tool{signs}, calls(call("c1", "sign", `{"doc":"a"}`)), step{text: "Signed."}, step{text: "Yes."})
	s, _, st := r.ask("sign a")
	started, err := r.runner.Answer(t.Context(), turn.AnswerRequest{
		Owner: alice, Caller: tool.Caller{Tenant: "t1", User: "alice"}, Msg: s.Msg, Block: questions(st)[0].ID, Action: tool.Edit,
		Payload: json.RawMessage(`{"doc":"b","pin":"` + pin + `"}`), Values: json.RawMessage(`{"doc":"b"}`),
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, st = r.wait(started); text(st) != "<confirm done>|<metric done>|Signed." || ran != "b with "+pin {
		t.Errorf("%s, ran %q", text(st), ran)
	}
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "did it work?"}))
	asked, err := json.Marshal(r.model.requests())
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(asked), pin) || !strings.Contains(string(asked), `\"doc\":\"b\"`) && !strings.Contains(string(asked), `"doc":"b"`) {
		t.Errorf("the model was told %s", asked)
	}
	files, err := filepath.Glob(filepath.Join(r.dir, "*"))
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		if b, err := os.ReadFile(name); err != nil || strings.Contains(string(b), pin) {
			t.Errorf("%s holds the secret, %v", filepath.Base(name), err)
		}
	}
}

// TestAskThatFails expects no call to run whose tool could not say whether
// somebody must be asked, or whose question could not be shown.
func TestAskThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		ask  func(json.RawMessage) (*tool.Ask, error)
		told string
	}{
		"error":         {func(json.RawMessage) (*tool.Ask, error) { return nil, errBackend }, "DATA_FETCH_FAILED"},
		"panic":         {func(json.RawMessage) (*tool.Ask, error) { panic("bug") }, "TOOL_PANIC"},
		"unfit to show": {func(json.RawMessage) (*tool.Ask, error) { return &tool.Ask{Prompt: "?", Severity: "grave"}, nil }, "cannot_ask"},
		"its own words": {func(json.RawMessage) (*tool.Ask, error) {
			return nil, &tool.Error{Code: "LIMIT", Message: "The limit is 10."}
		}, "LIMIT The limit is 10."},
	} {
		t.Run(name, func(t *testing.T) {
			b := bank{ask: c.ask}
			r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)), step{text: "No."})
			_, _, st := r.ask("pay")
			if st.Status != event.StatusDone || b.list() != "" {
				t.Errorf("%s, paid %s", st.Status, b.list())
			}
			if told := r.lastTold(); !strings.Contains(told[0], c.told) {
				t.Errorf("%q, want %s", told, c.told)
			}
			if slices.ContainsFunc(st.Tools, func(a event.ToolActivity) bool { return a.Status != event.ToolError }) {
				t.Errorf("%+v", st.Tools)
			}
		})
	}
}

// TestForeignAnswer expects an answer to count only from the owner, and only
// for what was shown.
func TestForeignAnswer(t *testing.T) {
	var b bank
	r := newRig(t, turn.Config{}, []tool.Tool{b.tool(t)}, calls(pay("c1", "Ann", 50)), step{text: "Fine."})
	s, _, st := r.ask("pay Ann")
	q := questions(st)[0]
	_, err := r.runner.Answer(t.Context(), turn.AnswerRequest{Owner: store.Owner{Tenant: "t1", User: "bob"}, Msg: s.Msg, Block: q.ID, Action: "approve"})
	wantCode(t, err, turn.CodeNotFound)
	_, err = r.answer(s.Msg, "b_none", "approve", "")
	wantCode(t, err, turn.CodeNotFound)
	ts, err := r.store.TurnState(t.Context(), s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	was := ts.Data
	ts.Data = json.RawMessage(strings.ReplaceAll(string(was), `"args":{"to":"Ann","amount":50}`, `"args":{"to":"Eve","amount":900}`))
	if string(ts.Data) == string(was) {
		t.Fatalf("%s", was)
	}
	if err := r.store.PutTurnState(t.Context(), ts); err != nil {
		t.Fatal(err)
	}
	_, err = r.answer(s.Msg, q.ID, "approve", "")
	wantCode(t, err, turn.CodeInternal)
	if b.list() != "" {
		t.Errorf("paid %s", b.list())
	}
}

// TestReports expects what people did to be told once, at the next model call.
func TestReports(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "One."}, step{text: "Two."}, step{text: "Three."})
	s, _, _ := r.ask("hi")
	r.submitted(s)
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "and?"}))
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "and now?"}))
	for i, want := range []bool{false, true, false} {
		if got := strings.Contains(r.model.requests()[i].Messages[0].Content, "- submitted the form"); got != want {
			t.Errorf("call %d: %v", i, got)
		}
	}
}

// submitted is an action of the person that the next model call is told of.
func (r *rig) submitted(s turn.Started) {
	t, ctx := r.t, r.t.Context()
	t.Helper()
	call := store.ActionCall{ID: "x_1", Owner: alice, Conversation: s.Conversation, Msg: s.Msg, Block: "b_1", Action: "submit", Key: "k1", Status: store.CallRunning, Holder: "h", LeaseUntil: time.Now().Add(time.Minute), StartedAt: time.Now()}
	if _, err := r.store.ReserveAction(ctx, store.ActionReserve{Call: call}); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.store.FinishAction(ctx, store.ActionFinish{ID: "x_1", Holder: "h", Status: store.CallDone, HTTPStatus: 200, Report: "submitted the\nform", At: time.Now(),
		Audit:  store.AuditEntry{ID: "l_1", At: time.Now(), Tenant: "t1", User: "alice", Action: "submit", Decision: "allowed"},
		Answer: func(store.BlockState) ([]byte, error) { return []byte("{}"), nil }}); err != nil {
		t.Fatal(err)
	}
}
