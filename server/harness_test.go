package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// testModel answers by the last user message:
//
//	chart            a chart by a tool, then a sentence
//	form             a form by a tool, then a sentence
//	fail             the same with a tool that fails the first time
//	pay              a tool that asks before it runs, then a sentence
//	client           a tool of the client's, read_selection, then what it said
//	both             these two at once
//	hold             some text, then nothing until the turn is stopped
//	long N           N words
//	anything else    an echo
type testModel struct{}

func (testModel) Info() model.Info { return model.Info{Kind: "scripted", Name: "test-1"} }

func (testModel) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	question := ""
	for _, m := range req.Messages {
		if m.Role == model.RoleUser {
			question = m.Content
		}
	}
	resp := model.Response{Finish: model.FinishStop, Usage: model.Usage{InputTokens: 10, OutputTokens: 5}}
	say := func(text string) error {
		resp.Text += text
		return on(model.Delta{Text: text})
	}
	word, rest, _ := strings.Cut(question, " ")
	switch {
	case last.Role == model.RoleTool && (word == "client" || word == "both"):
		return resp, say("The client says: " + last.Content)
	case last.Role == model.RoleTool:
		return resp, say("East leads.")
	case word == "chart" || word == "fail" || word == "form":
		if err := say("Here you are:\n\n"); err != nil {
			return resp, err
		}
		name := map[string]string{"chart": "show_sales", "fail": "show_flaky", "form": "show_form"}[word]
		resp.Calls = []model.Call{{ID: "call_1", Name: name, Arguments: json.RawMessage(`{"quarter":"2026Q3"}`), Raw: `{"quarter":"2026Q3"}`}}
		resp.Finish = model.FinishToolCalls
		return resp, nil
	case word == "pay" || word == "client" || word == "both":
		if word != "client" {
			resp.Calls = append(resp.Calls, model.Call{ID: "call_pay", Name: "pay", Arguments: json.RawMessage(`{"quarter":"2026Q3"}`), Raw: `{"quarter":"2026Q3"}`})
		}
		if word != "pay" {
			resp.Calls = append(resp.Calls, model.Call{ID: "call_read", Name: "read_selection", Arguments: json.RawMessage(`{"max":3}`), Raw: `{"max":3}`})
		}
		resp.Finish = model.FinishToolCalls
		return resp, say("One moment.")
	case word == "hold":
		if err := say("Thinking"); err != nil {
			return resp, err
		}
		<-ctx.Done()
		return resp, ctx.Err()
	case word == "long":
		n, err := strconv.Atoi(rest)
		if err != nil {
			return resp, err
		}
		for i := range n {
			if err := say(fmt.Sprintf("word%d ", i)); err != nil {
				return resp, err
			}
		}
		return resp, nil
	}
	return resp, say("You said: " + question)
}

type quarter struct {
	Quarter string `json:"quarter" pattern:"^[0-9]{4}Q[1-4]$"`
}

func chartOf(region string) block.Chart {
	return block.Chart{
		Type: "bar", Title: "Sales", X: &block.ChartX{Field: "region"},
		Series: []block.ChartSeries{{Field: "amount", Name: "Sales"}},
		Data:   []map[string]any{{"region": region, "amount": 320}, {"region": "南区", "amount": 210.5}},
	}
}

func testTools(t testing.TB) []tool.Tool {
	t.Helper()
	var runs atomic.Int32
	make := func(name string, run func(context.Context, quarter, *tool.Out) error) tool.Tool {
		tl, err := tool.New(tool.Spec{
			Name: name, Description: "Show sales.", Refreshable: true,
			Title: map[string]string{"": "Looked up sales"},
			Block: &tool.BlockSpec{Type: "chart", Title: "Sales", Height: 320},
		}, run)
		if err != nil {
			t.Fatal(err)
		}
		return tl
	}
	chart := func(_ context.Context, _ quarter, out *tool.Out) error {
		out.Actions(
			block.Action{ID: "explain", Label: "Explain", Kind: block.ActionPrompt, Prompt: "Why is {{region}} at {{ amount }} in {{quarter}}?", Params: map[string]json.RawMessage{"quarter": json.RawMessage(`"2026Q3"`)}},
			block.Action{ID: "plain", Label: "More of this", Kind: block.ActionPrompt, Prompt: "Tell me more."},
			block.Action{ID: "docs", Label: "Docs", Kind: block.ActionLink, Href: "https://docs.example.com/"},
		)
		return out.Chart(chartOf("East"))
	}
	form, err := tool.New(tool.Spec{Name: "show_form", Description: "Show a form."}, func(_ context.Context, _ quarter, out *tool.Out) error {
		out.Actions(
			block.Action{ID: "submit", Action: "export", Kind: block.ActionAPI},
			block.Action{ID: "pay", Kind: block.ActionAPI},
			block.Action{ID: "job", Kind: block.ActionAPI},
			block.Action{ID: "guarded", Kind: block.ActionAPI},
			block.Action{ID: "rated", Kind: block.ActionAPI},
			block.Action{ID: "broken", Kind: block.ActionAPI},
		)
		return out.Block("form", 1, block.Meta{Title: "Export"}, json.RawMessage(`{"title":"Export","schema":{"type":"object","required":["name"],"properties":{"name":{"type":"string","maxLength":40}}}}`))
	})
	if err != nil {
		t.Fatal(err)
	}
	pay, err := tool.New(tool.Spec{
		Name: "pay", Description: "Pay.", Title: map[string]string{"": "Pay"},
		Ask: func(context.Context, json.RawMessage) (*tool.Ask, error) {
			return &tool.Ask{Prompt: "Pay for the quarter?", Severity: "warning"}, nil
		},
	}, func(_ context.Context, q quarter, out *tool.Out) error {
		out.Remark("paid: %s", q.Quarter)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return []tool.Tool{
		form,
		pay,
		make("show_sales", chart),
		make("show_flaky", func(ctx context.Context, q quarter, out *tool.Out) error {
			if runs.Add(1) == 1 {
				return errors.New("connection refused")
			}
			return chart(ctx, q, out)
		}),
	}
}

// testAuth takes the bearer token for the user's name.
type testAuth struct{}

func (testAuth) Mode() string { return "test" }

func (testAuth) Authenticate(r *http.Request) (tool.Caller, store.Owner, error) {
	user := bearer(r)
	if user == "" {
		return tool.Caller{}, store.Owner{}, errNoCredentials
	}
	return tool.Caller{Tenant: "t1", User: user}, store.Owner{Tenant: "t1", User: user}, nil
}

type rig struct {
	t      testing.TB
	srv    *httptest.Server
	store  store.Store
	runner *turn.Runner
	// user sends the requests.
	user string
	spec *spec
}

// newRig runs a whole server on loopback.
func newRig(t testing.TB, change ...func(*Config)) *rig {
	t.Helper()
	st := memory.New()
	return newRigOn(t, st, change...)
}

func newRigOn(t testing.TB, st store.Store, change ...func(*Config)) *rig {
	t.Helper()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	tools, err := tool.NewSet(testTools(t)...)
	if err != nil {
		t.Fatal(err)
	}
	actions, err := action.NewRegistry(testActions()...)
	if err != nil {
		t.Fatal(err)
	}
	metrics := NewMetrics()
	files := &testFiles{}
	runner, err := turn.New(turn.Config{
		Store: st, Model: testModel{}, Tools: tools, Registry: reg, Observer: metrics, Actions: actions,
		Limits: turn.Limits{Coalesce: -1}, Files: files, OutFiles: files, ClientTools: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	gateway := newGateway(t, st, runner, reg, actions, metrics)
	cfg := Config{
		Runner: runner, Actions: gateway, Store: st, Registry: reg, Auth: testAuth{}, Model: testModel{}.Info(), Metrics: metrics,
		Limits: Limits{RequestsPerSecond: -1, TurnsPerMinute: -1, StreamsPerUser: -1},
	}
	for _, c := range change {
		c(&cfg)
	}
	files.lib = cfg.Files
	h, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{t: t, srv: httptest.NewServer(h), store: st, runner: runner, user: "alice", spec: loadSpec(t)}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
		defer cancel()
		_ = gateway.Close(ctx)
		_ = runner.Shutdown(ctx)
		r.srv.CloseClientConnections()
		r.srv.Close()
		st.Close()
	})
	return r
}

func newGateway(t testing.TB, st store.Store, runner *turn.Runner, reg *block.Registry, actions *action.Registry, metrics *Metrics) *action.Gateway {
	t.Helper()
	ring, err := signing.New(signing.Generate())
	if err != nil {
		t.Fatal(err)
	}
	g, err := action.New(action.Config{
		Store: st, Turns: runner, Actions: actions, Blocks: reg, Signer: ring, Observer: metrics,
		Limits: action.Limits{Payload: 64 << 10, Backoff: time.Millisecond},
	})
	if err != nil {
		t.Fatal(err)
	}
	return g
}

// as returns the rig with another user.
func (r *rig) as(user string) *rig {
	c := *r
	c.user = user
	return &c
}

// request sends a request; headers come in pairs. A body that is no string is
// sent as JSON.
func (r *rig) request(method, path string, body any, headers ...string) *http.Response {
	r.t.Helper()
	var in io.Reader
	switch b := body.(type) {
	case nil:
	case string:
		in = strings.NewReader(b)
	default:
		raw, err := json.Marshal(b)
		if err != nil {
			r.t.Fatal(err)
		}
		in = bytes.NewReader(raw)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Minute)
	r.t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, method, r.srv.URL+path, in)
	if err != nil {
		r.t.Fatal(err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.user != "" {
		req.Header.Set("Authorization", "Bearer "+r.user)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		if headers[i+1] == "-" {
			req.Header.Del(headers[i])
			continue
		}
		req.Header[http.CanonicalHeaderKey(headers[i])] = []string{headers[i+1]}
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { res.Body.Close() })
	return res
}

// body reads an answer and holds it against the description.
func (r *rig) body(res *http.Response) []byte {
	r.t.Helper()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	r.spec.check(r.t, res, b)
	return b
}

// call sends a request, wants a status and decodes the answer.
func want[T any](r *rig, status int, method, path string, body any, headers ...string) T {
	r.t.Helper()
	res := r.request(method, path, body, headers...)
	b := r.body(res)
	if res.StatusCode != status {
		r.t.Fatalf("%s %s: status %d, want %d: %s", method, path, res.StatusCode, status, b)
	}
	var v T
	if len(b) > 0 {
		if err := json.Unmarshal(b, &v); err != nil {
			r.t.Fatalf("%s %s: %v: %s", method, path, err, b)
		}
	}
	return v
}

// refused sends a request and wants an error.
func (r *rig) refused(status int, code, method, path string, body any, headers ...string) map[string]any {
	r.t.Helper()
	e := want[errorBody](r, status, method, path, body, headers...)
	if e.Error.Code != code {
		r.t.Errorf("%s %s: code %s, want %s (%s)", method, path, e.Error.Code, code, e.Error.Message)
	}
	return e.Error.Details
}

// stream is an event stream as read so far.
type stream struct {
	res  *http.Response
	raw  bytes.Buffer
	scan *bufio.Reader
}

func (r *rig) stream(res *http.Response) *stream {
	r.t.Helper()
	if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
		b, _ := io.ReadAll(res.Body)
		r.t.Fatalf("no stream: %d %s: %s", res.StatusCode, res.Header.Get("Content-Type"), b)
	}
	r.spec.check(r.t, res, nil)
	return &stream{res: res, scan: bufio.NewReader(res.Body)}
}

// frame reads one frame: its id, event and data. ok is false at the end.
func (s *stream) frame() (id, name, data string, ok bool) {
	used := false
	for {
		line, err := s.scan.ReadString('\n')
		if err != nil {
			return "", "", "", false
		}
		s.raw.WriteString(line)
		line = strings.TrimSuffix(line, "\n")
		switch {
		case line == "" && used:
			return id, name, data, true
		case line == "", strings.HasPrefix(line, ":"):
		default:
			k, v, _ := strings.Cut(line, ": ")
			used = true
			switch k {
			case "id":
				id = v
			case "event":
				name = v
			case "data":
				data = v
			}
		}
	}
}

// event reads up to the next event of one of the names.
func (r *rig) until(s *stream, names ...string) (seq uint64, data json.RawMessage) {
	r.t.Helper()
	for {
		id, name, raw, ok := s.frame()
		if !ok {
			r.t.Fatalf("the stream ended before %v:\n%s", names, s.raw.String())
		}
		for _, want := range names {
			if name == want {
				seq, err := strconv.ParseUint(id, 10, 64)
				if err != nil {
					r.t.Fatal(err)
				}
				return seq, json.RawMessage(raw)
			}
		}
	}
}

// rest reads a stream to its end and returns everything that came.
func (r *rig) rest(s *stream) string {
	r.t.Helper()
	for {
		if _, _, _, ok := s.frame(); !ok {
			return s.raw.String()
		}
	}
}

// fold reads a stream to its end as a client does.
func (r *rig) fold(s *stream) event.State {
	r.t.Helper()
	return foldText(r.t, r.rest(s))
}

func foldText(t testing.TB, raw string) event.State {
	t.Helper()
	f := event.NewFolder("")
	for part := range strings.SplitSeq(raw, "\n\n") {
		var ev event.Event
		for line := range strings.SplitSeq(part, "\n") {
			if v, ok := strings.CutPrefix(line, "event: "); ok {
				ev.Type = event.Type(v)
			}
			if v, ok := strings.CutPrefix(line, "data: "); ok {
				var env struct {
					MsgID, BlockID string
					Seq            uint64
					Group          int
					At             int64
					Data           json.RawMessage
				}
				if err := json.Unmarshal([]byte(v), &env); err != nil {
					t.Fatalf("%v: %s", err, v)
				}
				ev.Msg, ev.Block, ev.Seq, ev.Group, ev.At, ev.Data = env.MsgID, env.BlockID, env.Seq, env.Group, env.At, env.Data
			}
		}
		if ev.Type != "" {
			f.Apply(ev)
		}
	}
	return f.State()
}

// ask runs a turn and returns its stream.
func (r *rig) ask(conversation, text string, headers ...string) *stream {
	r.t.Helper()
	body := map[string]any{"input": map[string]string{"text": text}}
	if conversation != "" {
		body["conversationId"] = conversation
	}
	return r.stream(r.request("POST", "/v1/chat", body, headers...))
}

func (s *stream) msg() string          { return s.res.Header.Get("X-Message-Id") }
func (s *stream) conversation() string { return s.res.Header.Get("X-Conversation-Id") }
func (s *stream) userMsg() string      { return s.res.Header.Get("X-User-Message-Id") }

// spec is the description that answers are held against.
type spec struct {
	doc     map[string]any
	raw     json.RawMessage
	mu      sync.Mutex
	schemas map[string]*block.Schema
	seen    map[string]bool
}

var theSpec = sync.OnceValues(func() (*spec, error) {
	raw, err := description("test")()
	if err != nil {
		return nil, err
	}
	s := &spec{raw: raw, schemas: map[string]*block.Schema{}, seen: map[string]bool{}}
	return s, json.Unmarshal(raw, &s.doc)
})

func loadSpec(t testing.TB) *spec {
	t.Helper()
	s, err := theSpec()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// operation finds the described operation of a request.
func (s *spec) operation(method, path string) (template string, op map[string]any) {
	paths := s.doc["paths"].(map[string]any)
	if item, ok := paths[path].(map[string]any); ok {
		op, _ := item[strings.ToLower(method)].(map[string]any)
		return path, op
	}
	parts := strings.Split(path, "/")
	for tmpl, item := range paths {
		want := strings.Split(tmpl, "/")
		if len(want) != len(parts) {
			continue
		}
		match := true
		for i := range want {
			match = match && (want[i] == parts[i] || strings.HasPrefix(want[i], "{") && parts[i] != "")
		}
		if match {
			op, _ := item.(map[string]any)[strings.ToLower(method)].(map[string]any)
			if op != nil {
				return tmpl, op
			}
		}
	}
	return "", nil
}

// check holds an answer against the description: its status, its content type
// and, for JSON, its schema.
func (s *spec) check(t testing.TB, res *http.Response, body []byte) {
	t.Helper()
	method, path := res.Request.Method, res.Request.URL.Path
	tmpl, op := s.operation(method, path)
	if op == nil {
		return // no route: the page and what is not found
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	status := strconv.Itoa(res.StatusCode)
	where := method + " " + tmpl + " " + status
	s.seen[where] = true
	answer, ok := op["responses"].(map[string]any)[status].(map[string]any)
	if !ok {
		t.Errorf("%s is not described: %s", where, body)
		return
	}
	if ref, ok := answer["$ref"].(string); ok {
		name := ref[strings.LastIndexByte(ref, '/')+1:]
		answer = s.doc["components"].(map[string]any)["responses"].(map[string]any)[name].(map[string]any)
	}
	content, _ := answer["content"].(map[string]any)
	if len(content) == 0 {
		if len(body) > 0 {
			t.Errorf("%s has a body: %s", where, body)
		}
		return
	}
	kind, _, _ := strings.Cut(res.Header.Get("Content-Type"), ";")
	media, ok := content[kind].(map[string]any)
	if _, any := content["*/*"]; any {
		return
	}
	if !ok {
		t.Errorf("%s: content type %q is not described", where, kind)
		return
	}
	if kind != "application/json" || body == nil {
		return
	}
	key := where + kind
	schema := s.schemas[key]
	if schema == nil {
		whole := map[string]any{"components": s.doc["components"], "allOf": []any{media["schema"]}}
		raw, err := json.Marshal(whole)
		if err != nil {
			t.Fatal(err)
		}
		if schema, err = block.CompileSchema("openapi", raw); err != nil {
			t.Fatalf("%s: %v", where, err)
		}
		s.schemas[key] = schema
	}
	if err := schema.Validate(body); err != nil {
		t.Errorf("%s does not fit its description: %v\n%s", where, err, body)
	}
}
