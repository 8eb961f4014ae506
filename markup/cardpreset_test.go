package markup_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/markup"
)

// Presets read what others call a product card: with or without an id, the
// price in both spellings. What only the shop says is left out.
func TestProductsAsOthersWriteThem(t *testing.T) {
	bare := preset(t, "ProductCard")
	bare.Resolve = nil
	for _, one := range []markup.Card{bare, preset(t, "ProductCard")} {
		cards := cardsOf(t, one)
		for body, want := range map[string]string{
			`{"title":"示例手机","description":"很轻的一部","itemPrice":9999,"imageUrl":"https://example.com/phone.jpg","discount":"限时优惠"}`: `{"description":"很轻的一部","title":"示例手机"}`,
			`{"title":"示例","itemPrice":99,"imageUrl":"https://example.com/img.jpg"}`:                                               `{"title":"示例"}`,
			`{"title":"示例手环","price":299,"stock":20,"imageUrl":"https://example.com/band.jpg"}`:                                    `{"title":"示例手环"}`,
			`{"id":"12345","title":"示例手环","price":299,"imageUrl":"https://example.com/p.jpg","description":"记录运动"}`:                `{"description":"记录运动","id":"12345","title":"示例手环"}`,
			`{"id":"12345","title":"示例手表","price":699,"imageUrl":"https://example.com/w.jpg","reason":"有 GPS"}`:                    `{"id":"12345","reason":"有 GPS","title":"示例手表"}`,
			`{"type":"ProductCard","schemaVersion":"1.0","data":{"id":"12345","title":"示例手表","price":699}}`:                        `{"id":"12345","title":"示例手表"}`,
			`{"id":"12345","title":"示例","price":99}`:                                                                               `{"id":"12345","title":"示例"}`,
		} {
			d, err := cards.Draft(markup.Written{Name: "ProductCard", Body: json.RawMessage(body)})
			if err != nil || string(d.Payload) != want {
				t.Errorf("%s: %s, %v", body, d.Payload, err)
			}
			registry, err := block.NewRegistry(d.Card.Type)
			if err != nil {
				t.Fatal(err)
			}
			if err := registry.Validate("app.product_card", 1, d.Payload); err != nil {
				t.Errorf("%s: %v", body, err)
			}
			if shown := d.Shown(body); strings.ContainsAny(shown, "92") && !strings.Contains(want, "12345") || strings.Contains(shown, "rice") || strings.Contains(shown, "http") || strings.Contains(shown, "限时") {
				t.Errorf("%s: %s", body, shown)
			}
			if got := d.Card.Type.Fallback(json.RawMessage(`{"title":"a","itemPrice":5}`)); got != "a: price 5" {
				t.Errorf("fallback %q", got)
			}
		}
	}
	list := cardsOf(t, preset(t, "ProductList"))
	d, err := list.Draft(markup.Written{Name: "ProductList", Body: json.RawMessage(`{"items":[{"title":"示例甲","price":1},{"title":"示例乙","itemPrice":2},{"id":"x","title":"示例丙"}]}`)})
	if err != nil || d.Card.Type.Check(d.Payload) != nil {
		t.Fatalf("%s, %v", d.Payload, err)
	}
	payload, missing, err := d.Fill(nil)
	if err != nil || len(missing) != 1 || string(payload) != `{"items":[{"title":"示例甲"},{"title":"示例乙"}]}` {
		t.Errorf("%s, %v, %v", payload, missing, err)
	}
}

// The source of a card says nothing that any of its versions knows as the
// server's, wherever that stands.
func TestShownSource(t *testing.T) {
	first := simple("NoteCard", `{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string"},"fee":{"type":"number"},"rows":{"type":"array","items":{"type":"object","properties":{"text":{"type":"string"},"price":{"x-source":"server"}}}}}}`, `{"text":"a"}`)
	second := simple("NoteCard", `{"type":"object","required":["text"],"properties":{"text":{"type":"string"},"fee":{"type":"number","x-source":"server"}}}`, `{"text":"a"}`)
	second.Type.Version = 2
	cards := cardsOf(t, first, second)
	for name, c := range map[string]struct{ version, body, want string }{
		"another version's":   {"1.0", `{"text":5,"fee":6667}`, `{"text":5}`},
		"wrapped":             {"1.0", `{"data":{"text":5,"fee":6667},"more":1}`, `{"data":{"text":5},"more":1}`},
		"misplaced":           {"1.0", `{"text":5,"price":6667,"in":[{"price":[6667],"a":1}]}`, `{"in":[{"a":1}],"text":5}`},
		"inside a text":       {"1.0", `{"text":{"fee":6667}}`, `{"text":{}}`},
		"no version":          {"7.0", `{"text":5,"fee":6667,"rows":[{"price":6667}]}`, `{"rows":[{}],"text":5}`},
		"wrapped, no version": {"7.0", `{"type":"NoteCard","data":{"text":5,"fee":6667}}`, `{"data":{"text":5},"type":"NoteCard"}`},
		"twice":               {"1.0", `{"text":{"fee":6667},"text":5}`, `{"text":5}`},
		"as it was":           {"1.0", `{ "text": 5 }`, ""},
	} {
		d, err := cards.Draft(markup.Written{Name: "NoteCard", Version: c.version, Body: json.RawMessage(c.body)})
		if (err != nil) != (c.version == "7.0") {
			t.Errorf("%s: %v", name, err)
		}
		got := d.Shown("as it was")
		if c.want == "" {
			if got != "as it was" {
				t.Errorf("%s: %s", name, got)
			}
			continue
		}
		body := strings.TrimSuffix(got[strings.Index(got, "\n"):], "```\n")
		var is, want any
		if json.Unmarshal([]byte(body), &is) != nil || json.Unmarshal([]byte(c.want), &want) != nil || !equal(is, want) || strings.Contains(got, "6667") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

func equal(a, b any) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}
