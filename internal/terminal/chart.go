package terminal

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// Beyond so many points a line is a sparkline instead of bars.
const maxLinePoints = 12

// chart is a chart with the words of its rows and the formats of its figures.
type chart struct {
	block.Chart
	format block.NumberFormat
}

func drawChart(r *Renderer, b block.Block) ([]line, bool) {
	var c chart
	if !decode(b.Payload, &c.Chart) {
		return nil, false
	}
	c.format = block.NumberFormat{Format: c.ValueFormat}
	if f := c.Format; f != nil {
		c.format.Currency, c.format.Decimals, c.format.PercentBase = f.Currency, f.Decimals, f.PercentBase
	}
	title := c.Title
	if title == "" {
		names := make([]string, len(c.Series))
		for i, s := range c.Series {
			names[i] = cmp.Or(s.Name, s.Field)
		}
		title = strings.Join(names, ", ")
	}
	lines := r.heading(title, c.Unit)
	if s := oneLine(c.Subtitle); s != "" {
		lines = append(lines, wrap([]span{{s, Dim}}, r.width)...)
	}
	switch {
	case len(c.Data) == 0:
		lines = append(lines, r.note("empty"))
	case c.Type == block.ChartGauge:
		lines = append(lines, c.gauge(r)...)
	case c.Type == block.ChartHeatmap:
		lines = append(lines, c.heatmap(r)...)
	case slices.Contains([]block.ChartType{block.ChartScatter, block.ChartBubble, block.ChartBoxplot, block.ChartCandlestick}, c.Type):
		lines = append(lines, c.figures(r)...)
	case slices.Contains([]block.ChartType{block.ChartLine, block.ChartArea, block.ChartCombo}, c.Type) && len(c.Data) > maxLinePoints,
		c.X != nil && c.X.Type == "time" && len(c.Data) > maxBars:
		lines = append(lines, c.sparklines(r)...)
	default:
		lines = append(lines, c.bars(r)...)
	}
	for _, ref := range c.Refs {
		text := r.scalar(ref.Value)
		f, number := block.Number(ref.Value)
		switch {
		case ref.Axis == "x" && c.X != nil && c.X.Type == "time":
			text = oneLine(block.TimeText(ref.Value, c.X.TimeZone, false))
		case ref.Axis != "x" && number:
			text = c.format.Text(f)
		}
		label := cmp.Or(oneLine(ref.Label), ref.Axis)
		lines = append(lines, wrap([]span{{"┄ " + oneLine(label) + ": " + text, Dim}}, r.width)...)
	}
	if t := c.Truncated; t != nil && t.Total > t.Shown {
		lines = append(lines, r.note("sampled", t.Shown, t.Total))
	}
	if s := c.Source; s != nil && s.AsOf > 0 {
		lines = append(lines, r.note("asOf", block.TimeText(float64(s.AsOf), "", false)))
	}
	return lines, true
}

// label is what names a row: its words.
func (c chart) label(r *Renderer, i int) string {
	row := c.Data[i]
	var parts []string
	if c.Encode != nil && c.Type != block.ChartTreemap {
		if v, ok := row[c.Encode.Parent]; ok && c.Encode.Parent != "" {
			parts = append(parts, r.scalar(v))
		}
	}
	if c.X != nil {
		parts = append(parts, c.at(r, row))
	}
	if c.Encode != nil && c.Encode.Y != "" {
		parts = append(parts, r.scalar(row[c.Encode.Y]))
	}
	if len(parts) == 0 {
		return strconv.Itoa(i + 1)
	}
	return strings.Join(parts, " / ")
}

// at is the value of a row's x.
func (c chart) at(r *Renderer, row block.Row) string {
	v := row[c.X.Field]
	if c.X.Type == "time" {
		return oneLine(block.TimeText(v, c.X.TimeZone, false))
	}
	return r.scalar(v)
}

func (c chart) text(s block.ChartSeries, v float64) string {
	out := c.format.Text(v)
	if u := oneLine(s.Unit); u != "" {
		out += " " + u
	}
	return oneLine(out)
}

// colours tell the series apart; without colour their names do.
var colours = []Style{Accent, Success, Warning, Danger, Bold}

// bars draws one bar for each figure, under its row's words.
func (c chart) bars(r *Renderer) []line {
	shown := min(len(c.Data), maxBars)
	if len(c.Series) > 1 {
		shown = min(shown, max(2, maxBars/len(c.Series)+2))
	}
	share := c.ValueFormat != block.FormatPercent &&
		slices.Contains([]block.ChartType{block.ChartPie, block.ChartDonut, block.ChartFunnel, block.ChartTreemap}, c.Type)
	type bar struct {
		label, text string
		value       float64
		ok          bool
		scale       int
		style       Style
	}
	// Figures on the second axis have a scale of their own.
	var low, high [2]float64
	scaleOf := func(s block.ChartSeries) int {
		if s.Axis == "y2" {
			return 1
		}
		return 0
	}
	whole := 0.0
	for i, row := range c.Data {
		for _, s := range c.Series {
			v, ok := block.Number(row[s.Field])
			if !ok {
				continue
			}
			if i < shown {
				k := scaleOf(s)
				low[k], high[k] = min(low[k], v), max(high[k], v)
			}
			if c.Type == block.ChartFunnel {
				whole = max(whole, v)
			} else {
				whole += v
			}
		}
	}
	var groups [][]bar
	labels, texts := 0, 0
	for i := range shown {
		var group []bar
		for k, s := range c.Series {
			b := bar{label: c.label(r, i), style: colours[k%len(colours)], text: "–", scale: scaleOf(s)}
			if len(c.Series) > 1 {
				b.label = cmp.Or(oneLine(s.Name), oneLine(s.Field))
			}
			if b.value, b.ok = block.Number(c.Data[i][s.Field]); b.ok {
				b.text = c.text(s, b.value)
				if c.Type == block.ChartWaterfall && b.value > 0 {
					b.text = "+" + b.text
				}
				if share && whole > 0 && !math.IsInf(whole, 0) {
					b.text += " · " + strconv.FormatFloat(100*b.value/whole, 'f', 1, 64) + "%"
				}
			}
			labels, texts = max(labels, Width(b.label)), max(texts, Width(b.text))
			group = append(group, b)
		}
		groups = append(groups, group)
	}
	indent := 0
	if len(c.Series) > 1 {
		indent = 2
	}
	labels = min(labels, max(8, r.width*2/5))
	texts = min(texts, max(6, r.width/3))
	room := max(r.width-indent-labels-texts-4, 4)
	var lines []line
	for i, group := range groups {
		if indent > 0 {
			lines = append(lines, wrap([]span{{c.label(r, i), Bold}}, r.width)...)
		}
		for _, b := range group {
			l := line{{strings.Repeat(" ", indent), Plain}}
			l = append(l, pad(plain(clip(b.label, labels), Plain), labels, false)...)
			l = append(l, span{"  ", Plain})
			l = append(l, pad(barLine(b.value, b.ok, low[b.scale], high[b.scale], room, b.style), room, false)...)
			l = append(l, span{"  ", Plain})
			l = append(l, pad(plain(clip(b.text, texts), Plain), texts, true)...)
			lines = append(lines, l)
		}
	}
	if shown < len(c.Data) {
		lines = append(lines, r.note("more", len(c.Data)-shown))
	}
	return lines
}

// barLine is a bar of at most n cells, from zero to a value between low and
// high; what is below zero goes to the left.
func barLine(v float64, ok bool, low, high float64, n int, style Style) line {
	all := high - low
	if !ok || all <= 0 || math.IsInf(all, 0) || math.IsNaN(v) {
		return nil
	}
	left := int(math.Round(float64(n) * -low / all))
	if left > 0 {
		left = min(max(left, 1), n-1)
	}
	if v < 0 {
		cells := min(max(int(math.Round(float64(left)*v/low)), 1), left)
		return line{{strings.Repeat(" ", left-cells), Plain}, {strings.Repeat("▒", cells), style}}
	}
	if v == 0 || high <= 0 {
		return line{{strings.Repeat(" ", left), Plain}, {"▏", style}}
	}
	eighths := int(math.Round(float64(n-left) * 8 * v / high))
	eighths = min(max(eighths, 1), 8*(n-left))
	text := strings.Repeat("█", eighths/8)
	if rest := eighths % 8; rest > 0 {
		text += string([]rune("▏▎▍▌▋▊▉")[rest-1])
	}
	return line{{strings.Repeat(" ", left), Plain}, {text, style}}
}

// spark draws values as a line of small bars; a gap is a blank. More values
// than cells are put together by their means.
func spark(values []*float64, n int) string {
	if len(values) > n {
		joined := make([]*float64, n)
		for i := range joined {
			sum, count := 0.0, 0
			for _, v := range values[i*len(values)/n : (i+1)*len(values)/n] {
				if v != nil {
					sum, count = sum+*v, count+1
				}
			}
			if count > 0 {
				mean := sum / float64(count)
				joined[i] = &mean
			}
		}
		values = joined
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, v := range values {
		if v != nil {
			low, high = min(low, *v), max(high, *v)
		}
	}
	steps := []rune("▁▂▃▄▅▆▇█")
	var b strings.Builder
	for _, v := range values {
		switch {
		case v == nil || math.IsNaN(*v):
			b.WriteByte(' ')
		case high <= low || math.IsInf(high-low, 0):
			b.WriteRune(steps[3])
		default:
			b.WriteRune(steps[min(max(int((*v-low)/(high-low)*7.999), 0), 7)])
		}
	}
	return b.String()
}

// sparklines draws each series as a line, with its ends and extremes.
func (c chart) sparklines(r *Renderer) []line {
	var lines []line
	for k, s := range c.Series {
		values := make([]*float64, len(c.Data))
		first, last, low, high := -1, -1, -1, -1
		for i, row := range c.Data {
			v, ok := block.Number(row[s.Field])
			if !ok {
				continue
			}
			values[i] = &v
			if first < 0 {
				first, low, high = i, i, i
			}
			last = i
			if v < *values[low] {
				low = i
			}
			if v > *values[high] {
				high = i
			}
		}
		name := cmp.Or(oneLine(s.Name), oneLine(s.Field))
		lines = append(lines, wrap([]span{{name, Bold}}, r.width)...)
		lines = append(lines, line{{spark(values, r.width), colours[k%len(colours)]}})
		if first < 0 {
			lines = append(lines, r.note("empty"))
			continue
		}
		point := func(key string, i int) string {
			return r.say(key) + " " + c.text(s, *values[i]) + " (" + c.label(r, i) + ")"
		}
		text := strings.Join([]string{point("first", first), point("last", last), point("lowest", low), point("highest", high)}, " · ")
		lines = append(lines, wrap([]span{{text, Dim}}, r.width)...)
	}
	return lines
}

// gauge draws one figure between its ends.
func (c chart) gauge(r *Renderer) []line {
	if len(c.Series) == 0 {
		return nil
	}
	s := c.Series[0]
	v, ok := block.Number(c.Data[0][s.Field])
	if !ok {
		return []line{plain("–", Plain)}
	}
	low, high := 0.0, 100.0
	if c.ValueFormat == block.FormatPercent && c.format.PercentBase != 100 {
		high = 1
	}
	if c.Y != nil && c.Y.Min != nil {
		low = *c.Y.Min
	}
	if c.Y != nil && c.Y.Max != nil {
		high = *c.Y.Max
	}
	n := max(r.width/2, 8)
	filled := 0
	if high > low {
		filled = min(max(int(math.Round(float64(n)*(v-low)/(high-low))), 0), n)
	}
	head := ""
	if c.X != nil {
		head = c.at(r, c.Data[0]) + "  "
	}
	return wrap([]span{
		{head, Plain},
		{strings.Repeat("█", filled), Accent}, {strings.Repeat("░", n-filled), Dim},
		{" " + c.text(s, v), Bold}, {" (" + c.text(s, low) + " – " + c.text(s, high) + ")", Dim},
	}, r.width)
}

// heatmap draws a shade for each figure, or the figures where there is no room
// for that.
func (c chart) heatmap(r *Renderer) []line {
	if c.X == nil || c.Encode == nil || c.Encode.Y == "" || len(c.Series) == 0 {
		return c.figures(r)
	}
	var xs, ys []string
	at := make(map[[2]string]float64)
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range c.Data {
		x, y := c.at(r, row), r.scalar(row[c.Encode.Y])
		if !slices.Contains(xs, x) {
			xs = append(xs, x)
		}
		if !slices.Contains(ys, y) {
			ys = append(ys, y)
		}
		if v, ok := block.Number(row[c.Series[0].Field]); ok {
			at[[2]string{x, y}] = v
			low, high = min(low, v), max(high, v)
		}
	}
	names, cols := 0, 0
	for _, y := range ys {
		names = max(names, min(Width(y), r.width/3))
	}
	for _, x := range xs {
		cols = max(cols, Width(x))
	}
	for _, v := range at {
		cols = max(cols, Width(c.text(c.Series[0], v))+2)
	}
	if names+(cols+1)*len(xs) > r.width || len(ys) > maxRows {
		return c.figures(r)
	}
	head := pad(nil, names, false)
	for _, x := range xs {
		head = append(head, span{" ", Plain})
		head = append(head, pad(plain(x, Bold), cols, true)...)
	}
	lines := []line{head}
	for _, y := range ys {
		l := pad(plain(clip(y, names), Plain), names, false)
		for _, x := range xs {
			l = append(l, span{" ", Plain})
			v, ok := at[[2]string{x, y}]
			if !ok {
				l = append(l, pad(plain("–", Dim), cols, true)...)
				continue
			}
			shade := 3
			if high > low {
				shade = min(max(int((v-low)/(high-low)*3.999), 0), 3)
			}
			l = append(l, pad(plain(string([]rune("░▒▓█")[shade])+" "+c.text(c.Series[0], v), Plain), cols, true)...)
		}
		lines = append(lines, l)
	}
	return lines
}

// figures draws the rows as a table.
func (c chart) figures(r *Renderer) []line {
	type column struct {
		field  string
		series block.ChartSeries
		x      bool
	}
	var g grid
	var columns []column
	add := func(field, head string, end bool, s block.ChartSeries, x bool) {
		if field == "" || slices.ContainsFunc(columns, func(o column) bool { return o.field == field }) {
			return
		}
		columns = append(columns, column{field, s, x})
		g.columns = append(g.columns, gridColumn{cmp.Or(oneLine(head), oneLine(field)), end})
	}
	if c.X != nil {
		add(c.X.Field, c.X.Title, c.X.Type == "number", block.ChartSeries{}, true)
	}
	if e := c.Encode; e != nil {
		add(e.Y, "", false, block.ChartSeries{}, false)
		add(e.Color, "", false, block.ChartSeries{}, false)
	}
	for _, s := range c.Series {
		add(s.Field, s.Name, true, s, false)
	}
	if e := c.Encode; e != nil {
		for _, f := range []string{e.Size, e.Open, e.High, e.Low, e.Close, e.Min, e.Q1, e.Median, e.Q3, e.Max, e.Value} {
			add(f, "", true, block.ChartSeries{}, false)
		}
	}
	for _, row := range c.Data[:min(len(c.Data), maxRows)] {
		cells := make([]string, len(columns))
		for i, col := range columns {
			f, number := block.Number(row[col.field])
			switch {
			case col.x:
				cells[i] = c.at(r, row)
			case number:
				cells[i] = c.text(col.series, f)
			default:
				cells[i] = r.scalar(row[col.field])
			}
		}
		g.rows = append(g.rows, cells)
	}
	g.total = len(c.Data)
	return g.draw(r)
}
