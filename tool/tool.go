// Package tool is what a model may call: the Tool interface, the argument
// check in front of it and the Out that tools write blocks to.
//
// Kinds of tool declared without Go live in folders of their own
// (tool/httptool, tool/sqltool). It may import block. It must never know of
// models, storage, the turn or HTTP handlers.
package tool

import (
	"context"
	"encoding/json"
	"errors"
	"time"

	"github.com/inlay-ui/inlay/block"
)

// Tool is one thing the model may call. Implementations are safe for
// concurrent use.
type Tool interface {
	Spec() Spec
	// Run does the work. args has been checked against Spec().Parameters. What
	// the user sees and what the model is told is written to out. A returned
	// error becomes a block_error and is told to the model; *Error chooses
	// code, words and whether a retry may help, any other error is shown as
	// DATA_FETCH_FAILED without its text.
	//
	// The caller's identity is in ctx (CallerFrom). ctx ends with the turn,
	// with the tool's own timeout and when the user stops; a run that goes on
	// for long after that is left alone, and what it writes then is refused. A
	// panic of Run is a TOOL_PANIC; one in a goroutine that Run starts ends the
	// process, as everywhere in Go, and must be recovered there.
	Run(ctx context.Context, args json.RawMessage, out *Out) error
}

// Spec describes a tool to the model and to the turn.
type Spec struct {
	// Name is [a-zA-Z0-9_-]{1,64}.
	Name        string
	Description string
	// Parameters is a JSON Schema of type object.
	Parameters json.RawMessage
	// Title names the activity for people ("Look up sales"), by language;
	// "" is the default language.
	Title map[string]string
	// Block is the block that the tool fills: it is opened before Run, so that
	// the client shows a skeleton at once. Nil for tools without one.
	Block *BlockSpec
	// Timeout limits one run; 0 uses the turn's default (30 s).
	Timeout time.Duration
	// Exclusive tools run alone.
	Exclusive bool
	// Refreshable says that running the tool again with the same arguments
	// reads fresh data and changes nothing. Blocks of such tools can be
	// refreshed; blocks of every tool that is not Unrepeatable can be retried.
	Refreshable bool
	// Unrepeatable forbids running the tool again for a failed block.
	Unrepeatable bool
	// Ask decides by the checked arguments whether a person is asked before
	// Run; a nil Ask of it runs at once. It must change nothing: it is asked
	// once per call, before the turn pauses, and by a retry or refresh of the
	// block, which are refused when a person would have to be asked. An error of
	// it is told to the model, and the call is not run.
	Ask func(ctx context.Context, args json.RawMessage) (*Ask, error)
}

// BlockSpec announces the block of a tool.
type BlockSpec struct {
	Type    string
	Version int // 0 means the highest registered
	// Title is shown in the skeleton. When TitleFrom is set it wins.
	Title string
	// TitleFrom makes the title from the checked arguments, in the language of
	// ctx's caller.
	TitleFrom func(ctx context.Context, args json.RawMessage) string
	// Height is the estimated height of the body in CSS pixels; 0 uses the
	// type's.
	Height int
	// Source names where the data comes from, for people; Sources does so by
	// language and wins where it has the caller's.
	Source  string
	Sources map[string]string
}

// SourceFor returns the source's name in the language of ctx's caller.
func (b *BlockSpec) SourceFor(ctx context.Context) string {
	if s, ok := b.Sources[CallerFrom(ctx).Lang]; ok {
		return s
	}
	return b.Source
}

// Error is a failure that a tool words itself.
type Error struct {
	// Code is an upper-case block code; empty means DATA_FETCH_FAILED.
	Code string
	// Message is shown to the user and told to the model; it must hold no
	// secrets.
	Message   string
	Retryable bool
	// Err is the cause, for the log and the trajectory only.
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

// Caller is on whose behalf a tool runs.
type Caller struct {
	Tenant string
	User   string
	// Token is the caller's bearer token, for tools that pass it on. It lives
	// in memory only.
	Token string `json:"-"`
	// Claims are the verified claims of the token.
	Claims map[string]any
	// Lang is the caller's language ("en", "zh").
	Lang string
}

type callerKey struct{}

// WithCaller returns a context that carries the caller.
func WithCaller(ctx context.Context, c Caller) context.Context {
	return context.WithValue(ctx, callerKey{}, c)
}

// CallerFrom returns the caller of a context; the zero Caller when there is
// none.
func CallerFrom(ctx context.Context) Caller {
	c, _ := ctx.Value(callerKey{}).(Caller)
	return c
}

// Sink is where Out writes; the turn implements it over the emit pipeline.
type Sink interface {
	// Open announces a block and returns its id.
	Open(b Opening) (Handle, error)
}

// SubCaller is a Sink of a call that may make calls of its own.
type SubCaller interface {
	// Sub says that a call begins. The function that it returns says how it
	// ended; the sink does so itself for calls that nobody ended when the run
	// is over. Both are safe for concurrent use.
	Sub(name, title string) (end func(err error))
}

// Reopener is a Sink of something done with a block, which can be filled again.
type Reopener interface {
	// Reopen puts the block back to loading and says what it is. ErrNoBlock
	// when there is none.
	Reopen() (Handle, Opening, error)
}

// ErrNoBlock says that there is no block to update.
var ErrNoBlock = errors.New("there is no block to update")

// Opening is a block about to be made.
type Opening struct {
	Type    string
	Version int
	Meta    block.Meta
}

// Handle is an open block.
type Handle interface {
	ID() string
	// Delta sends an RFC 6902 patch of the payload.
	Delta(patch json.RawMessage) error
	// End finishes the block; the payload is validated first. A *Refusal says
	// that nothing of it is shown.
	End(b Finished) (Shown, error)
	// EndBuilt finishes a block whose payload was built by deltas.
	EndBuilt(b Finished) (Shown, error)
	Fail(e block.Error, fallback string) error
}

// Shown is what a finished block shows.
type Shown struct {
	// Payload may be less than what was given; nil for one that was built and
	// is whole.
	Payload json.RawMessage
	// Left says of each item that was left out which it was and why, for the
	// model.
	Left []string
}

// Finished is what completes a block.
type Finished struct {
	Payload json.RawMessage
	// Fallback, Actions, State and Meta are optional; a missing fallback is
	// derived from the payload.
	Fallback string
	Actions  []block.Action
	State    json.RawMessage
	Meta     block.Meta
}
