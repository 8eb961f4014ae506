package inlay_test

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// withSamples starts an installation with the demo model and its data.
func withSamples(t *testing.T) *house {
	t.Helper()
	yes := true
	app, err := inlay.New(inlay.Config{Demo: &yes, Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, app)
}

// before starts an installation in front of an agent elsewhere.
func before(t *testing.T, agent inlay.AgentConfig) *house {
	t.Helper()
	app, err := inlay.New(inlay.Config{Agent: agent, Data: t.TempDir(), Logger: slog.New(slog.NewTextHandler(t.Output(), nil))})
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, app)
}

// An installation may stand in front of another one, over either protocol: what
// comes of a question is the same message.
func TestAgentElsewhere(t *testing.T) {
	far := withSamples(t)
	const question = "Show every chart type"
	want := far.question("", question)
	if want.Status != "done" || !strings.Contains(want.shape(), "chart") {
		t.Fatalf("the agent itself answers %s %q", want.Status, want.shape())
	}
	for kind, path := range map[string]string{"ag-ui": "/v1/ag-ui", "ai-sdk": "/v1/ai-sdk/chat"} {
		t.Run(kind, func(t *testing.T) {
			near := before(t, inlay.AgentConfig{Kind: kind, URL: far.url + path})
			got := near.question("", question)
			if got.Status != "done" || got.shape() != want.shape() {
				t.Fatalf("%s %q, want %q (%+v)", got.Status, got.shape(), want.shape(), got.Error)
			}
			for i, b := range got.Blocks {
				if string(b.Payload) != string(want.Blocks[i].Payload) && b.Type != "query" {
					t.Errorf("block %d %s\n got %s\nwant %s", i, b.Type, b.Payload, want.Blocks[i].Payload)
				}
			}
			_, _, config := near.call("GET", "/v1/client-config", nil)
			if !strings.Contains(string(config), fmt.Sprintf(`"kind":%q`, kind)) {
				t.Errorf("the page is told %s", config)
			}
			if again := near.question(got.Conversation, question); again.Status != "done" {
				t.Errorf("the next question: %s %+v", again.Status, again.Error)
			}
		})
	}
}

// A question of the agent elsewhere is asked here, and what is answered goes back.
func TestAgentElsewhereAsks(t *testing.T) {
	far := withSamples(t)
	for kind, path := range map[string]string{"ag-ui": "/v1/ag-ui", "ai-sdk": "/v1/ai-sdk/chat?aisdk=6"} {
		t.Run(kind, func(t *testing.T) {
			near := before(t, inlay.AgentConfig{Kind: kind, URL: far.url + path})
			m := near.question("", "Approve an expense")
			if m.Status != "paused" || !strings.Contains(m.shape(), "confirm") {
				t.Fatalf("%s %q %+v", m.Status, m.shape(), m.Error)
			}
			var asked struct{ ID, Prompt string }
			for _, b := range m.Blocks {
				if b.Type == "confirm" {
					asked.ID = b.ID
					if !strings.Contains(string(b.Payload), `"amount":`) {
						t.Errorf("who is asked does not see what: %s", b.Payload)
					}
				}
			}
			status, _, raw := near.call("POST", "/v1/chat/actions", map[string]any{
				"msgId": m.ID, "blockId": asked.ID, "actionId": "approve", "payload": map[string]any{}, "idempotencyKey": "approve-" + kind,
			})
			if status != 200 && status != 202 {
				t.Fatalf("%d %s", status, raw)
			}
			for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
				if m = near.message(m.ID); m.Status != "running" && m.Status != "paused" {
					break
				}
				if time.Since(began) > 20*time.Second {
					t.Fatalf("still %s", m.Status)
				}
			}
			if last := m.Blocks[len(m.Blocks)-1]; m.Status != "done" || last.Type != "text" || len(m.Blocks) < 3 {
				t.Errorf("%s %q %+v", m.Status, m.shape(), m.Error)
			}
		})
	}
}

// What an agent found is shown as the configuration says.
func TestResultsOfAnAgentElsewhere(t *testing.T) {
	far := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range []string{
			`{"type":"RUN_STARTED","threadId":"t","runId":"r"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"weather"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"{\"city\":\"Oslo\"}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"c","content":"{\"degrees\":7}"}`,
			`{"type":"RUN_FINISHED","threadId":"t","runId":"r"}`,
		} {
			fmt.Fprintf(w, "data: %s\n\n", ev)
		}
	})
	near := before(t, inlay.AgentConfig{Kind: "ag-ui", URL: far.URL, APIKey: "sesame", Results: map[string]mapping.Block{
		"weather": {Type: "metric", Title: "Weather in {{.args.city}}", Payload: `{items: [{label: "Now", value: .body.degrees, unit: "°C"}]}`},
	}})
	m := near.question("", "How warm is it in Oslo?")
	if m.shape() != "metric" || !strings.Contains(string(m.Blocks[0].Payload), `"value":7`) {
		t.Fatalf("%s %s", m.shape(), m.Blocks)
	}
	bodies, auth := far.asked()
	if auth[0] != "Bearer sesame" || !strings.Contains(bodies[0], "How warm is it in Oslo?") {
		t.Errorf("asked with %q %s", auth[0], bodies[0])
	}
}

func TestAgentElsewhereIsChecked(t *testing.T) {
	yes := true
	there := inlay.AgentConfig{Kind: "ag-ui", URL: "https://agent.example/run"}
	with := func(change func(*inlay.Config)) inlay.Config {
		c := inlay.Config{Agent: there}
		change(&c)
		return c
	}
	for name, tt := range map[string]struct {
		config inlay.Config
		says   string
	}{
		"unknown kind":      {inlay.Config{Agent: inlay.AgentConfig{Kind: "agui", URL: "https://a.example"}}, `did you mean ag-ui`},
		"no address":        {inlay.Config{Agent: inlay.AgentConfig{Kind: "ai-sdk"}}, "agent.url: required"},
		"no kind":           {inlay.Config{Agent: inlay.AgentConfig{URL: "https://a.example"}}, "agent.kind"},
		"bad address":       {inlay.Config{Agent: inlay.AgentConfig{Kind: "ag-ui", URL: "agent.example"}}, "absolute http or https"},
		"model beside it":   {with(func(c *inlay.Config) { c.Model.BaseURL, c.Model.Name = "https://m.example", "m" }), "no model is asked"},
		"tools":             {with(func(c *inlay.Config) { c.Tools = []inlay.ToolConfig{{Name: "t"}} }), "tools:"},
		"instructions":      {with(func(c *inlay.Config) { c.Agent.System = "Be kind." }), "agent.system"},
		"sample data":       {with(func(c *inlay.Config) { c.Demo = &yes }), "demo:"},
		"recommender":       {with(func(c *inlay.Config) { c.Recommender.Enabled = &yes }), "model.base_url"},
		"key and forward":   {with(func(c *inlay.Config) { c.Agent.Auth, c.Agent.APIKey = "forward", "k" }), "agent.auth"},
		"unknown block":     {with(func(c *inlay.Config) { c.Agent.Results = map[string]mapping.Block{"t": {Type: "chrat", Payload: "."}} }), `did you mean chart`},
		"program of result": {with(func(c *inlay.Config) { c.Agent.Results = map[string]mapping.Block{"t": {Type: "chart", Payload: "{"}} }), "agent.results.t"},
	} {
		t.Run(name, func(t *testing.T) {
			c := tt.config
			c.Data, c.Logger = t.TempDir(), slog.New(slog.NewTextHandler(io.Discard, nil))
			if err := c.Check(t.Context()); err == nil || !strings.Contains(err.Error(), tt.says) {
				t.Errorf("check says %v, want %q", err, tt.says)
			}
		})
	}
	c := inlay.Config{Agent: there, Data: t.TempDir(), Logger: slog.New(slog.DiscardHandler)}
	if err := c.Check(t.Context()); err != nil {
		t.Errorf("a good one: %v", err)
	}
}
