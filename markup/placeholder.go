package markup

// scanned is how a small automaton stands after one more character.
type scanned uint8

const (
	scanOn     scanned = iota // more has to come
	scanDone                  // complete with this character
	scanFailed                // this character does not belong
	scanOff                   // it is not running
)

// holderScan follows what may become a placeholder, from behind its bracket.
type holderScan struct {
	phase uint8
	node  node
	name  string
	id    int // where in the held text the identifier begins
}

// The phases of a placeholder.
const (
	holderOpen uint8 = iota // the parenthesis is next
	holderName
	holderID
	holderClose // the closing bracket is next
)

// step takes one character. Whatever it refuses leaves held text in which no
// card could have begun.
func (h *holderScan) step(s *Scanner, r []byte) scanned {
	c := r[0]
	switch h.phase {
	case holderOpen:
		if c != '(' {
			return scanFailed
		}
		h.phase, h.node = holderName, s.holders.root()
	case holderName:
		if next, ok := s.holders.step(h.node, c); ok {
			h.node = next
			break
		}
		if h.name = s.holders.name(h.node); c != ':' || h.name == "" {
			return scanFailed
		}
		h.phase, h.id = holderID, len(s.hold)+1
	case holderID:
		switch {
		case c == ')' && len(s.hold) > h.id:
			h.phase = holderClose
		case c < ' ', c == 0x7F, idStops[c], len(s.hold)-h.id+len(r) > s.cfg.MaxID:
			return scanFailed
		}
	case holderClose:
		if c != ']' {
			return scanFailed
		}
		return scanDone
	}
	return scanOn
}

// idStops are the characters that an identifier does not contain.
var idStops = byteSet(")([]`<\\")

// beginHolder holds what may become a placeholder, from its bracket on.
func (s *Scanner) beginHolder(bracket []byte) taken {
	s.inline.sub = subHolder
	s.holder.phase = holderOpen // the rest is set where it is found
	s.hold = s.hold[:0]
	return s.keep(bracket)
}

// endHolder acts on a complete placeholder.
func (s *Scanner) endHolder() {
	n := &s.inline
	n.sub = subNone
	// A placeholder is no link's label.
	n.link.endLabel()
	if n.code > 0 {
		s.spanHolder(s.holder.name, s.holder.id)
		return
	}
	s.showHolder(s.holder.name, s.hold, s.holder.id)
	s.hold = s.hold[:0]
}

// showHolder tells of a placeholder with its identifier from id on.
func (s *Scanner) showHolder(name string, text []byte, id int) {
	source := s.out.share(text)
	block := s.start(0, Placeholder, name, map[string]string{MetaID: source[id : len(source)-len(")]")]})
	s.out.event(Event{Kind: End, ID: block, Source: source})
}
