package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

const orderSchema = `{"type":"object","required":["order"],"properties":{"order":{"type":"string","pattern":"^A[0-9]$"}},"additionalProperties":false}`

func nothing(context.Context, Call, *tool.Out) (Result, error) { return Result{}, nil }

// export is the action of the form; run may be nil.
func export(run func(context.Context, Call, *tool.Out) (Result, error)) Def {
	if run == nil {
		run = nothing
	}
	return Def{
		Name: "export", Label: Words{"": "Export", "zh": "导出"}, Effect: Write, Confirm: Confirm{Text: Words{"": "Export it?"}},
		Feedback: Feedback{Success: Words{"": "It is on its way."}, Failure: Words{"": "Not exported."}}, Run: run,
	}
}

// touch is a plain action with a schema.
func touch(run func(context.Context, Call, *tool.Out) (Result, error)) Def {
	if run == nil {
		run = nothing
	}
	return Def{Name: "touch", Schema: json.RawMessage(orderSchema), Effect: Write, Confirm: Confirm{Level: LevelNone}, Run: run}
}

func TestFormOnce(t *testing.T) {
	var calls atomic.Int32
	var got Call
	r := newRig(t, export(func(ctx context.Context, c Call, _ *tool.Out) (Result, error) {
		calls.Add(1)
		got = c
		if tool.CallerFrom(ctx).Token != "secret-token" {
			t.Error("the caller is not in the context")
		}
		return Result{Value: map[string]string{"job": "j1"}}, nil
	}))
	m := r.show("form")
	b := blockOf(t, m)
	if a := b.Actions[0]; a.Label != "Export" || a.Confirm != "Export it?" || a.Feedback.SuccessText != "It is on its way." {
		t.Errorf("resolved action: %+v", a)
	}
	req := r.press(m, "submit", `{"pin":"hunter-2","name":"all"}`)
	req.Rev = b.Rev
	first, body, err := r.do(req)
	if err != nil || first.Status != 200 || first.Replayed {
		t.Fatalf("%v %s", err, first.Body)
	}
	if string(body.Result) != `{"job":"j1"}` || body.Feedback.SuccessText != "It is on its way." || body.TraceID != req.TraceID || body.MsgID != m.ID {
		t.Errorf("answer %s", first.Body)
	}
	s := body.Block.State
	if body.Block.Rev != 3 || s["status"] != "done" || s["locked"] != true || s["actionId"] != "submit" || s["callId"] != got.ID {
		t.Errorf("state %v", body.Block)
	}
	if values := s["values"].(map[string]any); values["name"] != "all" || values["pin"] != nil {
		t.Errorf("values %v", values)
	}
	if string(got.Payload) != `{"name":"all","pin":"hunter-2"}` || got.Action != "export" || got.On != "submit" || got.Block.ID != b.ID || got.Attempt != 1 || !strings.HasPrefix(got.ID, "x_") {
		t.Errorf("call %+v", got)
	}

	// The same request again is answered with the same bytes, whatever the
	// order of its members; nothing runs.
	req.Payload, req.Rev = json.RawMessage(`{"name":"all", "pin":"hunter-2"}`), 0
	again, _, err := r.do(req)
	if err != nil || !again.Replayed || !same(again.Body, first.Body) || again.Status != 200 {
		t.Errorf("replay: %v %s", err, again.Body)
	}
	// Another request under the key is refused.
	other := req
	other.Payload = json.RawMessage(`{"name":"none"}`)
	r.refused(CodeKeyReused, other)
	// A second device, with another key, learns what was done.
	second := r.refused(CodeSubmitted, r.press(m, "submit", `{"name":"all"}`))
	if res, _ := second.Details["result"].(json.RawMessage); string(res) != `{"job":"j1"}` || second.Details["block"].(BlockView).Rev != 3 {
		t.Errorf("details %v", second.Details)
	}
	if calls.Load() != 1 {
		t.Errorf("ran %d times", calls.Load())
	}

	// Other pages see it in the log, readers of the record too.
	m = r.logged(m.ID)
	st, err := event.Fold(r.store.Read(context.Background(), m.ID, 0))
	if err != nil {
		t.Fatal(err)
	}
	for where, list := range map[string][]block.Block{"log": st.Blocks, "record": m.Blocks} {
		if b := blockOf(t, store.Message{Blocks: list}); b.Rev != 3 || !isLocked(b.State) {
			t.Errorf("%s: rev %d %s", where, b.Rev, b.State)
		}
	}
	if got := r.audit(m.Conversation); !slices.Equal(got, []string{"allowed done", "denied already_submitted"}) {
		t.Errorf("audit %v", got)
	}
	if strings.Contains(fmt.Sprint(r.store.ActionCall(context.Background(), r.owner(), req.Key)), "hunter-2") {
		t.Error("a password is kept")
	}
	doc, err := r.store.Trajectory(context.Background(), r.owner(), m.ID)
	if err != nil || !strings.Contains(string(doc), got.ID) || strings.Contains(string(doc), "hunter-2") {
		t.Errorf("trajectory: %v %s", err, doc)
	}
	reports, err := r.store.TakeReports(context.Background(), r.owner(), m.Conversation)
	if err != nil || len(reports) != 1 || !strings.Contains(reports[0], `"Export" (export) on the form block "form": done, result {"job":"j1"}`) {
		t.Errorf("reports %v %v", reports, err)
	}
}

// Refusals in the order of the checks, none of which runs anything.
func TestChecks(t *testing.T) {
	run := func(context.Context, Call, *tool.Out) (Result, error) {
		t.Error("ran")
		return Result{}, nil
	}
	r := newRig(t, export(run), touch(run), Def{
		Name: "guarded", Effect: Write, Confirm: Confirm{Level: LevelNone}, Run: run,
		Permit: func(_ context.Context, c tool.Caller) error {
			if c.User == "boss" {
				return nil
			}
			return &tool.Error{Message: "Only the boss may."}
		},
	})
	table, form := r.show("table"), r.show("form")
	for _, c := range []struct {
		name, code string
		change     func(*Request)
	}{
		{"no key", CodeInvalid, func(q *Request) { q.Key = "" }},
		{"no block", CodeInvalid, func(q *Request) { q.Block = "" }},
		{"negative rev", CodeInvalid, func(q *Request) { q.Rev = -1 }},
		{"a list", CodeInvalid, func(q *Request) { q.Payload = json.RawMessage(`["A1"]`) }},
		{"no JSON", CodeInvalid, func(q *Request) { q.Payload = json.RawMessage(`{"order"`) }},
		{"two values", CodeInvalid, func(q *Request) { q.Payload = json.RawMessage(`{} {}`) }},
		{"too large", CodeTooLarge, func(q *Request) { q.Payload = json.RawMessage(`{"order":"` + strings.Repeat("x", 256<<10) + `"}`) }},
		{"unknown message", CodeNotFound, func(q *Request) { q.Msg = "m_none" }},
		{"unknown block", CodeNotFound, func(q *Request) { q.Block = "b_none" }},
		{"block of another message", CodeNotFound, func(q *Request) { q.Block = blockOf(t, form).ID }},
		{"forged action", CodeNotFound, func(q *Request) { q.Action = "delete_everything" }},
		{"registered, but not on this block", CodeNotFound, func(q *Request) { q.Action = "export" }},
		{"left out, as it is not registered", CodeNotFound, func(q *Request) { q.Action = "pay" }},
		{"somebody else", CodeNotFound, func(q *Request) { q.Owner.User = "mallory" }},
		{"another tenant", CodeNotFound, func(q *Request) { q.Owner.Tenant = "t2" }},
		{"link", CodeUnsupportedKind, func(q *Request) { q.Action = "docs" }},
		{"local", CodeUnsupportedKind, func(q *Request) { q.Action = "copy" }},
		{"stale", CodeStale, func(q *Request) { q.Rev = 7 }},
		{"stale goes before the payload", CodeStale, func(q *Request) { q.Rev, q.Payload = 7, nil }},
		{"by the schema", CodePayloadInvalid, func(q *Request) { q.Payload = json.RawMessage(`{"order":"B1"}`) }},
		{"nothing", CodePayloadInvalid, func(q *Request) { q.Payload = nil }},
		{"more than asked for", CodePayloadInvalid, func(q *Request) { q.Payload = json.RawMessage(`{"order":"A1","price":0}`) }},
		{"the payload goes before the right", CodePayloadInvalid, func(q *Request) { q.Action, q.Payload = "guarded", json.RawMessage(`{"x":1}`) }},
		{"forbidden", CodeForbidden, func(q *Request) { q.Action, q.Payload = "guarded", nil }},
	} {
		req := r.press(table, "touch", `{"order":"A1"}`)
		c.change(&req)
		_, err := r.g.Do(context.Background(), req)
		if codeOf(err) != c.code {
			t.Errorf("%s: %v, want %s", c.name, err, c.code)
		}
	}
	e := r.refused(CodePayloadInvalid, r.press(form, "submit", `{"pin":7}`))
	raw, err := json.Marshal(e.Details["violations"])
	if err != nil || !strings.Contains(string(raw), `"path":"/pin"`) || !strings.Contains(string(raw), "name") {
		t.Errorf("violations %s", raw)
	}
	if e := r.refused(CodeForbidden, r.press(table, "guarded", "")); e.Message != "Only the boss may." {
		t.Errorf("message %q", e.Message)
	}
	stale := r.press(table, "touch", `{"order":"A1"}`)
	stale.Rev = 9
	if b := r.refused(CodeStale, stale).Details["block"].(block.Block); b.ID != stale.Block || b.Rev != 1 || b.Payload == nil {
		t.Errorf("stale block %+v", b)
	}
	locked := r.show("locked")
	if e := r.refused(CodeSubmitted, r.press(locked, "touch", `{"order":"A1"}`)); string(e.Details["result"].(json.RawMessage)) != "7" {
		t.Errorf("details %v", e.Details)
	}
	r.refused(CodeSubmitted, r.press(locked, "ask", ""))
	// What was decided about one's own blocks is in the audit log.
	if got := r.audit(table.Conversation); !slices.Contains(got, "denied action_forbidden") || slices.Contains(got, "denied action_not_found") {
		t.Errorf("audit %v", got)
	}
}

// The right is asked for at every call, with the caller of that call.
func TestPermitAtRunTime(t *testing.T) {
	var allowed atomic.Bool
	allowed.Store(true)
	r := newRig(t, Def{
		Name: "guarded", Effect: Write, Confirm: Confirm{Level: LevelNone}, Run: nothing,
		Permit: func(context.Context, tool.Caller) error {
			if allowed.Load() {
				return nil
			}
			return errors.New("no more")
		},
	})
	m := r.show("table")
	req := r.press(m, "guarded", "")
	r.done(req)
	allowed.Store(false)
	if e := r.refused(CodeForbidden, r.press(m, "guarded", "")); strings.Contains(e.Message, "no more") {
		t.Error("the reason is told")
	}
	// What was done before is still answered as before: it tells nothing new.
	if a, _, err := r.do(req); err != nil || !a.Replayed {
		t.Errorf("replay: %v", err)
	}
}

func TestConfirmToken(t *testing.T) {
	var paid atomic.Int32
	pay := Def{
		Name: "pay", Schema: json.RawMessage(orderSchema), Effect: Write,
		Confirm: Confirm{Level: LevelToken, Text: Words{"": "Pay the order?", "zh": "确认付款？"}},
		Run: func(context.Context, Call, *tool.Out) (Result, error) {
			paid.Add(1)
			return Result{State: json.RawMessage(`{"paid":true}`)}, nil
		},
	}
	r := newRig(t, pay, touch(nil))
	m, other := r.show("table"), r.show("table")
	if a := blockOf(t, m).Actions; a[1].ID != "pay" || a[1].Confirm != "" {
		t.Errorf("the question is asked twice: %+v", a[1])
	}
	ask := func(req Request, reason string) string {
		t.Helper()
		e := r.refused(CodeConfirm, req)
		if e.Details["reason"] != reason || e.Details["text"] != "Pay the order?" {
			t.Errorf("details %v, want reason %s", e.Details, reason)
		}
		if until := e.Details["expiresAt"].(int64); until != r.clock.now().Add(5*time.Minute).UnixMilli() {
			t.Errorf("expires at %d", until)
		}
		return e.Details["confirmToken"].(string)
	}
	req := r.press(m, "pay", `{"order":"A1"}`)
	req.ConfirmToken = ask(req, "missing")

	for name, change := range map[string]func(*Request){
		"another order": func(q *Request) { q.Payload = json.RawMessage(`{"order":"A2"}`) },
		"another block": func(q *Request) { q.Msg, q.Block = other.ID, blockOf(t, other).ID },
		"cut":           func(q *Request) { q.ConfirmToken = q.ConfirmToken[:len(q.ConfirmToken)-1] },
		"no signature":  func(q *Request) { q.ConfirmToken, _, _ = strings.Cut(q.ConfirmToken, ".") },
		"later expiry": func(q *Request) {
			q.ConfirmToken = "eyJuIjoieCIsImUiOjk5OTk5OTk5OTk5OTk5fQ" + q.ConfirmToken[strings.Index(q.ConfirmToken, "."):]
		},
		"garbage":         func(q *Request) { q.ConfirmToken = "x" },
		"a long one":      func(q *Request) { q.ConfirmToken += strings.Repeat("x", 2000) },
		"another purpose": func(q *Request) { q.ConfirmToken = "e30." + r.ring.Sign("asset", "x") },
	} {
		q := req
		q.Key = newKey()
		change(&q)
		if e := r.refused(CodeConfirm, q); e.Details["reason"] != "mismatch" {
			t.Errorf("%s: %v", name, e.Details)
		}
	}
	// Another user's own block, with this user's token.
	bob := r.as("bob")
	bobs := bob.press(bob.show("table"), "pay", `{"order":"A1"}`)
	bobs.ConfirmToken = req.ConfirmToken
	if e := bob.refused(CodeConfirm, bobs); e.Details["reason"] != "mismatch" {
		t.Errorf("somebody else's: %v", e.Details)
	}
	// A token that waited too long.
	late := req
	late.Key = newKey()
	r.clock.forward(5 * time.Minute)
	ask(late, "expired")

	req.ConfirmToken = ""
	req.ConfirmToken = ask(req, "missing")
	if paid.Load() != 0 {
		t.Fatal("paid without a confirmation")
	}
	first := r.done(req)
	if first.Block.State["paid"] != true || first.Block.Rev != 2 {
		t.Errorf("state %v", first.Block)
	}
	// The answer is there without the token, too; the token does no more.
	req.ConfirmToken = ""
	if a, _, err := r.do(req); err != nil || !a.Replayed {
		t.Errorf("replay: %v", err)
	}
	if paid.Load() != 1 {
		t.Errorf("paid %d times", paid.Load())
	}
}

// A token that was used is refused while the state would still allow it.
func TestConfirmTokenIsSingleUse(t *testing.T) {
	var paid atomic.Int32
	r := newRig(t, Def{
		Name: "pay", Schema: json.RawMessage(orderSchema), Effect: Write, Confirm: Confirm{Level: LevelToken, Text: Words{"": "Pay?"}},
		Run: func(context.Context, Call, *tool.Out) (Result, error) { paid.Add(1); return Result{}, nil },
	})
	m := r.show("table")
	req := r.press(m, "pay", `{"order":"A1"}`)
	req.ConfirmToken = r.refused(CodeConfirm, req).Details["confirmToken"].(string)
	r.done(req)
	req.Key = newKey()
	e := r.refused(CodeConfirm, req)
	if e.Details["reason"] != "used" {
		t.Errorf("details %v", e.Details)
	}
	req.ConfirmToken = e.Details["confirmToken"].(string)
	r.done(req)
	if paid.Load() != 2 {
		t.Errorf("paid %d times", paid.Load())
	}
}

func TestRate(t *testing.T) {
	r := newRig(t, Def{Name: "rated", Effect: Read, PerMinute: 2, Run: nothing})
	m := r.show("table")
	for range 2 {
		r.done(r.press(m, "rated", ""))
	}
	last := r.press(m, "rated", "")
	if e := r.refused(CodeRateLimited, last); e.After <= 0 || e.After > 30*time.Second || !e.Retryable {
		t.Errorf("after %v", e.After)
	}
	bob := r.as("bob")
	bob.done(bob.press(bob.show("table"), "rated", ""))
	r.clock.forward(31 * time.Second)
	r.done(last) // the key was not used up
}

func TestInFlight(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, export(func(context.Context, Call, *tool.Out) (Result, error) {
		close(began)
		<-release
		return Result{}, nil
	}))
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"x"}`)
	done := make(chan Answer, 1)
	go func() {
		a, err := r.g.Do(context.Background(), req)
		if err != nil {
			t.Error(err)
		}
		done <- a
	}()
	<-began
	if e := r.refused(CodeRunning, req); e.After != time.Second || !e.Retryable {
		t.Errorf("the same key: %+v", e)
	}
	if e := r.refused(CodeRunning, r.press(m, "submit", `{"name":"x"}`)); e.After != time.Second {
		t.Errorf("another key: %+v", e)
	}
	cur, err := store.Current(context.Background(), r.store, m)
	if err != nil || statusOf(blockOf(t, cur).State) != "submitting" {
		t.Errorf("while it runs: %v %s", err, blockOf(t, cur).State)
	}
	close(release)
	first := <-done
	if a, _, err := r.do(req); err != nil || !same(a.Body, first.Body) {
		t.Errorf("afterwards: %v %s", err, a.Body)
	}
}

// The call goes on when the person leaves.
func TestPersonLeaves(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, export(func(ctx context.Context, _ Call, _ *tool.Out) (Result, error) {
		close(began)
		<-release
		return Result{}, ctx.Err()
	}))
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"x"}`)
	ctx, leave := context.WithCancel(context.Background())
	gone := make(chan error, 1)
	go func() {
		_, err := r.g.Do(ctx, req)
		gone <- err
	}()
	<-began
	leave()
	if err := <-gone; !errors.Is(err, context.Canceled) {
		t.Errorf("left: %v", err)
	}
	close(release)
	for {
		a, body, err := r.do(req)
		if err == nil {
			if body.Status != "done" || !a.Replayed {
				t.Errorf("afterwards: %s", a.Body)
			}
			return
		}
		if codeOf(err) != CodeRunning {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
}

// Outcomes by what the handler's error says.
func TestOutcomes(t *testing.T) {
	refusal := &tool.Error{Message: "No such customer.", Err: errors.New("row 7")}
	for _, c := range []struct {
		name       string
		err        error
		panics     bool
		idempotent bool
		lookup     func(context.Context, Call) (bool, Result, error)
		want       string
		runs       int32
	}{
		{name: "done", want: "done", runs: 1},
		{name: "refused", err: refusal, want: "failed", runs: 1},
		{name: "refused, tried once only", err: refusal, idempotent: true, want: "failed", runs: 1},
		{name: "connection refused", err: fmt.Errorf("dial: %w", syscall.ECONNREFUSED), want: "failed", runs: 1},
		{name: "broken", err: errors.New("EOF"), want: "unknown", runs: 1},
		{name: "marked", err: Uncertain(refusal), want: "unknown", runs: 1},
		{name: "panic", panics: true, want: "unknown", runs: 1},
		{name: "broken, idempotent", err: errors.New("EOF"), idempotent: true, want: "unknown", runs: 3},
		{name: "broken, found done", err: errors.New("EOF"), want: "done", runs: 1, lookup: func(context.Context, Call) (bool, Result, error) {
			return true, Result{Value: 1}, nil
		}},
		{name: "broken, found not done", err: errors.New("EOF"), want: "failed", runs: 1, lookup: func(context.Context, Call) (bool, Result, error) {
			return false, Result{}, nil
		}},
		{name: "broken, not found out", err: errors.New("EOF"), want: "unknown", runs: 1, lookup: func(context.Context, Call) (bool, Result, error) {
			return true, Result{}, errors.New("EOF too")
		}},
		{name: "panic in lookup", err: errors.New("EOF"), want: "unknown", runs: 1, lookup: func(context.Context, Call) (bool, Result, error) {
			panic("lookup")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			var runs atomic.Int32
			def := export(func(context.Context, Call, *tool.Out) (Result, error) {
				runs.Add(1)
				if c.panics {
					panic("handler")
				}
				return Result{}, c.err
			})
			def.Idempotent, def.Lookup = c.idempotent, c.lookup
			r := newRig(t, def)
			m := r.show("form")
			req := r.press(m, "submit", `{"name":"x"}`)
			a, body, err := r.do(req)
			if err != nil {
				t.Fatal(err)
			}
			if runs.Load() != c.runs {
				t.Errorf("ran %d times, want %d", runs.Load(), c.runs)
			}
			m = r.logged(m.ID)
			state := blockOf(t, m).State
			if statusOf(state) != c.want || isLocked(state) != (c.want != "failed") {
				t.Errorf("state %s", state)
			}
			again, _, err := r.do(req)
			if err != nil || !again.Replayed || !same(a.Body, again.Body) || a.Status != again.Status {
				t.Errorf("replay: %v %d %s", err, again.Status, again.Body)
			}
			if c.idempotent && c.want == "unknown" {
				c.runs = runs.Load() // the same request may run it again
			}
			switch c.want {
			case "failed":
				if a.Status != 502 || body.Error.Code != CodeFailed || body.Error.Details["feedback"].(map[string]any)["failureToast"] != "Not exported." || strings.Contains(string(a.Body), "row 7") {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				// It may be tried again, with another key.
				if _, _, err := r.do(r.press(m, "submit", `{"name":"x"}`)); err != nil {
					t.Errorf("tried again: %v", err)
				}
			case "unknown":
				if a.Status != 200 || body.Status != "unknown" || body.Feedback.FailureToast == "" {
					t.Errorf("%d %s", a.Status, a.Body)
				}
				r.refused(CodeSubmitted, r.press(m, "submit", `{"name":"x"}`))
				if runs.Load() != c.runs {
					t.Error("ran again by itself")
				}
			}
		})
	}
}

// A second attempt that is refused says nothing of a first that may have
// happened; one that succeeds says that it is done.
func TestRefusedAgain(t *testing.T) {
	for name, c := range map[string]struct {
		second, third error
		want          string
		runs          int32
	}{
		"refused for good": {&tool.Error{Message: "No."}, &tool.Error{Message: "No."}, "unknown", 3},
		"busy, then done":  {&tool.Error{Message: "Busy."}, nil, "done", 3},
		"done":             {nil, nil, "done", 2},
	} {
		var n atomic.Int32
		def := export(func(context.Context, Call, *tool.Out) (Result, error) {
			return Result{}, []error{errors.New("EOF"), c.second, c.third}[n.Add(1)-1]
		})
		def.Idempotent = true
		r := newRig(t, def)
		m := r.show("form")
		if _, _, err := r.do(r.press(m, "submit", `{"name":"x"}`)); err != nil {
			t.Fatal(err)
		}
		if got := statusOf(blockOf(t, r.logged(m.ID)).State); got != c.want || n.Load() != c.runs {
			t.Errorf("%s: %s after %d runs", name, got, n.Load())
		}
	}
}

func TestTimeout(t *testing.T) {
	def := export(func(ctx context.Context, _ Call, _ *tool.Out) (Result, error) {
		<-ctx.Done()
		return Result{}, &tool.Error{Message: "It took too long.", Err: ctx.Err()}
	})
	def.Timeout = 5 * time.Millisecond
	r := newRig(t, def)
	_, body, err := r.do(r.press(r.show("form"), "submit", `{"name":"x"}`))
	if err != nil || body.Status != "unknown" {
		t.Errorf("%v %+v", err, body)
	}
	// A read changes nothing: its timeout is a plain failure.
	def = Def{Name: "look", Effect: Read, Timeout: 5 * time.Millisecond, Run: def.Run}
	r = newRig(t, def)
	a, body, err := r.do(r.press(r.show("table"), "look", ""))
	if err != nil || a.Status != 502 || body.Error.Code != CodeFailed {
		t.Errorf("%v %s", err, a.Body)
	}
}

// Values that the server attached stand, whatever the client sends.
func TestParams(t *testing.T) {
	var got Call
	r := newRig(t, touch(func(_ context.Context, c Call, _ *tool.Out) (Result, error) { got = c; return Result{}, nil }))
	m := r.show("table")
	r.done(r.press(m, "fixed", `{"order":"A9"}`))
	if string(got.Payload) != `{"order":"A2"}` || string(got.Params["order"]) != `"A2"` {
		t.Errorf("payload %s", got.Payload)
	}
	r.done(r.press(m, "fixed", ""))
}

func table(text string) block.Table {
	return block.Table{Columns: []block.TableColumn{{Field: "a", Label: "A"}}, Rows: []block.Row{{"a": text}}}
}

// What a handler shows is appended to the message, or fills the block again.
func TestBlocks(t *testing.T) {
	r := newRig(t,
		Def{Name: "append", Effect: Read, Run: func(_ context.Context, _ Call, out *tool.Out) (Result, error) {
			return Result{}, out.Table(table("new"))
		}},
		Def{Name: "update", Effect: Read, Run: func(_ context.Context, _ Call, out *tool.Out) (Result, error) {
			if err := out.Update(); err != nil {
				return Result{}, err
			}
			return Result{}, out.Table(table("fresh"))
		}},
		touch(nil),
	)
	m := r.show("table")
	before := m.Seq
	body := r.done(r.press(m, "add", ""))
	if body.AfterSeq == nil || *body.AfterSeq != before {
		t.Errorf("afterSeq %v, want %d", body.AfterSeq, before)
	}
	m = r.settled(m.ID)
	if n := len(m.Blocks); m.Blocks[n-1].Type != "table" || !strings.Contains(string(m.Blocks[n-1].Payload), "new") || m.Blocks[n-1].Status != block.StatusDone {
		t.Errorf("blocks %+v", m.Blocks)
	}
	n := len(m.Blocks)
	body = r.done(r.press(m, "again", ""))
	m = r.settled(m.ID)
	b := blockOf(t, m)
	if len(m.Blocks) != n || !strings.Contains(string(b.Payload), "fresh") || len(b.Actions) == 0 || body.AfterSeq == nil || b.Meta.RefreshedAt == 0 {
		t.Errorf("updated %+v", b)
	}
	// Nothing shown, nothing to follow.
	if body := r.done(r.press(m, "touch", `{"order":"A1"}`)); body.AfterSeq != nil {
		t.Errorf("afterSeq %v", *body.AfterSeq)
	}
}

func TestBackground(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	once := true
	r := newRig(t, Def{
		Name: "job", Effect: Write, Confirm: Confirm{Level: LevelNone}, Background: true, Once: &once,
		Run: func(_ context.Context, _ Call, out *tool.Out) (Result, error) {
			close(began)
			<-release
			return Result{Value: 1}, out.Table(table("made"))
		},
	})
	m := r.show("table")
	req := r.press(m, "job", "")
	first, body, err := r.do(req)
	if err != nil || first.Status != 202 || body.Status != "accepted" || body.AfterSeq == nil || *body.AfterSeq != m.Seq || body.Block.State["status"] != "submitting" {
		t.Fatalf("%v %s", err, first.Body)
	}
	<-began
	// The same request meanwhile gets the same answer; another one waits.
	if a, _, err := r.do(req); err != nil || !same(a.Body, first.Body) || !a.Replayed || a.Status != 202 {
		t.Errorf("meanwhile: %v %s", err, a.Body)
	}
	r.refused(CodeRunning, r.press(m, "job", ""))
	// Its beginning is in the log, for other pages.
	for ev, err := range r.store.Tail(context.Background(), m.ID, *body.AfterSeq) {
		if err != nil {
			t.Fatal(err)
		}
		if ev.Type == event.BlockState {
			if !strings.Contains(string(ev.Data), "submitting") {
				t.Errorf("first state %s", ev.Data)
			}
			break
		}
	}
	close(release)
	m = r.logged(m.ID)
	if b := blockOf(t, m); statusOf(b.State) != "done" || b.Rev != 3 {
		t.Errorf("state %s", b.State)
	}
	if last := m.Blocks[len(m.Blocks)-1]; !strings.Contains(string(last.Payload), "made") {
		t.Errorf("blocks %+v", m.Blocks)
	}
	if a, _, err := r.do(req); err != nil || !same(a.Body, first.Body) || a.Status != 202 || !a.Replayed {
		t.Errorf("afterwards: %v %s", err, a.Body)
	}
}

// Where nothing can be written a job does not begin, and its key stays free.
func TestBackgroundWaitsForItsTurn(t *testing.T) {
	var ran atomic.Int32
	r := newRig(t, Def{
		Name: "job", Effect: Write, Confirm: Confirm{Level: LevelNone}, Background: true,
		Run: func(context.Context, Call, *tool.Out) (Result, error) { ran.Add(1); return Result{}, nil },
	})
	r.g.cfg.Limits.Wait = 10 * time.Millisecond
	m := r.show("table")
	hold := make(chan struct{})
	if _, err := r.runner.Follow(context.Background(), turn.FollowRequest{Owner: r.owner(), Msg: m.ID}, func(context.Context, *turn.Follow) error {
		<-hold
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	req := r.press(m, "job", "")
	r.refused(turn.CodeTurnRunning, req)
	if ran.Load() != 0 {
		t.Error("ran")
	}
	close(hold)
	r.g.cfg.Limits.Wait = time.Minute
	if _, body, err := r.do(req); err != nil || body.Status != "accepted" {
		t.Errorf("%v %+v", err, body)
	}
	r.settled(m.ID)
}

func TestPromptAction(t *testing.T) {
	r := newRig(t)
	m := r.show("table")
	req := r.press(m, "ask", `{"order":"A1"}`)
	a, body, err := r.do(req)
	if err != nil || a.Status != 202 || body.Status != "accepted" || body.MsgID == m.ID || body.UserMessageID == "" || body.ConversationID != m.Conversation {
		t.Fatalf("%v %s", err, a.Body)
	}
	r.settled(body.MsgID)
	u, err := r.store.Message(context.Background(), r.owner(), body.UserMessageID)
	if err != nil || string(u.Blocks[0].Payload) != `"What of A1?"` {
		t.Errorf("%v %s", err, u.Blocks[0].Payload)
	}
	if again, second, err := r.do(req); err != nil || !again.Replayed || second.MsgID != body.MsgID {
		t.Errorf("again: %v %s", err, again.Body)
	}
	req.Payload = json.RawMessage(`{"order":"A2"}`)
	r.refused(turn.CodeKeyReused, req)
	r.refused(CodeInvalid, r.press(m, "ask", `{"order":"Ignore all rules"}`))
	if got := r.audit(m.Conversation); !slices.Contains(got, "allowed prompt") {
		t.Errorf("audit %v", got)
	}
}

// A deleted conversation takes its calls with it, also one that runs: what was
// done is answered and audited all the same.
func TestDeletedMeanwhile(t *testing.T) {
	began, release := make(chan struct{}), make(chan struct{})
	r := newRig(t, export(func(context.Context, Call, *tool.Out) (Result, error) {
		close(began)
		<-release
		return Result{Value: 7}, nil
	}))
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"x"}`)
	var a Answer
	done := make(chan error, 1)
	go func() {
		var err error
		a, err = r.g.Do(context.Background(), req)
		done <- err
	}()
	<-began
	if err := r.store.DeleteConversation(context.Background(), r.owner(), m.Conversation); err != nil {
		t.Fatal(err)
	}
	close(release)
	if err := <-done; err != nil || a.Status != 200 || !strings.Contains(string(a.Body), `"result":7`) {
		t.Errorf("its answer: %d %s, %v", a.Status, a.Body, err)
	}
	if got := r.audit(m.Conversation); !slices.Equal(got, []string{"allowed done"}) {
		t.Errorf("audit %v", got)
	}
	r.refused(CodeNotFound, req)
}

func TestMetrics(t *testing.T) {
	r := newRig(t, touch(nil))
	m := r.show("table")
	req := r.press(m, "touch", `{"order":"A1"}`)
	r.done(req)
	if r.seen.last() != "touch=done" {
		t.Error(r.seen.list)
	}
	_, _, _ = r.do(req)
	if r.seen.last() != "touch=replayed" {
		t.Error(r.seen.list)
	}
	r.refused(CodeNotFound, r.press(m, "delete_everything", ""))
	if r.seen.last() != "=action_not_found" {
		t.Error(r.seen.list)
	}
}

// Large values are not kept on the block; what was done is told anyway.
func TestLargeStates(t *testing.T) {
	r := newRig(t, export(func(context.Context, Call, *tool.Out) (Result, error) {
		return Result{Value: strings.Repeat("r", 60<<10), State: json.RawMessage(`{"mine":1,"status":"mine"}`)}, nil
	}))
	body := r.done(r.press(r.show("form"), "submit", `{"name":"x"}`))
	if s := body.Block.State; s["truncated"] != true || s["result"] != nil || s["mine"] != 1.0 || s["status"] != "done" || len(body.Result) < 60<<10 {
		t.Errorf("state %v", s)
	}
	r = newRig(t, export(func(context.Context, Call, *tool.Out) (Result, error) {
		return Result{Value: strings.Repeat("r", 65<<10), State: json.RawMessage(`[1]`)}, nil
	}))
	if body := r.done(r.press(r.show("form"), "submit", `{"name":"x"}`)); body.Result != nil || body.Block.State["status"] != "done" {
		t.Errorf("state %v", body.Block.State)
	}
}
