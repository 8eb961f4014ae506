package action

import (
	"errors"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
)

// The codes of refusals and failures; those of turns come through as they are.
const (
	CodeInvalid         = turn.CodeInvalidRequest
	CodeTooLarge        = "request_too_large"
	CodeUnsupportedKind = "unsupported_action_kind"
	CodePayloadInvalid  = "action_payload_invalid"
	CodeForbidden       = "action_forbidden"
	CodeNotFound        = "action_not_found"
	CodeSubmitted       = "already_submitted"
	CodeRunning         = "action_running"
	CodeStale           = "stale_block"
	CodeKeyReused       = turn.CodeKeyReused
	CodeConfirm         = "confirmation_required"
	CodeRateLimited     = "rate_limited"
	CodeFailed          = "action_failed"
)

// Error is a refusal with a stable code of schema/errors.json.
type Error struct {
	Code string
	// Message is for people.
	Message   string
	Retryable bool
	// After is when to come back; 0 leaves it open.
	After time.Duration
	// Details are what the client needs to go on: of already_submitted and
	// stale_block the block, of action_payload_invalid the violations, of
	// confirmation_required the token.
	Details map[string]any
	Err     error
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

func notFound(err error) *Error {
	return &Error{Code: CodeNotFound, Message: "There is no such action here.", Err: err}
}

func invalid(field, message string) *Error {
	return &Error{Code: CodeInvalid, Message: message, Details: map[string]any{"field": field}}
}

func running() *Error {
	return &Error{Code: CodeRunning, Message: "This is being carried out already.", Retryable: true, After: time.Second}
}

// payloadInvalid words the violations of a schema.
func payloadInvalid(err error) *Error {
	e := &Error{Code: CodePayloadInvalid, Message: "The values do not fit.", Err: err}
	var se *block.SchemaError
	if errors.As(err, &se) {
		list := make([]map[string]string, 0, len(se.Violations))
		for _, v := range se.Violations {
			list = append(list, map[string]string{"path": v.Path, "message": v.Message})
		}
		e.Details = map[string]any{"violations": list}
		return e
	}
	e.Details = map[string]any{"violations": []map[string]string{{"path": "", "message": "The payload could not be read."}}}
	return e
}

// BlockView is what a client is told of the block it acted on.
type BlockView struct {
	ID    string `json:"id"`
	Rev   int    `json:"rev"`
	State any    `json:"state"`
}

func view(st store.BlockState) BlockView {
	v := BlockView{ID: st.Block, Rev: st.Rev}
	if len(st.State) > 0 {
		v.State = st.State
	}
	return v
}

// uncertain marks an error after which nobody knows whether the call happened.
type uncertain struct{ err error }

func (u *uncertain) Error() string { return "outcome unknown: " + u.err.Error() }
func (u *uncertain) Unwrap() error { return u.err }

// Uncertain marks an error of a handler after which it is not known whether the
// call was carried out: a timeout, a connection that broke, an answer 5xx. The
// gateway never runs such a call again unless its action is Idempotent.
func Uncertain(err error) error {
	if err == nil {
		return nil
	}
	return &uncertain{err}
}
