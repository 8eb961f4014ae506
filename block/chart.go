package block

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Limits of a chart's payload.
const (
	MaxChartRows  = 2000
	MaxChartBytes = 48 << 10
	MaxPieSlices  = 12
)

// fallbackRows is how many rows a fallback lists.
const fallbackRows = 12

// ChartType is the form of a chart.
type ChartType string

// The chart types. Which roles each of them needs is part of the schema.
const (
	ChartBar         ChartType = "bar"
	ChartLine        ChartType = "line"
	ChartArea        ChartType = "area"
	ChartPie         ChartType = "pie"
	ChartDonut       ChartType = "donut"
	ChartScatter     ChartType = "scatter"
	ChartBubble      ChartType = "bubble"
	ChartCombo       ChartType = "combo"
	ChartHistogram   ChartType = "histogram"
	ChartHeatmap     ChartType = "heatmap"
	ChartFunnel      ChartType = "funnel"
	ChartRadar       ChartType = "radar"
	ChartGauge       ChartType = "gauge"
	ChartTreemap     ChartType = "treemap"
	ChartWaterfall   ChartType = "waterfall"
	ChartBoxplot     ChartType = "boxplot"
	ChartCandlestick ChartType = "candlestick"
)

// Row is one row of data: field to string, number, bool or nil. nil is a gap.
type Row = map[string]any

// Chart is the payload of a chart block: rows, and which field plays which
// part. It says nothing about looks, so that every client draws it in its own.
type Chart struct {
	// Version is 1. It is always written as 1.
	Version  int       `json:"version"`
	Type     ChartType `json:"type"`
	Title    string    `json:"title,omitempty"`
	Subtitle string    `json:"subtitle,omitempty"`
	// Unit is the unit of the values, for people: "10k CNY".
	Unit        string         `json:"unit,omitempty"`
	ValueFormat ValueFormat    `json:"valueFormat,omitempty"`
	Format      *ChartFormat   `json:"format,omitempty"`
	X           *ChartX        `json:"x,omitempty"`
	Y           *ChartAxis     `json:"y,omitempty"`
	Y2          *ChartAxis     `json:"y2,omitempty"`
	Encode      *ChartEncode   `json:"encode,omitempty"`
	Series      []ChartSeries  `json:"series"`
	Data        []Row          `json:"data"`
	Truncated   *Truncated     `json:"truncated,omitempty"`
	Orientation string         `json:"orientation,omitempty"` // vertical or horizontal
	Stack       ChartStack     `json:"stack,omitempty"`
	Legend      string         `json:"legend,omitempty"` // auto, top, bottom, right or none
	Labels      bool           `json:"labels,omitempty"`
	Zoom        bool           `json:"zoom,omitempty"`
	Refs        []ChartRef     `json:"refs,omitempty"`
	OnSelect    *ChartOnSelect `json:"onSelect,omitempty"`
	Source      *ChartSource   `json:"source,omitempty"`
	A11y        *ChartA11y     `json:"a11y,omitempty"`
}

// ChartFormat is the detail of a chart's ValueFormat.
type ChartFormat struct {
	Currency string `json:"currency,omitempty"` // ISO 4217
	Decimals *int   `json:"decimals,omitempty"`
	// PercentBase says how percentages are stored: 1 (the default) when 0.12
	// is 12 %, 100 when 12 is.
	PercentBase int `json:"percentBase,omitempty"`
}

// ChartX is the field that values are laid out by.
type ChartX struct {
	Field string `json:"field"`
	// Type is category (the default), time or number. Values of time are ISO
	// 8601 or epoch milliseconds.
	Type     string `json:"type,omitempty"`
	Title    string `json:"title,omitempty"`
	Sort     string `json:"sort,omitempty"` // asc, desc or none
	TimeZone string `json:"timeZone,omitempty"`
}

// ChartAxis is an axis of values.
type ChartAxis struct {
	Title string   `json:"title,omitempty"`
	Min   *float64 `json:"min,omitempty"`
	Max   *float64 `json:"max,omitempty"`
	Zero  *bool    `json:"zero,omitempty"`
	Log   bool     `json:"log,omitempty"`
	Unit  string   `json:"unit,omitempty"`
}

// ChartEncode names the fields of roles beyond x and series. Color, Y and
// Parent may be of any kind; the others are numeric.
type ChartEncode struct {
	Size   string `json:"size,omitempty"`
	Color  string `json:"color,omitempty"`
	Y      string `json:"y,omitempty"`
	Open   string `json:"open,omitempty"`
	High   string `json:"high,omitempty"`
	Low    string `json:"low,omitempty"`
	Close  string `json:"close,omitempty"`
	Min    string `json:"min,omitempty"`
	Q1     string `json:"q1,omitempty"`
	Median string `json:"median,omitempty"`
	Q3     string `json:"q3,omitempty"`
	Max    string `json:"max,omitempty"`
	Parent string `json:"parent,omitempty"`
	Value  string `json:"value,omitempty"`
}

// role is a role of an encode object with the field that plays it.
type role struct {
	name, field string
	numeric     bool
}

// roles lists the roles that are played, in a fixed order.
func (e *ChartEncode) roles() []role {
	if e == nil {
		return nil
	}
	all := []role{
		{"y", e.Y, false}, {"parent", e.Parent, false}, {"color", e.Color, false}, {"size", e.Size, true},
		{"open", e.Open, true}, {"high", e.High, true}, {"low", e.Low, true}, {"close", e.Close, true},
		{"min", e.Min, true}, {"q1", e.Q1, true}, {"median", e.Median, true}, {"q3", e.Q3, true}, {"max", e.Max, true},
		{"value", e.Value, true},
	}
	return slices.DeleteFunc(all, func(r role) bool { return r.field == "" })
}

// ChartSeries is one series of values.
type ChartSeries struct {
	Field string `json:"field"`
	Name  string `json:"name"`
	// Type is the form of this series in a combo: bar, line, area or scatter.
	Type   string `json:"type,omitempty"`
	Axis   string `json:"axis,omitempty"` // y or y2
	Stack  string `json:"stack,omitempty"`
	Color  string `json:"color,omitempty"` // a token, never a CSS colour
	Unit   string `json:"unit,omitempty"`
	Dashed bool   `json:"dashed,omitempty"`
}

// ChartStack says how the series of a chart are stacked.
type ChartStack string

// The ways to stack. StackOn is written true.
const (
	StackOn      ChartStack = "true"
	StackOff     ChartStack = "false"
	StackNormal  ChartStack = "normal"
	StackPercent ChartStack = "percent"
)

// MarshalJSON implements json.Marshaler.
func (s ChartStack) MarshalJSON() ([]byte, error) {
	if s == StackOn || s == StackOff {
		return []byte(s), nil
	}
	return json.Marshal(string(s))
}

// UnmarshalJSON implements json.Unmarshaler.
func (s *ChartStack) UnmarshalJSON(b []byte) error {
	if string(b) == "true" || string(b) == "false" {
		*s = ChartStack(b)
		return nil
	}
	return json.Unmarshal(b, (*string)(s))
}

// Truncated says how much of the data a payload holds.
type Truncated struct {
	Shown int `json:"shown"`
	Total int `json:"total"`
}

// ChartRef is a reference line, such as a target.
type ChartRef struct {
	Axis  string `json:"axis"`  // x, y or y2
	Value any    `json:"value"` // number or string
	Label string `json:"label,omitempty"`
}

// ChartOnSelect is the prompt action that a click on a datum runs.
type ChartOnSelect struct {
	ActionID string `json:"actionId"`
	// Params names, for each parameter of the action, the field of the row
	// that it is filled from.
	Params map[string]string `json:"params"`
}

// ChartSource is where the data came from.
type ChartSource struct {
	Tool     string `json:"tool,omitempty"`
	AsOf     int64  `json:"asOf,omitempty"` // epoch milliseconds
	RowCount int    `json:"rowCount,omitempty"`
	Digest   string `json:"digest,omitempty"`
}

// ChartA11y is for those who do not see the chart.
type ChartA11y struct {
	Summary string `json:"summary,omitempty"`
}

// MarshalJSON writes the version and the two lists that the schema requires
// even when they are not set.
func (c Chart) MarshalJSON() ([]byte, error) {
	type plain Chart
	c.Version = 1
	if c.Series == nil {
		c.Series = []ChartSeries{}
	}
	if c.Data == nil {
		c.Data = []Row{}
	}
	return json.Marshal(plain(c))
}

func chartType() Type {
	return Type{
		Name:        "chart",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "A chart by meaning: rows, and which field plays which part.",
		Schema:      builtinSchema("chart.v1.json"),
		Height:      320,
		Check:       checkChart,
		Fallback:    chartText,
		Markdown:    chartMarkdown,
		Summary:     chartSummary,
	}
}

func checkChart(payload json.RawMessage) error {
	if len(payload) > MaxChartBytes {
		return &SchemaError{Violations: []Violation{{Message: fmt.Sprintf("%d bytes, at most %d", len(payload), MaxChartBytes)}}}
	}
	var c Chart
	if err := decodePayload(payload, &c); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	c.checkFields(&v)
	c.checkValues(&v)
	if pie := c.Type == ChartPie || c.Type == ChartDonut; pie {
		if len(c.Data) > MaxPieSlices {
			v.add("/data", "%d slices, at most %d: sum the rest up as one", len(c.Data), MaxPieSlices)
		}
		for i, r := range c.Data {
			for _, s := range c.Series {
				if f, ok := toFloat(r[s.Field]); ok && f < 0 {
					v.add(jsonx.Pointer("data", fmt.Sprint(i), s.Field), "a slice cannot be negative")
				}
			}
		}
	}
	if c.Type == ChartGauge && len(c.Data) > 1 {
		v.add("/data", "a gauge shows one row")
	}
	c.checkAxes(&v)
	return v.err()
}

// checkAxes demands that what is said of axes can be drawn on them.
func (c Chart) checkAxes(v *violations) {
	for i, r := range c.Refs {
		path := fmt.Sprintf("/refs/%d/value", i)
		_, number := toFloat(r.Value)
		switch {
		case r.Axis != "x" && !number:
			v.add(path, "must be a number on an axis of values")
		case r.Axis == "x" && c.X == nil:
			v.add(path, "there is no x")
		case r.Axis == "x" && c.X.Type == "number" && !number:
			v.add(path, "must be a number on an axis of numbers")
		case r.Axis == "x" && c.X.Type == "time" && !validTime(r.Value):
			v.add(path, "must be an ISO 8601 time or epoch milliseconds")
		}
	}
	for _, a := range []struct {
		name string
		*ChartAxis
	}{{"y", c.Y}, {"y2", c.Y2}} {
		if a.ChartAxis != nil && a.Min != nil && a.Max != nil && *a.Max < *a.Min {
			v.add("/"+a.name+"/max", "is less than min")
		}
	}
	if t := c.Truncated; t != nil && t.Total < t.Shown {
		v.add("/truncated/total", "is less than shown")
	}
}

// checkFields demands of every field that is named that some row has it.
func (c Chart) checkFields(v *violations) {
	if len(c.Data) == 0 {
		return
	}
	have := make(map[string]bool)
	for _, r := range c.Data {
		for f := range r {
			have[f] = true
		}
	}
	need := func(path, field string) {
		if !have[field] {
			v.add(path, "no row has the field %q", field)
		}
	}
	if c.X != nil {
		need("/x/field", c.X.Field)
	}
	for i, s := range c.Series {
		need(fmt.Sprintf("/series/%d/field", i), s.Field)
	}
	for _, r := range c.Encode.roles() {
		need("/encode/"+r.name, r.field)
	}
	if c.OnSelect != nil {
		for p, f := range c.OnSelect.Params {
			need(jsonx.Pointer("onSelect", "params", p), f)
		}
	}
}

// checkValues demands numbers where numbers are drawn and times on an axis of
// time.
func (c Chart) checkValues(v *violations) {
	numeric := make(map[string]bool)
	for _, s := range c.Series {
		numeric[s.Field] = true
	}
	for _, r := range c.Encode.roles() {
		if r.numeric {
			numeric[r.field] = true
		}
	}
	if c.X != nil && c.X.Type == "number" {
		numeric[c.X.Field] = true
	}
	fields := slices.Sorted(maps.Keys(numeric))
	for i, r := range c.Data {
		for _, f := range fields {
			val, ok := r[f]
			if !ok || val == nil {
				continue
			}
			if _, ok := toFloat(val); !ok {
				v.add(jsonx.Pointer("data", fmt.Sprint(i), f), "must be a number or null")
			}
		}
		if c.X != nil && c.X.Type == "time" && !validTime(r[c.X.Field]) {
			v.add(jsonx.Pointer("data", fmt.Sprint(i), c.X.Field), "must be an ISO 8601 time or epoch milliseconds")
		}
	}
}

// violations collects what is wrong with a payload, up to a number that helps.
type violations struct{ list []Violation }

func (v *violations) add(path, format string, args ...any) {
	if len(v.list) < 20 {
		v.list = append(v.list, Violation{Path: path, Message: fmt.Sprintf(format, args...)})
	}
}

func (v *violations) err() error {
	if len(v.list) == 0 {
		return nil
	}
	slices.SortStableFunc(v.list, func(a, b Violation) int { return cmp.Compare(a.Path, b.Path) })
	return &SchemaError{Violations: v.list}
}

// part is a column of the chart's figures in plain text.
type part struct {
	name, field string
	numeric     bool
	x           bool
	figure      figure
}

// parts lists what is shown of each row: x, then the other words, then the
// numbers.
func (c Chart) parts() []part {
	fig := figure{format: c.ValueFormat}
	if c.Format != nil {
		fig.currency, fig.decimals, fig.base = c.Format.Currency, c.Format.Decimals, c.Format.PercentBase
	}
	var out []part
	if c.X != nil {
		out = append(out, part{name: cmp.Or(c.X.Title, c.X.Field), field: c.X.Field, x: true})
	}
	roles := c.Encode.roles()
	for _, r := range roles {
		if !r.numeric {
			out = append(out, part{name: r.field, field: r.field})
		}
	}
	for _, s := range c.Series {
		out = append(out, part{name: cmp.Or(s.Name, s.Field), field: s.Field, numeric: true, figure: fig})
	}
	for _, r := range roles {
		if r.numeric && !slices.ContainsFunc(c.Series, func(s ChartSeries) bool { return s.Field == r.field }) {
			out = append(out, part{name: r.field, field: r.field, numeric: true, figure: fig})
		}
	}
	return out
}

// cell writes one value of a row.
func (c Chart) cell(p part, r Row) string {
	v := r[p.field]
	if p.x && c.X.Type == "time" {
		return timeText(v, c.X.TimeZone, false)
	}
	if p.numeric {
		if f, ok := toFloat(v); ok {
			return p.figure.write(f)
		}
	}
	return plain(v)
}

// label writes what names a row: its words.
func (c Chart) label(parts []part, r Row, i int) string {
	var words []string
	for _, p := range parts {
		if !p.numeric && p.field != "" && (c.Encode == nil || p.field != c.Encode.Color || p.x) {
			words = append(words, c.cell(p, r))
		}
	}
	if len(words) == 0 {
		return fmt.Sprint(i + 1)
	}
	return strings.Join(words, " / ")
}

// heading writes the title with the unit.
func heading(title, unit string) string {
	title, unit = oneLine(title), oneLine(unit)
	switch {
	case title == "":
		return unit
	case unit == "":
		return title
	}
	return title + " (" + unit + ")"
}

// chartText lists the figures: "Sales by region (10k CNY): East 320, South 210".
func chartText(payload json.RawMessage) string {
	var c Chart
	if decodePayload(payload, &c) != nil {
		return "[chart]"
	}
	parts := c.parts()
	numbers := slices.DeleteFunc(slices.Clone(parts), func(p part) bool { return !p.numeric })
	title := c.Title
	if title == "" {
		names := make([]string, len(c.Series))
		for i, s := range c.Series {
			names[i] = oneLine(s.Name)
		}
		title = strings.Join(names, ", ")
	}
	rows := make([]string, 0, fallbackRows)
	for i, r := range c.Data[:min(len(c.Data), fallbackRows)] {
		var b strings.Builder
		if l := c.label(parts, r, i); c.Type != ChartGauge || c.X != nil {
			b.WriteString(l)
			if len(numbers) > 1 {
				b.WriteByte(':')
			}
			b.WriteByte(' ')
		}
		for k, p := range numbers {
			if k > 0 {
				b.WriteString(", ")
			}
			if len(numbers) > 1 {
				b.WriteString(oneLine(p.name))
				b.WriteByte(' ')
			}
			b.WriteString(c.cell(p, r))
		}
		rows = append(rows, b.String())
	}
	sep := ", "
	if len(numbers) > 1 {
		sep = "; "
	}
	return figuresText(heading(title, c.Unit), rows, sep, c.rows()-len(rows))
}

// figuresText joins a heading and rows, with the count of those left out.
func figuresText(head string, rows []string, sep string, rest int) string {
	s := strings.Join(rows, sep)
	if rest > 0 {
		s += fmt.Sprintf("%s… (+%d)", sep, rest)
	}
	switch {
	case head == "":
		return s
	case s == "":
		return head + ": " + none
	}
	return head + ": " + s
}

// rows is how many rows there are, those left out included.
func (c Chart) rows() int {
	if c.Truncated != nil {
		return max(c.Truncated.Total, len(c.Data))
	}
	return len(c.Data)
}

func chartMarkdown(payload json.RawMessage) string {
	var c Chart
	if decodePayload(payload, &c) != nil {
		return "[chart]"
	}
	var b strings.Builder
	if h := heading(c.Title, c.Unit); h != "" {
		b.WriteString("**" + markdownText(h) + "**\n\n")
	}
	parts := c.parts()
	if len(parts) == 0 {
		return strings.TrimSpace(b.String())
	}
	head := make([]string, len(parts))
	right := make([]bool, len(parts))
	for i, p := range parts {
		head[i], right[i] = p.name, p.numeric
	}
	rows := make([][]string, len(c.Data))
	for i, r := range c.Data {
		rows[i] = make([]string, len(parts))
		for k, p := range parts {
			rows[i][k] = c.cell(p, r)
		}
	}
	b.WriteString(markdownTable(head, right, rows))
	if n := c.rows(); n > len(c.Data) {
		fmt.Fprintf(&b, "\n%d / %d\n", len(c.Data), n)
	}
	return b.String()
}

func chartSummary(payload json.RawMessage) string {
	var c Chart
	if decodePayload(payload, &c) != nil {
		return "[chart]"
	}
	parts := c.parts()
	var names []string
	var figures []*column
	for _, p := range parts {
		names = append(names, oneLine(p.name))
		if !p.numeric {
			continue
		}
		col := &column{name: oneLine(p.name), figure: p.figure}
		for i, r := range c.Data {
			col.append(c.label(parts, r, i), r[p.field])
		}
		figures = append(figures, col)
	}
	return summary(heading(c.Title, c.Unit), len(c.Data), c.rows(), names, figures)
}

// OtherLabel names the slice that Fit sums small slices up in.
const OtherLabel = "Other"

// Fit returns the chart cut to the limits of a payload: fields that nothing
// names are dropped, the smallest slices of a pie become one, rows are thinned
// out (continuous charts) or cut off (all others). Truncated then says how
// many rows there were. Numbers that JSON does not know become gaps. What
// cannot be mended, such as a negative slice, is left for the check to refuse.
func (c Chart) Fit() Chart {
	c.Version = 1
	total := c.rows()
	c.Data = c.project()
	if c.Type == ChartPie || c.Type == ChartDonut {
		if len(c.Data) > MaxPieSlices && len(c.Series) > 0 && c.X != nil {
			c.Data = c.otherSlice()
			c.Truncated = &Truncated{Shown: len(c.Data), Total: total}
		}
	}
	all := c.Data
	n := min(len(all), MaxChartRows)
	for {
		if n < len(all) {
			c.Data = c.pick(all, n)
			c.Truncated = &Truncated{Shown: len(c.Data), Total: total}
		}
		b, err := json.Marshal(c)
		if err != nil || len(b) <= MaxChartBytes || n <= 1 {
			return c
		}
		// Aim by the average row, a little below, and look again.
		n = max(1, min(n-1, n*(MaxChartBytes*95/100)/len(b)))
	}
}

// project copies the rows with only the fields that play a part.
func (c Chart) project() []Row {
	fields := make(map[string]bool)
	for _, p := range c.parts() {
		fields[p.field] = true
	}
	if c.OnSelect != nil {
		for _, f := range c.OnSelect.Params {
			fields[f] = true
		}
	}
	out := make([]Row, len(c.Data))
	for i, r := range c.Data {
		row := make(Row, len(fields))
		for f, v := range r {
			if !fields[f] {
				continue
			}
			if n, ok := toFloat(v); ok && (math.IsNaN(n) || math.IsInf(n, 0)) {
				v = nil
			}
			row[f] = v
		}
		out[i] = row
	}
	return out
}

// otherSlice keeps the largest slices in their order and sums up the rest.
func (c Chart) otherSlice() []Row {
	field := c.Series[0].Field
	value := func(r Row) float64 { v, _ := toFloat(r[field]); return v }
	order := make([]int, len(c.Data))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(value(c.Data[b]), value(c.Data[a])) })
	keep := order[:MaxPieSlices-1]
	slices.Sort(keep)
	out := make([]Row, 0, MaxPieSlices)
	for _, i := range keep {
		out = append(out, c.Data[i])
	}
	var rest float64
	for _, i := range order[MaxPieSlices-1:] {
		rest += value(c.Data[i])
	}
	return append(out, Row{c.X.Field: OtherLabel, field: rest})
}

// pick chooses n rows: for continuous charts evenly over the whole range, with
// the extremes of the first series kept, else the first ones.
func (c Chart) pick(rows []Row, n int) []Row {
	continuous := c.X != nil && (c.X.Type == "time" || c.X.Type == "number")
	switch c.Type {
	case ChartLine, ChartArea, ChartScatter, ChartBubble:
		continuous = true
	case ChartCandlestick, ChartWaterfall, ChartBoxplot, ChartHistogram:
		continuous = false
	}
	if !continuous || n < 4 || len(c.Series) == 0 {
		return rows[:n]
	}
	// Two rows of each bucket: the least and the greatest, in their order.
	field := c.Series[0].Field
	out := make([]Row, 0, n)
	out = append(out, rows[0])
	inner := rows[1 : len(rows)-1]
	buckets := (n - 2) / 2
	for b := range buckets {
		part := inner[b*len(inner)/buckets : (b+1)*len(inner)/buckets]
		lo, hi := -1, -1
		for i, r := range part {
			v, ok := toFloat(r[field])
			if !ok {
				continue
			}
			if lo < 0 {
				lo, hi = i, i
				continue
			}
			if w, _ := toFloat(part[lo][field]); v < w {
				lo = i
			}
			if w, _ := toFloat(part[hi][field]); v > w {
				hi = i
			}
		}
		switch {
		case lo < 0 && len(part) > 0:
			out = append(out, part[0]) // a gap stays one
		case lo == hi && lo >= 0:
			out = append(out, part[lo])
		case lo >= 0:
			out = append(out, part[min(lo, hi)], part[max(lo, hi)])
		}
	}
	return append(out, rows[len(rows)-1])
}
