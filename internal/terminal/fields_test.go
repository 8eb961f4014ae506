package terminal

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

func find(t *testing.T, typ, name string) block.Block {
	t.Helper()
	for _, f := range gallery(t) {
		for _, c := range f.Cases {
			if f.Type == typ && c.Name == name {
				return c.Block
			}
		}
	}
	t.Fatalf("the gallery has no %s/%s", typ, name)
	return block.Block{}
}

func form(t *testing.T, name string) block.Form {
	t.Helper()
	var f block.Form
	if !decode(find(t, "form", name).Payload, &f) {
		t.Fatal("not a form")
	}
	return f
}

// TestFields: each control of a form as a question of one line.
func TestFields(t *testing.T) {
	f := form(t, "every-control")
	kinds := make(map[string]FieldKind)
	for _, x := range Fields(f.Schema, f.UISchema, f.Defaults, f.Defaults) {
		kinds[strings.Join(x.Path, ".")] = x.Kind
		if secret := x.Path[0] == "password"; secret != x.Secret {
			t.Errorf("%s: secret %v", x.Label, x.Secret)
		}
	}
	for name, want := range map[string]FieldKind{
		"name": FieldText, "plan": FieldChoice, "size": FieldChoice, "days": FieldChoices, "count": FieldInteger,
	} {
		if got, ok := kinds[name]; !ok || got != want {
			t.Errorf("%s is %v (%v), want %v", name, got, ok, want)
		}
	}
	for _, want := range []FieldKind{FieldBool, FieldRange, FieldFile} {
		found := false
		for _, k := range kinds {
			found = found || k == want
		}
		if !found {
			t.Errorf("no field of kind %v", want)
		}
	}
}

// TestConditionalFields are asked for when the answers before want them.
func TestConditionalFields(t *testing.T) {
	f := form(t, "conditional")
	labels := func(values map[string]any) string {
		var out []string
		for _, x := range Fields(f.Schema, f.UISchema, f.Defaults, values) {
			out = append(out, x.Pointer())
		}
		return strings.Join(out, " ")
	}
	if got := labels(map[string]any{"kind": "pickup"}); got != "/kind" {
		t.Errorf("picked up: %s", got)
	}
	if got := labels(map[string]any{"kind": "post"}); got != "/kind /address/street /address/zip" {
		t.Errorf("by post: %s", got)
	}
	values := map[string]any{"kind": "post"}
	for _, x := range Fields(f.Schema, f.UISchema, f.Defaults, values)[1:] {
		x.Set(values, x.Label)
	}
	raw, err := json.Marshal(values)
	if err != nil || string(raw) != `{"address":{"street":"Street","zip":"Code"},"kind":"post"}` {
		t.Errorf("the values are %s, %v", raw, err)
	}
	if x, ok := FieldNamed(Fields(f.Schema, f.UISchema, f.Defaults, values), "/address/zip"); !ok || x.Label != "Code" {
		t.Errorf("a violation is of %+v", x)
	}
}

func TestAnswers(t *testing.T) {
	r := New(Options{})
	options := []Option{{"s", "Small"}, {json.Number("2"), "Medium"}}
	for _, c := range []struct {
		f     Field
		typed string
		want  string
		wrong string
	}{
		{Field{}, " words ", `"words"`, ""},
		{Field{Required: true}, " ", "", "An answer is needed."},
		{Field{Kind: FieldInteger}, "12", `12`, ""},
		{Field{Kind: FieldInteger}, "1.5", "", "That is no whole number."},
		{Field{Kind: FieldNumber}, "1.50", `1.50`, ""},
		{Field{Kind: FieldNumber}, "1,5", "", "That is no number."},
		{Field{Kind: FieldNumber}, "true", "", "That is no number."},
		{Field{Kind: FieldBool}, "Yes", `true`, ""},
		{Field{Kind: FieldBool}, "否", `false`, ""},
		{Field{Kind: FieldBool}, "maybe", "", "Answer y or n."},
		{Field{Kind: FieldChoice, Options: options}, "2", `2`, ""},
		{Field{Kind: FieldChoice, Options: options}, "small", `"s"`, ""},
		{Field{Kind: FieldChoice, Options: options}, "3", "", "Choose one of the numbers."},
		{Field{Kind: FieldChoices, Options: options}, "2, 1，2", `[2,"s"]`, ""},
		{Field{Kind: FieldList}, "a, b c", `["a","b c"]`, ""},
		{Field{Kind: FieldList, numbers: true}, "1, 2", `[1,2]`, ""},
		{Field{Kind: FieldList, numbers: true}, "1, x", "", "That is no number."},
		{Field{Kind: FieldRange}, "2026-07-01 – 2026-09-30", `["2026-07-01","2026-09-30"]`, ""},
		{Field{Kind: FieldRange}, "2026-07-01", "", "Write two dates."},
		{Field{Kind: FieldJSON}, `[{"a":1}]`, `[{"a":1}]`, ""},
		{Field{Kind: FieldJSON}, `{`, "", "That is not JSON."},
	} {
		v, wrong := r.Answer(c.f, c.typed, nil)
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		if wrong != c.wrong || wrong == "" && string(raw) != c.want {
			t.Errorf("%q for kind %v is %s (%s), want %s (%s)", c.typed, c.f.Kind, raw, wrong, c.want, c.wrong)
		}
	}
	if v, wrong := r.Answer(Field{Required: true}, "", "kept"); v != "kept" || wrong != "" {
		t.Errorf("Enter keeps %v (%s)", v, wrong)
	}
}

// TestTreeChoices: the buttons of a tree are choices with what they send, and
// its inputs are asked for, as on the page.
func TestTreeChoices(t *testing.T) {
	r := New(Options{})
	list := r.Choices(find(t, "tree", "product"))
	if len(list) != 1 || list[0].Action.ID != "addToCart" || list[0].Payload["itemId"] != "12345" {
		t.Errorf("the product's choices are %+v", list)
	}
	list = r.Choices(find(t, "tree", "canonical"))
	if len(list) != 1 || list[0].Label != "Send" || list[0].Payload["order"] != "S-1001" {
		t.Fatalf("the canonical tree's choices are %+v", list)
	}
	var labels []string
	for _, f := range list[0].Fields {
		labels = append(labels, f.Label)
	}
	if !slices.Equal(labels, []string{"Note", "Size"}) || list[0].Fields[1].Options[2].Label != "Large" {
		t.Errorf("it asks for %v", labels)
	}
}

// TestTreeTokens: looks are tokens, which a terminal has its own styles for;
// what it does not know is the default.
func TestTreeTokens(t *testing.T) {
	draw := func(style, color string) string {
		payload, err := json.Marshal(map[string]any{"root": map[string]any{"type": "text", "props": map[string]any{"value": "x", "style": style, "color": color}}})
		if err != nil {
			t.Fatal(err)
		}
		return New(Options{Color: true}).Block(block.Block{Type: "tree", Version: 1, Status: block.StatusDone, Payload: payload})
	}
	for _, c := range []struct{ style, color, want string }{
		{"title", "", "\x1b[1;4mx\x1b[0m\n"},
		{"text.title", "", "\x1b[1;4mx\x1b[0m\n"},
		{"", "color.danger", "\x1b[31mx\x1b[0m\n"},
		{"caption", "success", "\x1b[2;32mx\x1b[0m\n"},
		{"no.such.token", "color.nothing", "x\n"},
		{"font-size: 90px", "#ff0000", "x\n"},
	} {
		if got := draw(c.style, c.color); got != c.want {
			t.Errorf("style %q, color %q: %q, want %q", c.style, c.color, got, c.want)
		}
	}
}

// TestChoicesFollowTheState: what is locked cannot be done again.
func TestChoicesFollowTheState(t *testing.T) {
	r := New(Options{})
	for _, c := range []struct {
		typ, name string
		want      int
	}{
		{"form", "export", 1}, {"form", "locked", 0}, {"form", "submitting", 0}, {"form", "refused", 1},
		{"confirm", "refund", 2}, {"confirm", "approved", 0}, {"confirm", "expired", 0},
		{"question", "options", 3}, {"question", "answered", 0},
		{"card", "product", 2}, {"card", "locked", 0},
		{"chart", "failed", 1}, {"chart", "loading", 0},
	} {
		if got := r.Choices(find(t, c.typ, c.name)); len(got) != c.want {
			t.Errorf("%s/%s: %d choices, want %d", c.typ, c.name, len(got), c.want)
		}
	}
}
