package event_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/inlay-ui/inlay/event"
)

func TestFoldTools(t *testing.T) {
	f := event.NewFolder("m_1")
	for i, e := range []event.Event{
		{Type: event.Start, Data: json.RawMessage(`{"conversationId":"c_1","ts":1}`)},
		{Type: event.ToolCallStart, Data: json.RawMessage(`{"toolCallId":"a","name":"x","title":"Look"}`)},
		{Type: event.ToolCallStart, Data: json.RawMessage(`{"toolCallId":"b","name":"y"}`)},
		{Type: event.ToolCallEnd, Data: json.RawMessage(`{"toolCallId":"a","name":"x","status":"ok","durationMs":7}`)},
		{Type: event.ToolCallEnd, Data: json.RawMessage(`{"toolCallId":"c","name":"z","status":"ok"}`)},
		{Type: event.Done, Data: json.RawMessage(`{"finishReason":"cancelled","usage":{"inputTokens":0,"outputTokens":0}}`)},
	} {
		e.Seq, e.Group, e.Msg = uint64(i+1), 1, "m_1"
		f.Apply(e)
		f.Apply(e)
	}
	want := []event.ToolActivity{
		{ID: "a", Name: "x", Title: "Look", Status: event.ToolOK, DurationMs: 7},
		{ID: "b", Name: "y", Status: event.ToolCancelled},
	}
	if got := f.State().Tools; !slices.Equal(got, want) {
		t.Errorf("tools %+v, want %+v", got, want)
	}
}
