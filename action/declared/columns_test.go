package declared

import (
	"encoding/json"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// Rows of a statement are drawn as what they are.
func TestColumnTypes(t *testing.T) {
	n := func(s string) any { return json.Number(s) }
	for name, c := range map[string]struct {
		values []any
		want   block.TableColumn
	}{
		"ms":         {[]any{n("12"), nil, n("3.5")}, block.TableColumn{Type: "number"}},
		"order_id":   {[]any{n("120034")}, block.TableColumn{Align: "end"}},
		"year":       {[]any{n("2026")}, block.TableColumn{Align: "end"}},
		"at":         {[]any{"2026-09-01T10:00:00Z", "2026-09-01T10:00:00.5+08:00"}, block.TableColumn{Type: "time"}},
		"seen":       {[]any{"2026-09-01T10:00"}, block.TableColumn{Type: "time"}},
		"day":        {[]any{"2026-09-01", nil}, block.TableColumn{Type: "time", Format: block.FormatDate}},
		"due":        {[]any{"2026-09-01", "2026-09-01T10:00:00Z"}, block.TableColumn{Type: "time"}},
		"created_at": {[]any{n("1788000000000")}, block.TableColumn{Type: "time"}},
		"startedAt":  {[]any{n("1788000000000")}, block.TableColumn{Type: "time"}},
		"bytes":      {[]any{n("1788000000000")}, block.TableColumn{Type: "number"}},
		"ts":         {[]any{n("1788000000000"), n("7")}, block.TableColumn{Type: "number"}},
		"paid":       {[]any{true, false}, block.TableColumn{Type: "boolean"}},
		"path":       {[]any{"/a", "/b"}, block.TableColumn{}},
		"mixed":      {[]any{n("1"), "one"}, block.TableColumn{}},
		"long":       {[]any{"2026-09-01 is a day"}, block.TableColumn{}},
		"wrong":      {[]any{"2026-13-01"}, block.TableColumn{}},
		"none":       {[]any{nil, nil}, block.TableColumn{}},
		"empty":      {nil, block.TableColumn{}},
	} {
		res := &sqltool.Result{Columns: []string{name}}
		for _, v := range c.values {
			res.Rows = append(res.Rows, map[string]any{name: v})
		}
		c.want.Field, c.want.Label = name, name
		if got := tableOf("T", res); len(got.Columns) != 1 || got.Columns[0] != c.want || len(got.Rows) != len(c.values) || got.Rows == nil {
			t.Errorf("%s: %+v", name, got.Columns)
		}
	}
}
