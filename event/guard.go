package event

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// MaxSize is the largest event, counted by Size.
const MaxSize = 64 << 10

// envelope is the room that Size leaves for what an encoder writes around an
// event's data.
const envelope = 192

// Size returns the space that an event takes on the wire, envelope included.
// It is an upper bound for the native dialect.
func Size(e Event) int {
	return envelope + len(e.Type) + len(e.Msg) + len(e.Block) + len(e.Data)
}

// Rule names a law of the log that an event broke.
type Rule string

// The rules that a Guard keeps.
const (
	RuleSeq        Rule = "seq"         // seq is not the last one plus one
	RuleTime       Rule = "time"        // at went backwards
	RuleMessage    Rule = "message"     // another message's event
	RuleFirst      Rule = "first"       // the first event is not start
	RuleStart      Rule = "start"       // a second start
	RuleTerminal   Rule = "terminal"    // an event or a second terminal after the end of its group
	RuleGroup      Rule = "group"       // not the open group and not the next one
	RuleType       Rule = "type"        // unknown, or not for a log
	RuleSize       Rule = "size"        // larger than MaxSize
	RuleData       Rule = "data"        // data is not a JSON object of the event's shape
	RuleBlockID    Rule = "block_id"    // missing, or present where there is none
	RuleText       Rule = "text"        // text for a block that is not an open text block
	RuleOneText    Rule = "one_text"    // a second open text block
	RuleNotOpen    Rule = "not_open"    // delta, end or error of a block that is not open
	RuleReopened   Rule = "reopened"    // started while open, or again in the group that ended it
	RuleEndedTwice Rule = "ended_twice" // block_end of a block that ended in this group
	RuleBlockType  Rule = "block_type"  // the block had another type
	RuleRev        Rule = "rev"         // rev did not grow
	RuleOpenAtEnd  Rule = "open_at_end" // a block is open at the terminal event
)

// GuardError says which rule an event broke.
type GuardError struct {
	Rule  Rule
	Event Event
	// Detail says how, for people.
	Detail string
}

// Error implements error.
func (e *GuardError) Error() string {
	return fmt.Sprintf("event %d (%s) of %s: %s: %s", e.Event.Seq, e.Event.Type, e.Event.Msg, e.Rule, e.Detail)
}

// Is makes errors.Is match a GuardError of the same rule.
func (e *GuardError) Is(target error) bool {
	t, ok := target.(*GuardError)
	return ok && t.Rule == e.Rule
}

// Guard keeps the log of one message lawful: Check is asked before an event is
// written. A Guard is for one goroutine.
type Guard struct {
	msg    string
	seq    uint64
	at     int64
	group  int
	open   bool // the group has no terminal event yet
	blocks map[string]*guarded
	text   string // the open text block
	loads  int    // how many blocks are open
}

type guarded struct {
	typ   string
	open  bool
	ended int // the group it ended in
	ok    bool
	rev   int
}

// NewGuard returns the guard of an empty log.
func NewGuard(msg string) *Guard {
	return &Guard{msg: msg, blocks: make(map[string]*guarded)}
}

// ResumeGuard returns the guard of a log that folds to st, for what a
// follow-up appends to it.
func ResumeGuard(msg string, st State) *Guard {
	g := NewGuard(msg)
	g.seq, g.at, g.group, g.open = st.Seq, st.At, st.Group, st.Open
	for _, b := range st.Blocks {
		gb := &guarded{typ: block.ShortName(b.Type), rev: b.Rev, ended: st.Group, ok: b.Status == block.StatusDone}
		if b.Status == block.StatusLoading {
			gb.open = true
			g.loads++
			if gb.typ == "text" {
				g.text = b.ID
			}
		}
		g.blocks[b.ID] = gb
	}
	return g
}

// Open reports whether the last group has no terminal event yet.
func (g *Guard) Open() bool { return g.open }

// Seq returns the number of the last event accepted.
func (g *Guard) Seq() uint64 { return g.seq }

// Check accepts the next event of the log or returns a *GuardError. A refused
// event leaves the guard as it was.
func (g *Guard) Check(e Event) error {
	refuse := func(r Rule, format string, args ...any) error {
		return &GuardError{Rule: r, Event: e, Detail: fmt.Sprintf(format, args...)}
	}
	if g.msg != "" && e.Msg != g.msg {
		return refuse(RuleMessage, "the log is that of %s", g.msg)
	}
	if e.Seq != g.seq+1 {
		return refuse(RuleSeq, "want %d", g.seq+1)
	}
	if e.At < g.at || e.At < 0 {
		return refuse(RuleTime, "%d ms after %d ms", e.At, g.at)
	}
	if n := Size(e); n > MaxSize {
		return refuse(RuleSize, "%d bytes, at most %d", n, MaxSize)
	}
	if !plainDelta(e) && (len(e.Data) == 0 || e.Data[0] != '{' || !json.Valid(e.Data)) {
		return refuse(RuleData, "not a JSON object")
	}
	needsBlock, known := wantsBlock(e.Type)
	switch {
	case !known:
		return refuse(RuleType, "unknown event")
	case e.Type == Snapshot:
		return refuse(RuleType, "a snapshot is never logged")
	case needsBlock && e.Block == "":
		return refuse(RuleBlockID, "missing")
	case !needsBlock && e.Block != "":
		return refuse(RuleBlockID, "present")
	}

	if g.seq == 0 {
		if e.Type != Start {
			return refuse(RuleFirst, "a log begins with start")
		}
		if e.Group != 1 {
			return refuse(RuleGroup, "%d, want 1", e.Group)
		}
	} else {
		if e.Type == Start {
			return refuse(RuleStart, "only the first event is a start")
		}
		switch {
		case g.open && e.Group != g.group:
			return refuse(RuleGroup, "%d, while group %d is open", e.Group, g.group)
		case !g.open && e.Group == g.group:
			return refuse(RuleTerminal, "group %d is over", g.group)
		case !g.open && e.Group != g.group+1:
			return refuse(RuleGroup, "%d, want %d", e.Group, g.group+1)
		}
	}

	b := g.blocks[e.Block] // nil for ""
	switch e.Type {
	case TextDelta:
		if b != nil && b.typ != "text" {
			return refuse(RuleText, "block %s is a %s", e.Block, b.typ)
		}
		if b != nil && !b.open {
			return refuse(RuleText, "block %s has ended", e.Block)
		}
		if g.text != "" && g.text != e.Block {
			return refuse(RuleOneText, "block %s is open", g.text)
		}
		if b == nil {
			g.start(e.Block, "text")
		}
	case TextEnd:
		if b == nil || b.typ != "text" || !b.open {
			return refuse(RuleText, "block %s is not an open text block", e.Block)
		}
		g.end(e, b, true)
	case BlockStart:
		typ := peekType(e.Data)
		switch {
		case typ == "":
			return refuse(RuleData, "no type")
		case b != nil && b.typ != typ:
			return refuse(RuleBlockType, "%s, was %s", typ, b.typ)
		case b != nil && b.open:
			return refuse(RuleReopened, "block %s is open", e.Block)
		case b != nil && b.ok && b.ended == e.Group:
			return refuse(RuleReopened, "block %s ended in this group", e.Block)
		case typ == "text" && g.text != "":
			return refuse(RuleOneText, "block %s is open", g.text)
		}
		g.start(e.Block, typ)
	case BlockDelta:
		if b == nil || !b.open {
			return refuse(RuleNotOpen, "block %s", e.Block)
		}
		if b.typ == "text" {
			return refuse(RuleBlockType, "text grows by text_delta")
		}
	case BlockEnd:
		typ := peekType(e.Data)
		switch {
		case typ == "":
			return refuse(RuleData, "no type")
		case b != nil && b.typ != typ:
			return refuse(RuleBlockType, "%s, was %s", typ, b.typ)
		case b != nil && !b.open && b.ended == e.Group:
			return refuse(RuleEndedTwice, "block %s", e.Block)
		}
		if b == nil {
			b = &guarded{typ: typ, rev: 1}
			g.blocks[e.Block] = b
		}
		g.end(e, b, true)
	case BlockError:
		if b == nil || !b.open {
			return refuse(RuleNotOpen, "block %s", e.Block)
		}
		g.end(e, b, false)
	case BlockState:
		var d BlockStateData
		switch {
		case b == nil:
			return refuse(RuleNotOpen, "block %s is unknown", e.Block)
		case json.Unmarshal(e.Data, &d) != nil:
			return refuse(RuleData, "not a state")
		case d.Rev <= b.rev:
			return refuse(RuleRev, "%d, was %d", d.Rev, b.rev)
		}
		b.rev = d.Rev
	case PendingQuestionStart, PendingQuestionEnd:
		if b == nil || b.open {
			return refuse(RuleNotOpen, "block %s is no finished question", e.Block)
		}
	case Done, Error:
		if g.loads > 0 {
			return refuse(RuleOpenAtEnd, "%d blocks", g.loads)
		}
	}
	g.seq, g.at, g.group, g.open = e.Seq, e.At, e.Group, !e.Type.Terminal()
	if g.msg == "" {
		g.msg = e.Msg
	}
	return nil
}

func (g *Guard) start(id, typ string) {
	b := g.blocks[id]
	if b == nil {
		b = &guarded{typ: typ, rev: 1}
		g.blocks[id] = b
	}
	b.open = true
	g.loads++
	if typ == "text" {
		g.text = id
	}
}

func (g *Guard) end(e Event, b *guarded, ok bool) {
	if b.open {
		b.open = false
		g.loads--
	}
	b.ended, b.ok = e.Group, ok
	if g.text == e.Block {
		g.text = ""
	}
}

// plainDelta reports whether an event is a delta as TextData writes them, with
// nothing in its text that needs an escape. Most events are, and to see it is
// quicker than to parse.
func plainDelta(e Event) bool {
	if e.Type != TextDelta && e.Type != ReasoningDelta {
		return false
	}
	body, ok := bytes.CutPrefix(e.Data, deltaOpen)
	if ok {
		body, ok = bytes.CutSuffix(body, deltaClose)
	}
	return ok && jsonx.Plain(body)
}

// wantsBlock reports whether events of a type carry a block id, and whether
// the type is known.
func wantsBlock(t Type) (wants, known bool) {
	switch t {
	case TextDelta, TextEnd, BlockStart, BlockDelta, BlockEnd, BlockError, BlockState,
		PendingQuestionStart, PendingQuestionEnd, Annotation:
		return true, true
	case Start, ReasoningDelta, ToolCallStart, ToolCallEnd, SubToolStart, SubToolEnd, ClientToolCall, AppState, Snapshot, Done, Error:
		return false, true
	}
	return false, false
}

func peekType(data json.RawMessage) string {
	var d struct {
		Type string `json:"type"`
	}
	if json.Unmarshal(data, &d) != nil {
		return ""
	}
	return block.ShortName(d.Type)
}
