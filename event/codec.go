package event

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math"
)

// The stored form of an event is a frame:
//
//	version   1 byte, frameVersion
//	length    uvarint, bytes that follow
//	seq       uvarint
//	group     uvarint
//	at        uvarint
//	type      1 byte: index in frameTypes, or 0 and a string
//	msg       string
//	block     string
//	data      the rest
//
// A string is its length as a uvarint and its bytes. Frames may be joined.
const frameVersion = 1

// maxFrame bounds what ReadFrame believes of a length, so that a damaged store
// cannot make it allocate.
const maxFrame = 64 << 20

// ErrFrame is wrapped by errors about bytes that are not a stored event.
var ErrFrame = errors.New("not a stored event")

// frameTypes gives each event its number in the stored form. Entries are never
// moved or removed.
var frameTypes = [...]Type{
	1: Start, 2: TextDelta, 3: TextEnd, 4: ReasoningDelta, 5: BlockStart,
	6: BlockDelta, 7: BlockEnd, 8: BlockError, 9: BlockState, 10: ToolCallStart,
	11: ToolCallEnd, 12: SubToolStart, 13: SubToolEnd, 14: PendingQuestionStart,
	15: PendingQuestionEnd, 16: Annotation, 17: Snapshot, 18: Done, 19: Error,
	20: ClientToolCall, 21: AppState,
}

func frameType(t Type) byte {
	switch t {
	case Start:
		return 1
	case TextDelta:
		return 2
	case TextEnd:
		return 3
	case ReasoningDelta:
		return 4
	}
	for i, k := range frameTypes {
		if k == t && i > 0 {
			return byte(i)
		}
	}
	return 0
}

// AppendFrame appends the stored form of an event to dst.
func AppendFrame(dst []byte, e Event) []byte {
	typ := frameType(e.Type)
	n := uvarintLen(e.Seq) + uvarintLen(uint64(max(e.Group, 0))) + uvarintLen(uint64(max(e.At, 0))) +
		1 + stringLen(e.Msg) + stringLen(e.Block) + len(e.Data)
	if typ == 0 {
		n += stringLen(string(e.Type))
	}
	dst = append(dst, frameVersion)
	dst = binary.AppendUvarint(dst, uint64(n))
	dst = binary.AppendUvarint(dst, e.Seq)
	dst = binary.AppendUvarint(dst, uint64(max(e.Group, 0)))
	dst = binary.AppendUvarint(dst, uint64(max(e.At, 0)))
	dst = append(dst, typ)
	if typ == 0 {
		dst = appendFrameString(dst, string(e.Type))
	}
	dst = appendFrameString(dst, e.Msg)
	dst = appendFrameString(dst, e.Block)
	return append(dst, e.Data...)
}

// ReadFrame reads the first frame of b and returns what follows it. The event's
// Data shares memory with b. A frame that is cut short or damaged is an error
// that wraps ErrFrame.
func ReadFrame(b []byte) (e Event, rest []byte, err error) {
	if len(b) == 0 {
		return Event{}, nil, fmt.Errorf("%w: empty", ErrFrame)
	}
	if b[0] != frameVersion {
		return Event{}, nil, fmt.Errorf("%w: version %d", ErrFrame, b[0])
	}
	n, b, ok := readUvarint(b[1:])
	if !ok || n > maxFrame || n > uint64(len(b)) {
		return Event{}, nil, fmt.Errorf("%w: cut short", ErrFrame)
	}
	body, rest := b[:n:n], b[n:]
	if !e.readBody(body) {
		return Event{}, nil, fmt.Errorf("%w: damaged", ErrFrame)
	}
	return e, rest, nil
}

func (e *Event) readBody(b []byte) bool {
	var group, at uint64
	var ok bool
	if e.Seq, b, ok = readUvarint(b); !ok {
		return false
	}
	if group, b, ok = readUvarint(b); !ok || group > math.MaxInt32 {
		return false
	}
	if at, b, ok = readUvarint(b); !ok || at > math.MaxInt64 || len(b) == 0 {
		return false
	}
	e.Group, e.At = int(group), int64(at)
	typ := b[0]
	b = b[1:]
	switch {
	case typ == 0:
		var s string
		if s, b, ok = readString(b); !ok {
			return false
		}
		e.Type = Type(s)
		if frameType(e.Type) != 0 {
			return false
		}
	case int(typ) < len(frameTypes):
		e.Type = frameTypes[typ]
	default:
		return false
	}
	if e.Msg, b, ok = readString(b); !ok {
		return false
	}
	if e.Block, b, ok = readString(b); !ok {
		return false
	}
	if len(b) > 0 {
		e.Data = json.RawMessage(b)
	}
	return true
}

func readUvarint(b []byte) (uint64, []byte, bool) {
	v, n := binary.Uvarint(b)
	if n <= 0 || n > 1 && b[n-1] == 0 { // one number, one spelling
		return 0, b, false
	}
	return v, b[n:], true
}

func readString(b []byte) (string, []byte, bool) {
	n, b, ok := readUvarint(b)
	if !ok || n > uint64(len(b)) {
		return "", b, false
	}
	return string(b[:n]), b[n:], true
}

func appendFrameString(dst []byte, s string) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(s)))
	return append(dst, s...)
}

func stringLen(s string) int { return uvarintLen(uint64(len(s))) + len(s) }

func uvarintLen(v uint64) int {
	n := 1
	for v >= 0x80 {
		v >>= 7
		n++
	}
	return n
}
