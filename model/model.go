// Package model is what a turn knows of a language model: one streaming
// completion with tools.
//
// It owns the Model interface and the vocabulary of requests and responses.
// Implementations live in folders of their own (model/openai, model/scripted).
// It imports nothing of the product and must never know of blocks, events or
// HTTP handlers.
package model

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// Model answers one request with one streamed completion. Implementations are
// safe for concurrent use.
type Model interface {
	// Info names the model for records and for the page's badge.
	Info() Info

	// Stream runs one completion. on is called for every piece as it arrives,
	// from the calling goroutine; an error returned by on ends the stream and
	// is returned. The Response is complete when err is nil. On error it holds
	// what had arrived, so that text already shown can be kept; its calls must
	// then not be run. Errors of the endpoint are *Error. Stream returns soon
	// after ctx has ended: the turn waits for it.
	Stream(ctx context.Context, req Request, on func(Delta) error) (Response, error)
}

// Info describes a model to people.
type Info struct {
	// Kind is "scripted" for the demo model, "openai" for an
	// OpenAI-compatible endpoint; other implementations choose their own word.
	Kind string `json:"kind"`
	// Name is the model's id as its endpoint knows it.
	Name string `json:"name"`
}

// Role says who speaks in a message.
type Role string

// The roles of a conversation.
const (
	RoleSystem    Role = "system"
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
	RoleTool      Role = "tool"
)

// Message is one entry of the conversation handed to the model.
type Message struct {
	Role    Role   `json:"role"`
	Content string `json:"content"`
	// Images are shown to models that see; others are told that there were some.
	Images []Image `json:"images,omitempty"`
	// Calls are the tool calls of an assistant message.
	Calls []Call `json:"calls,omitempty"`
	// CallID names the call that a tool message answers.
	CallID string `json:"callId,omitempty"`
	// Reasoning is what an assistant message thought, for endpoints that want
	// it echoed inside a tool turn.
	Reasoning string `json:"reasoning,omitempty"`
	// Extra holds members of the endpoint's assistant message that this
	// package does not know and that are echoed unchanged.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// Image is a picture in a message.
type Image struct {
	Mime string `json:"mime"`
	Data []byte `json:"data"`
}

// Call is one tool call of the model.
type Call struct {
	ID   string `json:"id"`
	Name string `json:"name"`
	// Arguments is a JSON object. It is nil when Err is set.
	Arguments json.RawMessage `json:"arguments,omitempty"`
	// Raw is the text the arguments were read from.
	Raw string `json:"raw,omitempty"`
	// Repaired says that raw control characters had to be escaped to read Raw.
	Repaired bool `json:"repaired,omitempty"`
	// Err says why Raw could not be read as an object; empty when it could.
	Err string `json:"err,omitempty"`
	// Extra holds unknown members of the call, echoed unchanged.
	Extra map[string]json.RawMessage `json:"extra,omitempty"`
}

// ToolSpec offers one tool to the model.
type ToolSpec struct {
	Name        string          `json:"name"`
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"` // JSON Schema of an object
	// Strict asks an endpoint that can to hold the model to Parameters. Every
	// object in them must then be closed and require all of its members.
	Strict bool `json:"strict,omitempty"`
}

// ToolChoice says whether the model may call tools.
type ToolChoice string

// The tool choices. Any other value is the name of the one tool to be called.
// Both are wishes: an endpoint that cannot force a call gets none, and the
// answer may come without.
const (
	ToolAuto     ToolChoice = ""
	ToolNone     ToolChoice = "none"
	ToolRequired ToolChoice = "required"
)

// Request is one completion to run.
type Request struct {
	// Name overrides the model's own name; empty uses it.
	Name       string
	Messages   []Message
	Tools      []ToolSpec
	ToolChoice ToolChoice
	// MaxTokens limits the answer; 0 leaves it to the endpoint.
	MaxTokens int
	// Temperature is sent when not nil and the endpoint takes one.
	Temperature *float64
	// Seed is sent when not nil.
	Seed *int64
	// User is an opaque end-user id passed on for abuse tracing; may be empty.
	User string
}

// Delta is one piece of a streamed completion. Exactly one member is set.
type Delta struct {
	Text      string
	Reasoning string
	// CallStarted is the name of a tool call as soon as it is known to be
	// complete; arguments may still be missing.
	CallStarted string
}

// Finish is why a completion ended, in this package's own words.
type Finish string

// The ends of a completion.
const (
	FinishStop          Finish = "stop"
	FinishLength        Finish = "length"
	FinishToolCalls     Finish = "tool_calls"
	FinishContentFilter Finish = "content_filter"
	// FinishIncomplete is a stream that broke off: no finish reason and no
	// end mark. Its calls must not be run.
	FinishIncomplete Finish = "incomplete"
)

// Usage counts tokens. Zero means unknown.
type Usage struct {
	InputTokens     int     `json:"inputTokens"`
	OutputTokens    int     `json:"outputTokens"`
	CachedTokens    int     `json:"cachedTokens,omitempty"`
	ReasoningTokens int     `json:"reasoningTokens,omitempty"`
	CostUSD         float64 `json:"costUsd,omitempty"`
}

// Response is a whole completion.
type Response struct {
	Text      string
	Reasoning string
	Calls     []Call
	Finish    Finish
	// FinishRaw is the endpoint's own word.
	FinishRaw string
	Usage     Usage
	// Quirks names the deviations of the endpoint that were met, for the
	// trajectory.
	Quirks []string
	// Extra holds unknown members of the assistant message, to be echoed.
	Extra map[string]json.RawMessage
	// FirstToken is the time from the request to the first piece.
	FirstToken time.Duration
}

// Assistant returns the response as a message for the next request.
func (r Response) Assistant() Message {
	return Message{Role: RoleAssistant, Content: r.Text, Calls: r.Calls, Reasoning: r.Reasoning, Extra: r.Extra}
}

// Error is a failure of the model's endpoint.
type Error struct {
	// Code is one of the codes below.
	Code string
	// Message says what happened, without secrets.
	Message string
	// Status is the HTTP status; 0 when there was none.
	Status int
	// Retryable says that the same request may succeed later.
	Retryable bool
	// RetryAfter is how long the endpoint asked to wait; 0 when it did not.
	RetryAfter time.Duration
	// Err is the cause, if any.
	Err error
}

// The codes of Error.
const (
	CodeUnavailable     = "model_unavailable"      // network, 5xx, overloaded
	CodeRateLimited     = "model_rate_limited"     // 429
	CodeUnauthorized    = "model_unauthorized"     // 401, 403: wrong or missing key
	CodeBadRequest      = "model_bad_request"      // other 4xx
	CodeContextTooLong  = "model_context_too_long" // the conversation does not fit
	CodeContentRejected = "model_content_rejected" // the endpoint's policy
	CodeTimeout         = "model_timeout"          // nothing arrived for too long
	CodeBadResponse     = "model_bad_response"     // the answer could not be read
)

// Error implements error.
func (e *Error) Error() string {
	if e.Status != 0 {
		return fmt.Sprintf("model: %s (HTTP %d): %s", e.Code, e.Status, e.Message)
	}
	return fmt.Sprintf("model: %s: %s", e.Code, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// AsError returns err as an *Error; other errors are wrapped as
// CodeUnavailable, retryable.
func AsError(err error) *Error {
	var e *Error
	if errors.As(err, &e) {
		return e
	}
	return &Error{Code: CodeUnavailable, Message: err.Error(), Retryable: true, Err: err}
}
