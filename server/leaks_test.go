package server

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/native"
	"github.com/inlay-ui/inlay/wire/ubp"
)

// The tests of this file mark everything that a block has: each piece of it is
// a word, or a number, that there is once. A reader may have the words of the
// blocks that it draws, and of those that it does not draw only the words of
// the text that stands for them.
var marker = regexp.MustCompile(`(?i)zq\d+q|77\d{6}77`)

func markers(text string) []string {
	found := marker.FindAllString(strings.ToLower(text), -1)
	slices.Sort(found)
	return slices.Compact(found)
}

// The types of the marked blocks. Their names are marked, too.
const (
	typeTwo  = "acme.tools.zq900001q" // has two majors
	typeLink = "acme.zq900002q"       // has a link
	typeGone = "app.zq900003q"        // is not registered
)

// leakTokens are what readers declare some of.
var leakTokens = []string{
	typeTwo + "@1", typeTwo + "@2", typeLink + "@1", "inlay.chart@1", "inlay.question@1", typeGone + "@1", "Bad.Token@1",
}

// leakTypes are the types of the marked blocks beside the built-in ones.
func leakTypes() []block.Type {
	type words struct{ Text, Link string }
	read := func(payload json.RawMessage) (w words) {
		_ = json.Unmarshal(payload, &w) // there may be none
		return w
	}
	make := func(name string, version int) block.Type {
		return block.Type{
			Name: name, Version: version, Class: block.ClassDisplay, Source: block.SourceApp, Schema: json.RawMessage(`{}`),
			Fallback: func(p json.RawMessage) string { return "In words: " + read(p).Text },
		}
	}
	link := make(typeLink, 1)
	link.Link = func(p json.RawMessage) string {
		if w := read(p); w.Link != "" {
			return "[" + w.Text + "](/" + w.Link + ")"
		}
		return ""
	}
	return []block.Type{make(typeTwo, 1), make(typeTwo, 2), link}
}

// marked draws a log that the guard accepts, of blocks that are marked all
// over: blocks that come late, are built by deltas, fail, are run again with
// another major, are refreshed in vain, change their state, ask and are
// annotated.
func marked(t *rapid.T) []event.Event {
	types := []string{"text", "text", typeTwo, typeTwo, typeTwo, typeLink, "chart", "question", typeGone}
	version := make(map[string]int)
	open := make(map[string]bool)
	guard := event.NewGuard("m_1")
	var events []event.Event
	group, words := 1, 0
	word := func() string {
		words++
		return fmt.Sprintf("zq%dq", words)
	}
	add := func(typ event.Type, id string, format string, args ...any) bool {
		e := event.Event{
			Seq: guard.Seq() + 1, At: int64(100 * guard.Seq()), Group: group, Type: typ, Msg: "m_1", Block: id, Data: json.RawMessage(fmt.Sprintf(format, args...)),
		}
		if guard.Check(e) != nil {
			return false
		}
		events = append(events, e)
		return true
	}
	payload := func() string {
		words++
		return fmt.Sprintf(`{"text":%q,"link":%q,"hidden":%q,%q:77%06d77,"prompt":%q,"data":[%q],"rows":[]}`, word(), word(), word(), word(), words, word(), word())
	}
	meta := func() string {
		return fmt.Sprintf(`{"title":%q,"source":%q,"tool":%q,"toolCallId":%q,"producer":%q,"position":"inline","vendor":{"acme/%s":%q,"minara/reason":%q}}`, word(), word(), word(), word(), word(), word(), word(), word())
	}
	fallback := func() string { return fmt.Sprintf(`,"fallback":"It says %s."`, word()) }
	fail := func(id string) {
		words := "" // of a failed block they are not always there
		if rapid.Bool().Draw(t, "fallback") {
			words = fallback()
		}
		if add(event.BlockError, id, `{"code":"DATA_FETCH_FAILED","message":%q,"retryable":true%s}`, "It broke: "+word(), words) {
			open[id] = false
		}
	}
	state := func(id string) {
		add(event.BlockState, id, `{"state":{%q:%q},"rev":%d}`, word(), word(), guard.Seq()+10)
	}
	end := func() {
		for i, typ := range types {
			if id := fmt.Sprint("b_", i); open[id] && typ == "text" {
				add(event.TextEnd, id, `{}`)
				open[id] = false
			} else if open[id] {
				fail(id)
			}
		}
	}
	add(event.Start, "", `{"conversationId":"c_1","ts":1736000000000,"model":{"kind":"scripted","name":"test"}}`)
	for range rapid.IntRange(5, 60).Draw(t, "n") {
		i := rapid.IntRange(0, len(types)-1).Draw(t, "block")
		id, typ := fmt.Sprint("b_", i), types[i]
		version[id] = max(version[id], 1)
		if typ == "text" {
			switch rapid.IntRange(0, 3).Draw(t, "text") {
			case 0:
				if add(event.TextEnd, id, `{}`) {
					open[id] = false
				}
			default:
				open[id] = add(event.TextDelta, id, `{"delta":"Said %s. "}`, word()) || open[id]
			}
			continue
		}
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			if typ == typeTwo && rapid.Bool().Draw(t, "major") {
				version[id] = 2
			}
			open[id] = add(event.BlockStart, id, `{"type":%q,"version":%d,"meta":%s}`, typ, version[id], meta()) || open[id]
			if version[id] == 2 && rapid.Bool().Draw(t, "acted on") {
				state(id)
			}
		case 2:
			add(event.BlockDelta, id, `{"patch":[{"op":"add","path":"","value":%s},{"op":"add","path":"/rows/-","value":%q}]}`, payload(), word())
		case 3, 4, 5:
			body := `"payload":` + payload()
			if open[id] && rapid.Bool().Draw(t, "built") {
				body = `"built":true,"digest":"sample"`
				add(event.BlockDelta, id, `{"patch":[{"op":"replace","path":"","value":%s}]}`, payload())
			}
			actions := fmt.Sprintf(`[{"id":%q,"label":%q,"kind":"prompt","prompt":%q,"params":{%q:%q}}]`, word(), word(), word(), word(), word())
			if add(event.BlockEnd, id, `{"type":%q,"version":%d,%s%s,"actions":%s,"state":{%q:%q},"meta":%s}`, typ, version[id], body, fallback(), actions, word(), word(), meta()) {
				open[id] = false
			}
		case 6:
			fail(id)
		case 7:
			state(id)
		case 8:
			if typ == "question" {
				add(event.PendingQuestionStart, id, `{"questionId":%q,"prompt":%q,"options":[{"id":%q,"label":%q}],"schema":{"title":%q},"expiresAt":1736000600000}`, id, word(), word(), word(), word())
			} else {
				add(event.Annotation, id, `{"kind":"ungrounded","blockId":%q,"detail":%q}`, id, word())
			}
		case 9:
			end()
			reason := rapid.SampledFrom([]string{"stop", "cancelled", "paused"}).Draw(t, "reason")
			add(event.Done, "", `{"finishReason":%q,"usage":{"inputTokens":1,"outputTokens":2}}`, reason)
			group++
			if reason == "paused" {
				asks := fmt.Sprint("b_", slices.Index(types, "question"))
				add(event.PendingQuestionEnd, asks, `{"questionId":%q,"status":"answered","answer":%q}`, asks, word())
			}
		}
	}
	if guard.Open() && rapid.Bool().Draw(t, "ends") {
		end()
		add(event.Done, "", `{"finishReason":"stop","usage":{"inputTokens":1,"outputTokens":2}}`)
	}
	return events
}

// draws reports whether a reader draws a block. A reader of the block protocol
// that declared nothing draws nothing; all others then draw everything.
func draws(v wire.View, b block.Block) bool {
	if !v.Caps.Declared && v.Dialect == ubp.Name {
		return b.Type == "text"
	}
	return v.Caps.Can(b.Type, b.Version)
}

// allowed is the words that a reader may have of a log: what the blocks that it
// draws ever were, and what stood for the others.
func allowed(t rapid.TB, v wire.View, events []event.Event) map[string]bool {
	t.Helper()
	var all strings.Builder
	for _, token := range v.Caps.Tokens {
		all.WriteString(token.String() + " ")
	}
	if !v.Caps.Declared && v.Dialect != ubp.Name {
		for _, token := range v.Registry.All().Tokens {
			all.WriteString(token.String() + " ")
		}
	}
	f := event.NewFolder("m_1")
	for _, ev := range events {
		f.Apply(ev)
		b, ok := f.Block(ev.Block)
		switch {
		case !ok && (v.Caps.Declared || v.Dialect == ubp.Name):
		case !ok || draws(v, b):
			whole, err := json.Marshal(b)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(whole)
			all.Write(ev.Data)
		default:
			all.WriteString(v.Registry.Stand(b))
		}
	}
	out := make(map[string]bool)
	for _, m := range markers(all.String()) {
		out[m] = true
	}
	return out
}

// held fails for each word of a text that its reader may not have.
func held(t rapid.TB, what string, ok map[string]bool, text string) {
	t.Helper()
	for _, m := range markers(text) {
		if ok[m] {
			continue
		}
		at := strings.Index(strings.ToLower(text), m)
		t.Errorf("%s has %s, of a block that it cannot draw:\n%s", what, m, text[max(0, at-300):min(len(text), at+100)])
	}
}

// encode writes a log for a reader who has read up to a seq, or one who begins
// with a snapshot there.
func encode(t rapid.TB, v wire.View, events []event.Event, after uint64, snapshot bool) string {
	t.Helper()
	enc, err := dialects[v.Dialect](v, wire.Run{Msg: "m_1", Conversation: "c_1"})
	if err != nil {
		t.Fatal(err)
	}
	var snap *event.SnapshotData
	if snapshot {
		f := event.NewFolder("m_1")
		for _, ev := range events[:after] {
			f.Apply(ev)
		}
		st := f.State()
		snap = &event.SnapshotData{Blocks: st.Blocks, Seq: st.Seq, Status: st.Status, TS: st.Start.TS, ConversationID: "c_1"}
	}
	out, err := enc.Begin(nil, snap)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		if snapshot && ev.Seq <= after {
			continue
		}
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

// between reports whether a block is on its way from one major to another, which
// no record and so no snapshot ever shows.
func between(events []event.Event) bool {
	f := event.NewFolder("m_1")
	majors := make(map[string]map[int]bool)
	for _, ev := range events {
		f.Apply(ev)
		if b, ok := f.Block(ev.Block); ok {
			if majors[b.ID] == nil {
				majors[b.ID] = make(map[int]bool)
			}
			majors[b.ID][b.Version] = true
		}
	}
	return slices.ContainsFunc(f.State().Blocks, func(b block.Block) bool {
		return b.Status == block.StatusLoading && len(majors[b.ID]) > 1
	})
}

// complete fails when a reader of a whole stream lacks what it should have:
// the payloads of the blocks that it draws, the words for the others.
func complete(t rapid.TB, v wire.View, events []event.Event, stream string) {
	t.Helper()
	majors := make(map[string]map[int]bool)
	f := event.NewFolder("m_1")
	for _, ev := range events {
		f.Apply(ev)
		if b, ok := f.Block(ev.Block); ok {
			if majors[b.ID] == nil {
				majors[b.ID] = make(map[int]bool)
			}
			majors[b.ID][b.Version] = true
		}
	}
	st := f.State()
	if st.Open {
		return
	}
	for _, b := range st.Blocks {
		if b.Status != block.StatusDone || len(majors[b.ID]) > 1 {
			continue
		}
		want := v.Registry.Stand(b)
		if draws(v, b) && b.Type != "text" {
			want = string(b.Payload)
		} else if v.Dialect == "cards" {
			continue // a text that changes is sent as the piece that does
		}
		for _, m := range markers(want) {
			if !strings.Contains(strings.ToLower(stream), m) {
				t.Errorf("a reader of %s who draws %v lacks %s of block %s:\n%s", v.Dialect, v.Caps.Tokens, m, b.ID, stream)
			}
		}
	}
}

// TestReadersGetNothingOfBlocksTheyCannotDraw is the promise that a
// declaration is: no piece of a block outside it reaches its reader, in no
// dialect, whatever became of the block and wherever the reader begins.
func TestReadersGetNothingOfBlocksTheyCannotDraw(t *testing.T) {
	reg, err := block.NewRegistry(append(block.Builtins(), leakTypes()...)...)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		events := marked(t)
		v := wire.View{Registry: reg, Tools: true, Reasoning: true}
		if rapid.IntRange(0, 9).Draw(t, "declares") > 0 {
			v.Caps = reg.Negotiate(strings.Join(rapid.SliceOfDistinct(rapid.SampledFrom(leakTokens), rapid.ID).Draw(t, "tokens"), ","), false)
		}
		cut := uint64(rapid.IntRange(1, len(events)).Draw(t, "cut"))
		for _, v.Dialect = range dialectNames() {
			ok := allowed(t, v, events)
			who := fmt.Sprintf("a reader of %s who draws %v", v.Dialect, v.Caps.Tokens)
			whole := encode(t, v, events, 0, false)
			complete(t, v, events, whole)
			held(t, who, ok, whole)
			held(t, who+" and was cut off", ok, encode(t, v, events, cut, false))
			if !between(events[:cut]) {
				held(t, who+" and begins with a snapshot", ok, encode(t, v, events, cut, true))
			}
		}
		// Stored messages are degraded by the same encoder.
		v.Dialect = native.Name
		enc, err := native.New(v, wire.Run{Msg: "m_1"})
		if err != nil {
			t.Fatal(err)
		}
		f := event.NewFolder("m_1")
		for _, ev := range events {
			f.Apply(ev)
		}
		stored, err := json.Marshal(enc.Degrade(f.State().Blocks))
		if err != nil {
			t.Fatal(err)
		}
		held(t, "a reader of the stored message", allowed(t, v, events), string(stored))
	})
}
