// Package storetest is the contract of a store as a test suite. Every backend
// runs it:
//
//	func TestStore(t *testing.T) {
//		storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
//	}
//
// It may import store, event and block, and nothing of a backend.
package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

// Run holds a backend to the contract. Open returns an empty store for each
// test; it is closed afterwards.
func Run(t *testing.T, open func(t *testing.T) store.Store) {
	for _, c := range []struct {
		name string
		test func(*testing.T, store.Store)
	}{
		{"log/append and read", testAppendRead},
		{"log/sequence", testSequence},
		{"log/groups", testGroups},
		{"log/tail equals read from every seq", testTailFromEverySeq},
		{"log/tail waits", testTailWaits},
		{"log/tail ends with its context", testTailContext},
		{"log/tail of a slow reader", testTailSlow},
		{"log/concurrent messages", testConcurrent},
		{"log/not found", testLogNotFound},
		{"log/snapshot after trim", testSnapshot},
		{"log/trim spares what runs", testTrimSpares},
		{"log/trim drops hidden conversations", testTrimHidden},
		{"lease/held", testLeaseHeld},
		{"lease/zombie writer", testZombie},
		{"lease/renewed", testLeaseRenewed},
		{"lease/release", testRelease},
		{"lease/waits for the release of an ended group", testAcquireWaits},
		{"lease/unfinished and taken over", testUnfinished},
		{"lease/one of many wins", testAcquireRace},
		{"signals/watched", testSignals},
		{"signals/are for one group", testSignalsGroup},
		{"records/begin and put", testBegin},
		{"records/title of the first question", testTitleOfFirstQuestion},
		{"records/one turn per conversation", testOneTurn},
		{"records/idempotency", testIdempotency},
		{"records/refused begin leaves nothing", testBeginAtomic},
		{"records/put is not overtaken", testPutOrder},
		{"records/message round trip", testMessageRoundTrip},
		{"records/running messages", testRunningMessages},
		{"records/tree and path", testTree},
		{"records/conversations", testConversations},
		{"records/paging", testPaging},
		{"records/search", testSearch},
		{"records/block calls and trajectories", testCalls},
		{"records/owner isolation", testOwners},
		{"records/delete", testDelete},
		{"records/delete while running", testDeleteRunning},
		{"records/delete while written", testDeleteWhileWritten},
		{"turns/state", testTurnState},
		{"turns/paused and resumed", testPaused},
		{"turns/paused in a hidden conversation", testPausedHidden},
		{"turns/follow-up of a paused message", testPausedFollowUp},
		{"turns/resume", testResume},
		{"turns/resume or begin", testResumeRace},
		{"turns/feedback", testFeedback},
		{"actions/reserve and finish", testAction},
		{"actions/refused", testActionRefused},
		{"actions/states of a block", testActionStates},
		{"actions/refused finish leaves nothing", testActionFinish},
		{"actions/one of fifty wins", testActionRaces},
		{"actions/lease", testActionLease},
		{"actions/states that the log lacks", testUnlogged},
		{"actions/reports once", testReports},
		{"actions/audit", testAudit},
		{"actions/trim", testTrimActions},
		{"actions/owner isolation", testActionOwners},
		{"actions/delete", testActionDelete},
		{"assets/life of a file", testAsset},
		{"assets/owner isolation", testAssetOwners},
		{"assets/stale", testStaleAssets},
		{"aliases/names of an owner", testAlias},
		{"aliases/one of many wins", testAliasRace},
		{"aliases/go with their conversation", testAliasDelete},
		{"feed/events", testFeed},
		{"feed/live and deleted", testFeedLive},
		{"closed", testClosed},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := open(t)
			t.Cleanup(func() {
				if err := s.Close(); err != nil {
					t.Errorf("Close: %v", err)
				}
			})
			c.test(t, s)
		})
	}
}

// ttl is a lease that does not run out during a test, short one that does.
const (
	ttl   = time.Minute
	short = 30 * time.Millisecond
)

// patience is how long a test waits for what must come.
const patience = 10 * time.Second

var (
	alice = store.Owner{Tenant: "acme", User: "alice"}
	bob   = store.Owner{Tenant: "acme", User: "bob"}
	eve   = store.Owner{Tenant: "other", User: "alice"}
)

func delta(msg string, group int, seq uint64) event.Event {
	return event.Event{
		Seq: seq, At: int64(seq), Group: group, Type: event.TextDelta, Msg: msg, Block: "b_1",
		Data: json.RawMessage(fmt.Sprintf(`{"delta":"word %d 字"}`, seq)),
	}
}

func done(msg string, group int, seq uint64) event.Event {
	return event.Event{
		Seq: seq, At: int64(seq), Group: group, Type: event.Done, Msg: msg,
		Data: json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`),
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func want(t *testing.T, err, target error) {
	t.Helper()
	if !errors.Is(err, target) {
		t.Fatalf("error %v, want %v", err, target)
	}
}

func acquire(t *testing.T, s store.Store, msg string) store.Lease {
	t.Helper()
	lease, _, err := s.Acquire(t.Context(), msg, "one", ttl)
	must(t, err)
	return lease
}

// write appends a whole group of n events, each on its own, and releases.
func write(t *testing.T, s store.Store, msg string, n int) []event.Event {
	t.Helper()
	lease, last, err := s.Acquire(t.Context(), msg, "one", ttl)
	must(t, err)
	var evs []event.Event
	for i := range n {
		e := delta(msg, lease.Group, last+uint64(i)+1)
		if i == n-1 {
			e = done(msg, lease.Group, e.Seq)
		}
		must(t, s.Append(t.Context(), lease, e))
		evs = append(evs, e)
	}
	must(t, s.Release(t.Context(), lease))
	return evs
}

// collect reads a sequence to its end.
func collect[T any](t *testing.T, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var all []T
	for v, err := range seq {
		must(t, err)
		all = append(all, v)
	}
	return all
}

// failure returns the error that a sequence ends with.
func failure[T any](seq iter.Seq2[T, error]) error {
	for _, err := range seq {
		if err != nil {
			return err
		}
	}
	return nil
}

func sameEvents(t *testing.T, got, want []event.Event) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d events, want %d", len(got), len(want))
	}
	for i := range got {
		g, w := got[i], want[i]
		if g.Seq != w.Seq || g.At != w.At || g.Group != w.Group || g.Type != w.Type || g.Msg != w.Msg ||
			g.Block != w.Block || string(g.Data) != string(w.Data) {
			t.Fatalf("event %d: %+v, want %+v", i, g, w)
		}
	}
}

// recv waits for what must come on a channel.
func recv[T any](t *testing.T, ch <-chan T) T {
	t.Helper()
	select {
	case v, ok := <-ch:
		if !ok {
			t.Fatal("the channel was closed")
		}
		return v
	case <-time.After(patience):
		t.Fatal("nothing came")
	}
	panic("unreachable")
}

func textBlock(text string) block.Block {
	payload, err := json.Marshal(text)
	if err != nil {
		panic(err)
	}
	return block.Block{ID: id.New("b"), Type: "text", Version: 1, Status: block.StatusDone, Rev: 1, Payload: payload}
}

func userMessage(parent, text string) *store.Message {
	return &store.Message{
		ID: id.New("m"), Role: store.RoleUser, Parent: parent, Status: event.StatusDone,
		Blocks: []block.Block{textBlock(text)},
	}
}

// turn is a BeginTurn with a question and its answer.
func turn(o store.Owner, conversation, parent, text string) store.BeginTurn {
	q := userMessage(parent, text)
	return store.BeginTurn{
		Owner:        o,
		Conversation: store.Conversation{ID: conversation, Owner: o, Title: "Sample"},
		User:         q,
		Assistant:    store.Message{ID: id.New("m"), Role: store.RoleAssistant, Parent: q.ID, Status: event.StatusRunning},
	}
}

// finish ends a turn with an answer.
func finish(t *testing.T, s store.Store, b store.BeginTurn, text string) {
	t.Helper()
	m := b.Assistant
	m.Owner, m.Conversation = b.Owner, b.Conversation.ID
	m.Status, m.FinishReason, m.Seq = event.StatusDone, event.FinishStop, 5
	m.Blocks = []block.Block{textBlock(text)}
	must(t, s.PutMessage(t.Context(), m))
}
