package block

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"
)

func sample(name string) Type {
	return Type{Name: name, Version: 1, Class: ClassDisplay, Source: SourceApp, Schema: json.RawMessage(`{"type":"object"}`), Fallback: func(json.RawMessage) string { return "sample" }}
}

func TestRegisterRefuses(t *testing.T) {
	tests := []struct {
		name   string
		change func(*Type)
	}{
		{"upper case", func(t *Type) { t.Name = "app.Card" }},
		{"version 0", func(t *Type) { t.Version = 0 }},
		{"no fallback", func(t *Type) { t.Fallback = nil }},
		{"schema is not JSON", func(t *Type) { t.Schema = json.RawMessage(`{`) }},
		{"schema is wrong", func(t *Type) { t.Schema = json.RawMessage(`{"type":"strng"}`) }},
		{"schema refers to a file", func(t *Type) { t.Schema = json.RawMessage(`{"$ref":"file:///etc/hostname"}`) }},
		{"schema refers to the network", func(t *Type) { t.Schema = json.RawMessage(`{"$ref":"https://example.com/x.json"}`) }},
		{"external in inlay", func(t *Type) { t.Name, t.Source = "inlay.card", SourceExternal }},
		{"external without namespace", func(t *Type) { t.Name, t.Source = "card", SourceExternal }},
		{"external in minara", func(t *Type) { t.Name, t.Source = "minara.x.card", SourceExternal }},
		{"version twice", func(t *Type) { t.Name = "app.card" }},
	}
	r, err := NewRegistry(sample("app.card"))
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		typ := sample("app.other")
		tt.change(&typ)
		if err := r.Register(typ); err == nil {
			t.Errorf("%s: accepted", tt.name)
		}
	}
	if n := len(r.Types()); n != 1 {
		t.Errorf("%d types after refusals, want 1", n)
	}
}

func TestRegistryFindsByEitherName(t *testing.T) {
	r := builtins(t)
	for _, name := range []string{"chart", "inlay.chart"} {
		if typ, ok := r.Lookup(name, 0); !ok || typ.Name != "chart" || typ.FullName() != "inlay.chart" {
			t.Errorf("%s: %+v, %v", name, typ, ok)
		}
	}
	if got := ShortName("inlay.lab.chart"); got != "inlay.lab.chart" {
		t.Errorf("a namespace below inlay is its own, got %s", got)
	}
	if err := r.Validate("app.none", 1, json.RawMessage(`{}`)); !errors.Is(err, ErrUnknownType) {
		t.Errorf("got %v, want ErrUnknownType", err)
	}
	if got := r.FallbackText("app.none", 1, nil); got != "[app.none]" {
		t.Errorf("fallback %q", got)
	}
}

func TestTextOfBlocks(t *testing.T) {
	r := builtins(t)
	tests := []struct {
		block    Block
		text, md string
	}{
		{Block{Type: "text", Status: StatusDone, Version: 1, Payload: json.RawMessage(`"**a**"`)}, "**a**", "**a**"},
		{Block{Type: "metric", Status: StatusDone, Version: 1, Payload: json.RawMessage(`{"items":[{"label":"a","value":1}]}`)}, "a 1", "- a: **1**\n"},
		{Block{Type: "metric", Status: StatusDone, Version: 1, Payload: json.RawMessage(`{"items":[]}`), Fallback: "own"}, "own", "\n"},
		{Block{Type: "app.none", Status: StatusDone, Version: 1, Fallback: "own"}, "own", "own"},
		{Block{Type: "chart", Status: StatusError, Version: 1, Err: &Error{Message: "no answer"}}, "[chart: no answer]", "[chart: no answer]"},
		{Block{Type: "chart", Status: StatusLoading, Version: 1}, "[chart]", "[chart]"},
	}
	for _, tt := range tests {
		if got := r.Text(tt.block); got != tt.text {
			t.Errorf("Text(%+v) = %q, want %q", tt.block, got, tt.text)
		}
		if got := r.Markdown(tt.block); got != tt.md {
			t.Errorf("Markdown(%+v) = %q, want %q", tt.block, got, tt.md)
		}
	}
}

func TestSchemaErrors(t *testing.T) {
	s := MustCompileSchema("t", json.RawMessage(`{"type":"object","properties":{"a/b":{"type":"integer"},"c":{"items":{"maxLength":1}}}}`))
	if err := s.Validate(json.RawMessage(`{`)); !errors.Is(err, ErrNotJSON) {
		t.Errorf("got %v, want ErrNotJSON", err)
	}
	err := s.Validate(json.RawMessage(`{"a/b":"x","c":["xx"]}`))
	var se *SchemaError
	if !errors.As(err, &se) || len(se.Violations) != 2 || se.Violations[0].Path != "/a~1b" || se.Violations[1].Path != "/c/0" {
		t.Fatalf("got %v", err)
	}
	if msg := err.Error(); !strings.Contains(msg, "/a~1b: ") || !strings.Contains(msg, "; /c/0: ") {
		t.Errorf("message %q", msg)
	}
	// What quotes the value is short, however large that is.
	closed := MustCompileSchema("t", json.RawMessage(`{"properties":{"e":{"enum":["a"]}},"patternProperties":{"^k":{"type":"integer"}},"additionalProperties":false}`))
	for _, value := range []string{
		`{"` + strings.Repeat("x", 200_000) + `":1}`, `{"k` + strings.Repeat("x", 200_000) + `":"a"}`, `{"e":"` + strings.Repeat("x", 200_000) + `"}`,
	} {
		if err := closed.Validate(json.RawMessage(value)); !errors.As(err, &se) || len(err.Error()) > 2000 {
			t.Errorf("%d bytes about %.20s", len(err.Error()), value)
		}
	}
}

func TestPatternsAreBounded(t *testing.T) {
	s := MustCompileSchema("t", json.RawMessage(`{"type":"string","pattern":"^(a+)+$"}`))
	begin := time.Now()
	if s.Validate(json.RawMessage(`"`+strings.Repeat("a", 40)+`!"`)) == nil {
		t.Error("accepted")
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

// TestNumbersOutOfRange: a number that no client can hold is refused, and does
// not stop the process.
func TestNumbersOutOfRange(t *testing.T) {
	for _, schema := range []string{`{"minimum":0}`, `{"items":{"multipleOf":2}}`, `{"additionalProperties":{"maximum":1}}`} {
		s := MustCompileSchema("t", json.RawMessage(schema))
		for _, n := range []string{"1e2000000", "-1e400", "1e-2000000", "1e99999999999999999999", "1E-401"} {
			for _, form := range []string{"%s", "[%s]", `{"a":%s}`} {
				if err := s.Validate(json.RawMessage(strings.Replace(form, "%s", n, 1))); !errors.Is(err, ErrNotJSON) {
					t.Errorf("%s of %s: %v", schema, n, err)
				}
			}
		}
		if err := s.Validate(json.RawMessage("0e0")); err != nil {
			t.Errorf("%s: %v", schema, err)
		}
	}
}
