package markup

import "bytes"

// sub says what within a line the scanner is in the middle of.
type sub uint8

const (
	subNone   sub = iota
	subTicks      // a run of backticks
	subEscape     // behind a backslash
	subHolder     // what may become a placeholder
	subTag        // what may become a tag
)

// suppressed stands for a code span that nothing closes: recognition is off up
// to the end of the paragraph.
const suppressed = -1

// inline is the state of the text of one paragraph or heading.
type inline struct {
	// code is how many backticks opened the code span, 0 outside of one.
	code    int
	sub     sub
	run     int  // the length of the run so far
	delayed bool // the run was not passed yet, as it may open a fence
	bracket bool // a closing bracket was right before
	lead    bool // nothing of the first line was seen but a < to come
	block   bool // the line consists of one HTML tag so far
	html    htmlScan
	link    linkScan
	span    span
}

// reset begins another paragraph or heading.
func (n *inline) reset() {
	items, back := n.span.items[:0], n.span.back[:0]
	*n = inline{span: span{items: items, back: back}}
}

// suppress switches recognition off up to the end of the paragraph.
func (n *inline) suppress() {
	n.code = suppressed
	n.html, n.block = htmlScan{}, false
	n.link = linkScan{defined: n.link.defined}
}

// tracked says whether every byte has to be looked at, as it may be part of
// raw HTML or of a link.
func (n *inline) tracked() bool { return n.html.on() || n.link.on() || n.block }

// Which bytes mean something, outside and inside a code span.
var (
	textBytes = byteSet("\n`[]<\\")
	codeBytes = byteSet("\n`")
)

// scanInline passes text and finds placeholders and tags in it.
func (s *Scanner) scanInline(p []byte) int {
	n := &s.inline
	for i := 0; i < len(p); {
		if n.sub == subNone && !n.bracket && !n.span.watching() && !n.tracked() {
			if k := s.plain(p[i:]); k > 0 {
				s.text(p[i : i+k])
				i += k
				continue
			}
		}
		if p[i] == '\n' {
			s.inlineNewline(p[i : i+1])
			return i + 1
		}
		size := runeLen(p[i])
		used := s.inlineRune(p[i : i+size])
		if used {
			i += size
		}
		if s.state != inInline {
			return i
		}
	}
	return len(p)
}

// plain returns how many bytes of p mean nothing.
func (s *Scanner) plain(p []byte) int {
	n := &s.inline
	set := &textBytes
	switch {
	case n.code == suppressed:
		if k := bytes.IndexByte(p, '\n'); k >= 0 {
			return k
		}
		return len(p)
	case n.code > 0 && !n.span.on:
		set = &codeBytes
	}
	for i, c := range p {
		if set[c] {
			return i
		}
	}
	return len(p)
}

// inlineRune takes one character of the text, which does not end a line. It
// returns false when the character has to be looked at again.
func (s *Scanner) inlineRune(r []byte) bool {
	n := &s.inline
	c := r[0]
	if !n.tracked() {
		return s.primary(r, false)
	}
	if n.block && c != ' ' && c != '\t' && c != '\r' {
		n.block = false
	}
	tag := false
	if n.html.on() {
		switch n.html.step(c) {
		case scanDone:
			// All of it was raw HTML, the backticks too.
			tag = true
		case scanFailed:
			s.failHTML()
		}
	}
	if n.link.on() {
		switch n.link.step(c) {
		case scanDone:
			if n.link.ticks {
				s.suppress()
			}
			n.link.end()
		case scanFailed:
			s.failLink()
		}
	}
	used := s.primary(r, n.html.on() && !tag || n.link.hides())
	if tag && s.state == inInline && used {
		s.endHTML()
	}
	return used
}

// failHTML goes on as text: what was followed was no HTML. What may have begun
// inside of it was not followed.
func (s *Scanner) failHTML() {
	if s.inline.html.inner {
		s.suppress()
	}
	s.inline.html = htmlScan{}
}

// failLink goes on as text: what was followed was no link's target.
func (s *Scanner) failLink() {
	if s.inline.link.inner {
		s.suppress()
	}
	s.inline.link.end()
}

// endHTML goes on behind raw HTML as it was before.
func (s *Scanner) endHTML() {
	n := &s.inline
	if n.sub == subTicks {
		n.sub = subNone
	}
	if n.code > 0 {
		s.giveUpSpan()
		n.code = 0
	}
	n.block = n.html.lead && n.html.tag
	n.html = htmlScan{}
}

// suppress switches recognition off up to the end of the paragraph.
func (s *Scanner) suppress() {
	if sub := s.inline.sub; sub == subHolder || sub == subTag {
		s.inline.sub = subNone
		s.release()
	}
	s.giveUpSpan()
	s.inline.suppress()
}

// primary takes one character for what it means in text or in a code span.
// Where it is hidden, nothing begins with it.
func (s *Scanner) primary(r []byte, hidden bool) bool {
	n := &s.inline
	c := r[0]
	again := false
	switch n.sub {
	case subTicks:
		if c == '`' {
			n.run++
			s.tick()
			return true
		}
		if s.endRun(); s.state != inInline {
			return false
		}
	case subEscape:
		n.sub = subNone
		s.text(r)
		return true
	case subHolder:
		switch s.holder.step(s, r) {
		case scanOn:
			s.hold = append(s.hold, r...)
			return true
		case scanDone:
			s.hold = append(s.hold, r...)
			s.endHolder()
			return true
		}
		n.sub = subNone
		s.release()
	case subTag:
		switch s.tag.step(s.tags, r, len(s.hold), s.cfg.MaxTag) {
		case scanOn:
			s.hold = append(s.hold, r...)
			return true
		case scanDone:
			s.hold = append(s.hold, r...)
			s.beginTag()
			return true
		}
		s.dropTag()
		// A tag may begin where another was given up for it.
		again = c == '<'
	}
	bracket := n.bracket
	n.bracket = false
	if n.code != 0 {
		return s.inCode(r, hidden)
	}
	switch c {
	case '`':
		n.sub, n.run = subTicks, 1
		n.delayed = s.cfg.Lenient.OpenInline && !n.tracked()
		s.tick()
		return true
	case '\\':
		n.sub = subEscape
	case '[':
		if !hidden && len(s.holders) > 0 {
			n.sub, s.holder = subHolder, holderScan{}
			s.hold = append(s.hold[:0], c)
			return true
		}
	case ']':
		n.bracket = true
	case '(':
		switch {
		case !bracket:
		case n.html.on():
			n.html.inner = true
		case n.link.on():
			n.link.inner = true
		default:
			n.link.beginTarget()
		}
	case '<':
		if !n.html.on() && !n.link.hides() {
			n.html.begin(n.lead)
		} else if !again {
			break
		}
		n.lead = false
		if len(s.tags) > 0 {
			n.sub = subTag
			s.tag.begin(s.tags)
			s.hold = append(s.hold[:0], c)
			return true
		}
	}
	s.text(r)
	return true
}

// tick passes one backtick of a run, unless the run is delayed.
func (s *Scanner) tick() {
	if !s.inline.delayed {
		s.text([]byte("`"))
	}
}

// endRun acts on a run of backticks that is over.
func (s *Scanner) endRun() {
	n := &s.inline
	n.sub = subNone
	if n.delayed {
		n.delayed = false
		s.hold = s.hold[:0]
		for range n.run {
			s.hold = append(s.hold, '`')
		}
		if n.run >= 3 && n.run <= maxLine {
			s.info = infoScan{inline: true, from: n.run, phase: infoBlanks, place: place{mark: '`', run: n.run}}
			s.state = inInfo
			return
		}
		s.release()
	}
	s.countRun(n.run)
}

// countRun opens or closes a code span.
func (s *Scanner) countRun(run int) {
	n := &s.inline
	switch n.code {
	case 0:
		n.code = run
		n.span.begin(s.cfg.Holdback > 0 && !n.tracked())
	case run:
		s.giveUpSpan()
		n.code = 0
	case suppressed:
	default:
		s.spanRun(run)
	}
}

// inlineNewline ends a line of the text.
func (s *Scanner) inlineNewline(newline []byte) {
	n := &s.inline
	switch n.sub {
	case subTicks:
		if s.endRun(); s.state == inInfo {
			s.endInfo(newline)
			return
		}
	case subEscape:
		n.sub = subNone
	case subHolder:
		n.sub = subNone
		s.release()
	case subTag:
		if s.tag.step(s.tags, newline, len(s.hold), s.cfg.MaxTag) != scanOn {
			s.dropTag()
		}
	}
	n.bracket, n.lead = false, false
	if n.html.on() && n.html.step('\n') == scanFailed {
		s.failHTML()
	}
	n.html.lead = false
	switch n.link.step('\n') {
	case scanDone:
		if n.link.ticks {
			s.suppress()
		}
		n.link.nextDefinition()
	case scanFailed:
		s.failLink()
	}
	block := n.block
	n.block = false
	if n.sub == subTag {
		s.hold = append(s.hold, newline...)
	} else {
		s.text(newline)
	}
	switch {
	case s.heading:
		s.endParagraph()
	case block:
		s.endParagraph()
		s.html.begin(htmlTagAlone)
	}
	s.nextLine()
}

// endText ends a text that ends within a line.
func (s *Scanner) endText() {
	switch s.inline.sub {
	case subTicks:
		if s.endRun(); s.state == inInfo {
			s.endInfo(nil)
		}
	case subHolder, subTag:
		s.release()
	}
	s.inline.sub = subNone
}
