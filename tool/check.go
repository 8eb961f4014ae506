package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"

	"github.com/inlay-ui/inlay/block"
)

// MaxArgumentBytes bounds the arguments of one call.
const MaxArgumentBytes = 256 << 10

var namePattern = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`)

// Check judges the arguments of one tool before anything happens. It is safe
// for concurrent use.
type Check struct {
	name   string
	schema *block.Schema
}

// NewCheck compiles the check of a tool's arguments. It fails for a name that
// models would refuse and for parameters that are not a valid JSON Schema of
// type object. Missing parameters mean a tool without arguments.
func NewCheck(spec Spec) (*Check, error) { return newCheck(spec, block.CompileSchema) }

// NewForeignCheck is NewCheck for a tool that somebody brought who is not
// trusted. Of parameters whose check could go on for ever it checks only that
// they are an object: bounded is false then.
func NewForeignCheck(spec Spec) (c *Check, bounded bool, err error) {
	c, err = newCheck(spec, block.CompileForeign)
	if errors.Is(err, block.ErrUnbounded) {
		spec.Parameters = json.RawMessage(`{"type":"object"}`)
		c, err = newCheck(spec, block.CompileForeign)
		return c, false, err
	}
	return c, true, err
}

func newCheck(spec Spec, compile func(name string, schema json.RawMessage) (*block.Schema, error)) (*Check, error) {
	if !namePattern.MatchString(spec.Name) {
		return nil, fmt.Errorf("tool %q: the name must be 1 to 64 of a-z, A-Z, 0-9, _ and -", spec.Name)
	}
	params := Parameters(spec)
	var top struct {
		Type any `json:"type"`
	}
	if err := json.Unmarshal(params, &top); err != nil {
		return nil, fmt.Errorf("tool %q: parameters: %w", spec.Name, err)
	}
	if top.Type != "object" {
		return nil, fmt.Errorf(`tool %q: parameters must be a JSON Schema with "type": "object"`, spec.Name)
	}
	s, err := compile("tool/"+spec.Name, params)
	if err != nil {
		return nil, fmt.Errorf("tool %q: parameters: %w", spec.Name, err)
	}
	return &Check{name: spec.Name, schema: s}, nil
}

// Parameters returns the schema of a tool's arguments; that of no arguments
// when the spec has none.
func Parameters(spec Spec) json.RawMessage {
	if len(bytes.TrimSpace(spec.Parameters)) == 0 {
		return json.RawMessage(`{"type":"object","properties":{},"additionalProperties":false}`)
	}
	return spec.Parameters
}

// Args checks arguments as a model wrote them and returns them compact. Empty
// input means no arguments. The error is an *ArgumentError.
func (c *Check) Args(raw json.RawMessage) (json.RawMessage, error) {
	fail := func(vs ...block.Violation) error {
		return &ArgumentError{Tool: c.name, Violations: vs}
	}
	if len(raw) > MaxArgumentBytes {
		return nil, fail(block.Violation{Message: fmt.Sprintf("%d bytes are more than the limit of %d", len(raw), MaxArgumentBytes)})
	}
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 {
		raw = json.RawMessage("{}")
	}
	if err := c.schema.Validate(raw); err != nil {
		var se *block.SchemaError
		if errors.As(err, &se) {
			return nil, fail(se.Violations...)
		}
		return nil, fail(block.Violation{Message: err.Error()})
	}
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, fail(block.Violation{Message: err.Error()})
	}
	return b.Bytes(), nil
}

// ArgumentError says what is wrong with the arguments of a call, in words a
// model can mend them by.
type ArgumentError struct {
	Tool       string
	Violations []block.Violation
}

// Error implements error.
func (e *ArgumentError) Error() string {
	return "invalid arguments for " + e.Tool + ": " + (&block.SchemaError{Violations: e.Violations}).Error()
}
