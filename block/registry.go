package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"
)

// Class is how a block is handled (seed: display, resource, interactive).
type Class string

// The classes of block types.
const (
	ClassDisplay     Class = "display"
	ClassResource    Class = "resource"
	ClassInteractive Class = "interactive"
)

// Source says who registered a type. External ones may neither claim reserved
// namespaces nor attach api actions of their own.
type Source string

// The sources of block types.
const (
	SourceBuiltin  Source = "builtin"
	SourceApp      Source = "app"
	SourceExternal Source = "external"
)

// BuiltinNamespace is the namespace of types written without one.
const BuiltinNamespace = "inlay"

// Type is a registered block type at one major version.
type Type struct {
	// Name is "[namespace.]name". Built-ins of the inlay namespace are named
	// without it.
	Name string
	// Version is the major version of the schema, from 1.
	Version int
	Class   Class
	Source  Source
	// Description is one English sentence for the registry's readers.
	Description string
	// Schema is a JSON Schema (2020-12) of the payload.
	Schema json.RawMessage
	// Height is the estimated height in CSS pixels of a block whose maker
	// names none.
	Height int
	// ModelEmittable allows the model to emit the type itself.
	ModelEmittable bool
	// ServerOnly refuses the type from every producer but the server's code.
	ServerOnly bool

	// Targets says where a block's items lead; nil for types that lead
	// nowhere.
	Targets *Targets
	// Clean returns a payload as it is kept: without what must not be stored,
	// and in one spelling. It runs before the payload is checked, leaves alone
	// what it does not understand, and changes nothing the second time. nil
	// keeps every payload as it is.
	Clean func(payload json.RawMessage) (json.RawMessage, error)
	// Check judges what a schema cannot say; nil accepts. Its errors name the
	// path of the offending member.
	Check func(payload json.RawMessage) error
	// Fallback writes the plain text of a payload. Required.
	Fallback func(payload json.RawMessage) string
	// Link writes the Markdown that stands for the block where it cannot be
	// drawn but followed; nil, and "", use the fallback.
	Link func(payload json.RawMessage) string
	// Markdown writes the payload as Markdown for export; nil uses Fallback.
	Markdown func(payload json.RawMessage) string
	// Summary writes what the model is told of the payload: figures computed
	// by code, a few lines; nil uses Fallback.
	Summary func(payload json.RawMessage) string
}

// FullName returns the name with its namespace.
func (t Type) FullName() string {
	if strings.Contains(t.Name, ".") {
		return t.Name
	}
	return BuiltinNamespace + "." + t.Name
}

// Namespace returns the namespace and the name in it.
func (t Type) Namespace() (namespace, name string) {
	full := t.FullName()
	i := strings.LastIndexByte(full, '.')
	return full[:i], full[i+1:]
}

// ShortName strips the built-in namespace, so that "inlay.chart" and "chart"
// are one name. Names of namespaces below it stay as they are.
func ShortName(name string) string {
	if short, ok := strings.CutPrefix(name, BuiltinNamespace+"."); ok && !strings.Contains(short, ".") {
		return short
	}
	return name
}

// Registry is the set of block types of an installation. It is safe for
// concurrent use; types are normally added at start.
type Registry struct {
	mu    sync.RWMutex
	types map[string][]registered // by short name, ascending version
}

type registered struct {
	Type
	schema *Schema
}

// NewRegistry returns a registry of the given types.
func NewRegistry(types ...Type) (*Registry, error) {
	r := &Registry{types: make(map[string][]registered)}
	for _, t := range types {
		if err := r.Register(t); err != nil {
			return nil, err
		}
	}
	return r, nil
}

// Register adds a type. It fails for a name outside the token grammar, a
// schema that does not compile, a missing fallback, a version registered
// before and a reserved namespace claimed by an external type.
func (r *Registry) Register(t Type) error {
	full := t.FullName()
	if _, err := ParseToken(fmt.Sprintf("%s@%d", full, t.Version)); err != nil {
		return fmt.Errorf("register block type %q version %d: %w", t.Name, t.Version, err)
	}
	ns, _ := t.Namespace()
	if t.Source == SourceExternal && reserved(ns) {
		return fmt.Errorf("register block type %q: namespace %q is reserved", t.Name, ns)
	}
	if t.Fallback == nil {
		return fmt.Errorf("register block type %q: a fallback is required", t.Name)
	}
	t.Name = ShortName(t.Name)
	schema, err := t.compile()
	if err != nil {
		return fmt.Errorf("register block type %q: %w", t.Name, err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	have := r.types[t.Name]
	for _, h := range have {
		if h.Version == t.Version {
			return fmt.Errorf("register block type %q: version %d is registered already", t.Name, t.Version)
		}
	}
	have = append(slices.Clone(have), registered{t, schema})
	sort.Slice(have, func(i, j int) bool { return have[i].Version < have[j].Version })
	r.types[t.Name] = have
	return nil
}

// reserved reports whether a namespace is one that only the product itself
// adds to.
func reserved(namespace string) bool {
	root, _, _ := strings.Cut(namespace, ".")
	return root == BuiltinNamespace || root == "minara"
}

// builtinSchemas are the compiled schemas of built-in types, by name and text.
var builtinSchemas sync.Map

// compile compiles the type's schema. Those of built-in types are compiled once
// in a process: every registry has them, and compiling takes most of its time.
func (t Type) compile() (*Schema, error) {
	if t.Source != SourceBuiltin {
		return CompileSchema("block/"+t.Name, t.Schema)
	}
	key := t.Name + "\n" + string(t.Schema)
	if known, ok := builtinSchemas.Load(key); ok {
		return known.(*Schema), nil
	}
	schema, err := CompileSchema("block/"+t.Name, t.Schema)
	if err != nil {
		return nil, err
	}
	known, _ := builtinSchemas.LoadOrStore(key, schema)
	return known.(*Schema), nil
}

// Lookup returns the type registered under a name and major version. Version 0
// means the highest.
func (r *Registry) Lookup(name string, version int) (Type, bool) {
	reg, ok := r.lookup(name, version)
	return reg.Type, ok
}

func (r *Registry) lookup(name string, version int) (registered, bool) {
	r.mu.RLock()
	defer r.mu.RUnlock()
	have := r.types[ShortName(name)]
	if version == 0 && len(have) > 0 {
		return have[len(have)-1], true
	}
	for _, h := range have {
		if h.Version == version {
			return h, true
		}
	}
	return registered{}, false
}

// Types returns every registered type, ordered by full name and version.
func (r *Registry) Types() []Type {
	r.mu.RLock()
	defer r.mu.RUnlock()
	var out []Type
	for _, have := range r.types {
		for _, h := range have {
			out = append(out, h.Type)
		}
	}
	sort.Slice(out, func(i, j int) bool {
		if a, b := out[i].FullName(), out[j].FullName(); a != b {
			return a < b
		}
		return out[i].Version < out[j].Version
	})
	return out
}

// ErrUnknownType says that a name and version are not registered.
var ErrUnknownType = errors.New("unknown block type")

// Validate checks a payload against the type's schema and its own rules. It
// returns nil, ErrUnknownType or a *SchemaError.
func (r *Registry) Validate(name string, version int, payload json.RawMessage) error {
	reg, ok := r.lookup(name, version)
	if !ok {
		return fmt.Errorf("%w: %s@%d", ErrUnknownType, name, version)
	}
	if err := reg.schema.Validate(payload); err != nil {
		if errors.Is(err, ErrNotJSON) {
			return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
		}
		return err
	}
	if reg.Check != nil {
		if err := reg.Check(payload); err != nil {
			var se *SchemaError
			if errors.As(err, &se) {
				return se
			}
			return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
		}
	}
	return nil
}

// Clean returns a payload as it is kept; see Type.Clean.
func (r *Registry) Clean(name string, version int, payload json.RawMessage) (json.RawMessage, error) {
	t, ok := r.Lookup(name, version)
	if !ok || t.Clean == nil || len(payload) == 0 {
		return payload, nil
	}
	clean, err := t.Clean(payload)
	if err != nil {
		return nil, fmt.Errorf("clean payload of %s: %w", t.Name, err)
	}
	return clean, nil
}

// FallbackText returns the plain text of a payload, also for types that are
// not registered.
func (r *Registry) FallbackText(name string, version int, payload json.RawMessage) string {
	if t, ok := r.Lookup(name, version); ok {
		return t.Fallback(payload)
	}
	return "[" + name + "]"
}

// Markdown returns a finished block as Markdown for export.
func (r *Registry) Markdown(b Block) string {
	if b.Status == StatusDone {
		if t, ok := r.Lookup(b.Type, b.Version); ok {
			if t.Markdown != nil {
				return t.Markdown(b.Payload)
			}
		}
	}
	return r.Text(b)
}

// Stand returns the Markdown that stands for a block on a stream whose reader
// cannot draw it: a link where the type has one, else Text.
func (r *Registry) Stand(b Block) string {
	if b.Status != StatusError && len(b.Payload) > 0 {
		if t, ok := r.Lookup(b.Type, b.Version); ok && t.Link != nil {
			if link := t.Link(b.Payload); link != "" {
				return link
			}
		}
	}
	return r.Text(b)
}

// Text returns a block as plain text: its fallback, or its error.
func (r *Registry) Text(b Block) string {
	if b.Type == "text" {
		var s string
		_ = json.Unmarshal(b.Payload, &s)
		return s
	}
	switch {
	case b.Fallback != "":
		return b.Fallback
	case b.Status == StatusDone:
		return r.FallbackText(b.Type, b.Version, b.Payload)
	case b.Err != nil:
		return "[" + b.Type + ": " + b.Err.Message + "]"
	}
	return "[" + b.Type + "]"
}

// Violation is one way in which a value breaks a schema.
type Violation struct {
	// Path is the JSON Pointer of the offending value; "" is the root.
	Path    string `json:"path"`
	Message string `json:"message"`
}

// SchemaError lists how a value breaks its schema.
type SchemaError struct{ Violations []Violation }

// Error implements error.
func (e *SchemaError) Error() string {
	var b strings.Builder
	for i, v := range e.Violations {
		if i > 0 {
			b.WriteString("; ")
		}
		if v.Path == "" {
			b.WriteString("value")
		} else {
			b.WriteString(v.Path)
		}
		b.WriteString(": ")
		b.WriteString(v.Message)
	}
	return b.String()
}
