// Package emit is the one way into the log: it numbers events, joins text,
// checks blocks against capability, schema, caps, size and where they lead, and
// appends.
//
// A Stream writes one group of a message. It may import block, event and
// store. It must never know of models, tools or HTTP; whoever produces a block
// (a tool, the model itself, a recommender) goes through here.
package emit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
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
	// MaxVendor is the size of the members that a block's Meta keeps for vendors.
	MaxVendor = block.MaxVendor
	// MaxMessage is the size an error's message is cut to.
	MaxMessage = 1 << 10
	// maxTextDelta is the size of one text_delta; escaped, a byte may take six.
	maxTextDelta = 10 << 10
	// maxPending is how many bytes may wait for the log before producers do.
	maxPending = 1 << 20
)

// DefaultCap is how many blocks tools may show in one turn.
const DefaultCap = 16

// DefaultOptionalCap is how many blocks may be shown in one turn that no tool
// was asked for.
const DefaultOptionalCap = 2

// DefaultSessionCap is how many blocks may be shown in one conversation that no
// tool was asked for, where that is bounded.
const DefaultSessionCap = 20

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
	// Cap bounds the blocks of the turn, or of a follow-up, that a tool was
	// asked for, OptionalCap the others of the message. 0 means the defaults; a
	// negative number allows none.
	Cap         int
	OptionalCap int
	// Continues says that the group goes on with the turn of the groups before
	// it, whose blocks count to Cap.
	Continues bool
	// Allow is what blocks may lead to; nil allows every well-formed target.
	Allow *block.Destinations
	// Session is what the conversation has been shown before the turn; nil
	// bounds nothing.
	Session *Session
	Now     func() time.Time
	// Appended is called with the number of events of each commit; may be nil.
	Appended func(n int)
	// Fetched says of a block that the log left open that how its data is
	// fetched is stored; may be nil.
	Fetched func(block string) bool
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

	text     string // id of the open text block
	joined   []byte // text waiting to be joined
	lastText time.Time
	timer    *time.Timer
	open     map[string]*Block
	order    []string
	count    int // places taken by blocks that a tool was asked for
	optional int // places taken by the others
	// seen are the targets of the message's blocks, with the block that leads
	// there.
	seen      map[string]string
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
		seen:    make(map[string]string),
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
	s.recall(st.Blocks)
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

// SubToolStart announces a call that a tool makes.
func (s *Stream) SubToolStart(d event.ToolCallData) error { return s.tool(event.SubToolStart, d) }

// SubToolEnd ends a call that a tool made.
func (s *Stream) SubToolEnd(d event.ToolCallData) error { return s.tool(event.SubToolEnd, d) }

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
	d.Title = clip(d.Title, MaxTitle)
	return s.putValue(t, "", d)
}

// ClientCall asks the client to run a call that was announced. ErrTooLarge when
// its arguments have no room in an event.
func (s *Stream) ClientCall(d event.ClientToolCallData) error {
	if len(d.Arguments) > MaxPayload {
		return fmt.Errorf("%w: %d bytes of arguments, at most %d", ErrTooLarge, len(d.Arguments), MaxPayload)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	if err := s.flushJoined(); err != nil {
		return err
	}
	return s.putValue(event.ClientToolCall, "", d)
}

// AppState says what the application's state is now. ErrTooLarge when it has no
// room in an event.
func (s *Stream) AppState(state json.RawMessage) error {
	if len(state) > MaxPayload {
		return fmt.Errorf("%w: %d bytes of state, at most %d", ErrTooLarge, len(state), MaxPayload)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	if err := s.flushJoined(); err != nil {
		return err
	}
	return s.putValue(event.AppState, "", event.StateData{State: state})
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
			// What nothing has fetched, nothing can fetch again.
			e.Retryable = e.Retryable && (b.meta.Tool != "" || b.meta.CanRefresh || s.cfg.Fetched != nil && s.cfg.Fetched(blockID))
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

// Message returns the message as far as it is durable.
func (s *Stream) Message() event.State {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.folder.State()
}

// Err returns the error that lost the log, if any.
func (s *Stream) Err() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.err
}

// clip cuts a text to n bytes, never inside a rune.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	head, _ := cutRune([]byte(s), n-len("…"))
	return string(head) + "…"
}
