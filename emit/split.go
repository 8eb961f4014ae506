package emit

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// split cuts a payload that is too large for one event into patches that build
// it: first everything but the elements of its largest list, then these, some
// at a time. ErrTooLarge when it is larger than deltas may build, or has no
// list to be cut at.
func split(payload json.RawMessage) ([]json.RawMessage, error) {
	if len(payload) > MaxBuilt {
		return nil, fmt.Errorf("%w: payload of %d bytes, at most %d", ErrTooLarge, len(payload), MaxBuilt)
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(payload, &object); err != nil {
		return nil, fmt.Errorf("%w: only an object can be sent in parts", ErrTooLarge)
	}
	name, elements := "", []json.RawMessage(nil)
	for key, raw := range object {
		var list []json.RawMessage
		if len(raw) > len(object[name]) && raw[0] == '[' && json.Unmarshal(raw, &list) == nil {
			name, elements = key, list
		}
	}
	if elements == nil {
		return nil, fmt.Errorf("%w: the payload has no list that could be sent in parts", ErrTooLarge)
	}
	object[name] = json.RawMessage("[]")
	frame, err := json.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("split payload: %w", err)
	}
	patches := []json.RawMessage{slices.Concat([]byte(`[{"op":"add","path":"","value":`), frame, []byte(`}]`))}
	open := slices.Concat([]byte(`{"op":"add","path":`), jsonx.AppendString(nil, jsonx.Pointer(name, "-")), []byte(`,"value":`))
	patch, ops := []byte{'['}, 0
	flush := func() {
		if ops > 0 {
			patches = append(patches, append(patch, ']'))
			patch, ops = []byte{'['}, 0
		}
	}
	for _, e := range elements {
		size := len(open) + len(e) + len(`,}`)
		if len(patch)+size+1 > MaxPatch || ops == event.MaxPatchOps {
			flush()
		}
		if ops > 0 {
			patch = append(patch, ',')
		}
		patch = append(patch, open...)
		patch = append(patch, e...)
		patch = append(patch, '}')
		ops++
	}
	flush()
	for _, p := range patches {
		if len(p) > MaxPatch {
			return nil, fmt.Errorf("%w: one element alone has more than %d bytes", ErrTooLarge, MaxPatch)
		}
	}
	return patches, nil
}
