// Package aisdk is the UI message stream (v1) that the client of the npm
// package ai reads, majors 5, 6 and 7.
//
// That client knows a closed set of chunk types and fails on any other, on a
// null where a member may be absent, and on a delta of a part that has not
// begun; so the encoder writes these and no more:
//
//	start, start-step              the first event
//	text-start, -delta, -end       a text block; a block the reader cannot draw
//	reasoning-start, -delta, -end  thoughts, where the View has them
//	data-<type>                    any other block, whole, with the block's id
//	data-block-progress            transient: a block too large to be sent while it grows
//	data-tool-activity             a tool call, where the View has them
//	tool-input-available,
//	tool-output-*                  a call that the client runs; with View.ToolParts any call
//	tool-approval-*                from major 6: a question whether a tool may run
//	file                           the file of a block the reader cannot draw
//	source-url                     an annotation of kind source
//	message-metadata, error        the message failed
//	finish-step, abort, finish     the message is over
//
// A message is one step, and one more each time that the client has run tools:
// clients that send results by themselves look at the last step only, and would
// send them again and again. Its parts are a step-start, then one part for each
// block in the order in which the blocks began, with thoughts and tool calls
// between them. The data of data-<type> is the block as the HTTP API has it,
// and replaces what the client had under that id; a failed block is such a
// part too and never the chunk error, at which clients stop reading. A call of a
// tool of the server's is data and no tool part unless the View wants it:
// arguments and results are not in the log, and clients answer tool parts by
// themselves and hand them to models. As a part it has neither, and is marked as
// executed by the provider, so that no client runs it.
//
// A client from major 6 on that did not declare the confirm block gets it as
// what it is there: the call that is asked about, with the arguments that the
// block shows, and the request for approval, whose id is the block's. What came
// of it is told by the state of that call; major 6 has no chunk that says who
// agreed. A call that the client runs is a tool part of its id, name and
// arguments; its output is the client's own, and only told to be there to a
// reader who has not sent it.
//
// A text part cannot be changed once it has ended. A block that the reader
// cannot draw is one text part, and one more at the end of the message for
// each later outcome, of a retry or refresh, whose text differs.
//
// Metadata of the message has conversationId, createdAt (epoch ms),
// userMessageId, model and what was negotiated at its start; status,
// finishReason as in the log, usage and error at its end. Not sent are other
// annotations and pending questions: the block that asks is a part, and the
// status says that the message is paused. A message that waits for what its
// client runs or for an approval finishes with the reason tool-calls.
//
// It may import wire, event and block. It must never touch storage or HTTP,
// and takes no time but the events'.
package aisdk

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/wire"
)

// Name is the dialect's name in View and in the dialect parameter.
const Name = "aisdk"

// Limits of what is sent of a block.
const (
	// WholeEvery is the least time in milliseconds between two sends of a
	// block while it grows.
	WholeEvery = 250
	// MaxGrowing is the largest payload that is sent while it still grows.
	// Above it only its size is told until the block ends.
	MaxGrowing = 16 << 10
	// MaxPayload is the largest payload that is sent at all. Of a larger one
	// the longest list is cut, meta.truncated is set and rest names where the
	// whole message is.
	MaxPayload = 64 << 10
)

// Encoder writes one message's events to one reader. It implements
// wire.Encoder.
//
// The terminal chunk and [DONE] are written by End, from what all groups of
// the message came to: a client reads nothing after an error, and a message
// that failed may have blocks that were retried since. The id of the last
// terminal event therefore stands on [DONE].
type Encoder struct {
	view wire.View
	run  wire.Run
	// major is the client's.
	major int
	fold  *event.Folder
	seq   uint64
	// at is the time of the last event.
	at int64
	// terminal is the seq of the last event if it ended its group, else 0.
	terminal uint64
	begun    bool
	// step says that a step was begun in this stream.
	step bool
	// thoughts counts the reasoning parts; thinking says that the last is open.
	thoughts int
	thinking bool
	parts    map[string]*part
	order    []*part
	// dirty counts the parts that grew since they were sent.
	dirty int
	tools []event.ToolActivity
	// calls are the tool parts, in order.
	calls []*call
	// due says that the client has run tools: the next part is in a step of its
	// own. follows says that the stream is that of a follow-up, failed that its
	// last group ended with an error.
	due, follows, failed bool
	// sources counts the parts of annotations.
	sources int
}

// call is a tool part.
type call struct {
	// id is that of the part, and unique in the message.
	id, name string
	// client is the call that the client runs.
	client bool
	// approval is the block that asks whether the call may run.
	approval string
	// agreed says that it may, over that nothing more comes.
	agreed, over bool
}

type kind uint8

const (
	textPart   kind = iota
	hiddenPart      // a block that the reader cannot draw, as text
	dataPart
	askPart // a question whether a call may run
)

// part is a block as the client has it.
type part struct {
	id   string
	kind kind
	// open is a text part that has not ended.
	open bool
	// loading is a block that has not ended.
	loading bool
	// said is the text of a hidden block's last outcome, file the address of the
	// file that was sent with it.
	said, file string
	// ask is the call that a question is about, when it was asked.
	ask *call
	// sent is the time of the last send of data; dirty says that it is stale.
	sent  int64
	dirty bool
}

var (
	_ wire.Encoder       = (*Encoder)(nil)
	_ wire.WholeReplayer = (*Encoder)(nil)
	_ wire.Headerer      = (*Encoder)(nil)
	_ wire.Follower      = (*Encoder)(nil)
	_ wire.Updater       = (*Encoder)(nil)
)

// New returns an encoder for one reader of one message. The View's Version is
// the major of the reader's client: "5" (or empty, what all of them read), "6"
// or "7".
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("aisdk: a view needs a registry")
	}
	e := &Encoder{view: view, run: run, major: 5, fold: event.NewFolder(run.Msg), parts: make(map[string]*part)}
	switch view.Version {
	case "", "5":
	case "6":
		e.major = 6
	case "7":
		e.major = 7
	default:
		return nil, fmt.Errorf("aisdk: version %q is not 5, 6 or 7", view.Version)
	}
	return e, nil
}

// Stateless reports whether the encoder may begin after any event; this one
// must be fed from the first event on.
func (e *Encoder) Stateless() bool { return false }

// WholeReplay reports that the dialect's own clients resume by reading the
// whole stream again, whatever they have read: nothing is thrown away for
// them.
func (e *Encoder) WholeReplay() bool { return true }

// ContentType implements wire.Encoder.
func (e *Encoder) ContentType() string { return "text/event-stream" }

// Header is what the dialect's servers send with a stream besides its content
// type.
func (e *Encoder) Header() (name, value string) { return "x-vercel-ai-ui-message-stream", "v1" }

// Begin implements wire.Encoder. The parts of a snapshot are written as the
// stream's first ones; without one the start event begins the stream.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	at := len(dst)
	dst, err := e.snapshot(dst, *snap)
	if err != nil {
		return dst[:at], err
	}
	return number(dst, at, snap.Seq), nil
}

// Follow begins the stream of a follow-up, for a client that has the message
// as it was before: it is called after the events that the client has were
// appended and thrown away, and before the first that it gets. It names the
// message, so that the parts go into the one that is there. What the client
// itself has run is not told to it, and the stream ends as its last group does,
// whatever the message came to.
func (e *Encoder) Follow(dst []byte) ([]byte, error) {
	for _, p := range e.order {
		if p.open {
			return dst, fmt.Errorf("aisdk: text %s is open: a client that has a part of it must read the whole stream", p.id)
		}
	}
	if e.thinking {
		return dst, errors.New("aisdk: thoughts are open: a client that has a part of them must read the whole stream")
	}
	e.begun, e.step, e.follows = true, false, true
	return e.start(dst, nil)
}

// Update implements wire.Updater, after all events.
func (e *Encoder) Update(dst []byte, b block.Block, again bool) ([]byte, error) {
	p := e.parts[b.ID]
	if known, ok := e.fold.Block(b.ID); !ok || p == nil || p.kind != dataPart || b.Rev < known.Rev || b.Rev == known.Rev && !again {
		return dst, nil
	}
	return e.whole(dst, p, b)
}

// Append implements wire.Encoder. The SSE id is the last line of the event's
// last frame.
func (e *Encoder) Append(dst []byte, ev event.Event) ([]byte, error) {
	if e.run.Msg == "" {
		e.run.Msg = ev.Msg
	}
	if ev.Seq <= e.seq || ev.Msg != "" && ev.Msg != e.run.Msg {
		return dst, nil
	}
	at := len(dst)
	dst, err := e.append(dst, ev)
	if err != nil {
		return dst[:at], fmt.Errorf("aisdk: event %d: %w", ev.Seq, err)
	}
	e.seq, e.terminal = ev.Seq, 0
	if ev.Type.Terminal() {
		e.terminal = ev.Seq
		return dst, nil
	}
	return number(dst, at, ev.Seq), nil
}

func (e *Encoder) append(dst []byte, ev event.Event) (_ []byte, err error) {
	if ev.Type == event.Snapshot {
		var snap event.SnapshotData
		if err := json.Unmarshal(ev.Data, &snap); err != nil {
			return dst, err
		}
		snap.Seq = max(snap.Seq, ev.Seq)
		return e.snapshot(dst, snap)
	}
	p := e.parts[ev.Block]
	was := ""
	if p != nil && p.kind == textPart && ev.Type != event.TextDelta && ev.Type != event.TextEnd {
		was = e.text(ev.Block)
	}
	e.fold.Apply(ev)
	e.at = max(e.at, ev.At)
	if !e.begun {
		if dst, err = e.begin(dst, ev); err != nil {
			return dst, err
		}
	}
	if e.thinking && ev.Type != event.ReasoningDelta {
		dst = e.endThought(dst)
	}
	switch ev.Type {
	case event.TextDelta:
		if p == nil && ev.Block != "" {
			p = e.add(ev.Block, textPart)
			dst = e.openText(dst, p)
		}
		if p != nil && p.kind == textPart && p.open {
			dst = textDelta(dst, "text-delta", p.id, ev.Data)
		}
	case event.TextEnd:
		if p != nil && p.kind == textPart {
			p.loading = false
			dst = e.endText(dst, p)
		}
	case event.ReasoningDelta:
		dst = e.thought(dst, ev.Data)
	case event.BlockStart, event.BlockEnd, event.BlockError, event.BlockState:
		if dst, err = e.block(dst, ev.Block, was); err != nil {
			return dst, err
		}
	case event.BlockDelta:
		if p != nil && p.kind == dataPart && p.loading && !p.dirty {
			p.dirty = true
			e.dirty++
		}
	case event.ToolCallStart, event.SubToolStart, event.ToolCallEnd, event.SubToolEnd:
		dst, err = e.tool(dst, ev)
		if err != nil {
			return dst, err
		}
	case event.ClientToolCall:
		if dst, err = e.clientCall(dst, ev.Data); err != nil {
			return dst, err
		}
	case event.Annotation:
		if dst, err = e.annotation(dst, ev); err != nil {
			return dst, err
		}
	case event.Done, event.Error:
		e.failed = ev.Type == event.Error
		return e.endGroup(dst)
	}
	return e.flush(dst)
}

// End implements wire.Encoder. It writes the terminal chunk and [DONE]: error
// when the message failed or is cut off here before its group ended, else
// finish.
func (e *Encoder) End(dst []byte) (_ []byte, err error) {
	st := e.fold.State()
	if !e.begun {
		if dst, err = e.begin(dst, event.Event{}); err != nil {
			return dst, err
		}
	}
	dst = e.endThought(dst)
	for _, p := range e.order {
		dst = e.endText(dst, p)
	}
	switch {
	case st.Open || st.Status == event.StatusRunning:
		dst = e.endStep(dst)
		dst = failure(dst, "The stream ended before the answer was complete.")
	case st.Status == event.StatusError && (e.failed || !e.follows):
		failed := event.ErrorData{Code: "internal", Message: "The answer failed."}
		if st.Err != nil && st.Err.Message != "" {
			failed = *st.Err
		}
		end := ending{Status: st.Status, Error: &failed}
		if dst, err = object(dst, `{"type":"message-metadata","messageMetadata":`, end, "}"); err != nil {
			return dst, err
		}
		dst = e.endStep(dst)
		dst = failure(dst, failed.Message)
	default:
		dst = e.endStep(dst)
		if st.Status == event.StatusCancelled && !e.failed {
			dst = append(dst, `data: {"type":"abort"`...)
			if e.major >= 6 {
				dst = append(dst, `,"reason":"cancelled"`...)
			}
			dst = append(dst, "}\n\n"...)
		}
		end := ending{Status: st.Status, FinishReason: st.FinishReason, Usage: &st.Usage, Model: st.Start.Model}
		reason := e.finishReason(st.FinishReason)
		if st.Status == event.StatusPaused && slices.ContainsFunc(e.calls, (*call).waits) {
			reason = "tool-calls"
		}
		open := `{"type":"finish","finishReason":"` + reason + `","messageMetadata":`
		if dst, err = object(dst, open, end, "}"); err != nil {
			return dst, err
		}
	}
	dst = append(dst, "data: [DONE]\n"...)
	if e.terminal > 0 {
		dst = appendID(dst, e.terminal)
	}
	return append(dst, '\n'), nil
}

// ending is the metadata that a message gets at its end.
type ending struct {
	Status       event.Status     `json:"status"`
	FinishReason string           `json:"finishReason,omitempty"`
	Usage        *event.Usage     `json:"usage,omitempty"`
	Model        *event.Model     `json:"model,omitempty"`
	Error        *event.ErrorData `json:"error,omitempty"`
}

// finishReason words a finish reason in the client's closed set.
func (e *Encoder) finishReason(ours string) string {
	switch ours {
	case event.FinishStop, event.FinishLength:
		return ours
	case event.FinishContentFilter:
		return "content-filter"
	case event.FinishMaxSteps:
		// The model wanted to go on calling.
		return "tool-calls"
	case event.FinishCancelled, event.FinishPaused:
		if e.major >= 7 {
			return "interrupted"
		}
	}
	return "other"
}

// opening is the metadata that a message has from its start.
type opening struct {
	ConversationID string       `json:"conversationId,omitempty"`
	CreatedAt      int64        `json:"createdAt,omitempty"`
	UserMessageID  string       `json:"userMessageId,omitempty"`
	Model          *event.Model `json:"model,omitempty"`
	// SupportedBlocks and RejectedCapabilities are what was negotiated with a
	// reader who declared what it draws.
	SupportedBlocks      *[]string `json:"supportedBlocks,omitempty"`
	RejectedCapabilities []string  `json:"rejectedCapabilities,omitempty"`
}

// begin writes the start of the message and of its step.
func (e *Encoder) begin(dst []byte, ev event.Event) ([]byte, error) {
	e.begun, e.step = true, true
	o := opening{ConversationID: e.run.Conversation}
	var d event.StartData
	if ev.Type == event.Start && json.Unmarshal(ev.Data, &d) == nil {
		o.CreatedAt, o.UserMessageID, o.Model = d.TS, d.UserMessageID, d.Model
		if d.ConversationID != "" {
			o.ConversationID = d.ConversationID
		}
	}
	if caps := e.view.Caps; caps.Declared {
		tokens := make([]string, len(caps.Tokens))
		for i, t := range caps.Tokens {
			tokens[i] = t.String()
		}
		o.SupportedBlocks, o.RejectedCapabilities = &tokens, caps.Rejected
	}
	dst, err := e.start(dst, &o)
	if err != nil {
		return dst, err
	}
	return append(dst, "data: {\"type\":\"start-step\"}\n\n"...), nil
}

func (e *Encoder) start(dst []byte, meta *opening) ([]byte, error) {
	open := string(jsonx.AppendString([]byte(`{"type":"start","messageId":`), e.run.Msg))
	if meta == nil {
		return append(append(append(dst, "data: "...), open...), "}\n\n"...), nil
	}
	return object(dst, open+`,"messageMetadata":`, meta, "}")
}

func (e *Encoder) endStep(dst []byte) []byte {
	if !e.step {
		return dst
	}
	e.step = false
	return append(dst, "data: {\"type\":\"finish-step\"}\n\n"...)
}

// snapshot begins the stream with blocks that were stored.
func (e *Encoder) snapshot(dst []byte, s event.SnapshotData) (_ []byte, err error) {
	if e.begun || e.seq > 0 {
		return dst, errors.New("a snapshot only begins a stream")
	}
	e.fold, e.seq = event.FromSnapshot(e.run.Msg, s), s.Seq
	if dst, err = e.begin(dst, event.Event{}); err != nil {
		return dst, err
	}
	for _, b := range s.Blocks {
		if dst, err = e.block(dst, b.ID, ""); err != nil {
			return dst, err
		}
	}
	for _, t := range s.Tools {
		if t.Status != event.ToolRunning {
			dst = e.ran(dst, t.ID, t.Status)
		}
	}
	return dst, nil
}

func (e *Encoder) add(id string, k kind) *part {
	p := &part{id: id, kind: k}
	e.parts[id] = p
	e.order = append(e.order, p)
	return p
}

// block brings the client's part in line with the block as it is folded now.
// was is the text that a text block had before.
func (e *Encoder) block(dst []byte, id, was string) ([]byte, error) {
	b, ok := e.fold.Block(id)
	if !ok {
		return dst, nil
	}
	p := e.parts[id]
	if p == nil {
		// What a block is to the client at first it stays.
		switch {
		case block.ShortName(b.Type) == "text":
			p = e.add(id, textPart)
		case e.approves(b):
			p = e.add(id, askPart)
		case !e.view.Caps.Can(b.Type, b.Version):
			p = e.add(id, hiddenPart)
		default:
			p = e.add(id, dataPart)
		}
		if p.kind == textPart || p.kind == hiddenPart {
			dst = e.openText(dst, p)
			if p.kind == textPart && b.Status == block.StatusLoading && len(b.Payload) > 0 {
				dst = stringDelta(dst, p.id, e.text(id)) // of a snapshot
			}
		}
	}
	if p.kind == dataPart && !e.view.Caps.Can(b.Type, b.Version) {
		// It came back in a major that the reader cannot draw: text from now
		// on, after the part, which cannot be taken back.
		p.kind = hiddenPart
		if p.dirty {
			p.dirty = false
			e.dirty--
		}
	}
	p.loading = b.Status == block.StatusLoading
	switch p.kind {
	case textPart:
		return e.textBlock(dst, p, was), nil
	case askPart:
		return e.question(dst, p, b)
	case hiddenPart:
		return e.hidden(dst, p, b), nil
	default:
		return e.whole(dst, p, b)
	}
}

// textBlock opens or ends a text part. A payload that came with the end and
// does not go on where the deltas stopped is a part of its own.
func (e *Encoder) textBlock(dst []byte, p *part, was string) []byte {
	if p.loading {
		return e.openText(dst, p)
	}
	text := e.text(p.id)
	rest, goesOn := strings.CutPrefix(text, was)
	switch {
	case p.open && goesOn:
		dst = stringDelta(dst, p.id, rest)
	case text != was:
		dst = e.openText(e.endText(dst, p), p)
		dst = stringDelta(dst, p.id, text)
	}
	return e.endText(dst, p)
}

// hidden writes the text of a block that the reader cannot draw, when the
// block has come to something.
func (e *Encoder) hidden(dst []byte, p *part, b block.Block) []byte {
	if p.loading {
		return dst
	}
	text := e.view.Registry.Stand(b)
	if !p.open {
		if text == p.said {
			return dst
		}
		dst = e.openText(dst, p)
	}
	p.said = text
	dst = e.endText(stringDelta(dst, p.id, text), p)
	return e.file(dst, p, b)
}

// file writes the file of a block that the reader cannot draw: every client
// knows files. Its address is the one that the text links to.
func (e *Encoder) file(dst []byte, p *part, b block.Block) []byte {
	typ := block.ShortName(b.Type)
	if b.Status != block.StatusDone || typ != "file" && typ != "image" {
		return dst
	}
	var f block.File
	if json.Unmarshal(b.Payload, &f) != nil || f.AssetID == "" {
		return dst
	}
	address := "/v1/assets/" + url.PathEscape(f.AssetID) + "/content"
	if address == p.file {
		return dst
	}
	p.file = address
	if f.Mime == "" {
		f.Mime = "image/*"
	}
	dst = jsonx.AppendString(append(dst, `data: {"type":"file","url":`...), address)
	dst = jsonx.AppendString(append(dst, `,"mediaType":`...), f.Mime)
	return append(dst, "}\n\n"...)
}

// text returns a text block's text as folded so far.
func (e *Encoder) text(id string) string {
	b, _ := e.fold.Block(id)
	var s string
	_ = json.Unmarshal(b.Payload, &s) // nothing yet is no text
	return s
}

func (e *Encoder) openText(dst []byte, p *part) []byte {
	if p.open {
		return dst
	}
	p.open = true
	return idChunk(dst, "text-start", p.id)
}

func (e *Encoder) endText(dst []byte, p *part) []byte {
	if !p.open {
		return dst
	}
	p.open = false
	return idChunk(dst, "text-end", p.id)
}

// thought appends to the open reasoning part.
func (e *Encoder) thought(dst []byte, data json.RawMessage) []byte {
	if !e.view.Reasoning {
		return dst
	}
	if !e.thinking {
		e.thoughts++
		e.thinking = true
		dst = idChunk(dst, "reasoning-start", e.thoughtID())
	}
	return textDelta(dst, "reasoning-delta", e.thoughtID(), data)
}

func (e *Encoder) endThought(dst []byte) []byte {
	if !e.thinking {
		return dst
	}
	e.thinking = false
	return idChunk(dst, "reasoning-end", e.thoughtID())
}

func (e *Encoder) thoughtID() string { return "reasoning-" + strconv.Itoa(e.thoughts) }

// sentBlock is a block as data of its part.
type sentBlock struct {
	block.Block
	// Rest is where a truncated payload is whole.
	Rest string `json:"rest,omitempty"`
}

// whole writes a block as data.
func (e *Encoder) whole(dst []byte, p *part, b block.Block) ([]byte, error) {
	if p.dirty {
		p.dirty = false
		e.dirty--
	}
	p.sent = e.at
	data := sentBlock{Block: b}
	if len(b.Payload) > MaxPayload {
		meta := block.Meta{}
		if b.Meta != nil {
			meta = *b.Meta
		}
		meta.Truncated = true
		data.Meta, data.Payload = &meta, truncate(b.Payload, MaxPayload)
		data.Rest = "/v1/messages/" + e.run.Msg
	}
	open := jsonx.AppendString([]byte(`{"type":`), "data-"+block.ShortName(b.Type))
	open = jsonx.AppendString(append(open, `,"id":`...), b.ID)
	return object(dst, string(open)+`,"data":`, data, "}")
}

// progress says how far a block is that is too large to be sent while it
// grows.
type progress struct {
	ID    string `json:"id"`
	Type  string `json:"type"`
	Bytes int    `json:"bytes"`
}

// flush sends the blocks that grew, those that were not sent for a while.
func (e *Encoder) flush(dst []byte) (_ []byte, err error) {
	if e.dirty == 0 {
		return dst, nil
	}
	for _, p := range e.order {
		if !p.dirty || e.at-p.sent < WholeEvery {
			continue
		}
		b, _ := e.fold.Block(p.id)
		if len(b.Payload) <= MaxGrowing {
			if dst, err = e.whole(dst, p, b); err != nil {
				return dst, err
			}
			continue
		}
		p.dirty = false
		e.dirty--
		p.sent = e.at
		dst, err = object(dst, `{"type":"data-block-progress","data":`, progress{b.ID, block.ShortName(b.Type), len(b.Payload)}, `,"transient":true}`)
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// tool folds and writes the start or the end of a call, as event.Folder folds
// them.
func (e *Encoder) tool(dst []byte, ev event.Event) ([]byte, error) {
	var d event.ToolCallData
	if json.Unmarshal(ev.Data, &d) != nil || d.ToolCallID == "" {
		return dst, nil
	}
	if ev.Type == event.ToolCallEnd {
		dst = e.ran(dst, d.ToolCallID, d.Status)
	}
	if e.due && !e.waits() {
		e.due = false
		dst = append(e.endStep(dst), "data: {\"type\":\"start-step\"}\n\n"...)
		e.step = true
	}
	if !e.view.Tools || d.Client {
		return dst, nil
	}
	if e.view.ToolParts {
		return e.toolPart(dst, ev.Type, d)
	}
	i := 0
	for i < len(e.tools) && e.tools[i].ID != d.ToolCallID {
		i++
	}
	known := i < len(e.tools)
	if starts := ev.Type == event.ToolCallStart || ev.Type == event.SubToolStart; starts == known {
		return dst, nil
	}
	if !known {
		e.tools = append(e.tools, event.ToolActivity{
			ID: d.ToolCallID, Name: d.Name, Title: d.Title, Status: event.ToolRunning, Sub: ev.Type == event.SubToolStart,
		})
	} else {
		e.tools[i].Status, e.tools[i].DurationMs = d.Status, d.DurationMs
	}
	return toolChunk(dst, e.tools[i])
}

// endGroup writes what the end of a group makes of what was still open.
func (e *Encoder) endGroup(dst []byte) (_ []byte, err error) {
	for _, p := range e.order {
		if p.loading || p.open {
			was := ""
			if p.kind == textPart {
				was = e.text(p.id)
			}
			if dst, err = e.block(dst, p.id, was); err != nil {
				return dst, err
			}
		}
	}
	st := e.fold.State()
	for _, t := range st.Tools {
		if t.Status != event.ToolRunning {
			dst = e.ran(dst, t.ID, t.Status)
		}
	}
	if st.Status != event.StatusPaused {
		for _, c := range e.calls {
			if c.agreed || c.client {
				dst = e.ran(dst, c.id, event.ToolCancelled) // it never will be
			}
		}
	}
	for i, t := range e.tools {
		if t.Status == event.ToolRunning {
			e.tools[i].Status = event.ToolCancelled
			if dst, err = toolChunk(dst, e.tools[i]); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

func toolChunk(dst []byte, t event.ToolActivity) ([]byte, error) {
	open := jsonx.AppendString([]byte(`{"type":"data-tool-activity","id":`), t.ID)
	return object(dst, string(open)+`,"data":`, t, "}")
}

// failure writes the chunk error. A client's errorText may not be empty.
func failure(dst []byte, text string) []byte {
	dst = append(dst, `data: {"type":"error","errorText":`...)
	dst = jsonx.AppendString(dst, text)
	return append(dst, "}\n\n"...)
}

// idChunk writes a chunk that has nothing but an id.
func idChunk(dst []byte, typ, id string) []byte {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","id":`...)
	dst = jsonx.AppendString(dst, id)
	return append(dst, "}\n\n"...)
}

var (
	deltaOpen  = []byte(`{"delta":"`)
	deltaClose = []byte(`"}`)
)

// textDelta writes the delta of a text_delta or reasoning_delta event. Empty
// ones are left out.
func textDelta(dst []byte, typ, id string, data json.RawMessage) []byte {
	body, plain := bytes.CutPrefix(data, deltaOpen)
	if plain {
		body, plain = bytes.CutSuffix(body, deltaClose)
	}
	if plain = plain && jsonx.Plain(body); !plain {
		var d event.TextDeltaData
		if json.Unmarshal(data, &d) != nil {
			return dst
		}
		body = jsonx.AppendEscaped([]byte(nil), d.Delta)
	}
	if len(body) == 0 {
		return dst
	}
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, typ...)
	dst = append(dst, `","id":`...)
	dst = jsonx.AppendString(dst, id)
	dst = append(dst, `,"delta":"`...)
	dst = append(dst, body...)
	return append(dst, "\"}\n\n"...)
}

// stringDelta writes a delta of a text part.
func stringDelta(dst []byte, id, text string) []byte {
	return textDelta(dst, "text-delta", id, event.TextData(text))
}

// object writes a chunk that ends with an object.
func object(dst []byte, open string, v any, end string) ([]byte, error) {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, "data: "...)
	dst = append(dst, open...)
	dst = append(dst, data...)
	dst = append(dst, end...)
	return append(dst, "\n\n"...), nil
}

// number puts the SSE id on the last of the frames that were written since at,
// or on a frame of its own. The order of the lines of a frame means nothing.
func number(dst []byte, at int, seq uint64) []byte {
	if len(dst) > at {
		dst = dst[:len(dst)-1] // the empty line
	}
	return append(appendID(dst, seq), '\n')
}

func appendID(dst []byte, seq uint64) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, seq, 10)
	return append(dst, '\n')
}
