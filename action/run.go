package action

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"runtime/debug"
	"strings"
	"syscall"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// job is a reserved call on its way to its end.
type job struct {
	g    *Gateway
	c    *check
	call store.ActionCall
	// state is the block's after the reservation.
	state store.BlockState
	// group is where the handler's blocks go.
	group *group
	// doubtful says that an earlier attempt may have happened.
	doubtful bool
	// wasUnknown says that its outcome was stored as unknown before.
	wasUnknown bool
	// accepted is the answer that was given when the call began.
	accepted []byte
	began    time.Time
	// told is what the handler tells the model of what it showed.
	told string
}

// verdict is what is known of a call after its run.
type verdict int

const (
	happened verdict = iota
	refused          // definitely not carried out
	doubt_           // nobody knows
)

// end is how a call ends.
type end struct {
	verdict verdict
	result  Result
	err     error // why, for refused and doubt_
}

// foreground runs a call and answers with its outcome. The call goes on when
// the person leaves.
func (g *Gateway) foreground(ctx context.Context, c *check) (Answer, error) {
	detached := context.WithoutCancel(ctx)
	call, st, err := g.reserve(detached, c)
	if err != nil {
		return g.known(ctx, c, err)
	}
	j := &job{g: g, c: c, call: call, state: st, group: g.newGroup(c), began: time.Now()}
	type outcome struct {
		a   Answer
		err error
	}
	done := make(chan outcome, 1)
	g.wg.Add(1) // do is counted already
	go func() {
		defer g.wg.Done()
		a, err := j.carryOut(detached)
		done <- outcome{a, err}
	}()
	select {
	case o := <-done:
		return o.a, o.err
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("the person left: %w", ctx.Err())
	}
}

// known answers a request whose key another one has taken meanwhile; other
// errors it returns.
func (g *Gateway) known(ctx context.Context, c *check, err error) (Answer, error) {
	var same *store.CallError
	if errors.As(err, &same) {
		return g.again(ctx, c, same.Call)
	}
	return Answer{}, err
}

// background opens a group of the message for the call, reserves the call in it
// and answers as soon as that is done. Where nothing can be written nothing is
// begun.
func (g *Gateway) background(ctx context.Context, c *check) (Answer, error) {
	type begun struct {
		a   Answer
		err error
	}
	ready, where := make(chan begun, 1), make(chan turn.Started, 1)
	started, err := g.cfg.Turns.Follow(ctx, turn.FollowRequest{
		Owner: c.req.Owner, Caller: c.req.Caller, Msg: c.req.Msg, Wait: g.cfg.Limits.Wait,
		Timeout: time.Duration(g.cfg.Limits.Attempts+1) * c.reg.Timeout, Cause: "action " + c.reg.Name,
	}, func(ctx context.Context, f *turn.Follow) error {
		call, st, err := g.reserve(context.WithoutCancel(ctx), c)
		if err != nil {
			ready <- begun{err: err}
			return nil
		}
		at := <-where
		j := &job{g: g, c: c, call: call, state: st, began: time.Now()}
		j.group = g.groupIn(c, f, at)
		body, err := encode(answerBody{
			Status: "accepted", MsgID: c.req.Msg, ConversationID: c.msg.Conversation, AfterSeq: &at.After,
			Block: j.view(st), TraceID: c.req.TraceID,
		})
		if err != nil {
			ready <- begun{err: err}
			return err
		}
		j.accepted = body
		g.accept(call.ID, body)
		defer g.accept(call.ID, nil)
		if c.reg.once(c.block.Type) {
			// Other pages lock the block now, not when the work is done.
			if err := f.State(st.Block, st.State, st.Rev); err != nil {
				g.cfg.Logger.Error("write state", "block", st.Block, "err", err)
			}
		}
		ready <- begun{a: Answer{Status: http.StatusAccepted, Body: body}}
		_, err = j.carryOut(ctx)
		var te *turn.Error
		if err != nil && !errors.As(err, &te) {
			g.cfg.Logger.Error("action in the background", "action", c.reg.Name, "call", call.ID, "err", err)
		}
		return nil
	})
	if err != nil {
		return Answer{}, err
	}
	where <- started
	select {
	case b := <-ready:
		if b.err != nil {
			return g.known(ctx, c, b.err)
		}
		return b.a, nil
	case <-ctx.Done():
		return Answer{}, fmt.Errorf("the person left: %w", ctx.Err())
	}
}

// accept remembers the answer of a call that runs in the background; nil
// forgets it.
func (g *Gateway) accept(id string, body []byte) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if body == nil {
		delete(g.accepted, id)
		return
	}
	g.accepted[id] = body
}

// carryOut runs a reserved call to its end and stores that.
func (j *job) carryOut(ctx context.Context) (Answer, error) {
	stop := j.renew(ctx)
	e := j.attempts(ctx)
	j.group.done(ctx)
	stop()
	a, err := j.finish(ctx, e)
	j.group.finish(j, e, err)
	return a, err
}

// renew keeps the call's lease alive until stop is called.
func (j *job) renew(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan struct{})
	lease := j.g.cfg.Limits.Lease
	go func() {
		defer close(ended)
		tick := time.NewTicker(lease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			err := j.g.cfg.Store.RenewAction(ctx, j.call.ID, j.g.cfg.Instance, j.g.cfg.Now().Add(lease))
			if errors.Is(err, store.ErrStaleLease) {
				return // somebody else ends it; so the finish will say
			}
			if err != nil && ctx.Err() == nil {
				j.g.cfg.Logger.Warn("renew action", "call", j.call.ID, "err", err)
			}
		}
	}()
	return func() {
		cancel()
		<-ended
	}
}

// attempts runs the handler until something is known of the call, or nothing
// can be found out.
func (j *job) attempts(ctx context.Context) end {
	reg, limits := j.c.reg, j.g.cfg.Limits
	wait := limits.Backoff
	var last error
	for attempt := 1; attempt <= limits.Attempts; attempt++ {
		if attempt > 1 {
			select {
			case <-ctx.Done():
			case <-time.After(wait):
				wait *= 2
			}
		}
		if ctx.Err() != nil {
			if !j.doubtful {
				return end{verdict: refused, err: &tool.Error{Code: block.CodeCancelled, Message: builtinWords["stopped"].For(j.c.req.Caller.Lang), Err: context.Cause(ctx)}}
			}
			break
		}
		res, err := j.once(ctx, attempt)
		if err == nil {
			return end{verdict: happened, result: res}
		}
		last = err
		v := judge(reg, err)
		j.g.cfg.Logger.Warn("action failed", "action", reg.Name, "call", j.call.ID, "attempt", attempt, "known", v == refused, "err", err)
		if v == refused && !j.doubtful {
			return end{verdict: refused, err: err}
		}
		// A later attempt that was refused, by a limit of rate perhaps, says
		// nothing of an earlier one that may have happened.
		j.doubtful = true
		if !reg.Idempotent {
			break
		}
	}
	return j.g.ask(ctx, j.c, j.call, last)
}

// ask asks the handler what became of a call that nobody knows of.
func (g *Gateway) ask(ctx context.Context, c *check, call store.ActionCall, cause error) (e end) {
	e = end{verdict: doubt_, err: cause}
	if c.reg == nil || c.reg.Lookup == nil {
		return e
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), min(c.reg.Timeout, 30*time.Second))
	defer cancel()
	defer func() {
		if v := recover(); v != nil {
			g.cfg.Logger.Error("panic in Lookup", "action", c.reg.Name, "call", call.ID, "panic", v, "stack", string(debug.Stack()))
			e = end{verdict: doubt_, err: fmt.Errorf("panic in Lookup: %v", v)}
		}
	}()
	ok, res, err := c.reg.Lookup(ctx, c.call(call, 0))
	switch {
	case err != nil:
		g.cfg.Logger.Warn("outcome of an action not found out", "action", c.reg.Name, "call", call.ID, "err", err)
		return e
	case ok:
		return end{verdict: happened, result: res}
	}
	var own *tool.Error
	known := errors.As(cause, &own)
	if known && (judge(c.reg, cause) == refused || own.Code == block.CodeCancelled) {
		return end{verdict: refused, err: cause} // it says why
	}
	// What broke meanwhile does not say what the person asks: was it done?
	why := &tool.Error{Message: builtinWords["undone"].For(c.req.Caller.Lang), Err: cause}
	if known {
		why.Code, why.Retryable = own.Code, own.Retryable
	}
	return end{verdict: refused, err: why}
}

// call is the handler's view of a call.
func (c *check) call(call store.ActionCall, attempt int) Call {
	payload := c.payload
	if payload == nil {
		payload = call.Payload
	}
	return Call{
		ID: call.ID, Action: call.Name, On: call.Action, TraceID: call.TraceID, Conversation: call.Conversation, Msg: call.Msg,
		Block: c.block, Payload: payload, Params: c.act.Params, Caller: c.req.Caller, Attempt: attempt,
	}
}

var errTimeout = errors.New("the action took too long")

// once runs the handler so that neither its panic nor its deafness to ctx can
// hold the call.
func (j *job) once(ctx context.Context, attempt int) (Result, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, j.c.reg.Timeout, errTimeout)
	defer cancel()
	out := tool.NewOut(ctx, j.g.cfg.Blocks, j.group, nil, tool.Opening{})
	if j.g.cfg.Files != nil {
		out.UseFiles(j.g.cfg.Files, j.call.Conversation)
	}
	var res Result
	told := ""
	err := tool.Guard(ctx, func() (err error) {
		if res, err = j.c.reg.Run(ctx, j.c.call(j.call, attempt), out); err == nil {
			told = toldBy(out)
		}
		return err
	})
	if errors.Is(err, tool.ErrLeft) {
		return Result{}, Uncertain(err) // it may still write to res
	}
	j.told = told
	if err != nil && ctx.Err() != nil {
		return res, Uncertain(fmt.Errorf("%w: %w", context.Cause(ctx), err))
	}
	return res, err
}

// toldBy is what a handler's Out would have told the model.
func toldBy(out *tool.Out) string {
	res := out.Result()
	told := res.Notes
	if len(told) == 0 {
		for _, m := range res.Made {
			told = append(told, m.Summary)
		}
	}
	return strings.Join(told, "\n")
}

// judge says what is known after an error of a handler.
func judge(reg *registered, err error) verdict {
	var u *uncertain
	var own *tool.Error
	var args *tool.ArgumentError
	switch {
	case reg.Effect == Read:
		return refused // nothing changes, whatever happened
	case errors.As(err, &u):
		return doubt_
	case errors.As(err, &own), errors.As(err, &args), neverSent(err):
		return refused
	}
	return doubt_
}

// neverSent recognises connections that never came about.
func neverSent(err error) bool {
	var dial *net.OpError
	var dns *net.DNSError
	return errors.Is(err, syscall.ECONNREFUSED) || errors.As(err, &dns) || errors.As(err, &dial) && dial.Op == "dial"
}

// answerBody is what a client is told of an action.
type answerBody struct {
	Status         string          `json:"status"`
	Result         json.RawMessage `json:"result,omitempty"`
	Block          *BlockView      `json:"block,omitempty"`
	MsgID          string          `json:"msgId"`
	ConversationID string          `json:"conversationId"`
	UserMessageID  string          `json:"userMessageId,omitempty"`
	AfterSeq       *uint64         `json:"afterSeq,omitempty"`
	Feedback       *block.Feedback `json:"feedback,omitempty"`
	TraceID        string          `json:"traceId"`
}

// failureBody has the shape of every error of the API.
type failureBody struct {
	Error struct {
		Code      string         `json:"code"`
		Message   string         `json:"message"`
		Retryable bool           `json:"retryable"`
		TraceID   string         `json:"traceId"`
		Details   map[string]any `json:"details,omitempty"`
	} `json:"error"`
}

func encode(v any) ([]byte, error) {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode answer: %w", err)
	}
	return append(b, '\n'), nil
}

// view is the block for the answer; nil when nobody acted on its state.
func (j *job) view(st store.BlockState) *BlockView {
	v := view(st)
	if v.Rev == 0 {
		v.Rev = j.c.state.Rev
	}
	return &v
}

// finish stores how a call ended: state, answer, report and audit entry in one
// transaction.
func (j *job) finish(ctx context.Context, e end) (Answer, error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	g, c := j.g, j.c
	now := g.cfg.Now()
	f := store.ActionFinish{ID: j.call.ID, Holder: g.cfg.Instance, Status: store.CallDone, HTTPStatus: http.StatusOK, At: now}
	f.Audit = g.entry(c)
	f.Audit.Call, f.Audit.RevBefore, f.Audit.DurationMs = j.call.ID, c.state.Rev, time.Since(j.began).Milliseconds()
	f.Audit.Decision, f.Audit.Outcome = "allowed", stateDone
	result := j.result(e)
	text := c.words(e)
	switch e.verdict {
	case refused:
		f.HTTPStatus, f.Audit.Outcome = http.StatusBadGateway, stateFailed
	case doubt_:
		f.Status, f.Audit.Decision, f.Audit.Outcome = store.CallUnknown, "unknown", stateUnknown
	}
	f.State, f.Locked = j.after(e, result, text, now)
	f.Report = c.report(j.call, e, result, j.told, now)
	f.Answer = func(st store.BlockState) ([]byte, error) {
		if j.accepted != nil {
			return j.accepted, nil // as it was told
		}
		if e.verdict == refused {
			return c.failure(e, text, j.view(st))
		}
		body := answerBody{
			Status: stateDone, Result: result, Block: j.view(st), MsgID: c.req.Msg, ConversationID: c.msg.Conversation,
			AfterSeq: j.group.after(), TraceID: j.call.TraceID,
		}
		switch {
		case e.verdict == doubt_:
			body.Status = stateUnknown
			body.Feedback = &block.Feedback{FailureToast: text}
		case text != "":
			body.Feedback = &block.Feedback{SuccessText: text}
		}
		return encode(body)
	}
	if j.accepted != nil {
		f.HTTPStatus = http.StatusAccepted
	}
	nothingNew := j.wasUnknown && e.verdict == doubt_
	if nothingNew {
		// It is left as it was, and answered as before.
		f.HTTPStatus, f.State, f.Report = j.call.HTTPStatus, nil, ""
		f.Answer = func(store.BlockState) ([]byte, error) { return j.call.Answer, nil }
	}
	call, st, err := g.store(ctx, f)
	if errors.Is(err, store.ErrStaleLease) {
		return j.lost(ctx, f)
	}
	if err != nil {
		return Answer{}, err
	}
	j.call, j.state = call, st
	g.remember(call, c.reg)
	return Answer{Status: call.HTTPStatus, Body: call.Answer, Replayed: nothingNew}, nil
}

// lost ends a call that is not this process's any more: somebody else took it
// over and ends it, or it went with its conversation. That hides nothing: what
// was done is in the audit log, and the person is answered.
func (j *job) lost(ctx context.Context, f store.ActionFinish) (Answer, error) {
	st, g := j.state, j.g
	if _, err := g.cfg.Store.MessageOf(ctx, j.call.Msg); !errors.Is(err, store.ErrNotFound) {
		return Answer{}, running()
	}
	f.Audit.RevAfter = st.Rev
	if f.State != nil {
		st.Rev, st.State, st.Locked = st.Rev+1, f.State, f.Locked
		f.Audit.RevAfter = st.Rev
	}
	if err := g.cfg.Store.AppendAudit(ctx, f.Audit); err != nil {
		return Answer{}, fmt.Errorf("write audit log: %w", err)
	}
	body, err := f.Answer(st)
	return Answer{Status: f.HTTPStatus, Body: body}, err
}

// store ends a call, waiting out a store that is busy: what happened must not
// be forgotten for that.
func (g *Gateway) store(ctx context.Context, f store.ActionFinish) (store.ActionCall, store.BlockState, error) {
	wait := 20 * time.Millisecond
	for attempt := 0; ; attempt++ {
		call, st, err := g.cfg.Store.FinishAction(ctx, f)
		switch {
		case err == nil:
			return call, st, nil
		case errors.Is(err, store.ErrStaleLease):
			return call, st, err
		case !(errors.Is(err, store.ErrBusy) || errors.Is(err, store.ErrFull)) || attempt == 8:
			return call, st, fmt.Errorf("store the outcome of %s: %w", f.ID, err)
		}
		select {
		case <-ctx.Done():
			return call, st, fmt.Errorf("store the outcome of %s: %w", f.ID, err)
		case <-time.After(wait):
			wait *= 2
		}
	}
}

// after is the block's state after a call; nil leaves it as it is.
func (j *job) after(e end, result json.RawMessage, text string, now time.Time) (json.RawMessage, bool) {
	c := j.c
	own := e.result.State
	var members map[string]json.RawMessage
	if own != nil && (json.Unmarshal(own, &members) != nil || members == nil) {
		j.g.cfg.Logger.Error("the state that an action gave is not an object", "action", c.reg.Name)
		own = nil
	}
	if !c.reg.once(c.block.Type) {
		if e.verdict != happened || own == nil {
			return nil, false
		}
		if len(own) > j.g.cfg.Limits.State {
			j.g.cfg.Logger.Error("the state that an action gave is too large", "action", c.reg.Name, "bytes", len(own))
			return nil, false
		}
		return own, isLocked(own)
	}
	s := state{
		Status: stateDone, Locked: true, ActionID: j.call.Action, At: now.UnixMilli(), CallID: j.call.ID, Text: text,
		Values: valuesOf(c.block, j.call.Payload), Result: result,
	}
	switch e.verdict {
	case refused:
		s.Status, s.Locked = stateFailed, false
	case doubt_:
		s.Status = stateUnknown
	}
	return s.encode(own, j.g.cfg.Limits.State), s.Locked
}

// result is the JSON of what a handler gave back.
func (j *job) result(e end) json.RawMessage {
	if e.verdict != happened || e.result.Value == nil {
		return nil
	}
	raw, err := jsonx.Marshal(e.result.Value)
	if err != nil || len(raw) > j.g.cfg.Limits.Result {
		// It happened: an answer without its result is better than none.
		j.g.cfg.Logger.Error("the result of an action cannot be sent", "action", j.c.reg.Name, "bytes", len(raw), "err", err)
		return nil
	}
	return raw
}

// words tells the person of an outcome.
func (c *check) words(e end) string {
	lang := c.req.Caller.Lang
	switch e.verdict {
	case happened:
		if e.result.Text != "" {
			return e.result.Text
		}
		if c.act.Feedback != nil && c.act.Feedback.SuccessText != "" {
			return c.act.Feedback.SuccessText
		}
		if c.reg != nil {
			return c.reg.Feedback.Success.For(lang)
		}
	case refused:
		var own *tool.Error
		if errors.As(e.err, &own) && own.Message != "" {
			return own.Message
		}
		return cmp.Or(c.failureToast(), builtinWords["failed"].For(lang))
	case doubt_:
		return builtinWords["unknown"].For(lang)
	}
	return ""
}

// failureToast is what the button, else its action, says of a failure.
func (c *check) failureToast() string {
	if c.act.Feedback != nil && c.act.Feedback.FailureToast != "" {
		return c.act.Feedback.FailureToast
	}
	if c.reg != nil {
		return c.reg.Feedback.Failure.For(c.req.Caller.Lang)
	}
	return ""
}

var builtinWords = map[string]Words{
	"failed":  {"": "This could not be done.", "zh": "操作未能完成。"},
	"stopped": {"": "It was stopped before it began. Nothing was changed.", "zh": "操作在开始前已停止，未做任何修改。"},
	"undone":  {"": "This was not carried out. Nothing was changed.", "zh": "操作未执行，未做任何修改。"},
	"unknown": {"": "It is not known whether this was done. It will not be done again by itself.", "zh": "暂时无法确认操作是否已完成，系统不会自动重复执行。"},
}

// failure is the answer of a call that was definitely not carried out.
func (c *check) failure(e end, text string, v *BlockView) ([]byte, error) {
	var b failureBody
	b.Error.Code, b.Error.Message, b.Error.TraceID = CodeFailed, text, c.req.TraceID
	var own *tool.Error
	b.Error.Retryable = errors.As(e.err, &own) && own.Retryable
	b.Error.Details = map[string]any{"feedback": block.Feedback{FailureToast: cmp.Or(c.failureToast(), text)}, "block": v}
	return encode(b)
}

// maxReport bounds what the model is told of a result.
const maxReport = 500

// report is the line that the model's next call sees; empty for none. Failures
// are told, too: the person saw them.
func (c *check) report(call store.ActionCall, e end, result json.RawMessage, shown string, now time.Time) string {
	if c.reg == nil || c.reg.Report == ReportNone {
		return ""
	}
	label := c.act.Label
	if label == "" {
		label = c.reg.Name
	}
	line := fmt.Sprintf("%s: the user used %q (%s) on the %s block", now.UTC().Format("2006-01-02 15:04 UTC"), clip(label, 80), c.reg.Name, c.block.Type)
	if c.block.Meta != nil && c.block.Meta.Title != "" {
		line += fmt.Sprintf(" %q", clip(c.block.Meta.Title, 80))
	}
	switch e.verdict {
	case happened:
		line += ": done"
		if shown != "" {
			line += ", which showed the user: " + clip(shown, maxReport)
		}
		if len(result) > 0 {
			line += ", result " + clip(string(result), maxReport)
		} else if e.result.Text != "" {
			line += ", " + clip(e.result.Text, maxReport)
		}
	case refused:
		line += ": it failed and nothing was changed (" + clip(c.words(e), maxReport) + ")"
	case doubt_:
		line += ": whether it was carried out is not known; do not assume either"
	}
	return line
}

// clip cuts a text for a line of its own.
func clip(s string, n int) string {
	out := make([]rune, 0, n)
	for _, r := range s {
		if len(out) == n {
			return string(out) + "…"
		}
		if r < ' ' || r == '\u2028' || r == '\u2029' || r == 0x7f {
			r = ' '
		}
		out = append(out, r)
	}
	return string(out)
}
