package wire_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/wire"
)

func TestWhole(t *testing.T) {
	r, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	rows := make([]string, 4000)
	for i := range rows {
		rows[i] = fmt.Sprintf(`{"order":"S-%04d","note":"<b>&"}`, i)
	}
	table := func(n int) json.RawMessage {
		return json.RawMessage(`{"columns":[{"field":"order","label":"Order"},{"field":"note","label":"Note"}],"rows":[` + strings.Join(rows[:n], ",") + `]}`)
	}
	of := func(name string, payload json.RawMessage) block.Block {
		return block.Block{ID: "b_1", Type: name, Version: 1, Status: block.StatusDone, Payload: payload}
	}

	small := table(3)
	if p, cut, ok := wire.Whole(r, of("table", small)); !ok || cut || string(p) != string(small) {
		t.Errorf("a small payload became %s, %v, %v", p, cut, ok)
	}
	p, cut, ok := wire.Whole(r, of("table", table(4000)))
	var got struct {
		Columns []any
		Rows    []struct{ Order, Note string }
	}
	if !ok || !cut || json.Unmarshal(p, &got) != nil {
		t.Fatalf("a large table: %v, %v", cut, ok)
	}
	if len(p) > wire.MaxWhole || len(p) < wire.MaxWhole-100 {
		t.Errorf("%d bytes of a large table, at most %d", len(p), wire.MaxWhole)
	}
	last := len(got.Rows) - 1
	if len(got.Columns) != 2 || got.Rows[0].Order != "S-0000" || got.Rows[last].Order != fmt.Sprintf("S-%04d", last) || got.Rows[last].Note != "<b>&" {
		t.Errorf("the first rows are not what is left: %d, last %+v", len(got.Rows), got.Rows[last])
	}
	for name, b := range map[string]block.Block{
		"nothing":                   of("table", nil),
		"no object":                 of("table", json.RawMessage(`"`+strings.Repeat("x", wire.MaxWhole)+`"`)),
		"no list":                   of("code", json.RawMessage(`{"lang":"sql","source":"`+strings.Repeat("x", wire.MaxWhole)+`"}`)),
		"a list that is not enough": of("table", json.RawMessage(`{"columns":[],"rows":[1],"caption":"`+strings.Repeat("x", wire.MaxWhole)+`"}`)),
		"a type nobody knows":       of("app.seats", table(4000)),
	} {
		if p, _, ok := wire.Whole(r, b); ok {
			t.Errorf("%s: sent as %d bytes", name, len(p))
		}
	}
}
