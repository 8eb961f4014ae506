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
	// met are the blocks as the reader has them; nil when it draws every block
	// there can be.
	met map[string]kind
	// hidden folds the blocks of which the reader has the text alone.
	hidden *event.Folder
	text   string // the text block that was met last
}

// kind is what a block is to a reader.
type kind uint8

const (
	unmet kind = iota
	// whole blocks are as they are in the log.
	whole
	// stood blocks are text blocks that stand for them.
	stood
	// left blocks came back in a major that the reader cannot draw. It cannot
	// be told that a block is of another type now, and keeps what it has until
	// it reads the message anew.
	left
)

var _ wire.Encoder = (*Encoder)(nil)

// New returns an encoder for one reader of one message.
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("native: a view needs a registry")
	}
	e := &Encoder{view: view, run: run}
	if view.Caps.Declared {
		e.met, e.hidden = make(map[string]kind), event.NewFolder(run.Msg)
	}
	return e, nil
}

// Stateless reports whether the encoder may begin after any event. Another one
// must be fed from the first event on, with what it writes for the events that
// the reader has thrown away.
func (e *Encoder) Stateless() bool { return e.met == nil }

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
		if !e.view.Tools && !client(ev.Data) {
			return skip(dst, ev.Seq), nil
		}
	case event.ReasoningDelta:
		if !e.view.Reasoning {
			return skip(dst, ev.Seq), nil
		}
	case event.TextDelta:
		if e.met != nil && e.text != ev.Block {
			e.text, e.met[ev.Block] = ev.Block, whole
		}
	case event.BlockStart, event.BlockEnd:
		if e.met == nil {
			break
		}
		var d struct {
			Type    string `json:"type"`
			Version int    `json:"version"`
		}
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
		}
		e.meet(ev.Block, d.Type, d.Version)
		return e.block(dst, ev)
	case event.BlockDelta, event.BlockError, event.BlockState, event.PendingQuestionStart, event.PendingQuestionEnd, event.Annotation:
		if e.met != nil {
			return e.block(dst, ev)
		}
	case event.Done, event.Error:
		if e.met != nil {
			e.hidden.Apply(ev)
		}
	}
	return e.frame(dst, ev), nil
}

// client reports whether a call is one that the reader runs itself: without it
// the reader would not know that the turn goes on.
func client(data json.RawMessage) bool {
	var d event.ToolCallData
	return bytes.Contains(data, []byte(`"client"`)) && json.Unmarshal(data, &d) == nil && d.Client
}

// textStart opens the text block that stands for a block which the reader
// cannot draw.
var textStart = json.RawMessage(`{"type":"text","version":1}`)

// block encodes an event of a block that the reader may not be able to draw.
// Such a block is a text block to it from its first event on, which keeps its
// place, and whole at its end.
func (e *Encoder) block(dst []byte, ev event.Event) ([]byte, error) {
	switch e.met[ev.Block] {
	case whole:
		return e.frame(dst, ev), nil
	case unmet, left:
		return skip(dst, ev.Seq), nil
	}
	e.hidden.Apply(ev)
	b, ok := e.hidden.Block(ev.Block)
	if !ok {
		return skip(dst, ev.Seq), nil
	}
	var err error
	switch ev.Type {
	case event.BlockStart:
		ev.Data = textStart
	case event.BlockEnd:
		data := append([]byte(nil), `{"type":"text","version":1,"payload":`...)
		data = jsonx.AppendString(data, e.view.Registry.Stand(b))
		ev.Data = append(data, '}')
	case event.BlockError:
		failed := wire.Failed(b.Err)
		if failed == nil {
			return skip(dst, ev.Seq), nil
		}
		d := event.BlockErrorData{Code: failed.Code, Message: failed.Message, Retryable: failed.Retryable}
		if b.Status == block.StatusError {
			d.Fallback = e.view.Registry.Stand(b)
		}
		ev.Data, err = jsonx.Marshal(d)
	case event.PendingQuestionStart, event.PendingQuestionEnd:
		ev.Data, err = wire.Question(ev.Data)
	default:
		return skip(dst, ev.Seq), nil
	}
	if err != nil {
		return dst, fmt.Errorf("native: event %d: %w", ev.Seq, err)
	}
	return e.frame(dst, ev), nil
}

// meet decides what a block is to the reader when it comes, and again when it
// comes back.
func (e *Encoder) meet(id, name string, version int) {
	can := e.view.Caps.Can(name, version)
	switch was := e.met[id]; {
	case was == unmet && can:
		e.met[id] = whole
	case was == unmet:
		e.met[id] = stood
	case was == whole && !can:
		e.met[id] = left
	}
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
	var hidden []block.Block
	if e.met != nil {
		e.met = make(map[string]kind, len(s.Blocks))
	}
	for i, b := range s.Blocks {
		if e.met != nil {
			if e.meet(b.ID, b.Type, b.Version); e.met[b.ID] == stood {
				hidden = append(hidden, b)
				b = e.stand(b)
			}
		}
		out.Blocks[i] = b
	}
	if e.met != nil {
		e.hidden = event.FromSnapshot(e.run.Msg, event.SnapshotData{Blocks: hidden, Seq: s.Seq, Status: s.Status})
	}
	if !e.view.Tools {
		out.Tools = nil
		for _, t := range s.Tools {
			if t.Client {
				out.Tools = append(out.Tools, t)
			}
		}
	}
	if !e.view.Reasoning {
		out.Reasoning = ""
	}
	data, err := jsonx.Marshal(out)
	if err != nil {
		return nil, fmt.Errorf("native: snapshot: %w", err)
	}
	return data, nil
}

// stand returns the text block that stands for a block.
func (e *Encoder) stand(b block.Block) block.Block {
	t := block.Block{ID: b.ID, Type: "text", Version: 1, Status: b.Status, Rev: 1, Err: wire.Failed(b.Err)}
	text := e.view.Registry.Stand(b)
	switch {
	case b.Status == block.StatusError:
		t.Fallback = text
	case b.Status == block.StatusDone, b.Fallback != "":
		// A loading block with a fallback is a refresh: what stood for it
		// before is shown.
		t.Payload = jsonx.AppendString(nil, text)
	}
	return t
}

// Degrade returns a message's stored blocks as this reader gets them.
func (e *Encoder) Degrade(blocks []block.Block) []block.Block {
	out := make([]block.Block, len(blocks))
	for i, b := range blocks {
		if !e.view.Caps.Can(b.Type, b.Version) {
			b = e.stand(b)
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
