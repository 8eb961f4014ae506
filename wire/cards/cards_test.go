package cards_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
	"pgregory.net/rapid"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/cards"
)

// client is what a client of card messages keeps.
type client struct {
	seq      uint64
	Markdown string                     `json:"markdown"`
	Cards    map[string]json.RawMessage `json:"cards"`
	Tools    map[string]json.RawMessage `json:"tools"`
	ends     int
	// How the turn ended, of a full that was asked for.
	FinishReason string           `json:"finishReason"`
	Usage        *event.Usage     `json:"usage"`
	Error        *event.ErrorData `json:"error"`
}

type packet struct {
	MessageID string          `json:"messageId"`
	Seq       uint64          `json:"seq"`
	Type      string          `json:"type"`
	Payload   json.RawMessage `json:"payload"`
}

// strict decodes one object and refuses members that are not of its type.
func strict(data json.RawMessage, v any) error {
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	return dec.Decode(v)
}

// read reads a stream into the client. Packets come by number without a gap; a
// full may jump ahead; what came before is ignored.
func (c *client) read(stream string) error {
	for f := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		if strings.HasPrefix(f, "id: ") {
			id, rest, ok := strings.Cut(f, "\n")
			if _, err := strconv.ParseUint(id[len("id: "):], 10, 64); err != nil {
				return err
			}
			if f = rest; !ok {
				continue
			}
		}
		var p packet
		data, ok := strings.CutPrefix(f, "data: ")
		if err := strict(json.RawMessage(data), &p); err != nil || !ok {
			return fmt.Errorf("frame %q: %v", f, err)
		}
		if err := c.apply(p); err != nil {
			return fmt.Errorf("packet %s: %w", f, err)
		}
	}
	return nil
}

func (c *client) apply(p packet) error {
	if p.Seq <= c.seq {
		return nil
	}
	if p.Seq != c.seq+1 && p.Type != "full" {
		return fmt.Errorf("comes after %d", c.seq)
	}
	c.seq = p.Seq
	switch p.Type {
	case "full":
		*c = client{seq: p.Seq}
		return strict(p.Payload, c)
	case "append":
		var d struct{ Markdown string }
		if err := strict(p.Payload, &d); err != nil || d.Markdown == "" {
			return fmt.Errorf("nothing is appended: %w", err)
		}
		c.Markdown += d.Markdown
	case "card":
		var d struct{ ID string }
		if err := json.Unmarshal(p.Payload, &d); err != nil || c.Cards[d.ID] != nil {
			return fmt.Errorf("a card comes twice: %w", err)
		}
		c.Cards[d.ID] = p.Payload
	case "patch":
		return c.patch(p.Payload)
	case "done", "error":
		c.ends++
	default:
		return fmt.Errorf("type %q is not of the protocol", p.Type)
	}
	return nil
}

func (c *client) patch(payload json.RawMessage) error {
	var d struct {
		Patch []struct {
			Op, Path               string
			Value                  json.RawMessage
			Substring, Replacement *string
		}
	}
	if err := strict(payload, &d); err != nil || len(d.Patch) == 0 {
		return fmt.Errorf("no patch: %w", err)
	}
	for _, o := range d.Patch {
		if o.Op == "replace-substring" {
			at := strings.Index(c.Markdown, *o.Substring)
			if o.Path != "/markdown" || *o.Substring == "" || at < 0 || strings.Contains(c.Markdown[at+1:], *o.Substring) {
				return fmt.Errorf("%q is not there once", *o.Substring)
			}
			c.Markdown = c.Markdown[:at] + *o.Replacement + c.Markdown[at+len(*o.Substring):]
			continue
		}
		tokens := strings.Split(o.Path, "/")
		members := map[string]map[string]json.RawMessage{"cards": c.Cards, "tools": c.Tools}[tokens[1]]
		if members == nil {
			return fmt.Errorf("%s is not there", o.Path)
		}
		if len(tokens) == 4 {
			var card map[string]json.RawMessage
			if err := json.Unmarshal(members[tokens[2]], &card); err != nil || o.Op != "add" {
				return fmt.Errorf("%s %s: %w", o.Op, o.Path, err)
			}
			card[tokens[3]] = o.Value
			raw, err := json.Marshal(card)
			if err != nil {
				return err
			}
			members[tokens[2]] = raw
			continue
		}
		switch {
		case o.Op == "add" && len(o.Value) > 0 && string(o.Value) != "null":
			members[tokens[2]] = o.Value
		case o.Op == "remove" && members[tokens[2]] != nil:
			delete(members, tokens[2])
		default:
			return fmt.Errorf("%s %s", o.Op, o.Path)
		}
	}
	return nil
}

// canonical writes JSON with its members in order.
func canonical(t testing.TB, raw json.RawMessage) string {
	t.Helper()
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// same compares what a client holds with the encoder's own full state.
func same(t testing.TB, name string, c *client, enc *cards.Encoder) {
	t.Helper()
	raw, err := enc.Full()
	if err != nil {
		t.Fatal(err)
	}
	var p packet
	full := &client{}
	if err := strict(raw, &p); err != nil {
		t.Fatal(err)
	}
	if err := full.apply(p); err != nil {
		t.Fatal(err)
	}
	if c.Markdown != full.Markdown {
		t.Fatalf("%s: the text is\n%s\nwant\n%s", name, c.Markdown, full.Markdown)
	}
	for what, pair := range map[string][2]map[string]json.RawMessage{"cards": {c.Cards, full.Cards}, "tools": {c.Tools, full.Tools}} {
		if len(pair[0]) != len(pair[1]) {
			t.Fatalf("%s: %d %s, want %d", name, len(pair[0]), what, len(pair[1]))
		}
		for id, have := range pair[0] {
			if got, want := canonical(t, have), canonical(t, pair[1][id]); got != want {
				t.Fatalf("%s: %s %s is\n%s\nwant\n%s", name, what, id, got, want)
			}
		}
	}
}

// is checks that a client holds what the log folds to.
func is(t testing.TB, name string, view wire.View, c *client, st event.State) {
	t.Helper()
	var want []string
	drawn := 0
	for _, b := range st.Blocks {
		text := view.Registry.Stand(b)
		if b.Type != "text" && b.Status == block.StatusDone && view.Caps.Can(b.Type, b.Version) {
			drawn++
			var got struct {
				ID, Type, SchemaVersion, Fallback string
				Data, State                       json.RawMessage
			}
			if err := json.Unmarshal(c.Cards[b.ID], &got); err != nil {
				t.Fatalf("%s: card %s: %v", name, b.ID, err)
			}
			if got.ID != b.ID || !strings.HasPrefix(got.SchemaVersion, fmt.Sprint(b.Version, ".")) || got.Fallback != b.Fallback ||
				canonical(t, got.Data) != canonical(t, b.Payload) || string(b.State) != "null" && string(got.State) != string(b.State) {
				t.Errorf("%s: card %s is %s, want %+v", name, b.ID, c.Cards[b.ID], b)
			}
			var line bytes.Buffer
			if err := json.Compact(&line, b.Payload); err != nil {
				t.Fatal(err)
			}
			text = fmt.Sprintf("```%s@%d id=%s\n%s\n```", got.Type, b.Version, b.ID, line.Bytes())
		}
		if text != "" {
			want = append(want, text)
		}
	}
	if got, want := c.Markdown, strings.Join(want, "\n\n"); got != want {
		t.Errorf("%s: the text is\n%s\nwant\n%s", name, got, want)
	}
	if len(c.Cards) != drawn {
		t.Errorf("%s: %d cards, want %d", name, len(c.Cards), drawn)
	}
}

func folded(events []event.Event) event.State {
	f := event.NewFolder("")
	for _, ev := range events {
		f.Apply(ev)
	}
	return f.State()
}

// A client that follows has what the log folds to, and at every event what the
// full state is.
func TestReadersHaveTheWholeMessage(t *testing.T) {
	for name, events := range logs(t) {
		for reader, view := range views(t) {
			c, enc := &client{}, (*cards.Encoder)(nil)
			for n := range events {
				if len(events) > 50 && n%20 > 0 && n < len(events)-1 {
					continue
				}
				var out string
				enc, out = feed(t, view, events[:n+1], 0)
				c = &client{}
				if err := c.read(out); err != nil {
					t.Fatalf("%s as %s: %v", name, reader, err)
				}
				same(t, fmt.Sprintf("%s as %s at %d", name, reader, n+1), c, enc)
			}
			is(t, name+" as "+reader, view, c, folded(events))
			if c.ends == 0 {
				t.Errorf("%s as %s has no end", name, reader)
			}
		}
	}
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

// A client that was there before goes on with a snapshot at any event, and one
// that was not begins with it.
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
				snap := event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status}
				enc, err := cards.New(view, wire.Run{Msg: events[0].Msg})
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
				other, err := cards.New(view, wire.Run{Msg: events[0].Msg})
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
				where := fmt.Sprintf("%s as %s from %d", name, reader, st.Seq)
				was := &client{}
				if err := was.read(write(t, view, events[:n+1], 0)); err != nil {
					t.Fatal(err)
				}
				for _, c := range []*client{{}, was} {
					if err := c.read(string(out)); err != nil {
						t.Fatalf("%s: %v", where, err)
					}
					same(t, where, c, enc)
					is(t, where, view, c, folded(events))
					if c.ends == 0 {
						t.Errorf("%s has no end", where)
					}
				}
			}
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

func TestPackets(t *testing.T) {
	const table = "```Table@1 id=x\\n"
	got := write(t, views(t)["text"], log(), 0)
	if want := `id: 1` + "\n" + `data: {"messageId":"m_1","seq":1,"type":"full","payload":{"markdown":"","cards":{},"tools":{}}}` + "\n\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	got = write(t, views(t)["silent"], log(
		[3]string{"text_delta", "a", `{"delta":"Here: "}`},
		[3]string{"text_delta", "a", `{"delta":"<b>"}`},
		[3]string{"text_end", "a", `{}`},
		[3]string{"tool_call_start", "", `{"toolCallId":"t","name":"n"}`},
		[3]string{"block_start", "x", `{"type":"table","version":1}`},
		[3]string{"block_end", "x", `{"type":"table","version":1,"payload":{"rows": [],"columns":[]},"fallback":"Rows","actions":[{"id":"more","label":"More","kind":"prompt","prompt":"?"}],"meta":{"schemaMinor":2}}`},
		[3]string{"block_state", "x", `{"state":{"n":1},"rev":2}`},
		[3]string{"block_state", "x", `{"state":null,"rev":3}`},
		[3]string{"block_end", "y", `{"type":"app.product_card","version":2,"payload":{"id":"p"},"fallback":"Cup"}`},
		[3]string{"done", "", `{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`},
	), 1)
	card := `{"id":"x","type":"Table","schemaVersion":"1.2","data":{"rows":[],"columns":[]},"actions":[{"type":"prompt","name":"more","text":"More","prompt":"?"}],"fallback":"Rows"}`
	want := strings.Join([]string{
		"id: 2", `data: {"messageId":"m_1","seq":2,"type":"append","payload":{"markdown":"Here: "}}`, "",
		"id: 3", `data: {"messageId":"m_1","seq":3,"type":"append","payload":{"markdown":"<b>"}}`, "",
		"id: 4", "",
		"id: 5", "",
		"id: 6", `data: {"messageId":"m_1","seq":4,"type":"append","payload":{"markdown":"\n\n` + table + `{\"id\":\"x\"}\n` + "```" + `"}}`, "",
		`data: {"messageId":"m_1","seq":5,"type":"patch","payload":{"patch":[{"op":"replace-substring","path":"/markdown","substring":"` + table + `{\"id\":\"x\"}\n` + "```" + `","replacement":"` + table + `{\"rows\":[],\"columns\":[]}\n` + "```" + `"}]}}`, "",
		"id: 7", `data: {"messageId":"m_1","seq":6,"type":"patch","payload":{"patch":[{"op":"add","path":"/cards/x","value":` + card + `}]}}`, "",
		"id: 8", `data: {"messageId":"m_1","seq":7,"type":"patch","payload":{"patch":[{"op":"add","path":"/cards/x/state","value":{"n":1}}]}}`, "",
		"id: 9", `data: {"messageId":"m_1","seq":8,"type":"patch","payload":{"patch":[{"op":"add","path":"/cards/x","value":` + card + `}]}}`, "",
		`data: {"messageId":"m_1","seq":9,"type":"append","payload":{"markdown":"\n\n` + "```" + `ProductCard@2 id=y\n{\"id\":\"p\"}\n` + "```" + `"}}`, "",
		"id: 10", `data: {"messageId":"m_1","seq":10,"type":"card","payload":{"id":"y","type":"ProductCard","schemaVersion":"2.0","data":{"id":"p"},"fallback":"Cup"}}`, "",
		"id: 11", `data: {"messageId":"m_1","seq":11,"type":"done","payload":{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}}`, "", "",
	}, "\n")
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestNames(t *testing.T) {
	types := block.Builtins()
	for _, name := range []string{"app.chart", "app.product_card", "acme.tools.bridge_quote", "app.seat_2d", "app.2d", "app.x-ray"} {
		types = append(types, block.Type{Name: name, Version: 1, Schema: json.RawMessage(`{}`), Fallback: func(json.RawMessage) string { return "" }})
	}
	r, err := block.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"chart": "inlay.Chart", "app.chart": "Chart", "metric": "Metric", "app.product_card": "ProductCard",
		"acme.tools.bridge_quote": "acme.tools.BridgeQuote", "app.seat_2d": "app.seat_2d", "app.2d": "app.2d", "app.x-ray": "X-ray",
		"inlay.internal.thing": "inlay.internal.Thing",
	} {
		out := write(t, wire.View{Registry: r}, log([3]string{"block_end", "x", `{"type":"` + name + `","version":1,"payload":{}}`}), 1)
		if !strings.Contains(out, `{"markdown":"`+"```"+want+`@1 id=x\n`) || !strings.Contains(out, `"type":"`+want+`"`) {
			t.Errorf("%s is not %s in\n%s", name, want, out)
		}
	}
}

// What a text leaves open does not swallow the cards after it.
func TestCardsStandByThemselves(t *testing.T) {
	for _, before := range []string{
		"plain", "", "```js\nlet a", "```js\nlet a\n", "````md\n```js\n", "~~~\n```", "- item\n  ```js\n  let a", "- item\n\n  ```js\n  let a\n  ```",
		"> ```js\n> let a", "a < b", "<!-- note", "<script>\nlet a", "<pre>\n```\n", "<?php", "<![CDATA[ a", "<!DOCTYPE", "<div>\n", "`code", "    indented\n", "| a |\n|---|",
		"```js\nlet a\n```\nmore", "1. one\n\n   ~~~\n   two\n   ~~~\n\n   ```", "[a]: <", "\\```", "<textarea>",
	} {
		for reader, view := range views(t) {
			events := log(
				[3]string{"text_delta", "a", string(event.TextData(before))}, [3]string{"text_end", "a", "{}"},
				[3]string{"block_start", "x", `{"type":"chart","version":1}`},
				[3]string{"text_delta", "b", string(event.TextData(before))},
				[3]string{"block_end", "x", `{"type":"chart","version":1,"payload":{"n":1},"fallback":"East 1"}`},
				[3]string{"text_delta", "b", string(event.TextData("late"))}, [3]string{"text_end", "b", "{}"},
				[3]string{"block_end", "y", `{"type":"chart","version":1,"payload":{"s":"` + "```\\n```" + `"},"fallback":"East 2"}`},
			)
			c := &client{}
			enc, out := feed(t, view, events, 0)
			if err := c.read(out); err != nil {
				t.Fatalf("%q: %v", before, err)
			}
			same(t, before, c, enc)
			want := []string(nil)
			if view.Caps.Can("chart", 1) {
				want = []string{`Chart@1 id=x {"n":1}`, `Chart@1 id=y {"s":"` + "```\\n```" + `"}`}
			}
			if got := fences(c.Markdown, "Chart"); !slices.Equal(got, want) {
				t.Errorf("%q as %s: cards %q, want %q, in\n%s", before, reader, got, want, c.Markdown)
			}
		}
	}
}

// fences are the fenced blocks of a text that stand by themselves and whose
// info begins with a name.
func fences(md, name string) (out []string) {
	source := []byte(md)
	doc := goldmark.DefaultParser().Parse(text.NewReader(source))
	for n := doc.FirstChild(); n != nil; n = n.NextSibling() {
		if f, ok := n.(*ast.FencedCodeBlock); ok && f.Info != nil && bytes.HasPrefix(f.Info.Segment.Value(source), []byte(name)) {
			out = append(out, string(f.Info.Segment.Value(source))+" "+strings.TrimSuffix(string(f.Lines().Value(source)), "\n"))
		}
	}
	return out
}

func TestLateDataKeepsItsSkeleton(t *testing.T) {
	view := views(t)["whole"]
	events := log(
		[3]string{"block_start", "x", `{"type":"chart","version":1}`},
		[3]string{"block_error", "x", `{"code":"HYDRATE_TIMEOUT","message":"Late.","retryable":true,"fallback":"Sales"}`},
	)
	c := &client{}
	if err := c.read(write(t, view, events, 0)); err != nil {
		t.Fatal(err)
	}
	if want := "```Chart@1 id=x\n{\"id\":\"x\"}\n```"; c.Markdown != want || !strings.Contains(string(c.Cards["x"]), `"error":{"code":"HYDRATE_TIMEOUT","message":"Late.","retryable":true}`) {
		t.Errorf("got %s and %s", c.Markdown, c.Cards)
	}
	events = append(events, log(
		[3]string{"", "", ""}, [3]string{"", "", ""},
		[3]string{"block_start", "x", `{"type":"chart","version":1}`},
		[3]string{"block_end", "x", `{"type":"chart","version":1,"payload":{"n":1},"fallback":"East 1"}`},
	)[3:]...)
	enc, out := feed(t, view, events, 0)
	c = &client{}
	if err := c.read(out); err != nil {
		t.Fatal(err)
	}
	same(t, "retried", c, enc)
	is(t, "retried", view, c, folded(events))
}

func TestLargePayloadIsCut(t *testing.T) {
	rows := `{"order":"S-1"}` + strings.Repeat(`,{"order":"S-1"}`, 10000)
	events := log([3]string{"block_end", "x", `{"type":"table","version":1,"payload":{"columns":[{"field":"order","label":"Order"}],"rows":[` + rows + `]},"fallback":"Orders"}`},
		[3]string{"block_end", "x", `{"type":"table","version":1,"payload":"no table","fallback":"Orders"}`})
	c := &client{}
	if err := c.read(write(t, views(t)["whole"], events[:2], 0)); err != nil {
		t.Fatal(err)
	}
	if card := string(c.Cards["x"]); !strings.HasSuffix(card, `"fallback":"Orders","truncated":true,"url":"/v1/messages/m_1"}`) || len(card) > wire.MaxWhole+500 {
		t.Errorf("got %d bytes that end with %s", len(card), card[max(0, len(card)-100):])
	}
	// A payload that is no object is no card.
	c = &client{}
	if err := c.read(write(t, views(t)["whole"], events, 0)); err != nil || c.Markdown != "Orders" || len(c.Cards) != 0 {
		t.Errorf("got %q and %s, %v", c.Markdown, c.Cards, err)
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
		switch rapid.IntRange(0, 10).Draw(t, "kind") {
		case 0, 1:
			ev.Type, ev.Data = event.TextDelta, event.TextData(rapid.SampledFrom([]string{"a", "aa", "\n", "é📈", "\"\u2028", "```\n", "<!--", ""}).Draw(t, "delta"))
		case 2:
			ev.Type, ev.Data = event.TextEnd, event.EmptyData
		case 3:
			ev.Type, ev.Data = event.BlockStart, json.RawMessage(`{"type":"`+typ+`","version":1}`)
		case 4:
			ev.Type, ev.Data = event.BlockDelta, json.RawMessage(`{"patch":[{"op":"add","path":"","value":{"n":`+fmt.Sprint(ev.Seq)+`}}]}`)
		case 5, 6:
			payload := rapid.SampledFrom([]string{`{"n":1}`, `{"n":"é"}`, `{"n":"è"}`, `[]`}).Draw(t, "payload")
			if typ == "text" {
				payload = `"a whole text"`
			}
			ev.Type, ev.Data = event.BlockEnd, json.RawMessage(`{"type":"`+typ+`","version":1,"fallback":"a","payload":`+payload+`}`)
		case 7:
			code := rapid.SampledFrom([]string{"TOOL_TIMEOUT", "HYDRATE_TIMEOUT"}).Draw(t, "code")
			ev.Type, ev.Data = event.BlockError, json.RawMessage(`{"code":"`+code+`","message":"m","retryable":true}`)
		case 8:
			state := rapid.SampledFrom([]string{"null", `{"n":1}`}).Draw(t, "state")
			ev.Type, ev.Data = event.BlockState, json.RawMessage(`{"state":`+state+`,"rev":`+fmt.Sprint(ev.Seq)+`}`)
		case 9:
			ev.Type, ev.Block, ev.Data = event.Done, "", json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`)
		case 10:
			ev.Type, ev.Data = event.ToolCallStart, json.RawMessage(`{"toolCallId":"`+id+`","name":"n"}`)
			if rapid.Bool().Draw(t, "ends") {
				ev.Type, ev.Data = event.ToolCallEnd, json.RawMessage(`{"toolCallId":"`+id+`","name":"n","status":"ok"}`)
			}
			ev.Block = ""
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
		enc, whole := feed(t, view, events, 0)
		cut := rapid.IntRange(1, len(events)).Draw(rt, "cut")
		if write(t, view, events[:cut], 0)+write(t, view, events, uint64(cut)) != whole {
			rt.Fatalf("cut after %d and resumed differs", cut)
		}
		c := &client{}
		if err := c.read(whole); err != nil {
			rt.Fatal(err)
		}
		same(t, "random", c, enc)
		// A snapshot of the whole log is the same state.
		st := folded(events)
		other, err := cards.New(view, wire.Run{Msg: "m_1"})
		if err != nil {
			rt.Fatal(err)
		}
		out, err := other.Begin(nil, &event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status})
		if err != nil {
			rt.Fatal(err)
		}
		if st.Open {
			return // a refresh that is not over is not known from blocks alone
		}
		late := &client{Tools: c.Tools}
		if err := late.read(string(out)); err != nil {
			rt.Fatal(err)
		}
		if late.Markdown != c.Markdown || len(late.Cards) != len(c.Cards) {
			rt.Fatalf("a snapshot is\n%s\nwant\n%s", late.Markdown, c.Markdown)
		}
	})
}

// The full state of a turn that has ended says how; the packet that did is not
// sent again to who goes on from it. A log that was forgotten says the same.
func TestFullSaysHowTheTurnEnded(t *testing.T) {
	const usage = `"usage":{"inputTokens":1,"outputTokens":2}`
	failed := `{"code":"model_timeout","message":"No answer in time.","retryable":true}`
	for name, c := range map[string]struct {
		rows [][3]string
		want string
	}{
		"running":   {nil, ""},
		"whole":     {[][3]string{{"done", "", `{"finishReason":"stop",` + usage + `}`}}, `"finishReason":"stop",` + usage},
		"too long":  {[][3]string{{"done", "", `{"finishReason":"length",` + usage + `}`}}, `"finishReason":"length",` + usage},
		"stopped":   {[][3]string{{"done", "", `{"finishReason":"cancelled",` + usage + `}`}}, `"finishReason":"cancelled",` + usage},
		"paused":    {[][3]string{{"done", "", `{"finishReason":"paused",` + usage + `}`}}, `"finishReason":"paused",` + usage},
		"failed":    {[][3]string{{"error", "", failed}}, `"error":` + failed},
		"failed on": {[][3]string{{"done", "", `{"finishReason":"length",` + usage + `}`}, {"error", "", failed}}, `"finishReason":"length",` + usage},
	} {
		events := log(append([][3]string{
			{"tool_call_start", "", `{"toolCallId":"t","name":"find"}`},
			{"tool_call_end", "", `{"toolCallId":"t","name":"find","status":"ok","durationMs":3}`}, {"text_delta", "a", `{"delta":"hi"}`}, {"text_end", "a", `{}`},
		}, c.rows...)...)
		group := 1
		for i := range events {
			events[i].Group = group
			if events[i].Type.Terminal() {
				group++
			}
		}
		view := views(t)["whole"]
		const tools = `"tools":{"t":{"name":"find","status":"ok","durationMs":3}}`
		want := `{"markdown":"hi","cards":{},` + tools
		if c.want != "" {
			want += "," + c.want
		}
		enc, _ := feed(t, view, events, 0)
		st := folded(events)
		snap := event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status, FinishReason: st.FinishReason, Error: st.Err, Tools: st.Tools}
		if st.Usage != (event.Usage{}) {
			snap.Usage = &st.Usage
		}
		late, err := cards.New(view, wire.Run{Msg: "m_1"})
		if err != nil {
			t.Fatal(err)
		}
		out, err := late.Begin(nil, &snap)
		if err != nil {
			t.Fatal(err)
		}
		for what, e := range map[string]*cards.Encoder{"log": enc, "record": late} {
			raw, err := e.Full()
			if err != nil {
				t.Fatal(err)
			}
			var p packet
			if err := strict(raw, &p); err != nil || string(p.Payload) != want+"}" {
				t.Errorf("%s, from its %s: %v\n%s\nwant\n%s}", name, what, err, p.Payload, want)
			}
		}
		// To who begins with the record it is a packet.
		end := ""
		if c.want != "" {
			end = `"type":"done","payload":{` + c.want + `}}`
		}
		if st.Err != nil {
			end = `"type":"error","payload":` + failed + `}`
		}
		if !strings.Contains(string(out), `"type":"full","payload":{"markdown":"hi","cards":{},`+tools+`}}`) || !strings.Contains(string(out), end) || (end == "") != (strings.Count(string(out), "data: ") == 1) {
			t.Errorf("%s begins with\n%s", name, out)
		}
	}
}

// Actions are written {type, name, params, …} wherever they stand: on a card and
// on the nodes of a tree.
func TestActionsAreSpelledAsCardsDo(t *testing.T) {
	const tree = `{"title":"Offer","root":{"type":"card","children":["Cup",` +
		`{"type":"button","props":{"text":"Add","size":1.50},"action":{"id":"add","params":{"item":"p1"}}},` +
		`{"type":"row","children":[{"type":"button","text":"Docs","action":"docs"},{"type":"button","text":"Old","action":{"name":"gone"}}]}]}}`
	const actions = `[{"id":"add","label":"Add","kind":"api","action":"add_to_cart","feedback":{"successText":"Added.","failureToast":"Not added."},"params":{"shop":7}},` +
		`{"id":"docs","label":"Docs","kind":"link","href":"https://docs.example.com/","confirm":"Leave?"}]`
	end := [3]string{"block_end", "x", `{"type":"tree","version":1,"payload":` + tree + `,"fallback":"Offer","actions":` + actions + `}`}
	c := &client{}
	events := log([3]string{"block_start", "x", `{"type":"tree","version":1}`}, end, [3]string{"block_state", "x", `{"state":{"status":"done"},"rev":2}`})
	enc, out := feed(t, views(t)["whole"], events, 0)
	if err := c.read(out); err != nil {
		t.Fatal(err)
	}
	same(t, "tree", c, enc)
	const data = `{"root":{"type":"card","children":[{"type":"text","props":{"value":"Cup"}},` +
		`{"type":"button","props":{"size":1.50,"text":"Add"},"action":{"type":"api","name":"add_to_cart","id":"add","params":{"item":"p1"},"feedback":{"successText":"Added.","failureToast":"Not added."}}},` +
		`{"type":"row","children":[{"type":"button","props":{"text":"Docs"},"action":{"type":"link","name":"docs","href":"https://docs.example.com/","confirm":"Leave?"}},` +
		`{"type":"button","props":{"text":"Old"},"action":{"name":"gone"}}]}]},"title":"Offer"}`
	if want := "```Tree@1 id=x\n" + data + "\n```"; c.Markdown != want {
		t.Errorf("the text is\n%s\nwant\n%s", c.Markdown, want)
	}
	const card = `{"id":"x","type":"Tree","schemaVersion":"1.0","data":` + data + `,"actions":[` +
		`{"type":"api","name":"add_to_cart","id":"add","text":"Add","params":{"shop":7},"feedback":{"successText":"Added.","failureToast":"Not added."}},` +
		`{"type":"link","name":"docs","text":"Docs","href":"https://docs.example.com/","confirm":"Leave?"}],"state":{"status":"done"},"fallback":"Offer"}`
	if canonical(t, c.Cards["x"]) != canonical(t, json.RawMessage(card)) {
		t.Errorf("the card is\n%s\nwant\n%s", c.Cards["x"], card)
	}
	// A tree of this product's spelling is one of the cards', as its schema has it.
	if err := registry(t).Validate("tree", 1, json.RawMessage(data)); err != nil {
		t.Error(err)
	}
	// Without an action, or with one that does not fit, it is as it was.
	for _, as := range []string{
		`{"root":{"type":"text","value":"a"}}`, `{"root":{"type":"text"},"title":"B"}`, `{"root":7}`, `{"root":{"children":[]}}`,
		`{"root":{"type":"button","action":{"id":"` + strings.Repeat("x", 65) + `"}}}`,
	} {
		whole := write(t, views(t)["whole"], log([3]string{"block_end", "x", `{"type":"tree","version":1,"payload":` + as + `,"fallback":"B"}`}), 0)
		if !strings.Contains(whole, `"data":`+as+`,`) {
			t.Errorf("%s is\n%s", as, whole)
		}
	}
}

func TestNewNeedsARegistry(t *testing.T) {
	if _, err := cards.New(wire.View{}, wire.Run{Msg: "m_1"}); err == nil {
		t.Error("an encoder without a registry")
	}
}

func TestBrokenDataIsAnError(t *testing.T) {
	for _, typ := range []event.Type{event.TextDelta, event.ToolCallStart, event.Snapshot} {
		enc, err := cards.New(views(t)["whole"], wire.Run{Msg: "m_1"})
		if err != nil {
			t.Fatal(err)
		}
		if out, err := enc.Append([]byte("x"), event.Event{Seq: 1, Type: typ, Block: "a", Data: json.RawMessage(`7`)}); err == nil || string(out) != "x" {
			t.Errorf("%s: %q, %v", typ, out, err)
		}
	}
}

func BenchmarkTextDelta(b *testing.B) {
	enc, err := cards.New(views(b)["whole"], wire.Run{Msg: "m_1"})
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
