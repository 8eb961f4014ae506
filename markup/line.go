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
		if len(s.conts) == 0 {
			if n, plain := s.plainStart(p); plain {
				return n
			}
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

// plainStart settles a line without containers by its first byte, if that
// alone tells what the line is, which holds for most. It returns how many bytes
// it used up.
func (s *Scanner) plainStart(p []byte) (n int, plain bool) {
	c := p[0]
	switch {
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
		s.text(p[:n])
	case prefixBytes[c] && !lonely(p), c == '<' && s.mayOpenHTML(p):
		return 0, false
	default:
		s.opened = s.opened[:0]
		s.beginText(&place{mark: c}, false)
	}
	return n, true
}

// lonely says whether p begins with one mark of fences alone, which is text.
func lonely(p []byte) bool {
	return (p[0] == '`' || p[0] == '~') && len(p) > 1 && p[1] != p[0]
}

// mayOpenHTML says whether an HTML block may begin with p, which begins with a
// <: it does, or there is too little of it to tell.
func (s *Scanner) mayOpenHTML(p []byte) bool {
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
	if s.plainTag(next) {
		s.opened = s.opened[:0]
		p.mark = '<'
		s.settle(&p, next, false)
		return 0
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
	s.settle(&p, next, false)
	return 0
}

// plainTag says whether the held line is one of text that begins with a <,
// which is quickly seen outside of everything.
func (s *Scanner) plainTag(next int) bool {
	o := &s.opener
	return o.from == 1 && len(s.conts) == 0 && !s.fence.open && s.html.kind == 0 && next != more &&
		(o.none(s.line[1:]) || s.htmlKind(s.line, next) == 0)
}

// settle acts on what a line is, of which next follows. When its text was passed on already, because
// it was too long to be held, passed is true.
func (s *Scanner) settle(p *place, next int, passed bool) {
	prefix, rest := s.line[:min(p.at, len(s.line))], s.line[min(p.at, len(s.line)):]
	if passed {
		prefix, rest = nil, nil
	}
	// A line that leaves an HTML block's containers, or is blank in one that
	// ends so, ends it.
	if s.html.kind != 0 && p.kind != lineHTML && p.kind != lineBlanksMore {
		s.html.kind = 0
	}
	switch p.kind {
	case lineText:
		s.beginText(p, passed)
		s.feed(rest, next)
	case lineHeading:
		s.endParagraph()
		s.commit(p)
		s.heading = true
		s.text(prefix)
		s.state = inInline
		s.feed(rest, next)
	case lineFence:
		s.beginInfo(p)
	case lineHTML:
		if p.html != 0 {
			s.endParagraph()
			s.html.begin(p.html)
		}
		s.commit(p)
		s.text(prefix)
		s.state = inHTML
		s.feed(rest, next)
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
}

// endLiteral passes a line in which there is nothing to find.
func (s *Scanner) endLiteral(p *place, passed bool) {
	s.commit(p)
	if !passed {
		s.text(s.line)
	}
	s.state = inLiteral
}

// feed gives what was held of a line, of which next follows, to the state that
// it turned out to be in.
func (s *Scanner) feed(rest []byte, next int) {
	switch {
	case len(rest) == 0:
	case s.state == inInline:
		s.looked += len(rest)
		if n := s.scanInline(rest, next); n < len(rest) {
			s.scan(rest[n:])
		}
	default:
		s.scan(rest)
	}
}

// beginText goes on with the open paragraph or begins one.
func (s *Scanner) beginText(p *place, passed bool) {
	prefix := s.line[:min(p.at, len(s.line))]
	if passed {
		prefix = nil
	}
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
		s.prefix(prefix)
		return
	}
	s.para = true
	s.inline.lead = p.mark == '<'
	if p.mark == '[' {
		s.inline.link.beginLabel()
	}
	s.text(prefix)
}

// prefix passes the containers' prefix of a line that goes on with a
// paragraph: a tag that is open across the lines keeps it as part of its
// source.
func (s *Scanner) prefix(p []byte) {
	if len(p) == 0 {
		return
	}
	if s.inline.sub != subTag {
		s.text(p)
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
