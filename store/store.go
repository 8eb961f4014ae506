// Package store says what an installation keeps: the log of every message's
// events, and the records derived from it.
//
// It owns the interfaces and their contracts; backends are folders of their
// own (store/sqlite) held to one suite (store/storetest). It may import event
// and block. It must never know of models, tools or HTTP.
package store

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// Errors of every backend, to be tested with errors.Is.
var (
	ErrNotFound = errors.New("not found")
	// ErrStaleLease refuses an append or a renewal under a lease that another
	// owner has taken over or that was released.
	ErrStaleLease = errors.New("stale lease")
	// ErrConflict refuses a write that another one came before: a second turn
	// in a conversation, a lease somebody holds, an id that exists.
	ErrConflict = errors.New("conflict")
	// ErrFull says that the backend has no room (disk full, quota).
	ErrFull = errors.New("store is full")
	// ErrBusy says that the backend could not take the write in time.
	ErrBusy = errors.New("store is busy")
	// ErrSequence refuses events that do not follow the last stored one: a gap,
	// a repetition, another group's, or any after the group's terminal event.
	ErrSequence = errors.New("event out of sequence")
	// ErrClosed answers calls on a store that was closed.
	ErrClosed = errors.New("store is closed")
)

// Lease is the right to append one group of events to a message's log.
type Lease struct {
	Msg string
	// Group is the group number that the lease writes.
	Group int
	// Epoch grows with every lease of the message.
	Epoch uint64
	// Owner is the instance that holds it.
	Owner string
}

// Log is the durable, ordered record of every message's events.
type Log interface {
	// Acquire takes the lease for the next group of a message and returns it
	// with the message's last stored seq (0 for a new message). A message's
	// first lease creates its log. A group that was left without a terminal
	// event is not skipped: the lease is for that group, and its holder ends
	// it. ErrConflict when somebody holds the lease; a
	// holder whose group has its terminal event is given a second to release.
	// The lease runs out after ttl unless renewed.
	Acquire(ctx context.Context, msg, owner string, ttl time.Duration) (Lease, uint64, error)
	// Renew prolongs a lease. ErrStaleLease when it was lost.
	Renew(ctx context.Context, lease Lease, ttl time.Duration) error
	// Release gives a lease back. The group must have its terminal event or be
	// empty, else ErrConflict. A log that never had an event is forgotten.
	// Releasing a stale lease is no error.
	Release(ctx context.Context, lease Lease) error

	// Append stores events and returns once they are durable: after a kill -9
	// they are still there. Events of one message must follow each other in
	// seq, from the calls of one goroutine at a time. Concurrent appends to
	// different messages share a commit. ErrStaleLease when the lease was lost,
	// ErrSequence when the events do not follow the last one, ErrFull and
	// ErrBusy when the backend could not take them: then nothing was stored
	// and the same events may be appended again. A call that has begun is not
	// cut short by ctx, because its outcome would be unknown.
	Append(ctx context.Context, lease Lease, evs ...event.Event) error
	// Read yields the stored events after a seq, in order, and ends. A cursor
	// older than what the log still holds yields one snapshot event first. A
	// message that does not exist, or is deleted meanwhile, yields ErrNotFound.
	Read(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error]
	// Tail is Read that goes on live until the terminal event of the last open
	// group. It ends at once when nothing is running.
	Tail(ctx context.Context, msg string, after uint64) iter.Seq2[event.Event, error]
	// Last returns the last stored seq of a message and whether a group is
	// open. ErrNotFound when there is no such message.
	Last(ctx context.Context, msg string) (seq uint64, open bool, err error)
	// Unfinished lists messages with an open group whose lease has run out. A
	// paused turn has ended its group and is none of them; a follow-up that was
	// left open on a paused message is one.
	Unfinished(ctx context.Context) ([]string, error)
	// Trim forgets the events of messages that ended before a time; their
	// records remain, except hidden conversations, which go with their events.
	// A paused message has not ended.
	Trim(ctx context.Context, before time.Time) error
}

// The kinds of Signal.
const (
	// SignalStop asks the turn to end.
	SignalStop = "stop"
	// SignalNext says that the next question is there: a turn whose answer is
	// whole ends at once.
	SignalNext = "next"
)

// Signal is a word to the owner of a running turn, from any instance.
type Signal struct {
	// Kind is one of the Signal constants.
	Kind string `json:"kind"`
	By   string `json:"by,omitempty"`
}

// Signals carries words to running turns.
type Signals interface {
	// Send stores a signal for the message's current group and wakes its
	// owner. When no group is open there is nobody to tell: it is dropped.
	Send(ctx context.Context, msg string, s Signal) error
	// Watch yields the signals sent to a message from now on and those not
	// yet seen, until ctx ends.
	Watch(ctx context.Context, msg string) iter.Seq2[Signal, error]
}

// Owner scopes every record: someone else's id is not found.
type Owner struct {
	Tenant string `json:"tenant"`
	User   string `json:"user"`
}

// Conversation is a thread of messages.
type Conversation struct {
	ID        string
	Owner     Owner
	Title     string
	CreatedAt time.Time
	UpdatedAt time.Time
	// Leaf is the last message of the path that is shown.
	Leaf string
	// Running is the assistant message whose turn runs now; empty when none.
	Running string
	// Hidden conversations (stateless requests) are not listed.
	Hidden bool
}

// Role says who wrote a message.
type Role string

// The roles of stored messages.
const (
	RoleUser      Role = "user"
	RoleAssistant Role = "assistant"
)

// Message is one stored message of a conversation's tree.
type Message struct {
	ID           string
	Conversation string
	Owner        Owner
	Role         Role
	// Parent is the message before it on its path; empty for a root. Messages
	// with one parent are siblings: edits and regenerations.
	Parent       string
	CreatedAt    time.Time
	Status       event.Status
	Blocks       []block.Block
	Seq          uint64
	FinishReason string
	Usage        event.Usage
	Err          *event.ErrorData
	Model        *event.Model
	// Reasoning is what the model thought; Tools are the calls of the turn and
	// its follow-ups as people see them.
	Reasoning string
	Tools     []event.ToolActivity
	// Exchange is what the model saw and said in this turn beyond the blocks:
	// assistant and tool messages, for the next turn's context. Opaque here.
	Exchange json.RawMessage
	// Siblings are the ids of all messages with the same parent and role,
	// oldest first, filled on reading.
	Siblings []string
	// Feedback is what the owner thinks of it, filled on reading; nil for none.
	Feedback *Feedback
}

// Block returns the message's block of an id.
func (m Message) Block(id string) (block.Block, bool) {
	for _, b := range m.Blocks {
		if b.ID == id {
			return b, true
		}
	}
	return block.Block{}, false
}

// TurnState is where a turn is between two of its steps.
type TurnState struct {
	Msg   string
	Owner Owner
	// Paused turns wait for a person until ExpiresAt; for ever when it is zero.
	Paused    bool
	ExpiresAt time.Time
	// Data is the turn's own. Opaque here.
	Data json.RawMessage
}

// Feedback is what a person thinks of an answer.
type Feedback struct {
	// Rating is up or down; empty takes all of an earlier one back.
	Rating  string `json:"rating,omitempty"`
	Comment string `json:"comment,omitempty"`
	// At is now unless set.
	At time.Time `json:"at"`
}

// BlockCall is how a block was made, for retry and refresh.
type BlockCall struct {
	Block        string
	Message      string
	Conversation string
	Owner        Owner
	Tool         string
	Arguments    json.RawMessage
	ToolCallID   string
}

// ListOptions selects conversations.
type ListOptions struct {
	// Query matches titles and message text; empty matches all.
	Query string
	// Cursor is what a page before returned; empty starts at the newest.
	Cursor string
	// Limit is 1 to 200; 0 means 50.
	Limit int
}

// BeginTurn is everything that one new turn writes to the records, in one
// transaction.
type BeginTurn struct {
	Owner Owner
	// Conversation is created when it does not exist; one without a title gets
	// this one's.
	Conversation Conversation
	// User is the new user message; nil when the turn answers an existing one
	// (regenerate).
	User *Message
	// Assistant is the message the turn will write; Status running.
	Assistant Message
	// IdempotencyKey joins a repeated request to the running turn; may be
	// empty. Fingerprint is a digest of the request.
	IdempotencyKey string
	Fingerprint    string
}

// Records are conversations and messages, and what belongs to them.
// Every method with an Owner answers ErrNotFound for another owner's id.
type Records interface {
	// Begin stores the start of a turn. ErrConflict with the running message's
	// id when the conversation has a turn already (errors.As *RunningError);
	// with *ReplayError when the idempotency key is known, which is looked at
	// first.
	Begin(ctx context.Context, b BeginTurn) error
	// PutMessage replaces what a turn or a follow-up changed of a message. When
	// the message is the conversation's running turn and its status is not
	// running, the conversation has no running turn any more.
	// ErrConflict when the stored message has a higher Seq already.
	PutMessage(ctx context.Context, m Message) error

	CreateConversation(ctx context.Context, c Conversation) error
	Conversation(ctx context.Context, o Owner, id string) (Conversation, error)
	Conversations(ctx context.Context, o Owner, opt ListOptions) (list []Conversation, next string, err error)
	RenameConversation(ctx context.Context, o Owner, id, title string) (Conversation, error)
	SetLeaf(ctx context.Context, o Owner, id, leaf string) error
	// DeleteConversation removes the conversation and everything that belongs
	// to it: its messages with their logs, trajectories and states, and its
	// calls of actions. Its files are stale at once. The audit log stays.
	DeleteConversation(ctx context.Context, o Owner, id string) error

	Message(ctx context.Context, o Owner, id string) (Message, error)
	// MessageOf is Message whoever owns it, without siblings, for recovery.
	MessageOf(ctx context.Context, id string) (Message, error)
	// RunningMessages returns the messages of all owners whose status is
	// running, without siblings, for recovery after a crash.
	RunningMessages(ctx context.Context) ([]Message, error)
	// Path returns the messages from the root to leaf; empty leaf is the
	// conversation's own.
	Path(ctx context.Context, o Owner, conversation, leaf string) ([]Message, error)

	// Newest returns the id of the newest message of the branch that begins
	// with from: of its descendants, or from itself.
	Newest(ctx context.Context, o Owner, conversation, from string) (string, error)

	PutBlockCall(ctx context.Context, c BlockCall) error
	BlockCall(ctx context.Context, o Owner, block string) (BlockCall, error)

	// PutTurnState keeps where a turn is, until it ends: after each model call
	// and tool result, and when it pauses for a person.
	PutTurnState(ctx context.Context, s TurnState) error
	// TurnState returns where a turn is. ErrNotFound when it has ended.
	TurnState(ctx context.Context, msg string) (TurnState, error)
	// DeleteTurnState forgets where a turn was; no error when there is nothing.
	DeleteTurnState(ctx context.Context, msg string) error
	// PausedBefore lists the paused messages of all owners whose turn waits for
	// a person until a time before t, the longest expired first.
	PausedBefore(ctx context.Context, t time.Time) ([]string, error)
	// ResumeTurn makes a paused message the running turn of its conversation
	// again: its status is running. ErrConflict when it is not paused, and with
	// the running message's id when the conversation has another turn
	// (errors.As *RunningError). The turn's state stays as it is.
	ResumeTurn(ctx context.Context, o Owner, msg string) error

	// PutFeedback replaces what an owner thinks of a message.
	PutFeedback(ctx context.Context, o Owner, msg string, f Feedback) error

	PutTrajectory(ctx context.Context, o Owner, msg string, doc json.RawMessage) error
	Trajectory(ctx context.Context, o Owner, msg string) (json.RawMessage, error)

	// FeedCursor is the cursor of the conversation's last event: who has read
	// the messages after it follows the feed from there. 0 when there is none.
	FeedCursor(ctx context.Context, o Owner, conversation string) (uint64, error)
	// Feed yields the events of one conversation after a cursor, then live,
	// until ctx ends or the conversation is deleted, of which the last event
	// tells.
	Feed(ctx context.Context, o Owner, conversation string, after uint64) iter.Seq2[FeedEvent, error]
}

// The types of feed events, and which members of FeedData each has.
const (
	FeedMessageCreated      = "message_created"      // MsgID
	FeedTurnStarted         = "turn_started"         // MsgID
	FeedMessageUpdated      = "message_updated"      // MsgID, Seq, Status
	FeedConversationUpdated = "conversation_updated" // ID
	FeedConversationDeleted = "conversation_deleted" // ID
)

// FeedEvent is one change of a conversation.
type FeedEvent struct {
	Cursor uint64
	// Type is one of the Feed constants.
	Type string
	// Data is a FeedData. It names what changed; what it is now is read from
	// the records.
	Data json.RawMessage
}

// FeedData is the data of a feed event.
type FeedData struct {
	// ID is the conversation's.
	ID     string       `json:"id,omitempty"`
	MsgID  string       `json:"msgId,omitempty"`
	Seq    uint64       `json:"seq,omitempty"`
	Status event.Status `json:"status,omitempty"`
}

// RunningError is the ErrConflict of a conversation whose turn still runs.
type RunningError struct{ Msg string }

// Error implements error.
func (e *RunningError) Error() string { return "conflict: turn " + e.Msg + " is running" }

// Unwrap makes the error an ErrConflict.
func (e *RunningError) Unwrap() error { return ErrConflict }

// ReplayError says that an idempotency key was used before.
type ReplayError struct {
	// Msg and User are the messages of the first request.
	Msg, User    string
	Conversation string
	// Same says that the fingerprints are equal.
	Same bool
}

// Error implements error.
func (e *ReplayError) Error() string { return "conflict: idempotency key was used for " + e.Msg }

// Unwrap makes the error an ErrConflict.
func (e *ReplayError) Unwrap() error { return ErrConflict }

// Store is a whole backend.
type Store interface {
	Log
	Signals
	Records
	Actions
	Assets
	Aliases
	// Ping checks that the backend can be written to.
	Ping(ctx context.Context) error
	Close() error
}
