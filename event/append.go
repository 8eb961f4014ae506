package event

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// TextData encodes the data of a text_delta or reasoning_delta event. It is
// the hot path of a turn and does not use reflection.
func TextData[T string | []byte](delta T) json.RawMessage {
	b := make([]byte, 0, len(deltaOpen)+len(deltaClose)+len(delta)+len(delta)/16)
	b = append(b, deltaOpen...)
	b = jsonx.AppendEscaped(b, delta)
	return append(b, deltaClose...)
}

// EmptyData is the data of events that have none, such as text_end.
var EmptyData = json.RawMessage("{}")
