package server

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/wiretest"
)

// seed stores a message as if a turn had written its log, and returns its
// conversation.
func (r *rig) seed(events []event.Event) (conversation string) {
	r.t.Helper()
	conversation, write := r.begin(events[0].Msg)
	write(events)
	return conversation
}

// begin stores a message whose log is still to be written, by calls of write.
func (r *rig) begin(msg string) (conversation string, write func([]event.Event)) {
	r.t.Helper()
	ctx, owner, now := r.t.Context(), store.Owner{Tenant: "t1", User: r.user}, time.Now()
	conversation = "c_of_" + msg
	user := store.Message{ID: "u_of_" + msg, Conversation: conversation, Owner: owner, Role: store.RoleUser, CreatedAt: now, Status: event.StatusDone}
	m := store.Message{ID: msg, Conversation: conversation, Owner: owner, Role: store.RoleAssistant, Parent: user.ID, CreatedAt: now, Status: event.StatusRunning}
	must := func(err error) {
		r.t.Helper()
		if err != nil {
			r.t.Fatal(err)
		}
	}
	must(r.store.Begin(ctx, store.BeginTurn{
		Owner: owner, User: &user, Assistant: m,
		Conversation: store.Conversation{ID: conversation, Owner: owner, Title: "Sample", CreatedAt: now, UpdatedAt: now},
	}))
	f := event.NewFolder(msg)
	var lease store.Lease
	return conversation, func(events []event.Event) {
		r.t.Helper()
		for _, ev := range events {
			if ev.Group != lease.Group {
				var err error
				lease, _, err = r.store.Acquire(ctx, msg, "test", time.Minute)
				must(err)
			}
			must(r.store.Append(ctx, lease, ev))
			f.Apply(ev)
			if ev.Type.Terminal() {
				must(r.store.Release(ctx, lease))
			}
		}
		if st := f.State(); !st.Open {
			m.Blocks, m.Seq, m.Status, m.FinishReason = st.Blocks, st.Seq, st.Status, st.FinishReason
			m.Usage, m.Err, m.Tools, m.Reasoning, m.Model = st.Usage, st.Err, st.Tools, st.Reasoning, st.Start.Model
			must(r.store.PutMessage(ctx, m))
		}
	}
}

// registryOf makes a server's registry hold further types.
func registryOf(t testing.TB, types ...block.Type) func(*Config) {
	t.Helper()
	reg, err := block.NewRegistry(append(block.Builtins(), types...)...)
	if err != nil {
		t.Fatal(err)
	}
	return func(c *Config) { c.Registry = reg }
}

// all is the declaration of a client that draws every type of a registry.
func all(reg *block.Registry) string {
	var tokens []string
	for _, token := range reg.All().Tokens {
		tokens = append(tokens, token.String())
	}
	return strings.Join(tokens, ",")
}

func sampleType(name string) block.Type {
	return block.Type{
		Name: name, Version: 1, Class: block.ClassDisplay, Source: block.SourceApp, Schema: json.RawMessage(`{}`), Description: "A sample type.",
		Fallback: func(json.RawMessage) string { return "sample of " + name },
	}
}

// askUBP asks as a client of the UI Block Protocol does.
func (r *rig) askUBP(query, text string, headers ...string) *stream {
	r.t.Helper()
	return r.stream(r.request("POST", "/v1/chat/stream"+query, map[string]any{"input": map[string]string{"text": text}}, headers...))
}

// ubpEvent is an event as such a client reads it.
type ubpEvent struct {
	id   string
	Type string          `json:"type"`
	Data json.RawMessage `json:"data"`
}

func (r *rig) ubpEvents(s *stream) (events []ubpEvent) {
	r.t.Helper()
	for {
		id, name, data, ok := s.frame()
		if !ok {
			return events
		}
		if name != "" {
			r.t.Errorf("a frame has the event name %s", name)
		}
		if data == "" {
			continue // nothing but its id
		}
		e := ubpEvent{id: id}
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			r.t.Fatalf("%v: %s", err, data)
		}
		events = append(events, e)
	}
}

// TestBlockProtocolBytes holds one stream to the protocol's shapes, byte for
// byte: every type of event that it knows, blocks between pieces of prose, a
// block that changes under its id, a vendor's members as they came.
func TestBlockProtocolBytes(t *testing.T) {
	r := newRig(t, registryOf(t, sampleType("acme.tools.bridge_quote")))
	const quote = `{"type":"acme.tools.bridge_quote","version":1,"payload":{"rate":"1.02"},"fallback":"Rate 1.02"`
	group := 1
	var events []event.Event
	for i, row := range [][3]string{
		{"start", "", `{"conversationId":"c_1","ts":1736000000000,"userMessageId":"u_1","model":{"kind":"scripted","name":"test-1"}}`},
		{"reasoning_delta", "", `{"delta":"not for this protocol"}`},
		{"text_delta", "b_1", `{"delta":"Two ways \u003c \"here\"."}`},
		{"text_end", "b_1", `{}`},
		{"tool_call_start", "", `{"toolCallId":"call_1","name":"bridge","title":"Looked up rates"}`},
		{"sub_tool_start", "", `{"toolCallId":"call_1.1","name":"venue"}`},
		{"sub_tool_end", "", `{"toolCallId":"call_1.1","name":"venue","status":"error","durationMs":7}`},
		{"tool_call_end", "", `{"toolCallId":"call_1","name":"bridge","status":"ok","durationMs":12}`},
		{"block_start", "b_2", `{"type":"acme.tools.bridge_quote","version":1,"meta":{"title":"not in this protocol"}}`},
		{"text_delta", "b_3", `{"delta":"While it loads."}`},
		{"text_end", "b_3", `{}`},
		{"block_end", "b_2", quote + `,"actions":[{"id":"more","label":"More","kind":"prompt","prompt":"More"}],"meta":{"position":"inline","source":"sample","vendor":{"acme/theme":{"dark":[1,2.50,null]},"minara/outputTemplate":"ui://quote","minara/reason":"sample"}}}`},
		{"text_delta", "b_4", `{"delta":"After it."}`},
		{"text_end", "b_4", `{}`},
		{"block_end", "b_5", quote + `,"meta":{"position":"after_text","producer":"recommender"}}`},
		{"block_state", "b_2", `{"state":{"picked":1},"rev":2}`},
		{"block_end", "b_6", `{"type":"question","version":1,"payload":{"prompt":"Which?"},"fallback":"Which?"}`},
		{"pending_question_start", "b_6", `{"questionId":"b_6","prompt":"Which?"}`},
		{"done", "", `{"finishReason":"paused","usage":{"inputTokens":1,"outputTokens":2}}`},
		{"pending_question_end", "b_6", `{"questionId":"b_6","status":"answered"}`},
		{"error", "", `{"code":"model_timeout","message":"No answer in time.","retryable":true}`},
	} {
		e := event.Event{Seq: uint64(i + 1), At: int64(i), Group: group, Type: event.Type(row[0]), Msg: "m_bytes", Block: row[1], Data: json.RawMessage(row[2])}
		if e.Type.Terminal() {
			group++
		}
		events = append(events, e)
	}
	r.seed(events)
	const block2 = `"id":"b_2","namespace":"acme.tools","block_type":"bridge_quote","version":"1.0.0","data":{"rate":"1.02"},"position":"inline","_meta":{"acme/theme":{"dark":[1,2.50,null]},"inlay/actions":[{"id":"more","label":"More","kind":"prompt","prompt":"More"}],"inlay/fallback":"Rate 1.02",`
	var want strings.Builder
	for i, data := range []string{
		`{"type":"start","data":{"ts":1736000000000,"session_id":"c_1","supported_blocks":[{"namespace":"acme.tools","block_type":"bridge_quote","version":1},{"namespace":"inlay","block_type":"question","version":1}],"rejected_capabilities":["Acme.x@1"]}}`,
		"",
		`{"type":"text_delta","data":{"text":"Two ways < \"here\"."}}`,
		"",
		`{"type":"tool_call_start","data":{"toolCallId":"call_1","name":"bridge","title":"Looked up rates"}}`,
		`{"type":"sub_tool_start","data":{"toolCallId":"call_1.1","name":"venue"}}`,
		`{"type":"sub_tool_end","data":{"toolCallId":"call_1.1","name":"venue","status":"error","durationMs":7}}`,
		`{"type":"tool_call_end","data":{"toolCallId":"call_1","name":"bridge","status":"ok","durationMs":12}}`,
		"",
		`{"type":"text_delta","data":{"text":"\n\nWhile it loads."}}`,
		"",
		`{"type":"ui_block","data":{` + block2 + `"minara/outputTemplate":"ui://quote","minara/reason":"sample"}}}`,
		`{"type":"text_delta","data":{"text":"After it."}}`,
		"",
		`{"type":"ui_block","data":{"id":"b_5","namespace":"acme.tools","block_type":"bridge_quote","version":"1.0.0","data":{"rate":"1.02"},"position":"after_text","_meta":{"inlay/fallback":"Rate 1.02","minara/source":"recommender"}}}`,
		`{"type":"ui_block","data":{` + block2 + `"inlay/state":{"picked":1},"minara/outputTemplate":"ui://quote","minara/reason":"sample"}}}`,
		`{"type":"ui_block","data":{"id":"b_6","namespace":"inlay","block_type":"question","version":"1.0.0","data":{"prompt":"Which?"},"_meta":{"inlay/fallback":"Which?"}}}`,
		`{"type":"pending_question_start","data":{"questionId":"b_6","prompt":"Which?"}}`,
		`{"type":"done","data":{"finishReason":"paused","usage":{"inputTokens":1,"outputTokens":2}}}`,
		`{"type":"pending_question_end","data":{"questionId":"b_6","status":"answered"}}`,
		`{"type":"error","data":{"code":"model_timeout","message":"No answer in time.","retryable":true}}`,
	} {
		fmt.Fprintf(&want, "id: %d\n", i+1)
		if data != "" {
			want.WriteString("data: " + data + "\n")
		}
		want.WriteString("\n")
	}
	const query = "?dialect=ubp&capabilities=inlay.question@1,acme.tools.bridge_quote@1,acme.other@1,Acme.x@1"
	if got := r.rest(r.stream(r.request("GET", "/v1/messages/m_bytes/events"+query, nil))); got != want.String() {
		t.Errorf("got\n%s\nwant\n%s", got, want.String())
	}
}

// TestBlockProtocolOfEveryLog reads the golden logs over HTTP, whole and after
// each of their events.
func TestBlockProtocolOfEveryLog(t *testing.T) {
	r := newRig(t, registryOf(t, sampleType("app.product_card")))
	reg, err := block.NewRegistry(append(block.Builtins(), sampleType("app.product_card"))...)
	if err != nil {
		t.Fatal(err)
	}
	cuts := 0
	for name, events := range wiretest.Logs(t, "../testdata/logs") {
		old := events[0].Msg
		rename := func(b []byte) []byte { return []byte(strings.ReplaceAll(string(b), old, "m_"+name)) }
		for i := range events {
			events[i].Msg, events[i].Data = "m_"+name, rename(events[i].Data)
		}
		r.seed(events)
		for reader, caps := range map[string]string{"whole": all(reg), "text": ""} {
			golden, err := os.ReadFile(filepath.Join("../wire/ubp/testdata/golden", name+"."+reader+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			want := string(rename(golden))
			path := "/v1/messages/" + url.PathEscape("m_"+name) + "/events?dialect=ubp&capabilities=" + caps
			if got := r.rest(r.stream(r.request("GET", path, nil))); got != want {
				t.Errorf("%s as %s: got\n%s\nwant\n%s", name, reader, got, want)
				continue
			}
			frames := strings.SplitAfter(want, "\n\n")
			frames = frames[:len(frames)-1]
			for n := 1; n < len(frames); n++ {
				if len(frames) > 40 && n%7 > 0 {
					continue // its frames are alike
				}
				cuts++
				res := r.request("GET", path, nil, "Last-Event-ID", strconv.Itoa(n))
				if got := r.rest(r.stream(res)); strings.Join(frames[:n], "")+got != want {
					t.Fatalf("%s as %s: cut after %d and resumed differs", name, reader, n)
				}
			}
			if res := r.request("GET", path+"&after="+strconv.Itoa(len(frames)), nil); res.StatusCode != http.StatusNoContent {
				t.Errorf("%s: after the end: %d", name, res.StatusCode)
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// TestBlockProtocol is a whole turn as a client of the protocol sees it.
func TestBlockProtocol(t *testing.T) {
	r := newRig(t)
	const query = "?capabilities=minara.feature_recommendation@1,inlay.chart@1,acme.tools.bridge_quote@2"
	s := r.askUBP(query, "chart please")
	events := r.ubpEvents(s)
	var types []string
	for _, e := range events {
		types = append(types, e.Type)
	}
	if got, want := strings.Join(slices.Compact(types), " "), "start text_delta tool_call_start ui_block tool_call_end text_delta done"; got != want {
		t.Fatalf("events %s, want %s", got, want)
	}
	var start struct {
		TS        int64            `json:"ts"`
		SessionID string           `json:"session_id"`
		Supported []map[string]any `json:"supported_blocks"`
		Rejected  []string         `json:"rejected_capabilities"`
	}
	if err := json.Unmarshal(events[0].Data, &start); err != nil {
		t.Fatal(err)
	}
	// acme's type is well-formed and not registered: it falls out silently.
	if start.SessionID != s.conversation() || time.Since(time.UnixMilli(start.TS)).Abs() > time.Minute || start.Rejected != nil ||
		fmt.Sprint(start.Supported) != "[map[block_type:chart namespace:inlay version:1] map[block_type:feature_recommendation namespace:minara version:1]]" {
		t.Errorf("start %s", events[0].Data)
	}
	whole := s.raw.String()
	// Resumed after any event it goes on as if it had not been cut off.
	path := "/v1/messages/" + s.msg() + "/events" + query + "&dialect=ubp"
	frames := strings.SplitAfter(whole, "\n\n")
	frames = frames[:len(frames)-1]
	for n := 1; n < len(frames); n++ {
		for _, got := range []*http.Response{
			r.request("GET", path+"&after="+strconv.Itoa(n), nil), r.request("GET", path, nil, "Last-Event-ID", strconv.Itoa(n)),
		} {
			if strings.Join(frames[:n], "")+r.rest(r.stream(got)) != whole {
				t.Fatalf("cut after %d and resumed differs", n)
			}
		}
	}
	if res := r.request("GET", path+"&after="+strconv.Itoa(len(frames)), nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("after the last event: %d", res.StatusCode)
	}

	// The session goes on, by either name.
	for _, body := range []map[string]any{
		{"session_id": s.conversation()}, {"conversationId": s.conversation()}, {"session_id": s.conversation(), "conversationId": s.conversation()},
	} {
		r.settled(s.msg())
		body["input"] = map[string]string{"text": "and now?"}
		next := r.stream(r.request("POST", "/chat/stream"+query, body))
		r.rest(next)
		if next.conversation() != s.conversation() {
			t.Errorf("conversation %s, want %s", next.conversation(), s.conversation())
		}
		s = next
	}
}

// A block of a type that the client did not declare is prose to it, and the
// model knows.
func TestBlockProtocolWithoutDeclaration(t *testing.T) {
	r := newRig(t)
	for _, query := range []string{"", "?capabilities=", "?capabilities=inlay.table@1", "?capabilities=inlay.chart@2"} {
		s := r.askUBP(query, "chart please")
		text := ""
		for _, e := range r.ubpEvents(s) {
			switch e.Type {
			case "start":
				if has := strings.Contains(string(e.Data), `"supported_blocks":[]`); has == strings.Contains(query, "table") {
					t.Errorf("%q: start %s", query, e.Data)
				}
			case "ui_block":
				t.Errorf("%q: block %s", query, e.Data)
			case "text_delta":
				var d struct{ Text string }
				if err := json.Unmarshal(e.Data, &d); err != nil {
					t.Fatal(err)
				}
				text += d.Text
			}
		}
		if !strings.Contains(text, "Here you are:\n\nSales") || !strings.HasSuffix(text, "\n\nEast leads.") {
			t.Errorf("%q: prose %q", query, text)
		}
	}
}

func TestBlockProtocolCapabilities(t *testing.T) {
	r := newRig(t)
	many := make([]string, 0, block.MaxTokens+1)
	for i := range block.MaxTokens {
		many = append(many, fmt.Sprintf("acme.t%d@1", i))
	}
	long := strings.Repeat("a", block.MaxTokenSegment+1)
	for _, c := range []struct {
		name, query string
		headers     []string
		supported   string
		rejected    []string
	}{
		{"whole names only", "?capabilities=chart@1,inlay.table@1", nil, "table", []string{"chart@1"}},
		{"no blanks", "?capabilities=inlay.chart@1,%20inlay.table@1", nil, "chart", []string{" inlay.table@1"}},
		{"a malformed one takes none down", "?capabilities=Inlay.chart@1,inlay.chart@01,inlay..chart@1,inlay.chart@1@1,inlay.chart@0,inlay.table@1", nil, "table",
			[]string{"Inlay.chart@1", "inlay.chart@01", "inlay..chart@1", "inlay.chart@1@1", "inlay.chart@0"}},
		{"the parameter may come twice", "?capabilities=inlay.chart@1&capabilities=inlay.table@1", nil, "chart table", nil},
		{"of two majors the common one", "?capabilities=inlay.chart@1,inlay.chart@7", nil, "chart", nil},
		{"as many as there may be", "?capabilities=" + strings.Join(many[1:], ",") + ",inlay.chart@1", nil, "chart", nil},
		{"one more is none", "?capabilities=" + strings.Join(many, ",") + ",inlay.chart@1", nil, "", []string{"inlay.chart@1"}},
		{"a segment that is too long", "?capabilities=acme." + long + "@1,inlay.chart@1", nil, "chart", []string{"acme." + long + "@1"}},
		{"a major that is too large", "?capabilities=inlay.chart@2147483648,inlay.chart@2147483647", nil, "", []string{"inlay.chart@2147483648"}},
		{"what cannot be decoded takes nothing down", "?capabilities=inlay.chart@1,inlay.table@1%zz", nil, "chart", []string{"inlay.table@1%zz"}},
		{"nor does a semicolon", "?x=1;y&capabilities=inlay.table@1,inlay.chart@1;inlay.list@1", nil, "table", []string{"inlay.chart@1;inlay.list@1"}},
		{"an escaped name", "?c%61pabilities=inlay.table%401", nil, "table", nil},
		{"the header where there is no parameter", "", []string{"X-Blocks", "chart@1, inlay.table@1"}, "chart table", nil},
		{"the parameter before the header", "?capabilities=inlay.table@1", []string{"X-Blocks", "chart@1"}, "table", nil},
		{"an empty parameter before the header", "?capabilities=", []string{"X-Blocks", "chart@1"}, "", nil},
	} {
		var start struct {
			Supported []struct {
				Name string `json:"block_type"`
			} `json:"supported_blocks"`
			Rejected []string `json:"rejected_capabilities"`
		}
		events := r.ubpEvents(r.askUBP(c.query, "hello", c.headers...))
		if err := json.Unmarshal(events[0].Data, &start); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, s := range start.Supported {
			names = append(names, s.Name)
		}
		if got := strings.Join(names, " "); got != c.supported || !slices.Equal(start.Rejected, c.rejected) {
			t.Errorf("%s: supported %q, rejected %q", c.name, got, start.Rejected)
		}
	}

	strict := newRig(t, func(c *Config) { c.StrictCapabilities = true })
	body := map[string]any{"input": map[string]string{"text": "hello"}}
	for _, query := range []string{"?capabilities=chart@1", "?capabilities=inlay.chart@1,Bad", "?capabilities=" + strings.Join(many, ",") + ",acme.more@1"} {
		d := strict.refused(400, "invalid_capability_token", "POST", "/v1/chat/stream"+query, body)
		if list, _ := d["rejected"].([]any); len(list) != 1 {
			t.Errorf("%.60s: details %v", query, d)
		}
		if path := "/v1/messages/m_none/events"; query == "?capabilities=chart@1" {
			strict.refused(400, "invalid_capability_token", "GET", path+query+"&dialect=ubp", nil)
			strict.refused(404, "not_found", "GET", path+query, nil) // our own dialect knows short names
		}
	}
	if list := want[struct{ Items []any }](strict, 200, "GET", "/v1/conversations", nil); len(list.Items) > 0 {
		t.Error("a refused request began a conversation")
	}
	strict.rest(strict.askUBP("?capabilities=inlay.chart@1,acme.unheard_of@3", "hello"))
	// The parameter is the declaration here, and the header is none.
	strict.rest(strict.askUBP("?capabilities=inlay.chart@1", "hello", "X-Blocks", "BAD"))
}

func TestBlockProtocolRefuses(t *testing.T) {
	r := newRig(t)
	s := r.askUBP("", "hello")
	r.rest(s)
	input := map[string]string{"text": "hello"}
	const path = "/v1/chat/stream"
	if d := r.refused(400, "invalid_request", "POST", path, map[string]any{"input": input, "session_id": s.conversation(), "conversationId": "c_other"}); d["field"] != "session_id" {
		t.Errorf("details %v", d)
	}
	r.refused(400, "invalid_request", "POST", path, map[string]any{"messages": []any{}, "session_id": s.conversation()})
	if d := r.refused(400, "unknown_field", "POST", path, map[string]any{"input": input, "sessionid": "c_1"}); d["nearest"] != "session_id" {
		t.Errorf("details %v", d)
	}
	// It is a name of this protocol, not of ours.
	r.refused(400, "unknown_field", "POST", "/v1/chat", map[string]any{"input": input, "session_id": s.conversation()})
	r.refused(400, "invalid_request", "POST", path, map[string]any{})
	r.refused(415, "unsupported_media_type", "POST", path, "hello", "Content-Type", "text/plain")

	// What belongs to another is not there.
	bob := r.as("bob")
	bob.refused(404, "not_found", "POST", path, map[string]any{"input": input, "session_id": s.conversation()})
	bob.refused(404, "not_found", "GET", "/v1/messages/"+s.msg()+"/events?dialect=ubp", nil)
	bob.refused(404, "not_found", "POST", path, map[string]any{"session_id": s.conversation(), "regenerateOf": s.msg()})
	r.as("").refused(401, "unauthorized", "POST", path, map[string]any{"input": input})
	r.refused(400, "invalid_request", "GET", "/v1/messages/"+s.msg()+"/events?dialect=morse", nil)
}

// The same key joins the turn that it began, in whichever dialect it is asked
// again.
func TestBlockProtocolIdempotencyKey(t *testing.T) {
	r := newRig(t)
	const query = "?capabilities=inlay.chart@1"
	s := r.askUBP(query, "chart please", "Idempotency-Key", "ubp-1")
	r.rest(s)
	again := r.askUBP(query, "chart please", "Idempotency-Key", "ubp-1")
	if r.rest(again); again.raw.String() != s.raw.String() || again.msg() != s.msg() || again.conversation() != s.conversation() {
		t.Errorf("joined %s of %s:\n%s\nwant %s\n%s", again.msg(), again.conversation(), again.raw.String(), s.msg(), s.raw.String())
	}
	own := r.ask("", "chart please", "Idempotency-Key", "ubp-1")
	if st := r.fold(own); own.msg() != s.msg() || st.Status != event.StatusDone {
		t.Errorf("in our own dialect: %s, %s", own.msg(), summary(st))
	}
	r.refused(422, "idempotency_conflict", "POST", "/v1/chat/stream", map[string]any{"input": map[string]string{"text": "other"}}, "Idempotency-Key", "ubp-1")
	// session_id and conversationId are one thing.
	body := map[string]any{"input": map[string]string{"text": "on"}, "session_id": s.conversation()}
	r.settled(s.msg())
	on := r.stream(r.request("POST", "/v1/chat/stream", body, "Idempotency-Key", "ubp-2"))
	r.rest(on)
	same := map[string]any{"input": map[string]string{"text": "on"}, "conversationId": s.conversation()}
	if joined := r.stream(r.request("POST", "/v1/chat/stream", same, "Idempotency-Key", "ubp-2")); joined.msg() != on.msg() {
		t.Errorf("joined %s, want %s", joined.msg(), on.msg())
	}
}

// A block that fails is prose; run again it is a block, and refreshed it comes
// again under its id.
func TestBlockProtocolFollowUps(t *testing.T) {
	r := newRig(t)
	const query = "?capabilities=inlay.chart@1"
	s := r.askUBP(query, "fail")
	for _, e := range r.ubpEvents(s) {
		if e.Type == "ui_block" {
			t.Errorf("a failed block is %s", e.Data)
		}
	}
	m := r.settled(s.msg())
	id := m.Blocks[1].ID
	for _, what := range []string{"retry", "refresh"} {
		path := "/v1/chat/blocks/" + id + "/" + what
		again := r.stream(r.request("POST", path+query+"&dialect=ubp", nil))
		var blocks []string
		events := r.ubpEvents(again)
		for _, e := range events {
			if e.Type == "ui_block" {
				blocks = append(blocks, string(e.Data))
			}
		}
		if len(blocks) != 1 || !strings.HasPrefix(blocks[0], `{"id":"`+id+`","namespace":"inlay","block_type":"chart",`) || events[len(events)-1].Type != "done" {
			t.Errorf("%s: blocks %s of\n%s", what, blocks, again.raw.String())
		}
		r.settled(s.msg())
	}
	r.refused(400, "invalid_request", "POST", "/v1/chat/blocks/"+id+"/refresh?dialect=morse", nil)
	// A client that draws no charts gets prose of this stream, too.
	other := r.stream(r.request("POST", "/v1/chat/blocks/"+id+"/refresh?dialect=ubp", nil))
	if text := r.rest(other); strings.Contains(text, "ui_block") {
		t.Errorf("undeclared:\n%s", text)
	}
}

// TestNothingHiddenIsServed is TestReadersGetNothingOfBlocksTheyCannotDraw over
// HTTP: every way to read a message honours the declaration of the request.
func TestNothingHiddenIsServed(t *testing.T) {
	reg, err := block.NewRegistry(append(block.Builtins(), leakTypes()...)...)
	if err != nil {
		t.Fatal(err)
	}
	r := newRig(t, func(c *Config) { c.Registry = reg })
	generate := rapid.Custom(marked)
	created := regexp.MustCompile(`event: message_created\ndata: .*assistant.*\n`)
	reads := 0
	for n := range 12 {
		events := generate.Example(n)
		rename := fmt.Sprint("m_leak", n)
		for i := range events {
			events[i].Msg = rename
		}
		if last := events[len(events)-1]; !last.Type.Terminal() {
			continue // its readers would wait
		}
		conversation := r.seed(events)
		random := rand.New(rand.NewPCG(uint64(n), 1))
		for range 4 {
			var tokens []string
			for _, token := range leakTokens {
				if random.IntN(3) == 0 {
					tokens = append(tokens, token)
				}
			}
			v := wire.View{Registry: reg, Caps: reg.Negotiate(strings.Join(tokens, ","), false)}
			query := "capabilities=" + strings.Join(tokens, ",")
			after := strconv.Itoa(random.IntN(len(events)))
			read := func(path string, headers ...string) string {
				t.Helper()
				reads++
				res := r.request("GET", path, nil, headers...)
				if res.StatusCode != http.StatusOK {
					t.Fatalf("GET %s: %d", path, res.StatusCode)
				}
				return string(r.body(res))
			}
			for _, v.Dialect = range dialectNames() {
				ok := allowed(t, v, renamed(events, "m_1"))
				path := "/v1/messages/" + rename + "/events?dialect=" + v.Dialect + "&" + query
				held(t, v.Dialect, ok, read(path))
				held(t, v.Dialect+" resumed", ok, read(path+"&after="+after))
			}
			v.Dialect = "cards"
			held(t, "the full state", allowed(t, v, renamed(events, "m_1")), read("/v1/messages/"+rename+"/cards?"+query))
			v.Dialect = "native"
			ok := allowed(t, v, renamed(events, "m_1"))
			held(t, "the message", ok, read("/v1/messages/"+rename+"?"+query))
			held(t, "the message", ok, read("/v1/messages/"+rename, "X-Blocks", strings.Join(tokens, ",")))
			held(t, "the conversation", ok, read("/v1/conversations/"+conversation+"/messages?"+query))
			held(t, "the export", ok, read("/v1/conversations/"+conversation+"/export?format=json&"+query))
			feed := r.stream(r.request("GET", "/v1/conversations/"+conversation+"/events?"+query, nil))
			for !created.MatchString(feed.raw.String()) {
				if _, _, _, more := feed.frame(); !more {
					t.Fatalf("the feed ended:\n%s", feed.raw.String())
				}
			}
			feed.res.Body.Close()
			held(t, "the feed", ok, feed.raw.String())
		}
	}
	if reads < 100 {
		t.Errorf("only %d reads", reads)
	}
}

// renamed returns events as those of another message.
func renamed(events []event.Event, msg string) []event.Event {
	out := slices.Clone(events)
	for i := range out {
		out[i].Msg = msg
	}
	return out
}
