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
// folder under wire and a line here, and one in spoken where it has a path of its
// own.
var dialects = map[string]func(wire.View, wire.Run) (wire.Encoder, error){
	cards.Name:  func(v wire.View, r wire.Run) (wire.Encoder, error) { return cards.New(v, r) },
	native.Name: func(v wire.View, r wire.Run) (wire.Encoder, error) { return native.New(v, r) },
	ubp.Name:    func(v wire.View, r wire.Run) (wire.Encoder, error) { return ubp.New(v, r) },
	agui.Name:   func(v wire.View, r wire.Run) (wire.Encoder, error) { return agui.New(v, r) },
	aisdk.Name:  func(v wire.View, r wire.Run) (wire.Encoder, error) { return aisdk.New(v, r) },
}

// spoken are the dialects that routes answer in, by path: one, or the one that
// the request asks for. All others answer in our own.
var spoken = map[string]func(*http.Request) (string, error){
	"/v1/chat/stream":                   in(ubp.Name),
	"/v1/chat/cards":                    in(cards.Name),
	"/v1/chat/blocks/{blockId}/retry":   asked,
	"/v1/chat/blocks/{blockId}/refresh": asked,
	"/v1/messages/{id}/events":          asked,
	"/v1/messages/{id}/cards":           in(cards.Name),
	"/v1/ag-ui":                         in(agui.Name),
	"/v1/ag-ui/connect":                 in(agui.Name),
	"/v1/copilotkit":                    in(agui.Name),
	"/v1/copilotkit/agent/{id}/run":     in(agui.Name),
	"/v1/copilotkit/agent/{id}/connect": in(agui.Name),
	"/v1/ai-sdk/chat":                   in(aisdk.Name),
	"/v1/ai-sdk/chat/{id}/stream":       in(aisdk.Name),
	"/v1/ai-sdk/chat/{id}/messages":     in(aisdk.Name),
	"/v1/ai-sdk/chat/{id}/stop":         in(aisdk.Name),
}

// speaks names the dialect that a route answers a request in; "" is our own.
func speaks(path string, r *http.Request) (string, error) {
	dialect, ok := spoken[path]
	if !ok {
		dialect, ok = spoken["/v1"+path]
	}
	if !ok {
		return "", nil
	}
	return dialect(r)
}

func in(dialect string) func(*http.Request) (string, error) {
	return func(*http.Request) (string, error) { return dialect, nil }
}

func asked(r *http.Request) (string, error) {
	dialect := r.URL.Query().Get("dialect")
	if _, known := dialects[dialect]; dialect != "" && !known {
		return "", invalid("Unknown dialect.", map[string]any{"field": "dialect", "known": dialectNames()})
	}
	return dialect, nil
}

func dialectNames() []string {
	names := make([]string, 0, len(dialects))
	for name := range dialects {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}
