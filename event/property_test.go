package event

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"pgregory.net/rapid"
)

// anyEvents draws a stream that is numbered but otherwise makes as much or as
// little sense as chance has it.
func anyEvents(t *rapid.T) []Event {
	n := rapid.IntRange(1, 40).Draw(t, "n")
	var events []Event
	seq, group := uint64(0), 1
	for range n {
		seq += uint64(rapid.IntRange(1, 2).Draw(t, "step"))
		e := Event{Seq: seq, At: int64(seq), Group: group, Msg: "m_1", Block: fmt.Sprint("b_", rapid.IntRange(1, 4).Draw(t, "block"))}
		typ := rapid.SampledFrom([]string{"chart", "table", "text"}).Draw(t, "type")
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0, 1:
			e.Type, e.Data = TextDelta, TextData(rapid.String().Draw(t, "delta"))
		case 2:
			e.Type, e.Data = TextEnd, EmptyData
		case 3:
			e.Type, e.Data = BlockStart, json.RawMessage(`{"type":"`+typ+`","version":1,"meta":{"title":"t"}}`)
		case 4:
			e.Type, e.Data = BlockDelta, json.RawMessage(`{"patch":[{"op":"add","path":"","value":{"n":`+fmt.Sprint(seq)+`}},{"op":"add","path":"/rows","value":[]}]}`)
		case 5:
			e.Type, e.Data = BlockEnd, json.RawMessage(`{"type":"`+typ+`","version":1,"payload":"`+typ+`","fallback":"f"}`)
		case 6:
			e.Type, e.Data = BlockError, json.RawMessage(`{"code":"TOOL_TIMEOUT","message":"m","retryable":true}`)
		case 7:
			e.Type, e.Data = BlockState, json.RawMessage(`{"state":{"n":1},"rev":`+fmt.Sprint(seq)+`}`)
		case 8:
			e.Type, e.Block, e.Data = ReasoningDelta, "", TextData(rapid.String().Draw(t, "thought"))
		case 9:
			e.Type, e.Block, e.Data = Done, "", json.RawMessage(`{"finishReason":"`+rapid.SampledFrom([]string{"stop", "paused", "cancelled"}).Draw(t, "reason")+`","usage":{"inputTokens":1,"outputTokens":2}}`)
			group++
		}
		events = append(events, e)
	}
	return events
}

func TestFoldIsIdempotent(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		want := foldAll(events)
		// Replay from anywhere, as often as chance has it, changes nothing.
		again := slices.Clone(events)
		for range rapid.IntRange(0, 5).Draw(t, "replays") {
			from := rapid.IntRange(0, len(events)-1).Draw(t, "from")
			again = append(again, events[from:]...)
		}
		if got := foldAll(again); !reflect.DeepEqual(got, want) {
			t.Fatalf("replay folds to %+v, want %+v", got, want)
		}
	})
}

func TestFoldStopsAtAnError(t *testing.T) {
	broken := errors.New("broken")
	st, err := Fold(func(yield func(Event, error) bool) {
		_ = yield(Event{Seq: 1, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: TextData("a")}, nil) &&
			yield(Event{}, broken) &&
			yield(Event{Seq: 2, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: TextData("b")}, nil)
	})
	if !errors.Is(err, broken) || st.Seq != 1 || string(st.Blocks[0].Payload) != `"a"` {
		t.Errorf("got %+v, %v", st, err)
	}
}

func TestStateIsACopy(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		events := anyEvents(t)
		f := NewFolder("m_1")
		var states []State
		var texts []string
		for _, e := range events {
			f.Apply(e)
			st := f.State()
			b, err := json.Marshal(st.Blocks)
			if err != nil {
				t.Fatal(err)
			}
			states, texts = append(states, st), append(texts, string(b))
		}
		for i, st := range states {
			b, err := json.Marshal(st.Blocks)
			if err != nil {
				t.Fatal(err)
			}
			if string(b) != texts[i] {
				t.Fatalf("state after event %d changed from %s to %s", i+1, texts[i], b)
			}
		}
		for _, b := range f.State().Blocks {
			if one, ok := f.Block(b.ID); !ok || !reflect.DeepEqual(one, b) {
				t.Fatalf("Block(%s) = %+v, want %+v", b.ID, one, b)
			}
		}
	})
}

func TestTextFoldsAlikeHoweverItIsCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := rapid.String().Draw(t, "text")
		cut := func(label string) State {
			events := []Event{{Seq: 1, Group: 1, Type: Start, Msg: "m_1", Data: json.RawMessage(`{"conversationId":"c_1","ts":1}`)}}
			for rest := []rune(text); len(rest) > 0; {
				n := rapid.IntRange(1, len(rest)).Draw(t, label)
				events = append(events, Event{Group: 1, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: TextData(string(rest[:n]))})
				rest = rest[n:]
			}
			for i := range events {
				// The last number is the same however many events there are.
				events[i].Seq = uint64(1000 - len(events) + i)
			}
			return foldAll(events)
		}
		a, b := cut("a"), cut("b")
		if !reflect.DeepEqual(a, b) {
			t.Fatalf("%+v and %+v", a, b)
		}
		if text != "" {
			var got string
			if err := json.Unmarshal(a.Blocks[0].Payload, &got); err != nil || got != text {
				t.Fatalf("%q, %v, want %q", got, err, text)
			}
		}
	})
}

func TestFoldReadsAnySpellingOfADelta(t *testing.T) {
	for _, data := range []string{
		`{"delta":"a\u00e9\ud83d\udcc8\n\/"}`, `{ "delta" : "aé📈\n/" }`, `{"delta":"aé📈\n/","extra":1}`, `{"extra":"\"}","delta":"aé📈\n/"}`,
	} {
		st := foldAll([]Event{{Seq: 1, Type: TextDelta, Block: "b", Data: json.RawMessage(data)}})
		if got, want := string(st.Blocks[0].Payload), `"aé📈\n/"`; got != want {
			t.Errorf("%s gives %s, want %s", data, got, want)
		}
	}
	st := foldAll([]Event{{Seq: 1, Type: TextDelta, Block: "b", Data: json.RawMessage(`{"delta":7}`)}})
	if got := string(st.Blocks[0].Payload); got != `""` {
		t.Errorf("a delta that is no text gives %s", got)
	}
}

// TestFoldingTextIsLinear compares the memory of folding a text in ever more
// pieces with the size of the text.
func TestFoldingTextIsLinear(t *testing.T) {
	const pieces = 20000
	delta := TextData(strings.Repeat("x", 20))
	res := testing.Benchmark(func(b *testing.B) {
		b.ReportAllocs()
		for range b.N {
			f := NewFolder("m_1")
			for i := range pieces {
				f.Apply(Event{Seq: uint64(i + 1), Group: 1, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: delta})
			}
		}
	})
	if got, most := res.AllocedBytesPerOp(), int64(10*20*pieces); got > most {
		t.Errorf("%d bytes allocated for a text of %d, at most %d", got, 20*pieces, most)
	}
	if got := res.AllocsPerOp(); got > 100 {
		t.Errorf("%d allocations for %d pieces", got, pieces)
	}
}

func FuzzFold(f *testing.F) {
	for _, v := range vectors(f) {
		var b []byte
		for _, e := range v.Events {
			b = AppendFrame(b, e.event())
		}
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		folder := NewFolder("")
		guard := NewGuard("")
		lawful := true
		for len(b) > 0 {
			e, rest, err := ReadFrame(b)
			if err != nil {
				break
			}
			b = rest
			if lawful {
				lawful = guard.Check(e) == nil
			}
			folder.Apply(e)
		}
		st := folder.State()
		seen := make(map[string]bool)
		for _, blk := range st.Blocks {
			if blk.ID == "" || seen[blk.ID] {
				t.Fatalf("block id %q is empty or there twice", blk.ID)
			}
			seen[blk.ID] = true
			if len(blk.Payload) > 0 && !json.Valid(blk.Payload) {
				t.Fatalf("payload %q", blk.Payload)
			}
			if !st.Open && blk.Status == block.StatusLoading {
				t.Fatalf("block %s is loading though the group is over", blk.ID)
			}
		}
		if lawful && guard.Seq() != st.Seq {
			t.Fatalf("guard is at %d, fold at %d", guard.Seq(), st.Seq)
		}
	})
}

func BenchmarkFoldText(b *testing.B) {
	delta := TextData("East leads ")
	f := NewFolder("m_1")
	b.ReportAllocs()
	for i := range b.N {
		f.Apply(Event{Seq: uint64(i + 1), Group: 1, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: delta})
	}
}

func BenchmarkGuardText(b *testing.B) {
	delta := TextData("East leads ")
	g := NewGuard("m_1")
	if err := g.Check(Event{Seq: 1, Group: 1, Type: Start, Msg: "m_1", Data: EmptyData}); err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for i := range b.N {
		if err := g.Check(Event{Seq: uint64(i + 2), Group: 1, Type: TextDelta, Msg: "m_1", Block: "b_1", Data: delta}); err != nil {
			b.Fatal(err)
		}
	}
}
