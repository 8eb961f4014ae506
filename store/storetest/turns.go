package storetest

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// pause begins a turn that waits for a person until a time.
func pause(t *testing.T, s store.Store, o store.Owner, conversation string, until time.Time) string {
	t.Helper()
	b := turn(o, conversation, "", "question")
	must(t, s.Begin(t.Context(), b))
	m := b.Assistant
	m.Owner, m.Status, m.FinishReason, m.Seq = o, event.StatusPaused, event.FinishPaused, 5
	must(t, s.PutTurnState(t.Context(), store.TurnState{Msg: m.ID, Owner: o, Paused: true, ExpiresAt: until, Data: json.RawMessage(`{"step":2}`)}))
	must(t, s.PutMessage(t.Context(), m))
	return m.ID
}

func testTurnState(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	msg := b.Assistant.ID
	_, err := s.TurnState(ctx, msg)
	want(t, err, store.ErrNotFound)
	must(t, s.DeleteTurnState(ctx, msg))
	for _, st := range []store.TurnState{
		{Msg: msg, Owner: alice},
		{Msg: msg, Owner: alice, Data: json.RawMessage(`{"step":1}`)},
		{Msg: msg, Owner: alice, Paused: true, ExpiresAt: noon, Data: json.RawMessage(`{"step":2}`)},
		{Msg: msg, Owner: alice, Data: json.RawMessage(`{"step":3}`)},
	} {
		must(t, s.PutTurnState(ctx, st))
		if got, err := s.TurnState(ctx, msg); err != nil || !reflect.DeepEqual(got, st) {
			t.Fatalf("state\n%+v, want\n%+v (%v)", got, st, err)
		}
	}
	for _, o := range []store.Owner{bob, eve, {}} {
		want(t, s.PutTurnState(ctx, store.TurnState{Msg: msg, Owner: o}), store.ErrNotFound)
	}
	want(t, s.PutTurnState(ctx, store.TurnState{Msg: "m_none", Owner: alice}), store.ErrNotFound)
	for range 2 {
		must(t, s.DeleteTurnState(ctx, msg))
		_, err = s.TurnState(ctx, msg)
		want(t, err, store.ErrNotFound)
	}
	// It goes with its conversation.
	must(t, s.PutTurnState(ctx, store.TurnState{Msg: msg, Owner: alice, Paused: true, ExpiresAt: noon}))
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	_, err = s.TurnState(ctx, msg)
	want(t, err, store.ErrNotFound)
	if got, err := s.PausedBefore(ctx, noon.Add(time.Hour)); err != nil || len(got) != 0 {
		t.Fatalf("paused: %v (%v)", got, err)
	}
}

func testPaused(t *testing.T, s store.Store) {
	ctx := t.Context()
	late := pause(t, s, alice, "c_1", noon.Add(time.Hour))
	soon := pause(t, s, bob, "c_2", noon)
	pause(t, s, alice, "c_ever", time.Time{})
	// A turn between two of its steps waits for nobody.
	b := turn(alice, "c_3", "", "question")
	must(t, s.Begin(ctx, b))
	must(t, s.PutTurnState(ctx, store.TurnState{Msg: b.Assistant.ID, Owner: alice, ExpiresAt: noon}))
	check := func(at time.Time, msgs ...string) {
		t.Helper()
		got, err := s.PausedBefore(ctx, at)
		if err != nil || !slices.Equal(got, msgs) {
			t.Fatalf("paused before %s: %v, want %v (%v)", at, got, msgs, err)
		}
	}
	check(noon)
	check(noon.Add(time.Second), soon)
	check(noon.Add(2*time.Hour), soon, late)

	running, err := s.RunningMessages(ctx)
	must(t, err)
	if got := ids(running); !slices.Equal(got, []string{b.Assistant.ID}) {
		t.Fatalf("running: %v", got)
	}
	// What waits has not ended, however long ago it began to.
	write(t, s, late, 3)
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	if evs := collect(t, s.Read(ctx, late, 0)); evs[0].Type == event.Snapshot {
		t.Fatal("the events of a paused message are forgotten")
	}

	must(t, s.ResumeTurn(ctx, alice, late))
	check(noon.Add(2*time.Hour), soon)
	m, err := s.Message(ctx, alice, late)
	must(t, err)
	c, err := s.Conversation(ctx, alice, "c_1")
	must(t, err)
	if m.Status != event.StatusRunning || c.Running != late {
		t.Fatalf("message %s, running %q", m.Status, c.Running)
	}
	if running, err = s.RunningMessages(ctx); err != nil || len(running) != 2 {
		t.Fatalf("running: %v (%v)", ids(running), err)
	}
	st, err := s.TurnState(ctx, late)
	if err != nil || string(st.Data) != `{"step":2}` {
		t.Fatalf("state %+v (%v)", st, err)
	}
	types := feedTypes(feedNow(t, s, 0))
	if got := types[len(types)-3:]; !slices.Equal(got, []string{"message_updated " + late, "turn_started " + late, "conversation_updated c_1"}) {
		t.Fatalf("feed %v", got)
	}
	want(t, s.ResumeTurn(ctx, alice, late), store.ErrConflict) // it runs
	// It may pause again.
	m.Status = event.StatusPaused
	must(t, s.PutMessage(ctx, m))
	check(noon.Add(2*time.Hour), soon, late)
	must(t, s.ResumeTurn(ctx, alice, late))
}

// testPausedHidden keeps a conversation that is not listed while somebody is
// waited for in it.
func testPausedHidden(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: alice, Hidden: true}))
	msg := pause(t, s, alice, "c_1", noon)
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	m, err := s.Message(ctx, alice, msg)
	must(t, err)
	m.Status = event.StatusDone
	must(t, s.PutMessage(ctx, m))
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	_, err = s.Message(ctx, alice, msg)
	want(t, err, store.ErrNotFound)
}

// testPausedFollowUp leaves a follow-up open on a message that is paused: it
// is ended like any other.
func testPausedFollowUp(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := pause(t, s, alice, "c_1", noon)
	write(t, s, msg, 5)
	if got, err := s.Unfinished(ctx); err != nil || len(got) != 0 {
		t.Fatalf("Unfinished = %v (%v)", got, err)
	}
	lease, last, err := s.Acquire(ctx, msg, "one", short)
	must(t, err)
	must(t, s.Append(ctx, lease, delta(msg, lease.Group, last+1)))
	time.Sleep(2 * short)
	if got, err := s.Unfinished(ctx); err != nil || !slices.Equal(got, []string{msg}) {
		t.Fatalf("Unfinished = %v (%v)", got, err)
	}
}

func testResume(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := pause(t, s, alice, "c_1", noon)
	for _, o := range []store.Owner{bob, eve, {}} {
		want(t, s.ResumeTurn(ctx, o, msg), store.ErrNotFound)
	}
	want(t, s.ResumeTurn(ctx, alice, "m_none"), store.ErrNotFound)
	// While another turn runs it has to wait.
	next := turn(alice, "c_1", msg, "meanwhile")
	must(t, s.Begin(ctx, next))
	err := s.ResumeTurn(ctx, alice, msg)
	want(t, err, store.ErrConflict)
	var running *store.RunningError
	if !errors.As(err, &running) || running.Msg != next.Assistant.ID {
		t.Fatalf("error %v, want the running message", err)
	}
	finish(t, s, next, "answer")
	err = s.ResumeTurn(ctx, alice, next.Assistant.ID)
	want(t, err, store.ErrConflict)
	if errors.As(err, &running) && running.Msg == "" {
		t.Fatalf("error %v", err)
	}
	must(t, s.ResumeTurn(ctx, alice, msg))
	want(t, s.Begin(ctx, turn(alice, "c_1", "", "too soon")), store.ErrConflict)
	c, err := s.Conversation(ctx, alice, "c_1")
	must(t, err)
	if c.Running != msg || c.Leaf != next.Assistant.ID {
		t.Fatalf("conversation %+v", c)
	}
}

// testResumeRace lets answers and new questions race for a conversation's
// running turn.
func testResumeRace(t *testing.T, s store.Store) {
	ctx := t.Context()
	for i := range 10 {
		conversation := "c_" + string(rune('a'+i))
		msg := pause(t, s, alice, conversation, noon)
		var mu sync.Mutex
		var won []string
		var wg sync.WaitGroup
		try := func(name string, call func() error) {
			wg.Go(func() {
				switch err := call(); {
				case err == nil:
					mu.Lock()
					won = append(won, name)
					mu.Unlock()
				case !errors.Is(err, store.ErrConflict):
					t.Error(err)
				}
			})
		}
		for range 5 {
			b := turn(alice, conversation, "", "question")
			try(msg, func() error { return s.ResumeTurn(ctx, alice, msg) })
			try(b.Assistant.ID, func() error { return s.Begin(ctx, b) })
		}
		wg.Wait()
		c, err := s.Conversation(ctx, alice, conversation)
		must(t, err)
		if len(won) != 1 || c.Running != won[0] {
			t.Fatalf("%v won, %s runs", won, c.Running)
		}
	}
}

func testFeedback(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	msg := b.Assistant.ID
	before, err := s.Conversation(ctx, alice, "c_1")
	must(t, err)
	check := func(f *store.Feedback) {
		t.Helper()
		path, err := s.Path(ctx, alice, "c_1", "")
		must(t, err)
		one, err := s.Message(ctx, alice, msg)
		must(t, err)
		bare, err := s.MessageOf(ctx, msg)
		must(t, err)
		for name, m := range map[string]store.Message{"Path": path[1], "Message": one, "MessageOf": bare} {
			if !reflect.DeepEqual(m.Feedback, f) {
				t.Fatalf("%s: feedback %+v, want %+v", name, m.Feedback, f)
			}
		}
		if path[0].Feedback != nil {
			t.Fatalf("feedback %+v on the question", path[0].Feedback)
		}
	}
	check(nil)
	good := store.Feedback{Rating: "up", At: noon}
	must(t, s.PutFeedback(ctx, alice, msg, good))
	check(&good)
	running, err := s.RunningMessages(ctx)
	if err != nil || len(running) != 1 || !reflect.DeepEqual(running[0].Feedback, &good) {
		t.Fatalf("running: %+v (%v)", running, err)
	}
	finish(t, s, b, "answer") // leaves it
	check(&good)
	bad := store.Feedback{Rating: "down", Comment: "数字不对", At: noon.Add(time.Minute)}
	must(t, s.PutFeedback(ctx, alice, msg, bad))
	check(&bad)
	for _, o := range []store.Owner{bob, eve, {}} {
		want(t, s.PutFeedback(ctx, o, msg, good), store.ErrNotFound)
	}
	want(t, s.PutFeedback(ctx, alice, "m_none", good), store.ErrNotFound)
	check(&bad)
	must(t, s.PutFeedback(ctx, alice, msg, store.Feedback{Comment: "nothing"}))
	check(nil)
	// Whoever looks on hears of it; the conversation keeps its place.
	types := feedTypes(feedNow(t, s, 0))
	if last := types[len(types)-1]; last != "message_updated "+msg {
		t.Fatalf("feed %v", types)
	}
	must(t, s.PutFeedback(ctx, alice, msg, store.Feedback{Rating: "up"}))
	m, err := s.Message(ctx, alice, msg)
	must(t, err)
	if m.Feedback == nil || m.Feedback.At.Before(before.CreatedAt) {
		t.Fatalf("feedback %+v", m.Feedback)
	}
}
