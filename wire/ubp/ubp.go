// Package ubp is the UI Block Protocol: prose and blocks on one stream, in the
// order in which they arrive.
//
// It owns what a client of that protocol reads: text_delta for prose,
// one ui_block for a finished block, the same id again when the block changes,
// and prose in place of what the client did not declare. It may import wire,
// event and block. It must never touch storage or HTTP, and takes no time but
// the events'.
package ubp

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/wire"
)

// Name is the dialect's name in View and in the dialect parameter.
const Name = "ubp"

// The types of the stream's events that are not those of the log.
const (
	typeTextDelta = "text_delta"
	typeBlock     = "ui_block"
)

// The members of _meta that are written here: ours, and who made a block that
// does not say so itself.
const (
	ownKeys   = "inlay/"
	keySource = "minara/source"
)

// Encoder writes one message's events to one reader. It implements
// wire.Encoder.
//
// One event is one frame, so that a reader who goes on after the last id it saw
// gets nothing twice. An event that says nothing to this reader is a frame with
// nothing but its id. Only a snapshot is several frames; it begins with start,
// at which a client throws away what it has of the message.
type Encoder struct {
	view wire.View
	run  wire.Run
	fold *event.Folder
	// shown are the blocks that the reader has as ui_block.
	shown map[string]bool
	// said is the prose that was written in place of a block, so that a retry
	// that fails alike is not told twice.
	said map[string]string
	// open is the text block that is being written. Prose that stands for a
	// block waits in held until it has ended: Markdown is not cut apart.
	open string
	held []string
	// part is the text block whose prose came last; breaks are the line ends
	// after it. afterText says that no new block stands between it and what
	// comes next.
	part      string
	breaks    int
	afterText bool
}

var _ wire.Encoder = (*Encoder)(nil)

// New returns an encoder for one reader of one message. A reader that declares
// nothing is sent no blocks, only their prose.
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("ubp: a view needs a registry")
	}
	return &Encoder{
		view: view, run: run, fold: event.NewFolder(run.Msg),
		shown: make(map[string]bool), said: make(map[string]string),
	}, nil
}

// Stateless reports whether the encoder may begin after any event: it may not.
// It must be fed from the first event on, with what it writes for the events
// that the reader has thrown away.
func (e *Encoder) Stateless() bool { return false }

// ContentType implements wire.Encoder.
func (e *Encoder) ContentType() string { return "text/event-stream" }

// Begin implements wire.Encoder. A snapshot is written as a stream that begins
// anew.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	return e.snapshot(dst, *snap, snap.Seq)
}

// End implements wire.Encoder; the terminal event is all there is to say.
func (e *Encoder) End(dst []byte) ([]byte, error) { return dst, nil }

// Append implements wire.Encoder.
func (e *Encoder) Append(dst []byte, ev event.Event) ([]byte, error) {
	out, err := e.append(dst, ev)
	if err != nil {
		return dst, fmt.Errorf("ubp: event %d: %w", ev.Seq, err)
	}
	return out, nil
}

func (e *Encoder) append(dst []byte, ev event.Event) ([]byte, error) {
	switch ev.Type {
	case event.Start:
		e.fold.Apply(ev)
		var d event.StartData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return dst, err
		}
		return e.start(dst, ev.Seq, d)
	case event.TextDelta:
		e.fold.Apply(ev)
		return e.textDelta(dst, ev)
	case event.TextEnd:
		e.fold.Apply(ev)
		e.end(ev.Block)
		return e.release(dst, ev.Seq), nil
	case event.BlockEnd:
		return e.blockEnd(dst, ev)
	case event.BlockError:
		e.fold.Apply(ev)
		return e.blockError(dst, ev)
	case event.BlockState:
		e.fold.Apply(ev)
		// One that is being run again has a payload that is not whole; the
		// state is sent with what comes of it.
		if b, ok := e.fold.Block(ev.Block); ok && e.shown[ev.Block] && b.Status == block.StatusDone {
			return e.block(dst, ev.Seq, b)
		}
		return skip(dst, ev.Seq), nil
	case event.ToolCallStart, event.ToolCallEnd, event.SubToolStart, event.SubToolEnd:
		if !e.view.Tools {
			return skip(dst, ev.Seq), nil
		}
		return frame(dst, ev.Seq, string(ev.Type), ev.Data), nil
	case event.PendingQuestionStart, event.PendingQuestionEnd:
		data := ev.Data
		if b, _ := e.fold.Block(ev.Block); !e.draws(b) {
			var err error
			if data, err = wire.Question(data); err != nil {
				return dst, err
			}
		}
		return frame(dst, ev.Seq, string(ev.Type), data), nil
	case event.Done, event.Error:
		e.fold.Apply(ev)
		return frame(dst, ev.Seq, string(ev.Type), ev.Data), nil
	case event.Snapshot:
		var d event.SnapshotData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return dst, err
		}
		return e.snapshot(dst, d, ev.Seq)
	case event.BlockStart, event.BlockDelta:
		e.fold.Apply(ev)
	}
	// The protocol has no words for the rest.
	return skip(dst, ev.Seq), nil
}

// support is an entry of supported_blocks.
type support struct {
	Namespace string `json:"namespace"`
	BlockType string `json:"block_type"`
	Version   int    `json:"version"`
}

// startData is the data of the protocol's start event.
type startData struct {
	TS        int64     `json:"ts,omitempty"`
	SessionID string    `json:"session_id,omitempty"`
	Supported []support `json:"supported_blocks"`
	Rejected  []string  `json:"rejected_capabilities,omitempty"`
}

func (e *Encoder) start(dst []byte, seq uint64, d event.StartData) ([]byte, error) {
	s := startData{TS: d.TS, SessionID: d.ConversationID, Supported: []support{}, Rejected: e.view.Caps.Rejected}
	if s.SessionID == "" {
		s.SessionID = e.run.Conversation
	}
	for _, t := range e.view.Caps.Tokens {
		s.Supported = append(s.Supported, support{t.Namespace, t.Name, t.Major})
	}
	data, err := jsonx.Marshal(s)
	if err != nil {
		return dst, err
	}
	return frame(dst, seq, string(event.Start), data), nil
}

var (
	deltaOpen  = []byte(`{"delta":"`)
	deltaClose = []byte(`"}`)
)

// textDelta is the hot path: a plain delta is copied without being parsed.
func (e *Encoder) textDelta(dst []byte, ev event.Event) ([]byte, error) {
	e.open = ev.Block
	if body, ok := bytes.CutPrefix(ev.Data, deltaOpen); ok {
		if body, ok = bytes.CutSuffix(body, deltaClose); ok && len(body) > 0 && jsonx.Plain(body) {
			dst = textOpen(dst, ev.Seq)
			dst = jsonx.AppendEscaped(dst, e.gap(ev.Block))
			dst = append(dst, body...)
			e.breaks = 0 // a plain body has no line ends
			return append(dst, textClose...), nil
		}
	}
	var d event.TextDeltaData
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return dst, err
	}
	return e.text(dst, ev.Seq, ev.Block, d.Delta), nil
}

// text writes prose of a text block, or of none.
func (e *Encoder) text(dst []byte, seq uint64, part, s string) []byte {
	if s == "" {
		return skip(dst, seq)
	}
	gap := e.gap(part)
	dst = textOpen(dst, seq)
	dst = jsonx.AppendEscaped(dst, gap)
	dst = jsonx.AppendEscaped(dst, s)
	if body := strings.TrimRight(s, "\n"); body == "" {
		e.breaks = min(e.breaks+len(s), 2)
	} else {
		e.breaks = min(len(s)-len(body), 2)
	}
	return append(dst, textClose...)
}

// gap returns the line ends that part the next prose from what stands before
// it, which a client appends it to. The next prose is that of a text block, or
// of none when part is empty.
func (e *Encoder) gap(part string) string {
	gap := ""
	if e.afterText && (part == "" || part != e.part) {
		gap = "\n\n"[e.breaks:]
		e.breaks = 2
	}
	if !e.afterText {
		e.breaks = 0
	}
	e.part, e.afterText = part, true
	return gap
}

// say writes prose that stands for a block.
func (e *Encoder) say(dst []byte, seq uint64, id, s string) []byte {
	if s == "" || e.said[id] == s {
		return skip(dst, seq)
	}
	e.said[id] = s
	if e.open != "" {
		e.held = append(e.held, s)
		return skip(dst, seq)
	}
	return e.text(dst, seq, "", s)
}

// end notes that a text block has ended.
func (e *Encoder) end(id string) {
	if e.open == id {
		e.open = ""
	}
}

// release writes the prose that waited for the end of a text block.
func (e *Encoder) release(dst []byte, seq uint64) []byte {
	if e.open != "" || len(e.held) == 0 {
		return skip(dst, seq)
	}
	s := strings.Join(e.held, "\n\n")
	e.held = nil
	return e.text(dst, seq, "", s)
}

func (e *Encoder) blockEnd(dst []byte, ev event.Event) ([]byte, error) {
	had, _ := e.fold.Block(ev.Block)
	e.fold.Apply(ev)
	b, ok := e.fold.Block(ev.Block)
	if !ok {
		return skip(dst, ev.Seq), nil
	}
	if b.Type != "text" {
		return e.block(dst, ev.Seq, b)
	}
	// A text that comes whole: the client may have some of it. What it has
	// cannot be taken back.
	old, now := e.view.Registry.Stand(had), e.view.Registry.Stand(b)
	part := ev.Block
	rest, grown := strings.CutPrefix(now, old)
	if had.Type != "text" || !grown {
		rest, part = now, ""
	}
	if len(e.held) > 0 && e.open == ev.Block {
		rest = strings.Join(append([]string{rest}, e.held...), "\n\n")
		e.held = nil
	}
	e.end(ev.Block)
	if e.open != "" {
		e.held = append(e.held, rest)
		return skip(dst, ev.Seq), nil
	}
	return e.text(dst, ev.Seq, part, rest), nil
}

func (e *Encoder) blockError(dst []byte, ev event.Event) ([]byte, error) {
	b, ok := e.fold.Block(ev.Block)
	switch {
	case !ok:
		return skip(dst, ev.Seq), nil
	case b.Type == "text":
		e.end(ev.Block)
		return e.release(dst, ev.Seq), nil
	case e.shown[ev.Block]:
		// A refresh failed and what was there before it stands.
		return e.block(dst, ev.Seq, b)
	case b.Status == block.StatusDone:
		return skip(dst, ev.Seq), nil
	}
	return e.say(dst, ev.Seq, b.ID, e.view.Registry.Stand(b)), nil
}

// uiBlock is the data of a ui_block event.
type uiBlock struct {
	ID        string                     `json:"id"`
	Namespace string                     `json:"namespace"`
	BlockType string                     `json:"block_type"`
	Version   string                     `json:"version"`
	Data      json.RawMessage            `json:"data"`
	Position  string                     `json:"position,omitempty"`
	Meta      map[string]json.RawMessage `json:"_meta,omitempty"`
}

// draws reports whether the reader declared a block's type and major.
func (e *Encoder) draws(b block.Block) bool {
	return e.view.Caps.Declared && e.view.Caps.Can(b.Type, b.Version)
}

// block writes a finished block: as ui_block, or as prose when the reader did
// not declare it or its payload cannot be sent.
func (e *Encoder) block(dst []byte, seq uint64, b block.Block) ([]byte, error) {
	payload, truncated, ok := json.RawMessage(nil), false, false
	if e.draws(b) {
		payload, truncated, ok = wire.Whole(e.view.Registry, b)
	}
	if !ok {
		if e.shown[b.ID] {
			return skip(dst, seq), nil // an earlier state of it stands
		}
		return e.say(dst, seq, b.ID, e.view.Registry.Stand(b)), nil
	}
	ui := uiBlock{ID: b.ID, Version: strconv.Itoa(b.Version) + ".0.0", Data: payload}
	ui.Namespace, ui.BlockType = block.Type{Name: b.Type}.Namespace()
	if b.Meta != nil {
		switch b.Meta.Position {
		case "after_text", "inline", "before_text":
			ui.Position = b.Meta.Position
		}
	}
	meta, err := e.meta(b, truncated)
	if err != nil {
		return dst, err
	}
	ui.Meta = meta
	data, err := jsonx.Marshal(ui)
	if err != nil {
		return dst, err
	}
	if !e.shown[b.ID] {
		e.shown[b.ID], e.afterText = true, false
	}
	return frame(dst, seq, typeBlock, data), nil
}

// meta returns a block's _meta: the vendors' members as they came, and ours.
func (e *Encoder) meta(b block.Block, truncated bool) (map[string]json.RawMessage, error) {
	meta := make(map[string]json.RawMessage)
	if b.Meta != nil {
		for key, value := range b.Meta.Vendor {
			if !strings.HasPrefix(key, ownKeys) { // nobody else says what is ours
				meta[key] = value
			}
		}
		if _, ok := meta[keySource]; !ok && b.Meta.Producer != "" {
			meta[keySource] = jsonx.AppendString(nil, b.Meta.Producer)
		}
	}
	own := func(key string, v any) error {
		raw, err := jsonx.Marshal(v)
		if err == nil {
			meta[ownKeys+key] = raw
		}
		return err
	}
	var errs []error
	if b.Fallback != "" {
		errs = append(errs, own("fallback", b.Fallback))
	}
	if len(b.Actions) > 0 {
		errs = append(errs, own("actions", b.Actions))
	}
	if len(b.State) > 0 && string(b.State) != "null" {
		errs = append(errs, own("state", b.State))
	}
	if b.Err != nil {
		errs = append(errs, own("error", b.Err))
	}
	if truncated {
		errs = append(errs, own("truncated", true), own("url", "/v1/messages/"+e.run.Msg))
	}
	return meta, errors.Join(errs...)
}

// snapshot writes a message as it stands: a stream that begins anew and has
// caught up with its last frame.
func (e *Encoder) snapshot(dst []byte, s event.SnapshotData, seq uint64) ([]byte, error) {
	e.fold = event.FromSnapshot(e.run.Msg, s)
	e.shown, e.said = make(map[string]bool), make(map[string]string)
	e.open, e.held, e.part, e.breaks, e.afterText = "", nil, "", 0, false
	out, err := e.start(dst, 0, event.StartData{TS: s.TS, ConversationID: s.ConversationID})
	if err != nil {
		return dst, err
	}
	open := ""
	for _, b := range s.Blocks {
		switch {
		case b.Type == "text":
			if text := e.view.Registry.Stand(b); text != "" {
				out = e.text(out, 0, b.ID, text)
			}
			if b.Status == block.StatusLoading {
				open = b.ID
			}
		case b.Status == block.StatusError:
			out = e.say(out, 0, b.ID, e.view.Registry.Stand(b))
		case b.Status == block.StatusDone, b.Fallback != "" && b.Payload != nil:
			// The second is a refresh: what was there before it is shown.
			if out, err = e.block(out, 0, b); err != nil {
				return dst, err
			}
		}
	}
	e.open = open
	switch s.Status {
	case event.StatusDone:
		out = frame(out, 0, string(event.Done), json.RawMessage(`{"finishReason":"stop"}`))
	case event.StatusCancelled:
		out = frame(out, 0, string(event.Done), json.RawMessage(`{"finishReason":"cancelled"}`))
	case event.StatusPaused:
		out = frame(out, 0, string(event.Done), json.RawMessage(`{"finishReason":"paused"}`))
	case event.StatusError:
		out = frame(out, 0, string(event.Error), json.RawMessage(`{"code":"internal","message":"The answer ended with an error.","retryable":true}`))
	}
	return skip(out, seq), nil
}

// appendID writes the id of a frame; 0 is none.
func appendID(dst []byte, seq uint64) []byte {
	if seq == 0 {
		return dst
	}
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, '\n')
}

// skip writes a frame that only moves the reader's cursor; nothing for 0.
func skip(dst []byte, seq uint64) []byte {
	if seq == 0 {
		return dst
	}
	return append(appendID(dst, seq), '\n')
}

func textOpen(dst []byte, seq uint64) []byte {
	return append(appendID(dst, seq), `data: {"type":"`+typeTextDelta+`","data":{"text":"`...)
}

const textClose = "\"}}\n\n"

// frame writes an event.
func frame(dst []byte, seq uint64, typ string, data json.RawMessage) []byte {
	dst = append(appendID(dst, seq), `data: {"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","data":`...)
	if len(data) == 0 {
		data = event.EmptyData
	}
	at := len(dst)
	dst = append(dst, data...)
	// In JSON, line ends stand between tokens only: as spaces they mean the
	// same, and do not end the frame's data.
	for i := at; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return append(dst, "}\n\n"...)
}
