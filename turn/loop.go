package turn

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// Codes of turns that end with an error of the model itself, beside those of
// package model.
const (
	CodeModelIncomplete = "model_incomplete"
	CodeModelEmpty      = "model_empty_answer"
)

// maxRetryWait is the longest pause that an endpoint may ask for before the
// turn gives up.
const maxRetryWait = 30 * time.Second

// converse is the body of a turn's first group.
func (t *run) converse(ctx context.Context, first chan<- error) ending {
	t.traj.System(t.began, t.r.system(t.reports, t.cards.prompt()))
	asked := map[string]any{"msg_id": t.message.Parent}
	if said := t.application(); said != nil {
		asked["application"] = said
	}
	t.traj.User(t.began, lastUser(t.history), asked)
	err := t.out.Start(event.StartData{
		ConversationID: t.message.Conversation, UserMessageID: t.message.Parent, TS: t.began.UnixMilli(), Model: t.message.Model,
	})
	if err == nil {
		err = t.out.Flush(ctx)
	}
	if t.early(ctx, err) {
		first <- nil
		return interrupted(ctx)
	}
	first <- err
	if err != nil {
		return ending{lost: true}
	}
	return t.answer(ctx)
}

// answer asks the model, or the agent that answers instead, until the turn is
// over or waits.
func (t *run) answer(ctx context.Context) ending {
	if t.r.cfg.Upstream != nil {
		return t.relay(ctx)
	}
	return t.loop(ctx)
}

// loop asks the model, runs its calls and asks again, until it has answered or
// waits for a person or for the client.
func (t *run) loop(ctx context.Context) ending {
	system := t.r.system(t.reports, t.cards.prompt())
	limits := t.r.cfg.Limits
	for {
		t.steps++
		offered := t.offered()
		final := t.steps >= limits.Steps || t.calls >= limits.Calls || t.unattended
		resp, err := t.ask(ctx, system+t.cards.told(), offered, final)
		t.count(resp.Usage)
		t.name(resp.Calls)
		if err != nil {
			t.cards.wait(ctx)
			t.note(resp, nil, map[string]any{"error": err.Error()})
			if resp.Text != "" {
				t.say(model.Message{Role: model.RoleAssistant, Content: resp.Text})
			}
			return t.broken(ctx, err)
		}
		if resp.Finish != model.FinishToolCalls || len(resp.Calls) == 0 || final {
			// Calls that may not run would be asked about for ever.
			calls := len(resp.Calls)
			resp.Calls = nil
			if resp.Text != "" { // endpoints refuse a message that says nothing
				t.say(resp.Assistant())
			}
			if err := t.cards.complete(ctx); err != nil {
				return ending{lost: true}
			}
			t.note(resp, nil, nil)
			if t.cards != nil && ctx.Err() != nil {
				return interrupted(ctx) // while they were waited for
			}
			return t.conclude(ctx, reason(resp.Finish, final && calls > 0), !final)
		}
		// What the model says after its calls is another paragraph, also where
		// the calls show no block.
		if err := t.out.EndText(); err != nil {
			return ending{lost: true}
		}
		t.beginStep(resp)
		t.save(context.WithoutCancel(ctx))
		outcomes := t.runCalls(ctx, resp.Calls)
		t.cards.wait(ctx) // the model is told what became of them
		t.note(resp, outcomes, nil)
		if ctx.Err() != nil {
			return interrupted(ctx)
		}
		if err := t.out.Err(); err != nil {
			return ending{lost: true}
		}
		if t.state().waits() {
			return t.pause(ctx)
		}
		t.endStep()
	}
}

// conclude ends a turn whose answer is whole, with a suggestion where there may be
// one.
func (t *run) conclude(ctx context.Context, reason string, suggest bool) ending {
	if reason == event.FinishStop && suggest {
		t.recommend(ctx)
	}
	if errors.Is(context.Cause(ctx), errLease) {
		return ending{lost: true}
	}
	return ending{reason: reason}
}

// say keeps what the model said, as it wrote it.
func (t *run) say(m model.Message) {
	t.exchange = append(t.exchange, m)
	t.wrote = t.cards.written()
}

// beginStep keeps what the model said and makes a place for each call's result.
func (t *run) beginStep(resp model.Response) {
	t.say(resp.Assistant())
	t.slots = make([]slot, len(resp.Calls))
	for i, c := range resp.Calls {
		t.slots[i].Call = c.ID
	}
}

// endStep puts the results of the step behind its calls.
func (t *run) endStep() {
	s := t.state()
	for _, sl := range s.Step {
		if sl.Interrupt != nil {
			t.replies = append(t.replies, sl.answered())
		}
	}
	t.exchange, t.slots = s.results(waitingPlaceholder), nil
}

// call is the call of an id in the last step.
func (t *run) call(callID string) model.Call {
	for i := len(t.exchange) - 1; i >= 0; i-- {
		for _, c := range t.exchange[i].Calls {
			if c.ID == callID {
				return c
			}
		}
	}
	return model.Call{ID: callID}
}

// early says that an error is only that the run was ended before its first
// event was known to be durable: the log is well, and its reader finds the end
// there.
func (t *run) early(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() != nil && t.out.Err() == nil
}

// maxName is the longest name of a tool that endpoints take.
const maxName = 64

// name gives every call an id of its own in the turn, which its result and its
// line on the page are found by, and a name that endpoints take back: what a
// model makes up would make them refuse the conversation from then on.
func (t *run) name(calls []model.Call) {
	for i := range calls {
		c := &calls[i]
		if c.ID == "" || len(c.ID) > 256 || t.named[c.ID] {
			c.ID = id.New("t")
		}
		t.named[c.ID] = true
		c.Name = strings.Map(func(r rune) rune {
			if r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' {
				return r
			}
			return '_'
		}, clipName(c.Name))
	}
}

func clipName(s string) string {
	if s == "" {
		return "unnamed"
	}
	return s[:min(len(s), maxName)]
}

func reason(f model.Finish, cut bool) string {
	switch {
	case cut:
		return event.FinishMaxSteps
	case f == model.FinishLength:
		return event.FinishLength
	case f == model.FinishContentFilter:
		return event.FinishContentFilter
	}
	return event.FinishStop
}

// offered are the tools the model may call in this step.
func (t *run) offered() []model.ToolSpec {
	var out []model.ToolSpec
	for _, s := range t.specs() {
		if !t.barred[s.Name] {
			out = append(out, model.ToolSpec{Name: s.Name, Description: s.Description, Parameters: tool.Parameters(s)})
		}
	}
	return out
}

var errOutputLimit = errors.New("the answer is longer than allowed")

// ask runs one completion, tried again only while nothing of it was shown.
func (t *run) ask(ctx context.Context, system string, offered []model.ToolSpec, final bool) (model.Response, error) {
	limits := t.r.cfg.Limits
	room, emptied := limits.ContextBytes, false
	for attempt := 1; ; attempt++ {
		req := model.Request{Tools: offered}
		if final && len(offered) > 0 {
			req.ToolChoice = model.ToolNone
		}
		req.Messages = append([]model.Message{{Role: model.RoleSystem, Content: system}}, fit(turnsOf(slices.Concat(t.briefed(), t.exchange)), room)...)
		shown := false
		began := time.Now()
		write := t.out.Text
		scribe := t.cards.scribe(ctx)
		if scribe != nil {
			write = scribe.write
		}
		resp, err := t.r.cfg.Model.Stream(ctx, req, func(d model.Delta) error {
			switch {
			case d.Text != "":
				shown = true
				if t.bytes += len(d.Text); t.bytes > limits.OutputBytes {
					return errOutputLimit
				}
				return write(d.Text)
			case d.Reasoning != "":
				shown = true
				if t.bytes += len(d.Reasoning); t.bytes > limits.OutputBytes {
					return errOutputLimit
				}
				return t.out.Reasoning(d.Reasoning)
			}
			return nil
		})
		if scribe != nil {
			// What goes wrong here is a lost log, which is found out below.
			_ = scribe.close(resp, err)
		}
		t.r.cfg.Observer.ModelCall(t.r.cfg.Model.Info().Name, time.Since(began), resp.FirstToken, resp.Usage, err)
		if errors.Is(err, errOutputLimit) {
			resp.Finish, resp.Calls = model.FinishLength, nil
			return resp, nil
		}
		if ctx.Err() != nil {
			return resp, context.Cause(ctx)
		}
		if lost := t.out.Err(); lost != nil {
			return resp, lost
		}
		var failure *model.Error
		switch {
		case err != nil:
			failure = model.AsError(err)
		case resp.Finish == model.FinishIncomplete:
			failure = &model.Error{Code: CodeModelIncomplete, Message: "The model's answer broke off.", Retryable: true}
		case resp.Text == "" && len(resp.Calls) == 0 && resp.Finish == model.FinishStop:
			failure = &model.Error{Code: CodeModelEmpty, Message: "The model gave an empty answer.", Retryable: !emptied}
			emptied = true
		default:
			return resp, nil
		}
		resp.Calls = nil
		if failure.Code == model.CodeContextTooLong && !shown && room == limits.ContextBytes {
			room /= 4
			continue
		}
		if shown || !failure.Retryable || attempt >= limits.Attempts || failure.RetryAfter > maxRetryWait {
			return resp, failure
		}
		t.log.Warn("model call failed, trying again", "attempt", attempt, "err", failure)
		select {
		case <-ctx.Done():
			return resp, context.Cause(ctx)
		case <-time.After(backoff(attempt, failure.RetryAfter)):
		}
	}
}

// backoff waits a random part of a doubling time (full jitter), and at least
// as long as the endpoint asked.
func backoff(attempt int, asked time.Duration) time.Duration {
	most := 250 * time.Millisecond << attempt
	return asked + time.Duration(rand.Int64N(int64(most)))
}

// broken is the ending of a turn whose model call failed.
func (t *run) broken(ctx context.Context, err error) ending {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if t.out.Err() != nil {
		return ending{lost: true}
	}
	e := model.AsError(err)
	info := t.r.cfg.info()
	t.log.Error("model call failed", "kind", info.Kind, "name", info.Name, "err", err)
	return failed(e.Code, publicMessage(e), e.Retryable)
}

// publicMessage words a model's failure for the user; the endpoint's own words
// may name hosts, accounts or prompts and stay in the server's log.
func publicMessage(e *model.Error) string {
	switch e.Code {
	case model.CodeUnavailable:
		return "The model cannot be reached."
	case model.CodeRateLimited:
		return "The model is overloaded. Try again in a moment."
	case model.CodeUnauthorized:
		return "The model's endpoint refused the credentials."
	case model.CodeBadRequest:
		return "The model's endpoint refused the request."
	case model.CodeContextTooLong:
		return "The conversation is too long for the model."
	case model.CodeContentRejected:
		return "The model's endpoint refused the content."
	case model.CodeTimeout:
		return "The model did not answer in time."
	case CodeModelIncomplete:
		return "The model's answer broke off."
	case CodeModelEmpty:
		return "The model gave an empty answer."
	}
	return "The model's answer could not be read."
}

func (t *run) count(u model.Usage) {
	t.usage.InputTokens += u.InputTokens
	t.usage.OutputTokens += u.OutputTokens
	t.usage.CachedTokens += u.CachedTokens
	t.usage.ReasoningTokens += u.ReasoningTokens
	t.usage.CostUSD += u.CostUSD
}

// note writes a step of the trajectory.
func (t *run) note(resp model.Response, outcomes []outcome, extra map[string]any) {
	if extra == nil {
		extra = map[string]any{}
	}
	extra["msg_id"] = t.message.ID
	if resp.FinishRaw != "" {
		extra["finish_reason_raw"] = resp.FinishRaw
	}
	if len(resp.Quirks) > 0 {
		extra["quirks"] = resp.Quirks
	}
	if resp.FirstToken > 0 {
		extra["first_token_ms"] = resp.FirstToken.Milliseconds()
	}
	step := trajectory.Turn{
		At: t.r.cfg.Now(), Model: true, Text: resp.Text, Reasoning: resp.Reasoning,
		Prompt: resp.Usage.InputTokens, Completion: resp.Usage.OutputTokens, Cached: resp.Usage.CachedTokens,
		Thought: resp.Usage.ReasoningTokens, CostUSD: resp.Usage.CostUSD, Extra: extra,
	}
	var blocks []string
	for i, o := range outcomes {
		c := resp.Calls[i]
		step.Calls = append(step.Calls, o.record(c))
		blocks = append(blocks, o.blocks...)
	}
	if len(blocks) > 0 {
		extra["blocks"] = blocks
	}
	if cards := t.cards.recorded(); len(cards) > 0 {
		extra["cards"] = cards
	}
	t.step(step)
}

// step adds a step to the trajectory.
func (t *run) step(s trajectory.Turn) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.noted = true
	t.traj.Agent(s)
}

func (o outcome) record(c model.Call) trajectory.Call {
	return trajectory.Call{
		ID: c.ID, Function: c.Name, Arguments: c.Arguments, Raw: c.Raw, Repaired: c.Repaired, Blocks: o.blocks,
		Result: o.told, IsError: o.failed, Shown: len(o.blocks) > 0 && !o.failed, Duration: o.took, Cause: o.cause,
	}
}

// clip cuts a text for the model, saying that it did.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for at := n; at > n-utf8.UTFMax && at > 0; at-- {
		if utf8.RuneStart(s[at]) {
			n = at
			break
		}
	}
	return fmt.Sprintf("%s\n… (%d more bytes left out)", s[:n], len(s)-n)
}
