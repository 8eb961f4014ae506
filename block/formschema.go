package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"math/big"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/santhosh-tekuri/jsonschema/v6/kind"

	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/nearest"
)

// Limits of a form's schema.
const (
	MaxFormSchema     = 64 << 10
	MaxFormDepth      = 32
	MaxFormProperties = 500
	// MaxFormExpanded is how many schemas there are when every reference is
	// replaced by what it points to.
	MaxFormExpanded = 5000
	// MaxFormEnum is the length of one enum.
	MaxFormEnum = 1000
	// FormPatternBudget bounds the time that all patterns together may take on
	// one value. Patterns that find it used up do not match.
	FormPatternBudget = 500 * time.Millisecond
)

// maxSafe is the largest whole number that every client reads exactly.
const maxSafe = 1<<53 - 1

const draft7 = "http://json-schema.org/draft-07/schema#"

// formKeywords are the keywords that mean the same in draft-07 and 2020-12,
// with the shape of their value.
var formKeywords = map[string]keyword{
	"$schema": kwSchema, "$comment": kwAny, "$ref": kwRef, "definitions": kwSchemas,
	"title": kwAny, "description": kwAny, "default": kwAny, "examples": kwAny, "readOnly": kwAny, "writeOnly": kwAny,
	"type": kwAny, "enum": kwEnum, "const": kwAny,
	"multipleOf": kwMultiple, "maximum": kwAny, "exclusiveMaximum": kwAny, "minimum": kwAny, "exclusiveMinimum": kwAny,
	"maxLength": kwCount, "minLength": kwCount, "pattern": kwPattern, "format": kwFormat,
	"items": kwItems, "maxItems": kwCount, "minItems": kwCount, "uniqueItems": kwAny, "contains": kwOne,
	"maxProperties": kwCount, "minProperties": kwCount, "required": kwNames,
	"properties": kwProperties, "patternProperties": kwPatterns, "additionalProperties": kwOne, "propertyNames": kwOne,
	"if": kwOne, "then": kwOne, "else": kwOne, "not": kwOne, "allOf": kwList, "anyOf": kwList, "oneOf": kwList,
}

type keyword int

const (
	kwAny keyword = iota
	kwSchema
	kwRef
	kwOne        // a schema
	kwItems      // a schema, never a list of them
	kwList       // a list of schemas
	kwSchemas    // schemas by name
	kwProperties // schemas by property
	kwPatterns   // schemas by pattern
	kwEnum
	kwMultiple
	kwCount
	kwPattern
	kwFormat
	kwNames
)

// formCures says what to write instead of a keyword that is known elsewhere.
var formCures = map[string]string{
	"nullable":              `write "type": ["string", "null"]`,
	"dependencies":          "write if and then",
	"dependentRequired":     "write if and then",
	"dependentSchemas":      "write if and then",
	"prefixItems":           "draft-07 does not know it: use an object with named properties",
	"additionalItems":       "2020-12 does not know it: use one schema for all items",
	"unevaluatedProperties": "draft-07 does not know it: use additionalProperties",
	"unevaluatedItems":      "draft-07 does not know it",
	"minContains":           "draft-07 does not know it",
	"maxContains":           "draft-07 does not know it",
	"$defs":                 `draft-07 does not know it: write "definitions", which both read`,
	"$id":                   "a form's schema refers to itself only",
	"id":                    "a form's schema refers to itself only",
	"$anchor":               `refer by "#/definitions/<name>"`,
	"$dynamicRef":           `refer by "$ref": "#/definitions/<name>"`,
	"$recursiveRef":         `refer by "$ref": "#/definitions/<name>"`,
	"$vocabulary":           "leave it out",
	"contentMediaType":      "only draft-07 may judge it: leave it out",
	"contentEncoding":       "only draft-07 may judge it: leave it out",
	"contentSchema":         "draft-07 does not know it: leave it out",
	"enumNames":             `write it as "ui:enumNames" in uiSchema`,
	"deprecated":            "draft-07 does not know it: leave it out",
	"discriminator":         "use oneOf with a const in each branch",
}

// protoNames are members that every object of a browser has already.
var protoNames = []string{
	"__proto__", "constructor", "prototype", "hasOwnProperty", "isPrototypeOf", "propertyIsEnumerable", "toLocaleString",
	"toString", "valueOf", "__defineGetter__", "__defineSetter__", "__lookupGetter__", "__lookupSetter__",
}

// LintForm reports, as a *SchemaError, what keeps a JSON Schema from being used
// in a form. A form is judged twice, by the browser while it is filled in and
// by the server when it is submitted, so its schema may hold only what both
// read the same: the keywords common to draft-07 and 2020-12, the formats of
// Formats, the patterns of CheckPattern, references to its own definitions that
// come to an end, and numbers that a browser holds exactly. Each violation
// names the place and the cure.
func LintForm(schema json.RawMessage) error {
	_, err := compileForm(schema)
	return err
}

// CompileForm compiles a form's schema, after LintForm. Its patterns may take
// FormPatternBudget in all for one value.
func CompileForm(schema json.RawMessage) (*Schema, error) { return compileForm(schema) }

func compileForm(raw json.RawMessage) (*Schema, error) {
	one := func(path, format string, args ...any) error {
		return &SchemaError{Violations: []Violation{{Path: path, Message: fmt.Sprintf(format, args...)}}}
	}
	if len(raw) > MaxFormSchema {
		return nil, one("", "%d bytes, at most %d", len(raw), MaxFormSchema)
	}
	if d := depthOf(raw); d > MaxFormDepth {
		return nil, one("", "nested %d deep, at most %d", d, MaxFormDepth)
	}
	doc, err := decodeJSON(raw)
	if err != nil {
		return nil, one("", "%v", err)
	}
	l := formLint{cost: make(map[string]int)}
	if root, ok := doc.(map[string]any); ok {
		l.definitions, _ = root["definitions"].(map[string]any)
	}
	l.schema(nil, doc)
	l.values(nil, doc)
	if l.properties > MaxFormProperties {
		l.v.add("", "%d properties, at most %d", l.properties, MaxFormProperties)
	}
	if err := l.v.err(); err != nil {
		return nil, err
	}
	if n := l.expanded(doc); n > MaxFormExpanded {
		return nil, one("", "more than %d schemas when its references are followed", MaxFormExpanded)
	}
	s := &Schema{budget: new(patternBudget)}
	c := jsonschema.NewCompiler()
	c.DefaultDraft(jsonschema.Draft7)
	registerFormats(c)
	c.UseLoader(noLoader{})
	c.UseRegexpEngine(s.budget.compile)
	const url = "mem:///form.json"
	if root, ok := doc.(map[string]any); ok {
		root = maps.Clone(root)
		root["$schema"] = draft7
		doc = root
	}
	if err := c.AddResource(url, doc); err != nil {
		return nil, one("", "%v", err)
	}
	if s.compiled, err = c.Compile(url); err != nil {
		var ve *jsonschema.ValidationError
		var se *jsonschema.SchemaValidationError
		if errors.As(err, &se) && errors.As(se.Err, &ve) {
			return nil, violationsOf(ve)
		}
		return nil, one("", "%v", err)
	}
	return s, nil
}

// depthOf returns how deep objects and lists are nested.
func depthOf(raw json.RawMessage) int {
	depth, deepest, quoted := 0, 0, false
	for i := 0; i < len(raw); i++ {
		switch c := raw[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			depth++
			deepest = max(deepest, depth)
		case c == '}' || c == ']':
			depth--
		}
	}
	return deepest
}

type formLint struct {
	v           violations
	definitions map[string]any
	properties  int
	cost        map[string]int // of definitions; -1 while it is counted
}

func (l *formLint) bad(path []string, format string, args ...any) {
	l.v.add(jsonx.Pointer(path...), format, args...)
}

// at is path with further tokens, never sharing memory with it.
func at(path []string, tokens ...string) []string { return slices.Concat(path, tokens) }

// schema walks the places where a schema stands.
func (l *formLint) schema(path []string, v any) {
	if _, ok := v.(bool); ok {
		return
	}
	s, ok := v.(map[string]any)
	if !ok {
		l.bad(path, "must be a schema: an object, true or false")
		return
	}
	if _, ok := s["$ref"]; ok {
		for _, k := range slices.Sorted(maps.Keys(s)) {
			if k != "$ref" && !(len(path) == 0 && (k == "$schema" || k == "definitions")) {
				l.bad(at(path, k), `draft-07 ignores what stands beside $ref: write "allOf": [{"$ref": …}]`)
			}
		}
	}
	for _, k := range slices.Sorted(maps.Keys(s)) {
		l.keyword(at(path, k), k, s[k])
	}
}

func (l *formLint) keyword(path []string, name string, v any) {
	kw, known := formKeywords[name]
	if !known {
		cure := formCures[name]
		if cure == "" && strings.HasPrefix(name, "ui:") {
			cure = "it belongs into uiSchema"
		}
		if cure == "" {
			cure = "leave it out"
			if near := nearest.Of(name, slices.Sorted(maps.Keys(formKeywords))); near != "" {
				cure = "did you mean " + near + "?"
			}
		}
		l.bad(path, "the keyword %s is not allowed in a form: %s", name, cure)
		return
	}
	switch kw {
	case kwSchema:
		uri, _ := v.(string)
		if len(path) > 1 {
			l.bad(path, "only the root names its draft")
		} else if uri = strings.TrimSuffix(uri, "#"); uri != "http://json-schema.org/draft-07/schema" && uri != "https://json-schema.org/draft/2020-12/schema" {
			l.bad(path, "must be draft-07 (%s) or 2020-12, or absent", draft7)
		}
	case kwRef:
		l.reference(path, v)
	case kwOne:
		l.schema(path, v)
	case kwItems:
		if _, list := v.([]any); list {
			l.bad(path, "a list of schemas means different things in draft-07 and 2020-12: use an object with named properties")
			return
		}
		l.schema(path, v)
	case kwList:
		list, ok := v.([]any)
		if !ok || len(list) == 0 {
			l.bad(path, "must be a list of schemas, and not empty")
		}
		for i, s := range list {
			l.schema(at(path, strconv.Itoa(i)), s)
		}
	case kwSchemas, kwProperties, kwPatterns:
		l.named(path, kw, v)
	case kwEnum:
		if list, ok := v.([]any); !ok || len(list) == 0 || len(list) > MaxFormEnum {
			l.bad(path, "must be a list of 1 to %d values", MaxFormEnum)
		}
	case kwCount:
		if n, ok := number64(v); !ok || n < 0 || n != math.Trunc(n) {
			l.bad(path, "must be a whole number, 0 or more")
		}
	case kwMultiple:
		if n, ok := v.(json.Number); !ok || !multiple(n) {
			l.bad(path, "must be above 0, with at most 9 decimal places")
		}
	case kwPattern:
		s, ok := v.(string)
		if !ok {
			l.bad(path, "must be a string")
		} else if err := CheckPattern(s); err != nil {
			l.bad(path, "the pattern %q: %v", clip(s, 80), err)
		}
	case kwFormat:
		s, _ := v.(string)
		if _, ok := formats[s]; !ok {
			l.bad(path, "the format %q is not known here; known are %s", clip(s, 40), strings.Join(Formats(), ", "))
		}
	case kwNames:
		list, ok := v.([]any)
		if !ok {
			l.bad(path, "must be a list of names")
		}
		for i, n := range list {
			s, ok := n.(string)
			if !ok {
				l.bad(at(path, strconv.Itoa(i)), "must be a name")
				continue
			}
			l.name(at(path, strconv.Itoa(i)), s)
		}
	}
}

// number64 reads a decoded number.
func number64(v any) (float64, bool) {
	n, ok := v.(json.Number)
	if !ok {
		return 0, false
	}
	f, err := n.Float64()
	return f, err == nil
}

// multiple reports whether a number may stand in multipleOf: both sides then
// divide decimals exactly.
func multiple(n json.Number) bool {
	if f, err := n.Float64(); err != nil || f <= 0 {
		return false
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return false
	}
	return r.Mul(r, big.NewRat(1_000_000_000, 1)).IsInt()
}

func (l *formLint) name(path []string, s string) {
	switch {
	case slices.Contains(protoNames, s):
		l.bad(path, "every object of a browser has a member %s: choose another name", s)
	case s == "" || len(s) > 128:
		l.bad(path, "a name must have 1 to 128 bytes")
	}
}

// definitionName is what a definition may be called, so that no client has to
// unescape a reference.
var definitionName = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,128}$`)

func (l *formLint) named(path []string, kw keyword, v any) {
	m, ok := v.(map[string]any)
	if !ok {
		l.bad(path, "must be an object of schemas")
		return
	}
	if kw == kwSchemas && len(path) > 1 {
		l.bad(path, "definitions stand at the root only")
	}
	for _, name := range slices.Sorted(maps.Keys(m)) {
		switch p := at(path, name); kw {
		case kwProperties:
			l.properties++
			l.name(p, name)
		case kwSchemas:
			l.name(p, name)
			if !definitionName.MatchString(name) {
				l.bad(p, "the name of a definition must be letters, digits, _, . and -")
			}
		case kwPatterns:
			if err := CheckPattern(name); err != nil {
				l.bad(p, "the pattern %q: %v", clip(name, 80), err)
			}
		}
		l.schema(at(path, name), m[name])
	}
}

func (l *formLint) reference(path []string, v any) {
	s, _ := v.(string)
	name, ok := strings.CutPrefix(s, "#/definitions/")
	if !ok || !definitionName.MatchString(name) {
		l.bad(path, "must be #/definitions/<name>: a form's schema refers to its own definitions only")
		return
	}
	if _, ok := l.definitions[name]; !ok {
		l.bad(path, "there is no definition %s", name)
		return
	}
	if l.loops(name, name, make(map[string]bool)) {
		l.bad(path, "the definition %s contains itself, so the form would have no end", name)
	}
}

// loops reports whether the definition target can be reached from another.
func (l *formLint) loops(from, target string, seen map[string]bool) bool {
	if seen[from] {
		return false
	}
	seen[from] = true
	found := false
	references(l.definitions[from], func(name string) {
		found = found || name == target || l.loops(name, target, seen)
	})
	return found
}

// references calls f with every definition that a value refers to.
func references(v any, f func(name string)) {
	switch v := v.(type) {
	case map[string]any:
		for k, s := range v {
			if ref, ok := s.(string); ok && k == "$ref" {
				if name, ok := strings.CutPrefix(ref, "#/definitions/"); ok {
					f(name)
				}
				continue
			}
			references(s, f)
		}
	case []any:
		for _, s := range v {
			references(s, f)
		}
	}
}

// expanded counts the objects of a schema with its references followed; the
// count stops growing beyond the limit.
func (l *formLint) expanded(v any) int {
	n := 0
	switch v := v.(type) {
	case map[string]any:
		n = 1
		for k, s := range v {
			if ref, ok := s.(string); ok && k == "$ref" {
				name := strings.TrimPrefix(ref, "#/definitions/")
				if _, ok := l.cost[name]; !ok {
					l.cost[name] = 0 // a loop, which was refused before
					l.cost[name] = l.expanded(l.definitions[name])
				}
				n += l.cost[name]
				continue
			}
			n += l.expanded(s)
		}
	case []any:
		for _, s := range v {
			n += l.expanded(s)
		}
	}
	return min(n, MaxFormExpanded+1)
}

// values walks everything: numbers that a browser cannot hold, and names that
// it takes for others, stand nowhere.
func (l *formLint) values(path []string, v any) {
	switch v := v.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(v)) {
			if k == "__proto__" {
				l.bad(at(path, k), "every object of a browser has a member __proto__: choose another name")
			}
			l.values(at(path, k), v[k])
		}
	case []any:
		for i, e := range v {
			l.values(at(path, strconv.Itoa(i)), e)
		}
	case json.Number:
		if f, err := v.Float64(); err != nil || math.Abs(f) > maxSafe {
			l.bad(path, "a browser holds numbers up to 2^53 only exactly: use a string")
		} else if !exact(v.String()) {
			l.bad(path, "a browser holds 15 digits of a number only: shorten it, or use a string")
		}
	}
}

// exact reports whether a number up to 2^53 is written so that it is the same
// decimal after a browser has read it: it is whole, or has 15 digits at most.
func exact(s string) bool {
	s = strings.ToLower(strings.TrimPrefix(s, "-"))
	mantissa, _, _ := strings.Cut(s, "e")
	if mantissa == s && !strings.Contains(s, ".") {
		return true
	}
	return len(strings.Trim(strings.Replace(mantissa, ".", "", 1), "0")) <= 15
}

// patternBudget is the time that the patterns of a form have for one value.
type patternBudget struct {
	mu   sync.Mutex // held during a validation
	left time.Duration
}

func (b *patternBudget) compile(s string) (jsonschema.Regexp, error) {
	re, err := compileFormPattern(s)
	if err != nil {
		return nil, err
	}
	re.MatchTimeout = PatternTimeout
	return budgeted{pattern{re}, s, b}, nil
}

type budgeted struct {
	pattern
	source string
	budget *patternBudget
}

// MatchString implements jsonschema.Regexp.
func (p budgeted) MatchString(s string) bool {
	if p.budget.left <= 0 {
		return false
	}
	begin := time.Now()
	ok := p.pattern.MatchString(s)
	p.budget.left -= time.Since(begin)
	return ok
}

// String returns the pattern as the schema has it.
func (p budgeted) String() string { return p.source }

// FitDefaults drops the defaults of a form that do not fit its schema, so that
// nobody is shown a form that is wrong before it is touched. What is missing is
// no fault of a default. It returns what is left, nil for nothing, and the
// names of the members that were dropped, in order.
func FitDefaults(schema, defaults json.RawMessage) (fit json.RawMessage, dropped []string, err error) {
	s, err := CompileForm(schema)
	if err != nil {
		return nil, nil, err
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(defaults, &members); err != nil || len(members) == 0 {
		return nil, nil, nil
	}
	drop := func(name string) {
		if _, ok := members[name]; ok {
			delete(members, name)
			dropped = append(dropped, name)
		}
	}
	for len(members) > 0 {
		if fit, err = jsonx.Marshal(members); err != nil {
			return nil, nil, fmt.Errorf("encode defaults: %w", err)
		}
		bad, err := s.misfits(fit)
		if err != nil {
			return nil, nil, err
		}
		if len(bad) == 0 {
			break
		}
		before := len(members)
		for _, name := range bad {
			drop(name)
		}
		if len(members) == before { // the whole does not fit, whatever is in it
			for _, name := range slices.Sorted(maps.Keys(members)) {
				drop(name)
			}
		}
	}
	slices.Sort(dropped)
	if len(members) == 0 {
		return nil, dropped, nil
	}
	return fit, dropped, nil
}

// misfits names the members of an object that break the schema otherwise than
// by being incomplete; "" stands for the object as a whole.
func (s *Schema) misfits(raw json.RawMessage) ([]string, error) {
	v, err := decodeJSON(raw)
	if err != nil {
		return nil, err
	}
	err = s.validate(v)
	if err == nil {
		return nil, nil
	}
	var ve *jsonschema.ValidationError
	if !errors.As(err, &ve) {
		return nil, fmt.Errorf("validate: %w", err)
	}
	names := make(map[string]bool)
	var walk func(ve *jsonschema.ValidationError)
	walk = func(ve *jsonschema.ValidationError) {
		for _, c := range ve.Causes {
			walk(c)
		}
		if len(ve.Causes) > 0 {
			return
		}
		switch k := ve.ErrorKind.(type) {
		case *kind.Required, *kind.MinProperties, *kind.Schema:
		case *kind.AdditionalProperties:
			if len(ve.InstanceLocation) > 0 {
				names[ve.InstanceLocation[0]] = true
				return
			}
			for _, p := range k.Properties {
				names[p] = true
			}
		default:
			if len(ve.InstanceLocation) > 0 {
				names[ve.InstanceLocation[0]] = true
			} else {
				names[""] = true
			}
		}
	}
	walk(ve)
	return slices.Sorted(maps.Keys(names)), nil
}
