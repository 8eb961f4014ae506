package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
)

// ErrUnbounded refuses a schema whose check could take longer than anybody would
// wait.
var ErrUnbounded = errors.New("the schema refers to parts of itself")

// MaxForeignDepth is how deep such a schema may be nested: what compiles it takes
// time that grows faster than its depth.
const MaxForeignDepth = 64

// ErrTooDeep refuses a schema that is nested deeper than MaxForeignDepth.
var ErrTooDeep = fmt.Errorf("nested deeper than %d", MaxForeignDepth)

// CompileForeign compiles a JSON Schema of somebody who is not trusted. What
// CompileSchema would take without an end to its work is refused with
// ErrUnbounded: with references a short schema can ask for any number of checks.
// One beyond MaxForeignDepth is refused with ErrTooDeep.
// All its patterns together may take FormPatternBudget on one value.
func CompileForeign(name string, raw json.RawMessage) (*Schema, error) {
	if depthOf(raw) > MaxForeignDepth {
		return nil, fmt.Errorf("schema of %s: %w", name, ErrTooDeep)
	}
	doc, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	s := &Schema{budget: new(patternBudget)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.UseRegexpEngine(s.budget.foreign)
	c.UseLoader(noLoader{})
	const url = "mem:///foreign.json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	if s.compiled, err = c.Compile(url); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	if refers(doc) {
		return nil, fmt.Errorf("schema of %s: %w", name, ErrUnbounded)
	}
	return s, nil
}

// foreign compiles a pattern as CompileSchema does.
func (b *patternBudget) foreign(s string) (jsonschema.Regexp, error) {
	re, err := regexp2.Compile(s, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = PatternTimeout
	return budgeted{pattern{re}, s, b}, nil
}

// refers reports whether a schema has a member that may be a reference.
func refers(v any) bool {
	switch v := v.(type) {
	case []any:
		for _, e := range v {
			if refers(e) {
				return true
			}
		}
	case map[string]any:
		for k, e := range v {
			if strings.HasPrefix(k, "$") && strings.HasSuffix(strings.ToLower(k), "ref") || refers(e) {
				return true
			}
		}
	}
	return false
}
