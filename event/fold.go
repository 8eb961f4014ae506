package event

import (
	"bytes"
	"encoding/json"
	"iter"
	"slices"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// interrupted is what the fold says of a block that was still loading when its
// group ended.
var interrupted = block.Error{
	Code:      block.CodeInterrupted,
	Message:   "The block was interrupted before it was finished.",
	Retryable: true,
}

// Folder folds the events of one message into its State. It accepts anything:
// events that came before, that it does not know or that make no sense are
// ignored, so that a reader may be sent the same event twice. A Folder is for
// one goroutine.
//
// Folding n events of text costs time linear in the text.
type Folder struct {
	msg       string
	st        State // without Blocks and Reasoning
	blocks    []*folding
	index     map[string]int
	reasoning []byte
}

// folding is a block while it is being folded.
type folding struct {
	block.Block
	// text is the escaped body of an open text block's payload: quotes are
	// added when it is read.
	text   []byte
	isText bool
	// before is the block as it was when a retry or refresh opened it again;
	// nil when it had no payload to fall back to.
	before *block.Block
}

// NewFolder returns a Folder of a message without events. An empty msg takes
// the message of the first event.
func NewFolder(msg string) *Folder {
	return &Folder{msg: msg, st: State{Status: StatusRunning}, index: make(map[string]int)}
}

// FromSnapshot returns a Folder that goes on from a snapshot.
func FromSnapshot(msg string, s SnapshotData) *Folder {
	f := NewFolder(msg)
	f.restore(s, s.Seq)
	return f
}

// Fold folds a sequence of events of one message. On an error of the sequence
// it returns what was folded until then.
func Fold(events iter.Seq2[Event, error]) (State, error) {
	f := NewFolder("")
	for e, err := range events {
		if err != nil {
			return f.State(), err
		}
		f.Apply(e)
	}
	return f.State(), nil
}

// Apply folds one event. Events of other messages and events with a sequence
// number not above the last one change nothing.
func (f *Folder) Apply(e Event) {
	if f.msg == "" {
		f.msg = e.Msg
	}
	if e.Msg != "" && e.Msg != f.msg {
		return
	}
	if e.Seq <= f.st.Seq {
		return
	}
	f.st.Seq = e.Seq
	f.st.At = max(f.st.At, e.At)
	if group := max(e.Group, 1); group > f.st.Group && e.Type != Snapshot {
		f.st.Group = group
		f.st.Open = true
	}
	switch e.Type {
	case Start:
		f.start(e)
	case TextDelta:
		f.textDelta(e)
	case TextEnd:
		if b := f.find(e.Block); b != nil && b.isText && b.Status == block.StatusLoading {
			b.close()
			b.Status = block.StatusDone
		}
	case ReasoningDelta:
		f.reasoning = appendDelta(f.reasoning, e.Data)
	case BlockStart:
		f.blockStart(e)
	case BlockDelta:
		f.blockDelta(e)
	case BlockEnd:
		f.blockEnd(e)
	case BlockError:
		var d BlockErrorData
		if b := f.find(e.Block); b != nil && json.Unmarshal(e.Data, &d) == nil {
			b.fail(block.Error{Code: d.Code, Message: d.Message, Retryable: d.Retryable}, d.Fallback)
		}
	case BlockState:
		var d BlockStateData
		if b := f.find(e.Block); b != nil && json.Unmarshal(e.Data, &d) == nil {
			b.State, b.Rev = d.State, d.Rev
		}
	case PendingQuestionEnd:
		f.goOn()
	case ToolCallStart, SubToolStart, ToolCallEnd, SubToolEnd:
		f.tool(e)
	case Snapshot:
		var d SnapshotData
		if json.Unmarshal(e.Data, &d) == nil {
			f.restore(d, max(e.Seq, d.Seq))
			f.st.Group = max(f.st.Group, e.Group)
		}
	case Done:
		var d DoneData
		_ = json.Unmarshal(e.Data, &d) // a terminal event ends its group whatever it says
		if f.endGroup(d.FinishReason == FinishPaused) {
			f.st.FinishReason, f.st.Usage, f.st.Err = d.FinishReason, d.Usage, nil
			if d.Model != nil {
				f.st.Start.Model = d.Model
			}
			switch d.FinishReason {
			case FinishCancelled:
				f.st.Status = StatusCancelled
			case FinishPaused:
				f.st.Status = StatusPaused
			default:
				f.st.Status = StatusDone
			}
		}
	case Error:
		var d ErrorData
		_ = json.Unmarshal(e.Data, &d)
		if f.endGroup(false) {
			f.st.Status, f.st.FinishReason, f.st.Err = StatusError, "", &d
		}
	}
}

// State returns the message as folded so far. It is a copy that later events
// do not change; the raw JSON in it is shared and must not be written to.
func (f *Folder) State() State {
	st := f.st
	st.Reasoning = unescape(f.reasoning)
	st.Tools = slices.Clone(f.st.Tools)
	st.Blocks = make([]block.Block, len(f.blocks))
	for i, b := range f.blocks {
		st.Blocks[i] = b.view()
	}
	return st
}

// Block returns one block as folded so far.
func (f *Folder) Block(id string) (block.Block, bool) {
	if b := f.find(id); b != nil {
		return b.view(), true
	}
	return block.Block{}, false
}

func (f *Folder) find(id string) *folding {
	if i, ok := f.index[id]; ok && id != "" {
		return f.blocks[i]
	}
	return nil
}

func (f *Folder) add(b block.Block) *folding {
	if b.Rev == 0 {
		b.Rev = 1
	}
	nb := &folding{Block: b, isText: b.Type == "text"}
	f.index[b.ID] = len(f.blocks)
	f.blocks = append(f.blocks, nb)
	return nb
}

func (f *Folder) restore(s SnapshotData, seq uint64) {
	f.blocks, f.index = nil, make(map[string]int, len(s.Blocks))
	for _, b := range s.Blocks {
		if b.ID == "" || f.find(b.ID) != nil {
			continue
		}
		nb := f.add(b)
		if b.Status == block.StatusLoading && b.Fallback != "" && b.Payload != nil {
			// With a fallback it was finished once, so this is a refresh: what it
			// had before is the payload of the snapshot.
			done := b
			done.Status = block.StatusDone
			nb.before = &done
		}
	}
	f.st.Seq, f.st.Status = seq, s.Status
	f.st.Start = StartData{ConversationID: s.ConversationID, UserMessageID: s.UserMessageID, TS: s.TS, Model: s.Model}
	f.st.FinishReason, f.st.Usage, f.st.Err = s.FinishReason, Usage{}, s.Error
	if s.Usage != nil {
		f.st.Usage = *s.Usage
	}
	f.st.Tools = slices.Clone(s.Tools)
	f.reasoning = jsonx.AppendEscaped(nil, s.Reasoning)
	f.st.Open = s.Status == StatusRunning
	for _, b := range s.Blocks {
		f.st.Open = f.st.Open || b.Status == block.StatusLoading
	}
}

func (f *Folder) start(e Event) {
	var d StartData
	if json.Unmarshal(e.Data, &d) == nil {
		f.st.Start = d
	}
	f.st.Status = StatusRunning
}

// tool folds the start or the end of a call. An end without a start is ignored.
func (f *Folder) tool(e Event) {
	var d ToolCallData
	if json.Unmarshal(e.Data, &d) != nil || d.ToolCallID == "" {
		return
	}
	i := slices.IndexFunc(f.st.Tools, func(t ToolActivity) bool { return t.ID == d.ToolCallID })
	switch {
	case e.Type == ToolCallStart || e.Type == SubToolStart:
		if i < 0 {
			f.st.Tools = append(f.st.Tools, ToolActivity{
				ID: d.ToolCallID, Name: d.Name, Title: d.Title, Status: ToolRunning, Sub: e.Type == SubToolStart, Client: d.Client,
			})
		}
	case i >= 0:
		f.st.Tools[i].Status, f.st.Tools[i].DurationMs = d.Status, d.DurationMs
	}
	if e.Type == ToolCallEnd && d.Client {
		f.goOn()
	}
}

// goOn says that the group goes on with the turn that was paused.
func (f *Folder) goOn() {
	if f.st.Status == StatusPaused {
		f.st.Status, f.st.FinishReason = StatusRunning, ""
	}
}

func (f *Folder) textDelta(e Event) {
	if e.Block == "" {
		return
	}
	b := f.find(e.Block)
	if b == nil {
		b = f.add(block.Block{ID: e.Block, Type: "text", Version: 1, Status: block.StatusLoading})
	}
	if !b.isText || b.Status != block.StatusLoading {
		return
	}
	b.open()
	b.text = appendDelta(b.text, e.Data)
}

func (f *Folder) blockStart(e Event) {
	var d BlockStartData
	if e.Block == "" || json.Unmarshal(e.Data, &d) != nil || d.Type == "" {
		return
	}
	b := f.find(e.Block)
	if b == nil {
		f.add(block.Block{ID: e.Block, Type: d.Type, Version: d.Version, Status: block.StatusLoading, Meta: d.Meta})
		return
	}
	if !sameType(b.Type, d.Type) {
		return
	}
	if b.before == nil && b.Status == block.StatusDone && b.Payload != nil {
		was := b.view()
		b.before = &was
	}
	b.close()
	b.Status, b.Version, b.Err = block.StatusLoading, d.Version, nil
	b.Meta = mergeMeta(b.Meta, d.Meta)
}

func (f *Folder) blockDelta(e Event) {
	b := f.find(e.Block)
	if b == nil || b.isText || b.Status != block.StatusLoading {
		return
	}
	var d BlockDeltaData
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	if p, err := ApplyPatch(b.Payload, d.Patch); err == nil {
		b.Payload = p
	}
}

func (f *Folder) blockEnd(e Event) {
	var d BlockEndData
	if e.Block == "" || json.Unmarshal(e.Data, &d) != nil || d.Type == "" {
		return
	}
	b := f.find(e.Block)
	if b == nil {
		b = f.add(block.Block{ID: e.Block, Type: d.Type})
	}
	if !sameType(b.Type, d.Type) {
		return
	}
	b.close()
	b.before = nil
	b.Status, b.Version, b.Err = block.StatusDone, d.Version, nil
	if !d.Built {
		b.Payload = d.Payload
	}
	b.Fallback, b.Actions = d.Fallback, d.Actions
	if d.State != nil {
		b.State = d.State
	}
	b.Meta = mergeMeta(b.Meta, d.Meta)
}

// endGroup ends the loading blocks and reports whether the terminal event is
// that of the turn, which the first group begins and a group with an answer
// goes on with; all other groups leave the message as it was. pauses says that
// the turn pauses, if it is the turn that ends here.
func (f *Folder) endGroup(pauses bool) bool {
	for _, b := range f.blocks {
		if b.Status == block.StatusLoading {
			b.fail(interrupted, "")
		}
	}
	turn := f.st.Status == StatusRunning
	waits := turn && pauses || f.st.Status == StatusPaused
	for i, t := range f.st.Tools {
		if t.Status == ToolRunning && !(t.Client && waits) {
			f.st.Tools[i].Status = ToolCancelled
		}
	}
	f.st.Open = false
	return turn
}

// fail ends a block with an error. A refresh that fails leaves what was there
// before it.
func (b *folding) fail(err block.Error, fallback string) {
	if b.before != nil {
		state, rev := b.State, b.Rev
		b.Block = *b.before
		b.before = nil
		b.State, b.Rev = state, rev
		b.Status, b.Err = block.StatusDone, &err
		return
	}
	b.close()
	if !b.isText {
		b.Payload = nil
	}
	b.Status, b.Err = block.StatusError, &err
	if fallback != "" {
		b.Fallback = fallback
	}
}

// open moves a text block's payload into the buffer that deltas append to.
func (b *folding) open() {
	if b.text != nil {
		return
	}
	b.text = make([]byte, 0, 256)
	if b.Payload != nil {
		var s string
		if json.Unmarshal(b.Payload, &s) == nil {
			b.text = jsonx.AppendEscaped(b.text, s)
		}
		b.Payload = nil
	}
}

// close moves the buffer back into the payload.
func (b *folding) close() {
	if b.text != nil {
		b.Payload = b.quoted()
		b.text = nil
	}
}

func (b *folding) quoted() json.RawMessage {
	p := make([]byte, 0, len(b.text)+2)
	p = append(p, '"')
	p = append(p, b.text...)
	return append(p, '"')
}

func (b *folding) view() block.Block {
	v := b.Block
	if b.text != nil {
		v.Payload = b.quoted()
	}
	v.Actions = slices.Clip(v.Actions)
	return v
}

var (
	deltaOpen  = []byte(`{"delta":"`)
	deltaClose = []byte(`"}`)
)

// appendDelta appends the escaped text of a delta's data to dst.
func appendDelta(dst []byte, data json.RawMessage) []byte {
	if body, ok := bytes.CutPrefix(data, deltaOpen); ok {
		if body, ok = bytes.CutSuffix(body, deltaClose); ok && jsonx.Plain(body) {
			return append(dst, body...)
		}
	}
	var d TextDeltaData
	if json.Unmarshal(data, &d) != nil {
		return dst
	}
	return jsonx.AppendEscaped(dst, d.Delta)
}

func unescape(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if bytes.IndexByte(b, '\\') < 0 {
		return string(b)
	}
	q := make([]byte, 0, len(b)+2)
	q = append(q, '"')
	q = append(q, b...)
	q = append(q, '"')
	var s string
	_ = json.Unmarshal(q, &s) // cannot fail: b was escaped here
	return s
}

func sameType(a, b string) bool { return block.ShortName(a) == block.ShortName(b) }

// mergeMeta lays the members that are set in over upon base. Neither is
// changed.
func mergeMeta(base, over *block.Meta) *block.Meta {
	if over == nil {
		return base
	}
	if base == nil {
		return over
	}
	m := *base
	set(&m.Title, over.Title)
	set(&m.EstimatedHeight, over.EstimatedHeight)
	set(&m.Position, over.Position)
	set(&m.Source, over.Source)
	set(&m.ToolCallID, over.ToolCallID)
	set(&m.Tool, over.Tool)
	set(&m.Producer, over.Producer)
	set(&m.FetchedAt, over.FetchedAt)
	set(&m.RefreshedAt, over.RefreshedAt)
	set(&m.CanRefresh, over.CanRefresh)
	set(&m.SchemaMinor, over.SchemaMinor)
	set(&m.Truncated, over.Truncated)
	if over.Vendor != nil {
		m.Vendor = over.Vendor
	}
	return &m
}

func set[T comparable](dst *T, v T) {
	var zero T
	if v != zero {
		*dst = v
	}
}
