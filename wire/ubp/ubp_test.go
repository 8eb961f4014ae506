package ubp_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/ubp"
)

// part is a piece of a message as a client of the protocol holds it: prose or
// a block.
type part struct {
	text  string
	block *uiBlock
}

type uiBlock struct {
	ID        string                     `json:"id"`
	Namespace string                     `json:"namespace"`
	BlockType string                     `json:"block_type"`
	Version   string                     `json:"version"`
	Data      json.RawMessage            `json:"data"`
	Position  string                     `json:"position"`
	Meta      map[string]json.RawMessage `json:"_meta"`
}

// strict decodes one object and refuses members that are not of its type.
func strict(data json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// read reads a stream as a client does, and holds every frame to the
// protocol's words.
func read(t testing.TB, stream string) (parts []part, types []string) {
	t.Helper()
	last := uint64(0)
	for f := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		data := f
		if id, rest, ok := strings.Cut(strings.TrimPrefix(f, "id: "), "\n"); strings.HasPrefix(f, "id: ") {
			seq, err := strconv.ParseUint(id, 10, 64)
			if err != nil || seq <= last {
				t.Fatalf("frame %q after %d", f, last)
			}
			last = seq
			if data = rest; !ok {
				continue
			}
		}
		var e struct {
			Type string          `json:"type"`
			Data json.RawMessage `json:"data"`
		}
		if err := strict(json.RawMessage(strings.TrimPrefix(data, "data: ")), &e); err != nil || !strings.HasPrefix(data, "data: ") {
			t.Fatalf("frame %q: %v", f, err)
		}
		types = append(types, e.Type)
		switch e.Type {
		case "start":
			parts = nil
		case "text_delta":
			var d struct{ Text string }
			if err := strict(e.Data, &d); err != nil || d.Text == "" {
				t.Fatalf("frame %q: %v", f, err)
			}
			if n := len(parts); n > 0 && parts[n-1].block == nil {
				parts[n-1].text += d.Text
			} else {
				parts = append(parts, part{text: d.Text})
			}
		case "ui_block":
			var b uiBlock
			if err := strict(e.Data, &b); err != nil || b.ID == "" || b.Namespace == "" || b.BlockType == "" || !strings.HasSuffix(b.Version, ".0.0") {
				t.Fatalf("frame %q: %v", f, err)
			}
			if i := slices.IndexFunc(parts, func(p part) bool { return p.block != nil && p.block.ID == b.ID }); i >= 0 {
				parts[i].block = &b
			} else {
				parts = append(parts, part{block: &b})
			}
		case "tool_call_start", "tool_call_end", "sub_tool_start", "sub_tool_end", "pending_question_start", "pending_question_end", "done", "error":
		default:
			t.Fatalf("type %q is not of the protocol", e.Type)
		}
	}
	return parts, types
}

func TestCutAnywhereAndResumed(t *testing.T) {
	cuts := 0
	for name, events := range logs(t) {
		for reader, view := range views(t) {
			whole := write(t, view, events, 0)
			if whole != write(t, view, events, 0) {
				t.Fatalf("%s as %s is not the same twice", name, reader)
			}
			for n := 1; n < len(events); n++ {
				cuts++
				if write(t, view, events[:n], 0)+write(t, view, events, events[n-1].Seq) != whole {
					t.Fatalf("%s as %s: cut after %d and resumed differs", name, reader, events[n-1].Seq)
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// What a client has in the end is what the log folds to: every block that it
// draws, and the words of all others.
func TestReadersHaveTheWholeMessage(t *testing.T) {
	for name, events := range logs(t) {
		f := event.NewFolder("")
		for _, ev := range events {
			f.Apply(ev)
		}
		for reader, view := range views(t) {
			check(t, name+" as "+reader, view, f.State(), write(t, view, events, 0))
		}
	}
}

func check(t testing.TB, name string, view wire.View, st event.State, stream string) {
	t.Helper()
	parts, _ := read(t, stream)
	blocks, prose := make(map[string]*uiBlock), ""
	for i, p := range parts {
		if p.block != nil {
			blocks[p.block.ID] = p.block
		} else if prose += p.text; i > 0 && parts[i-1].block == nil {
			t.Errorf("%s: two pieces of prose in a row", name)
		}
	}
	drawn := 0
	for _, b := range st.Blocks {
		text := view.Registry.Text(b)
		switch {
		case b.Type != "text" && b.Status == block.StatusDone && view.Caps.Declared && view.Caps.Can(b.Type, b.Version):
			drawn++
			got := blocks[b.ID]
			if got == nil || got.Namespace+"."+got.BlockType != (block.Type{Name: b.Type}).FullName() || got.Version != fmt.Sprint(b.Version, ".0.0") || !bytes.Equal(got.Data, b.Payload) {
				t.Errorf("%s: block %s is %+v, want %+v", name, b.ID, got, b)
				continue
			}
			var fallback string
			if raw := got.Meta["inlay/fallback"]; raw != nil {
				if err := json.Unmarshal(raw, &fallback); err != nil {
					t.Fatal(err)
				}
			}
			if fallback != b.Fallback || string(b.State) != "null" && string(got.Meta["inlay/state"]) != string(b.State) {
				t.Errorf("%s: block %s has _meta %s", name, b.ID, got.Meta)
			}
		case b.Type == "text" && strings.Contains(prose, text):
		case b.Type == "text" && len(blocks) > 0: // a block arrived in the middle of it
			if joined := strings.ReplaceAll(prose, "\n", ""); !strings.Contains(joined, strings.ReplaceAll(text, "\n", "")) {
				t.Errorf("%s: %q is not in %q", name, text, prose)
			}
		case !strings.Contains(prose, text):
			t.Errorf("%s: %q is not in %q", name, text, prose)
		}
	}
	if drawn != len(blocks) {
		t.Errorf("%s: %d blocks arrived, want %d", name, len(blocks), drawn)
	}
}

func TestStart(t *testing.T) {
	start := event.Event{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1736000000000,"model":{"kind":"scripted","name":"demo-1"}}`)}
	for reader, want := range map[string]string{
		"charts": `{"ts":1736000000000,"session_id":"c_1","supported_blocks":[{"namespace":"inlay","block_type":"chart","version":1}],"rejected_capabilities":["Bad"]}`,
		"text":   `{"ts":1736000000000,"session_id":"c_1","supported_blocks":[]}`,
		"silent": `{"ts":1736000000000,"session_id":"c_1","supported_blocks":[]}`,
	} {
		if got, want := write(t, views(t)[reader], []event.Event{start}, 0), "id: 1\ndata: {\"type\":\"start\",\"data\":"+want+"}\n\n"; got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", reader, got, want)
		}
	}
}

// log numbers events that are written as type, block and data.
func log(rows ...[3]string) []event.Event {
	events := []event.Event{{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1736000000000}`)}}
	for i, row := range rows {
		events = append(events, event.Event{Seq: uint64(i + 2), At: int64(i), Group: 1, Type: event.Type(row[0]), Msg: "m_1", Block: row[1], Data: json.RawMessage(row[2])})
	}
	return events
}

func TestWhatAClientHolds(t *testing.T) {
	delta := func(id, s string) [3]string { return [3]string{"text_delta", id, string(event.TextData(s))} }
	end := func(id string) [3]string { return [3]string{"text_end", id, "{}"} }
	chart := func(id, data string) [3]string {
		return [3]string{"block_end", id, `{"type":"chart","version":1,"payload":` + data + `,"fallback":"East 1"}`}
	}
	for _, tt := range []struct {
		name   string
		reader string
		events []event.Event
		want   []string
	}{
		{"texts are paragraphs", "whole", log(delta("a", "One."), end("a"), delta("b", "Two.\n"), end("b"), delta("c", "Three.\n\n\n"), end("c"), delta("d", "Four.")),
			[]string{"One.\n\nTwo.\n\nThree.\n\n\nFour."}},
		{"a block stands between texts", "charts", log(delta("a", "One."), end("a"), chart("x", "{}"), delta("b", "Two."), end("b")),
			[]string{"One.", "chart {}", "Two."}},
		{"prose in its place", "text", log(delta("a", "One."), end("a"), chart("x", "{}"), delta("b", "Two."), end("b")),
			[]string{"One.\n\nEast 1\n\nTwo."}},
		{"a block arrives within a text", "charts", log(delta("a", "One"), chart("x", "{}"), delta("a", " more."), end("a")),
			[]string{"One", "chart {}", " more."}},
		{"prose waits for the end of a text", "text", log(delta("a", "One"), chart("x", "{}"), chart("y", "[]"), delta("a", " more."), end("a"), delta("b", "Two."), end("b")),
			[]string{"One more.\n\nEast 1\n\nEast 1\n\nTwo."}},
		{"a block that comes again keeps its place", "charts", log(chart("x", "{}"), delta("a", "One."), end("a"), [3]string{"block_start", "x", `{"type":"chart","version":1}`}, chart("x", `{"n":2}`), delta("b", "Two."), end("b")),
			[]string{`chart {"n":2}`, "One.\n\nTwo."}},
		{"a text that comes whole", "text", log([3]string{"block_end", "a", `{"type":"text","version":1,"payload":"Whole."}`}, delta("b", "Two."), end("b")),
			[]string{"Whole.\n\nTwo."}},
		{"a text that ends whole", "text", log(delta("a", "Who"), [3]string{"block_end", "a", `{"type":"text","version":1,"payload":"Whole."}`}, delta("b", "Two."), end("b")),
			[]string{"Whole.\n\nTwo."}},
		{"a text that was another", "text", log(delta("a", "Half"), [3]string{"block_end", "a", `{"type":"text","version":1,"payload":"Whole."}`}),
			[]string{"Half\n\nWhole."}},
		{"a text that fails", "text", log(delta("a", "Half"), chart("x", "{}"), [3]string{"block_error", "a", `{"code":"CANCELLED","message":"Stopped.","retryable":true}`}, delta("b", "Two.")),
			[]string{"Half\n\nEast 1\n\nTwo."}},
		{"empty deltas", "text", log(delta("a", ""), delta("a", "One."), delta("a", ""), end("a")), []string{"One."}},
		{"an unknown type has its name", "text", log([3]string{"block_end", "x", `{"type":"app.seat_map","version":3,"payload":{}}`}), []string{"[app.seat_map]"}},
	} {
		parts, _ := read(t, write(t, views(t)[tt.reader], tt.events, 0))
		var got []string
		for _, p := range parts {
			if p.block != nil {
				p.text = p.block.BlockType + " " + string(p.block.Data)
			}
			got = append(got, p.text)
		}
		if !slices.Equal(got, tt.want) {
			t.Errorf("%s: %q, want %q", tt.name, got, tt.want)
		}
	}
}

func TestMeta(t *testing.T) {
	events := log([3]string{"block_end", "x", `{"type":"chart","version":1,"payload":{"s":"<b>"},"fallback":"East <1>","actions":[{"id":"more","label":"More","kind":"prompt"}],"state":{"n":1},"meta":{"position":"after_text","title":"Sales","vendor":{"acme/theme":"dark","minara/reason":"sample","minara/source":null,"inlay/fallback":"forged"}}}`},
		[3]string{"block_state", "x", `{"state":null,"rev":2}`})
	want := "id: 2\ndata: " + `{"type":"ui_block","data":{"id":"x","namespace":"inlay","block_type":"chart","version":"1.0.0","data":{"s":"<b>"},"position":"after_text","_meta":{"acme/theme":"dark","inlay/actions":[{"id":"more","label":"More","kind":"prompt"}],"inlay/fallback":"East <1>","inlay/state":{"n":1},"minara/reason":"sample","minara/source":null}}}` + "\n\n" +
		"id: 3\ndata: " + `{"type":"ui_block","data":{"id":"x","namespace":"inlay","block_type":"chart","version":"1.0.0","data":{"s":"<b>"},"position":"after_text","_meta":{"acme/theme":"dark","inlay/actions":[{"id":"more","label":"More","kind":"prompt"}],"inlay/fallback":"East <1>","minara/reason":"sample","minara/source":null}}}` + "\n\n"
	if got := write(t, views(t)["charts"], events, 1); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// Who made a block is told where the block does not say so itself, and what is
// ours nobody else says.
func TestMetaOfProducers(t *testing.T) {
	for meta, want := range map[string]string{
		`{"producer":"recommender"}`:                                         `{"minara/source":"recommender"}`,
		`{"producer":"connector","vendor":{"minara/source":"skill"}}`:        `{"minara/source":"skill"}`,
		`{"vendor":{"inlay/state":{"locked":true},"inlay/url":"forged"}}`:    ``,
		`{"vendor":{"acme/x":1,"inlay/actions":[{"id":"pay"}]},"title":"x"}`: `{"acme/x":1}`,
	} {
		parts, _ := read(t, write(t, views(t)["charts"], log([3]string{"block_end", "x", `{"type":"chart","version":1,"payload":{},"meta":` + meta + `}`}), 0))
		got := ""
		if len(parts[0].block.Meta) > 0 {
			raw, err := json.Marshal(parts[0].block.Meta)
			if err != nil {
				t.Fatal(err)
			}
			got = string(raw)
		}
		if got != want {
			t.Errorf("%s is written %s, want %s", meta, got, want)
		}
	}
}

// A block that is run again is not sent while its payload is half of one and
// half of another: what is done with it meanwhile is told with what comes of it.
func TestStateWhileRunAgain(t *testing.T) {
	chart := [3]string{"block_end", "x", `{"type":"chart","version":1,"payload":{"n":1},"fallback":"One"}`}
	again := [][3]string{
		chart, {"block_start", "x", `{"type":"chart","version":1}`}, {"block_delta", "x", `{"patch":[{"op":"replace","path":"/n","value":2}]}`},
		{"block_state", "x", `{"state":{"picked":1},"rev":2}`},
	}
	if _, types := read(t, write(t, views(t)["charts"], log(again...), 0)); len(types) != 2 {
		t.Errorf("sent while it is run again: %v", types)
	}
	for end, want := range map[[3]string]string{
		{"block_end", "x", `{"type":"chart","version":1,"payload":{"n":3},"fallback":"Three"}`}: `{"n":3}`,
		{"block_error", "x", `{"code":"TOOL_TIMEOUT","message":"Too late.","retryable":true}`}:  `{"n":1}`,
	} {
		parts, _ := read(t, write(t, views(t)["charts"], log(append(slices.Clone(again), end)...), 0))
		if b := parts[0].block; len(parts) != 1 || string(b.Data) != want || string(b.Meta["inlay/state"]) != `{"picked":1}` {
			t.Errorf("%s: %+v", end[0], b)
		}
	}
}

func TestQuestionOfABlockThatIsNotDrawn(t *testing.T) {
	events := log([3]string{"block_end", "q", `{"type":"question","version":1,"payload":{"prompt":"Which?"},"fallback":"Which? Q2 / Q3"}`},
		[3]string{"pending_question_start", "q", `{"questionId":"q","prompt":"Which?","options":[{"id":"q2"}],"expiresAt":5}`})
	for reader, want := range map[string]string{
		"whole": `{"questionId":"q","prompt":"Which?","options":[{"id":"q2"}],"expiresAt":5}`,
		"text":  `{"questionId":"q","expiresAt":5}`,
	} {
		if got, want := write(t, views(t)[reader], events, 2), "id: 3\ndata: {\"type\":\"pending_question_start\",\"data\":"+want+"}\n\n"; got != want {
			t.Errorf("%s: got %s, want %s", reader, got, want)
		}
	}
}

func TestLargePayloadIsCut(t *testing.T) {
	rows := `{"order":"S-1"}` + strings.Repeat(`,{"order":"S-1"}`, 10000)
	events := log([3]string{"block_end", "x", `{"type":"table","version":1,"payload":{"columns":[{"field":"order","label":"Order"}],"rows":[` + rows + `]},"fallback":"Orders"}`})
	parts, _ := read(t, write(t, views(t)["whole"], events, 0))
	if b := parts[0].block; b == nil || len(b.Data) > wire.MaxWhole || string(b.Meta["inlay/truncated"]) != "true" || string(b.Meta["inlay/url"]) != `"/v1/messages/m_1"` {
		t.Errorf("got %+v", parts)
	}
	events = log([3]string{"block_end", "x", `{"type":"code","version":1,"payload":{"lang":"sql","source":"` + strings.Repeat("x", wire.MaxWhole) + `"},"fallback":"Source"}`})
	if parts, _ := read(t, write(t, views(t)["whole"], events, 0)); len(parts) != 1 || parts[0].text != "Source" {
		t.Errorf("got %+v", parts)
	}
}

// A reader that begins with a snapshot, at any event, has in the end what one
// has that was there all the time, but for the words of failures that were
// made good.
func TestSnapshot(t *testing.T) {
	for name, events := range logs(t) {
		for reader, view := range views(t) {
			f := event.NewFolder("")
			for n, ev := range events {
				f.Apply(ev)
				if len(events) > 50 && n%20 > 0 {
					continue
				}
				st := f.State()
				snap := event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status, TS: 1736000000000, ConversationID: "c_1"}
				enc, err := ubp.New(view, wire.Run{Msg: events[0].Msg, Conversation: "c_1"})
				if err != nil {
					t.Fatal(err)
				}
				out, err := enc.Begin(nil, &snap)
				if err != nil {
					t.Fatal(err)
				}
				var data bytes.Buffer
				plain := json.NewEncoder(&data) // keeps < and & as they are in the log
				plain.SetEscapeHTML(false)
				if err := plain.Encode(snap); err != nil {
					t.Fatal(err)
				}
				other, err := ubp.New(view, wire.Run{Msg: events[0].Msg, Conversation: "c_1"})
				if err != nil {
					t.Fatal(err)
				}
				if same, err := other.Append(nil, event.Event{Seq: st.Seq, Type: event.Snapshot, Msg: events[0].Msg, Data: data.Bytes()}); err != nil || !bytes.Equal(same, out) {
					t.Fatalf("%s: as an event: %v\n%s\nwant\n%s", name, err, same, out)
				}
				for _, ev := range events[n+1:] {
					if out, err = enc.Append(out, ev); err != nil {
						t.Fatal(err)
					}
				}
				rest := event.NewFolder("")
				for _, ev := range events {
					rest.Apply(ev)
				}
				_, types := read(t, string(out))
				if types[0] != "start" || !strings.HasPrefix(string(out), `data: {"type":"start","data":{"ts":1736000000000,"session_id":"c_1",`) {
					t.Fatalf("%s begins with %s", name, types[0])
				}
				if last := types[len(types)-1]; last != "done" && last != "error" {
					t.Fatalf("%s as %s from %d ends with %s", name, reader, st.Seq, last)
				}
				check(t, fmt.Sprintf("%s as %s from %d", name, reader, st.Seq), view, rest.State(), string(out))
			}
		}
	}
}

// lawful draws a log that the guard accepts.
func lawful(t *rapid.T) []event.Event {
	g := event.NewGuard("m_1")
	events := []event.Event{{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1}`)}}
	if err := g.Check(events[0]); err != nil {
		t.Fatal(err)
	}
	group := 1
	for range rapid.IntRange(1, 60).Draw(t, "n") {
		id := fmt.Sprint("b_", rapid.IntRange(1, 5).Draw(t, "block"))
		typ := []string{"text", "text", "chart", "table", "app.unknown"}[int(id[2]-'1')]
		ev := event.Event{Seq: g.Seq() + 1, At: int64(g.Seq()), Group: group, Msg: "m_1", Block: id}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			ev.Type, ev.Data = event.TextDelta, event.TextData(rapid.SampledFrom([]string{"a", "\n", "b\n\n", "\"é\u2028📈", ""}).Draw(t, "delta"))
		case 2:
			ev.Type, ev.Data = event.TextEnd, event.EmptyData
		case 3:
			ev.Type, ev.Data = event.BlockStart, json.RawMessage(`{"type":"`+typ+`","version":1}`)
		case 4:
			ev.Type, ev.Data = event.BlockDelta, json.RawMessage(`{"patch":[{"op":"add","path":"","value":{"n":`+fmt.Sprint(ev.Seq)+`}}]}`)
		case 5, 6:
			payload := `,"payload":{"n":` + fmt.Sprint(ev.Seq) + `}`
			if typ == "text" {
				payload = `,"payload":"whole ` + fmt.Sprint(ev.Seq) + `"`
			}
			ev.Type, ev.Data = event.BlockEnd, json.RawMessage(`{"type":"`+typ+`","version":1,"fallback":"f`+fmt.Sprint(ev.Seq)+`"`+payload+`}`)
		case 7:
			ev.Type, ev.Data = event.BlockError, json.RawMessage(`{"code":"TOOL_TIMEOUT","message":"m`+fmt.Sprint(ev.Seq)+`","retryable":true}`)
		case 8:
			ev.Type, ev.Data = event.BlockState, json.RawMessage(`{"state":{"n":1},"rev":`+fmt.Sprint(ev.Seq)+`}`)
		case 9:
			ev.Type, ev.Block, ev.Data = event.Done, "", json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`)
		}
		if g.Check(ev) == nil {
			events = append(events, ev)
			if ev.Type.Terminal() {
				group++
			}
		}
	}
	return events
}

func TestAnyLawfulLog(t *testing.T) {
	all := views(t)
	rapid.Check(t, func(rt *rapid.T) {
		events := lawful(rt)
		view := all[rapid.SampledFrom([]string{"whole", "charts", "text", "silent"}).Draw(rt, "view")]
		whole := write(t, view, events, 0)
		cut := rapid.IntRange(1, len(events)).Draw(rt, "cut")
		if write(t, view, events[:cut], 0)+write(t, view, events, uint64(cut)) != whole {
			rt.Fatalf("cut after %d and resumed differs", cut)
		}
		f := event.NewFolder("m_1")
		for _, ev := range events {
			f.Apply(ev)
		}
		parts, _ := read(t, whole)
		for _, b := range f.State().Blocks {
			if b.Type == "text" || b.Status != block.StatusDone || !view.Caps.Declared || !view.Caps.Can(b.Type, b.Version) {
				continue
			}
			i := slices.IndexFunc(parts, func(p part) bool { return p.block != nil && p.block.ID == b.ID })
			if i < 0 || !bytes.Equal(parts[i].block.Data, b.Payload) {
				rt.Fatalf("block %+v is not in %+v", b, parts)
			}
		}
	})
}

func TestNewNeedsARegistry(t *testing.T) {
	if _, err := ubp.New(wire.View{}, wire.Run{Msg: "m_1"}); err == nil {
		t.Error("an encoder without a registry")
	}
}

func TestBrokenDataIsAnError(t *testing.T) {
	for _, typ := range []event.Type{event.Start, event.TextDelta, event.Snapshot} {
		enc, err := ubp.New(views(t)["whole"], wire.Run{Msg: "m_1"})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := enc.Append([]byte("x"), event.Event{Seq: 1, Type: typ, Block: "a", Data: json.RawMessage(`7`)}); err == nil || string(out) != "x" {
			t.Errorf("%s: %q, %v", typ, out, err)
		}
	}
}

func BenchmarkTextDelta(b *testing.B) {
	enc, err := ubp.New(views(b)["whole"], wire.Run{Msg: "m_1"})
	if err != nil {
		b.Fatal(err)
	}
	ev := event.Event{Group: 1, Type: event.TextDelta, Msg: "m_1", Block: "b_1", Data: event.TextData("East leads")}
	dst := make([]byte, 0, 1024)
	b.ReportAllocs()
	for b.Loop() {
		ev.Seq++
		dst, _ = enc.Append(dst[:0], ev)
	}
}
