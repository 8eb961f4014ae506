package action

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// answerName is the name that answers of questions are recorded under.
const answerName = "inlay.answer"

// answers is the built-in action of a block that a paused turn waits for.
var answers = &registered{Def: Def{
	Name: answerName, Effect: Write, Confirm: Confirm{Level: LevelNone}, Report: ReportNone, Timeout: time.Minute,
	// It is recorded after it was given.
	Lookup: func(context.Context, Call) (bool, Result, error) { return true, Result{}, nil },
}}

// isAnswer says whether an action of a block answers the question of a turn.
// An action that names a registered one is that one.
func isAnswer(b block.Block, a block.Action) bool {
	return (b.Type == "confirm" || b.Type == "question") && a.Action == "" &&
		slices.Contains([]string{tool.Approve, tool.Reject, tool.Edit, tool.Reply}, a.ID)
}

// answer hands a paused turn its answer. The turn takes one answer to a
// question, whoever asks how often: only after that the call is recorded, so
// that a crash in between loses the record and never the answer.
func (g *Gateway) answer(ctx context.Context, c *check) (Answer, error) {
	ctx = context.WithoutCancel(ctx)
	began := g.cfg.Now()
	st, err := g.cfg.Turns.Answer(ctx, turn.AnswerRequest{
		Owner: c.req.Owner, Caller: c.req.Caller, Msg: c.req.Msg, Block: c.req.Block, Action: c.act.ID,
		Payload: c.req.Payload, Values: secrets(c.block, c.req.Payload), Caps: c.req.Caps,
	})
	var te *turn.Error
	switch {
	case errors.As(err, &te) && te.Code == turn.CodeNotPaused:
		return g.answered(ctx, c, err)
	case errors.As(err, &te) && te.Code == turn.CodePayloadInvalid:
		var args *tool.ArgumentError
		if errors.As(err, &args) {
			err = &block.SchemaError{Violations: args.Violations}
		}
		return Answer{}, payloadInvalid(err)
	case err != nil:
		return Answer{}, err
	}
	b := c.block
	if m, err := g.message(ctx, c); err == nil {
		if now, ok := m.Block(b.ID); ok {
			b = now
		}
	}
	body, err := encode(answerBody{
		Status: "accepted", MsgID: st.Msg, ConversationID: st.Conversation, AfterSeq: &st.After,
		Block: &BlockView{ID: b.ID, Rev: b.Rev, State: b.State}, TraceID: c.req.TraceID,
	})
	if err != nil {
		return Answer{}, err
	}
	a := Answer{Status: http.StatusAccepted, Body: body}
	call, _, err := g.reserve(ctx, c)
	if err != nil {
		g.cfg.Logger.Error("record an answer", "msg", c.req.Msg, "block", c.req.Block, "err", err)
		return a, nil
	}
	e := g.entry(c)
	e.Call, e.Decision, e.Outcome, e.RevAfter = call.ID, "allowed", c.act.ID, b.Rev
	e.DurationMs = g.cfg.Now().Sub(began).Milliseconds()
	if _, _, err := g.store(ctx, store.ActionFinish{
		ID: call.ID, Holder: g.cfg.Instance, Status: store.CallDone, HTTPStatus: a.Status, At: g.cfg.Now(), Audit: e,
		Answer: func(store.BlockState) ([]byte, error) { return body, nil },
	}); err != nil {
		g.cfg.Logger.Error("record an answer", "msg", c.req.Msg, "block", c.req.Block, "err", err)
	}
	return a, nil
}

// answered refuses an answer that another one came before, or repeats the first
// one's when it is the same.
func (g *Gateway) answered(ctx context.Context, c *check, cause error) (Answer, error) {
	const tries = 25
	for try := range tries { // the first may be on its way to be recorded
		call, err := g.cfg.Store.ActionCall(ctx, c.req.Owner, c.req.Key)
		if err == nil {
			return g.again(ctx, c, call)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return Answer{}, fmt.Errorf("look up key: %w", err)
		}
		m, err := g.message(ctx, c)
		if err != nil {
			return Answer{}, notFound(err)
		}
		// Of a turn that goes on the record may be late, but not for ever.
		if b, ok := m.Block(c.req.Block); ok && isLocked(b.State) && (m.Status != event.StatusRunning || try == tries-1) {
			c.state = stateOf(c.req.Owner, c.req.Msg, b)
			return Answer{}, c.stateAllows(c.state, true)
		}
		time.Sleep(20 * time.Millisecond)
	}
	return Answer{}, cause
}
