package inlay_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// buttons calls the tool "show" with the question, then says a word.
type buttons struct{ tool string }

func (buttons) Info() model.Info { return model.Info{Kind: "scripted", Name: "test-1"} }

func (b buttons) Stream(_ context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Role != model.RoleUser {
		return model.Response{Finish: model.FinishStop, Text: "Here."}, on(model.Delta{Text: "Here."})
	}
	args := last.Content
	return model.Response{Finish: model.FinishToolCalls, Calls: []model.Call{{ID: "call_1", Name: b.tool, Arguments: json.RawMessage(args), Raw: args}}}, nil
}

// house is a whole installation behind an HTTP server.
type house struct {
	t   *testing.T
	app *inlay.App
	url string
}

func start(t *testing.T, cfg inlay.Config, add func(*inlay.App) error) *house {
	t.Helper()
	no := false
	cfg.Demo, cfg.Logger = &no, slog.New(slog.DiscardHandler)
	if cfg.Data == "" {
		cfg.Data = t.TempDir()
	}
	app, err := inlay.New(cfg)
	if err == nil && add != nil {
		err = add(app)
	}
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, app)
}

// serve runs an App until the test ends.
func serve(t *testing.T, app *inlay.App) *house {
	t.Helper()
	h, err := app.Handler(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.Close()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return &house{t, app, srv.URL}
}

func (h *house) call(method, path string, body any, headers ...string) (int, http.Header, []byte) {
	h.t.Helper()
	var in io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			h.t.Fatal(err)
		}
		in = strings.NewReader(string(raw))
	}
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+path, in)
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, res.Header, b
}

type shownBlock struct {
	ID, Type string
	Payload  json.RawMessage
	State    json.RawMessage
	Rev      int
	Actions  []inlay.Action
}

// ask runs a turn and returns its message and first block that is no text.
func (h *house) ask(question string) (string, shownBlock) {
	h.t.Helper()
	status, header, b := h.call("POST", "/v1/chat", map[string]any{"input": map[string]string{"text": question}})
	if status != 200 {
		h.t.Fatalf("%d %s", status, b)
	}
	msg := header.Get("X-Message-Id")
	return msg, h.blocks(msg)[0]
}

func (h *house) blocks(msg string) []shownBlock {
	h.t.Helper()
	_, _, b := h.call("GET", "/v1/messages/"+msg, nil)
	var m struct{ Blocks []shownBlock }
	if err := json.Unmarshal(b, &m); err != nil {
		h.t.Fatalf("%v %s", err, b)
	}
	var list []shownBlock
	for _, bl := range m.Blocks {
		if bl.Type != "text" {
			list = append(list, bl)
		}
	}
	if len(list) == 0 {
		h.t.Fatalf("no block: %s", b)
	}
	return list
}

var presses int

func (h *house) press(msg string, b shownBlock, action string, payload any, headers ...string) (int, map[string]any) {
	h.t.Helper()
	presses++
	status, _, raw := h.call("POST", "/v1/chat/actions", map[string]any{
		"msgId": msg, "blockId": b.ID, "actionId": action, "payload": payload, "idempotencyKey": fmt.Sprintf("press-%06d", presses),
	}, headers...)
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		h.t.Fatalf("%v %s", err, raw)
	}
	return status, m
}

// erp is a business system: it takes exports, once under each key.
type erp struct {
	mu      sync.Mutex
	got     []map[string]any
	headers []http.Header
	fail    int // status of the next request
	abort   bool
}

func (e *erp) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	e.mu.Lock()
	defer e.mu.Unlock()
	w.Header().Set("Content-Type", "application/json")
	if r.Method == http.MethodGet {
		for i, h := range e.headers {
			if "/exports/"+h.Get("Idempotency-Key") == r.URL.Path {
				_ = json.NewEncoder(w).Encode(map[string]any{"id": i + 1, "state": "queued"})
				return
			}
		}
		w.WriteHeader(404)
		return
	}
	if e.fail != 0 {
		w.WriteHeader(e.fail)
		e.fail = 0
		return
	}
	var body map[string]any
	_ = json.NewDecoder(r.Body).Decode(&body)
	e.got, e.headers = append(e.got, body), append(e.headers, r.Header.Clone())
	if e.abort {
		e.abort = false
		panic(http.ErrAbortHandler)
	}
	_ = json.NewEncoder(w).Encode(map[string]any{"id": len(e.got), "internal": "hidden", "rows": []any{map[string]any{"file": "orders.csv"}}})
}

const declaredActions = `
sources:
  erp: { http: { base_url: %q, auth: forward } }
  ledger: { sql: { dsn: %q, read_only: false } }
tools:
  - name: show
    description: Show the form.
    parameters: { type: object, properties: { kind: { enum: [form, table] } }, required: [kind] }
    source: ledger
    query: "SELECT :kind AS kind"
    block:
      type: form
      payload: '{title: "Export", schema: {type: "object", required: ["name"], properties: {name: {type: "string", maxLength: 20}}}}'
      actions: |
        [{id: "submit", action: "submit_export", kind: "api"}, {id: "log", action: "log_line", kind: "api", params: {line: "seen"}},
         {id: "undo", action: "undo_line", kind: "api"}, {id: "more", action: "show_more", kind: "api"}, {id: "list", action: "list_lines", kind: "api"}]
actions:
  submit_export:
    label: { "": Submit, zh: 提交 }
    confirm: "Submit the export request?"
    source: erp
    request: { method: POST, path: /exports, body: '.payload + {by: .user.id, key: .call.id}' }
    lookup:
      request: { path: "/exports/{{.call.id}}" }
      happened: .body.state == "queued"
    value: '{job: .body.id}'
    feedback: { success: { "": "It is on its way.", zh: 正在处理。 }, failure: Not submitted. }
    permission: { claim: roles, any: [sales, boss] }
    rate: { per_minute: 100 }
    once: false
  log_line:
    schema: { type: object, properties: { line: { type: string } }, required: [line], additionalProperties: false }
    confirm: none
    source: ledger
    query: INSERT INTO lines (line, who, call) VALUES (:line, :user.id, :call.id)
    once: false
  undo_line:
    schema: { type: object, properties: { line: { type: string } }, required: [line] }
    confirm: { text: "Really?", level: token }
    source: ledger
    query: DELETE FROM lines WHERE line = :line AND who = :user.id
    once: false
  list_lines:
    schema: { type: object }
    effect: read
    source: ledger
    query: SELECT line, who FROM lines ORDER BY line
    result: append
    once: false
    block:
      type: table
      payload: '{columns: [{field: "line", label: "Line"}], rows: [.rows[] | {line}]}'
  show_more:
    tool: show
    effect: read
    once: false
`

// TestDeclaredActions runs actions of a YAML file against real sources.
func TestDeclaredActions(t *testing.T) {
	system := &erp{}
	srv := httptest.NewServer(system)
	defer srv.Close()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "ledger.db")
	ledger(t, dsn, "CREATE TABLE lines (line TEXT, who TEXT, call TEXT UNIQUE)")
	path := filepath.Join(dir, "inlay.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, declaredActions, srv.URL, dsn), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := inlay.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.LLM = buttons{"show"}
	cfg.Auth.Mode, cfg.Auth.Secret = "jwt", strings.Repeat("s", 32)
	h := start(t, cfg, nil)
	token := jwt(t, cfg.Auth.Secret, map[string]any{"sub": "ann", "roles": []string{"sales"}})
	auth := []string{"Authorization", "Bearer " + token}
	status, header, body := h.call("POST", "/v1/chat", map[string]any{"input": map[string]string{"text": `{"kind":"form"}`}}, auth...)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	msg := header.Get("X-Message-Id")
	blocks := func() []shownBlock {
		t.Helper()
		_, _, raw := h.call("GET", "/v1/messages/"+msg, nil, auth...)
		var m struct{ Blocks []shownBlock }
		if err := json.Unmarshal(raw, &m); err != nil {
			t.Fatal(err)
		}
		return m.Blocks
	}
	form := blocks()[0]
	if form.Type != "form" || len(form.Actions) != 5 || form.Actions[0].Label != "Submit" || form.Actions[0].Confirm != "Submit the export request?" {
		t.Fatalf("block %+v", form)
	}

	status, got := h.press(msg, form, "submit", map[string]any{"name": "all"}, append(auth, "Traceparent", "00-aaaabbbbccccddddeeeeffff00001111-aaaabbbbccccdddd-01")...)
	if status != 200 || got["status"] != "done" || got["result"].(map[string]any)["job"] != 1.0 || got["feedback"].(map[string]any)["successText"] != "It is on its way." {
		t.Errorf("%d %v", status, got)
	}
	if strings.Contains(fmt.Sprint(got), "hidden") {
		t.Error("the answer of the business system goes to the client")
	}
	sent := system.headers[0]
	key := sent.Get("Idempotency-Key")
	if !strings.HasPrefix(key, "x_") || sent.Get("Authorization") != "Bearer "+token || sent.Get("X-Trace-Id") != "aaaabbbbccccddddeeeeffff00001111" || !strings.HasPrefix(sent.Get("Traceparent"), "00-aaaabbbbccccddddeeeeffff00001111-") {
		t.Errorf("headers %v", sent)
	}
	if b := system.got[0]; b["name"] != "all" || b["by"] != "ann" || b["key"] != key {
		t.Errorf("body %v", b)
	}
	// By the form's own schema.
	if status, got := h.press(msg, form, "submit", map[string]any{"name": strings.Repeat("x", 21)}, auth...); status != 400 {
		t.Errorf("%d %v", status, got)
	}
	// A refusal changes nothing; a broken connection is looked up.
	system.fail = 422
	if status, got := h.press(msg, form, "submit", map[string]any{"name": "a"}, auth...); status != 502 || !strings.Contains(fmt.Sprint(got), "The service refused this. Nothing was changed.") || !strings.Contains(fmt.Sprint(got), "Not submitted.") {
		t.Errorf("%d %v", status, got)
	}
	system.abort = true
	if status, got := h.press(msg, form, "submit", map[string]any{"name": "b"}, auth...); status != 200 || got["status"] != "done" || got["result"].(map[string]any)["job"] != 2.0 {
		t.Errorf("looked up: %d %v", status, got)
	}
	system.fail = 503
	if status, got := h.press(msg, form, "submit", map[string]any{"name": "c"}, auth...); status != 502 {
		t.Errorf("looked up, and it did not happen: %d %v", status, got)
	}
	if len(system.got) != 2 {
		t.Errorf("the system got %v", system.got)
	}
	// Without the role.
	guest := []string{"Authorization", "Bearer " + jwt(t, cfg.Auth.Secret, map[string]any{"sub": "ann", "roles": []string{"guest"}})}
	if status, _ := h.press(msg, form, "submit", map[string]any{"name": "a"}, guest...); status != 403 {
		t.Errorf("without the role: %d", status)
	}

	// SQL: the server's own values stand, and who it was comes from the token.
	if status, got := h.press(msg, form, "log", map[string]any{"line": "mine'); DROP TABLE lines; --"}, auth...); status != 200 {
		t.Errorf("%d %v", status, got)
	}
	if rows := ledger(t, dsn, "SELECT line, who FROM lines"); fmt.Sprint(rows) != "[map[line:seen who:ann]]" {
		t.Errorf("rows %v", rows)
	}
	status, got = h.press(msg, form, "undo", map[string]any{"line": "seen"}, auth...)
	if status != 428 {
		t.Fatalf("%d %v", status, got)
	}
	confirm := got["error"].(map[string]any)["details"].(map[string]any)["confirmToken"]
	undo := func(token any) (int, string) {
		presses++
		status, _, raw := h.call("POST", "/v1/chat/actions", map[string]any{
			"msgId": msg, "blockId": form.ID, "actionId": "undo", "payload": map[string]any{"line": "seen"},
			"idempotencyKey": fmt.Sprintf("press-%06d", presses), "confirmToken": token,
		}, auth...)
		return status, string(raw)
	}
	if status, raw := undo(confirm); status != 200 {
		t.Errorf("%d %s", status, raw)
	}
	_, got = h.press(msg, form, "undo", map[string]any{"line": "seen"}, auth...)
	if status, raw := undo(got["error"].(map[string]any)["details"].(map[string]any)["confirmToken"]); status != 502 || !strings.Contains(raw, "Nothing was changed") {
		t.Errorf("nothing to undo: %d %s", status, raw)
	}

	// Results that are shown are appended to the message.
	n := len(blocks())
	if status, got = h.press(msg, form, "list", nil, auth...); status != 200 || got["afterSeq"] == nil {
		t.Errorf("%d %v", status, got)
	}
	if status, got = h.press(msg, form, "more", map[string]any{"kind": "form"}, auth...); status != 200 {
		t.Errorf("%d %v", status, got)
	}
	if list := blocks(); len(list) != n+2 || list[n].Type != "table" || list[n+1].Type != "form" {
		t.Errorf("blocks %+v", list)
	}
	if status, got = h.press(msg, form, "more", map[string]any{"kind": "pie"}, auth...); status != 400 {
		t.Errorf("%d %v", status, got)
	}
}

// ledger runs a statement on a database.
func ledger(t *testing.T, dsn, statement string) []any {
	t.Helper()
	write := false
	s, err := sqltool.Open(sqltool.Config{DSN: dsn, ReadOnly: &write})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	st, err := s.Prepare(statement)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.Run(t.Context(), st, nil)
	if err != nil {
		t.Fatal(err)
	}
	return res.Rows
}

const queries = `
sources:
  logs:
    sql: { dsn: %q }
    query:
      description: "Table hits(at, path, status)."
      label: { "": Access log, zh: 访问日志 }
      max_range: 24h
      open: "https://logs.example.com/search?q={{.args.statement}}&from={{.args.from}}"
  metrics:
    http: { base_url: %q }
    query:
      lang: promql
      request: { path: /query, query: { q: "{{.args.statement}}", from: "{{.args.from}}", to: "{{.args.to}}" } }
      block: { type: metric, payload: '{items: [{label: .args.statement, value: .body.value}]}' }
`

// TestQueries lets the model propose statements and people run them.
func TestQueries(t *testing.T) {
	var asked []string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = append(asked, r.URL.Query().Get("q")+" "+r.URL.Query().Get("from"))
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"value":42}`)
	}))
	defer srv.Close()
	dir := t.TempDir()
	dsn := "sqlite:" + filepath.Join(dir, "logs.db")
	ledger(t, dsn, "CREATE TABLE hits (at TEXT, path TEXT, status INTEGER)")
	ledger(t, dsn, "INSERT INTO hits VALUES (strftime('%Y-%m-%dT%H:%M:%fZ','now','-10 minutes'), '/a', 500), (strftime('%Y-%m-%dT%H:%M:%fZ','now','-3 hours'), '/b', 500)")
	path := filepath.Join(dir, "inlay.yaml")
	if err := os.WriteFile(path, fmt.Appendf(nil, queries, dsn, srv.URL), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := inlay.Load(path, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := cfg.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	cfg.LLM = buttons{"query_logs"}
	h := start(t, cfg, nil)
	const statement = "SELECT path, status FROM hits WHERE at >= :from AND at < :to AND status >= 500"
	msg, b := h.ask(`{"statement":"` + statement + `","title":"Errors","from":"now-1h"}`)
	if b.Type != "query" || len(b.Actions) != 3 || b.Actions[0].Label != "Run" || b.Actions[0].ID != "run" {
		t.Fatalf("block %s %+v", b.Payload, b.Actions)
	}
	if schema := string(b.Actions[0].InputSchema); !strings.Contains(schema, `"x-max-range":"24h"`) || !strings.Contains(schema, `"x-default-range":"1h"`) {
		t.Errorf("its button does not say how long the time may be: %s", schema)
	}
	if href := b.Actions[2].Href; !strings.HasPrefix(href, "https://logs.example.com/search?q=SELECT+path") || strings.Contains(href, " ") {
		t.Errorf("open %q", href)
	}
	if _, _, raw := h.call("GET", "/v1/client-config", nil); !strings.Contains(string(raw), "logs.example.com") {
		t.Errorf("the page may not open it: %s", raw)
	}
	rows := func() string {
		t.Helper()
		list := h.blocks(msg)
		return string(list[len(list)-1].Payload)
	}
	if status, got := h.press(msg, b, "run", nil); status != 200 || got["afterSeq"] == nil {
		t.Fatalf("%d %v", status, got)
	}
	if p := rows(); !strings.Contains(p, "/a") || strings.Contains(p, "/b") || !strings.Contains(p, `"caption":"Errors"`) {
		t.Errorf("rows %s", p)
	}
	if status, _ := h.press(msg, b, "run", map[string]any{"timeRange": map[string]any{"from": "now-4h", "to": "now"}}); status != 200 {
		t.Error(status)
	}
	if p := rows(); !strings.Contains(p, "/b") {
		t.Errorf("rows %s", p)
	}
	for name, payload := range map[string]any{
		"longer than allowed": map[string]any{"timeRange": map[string]any{"from": "now-25h", "to": "now"}},
		"backwards":           map[string]any{"timeRange": map[string]any{"from": "now", "to": "now-1h"}},
		"no time":             map[string]any{"timeRange": map[string]any{"from": "yesterday", "to": "now"}},
	} {
		if status, got := h.press(msg, b, "run", payload); status != 400 {
			t.Errorf("%s: %d %v", name, status, got)
		}
	}
	// A request brings no statement of its own.
	if status, got := h.press(msg, b, "run", map[string]any{"statement": "SELECT 1"}); status != 400 {
		t.Errorf("%d %v", status, got)
	}
	// Statements that write, or look at all times, are not even shown.
	for _, bad := range []string{"DELETE FROM hits", "SELECT * FROM hits", "SELECT :from, :to, :token", "SELECT :from; SELECT :to", ""} {
		status, header, raw := h.call("POST", "/v1/chat", map[string]any{"input": map[string]string{"text": `{"statement":"` + bad + `"}`}})
		_, _, m := h.call("GET", "/v1/messages/"+header.Get("X-Message-Id"), nil)
		if status != 200 || strings.Contains(string(m), `"status":"done","rev":1,"payload":{"lang"`) {
			t.Errorf("%q was shown: %s %s", bad, raw, m)
		}
	}

	cfg.LLM = buttons{"query_metrics"}
	h = start(t, cfg, nil)
	msg, b = h.ask(`{"statement":"rate(errors[5m])","from":"2026-09-01T00:00:00Z","to":"2026-09-01T01:00:00Z"}`)
	if status, got := h.press(msg, b, "run", nil); status != 200 {
		t.Fatalf("%d %v", status, got)
	}
	if len(asked) != 1 || asked[0] != "rate(errors[5m]) 2026-09-01T00:00:00.000Z" {
		t.Errorf("asked %q", asked)
	}
	list := h.blocks(msg)
	if last := list[len(list)-1]; last.Type != "metric" || !strings.Contains(string(last.Payload), "42") {
		t.Errorf("block %s", last.Payload)
	}
}

// TestActionConfigs says what is wrong with declarations.
func TestActionConfigs(t *testing.T) {
	const sources = `
sources:
  db: { sql: { dsn: "sqlite:db", read_only: false } }
  ro: { sql: { dsn: "sqlite:db" } }
  web: { http: { base_url: "https://erp.example.com" } }
`
	for text, want := range map[string]string{
		"actions: { a: { source: db, query: DELETE FROM x } }":                                                    "a write is confirmed",
		"actions: { a: { source: db, query: DELETE FROM x, confirm: none } }":                                     "",
		"actions: { a: { source: db, query: DELETE FROM x, confirm: 'Sure?' } }":                                  "",
		"actions: { a: { source: ro, query: DELETE FROM x, confirm: none } }":                                     "read-only source",
		"actions: { a: { source: ro, query: SELECT 1 } }":                                                         "",
		"actions: { a: { source: ro, query: SELECT 1, effect: write, confirm: none } }":                           "read_only: false",
		"actions: { a: { source: db, request: { path: /x } } }":                                                   "query is required",
		"actions: { a: { source: web, query: SELECT 1 } }":                                                        "request is required",
		"actions: { a: { source: wep, request: { path: /x } } }":                                                  "did you mean web?",
		"actions: { a: { confirm: none } }":                                                                       "source or tool is required",
		"actions: { a: { tool: nobody, confirm: none } }":                                                         `there is no tool "nobody"`,
		"actions: { a b: { source: ro, query: SELECT 1 } }":                                                       "the name must begin with a letter",
		"actions: { inlay.x: { source: ro, query: SELECT 1 } }":                                                   "the product's own",
		"actions: { a: { source: ro, query: SELECT 1, confrim: none } }":                                          "did you mean actions[a].confirm?",
		"actions: { a: { source: ro, query: SELECT 1, confirm: { text: x, level: twice } } }":                     "must be none, dialog or token",
		"actions: { a: { source: ro, query: SELECT 1, result: append } }":                                         "need a block",
		"actions: { a: { source: ro, query: SELECT 1, result: show } }":                                           "must be none, update or append",
		"actions: { a: { source: ro, query: SELECT 1, permission: { any: [x] } } }":                               "claim is missing",
		"actions: { a: { source: ro, query: 'SELECT :x', schema: { type: object } } }":                            ":x is not a member of the schema",
		"actions: { a: { source: ro, query: SELECT 1, schema: { type: array } } }":                                `must have "type": "object"`,
		"actions: { a: { source: web, request: { path: /x }, lookup: { request: { method: POST, path: /x } } } }": "must be a GET",
		"sources: { q: { sql: { dsn: 'sqlite:db', read_only: false }, query: {} } }":                              "read-only sources only",
		"sources: { q: { http: { base_url: 'https://m.example.com' }, query: { lang: promql } } }":                "request is required",
		"sources: { q: { sql: { dsn: 'sqlite:db' }, query: { open: 'https://{{.args.statement}}/x' } } }":         "must begin with https://",
		"keys: { env: NO_SUCH_KEYS }":                                                                             "NO_SUCH_KEYS is not set",
	} {
		if !strings.HasPrefix(text, "sources") {
			text += sources
		}
		path := filepath.Join(t.TempDir(), "inlay.yaml")
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := inlay.Load(path, nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		switch {
		case want == "" && err != nil, want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s\ngot  %v\nwant %s", text, err, want)
		}
	}
}

// TestKeysRotate restarts with a new key before the old one: a confirmation
// that the old key signed is still believed.
func TestKeysRotate(t *testing.T) {
	data := t.TempDir()
	var paid int
	add := func(app *inlay.App) error {
		if err := app.AddActions(inlay.NewAction(inlay.ActionDef{
			Name: "pay", Effect: inlay.WriteEffect, Confirm: inlay.ActionConfirm{Level: inlay.ConfirmToken, Text: inlay.Words{"": "Pay?"}},
		}, func(context.Context, inlay.ActionCall, struct{}, *inlay.Out) (inlay.ActionResult, error) {
			paid++
			return inlay.ActionResult{}, nil
		})); err != nil {
			return err
		}
		return app.AddTools(inlay.NewTool("show", "Show.", func(_ context.Context, _ struct{}, out *inlay.Out) error {
			out.Actions(inlay.Action{ID: "pay", Kind: "api"})
			return out.Table(inlay.Table{Columns: []inlay.TableColumn{{Field: "a", Label: "A"}}, Rows: []map[string]any{}})
		}))
	}
	cfg := inlay.Config{Data: data, LLM: buttons{"show"}}
	no := false
	cfg.Demo = &no
	run := func(f func(h *house)) {
		t.Helper()
		t.Run("", func(t *testing.T) { f(start(t, cfg, add)) })
	}
	var msg string
	var b shownBlock
	var confirm any
	run(func(h *house) {
		msg, b = h.ask("{}")
		_, got := h.press(msg, b, "pay", nil)
		confirm = got["error"].(map[string]any)["details"].(map[string]any)["confirmToken"]
	})
	path := filepath.Join(data, "keys.json")
	if st, err := os.Stat(path); err != nil || st.Mode().Perm() != 0o600 {
		t.Fatalf("keys: %v %v", err, st)
	}
	var file struct {
		Keys []map[string]string `json:"keys"`
	}
	raw, err := os.ReadFile(path)
	if err == nil {
		err = json.Unmarshal(raw, &file)
	}
	if err != nil {
		t.Fatal(err)
	}
	old := file.Keys
	rewrite := func(keys []map[string]string) {
		file.Keys = keys
		raw, err := json.Marshal(file)
		if err == nil {
			err = os.WriteFile(path, raw, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	fresh := map[string]string{"id": "next", "secret": "bmV4dG5leHRuZXh0bmV4dG5leHRuZXh0bmV4dG5leHQ="}
	pay := func(h *house, token any) int {
		presses++
		status, _, _ := h.call("POST", "/v1/chat/actions", map[string]any{
			"msgId": msg, "blockId": b.ID, "actionId": "pay", "idempotencyKey": fmt.Sprintf("press-%06d", presses), "confirmToken": token,
		})
		return status
	}
	rewrite(append([]map[string]string{fresh}, old...))
	run(func(h *house) {
		if status := pay(h, confirm); status != 200 || paid != 1 {
			h.t.Errorf("signed by the old key: %d", status)
		}
		_, got := h.press(msg, b, "pay", nil)
		confirm = got["error"].(map[string]any)["details"].(map[string]any)["confirmToken"]
	})
	rewrite(old) // the new key is gone
	run(func(h *house) {
		if status := pay(h, confirm); status != 428 || paid != 1 {
			h.t.Errorf("signed by a key that is gone: %d", status)
		}
	})
}

// TestActionsAfterRestart asks a restarted server for what was done before.
func TestActionsAfterRestart(t *testing.T) {
	data := t.TempDir()
	runs := 0
	add := func(app *inlay.App) error {
		once := true
		if err := app.AddActions(inlay.NewAction(inlay.ActionDef{Name: "note", Effect: inlay.WriteEffect, Confirm: inlay.Ask("Note it?"), Once: &once},
			func(_ context.Context, _ inlay.ActionCall, p struct {
				Text string `json:"text"`
			}, _ *inlay.Out) (inlay.ActionResult, error) {
				runs++
				return inlay.ActionResult{Value: p.Text}, nil
			})); err != nil {
			return err
		}
		return app.AddTools(inlay.NewTool("show", "Show.", func(_ context.Context, _ struct{}, out *inlay.Out) error {
			out.Actions(inlay.Action{ID: "note", Kind: "api"})
			return out.Table(inlay.Table{Columns: []inlay.TableColumn{{Field: "a", Label: "A"}}, Rows: []map[string]any{}})
		}))
	}
	cfg := inlay.Config{Data: data, LLM: buttons{"show"}}
	var msg, first string
	var request map[string]any
	t.Run("before", func(t *testing.T) {
		h := start(t, cfg, add)
		var b shownBlock
		msg, b = h.ask("{}")
		request = map[string]any{"msgId": msg, "blockId": b.ID, "actionId": "note", "payload": map[string]string{"text": "x"}, "idempotencyKey": "key-before"}
		status, _, raw := h.call("POST", "/v1/chat/actions", request)
		first = string(raw)
		if status != 200 {
			t.Fatalf("%d %s", status, raw)
		}
	})
	t.Run("after", func(t *testing.T) {
		h := start(t, cfg, add)
		status, header, raw := h.call("POST", "/v1/chat/actions", request)
		if status != 200 || string(raw) != first || header.Get("Idempotency-Replayed") != "true" || runs != 1 {
			t.Errorf("%d %s after %d runs", status, raw, runs)
		}
		if b := h.blocks(msg)[0]; b.Rev != 3 || !strings.Contains(string(b.State), `"locked":true`) {
			t.Errorf("block %+v", b)
		}
		// The audit log can be written out while the server runs.
		var out strings.Builder
		if err := cfg.ExportAudit(t.Context(), &out, inlay.AuditFilter{Action: "note"}); err != nil {
			t.Fatal(err)
		}
		var e map[string]any
		if err := json.Unmarshal([]byte(out.String()), &e); err != nil || e["decision"] != "allowed" || e["idempotencyKey"] != "key-before" {
			t.Errorf("%v %s", err, out.String())
		}
		if err := (inlay.Config{Data: t.TempDir()}).ExportAudit(t.Context(), &out, inlay.AuditFilter{}); err == nil || !strings.Contains(err.Error(), "--data") {
			t.Errorf("no database: %v", err)
		}
	})
}

// jwt signs claims that hold for an hour.
func jwt(t *testing.T, secret string, claims map[string]any) string {
	t.Helper()
	claims["exp"] = time.Now().Add(time.Hour).Unix()
	part := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return base64.RawURLEncoding.EncodeToString(raw)
	}
	text := part(map[string]string{"alg": "HS256", "typ": "JWT"}) + "." + part(claims)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(text))
	return text + "." + base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}
