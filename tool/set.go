package tool

import (
	"fmt"
	"slices"
	"sync"
)

// Set is the tools of an installation, each with its compiled argument check.
// It is safe for concurrent use; tools are normally added at start.
type Set struct {
	mu     sync.RWMutex
	byName map[string]entry
	order  []string
}

type entry struct {
	tool  Tool
	check *Check
}

// NewSet returns a set of the given tools.
func NewSet(tools ...Tool) (*Set, error) {
	s := &Set{byName: make(map[string]entry)}
	if err := s.Add(tools...); err != nil {
		return nil, err
	}
	return s, nil
}

// Add adds tools, all of them or, with an error, none. It refuses names that
// models do not accept, names taken already and parameters that are no JSON
// Schema of type object.
func (s *Set) Add(tools ...Tool) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	added := make(map[string]entry, len(tools))
	order := slices.Clone(s.order)
	for _, t := range tools {
		if t == nil {
			return fmt.Errorf("add tool: nil")
		}
		spec := t.Spec()
		check, err := NewCheck(spec)
		if err != nil {
			return err
		}
		if _, ok := s.byName[spec.Name]; ok {
			return fmt.Errorf("tool %q: the name is taken", spec.Name)
		}
		if _, ok := added[spec.Name]; ok {
			return fmt.Errorf("tool %q: the name is taken", spec.Name)
		}
		added[spec.Name] = entry{t, check}
		order = append(order, spec.Name)
	}
	for name, e := range added {
		s.byName[name] = e
	}
	s.order = order
	return nil
}

// Lookup returns the tool of a name and the check of its arguments.
func (s *Set) Lookup(name string) (Tool, *Check, bool) {
	s.mu.RLock()
	defer s.mu.RUnlock()
	e, ok := s.byName[name]
	return e.tool, e.check, ok
}

// Specs returns the specs in the order the tools were added.
func (s *Set) Specs() []Spec {
	s.mu.RLock()
	defer s.mu.RUnlock()
	out := make([]Spec, 0, len(s.order))
	for _, name := range s.order {
		out = append(out, s.byName[name].tool.Spec())
	}
	return out
}

// Len returns the number of tools.
func (s *Set) Len() int {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return len(s.order)
}
