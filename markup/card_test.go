package markup_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/markup"
)

func fallback(json.RawMessage) string { return "a card" }

// nothing is a resolver that knows nothing.
func nothing(context.Context, []string) (map[string]json.RawMessage, error) { return nil, nil }

// simple is a card of a schema.
func simple(name, schema, example string) markup.Card {
	return markup.Card{Name: name, Type: block.Type{Schema: json.RawMessage(schema), Fallback: fallback}, Example: json.RawMessage(example)}
}

// withTag is a card of an element.
func withTag(spec markup.TagSpec) markup.Card {
	c := simple("artifact", `{"type":"object"}`, `{"id":"a"}`)
	c.Syntaxes, c.Tag = []markup.Syntax{markup.Tag}, spec
	return c
}

func preset(t *testing.T, name string) markup.Card {
	t.Helper()
	c, err := markup.Preset(name)
	if err != nil {
		t.Fatal(err)
	}
	c.Resolve = nothing
	return c
}

func cardsOf(t *testing.T, list ...markup.Card) *markup.Cards {
	t.Helper()
	c, err := markup.NewCards(list...)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// presets are all presets, with a resolver each.
func presets(t *testing.T) *markup.Cards {
	t.Helper()
	list := markup.Presets()
	for i := range list {
		list[i].Resolve = nothing
	}
	return cardsOf(t, list...)
}

// tagged is a card that is written as a tag.
func tagged() markup.Card {
	c := simple("artifact", `{"type":"object","additionalProperties":false,"required":["title"],"properties":{
		"title":{"type":"string"},"id":{"type":"string"},"text":{"type":"string"},
		"children":{"type":"array","items":{"type":"object","additionalProperties":false,"required":["tag"],
			"properties":{"tag":{"const":"action"},"type":{"enum":["shell","file"]},"text":{"type":"string"}}}}}}`,
		`{"title":"Set \"up\"","id":"a1","children":[{"tag":"action","type":"shell","text":"npm ci && npm test"}]}`)
	c.Type.Name = "app.artifact"
	c.Syntaxes = []markup.Syntax{markup.Tag}
	c.Tag = markup.TagSpec{Children: map[string]markup.TagSpec{"action": {Raw: true}}}
	return c
}

// What the prompt shows is what is read: every example of every card, in every
// syntax, becomes one card that fits its schema.
func TestPromptAndReaderAgree(t *testing.T) {
	cards := presets(t)
	if err := cards.Add(tagged(), simple("NoteCard", `{"type":"object","required":["text"],"properties":{"text":{"type":"string"}}}`, "{\"text\":\"```\"}")); err != nil {
		t.Fatal(err)
	}
	embed := markup.Syntaxes()
	prompt := cards.Prompt(embed, nil)
	seen := make(map[string]map[markup.Syntax]bool)
	r := markup.NewReader(cards, embed, func(f markup.Found) {
		switch f.Kind {
		case markup.Fallback:
			t.Errorf("%s: %s\n%s", f.Written.Name, f.Reason, f.Source)
		case markup.End:
			d, err := cards.Draft(f.Written)
			if err != nil {
				t.Errorf("%s: %v", f.Written.Name, err)
			}
			if len(d.Dropped)+len(d.Unknown) > 0 {
				t.Errorf("%s: dropped %v %v", f.Written.Name, d.Dropped, d.Unknown)
			}
			if seen[f.Written.Name] == nil {
				seen[f.Written.Name] = make(map[markup.Syntax]bool)
			}
			seen[f.Written.Name][f.Syntax] = true
		}
	})
	r.Push(prompt)
	r.Close(markup.Stop)
	for _, c := range cards.All() {
		for _, s := range c.Syntaxes {
			if !seen[c.Name][s] {
				t.Errorf("%s: the prompt shows none as a %s", c.Name, s)
			}
		}
		if c.Hint != "" && !strings.Contains(prompt, c.Hint) {
			t.Errorf("%s: the prompt lacks its hint", c.Name)
		}
	}
}

func TestPromptSaysOnlyWhatCanBeDrawn(t *testing.T) {
	cards := presets(t)
	only := func(names ...string) func(block.Type) bool {
		return func(t block.Type) bool { return slices.Contains(names, t.Name) }
	}
	got := cards.Prompt([]markup.Syntax{markup.Fence}, only("app.product_card"))
	for _, want := range []string{"## ProductCard", "- id: text; Id of the product", "- title: text, required", "Filled in by the server:", "price", "stock", "```ProductCard\n{"} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, got)
		}
	}
	for _, not := range []string{"TrainCard", "[(", "- price", "<"} {
		if strings.Contains(got, not) {
			t.Errorf("the prompt has %q:\n%s", not, got)
		}
	}
	if got := cards.Prompt([]markup.Syntax{markup.Fence}, only()); got != "" {
		t.Errorf("a prompt of no card: %s", got)
	}
	if got := cards.Prompt([]markup.Syntax{markup.Tag}, nil); got != "" {
		t.Errorf("a prompt of no syntax: %s", got)
	}
	if got := cards.Prompt([]markup.Syntax{markup.Placeholder}, only("app.train_card")); !strings.Contains(got, "[(TrainCard:G1234)]") || strings.Contains(got, "```") {
		t.Errorf("a prompt of placeholders: %s", got)
	}
	// What has to be written is said of what always has to be there.
	form := simple("FormCard", `{"type":"object","required":["kind"],"properties":{"kind":{"enum":["a","b"]},
		"more":{"type":"object","properties":{"low":{"type":"number"}}},
		"note":{"type":"object","required":["by"],"properties":{"by":{"$ref":"#/$defs/by"}}},
		"rows":{"type":"array","items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"}}}}},
		"allOf":[{"required":["rows"]},{"if":{"properties":{"kind":{"const":"b"}}},"then":{"required":["more"],"properties":{"more":{"required":["low"]}}}}],
		"$defs":{"by":{"type":"string"}}}`, `{"kind":"a","rows":[]}`)
	got = cardsOf(t, form).Prompt([]markup.Syntax{markup.Fence}, nil)
	for _, want := range []string{
		"- kind: one of \"a\",\"b\", required\n", "- more: object, required in some forms\n", "  - low: number\n", "- note: object\n", "  - by: text, required in it\n",
		"- rows: array, required\n", "  - name: text, required\n",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("the prompt lacks %q:\n%s", want, got)
		}
	}
	// A later version is written with the fence.
	two := simple("NoteCard", `{"type":"object"}`, `{}`)
	two.Type.Version, two.Minor = 2, 3
	if got := cardsOf(t, two).Prompt([]markup.Syntax{markup.Fence}, nil); !strings.Contains(got, "```NoteCard@2.3\n") {
		t.Errorf("a prompt of version 2.3: %s", got)
	}
}

func TestAddRefuses(t *testing.T) {
	object := `{"type":"object","properties":{"id":{"type":"string"},"price":{"type":"number","x-source":"server"}}}`
	for name, c := range map[string]struct {
		card markup.Card
		want string
	}{
		"name":         {simple("Product Card", object, `{}`), "begins with a letter"},
		"no schema":    {simple("ProductCard", ``, `{}`), "no schema"},
		"bad schema":   {simple("ProductCard", `[]`, `{}`), "must be an object"},
		"bad source":   {simple("ProductCard", `{"properties":{"a":{"x-source":"sever"}}}`, `{}`), `/properties/a: x-source "sever" must be server or model`},
		"odd source":   {simple("ProductCard", `{"properties":{"a":{"x-source":true}}}`, `{}`), `/properties/a: x-source "true" must be server or model`},
		"no keyword":   {simple("ProductCard", `{"properties":{"a":{"x_Source":"server"}}}`, `{}`), `did you mean x-source?`},
		"raw elements": {withTag(markup.TagSpec{Raw: true, Children: map[string]markup.TagSpec{"b": {}}}), "no elements inside"},
		"bad element":  {withTag(markup.TagSpec{Children: map[string]markup.TagSpec{"b": {Children: map[string]markup.TagSpec{"c d": {}}}}}), `element "b": element "c d": a name`},
		"all server":   {simple("ProductCard", `{"type":"object","x-source":"server"}`, `{}`), "whole card"},
		"no example":   {simple("ProductCard", object, ``), "an example is required"},
		"example":      {simple("ProductCard", object, `{"id":1}`), "example: "},
		"example lies": {simple("ProductCard", object, `{"id":"a","price":5}`), "/price is not for the model to say"},
		"example list": {simple("ProductCard", object, `[]`), "not_object"},
		"unfilled":     {simple("ProductCard", strings.Replace(object, `"properties"`, `"required":["price"],"properties"`, 1), `{"id":"a"}`), `requires "price"`},
		"no resolver": {func() markup.Card {
			c := simple("A", object, `{}`)
			c.Syntaxes = []markup.Syntax{markup.Placeholder}
			return c
		}(), "resolver"},
		"no id":         {func() markup.Card { c := simple("A", object, `{}`); c.Resolve = nothing; return c }(), "it has no id"},
		"syntax":        {func() markup.Card { c := simple("A", object, `{}`); c.Syntaxes = []markup.Syntax{"fense"}; return c }(), "did you mean fence?"},
		"text":          {func() markup.Card { c := simple("A", object, `{}`); c.Type.Name = "text"; return c }(), "not for a model to write"},
		"fallback":      {func() markup.Card { c := simple("A", object, `{}`); c.Type.Fallback = nil; return c }(), "no fallback"},
		"negative time": {func() markup.Card { c := simple("A", object, `{}`); c.Timeout = -1; return c }(), "negative"},
	} {
		_, err := markup.NewCards(c.card)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
	if _, err := markup.NewCards(preset(t, "ProductCard"), preset(t, "ProductCard")); err == nil || !strings.Contains(err.Error(), "version 1 is there already") {
		t.Errorf("twice: %v", err)
	}
	if _, err := markup.Preset("ProdctCard"); err == nil || !strings.Contains(err.Error(), "did you mean ProductCard?") {
		t.Errorf("a preset that is none: %v", err)
	}
	for _, c := range markup.Presets() {
		_, err := markup.NewCards(c)
		if wants := c.Name == "TrainCard" || c.Name == "FlightCard"; wants != (err != nil) {
			t.Errorf("%s without a resolver: %v", c.Name, err)
		}
	}
}

// nested has fields of the server's everywhere.
const nested = `{"type":"object","additionalProperties":false,"properties":{
	"id":{"type":"string"},
	"price":{"$ref":"#/$defs/money"},
	"offer":{"type":"object","properties":{"label":{"type":"string"},"price":{"type":"number","x-source":"server"}}},
	"items":{"type":"array","items":{"$ref":"#/$defs/item"}},
	"pair":{"type":"array","prefixItems":[{"type":"string"},{"type":"number","x-source":"server"}]},
	"more":{"type":"object","patternProperties":{"^price":{"type":"number","x-source":"server"}},"additionalProperties":{"type":"string"}},
	"any":{"anyOf":[{"type":"string"},{"type":"object","properties":{"price":{"x-source":"server"}}}]}},
	"$defs":{"money":{"type":"number","x-source":"server"},
		"item":{"type":"object","properties":{"id":{"type":"string"},"note":{"type":"string"},"price":{"type":"number","x-source":"server"},"items":{"type":"array","items":{"$ref":"#/$defs/item"}}}}}}`

// What only the server may say is dropped wherever it stands, and only that.
func TestServerFieldsAreDropped(t *testing.T) {
	c := simple("NestedCard", nested, `{"id":"a"}`)
	c.Resolve = nothing
	cards := cardsOf(t, c)
	body := `{"id":"a","price":1,"offer":{"label":"x","price":2},"items":[{"id":"b","note":"n","price":3,"items":[{"id":"c","price":4}]}],"pair":["x",5],"more":{"price_usd":6,"note":"y"},"any":{"price":7,"z":1.50}}`
	d, err := cards.Draft(markup.Written{Name: "NestedCard", Body: json.RawMessage(body)})
	if err != nil {
		t.Fatal(err)
	}
	if want := `{"any":{"z":1.50},"id":"a","items":[{"id":"b","items":[{"id":"c"}],"note":"n"}],"more":{"note":"y"},"offer":{"label":"x"},"pair":["x"]}`; string(d.Payload) != want {
		t.Errorf("payload %s\nwant    %s", d.Payload, want)
	}
	if want := []string{"/any/price", "/items/0/items/0/price", "/items/0/price", "/more/price_usd", "/offer/price", "/pair/1", "/price"}; !reflect.DeepEqual(d.Dropped, want) {
		t.Errorf("dropped %v, want %v", d.Dropped, want)
	}
	if want := []string{"a", "b", "c"}; !reflect.DeepEqual(d.IDs(), want) {
		t.Errorf("ids %v, want %v", d.IDs(), want)
	}
	for _, p := range d.Dropped {
		if !cards.ServerField("NestedCard", 1, p) {
			t.Errorf("%s is not the server's", p)
		}
	}
	for _, p := range []string{"", "/id", "/offer", "/offer/label", "/items/0", "/items/-/note", "/pair/0", "/more/note", "/any"} {
		if cards.ServerField("NestedCard", 1, p) {
			t.Errorf("%s is the server's", p)
		}
	}
	if got := cards.ServerFields("NestedCard", 1); !slices.Contains(got, "/items/*/price") || !slices.Contains(got, "/offer/price") {
		t.Errorf("server fields %v", got)
	}
	// What needs no change stays as it was written.
	plain := `{"id": "a",   "offer": {"label":"x"}}`
	if d, err := cards.Draft(markup.Written{Name: "NestedCard", Body: json.RawMessage(plain)}); err != nil || string(d.Payload) != plain {
		t.Errorf("%s %v", d.Payload, err)
	}
}

func TestDraftVersions(t *testing.T) {
	one := simple("NoteCard", `{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string"}}}`, `{"text":"a"}`)
	one.Minor = 2
	three := one
	three.Type.Version, three.Minor = 3, 0
	three.Type.Schema = json.RawMessage(`{"type":"object","properties":{"text":{"type":"string"},"data":{"type":"object"},"schemaVersion":{"type":"string"}}}`)
	cards := cardsOf(t, one, three)
	for _, c := range []struct {
		version, body, payload, reason string
		minor                          int
		unversioned                    bool
	}{
		{"", `{"text":"a"}`, `{"text":"a"}`, "", 0, true},
		{"1", `{"text":"a"}`, `{"text":"a"}`, "", 0, false},
		{"1.2", `{"text":"a","more":1}`, "", markup.SchemaInvalid, 0, false},
		{"1.3", `{"text":"a","more":1}`, `{"text":"a"}`, "", 3, false},
		{"2.0", `{"text":"a"}`, "", markup.VersionDowngrade, 0, false},
		{"x", `{"text":"a"}`, "", markup.SchemaInvalid, 0, false},
		{"", `{"schemaVersion":"1.1","text":"a"}`, `{"text":"a"}`, "", 1, false},
		{"", `{"schemaVersion":1.1,"text":"a"}`, `{"text":"a"}`, "", 1, false},
		{"", `{"schemaVersion":"2.0","text":"a"}`, "", markup.VersionDowngrade, 0, false},
		{"", `{"schemaVersion":{},"text":"a"}`, "", markup.SchemaInvalid, 0, false},
		{"", `{"type":"NoteCard","schemaVersion":"1.1","data":{"text":"a"},"actions":[]}`, `{"text":"a"}`, "", 1, false},
		{"", `{"type":"NoteCard","version":"1.1","data":{"text":"a"}}`, `{"text":"a"}`, "", 1, false},
		{"", `{"type":"NoteCard","version":1,"data":{"text":"a"},"actions":[]}`, `{"text":"a"}`, "", 0, false},
		{"", `{"version":"1.4","data":{"text":"a","more":1}}`, `{"text":"a"}`, "", 4, false},
		{"", `{"schemaVersion":"1.1","version":"9.0","data":{"text":"a"}}`, `{"text":"a"}`, "", 1, false},
		{"1.2", `{"type":"NoteCard","version":"9.0","data":{"text":"a"}}`, `{"text":"a"}`, "", 2, false},
		{"", `{"type":"NoteCard","version":"2.0","data":{"text":"a"}}`, "", markup.VersionDowngrade, 0, false},
		{"", `{"type":"NoteCard","version":[],"data":{"text":"a"}}`, "", markup.SchemaInvalid, 0, false},
		{"", `{"type":"OtherCard","version":"1.0","data":{"text":"a"}}`, "", markup.SchemaInvalid, 0, false},
		{"", `{"version":"1.0","text":"a"}`, "", markup.SchemaInvalid, 0, true},
		{"", `{"type":"OtherCard","schemaVersion":"1.1","data":{"text":"a"}}`, "", markup.SchemaInvalid, 0, false},
		{"", `{"type":"NoteCard","text":"a"}`, "", markup.SchemaInvalid, 0, true},
		{"3.0", `{"schemaVersion":"9","data":{}}`, `{"schemaVersion":"9","data":{}}`, "", 0, false},
		{"", `[]`, "", markup.NotObject, 0, false},
		{"", `{`, "", markup.BadJSON, 0, false},
	} {
		d, err := cards.Draft(markup.Written{Name: "NoteCard", Version: c.version, Body: json.RawMessage(c.body)})
		if err == nil { // as the turn judges it
			err = judge(t, d)
		}
		var failure *markup.Failure
		reason := ""
		if errors.As(err, &failure) {
			reason = failure.Reason
		}
		if reason != c.reason {
			t.Errorf("%s %s: %v, want %q", c.version, c.body, err, c.reason)
			continue
		}
		if reason == "" && (string(d.Payload) != c.payload || d.Minor != c.minor || d.Unversioned != c.unversioned) {
			t.Errorf("%s %s: %s, minor %d, unversioned %v", c.version, c.body, d.Payload, d.Minor, d.Unversioned)
		}
	}
}

func judge(t *testing.T, d markup.Draft) error {
	t.Helper()
	r, err := block.NewRegistry(d.Card.Type)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Validate(d.Card.Type.Name, d.Card.Type.Version, d.Payload); err != nil {
		return &markup.Failure{Reason: markup.SchemaInvalid, Err: err}
	}
	return nil
}

func TestFill(t *testing.T) {
	cards := presets(t)
	found := map[string]json.RawMessage{
		"a": json.RawMessage(`{"id":"a","title":"A","price":1.10}`), "b": json.RawMessage(`{"title":"B","price":2}`), "x": json.RawMessage(`null`), "y": json.RawMessage(`[]`),
	}
	for _, c := range []struct {
		w       markup.Written
		want    string
		missing []string
		err     string
	}{
		{markup.Written{Name: "ProductCard", ID: "a"}, `{"id":"a","price":1.10,"title":"A"}`, nil, ""},
		{markup.Written{Name: "ProductCard", Body: json.RawMessage(`{"id":"b","title":"Mine","reason":"r","price":99}`)}, `{"id":"b","price":2,"reason":"r","title":"B"}`, nil, ""},
		{markup.Written{Name: "ProductCard", ID: "x"}, "", []string{"x"}, "there is nothing with this id: x"},
		{markup.Written{Name: "ProductCard", ID: "y"}, "", nil, "no object"},
		{markup.Written{Name: "ProductList", Body: json.RawMessage(`{"items":[{"id":"a"},{"id":"x"},{"id":"b","reason":"r"}]}`)}, `{"items":[{"id":"a","price":1.10,"title":"A"},{"id":"b","price":2,"reason":"r","title":"B"}]}`, []string{"x"}, ""},
		{markup.Written{Name: "ProductList", Body: json.RawMessage(`{"items":[{"id":"x"},{"id":"z"}]}`)}, "", []string{"x", "z"}, "there is nothing with this id: x, z"},
	} {
		d, err := cards.Draft(c.w)
		if err != nil {
			t.Errorf("%v: %v", c.w, err)
			continue
		}
		got, missing, err := d.Fill(found)
		if (err == nil) != (c.err == "") || err != nil && !strings.Contains(err.Error(), c.err) || string(got) != c.want || !slices.Equal(missing, c.missing) {
			t.Errorf("%s: %s %v %v", c.w.Body, got, missing, err)
		}
	}
	// A draft of which the server says more is judged by what it has.
	for _, body := range []string{`{"id":"a","title":5}`, `{"id":"a","colour":"red"}`} {
		if _, err := cards.Draft(markup.Written{Name: "ProductCard", Body: json.RawMessage(body)}); err == nil {
			t.Errorf("%s is taken", body)
		}
	}
	if got := cards.Source("app.product_card", 1, json.RawMessage(`{"id":"a","title":"A","price":1}`)); got != "```ProductCard\n{\n  \"id\": \"a\",\n  \"title\": \"A\"\n}\n```\n" {
		t.Errorf("source %q", got)
	}
}

// A card that must name what it is about can always be filled again.
func TestFilled(t *testing.T) {
	loose := simple("LooseCard", `{"type":"object","properties":{"id":{"type":"string"}}}`, `{"id":"a"}`)
	loose.Resolve = nothing
	cards := cardsOf(t, preset(t, "ProductCard"), preset(t, "TrainCard"), loose, simple("NoteCard", `{"type":"object","required":["id"]}`, `{"id":"a"}`))
	for _, c := range []struct {
		name   string
		syntax markup.Syntax
		want   bool
	}{
		{"ProductCard", markup.Fence, false}, {"ProductCard", markup.Placeholder, true}, {"TrainCard", markup.Fence, true}, {"LooseCard", markup.Fence, false},
		{"LooseCard", markup.Placeholder, true}, {"NoteCard", markup.Fence, false}, {"NoCard", markup.Fence, false},
	} {
		if got := cards.Filled(c.name, 1, c.syntax); got != c.want {
			t.Errorf("%s as a %s: %v", c.name, c.syntax, got)
		}
	}
}

func ExampleReader() {
	card, err := markup.Preset("ProductCard")
	if err != nil {
		fmt.Println(err)
		return
	}
	cards, err := markup.NewCards(card)
	if err != nil {
		fmt.Println(err)
		return
	}
	r := markup.NewReader(cards, []markup.Syntax{markup.Fence}, func(f markup.Found) {
		switch f.Kind {
		case markup.Text:
			fmt.Printf("text %q\n", f.Text)
		case markup.End:
			draft, err := cards.Draft(f.Written)
			fmt.Println("card", string(draft.Payload), draft.Dropped, err)
		}
	})
	r.Push("This one:\n```ProductCard\n{\"id\":\"p-17\",\"title\":\"Run\",\"price\":1}\n```\n")
	r.Close(markup.Stop)
	// Output:
	// text "This one:\n"
	// card {"id":"p-17","title":"Run"} [/price] <nil>
}

// open is a schema that allows more than it names.
const open = `{"type":"object","properties":{"id":{"type":"string"},"price":{"type":"number","x-source":"server"},
	"sub":{"type":"object","properties":{"n":{},"price":{"x-source":"server"}}},
	"items":{"type":"array","items":{"type":"object","properties":{"id":{"type":"string"},"price":{"x-source":"server"}}}}}}`

// What only the server may say is left out however it was written.
func TestServerFieldsInOtherForms(t *testing.T) {
	cards := cardsOf(t, simple("OpenCard", open, `{"id":"a"}`))
	for name, c := range map[string]struct{ version, body, payload string }{
		"twice":             {"", `{"sub":{"price":6667},"sub":{"n":1}}`, `{"sub":{"n":1}}`},
		"twice in a list":   {"", `{"items":[{"id":"a","price":6667}],"items":[{"id":"a"}]}`, `{"items":[{"id":"a"}]}`},
		"escaped":           {"", `{"pr\u0069ce":6667,"id":"a"}`, `{"id":"a"}`},
		"wrapped":           {"", `{"data":{"id":"a","price":6667},"type":"OpenCard"}`, `{"id":"a"}`},
		"a tool's ui":       {"", `{"type":"OpenCard","version":"1.0","data":{"id":"a","price":6667}}`, `{"id":"a"}`},
		"wrapped twice":     {"", `{"type":"OpenCard","data":{"price":6667},"data":{"id":"a"}}`, `{"id":"a"}`},
		"other type":        {"", `{"type":"Other","data":{"id":"a","price":6667}}`, `{"data":{"id":"a"},"type":"Other"}`},
		"unknown version":   {"9.0", `{"id":"a","price":6667}`, `{"id":"a"}`},
		"unknown inside":    {"", `{"schemaVersion":"9.0","id":"a","price":6667}`, `{"id":"a","schemaVersion":"9.0"}`},
		"version 0":         {"0.9", `{"id":"a","price":6667}`, `{"id":"a"}`},
		"no version":        {"", `{"schemaVersion":true,"id":"a","price":6667}`, `{"id":"a","schemaVersion":true}`},
		"as it was written": {"", `{"sub": {"n": [1, "n", {"n": 2}], "m": "n"}, "id": "a"}`, `{"sub": {"n": [1, "n", {"n": 2}], "m": "n"}, "id": "a"}`},
	} {
		t.Run(name, func(t *testing.T) {
			d, err := cards.Draft(markup.Written{Name: "OpenCard", Version: c.version, Body: json.RawMessage(c.body)})
			if string(d.Payload) != c.payload {
				t.Errorf("payload %s, %v", d.Payload, err)
			}
			if err != nil && (strings.Contains(d.Source(), "6667") || !strings.HasPrefix(d.Source(), "```OpenCard")) {
				t.Errorf("source %s", d.Source())
			}
			s := cards.Stream("OpenCard", 1)
			for i := range len(c.body) {
				if s.Push(c.body[i:i+1]) != nil {
					break
				}
				if patch, _ := s.Take(); strings.Contains(string(patch), "666") {
					t.Errorf("shown while it is written: %s", patch)
				}
			}
		})
	}
}

// A body that readers would take differently is shown as one of them takes it,
// or not at all.
func TestOddBodies(t *testing.T) {
	cards := cardsOf(t, simple("OpenCard", open, `{"id":"a"}`))
	for body, want := range map[string]string{
		`{"id":"\ud800"}`:       `{"id":"` + "\ufffd" + `"}`,
		`{"id":"\uD83D\uDE00"}`: `{"id":"😀"}`,
		`{"id":"\udbc"}`:        "bad_json",
		`{"n":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`:   `{"n":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`,
		`{"n":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`: "schema",
	} {
		d, err := cards.Draft(markup.Written{Name: "OpenCard", Body: json.RawMessage(body)})
		got := string(d.Payload)
		var failure *markup.Failure
		if errors.As(err, &failure) {
			got = failure.Reason
		}
		if got != want {
			t.Errorf("%s: %s, want %s", body, got, want)
		}
	}
}

// A mark is seen wherever a schema can have it, and one that cannot be followed
// is refused.
func TestMarksAreSeen(t *testing.T) {
	for _, schema := range []string{
		`{"type":"object","properties":{"price":{"$ref":"#/%24defs/P"}},"$defs":{"P":{"x-source":"server"}}}`,
		`{"type":"object","dependentSchemas":{"id":{"properties":{"price":{"x-source":"server"}}}}}`,
		`{"type":"object","properties":{"id":{}},"unevaluatedProperties":{"x-source":"server"}}`,
		`{"type":"object","properties":{"l":{"type":"array","contains":{"properties":{"price":{"x-source":"server"}}}}}}`,
		`{"type":"object","properties":{"l":{"type":"array","unevaluatedItems":{"properties":{"price":{"x-source":"server"}}}}}}`,
	} {
		cards := cardsOf(t, simple("OpenCard", schema, `{"id":"a"}`))
		for _, body := range []string{`{"id":"a","price":6667}`, `{"id":"a","l":[{"price":6667}]}`} {
			d, err := cards.Draft(markup.Written{Name: "OpenCard", Body: json.RawMessage(body)})
			if strings.Contains(schema, `"l"`) == strings.Contains(body, `"l"`) && (err != nil || strings.Contains(string(d.Payload), "6667")) {
				t.Errorf("%s: %s, %v", schema, d.Payload, err)
			}
		}
	}
	for _, ref := range []string{`"$ref":"#p"`, `"$ref":"https://schemas.example/s#/$defs/P"`, `"$ref":"#/$defs/none"`, `"$dynamicRef":"#p"`} {
		schema := `{"$id":"https://schemas.example/s","type":"object","properties":{"price":{` + ref + `}},"$defs":{"P":{"$anchor":"p","$dynamicAnchor":"p","x-source":"server"}}}`
		if _, err := markup.NewCards(simple("OpenCard", schema, `{"id":"a"}`)); err == nil {
			t.Errorf("%s is accepted", ref)
		}
	}
}

// A list that the resolver itself says is shown as it is.
func TestFillKeepsListsOfTheResolver(t *testing.T) {
	c := simple("OpenCard", open, `{"id":"a"}`)
	c.Resolve = nothing
	d, err := cardsOf(t, c).Draft(markup.Written{Name: "OpenCard", ID: "top"})
	if err != nil {
		t.Fatal(err)
	}
	payload, missing, err := d.Fill(map[string]json.RawMessage{"top": json.RawMessage(`{"items":[{"id":"a","price":5},{"id":"b","price":6}]}`)})
	if err != nil || len(missing) > 0 || string(payload) != `{"id":"top","items":[{"id":"a","price":5},{"id":"b","price":6}]}` {
		t.Errorf("%s, %v, %v", payload, missing, err)
	}
}
