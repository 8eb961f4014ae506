package turn

import (
	"cmp"
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
	"github.com/inlay-ui/inlay/tool"
)

// The block types of questions.
const (
	typeConfirm  = "confirm"
	typeQuestion = "question"
)

// How much of a question is shown, in characters.
const (
	maxPrompt = 500
	maxDetail = 4000
	// maxReply is the longest text that answers a question.
	maxReply = 4000
)

// mustAsk returns the question that a call's tool has to the person. A tool
// that cannot say is not run.
func (t *run) mustAsk(ctx context.Context, p *pending) *tool.Ask {
	if p.spec.Ask == nil {
		return nil
	}
	ctx, cancel := context.WithTimeoutCause(ctx, t.r.cfg.Limits.Tool, context.DeadlineExceeded)
	defer cancel()
	ask, err := askTool(ctx, p.spec, p.args)
	if err == nil {
		return ask
	}
	e := t.classify(ctx, ctx, p, err)
	p.refuse(t.r.cfg.Limits.SummaryBytes, "error: %s %s\nWhether the user must be asked first could not be found out; nothing was done.", e.Code, e.Message)
	p.out.cause = clip(err.Error(), maxCause)
	t.log.Error("ask of a tool failed", "tool", p.spec.Name, "err", p.out.cause)
	return nil
}

// askTool runs a tool's Ask so that neither its panic nor its deafness to ctx
// can hold the turn.
func askTool(ctx context.Context, spec tool.Spec, args json.RawMessage) (*tool.Ask, error) {
	asked := make(chan *tool.Ask, 1)
	err := tool.Guard(ctx, func() error {
		a, err := spec.Ask(ctx, args)
		asked <- a
		return err
	})
	if err != nil {
		return nil, err
	}
	return <-asked, nil
}

// question shows the question about the call at a place of the step and begins
// to wait for its answer.
func (t *run) question(ctx context.Context, p *pending, at int, a *tool.Ask) {
	now := t.r.cfg.Now()
	stands := a.ExpiresIn
	if stands <= 0 {
		stands = tool.DefaultAskFor
	}
	q := &question{
		Type: typeConfirm, Tool: p.spec.Name, Args: p.args, Digest: digest(p.spec.Name, p.args),
		Edit: a.Edit && a.Question == nil, Asked: now, Expires: now.Add(stands),
	}
	if a.Question != nil {
		q.Type = typeQuestion
	}
	err := t.show(ctx, p, q, a)
	if err == nil {
		t.mu.Lock()
		t.slots[at].Question = q
		t.mu.Unlock()
		return
	}
	p.held = false
	p.refuse(t.r.cfg.Limits.SummaryBytes, "error: cannot_ask The user must be asked before this is done, and the question could not be shown. Nothing was done.")
	var refusal *emit.Refusal
	if errors.As(err, &refusal) {
		p.out.told += "\n" + refusal.Code + ": " + refusal.Hint
	}
	p.out.cause = clip(err.Error(), maxCause)
	t.log.Error("question could not be shown", "tool", p.spec.Name, "err", err)
	t.toolStart(p)
}

// show writes the block of a question and that the turn waits for it.
func (t *run) show(ctx context.Context, p *pending, q *question, a *tool.Ask) error {
	payload, actions, err := t.wording(p, q, a)
	if err != nil {
		return err
	}
	b, err := t.out.Open(emit.Opening{Type: q.Type, Meta: block.Meta{ToolCallID: p.call.ID, Tool: p.spec.Name}})
	if err != nil {
		return err
	}
	if err := b.End(emit.Finished{Payload: payload, Actions: actions}); err != nil {
		return err
	}
	q.Block = b.ID()
	d := event.QuestionData{QuestionID: q.Block, Prompt: a.Prompt, ExpiresAt: q.Expires.UnixMilli()}
	if a.Question != nil {
		for _, o := range a.Question.Options {
			d.Options = append(d.Options, event.QuestionOption{ID: o.ID, Label: o.Label})
		}
		d.Schema = a.Question.Schema
	} else {
		for _, act := range actions {
			d.Options = append(d.Options, event.QuestionOption{ID: act.ID, Label: act.Label})
		}
	}
	return t.out.QuestionStart(d)
}

// wording is the payload and the actions of a question's block.
func (t *run) wording(p *pending, q *question, a *tool.Ask) (json.RawMessage, []block.Action, error) {
	prompt, detail, expires := clipText(strings.Join(strings.Fields(a.Prompt), " "), maxPrompt), clipText(a.Detail, maxDetail), q.Expires.UnixMilli()
	if prompt == "" {
		prompt = cmp.Or(titleFor(p.spec, t.caller.Lang), p.spec.Name) + "?"
	}
	if a.Question != nil {
		form, err := formOf(*a.Question)
		if err != nil {
			return nil, nil, err
		}
		q.Form = form
		payload, err := jsonx.Marshal(block.Question{
			Prompt: prompt, Detail: detail, Options: a.Question.Options, Multiple: a.Question.Multiple, AllowText: a.Question.AllowText,
			Schema: a.Question.Schema, UISchema: a.Question.UISchema, ExpiresAt: expires,
		})
		return payload, []block.Action{t.button(tool.Reply, form)}, err
	}
	c := block.Confirm{Prompt: prompt, Detail: detail, Severity: a.Severity, Args: a.Show, ArgsDigest: q.Digest, ExpiresAt: expires}
	if c.Args == nil || q.Edit {
		c.Args = p.args
	}
	actions := []block.Action{t.button(tool.Approve, nil), t.button(tool.Reject, nil)}
	if q.Edit {
		c.Schema = tool.Parameters(p.spec)
		actions = append(actions, t.button(tool.Edit, c.Schema))
	}
	payload, err := confirmPayload(c, actions)
	if err == nil && q.Edit && t.r.cfg.Registry.Validate(q.Type, 0, payload) != nil {
		// The parameters are no form that clients could draw: the question is
		// asked without it.
		t.log.Warn("the arguments cannot be edited: the tool's parameters are no form", "tool", p.spec.Name)
		q.Edit, c.Schema, actions = false, nil, actions[:2]
		payload, err = confirmPayload(c, actions)
	}
	return payload, actions, err
}

func confirmPayload(c block.Confirm, actions []block.Action) (json.RawMessage, error) {
	for _, a := range actions {
		c.Options = append(c.Options, block.ConfirmOption{ID: a.ID, Style: a.Style})
	}
	return jsonx.Marshal(c)
}

// button is the action by which a question is answered.
func (t *run) button(name string, schema json.RawMessage) block.Action {
	words := buttonWords[name]
	label := words[t.caller.Lang]
	if label == "" {
		label = words["en"]
	}
	a := block.Action{ID: name, Label: label, Kind: block.ActionAPI, InputSchema: schema}
	if name == tool.Approve || name == tool.Reply {
		a.Style = "primary"
	}
	return a
}

var buttonWords = map[string]map[string]string{
	tool.Approve: {"en": "Approve", "zh": "批准"},
	tool.Reject:  {"en": "Reject", "zh": "拒绝"},
	tool.Edit:    {"en": "Change", "zh": "修改"},
	tool.Reply:   {"en": "Answer", "zh": "回答"},
}

// formOf is the JSON Schema of the answers that a question takes.
func formOf(q tool.Question) (json.RawMessage, error) {
	if q.Schema != nil {
		return q.Schema, nil
	}
	type object = map[string]any
	text := object{"type": "string", "minLength": 1, "maxLength": maxReply}
	if len(q.Options) == 0 {
		return jsonx.Marshal(object{
			"type": "object", "properties": object{"text": text}, "required": []string{"text"}, "additionalProperties": false,
		})
	}
	ids := make([]string, len(q.Options))
	for i, o := range q.Options {
		ids[i] = o.ID
	}
	most := 1
	if q.Multiple {
		most = len(ids)
	}
	properties := object{"choices": object{
		"type": "array", "items": object{"enum": ids}, "minItems": 1, "maxItems": most, "uniqueItems": true,
	}}
	form := object{"type": "object", "properties": properties, "additionalProperties": false}
	if q.AllowText {
		properties["text"] = text
		form["minProperties"] = 1
	} else {
		form["required"] = []string{"choices"}
	}
	return jsonx.Marshal(form)
}

// pause ends the group of a turn that waits for a person. The state is stored
// before the record, and the record before the end of the group: whatever a
// crash leaves of them, the turn is paused or was never.
func (t *run) pause(ctx context.Context) ending {
	if err := t.out.EndText(); err != nil {
		return ending{lost: true}
	}
	if err := t.out.Flush(ctx); err != nil {
		if t.early(ctx, err) {
			return interrupted(ctx)
		}
		return ending{lost: true}
	}
	store := context.WithoutCancel(ctx)
	if err := t.retrying(store, func() error { return t.put(store, t.state(), true) }); err != nil {
		t.log.Error("store the paused turn", "err", err)
		te := storeError("store the paused turn", err)
		return failed(te.Code, te.Message, te.Retryable)
	}
	if ctx.Err() != nil {
		return interrupted(ctx) // stopped meanwhile
	}
	return ending{reason: event.FinishPaused}
}

// endQuestions says of the questions and the client's calls at the given places
// what became of them.
func (t *run) endQuestions(places []int) error {
	if err := t.out.EndText(); err != nil {
		return err
	}
	for _, i := range places {
		if c := t.slots[i].Client; c != nil {
			if err := t.out.ToolEnd(c.ended(t.slots[i].Call)); err != nil {
				return err
			}
			continue
		}
		q := t.slots[i].Question
		if err := t.out.QuestionEnd(event.QuestionData{QuestionID: q.Block, Status: q.Status}); err != nil {
			return err
		}
		if err := t.out.State(q.Block, q.State, q.Rev); err != nil {
			return err
		}
	}
	return nil
}

// dropQuestions ends the questions and the client's calls that are still open:
// the turn does not wait for them any more.
func (t *run) dropQuestions(ctx context.Context) error {
	var open []int
	for i := range t.slots {
		if c := t.slots[i].Client; c.open() {
			c.end(event.ToolCancelled, t.r.cfg.Now())
			open = append(open, i)
			continue
		}
		q := t.slots[i].Question
		if !q.open() {
			continue
		}
		t.r.decide(ctx, t.message, q, event.QuestionCancelled, answerState{}, nil, 0)
		open = append(open, i)
	}
	if len(open) == 0 {
		return nil
	}
	return t.endQuestions(open)
}

// answerState is the state of a question's block that is not open any more.
type answerState struct {
	Status string          `json:"status"`
	Locked bool            `json:"locked"`
	Answer string          `json:"answer,omitempty"`
	Values json.RawMessage `json:"values,omitempty"`
	At     int64           `json:"at"`
}

// closed is the state of a question's block after it was ended.
func closed(status string, a answerState, at time.Time) json.RawMessage {
	a.Status, a.Locked, a.At = status, true, at.UnixMilli()
	raw, err := jsonx.Marshal(a)
	if err != nil { // values are valid JSON, checked before
		return json.RawMessage(fmt.Sprintf(`{"status":%q,"locked":true,"at":%d}`, status, at.UnixMilli()))
	}
	return raw
}

// clipText cuts a text to n characters.
func clipText(s string, n int) string {
	if len(s) <= n {
		return s
	}
	runes := []rune(s)
	if len(runes) <= n {
		return s
	}
	return string(runes[:n-1]) + "…"
}
