package markup

import (
	"bytes"
	"encoding/json"
)

const (
	// pushPiece is how much of a Push is looked at in one go, which bounds the
	// scanner's own buffers.
	pushPiece = 1 << 10
	// keptBuffer is how large a buffer may be to be used again.
	keptBuffer = 1 << 10
)

// state says what reads the next byte.
type state uint8

const (
	atLine    state = iota // the beginning of a line, held until it is known what it is
	inInline               // text of a paragraph or heading
	inLiteral              // the rest of a line in which nothing can be found
	inHTML                 // a line of an HTML block
	inRule                 // a line of dashes or the like, longer than what is held
	inBlanks               // a line of blanks, longer than what is held
	inInfo                 // behind the run of what may be a fence
	inBody                 // a line of a fence's body
	inCloser               // a line that may close a fence, longer than what is held
	inTags                 // inside a tag
	isLost                 // structure that could not be followed; all is text
)

// Scanner tells cards from the text around them while the text streams. It is
// a writer of events: Push and Close call the sink, in order, before they
// return. It is not safe for concurrent use.
type Scanner struct {
	cfg     Config
	fences  names
	holders names
	tags    element // whose children are the elements at top level

	repair repair
	state  state
	closed bool
	reason Reason
	ids    int
	out    output

	line    []byte // the beginning of a line while it is held
	conts   []container
	opened  []container // those that the line being looked at opens
	opener  openerScan  // of an HTML block in the held line
	para    bool        // a paragraph is open
	heading bool        // the text is that of a heading
	rule    ruleScan

	inline inline
	hold   []byte // what may become a placeholder, a tag or a fence
	holder holderScan
	tag    tagScan
	info   infoScan

	src    []byte // the open block at top level, from its beginning
	fence  fence
	html   htmlBlock
	frames []frame // the open tags, outermost first

	// looked counts the bytes looked at, those looked at again included, so
	// that tests can hold the scanner to its bound without a clock.
	looked int
}

// NewScanner returns a Scanner that hands every event to the sink.
func NewScanner(cfg Config, sink func(Event)) *Scanner {
	s := &Scanner{cfg: cfg.withDefaults()}
	s.fences = s.fences.add(cfg.Fences...)
	s.holders = s.holders.add(cfg.Placeholders...)
	s.tags.spec.Children = cfg.Tags
	s.tags.open()
	s.out.sink = sink
	return s
}

// Push takes the next piece of the text, cut anywhere, even inside a character.
// It keeps no reference to p. Nothing follows Close.
func (s *Scanner) Push(p []byte) {
	if s.closed {
		return
	}
	for len(p) > 0 {
		n := min(len(p), pushPiece)
		s.scan(s.repair.next(p[:n]))
		p = p[n:]
	}
	s.out.flush()
}

// Close ends the text: what is held becomes text, open blocks get their end.
func (s *Scanner) Close(reason Reason) {
	if s.closed {
		return
	}
	s.scan(s.repair.end())
	s.closed, s.reason = true, reason
	switch s.state {
	case atLine:
		if len(s.line) > 0 {
			s.settleLine(end)
		}
	case inRule, inBlanks:
		s.endLong(end)
	}
	// What settled the line may have gone on to another state.
	if s.state == inInfo {
		s.endInfo(nil)
	}
	if s.state == inInline {
		s.endText()
	}
	if s.endBody(); s.fence.open {
		s.endFence()
	}
	if len(s.frames) > 0 {
		s.endTags()
	}
	s.endParagraph()
	s.out.flush()
}

// scan gives a piece, byte ranges at a time, to whoever reads the state.
func (s *Scanner) scan(p []byte) {
	s.looked += len(p)
	for len(p) > 0 {
		var n int
		switch s.state {
		case atLine:
			n = s.scanLine(p)
		case inInline:
			n = s.scanInline(p, more)
		case inLiteral:
			n = s.scanLiteral(p)
		case inHTML:
			n = s.scanHTML(p)
		case inRule:
			n = s.scanRule(p)
		case inBlanks:
			n = s.scanBlanks(p)
		case inInfo:
			n = s.scanInfo(p)
		case inBody:
			n = s.scanBody(p)
		case inCloser:
			n = s.scanCloser(p)
		case inTags:
			n = s.scanTags(p)
		case isLost:
			s.text(p)
			n = len(p)
		}
		p = p[n:]
	}
}

// scanLiteral passes the rest of a line.
func (s *Scanner) scanLiteral(p []byte) int {
	n := bytes.IndexByte(p, '\n') + 1
	if n == 0 {
		s.text(p)
		return len(p)
	}
	s.text(p[:n])
	s.nextLine()
	return n
}

// nextLine follows every line end.
func (s *Scanner) nextLine() {
	s.line = s.line[:0]
	s.state = atLine
}

// text passes text on, past what waits for the end of a code span.
func (s *Scanner) text(p []byte) {
	if s.inline.span.holding {
		s.spanText(p)
		return
	}
	s.out.piece(Text, 0, p)
}

// release gives up a held beginning: it is text.
func (s *Scanner) release() {
	s.looked += len(s.hold)
	s.text(s.hold)
	s.hold = shrink(s.hold)
}

// start opens a block and returns its ID.
func (s *Scanner) start(parent int, syntax Syntax, name string, meta map[string]string) int {
	s.ids++
	s.out.flush()
	s.out.sink(Event{Kind: Start, ID: s.ids, Parent: parent, Syntax: syntax, Type: name, Meta: meta})
	return s.ids
}

// fallBack closes a block that is none.
func (s *Scanner) fallBack(id, parent int, reason string, source []byte) {
	s.out.event(Event{Kind: Fallback, ID: id, Parent: parent, Reason: reason, Text: s.out.share(source)})
}

// lose ends recognition for the rest of the text.
func (s *Scanner) lose() {
	if s.fence.open {
		if s.fence.live() {
			s.failFence(TooLong)
		}
		s.fence.open = false
	}
	s.giveUpSpan()
	s.endParagraph()
	s.text(s.line)
	s.line = s.line[:0]
	s.state = isLost
}

// grow appends to a buffer that may hold a whole body. It keeps less slack than
// append does: what the scanner retains is bounded by what is open.
func grow(buf, p []byte) []byte {
	if need := len(buf) + len(p); need > cap(buf) {
		larger := make([]byte, len(buf), need+max(keptBuffer/2, need/16))
		copy(larger, buf)
		buf = larger
	}
	return append(buf, p...)
}

// shrink empties a buffer, and lets go of it when a body made it large.
func shrink(buf []byte) []byte {
	if cap(buf) > keptBuffer {
		return nil
	}
	return buf[:0]
}

// object says whether JSON is an object, or an array of objects where that is
// accepted; the reason says what else it is.
func object(body []byte, orArray bool) (ok bool, reason string) {
	if !json.Valid(body) {
		return false, BadJSON
	}
	switch body[0] {
	case '{':
		return true, ""
	case '[':
		if !orArray {
			break
		}
		var items []json.RawMessage
		if err := json.Unmarshal(body, &items); err != nil || len(items) == 0 {
			break
		}
		for _, item := range items {
			if item[0] != '{' {
				return false, NotObject
			}
		}
		return true, ""
	}
	return false, NotObject
}
