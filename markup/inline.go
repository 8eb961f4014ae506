package markup

import (
	"bytes"
	"unicode/utf8"
)

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

// inline is the state of the text of one paragraph or heading. It is as reset
// leaves it while there is none.
type inline struct {
	inlineState
	span span
}

// inlineState is what reset clears at once. It has no pointers, which makes
// that cheap: some texts consist of paragraphs of a byte or two.
type inlineState struct {
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
}

// reset begins another paragraph or heading.
func (n *inline) reset() {
	n.inlineState = inlineState{}
	if n.span.on {
		n.span.begin(false)
	}
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

// quiet says whether nothing that was seen so far bears on the next byte.
func (n *inline) quiet() bool {
	return n.sub == subNone && !n.bracket && !n.tracked() && !n.span.watching()
}

const words = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"

// Which bytes mean something, outside and inside a code span, and behind
// something that does.
var (
	textBytes = byteSet("\n`[]<\\")
	codeBytes = byteSet("\n`")
	markBytes = byteSet("`[](<\\")
	// lessBytes are those that may follow a < that is more than text: what
	// begins a tag, other HTML or an autolink, which may be a mail address. In
	// one they may stand anywhere before the @.
	lessBytes = byteSet(words + ".!#$%&'*+/=?^_`{|}~-")
	wordBytes = byteSet(words)
	// tagEnds are those with which a tag may not just go on.
	tagEnds = byteSet("\n<>`")
	// secondBytes are those that may follow such a < and one more of those bytes
	// that is neither a letter nor a question mark.
	secondBytes = byteSet(words + ".!#$%&'*+/=?^_`{|}~-@[")
)

// ahead is what the bytes ahead of one rule out, as far as they are there yet.
type ahead uint8

const (
	aheadOpen ahead = iota
	noTag           // it begins no registered element
	bare            // outside of a code span, it begins nothing
)

// isBare says whether a byte that may begin something, outside of a code span,
// does not before what is next: a byte, end or more.
func isBare(c byte, next int) bool {
	switch c {
	case '[', ']':
		return next != '(' && next != more
	case '<':
		return next == end || next != more && !lessBytes[next]
	}
	return false
}

// lookAhead says what the bytes behind c rule out, which are p and then next.
func (s *Scanner) lookAhead(c byte, p []byte, next int) ahead {
	first := next
	if len(p) > 0 {
		first = int(p[0])
	}
	switch {
	case isBare(c, first):
		return bare
	case c == '<' && len(p) > 1 && !letter(p[0]) && p[0] != '?' && !secondBytes[p[1]]:
		return bare
	case c == '<' && (first >= 0 && !letter(byte(first)) || !s.tags.names.mayBegin(p, next)):
		return noTag
	}
	return aheadOpen
}

// taken says what became of a character of the text.
type taken uint8

const (
	asText taken = iota // it is text
	asHeld              // it is held, or part of something found
	notYet              // another state has to look at it
)

// scanInline passes text and finds placeholders and tags in it. What follows p
// is next: a byte, end or more.
func (s *Scanner) scanInline(p []byte, next int) int {
	if !s.inline.quiet() {
		return s.scanMarks(p, 0, next, false)
	}
	n := s.plain(p)
	if n < len(p) {
		return s.scanMarks(p, n, next, true)
	}
	s.text(p)
	return n
}

// scanMarks is scanInline where not all of p is plain, but only what is before
// i, and, if it is marked, what is at i is not. It is apart from scanInline
// because most pieces of most texts are plain.
func (s *Scanner) scanMarks(p []byte, i, next int, marked bool) int {
	n := &s.inline
	from := 0 // where in p the text begins that was not passed on yet
	for i < len(p) {
		if n.quiet() {
			if !marked {
				if i += s.plain(p[i:]); i == len(p) {
					break
				}
			}
			marked = false
			if p[i] == '`' && !s.cfg.Lenient.OpenInline {
				if k := runOf(p[i:]); k > 0 {
					if n.span.holding {
						s.text(p[from : i+k])
						from = i + k
					}
					s.countRun(k)
					i += k
					continue
				}
			}
		}
		if n.span.holding {
			// What a span holds back may go before the text behind it.
			s.text(p[from:i])
			from = i
		}
		if p[i] == '\n' {
			if k := s.plainBreak(p[i:]); k > 0 {
				if i += k; s.state != inInline {
					s.text(p[from:i])
					return i
				}
				continue
			}
			s.inlineNewline(p[from : i+1])
			return i + 1
		}
		switch {
		case n.sub == subTag:
			if k := s.inTag(p[i:]); k > 0 {
				i += k
				from = i
				continue
			}
		case i+1 < len(p) && wordBytes[p[i]] && wordBytes[p[i+1]]:
			if k := s.word(p[i:]); k > 0 {
				i += k
				continue
			}
		}
		size := runeLen(p[i])
		see := aheadOpen
		if markBytes[p[i]] {
			see = s.lookAhead(p[i], p[i+1:], next)
			if p[i] == '<' && n.mayBeginHTML() {
				switch {
				case see == bare:
					n.html = htmlScan{}
					n.bracket, n.lead = false, false
					i++
					continue
				case see == noTag && i+1 < len(p) && letter(p[i+1]):
					n.beginHTML()
					i += 2
					continue
				}
			}
		}
		took := s.inlineRune(p[i:i+size], see)
		if took == asText {
			i += size
			continue
		}
		// Nothing that is held, or found, has text before it that waits.
		if from < i {
			s.text(p[from:i])
		}
		if took == asHeld {
			i += size
		}
		from = i
		if s.state != inInline {
			return i
		}
	}
	if from < len(p) {
		s.text(p[from:])
	}
	return len(p)
}

// runOf returns how many backticks p begins with, 0 if there may be more of them
// to come.
func runOf(p []byte) int {
	for n, c := range p {
		if c != '`' {
			return n
		}
	}
	return 0
}

// plainBreak takes the line end with which p begins, where nothing waits for
// it, and returns how many bytes it took: those of the blank lines that follow
// too. If the next line plainly is text it goes on with that; else the state
// says that a line begins. It takes none where there may be more to do.
func (s *Scanner) plainBreak(p []byte) int {
	n := &s.inline
	ticks := n.sub == subTicks && !n.delayed
	if n.sub != subNone && !ticks || n.block || n.link.on() || s.heading {
		return 0
	}
	if len(p) > 1 && p[1] == '\n' && !n.span.holding {
		k := 2
		for k < len(p) && p[k] == '\n' {
			k++
		}
		s.para = false
		n.reset()
		s.leaveBlank()
		if k < len(p) && s.plainText(p[k:]) {
			s.opened = s.opened[:0]
			s.beginText(&place{mark: p[k]})
		} else {
			s.nextLine()
		}
		return k
	}
	if ticks {
		s.endRun()
	}
	n.bracket, n.lead = false, false
	if n.html.on() && n.html.step('\n') == scanFailed {
		s.failHTML()
	}
	n.html.lead = false
	if len(p) == 1 || !s.plainText(p[1:]) {
		s.nextLine()
	}
	return 1
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
	alone := n.code == 0 && !n.lead
	for i, c := range p {
		if set[c] && !(alone && i+1 < len(p) && isBare(c, int(p[i+1]))) {
			return i
		}
	}
	return len(p)
}

// word takes the letters and digits with which p begins, where raw HTML, or a
// tag beside it, just goes on with them. It returns how many it took, 0 where
// they are to be taken one by one.
func (s *Scanner) word(p []byte) int {
	n := &s.inline
	if n.sub != subNone && n.sub != subTag || n.code != 0 || n.block || n.link.on() || !n.html.inWord() {
		return 0
	}
	k := 0
	for k < len(p) && wordBytes[p[k]] {
		k++
	}
	if n.sub == subTag {
		k = s.tag.word(s.tags.names, p[:min(k, s.cfg.MaxTag-len(s.hold))])
		s.hold = append(s.hold, p[:k]...)
	}
	if k > 0 {
		n.bracket = false
		n.html.word(k)
	}
	return k
}

// mayBeginHTML says whether all that a < does here is to begin raw HTML anew.
func (n *inline) mayBeginHTML() bool {
	return n.sub == subNone && n.code == 0 && !n.block && !n.link.on() && n.html.state <= htmlBare && !n.html.inner
}

// beginHTML takes a < and a letter behind it where mayBeginHTML holds and no
// tag of a card begins.
func (n *inline) beginHTML() {
	n.html = htmlScan{state: htmlName, mail: mailLocal, size: 1, scheme: true, name: true, lead: n.lead}
	n.bracket, n.lead = false, false
}

// inTag takes what the tag that is held, and raw HTML beside it, just go on
// with. It returns how many bytes it took.
func (s *Scanner) inTag(p []byte) (k int) {
	n := &s.inline
	if !n.html.on() || n.block || n.link.on() {
		return 0
	}
	for k < len(p) && p[k] < utf8.RuneSelf && !tagEnds[p[k]] {
		if k+1 < len(p) && wordBytes[p[k]] && wordBytes[p[k+1]] {
			if w := s.word(p[k:]); w > 0 {
				k += w
				continue
			}
		}
		was := n.html
		if n.html.step(p[k]) != scanOn || s.tag.step(s.tags.names, p[k:k+1], len(s.hold), s.cfg.MaxTag) != scanOn {
			n.html = was
			break
		}
		s.hold = append(s.hold, p[k])
		k++
	}
	return k
}

// inlineRune takes one character of the text, which does not end a line.
func (s *Scanner) inlineRune(r []byte, see ahead) taken {
	n := &s.inline
	c := r[0]
	if !n.tracked() {
		return s.primary(r, false, see)
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
	took := asText
	if n.sub == subNone && n.code == 0 && !markBytes[c] {
		n.bracket = false
	} else {
		took = s.primary(r, n.html.on() && !tag || n.link.hides(), see)
	}
	if tag && s.state == inInline && took != notYet {
		s.endHTML()
	}
	return took
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
// Where it is hidden, nothing begins with it but a tag.
func (s *Scanner) primary(r []byte, hidden bool, see ahead) taken {
	n := &s.inline
	c := r[0]
	again := false
	switch n.sub {
	case subTicks:
		if c == '`' {
			n.run++
			return s.tick()
		}
		if s.endRun(); s.state != inInline {
			return notYet
		}
	case subEscape:
		n.sub = subNone
		return asText
	case subHolder:
		switch s.holder.step(s, r) {
		case scanOn:
			return s.keep(r)
		case scanDone:
			s.keep(r)
			s.endHolder()
			return asHeld
		}
		n.sub = subNone
		s.release()
	case subTag:
		switch s.tag.step(s.tags.names, r, len(s.hold), s.cfg.MaxTag) {
		case scanOn:
			return s.keep(r)
		case scanDone:
			s.keep(r)
			s.beginTag()
			return asHeld
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
	if see == bare && c == '<' {
		n.lead = false
	}
	if see == bare || !markBytes[c] {
		return asText
	}
	switch c {
	case '`':
		n.sub, n.run = subTicks, 1
		n.delayed = s.cfg.Lenient.OpenInline && !n.tracked()
		return s.tick()
	case '\\':
		n.sub = subEscape
	case '[':
		if !hidden && len(s.holders) > 0 {
			return s.beginHolder(r)
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
		if see != noTag && len(s.tags.names) > 0 {
			n.sub = subTag
			s.tag.begin(s.tags.names)
			s.hold = s.hold[:0]
			return s.keep(r)
		}
	}
	return asText
}

// keep holds a character.
func (s *Scanner) keep(r []byte) taken {
	if len(r) == 1 { // which is quicker done alone
		s.hold = append(s.hold, r[0])
	} else {
		s.hold = append(s.hold, r...)
	}
	return asHeld
}

// tick takes one backtick of a run.
func (s *Scanner) tick() taken {
	if s.inline.delayed {
		return asHeld
	}
	return asText
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

// inlineNewline ends a line of the text, of which rest was not passed on yet.
func (s *Scanner) inlineNewline(rest []byte) {
	n := &s.inline
	newline := rest[len(rest)-1:]
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
		if s.tag.step(s.tags.names, newline, len(s.hold), s.cfg.MaxTag) != scanOn {
			s.dropTag()
		}
	}
	n.bracket, n.lead = false, false
	if n.html.on() && n.html.step('\n') == scanFailed {
		s.failHTML()
	}
	n.html.lead = false
	if n.link.on() {
		switch n.link.step('\n') {
		case scanDone:
			if n.link.ticks {
				s.suppress()
			}
			n.link.nextDefinition()
		case scanFailed:
			s.failLink()
		}
	}
	block := n.block
	n.block = false
	if n.sub == subTag {
		s.hold = append(s.hold, newline...)
	} else {
		s.text(rest)
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
