package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
)

// What becomes of a card in the model's text, beside the reasons of package
// markup.
const (
	// CardShown is a card that is shown as it was meant.
	CardShown = "shown"
	// CardRefused is one of which the answer or the conversation has enough.
	CardRefused = "refused"
	// CardUnknown is one whose id the server does not know.
	CardUnknown = "unknown_id"
	// CardFailed is one whose data could not be fetched.
	CardFailed = "failed"
	// CardCut is one that the end of the turn came before.
	CardCut = "cut"
)

// maxCardNotes is how many lines the model is told of its cards at once.
const maxCardNotes = 10

// maxStreamed is how many bytes of patches show a card while it is written: a
// text that grows is in each of them.
const maxStreamed = 256 << 10

// maxCardNote is how many bytes each of them has.
const maxCardNote = 1 << 10

// cards is what a run makes of the cards in the model's text.
type cards struct {
	t     *run
	embed []markup.Syntax

	mu sync.Mutex
	// text and blocks count what the model's text has become so far: bytes of
	// text, and blocks.
	text, blocks int
	notes        []string         // for the model
	later        []string         // those of notes that it was not told in the turn, and that no block says
	record       []map[string]any // for the trajectory
	lookups      map[string]*lookup
	batches      map[string]*batch
	running      chan struct{}  // a place for each call of a resolver
	pending      sync.WaitGroup // cards that wait for their data
	waits        int            // how many
}

// embeds are the syntaxes in which the model may write cards; none where there
// are no cards.
func (r *Runner) embeds() []markup.Syntax {
	switch {
	case r.cfg.Cards.Len() == 0:
		return nil
	case r.cfg.Embed == nil:
		return []markup.Syntax{markup.Fence, markup.Placeholder}
	}
	return r.cfg.Embed
}

// newCards returns what makes cards of the model's text; nil where it has none,
// and all of it is text.
func (t *run) newCards() *cards {
	embed := t.r.embeds()
	if len(embed) == 0 {
		return nil
	}
	return &cards{
		t: t, embed: embed, lookups: make(map[string]*lookup), batches: make(map[string]*batch),
		running: make(chan struct{}, t.r.cfg.Limits.Parallel),
	}
}

// prompt is what the model is told of the cards that the client draws.
func (c *cards) prompt() string {
	if c == nil || c.t.r.cfg.Limits.Optional < 0 {
		return ""
	}
	s := c.t.r.cfg.Cards.Prompt(c.embed, func(t block.Type) bool { return c.t.caps.Can(t.Name, t.Version) })
	if s == "" {
		return ""
	}
	return s + fmt.Sprintf("\n\nAn answer shows at most %d cards.", c.t.r.cfg.Limits.Optional)
}

// told is what the next call tells the model of the cards that it has written.
func (c *cards) told() string {
	if c == nil {
		return ""
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.later = nil
	if len(c.notes) == 0 {
		return ""
	}
	return "\n\nOf the cards that you have written:\n- " + strings.Join(c.notes, "\n- ")
}

// noted are the lines of told.
func (c *cards) noted() []string {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.notes)
}

// resume goes on with what a turn had written before it paused.
func (c *cards) resume(w *written, notes []string) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.notes = notes
	if w != nil {
		c.text, c.blocks = w.Text, w.Blocks
	}
}

func (c *cards) note(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.add(&c.notes, fmt.Sprintf(format, args...))
}

// keep is note for what cannot be seen in the answer's blocks: where no call of
// the turn tells it, the next turn does.
func (c *cards) keep(format string, args ...any) {
	c.mu.Lock()
	defer c.mu.Unlock()
	text := fmt.Sprintf(format, args...)
	c.add(&c.notes, text)
	c.add(&c.later, text)
}

func (c *cards) add(to *[]string, text string) {
	if len(*to) < maxCardNotes {
		*to = append(*to, strings.Join(strings.Fields(clip(text, maxCardNote)), " "))
	}
}

// spoken is a message of an exchange as it is stored.
type spoken struct {
	model.Message
	// Notes, of the last one, are what the model is yet to be told of its cards.
	Notes []string `json:"cardNotes,omitempty"`
}

// withNotes is an exchange with what the next turn tells of its cards.
func (c *cards) withNotes(said []model.Message) []spoken {
	out := make([]spoken, len(said))
	for i, m := range said {
		out[i].Message = m
	}
	if last := len(out) - 1; c != nil && last >= 0 {
		c.mu.Lock()
		defer c.mu.Unlock()
		out[last].Notes = slices.Clone(c.later)
	}
	return out
}

// came records what became of a card.
func (c *cards) came(w *wording, outcome string) {
	c.t.r.cfg.Observer.Card(w.typ, outcome, len(w.draft.Dropped))
	entry := map[string]any{"card": w.name, "type": w.typ, "outcome": outcome}
	if w.block != nil {
		entry["block"] = w.block.ID()
	}
	if len(w.draft.Dropped) > 0 {
		entry["dropped"] = w.draft.Dropped
		c.keep("%s: %s is filled in by the server and was thrown away; leave it out.", w.name, strings.Join(w.draft.Dropped, ", "))
	}
	if len(w.draft.Unknown) > 0 {
		entry["unknown"] = w.draft.Unknown
	}
	if w.draft.Unversioned && !w.draft.Placeholder {
		entry["unversioned"] = true
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.record = append(c.record, entry)
}

// recorded takes what became of the cards since it was asked last.
func (c *cards) recorded() []map[string]any {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	taken := c.record
	c.record = nil
	return taken
}

// wording is a card as it is being written.
type wording struct {
	name   string
	typ    string // of the block
	title  string
	syntax markup.Syntax
	// late says that its block waits for its end, which tells its version.
	late bool
	card markup.Card
	// block is its block; nil for one that is not shown, for why.
	block *emit.Block
	why   error
	draft markup.Draft
	// mu guards what follows: a timer shows what has come too. stream makes
	// patches of the body while it is written; nil does not. sent is when it did so
	// last, size how large that patch was, and streamed how large all of them were.
	mu             sync.Mutex
	stream         *markup.CardStream
	sent           time.Time
	size, streamed int
	timer          *time.Timer
}

// The newest end of a long text is shown the less often the longer the text is:
// every patch has all of it. Each restEvery bytes of the last patch put it off by
// as much as patches are apart, restWait at least.
const (
	restEvery = 512
	restWait  = 30 * time.Millisecond
)

// push takes the next piece of the body. Patches of it are at least every apart,
// and what has come is shown in time though no more should come.
func (w *wording) push(text string, every time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.stream == nil {
		return
	}
	if w.stream.Push(text) != nil {
		w.stream = nil // the whole body is judged at its end
		return
	}
	w.show(every)
}

// show writes a patch of what has come, if it is time, and comes back later for
// what it leaves.
func (w *wording) show(every time.Duration) {
	due := func() (patch, rest time.Duration) {
		gone := time.Since(w.sent)
		return every - gone, max(every, restWait)*time.Duration(1+w.size/restEvery) - gone
	}
	patch, rest := due()
	var err error
	if rest <= 0 {
		err = w.stream.Flush()
	}
	if patch <= 0 && err == nil {
		var ops json.RawMessage
		if ops, err = w.stream.Take(); err == nil && ops != nil {
			w.sent, w.size, w.streamed = time.Now(), len(ops), w.streamed+len(ops)
			err = w.block.Delta(ops)
		}
	}
	if err != nil || w.streamed > maxStreamed {
		w.stream = nil
		return
	}
	if w.timer != nil || !w.stream.Behind() {
		return
	}
	if patch, rest = due(); patch <= 0 {
		patch = rest // only the rest is left
	}
	w.timer = time.AfterFunc(patch, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		w.timer = nil
		if w.stream != nil {
			w.show(every)
		}
	})
}

// written ends what shows the body while it is written.
func (w *wording) written() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.stream = nil
	if w.timer != nil {
		w.timer.Stop()
	}
}

// scribe takes the text of one model call apart: what is text goes on as text,
// and a card becomes a block where it stands.
type scribe struct {
	c      *cards
	ctx    context.Context
	reader *markup.Reader
	open   map[int]*wording
	// blank is what stands behind a card, or at the beginning, as long as it is
	// not seen: between two cards it is nothing.
	behind bool
	blank  []byte
	err    error
}

// scribe returns one for a model call; nil when all of its text is text.
func (c *cards) scribe(ctx context.Context) *scribe {
	if c == nil {
		return nil
	}
	s := &scribe{c: c, ctx: ctx, open: make(map[int]*wording), behind: true}
	s.reader = markup.NewReader(c.t.r.cfg.Cards, c.embed, s.found)
	return s
}

// write takes the next piece of the text.
func (s *scribe) write(text string) error {
	s.reader.Push(text)
	return s.err
}

// close ends the text of a call that came to resp and err.
func (s *scribe) close(resp model.Response, err error) error {
	reason := markup.Stop
	switch {
	case errors.Is(err, errOutputLimit), err == nil && resp.Finish == model.FinishLength:
		reason = markup.Length
	case err != nil, resp.Finish == model.FinishIncomplete, s.ctx.Err() != nil:
		reason = markup.Abort
	}
	s.reader.Close(reason)
	return s.err
}

func (s *scribe) found(f markup.Found) {
	if s.err != nil {
		return
	}
	switch f.Kind {
	case markup.Text:
		s.text(f.Text)
	case markup.Start:
		s.start(f)
	case markup.Delta:
		s.delta(f)
	case markup.End:
		s.end(f)
	case markup.Fallback:
		s.fallback(f)
	}
}

// text writes what is no card.
func (s *scribe) text(text string) {
	if s.behind {
		if strings.TrimFunc(text, unicode.IsSpace) == "" {
			s.blank = append(s.blank, text...)
			return
		}
		text = string(s.blank) + text
		s.behind, s.blank = false, nil
	}
	s.err = s.c.t.out.Text(text)
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.c.text += len(text)
}

// start opens the block of a card, so that its place is known before its data.
func (s *scribe) start(f markup.Found) {
	w := &wording{name: f.Written.Name, typ: block.TypeNameOf(f.Written.Name), title: f.Title, syntax: f.Syntax}
	s.open[f.ID] = w
	if versions := s.c.t.r.cfg.Cards.Versions(w.name); f.Syntax != markup.Placeholder && f.Written.Version == "" && !slices.Equal(versions, []int{1}) {
		w.late = true // the body may name one of them
		return
	}
	major, _, err := markup.Version(f.Written.Version)
	if err != nil {
		w.why = &markup.Failure{Reason: markup.SchemaInvalid, Err: err}
		return
	}
	s.begin(w, major)
}

// begin opens the block of a card of a version.
func (s *scribe) begin(w *wording, major int) {
	t := s.c.t
	w.late = false
	card, ok := t.r.cfg.Cards.Lookup(w.name, major)
	if !ok {
		// Why that is, its draft says.
		w.why = &markup.Failure{Reason: markup.VersionDowngrade, Err: fmt.Errorf("%s has no version %d", w.name, major)}
		return
	}
	w.card, w.typ = card, card.Type.Name
	b, err := t.out.Open(emit.Opening{
		Type: card.Type.Name, Version: card.Type.Version, Producer: emit.ProducerMarkup,
		Meta: block.Meta{Title: w.title, CanRefresh: t.r.cfg.Cards.Filled(card.Name, major, w.syntax)},
	})
	var refusal *emit.Refusal
	switch {
	case errors.As(err, &refusal):
		w.why = refusal
	case err != nil:
		s.err = err
	default:
		w.block = b
		s.behind, s.blank = true, nil
		s.c.mu.Lock()
		s.c.blocks++
		s.c.mu.Unlock()
		if card.Streaming && w.syntax == markup.Fence {
			w.stream = t.r.cfg.Cards.Stream(card.Name, major)
		}
	}
}

// late opens the block of a card that is whole, of the version that it names.
func (s *scribe) late(w *wording, draft markup.Draft, err error) {
	var failure *markup.Failure
	switch {
	case err == nil:
		s.begin(w, draft.Card.Type.Version)
	case errors.As(err, &failure) && failure.Reason == markup.VersionDowngrade:
		w.why = failure
	default:
		s.begin(w, 1)
	}
	w.stream = nil
}

// delta shows what of a card's body is known by now.
func (s *scribe) delta(f markup.Found) {
	if w := s.open[f.ID]; w != nil {
		w.push(f.Text, s.c.t.r.cfg.Limits.Coalesce)
	}
}

// end shows a card that is whole.
func (s *scribe) end(f markup.Found) {
	w := s.open[f.ID]
	delete(s.open, f.ID)
	if w == nil {
		return
	}
	w.written()
	c := s.c
	draft, err := c.t.r.cfg.Cards.Draft(f.Written)
	w.draft = draft
	source := draft.Shown(f.Source) // what is the server's is not shown in words either
	if w.late {
		s.late(w, draft, err)
		if s.err != nil {
			return
		}
	}
	if w.block == nil {
		s.refused(w, source)
		return
	}
	var failure *markup.Failure
	switch {
	case errors.As(err, &failure):
		s.fail(w, failure.Reason, failure, source)
		return
	case err != nil:
		s.fail(w, markup.SchemaInvalid, err, source)
		return
	}
	w.card = draft.Card
	if ids := draft.IDs(); len(ids) > 0 {
		c.hydrate(s.ctx, w, ids, source)
		return
	}
	err = c.finish(s.ctx, w, draft.Payload, block.Meta{})
	var refusal *emit.Refusal
	switch {
	case err == nil:
	case errors.As(err, &refusal):
		w.block, w.why = nil, refusal
		s.refused(w, source)
	case errors.Is(err, emit.ErrTooLarge):
		c.came(w, markup.TooLong)
	case errors.As(err, &failure):
		s.fail(w, failure.Reason, failure, source)
	default:
		s.err = err
	}
}

// fallback shows the source of a card that is none after all.
func (s *scribe) fallback(f markup.Found) {
	w := s.open[f.ID]
	delete(s.open, f.ID)
	if w == nil {
		s.text(f.Source)
		return
	}
	if w.late {
		s.begin(w, 1)
	}
	w.written()
	if s.err != nil {
		return
	}
	if w.block == nil {
		s.refused(w, f.Source)
		return
	}
	s.fail(w, f.Reason, errors.New(reasonWords[f.Reason]), f.Source)
}

// reasonWords say to the model what is wrong with a card.
var reasonWords = map[string]string{
	markup.BadJSON:      "the body is not valid JSON",
	markup.NotObject:    "the body is not one JSON object",
	markup.TooLong:      "the body is too long",
	markup.Unterminated: "it was not finished",
}

// refused shows the source of a card that may not be shown.
func (s *scribe) refused(w *wording, source string) {
	s.text(source)
	outcome := CardRefused
	var failure *markup.Failure
	if errors.As(w.why, &failure) {
		outcome = failure.Reason
	}
	s.c.came(w, outcome)
	s.c.keep("%s: its source stands in the text instead: %v", w.name, w.why)
}

// fail ends a card that cannot be shown, with its source in its place.
func (s *scribe) fail(w *wording, reason string, why error, source string) {
	e := block.Error{Code: block.CodeSchemaInvalid, Message: fmt.Sprintf("The card does not have the form of a %s.", w.name)}
	if s.ctx.Err() != nil {
		reason, e = CardCut, cutOff(s.ctx)
		e.Retryable = false // nothing is known of it that could be fetched
	}
	fallback := source
	if len(source) > emit.MaxFallback {
		fallback = ""
	}
	if err := w.block.Fail(e, fallback); err != nil {
		if !errors.Is(err, emit.ErrClosed) {
			s.err = err
		}
		return
	}
	if fallback != source {
		s.text(source) // nothing of it is lost
	}
	s.c.came(w, reason)
	s.c.note("%s: it is shown as an error with its source below: %s: %v", w.name, reason, why)
}

// cutOff says that the end of the turn came before the end of a card.
func cutOff(ctx context.Context) block.Error {
	e := interrupted(ctx).open
	if e.Code == "" {
		e = block.Error{Code: block.CodeInterrupted, Message: "The answer was interrupted."}
	}
	return e
}

// finish shows a card with its data. A *markup.Failure says that it does not
// fit its type; nothing is written then.
func (c *cards) finish(ctx context.Context, w *wording, payload json.RawMessage, meta block.Meta) error {
	t := c.t
	reg, typ := t.r.cfg.Registry, w.block.Type()
	clean, err := reg.Clean(typ.Name, typ.Version, payload)
	if err == nil {
		err = reg.Validate(typ.Name, typ.Version, clean)
	}
	if err != nil {
		return &markup.Failure{Reason: markup.SchemaInvalid, Err: err}
	}
	meta.SchemaMinor = w.draft.Minor
	f := emit.Finished{Payload: clean, Meta: meta}
	if w.card.Actions != nil {
		list, err := w.card.Actions(ctx, clean)
		if err != nil {
			t.log.Error("actions of a card", "card", w.name, "err", err)
		} else {
			f.Actions = (&sink{t: t, log: t.log.With("card", w.name)}).actions(typ, list)
		}
	}
	if err := w.block.End(f); err != nil {
		return err
	}
	c.came(w, CardShown)
	return nil
}

// written is how much of the message the model's text has become.
type written struct {
	Text   int `json:"text"`
	Blocks int `json:"blocks"`
}

// written is how much that is by now; nil where there are no cards.
func (c *cards) written() *written {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return &written{c.text, c.blocks}
}

// since is what the model wrote of a message behind what is known, its cards as
// they can be read from their blocks.
func (w written) since(blocks []block.Block, source func(b block.Block) string) string {
	var out strings.Builder
	text, cards := w.Text, w.Blocks // still to be passed over
	for _, b := range blocks {
		switch {
		case isModelText(b):
			var s string
			if json.Unmarshal(b.Payload, &s) != nil {
				continue
			}
			skip := min(text, len(s))
			text -= skip
			out.WriteString(s[skip:])
		case b.Meta != nil && b.Meta.Producer == emit.ProducerMarkup:
			if cards > 0 {
				cards--
				continue
			}
			out.WriteString(source(b))
		}
	}
	return out.String()
}

// cardSource returns what reads the source of a card from its block, of the
// messages of an owner.
func (r *Runner) cardSource(ctx context.Context, owner store.Owner) func(b block.Block) string {
	return func(b block.Block) string {
		switch {
		case b.Err == nil && len(b.Payload) > 0:
			return r.cfg.Cards.Source(b.Type, b.Version, b.Payload)
		case b.Fallback != "":
			return b.Fallback
		}
		var args cardArgs // one that had no data yet
		if call, err := r.cfg.Store.BlockCall(ctx, owner, b.ID); err == nil && json.Unmarshal(call.Arguments, &args) != nil {
			return ""
		}
		return args.Source
	}
}

// failedCards tells the model of the cards of its last answer that failed or
// were not shown, as far as it was not told then.
func (t *run) failedCards(path []store.Message) {
	if t.cards == nil {
		return
	}
	i := len(path) - 1
	for i >= 0 && path[i].Role != store.RoleAssistant {
		i--
	}
	if i < 0 {
		return
	}
	var said []struct {
		Notes []string `json:"cardNotes"`
	}
	if json.Unmarshal(path[i].Exchange, &said) == nil && len(said) > 0 {
		for _, line := range said[len(said)-1].Notes {
			t.cards.note("In your last answer: %s", line)
		}
	}
	for _, b := range path[i].Blocks {
		if b.Meta == nil || b.Meta.Producer != emit.ProducerMarkup || b.Err == nil || b.Err.Retryable || b.Err.Code == block.CodeCancelled {
			continue
		}
		source, _, _ := strings.Cut(string(bytes.TrimSpace([]byte(b.Fallback))), "\n")
		t.cards.note("In your last answer the card %s could not be shown: %s: %s Write it in the form that is described above.", source, b.Err.Code, b.Err.Message)
	}
}

// isModelText reports whether a block is text that the model wrote.
func isModelText(b block.Block) bool {
	return b.Type == "text" && (b.Meta == nil || b.Meta.ToolCallID == "")
}

// cardTool is how the store names what fetches the data of a card; no tool is
// called so.
const cardTool = "card:"

// cardArgs is how the data of a card is fetched again.
type cardArgs struct {
	Name    string          `json:"name"`
	Version int             `json:"version"`
	Minor   int             `json:"minor,omitempty"`
	ID      string          `json:"id,omitempty"` // of a placeholder
	Payload json.RawMessage `json:"payload,omitempty"`
	Source  string          `json:"source"`
}

// args is how the data of a card is fetched again.
func (w *wording) args(source string) cardArgs {
	a := cardArgs{Name: w.card.Name, Version: w.card.Type.Version, Minor: w.draft.Minor, Source: source}
	if w.draft.Placeholder {
		if ids := w.draft.IDs(); len(ids) == 1 {
			a.ID = ids[0]
		}
		return a
	}
	a.Payload = w.draft.Payload
	return a
}

// again is the card that a call of the store fetches.
func (a cardArgs) again(r *Runner) (markup.Draft, error) {
	return r.cfg.Cards.Draft(markup.Written{
		Name: a.Name, Version: fmt.Sprintf("%d.%d", a.Version, a.Minor), ID: a.ID, Body: slices.Clone(a.Payload),
	})
}
