package block_test

import (
	"encoding/json"
	"fmt"

	"github.com/inlay-ui/inlay/block"
)

// A chart names the parts that fields play; what clients without charts are
// shown, and what the model is told, is derived from it.
func ExampleChart() {
	registry, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	payload, err := json.Marshal(block.Chart{
		Type:   block.ChartBar,
		Title:  "Sample sales by region",
		X:      &block.ChartX{Field: "region"},
		Series: []block.ChartSeries{{Field: "sales", Name: "Sales"}},
		Data:   []block.Row{{"region": "East", "sales": 320}, {"region": "South", "sales": 210}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(registry.Validate("chart", 1, payload))
	fmt.Println(registry.FallbackText("chart", 1, payload))
	chart, _ := registry.Lookup("chart", 1)
	fmt.Println(chart.Summary(payload))
	// Output:
	// <nil>
	// Sample sales by region: East 320, South 210
	// title: Sample sales by region
	// rows: 2
	// columns: region, Sales
	// series Sales: total 530, max 320 (East), min 210 (South), change first→last -34.4%
	// top: East 320; South 210
}

// Fit makes a chart of too many rows lawful and says what is missing.
func ExampleChart_Fit() {
	c := block.Chart{
		Type:   block.ChartPie,
		X:      &block.ChartX{Field: "city"},
		Series: []block.ChartSeries{{Field: "orders", Name: "Orders"}},
	}
	for i := range 20 {
		c.Data = append(c.Data, block.Row{"city": fmt.Sprint("City ", i+1), "orders": 20 - i})
	}
	c = c.Fit()
	fmt.Println(len(c.Data), c.Data[11], *c.Truncated)
	// Output: 12 map[city:Other orders:45] {12 20}
}

// Your own types are registered like the built-in ones.
func ExampleRegistry_Register() {
	registry, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = registry.Register(block.Type{
		Name:     "app.product_card",
		Version:  1,
		Class:    block.ClassDisplay,
		Source:   block.SourceApp,
		Schema:   json.RawMessage(`{"type":"object","required":["price"],"properties":{"price":{"type":"number"}}}`),
		Height:   120,
		Fallback: func(json.RawMessage) string { return "A product" },
	})
	fmt.Println(err)
	fmt.Println(registry.Validate("app.product_card", 1, json.RawMessage(`{"price":"cheap"}`)))
	// Output:
	// <nil>
	// /price: got string, want number
}

func ExampleRegistry_Negotiate() {
	registry, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		fmt.Println(err)
		return
	}
	caps := registry.Negotiate("chart@1, table@1, table@9, CHART@1", true)
	fmt.Println(caps.Tokens, caps.Rejected)
	fmt.Println(caps.Can("chart", 1), caps.Can("metric", 1))
	// Output:
	// [inlay.chart@1 inlay.table@1] [CHART@1]
	// true false
}
