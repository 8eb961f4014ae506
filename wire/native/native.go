// Package native is the product's own dialect: every event of the log under
// its own name (docs/protocol.md).
//
// It owns the envelope and what a reader gets in place of a block that it
// cannot draw. It may import wire, event and block. It must never touch
// storage or HTTP, and takes no time but the events'.
package native

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/wire"
)

// Name is the dialect's name in View and in the dialect parameter.
const Name = "native"

// Encoder writes one message's events to one reader. It implements
// wire.Encoder.
//
// One event is one frame, so that a reader who counts by seq can be cut off
// anywhere. An event that is not for this reader becomes a frame with nothing
// but its id.
type Encoder struct {
	view wire.View
	run  wire.Run
	// hidden are the blocks that the reader cannot draw; nil when it draws
	// every block there can be.
	hidden map[string]bool
}

var _ wire.Encoder = (*Encoder)(nil)

// New returns an encoder for one reader of one message.
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("native: a view needs a registry")
	}
	e := &Encoder{view: view, run: run}
	if view.Caps.Declared {
		e.hidden = make(map[string]bool)
	}
	return e, nil
}

// Stateless reports whether the encoder may begin after any event. Another one
// must be fed from the first event on, with what it writes for the events that
// the reader has thrown away.
func (e *Encoder) Stateless() bool { return e.hidden == nil }

// ContentType implements wire.Encoder.
func (e *Encoder) ContentType() string { return "text/event-stream" }

// Begin implements wire.Encoder. A snapshot is written as the event of that
// name.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	data, err := e.snapshot(*snap)
	if err != nil {
		return dst, err
	}
	return e.frame(dst, event.Event{Seq: snap.Seq, Group: 1, Type: event.Snapshot, Msg: e.run.Msg, Data: data}), nil
}

// End implements wire.Encoder; the terminal event is all there is to say.
func (e *Encoder) End(dst []byte) ([]byte, error) { return dst, nil }

// Append implements wire.Encoder.
func (e *Encoder) Append(dst []byte, ev event.Event) ([]byte, error) {
	switch ev.Type {
	case event.Start:
		data, err := e.start(ev.Data)
		if err != nil {
			return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
		}
		ev.Data = data
	case event.Snapshot:
		var snap event.SnapshotData
		if err := json.Unmarshal(ev.Data, &snap); err != nil {
			return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
		}
		data, err := e.snapshot(snap)
		if err != nil {
			return dst, err
		}
		ev.Data = data
	case event.ToolCallStart, event.ToolCallEnd, event.SubToolStart, event.SubToolEnd:
		if !e.view.Tools {
			return skip(dst, ev.Seq), nil
		}
	case event.ReasoningDelta:
		if !e.view.Reasoning {
			return skip(dst, ev.Seq), nil
		}
	case event.BlockStart, event.BlockDelta, event.BlockEnd, event.BlockState:
		if e.hidden != nil {
			return e.block(dst, ev)
		}
	}
	return e.frame(dst, ev), nil
}

// textStart opens the text block that stands for a block which the reader
// cannot draw.
var textStart = json.RawMessage(`{"type":"text","version":1}`)

// block encodes an event of a block that the reader may not be able to draw.
// Such a block is a text block to it from its first event on, which keeps its
// place, and whole at its end.
func (e *Encoder) block(dst []byte, ev event.Event) ([]byte, error) {
	switch ev.Type {
	case event.BlockStart:
		var d event.BlockStartData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
		}
		if e.draws(ev.Block, d.Type, d.Version) {
			return e.frame(dst, ev), nil
		}
		ev.Data = textStart
		return e.frame(dst, ev), nil
	case event.BlockEnd:
		var d event.BlockEndData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
		}
		if e.draws(ev.Block, d.Type, d.Version) {
			return e.frame(dst, ev), nil
		}
		text := e.view.Registry.Stand(block.Block{
			Type: d.Type, Version: d.Version, Status: block.StatusDone, Payload: d.Payload, Fallback: d.Fallback,
		})
		data := append([]byte(nil), `{"type":"text","version":1,"payload":`...)
		data = jsonx.AppendString(data, text)
		ev.Data = append(data, '}')
		return e.frame(dst, ev), nil
	default:
		if e.hidden[ev.Block] {
			return skip(dst, ev.Seq), nil
		}
		return e.frame(dst, ev), nil
	}
}

// draws reports whether the reader draws a type, and remembers it for the
// block's other events. What a block was at first it stays: its type does not
// change.
func (e *Encoder) draws(id, name string, version int) bool {
	if e.hidden[id] {
		return false
	}
	if e.view.Caps.Can(name, version) {
		return true
	}
	e.hidden[id] = true
	return false
}

// supported is an entry of supported_blocks.
type supported struct {
	Namespace string `json:"namespace"`
	BlockType string `json:"block_type"`
	Version   int    `json:"version"`
}

// start adds what was negotiated for this reader to the data of start.
func (e *Encoder) start(data json.RawMessage) (json.RawMessage, error) {
	caps := e.view.Caps
	if !caps.Declared {
		caps.Tokens = e.view.Registry.All().Tokens
	}
	list := make([]supported, len(caps.Tokens))
	for i, t := range caps.Tokens {
		list[i] = supported{t.Namespace, t.Name, t.Major}
	}
	blocks, err := json.Marshal(list)
	if err != nil {
		return nil, err
	}
	body, ok := bytes.CutSuffix(bytes.TrimSpace(data), []byte("}"))
	if !ok {
		return nil, errors.New("the data of start is no object")
	}
	out := append([]byte(nil), body...)
	if len(bytes.TrimSpace(body)) > 1 {
		out = append(out, ',')
	}
	out = append(out, `"supported_blocks":`...)
	out = append(out, blocks...)
	if len(caps.Rejected) > 0 {
		rejected, err := json.Marshal(caps.Rejected)
		if err != nil {
			return nil, err
		}
		out = append(out, `,"rejected_capabilities":`...)
		out = append(out, rejected...)
	}
	return append(out, '}'), nil
}

// snapshot turns the blocks that the reader cannot draw into text.
func (e *Encoder) snapshot(s event.SnapshotData) (json.RawMessage, error) {
	out := s
	out.Blocks = make([]block.Block, len(s.Blocks))
	for i, b := range s.Blocks {
		if e.hidden != nil && !e.draws(b.ID, b.Type, b.Version) {
			b = e.text(b)
		}
		out.Blocks[i] = b
	}
	data, err := jsonx.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("native: snapshot: %w", err)
	}
	return data, nil
}

func (e *Encoder) text(b block.Block) block.Block {
	t := block.Block{ID: b.ID, Type: "text", Version: 1, Status: b.Status, Rev: b.Rev, Fallback: b.Fallback, Err: b.Err}
	if b.Status == block.StatusDone {
		t.Payload = jsonx.AppendString(nil, e.view.Registry.Stand(b))
		t.Fallback = ""
	}
	return t
}

// Degrade returns a message's stored blocks as this reader gets them.
func (e *Encoder) Degrade(blocks []block.Block) []block.Block {
	out := make([]block.Block, len(blocks))
	for i, b := range blocks {
		if !e.view.Caps.Can(b.Type, b.Version) {
			b = e.text(b)
		}
		out[i] = b
	}
	return out
}

// skip writes a frame that only moves the reader's cursor.
func skip(dst []byte, seq uint64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, '\n', '\n')
}

// frame writes an event in its envelope.
func (e *Encoder) frame(dst []byte, ev event.Event) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, ev.Seq, 10)
	dst = append(dst, "\nevent: "...)
	dst = append(dst, ev.Type...)
	dst = append(dst, "\ndata: {\"v\":1,\"msgId\":"...)
	dst = jsonx.AppendString(dst, e.run.Msg)
	if ev.Block != "" {
		dst = append(dst, `,"blockId":`...)
		dst = jsonx.AppendString(dst, ev.Block)
	}
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, ev.Seq, 10)
	dst = append(dst, `,"group":`...)
	dst = strconv.AppendInt(dst, int64(max(ev.Group, 1)), 10)
	dst = append(dst, `,"at":`...)
	dst = strconv.AppendInt(dst, ev.At, 10)
	dst = append(dst, `,"data":`...)
	dst = appendLine(dst, ev.Data)
	return append(dst, "}\n\n"...)
}

// appendLine appends an object on one line; a line feed inside would end the
// frame's data.
func appendLine(dst []byte, data json.RawMessage) []byte {
	if len(data) == 0 {
		return append(dst, "{}"...)
	}
	if bytes.IndexByte(data, '\n') < 0 && bytes.IndexByte(data, '\r') < 0 {
		return append(dst, data...)
	}
	// In JSON, line ends stand between tokens only: as spaces they mean the
	// same.
	at := len(dst)
	dst = append(dst, data...)
	for i := at; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return dst
}
