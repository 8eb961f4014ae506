package wire

import (
	"bytes"
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// MaxWhole is the largest payload, in bytes, that a dialect without deltas
// sends.
const MaxWhole = 64 << 10

// Whole returns a finished block's payload for a dialect that sends payloads
// in one piece. One that is larger than MaxWhole loses elements from the end
// of its largest list until it fits, and truncated is true. ok is false when
// there is no payload, or none that can be cut and still has the form of its
// type: such a block is shown by its fallback.
func Whole(r *block.Registry, b block.Block) (payload json.RawMessage, truncated, ok bool) {
	if len(b.Payload) == 0 {
		return nil, false, false
	}
	if len(b.Payload) <= MaxWhole {
		return b.Payload, false, true
	}
	var object map[string]json.RawMessage
	if json.Unmarshal(b.Payload, &object) != nil {
		return nil, false, false
	}
	name, elements := "", []json.RawMessage(nil)
	for key, raw := range object {
		var list []json.RawMessage
		if len(raw) > 0 && raw[0] == '[' && (len(raw) > len(object[name]) || len(raw) == len(object[name]) && key < name) &&
			json.Unmarshal(raw, &list) == nil {
			name, elements = key, list
		}
	}
	if elements == nil {
		return nil, false, false
	}
	object[name] = json.RawMessage("[]")
	frame, err := jsonx.Marshal(object)
	if err != nil {
		return nil, false, false
	}
	size, n := len(frame), 0
	for n < len(elements) && size+len(elements[n])+1 <= MaxWhole {
		size += len(elements[n]) + 1
		n++
	}
	object[name] = append(append([]byte{'['}, bytes.Join(raws(elements[:n]), []byte{','})...), ']')
	payload, err = jsonx.Marshal(object)
	if err != nil || len(payload) > MaxWhole || r.Validate(b.Type, b.Version, payload) != nil {
		return nil, false, false
	}
	return payload, true, true
}

func raws(list []json.RawMessage) [][]byte {
	out := make([][]byte, len(list))
	for i, raw := range list {
		out[i] = raw
	}
	return out
}
