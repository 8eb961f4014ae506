package markup

// maxSpanItems is how many runs and placeholders of one open span are kept
// apart; with more of them the span is not followed.
const maxSpanItems = 64

// span follows an open code span of which it is not known whether it will be
// closed. If not, its opening run was text, and so is what the placeholders
// since then stood in, except that later runs may have made spans of their
// own.
type span struct {
	on      bool
	holding bool // there is a placeholder in items
	items   []spanItem
	back    []byte // all text from the first placeholder on
	slash   bool   // an odd number of backslashes was right before
	less    bool   // a < was right before
	bracket bool   // a closing bracket was right before
}

// spanItem is a run of backticks, or a placeholder held back.
type spanItem struct {
	run      int
	from, to int // in back
	name     string
	id       int // where in back the identifier begins
}

func (sp *span) begin(on bool) {
	sp.on, sp.holding = on, false
	sp.slash, sp.less, sp.bracket = false, false, false
	sp.items = sp.items[:0]
	sp.back = sp.back[:0]
}

// watching says whether the next byte depends on the one before.
func (sp *span) watching() bool { return sp.on && (sp.slash || sp.less || sp.bracket) }

// inCode takes one character inside a code span.
func (s *Scanner) inCode(r []byte, hidden bool) taken {
	n := &s.inline
	sp := &n.span
	c := r[0]
	if sp.on {
		switch {
		case sp.less && c != ' ', sp.bracket && c == '(', c == '`' && sp.slash:
			// With the span open, this is code. With it not, it might be HTML, a
			// link, or no run of backticks: that is not followed twice.
			s.giveUpSpan()
		}
	}
	slash := sp.slash
	sp.slash = c == '\\' && !slash
	sp.less = c == '<' && !slash
	sp.bracket = c == ']' && !slash
	switch {
	case c == '`' && n.code != suppressed:
		n.sub, n.run = subTicks, 1
	case c == '[' && sp.on && !hidden && !slash && len(s.holders) > 0:
		return s.beginHolder(r)
	}
	return asText
}

// spanRun counts a run that does not close the open span.
func (s *Scanner) spanRun(run int) {
	sp := &s.inline.span
	if !sp.on {
		return
	}
	if len(sp.items) == maxSpanItems {
		s.giveUpSpan()
		return
	}
	sp.items = append(sp.items, spanItem{run: run})
}

// spanHolder holds a placeholder back.
func (s *Scanner) spanHolder(name string, id int) {
	sp := &s.inline.span
	if len(sp.items) == maxSpanItems || len(s.hold) > s.cfg.Holdback {
		s.giveUpSpan()
		s.release()
		return
	}
	from := len(sp.back)
	sp.items = append(sp.items, spanItem{from: from, to: from + len(s.hold), name: name, id: from + id})
	sp.holding = true
	s.release()
}

// spanText holds text back that follows a placeholder. When it becomes too
// much the oldest placeholders are given up.
func (s *Scanner) spanText(p []byte) {
	sp := &s.inline.span
	sp.back = append(sp.back, p...)
	for sp.holding && len(sp.back) > s.cfg.Holdback {
		s.dropOldest()
	}
}

// dropOldest makes text of the oldest placeholder and what follows it up to
// the next.
func (s *Scanner) dropOldest() {
	sp := &s.inline.span
	first, next := -1, -1
	for i, item := range sp.items {
		if item.run > 0 {
			continue
		}
		if first >= 0 {
			next = i
			break
		}
		first = i
	}
	to := len(sp.back)
	if sp.holding = next >= 0; sp.holding {
		to = sp.items[next].from
	}
	s.looked += len(sp.back)
	s.out.piece(Text, 0, sp.back[:to])
	sp.back = append(sp.back[:0], sp.back[to:]...)
	kept := sp.items[:0]
	for i, item := range sp.items {
		if i == first {
			continue
		}
		if item.run == 0 {
			item.from, item.to, item.id = item.from-to, item.to-to, item.id-to
		}
		kept = append(kept, item)
	}
	sp.items = kept
}

// giveUpSpan makes text of all that is held back, and stops to follow the span.
func (s *Scanner) giveUpSpan() {
	sp := &s.inline.span
	if !sp.on {
		return
	}
	back := sp.back
	sp.begin(false)
	if len(back) > 0 {
		s.out.piece(Text, 0, back)
	}
}

// endSpan decides at the end of a paragraph what an open span held back. A text
// that was cut off might have closed the span.
func (s *Scanner) endSpan() {
	sp := &s.inline.span
	if !sp.holding || s.closed && s.reason != Stop {
		s.giveUpSpan()
		return
	}
	sp.holding = false
	at := 0
	for i := 0; i < len(sp.items); i++ {
		item := sp.items[i]
		if item.run > 0 {
			// A run that finds its like makes a span of what is between.
			for j := i + 1; j < len(sp.items); j++ {
				if sp.items[j].run == item.run {
					i = j
					break
				}
			}
			continue
		}
		s.out.piece(Text, 0, sp.back[at:item.from])
		s.showHolder(item.name, sp.back[item.from:item.to], item.id-item.from)
		at = item.to
	}
	s.out.piece(Text, 0, sp.back[at:])
	sp.begin(false)
}
