package markup

// linkState says where in a link or a definition the scanner is.
type linkState uint8

const (
	linkOff    linkState = iota
	linkLabel            // in the bracket with which a paragraph begins
	linkColon            // behind that bracket
	linkDest             // before the destination
	linkAngle            // in a destination in angle brackets
	linkAngled           // behind one
	linkBare             // in another destination
	linkAfter            // in the blanks behind the destination
	linkTitle            // in the title
	linkTitled           // behind it
	linkNext             // at a line that may go on with definitions
)

// maxLabel is the length of a link label in CommonMark.
const maxLabel = 999

// linkScan follows what may be the target of a link, [label](target "title"),
// or a definition, [label]: target "title". Neither is text, and a backtick
// there opens no code span, all of which is known only at their end.
type linkScan struct {
	state   linkState
	def     bool // it is a definition
	alone   bool // the title is on a line of its own: without it the definition stands
	defined bool // the paragraph has a definition
	escaped bool
	quote   byte
	depth   int32
	size    int32
	ticks   bool // backticks were seen
	inner   bool // HTML or a link might have begun inside, which was not followed
}

func (l *linkScan) on() bool { return l.state != linkOff }

// hides says whether what stands here may be no text.
func (l *linkScan) hides() bool { return l.state >= linkDest && l.state <= linkTitled }

func (l *linkScan) beginTarget() { *l = linkScan{state: linkDest, defined: l.defined} }

func (l *linkScan) beginLabel() {
	*l = linkScan{state: linkLabel, def: true, size: -1, defined: l.defined}
}

func (l *linkScan) end() { *l = linkScan{defined: l.defined} }

// endLabel ends what began as a label and turned out to be something else.
func (l *linkScan) endLabel() {
	if l.state == linkLabel {
		l.end()
	}
}

// nextDefinition goes on behind a complete definition. Without a title yet, one
// may follow.
func (l *linkScan) nextDefinition() {
	*l = linkScan{state: linkNext, def: true, defined: true, alone: l.state == linkAfter}
}

// lineStart looks at the first byte of a line that goes on with a paragraph.
func (l *linkScan) lineStart(c byte) {
	if l.state != linkNext {
		return
	}
	titled := !l.alone
	switch {
	case c == '[':
		l.beginLabel()
	case !titled && (c == '"' || c == '\'' || c == '('):
		*l = linkScan{state: linkAfter, def: true, alone: true, defined: true}
	default:
		l.end()
	}
}

// step takes the first byte of one more character.
func (l *linkScan) step(c byte) scanned {
	if l.state == linkOff {
		return scanOff
	}
	l.ticks = l.ticks || c == '`'
	if l.escaped {
		l.escaped = false
		if c != '\n' {
			return scanOn
		}
	}
	blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
	switch l.state {
	case linkLabel:
		if l.size < 0 {
			// Blanks may stand before the bracket.
			if c == '[' {
				l.size = 0
			}
			return scanOn
		}
		switch l.size++; {
		case c == '\\':
			l.escaped = true
		case c == ']':
			l.state = linkColon
		case c == '[', l.size > maxLabel:
			return scanFailed
		}
		return scanOn
	case linkColon:
		if c != ':' {
			return scanFailed
		}
		l.state, l.inner = linkDest, false
		return scanOn
	}
	l.inner = l.inner || c == '<'
	switch l.state {
	case linkDest:
		switch {
		case blank:
		case c == '<':
			l.state = linkAngle
		case c == ')' && !l.def:
			return scanDone
		default:
			l.state = linkBare
			return l.bare(c)
		}
	case linkAngle:
		switch c {
		case '\\':
			l.escaped = true
		case '>':
			l.state = linkAngled
		case '<', '\n':
			return scanFailed
		}
	case linkAngled:
		if !blank {
			return l.closing(c)
		}
		l.state = linkAfter
		return l.lineEnd(c)
	case linkBare:
		if !blank {
			return l.bare(c)
		}
		l.state = linkAfter
		return l.lineEnd(c)
	case linkAfter:
		switch {
		case blank:
			return l.lineEnd(c)
		case c == '"', c == '\'', c == '(':
			l.state, l.quote = linkTitle, c
			if c == '(' {
				l.quote = ')'
			}
		default:
			return l.closing(c)
		}
	case linkTitle:
		switch {
		case c == '\\':
			l.escaped = true
		case c == l.quote:
			l.state = linkTitled
		case c == '(' && l.quote == ')':
			return scanFailed
		}
	case linkTitled:
		if !blank {
			return l.closing(c)
		}
		return l.lineEnd(c)
	case linkNext:
		return scanFailed
	}
	return scanOn
}

// bare takes a byte of a destination without brackets.
func (l *linkScan) bare(c byte) scanned {
	switch {
	case c == '\\':
		l.escaped = true
	case c == '(':
		l.depth++
	case c == ')' && l.depth > 0:
		l.depth--
	case c == ')':
		return l.closing(c)
	case c < ' ', c == 0x7F:
		return scanFailed
	}
	return scanOn
}

// closing takes what ends a link.
func (l *linkScan) closing(c byte) scanned {
	if c == ')' && !l.def {
		return scanDone
	}
	return scanFailed
}

// lineEnd takes a blank where a definition may end with its line.
func (l *linkScan) lineEnd(c byte) scanned {
	if c == '\n' && l.def {
		return scanDone
	}
	return scanOn
}
