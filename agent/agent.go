// Package agent is what a turn knows of an agent that stands elsewhere and
// answers instead of the installation's own loop.
//
// It owns the Agent interface and the vocabulary of requests and of what comes
// back. Each protocol is a folder of its own (agent/agui, agent/aisdk). It
// imports package model only, and must never know of blocks, events or stores:
// what becomes of an answer is the turn's.
package agent

import (
	"context"
	"encoding/json"
	"time"

	"github.com/inlay-ui/inlay/model"
)

// Agent answers one request with one stream of pieces. Implementations are safe
// for concurrent use.
type Agent interface {
	// Info names the agent for records and for the page's badge.
	Info() model.Info
	// Run runs the agent once. on is called for every piece as it arrives, from
	// the calling goroutine; an error returned by on ends the run and is
	// returned. Failures of the agent are *model.Error. Run returns soon after
	// ctx has ended, by which the agent is stopped.
	Run(ctx context.Context, req Request, on func(Piece) error) (Outcome, error)
}

// Request is one run.
type Request struct {
	// Thread names the conversation and Run the run; both are ours.
	Thread, Run string
	// Messages are what was said, the question or the results of calls last.
	Messages []model.Message
	// Tools are what the client can run when the agent calls it.
	Tools []model.ToolSpec
	// Context and State are what the application says.
	Context []Entry
	State   json.RawMessage
	// Replies answer what the run before was interrupted for.
	Replies []Reply
	// Message is the agent's own name for the answer that it goes on with, as the
	// Outcome before said; "" for a new one.
	Message string
	// Capabilities are the types of blocks that are drawn, such as chart@1, for
	// agents that ask.
	Capabilities []string
}

// Entry is one thing that the application says about where its user is.
type Entry struct{ Description, Value string }

// Kind says which members of a Piece there are.
type Kind uint8

// The kinds of pieces.
const (
	// Text is more of the answer, Reasoning of the thoughts: Text.
	Text Kind = iota
	Reasoning
	// TextEnd ends a paragraph of its own.
	TextEnd
	// CallStart is a call that the agent makes: ID, Name.
	CallStart
	// CallArguments are all of its arguments: ID, Name, JSON.
	CallArguments
	// CallResult is what came of it, of this run or of an earlier one: ID, Name,
	// Text; Failed.
	CallResult
	// Part is something to be shown: ID, Name is its type, JSON all of its
	// content. One with the same ID replaces the one before.
	Part
	// State is the application's state after the agent changed it: JSON.
	State
)

// Piece is one piece of an answer.
type Piece struct {
	Kind     Kind
	ID, Name string
	Text     string
	JSON     json.RawMessage
	Failed   bool
}

// Outcome is how a run ended.
type Outcome struct {
	// Finish is FinishIncomplete when the stream broke off.
	Finish model.Finish
	Usage  model.Usage
	// Cancelled says that the agent stopped by itself because it was told to.
	Cancelled bool
	// Message is what the agent calls its answer; "" when it does not say.
	Message string
	// Interrupts are what the agent waits for: a person's answers.
	Interrupts []Interrupt
	// Calls are calls of the request's tools, which the client is to run.
	Calls []model.Call
}

// Interrupt is a question of the agent to the person.
type Interrupt struct {
	ID string
	// Approval says that it is about whether something may be done: the call of
	// that ID where it is not "".
	Approval bool
	Call     string
	// Message is the question; Detail says more in Markdown, and Args is what would
	// be done, where the agent says so.
	Message, Detail string
	Args            json.RawMessage
	// Schema is the form of the answer; nil for none.
	Schema json.RawMessage
	// Expires is when it falls; zero for never.
	Expires time.Time
}

// Reply answers an Interrupt.
type Reply struct {
	Interrupt string `json:"interrupt"`
	// Call is the interrupt's.
	Call string `json:"call,omitempty"`
	// Approval says that Approved is the answer, Reason why not; otherwise
	// Payload is.
	Approval bool            `json:"approval,omitempty"`
	Approved bool            `json:"approved,omitempty"`
	Reason   string          `json:"reason,omitempty"`
	Payload  json.RawMessage `json:"payload,omitempty"`
	// Cancelled says that nobody answered.
	Cancelled bool `json:"cancelled,omitempty"`
}

// The limits of what one run may bring.
const (
	// MaxCalls is how many calls of one run are followed.
	MaxCalls = 256
	// MaxArguments is how long the arguments of a call may grow, in bytes.
	MaxArguments = 256 << 10
	// MaxID is how long the id of a call or an interrupt may be, in bytes.
	MaxID = 512
	// MaxContent is how large a part, a result or a state may be, in bytes.
	MaxContent = 4 << 20
)
