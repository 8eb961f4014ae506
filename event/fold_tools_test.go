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

// TestFoldClientCalls follows calls that the client runs: they run on while the
// turn is paused, whatever else happens to the message, and the end of one says
// that the turn goes on.
func TestFoldClientCalls(t *testing.T) {
	f := event.NewFolder("m_1")
	seq := uint64(0)
	apply := func(group int, typ event.Type, data string) {
		seq++
		f.Apply(event.Event{Seq: seq, Group: group, Msg: "m_1", Type: typ, Data: json.RawMessage(data)})
	}
	check := func(status event.Status, want ...event.ToolActivity) {
		t.Helper()
		if st := f.State(); st.Status != status || !slices.Equal(st.Tools, want) {
			t.Errorf("%s, tools %+v; want %s, %+v", st.Status, st.Tools, status, want)
		}
	}
	a := event.ToolActivity{ID: "a", Name: "x", Status: event.ToolRunning, Client: true}
	b, own := event.ToolActivity{ID: "b", Name: "y", Status: event.ToolRunning, Client: true}, event.ToolActivity{ID: "o", Name: "z", Status: event.ToolRunning}
	apply(1, event.Start, `{"conversationId":"c_1","ts":1}`)
	apply(1, event.ToolCallStart, `{"toolCallId":"a","name":"x","client":true}`)
	apply(1, event.ClientToolCall, `{"toolCallId":"a","name":"x","arguments":{"n":1}}`)
	apply(1, event.ToolCallStart, `{"toolCallId":"b","name":"y","client":true}`)
	apply(1, event.ClientToolCall, `{"toolCallId":"b","name":"y","arguments":{}}`)
	apply(1, event.AppState, `{"state":{"page":2}}`)
	apply(1, event.Done, `{"finishReason":"paused","usage":{"inputTokens":1,"outputTokens":1}}`)
	check(event.StatusPaused, a, b)

	// A retry that is cut off leaves them and the turn alone.
	apply(2, event.ToolCallStart, `{"toolCallId":"o","name":"z"}`)
	check(event.StatusPaused, a, b, own)
	apply(2, event.Error, `{"code":"turn_interrupted","message":"cut off","retryable":true}`)
	own.Status = event.ToolCancelled
	check(event.StatusPaused, a, b, own)

	apply(3, event.ToolCallEnd, `{"toolCallId":"a","name":"x","status":"ok","durationMs":9,"client":true}`)
	a.Status, a.DurationMs = event.ToolOK, 9
	check(event.StatusRunning, a, b, own)
	apply(3, event.Done, `{"finishReason":"paused","usage":{"inputTokens":1,"outputTokens":1}}`)
	check(event.StatusPaused, a, b, own)
	if s := f.State(); s.Open {
		t.Error("the group is still open")
	}

	// The turn ends: what nobody ran is cancelled.
	apply(4, event.ToolCallEnd, `{"toolCallId":"a","name":"x","status":"ok","durationMs":9,"client":true}`)
	apply(4, event.Done, `{"finishReason":"cancelled","usage":{"inputTokens":1,"outputTokens":1}}`)
	b.Status = event.ToolCancelled
	check(event.StatusCancelled, a, b, own)
}
