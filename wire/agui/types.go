package agui

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
)

// EventType names an event of AG-UI.
type EventType string

// The 31 events of AG-UI 1.0.
const (
	RunStarted              EventType = "RUN_STARTED"
	RunFinished             EventType = "RUN_FINISHED"
	RunError                EventType = "RUN_ERROR"
	StepStarted             EventType = "STEP_STARTED"
	StepFinished            EventType = "STEP_FINISHED"
	TextMessageStart        EventType = "TEXT_MESSAGE_START"
	TextMessageContent      EventType = "TEXT_MESSAGE_CONTENT"
	TextMessageEnd          EventType = "TEXT_MESSAGE_END"
	TextMessageChunk        EventType = "TEXT_MESSAGE_CHUNK"
	ToolCallStart           EventType = "TOOL_CALL_START"
	ToolCallArgs            EventType = "TOOL_CALL_ARGS"
	ToolCallEnd             EventType = "TOOL_CALL_END"
	ToolCallChunk           EventType = "TOOL_CALL_CHUNK"
	ToolCallResult          EventType = "TOOL_CALL_RESULT"
	StateSnapshot           EventType = "STATE_SNAPSHOT"
	StateDelta              EventType = "STATE_DELTA"
	MessagesSnapshot        EventType = "MESSAGES_SNAPSHOT"
	ActivitySnapshot        EventType = "ACTIVITY_SNAPSHOT"
	ActivityDelta           EventType = "ACTIVITY_DELTA"
	Raw                     EventType = "RAW"
	Custom                  EventType = "CUSTOM"
	ReasoningStart          EventType = "REASONING_START"
	ReasoningEnd            EventType = "REASONING_END"
	ReasoningMessageStart   EventType = "REASONING_MESSAGE_START"
	ReasoningMessageContent EventType = "REASONING_MESSAGE_CONTENT"
	ReasoningMessageEnd     EventType = "REASONING_MESSAGE_END"
	ReasoningMessageChunk   EventType = "REASONING_MESSAGE_CHUNK"
	ReasoningEncryptedValue EventType = "REASONING_ENCRYPTED_VALUE"
	SubagentStarted         EventType = "SUBAGENT_STARTED"
	SubagentFinished        EventType = "SUBAGENT_FINISHED"
	SubagentError           EventType = "SUBAGENT_ERROR"
)

// Metadata is the open object that events, messages, tool calls and interrupts
// carry. A client merges it key by key into what the event is about; the last
// value of a key stands.
type Metadata map[string]any

// Base has the members of every event.
type Base struct {
	Type EventType `json:"type"`
	// Timestamp is epoch milliseconds.
	Timestamp int64           `json:"timestamp,omitempty"`
	RawEvent  json.RawMessage `json:"rawEvent,omitempty"`
	Metadata  Metadata        `json:"metadata,omitempty"`
}

// Attributed is the base of an event that a subagent may have made. Run-scoped
// events have no such member.
type Attributed struct {
	Base
	// SubagentRunID names the subagent; absent, the event is the agent's own.
	SubagentRunID string `json:"subagentRunId,omitempty"`
}

// RunStartedEvent opens a run.
type RunStartedEvent struct {
	Base
	ThreadID        string          `json:"threadId"`
	RunID           string          `json:"runId"`
	ProtocolVersion string          `json:"protocolVersion,omitempty"`
	ParentRunID     string          `json:"parentRunId,omitempty"`
	Input           json.RawMessage `json:"input,omitempty"`
}

// RunFinishedEvent closes a run that did not fail.
type RunFinishedEvent struct {
	Base
	ThreadID string       `json:"threadId"`
	RunID    string       `json:"runId"`
	Result   any          `json:"result,omitempty"`
	Outcome  *Outcome     `json:"outcome,omitempty"`
	Usage    []TokenUsage `json:"usage,omitempty"`
}

// RunErrorEvent ends a run that failed.
type RunErrorEvent struct {
	Base
	Message string       `json:"message"`
	Code    string       `json:"code,omitempty"`
	Usage   []TokenUsage `json:"usage,omitempty"`
}

// The types of an Outcome.
const (
	OutcomeSuccess   = "success"
	OutcomeInterrupt = "interrupt"
	// OutcomeCancelled came with version 1.0; older clients end the run with
	// an error when they meet it.
	OutcomeCancelled = "cancelled"
	// OutcomeSuspended is a subagent's only.
	OutcomeSuspended = "suspended"
)

// Outcome says how a run ended.
type Outcome struct {
	Type string `json:"type"`
	// PendingToolCallIDs is of a success, from version 1.0.
	PendingToolCallIDs []string `json:"pendingToolCallIds,omitempty"`
	// Interrupts is of an interrupt, and not empty there.
	Interrupts []Interrupt `json:"interrupts,omitempty"`
}

// Interrupt is what a run waits for.
type Interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message,omitempty"`
	ToolCallID     string          `json:"toolCallId,omitempty"`
	ResponseSchema json.RawMessage `json:"responseSchema,omitempty"`
	// ExpiresAt is ISO 8601.
	ExpiresAt     string   `json:"expiresAt,omitempty"`
	SubagentRunID string   `json:"subagentRunId,omitempty"`
	Metadata      Metadata `json:"metadata,omitempty"`
}

// TokenUsage counts the tokens of one model. The parts are counted in the
// totals already.
type TokenUsage struct {
	Provider              string `json:"provider,omitempty"`
	Model                 string `json:"model,omitempty"`
	InputTokens           int    `json:"inputTokens"`
	OutputTokens          int    `json:"outputTokens"`
	TotalTokens           int    `json:"totalTokens,omitempty"`
	ReasoningTokens       int    `json:"reasoningTokens,omitempty"`
	CachedInputTokens     int    `json:"cachedInputTokens,omitempty"`
	CacheWriteInputTokens int    `json:"cacheWriteInputTokens,omitempty"`
}

// StepEvent is STEP_STARTED and STEP_FINISHED.
type StepEvent struct {
	Attributed
	StepName string `json:"stepName"`
}

// TextMessageStartEvent opens a text message.
type TextMessageStartEvent struct {
	Attributed
	MessageID string `json:"messageId"`
	// Role is developer, system, assistant or user; absent means assistant.
	Role string `json:"role,omitempty"`
	Name string `json:"name,omitempty"`
}

// MessageDeltaEvent is TEXT_MESSAGE_CONTENT and REASONING_MESSAGE_CONTENT.
type MessageDeltaEvent struct {
	Attributed
	MessageID string `json:"messageId"`
	Delta     string `json:"delta"`
}

// MessageEvent is an event with nothing but the message it is about:
// TEXT_MESSAGE_END, REASONING_START, REASONING_END and REASONING_MESSAGE_END.
type MessageEvent struct {
	Attributed
	MessageID string `json:"messageId"`
}

// TextMessageChunkEvent is a text message without frames of its own for start
// and end.
type TextMessageChunkEvent struct {
	Attributed
	MessageID string `json:"messageId,omitempty"`
	Role      string `json:"role,omitempty"`
	Delta     string `json:"delta,omitempty"`
	Name      string `json:"name,omitempty"`
}

// ToolCallStartEvent opens a tool call.
type ToolCallStartEvent struct {
	Attributed
	ToolCallID      string `json:"toolCallId"`
	ToolCallName    string `json:"toolCallName"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
}

// ToolCallArgsEvent adds to the arguments of an open tool call.
type ToolCallArgsEvent struct {
	Attributed
	ToolCallID string `json:"toolCallId"`
	Delta      string `json:"delta"`
}

// ToolCallEndEvent closes a tool call.
type ToolCallEndEvent struct {
	Attributed
	ToolCallID string `json:"toolCallId"`
}

// ToolCallChunkEvent is a tool call without frames of its own for start and
// end.
type ToolCallChunkEvent struct {
	Attributed
	ToolCallID      string `json:"toolCallId,omitempty"`
	ToolCallName    string `json:"toolCallName,omitempty"`
	ParentMessageID string `json:"parentMessageId,omitempty"`
	Delta           string `json:"delta,omitempty"`
}

// ToolCallResultEvent is what a tool call came to.
type ToolCallResultEvent struct {
	Attributed
	MessageID  string `json:"messageId"`
	ToolCallID string `json:"toolCallId"`
	// Content is a string, from version 1.0 also an array of parts.
	Content any `json:"content"`
	// Role is "tool" or absent.
	Role string `json:"role,omitempty"`
}

// StateSnapshotEvent replaces the thread's state; nil is null.
type StateSnapshotEvent struct {
	Attributed
	Snapshot json.RawMessage `json:"snapshot"`
}

// StateDeltaEvent patches the thread's state (RFC 6902).
type StateDeltaEvent struct {
	Attributed
	Delta []PatchOp `json:"delta"`
}

// PatchOp is one operation of RFC 6902. A nil Value is absent; null is the
// literal.
type PatchOp struct {
	Op    string          `json:"op"`
	From  *string         `json:"from,omitempty"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value,omitempty"`
}

// MessagesSnapshotEvent replaces the thread's messages.
type MessagesSnapshotEvent struct {
	Base
	Messages []Message `json:"messages"`
}

// Message is a message of any role.
type Message struct {
	ID   string `json:"id"`
	Role string `json:"role"`
	// Content is a string, or an object in an activity message.
	Content any    `json:"content,omitempty"`
	Name    string `json:"name,omitempty"`
	// ActivityType is of activity messages.
	ActivityType string `json:"activityType,omitempty"`
	// ToolCalls is of assistant messages.
	ToolCalls []ToolCall `json:"toolCalls,omitempty"`
	// ToolCallID and Error are of tool messages.
	ToolCallID     string   `json:"toolCallId,omitempty"`
	Error          string   `json:"error,omitempty"`
	EncryptedValue string   `json:"encryptedValue,omitempty"`
	SubagentRunID  string   `json:"subagentRunId,omitempty"`
	Metadata       Metadata `json:"metadata,omitempty"`
}

// The roles of a Message that the encoder writes.
const (
	RoleAssistant = "assistant"
	RoleActivity  = "activity"
	RoleReasoning = "reasoning"
	RoleTool      = "tool"
	RoleUser      = "user"
)

// ToolCall is a call in an assistant message.
type ToolCall struct {
	ID string `json:"id"`
	// Type is "function".
	Type           string       `json:"type"`
	Function       FunctionCall `json:"function"`
	EncryptedValue string       `json:"encryptedValue,omitempty"`
	Metadata       Metadata     `json:"metadata,omitempty"`
}

// FunctionCall is what a ToolCall calls.
type FunctionCall struct {
	Name string `json:"name"`
	// Arguments is JSON.
	Arguments string `json:"arguments"`
}

// ActivitySnapshotEvent makes or replaces an activity message.
type ActivitySnapshotEvent struct {
	Attributed
	MessageID    string `json:"messageId"`
	ActivityType string `json:"activityType"`
	// Content is an object.
	Content any `json:"content"`
	// Replace is true when absent; false keeps what is there already.
	Replace *bool `json:"replace,omitempty"`
}

// ActivityDeltaEvent patches the content of an activity message (RFC 6902).
type ActivityDeltaEvent struct {
	Attributed
	MessageID    string    `json:"messageId"`
	ActivityType string    `json:"activityType"`
	Patch        []PatchOp `json:"patch"`
}

// RawEvent carries an event of another system.
type RawEvent struct {
	Attributed
	Event  json.RawMessage `json:"event"`
	Source string          `json:"source,omitempty"`
}

// CustomEvent is an event that AG-UI does not know.
type CustomEvent struct {
	Attributed
	Name  string          `json:"name"`
	Value json.RawMessage `json:"value"`
}

// ReasoningMessageStartEvent opens a reasoning message.
type ReasoningMessageStartEvent struct {
	Attributed
	MessageID string `json:"messageId"`
	// Role is "reasoning".
	Role string `json:"role"`
}

// ReasoningMessageChunkEvent is a reasoning message without frames of its own
// for start and end.
type ReasoningMessageChunkEvent struct {
	Attributed
	MessageID string `json:"messageId,omitempty"`
	Delta     string `json:"delta,omitempty"`
}

// ReasoningEncryptedValueEvent gives a message or tool call its encrypted
// reasoning.
type ReasoningEncryptedValueEvent struct {
	Attributed
	// Subtype is tool-call or message.
	Subtype        string `json:"subtype"`
	EntityID       string `json:"entityId"`
	EncryptedValue string `json:"encryptedValue"`
}

// SubagentStartedEvent opens a subagent's part of a run. Its SubagentRunID is
// required.
type SubagentStartedEvent struct {
	Attributed
	Name                string `json:"name"`
	Description         string `json:"description,omitempty"`
	ParentSubagentRunID string `json:"parentSubagentRunId,omitempty"`
	ParentToolCallID    string `json:"parentToolCallId,omitempty"`
	ParentMessageID     string `json:"parentMessageId,omitempty"`
}

// SubagentFinishedEvent closes a subagent's part of a run. Its SubagentRunID
// is required.
type SubagentFinishedEvent struct {
	Attributed
	Result  any              `json:"result,omitempty"`
	Outcome *SubagentOutcome `json:"outcome,omitempty"`
}

// SubagentOutcome says how a subagent ended: success or suspended.
type SubagentOutcome struct {
	Type string `json:"type"`
	// InterruptIDs is of a suspended one.
	InterruptIDs []string `json:"interruptIds,omitempty"`
}

// SubagentErrorEvent ends a subagent's part of a run that failed. Its
// SubagentRunID is required.
type SubagentErrorEvent struct {
	Attributed
	Message string `json:"message"`
	Code    string `json:"code,omitempty"`
}

// Envelope stands in the metadata of every event under the key "inlay", and so
// in that of every message. What only some events have is absent elsewhere.
type Envelope struct {
	V       int    `json:"v"`
	MsgID   string `json:"msgId"`
	BlockID string `json:"blockId,omitempty"`
	Seq     uint64 `json:"seq"`

	// Of the first RUN_STARTED: what the message answers and what this reader
	// is sent.
	ConversationID  string      `json:"conversationId,omitempty"`
	UserMessageID   string      `json:"userMessageId,omitempty"`
	SupportedBlocks []Supported `json:"supported_blocks,omitzero"`
	Rejected        []string    `json:"rejected_capabilities,omitempty"`

	// Of tool calls.
	ToolCallID string `json:"toolCallId,omitempty"`
	Title      string `json:"title,omitempty"`
	Sub        bool   `json:"sub,omitempty"`

	// Of the TEXT_MESSAGE_END of a text that failed, and of terminal events.
	Error        *block.Error `json:"error,omitempty"`
	FinishReason string       `json:"finishReason,omitempty"`
	Retryable    *bool        `json:"retryable,omitempty"`
}

// Supported is an entry of supported_blocks.
type Supported struct {
	Namespace string `json:"namespace"`
	BlockType string `json:"block_type"`
	Version   int    `json:"version"`
}

// Result is the result of RUN_FINISHED.
type Result struct {
	MsgID        string  `json:"msgId,omitempty"`
	FinishReason string  `json:"finishReason"`
	CostUSD      float64 `json:"costUsd,omitempty"`
	// Action is the answer of the action that the run was begun by, as
	// POST /v1/chat/actions gives it.
	Action json.RawMessage `json:"action,omitempty"`
}
