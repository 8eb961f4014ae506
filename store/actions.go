package store

import (
	"context"
	"encoding/json"
	"errors"
	"time"
)

// Errors of Actions, beside those of every backend.
var (
	// ErrTokenUsed refuses a confirmation that was used before.
	ErrTokenUsed = errors.New("confirmation was used already")
)

// CallStatus is the state of one call of an action.
type CallStatus string

// The states of an ActionCall. A running call whose lease has run out may or
// may not have happened: only its handler can say, and until it has the call is
// never run again by itself.
const (
	CallRunning CallStatus = "running"
	CallDone    CallStatus = "done"
	CallUnknown CallStatus = "unknown"
)

// ActionCall is one call of an action under its idempotency key.
type ActionCall struct {
	// ID is "x_" and a UUIDv7; it is the idempotency key that business APIs get.
	ID           string
	Owner        Owner
	Conversation string
	Msg          string
	Block        string
	// Action is the id on the block, Name the registered action's.
	Action string
	Name   string
	// Key is the caller's, unique per owner; empty for none. Fingerprint is a
	// digest of what was asked for.
	Key         string
	Fingerprint string
	// Payload is what the person sent, checked.
	Payload json.RawMessage
	TraceID string
	// Lang is the language of the person.
	Lang   string
	Status CallStatus
	// HTTPStatus and Answer are the stored answer, replayed byte for byte.
	HTTPStatus int
	Answer     []byte
	// Holder is the instance that runs the call, until LeaseUntil.
	Holder     string
	LeaseUntil time.Time
	StartedAt  time.Time
	FinishedAt time.Time
	// Report is one line for the model's next call; empty when there is
	// nothing to tell or it was told.
	Report string
}

// CallError is the ErrConflict of an idempotency key that is known.
type CallError struct{ Call ActionCall }

// Error implements error.
func (e *CallError) Error() string { return "conflict: idempotency key was used for " + e.Call.ID }

// Unwrap makes the error an ErrConflict.
func (e *CallError) Unwrap() error { return ErrConflict }

// BlockState is the authoritative state of a block that was acted on. The
// block in the message's record and the block_state events of its log follow
// it.
type BlockState struct {
	Block string
	Msg   string
	Owner Owner
	// Rev is 1 for a block nobody acted on, and grows by one with every change.
	Rev   int
	State json.RawMessage
	// Locked says that nothing more can be done with the block.
	Locked bool
	// Call is the call that made the state.
	Call string
	// Pending says that an exclusive call of the block runs.
	Pending bool
	// Logged is the last Rev that the log has.
	Logged int
}

// StateError is the ErrConflict of a block whose state does not allow a call:
// its rev is another one, it is locked, or another call runs.
type StateError struct{ State BlockState }

// Error implements error.
func (e *StateError) Error() string { return "conflict: block " + e.State.Block + " has another state" }

// Unwrap makes the error an ErrConflict.
func (e *StateError) Unwrap() error { return ErrConflict }

// ActionReserve is everything that the beginning of a call writes, in one
// transaction.
type ActionReserve struct {
	// Call becomes a running one of the message's conversation.
	Call ActionCall
	// Rev is the block's rev that the caller saw; 0 takes any.
	Rev int
	// Exclusive calls hold their block: no other exclusive call of it may run,
	// and it must not be locked. The block gets State and a rev one higher.
	Exclusive bool
	State     json.RawMessage
	// Nonce is that of the confirmation; empty for none. It is remembered until
	// NonceUntil.
	Nonce      string
	NonceUntil time.Time
}

// ActionFinish is everything that the end of a call writes, in one
// transaction.
type ActionFinish struct {
	// ID and Holder name the call; it must still run under that holder.
	ID     string
	Holder string
	// Status is done or unknown.
	Status     CallStatus
	HTTPStatus int
	// Answer makes the stored answer; it is given the block's state as this
	// finish leaves it. It runs within the transaction: it must be quick and
	// leave the store alone. Its error takes the finish back. Nil stores none.
	Answer func(BlockState) ([]byte, error)
	Report string
	At     time.Time
	// State is the block's new state, with a rev one higher; nil leaves it as
	// it is.
	State  json.RawMessage
	Locked bool
	// Audit is written with it. A RevAfter of 0 becomes the block's rev.
	Audit AuditEntry
}

// AuditEntry is one line of the audit log. The log is append-only.
type AuditEntry struct {
	// ID is "l_" and a UUIDv7: entries are in order of their ids.
	ID           string    `json:"id"`
	At           time.Time `json:"at"`
	Tenant       string    `json:"tenant"`
	User         string    `json:"user"`
	Conversation string    `json:"conversationId,omitempty"`
	Msg          string    `json:"msgId,omitempty"`
	Block        string    `json:"blockId,omitempty"`
	// Action is the id on the block, Name the registered action's.
	Action string `json:"actionId"`
	Name   string `json:"action,omitempty"`
	// Call is the ActionCall's id, Key the caller's idempotency key.
	Call string `json:"call,omitempty"`
	Key  string `json:"idempotencyKey,omitempty"`
	// PayloadHash is "sha256:" and the digest of the canonical payload.
	PayloadHash string `json:"payloadHash,omitempty"`
	// Decision is allowed, denied or unknown; Outcome says more in one code.
	Decision  string `json:"decision"`
	Outcome   string `json:"outcome,omitempty"`
	RevBefore int    `json:"revBefore,omitempty"`
	RevAfter  int    `json:"revAfter,omitempty"`
	TraceID   string `json:"traceId,omitempty"`
	// DurationMs is how long the handler ran.
	DurationMs int64 `json:"durationMs,omitempty"`
}

// AuditQuery selects entries, oldest first. Members that are zero select all.
type AuditQuery struct {
	// Owner selects one user's; an empty User selects the whole tenant's and an
	// empty Tenant those of all tenants.
	Owner        Owner
	Conversation string
	Name         string
	// Since is the first moment that counts, Until the first one that does not.
	Since, Until time.Time
	// Cursor is the id of the last entry of the page before.
	Cursor string
	// Limit is 1 to 1000; 0 means 100.
	Limit int
}

// Actions keeps what people did: calls under their idempotency keys, the
// states of blocks and the audit log.
type Actions interface {
	// ActionCall returns the call of an idempotency key. ErrNotFound when the
	// key is new.
	ActionCall(ctx context.Context, o Owner, key string) (ActionCall, error)
	// BlockState returns the state of a block that was acted on, ErrNotFound
	// for any other.
	BlockState(ctx context.Context, o Owner, block string) (BlockState, error)
	// BlockStates returns the states of all blocks of a message that were
	// acted on.
	BlockStates(ctx context.Context, o Owner, msg string) ([]BlockState, error)
	// ReserveAction begins a call. *CallError when the key is known, which is
	// looked at first; ErrNotFound when the message is not the owner's;
	// ErrTokenUsed when the nonce is used; *StateError when the block's state
	// does not allow the call. The returned state is the block's after the
	// reservation.
	ReserveAction(ctx context.Context, r ActionReserve) (BlockState, error)
	// RenewAction prolongs the lease of a running call. ErrStaleLease when it
	// does not run under that holder any more.
	RenewAction(ctx context.Context, id, holder string, until time.Time) error
	// FinishAction ends a call and returns it with its answer, and its block's
	// state. ErrStaleLease when it does not run under that holder any more, or
	// went with its conversation: nothing was written, also not to the audit
	// log.
	FinishAction(ctx context.Context, f ActionFinish) (ActionCall, BlockState, error)
	// TakeAction takes over a call whose lease has run out at the time now, or
	// whose outcome is unknown: afterwards it runs under the new holder.
	// ErrConflict when the call is not such a one any more.
	TakeAction(ctx context.Context, id, holder string, now, until time.Time) (ActionCall, error)
	// ExpiredActions lists running calls whose lease has run out, of all
	// owners.
	ExpiredActions(ctx context.Context, now time.Time) ([]ActionCall, error)
	// UnknownActions lists calls of unknown outcome, of all owners, that ended
	// at the time since or later, oldest first; at most limit.
	UnknownActions(ctx context.Context, since time.Time, limit int) ([]ActionCall, error)
	// UnloggedStates lists states, of all owners, whose Rev the log does not
	// have yet, except pending ones, whose call will make another; at most
	// limit.
	UnloggedStates(ctx context.Context, limit int) ([]BlockState, error)
	// MarkLogged says that the log has a block's state up to rev. No error when
	// the block is gone.
	MarkLogged(ctx context.Context, block string, rev int) error
	// TakeReports returns the reports of the finished calls of a conversation,
	// oldest first, each of them once. There are none in a conversation that
	// does not exist.
	TakeReports(ctx context.Context, o Owner, conversation string) ([]string, error)
	// AppendAudit adds an entry of its own, for what was refused. ErrConflict
	// when the id is known.
	AppendAudit(ctx context.Context, e AuditEntry) error
	// Audit returns entries and the cursor of the next page, empty at the end.
	Audit(ctx context.Context, q AuditQuery) (entries []AuditEntry, next string, err error)
	// TrimActions forgets the calls that ended before a time, with their keys
	// and answers, and the nonces that were remembered until then. A report
	// that nobody took stays. Block states and the audit log stay; those of a
	// deleted conversation go with it, except the audit log.
	TrimActions(ctx context.Context, before time.Time) error
}
