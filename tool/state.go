package tool

import (
	"context"
	"encoding/json"
	"errors"
)

// ErrNoState says that there is no application whose state could be changed: the
// tool runs outside of a turn.
var ErrNoState = errors.New("there is no state to change")

// StateSetter is a Sink of a call whose turn has the state of an application.
type StateSetter interface {
	// SetState replaces it.
	SetState(state json.RawMessage) error
}

type stateKey struct{}

// WithState returns a context that carries the state of the application.
func WithState(ctx context.Context, state json.RawMessage) context.Context {
	return context.WithValue(ctx, stateKey{}, state)
}

// State returns the state of the application that the user sits in front of, as
// it was when the run began: any JSON, nil when the client has told none. It is
// what the client says, which may be wrong or made up.
func State(ctx context.Context) json.RawMessage {
	state, _ := ctx.Value(stateKey{}).(json.RawMessage)
	return state
}

// SetState replaces the state of the application: its client is told at once, and
// so are the tools and the model from then on. Of tools that run at the same time
// the last one wins. It fails for what is no JSON or too large, and with
// ErrNoState outside of a turn.
func (o *Out) SetState(state json.RawMessage) error {
	s, ok := o.sink.(StateSetter)
	if !ok {
		return ErrNoState
	}
	return s.SetState(state)
}
