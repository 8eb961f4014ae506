package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
)

// ShowResult shows what came of a call that an upstream agent made. content is the
// agent's text of it. What it writes as a summary reaches nobody: the agent knows
// its result.
type ShowResult func(ctx context.Context, args json.RawMessage, content string, out *tool.Out) error

// info names what answers.
func (c Config) info() model.Info {
	if c.Upstream != nil {
		return c.Upstream.Info()
	}
	return c.Model.Info()
}

// interrupt is what an upstream agent asked.
type interrupt struct {
	ID       string `json:"id"`
	Call     string `json:"call,omitempty"`
	Approval bool   `json:"approval,omitempty"`
}

// reply keeps how an interrupt was answered. Without what is secret in it, since
// it waits in the store for the answers to the others.
func (sl *slot) reply(req AnswerRequest) {
	told := ""
	sl.Told = &told
	sl.Question.Answer = &tool.Answer{Action: req.Action}
	r := sl.unanswered()
	r.Cancelled = false
	switch req.Action {
	case tool.Approve:
		r.Approved = true
	case tool.Reject:
		r.Reason = reasonGiven(req.Payload)
	case tool.Reply:
		if r.Payload = req.Values; r.Payload == nil {
			r.Payload = req.Payload
		}
	}
	sl.Reply = &r
}

func (sl slot) unanswered() agent.Reply {
	i := sl.Interrupt
	return agent.Reply{Interrupt: i.ID, Call: i.Call, Approval: i.Approval, Cancelled: true}
}

// answered is what the agent is told.
func (sl slot) answered() agent.Reply {
	if sl.Reply != nil {
		return *sl.Reply
	}
	return sl.unanswered()
}

// relay has the upstream agent answer, and again with what its client's calls
// came to, until it has answered or waits.
func (t *run) relay(ctx context.Context) ending {
	limits := t.r.cfg.Limits
	for {
		if t.steps++; t.steps > limits.Steps {
			return ending{reason: event.FinishMaxSteps}
		}
		f := &relayed{t: t, ctx: ctx, began: time.Now(), parts: make(map[string]*relayedPart), told: make(map[string]bool), calls: make(map[string]*pending)}
		out, err := t.r.cfg.Upstream.Run(ctx, t.upstreamRequest(), f.piece)
		t.replies = nil
		if out.Message != "" {
			t.far = out.Message
		}
		f.end(out, err)
		t.count(out.Usage)
		t.r.cfg.Observer.ModelCall(t.r.cfg.info().Name, time.Since(f.began), f.first, out.Usage, err)
		if errors.Is(err, errOutputLimit) {
			err, out = nil, agent.Outcome{Finish: model.FinishLength}
		}
		if ctx.Err() != nil {
			f.note(err)
			return interrupted(ctx)
		}
		if t.out.Err() != nil {
			return ending{lost: true}
		}
		switch {
		case err != nil:
		case out.Cancelled:
			f.note(nil)
			return ending{reason: event.FinishCancelled, open: block.Error{Code: block.CodeCancelled, Message: "Stopped.", Retryable: true}}
		case out.Finish == model.FinishIncomplete:
			err = &model.Error{Code: CodeModelIncomplete, Message: "The agent's answer broke off.", Retryable: true}
		case !f.any && len(out.Interrupts)+len(out.Calls) == 0 && out.Finish == model.FinishStop:
			err = &model.Error{Code: CodeModelEmpty, Message: "The agent gave an empty answer.", Retryable: true}
		}
		f.note(err)
		if err != nil {
			return t.broken(ctx, err)
		}
		if len(out.Interrupts)+len(out.Calls) == 0 {
			if err := t.cards.complete(ctx); err != nil {
				return ending{lost: true}
			}
			return t.conclude(ctx, reason(out.Finish, false), true)
		}
		if err := t.hold(ctx, f, out); err != nil {
			if t.out.Err() != nil {
				return ending{lost: true}
			}
			return t.broken(ctx, &model.Error{Code: model.CodeBadResponse, Message: fmt.Sprintf("what the agent waits for could not be asked: %v", err), Err: err})
		}
		t.save(context.WithoutCancel(ctx))
		if t.state().waits() {
			return t.pause(ctx)
		}
		t.endStep()
	}
}

// upstreamRequest is what the upstream agent is asked.
func (t *run) upstreamRequest() agent.Request {
	req := agent.Request{
		// Another installation must not take the name for one of its own.
		Thread: "thread-" + t.message.Conversation, Run: fmt.Sprintf("%s.%d", t.message.ID, t.steps),
		State: t.appState(), Replies: t.replies, Message: t.far, Capabilities: t.r.drawnElsewhere(),
		Messages: fit(turnsOf(slices.Concat(t.history, t.exchange)), t.r.cfg.Limits.ContextBytes),
	}
	for _, c := range t.client.tools {
		req.Tools = append(req.Tools, model.ToolSpec{Name: c.Name, Description: c.Description, Parameters: c.Parameters})
	}
	for _, e := range t.client.context {
		req.Context = append(req.Context, agent.Entry(e))
	}
	if len(t.reports) > 0 {
		req.Context = append(req.Context, agent.Entry{
			Description: "What the user did since the last answer with what was shown. It is done.", Value: strings.Join(t.reports, "\n"),
		})
	}
	return req
}

// drawnElsewhere are the types of blocks that an agent elsewhere may show: all that
// need nobody's answer. What asks is the turn's to show, and text is text.
func (r *Runner) drawnElsewhere() []string {
	var out []string
	for _, t := range r.cfg.Registry.Types() {
		if !t.ServerOnly && !asks(t.Name) && t.Name != "text" && t.Name != "form" {
			out = append(out, fmt.Sprintf("%s@%d", t.Name, t.Version))
		}
	}
	return out
}

// maxAskedArgs is how many bytes of what would be done stand in a question.
const maxAskedArgs = 16 << 10

// hold makes a place for each answer and each result that the agent waits for.
func (t *run) hold(ctx context.Context, f *relayed, out agent.Outcome) error {
	if err := t.out.EndText(); err != nil {
		return err
	}
	t.slots = make([]slot, 0, len(out.Calls)+len(out.Interrupts))
	for _, c := range out.Calls {
		at := len(t.slots)
		t.slots = append(t.slots, slot{Call: c.ID})
		p := &pending{call: c, began: t.r.cfg.Now(), same: -1, args: c.Arguments}
		_, check, known := t.client.spec(c.Name)
		if !known {
			p.refuse(t.r.cfg.Limits.SummaryBytes, "error: unknown_tool The client has no tool %q.", c.Name)
		} else if args, err := check.Args(c.Arguments); err != nil {
			p.refuse(t.r.cfg.Limits.SummaryBytes, "error: invalid_arguments %v\nNothing was done.", err)
		} else {
			p.args = args
			t.askClient(p, at)
		}
		if p.out.told != "" {
			t.tell(at, p.out.told)
		}
	}
	for _, i := range out.Interrupts {
		at := len(t.slots)
		t.slots = append(t.slots, slot{Call: i.ID, Interrupt: &interrupt{ID: i.ID, Call: i.Call, Approval: i.Approval}})
		q, err := t.interruption(f, i)
		if err != nil {
			return err
		}
		t.mu.Lock()
		t.slots[at].Question = q
		t.mu.Unlock()
	}
	return nil
}

// interruption shows what the agent asks. A form that clients cannot draw is asked
// in words.
func (t *run) interruption(f *relayed, i agent.Interrupt) (*question, error) {
	now := t.r.cfg.Now()
	expires := i.Expires
	if expires.IsZero() {
		expires = now.Add(tool.DefaultAskFor)
	}
	name, args := "question", json.RawMessage("{}")
	if c := f.calls[i.Call]; c != nil {
		name, args = c.call.Name, c.args
	} else if c := t.call(i.Call); c.Name != "" && i.Call != "" {
		name, args = c.Name, c.Arguments
	}
	if members := map[string]json.RawMessage(nil); len(i.Args) <= maxAskedArgs && json.Unmarshal(i.Args, &members) == nil && members != nil {
		args = i.Args
	}
	q := &question{Type: typeConfirm, Tool: name, Args: args, Digest: digest(name, args), Asked: now, Expires: expires}
	ask := &tool.Ask{Prompt: i.Message, Detail: i.Detail}
	p := &pending{call: model.Call{ID: i.ID, Name: name}, spec: tool.Spec{Name: name}, args: args}
	if i.Approval {
		return q, t.show(context.Background(), p, q, ask)
	}
	q.Type = typeQuestion
	if len(i.Schema) > 0 {
		if _, err := block.CompileForm(i.Schema); err == nil {
			ask.Question = &tool.Question{Schema: i.Schema}
			err = t.show(context.Background(), p, q, ask)
			if err == nil || t.out.Err() != nil {
				return q, err
			}
		}
		t.log.Info("the form of an upstream agent's question cannot be drawn; it is asked in words", "interrupt", i.ID)
	}
	ask.Question = &tool.Question{AllowText: true}
	return q, t.show(context.Background(), p, q, ask)
}

// relayed is one run of the upstream agent as it arrives.
type relayed struct {
	t       *run
	ctx     context.Context
	scribe  *scribe
	first   time.Duration
	began   time.Time
	any     bool // something was shown or done
	text    strings.Builder
	thought strings.Builder
	// said is the message that the agent is writing, saying its text.
	said   model.Message
	saying strings.Builder
	calls  map[string]*pending
	order  []*pending
	parts  map[string]*relayedPart
	drawn  []*relayedPart  // those of parts that are shown
	told   map[string]bool // parts whose fallback was written
	// texts counts the paragraphs, open says that one is being written.
	texts int
	open  bool
	// rewritten is how much was written of states and of parts that are not
	// complete; late is a state that had no room in it.
	rewritten int
	late      json.RawMessage
}

// The limits of what a run writes over and over.
const (
	// maxTexts is how many paragraphs an answer may have.
	maxTexts = 4096
	// maxRewritten is how many bytes of states and growing parts are written
	// as they come; after that only the last of them are.
	maxRewritten = 4 << 20
)

// relayedPart is a part that an agent shows. It may show it anew until the run
// ends, unless it says itself that it is complete.
type relayedPart struct {
	block *emit.Block // nil for one that is not shown
	last  *emit.Finished
	over  bool
}

func (f *relayed) piece(p agent.Piece) error {
	t := f.t
	if f.first == 0 {
		f.first = time.Since(f.began)
	}
	if err := f.ctx.Err(); err != nil {
		return context.Cause(f.ctx)
	}
	switch p.Kind {
	case agent.Text:
		f.any = true
		if t.bytes += len(p.Text); t.bytes > t.r.cfg.Limits.OutputBytes {
			return errOutputLimit
		}
		if len(f.said.Calls) > 0 && f.settled() {
			f.flush()
		}
		f.open = true
		f.saying.WriteString(p.Text)
		f.text.WriteString(p.Text)
		return f.write(p.Text)
	case agent.Reasoning:
		if t.bytes += len(p.Text); t.bytes > t.r.cfg.Limits.OutputBytes {
			return errOutputLimit
		}
		f.thought.WriteString(p.Text)
		return t.out.Reasoning(p.Text)
	case agent.TextEnd:
		if f.open {
			if f.texts++; f.texts > maxTexts {
				return errOutputLimit
			}
		}
		return f.endText()
	case agent.CallStart:
		return f.start(p)
	case agent.CallArguments:
		if c := f.calls[p.ID]; c != nil {
			c.args = p.JSON
			f.arguments(p.ID, p.JSON)
		}
	case agent.CallResult:
		return f.result(p)
	case agent.Part:
		return f.part(p)
	case agent.State:
		if most := t.mostState(); len(p.JSON) > most || !json.Valid(p.JSON) {
			t.log.Warn("the state of the upstream agent is left out", "bytes", len(p.JSON), "limit", most)
			return nil
		}
		f.any, f.late = true, nil
		if !f.room(len(p.JSON)) {
			f.late = p.JSON
			return nil
		}
		return t.setAppState(p.JSON)
	}
	return nil
}

// room takes room for what may come over and over.
func (f *relayed) room(n int) bool {
	if f.rewritten > maxRewritten {
		return false
	}
	f.rewritten += n + 256 // what an event takes beside it
	return true
}

// write writes text of the answer, in which there may be cards.
func (f *relayed) write(text string) error {
	if f.scribe == nil {
		f.scribe = f.t.cards.scribe(f.ctx)
	}
	if f.scribe != nil {
		return f.scribe.write(text)
	}
	return f.t.out.Text(text)
}

// endText ends a paragraph.
func (f *relayed) endText() error {
	f.open = false
	if f.scribe != nil {
		s := f.scribe
		f.scribe = nil
		if err := s.close(model.Response{Finish: model.FinishStop}, nil); err != nil {
			return err
		}
	}
	return f.t.out.EndText()
}

// start is a call that the agent makes. Those of the client's tools are asked of
// the client when the run has ended.
func (f *relayed) start(p agent.Piece) error {
	t := f.t
	f.any = true
	if err := f.endText(); err != nil {
		return err
	}
	if t.calls++; t.calls > t.r.cfg.Limits.Calls {
		// The agent makes them whatever we say: they are just not shown any more.
		return nil
	}
	c := f.follow(model.Call{ID: p.ID, Name: clipName(p.Name), Arguments: json.RawMessage("{}")})
	if len(f.said.Calls) > 0 && f.settled() {
		f.flush()
	}
	f.said.Calls = append(f.said.Calls, c.call)
	if _, _, client := t.client.spec(p.Name); client {
		c.held = true
		return nil
	}
	return t.out.ToolStart(event.ToolCallData{ToolCallID: p.ID, Name: c.call.Name})
}

// follow keeps a call of the agent, whose result is to come.
func (f *relayed) follow(call model.Call) *pending {
	c := &pending{
		call: call, spec: tool.Spec{Name: call.Name, Unrepeatable: true}, args: call.Arguments, began: f.t.r.cfg.Now(), same: -1,
	}
	f.calls[call.ID] = c
	f.order = append(f.order, c)
	return c
}

// settled says that the calls of the message being written have their results.
func (f *relayed) settled() bool {
	for _, call := range f.said.Calls {
		if c := f.calls[call.ID]; c != nil && !c.run {
			return false
		}
	}
	return true
}

func (f *relayed) arguments(id string, args json.RawMessage) {
	for i := range f.said.Calls {
		if f.said.Calls[i].ID == id {
			f.said.Calls[i].Arguments = args
		}
	}
}

// result is what came of a call: told to later turns, and shown where it says how.
func (f *relayed) result(p agent.Piece) error {
	t := f.t
	f.any = true
	c := f.calls[p.ID]
	if c == nil { // of an earlier run, or of one too many
		before := t.call(p.ID)
		if before.Name == "" {
			return nil
		}
		c = f.follow(before)
		if err := t.out.ToolStart(event.ToolCallData{ToolCallID: p.ID, Name: before.Name}); err != nil {
			return err
		}
	}
	if c.run {
		return nil
	}
	c.run, c.held = true, false
	if err := f.endText(); err != nil {
		return err
	}
	if p.Failed {
		c.out = outcome{failed: true, took: t.r.cfg.Now().Sub(c.began)}
		t.toolEnd(c, event.ToolError)
	} else {
		c.tool = shownResult{c.spec, t.r.cfg.Results[c.call.Name], p.Text, t.log}
		c.sink = t.sinkOf(c)
		t.execute(f.ctx, c)
	}
	c.out.told = clip(p.Text, t.r.cfg.Limits.SummaryBytes)
	f.flush()
	t.exchange = append(t.exchange, model.Message{Role: model.RoleTool, CallID: p.ID, Content: c.out.told})
	return t.out.Err()
}

// flush ends the message being written.
func (f *relayed) flush() {
	if f.saying.Len() == 0 && len(f.said.Calls) == 0 {
		return
	}
	f.said.Role, f.said.Content = model.RoleAssistant, f.saying.String()
	f.t.say(f.said)
	f.said = model.Message{}
	f.saying.Reset()
}

// shownResult shows a result as a tool shows what it fetched.
type shownResult struct {
	spec    tool.Spec
	show    ShowResult
	content string
	log     *slog.Logger
}

// Spec implements tool.Tool.
func (s shownResult) Spec() tool.Spec { return s.spec }

// Run implements tool.Tool.
func (s shownResult) Run(ctx context.Context, args json.RawMessage, out *tool.Out) error {
	if s.show != nil {
		err := s.show(ctx, args, s.content, out)
		if errors.As(err, new(*block.SchemaError)) {
			return err // there is a block, which says so
		}
		if err != nil {
			// The call went well: just nothing of it can be shown.
			s.log.Warn("what an agent's tool found cannot be shown as agent.results says", "tool", s.spec.Name, "err", err)
		}
		return nil
	}
	var answer struct {
		Content json.RawMessage            `json:"content,omitempty"`
		UI      map[string]json.RawMessage `json:"ui"`
	}
	if json.Unmarshal([]byte(s.content), &answer) != nil || answer.UI == nil {
		return nil // for the agent alone
	}
	// Only the turn asks, and only the installation says what a button does.
	var name string
	if json.Unmarshal(answer.UI["type"], &name) != nil || asks(block.TypeNameOf(name)) {
		return nil
	}
	delete(answer.UI, "actions")
	raw, err := json.Marshal(answer)
	if err != nil {
		return fmt.Errorf("read the agent's result: %w", err)
	}
	return out.UI(raw)
}

// asks says that blocks of a type ask for the turn.
func asks(name string) bool { return name == typeConfirm || name == typeQuestion }

// part shows what the agent says is to be shown: a block as our own protocols
// write it, or the payload of one under the name of its type.
func (f *relayed) part(p agent.Piece) error {
	t := f.t
	var c struct {
		Type     string          `json:"type"`
		Version  int             `json:"version"`
		Status   block.Status    `json:"status"`
		Payload  json.RawMessage `json:"payload"`
		Fallback string          `json:"fallback"`
		Meta     struct {
			Title  string `json:"title"`
			Source string `json:"source"`
		} `json:"meta"`
	}
	payload := p.JSON
	ours := json.Unmarshal(p.JSON, &c) == nil && c.Type != "" && (c.Payload != nil || c.Status != "")
	if ours {
		payload = c.Payload
	} else {
		c.Status = block.StatusDone
	}
	name := p.Name
	typ, ok := t.r.cfg.Registry.Lookup(name, c.Version)
	if !ok {
		name = strings.TrimPrefix(name, "inlay.")
		typ, ok = t.r.cfg.Registry.Lookup(name, c.Version)
	}
	if !ok || typ.ServerOnly || asks(name) || name == "text" {
		if ours && c.Status != block.StatusLoading && c.Fallback != "" && !f.told[p.ID] && len(f.told) < agent.MaxCalls && !asks(name) {
			if t.bytes += len(c.Fallback); t.bytes > t.r.cfg.Limits.OutputBytes {
				return errOutputLimit
			}
			f.told[p.ID], f.any = true, true
			if err := f.endText(); err != nil {
				return err
			}
			if err := t.out.Text(c.Fallback); err != nil {
				return err
			}
			return t.out.EndText()
		}
		t.log.Debug("a part of the upstream agent is not shown", "type", p.Name)
		return nil
	}
	shown, known := f.parts[p.ID]
	if !known {
		if len(f.parts) >= agent.MaxCalls {
			return nil
		}
		f.any = true
		if err := f.endText(); err != nil {
			return err
		}
		shown = &relayedPart{}
		f.parts[p.ID] = shown
		b, err := t.out.Open(emit.Opening{Type: typ.Name, Version: typ.Version, Meta: block.Meta{
			Title: c.Meta.Title, Source: c.Meta.Source, FetchedAt: t.r.cfg.Now().UnixMilli(),
		}})
		var refusal *emit.Refusal
		if errors.As(err, &refusal) {
			t.log.Info("a part of the upstream agent is not shown", "type", typ.Name, "code", refusal.Code, "hint", refusal.Hint)
			return nil
		}
		if err != nil {
			return err
		}
		shown.block = b
		f.drawn = append(f.drawn, shown)
	}
	if shown.block == nil || shown.over || shown.block.Type().Name != typ.Name {
		return nil
	}
	switch c.Status {
	case block.StatusLoading:
		return nil
	case block.StatusError:
		shown.over = true
		return shown.block.Fail(block.Error{Code: block.CodeDataFetchFailed, Message: noData}, c.Fallback)
	}
	shown.last = &emit.Finished{Payload: payload, Fallback: c.Fallback}
	if ours {
		return f.finish(shown)
	}
	// Another may come in its place: until the run ends it is one that grows.
	if t.r.cfg.Registry.Validate(typ.Name, typ.Version, payload) == nil && f.room(len(payload)) {
		patch := slices.Concat([]byte(`[{"op":"add","path":"","value":`), payload, []byte(`}]`))
		if err := shown.block.Delta(patch); err != nil && t.out.Err() != nil {
			return err
		}
	}
	return nil
}

// finish writes what a part came to.
func (f *relayed) finish(p *relayedPart) error {
	p.over = true
	if err := p.block.End(*p.last); err != nil {
		if f.t.out.Err() != nil {
			return err
		}
		f.t.log.Warn("a part of the upstream agent does not fit its type", "type", p.block.Type().Name, "err", err)
	}
	return nil
}

// end ends what the run has left open.
func (f *relayed) end(out agent.Outcome, err error) {
	t := f.t
	if f.scribe != nil {
		finish := model.FinishStop
		if err == nil {
			finish = out.Finish
		}
		_ = f.scribe.close(model.Response{Finish: finish}, err)
		f.scribe = nil
	}
	f.flush()
	waits := make(map[string]bool)
	for _, i := range out.Interrupts {
		waits[i.Call] = true
	}
	for _, c := range f.order {
		if !c.run && !c.held {
			status := event.ToolOK // its result is the agent's own
			if err != nil || out.Finish == model.FinishIncomplete {
				status = event.ToolCancelled
			}
			if waits[c.call.ID] {
				status = event.ToolCancelled
			}
			c.out.took = t.r.cfg.Now().Sub(c.began)
			t.toolEnd(c, status)
		}
	}
	for _, p := range f.drawn {
		switch {
		case p.over:
		case p.last != nil:
			_ = f.finish(p)
		default:
			_ = p.block.Fail(block.Error{Code: block.CodeInterrupted, Message: "The answer was interrupted."}, "")
		}
	}
	if f.late != nil {
		_ = t.setAppState(f.late)
	}
}

// note writes the run to the trajectory.
func (f *relayed) note(err error) {
	resp := model.Response{Text: f.text.String(), Reasoning: f.thought.String(), FirstToken: f.first}
	var outcomes []outcome
	for _, c := range f.order {
		call := c.call
		call.Arguments = c.args
		resp.Calls = append(resp.Calls, call)
		outcomes = append(outcomes, c.out)
	}
	var extra map[string]any
	if err != nil {
		extra = map[string]any{"error": err.Error()}
	}
	f.t.note(resp, outcomes, extra)
}
