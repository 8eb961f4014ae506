package inlay_test

import (
	"context"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store/memory"
)

// witness answers every question, and the recommender with a card. It keeps
// what it was asked.
type witness struct {
	mu    sync.Mutex
	asked []model.Request
}

func (*witness) Info() model.Info { return model.Info{Kind: "test", Name: "witness"} }

func (w *witness) Stream(_ context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.asked = append(w.asked, req)
	if req.ToolChoice != model.ToolAuto {
		args := json.RawMessage(`{"items":[{"label":"Orders","hint":null,"icon":null,"kind":"route","target":"/orders"}],"reason":"asked"}`)
		return model.Response{Calls: []model.Call{{ID: "1", Name: string(req.ToolChoice), Arguments: args}}, Finish: model.FinishToolCalls}, nil
	}
	const text = "Your orders are on the page of orders."
	return model.Response{Text: text, Finish: model.FinishStop}, on(model.Delta{Text: text})
}

// requests splits what was asked into questions and what the recommender asked.
func (w *witness) requests() (turns, recommender []model.Request) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, r := range w.asked {
		if r.ToolChoice == model.ToolAuto {
			turns = append(turns, r)
		} else {
			recommender = append(recommender, r)
		}
	}
	return turns, recommender
}

// askWith runs one turn in an installation, with a client that draws
// recommendations, and returns its events and what the page is told that answers
// may lead to.
func askWith(t *testing.T, cfg inlay.Config, w *witness) (stream string, allow inlay.AllowConfig) {
	t.Helper()
	cfg.Data, cfg.LLM, cfg.Log.Level = t.TempDir(), w, "error"
	if cfg.Backend == nil {
		cfg.Backend = memory.New()
	}
	app, err := inlay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h := serve(t, app)
	get := func(method, path string, body any) []byte {
		status, _, got := h.call(method, path, body, "X-Blocks", block.FeatureRecommendationName+"@1")
		if status != http.StatusOK {
			t.Fatalf("%s: %d %s", path, status, got)
		}
		return got
	}
	stream = string(get(http.MethodPost, "/v1/chat", map[string]any{"input": map[string]string{"text": "Where are my orders?"}}))
	var config struct {
		Allow      inlay.AllowConfig
		SampleData bool
	}
	if err := json.Unmarshal(get(http.MethodGet, "/v1/client-config", nil), &config); err != nil {
		t.Fatal(err)
	}
	if with := cfg.Demo == nil || *cfg.Demo; config.SampleData != with {
		t.Errorf("the page is told of sample data: %v, want %v", config.SampleData, with)
	}
	return stream, config.Allow
}

// TestWhereAnswersMayLead expects what is configured, and the defaults of what is
// not, to hold for the page, for the recommender and for the model.
func TestWhereAnswersMayLead(t *testing.T) {
	on, off := true, false
	const openedAt = "www.example.com" // where the queries of the sample data open
	seed := []string{"minara.ai", "www.minara.ai", "agent.minara.ai"}
	for _, c := range []struct {
		name        string
		cfg         inlay.Config
		allow       inlay.AllowConfig
		recommends  bool
		shown       bool
		emits       bool
		recommender string // what the recommender's prompt says
	}{
		{
			name: "nothing configured, without sample data", cfg: inlay.Config{Demo: &off},
			allow: inlay.AllowConfig{Modals: []string{"deposit", "withdraw"}, LinkHosts: seed},
		},
		{
			name:  "nothing configured",
			allow: inlay.AllowConfig{Routes: []string{"/gallery"}, Slash: []string{"sales"}, Modals: []string{"deposit", "withdraw"}, LinkHosts: []string{"www.bls.gov", "data.gov", openedAt}},
			emits: true, recommends: true, recommender: "route: /gallery",
		},
		{
			name:  "routes",
			cfg:   inlay.Config{Demo: &off, Allow: inlay.AllowConfig{Routes: []string{"/orders"}}, Recommender: inlay.RecommenderConfig{Enabled: &on, Instructions: "Be brief."}},
			allow: inlay.AllowConfig{Routes: []string{"/orders"}, Modals: []string{"deposit", "withdraw"}, LinkHosts: seed},
			emits: true, recommends: true, shown: true, recommender: "Be brief.",
		},
		{
			name:  "empty lists",
			cfg:   inlay.Config{Demo: &off, Allow: inlay.AllowConfig{Routes: []string{"/orders"}, Modals: []string{}, LinkHosts: []string{}}, Recommender: inlay.RecommenderConfig{Enabled: &on}},
			allow: inlay.AllowConfig{Routes: []string{"/orders"}},
			emits: true, recommends: true, shown: true, recommender: "in its place:\nroute: /orders",
		},
		{
			name:  "switched off",
			cfg:   inlay.Config{Allow: inlay.AllowConfig{Routes: []string{"/orders"}, Slash: []string{}, Modals: []string{}, LinkHosts: []string{}}, Agent: inlay.AgentConfig{EmitUIBlock: &off}, Recommender: inlay.RecommenderConfig{Enabled: &off}},
			allow: inlay.AllowConfig{Routes: []string{"/orders"}, LinkHosts: []string{openedAt}},
		},
		{
			name:  "no optional blocks",
			cfg:   inlay.Config{Demo: &off, Allow: inlay.AllowConfig{Routes: []string{"/orders"}, Modals: []string{}, LinkHosts: []string{}}, Recommender: inlay.RecommenderConfig{Enabled: &on}, Limits: inlay.LimitsConfig{OptionalBlocks: -1}},
			allow: inlay.AllowConfig{Routes: []string{"/orders"}},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			var w witness
			stream, allow := askWith(t, c.cfg, &w)
			for _, l := range []struct {
				what      string
				got, want []string
			}{
				{"routes", allow.Routes, c.allow.Routes}, {"slash", allow.Slash, c.allow.Slash}, {"modals", allow.Modals, c.allow.Modals}, {"link_hosts", allow.LinkHosts, c.allow.LinkHosts},
			} {
				if !slices.Equal(l.got, l.want) {
					t.Errorf("the page is told %s %q, want %q", l.what, l.got, l.want)
				}
			}
			turns, recommender := w.requests()
			if got := len(recommender) == 1; got != c.recommends {
				t.Errorf("recommends: %v, want %v\n%s", got, c.recommends, stream)
			}
			if c.recommender != "" && len(recommender) == 1 && !strings.Contains(recommender[0].Messages[0].Content, c.recommender) {
				t.Errorf("the recommender is told\n%s\nwant %q in it", recommender[0].Messages[0].Content, c.recommender)
			}
			if got := strings.Contains(stream, `"target":"/orders"`); got != c.shown {
				t.Errorf("shown: %v, want %v\n%s", got, c.shown, stream)
			}
			if got := slices.ContainsFunc(turns[0].Tools, func(s model.ToolSpec) bool { return s.Name == "emit_ui_block" }); got != c.emits {
				t.Errorf("offered emit_ui_block: %v, want %v", got, c.emits)
			}
		})
	}
}

// TestRecommenderHasAModelOfItsOwn expects the recommender's calls, and no
// others, to name its model.
func TestRecommenderHasAModelOfItsOwn(t *testing.T) {
	on, off := true, false
	var w witness
	askWith(t, inlay.Config{
		Demo: &off, Allow: inlay.AllowConfig{Routes: []string{"/orders"}}, Recommender: inlay.RecommenderConfig{Enabled: &on, Model: "small"},
	}, &w)
	turns, recommender := w.requests()
	if len(turns) != 1 || turns[0].Name != "" || len(recommender) != 1 || recommender[0].Name != "small" {
		t.Errorf("asked %+v and %+v", turns, recommender)
	}
}

// TestEmptyListsInAFile expects [] to allow nothing, where a missing list has
// its default.
func TestEmptyListsInAFile(t *testing.T) {
	c, err := inlay.Load(write(t, "demo: false\nallow: { routes: [/orders], modals: [], link_hosts: [] }\nrecommender: { enabled: true, timeout: 2s }"), []string{"INLAY_ALLOW_SLASH=buy,sell", "INLAY_RECOMMENDER_INSTRUCTIONS=Be brief.", "INLAY_AGENT_EMIT_UI_BLOCK=false"})
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	var w witness
	_, allow := askWith(t, c, &w)
	if len(allow.Modals)+len(allow.LinkHosts) != 0 || !slices.Equal(allow.Slash, []string{"buy", "sell"}) {
		t.Errorf("%+v", allow)
	}
	turns, recommender := w.requests()
	if len(recommender) != 1 || !strings.Contains(recommender[0].Messages[0].Content, "slash: /buy, /sell") || !strings.Contains(recommender[0].Messages[0].Content, "Be brief.") {
		t.Errorf("the recommender was asked %+v", recommender)
	}
	if slices.ContainsFunc(turns[0].Tools, func(s model.ToolSpec) bool { return s.Name == "emit_ui_block" }) {
		t.Error("emit_ui_block is offered")
	}
}
