package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/trajectory"
	"github.com/inlay-ui/inlay/turn"
)

func (r *rig) follow(msg string, body func(context.Context, *turn.Follow) error) turn.Started {
	r.t.Helper()
	s, err := r.runner.Follow(r.t.Context(), turn.FollowRequest{Owner: alice, Msg: msg, Wait: 5 * time.Second, Cause: "test"}, body)
	if err != nil {
		r.t.Fatalf("follow: %v", err)
	}
	return s
}

// TestFollow expects a follow-up to append a block, fill one again in its
// place and set a state, and the message to be what it was otherwise.
func TestFollow(t *testing.T) {
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)}, sales3(), step{text: "East leads."})
	s, before, was := r.ask("sales?")
	chart := was.Blocks[0]
	f := r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		if m := f.Message(); m.ID != s.Msg || m.Status != event.StatusDone {
			t.Errorf("message %s %s", m.ID, m.Status)
		}
		out := f.Out(ctx, "export", &chart, &turn.Again{Tool: "show_sales", Arguments: json.RawMessage(`{"quarter":"2026Q4"}`)})
		if err := out.Update(); err != nil {
			return err
		}
		if err := out.Chart(sales("West")); err != nil {
			return err
		}
		if err := out.Table(block.Table{Columns: []block.TableColumn{{Field: "a"}}, Rows: []map[string]any{{"a": 1}}}); err != nil {
			return err
		}
		if err := f.State(chart.ID, json.RawMessage(`{"status":"done"}`), 2); err != nil {
			return err
		}
		f.Note(trajectory.Turn{Extra: map[string]any{"action": "export"}})
		return f.Durable(ctx)
	})
	if f.Msg != s.Msg || f.After != uint64(len(before)) {
		t.Errorf("%+v", f)
	}
	evs, st := r.wait(s)
	if got, want := types(evs[len(before):]), "block_start block_end block_start block_end block_state done"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if st.Status != event.StatusDone || st.FinishReason != was.FinishReason || st.Usage != was.Usage {
		t.Errorf("the message came to %s %s %+v", st.Status, st.FinishReason, st.Usage)
	}
	got := st.Blocks[0]
	if got.ID != chart.ID || !strings.Contains(string(got.Payload), "West") || got.Rev != 2 || got.Meta.RefreshedAt == 0 || got.Meta.ToolCallID != chart.Meta.ToolCallID {
		t.Errorf("updated %+v %s", got, got.Payload)
	}
	if text(st) != "<chart done>|East leads.|<table done>" {
		t.Error(text(st))
	}
	m, err := r.store.Message(t.Context(), alice, s.Msg)
	if err != nil || m.Seq != st.Seq || len(m.Blocks) != 3 || len(m.Exchange) == 0 || m.Usage != was.Usage {
		t.Errorf("record at %d with %d blocks (%v)", m.Seq, len(m.Blocks), err)
	}
	if c, err := r.store.BlockCall(t.Context(), alice, st.Blocks[2].ID); err != nil || c.Tool != "show_sales" {
		t.Errorf("the new block's call: %+v, %v", c, err)
	}
	doc, err := r.store.Trajectory(t.Context(), alice, s.Msg)
	if err != nil || !strings.Contains(string(doc), `"action":"export"`) {
		t.Errorf("trajectory %s, %v", doc, err)
	}
}

// sales3 is a step that shows the sales of the third quarter.
func sales3() step {
	return step{calls: []model.Call{call("c1", "show_sales", `{"quarter":"2026Q3"}`)}}
}

// TestFollowWithoutWords expects no trace of a body that wrote nothing, and
// what goes wrong in one to end the group.
func TestFollowWithoutWords(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "Hello."})
	s, before, _ := r.ask("hi")
	idle := func() {
		for r.runner.Running() > 0 {
			time.Sleep(time.Millisecond)
		}
	}
	r.follow(s.Msg, func(context.Context, *turn.Follow) error { return nil })
	idle()
	if evs, st := r.wait(s); len(evs) != len(before) || st.Group != 1 {
		t.Errorf("%s", types(evs))
	}
	for _, c := range []struct {
		body func(context.Context, *turn.Follow) error
		code string
	}{
		{func(context.Context, *turn.Follow) error { return errBackend }, turn.CodeInternal},
		{func(context.Context, *turn.Follow) error { panic("bug") }, turn.CodeInternal},
		{func(context.Context, *turn.Follow) error {
			return &turn.Error{Code: turn.CodeNotFound, Message: "Gone."}
		}, turn.CodeNotFound},
	} {
		f := r.follow(s.Msg, c.body)
		evs, st := r.wait(s)
		last := evs[len(evs)-1]
		var d event.ErrorData
		if err := json.Unmarshal(last.Data, &d); err != nil || last.Type != event.Error || last.Seq != f.After+1 || d.Code != c.code {
			t.Errorf("%s %s after %d", last.Type, last.Data, f.After)
		}
		if strings.Contains(d.Message, "10.0.0.1") {
			t.Errorf("the cause is shown: %s", d.Message)
		}
		if st.Status != event.StatusDone || st.Err != nil {
			t.Errorf("the message came to %s %+v", st.Status, st.Err)
		}
	}
	// A block left open is ended, and a time is kept.
	f, err := r.runner.Follow(t.Context(), turn.FollowRequest{Owner: alice, Msg: s.Msg, Wait: time.Second, Timeout: 20 * time.Millisecond}, func(ctx context.Context, f *turn.Follow) error {
		if _, err := f.Out(ctx, "x", nil, nil).Start("chart", 1, block.Meta{}); err != nil {
			return err
		}
		<-ctx.Done()
		return ctx.Err()
	})
	if err != nil {
		t.Fatal(err)
	}
	evs, st := r.wait(s)
	if got := types(evs[f.After:]); got != "block_start block_error error" {
		t.Errorf("%s", got)
	}
	if b := st.Blocks[len(st.Blocks)-1]; b.Status != block.StatusError {
		t.Errorf("%+v", b)
	}
}

// TestFollowWaits expects a second follow-up to wait for the first or be
// refused, and one of a running or foreign message to be refused.
func TestFollowWaits(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "Hello."}, step{text: "on and on", hold: true})
	s, _, _ := r.ask("hi")
	held, release := make(chan struct{}), make(chan struct{})
	r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		close(held)
		<-release
		return f.Out(ctx, "x", nil, nil).Code(block.Code{Lang: "go", Source: "1"})
	})
	<-held
	refused := func(what string, req turn.FollowRequest, code string) {
		t.Helper()
		_, err := r.runner.Follow(t.Context(), req, func(context.Context, *turn.Follow) error { return nil })
		var te *turn.Error
		if !errors.As(err, &te) || te.Code != code {
			t.Errorf("%s: %v, want %s", what, err, code)
		}
	}
	refused("while another runs", turn.FollowRequest{Owner: alice, Msg: s.Msg, Wait: 30 * time.Millisecond}, turn.CodeTurnRunning)
	time.AfterFunc(30*time.Millisecond, func() { close(release) })
	second := r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		return f.Out(ctx, "x", nil, nil).Code(block.Code{Lang: "go", Source: "2"})
	})
	if _, st := r.wait(s); text(st) != "Hello.|<code done>|<code done>" || st.Group != 3 {
		t.Errorf("%s after %d", text(st), second.After)
	}
	running := r.start(turn.Request{Text: "talk", Conversation: s.Conversation})
	refused("while the turn runs", turn.FollowRequest{Owner: alice, Msg: running.Msg, Wait: 30 * time.Millisecond}, turn.CodeTurnRunning)
	refused("foreign", turn.FollowRequest{Owner: store.Owner{Tenant: "t1", User: "bob"}, Msg: s.Msg}, turn.CodeNotFound)
	refused("unknown", turn.FollowRequest{Owner: alice, Msg: "m_none"}, turn.CodeNotFound)
	refused("a question", turn.FollowRequest{Owner: alice, Msg: s.User}, turn.CodeInvalidRequest)
	// Whoever was told about an unknown message has not made its log.
	if _, _, err := r.store.Last(t.Context(), "m_none"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("%v", err)
	}
}

// registered is a resolver that knows one action.
type registered struct{}

func (registered) Resolve(ctx context.Context, a block.Action, blockType string) (block.Action, error) {
	if a.ID != "submit" || blockType != "chart" {
		return a, errors.New("there is no such action")
	}
	a.Kind, a.Action, a.Label = block.ActionAPI, "submit_"+tool.CallerFrom(ctx).User, "Submit"
	return a, nil
}

// TestActionsAreResolved expects what was registered to be completed, what was
// not to be left out, and the model to be told.
func TestActionsAreResolved(t *testing.T) {
	all := []block.Action{
		{ID: "submit"}, {ID: "rm", Kind: block.ActionAPI, Label: "Remove"},
		{ID: "why", Kind: block.ActionPrompt, Label: "Why?"}, {ID: "copy", Kind: block.ActionLocal, Label: "Copy"},
		{ID: "docs", Kind: block.ActionLink, Href: "https://docs.example.com/"}, {ID: "bad", Kind: block.ActionLink, Href: "javascript:alert(1)"},
	}
	show := chartTool(t, "show_sales", func(_ context.Context, _ quarter, out *tool.Out) error {
		out.Actions(all...)
		return out.Chart(sales("East"))
	})
	for _, c := range []struct {
		name string
		with turn.Actions
		want string
		told []string
	}{
		{"with a registry", registered{}, "submit/submit_alice/Submit why//Why? copy//Copy docs//", []string{`"rm": there is no such action`, `"bad": its link is not https`}},
		{"without", nil, "why//Why? copy//Copy docs//", []string{`"submit": it is not registered`, `"rm"`, `"bad"`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newRig(t, turn.Config{Actions: c.with}, []tool.Tool{show}, sales3(), step{text: "There."})
			_, _, st := r.ask("sales?")
			var got []string
			for _, a := range st.Blocks[0].Actions {
				got = append(got, a.ID+"/"+a.Action+"/"+a.Label)
			}
			if strings.Join(got, " ") != c.want {
				t.Errorf("%v, want %s", got, c.want)
			}
			for _, want := range c.told {
				if !strings.Contains(strings.Join(r.lastTold(), "\n"), want) {
					t.Errorf("the model was told %q, not %q", r.lastTold(), want)
				}
			}
		})
	}
}

// TestFollowLeavesNothingToRetry expects a block that a stopped follow-up did
// not finish to be offered for no retry: no tool made it.
func TestFollowLeavesNothingToRetry(t *testing.T) {
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)}, sales3(), step{text: "East leads."})
	s, _, _ := r.ask("sales?")
	opened := make(chan struct{})
	r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		if _, err := f.Out(ctx, "export", nil, nil).Start("file", 1, block.Meta{}); err != nil {
			t.Error(err)
		}
		close(opened)
		<-ctx.Done()
		return context.Cause(ctx)
	})
	<-opened
	if _, err := r.runner.Stop(t.Context(), alice, s.Msg); err != nil {
		t.Fatal(err)
	}
	_, st := r.wait(s)
	b := st.Blocks[len(st.Blocks)-1]
	if b.Type != "file" || b.Err == nil || b.Err.Code != block.CodeCancelled || b.Err.Retryable {
		t.Errorf("%+v, %+v", b, b.Err)
	}
}
