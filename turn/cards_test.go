package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unicode"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// shop answers for the products of these tests, and keeps how it was asked.
type shop struct {
	mu    sync.Mutex
	asked []string
	// before is called before an answer, and may fail.
	before func(ctx context.Context, ids []string) error
}

func (s *shop) resolve(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	s.mu.Lock()
	s.asked = append(s.asked, tool.CallerFrom(ctx).User+":"+strings.Join(ids, ","))
	before := s.before
	s.mu.Unlock()
	if before != nil {
		if err := before(ctx, ids); err != nil {
			return nil, err
		}
	}
	found := make(map[string]json.RawMessage)
	for _, id := range ids {
		if strings.HasPrefix(id, "p-") {
			found[id] = json.RawMessage(fmt.Sprintf(`{"id":%q,"title":"Product %s","price":699,"currency":"CNY","stock":3}`, id, id))
		}
	}
	return found, nil
}

func (s *shop) then(before func(ctx context.Context, ids []string) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.before = before
}

func (s *shop) calls() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.asked)
}

// shopCards are a product, a list of products and a note, which nothing fills.
func shopCards(t testing.TB, s *shop, change ...func(c *markup.Card)) *markup.Cards {
	t.Helper()
	cards, err := markup.NewCards()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"ProductCard", "ProductList"} {
		c, err := markup.Preset(name)
		if err != nil {
			t.Fatal(err)
		}
		c.Resolve = s.resolve
		for _, f := range change {
			f(&c)
		}
		if err := cards.Add(c); err != nil {
			t.Fatal(err)
		}
	}
	note := markup.Card{
		Name: "NoteCard", Example: json.RawMessage(`{"text":"Remember."}`), Streaming: true,
		Type: block.Type{
			Schema:   json.RawMessage(`{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string","minLength":1},"secret":{"type":"string","x-source":"server"},"n":{"type":"number"}}}`),
			Fallback: func(p json.RawMessage) string { return "a note: " + string(p) },
		},
	}
	if err := cards.Add(note); err != nil {
		t.Fatal(err)
	}
	return cards
}

// outcomes keeps what became of cards.
type outcomes struct {
	observed
	cards   []string
	dropped int
}

func (o *outcomes) Card(typ, outcome string, dropped int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.cards = append(o.cards, strings.TrimPrefix(typ, "app.")+" "+outcome)
	o.dropped += dropped
}

func (o *outcomes) came() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	slices.Sort(o.cards)
	return strings.Join(o.cards, ", ")
}

type cardRig struct {
	*rig
	shop *shop
	seen *outcomes
}

// withCards is a rig with the cards of the shop, of which an answer may have as
// many as it likes.
func withCards(t *testing.T, cfg turn.Config, steps ...step) *cardRig {
	t.Helper()
	r := &cardRig{shop: &shop{}, seen: &outcomes{}}
	if cfg.Cards == nil {
		cfg.Cards = shopCards(t, r.shop)
	}
	if cfg.Limits.Optional == 0 {
		cfg.Limits.Optional = 20
	}
	cfg.Observer = r.seen
	r.rig = newRig(t, cfg, []tool.Tool{okTool(t)}, steps...)
	return r
}

func fence(name, body string) string { return "```" + name + "\n" + body + "\n```\n" }

// saidLast is what the model is shown of its last answer.
func (r *rig) saidLast() string {
	r.t.Helper()
	reqs := r.model.requests()
	said := ""
	for _, m := range reqs[len(reqs)-1].Messages {
		if m.Role == model.RoleAssistant {
			said = m.Content
		}
	}
	return said
}

// systemLast is the system prompt of the last request.
func (r *rig) systemLast() string {
	reqs := r.model.requests()
	return reqs[len(reqs)-1].Messages[0].Content
}

func TestCardStandsWhereItWasWritten(t *testing.T) {
	said := "This one:\n\n" + fence("ProductCard", `{"id":"p-1","title":"Mine","reason":"Light.","price":1,"stock":99}`) + "\nIt is light.\n"
	for _, each := range []int{0, 1, 7} {
		r := withCards(t, turn.Config{}, step{text: said, each: each})
		s, _, st := r.ask("which?")
		if got := text(st); got != "This one:\n\n|<app.product_card done>|\nIt is light.\n" {
			t.Fatalf("%q", got)
		}
		b := st.Blocks[1]
		if want := `{"currency":"CNY","id":"p-1","price":699,"reason":"Light.","stock":3,"title":"Product p-1"}`; string(b.Payload) != want {
			t.Errorf("payload %s, want %s", b.Payload, want)
		}
		if b.Meta.Producer != emit.ProducerMarkup || !b.Meta.CanRefresh || !strings.Contains(b.Fallback, "699") || b.Meta.FetchedAt == 0 {
			t.Errorf("%+v %q", b.Meta, b.Fallback)
		}
		if got := r.shop.calls(); len(got) != 1 || got[0] != "alice:p-1" {
			t.Errorf("asked %v", got)
		}
		if r.seen.came() != "product_card shown" || r.seen.dropped != 2 {
			t.Errorf("%s, dropped %d", r.seen.came(), r.seen.dropped)
		}
		// The model sees what it wrote, and learns the form.
		r.model.steps = []step{{text: "Yes."}}
		r.wait(r.start(turn.Request{Text: "sure?", Conversation: s.Conversation}))
		if got := r.saidLast(); got != said {
			t.Errorf("the model is shown %q", got)
		}
		if got := r.systemLast(); !strings.Contains(got, "## ProductCard") || !strings.Contains(got, "at most 20 cards") {
			t.Errorf("prompt %s", got)
		}
	}
}

// A placeholder is a skeleton at once; the text goes on, and what comes late
// comes to its place.
func TestPlaceholderIsFilledLate(t *testing.T) {
	gate := make(chan struct{})
	r := withCards(t, turn.Config{}, step{text: "Take [(ProductCard:p-1)] or [(ProductCard:p-2)], or [(ProductCard:p-1)] again."})
	r.shop.then(func(context.Context, []string) error { <-gate; return nil })
	s := r.start(turn.Request{Text: "which?"})
	deadline := time.Now().Add(10 * time.Second)
	for {
		st, err := event.Fold(r.store.Read(t.Context(), s.Msg, 0))
		if err == nil && strings.HasSuffix(text(st), " again.") {
			if got := text(st); got != "Take |<app.product_card loading>| or |<app.product_card loading>|, or |<app.product_card loading>| again." {
				t.Fatalf("%q", got)
			}
			if st.Status != event.StatusRunning {
				t.Fatalf("the turn has ended before its cards: %s", st.Status)
			}
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("%q, %v", text(st), err)
		}
		time.Sleep(time.Millisecond)
	}
	close(gate)
	evs, st := r.wait(s)
	if got := text(st); got != "Take |<app.product_card done>| or |<app.product_card done>|, or |<app.product_card done>| again." {
		t.Errorf("%q", got)
	}
	if got := r.shop.calls(); len(got) != 1 || got[0] != "alice:p-1,p-2" {
		t.Errorf("asked %v", got)
	}
	// All of the text is said before the cards are waited for.
	last := slices.IndexFunc(evs, func(e event.Event) bool { return e.Type == event.BlockEnd })
	if !slices.ContainsFunc(evs[:last], func(e event.Event) bool { return e.Type == event.TextEnd && e.Block == st.Blocks[6].ID }) {
		t.Errorf("the text ends after the cards: %s", types(evs))
	}
}

// What the turn knows is not asked for twice, and the model is told of what
// there is not.
func TestCardsOfSeveralSteps(t *testing.T) {
	r := withCards(t, turn.Config{},
		step{text: "[(ProductCard:p-1)] and [(ProductCard:x)]", calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}},
		step{text: "[(ProductCard:p-1)]\n\n" + fence("ProductList", `{"items":[{"id":"p-1"},{"id":"p-2","reason":"r"},{"id":"y"}]}`)})
	_, _, st := r.ask("which?")
	if got := text(st); got != "<app.product_card done>| and |<app.product_card error>|<chart done>|<app.product_card done>|<app.product_list done>" {
		t.Fatalf("%q", got)
	}
	if b := st.Blocks[2]; b.Err.Code != block.CodeNotFound || b.Err.Retryable || b.Fallback != "[(ProductCard:x)]" {
		t.Errorf("%+v %q", b.Err, b.Fallback)
	}
	var l block.ProductList
	if err := json.Unmarshal(st.Blocks[5].Payload, &l); err != nil || len(l.Items) != 2 || l.Items[1].Reason != "r" || *l.Items[1].Price != 699 {
		t.Errorf("%s %v", st.Blocks[5].Payload, err)
	}
	if got := r.systemLast(); !strings.Contains(got, "ProductCard x: it is shown as an error: NOT_FOUND") {
		t.Errorf("the model is not told: %s", got)
	}
	// The list is another card, with a resolver of its own.
	if got := r.shop.calls(); len(got) != 2 || got[0] != "alice:p-1,x" || got[1] != "alice:p-1,p-2,y" {
		t.Errorf("asked %v", got)
	}
	if got := r.seen.came(); got != "product_card shown, product_card shown, product_card unknown_id, product_list shown" {
		t.Errorf("%s", got)
	}
}

// A card that cannot be shown is an error with its source in its place, and the
// rest of the answer stands.
func TestFailedCards(t *testing.T) {
	long := `{"text":"` + strings.Repeat("a", 70<<10) + `"}`
	for name, c := range map[string]struct {
		body, reason string
		code         string
	}{
		"bad JSON":   {`{"text":}`, "bad_json", block.CodeSchemaInvalid},
		"no object":  {`["a"]`, "not_object", block.CodeSchemaInvalid},
		"schema":     {`{"text":5}`, "schema", block.CodeSchemaInvalid},
		"unknown":    {`{"text":"a","colour":"red"}`, "schema", block.CodeSchemaInvalid},
		"missing":    {`{}`, "schema", block.CodeSchemaInvalid},
		"major":      {`{"schemaVersion":"2.0","text":"a"}`, "version_downgrade", block.CodeSchemaInvalid},
		"too long":   {long, "too_long", block.CodeSchemaInvalid},
		"large bad":  {`{"text":"` + strings.Repeat("a", 5<<10) + `"`, "bad_json", block.CodeSchemaInvalid},
		"wrong name": {`{"type":"OtherCard","data":{}}`, "schema", block.CodeSchemaInvalid},
	} {
		t.Run(name, func(t *testing.T) {
			source := fence("NoteCard", c.body)
			r := withCards(t, turn.Config{}, step{text: "Look:\n" + source + "After.", each: 1000})
			s, _, st := r.ask("note?")
			b := st.Blocks[1]
			if b.Type != "app.note_card" || b.Err == nil || b.Err.Code != c.code || b.Err.Retryable {
				t.Fatalf("%s %+v", text(st), b.Err)
			}
			if got := written(st); got != squeeze("Look:\n"+source+"After.") {
				t.Errorf("of the text %d bytes are left, of %d", len(got), len(source))
			}
			if got := r.seen.came(); got != "note_card "+c.reason {
				t.Errorf("%s, want %s", got, c.reason)
			}
			r.model.steps = []step{{text: "Yes."}}
			r.wait(r.start(turn.Request{Text: "sure?", Conversation: s.Conversation}))
			if got := r.systemLast(); !strings.Contains(got, "could not be shown: SCHEMA_INVALID") {
				t.Errorf("the model is not told of it: %s", got)
			}
		})
	}
}

func TestCardsAtTheEnd(t *testing.T) {
	for name, c := range map[string]struct {
		step step
		want string
		came string
	}{
		"unclosed":  {step{text: "a\n```NoteCard\n{\"text\":\"x\"}"}, "a\n|<app.note_card done>", "note_card shown"},
		"cut":       {step{text: "a\n```NoteCard\n{\"text\":\"x\"}", finish: model.FinishLength}, "a\n|<app.note_card error>", "note_card unterminated"},
		"half":      {step{text: "a\n```NoteCard\n{\"text\":"}, "a\n|<app.note_card error>", "note_card unterminated"},
		"half name": {step{text: "a [(ProductCard:p"}, "a [(ProductCard:p", ""},
		"failure":   {step{text: "a\n```NoteCard\n{\"text\":\"x\"", err: &model.Error{Code: model.CodeUnavailable}}, "a\n|<app.note_card error>", "note_card unterminated"},
	} {
		r := withCards(t, turn.Config{}, c.step)
		_, _, st := r.ask("go")
		if got := text(st); got != c.want || r.seen.came() != c.came {
			t.Errorf("%s: %q, %s", name, got, r.seen.came())
		}
	}
}

// What may not be shown is the text that it was written as, without what only
// the server may say, and the model is told.
func TestRefusedCards(t *testing.T) {
	two := fence("NoteCard", `{"text":"1"}`) + "b\n" + fence("NoteCard", `{"text":"2"}`)
	r := withCards(t, turn.Config{Limits: turn.Limits{Optional: 1}},
		step{text: two, calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Done."})
	_, _, st := r.ask("go")
	if got := text(st); got != "<app.note_card done>|b\n"+fence("NoteCard", `{"text":"2"}`)+"|<chart done>|Done." {
		t.Errorf("%q", got)
	}
	if got := r.systemLast(); !strings.Contains(got, "NoteCard: its source stands in the text instead: ui_block_turn_cap_reached") {
		t.Errorf("the model is not told: %s", got)
	}
	if got := r.seen.came(); got != "note_card refused, note_card shown" {
		t.Errorf("%s", got)
	}
}

// A card is what the installation has registered: one that the client which asked
// does not draw is a block with its data all the same, and whoever does not draw it
// reads the words that stand for it. Its source stands where it is no card.
func TestCardsThatTheClientDoesNotDraw(t *testing.T) {
	r := withCards(t, turn.Config{}, step{text: "a\n" + fence("NoteCard", `{"text":"1","secret":"made up"}`) + "b [(ProductCard:p-1)] " + fence("NoteCard", `{"secret":`)})
	s := r.start(turn.Request{Text: "go", Caps: caps(t, "chart@1")})
	_, st := r.wait(s)
	if got := text(st); got != "a\n|<app.note_card done>|b |<app.product_card done>| "+fence("NoteCard", `{"secret":`) {
		t.Errorf("%q", got)
	}
	for _, b := range st.Blocks {
		if b.Type == "app.product_card" && (strings.Contains(b.Fallback, "ProductCard") || !strings.Contains(b.Fallback, "699")) {
			t.Errorf("the words of the card are %q", b.Fallback)
		}
		if strings.Contains(string(b.Payload)+b.Fallback, "made up") {
			t.Errorf("what is the server's is kept: %s %q", b.Payload, b.Fallback)
		}
	}
	if got := r.seen.came(); got != "note_card shown, product_card shown" {
		t.Errorf("%s", got)
	}
	if strings.Contains(r.systemLast(), "Card") {
		t.Error("the model is told of cards that the client does not draw")
	}
}

// What was refused in the last step of an answer the model is told in the next
// turn, once; what it was told at once it is not told again.
func TestRefusedCardsAreToldLater(t *testing.T) {
	two := fence("NoteCard", `{"text":"1"}`) + "b\n" + fence("NoteCard", `{"text":"2"}`)
	r := withCards(t, turn.Config{Limits: turn.Limits{Optional: 1}}, step{text: two}, step{text: "Yes."}, step{text: "Well."})
	s, _, _ := r.ask("go")
	const line = "In your last answer: NoteCard: its source stands in the text instead: ui_block_turn_cap_reached"
	if got := r.systemLast(); strings.Contains(got, line) {
		t.Errorf("it is told before it happened: %s", got)
	}
	again := func(want bool, why string) {
		t.Helper()
		s = r.start(turn.Request{Text: "and?", Conversation: s.Conversation})
		r.wait(s)
		if got := r.systemLast(); strings.Count(got, line) != map[bool]int{true: 1}[want] {
			t.Errorf("%s: %s", why, got)
		}
	}
	again(true, "the next turn is not told once")
	again(false, "a later turn is told too")

	r = withCards(t, turn.Config{Limits: turn.Limits{Optional: 1}},
		step{text: two, calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: "Done."}, step{text: "Yes."})
	s, _, _ = r.ask("go")
	again(false, "what was told in the turn is told again")

	r = withCards(t, turn.Config{}, step{text: fence("ProductCard", `{"id":"p-1","price":1}`)}, step{text: "Yes."})
	s, _, _ = r.ask("go")
	s = r.start(turn.Request{Text: "and?", Conversation: s.Conversation, Caps: caps(t, "chart@1")})
	r.wait(s)
	if got := r.systemLast(); !strings.Contains(got, "In your last answer: ProductCard: /price is filled in by the server") {
		t.Errorf("it is not told what was thrown away: %s", got)
	}
}

// Without cards, and where they are switched off, text is text.
func TestNoCards(t *testing.T) {
	said := "a [(ProductCard:p-1)]\n" + fence("NoteCard", `{"text":"1"}`)
	for name, r := range map[string]*rig{
		"none": newRig(t, turn.Config{}, nil, step{text: said, each: 3}),
		"off":  withCards(t, turn.Config{Embed: []markup.Syntax{}}, step{text: said, each: 3}).rig,
	} {
		_, _, st := r.ask("go")
		if got := text(st); got != said || strings.Contains(r.systemLast(), "NoteCard") {
			t.Errorf("%s: %q", name, got)
		}
	}
	r := withCards(t, turn.Config{Embed: []markup.Syntax{markup.Placeholder}}, step{text: said})
	if _, _, st := r.ask("go"); text(st) != "a |<app.product_card done>|\n"+fence("NoteCard", `{"text":"1"}`) {
		t.Errorf("placeholders only: %q", text(st))
	}
}

// Data that is late, fails or makes no sense leaves a block that can be tried
// again, and a retry fills it.
func TestResolverFails(t *testing.T) {
	for name, c := range map[string]struct {
		before func(ctx context.Context, ids []string) error
		code   string
		came   string
	}{
		"slow":   {func(ctx context.Context, _ []string) error { <-ctx.Done(); return ctx.Err() }, block.CodeHydrateTimeout, "hydrate_timeout"},
		"deaf":   {func(context.Context, []string) error { <-t.Context().Done(); return nil }, block.CodeHydrateTimeout, "hydrate_timeout"},
		"fails":  {func(context.Context, []string) error { return errBackend }, block.CodeDataFetchFailed, "failed"},
		"panics": {func(context.Context, []string) error { panic("no") }, block.CodeDataFetchFailed, "failed"},
		"busy": {func(context.Context, []string) error {
			return &tool.Error{Code: "SHOP_BUSY", Message: "The shop is busy.", Retryable: true}
		}, "SHOP_BUSY", "failed"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &shop{before: c.before}
			r := withCards(t, turn.Config{Cards: shopCards(t, s, func(c *markup.Card) { c.Timeout = 30 * time.Millisecond })},
				step{text: "a\n" + fence("ProductCard", `{"id":"p-1","title":"Mine","price":5}`) + "b"})
			_, _, st := r.ask("go")
			b := st.Blocks[1]
			if b.Err == nil || b.Err.Code != c.code || !b.Err.Retryable || strings.Contains(b.Err.Message, "10.0.0.1") {
				t.Fatalf("%+v", b.Err)
			}
			if strings.Contains(b.Fallback, "price") || !strings.Contains(b.Fallback, "Mine") {
				t.Errorf("fallback %q", b.Fallback)
			}
			if got := r.seen.came(); got != "product_card "+c.came {
				t.Errorf("%s", got)
			}
			s.then(nil)
			again, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Caller: tool.Caller{User: "alice"}, Block: b.ID})
			if err != nil {
				t.Fatal(err)
			}
			_, st = r.wait(again)
			if b = st.Blocks[1]; b.Status != block.StatusDone || !strings.Contains(string(b.Payload), `"price":699`) || b.Meta.Producer != emit.ProducerMarkup {
				t.Errorf("after the retry: %s %s", b.Status, b.Payload)
			}
			if st.Status != event.StatusDone || text(st) != "a\n|<app.product_card done>|b" {
				t.Errorf("%s %q", st.Status, text(st))
			}
			if _, err = r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: b.ID}); code(err) != turn.CodeNotRetryable {
				t.Errorf("a retry of what is shown: %v", err)
			}
			if again, err = r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: b.ID, Refresh: true}); err != nil {
				t.Fatal(err)
			}
			if _, st = r.wait(again); st.Blocks[1].Meta.RefreshedAt == 0 || st.Blocks[1].Status != block.StatusDone {
				t.Errorf("after the refresh: %+v", st.Blocks[1].Meta)
			}
			if _, err = r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: store.Owner{Tenant: "t1", User: "eve"}, Block: b.ID}); code(err) != turn.CodeNotFound {
				t.Errorf("somebody else's: %v", err)
			}
		})
	}
}

func code(err error) string {
	var te *turn.Error
	if errors.As(err, &te) {
		return te.Code
	}
	return ""
}

// A refresh that fails leaves what was shown.
func TestCardRefreshFails(t *testing.T) {
	r := withCards(t, turn.Config{}, step{text: "[(ProductCard:p-1)]"})
	_, _, st := r.ask("go")
	was := st.Blocks[0].Payload
	r.shop.then(func(context.Context, []string) error { return errBackend })
	again, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: st.Blocks[0].ID, Refresh: true})
	if err != nil {
		t.Fatal(err)
	}
	if _, st = r.wait(again); string(st.Blocks[0].Payload) != string(was) || st.Blocks[0].Err == nil {
		t.Errorf("%s %+v", st.Blocks[0].Payload, st.Blocks[0].Err)
	}
}

// A stop ends the cards that wait, as something that can be tried again.
func TestStopWhileCardsWait(t *testing.T) {
	asked := make(chan struct{}, 1)
	r := withCards(t, turn.Config{}, step{text: "a [(ProductCard:p-1)] b"})
	r.shop.then(func(ctx context.Context, _ []string) error {
		asked <- struct{}{}
		<-ctx.Done()
		return ctx.Err()
	})
	s := r.start(turn.Request{Text: "go"})
	<-asked
	if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
		t.Fatal(err)
	}
	_, st := r.wait(s)
	b := st.Blocks[1]
	if st.Status != event.StatusCancelled || b.Err == nil || b.Err.Code != block.CodeCancelled || !b.Err.Retryable {
		t.Fatalf("%s %s %+v", st.Status, text(st), b.Err)
	}
	if r.seen.came() != "product_card cut" {
		t.Errorf("%s", r.seen.came())
	}
	r.shop.then(nil)
	again, err := r.runner.Rerun(t.Context(), turn.BlockRequest{Owner: alice, Block: b.ID})
	if err != nil {
		t.Fatal(err)
	}
	if _, st = r.wait(again); text(st) != "a |<app.product_card done>| b" || st.Status != event.StatusCancelled {
		t.Errorf("%s %q", st.Status, text(st))
	}
	// A stop while a card is being written leaves what there is of it.
	r = withCards(t, turn.Config{}, step{text: "a\n```NoteCard\n{\"text\":\"x", hold: true})
	s = r.start(turn.Request{Text: "go"})
	waitFor(t, func() bool {
		st, err := event.Fold(r.store.Read(t.Context(), s.Msg, 0))
		return err == nil && len(st.Blocks) == 2
	})
	if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
		t.Fatal(err)
	}
	_, st = r.wait(s)
	if b := st.Blocks[1]; b.Err == nil || b.Err.Code != block.CodeCancelled || b.Fallback != "```NoteCard\n{\"text\":\"x" {
		t.Errorf("%s %+v %q", text(st), b.Err, b.Fallback)
	}
}

func waitFor(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(10 * time.Second); !ok(); {
		if time.Now().After(end) {
			t.Fatal("it does not come")
		}
		time.Sleep(time.Millisecond)
	}
}

// A card that streams is built by patches, none of which has what only the
// server may say.
func TestStreamingCard(t *testing.T) {
	r := withCards(t, turn.Config{}, step{text: fence("NoteCard", `{"secret":"made up","text":"A longer \u4e2d note.","n":1200,"colour":"red"}`), each: 3})
	_, evs, st := r.ask("go")
	var patches []string
	for _, e := range evs {
		if e.Type == event.BlockDelta {
			patches = append(patches, string(e.Data))
		}
	}
	all := strings.Join(patches, "\n")
	if len(patches) < 3 || strings.Contains(all, "made") || strings.Contains(all, "red") || strings.Contains(all, `:12}`) || strings.Contains(all, `:120}`) {
		t.Errorf("%s", all)
	}
	// colour is not in the schema.
	if st.Blocks[0].Err == nil || r.seen.came() != "note_card schema" {
		t.Errorf("%s", text(st))
	}
	r = withCards(t, turn.Config{}, step{text: fence("NoteCard", `{"secret":"made up","text":"A longer note.","n":1200}`), each: 3})
	if _, _, st = r.ask("go"); text(st) != "<app.note_card done>" || string(st.Blocks[0].Payload) != `{"n":1200,"text":"A longer note."}` {
		t.Errorf("%s %s", text(st), st.Blocks[0].Payload)
	}
	// One that grows without end is shown whole, at its end.
	r = withCards(t, turn.Config{}, step{text: fence("NoteCard", `{"text":"`+strings.Repeat("long ", 8<<10)+`"}`), each: 50})
	_, evs, st = r.ask("go")
	size := 0
	for _, e := range evs {
		size += len(e.Data)
	}
	if text(st) != "<app.note_card done>" || size > 1<<20 {
		t.Errorf("%s, %d bytes of log", text(st), size)
	}
}

// What has come of a body is shown in time though the model pauses: in few
// patches while it writes, and the last of it without more.
func TestStreamingCardWhileTheModelPauses(t *testing.T) {
	begun := "```NoteCard\n{\"text\":\"" + strings.Repeat("A longer note. ", 40)
	r := withCards(t, turn.Config{Limits: turn.Limits{Coalesce: 100 * time.Millisecond}}, step{text: begun + "Seen", each: 4, hold: true})
	s := r.start(turn.Request{Text: "go"})
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	defer cancel()
	patches, seen := 0, false
	f := event.NewFolder(s.Msg)
	for e, err := range r.store.Tail(ctx, s.Msg, 0) {
		if err != nil {
			t.Fatalf("after %d patches the last of the body is not shown: %v: %+v", patches, err, f.State().Blocks)
		}
		f.Apply(e)
		if e.Type != event.BlockDelta {
			continue
		}
		patches++
		if b := f.State().Blocks[0]; strings.Contains(string(b.Payload), "Seen") {
			seen = true
			break
		}
	}
	if !seen || patches > 10 {
		t.Errorf("seen %v, in %d patches", seen, patches)
	}
	if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
		t.Fatal(err)
	}
	if _, st := r.wait(s); st.Blocks[0].Err == nil {
		t.Errorf("%s", text(st))
	}
}

// The limit of an answer holds for cards as it does for text.
func TestCardsHaveTheLimitOfOutput(t *testing.T) {
	r := withCards(t, turn.Config{Limits: turn.Limits{OutputBytes: 1000}}, step{text: "a\n" + fence("NoteCard", `{"text":"`+strings.Repeat("x", 5000)+`"}`), each: 10})
	_, _, st := r.ask("go")
	if st.FinishReason != event.FinishLength || st.Blocks[1].Err == nil || r.seen.came() != "note_card unterminated" {
		t.Errorf("%s %s %s", st.FinishReason, text(st), r.seen.came())
	}
}

// A turn that waits for a person has its cards, and goes on after them.
func TestCardsAndAPause(t *testing.T) {
	var b bank
	s := &shop{}
	r := &cardRig{shop: s, seen: &outcomes{}}
	cfg := turn.Config{Cards: shopCards(t, s), Observer: r.seen, Limits: turn.Limits{Optional: 5}}
	r.rig = newRig(t, cfg, []tool.Tool{b.tool(t)},
		step{text: "[(ProductCard:p-1)]\n[(ProductCard:x)]", calls: []model.Call{pay("c1", "Ann", 50)}}, step{text: "Paid. [(ProductCard:p-2)]"})
	started, _, st := r.ask("go")
	if st.Status != event.StatusPaused || !strings.HasPrefix(text(st), "<app.product_card done>|<app.product_card error>|<confirm") {
		t.Fatalf("%s %q", st.Status, text(st))
	}
	q := questions(st)[0]
	again, err := r.runner.Answer(t.Context(), turn.AnswerRequest{Owner: alice, Caller: tool.Caller{User: "alice"}, Msg: started.Msg, Block: q.ID, Action: tool.Approve})
	if err != nil {
		t.Fatal(err)
	}
	_, st = r.wait(again)
	if got := text(st); !strings.HasSuffix(got, "|Paid. |<app.product_card done>") {
		t.Errorf("%q", got)
	}
	if !strings.Contains(r.systemLast(), "ProductCard x: it is shown as an error") {
		t.Error("the model is not told after the pause")
	}
	m, err := r.store.Message(t.Context(), alice, started.Msg)
	if err != nil {
		t.Fatal(err)
	}
	var said []model.Message
	if err := json.Unmarshal(m.Exchange, &said); err != nil {
		t.Fatal(err)
	}
	if len(said) != 3 || said[0].Content != "[(ProductCard:p-1)]\n[(ProductCard:x)]" || said[2].Content != "Paid. [(ProductCard:p-2)]" {
		t.Errorf("said %+v", said)
	}
}

// The trajectory says what became of every card.
func TestTrajectoryHasTheCards(t *testing.T) {
	r := withCards(t, turn.Config{}, step{text: "[(ProductCard:p-1)]\n" + fence("NoteCard", `{"text":"x","secret":"s"}`)})
	s, _, st := r.ask("go")
	raw, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"outcome":"shown"`, `"card":"ProductCard"`, `"dropped":["/secret"]`, `"unversioned":true`, `"block":"` + st.Blocks[1].ID + `"`} {
		if !strings.Contains(compacted(t, raw), want) {
			t.Errorf("the trajectory lacks %s:\n%s", want, raw)
		}
	}
}

func compacted(t *testing.T, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func squeeze(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsSpace(r) {
			return -1
		}
		return r
	}, s)
}

// written is what a message's texts and the sources of its failed cards say,
// without blanks.
func written(st event.State) string {
	var b strings.Builder
	for _, bl := range st.Blocks {
		switch {
		case bl.Type == "text":
			var s string
			_ = json.Unmarshal(bl.Payload, &s)
			b.WriteString(s)
		default:
			b.WriteString(bl.Fallback)
		}
	}
	return squeeze(b.String())
}

// Whatever the model writes, however it is cut, the log is lawful, nothing of
// it is lost, and what only the server may say is never the model's.
func TestCardsAreLawful(t *testing.T) {
	parts := []string{
		"Text. ", "\n", "\n\n", "- item\n", "> ", "`code` ", "`", "```\n", "```NoteCard\n", "~~~NoteCard\n", "```ProductCard\n", "```js\nx\n```\n", "    ", "{", "}", "\"", ",",
		`{"text":"a"}`, "{\"text\":\"a\",\"secret\":\"MADEUP\"}\n", "{\"id\":\"p-1\",\"title\":\"t\",\"price\":666}\n", "{\"id\":\"x\"}\n", "[(ProductCard:p-1)]", "[(ProductCard:zz)]", "[(ProductCard:", "[(", "[link](https://a.example)",
		fence("NoteCard", `{"text":"b"}`), fence("NoteCard", `{"text":5}`), fence("ProductCard", `{"id":"p-2","title":"t","stock":77}`), fence("ProductList", `{"items":[{"id":"p-3","title":"t","price":666}]}`), "\x00", "\xff", "中文", "\\",
	}
	for seed := range uint64(150) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 5))
			var said strings.Builder
			for range 1 + rnd.IntN(30) {
				said.WriteString(parts[rnd.IntN(len(parts))])
			}
			var sources []string
			cards := shopCards(t, &shop{})
			reader := markup.NewReader(cards, []markup.Syntax{markup.Fence, markup.Placeholder}, func(f markup.Found) {
				if f.Kind == markup.End {
					sources = append(sources, f.Source)
				}
			})
			reader.Push(said.String())
			reader.Close(markup.Stop)

			limit := []int{20, 2, -1}[rnd.IntN(3)]
			r := withCards(t, turn.Config{Cards: cards, Limits: turn.Limits{Optional: limit}}, step{text: said.String(), each: 1 + rnd.IntN(20)})
			_, evs, st := r.ask("go") // wait judges the log
			if strings.TrimSpace(said.String()) != "" && st.Status != event.StatusDone {
				t.Fatalf("%s %+v", st.Status, st.Err)
			}
			// Of cards that are shown the source is not in the log.
			got, at := "", 0
			for _, b := range st.Blocks {
				switch {
				case b.Type == "text":
					var s string
					_ = json.Unmarshal(b.Payload, &s)
					got += s
				case b.Err != nil && !strings.Contains(b.Fallback, "  \""):
					got += b.Fallback
				default:
					got += "\x01"
				}
			}
			want := string([]rune(strings.ReplaceAll(said.String(), "\x00", "\uFFFD")))
			for rest := squeeze(got); ; at++ {
				head, tail, more := strings.Cut(rest, "\x01")
				w := squeeze(want)
				if !more {
					if !strings.HasSuffix(w, head) && !rewritten(head, w) {
						t.Errorf("the end %q is not of\n%q", head, w)
					}
					break
				}
				if head != "" && !strings.Contains(w, head) && !rewritten(head, w) {
					t.Errorf("%q is not of\n%q", head, w)
				}
				rest = tail
			}
			for _, b := range st.Blocks {
				for _, never := range []string{"MADEUP", "666", "77"} {
					if b.Type != "text" && b.Err == nil && strings.Contains(string(b.Payload)+b.Fallback, never) {
						t.Errorf("%s is shown: %s", never, b.Payload)
					}
				}
			}
			for _, e := range evs {
				if e.Type == event.BlockDelta && (strings.Contains(string(e.Data), "MADE") || strings.Contains(string(e.Data), "666")) {
					t.Errorf("a patch has what only the server may say: %s", e.Data)
				}
			}
		})
	}
}

// rewritten reports whether a text has a source that was written anew without
// what is the server's: then all its other words are of the answer.
func rewritten(head, want string) bool {
	for _, word := range strings.FieldsFunc(head, func(r rune) bool { return strings.ContainsRune("`{},:\"", r) }) {
		if !strings.Contains(want, word) {
			return false
		}
	}
	return true
}

// TestCrashWithCards kills the process after every write of a turn with cards,
// and of a retry of one. The log is ended lawfully, the model is shown what it
// wrote as far as that is known, and a card that lacks its data can be tried
// again.
func TestCrashWithCards(t *testing.T) {
	for n := 0; n < 200; n++ {
		if crashWithCards(t, n) || t.Failed() {
			t.Logf("%d writes", n)
			return
		}
	}
	t.Error("it never survives")
}

func crashWithCards(t *testing.T, n int) (survived bool) {
	ctx := t.Context()
	disk := memory.New()
	defer disk.Close()
	s := &shop{}
	var bad atomic.Bool
	s.before = func(context.Context, []string) error {
		if bad.Load() {
			return errBackend
		}
		return nil
	}
	cards := shopCards(t, s)
	types := block.Builtins()
	for _, c := range cards.All() {
		types = append(types, c.Type)
	}
	reg, err := block.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(okTool(t))
	if err != nil {
		t.Fatal(err)
	}
	start := func(st store.Store, steps ...step) *turn.Runner {
		r, err := turn.New(turn.Config{
			Store: st, Model: &script{steps: steps}, Tools: set, Registry: reg, Cards: cards,
			Limits: turn.Limits{Coalesce: -1, Lease: 30 * time.Millisecond, Optional: 9},
		})
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	idle := func(r *turn.Runner) {
		for r.Running() > 0 {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Millisecond)
	}
	mort := &mortal{Store: disk}
	mort.left.Store(int32(n))
	first := "Look: [(ProductCard:p-1)] and\n" + fence("ProductCard", `{"id":"p-3"}`) + fence("NoteCard", `{"text":"x"}`)
	second := "Then [(ProductCard:p-2)] ends."
	old := start(mort, step{text: first, calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}, step{text: second, each: 4})
	started, err := old.Start(ctx, turn.Request{Owner: alice, Text: "go"})
	idle(old)
	survived = err == nil && mort.left.Load() >= 0

	time.Sleep(40 * time.Millisecond)
	next := start(disk, step{text: "Again."}, step{text: "Again."})
	if _, err := next.Recover(ctx); err != nil {
		t.Errorf("%d writes: recover: %v", n, err)
	}
	idle(next)
	if err != nil {
		return false
	}
	m, err := disk.Message(ctx, alice, started.Msg)
	if err != nil {
		t.Fatal(err)
	}
	agree(t, disk, n, m)
	var said []model.Message
	if len(m.Exchange) > 0 {
		if err := json.Unmarshal(m.Exchange, &said); err != nil {
			t.Fatal(err)
		}
	}
	all := ""
	for _, one := range said {
		if one.Role == model.RoleAssistant {
			all += one.Content
		}
	}
	// What cards were written as is read from their blocks where the process
	// died within a step; before the first, history is what was shown.
	shown := text(event.State{Blocks: m.Blocks})
	kept := len(m.Blocks) > 1
	if kept { // how the last card was written is known once that is stored
		_, err := disk.BlockCall(ctx, alice, m.Blocks[len(m.Blocks)-2].ID)
		kept = err == nil
	}
	switch {
	case survived && all != first+second, strings.Contains(shown, "chart done") && !strings.HasPrefix(all, first):
		t.Errorf("%d writes: said %q, shown %q", n, all, shown)
	case strings.Contains(shown, "Then") && !strings.Contains(all, "Then"), kept && strings.Contains(shown, "ends") && !strings.Contains(all, "p-2"):
		t.Errorf("%d writes: said %q, shown %q", n, all, shown)
	}
	if strings.Count(all, "Look:") > 1 || strings.Count(all, "Then") > 1 {
		t.Errorf("%d writes: said twice: %q", n, all)
	}
	for _, b := range m.Blocks {
		if b.Type != "app.product_card" || b.Err == nil {
			continue
		}
		_, call := disk.BlockCall(ctx, alice, b.ID)
		if !b.Err.Retryable && (call == nil || b.Meta.CanRefresh) {
			t.Errorf("%d writes: %+v, the call: %v", n, b.Err, call)
		}
		again, err := next.Rerun(ctx, turn.BlockRequest{Owner: alice, Block: b.ID})
		if (call == nil) != (err == nil) {
			t.Errorf("%d writes: the retry: %v, the call: %v", n, err, call)
		}
		idle(next)
		if m, merr := disk.Message(ctx, alice, started.Msg); err == nil && merr == nil {
			if now, _ := m.Block(b.ID); now.Status != block.StatusDone {
				t.Errorf("%d writes: after the retry %+v", n, now)
			}
			agree(t, disk, n, m)
		}
		_ = again
	}
	return survived
}

// A tag is data: its attributes, its body and the elements inside it.
func TestTagCard(t *testing.T) {
	cards, err := markup.NewCards(markup.Card{
		Name: "artifact", Syntaxes: []markup.Syntax{markup.Tag}, Example: json.RawMessage(`{"title":"Set up","children":[{"tag":"action","type":"shell","text":"npm ci"}]}`),
		Tag: markup.TagSpec{Children: map[string]markup.TagSpec{"action": {Raw: true}}},
		Type: block.Type{
			Name: "app.artifact", Fallback: func(json.RawMessage) string { return "steps" },
			Schema: json.RawMessage(`{"type":"object","additionalProperties":false,"required":["title"],"properties":{"title":{"type":"string"},"children":{"type":"array"}}}`),
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	r := withCards(t, turn.Config{Cards: cards, Embed: markup.Syntaxes()},
		step{text: "Do: <artifact title=\"a &amp; b\"><action type=\"shell\">rm -rf < x</action></artifact> then <artifact name=\"x\">y</artifact>", each: 2})
	_, _, st := r.ask("go")
	if got := text(st); got != "Do: |<app.artifact done>| then |<app.artifact error>" {
		t.Fatalf("%q", got)
	}
	if want := `{"children":[{"tag":"action","text":"rm -rf < x","type":"shell"}],"title":"a & b"}`; string(st.Blocks[1].Payload) != want {
		t.Errorf("%s", st.Blocks[1].Payload)
	}
	if got := st.Blocks[3].Fallback; got != `<artifact name="x">y</artifact>` {
		t.Errorf("%q", got)
	}
}

// What only the server may say is in no event, whatever becomes of the card.
func TestFailedCardsKeepWhatIsTheServers(t *testing.T) {
	for name, source := range map[string]string{
		"major":  fence("NoteCard@9.0", `{"text":"a","secret":"made up"}`),
		"inside": fence("NoteCard", `{"schemaVersion":"9.0","text":"a","secret":"made up"}`),
		"type":   fence("NoteCard", `{"type":"OtherCard","data":{"text":"a","secret":"made up"}}`),
		"schema": fence("NoteCard", `{"text":5,"secret":"made up"}`),
		"place":  fence("NoteCard", `{"note":{"text":"a","secret":"made up"},"text":"a"}`),
		"price":  fence("ProductCard", `{"description":"No title.","itemPrice":"made up","product":{"price":"made up"}}`),
	} {
		r := withCards(t, turn.Config{}, step{text: "Look:\n" + source + "After.", each: 3})
		_, evs, st := r.ask("note?")
		for _, e := range evs {
			if strings.Contains(string(e.Data), "made up") {
				t.Errorf("%s: %s %s", name, e.Type, e.Data)
			}
		}
		if got := text(st); strings.Contains(got, "made up") || !strings.HasSuffix(got, "After.") {
			t.Errorf("%s: %q", name, got)
		}
	}
}

// A product without an id is shown with what the model may say of it; nothing
// is looked up.
func TestProductWithoutID(t *testing.T) {
	for _, body := range []string{
		"{\n  \"title\": \"示例手机\",\n  \"description\": \"很轻的一部\",\n  \"itemPrice\": 9999,\n  \"imageUrl\": \"https://example.com/phone.jpg\",\n  \"discount\": \"限时优惠\"\n}",
		`{"title":"示例手机","description":"很轻的一部","price":9999,"stock":20}`,
	} {
		r := withCards(t, turn.Config{}, step{text: "推荐：\n\n" + fence("ProductCard", body) + "\n支持分期。", each: 3})
		_, evs, st := r.ask("go")
		if got := text(st); got != "推荐：\n\n|<app.product_card done>|\n支持分期。" || len(r.shop.calls()) > 0 {
			t.Fatalf("%q %v", got, r.shop.calls())
		}
		if b := st.Blocks[1]; string(b.Payload) != `{"description":"很轻的一部","title":"示例手机"}` || b.Meta.CanRefresh {
			t.Errorf("%s %+v", b.Payload, b.Meta)
		}
		for _, e := range evs {
			if strings.Contains(string(e.Data), "9999") || strings.Contains(string(e.Data), "限时优惠") {
				t.Errorf("%s %s", e.Type, e.Data)
			}
		}
	}
}

// What is wrong with one id is no other card's error.
func TestCardsFailEachForItself(t *testing.T) {
	r := withCards(t, turn.Config{}, step{text: "[(ProductCard:a)]\n[(ProductCard:b)]\n[(ProductCard:c)]"})
	r.shop.then(func(context.Context, []string) error {
		return markup.IDErrors{
			"a": &tool.Error{Code: "SHOP_CLOSED", Message: "The shop is closed."},
			"b": errBackend,
		}
	})
	_, _, st := r.ask("go")
	for i, want := range []string{"SHOP_CLOSED", block.CodeDataFetchFailed, block.CodeDataFetchFailed} {
		if e := st.Blocks[i].Err; e == nil || e.Code != want || e.Retryable != (i > 0) {
			t.Errorf("%d: %+v", i, e)
		}
	}
}

// A card whose fence names no version is of the one that its body names.
func TestCardVersionOfTheBody(t *testing.T) {
	const schema = `{"type":"object","additionalProperties":false,"required":["text"],"properties":{"text":{"type":"string"},"total":{"type":"number","x-source":"server"}}}`
	version := func(n int) markup.Card {
		return markup.Card{
			Name: "NoteCard", Streaming: true, Example: json.RawMessage(`{"text":"a"}`), Syntaxes: markup.Syntaxes()[:1],
			Type: block.Type{Version: n, Schema: json.RawMessage(schema), Fallback: func(p json.RawMessage) string { return "a note: " + string(p) }},
		}
	}
	said := "Look:\n" + fence("NoteCard", `{"schemaVersion":"2.1","text":"a","total":666}`) +
		fence("NoteCard", `{"type":"NoteCard","data":{"text":"b"},"version":"2.0"}`) +
		fence("NoteCard", `{"text":"c"}`) + fence("NoteCard@2", `{"text":"d"}`) + fence("NoteCard", `{"text":5}`) +
		fence("NoteCard", `{"schemaVersion":"7.0","text":"e","total":666}`) + fence("NoteCard", `{"text":`) + "After."
	for name, c := range map[string]struct {
		versions []int
		want     string
	}{
		"two": {[]int{1, 2}, `text, note_card@2 {"text":"a"}, note_card@2 {"text":"b"}, note_card@1 {"text":"c"}, note_card@2 {"text":"d"}, note_card@1 SCHEMA_INVALID, text, note_card@1 SCHEMA_INVALID, text`},
		// What names no version is of the first, which there is not.
		"the second alone": {[]int{2}, `text, note_card@2 {"text":"a"}, note_card@2 {"text":"b"}, text, note_card@2 {"text":"d"}, text`},
	} {
		t.Run(name, func(t *testing.T) {
			cards, err := markup.NewCards()
			if err != nil {
				t.Fatal(err)
			}
			for _, n := range c.versions {
				if err := cards.Add(version(n)); err != nil {
					t.Fatal(err)
				}
			}
			for _, each := range []int{1, 7, 1000} {
				r := withCards(t, turn.Config{Cards: cards}, step{text: said, each: each})
				_, _, st := r.ask("note?")
				var got []string
				for _, b := range st.Blocks {
					switch {
					case b.Type == "text":
						got = append(got, b.Type)
					case b.Err != nil:
						got = append(got, fmt.Sprintf("note_card@%d %s", b.Version, b.Err.Code))
					default:
						got = append(got, fmt.Sprintf("note_card@%d %s", b.Version, b.Payload))
					}
					if strings.Contains(string(b.Payload)+b.Fallback, "666") {
						t.Errorf("what is the server's is shown: %s %s", b.Payload, b.Fallback)
					}
				}
				if s := strings.Join(got, ", "); s != c.want {
					t.Errorf("%d at once: %s\nwant %s", each, s, c.want)
				}
			}
		})
	}
}
