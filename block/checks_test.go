package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestChecks: each payload is refused at the path, or accepted when there is
// none. What a schema says is tested here only where it has a reason of its own.
func TestChecks(t *testing.T) {
	r := builtins(t)
	const form = `"title":"t","schema":{"type":"object","properties":{"n":{"type":"integer"}}}`
	deep := `{"type":"row"}`
	for range MaxTreeDepth {
		deep = `{"type":"row","children":[` + deep + `]}`
	}
	many := `{"root":{"type":"list","children":[` + strings.TrimSuffix(strings.Repeat(`{"type":"row","children":["a","b","c","d","e","f","g","h","i","j"]},`, 200), ",") + `]}}`
	tests := []struct{ typ, payload, path string }{
		{"chart", `{"version":1,"type":"line","x":{"field":"t","type":"time"},"series":[{"field":"v","name":"V"}],"data":[],"refs":[{"axis":"x","value":"soon"}]}`, "/refs/0/value"},
		{"chart", `{"version":1,"type":"line","x":{"field":"t","type":"time"},"series":[{"field":"v","name":"V"}],"data":[],"refs":[{"axis":"x","value":"2026-07-01"},{"axis":"y2","value":3}]}`, "-"},
		{"chart", `{"version":1,"type":"bar","x":{"field":"t"},"series":[{"field":"v","name":"V"}],"data":[],"refs":[{"axis":"y","value":"high"}]}`, "/refs/0/value"},
		{"chart", `{"version":1,"type":"line","x":{"field":"t","type":"number"},"series":[{"field":"v","name":"V"}],"data":[],"refs":[{"axis":"x","value":"1"}]}`, "/refs/0/value"},
		{"chart", `{"version":1,"type":"gauge","series":[{"field":"v","name":"V"}],"data":[],"refs":[{"axis":"x","value":1}]}`, "/refs/0/value"},
		{"chart", `{"version":1,"type":"bar","x":{"field":"t"},"y2":{"min":2,"max":1},"series":[{"field":"v","name":"V"}],"data":[]}`, "/y2/max"},
		{"chart", `{"version":1,"type":"bar","x":{"field":"t"},"series":[{"field":"v","name":"V"}],"data":[],"truncated":{"shown":5,"total":4}}`, "/truncated/total"},
		{"chart", `{"version":1,"type":"bar","x":{"field":"t"},"series":[{"field":"v","name":"V"}],"data":[{"t":"a","v":1}],"onSelect":{"actionId":"a","params":{"p":"gone"}}}`, "/onSelect/params/p"},

		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"now-1h","to":"now"}}`, "-"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":1782864000000,"to":"2026-07-02"}}`, "-"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"now-1h","to":"2026-07-01"}}`, "-"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"yesterday","to":"now"}}`, "/timeRange/from"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"now","to":"now-1h"}}`, "/timeRange/to"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"2026-07-02","to":"2026-07-01"}}`, "/timeRange/to"},
		{"query", `{"lang":"sql","statement":"x","timeRange":{"from":"now-0h","to":1.5}}`, "/timeRange/from"},
		{"query", `{"lang":"sql","statement":""}`, "/statement"},
		{"query", `{"lang":"sql; rm","statement":"x"}`, "/lang"},

		{"file", `{"assetId":"a_1","name":"a.txt","mime":"text/plain","size":1}`, "-"},
		{"file", `{"assetId":"a_1","name":"../a.txt","mime":"text/plain","size":1}`, "/name"},
		{"file", `{"assetId":"a_1","name":"c:\\a.txt","mime":"text/plain","size":1}`, "/name"},
		{"file", `{"assetId":"a/../b","name":"a","mime":"text/plain","size":1}`, "/assetId"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text","size":1}`, "/mime"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/plain","size":-1}`, "/size"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/plain","size":1,"progress":{"done":1}}`, "/progress"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/plain","size":1,"preview":{"kind":"pdf","pages":1,"rows":[]}}`, "/preview/rows"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/plain","size":1,"preview":{"kind":"none","text":"x"}}`, "/preview/text"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/plain","size":1,"preview":{"kind":"image","width":1}}`, "/preview"},
		{"file", `{"assetId":"a_1","name":"a","mime":"text/csv","size":1,"preview":{"kind":"table","rows":[` + strings.TrimSuffix(strings.Repeat(`["`+strings.Repeat("x", 400)+`"],`, 90), ",") + `]}}`, "/preview"},
		{"file", `{"progress":{"done":1}}`, ""},

		{"card", `{"title":"t","fields":[{"label":"a","value":[1]}]}`, "/fields/0/value"},
		{"card", `{"title":"t","status":{"label":"a","tone":"red"}}`, "/status/tone"},
		{"card", `{"title":"t","html":"<b>"}`, ""},
		{"card_list", `{"items":[{"id":"a","title":"1"},{"id":"a","title":"2"}]}`, "/items/1/id"},
		{"card_list", `{"items":[{"title":"1","actions":[{"id":"a"},{"id":"a"}]}]}`, "/items/0/actions/1/id"},
		{"card_list", `{"items":[{"title":"1"},{"title":"2"}],"total":1}`, "/total"},
		{"card_list", `{"items":[],"layout":"table"}`, "/layout"},

		{"form", `{` + form + `,"uiSchema":{"n":{"ui:widget":"updown"}},"defaults":{"n":1}}`, "-"},
		{"form", `{` + form + `,"defaults":{"n":"x"}}`, "/defaults/n"},
		{"form", `{` + form + `,"uiSchema":{"n":{"ui:widgt":"x"}}}`, "/uiSchema/n/ui:widgt"},
		{"form", `{"title":"t","schema":{"type":"object","properties":{"a":{"nullable":true}}}}`, "/schema/properties/a/nullable"},
		{"form", `{"title":"t","schema":{"type":"string"}}`, "/schema/type"},
		{"form", `{"title":"t","schema":{}}`, "/schema/type"},
		{"form", `{"title":"t","schema":{"type":"object","not":{"required":["a"]}},"defaults":{"a":1}}`, "/defaults"},

		{"confirm", `{"prompt":"p","args":{"n":1},"schema":{"type":"object","properties":{"n":{"type":"integer"}}},"options":[{"id":"edit"},{"id":"reject"}]}`, "-"},
		{"confirm", `{"prompt":"p","args":{"n":"x"},"schema":{"type":"object","properties":{"n":{"type":"integer"}}}}`, "/args/n"},
		{"confirm", `{"prompt":"p","options":[{"id":"edit"}]}`, "/options/0/id"},
		{"confirm", `{"prompt":"p","options":[{"id":"approve"},{"id":"approve"}]}`, "/options/1/id"},
		{"confirm", `{"prompt":"p","options":[{"id":"maybe"}]}`, "/options/0/id"},
		{"confirm", `{"prompt":"p","args":{"n":"` + strings.Repeat("x", MaxConfirmArgs) + `"}}`, "/args"},
		{"question", `{"prompt":"p"}`, "-"},
		{"question", `{"prompt":"p","options":[{"id":"a","label":"A"}],"schema":{"type":"object"}}`, "/schema"},
		{"question", `{"prompt":"p","options":[{"id":"a","label":"A"},{"id":"a","label":"B"}]}`, "/options/1/id"},
		{"question", `{"prompt":"p","multiple":true}`, "/multiple"},
		{"question", `{"prompt":"p","schema":{"type":"object","$id":"x"}}`, "/schema/$id"},
		{"steps", `{"items":[{"id":"a","label":"A","status":"done"},{"id":"a","label":"B","status":"done"}]}`, "/items/1/id"},
		{"steps", `{"items":[{"id":"a","label":"A","status":"late"}]}`, "/items/0/status"},

		{"tree", `{"root":{"type":"text","props":{"value":"a","style":"title"}}}`, "-"},
		{"tree", `{"root":{"type":"text","props":{"value":"a","style":"color:red"}}}`, "/root/props/style"},
		{"tree", `{"root":{"type":"text","value":"a","style":"font-size: 12px"}}`, "/root/props/style"},
		{"tree", `{"root":{"type":"text","style":7}}`, "/root/props/style"},
		{"tree", `{"root":{"type":"text","style":"text.of.tomorrow","color":"color.primary"}}`, "-"},
		{"tree", `{"root":{"type":"text","color":"#ff0000"}}`, "/root/props/color"},
		{"tree", `{"root":{"type":"card","props":{"backgroundColor":"rgb(0, 0, 0)"}}}`, "/root/props/backgroundColor"},
		{"tree", `{"root":{"type":"row","props":{"gap":"12px"}}}`, "/root/props/gap"},
		{"tree", `{"root":{"type":"row","props":{"gap":"spacing.large"}}}`, "-"},
		{"tree", `{"root":{"type":"text","value":"` + strings.Repeat("x", 8192) + `"}}`, "-"},
		{"tree", `{"root":{"type":"text","value":"` + strings.Repeat("x", 8193) + `"}}`, "/root/value"},
		{"tree", `{"root":{"type":"row","children":[{"type":"button","props":{"onClick":"x"}}]}}`, "/root/children/0/props/onClick"},
		{"tree", `{"root":{"type":"row","props":{"className":"x"}}}`, "/root/props/className"},
		{"tree", `{"root":{"type":"image","props":{"src":"javascript:alert(1)"}}}`, "/root/props/src"},
		{"tree", `{"root":{"type":"image","props":{"src":"http://example.com/a.png"}}}`, "/root/props/src"},
		{"tree", `{"root":{"type":"image","props":{"src":"a_1"}}}`, "-"},
		{"tree", `{"root":{"type":"a b"}}`, "/root/type"},
		{"tree", `{"root":{"type":"button","action":{"params":{}}}}`, "/root"},
		{"tree", `{"root":` + deep + `}`, "/root" + strings.Repeat("/children/0", MaxTreeDepth-1) + "/children"},
		{"tree", many, "/root"},
		{"tree", `{"root":` + strings.Repeat(`{"type":"row","children":[`, 500) + `{"type":"row"}` + strings.Repeat(`]}`, 500) + `}`, "/root"},

		{"echarts_raw", `{"option":{"series":[{"type":"sankey","label":{"formatter":"{b}: {c}"}}]}}`, "-"},
		{"echarts_raw", `{"option":{"title":{"text":"a < b and c => d"},"xAxis":{"data":["R&D","x=>y"]}}}`, "/option/xAxis/data/1"},
		{"echarts_raw", `{"option":{"tooltip":{"formatter":"function (p) { return p.name }"}}}`, "/option/tooltip/formatter"},
		{"echarts_raw", `{"option":{"a":["(p) => p.name"]}}`, "/option/a/0"},
		{"echarts_raw", `{"option":{"a":"async x => x"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"a":"new Function('x')"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"tooltip":{"formatter":"<b>{b}</b>"}}}`, "/option/tooltip/formatter"},
		{"echarts_raw", `{"option":{"tooltip":{"formatter":"&lt;b&gt;"}}}`, "/option/tooltip/formatter"},
		{"echarts_raw", `{"option":{"series":[{"data":[{"name":"<img src=x onerror=alert(1)>"}]}]}}`, "/option/series/0/data/0/name"},
		{"echarts_raw", `{"option":{"series":[{"symbol":"image://https://example.com/a.png"}]}}`, "/option/series/0/symbol"},
		{"echarts_raw", `{"option":{"series":[{"symbol":"path://M0,0L10,10"}]}}`, "-"},
		{"echarts_raw", `{"option":{"a":" https://example.com/"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"a":"//example.com/"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"a":"data:image/png;base64,x"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"a":"JavaScript:alert(1)"}}`, "/option/a"},
		{"echarts_raw", `{"option":{"graphic":[]}}`, "/option/graphic"},
		{"echarts_raw", `{"option":{"toolbox":{"feature":{"dataView":{}}}}}`, "/option/toolbox/feature/dataView"},
		{"echarts_raw", `{"option":{"toolbox":{"feature":{"myTool":{"onclick":"x"}}}}}`, "/option/toolbox/feature/myTool/onclick"},
		{"echarts_raw", `{"option":{"title":{"link":"x"}}}`, "/option/title/link"},
		{"echarts_raw", `{"option":{"series":[{"renderItem":"x"}]}}`, "/option/series/0/renderItem"},
		{"echarts_raw", `{"option":{"backgroundColor":{"image":"x"}}}`, "/option/backgroundColor/image"},
		{"echarts_raw", `{"option":{"tooltip":{"extraCssText":"x"}}}`, "/option/tooltip/extraCssText"},
		{"echarts_raw", `{"option":{"__proto__":{}}}`, "/option/__proto__"},
		{"echarts_raw", `{"option":{"a":"` + strings.Repeat("x", MaxEChartsBytes) + `"}}`, ""},
		{"echarts_raw", `{"option":{"a":` + strings.Repeat(`[`, MaxEChartsDepth) + strings.Repeat(`]`, MaxEChartsDepth) + `}}`, "/option"},
	}
	for _, tt := range tests {
		name := fmt.Sprintf("%s %.120s", tt.typ, tt.payload)
		err := r.Validate(tt.typ, 1, json.RawMessage(tt.payload))
		var se *SchemaError
		switch {
		case tt.path == "-":
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
		case !errors.As(err, &se):
			t.Errorf("%s: %v, want a violation at %q", name, err, tt.path)
		case !slices.ContainsFunc(se.Violations, func(v Violation) bool { return v.Path == tt.path }):
			t.Errorf("%s: no violation at %q: %v", name, tt.path, se)
		}
	}
}

func TestResolveTime(t *testing.T) {
	now := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for v, want := range map[any]string{
		"now": "2026-07-01T12:00:00Z", "now-90s": "2026-07-01T11:58:30Z", "now-1w": "2026-06-24T12:00:00Z", "now-15m": "2026-07-01T11:45:00Z",
		"2026-07-01": "2026-07-01T00:00:00Z", "2026-07-01T08:00:00+08:00": "2026-07-01T00:00:00Z",
		float64(1782864000000): "2026-07-01T00:00:00Z", json.Number("1782864000000"): "2026-07-01T00:00:00Z",
	} {
		got, err := ResolveTime(v, now)
		if err != nil || got.UTC().Format(time.RFC3339) != want {
			t.Errorf("%v: %v, %v; want %s", v, got, err, want)
		}
	}
	for _, v := range []any{"", "now-", "now+1h", "now-1y", "now-1.5h", "now-0h", "NOW", "tomorrow", nil, true, 1.5, 1e300, "now-9999999h"} {
		if got, err := ResolveTime(v, now); err == nil {
			t.Errorf("%v is %v", v, got)
		}
	}
}

func TestTreeSpellings(t *testing.T) {
	r := builtins(t)
	const want = `{"root":{"type":"row","children":[{"type":"text","props":{"value":"hi"}},` +
		`{"type":"button","props":{"text":"Add"},"action":{"id":"add","params":{"n":1}}},{"type":"button","props":{"text":"B"},"action":{"id":"b"}}]}}`
	for _, p := range []string{
		`{"root":{"type":"row","children":["hi",{"type":"button","text":"Add","action":{"type":"api","name":"add","params":{"n":1}}},{"type":"button","text":"x","props":{"text":"B"},"action":"b"}]}}`,
		want,
	} {
		got, err := r.Clean("tree", 1, json.RawMessage(p))
		if err != nil || string(got) != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
	// What is not understood is left to the schema to refuse.
	for _, p := range []string{`{`, `{"root":1}`, `{"root":{"type":"x","css":{"a":1}}}`, `[]`} {
		if got, err := r.Clean("tree", 1, json.RawMessage(p)); err != nil || string(got) != p {
			t.Errorf("%s became %s, %v", p, got, err)
		}
		if r.Validate("tree", 1, json.RawMessage(p)) == nil {
			t.Errorf("%s is accepted", p)
		}
	}
}

func TestStand(t *testing.T) {
	r := builtins(t)
	file := json.RawMessage(`{"assetId":"a_1","name":"a_b.txt","mime":"text/plain","size":1023}`)
	for _, tt := range []struct {
		b    Block
		want string
	}{
		{Block{Type: "file", Version: 1, Status: StatusDone, Payload: file, Fallback: "own words"}, `[a\_b.txt](/v1/assets/a_1/content) (1023 B)`},
		{Block{Type: "inlay.file", Version: 1, Status: StatusDone, Payload: file}, `[a\_b.txt](/v1/assets/a_1/content) (1023 B)`},
		{Block{Type: "file", Version: 1, Status: StatusError, Payload: file, Fallback: "own words"}, "own words"},
		{Block{Type: "file", Version: 1, Status: StatusLoading, Payload: json.RawMessage(`{"progress":{"done":1}}`)}, "[file]"},
		{Block{Type: "file", Version: 9, Status: StatusDone, Payload: file, Fallback: "own words"}, "own words"},
		{Block{Type: "metric", Version: 1, Status: StatusDone, Payload: json.RawMessage(`{"items":[{"label":"a","value":1}]}`)}, "a 1"},
	} {
		if got := r.Stand(tt.b); got != tt.want {
			t.Errorf("%+v: %q, want %q", tt.b, got, tt.want)
		}
	}
}

func TestSizeText(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0 B", 1023: "1023 B", 1024: "1 KB", 1536: "1.5 KB", 482133: "471 KB", 1023*1024 + 800: "1 MB", 5 << 30: "5 GB", 1 << 60: "1024 PB",
	} {
		if got := sizeText(n); got != want {
			t.Errorf("%d is %s, want %s", n, got, want)
		}
	}
}

func TestLintUI(t *testing.T) {
	for _, ok := range []string{
		`{}`, `{"ui:order":["a","*"],"ui:submitButtonOptions":{"submitText":"Send"},"a":{"ui:options":{"widget":"textarea","rows":4}},"b":{"items":{"ui:widget":"select","ui:enumNames":["A"]}}}`,
		`{"a":{"ui:autocomplete":"given-name","ui:unit":"kg","ui:prefix":"¥","ui:columns":2,"ui:inline":true,"ui:enumDisabled":[1]}}`,
	} {
		if err := LintUI(json.RawMessage(ok)); err != nil {
			t.Errorf("%s: %v", ok, err)
		}
	}
	for ui, path := range map[string]string{
		`[]`: "", `{`: "", `{"a":1}`: "/a", `{"a":{"ui:widget":"textaera"}}`: "/a/ui:widget", `{"a":{"ui:widget":1}}`: "/a/ui:widget",
		`{"a":{"ui:classNames":"x"}}`: "/a/ui:classNames", `{"a":{"ui:field":"X"}}`: "/a/ui:field", `{"a":{"ui:options":{"options":{}}}}`: "/a/ui:options/options",
		`{"a":{"ui:options":{"inputType":"x"}}}`: "/a/ui:options/inputType", `{"a":{"ui:disabled":"yes"}}`: "/a/ui:disabled", `{"a":{"ui:columns":0}}`: "/a/ui:columns",
		`{"ui:order":[1]}`: "/ui:order/0", `{"ui:order":"a"}`: "/ui:order", `{"a":{"ui:submitButtonOptions":{}}}`: "/a/ui:submitButtonOptions",
		`{"ui:submitButtonOptions":{"norender":true}}`: "/ui:submitButtonOptions/norender", `{"__proto__":{}}`: "/__proto__", `{"a":{"ui:help":["x"]}}`: "/a/ui:help",
		`{"a":{"ui:autocomplete":"x;y"}}`: "/a/ui:autocomplete", `{"ui:options":1}`: "/ui:options", `{"a":"` + strings.Repeat("x", MaxFormUI) + `"}`: "",
		strings.Repeat(`{"a":`, 40) + `{}` + strings.Repeat(`}`, 40): "",
	} {
		var se *SchemaError
		if err := LintUI(json.RawMessage(ui)); !errors.As(err, &se) || se.Violations[0].Path != path {
			t.Errorf("%.80s: %v, want a violation at %q", ui, err, path)
		}
	}
	err := LintUI(json.RawMessage(`{"a":{"ui:widget":"textaera"},"b":{"ui:placehoder":"x"}}`))
	if err == nil || !strings.Contains(err.Error(), "did you mean textarea?") || !strings.Contains(err.Error(), "did you mean ui:placeholder?") {
		t.Errorf("no cure in %v", err)
	}
}

// TestSecretsAreNotSaid: a default or an argument of a password field is in no
// text.
func TestSecretsAreNotSaid(t *testing.T) {
	r := builtins(t)
	const ui = `"uiSchema":{"pw":{"ui:widget":"password"}}`
	for typ, p := range map[string]string{
		"form":    `{"title":"t","schema":{"type":"object","properties":{"pw":{"type":"string"}}},` + ui + `,"defaults":{"pw":"s3cret"}}`,
		"confirm": `{"prompt":"p","schema":{"type":"object","properties":{"pw":{"type":"string"}}},` + ui + `,"args":{"pw":"s3cret"}}`,
	} {
		x, _ := r.Lookup(typ, 1)
		if err := r.Validate(typ, 1, json.RawMessage(p)); err != nil {
			t.Error(err)
		}
		for _, f := range []func(json.RawMessage) string{x.Fallback, x.Markdown, x.Summary} {
			if s := f(json.RawMessage(p)); strings.Contains(s, "s3cret") {
				t.Errorf("%s: %s", typ, s)
			}
		}
	}
}
