package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"
)

func builtins(t testing.TB) *Registry {
	t.Helper()
	r, err := NewRegistry(Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func encode(t testing.TB, v any) json.RawMessage {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func regions() Chart {
	return Chart{
		Type:   ChartBar,
		Title:  "Q3 sales by region",
		Unit:   "10k CNY",
		X:      &ChartX{Field: "region"},
		Series: []ChartSeries{{Field: "sales", Name: "Sales"}},
		Data:   []Row{{"region": "East", "sales": 320}, {"region": "South", "sales": 210}, {"region": "North", "sales": 180.5}, {"region": "West", "sales": nil}},
	}
}

func orders() Table {
	two := 2
	return Table{
		Caption: "Sample orders",
		Columns: []TableColumn{
			{Field: "no", Label: "Order"},
			{Field: "amount", Label: "Amount", Type: "number", Format: FormatCurrency, Currency: "CNY", Decimals: &two},
			{Field: "day", Label: "Day", Type: "time", Format: FormatDate},
		},
		Rows: []Row{
			{"no": "A|1", "amount": 1000000, "day": "2026-07-01"},
			{"no": "A_2", "amount": 12.5, "day": 1782950400000},
			{"no": "A3", "amount": nil, "day": nil},
		},
		Total: 40,
	}
}

func figures() Metric {
	up, down := 0.052, -3.0
	one, two := 1.0, 2.5
	return Metric{Title: "Today", Items: []MetricItem{
		{Label: "GMV", Value: 1234567.0, Unit: "CNY", Delta: &up, DeltaFormat: FormatPercent, Trend: []*float64{&one, nil, &two}},
		{Label: "Returns", Value: 12, Delta: &down, GoodWhen: "down"},
		{Label: "State", Value: "open"},
		{Label: "Rate", Value: nil},
	}}
}

func TestBuiltinsAccept(t *testing.T) {
	r := builtins(t)
	for name, v := range map[string]any{
		"text": "Hello **world**", "chart": regions(), "table": orders(), "metric": figures(),
		"code": Code{Lang: "go", Source: "package main\n", Filename: "main.go"},
	} {
		if err := r.Validate(name, 1, encode(t, v)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, typ := range r.Types() {
		if typ.Height <= 0 || typ.Description == "" || typ.Source != SourceBuiltin || typ.Class == "" ||
			typ.Fallback == nil || typ.Markdown == nil || typ.Summary == nil {
			t.Errorf("%s: incomplete registration", typ.Name)
		}
		for _, junk := range []string{`null`, `[]`, `"x"`, `{"data":[null,{"a":{}}],"series":[{}],"rows":[null],"columns":[{}],"items":[{}]}`, `{`} {
			// Text for people is written for anything and never panics.
			typ.Fallback(json.RawMessage(junk))
			typ.Markdown(json.RawMessage(junk))
			typ.Summary(json.RawMessage(junk))
		}
	}
}

func TestTextOfBuiltins(t *testing.T) {
	r := builtins(t)
	months := Chart{
		Type: ChartLine, ValueFormat: FormatPercent, Format: &ChartFormat{PercentBase: 100},
		X:      &ChartX{Field: "m", Type: "time", Title: "Month", TimeZone: "Asia/Shanghai"},
		Series: []ChartSeries{{Field: "a", Name: "New"}, {Field: "b", Name: "Repeat"}},
		Data:   []Row{{"m": 1767196800000, "a": 12, "b": 30.25}, {"m": "2026-02", "a": 18, "b": nil}},
	}
	many := regions()
	many.Data = nil
	for i := range 20 {
		many.Data = append(many.Data, Row{"region": fmt.Sprintf("R%d", i+1), "sales": (i + 1) * 1000000})
	}
	gauge := Chart{Type: ChartGauge, Title: "Load", Series: []ChartSeries{{Field: "v", Name: "CPU"}}, ValueFormat: FormatPercent, Data: []Row{{"v": 0.5}}}
	candle := Chart{Type: ChartCandlestick, X: &ChartX{Field: "d"}, Encode: &ChartEncode{Open: "o", High: "h", Low: "l", Close: "c"}, Data: []Row{{"d": "Mon", "o": 1, "h": 4, "l": 0.5, "c": 3}}}
	cut := regions()
	cut.Truncated = &Truncated{Shown: 4, Total: 100}
	tests := []struct {
		name, typ, what string
		payload         any
		want            string
	}{
		{"one series", "chart", "fallback", regions(), "Q3 sales by region (10k CNY): East 320, South 210, North 180.5, West –"},
		{"two series", "chart", "fallback", months, "New, Repeat: 2026-01-01: New 12%, Repeat 30.25%; 2026-02: New 18%, Repeat –"},
		{"cut after 12", "chart", "fallback", many, "Q3 sales by region (10k CNY): R1 1000000, R2 2000000, R3 3000000, R4 4000000, R5 5000000, R6 6000000, R7 7000000, R8 8000000, R9 9000000, R10 10000000, R11 11000000, R12 12000000, … (+8)"},
		{"truncated", "chart", "fallback", cut, "Q3 sales by region (10k CNY): East 320, South 210, North 180.5, West –, … (+96)"},
		{"gauge", "chart", "fallback", gauge, "Load: 50%"},
		{"no title", "chart", "fallback", candle, "Mon: o 1, h 4, l 0.5, c 3"},
		{"no rows", "chart", "fallback", Chart{Type: ChartBar, Title: "None", X: &ChartX{Field: "x"}, Series: []ChartSeries{{Field: "y", Name: "Y"}}}, "None: –"},
		{"chart", "chart", "markdown", regions(), "**Q3 sales by region (10k CNY)**\n\n| region | Sales |\n| --- | ---: |\n| East | 320 |\n| South | 210 |\n| North | 180.5 |\n| West | – |\n"},
		{"chart", "chart", "summary", regions(), "title: Q3 sales by region (10k CNY)\nrows: 4\ncolumns: region, Sales\nseries Sales: total 710.5, max 320 (East), min 180.5 (North), change first→last -43.6%\ntop: East 320; South 210; North 180.5"},
		{"percent", "chart", "summary", months, "rows: 2\ncolumns: Month, New, Repeat\nseries New: total 30%, max 18% (2026-02), min 12% (2026-01-01), change first→last +50.0%\nseries Repeat: total 30.25%, max 30.25% (2026-01-01), min 30.25% (2026-01-01)\ntop: 2026-02 18%; 2026-01-01 12%"},
		{"table", "table", "fallback", orders(), "Sample orders: A|1, Amount 1000000.00 CNY, Day 2026-07-01; A_2, Amount 12.50 CNY, Day 2026-07-02; A3, Amount –, Day –; … (+37)"},
		{"table", "table", "markdown", orders(), "**Sample orders**\n\n| Order | Amount | Day |\n| --- | ---: | --- |\n| A\\|1 | 1000000.00 CNY | 2026-07-01 |\n| A\\_2 | 12.50 CNY | 2026-07-02 |\n| A3 |  |  |\n\n3 / 40\n"},
		{"table", "table", "summary", orders(), "title: Sample orders\nrows: 3\nrows in source: 40\ncolumns: Order, Amount, Day\nseries Amount: total 1000012.50 CNY, max 1000000.00 CNY (A|1), min 12.50 CNY (A_2), change first→last -100.0%\ntop: A|1 1000000.00 CNY; A_2 12.50 CNY"},
		{"metric", "metric", "fallback", figures(), "Today: GMV 1234567 CNY (+5.2%), Returns 12 (-3), State open, Rate –"},
		{"metric", "metric", "markdown", figures(), "**Today**\n\n- GMV: **1234567 CNY** (+5.2%)\n- Returns: **12** (-3)\n- State: **open**\n- Rate: **–**\n"},
		{"metric", "metric", "summary", figures(), "title: Today\nitem GMV: 1234567 CNY (+5.2%)\nitem Returns: 12 (-3)\nitem State: open\nitem Rate: –"},
		{"code", "code", "fallback", Code{Lang: "go", Source: "x := 1", Filename: "a.go"}, "a.go\nx := 1"},
		{"code with fence", "code", "markdown", Code{Lang: "md", Source: "```\nx\n```\n"}, "````md\n```\nx\n```\n````\n"},
		{"code", "code", "summary", Code{Lang: "go", Source: "a\nb", Filename: "a.go"}, "title: a.go\nlang: go\nlines: 2"},
		{"text", "text", "summary", "Hi", "Hi"},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.what+" "+tt.name, func(t *testing.T) {
			typ, _ := r.Lookup(tt.typ, 1)
			p := encode(t, tt.payload)
			if err := r.Validate(tt.typ, 1, p); err != nil {
				t.Fatal(err)
			}
			got := map[string]func(json.RawMessage) string{"fallback": typ.Fallback, "markdown": typ.Markdown, "summary": typ.Summary}[tt.what](p)
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

// TestChartRoles checks that each chart type demands its roles: a chart that
// has them is accepted, and without any one of them it is not.
func TestChartRoles(t *testing.T) {
	r := builtins(t)
	const anySeries = "0.."
	table := []struct {
		typ    ChartType
		x      bool
		series string // "1", "1..", "0.."
		encode []string
	}{
		{ChartBar, true, "1..", nil}, {ChartLine, true, "1..", nil}, {ChartArea, true, "1..", nil},
		{ChartPie, true, "1", nil}, {ChartDonut, true, "1", nil}, {ChartScatter, true, "1..", nil},
		{ChartBubble, true, "1..", []string{"size"}}, {ChartCombo, true, "1..", nil}, {ChartHistogram, true, "1..", nil},
		{ChartHeatmap, true, "1", []string{"y"}}, {ChartFunnel, true, "1", nil}, {ChartRadar, true, "1..", nil},
		{ChartGauge, false, "1", nil}, {ChartTreemap, false, "1", nil}, {ChartWaterfall, true, "1", nil},
		{ChartBoxplot, true, anySeries, []string{"min", "q1", "median", "q3", "max"}},
		{ChartCandlestick, true, anySeries, []string{"open", "high", "low", "close"}},
	}
	if n := len(table); n != 17 {
		t.Fatalf("%d chart types, want 17", n)
	}
	for _, tt := range table {
		t.Run(string(tt.typ), func(t *testing.T) {
			build := func(x bool, series int, roles []string) json.RawMessage {
				row := map[string]any{"x": "East", "v": 1, "w": 2}
				m := map[string]any{"version": 1, "type": tt.typ, "data": []any{row}}
				list := []any{}
				for _, f := range []string{"v", "w"}[:series] {
					list = append(list, map[string]any{"field": f, "name": f})
				}
				m["series"] = list
				if x {
					m["x"] = map[string]any{"field": "x"}
				}
				if roles != nil {
					e := map[string]any{}
					for _, role := range roles {
						e[role], row["f_"+role] = "f_"+role, 1
					}
					m["encode"] = e
				}
				return encode(t, m)
			}
			check := func(what string, p json.RawMessage, ok bool) {
				t.Helper()
				if err := r.Validate("chart", 1, p); (err == nil) != ok {
					t.Errorf("%s: error %v, want accepted: %v", what, err, ok)
				}
			}
			check("all roles", build(true, 1, tt.encode), true)
			check("no x", build(false, 1, tt.encode), !tt.x)
			check("no series", build(true, 0, tt.encode), tt.series == anySeries)
			check("two series", build(true, 2, tt.encode), tt.series != "1")
			for i := range tt.encode {
				fewer := append(append([]string{}, tt.encode[:i]...), tt.encode[i+1:]...)
				check("without "+tt.encode[i], build(true, 1, fewer), false)
			}
			if tt.encode != nil {
				check("no encode", build(true, 1, nil), false)
			}
		})
	}
}

func TestBuiltinsRefuse(t *testing.T) {
	r := builtins(t)
	const x = `"x":{"field":"r"},"series":[{"field":"s","name":"S"}]`
	rowsOf := func(n int) string {
		rows := make([]string, n)
		for i := range rows {
			rows[i] = fmt.Sprintf(`{"r":"%d","s":1}`, i)
		}
		return strings.Join(rows, ",")
	}
	tests := []struct{ name, typ, payload, path string }{
		{"unknown member", "chart", `{"version":1,"type":"bar",` + x + `,"data":[],"option":{}}`, ""},
		{"unknown member of x", "chart", `{"version":1,"type":"bar","x":{"field":"r","color":"red"},"series":[{"field":"s","name":"S"}],"data":[]}`, "/x"},
		{"version 2", "chart", `{"version":2,"type":"bar",` + x + `,"data":[]}`, "/version"},
		{"no version", "chart", `{"type":"bar",` + x + `,"data":[]}`, ""},
		{"unknown type", "chart", `{"version":1,"type":"sankey",` + x + `,"data":[]}`, "/type"},
		{"field missing in x", "chart", `{"version":1,"type":"bar",` + x + `,"data":[{"region":"East","s":1}]}`, "/x/field"},
		{"field missing in series", "chart", `{"version":1,"type":"bar",` + x + `,"data":[{"r":"East","sales":1}]}`, "/series/0/field"},
		{"field missing in encode", "chart", `{"version":1,"type":"bubble",` + x + `,"encode":{"size":"z"},"data":[{"r":"East","s":1}]}`, "/encode/size"},
		{"field missing in onSelect", "chart", `{"version":1,"type":"bar",` + x + `,"onSelect":{"actionId":"a","params":{"p":"z"}},"data":[{"r":"East","s":1}]}`, "/onSelect/params/p"},
		{"text as value", "chart", `{"version":1,"type":"bar",` + x + `,"data":[{"r":"East","s":"1"}]}`, "/data/0/s"},
		{"true as value", "chart", `{"version":1,"type":"bar",` + x + `,"data":[{"r":"East","s":1},{"r":"West","s":true}]}`, "/data/1/s"},
		{"object in a row", "chart", `{"version":1,"type":"bar",` + x + `,"data":[{"r":{},"s":1}]}`, "/data/0/r"},
		{"text as size", "chart", `{"version":1,"type":"bubble",` + x + `,"encode":{"size":"z"},"data":[{"r":"East","s":1,"z":"big"}]}`, "/data/0/z"},
		{"13 slices", "chart", `{"version":1,"type":"pie",` + x + `,"data":[` + rowsOf(13) + `]}`, "/data"},
		{"negative slice", "chart", `{"version":1,"type":"donut",` + x + `,"data":[{"r":"East","s":-1}]}`, "/data/0/s"},
		{"two gauges", "chart", `{"version":1,"type":"gauge","series":[{"field":"s","name":"S"}],"data":[{"s":1},{"s":2}]}`, "/data"},
		{"no time", "chart", `{"version":1,"type":"line","x":{"field":"r","type":"time"},"series":[{"field":"s","name":"S"}],"data":[{"r":"yesterday","s":1}]}`, "/data/0/r"},
		{"no such day", "chart", `{"version":1,"type":"line","x":{"field":"r","type":"time"},"series":[{"field":"s","name":"S"}],"data":[{"r":"2026-02-30","s":1}]}`, "/data/0/r"},
		{"time out of range", "chart", `{"version":1,"type":"line","x":{"field":"r","type":"time"},"series":[{"field":"s","name":"S"}],"data":[{"r":1e17,"s":1}]}`, "/data/0/r"},
		{"no number on x", "chart", `{"version":1,"type":"scatter","x":{"field":"r","type":"number"},"series":[{"field":"s","name":"S"}],"data":[{"r":"East","s":1}]}`, "/data/0/r"},
		{"CSS colour", "chart", `{"version":1,"type":"bar","x":{"field":"r"},"series":[{"field":"s","name":"S","color":"#ff0000"}],"data":[]}`, "/series/0/color"},
		{"2001 rows", "chart", `{"version":1,"type":"bar",` + x + `,"data":[` + rowsOf(2001) + `]}`, "/data"},
		{"too many bytes", "chart", `{"version":1,"type":"bar",` + x + `,"data":[` + rowsOf(1999) + `,{"r":"` + strings.Repeat("e", 2000) + `","s":1}` + strings.Repeat(" ", 16000) + `]}`, ""},
		{"no columns", "table", `{"columns":[],"rows":[]}`, "/columns"},
		{"column twice", "table", `{"columns":[{"field":"a"},{"field":"a"}],"rows":[]}`, "/columns/1/field"},
		{"text as number", "table", `{"columns":[{"field":"a","type":"number"}],"rows":[{"a":"1"}]}`, "/rows/0/a"},
		{"no time in a cell", "table", `{"columns":[{"field":"a","type":"time"}],"rows":[{"a":"soon"}]}`, "/rows/0/a"},
		{"no boolean", "table", `{"columns":[{"field":"a","type":"boolean"}],"rows":[{"a":1}]}`, "/rows/0/a"},
		{"nested cell", "table", `{"columns":[{"field":"a"}],"rows":[{"a":[1]}]}`, "/rows/0/a"},
		{"total too small", "table", `{"columns":[{"field":"a"}],"rows":[{"a":1},{"a":2}],"total":1}`, "/total"},
		{"table too large", "table", `{"columns":[{"field":"a"}],"rows":[]` + strings.Repeat(" ", MaxTableBytes) + `}`, ""},
		{"no items", "metric", `{"items":[]}`, "/items"},
		{"no value", "metric", `{"items":[{"label":"a"}]}`, "/items/0"},
		{"HTML as language", "code", `{"lang":"go onload=x","source":""}`, "/lang"},
		{"text is no object", "text", `{"text":"x"}`, ""},
	}
	for _, tt := range tests {
		t.Run(tt.typ+" "+tt.name, func(t *testing.T) {
			err := r.Validate(tt.typ, 1, json.RawMessage(tt.payload))
			var se *SchemaError
			if !errors.As(err, &se) {
				t.Fatalf("got %v, want a *SchemaError", err)
			}
			for _, v := range se.Violations {
				if v.Path == tt.path {
					return
				}
			}
			t.Errorf("no violation at %q: %v", tt.path, err)
		})
	}
}

func TestChartStack(t *testing.T) {
	for stack, want := range map[ChartStack]string{StackOn: "true", StackOff: "false", StackPercent: `"percent"`, StackNormal: `"normal"`} {
		c := regions()
		c.Stack = stack
		p := encode(t, c)
		if !strings.Contains(string(p), `"stack":`+want) {
			t.Errorf("%s is not in %s", want, p)
		}
		if err := builtins(t).Validate("chart", 1, p); err != nil {
			t.Error(err)
		}
		var back Chart
		if err := json.Unmarshal(p, &back); err != nil || back.Stack != stack {
			t.Errorf("read back %q, %v", back.Stack, err)
		}
	}
	if p := encode(t, regions()); strings.Contains(string(p), "stack") {
		t.Errorf("no stack was set: %s", p)
	}
}

func TestRowsOfAnyNumberType(t *testing.T) {
	c := regions()
	c.Data = []Row{}
	for i, v := range []any{int8(1), int16(1), int32(1), int64(1), uint(1), uint8(1), uint16(1), uint32(1), uint64(1), float32(1), json.Number("1")} {
		c.Data = append(c.Data, Row{"region": fmt.Sprint(i), "sales": v})
	}
	pie := c
	pie.Type = ChartPie
	pie.Data = append(slices.Clone(c.Data), Row{"region": true, "sales": 1}, Row{"region": 7, "sales": 1})
	got := pie.Fit()
	if last := got.Data[len(got.Data)-1]; last["sales"] != 2.0 || last["region"] != OtherLabel {
		t.Errorf("the rest is %v", last)
	}
	if got := chartText(encode(t, pie)); !strings.HasSuffix(got, "10 1, true 1, … (+1)") {
		t.Errorf("fallback %q", got)
	}
}

func TestSchemaOfTheFirstChartsStaysValid(t *testing.T) {
	// The smallest documents that clients have always sent.
	for _, p := range []string{
		`{"version":1,"type":"bar","x":{"field":"region"},"series":[{"field":"sales","name":"Sales"}],"data":[{"region":"East","sales":320}],"unit":"10k","valueFormat":"number","orientation":"horizontal","stack":true}`,
		`{"version":1,"type":"pie","title":"","x":{"field":"k"},"series":[{"field":"v","name":""}],"data":[]}`,
	} {
		if err := builtins(t).Validate("chart", 1, json.RawMessage(p)); err != nil {
			t.Error(err)
		}
	}
}

func TestFit(t *testing.T) {
	r := builtins(t)
	line := Chart{Type: ChartLine, X: &ChartX{Field: "t", Type: "time"}, Series: []ChartSeries{{Field: "v", Name: "V"}}}
	for i := range 50000 {
		v := float64(i % 100)
		if i == 31415 {
			v = 9999
		}
		line.Data = append(line.Data, Row{"t": 1767225600000 + int64(i)*60000, "v": v, "unused": strings.Repeat("x", 50)})
	}
	bars := regions()
	bars.Data = nil
	for i := range 5000 {
		bars.Data = append(bars.Data, Row{"region": fmt.Sprintf("Region number %d", i), "sales": i})
	}
	pie := Chart{Type: ChartPie, X: &ChartX{Field: "k"}, Series: []ChartSeries{{Field: "v", Name: "V"}}}
	for i := range 30 {
		pie.Data = append(pie.Data, Row{"k": fmt.Sprint(i), "v": i})
	}
	wide := regions()
	wide.Data = nil
	for range 40 {
		wide.Data = append(wide.Data, Row{"region": strings.Repeat("东", 600), "sales": 1})
	}
	small := regions()
	small.Data = append(small.Data, Row{"region": "None", "sales": math.NaN()}, Row{"region": "Inf", "sales": math.Inf(1)})

	for name, c := range map[string]Chart{"line": line, "bars": bars, "pie": pie, "wide": wide, "small": small} {
		t.Run(name, func(t *testing.T) {
			n := len(c.Data)
			got := c.Fit()
			p := encode(t, got)
			if err := r.Validate("chart", 1, p); err != nil {
				t.Fatal(err)
			}
			if len(c.Data) != n {
				t.Error("the chart itself was changed")
			}
			if len(got.Data) < n && (got.Truncated == nil || got.Truncated.Total != n || got.Truncated.Shown != len(got.Data)) {
				t.Errorf("%d of %d rows, truncated says %+v", len(got.Data), n, got.Truncated)
			}
			if again := encode(t, got.Fit()); string(again) != string(p) {
				t.Error("a chart that fits is changed")
			}
		})
	}
	got := line.Fit()
	peak := false
	for _, r := range got.Data {
		peak = peak || r["v"] == 9999.0
	}
	if !peak || got.Data[0]["t"] != line.Data[0]["t"] || got.Data[len(got.Data)-1]["t"] != line.Data[49999]["t"] {
		t.Error("a sample keeps the ends and the extremes")
	}
	if got := pie.Fit(); len(got.Data) != 12 || got.Data[11]["k"] != OtherLabel || got.Data[11]["v"] != 171.0 || got.Data[0]["k"] != "19" {
		t.Errorf("pie is %v", got.Data)
	}
	if got := small.Fit(); got.Truncated != nil || got.Data[4]["sales"] != nil || got.Data[5]["sales"] != nil {
		t.Errorf("small is %+v", got)
	}
	if got := bars.Fit(); got.Data[0]["sales"] != 0 || got.Data[1]["sales"] != 1 {
		t.Error("categories are cut off at the end")
	}
}

func TestFormatFloat(t *testing.T) {
	for v, want := range map[float64]string{
		0: "0", math.Copysign(0, -1): "0", 1e6: "1000000", 1e15: "1000000000000000", -2.5: "-2.5", 0.1 + 0.2: "0.3",
		1e21: "1000000000000000000000", 1.0 / 3: "0.333333333333", 1e-7: "0.0000001", math.Inf(1): "–",
	} {
		if got := FormatFloat(v); got != want {
			t.Errorf("FormatFloat(%g) = %s, want %s", v, got, want)
		}
	}
	if got := FormatFloat(math.NaN()); got != "–" {
		t.Errorf("NaN is %s", got)
	}
}
