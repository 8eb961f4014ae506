package scripted_test

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/openai"
	"github.com/inlay-ui/inlay/model/scripted"
)

var offered = []string{
	"show_sales_chart", "show_region_detail", "show_server_errors", "show_unemployment", "show_airports_by_state",
	"show_sales_summary", "list_orders", "broken_source", "slow_report", "emit_ui_block",
}

func newModel(t *testing.T, opts scripted.Options) *scripted.Model {
	t.Helper()
	m, err := scripted.New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func client(t *testing.T, url string, transport http.RoundTripper) *openai.Client {
	t.Helper()
	c, err := openai.New(openai.Config{BaseURL: url + "/v1", APIKey: "demo-key", Name: scripted.Name, HTTPClient: &http.Client{Transport: transport}, IdleTimeout: 10 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func request(question string, seed int64) model.Request {
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: question}}, Seed: &seed}
	for _, name := range offered {
		req.Tools = append(req.Tools, model.ToolSpec{Name: name})
	}
	return req
}

func codeOf(err error) string {
	if err == nil {
		return ""
	}
	return model.AsError(err).Code
}

func ignore(model.Delta) error { return nil }

// plain leaves out what the two ways in may differ in.
func plain(r model.Response) model.Response {
	r.FirstToken = 0
	if r.Finish == model.FinishIncomplete {
		r.Quirks = nil
	}
	for i := range r.Calls {
		if r.Calls[i].Err != "" {
			r.Calls[i].Err = "unreadable"
		}
	}
	return r
}

// TestWireAgreesWithModel asks every question in the process and over the
// wire, under every seed that moves the cuts.
func TestWireAgreesWithModel(t *testing.T) {
	m := newModel(t, scripted.Options{APIKey: "demo-key"})
	server := httptest.NewServer(m.Handler())
	defer server.Close()
	ways := map[string]*openai.Client{
		"loopback": client(t, server.URL, http.DefaultTransport),
		"pipe":     client(t, "http://demo.invalid", scripted.RoundTripper(m.Handler())),
	}
	for _, lang := range []string{"en", "zh"} {
		for _, q := range m.Questions(lang, offered...) {
			direct, directErr := m.Stream(context.Background(), request(q, 0), ignore)
			if codeOf(directErr) == model.CodeRateLimited {
				direct, directErr = m.Stream(context.Background(), request(q, 0), ignore)
			}
			seeds := int64(16)
			if len(direct.Text) > 8<<10 || directErr != nil {
				seeds = 1
			}
			for seed := range seeds + 1 {
				for way, c := range ways {
					if way == "loopback" && seed%8 != 0 {
						continue
					}
					resp, err := c.Stream(context.Background(), request(q, seed), ignore)
					if directErr == nil && codeOf(err) == model.CodeRateLimited {
						resp, err = c.Stream(context.Background(), request(q, seed), ignore)
					}
					if codeOf(err) != codeOf(directErr) {
						t.Fatalf("%s, %s, seed %d: %v, in the process %v", q, way, seed, err, directErr)
					}
					if err == nil && !reflect.DeepEqual(plain(resp), plain(direct)) {
						t.Fatalf("%s, %s, seed %d:\n%+v\nin the process\n%+v", q, way, seed, plain(resp), plain(direct))
					}
				}
			}
		}
	}
}

// TestRecommendationsOverTheWire expects the same suggestion by both ways in,
// however the tool to be called is named in the request.
func TestRecommendationsOverTheWire(t *testing.T) {
	m := newModel(t, scripted.Options{})
	for _, question := range []string{"How do I deposit?", "数据从哪里来", "Show the Q3 sales by region"} {
		cold, seed := 0.0, int64(3)
		req := model.Request{
			Messages: []model.Message{{Role: model.RoleUser, Content: "The user asked:\n<<<\n" + question + "\n>>>\n\nThe assistant answered:\n<<<\nSo it is.\n>>>"}},
			Tools:    []model.ToolSpec{{Name: "recommend", Strict: true}}, ToolChoice: "recommend", MaxTokens: 300, Temperature: &cold, Seed: &seed,
		}
		direct, err := m.Stream(context.Background(), req, ignore)
		if err != nil || len(direct.Calls) != 1 {
			t.Fatalf("%+v, %v", direct, err)
		}
		for _, name := range []string{"openai", "mistral", "gemini"} {
			profile, err := openai.LookupProfile(name)
			if err != nil {
				t.Fatal(err)
			}
			if name == "mistral" {
				profile.ToolChoiceNamed = false // its word for "some tool" is its own
			}
			c, err := openai.New(openai.Config{
				BaseURL: "http://demo.invalid/v1", Name: scripted.Name, Profile: profile,
				HTTPClient: &http.Client{Transport: scripted.RoundTripper(m.Handler())},
			})
			if err != nil {
				t.Fatal(err)
			}
			resp, err := c.Stream(context.Background(), req, ignore)
			if err != nil {
				t.Fatal(err)
			}
			resp, direct := plain(resp), plain(direct)
			if name == "gemini" || name == "mistral" { // no usage is asked for, or no seed is sent
				resp.Usage, direct.Usage = model.Usage{}, model.Usage{}
			}
			if !reflect.DeepEqual(resp, direct) {
				t.Errorf("%s, %s:\n%+v\nin the process\n%+v", question, name, resp, direct)
			}
		}
	}
}

func TestToolLoopOverTheWire(t *testing.T) {
	m := newModel(t, scripted.Options{})
	c := client(t, "http://demo.invalid", scripted.RoundTripper(m.Handler()))
	req := request("Q3 sales by region", 5)
	resp, err := c.Stream(context.Background(), req, ignore)
	if err != nil || resp.Finish != model.FinishToolCalls || len(resp.Calls) != 1 || string(resp.Calls[0].Arguments) != `{"quarter":"2026Q3"}` {
		t.Fatalf("%+v, %v", resp, err)
	}
	req.Messages = append(req.Messages, resp.Assistant(), model.Message{
		Role: model.RoleTool, CallID: resp.Calls[0].ID,
		Content: "rows: 2\nseries Sales: total 5, max 3 (East), min 2 (West)",
	})
	resp, err = c.Stream(context.Background(), req, ignore)
	if err != nil || !strings.Contains(resp.Text, "**East** leads with 3, **West** is last with 2.") || len(resp.Quirks) != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	if resp.Usage.InputTokens == 0 || resp.Usage.OutputTokens == 0 {
		t.Errorf("usage %+v", resp.Usage)
	}
}

func TestHandlerErrors(t *testing.T) {
	m := newModel(t, scripted.Options{APIKey: "demo-key"})
	const ask = `{"model":"demo-scripted-1","stream":true,"messages":[{"role":"user","content":`
	tests := []struct {
		name, method, path, key, scenario, body string
		status                                  int
		code                                    string
	}{
		{"no key", "POST", "/v1/chat/completions", "", "", ask + `"hi"}]}`, 401, "invalid_api_key"},
		{"wrong key", "GET", "/v1/models", "other", "", "", 401, "invalid_api_key"},
		{"not JSON", "POST", "/v1/chat/completions", "demo-key", "", `{`, 400, "invalid_json"},
		{"no messages", "POST", "/v1/chat/completions", "demo-key", "", `{"model":"demo-scripted-1"}`, 400, "invalid_messages"},
		{"unknown role", "POST", "/v1/chat/completions", "demo-key", "", `{"model":"demo-scripted-1","messages":[{"role":"king"}]}`, 400, "invalid_messages"},
		{"unknown scenario", "POST", "/v1/chat/completions", "demo-key", "nothing", ask + `"hi"}]}`, 400, "bad_request"},
		{"unknown model", "POST", "/v1/chat/completions", "demo-key", "", `{"model":"other","messages":[]}`, 404, "model_not_found"},
		{"unknown path", "GET", "/v1/files", "demo-key", "", "", 404, "not_found"},
		{"rate limit", "POST", "/v1/chat/completions", "demo-key", "rate-limit", ask + `"hi"}]}`, 429, "rate_limit_exceeded"},
		{"failure", "POST", "/v1/chat/completions", "demo-key", "model-error", ask + `"hi"}]}`, 500, "server_error"},
		{"failure, not streamed", "POST", "/v1/chat/completions", "demo-key", "model-error", strings.Replace(ask, "true", "false", 1) + `"hi"}]}`, 500, "server_error"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			r := httptest.NewRequest(test.method, test.path, strings.NewReader(test.body))
			if test.key != "" {
				r.Header.Set("Authorization", "Bearer "+test.key)
			}
			if test.scenario != "" {
				r.Header.Set(scripted.ScenarioHeader, test.scenario)
			}
			w := httptest.NewRecorder()
			m.Handler().ServeHTTP(w, r)
			var body struct {
				Error struct{ Message, Type, Code string }
			}
			if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
				t.Fatalf("%v: %s", err, w.Body)
			}
			if w.Code != test.status || body.Error.Code != test.code || body.Error.Message == "" || body.Error.Type == "" {
				t.Errorf("%d %+v", w.Code, body.Error)
			}
			if (w.Header().Get("Retry-After") == "1") != (test.status == 429) {
				t.Errorf("Retry-After %q", w.Header().Get("Retry-After"))
			}
		})
	}
}

func TestHandlerAnswers(t *testing.T) {
	m := newModel(t, scripted.Options{})
	post := func(scenario, body string) *httptest.ResponseRecorder {
		r := httptest.NewRequest("POST", "/v1/chat/completions", strings.NewReader(body))
		r.Header.Set(scripted.ScenarioHeader, scenario)
		w := httptest.NewRecorder()
		m.Handler().ServeHTTP(w, r)
		return w
	}
	w := httptest.NewRecorder()
	m.Handler().ServeHTTP(w, httptest.NewRequest("GET", "/v1/models", nil))
	if w.Code != 200 || !strings.Contains(w.Body.String(), `"id":"demo-scripted-1"`) {
		t.Errorf("models: %d %s", w.Code, w.Body)
	}

	w = post("think", `{"model":"demo-scripted-1","messages":[{"role":"developer","content":"x"},{"role":"user","content":[{"type":"text","text":"hello"}]}]}`)
	var whole struct {
		Choices []struct {
			Message struct {
				Content   string
				Reasoning string `json:"reasoning_content"`
			}
			Finish string `json:"finish_reason"`
		}
		Usage struct {
			Total int `json:"total_tokens"`
		}
	}
	if err := json.Unmarshal(w.Body.Bytes(), &whole); err != nil || whole.Choices[0].Finish != "stop" || whole.Choices[0].Message.Content == "" ||
		whole.Choices[0].Message.Reasoning == "" || whole.Usage.Total == 0 || w.Header().Get(scripted.ScenarioHeader) != "think" {
		t.Errorf("not streamed: %v, %s", err, w.Body)
	}

	body := `{"model":"demo-scripted-1","stream":true,"stream_options":{"include_usage":true},"seed":3,"messages":[{"role":"user","content":"sql"}]}`
	w = post("", body)
	if !strings.HasSuffix(w.Body.String(), "data: [DONE]\n\n") || !strings.Contains(w.Body.String(), `"total_tokens"`) || !w.Flushed {
		t.Errorf("streamed: %s", w.Body)
	}
	if again := post("", body); again.Body.String() != w.Body.String() {
		t.Error("the same request has two answers")
	}

	w = post("bad-arguments", `{"model":"demo-scripted-1","messages":[{"role":"user","content":"x"}],"tools":[{"type":"function","function":{"name":"show_sales_chart"}}]}`)
	if !strings.Contains(w.Body.String(), `"arguments":"{\"quarter\": \"2026Q3"`) {
		t.Errorf("a call, not streamed: %s", w.Body)
	}

	server := httptest.NewServer(m.Handler())
	defer server.Close()
	for _, stream := range []string{"true", "false"} {
		resp, err := http.Post(server.URL+"/v1/chat/completions", "application/json", strings.NewReader(`{"model":"demo-scripted-1","stream":`+stream+`,"messages":[{"role":"user","content":"drop me"}]}`))
		if err == nil {
			_, err = io.ReadAll(resp.Body)
			resp.Body.Close()
		}
		if err == nil {
			t.Errorf("stream %s: the connection was not cut", stream)
		}
	}
}
