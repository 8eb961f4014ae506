package textstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/model"
)

const testKey = "sample-key-0123456789"

// upstream starts a server and returns a client for it.
func upstream(t *testing.T, cfg Config, h http.HandlerFunc) *Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	cfg.URL = srv.URL + "/answer"
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// answers writes one answer.
func answers(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		io.WriteString(w, body)
	}
}

func ignore(model.Delta) error { return nil }

func asked() model.Request {
	return model.Request{Messages: []model.Message{
		{Role: model.RoleSystem, Content: "Be brief."},
		{Role: model.RoleUser, Content: "Hello"},
		{Role: model.RoleAssistant, Calls: []model.Call{{ID: "1", Name: "f"}}},
		{Role: model.RoleTool, Content: "{}", CallID: "1"},
		{Role: model.RoleAssistant, Content: "Good day."},
		{Role: model.RoleUser, Content: "Say \"hi\"\n<b>", Images: []model.Image{{Mime: "image/png"}}},
	}}
}

const events = "text/event-stream"

func path(s string) *string { return &s }

// TestText reads every answer whole, byte by byte and cut in two everywhere.
func TestText(t *testing.T) {
	delta := path("/choices/0/delta/content")
	for _, c := range []struct {
		name, kind, body string
		cfg              Config
		text, end        string
		quirks           string
	}{
		{name: "pieces", kind: events, body: "data: Hel\n\ndata: lo \n\ndata:  world\n\ndata: [DONE]\n\ndata: more\n\n", text: "Hello  world", end: "[DONE]"},
		{name: "the event done", kind: events, body: "data: a\n\nevent: done\ndata: {}\n\ndata: b\n\n", text: "a", end: "done"},
		{name: "an end without data", kind: events, body: "data: a\n\nevent: end\n\ndata: b\n\n", text: "a", end: "end"},
		{name: "the end of the stream", kind: events + "; charset=utf-8", body: "data: a\n\n", text: "a"},
		{name: "no last blank line", kind: events, body: "data: a\n\ndata: b", text: "ab", quirks: "[cut_frame]"},
		{name: "CRLF", kind: events, body: "data: a\r\n\r\ndata: b\r\ndata: c\r\n\r\n", text: "ab\nc"},
		{name: "CR", kind: events, body: "data: a\r\rdata: b\rdata: c\r\r", text: "ab\nc"},
		{name: "comments, ids and retries", kind: events, body: ": hi\n\nid: 1\nretry: 10\ndata: a\n\n:\nid: 2\n: between\ndata: b\n: after\n\n", text: "ab"},
		{name: "several lines", kind: events, body: "data: a\ndata:\ndata: b\n\ndata:\ndata:\n\ndata:\ndata: c\n\n", text: "a\n\nb\n\nc"},
		{name: "empty data", kind: events, body: "data: a\n\ndata:\n\ndata\n\ndata: b\n\n", text: "ab"},
		{name: "blanks are text", kind: events, body: "data: a\n\ndata:  \n\ndata: b\n\n", text: "a b"},
		{name: "line ends in the data", kind: events, body: "data: a\nb\n\n", text: "a", quirks: "[line_end_in_data]"},
		{name: "what keeps alive", kind: events, body: "event: ping\ndata: {}\n\nevent: delta\ndata: a\n\nevent: heartbeat\n\n", text: "a"},
		{name: "named events", kind: events, cfg: Config{Events: []string{"message", "ping"}}, body: "event: ping\ndata: a\n\nevent: meta\ndata: {}\n\ndata: b\n\n", text: "ab"},
		{name: "named end", kind: events, cfg: Config{Events: []string{"end"}}, body: "event: end\ndata: a\n\nevent: done\n\n", text: "a", end: "done"},
		{name: "characters cut", kind: events, body: "data: \xe5\n\ndata: \x8d\x8e\xe4\xb8\n\ndata: \x9c\xf0\x9f\n\ndata: \x98\x80\n\n", text: "华东😀"},
		{name: "no UTF-8", kind: events, body: "data: a\xffb\n\ndata: \xe5\n\n", text: "a\uFFFDb\uFFFD", quirks: "[cut_character]"},
		{name: "byte order mark", kind: events, body: "\xef\xbb\xbfdata: a\n\n", text: "a"},
		{name: "JSON", kind: events, cfg: Config{TextPath: delta}, body: `data: {"choices":[{"delta":{"role":"assistant"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"a\n"}}]}` + "\n\n" + `data: {"choices":[{"delta":{"content":null}}]}` + "\n\n" + `data: {"choices":[]}` + "\n\n" + `data: {"choices":[{"delta":{"content":"华"}}]}` + "\n\ndata: [DONE]\n\n", text: "a\n华", end: "[DONE]"},
		{name: "JSON over lines", kind: events, cfg: Config{TextPath: path("/a~1b/m~0n")}, body: "data: {\"a/b\":\ndata:  {\"m~n\": \"x\"}}\n\n", text: "x"},
		{name: "JSON strings", kind: events, cfg: Config{TextPath: path("")}, body: "data: \"a\\n\"\n\ndata: \"b\"\n\n", text: "a\nb"},
		{name: "not only text", kind: events, cfg: Config{TextPath: path("/t")}, body: "data: {\"t\":1}\n\ndata: {\"t\":\"a\",\"error\":\"\"}\n\ndata: {\"code\":0,\"message\":\"success\"}\n\ndata: {\"error\":null}\n\n", text: "a", quirks: "[odd_type]"},
		{name: "plain", kind: "text/plain; charset=utf-8", body: "data is what\n\nyou 华 say\n", text: "data is what\n\nyou 华 say\n"},
		{name: "events that call themselves plain", kind: "text/plain", body: "data: a\n\n", text: "a"},
		{name: "events without a type", kind: "application/octet-stream", body: "id: 1\ndata: a\n\n", text: "a"},
		{name: "a document", kind: "application/json", cfg: Config{TextPath: path("/answer")}, body: `{"answer": "whole"}`, text: "whole", quirks: "[not_streamed]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			read := func(name string, from io.Reader) {
				t.Helper()
				r := &reader{events: names(c.cfg.Events), heard: func() {}}
				if c.cfg.TextPath != nil {
					var err error
					if r.path, err = parsePointer(*c.cfg.TextPath); err != nil {
						t.Fatal(err)
					}
				}
				var streamed strings.Builder
				r.on = func(d model.Delta) error {
					streamed.WriteString(d.Text)
					return nil
				}
				resp, err := r.read(c.kind, from)
				if err != nil || resp.Text != c.text || streamed.String() != c.text || resp.Finish != model.FinishStop || resp.FinishRaw != c.end || strings.Trim(fmt.Sprint(resp.Quirks), "[]") != strings.Trim(c.quirks, "[]") {
					t.Fatalf("%s: %+v, streamed %q, %v", name, resp, streamed.String(), err)
				}
			}
			read("whole", strings.NewReader(c.body))
			read("bytes", &pieces{c.body, 1})
			for i := 1; i < len(c.body); i++ {
				read(fmt.Sprint("cut at ", i), io.MultiReader(strings.NewReader(c.body[:i]), strings.NewReader(c.body[i:])))
			}
			client := upstream(t, c.cfg, answers(c.kind, c.body))
			if resp, err := client.Stream(t.Context(), asked(), ignore); err != nil || resp.Text != c.text {
				t.Fatalf("over HTTP: %+v, %v", resp, err)
			}
		})
	}
}

func names(list []string) map[string]bool {
	c, err := New(Config{URL: "http://h", Events: list})
	if err != nil {
		panic(err)
	}
	return c.events
}

// pieces reads so many bytes at once.
type pieces struct {
	rest string
	n    int
}

func (p *pieces) Read(into []byte) (int, error) {
	if p.rest == "" {
		return 0, io.EOF
	}
	n := copy(into[:min(len(into), p.n)], p.rest)
	p.rest = p.rest[n:]
	return n, nil
}

// TestWarnings: where the text is not where it should be the log is told so once,
// with the flag and the beginning of an event, without secrets.
func TestWarnings(t *testing.T) {
	long := `{"a":"` + testKey + strings.Repeat("字", 200) + `"}`
	for _, c := range []struct {
		name, kind, body string
		cfg              Config
		want             []string
	}{
		{name: "JSON events", kind: events, body: "data: {\"delta\":\"a\"}\n\ndata: {\"delta\":\"b\"}\n\n", want: []string{"answer is JSON", "--text-path", `{\"delta\":\"a\"}`}},
		{name: "long", kind: events, body: "data: " + long + "\n\n", want: []string{"字…"}},
		{name: "a document", kind: "application/json", body: `{"answer":"x"}`, want: []string{"answer is JSON", `{\"answer\"`}},
		{name: "plain", kind: "text/plain", body: "{\"delta\":\"a\"}\n{\"delta\":\"b\"}\n", want: []string{"text/plain", `{\"delta\":\"a\"}`}},
		{name: "elsewhere", kind: events, cfg: Config{TextPath: path("/t")}, body: "data: {\"x\":\"a\"}\n\ndata: {\"t\":{}}\n\n", want: []string{"no event", "text_path=/t", `{\"x\":\"a\"}`}},
		{name: "no JSON", kind: events, cfg: Config{TextPath: path("/t")}, body: "data: a\n\n", want: []string{"is not JSON", "event=a", "text_path=/t"}},
		{name: "text", kind: events, body: "data: a card:\n\ndata: {\"id\":\"p-1\"}\n\n"},
		{name: "text at the path", kind: events, cfg: Config{TextPath: path("/t")}, body: "data: {}\n\ndata: {\"t\":\"a\"}\n\n"},
		{name: "plain text", kind: "text/plain", body: "{a} b"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var log strings.Builder
			c.cfg.APIKey, c.cfg.Logger = testKey, slog.New(slog.NewTextHandler(&log, nil))
			client := upstream(t, c.cfg, answers(c.kind, c.body))
			for range 2 {
				_, _ = client.Stream(t.Context(), model.Request{}, func(model.Delta) error { return nil })
			}
			got := log.String()
			if strings.Count(got, "level=WARN") != min(1, len(c.want)) || len(got) > 700 || strings.Contains(got, testKey) {
				t.Errorf("%s", got)
			}
			for _, want := range c.want {
				if !strings.Contains(got, want) {
					t.Errorf("it lacks %q: %s", want, got)
				}
			}
		})
	}
}

func TestErrors(t *testing.T) {
	for _, c := range []struct {
		name      string
		status    int
		kind      string
		body      string
		cfg       Config
		code      string
		retryable bool
		message   string
		text      string
	}{
		{name: "key", status: 401, body: `{"message":"bad key ` + testKey + `"}`, code: model.CodeUnauthorized, message: "bad key [key]"},
		{name: "limit", status: 429, body: `{"detail":"slow down"}`, code: model.CodeRateLimited, retryable: true, message: "slow down"},
		{name: "down", status: 502, body: "<html>Bad gateway</html>", code: model.CodeUnavailable, retryable: true, message: "Bad Gateway"},
		{name: "redirect", status: 307, code: model.CodeBadRequest, message: "redirects"},
		{name: "page", status: 200, kind: "text/html; charset=utf-8", body: "<html>", code: model.CodeBadResponse, message: "web page"},
		{name: "document", status: 200, kind: "application/json", body: `{"answer":"x"}`, code: model.CodeBadResponse, message: "text_path"},
		{name: "half a document", status: 200, kind: "application/json", body: `{"answer":`, code: model.CodeBadResponse, message: "neither a stream nor JSON"},
		{name: "document with an error", status: 200, kind: "application/json", body: `{"error":{"message":"no such bot"}}`, code: model.CodeUnavailable, retryable: true, message: "no such bot"},
		{name: "error event at once", status: 200, body: "event: error\ndata: {\"message\":\"busy\",\"code\":503}\n\n", code: model.CodeUnavailable, retryable: true, message: "busy"},
		{name: "error event in words", status: 200, body: "data: half\n\nevent: error\ndata: it broke\n\n", code: model.CodeUnavailable, retryable: true, message: "it broke", text: "half"},
		{name: "error in JSON", status: 200, cfg: Config{TextPath: path("/t")}, body: "data: {\"t\":\"half\"}\n\ndata: {\"error\":\"quota of " + testKey + "\"}\n\n", code: model.CodeUnavailable, retryable: true, message: "quota of [key]", text: "half"},
		{name: "code in JSON", status: 200, cfg: Config{TextPath: path("/t")}, body: "data: {\"code\":429,\"message\":\"later\"}\n\n", code: model.CodeRateLimited, retryable: true, message: "later"},
		{name: "no JSON", status: 200, cfg: Config{TextPath: path("/t")}, body: "data: a\n\n", code: model.CodeBadResponse, message: "not JSON"},
		{name: "text elsewhere", status: 200, cfg: Config{TextPath: path("/t")}, body: "data: {\"x\":\"a\"}\n\ndata: {\"t\":{}}\n\n", code: model.CodeBadResponse, message: "none of its 2 events"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.cfg.APIKey = testKey
			client := upstream(t, c.cfg, func(w http.ResponseWriter, _ *http.Request) {
				w.Header().Set("Content-Type", c.kind)
				w.Header().Set("Location", "https://elsewhere.example/")
				w.Header().Set("Retry-After", "7")
				w.WriteHeader(c.status)
				io.WriteString(w, c.body)
			})
			resp, err := client.Stream(t.Context(), asked(), ignore)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("%+v, %v", resp, err)
			}
			if e.Code != c.code || e.Retryable != c.retryable || !strings.Contains(e.Message, c.message) || resp.Text != c.text || resp.Finish == model.FinishStop {
				t.Errorf("%+v, %+v", e, resp)
			}
			if c.status >= 400 && e.RetryAfter != 7*time.Second {
				t.Errorf("wait %s", e.RetryAfter)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the key is shown: %v", err)
			}
		})
	}
}

func TestRequest(t *testing.T) {
	var got *http.Request
	var body string
	serve := func(w http.ResponseWriter, r *http.Request) {
		raw, _ := io.ReadAll(r.Body)
		got, body = r, string(raw)
		answers(events, "data: x\n\n")(w, r)
	}
	escaped := `Say \"hi\"\n<b>\n\n[An image was attached; this model cannot see it.]`
	messages := `[{"role":"user","content":"Hello"},{"role":"assistant","content":"Good day."},{"role":"user","content":"` + escaped + `"}]`
	person := func(context.Context) Person { return Person{User: `a"nn`, Lang: "zh"} }
	for name, c := range map[string]struct{ template, want string }{
		"default":     {"", `{"messages": ` + messages + `}`},
		"words":       {`{"q": "{{.Text}}", "bare": {{ .Text }}, "system": {{.System}}, "to": "{{.Model}}/{{.User}}/{{.Lang}}"}`, `{"q": "` + escaped + `", "bare": "` + escaped + `", "system": "Be brief.", "to": "bot/a\"nn/zh"}`},
		"strings":     {`{"\"": "\\", "q": "in \"{{.Text}}\"", "stream": true}`, `{"\"": "\\", "q": "in \"` + escaped + `\"", "stream": true}`},
		"JSON inside": {`{"m": "{{.Messages}}"}`, ""},
	} {
		client := upstream(t, Config{Name: "bot", Body: c.template, APIKey: testKey, Headers: map[string]string{"X-Team": "sales"}, Person: person}, serve)
		if _, err := client.Stream(t.Context(), asked(), ignore); err != nil {
			t.Fatal(err)
		}
		var v struct{ M string }
		switch {
		case !json.Valid([]byte(body)):
			t.Errorf("%s: no JSON: %s", name, body)
		case c.want != "" && body != c.want:
			t.Errorf("%s: %s, want %s", name, body, c.want)
		case c.want == "" && (json.Unmarshal([]byte(body), &v) != nil || v.M != messages):
			t.Errorf("%s: %s", name, body)
		}
		if got.Method != "POST" || got.URL.Path != "/answer" || got.Header.Get("Authorization") != "Bearer "+testKey || got.Header.Get("X-Team") != "sales" || got.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: %s %s %v", name, got.Method, got.URL, got.Header)
		}
	}
	if q := question([]said{{model.RoleUser, "a"}, {model.RoleAssistant, "b"}}); q != "a" || question(nil) != "" {
		t.Errorf("%q", q)
	}
}

func TestToken(t *testing.T) {
	type key struct{}
	token := func(ctx context.Context) (string, error) {
		if s, ok := ctx.Value(key{}).(string); ok {
			return s, nil
		}
		return "", &model.Error{Code: model.CodeUnauthorized, Message: "no token"}
	}
	asks := 0
	client := upstream(t, Config{Token: token}, func(w http.ResponseWriter, r *http.Request) {
		asks++
		w.WriteHeader(403)
		io.WriteString(w, "not you, "+r.Header.Get("Authorization"))
	})
	if _, err := client.Stream(t.Context(), asked(), ignore); err == nil || model.AsError(err).Code != model.CodeUnauthorized || asks != 0 {
		t.Errorf("without: %v, asked %d times", err, asks)
	}
	_, err := client.Stream(context.WithValue(t.Context(), key{}, "caller-token"), asked(), ignore)
	if err == nil || model.AsError(err).Message != "not you, Bearer [key]" {
		t.Errorf("with: %v", err)
	}
}

// TestRedirectsAreNotFollowed: what is sent to one origin reaches no other.
func TestRedirectsAreNotFollowed(t *testing.T) {
	reached := false
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
	defer other.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		client := upstream(t, Config{APIKey: testKey}, func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) })
		if _, err := client.Stream(t.Context(), asked(), ignore); err == nil || !strings.Contains(err.Error(), "redirects") || reached {
			t.Errorf("%d: %v", status, err)
		}
	}
}

func TestBrokenOff(t *testing.T) {
	for name, c := range map[string]struct {
		cfg  Config
		said string
	}{"text": {Config{}, "data: half\n\n"}, "JSON": {Config{TextPath: path("/t")}, "data: {\"t\":\"half\"}\n\ndata: {\"t\":"}} {
		client := upstream(t, c.cfg, func(w http.ResponseWriter, _ *http.Request) {
			answers(events, c.said)(w, nil)
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		})
		resp, err := client.Stream(t.Context(), asked(), ignore)
		if err != nil || resp.Text != "half" || resp.Finish != model.FinishIncomplete {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
	// JSON that is cut is an end before the end, however the connection ends.
	client := upstream(t, Config{TextPath: path("/t")}, answers(events, "data: {\"t\":\"half\"}\n\ndata: {\"t\":"))
	if resp, err := client.Stream(t.Context(), asked(), ignore); err != nil || resp.Text != "half" || resp.Finish != model.FinishIncomplete {
		t.Errorf("%+v, %v", resp, err)
	}
}

func TestSilence(t *testing.T) {
	for name, said := range map[string]string{"from the start": "", "after a while": "data: half\n\n"} {
		client := upstream(t, Config{IdleTimeout: 50 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
			if said != "" {
				answers(events, said)(w, r)
				w.(http.Flusher).Flush()
			}
			_, _ = io.Copy(io.Discard, r.Body)
			<-r.Context().Done()
		})
		resp, err := client.Stream(t.Context(), asked(), ignore)
		if e := model.AsError(err); err == nil || e.Code != model.CodeTimeout || said != "" && resp.Text != "half" {
			t.Errorf("%s: %+v, %v", name, resp, err)
		}
	}
}

// TestSlowStream: a stream may take longer than it may be silent.
func TestSlowStream(t *testing.T) {
	client := upstream(t, Config{IdleTimeout: 150 * time.Millisecond}, func(w http.ResponseWriter, r *http.Request) {
		for range 10 {
			answers(events, "data: a\n\n: wait\n\n")(w, r)
			w.(http.Flusher).Flush()
			time.Sleep(30 * time.Millisecond)
		}
	})
	if resp, err := client.Stream(t.Context(), asked(), ignore); err != nil || resp.Text != "aaaaaaaaaa" {
		t.Errorf("%+v, %v", resp, err)
	}
}

// TestStopReachesTheUpstream: whoever ends the turn, or refuses more, ends the
// request.
func TestStopReachesTheUpstream(t *testing.T) {
	ended := make(chan struct{}, 2)
	client := upstream(t, Config{}, func(w http.ResponseWriter, r *http.Request) {
		defer func() { ended <- struct{}{} }()
		for r.Context().Err() == nil { // without an end
			if _, err := io.WriteString(w, "data: more\n\n"); err != nil {
				return
			}
			w.(http.Flusher).Flush()
		}
	})
	wait := func() {
		t.Helper()
		select {
		case <-ended:
		case <-time.After(10 * time.Second):
			t.Fatal("the upstream goes on")
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	resp, err := client.Stream(ctx, asked(), func(model.Delta) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || !strings.HasPrefix(resp.Text, "more") {
		t.Errorf("%v, %q", err, resp.Text)
	}
	wait()
	enough := errors.New("enough")
	if resp, err = client.Stream(t.Context(), asked(), func(model.Delta) error { return enough }); err != enough || resp.Text != "more" {
		t.Errorf("%v, %q", err, resp.Text)
	}
	wait()
}

func TestNewRefuses(t *testing.T) {
	for want, cfg := range map[string]Config{
		"absolute":       {URL: "h/x"},
		"user":           {URL: "https://ann:secret@h/x"},
		"JSON Pointer":   {URL: "https://h", TextPath: path("delta")},
		"without }}":     {URL: "https://h", Body: `{"q": {{.Text}`},
		"{{.Text}}?":     {URL: "https://h", Body: `{"q": {{.Txt}}}`},
		"there is no":    {URL: "https://h", Body: `{"q": {{if .Text}}}`},
		"become JSON":    {URL: "https://h", Body: `q={{.Text}}`},
		"exclude":        {URL: "https://h", APIKey: "k", Token: func(context.Context) (string, error) { return "", nil }},
		"cannot be set ": {URL: "https://h", Headers: map[string]string{"authorization": "x"}, Token: func(context.Context) (string, error) { return "", nil }},
	} {
		if _, err := New(cfg); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	cfg := Config{URL: "https://h.example/x?key=query-secret", APIKey: testKey, Headers: map[string]string{"X-Gateway": "header-secret"}}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{cfg, c} {
			for _, secret := range []string{testKey, "header-secret"} {
				if got := fmt.Sprintf(verb, v); strings.Contains(got, secret) {
					t.Errorf("%s of %T shows a secret: %s", verb, v, got)
				}
			}
		}
	}
	if i := c.Info(); i.Kind != Kind || i.Name != "h.example" {
		t.Errorf("%+v", i)
	}
}
