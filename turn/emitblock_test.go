package turn_test

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// emittable is a registry in which the model may make recommendations and notes
// itself, and nothing else.
func emittable(t *testing.T) *block.Registry {
	t.Helper()
	var types []block.Type
	for _, typ := range block.Builtins() {
		typ.ModelEmittable = typ.Name == block.FeatureRecommendationName
		types = append(types, typ)
	}
	reg, err := block.NewRegistry(append(types, block.Type{
		Name: "acme.note", Version: 1, Class: block.ClassDisplay, Source: block.SourceApp, Description: "A note.", ModelEmittable: true,
		Schema:   json.RawMessage(`{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","maxLength":10}}}`),
		Fallback: func(payload json.RawMessage) string { return "note " + string(payload) },
	})...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// newEmitting is a rig whose model may emit blocks.
func newEmitting(t *testing.T, cfg turn.Config, tools []tool.Tool, steps ...step) *rig {
	t.Helper()
	r := newRig(t, turn.Config{}, tools, steps...)
	cfg.Store, cfg.Model, cfg.Tools, cfg.Registry, cfg.EmitBlocks = r.store, r.model, r.tools, emittable(t), true
	if cfg.Destinations.Empty() {
		cfg.Destinations = places
	}
	cfg.Limits.Coalesce = -1
	var err error
	if r.runner, err = turn.New(cfg); err != nil {
		t.Fatal(err)
	}
	return r
}

func emitCall(id, args string) model.Call { return call(id, "emit_ui_block", args) }

const note = `{"type":"acme.note@1","data":{"text":"short"},"position":"inline"}`

// offeredTypes are the types that the tool was offered with in the first
// request, and its description.
func offeredTypes(r *rig) (types []string, description string) {
	for _, s := range r.model.requests()[0].Tools {
		if s.Name != "emit_ui_block" {
			continue
		}
		var schema struct {
			Properties struct{ Type struct{ Enum []string } }
		}
		if json.Unmarshal(s.Parameters, &schema) == nil {
			types = schema.Properties.Type.Enum
		}
		description = s.Description
	}
	return types, description
}

// TestEmitToolIsOfferedForWhatTheClientDraws expects the tool only where the
// client has declared a type that the model may make, and only with those.
func TestEmitToolIsOfferedForWhatTheClientDraws(t *testing.T) {
	rec := block.FeatureRecommendationName + "@1"
	own, err := tool.New(tool.Spec{Name: "emit_ui_block", Description: "The installation's own."}, func(context.Context, quarter, *tool.Out) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		caps  string // "-" declares nothing
		cfg   turn.Config
		tools []tool.Tool
		want  []string
	}{
		{name: "both", caps: "acme.note@1,chart@1," + rec, want: []string{"acme.note@1", rec}},
		{name: "one", caps: "acme.note@1,chart@1", want: []string{"acme.note@1"}},
		{name: "none that the model may make", caps: "chart@1,table@1"},
		{name: "another major", caps: "acme.note@2"},
		{name: "an empty declaration", caps: ""},
		{name: "no declaration", caps: "-"},
		{name: "nowhere to go", caps: "acme.note@1," + rec, cfg: turn.Config{Destinations: block.Destinations{Routes: []string{"none"}}}, want: []string{"acme.note@1"}},
		{name: "no places", caps: rec, cfg: turn.Config{Limits: turn.Limits{Optional: -1}}},
		{name: "a tool of that name", caps: rec, tools: []tool.Tool{own}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newEmitting(t, c.cfg, c.tools, step{text: "Well."})
			if c.name == "nowhere to go" {
				cfg := turn.Config{Store: r.store, Model: r.model, Tools: r.tools, Registry: emittable(t), EmitBlocks: true}
				if r.runner, err = turn.New(cfg); err != nil {
					t.Fatal(err)
				}
			}
			req := turn.Request{Text: "How?"}
			if c.caps != "-" {
				req.Caps = emittable(t).Negotiate(c.caps, true)
			}
			r.wait(r.start(req))
			got, description := offeredTypes(r)
			if !slices.Equal(got, c.want) {
				t.Errorf("offered for %q, want %q", got, c.want)
			}
			if slices.Contains(got, rec) && !(strings.Contains(description, places.String()) && strings.Contains(description, `"maxItems":2`)) {
				t.Errorf("described without its destinations or its schema:\n%s", description)
			}
		})
	}
}

// TestModelShowsABlock expects a block of the model's own to stand where it was
// made, known as its, and the model to learn that it is shown.
func TestModelShowsABlock(t *testing.T) {
	r := newEmitting(t, turn.Config{}, nil, step{text: "Look: ", calls: []model.Call{emitCall("e1", note)}}, step{text: "That is all."})
	s := r.start(turn.Request{Text: "How?", Caps: emittable(t).Negotiate("acme.note@1", true)})
	evs, st := r.wait(s)
	if got := types(evs); got != "start text_delta text_end tool_call_start block_end tool_call_end text_delta text_end done" {
		t.Errorf("events %s", got)
	}
	b := st.Blocks[1]
	if b.Type != "acme.note" || string(b.Payload) != `{"text":"short"}` || b.Meta.Producer != "model" || b.Meta.Position != "inline" || b.Meta.ToolCallID != "e1" {
		t.Errorf("%+v %+v", b, b.Meta)
	}
	if told := r.lastTold(); len(told) != 1 || !strings.HasPrefix(told[0], "Shown to the user") {
		t.Errorf("the model was told %q", told)
	}
	if st.Tools[0].Status != event.ToolOK {
		t.Errorf("%+v", st.Tools)
	}
	raw, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil || !strings.Contains(string(raw), `"block_id":"`+b.ID+`"`) || !strings.Contains(string(raw), `"name":"emit_ui_block"`) {
		t.Errorf("trajectory %s, %v", raw, err)
	}
}

// TestModelIsToldOfRefusals expects every refusal to reach the model with its
// code and what to do instead, and to leave no trace in the message.
func TestModelIsToldOfRefusals(t *testing.T) {
	route := func(target string) string {
		return `{"type":"minara.feature_recommendation@1","data":{"items":[{"id":"go","label":"Go","action":{"kind":"route","target":"` + target + `"}}]}}`
	}
	both := "acme.note@1,minara.feature_recommendation@1"
	for _, c := range []struct {
		name  string
		caps  string
		calls []string // the last one is refused
		want  []string
	}{
		{"a type that is not drawn", "acme.note@1", []string{route("/wallet")}, []string{"ui_block_not_supported_by_client", "[label](url)"}},
		{"a type that does not exist", both, []string{`{"type":"acme.nope@1","data":{}}`}, []string{"ui_block_unknown_type", "[label](url)"}},
		{"a major that does not exist", both, []string{`{"type":"acme.note@7","data":{"text":"a"}}`}, []string{"ui_block_unknown_type"}},
		{"a type that the model may not make", both + ",chart@1", []string{`{"type":"inlay.chart@1","data":{}}`}, []string{"ui_block_unknown_type", "call a tool"}},
		{"data of another shape", both, []string{`{"type":"acme.note@1","data":{"text":"longer than ten characters"}}`}, []string{"ui_block_schema_invalid", "/text"}},
		{"a destination that is not allowed", both, []string{route("/admin")}, []string{"ui_block_schema_invalid", "/wallet"}},
		{"a destination shown before", both, []string{route("/wallet"), route("/wallet/#top")}, []string{"ui_block_duplicate_action"}},
		{"too many", both, []string{note, strings.Replace(note, "short", "two", 1), strings.Replace(note, "short", "three", 1)}, []string{"ui_block_turn_cap_reached", "[label](url)"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var steps []step
			for i, args := range c.calls {
				steps = append(steps, step{calls: []model.Call{emitCall(string(rune('a'+i)), args)}})
			}
			r := newEmitting(t, turn.Config{}, nil, append(steps, step{text: "See [the wallet](/wallet)."})...)
			evs, st := r.wait(r.start(turn.Request{Text: "How?", Caps: emittable(t).Negotiate(c.caps, true)}))
			told := r.lastTold()
			last := told[len(told)-1]
			for _, w := range c.want {
				if !strings.Contains(last, w) {
					t.Errorf("the model was told %q, want %s in it", last, w)
				}
			}
			if !strings.HasPrefix(last, "error: ui_block_") {
				t.Errorf("the model was told %q", last)
			}
			if got := len(st.Blocks); got != len(c.calls) { // those that were shown, and the text
				t.Errorf("%d blocks: %s", got, text(st))
			}
			if strings.Contains(types(evs), "block_start") || strings.Contains(types(evs), "block_error") {
				t.Errorf("events %s", types(evs))
			}
			if got := st.Tools[len(st.Tools)-1].Status; got != event.ToolError || st.Status != event.StatusDone {
				t.Errorf("the call is %s, the turn %s", got, st.Status)
			}
		})
	}
}

// TestHalfARecommendationIsShown expects an item that may not be shown to be
// left out of the model's card, and the model to learn which and why.
func TestHalfARecommendationIsShown(t *testing.T) {
	r := newEmitting(t, turn.Config{}, nil, step{calls: []model.Call{emitCall("e1", `{"type":"minara.feature_recommendation@1","data":{"items":[`+
		`{"id":"a","label":"Admin","action":{"kind":"route","target":"/admin"}},{"id":"b","label":"Wallet","action":{"kind":"route","target":"/wallet"}}]}}`)}}, step{text: "Done."})
	_, st := r.wait(r.start(turn.Request{Text: "How?", Caps: emittable(t).Negotiate(card, true)}))
	if got := string(st.Blocks[0].Payload); strings.Contains(got, "admin") || !strings.Contains(got, "/wallet") {
		t.Errorf("payload %s", got)
	}
	if told := r.lastTold(); !strings.Contains(told[0], "Not shown: ui_block_schema_invalid: item 1 (route /admin)") {
		t.Errorf("the model was told %q", told)
	}
}

// TestEmittedBlockSilencesTheRecommender expects no second card in a turn in
// which the model has made one.
func TestEmittedBlockSilencesTheRecommender(t *testing.T) {
	rec := &script{steps: []step{suggest(toDeposit)}}
	r := newEmitting(t, turn.Config{Recommend: &turn.Recommend{Model: rec}}, nil, step{calls: []model.Call{emitCall("e1", note)}}, step{text: wholeAnswer})
	r.wait(r.start(turn.Request{Text: "How?", Caps: emittable(t).Negotiate("acme.note@1,"+card, true)}))
	if len(rec.requests()) != 0 {
		t.Error("the recommender was asked")
	}
}

// TestUnknownArgumentsOfTheEmitTool expects arguments of no use at all to be
// refused as those of every tool are.
func TestUnknownArgumentsOfTheEmitTool(t *testing.T) {
	r := newEmitting(t, turn.Config{}, nil, step{calls: []model.Call{emitCall("e1", `{"type":"acme.note@1","data":"text"}`)}}, step{text: "Well."})
	r.wait(r.start(turn.Request{Text: "How?", Caps: emittable(t).Negotiate("acme.note@1", true)}))
	if told := r.lastTold(); !strings.HasPrefix(told[0], "error: invalid_arguments") {
		t.Errorf("the model was told %q", told)
	}
}

// TestModelsBlocksStandInItsOrder expects the blocks of one step in the order
// that the model named them in, and the places to go to the first.
func TestModelsBlocksStandInItsOrder(t *testing.T) {
	var calls []model.Call
	for _, s := range strings.Split("abcdefgh", "") {
		calls = append(calls, emitCall("c-"+s, `{"type":"acme.note@1","data":{"text":"`+s+`"}}`))
	}
	r := newEmitting(t, turn.Config{Limits: turn.Limits{Optional: 6}}, nil, step{calls: calls}, step{text: "Done."})
	_, st := r.wait(r.start(turn.Request{Text: "Notes?", Caps: emittable(t).Negotiate("acme.note@1", true)}))
	var got []string
	for _, b := range st.Blocks {
		if b.Type == "acme.note" {
			got = append(got, string(b.Payload))
		}
	}
	if got := strings.Join(got, ""); got != `{"text":"a"}{"text":"b"}{"text":"c"}{"text":"d"}{"text":"e"}{"text":"f"}` {
		t.Errorf("shown %s", got)
	}
}
