// Package cards is the dialect of card messages: one Markdown text with cards
// in it, kept up to date by numbered packets.
//
// It owns the text that a message's blocks make, the cards beside it and the
// packets full, append, patch, card, error and done. A block is a fenced card
// in the text, so that a client which knows only Markdown shows it as code; a
// block still loading is a fence with its id, which a patch replaces. Packets
// have numbers of their own, without gaps.
//
// It may import wire, event and block. It must never touch storage or HTTP, and
// takes no time but the events'.
package cards

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"unicode"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/wire"
)

// Name is the dialect's name in View and in the dialect parameter.
const Name = "cards"

// The types of packets.
const (
	typeFull   = "full"
	typeAppend = "append"
	typePatch  = "patch"
	typeCard   = "card"
	typeError  = "error"
	typeDone   = "done"
)

// perEvent is more than the packets that one event can become. A snapshot's
// full is numbered perEvent times its seq, and so above every packet that a
// reader can have got of the events before.
const perEvent = 4

// Encoder writes one message's events to one reader. It implements
// wire.Encoder.
//
// The SSE id is the event's seq, on the last of its packets. A reader who is
// cut off between two packets of one event gets the first of them again, by
// the same number.
type Encoder struct {
	view wire.View
	run  wire.Run
	// fold keeps the blocks; their texts are in segs.
	fold *event.Folder
	seq  uint64
	// md is the text that the reader has; segs are the blocks it is made of.
	md    []byte
	segs  []*segment
	index map[string]*segment
	tools []*tool
	out   []packet
}

// segment is the place of a block in the text.
type segment struct {
	id   string
	text []byte
	// from, size and was are where text stood in the message when it was
	// rendered last, and whether it was a fence then.
	from, size int
	was        bool
	// fence says that text is a fenced card.
	fence bool
	// shown says that text stands for a finished block.
	shown bool
	// card says that the reader has the card of the block: that of has, since a
	// refresh changes the block before it is done.
	card bool
	has  block.Block
	// closer ends what text leaves open; nil when that is not known yet.
	closer *string
}

// tool is a call as readers see it.
type tool struct {
	id         string
	Name       string `json:"name"`
	Title      string `json:"title,omitempty"`
	Status     string `json:"status"`
	DurationMs int64  `json:"durationMs,omitempty"`
	Sub        bool   `json:"sub,omitempty"`
}

type packet struct {
	typ     string
	payload json.RawMessage
}

var _ wire.Encoder = (*Encoder)(nil)

// New returns an encoder for one reader of one message.
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("cards: a view needs a registry")
	}
	return &Encoder{view: view, run: run, fold: event.NewFolder(run.Msg), index: make(map[string]*segment)}, nil
}

// Stateless reports whether the encoder may begin after any event: it may not,
// since packets are counted.
func (e *Encoder) Stateless() bool { return false }

// ContentType implements wire.Encoder.
func (e *Encoder) ContentType() string { return "text/event-stream" }

// Begin implements wire.Encoder. A snapshot is written as a full.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	return e.write(dst, snap.Seq, e.snapshot(*snap))
}

// End implements wire.Encoder; the terminal event is all there is to say.
func (e *Encoder) End(dst []byte) ([]byte, error) { return dst, nil }

// Full returns the whole state as a packet, numbered as the last one that it
// contains: the answer to a client that asks by message id and then goes on
// with the next number. Of a turn that has ended it says how, since the packet
// that did is not sent again.
func (e *Encoder) Full() (json.RawMessage, error) {
	payload, err := e.state(true)
	if err != nil {
		return nil, fmt.Errorf("cards: %w", err)
	}
	return e.envelope(nil, e.seq, typeFull, payload), nil
}

// Append implements wire.Encoder.
func (e *Encoder) Append(dst []byte, ev event.Event) ([]byte, error) {
	if ev.Type == event.TextDelta {
		if out, ok := e.plain(dst, ev); ok {
			return out, nil
		}
	}
	return e.write(dst, ev.Seq, e.apply(ev))
}

// write writes the packets of an event, or just its id.
func (e *Encoder) write(dst []byte, seq uint64, err error) ([]byte, error) {
	packets := e.out
	e.out = e.out[:0]
	if err != nil {
		return dst, fmt.Errorf("cards: event %d: %w", seq, err)
	}
	if len(packets) == 0 {
		return append(appendID(dst, seq), '\n'), nil
	}
	for i, p := range packets {
		if i == len(packets)-1 {
			dst = appendID(dst, seq)
		}
		if p.typ != typeFull {
			e.seq++
		}
		dst = append(dst, "data: "...)
		dst = e.envelope(dst, e.seq, p.typ, p.payload)
		dst = append(dst, "\n\n"...)
	}
	return dst, nil
}

func appendID(dst []byte, seq uint64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, '\n')
}

func (e *Encoder) envelope(dst []byte, seq uint64, typ string, payload json.RawMessage) []byte {
	dst = e.open(dst, seq, typ)
	at := len(dst)
	dst = append(dst, payload...)
	// In JSON, line ends stand between tokens only: as spaces they mean the
	// same, and do not end the frame's data.
	for i := at; i < len(dst); i++ {
		if dst[i] == '\n' || dst[i] == '\r' {
			dst[i] = ' '
		}
	}
	return append(dst, '}')
}

func (e *Encoder) open(dst []byte, seq uint64, typ string) []byte {
	dst = append(dst, `{"messageId":`...)
	dst = jsonx.AppendString(dst, e.run.Msg)
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, seq, 10)
	dst = append(dst, `,"type":"`...)
	dst = append(dst, typ...)
	return append(dst, `","payload":`...)
}

var (
	deltaOpen  = []byte(`{"delta":"`)
	deltaClose = []byte(`"}`)
)

// plain is the hot path: a delta without escapes at the end of the message is
// copied without being parsed.
func (e *Encoder) plain(dst []byte, ev event.Event) ([]byte, bool) {
	if len(e.segs) == 0 {
		return nil, false
	}
	s := e.segs[len(e.segs)-1]
	if s.id != ev.Block || len(s.text) == 0 {
		return nil, false
	}
	body, ok := bytes.CutPrefix(ev.Data, deltaOpen)
	if ok {
		body, ok = bytes.CutSuffix(body, deltaClose)
	}
	if !ok || len(body) == 0 || !jsonx.Plain(body) {
		return nil, false
	}
	e.fold.Apply(ev)
	s.text, s.closer = append(s.text, body...), nil
	s.size += len(body)
	e.md = append(e.md, body...)
	e.seq++
	dst = append(appendID(dst, ev.Seq), "data: "...)
	dst = e.open(dst, e.seq, typeAppend)
	dst = append(dst, `{"markdown":"`...)
	dst = append(dst, body...)
	return append(dst, "\"}}\n\n"...), true
}

// apply takes an event and leaves its packets in out.
func (e *Encoder) apply(ev event.Event) error {
	switch ev.Type {
	case event.Start:
		payload, err := e.state(false)
		if err != nil {
			return err
		}
		e.seq++
		e.put(typeFull, payload)
	case event.TextDelta:
		e.fold.Apply(ev)
		var d event.TextDeltaData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		s := e.segment(ev.Block)
		s.set(append(s.text, d.Delta...), false, true)
		e.sync(s)
	case event.BlockStart:
		e.fold.Apply(ev)
		e.blockStart(ev.Block)
	case event.TextEnd, event.BlockDelta, event.PendingQuestionEnd:
		e.fold.Apply(ev)
	case event.BlockEnd:
		e.fold.Apply(ev)
		if b, ok := e.fold.Block(ev.Block); ok {
			return e.finish(b)
		}
	case event.BlockError:
		e.fold.Apply(ev)
		if b, ok := e.fold.Block(ev.Block); ok {
			return e.fail(b)
		}
	case event.BlockState:
		e.fold.Apply(ev)
		return e.blockState(ev.Block)
	case event.ToolCallStart, event.ToolCallEnd, event.SubToolStart, event.SubToolEnd:
		e.fold.Apply(ev)
		if e.view.Tools {
			return e.tool(ev)
		}
	case event.Done, event.Error:
		return e.terminal(ev)
	case event.Snapshot:
		var d event.SnapshotData
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return err
		}
		d.Seq = ev.Seq
		return e.snapshot(d)
	}
	// There are no packets for the rest.
	return nil
}

func (e *Encoder) put(typ string, payload json.RawMessage) {
	e.out = append(e.out, packet{typ, payload})
}

// segment returns the place of a block, a new one at the end for a new block.
func (e *Encoder) segment(id string) *segment {
	s := e.index[id]
	if s == nil {
		s = &segment{id: id}
		e.segs = append(e.segs, s)
		e.index[id] = s
	}
	return s
}

func (s *segment) set(text []byte, fence, shown bool) {
	s.text, s.fence, s.shown, s.closer = text, fence, shown, nil
}

// draws reports whether the reader draws a block as a card.
func (e *Encoder) draws(b block.Block) bool {
	return b.Type != "text" && e.view.Caps.Can(b.Type, b.Version)
}

func (e *Encoder) blockStart(id string) {
	b, ok := e.fold.Block(id)
	if !ok {
		return
	}
	s := e.segment(id)
	if s.shown || b.Type == "text" {
		return // what was there before stands until it is done
	}
	e.drop(s)
	if e.draws(b) {
		s.set(e.fence(b, skeleton(b)), true, false)
	} else {
		s.set(nil, false, false)
	}
	e.sync(s)
}

// finish shows a finished block.
func (e *Encoder) finish(b block.Block) error {
	s := e.segment(b.ID)
	if b.Type == "text" {
		s.set([]byte(e.view.Registry.Stand(b)), false, true)
		e.sync(s)
		return nil
	}
	card, body, err := e.card(b)
	if err != nil {
		return err
	}
	if card == nil {
		s.set([]byte(e.view.Registry.Stand(b)), false, true)
		e.sync(s)
		e.drop(s)
		return nil
	}
	fresh := len(s.text) == 0
	s.set(e.fence(b, body), true, true)
	e.sync(s)
	if fresh {
		s.card, s.has = true, b
		e.put(typeCard, card)
		return nil
	}
	e.replace(s, b, card)
	return nil
}

// fail shows what is left of a block that failed.
func (e *Encoder) fail(b block.Block) error {
	s := e.segment(b.ID)
	if b.Type == "text" {
		s.set([]byte(e.view.Registry.Stand(b)), false, true)
		e.sync(s)
		return nil
	}
	if b.Status == block.StatusDone {
		// A refresh failed and what was there before it stands.
		if !s.card {
			return nil
		}
		if b.Rev != s.has.Rev {
			card, _, err := e.card(b)
			if err != nil || card == nil {
				return err
			}
			e.replace(s, b, card)
			return nil
		}
		raw, err := jsonx.Marshal(b.Err)
		if err != nil {
			return err
		}
		s.has = b
		e.patch(op{Op: "add", Path: jsonx.Pointer("cards", s.id, "error"), Value: raw})
		return nil
	}
	if e.waits(b) {
		card, _, err := e.card(b)
		if err != nil {
			return err
		}
		e.replace(s, b, card)
		return nil
	}
	s.set([]byte(e.view.Registry.Stand(b)), false, false)
	e.sync(s)
	e.drop(s)
	return nil
}

// waits reports whether a failed block keeps its skeleton, with the error on
// its card: its data did not come in time and may still be had.
func (e *Encoder) waits(b block.Block) bool {
	return b.Err != nil && b.Err.Code == block.CodeHydrateTimeout && b.Status == block.StatusError && e.draws(b)
}

// replace writes a card anew.
func (e *Encoder) replace(s *segment, b block.Block, card json.RawMessage) {
	s.card, s.has = true, b
	e.patch(op{Op: "add", Path: jsonx.Pointer("cards", s.id), Value: card})
}

// drop takes a card away.
func (e *Encoder) drop(s *segment) {
	if s.card {
		s.card = false
		e.patch(op{Op: "remove", Path: jsonx.Pointer("cards", s.id)})
	}
}

func (e *Encoder) blockState(id string) error {
	s := e.index[id]
	if s == nil || !s.card {
		return nil
	}
	b, ok := e.fold.Block(id)
	if !ok || !e.draws(b) {
		return nil // on its way to a major that is not drawn
	}
	s.has.State, s.has.Rev = b.State, b.Rev
	if state := stateOf(b); state != nil {
		e.patch(op{Op: "add", Path: jsonx.Pointer("cards", id, "state"), Value: state})
		return nil
	}
	// Whether there was a state before, and so one to remove, is not known.
	card, _, err := e.card(s.has)
	if err != nil {
		return err
	}
	e.replace(s, s.has, card)
	return nil
}

func (e *Encoder) tool(ev event.Event) error {
	var d event.ToolCallData
	if err := json.Unmarshal(ev.Data, &d); err != nil {
		return err
	}
	var t *tool
	for _, have := range e.tools {
		if have.id == d.ToolCallID {
			t = have
		}
	}
	starts := ev.Type == event.ToolCallStart || ev.Type == event.SubToolStart
	switch {
	case starts && t == nil:
		t = &tool{id: d.ToolCallID, Name: d.Name, Title: d.Title, Status: event.ToolRunning, Sub: ev.Type == event.SubToolStart}
		e.tools = append(e.tools, t)
	case !starts && t != nil:
		t.Status, t.DurationMs = d.Status, d.DurationMs
	default:
		return nil
	}
	return e.patchTools(t)
}

func (e *Encoder) patchTools(tools ...*tool) error {
	var ops []op
	for _, t := range tools {
		raw, err := jsonx.Marshal(t)
		if err != nil {
			return err
		}
		ops = append(ops, op{Op: "add", Path: jsonx.Pointer("tools", t.id), Value: raw})
	}
	if len(ops) > 0 {
		e.patch(ops...)
	}
	return nil
}

// terminal ends a group. A lawful log has ended its blocks before; the calls
// of a turn that was cut off are ended here.
func (e *Encoder) terminal(ev event.Event) error {
	e.fold.Apply(ev)
	var running []*tool
	for _, t := range e.tools {
		if t.Status == event.ToolRunning {
			t.Status = event.ToolCancelled
			running = append(running, t)
		}
	}
	if err := e.patchTools(running...); err != nil {
		return err
	}
	data := ev.Data
	if len(data) == 0 {
		data = event.EmptyData
	}
	if ev.Type == event.Error {
		e.put(typeError, data)
	} else {
		e.put(typeDone, data)
	}
	return nil
}

// snapshot takes a message as it stands.
func (e *Encoder) snapshot(snap event.SnapshotData) error {
	e.fold = event.FromSnapshot(e.run.Msg, snap)
	e.segs, e.index, e.md, e.tools = nil, make(map[string]*segment), nil, nil
	for _, b := range snap.Blocks {
		s := e.segment(b.ID)
		switch {
		case b.Type == "text":
			s.set([]byte(e.view.Registry.Stand(b)), false, true)
		case b.Status == block.StatusDone, e.waits(b), b.Status == block.StatusLoading && b.Fallback != "" && b.Payload != nil:
			// The last is a refresh: what was there before it is shown.
			card, body, err := e.card(b)
			switch {
			case err != nil:
				return err
			case card == nil:
				s.set([]byte(e.view.Registry.Stand(b)), false, true)
			default:
				s.set(e.fence(b, body), true, b.Status != block.StatusError)
				s.card, s.has = true, b
			}
		case b.Status == block.StatusError:
			s.set([]byte(e.view.Registry.Stand(b)), false, false)
		case e.draws(b):
			s.set(e.fence(b, skeleton(b)), true, false)
		}
	}
	for _, t := range snap.Tools {
		e.tools = append(e.tools, &tool{id: t.ID, Name: t.Name, Title: t.Title, Status: t.Status, DurationMs: t.DurationMs, Sub: t.Sub})
	}
	e.md = e.render()
	payload, err := e.state(false)
	if err != nil {
		return err
	}
	e.seq = perEvent * snap.Seq
	e.put(typeFull, payload)
	return e.ended(snap)
}

// ended writes how the turn of a snapshot ended, if it has.
func (e *Encoder) ended(snap event.SnapshotData) error {
	if snap.Status == event.StatusError {
		failed := event.ErrorData{Code: "internal", Message: "The answer ended with an error.", Retryable: true}
		if snap.Error != nil {
			failed = *snap.Error
		}
		raw, err := jsonx.Marshal(failed)
		if err != nil {
			return err
		}
		e.put(typeError, raw)
		return nil
	}
	reason := reasonOf(snap.Status, snap.FinishReason)
	if reason == "" {
		return nil
	}
	raw, err := jsonx.Marshal(struct {
		FinishReason string       `json:"finishReason"`
		Usage        *event.Usage `json:"usage,omitempty"`
	}{reason, snap.Usage})
	if err != nil {
		return err
	}
	e.put(typeDone, raw)
	return nil
}

// reasonOf returns why a turn ended, or nothing for one that goes on or failed.
// Records of messages that no turn wrote have no reason of their own.
func reasonOf(status event.Status, reason string) string {
	switch status {
	case event.StatusDone:
		return cmp.Or(reason, event.FinishStop)
	case event.StatusCancelled:
		return cmp.Or(reason, event.FinishCancelled)
	case event.StatusPaused:
		return cmp.Or(reason, event.FinishPaused)
	}
	return ""
}

// state returns the payload of full, with the turn's end if that is wanted and
// there is one.
func (e *Encoder) state(end bool) (json.RawMessage, error) {
	st := struct {
		Markdown     string                     `json:"markdown"`
		Cards        map[string]json.RawMessage `json:"cards"`
		Tools        map[string]*tool           `json:"tools,omitzero"`
		FinishReason string                     `json:"finishReason,omitempty"`
		Usage        *event.Usage               `json:"usage,omitempty"`
		Error        *event.ErrorData           `json:"error,omitempty"`
	}{Markdown: string(e.md), Cards: make(map[string]json.RawMessage)}
	if end {
		now := e.fold.State()
		st.FinishReason, st.Error = reasonOf(now.Status, now.FinishReason), now.Err
		if st.FinishReason != "" && now.Usage != (event.Usage{}) {
			st.Usage = &now.Usage
		}
	}
	for _, s := range e.segs {
		if !s.card {
			continue
		}
		card, _, err := e.card(s.has)
		if err != nil {
			return nil, err
		}
		st.Cards[s.id] = card
	}
	if e.view.Tools {
		st.Tools = make(map[string]*tool)
		for _, t := range e.tools {
			st.Tools[t.id] = t
		}
	}
	return jsonx.Marshal(st)
}

// card is what a card-message client knows of a block.
type card struct {
	ID string `json:"id"`
	// Type is the name that a card is written by.
	Type string `json:"type"`
	// SchemaVersion is "major.minor".
	SchemaVersion string          `json:"schemaVersion"`
	Title         string          `json:"title,omitempty"`
	Data          json.RawMessage `json:"data,omitempty"`
	Actions       []action        `json:"actions,omitempty"`
	State         json.RawMessage `json:"state,omitempty"`
	Fallback      string          `json:"fallback,omitempty"`
	Error         *block.Error    `json:"error,omitempty"`
	// Truncated says that Data was cut; URL has the whole message.
	Truncated bool   `json:"truncated,omitempty"`
	URL       string `json:"url,omitempty"`
}

// action is a block's action in the spelling of cards: type, name and text are
// what kind, id and label are elsewhere.
type action struct {
	Type block.ActionKind `json:"type"`
	Name string           `json:"name"`
	// ID is what a click posts; Name when empty.
	ID           string                     `json:"id,omitempty"`
	Text         string                     `json:"text,omitempty"`
	Params       map[string]json.RawMessage `json:"params,omitempty"`
	Style        string                     `json:"style,omitempty"`
	Prompt       string                     `json:"prompt,omitempty"`
	Href         string                     `json:"href,omitempty"`
	Confirm      string                     `json:"confirm,omitempty"`
	InputSchema  json.RawMessage            `json:"inputSchema,omitempty"`
	Feedback     *block.Feedback            `json:"feedback,omitempty"`
	DisabledWhen string                     `json:"disabledWhen,omitempty"`
}

// card returns a block's card, and its data as the fence has it: on one line.
// There is none for a block that the reader does not draw, or whose payload is
// no object or cannot be sent.
func (e *Encoder) card(b block.Block) (raw json.RawMessage, body []byte, err error) {
	if !e.draws(b) {
		return nil, nil, nil
	}
	c := card{ID: b.ID, Type: e.name(b.Type), SchemaVersion: version(b), State: stateOf(b), Fallback: b.Fallback, Error: b.Err}
	if b.Meta != nil {
		c.Title = b.Meta.Title
	}
	if e.waits(b) {
		body = skeleton(b)
	} else {
		data, truncated, ok := wire.Whole(e.view.Registry, b)
		if ok && b.Type == treeType {
			data = e.spelled(b, data)
		}
		var line bytes.Buffer
		if !ok || json.Compact(&line, data) != nil || line.Len() == 0 || line.Bytes()[0] != '{' {
			return nil, nil, nil
		}
		body, c.Data = line.Bytes(), data
		if truncated {
			c.Truncated, c.URL = true, "/v1/messages/"+e.run.Msg
		}
	}
	for _, a := range b.Actions {
		name, id := named(a)
		c.Actions = append(c.Actions, action{
			Type: a.Kind, Name: name, ID: id, Text: a.Label, Params: a.Params, Style: a.Style, Prompt: a.Prompt, Href: a.Href,
			Confirm: a.Confirm, InputSchema: a.InputSchema, Feedback: a.Feedback, DisabledWhen: a.DisabledWhen,
		})
	}
	raw, err = jsonx.Marshal(c)
	return raw, body, err
}

// named returns the name of an action and, where a click posts another one, its
// id.
func named(a block.Action) (name, id string) {
	if a.Action != "" && a.Action != a.ID {
		return a.Action, a.ID
	}
	return a.ID, ""
}

func stateOf(b block.Block) json.RawMessage {
	if string(b.State) == "null" {
		return nil
	}
	return b.State
}

func version(b block.Block) string {
	minor := 0
	if b.Meta != nil {
		minor = b.Meta.SchemaMinor
	}
	return strconv.Itoa(b.Version) + "." + strconv.Itoa(minor)
}

// skeleton is the body of a card whose data is still to come.
func skeleton(b block.Block) []byte {
	return append(jsonx.AppendString([]byte(`{"id":`), b.ID), '}')
}

// fence writes a card into Markdown. Its body is one line that begins with a
// brace, so nothing in it can end the fence.
func (e *Encoder) fence(b block.Block, body []byte) []byte {
	out := append([]byte("```"), e.name(b.Type)...)
	out = append(out, '@')
	out = strconv.AppendInt(out, int64(b.Version), 10)
	out = append(out, " id="...)
	out = append(out, b.ID...)
	out = append(out, '\n')
	out = append(out, body...)
	return append(out, "\n```"...)
}

// name returns the name that a card of a type is written by: ProductCard for
// app.product_card, Chart for chart, acme.QuoteCard for acme.quote_card. Where
// a product has a type of its own that is called like a built-in, the built-in
// has its namespace before it. A name that could not be read back is the type
// itself.
func (e *Encoder) name(typ string) string {
	namespace, short := block.Type{Name: typ}.Namespace()
	var b strings.Builder
	up := true
	for _, r := range short {
		if r == '_' {
			up = true
			continue
		}
		if up {
			r = unicode.ToUpper(r)
		}
		up = false
		b.WriteRune(r)
	}
	name := b.String()
	if block.TypeNameOf(namespace+"."+name) != block.ShortName(typ) || !strings.ContainsFunc(name, unicode.IsUpper) {
		return typ
	}
	switch namespace {
	case block.AppNamespace:
		return name
	case block.BuiltinNamespace:
		if _, taken := e.view.Registry.Lookup(block.AppNamespace+"."+short, 0); !taken {
			return name
		}
	}
	return namespace + "." + name
}

// op is one operation of a patch.
type op struct {
	Op          string          `json:"op"`
	Path        string          `json:"path"`
	Value       json.RawMessage `json:"value,omitempty"`
	Substring   string          `json:"substring,omitempty"`
	Replacement *string         `json:"replacement,omitempty"`
}

func (e *Encoder) patch(ops ...op) {
	raw, err := jsonx.Marshal(struct {
		Patch []op `json:"patch"`
	}{ops})
	if err != nil {
		panic(err) // strings, and JSON that was marshalled before
	}
	e.put(typePatch, raw)
}
