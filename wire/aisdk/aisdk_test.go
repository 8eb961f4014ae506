package aisdk_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/aisdk"
	"pgregory.net/rapid"
)

const msg = "m_01"

// log numbers events of one group, 40 ms apart; each is type, block and data.
func log(lines ...[3]string) []event.Event {
	events := []event.Event{{Seq: 1, Group: 1, Type: event.Start, Msg: msg, Data: json.RawMessage(`{"conversationId":"c_1","ts":1700000000000}`)}}
	group := 1
	for i, l := range lines {
		if events[i].Type.Terminal() {
			group++
		}
		data := l[2]
		if data == "" {
			data = "{}"
		}
		events = append(events, event.Event{Seq: uint64(i + 2), At: int64(i+1) * 40, Group: group, Type: event.Type(l[0]), Msg: msg, Block: l[1], Data: json.RawMessage(data)})
	}
	return events
}

var stop = [3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`}

// part is a part of a message as the client has it.
type part struct {
	kind, id, text string
	data           map[string]any
}

// read applies chunks as the client does.
func read(chunks []map[string]any) (parts []part) {
	open := make(map[string]int)
	for _, c := range chunks {
		typ, _ := c["type"].(string)
		id, _ := c["id"].(string)
		switch {
		case typ == "text-start", typ == "reasoning-start":
			open[id] = len(parts)
			parts = append(parts, part{kind: strings.TrimSuffix(typ, "-start"), id: id})
		case typ == "text-delta", typ == "reasoning-delta":
			delta, _ := c["delta"].(string)
			parts[open[id]].text += delta
		case strings.HasPrefix(typ, "data-") && c["transient"] == nil:
			data, _ := c["data"].(map[string]any)
			at := -1
			for i, p := range parts {
				if p.kind == typ && p.id == id {
					at = i
				}
			}
			if at < 0 {
				at = len(parts)
				parts = append(parts, part{kind: typ, id: id})
			}
			parts[at].data = data
		case typ == "source-url", typ == "file":
			url, _ := c["url"].(string)
			parts = append(parts, part{kind: typ, text: url})
		case typ == "tool-approval-response":
			id, _ := c["approvalId"].(string)
			parts[open["approval "+id]].text += fmt.Sprint(" approved=", c["approved"])
		case strings.HasPrefix(typ, "tool-"):
			id, _ := c["toolCallId"].(string)
			if typ == "tool-input-available" {
				open["call "+id] = len(parts)
				parts = append(parts, part{kind: fmt.Sprint("tool-", c["toolName"]), id: "call " + id})
			}
			at := open["call "+id]
			if approval, ok := c["approvalId"].(string); ok {
				open["approval "+approval] = at
			}
			parts[at].text = strings.TrimSpace(parts[at].text + " " + strings.TrimPrefix(typ, "tool-"))
		case typ == "start-step" && len(parts) > 0:
			parts = append(parts, part{kind: "step"})
		}
	}
	return parts
}

// texts writes parts down as "kind:text" or "kind:status".
func texts(chunks []map[string]any) (out []string) {
	for _, p := range read(chunks) {
		if p.data != nil {
			out = append(out, fmt.Sprintf("%s:%v", p.kind, p.data["status"]))
		} else {
			out = append(out, p.kind+":"+p.text)
		}
	}
	return out
}

func TestParts(t *testing.T) {
	for name, c := range map[string]struct {
		reader string
		log    []event.Event
		want   []string
	}{
		"text complete at once": {"v5", log([3]string{"block_end", "b_1", `{"type":"text","version":1,"payload":"Hello"}`}, stop),
			[]string{"text:Hello"}},
		"payload goes on where the deltas stopped": {"v5", log([3]string{"text_delta", "b_1", `{"delta":"Hel"}`}, [3]string{"block_end", "b_1", `{"type":"text","version":1,"payload":"Hello"}`}, stop),
			[]string{"text:Hello"}},
		"payload is another text": {"v5", log([3]string{"text_delta", "b_1", `{"delta":"Hel"}`}, [3]string{"block_end", "b_1", `{"type":"text","version":1,"payload":"Bye"}`}, stop),
			[]string{"text:Hel", "text:Bye"}},
		"text started and failed": {"v5", log([3]string{"block_start", "b_1", `{"type":"text","version":1}`}, [3]string{"text_delta", "b_1", `{"delta":"Hel"}`}, [3]string{"block_error", "b_1", `{"code":"CANCELLED","message":"Stopped.","retryable":false}`}, stop),
			[]string{"text:Hel"}},
		"text reopened": {"v5", log([3]string{"text_delta", "b_1", `{"delta":"One."}`}, [3]string{"text_end", "b_1", ""}, stop, [3]string{"block_start", "b_1", `{"type":"text","version":1}`}, [3]string{"text_delta", "b_1", `{"delta":" Two."}`}, [3]string{"text_end", "b_1", ""}, stop),
			[]string{"text:One.", "text: Two."}},
		"open at the end": {"v5", log([3]string{"text_delta", "b_1", `{"delta":"Hel"}`}, [3]string{"block_start", "b_2", `{"type":"chart","version":1}`}, [3]string{"tool_call_start", "", `{"toolCallId":"c","name":"n"}`}, stop),
			[]string{"text:Hel", "data-chart:error", "data-tool-activity:cancelled"}},
		"an end of an unknown call": {"v5", log([3]string{"tool_call_end", "", `{"toolCallId":"c","name":"n","status":"ok"}`}, stop), nil},
		"thoughts in two parts": {"v5", log([3]string{"reasoning_delta", "", `{"delta":"a"}`}, [3]string{"reasoning_delta", "", `{"delta":"b\n"}`}, [3]string{"text_delta", "b_1", `{"delta":"x"}`}, [3]string{"reasoning_delta", "", `{"delta":"c"}`}, [3]string{"text_delta", "b_1", `{"delta":"y"}`}, [3]string{"text_end", "b_1", ""}, stop),
			[]string{"reasoning:ab\n", "text:xy", "reasoning:c"}},
		"thoughts and calls are not for every reader": {"text", log([3]string{"reasoning_delta", "", `{"delta":"a"}`}, [3]string{"tool_call_start", "", `{"toolCallId":"c","name":"n"}`}, stop), nil},
		"hidden block keeps its place": {"text", log([3]string{"block_start", "b_1", `{"type":"chart","version":1}`}, [3]string{"text_delta", "b_2", `{"delta":"x"}`}, [3]string{"block_end", "b_1", `{"type":"chart","version":1,"payload":{},"fallback":"Sales"}`}, [3]string{"text_end", "b_2", ""}, stop),
			[]string{"text:Sales", "text:x"}},
		"hidden block that failed": {"text", log([3]string{"block_start", "b_1", `{"type":"chart","version":1}`}, [3]string{"block_error", "b_1", `{"code":"TOOL_TIMEOUT","message":"Slow.","retryable":true,"fallback":"Sales"}`}, stop),
			[]string{"text:Sales"}},
		"hidden block retried": {"text", log([3]string{"block_start", "b_1", `{"type":"chart","version":1}`}, [3]string{"block_error", "b_1", `{"code":"TOOL_TIMEOUT","message":"Slow.","retryable":true}`}, stop,
			[3]string{"block_start", "b_1", `{"type":"chart","version":1}`}, [3]string{"block_end", "b_1", `{"type":"chart","version":1,"payload":{},"fallback":"Sales"}`}, [3]string{"block_state", "b_1", `{"state":1,"rev":2}`}, stop),
			[]string{"text:[chart: Slow.]", "text:Sales"}},
		"a client's tool": {"v5", logs(t)["client-tool"],
			[]string{"text:Let me look.", "tool-read_selection:input-available output-available", "step:", "text:You chose East."}},
		"a client's tools, one by one": {"v7", logs(t)["client-tools-one-by-one"],
			[]string{"tool-read_selection:input-available output-available", "data-tool-activity:ok", "tool-open_page:input-available output-error", "step:", "text:The page did not open.",
				"tool-open_page:input-available output-available", "step:", "text:Now it is open."}},
		"a client's tool that nobody ran": {"text", logs(t)["client-tool-stopped"],
			[]string{"text:One moment.", "tool-read_selection:input-available output-error", "step:"}},
		"approval in major 5":          {"v5", logs(t)["pause-and-approve"], []string{"text:Let me pay.", "data-confirm:done", "data-tool-activity:ok", "data-metric:done", "text:Paid."}},
		"approval":                     {"v6", logs(t)["pause-and-approve"], []string{"text:Let me pay.", "tool-pay:input-available approval-request output-available", "data-tool-activity:ok", "data-metric:done", "text:Paid."}},
		"approval in major 7":          {"v7parts", logs(t)["pause-and-approve"], []string{"text:Let me pay.", "tool-pay:input-available approval-request approved=true output-available", "data-metric:done", "text:Paid."}},
		"two questions, one refused":   {"v7", logs(t)["pause-with-two-questions"], []string{"tool-pay:input-available approval-request approved=false output-denied", "tool-pay:input-available approval-request approved=true output-available", "data-tool-activity:ok", "data-metric:done", "text:Only Bob was paid."}},
		"stopped while it asked":       {"v6", logs(t)["stopped-while-paused"], []string{"tool-pay:input-available approval-request output-denied"}},
		"interrupted after it agreed":  {"v6", logs(t)["interrupted-after-approval"], []string{"tool-pay:input-available approval-request output-error"}},
		"calls as parts":               {"v7parts", logs(t)["tools-with-sub-tools"], []string{"tool-research:input-available output-available", "tool-show_sales_chart:input-available output-error", "text:Done."}},
		"sources and files":            {"v5", logs(t)["sources-and-files"], []string{"text:See the report.", "source-url:https://docs.example.com/q3", "data-file:done", "data-image:done", "source-url:https://maps.example.com/", "source-url:http://example.com/plain"}},
		"files of who draws no blocks": {"text", logs(t)["sources-and-files"], []string{"text:See the report.", "source-url:https://docs.example.com/q3", "text:[q3.csv](/v1/assets/a_01990f3a-5c00-7000-8000-0000000000a1/content) (120 B)", "file:/v1/assets/a_01990f3a-5c00-7000-8000-0000000000a1/content", "text:[A map](/v1/assets/a_01990f3a-5c00-7000-8000-0000000000a2/content)", "file:/v1/assets/a_01990f3a-5c00-7000-8000-0000000000a2/content", "source-url:http://example.com/plain"}},
		"no such block":                {"v5", log([3]string{"block_state", "b_9", `{"state":1,"rev":2}`}, [3]string{"text_end", "b_9", ""}, [3]string{"block_delta", "b_9", `{"patch":[]}`}, [3]string{"block_start", "b_8", `{}`}, [3]string{"unheard_of", "", ""}, stop), nil},
	} {
		if got := texts(check(t, c.reader, write(t, readers(t)[c.reader], c.log, 0, true))); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

func TestWithoutStart(t *testing.T) {
	enc := encoder(t, readers(t)["v5"], "")
	out, err := enc.Append(nil, event.Event{Seq: 1, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: event.TextData("x")})
	if err != nil {
		t.Fatal(err)
	}
	if out, err = enc.End(out); err != nil {
		t.Fatal(err)
	}
	if chunks := check(t, "v5", string(out)); chunks[0]["messageId"] != msg {
		t.Errorf("begins with %v", chunks[0])
	}
	// Nothing at all is a stream too.
	if out, err = encoder(t, readers(t)["v5"], msg).End(nil); err != nil {
		t.Fatal(err)
	}
	check(t, "v5", string(out))
}

func TestTerminalChunks(t *testing.T) {
	end := func(reader, typ, data string) []map[string]any {
		return check(t, reader, write(t, readers(t)[reader], log([3]string{typ, "", data}), 0, true))
	}
	for ours, want := range map[string][2]string{
		"stop": {"stop", "stop"}, "length": {"length", "length"}, "content_filter": {"content-filter", "content-filter"}, "max_steps": {"tool-calls", "tool-calls"},
		"cancelled": {"other", "interrupted"}, "paused": {"other", "interrupted"}, "new_one": {"other", "other"},
	} {
		for i, reader := range []string{"v5", "v7"} {
			chunks := end(reader, "done", `{"finishReason":"`+ours+`","usage":{"inputTokens":3,"outputTokens":4}}`)
			last := chunks[len(chunks)-1]
			meta, _ := last["messageMetadata"].(map[string]any)
			if last["finishReason"] != want[i] || meta["finishReason"] != ours || fmt.Sprint(meta["usage"]) != "map[inputTokens:3 outputTokens:4]" {
				t.Errorf("%s as %s ends with %v", ours, reader, last)
			}
			if aborts := chunks[len(chunks)-2]["type"] == "abort"; aborts != (ours == "cancelled") {
				t.Errorf("%s as %s: abort %v", ours, reader, aborts)
			}
		}
	}
	for data, want := range map[string]string{`{"code":"model_timeout","message":"No answer.","retryable":true}`: "No answer.", `{}`: "The answer failed."} {
		if chunks := end("v5", "error", data); chunks[len(chunks)-1]["errorText"] != want {
			t.Errorf("%s ends with %v", data, chunks[len(chunks)-1])
		}
	}
	// What was retried after the message failed is in front of the error.
	chunks := check(t, "v5", write(t, readers(t)["v5"], logs(t)["error-then-retry-of-a-block"], 0, true))
	if got := texts(chunks); len(got) != 1 || got[0] != "data-chart:done" || chunks[len(chunks)-1]["type"] != "error" {
		t.Errorf("%q, then %v", got, chunks[len(chunks)-1])
	}
}

// A block that grows is sent at most every WholeEvery, not above MaxGrowing
// until it ends.
func TestGrowth(t *testing.T) {
	events := logs(t)["table-that-grows-large"]
	enc := encoder(t, readers(t)["v5"], events[0].Msg)
	last, sends, progresses := int64(-aisdk.WholeEvery), 0, 0
	for _, ev := range events {
		out, err := enc.Append(nil, ev)
		if err != nil {
			t.Fatal(err)
		}
		whole, told := strings.Contains(string(out), `"data-table"`), strings.Contains(string(out), `"data-block-progress"`)
		if !whole && !told {
			continue
		}
		if ev.Type == event.BlockDelta {
			if ev.At-last < aisdk.WholeEvery {
				t.Errorf("sent at %d after %d", ev.At, last)
			}
			if whole && len(out) > aisdk.MaxGrowing+1024 {
				t.Errorf("%d bytes of a block that grows", len(out))
			}
			if whole {
				sends++
			} else {
				progresses++
			}
		}
		last = ev.At
	}
	if sends == 0 || progresses == 0 {
		t.Errorf("%d sends and %d of progress", sends, progresses)
	}
}

func TestLargePayloadIsCut(t *testing.T) {
	row := `{"note":"<` + strings.Repeat("x", 1000) + `>"}`
	patch := func(n int) string {
		return `{"patch":[` + strings.Repeat(`{"op":"add","path":"/rows/-","value":`+row+`},`, n-1) + `{"op":"add","path":"/rows/-","value":` + row + `}]}`
	}
	table := func(n int) []event.Event {
		return log([3]string{"block_start", "b_1", `{"type":"table","version":1,"meta":{"title":"Large"}}`},
			[3]string{"block_delta", "b_1", `{"patch":[{"op":"add","path":"","value":{"columns":[{"field":"note"}],"rows":[],"caption":"c"}}]}`},
			[3]string{"block_delta", "b_1", patch(n)},
			[3]string{"block_end", "b_1", `{"type":"table","version":1,"built":true,"fallback":"f"}`}, stop)
	}
	for rows, want := range map[int]int{50: 50, 100: 64} {
		stream := write(t, readers(t)["v5"], table(rows), 0, true)
		data := read(check(t, "v5", stream))[0].data
		payload, _ := data["payload"].(map[string]any)
		got, _ := payload["rows"].([]any)
		meta, _ := data["meta"].(map[string]any)
		if len(got) != want || payload["caption"] != "c" || meta["title"] != "Large" {
			t.Errorf("%d of %d rows, caption %v, meta %v", len(got), rows, payload["caption"], meta)
		}
		cut := want < rows
		if (meta["truncated"] == true) != cut || (data["rest"] == "/v1/messages/"+msg) != cut {
			t.Errorf("%d rows: meta %v, rest %v", rows, meta, data["rest"])
		}
	}
	for _, payload := range []string{`"` + strings.Repeat("x", 70<<10) + `"`, `{"a":"` + strings.Repeat("x", 70<<10) + `"}`, `{"a":"` + strings.Repeat("x", 70<<10) + `","rows":[1,2]}`} {
		data := read(check(t, "v5", write(t, readers(t)["v5"], log([3]string{"block_end", "b_1", `{"type":"app.long","version":1,"payload":` + payload + `,"fallback":"f"}`}, stop), 0, true)))[0].data
		if _, sent := data["payload"]; sent || data["rest"] == nil || data["fallback"] != "f" {
			t.Errorf("a payload that cannot be cut: sent %v, rest %v", sent, data["rest"])
		}
	}
}

// A snapshot begins a stream with the same parts as the events that led to it,
// and the stream goes on from there.
func TestSnapshot(t *testing.T) {
	for name, events := range logs(t) {
		for _, reader := range []string{"v5", "text"} {
			view := readers(t)[reader]
			for n := 1; n <= len(events); n += 1 + len(events)/20 {
				f := event.NewFolder("")
				for _, ev := range events[:n] {
					f.Apply(ev)
				}
				st := f.State()
				snap := event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status}
				begun := encoder(t, view, events[0].Msg)
				out, err := begun.Begin(nil, &snap)
				if err != nil {
					t.Fatal(err)
				}
				data, err := json.Marshal(snap)
				if err != nil {
					t.Fatal(err)
				}
				appended := encoder(t, view, events[0].Msg)
				same, err := appended.Append(nil, event.Event{Seq: st.Seq, Group: 1, Type: event.Snapshot, Msg: events[0].Msg, Data: data})
				if err != nil || len(texts(check(t, reader, endOf(t, appended, same)))) != len(texts(check(t, reader, endOf(t, begun, out)))) {
					t.Fatalf("%s: a snapshot as an event writes %s, %v", name, same, err)
				}
				if n < len(events) {
					goesOn := encoder(t, view, events[0].Msg)
					if out, err = goesOn.Begin(nil, &snap); err != nil {
						t.Fatal(err)
					}
					for _, ev := range events[n:] {
						if out, err = goesOn.Append(out, ev); err != nil {
							t.Fatal(err)
						}
					}
					got := last(read(check(t, reader, endOf(t, goesOn, out))))
					want := last(read(check(t, reader, write(t, view, events, 0, true))))
					if !reflect.DeepEqual(got, want) {
						t.Fatalf("%s as %s from a snapshot at %d: %v, want %v", name, reader, n, got, want)
					}
				}
			}
		}
	}
	enc := encoder(t, readers(t)["v5"], msg)
	if _, err := enc.Append(nil, log()[0]); err != nil {
		t.Fatal(err)
	}
	if _, err := enc.Begin(nil, &event.SnapshotData{Seq: 9}); err == nil {
		t.Error("a snapshot in the middle of a stream")
	}
	if _, err := encoder(t, readers(t)["v5"], msg).Append(nil, event.Event{Seq: 1, Type: event.Snapshot, Data: json.RawMessage(`7`)}); err == nil {
		t.Error("a snapshot that is no object")
	}
}

func endOf(t *testing.T, enc *aisdk.Encoder, out []byte) string {
	t.Helper()
	out, err := enc.End(out)
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// last is what is there of each block in the end: of a snapshot's block,
// earlier outcomes, thoughts and calls are not known, nor the meta that a
// running refresh goes back to when it fails.
func last(parts []part) map[string]string {
	out := make(map[string]string)
	for _, p := range parts {
		if p.kind == "reasoning" || p.kind == "data-tool-activity" || p.kind == "step" || p.kind == "source-url" || strings.HasPrefix(p.kind, "tool-") {
			continue
		}
		delete(p.data, "meta")
		out[p.id] = p.kind + " " + p.text + fmt.Sprint(p.data)
	}
	return out
}

// A follow-up goes into the message that the client has.
func TestFollow(t *testing.T) {
	events := logs(t)["retry-after-done"]
	view := readers(t)["v5"]
	enc := encoder(t, view, events[0].Msg)
	for _, ev := range events[:6] {
		if _, err := enc.Append(nil, ev); err != nil {
			t.Fatal(err)
		}
	}
	out, err := enc.Follow(nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events[6:] {
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
	}
	got := endOf(t, enc, out)
	if !strings.HasPrefix(got, `data: {"type":"start","messageId":"`+events[0].Msg+"\"}\n\n") || strings.Contains(got, "-step") || strings.Contains(got, "text-") || strings.Count(got, `"data-chart"`) != 2 {
		t.Errorf("got\n%s", got)
	}
	compare(t, golden("retry-after-done", "follow.txt"), got)
	for _, open := range [][3]string{{"text_delta", "b_1", `{"delta":"x"}`}, {"reasoning_delta", "", `{"delta":"x"}`}} {
		enc := encoder(t, view, msg)
		for _, ev := range log(open) {
			if _, err := enc.Append(nil, ev); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := enc.Follow(nil); err == nil {
			t.Errorf("joined in the middle of %s", open[0])
		}
	}
}

func TestNewRefuses(t *testing.T) {
	if _, err := aisdk.New(wire.View{}, wire.Run{Msg: msg}); err == nil {
		t.Error("an encoder without a registry")
	}
	view := readers(t)["v5"]
	view.Version = "4"
	if _, err := aisdk.New(view, wire.Run{Msg: msg}); err == nil {
		t.Error("an encoder for major 4")
	}
	view.Version = "5"
	enc, err := aisdk.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	if name, value := enc.Header(); enc.ContentType() != "text/event-stream" || enc.Stateless() || !enc.WholeReplay() || name == "" || value != "v1" {
		t.Errorf("%s, stateless %v, %s: %s", enc.ContentType(), enc.Stateless(), name, value)
	}
}

// lawful draws a log that a Guard accepts.
func lawful(t *rapid.T, types ...string) []event.Event {
	guard := event.NewGuard(msg)
	events := log()
	if err := guard.Check(events[0]); err != nil {
		t.Fatal(err)
	}
	at, group := int64(0), 1
	try := func(typ event.Type, id string, data string) {
		ev := event.Event{Seq: guard.Seq() + 1, At: at, Group: group, Type: typ, Msg: msg, Block: id, Data: json.RawMessage(data)}
		if guard.Check(ev) != nil {
			return
		}
		events = append(events, ev)
		if typ.Terminal() {
			group++
		}
	}
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		at += int64(rapid.IntRange(0, 300).Draw(t, "ms"))
		id := fmt.Sprint("b_", rapid.IntRange(1, 5).Draw(t, "block"))
		typ := rapid.SampledFrom(types).Draw(t, "type")
		word := string(event.TextData(rapid.String().Draw(t, "word")))
		payload := `{"n":[` + fmt.Sprint(at) + `]}`
		switch typ {
		case "text":
			payload = `"text ` + fmt.Sprint(at) + `"`
		case "confirm":
			payload = `{"prompt":"Pay?","args":{"amount":` + fmt.Sprint(at) + `}}`
		}
		switch rapid.IntRange(0, 11).Draw(t, "kind") {
		case 0, 1:
			try(event.TextDelta, id, word)
		case 2:
			try(event.TextEnd, id, "{}")
		case 3:
			try(event.BlockStart, id, `{"type":"`+typ+`","version":1,"meta":{"title":"t"}}`)
		case 4, 5:
			try(event.BlockDelta, id, `{"patch":[{"op":"add","path":"","value":`+payload+`}]}`)
		case 6:
			try(event.BlockEnd, id, `{"type":"`+typ+`","version":1,"payload":`+payload+`,"fallback":"f`+fmt.Sprint(at)+`","meta":{"tool":"n","toolCallId":"call_`+fmt.Sprint(at%4)+`"}}`)
		case 7:
			try(event.BlockError, id, `{"code":"TOOL_TIMEOUT","message":"m","retryable":true}`)
		case 8:
			state := rapid.SampledFrom([]string{`null`, `{"status":"answered","answer":"approve"}`, `{"status":"answered","answer":"reject"}`, `{"status":"expired"}`}).Draw(t, "state")
			try(event.BlockState, id, `{"state":`+state+`,"rev":`+fmt.Sprint(guard.Seq()+2)+`}`)
		case 9:
			if rapid.Bool().Draw(t, "thought") {
				try(event.ReasoningDelta, "", word)
			} else {
				try(rapid.SampledFrom([]event.Type{event.ToolCallStart, event.ToolCallEnd}).Draw(t, "tool"), "", `{"toolCallId":"call_`+fmt.Sprint(rapid.IntRange(1, 3).Draw(t, "call"))+`","name":"n","status":"ok"}`)
			}
		case 11:
			call := fmt.Sprint(`{"toolCallId":"client_`, rapid.IntRange(1, 3).Draw(t, "call"), `","name":"n","client":true`)
			switch rapid.IntRange(0, 2).Draw(t, "of the client") {
			case 0:
				try(event.ToolCallStart, "", call+`}`)
			case 1:
				try(event.ClientToolCall, "", call+`,"arguments":{"n":1}}`)
			default:
				try(event.ToolCallEnd, "", call+`,"status":"`+rapid.SampledFrom([]string{"ok", "error", "cancelled"}).Draw(t, "status")+`"}`)
			}
		case 10:
			try(event.Done, "", `{"finishReason":"`+rapid.SampledFrom([]string{"stop", "paused", "cancelled"}).Draw(t, "reason")+`","usage":{"inputTokens":1,"outputTokens":2}}`)
		}
	}
	return events
}

// What the client has of any lawful log is what the log folds to.
func TestLawfulLogs(t *testing.T) {
	views := readers(t)
	rapid.Check(t, func(rt *rapid.T) {
		events := lawful(rt, "chart", "table", "text", "app.x")
		f := event.NewFolder("")
		for _, ev := range events {
			f.Apply(ev)
		}
		st := f.State()
		for reader, view := range views {
			stream := write(t, view, events, 0, true)
			parts := read(check(t, reader, stream))
			n := rapid.IntRange(1, len(events)).Draw(rt, "cut")
			if write(t, view, events[:n], 0, false)+write(t, view, events, events[n-1].Seq, true) != stream {
				rt.Fatalf("as %s: cut after %d differs", reader, n)
			}
			byID := make(map[string][]part)
			var order []string
			thoughts, calls := "", 0
			for _, p := range parts {
				switch {
				case p.kind == "reasoning":
					thoughts += p.text
				case p.kind == "data-tool-activity", strings.HasPrefix(p.id, "call call_"):
					calls++
				case p.kind == "step", strings.HasPrefix(p.id, "call client_"):
				default:
					if byID[p.id] == nil {
						order = append(order, p.id)
					}
					byID[p.id] = append(byID[p.id], p)
				}
			}
			own := 0
			for _, t := range st.Tools {
				if !t.Client {
					own++
				}
			}
			if view.Reasoning && thoughts != st.Reasoning || view.Tools && calls != own {
				rt.Fatalf("as %s: thoughts %q, %d calls, want %q, %d", reader, thoughts, calls, st.Reasoning, own)
			}
			for i, b := range st.Blocks {
				if i >= len(order) || order[i] != b.ID {
					rt.Fatalf("as %s: order %v, block %d is %s", reader, order, i, b.ID)
				}
				have := byID[b.ID]
				lastPart := have[len(have)-1]
				switch {
				case b.Type == "text":
					all, want := "", ""
					for _, p := range have {
						all += p.text
					}
					if len(b.Payload) > 0 {
						if err := json.Unmarshal(b.Payload, &want); err != nil {
							rt.Fatal(err)
						}
					}
					if !strings.HasSuffix(all, want) {
						rt.Fatalf("as %s: text %q, want %q", reader, all, want)
					}
				case !view.Caps.Can(b.Type, b.Version):
					if b.Status == block.StatusDone && lastPart.text != b.Fallback {
						rt.Fatalf("as %s: %q in place of %s, want %q", reader, lastPart.text, b.Type, b.Fallback)
					}
				default:
					if b.Status == block.StatusLoading {
						b.Payload = nil // it may be behind
						delete(lastPart.data, "payload")
					}
					var want map[string]any
					raw, err := json.Marshal(b)
					if err != nil {
						rt.Fatal(err)
					}
					if err := json.Unmarshal(raw, &want); err != nil {
						rt.Fatal(err)
					}
					if len(have) != 1 || lastPart.kind != "data-"+b.Type || !reflect.DeepEqual(lastPart.data, want) {
						rt.Fatalf("as %s: %v, want %s", reader, have, raw)
					}
				}
			}
		}
	})
}

// However questions, calls of the client's and all else come together, the
// chunks make sense, and a message that is over has no call that waits.
func TestLawfulQuestions(t *testing.T) {
	views := readers(t)
	rapid.Check(t, func(rt *rapid.T) {
		events := lawful(rt, "confirm", "confirm", "text", "chart")
		f := event.NewFolder("")
		for _, ev := range events {
			f.Apply(ev)
		}
		for reader, view := range views {
			stream := write(t, view, events, 0, true)
			chunks := check(t, reader, stream)
			n := rapid.IntRange(1, len(events)).Draw(rt, "cut")
			if write(t, view, events[:n], 0, false)+write(t, view, events, events[n-1].Seq, true) != stream {
				rt.Fatalf("as %s: cut after %d differs", reader, n)
			}
			if st := f.State(); st.Open || st.Status == event.StatusPaused {
				continue
			}
			for _, p := range read(chunks) {
				if strings.HasPrefix(p.id, "call client_") && !strings.Contains(p.text, "output") {
					rt.Fatalf("as %s: %s of %s in the end", reader, p.text, p.id)
				}
			}
		}
	})
}

// Most events are deltas of text.
func TestTextDoesNotAllocate(t *testing.T) {
	enc := encoder(t, readers(t)["v5"], msg)
	if _, err := enc.Append(nil, log()[0]); err != nil {
		t.Fatal(err)
	}
	ev := event.Event{Seq: 1, At: 123, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: event.TextData("East leads ")}
	dst := make([]byte, 0, 1024)
	var err error
	if n := testing.AllocsPerRun(1000, func() {
		ev.Seq++
		dst, err = enc.Append(dst[:0], ev)
	}); n > 0 || err != nil {
		t.Errorf("%v allocations for a delta, %v", n, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	enc := encoder(b, readers(b)["v5"], msg)
	ev := event.Event{At: 123, Group: 1, Type: event.TextDelta, Msg: msg, Block: "b_1", Data: event.TextData("East leads ")}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		ev.Seq++
		dst, _ = enc.Append(dst[:0], ev)
	}
}
