package markup

// Bounds of a line's beginning.
const (
	// maxLine is how many bytes of it are held at most.
	maxLine = 128
	// maxColumn is up to which column a container may begin its content. What
	// lies deeper could not be followed within maxLine on the lines after it.
	maxColumn = 100
)

// What may follow the bytes held of a line, besides a byte.
const (
	end  = -1 // the line's end or the text's
	more = -2 // not known yet
)

// container is an open block quote or list item.
type container struct {
	quote bool
	// width is by how many columns the lines of an item are indented.
	width int
	// empty marks an item of which only its marker's line, blank otherwise,
	// has been seen.
	empty bool
}

// cursor walks over the beginning of a line and counts columns. A tab reaches
// to the next multiple of four and may be used up in part.
type cursor struct {
	line []byte
	next int // what follows the line: a byte, end or more
	at   int
	col  int
	// pad is how many columns of the tab at at are left; 0 when none was begun.
	pad int
}

// peek returns how many columns of blanks lie ahead, and where they end.
func (c *cursor) peek() (indent, at int) {
	col := c.col
	for at = c.at; at < len(c.line); at++ {
		switch c.line[at] {
		case ' ':
			col++
		case '\t':
			col += 4 - col%4
		default:
			return col - c.col, at
		}
	}
	return col - c.col, at
}

// byteAt returns the byte at a place, or what follows the line.
func (c *cursor) byteAt(at int) int {
	if at < len(c.line) {
		return int(c.line[at])
	}
	return c.next
}

// skip goes over columns of blanks and bytes that are one column each.
func (c *cursor) skip(columns int) {
	for columns > 0 && c.at < len(c.line) {
		if c.line[c.at] != '\t' {
			c.at++
			c.col++
			columns--
			continue
		}
		left := 4 - c.col%4
		if left > columns {
			c.col += columns
			c.pad = left - columns
			return
		}
		c.col += left
		columns -= left
		c.at++
		c.pad = 0
	}
}

// skipTo goes over blanks to a place peek returned.
func (c *cursor) skipTo(indent, at int) {
	c.col += indent
	c.at, c.pad = at, 0
}

// blankAt says whether a blank or the line's end is at a place.
func (c *cursor) blankAt(at int) bool {
	b := c.byteAt(at)
	return b == ' ' || b == '\t' || b == end
}

// lineKind is what a line is below its containers.
type lineKind uint8

const (
	lineText     lineKind = iota // text of a paragraph, new or going on
	lineBlank                    //
	lineHeading                  // # heading
	lineRule                     // a thematic break, or the underline of a heading
	lineCode                     // indented code
	lineFence                    // the opener of a fence
	lineHTML                     // a line of an HTML block, or its first
	lineBody                     // a line of a fence's body
	lineCloser                   // the closer of a fence
	lineRuleMore                 // a rule so far; more is to come
	lineBlanksMore
	lineCloserMore
	lineLost // the structure cannot be followed
)

// place is where a line stands and what it is.
type place struct {
	kind    lineKind
	matched int // how many containers go on
	at      int // where, in the line, its content begins
	pad     int // columns of a tab at at that belong to the content
	indent  int // of the content
	mark    byte
	run     int // how many marks make a fence
	html    int // which kind of HTML block begins
	setext  bool
}

// Which bytes may begin what is no paragraph, and which of them a container.
var (
	leafBytes   = byteSet("#`~<=-_*")
	markerBytes = byteSet(">-+*0123456789")
)

// findPlace looks at the beginning of a line and fills in its place, which is
// empty. With next == more it is the longest beginning that is held. With noRule
// a line of dashes is known to be none.
func (s *Scanner) findPlace(p *place, next int, noRule bool) {
	line := s.line
	if next == end && len(line) > 0 && line[len(line)-1] == '\r' {
		line = line[:len(line)-1]
	}
	s.looked += len(line)
	c := cursor{line: line, next: next}
	s.opened = s.opened[:0]
	for ; p.matched < len(s.conts); p.matched++ {
		goesOn, known := s.conts[p.matched].match(&c)
		if !known {
			p.kind = lineLost
			return
		}
		if !goesOn {
			break
		}
	}
	all := p.matched == len(s.conts)
	switch {
	case s.fence.open && all:
		s.placeBody(&c, p)
		return
	case s.html.kind != 0 && all:
		indent, at := c.peek()
		switch {
		case s.html.kind < 6, at < len(line):
			p.kind, p.at = lineHTML, c.at
		case next == end:
			p.kind = lineBlank
		case next == more:
			p.kind = lineBlanksMore
		default:
			p.kind, p.at = lineHTML, c.at
		}
		p.indent = indent
		return
	}
	para := s.para && !s.fence.open
	for {
		indent, at := c.peek()
		p.at, p.indent, p.pad = c.at, indent, c.pad
		b := c.byteAt(at)
		// here: a paragraph that this very line could go on with.
		here := para && p.matched == len(s.conts) && len(s.opened) == 0
		switch {
		case b == end:
			p.kind = lineBlank
			return
		case b == more && indent >= 5:
			p.kind = lineBlanksMore
			return
		case indent >= 4 && b != more:
			if !para || len(s.opened) > 0 {
				p.kind = lineCode
			}
			return
		case next == more && at > maxColumn:
			p.kind = lineLost
			return
		}
		p.mark = byte(b)
		if leafBytes[p.mark] && s.placeLeaf(&c, p, at, here, noRule) {
			return
		}
		if !markerBytes[p.mark] || !s.openContainer(&c, indent, at, here) {
			return
		}
		if c.col > maxColumn || c.at > maxColumn {
			p.kind = lineLost
			return
		}
	}
}

// match says whether a line goes on with a container, and steps over its
// prefix if so. It is not known when more of the line has to be seen.
func (k *container) match(c *cursor) (goesOn, known bool) {
	indent, at := c.peek()
	b := c.byteAt(at)
	if k.quote {
		if indent > 3 || b != '>' {
			return false, b != more || indent > 3
		}
		c.skipTo(indent, at)
		c.skipQuoteMark()
		return true, true
	}
	switch {
	case b == end && k.empty:
		return false, true
	case indent >= k.width:
		c.skip(k.width)
		return true, true
	case b == end:
		c.skipTo(indent, at)
		return true, true
	}
	return false, b != more
}

// skipQuoteMark steps over a > and one column of blank after it.
func (c *cursor) skipQuoteMark() {
	c.at++
	c.col++
	if b := c.byteAt(c.at); b == ' ' || b == '\t' {
		c.skip(1)
	}
}

// placeLeaf tells what a line is whose content is at at, if it is no container
// and no paragraph.
func (s *Scanner) placeLeaf(c *cursor, p *place, at int, here, noRule bool) bool {
	rest := c.line[min(at, len(c.line)):]
	switch p.mark {
	case '#':
		n := 0
		for n < len(rest) && rest[n] == '#' {
			n++
		}
		if n > 0 && n <= 6 && c.blankAt(at+n) {
			p.kind = lineHeading
			return true
		}
	case '`', '~':
		n := 0
		for n < len(rest) && rest[n] == p.mark {
			n++
		}
		if n >= 3 {
			p.kind, p.run = lineFence, n
			p.at, p.pad = at, 0
			return true
		}
	case '<':
		if p.html = s.htmlKind(rest, c.next); p.html != 0 {
			p.kind = lineHTML
			return true
		}
	case '=', '-', '_', '*':
		if noRule || p.mark == '=' && !here {
			return false
		}
		switch rule, setext := ruleLine(rest, p.mark, c.next); {
		case rule == lineRuleMore:
			p.kind = rule
			return true
		case setext && here && (p.mark == '=' || p.mark == '-'):
			p.kind, p.setext = lineRule, true
			return true
		case rule == lineRule && p.mark != '=':
			p.kind = rule
			return true
		}
	}
	return false
}

// ruleLine says whether a line consists of one mark and blanks: as a rule of at
// least three, or as an underline without blanks in between.
func ruleLine(rest []byte, mark byte, next int) (rule lineKind, setext bool) {
	marks, blank, gap := 0, false, false
	for _, c := range rest {
		switch c {
		case mark:
			marks++
			gap = gap || blank
		case ' ', '\t':
			blank = true
		default:
			return lineText, false
		}
	}
	switch {
	case next == more && marks > 0:
		return lineRuleMore, false
	case next != end:
		return lineText, false
	case marks >= 3:
		return lineRule, marks > 0 && !gap
	}
	return lineText, marks > 0 && !gap
}

// openContainer steps over the marker of a new container.
func (s *Scanner) openContainer(c *cursor, indent, at int, here bool) bool {
	switch b := c.byteAt(at); {
	case at >= len(c.line):
		return false
	case b == '>':
		c.skipTo(indent, at)
		c.skipQuoteMark()
		s.opened = append(s.opened, container{quote: true})
		return true
	}
	length, one := listMarker(c.line[at:])
	if length == 0 || !c.blankAt(at+length) {
		return false
	}
	if here && !one {
		return false
	}
	c.skipTo(indent+length, at+length)
	blanks, to := c.peek()
	blank := c.byteAt(to) == end
	if here && blank {
		return false // with which the line is settled
	}
	width := indent + length
	if blanks == 0 || blanks > 4 || blank {
		width++
		if b := c.byteAt(c.at); b == ' ' || b == '\t' {
			c.skip(1)
		}
	} else {
		width += blanks
		c.skipTo(blanks, to)
	}
	s.opened = append(s.opened, container{width: width, empty: blank})
	return true
}

// listMarker returns the length of a list marker, 0 for none, and whether it
// may interrupt a paragraph.
func listMarker(b []byte) (length int, one bool) {
	switch b[0] {
	case '-', '+', '*':
		return 1, true
	}
	n, value := 0, 0
	for n < len(b) && digit(b[n]) {
		value = value*10 + int(b[n]-'0')
		n++
		if n > 9 {
			return 0, false
		}
	}
	if n > 0 && n < len(b) && (b[n] == '.' || b[n] == ')') {
		return n + 1, value == 1
	}
	return 0, false
}

// commit makes the containers of a line the open ones.
func (s *Scanner) commit(p *place) {
	if p.kind != lineBlank || len(s.opened) > 0 {
		for i := range p.matched {
			s.conts[i].empty = false
		}
	}
	s.conts = s.conts[:p.matched]
	if len(s.opened) > 0 {
		s.conts = append(s.conts, s.opened...)
	}
}
