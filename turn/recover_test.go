package turn_test

import (
	"context"
	"path/filepath"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// TestRecover leaves logs and records as a crash may leave them and expects
// every message to have an end, in its log and in its record.
func TestRecover(t *testing.T) {
	r := newRig(t, turn.Config{}, []tool.Tool{okTool(t)})
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx := t.Context()
	now := time.Now()
	// begin stores a turn that another process, now dead, had begun.
	begin := func(name string, write func(s *emit.Stream)) string {
		msg := "m_" + name
		lease, _, err := r.store.Acquire(ctx, msg, "dead-instance", time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		b := store.BeginTurn{
			Owner:        alice,
			Conversation: store.Conversation{ID: "c_" + name, Owner: alice, Title: name, CreatedAt: now, UpdatedAt: now, Leaf: msg},
			User:         &store.Message{ID: "u_" + name, Conversation: "c_" + name, Owner: alice, Role: store.RoleUser, CreatedAt: now, Status: event.StatusDone},
			Assistant:    store.Message{ID: msg, Conversation: "c_" + name, Owner: alice, Role: store.RoleAssistant, Parent: "u_" + name, CreatedAt: now, Status: event.StatusRunning},
		}
		if err := r.store.Begin(ctx, b); err != nil {
			t.Fatal(err)
		}
		if write != nil {
			s := emit.New(ctx, emit.Config{Log: r.store, Lease: lease, Registry: reg})
			write(s)
			if _, err := s.Close(); err != nil {
				t.Fatal(err)
			}
		}
		return msg
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	empty := begin("empty", nil)
	half := begin("text", func(s *emit.Stream) {
		must(s.Start(event.StartData{ConversationID: "c_text"}))
		must(s.Text("half an ans"))
	})
	open := begin("open", func(s *emit.Stream) {
		must(s.Start(event.StartData{ConversationID: "c_open"}))
		must(s.Text("Look: "))
		_, err := s.Open(emit.Opening{Type: "chart"})
		must(err)
	})
	ended := begin("ended", func(s *emit.Stream) {
		must(s.Start(event.StartData{ConversationID: "c_ended"}))
		must(s.Text("whole"))
		_, err := s.Settle(ctx, block.Error{})
		must(err)
		must(s.Done(event.DoneData{FinishReason: event.FinishStop}))
	})
	recorded := begin("recorded", func(s *emit.Stream) {
		must(s.Start(event.StartData{ConversationID: "c_recorded"}))
		must(s.Text("whole"))
		st, err := s.Settle(ctx, block.Error{})
		must(err)
		m, err := r.store.Message(ctx, alice, "m_recorded")
		must(err)
		m.Status, m.FinishReason, m.Blocks, m.Seq = event.StatusDone, event.FinishStop, st.Blocks, st.Seq+1
		must(r.store.PutMessage(ctx, m))
	})
	// An acquired lease without anything else.
	if _, _, err := r.store.Acquire(ctx, "m_nothing", "dead-instance", time.Millisecond); err != nil {
		t.Fatal(err)
	}
	time.Sleep(20 * time.Millisecond)
	if _, err := r.runner.Recover(ctx); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		msg    string
		status event.Status
		code   string
		blocks string
	}{
		{empty, event.StatusError, turn.CodeInterrupted, ""},
		{half, event.StatusError, turn.CodeInterrupted, "half an ans"},
		{open, event.StatusError, turn.CodeInterrupted, "Look: |<chart error>"},
		{ended, event.StatusDone, "", "whole"},
		{recorded, event.StatusDone, "", "whole"},
	} {
		_, st := r.wait(turn.Started{Msg: c.msg})
		m, err := r.store.Message(ctx, alice, c.msg)
		must(err)
		if st.Status != c.status || m.Status != c.status {
			t.Errorf("%s: log %s, record %s, want %s", c.msg, st.Status, m.Status, c.status)
		}
		if c.code != "" && (st.Err == nil || st.Err.Code != c.code || !st.Err.Retryable || m.Err == nil) {
			t.Errorf("%s: error %+v", c.msg, st.Err)
		}
		if got := text(st); got != c.blocks || text(event.State{Blocks: m.Blocks}) != c.blocks {
			t.Errorf("%s: %q, recorded %q, want %q", c.msg, got, text(event.State{Blocks: m.Blocks}), c.blocks)
		}
		conv, err := r.store.Conversation(ctx, alice, "c_"+c.msg[2:])
		if err != nil || conv.Running != "" {
			t.Errorf("%s: its conversation still runs %q (%v)", c.msg, conv.Running, err)
		}
	}
	if n, err := r.runner.Recover(ctx); n != 0 || err != nil {
		t.Errorf("a second recovery ended %d (%v)", n, err)
	}
}

// TestShutdownEndsTurns expects running turns to be ended with their reason.
func TestShutdownEndsTurns(t *testing.T) {
	r := newRig(t, turn.Config{}, nil, step{text: "on and on", hold: true})
	s := r.start(turn.Request{Text: "talk"})
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := r.runner.Shutdown(ctx); err != nil {
		t.Fatal(err)
	}
	_, st := r.wait(s)
	if st.Err == nil || st.Err.Code != turn.CodeInterrupted || text(st) != "on and on" {
		t.Errorf("%+v %q", st.Err, text(st))
	}
	if _, err := r.runner.Start(t.Context(), turn.Request{Owner: alice, Text: "more"}); err == nil {
		t.Error("a turn began after the shutdown")
	}
}

// TestReopenedStoreRecovers is the same through the file: a store opened again
// knows that the process before it is gone.
func TestReopenedStoreRecovers(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlay.db")
	st, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	lease, _, err := st.Acquire(t.Context(), "m_1", "before", time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	data := []byte(`{"conversationId":"c_1","ts":1}`)
	if err := st.Append(t.Context(), lease, event.Event{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: data}); err != nil {
		t.Fatal(err)
	}
	if err := st.Close(); err != nil {
		t.Fatal(err)
	}
	if st, err = sqlite.Open(t.Context(), sqlite.Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	open, err := st.Unfinished(t.Context())
	if err != nil || len(open) != 1 || open[0] != "m_1" {
		t.Errorf("unfinished %v (%v)", open, err)
	}
}
