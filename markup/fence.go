package markup

import (
	"bytes"
	"encoding/json"
)

// infoPhase says where in an info string the scanner is.
type infoPhase uint8

const (
	infoRun    infoPhase = iota // the run of marks, longer than what a line holds
	infoBlanks                  // before the first word
	infoName                    // in the first word, which may be a name
	infoRest                    // behind a name
	infoPlain                   // in an info string that names no card
)

// infoScan follows a line that begins with a run of marks, up to its end. A
// backtick in it makes it no fence but text with a code span.
type infoScan struct {
	place  place
	inline bool // the run stands in a line of text, see Lenient.OpenInline
	phase  infoPhase
	from   int // where in hold the info string begins
	word   int // where in hold the first word begins
	node   node
	name   string
}

// fence is the open fence.
type fence struct {
	open   bool
	card   bool
	dead   bool // a card that fell back; what follows is text up to the closer
	mark   byte
	run    int
	indent int
	id     int
	body   int // where in src the body begins
	size   int // of the body
	cuts   []cut
	closer closerScan
}

// cut is a container's prefix in the source of a fence, which does not belong
// to the body. The spaces left of a tab used up in part stand in its place.
type cut struct {
	at  int32
	len uint16
	pad uint8
}

// live says whether the body belongs to a card.
func (f *fence) live() bool { return f.card && !f.dead }

const spaces = "    "

// beginInfo begins with what may be a fence. Its line stays unsettled: as text
// it might go on with a paragraph.
func (s *Scanner) beginInfo(p *place) {
	s.dropTag()
	s.info = infoScan{place: *p, from: p.at + p.run}
	s.hold = append(s.hold[:0], s.line[:s.info.from]...)
	s.state = inInfo
	s.scan(s.line[s.info.from:])
}

// scanInfo holds an info string as long as it may name a card.
func (s *Scanner) scanInfo(p []byte) int {
	for i := 0; i < len(p); {
		n := runeLen(p[i])
		switch {
		case p[i] == '\n':
			s.endInfo(p[i : i+1])
			return i + 1
		case p[i] == '`' && s.info.place.mark == '`' && s.info.phase != infoRun,
			!s.infoRune(p[i : i+n]):
			s.noFence()
			return i
		}
		i += n
	}
	return len(p)
}

// infoRune takes one character of an info string. It returns false when the
// run stands in a line of text and no card can begin there any more.
func (s *Scanner) infoRune(r []byte) bool {
	f := &s.info
	c := r[0]
	if f.phase == infoRun {
		if c == f.place.mark {
			f.place.run++
			f.from++
		} else if f.phase = infoBlanks; c == '`' && f.place.mark == '`' {
			return false
		}
	}
	blank := c == ' ' || c == '\t' || c == '\r'
	if f.phase == infoBlanks && !blank {
		f.phase, f.node, f.word = infoName, s.fences.root(), len(s.hold)
	}
	if f.phase == infoName {
		if next, ok := s.fences.step(f.node, c); ok {
			f.node = next
		} else if f.name = s.fences.name(f.node); f.name != "" && (blank || c == '@') {
			f.phase = infoRest
		} else {
			f.phase = infoPlain
		}
	}
	// A run that is longer than what is held of a line is no card's either.
	if len(s.hold)+len(r)-f.from > s.cfg.MaxInfo || f.from > 2*maxLine && f.phase != infoRun {
		f.phase = infoPlain
	}
	switch {
	case f.phase == infoPlain && f.inline:
		return false
	case f.phase == infoPlain, f.from > 2*maxLine:
		s.release()
		s.text(r)
	default:
		s.hold = append(s.hold, r...)
	}
	return true
}

// noFence goes on as text with what began like a fence.
func (s *Scanner) noFence() {
	run := s.info.place.run
	s.state = inInline
	if s.info.inline {
		s.release()
		s.countRun(run)
		return
	}
	p := s.info.place
	p.kind = lineText
	goesOn := s.para && len(s.opened) == 0
	tracked := s.inline.tracked()
	s.beginText(&p)
	s.release()
	if !goesOn {
		s.countRun(run)
		return
	}
	// What stood in the info string was passed without a look.
	s.giveUpSpan()
	if tracked || s.inline.code == run {
		s.inline.suppress()
		return
	}
	s.countRun(run)
}

// endInfo makes a fence of the line, a card's if its name is registered.
func (s *Scanner) endInfo(newline []byte) {
	f := s.info
	switch f.phase {
	case infoName:
		f.name = s.fences.name(f.node)
	case infoPlain:
		f.name = ""
	}
	var meta map[string]string
	if f.name != "" {
		var ok bool
		if meta, ok = s.parseInfo(s.hold[f.word+len(f.name):]); !ok {
			f.name = ""
		}
	}
	if f.inline && f.name == "" {
		s.noFence()
		if newline != nil {
			s.scanInline(newline, more)
		}
		return
	}
	s.endParagraph()
	if !f.inline {
		s.commit(&f.place)
	}
	s.fence = fence{open: true, card: f.name != "", mark: f.place.mark, run: f.place.run, indent: f.place.indent, cuts: s.fence.cuts[:0]}
	if s.fence.card {
		s.src = append(grow(s.src, s.hold), newline...)
		s.hold = s.hold[:0]
		s.fence.body = len(s.src)
		s.fence.id = s.start(0, Fence, f.name, meta)
	} else {
		s.release()
		s.text(newline)
	}
	s.nextLine()
}

// parseInfo reads what follows a name: a version and attributes. What is not of
// their shape is kept as a whole.
func (s *Scanner) parseInfo(rest []byte) (meta map[string]string, ok bool) {
	set := func(k, v []byte) {
		if meta == nil {
			meta = make(map[string]string)
		}
		if _, has := meta[string(k)]; !has {
			meta[s.metaKey(k)] = s.out.share(v)
		}
	}
	if len(rest) > 0 && rest[0] == '@' {
		n := 1
		for n < len(rest) && !asciiBlank(rest[n]) {
			n++
		}
		if !version(rest[1:n]) {
			return nil, false
		}
		set([]byte(MetaVersion), rest[1:n])
		rest = rest[n:]
	}
	rest = bytes.Trim(rest, " \t\r")
	if !attributes(rest) {
		set([]byte(MetaInfo), rest)
		return meta, true
	}
	for len(rest) > 0 {
		k, v, n := attribute(rest)
		set(k, v)
		rest = rest[n:]
	}
	return meta, true
}

// attributes says whether b consists of attributes.
func attributes(b []byte) bool {
	for len(b) > 0 {
		_, _, n := attribute(b)
		if n == 0 {
			return false
		}
		b = b[n:]
	}
	return true
}

// metaKey returns a key as a string; the usual ones cost nothing.
func (s *Scanner) metaKey(k []byte) string {
	switch string(k) {
	case MetaID:
		return MetaID
	case MetaVersion:
		return MetaVersion
	case MetaInfo:
		return MetaInfo
	case "title":
		return "title"
	case "type":
		return "type"
	}
	return s.out.share(k)
}

func asciiBlank(c byte) bool { return c == ' ' || c == '\t' || c == '\r' || c == '\n' }

// version says whether b is a version: one to three numbers with dots between.
func version(b []byte) bool {
	parts := bytes.Split(b, []byte("."))
	for _, part := range parts {
		if !digits(part) {
			return false
		}
	}
	return len(parts) <= 3
}

func digits(b []byte) bool {
	for _, c := range b {
		if !digit(c) {
			return false
		}
	}
	return len(b) > 0
}

// attribute reads k=v, its value perhaps in quotes, and the blanks behind it. n
// is 0 when there is none.
func attribute(b []byte) (k, v []byte, n int) {
	for n < len(b) && (nameByte(b[n]) || b[n] == ':') {
		n++
	}
	if n == 0 || n == len(b) || b[n] != '=' || !letter(b[0]) && b[0] != '_' {
		return nil, nil, 0
	}
	k, b = b[:n], b[n+1:]
	at := 0
	if len(b) > 0 && (b[0] == '"' || b[0] == '\'') {
		to := bytes.IndexByte(b[1:], b[0])
		if to < 0 {
			return nil, nil, 0
		}
		v, at = b[1:to+1], to+2
		if at < len(b) && !asciiBlank(b[at]) {
			return nil, nil, 0
		}
	} else {
		for at < len(b) && !asciiBlank(b[at]) {
			if b[at] == '"' || b[at] == '\'' {
				return nil, nil, 0
			}
			at++
		}
		v = b[:at]
	}
	for at < len(b) && asciiBlank(b[at]) {
		at++
	}
	return k, v, n + 1 + at
}

// placeBody tells a line of the open fence's body from its closer.
func (s *Scanner) placeBody(c *cursor, p *place) {
	indent, at := c.peek()
	if indent <= 3 && at < len(c.line) && c.line[at] == s.fence.mark {
		run := at
		for run < len(c.line) && c.line[run] == s.fence.mark {
			run++
		}
		to := run
		for to < len(c.line) && (c.line[to] == ' ' || c.line[to] == '\t') {
			to++
		}
		long := run-at >= s.fence.run
		switch {
		case to < len(c.line):
		case c.next == end && long:
			p.kind = lineCloser
			return
		case c.next == more && (long || run == to):
			p.kind, p.run = lineCloserMore, run-at
			return
		}
	}
	c.skip(min(indent, s.fence.indent))
	p.kind, p.at, p.pad = lineBody, c.at, c.pad
}

// settleFenceLine acts on a line of the open fence and returns how many bytes
// of the line end it used up.
func (s *Scanner) settleFenceLine(p *place) int {
	switch p.kind {
	case lineBody:
		s.state = inBody
		s.bodyLine(p)
		return 0
	case lineCloserMore:
		// Whether this closes the fence is known only at its end, which may be
		// far. The card cannot wait so long.
		if s.fence.live() {
			s.failFence(TooLong)
		}
		s.text(s.line)
		s.fence.closer = closerScan{run: p.run, blank: s.line[len(s.line)-1] != s.fence.mark}
		s.state = inCloser
		return 0
	}
	newline := []byte("\n")
	if s.closed {
		newline = nil
	}
	s.closeFence(s.line, newline)
	return 1
}

// closeFence ends the fence with a closing line.
func (s *Scanner) closeFence(line, newline []byte) {
	if s.fence.live() {
		body := s.fenceBody()
		s.src = append(grow(s.src, line), newline...)
		s.judge(body, true)
	} else {
		s.text(line)
		s.text(newline)
	}
	s.fence.open = false
	s.nextLine()
}

// bodyLine begins a line of the body, of which the containers' prefix and the
// fence's own indentation are no part.
func (s *Scanner) bodyLine(p *place) {
	if !s.fence.live() {
		s.text(s.line)
		return
	}
	at := p.at
	if p.pad > 0 {
		at++
	}
	if at > 0 {
		s.fence.cuts = append(s.fence.cuts, cut{int32(len(s.src)), uint16(at), uint8(p.pad)})
		s.src = grow(s.src, s.line[:at])
	}
	if s.fence.size+p.pad > s.cfg.MaxBody {
		s.failFence(TooLong)
	} else if p.pad > 0 {
		s.fence.size += p.pad
		s.out.piece(Delta, s.fence.id, []byte(spaces[:p.pad]))
	}
	s.content(s.line[at:])
}

// scanBody passes a body, line by line.
func (s *Scanner) scanBody(p []byte) int {
	n := bytes.IndexByte(p, '\n') + 1
	if n == 0 {
		s.content(p)
		return len(p)
	}
	if s.content(p[:n]); s.fence.open {
		s.nextLine()
	}
	return n
}

// content takes a piece of the body, of one line.
func (s *Scanner) content(p []byte) {
	if s.cfg.Lenient.CloseInline && s.fence.live() {
		s.contentClosing(p)
		return
	}
	s.body(p)
}

// body takes a piece that certainly belongs to the body.
func (s *Scanner) body(p []byte) {
	if !s.fence.live() {
		s.text(p)
		return
	}
	n := fitting(p, s.cfg.MaxBody-s.fence.size)
	s.src = grow(s.src, p[:n])
	s.fence.size += n
	s.out.piece(Delta, s.fence.id, p[:n])
	if n < len(p) {
		s.failFence(TooLong)
		s.text(p[n:])
	}
}

// scanCloser follows what may be a closer, longer than what is held. Nothing
// waits for it, as no card is open any more.
func (s *Scanner) scanCloser(p []byte) int {
	f := &s.fence
	for i, c := range p {
		switch {
		case c == '\n':
			s.text(p[:i+1])
			f.open = f.closer.run < f.run
			s.nextLine()
			return i + 1
		case c == ' ', c == '\t', c == '\r':
			f.closer.blank = true
		case c == f.mark && !f.closer.blank:
			f.closer.run++
		default:
			s.text(p[:i])
			s.state = inBody
			return i
		}
	}
	s.text(p)
	return len(p)
}

// endFence ends a fence that was not closed: its container ended, or the text.
func (s *Scanner) endFence() {
	if s.fence.live() {
		s.judge(s.fenceBody(), false)
	}
	s.fence.open = false
}

// fenceBody returns the body without what the containers added.
func (s *Scanner) fenceBody() []byte {
	s.looked += len(s.src)
	body := make([]byte, 0, s.fence.size)
	at := s.fence.body
	for _, cut := range s.fence.cuts {
		body = append(body, s.src[at:cut.at]...)
		body = append(body, spaces[:cut.pad]...)
		at = int(cut.at) + int(cut.len)
	}
	body = append(body, s.src[at:]...)
	return bytes.Trim(body, " \t\r\n")
}

// judge ends a card by what its body turned out to be.
func (s *Scanner) judge(body []byte, closed bool) {
	ok, reason := object(body, s.cfg.Lenient.FenceAsObjectArray)
	switch {
	case !closed && (!ok || s.closed && s.reason == Length):
		s.failFence(Unterminated)
	case !ok:
		s.failFence(reason)
	default:
		s.out.event(Event{Kind: End, ID: s.fence.id, Payload: json.RawMessage(body), Source: s.out.share(s.src), Unclosed: !closed})
		s.src = shrink(s.src)
	}
}

// failFence makes the card its source; what follows up to the closer is text.
func (s *Scanner) failFence(reason string) {
	s.fallBack(s.fence.id, 0, reason, s.src)
	s.src = shrink(s.src)
	s.fence.dead = true
}
