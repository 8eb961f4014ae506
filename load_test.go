package inlay_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
)

const whole = `
model:
  base_url: https://llm.example.com/v1
  api_key_env: TEST_LLM_KEY
  name: some-model
  profile: deepseek
agent:
  system: |
    You help the sales team.
  max_steps: 6
sources:
  sales: { sql: { dsn: "sqlite:./sales.db", read_only: true, max_rows: 5000, timeout: 10s } }
  erp: { http: { base_url: https://erp.example.com/api, auth: forward, timeout: 10s } }
tools:
  - name: show_sales_chart
    description: Show sales by region for one quarter.
    parameters:
      type: object
      properties: { quarter: { type: string, pattern: "^[0-9]{4}Q[1-4]$" }, chartType: { enum: [bar, line, pie] } }
      required: [quarter]
    source: sales
    query: "SELECT region, amount FROM sales WHERE quarter = :quarter ORDER BY amount DESC"
    block:
      type: chart
      payload: |
        {version: 1, type: (.args.chartType // "bar"), title: "\(.args.quarter) sales by region", unit: "10k CNY",
         x: {field: "region"}, series: [{field: "amount", name: "Sales"}], data: .rows}
    summary: auto
  - name: find_orders
    description: Find orders by status.
    parameters: { type: object, properties: { status: { type: string } }, required: [status] }
    source: erp
    request: { method: GET, path: /orders, query: { status: "{{.args.status}}" } }
    block: { type: table, payload: '{columns: [{field: "id", label: "Order"}], rows: .body.items}' }
auth: { mode: dev, origins: ["https://app.example.com"] }
allow: { link_hosts: [docs.example.com] }
limits: { coalesce: 50ms, input_bytes: 1000 }
store: { url: "sqlite:./inlay-data/inlay.db" }
`

func write(t *testing.T, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "inlay.yaml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestLoad(t *testing.T) {
	t.Setenv("TEST_LLM_KEY", "k")
	c, err := inlay.Load(write(t, whole), []string{"INLAY_AGENT_MAX_STEPS=4", "INLAY_ADDR=127.0.0.1:0", "INLAY_ALLOW_LINK_HOSTS=a.example,b.example", "HOME=/root"})
	if err != nil {
		t.Fatal(err)
	}
	if c.Agent.MaxSteps != 4 || c.Addr != "127.0.0.1:0" || c.Limits.Coalesce != 50*time.Millisecond || c.Sources["sales"].SQL.Timeout != 10*time.Second ||
		len(c.Allow.LinkHosts) != 2 || len(c.Tools) != 2 || c.Tools[1].Request.Query["status"] != "{{.args.status}}" || c.Auth.Origins[0] != "https://app.example.com" {
		t.Errorf("%+v", c)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
}

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct{ name, yaml, env, want string }{
		{"unknown key", "modle: {}", "", `did you mean model?`},
		{"unknown nested key", "model: { base_ulr: x }", "", "did you mean model.base_url?"},
		{"unknown key of a list", "tools:\n  - nmae: x", "", "tools[0].nmae"},
		{"secret in the file", "model: { api_key: sk-1 }", "", "use model.api_key_env or model.api_key_file"},
		{"bare duration", "limits: { coalesce: 30 }", "", "write it with a unit"},
		{"wrong duration", "limits: { coalesce: soon }", "", "is not a duration"},
		{"not YAML", "model: [", "", "yaml"},
		{"indented with a tab", "model:\n\tname: x", "", "not with tabs"},
		{"a list", "- model", "", "the file must hold keys"},
		{"wrong kind", "agent: { max_steps: many }", "", `agent.max_steps: "many" is not a whole number`},
		{"wrong kind in a list", "tools: [{ name: [a] }]", "", "tools[0].name must be text"},
		{"wrong kind by variable", "", "INLAY_CAPABILITIES_STRICT=maybe", `capabilities.strict: "maybe" is not true or false`},
		{"fraction", "agent: { max_steps: 1.5 }", "", "1.5 is not a whole number"},
		{"unknown variable", "", "INLAY_MODEL_BASE_ULR=x", "did you mean INLAY_MODEL_BASE_URL?"},
		{"variable of a list", "", "INLAY_CARDS=x", "INLAY_CARDS sets nothing: cards holds more than a word and is set in a file"},
		{"variable of a section", "", "INLAY_SUGGESTIONS=x", "INLAY_SUGGESTIONS sets nothing: suggestions holds more than a word and is set in a file"},
		{"unknown key of the recommender", "recommender: { modle: x }", "", "did you mean recommender.model?"},
		{"unknown key of allow", "allow: { route: [/wallet] }", "", "did you mean allow.routes?"},
	} {
		_, err := inlay.Load(write(t, c.yaml), []string{c.env})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
		if err != nil && strings.Contains(err.Error(), "sk-1") {
			t.Errorf("%s: the message holds the secret", c.name)
		}
	}
}

func TestCheckErrors(t *testing.T) {
	const sales = "sources: { sales: { sql: { dsn: 'sqlite:./x.db' } } }\n"
	for _, c := range []struct{ name, yaml, want string }{
		{"model without name", "model: { base_url: 'https://x.example/v1' }", "model.name"},
		{"name without base", "model: { name: x }", "model.base_url"},
		{"profile", "model: { base_url: 'https://x.example/v1', name: x, profile: deepsek }", "deepseek"},
		{"missing key", "model: { base_url: 'https://x.example/v1', name: x, api_key_env: NOT_THERE_AT_ALL }", "NOT_THERE_AT_ALL is not set"},
		{"jwt without a key", "auth: { mode: jwt }", "auth.jwks_file"},
		{"proxy without networks", "auth: { mode: proxy }", "auth.trusted_proxies"},
		{"auth mode", "auth: { mode: jwtt }", "did you mean jwt?"},
		{"source", sales + "tools: [{ name: a, description: b, source: salse, query: 'SELECT 1' }]", "did you mean sales?"},
		{"query missing", sales + "tools: [{ name: a, description: b, source: sales }]", "query is required"},
		{"block type", sales + "tools: [{ name: a, description: b, source: sales, query: 'SELECT 1', block: { type: chrat, payload: '{}' } }]", `"chrat" is not registered; did you mean chart?`},
		{"bad jq", sales + "tools: [{ name: a, description: b, source: sales, query: 'SELECT 1', block: { type: table, payload: '{' } }]", "payload"},
		{"two kinds", "sources: { s: {} }", "exactly one of sql and http"},
		{"DSN of no database", "sources: { s: { sql: { dsn: 'sqlit:x.db' } } }", `sources.s: sql: a DSN starts with sqlite:`},
		{"store", "store: { url: 'postgres://x' }", `"postgres" is not a store`},
		{"no DSN", "sources: { s: { sql: {} } }", "sources.s: sql: "},
		{"route without its slash", "allow: { routes: [/wallet, wallet/deposit] }", `allow.routes[1]: "wallet/deposit": begins with a slash and a letter or digit; did you mean /wallet/deposit?`},
		{"route with a query", "allow: { routes: ['/wallet?x=1'] }", "did you mean /wallet?"},
		{"route out of the application", "allow: { routes: [//evil.example] }", "allow.routes[0]: "},
		{"command with its arguments", "allow: { slash: ['/buy 100 BTC'] }", "a verb alone; did you mean /buy?"},
		{"command in capitals", "allow: { slash: [Buy] }", "allow.slash[0]: "},
		{"modal with a blank", "allow: { modals: [Deposit now] }", "did you mean deposit_now?"},
		{"address for a host", "allow: { link_hosts: ['https://Docs.example.com/a'] }", `allow.link_hosts[0]: "https://Docs.example.com/a": a host, *. and a host, or *; did you mean docs.example.com?`},
		{"address for a host of images", "allow: { image_hosts: ['img.example.com:8080'] }", "allow.image_hosts[0]: "},
		{"recommender without a destination", "recommender: { enabled: true }\nallow: { routes: [], slash: [], modals: [], link_hosts: [] }", "recommender.enabled: "},
		{"recommender's time", "recommender: { timeout: 5m }", "recommender.timeout: 5m0s must be between 0s and 30s"},
		{"recommender's model without an endpoint", "recommender: { model: small }", "recommender.model: "},
		{"blocks of a conversation", "limits: { session_blocks: 3 }", "limits.session_cap: true"},
		{"repeats", "limits: { session_cap: true, session_repeat_turns: -1 }", "limits.session_repeat_turns: -1 must not be negative"},
	} {
		cfg, err := inlay.Load(write(t, c.yaml), nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q in it", c.name, err, c.want)
		}
	}
}

// TestDevModeStaysOnLoopback expects an address that others can reach to be
// refused while everybody is let in.
func TestDevModeStaysOnLoopback(t *testing.T) {
	app, err := inlay.New(inlay.Config{Data: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	ln, err := net.Listen("tcp", "0.0.0.0:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	err = app.Serve(ctx, ln, nil)
	if err == nil || !strings.Contains(err.Error(), "loopback") {
		t.Errorf("serve on all addresses: %v", err)
	}
}

// TestDoctor expects what will not work to be found, with a cure, and the rest
// to be called good.
func TestDoctor(t *testing.T) {
	busy, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = busy.Close() }()
	endpoint := httptest.NewServer(http.NotFoundHandler())
	defer endpoint.Close()
	failing := func(cfg inlay.Config) []string {
		cfg.Data = t.TempDir()
		var what []string
		for _, f := range cfg.Doctor(t.Context()) {
			if f.Err != nil {
				what = append(what, f.What)
			}
			if (f.Err != nil) != (f.Cure != "") {
				t.Errorf("%s: error %v with cure %q", f.What, f.Err, f.Cure)
			}
		}
		return what
	}
	for _, c := range []struct {
		name string
		cfg  inlay.Config
		want []string
	}{
		{"nothing configured, whether the default port is free or not", inlay.Config{}, nil},
		{"busy port that was asked for", inlay.Config{Addr: busy.Addr().String()}, []string{"address"}},
		{"configuration", inlay.Config{Model: inlay.ModelConfig{Name: "x"}}, []string{"configuration"}},
		{"database that is not there", inlay.Config{Addr: "127.0.0.1:0", Sources: map[string]inlay.SourceConfig{
			"shop": {SQL: &inlay.SQLSource{DSN: "sqlite:" + filepath.Join(t.TempDir(), "none.db")}},
		}}, []string{"source shop"}},
		{"bucket that cannot be reached", inlay.Config{Addr: "127.0.0.1:0", Assets: inlay.AssetsConfig{URL: "s3://samples?endpoint=http://127.0.0.1:1&region=x"}}, []string{"files"}},
		{"model's endpoint", inlay.Config{Addr: "127.0.0.1:0", Model: inlay.ModelConfig{BaseURL: endpoint.URL, Name: "x"}}, []string{"model"}},
		{"recommender's model", inlay.Config{
			Addr: "127.0.0.1:0", Model: inlay.ModelConfig{BaseURL: endpoint.URL, Name: "x"}, Recommender: inlay.RecommenderConfig{Model: "y"},
		}, []string{"model", "recommender"}},
	} {
		if got := failing(c.cfg); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q failed, want %q", c.name, got, c.want)
		}
	}
}
