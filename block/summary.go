package block

import (
	"fmt"
	"slices"
	"strings"
)

// column is one numeric column with the labels of its rows, as the model is
// told of it.
type column struct {
	name   string
	figure figure
	labels []string
	values []float64
	known  []bool // false for a gap
}

func (c *column) append(label string, v any) {
	f, ok := toFloat(v)
	c.labels = append(c.labels, label)
	c.values = append(c.values, f)
	c.known = append(c.known, ok)
}

// line writes total, extremes and change of the column; "" when it is empty.
func (c *column) line() string {
	var total float64
	first, last, hi, lo := -1, -1, -1, -1
	for i, v := range c.values {
		if !c.known[i] {
			continue
		}
		total += v
		if first < 0 {
			first, hi, lo = i, i, i
		}
		last = i
		if v > c.values[hi] {
			hi = i
		}
		if v < c.values[lo] {
			lo = i
		}
	}
	if first < 0 {
		return ""
	}
	s := fmt.Sprintf("series %s: total %s, max %s (%s), min %s (%s)", c.name, c.figure.write(total),
		c.figure.write(c.values[hi]), c.labels[hi], c.figure.write(c.values[lo]), c.labels[lo])
	if a, b := c.values[first], c.values[last]; first != last && a != 0 {
		one := 1
		change := figure{format: FormatPercent, decimals: &one}
		r := (b - a) / a
		if a < 0 {
			r = -r
		}
		s += ", change first→last " + change.signed(r)
	}
	return s
}

// top writes the three largest rows of the column; "" when it is empty.
func (c *column) top() string {
	var order []int
	for i := range c.values {
		if c.known[i] {
			order = append(order, i)
		}
	}
	if len(order) == 0 {
		return ""
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case c.values[a] > c.values[b]:
			return -1
		case c.values[a] < c.values[b]:
			return 1
		}
		return 0
	})
	order = order[:min(len(order), 3)]
	parts := make([]string, len(order))
	for i, r := range order {
		parts[i] = c.labels[r] + " " + c.figure.write(c.values[r])
	}
	return "top: " + strings.Join(parts, "; ")
}

// summary writes the lines that the model is told of a table of figures.
func summary(title string, rows, total int, columns []string, figures []*column) string {
	var b strings.Builder
	line := func(s string) {
		if s != "" {
			b.WriteString(s)
			b.WriteByte('\n')
		}
	}
	if title = oneLine(title); title != "" {
		line("title: " + title)
	}
	line(fmt.Sprintf("rows: %d", rows))
	if total > rows {
		line(fmt.Sprintf("rows in source: %d", total))
	}
	line("columns: " + strings.Join(columns, ", "))
	for _, c := range figures {
		line(c.line())
	}
	if len(figures) > 0 {
		line(figures[0].top())
	}
	return strings.TrimSuffix(b.String(), "\n")
}
