package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

func testAppendRead(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease, last, err := s.Acquire(ctx, "m_1", "one", ttl)
	must(t, err)
	if last != 0 || lease.Msg != "m_1" || lease.Group != 1 || lease.Owner != "one" {
		t.Fatalf("lease %+v after seq %d", lease, last)
	}
	seq, open, err := s.Last(ctx, "m_1")
	must(t, err)
	if seq != 0 || !open {
		t.Fatalf("Last = %d, %v before the first event", seq, open)
	}
	evs := []event.Event{
		{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1,"unknown":[1]}`)},
		delta("m_1", 1, 2), delta("m_1", 1, 3),
		{Seq: 4, At: 9, Group: 1, Type: "a_type_of_tomorrow", Msg: "m_1", Block: "b_9", Data: json.RawMessage(`{}`)},
	}
	must(t, s.Append(ctx, lease, evs[0]))
	must(t, s.Append(ctx, lease, evs[1:]...))
	must(t, s.Append(ctx, lease)) // nothing
	for after := range uint64(5) {
		sameEvents(t, collect(t, s.Read(ctx, "m_1", after)), evs[after:])
	}
	sameEvents(t, collect(t, s.Read(ctx, "m_1", 99)), nil)
	must(t, s.Append(ctx, lease, done("m_1", 1, 5)))
	evs = append(evs, done("m_1", 1, 5))
	for after := range uint64(6) {
		sameEvents(t, collect(t, s.Read(ctx, "m_1", after)), evs[after:])
	}
	seq, open, err = s.Last(ctx, "m_1")
	must(t, err)
	if seq != 5 || open {
		t.Fatalf("Last = %d, %v after the end", seq, open)
	}
	must(t, s.Release(ctx, lease))
	// A reader that stops early stops.
	for range s.Read(ctx, "m_1", 0) {
		break
	}
}

func testSequence(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	must(t, s.Append(ctx, lease, delta("m_1", 1, 1), delta("m_1", 1, 2)))
	for name, evs := range map[string][]event.Event{
		"gap":                {delta("m_1", 1, 4)},
		"repetition":         {delta("m_1", 1, 2)},
		"gap within":         {delta("m_1", 1, 3), delta("m_1", 1, 5)},
		"other group":        {delta("m_1", 2, 3)},
		"other message":      {delta("m_2", 1, 3)},
		"after the terminal": {done("m_1", 1, 3), delta("m_1", 1, 4)},
	} {
		if err := s.Append(ctx, lease, evs...); !errors.Is(err, store.ErrSequence) {
			t.Errorf("%s: error %v, want %v", name, err, store.ErrSequence)
		}
	}
	must(t, s.Append(ctx, lease, done("m_1", 1, 3)))
	want(t, s.Append(ctx, lease, delta("m_1", 1, 4)), store.ErrSequence)
	if got := collect(t, s.Read(ctx, "m_1", 0)); len(got) != 3 {
		t.Fatalf("%d events are stored, want 3", len(got))
	}
}

func testGroups(t *testing.T, s store.Store) {
	ctx := t.Context()
	evs := write(t, s, "m_1", 4)
	lease, last, err := s.Acquire(ctx, "m_1", "two", ttl)
	must(t, err)
	if lease.Group != 2 || last != 4 {
		t.Fatalf("second lease: group %d after seq %d", lease.Group, last)
	}
	tail := make(chan event.Event, 10)
	go func() {
		for e, err := range s.Tail(ctx, "m_1", 2) {
			if err != nil {
				t.Error(err)
			}
			tail <- e
		}
		close(tail)
	}()
	for _, e := range evs[2:] {
		sameEvents(t, []event.Event{recv(t, tail)}, []event.Event{e})
	}
	must(t, s.Append(ctx, lease, delta("m_1", 2, 5)))
	sameEvents(t, []event.Event{recv(t, tail)}, []event.Event{delta("m_1", 2, 5)})
	must(t, s.Append(ctx, lease, done("m_1", 2, 6)))
	sameEvents(t, []event.Event{recv(t, tail)}, []event.Event{done("m_1", 2, 6)})
	select {
	case e, ok := <-tail:
		if ok {
			t.Fatalf("after the end: %+v", e)
		}
	case <-time.After(patience):
		t.Fatal("the tail goes on after the last group")
	}
	must(t, s.Release(ctx, lease))
	evs = append(evs, delta("m_1", 2, 5), done("m_1", 2, 6))
	evs = append(evs, write(t, s, "m_1", 3)...)
	sameEvents(t, collect(t, s.Read(ctx, "m_1", 0)), evs)
	sameEvents(t, collect(t, s.Tail(ctx, "m_1", 0)), evs)
}

func testTailFromEverySeq(t *testing.T, s store.Store) {
	ctx := t.Context()
	const n = 60
	lease := acquire(t, s, "m_1")
	var wg sync.WaitGroup
	got := make([][]event.Event, n)
	var evs []event.Event
	for i := range n {
		e := delta("m_1", 1, uint64(i)+1)
		if i == n-1 {
			e = done("m_1", 1, n)
		}
		// A reader from every seq, begun when about half of it is written.
		if i == n/2 {
			for after := range got {
				wg.Go(func() {
					for e, err := range s.Tail(ctx, "m_1", uint64(after)) {
						if err != nil {
							t.Error(err)
						}
						got[after] = append(got[after], e)
					}
				})
			}
		}
		must(t, s.Append(ctx, lease, e))
		evs = append(evs, e)
	}
	wg.Wait()
	for after := range got {
		sameEvents(t, got[after], evs[after:])
	}
	must(t, s.Release(ctx, lease))
}

func testTailWaits(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	tail := make(chan event.Event)
	go func() {
		defer close(tail)
		for e, err := range s.Tail(ctx, "m_1", 0) {
			if err != nil {
				t.Error(err)
				return
			}
			tail <- e
		}
	}()
	for seq := uint64(1); seq <= 20; seq++ {
		must(t, s.Append(ctx, lease, delta("m_1", 1, seq)))
		if e := recv(t, tail); e.Seq != seq {
			t.Fatalf("seq %d, want %d", e.Seq, seq)
		}
	}
	must(t, s.Append(ctx, lease, done("m_1", 1, 21)))
	recv(t, tail)
	if _, ok := <-tail; ok {
		t.Fatal("more after the end")
	}
	sameEvents(t, collect(t, s.Tail(ctx, "m_1", 21)), nil)
}

func testTailContext(t *testing.T, s store.Store) {
	acquire(t, s, "m_1")
	ctx, cancel := context.WithCancel(t.Context())
	end := make(chan error, 1)
	go func() { end <- failure(s.Tail(ctx, "m_1", 0)) }()
	time.Sleep(5 * time.Millisecond)
	cancel()
	want(t, recv(t, end), context.Canceled)
}

func testTailSlow(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	big := func(seq uint64) event.Event {
		e := delta("m_1", 1, seq)
		e.Data = json.RawMessage(fmt.Sprintf(`{"delta":"%0*d"}`, 20_000, seq))
		return e
	}
	must(t, s.Append(ctx, lease, big(1)))
	first, goOn := make(chan struct{}), make(chan struct{})
	end := make(chan []event.Event, 1)
	go func() {
		var got []event.Event
		for e, err := range s.Tail(ctx, "m_1", 0) {
			if err != nil {
				t.Error(err)
				break
			}
			if got = append(got, e); len(got) == 1 {
				close(first)
				<-goOn
			}
		}
		end <- got
	}()
	<-first
	evs := []event.Event{big(1)}
	for seq := uint64(2); seq <= 80; seq++ {
		must(t, s.Append(ctx, lease, big(seq)))
		evs = append(evs, big(seq))
	}
	must(t, s.Append(ctx, lease, done("m_1", 1, 81)))
	evs = append(evs, done("m_1", 1, 81))
	close(goOn)
	sameEvents(t, recv(t, end), evs)
	sameEvents(t, collect(t, s.Read(ctx, "m_1", 33)), evs[33:])
}

func testConcurrent(t *testing.T, s store.Store) {
	ctx := t.Context()
	const messages, n = 40, 50
	var wg sync.WaitGroup
	for i := range messages {
		msg := fmt.Sprintf("m_%d", i)
		lease := acquire(t, s, msg)
		wg.Go(func() {
			for seq := uint64(1); seq < n; seq++ {
				if err := s.Append(ctx, lease, delta(msg, 1, seq)); err != nil {
					t.Error(err)
					return
				}
			}
			if err := s.Append(ctx, lease, done(msg, 1, n)); err != nil {
				t.Error(err)
			}
			if err := s.Release(ctx, lease); err != nil {
				t.Error(err)
			}
		})
		for range 2 {
			wg.Go(func() {
				next := uint64(1)
				for e, err := range s.Tail(ctx, msg, 0) {
					if err != nil || e.Seq != next || e.Msg != msg {
						t.Errorf("%s: seq %d, want %d (%v)", msg, e.Seq, next, err)
						return
					}
					next++
				}
				if next != n+1 {
					t.Errorf("%s: the tail ended before seq %d", msg, next)
				}
			})
		}
	}
	wg.Wait()
}

func testLogNotFound(t *testing.T, s store.Store) {
	ctx := t.Context()
	want(t, failure(s.Read(ctx, "m_none", 0)), store.ErrNotFound)
	want(t, failure(s.Tail(ctx, "m_none", 0)), store.ErrNotFound)
	_, _, err := s.Last(ctx, "m_none")
	want(t, err, store.ErrNotFound)
	lease := store.Lease{Msg: "m_none", Group: 1, Epoch: 1, Owner: "one"}
	want(t, s.Append(ctx, lease, delta("m_none", 1, 1)), store.ErrStaleLease)
	want(t, s.Renew(ctx, lease, ttl), store.ErrStaleLease)
	must(t, s.Release(ctx, lease))
}

func testSnapshot(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	msg := b.Assistant.ID
	write(t, s, msg, 5)
	// The record is behind the log: nothing may be forgotten.
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	if got := collect(t, s.Read(ctx, msg, 0)); len(got) != 5 {
		t.Fatalf("%d events after a trim before the record was written, want 5", len(got))
	}
	finish(t, s, b, "the answer")
	must(t, s.Trim(ctx, time.Now().Add(-time.Hour)))
	if got := collect(t, s.Read(ctx, msg, 0)); len(got) != 5 {
		t.Fatalf("%d events after a trim of older ones, want 5", len(got))
	}
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	for _, after := range []uint64{0, 3, 4} {
		got := collect(t, s.Read(ctx, msg, after))
		if len(got) != 1 || got[0].Type != event.Snapshot || got[0].Seq != 5 || got[0].Msg != msg {
			t.Fatalf("after %d: %+v, want one snapshot of seq 5", after, got)
		}
		var data event.SnapshotData
		must(t, json.Unmarshal(got[0].Data, &data))
		if data.Seq != 5 || data.Status != event.StatusDone || len(data.Blocks) != 1 || string(data.Blocks[0].Payload) != `"the answer"` {
			t.Fatalf("snapshot %+v", data)
		}
		if data.ConversationID != "c_1" || data.UserMessageID != b.User.ID || data.TS == 0 || data.FinishReason != event.FinishStop {
			t.Fatalf("the snapshot does not say what the message came to: %+v", data)
		}
	}
	sameEvents(t, collect(t, s.Read(ctx, msg, 5)), nil)
	seq, open, err := s.Last(ctx, msg)
	must(t, err)
	if seq != 5 || open {
		t.Fatalf("Last = %d, %v after a trim", seq, open)
	}
	// A follow-up goes on from there.
	evs := write(t, s, msg, 3)
	if evs[0].Seq != 6 || evs[0].Group != 2 {
		t.Fatalf("the follow-up begins with %+v", evs[0])
	}
	got := collect(t, s.Tail(ctx, msg, 2))
	if len(got) != 4 || got[0].Type != event.Snapshot {
		t.Fatalf("%d events, the first %+v, want a snapshot and three", len(got), got[0])
	}
	sameEvents(t, got[1:], evs)
	sameEvents(t, collect(t, s.Read(ctx, msg, 5)), evs)
	m, err := s.Message(ctx, alice, msg)
	must(t, err)
	if len(m.Blocks) != 1 {
		t.Fatal("the record went with the log")
	}
}

func testTrimSpares(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	evs := []event.Event{delta("m_1", 1, 1), delta("m_1", 1, 2)}
	must(t, s.Append(ctx, lease, evs...))
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	sameEvents(t, collect(t, s.Read(ctx, "m_1", 0)), evs)
	must(t, s.Append(ctx, lease, done("m_1", 1, 3)))
}

func testTrimHidden(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "stateless")
	b.Conversation.Hidden = true
	must(t, s.Begin(ctx, b))
	write(t, s, b.Assistant.ID, 5)
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	_, err := s.Message(ctx, alice, b.Assistant.ID)
	must(t, err) // it runs
	finish(t, s, b, "answer")
	must(t, s.Trim(ctx, time.Now().Add(time.Hour)))
	_, err = s.Message(ctx, alice, b.Assistant.ID)
	want(t, err, store.ErrNotFound)
	_, err = s.Conversation(ctx, alice, "c_1")
	want(t, err, store.ErrNotFound)
	want(t, failure(s.Read(ctx, b.Assistant.ID, 0)), store.ErrNotFound)
}

func testLeaseHeld(t *testing.T, s store.Store) {
	acquire(t, s, "m_1")
	_, _, err := s.Acquire(t.Context(), "m_1", "two", ttl)
	want(t, err, store.ErrConflict)
	_, _, err = s.Acquire(t.Context(), "m_1", "one", ttl)
	want(t, err, store.ErrConflict)
	acquire(t, s, "m_2")
}

func testZombie(t *testing.T, s store.Store) {
	ctx := t.Context()
	old, _, err := s.Acquire(ctx, "m_1", "one", short)
	must(t, err)
	must(t, s.Append(ctx, old, delta("m_1", 1, 1)))
	time.Sleep(2 * short)
	// The lease has run out, but nobody took it: its holder may go on.
	must(t, s.Append(ctx, old, delta("m_1", 1, 2)))
	fresh, last, err := s.Acquire(ctx, "m_1", "two", ttl)
	must(t, err)
	if last != 2 || fresh.Group != 1 || fresh.Epoch <= old.Epoch {
		t.Fatalf("lease %+v after seq %d took over %+v", fresh, last, old)
	}
	want(t, s.Append(ctx, old, delta("m_1", 1, 3)), store.ErrStaleLease)
	want(t, s.Renew(ctx, old, ttl), store.ErrStaleLease)
	must(t, s.Release(ctx, old))
	must(t, s.Append(ctx, fresh, done("m_1", 1, 3)))
	if got := collect(t, s.Read(ctx, "m_1", 0)); len(got) != 3 {
		t.Fatalf("%d events, want 3", len(got))
	}
	must(t, s.Release(ctx, fresh))
	want(t, s.Append(ctx, fresh, delta("m_1", 1, 4)), store.ErrStaleLease)
	// The same owner's earlier lease is stale as well.
	again, _, err := s.Acquire(ctx, "m_1", "two", ttl)
	must(t, err)
	if again.Epoch <= fresh.Epoch {
		t.Fatalf("epoch %d after %d", again.Epoch, fresh.Epoch)
	}
	want(t, s.Append(ctx, fresh, delta("m_1", 1, 4)), store.ErrStaleLease)
}

func testLeaseRenewed(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease, _, err := s.Acquire(ctx, "m_1", "one", short)
	must(t, err)
	must(t, s.Renew(ctx, lease, ttl))
	time.Sleep(2 * short)
	_, _, err = s.Acquire(ctx, "m_1", "two", ttl)
	want(t, err, store.ErrConflict)
	if got, err := s.Unfinished(ctx); err != nil || len(got) != 0 {
		t.Fatalf("Unfinished = %v, %v", got, err)
	}
}

func testRelease(t *testing.T, s store.Store) {
	ctx := t.Context()
	// A log without an event is forgotten.
	must(t, s.Release(ctx, acquire(t, s, "m_1")))
	_, _, err := s.Last(ctx, "m_1")
	want(t, err, store.ErrNotFound)
	// An empty follow-up leaves its number to the next one.
	write(t, s, "m_2", 2)
	lease := acquire(t, s, "m_2")
	must(t, s.Release(ctx, lease))
	if seq, open, err := s.Last(ctx, "m_2"); err != nil || seq != 2 || open {
		t.Fatalf("Last = %d, %v, %v", seq, open, err)
	}
	again := acquire(t, s, "m_2")
	if again.Group != lease.Group || again.Epoch <= lease.Epoch {
		t.Fatalf("lease %+v after the empty %+v", again, lease)
	}
	must(t, s.Release(ctx, lease)) // stale
	must(t, s.Append(ctx, again, delta("m_2", 2, 3)))
	want(t, s.Release(ctx, again), store.ErrConflict)
	must(t, s.Append(ctx, again, done("m_2", 2, 4)))
	must(t, s.Release(ctx, again))
	must(t, s.Release(ctx, again))
}

func testAcquireWaits(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	must(t, s.Append(ctx, lease, done("m_1", 1, 1)))
	got := make(chan error, 1)
	go func() {
		next, last, err := s.Acquire(ctx, "m_1", "two", ttl)
		if err == nil && (next.Group != 2 || last != 1) {
			err = fmt.Errorf("lease %+v after seq %d", next, last)
		}
		got <- err
	}()
	time.Sleep(10 * time.Millisecond)
	must(t, s.Release(ctx, lease))
	must(t, recv(t, got))
}

func testUnfinished(t *testing.T, s store.Store) {
	ctx := t.Context()
	for _, msg := range []string{"m_2", "m_1"} {
		lease, _, err := s.Acquire(ctx, msg, "one", short)
		must(t, err)
		must(t, s.Append(ctx, lease, delta(msg, 1, 1)))
	}
	acquire(t, s, "m_running")
	// A paused turn has ended its group.
	paused := acquire(t, s, "m_paused")
	e := done("m_paused", 1, 1)
	e.Data = json.RawMessage(`{"finishReason":"paused","usage":{"inputTokens":0,"outputTokens":0}}`)
	must(t, s.Append(ctx, paused, e))
	must(t, s.Release(ctx, paused))
	time.Sleep(2 * short)
	got, err := s.Unfinished(ctx)
	must(t, err)
	slices.Sort(got)
	if !slices.Equal(got, []string{"m_1", "m_2"}) {
		t.Fatalf("Unfinished = %v", got)
	}
	lease, last, err := s.Acquire(ctx, "m_1", "two", ttl)
	must(t, err)
	if lease.Group != 1 || last != 1 {
		t.Fatalf("lease %+v after seq %d", lease, last)
	}
	end := make(chan []event.Event, 1)
	go func() {
		var evs []event.Event
		for e, err := range s.Tail(ctx, "m_1", 0) {
			if err != nil {
				t.Error(err)
			}
			evs = append(evs, e)
		}
		end <- evs
	}()
	must(t, s.Append(ctx, lease, event.Event{Seq: 2, At: 2, Group: 1, Type: event.Error, Msg: "m_1",
		Data: json.RawMessage(`{"code":"turn_interrupted","message":"","retryable":true}`)}))
	if evs := recv(t, end); len(evs) != 2 {
		t.Fatalf("the reader got %d events, want 2", len(evs))
	}
	if got, err = s.Unfinished(ctx); err != nil || !slices.Equal(got, []string{"m_2"}) {
		t.Fatalf("Unfinished = %v, %v", got, err)
	}
}

func testAcquireRace(t *testing.T, s store.Store) {
	var mu sync.Mutex
	var won []store.Lease
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() {
			lease, _, err := s.Acquire(t.Context(), "m_1", fmt.Sprint("owner ", i), ttl)
			if err != nil {
				if !errors.Is(err, store.ErrConflict) {
					t.Error(err)
				}
				return
			}
			mu.Lock()
			won = append(won, lease)
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(won) != 1 {
		t.Fatalf("%d got the lease", len(won))
	}
}

func testSignals(t *testing.T, s store.Store) {
	ctx, cancel := context.WithCancel(t.Context())
	lease := acquire(t, s, "m_1")
	// Sent before anybody watches.
	must(t, s.Send(ctx, "m_1", store.Signal{Kind: "stop", By: "first"}))
	got := make(chan store.Signal)
	end := make(chan struct{})
	go func() {
		defer close(end)
		for sig, err := range s.Watch(ctx, "m_1") {
			if err != nil {
				t.Error(err)
			}
			got <- sig
		}
	}()
	if sig := recv(t, got); sig.By != "first" || sig.Kind != "stop" {
		t.Fatalf("signal %+v", sig)
	}
	must(t, s.Send(ctx, "m_1", store.Signal{Kind: "stop", By: "second"}))
	if sig := recv(t, got); sig.By != "second" {
		t.Fatalf("signal %+v", sig)
	}
	want(t, s.Send(ctx, "m_none", store.Signal{Kind: "stop"}), store.ErrNotFound)
	cancel()
	recvClosed(t, end)
	must(t, s.Append(t.Context(), lease, done("m_1", 1, 1)))
	must(t, s.Send(t.Context(), "m_1", store.Signal{Kind: "stop"})) // nobody to tell
}

func recvClosed(t *testing.T, ch <-chan struct{}) {
	t.Helper()
	select {
	case <-ch:
	case <-time.After(patience):
		t.Fatal("it does not end")
	}
}

func testSignalsGroup(t *testing.T, s store.Store) {
	ctx := t.Context()
	lease := acquire(t, s, "m_1")
	must(t, s.Send(ctx, "m_1", store.Signal{Kind: "stop", By: "unseen"}))
	must(t, s.Append(ctx, lease, done("m_1", 1, 1)))
	must(t, s.Send(ctx, "m_1", store.Signal{Kind: "stop", By: "late"}))
	must(t, s.Release(ctx, lease))
	acquire(t, s, "m_1")
	watch, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	for sig := range s.Watch(watch, "m_1") {
		t.Fatalf("the follow-up got %+v of the group before", sig)
	}
}
