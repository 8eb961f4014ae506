package block

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func TestCompileForeign(t *testing.T) {
	s, err := CompileForeign("x", json.RawMessage(`{"type":"object","properties":{"a":{"type":"string","pattern":"^(?=b)b+$"}},"required":["a"]}`))
	if err != nil {
		t.Fatal(err)
	}
	for value, fits := range map[string]bool{`{"a":"bb"}`: true, `{"a":"c"}`: false, `{}`: false, `{"a":7}`: false} {
		if err := s.Validate(json.RawMessage(value)); (err == nil) != fits {
			t.Errorf("%s: %v", value, err)
		}
	}
	for name, schema := range map[string]string{
		"a reference":            `{"$defs":{"a":{"type":"string"}},"properties":{"x":{"$ref":"#/$defs/a"}}}`,
		"itself":                 `{"properties":{"x":{"allOf":[{"$ref":"#"},{"$ref":"#"}]}}}`,
		"a dynamic reference":    `{"items":{"$dynamicRef":"#x"},"$dynamicAnchor":"x"}`,
		"a reference in a draft": `{"$schema":"http://json-schema.org/draft-07/schema#","definitions":{"a":{}},"items":{"$ref":"#/definitions/a"}}`,
	} {
		if _, err := CompileForeign("x", json.RawMessage(schema)); !errors.Is(err, ErrUnbounded) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, schema := range []string{`{`, `{"type":7}`, `{"$ref":"https://example.com/schema"}`, `{"pattern":"("}`} {
		if _, err := CompileForeign("x", json.RawMessage(schema)); err == nil || errors.Is(err, ErrUnbounded) {
			t.Errorf("%s: %v", schema, err)
		}
	}
}

// Many patterns on many strings may not take longer together than the budget.
func TestCompileForeignPatterns(t *testing.T) {
	slow := `{"pattern":"^(a|a|aa)+$"}`
	s, err := CompileForeign("x", json.RawMessage(`{"items":{"allOf":[`+strings.Repeat(slow+",", 99)+slow+`]}}`))
	if err != nil {
		t.Fatal(err)
	}
	one := `"` + strings.Repeat("a", 60) + `!"`
	began := time.Now()
	if err := s.Validate(json.RawMessage("[" + strings.Repeat(one+",", 99) + one + "]")); err == nil {
		t.Error("it fits")
	}
	if took := time.Since(began); took > 10*FormPatternBudget {
		t.Errorf("it took %s", took)
	}
}
