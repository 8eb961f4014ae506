package action

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// showModel calls the tool "show" once, with the question as its argument, or
// the tool that the question names; then it says a word.
type showModel struct{}

func (showModel) Info() model.Info { return model.Info{Kind: "scripted", Name: "test-1"} }

func (showModel) Stream(_ context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != model.RoleUser {
		return model.Response{Finish: model.FinishStop, Text: "Here."}, on(model.Delta{Text: "Here."})
	}
	args, err := json.Marshal(map[string]string{"what": last.Content})
	if err != nil {
		return model.Response{}, err
	}
	name := "show"
	if last.Content == "risk" || last.Content == "question" {
		name = last.Content
	}
	return model.Response{
		Finish: model.FinishToolCalls,
		Calls:  []model.Call{{ID: "call_1", Name: name, Arguments: args, Raw: string(args)}},
	}, nil
}

const plainForm = `{"title":"Export","schema":{"type":"object","properties":{"name":{"type":"string"}}}}`

// shown are the blocks of the tool, by the question that asks for them.
var shown = map[string]struct {
	typ     string
	payload string
	actions []block.Action
	state   string
}{
	"form": {
		typ: "form",
		payload: `{"title":"Export","schema":{"type":"object","required":["name"],"properties":{
			"name":{"type":"string","maxLength":40},"pin":{"type":"string"}}},"uiSchema":{"pin":{"ui:widget":"password"}}}`,
		actions: []block.Action{{ID: "submit", Action: "export", Kind: block.ActionAPI}},
	},
	"form_look": {
		typ: "form", payload: plainForm, actions: []block.Action{{ID: "submit", Action: "look", Kind: block.ActionAPI}},
	},
	"form_idempotent": {
		typ: "form", payload: plainForm, actions: []block.Action{{ID: "submit", Action: "touch", Kind: block.ActionAPI}},
	},
	"table": {
		typ:     "table",
		payload: `{"columns":[{"field":"order","label":"Order"}],"rows":[{"order":"A1"},{"order":"A2"}]}`,
		actions: []block.Action{
			{ID: "touch", Kind: block.ActionAPI},
			{ID: "pay", Kind: block.ActionAPI},
			{ID: "add", Action: "append", Kind: block.ActionAPI},
			{ID: "again", Action: "update", Kind: block.ActionAPI},
			{ID: "fixed", Action: "touch", Kind: block.ActionAPI, Params: map[string]json.RawMessage{"order": json.RawMessage(`"A2"`)}},
			{ID: "guarded", Kind: block.ActionAPI},
			{ID: "rated", Kind: block.ActionAPI},
			{ID: "job", Kind: block.ActionAPI},
			{ID: "look", Kind: block.ActionAPI},
			{ID: "own", Kind: block.ActionAPI},
			{ID: "ask", Kind: block.ActionPrompt, Label: "Ask", Prompt: "What of {{order}}?"},
			{ID: "docs", Label: "Docs", Kind: block.ActionLink, Href: "https://docs.example.com/"},
			{ID: "copy", Label: "Copy", Kind: block.ActionLocal},
		},
	},
	"locked": {
		typ: "table", payload: `{"columns":[{"field":"a"}],"rows":[]}`, state: `{"locked":true,"result":7}`,
		actions: []block.Action{{ID: "touch", Kind: block.ActionAPI}, {ID: "ask", Kind: block.ActionPrompt, Label: "Ask"}},
	},
}

// clock is time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

type rig struct {
	t      testing.TB
	store  store.Store
	runner *turn.Runner
	reg    *Registry
	blocks *block.Registry
	ring   *signing.Ring
	clock  *clock
	seen   *seen
	g      *Gateway
	user   string
	// risky and question are tools that ask first.
	risky, question *asking
}

// asking is a tool that asks a person before it runs, and notes its runs.
type asking struct {
	name string
	ask  *tool.Ask

	// hold keeps a run from ending; nil lets it.
	hold chan struct{}

	mu   sync.Mutex
	runs []string
}

func (a *asking) Spec() tool.Spec {
	return tool.Spec{
		Name: a.name, Description: "Ask.", Parameters: json.RawMessage(`{"type":"object","properties":{"what":{"type":"string","maxLength":20}},"required":["what"],"additionalProperties":false}`),
		Ask: func(context.Context, json.RawMessage) (*tool.Ask, error) { return a.ask, nil },
	}
}

func (a *asking) Run(ctx context.Context, args json.RawMessage, out *tool.Out) error {
	answer, _ := tool.AnswerFrom(ctx)
	a.mu.Lock()
	a.runs = append(a.runs, string(args)+string(answer.Value))
	a.mu.Unlock()
	if a.hold != nil {
		<-a.hold
	}
	out.Summary("Done.")
	return nil
}

func (a *asking) ran() []string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return append([]string{}, a.runs...)
}

// seen are the outcomes that metrics were told.
type seen struct {
	mu   sync.Mutex
	list []string
}

func (s *seen) Action(name, outcome string, _ time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.list = append(s.list, name+"="+outcome)
}

func (s *seen) last() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.list[len(s.list)-1]
}

func newRig(t testing.TB, defs ...Def) *rig {
	t.Helper()
	reg, err := NewRegistry(defs...)
	if err != nil {
		t.Fatal(err)
	}
	blocks, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	show, err := tool.New(tool.Spec{Name: "show", Description: "Show."}, func(_ context.Context, a struct {
		What string `json:"what"`
	}, out *tool.Out) error {
		s, ok := shown[a.What]
		if !ok {
			return errors.New("nothing of that name")
		}
		h, err := out.Start(s.typ, 1, block.Meta{Title: a.What})
		if err != nil {
			return err
		}
		f := tool.Finished{Payload: json.RawMessage(s.payload), Actions: s.actions}
		if s.state != "" {
			f.State = json.RawMessage(s.state)
		}
		return out.Finish(h, s.typ, 1, f)
	})
	if err != nil {
		t.Fatal(err)
	}
	risky := &asking{name: "risk", ask: &tool.Ask{Prompt: "Run it?", Edit: true}}
	question := &asking{name: "question", ask: &tool.Ask{Prompt: "Which?", Question: &tool.Question{Options: []block.QuestionOption{{ID: "a", Label: "A"}, {ID: "b", Label: "B"}}}}}
	tools, err := tool.NewSet(show, risky, question)
	if err != nil {
		t.Fatal(err)
	}
	ring, err := signing.New(signing.Generate())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{
		t: t, store: memory.New(), reg: reg, blocks: blocks, ring: ring, user: "ann",
		clock: &clock{t: time.Now()}, seen: &seen{}, risky: risky, question: question,
	}
	if r.runner, err = turn.New(turn.Config{
		Store: r.store, Model: showModel{}, Tools: tools, Registry: blocks, Actions: reg, Limits: turn.Limits{Coalesce: -1},
	}); err != nil {
		t.Fatal(err)
	}
	r.g = r.gateway(r.store)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := r.g.Close(ctx); err != nil {
			t.Error(err)
		}
		_ = r.runner.Shutdown(ctx)
		_ = r.store.Close()
	})
	return r
}

// gateway is a process with the same store.
func (r *rig) gateway(st store.Store) *Gateway {
	r.t.Helper()
	g, err := New(Config{
		Store: st, Turns: r.runner, Actions: r.reg, Blocks: r.blocks, Signer: r.ring, Now: r.clock.now, Observer: r.seen,
		Limits: Limits{Backoff: time.Millisecond, Wait: time.Minute},
	})
	if err != nil {
		r.t.Fatal(err)
	}
	return g
}

func (r *rig) as(user string) *rig {
	c := *r
	c.user = user
	return &c
}

func (r *rig) owner() store.Owner { return store.Owner{Tenant: "t1", User: r.user} }

func (r *rig) caller() tool.Caller {
	return tool.Caller{Tenant: "t1", User: r.user, Token: "secret-token", Lang: "en", Claims: map[string]any{"roles": []any{"staff"}}}
}

// show makes a message with one of the shown blocks and returns it.
func (r *rig) show(what string) store.Message {
	r.t.Helper()
	st, err := r.runner.Start(context.Background(), turn.Request{Owner: r.owner(), Caller: r.caller(), Text: what})
	if err != nil {
		r.t.Fatal(err)
	}
	return r.settled(st.Msg)
}

// settled waits until nothing writes to a message.
func (r *rig) settled(msg string) store.Message {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		m, err := r.store.Message(context.Background(), r.owner(), msg)
		if err != nil {
			r.t.Fatal(err)
		}
		last, open, err := r.store.Last(context.Background(), msg)
		if err == nil && !open && m.Status != event.StatusRunning && m.Seq == last {
			return m
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s is not settled: %s seq %d of %d, open %v", msg, m.Status, m.Seq, last, open)
		}
		time.Sleep(time.Millisecond)
	}
}

// logged waits until the log has the states of a message's blocks.
func (r *rig) logged(msg string) store.Message {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		states, err := r.store.BlockStates(context.Background(), r.owner(), msg)
		if err != nil {
			r.t.Fatal(err)
		}
		behind := false
		for _, st := range states {
			behind = behind || st.Rev > st.Logged
		}
		if !behind {
			return r.settled(msg)
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("the log of %s is behind: %+v", msg, states)
		}
		time.Sleep(time.Millisecond)
	}
}

// blockOf is the block that the tool showed.
func blockOf(t testing.TB, m store.Message) block.Block {
	t.Helper()
	for _, b := range m.Blocks {
		if b.Type != "text" {
			return b
		}
	}
	t.Fatalf("no block in %+v", m.Blocks)
	return block.Block{}
}

var keys struct {
	sync.Mutex
	n int
}

func newKey() string {
	keys.Lock()
	defer keys.Unlock()
	keys.n++
	return fmt.Sprintf("key-%06d", keys.n)
}

// press is a request for an action of a message's block.
func (r *rig) press(m store.Message, act, payload string) Request {
	r.t.Helper()
	return Request{
		Owner: r.owner(), Caller: r.caller(), Msg: m.ID, Block: blockOf(r.t, m).ID, Action: act,
		Payload: json.RawMessage(payload), Key: newKey(), TraceID: "0123456789abcdef0123456789abcdef",
	}
}

type answered struct {
	Status string
	Result json.RawMessage
	Block  *struct {
		ID    string
		Rev   int
		State map[string]any
	}
	MsgID, ConversationID, UserMessageID string
	AfterSeq                             *uint64
	Feedback                             *block.Feedback
	TraceID                              string
	Error                                *struct {
		Code, Message string
		Retryable     bool
		Details       map[string]any
	}
}

func (r *rig) do(req Request) (Answer, answered, error) {
	r.t.Helper()
	a, err := r.g.Do(context.Background(), req)
	var body answered
	if err == nil {
		if err := json.Unmarshal(a.Body, &body); err != nil {
			r.t.Fatalf("%v: %s", err, a.Body)
		}
	}
	return a, body, err
}

// done wants an action to be done.
func (r *rig) done(req Request) answered {
	r.t.Helper()
	a, body, err := r.do(req)
	if err != nil || a.Status != 200 || body.Status != "done" {
		r.t.Fatalf("%s: %v, status %d %s", req.Action, err, a.Status, a.Body)
	}
	return body
}

// refused wants a refusal with a code.
func (r *rig) refused(code string, req Request) *Error {
	r.t.Helper()
	_, err := r.g.Do(context.Background(), req)
	if codeOf(err) != code || err == nil {
		r.t.Fatalf("%s: %v, want %s", req.Action, err, code)
	}
	var own *Error
	errors.As(err, &own)
	return own
}

// audit are the decisions about a conversation, oldest first.
func (r *rig) audit(conversation string) []string {
	r.t.Helper()
	list, _, err := r.store.Audit(context.Background(), store.AuditQuery{Owner: r.owner(), Conversation: conversation, Limit: 1000})
	if err != nil {
		r.t.Fatal(err)
	}
	var out []string
	for _, e := range list {
		out = append(out, e.Decision+" "+e.Outcome)
	}
	return out
}

func same(a, b []byte) bool { return bytes.Equal(a, b) }
