package markup

// closerScan follows what may close a fence.
type closerScan struct {
	run   int
	blank bool

	// Of a closer on the object's own line:
	depth   int
	quoted  bool
	escaped bool
	whole   bool // the object is complete
	over    bool // something else follows it
	held    []byte
}

// contentClosing takes a piece of a body that may end on the line on which its
// object does. What may be the closer is held.
func (s *Scanner) contentClosing(p []byte) {
	t := &s.fence.closer
	from := 0
	for i, c := range p {
		if !t.whole || t.over {
			t.object(c)
			continue
		}
		blank := c == ' ' || c == '\t' || c == '\r'
		switch {
		case c == '\n':
			s.body(p[from:i])
			if t.run >= s.fence.run {
				s.closeFence(t.held, p[i:i+1])
				return
			}
			s.loosen()
			from = i
			t.run, t.blank = 0, false
		case blank, c == s.fence.mark && !t.blank:
			s.body(p[from:i])
			if from = i; !s.fence.live() {
				break
			}
			if c == s.fence.mark {
				t.run++
			} else {
				t.blank = t.run > 0
			}
			from++
			if t.held = append(t.held, c); len(t.held) > maxLine {
				t.over = true
				s.loosen()
			}
		default:
			s.body(p[from:i])
			s.loosen()
			from, t.over = i, true
		}
		if !s.fence.live() {
			break
		}
	}
	s.body(p[from:])
}

// loosen gives up what was held as a closer: it belongs to the body.
func (s *Scanner) loosen() {
	held := s.fence.closer.held
	s.fence.closer.held = held[:0]
	s.body(held)
}

// endBody decides, at the end of the text, what was held as a closer.
func (s *Scanner) endBody() {
	if t := &s.fence.closer; s.fence.open && s.fence.live() && len(t.held) > 0 {
		if t.run >= s.fence.run {
			s.closeFence(t.held, nil)
			return
		}
		s.loosen()
	}
}

// object follows the JSON of a body just far enough to know when its object is
// complete.
func (t *closerScan) object(c byte) {
	switch {
	case t.escaped:
		t.escaped = false
	case t.quoted:
		t.escaped = c == '\\'
		t.quoted = c != '"'
	case c == '"':
		t.quoted = true
	case c == '{', c == '[':
		t.depth++
	case c == '}', c == ']':
		t.depth--
		t.whole = t.depth == 0
	}
}
