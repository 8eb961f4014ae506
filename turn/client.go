package turn

import (
	"encoding/json"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// ClientTool is something that the client runs itself when the model calls it:
// it opens a page, reads what is selected, asks in its own way. The turn pauses
// until the client says what came of it. A tool of the installation's own with
// its name goes before it.
type ClientTool struct {
	// Name is [a-zA-Z0-9_-]{1,64}.
	Name        string
	Description string
	// Parameters is a JSON Schema of type object; nil means no arguments.
	Parameters json.RawMessage
}

// ContextEntry is one thing that the application says about where its user is.
// The model is told it as data, never as an instruction.
type ContextEntry struct {
	Description, Value string
}

// ClientResult is what came of a call that the client ran.
type ClientResult struct {
	// Call is the id of the call.
	Call string
	// Content is what the model is told. Nobody has checked it.
	Content string
	// Failed says that the call did not succeed; Content may say why.
	Failed bool
}

// SupplyRequest hands in what came of calls that the client ran.
type SupplyRequest struct {
	Owner store.Owner
	// Caller is who hands it in: what runs now runs with their rights.
	Caller  tool.Caller
	Msg     string
	Results []ClientResult
	// Tools, Context and State replace those of the turn; nil leaves them as they
	// are.
	Tools   []ClientTool
	Context []ContextEntry
	State   json.RawMessage
	// Caps is what the stream that follows can draw.
	Caps block.Caps
	// Wait is how long to wait for another group of the message to end; 0 means
	// 2 s.
	Wait time.Duration
}

// Waiting is what a paused turn waits for.
type Waiting struct {
	Questions []WaitingQuestion
	Calls     []WaitingCall
}

// WaitingQuestion is a question that nobody has answered yet.
type WaitingQuestion struct {
	// Block is the question's block and Type its type, confirm or question.
	Block, Type string
	// Call is the call of the model that it asks for, Tool the name of the tool.
	Call, Tool string
	Expires    time.Time
}

// WaitingCall is a call that the client has not answered yet.
type WaitingCall struct {
	ID        string
	Name      string
	Arguments json.RawMessage
	Expires   time.Time
}
