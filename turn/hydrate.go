package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// batchWait is how long the ids of a card are gathered before they are asked
// for: a model writes several cards in a row.
const batchWait = 20 * time.Millisecond

// errHydrate is the cause of a resolver's end that took too long.
var errHydrate = errors.New("the data of the card took too long")

// errNothingSaid is about an id that a resolver neither found nor names among
// those that failed.
var errNothingSaid = errors.New("the resolver failed, and says nothing of this id")

// lookup is what a resolver says of one id, once done is closed.
type lookup struct {
	done chan struct{}
	data json.RawMessage // nil: there is nothing with the id
	err  error
}

// batch are the ids of one card that are asked for together.
type batch struct {
	card  markup.Card
	ids   []string
	asked map[string]*lookup
	timer *time.Timer
}

func lookupKey(c markup.Card, id string) string { return batchKey(c) + "\x00" + id }

func batchKey(c markup.Card) string { return fmt.Sprintf("%s@%d", c.Type.Name, c.Type.Version) }

// hydrate fills a card with the server's data while the model goes on. Its
// block keeps its place.
func (c *cards) hydrate(ctx context.Context, w *wording, ids []string, source string) {
	asked := c.ask(ctx, w.card, ids)
	c.mu.Lock()
	c.waits++
	c.mu.Unlock()
	c.pending.Go(func() {
		defer func() {
			c.mu.Lock()
			defer c.mu.Unlock()
			c.waits--
		}()
		c.keepCall(ctx, w, source)
		c.fill(ctx, w, ids, asked, source, block.Meta{FetchedAt: c.t.r.cfg.Now().UnixMilli(), CanRefresh: true})
	})
}

// keepCall stores how a card's data is fetched again.
func (c *cards) keepCall(ctx context.Context, w *wording, source string) {
	m := c.t.message
	args, err := jsonx.Marshal(w.args(source))
	if err == nil {
		err = c.t.r.cfg.Store.PutBlockCall(context.WithoutCancel(ctx), store.BlockCall{
			Block: w.block.ID(), Message: m.ID, Conversation: m.Conversation, Owner: m.Owner, Tool: cardTool + w.card.Name, Arguments: args,
		})
	}
	if err != nil && ctx.Err() == nil {
		c.t.log.Error("store how a card is filled", "block", w.block.ID(), "err", err)
	}
}

// ask asks for the data of ids, together with others of the same card. What
// the turn knows already is not asked for again.
func (c *cards) ask(ctx context.Context, card markup.Card, ids []string) []*lookup {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := make([]*lookup, len(ids))
	for i, id := range ids {
		key := lookupKey(card, id)
		l := c.lookups[key]
		if l == nil {
			l = &lookup{done: make(chan struct{})}
			c.lookups[key] = l
			b := c.batches[batchKey(card)]
			if b == nil {
				b = &batch{card: card, asked: make(map[string]*lookup)}
				b.timer = time.AfterFunc(batchWait, func() { c.send(ctx, b) })
				c.batches[batchKey(card)] = b
			}
			b.ids, b.asked[id] = append(b.ids, id), l
		}
		out[i] = l
	}
	return out
}

// flush asks for what is gathered without waiting for more.
func (c *cards) flush(ctx context.Context) {
	c.mu.Lock()
	var now []*batch
	for _, b := range c.batches {
		if b.timer.Stop() {
			now = append(now, b)
		}
	}
	c.mu.Unlock()
	for _, b := range now {
		go c.send(ctx, b)
	}
}

// send asks the resolver for a batch.
func (c *cards) send(ctx context.Context, b *batch) {
	c.mu.Lock()
	if c.batches[batchKey(b.card)] == b {
		delete(c.batches, batchKey(b.card))
	}
	c.mu.Unlock()
	var found map[string]json.RawMessage
	var err error
	select {
	case c.running <- struct{}{}:
		found, err = resolve(ctx, b.card, b.ids)
		<-c.running
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	var own markup.IDErrors
	if errors.As(err, &own) && !errors.Is(err, errHydrate) {
		err = errNothingSaid // of the others
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for id, l := range b.asked {
		switch data, ok := found[id]; {
		case !ok && own[id] != nil:
			l.err = own[id]
		case !ok:
			l.err = err
		case string(data) != "null":
			l.data = data
		}
		if l.err != nil {
			delete(c.lookups, lookupKey(b.card, id)) // the next card may have more luck
		}
		close(l.done)
	}
}

// resolve calls a card's resolver. Neither its panic nor its deafness to ctx
// can hold the turn.
func resolve(ctx context.Context, card markup.Card, ids []string) (map[string]json.RawMessage, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, card.Timeout, errHydrate)
	defer cancel()
	answer := new(map[string]json.RawMessage)
	err := tool.Guard(ctx, func() error {
		found, err := card.Resolve(ctx, ids)
		*answer = found
		return err
	})
	var found map[string]json.RawMessage
	if !errors.Is(err, tool.ErrLeft) { // else it may still be written
		found = *answer
	}
	if err != nil {
		if cause := context.Cause(ctx); cause != nil && !errors.Is(err, cause) {
			err = fmt.Errorf("%w: %w", cause, err)
		}
	}
	return found, err
}

// fill waits for the data of a card and shows it.
func (c *cards) fill(ctx context.Context, w *wording, ids []string, asked []*lookup, source string, meta block.Meta) string {
	found := make(map[string]json.RawMessage, len(ids))
	var err error
	for i, l := range asked {
		<-l.done // send closes it, whatever the resolver does
		if l.err != nil {
			err = l.err
		} else if l.data != nil {
			found[ids[i]] = l.data
		}
	}
	var payload json.RawMessage
	var missing []string
	if err == nil {
		payload, missing, err = w.draft.Fill(found)
	}
	if err == nil {
		if len(missing) > 0 {
			c.keep("%s: there is nothing with the id %s, which was left out.", w.name, strings.Join(missing, ", "))
		}
		err = c.finish(ctx, w, payload, meta)
	}
	if err == nil {
		return CardShown
	}
	e, outcome := c.why(ctx, err)
	// ErrClosed: what was wrong with it has ended it.
	if failed := w.block.Fail(e, source); failed != nil && !errors.Is(failed, emit.ErrClosed) {
		return CardCut // the log is lost, which the loop finds out itself
	}
	c.came(w, outcome)
	c.t.log.Warn("card not shown", "card", w.name, "outcome", outcome, "err", clip(err.Error(), maxCause))
	if outcome != CardCut {
		c.note("%s %s: it is shown as an error: %s %s Do not make up what it would have said.", w.name, strings.Join(ids, ", "), e.Code, e.Message)
	}
	return outcome
}

// why words for the user why a card has no data.
func (c *cards) why(ctx context.Context, err error) (block.Error, string) {
	var own *tool.Error
	var failure *markup.Failure
	switch {
	case ctx.Err() != nil:
		e := cutOff(ctx)
		e.Retryable = true
		return e, CardCut
	case errors.Is(err, markup.ErrUnknownID):
		return block.Error{Code: block.CodeNotFound, Message: "There is nothing with this id."}, CardUnknown
	case errors.As(err, &failure):
		return block.Error{Code: block.CodeSchemaInvalid, Message: "The data does not have the shape of the card."}, failure.Reason
	case errors.Is(err, emit.ErrTooLarge):
		return block.Error{Code: block.CodePayloadTooLarge, Message: "The data is too large to show."}, markup.TooLong
	case errors.Is(err, errHydrate), errors.Is(err, context.DeadlineExceeded), errors.As(err, &own) && own.Code == block.CodeToolTimeout:
		return block.Error{Code: block.CodeHydrateTimeout, Message: "The data did not arrive in time.", Retryable: true}, markup.HydrateTimeout
	case own != nil && isCode(own.Code) && own.Message != "":
		return block.Error{Code: own.Code, Message: own.Message, Retryable: own.Retryable}, CardFailed
	}
	return block.Error{Code: block.CodeDataFetchFailed, Message: noData, Retryable: true}, CardFailed
}

// wait waits until every card has its data, or has failed.
func (c *cards) wait(ctx context.Context) {
	if c == nil {
		return
	}
	c.mu.Lock()
	waits := c.waits
	c.mu.Unlock()
	if waits == 0 {
		return
	}
	c.flush(ctx)
	c.pending.Wait()
}

// complete ends the text of an answer, and waits for its cards.
func (c *cards) complete(ctx context.Context) error {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	waits := c.waits
	c.mu.Unlock()
	if waits == 0 {
		return nil
	}
	// Whoever reads along sees that nothing but the cards is missing.
	if err := c.t.out.EndText(); err != nil {
		return err
	}
	c.wait(ctx)
	return nil
}

// repeatableCard reads how a card was filled and checks that it may be filled
// again now.
func (r *Runner) repeatableCard(ctx context.Context, req BlockRequest, call store.BlockCall) (store.Message, block.Block, cardArgs, markup.Draft, error) {
	refuse := func(message string) (store.Message, block.Block, cardArgs, markup.Draft, error) {
		return store.Message{}, block.Block{}, cardArgs{}, markup.Draft{}, notAgain(req.Refresh, message)
	}
	m, b, err := r.settled(ctx, req, call)
	if err != nil {
		return m, b, cardArgs{}, markup.Draft{}, err
	}
	var args cardArgs
	if err := json.Unmarshal(call.Arguments, &args); err != nil {
		return refuse("How the card was filled cannot be read.")
	}
	draft, err := args.again(r)
	switch {
	case err != nil, draft.Card.Type.Version != b.Version, len(draft.IDs()) == 0:
		return refuse("The card does not exist any more, or nothing fills it.")
	case req.Refresh && b.Status != block.StatusDone:
		return refuse("The block cannot be refreshed.")
	case !req.Refresh && (b.Err == nil || !b.Err.Retryable):
		return refuse("The block cannot be tried again.")
	}
	return m, b, args, draft, nil
}

// rerunCard fetches the data of a card again.
func (r *Runner) rerunCard(ctx context.Context, req BlockRequest, call store.BlockCall) (Started, error) {
	var m store.Message
	var b block.Block
	var args cardArgs
	var draft markup.Draft
	lease, last, err := r.next(ctx, call.Message, 0, func() (err error) {
		m, b, args, draft, err = r.repeatableCard(ctx, req, call)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	t := r.newFollowUp(ctx, lease, last, m, req.Caller)
	return t.started(), r.launch(ctx, t, func(ctx context.Context, first chan<- error) ending {
		return t.refill(ctx, first, b, args, draft, req.Refresh)
	})
}

// refill is the body of a retry or refresh of a card.
func (t *run) refill(ctx context.Context, first chan<- error, b block.Block, args cardArgs, draft markup.Draft, refresh bool) ending {
	meta := block.Meta{}
	if b.Meta != nil {
		meta = *b.Meta
	}
	fresh := block.Meta{FetchedAt: t.r.cfg.Now().UnixMilli()}
	if refresh {
		fresh.RefreshedAt = fresh.FetchedAt
	}
	w := &wording{name: args.Name, typ: draft.Card.Type.Name, card: draft.Card, draft: draft}
	opened, err := t.out.Open(emit.Opening{ID: b.ID, Type: b.Type, Version: b.Version, Meta: meta, Producer: emit.ProducerMarkup})
	if err == nil {
		w.block = opened
		err = t.out.Flush(ctx)
	}
	if t.early(ctx, err) {
		first <- nil
		return interrupted(ctx)
	}
	first <- err
	if err != nil {
		if t.out.Err() != nil || errors.Is(err, emit.ErrClosed) {
			return ending{lost: true}
		}
		return failed(CodeInternal, "The block could not be opened again.", true)
	}
	c := &cards{t: t, lookups: make(map[string]*lookup), batches: make(map[string]*batch), running: make(chan struct{}, 1)}
	ids := draft.IDs()
	asked := c.ask(ctx, draft.Card, ids)
	c.flush(ctx)
	outcome := c.fill(ctx, w, ids, asked, args.Source, fresh)
	what := "retry"
	if refresh {
		what = "refresh"
	}
	t.step(trajectory.Turn{At: t.r.cfg.Now(), Extra: map[string]any{
		"msg_id": t.message.ID, "block_id": b.ID, "cause": what, "user": t.caller.User, "outcome": outcome, "cards": c.recorded(), "previous": previous(b, refresh),
	}})
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return ending{reason: event.FinishStop}
}
