// Package event is the language of the log: the events of a message, their
// stored form, the fold that turns them into blocks and the guard that keeps a
// stream lawful.
//
// A turn writes an append-only, numbered log of events; all else is derived
// from it. A Folder folds the log into the blocks of the message, a Guard
// refuses an event that would break the log before it is written, AppendFrame
// and ReadFrame are its stored form, and ApplyPatch is what block_delta events
// do to a payload.
//
// It may import block. It must never know of storage, models, HTTP or any one
// client's dialect: those are encoders of what is written here.
package event

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
)

// Type names an event.
type Type string

// The events of a message (protocol §3).
const (
	Start                Type = "start"
	TextDelta            Type = "text_delta"
	TextEnd              Type = "text_end"
	ReasoningDelta       Type = "reasoning_delta"
	BlockStart           Type = "block_start"
	BlockDelta           Type = "block_delta"
	BlockEnd             Type = "block_end"
	BlockError           Type = "block_error"
	BlockState           Type = "block_state"
	ToolCallStart        Type = "tool_call_start"
	ToolCallEnd          Type = "tool_call_end"
	SubToolStart         Type = "sub_tool_start"
	SubToolEnd           Type = "sub_tool_end"
	ClientToolCall       Type = "client_tool_call"
	AppState             Type = "state"
	PendingQuestionStart Type = "pending_question_start"
	PendingQuestionEnd   Type = "pending_question_end"
	Annotation           Type = "annotation"
	Snapshot             Type = "snapshot"
	Done                 Type = "done"
	Error                Type = "error"
)

// Terminal reports whether the event ends its group.
func (t Type) Terminal() bool { return t == Done || t == Error }

// Event is one entry of a message's log.
//
// The log of a message is a sequence of groups: the turn, then any number of
// follow-ups (retry, refresh, action). Seq runs on through all of them without
// a gap; each group has exactly one terminal event; only the first has a start.
type Event struct {
	// Seq starts at 1 and grows by one per event of the message.
	Seq uint64
	// At is milliseconds since the message's start event. It never decreases.
	At int64
	// Group starts at 1 for the turn.
	Group int
	Type  Type
	// Msg is the message's id.
	Msg string
	// Block is the block's id; empty on events that are of no one block: start,
	// reasoning_delta, tool_call_*, sub_tool_*, client_tool_call, state, snapshot,
	// done and error.
	Block string
	// Data is the event's own object, encoded once by the emitter and shared
	// by all readers: it must not be changed.
	Data json.RawMessage
}

// StartData is the data of a start event.
type StartData struct {
	ConversationID string `json:"conversationId"`
	// TS is epoch milliseconds.
	TS            int64  `json:"ts"`
	UserMessageID string `json:"userMessageId,omitempty"`
	Model         *Model `json:"model,omitempty"`
}

// Model names who answers.
type Model struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
}

// TextDeltaData is the data of text_delta and reasoning_delta.
type TextDeltaData struct {
	Delta string `json:"delta"`
}

// BlockStartData is the data of a block_start event.
type BlockStartData struct {
	Type    string      `json:"type"`
	Version int         `json:"version"`
	Meta    *block.Meta `json:"meta,omitempty"`
}

// BlockDeltaData is the data of a block_delta event: an RFC 6902 patch of the
// block's payload.
type BlockDeltaData struct {
	Patch json.RawMessage `json:"patch"`
}

// BlockEndData is the data of a block_end event. With Built set the payload is
// what the deltas built and Payload is absent.
type BlockEndData struct {
	Type     string          `json:"type"`
	Version  int             `json:"version"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	Built    bool            `json:"built,omitempty"`
	Digest   string          `json:"digest,omitempty"`
	Fallback string          `json:"fallback,omitempty"`
	Actions  []block.Action  `json:"actions,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
	Meta     *block.Meta     `json:"meta,omitempty"`
}

// BlockErrorData is the data of a block_error event.
type BlockErrorData struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	Fallback  string `json:"fallback,omitempty"`
}

// BlockStateData is the data of a block_state event.
type BlockStateData struct {
	State json.RawMessage `json:"state"`
	Rev   int             `json:"rev"`
}

// QuestionData is the data of pending_question_start and pending_question_end:
// the turn waits for a person, and has its answer. The question is a block.
type QuestionData struct {
	// QuestionID is the id of the block.
	QuestionID string           `json:"questionId"`
	Prompt     string           `json:"prompt,omitempty"`
	Options    []QuestionOption `json:"options,omitempty"`
	Schema     json.RawMessage  `json:"schema,omitempty"`
	// ExpiresAt is epoch milliseconds.
	ExpiresAt int64 `json:"expiresAt,omitempty"`
	// Status is answered, expired or cancelled; absent on a start.
	Status string `json:"status,omitempty"`
}

// QuestionOption is one answer to choose.
type QuestionOption struct {
	ID    string `json:"id"`
	Label string `json:"label,omitempty"`
}

// What becomes of a question.
const (
	QuestionAnswered  = "answered"
	QuestionExpired   = "expired"
	QuestionCancelled = "cancelled"
)

// ToolCallData is the data of tool_call_* and sub_tool_* events. Arguments and
// results are never in it.
type ToolCallData struct {
	ToolCallID string `json:"toolCallId"`
	Name       string `json:"name"`
	Title      string `json:"title,omitempty"`
	// Client says that the client runs the call. The turn pauses for it, and its
	// end, in a later group, says that the turn goes on.
	Client bool `json:"client,omitempty"`
	// Status is ok, error or cancelled; absent on a start.
	Status     string `json:"status,omitempty"`
	DurationMs int64  `json:"durationMs,omitempty"`
}

// ClientToolCallData is the data of client_tool_call, which follows the
// tool_call_start of a call that the client runs.
type ClientToolCallData struct {
	ToolCallID string `json:"toolCallId"`
	Name       string `json:"name"`
	// Arguments have been checked against the schema that the client gave.
	Arguments json.RawMessage `json:"arguments"`
}

// StateData is the data of state: what a tool has made of the application's
// state, any JSON.
type StateData struct {
	State json.RawMessage `json:"state"`
}

// ToolActivity is one tool call as people see it.
type ToolActivity struct {
	ID    string `json:"id"`
	Name  string `json:"name"`
	Title string `json:"title,omitempty"`
	// Status is running, ok, error or cancelled.
	Status     string `json:"status"`
	DurationMs int64  `json:"durationMs,omitempty"`
	// Sub says that another tool made the call, Client that the client runs it:
	// such a call runs on while the turn is paused.
	Sub    bool `json:"sub,omitempty"`
	Client bool `json:"client,omitempty"`
}

// The states of a ToolActivity.
const (
	ToolRunning   = "running"
	ToolOK        = "ok"
	ToolError     = "error"
	ToolCancelled = "cancelled"
)

// Usage counts the tokens of a turn.
type Usage struct {
	InputTokens  int     `json:"inputTokens"`
	OutputTokens int     `json:"outputTokens"`
	CostUSD      float64 `json:"costUsd,omitempty"`
}

// The finish reasons of a done event.
const (
	FinishStop          = "stop"
	FinishLength        = "length"
	FinishCancelled     = "cancelled"
	FinishMaxSteps      = "max_steps"
	FinishPaused        = "paused"
	FinishContentFilter = "content_filter"
)

// DoneData is the data of a done event.
type DoneData struct {
	FinishReason string `json:"finishReason"`
	Usage        Usage  `json:"usage"`
	Model        *Model `json:"model,omitempty"`
}

// ErrorData is the data of an error event.
type ErrorData struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// Status is the state of a message.
type Status string

// The states of a message.
const (
	StatusRunning   Status = "running"
	StatusDone      Status = "done"
	StatusError     Status = "error"
	StatusCancelled Status = "cancelled"
	StatusPaused    Status = "paused"
)

// SnapshotData is the data of a snapshot: what a reader gets first when its
// cursor is older than the log.
type SnapshotData struct {
	Blocks []block.Block `json:"blocks"`
	Seq    uint64        `json:"seq"`
	Status Status        `json:"status"`

	// What the forgotten events said of the message itself.

	ConversationID string         `json:"conversationId,omitempty"`
	UserMessageID  string         `json:"userMessageId,omitempty"`
	TS             int64          `json:"ts,omitempty"` // of the start, epoch ms
	Model          *Model         `json:"model,omitempty"`
	FinishReason   string         `json:"finishReason,omitempty"`
	Usage          *Usage         `json:"usage,omitempty"`
	Error          *ErrorData     `json:"error,omitempty"`
	Reasoning      string         `json:"reasoning,omitempty"`
	Tools          []ToolActivity `json:"tools,omitempty"`
}

// State is a message folded from its events.
type State struct {
	Seq uint64
	// At is the time of the last event, in milliseconds since the start.
	At     int64
	Group  int
	Status Status
	Start  StartData
	Blocks []block.Block
	// Reasoning is what the model thought, kept out of the blocks.
	Reasoning string
	// Tools are the calls of the turn and its follow-ups, in order.
	Tools        []ToolActivity
	FinishReason string
	Usage        Usage
	Err          *ErrorData
	// Open says that the last group has no terminal event yet.
	Open bool
}
