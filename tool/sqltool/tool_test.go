package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

const params = `{"type":"object","properties":{"quarter":{"type":"string"},"range":{"type":"object"},"note":{"type":["string","null"]}}}`

func sales(t *testing.T) (write, read *Source) {
	t.Helper()
	write, read = startSQLite(t)
	run(t, write, "CREATE TABLE sales (quarter TEXT, region TEXT, amount INTEGER, owner TEXT)")
	run(t, write, `INSERT INTO sales VALUES ('2026Q3', 'East', 320, 'ann'), ('2026Q3', 'South', 210, 'bob'), ('2026Q2', 'East', 300, 'ann'),
		('2026Q3', 'North', 180, 'ann'), ('2026Q3', 'West', 140, 'bob')`)
	return write, read
}

func newTool(t *testing.T, src *Source, query string, m mapping.Config) tool.Tool {
	t.Helper()
	tl, err := New(src, Def{Spec: tool.Spec{Name: "t", Parameters: json.RawMessage(params)}, Query: query, Mapping: m})
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func TestTool(t *testing.T) {
	_, read := sales(t)
	tl := newTool(t, read, "SELECT region, amount FROM sales WHERE quarter = :quarter ORDER BY amount DESC", mapping.Config{Block: &mapping.Block{
		Type: "chart", Title: "{{.args.quarter}}",
		Payload: `{version: 1, type: "bar", title: "\(.args.quarter) sales", x: {field: "region"}, series: [{field: "amount", name: "Sales"}],
			data: .rows, truncated: (if .truncated then {shown: (.rows | length), total: 4} else null end)} | del(.[] | nulls)`,
	}})
	got, err := tooltest.Call(t.Context(), tl, `{"quarter":"2026Q3"}`, "")
	if err != nil {
		t.Fatal(err)
	}
	const want = `{"data":[{"amount":320,"region":"East"},{"amount":210,"region":"South"},{"amount":180,"region":"North"}],` +
		`"series":[{"field":"amount","name":"Sales"}],"title":"2026Q3 sales","truncated":{"shown":3,"total":4},"type":"bar","version":1,"x":{"field":"region"}}`
	if p := string(got.Blocks[0].Payload); p != want {
		t.Error(p)
	}
	if !strings.Contains(got.Told, "total 710") || !strings.Contains(got.Told, "cut after 3 rows") {
		t.Errorf("told %q", got.Told)
	}
	if s := tl.Spec(); !s.Refreshable || s.Block.TitleFrom(t.Context(), json.RawMessage(`{"quarter":"2026Q3"}`)) != "2026Q3" {
		t.Errorf("%+v", s)
	}
}

// The caller in a statement is the one who asks, not one an argument names.
func TestCallerParameters(t *testing.T) {
	_, read := sales(t)
	tl := newTool(t, read, "SELECT count(*) AS n, :user.claims.team AS team, :user.tenant AS tenant, :range.from AS f, :note AS note FROM sales WHERE owner = :user.id",
		mapping.Config{Summary: ".rows[0]"})
	ctx := tool.WithCaller(t.Context(), tool.Caller{User: "bob", Tenant: "acme", Claims: map[string]any{"team": "blue"}})
	got, err := tooltest.Call(ctx, tl, `{"user":{"id":"ann"},"range":{"from":5}}`, "")
	if err != nil || got.Told != `{"f":5,"n":2,"note":null,"team":"blue","tenant":"acme"}` {
		t.Errorf("told %q %v", got.Told, err)
	}
}

func TestWritingTool(t *testing.T) {
	write, _ := sales(t)
	tl := newTool(t, write, "DELETE FROM sales WHERE quarter = :quarter", mapping.Config{Summary: `"deleted: \(.affected)"`})
	if s := tl.Spec(); !s.Unrepeatable || s.Refreshable {
		t.Errorf("%+v", s)
	}
	got, err := tooltest.Call(t.Context(), tl, `{"quarter":"2026Q2"}`, "")
	if err != nil || got.Told != "deleted: 1" {
		t.Errorf("told %q %v", got.Told, err)
	}
	tl = newTool(t, write, "INSERT INTO sales (quarter, region) VALUES (:quarter, 'New') RETURNING region", mapping.Config{Summary: ".rows[0].region"})
	got, err = tooltest.Call(t.Context(), tl, `{"quarter":"2027Q1"}`, "")
	if err != nil || got.Told != "New" {
		t.Errorf("told %q %v", got.Told, err)
	}
	if n := rowsJSON(t, run(t, write, "SELECT count(*) AS n FROM sales")); n != `[{"n":5}]` {
		t.Error(n)
	}
}

func TestToolErrors(t *testing.T) {
	write, read := sales(t)
	tl := newTool(t, read, "SELECT no_such_column FROM sales", mapping.Config{})
	_, err := tooltest.Call(t.Context(), tl, "", "")
	var te *tool.Error
	if !errors.As(err, &te) || te.Retryable || te.Code != block.CodeDataFetchFailed || strings.Contains(te.Message, "no_such_column") {
		t.Errorf("%v", err)
	}
	tl = newTool(t, read, kinds[0].slow, mapping.Config{})
	_, err = tooltest.Call(t.Context(), tl, "", "")
	if !errors.As(err, &te) || !te.Retryable || te.Code != block.CodeToolTimeout {
		t.Errorf("%v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err = tooltest.Call(ctx, tl, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("stopped: %v", err)
	}
	for query, want := range map[string]string{
		"SELECT :quartr AS q":                     ":quartr is not among",
		"SELECT :user.token AS q":                 "the caller has",
		"DELETE FROM sales":                       "read-only",
		"SELECT 1; SELECT 2":                      "only one statement",
		"WITH x AS (SELECT 1 AS a) SELECT * FROM": "",
	} {
		_, err := New(read, Def{Spec: tool.Spec{Name: "t", Parameters: json.RawMessage(params)}, Query: query})
		if want != "" && (err == nil || !strings.Contains(err.Error(), want)) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if _, err := New(write, Def{Spec: tool.Spec{Name: "t t"}, Query: "SELECT 1 AS a"}); err == nil {
		t.Error("a bad name was accepted")
	}
}
