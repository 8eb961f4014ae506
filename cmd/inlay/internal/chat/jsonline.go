package chat

import (
	"bytes"
	"encoding/json"
	"fmt"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// jsonLine is an event as a line of JSON.
type jsonLine struct {
	Event string          `json:"event"`
	Msg   string          `json:"msgId,omitempty"`
	Block string          `json:"blockId,omitempty"`
	Seq   uint64          `json:"seq"`
	Group int             `json:"group"`
	At    int64           `json:"at"`
	Data  json.RawMessage `json:"data,omitempty"`
}

// appendJSON appends an event and a line end. The line is safe to look at in a
// terminal: every control character and all that is not seen but changes what
// is read is escaped.
func appendJSON(dst []byte, e event.Event) []byte {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(jsonLine{string(e.Type), e.Msg, e.Block, e.Seq, e.Group, e.At, e.Data}); err != nil {
		return dst // data that is no JSON was refused when it was read
	}
	for _, r := range string(bytes.TrimSuffix(b.Bytes(), []byte("\n"))) {
		switch {
		case r == utf8.RuneError || !block.Invisible(r):
			dst = utf8.AppendRune(dst, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			dst = fmt.Appendf(dst, `\u%04x\u%04x`, high, low)
		default:
			// Outside of strings JSON has none of them, and Encode leaves none
			// of the blanks that it allows.
			dst = fmt.Appendf(dst, `\u%04x`, r)
		}
	}
	return append(dst, '\n')
}
