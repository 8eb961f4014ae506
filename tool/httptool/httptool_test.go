package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

func serve(t *testing.T, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	return s
}

func answerJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=utf-8")
	_ = json.NewEncoder(w).Encode(v)
}

// echo answers with what arrived.
func echo(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	answerJSON(w, map[string]any{
		"method": r.Method, "uri": r.RequestURI, "body": string(body), "auth": r.Header.Get("Authorization"),
		"tenant": r.Header.Get("X-Tenant"), "fixed": r.Header.Get("X-Fixed"), "type": r.Header.Get("Content-Type"),
	})
}

func source(t *testing.T, c Config) *Source {
	t.Helper()
	s, err := Open(c)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func compile(t *testing.T, s *Source, r Request) *Call {
	t.Helper()
	c, err := s.Compile(r)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func data(t *testing.T, args string) map[string]any {
	t.Helper()
	v, err := mapping.Decode([]byte(args))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]any{"args": v, "user": map[string]any{"id": "ann", "tenant": "acme"}}
}

func do(t *testing.T, c *Call, args string) map[string]any {
	t.Helper()
	raw, err := c.Do(t.Context(), data(t, args))
	if err != nil {
		t.Fatal(err)
	}
	var m map[string]any
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

func TestRequest(t *testing.T) {
	srv := serve(t, echo)
	s := source(t, Config{BaseURL: srv.URL + "/api/", Headers: map[string]string{"X-Fixed": "yes"}})
	c := compile(t, s, Request{
		Path:    "/orders/{{.args.id}}",
		Query:   map[string]string{"status": "{{.args.status}}", "tag": "{{.args.tags}}", "q": "is:{{.args.id}}", "none": "{{.args.none}}"},
		Headers: map[string]string{"X-Tenant": "{{.user.tenant}}", "X-None": "{{.args.none}}"},
	})
	got := do(t, c, `{"id":"a b#?&é","status":"x&y=1","tags":["p","q r"]}`)
	if got["uri"] != "/api/orders/a%20b%23%3F&%C3%A9?q=is%3Aa+b%23%3F%26%C3%A9&status=x%26y%3D1&tag=p&tag=q+r" {
		t.Error(got["uri"])
	}
	if got["method"] != "GET" || got["tenant"] != "acme" || got["fixed"] != "yes" || got["auth"] != "" || got["body"] != "" {
		t.Error(got)
	}
	c = compile(t, s, Request{Method: "POST", Path: "/exports", Body: `{n: .args.n, by: .user.id}`})
	got = do(t, c, `{"n":12345678901234567890}`)
	if got["body"] != `{"by":"ann","n":12345678901234567890}` || got["type"] != "application/json" {
		t.Error(got)
	}
	if do(t, compile(t, s, Request{Path: "/n/{{.args.n}}"}), `{"n":7}`)["uri"] != "/api/n/7" {
		t.Error("a number in the path")
	}
}

// No value leaves its path segment, whatever a server decodes.
func TestPathValues(t *testing.T) {
	var called atomic.Bool
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { called.Store(true); echo(w, r) })
	s := source(t, Config{BaseURL: srv.URL + "/api"})
	for _, id := range []string{
		"", ".", "..", "../admin", "a/b", `a\b`, "%2e%2e", "%2F", "..%2fadmin", "%", "a\nb", "a\x00b", "\u0085", "/", "//evil.example",
	} {
		raw, err := json.Marshal(map[string]string{"id": id, "dot": "."})
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range []string{"/orders/{{.args.id}}", "/orders/{{.args.id}}/lines"} {
			_, err := compile(t, s, Request{Path: path}).Do(t.Context(), data(t, string(raw)))
			var te *tool.Error
			if !errors.As(err, &te) || te.Retryable {
				t.Errorf("%q in %s: %v", id, path, err)
			}
		}
	}
	for _, path := range []string{"/a/.{{.args.dot}}/b", "/a/{{.args.dot}}{{.args.dot}}", "/{{.args.dot}}"} {
		if _, err := compile(t, s, Request{Path: path}).Do(t.Context(), data(t, `{"dot":"."}`)); err == nil {
			t.Errorf("%s made a dot segment", path)
		}
	}
	if _, err := compile(t, s, Request{Path: "/a/{{.args.none}}"}).Do(t.Context(), data(t, `{}`)); !errors.Is(err, mapping.ErrMissing) {
		t.Errorf("a missing value: %v", err)
	}
	if called.Load() {
		t.Error("a request was sent")
	}
	for _, id := range []string{"a.b", "...", "a:b@c", "user@host", "日本", "a;b", "a+b"} {
		raw, _ := json.Marshal(map[string]string{"id": id})
		if _, err := compile(t, s, Request{Path: "/{{.args.id}}"}).Do(t.Context(), data(t, string(raw))); err != nil {
			t.Errorf("%q: %v", id, err)
		}
	}
}

func TestHeaderValues(t *testing.T) {
	srv := serve(t, echo)
	s := source(t, Config{BaseURL: srv.URL})
	c := compile(t, s, Request{Path: "/", Headers: map[string]string{"X-Tenant": "{{.args.v}}"}})
	for _, v := range []string{`a\r\nX-Fixed: no`, `a\nb`, `a\u0000b`} {
		if _, err := c.Do(t.Context(), data(t, `{"v":"`+v+`"}`)); err == nil {
			t.Errorf("%s was sent", v)
		}
	}
}

func TestDeclarationsRefused(t *testing.T) {
	for _, c := range []Config{
		{}, {BaseURL: "ftp://h"}, {BaseURL: "/only/path"}, {BaseURL: "http://u:p@h"}, {BaseURL: "http://h/?q=1"}, {BaseURL: "http://h/#f"},
		{BaseURL: "http://h/a/../b"}, {BaseURL: "http://h/%2e%2e/b"}, {BaseURL: "http://h", Auth: "magic"},
		{BaseURL: "http://h", Auth: AuthBearer}, {BaseURL: "http://h", Auth: AuthForward, Token: "x"}, {BaseURL: "http://h", Token: "x"},
		{BaseURL: "http://h", Headers: map[string]string{"Authorization": "Bearer x"}},
		{BaseURL: "http://h", Headers: map[string]string{"host": "other"}},
		{BaseURL: "http://h", Headers: map[string]string{"X": "a\nb"}},
	} {
		if _, err := Open(c); err == nil {
			t.Errorf("%+v: accepted", c)
		} else if strings.Contains(err.Error(), "u:p") {
			t.Errorf("the error names the password: %v", err)
		}
	}
	s := source(t, Config{BaseURL: "https://h.example"})
	for _, r := range []Request{
		{Path: ""}, {Path: "orders"}, {Path: "/a?b=c"}, {Path: "/a#b"}, {Path: "/a/../b"}, {Path: "/a//b"}, {Path: `/a\b`}, {Path: "/%2e%2e/b"},
		{Path: "//evil.example/"}, {Path: "/{{.args.x", Method: "GET"}, {Path: "/", Method: "TRACE"}, {Path: "/", Method: "get"},
		{Path: "/", Body: "."}, {Path: "/", Method: "POST", Body: ".["}, {Path: "/{{.args.x | urlquery}}"},
		{Path: "/", Headers: map[string]string{"Authorization": "{{.args.x}}"}}, {Path: "/", Headers: map[string]string{"a b": "c"}},
		{Path: "/", Query: map[string]string{"q": "{{"}},
	} {
		if _, err := s.Compile(r); err == nil {
			t.Errorf("%+v: accepted", r)
		}
	}
}

func TestAuth(t *testing.T) {
	srv := serve(t, echo)
	ctx := tool.WithCaller(t.Context(), tool.Caller{User: "ann", Token: "caller-token"})
	for _, c := range []struct {
		auth        Auth
		token, want string
	}{
		{AuthNone, "", ""}, {AuthBearer, "own-token", "Bearer own-token"}, {AuthForward, "", "Bearer caller-token"},
	} {
		s := source(t, Config{BaseURL: srv.URL, Auth: c.auth, Token: c.token})
		raw, err := compile(t, s, Request{Path: "/"}).Do(ctx, data(t, `{}`))
		if err != nil || !strings.Contains(string(raw), `"auth":"`+c.want+`"`) {
			t.Errorf("%s: %s %v", c.auth, raw, err)
		}
	}
	s := source(t, Config{BaseURL: srv.URL, Auth: AuthForward})
	_, err := compile(t, s, Request{Path: "/"}).Do(t.Context(), data(t, `{}`))
	var te *tool.Error
	if !errors.As(err, &te) || te.Code != block.CodeNotAuthorized {
		t.Errorf("without a token: %v", err)
	}
}

func TestRedirects(t *testing.T) {
	var stolen atomic.Value
	other := serve(t, func(w http.ResponseWriter, r *http.Request) {
		stolen.Store(r.Header.Get("Authorization") + "!")
		echo(w, r)
	})
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/away":
			http.Redirect(w, r, other.URL+"/", http.StatusTemporaryRedirect)
		case "/here":
			http.Redirect(w, r, "/end", http.StatusFound)
		case "/loop":
			http.Redirect(w, r, "/loop", http.StatusFound)
		default:
			echo(w, r)
		}
	})
	ctx := tool.WithCaller(t.Context(), tool.Caller{Token: "caller-token"})
	for _, c := range []struct {
		auth         Auth
		method, path string
		ok           bool
	}{
		{AuthNone, "GET", "/here", true}, {AuthBearer, "GET", "/here", true}, {AuthForward, "GET", "/here", false},
		{AuthNone, "GET", "/away", false}, {AuthBearer, "GET", "/away", false}, {AuthForward, "GET", "/away", false},
		{AuthNone, "POST", "/here", false}, {AuthNone, "POST", "/away", false}, {AuthNone, "GET", "/loop", false},
	} {
		cfg := Config{BaseURL: srv.URL, Auth: c.auth}
		if c.auth == AuthBearer {
			cfg.Token = "own-token"
		}
		_, err := compile(t, source(t, cfg), Request{Method: c.method, Path: c.path}).Do(ctx, data(t, `{}`))
		if (err == nil) != c.ok {
			t.Errorf("%s %s %s: %v", c.auth, c.method, c.path, err)
		}
		var te *tool.Error
		if !c.ok && (!errors.As(err, &te) || te.Retryable) {
			t.Errorf("%s %s %s: %v", c.auth, c.method, c.path, err)
		}
	}
	if v := stolen.Load(); v != nil {
		t.Errorf("another origin was called with %q", v)
	}
}

func TestStatus(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var n int
		fmt.Sscanf(r.URL.Path, "/%d", &n)
		w.WriteHeader(n)
		if n != http.StatusNoContent {
			fmt.Fprint(w, "secret detail")
		}
	})
	s := source(t, Config{BaseURL: srv.URL})
	for status, want := range map[int]struct {
		code      string
		retryable bool
	}{
		400: {block.CodeDataFetchFailed, false}, 401: {block.CodeNotAuthorized, false}, 403: {block.CodeNotAuthorized, false},
		404: {block.CodeDataFetchFailed, false}, 410: {block.CodeDataFetchFailed, false}, 408: {block.CodeDataFetchFailed, true},
		429: {block.CodeDataFetchFailed, true}, 500: {block.CodeDataFetchFailed, true}, 503: {block.CodeDataFetchFailed, true},
		304: {block.CodeDataFetchFailed, false},
	} {
		_, err := compile(t, s, Request{Path: fmt.Sprintf("/%d", status)}).Do(t.Context(), data(t, `{}`))
		var te *tool.Error
		if !errors.As(err, &te) || te.Code != want.code || te.Retryable != want.retryable || te.Message == "" {
			t.Errorf("%d: %v", status, err)
		} else if strings.Contains(te.Error(), "secret") {
			t.Errorf("%d: the answer is in the error: %v", status, err)
		}
	}
	raw, err := compile(t, s, Request{Path: "/204"}).Do(t.Context(), data(t, `{}`))
	if err != nil || string(raw) != "null" {
		t.Errorf("204: %s %v", raw, err)
	}
}

func TestAnswers(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/html":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<p>")
		case "/untyped":
			w.Header()["Content-Type"] = nil
			fmt.Fprint(w, "{}")
		case "/broken":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"a":`)
		case "/large":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `"`+strings.Repeat("x", 2000)+`"`)
		case "/problem":
			w.Header().Set("Content-Type", "application/vnd.acme+json")
			fmt.Fprint(w, `{"ok":true}`)
		case "/slow":
			select {
			case <-r.Context().Done():
			case <-time.After(20 * time.Second):
			}
		}
	})
	s := source(t, Config{BaseURL: srv.URL, MaxBytes: 1000, Timeout: 300 * time.Millisecond})
	for path, code := range map[string]string{
		"/html": block.CodeDataFetchFailed, "/untyped": block.CodeDataFetchFailed, "/broken": block.CodeDataFetchFailed,
		"/large": block.CodePayloadTooLarge, "/slow": block.CodeToolTimeout, "/problem": "",
	} {
		_, err := compile(t, s, Request{Path: path}).Do(t.Context(), data(t, `{}`))
		var te *tool.Error
		switch {
		case code == "":
			if err != nil {
				t.Errorf("%s: %v", path, err)
			}
		case !errors.As(err, &te) || te.Code != code:
			t.Errorf("%s: %v", path, err)
		}
	}
	// The user's stop is not the source's fault.
	ctx, cancel := context.WithCancel(t.Context())
	time.AfterFunc(50*time.Millisecond, cancel)
	if _, err := compile(t, s, Request{Path: "/slow"}).Do(ctx, data(t, `{}`)); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	gone := serve(t, echo)
	gone.Close()
	_, err := compile(t, source(t, Config{BaseURL: gone.URL}), Request{Path: "/"}).Do(t.Context(), data(t, `{}`))
	var te *tool.Error
	if !errors.As(err, &te) || !te.Retryable || te.Code != block.CodeDataFetchFailed || strings.Contains(te.Message, gone.URL) {
		t.Errorf("nobody there: %v", err)
	}
}

func TestTool(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/ui" {
			answerJSON(w, map[string]any{"toolId": "t", "content": "One order", "ui": map[string]any{
				"type": "table", "version": "1.2",
				"data": map[string]any{"columns": []any{map[string]any{"field": "id"}}, "rows": []any{map[string]any{"id": "1"}}},
			}})
			return
		}
		answerJSON(w, map[string]any{"items": []any{map[string]any{"id": 9007199254740993, "status": r.URL.Query().Get("status")}}})
	})
	s := source(t, Config{BaseURL: srv.URL})
	params := json.RawMessage(`{"type":"object","properties":{"status":{"type":"string"}},"required":["status"]}`)
	find, err := New(s, Def{
		Spec:    tool.Spec{Name: "find_orders", Parameters: params},
		Request: Request{Path: "/orders", Query: map[string]string{"status": "{{.args.status}}"}},
		Mapping: mapping.Config{Block: &mapping.Block{
			Type: "table", Payload: `{columns: [{field: "id", label: "Order"}, {field: "status"}], rows: [.body.items[] | .id |= tostring]}`,
		}},
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := tooltest.Call(t.Context(), find, `{"status":"open & new"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if got := string(run.Blocks[0].Payload); !strings.Contains(got, `{"id":"9007199254740993","status":"open & new"}`) {
		t.Error(got)
	}
	if sp := find.Spec(); !sp.Refreshable || sp.Unrepeatable || sp.Block == nil {
		t.Errorf("%+v", sp)
	}
	own, err := New(s, Def{Spec: tool.Spec{Name: "own_ui"}, Request: Request{Path: "/ui"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err = tooltest.Call(t.Context(), own, "", "")
	if err != nil || len(run.Blocks) != 1 || run.Blocks[0].Type != "table" || run.Told != "One order" || run.Blocks[0].Meta.SchemaMinor != 2 {
		t.Errorf("%+v %v", run, err)
	}
	told, err := New(s, Def{Spec: tool.Spec{Name: "told", Parameters: params}, Request: Request{Path: "/orders"}})
	if err != nil {
		t.Fatal(err)
	}
	run, err = tooltest.Call(t.Context(), told, `{"status":"x"}`, "")
	if err != nil || len(run.Blocks) != 0 || !strings.Contains(run.Told, "9007199254740993") {
		t.Errorf("%+v %v", run, err)
	}
	post, err := New(s, Def{Spec: tool.Spec{Name: "post"}, Request: Request{Method: "POST", Path: "/orders"}})
	if err != nil {
		t.Fatal(err)
	}
	if sp := post.Spec(); !sp.Unrepeatable || sp.Refreshable {
		t.Errorf("%+v", sp)
	}
	for _, d := range []Def{
		{Spec: tool.Spec{Name: "bad name"}, Request: Request{Path: "/"}},
		{Spec: tool.Spec{Name: "a"}, Request: Request{Path: "x"}},
		{Spec: tool.Spec{Name: "a"}, Request: Request{Path: "/"}, Mapping: mapping.Config{Summary: ".["}},
	} {
		if _, err := New(s, d); err == nil {
			t.Errorf("%+v: accepted", d)
		}
	}
}

// A request that changes something is sent once, whatever its headers say and
// however its connection ends.
func TestWritesAreSentOnce(t *testing.T) {
	var arrived atomic.Int32
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/write" {
			arrived.Add(1)
			panic(http.ErrAbortHandler)
		}
		echo(w, r)
	})
	s := source(t, Config{BaseURL: srv.URL})
	for _, body := range []string{"", `.args`} {
		arrived.Store(0)
		do(t, compile(t, s, Request{Path: "/warm"}), `{}`) // the connection is used again
		_, err := compile(t, s, Request{Method: "POST", Path: "/write", Body: body}).
			DoWith(t.Context(), data(t, `{}`), http.Header{"Idempotency-Key": {"x_1"}})
		if n := arrived.Load(); n != 1 || err == nil {
			t.Errorf("body %q: arrived %d times, %v", body, n, err)
		}
	}
}

// Errors say how far a request came.
func TestHowFar(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/text":
			fmt.Fprint(w, "carried out")
		case "/cut":
			w.Header().Set("Content-Length", "100")
			fmt.Fprint(w, "{")
		case "/abort":
			panic(http.ErrAbortHandler)
		case "/503":
			w.WriteHeader(503)
		case "/422":
			w.WriteHeader(422)
		}
	})
	gone := httptest.NewServer(http.NotFoundHandler())
	gone.Close()
	for _, c := range []struct {
		name, base, path string
		notSent, answer  bool
		status           int
	}{
		{name: "refused", base: gone.URL, path: "/x", notSent: true},
		{name: "argument", base: srv.URL, path: "/{{.args.none}}", notSent: true},
		{name: "text", base: srv.URL, path: "/text", answer: true},
		{name: "cut", base: srv.URL, path: "/cut", answer: true},
		{name: "abort", base: srv.URL, path: "/abort"},
		{name: "503", base: srv.URL, path: "/503", status: 503},
		{name: "422", base: srv.URL, path: "/422", status: 422},
	} {
		s := source(t, Config{BaseURL: c.base})
		_, err := compile(t, s, Request{Method: "POST", Path: c.path, Body: ".args"}).Do(t.Context(), data(t, `{}`))
		var own *tool.Error
		var st *StatusError
		status := 0
		if errors.As(err, &st) {
			status = st.Status
		}
		if !errors.As(err, &own) || errors.Is(err, ErrNotSent) != c.notSent || errors.Is(err, ErrAnswer) != c.answer || status != c.status {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestExtraHeaders(t *testing.T) {
	srv := serve(t, func(w http.ResponseWriter, r *http.Request) { answerJSON(w, r.Header) })
	s := source(t, Config{BaseURL: srv.URL})
	c := compile(t, s, Request{Method: "POST", Path: "/x", Body: ".args", Headers: map[string]string{"X-Trace-Id": "own"}})
	raw, err := c.DoWith(t.Context(), data(t, `{}`), http.Header{"Idempotency-Key": {"x_1"}, "X-Trace-Id": {"t"}})
	var got http.Header
	if err != nil || json.Unmarshal(raw, &got) != nil || got.Get("Idempotency-Key") != "x_1" || got.Get("X-Trace-Id") != "t" {
		t.Errorf("%v %s", err, raw)
	}
	if _, err := c.DoWith(t.Context(), data(t, `{}`), http.Header{"Authorization": {"Bearer stolen"}}); !errors.Is(err, ErrNotSent) {
		t.Errorf("an own Authorization: %v", err)
	}
}
