package block

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Limits of a table's payload. A larger one belongs into a file.
const (
	MaxTableRows  = 10000
	MaxTableBytes = 1 << 20
)

// Table is the payload of a table block.
type Table struct {
	Columns []TableColumn `json:"columns"`
	Rows    []Row         `json:"rows"`
	// Total is how many rows there are in all, when these are not all.
	Total int        `json:"total,omitempty"`
	Page  *TablePage `json:"page,omitempty"`
	// Caption is the table's title.
	Caption string `json:"caption,omitempty"`
}

// TableColumn is one column of a table.
type TableColumn struct {
	Field string `json:"field"`
	// Label is the heading; the field's name when empty.
	Label string `json:"label,omitempty"`
	// Type is text (the default), number, time, boolean or link. Values of
	// time are ISO 8601 or epoch milliseconds.
	Type     string      `json:"type,omitempty"`
	Format   ValueFormat `json:"format,omitempty"`
	Unit     string      `json:"unit,omitempty"`
	Currency string      `json:"currency,omitempty"` // ISO 4217
	Decimals *int        `json:"decimals,omitempty"`
	// PercentBase is as in ChartFormat.
	PercentBase int    `json:"percentBase,omitempty"`
	Align       string `json:"align,omitempty"` // start, center or end
	Width       int    `json:"width,omitempty"` // CSS pixels
}

// TablePage says where the next rows are.
type TablePage struct {
	Cursor string `json:"cursor,omitempty"`
}

// MarshalJSON writes the lists that the schema requires even when they are
// not set.
func (t Table) MarshalJSON() ([]byte, error) {
	type plain Table
	if t.Columns == nil {
		t.Columns = []TableColumn{}
	}
	if t.Rows == nil {
		t.Rows = []Row{}
	}
	return json.Marshal(plain(t))
}

func tableType() Type {
	return Type{
		Name:        "table",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "Rows under typed columns.",
		Schema:      builtinSchema("table.v1.json"),
		Height:      240,
		Check:       checkTable,
		Fallback:    tableText,
		Markdown:    tableMarkdown,
		Summary:     tableSummary,
	}
}

func checkTable(payload json.RawMessage) error {
	if len(payload) > MaxTableBytes {
		return &SchemaError{Violations: []Violation{{Message: fmt.Sprintf("%d bytes, at most %d", len(payload), MaxTableBytes)}}}
	}
	var t Table
	if err := decodePayload(payload, &t); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	seen := make(map[string]bool)
	for i, c := range t.Columns {
		if seen[c.Field] {
			v.add(fmt.Sprintf("/columns/%d/field", i), "the field %q has a column already", c.Field)
		}
		seen[c.Field] = true
	}
	for i, r := range t.Rows {
		for _, c := range t.Columns {
			val := r[c.Field]
			if val == nil {
				continue
			}
			path := func() string { return jsonx.Pointer("rows", fmt.Sprint(i), c.Field) }
			switch c.Type {
			case "number":
				if _, ok := toFloat(val); !ok {
					v.add(path(), "must be a number or null")
				}
			case "time":
				if !validTime(val) {
					v.add(path(), "must be an ISO 8601 time or epoch milliseconds")
				}
			case "boolean":
				if _, ok := val.(bool); !ok {
					v.add(path(), "must be true, false or null")
				}
			}
		}
	}
	if t.Total > 0 && t.Total < len(t.Rows) {
		v.add("/total", "%d is less than the %d rows here", t.Total, len(t.Rows))
	}
	return v.err()
}

func (c TableColumn) name() string { return oneLine(cmp.Or(c.Label, c.Field)) }

func (c TableColumn) figure() figure {
	return figure{format: c.Format, currency: c.Currency, decimals: c.Decimals, base: c.PercentBase}
}

func (c TableColumn) cell(r Row) string {
	v := r[c.Field]
	switch {
	case v == nil:
		return ""
	case c.Type == "time" || c.Format == FormatDate || c.Format == FormatDateTime:
		return timeText(v, "", c.Format == FormatDate)
	}
	if f, ok := toFloat(v); ok {
		return c.figure().write(f)
	}
	return plain(v)
}

// numeric reports whether a column holds numbers: it says so, or it says
// nothing and has only numbers.
func (t Table) numeric(c TableColumn) bool {
	if c.Type != "" {
		return c.Type == "number"
	}
	if c.Format == FormatDate || c.Format == FormatDateTime {
		return false
	}
	any := false
	for _, r := range t.Rows {
		v := r[c.Field]
		if v == nil {
			continue
		}
		if _, ok := toFloat(v); !ok {
			return false
		}
		any = true
	}
	return any
}

func (c TableColumn) head() string { return heading(c.name(), c.Unit) }

func tableText(payload json.RawMessage) string {
	var t Table
	if decodePayload(payload, &t) != nil {
		return "[table]"
	}
	rows := make([]string, 0, fallbackRows)
	for _, r := range t.Rows[:min(len(t.Rows), fallbackRows)] {
		var cells []string
		for i, c := range t.Columns {
			s := cmp.Or(c.cell(r), none)
			if i > 0 {
				s = c.head() + " " + s
			}
			cells = append(cells, s)
		}
		rows = append(rows, strings.Join(cells, ", "))
	}
	head := oneLine(t.Caption)
	if head == "" {
		names := make([]string, len(t.Columns))
		for i, c := range t.Columns {
			names[i] = c.name()
		}
		head = strings.Join(names, ", ")
	}
	return figuresText(head, rows, "; ", max(t.Total, len(t.Rows))-len(rows))
}

func tableMarkdown(payload json.RawMessage) string {
	var t Table
	if decodePayload(payload, &t) != nil || len(t.Columns) == 0 {
		return "[table]"
	}
	var b strings.Builder
	if t.Caption != "" {
		b.WriteString("**" + markdownText(t.Caption) + "**\n\n")
	}
	head := make([]string, len(t.Columns))
	right := make([]bool, len(t.Columns))
	for i, c := range t.Columns {
		head[i], right[i] = c.head(), t.numeric(c)
	}
	rows := make([][]string, len(t.Rows))
	for i, r := range t.Rows {
		rows[i] = make([]string, len(t.Columns))
		for k, c := range t.Columns {
			rows[i][k] = c.cell(r)
		}
	}
	b.WriteString(markdownTable(head, right, rows))
	if t.Total > len(t.Rows) {
		fmt.Fprintf(&b, "\n%d / %d\n", len(t.Rows), t.Total)
	}
	return b.String()
}

func tableSummary(payload json.RawMessage) string {
	var t Table
	if decodePayload(payload, &t) != nil {
		return "[table]"
	}
	names := make([]string, len(t.Columns))
	for i, c := range t.Columns {
		names[i] = c.name()
	}
	label := slices.IndexFunc(t.Columns, func(c TableColumn) bool { return !t.numeric(c) })
	var figures []*column
	for _, c := range t.Columns {
		if !t.numeric(c) {
			continue
		}
		col := &column{name: c.name(), figure: c.figure()}
		for i, r := range t.Rows {
			name := fmt.Sprint(i + 1)
			if label >= 0 {
				name = cmp.Or(t.Columns[label].cell(r), name)
			}
			col.append(name, r[c.Field])
		}
		figures = append(figures, col)
	}
	return summary(t.Caption, len(t.Rows), t.Total, names, figures)
}
