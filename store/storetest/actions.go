package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

// noon is when the actions of these tests happen: far ahead, because a store
// that forgets old calls by itself must not do so between two steps.
var noon = time.Date(2126, 3, 4, 12, 0, 0, 0, time.UTC)

// answered begins a turn that has ended and returns its answer's id.
func answered(t *testing.T, s store.Store, o store.Owner, conversation string) string {
	t.Helper()
	b := turn(o, conversation, "", "question")
	must(t, s.Begin(t.Context(), b))
	finish(t, s, b, "answer")
	return b.Assistant.ID
}

// reserve is the exclusive call of an action on a block of alice's, under a
// lease of a minute.
func reserve(msg, block, key string) store.ActionReserve {
	return store.ActionReserve{
		Call: store.ActionCall{
			ID: id.New("x"), Owner: alice, Msg: msg, Block: block, Action: "submit", Name: "submit_export",
			Key: key, Fingerprint: "print-" + key, Payload: json.RawMessage(`{"count":3}`),
			TraceID: "trace", Lang: "zh", Holder: "one", LeaseUntil: noon.Add(time.Minute), StartedAt: noon,
		},
		Exclusive: true,
		State:     json.RawMessage(`{"status":"submitting"}`),
	}
}

// end is the finish of a call with a new state and one line for the audit log.
func end(r store.ActionReserve, state string) store.ActionFinish {
	f := store.ActionFinish{
		ID: r.Call.ID, Holder: r.Call.Holder, Status: store.CallDone, HTTPStatus: 200, At: noon.Add(time.Second),
		Answer: func(st store.BlockState) ([]byte, error) {
			return fmt.Appendf(nil, `{"rev":%d,"state":%s}`, st.Rev, st.State), nil
		},
		Audit: entry(r.Call.Owner, r.Call.Name),
	}
	f.Audit.Call = r.Call.ID
	if state != "" {
		f.State = json.RawMessage(state)
	}
	return f
}

func entry(o store.Owner, name string) store.AuditEntry {
	return store.AuditEntry{ID: id.New("l"), At: noon, Tenant: o.Tenant, User: o.User, Action: "submit", Name: name, Decision: "allowed"}
}

func reserved(t *testing.T, s store.Store, r store.ActionReserve) store.BlockState {
	t.Helper()
	st, err := s.ReserveAction(t.Context(), r)
	must(t, err)
	return st
}

func finished(t *testing.T, s store.Store, f store.ActionFinish) (store.ActionCall, store.BlockState) {
	t.Helper()
	c, st, err := s.FinishAction(t.Context(), f)
	must(t, err)
	return c, st
}

func sameState(t *testing.T, got, want store.BlockState) {
	t.Helper()
	if !reflect.DeepEqual(got, want) {
		t.Fatalf("state\n%+v, want\n%+v", got, want)
	}
}

func audited(t *testing.T, s store.Store, q store.AuditQuery) []store.AuditEntry {
	t.Helper()
	list, _, err := s.Audit(t.Context(), q)
	must(t, err)
	return list
}

func testAction(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	_, err := s.ActionCall(ctx, alice, "key-1")
	want(t, err, store.ErrNotFound)
	_, err = s.BlockState(ctx, alice, "b_1")
	want(t, err, store.ErrNotFound)
	states, err := s.BlockStates(ctx, alice, msg)
	if err != nil || len(states) != 0 {
		t.Fatalf("states before the first action: %v, %v", states, err)
	}

	r := reserve(msg, "b_1", "key-1")
	st := store.BlockState{Block: "b_1", Msg: msg, Owner: alice, Rev: 2, State: r.State, Call: r.Call.ID, Pending: true, Logged: 1}
	sameState(t, reserved(t, s, r), st)
	call := r.Call
	call.Status, call.Conversation = store.CallRunning, "c_1"
	check := func() {
		t.Helper()
		got, err := s.ActionCall(ctx, alice, "key-1")
		if err != nil || !reflect.DeepEqual(got, call) {
			t.Fatalf("call\n%+v, want\n%+v (%v)", got, call, err)
		}
		stored, err := s.BlockState(ctx, alice, "b_1")
		must(t, err)
		sameState(t, stored, st)
	}
	check()

	f := end(r, `{"status":"done"}`)
	f.Locked, f.Report, f.HTTPStatus = true, "submit_export was done", 201
	st.Rev, st.State, st.Locked, st.Pending = 3, f.State, true, false
	call.Status, call.HTTPStatus, call.Report, call.FinishedAt = store.CallDone, 201, f.Report, f.At
	call.Answer = []byte(`{"rev":3,"state":{"status":"done"}}`)
	c, got := finished(t, s, f)
	if !reflect.DeepEqual(c, call) {
		t.Fatalf("call\n%+v, want\n%+v", c, call)
	}
	sameState(t, got, st)
	check()
	f.Audit.RevAfter = 3
	if log := audited(t, s, store.AuditQuery{}); !reflect.DeepEqual(log, []store.AuditEntry{f.Audit}) {
		t.Fatalf("audit log\n%+v, want\n%+v", log, f.Audit)
	}
	_, _, err = s.FinishAction(ctx, f)
	want(t, err, store.ErrStaleLease)
}

// testActionRefused has a table of what stands in the way of a call.
func testActionRefused(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg, other := answered(t, s, alice, "c_1"), answered(t, s, alice, "c_2")
	ran := reserve(msg, "b_done", "key-done")
	ran.Nonce, ran.NonceUntil = "nonce-used", noon.Add(time.Hour)
	reserved(t, s, ran)
	f := end(ran, `{"status":"done"}`)
	f.Locked = true
	finished(t, s, f)
	running := reserve(msg, "b_running", "key-running")
	reserved(t, s, running)

	for name, c := range map[string]struct {
		change func(*store.ActionReserve)
		check  func(error) string // what is wrong with the error
	}{
		"a key that ended, whatever else": {
			func(r *store.ActionReserve) {
				r.Call.Key, r.Call.Block, r.Nonce, r.Rev = "key-done", "b_running", "nonce-used", 77
			},
			isCall(ran.Call.ID, store.CallDone),
		},
		"a key that runs, of another block":  {func(r *store.ActionReserve) { r.Call.Key = "key-running" }, isCall(running.Call.ID, store.CallRunning)},
		"a nonce that was used, before rev":  {func(r *store.ActionReserve) { r.Nonce, r.Rev = "nonce-used", 77 }, is(store.ErrTokenUsed)},
		"a rev that nobody has":              {func(r *store.ActionReserve) { r.Rev = 2 }, isState("b_new", 1)},
		"a rev from before":                  {func(r *store.ActionReserve) { r.Call.Block, r.Rev, r.Exclusive = "b_done", 2, false }, isState("b_done", 3)},
		"a locked block":                     {func(r *store.ActionReserve) { r.Call.Block = "b_done" }, isState("b_done", 3)},
		"a locked block with its rev":        {func(r *store.ActionReserve) { r.Call.Block, r.Rev = "b_done", 3 }, isState("b_done", 3)},
		"a block that another call has":      {func(r *store.ActionReserve) { r.Call.Block = "b_running" }, isState("b_running", 2)},
		"an id that exists":                  {func(r *store.ActionReserve) { r.Call.ID = ran.Call.ID }, is(store.ErrConflict)},
		"a block of another message":         {func(r *store.ActionReserve) { r.Call.Block, r.Call.Msg = "b_done", other }, is(store.ErrConflict)},
		"a message that does not exist":      {func(r *store.ActionReserve) { r.Call.Msg = "m_none" }, is(store.ErrNotFound)},
		"a message of somebody else":         {func(r *store.ActionReserve) { r.Call.Owner = bob }, is(store.ErrNotFound)},
		"a message of another tenant's user": {func(r *store.ActionReserve) { r.Call.Owner = eve }, is(store.ErrNotFound)},
	} {
		r := reserve(msg, "b_new", "key-new")
		r.Nonce, r.NonceUntil = "nonce-new", noon.Add(time.Hour)
		c.change(&r)
		_, err := s.ReserveAction(ctx, r)
		if wrong := c.check(err); wrong != "" {
			t.Errorf("%s: error %v: %s", name, err, wrong)
		}
	}
	// Nothing of what was refused stays, the nonce neither.
	if _, err := s.ActionCall(ctx, alice, "key-new"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the key of a refused call is known: %v", err)
	}
	if _, err := s.BlockState(ctx, alice, "b_new"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the block of a refused call has a state: %v", err)
	}
	r := reserve(msg, "b_new", "key-new")
	r.Nonce, r.NonceUntil, r.Rev = "nonce-new", noon.Add(time.Hour), 1
	reserved(t, s, r)
	// Keys are an owner's own, and no key is no key.
	theirs := reserve(answered(t, s, bob, "c_bob"), "b_bob", "key-done")
	theirs.Call.Owner = bob
	reserved(t, s, theirs)
	for _, block := range []string{"b_3", "b_4"} {
		reserved(t, s, reserve(msg, block, ""))
	}
	_, err := s.ActionCall(ctx, alice, "")
	want(t, err, store.ErrNotFound)
}

func is(target error) func(error) string {
	return func(err error) string {
		if !errors.Is(err, target) {
			return "want " + target.Error()
		}
		var known *store.CallError
		var state *store.StateError
		if errors.As(err, &known) || errors.As(err, &state) {
			return "it says more than it should"
		}
		return ""
	}
}

func isCall(call string, status store.CallStatus) func(error) string {
	return func(err error) string {
		var known *store.CallError
		if !errors.As(err, &known) || !errors.Is(err, store.ErrConflict) || known.Call.ID != call || known.Call.Status != status {
			return fmt.Sprintf("want the call %s, %s", call, status)
		}
		return ""
	}
}

func isState(block string, rev int) func(error) string {
	return func(err error) string {
		var state *store.StateError
		if !errors.As(err, &state) || !errors.Is(err, store.ErrConflict) || state.State.Block != block || state.State.Rev != rev {
			return fmt.Sprintf("want the state of %s at rev %d", block, rev)
		}
		return ""
	}
}

// testActionStates follows the state of one block through calls that hold it
// and calls that do not.
func testActionStates(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	free := func(key string) store.ActionReserve {
		r := reserve(msg, "b_1", key)
		r.Exclusive = false
		return r
	}
	// A call that does not hold the block and says nothing of it leaves it alone.
	fresh := store.BlockState{Block: "b_1", Msg: msg, Owner: alice, Rev: 1, Logged: 1}
	a := free("key-a")
	sameState(t, reserved(t, s, a), fresh)
	_, st := finished(t, s, end(a, ""))
	sameState(t, st, fresh)
	_, err := s.BlockState(ctx, alice, "b_1")
	want(t, err, store.ErrNotFound)

	// One that sets a state makes a rev.
	b := free("key-b")
	reserved(t, s, b)
	_, st = finished(t, s, end(b, `"b"`))
	sameState(t, st, store.BlockState{Block: "b_1", Msg: msg, Owner: alice, Rev: 2, State: json.RawMessage(`"b"`), Call: b.Call.ID, Logged: 1})

	// While one holds the block another may run beside it, and its end does
	// not let go of the block.
	holder, beside := reserve(msg, "b_1", "key-holder"), free("key-beside")
	if st = reserved(t, s, holder); st.Rev != 3 || !st.Pending || st.Call != holder.Call.ID {
		t.Fatalf("state %+v", st)
	}
	if st = reserved(t, s, beside); st.Rev != 3 || !st.Pending {
		t.Fatalf("state %+v", st)
	}
	if _, st = finished(t, s, end(beside, `"beside"`)); st.Rev != 4 || !st.Pending || string(st.State) != `"beside"` || st.Call != beside.Call.ID {
		t.Fatalf("state %+v", st)
	}
	_, err = s.ReserveAction(ctx, reserve(msg, "b_1", "key-late"))
	want(t, err, store.ErrConflict)

	// An end without a state lets go and keeps the rev.
	f := end(holder, "")
	f.Locked = true // of no state
	if _, st = finished(t, s, f); st.Rev != 4 || st.Pending || st.Locked || string(st.State) != `"beside"` {
		t.Fatalf("state %+v", st)
	}

	// An unknown outcome may lock the block.
	r := reserve(msg, "b_1", "key-unknown")
	r.Rev = 4
	reserved(t, s, r)
	f = end(r, `"unknown"`)
	f.Status, f.Locked = store.CallUnknown, true
	if _, st = finished(t, s, f); st.Rev != 6 || !st.Locked || st.Pending {
		t.Fatalf("state %+v", st)
	}
	other := reserve(msg, "b_0", "key-other")
	reserved(t, s, other)
	states, err := s.BlockStates(ctx, alice, msg)
	must(t, err)
	if len(states) != 2 || states[0].Block != "b_1" || states[1].Block != "b_0" {
		t.Fatalf("states %+v", states)
	}
	sameState(t, states[0], st)
}

// testActionFinish has what does not end a call; none of it leaves a trace.
func testActionFinish(t *testing.T, s store.Store) {
	ctx := t.Context()
	r := reserve(answered(t, s, alice, "c_1"), "b_1", "key-1")
	before := reserved(t, s, r)
	known := entry(alice, "earlier")
	must(t, s.AppendAudit(ctx, known))
	broken := errors.New("no answer")
	for name, c := range map[string]struct {
		change func(*store.ActionFinish)
		err    error
	}{
		"another holder":        {func(f *store.ActionFinish) { f.Holder = "two" }, store.ErrStaleLease},
		"another call":          {func(f *store.ActionFinish) { f.ID = "x_none" }, store.ErrStaleLease},
		"an answer that fails":  {func(f *store.ActionFinish) { f.Answer = func(store.BlockState) ([]byte, error) { return nil, broken } }, broken},
		"an audit entry's twin": {func(f *store.ActionFinish) { f.Audit.ID = known.ID }, store.ErrConflict},
		"no end":                {func(f *store.ActionFinish) { f.Status = store.CallRunning }, nil},
	} {
		f := end(r, `"done"`)
		c.change(&f)
		if _, _, err := s.FinishAction(ctx, f); err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: error %v, want %v", name, err, c.err)
		}
	}
	call, err := s.ActionCall(ctx, alice, "key-1")
	must(t, err)
	if call.Status != store.CallRunning || call.Answer != nil {
		t.Fatalf("call %+v", call)
	}
	st, err := s.BlockState(ctx, alice, "b_1")
	must(t, err)
	sameState(t, st, before)
	if log := audited(t, s, store.AuditQuery{}); len(log) != 1 {
		t.Fatalf("audit log %+v", log)
	}
	f := end(r, "")
	f.Answer = nil
	if c, _ := finished(t, s, f); c.Answer != nil {
		t.Fatalf("call %+v", c)
	}
}

// testActionRaces lets fifty at once reserve the same key, the same block, the
// same nonce and take the same call: one wins.
func testActionRaces(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	const crowd = 50
	race := func(name string, lost error, try func(i int) error) {
		t.Helper()
		var wg sync.WaitGroup
		begin := make(chan struct{})
		errs := make([]error, crowd)
		for i := range crowd {
			wg.Go(func() { <-begin; errs[i] = try(i) })
		}
		close(begin)
		wg.Wait()
		won := 0
		for _, err := range errs {
			switch {
			case err == nil:
				won++
			case !errors.Is(err, lost):
				t.Errorf("%s: error %v, want %v", name, err, lost)
			}
		}
		if won != 1 {
			t.Errorf("%s: %d won", name, won)
		}
	}
	reserving := func(change func(i int, r *store.ActionReserve)) func(int) error {
		return func(i int) error {
			r := reserve(msg, fmt.Sprint("b_", i), fmt.Sprint("key-", i))
			change(i, &r)
			_, err := s.ReserveAction(ctx, r)
			return err
		}
	}
	race("same key", store.ErrConflict, reserving(func(_ int, r *store.ActionReserve) { r.Call.Key = "key" }))
	race("same block", store.ErrConflict, reserving(func(i int, r *store.ActionReserve) {
		r.Call.Key, r.Call.Block = fmt.Sprint("block-", i), "b_same"
	}))
	race("same nonce", store.ErrTokenUsed, reserving(func(i int, r *store.ActionReserve) {
		r.Call.Key, r.Nonce, r.NonceUntil, r.Exclusive = fmt.Sprint("nonce-", i), "nonce", noon, false
	}))
	held, err := s.BlockState(ctx, alice, "b_same")
	must(t, err)
	if held.Rev != 2 {
		t.Fatalf("%d reservations changed the state", held.Rev-1)
	}
	late := noon.Add(time.Hour)
	race("same call", store.ErrConflict, func(i int) error {
		_, err := s.TakeAction(ctx, held.Call, fmt.Sprint("holder ", i), late, late.Add(time.Minute))
		return err
	})
	// Its holder's end and somebody's takeover: whoever is first.
	for i := range 10 {
		r := reserve(msg, fmt.Sprint("b_end_", i), "")
		reserved(t, s, r)
		var ended, taken error
		var wg sync.WaitGroup
		wg.Go(func() { _, _, ended = s.FinishAction(ctx, end(r, `"done"`)) })
		wg.Go(func() { _, taken = s.TakeAction(ctx, r.Call.ID, "two", late, late.Add(time.Minute)) })
		wg.Wait()
		if (ended == nil) == (taken == nil) {
			t.Errorf("ended: %v, taken over: %v", ended, taken)
		}
	}
	if log := audited(t, s, store.AuditQuery{Owner: alice}); len(log) > 10 {
		t.Errorf("%d entries of ten calls", len(log))
	}
}

func testActionLease(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	r := reserve(msg, "b_1", "key-1") // leased until 12:01
	long := reserve(msg, "b_2", "key-2")
	long.Call.LeaseUntil = noon.Add(time.Hour)
	reserved(t, s, long)
	reserved(t, s, r)
	expired := func(at time.Duration) []string {
		t.Helper()
		list, err := s.ExpiredActions(ctx, noon.Add(at))
		must(t, err)
		var ids []string
		for _, c := range list {
			if c.Owner != alice || c.Status != store.CallRunning || len(c.Payload) == 0 {
				t.Fatalf("call %+v is not whole", c)
			}
			ids = append(ids, c.ID)
		}
		return ids
	}
	take := func(call, holder string, at time.Duration) (store.ActionCall, error) {
		return s.TakeAction(ctx, call, holder, noon.Add(at), noon.Add(at+time.Minute))
	}
	if got := expired(59 * time.Second); got != nil {
		t.Fatalf("expired %v", got)
	}
	_, err := take(r.Call.ID, "two", 59*time.Second)
	want(t, err, store.ErrConflict)
	must(t, s.RenewAction(ctx, r.Call.ID, "one", noon.Add(2*time.Minute)))
	want(t, s.RenewAction(ctx, r.Call.ID, "two", noon.Add(9*time.Minute)), store.ErrStaleLease)
	want(t, s.RenewAction(ctx, "x_none", "one", noon), store.ErrStaleLease)
	if got := expired(time.Minute); got != nil {
		t.Fatalf("expired %v after it was renewed", got)
	}
	if got := expired(2 * time.Minute); !slices.Equal(got, []string{r.Call.ID}) {
		t.Fatalf("expired %v", got)
	}
	if got := expired(2 * time.Hour); !slices.Equal(got, []string{r.Call.ID, long.Call.ID}) {
		t.Fatalf("expired %v", got)
	}
	c, err := take(r.Call.ID, "two", 2*time.Minute)
	must(t, err)
	if c.ID != r.Call.ID || c.Holder != "two" || c.Status != store.CallRunning || !c.LeaseUntil.Equal(noon.Add(3*time.Minute)) || c.Key != "key-1" {
		t.Fatalf("call %+v", c)
	}
	// The first holder has lost it.
	want(t, s.RenewAction(ctx, r.Call.ID, "one", noon.Add(9*time.Minute)), store.ErrStaleLease)
	_, _, err = s.FinishAction(ctx, end(r, `"done"`))
	want(t, err, store.ErrStaleLease)
	f := end(r, `"unknown"`)
	f.Holder, f.Status, f.Locked = "two", store.CallUnknown, true
	finished(t, s, f)
	if got := expired(2 * time.Hour); !slices.Equal(got, []string{long.Call.ID}) {
		t.Fatalf("expired %v", got)
	}
	// It is listed by when that was found out, of whomever it is.
	unknown := func(since time.Time, limit int) []string {
		t.Helper()
		list, err := s.UnknownActions(ctx, since, limit)
		must(t, err)
		var ids []string
		for _, c := range list {
			if c.Status != store.CallUnknown || len(c.Payload) == 0 || c.FinishedAt.Before(since) {
				t.Fatalf("call %+v is not whole", c)
			}
			ids = append(ids, c.ID)
		}
		return ids
	}
	theirs := reserve(answered(t, s, bob, "c_2"), "b_3", "key-3")
	theirs.Call.Owner = bob
	reserved(t, s, theirs)
	later := end(theirs, `"unknown"`)
	later.Status, later.At = store.CallUnknown, f.At.Add(time.Minute)
	finished(t, s, later)
	for _, c := range []struct {
		since time.Time
		limit int
		want  []string
	}{
		{f.At, 10, []string{r.Call.ID, theirs.Call.ID}}, {time.Time{}, 1, []string{r.Call.ID}}, {f.At, 0, nil}, {f.At, -1, nil},
		{later.At, 10, []string{theirs.Call.ID}}, {later.At.Add(1), 10, nil},
	} {
		if got := unknown(c.since, c.limit); !slices.Equal(got, c.want) {
			t.Fatalf("unknown since %v, at most %d: %v, want %v", c.since, c.limit, got, c.want)
		}
	}
	// An unknown outcome may be looked into at any time; what is done not.
	c, err = take(r.Call.ID, "three", 0)
	must(t, err)
	if got := unknown(f.At, 10); !slices.Equal(got, []string{theirs.Call.ID}) {
		t.Fatalf("unknown %v while it is looked into", got)
	}
	if c.Status != store.CallRunning || c.Holder != "three" || !strings.Contains(string(c.Answer), "unknown") {
		t.Fatalf("call %+v", c)
	}
	f = end(r, `"done"`)
	f.Holder, f.Locked = "three", true
	c, st := finished(t, s, f)
	if c.Status != store.CallDone || st.Rev != 4 || string(st.State) != `"done"` || !st.Locked {
		t.Fatalf("call %+v, state %+v", c, st)
	}
	for _, call := range []string{r.Call.ID, "x_none"} {
		_, err = take(call, "four", 2*time.Hour)
		want(t, err, store.ErrConflict)
	}
}

func testUnlogged(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg, theirs := answered(t, s, alice, "c_1"), answered(t, s, bob, "c_2")
	check := func(limit int, blocks ...string) {
		t.Helper()
		list, err := s.UnloggedStates(ctx, limit)
		must(t, err)
		var got []string
		for _, st := range list {
			got = append(got, st.Block)
		}
		if !slices.Equal(got, blocks) {
			t.Fatalf("unlogged %v, want %v", got, blocks)
		}
	}
	check(10)
	var first store.ActionReserve
	for i := range 3 {
		r := reserve(msg, fmt.Sprint("b_", 3-i), "")
		if i == 2 {
			r.Call.Owner, r.Call.Msg = bob, theirs
		}
		if i == 0 {
			first = r
		}
		reserved(t, s, r)
		check(10, []string{"b_3", "b_2"}[:i]...) // not what is pending
		finished(t, s, end(r, `"done"`))
	}
	check(10, "b_3", "b_2", "b_1")
	check(2, "b_3", "b_2")
	must(t, s.MarkLogged(ctx, "b_2", 3))
	must(t, s.MarkLogged(ctx, "b_3", 2)) // not all of it
	must(t, s.MarkLogged(ctx, "b_none", 9))
	check(10, "b_3", "b_1")
	must(t, s.MarkLogged(ctx, "b_3", 3))
	must(t, s.MarkLogged(ctx, "b_3", 2)) // does not go back
	check(10, "b_1")
	st, err := s.BlockState(ctx, alice, "b_3")
	if err != nil || st.Logged != 3 || st.Call != first.Call.ID {
		t.Fatalf("state %+v, %v", st, err)
	}
	again := reserve(msg, "b_3", "")
	reserved(t, s, again)
	finished(t, s, end(again, ""))
	check(10, "b_3", "b_1") // the reservation's state
}

func testReports(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg, elsewhere := answered(t, s, alice, "c_1"), answered(t, s, alice, "c_2")
	report := func(msg, text string, after time.Duration) {
		t.Helper()
		r := reserve(msg, "b_"+text, "")
		reserved(t, s, r)
		f := end(r, "")
		f.Report, f.At = text, noon.Add(after)
		finished(t, s, f)
	}
	take := func(o store.Owner, conversation string, reports ...string) {
		t.Helper()
		got, err := s.TakeReports(ctx, o, conversation)
		if err != nil || !slices.Equal(got, reports) {
			t.Fatalf("reports %v, want %v (%v)", got, reports, err)
		}
	}
	take(alice, "c_none")
	take(alice, "c_1")
	report(msg, "second", 2*time.Second)
	report(msg, "first", time.Second)
	report(msg, "", 0)
	report(elsewhere, "elsewhere", 0)
	reserved(t, s, reserve(msg, "b_running", ""))
	take(bob, "c_1")
	take(alice, "c_1", "first", "second")
	take(alice, "c_1")
	report(msg, "third", 0)
	take(alice, "c_1", "third")
	take(alice, "c_2", "elsewhere")

	// Two turns at once get each report once.
	for i := range 20 {
		report(msg, fmt.Sprint("report ", i), 0)
	}
	var mu sync.Mutex
	var all []string
	var wg sync.WaitGroup
	for range 5 {
		wg.Go(func() {
			got, err := s.TakeReports(ctx, alice, "c_1")
			if err != nil {
				t.Error(err)
			}
			mu.Lock()
			all = append(all, got...)
			mu.Unlock()
		})
	}
	wg.Wait()
	if len(all) != 20 {
		t.Fatalf("%d of 20 reports were taken", len(all))
	}
}

func testAudit(t *testing.T, s store.Store) {
	ctx := t.Context()
	var all []store.AuditEntry
	for i := range 25 {
		e := entry([]store.Owner{alice, alice, bob, alice, eve}[i%5], []string{"export", "share"}[i%2])
		e.At = noon.Add(time.Duration(i) * time.Minute)
		e.Conversation = fmt.Sprint("c_", i%4)
		e.Msg, e.Block, e.Call, e.Key, e.PayloadHash = "m_1", "b_1", "x_1", "key", "sha256:00"
		e.Decision, e.Outcome, e.RevBefore, e.RevAfter, e.TraceID, e.DurationMs = "denied", "stale_block", 1, 2, "trace", int64(i)
		all = append(all, e)
	}
	// They are in order of their ids, however they come.
	for _, i := range []int{24, 3, 11} {
		must(t, s.AppendAudit(ctx, all[i]))
	}
	for i, e := range all {
		if i != 24 && i != 3 && i != 11 {
			must(t, s.AppendAudit(ctx, e))
		}
	}
	want(t, s.AppendAudit(ctx, all[7]), store.ErrConflict)
	for name, c := range map[string]struct {
		query store.AuditQuery
		match func(e store.AuditEntry) bool
	}{
		"all":    {store.AuditQuery{}, func(store.AuditEntry) bool { return true }},
		"user":   {store.AuditQuery{Owner: alice}, func(e store.AuditEntry) bool { return e.Tenant == "acme" && e.User == "alice" }},
		"tenant": {store.AuditQuery{Owner: store.Owner{Tenant: "acme"}}, func(e store.AuditEntry) bool { return e.Tenant == "acme" }},
		"user of any tenant": {store.AuditQuery{Owner: store.Owner{User: "alice"}},
			func(e store.AuditEntry) bool { return e.User == "alice" }},
		"nobody":       {store.AuditQuery{Owner: store.Owner{Tenant: "acme", User: "carol"}}, func(store.AuditEntry) bool { return false }},
		"conversation": {store.AuditQuery{Conversation: "c_2"}, func(e store.AuditEntry) bool { return e.Conversation == "c_2" }},
		"name":         {store.AuditQuery{Name: "share"}, func(e store.AuditEntry) bool { return e.Name == "share" }},
		"since":        {store.AuditQuery{Since: all[9].At}, func(e store.AuditEntry) bool { return !e.At.Before(all[9].At) }},
		"until":        {store.AuditQuery{Until: all[9].At}, func(e store.AuditEntry) bool { return e.At.Before(all[9].At) }},
		"all of time": {store.AuditQuery{Since: time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC), Until: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)},
			func(store.AuditEntry) bool { return true }},
		"before all": {store.AuditQuery{Until: time.Date(2, 1, 1, 0, 0, 0, 0, time.UTC)}, func(store.AuditEntry) bool { return false }},
		"after all":  {store.AuditQuery{Since: time.Date(9999, 12, 31, 0, 0, 0, 0, time.UTC)}, func(store.AuditEntry) bool { return false }},
		"everything": {store.AuditQuery{Owner: alice, Conversation: "c_1", Name: "share", Since: all[2].At, Until: all[22].At},
			func(e store.AuditEntry) bool {
				return e.Tenant == "acme" && e.User == "alice" && e.Conversation == "c_1" && e.Name == "share" && !e.At.Before(all[2].At) && e.At.Before(all[22].At)
			}},
	} {
		var expect []store.AuditEntry
		for _, e := range all {
			if c.match(e) {
				expect = append(expect, e)
			}
		}
		for _, limit := range []int{0, 1, 4, 5, 1000, 5000} {
			var got []store.AuditEntry
			q := c.query
			q.Limit = limit
			for {
				page, next, err := s.Audit(ctx, q)
				must(t, err)
				if limit > 0 && len(page) > limit || next != "" && len(page) != limit {
					t.Fatalf("%s: a page of %d with limit %d", name, len(page), limit)
				}
				got = append(got, page...)
				if q.Cursor = next; next == "" {
					break
				}
			}
			if !reflect.DeepEqual(got, expect) {
				t.Errorf("%s, %d a page: %d entries\n%+v\nwant %d\n%+v", name, limit, len(got), got, len(expect), expect)
			}
		}
	}
}

func testTrimActions(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	ended := func(key string, at time.Duration, status store.CallStatus, report string) store.ActionReserve {
		t.Helper()
		r := reserve(msg, "b_"+key, key)
		r.Nonce, r.NonceUntil = "nonce-"+key, noon.Add(at)
		reserved(t, s, r)
		f := end(r, `"done"`)
		f.At, f.Status, f.Report = noon.Add(at), status, report
		finished(t, s, f)
		return r
	}
	old := ended("old", -2*time.Hour, store.CallDone, "")
	ended("unknown", -2*time.Hour, store.CallUnknown, "")
	ended("untold", -2*time.Hour, store.CallDone, "told later")
	ended("young", 0, store.CallDone, "")
	running := reserve(msg, "b_running", "running")
	running.Call.StartedAt = noon.Add(-3 * time.Hour)
	reserved(t, s, running)
	for range 2 {
		must(t, s.TrimActions(ctx, noon.Add(-time.Hour)))
	}
	for key, known := range map[string]bool{"old": false, "unknown": false, "untold": false, "young": true, "running": true} {
		_, err := s.ActionCall(ctx, alice, key)
		if known && err != nil || !known && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("key %s: error %v", key, err)
		}
	}
	reports, err := s.TakeReports(ctx, alice, "c_1")
	if err != nil || !slices.Equal(reports, []string{"told later"}) {
		t.Errorf("reports %v (%v)", reports, err)
	}
	must(t, s.TrimActions(ctx, noon.Add(-time.Hour)))
	// The states and the audit log stay.
	st, err := s.BlockState(ctx, alice, "b_old")
	if err != nil || st.Rev != 3 || st.Call != old.Call.ID {
		t.Errorf("state %+v, %v", st, err)
	}
	if log := audited(t, s, store.AuditQuery{Owner: alice}); len(log) != 4 {
		t.Errorf("%d audit entries", len(log))
	}
	// A key and a nonce that were forgotten are as good as new, others are not.
	r := reserve(msg, "b_again", "old")
	r.Nonce, r.NonceUntil = "nonce-old", noon
	reserved(t, s, r)
	r = reserve(msg, "b_young_again", "fresh")
	r.Nonce = "nonce-young"
	_, err = s.ReserveAction(ctx, r)
	want(t, err, store.ErrTokenUsed)
}

func testActionOwners(t *testing.T, s store.Store) {
	ctx := t.Context()
	msg := answered(t, s, alice, "c_1")
	r := reserve(msg, "b_1", "key-1")
	reserved(t, s, r)
	f := end(r, `"done"`)
	f.Report = "report"
	finished(t, s, f)
	for _, o := range []store.Owner{bob, eve, {}} {
		for name, call := range map[string]func() error{
			"ActionCall":  func() error { _, err := s.ActionCall(ctx, o, "key-1"); return err },
			"BlockState":  func() error { _, err := s.BlockState(ctx, o, "b_1"); return err },
			"BlockStates": func() error { _, err := s.BlockStates(ctx, o, msg); return err },
			"ReserveAction": func() error {
				r := reserve(msg, "b_1", "key-2")
				r.Call.Owner = o
				_, err := s.ReserveAction(ctx, r)
				return err
			},
		} {
			if err := call(); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of %+v: error %v, want %v", name, o, err, store.ErrNotFound)
			}
		}
		if reports, err := s.TakeReports(ctx, o, "c_1"); err != nil || len(reports) != 0 {
			t.Errorf("%+v gets %v (%v)", o, reports, err)
		}
	}
	if reports, err := s.TakeReports(ctx, alice, "c_1"); err != nil || len(reports) != 1 {
		t.Errorf("reports %v (%v)", reports, err)
	}
}

// testActionDelete deletes a conversation in which one call has ended and
// another runs.
func testActionDelete(t *testing.T, s store.Store) {
	ctx := t.Context()
	msgs := map[string]string{"c_1": answered(t, s, alice, "c_1"), "c_2": answered(t, s, alice, "c_2")}
	running := map[string]store.ActionReserve{}
	for c, msg := range msgs {
		r := reserve(msg, "b_"+c, "key-"+c)
		reserved(t, s, r)
		f := end(r, `"done"`)
		f.Report, f.Audit.Conversation = "report", c
		finished(t, s, f)
		running[c] = reserve(msg, "b_running_"+c, "key-running-"+c)
		reserved(t, s, running[c])
	}
	for _, o := range []store.Owner{bob, eve} {
		want(t, s.DeleteConversation(ctx, o, "c_1"), store.ErrNotFound)
	}
	if _, err := s.BlockState(ctx, alice, "b_c_1"); err != nil {
		t.Fatal(err)
	}
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	for name, call := range map[string]func(c string) error{
		"ActionCall":  func(c string) error { _, err := s.ActionCall(ctx, alice, "key-"+c); return err },
		"running":     func(c string) error { _, err := s.ActionCall(ctx, alice, "key-running-"+c); return err },
		"BlockState":  func(c string) error { _, err := s.BlockState(ctx, alice, "b_"+c); return err },
		"BlockStates": func(c string) error { _, err := s.BlockStates(ctx, alice, msgs[c]); return err },
	} {
		if err := call("c_1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of the deleted: error %v, want %v", name, err, store.ErrNotFound)
		}
		if err := call("c_2"); err != nil {
			t.Errorf("%s of the other: %v", name, err)
		}
	}
	late := noon.Add(time.Hour)
	expired, err := s.ExpiredActions(ctx, late)
	if err != nil || len(expired) != 1 || expired[0].ID != running["c_2"].Call.ID {
		t.Errorf("expired %+v (%v)", expired, err)
	}
	unlogged, err := s.UnloggedStates(ctx, 10)
	if err != nil || len(unlogged) != 1 || unlogged[0].Block != "b_c_2" {
		t.Errorf("unlogged %+v (%v)", unlogged, err)
	}
	if reports, err := s.TakeReports(ctx, alice, "c_1"); err != nil || len(reports) != 0 {
		t.Errorf("reports %v (%v)", reports, err)
	}
	id := running["c_1"].Call.ID
	want(t, s.RenewAction(ctx, id, "one", late), store.ErrStaleLease)
	_, _, err = s.FinishAction(ctx, end(running["c_1"], `"done"`))
	want(t, err, store.ErrStaleLease)
	_, err = s.TakeAction(ctx, id, "two", late, late)
	want(t, err, store.ErrConflict)
	_, err = s.ReserveAction(ctx, reserve(msgs["c_1"], "b_late", "key-late"))
	want(t, err, store.ErrNotFound)
	if log := audited(t, s, store.AuditQuery{Conversation: "c_1"}); len(log) != 1 {
		t.Errorf("the audit log has %+v", log)
	}
}
