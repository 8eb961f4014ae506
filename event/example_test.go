package event_test

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/event"
)

// A message is folded from its events; a chart that took its time stays where
// it was announced.
func ExampleFolder() {
	f := event.NewFolder("m_1")
	for i, e := range []event.Event{
		{Type: event.Start, Data: json.RawMessage(`{"conversationId":"c_1","ts":1782900000000}`)},
		{Type: event.BlockStart, Block: "b_1", Data: json.RawMessage(`{"type":"chart","version":1}`)},
		{Type: event.TextDelta, Block: "b_2", Data: event.TextData("East ")},
		{Type: event.TextDelta, Block: "b_2", Data: event.TextData("leads.")},
		{Type: event.TextEnd, Block: "b_2", Data: event.EmptyData},
		{Type: event.BlockEnd, Block: "b_1", Data: json.RawMessage(`{"type":"chart","version":1,"payload":{},"fallback":"East 320"}`)},
		{Type: event.Done, Data: json.RawMessage(`{"finishReason":"stop","usage":{"inputTokens":9,"outputTokens":3}}`)},
	} {
		e.Seq, e.Group, e.Msg = uint64(i+1), 1, "m_1"
		f.Apply(e)
	}
	st := f.State()
	fmt.Println(st.Status, st.FinishReason)
	for _, b := range st.Blocks {
		fmt.Println(b.ID, b.Type, b.Status, string(b.Payload))
	}
	// Output:
	// done stop
	// b_1 chart done {}
	// b_2 text done "East leads."
}

// A guard refuses what would break the log, before it is written.
func ExampleGuard() {
	g := event.NewGuard("m_1")
	start := event.Event{Seq: 1, Group: 1, Type: event.Start, Msg: "m_1", Data: event.EmptyData}
	fmt.Println(g.Check(start))

	late := event.Event{Seq: 3, Group: 1, Type: event.Done, Msg: "m_1", Data: event.EmptyData}
	err := g.Check(late)
	fmt.Println(err)
	fmt.Println(errors.Is(err, &event.GuardError{Rule: event.RuleSeq}))
	// Output:
	// <nil>
	// event 3 (done) of m_1: seq: want 2
	// true
}

func ExampleApplyPatch() {
	payload := json.RawMessage(`{"rows":[1]}`)
	payload, err := event.ApplyPatch(payload, json.RawMessage(`[{"op":"add","path":"/rows/-","value":2}]`))
	fmt.Println(string(payload), err)
	// Output: {"rows":[1,2]} <nil>
}

func ExampleAppendFrame() {
	frame := event.AppendFrame(nil, event.Event{Seq: 1, Group: 1, Type: event.TextEnd, Msg: "m_1", Block: "b_1", Data: event.EmptyData})
	e, rest, err := event.ReadFrame(frame)
	fmt.Println(e.Type, e.Block, string(e.Data), len(rest), err)
	// Output: text_end b_1 {} 0 <nil>
}
