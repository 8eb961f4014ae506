package markup

import "encoding/json"

// Syntax is a way in which text can hold a card.
type Syntax string

// The syntaxes.
const (
	Fence       Syntax = "fence"
	Placeholder Syntax = "placeholder"
	Tag         Syntax = "tag"
)

// Kind says what an Event tells.
type Kind uint8

// The kinds of events. A block has one Start, any number of Deltas and then
// either one End or one Fallback.
const (
	// Text is text that is no card.
	Text Kind = iota
	// Start opens a block: Syntax, Type, Meta and, inside another, Parent.
	Start
	// Delta is the next piece of an open block's body.
	Delta
	// End closes a block that is whole.
	End
	// Fallback closes a block that is none after all: Reason says why, Text is
	// its source, to be shown in its place.
	Fallback
)

func (k Kind) String() string {
	switch k {
	case Text:
		return "text"
	case Start:
		return "start"
	case Delta:
		return "delta"
	case End:
		return "end"
	case Fallback:
		return "fallback"
	}
	return "unknown"
}

// The reasons of a Fallback.
const (
	// BadJSON: the body of a fence is not JSON.
	BadJSON = "bad_json"
	// NotObject: the body of a fence is JSON but no object.
	NotObject = "not_object"
	// TooLong: the body outgrew Config.MaxBody.
	TooLong = "too_long"
	// Unterminated: the text, or what the block stands in, ended before it.
	Unterminated = "unterminated"
)

// Reserved keys of Event.Meta, which the scanner itself sets for fences.
const (
	// MetaVersion is what stands after the name and an @.
	MetaVersion = "version"
	// MetaInfo is the rest of an info string that does not consist of attributes.
	MetaInfo = "info"
	// MetaID is the identifier of a placeholder. A fence and a tag may carry an
	// attribute of that name.
	MetaID = "id"
)

// Event is one thing the scanner found, in the order of the text.
type Event struct {
	Kind Kind
	// ID counts the blocks of a text from 1; 0 for Text.
	ID int
	// Parent is the ID of the tag that a Start, or the end of a block, stands
	// in; 0 at top level.
	Parent int
	// Syntax and Type are those of a Start.
	Syntax Syntax
	// Type is the registered name as written.
	Type string
	// Meta holds the attributes of a Start; nil without any.
	Meta map[string]string
	// Text is the piece of a Text or a Delta, the own body of a tag at its End
	// (what is inside its children left out), the source of a Fallback.
	Text string
	// Payload is the JSON of a fence at its End.
	Payload json.RawMessage
	// Source is, at an End, everything from the opening of the block to the end
	// of its closing, children included, as it stood in the text.
	Source string
	// Unclosed says that a whole block ended without its closing mark.
	Unclosed bool
	// Reason says why a Fallback is one.
	Reason string
}

// Reason says why a text ended.
type Reason uint8

// The reasons why a text ends.
const (
	// Stop: the writer was done.
	Stop Reason = iota
	// Length: the writer was cut off, so that what is open is not whole even
	// where it looks so.
	Length
	// Abort: somebody stopped the writer.
	Abort
)
