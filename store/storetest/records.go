package storetest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

func testBegin(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	c, err := s.Conversation(ctx, alice, "c_1")
	must(t, err)
	if c.Running != b.Assistant.ID || c.Leaf != b.Assistant.ID || c.Title != "Sample" || c.Owner != alice ||
		c.CreatedAt.IsZero() || c.UpdatedAt.IsZero() {
		t.Fatalf("conversation %+v", c)
	}
	m, err := s.Message(ctx, alice, b.Assistant.ID)
	must(t, err)
	if m.Status != event.StatusRunning || m.Conversation != "c_1" || m.Parent != b.User.ID || m.Owner != alice || m.CreatedAt.IsZero() {
		t.Fatalf("assistant message %+v", m)
	}
	q, err := s.Message(ctx, alice, b.User.ID)
	must(t, err)
	if q.Role != store.RoleUser || len(q.Blocks) != 1 || string(q.Blocks[0].Payload) != `"question"` {
		t.Fatalf("user message %+v", q)
	}
	finish(t, s, b, "answer")
	c, err = s.Conversation(ctx, alice, "c_1")
	must(t, err)
	if c.Running != "" {
		t.Fatal("the turn still runs")
	}
	// The next turn, and one that answers the first question anew.
	next := turn(alice, "c_1", b.Assistant.ID, "and then?")
	must(t, s.Begin(ctx, next))
	finish(t, s, next, "then")
	again := store.BeginTurn{Owner: alice, Conversation: store.Conversation{ID: "c_1"},
		Assistant: store.Message{ID: id.New("m"), Role: store.RoleAssistant, Parent: b.User.ID, Status: event.StatusRunning}}
	must(t, s.Begin(ctx, again))
	c, err = s.Conversation(ctx, alice, "c_1")
	must(t, err)
	if c.Leaf != again.Assistant.ID || c.Title != "Sample" {
		t.Fatalf("conversation %+v", c)
	}
	want(t, s.PutMessage(ctx, store.Message{ID: "m_none", Owner: alice, Status: event.StatusDone}), store.ErrNotFound)
}

func testTitleOfFirstQuestion(t *testing.T, s store.Store) {
	ctx := t.Context()
	for title, want := range map[string]string{"": "question", "Chosen": "Chosen"} {
		id := "c_" + title
		must(t, s.CreateConversation(ctx, store.Conversation{ID: id, Owner: alice, Title: title}))
		b := turn(alice, id, "", "question")
		b.Conversation.Title = "question"
		must(t, s.Begin(ctx, b))
		c, err := s.Conversation(ctx, alice, id)
		if err != nil || c.Title != want {
			t.Errorf("a conversation titled %q is called %q after its first turn, want %q (%v)", title, c.Title, want, err)
		}
	}
	found, _, err := s.Conversations(ctx, alice, store.ListOptions{Query: "question"})
	if err != nil || len(found) != 2 {
		t.Errorf("%d conversations found by their question (%v)", len(found), err)
	}
}

func testOneTurn(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	err := s.Begin(ctx, turn(alice, "c_1", "", "too soon"))
	want(t, err, store.ErrConflict)
	var running *store.RunningError
	if !errors.As(err, &running) || running.Msg != b.Assistant.ID {
		t.Fatalf("error %v, want the running message", err)
	}
	// What a running turn stores meanwhile does not end it.
	m := b.Assistant
	m.Owner, m.Status = alice, event.StatusRunning
	must(t, s.PutMessage(ctx, m))
	want(t, s.Begin(ctx, turn(alice, "c_1", "", "still too soon")), store.ErrConflict)
	m.Status = event.StatusPaused
	must(t, s.PutMessage(ctx, m))
	must(t, s.Begin(ctx, turn(alice, "c_1", "", "now")))
}

func testIdempotency(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	b.IdempotencyKey, b.Fingerprint = "key-1", "print-1"
	must(t, s.Begin(ctx, b))
	check := func(o store.Owner, conversation, fingerprint string, same bool) {
		t.Helper()
		again := turn(o, conversation, "", "question")
		again.IdempotencyKey, again.Fingerprint = "key-1", fingerprint
		err := s.Begin(ctx, again)
		want(t, err, store.ErrConflict)
		var replay *store.ReplayError
		if !errors.As(err, &replay) {
			t.Fatalf("error %v, want a replay", err)
		}
		if *replay != (store.ReplayError{Msg: b.Assistant.ID, User: b.User.ID, Conversation: "c_1", Same: same}) {
			t.Fatalf("replay %+v", replay)
		}
	}
	check(alice, "c_1", "print-1", true) // known before running
	check(alice, "c_other", "print-1", true)
	check(alice, "c_1", "print-2", false)
	finish(t, s, b, "answer")
	check(alice, "c_1", "print-1", true)
	// Keys are an owner's own.
	other := turn(bob, "c_2", "", "question")
	other.IdempotencyKey, other.Fingerprint = "key-1", "print-1"
	must(t, s.Begin(ctx, other))
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	fresh := turn(alice, "c_3", "", "question")
	fresh.IdempotencyKey = "key-1"
	must(t, s.Begin(ctx, fresh))
}

func testBeginAtomic(t *testing.T, s store.Store) {
	ctx := t.Context()
	first := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, first))
	for name, spoil := range map[string]func(*store.BeginTurn){
		"known assistant id": func(b *store.BeginTurn) { b.Assistant.ID = first.Assistant.ID },
		"known user id":      func(b *store.BeginTurn) { b.User.ID = first.User.ID },
		"parent elsewhere":   func(b *store.BeginTurn) { b.User.Parent = first.Assistant.ID },
	} {
		b := turn(alice, "c_2", "", "question")
		b.IdempotencyKey = "key"
		spoil(&b)
		if err := s.Begin(ctx, b); !errors.Is(err, store.ErrConflict) && !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: error %v", name, err)
		}
		_, err := s.Conversation(ctx, alice, "c_2")
		want(t, err, store.ErrNotFound)
	}
	b := turn(alice, "c_2", "", "question")
	b.IdempotencyKey = "key"
	must(t, s.Begin(ctx, b))
}

func testPutOrder(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	finish(t, s, b, "answer") // seq 5
	m := b.Assistant
	m.Owner, m.Status, m.Seq = alice, event.StatusDone, 4
	want(t, s.PutMessage(ctx, m), store.ErrConflict)
	got, err := s.Message(ctx, alice, m.ID)
	must(t, err)
	if got.Seq != 5 || len(got.Blocks) != 1 {
		t.Fatalf("message %+v", got)
	}
}

func testMessageRoundTrip(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	b.Assistant.CreatedAt = time.Date(2026, 1, 2, 3, 4, 5, 6789, time.FixedZone("", 3600))
	must(t, s.Begin(ctx, b))
	m := b.Assistant
	m.Owner, m.Conversation = alice, "c_1"
	m.CreatedAt = m.CreatedAt.UTC()
	m.Status, m.Seq, m.FinishReason = event.StatusError, 17, event.FinishStop
	m.Usage = event.Usage{InputTokens: 12, OutputTokens: 34, CostUSD: 0.5}
	m.Err = &event.ErrorData{Code: "turn_failed", Message: "no", Retryable: true}
	m.Model = &event.Model{Kind: "scripted", Name: "demo"}
	m.Exchange = json.RawMessage(`[{"role":"assistant"}]`)
	m.Reasoning = "hmm"
	m.Tools = []event.ToolActivity{{ID: "call_1", Name: "look", Title: "Look", Status: event.ToolOK, DurationMs: 7}}
	m.Blocks = []block.Block{
		textBlock("Umsätze 売上 销售"),
		{ID: "b_2", Type: "chart", Version: 1, Status: block.StatusDone, Rev: 2, Payload: json.RawMessage(`{"a":[1,2.50]}`),
			Fallback: "a chart", State: json.RawMessage(`{"on":true}`), Meta: &block.Meta{Title: "Chart", Vendor: map[string]json.RawMessage{"acme/x": json.RawMessage(`1`)}},
			Actions: []block.Action{{ID: "go", Label: "Go", Kind: block.ActionPrompt}}},
		{ID: "b_3", Type: "query", Version: 1, Status: block.StatusError, Rev: 1, Err: &block.Error{Code: block.CodeToolTimeout, Message: "late"}},
	}
	must(t, s.PutMessage(ctx, m))
	got, err := s.Message(ctx, alice, m.ID)
	must(t, err)
	m.Siblings = []string{m.ID}
	if !reflect.DeepEqual(got, m) {
		t.Fatalf("message\n%+v, want\n%+v", got, m)
	}
	m.Siblings = nil
	if got, err = s.MessageOf(ctx, m.ID); err != nil || !reflect.DeepEqual(got, m) {
		t.Fatalf("message\n%+v, want\n%+v (%v)", got, m, err)
	}
}

func testRunningMessages(t *testing.T, s store.Store) {
	ctx := t.Context()
	a, b := turn(alice, "c_1", "", "question"), turn(bob, "c_2", "", "question")
	must(t, s.Begin(ctx, a))
	must(t, s.Begin(ctx, b))
	list, err := s.RunningMessages(ctx)
	must(t, err)
	if len(list) != 2 || list[0].ID != a.Assistant.ID || list[0].Owner != alice || list[1].ID != b.Assistant.ID {
		t.Fatalf("running: %+v", list)
	}
	finish(t, s, a, "answer")
	if list, err = s.RunningMessages(ctx); err != nil || len(list) != 1 || list[0].Owner != bob {
		t.Fatalf("running: %+v, %v", list, err)
	}
	_, err = s.MessageOf(ctx, "m_none")
	want(t, err, store.ErrNotFound)
}

func ids(ms []store.Message) []string {
	var list []string
	for _, m := range ms {
		list = append(list, m.ID)
	}
	return list
}

func testTree(t *testing.T, s store.Store) {
	ctx := t.Context()
	q1 := turn(alice, "c_1", "", "first")
	must(t, s.Begin(ctx, q1))
	finish(t, s, q1, "a")
	// Two more answers to the first question, then a question below the second.
	var answers = []string{q1.Assistant.ID}
	for range 2 {
		b := store.BeginTurn{Owner: alice, Conversation: store.Conversation{ID: "c_1"},
			Assistant: store.Message{ID: id.New("m"), Role: store.RoleAssistant, Parent: q1.User.ID, Status: event.StatusRunning}}
		must(t, s.Begin(ctx, b))
		finish(t, s, b, "a")
		answers = append(answers, b.Assistant.ID)
	}
	q2 := turn(alice, "c_1", answers[1], "second")
	must(t, s.Begin(ctx, q2))
	finish(t, s, q2, "b")
	// The first question in other words.
	edited := turn(alice, "c_1", "", "first, edited")
	must(t, s.Begin(ctx, edited))
	finish(t, s, edited, "c")

	path, err := s.Path(ctx, alice, "c_1", "")
	must(t, err)
	if got, want := ids(path), []string{edited.User.ID, edited.Assistant.ID}; !slices.Equal(got, want) {
		t.Fatalf("path %v, want %v", got, want)
	}
	if roots := []string{q1.User.ID, edited.User.ID}; !slices.Equal(path[0].Siblings, roots) {
		t.Fatalf("siblings %v, want %v", path[0].Siblings, roots)
	}
	path, err = s.Path(ctx, alice, "c_1", q2.Assistant.ID)
	must(t, err)
	if got, want := ids(path), []string{q1.User.ID, answers[1], q2.User.ID, q2.Assistant.ID}; !slices.Equal(got, want) {
		t.Fatalf("path %v, want %v", got, want)
	}
	if !slices.Equal(path[1].Siblings, answers) || !slices.Equal(path[3].Siblings, []string{q2.Assistant.ID}) {
		t.Fatalf("siblings %v and %v", path[1].Siblings, path[3].Siblings)
	}
	if string(path[3].Blocks[0].Payload) != `"b"` {
		t.Fatalf("the path's messages are not whole: %+v", path[3])
	}
	for from, newest := range map[string]string{
		q1.User.ID: q2.Assistant.ID, answers[0]: answers[0], answers[1]: q2.Assistant.ID,
		edited.User.ID: edited.Assistant.ID, edited.Assistant.ID: edited.Assistant.ID,
	} {
		if got, err := s.Newest(ctx, alice, "c_1", from); err != nil || got != newest {
			t.Errorf("newest of the branch of %s is %s, want %s (%v)", from, got, newest, err)
		}
	}
	_, err = s.Newest(ctx, alice, "c_1", "m_none")
	want(t, err, store.ErrNotFound)
	must(t, s.SetLeaf(ctx, alice, "c_1", answers[2]))
	path, err = s.Path(ctx, alice, "c_1", "")
	must(t, err)
	if got, want := ids(path), []string{q1.User.ID, answers[2]}; !slices.Equal(got, want) {
		t.Fatalf("path %v, want %v", got, want)
	}
	want(t, s.SetLeaf(ctx, alice, "c_1", "m_none"), store.ErrNotFound)
	_, err = s.Path(ctx, alice, "c_1", "m_none")
	want(t, err, store.ErrNotFound)
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_2", Owner: alice}))
	if path, err = s.Path(ctx, alice, "c_2", ""); err != nil || len(path) != 0 {
		t.Fatalf("path of an empty conversation: %v, %v", path, err)
	}
	want(t, s.SetLeaf(ctx, alice, "c_2", answers[0]), store.ErrNotFound)
}

func testConversations(t *testing.T, s store.Store) {
	ctx := t.Context()
	at := time.Now().Add(-time.Hour)
	for i := range 3 {
		must(t, s.CreateConversation(ctx, store.Conversation{ID: fmt.Sprint("c_", i), Owner: alice, Title: fmt.Sprint("No ", i), CreatedAt: at.Add(time.Duration(i) * time.Minute)}))
	}
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_hidden", Owner: alice, Hidden: true}))
	want(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: alice}), store.ErrConflict)
	titles := func() []string {
		t.Helper()
		list, next, err := s.Conversations(ctx, alice, store.ListOptions{})
		must(t, err)
		if next != "" {
			t.Fatalf("next page %q", next)
		}
		var titles []string
		for _, c := range list {
			titles = append(titles, c.Title)
		}
		return titles
	}
	if got := titles(); !slices.Equal(got, []string{"No 2", "No 1", "No 0"}) {
		t.Fatalf("conversations %v", got)
	}
	// A new name leaves the place, a turn moves to the top.
	c, err := s.RenameConversation(ctx, alice, "c_1", "Renamed")
	must(t, err)
	if c.Title != "Renamed" || !c.CreatedAt.Equal(at.Add(time.Minute)) {
		t.Fatalf("renamed %+v", c)
	}
	must(t, s.Begin(ctx, turn(alice, "c_0", "", "question")))
	if got := titles(); !slices.Equal(got, []string{"No 0", "No 2", "Renamed"}) {
		t.Fatalf("conversations %v", got)
	}
	if _, err := s.Conversation(ctx, alice, "c_hidden"); err != nil {
		t.Fatal(err)
	}
	_, err = s.RenameConversation(ctx, alice, "c_none", "x")
	want(t, err, store.ErrNotFound)
}

func testPaging(t *testing.T, s store.Store) {
	ctx := t.Context()
	at := time.Now().Add(-time.Hour)
	for i := range 25 {
		// Several share a time.
		must(t, s.CreateConversation(ctx, store.Conversation{ID: fmt.Sprint("c_", i), Owner: alice, Title: "page", CreatedAt: at.Add(time.Duration(i/4) * time.Minute)}))
	}
	for _, query := range []string{"", "PAGE"} {
		seen := map[string]bool{}
		var last time.Time
		opt := store.ListOptions{Limit: 7, Query: query}
		for page := 0; ; page++ {
			list, next, err := s.Conversations(ctx, alice, opt)
			must(t, err)
			for _, c := range list {
				if seen[c.ID] || !last.IsZero() && c.UpdatedAt.After(last) {
					t.Fatalf("page %d: %s again or out of order", page, c.ID)
				}
				seen[c.ID], last = true, c.UpdatedAt
			}
			if opt.Cursor = next; next == "" {
				break
			}
			if len(list) != 7 {
				t.Fatalf("page %d has %d", page, len(list))
			}
		}
		if len(seen) != 25 {
			t.Fatalf("%d of 25 listed", len(seen))
		}
	}
	if _, _, err := s.Conversations(ctx, alice, store.ListOptions{Cursor: "no cursor"}); err == nil {
		t.Fatal("a broken cursor is taken")
	}
}

func testSearch(t *testing.T, s store.Store) {
	ctx := t.Context()
	add := func(o store.Owner, conversation, title, question, answer string) store.BeginTurn {
		b := turn(o, conversation, "", question)
		b.Conversation.Title = title
		must(t, s.Begin(ctx, b))
		finish(t, s, b, answer)
		return b
	}
	add(alice, "c_en", "Quarterly REVENUE", "How did the east do?", `It grew by 12% ("strong").`)
	zh := add(alice, "c_zh", "华东区销售额", "各地区的收入如何？", "第三季度华北地区领先，東京は二位。")
	add(alice, "c_de", "Umsätze", "Größe?", "Ein Überblick über München")
	add(bob, "c_bob", "Quarterly revenue", "secret of bob", "华北地区")
	find := func(query string, expect ...string) {
		t.Helper()
		list, _, err := s.Conversations(ctx, alice, store.ListOptions{Query: query})
		must(t, err)
		var got []string
		for _, c := range list {
			got = append(got, c.ID)
		}
		slices.Sort(got)
		slices.Sort(expect)
		if !slices.Equal(got, expect) {
			t.Errorf("search %q: %v, want %v", query, got, expect)
		}
	}
	find("revenue", "c_en")
	find("quarterly revenue", "c_en")
	find("quarterly east") // not in one place
	find("EAST how", "c_en")
	find("12%", "c_en")
	find("1_%")
	find(`"strong"`, "c_en")
	find("销售", "c_zh")   // two characters, in a title
	find("华北", "c_zh")   // two, in a text
	find("区", "c_zh")    // one
	find("华北地区", "c_zh") // four
	find("第三季度 东京")      // not the same characters
	find("第三季度 東京", "c_zh")
	find("第三季度 东京は")
	find("ÜBERBLICK", "c_de")
	find("münchen über", "c_de")
	find("OR NOT")
	find("secret")
	find("  ", "c_en", "c_zh", "c_de")
	// What is no longer there is not found.
	m := zh.Assistant
	m.Owner, m.Status, m.Seq, m.Blocks = alice, event.StatusDone, 9, []block.Block{{ID: "b_1", Type: "chart", Version: 1,
		Status: block.StatusDone, Payload: json.RawMessage(`{"x":"payload words"}`), Fallback: "Umsatz je Region", Meta: &block.Meta{Title: "图表标题"}}}
	must(t, s.PutMessage(ctx, m))
	find("华北地区")
	find("图表标题", "c_zh")
	find("je region", "c_zh")
	must(t, s.DeleteConversation(ctx, alice, "c_de"))
	find("münchen")
}

func testCalls(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	call := store.BlockCall{Block: "b_1", Message: b.Assistant.ID, Conversation: "c_1", Owner: alice, Tool: "sales",
		Arguments: json.RawMessage(`{"region":"east"}`), ToolCallID: "t_1"}
	must(t, s.PutBlockCall(ctx, call))
	got, err := s.BlockCall(ctx, alice, "b_1")
	must(t, err)
	if !reflect.DeepEqual(got, call) {
		t.Fatalf("call %+v, want %+v", got, call)
	}
	call.Arguments, call.ToolCallID = json.RawMessage(`{"region":"west"}`), "t_2"
	must(t, s.PutBlockCall(ctx, call))
	if got, err = s.BlockCall(ctx, alice, "b_1"); err != nil || !reflect.DeepEqual(got, call) {
		t.Fatalf("call %+v, want %+v (%v)", got, call, err)
	}
	_, err = s.BlockCall(ctx, alice, "b_none")
	want(t, err, store.ErrNotFound)
	call.Message = "m_none"
	want(t, s.PutBlockCall(ctx, call), store.ErrNotFound)
	call.Message = b.User.ID
	want(t, s.PutBlockCall(ctx, call), store.ErrConflict)

	_, err = s.Trajectory(ctx, alice, b.Assistant.ID)
	want(t, err, store.ErrNotFound)
	for _, doc := range []string{`{"steps":[]}`, `{"steps":[1]}`} {
		must(t, s.PutTrajectory(ctx, alice, b.Assistant.ID, json.RawMessage(doc)))
		got, err := s.Trajectory(ctx, alice, b.Assistant.ID)
		must(t, err)
		if string(got) != doc {
			t.Fatalf("trajectory %s, want %s", got, doc)
		}
	}
	want(t, s.PutTrajectory(ctx, alice, "m_none", json.RawMessage(`{}`)), store.ErrNotFound)
}

func testOwners(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	finish(t, s, b, "answer")
	msg := b.Assistant.ID
	must(t, s.PutBlockCall(ctx, store.BlockCall{Block: "b_1", Message: msg, Owner: alice, Tool: "x"}))
	must(t, s.PutTrajectory(ctx, alice, msg, json.RawMessage(`{}`)))
	for _, o := range []store.Owner{bob, eve, {}} {
		for name, call := range map[string]func() error{
			"Begin": func() error { return s.Begin(ctx, turn(o, "c_1", "", "mine now")) },
			"PutMessage": func() error {
				return s.PutMessage(ctx, store.Message{ID: msg, Owner: o, Status: event.StatusDone, Seq: 99})
			},
			"Conversation":       func() error { _, err := s.Conversation(ctx, o, "c_1"); return err },
			"RenameConversation": func() error { _, err := s.RenameConversation(ctx, o, "c_1", "x"); return err },
			"SetLeaf":            func() error { return s.SetLeaf(ctx, o, "c_1", b.User.ID) },
			"DeleteConversation": func() error { return s.DeleteConversation(ctx, o, "c_1") },
			"Message":            func() error { _, err := s.Message(ctx, o, msg); return err },
			"Path":               func() error { _, err := s.Path(ctx, o, "c_1", ""); return err },
			"FeedCursor":         func() error { _, err := s.FeedCursor(ctx, o, "c_1"); return err },
			"Newest":             func() error { _, err := s.Newest(ctx, o, "c_1", b.Assistant.ID); return err },
			"PutBlockCall": func() error {
				return s.PutBlockCall(ctx, store.BlockCall{Block: "b_1", Message: msg, Owner: o, Tool: "y"})
			},
			"BlockCall":     func() error { _, err := s.BlockCall(ctx, o, "b_1"); return err },
			"PutTrajectory": func() error { return s.PutTrajectory(ctx, o, msg, json.RawMessage(`1`)) },
			"Trajectory":    func() error { _, err := s.Trajectory(ctx, o, msg); return err },
			"Feed":          func() error { return failure(s.Feed(ctx, o, "c_1", 0)) },
		} {
			if err := call(); !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of %+v: error %v, want %v", name, o, err, store.ErrNotFound)
			}
		}
		list, _, err := s.Conversations(ctx, o, store.ListOptions{})
		must(t, err)
		found, _, err := s.Conversations(ctx, o, store.ListOptions{Query: "answer"})
		must(t, err)
		if len(list)+len(found) != 0 {
			t.Errorf("%+v sees %v, %v", o, list, found)
		}
	}
	c, err := s.Conversation(ctx, alice, "c_1")
	must(t, err)
	m, err := s.Message(ctx, alice, msg)
	must(t, err)
	if c.Title != "Sample" || c.Leaf != msg || m.Seq != 5 {
		t.Fatalf("changed: %+v, %+v", c, m)
	}
}

func testDelete(t *testing.T, s store.Store) {
	ctx := t.Context()
	b, other := turn(alice, "c_1", "", "question"), turn(alice, "c_2", "", "question")
	for _, b := range []store.BeginTurn{b, other} {
		must(t, s.Begin(ctx, b))
		write(t, s, b.Assistant.ID, 5)
		finish(t, s, b, "answer")
		must(t, s.PutBlockCall(ctx, store.BlockCall{Block: "b_" + b.Conversation.ID, Message: b.Assistant.ID, Owner: alice}))
		must(t, s.PutTrajectory(ctx, alice, b.Assistant.ID, json.RawMessage(`{}`)))
	}
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	for name, call := range map[string]func(store.BeginTurn) error{
		"Conversation": func(b store.BeginTurn) error { _, err := s.Conversation(ctx, alice, b.Conversation.ID); return err },
		"Message":      func(b store.BeginTurn) error { _, err := s.Message(ctx, alice, b.Assistant.ID); return err },
		"question":     func(b store.BeginTurn) error { _, err := s.Message(ctx, alice, b.User.ID); return err },
		"MessageOf":    func(b store.BeginTurn) error { _, err := s.MessageOf(ctx, b.Assistant.ID); return err },
		"Path":         func(b store.BeginTurn) error { _, err := s.Path(ctx, alice, b.Conversation.ID, ""); return err },
		"BlockCall":    func(b store.BeginTurn) error { _, err := s.BlockCall(ctx, alice, "b_"+b.Conversation.ID); return err },
		"Trajectory":   func(b store.BeginTurn) error { _, err := s.Trajectory(ctx, alice, b.Assistant.ID); return err },
		"Read":         func(b store.BeginTurn) error { return failure(s.Read(ctx, b.Assistant.ID, 0)) },
		"Tail":         func(b store.BeginTurn) error { return failure(s.Tail(ctx, b.Assistant.ID, 0)) },
		"Last":         func(b store.BeginTurn) error { _, _, err := s.Last(ctx, b.Assistant.ID); return err },
	} {
		if err := call(b); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of the deleted: error %v, want %v", name, err, store.ErrNotFound)
		}
		if err := call(other); err != nil {
			t.Errorf("%s of the other: %v", name, err)
		}
	}
	want(t, s.DeleteConversation(ctx, alice, "c_1"), store.ErrNotFound)
	want(t, failure(s.Feed(ctx, alice, "c_1", 0)), store.ErrNotFound)
}

func testDeleteRunning(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	msg := b.Assistant.ID
	lease := acquire(t, s, msg)
	must(t, s.Append(ctx, lease, delta(msg, 1, 1)))
	first, end := make(chan struct{}), make(chan error, 1)
	go func() {
		var failed error
		for _, err := range s.Tail(ctx, msg, 0) {
			if err == nil {
				close(first)
			}
			failed = err
		}
		end <- failed
	}()
	recvClosed(t, first)
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	want(t, recv(t, end), store.ErrNotFound)
	want(t, s.Append(ctx, lease, delta(msg, 1, 2)), store.ErrStaleLease)
	want(t, s.Renew(ctx, lease, ttl), store.ErrStaleLease)
	must(t, s.Release(ctx, lease))
	if got, err := s.Unfinished(ctx); err != nil || len(got) != 0 {
		t.Fatalf("Unfinished = %v, %v", got, err)
	}
}

// testDeleteWhileWritten expects a writer that loses its lease to a deletion to
// find the message gone at once: that is how it tells it from another owner.
func testDeleteWhileWritten(t *testing.T, s store.Store) {
	ctx := t.Context()
	for i := range 15 {
		b := turn(alice, fmt.Sprintf("c_%d", i), "", "question")
		must(t, s.Begin(ctx, b))
		msg := b.Assistant.ID
		lease := acquire(t, s, msg)
		deleted := make(chan error, 1)
		go func() { deleted <- s.DeleteConversation(ctx, alice, b.Conversation.ID) }()
		var err error
		for seq := uint64(1); err == nil; seq++ {
			err = s.Append(ctx, lease, delta(msg, 1, seq))
		}
		want(t, err, store.ErrStaleLease)
		_, err = s.MessageOf(ctx, msg)
		want(t, err, store.ErrNotFound)
		must(t, <-deleted)
	}
}

func feedTypes(events []store.FeedEvent) []string {
	var list []string
	for _, e := range events {
		var d store.FeedData
		if err := json.Unmarshal(e.Data, &d); err != nil {
			list = append(list, err.Error())
		}
		list = append(list, e.Type+" "+d.ID+d.MsgID)
	}
	return list
}

// feedNow reads what a feed has.
func feedNow(t *testing.T, s store.Store, after uint64) []store.FeedEvent {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
	defer cancel()
	return collect(t, s.Feed(ctx, alice, "c_1", after))
}

func testFeed(t *testing.T, s store.Store) {
	ctx := t.Context()
	b := turn(alice, "c_1", "", "question")
	must(t, s.Begin(ctx, b))
	must(t, s.Begin(ctx, turn(alice, "c_2", "", "elsewhere")))
	finish(t, s, b, "answer")
	_, err := s.RenameConversation(ctx, alice, "c_1", "x")
	must(t, err)
	must(t, s.SetLeaf(ctx, alice, "c_1", b.User.ID))
	events := feedNow(t, s, 0)
	msg := b.Assistant.ID
	expect := []string{
		"conversation_updated c_1", "message_created " + b.User.ID, "message_created " + msg, "turn_started " + msg,
		"conversation_updated c_1", "message_updated " + msg, "conversation_updated c_1",
		"conversation_updated c_1", "conversation_updated c_1",
	}
	if got := feedTypes(events); !slices.Equal(got, expect) {
		t.Fatalf("feed\n%v, want\n%v", got, expect)
	}
	if last, err := s.FeedCursor(ctx, alice, "c_1"); err != nil || last != events[len(events)-1].Cursor {
		t.Fatalf("the last cursor is %d, want %d (%v)", last, events[len(events)-1].Cursor, err)
	}
	var d store.FeedData
	must(t, json.Unmarshal(events[5].Data, &d))
	if d.Seq != 5 || d.Status != event.StatusDone {
		t.Fatalf("message_updated %+v", d)
	}
	for i, e := range events {
		if i > 0 && e.Cursor <= events[i-1].Cursor {
			t.Fatalf("cursor %d after %d", e.Cursor, events[i-1].Cursor)
		}
	}
	if got := feedTypes(feedNow(t, s, events[3].Cursor)); !slices.Equal(got, expect[4:]) {
		t.Fatalf("feed from the fourth on\n%v, want\n%v", got, expect[4:])
	}
}

func testFeedLive(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: alice}))
	events := make(chan store.FeedEvent)
	go func() {
		defer close(events)
		for e, err := range s.Feed(ctx, alice, "c_1", 0) {
			if err != nil {
				t.Error(err)
				return
			}
			events <- e
		}
	}()
	recv(t, events)
	var last uint64
	for i := range 120 {
		_, err := s.RenameConversation(ctx, alice, "c_1", fmt.Sprint("title ", i))
		must(t, err)
		e := recv(t, events)
		if e.Type != store.FeedConversationUpdated || e.Cursor <= last {
			t.Fatalf("event %+v after cursor %d", e, last)
		}
		last = e.Cursor
	}
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	if e := recv(t, events); e.Type != store.FeedConversationDeleted || e.Cursor <= last {
		t.Fatalf("event %+v, want the end", e)
	}
	if _, ok := <-events; ok {
		t.Fatal("the feed goes on")
	}
}

func testClosed(t *testing.T, s store.Store) {
	ctx := t.Context()
	must(t, s.Ping(ctx))
	lease := acquire(t, s, "m_1")
	end := make(chan error, 1)
	go func() { end <- failure(s.Tail(ctx, "m_1", 0)) }()
	time.Sleep(5 * time.Millisecond)
	must(t, s.Close())
	want(t, recv(t, end), store.ErrClosed)
	want(t, s.Append(ctx, lease, delta("m_1", 1, 1)), store.ErrClosed)
	want(t, s.Ping(ctx), store.ErrClosed)
	want(t, failure(s.Read(ctx, "m_1", 0)), store.ErrClosed)
	_, err := s.Conversation(ctx, alice, "c_1")
	want(t, err, store.ErrClosed)
	must(t, s.Close())
}
