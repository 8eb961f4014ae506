package aisdk

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// truncate cuts the longest list of a payload until the payload has at most
// limit bytes. It returns nil when there is no list to be cut or what is
// beside it is too large already.
func truncate(payload json.RawMessage, limit int) json.RawMessage {
	var object map[string]json.RawMessage
	if json.Unmarshal(payload, &object) != nil {
		return nil
	}
	name, list := "", []json.RawMessage(nil)
	for _, key := range slices.Sorted(maps.Keys(object)) {
		var l []json.RawMessage
		if raw := object[key]; len(raw) > len(object[name]) && raw[0] == '[' && json.Unmarshal(raw, &l) == nil {
			name, list = key, l
		}
	}
	if list == nil {
		return nil
	}
	cut := append(make(json.RawMessage, 0, limit), '[')
	room := limit - (len(payload) - len(object[name])) - len("]")
	for i, element := range list {
		if i > 0 {
			element = slices.Concat(json.RawMessage(","), element)
		}
		if len(cut)+len(element) > room {
			break
		}
		cut = append(cut, element...)
	}
	if len(cut) > room {
		return nil
	}
	object[name] = append(cut, ']')
	// json.Marshal would escape what only HTML needs, and grow.
	out := append(make(json.RawMessage, 0, limit), '{')
	for i, key := range slices.Sorted(maps.Keys(object)) {
		if i > 0 {
			out = append(out, ',')
		}
		out = append(jsonx.AppendString(out, key), ':')
		out = append(out, object[key]...)
	}
	return append(out, '}')
}
