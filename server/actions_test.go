package server

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

func testActions() []action.Def {
	never := false
	none := action.Confirm{Level: action.LevelNone}
	result := func(_ context.Context, c action.Call, _ *tool.Out) (action.Result, error) {
		return action.Result{Value: map[string]string{"call": c.ID, "trace": c.TraceID}}, nil
	}
	return []action.Def{
		{
			Name: "export", Effect: action.Write, Confirm: action.Confirm{Text: action.Words{"": "Export it?", "zh": "确认导出？"}},
			Label: action.Words{"": "Export", "zh": "导出"}, Feedback: action.Feedback{Success: action.Words{"": "On its way.", "zh": "正在导出。"}}, Run: result,
		},
		{Name: "pay", Effect: action.Write, Once: &never, Confirm: action.Confirm{Level: action.LevelToken, Text: action.Words{"": "Pay?"}}, Run: result, Schema: json.RawMessage(`{"type":"object"}`)},
		{
			Name: "job", Effect: action.Write, Once: &never, Background: true, Confirm: none, Schema: json.RawMessage(`{"type":"object"}`),
			Run: func(_ context.Context, _ action.Call, out *tool.Out) (action.Result, error) {
				return action.Result{}, out.Table(block.Table{Columns: []block.TableColumn{{Field: "a", Label: "A"}}, Rows: []block.Row{{"a": "made"}}})
			},
		},
		{
			Name: "guarded", Effect: action.Read, Once: &never, Run: result, Schema: json.RawMessage(`{"type":"object"}`),
			Permit: func(context.Context, tool.Caller) error { return errors.New("no") },
		},
		{Name: "rated", Effect: action.Read, Once: &never, PerMinute: 1, Run: result, Schema: json.RawMessage(`{"type":"object"}`)},
		{
			Name: "broken", Effect: action.Write, Once: &never, Confirm: none, Schema: json.RawMessage(`{"type":"object"}`),
			Run: func(context.Context, action.Call, *tool.Out) (action.Result, error) {
				return action.Result{}, &tool.Error{Message: "The service refused this."}
			},
		},
	}
}

// pressed is a button on a block, as a client sends it.
type pressed struct {
	r       *rig
	msg, b  string
	action  string
	key     string
	payload any
	rev     int
	confirm string
}

func (p pressed) body() map[string]any {
	m := map[string]any{"msgId": p.msg, "blockId": p.b, "actionId": p.action, "idempotencyKey": p.key}
	if p.payload != nil {
		m["payload"] = p.payload
	}
	if p.rev != 0 {
		m["rev"] = p.rev
	}
	if p.confirm != "" {
		m["confirmToken"] = p.confirm
	}
	return m
}

var pressKeys = struct {
	sync.Mutex
	n int
}{}

func pressKey() string {
	pressKeys.Lock()
	defer pressKeys.Unlock()
	pressKeys.n++
	return fmt.Sprintf("press-%06d", pressKeys.n)
}

// form shows a form and returns its submit button.
func (r *rig) form() pressed {
	r.t.Helper()
	s := r.ask("", "form")
	st := r.fold(s)
	r.settled(s.msg())
	for _, b := range st.Blocks {
		if b.Type == "form" {
			return pressed{r: r, msg: s.msg(), b: b.ID, action: "submit", key: pressKey(), payload: map[string]any{"name": "all"}}
		}
	}
	r.t.Fatalf("no form in %+v", st.Blocks)
	return pressed{}
}

type actionDone struct {
	Status string
	Result map[string]string
	Block  struct {
		ID    string
		Rev   int
		State map[string]any
	}
	MsgID, ConversationID string
	AfterSeq              *uint64
	Feedback              *block.Feedback
	TraceID               string
}

func TestAPIAction(t *testing.T) {
	r := newRig(t)
	p := r.form()
	// The button is complete, in the reader's language.
	zh := want[messageBody](r, 200, "GET", "/v1/messages/"+p.msg, nil)
	for _, b := range zh.Blocks {
		if b.Type == "form" && (b.Actions[0].Label != "Export" || b.Actions[0].Confirm != "Export it?") {
			t.Errorf("action %+v", b.Actions[0])
		}
	}
	// Two pages are open: one follows the message.
	other := r.as("alice")
	const trace = "00-aaaabbbbccccddddeeeeffff00001111-aaaabbbbccccdddd-01"
	res := r.request("POST", "/v1/chat/actions", p.body(), "Traceparent", trace)
	first := r.body(res)
	var got actionDone
	if err := json.Unmarshal(first, &got); err != nil || res.StatusCode != 200 || res.Header.Get("Idempotency-Replayed") != "" {
		t.Fatalf("%d %s", res.StatusCode, first)
	}
	if got.Status != "done" || got.TraceID != "aaaabbbbccccddddeeeeffff00001111" || got.Result["trace"] != got.TraceID || got.Feedback.SuccessText != "On its way." || got.Block.State["locked"] != true {
		t.Errorf("answer %s", first)
	}
	// Byte for byte again, also by the header alone and in quotes.
	res = r.request("POST", "/v1/chat/actions", p.body())
	if b := r.body(res); string(b) != string(first) || res.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("replay %s", b)
	}
	byHeader := p.body()
	delete(byHeader, "idempotencyKey")
	for _, h := range []string{p.key, `"` + p.key + `"`} {
		if b := r.body(r.request("POST", "/v1/chat/actions", byHeader, "Idempotency-Key", h)); string(b) != string(first) {
			t.Errorf("by header: %s", b)
		}
	}
	r.refused(400, "invalid_request", "POST", "/v1/chat/actions", p.body(), "Idempotency-Key", "another-key")
	r.refused(400, "invalid_request", "POST", "/v1/chat/actions", byHeader)

	// The other page locks: by the message at once, by the log soon.
	m := want[messageBody](other, 200, "GET", "/v1/messages/"+p.msg, nil)
	for _, b := range m.Blocks {
		if b.ID == p.b && !strings.Contains(string(b.State), `"locked":true`) {
			t.Errorf("state %s", b.State)
		}
	}
	deadline := time.Now().Add(time.Minute)
	for {
		log := other.rest(other.stream(other.request("GET", "/v1/messages/"+p.msg+"/events?after=0", nil)))
		if strings.Contains(log, "event: block_state") && strings.Contains(log, `"status":"done"`) {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("no block_state in the log:\n%s", log)
		}
		time.Sleep(5 * time.Millisecond)
	}
	second := p
	second.key = pressKey()
	d := other.refused(409, "already_submitted", "POST", "/v1/chat/actions", second.body())
	if d["result"].(map[string]any)["call"] != got.Result["call"] {
		t.Errorf("details %v", d)
	}
	edited := p
	edited.payload = map[string]any{"name": "none"}
	r.refused(422, "idempotency_conflict", "POST", "/v1/chat/actions", edited.body())
}

// Every refusal has its status.
func TestActionStatuses(t *testing.T) {
	r := newRig(t)
	p := r.form()
	with := func(change func(*pressed)) map[string]any {
		c := p
		c.key = pressKey()
		change(&c)
		return c.body()
	}
	d := r.refused(400, "action_payload_invalid", "POST", "/v1/chat/actions", with(func(c *pressed) { c.payload = map[string]any{"name": 7} }))
	if v := d["violations"].([]any)[0].(map[string]any); v["path"] != "/name" || v["message"] == "" {
		t.Errorf("violations %v", d)
	}
	r.refused(404, "action_not_found", "POST", "/v1/chat/actions", with(func(c *pressed) { c.action = "export" }))
	r.refused(404, "action_not_found", "POST", "/v1/chat/actions", with(func(c *pressed) { c.b = "b_none" }))
	r.refused(403, "action_forbidden", "POST", "/v1/chat/actions", with(func(c *pressed) { c.action = "guarded" }))
	r.refused(413, "request_too_large", "POST", "/v1/chat/actions", with(func(c *pressed) { c.payload = map[string]any{"name": strings.Repeat("x", 65<<10)} }))
	stale := r.refused(412, "stale_block", "POST", "/v1/chat/actions", with(func(c *pressed) { c.rev = 4 }))
	if b := stale["block"].(map[string]any); b["id"] != p.b || b["payload"] == nil {
		t.Errorf("block %v", stale)
	}
	// A reader that cannot draw forms gets it as it reads it.
	res := r.request("POST", "/v1/chat/actions", with(func(c *pressed) { c.rev = 4 }), "X-Blocks", "chart@1")
	if b := string(r.body(res)); !strings.Contains(b, `"type":"text"`) {
		t.Errorf("degraded %s", b)
	}
	r.refused(400, "invalid_request", "POST", "/v1/chat/actions", with(func(c *pressed) { c.rev = -1 }))
	bad := with(func(*pressed) {})
	bad["traceId"] = "xyz"
	r.refused(400, "invalid_request", "POST", "/v1/chat/actions", bad)

	pay := func(token string) map[string]any {
		return with(func(c *pressed) { c.action, c.confirm = "pay", token })
	}
	d = r.refused(428, "confirmation_required", "POST", "/v1/chat/actions", pay(""))
	if d["text"] != "Pay?" || d["reason"] != "missing" || d["expiresAt"].(float64) < float64(time.Now().UnixMilli()) {
		t.Errorf("details %v", d)
	}
	if got := want[actionDone](r, 200, "POST", "/v1/chat/actions", pay(d["confirmToken"].(string))); got.Status != "done" {
		t.Errorf("paid %+v", got)
	}
	if d = r.refused(428, "confirmation_required", "POST", "/v1/chat/actions", pay(d["confirmToken"].(string))); d["reason"] != "used" {
		t.Errorf("details %v", d)
	}

	rated := func() map[string]any { return with(func(c *pressed) { c.action = "rated" }) }
	want[actionDone](r, 200, "POST", "/v1/chat/actions", rated())
	res = r.request("POST", "/v1/chat/actions", rated())
	if b := r.body(res); res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	broken := with(func(c *pressed) { c.action = "broken" })
	d = r.refused(502, "action_failed", "POST", "/v1/chat/actions", broken)
	if d["feedback"].(map[string]any)["failureToast"] != "The service refused this." {
		t.Errorf("details %v", d)
	}
	res = r.request("POST", "/v1/chat/actions", broken)
	r.body(res)
	if res.StatusCode != 502 || res.Header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("a failure again: %d", res.StatusCode)
	}

	// A job goes on in the message's log.
	job := want[actionDone](r, 202, "POST", "/v1/chat/actions", with(func(c *pressed) { c.action = "job" }))
	if job.Status != "accepted" || job.AfterSeq == nil || job.MsgID != p.msg {
		t.Fatalf("job %+v", job)
	}
	s := r.stream(r.request("GET", fmt.Sprintf("/v1/messages/%s/events?after=%d", p.msg, *job.AfterSeq), nil))
	if log := r.rest(s); !strings.Contains(log, `"made"`) || !strings.Contains(log, "event: done") {
		t.Errorf("log:\n%s", log)
	}
	metrics := string(r.body(r.request("GET", "/metrics", nil)))
	for _, want := range []string{
		`inlay_actions_total{action="pay",outcome="done"} 1`, `inlay_actions_total{action="guarded",outcome="action_forbidden"} 1`,
		`inlay_actions_total{action="",outcome="action_not_found"} 2`, `inlay_actions_total{action="job",outcome="accepted"} 1`,
		`inlay_actions_total{action="broken",outcome="failed"} 1`, `inlay_actions_total{action="broken",outcome="replayed"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// A page of another origin cannot press a button with the user's session.
func TestActionsOfOtherOrigins(t *testing.T) {
	r := newRig(t)
	p := r.form()
	for name, headers := range map[string][]string{
		"origin":     {"Origin", "https://evil.example"},
		"fetch site": {"Sec-Fetch-Site", "cross-site"},
	} {
		r.refused(403, "forbidden", "POST", "/v1/chat/actions", p.body(), headers...)
		r.refused(403, "forbidden", "POST", "/v1/messages/"+p.msg+"/feedback", map[string]string{"rating": "up"}, headers...)
		_ = name
	}
	// A form of HTML cannot send JSON.
	r.refused(415, "unsupported_media_type", "POST", "/v1/chat/actions", `{}`, "Content-Type", "text/plain")
	if _, err := r.store.ActionCall(t.Context(), store.Owner{Tenant: "t1", User: "alice"}, p.key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("something ran: %v", err)
	}
}

func TestTelemetry(t *testing.T) {
	var lines lockedBuffer
	r := newRig(t, func(c *Config) { c.Logger = slog.New(slog.NewJSONHandler(&lines, nil)) })
	for _, kind := range []any{"route", "something_else", map[string]any{"kind": "route", "target": "/wallet", "params": map[string]any{"a": 1}}} {
		want[any](r, 204, "POST", "/v1/telemetry/block-action", map[string]any{"blockId": "b_1", "itemId": "i1", "action": kind})
	}
	for _, bad := range []map[string]any{
		{"blockId": "b_1"}, {"action": "route"}, {"blockId": "b_1", "action": strings.Repeat("x", 201)}, {"blockId": "b\n1", "action": "route"}, {"blockId": 1, "action": "route"},
		{"blockId": "b_1", "action": ""}, {"blockId": "b_1", "action": nil}, {"blockId": "b_1", "action": 1}, {"blockId": "b_1", "action": []string{"route"}},
		{"blockId": "b_1", "action": map[string]any{"target": "/wallet"}}, {"blockId": "b_1", "action": map[string]any{"kind": 1}},
		{"blockId": "b_1", "action": map[string]any{"kind": strings.Repeat("x", 201)}},
	} {
		r.refused(400, "invalid_request", "POST", "/v1/telemetry/block-action", bad)
	}
	r.as("").refused(401, "unauthorized", "POST", "/v1/telemetry/block-action", map[string]string{"blockId": "b_1", "action": "route"})
	text := string(r.body(r.request("GET", "/metrics", nil)))
	if !strings.Contains(text, `inlay_block_actions_total{action="route"} 2`) || !strings.Contains(text, `inlay_block_actions_total{action="other"} 1`) || strings.Contains(text, "something_else") {
		t.Error("the counter is wrong")
	}
	n := 0
	for line := range strings.SplitSeq(lines.String(), "\n") {
		var e struct{ Msg, Block, Item, Action, User string }
		if json.Unmarshal([]byte(line), &e) == nil && e.Msg == "block action" {
			n++
			if e.Action != "route" && e.Action != "something_else" || e.Block != "b_1" || e.Item != "i1" || e.User != "alice" {
				t.Errorf("line %s", line)
			}
		}
	}
	if n != 3 {
		t.Errorf("%d lines", n)
	}
}

type lockedBuffer struct {
	mu sync.Mutex
	b  strings.Builder
}

func (l *lockedBuffer) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *lockedBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

func TestFeedback(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "hello")
	r.rest(s)
	r.settled(s.msg())
	path := "/v1/messages/" + s.msg() + "/feedback"
	rated := func() *feedback {
		return want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg(), nil).Feedback
	}
	if rated() != nil {
		t.Error("rated by nobody")
	}
	want[any](r, 204, "POST", path, map[string]any{"rating": "down", "comment": "  Wrong quarter.  "})
	if f := rated(); f == nil || f.Rating != "down" || f.Comment != "Wrong quarter." {
		t.Errorf("feedback %+v", f)
	}
	want[any](r, 204, "POST", path, map[string]any{"rating": "up"})
	if f := rated(); f == nil || f.Rating != "up" || f.Comment != "" {
		t.Errorf("feedback %+v", f)
	}
	want[any](r, 204, "POST", path, map[string]any{"rating": nil})
	if rated() != nil {
		t.Errorf("taken back: %+v", rated())
	}
	for _, bad := range []map[string]any{{"rating": "good"}, {"rating": ""}, {"rating": "up", "comment": strings.Repeat("好", 2001)}, {"rating": 1}} {
		r.refused(400, "invalid_request", "POST", path, bad)
	}
	r.refused(400, "invalid_request", "POST", "/v1/messages/"+s.userMsg()+"/feedback", map[string]any{"rating": "up"})
	r.as("mallory").refused(404, "not_found", "POST", path, map[string]any{"rating": "down"})
}

func TestAuditLog(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Auditor = func(c tool.Caller) bool { return c.User == "auditor" } })
	p := r.form()
	start := time.Now().Add(-time.Minute).UTC().Format(time.RFC3339)
	want[actionDone](r, 200, "POST", "/v1/chat/actions", p.body())
	denied := p
	denied.action, denied.key = "guarded", pressKey()
	r.refused(409, "already_submitted", "POST", "/v1/chat/actions", denied.body())
	type page struct {
		Items      []store.AuditEntry
		NextCursor string
	}
	own := want[page](r, 200, "GET", "/v1/audit?from="+start, nil)
	if len(own.Items) != 2 || own.Items[0].Decision != "allowed" || own.Items[0].Name != "export" || own.Items[0].Key != p.key ||
		!strings.HasPrefix(own.Items[0].PayloadHash, "sha256:") || own.Items[0].RevAfter != 3 || own.Items[1].Outcome != "already_submitted" {
		t.Errorf("entries %+v", own.Items)
	}
	if raw := string(r.body(r.request("GET", "/v1/audit", nil))); strings.Contains(raw, `"all"`) {
		t.Error("payloads are in the audit log")
	}
	first := want[page](r, 200, "GET", "/v1/audit?limit=1", nil)
	second := want[page](r, 200, "GET", "/v1/audit?limit=1&cursor="+first.NextCursor, nil)
	if first.NextCursor == "" || len(second.Items) != 1 || second.Items[0].ID != own.Items[1].ID {
		t.Errorf("pages %+v %+v", first, second)
	}
	if got := want[page](r, 200, "GET", "/v1/audit?action=guarded", nil); len(got.Items) != 1 {
		t.Errorf("by action: %+v", got)
	}
	if got := want[page](r, 200, "GET", "/v1/audit?to="+start, nil); len(got.Items) != 0 || got.Items == nil {
		t.Errorf("before: %+v", got)
	}
	res := r.request("GET", "/v1/audit?format=jsonl&conversation="+own.Items[0].Conversation, nil)
	lines := 0
	for sc := bufio.NewScanner(strings.NewReader(string(r.body(res)))); sc.Scan(); lines++ {
		var e store.AuditEntry
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil || e.User != "alice" {
			t.Errorf("%v %s", err, sc.Bytes())
		}
	}
	if lines != 2 {
		t.Errorf("%d lines", lines)
	}
	// Somebody else sees nothing of it, and may not ask for all.
	if got := want[page](r.as("mallory"), 200, "GET", "/v1/audit", nil); len(got.Items) != 0 {
		t.Errorf("mallory sees %+v", got)
	}
	r.as("mallory").refused(403, "forbidden", "GET", "/v1/audit?scope=tenant", nil)
	r.refused(400, "invalid_request", "GET", "/v1/audit?user=mallory", nil)
	auditor := r.as("auditor")
	if got := want[page](auditor, 200, "GET", "/v1/audit?scope=tenant&user=alice", nil); len(got.Items) != 2 {
		t.Errorf("the auditor sees %+v", got)
	}
	for _, bad := range []string{"limit=0", "limit=1001", "limit=x", "from=yesterday", "format=xml", "scope=all"} {
		r.refused(400, "invalid_request", "GET", "/v1/audit?"+bad, nil)
	}
	off := newRig(t)
	off.as("auditor").refused(403, "forbidden", "GET", "/v1/audit?scope=tenant", nil)
}

// Two devices press at once: one call, one outcome.
func TestTwoDevices(t *testing.T) {
	r := newRig(t)
	p := r.form()
	var wg sync.WaitGroup
	var mu sync.Mutex
	results := map[int]int{}
	for range 8 {
		one := p
		one.key = pressKey()
		wg.Go(func() {
			res, err := r.post("/v1/chat/actions", one.body())
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			results[res]++
		})
	}
	wg.Wait()
	if results[200] != 1 || results[409] != 7 {
		t.Errorf("answers by status: %v", results)
	}
}

// post is request for goroutines that may not end the test.
func (r *rig) post(path string, body any) (status int, err error) {
	raw, err := json.Marshal(body)
	if err != nil {
		return 0, err
	}
	req, err := http.NewRequest(http.MethodPost, r.srv.URL+path, strings.NewReader(string(raw)))
	if err != nil {
		return 0, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Authorization", "Bearer "+r.user)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, err
	}
	defer res.Body.Close()
	_, err = io.Copy(io.Discard, res.Body)
	return res.StatusCode, err
}
