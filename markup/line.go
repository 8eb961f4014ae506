package markup

// prefixBytes are the bytes of which alone it is not known yet what a line is.
var prefixBytes = byteSet(" \t\r>-+*=_#`~.)0123456789")

func byteSet(list string) (set [256]bool) {
	for i := range len(list) {
		set[list[i]] = true
	}
	return set
}

// scanLine holds the beginning of a line until it is known what the line is.
func (s *Scanner) scanLine(p []byte) int {
	if len(s.line) == 0 {
		if n, plain := s.plainStart(p); plain {
			return n
		}
		s.opener = openerScan{}
	}
	o := &s.opener
	for i, c := range p {
		switch {
		case c == '\n':
			return i + s.settleLine(end)
		case o.from > 0 && o.step(s.line[o.from:], c):
		case o.from == 0 && prefixBytes[c]:
		case o.from == 0 && c == '<':
			o.from = len(s.line) + 1
		default:
			return i + s.settleLine(int(c))
		}
		s.line = append(s.line, c)
		if len(s.line) == maxLine {
			return i + 1 + s.settleLine(more)
		}
	}
	return len(p)
}

// plainStart settles a line by its first byte, if that alone tells what the
// line is, which holds for most: of the containers it goes on with none then.
// It returns how many bytes it used up.
func (s *Scanner) plainStart(p []byte) (n int, plain bool) {
	c := p[0]
	switch {
	case (s.fence.open || s.html.kind != 0) && len(s.conts) > 0:
		return 0, false
	case s.fence.open:
		if c == s.fence.mark || c == ' ' || c == '\t' {
			return 0, false
		}
		s.state = inBody
	case s.html.kind != 0:
		if s.html.kind >= htmlElement && asciiBlank(c) {
			return 0, false
		}
		s.state = inHTML
	case c == '\n':
		// One blank line, and those that follow.
		for n < len(p) && p[n] == '\n' {
			n++
		}
		s.endParagraph()
		s.leaveBlank()
		s.text(p[:n])
	case !s.plainText(p):
		return 0, false
	default:
		s.opened = s.opened[:0]
		if s.para && !s.heading && !s.inline.link.on() {
			s.state = inInline
		} else {
			s.beginText(&place{mark: c})
		}
	}
	return n, true
}

// plainText says whether p, which begins a line outside of fences and HTML
// blocks, plainly is text.
func (s *Scanner) plainText(p []byte) bool {
	switch c := p[0]; c {
	case '\n':
		return false
	case '<':
		return !s.mayOpenHTML(p)
	case '`', '~':
		// One mark of fences alone is text.
		return len(p) > 1 && p[1] != c
	default:
		return !prefixBytes[c]
	}
}

// leaveBlank closes the containers that a blank line does not go on with.
func (s *Scanner) leaveBlank() {
	n := 0
	for n < len(s.conts) && !s.conts[n].quote && !s.conts[n].empty {
		n++
	}
	s.conts = s.conts[:n]
}

// mayOpenHTML says whether an HTML block may begin with p, which begins with a
// <: it does, or there is too little of it to tell.
func (s *Scanner) mayOpenHTML(p []byte) bool {
	switch {
	case len(p) < 2:
		return true
	case letter(p[1]):
		// What goes on like no block's name, and is none so far, is text.
		at, n := 0, 1
		for next := 0; n < len(p); n++ {
			if next = blockNames.step(at, p[n]); next == 0 {
				break
			}
			at = next
		}
		if n < len(p) && blockNames.nodes[at].kind == 0 {
			s.looked += n
			return false
		}
	case p[1] == '!':
		if len(p) > 2 && !letter(p[2]) && p[2] != '-' && p[2] != '[' {
			return false
		}
	case p[1] != '/' && p[1] != '?':
		return false
	}
	var o openerScan
	for n := 1; n < len(p); n++ {
		if !o.step(p[1:n], p[n]) {
			next := int(p[n])
			if next == '\n' {
				next = end
			}
			s.looked += n
			return !o.none(p[1:n]) && s.htmlKind(p[:n], next) != 0
		}
	}
	return true
}

// settleLine decides what the held line is, of which next follows. It returns
// how many bytes of what follows were used up: the line end, or none.
func (s *Scanner) settleLine(next int) int {
	var p place
	if s.plainHeld(next) {
		s.opened = s.opened[:0]
		p.mark = s.line[0]
		s.beginText(&p)
		return s.textLine(0, next)
	}
	s.findPlace(&p, next, false)
	if p.kind == lineLost {
		s.lose()
		return 0
	}
	if s.fence.open {
		switch p.kind {
		case lineBody, lineCloser, lineCloserMore:
			return s.settleFenceLine(&p)
		}
		s.endFence()
	}
	return s.settle(&p, next, false)
}

// plainHeld says whether the held line is quickly seen to be one of text, which
// begins with a < or one mark of fences.
func (s *Scanner) plainHeld(next int) bool {
	if next == more || len(s.line) == 0 || s.fence.open || s.html.kind != 0 {
		return false
	}
	if o := &s.opener; o.from == 1 {
		return o.none(s.line[1:]) || s.htmlKind(s.line, next) == 0
	}
	return len(s.line) == 1 && next != int(s.line[0]) && (s.line[0] == '`' || s.line[0] == '~')
}

// settle acts on what a line is, of which next follows, and returns how many
// bytes of the line end it used up. When its text was passed on already, because
// it was too long to be held, passed is true.
func (s *Scanner) settle(p *place, next int, passed bool) int {
	// A line that leaves an HTML block's containers, or is blank in one that
	// ends so, ends it.
	if s.html.kind != 0 && p.kind != lineHTML && p.kind != lineBlanksMore {
		s.html.kind = 0
	}
	switch p.kind {
	case lineText:
		s.beginText(p)
		if !passed {
			return s.textLine(p.at, next)
		}
	case lineHeading:
		s.endParagraph()
		s.commit(p)
		s.heading = true
		s.state = inInline
		return s.textLine(p.at, next)
	case lineFence:
		s.beginInfo(p)
	case lineHTML:
		if p.html != 0 {
			s.endParagraph()
			s.html.begin(p.html)
		}
		s.commit(p)
		s.state = inHTML
		if !passed {
			s.text(s.line[:p.at])
			s.scan(s.line[p.at:])
		}
	case lineRuleMore:
		s.dropTag()
		s.rule = ruleScan{mark: p.mark}
		s.text(s.line)
		s.state = inRule
	case lineBlanksMore:
		s.dropTag()
		s.text(s.line)
		s.state = inBlanks
	case lineRule:
		if p.setext && s.inline.link.defined {
			// The paragraph may have consisted of definitions alone, and the
			// underline would be its text.
			s.inline.suppress()
			s.dropTag()
		} else {
			s.endParagraph()
		}
		s.endLiteral(p, passed)
	case lineBlank, lineCode:
		s.endParagraph()
		s.endLiteral(p, passed)
	}
	return 0
}

// endLiteral passes a line in which there is nothing to find.
func (s *Scanner) endLiteral(p *place, passed bool) {
	s.commit(p)
	if !passed {
		s.text(s.line)
	}
	s.state = inLiteral
}

// textLine goes through the held line, the text of which begins at at and of
// which next follows, together with its line end, if that is next. It returns
// how many bytes of that it used up.
func (s *Scanner) textLine(at, next int) (used int) {
	if next == end && !s.closed {
		s.line = append(s.line, '\n')
		next, used = more, 1
	}
	line := s.line
	if s.inline.sub == subTag {
		// A tag that is open across the lines keeps the containers' prefix as
		// part of its source.
		s.prefix(line[:at])
		line, at = line[at:], 0
	}
	s.looked += len(line) - at
	if n := s.scanMarks(line, at, next, false); n < len(line) {
		s.scan(line[n:])
	}
	return used
}

// beginText goes on with the open paragraph or begins one.
func (s *Scanner) beginText(p *place) {
	goesOn := s.para && len(s.opened) == 0 && !s.heading
	if p.matched < len(s.conts) && goesOn {
		// A lazy line leaves the containers open that it does not repeat.
	} else {
		if !goesOn {
			s.endParagraph()
		}
		s.commit(p)
	}
	s.state = inInline
	if goesOn {
		s.inline.link.lineStart(p.mark)
		return
	}
	s.para = true
	s.inline.lead = p.mark == '<'
	if p.mark == '[' {
		s.inline.link.beginLabel()
	}
}

// prefix keeps the prefix of a line as part of the tag that is held.
func (s *Scanner) prefix(p []byte) {
	if len(p) == 0 {
		return
	}
	if len(s.hold)+len(p) > s.cfg.MaxTag {
		s.dropTag()
		s.text(p)
		return
	}
	s.hold = append(s.hold, p...)
}

// endParagraph ends the paragraph or heading: everything that waited for its
// end is decided.
func (s *Scanner) endParagraph() {
	if !s.para && !s.heading {
		return
	}
	s.dropTag()
	s.endSpan()
	s.para, s.heading = false, false
	s.inline.reset()
}

// ruleScan follows a rule beyond what is held.
type ruleScan struct {
	mark byte
	gap  bool
}

// scanRule follows a line of one mark that is too long to be held: up to its
// end it may be a rule, and then nothing was in it.
func (s *Scanner) scanRule(p []byte) int {
	for i, c := range p {
		blank := c == ' ' || c == '\t' || c == '\r'
		switch {
		case c == '\n':
			s.text(p[:i])
			s.endLong(end)
			return i
		case blank:
			s.rule.gap = true
		case c != s.rule.mark, s.rule.gap && c == '=':
			s.text(p[:i])
			s.endLong(int(c))
			return i
		}
	}
	s.text(p)
	return len(p)
}

// scanBlanks follows a line of blanks that is too long to be held.
func (s *Scanner) scanBlanks(p []byte) int {
	for i, c := range p {
		switch c {
		case ' ', '\t', '\r':
		case '\n':
			s.text(p[:i])
			s.endLong(end)
			return i
		default:
			s.text(p[:i])
			s.endLong(int(c))
			return i
		}
	}
	s.text(p)
	return len(p)
}

// endLong decides what a long line of marks or blanks was, of which next is the
// first byte that is neither.
func (s *Scanner) endLong(next int) {
	marks := s.state == inRule
	var p place
	s.findPlace(&p, next, marks && next != end)
	if p.kind == lineLost {
		s.line = s.line[:0]
		s.lose()
		return
	}
	s.settle(&p, next, true)
	if marks && s.state == inInline {
		// What the marks mean for the text around them was not followed.
		s.inline.suppress()
	}
}
