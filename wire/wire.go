// Package wire turns the log into what clients read.
//
// A dialect is an encoder: a pure, resumable state machine from events to
// frames. Encoders never touch storage, the model or HTTP; they take time only
// from Event.At; the same log and the same View give the same bytes. Each
// dialect is a folder of its own; no dialect imports another.
package wire

import (
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// View is one reader: what it draws and what it may see.
//
// The log has every block whole; what a reader gets of it is decided here, in
// every dialect alike. Of a block that its Caps cannot draw a reader gets the
// place and the text that stands for it, which is Registry.Stand: a link, the
// fallback, or what became of a block that failed without one. It may be told
// whether the block is loading, done or failed, by which code, and whether it
// is worth trying again. Nothing else of the block reaches it: no payload and
// no patch of one, no state, action, title, source or vendor's member, not the
// error's own words, not what an open question asks, no annotation. That holds
// for streams, for what is left of them after a cut, for snapshots and for
// stored messages. A block that comes back in a major which the reader cannot
// draw, after one that it can, is such a block from then on.
//
// A reader that declared nothing (Caps.Declared is false) is taken for one
// that draws everything and shows by itself the fallback of what it does not
// know: native and cards. In the UI Block Protocol a block needs the client's
// word, and without any the reader gets text alone: its Caps declare nothing
// that it draws. So it is with the clients of AG-UI and of the AI SDK, which
// show nothing at all where they get what they do not know, unless the
// installation says that its front end draws everything (wires.undeclared);
// then their Caps are undeclared. What those protocols have of their own needs
// no declaration: a question whether a tool may run, or a form, is there what
// the protocol makes of one, an interrupt or an approval with the arguments that
// are asked about, and a call of a tool that the client brought is the client's.
type View struct {
	Dialect string
	// Version is the dialect's version asked for; empty is the safe default.
	Version string
	Caps    block.Caps
	// Registry gives fallbacks of blocks the reader cannot draw.
	Registry *block.Registry
	// Locale is "en", "zh" or another language tag.
	Locale string
	// Tools and Reasoning say whether activity and thoughts are sent.
	Tools     bool
	Reasoning bool
	// ToolParts sends activity as the dialect's own calls of tools instead, in a
	// dialect that has such. Arguments and results are not in them.
	ToolParts bool
}

// Run names the message that is read, with the ids a foreign client knows it
// by.
type Run struct {
	Msg          string
	Conversation string
	// ThreadID and RunID are foreign ids; empty in our own dialects.
	ThreadID string
	RunID    string
	// RunIDs are the foreign ids of single groups, for a client that gives one to
	// each run. RunID is that of the first; a group without any has one made of
	// the message's id and the group's number.
	RunIDs map[int]string
}

// Encoder turns one message's events into frames for one View. It is used by
// one goroutine.
type Encoder interface {
	ContentType() string
	// Begin opens the stream. snap is nil unless the reader starts from
	// stored blocks instead of the first event.
	Begin(dst []byte, snap *event.SnapshotData) ([]byte, error)
	// Append encodes one event as zero or more frames. The frame that carries
	// the event's seq as SSE id is the last of them.
	Append(dst []byte, ev event.Event) ([]byte, error)
	// End closes the stream after the last event.
	End(dst []byte) ([]byte, error)
	// Stateless reports whether the encoder may begin after any event. Another
	// one is fed from the first event on, and what it writes for events that
	// the reader has had is thrown away.
	Stateless() bool
}

// WholeReplayer is implemented by encoders whose clients cannot go on in the
// middle: nothing they write is thrown away.
type WholeReplayer interface{ WholeReplay() bool }

// Follower is implemented by encoders whose clients take what was added to a
// message that they have as a stream of its own. Follow is called after the
// events that the client has were appended and what they wrote was thrown away.
type Follower interface {
	Follow(dst []byte) ([]byte, error)
}

// Updater is implemented by encoders that can send a block as it is beyond what
// the log says of it: what somebody did with it may be known earlier. again
// sends one that is not beyond the log, too.
type Updater interface {
	Update(dst []byte, b block.Block, again bool) ([]byte, error)
}

// Headerer is implemented by encoders whose clients want a response header.
type Headerer interface{ Header() (name, value string) }
