package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
)

// Recover ends what a crash or a lost lease left open: open blocks with
// block_error, the group with an error that may be tried again; of a turn, what
// was said and used until then is kept. A turn whose answer was whole, which a
// recommender only looked at, has ended well. Turns that wait for a person are left
// alone, until the question expires: then they go on without the answer. It
// returns how many messages it ended or continued, and is called at start and
// from time to time.
func (r *Runner) Recover(ctx context.Context) (int, error) {
	open, err := r.cfg.Store.Unfinished(ctx)
	if err != nil {
		return 0, fmt.Errorf("list unfinished turns: %w", err)
	}
	records, err := r.cfg.Store.RunningMessages(ctx)
	if err != nil {
		return 0, fmt.Errorf("list running messages: %w", err)
	}
	byID := make(map[string]store.Message, len(records))
	for _, m := range records {
		byID[m.ID] = m
	}
	n := 0
	var failures []error
	for _, msg := range open {
		if r.runs(msg) {
			continue
		}
		delete(byID, msg)
		if err := r.recoverLog(ctx, msg); err != nil {
			failures = append(failures, fmt.Errorf("end %s: %w", msg, err))
			continue
		}
		n++
	}
	// Records whose log is closed, or was never begun.
	for _, m := range byID {
		if r.runs(m.ID) {
			continue
		}
		_, open, err := r.cfg.Store.Last(ctx, m.ID)
		if err == nil && open {
			continue // another instance writes it
		}
		// The turn may have ended, with all it knows, since the list was read.
		m, err := r.cfg.Store.MessageOf(ctx, m.ID)
		if errors.Is(err, store.ErrNotFound) || err == nil && m.Status != event.StatusRunning {
			continue
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("read record: %w", err))
			continue
		}
		if _, waits := r.cfg.Store.TurnState(ctx, m.ID); waits == nil {
			// It died on its way out of a pause.
			err = r.recoverLog(ctx, m.ID)
		} else {
			err = r.recoverRecord(ctx, m)
		}
		if err != nil {
			failures = append(failures, fmt.Errorf("end record %s: %w", m.ID, err))
			continue
		}
		n++
	}
	due, err := r.cfg.Store.PausedBefore(ctx, r.cfg.Now())
	if err != nil {
		failures = append(failures, fmt.Errorf("list expired questions: %w", err))
	}
	for _, msg := range due {
		went, err := r.expire(ctx, msg)
		if err != nil {
			failures = append(failures, fmt.Errorf("end the expired questions of %s: %w", msg, err))
		}
		if went {
			n++
		}
	}
	return n, errors.Join(failures...)
}

// recoverLog ends the open group of a log. Where the record was written
// already and only the terminal event is missing, the log gets the end that the
// record names.
func (r *Runner) recoverLog(ctx context.Context, msg string) error {
	lease, last, err := r.cfg.Store.Acquire(ctx, msg, r.cfg.Instance, r.cfg.Limits.Lease)
	if err != nil {
		return err
	}
	defer r.release(lease)
	return r.endLeft(ctx, lease, last)
}

// leftover is what is known of a group that was left open.
type leftover struct {
	lease store.Lease
	last  uint64
	// record is the message's, recorded says that there is one.
	record   store.Message
	recorded bool
	folder   *event.Folder
	// begun says that the group has events.
	begun bool
	// state is where the turn was, nil when that is not known; paused says that
	// it waits for a person.
	state  *state
	paused bool
	// ended are the questions that the log says are over.
	ended map[string]bool
}

// endLeft ends what the log and the records of a message were left with: the
// group of the lease, or a pause on its way in or out.
func (r *Runner) endLeft(ctx context.Context, lease store.Lease, last uint64) error {
	l := leftover{lease: lease, last: last, folder: event.NewFolder(lease.Msg), begun: last == 0, ended: make(map[string]bool)}
	var err error
	l.record, err = r.cfg.Store.MessageOf(ctx, lease.Msg)
	l.recorded = err == nil
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	if last == 0 && !l.recorded {
		return nil // a lease taken before anything else was; releasing it is all
	}
	if l.state, l.paused, err = r.stateOf(ctx, lease.Msg); err != nil {
		return err
	}
	for ev, err := range r.cfg.Store.Read(ctx, lease.Msg, 0) {
		if err != nil {
			if errors.Is(err, store.ErrNotFound) {
				break
			}
			return err
		}
		l.folder.Apply(ev)
		l.begun = ev.Group == lease.Group && ev.Type != event.Snapshot && !ev.Type.Terminal()
		if ev.Type == event.PendingQuestionEnd {
			l.ended[ev.Block] = true
		}
	}
	if !l.begun {
		switch m := l.record; {
		case !l.recorded || l.state == nil:
			return nil // ended meanwhile
		case m.Status == event.StatusRunning && l.paused && l.state.End == "":
			// The answer was not stored: the turn waits as before.
			m.Status = event.StatusPaused
			return r.cfg.Store.PutMessage(ctx, m)
		case m.Status == event.StatusRunning, m.Status == event.StatusPaused && l.state.End != "":
			// An answer or the end was stored, and nothing of it is in the log.
		default:
			return nil
		}
	}
	st := l.folder.State()
	out := emit.New(ctx, emit.Config{
		Log: r.cfg.Store, Lease: lease, Registry: r.cfg.Registry, Folder: l.folder, Last: last,
		Started: r.startOf(st, l.record), Now: r.cfg.Now, Appended: r.cfg.Observer.Events,
		Fetched: func(block string) bool {
			_, err := r.cfg.Store.BlockCall(ctx, l.record.Owner, block)
			return err == nil
		},
	})
	err = r.endGroup(ctx, out, l, st)
	if _, closeErr := out.Close(); err == nil {
		err = closeErr
	}
	if err == nil {
		r.mu.Lock()
		delete(r.lost, lease.Msg)
		r.mu.Unlock()
	}
	return err
}

// cause is why a message was left without its end, as far as this process
// knows.
func (r *Runner) cause(msg string) event.ErrorData {
	r.mu.Lock()
	defer r.mu.Unlock()
	if e, ok := r.lost[msg]; ok {
		return e
	}
	return event.ErrorData{Code: CodeInterrupted, Message: "The answer was interrupted by a restart of the server.", Retryable: true}
}

// endGroup writes the end of a group that was left open. The group is the
// turn's when it is the first one or goes on with a paused turn.
func (r *Runner) endGroup(ctx context.Context, out *emit.Stream, l leftover, was event.State) error {
	m, cause := l.record, r.cause(l.lease.Msg)
	turn := was.Status == event.StatusRunning || !l.begun
	if l.last == 0 {
		if err := out.Start(event.StartData{ConversationID: m.Conversation, UserMessageID: m.Parent, Model: m.Model}); err != nil {
			return err
		}
	}
	// A record that is ahead of its log says how the turn ended.
	ahead := turn && l.recorded && m.Status != event.StatusRunning && m.Seq > was.Seq
	pausing := turn && !ahead && l.begun && l.paused && l.state != nil && l.state.End == ""
	if turn && !ahead && !pausing {
		if err := l.endQuestions(out, was.Blocks, r.cfg.Now()); err != nil {
			return err
		}
		if err := l.endCalls(out, was.Tools, r.cfg.Now()); err != nil {
			return err
		}
	}
	st, err := out.Settle(ctx, block.Error{Code: block.CodeInterrupted, Message: cause.Message, Retryable: true})
	if err != nil {
		return err
	}
	if !l.recorded {
		return out.Error(cause)
	}
	if !ahead {
		m.Blocks, m.Seq, m.Reasoning, m.Tools = st.Blocks, st.Seq+1, st.Reasoning, st.Tools
		if turn {
			m.Status, m.FinishReason, m.Err = event.StatusError, "", &cause
			var said []model.Message
			switch {
			case pausing:
				m.Status, m.FinishReason, m.Err = event.StatusPaused, event.FinishPaused, nil
				said = l.state.results(waitingPlaceholder)
			case l.state != nil:
				said = l.state.cut(st.Blocks, r.cardSource(ctx, m.Owner))
			}
			if l.state != nil {
				m.Usage = usageOf(l.state.Usage)
				switch l.state.End {
				case event.FinishCancelled:
					m.Status, m.FinishReason, m.Err = event.StatusCancelled, event.FinishCancelled, nil
				case event.FinishStop:
					m.Status, m.FinishReason, m.Err = event.StatusDone, event.FinishStop, nil
				}
				if m.Exchange, err = json.Marshal(said); err != nil {
					return err
				}
			}
		}
		if err := r.cfg.Store.PutMessage(ctx, m); err != nil {
			return err
		}
	}
	switch {
	case !turn:
		return out.Error(cause)
	case m.Status != event.StatusPaused:
		if err := r.cfg.Store.DeleteTurnState(ctx, m.ID); err != nil {
			return err
		}
	}
	if m.Status == event.StatusError {
		if m.Err == nil {
			m.Err = &cause
		}
		return out.Error(*m.Err)
	}
	return out.Done(event.DoneData{FinishReason: m.FinishReason, Usage: m.Usage, Model: m.Model})
}

// endQuestions writes what became of the turn's questions, as far as the log
// does not say so. Those that nobody answered are cancelled, also those that the
// state does not know of yet.
func (l *leftover) endQuestions(out *emit.Stream, blocks []block.Block, now time.Time) error {
	if err := out.EndText(); err != nil {
		return err
	}
	for _, b := range blocks {
		if b.Type != typeConfirm && b.Type != typeQuestion || b.Status != block.StatusDone {
			continue
		}
		q, place := &question{Block: b.ID}, -1
		if l.state != nil {
			place = l.state.place(b.ID)
		}
		if place >= 0 {
			q = l.state.Step[place].Question
		} else if len(b.State) > 0 {
			continue // of an earlier step
		}
		if q.open() {
			q.Status, q.State, q.Rev = event.QuestionCancelled, closed(event.QuestionCancelled, answerState{}, now), b.Rev+1
		}
		if !l.ended[b.ID] {
			if err := out.QuestionEnd(event.QuestionData{QuestionID: b.ID, Status: q.Status}); err != nil {
				return err
			}
		}
		if b.Rev < q.Rev {
			if err := out.State(b.ID, q.State, q.Rev); err != nil {
				return err
			}
		}
	}
	return nil
}

// endCalls writes what became of the calls that the client was asked to run, as
// far as the log does not say so. Those that it has not answered are cancelled,
// also those that the state does not know of yet.
func (l *leftover) endCalls(out *emit.Stream, calls []event.ToolActivity, now time.Time) error {
	for _, a := range calls {
		if !a.Client || a.Status != event.ToolRunning {
			continue
		}
		c := &clientCall{Name: a.Name, Asked: now}
		if l.state != nil {
			if i := slices.IndexFunc(l.state.Step, func(sl slot) bool { return sl.Call == a.ID && sl.Client != nil }); i >= 0 {
				c = l.state.Step[i].Client
			}
		}
		if c.open() {
			c.end(event.ToolCancelled, now)
		}
		if err := out.ToolEnd(c.ended(a.ID)); err != nil {
			return err
		}
	}
	return nil
}

func (r *Runner) startOf(st event.State, m store.Message) time.Time {
	switch {
	case st.Start.TS != 0:
		return time.UnixMilli(st.Start.TS)
	case !m.CreatedAt.IsZero():
		return m.CreatedAt
	}
	return r.cfg.Now()
}

// recoverRecord brings a record in line with its finished log.
func (r *Runner) recoverRecord(ctx context.Context, m store.Message) error {
	st, err := event.Fold(r.cfg.Store.Read(ctx, m.ID, 0))
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return err
	}
	m.Blocks, m.Seq, m.Status = st.Blocks, st.Seq, st.Status
	m.Reasoning, m.Tools = st.Reasoning, st.Tools
	m.FinishReason, m.Usage, m.Err = st.FinishReason, st.Usage, st.Err
	if m.Status == event.StatusRunning {
		m.Status = event.StatusError
		m.Err = &event.ErrorData{Code: CodeInterrupted, Message: "The answer was interrupted by a restart of the server.", Retryable: true}
	}
	return r.cfg.Store.PutMessage(ctx, m)
}
