package tool

import (
	"context"
	"encoding/json"
	"time"

	"github.com/inlay-ui/inlay/block"
)

// DefaultAskFor is how long a person may take to answer an Ask.
const DefaultAskFor = 24 * time.Hour

// Ask is what a person is asked before a tool runs. The turn pauses until they
// have answered, on whichever instance, also after a restart; Run is called
// once they have agreed, with the rights of whoever answered, and finds the
// answer in its context (AnswerFrom).
type Ask struct {
	// Prompt is the question, in one line.
	Prompt string
	// Detail says more, in Markdown.
	Detail string
	// Severity is info (the default), warning or danger.
	Severity string
	// Show is what the person sees of what will be done, an object of at most
	// block.MaxConfirmArgs bytes; nil shows the arguments. It must tell the
	// whole truth about them.
	Show json.RawMessage
	// Edit lets the person change the arguments, which are then all shown. The
	// tool's parameters must be a form (block.LintForm); they are not offered to
	// be changed otherwise.
	Edit bool
	// ExpiresIn is how long the question stands; 0 means DefaultAskFor.
	// Afterwards the tool is not run.
	ExpiresIn time.Duration
	// Question asks for an answer instead of agreement. Run is called with it.
	Question *Question
}

// Question is what a person may answer: one of the options, a form's values or,
// without either, text.
type Question struct {
	Options []block.QuestionOption
	// Multiple allows more than one option, AllowText words beside them.
	Multiple  bool
	AllowText bool
	// Schema is the JSON Schema of a form, UISchema how it is drawn.
	Schema   json.RawMessage
	UISchema json.RawMessage
}

// The ways to answer an Ask.
const (
	Approve = "approve"
	Reject  = "reject"
	// Edit approves with other arguments.
	Edit = "edit"
	// Reply answers a Question.
	Reply = "answer"
)

// Answer is what a person answered.
type Answer struct {
	// Action is Approve, Edit or Reply; Run is never called for a Reject.
	Action string `json:"action"`
	// Value is the answer to a Question: a form's values, or an object with the
	// ids of the options in choices and words in text.
	Value json.RawMessage `json:"value,omitempty"`
}

type answerKey struct{}

// WithAnswer returns a context that carries an answer.
func WithAnswer(ctx context.Context, a Answer) context.Context {
	return context.WithValue(ctx, answerKey{}, a)
}

// AnswerFrom returns what the person answered; false when nobody was asked.
func AnswerFrom(ctx context.Context) (Answer, bool) {
	a, ok := ctx.Value(answerKey{}).(Answer)
	return a, ok
}
