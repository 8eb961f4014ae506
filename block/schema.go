package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"
	"golang.org/x/text/language"
	"golang.org/x/text/message"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// PatternTimeout bounds the time one pattern may take on one string. A pattern
// that exceeds it does not match.
const PatternTimeout = 50 * time.Millisecond

// ErrNotJSON is wrapped by errors about input that is not JSON at all.
var ErrNotJSON = errors.New("not valid JSON")

// Schema is a compiled JSON Schema. It is safe for concurrent use.
type Schema struct {
	compiled *jsonschema.Schema
	budget   *patternBudget // of a form; nil for none
}

// CompileSchema compiles a JSON Schema (2020-12 unless $schema says otherwise,
// formats asserted). References may only point into the schema itself: nothing
// is ever loaded from a file or the network. name appears in errors.
func CompileSchema(name string, raw json.RawMessage) (*Schema, error) {
	doc, err := decodeJSON(raw)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft2020)
	c.AssertFormat()
	c.UseRegexpEngine(compilePattern)
	c.UseLoader(noLoader{})
	url := "mem:///" + strings.ReplaceAll(name, "@", "/") + ".json"
	if err := c.AddResource(url, doc); err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	s, err := c.Compile(url)
	if err != nil {
		return nil, fmt.Errorf("schema of %s: %w", name, err)
	}
	return &Schema{compiled: s}, nil
}

// MustCompileSchema is CompileSchema for schemas that are part of the program.
func MustCompileSchema(name string, raw json.RawMessage) *Schema {
	s, err := CompileSchema(name, raw)
	if err != nil {
		panic(err)
	}
	return s
}

// Validate checks a JSON value. It returns nil, a *SchemaError with every
// violation, or an error that wraps ErrNotJSON.
func (s *Schema) Validate(raw json.RawMessage) error {
	v, err := decodeJSON(raw)
	if err != nil {
		return err
	}
	err = s.validate(v)
	if err == nil {
		return nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return fmt.Errorf("validate: %w", err)
	}
	return violationsOf(ve)
}

func (s *Schema) validate(v any) error {
	if b := s.budget; b != nil {
		b.mu.Lock()
		defer b.mu.Unlock()
		b.left = FormPatternBudget
	}
	return s.compiled.Validate(v)
}

// violationsOf lists what a validation found, up to a number that helps.
func violationsOf(ve *jsonschema.ValidationError) *SchemaError {
	se := &SchemaError{}
	collect(ve, se)
	sort.SliceStable(se.Violations, func(i, j int) bool { return se.Violations[i].Path < se.Violations[j].Path })
	const most = 20 // enough to mend a value by; the rest repeats
	if len(se.Violations) > most {
		se.Violations = se.Violations[:most]
	}
	return se
}

// maxViolation bounds the path and the words of a violation in bytes.
const maxViolation = 400

var english = message.NewPrinter(language.English)

func collect(ve *jsonschema.ValidationError, into *SchemaError) {
	causes := ve.Causes
	if _, ok := ve.ErrorKind.(*kind.AnyOf); ok {
		causes = meant(ve)
	}
	if len(causes) > 0 {
		for _, c := range causes {
			collect(c, into)
		}
		return
	}
	if _, ok := ve.ErrorKind.(*kind.Schema); ok {
		return
	}
	// Both quote the value, which may be as large as it likes.
	into.Violations = append(into.Violations, Violation{
		Path:    clip(jsonx.Pointer(ve.InstanceLocation...), maxViolation),
		Message: clip(ve.ErrorKind.LocalizedString(english), maxViolation),
	})
}

// meant returns the failures of a union that help: those of the branches whose
// constants the value has, such as {"kind": "route"}, and only what is said of
// the constants when it has none of them.
func meant(union *jsonschema.ValidationError) []*jsonschema.ValidationError {
	var branches, constants []*jsonschema.ValidationError
	for _, c := range union.Causes {
		if wrong := constant(c, len(union.InstanceLocation)+1); wrong != nil {
			constants = append(constants, wrong)
		} else {
			branches = append(branches, c)
		}
	}
	if len(branches) == 0 {
		return constants
	}
	return branches
}

// constant finds a constant at a depth that a value does not have.
func constant(ve *jsonschema.ValidationError, depth int) *jsonschema.ValidationError {
	if _, ok := ve.ErrorKind.(*kind.Const); ok && len(ve.InstanceLocation) == depth {
		return ve
	}
	for _, c := range ve.Causes {
		if found := constant(c, depth); found != nil {
			return found
		}
	}
	return nil
}

func decodeJSON(b []byte) (any, error) {
	v, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotJSON, err)
	}
	if n, ok := outOfRange(v); ok {
		return nil, fmt.Errorf("%w: the number %s is out of range", ErrNotJSON, clip(n.String(), 40))
	}
	return v, nil
}

// outOfRange finds a number that no client can hold. The validator, which
// reckons with exact fractions, must not see one.
func outOfRange(v any) (json.Number, bool) {
	switch v := v.(type) {
	case map[string]any:
		for _, e := range v {
			if n, ok := outOfRange(e); ok {
				return n, true
			}
		}
	case []any:
		for _, e := range v {
			if n, ok := outOfRange(e); ok {
				return n, true
			}
		}
	case json.Number:
		if _, err := v.Float64(); err != nil {
			return v, true
		}
		// A number too small for a float64 is read as 0 without an error.
		if _, exp, ok := strings.Cut(strings.ToLower(v.String()), "e"); ok {
			if n, err := strconv.Atoi(exp); err != nil || n < -400 {
				return v, true
			}
		}
	}
	return "", false
}

type noLoader struct{}

func (noLoader) Load(url string) (any, error) {
	return nil, fmt.Errorf("reference to %s: schemas may only refer to themselves", url)
}

// pattern is an ECMAScript regular expression with a bound on its time, so
// that a hostile string cannot hold a turn.
type pattern struct{ re *regexp2.Regexp }

func (p pattern) MatchString(s string) bool {
	ok, err := p.re.MatchString(s)
	return err == nil && ok
}

func (p pattern) String() string { return p.re.String() }

func compilePattern(s string) (jsonschema.Regexp, error) {
	re, err := regexp2.Compile(s, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = PatternTimeout
	return pattern{re}, nil
}
