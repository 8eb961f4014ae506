// Package turn runs one turn: the loop between model, tools and the log.
//
// It owns the loop, its limits, the retry of one block and the recovery of
// turns that a crash cut off. It may import block, event, store, emit, model
// and tool. It must never know of HTTP or of any client's dialect; what it
// produces is read from the log.
package turn

import (
	"encoding/json"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// Limits bound one turn. Zero values mean the defaults named here.
type Limits struct {
	// Steps is the number of model calls; the last one may call no tools.
	// Default 8.
	Steps int
	// Calls is the number of tool calls. Default 16.
	Calls int
	// Parallel is how many tools run at once. Default 4.
	Parallel int
	// Turn is the time of the whole turn. Default 5 min.
	Turn time.Duration
	// Tool is the time of one tool run unless its Spec says otherwise.
	// Default 30 s.
	Tool time.Duration
	// OutputBytes bounds the text of one turn. Default 1 MiB.
	OutputBytes int
	// SummaryBytes bounds what the model is told of one tool's result.
	// Default 4 KiB.
	SummaryBytes int
	// ContextBytes bounds the conversation handed to the model; whole turns
	// are left out from the oldest on. Default 256 KiB.
	ContextBytes int
	// Blocks is how many blocks tools may show in one turn. Default 16.
	Blocks int
	// Optional is how many blocks may be shown in one turn that no tool was
	// asked for; negative allows none. Default 2.
	Optional int
	// Session bounds such blocks over a whole conversation; nil does not.
	Session *SessionLimits
	// Attachments is how many files a message may have. Default 10.
	Attachments int
	// Attempts is how often a model call is tried before anything was shown.
	// Default 3.
	Attempts int
	// ClientTools is how many tools a client may bring, ClientToolBytes bounds the
	// description and parameters of one. Default 32 and 16 KiB.
	ClientTools     int
	ClientToolBytes int
	// ClientContextBytes bounds what the client's application says: its context
	// and its state together. Default 64 KiB.
	ClientContextBytes int
	// Coalesce is the time text deltas are gathered after the first one.
	// Negative switches it off. Default 30 ms.
	Coalesce time.Duration
	// Lease is the life of the turn's lease; it is renewed at a third of it.
	// Default 10 s.
	Lease time.Duration
}

// SessionLimits bound the blocks of a conversation that no tool was asked for.
// Zero values mean the defaults named here.
type SessionLimits struct {
	// Blocks is how many may be shown on the way from the first message to the
	// last. Default 20.
	Blocks int
	// Turns is for how many answers a block does not lead again where another
	// one led. Default 5.
	Turns int
}

// Request starts a turn.
type Request struct {
	Owner  store.Owner
	Caller tool.Caller
	// Conversation is the conversation to go on with; empty begins a new one.
	Conversation string
	// Text is the user's message. Empty with RegenerateOf.
	Text string
	// Attachments are the ids of uploaded files that belong to it.
	Attachments []string
	// RegenerateOf is an assistant message to be answered anew as its sibling.
	RegenerateOf string
	// EditOf is a user message to be replaced by a sibling with Text.
	EditOf string
	// History makes the request stateless: these messages are the context, the
	// last one the question; the conversation is hidden from lists.
	History []model.Message
	// Caps is what the stream that started the turn can draw.
	Caps block.Caps
	// IdempotencyKey joins a repeated request to the turn it started before.
	IdempotencyKey string
	// Fingerprint is a digest of the request that the key stands for.
	Fingerprint string
	// NewConversation says that Conversation may name one that does not exist
	// yet: it begins with this turn.
	NewConversation bool
	// Tools are what the client itself can run in this turn.
	Tools []ClientTool
	// Context is what the application says of where its user is.
	Context []ContextEntry
	// State is the application's state, any JSON; nil for none.
	State json.RawMessage
}

// Started names what a request began.
type Started struct {
	Msg          string
	Conversation string
	// User is the user message; that of the first request when joined.
	User string
	// Group is the number of the group that was begun, After the last seq before
	// it: its readers start there.
	Group int
	After uint64
	// Joined says that an earlier request with the same key began it.
	Joined bool
}

// BlockRequest runs the tool of one block again.
type BlockRequest struct {
	Owner  store.Owner
	Caller tool.Caller
	Block  string
	// Refresh asks for fresh data of a finished block; otherwise a failed one
	// is tried again.
	Refresh bool
}

// Error is a refusal or failure with a stable code of schema/errors.json.
type Error struct {
	Code      string
	Message   string
	Retryable bool
	// Msg is the running message for turn_running.
	Msg string
	Err error
}

// Error implements error.
func (e *Error) Error() string {
	if e.Err != nil {
		return e.Code + ": " + e.Message + ": " + e.Err.Error()
	}
	return e.Code + ": " + e.Message
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// The codes of turns.
const (
	CodeTurnRunning    = "turn_running"
	CodeInterrupted    = "turn_interrupted"
	CodeTurnTimeout    = "turn_timeout"
	CodeNotFound       = "not_found"
	CodeInvalidRequest = "invalid_request"
	CodeKeyReused      = "idempotency_conflict"
	CodeNotPaused      = "not_paused"
	CodePayloadInvalid = "action_payload_invalid"
	CodeNotRetryable   = "not_retryable"
	CodeNotRefreshable = "not_refreshable"
	CodeStoreFull      = "store_full"
	CodeStoreBusy      = "store_busy"
	CodeInternal       = "internal"
	CodeShuttingDown   = "shutting_down"
)
