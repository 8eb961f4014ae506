package mapping

import (
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Template is text with placeholders such as {{.args.status}}. A placeholder
// is a path into the data and nothing else: there are no functions,
// conditions or loops. It is safe for concurrent use.
type Template struct {
	parts []part
}

type part struct {
	text string
	path []string // a placeholder when not nil
}

var placeholder = regexp.MustCompile(`^\.[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_-]+)*$`)

// CompileTemplate parses a template. name appears in errors.
func CompileTemplate(name, source string) (*Template, error) {
	t := &Template{}
	rest := source
	for {
		before, after, ok := strings.Cut(rest, "{{")
		if before != "" {
			if strings.Contains(before, "}}") {
				return nil, fmt.Errorf("%s: }} without {{", name)
			}
			t.parts = append(t.parts, part{text: before})
		}
		if !ok {
			return t, nil
		}
		inner, tail, ok := strings.Cut(after, "}}")
		if !ok {
			return nil, fmt.Errorf("%s: {{ without }}", name)
		}
		inner = strings.TrimSpace(inner)
		if !placeholder.MatchString(inner) {
			return nil, fmt.Errorf("%s: {{%s}} is not a path like {{.args.name}}", name, inner)
		}
		t.parts = append(t.parts, part{path: strings.Split(inner[1:], ".")})
		rest = tail
	}
}

// Paths returns the paths of the placeholders.
func (t *Template) Paths() [][]string {
	var out [][]string
	for _, p := range t.parts {
		if p.path != nil {
			out = append(out, p.path)
		}
	}
	return out
}

// Literal returns the text outside placeholders, each of which is replaced by
// a NUL byte.
func (t *Template) Literal() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path != nil {
			b.WriteByte(0)
			continue
		}
		b.WriteString(p.text)
	}
	return b.String()
}

// Single returns the path of a template that is one placeholder and nothing
// else.
func (t *Template) Single() ([]string, bool) {
	if len(t.parts) == 1 && t.parts[0].path != nil {
		return t.parts[0].path, true
	}
	return nil, false
}

// ErrMissing is wrapped by errors about placeholders without a value.
var ErrMissing = errors.New("no value")

// Render fills the template in. escape, which may be nil, makes every value
// fit its place. A value that is missing or null is an error that wraps
// ErrMissing, one that is not a string, number or bool is an error too.
func (t *Template) Render(data any, escape func(string) (string, error)) (string, error) {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == nil {
			b.WriteString(p.text)
			continue
		}
		v, ok := Lookup(data, p.path)
		if !ok || v == nil {
			return "", fmt.Errorf("{{.%s}}: %w", strings.Join(p.path, "."), ErrMissing)
		}
		s, err := Text(v)
		if err == nil && escape != nil {
			s, err = escape(s)
		}
		if err != nil {
			return "", fmt.Errorf("{{.%s}}: %w", strings.Join(p.path, "."), err)
		}
		b.WriteString(s)
	}
	return b.String(), nil
}

// Loose fills the template in for people: what is missing leaves a gap, and
// what has no text is written as JSON. escape, which may be nil, makes every
// value fit its place.
func (t *Template) Loose(data any, escape func(string) string) string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.path == nil {
			b.WriteString(p.text)
			continue
		}
		v, ok := Lookup(data, p.path)
		if !ok || v == nil {
			b.WriteString("…")
			continue
		}
		s, err := Text(v)
		if err != nil {
			raw, err := jsonx.Marshal(v)
			if err != nil {
				continue
			}
			s = string(raw)
		}
		if escape != nil {
			s = escape(s)
		}
		b.WriteString(s)
	}
	return b.String()
}

// Lookup follows a path into decoded JSON.
func Lookup(data any, path []string) (any, bool) {
	for _, key := range path {
		m, ok := data.(map[string]any)
		if !ok {
			return nil, false
		}
		if data, ok = m[key]; !ok {
			return nil, false
		}
	}
	return data, true
}

// Text writes a scalar of decoded JSON as text.
func Text(v any) (string, error) {
	switch v := v.(type) {
	case string:
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		if v {
			return "true", nil
		}
		return "false", nil
	case float64, int, int64:
		return fmt.Sprint(v), nil
	}
	return "", fmt.Errorf("a %T has no text", v)
}
