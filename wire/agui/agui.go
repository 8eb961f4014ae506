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
//	call that the client runs     the same, always, with its arguments; the tool
//	                              message is the client's own once it has answered
//	reasoning, where asked for    reasoning messages, id = "<msgId>.r<seq>"; what they
//	                              hold, joined, is the reasoning
//	open question of a pause      an interrupt of the run, id = questionId, whether or
//	                              not the reader can draw its block
//	state of the application      the client's state
//
// A client that comes back, or comes later, is sent all of that at once as the
// messages of one MESSAGES_SNAPSHOT, and then what follows: see Rejoin.
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
	// reasoning is the open reasoning message.
	reasoning *held
	thought   int // bytes of all of it
	// did is the answer of the action that the run is of.
	did json.RawMessage
	// said is a message of the user's that the client does not have.
	said *Message
	// held are the messages as the client has them.
	held []*held
	// given are the messages in which the client says what came of calls.
	given map[string]given
	state json.RawMessage

	start int64 // epoch milliseconds; 0 while unknown
	// open says that a run has been started and not ended.
	open bool
	// restored says that the run was opened from a snapshot and nothing has
	// happened in it yet.
	restored bool
	status   event.Status // of that snapshot
	runID    string
	ev       event.Event // being encoded
	end      event.Event // of the last group that ended
}

// held is a message as the client has it.
type held struct {
	id, role string
	meta     Envelope
	// text is what a text or a thought holds, of an open text when it was
	// closed last; k is the text that may be open.
	text string
	k    *known
	// Of activities.
	activity string
	block    block.Block
	// Of an assistant's message with a call, and of its result.
	call *call
}

// given is a message in which the client says what came of a call.
type given struct {
	id  string
	has bool
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
	// args are the arguments once they were written, which closes the call.
	args   string
	closed bool
	// client says that the client runs it; done, that its result is known.
	client, done bool
}

// question is the data of pending_question_start.
type question struct {
	QuestionID string `json:"questionId"`
	Prompt     string `json:"prompt"`
	Options    []struct {
		ID string `json:"id"`
	} `json:"options"`
	Schema    json.RawMessage `json:"schema"`
	ExpiresAt int64           `json:"expiresAt"`
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
	e.run.RunID = cmp.Or(run.RunID, run.RunIDs[1], run.Msg)
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

// Given tells of a message in which the client said what came of a call that it
// ran: the id of the call as the client knows it, and the id of its message. A
// client that has that message is not sent it again.
func (e *Encoder) Given(call, message string, has bool) {
	if e.given == nil {
		e.given = make(map[string]given)
	}
	e.given[call] = given{message, has}
}

// Begin implements wire.Encoder. A snapshot opens a run with the blocks in it as
// messages of their own, which is right only for a client that holds none of
// them yet.
func (e *Encoder) Begin(dst []byte, snap *event.SnapshotData) ([]byte, error) {
	if snap == nil {
		return dst, nil
	}
	e.ev = event.Event{Seq: snap.Seq, Msg: e.run.Msg}
	e.fold = event.FromSnapshot(e.run.Msg, *snap)
	at := len(dst)
	dst, err := e.begin(dst, Envelope{})
	if err == nil {
		dst, err = e.restore(dst, *snap)
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

// Rejoin writes a stream's beginning for a client that may hold anything: the
// run as it was begun, all messages of the thread at once, the state, and of the
// message what is still being written, opened again; then Append goes on. Where
// nothing is being written any more it is the whole stream, with the run's end.
//
// The encoder must have been fed with the events so far, and what it wrote for
// them thrown away. History are the messages of the thread before this one, in
// order: a client forgets those that are missing. What the client has then is
// what it has when it reads all events.
func (e *Encoder) Rejoin(dst []byte, history []Message, state json.RawMessage) ([]byte, error) {
	at := len(dst)
	dst, err := e.rejoin(dst, history, state)
	if err != nil {
		return dst[:at], fmt.Errorf("agui: rejoin: %w", err)
	}
	if e.ev.Seq == 0 {
		return dst, nil // nothing was written yet that could be named
	}
	return e.id(dst, at), nil
}

func (e *Encoder) rejoin(dst []byte, history []Message, state json.RawMessage) ([]byte, error) {
	running := e.open && (!e.restored || e.status == event.StatusRunning) || e.end.Seq == 0 && !e.restored
	ended := e.open && !running // by what a snapshot says
	e.open = false
	ev := e.ev
	if !running && !ended {
		e.ev = e.end
	}
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	snapshot := &MessagesSnapshotEvent{Base: e.base(MessagesSnapshot, Envelope{}), Messages: slices.Concat(history, e.Held())}
	// Activities that are not in it are gone, also when there are none left.
	snapshot.Metadata["@ag-ui/client"] = map[string]any{"authoritativeActivityTypes": nil}
	if dst, err = e.write(dst, snapshot); err != nil {
		return dst, err
	}
	if e.state != nil {
		state = e.state
	}
	if state != nil {
		if dst, err = e.write(dst, &StateSnapshotEvent{Attributed: e.of(StateSnapshot, ""), Snapshot: state}); err != nil {
			return dst, err
		}
	}
	switch {
	case ended:
		dst, err = e.finish(dst, e.status)
	case !running:
		dst, err = e.last(dst, e.end)
	default:
		dst, err = e.reopen(dst)
	}
	e.ev = ev
	return dst, err
}

// reopen opens again what is open, under its id: nothing is added to it. Thoughts
// go on in a message of their own.
func (e *Encoder) reopen(dst []byte) ([]byte, error) {
	e.reasoning = nil
	var err error
	for _, id := range e.order {
		if k := e.known[id]; k.open {
			if dst, err = e.write(dst, &TextMessageStartEvent{Attributed: e.of(TextMessageStart, k.id), MessageID: k.message, Role: RoleAssistant}); err != nil {
				return dst, err
			}
		}
	}
	for _, c := range e.tools {
		if !c.closed {
			if dst, err = e.write(dst, &ToolCallStartEvent{Attributed: Attributed{Base: e.base(ToolCallStart, c.meta)}, ToolCallID: c.id, ToolCallName: c.name}); err != nil {
				return dst, err
			}
		}
	}
	return dst, nil
}

// Did gives the answer of the action that the run was begun by, for the run's
// result.
func (e *Encoder) Did(answer json.RawMessage) { e.did = answer }

// Update takes states of blocks that are ahead of the log, as Rejoin and Acted
// are to write them.
func (e *Encoder) Update(blocks []block.Block) {
	for _, b := range blocks {
		for _, h := range e.held {
			if h.id == b.ID && h.role == RoleActivity && b.Rev > h.block.Rev {
				h.block.Rev, h.block.State = b.Rev, b.State
			}
		}
	}
}

// Acted writes a run of which nothing stands in the log: an action was done with
// a block, which the client is shown as it is now. The encoder must have been fed
// with the whole log, and what it wrote thrown away.
func (e *Encoder) Acted(dst []byte, runID, blockID string) ([]byte, error) {
	at := len(dst)
	start := &RunStartedEvent{Base: e.base(RunStarted, Envelope{}), ThreadID: e.run.ThreadID, RunID: runID}
	if e.v1 {
		start.ProtocolVersion = Version1
	}
	events := []any{start}
	for _, h := range e.held {
		if h.id == blockID && h.role == RoleActivity {
			events = append(events, &ActivitySnapshotEvent{Attributed: e.of(ActivitySnapshot, h.id), MessageID: h.id, ActivityType: h.activity, Content: h.block})
		}
	}
	events = append(events, &RunFinishedEvent{
		Base: e.base(RunFinished, Envelope{FinishReason: event.FinishStop}), ThreadID: e.run.ThreadID, RunID: runID,
		Result: &Result{MsgID: e.run.Msg, FinishReason: event.FinishStop, Action: e.did}, Outcome: e.outcome(e.fold.State().Status, event.FinishStop),
	})
	for _, ev := range events {
		var err error
		if dst, err = e.write(dst, ev); err != nil {
			return dst[:at], fmt.Errorf("agui: acted: %w", err)
		}
	}
	return dst, nil
}

// Said gives the user's message that the run answers where the client did not
// write it itself: an action did. The run begins with it.
func (e *Encoder) Said(id, text string) { e.said = &Message{ID: id, Content: text} }

// Abort ends a run that nothing more comes of, whatever is open in it.
func (e *Encoder) Abort(dst []byte, code, message string) ([]byte, error) {
	if !e.open {
		return dst, nil
	}
	e.open = false
	retryable := true
	return e.write(dst, &RunErrorEvent{Base: e.base(RunError, Envelope{Retryable: &retryable}), Message: message, Code: code})
}

// State is the application's state as the message left it; nil when it did not
// say.
func (e *Encoder) State() json.RawMessage { return e.state }

// Held returns the messages that the client of the stream so far holds, in
// order.
func (e *Encoder) Held() []Message {
	e.hold()
	ms := make([]Message, 0, len(e.held))
	for _, h := range e.held {
		m := Message{ID: h.id, Role: h.role}
		meta := h.meta
		meta.V, meta.MsgID = 1, e.run.Msg
		if meta.Seq == 0 {
			meta.Seq = e.ev.Seq
		}
		m.Metadata = Metadata{key: meta}
		switch {
		case h.role == RoleActivity:
			m.ActivityType, m.Content = h.activity, h.block
		case h.role == RoleTool:
			m.ToolCallID, m.Content = h.call.id, h.text
		case h.call != nil:
			// Its metadata are the call's.
			m.ToolCalls = []ToolCall{{ID: h.call.id, Type: "function", Function: FunctionCall{h.call.name, h.call.args}, Metadata: m.Metadata}}
			m.Metadata = nil
		case h.k != nil && h.k.open && h.k.message == h.id:
			m.Content = h.k.sent
		default:
			m.Content = h.text
		}
		ms = append(ms, m)
	}
	return ms
}

// keep returns what is held under an id, which is new or of this role.
func (e *Encoder) keep(id, role string) *held {
	for _, h := range e.held {
		if h.id == id {
			return h
		}
	}
	h := &held{id: id, role: role}
	e.held = append(e.held, h)
	return h
}

// finish ends the run of a snapshot, of which no more than the status is known.
func (e *Encoder) finish(dst []byte, status event.Status) ([]byte, error) {
	dst, err := e.closeReasoning(dst)
	if err != nil {
		return dst, err
	}
	for _, c := range e.tools {
		if dst, err = e.closeCall(dst, c, "{}"); err != nil {
			return dst, err
		}
	}
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
	case event.ClientToolCall:
		e.fold.Apply(ev)
		return e.clientCall(dst)
	case event.AppState:
		e.fold.Apply(ev)
		return e.setState(dst)
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
		return e.restore(dst, snap)
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
		e.runID = cmp.Or(e.run.RunIDs[e.ev.Group], e.run.RunID+"~"+strconv.Itoa(e.ev.Group))
		ev.ParentRunID = e.run.RunID
	}
	ev.RunID = e.runID
	if e.v1 {
		ev.ProtocolVersion = Version1
	}
	dst, err := e.write(dst, ev)
	if err != nil || e.said == nil {
		return dst, err
	}
	m := e.said
	e.said = nil
	if dst, err = e.write(dst, &TextMessageStartEvent{Attributed: e.of(TextMessageStart, ""), MessageID: m.ID, Role: RoleUser}); err != nil {
		return dst, err
	}
	if dst, err = e.write(dst, &MessageDeltaEvent{Attributed: e.of(TextMessageContent, ""), MessageID: m.ID, Delta: m.Content.(string)}); err != nil {
		return dst, err
	}
	return e.write(dst, &MessageEvent{Attributed: e.of(TextMessageEnd, ""), MessageID: m.ID})
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
	paused := e.fold.State().Status == event.StatusPaused
	for _, c := range e.tools {
		// A call that was written is answered in its run, unless the client is to
		// run it: it may take one without an answer for such a call.
		if c.done {
			continue
		}
		if dst, err = e.closeCall(dst, c, "{}"); err != nil {
			return dst, err
		}
		if c.client && paused {
			continue
		}
		if dst, err = e.result(dst, c, event.ToolCallData{Status: event.ToolCancelled}); err != nil {
			return dst, err
		}
	}
	e.end = ev
	if id := e.run.RunIDs[ev.Group]; id != "" && id == e.run.RunIDs[ev.Group+1] && ev.Type == event.Done {
		return dst, nil // the next group is of the same run
	}
	return e.last(dst, ev)
}

// last writes the end of a run, of which all parts are closed.
func (e *Encoder) last(dst []byte, ev event.Event) ([]byte, error) {
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
		Result:  &Result{MsgID: e.run.Msg, FinishReason: d.FinishReason, CostUSD: d.Usage.CostUSD, Action: e.did},
		Outcome: e.outcome(e.fold.State().Status, d.FinishReason), Usage: []TokenUsage{usage},
	})
}

// outcome is nil for a success: absent, it means the same.
func (e *Encoder) outcome(status event.Status, reason string) *Outcome {
	paused := status == event.StatusPaused
	switch {
	// What was done with a block meanwhile does not answer a question.
	case paused && len(e.questions) > 0:
		o := &Outcome{Type: OutcomeInterrupt}
		for _, q := range e.questions {
			o.Interrupts = append(o.Interrupts, e.interrupt(q))
		}
		return o
	case paused && e.v1:
		o := &Outcome{Type: OutcomeSuccess}
		for _, c := range e.tools {
			if c.client && !c.done {
				o.PendingToolCallIDs = append(o.PendingToolCallIDs, c.id)
			}
		}
		if o.PendingToolCallIDs != nil {
			return o
		}
	case reason == event.FinishCancelled && e.v1:
		return &Outcome{Type: OutcomeCancelled}
	}
	return nil
}

// Asked is what an interrupt's metadata say of its question under the key
// "inlay", beside its Envelope: a client that draws the block has all of it
// there, and every other one needs it to ask.
type Asked struct {
	Envelope
	// BlockType is confirm or question.
	BlockType string `json:"blockType,omitempty"`
	Detail    string `json:"detail,omitempty"`
	Severity  string `json:"severity,omitempty"`
	// Args are what would be done, of a confirm block.
	Args json.RawMessage `json:"args,omitempty"`
	// Options are the answers to choose from.
	Options json.RawMessage `json:"options,omitempty"`
}

func (e *Encoder) interrupt(q question) Interrupt {
	asked := Asked{Envelope: Envelope{V: 1, MsgID: e.run.Msg, BlockID: q.QuestionID, Seq: e.ev.Seq}}
	i := Interrupt{ID: q.QuestionID, Reason: ReasonInput, Message: q.Prompt}
	b, _ := e.fold.Block(q.QuestionID)
	var edit json.RawMessage
	answers := q.Schema
	for _, a := range b.Actions {
		switch {
		case a.InputSchema == nil:
		case a.ID == "edit":
			edit = a.InputSchema
		case a.ID == "answer":
			answers = a.InputSchema
		}
	}
	asked.BlockType = b.Type
	var payload struct {
		Detail, Severity string
		Args, Options    json.RawMessage
	}
	_ = json.Unmarshal(b.Payload, &payload) // what it lacks is not told
	asked.Detail, asked.Severity, asked.Args, asked.Options = payload.Detail, payload.Severity, payload.Args, payload.Options
	switch {
	case b.Type == "confirm":
		i.Reason, i.ResponseSchema = ReasonConfirmation, q.decision(edit)
	case answers != nil:
		i.ResponseSchema = answers
	default:
		i.ResponseSchema = q.choice()
	}
	if q.ExpiresAt > 0 {
		i.ExpiresAt = time.UnixMilli(q.ExpiresAt).UTC().Format(time.RFC3339)
	}
	i.Metadata = Metadata{key: asked}
	return i
}

// The reasons of interrupts.
const (
	ReasonInput        = "input_required"
	ReasonConfirmation = "confirmation"
)

// decision says how a confirmation is answered.
func (q question) decision(edit json.RawMessage) json.RawMessage {
	out := []byte(`{"type":"object","properties":{"approved":{"type":"boolean"},"reason":{"type":"string"}`)
	if edit != nil {
		out = append(append(out, `,"editedArgs":`...), edit...)
	}
	return append(out, `},"required":["approved"]}`...)
}

// choice says how a question is answered that does not say it itself.
func (q question) choice() json.RawMessage {
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

// restore writes what was folded elsewhere, beyond what is there.
func (e *Encoder) restore(dst []byte, snap event.SnapshotData) ([]byte, error) {
	var err error
	if rest := len(snap.Reasoning) - e.thought; rest > 0 && e.view.Reasoning {
		if dst, err = e.think(dst, event.TextData(snap.Reasoning[e.thought:])); err == nil {
			dst, err = e.closeReasoning(dst)
		}
		if err != nil {
			return dst, err
		}
	}
	for _, a := range snap.Tools {
		d := event.ToolCallData{ToolCallID: a.ID, Name: a.Name, Title: a.Title, Client: a.Client, Status: a.Status, DurationMs: a.DurationMs}
		if dst, err = e.startCall(dst, d, a.Sub); err == nil && a.Status != event.ToolRunning {
			dst, err = e.endCall(dst, d)
		}
		if err != nil {
			return dst, err
		}
	}
	for _, b := range snap.Blocks {
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
	e.keep(k.message, RoleAssistant).k = k
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
	h := e.keep(k.message, RoleAssistant)
	h.text, h.meta = k.sent, Envelope{BlockID: k.id, Seq: e.ev.Seq, Error: failed}
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
	h := e.keep(b.ID, RoleActivity)
	h.activity, h.block, h.meta = k.activity, b, Envelope{BlockID: b.ID, Seq: e.ev.Seq}
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
	return e.think(dst, e.ev.Data)
}

func (e *Encoder) think(dst []byte, data json.RawMessage) ([]byte, error) {
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	if e.reasoning == nil {
		id := e.run.Msg + ".r" + strconv.FormatUint(e.ev.Seq, 10)
		e.reasoning = e.keep(id, RoleReasoning)
		if dst, err = e.write(dst, &MessageEvent{Attributed: e.of(ReasoningStart, ""), MessageID: id}); err != nil {
			return dst, err
		}
		if dst, err = e.write(dst, &ReasoningMessageStartEvent{Attributed: e.of(ReasoningMessageStart, ""), MessageID: id, Role: RoleReasoning}); err != nil {
			return dst, err
		}
	}
	var d event.TextDeltaData
	if json.Unmarshal(data, &d) == nil {
		e.reasoning.text += d.Delta
		e.thought += len(d.Delta)
	}
	return e.delta(dst, ReasoningMessageContent, "", e.reasoning.id, data), nil
}

func (e *Encoder) closeReasoning(dst []byte) ([]byte, error) {
	if e.reasoning == nil {
		return dst, nil
	}
	id := e.reasoning.id
	e.reasoning.meta.Seq = e.ev.Seq
	e.reasoning = nil
	dst, err := e.write(dst, &MessageEvent{Attributed: e.of(ReasoningMessageEnd, ""), MessageID: id})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &MessageEvent{Attributed: e.of(ReasoningEnd, ""), MessageID: id})
}

// tool writes a tool call whole at its start, and its result at its end. Of one
// that the client runs the arguments are still to come.
func (e *Encoder) tool(dst []byte) ([]byte, error) {
	var d event.ToolCallData
	if json.Unmarshal(e.ev.Data, &d) != nil || d.ToolCallID == "" {
		return dst, nil
	}
	if e.ev.Type == event.ToolCallEnd || e.ev.Type == event.SubToolEnd {
		return e.endCall(dst, d)
	}
	return e.startCall(dst, d, e.ev.Type == event.SubToolStart)
}

// clientCall writes a call that the client runs, which its reader may not have
// been told of.
func (e *Encoder) clientCall(dst []byte) ([]byte, error) {
	var d event.ClientToolCallData
	if json.Unmarshal(e.ev.Data, &d) != nil || d.ToolCallID == "" {
		return dst, nil
	}
	c := e.call(d.ToolCallID)
	if c == nil {
		var err error
		if dst, c, err = e.openCall(dst, event.ToolCallData{ToolCallID: d.ToolCallID, Name: d.Name}, false); err != nil {
			return dst, err
		}
	}
	if c.closed {
		return dst, nil
	}
	c.client = true
	args := "{}"
	if len(d.Arguments) > 0 {
		args = string(d.Arguments)
	}
	return e.closeCall(dst, c, args)
}

// call finds a call that was written.
func (e *Encoder) call(id string) *call {
	for _, c := range e.tools {
		if c.meta.ToolCallID == id {
			return c
		}
	}
	return nil
}

func (e *Encoder) startCall(dst []byte, d event.ToolCallData, sub bool) ([]byte, error) {
	if !e.view.Tools && !d.Client || e.call(d.ToolCallID) != nil {
		return dst, nil
	}
	dst, c, err := e.openCall(dst, d, sub)
	if err != nil || d.Client {
		return dst, err
	}
	return e.closeCall(dst, c, "{}")
}

// endCall writes what came of a call.
func (e *Encoder) endCall(dst []byte, d event.ToolCallData) ([]byte, error) {
	c := e.call(d.ToolCallID)
	if c == nil || c.done {
		return dst, nil
	}
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	if dst, err = e.closeCall(dst, c, "{}"); err != nil {
		return dst, err
	}
	return e.result(dst, c, d)
}

func (e *Encoder) openCall(dst []byte, d event.ToolCallData, sub bool) ([]byte, *call, error) {
	c := &call{id: e.run.Msg + "." + d.ToolCallID, name: d.Name, client: d.Client, meta: Envelope{ToolCallID: d.ToolCallID, Title: d.Title, Sub: sub}}
	e.tools = append(e.tools, c)
	h := e.keep(c.id, RoleAssistant)
	h.call, h.meta = c, c.meta
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, nil, err
	}
	if dst, err = e.closeReasoning(dst); err != nil {
		return dst, nil, err
	}
	dst, err = e.write(dst, &ToolCallStartEvent{Attributed: Attributed{Base: e.base(ToolCallStart, c.meta)}, ToolCallID: c.id, ToolCallName: c.name})
	return dst, c, err
}

// closeCall writes a call's arguments, and that they are whole.
func (e *Encoder) closeCall(dst []byte, c *call, args string) ([]byte, error) {
	if c.closed {
		return dst, nil
	}
	c.closed, c.args = true, args
	e.keep(c.id, RoleAssistant).meta.Seq = e.ev.Seq
	of := func(t EventType) Attributed { return Attributed{Base: e.base(t, c.meta)} }
	dst, err := e.write(dst, &ToolCallArgsEvent{Attributed: of(ToolCallArgs), ToolCallID: c.id, Delta: args})
	if err != nil {
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
	own := e.given[c.id]
	h := &held{id: cmp.Or(own.id, c.id+".result"), role: RoleTool, call: c, text: string(content), meta: c.meta}
	h.meta.Seq = e.ev.Seq
	// It stands after its call, behind the results that are there.
	at := slices.IndexFunc(e.held, func(h *held) bool { return h.call == c }) + 1
	for at < len(e.held) && e.held[at].role == RoleTool {
		at++
	}
	e.held = slices.Insert(e.held, at, h)
	if own.has {
		return dst, nil
	}
	return e.write(dst, &ToolCallResultEvent{
		Attributed: Attributed{Base: e.base(ToolCallResult, c.meta)},
		MessageID:  h.id, ToolCallID: c.id, Content: h.text, Role: RoleTool,
	})
}

// setState writes the application's state after it was changed.
func (e *Encoder) setState(dst []byte) ([]byte, error) {
	var d event.StateData
	if json.Unmarshal(e.ev.Data, &d) != nil || d.State == nil {
		return dst, nil
	}
	e.state = d.State
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &StateSnapshotEvent{Attributed: e.of(StateSnapshot, ""), Snapshot: d.State})
}

// custom writes an event that AG-UI has no other place for.
func (e *Encoder) custom(dst []byte) ([]byte, error) {
	if !json.Valid(e.ev.Data) {
		return dst, nil
	}
	e.ask()
	data := e.ev.Data
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
	}
	dst, err := e.begin(dst, Envelope{})
	if err != nil {
		return dst, err
	}
	return e.write(dst, &CustomEvent{Attributed: e.of(Custom, e.ev.Block), Name: key + "." + string(e.ev.Type), Value: data})
}

// ask keeps which questions are open. They are the run's interrupts, which are
// AG-UI's own: whoever reads the run is asked in full.
func (e *Encoder) ask() {
	var q question
	if json.Unmarshal(e.ev.Data, &q) != nil || q.QuestionID == "" || e.ev.Type == event.Annotation {
		return
	}
	e.questions = slices.DeleteFunc(e.questions, func(o question) bool { return o.QuestionID == q.QuestionID })
	if e.ev.Type == event.PendingQuestionStart {
		if b, ok := e.fold.Block(q.QuestionID); ok {
			q.Prompt = cmp.Or(q.Prompt, e.view.Registry.Stand(b))
		}
		e.questions = append(e.questions, q)
	}
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
