package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// TestLintForm holds the lint to its vectors, which the browser's side is held
// to as well.
func TestLintForm(t *testing.T) {
	n := map[bool]int{}
	for _, v := range lines[struct {
		Name   string
		Schema json.RawMessage
		OK     bool
		Path   string
	}](t, "../testdata/form-lint.jsonl") {
		n[v.OK]++
		err := LintForm(v.Schema)
		if v.OK {
			if err != nil {
				t.Errorf("%s: %v", v.Name, err)
			}
			continue
		}
		var se *SchemaError
		if !errors.As(err, &se) {
			t.Errorf("%s: %v", v.Name, err)
			continue
		}
		if !slices.ContainsFunc(se.Violations, func(x Violation) bool { return x.Path == v.Path }) {
			t.Errorf("%s: no violation at %q: %v", v.Name, v.Path, se)
		}
		for _, x := range se.Violations {
			if len(x.Message) < 10 {
				t.Errorf("%s: %q says nothing", v.Name, x.Message)
			}
		}
	}
	t.Logf("%d schemas accepted, %d refused", n[true], n[false])
	if err := LintForm(json.RawMessage(`{`)); err == nil {
		t.Error("what is not JSON was accepted")
	}
}

// verdict is a row of testdata/form-verdicts.jsonl: what the server says of a
// value, so that the browser can be held to the same.
type verdict struct {
	Name    string          `json:"name"`
	Schema  json.RawMessage `json:"schema"`
	Value   json.RawMessage `json:"value"`
	Lint    string          `json:"lint"`              // ok or refused
	Verdict string          `json:"verdict,omitempty"` // ok or bad; absent when the schema is refused
}

func TestFormVerdicts(t *testing.T) {
	const path = "../testdata/form-verdicts.jsonl"
	rows := lines[verdict](t, path)
	var b bytes.Buffer
	n := make(map[string]int)
	for i, v := range rows {
		got := v
		got.Lint, got.Verdict = "ok", ""
		s, err := CompileForm(v.Schema)
		if err != nil {
			got.Lint = "refused"
		} else if err := s.Validate(v.Value); err == nil {
			got.Verdict = "ok"
		} else if got.Verdict = "bad"; errors.Is(err, ErrNotJSON) {
			t.Errorf("%s: %v", v.Name, err)
		}
		if !*update && (got.Lint != v.Lint || got.Verdict != v.Verdict) {
			t.Errorf("%s: lint %s, verdict %q; want %s, %q", v.Name, got.Lint, got.Verdict, v.Lint, v.Verdict)
		}
		n[got.Lint+" "+got.Verdict]++
		rows[i] = got
		line, err := jsonx.Marshal(got)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(line, '\n'))
	}
	t.Logf("%v", n)
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	// Where validators are known to disagree, ours have a verdict in common, or
	// refuse the schema.
	for _, d := range lines[verdict](t, "../testdata/jsonschema-disagreements.jsonl") {
		i := slices.IndexFunc(rows, func(v verdict) bool { return v.Name == d.Name })
		if i < 0 || compact(t, rows[i].Schema) != compact(t, d.Schema) || compact(t, rows[i].Value) != compact(t, d.Value) {
			t.Errorf("%s has no verdict", d.Name)
		}
	}
}

// compact writes JSON in one spelling.
func compact(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	v, err := decodeJSON(raw)
	if err != nil {
		t.Fatal(err)
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestFormBombs: neither a schema nor a value makes the server work for long.
func TestFormBombs(t *testing.T) {
	// Polynomial patterns pass the lint; all of them together have a budget.
	// Without it the 4000 matches take PatternTimeout each, minutes in all.
	schema := `{"type":"object","properties":{`
	values := make(map[string][]string)
	for i := range 100 {
		if i > 0 {
			schema += ","
		}
		schema += fmt.Sprintf(`"p%d":{"type":"array","items":{"type":"string","pattern":"^(?:.*a)(?:.*b)(?:.*c)(?:.*d)(?:.*e)(?:.*f)x$"}}`, i)
		values[fmt.Sprintf("p%d", i)] = slices.Repeat([]string{strings.Repeat("abcdef", 150)}, 40)
	}
	schema += `}}`
	s, err := CompileForm(json.RawMessage(schema))
	if err != nil {
		t.Fatal(err)
	}
	value := encode(t, values)
	begin := time.Now()
	if err := s.Validate(value); err == nil {
		t.Error("accepted")
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("took %v", d)
	}
	if s.budget.left > 0 {
		t.Errorf("%v of the budget was not needed", s.budget.left)
	}
	begin = time.Now()
	wide := `{"$ref":"#/definitions/d0","definitions":{`
	for i := range 400 {
		wide += fmt.Sprintf(`"d%d":{"anyOf":[{"$ref":"#/definitions/d%d"},{"$ref":"#/definitions/d%d"}]},`, i, i+1, i+1)
	}
	if err := LintForm(json.RawMessage(wide + `"d400":{}}}`)); err == nil {
		t.Error("a schema of 2^400 parts was accepted")
	}
	if err := LintForm(json.RawMessage(strings.Repeat(`{"not":`, 5000) + `{}` + strings.Repeat("}", 5000))); err == nil {
		t.Error("a deep schema was accepted")
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

func TestFormsValidateConcurrently(t *testing.T) {
	s, err := CompileForm(json.RawMessage(`{"pattern":"^a+b$"}`))
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				if err := s.Validate(json.RawMessage(`"aaab"`)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	wg.Wait()
}

func TestFitDefaults(t *testing.T) {
	const schema = `{"type":"object","required":["range","name"],"additionalProperties":false,"minProperties":2,
		"properties":{"range":{"type":"array","items":{"type":"string","format":"date"},"minItems":2},"name":{"type":"string"},
		"who":{"type":"object","required":["a"],"properties":{"a":{"type":"integer"},"b":{"type":"integer"}},"additionalProperties":false}},
		"if":{"properties":{"name":{"const":"x"}},"required":["name"]},"then":{"required":["who"]}}`
	tests := []struct{ defaults, fit, dropped string }{
		{`{"range":["2026-07-01","2026-09-30"]}`, `{"range":["2026-07-01","2026-09-30"]}`, ""},
		{`{"range":["2026-07-01","x"],"name":"n"}`, `{"name":"n"}`, "range"},
		{`{"range":["2026-07-01"],"name":1,"other":true}`, ``, "name other range"},
		{`{"who":{"b":1},"name":"x"}`, `{"name":"x","who":{"b":1}}`, ""},
		{`{"who":{"b":"1"}}`, ``, "who"},
		{`{"who":{"c":1},"name":"n"}`, `{"name":"n"}`, "who"},
		{`{}`, ``, ""}, {`null`, ``, ""}, {`[1]`, ``, ""},
	}
	for _, tt := range tests {
		fit, dropped, err := FitDefaults(json.RawMessage(schema), json.RawMessage(tt.defaults))
		if err != nil || string(fit) != tt.fit || strings.Join(dropped, " ") != tt.dropped {
			t.Errorf("%s: %s, %v, %v; want %s, %s", tt.defaults, fit, dropped, err, tt.fit, tt.dropped)
		}
	}
	if _, _, err := FitDefaults(json.RawMessage(`{"nullable":true}`), json.RawMessage(`{"a":1}`)); err == nil {
		t.Error("a schema that is not linted was used")
	}
	// A fault of the whole leaves nothing to keep.
	fit, dropped, err := FitDefaults(json.RawMessage(`{"not":{"required":["a"]}}`), json.RawMessage(`{"a":1,"b":2}`))
	if err != nil || fit != nil || strings.Join(dropped, " ") != "a b" {
		t.Errorf("%s, %v, %v", fit, dropped, err)
	}
}

func FuzzLintForm(f *testing.F) {
	for _, v := range lines[struct{ Schema json.RawMessage }](f, "../testdata/form-lint.jsonl") {
		if len(v.Schema) < 4096 {
			f.Add([]byte(v.Schema), []byte(`{"a":"b"}`))
		}
	}
	f.Fuzz(func(t *testing.T, schema, value []byte) {
		s, err := CompileForm(schema)
		if err != nil {
			var se *SchemaError
			if !errors.As(err, &se) || len(se.Violations) == 0 {
				t.Fatalf("refused without a reason: %v", err)
			}
			return
		}
		_ = s.Validate(value) // any verdict but a panic
	})
}
