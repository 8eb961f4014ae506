package action

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
)

// Questions of a paused turn are answered through the gateway.
func TestAnswer(t *testing.T) {
	for _, c := range []struct {
		question, act, payload string
		runs                   []string
	}{
		{"risk", "approve", "", []string{`{"what":"risk"}`}},
		{"risk", "reject", `{"reason":"too late"}`, []string{}},
		{"risk", "edit", `{"what":"less"}`, []string{`{"what":"less"}`}},
		{"question", "answer", `{"choices":["b"]}`, []string{`{"what":"question"}{"choices":["b"]}`}},
	} {
		t.Run(c.act, func(t *testing.T) {
			r := newRig(t)
			m := r.show(c.question)
			if m.Status != event.StatusPaused {
				t.Fatalf("not paused: %s", m.Status)
			}
			req := r.press(m, c.act, c.payload)
			a, body, err := r.do(req)
			if err != nil || a.Status != 202 || body.Status != "accepted" || body.MsgID != m.ID || body.AfterSeq == nil || *body.AfterSeq != m.Seq {
				t.Fatalf("%v %s", err, a.Body)
			}
			m = r.finished(m.ID)
			tool := map[string]*asking{"risk": r.risky, "question": r.question}[c.question]
			if got := tool.ran(); !slices.Equal(got, c.runs) {
				t.Errorf("runs %q, want %q", got, c.runs)
			}
			if b := blockOf(t, m); !isLocked(b.State) || statusOf(b.State) != "answered" {
				t.Errorf("state %s", b.State)
			}
			// The same request again is answered as before; another comes too late.
			again, _, err := r.do(req)
			if err != nil || !again.Replayed || !same(again.Body, a.Body) {
				t.Errorf("again: %v %s", err, again.Body)
			}
			late := r.refused(CodeSubmitted, r.press(m, c.act, c.payload))
			if late.Details["block"].(BlockView).State == nil {
				t.Errorf("details %v", late.Details)
			}
			if got := r.audit(m.Conversation); !slices.Equal(got, []string{"allowed " + c.act, "denied already_submitted"}) {
				t.Errorf("audit %v", got)
			}
			if got := tool.ran(); !slices.Equal(got, c.runs) {
				t.Errorf("ran again: %q", got)
			}
		})
	}
}

// late is a turn that another device answers first, every time.
type late struct {
	Turns
	first func() error
}

func (l late) Answer(_ context.Context, req turn.AnswerRequest) (turn.Started, error) {
	if err := l.first(); err != nil {
		return turn.Started{}, err
	}
	return turn.Started{}, &turn.Error{Code: turn.CodeNotPaused, Message: "It does not wait.", Msg: req.Msg}
}

// An answer that another one overtook is told what became of the question, also
// while the turn goes on.
func TestAnswerOvertaken(t *testing.T) {
	for _, running := range []bool{false, true} {
		r := newRig(t)
		m := r.show("risk")
		hold := make(chan struct{})
		r.risky.hold = hold
		if !running {
			close(hold)
		}
		g := newProcess(t, r, &process{Store: r.store, turns: late{r.runner, func() error {
			_, _, err := r.do(r.press(m, "approve", ""))
			if err == nil && !running {
				r.finished(m.ID)
			}
			return err
		}}})
		_, err := g.Do(context.Background(), r.press(m, "reject", ""))
		var own *Error
		if !errors.As(err, &own) || own.Code != CodeSubmitted {
			t.Fatalf("running %v: %v", running, err)
		}
		if v, ok := own.Details["block"].(BlockView); !ok || v.ID != blockOf(t, m).ID || v.Rev != 2 || v.State == nil {
			t.Errorf("running %v: details %v", running, own.Details)
		}
		if running {
			close(hold)
		}
		r.finished(m.ID)
		if got := r.risky.ran(); len(got) != 1 {
			t.Errorf("running %v: ran %q", running, got)
		}
		closed(t, g)
	}
}

// What does not fit leaves the question open, and its key free.
func TestAnswerRefused(t *testing.T) {
	r := newRig(t)
	m := r.show("risk")
	edit := r.press(m, "edit", `{"what":7}`)
	e := r.refused(CodePayloadInvalid, edit)
	raw, err := json.Marshal(e.Details["violations"])
	if err != nil || string(raw) == "[]" {
		t.Errorf("violations %s", raw)
	}
	r.refused(CodeNotFound, r.press(m, "answer", `{}`))
	bob := r.as("bob")
	stolen := r.press(m, "approve", "")
	stolen.Owner, stolen.Caller = bob.owner(), bob.caller()
	r.refused(CodeNotFound, stolen)
	stale := r.press(m, "approve", "")
	stale.Rev = 5
	r.refused(CodeStale, stale)
	if got := r.risky.ran(); len(got) != 0 {
		t.Fatalf("ran %q", got)
	}
	edit.Payload = json.RawMessage(`{"what":"ok"}`)
	if _, body, err := r.do(edit); err != nil || body.Status != "accepted" {
		t.Errorf("%v %+v", err, body)
	}
	r.finished(m.ID)
	// While another turn runs in the conversation there is no place to go on.
	m = r.show("risk")
	hold := make(chan struct{})
	if _, err := r.runner.Follow(context.Background(), turn.FollowRequest{Owner: r.owner(), Msg: m.ID}, func(context.Context, *turn.Follow) error {
		<-hold
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	req := r.press(m, "approve", "")
	r.refused(turn.CodeTurnRunning, req)
	close(hold)
	if _, body, err := r.do(req); err != nil || body.Status != "accepted" {
		t.Errorf("%v %+v", err, body)
	}
	r.finished(m.ID)
}

// Two devices answer at once: one answer counts, and what was asked for runs
// once.
func TestAnswerTwice(t *testing.T) {
	r := newRig(t)
	for range 30 {
		m := r.show("risk")
		before := len(r.risky.ran())
		key := newKey()
		var wg sync.WaitGroup
		var mu sync.Mutex
		codes := map[string]int{}
		for i := range 4 {
			req := r.press(m, "approve", "")
			if i%2 == 0 {
				req.Key = key // a double click
			}
			wg.Go(func() {
				a, err := r.g.Do(context.Background(), req)
				code := "accepted"
				if err != nil {
					code = codeOf(err)
				} else if a.Status != 202 {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				mu.Lock()
				defer mu.Unlock()
				codes[code]++
			})
		}
		wg.Wait()
		r.finished(m.ID)
		if n := len(r.risky.ran()) - before; n != 1 || codes["accepted"] < 1 {
			t.Fatalf("ran %d times: %v", n, codes)
		}
		for code := range codes {
			if code != "accepted" && code != CodeSubmitted && code != turn.CodeTurnRunning && code != turn.CodeNotPaused {
				t.Errorf("codes %v", codes)
			}
		}
	}
}

// Killed after the answer and before its record, the answer stands.
func TestAnswerCrash(t *testing.T) {
	for step := 1; ; step++ {
		killed := false
		for _, after := range []bool{false, true} {
			r := newRig(t)
			m := r.show("risk")
			p := &process{Store: r.store, turns: r.runner, kill: step, after: after}
			g := newProcess(t, r, p)
			req := r.press(m, "approve", "")
			_, _ = g.Do(context.Background(), req)
			closed(t, g)
			killed = killed || p.killed()
			g = newProcess(t, r, &process{Store: r.store, turns: r.runner})
			r.clock.forward(31 * time.Second)
			if err := g.Sweep(context.Background()); err != nil {
				t.Fatal(err)
			}
			_, err := g.Do(context.Background(), req)
			if code := codeOf(err); err != nil && code != CodeSubmitted && code != turn.CodeNotPaused && code != turn.CodeTurnRunning {
				t.Errorf("step %d after %v: %v", step, after, err)
			}
			closed(t, g)
			r.finished(m.ID)
			if got := r.risky.ran(); len(got) != 1 {
				t.Errorf("step %d after %v: ran %q", step, after, got)
			}
		}
		if !killed {
			if step < 8 {
				t.Errorf("only %d steps", step)
			}
			return
		}
	}
}

// finished waits until a turn went on to its end.
func (r *rig) finished(msg string) (m store.Message) {
	r.t.Helper()
	deadline := time.Now().Add(time.Minute)
	for {
		if m = r.settled(msg); m.Status == event.StatusDone {
			return m
		}
		if time.Now().After(deadline) {
			r.t.Fatalf("%s did not go on: %s", msg, m.Status)
		}
		time.Sleep(time.Millisecond)
	}
}
