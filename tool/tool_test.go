package tool_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

type salesArgs struct {
	Quarter string   `json:"quarter" jsonschema:"Calendar quarter, such as 2026Q3" pattern:"^[0-9]{4}Q[1-4]$"`
	Chart   string   `json:"chart,omitempty" enum:"bar,line"`
	Limit   int      `json:"limit,omitempty" minimum:"1" maximum:"500"`
	Regions []string `json:"regions,omitempty" enum:"East,West"`
	Since   *string  `json:"since,omitempty"`
	Range   *struct {
		From time.Time `json:"from"`
	} `json:"range,omitempty"`
	Extra map[string][]int `json:"extra,omitempty"`
	Raw   json.RawMessage  `json:"raw,omitempty"`
	Bytes []byte           `json:"bytes,omitempty"`
	Skip  string           `json:"-"`
}

func TestSchemaOf(t *testing.T) {
	raw, err := tool.SchemaOf[salesArgs]()
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"type":"object","properties":{` +
		`"quarter":{"type":"string","description":"Calendar quarter, such as 2026Q3","pattern":"^[0-9]{4}Q[1-4]$"},` +
		`"chart":{"type":"string","enum":["bar","line"]},` +
		`"limit":{"type":"integer","minimum":1,"maximum":500},` +
		`"regions":{"type":"array","items":{"type":"string","enum":["East","West"]}},` +
		`"since":{"type":["null","string"]},` +
		`"range":{"type":["null","object"],"properties":{"from":{"type":"string","format":"date-time"}},"required":["from"],"additionalProperties":false},` +
		`"extra":{"type":"object","additionalProperties":{"type":"array","items":{"type":"integer"}}},` +
		`"raw":true,` +
		`"bytes":{"type":"string","contentEncoding":"base64"}},` +
		`"required":["quarter"],"additionalProperties":false}`
	if string(raw) != want {
		t.Errorf("got  %s\nwant %s", raw, want)
	}
}

func TestSchemaOfRefuses(t *testing.T) {
	type badEnum struct {
		N int `json:"n" enum:"one"`
	}
	type badPattern struct {
		N int `json:"n" pattern:"x"`
	}
	type badMinimum struct {
		S string `json:"s" minimum:"1"`
	}
	type badType struct {
		F func() `json:"f"`
	}
	for name, f := range map[string]func() (json.RawMessage, error){
		"enum": tool.SchemaOf[badEnum], "pattern": tool.SchemaOf[badPattern], "minimum": tool.SchemaOf[badMinimum],
		"function": tool.SchemaOf[badType], "not an object": tool.SchemaOf[string],
	} {
		if raw, err := f(); err == nil {
			t.Errorf("%s: accepted as %s", name, raw)
		}
	}
}

func TestCheck(t *testing.T) {
	raw, err := tool.SchemaOf[salesArgs]()
	if err != nil {
		t.Fatal(err)
	}
	c, err := tool.NewCheck(tool.Spec{Name: "show_sales", Parameters: raw})
	if err != nil {
		t.Fatal(err)
	}
	for _, good := range []string{
		`{"quarter":"2026Q3"}`, ` { "quarter" : "2026Q3", "chart":"line","limit":500, "regions":[] } `,
		`{"quarter":"2026Q3","since":null,"range":{"from":"2026-01-01T00:00:00Z"},"raw":[1],"limit":3.0}`,
	} {
		got, err := c.Args(json.RawMessage(good))
		if err != nil {
			t.Errorf("%s: %v", good, err)
		} else if strings.ContainsAny(string(got), " \n") {
			t.Errorf("not compact: %s", got)
		}
	}
	for bad, want := range map[string]string{
		``:                                                  "missing property 'quarter'",
		`{"quarter":"Q3 2026"}`:                             "/quarter: ",
		`{"quarter":"2026Q3","chart":"sun"}`:                "/chart: value must be one of 'bar', 'line'",
		`{"quarter":"2026Q3","limit":501}`:                  "/limit: ",
		`{"quarter":"2026Q3","limit":1.5}`:                  "/limit: got number, want integer",
		`{"quarter":"2026Q3","regions":null}`:               "/regions: got null, want array",
		`{"quarter":"2026Q3","Chart":"bar"}`:                "additional properties 'Chart' not allowed",
		`{"quarter":"2026Q3","range":{"from":"yesterday"}}`: "/range/from: ",
		`{"quarter":"2026Q3"`:                               "not valid JSON",
		`{"quarter":"2026Q3"} {}`:                           "not valid JSON",
		`[]`:                                                "got array, want object",
		`{"quarter":"` + strings.Repeat("x", 300<<10) + `"}`: "more than the limit",
	} {
		_, err := c.Args(json.RawMessage(bad))
		var ae *tool.ArgumentError
		if !errors.As(err, &ae) || !strings.Contains(err.Error(), want) || !strings.HasPrefix(err.Error(), "invalid arguments for show_sales: ") {
			t.Errorf("%.60s: got %v, want %q", bad, err, want)
		}
	}
}

func TestCheckRefusesSpecs(t *testing.T) {
	for _, s := range []tool.Spec{
		{},
		{Name: "two words"},
		{Name: strings.Repeat("x", 65)},
		{Name: "a", Parameters: json.RawMessage(`{"type":"array"}`)},
		{Name: "a", Parameters: json.RawMessage(`{}`)},
		{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":3}`)},
		{Name: "a", Parameters: json.RawMessage(`{"type":"object","properties":{"x":{"pattern":"("}}}`)},
		{Name: "a", Parameters: json.RawMessage(`{"type":"object","$ref":"https://example.com/s.json"}`)},
		{Name: "a", Parameters: json.RawMessage(`{`)},
	} {
		if _, err := tool.NewCheck(s); err == nil {
			t.Errorf("%q %s: accepted", s.Name, s.Parameters)
		}
	}
	c, err := tool.NewCheck(tool.Spec{Name: "no_arguments"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Args(json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("a tool without arguments took one")
	}
	if _, err := c.Args(nil); err != nil {
		t.Error(err)
	}
}

func newSales(t *testing.T) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "show_sales", Description: "Show sales.", Block: &tool.BlockSpec{Type: "chart"}},
		func(_ context.Context, a salesArgs, out *tool.Out) error {
			out.Remark("Only %s.", a.Quarter)
			return out.Chart(block.Chart{
				Type: block.ChartBar, Title: a.Quarter, X: &block.ChartX{Field: "region"},
				Series: []block.ChartSeries{{Field: "amount", Name: "Amount"}},
				Data:   []block.Row{{"region": "East", "amount": 3}, {"region": "West", "amount": 2}},
			})
		})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func TestTypedTool(t *testing.T) {
	run, err := tooltest.Call(t.Context(), newSales(t), `{"quarter":"2026Q3"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Blocks) != 1 || !run.Blocks[0].Announced || run.Blocks[0].Status != block.StatusDone {
		t.Fatalf("%+v", run.Blocks)
	}
	if run.Result.Unused != nil {
		t.Error("the announced block counts as unused")
	}
	if !strings.Contains(run.Told, "East") || !strings.Contains(run.Told, "Only 2026Q3.") {
		t.Errorf("told %q", run.Told)
	}
}

func TestSet(t *testing.T) {
	set, err := tool.NewSet(newSales(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Add(newSales(t)); err == nil {
		t.Error("the same name twice")
	}
	other, err := tool.New(tool.Spec{Name: "other"}, func(context.Context, struct{}, *tool.Out) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if err := set.Add(other, other); err == nil || set.Len() != 1 {
		t.Errorf("half a list was added: %v, %d tools", err, set.Len())
	}
	if err := set.Add(other); err != nil {
		t.Fatal(err)
	}
	if _, check, ok := set.Lookup("other"); !ok || check == nil {
		t.Error("not found")
	}
	if _, _, ok := set.Lookup("another"); ok {
		t.Error("found")
	}
	var names []string
	for _, s := range set.Specs() {
		names = append(names, s.Name)
	}
	if got := strings.Join(names, " "); got != "show_sales other" {
		t.Error(got)
	}
}

func TestUI(t *testing.T) {
	answer := func(a string) tool.Tool {
		tl, err := tool.New(tool.Spec{Name: "t"}, func(_ context.Context, _ struct{}, out *tool.Out) error {
			return out.UI(json.RawMessage(a))
		})
		if err != nil {
			t.Fatal(err)
		}
		return tl
	}
	run, err := tooltest.Call(t.Context(), answer(`{"toolId":"x","content":"Two tables","ui":{"type":"table","version":"1.4",
		"data":{"columns":[{"field":"a"}],"rows":[{"a":"1"}]}}}`), "", "")
	if err != nil {
		t.Fatal(err)
	}
	b := run.Blocks[0]
	if b.Type != "table" || b.Version != 1 || b.Fallback != "Two tables" || b.Meta.SchemaMinor != 4 || run.Told != "Two tables" {
		t.Errorf("%+v, told %q", b, run.Told)
	}
	run, err = tooltest.Call(t.Context(), answer(`{"toolId":"x","content":"A product","ui":{"type":"ProductCard","data":{}}}`), "", "")
	if err != nil {
		t.Fatal(err)
	}
	if len(run.Blocks) != 1 || run.Blocks[0].Type != "text" || !strings.Contains(run.Told, "not registered") {
		t.Errorf("%+v, told %q", run.Blocks, run.Told)
	}
}

func ExampleNew() {
	type args struct {
		City string `json:"city" jsonschema:"Name of a city"`
	}
	weather, err := tool.New(tool.Spec{Name: "show_weather", Description: "Show the weather of a city."},
		func(_ context.Context, a args, out *tool.Out) error {
			return out.Metric(block.Metric{Items: []block.MetricItem{{Label: a.City, Value: 21, Unit: "°C"}}})
		})
	if err != nil {
		panic(err)
	}
	run, err := tooltest.Call(context.Background(), weather, `{"city":"Sample City"}`, "")
	if err != nil {
		panic(err)
	}
	fmt.Println(run.Blocks[0].Fallback)
	// Output: Sample City 21 °C
}
