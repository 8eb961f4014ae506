package agui_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/agui"
	"github.com/inlay-ui/inlay/wire/wiretest"
	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "write the golden streams anew")

// logs reads the golden logs that every reader of events is tested with, and
// those of what other dialects do not write.
func logs(t testing.TB) map[string][]event.Event {
	t.Helper()
	return wiretest.Logs(t, "../../testdata/logs", "testdata/logs")
}

var builtins = sync.OnceValues(func() (*block.Registry, error) { return block.NewRegistry(block.Builtins()...) })

func registry(t testing.TB) *block.Registry {
	t.Helper()
	r, err := builtins()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// readers are the clients that every log is written for. The streams of the
// first three are golden: "both" is for clients of both generations, "v1" for
// those of version 1.0, "text" for one that draws no block.
func readers(t testing.TB) map[string]wire.View {
	r := registry(t)
	return map[string]wire.View{
		"both":   {Registry: r, Tools: true, Reasoning: true},
		"v1":     {Registry: r, Version: agui.Version1, Tools: true, Reasoning: true},
		"text":   {Registry: r, Version: agui.Version0, Caps: r.Negotiate("", true)},
		"charts": {Registry: r, Version: agui.Version1, Caps: r.Negotiate("chart@1", true), Tools: true},
	}
}

var golden = []string{"both", "v1", "text"}

// write encodes a log as a client gets it who has read up to a seq.
func write(t testing.TB, view wire.View, events []event.Event, after uint64) string {
	t.Helper()
	enc, err := agui.New(view, wire.Run{Msg: events[0].Msg})
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Begin(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		keep := len(out)
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
		if ev.Seq <= after {
			out = out[:keep]
		}
	}
	if out, err = enc.End(out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func fold(events []event.Event) event.State {
	f := event.NewFolder("")
	for _, ev := range events {
		f.Apply(ev)
	}
	return f.State()
}

// folded is what a golden stream must come to, for readers in other languages.
type folded struct {
	Blocks       []block.Block        `json:"blocks"`
	Text         map[string]string    `json:"text"` // by block id, for a reader that cannot draw it
	Tools        []event.ToolActivity `json:"tools"`
	Reasoning    string               `json:"reasoning"`
	Status       event.Status         `json:"status"`
	FinishReason string               `json:"finishReason,omitempty"`
	Error        *event.ErrorData     `json:"error,omitempty"`
	// Runs are how the groups ended, in order: a finish reason or "error".
	Runs []string `json:"runs"`
	// Waits says of each of them whether a question was open then.
	Waits []bool `json:"waits"`
	// Rejoined is the last event that the stream of a client that comes back
	// begins with.
	Rejoined uint64 `json:"rejoined"`
}

// history is what came before the message of a log.
var history = []agui.Message{{ID: "m_user", Role: "user", Content: "Show sales"}}

// rejoined encodes a log as a client gets it that comes when n events were
// written, after the history of the thread.
func rejoined(t testing.TB, view wire.View, events []event.Event, n int) string {
	t.Helper()
	enc, err := agui.New(view, wire.Run{Msg: events[0].Msg, Conversation: "c_01990f3a-5c00-7000-8000-0000000000c1"})
	if err != nil {
		t.Fatal(err)
	}
	var spare []byte
	for _, ev := range events[:n] {
		if spare, err = enc.Append(spare[:0], ev); err != nil {
			t.Fatal(err)
		}
	}
	out, err := enc.Rejoin(nil, history, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events[n:] {
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
	}
	if out, err = enc.End(out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

func foldFile(t *testing.T, events []event.Event) string {
	st := fold(events)
	f := folded{Blocks: st.Blocks, Text: map[string]string{}, Tools: st.Tools, Reasoning: st.Reasoning, Status: st.Status, FinishReason: st.FinishReason, Error: st.Err}
	if f.Tools == nil {
		f.Tools = []event.ToolActivity{}
	}
	for _, b := range st.Blocks {
		f.Text[b.ID] = registry(t).Stand(b)
	}
	f.Rejoined = events[middle(events)-1].Seq
	open := map[string]bool{}
	for n, ev := range events {
		if ev.Type.Terminal() {
			f.Waits = append(f.Waits, len(open) > 0 && fold(events[:n+1]).Status == event.StatusPaused)
		}
		switch ev.Type {
		case event.PendingQuestionStart:
			open[ev.Block] = true
		case event.PendingQuestionEnd:
			delete(open, ev.Block)
		case event.Error:
			f.Runs = append(f.Runs, "error")
		case event.Done:
			var d event.DoneData
			if err := json.Unmarshal(ev.Data, &d); err != nil {
				t.Fatal(err)
			}
			f.Runs = append(f.Runs, d.FinishReason)
		}
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(f); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// middle is where the golden streams of clients that come back begin.
func middle(events []event.Event) int { return max(1, len(events)/2) }

func TestGolden(t *testing.T) {
	compare := func(path, got string) {
		t.Helper()
		if *update {
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if got != string(want) {
			t.Errorf("%s differs; what is written now:\n%s", path, got)
		}
	}
	for name, events := range logs(t) {
		for _, reader := range golden {
			compare(filepath.Join("testdata", "golden", name+"."+reader+".txt"), write(t, readers(t)[reader], events, 0))
		}
		compare(filepath.Join("testdata", "golden", name+".rejoin.txt"), rejoined(t, readers(t)["both"], events, middle(events)))
		compare(filepath.Join("testdata", "golden", name+".fold.json"), foldFile(t, events))
	}
}

// client is what an AG-UI client makes of a stream.
type client struct {
	messages   []agui.Message
	guard      *agui.Guard
	last       uint64
	runs       []agui.EventType
	interrupts []agui.Interrupt
	events     []frame
	state      json.RawMessage
}

// frame is an event of any type.
type frame struct {
	Type                agui.EventType
	MessageID, Delta    string
	ActivityType        string
	ToolCallID          string
	ToolCallName, RunID string
	Content             json.RawMessage
	Patch               json.RawMessage
	Outcome             *agui.Outcome
	Messages            []agui.Message
	Name, ParentRunID   string
	Code, Message       string
	ProtocolVersion     string
	Snapshot            json.RawMessage
}

func read(t testing.TB, version, stream string) *client {
	t.Helper()
	c := &client{}
	c.read(t, version, stream)
	return c
}

// read reads a stream, after others that were read before.
func (c *client) read(t testing.TB, version, stream string) {
	t.Helper()
	c.guard, c.last = agui.NewGuard(version), 0
	if stream == "" {
		return
	}
	body, ok := strings.CutSuffix(stream, "\n\n")
	if !ok {
		t.Fatalf("the stream ends within a frame: %q", stream)
	}
	for part := range strings.SplitSeq(body, "\n\n") {
		data, id, ok := strings.Cut(part, "id: ")
		if ok {
			seq, err := strconv.ParseUint(id, 10, 64)
			if err != nil || seq <= c.last {
				t.Fatalf("frame %q after %d", part, c.last)
			}
			c.last = seq
		}
		if data == "" {
			continue
		}
		data = strings.TrimSuffix(data, "\n")
		raw, ok := strings.CutPrefix(data, "data: ")
		if !ok {
			t.Fatalf("frame %q", part)
		}
		if err := c.guard.Check([]byte(raw)); err != nil {
			t.Fatalf("%v\nin %s", err, raw)
		}
		c.apply(t, raw)
	}
}

func (c *client) find(id string) *agui.Message {
	for i := range c.messages {
		if c.messages[i].ID == id {
			return &c.messages[i]
		}
	}
	return nil
}

func (c *client) apply(t testing.TB, raw string) {
	t.Helper()
	var f frame
	if err := json.Unmarshal([]byte(raw), &f); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	c.events = append(c.events, f)
	m := c.find(f.MessageID)
	switch f.Type {
	case agui.RunFinished, agui.RunError:
		c.runs = append(c.runs, f.Type)
		c.interrupts = nil
		if f.Outcome != nil {
			c.interrupts = f.Outcome.Interrupts
		}
	case agui.TextMessageStart, agui.ReasoningMessageStart:
		role := agui.RoleAssistant
		if f.Type == agui.ReasoningMessageStart {
			role = agui.RoleReasoning
		}
		if m == nil {
			c.messages = append(c.messages, agui.Message{ID: f.MessageID, Role: role, Content: ""})
		}
	case agui.TextMessageContent, agui.ReasoningMessageContent:
		m.Content = m.Content.(string) + f.Delta
	case agui.StateSnapshot:
		c.state = f.Snapshot
	case agui.ToolCallStart:
		if c.find(f.ToolCallID) != nil {
			break
		}
		c.messages = append(c.messages, agui.Message{ID: f.ToolCallID, Role: agui.RoleAssistant, Content: "", ToolCalls: []agui.ToolCall{{ID: f.ToolCallID, Type: "function", Function: agui.FunctionCall{Name: f.ToolCallName}}}})
	case agui.ToolCallArgs:
		c.find(f.ToolCallID).ToolCalls[0].Function.Arguments += f.Delta
	case agui.ToolCallResult:
		i := slices.IndexFunc(c.messages, func(m agui.Message) bool { return m.ID == f.ToolCallID })
		c.messages = slices.Insert(c.messages, i+1, agui.Message{ID: f.MessageID, Role: agui.RoleTool, ToolCallID: f.ToolCallID, Content: string(f.Content)})
	case agui.ActivitySnapshot:
		now := agui.Message{ID: f.MessageID, Role: agui.RoleActivity, ActivityType: f.ActivityType, Content: f.Content}
		if m == nil {
			c.messages = append(c.messages, now)
		} else {
			*m = now
		}
	case agui.ActivityDelta:
		now, err := event.ApplyPatch(m.Content.(json.RawMessage), f.Patch)
		if err != nil {
			t.Fatalf("%s: %v on %s", raw, err, m.Content)
		}
		m.Content = now
	case agui.MessagesSnapshot:
		// What is known keeps its place, the rest comes behind it.
		var known []agui.Message
		for _, old := range c.messages {
			if i := slices.IndexFunc(f.Messages, func(m agui.Message) bool { return m.ID == old.ID }); i >= 0 {
				known = append(known, f.Messages[i])
			}
		}
		for _, m := range f.Messages {
			if c.find(m.ID) == nil {
				known = append(known, m)
			}
		}
		c.messages = nil
		for _, m := range known {
			switch m.Role {
			case agui.RoleActivity:
				m.Content = json.RawMessage(encode(t, m.Content))
			case agui.RoleTool:
				m.Content = encode(t, m.Content)
			case agui.RoleAssistant, agui.RoleReasoning:
				if m.Content == nil {
					m.Content = ""
				}
			}
			m.Metadata = nil
			for i := range m.ToolCalls {
				m.ToolCalls[i].Metadata = nil
			}
			c.messages = append(c.messages, m)
		}
	}
}

func encode(t testing.TB, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same fails unless the client's messages are the folded blocks by the table
// of the package comment.
func (c *client) same(t testing.TB, view wire.View, st event.State) {
	t.Helper()
	var order []string
	reasoning, tools := "", 0
	for _, m := range c.messages {
		switch {
		case m.Role == agui.RoleReasoning:
			reasoning += m.Content.(string)
		case m.ToolCalls != nil || m.Role == agui.RoleTool:
			tools++
		case !strings.Contains(m.ID, "~"):
			order = append(order, m.ID)
		}
	}
	var want []string
	for _, b := range st.Blocks {
		want = append(want, b.ID)
		var last agui.Message
		for _, m := range c.messages {
			if m.ID == b.ID || strings.HasPrefix(m.ID, b.ID+"~") {
				last = m
			}
		}
		if b.Type != "text" && view.Caps.Can(b.Type, b.Version) {
			var got, full any
			if err := json.Unmarshal(last.Content.(json.RawMessage), &got); err != nil {
				t.Fatal(err)
			}
			if err := json.Unmarshal([]byte(encode(t, b)), &full); err != nil {
				t.Fatal(err)
			}
			if last.ActivityType != (block.Type{Name: b.Type}).FullName() || !reflect.DeepEqual(got, full) {
				t.Fatalf("block %s is\n%s %s\nwant\n%s", b.ID, last.ActivityType, last.Content, encode(t, b))
			}
		} else if text := view.Registry.Stand(b); last.Role != agui.RoleAssistant || b.Status != block.StatusLoading && last.Content != text {
			t.Fatalf("block %s is %q, want %q", b.ID, last.Content, text)
		}
	}
	if !slices.Equal(order, want) {
		t.Fatalf("messages %v, want %v", order, want)
	}
	if !view.Reasoning {
		st.Reasoning = ""
	}
	calls := 0
	for _, a := range st.Tools {
		switch {
		case !view.Tools && !a.Client:
		case a.Status == event.ToolRunning:
			calls++
		default:
			calls += 2
		}
	}
	if reasoning != st.Reasoning || tools != calls && !st.Open {
		t.Fatalf("reasoning %q, want %q; %d messages of tools, want %d", reasoning, st.Reasoning, tools, calls)
	}
}

func TestLogsComeToTheFold(t *testing.T) {
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			t.Run(name+"/"+reader, func(t *testing.T) {
				c := read(t, view.Version, write(t, view, events, 0))
				c.same(t, view, fold(events))
				if c.last != events[len(events)-1].Seq {
					t.Errorf("the last id is %d", c.last)
				}
				// So it does at every event on the way.
				for n := 1; n < len(events); n += step(events) {
					read(t, view.Version, write(t, view, events[:n], 0)).same(t, view, fold(events[:n]))
				}
			})
		}
	}
}

func TestLogsCutAnywhere(t *testing.T) {
	cuts := 0
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			whole := write(t, view, events, 0)
			for n := 1; n < len(events); n += step(events) {
				cuts++
				if write(t, view, events[:n], 0)+write(t, view, events, events[n-1].Seq) != whole {
					t.Fatalf("%s as %s: cut after %d and resumed differs", name, reader, events[n-1].Seq)
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// lawful draws a log that a guard lets pass.
func lawful(t *rapid.T) []event.Event {
	guard := event.NewGuard("m_1")
	events := []event.Event{{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1700000000000}`)}}
	if err := guard.Check(events[0]); err != nil {
		t.Fatal(err)
	}
	add := func(typ event.Type, id string, data json.RawMessage) {
		group := events[len(events)-1].Group
		if events[len(events)-1].Type.Terminal() {
			group++
		}
		ev := event.Event{Seq: uint64(len(events) + 1), At: int64(len(events)), Group: group, Type: typ, Msg: "m_1", Block: id, Data: data}
		if guard.Check(ev) == nil {
			events = append(events, ev)
		}
	}
	types := []string{"text", "chart", "table", "inlay.chart", "app.seat_map"}
	values := []string{`{"n":1}`, `{"n":2,"rows":[]}`, `null`, `[1,{"a/b":null}]`, `"words"`}
	texts := []string{"a", "", "词\n", "\"q\"\\", "<b>"}
	end := func() {
		for id := range len(types) {
			if rapid.Bool().Draw(t, "fails") {
				add(event.BlockError, fmt.Sprint("b_", id), json.RawMessage(`{"code":"TOOL_TIMEOUT","message":"m","retryable":true,"fallback":"late"}`))
			} else {
				add(event.BlockEnd, fmt.Sprint("b_", id), json.RawMessage(`{"type":"`+types[id]+`","version":1,"built":true,"fallback":"f"}`))
				add(event.TextEnd, fmt.Sprint("b_", id), event.EmptyData)
			}
		}
		if rapid.IntRange(0, 3).Draw(t, "error") == 0 {
			add(event.Error, "", json.RawMessage(`{"code":"model_timeout","message":"m","retryable":true}`))
		} else {
			add(event.Done, "", json.RawMessage(`{"finishReason":"`+rapid.SampledFrom([]string{"stop", "paused", "cancelled"}).Draw(t, "reason")+`","usage":{"inputTokens":1,"outputTokens":2}}`))
		}
	}
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		i := rapid.IntRange(0, len(types)-1).Draw(t, "block")
		id, typ := fmt.Sprint("b_", i), types[i]
		value := rapid.SampledFrom(values).Draw(t, "value")
		text := rapid.SampledFrom(texts).Draw(t, "text")
		tool := json.RawMessage(`{"toolCallId":"t` + fmt.Sprint(i) + `","name":"n","status":"ok"}`)
		switch rapid.IntRange(0, 17).Draw(t, "kind") {
		case 0, 1:
			add(event.TextDelta, "b_0", event.TextData(text))
		case 2:
			add(event.TextEnd, "b_0", event.EmptyData)
		case 3, 4:
			add(event.BlockStart, id, json.RawMessage(`{"type":"`+typ+`","version":1,"meta":{"title":"t"}}`))
		case 5, 6:
			op := rapid.SampledFrom([]string{
				`[{"op":"add","path":"","value":` + value + `}]`, `[{"op":"replace","path":"","value":` + value + `}]`,
				`[{"op":"add","path":"/rows","value":[]},{"op":"add","path":"/rows/-","value":` + value + `}]`,
				`[{"op":"copy","from":"","path":"/x~1y"}]`, `[{"op":"move","from":"/rows","path":""}]`, `[{"op":"copy","from":"/n","path":""}]`,
				`[{"op":"test","path":"","value":null},{"op":"add","path":"","value":{"n":3}}]`, `[{"op":"remove","path":"/n"}]`, `[]`,
				`[{"op":"test","path":"/n","value":1},{"op":"replace","path":"/n","value":` + value + `}]`,
			}).Draw(t, "patch")
			add(event.BlockDelta, id, json.RawMessage(`{"patch":`+op+`}`))
		case 7:
			if i == 0 {
				value = string(encodeText(text))
			}
			add(event.BlockEnd, id, json.RawMessage(`{"type":"`+typ+`","version":1,"payload":`+value+`,"fallback":`+string(encodeText(text))+`}`))
		case 8:
			add(event.BlockError, id, json.RawMessage(`{"code":"TOOL_TIMEOUT","message":"m","retryable":true}`))
		case 9:
			add(event.BlockState, id, json.RawMessage(`{"state":`+value+`,"rev":`+fmt.Sprint(len(events)+1)+`}`))
		case 10:
			add(event.ReasoningDelta, "", event.TextData(text))
		case 11:
			add(event.ToolCallStart, "", tool)
		case 12:
			add(event.ToolCallEnd, "", tool)
		case 13:
			add(event.PendingQuestionStart, id, json.RawMessage(`{"questionId":"`+id+`","prompt":"?","options":[{"id":"a"}]}`))
		case 14:
			end()
		case 15, 16:
			own := json.RawMessage(`{"toolCallId":"c` + fmt.Sprint(i) + `","name":"n","client":true`)
			add(event.ToolCallStart, "", append(slices.Clone(own), '}'))
			add(event.ClientToolCall, "", json.RawMessage(`{"toolCallId":"c`+fmt.Sprint(i)+`","name":"n","arguments":{"v":`+value+`}}`))
			if rapid.Bool().Draw(t, "answered") {
				end()
				add(event.ToolCallEnd, "", append(slices.Clone(own), `,"status":"ok"}`...))
			}
		case 17:
			add(event.AppState, "", json.RawMessage(`{"state":`+value+`}`))
		}
	}
	end()
	return events
}

func encodeText(s string) []byte {
	d := event.TextData(s)
	return d[len(`{"delta":`) : len(d)-1]
}

func TestLawfulLogsComeToTheFold(t *testing.T) {
	views := readers(t)
	rapid.Check(t, func(rt *rapid.T) {
		events := lawful(rt)
		for _, view := range views {
			whole := write(t, view, events, 0)
			read(t, view.Version, whole).same(t, view, fold(events))
			n := rapid.IntRange(1, len(events)).Draw(rt, "cut")
			if write(t, view, events[:n], 0)+write(t, view, events, events[n-1].Seq) != whole {
				rt.Fatalf("cut after %d and resumed differs", n)
			}
			rejoin(t, view, events, rapid.IntRange(0, n).Draw(rt, "read"), n, read(t, view.Version, whole))
		}
	})
}

// without leaves out the messages of a role.
func without(messages []agui.Message, roles ...string) []agui.Message {
	return slices.DeleteFunc(slices.Clone(messages), func(m agui.Message) bool { return slices.Contains(roles, m.Role) })
}

func thoughts(messages []agui.Message) (all string) {
	for _, m := range messages {
		if m.Role == agui.RoleReasoning {
			all += m.Content.(string)
		}
	}
	return all
}

// equal fails unless a client that came back has what one has that never left.
// The client's own order stands for what it had, so that results of tools may
// be further down; thoughts may be in more messages.
func equal(t testing.TB, fresh bool, got, want *client) {
	t.Helper()
	skip := []string{agui.RoleReasoning}
	if !fresh {
		skip = append(skip, agui.RoleTool)
		results := func(c *client) []agui.Message {
			out := without(c.messages, agui.RoleAssistant, agui.RoleActivity, agui.RoleReasoning, agui.RoleUser)
			slices.SortFunc(out, func(a, b agui.Message) int { return strings.Compare(a.ID, b.ID) })
			return out
		}
		if g, w := results(got), results(want); !reflect.DeepEqual(g, w) && len(g)+len(w) > 0 {
			t.Fatalf("results\n%s\nwant\n%s", encode(t, g), encode(t, w))
		}
	}
	if g, w := without(got.messages, skip...), without(want.messages, skip...); !sameMessages(t, g, w) {
		t.Fatalf("messages\n%s\nwant\n%s", encode(t, g), encode(t, w))
	}
	if g, w := thoughts(got.messages), thoughts(want.messages); g != w {
		t.Fatalf("thoughts %q, want %q", g, w)
	}
	if !reflect.DeepEqual(got.interrupts, want.interrupts) || string(got.state) != string(want.state) {
		t.Fatalf("waits for %+v, state %s; want %+v, %s", got.interrupts, got.state, want.interrupts, want.state)
	}
}

func sameMessages(t testing.TB, got, want []agui.Message) bool {
	t.Helper()
	var g, w any
	if err := json.Unmarshal([]byte(encode(t, got)), &g); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(encode(t, want)), &w); err != nil {
		t.Fatal(err)
	}
	return len(got) == 0 && len(want) == 0 || reflect.DeepEqual(g, w)
}

// rejoin lets a client come that read some of the events, or none, when others
// were written since.
func rejoin(t testing.TB, view wire.View, events []event.Event, read_, written int, whole *client) {
	t.Helper()
	c := &client{messages: slices.Clone(history)}
	if read_ == 0 {
		c.messages = nil
	} else {
		c.read(t, view.Version, write(t, view, events[:read_], 0))
	}
	c.read(t, view.Version, rejoined(t, view, events, written))
	if len(c.messages) == 0 || c.messages[0].ID != "m_user" {
		t.Fatalf("the history is lost: %s", encode(t, c.messages))
	}
	c.messages = c.messages[1:]
	equal(t, read_ == 0, c, whole)
	if len(c.runs) == 0 || c.runs[len(c.runs)-1] != whole.runs[len(whole.runs)-1] {
		t.Fatalf("runs end with %v, want %v", c.runs, whole.runs)
	}
}

// Whoever comes back has what it would have had without leaving, whatever it
// held.
func TestRejoin(t *testing.T) {
	times := 0
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			t.Run(name+"/"+reader, func(t *testing.T) {
				whole := read(t, view.Version, write(t, view, events, 0))
				for n := 1; n <= len(events); n += max(1, len(events)/8) {
					for _, had := range []int{0, n, max(1, n/2)} {
						rejoin(t, view, events, had, n, whole)
						times++
					}
				}
			})
		}
	}
	t.Logf("%d times", times)
}

// A snapshot on the way, for a reader that fell behind, adds what is missing.
func TestSnapshotOnTheWay(t *testing.T) {
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			for n := 1; n <= len(events); n += step(events) {
				st := fold(events[:n])
				snap := event.Event{Seq: st.Seq, Group: 1, Type: event.Snapshot, Msg: events[0].Msg}
				var err error
				if snap.Data, err = json.Marshal(event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status, Reasoning: st.Reasoning, Tools: st.Tools}); err != nil {
					t.Fatal(err)
				}
				enc, err := agui.New(view, wire.Run{Msg: events[0].Msg})
				if err != nil {
					t.Fatal(err)
				}
				f := event.NewFolder("")
				var out []byte
				for _, ev := range slices.Concat(events[:n/2], []event.Event{snap}, events[n:]) {
					f.Apply(ev)
					if out, err = enc.Append(out, ev); err != nil {
						t.Fatal(err)
					}
				}
				if out, err = enc.End(out); err != nil {
					t.Fatal(err)
				}
				c, want := read(t, view.Version, string(out)), f.State()
				c.same(t, view, want)
				if len(c.runs) == 0 && want.Status != event.StatusRunning {
					t.Fatalf("%s as %s from %d: no run ends", name, reader, n)
				}
			}
		}
	}
}

// step leaves out most places of a long log.
func step(events []event.Event) int { return max(1, len(events)/20) }

func TestMessagesAreWhatAClientHas(t *testing.T) {
	for _, events := range logs(t) {
		for _, view := range readers(t) {
			enc, err := agui.New(view, wire.Run{Msg: events[0].Msg})
			if err != nil {
				t.Fatal(err)
			}
			st := fold(events)
			c := &client{}
			for _, m := range enc.Messages(st.Blocks) {
				if m.Role == agui.RoleActivity {
					m.Content = json.RawMessage(encode(t, m.Content))
				}
				c.messages = append(c.messages, m)
			}
			st.Tools, st.Reasoning = nil, ""
			c.same(t, view, st)
		}
	}
}

func TestRunsAndOutcomes(t *testing.T) {
	all := logs(t)
	runs := func(log, reader string) (out []string) {
		c := read(t, readers(t)[reader].Version, write(t, readers(t)[reader], all[log], 0))
		for _, f := range c.events {
			switch f.Type {
			case agui.RunStarted:
				out = append(out, "start "+f.RunID+" "+f.ParentRunID+" "+f.ProtocolVersion)
			case agui.RunError:
				out = append(out, "error "+f.Code+" "+f.Message)
			case agui.RunFinished:
				what := "finish"
				if f.Outcome != nil {
					what += " " + f.Outcome.Type
					for _, i := range f.Outcome.Interrupts {
						what += " " + i.ID + " " + i.Reason + " " + i.Message + " " + i.ExpiresAt + " " + string(i.ResponseSchema)
					}
				}
				out = append(out, what)
			}
		}
		return out
	}
	const msg = "m_01990f3a-5c00-7000-8000-000000000001"
	for _, c := range []struct {
		log, reader string
		want        []string
	}{
		{"plain-text", "both", []string{"start " + msg + "  ", "finish"}},
		{"plain-text", "v1", []string{"start " + msg + "  1.0", "finish"}},
		{"cancelled", "both", []string{"start " + msg + "  ", "finish"}},
		{"cancelled", "v1", []string{"start " + msg + "  1.0", "finish cancelled"}},
		{"model-error", "v1", []string{"start " + msg + "  1.0", "error model_unavailable The model cannot be reached."}},
		{"error-then-retry-of-a-block", "both", []string{"start " + msg + "  ", "error model_timeout No answer in time.", "start " + msg + "~2 " + msg + " ", "finish"}},
		{"pause-and-answer", "both", []string{
			"start " + msg + "  ",
			`finish interrupt b_01990f3a-5c00-7000-8000-000000000002 input_required Which quarter? 2026-07-01T10:10:00Z {"type":"object","properties":{"answer":{"type":"string","enum":["q2","q3"]}},"required":["answer"]}`,
			"start " + msg + "~2 " + msg + " ", "finish",
		}},
		// A client that does not draw questions is asked all the same.
		{"pause-and-answer", "text", []string{
			"start " + msg + "  ",
			`finish interrupt b_01990f3a-5c00-7000-8000-000000000002 input_required Which quarter? 2026-07-01T10:10:00Z {"type":"object","properties":{"answer":{"type":"string","enum":["q2","q3"]}},"required":["answer"]}`,
			"start " + msg + "~2 " + msg + " ", "finish",
		}},
	} {
		if got := runs(c.log, c.reader); !slices.Equal(got, c.want) {
			t.Errorf("%s as %s:\n%s\nwant\n%s", c.log, c.reader, strings.Join(got, "\n"), strings.Join(c.want, "\n"))
		}
	}
}

func TestForeignIDs(t *testing.T) {
	enc, err := agui.New(readers(t)["both"], wire.Run{Msg: "m_1", Conversation: "c_1", ThreadID: "thread", RunID: "run"})
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Append(nil, event.Event{Seq: 1, Group: 1, Type: event.Start, Data: json.RawMessage(`{"conversationId":"c_1","ts":5}`)})
	if err != nil || !strings.Contains(string(out), `"threadId":"thread","runId":"run"`) {
		t.Errorf("%s, %v", out, err)
	}
}

func TestLargePayloadIsSentOnce(t *testing.T) {
	value := `"` + strings.Repeat("x", 100<<10) + `"`
	events := []event.Event{
		{Seq: 1, Group: 1, Type: event.Start, Msg: "m", Data: json.RawMessage(`{"conversationId":"c","ts":1}`)},
		{Seq: 2, Group: 1, Type: event.BlockStart, Msg: "m", Block: "b", Data: json.RawMessage(`{"type":"table","version":1,"meta":{"title":"T"}}`)},
		{Seq: 3, Group: 1, Type: event.BlockDelta, Msg: "m", Block: "b", Data: json.RawMessage(`{"patch":[{"op":"replace","path":"","value":{"big":` + value + `}}]}`)},
		{Seq: 4, Group: 1, Type: event.BlockEnd, Msg: "m", Block: "b", Data: json.RawMessage(`{"type":"table","version":1,"built":true,"fallback":"f"}`)},
		{Seq: 5, Group: 1, Type: event.Done, Msg: "m", Data: json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}`)},
		{Seq: 6, Group: 2, Type: event.BlockStart, Msg: "m", Block: "b", Data: json.RawMessage(`{"type":"table","version":1}`)},
		{Seq: 7, Group: 2, Type: event.BlockError, Msg: "m", Block: "b", Data: json.RawMessage(`{"code":"TOOL_TIMEOUT","message":"m","retryable":true}`)},
		{Seq: 8, Group: 2, Type: event.Done, Msg: "m", Data: json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}`)},
	}
	for _, reader := range []string{"both", "v1"} {
		view := readers(t)[reader]
		out := write(t, view, events, 0)
		read(t, view.Version, out).same(t, view, fold(events))
		if len(out) > 110<<10 {
			t.Errorf("%d bytes for a payload of %d", len(out), len(value))
		}
	}
}

func TestTypesAreTheVocabulary(t *testing.T) {
	types := map[agui.EventType]any{
		agui.RunStarted: agui.RunStartedEvent{}, agui.RunFinished: agui.RunFinishedEvent{}, agui.RunError: agui.RunErrorEvent{},
		agui.StepStarted: agui.StepEvent{}, agui.StepFinished: agui.StepEvent{},
		agui.TextMessageStart: agui.TextMessageStartEvent{}, agui.TextMessageContent: agui.MessageDeltaEvent{}, agui.TextMessageEnd: agui.MessageEvent{}, agui.TextMessageChunk: agui.TextMessageChunkEvent{},
		agui.ToolCallStart: agui.ToolCallStartEvent{}, agui.ToolCallArgs: agui.ToolCallArgsEvent{}, agui.ToolCallEnd: agui.ToolCallEndEvent{}, agui.ToolCallChunk: agui.ToolCallChunkEvent{}, agui.ToolCallResult: agui.ToolCallResultEvent{},
		agui.StateSnapshot: agui.StateSnapshotEvent{}, agui.StateDelta: agui.StateDeltaEvent{}, agui.MessagesSnapshot: agui.MessagesSnapshotEvent{},
		agui.ActivitySnapshot: agui.ActivitySnapshotEvent{}, agui.ActivityDelta: agui.ActivityDeltaEvent{}, agui.Raw: agui.RawEvent{}, agui.Custom: agui.CustomEvent{},
		agui.ReasoningStart: agui.MessageEvent{}, agui.ReasoningEnd: agui.MessageEvent{}, agui.ReasoningMessageStart: agui.ReasoningMessageStartEvent{}, agui.ReasoningMessageContent: agui.MessageDeltaEvent{},
		agui.ReasoningMessageEnd: agui.MessageEvent{}, agui.ReasoningMessageChunk: agui.ReasoningMessageChunkEvent{}, agui.ReasoningEncryptedValue: agui.ReasoningEncryptedValueEvent{},
		agui.SubagentStarted: agui.SubagentStartedEvent{}, agui.SubagentFinished: agui.SubagentFinishedEvent{}, agui.SubagentError: agui.SubagentErrorEvent{},
	}
	if len(types) != 31 {
		t.Errorf("%d types", len(types))
	}
	// The members of each struct, with what a struct calls optional.
	fields := func(rt reflect.Type) (out []string) {
		for _, f := range reflect.VisibleFields(rt) {
			if f.Anonymous {
				continue
			}
			name, rest, _ := strings.Cut(f.Tag.Get("json"), ",")
			if rest != "" {
				name += "?"
			}
			out = append(out, name)
		}
		slices.Sort(out)
		return out
	}
	for typ, v := range types {
		got := fields(reflect.TypeOf(v))
		want := agui.Members(typ)
		for i, name := range want {
			// A subagent's own events have what is optional elsewhere.
			if name == "subagentRunId" {
				want[i] = "subagentRunId?"
			}
		}
		slices.Sort(want)
		if !slices.Equal(got, want) {
			t.Errorf("%s has %v, want %v", typ, got, want)
		}
	}
}

func TestDeltasAreWrittenAsTheStructIs(t *testing.T) {
	view := readers(t)["both"]
	for _, text := range []string{"East leads", "词\n\"q\" \\ <b>&\u2028", ""} {
		events := []event.Event{
			{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c","ts":1700000000000}`)},
			{Seq: 2, At: 5, Group: 1, Type: event.TextDelta, Msg: "m_1", Block: "b_1", Data: event.TextData("a")},
			{Seq: 3, At: 6, Group: 1, Type: event.TextDelta, Msg: "m_1", Block: "b_1", Data: event.TextData(text)},
		}
		got := write(t, view, events, 2)
		if text == "" {
			if got != "id: 3\n\n" {
				t.Errorf("an empty delta is %q", got)
			}
			continue
		}
		want := agui.MessageDeltaEvent{MessageID: "b_1", Delta: text}
		want.Type, want.Timestamp = agui.TextMessageContent, 1700000000006
		want.Metadata = agui.Metadata{"inlay": agui.Envelope{V: 1, MsgID: "m_1", BlockID: "b_1", Seq: 3}}
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(want); err != nil {
			t.Fatal(err)
		}
		if got != "data: "+b.String()+"id: 3\n\n" {
			t.Errorf("got\n%swant\n%s", got, b.String())
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := agui.New(wire.View{}, wire.Run{Msg: "m"}); err == nil {
		t.Error("an encoder without a registry")
	}
	enc, err := agui.New(wire.View{Registry: registry(t), Version: "1.3"}, wire.Run{Msg: "m"})
	if err != nil || enc.Stateless() || enc.ContentType() != "text/event-stream" {
		t.Errorf("%+v, %v", enc, err)
	}
	if _, err := agui.New(wire.View{Registry: registry(t), Version: "2.0"}, wire.Run{Msg: "m"}); err == nil {
		t.Error("an encoder of an unknown version")
	}
}

func TestEventsTwiceAndNonsense(t *testing.T) {
	enc, err := agui.New(readers(t)["both"], wire.Run{Msg: "m_1"})
	if err != nil {
		t.Fatal(err)
	}
	var out []byte
	for seq, ev := range []event.Event{
		{Type: event.Start, Data: json.RawMessage(`{"conversationId":"c","ts":1}`)},
		{Type: "later_invention", Data: json.RawMessage(`{}`)},
		{Type: event.BlockEnd, Block: "b", Data: json.RawMessage(`7`)},
		{Type: event.ToolCallStart, Data: json.RawMessage(`[]`)},
		{Type: event.Annotation, Block: "b", Data: json.RawMessage(`{`)},
		{Type: event.TextDelta, Block: "b", Data: json.RawMessage(`{"delta":7}`)},
		{Type: event.Done},
	} {
		ev.Seq, ev.Msg, ev.Group = uint64(seq+1), "m_1", 1
		for range 2 {
			if out, err = enc.Append(out, ev); err != nil {
				t.Fatal(err)
			}
		}
	}
	c := read(t, "", string(out))
	if c.last != 7 || len(c.runs) != 1 {
		t.Errorf("%s", out)
	}
	if _, err := enc.Append(nil, event.Event{Seq: 8, Type: event.Snapshot, Data: json.RawMessage(`7`)}); err == nil {
		t.Error("a snapshot that is none was written")
	}
}

func BenchmarkAppend(b *testing.B) {
	enc, err := agui.New(readers(b)["both"], wire.Run{Msg: "m_1"})
	if err != nil {
		b.Fatal(err)
	}
	ev := event.Event{At: 123, Group: 1, Type: event.TextDelta, Msg: "m_1", Block: "b_1", Data: json.RawMessage(`{"delta":"East leads"}`)}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		ev.Seq++
		dst, _ = enc.Append(dst[:0], ev)
	}
}
