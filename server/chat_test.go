package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store/sqlite"
)

// summary is what two folds of one message must agree on.
func summary(st event.State) string {
	var out []string
	for _, b := range st.Blocks {
		var payload bytes.Buffer
		_ = json.Compact(&payload, b.Payload)
		out = append(out, fmt.Sprintf("%s %s %s %s", b.ID, b.Type, b.Status, payload.String()))
	}
	return fmt.Sprintf("%s %s\n%s", st.Status, st.FinishReason, strings.Join(out, "\n"))
}

func summaryOf(m messageBody) string {
	return summary(event.State{Status: m.Status, FinishReason: m.FinishReason, Blocks: m.Blocks})
}

// eventually waits for a record that is written after the stream's end.
func (r *rig) settled(msg string) messageBody {
	r.t.Helper()
	for range 200 {
		m := want[messageBody](r, 200, "GET", "/v1/messages/"+msg, nil)
		if c := want[conversationBody](r, 200, "GET", "/v1/conversations/"+m.ConversationID, nil); c.Running == "" && m.Status != event.StatusRunning {
			return m
		}
		time.Sleep(10 * time.Millisecond)
	}
	r.t.Fatal("the message did not settle")
	return messageBody{}
}

func TestChat(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "chart please")
	isID := regexp.MustCompile(`^[mc]_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`).MatchString
	if !isID(s.msg()) || !isID(s.conversation()) || !isID(s.userMsg()) || s.msg()[0] != 'm' || s.conversation()[0] != 'c' {
		t.Errorf("ids in headers: %q %q %q", s.msg(), s.conversation(), s.userMsg())
	}
	st := r.fold(s)
	if st.Status != event.StatusDone || st.FinishReason != event.FinishStop || len(st.Blocks) != 3 || st.Blocks[1].Type != "chart" {
		t.Fatalf("folded %s", summary(st))
	}
	if !strings.HasPrefix(s.raw.String(), "id: 1\nevent: start\ndata: {\"v\":1,") {
		t.Errorf("first frame: %.200s", s.raw.String())
	}
	m := r.settled(s.msg())
	if summaryOf(m) != summary(st) || m.Seq != st.Seq {
		t.Errorf("stored\n%s\nlive\n%s", summaryOf(m), summary(st))
	}
	if m.Usage == nil || m.Model == nil || m.Model.Name != "test-1" || m.ParentID != s.userMsg() {
		t.Errorf("message %+v", m)
	}
	u := want[messageBody](r, 200, "GET", "/v1/messages/"+s.userMsg(), nil)
	if u.Role != "user" || len(u.Blocks) != 1 || string(u.Blocks[0].Payload) != `"chart please"` {
		t.Errorf("user message %+v", u)
	}
	// A second question of the same conversation.
	s2 := r.ask(s.conversation(), "and now?")
	r.rest(s2)
	if s2.conversation() != s.conversation() {
		t.Errorf("conversation %s, want %s", s2.conversation(), s.conversation())
	}
	path := want[struct {
		Items []messageBody
		Leaf  string
	}](r, 200, "GET", "/v1/conversations/"+s.conversation()+"/messages", nil)
	if len(path.Items) != 4 || path.Leaf != s2.msg() || path.Items[1].ID != s.msg() {
		t.Errorf("path of %d messages, leaf %s", len(path.Items), path.Leaf)
	}
	// How it came about can be read.
	r.settled(s2.msg())
	doc := want[map[string]any](r, 200, "GET", "/v1/messages/"+s.msg()+"/trajectory", nil)
	if len(doc) == 0 {
		t.Error("empty trajectory")
	}
}

func TestChatOnDisk(t *testing.T) {
	st, err := sqlite.Open(t.Context(), sqlite.Options{Path: filepath.Join(t.TempDir(), "test.db")})
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOn(t, st)
	s := r.ask("", "chart please")
	live := r.fold(s)
	if m := r.settled(s.msg()); summaryOf(m) != summary(live) {
		t.Errorf("stored\n%s\nlive\n%s", summaryOf(m), summary(live))
	}
	again := r.stream(r.request("GET", "/v1/messages/"+s.msg()+"/events", nil))
	if got := r.rest(again); got != s.raw.String() {
		t.Error("the replay differs from the live stream")
	}
}

// A reader that was cut off anywhere and reads on gets the same bytes as one
// that was not, whatever it can draw.
func TestResumeAtEverySeq(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "chart please")
	r.rest(s)
	r.settled(s.msg())
	path := "/v1/messages/" + s.msg() + "/events"
	for name, headers := range map[string][]string{
		"undeclared": nil, "draws charts": {"X-Blocks", "chart@1"}, "draws nothing": {"X-Blocks", ""},
	} {
		whole := r.rest(r.stream(r.request("GET", path, nil, headers...)))
		if headers == nil && whole != s.raw.String() {
			t.Errorf("%s: the replay differs from the live stream", name)
		}
		frames := strings.SplitAfter(whole, "\n\n")
		frames = frames[:len(frames)-1]
		for n := 1; n < len(frames); n++ {
			head := strings.Join(frames[:n], "")
			res := r.request("GET", path+"?after="+strconv.Itoa(n), nil, headers...)
			if got := head + r.rest(r.stream(res)); got != whole {
				t.Fatalf("%s: cut after %d and resumed differs", name, n)
			}
			res = r.request("GET", path, nil, append(headers, "Last-Event-ID", strconv.Itoa(n))...)
			if got := head + r.rest(r.stream(res)); got != whole {
				t.Fatalf("%s: Last-Event-ID %d differs", name, n)
			}
		}
		res := r.request("GET", path+"?after="+strconv.Itoa(len(frames)), nil, headers...)
		if b := r.body(res); res.StatusCode != http.StatusNoContent || len(b) != 0 {
			t.Errorf("%s: after the last event: %d", name, res.StatusCode)
		}
	}
	if res := r.request("GET", path+"?after=1", nil, "Last-Event-ID", "100000"); res.StatusCode != http.StatusNoContent {
		t.Errorf("the header must win over the parameter: %d", res.StatusCode)
	}
	if res := r.request("GET", "/v1/messages/"+s.userMsg()+"/events", nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("events of a user message: %d, want 204", res.StatusCode)
	}
	r.refused(400, "invalid_request", "GET", path+"?after=-1", nil)
	r.refused(400, "invalid_request", "GET", path+"?after=x", nil)
	r.refused(400, "invalid_request", "GET", path, nil, "Last-Event-ID", "1e3")
	r.refused(400, "invalid_request", "GET", path+"?dialect=morse", nil)
	if res := r.request("GET", path+"?dialect=native", nil); res.StatusCode != 200 {
		t.Errorf("dialect=native: %d", res.StatusCode)
	}
}

func TestReaderGetsTextForWhatItCannotDraw(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "chart please", "X-Blocks", "table@1, Nonsense")
	_, data := r.until(s, "start")
	if !strings.Contains(string(data), `"supported_blocks":[{"namespace":"inlay","block_type":"table","version":1}],"rejected_capabilities":["Nonsense"]`) {
		t.Errorf("start: %s", data)
	}
	st := r.fold(s)
	if len(st.Blocks) != 3 || st.Blocks[1].Type != "text" || !strings.Contains(string(st.Blocks[1].Payload), "East") {
		t.Errorf("folded %s", summary(st))
	}
	m := r.settled(s.msg())
	if m.Blocks[1].Type != "chart" {
		t.Errorf("the log must hold the whole block: %s", summaryOf(m))
	}
	got := want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg()+"?capabilities=table@1", nil)
	if summaryOf(got) != summary(st) {
		t.Errorf("read\n%s\nstreamed\n%s", summaryOf(got), summary(st))
	}
	path := want[struct {
		Items []messageBody
		Leaf  string
	}](r, 200, "GET", "/v1/conversations/"+s.conversation()+"/messages", nil, "X-Blocks", "table@1")
	if summaryOf(path.Items[1]) != summary(st) {
		t.Errorf("listed\n%s", summaryOf(path.Items[1]))
	}
}

func TestStrictCapabilities(t *testing.T) {
	r := newRig(t, func(c *Config) { c.StrictCapabilities = true })
	body := map[string]any{"input": map[string]string{"text": "hello"}}
	if d := r.refused(400, "invalid_capability_token", "POST", "/v1/chat", body, "X-Blocks", "chart@1,Chart@1"); fmt.Sprint(d["rejected"]) != "[inlay.Chart@1]" && fmt.Sprint(d["rejected"]) != "[Chart@1]" {
		t.Errorf("details %v", d)
	}
	r.rest(r.ask("", "hello", "X-Blocks", "chart@1,unknown@7"))
}

// TestGarbledDeclaration expects one that cannot be read to be a declaration all
// the same: without any, all blocks are sent.
func TestGarbledDeclaration(t *testing.T) {
	r := newRig(t, func(c *Config) { c.StrictCapabilities = true })
	body := map[string]any{"input": map[string]string{"text": "hello"}}
	for _, query := range []string{"?capabilities=%zz", "?capabilities=table@1;chart@1", "?x=1&capabilities=%"} {
		r.refused(400, "invalid_capability_token", "POST", "/v1/chat"+query, body)
	}
}

func TestOneTurnPerConversation(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "hold on")
	r.until(s, "text_delta")
	details := r.refused(409, "turn_running", "POST", "/v1/chat", map[string]any{"conversationId": s.conversation(), "input": map[string]string{"text": "more"}})
	if details["msgId"] != s.msg() {
		t.Errorf("details %v, want msgId %s", details, s.msg())
	}
	if c := want[conversationBody](r, 200, "GET", "/v1/conversations/"+s.conversation(), nil); c.Running != s.msg() {
		t.Errorf("running %q", c.Running)
	}
	// The message can be read while it is written.
	m := want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg(), nil)
	if m.Status != event.StatusRunning || len(m.Blocks) != 1 || string(m.Blocks[0].Payload) != `"Thinking"` || m.Seq < 2 {
		t.Errorf("while running: %s seq %d", summaryOf(m), m.Seq)
	}
	details = r.refused(400, "invalid_request", "GET", "/v1/messages/"+s.msg()+"/events?after=1000", nil)
	if details["last"] == nil {
		t.Errorf("details %v", details)
	}

	// Another request stops it; both readers see the end.
	second := r.stream(r.request("GET", "/v1/messages/"+s.msg()+"/events?after=1", nil))
	if got := want[map[string]string](r, 202, "POST", "/v1/messages/"+s.msg()+"/stop", nil); got["status"] != "stopping" {
		t.Errorf("stop: %v", got)
	}
	for name, st := range map[string]event.State{"first": r.fold(s), "second": foldText(t, r.rest(second))} {
		if st.Status != event.StatusCancelled || st.FinishReason != event.FinishCancelled {
			t.Errorf("%s reader: %s", name, summary(st))
		}
	}
	r.settled(s.msg())
	if got := want[map[string]string](r, 200, "POST", "/v1/messages/"+s.msg()+"/stop", nil); got["status"] != "done" {
		t.Errorf("stop again: %v", got)
	}
	r.rest(r.ask(s.conversation(), "again"))
}

// A turn belongs to the conversation, not to the connection.
func TestTurnGoesOnWithoutItsReader(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "long 2000")
	r.until(s, "text_delta")
	s.res.Body.Close()
	m := r.settled(s.msg())
	if m.Status != event.StatusDone || !strings.Contains(string(m.Blocks[0].Payload), "word1999") {
		t.Errorf("status %s, %d bytes", m.Status, len(m.Blocks[0].Payload))
	}
}

func TestIdempotencyKey(t *testing.T) {
	r := newRig(t)
	const n = 8
	var wg sync.WaitGroup
	ids := make([]string, n)
	raws := make([]string, n)
	for i := range n {
		wg.Go(func() {
			s := r.ask("", "chart please", "Idempotency-Key", "key-1")
			ids[i], raws[i] = s.msg()+s.conversation()+s.userMsg(), r.rest(s)
		})
	}
	wg.Wait()
	for i := range n {
		if ids[i] != ids[0] || raws[i] != raws[0] {
			t.Errorf("request %d was no join: %s, %d bytes", i, ids[i], len(raws[i]))
		}
	}
	list := want[struct{ Items []conversationBody }](r, 200, "GET", "/v1/conversations", nil)
	if len(list.Items) != 1 {
		t.Errorf("%d conversations, want 1", len(list.Items))
	}
	body := map[string]any{"input": map[string]string{"text": "something else"}}
	r.refused(422, "idempotency_conflict", "POST", "/v1/chat", body, "Idempotency-Key", "key-1")
	if s := r.as("bob").ask("", "something else", "Idempotency-Key", "key-1"); s.msg() == ids[0][:len(s.msg())] {
		t.Error("a key of one user joined another's turn")
	}
	r.refused(400, "invalid_request", "POST", "/v1/chat", body, "Idempotency-Key", "")
	r.refused(400, "invalid_request", "POST", "/v1/chat", body, "Idempotency-Key", strings.Repeat("k", 256))
	r.refused(400, "invalid_request", "POST", "/v1/chat", body, "Idempotency-Key", "schlüssel")
}

func TestRegenerateAndEdit(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "first")
	r.rest(s)
	r.settled(s.msg())

	again := r.stream(r.request("POST", "/v1/chat", map[string]any{"regenerateOf": s.msg()}))
	r.rest(again)
	m := r.settled(again.msg())
	if m.ParentID != s.userMsg() || len(m.Siblings) != 2 || m.Siblings[0] != s.msg() || m.Siblings[1] != again.msg() {
		t.Errorf("regenerated: parent %s, siblings %v", m.ParentID, m.Siblings)
	}

	edit := r.stream(r.request("POST", "/v1/chat", map[string]any{"editOf": s.userMsg(), "input": map[string]string{"text": "edited"}}))
	r.rest(edit)
	r.settled(edit.msg())
	u := want[messageBody](r, 200, "GET", "/v1/messages/"+edit.userMsg(), nil)
	if len(u.Siblings) != 2 || u.Siblings[0] != s.userMsg() {
		t.Errorf("edited: siblings %v", u.Siblings)
	}
	type path struct {
		Items []messageBody
		Leaf  string
	}
	p := want[path](r, 200, "GET", "/v1/conversations/"+s.conversation()+"/messages", nil)
	if p.Leaf != edit.msg() || len(p.Items) != 2 {
		t.Errorf("path %d long to %s", len(p.Items), p.Leaf)
	}
	p = want[path](r, 200, "GET", "/v1/conversations/"+s.conversation()+"/messages?leaf="+s.msg(), nil)
	if p.Leaf != s.msg() || p.Items[0].ID != s.userMsg() {
		t.Errorf("path to the first answer: %s", p.Leaf)
	}
	r.refused(404, "not_found", "GET", "/v1/conversations/"+s.conversation()+"/messages?leaf=m_none", nil)
	r.refused(404, "not_found", "POST", "/v1/chat", map[string]any{"regenerateOf": "m_none"})
	r.refused(400, "invalid_request", "POST", "/v1/chat", map[string]any{"regenerateOf": s.userMsg()})
	r.refused(400, "invalid_request", "POST", "/v1/chat", map[string]any{"regenerateOf": s.msg(), "input": map[string]string{"text": "x"}})
	r.refused(400, "invalid_request", "POST", "/v1/chat", map[string]any{"editOf": s.msg(), "input": map[string]string{"text": "x"}})
}

func TestStateless(t *testing.T) {
	r := newRig(t)
	s := r.stream(r.request("POST", "/v1/chat", map[string]any{"messages": []map[string]string{
		{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hello"},
		{"role": "assistant", "content": "Hi."}, {"role": "user", "content": "echo this"},
	}}))
	st := r.fold(s)
	if len(st.Blocks) != 1 || string(st.Blocks[0].Payload) != `"You said: echo this"` {
		t.Errorf("folded %s", summary(st))
	}
	if list := want[struct{ Items []conversationBody }](r, 200, "GET", "/v1/conversations", nil); len(list.Items) != 0 {
		t.Errorf("a stateless request is listed: %v", list.Items)
	}
	// Its stream can be read on like any other.
	again := r.stream(r.request("GET", "/v1/messages/"+s.msg()+"/events", nil))
	if got := r.rest(again); got != s.raw.String() {
		t.Error("the replay differs")
	}
}

func TestUnprefixedPaths(t *testing.T) {
	r := newRig(t)
	s := r.stream(r.request("POST", "/chat", map[string]any{"input": map[string]string{"text": "fail"}}))
	st := r.fold(s)
	r.settled(s.msg())
	b := st.Blocks[1]
	if b.Status != "error" {
		t.Fatalf("folded %s", summary(st))
	}
	again := r.stream(r.request("POST", "/chat/blocks/"+b.ID+"/retry", nil))
	r.rest(again)
	m := r.settled(s.msg())
	if m.Blocks[1].Status != "done" {
		t.Errorf("after retry: %s", summaryOf(m))
	}
	r.refused(404, "action_not_found", "POST", "/chat/actions", map[string]any{"msgId": s.msg(), "blockId": b.ID, "actionId": "none", "idempotencyKey": "12345678"})
}

func TestRetryAndRefresh(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "fail")
	st := r.fold(s)
	r.settled(s.msg())
	failed := st.Blocks[1]
	if failed.Status != "error" || failed.Err == nil || !failed.Err.Retryable {
		t.Fatalf("folded %s", summary(st))
	}
	r.refused(409, "not_refreshable", "POST", "/v1/chat/blocks/"+failed.ID+"/refresh", nil)
	retry := r.stream(r.request("POST", "/v1/chat/blocks/"+failed.ID+"/retry", nil))
	if retry.msg() != s.msg() || retry.conversation() != s.conversation() {
		t.Errorf("headers %s %s", retry.msg(), retry.conversation())
	}
	raw := r.rest(retry)
	first, _, _ := strings.Cut(raw, "\n")
	if first != fmt.Sprintf("id: %d", st.Seq+1) || !strings.Contains(raw, `"group":2`) || !strings.Contains(raw, "event: done") {
		t.Errorf("the group begins with %q, want id %d:\n%s", first, st.Seq+1, raw)
	}
	m := r.settled(s.msg())
	if m.Blocks[1].Status != "done" || m.Blocks[1].ID != failed.ID {
		t.Errorf("after retry: %s", summaryOf(m))
	}
	r.refused(409, "not_retryable", "POST", "/v1/chat/blocks/"+failed.ID+"/retry", nil)
	refresh := r.stream(r.request("POST", "/v1/chat/blocks/"+failed.ID+"/refresh", nil, "X-Blocks", ""))
	raw = r.rest(refresh)
	if !strings.Contains(raw, `"data":{"type":"text","version":1,"payload":`) || strings.Contains(raw, `"type":"chart"`) {
		t.Errorf("a reader of text got\n%s", raw)
	}
	// The whole log still folds to what is stored.
	m = r.settled(s.msg())
	all := r.stream(r.request("GET", "/v1/messages/"+s.msg()+"/events", nil))
	if st := r.fold(all); summary(st) != summaryOf(m) {
		t.Errorf("log\n%s\nrecord\n%s", summary(st), summaryOf(m))
	}
	r.refused(404, "not_found", "POST", "/v1/chat/blocks/b_none/retry", nil)
	r.refused(404, "not_found", "POST", "/v1/chat/blocks/b_none/refresh", nil)
}

func TestHeartbeat(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Heartbeat = 50 * time.Millisecond })
	s := r.ask("", "hold on")
	r.until(s, "text_delta")
	time.Sleep(200 * time.Millisecond)
	r.request("POST", "/v1/messages/"+s.msg()+"/stop", nil)
	if n := strings.Count(r.rest(s), ": ping\n\n"); n < 2 {
		t.Errorf("%d heartbeats in 200 ms", n)
	}
}

func TestRefusedBodies(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.BodyBytes, c.Limits.InputBytes = 4096, 1024 })
	for _, c := range []struct {
		name, body string
		status     int
		code       string
		details    string
	}{
		{"empty", ``, 400, "invalid_json", ""},
		{"no JSON", `{"input":`, 400, "invalid_json", `{"offset":9}`},
		{"wrong JSON", `{"input":}`, 400, "invalid_json", `{"offset":10}`},
		{"two values", `{"input":{"text":"a"}} {}`, 400, "invalid_json", `{"offset":24}`},
		{"not UTF-8", "{\"input\":{\"text\":\"\xff\"}}", 400, "invalid_json", ""},
		{"unknown field", `{"inputs":{"text":"a"}}`, 400, "unknown_field", `{"field":"inputs","nearest":"input"}`},
		{"unknown inner field", `{"input":{"txt":"a"}}`, 400, "unknown_field", `{"field":"txt","nearest":"text"}`},
		{"unlike anything", `{"zzzzzzzzzz":1}`, 400, "unknown_field", `{"field":"zzzzzzzzzz"}`},
		{"wrong type", `{"input":{"text":7}}`, 400, "invalid_request", `{"field":"input.text","offset":18}`},
		{"an array", `[]`, 400, "invalid_request", ""},
		{"nothing", `{}`, 400, "invalid_request", `{"field":"input.text"}`},
		{"blank", `{"input":{"text":" \n"}}`, 400, "invalid_request", `{"field":"input.text"}`},
		{"attachment", `{"input":{"text":"a","attachments":["a_1"]}}`, 404, "not_found", `{"field":"input.attachments"}`},
		{"too long", `{"input":{"text":"` + strings.Repeat("x", 1025) + `"}}`, 413, "request_too_large", `{"field":"input.text","limit":1024}`},
		{"too large", `{"input":{"text":"` + strings.Repeat("x", 5000) + `"}}`, 413, "request_too_large", `{"limit":4096}`},
		{"both", `{"messages":[{"role":"user","content":"a"}],"input":{"text":"a"}}`, 400, "invalid_request", `{"field":"messages"}`},
		{"no messages", `{"messages":[]}`, 400, "invalid_request", `{"field":"messages"}`},
		{"last not the user's", `{"messages":[{"role":"assistant","content":"a"}]}`, 400, "invalid_request", `{"field":"messages"}`},
		{"role", `{"messages":[{"role":"tool","content":"a"}]}`, 400, "invalid_request", `{"field":"messages.0.role"}`},
		{"empty message", `{"messages":[{"role":"user","content":""}]}`, 400, "invalid_request", `{"field":"messages.0.content"}`},
		{"no conversation", `{"conversationId":"c_none","input":{"text":"a"}}`, 404, "not_found", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := *r
			r.t = t
			details := r.refused(c.status, c.code, "POST", "/v1/chat", c.body)
			if c.details != "" {
				if got, _ := json.Marshal(details); string(got) != c.details {
					t.Errorf("details %s, want %s", got, c.details)
				}
			}
		})
	}
	r.refused(415, "unsupported_media_type", "POST", "/v1/chat", `{}`, "Content-Type", "text/plain")
	r.refused(415, "unsupported_media_type", "POST", "/v1/chat", `{}`, "Content-Type", "-")
	r.rest(r.stream(r.request("POST", "/v1/chat", `{"input":{"text":"a"}}`, "Content-Type", "application/json; charset=utf-8")))
}

func TestLimits(t *testing.T) {
	t.Run("streams of a user", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.StreamsPerUser = 2 })
		a, b := r.ask("", "hold"), r.ask("", "hold")
		r.until(a, "start")
		r.until(b, "start")
		res := r.request("GET", "/v1/messages/"+a.msg()+"/events", nil)
		if res.StatusCode != 429 || res.Header.Get("Retry-After") == "" {
			t.Errorf("third stream: %d, Retry-After %q", res.StatusCode, res.Header.Get("Retry-After"))
		}
		r.body(res)
		bob := r.as("bob")
		bob.rest(bob.ask("", "hello")) // others are not touched
		a.res.Body.Close()
		for range 100 { // its place is free again
			if res = r.request("GET", "/v1/messages/"+a.msg()+"/events", nil); res.StatusCode == 200 {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Errorf("after one was closed: %d", res.StatusCode)
	})
	t.Run("streams of all", func(t *testing.T) {
		r := newRig(t, func(c *Config) { c.Limits.Streams = 1 })
		a := r.ask("", "hold")
		r.until(a, "start")
		r.as("bob").refused(503, "rate_limited", "GET", "/v1/conversations/"+func() string {
			return want[conversationBody](r.as("bob"), 201, "POST", "/v1/conversations", nil).ID
		}()+"/events", nil)
	})
	t.Run("requests", func(t *testing.T) {
		now := time.Now()
		var mu sync.Mutex
		r := newRig(t, func(c *Config) {
			c.Limits.RequestsPerSecond = 1
			c.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
		})
		for range 2 {
			want[any](r, 200, "GET", "/v1/conversations", nil)
		}
		r.refused(429, "rate_limited", "GET", "/v1/conversations", nil)
		want[any](r.as("bob"), 200, "GET", "/v1/conversations", nil)
		mu.Lock()
		now = now.Add(time.Second)
		mu.Unlock()
		want[any](r, 200, "GET", "/v1/conversations", nil)
	})
	t.Run("turns", func(t *testing.T) {
		now := time.Now()
		r := newRig(t, func(c *Config) {
			c.Limits.TurnsPerMinute = 2
			c.Now = func() time.Time { return now }
		})
		r.rest(r.ask("", "one"))
		r.refused(429, "rate_limited", "POST", "/v1/chat", map[string]any{"input": map[string]string{"text": "two"}})
		want[any](r, 200, "GET", "/v1/conversations", nil)
	})
}
