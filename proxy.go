package inlay

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
)

// proxyBlocks is how many cards an answer of an upstream may show where
// Limits.OptionalBlocks says nothing: it is the upstream that decided on them.
const proxyBlocks = 16

// NewProxy returns an App before a back end that streams text and has its own
// loop: Config.Model says where it is. What it answers is searched for cards and
// served as any answer is, with the log, the dialects and the history. It is
// offered no tools, and nobody looks at its answers to recommend a next step.
//
// Without Config.Cards the cards are ProductCard, ProductList and HotelCard, and
// chart, a chart's payload in a fence. With upstreamData also what the presets
// leave to the server (prices, stock, links) is taken from the text, which is
// then that of a system that knows; TrainCard and FlightCard are cards too.
func NewProxy(cfg Config, upstreamData bool) (*App, error) {
	llm := cfg.LLM
	if llm == nil {
		if cfg.Model.BaseURL == "" {
			return nil, errors.New("model.base_url: a proxy needs the address of its upstream")
		}
		var err error
		if cfg.Logger == nil {
			if cfg.Logger, err = NewLogger(cfg.Log, os.Stderr); err != nil {
				return nil, err
			}
		}
		if llm, err = cfg.openModel(cfg.Logger); err != nil {
			return nil, err
		}
	}
	off := false
	cfg.LLM, cfg.Demo, cfg.Agent.AskUser, cfg.Agent.EmitUIBlock = toolless{llm}, &off, false, &off
	cfg.Agent.ClientTools = &off
	cfg.Recommender = RecommenderConfig{Enabled: &off}
	if cfg.Limits.OptionalBlocks == 0 {
		cfg.Limits.OptionalBlocks = proxyBlocks
	}
	app, err := New(cfg)
	if err != nil {
		return nil, err
	}
	return app, app.addProxyCards(upstreamData)
}

// addProxyCards adds the cards of an upstream that names none.
func (a *App) addProxyCards(upstreamData bool) error {
	if len(a.cfg.Cards) > 0 {
		return nil
	}
	cards, err := proxyCards(upstreamData)
	if err != nil {
		return err
	}
	return a.AddCards(cards...)
}

// toolless is a model that is offered no tools.
type toolless struct{ model.Model }

// Stream implements model.Model.
func (t toolless) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	req.Tools, req.ToolChoice = nil, model.ToolAuto
	return t.Model.Stream(ctx, req, on)
}

// proxyCards are the cards of an upstream that names none.
func proxyCards(upstreamData bool) ([]TextCard, error) {
	var cards []TextCard
	for _, c := range markup.Presets() {
		if upstreamData {
			var err error
			if c.Type.Schema, err = believed(c.Type.Schema); err != nil {
				return nil, fmt.Errorf("card %q: %w", c.Name, err)
			}
		}
		if full, ok := fullExamples[c.Name]; ok {
			if !upstreamData {
				continue // it is nothing without what the server says
			}
			c.Example = full
		}
		cards = append(cards, c)
	}
	for _, t := range block.Builtins() {
		if t.Name == "chart" {
			cards = append(cards, TextCard{
				Name: "chart", Type: t, Hint: "Use it to show figures that you were given.",
				Example: json.RawMessage(`{"version":1,"type":"bar","title":"Sample sales","unit":"pcs","x":{"field":"region"},"series":[{"field":"amount","name":"Sales"}],"data":[{"region":"East","amount":3},{"region":"West","amount":2}]}`),
			})
		}
	}
	return cards, nil
}

// fullExamples are of the presets that cannot be without what the server says.
var fullExamples = map[string]json.RawMessage{
	"TrainCard":  json.RawMessage(`{"id":"G1234","from":"Sample East","to":"Sample West","departure":"2026-10-01T10:00:00+08:00","arrival":"2026-10-01T11:05:00+08:00","reason":"The first one that is direct."}`),
	"FlightCard": json.RawMessage(`{"id":"XX123","from":{"code":"XXE","name":"Sample East"},"to":{"code":"XXW","name":"Sample West"},"departure":"2026-10-01T10:00:00+08:00","arrival":"2026-10-01T12:05:00+08:00","reason":"It arrives before noon."}`),
}

// believed is a schema all of whose fields may stand in the text.
func believed(schema json.RawMessage) (json.RawMessage, error) {
	dec := json.NewDecoder(bytes.NewReader(schema))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("read the schema: %w", err)
	}
	var unmark func(v any)
	unmark = func(v any) {
		switch v := v.(type) {
		case []any:
			for _, one := range v {
				unmark(one)
			}
		case map[string]any:
			delete(v, "x-source")
			for _, one := range v {
				unmark(one)
			}
		}
	}
	unmark(v)
	return jsonx.Marshal(v)
}
