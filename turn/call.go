package turn

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
)

// noData is what is said of data that is missing where the tool has no words of
// its own. Clients say it in the reader's language, and show any other message of
// DATA_FETCH_FAILED as it is.
const noData = "The data could not be fetched."

// maxCause is how much of an error's own words is kept for the log and the
// trajectory.
const maxCause = 8 << 10

// maxRawArguments is how much of unreadable arguments the model is shown.
const maxRawArguments = 2 << 10

// outcome is what became of one call.
type outcome struct {
	told   string // for the model
	blocks []string
	failed bool
	cause  string
	took   time.Duration
}

// result is what an equal call of the turn gets again.
type result struct {
	Told   string `json:"told"`
	Failed bool   `json:"failed,omitempty"`
}

// pending is a call on its way.
type pending struct {
	call  model.Call
	spec  tool.Spec
	tool  tool.Tool
	args  json.RawMessage
	key   string
	sink  *sink
	block *emit.Block // announced by the spec
	emit  bool        // it shows a block of the model's own; there is no tool
	away  bool        // the client runs it
	note  string      // for the model, about the announced block
	began time.Time
	run   bool // false when out is decided already
	held  bool // out is not known before somebody has answered
	same  int  // index of an equal call of this step, or -1
	out   outcome
}

// runCalls runs the calls of one step: announced in their order, run as many
// at once as allowed, finished as they are ready. Every call gets an outcome,
// except those that wait for a person or the client.
func (t *run) runCalls(ctx context.Context, calls []model.Call) []outcome {
	list := make([]*pending, len(calls))
	keys := make(map[string]int)
	for i, c := range calls {
		p := t.prepare(ctx, c)
		list[i] = p
		var ask *tool.Ask
		if j, ok := keys[p.key]; ok && p.run {
			p.run, p.same, p.held = false, j, list[j].held
			t.slots[i].Same = &j
		} else if p.run {
			keys[p.key] = i
			if p.away {
				p.run, p.held = false, true
			} else if ask = t.mustAsk(ctx, p); ask != nil {
				p.run, p.held = false, true
			}
		}
		switch {
		case ask != nil:
			t.question(ctx, p, i, ask)
		case p.held && p.same < 0:
			t.askClient(p, i)
		case p.held:
		default:
			t.toolStart(p)
			if p.run {
				t.announce(ctx, p)
			}
		}
	}
	slots := make(chan struct{}, t.r.cfg.Limits.Parallel)
	var wg sync.WaitGroup
	for i, p := range list {
		if !p.run {
			continue
		}
		run := func() {
			t.execute(ctx, p)
			t.tell(i, p.out.told)
			t.save(context.WithoutCancel(ctx))
		}
		if p.spec.Exclusive {
			wg.Wait()
			run()
			continue
		}
		if p.emit {
			// It waits for nobody, and of the model's own blocks those that it
			// named first stand first and take the places.
			run()
			continue
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			run()
		})
	}
	wg.Wait()
	out := make([]outcome, len(list))
	for i, p := range list {
		switch {
		case p.held:
			p.out.told = waitingPlaceholder(t.slots[i])
			if p.same >= 0 {
				p.out.told = waitingPlaceholder(t.slots[p.same])
			}
		case p.run:
			t.results[p.key] = result{p.out.told, p.out.failed}
		case p.same >= 0:
			first := list[p.same].out
			p.out = outcome{told: sameCall + first.told, failed: first.failed}
			t.toolEnd(p, event.ToolOK)
		default:
			t.tell(i, p.out.told)
			t.toolEnd(p, event.ToolOK)
		}
		out[i] = p.out
	}
	return out
}

// sameCall stands before the result of a call that repeats another of its step.
const sameCall = "The same call was made in this step already. Its result:\n"

// tell keeps the result of a call of the step.
func (t *run) tell(i int, told string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.slots[i].Told = &told
}

// prepare checks a call before anything happens.
func (t *run) prepare(ctx context.Context, c model.Call) *pending {
	p := &pending{call: c, began: t.r.cfg.Now(), same: -1}
	refuse := func(format string, a ...any) *pending {
		p.refuse(t.r.cfg.Limits.SummaryBytes, format, a...)
		return p
	}
	t.calls++
	found, check, known := t.r.lookup(c.Name)
	if known {
		p.tool, p.spec = found, found.Spec()
	} else if t.emitted != nil && c.Name == t.emitted.Name {
		p.emit, p.spec, check, known = true, *t.emitted, t.r.emitCheck, true
	} else if spec, its, ok := t.client.spec(c.Name); ok {
		p.away, p.spec, check, known = true, spec, its, true
	}
	switch {
	case ctx.Err() != nil:
		return refuse("error: CANCELLED The call was cancelled by the user and was not run.")
	case t.calls > t.r.cfg.Limits.Calls:
		return refuse("error: too_many_calls This turn may make %d tool calls. Answer with what you have.", t.r.cfg.Limits.Calls)
	case !known || t.barred[c.Name]:
		return refuse("error: unknown_tool There is no tool %q. The tools are: %s.", c.Name, strings.Join(t.toolNames(), ", "))
	}
	var args json.RawMessage
	err := errors.New(c.Err)
	if c.Err == "" {
		args, err = check.Args(c.Arguments)
	}
	if err != nil {
		wrong := c.Name + "\x00" + c.Raw + string(c.Arguments)
		if t.bad[wrong]++; t.bad[wrong] > 1 {
			t.barred[c.Name] = true
			return refuse("error: invalid_arguments %v\nThe same wrong call was made twice; %s is not offered any more in this turn.", err, c.Name)
		}
		told := fmt.Sprintf("error: invalid_arguments %v\nNothing was done. Mend the arguments and call again.", err)
		if c.Err != "" && c.Raw != "" {
			told += "\nWhat arrived: " + clip(c.Raw, maxRawArguments)
		}
		return refuse("%s", told)
	}
	p.args, p.key = args, callKey(c.Name, args)
	if before, ok := t.results[p.key]; ok {
		p.out = outcome{told: "The same call was made in this turn already. Its result:\n" + before.Told, failed: before.Failed}
		return p
	}
	if since, ok := t.waiting[p.key]; ok {
		return refuse("error: waiting_for_user The same call of an earlier answer waits for the user since %s; it is not made a second time. Ask the user to answer it.", since)
	}
	p.run = true
	return p
}

// refuse decides that a call is not run, and why.
func (p *pending) refuse(most int, format string, a ...any) {
	p.run = false
	p.out = outcome{told: clip(fmt.Sprintf(format, a...), most), failed: true}
}

// callKey is equal for equal calls.
func callKey(name string, args json.RawMessage) string { return name + "\x00" + canonical(args) }

func (t *run) toolNames() []string {
	var names []string
	for _, s := range t.offered() {
		names = append(names, s.Name)
	}
	return names
}

func titleFor(s tool.Spec, lang string) string {
	if title, ok := s.Title[lang]; ok {
		return title
	}
	return s.Title[""]
}

// canonical writes arguments with sorted keys, so that equal calls are equal.
func canonical(args json.RawMessage) string {
	var v any
	dec := json.NewDecoder(bytes.NewReader(args))
	dec.UseNumber() // the digits of a number are not to be lost
	if dec.Decode(&v) != nil {
		return string(args)
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return string(args)
	}
	return string(b)
}

// announce opens the block of a call, so that its place and height are known
// before the data is.
func (t *run) announce(ctx context.Context, p *pending) {
	p.sink = t.sinkOf(p)
	bs := p.spec.Block
	if bs == nil {
		return
	}
	meta := block.Meta{Title: bs.Title, EstimatedHeight: bs.Height, Source: bs.SourceFor(ctx)}
	if s := t.titleFrom(ctx, p); s != "" {
		meta.Title = s
	}
	b, err := p.sink.open(ctx, "", tool.Opening{Type: bs.Type, Version: bs.Version, Meta: meta})
	if err != nil {
		var refusal *tool.Refusal
		if errors.As(err, &refusal) {
			p.note = refusal.Code + ": " + refusal.Hint
		} else {
			p.note = "the block could not be opened"
			t.log.Error("open block", "tool", p.spec.Name, "err", err)
		}
		return
	}
	p.block = b
}

// titleFrom is the title that a tool makes from its arguments. One that panics
// costs the title only.
func (t *run) titleFrom(ctx context.Context, p *pending) (title string) {
	if p.spec.Block.TitleFrom == nil {
		return ""
	}
	defer func() {
		if v := recover(); v != nil {
			t.log.Error("panic in the title of a tool's block", "tool", p.spec.Name, "panic", v, "stack", string(debug.Stack()))
			title = ""
		}
	}()
	return p.spec.Block.TitleFrom(ctx, p.args)
}

// execute runs a prepared call to its outcome.
func (t *run) execute(ctx context.Context, p *pending) {
	if ctx.Err() != nil {
		// The turn ended while the call waited for its place: nothing of it may
		// happen any more.
		e := t.classify(ctx, ctx, p, context.Cause(ctx))
		p.sink.close(event.ToolCancelled)
		p.sink.fail(e)
		p.out = outcome{told: "error: CANCELLED The call was cancelled and was not run.", blocks: p.sink.ids(), failed: true}
		t.toolEnd(p, "cancelled")
		return
	}
	if p.emit {
		t.emitBlock(p)
		return
	}
	limit := p.spec.Timeout
	if limit <= 0 {
		limit = t.r.cfg.Limits.Tool
	}
	if state := t.appState(); state != nil {
		ctx = tool.WithState(ctx, state)
	}
	toolCtx, cancel := context.WithTimeoutCause(ctx, limit, context.DeadlineExceeded)
	defer cancel()
	var prepared tool.Handle
	var opening tool.Opening
	if p.block != nil {
		prepared = handle{p.block, p.sink}
		opening = tool.Opening{Type: p.block.Type().Name, Version: p.block.Type().Version}
	}
	out := tool.NewOut(toolCtx, t.r.cfg.Registry, p.sink, prepared, opening)
	out.UseFiles(t.r.cfg.OutFiles, t.message.Conversation)
	began := time.Now()
	err := tool.Guard(toolCtx, func() error { return p.tool.Run(toolCtx, p.args, out) })
	p.out.took = time.Since(began)
	status, e := event.ToolOK, block.Error{}
	if err != nil {
		status = event.ToolError
		if e = t.classify(ctx, toolCtx, p, err); e.Code == block.CodeCancelled {
			status = event.ToolCancelled
		}
	}
	p.sink.close(status)
	res := out.Result()
	p.out.blocks = p.sink.ids()
	if err != nil {
		p.out.failed = true
		p.sink.fail(e)
		p.out.told = clip(tellFailure(e, err, len(p.out.blocks) > 0), t.r.cfg.Limits.SummaryBytes)
		p.out.cause = clip(err.Error(), maxCause)
		t.log.Warn("tool failed", "tool", p.spec.Name, "code", e.Code, "err", p.out.cause)
	} else {
		if res.Unused != nil && len(res.Made)+len(res.Notes)+len(res.Refused) == 0 {
			p.out.failed = true
			p.sink.fail(block.Error{Code: block.CodeDataFetchFailed, Message: noData})
			p.out.told = "error: DATA_FETCH_FAILED The tool returned no data.\nretryable: false"
		} else {
			p.sink.fail(block.Error{Code: block.CodeDataFetchFailed, Message: noData})
			p.out.told = tellSuccess(p, res, t.r.cfg.Limits.SummaryBytes)
		}
	}
	t.r.cfg.Observer.ToolCall(p.spec.Name, status, p.out.took)
	t.toolEnd(p, status)
}

func (t *run) toolStart(p *pending) {
	if err := t.out.ToolStart(event.ToolCallData{ToolCallID: p.call.ID, Name: p.call.Name, Title: titleFor(p.spec, t.caller.Lang)}); err != nil && p.run {
		p.refuse(t.r.cfg.Limits.SummaryBytes, "error: CANCELLED The call was not run.")
	}
}

func (t *run) toolEnd(p *pending, status string) {
	if p.out.failed && status == "ok" {
		status = "error"
	}
	// An error here means the log is lost, which the loop finds out itself.
	_ = t.out.ToolEnd(event.ToolCallData{ToolCallID: p.call.ID, Name: p.call.Name, Status: status, DurationMs: p.out.took.Milliseconds()})
}

// classify words a tool's failure for the user.
func (t *run) classify(turnCtx, toolCtx context.Context, p *pending, err error) block.Error {
	var own *tool.Error
	var schema *block.SchemaError
	var panicked *tool.PanicError
	switch {
	case turnCtx.Err() != nil && errors.Is(context.Cause(turnCtx), errStopped):
		return block.Error{Code: block.CodeCancelled, Message: "Stopped.", Retryable: true}
	case turnCtx.Err() != nil:
		return block.Error{Code: block.CodeInterrupted, Message: "The answer was interrupted.", Retryable: true}
	case errors.As(err, &panicked):
		return block.Error{Code: block.CodeToolPanic, Message: "The tool failed.", Retryable: !p.spec.Unrepeatable}
	case errors.As(err, &own):
		e := block.Error{Code: own.Code, Message: own.Message, Retryable: own.Retryable && !p.spec.Unrepeatable}
		if !isCode(e.Code) {
			e.Code = block.CodeDataFetchFailed
		}
		if e.Message == "" {
			e.Message = noData
		}
		return e
	case errors.As(err, &schema):
		return block.Error{Code: block.CodeSchemaInvalid, Message: "The tool's data does not have the announced shape."}
	case errors.Is(err, emit.ErrTooLarge):
		return block.Error{Code: block.CodePayloadTooLarge, Message: "The tool's data is too large to show."}
	case toolCtx.Err() != nil:
		return block.Error{Code: block.CodeToolTimeout, Message: "The data did not arrive in time.", Retryable: !p.spec.Unrepeatable}
	}
	return block.Error{Code: block.CodeDataFetchFailed, Message: noData, Retryable: !p.spec.Unrepeatable}
}

// isCode says whether a tool's own code looks like one.
func isCode(s string) bool {
	return s != "" && len(s) <= 64 && strings.Trim(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}

func tellFailure(e block.Error, err error, shown bool) string {
	var b strings.Builder
	fmt.Fprintf(&b, "error: %s %s\nretryable: %v", e.Code, e.Message, e.Retryable)
	var schema *block.SchemaError
	if errors.As(err, &schema) {
		fmt.Fprintf(&b, "\ndetail: %s", schema.Error())
	}
	if shown {
		b.WriteString("\nThe user sees an error in its place")
		if e.Retryable {
			b.WriteString(", with a button to try again")
		}
		b.WriteString(".")
	}
	b.WriteString("\nTell the user that this failed; do not make up the data.")
	return b.String()
}

func tellSuccess(p *pending, res tool.Result, most int) string {
	var b strings.Builder
	for _, m := range res.Made {
		if m.Type == "text" {
			continue
		}
		if instead := p.sink.undrawn(m); instead != "" {
			fmt.Fprintf(&b, "%s: This client cannot draw %s; %s was shown instead. Answer in text, with an inline Markdown link where it should lead somewhere: [label](url).\n", emit.CodeNotSupported, m.Type, instead)
		} else {
			fmt.Fprintf(&b, "Shown to the user as a %s block; do not repeat the numbers.\n", m.Type)
		}
		if len(res.Notes) == 0 && m.Summary != "" {
			b.WriteString(m.Summary)
			b.WriteByte('\n')
		}
	}
	for _, n := range res.Notes {
		b.WriteString(n)
		b.WriteByte('\n')
	}
	refused := append(res.Refused, p.sink.refusals()...)
	if p.note != "" {
		refused = append(refused, p.note)
	}
	for _, r := range refused {
		fmt.Fprintf(&b, "Not shown: %s\n", r)
	}
	if b.Len() == 0 {
		return "Done. The tool returned nothing to show."
	}
	return clip(strings.TrimRight(b.String(), "\n"), most)
}
