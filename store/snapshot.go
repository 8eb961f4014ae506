package store

import (
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// Snapshot is what stands for the events of a message that the log has
// forgotten, made from its record.
func Snapshot(m Message) event.SnapshotData {
	s := event.SnapshotData{
		Blocks: m.Blocks, Seq: m.Seq, Status: m.Status,
		ConversationID: m.Conversation, UserMessageID: m.Parent, Model: m.Model,
		FinishReason: m.FinishReason, Error: m.Err, Reasoning: m.Reasoning, Tools: m.Tools,
	}
	if s.Blocks == nil {
		s.Blocks = []block.Block{}
	}
	if m.Usage != (event.Usage{}) {
		s.Usage = &m.Usage
	}
	if !m.CreatedAt.IsZero() {
		s.TS = m.CreatedAt.UnixMilli()
	}
	return s
}
