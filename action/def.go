package action

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// Words is a text by language; "" is the default language.
type Words map[string]string

// For returns the text for a language, or the default one.
func (w Words) For(lang string) string {
	if s, ok := w[lang]; ok {
		return s
	}
	return w[""]
}

// Effect says whether an action changes anything.
type Effect string

// The effects.
const (
	Read  Effect = "read"
	Write Effect = "write"
)

// Level is how an action is confirmed.
type Level string

// The levels of confirmation.
const (
	// LevelNone asks nothing.
	LevelNone Level = "none"
	// LevelDialog has the client ask; a request without further proof is
	// enough.
	LevelDialog Level = "dialog"
	// LevelToken answers the first request with a token that only the second
	// one can carry: for money, permissions, deletion.
	LevelToken Level = "token"
)

// Confirm is what a person is asked before an action runs.
type Confirm struct {
	Level Level
	Text  Words
}

// Feedback words the outcome for people.
type Feedback struct {
	Success, Failure Words
}

// Report says what the model learns of an action.
type Report string

// The reports.
const (
	// ReportNextTurn tells the model one line at its next call.
	ReportNextTurn Report = "next_turn"
	ReportNone     Report = "none"
)

// Def is one registered action. Every button with its name, on any block and
// any client, leads here.
type Def struct {
	// Name is [A-Za-z][A-Za-z0-9_.-]{0,63}.
	Name string
	// Label is what stands on a button that has no text of its own; empty means
	// the name in words.
	Label Words
	// Schema is the JSON Schema of the payload. Without one an action takes no
	// payload, except on a form, whose own schema judges it.
	Schema json.RawMessage
	// Effect must be said. A write must say how it is confirmed, too.
	Effect  Effect
	Confirm Confirm
	// Style is primary, default or danger, for buttons that have none.
	Style string
	// Blocks lists the types of block that may have the action; empty means
	// all.
	Blocks []string
	// Permit says whether a caller may do this now; nil lets every user. It is
	// asked at every call, with the caller of that call.
	Permit func(ctx context.Context, c tool.Caller) error
	// Check judges a payload that fits the schema, by what only the action
	// knows, before anything begins: a *tool.Error has words for people, and
	// leaves the key free. Nil takes them all.
	Check func(ctx context.Context, c Call) error
	// PerMinute bounds the calls of one user; 0 does not.
	PerMinute int
	// Once locks the block after success and lets one call at a time run on it.
	// Nil means: on forms.
	Once *bool
	// Background answers at once and goes on; the message's log tells the rest.
	Background bool
	// Timeout bounds one run. Default 30 s, in the background 10 min.
	Timeout time.Duration
	// Idempotent says that running a call again with the same Call.ID does
	// nothing twice. Only such calls are tried again when their outcome is not
	// known.
	Idempotent bool
	// Report is ReportNextTurn when empty.
	Report   Report
	Feedback Feedback
	// Run carries the call out. What it writes to out is appended to the
	// message; out.Update fills the block acted on again. A *tool.Error is a
	// definite failure with words for people: nothing happened, and the person
	// may try again. Any other error of a write leaves the outcome unknown,
	// unless the connection was refused. ctx carries the caller and ends with
	// the timeout; it does not end when the person's connection does.
	Run func(ctx context.Context, c Call, out *tool.Out) (Result, error)
	// Lookup finds out whether a call whose outcome is not known happened, and
	// its result; an error leaves it unknown. Its Call has no token when nobody
	// is there to lend one. Nil means that nobody can tell.
	Lookup func(ctx context.Context, c Call) (happened bool, r Result, err error)
}

// Call is one call of an action.
type Call struct {
	// ID is the same in every attempt and unlike that of every other call: the
	// idempotency key for business systems.
	ID string
	// Action is the registered name, On the action's id on the block.
	Action, On string
	TraceID    string
	// Conversation and Msg are where the block stands.
	Conversation, Msg string
	// Block is the block as it is stored.
	Block block.Block
	// Payload is what the person sent, checked; never null.
	Payload json.RawMessage
	// Params are the values that the server attached to the action. They are
	// members of Payload, too, where the payload is judged by Def.Schema.
	Params map[string]json.RawMessage
	// Caller is who acts now, who need not be who asked.
	Caller tool.Caller
	// Attempt counts the runs of an idempotent call from 1.
	Attempt int
}

// Result is what an action came to.
type Result struct {
	// Value is answered to the client as JSON; nil for nothing.
	Value any
	// State is an object with the block's own state, for blocks that show one.
	// Nil leaves it as it is.
	State json.RawMessage
	// Text tells the person, instead of Feedback.Success.
	Text string
}

var nameForm = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9_.-]{0,63}$`)

// MaxSchema bounds an action's schema in bytes.
const MaxSchema = 64 << 10

// check says what is wrong with a definition.
func (d *Def) check() error {
	fail := func(format string, a ...any) error {
		return fmt.Errorf("action %q: %w", d.Name, fmt.Errorf(format, a...))
	}
	if !nameForm.MatchString(d.Name) {
		return fail("the name must begin with a letter and have 1 to 64 of A-Z, a-z, 0-9, _, . and -")
	}
	if strings.HasPrefix(d.Name, "inlay.") {
		return fail("names that begin with inlay. are the product's own")
	}
	switch d.Effect {
	case Read, Write:
	case "":
		return fail("its effect must be said: read or write")
	default:
		return fail("effect %q: must be read or write", d.Effect)
	}
	switch d.Confirm.Level {
	case LevelNone:
		if len(d.Confirm.Text) > 0 {
			return fail("confirm: a text is never shown at level none")
		}
	case LevelDialog, LevelToken:
		if d.Confirm.Text.For("") == "" {
			return fail("confirm: the question is missing")
		}
	case "":
		if len(d.Confirm.Text) > 0 {
			d.Confirm.Level = LevelDialog
			if d.Confirm.Text.For("") == "" {
				return fail("confirm: the question is missing in the default language")
			}
			break
		}
		if d.Effect == Write {
			return fail("a write is confirmed: give confirm a question, or say none")
		}
		d.Confirm.Level = LevelNone
	default:
		return fail("confirm: level %q: must be none, dialog or token", d.Confirm.Level)
	}
	if !slices.Contains([]string{"", "primary", "default", "danger"}, d.Style) {
		return fail("style %q: must be primary, default or danger", d.Style)
	}
	switch d.Report {
	case "":
		d.Report = ReportNextTurn
	case ReportNextTurn, ReportNone:
	default:
		return fail("report %q: must be next_turn or none", d.Report)
	}
	switch {
	case d.PerMinute < 0:
		return fail("rate: must not be negative")
	case d.Timeout < 0:
		return fail("timeout: must not be negative")
	case d.Run == nil:
		return fail("nothing to run")
	case len(d.Schema) > MaxSchema:
		return fail("schema: %d bytes are more than %d", len(d.Schema), MaxSchema)
	}
	if d.Timeout == 0 {
		d.Timeout = 30 * time.Second
		if d.Background {
			d.Timeout = 10 * time.Minute
		}
	}
	if d.Schema != nil {
		var top struct {
			Type any `json:"type"`
		}
		if err := json.Unmarshal(d.Schema, &top); err != nil {
			return fail("schema: %w", err)
		}
		if top.Type != "object" {
			return fail(`schema: must have "type": "object"`)
		}
	}
	return nil
}

// once says whether a call of the action holds and locks a block of the type.
func (d *Def) once(blockType string) bool {
	if d.Once != nil {
		return *d.Once
	}
	return blockType == "form"
}

// Typed makes the Run of a function that takes the payload decoded. The
// schema is derived from Payload (see tool.SchemaOf) unless def has one.
func Typed[Payload any](def Def, run func(ctx context.Context, c Call, p Payload, out *tool.Out) (Result, error)) (Def, error) {
	if run == nil {
		return def, fmt.Errorf("action %q: no function to run", def.Name)
	}
	if def.Run != nil {
		return def, fmt.Errorf("action %q: two functions to run", def.Name)
	}
	if def.Schema == nil {
		schema, err := tool.SchemaOf[Payload]()
		if err != nil {
			return def, fmt.Errorf("action %q: %w", def.Name, err)
		}
		def.Schema = schema
	}
	def.Run = func(ctx context.Context, c Call, out *tool.Out) (Result, error) {
		var p Payload
		if err := json.Unmarshal(c.Payload, &p); err != nil {
			// The schema let it through, so the two do not fit: nothing was done.
			return Result{}, &tool.Error{Code: block.CodeSchemaInvalid, Message: "The values do not fit.", Err: err}
		}
		return run(ctx, c, p, out)
	}
	return def, errors.Join(def.check())
}
