package native_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/native"
)

const msg = "m_01"

func registry(t testing.TB) *block.Registry {
	t.Helper()
	kind := func(name string) block.Type {
		return block.Type{
			Name: name, Version: 1, Schema: json.RawMessage(`{}`), Description: "A sample type.",
			Fallback: func(json.RawMessage) string { return "derived" },
		}
	}
	r, err := block.NewRegistry(kind("chart"), kind("query"), kind("text"))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// encode feeds events to a fresh encoder and returns the frames after a seq.
func encode(t testing.TB, view wire.View, events []event.Event, after uint64) string {
	t.Helper()
	enc, err := native.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Begin(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if ev.Seq <= after && enc.Stateless() {
			continue
		}
		keep := len(out)
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatalf("event %d: %v", ev.Seq, err)
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

// log numbers events that are written as type, block and data.
func log(rows ...[3]string) []event.Event {
	var out []event.Event
	group := 1
	for i, row := range rows {
		ev := event.Event{Seq: uint64(i + 1), At: int64(10 * i), Group: group, Type: event.Type(row[0]), Msg: msg, Block: row[1]}
		if row[2] != "" {
			ev.Data = json.RawMessage(row[2])
		}
		if ev.Type.Terminal() {
			group++
		}
		out = append(out, ev)
	}
	return out
}

func sample() []event.Event {
	return log(
		[3]string{"start", "", `{"conversationId":"c_1","ts":1700000000000,"x-unknown":true}`},
		[3]string{"reasoning_delta", "", `{"delta":"hm"}`},
		[3]string{"text_delta", "b_t", `{"delta":"各区域\n"}`},
		[3]string{"text_end", "b_t", `{}`},
		[3]string{"tool_call_start", "", `{"toolCallId":"t1","name":"sales"}`},
		[3]string{"block_start", "b_c", `{"type":"chart","version":1,"meta":{"title":"Sales"}}`},
		[3]string{"text_delta", "b_u", `{"delta":"meanwhile"}`},
		[3]string{"text_end", "b_u", ``},
		[3]string{"block_delta", "b_c", `{"patch":[{"op":"replace","path":"","value":{"a":1}}]}`},
		[3]string{"block_end", "b_c", `{"type":"chart","version":1,"payload":{"a":1},"fallback":"East \"320\"\nWest 1"}`},
		[3]string{"block_state", "b_c", `{"state":{"seen":true},"rev":2}`},
		[3]string{"tool_call_end", "", `{"toolCallId":"t1","name":"sales","status":"ok","durationMs":5}`},
		[3]string{"block_end", "b_q", `{"type":"inlay.query","version":1,"payload":{"s":"<b>&"}}`},
		[3]string{"annotation", "b_c", `{"kind":"ungrounded"}`},
		[3]string{"block_start", "b_f", `{"type":"chart","version":1}`},
		[3]string{"block_error", "b_f", `{"code":"DATA_FETCH_FAILED","message":"no data","retryable":true,"fallback":"no chart"}`},
		[3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`},
		[3]string{"block_start", "b_f", `{"type":"chart","version":1}`},
		[3]string{"block_end", "b_f", `{"type":"chart","version":1,"payload":{"b":2},"fallback":"now"}`},
		[3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}`},
	)
}

func views(t testing.TB) map[string]wire.View {
	r := registry(t)
	return map[string]wire.View{
		"undeclared": {Registry: r, Tools: true, Reasoning: true},
		"quiet":      {Registry: r},
		"charts":     {Registry: r, Caps: r.Negotiate("chart@1", true), Tools: true},
		"queries":    {Registry: r, Caps: r.Negotiate("query@1,Bad", true), Tools: true, Reasoning: true},
		"text only":  {Registry: r, Caps: r.Negotiate("", true)},
	}
}

func TestEnvelope(t *testing.T) {
	r := registry(t)
	got := encode(t, wire.View{Registry: r}, []event.Event{
		{Seq: 12, At: 123, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: json.RawMessage(`{"delta":"East leads"}`)},
		{Seq: 13, At: 124, Group: 2, Type: event.Done, Msg: msg},
	}, 0)
	want := "id: 12\nevent: text_delta\ndata: {\"v\":1,\"msgId\":\"m_01\",\"blockId\":\"b_1\",\"seq\":12,\"group\":1,\"at\":123,\"data\":{\"delta\":\"East leads\"}}\n\n" +
		"id: 13\nevent: done\ndata: {\"v\":1,\"msgId\":\"m_01\",\"seq\":13,\"group\":2,\"at\":124,\"data\":{}}\n\n"
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestDataStaysOnOneLine(t *testing.T) {
	ev := event.Event{Seq: 1, Type: event.BlockEnd, Msg: msg, Block: "b", Data: json.RawMessage("{\"type\":\"chart\",\r\n\"version\":1,\n\"payload\":{\"s\":\"a\\nb\"}}")}
	got := encode(t, wire.View{Registry: registry(t)}, []event.Event{ev}, 0)
	if n := strings.Count(got, "\n"); n != 4 || strings.Contains(got, "\r") {
		t.Errorf("a frame with line ends inside: %q", got)
	}
	if !strings.Contains(got, `"s":"a\nb"`) {
		t.Errorf("a string changed: %q", got)
	}
}

// read parses what was written and folds it, as a client would.
func read(t *testing.T, stream string) (frames []event.Event, state event.State) {
	t.Helper()
	f := event.NewFolder(msg)
	last := uint64(0)
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		lines := strings.Split(part, "\n")
		id, err := strconv.ParseUint(strings.TrimPrefix(lines[0], "id: "), 10, 64)
		if err != nil || id <= last {
			t.Fatalf("frame %q: ids must grow (last %d)", part, last)
		}
		last = id
		if len(lines) == 1 {
			frames = append(frames, event.Event{Seq: id})
			continue
		}
		if len(lines) != 3 {
			t.Fatalf("frame %q", part)
		}
		var env struct {
			V       int
			MsgID   string
			BlockID string
			Seq     uint64
			Group   int
			At      int64
			Data    json.RawMessage
		}
		dec := json.NewDecoder(strings.NewReader(strings.TrimPrefix(lines[2], "data: ")))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&env); err != nil || env.V != 1 || env.Seq != id || env.MsgID != msg {
			t.Fatalf("frame %q: %v", part, err)
		}
		ev := event.Event{Seq: id, At: env.At, Group: env.Group, Type: event.Type(strings.TrimPrefix(lines[1], "event: ")), Msg: msg, Block: env.BlockID, Data: env.Data}
		frames = append(frames, ev)
		f.Apply(ev)
	}
	return frames, f.State()
}

// Every event is one frame, in every view, and what a reader folds is what the
// log folds to, with text in place of what the reader cannot draw.
func TestEveryEventIsOneFrame(t *testing.T) {
	events := sample()
	whole := event.NewFolder(msg)
	for _, ev := range events {
		whole.Apply(ev)
	}
	for name, view := range views(t) {
		t.Run(name, func(t *testing.T) {
			frames, state := read(t, encode(t, view, events, 0))
			if len(frames) != len(events) {
				t.Fatalf("%d frames of %d events", len(frames), len(events))
			}
			want := whole.State()
			if state.Seq != want.Seq || state.Status != want.Status || len(state.Blocks) != len(want.Blocks) {
				t.Fatalf("state %d %s with %d blocks, want %d %s with %d", state.Seq, state.Status, len(state.Blocks), want.Seq, want.Status, len(want.Blocks))
			}
			for i, b := range state.Blocks {
				full := want.Blocks[i]
				if b.ID != full.ID || b.Status != full.Status {
					t.Errorf("block %d is %s %s, want %s %s", i, b.ID, b.Status, full.ID, full.Status)
				}
				if view.Caps.Can(full.Type, full.Version) {
					if b.Type != full.Type || !bytes.Equal(b.Payload, full.Payload) {
						t.Errorf("block %s differs: %s %s", b.ID, b.Type, b.Payload)
					}
					continue
				}
				if b.Type != "text" || b.Actions != nil || b.Meta != nil {
					t.Errorf("block %s is not plain text: %+v", b.ID, b)
				}
				var text string
				if err := json.Unmarshal(b.Payload, &text); err != nil || text == "" {
					t.Errorf("block %s has no text: %s", b.ID, b.Payload)
				}
			}
		})
	}
}

// Of a block that is not drawn a reader has what stands for it, wherever the
// log speaks of the block.
func TestNothingOfAHiddenBlock(t *testing.T) {
	events := log(
		[3]string{"start", "", `{"conversationId":"c_1","ts":1}`},
		[3]string{"block_start", "b_q", `{"type":"query","version":1,"meta":{"title":"Title","source":"Source"}}`},
		[3]string{"block_delta", "b_q", `{"patch":[{"op":"add","path":"","value":{"secret":1}}]}`},
		[3]string{"block_end", "b_q", `{"type":"query","version":1,"built":true,"digest":"d","fallback":"In words","actions":[{"id":"a","label":"A","kind":"prompt"}],"state":{"s":1}}`},
		[3]string{"block_state", "b_q", `{"state":{"s":2},"rev":2}`},
		[3]string{"annotation", "b_q", `{"kind":"ungrounded"}`},
		[3]string{"pending_question_start", "b_q", `{"questionId":"b_q","prompt":"Which?"}`},
		[3]string{"block_start", "b_f", `{"type":"query","version":1}`},
		[3]string{"block_error", "b_f", `{"code":"TOOL_TIMEOUT","message":"Account 4711 did not answer.","retryable":true}`},
		[3]string{"text_delta", "b_t", `{"delta":"Text."}`},
		[3]string{"annotation", "b_t", `{"kind":"ungrounded"}`},
	)
	const words = "This part of the answer could not be shown."
	want := map[uint64]string{
		2:  `block_start {"type":"text","version":1}`,
		4:  `block_end {"type":"text","version":1,"payload":"In words"}`,
		7:  `pending_question_start {"questionId":"b_q"}`,
		8:  `block_start {"type":"text","version":1}`,
		9:  `block_error {"code":"TOOL_TIMEOUT","message":"` + words + `","retryable":true,"fallback":"[query: Account 4711 did not answer.]"}`,
		10: `text_delta {"delta":"Text."}`,
		11: `annotation {"kind":"ungrounded"}`,
	}
	frames, _ := read(t, encode(t, views(t)["charts"], events, 1))
	for _, f := range frames {
		got := strings.TrimSpace(string(f.Type) + " " + string(f.Data))
		if got != want[f.Seq] {
			t.Errorf("event %d is %s, want %s", f.Seq, got, want[f.Seq])
		}
	}
}

// A block that comes back in a major that the reader cannot draw is not told
// of: its type cannot change under a reader.
func TestAnotherMajorStaysUntold(t *testing.T) {
	kind := func(v int) block.Type {
		return block.Type{Name: "app.card", Version: v, Schema: json.RawMessage(`{}`), Fallback: func(json.RawMessage) string { return "card" }}
	}
	r, err := block.NewRegistry(kind(1), kind(2))
	if err != nil {
		t.Fatal(err)
	}
	events := log(
		[3]string{"start", "", `{"conversationId":"c_1","ts":1}`},
		[3]string{"block_end", "b_1", `{"type":"app.card","version":1,"payload":{"n":1},"fallback":"One"}`},
		[3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`},
		[3]string{"block_start", "b_1", `{"type":"app.card","version":2}`},
		[3]string{"block_delta", "b_1", `{"patch":[{"op":"add","path":"/n","value":2}]}`},
		[3]string{"block_end", "b_1", `{"type":"app.card","version":2,"payload":{"n":2},"fallback":"Two"}`},
		[3]string{"block_state", "b_1", `{"state":{},"rev":2}`},
		[3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":0,"outputTokens":0}}`},
	)
	view := wire.View{Registry: r, Caps: r.Negotiate("app.card@1", false)}
	_, state := read(t, encode(t, view, events, 0))
	if b := state.Blocks[0]; len(state.Blocks) != 1 || b.Version != 1 || string(b.Payload) != `{"n":1}` || b.Status != block.StatusDone || b.State != nil {
		t.Errorf("block %+v", b)
	}
	enc, err := native.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	// Read anew, it is the text that stands for it.
	f := event.NewFolder(msg)
	for _, ev := range events {
		f.Apply(ev)
	}
	if b := enc.Degrade(f.State().Blocks)[0]; b.Type != "text" || string(b.Payload) != `"Two"` || b.State != nil {
		t.Errorf("stored block %+v", b)
	}
}

func TestCutAnywhereAndResumed(t *testing.T) {
	events := sample()
	for name, view := range views(t) {
		whole := encode(t, view, events, 0)
		for cut := range uint64(len(events) + 1) {
			head := encode(t, view, events[:cut], 0)
			if got := head + encode(t, view, events, cut); got != whole {
				t.Errorf("%s: cut after %d and resumed differs from the uncut stream", name, cut)
			}
		}
	}
}

func TestStartSaysWhatWasNegotiated(t *testing.T) {
	for name, want := range map[string]string{
		"undeclared": `{"conversationId":"c_1","ts":1700000000000,"x-unknown":true,"supported_blocks":[{"namespace":"inlay","block_type":"chart","version":1},{"namespace":"inlay","block_type":"query","version":1},{"namespace":"inlay","block_type":"text","version":1}]}`,
		"queries":    `{"conversationId":"c_1","ts":1700000000000,"x-unknown":true,"supported_blocks":[{"namespace":"inlay","block_type":"query","version":1}],"rejected_capabilities":["Bad"]}`,
		"text only":  `{"conversationId":"c_1","ts":1700000000000,"x-unknown":true,"supported_blocks":[]}`,
	} {
		frames, _ := read(t, encode(t, views(t)[name], sample()[:1], 0))
		if got := string(frames[0].Data); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", name, got, want)
		}
	}
	if got := encode(t, views(t)["text only"], log([3]string{"start", "", "{ }"}), 0); !strings.Contains(got, `"data":{ "supported_blocks":[]}`) {
		t.Errorf("start without members: %s", got)
	}
	enc, err := native.New(views(t)["text only"], wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Append(nil, event.Event{Seq: 1, Type: event.Start, Data: json.RawMessage(`7`)}); err == nil {
		t.Error("a start that is no object was written")
	}
}

func TestActivityOnlyWhereAsked(t *testing.T) {
	for name, view := range views(t) {
		stream := encode(t, view, sample(), 0)
		if got := strings.Contains(stream, "event: tool_call_start"); got != view.Tools {
			t.Errorf("%s: tool activity sent: %v, want %v", name, got, view.Tools)
		}
		if got := strings.Contains(stream, "event: reasoning_delta"); got != view.Reasoning {
			t.Errorf("%s: reasoning sent: %v, want %v", name, got, view.Reasoning)
		}
	}
}

func TestSnapshot(t *testing.T) {
	events := sample()
	f := event.NewFolder(msg)
	for _, ev := range events {
		f.Apply(ev)
	}
	st := f.State()
	snap := event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status}
	var data bytes.Buffer
	plain := json.NewEncoder(&data) // keeps < and & as they are in the log
	plain.SetEscapeHTML(false)
	if err := plain.Encode(snap); err != nil {
		t.Fatal(err)
	}
	for name, view := range views(t) {
		// What is read from a snapshot is what was read live.
		_, live := read(t, encode(t, view, events, 0))
		enc, err := native.New(view, wire.Run{Msg: msg})
		if err != nil {
			t.Fatal(err)
		}
		out, err := enc.Append(nil, event.Event{Seq: st.Seq, Group: 1, Type: event.Snapshot, Msg: msg, Data: data.Bytes()})
		if err != nil {
			t.Fatal(err)
		}
		_, restored := read(t, string(out))
		if fmt.Sprint(texts(restored)) != fmt.Sprint(texts(live)) {
			t.Errorf("%s:\nsnapshot %v\nlive     %v", name, texts(restored), texts(live))
		}
		begun, err := native.New(view, wire.Run{Msg: msg})
		if err != nil {
			t.Fatal(err)
		}
		first, err := begun.Begin(nil, &snap)
		if err != nil {
			t.Fatal(err)
		}
		if _, st := read(t, string(first)); fmt.Sprint(texts(st)) != fmt.Sprint(texts(live)) {
			t.Errorf("%s: Begin with a snapshot gives %v", name, texts(st))
		}
		// The memory of what is hidden goes on from the snapshot.
		out, err = enc.Append(nil, event.Event{Seq: st.Seq + 1, Group: 3, Type: event.BlockState, Msg: msg, Block: "b_c", Data: json.RawMessage(`{"state":1,"rev":3}`)})
		if err != nil {
			t.Fatal(err)
		}
		if got := strings.Contains(string(out), "block_state"); got != view.Caps.Can("chart", 1) {
			t.Errorf("%s: block_state after a snapshot sent: %v", name, got)
		}
		if got := texts(event.State{Blocks: enc.Degrade(st.Blocks)}); fmt.Sprint(got) != fmt.Sprint(texts(live)) {
			t.Errorf("%s: Degrade gives %v", name, got)
		}
	}
}

func texts(st event.State) (out []string) {
	for _, b := range st.Blocks {
		out = append(out, b.ID+" "+b.Type+" "+string(b.Status)+" "+string(b.Payload))
	}
	return out
}

func TestNewNeedsARegistry(t *testing.T) {
	if _, err := native.New(wire.View{}, wire.Run{Msg: msg}); err == nil {
		t.Error("an encoder without a registry")
	}
}

func TestAppendDoesNotAllocate(t *testing.T) {
	enc, err := native.New(wire.View{Registry: registry(t)}, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	ev := event.Event{Seq: 12, At: 123, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: json.RawMessage(`{"delta":"East leads"}`)}
	dst := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() { dst, _ = enc.Append(dst[:0], ev) }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func BenchmarkAppend(b *testing.B) {
	enc, err := native.New(wire.View{Registry: registry(b)}, wire.Run{Msg: msg})
	if err != nil {
		b.Fatal(err)
	}
	ev := event.Event{Seq: 12, At: 123, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: json.RawMessage(`{"delta":"East leads"}`)}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		dst, _ = enc.Append(dst[:0], ev)
	}
}

// TestFilesAreLinks: a reader that does not draw files or pictures gets links
// to them, in the stream, in a snapshot and in what is stored.
func TestFilesAreLinks(t *testing.T) {
	r, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	view := wire.View{Registry: r, Caps: r.Negotiate("chart@1", true)}
	const (
		file  = `{"assetId":"a_1","name":"Q3 [draft].xlsx","mime":"text/csv","size":2048}`
		image = `{"assetId":"a_2","alt":"A sample"}`
	)
	want := []string{`[Q3 \[draft\].xlsx](/v1/assets/a_1/content) (2 KB)`, `[A sample](/v1/assets/a_2/content)`}
	events := log(
		[3]string{"start", "", `{"conversationId":"c_1","ts":1}`},
		[3]string{"block_start", "b_f", `{"type":"file","version":1}`},
		[3]string{"block_delta", "b_f", `{"patch":[{"op":"add","path":"","value":{"progress":{"done":1}}}]}`},
		[3]string{"block_end", "b_f", `{"type":"file","version":1,"payload":` + file + `,"fallback":"Q3 [draft].xlsx (2 KB)"}`},
		[3]string{"block_end", "b_i", `{"type":"image","version":1,"payload":` + image + `,"fallback":"A sample"}`},
		[3]string{"done", "", `{"finishReason":"stop"}`},
	)
	said := func(blocks []block.Block) (out []string) {
		for _, b := range blocks {
			var s string
			if b.Type != "text" || json.Unmarshal(b.Payload, &s) != nil {
				t.Errorf("a block is %+v", b)
			}
			out = append(out, s)
		}
		return out
	}
	if _, st := read(t, encode(t, view, events, 0)); !slices.Equal(said(st.Blocks), want) {
		t.Errorf("stream: %q", texts(st))
	}
	fold := event.NewFolder(msg)
	for _, ev := range events {
		fold.Apply(ev)
	}
	enc, err := native.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	if got := said(enc.Degrade(fold.State().Blocks)); !slices.Equal(got, want) {
		t.Errorf("stored: %q", got)
	}
}

// TestClientCalls: a reader that is told no activity is told of the calls that the
// client runs, because they say when the turn waits and goes on.
func TestClientCalls(t *testing.T) {
	events := log(
		[3]string{"start", "", `{"conversationId":"c_1","ts":1}`},
		[3]string{"tool_call_start", "", `{"toolCallId":"own","name":"client"}`},
		[3]string{"tool_call_start", "", `{"toolCallId":"a","name":"read_selection","client":true}`},
		[3]string{"client_tool_call", "", `{"toolCallId":"a","name":"read_selection","arguments":{"sheet":"Sample"}}`},
		[3]string{"tool_call_end", "", `{"toolCallId":"own","name":"client","status":"ok"}`},
		[3]string{"done", "", `{"finishReason":"paused","usage":{"inputTokens":1,"outputTokens":1}}`},
		[3]string{"tool_call_end", "", `{"toolCallId":"a","name":"read_selection","status":"ok","client":true}`},
		[3]string{"state", "", `{"state":{"page":2}}`},
	)
	view := wire.View{Registry: registry(t)}
	frames, st := read(t, encode(t, view, events, 0))
	var got []string
	for _, ev := range frames {
		if ev.Type != "" {
			got = append(got, string(ev.Type))
		}
	}
	if want := "start tool_call_start client_tool_call done tool_call_end state"; strings.Join(got, " ") != want {
		t.Errorf("%s, want %s", got, want)
	}
	want := []event.ToolActivity{{ID: "a", Name: "read_selection", Status: event.ToolOK, Client: true}}
	if st.Status != event.StatusRunning || !slices.Equal(st.Tools, want) {
		t.Errorf("%s, tools %+v", st.Status, st.Tools)
	}

	// Who comes after the log was forgotten finds the call in the snapshot.
	enc, err := native.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Begin(nil, &event.SnapshotData{Seq: 6, Status: event.StatusPaused, Blocks: []block.Block{}, Tools: []event.ToolActivity{
		{ID: "own", Name: "client", Status: event.ToolOK}, {ID: "a", Name: "read_selection", Status: event.ToolRunning, Client: true},
	}})
	if err != nil {
		t.Fatal(err)
	}
	if out, err = enc.Append(out, events[6]); err != nil {
		t.Fatal(err)
	}
	if _, st = read(t, string(out)); st.Status != event.StatusRunning || !slices.Equal(st.Tools, want) {
		t.Errorf("%s, tools %+v", st.Status, st.Tools)
	}
}
