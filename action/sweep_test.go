package action

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// A call whose outcome is not known is asked about again, ever less often, and
// by whoever asks with its key.
func TestUnknownIsAskedAgain(t *testing.T) {
	var asked atomic.Int32
	var known atomic.Bool
	def := export(func(context.Context, Call, *tool.Out) (Result, error) { return Result{}, errors.New("EOF") })
	def.Lookup = func(_ context.Context, c Call) (bool, Result, error) {
		asked.Add(1)
		if !known.Load() {
			return false, Result{}, errors.New("cannot say")
		}
		if c.Caller.Token != "" || c.Caller.User != "ann" || c.ID == "" || string(c.Payload) != `{"name":"x"}` || c.Block.Type != "form" {
			t.Errorf("call %+v", c)
		}
		return true, Result{Value: 7}, nil
	}
	r := newRig(t, def)
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"x"}`)
	first, body, err := r.do(req)
	if err != nil || body.Status != "unknown" || asked.Load() != 1 {
		t.Fatalf("%v %s after %d questions", err, first.Body, asked.Load())
	}
	sweep := func(want int32) {
		t.Helper()
		if err := r.g.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if asked.Load() != want {
			t.Errorf("asked %d times, want %d", asked.Load(), want)
		}
	}
	sweep(1)
	r.clock.forward(time.Minute)
	sweep(2)
	r.clock.forward(time.Minute)
	sweep(2) // two minutes now
	if again, _, err := r.do(req); err != nil || !same(again.Body, first.Body) || !again.Replayed || asked.Load() != 3 {
		t.Errorf("%v %s after %d questions", err, again.Body, asked.Load())
	}
	if b := blockOf(t, r.logged(m.ID)); b.Rev != 3 {
		t.Errorf("nothing new, and rev is %d", b.Rev)
	}
	known.Store(true)
	r.clock.forward(2 * time.Hour)
	sweep(4)
	if b := blockOf(t, r.logged(m.ID)); statusOf(b.State) != "done" || string(resultOf(b.State)) != "7" {
		t.Errorf("state %s", b.State)
	}
	if _, body, err := r.do(req); err != nil || body.Status != "done" || string(body.Result) != "7" {
		t.Errorf("%v %+v", err, body)
	}
	r.clock.forward(2 * time.Hour)
	sweep(4)
}

// A call of unknown outcome is asked about again by the process that comes
// after, at its own pace.
func TestUnknownIsAskedAfterRestart(t *testing.T) {
	var asked atomic.Int32
	var known atomic.Bool
	def := export(func(context.Context, Call, *tool.Out) (Result, error) { return Result{}, errors.New("EOF") })
	def.Lookup = func(context.Context, Call) (bool, Result, error) {
		asked.Add(1)
		if !known.Load() {
			return false, Result{}, errors.New("cannot say")
		}
		return true, Result{}, nil
	}
	r := newRig(t, def)
	m := r.show("form")
	if _, body, err := r.do(r.press(m, "submit", `{"name":"x"}`)); err != nil || body.Status != "unknown" {
		t.Fatalf("%v %+v", err, body)
	}
	g := r.gateway(r.store)
	defer closed(t, g)
	for _, step := range []struct {
		after time.Duration
		asked int32
	}{{0, 1}, {59 * time.Second, 1}, {time.Second, 2}, {time.Minute, 2}, {time.Minute, 3}} {
		r.clock.forward(step.after)
		if step.asked == 3 {
			known.Store(true)
		}
		if err := g.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		if asked.Load() != step.asked {
			t.Errorf("after %v: asked %d times, want %d", step.after, asked.Load(), step.asked)
		}
	}
	if b := blockOf(t, r.logged(m.ID)); statusOf(b.State) != "done" {
		t.Errorf("state %s", b.State)
	}
	r.clock.forward(2 * time.Hour)
	if err := g.Sweep(context.Background()); err != nil || asked.Load() != 3 {
		t.Errorf("asked %d times when it is known (%v)", asked.Load(), err)
	}
}

// Who is told that a doubtful call did not happen reads that nothing was
// changed, not what broke on the way; a refusal keeps its words.
func TestUndoneWords(t *testing.T) {
	failed := &tool.Error{Code: block.CodeDataFetchFailed, Message: "The data source failed.", Retryable: true}
	for _, c := range []struct {
		lang, want string
		errs       []error
		again      bool
	}{
		{"en", "This was not carried out. Nothing was changed.", []error{Uncertain(failed)}, true},
		{"zh", "操作未执行，未做任何修改。", []error{Uncertain(failed)}, true},
		{"zh", "操作未执行，未做任何修改。", []error{errors.New("EOF")}, false},
		{"en", "The export was stopped.", []error{Uncertain(&tool.Error{Code: block.CodeCancelled, Message: "The export was stopped."})}, false},
		{"zh", "已拒绝。", []error{errors.New("EOF"), &tool.Error{Message: "已拒绝。"}}, false},
	} {
		var runs atomic.Int32
		def := export(func(context.Context, Call, *tool.Out) (Result, error) {
			return Result{}, c.errs[min(int(runs.Add(1)), len(c.errs))-1]
		})
		def.Idempotent = len(c.errs) > 1
		def.Lookup = func(context.Context, Call) (bool, Result, error) { return false, Result{}, nil }
		r := newRig(t, def)
		req := r.press(r.show("form"), "submit", `{"name":"x"}`)
		req.Caller.Lang = c.lang
		a, _, err := r.do(req)
		var body failureBody
		if err != nil || json.Unmarshal(a.Body, &body) != nil || a.Status != 502 || body.Error.Message != c.want || body.Error.Retryable != c.again {
			t.Errorf("%s %v: %v %d %s", c.lang, c.errs, err, a.Status, a.Body)
		}
	}
}

// A message that something writes to gets its states later, by the sweeper.
func TestStatesAreWrittenLater(t *testing.T) {
	r := newRig(t, export(nil))
	r.g.cfg.Limits.Wait = time.Millisecond
	m := r.show("form")
	hold := make(chan struct{})
	if _, err := r.runner.Follow(context.Background(), turn.FollowRequest{Owner: r.owner(), Msg: m.ID}, func(context.Context, *turn.Follow) error {
		<-hold
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	r.done(r.press(m, "submit", `{"name":"x"}`)) // nobody waits for the log
	unlogged := func() int {
		t.Helper()
		list, err := r.store.UnloggedStates(context.Background(), 10)
		if err != nil {
			t.Fatal(err)
		}
		return len(list)
	}
	for range 20 {
		if err := r.g.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if unlogged() != 1 {
		t.Error("it is written already")
	}
	close(hold)
	deadline := time.Now().Add(time.Minute)
	for unlogged() > 0 && time.Now().Before(deadline) {
		if err := r.g.Sweep(context.Background()); err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Millisecond)
	}
	if b := blockOf(t, r.logged(m.ID)); !isLocked(b.State) {
		t.Errorf("state %s", b.State)
	}
}

// Keys are forgotten after their time; the block stays locked.
func TestTrim(t *testing.T) {
	r := newRig(t, export(nil))
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"x"}`)
	r.done(req)
	r.logged(m.ID)
	trim := func() {
		t.Helper()
		if err := r.g.Trim(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	r.clock.forward(23 * time.Hour)
	trim()
	if a, _, err := r.do(req); err != nil || !a.Replayed {
		t.Errorf("within a day: %v", err)
	}
	r.clock.forward(2 * time.Hour)
	trim()
	if _, err := r.store.ActionCall(context.Background(), r.owner(), req.Key); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("after a day: %v", err)
	}
	r.refused(CodeSubmitted, req)
}

// An action that was taken out of the program leaves its calls unknown.
func TestUnregisteredMeanwhile(t *testing.T) {
	b := &business{effects: map[string]int{}}
	r := newRig(t, export(func(ctx context.Context, c Call, out *tool.Out) (Result, error) {
		return Result{}, b.process.step(func() error { return nil })
	}))
	m := r.show("form")
	p := &process{Store: r.store, turns: r.runner}
	b.process = p
	g := newProcess(t, r, p)
	p.kill = 1 << 30
	req := r.press(m, "submit", `{"name":"x"}`)
	// It is killed while the handler runs.
	b.process = &process{kill: 1, after: true}
	go func() { _, _ = g.Do(context.Background(), req) }()
	for {
		if st, err := r.store.BlockState(context.Background(), r.owner(), req.Block); err == nil && !st.Pending {
			break
		}
		time.Sleep(time.Millisecond)
	}
	closed(t, g)
	empty, err := NewRegistry()
	if err != nil {
		t.Fatal(err)
	}
	r.reg = empty
	g = newProcess(t, r, &process{Store: r.store, turns: r.runner})
	defer closed(t, g)
	a, err := g.Do(context.Background(), req)
	if err != nil || !strings.Contains(string(a.Body), `"unknown"`) {
		t.Errorf("%v %s", err, a.Body)
	}
	if _, err := g.Do(context.Background(), r.press(m, "submit", `{"name":"x"}`)); codeOf(err) != CodeNotFound {
		t.Errorf("pressed again: %v", err)
	}
}

// Only a person's request runs an action: not the model that names one as a
// tool, not a tool that attaches one.
func TestOnlyPeoplePress(t *testing.T) {
	ran := func(context.Context, Call, *tool.Out) (Result, error) {
		t.Error("ran")
		return Result{}, nil
	}
	risk, show := touch(ran), touch(ran)
	risk.Name, show.Name = "delete_everything", "touch"
	r := newRig(t, risk, show)
	m := r.show("table") // its tool attaches touch, and the model was asked for it
	if len(blockOf(t, m).Actions) == 0 {
		t.Fatal("no buttons")
	}
	if got := r.audit(m.Conversation); len(got) != 0 {
		t.Errorf("audit %v", got)
	}
	// An action that is registered and that nobody attached cannot be called.
	r.refused(CodeNotFound, r.press(m, "delete_everything", `{"order":"A1"}`))
	// One that was attached and is not registered is no action at all.
	for _, a := range blockOf(t, m).Actions {
		if a.ID == "pay" {
			t.Errorf("left in: %+v", a)
		}
	}
}

// Values, patterns and schemas that are made to take long do not.
func TestBombs(t *testing.T) {
	r := newRig(t, Def{
		Name: "touch", Effect: Read, Run: nothing,
		Schema: json.RawMessage(`{"type":"object","properties":{"order":{"type":"string","pattern":"^(a+)+$"},"tree":{"$ref":"#/$defs/node"}},
			"$defs":{"node":{"anyOf":[{"type":"integer"},{"type":"array","items":{"$ref":"#/$defs/node"}}]}}}`),
	})
	m := r.show("table")
	began := time.Now()
	for name, payload := range map[string]string{
		"pattern":   `{"order":"` + strings.Repeat("a", 5000) + `!"}`,
		"depth":     `{"tree":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`,
		"branches":  `{"tree":` + strings.Repeat("[", 62) + `"x"` + strings.Repeat("]", 62) + `}`,
		"nesting":   `{"tree":` + strings.Repeat("[", 5_000) + `"x"` + strings.Repeat("]", 5_000) + `}`,
		"number":    `{"tree":1e400000000}`,
		"members":   `{` + strings.Repeat(`"a":1,`, 40_000) + `"order":7}`,
		"surplus":   `{"order":"a"}` + strings.Repeat(" ", 300<<10),
		"surrogate": `{"order":"\ud800"}`,
	} {
		req := r.press(m, "touch", payload)
		if _, err := r.g.Do(context.Background(), req); codeOf(err) != CodePayloadInvalid && codeOf(err) != CodeInvalid && codeOf(err) != CodeTooLarge {
			t.Errorf("%s: %v", name, err)
		}
	}
	if d := time.Since(began); d > time.Minute {
		t.Errorf("it took %s", d)
	}
	for name, d := range map[string]Def{
		"large schema": {Schema: json.RawMessage(`{"type":"object","description":"` + strings.Repeat("x", MaxSchema) + `"}`)},
		"foreign":      {Schema: json.RawMessage(`{"type":"object","$ref":"https://example.com/schema.json"}`)},
		"no schema":    {Schema: json.RawMessage(`{"type":"object","properties":7}`)},
		"a list":       {Schema: json.RawMessage(`{"type":"array"}`)},
	} {
		d.Name, d.Effect, d.Run = "x", Read, nothing
		if _, err := NewRegistry(d); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
}

func TestDefs(t *testing.T) {
	good := export(nil)
	for name, change := range map[string]func(*Def){
		"no name":                    func(d *Def) { d.Name = "" },
		"a name of ours":             func(d *Def) { d.Name = "inlay.answer" },
		"no effect":                  func(d *Def) { d.Effect = "" },
		"another effect":             func(d *Def) { d.Effect = "delete" },
		"a write without a question": func(d *Def) { d.Confirm = Confirm{} },
		"a token without a question": func(d *Def) { d.Confirm = Confirm{Level: LevelToken} },
		"a question nobody asks":     func(d *Def) { d.Confirm.Level = LevelNone },
		"no default language":        func(d *Def) { d.Confirm.Text = Words{"zh": "确认？"} },
		"another level":              func(d *Def) { d.Confirm.Level = "twice" },
		"another style":              func(d *Def) { d.Style = "loud" },
		"another report":             func(d *Def) { d.Report = "sometimes" },
		"a negative rate":            func(d *Def) { d.PerMinute = -1 },
		"a negative time":            func(d *Def) { d.Timeout = -1 },
		"nothing to run":             func(d *Def) { d.Run = nil },
	} {
		d := good
		d.Confirm.Text = Words{"": "Sure?"}
		change(&d)
		if _, err := NewRegistry(d); err == nil {
			t.Errorf("%s: taken", name)
		}
	}
	r, err := NewRegistry(good)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Add(touch(nil), good); err == nil || r.Len() != 1 {
		t.Errorf("half a list was added: %v", r.Names())
	}
	if err := r.Add(touch(nil)); err != nil || strings.Join(r.Names(), " ") != "export touch" {
		t.Errorf("%v %v", err, r.Names())
	}
	if _, err := NewRegistry(good, good); err == nil {
		t.Error("the same name twice")
	}
}

func TestResolve(t *testing.T) {
	only := touch(nil)
	only.Blocks, only.Style, only.Label = []string{"query"}, "danger", Words{"": "Touch", "zh": "触摸"}
	r, err := NewRegistry(export(nil), only)
	if err != nil {
		t.Fatal(err)
	}
	zh := tool.WithCaller(context.Background(), tool.Caller{Lang: "zh"})
	a, err := r.Resolve(zh, block.Action{ID: "go", Action: "export"}, "form")
	if err != nil || a.Kind != block.ActionAPI || a.Label != "导出" || a.Confirm != "Export it?" || a.InputSchema != nil || a.Feedback.FailureToast != "Not exported." {
		t.Errorf("%v %+v", err, a)
	}
	a, err = r.Resolve(zh, block.Action{ID: "touch", Kind: block.ActionAPI, Label: "Mine", Style: "primary", Confirm: "Mine?"}, "query")
	if err != nil || a.Label != "Mine" || a.Style != "primary" || a.Confirm != "Mine?" || string(a.InputSchema) != orderSchema {
		t.Errorf("%v %+v", err, a)
	}
	if again, err := r.Resolve(context.Background(), a, "query"); err != nil || again.Label != a.Label || again.Style != a.Style {
		t.Errorf("twice: %v %+v", err, again)
	}
	for name, label := range map[string]string{"delete_note": "Delete note", "x": "X", "erp.close-order_": "Erp close order"} {
		plain := touch(nil)
		plain.Name, plain.Label = name, nil
		if err := r.Add(plain); err != nil {
			t.Fatal(err)
		}
		if a, err := r.Resolve(zh, block.Action{ID: name}, "query"); err != nil || a.Label != label {
			t.Errorf("%s: %v, label %q", name, err, a.Label)
		}
	}
	for name, bad := range map[string]struct {
		a   block.Action
		typ string
	}{
		"not registered":    {block.Action{ID: "delete", Kind: block.ActionAPI}, "form"},
		"on another block":  {block.Action{ID: "touch", Kind: block.ActionAPI}, "form"},
		"by its id, not it": {block.Action{ID: "export", Action: "delete", Kind: block.ActionAPI}, "form"},
	} {
		if got, err := r.Resolve(zh, bad.a, bad.typ); err == nil {
			t.Errorf("%s: %+v", name, got)
		}
	}
	link := block.Action{ID: "docs", Kind: block.ActionLink, Href: "https://docs.example.com/"}
	if got, err := r.Resolve(zh, link, "form"); err != nil || got.Href != link.Href || got.Label != "" {
		t.Errorf("%v %+v", err, got)
	}
}

// Password fields are used and not kept, wherever the form hides them.
func TestSecrets(t *testing.T) {
	form := block.Block{Type: "form", Payload: json.RawMessage(`{"title":"x","schema":{"type":"object","properties":{
		"user":{"type":"string"},"pin":{"type":"string","format":"password"},"login":{"$ref":"#/definitions/login"},
		"list":{"type":"array","items":{"type":"object","properties":{"key":{"type":"string","writeOnly":true},"id":{"type":"string"}}}},
		"words":{"type":"array","items":{"type":"string"}}},
		"definitions":{"login":{"type":"object","properties":{"pass":{"type":"string"},"name":{"type":"string"}}}},
		"if":{"properties":{"user":{"const":"a"}}},"then":{"properties":{"extra":{"type":"string","format":"password"}}}},
		"uiSchema":{"login":{"pass":{"ui:options":{"widget":"password"}}},"words":{"items":{"ui:widget":"password"}}}}`)}
	got := secrets(form, json.RawMessage(`{"user":"a","pin":"S","login":{"pass":"S","name":"n"},"list":[{"key":"S","id":"1"}],"words":["S"],"extra":"S"}`))
	if string(got) != `{"list":[{"id":"1"}],"login":{"name":"n"},"user":"a","words":[""]}` {
		t.Errorf("kept %s", got)
	}
	if got := secrets(block.Block{Type: "table"}, json.RawMessage(`{"pin":"1"}`)); string(got) != `{"pin":"1"}` {
		t.Errorf("%s", got)
	}
	// What an action's own schema calls secret is so on every block.
	own := json.RawMessage(`{"type":"object","properties":{"pin":{"type":"string","writeOnly":true},"user":{"$ref":"#/$defs/a"}},
		"$defs":{"a":{"$ref":"#/$defs/b"},"b":{"type":"string","format":"password"}}}`)
	for _, b := range []block.Block{{Type: "table"}, {Type: "form", Payload: json.RawMessage(plainForm)}} {
		if got := secrets(b, json.RawMessage(`{"id":1,"pin":"S","user":"S"}`), own); string(got) != `{"id":1}` {
			t.Errorf("on %s: kept %s", b.Type, got)
		}
	}
	// Also in members that only a rule for all of them describes.
	any := block.Block{Type: "form", Payload: json.RawMessage(`{"title":"x","schema":{"type":"object","properties":{"a":{"type":"string"}},
		"patternProperties":{"^key_":{"type":"string","writeOnly":true}},
		"additionalProperties":{"type":"object","properties":{"pass":{"type":"string","writeOnly":true}}}}}`)}
	if got := secrets(any, json.RawMessage(`{"a":"1","key_a":"S","other":{"pass":"S","b":2}}`)); string(got) != `{"a":"1","other":{"b":2}}` {
		t.Errorf("kept %s", got)
	}
}

// What the action itself does not take is refused before anything begins, and
// leaves its key free.
func TestCheck(t *testing.T) {
	var runs atomic.Int32
	def := export(func(context.Context, Call, *tool.Out) (Result, error) {
		runs.Add(1)
		return Result{}, nil
	})
	def.Check = func(_ context.Context, c Call) error {
		switch {
		case c.Action != "export" || c.On != "submit" || c.Block.Type != "form" || c.Caller.User != "ann" || c.Msg == "":
			return errors.New("not the call")
		case string(c.Payload) == `{"name":"panic"}`:
			panic("lost")
		case string(c.Payload) == `{"name":"late"}`:
			return &tool.Error{Message: "It is too late."}
		}
		return nil
	}
	r := newRig(t, def)
	m := r.show("form")
	req := r.press(m, "submit", `{"name":"late"}`)
	e := r.refused(CodePayloadInvalid, req)
	if raw, err := json.Marshal(e.Details); err != nil || e.Message != "It is too late." || string(raw) != `{"violations":[{"message":"It is too late.","path":""}]}` {
		t.Errorf("%s %s", e.Message, raw)
	}
	if _, _, err := r.do(r.press(m, "submit", `{"name":"panic"}`)); err == nil || codeOf(err) != turn.CodeInternal {
		t.Errorf("a panic: %v", err)
	}
	if runs.Load() != 0 {
		t.Error("it ran")
	}
	req.Payload = json.RawMessage(`{"name":"x"}`)
	if r.done(req); runs.Load() != 1 {
		t.Errorf("ran %d times", runs.Load())
	}
}
