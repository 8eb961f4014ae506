package turn

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
)

// AnswerRequest answers a question that a paused turn waits for.
type AnswerRequest struct {
	Owner store.Owner
	// Caller is who answers: what runs now runs with their rights.
	Caller tool.Caller
	Msg    string
	// Block is the question.
	Block string
	// Action is approve, reject or edit for a confirm block, answer for a
	// question block.
	Action string
	// Payload is the new arguments for edit, the answer's value for answer and
	// may hold a reason for reject.
	Payload json.RawMessage
	// Values is what is kept of the payload and told to the model, without what
	// is secret; nil keeps all of it.
	Values json.RawMessage
	// State is what the block's state is now, and Rev its number; without them
	// the turn writes its own.
	State json.RawMessage
	Rev   int
	// Caps is what the stream that follows can draw.
	Caps block.Caps
	// Wait is how long to wait for another group of the message to end; 0 means
	// 2 s.
	Wait time.Duration
}

// answerWait is how long an answer waits for another group to end unless told.
const answerWait = 2 * time.Second

// Answer hands a paused turn the answer to one of its questions, and goes on
// with it in a group of its own as soon as all are answered; an approved tool
// runs at once. The turn goes on without the caller: ctx bounds only the
// beginning. It returns once the answer is durable. Errors are *Error:
// CodeNotPaused when the question was answered, has expired or was never asked,
// CodePayloadInvalid with a *tool.ArgumentError or *block.SchemaError below it.
func (r *Runner) Answer(ctx context.Context, req AnswerRequest) (Started, error) {
	var m store.Message
	var s *state
	lease, last, err := r.takeUp(ctx, req.Msg, req.Wait, func() (err error) {
		m, s, err = r.asked(ctx, req)
		return err
	})
	if err != nil {
		return Started{}, err
	}
	place := s.place(req.Block)
	q := s.Step[place].Question
	a := answerState{Answer: req.Action}
	switch {
	case s.Step[place].Interrupt != nil:
		if req.Action == tool.Reply {
			if a.Values = req.Values; a.Values == nil {
				a.Values = req.Payload
			}
		}
		s.Step[place].reply(req)
		r.decide(ctx, m, q, event.QuestionAnswered, a, req.State, req.Rev)
		t := r.newContinuation(ctx, lease, last, m, req.Caller, req.Caps, s)
		return r.goOn(ctx, t, s, []int{place})
	case req.Action == tool.Reject:
		told := reject(req.Payload)
		s.Step[place].Told = &told
		s.remember(place, true)
	case req.Action == tool.Edit, req.Action == tool.Reply:
		if a.Values = req.Values; a.Values == nil {
			a.Values = req.Payload
		}
	}
	if req.Action == tool.Edit {
		s.edit(place, a.Values)
		q.typed = req.Payload
	}
	if req.Action != tool.Reject {
		q.Answer = &tool.Answer{Action: req.Action}
		if req.Action == tool.Reply {
			q.Answer.Value = req.Payload
		}
	}
	r.decide(ctx, m, q, event.QuestionAnswered, a, req.State, req.Rev)
	t := r.newContinuation(ctx, lease, last, m, req.Caller, req.Caps, s)
	return r.goOn(ctx, t, s, []int{place})
}

// takeUp takes the next group of a paused turn once check agrees. What has expired
// falls now rather than at the next round.
func (r *Runner) takeUp(ctx context.Context, msg string, wait time.Duration, check func() error) (store.Lease, uint64, error) {
	lease, last, err := r.next(ctx, msg, cmp.Or(wait, answerWait), check)
	if errors.Is(err, errExpired) {
		if _, err := r.expire(ctx, msg); err != nil {
			r.cfg.Logger.Warn("end what has expired", "msg", msg, "err", err)
		}
	}
	return lease, last, err
}

// errExpired is the cause of a refusal of an answer that comes too late.
var errExpired = errors.New("the question has expired")

// asked reads the question that a request answers and judges the answer.
func (r *Runner) asked(ctx context.Context, req AnswerRequest) (store.Message, *state, error) {
	gone := func(why error) *Error {
		return &Error{Code: CodeNotPaused, Message: "The question does not wait for an answer any more.", Msg: req.Msg, Err: why}
	}
	m, err := r.finished(ctx, req.Owner, req.Msg)
	if err != nil {
		return m, nil, err
	}
	b, ok := m.Block(req.Block)
	if !ok {
		return m, nil, &Error{Code: CodeNotFound, Message: "Not found."}
	}
	if m.Status != event.StatusPaused {
		return m, nil, gone(nil)
	}
	s, paused, err := r.stateOf(ctx, m.ID)
	if err != nil {
		return m, nil, storeError("read the paused turn", err)
	}
	if s == nil || !paused || s.End != "" {
		return m, nil, gone(nil)
	}
	place := s.place(req.Block)
	if place < 0 || !s.Step[place].Question.open() {
		return m, nil, gone(nil)
	}
	q := s.Step[place].Question
	if !r.cfg.Now().Before(q.Expires) {
		return m, nil, gone(errExpired)
	}
	var shown block.Confirm
	if q.Type == typeConfirm && json.Unmarshal(b.Payload, &shown) != nil || shown.ArgsDigest != "" && shown.ArgsDigest != q.Digest || digest(q.Tool, q.Args) != q.Digest {
		return m, nil, &Error{Code: CodeInternal, Message: "What would be done is not what was shown. Nothing was done.", Msg: m.ID}
	}
	return m, s, r.judge(q, req)
}

// judge checks an answer against its question.
func (r *Runner) judge(q *question, req AnswerRequest) error {
	invalid := func(err error) *Error {
		return &Error{Code: CodePayloadInvalid, Message: "The answer does not have the form that was asked for.", Err: err}
	}
	switch {
	case req.Action == tool.Approve && q.Type == typeConfirm:
		return nil
	case req.Action == tool.Reject && q.Type == typeConfirm:
		if err := judgeReject(req.Payload); err != nil {
			return invalid(err)
		}
		return nil
	case req.Action == tool.Edit && q.Edit:
		_, check, ok := r.lookup(q.Tool)
		if !ok {
			return &Error{Code: CodeNotPaused, Message: "The tool does not exist any more."}
		}
		if len(bytes.TrimSpace(req.Payload)) == 0 {
			return invalid(errors.New("no arguments"))
		}
		if _, err := check.Args(req.Payload); err != nil {
			return invalid(err)
		}
		return nil
	case req.Action == tool.Reply && q.Type == typeQuestion:
		form, err := block.CompileForm(q.Form)
		if err != nil {
			return &Error{Code: CodeInternal, Message: "The server failed.", Err: fmt.Errorf("compile the question's form: %w", err)}
		}
		if err := form.Validate(req.Payload); err != nil {
			return invalid(err)
		}
		return nil
	}
	return &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("The question cannot be answered with %q.", req.Action)}
}

// judgeReject takes a reason and nothing else: what the model would never read
// is not to look as if it did.
func judgeReject(payload json.RawMessage) error {
	var members map[string]json.RawMessage
	if len(bytes.TrimSpace(payload)) == 0 {
		return nil
	}
	refuse := func(path, message string) error {
		return &block.SchemaError{Violations: []block.Violation{{Path: path, Message: message}}}
	}
	if json.Unmarshal(payload, &members) != nil {
		return refuse("", "must be an object")
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		var reason string
		switch {
		case name != "reason":
			return refuse("", fmt.Sprintf("%q is not known; there is reason", clip(name, 80)))
		case json.Unmarshal(members[name], &reason) != nil:
			return refuse("/reason", "must be text")
		}
	}
	return nil
}

// reject is what the model is told of a call that was not approved.
func reject(payload json.RawMessage) string {
	told := "error: REJECTED The user did not approve the call; it was not run. Do not call it again unless the user asks for it."
	if why := reasonGiven(payload); why != "" {
		told += "\nThe user's reason: " + clip(why, maxDetail)
	}
	return told
}

// reasonGiven is why a call was not approved; "" when nobody says.
func reasonGiven(payload json.RawMessage) string {
	var why struct {
		Reason string `json:"reason"`
	}
	if json.Unmarshal(payload, &why) != nil {
		return ""
	}
	return why.Reason
}

// place finds the call that a block asks about, -1 for none.
func (s *state) place(blockID string) int {
	return slices.IndexFunc(s.Step, func(sl slot) bool { return sl.Question != nil && sl.Question.Block == blockID })
}

// edit replaces the arguments of a call, also in what the model is shown of
// itself.
func (s *state) edit(place int, args json.RawMessage) {
	sl := &s.Step[place]
	sl.Question.Args = args
	for i := len(s.Exchange) - 1; i >= 0; i-- {
		calls := s.Exchange[i].Calls
		for j := range calls {
			if calls[j].ID == sl.Call {
				calls = slices.Clone(calls)
				calls[j].Arguments, calls[j].Raw, calls[j].Repaired = args, string(args), false
				s.Exchange[i].Calls = calls
				return
			}
		}
	}
}

// remember keeps a result for equal calls of the turn.
func (s *state) remember(place int, failed bool) {
	sl := s.Step[place]
	if s.Results == nil {
		s.Results = make(map[string]result)
	}
	key := ""
	if sl.Client != nil {
		key = callKey(sl.Client.Name, sl.Client.Args)
	} else {
		key = callKey(sl.Question.Tool, sl.Question.Args)
	}
	s.Results[key] = result{Told: *sl.Told, Failed: failed}
}

// decide says what became of a question and what its block's state is then: the
// given one, or one made of a.
func (r *Runner) decide(ctx context.Context, m store.Message, q *question, status string, a answerState, given json.RawMessage, rev int) {
	q.Status, q.State, q.Rev = status, given, rev
	if q.State == nil {
		q.State = closed(status, a, r.cfg.Now())
	}
	if q.Rev > 0 {
		return
	}
	q.Rev = 1
	if b, ok := m.Block(q.Block); ok {
		q.Rev = max(q.Rev, b.Rev)
	}
	// The log may not know yet what was done with the block.
	if st, err := r.cfg.Store.BlockState(ctx, m.Owner, q.Block); err == nil {
		q.Rev = max(q.Rev, st.Rev)
	}
	q.Rev++
}

// newContinuation is a run that goes on with a paused turn.
func (r *Runner) newContinuation(ctx context.Context, lease store.Lease, last uint64, m store.Message, caller tool.Caller, caps block.Caps, s *state) *run {
	t := r.newGroup(ctx, lease, last, m, caller, caps, true)
	t.restore(s)
	return t
}

// goOn takes the conversation's place for a paused turn, makes what was decided
// about the questions at the given places durable and continues. From then on
// the turn is not paused any more, whatever happens.
func (r *Runner) goOn(ctx context.Context, t *run, s *state, places []int) (Started, error) {
	m := t.message
	undo := func(err *Error) (Started, error) {
		_, _ = t.out.Close() // nothing was written
		r.release(t.lease)
		return Started{}, err
	}
	if err := t.remind(ctx); err != nil {
		return undo(storeError("read the conversation", err))
	}
	err := r.cfg.Store.ResumeTurn(ctx, m.Owner, m.ID)
	var running *store.RunningError
	if errors.As(err, &running) && r.hurry(ctx, running.Msg) {
		err = r.cfg.Store.ResumeTurn(ctx, m.Owner, m.ID)
	}
	if err != nil {
		switch {
		case errors.As(err, &running):
			return undo(&Error{Code: CodeTurnRunning, Message: "An answer is still being written in this conversation.", Retryable: true, Msg: running.Msg, Err: err})
		case errors.Is(err, store.ErrConflict):
			return undo(&Error{Code: CodeNotPaused, Message: "The question does not wait for an answer any more.", Msg: m.ID, Err: err})
		}
		return undo(storeError("resume the turn", err))
	}
	// What was decided must be stored before anything is done: a tool that was
	// approved once never runs twice.
	if err := t.retrying(ctx, func() error { return t.put(ctx, s, false) }); err != nil {
		if perr := r.cfg.Store.PutMessage(context.WithoutCancel(ctx), m); perr != nil {
			t.log.Error("pause the turn again", "err", perr) // recovery does
		}
		return undo(storeError("store the answer", err))
	}
	t.message.Status = event.StatusRunning
	t.report(ctx)
	return t.started(), r.launch(ctx, t, func(ctx context.Context, first chan<- error) ending {
		return t.proceed(ctx, first, places)
	})
}

// proceed is the body of a group that goes on with a paused turn.
func (t *run) proceed(ctx context.Context, first chan<- error, places []int) ending {
	err := t.endQuestions(places)
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
	for _, i := range places {
		out := outcome{failed: true}
		if c := t.slots[i].Client; c != nil {
			out = outcome{told: *t.slots[i].Told, failed: c.Status != event.ToolOK, took: c.At.Sub(c.Asked)}
		} else if t.slots[i].Told == nil {
			out = t.approved(ctx, i)
			t.tell(i, out.told)
			t.save(context.WithoutCancel(ctx))
		} else {
			out.told = *t.slots[i].Told
		}
		t.answeredStep(i, out)
	}
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	if t.out.Err() != nil {
		return ending{lost: true}
	}
	if t.state().waits() {
		return t.pause(ctx)
	}
	t.endStep()
	return t.answer(ctx)
}

// approved runs the call that was agreed to.
func (t *run) approved(ctx context.Context, place int) outcome {
	q := t.slots[place].Question
	most := t.r.cfg.Limits.SummaryBytes
	p := &pending{call: t.call(t.slots[place].Call), began: t.r.cfg.Now(), same: -1}
	found, check, ok := t.r.lookup(q.Tool)
	if !ok {
		p.refuse(most, "error: unknown_tool The tool does not exist any more; nothing was done.")
		return p.out
	}
	given := q.Args
	if q.typed != nil {
		given = q.typed
	}
	args, err := check.Args(given)
	if err != nil {
		p.refuse(most, "error: invalid_arguments %v\nThe tool does not take the arguments any more; nothing was done.", err)
		return p.out
	}
	kept := args // what is secret is not
	if q.typed != nil {
		kept = q.Args
	}
	p.tool, p.spec, p.args, p.key, p.run = found, found.Spec(), kept, callKey(q.Tool, kept), true
	// What took an answer is not done again without one.
	p.spec.Unrepeatable, p.spec.Refreshable = true, false
	t.toolStart(p)
	if !p.run {
		return p.out
	}
	ctx = tool.WithAnswer(ctx, *q.Answer)
	t.announce(ctx, p)
	p.args = args
	t.execute(ctx, p)
	if q.Answer.Action == tool.Edit {
		p.out.told = "The user changed the arguments before approving; the call shows those it ran with.\n" + p.out.told
	}
	t.results[p.key] = result{p.out.told, p.out.failed}
	return p.out
}

// answeredStep writes what a person decided or the client ran, and what came of
// it, to the trajectory.
func (t *run) answeredStep(place int, o outcome) {
	q := t.slots[place].Question
	if t.slots[place].Client != nil {
		t.step(trajectory.Turn{
			At: t.r.cfg.Now(), Calls: []trajectory.Call{o.record(t.call(t.slots[place].Call))},
			Extra: map[string]any{"msg_id": t.message.ID, "cause": "client", "user": t.caller.User},
		})
		return
	}
	how := q.Status
	if q.Answer != nil {
		how = q.Answer.Action
	} else if how == event.QuestionAnswered {
		how = tool.Reject
	}
	call := t.call(t.slots[place].Call)
	if t.slots[place].Interrupt != nil {
		call = model.Call{ID: t.slots[place].Call, Name: q.Tool, Arguments: q.Args}
	}
	t.step(trajectory.Turn{
		At: t.r.cfg.Now(), Calls: []trajectory.Call{o.record(call)},
		Extra: map[string]any{"msg_id": t.message.ID, "block_id": q.Block, "cause": how, "user": t.caller.User},
	})
}

// expire ends what a paused turn has waited for long enough, and goes on with
// it, without tools, when it waits for nothing else. It reports whether it did.
func (r *Runner) expire(ctx context.Context, msg string) (bool, error) {
	m, err := r.cfg.Store.MessageOf(ctx, msg)
	if err != nil {
		return false, err
	}
	var s *state
	lease, last, err := r.next(ctx, msg, 0, func() (err error) {
		if m, err = r.finished(ctx, m.Owner, msg); err != nil {
			return err
		}
		var paused bool
		s, paused, err = r.stateOf(ctx, msg)
		if err == nil && (m.Status != event.StatusPaused || !paused) {
			return &Error{Code: CodeNotPaused, Message: "The turn is not paused.", Msg: msg}
		}
		return err
	})
	if err != nil {
		return false, ignoreGone(err)
	}
	if s == nil || s.End != "" {
		err := r.abandon(ctx, lease, last, m, s)
		r.release(lease)
		return err == nil, err
	}
	var places []int
	for i := range s.Step {
		sl := &s.Step[i]
		if !sl.open() || r.cfg.Now().Before(sl.expires()) {
			continue
		}
		if sl.Client.open() {
			told := "error: EXPIRED The application did not run the call in time."
			sl.Told = &told
			sl.Client.end(event.ToolCancelled, r.cfg.Now())
			s.remember(i, true)
			places = append(places, i)
			continue
		}
		q := sl.Question
		told := "error: EXPIRED The user did not answer in time; the call was not run."
		s.Step[i].Told = &told
		r.decide(ctx, m, q, event.QuestionExpired, answerState{}, nil, 0)
		s.remember(i, true)
		places = append(places, i)
	}
	if len(places) == 0 {
		r.release(lease)
		return false, nil
	}
	// Nobody is here whose rights a tool could run with.
	t := r.newContinuation(ctx, lease, last, m, tool.Caller{Tenant: m.Owner.Tenant, User: m.Owner.User, Lang: s.Lang}, block.Caps{}, s)
	t.unattended = true
	_, err = r.goOn(ctx, t, s, places)
	return err == nil, ignoreGone(err)
}

// ignoreGone leaves out refusals that say that somebody else was quicker.
func ignoreGone(err error) error {
	var te *Error
	if errors.As(err, &te) && (te.Code == CodeNotPaused || te.Code == CodeTurnRunning || te.Code == CodeNotFound) {
		return nil
	}
	return err
}

// stopPaused ends a paused turn as cancelled.
func (r *Runner) stopPaused(ctx context.Context, owner store.Owner, msg string) error {
	var m store.Message
	lease, last, err := r.next(ctx, msg, answerWait, func() (err error) {
		if m, err = r.finished(ctx, owner, msg); err == nil && m.Status != event.StatusPaused {
			err = &Error{Code: CodeNotPaused, Message: "The turn is not paused.", Msg: msg}
		}
		return err
	})
	if err != nil {
		return err
	}
	defer r.release(lease)
	s, _, err := r.stateOf(ctx, msg)
	if err == nil {
		err = r.abandon(ctx, lease, last, m, s)
	}
	if err != nil {
		return storeError("stop the paused turn", err)
	}
	return nil
}

// abandon ends a paused turn as cancelled. That it is to be is stored first:
// whoever comes after a crash ends it too.
func (r *Runner) abandon(ctx context.Context, lease store.Lease, last uint64, m store.Message, s *state) error {
	if s == nil {
		s = &state{V: stateVersion}
	}
	if s.End == "" {
		s.End = event.FinishCancelled
		if err := r.putState(ctx, m, s, true); err != nil {
			return err
		}
	}
	return r.endLeft(ctx, lease, last)
}
