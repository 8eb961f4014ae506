package server

import (
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

func dialectNames() []string {
	names := make([]string, 0, len(dialects))
	for name := range dialects {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
