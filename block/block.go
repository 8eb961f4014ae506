// Package block is the vocabulary of what a message is made of.
//
// It owns the block itself, the registry of block types with their schemas and
// fallbacks, actions, and the tokens by which a client says what it can draw.
// One file per block type holds its payload, its JSON Schema, its fallback
// text and its Markdown export. It imports nothing of the product and must
// never know of events, storage, models or HTTP.
package block

import (
	"encoding/json"
)

// Status is the life of a block.
type Status string

// The states of a block. A block in Loading is shown as a skeleton.
const (
	StatusLoading Status = "loading"
	StatusDone    Status = "done"
	StatusError   Status = "error"
)

// Block is one part of a message (protocol §4).
type Block struct {
	// ID is "b_" and a UUIDv7, unique in the whole installation.
	ID string `json:"id"`
	// Type is "[namespace.]name"; built-ins have no namespace.
	Type string `json:"type"`
	// Version is the major version of the payload's schema, from 1.
	Version int    `json:"version"`
	Status  Status `json:"status"`
	// Rev starts at 1 and grows by one with every change of State.
	Rev int `json:"rev"`
	// Payload has the shape of the type's schema; a text block's is a string
	// of Markdown.
	Payload json.RawMessage `json:"payload,omitempty"`
	// Fallback is plain text for clients that do not know the type. It is
	// present on every finished block that is not text.
	Fallback string          `json:"fallback,omitempty"`
	Actions  []Action        `json:"actions,omitempty"`
	State    json.RawMessage `json:"state,omitempty"`
	Meta     *Meta           `json:"meta,omitempty"`
	Err      *Error          `json:"error,omitempty"`
}

// Meta is what a client may need before or beside the payload.
type Meta struct {
	Title string `json:"title,omitempty"`
	// EstimatedHeight is the height in CSS pixels of the drawn body.
	EstimatedHeight int `json:"estimatedHeight,omitempty"`
	// Position is UBP's hint for style: after_text, inline or before_text.
	Position string `json:"position,omitempty"`
	// Source names where the data came from, for people.
	Source string `json:"source,omitempty"`
	// Producer is who made a block that no tool was asked for: model,
	// recommender, markup or connector.
	Producer string `json:"producer,omitempty"`
	// ToolCallID is the call that made the block.
	ToolCallID string `json:"toolCallId,omitempty"`
	// Tool is the name of the tool that made the block.
	Tool string `json:"tool,omitempty"`
	// FetchedAt and RefreshedAt are epoch milliseconds.
	FetchedAt   int64 `json:"fetchedAt,omitempty"`
	RefreshedAt int64 `json:"refreshedAt,omitempty"`
	// CanRefresh says that POST /v1/chat/blocks/{id}/refresh will work.
	CanRefresh bool `json:"canRefresh,omitempty"`
	// SchemaMinor is the minor version that a tool's answer declared.
	SchemaMinor int `json:"schemaMinor,omitempty"`
	// Truncated says that Payload was cut for this reader.
	Truncated bool `json:"truncated,omitempty"`
	// Vendor keeps the keys of UBP's _meta unchanged (≤ 4 KiB).
	Vendor map[string]json.RawMessage `json:"vendor,omitempty"`
}

// Error is why a block could not be filled.
type Error struct {
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
}

// The codes of a block's Error. All of them are listed, with words for people,
// in schema/errors.json.
const (
	CodeDataFetchFailed = "DATA_FETCH_FAILED"
	CodeToolTimeout     = "TOOL_TIMEOUT"
	CodeToolPanic       = "TOOL_PANIC"
	CodeSchemaInvalid   = "SCHEMA_INVALID"
	CodePayloadTooLarge = "PAYLOAD_TOO_LARGE"
	CodeHydrateTimeout  = "HYDRATE_TIMEOUT"
	CodeCancelled       = "CANCELLED"
	CodeInterrupted     = "INTERRUPTED"
	CodeNotAuthorized   = "NOT_AUTHORIZED"
	CodeNotFound        = "NOT_FOUND"
)

// ActionKind says where an action goes.
type ActionKind string

// The kinds of action (protocol §8).
const (
	ActionAPI    ActionKind = "api"
	ActionPrompt ActionKind = "prompt"
	ActionLink   ActionKind = "link"
	ActionLocal  ActionKind = "local"
)

// Action is something a person can do with a block.
type Action struct {
	ID    string     `json:"id"`
	Label string     `json:"label"`
	Kind  ActionKind `json:"kind"`
	// Action is the name of the registered action that an api action calls; the
	// ID when empty.
	Action string `json:"action,omitempty"`
	// Style is primary, default or danger.
	Style string `json:"style,omitempty"`
	// Prompt is the user message that a prompt action becomes; {{name}} stands
	// for a parameter.
	Prompt string `json:"prompt,omitempty"`
	Href   string `json:"href,omitempty"`
	// Confirm is a question asked before the action runs.
	Confirm      string                     `json:"confirm,omitempty"`
	Params       map[string]json.RawMessage `json:"params,omitempty"`
	InputSchema  json.RawMessage            `json:"inputSchema,omitempty"`
	Feedback     *Feedback                  `json:"feedback,omitempty"`
	DisabledWhen string                     `json:"disabledWhen,omitempty"`
}

// Feedback words the outcome of an action for people.
type Feedback struct {
	SuccessText  string `json:"successText,omitempty"`
	FailureToast string `json:"failureToast,omitempty"`
}
