package terminal

import (
	"cmp"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// Limits of what is drawn; what is left out is counted.
const (
	maxRows      = 20
	maxBars      = 24
	maxCodeLines = 400
	maxCards     = 10
	leastColumn  = 6 // cells
)

// grid is rows under headings.
type grid struct {
	columns []gridColumn
	rows    [][]string
	total   int // rows there are in all
	bare    bool
}

type gridColumn struct {
	head string
	end  bool // aligned to the right
}

func drawTable(r *Renderer, b block.Block) ([]line, bool) {
	var t block.Table
	if !decode(b.Payload, &t) {
		return nil, false
	}
	lines := r.heading(t.Caption, "")
	var g grid
	for _, c := range t.Columns {
		head := cmp.Or(oneLine(c.Label), oneLine(c.Field))
		end := c.Type == "number"
		if c.Align != "" {
			end = c.Align == "end"
		}
		g.columns = append(g.columns, gridColumn{head, end})
	}
	for _, row := range t.Rows[:min(len(t.Rows), maxRows)] {
		cells := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			cells[i] = r.cell(c, row[c.Field])
		}
		g.rows = append(g.rows, cells)
	}
	g.total = max(t.Total, len(t.Rows))
	return append(lines, g.draw(r)...), true
}

func (r *Renderer) cell(c block.TableColumn, v any) string {
	format := c.Format
	if c.Type == "time" && format != block.FormatDate {
		format = block.FormatDateTime
	}
	if v == nil {
		return "–"
	}
	return r.value(v, block.NumberFormat{Format: format, Currency: c.Currency, Decimals: c.Decimals, PercentBase: c.PercentBase}, c.Unit)
}

// draw lays the columns out: each as wide as it needs where all of them fit,
// else the widest are cut, else the last ones are left out and named.
func (g grid) draw(r *Renderer) []line {
	if len(g.columns) == 0 {
		return []line{r.note("noRows")}
	}
	const gap = 2
	widths := make([]int, len(g.columns))
	for i, c := range g.columns {
		if !g.bare {
			widths[i] = Width(c.head)
		}
		for _, row := range g.rows {
			if i < len(row) {
				widths[i] = max(widths[i], Width(row[i]))
			}
		}
		widths[i] = max(widths[i], 1)
	}
	need := func(w []int) int {
		n := gap * (len(w) - 1)
		for _, x := range w {
			n += x
		}
		return n
	}
	least := func(w []int) []int {
		out := slices.Clone(w)
		for i := range out {
			out[i] = min(out[i], leastColumn)
		}
		return out
	}
	shown := len(widths)
	for shown > 1 && need(least(widths[:shown])) > r.width {
		shown--
	}
	widths = widths[:shown]
	for need(widths) > r.width { // the widest gives way
		i := 0
		for k := range widths {
			if widths[k] > widths[i] {
				i = k
			}
		}
		if widths[i] <= 1 {
			break
		}
		widths[i]--
	}
	var lines []line
	write := func(cells []string, style Style) {
		var l line
		for i, w := range widths {
			text := ""
			if i < len(cells) {
				text = clip(cells[i], w)
			}
			if i > 0 {
				l = append(l, span{strings.Repeat(" ", gap), Plain})
			}
			l = append(l, pad(plain(text, style), w, g.columns[i].end)...)
		}
		lines = append(lines, l)
	}
	if !g.bare {
		heads := make([]string, shown)
		for i := range heads {
			heads[i] = g.columns[i].head
		}
		write(heads, Bold)
		lines = append(lines, line{{strings.Repeat("─", min(need(widths), r.width)), Dim}})
	}
	for _, row := range g.rows {
		write(row, Plain)
	}
	var notes []string
	switch {
	case g.total > len(g.rows):
		notes = append(notes, r.say("rowsOf", len(g.rows), g.total))
	case len(g.rows) == 0:
		notes = append(notes, r.say("noRows"))
	}
	if shown < len(g.columns) {
		var names []string
		for _, c := range g.columns[shown:] {
			names = append(names, cmp.Or(c.head, "–"))
		}
		notes = append(notes, r.say("columnsLeft", counted(r, names)))
	}
	if len(notes) > 0 {
		lines = append(lines, wrap([]span{{strings.Join(notes, " · "), Dim}}, r.width)...)
	}
	return lines
}

// counted joins names, the first few of them.
func counted(r *Renderer, names []string) string {
	const most = 6
	s := strings.Join(names[:min(len(names), most)], ", ")
	if len(names) > most {
		s += " " + r.say("more", len(names)-most)
	}
	return s
}
