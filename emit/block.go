package emit

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
)

// The producers of blocks that no tool was asked for.
const (
	// ProducerModel is the model itself, by a tool that emits blocks.
	ProducerModel = "model"
	// ProducerRecommender is what suggests a next step after an answer.
	ProducerRecommender = "recommender"
	// ProducerMarkup is markup in the model's text.
	ProducerMarkup = "markup"
	// ProducerConnector is a connector outside the server.
	ProducerConnector = "connector"
)

// Opening is a block about to be made.
type Opening struct {
	// ID reopens an existing block (retry, refresh); empty makes a new one.
	ID      string
	Type    string
	Version int // 0 means the highest registered
	Meta    block.Meta
	// Producer names who made a block that no tool was asked for; it is written
	// to the block's Meta. Such a block is optional: it has a cap of its own, and
	// is refused when the stream that started the turn cannot draw it, unless it
	// is of ProducerMarkup: a card is what the installation has registered for
	// the text, and readers that do not draw it get what stands for it. Empty is
	// a block that a tool was asked for.
	Producer string
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

// Shown is a block as it was logged.
type Shown struct {
	ID string
	// Payload is what is shown, which may be less than what was given.
	Payload json.RawMessage
	// Left says of each item that was left out which it was and why, beginning
	// with the code of a Refusal; for the model.
	Left []string
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
	left  []string        // items of the payload that are not shown
	ended bool
	// unwritten says that the log does not know of the block yet.
	unwritten bool
	// place is the count that the block has a place in; nil for one that was
	// opened again.
	place *int
}

// lookup finds what an opening opens and refuses what this stream may not be
// shown. drawable says that the stream that started the turn draws it.
func (s *Stream) lookup(o Opening) (t block.Type, drawable bool, err error) {
	t, ok := s.cfg.Registry.Lookup(o.Type, o.Version)
	switch {
	case !ok:
		return t, false, refuse(CodeUnknownType, "There is no block type %s.", spelled(o.Type, o.Version))
	case o.Producer != "" && t.ServerOnly:
		return t, false, refuse(CodeUnknownType, "Blocks of the type %s are made by the server's own code only.", t.Name)
	}
	drawable = s.cfg.Caps.Can(t.Name, t.Version)
	if o.Producer != "" && o.Producer != ProducerMarkup && !drawable {
		return t, false, refuse(CodeNotSupported, "This client cannot draw %s; do not try it again in this answer.", t.Name)
	}
	return t, drawable, nil
}

// take makes a block and gives it its place among those of the turn. The lock
// is held.
func (s *Stream) take(o Opening, t block.Type, drawable bool) (*Block, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.terminal || s.closed {
		return nil, ErrClosed
	}
	b := &Block{s: s, id: o.ID, typ: t, meta: o.Meta, Drawable: drawable}
	if b.id == "" {
		n, most := &s.count, s.cfg.Cap
		if o.Producer != "" {
			n, most = &s.optional, s.cfg.OptionalCap
		}
		if *n >= most {
			return nil, refuse(CodeTurnCap, "This answer shows %d blocks already, as many as it may.", *n)
		}
		*n++
		b.place, b.id = n, id.New("b")
	}
	if b.meta.EstimatedHeight == 0 {
		b.meta.EstimatedHeight = t.Height
	}
	b.meta.Title, b.meta.Source = clip(b.meta.Title, MaxTitle), clip(b.meta.Source, MaxTitle)
	b.meta.Vendor = vendor(b.meta.Vendor)
	b.meta.Producer = o.Producer
	return b, nil
}

// Open writes block_start and returns the open block. *Refusal when the block
// may not be shown.
//
// Of a block whose type has Targets nothing is written before its end, and not
// then either when all of it is left out.
func (s *Stream) Open(o Opening) (*Block, error) {
	t, drawable, err := s.lookup(o)
	if err != nil {
		return nil, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	b, err := s.take(o, t, drawable)
	if err != nil {
		return nil, err
	}
	switch {
	case t.Targets != nil:
		b.unwritten = true
	case t.Name == "text" && b.place != nil:
		// Only one text may be open, and another tool may be about to show one:
		// this one is written when it is complete.
		b.unwritten = true
		err = s.endText()
	default:
		if err = b.session(); err == nil {
			if err = s.endText(); err == nil {
				err = b.start()
			}
		}
	}
	if err != nil {
		b.giveBack()
		return nil, err
	}
	s.keep(b)
	return b, nil
}

// Show writes a block that is complete at once: block_end without block_start.
// *Refusal when the block may not be shown; the log has no trace of it then.
func (s *Stream) Show(o Opening, f Finished) (Shown, error) {
	t, drawable, err := s.lookup(o)
	if err != nil {
		return Shown{}, err
	}
	payload, err := s.fit(t, f.Payload)
	if err != nil {
		return Shown{}, invalid(t, err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.admit()
	b, err := s.take(o, t, drawable)
	if err != nil {
		return Shown{}, err
	}
	b.unwritten = true
	s.keep(b)
	err = b.finish(payload, false, f)
	if errors.Is(err, ErrTooLarge) {
		err = invalid(t, err)
	}
	if err != nil {
		if b.unwritten {
			b.forget()
		}
		return Shown{}, err
	}
	return b.shown(), nil
}

// keep remembers a block that is open.
func (s *Stream) keep(b *Block) {
	s.open[b.id] = b
	s.order = append(s.order, b.id)
}

// fit is a payload as it is kept, after it was checked.
func (s *Stream) fit(t block.Type, payload json.RawMessage) (json.RawMessage, error) {
	clean, err := s.cfg.Registry.Clean(t.Name, t.Version, payload)
	if err != nil {
		return nil, err
	}
	if err := s.cfg.Registry.Validate(t.Name, t.Version, clean); err != nil {
		return nil, fmt.Errorf("payload of %s: %w", t.Name, err)
	}
	return clean, nil
}

func (b *Block) start() error {
	b.unwritten = false
	return b.s.putValue(event.BlockStart, b.id, event.BlockStartData{Type: b.typ.Name, Version: b.typ.Version, Meta: &b.meta})
}

// forget ends a block that the log does not know of and never will.
func (b *Block) forget() {
	b.end()
	b.giveBack()
}

// giveBack gives back the place of a block that is not shown.
func (b *Block) giveBack() {
	if b.place != nil {
		*b.place--
		b.place = nil
	}
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
	// Where its items lead is judged at the end: until then nobody sees them.
	if b.typ.Targets == nil || !b.unwritten {
		if err := b.writePatch(patch); err != nil {
			return err
		}
	}
	b.built = built
	return nil
}

// End cleans, validates and finishes the block. A payload that breaks its
// schema or is too large ends the block with block_error, and the error is
// returned. *Refusal when nothing of it may be shown.
func (b *Block) End(f Finished) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	b.s.admit()
	if b.ended || b.s.terminal {
		return ErrClosed
	}
	payload, built := f.Payload, false
	if payload == nil {
		payload, built = b.built, !b.unwritten
	}
	clean, err := b.s.fit(b.typ, payload)
	if err != nil {
		if b.unseen() {
			return b.drop(invalid(b.typ, err))
		}
		if failed := b.fail(block.Error{Code: block.CodeSchemaInvalid, Message: "The data does not have the shape of the type " + b.typ.Name + "."}, f.Fallback); failed != nil {
			return failed
		}
		return err
	}
	if built && !bytes.Equal(clean, payload) {
		built = false // what the deltas built must not stand
	}
	err = b.finish(clean, built, f)
	var refusal *Refusal
	switch {
	case errors.As(err, &refusal):
		return b.drop(refusal)
	case errors.Is(err, ErrTooLarge) && b.unseen():
		return b.drop(invalid(b.typ, err))
	case errors.Is(err, ErrTooLarge):
		if failed := b.fail(block.Error{Code: block.CodePayloadTooLarge, Message: "The data is too large to show."}, f.Fallback); failed != nil {
			return failed
		}
	}
	return err
}

// Shown returns what the block's end wrote.
func (b *Block) Shown() Shown {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.shown()
}

func (b *Block) shown() Shown { return Shown{ID: b.id, Payload: b.built, Left: b.left} }

// unseen says that nobody waits for the block: no tool was asked for it, and
// the log does not know of it.
func (b *Block) unseen() bool { return b.unwritten && b.meta.Producer != "" }

// drop ends a block that is not shown, and returns why.
func (b *Block) drop(why *Refusal) error {
	if !b.unwritten {
		// The message has begun to show it.
		return errors.Join(why, b.fail(block.Error{Code: block.CodeSchemaInvalid, Message: "There is nothing to show."}, ""))
	}
	b.forget()
	return why
}

// end takes the block out of those that are open.
func (b *Block) end() {
	b.ended = true
	delete(b.s.open, b.id)
}

// finish writes a payload that fits its type, without the items that may not
// be shown: *Refusal when none is left. built says that it is in the log
// already. ErrTooLarge leaves the log as it was.
func (b *Block) finish(payload json.RawMessage, built bool, f Finished) error {
	led, err := b.lead(payload)
	if err != nil {
		return err
	}
	if b.unwritten { // else it was asked when it was opened
		if err := b.session(); err != nil {
			return err
		}
	}
	if len(led.left) > 0 {
		// The words that were given speak of what is not there any more.
		payload, built, f.Fallback = led.payload, false, ""
	}
	b.mergeMeta(f.Meta)
	room := MaxPayload - vendorSize(b.meta.Vendor)
	var parts []json.RawMessage
	if len(payload) > room && !built {
		if parts, err = split(payload); err != nil {
			return fmt.Errorf("payload of %s has %d bytes, at most %d: %w", b.typ.Name, len(payload), room, err)
		}
		built = true
	}
	// Nobody else may lead there from now on, also while the log is waited for.
	before := b.s.claim(b.id, led.keys)
	if err := b.write(payload, parts, built && len(payload) > room, f); err != nil {
		b.s.claim(b.id, before)
		return err
	}
	b.built, b.left = payload, led.left
	return nil
}

// write writes the parts of a payload, if it has any, and the block's end.
func (b *Block) write(payload json.RawMessage, parts []json.RawMessage, built bool, f Finished) error {
	if b.unwritten {
		// It takes its place here, behind what was said before it.
		if err := b.s.endText(); err != nil {
			return err
		}
	}
	if len(parts) > 0 && b.unwritten {
		if err := b.start(); err != nil {
			return err
		}
	}
	// The patches are not applied here, which would read the whole payload for
	// each of them: split made them of it.
	for _, p := range parts {
		b.s.admit()
		if b.ended || b.s.terminal {
			return ErrClosed
		}
		if err := b.writePatch(p); err != nil {
			return err
		}
	}
	if f.Fallback == "" {
		f.Fallback = b.typ.Fallback(payload)
	}
	d := event.BlockEndData{
		Type: b.typ.Name, Version: b.typ.Version, Payload: payload,
		Fallback: clip(f.Fallback, MaxFallback), Actions: f.Actions, State: f.State, Meta: &b.meta,
	}
	if built {
		sum := sha256.Sum256(payload)
		d.Payload, d.Built, d.Digest = nil, true, "sha256:"+hex.EncodeToString(sum[:])
	}
	return b.close(event.BlockEnd, d)
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
		b.meta.Vendor = vendor(m.Vendor)
	}
	b.meta.CanRefresh = b.meta.CanRefresh || m.CanRefresh
}

// Fail ends the block with an error. One that no tool was asked for and that
// the log does not know of yet is gone without a trace.
func (b *Block) Fail(e block.Error, fallback string) error {
	b.s.mu.Lock()
	defer b.s.mu.Unlock()
	return b.fail(e, fallback)
}

func (b *Block) fail(e block.Error, fallback string) error {
	if b.ended || b.s.terminal {
		return ErrClosed
	}
	if b.unseen() {
		b.forget()
		return nil
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
	b.end()
	return nil
}
