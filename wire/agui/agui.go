// Package agui is the dialect of AG-UI clients, of version 1.0 and of the
// generation before it (0.0.59).
//
// The log of a message is a sequence of groups, and each group is one run of
// the stream: RUN_STARTED, then RUN_FINISHED or RUN_ERROR. What a client holds
// in the end follows from the folded blocks:
//
//	text block                    assistant message, id = blockId, content = its text
//	any other block               activity message, id = blockId, content = the block
//	                              itself, activityType = its type with its namespace
//	block the reader cannot draw  assistant message, content = what stands for it
//	tool call, where asked for    assistant message with one tool call, id =
//	                              "<msgId>.<toolCallId>", arguments "{}", and a tool
//	                              message with {"status","durationMs"}
//	reasoning, where asked for    reasoning messages, id = "<msgId>.r<seq>"; what they
//	                              hold, joined, is the reasoning
//	open question of a pause      an interrupt of the run, id = questionId; of a block
//	                              that the reader cannot draw, asked in what stands for it
//
// Messages stand in the order of their first event. AG-UI has no way to
// replace a text: where the text of a block changes after it was written (a
// fallback after a retry), the new text is a further message with the id
// "<blockId>~<seq>", and the last message of a block is what the block is now.
//
// A block is sent as ACTIVITY_SNAPSHOT when it starts, ends, fails or changes
// its state, and as ACTIVITY_DELTA while it is built. When a client holds a
// payload of more than 64 KiB already, the end of the block is sent as a patch
// of the rest of it.
//
// Annotations and the starts and ends of questions are CUSTOM events named
// "inlay.annotation" and "inlay.pending_question_start" and "…_end". The
// metadata of every event has an Envelope under the key "inlay". AG-UI clients
// ignore the ids of frames; a client that reads on after an id has them on the
// last frame of each event, so it must not act on frames before their id has
// come.
//
// It may import wire, event and block. It must never touch storage or HTTP,
// and takes no time but the events'.
package agui

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/wire"
)

// Name is the dialect's name in View and in the dialect parameter.
const Name = "agui"

// The versions of a View. Without one, only what clients of both generations
// accept is written.
const (
	Version1 = "1.0"
	Version0 = "0.0.59"
)

// key is our name in metadata, and the namespace of CUSTOM names.
const key = "inlay"

// largePayload is the size from which a payload that the client holds is not
// sent again.
const largePayload = 64 << 10

// Encoder writes one message's events to one AG-UI client. It implements
// wire.Encoder.
type Encoder struct {
	view wire.View
	run  wire.Run
	v1   bool
	fold *event.Folder
	// known are the blocks as the client has them.
	known map[string]*known
	order []string
	tools []*call
	// questions are open; they are the interrupts of a paused run.
	questions []question
	// reasoning is the id of the open reasoning message.
	reasoning string
	history   []Message

	start int64 // epoch milliseconds; 0 while unknown
	// open says that a run has been started and not ended.
	open bool
	// restored says that the run was opened from a snapshot and nothing has
	// happened in it yet.
	restored bool
	status   event.Status // of that snapshot
	runID    string
	ev       event.Event // being encoded
}

// known is a block as the client has it.
type known struct {
	id string
	// text says that it is a text message to the client; hidden, that this
	// stands for a block which the reader cannot draw.
	text, hidden bool
	// loading is what the fold said last.
	loading bool

	// Of text messages: the id of the last one, whether it is open, and what
	// it holds; sent is out of date while it is open.
	message string
	open    bool
	sent    string

	// Of activities: the type, the block without its payload, the payload.
	activity string
	rest     []byte
	payload  json.RawMessage
}

// call is a tool call that was written.
type call struct {
	id   string // on the wire
	meta Envelope
	name string
	done bool
}

// question is the data of pending_question_start.
type question struct {
	QuestionID string `json:"questionId"`
	Prompt     string `json:"prompt"`
	Options    []struct {
		ID string `json:"id"`
	} `json:"options"`
	ExpiresAt int64 `json:"expiresAt"`
}

var _ wire.Encoder = (*Encoder)(nil)

// New returns an encoder for one client of one message. The run's ThreadID and
// RunID are the conversation's and the message's ids where it has none.
func New(view wire.View, run wire.Run) (*Encoder, error) {
	if view.Registry == nil {
		return nil, errors.New("agui: a view needs a registry")
	}
	e := &Encoder{view: view, run: run, fold: event.NewFolder(""), known: make(map[string]*known)}
	switch {
	case view.Version == "" || strings.HasPrefix(view.Version, "0."):
	case view.Version == "1" || strings.HasPrefix(view.Version, "1."):
		e.v1 = true
	default:
		return nil, fmt.Errorf("agui: unknown version %q: want %s, %s or none", view.Version, Version1, Version0)
	}
	if e.run.RunID == "" {
		e.run.RunID = run.Msg
	}
	if e.run.ThreadID == "" {
		e.run.ThreadID = run.Conversation
	}
	return e, nil
}

// Stateless is false: the encoder must be fed from the first event on, with
// what it writes for the events that the client has thrown away.
func (e *Encoder) Stateless() bool { return false }

// ContentType implements wire.Encoder.
func (e *Encoder) ContentType() string { return "text/event-stream" }

// SetHistory gives the messages of the thread before this one, in order, for
// Begin. With them Begin writes one MESSAGES_SNAPSHOT, which makes the client's
// messages right whatever it held; it must hold every earlier message of the
// thread, since a client forgets those that are missing.
func (e *Encoder) SetHistory(messages []Message) { e.history = append([]Message{}, messages...) }

// Begin implements wire.Encoder. A snapshot opens a run with the blocks in it:
// as one MESSAGES_SNAPSHOT after SetHistory, otherwise as messages of their
// own, which is right only for a client that holds none of them yet.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	e.ev = event.Event{Seq: snap.Seq, Msg: e.run.Msg}
	e.fold = event.FromSnapshot(e.run.Msg, *snap)
	at := len(dst)
	dst, err := e.begin(dst, Envelope{})
	if err == nil {
		dst, err = e.restore(dst, snap.Blocks, e.history != nil)
	}
	if err != nil {
		return dst[:at], fmt.Errorf("agui: snapshot: %w", err)
	}
	e.restored, e.status = true, snap.Status
	return e.id(dst, at), nil
}

// End implements wire.Encoder. It ends the run of a snapshot that nothing
// came after; every other run ends with its terminal event.
func (e *Encoder) End(dst []byte) ([]byte, error) {
	if !e.open || !e.restored || e.status == event.StatusRunning {
		return dst, nil
	}
	at := len(dst)
	dst, err := e.finish(dst, e.status)
	if err != nil {
		return dst[:at], fmt.Errorf("agui: end: %w", err)
	}
	return dst, nil
}

// finish ends the run of a snapshot, of which no more than the status is known.
func (e *Encoder) finish(dst []byte, status event.Status) ([]byte, error) {
	e.open = false
	if status == event.StatusError {
		return e.write(dst, &RunErrorEvent{Base: e.base(RunError, Envelope{}), Message: "The answer was not finished."})
	}
	reason := event.FinishStop
	switch status {
	case event.StatusCancelled:
		reason = event.FinishCancelled
	case event.StatusPaused:
		reason = event.FinishPaused
	}
	return e.write(dst, &RunFinishedEvent{
		Base: e.base(RunFinished, Envelope{FinishReason: reason}), ThreadID: e.run.ThreadID, RunID: e.runID,
		Result: &Result{MsgID: e.run.Msg, FinishReason: reason}, Outcome: e.outcome(status, reason),
	})
}

// Append implements wire.Encoder. What is not for this client becomes a frame
// with nothing but its id.
func (e *Encoder) Append(dst []byte, ev event.Event) ([]byte, error) {
	if ev.Seq <= e.ev.Seq {
		return dst, nil
	}
	e.ev = ev
	at := len(dst)
	dst, err := e.append(dst)
	if err != nil {
		return dst[:at], fmt.Errorf("agui: event %d: %w", ev.Seq, err)
	}
	if ev.Type != event.Snapshot {
		e.restored = false
	}
	return e.id(dst, at), nil
}

func (e *Encoder) append(dst []byte) ([]byte, error) {
	ev, err := e.ev, error(nil)
	switch ev.Type {
	case event.Start:
		e.fold.Apply(ev)
		return e.first(dst)
	case event.ReasoningDelta:
		e.fold.Apply(ev)
		return e.reason(dst)
	case event.ToolCallStart, event.ToolCallEnd, event.SubToolStart, event.SubToolEnd:
		e.fold.Apply(ev)
		return e.tool(dst)
	case event.Annotation, event.PendingQuestionStart, event.PendingQuestionEnd:
		e.fold.Apply(ev)
		return e.custom(dst)
	case event.TextDelta:
		if k := e.known[ev.Block]; k != nil && k.text && !k.hidden && k.open {
			e.fold.Apply(ev)
			if dst, err = e.closeReasoning(dst); err != nil {
				return dst, err
			}
			return e.delta(dst, TextMessageContent, ev.Block, k.message, ev.Data), nil
		}
	case event.Snapshot:
		var snap event.SnapshotData
		if err := json.Unmarshal(ev.Data, &snap); err != nil {
			return dst, err
		}
		e.hold()
		e.fold.Apply(ev)
		if dst, err = e.begin(dst, Envelope{}); err != nil {
			return dst, err
		}
		e.restored, e.status = true, snap.Status
		return e.restore(dst, snap.Blocks, false)
	case event.TextEnd, event.BlockStart, event.BlockDelta, event.BlockEnd, event.BlockError, event.BlockState:
	case event.Done, event.Error:
		return e.terminal(dst)
	default:
		e.fold.Apply(ev)
		return dst, nil
	}

	// The client gets what the event made of the block.
	e.holdOne(e.known[ev.Block])
	e.fold.Apply(ev)
	b, ok := e.fold.Block(ev.Block)
	if !ok {
		return dst, nil
	}
	if dst, err = e.begin(dst, Envelope{}); err != nil {
		return dst, err
	}
	if dst, err = e.closeReasoning(dst); err != nil {
		return dst, err
	}
	return e.sync(dst, b)
}

// hold keeps what open text messages hold, before the fold changes.
func (e *Encoder) hold() {
	for _, k := range e.known {
		e.holdOne(k)
	}
}

func (e *Encoder) holdOne(k *known) {
	if k == nil || !k.text || k.hidden || !k.open {
		return
	}
	if b, ok := e.fold.Block(k.id); ok {
		k.sent = e.view.Registry.Stand(b)
	}
}

// first writes the start of the message.
func (e *Encoder) first(dst []byte) ([]byte, error) {
	var d event.StartData
	if err := json.Unmarshal(e.ev.Data, &d); err != nil {
		return dst, err
	}
	e.start = d.TS - e.ev.At
	if e.run.ThreadID == "" {
		e.run.ThreadID = d.ConversationID
	}
	caps := e.view.Caps
	if !caps.Declared {
		caps.Tokens = e.view.Registry.All().Tokens
	}
	list := make([]Supported, len(caps.Tokens))
	for i, t := range caps.Tokens {
		list[i] = Supported{t.Namespace, t.Name, t.Major}
	}
	return e.begin(dst, Envelope{
		ConversationID: d.ConversationID, UserMessageID: d.UserMessageID,
		SupportedBlocks: list, Rejected: caps.Rejected,
	})
}

// begin starts the run of the event's group if none is open.
func (e *Encoder) begin(dst []byte, meta Envelope) ([]byte, error) {
	if e.open {
		return dst, nil
	}
	e.open, e.runID = true, e.run.RunID
	ev := &RunStartedEvent{Base: e.base(RunStarted, meta), ThreadID: e.run.ThreadID}
	if e.ev.Group > 1 {
		e.runID += "~" + strconv.Itoa(e.ev.Group)
		ev.ParentRunID = e.run.RunID
	}
	ev.RunID = e.runID
	if e.v1 {
		ev.ProtocolVersion = Version1
	}
	return e.write(dst, ev)
}

// terminal ends the run, after all that is open in it.
func (e *Encoder) terminal(dst []byte) ([]byte, error) {
	ev := e.ev
	e.hold()
	e.fold.Apply(ev)
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	if dst, err = e.closeReasoning(dst); err != nil {
		return dst, err
	}
	for _, id := range e.order {
		k := e.known[id]
		if !k.loading && !k.open {
			continue
		}
		if b, ok := e.fold.Block(id); ok {
			if dst, err = e.sync(dst, b); err != nil {
				return dst, err
			}
		}
	}
	for _, c := range e.tools {
		if !c.done {
			if dst, err = e.result(dst, c, event.ToolCallData{Status: event.ToolCancelled}); err != nil {
				return dst, err
			}
		}
	}
	e.open = false
	if ev.Type == event.Error {
		var d event.ErrorData
		_ = json.Unmarshal(ev.Data, &d) // it ends the run whatever it says
		if d.Message == "" {
			d.Message = "The answer was not finished."
		}
		return e.write(dst, &RunErrorEvent{
			Base: e.base(RunError, Envelope{Retryable: &d.Retryable}), Message: d.Message, Code: d.Code,
		})
	}
	var d event.DoneData
	_ = json.Unmarshal(ev.Data, &d)
	usage := TokenUsage{InputTokens: d.Usage.InputTokens, OutputTokens: d.Usage.OutputTokens, TotalTokens: d.Usage.InputTokens + d.Usage.OutputTokens}
	if d.Model != nil {
		usage.Provider, usage.Model = d.Model.Kind, d.Model.Name
	}
	return e.write(dst, &RunFinishedEvent{
		Base: e.base(RunFinished, Envelope{FinishReason: d.FinishReason}), ThreadID: e.run.ThreadID, RunID: e.runID,
		Result:  &Result{MsgID: e.run.Msg, FinishReason: d.FinishReason, CostUSD: d.Usage.CostUSD},
		Outcome: e.outcome(e.fold.State().Status, d.FinishReason), Usage: []TokenUsage{usage},
	})
}

// outcome is nil for a success: absent, it means the same.
func (e *Encoder) outcome(status event.Status, reason string) *Outcome {
	switch {
	case status == event.StatusPaused && reason == event.FinishPaused && len(e.questions) > 0:
		o := &Outcome{Type: OutcomeInterrupt}
		for _, q := range e.questions {
			i := Interrupt{
				ID: q.QuestionID, Reason: "input_required", Message: q.Prompt, ResponseSchema: q.schema(),
				Metadata: Metadata{key: Envelope{V: 1, MsgID: e.run.Msg, BlockID: q.QuestionID, Seq: e.ev.Seq}},
			}
			if q.ExpiresAt > 0 {
				i.ExpiresAt = time.UnixMilli(q.ExpiresAt).UTC().Format(time.RFC3339)
			}
			o.Interrupts = append(o.Interrupts, i)
		}
		return o
	case reason == event.FinishCancelled && e.v1:
		return &Outcome{Type: OutcomeCancelled}
	}
	return nil
}

// schema says how the question is answered.
func (q question) schema() json.RawMessage {
	answer := []byte(`{"type":"string"`)
	for i, o := range q.Options {
		if i == 0 {
			answer = append(answer, `,"enum":[`...)
		} else {
			answer = append(answer, ',')
		}
		answer = jsonx.AppendString(answer, o.ID)
	}
	if len(q.Options) > 0 {
		answer = append(answer, ']')
	}
	return json.RawMessage(`{"type":"object","properties":{"answer":` + string(answer) + `}},"required":["answer"]}`)
}

// restore writes blocks that were folded elsewhere.
func (e *Encoder) restore(dst []byte, blocks []block.Block, whole bool) ([]byte, error) {
	var err error
	if whole {
		ms := slices.Clone(e.history)
		for _, b := range blocks {
			k := e.know(b)
			if k.text {
				k.message, k.sent = k.id, e.text(k, b)
			} else if k.rest, err = jsonx.Marshal(withoutPayload(b)); err != nil {
				return dst, err
			}
			k.payload, k.loading = b.Payload, b.Status == block.StatusLoading
			ms = append(ms, e.message(k, b))
		}
		if dst, err = e.write(dst, &MessagesSnapshotEvent{Base: e.base(MessagesSnapshot, Envelope{}), Messages: ms}); err != nil {
			return dst, err
		}
	}
	for _, b := range blocks {
		if k := e.known[b.ID]; whole && (!k.text || !k.loading) {
			continue
		}
		// After MESSAGES_SNAPSHOT this opens the text that is still written.
		if dst, err = e.sync(dst, b); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// Messages returns folded blocks as the messages that this client has of them
// when it was sent nothing before.
func (e *Encoder) Messages(blocks []block.Block) []Message {
	ms := make([]Message, len(blocks))
	for i, b := range blocks {
		ms[i] = e.message(e.meet(b), b)
	}
	return ms
}

func (e *Encoder) message(k *known, b block.Block) Message {
	m := Message{ID: b.ID, Metadata: Metadata{key: Envelope{V: 1, MsgID: e.run.Msg, BlockID: b.ID, Seq: e.ev.Seq}}}
	if k.text {
		m.Role, m.Content = RoleAssistant, e.text(k, b)
	} else {
		m.Role, m.ActivityType, m.Content = RoleActivity, k.activity, b
	}
	return m
}

// meet returns what a block is to this client when it comes first. It stays
// so.
func (e *Encoder) meet(b block.Block) *known {
	k := &known{id: b.ID, text: b.Type == "text"}
	if !k.text && !e.view.Caps.Can(b.Type, b.Version) {
		k.text, k.hidden = true, true
	}
	if !k.text {
		k.activity = block.Type{Name: b.Type}.FullName()
	}
	return k
}

// forsake makes a text of an activity that came back in a major which the
// client cannot draw: a further message, since the activity cannot be taken
// back.
func (e *Encoder) forsake(k *known, b block.Block) {
	if !k.text && !e.view.Caps.Can(b.Type, b.Version) {
		k.text, k.hidden, k.message = true, true, e.again(b.ID)
	}
}

func (e *Encoder) know(b block.Block) *known {
	k := e.known[b.ID]
	if k == nil {
		k = e.meet(b)
		e.known[b.ID] = k
		e.order = append(e.order, b.ID)
	}
	return k
}

// text is what a text message of the block holds.
func (e *Encoder) text(k *known, b block.Block) string {
	if k.hidden && b.Status == block.StatusLoading {
		return k.sent
	}
	return e.view.Registry.Stand(b)
}

// sync writes what makes the client's block the folded one.
func (e *Encoder) sync(dst []byte, b block.Block) ([]byte, error) {
	k := e.know(b)
	e.forsake(k, b)
	k.loading = b.Status == block.StatusLoading
	if !k.text {
		return e.activity(dst, k, b)
	}
	text, err := e.text(k, b), error(nil)
	if k.loading {
		if k.hidden && (k.open || k.sent != "") {
			return dst, nil
		}
		goesOn := strings.HasPrefix(text, k.sent)
		switch {
		case k.open && goesOn:
			dst = e.rest(dst, k, text)
			return dst, nil
		case k.open:
			if dst, err = e.closeText(dst, k, b); err != nil {
				return dst, err
			}
		}
		// A text that goes on where it was is opened under its id again.
		if !goesOn {
			k.message, k.sent = e.again(b.ID), ""
		}
		return e.openText(dst, k, text)
	}
	if !k.open && k.message != "" {
		if text == k.sent {
			return dst, nil
		}
		if k.sent != "" {
			k.message, k.sent = e.again(b.ID), ""
		}
	}
	if k.open && !strings.HasPrefix(text, k.sent) {
		if dst, err = e.closeText(dst, k, b); err != nil {
			return dst, err
		}
		k.message, k.sent = e.again(b.ID), ""
	}
	if !k.open {
		if dst, err = e.openText(dst, k, text); err != nil {
			return dst, err
		}
	} else {
		dst = e.rest(dst, k, text)
	}
	return e.closeText(dst, k, b)
}

// again is the id of a further message of a block.
func (e *Encoder) again(id string) string {
	return id + "~" + strconv.FormatUint(e.ev.Seq, 10)
}

// openText opens a text message and writes what it holds beyond k.sent.
func (e *Encoder) openText(dst []byte, k *known, text string) ([]byte, error) {
	if k.message == "" {
		k.message = k.id
	}
	k.open = true
	dst, err := e.write(dst, &TextMessageStartEvent{Attributed: e.of(TextMessageStart, k.id), MessageID: k.message, Role: RoleAssistant})
	if err != nil {
		return dst, err
	}
	return e.rest(dst, k, text), nil
}

// rest writes what an open text holds beyond k.sent.
func (e *Encoder) rest(dst []byte, k *known, text string) []byte {
	if rest := text[len(k.sent):]; rest != "" {
		dst = e.delta(dst, TextMessageContent, k.id, k.message, event.TextData(rest))
	}
	k.sent = text
	return dst
}

func (e *Encoder) closeText(dst []byte, k *known, b block.Block) ([]byte, error) {
	k.open = false
	failed := b.Err
	if k.hidden {
		failed = wire.Failed(failed)
	}
	return e.write(dst, &MessageEvent{
		Attributed: Attributed{Base: e.base(TextMessageEnd, Envelope{BlockID: k.id, Error: failed})}, MessageID: k.message,
	})
}

// activity writes a block that the client draws.
func (e *Encoder) activity(dst []byte, k *known, b block.Block) ([]byte, error) {
	rest, err := jsonx.Marshal(withoutPayload(b))
	if err != nil {
		return dst, err
	}
	same := bytes.Equal(rest, k.rest) && k.rest != nil
	held := k.rest != nil && (sameBytes(k.payload, b.Payload) || bytes.Equal(k.payload, b.Payload) && (k.payload == nil) == (b.Payload == nil))
	if same && held {
		return dst, nil
	}
	var patch []PatchOp
	switch {
	case same && e.ev.Type == event.BlockDelta:
		patch = prefixed(e.ev.Data)
	case held && len(b.Payload) > largePayload:
		patch = difference(k.rest, rest)
	}
	k.rest, k.payload = rest, b.Payload
	if patch != nil {
		return e.write(dst, &ActivityDeltaEvent{
			Attributed: e.of(ActivityDelta, b.ID), MessageID: b.ID, ActivityType: k.activity, Patch: patch,
		})
	}
	return e.write(dst, &ActivitySnapshotEvent{
		Attributed: e.of(ActivitySnapshot, b.ID), MessageID: b.ID, ActivityType: k.activity, Content: b,
	})
}

func withoutPayload(b block.Block) block.Block {
	b.Payload = nil
	return b
}

// sameBytes reports whether two payloads are one slice, which is quicker to
// see than that they are equal.
func sameBytes(a, b json.RawMessage) bool {
	return len(a) == len(b) && len(a) > 0 && &a[0] == &b[0]
}

// prefixed turns a patch of the payload into one of the block. It returns nil
// where the two would not do the same, and the block is sent whole.
func prefixed(data json.RawMessage) []PatchOp {
	const root = "/payload"
	var d event.BlockDeltaData
	var ops []map[string]json.RawMessage
	if json.Unmarshal(data, &d) != nil || json.Unmarshal(d.Patch, &ops) != nil || len(ops) == 0 {
		return nil
	}
	text := func(raw json.RawMessage) (s string, ok bool) {
		return s, raw != nil && json.Unmarshal(raw, &s) == nil
	}
	out := make([]PatchOp, len(ops))
	for i, op := range ops {
		name, ok := text(op["op"])
		path, ok2 := text(op["path"])
		if !ok || !ok2 {
			return nil
		}
		o := PatchOp{Op: name, Path: root + path}
		switch name {
		case "add", "replace", "test":
			o.Value = op["value"]
		case "copy", "move":
			from, ok := text(op["from"])
			if !ok {
				return nil
			}
			from = root + from
			o.From = &from
		}
		if path == "" {
			switch name {
			case "replace":
				o.Op = "add" // there may be no payload yet
			case "move":
				o.Op = "copy" // what is not moved goes with the old payload
			case "add", "copy":
			default:
				return nil
			}
		}
		out[i] = o
	}
	return out
}

// difference is the patch that turns one object into another.
func difference(from, to []byte) []PatchOp {
	var old, now map[string]json.RawMessage
	if json.Unmarshal(from, &old) != nil || json.Unmarshal(to, &now) != nil {
		return nil
	}
	var out []PatchOp
	for name := range old {
		if now[name] == nil {
			out = append(out, PatchOp{Op: "remove", Path: "/" + name})
		}
	}
	for name, v := range now {
		if !bytes.Equal(old[name], v) {
			out = append(out, PatchOp{Op: "add", Path: "/" + name, Value: v})
		}
	}
	slices.SortFunc(out, func(a, b PatchOp) int { return strings.Compare(a.Path, b.Path) })
	return out
}

// reason writes a delta of the reasoning.
func (e *Encoder) reason(dst []byte) ([]byte, error) {
	if !e.view.Reasoning {
		return dst, nil
	}
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	if e.reasoning == "" {
		e.reasoning = e.run.Msg + ".r" + strconv.FormatUint(e.ev.Seq, 10)
		if dst, err = e.write(dst, &MessageEvent{Attributed: e.of(ReasoningStart, ""), MessageID: e.reasoning}); err != nil {
			return dst, err
		}
		if dst, err = e.write(dst, &ReasoningMessageStartEvent{Attributed: e.of(ReasoningMessageStart, ""), MessageID: e.reasoning, Role: RoleReasoning}); err != nil {
			return dst, err
		}
	}
	return e.delta(dst, ReasoningMessageContent, "", e.reasoning, e.ev.Data), nil
}

func (e *Encoder) closeReasoning(dst []byte) ([]byte, error) {
	if e.reasoning == "" {
		return dst, nil
	}
	id := e.reasoning
	e.reasoning = ""
	dst, err := e.write(dst, &MessageEvent{Attributed: e.of(ReasoningMessageEnd, ""), MessageID: id})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &MessageEvent{Attributed: e.of(ReasoningEnd, ""), MessageID: id})
}

// tool writes a tool call whole at its start, and its result at its end. A
// call that was written is answered in its run: a client may take a call
// without an answer for one that it is to run itself.
func (e *Encoder) tool(dst []byte) ([]byte, error) {
	var d event.ToolCallData
	if !e.view.Tools || json.Unmarshal(e.ev.Data, &d) != nil || d.ToolCallID == "" {
		return dst, nil
	}
	i := slices.IndexFunc(e.tools, func(c *call) bool { return c.meta.ToolCallID == d.ToolCallID })
	if e.ev.Type == event.ToolCallEnd || e.ev.Type == event.SubToolEnd {
		if i < 0 || e.tools[i].done {
			return dst, nil
		}
		return e.result(dst, e.tools[i], d)
	}
	if i >= 0 {
		return dst, nil
	}
	c := &call{id: e.run.Msg + "." + d.ToolCallID, name: d.Name, meta: Envelope{ToolCallID: d.ToolCallID, Title: d.Title, Sub: e.ev.Type == event.SubToolStart}}
	e.tools = append(e.tools, c)
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	if dst, err = e.closeReasoning(dst); err != nil {
		return dst, err
	}
	of := func(t EventType) Attributed { return Attributed{Base: e.base(t, c.meta)} }
	if dst, err = e.write(dst, &ToolCallStartEvent{Attributed: of(ToolCallStart), ToolCallID: c.id, ToolCallName: c.name}); err != nil {
		return dst, err
	}
	if dst, err = e.write(dst, &ToolCallArgsEvent{Attributed: of(ToolCallArgs), ToolCallID: c.id, Delta: "{}"}); err != nil {
		return dst, err
	}
	return e.write(dst, &ToolCallEndEvent{Attributed: of(ToolCallEnd), ToolCallID: c.id})
}

func (e *Encoder) result(dst []byte, c *call, d event.ToolCallData) ([]byte, error) {
	c.done = true
	content, err := jsonx.Marshal(struct {
		Status     string `json:"status"`
		DurationMs int64  `json:"durationMs,omitempty"`
	}{d.Status, d.DurationMs})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &ToolCallResultEvent{
		Attributed: Attributed{Base: e.base(ToolCallResult, c.meta)},
		MessageID:  c.id + ".result", ToolCallID: c.id, Content: string(content), Role: RoleTool,
	})
}

// custom writes an event that AG-UI has no other place for.
func (e *Encoder) custom(dst []byte) ([]byte, error) {
	if !json.Valid(e.ev.Data) {
		return dst, nil
	}
	data, stand := e.ev.Data, ""
	k := e.known[e.ev.Block]
	if k == nil && e.view.Caps.Declared {
		return dst, nil // nothing is known of the block, nor whether the client draws it
	}
	if k != nil && k.hidden {
		if e.ev.Type == event.Annotation {
			return dst, nil
		}
		var err error
		if data, err = wire.Question(data); err != nil {
			return dst, err
		}
		b, _ := e.fold.Block(e.ev.Block)
		stand = e.view.Registry.Stand(b)
	}
	var q question
	if json.Unmarshal(data, &q) == nil && q.QuestionID != "" && e.ev.Type != event.Annotation {
		e.questions = slices.DeleteFunc(e.questions, func(o question) bool { return o.QuestionID == q.QuestionID })
		if e.ev.Type == event.PendingQuestionStart {
			q.Prompt = cmp.Or(q.Prompt, stand)
			e.questions = append(e.questions, q)
		}
	}
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &CustomEvent{Attributed: e.of(Custom, e.ev.Block), Name: key + "." + string(e.ev.Type), Value: data})
}

// base is the base of a frame of the event.
func (e *Encoder) base(t EventType, meta Envelope) Base {
	meta.V, meta.MsgID, meta.Seq = 1, e.run.Msg, e.ev.Seq
	b := Base{Type: t, Metadata: Metadata{key: meta}}
	if e.start > 0 {
		b.Timestamp = e.start + e.ev.At
	}
	return b
}

func (e *Encoder) of(t EventType, id string) Attributed {
	return Attributed{Base: e.base(t, Envelope{BlockID: id})}
}

// delta writes TEXT_MESSAGE_CONTENT or REASONING_MESSAGE_CONTENT; nothing for
// an empty delta. It is what most frames are, and does not use reflection.
func (e *Encoder) delta(dst []byte, t EventType, id, message string, data json.RawMessage) []byte {
	body, ok := bytes.CutPrefix(data, []byte(`{"delta":"`))
	if ok {
		body, ok = bytes.CutSuffix(body, []byte(`"}`))
	}
	var d event.TextDeltaData
	if plain := ok && jsonx.Plain(body); !plain {
		if json.Unmarshal(data, &d) != nil {
			return dst
		}
		body = nil
	}
	if len(body) == 0 && d.Delta == "" {
		return dst
	}
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, t...)
	dst = append(dst, '"')
	if e.start > 0 {
		dst = append(dst, `,"timestamp":`...)
		dst = strconv.AppendInt(dst, e.start+e.ev.At, 10)
	}
	dst = append(dst, `,"metadata":{"`+key+`":{"v":1,"msgId":`...)
	dst = jsonx.AppendString(dst, e.run.Msg)
	if id != "" {
		dst = append(dst, `,"blockId":`...)
		dst = jsonx.AppendString(dst, id)
	}
	dst = append(dst, `,"seq":`...)
	dst = strconv.AppendUint(dst, e.ev.Seq, 10)
	dst = append(dst, `}},"messageId":`...)
	dst = jsonx.AppendString(dst, message)
	dst = append(dst, `,"delta":"`...)
	if body != nil {
		dst = append(dst, body...)
	} else {
		dst = jsonx.AppendEscaped(dst, d.Delta)
	}
	return append(dst, "\"}\n\n"...)
}

// write writes one frame.
func (e *Encoder) write(dst []byte, v any) ([]byte, error) {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return dst, err
	}
	dst = append(dst, "data: "...)
	dst = append(dst, data...)
	return append(dst, '\n', '\n'), nil
}

// id ends what was written for an event: its seq is the id of the last frame,
// or all there is of an event without one.
func (e *Encoder) id(dst []byte, from int) []byte {
	if len(dst) > from {
		dst = dst[:len(dst)-1]
	}
	dst = append(dst, "id: "...)
	dst = strconv.AppendUint(dst, e.ev.Seq, 10)
	return append(dst, '\n', '\n')
}
