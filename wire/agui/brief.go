package agui

import (
	"fmt"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Brief is a run in which nothing is written: of a request that asks for
// nothing new, or that was refused.
type Brief struct {
	// Version is that of the View.
	Version         string
	ThreadID, RunID string
	// Messages replace those of the client; nil leaves them as they are.
	Messages []Message
	// Result is of a run that did not fail.
	Result *Result
	// Code and Message are why it failed.
	Code, Message string
}

// Append writes the run.
func (b Brief) Append(dst []byte) ([]byte, error) {
	start := &RunStartedEvent{Base: Base{Type: RunStarted}, ThreadID: b.ThreadID, RunID: b.RunID}
	if NewGuard(b.Version).v1 {
		start.ProtocolVersion = Version1
	}
	events := []any{start}
	if b.Messages != nil {
		events = append(events, &MessagesSnapshotEvent{Base: Base{Type: MessagesSnapshot}, Messages: b.Messages})
	}
	if b.Message != "" {
		events = append(events, &RunErrorEvent{Base: Base{Type: RunError}, Message: b.Message, Code: b.Code})
	} else {
		end := &RunFinishedEvent{Base: Base{Type: RunFinished}, ThreadID: b.ThreadID, RunID: b.RunID}
		if b.Result != nil {
			end.Result = b.Result
		}
		events = append(events, end)
	}
	at := len(dst)
	for _, ev := range events {
		data, err := jsonx.Marshal(ev)
		if err != nil {
			return dst[:at], fmt.Errorf("agui: %w", err)
		}
		dst = append(append(append(dst, "data: "...), data...), '\n', '\n')
	}
	return dst, nil
}
