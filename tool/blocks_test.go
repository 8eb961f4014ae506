package tool_test

import (
	"context"
	"encoding/json"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

// show runs a tool that does one thing with its Out.
func show(t *testing.T, f func(out *tool.Out) error) (*tooltest.Run, error) {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, _ struct{}, out *tool.Out) error { return f(out) })
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Call(t.Context(), tl, "", "")
}

func TestBlocks(t *testing.T) {
	tests := []struct {
		typ, fallback string
		f             func(out *tool.Out) error
	}{
		{"query", "sql\nSELECT 1", func(out *tool.Out) error { return out.Query(block.Query{Lang: "sql", Statement: "SELECT 1"}) }},
		{"image", "A sample", func(out *tool.Out) error { return out.Image(block.Image{AssetID: "a_1", Alt: "A sample"}) }},
		{"card", "Order: No S-1", func(out *tool.Out) error {
			return out.Card(block.Card{Title: "Order", Fields: []block.CardField{{Label: "No", Value: "S-1"}}})
		}},
		{"card_list", "Orders: –", func(out *tool.Out) error { return out.CardList(block.CardList{Title: "Orders"}) }},
		{"steps", "✓ One", func(out *tool.Out) error {
			return out.Steps(block.Steps{Items: []block.StepItem{{ID: "1", Label: "One", Status: "done"}}})
		}},
		{"tree", "Hello", func(out *tool.Out) error {
			return out.Tree(block.Tree{Root: block.TreeNode{Type: "text", Props: map[string]any{"value": "Hello"}}})
		}},
		{"echarts_raw", "Flow: sankey", func(out *tool.Out) error {
			return out.ECharts(block.ECharts{Title: "Flow", Option: map[string]any{"series": []any{map[string]any{"type": "sankey"}}}})
		}},
		{block.FeatureRecommendationName, "Deposit", func(out *tool.Out) error {
			return out.Recommendation(block.Recommendation{Items: []block.RecommendationItem{
				{ID: "deposit", Label: "Deposit", Action: block.ActionTo(block.Target{Kind: block.TargetModal, Value: "deposit"})},
			}})
		}},
		{"form", "Export: reason", func(out *tool.Out) error {
			return out.Form(block.Form{Title: "Export", Schema: json.RawMessage(`{"type":"object","properties":{"reason":{"type":"string"}}}`)})
		}},
	}
	for _, tt := range tests {
		run, err := show(t, tt.f)
		if err != nil {
			t.Errorf("%s: %v", tt.typ, err)
			continue
		}
		b := run.Blocks[0]
		if b.Type != tt.typ || b.Version != 1 || b.Status != block.StatusDone || b.Fallback != tt.fallback || run.Told == "" {
			t.Errorf("%s: %+v, told %q", tt.typ, b, run.Told)
		}
	}
}

// TestFormDropsBadDefaults: what a model made up does not break the form.
func TestFormDropsBadDefaults(t *testing.T) {
	values := map[string]any{"range": []string{"2026-07-01", "tomorrow"}, "reason": "review", "colour": "red"}
	run, err := show(t, func(out *tool.Out) error {
		return out.Form(block.Form{
			Title: "Export", SubmitLabel: "Send", Defaults: values,
			Schema: json.RawMessage(`{"type":"object","required":["range","size"],"additionalProperties":false,"properties":{
				"range":{"type":"array","items":{"type":"string","format":"date"},"minItems":2,"maxItems":2},"reason":{"type":"string"},"size":{"type":"integer"}}}`),
		}, "submit_export", "save_draft")
	})
	if err != nil {
		t.Fatal(err)
	}
	var f block.Form
	if err := json.Unmarshal(run.Blocks[0].Payload, &f); err != nil {
		t.Fatal(err)
	}
	if len(f.Defaults) != 1 || f.Defaults["reason"] != "review" || len(values) != 3 {
		t.Errorf("defaults %v", f.Defaults)
	}
	if !strings.Contains(run.Told, "colour, range") {
		t.Errorf("told %q", run.Told)
	}
	a := run.Blocks[0].Actions
	if len(a) != 2 || a[0].ID != "submit_export" || a[0].Kind != block.ActionAPI || a[0].Style != "primary" || a[0].Label != "Send" || a[1].ID != "save_draft" || a[1].Style != "" {
		t.Errorf("actions %+v", a)
	}
	if _, err := show(t, func(out *tool.Out) error {
		return out.Form(block.Form{Title: "x", Defaults: values, Schema: json.RawMessage(`{"type":"object","nullable":true}`)})
	}); err == nil || !strings.Contains(err.Error(), "/nullable") {
		t.Errorf("a schema that is not linted: %v", err)
	}
}

// TestMappedFormDropsBadDefaults: so does a form that configuration makes, of
// what the model gave.
func TestMappedFormDropsBadDefaults(t *testing.T) {
	const form = `{"title":"Export","schema":{"type":"object","additionalProperties":false,"properties":{
		"status":{"type":"string","enum":["open","shipped"]},"note":{"type":"string","maxLength":5}}}`
	for defaults, want := range map[string]struct{ left, told string }{
		`{"status":"evil","note":"n"}`:             {`{"note":"n"}`, "left empty: status."},
		`{"status":"evil","__proto__":{"x":1}}`:    {``, "left empty: __proto__, status."},
		`{"status":"open","note":"much too long"}`: {`{"status":"open"}`, "left empty: note."},
		`{"status":"open"}`:                        {`{"status":"open"}`, ""},
	} {
		run, err := show(t, func(out *tool.Out) error {
			return out.Mapped("form", 1, block.Meta{}, json.RawMessage(form+`,"defaults":`+defaults+`}`))
		})
		if err != nil {
			t.Errorf("%s: %v", defaults, err)
			continue
		}
		var f struct {
			Title    string          `json:"title"`
			Defaults json.RawMessage `json:"defaults"`
		}
		if err := json.Unmarshal(run.Blocks[0].Payload, &f); err != nil || f.Title != "Export" || string(f.Defaults) != want.left {
			t.Errorf("%s: %s, %v", defaults, run.Blocks[0].Payload, err)
		}
		if !strings.Contains(run.Told, want.told) || want.told == "" && strings.Contains(run.Told, "left empty") {
			t.Errorf("%s: told %q", defaults, run.Told)
		}
	}
}

// TestTreeBringsItsActions: a tree written as cards are declares its actions in
// its nodes; they become actions of the block, and those of the block win.
func TestTreeBringsItsActions(t *testing.T) {
	const tree = `{"root":{"type":"card","children":[
		{"type":"button","text":"Add","action":{"type":"api","name":"addToCart","params":{"itemId":"1"},"feedback":{"successText":"Added"}}},
		{"type":"button","props":{"text":"More"},"action":{"type":"prompt","name":"more","id":"m1","text":"Show more","prompt":"More"}},
		{"type":"button","props":{"text":"Own"},"action":{"type":"api","name":"own"}},
		{"type":"button","props":{"text":"Named"},"action":"own"}]}}`
	run, err := show(t, func(out *tool.Out) error {
		out.Actions(block.Action{ID: "own", Label: "Mine", Kind: block.ActionLocal})
		return out.Block("tree", 1, block.Meta{}, json.RawMessage(tree))
	})
	if err != nil {
		t.Fatal(err)
	}
	b := run.Blocks[0]
	got, err := json.Marshal(b.Actions)
	if err != nil {
		t.Fatal(err)
	}
	const want = `[{"id":"own","label":"Mine","kind":"local"},{"id":"addToCart","label":"Add","kind":"api","feedback":{"successText":"Added"}},` +
		`{"id":"m1","label":"Show more","kind":"prompt","action":"more","prompt":"More"}]`
	if string(got) != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	var p block.Tree
	if err := json.Unmarshal(b.Payload, &p); err != nil {
		t.Fatal(err)
	}
	if c := p.Root.Children; c[0].Action.ID != "addToCart" || c[0].Action.Params["itemId"] != "1" || c[1].Action.ID != "m1" || c[0].Props["text"] != "Add" {
		t.Errorf("payload %s", b.Payload)
	}
	if strings.Contains(string(b.Payload), `"name"`) {
		t.Errorf("payload is not in one spelling: %s", b.Payload)
	}
}

// TestServerOnly: data of others never becomes a raw chart.
func TestServerOnly(t *testing.T) {
	run, err := show(t, func(out *tool.Out) error {
		return out.UI(json.RawMessage(`{"content":"Flow","ui":{"type":"echarts_raw","data":{"option":{}}}}`))
	})
	if err != nil || run.Blocks[0].Type != "text" || !strings.Contains(run.Told, "own code only") {
		t.Errorf("%v, %+v, told %q", err, run.Blocks, run.Told)
	}
	run, err = show(t, func(out *tool.Out) error {
		return out.Mapped("echarts_raw", 1, block.Meta{}, json.RawMessage(`{"option":{}}`))
	})
	if err == nil || len(run.Blocks) != 0 {
		t.Errorf("a mapping made a raw chart: %v", err)
	}
}

const skillAnswer = `{"id":"x1","namespace":"minara","block_type":"feature_recommendation","version":"1.2.0","position":"inline",
	"data":{"items":[{"id":"deposit","label":"Deposit","action":{"kind":"modal","name":"deposit"}}]},
	"_meta":{"minara/source":"skill","acme/trace":{"n":[1,2.50]}}}`

// TestUIBlock: the answer of a skill is shown as it came, or not at all, of
// which the model is told.
func TestUIBlock(t *testing.T) {
	run, err := show(t, func(out *tool.Out) error { return out.UIBlock(json.RawMessage(skillAnswer)) })
	if err != nil || len(run.Blocks) != 1 {
		t.Fatalf("%v, %d blocks", err, len(run.Blocks))
	}
	b := run.Blocks[0]
	if b.Type != block.FeatureRecommendationName || b.Version != 1 || b.ID == "x1" || b.Meta.Position != "inline" {
		t.Errorf("block %+v", b)
	}
	if m := b.Meta.Vendor; len(m) != 2 || string(m["minara/source"]) != `"skill"` || string(m["acme/trace"]) != `{"n":[1,2.50]}` {
		t.Errorf("vendor %s", m)
	}
	for _, c := range []struct{ what, answer, code string }{
		{"no JSON", `{`, block.RefusedSchemaInvalid},
		{"no version", strings.Replace(skillAnswer, `"version":"1.2.0",`, "", 1), block.RefusedSchemaInvalid},
		{"a position of its own", strings.Replace(skillAnswer, "inline", "top", 1), block.RefusedSchemaInvalid},
		{"too much _meta", strings.Replace(skillAnswer, `"skill"`, `"`+strings.Repeat("x", block.MaxVendor)+`"`, 1), block.RefusedSchemaInvalid},
		{"an unknown type", strings.Replace(skillAnswer, "feature_recommendation", "quote", 1), block.RefusedUnknownType},
		{"another major version", strings.Replace(skillAnswer, "1.2.0", "2.0.0", 1), block.RefusedUnknownType},
		{"made by code only", `{"id":"x","namespace":"inlay","block_type":"echarts_raw","version":"1.0.0","data":{"option":{}}}`, block.RefusedUnknownType},
		{"data of another form", strings.Replace(skillAnswer, `"modal"`, `"route"`, 1), block.RefusedSchemaInvalid},
	} {
		run, err := show(t, func(out *tool.Out) error { return out.UIBlock(json.RawMessage(c.answer)) })
		if err != nil || len(run.Blocks) != 0 {
			t.Errorf("%s: %v, %d blocks", c.what, err, len(run.Blocks))
		}
		if r := run.Result.Refused; len(r) != 1 || !strings.HasPrefix(r[0], c.code+": ") || !strings.Contains(r[0], "in text") {
			t.Errorf("%s: the model is told %q", c.what, r)
		}
	}
}
