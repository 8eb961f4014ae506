package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strconv"
	"strings"
	"time"

	"github.com/google/jsonschema-go/jsonschema"
)

// New makes a tool of a function. The schema of the arguments is derived from
// Args (see SchemaOf) unless spec.Parameters is set; run gets them decoded and
// checked.
func New[Args any](spec Spec, run func(ctx context.Context, args Args, out *Out) error) (Tool, error) {
	if run == nil {
		return nil, fmt.Errorf("tool %q: no function to run", spec.Name)
	}
	if spec.Parameters == nil {
		schema, err := SchemaOf[Args]()
		if err != nil {
			return nil, fmt.Errorf("tool %q: %w", spec.Name, err)
		}
		spec.Parameters = schema
	}
	if _, err := NewCheck(spec); err != nil {
		return nil, err
	}
	return &typed[Args]{spec: spec, run: run}, nil
}

type typed[Args any] struct {
	spec Spec
	run  func(context.Context, Args, *Out) error
}

func (t *typed[Args]) Spec() Spec { return t.spec }

func (t *typed[Args]) Run(ctx context.Context, args json.RawMessage, out *Out) error {
	var a Args
	if len(args) > 0 {
		if err := json.Unmarshal(args, &a); err != nil {
			return fmt.Errorf("decode arguments of %s: %w", t.spec.Name, err)
		}
	}
	return t.run(ctx, a, out)
}

// SchemaOf derives the JSON Schema of tool arguments from a Go struct.
//
// The schema is closed and inline. A field is required unless its json tag
// says omitempty or omitzero. Further tags describe it:
//
//	jsonschema:"words for the model"
//	enum:"bar,line,pie"
//	pattern:"^[0-9]{4}Q[1-4]$"
//	minimum:"1" maximum:"500"
//
// They describe the elements when the field is a slice. Pointers may be null,
// slices and maps may not.
func SchemaOf[Args any]() (json.RawMessage, error) {
	t := reflect.TypeFor[Args]()
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[time.Time]():       {Type: "string", Format: "date-time"},
		reflect.TypeFor[json.RawMessage](): {},
		reflect.TypeFor[[]byte]():          {Type: "string", ContentEncoding: "base64"},
	}})
	if err != nil {
		return nil, fmt.Errorf("derive schema of %s: %w", t, err)
	}
	if err := mend(t, s); err != nil {
		return nil, fmt.Errorf("derive schema of %s: %w", t, err)
	}
	if s.Type != "object" {
		return nil, fmt.Errorf("derive schema of %s: arguments must be a struct or a map", t)
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return nil, fmt.Errorf("encode schema of %s: %w", t, err)
	}
	return raw, nil
}

// mend takes null out of the types of slices, which the derivation allows
// because Go's nil slice encodes as null, and applies the tags.
func mend(t reflect.Type, s *jsonschema.Schema) error {
	nullable := false
	for t.Kind() == reflect.Pointer {
		nullable = true
		t = t.Elem()
	}
	switch t.Kind() {
	case reflect.Slice, reflect.Array:
		if s.Items == nil {
			return nil // bytes
		}
		if !nullable {
			s.Type, s.Types = "array", nil
		}
		return mend(t.Elem(), s.Items)
	case reflect.Map:
		if s.AdditionalProperties != nil {
			return mend(t.Elem(), s.AdditionalProperties)
		}
	case reflect.Struct:
		for _, f := range reflect.VisibleFields(t) {
			if f.Anonymous || !f.IsExported() {
				continue
			}
			name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
			if name == "" {
				name = f.Name
			}
			p := s.Properties[name]
			if p == nil {
				continue
			}
			if err := mend(f.Type, p); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			if err := applyTags(f, p); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	return nil
}

func applyTags(f reflect.StructField, s *jsonschema.Schema) error {
	for s.Items != nil {
		s = s.Items
	}
	types := s.Types
	if s.Type != "" {
		types = []string{s.Type}
	}
	is := func(name string) bool {
		for _, t := range types {
			if t == name {
				return true
			}
		}
		return false
	}
	if list, ok := f.Tag.Lookup("enum"); ok {
		for _, v := range strings.Split(list, ",") {
			switch {
			case is("string"):
				s.Enum = append(s.Enum, v)
			case is("integer"):
				n, err := strconv.ParseInt(v, 10, 64)
				if err != nil {
					return fmt.Errorf("enum tag: %w", err)
				}
				s.Enum = append(s.Enum, n)
			default:
				return errors.New("enum tag: only strings and integers have one")
			}
		}
		if is("null") {
			s.Enum = append(s.Enum, nil)
		}
	}
	if p, ok := f.Tag.Lookup("pattern"); ok {
		if !is("string") {
			return errors.New("pattern tag: not a string")
		}
		s.Pattern = p
	}
	for tag, to := range map[string]**float64{"minimum": &s.Minimum, "maximum": &s.Maximum} {
		v, ok := f.Tag.Lookup(tag)
		if !ok {
			continue
		}
		if !is("integer") && !is("number") {
			return fmt.Errorf("%s tag: not a number", tag)
		}
		n, err := strconv.ParseFloat(v, 64)
		if err != nil {
			return fmt.Errorf("%s tag: %w", tag, err)
		}
		*to = &n
	}
	return nil
}
