package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire/wiretest"
)

// cardPacket is a packet of card messages.
type cardPacket struct {
	MessageID string
	Seq       uint64
	Type      string
	Payload   json.RawMessage
}

// cardClient keeps a message as a client of card messages does.
type cardClient struct {
	t     testing.TB
	id    string
	seq   uint64
	last  string // SSE id
	state map[string]json.RawMessage
	// ends are what packets said of an end, as members of a full state.
	ends []map[string]json.RawMessage
	got  []cardPacket
	// had are packets that came again.
	had int
}

// packet takes one; a missing one is an error.
func (c *cardClient) packet(p cardPacket) {
	c.t.Helper()
	if c.id == "" {
		c.id = p.MessageID
	}
	if p.MessageID != c.id {
		c.t.Fatalf("a packet of %s in %s", p.MessageID, c.id)
	}
	if p.Seq <= c.seq && p.Seq > 0 {
		c.had++
		return
	}
	if p.Type != "full" && p.Seq != c.seq+1 {
		c.t.Fatalf("packet %d comes after %d", p.Seq, c.seq)
	}
	c.seq = p.Seq
	c.got = append(c.got, p)
	members := func(raw json.RawMessage) (m map[string]json.RawMessage) {
		if err := json.Unmarshal(raw, &m); err != nil {
			c.t.Fatalf("%s %d: %v: %s", p.Type, p.Seq, err, raw)
		}
		return m
	}
	m := members(p.Payload)
	switch p.Type {
	case "full":
		c.state = m
	case "append":
		c.text(c.markdown() + unquoted(c.t, m["markdown"]))
	case "card":
		all := members(c.state["cards"])
		all[unquoted(c.t, m["id"])] = p.Payload
		c.state["cards"] = quoted(c.t, all)
	case "patch":
		c.patch(m["patch"])
	case "done":
		c.ends = append(c.ends, m)
	case "error":
		c.ends = append(c.ends, map[string]json.RawMessage{"error": p.Payload})
	default:
		c.t.Fatalf("type %q", p.Type)
	}
}

func (c *cardClient) patch(raw json.RawMessage) {
	c.t.Helper()
	var ops []json.RawMessage
	if err := json.Unmarshal(raw, &ops); err != nil || len(ops) == 0 {
		c.t.Fatalf("patch %s: %v", raw, err)
	}
	for _, one := range ops {
		var o struct{ Op, Path, Substring, Replacement string }
		if err := json.Unmarshal(one, &o); err != nil {
			c.t.Fatal(err)
		}
		if o.Op == "replace-substring" {
			if o.Path != "/markdown" || strings.Count(c.markdown(), o.Substring) != 1 {
				c.t.Fatalf("%s is not once in\n%s", one, c.markdown())
			}
			c.text(strings.Replace(c.markdown(), o.Substring, o.Replacement, 1))
			continue
		}
		doc, err := event.ApplyPatch(quoted(c.t, c.state), json.RawMessage("["+string(one)+"]"))
		if err != nil {
			c.t.Fatalf("%s: %v", one, err)
		}
		c.state = nil
		if err := json.Unmarshal(doc, &c.state); err != nil {
			c.t.Fatal(err)
		}
	}
}

func (c *cardClient) markdown() string     { return unquoted(c.t, c.state["markdown"]) }
func (c *cardClient) text(markdown string) { c.state["markdown"] = quoted(c.t, markdown) }

// read reads a stream to its end, or until enough packets have come.
func (c *cardClient) read(s *stream, enough int) *cardClient {
	c.t.Helper()
	for n := 0; enough <= 0 || n < enough; {
		id, name, data, ok := s.frame()
		if !ok {
			break
		}
		if name != "" {
			c.t.Fatalf("a frame has the event name %s", name)
		}
		if data != "" {
			n++
			var p cardPacket
			dec := json.NewDecoder(strings.NewReader(data))
			dec.DisallowUnknownFields()
			if err := dec.Decode(&p); err != nil {
				c.t.Fatalf("%v: %s", err, data)
			}
			c.packet(p)
		}
		if id != "" {
			c.last = id
		}
	}
	return c
}

// card is one of the client's cards.
func (c *cardClient) card(id string) (out struct {
	ID, Type, SchemaVersion string
	Data                    json.RawMessage
	State                   map[string]any
	Actions                 []struct {
		Type, Name, ID, Text string
		Params               map[string]any
		Feedback             *block.Feedback
	}
}) {
	c.t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.state["cards"], &all); err != nil {
		c.t.Fatal(err)
	}
	if err := json.Unmarshal(all[id], &out); err != nil {
		c.t.Fatalf("card %s: %v in %s", id, err, c.state["cards"])
	}
	return out
}

// ids are the client's cards.
func (c *cardClient) ids() (ids []string) {
	c.t.Helper()
	var all map[string]json.RawMessage
	if err := json.Unmarshal(c.state["cards"], &all); err != nil {
		c.t.Fatal(err)
	}
	for id := range all {
		ids = append(ids, id)
	}
	return ids
}

// types are the types of the packets that came, each once where it is repeated.
func (c *cardClient) types() string {
	var out []string
	for _, p := range c.got {
		out = append(out, p.Type)
	}
	return strings.Join(slices.Compact(out), " ")
}

// content is what a client shows: its state but for the end.
func (c *cardClient) content() any {
	c.t.Helper()
	out := map[string]any{}
	for name, raw := range c.state {
		if name == "markdown" || name == "cards" || name == "tools" {
			out[name] = decoded(c.t, raw)
		}
	}
	return out
}

func decoded(t testing.TB, raw json.RawMessage) (v any) {
	t.Helper()
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return v
}

func unquoted(t testing.TB, raw json.RawMessage) (s string) {
	t.Helper()
	if err := json.Unmarshal(raw, &s); err != nil {
		t.Fatalf("%v: %s", err, raw)
	}
	return s
}

func quoted(t testing.TB, v any) json.RawMessage {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

func (r *rig) cards() *cardClient { return &cardClient{t: r.t} }

// askCards asks as a client of card messages does.
func (r *rig) askCards(text string, headers ...string) *stream {
	r.t.Helper()
	return r.stream(r.request("POST", "/v1/chat/cards", map[string]any{"input": map[string]string{"text": text}}, headers...))
}

// full asks for the state of a message.
func (r *rig) full(path string) (packet cardPacket, last string) {
	r.t.Helper()
	res := r.request("GET", path, nil)
	body := r.body(res)
	if res.StatusCode != http.StatusOK {
		r.t.Fatalf("GET %s: %d %s", path, res.StatusCode, body)
	}
	if err := json.Unmarshal(body, &packet); err != nil || packet.Type != "full" {
		r.t.Fatalf("GET %s: %v: %s", path, err, body)
	}
	return packet, res.Header.Get("X-Last-Event-Id")
}

// TestCardMessages is a whole turn as a client of card messages sees it.
func TestCardMessages(t *testing.T) {
	r := newRig(t)
	s := r.askCards("chart please")
	c := r.cards().read(s, 0)
	if got, want := c.types(), "full append patch append patch append done"; got != want {
		t.Errorf("packets %s, want %s", got, want)
	}
	if c.got[0].Seq != 1 || c.id != s.msg() || c.had > 0 || s.conversation() == "" || s.userMsg() == "" {
		t.Errorf("first %d of %s, %d twice", c.got[0].Seq, c.id, c.had)
	}
	ids := c.ids()
	if len(ids) != 1 || c.card(ids[0]).Type != "Chart" || c.card(ids[0]).SchemaVersion != "1.0" {
		t.Fatalf("cards %s", c.state["cards"])
	}
	if md := c.markdown(); !strings.HasPrefix(md, "Here you are:\n\n\n\n```Chart@1 id="+ids[0]+"\n{") || !strings.HasSuffix(md, "}\n```\n\nEast leads.") {
		t.Errorf("text\n%s", md)
	}
	// The chart was a skeleton first, which a patch replaced.
	patched := slices.ContainsFunc(c.got, func(p cardPacket) bool {
		return p.Type == "patch" && strings.Contains(string(p.Payload), `"op":"replace-substring","path":"/markdown"`)
	})
	if !patched {
		t.Errorf("no skeleton was replaced:\n%s", s.raw.String())
	}
	r.settled(s.msg())

	// Resumed after any event it goes on as if it had not been cut off.
	whole := s.raw.String()
	path := "/v1/messages/" + s.msg() + "/events?dialect=cards"
	if got := r.rest(r.stream(r.request("GET", path, nil))); got != whole {
		t.Fatalf("replayed\n%s\nlive\n%s", got, whole)
	}
	last, err := strconv.Atoi(c.last)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n < last; n++ {
		mark := fmt.Sprintf("id: %d\n", n)
		at := strings.Index(whole, mark)
		head := whole[:at+strings.Index(whole[at:], "\n\n")+2]
		for _, res := range []*http.Response{
			r.request("GET", path+"&after="+strconv.Itoa(n), nil), r.request("GET", path, nil, "Last-Event-ID", strconv.Itoa(n)),
		} {
			if got := r.rest(r.stream(res)); head+got != whole {
				t.Fatalf("cut after %d and resumed differs:\n%s", n, got)
			}
		}
	}
	if res := r.request("GET", path+"&after="+c.last, nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("after the last event: %d", res.StatusCode)
	}

	// The conversation goes on; the path without a version answers, too.
	body := map[string]any{"conversationId": s.conversation(), "input": map[string]string{"text": "and now?"}}
	next := r.stream(r.request("POST", "/chat/cards", body))
	if on := r.cards().read(next, 0); on.markdown() != "You said: and now?" || next.conversation() != s.conversation() {
		t.Errorf("in %s:\n%s", next.conversation(), on.markdown())
	}
	r.settled(next.msg())
	again := r.stream(r.request("POST", "/v1/chat/cards", map[string]any{"regenerateOf": next.msg()}))
	if on := r.cards().read(again, 0); on.markdown() != "You said: and now?" || again.msg() == next.msg() {
		t.Errorf("again %s:\n%s", again.msg(), on.markdown())
	}
	// A turn that is stopped ends with done.
	hold := r.askCards("hold")
	stopped := r.cards().read(hold, 2)
	want[map[string]string](r, 202, "POST", "/v1/messages/"+hold.msg()+"/stop", nil)
	if stopped.read(hold, 0); stopped.types() != "full append done" || string(stopped.ends[0]["finishReason"]) != `"cancelled"` {
		t.Errorf("stopped: %s, %v", stopped.types(), stopped.ends)
	}
}

// The same key joins the turn that it began, in whichever dialect it is asked
// again.
func TestCardsIdempotencyKey(t *testing.T) {
	r := newRig(t)
	s := r.askCards("chart please", "Idempotency-Key", "cards-1")
	r.rest(s)
	again := r.askCards("chart please", "Idempotency-Key", "cards-1")
	if r.rest(again); again.raw.String() != s.raw.String() || again.msg() != s.msg() || again.conversation() != s.conversation() {
		t.Errorf("joined %s of %s:\n%s\nwant %s\n%s", again.msg(), again.conversation(), again.raw.String(), s.msg(), s.raw.String())
	}
	own := r.ask("", "chart please", "Idempotency-Key", "cards-1")
	if st := r.fold(own); own.msg() != s.msg() || st.Status != event.StatusDone {
		t.Errorf("in our own dialect: %s, %s", own.msg(), summary(st))
	}
	r.refused(422, "idempotency_conflict", "POST", "/v1/chat/cards", map[string]any{"input": map[string]string{"text": "other"}}, "Idempotency-Key", "cards-1")
}

// Who declares nothing draws everything; who declares gets the rest as words,
// and the full state is as the stream is.
func TestCardsDeclaration(t *testing.T) {
	r := newRig(t)
	for _, c := range []struct {
		query   string
		headers []string
		drawn   bool
	}{
		{"", nil, true}, {"?capabilities=chart@1", nil, true}, {"?capabilities=inlay.chart@1,acme.other@3", nil, true}, {"", []string{"X-Blocks", "chart@1"}, true},
		{"?capabilities=", nil, false}, {"?capabilities=table@1", nil, false}, {"?capabilities=chart@2", nil, false},
		{"", []string{"X-Blocks", ""}, false}, {"?capabilities=chart@1", []string{"X-Blocks", "table@1"}, false}, // the header goes before
	} {
		body := map[string]any{"input": map[string]string{"text": "chart please"}}
		s := r.stream(r.request("POST", "/v1/chat/cards"+c.query, body, c.headers...))
		got := r.cards().read(s, 0)
		if (len(got.ids()) == 1) != c.drawn || strings.Contains(got.markdown(), "```Chart") != c.drawn || !strings.Contains(got.markdown(), "East") {
			t.Errorf("%q %v:\n%s\n%s", c.query, c.headers, got.markdown(), got.state["cards"])
		}
		res := r.request("GET", "/v1/messages/"+s.msg()+"/cards"+c.query, nil, c.headers...)
		var full cardPacket
		if err := json.Unmarshal(r.body(res), &full); err != nil {
			t.Fatal(err)
		}
		other := r.cards()
		if other.packet(full); !reflect.DeepEqual(other.content(), got.content()) || full.Seq != got.seq {
			t.Errorf("%q %v: full %d\n%v\nstreamed %d\n%v", c.query, c.headers, full.Seq, other.content(), got.seq, got.content())
		}
	}
	strict := newRig(t, func(c *Config) { c.StrictCapabilities = true })
	strict.refused(400, "invalid_capability_token", "POST", "/v1/chat/cards?capabilities=Bad", map[string]any{"input": map[string]string{"text": "hello"}})
	strict.refused(400, "invalid_capability_token", "GET", "/v1/messages/m_none/cards?capabilities=Bad", nil)
}

func TestCardsRefuse(t *testing.T) {
	r := newRig(t)
	s := r.askCards("hello")
	r.rest(s)
	input := map[string]string{"text": "hello"}
	const path = "/v1/chat/cards"
	r.refused(400, "unknown_field", "POST", path, map[string]any{"input": input, "session_id": s.conversation()})
	r.refused(400, "invalid_request", "POST", path, map[string]any{})
	r.refused(415, "unsupported_media_type", "POST", path, "hello", "Content-Type", "text/plain")
	full := "/v1/messages/" + s.msg() + "/cards"
	bob := r.as("bob")
	bob.refused(404, "not_found", "POST", path, map[string]any{"conversationId": s.conversation(), "input": input})
	bob.refused(404, "not_found", "POST", path, map[string]any{"regenerateOf": s.msg()})
	bob.refused(404, "not_found", "GET", full, nil)
	bob.refused(404, "not_found", "GET", "/v1/messages/"+s.msg()+"/events?dialect=cards", nil)
	r.as("").refused(401, "unauthorized", "POST", path, map[string]any{"input": input})
	r.as("").refused(401, "unauthorized", "GET", full, nil)
	r.refused(404, "not_found", "GET", "/v1/messages/m_none/cards", nil)
	// A deleted message is not there, either.
	r.settled(s.msg())
	want[any](r, 204, "DELETE", "/v1/conversations/"+s.conversation(), nil)
	r.refused(404, "not_found", "GET", full, nil)
	// A page that may call from elsewhere may read where to go on.
	cors := newRig(t, func(c *Config) { c.Origins = []string{"https://app.example.com"} })
	on := cors.askCards("hello")
	cors.rest(on)
	res := cors.request("GET", "/v1/messages/"+on.msg()+"/cards", nil, "Origin", "https://app.example.com")
	if !strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "X-Last-Event-Id") || res.Header.Get("X-Last-Event-Id") == "" {
		t.Errorf("headers %v", res.Header)
	}
}

// TestCardsOfEveryLog reads the golden logs over HTTP.
func TestCardsOfEveryLog(t *testing.T) {
	r := newRig(t, registryOf(t, sampleType("app.product_card")))
	reg, err := block.NewRegistry(append(block.Builtins(), sampleType("app.product_card"))...)
	if err != nil {
		t.Fatal(err)
	}
	for name, events := range wiretest.Logs(t, "../testdata/logs") {
		old := events[0].Msg
		events = moved(events, "m_"+name)
		r.seed(events)
		for reader, caps := range map[string]string{"whole": all(reg), "text": ""} {
			golden, err := os.ReadFile(filepath.Join("../wire/cards/testdata/golden", name+"."+reader+".txt"))
			if err != nil {
				t.Fatal(err)
			}
			path := "/v1/messages/" + url.PathEscape("m_"+name) + "/events?dialect=cards&capabilities=" + caps
			if got, want := r.rest(r.stream(r.request("GET", path, nil))), strings.ReplaceAll(string(golden), old, "m_"+name); got != want {
				t.Errorf("%s as %s: got\n%s\nwant\n%s", name, reader, got, want)
			}
		}
	}
}

// moved returns events as those of another message.
func moved(events []event.Event, msg string) []event.Event {
	old := events[0].Msg
	out := slices.Clone(events)
	for i := range out {
		out[i].Msg, out[i].Data = msg, json.RawMessage(strings.ReplaceAll(string(out[i].Data), old, msg))
	}
	return out
}

// TestFullState asks for the full state of the golden logs after some of their
// events, while they are written and when they are not, and goes on from it in
// each way that there is.
func TestFullState(t *testing.T) {
	r := newRig(t, registryOf(t, sampleType("app.product_card")))
	fulls := 0
	for name, golden := range wiretest.Logs(t, "../testdata/logs") {
		cuts := []int{1, len(golden)}
		for n := 2; n < len(golden); n += 1 + len(golden)/8 {
			cuts = append(cuts, n)
		}
		for _, cut := range cuts {
			msg := fmt.Sprintf("m_%s-%d", name, cut)
			events := moved(golden, msg)
			_, write := r.begin(msg)
			path := "/v1/messages/" + url.PathEscape(msg)
			stream := path + "/events?dialect=cards"
			if cut == 1 {
				// Before the first event there is nothing, and no packet.
				if p, last := r.full(path + "/cards"); p.Seq != 0 || string(p.Payload) != `{"markdown":"","cards":{},"tools":{}}` || last != "0" {
					t.Errorf("%s: before the first event: %d after %s: %s", name, p.Seq, last, p.Payload)
				}
			}
			write(events[:cut])
			fulls++
			p, last := r.full(path + "/cards")
			if last != strconv.Itoa(cut) {
				t.Errorf("%s: the state after %d events is said to be that after %s", name, cut, last)
			}
			fresh, byNumber, live := r.cards(), r.cards(), r.cards()
			// One that came late, one that lost all packets but the first, and one
			// that was there all the time.
			fresh.packet(p)
			write(events[cut:])
			live.read(r.stream(r.request("GET", stream, nil)), 0)
			byNumber.packet(live.got[0])
			byNumber.packet(p)
			if cut == len(golden) {
				if res := r.request("GET", stream, nil, "Last-Event-ID", last); res.StatusCode != http.StatusNoContent {
					t.Errorf("%s: after the full state of all: %d", name, res.StatusCode)
				}
			} else {
				if fresh.read(r.stream(r.request("GET", stream, nil, "Last-Event-ID", last)), 0); fresh.had > 0 {
					t.Errorf("%s: after %d events %d packets come again", name, cut, fresh.had)
				}
			}
			// Who cannot say after which event it goes on reads all, and what it has
			// it knows by its number.
			byNumber.read(r.stream(r.request("GET", stream, nil)), 0)
			for what, c := range map[string]*cardClient{"by the header": fresh, "by numbers": byNumber} {
				if !reflect.DeepEqual(c.content(), live.content()) || c.seq != live.seq {
					t.Fatalf("%s: gone on after %d events %s it is %d\n%v\nwant %d\n%v", name, cut, what, c.seq, c.content(), live.seq, live.content())
				}
			}
			// How it ended is in the state or comes after it.
			end, _ := r.full(path + "/cards")
			var state map[string]json.RawMessage
			if err := json.Unmarshal(end.Payload, &state); err != nil {
				t.Fatal(err)
			}
			st := foldText(t, r.rest(r.stream(r.request("GET", path+"/events", nil))))
			if reason := string(state["finishReason"]); (reason != "") != (st.FinishReason != "") || reason != "" && reason != strconv.Quote(st.FinishReason) {
				t.Errorf("%s: it ended with %s, want %q", name, reason, st.FinishReason)
			}
			if (state["error"] != nil) != (st.Status == event.StatusError) {
				t.Errorf("%s: error %s of a message that is %s", name, state["error"], st.Status)
			}
		}
	}
	if fulls < 200 {
		t.Errorf("%d full states", fulls)
	}
	t.Logf("%d full states", fulls)
}

// A log that was forgotten leaves the state, from the record; packets go on
// above every number that there was.
func TestFullStateOfForgottenLogs(t *testing.T) {
	r := newRig(t, registryOf(t, sampleType("app.product_card")))
	type read struct {
		path, last string
		write      func([]event.Event)
		events     []event.Event
		client     *cardClient
		full       cardPacket
	}
	logs := map[string]*read{}
	for name, events := range wiretest.Logs(t, "../testdata/logs") {
		events = moved(events, "m_"+name)
		_, write := r.begin("m_" + name)
		write(events)
		one := &read{path: "/v1/messages/" + url.PathEscape("m_"+name), write: write, events: events, client: r.cards()}
		one.client.read(r.stream(r.request("GET", one.path+"/events?dialect=cards", nil)), 0)
		one.full, one.last = r.full(one.path + "/cards")
		logs[name] = one
	}
	if err := r.store.Trim(t.Context(), time.Now().Add(time.Hour)); err != nil {
		t.Fatal(err)
	}
	forgotten := 0
	for name, one := range logs {
		full, last := r.full(one.path + "/cards")
		if last != one.last {
			t.Errorf("%s: after %s, want %s", name, last, one.last)
		}
		if full.Seq == one.full.Seq {
			continue // one that waits for a person is not forgotten
		}
		forgotten++
		if !reflect.DeepEqual(decoded(t, full.Payload), decoded(t, one.full.Payload)) || full.Seq < one.full.Seq {
			t.Errorf("%s: the record gives %d\n%s\nthe log gave %d\n%s", name, full.Seq, full.Payload, one.full.Seq, one.full.Payload)
		}
		if res := r.request("GET", one.path+"/events?dialect=cards&after="+last, nil); res.StatusCode != http.StatusNoContent {
			t.Errorf("%s: after all: %d", name, res.StatusCode)
		}
		// Who was there until the middle is given the state anew, and the end.
		half := r.cards()
		half.packet(one.client.got[0])
		half.read(r.stream(r.request("GET", one.path+"/events?dialect=cards&after=1", nil)), 0)
		if !reflect.DeepEqual(half.content(), one.client.content()) || half.seq != full.Seq || len(half.ends) != 1 {
			t.Errorf("%s: read on from the middle it is %d\n%v\nwant %d\n%v", name, half.seq, half.content(), full.Seq, one.client.content())
		}
		// It goes on: for those who have the state without a gap, others see one.
		end := one.events[len(one.events)-1]
		again := []event.Event{
			{Seq: end.Seq + 1, At: end.At, Group: end.Group + 1, Type: event.TextDelta, Msg: end.Msg, Block: "b_more", Data: event.TextData("More.")},
			{Seq: end.Seq + 2, At: end.At, Group: end.Group + 1, Type: event.TextEnd, Msg: end.Msg, Block: "b_more", Data: event.EmptyData},
			{Seq: end.Seq + 3, At: end.At, Group: end.Group + 1, Type: event.Done, Msg: end.Msg, Data: json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`)},
		}
		one.write(again[:2])
		on := r.cards()
		on.packet(full)
		live := r.stream(r.request("GET", one.path+"/events?dialect=cards", nil, "Last-Event-ID", last))
		if on.read(live, 1); on.seq != full.Seq+1 || !strings.HasSuffix(on.markdown(), "More.") {
			t.Errorf("%s: it goes on with %d after %d:\n%s", name, on.seq, full.Seq, on.markdown())
		}
		other := r.stream(r.request("GET", one.path+"/events?dialect=cards", nil, "Last-Event-ID", one.client.last))
		_, _, data, _ := other.frame()
		var next cardPacket
		if err := json.Unmarshal([]byte(data), &next); err != nil || next.Seq <= one.client.seq+1 {
			t.Errorf("%s: to who has packet %d comes %s", name, one.client.seq, data)
		}
		one.write(again[2:])
		if on.read(live, 0); on.types() != "full append done" {
			t.Errorf("%s: it goes on with %s", name, on.types())
		}
		// When it is recorded that is what everybody is given.
		whole := r.cards().read(r.stream(r.request("GET", one.path+"/events?dialect=cards", nil)), 0)
		if !reflect.DeepEqual(whole.content(), on.content()) || !strings.HasPrefix(whole.types(), "full ") || len(whole.ends) != 1 {
			t.Errorf("%s: recorded it is %s\n%v\nwant\n%v", name, whole.types(), whole.content(), on.content())
		}
	}
	if forgotten < 30 {
		t.Errorf("%d logs were forgotten", forgotten)
	}
}

// A message that is being written is read as it stands, and gone on with.
func TestFullStateOfARunningMessage(t *testing.T) {
	r := newRig(t)
	s := r.askCards("hold")
	c := r.cards().read(s, 2)
	p, last := r.full("/v1/messages/" + s.msg() + "/cards")
	if string(p.Payload) != `{"markdown":"Thinking","cards":{},"tools":{}}` || p.Seq != c.seq || p.MessageID != s.msg() {
		t.Errorf("full %d, %s", p.Seq, p.Payload)
	}
	late := r.cards()
	late.packet(p)
	on := r.stream(r.request("GET", "/v1/messages/"+s.msg()+"/events?dialect=cards", nil, "Last-Event-ID", last))
	want[map[string]string](r, 202, "POST", "/v1/messages/"+s.msg()+"/stop", nil)
	if late.read(on, 0); late.seq != p.Seq+1 || late.types() != "full done" {
		t.Errorf("it goes on with %s to %d", late.types(), late.seq)
	}
	// A user's message is read so, too: it never had a log.
	p, last = r.full("/v1/messages/" + s.userMsg() + "/cards")
	if string(p.Payload) != `{"markdown":"hold","cards":{},"tools":{},"finishReason":"stop"}` || p.Seq == 0 || last != "0" {
		t.Errorf("the user's message: %d after %s: %s", p.Seq, last, p.Payload)
	}
	if res := r.request("GET", "/v1/messages/"+s.userMsg()+"/events?dialect=cards&after="+last, nil); res.StatusCode != http.StatusNoContent {
		t.Errorf("after it: %d", res.StatusCode)
	}
}

// A card that failed is words; run again it is a card, and refreshed the card is
// patched.
func TestCardFollowUps(t *testing.T) {
	r := newRig(t)
	s := r.askCards("fail")
	c := r.cards().read(s, 0)
	if len(c.ids()) != 0 || !strings.Contains(c.markdown(), "[chart: ") {
		t.Errorf("failed:\n%s\n%s", c.markdown(), c.state["cards"])
	}
	m := r.settled(s.msg())
	id := m.Blocks[1].ID
	for _, what := range []string{"retry", "refresh"} {
		c.read(r.stream(r.request("POST", "/v1/chat/blocks/"+id+"/"+what+"?dialect=cards", nil)), 0)
		if c.card(id).Type != "Chart" || !strings.Contains(c.markdown(), "```Chart@1 id="+id+"\n{") || c.had > 0 {
			t.Errorf("%s, %d twice:\n%s", what, c.had, c.markdown())
		}
		r.settled(s.msg())
	}
	p, _ := r.full("/v1/messages/" + s.msg() + "/cards")
	full := r.cards()
	if full.packet(p); !reflect.DeepEqual(full.content(), c.content()) || full.seq != c.seq {
		t.Errorf("full %d\n%v\nfollowed %d\n%v", full.seq, full.content(), c.seq, c.content())
	}
}

// TestCardActions is a click as a client sees it that knows cards only: the
// button from a packet, the call with the packet's and the card's ids, what
// comes of it in the answer and, for every reader, in packets.
func TestCardActions(t *testing.T) {
	r := newRig(t)
	s := r.askCards("form")
	c := r.cards().read(s, 0)
	r.settled(s.msg())
	ids := c.ids()
	if len(ids) != 1 || c.card(ids[0]).Type != "Form" {
		t.Fatalf("cards %s", c.state["cards"])
	}
	id := ids[0]
	press := func(name string, payload map[string]any) map[string]any {
		t.Helper()
		for _, a := range c.card(id).Actions {
			if a.Name != name {
				continue
			}
			if a.Type != "api" || a.Text == "" {
				t.Errorf("action %+v", a)
			}
			if a.ID == "" {
				a.ID = a.Name
			}
			for name, v := range a.Params {
				payload[name] = v
			}
			return map[string]any{
				"msgId": c.id, "blockId": id, "actionId": a.ID, "payload": payload,
				"idempotencyKey": pressKey(), "traceId": "aaaabbbbccccddddeeeeffff00002222",
			}
		}
		t.Fatalf("no action %s on %s", name, c.state["cards"])
		return nil
	}
	for _, a := range c.card(id).Actions {
		if a.Name == "export" && (a.ID != "submit" || a.Feedback == nil || a.Feedback.SuccessText != "On its way.") {
			t.Errorf("action %+v", a)
		}
		if a.Name == "broken" && a.ID != "" {
			t.Errorf("action %+v", a)
		}
	}
	// One that fails says so where the click was.
	res := r.request("POST", "/v1/chat/actions", press("broken", map[string]any{}))
	var failed errorBody
	if err := json.Unmarshal(r.body(res), &failed); err != nil || res.StatusCode != 502 || failed.Error.TraceID != "aaaabbbbccccddddeeeeffff00002222" {
		t.Fatalf("%d %+v %v", res.StatusCode, failed, err)
	}
	if f, _ := failed.Error.Details["feedback"].(map[string]any); f["failureToast"] != "The service refused this." {
		t.Errorf("details %v", failed.Error.Details)
	}
	got := want[actionDone](r, 200, "POST", "/v1/chat/actions", press("export", map[string]any{"name": "all"}))
	if got.Status != "done" || got.Feedback == nil || got.Feedback.SuccessText != "On its way." || got.TraceID != "aaaabbbbccccddddeeeeffff00002222" || got.Result["trace"] != got.TraceID || got.Block.ID != id {
		t.Errorf("answer %+v", got)
	}
	// Every reader, this one too, sees it in the card's state, by a patch.
	follow := func(path, until string) {
		t.Helper()
		for range 200 {
			if st := c.card(id).State; st["status"] == until {
				return
			}
			if res := r.request("GET", path+"/events?dialect=cards", nil, "Last-Event-ID", c.last); res.StatusCode == http.StatusOK {
				c.read(r.stream(res), 0)
				continue
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatalf("the card does not become %s: %s", until, c.state["cards"])
	}
	from := len(c.got)
	follow("/v1/messages/"+c.id, "done")
	if c.card(id).State["locked"] != true {
		t.Errorf("state %v", c.card(id).State)
	}
	want := `"path":"/cards/` + id + `/state","value":`
	if !slices.ContainsFunc(c.got[from:], func(p cardPacket) bool { return p.Type == "patch" && strings.Contains(string(p.Payload), want) }) {
		t.Errorf("no patch of the state among %+v", c.got[from:])
	}
	late := r.cards()
	p, _ := r.full("/v1/messages/" + c.id + "/cards")
	if late.packet(p); !reflect.DeepEqual(late.content(), c.content()) {
		t.Errorf("full\n%v\nfollowed\n%v", late.content(), c.content())
	}
	r.refused(409, "already_submitted", "POST", "/v1/chat/actions", press("export", map[string]any{"name": "all"}))
}

// A button that asks on begins a turn, whose packets are its own message's. What
// a card's action has of its own may be sent along.
func TestCardPrompts(t *testing.T) {
	r := newRig(t)
	s := r.askCards("chart please")
	c := r.cards().read(s, 0)
	r.settled(s.msg())
	id := c.ids()[0]
	post := func(name string, payload map[string]any) *http.Response {
		return r.request("POST", "/v1/chat/actions", map[string]any{"msgId": c.id, "blockId": id, "actionId": name, "payload": payload, "idempotencyKey": pressKey()})
	}
	for _, a := range c.card(id).Actions {
		if a.Name != "explain" {
			continue
		}
		if a.Type != "prompt" || a.Text != "Explain" || a.Params["quarter"] != "2026Q3" {
			t.Errorf("action %+v", a)
		}
		payload := map[string]any{"region": "East", "amount": 320}
		for name, v := range a.Params {
			payload[name] = v
		}
		res := post(a.Name, payload)
		var got actionDone
		if err := json.Unmarshal(r.body(res), &got); err != nil || res.StatusCode != http.StatusAccepted {
			t.Fatalf("%d %v", res.StatusCode, err)
		}
		on := r.cards().read(r.stream(r.request("GET", "/v1/messages/"+got.MsgID+"/events?dialect=cards", nil)), 0)
		if on.markdown() != "You said: Why is East at 320 in 2026Q3?" || on.id == c.id {
			t.Errorf("%s:\n%s", on.id, on.markdown())
		}
	}
	if res := post("docs", nil); res.StatusCode != 400 || !bytes.Contains(r.body(res), []byte("unsupported_action_kind")) {
		t.Errorf("a link is the client's own: %d", res.StatusCode)
	}
}
