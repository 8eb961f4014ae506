package openai

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/model"
)

const testKey = "sk-test-0123456789"

// newEndpoint starts a server with the handler and returns a client for it.
func newEndpoint(t *testing.T, profile string, h http.HandlerFunc) *Client {
	t.Helper()
	server := httptest.NewServer(h)
	t.Cleanup(server.Close)
	p, err := LookupProfile(profile)
	if err != nil {
		t.Fatal(err)
	}
	c, err := New(Config{BaseURL: server.URL + "/v1/", APIKey: testKey, Name: "test-model", Profile: p, IdleTimeout: 5 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func ignore(model.Delta) error { return nil }

func hello() model.Request {
	return model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "Hello"}}}
}

func TestStream(t *testing.T) {
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/v1/chat/completions" || r.Header.Get("Authorization") != "Bearer "+testKey {
			t.Errorf("%s with %v", r.URL, r.Header)
		}
		io.WriteString(w, stream("stop", "Hel", "lo"))
	})
	var pieces []string
	resp, err := c.Stream(context.Background(), hello(), func(d model.Delta) error {
		pieces = append(pieces, d.Text)
		return nil
	})
	if err != nil || resp.Text != "Hello" || resp.Finish != model.FinishStop || len(pieces) != 2 || resp.FirstToken <= 0 {
		t.Errorf("%+v, %v, pieces %q", resp, err, pieces)
	}
	if c.Info() != (model.Info{Kind: "openai", Name: "test-model"}) {
		t.Errorf("info %+v", c.Info())
	}
}

func TestConnectionIsUsedAgain(t *testing.T) {
	peers := map[string]bool{}
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		peers[r.RemoteAddr] = true
		io.WriteString(w, stream("stop", "x"))
	})
	for range 5 {
		if _, err := c.Stream(context.Background(), hello(), ignore); err != nil {
			t.Fatal(err)
		}
		time.Sleep(20 * time.Millisecond) // until the rest is drained
	}
	if len(peers) != 1 {
		t.Errorf("%d connections for 5 requests", len(peers))
	}
}

func TestOpenAfterDone(t *testing.T) {
	hold := make(chan struct{})
	defer close(hold)
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, stream("stop", "x"))
		w.(http.Flusher).Flush()
		select {
		case <-hold:
		case <-r.Context().Done():
		}
	})
	start := time.Now()
	if _, err := c.Stream(context.Background(), hello(), ignore); err != nil || time.Since(start) > 3*time.Second {
		t.Errorf("%v after %v", err, time.Since(start))
	}
}

func TestBrokenOff(t *testing.T) {
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, stream("", "half"))
		io.WriteString(w, `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"id":"a","function":{"name":"f","arguments":"{}"}}]}}]}`+"\n\n")
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	resp, err := c.Stream(context.Background(), hello(), ignore)
	if err != nil || resp.Text != "half" || resp.Finish != model.FinishIncomplete || resp.Calls != nil {
		t.Errorf("%+v, %v", resp, err)
	}
	if !strings.Contains(strings.Join(resp.Quirks, ";"), "unfinished_call f {}") {
		t.Errorf("quirks %q", resp.Quirks)
	}
}

func TestSilence(t *testing.T) {
	for name, said := range map[string]string{
		"from the start": "",
		"after a while":  stream("", "half"),
	} {
		t.Run(name, func(t *testing.T) {
			c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
				if said != "" {
					io.WriteString(w, said)
					w.(http.Flusher).Flush()
				}
				io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
			c.idle = 50 * time.Millisecond
			resp, err := c.Stream(context.Background(), hello(), ignore)
			if e := model.AsError(err); err == nil || e.Code != model.CodeTimeout || !e.Retryable || said != "" && resp.Text != "half" {
				t.Errorf("%+v, %v", resp, err)
			}
		})
	}
}

func TestCommentsKeepAliveForAWhile(t *testing.T) {
	beat := func(comments int) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			for range comments {
				io.WriteString(w, ": wait\n\n")
				w.(http.Flusher).Flush()
				select {
				case <-time.After(20 * time.Millisecond):
				case <-r.Context().Done():
					return
				}
			}
			io.WriteString(w, stream("stop", "x"))
		}
	}
	c := newEndpoint(t, "openai", beat(10))
	c.idle = 100 * time.Millisecond
	if resp, err := c.Stream(context.Background(), hello(), ignore); err != nil || resp.Text != "x" {
		t.Errorf("a patient endpoint: %+v, %v", resp, err)
	}
	c = newEndpoint(t, "openai", beat(1000))
	c.idle = 100 * time.Millisecond
	if _, err := c.Stream(context.Background(), hello(), ignore); err == nil || model.AsError(err).Code != model.CodeTimeout {
		t.Errorf("nothing but comments: %v", err)
	}
}

func TestSlowConsumerIsNotSilence(t *testing.T) {
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) { io.WriteString(w, stream("stop", "a", "b")) })
	c.idle = 40 * time.Millisecond
	_, err := c.Stream(context.Background(), hello(), func(model.Delta) error {
		time.Sleep(100 * time.Millisecond)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}

func TestCancelAndRefuse(t *testing.T) {
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, stream("", "half"))
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	ctx, cancel := context.WithCancel(context.Background())
	resp, err := c.Stream(ctx, hello(), func(model.Delta) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) || resp.Text != "half" {
		t.Errorf("cancelled: %+v, %v", resp, err)
	}
	refuse := errors.New("no more")
	resp, err = c.Stream(context.Background(), hello(), func(model.Delta) error { return refuse })
	if err != refuse || resp.Text != "half" {
		t.Errorf("refused: %+v, %v", resp, err)
	}
}

func TestErrors(t *testing.T) {
	tests := []struct {
		status    int
		body      string
		code      string
		retryable bool
		message   string
	}{
		{401, `{"error":{"message":"bad key ` + testKey + `","type":"invalid_request_error"}}`, model.CodeUnauthorized, false, "bad key [key]"},
		{403, ``, model.CodeUnauthorized, false, "Forbidden"},
		{404, `{"error":{"message":"no such model","code":"model_not_found"}}`, model.CodeBadRequest, false, "no such model"},
		{400, `{"error":{"message":"This model's maximum context length is 10","code":"context_length_exceeded"}}`, model.CodeContextTooLong, false, "maximum context"},
		{400, `[{"error":{"code":400,"message":"Bad tools","status":"INVALID_ARGUMENT"}}]`, model.CodeBadRequest, false, "Bad tools"},
		{400, `{"code":"DataInspectionFailed","message":"inappropriate"}`, model.CodeContentRejected, false, "inappropriate"},
		{422, `{"detail":"extra field"}`, model.CodeBadRequest, false, "extra field"},
		{429, `{"error":{"message":"slow down","code":"rate_limit_exceeded"}}`, model.CodeRateLimited, true, "slow down"},
		{429, `{"error":{"message":"pay","code":"insufficient_quota"}}`, model.CodeRateLimited, false, "pay"},
		{500, `oops`, model.CodeUnavailable, true, "oops"},
		{502, `<html>Bad gateway</html>`, model.CodeUnavailable, true, "Bad Gateway"},
		{529, `{"error":{"message":"overloaded"}}`, model.CodeUnavailable, true, "overloaded"},
		{200, `{"error":{"message":"busy","code":503}}`, model.CodeUnavailable, true, "busy"},
		{200, `{"error":{"message":"bad","type":"invalid_request_error"}}`, model.CodeBadRequest, false, "bad"},
		{200, "event: error\ndata: {\"message\":\"slow down\",\"code\":\"rate_limit\"}\n\n", model.CodeRateLimited, true, "slow down"},
		{200, `{"code":"Throttling","message":"later"}`, model.CodeRateLimited, true, "later"},
		{200, "data: {broken}\n\n", model.CodeBadResponse, true, "not JSON"},
		{307, ``, model.CodeBadRequest, false, "redirects"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.status, " ", test.code), func(t *testing.T) {
			c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Retry-After", "7")
				if test.status == 307 {
					w.Header().Set("Location", "https://elsewhere.example/")
				}
				w.WriteHeader(test.status)
				io.WriteString(w, test.body)
			})
			_, err := c.Stream(context.Background(), hello(), ignore)
			var e *model.Error
			if !errors.As(err, &e) {
				t.Fatalf("error %v", err)
			}
			if e.Code != test.code || e.Retryable != test.retryable || !strings.Contains(e.Message, test.message) {
				t.Errorf("%+v, want %s, retryable %v, %q", e, test.code, test.retryable, test.message)
			}
			if test.status != 200 && test.status != 307 && e.RetryAfter != 7*time.Second {
				t.Errorf("wait %v", e.RetryAfter)
			}
			if strings.Contains(err.Error(), testKey) {
				t.Errorf("the key is shown: %v", err)
			}
		})
	}
}

func TestUnreachable(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	c, err := New(Config{BaseURL: server.URL + "/v1?token=hidden-token", APIKey: testKey, Name: "m"})
	if err != nil {
		t.Fatal(err)
	}
	_, err = c.Stream(context.Background(), hello(), ignore)
	if e := model.AsError(err); err == nil || e.Code != model.CodeUnavailable || !e.Retryable {
		t.Errorf("error %v", err)
	}
	if strings.Contains(err.Error(), "hidden-token") || strings.Contains(err.Error(), testKey) {
		t.Errorf("a secret is shown: %v", err)
	}
}

func TestSecretsAreNotPrinted(t *testing.T) {
	cfg := Config{BaseURL: "https://llm.example.com/v1?key=query-secret", APIKey: testKey, Name: "m", Headers: map[string]string{"X-Gateway": "header-secret"}}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, verb := range []string{"%v", "%+v", "%#v", "%s"} {
		for _, v := range []any{cfg, c} {
			got := fmt.Sprintf(verb, v)
			for _, secret := range []string{testKey, "header-secret"} {
				if strings.Contains(got, secret) {
					t.Errorf("%s of %T shows a secret: %s", verb, v, got)
				}
			}
		}
	}
}

func TestNewRefuses(t *testing.T) {
	for _, cfg := range []Config{
		{BaseURL: "", Name: "m"},
		{BaseURL: "llm.example.com/v1", Name: "m"},
		{BaseURL: "ftp://llm.example.com/v1", Name: "m"},
		{BaseURL: "https://user:secret@llm.example.com/v1", Name: "m"},
		{BaseURL: "https://llm.example.com/v1"},
		{BaseURL: "https://llm.example.com/v1", Name: "m", Profile: Profile{Name: "x", ToolIDPattern: "("}},
	} {
		if _, err := New(cfg); err == nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%v: %v", cfg, err)
		}
	}
}

func TestAzure(t *testing.T) {
	p, err := LookupProfile("azure")
	if err != nil {
		t.Fatal(err)
	}
	for base, want := range map[string]string{
		"https://r.example.com":                                          "https://r.example.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21",
		"https://r.example.com/?api-version=2025-01-01":                  "https://r.example.com/openai/deployments/gpt/chat/completions?api-version=2025-01-01",
		"https://r.example.com/openai/deployments/d":                     "https://r.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
		"https://r.example.com/openai/v1":                                "https://r.example.com/openai/v1/chat/completions",
		"https://r.example.com/openai/deployments/d/chat/completions":    "https://r.example.com/openai/deployments/d/chat/completions?api-version=2024-10-21",
		"https://r.example.com/openai/v1/chat/completions?api-version=p": "https://r.example.com/openai/v1/chat/completions?api-version=p",
	} {
		c, err := New(Config{BaseURL: base, APIKey: testKey, Name: "gpt", Profile: p})
		if err != nil {
			t.Fatal(err)
		}
		if got := c.url("gpt"); got != want {
			t.Errorf("%s: %s, want %s", base, got, want)
		}
		h := http.Header{}
		if _, err := c.authorize(t.Context(), h); err != nil || h.Get("Api-Key") != testKey || h.Get("Authorization") != "" {
			t.Errorf("headers %v", h)
		}
	}
}

func TestLookupProfile(t *testing.T) {
	for _, name := range append(ProfileNames(), "", "OpenAI") {
		if _, err := LookupProfile(name); err != nil {
			t.Error(err)
		}
	}
	_, err := LookupProfile("deepsek")
	if err == nil || !strings.Contains(err.Error(), `"deepseek"?`) {
		t.Errorf("error %v", err)
	}
	for _, p := range profiles {
		if p.ThinkTags || p.ThinkPrefilled || p.TextTools != TextToolsOff {
			t.Errorf("%s switches a dialect on", p.Name)
		}
	}
}

func TestRequestBody(t *testing.T) {
	temperature, seed := 0.5, int64(7)
	req := model.Request{
		Messages: []model.Message{
			{Role: model.RoleSystem, Content: "Be brief."},
			{Role: model.RoleUser, Content: "Look", Images: []model.Image{{Mime: "image/png", Data: []byte{0}}}},
			{Role: model.RoleAssistant, Reasoning: "old", Content: "Seen."},
			{Role: model.RoleUser, Content: "Weather?"},
			{Role: model.RoleAssistant, Reasoning: "new", Calls: []model.Call{
				{ID: "call_1", Name: "weather", Arguments: json.RawMessage(`{"city":"Oslo"}`), Extra: map[string]json.RawMessage{"extra_content": json.RawMessage(`1`)}},
				{ID: "call_2", Name: "weather", Raw: "{", Err: "cut"},
			}},
			{Role: model.RoleTool, CallID: "call_1", Content: "Rain"},
			{Role: model.RoleTool, CallID: "call_2", Content: "error"},
		},
		Tools: weather, ToolChoice: model.ToolRequired, MaxTokens: 10, Temperature: &temperature, Seed: &seed, User: "u1",
	}
	bodies := map[string]map[string]any{}
	for _, p := range profiles {
		data, err := p.requestBody("m", req)
		if err != nil {
			t.Fatal(err)
		}
		var body map[string]any
		if err := json.Unmarshal(data, &body); err != nil {
			t.Fatal(err)
		}
		bodies[p.Name] = body
	}
	at := func(profile string, path ...any) any {
		var v any = bodies[profile]
		for _, p := range path {
			switch p := p.(type) {
			case string:
				m, _ := v.(map[string]any)
				v = m[p]
			case int:
				v = v.([]any)[p]
			}
		}
		return v
	}
	for _, test := range []struct {
		got, want any
	}{
		{at("openai", "max_completion_tokens"), 10.0},
		{at("openai", "max_tokens"), nil},
		{at("deepseek", "max_tokens"), 10.0},
		{at("openai", "seed"), 7.0},
		{at("mistral", "random_seed"), 7.0},
		{at("deepseek", "seed"), nil},
		{at("openai", "user"), "u1"},
		{at("gemini", "user"), nil},
		{at("openai", "temperature"), 0.5},
		{at("openai", "stream"), true},
		{at("openai", "stream_options", "include_usage"), true},
		{at("mistral", "stream_options"), nil},
		{at("openai", "tool_choice"), "required"},
		{at("mistral", "tool_choice"), "any"},
		{at("glm", "tool_choice"), nil},
		{at("dashscope", "parallel_tool_calls"), true},
		{at("openai", "parallel_tool_calls"), nil},
		{at("openai", "tools", 0, "function", "name"), "weather"},
		{at("openai", "messages", 0, "role"), "system"},
		{at("openai", "messages", 1, "content", 1, "image_url", "url"), "data:image/png;base64,AA=="},
		{at("ollama", "messages", 1, "content"), "Look\n\n[An image was attached; this model cannot see it.]"},
		{at("openai", "messages", 4, "content"), nil},
		{at("vllm", "messages", 4, "content"), ""},
		{at("openai", "messages", 4, "reasoning_content"), nil},
		{at("deepseek", "messages", 4, "reasoning_content"), "new"},
		{at("deepseek", "messages", 2, "reasoning_content"), nil},
		{at("openrouter", "messages", 4, "reasoning"), "new"},
		{at("gemini", "messages", 4, "tool_calls", 0, "extra_content"), 1.0},
		{at("openai", "messages", 4, "tool_calls", 0, "function", "arguments"), `{"city":"Oslo"}`},
		{at("openai", "messages", 4, "tool_calls", 1, "function", "arguments"), `{}`},
		{at("openai", "messages", 5, "tool_call_id"), "call_1"},
		{at("mistral", "messages", 5, "tool_call_id"), at("mistral", "messages", 4, "tool_calls", 0, "id")},
	} {
		if !reflect.DeepEqual(test.got, test.want) {
			t.Errorf("got %v, want %v", test.got, test.want)
		}
	}
	if id := at("mistral", "messages", 5, "tool_call_id").(string); len(id) != 9 || id == at("mistral", "messages", 6, "tool_call_id") {
		t.Errorf("mistral id %q", id)
	}
}

// TestForcedCall writes what makes a model answer by one small, exact call:
// the tool by its name, strict, at temperature 0 and with few tokens. A member
// that a vendor refuses or does not know is not sent there.
func TestForcedCall(t *testing.T) {
	cold := 0.0
	spec := model.ToolSpec{Name: "recommend", Strict: true, Parameters: json.RawMessage(`{"type":"object","additionalProperties":false,"required":[],"properties":{}}`)}
	req := model.Request{
		Messages: []model.Message{{Role: model.RoleUser, Content: "x"}},
		Tools:    []model.ToolSpec{spec}, ToolChoice: "recommend", MaxTokens: 300, Temperature: &cold,
	}
	const named = `"tool_choice":{"function":{"name":"recommend"},"type":"function"}`
	for profile, want := range map[string]struct {
		choice, tokens  string
		strict, measure bool // measure: a temperature is sent
	}{
		"openai":     {named, `"max_completion_tokens":300`, true, true},
		"azure":      {named, `"max_completion_tokens":300`, true, true},
		"deepseek":   {named, `"max_tokens":300`, false, true},
		"dashscope":  {named, `"max_tokens":300`, false, true},
		"glm":        {"", `"max_tokens":300`, false, true},
		"moonshot":   {"", `"max_tokens":300`, false, false},
		"doubao":     {named, `"max_tokens":300`, false, true},
		"mistral":    {named, `"max_tokens":300`, true, true},
		"gemini":     {`"tool_choice":"required"`, `"max_tokens":300`, false, true},
		"openrouter": {named, `"max_tokens":300`, true, true},
		"vllm":       {named, `"max_tokens":300`, true, true},
		"ollama":     {"", `"max_tokens":300`, false, true},
		"llamacpp":   {`"tool_choice":"required"`, `"max_tokens":300`, false, true},
	} {
		p, err := LookupProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.requestBody("m", req)
		if err != nil {
			t.Fatal(err)
		}
		body := string(data)
		if want.choice == "" && strings.Contains(body, "tool_choice") || !strings.Contains(body, want.choice) || !strings.Contains(body, want.tokens) ||
			strings.Contains(body, `"strict":true`) != want.strict || strings.Contains(body, `"temperature":0`) != want.measure || strings.Contains(body, "parallel_tool_calls") {
			t.Errorf("%s: %s", profile, body)
		}
	}
	if len(profiles) != 13 {
		t.Errorf("%d profiles, not all of them above", len(profiles))
	}
	// Another tool beside it makes "some tool" too little; a tool that does not
	// ask for it is not strict.
	spec.Name, spec.Strict = "other", false
	req.Tools = append(req.Tools, spec)
	for profile, want := range map[string]string{"openai": named, "gemini": ""} {
		p, err := LookupProfile(profile)
		if err != nil {
			t.Fatal(err)
		}
		data, err := p.requestBody("m", req)
		if err != nil || want == "" && strings.Contains(string(data), "tool_choice") || !strings.Contains(string(data), want) || strings.Count(string(data), `"strict":true`) > 1 {
			t.Errorf("%s: %s, %v", profile, data, err)
		}
	}
}

// TestRefusedWishes expects a model that refuses a temperature or a forced
// call to be asked without, at once and from then on, and nothing else to be
// sent twice.
func TestRefusedWishes(t *testing.T) {
	const (
		noTemperature = `{"error":{"message":"Unsupported value: 'temperature' does not support 0 with this model.","type":"invalid_request_error","param":"temperature","code":"unsupported_value"}}`
		noChoice      = `{"error":{"message":"tool_choice 'specified' is incompatible with thinking enabled","type":"invalid_request_error"}}`
	)
	cold := 0.0
	request := func() model.Request {
		req := hello()
		req.Tools, req.ToolChoice, req.Temperature = weather, "weather", &cold
		return req
	}
	var bodies []string
	c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		data, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		body := string(data)
		bodies = append(bodies, body)
		switch fixed := strings.Contains(body, `"model":"test-model"`); {
		case fixed && strings.Contains(body, "temperature"):
			http.Error(w, noTemperature, http.StatusBadRequest)
		case fixed && strings.Contains(body, "tool_choice"):
			http.Error(w, noChoice, http.StatusUnprocessableEntity)
		default:
			io.WriteString(w, stream("stop", "ok"))
		}
	})
	for i, requests := range []int{3, 1} {
		bodies = nil
		if resp, err := c.Stream(t.Context(), request(), ignore); err != nil || resp.Text != "ok" || len(bodies) != requests {
			t.Errorf("round %d: %+v, %v after %q", i, resp, err, bodies)
		}
	}
	// Another model behind the same endpoint keeps its wishes.
	bodies = nil
	other := request()
	other.Name = "other-model"
	if _, err := c.Stream(t.Context(), other, ignore); err != nil || len(bodies) != 1 || !strings.Contains(bodies[0], "temperature") || !strings.Contains(bodies[0], "tool_choice") {
		t.Errorf("%v after %q", err, bodies)
	}
	// What is refused for another reason, or for something that was not sent,
	// is refused.
	for _, refusal := range []struct {
		status int
		body   string
	}{
		{400, `{"error":{"message":"max_tokens is too large"}}`},
		{400, `{"error":{"message":"maximum context length; lower the temperature"}}`},
		{500, noTemperature},
		{401, noTemperature},
	} {
		requests := 0
		c := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
			requests++
			http.Error(w, refusal.body, refusal.status)
		})
		if _, err := c.Stream(t.Context(), request(), ignore); err == nil || requests != 1 {
			t.Errorf("%d %s: %v after %d requests", refusal.status, refusal.body, err, requests)
		}
	}
	requests := 0
	plain := newEndpoint(t, "openai", func(w http.ResponseWriter, r *http.Request) {
		requests++
		http.Error(w, noChoice, http.StatusBadRequest)
	})
	none := request()
	none.ToolChoice, none.Temperature = model.ToolNone, nil
	if _, err := plain.Stream(t.Context(), none, ignore); err == nil || requests != 1 {
		t.Errorf("%v after %d requests", err, requests)
	}
}
