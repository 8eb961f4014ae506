package server

import (
	"net/http"
	"sort"

	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/agui"
	"github.com/inlay-ui/inlay/wire/aisdk"
	"github.com/inlay-ui/inlay/wire/cards"
	"github.com/inlay-ui/inlay/wire/native"
	"github.com/inlay-ui/inlay/wire/ubp"
)

// dialects are the encoders that a message can be read in. A new dialect is a
// folder under wire and a line here.
var dialects = map[string]func(wire.View, wire.Run) (wire.Encoder, error){
	cards.Name:  func(v wire.View, r wire.Run) (wire.Encoder, error) { return cards.New(v, r) },
	native.Name: func(v wire.View, r wire.Run) (wire.Encoder, error) { return native.New(v, r) },
	ubp.Name:    func(v wire.View, r wire.Run) (wire.Encoder, error) { return ubp.New(v, r) },
	agui.Name:   func(v wire.View, r wire.Run) (wire.Encoder, error) { return agui.New(v, r) },
	aisdk.Name:  func(v wire.View, r wire.Run) (wire.Encoder, error) { return aisdk.New(v, r) },
}

// in makes a handler whose events are written in a dialect. What a request
// declares is read by that dialect's grammar, and so judged again.
func (s *server) in(dialect string, h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		callOf(r).dialect = dialect
		if err := s.declared(r); err != nil {
			return err
		}
		return h(w, r)
	}
}

// asked makes a handler whose events are written in the dialect that the
// request asks for.
func (s *server) asked(h handler) handler {
	return func(w http.ResponseWriter, r *http.Request) error {
		dialect := r.URL.Query().Get("dialect")
		if _, known := dialects[dialect]; dialect != "" && !known {
			return invalid("Unknown dialect.", map[string]any{"field": "dialect", "known": dialectNames()})
		}
		return s.in(dialect, h)(w, r)
	}
}

func dialectNames() []string {
	names := make([]string, 0, len(dialects))
	for name := range dialects {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
