package turn

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// state is where a turn is between two of its steps, as it is stored: after
// each model call and tool result, for whoever ends the turn if this process
// dies, and when the turn pauses, for whoever goes on with it.
type state struct {
	V int `json:"v"`
	// Exchange is what was said in the turn, up to and with the calls of Step.
	Exchange []model.Message `json:"exchange,omitempty"`
	// Step are the calls of the last message, while not all have a result.
	Step []slot `json:"step,omitempty"`
	// Steps, Calls and Bytes count model calls, tool calls and bytes of text.
	Steps   int               `json:"steps"`
	Calls   int               `json:"calls,omitempty"`
	Bytes   int               `json:"bytes,omitempty"`
	Usage   model.Usage       `json:"usage"`
	Results map[string]result `json:"results,omitempty"`
	Bad     map[string]int    `json:"bad,omitempty"`
	Barred  map[string]bool   `json:"barred,omitempty"`
	Named   map[string]bool   `json:"named,omitempty"`
	Reports []string          `json:"reports,omitempty"`
	// History is the context of a request that brought its own; all others read
	// it from the conversation.
	History []model.Message `json:"history,omitempty"`
	// Far is what an agent elsewhere calls its answer.
	Far string `json:"far,omitempty"`
	// Lang is the language of the person.
	Lang string `json:"lang,omitempty"`
	// Tools, Context and App, the application's state, are what the client has
	// brought.
	Tools   []ClientTool    `json:"tools,omitempty"`
	Context []ContextEntry  `json:"context,omitempty"`
	App     json.RawMessage `json:"app,omitempty"`
	// Written is how much of the message Exchange accounts for, where its text
	// has cards, and Notes what the model is yet to be told of them.
	Written *written `json:"written,omitempty"`
	Notes   []string `json:"notes,omitempty"`
	// End is how the turn ends, whatever comes: FinishCancelled while a paused
	// one is stopped, FinishStop when its answer is whole.
	End string `json:"end,omitempty"`
}

// stateVersion is the version of state that is written and read.
const stateVersion = 1

// slot is the place of one call's result.
type slot struct {
	Call string `json:"call"`
	// Told is the result; nil while there is none.
	Told *string `json:"told,omitempty"`
	// Same is the place of an equal call of the step, whose result is this
	// one's too.
	Same     *int      `json:"same,omitempty"`
	Question *question `json:"question,omitempty"`
	// Client is of a call that the client runs.
	Client *clientCall `json:"client,omitempty"`
	// Interrupt is what an upstream agent asked: the slot is none of a call's
	// result but of the answer, which is Reply.
	Interrupt *interrupt   `json:"interrupt,omitempty"`
	Reply     *agent.Reply `json:"reply,omitempty"`
}

// open reports whether the turn waits for the result.
func (sl slot) open() bool { return sl.Question.open() || sl.Client.open() }

// expires is when the turn waits no more for a result that is open.
func (sl slot) expires() time.Time {
	if sl.Client.open() {
		return sl.Client.Expires
	}
	return sl.Question.Expires
}

// question is what a person was asked about a call.
type question struct {
	// Block is the question's block, Type confirm or question.
	Block string `json:"block"`
	Type  string `json:"type"`
	Tool  string `json:"tool"`
	// Args are the checked arguments, Digest that of the tool and them.
	Args   json.RawMessage `json:"args"`
	Digest string          `json:"digest"`
	// Form is the schema of the answer to a question.
	Form  json.RawMessage `json:"form,omitempty"`
	Edit  bool            `json:"edit,omitempty"`
	Asked time.Time       `json:"asked"`
	// Expires is when the question falls.
	Expires time.Time `json:"expires"`
	// Status is what became of it, as in QuestionData; empty while it is open.
	Status string `json:"status,omitempty"`
	// State and Rev are the block's state after that.
	State json.RawMessage `json:"state,omitempty"`
	Rev   int             `json:"rev,omitempty"`
	// Answer is how it was answered. It is not stored: what it allows is done
	// by the process that got it or not at all, and it may hold secrets.
	Answer *tool.Answer `json:"-"`
	// typed are the arguments of an edit with what is secret in them, which Args
	// leaves out. Like Answer they are not stored.
	typed json.RawMessage
}

// open reports whether the question may still be answered.
func (q *question) open() bool { return q != nil && q.Status == "" }

// digest names a call exactly: what was approved is what runs.
func digest(name string, args json.RawMessage) string {
	sum := sha256.Sum256([]byte(name + "\x00" + canonical(args)))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// waitingPlaceholder is the result of a call in the eyes of the turns that
// come while it waits.
func waitingPlaceholder(sl slot) string {
	q := sl.Question
	if sl.Client != nil {
		return fmt.Sprintf("Not run yet: the application was asked to run it at %s and has not said what came of it.", sl.Client.Asked.UTC().Format(time.RFC3339))
	}
	if q == nil {
		return "error: CANCELLED The call was not run."
	}
	what := "approval"
	if q.Type == typeQuestion {
		what = "answer"
	}
	return fmt.Sprintf("Not run yet: it waits for the user's %s since %s; do not call it again.", what, q.Asked.UTC().Format(time.RFC3339))
}

// results appends the results of the step to the exchange, in the order of the
// calls. What has none gets the words of missing.
func (s *state) results(missing func(slot) string) []model.Message {
	out := append([]model.Message(nil), s.Exchange...)
	for _, sl := range s.Step {
		if sl.Interrupt != nil {
			continue // what came of the call is the agent's to say
		}
		told := ""
		if sl.Same != nil && *sl.Same < len(s.Step) {
			told = sameCall
			first := s.Step[*sl.Same]
			sl.Told, sl.Question, sl.Client = first.Told, first.Question, first.Client
		}
		if sl.Told != nil {
			told += *sl.Told
		} else {
			told += missing(sl)
		}
		out = append(out, model.Message{Role: model.RoleTool, CallID: sl.Call, Content: told})
	}
	return out
}

// waits reports whether a question or a call of the client is still open.
func (s *state) waits() bool {
	for _, sl := range s.Step {
		if sl.open() {
			return true
		}
	}
	return false
}

// expires is when the first of what is open falls.
func (s *state) expires() time.Time {
	var first time.Time
	for _, sl := range s.Step {
		if sl.open() && (first.IsZero() || sl.expires().Before(first)) {
			first = sl.expires()
		}
	}
	return first
}

// cut is the exchange of a turn that ended here: every call has a result, and
// what the model had begun to say is kept.
func (s *state) cut(blocks []block.Block, source func(b block.Block) string) []model.Message {
	said := s.results(func(sl slot) string {
		switch {
		case sl.Client != nil: // without a result it is open, or was until now
			return "error: CANCELLED The application had not run the call when the answer ended."
		case sl.Question != nil && (sl.Question.open() || sl.Question.Status == event.QuestionCancelled):
			return "error: CANCELLED The user was asked first and had not answered; the call was not run."
		}
		return "error: INTERRUPTED The call was interrupted and may or may not have run."
	})
	if rest := s.rest(blocks, source); rest != "" {
		said = append(said, model.Message{Role: model.RoleAssistant, Content: rest})
	}
	return answered(said)
}

// rest is what the model had begun to say behind the exchange.
func (s *state) rest(blocks []block.Block, source func(b block.Block) string) string {
	before := ""
	for _, m := range s.Exchange {
		if m.Role == model.RoleAssistant {
			before += m.Content
		}
	}
	switch {
	case s.Written != nil:
		return s.Written.since(blocks, source)
	case before == "":
		return written{}.since(blocks, source)
	}
	rest, ok := strings.CutPrefix(modelText(blocks), before)
	if !ok {
		return ""
	}
	return rest
}

// modelText is the text that the model wrote: text of tools names its call.
func modelText(blocks []block.Block) string {
	var b strings.Builder
	for _, bl := range blocks {
		var s string
		if isModelText(bl) && json.Unmarshal(bl.Payload, &s) == nil {
			b.WriteString(s)
		}
	}
	return b.String()
}

// state is the run as it is now.
func (t *run) state() *state {
	t.mu.Lock()
	defer t.mu.Unlock()
	return &state{
		Tools: t.client.tools, Context: t.client.context, App: t.client.state,
		V: stateVersion, Exchange: t.exchange, Step: slices.Clone(t.slots), Steps: t.steps, Calls: t.calls, Bytes: t.bytes, Usage: t.usage,
		Results: t.results, Bad: t.bad, Barred: t.barred, Named: t.named, Reports: t.reports, History: t.given, Lang: t.caller.Lang,
		Far: t.far, Written: t.wrote, Notes: t.cards.noted(),
	}
}

// restore makes a run that goes on from a state.
func (t *run) restore(s *state) {
	t.exchange, t.slots, t.steps, t.calls, t.bytes, t.usage = s.Exchange, s.Step, s.Steps, s.Calls, s.Bytes, s.Usage
	t.reports, t.given, t.wrote, t.far = s.Reports, s.History, s.Written, s.Far
	t.cards.resume(s.Written, s.Notes)
	t.client = t.r.rebring(s)
	maps.Copy(t.results, s.Results)
	maps.Copy(t.bad, s.Bad)
	maps.Copy(t.barred, s.Barred)
	maps.Copy(t.named, s.Named)
}

// save stores where the turn is. That of a turn which only goes on is a help
// for whoever ends it after a crash: without it the turn runs all the same.
func (t *run) save(ctx context.Context) {
	t.saving.Lock() // what is stored last is the newest
	defer t.saving.Unlock()
	if err := t.put(ctx, t.state(), false); err != nil && !errors.Is(err, store.ErrNotFound) {
		t.log.Warn("store the state of the turn", "err", err)
	}
}

func (t *run) put(ctx context.Context, s *state, paused bool) error {
	if !paused {
		// Only who goes on with the turn needs these.
		s.History, s.Tools, s.Context, s.App = nil, nil, nil, nil
	}
	t.saved = true
	return t.r.putState(ctx, t.message, s, paused)
}

func (r *Runner) putState(ctx context.Context, m store.Message, s *state, paused bool) error {
	data, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode the state of a turn: %w", err)
	}
	ts := store.TurnState{Msg: m.ID, Owner: m.Owner, Paused: paused, Data: data}
	if paused {
		ts.ExpiresAt = s.expires()
		if s.End != "" {
			ts.ExpiresAt = r.cfg.Now() // whoever looks next ends it
		}
	}
	return r.cfg.Store.PutTurnState(ctx, ts)
}

// stateOf reads where a turn is; nil when it has no state, or none that this
// version can read.
func (r *Runner) stateOf(ctx context.Context, msg string) (s *state, paused bool, err error) {
	ts, err := r.cfg.Store.TurnState(ctx, msg)
	if errors.Is(err, store.ErrNotFound) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	s = new(state)
	if err := json.Unmarshal(ts.Data, s); err != nil || s.V != stateVersion {
		r.cfg.Logger.Error("the state of a turn cannot be read", "msg", msg, "version", s.V, "err", err)
		return nil, ts.Paused, nil
	}
	return s, ts.Paused, nil
}

// usage is what a turn has used, as events tell it.
func usageOf(u model.Usage) event.Usage {
	return event.Usage{InputTokens: u.InputTokens, OutputTokens: u.OutputTokens, CostUSD: u.CostUSD}
}
