package action

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// Registry is the actions of an installation. It is safe for concurrent use;
// actions are normally added at start.
type Registry struct {
	mu     sync.RWMutex
	byName map[string]*registered
}

// registered is an action with its compiled schema.
type registered struct {
	Def
	schema *block.Schema // nil for none
}

// NewRegistry returns a registry of the given actions.
func NewRegistry(defs ...Def) (*Registry, error) {
	r := &Registry{byName: make(map[string]*registered)}
	if err := r.Add(defs...); err != nil {
		return nil, err
	}
	return r, nil
}

// Add adds actions, all of them or, with an error, none.
func (r *Registry) Add(defs ...Def) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	added := make(map[string]*registered, len(defs))
	for _, d := range defs {
		if err := d.check(); err != nil {
			return err
		}
		if r.byName[d.Name] != nil || added[d.Name] != nil {
			return fmt.Errorf("action %q: the name is taken", d.Name)
		}
		reg := &registered{Def: d}
		if d.Schema != nil {
			var err error
			// Blocks carry it compact: the two are compared.
			if reg.Schema, err = compact(d.Schema); err != nil {
				return fmt.Errorf("action %q: schema: %w", d.Name, err)
			}
			if reg.schema, err = block.CompileSchema("action/"+d.Name, d.Schema); err != nil {
				return fmt.Errorf("action %q: %w", d.Name, err)
			}
		}
		added[d.Name] = reg
	}
	for name, reg := range added {
		r.byName[name] = reg
	}
	return nil
}

// Len returns the number of actions.
func (r *Registry) Len() int {
	r.mu.RLock()
	defer r.mu.RUnlock()
	return len(r.byName)
}

// Names returns the names of the actions in order.
func (r *Registry) Names() []string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	names := make([]string, 0, len(r.byName))
	for n := range r.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// lookup finds what an action of a block leads to.
func (r *Registry) lookup(a block.Action, blockType string) (*registered, bool) {
	name := a.Action
	if name == "" {
		name = a.ID
	}
	r.mu.RLock()
	defer r.mu.RUnlock()
	reg := r.byName[name]
	if reg == nil || len(reg.Blocks) > 0 && !slices.Contains(reg.Blocks, block.ShortName(blockType)) {
		return nil, false
	}
	return reg, true
}

// Resolve returns an api action as clients get it: words, style, question and
// schema that the action does not bring itself are those that were registered,
// in the language of ctx's caller. An error says that there is no such action
// for blocks of the type. Actions of other kinds are returned as they are.
func (r *Registry) Resolve(ctx context.Context, a block.Action, blockType string) (block.Action, error) {
	switch a.Kind {
	case block.ActionAPI, "":
		a.Kind = block.ActionAPI
	default:
		return a, nil
	}
	reg, ok := r.lookup(a, blockType)
	if !ok {
		name := a.Action
		if name == "" {
			name = a.ID
		}
		return a, fmt.Errorf("no action %q is registered for blocks of type %s", name, block.ShortName(blockType))
	}
	lang := tool.CallerFrom(ctx).Lang
	fill := func(to *string, from string) {
		if *to == "" {
			*to = from
		}
	}
	fill(&a.Label, reg.Label.For(lang))
	fill(&a.Label, labelOf(reg.Name))
	fill(&a.Style, reg.Style)
	switch reg.Confirm.Level {
	case LevelDialog:
		fill(&a.Confirm, reg.Confirm.Text.For(lang))
	case LevelToken:
		// The question comes with the token: asked here too, it would be asked
		// twice.
		a.Confirm = ""
	}
	if a.InputSchema == nil {
		a.InputSchema = reg.Schema
	}
	success, failure := reg.Feedback.Success.For(lang), reg.Feedback.Failure.For(lang)
	if success != "" || failure != "" {
		f := block.Feedback{}
		if a.Feedback != nil {
			f = *a.Feedback
		}
		fill(&f.SuccessText, success)
		fill(&f.FailureToast, failure)
		a.Feedback = &f
	}
	return a, nil
}

var spaces = strings.NewReplacer("_", " ", "-", " ", ".", " ")

// labelOf makes a text for a button of an action's name, which begins with a
// letter of ASCII.
func labelOf(name string) string {
	return strings.ToUpper(name[:1]) + strings.TrimRight(spaces.Replace(name[1:]), " ")
}

// accepts judges a payload by the action's schema or, on a form, by the form's.
// It returns the payload with the action's own values laid over it.
func (reg *registered) accepts(b block.Block, a block.Action, payload json.RawMessage) (json.RawMessage, error) {
	if reg.schema == nil && b.Type == "form" {
		var form struct {
			Schema json.RawMessage `json:"schema"`
		}
		if err := json.Unmarshal(b.Payload, &form); err != nil {
			return nil, fmt.Errorf("read the form: %w", err)
		}
		schema, err := block.CompileForm(form.Schema)
		if err != nil {
			return nil, fmt.Errorf("compile the form: %w", err)
		}
		return payload, judged(schema, payload)
	}
	if reg.schema == nil {
		if string(payload) != "{}" {
			return nil, payloadInvalid(&block.SchemaError{Violations: []block.Violation{{Message: "the action takes no values"}}})
		}
		return payload, nil
	}
	if len(a.Params) > 0 {
		var members map[string]json.RawMessage
		if err := json.Unmarshal(payload, &members); err != nil {
			return nil, payloadInvalid(err)
		}
		for name, v := range a.Params {
			members[name] = v // the server's own value stands
		}
		var err error
		if payload, err = canonicalOf(members); err != nil {
			return nil, err
		}
	}
	if err := judged(reg.schema, payload); err != nil {
		return nil, err
	}
	// What the client was given may be narrower, or of before a change.
	if a.InputSchema != nil && string(a.InputSchema) != string(reg.Schema) {
		if len(a.InputSchema) > MaxSchema {
			return nil, fmt.Errorf("schema of action %s: %d bytes are more than %d", a.ID, len(a.InputSchema), MaxSchema)
		}
		own, err := block.CompileSchema("action", a.InputSchema)
		if err != nil {
			return nil, fmt.Errorf("schema of action %s: %w", a.ID, err)
		}
		return payload, judged(own, payload)
	}
	return payload, nil
}

func judged(s *block.Schema, payload json.RawMessage) error {
	if err := s.Validate(payload); err != nil {
		return payloadInvalid(err)
	}
	return nil
}
