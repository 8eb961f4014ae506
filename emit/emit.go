// Package emit is the one way into the log: it numbers events, joins text,
// checks blocks against capability, schema, caps and size, and appends.
//
// A Stream writes one group of a message. It may import block, event and
// store. It must never know of models, tools or HTTP; whoever produces a block
// (a tool, the model itself, a recommender) goes through here.
package emit

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/store"
)

// Limits of one event (protocol §2) and of a stream.
const (
	// MaxPayload is the size in bytes up to which block_end carries the whole
	// payload. An event has 64 KiB on the wire; the rest is its envelope, its
	// fallback and its actions.
	MaxPayload = 56 << 10
	// MaxPatch is the size of one block_delta's patch.
	MaxPatch = 56 << 10
	// MaxBuilt is the size to which deltas may build a payload.
	MaxBuilt = 4 << 20
	// MaxFallback is the size a fallback text is cut to.
	MaxFallback = 4 << 10
	// MaxTitle is the size a block's title and source are cut to.
	MaxTitle = 1 << 10
	// MaxMessage is the size an error's message is cut to.
	MaxMessage = 1 << 10
	// maxTextDelta is the size of one text_delta; escaped, a byte may take six.
	maxTextDelta = 10 << 10
	// maxPending is how many bytes may wait for the log before producers do.
	maxPending = 1 << 20
)

// DefaultCap is how many blocks tools may show in one turn.
const DefaultCap = 16

// DefaultOptionalCap is how many blocks may be shown that no tool was asked
// for.
const DefaultOptionalCap = 2

// Refusal says that a block may not be shown on this stream.
type Refusal struct {
	// Code is one of the ui_block_* codes of protocol §5.
	Code string
	// Hint says what to do instead, for the model.
	Hint string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Code + ": " + r.Hint }

// The codes of Refusal.
const (
	CodeNotSupported = "ui_block_not_supported_by_client"
	CodeUnknownType  = "ui_block_unknown_type"
	CodeTurnCap      = "ui_block_turn_cap_reached"
)

// ErrClosed refuses events after the group's end, or for a block that is
// finished.
var ErrClosed = errors.New("emit: closed")

// ErrTooLarge refuses a payload or patch over its limit.
var ErrTooLarge = errors.New("emit: too large")

// Config is what a Stream needs.
type Config struct {
	Log      store.Log
	Lease    store.Lease
	Registry *block.Registry
	// Caps is what the stream that started the turn draws.
	Caps block.Caps
	// Folder is the message so far; nil for a new message.
	Folder *event.Folder
	// Last is the last stored seq of the message.
	Last uint64
	// Started is when the message began; zero means now.
	Started time.Time
	// Coalesce is the time text is gathered after the first delta; 0 switches
	// it off.
	Coalesce time.Duration
	// Cap and OptionalCap bound the blocks of the group; 0 means the defaults.
	Cap         int
	OptionalCap int
	Now         func() time.Time
	// Appended is called with the number of events of each commit; may be nil.
	Appended func(n int)
}

// Stream writes one group of one message. Its methods are safe for concurrent
// use.
type Stream struct {
	cfg     Config
	started time.Time

	mu       sync.Mutex
	moved    *sync.Cond // pending or durable changed
	guard    *event.Guard
	seq      uint64
	at       int64
	pending  []event.Event
	bytes    int
	durable  uint64
	err      error // sticky: the log is lost
	terminal bool
	closed   bool
	pumping  bool // a goroutine appends what is pending

	text      string // id of the open text block
	joined    []byte // text waiting to be joined
	lastText  time.Time
	timer     *time.Timer
	open      map[string]*Block
	order     []string
	count     int
	optional  int
	reasoning []byte

	ctx    context.Context // of the appends
	folder *event.Folder
}

// New starts a stream. ctx bounds the appends, not the stream's life: it must
// outlive the turn's own cancellation. Close must be called.
func New(ctx context.Context, cfg Config) *Stream {
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Cap == 0 {
		cfg.Cap = DefaultCap
	}
	if cfg.OptionalCap == 0 {
		cfg.OptionalCap = DefaultOptionalCap
	}
	s := &Stream{
		cfg:     cfg,
		started: cfg.Started,
		seq:     cfg.Last,
		durable: cfg.Last,
		folder:  cfg.Folder,
		open:    make(map[string]*Block),
		ctx:     ctx,
	}
	if s.started.IsZero() {
		s.started = cfg.Now()
	}
	if s.folder == nil {
		s.folder = event.NewFolder(cfg.Lease.Msg)
	}
	s.guard = event.NewGuard(cfg.Lease.Msg)
	if cfg.Last > 0 {
		s.resume()
	}
	s.moved = sync.NewCond(&s.mu)
	return s
}

// resume goes on after what is stored: with the next group, or with a group
// that another owner left open.
func (s *Stream) resume() {
	st := s.folder.State()
	if !st.Open || st.Group != s.cfg.Lease.Group {
		// A folder made from a snapshot does not know of groups.
		st.Seq, st.Group, st.Open = s.cfg.Last, s.cfg.Lease.Group-1, false
	}
	s.guard = event.ResumeGuard(s.cfg.Lease.Msg, st)
	s.at = st.At
	if !st.Open {
		return
	}
	for _, b := range st.Blocks {
		switch {
		case b.Status != block.StatusLoading:
		case b.Type == "text":
			s.text = b.ID
		default:
			t, ok := s.cfg.Registry.Lookup(b.Type, b.Version)
			if !ok {
				t = block.Type{Name: b.Type, Version: b.Version}
			}
			open := &Block{s: s, id: b.ID, typ: t, built: b.Payload}
			if b.Meta != nil {
				open.meta = *b.Meta
			}
			s.open[b.ID] = open
			s.order = append(s.order, b.ID)
		}
	}
}

// pump appends whatever is pending, in order, until nothing is. A stream that
// has nothing to write has no goroutine.
func (s *Stream) pump() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.pending) > 0 && s.err == nil {
		batch := s.pending
		s.pending, s.bytes = nil, 0
		s.mu.Unlock()
		err := s.append(s.ctx, batch)
		s.mu.Lock()
		if err != nil {
			s.err = err
			break
		}
		for i := range batch {
			s.folder.Apply(batch[i])
		}
		s.durable = batch[len(batch)-1].Seq
		s.moved.Broadcast()
	}
	s.pumping = false
	s.moved.Broadcast()
}

// append stores a batch, waiting out a log that is busy or full for a while:
// nothing has been shown yet of what could not be stored.
func (s *Stream) append(ctx context.Context, batch []event.Event) error {
	wait := 20 * time.Millisecond
	for attempt := 0; ; attempt++ {
		err := s.cfg.Log.Append(ctx, s.cfg.Lease, batch...)
		if err == nil {
			if s.cfg.Appended != nil {
				s.cfg.Appended(len(batch))
			}
			return nil
		}
		if !(errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrFull)) || attempt == 8 {
			return fmt.Errorf("append to log of %s: %w", s.cfg.Lease.Msg, err)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("append to log of %s: %w", s.cfg.Lease.Msg, context.Cause(ctx))
		case <-time.After(wait):
			wait *= 2
		}
	}
}

// admit holds a producer while the log is behind. The lock, which is held, is
// given up meanwhile: nothing may be half done.
func (s *Stream) admit() {
	for s.bytes > maxPending && s.err == nil {
		s.moved.Wait()
	}
}

// put numbers an event and hands it to the pump. The lock is held.
func (s *Stream) put(t event.Type, blockID string, data json.RawMessage) error {
	if s.err != nil {
		return s.err
	}
	if s.terminal || s.closed {
		return ErrClosed
	}
	// The wall clock may go backwards; the log's time does not.
	s.at = max(s.at, s.cfg.Now().Sub(s.started).Milliseconds())
	ev := event.Event{
		Seq: s.seq + 1, At: s.at, Group: s.cfg.Lease.Group, Type: t,
		Msg: s.cfg.Lease.Msg, Block: blockID, Data: data,
	}
	if err := s.guard.Check(ev); err != nil {
		return fmt.Errorf("emit %s: %w", t, err)
	}
	s.seq++
	s.pending = append(s.pending, ev)
	s.bytes += len(data) + 64
	s.terminal = t.Terminal()
	if !s.pumping {
		s.pumping = true
		go s.pump()
	}
	return nil
}

func (s *Stream) putValue(t event.Type, blockID string, v any) error {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode %s: %w", t, err)
	}
	return s.put(t, blockID, data)
}

// Start writes the message's first event.
func (s *Stream) Start(d event.StartData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if d.TS == 0 {
		d.TS = s.started.UnixMilli()
	}
	return s.putValue(event.Start, "", d)
}

// Text writes text of the open text block, or begins one. The first delta goes
// out at once, later ones are joined for the coalescing time.
func (s *Stream) Text(delta string) error {
	if delta == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	if err := s.flushReasoning(true); err != nil {
		return err
	}
	if s.text == "" {
		s.text = id.New("b")
		s.lastText = time.Time{}
	}
	return s.join(&s.joined, delta, s.flushText)
}

// Reasoning writes what the model thinks, kept apart from the answer.
func (s *Stream) Reasoning(delta string) error {
	if delta == "" {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	return s.join(&s.reasoning, delta, s.flushReasoning)
}

func (s *Stream) join(buf *[]byte, delta string, flush func(whole bool) error) error {
	if s.err != nil {
		return s.err
	}
	if s.terminal {
		return ErrClosed
	}
	*buf = append(*buf, delta...)
	now := s.cfg.Now()
	wait := s.cfg.Coalesce - now.Sub(s.lastText)
	// A clock set back must not hold text: wait is never longer than once.
	if wait <= 0 || len(*buf) >= maxTextDelta || now.Before(s.lastText) {
		s.lastText = now
		return flush(false)
	}
	if s.timer == nil {
		s.timer = time.AfterFunc(wait, func() {
			s.mu.Lock()
			defer s.mu.Unlock()
			s.timer = nil
			s.lastText = s.cfg.Now()
			_ = s.flushJoined() // a lost log is reported by the next call
		})
	}
	return nil
}

func (s *Stream) flushJoined() error {
	if err := s.flushReasoning(false); err != nil {
		return err
	}
	return s.flushText(false)
}

// flushText writes the joined text. A character of which the last bytes are
// missing waits for them, unless the text is whole.
func (s *Stream) flushText(whole bool) error {
	return s.flushParts(&s.joined, whole, func(part []byte) error {
		return s.put(event.TextDelta, s.text, event.TextData(part))
	})
}

func (s *Stream) flushReasoning(whole bool) error {
	return s.flushParts(&s.reasoning, whole, func(part []byte) error {
		return s.put(event.ReasoningDelta, "", event.TextData(part))
	})
}

func (s *Stream) flushParts(buf *[]byte, whole bool, write func(part []byte) error) error {
	if len(*buf) == 0 {
		return nil
	}
	text, rest := *buf, 0
	if !whole {
		rest = unfinished(text)
	}
	text, *buf = text[:len(text)-rest], bytes.Clone(text[len(text)-rest:])
	for len(text) > 0 {
		var part []byte
		part, text = cutRune(text, maxTextDelta)
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// unfinished returns how many bytes at the end of b begin a character that is
// not complete.
func unfinished(b []byte) int {
	for n := 1; n < utf8.UTFMax && n <= len(b); n++ {
		if c := b[len(b)-n]; utf8.RuneStart(c) {
			if !utf8.FullRune(b[len(b)-n:]) {
				return n
			}
			return 0
		}
	}
	return 0
}

// cutRune cuts b after at most n bytes, never inside a rune.
func cutRune(b []byte, n int) (head, rest []byte) {
	if len(b) <= n {
		return b, nil
	}
	// What is no text has no characters to cut between.
	for at := n; at > n-utf8.UTFMax && at > 0; at-- {
		if utf8.RuneStart(b[at]) {
			return b[:at], b[at:]
		}
	}
	return b[:n], b[n:]
}

// EndText closes the open text block, if any.
func (s *Stream) EndText() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.endText()
}

func (s *Stream) endText() error {
	if err := s.flushReasoning(true); err != nil {
		return err
	}
	if err := s.flushText(true); err != nil {
		return err
	}
	if s.text == "" {
		return nil
	}
	text := s.text
	s.text = ""
	return s.put(event.TextEnd, text, json.RawMessage("{}"))
}

// ToolStart announces a tool call.
func (s *Stream) ToolStart(d event.ToolCallData) error { return s.tool(event.ToolCallStart, d) }

// ToolEnd ends a tool call.
func (s *Stream) ToolEnd(d event.ToolCallData) error { return s.tool(event.ToolCallEnd, d) }

func (s *Stream) tool(t event.Type, d event.ToolCallData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	if err := s.flushJoined(); err != nil {
		return err
	}
	return s.putValue(t, "", d)
}

// Opening is a block about to be made.
type Opening struct {
	// ID reopens an existing block (retry, refresh); empty makes a new one.
	ID      string
	Type    string
	Version int // 0 means the highest registered
	Meta    block.Meta
	// Optional blocks are those that no tool was asked for; they are refused
	// when the stream that started the turn cannot draw them.
	Optional bool
}

// Open writes block_start and returns the open block. *Refusal when the block
// may not be shown.
func (s *Stream) Open(o Opening) (*Block, error) {
	t, ok := s.cfg.Registry.Lookup(o.Type, o.Version)
	if !ok {
		return nil, &Refusal{CodeUnknownType, fmt.Sprintf("block type %s@%d is not registered", o.Type, o.Version)}
	}
	if o.Optional && t.ServerOnly {
		return nil, &Refusal{CodeUnknownType, fmt.Sprintf("blocks of the type %s are made by the server's own code only", t.Name)}
	}
	drawable := s.cfg.Caps.Can(t.Name, t.Version)
	if o.Optional && !drawable {
		return nil, &Refusal{CodeNotSupported, "answer with an inline Markdown link instead"}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	fresh := o.ID == ""
	if fresh {
		n, most := &s.count, s.cfg.Cap
		if o.Optional {
			n, most = &s.optional, s.cfg.OptionalCap
		}
		if *n >= most {
			return nil, &Refusal{CodeTurnCap, fmt.Sprintf("%d blocks were shown in this turn; answer in text", most)}
		}
		*n++
		o.ID = id.New("b")
	}
	if o.Meta.EstimatedHeight == 0 {
		o.Meta.EstimatedHeight = t.Height
	}
	if err := s.endText(); err != nil {
		return nil, err
	}
	o.Meta.Title, o.Meta.Source = clip(o.Meta.Title, MaxTitle), clip(o.Meta.Source, MaxTitle)
	b := &Block{s: s, id: o.ID, typ: t, meta: o.Meta, Drawable: drawable}
	if fresh && t.Name == "text" {
		// Only one text may be open, and another tool may be about to show one:
		// this one is written when it is complete.
		b.unwritten = true
	} else if err := b.start(); err != nil {
		return nil, err
	}
	s.open[b.id] = b
	s.order = append(s.order, b.id)
	return b, nil
}

// State writes a block's new state; rev must be one more than before.
func (s *Stream) State(blockID string, state json.RawMessage, rev int) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putValue(event.BlockState, blockID, event.BlockStateData{State: state, Rev: rev})
}

// QuestionStart says that the turn waits for a person to answer the block d
// names.
func (s *Stream) QuestionStart(d event.QuestionData) error {
	return s.question(event.PendingQuestionStart, d)
}

// QuestionEnd says what became of a question.
func (s *Stream) QuestionEnd(d event.QuestionData) error {
	return s.question(event.PendingQuestionEnd, d)
}

func (s *Stream) question(t event.Type, d event.QuestionData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	if err := s.flushJoined(); err != nil {
		return err
	}
	d.Prompt = clip(d.Prompt, MaxTitle)
	return s.putValue(t, d.QuestionID, d)
}

// Settle ends the open text and every block still open, waits until all of it
// is durable and returns the message as it stands. Only Done or Error may
// follow.
func (s *Stream) Settle(ctx context.Context, open block.Error) (event.State, error) {
	if err := s.settle(open); err != nil {
		return event.State{}, err
	}
	if err := s.Flush(ctx); err != nil {
		return event.State{}, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folder.State(), nil
}

func (s *Stream) settle(open block.Error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.terminal {
		return ErrClosed
	}
	if err := s.endText(); err != nil {
		return err
	}
	for _, blockID := range s.order {
		if b, ok := s.open[blockID]; ok {
			e := open
			// What no tool made, no tool can make again.
			e.Retryable = e.Retryable && b.meta.Tool != ""
			if err := b.fail(e, ""); err != nil {
				return err
			}
		}
	}
	return nil
}

// Done ends the group. Settle must have been called.
func (s *Stream) Done(d event.DoneData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.putValue(event.Done, "", d)
}

// Error ends the group as failed. Settle must have been called.
func (s *Stream) Error(d event.ErrorData) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	d.Message = clip(d.Message, MaxMessage)
	return s.putValue(event.Error, "", d)
}

// Flush waits until everything written so far is durable.
func (s *Stream) Flush(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if err := s.flushJoined(); err != nil && !errors.Is(err, ErrClosed) {
		return err
	}
	want := s.seq
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	})
	defer stop()
	for s.durable < want && s.err == nil {
		if ctx.Err() != nil {
			return fmt.Errorf("wait for the log: %w", context.Cause(ctx))
		}
		s.moved.Wait()
	}
	return s.err
}

// Close waits until everything written was appended, and returns the message
// as it stands in the log, with the error that lost the log, if any.
func (s *Stream) Close() (event.State, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.closed = true
	for s.pumping {
		s.moved.Wait()
	}
	return s.folder.State(), s.err
}

// Err returns the error that lost the log, if any.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// Block is an open block of a stream.
type Block struct {
	s    *Stream
	id   string
	typ  block.Type
	meta block.Meta
	// Drawable says that the stream that started the turn draws the type.
	Drawable bool

	built json.RawMessage // what the deltas made so far
	ended bool
	// unwritten says that the log does not know of the block yet.
	unwritten bool
}

func (b *Block) start() error {
	b.unwritten = false
	return b.s.putValue(event.BlockStart, b.id, event.BlockStartData{Type: b.typ.Name, Version: b.typ.Version, Meta: &b.meta})
}

// ID returns the block's id.
func (b *Block) ID() string { return b.id }

// Type returns the block's type.
func (b *Block) Type() block.Type { return b.typ }

// Delta applies a patch to the payload and writes it. A patch that does not
// apply is refused and changes nothing.
func (b *Block) Delta(patch json.RawMessage) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.admit()
	return b.delta(patch)
}

func (b *Block) delta(patch json.RawMessage) error {
	if len(patch) > MaxPatch {
		return fmt.Errorf("%w: patch of %d bytes, at most %d", ErrTooLarge, len(patch), MaxPatch)
	}
	if b.ended || b.s.terminal {
		return ErrClosed
	}
	built, err := event.ApplyPatch(b.built, patch)
	if err != nil {
		return fmt.Errorf("block delta: %w", err)
	}
	if len(built) > MaxBuilt {
		return fmt.Errorf("%w: payload of %d bytes, at most %d", ErrTooLarge, len(built), MaxBuilt)
	}
	clean, err := b.s.cfg.Registry.Clean(b.typ.Name, b.typ.Version, built)
	if err != nil {
		return fmt.Errorf("block delta: %w", err)
	}
	if !bytes.Equal(clean, built) {
		// What may not be kept does not reach the log in a patch either.
		built = clean
		if patch = slices.Concat([]byte(`[{"op":"add","path":"","value":`), clean, []byte(`}]`)); len(patch) > MaxPatch {
			return fmt.Errorf("%w: cleaned payload of %d bytes", ErrTooLarge, len(clean))
		}
	}
	if err := b.writePatch(patch); err != nil {
		return err
	}
	b.built = built
	return nil
}

// Finished is what completes a block.
type Finished struct {
	// Payload is the whole payload; nil keeps what the deltas built.
	Payload  json.RawMessage
	Fallback string
	Actions  []block.Action
	State    json.RawMessage
	Meta     block.Meta
}

// End cleans, validates and finishes the block. A payload that breaks its
// schema or is too large ends the block with block_error, and the error is
// returned.
func (b *Block) End(f Finished) error {
	payload, built := f.Payload, false
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.admit()
	if b.ended || b.s.terminal {
		return ErrClosed
	}
	if payload == nil {
		payload, built = b.built, true
	}
	clean, err := b.s.cfg.Registry.Clean(b.typ.Name, b.typ.Version, payload)
	if err != nil {
		if failed := b.fail(block.Error{Code: block.CodeSchemaInvalid, Message: "The data does not have the shape of the type " + b.typ.Name + "."}, f.Fallback); failed != nil {
			return failed
		}
		return err
	}
	if built && !bytes.Equal(clean, payload) {
		built = false // what the deltas built must not stand
	}
	payload = clean
	if err := b.s.cfg.Registry.Validate(b.typ.Name, b.typ.Version, payload); err != nil {
		if failed := b.fail(block.Error{Code: block.CodeSchemaInvalid, Message: "The data does not have the shape of the type " + b.typ.Name + "."}, f.Fallback); failed != nil {
			return failed
		}
		return fmt.Errorf("payload of %s: %w", b.typ.Name, err)
	}
	if len(payload) > MaxPayload && !built {
		parts, err := split(payload)
		if err == nil {
			err = b.build(parts)
			built = true
		}
		if err != nil && !errors.Is(err, ErrTooLarge) {
			return err
		}
		if err != nil {
			built = false
		}
	}
	if len(payload) > MaxPayload && !built {
		if failed := b.fail(block.Error{Code: block.CodePayloadTooLarge, Message: "The data is too large to show."}, f.Fallback); failed != nil {
			return failed
		}
		return fmt.Errorf("%w: payload of %s has %d bytes, at most %d", ErrTooLarge, b.typ.Name, len(payload), MaxPayload)
	}
	if f.Fallback == "" {
		f.Fallback = b.typ.Fallback(payload)
	}
	b.mergeMeta(f.Meta)
	d := event.BlockEndData{
		Type: b.typ.Name, Version: b.typ.Version, Payload: payload,
		Fallback: clip(f.Fallback, MaxFallback), Actions: f.Actions, State: f.State, Meta: &b.meta,
	}
	if len(payload) > MaxPayload {
		sum := sha256.Sum256(payload)
		d.Payload, d.Built, d.Digest = nil, true, "sha256:"+hex.EncodeToString(sum[:])
	}
	b.built = payload
	return b.close(event.BlockEnd, d)
}

// build writes the patches that make up a payload. They are not applied here,
// which would read the whole payload for each of them: split made them of it.
func (b *Block) build(patches []json.RawMessage) error {
	for _, p := range patches {
		b.s.admit()
		if b.ended || b.s.terminal {
			return ErrClosed
		}
		if err := b.writePatch(p); err != nil {
			return err
		}
	}
	return nil
}

func (b *Block) writePatch(patch json.RawMessage) error {
	if err := b.s.flushJoined(); err != nil {
		return err
	}
	data := make([]byte, 0, len(patch)+16)
	data = append(data, `{"patch":`...)
	data = append(data, patch...)
	data = append(data, '}')
	return b.s.put(event.BlockDelta, b.id, data)
}

// Built returns what the deltas have made of the payload so far.
func (b *Block) Built() json.RawMessage {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.built
}

func (b *Block) mergeMeta(m block.Meta) {
	if m.Title != "" {
		b.meta.Title = clip(m.Title, MaxTitle)
	}
	if m.Source != "" {
		b.meta.Source = clip(m.Source, MaxTitle)
	}
	if m.EstimatedHeight != 0 {
		b.meta.EstimatedHeight = m.EstimatedHeight
	}
	if m.FetchedAt != 0 {
		b.meta.FetchedAt = m.FetchedAt
	}
	if m.RefreshedAt != 0 {
		b.meta.RefreshedAt = m.RefreshedAt
	}
	if m.SchemaMinor != 0 {
		b.meta.SchemaMinor = m.SchemaMinor
	}
	if m.Position != "" {
		b.meta.Position = m.Position
	}
	if m.Vendor != nil {
		b.meta.Vendor = m.Vendor
	}
	b.meta.CanRefresh = b.meta.CanRefresh || m.CanRefresh
}

// Fail ends the block with an error.
func (b *Block) Fail(e block.Error, fallback string) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.fail(e, fallback)
}

func (b *Block) fail(e block.Error, fallback string) error {
	if b.ended || b.s.terminal {
		return ErrClosed
	}
	return b.close(event.BlockError, event.BlockErrorData{
		Code: e.Code, Message: clip(e.Message, MaxMessage), Retryable: e.Retryable, Fallback: clip(fallback, MaxFallback),
	})
}

func (b *Block) close(t event.Type, data any) error {
	if err := b.s.flushJoined(); err != nil {
		return err
	}
	if b.unwritten && t == event.BlockError {
		if err := b.start(); err != nil {
			return err
		}
	}
	if err := b.s.putValue(t, b.id, data); err != nil {
		return err
	}
	b.ended = true
	delete(b.s.open, b.id)
	return nil
}

// clip cuts a text to n bytes, never inside a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, _ := cutRune([]byte(s), n-len("…"))
	return string(head) + "…"
}
