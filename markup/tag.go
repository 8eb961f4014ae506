package markup

import (
	"bytes"
	"maps"
	"slices"
)

// maxDepth is how deep tags may be nested; what is deeper belongs to the body.
const maxDepth = 32

// tagPhase says where in an opening tag the scanner is.
type tagPhase uint8

const (
	tagName   tagPhase = iota
	tagBlanks          // between attributes
	tagKey             // an attribute's name
	tagKeyed           // behind it
	tagEquals          // before its value
	tagBare            // a value without quotes
	tagQuoted          // one in quotes
	tagValued          // behind one in quotes
	tagSlash           // before the > of an empty element
)

// tagScan follows what may become an opening tag, from behind its <.
type tagScan struct {
	phase tagPhase
	node  node
	name  string
	quote byte
	empty bool // the tag closes its element
	blank bool // nothing but blanks since a line end
	attrs []tagAttr
	text  []byte // the attributes' names and values
}

// tagAttr is where in tagScan.text an attribute is.
type tagAttr struct{ key, value, end int }

func (t *tagScan) begin(ns names) {
	t.phase, t.node = tagName, ns.root()
	t.empty, t.blank = false, false
	t.attrs, t.text = t.attrs[:0], shrink(t.text)
}

// step takes one character. held is how much of the tag there is already.
func (t *tagScan) step(ns names, r []byte, held, limit int) scanned {
	c := r[0]
	if c == '<' || c == '`' || held+len(r) > limit {
		return scanFailed
	}
	blank := asciiBlank(c)
	if blank {
		// A blank line ends what is no tag.
		if c == '\n' && t.blank {
			return scanFailed
		}
		t.blank = t.blank || c == '\n'
	} else {
		t.blank = false
	}
	switch t.phase {
	case tagName:
		next, ok := ns.step(t.node, c)
		if ok {
			t.node = next
			break
		}
		if t.name = ns.name(t.node); t.name == "" {
			return scanFailed
		}
		return t.next(c, blank)
	case tagBlanks:
		if blank {
			break
		}
		return t.attribute(r)
	case tagKey:
		switch {
		case letter(c), digit(c), c == '_', c == '.', c == ':', c == '-':
			t.text = append(t.text, c)
		case c == '=':
			t.phase = tagEquals
		case blank:
			t.phase = tagKeyed
		default:
			return t.next(c, blank)
		}
		t.mark()
	case tagKeyed:
		switch {
		case blank:
		case c == '=':
			t.phase = tagEquals
		default:
			return t.attribute(r)
		}
	case tagEquals:
		switch {
		case blank:
		case c == '"', c == '\'':
			t.phase, t.quote = tagQuoted, c
		case c == '=', c == '>':
			return scanFailed
		default:
			t.phase = tagBare
			t.value(r)
		}
	case tagBare:
		switch {
		case blank, c == '>':
			return t.next(c, blank)
		case c == '"', c == '\'', c == '=':
			return scanFailed
		default:
			t.value(r)
		}
	case tagQuoted:
		if c == t.quote {
			t.phase = tagValued
			break
		}
		t.value(r)
	case tagValued:
		return t.next(c, blank)
	case tagSlash:
		if c != '>' {
			return scanFailed
		}
		t.empty = true
		return scanDone
	}
	return scanOn
}

// word takes letters and digits as far as the tag just goes on with them. It
// returns how many it took.
func (t *tagScan) word(ns names, p []byte) (n int) {
	switch t.phase {
	case tagName:
		for n < len(p) {
			next, ok := ns.step(t.node, p[n])
			if !ok {
				break
			}
			t.node = next
			n++
		}
		return n
	case tagKey:
		t.text = append(t.text, p...)
		t.mark()
	case tagBare, tagQuoted:
		t.value(p)
	default:
		return 0
	}
	t.blank = t.blank && len(p) == 0
	return len(p)
}

// next takes what may follow a name or a value.
func (t *tagScan) next(c byte, blank bool) scanned {
	switch {
	case blank:
		t.phase = tagBlanks
	case c == '/':
		t.phase = tagSlash
	case c == '>':
		return scanDone
	default:
		return scanFailed
	}
	return scanOn
}

// attribute takes what may follow blanks: another attribute, or the end.
func (t *tagScan) attribute(r []byte) scanned {
	c := r[0]
	if !letter(c) && c != '_' && c != ':' {
		return t.next(c, false)
	}
	t.phase = tagKey
	t.attrs = append(t.attrs, tagAttr{key: len(t.text)})
	t.text = append(t.text, c)
	t.mark()
	return scanOn
}

// mark ends the name of the attribute, whose value is empty so far.
func (t *tagScan) mark() {
	a := &t.attrs[len(t.attrs)-1]
	a.value, a.end = len(t.text), len(t.text)
}

func (t *tagScan) value(r []byte) {
	t.text = append(t.text, r...)
	t.attrs[len(t.attrs)-1].end = len(t.text)
}

// The entities of attributes.
var entities = [][2]string{
	{"&amp;", "&"}, {"&lt;", "<"}, {"&gt;", ">"}, {"&quot;", `"`}, {"&apos;", "'"}, {"&#39;", "'"},
}

// unescape replaces the entities in a value, within its own bytes, and returns
// what is left of it.
func unescape(v []byte) []byte {
	to := bytes.IndexByte(v, '&')
	if to < 0 {
		return v
	}
	for at := to; at < len(v); {
		n := 1
		v[to] = v[at]
		if v[at] == '&' {
			for _, e := range entities {
				if bytes.HasPrefix(v[at:], []byte(e[0])) {
					n = len(e[0])
					v[to] = e[1][0]
					break
				}
			}
		}
		to++
		at += n
	}
	return v[:to]
}

// tagMeta returns the attributes of the tag; of those with one name the first
// counts.
func (s *Scanner) tagMeta() map[string]string {
	t := &s.tag
	if len(t.attrs) == 0 {
		return nil
	}
	for i := range t.attrs {
		a := &t.attrs[i]
		a.end = a.value + len(unescape(t.text[a.value:a.end]))
	}
	text := s.out.share(t.text) // of which all are parts
	meta := make(map[string]string, len(t.attrs))
	for _, a := range t.attrs {
		key := text[a.key:a.value]
		if len(meta) > 0 {
			if _, has := meta[key]; has {
				continue
			}
		}
		meta[key] = text[a.value:a.end]
	}
	return meta
}

// element is a registered element with its children, whose names are sorted
// when it is first opened.
type element struct {
	spec     TagSpec
	opened   bool
	names    names
	children []*element // in the order of names
}

// open makes the children known.
func (e *element) open() {
	if e.opened {
		return
	}
	e.opened = true
	if e.spec.Raw {
		return
	}
	e.names = e.names.add(slices.Collect(maps.Keys(e.spec.Children))...)
	for _, name := range e.names {
		e.children = append(e.children, &element{spec: e.spec.Children[name]})
	}
}

// frame is an open tag.
type frame struct {
	id, parent int
	name       string
	*element
	from  int // where in src it begins
	body  int // where in src its body begins
	inner []innerTag
}

// innerTag is where in src a child is.
type innerTag struct{ from, to int32 }

// dropTag gives up what might have become a tag in a line of text.
func (s *Scanner) dropTag() {
	if s.inline.sub == subTag {
		s.inline.sub = subNone
		s.tag.text = shrink(s.tag.text)
		s.release()
	}
}

// beginTag acts on a complete opening tag in a line of text.
func (s *Scanner) beginTag() {
	n := &s.inline
	n.sub = subNone
	n.html, n.block = htmlScan{}, false
	n.link.end()
	s.openTag(&s.tags)
	if len(s.frames) > 0 {
		s.state = inTags
	}
}

// openTag opens the element whose tag is held, one of the children of up.
func (s *Scanner) openTag(up *element) {
	parent := 0
	if len(s.frames) > 0 {
		parent = s.frames[len(s.frames)-1].id
	}
	id := s.start(parent, Tag, s.tag.name, s.tagMeta())
	s.tag.text = shrink(s.tag.text)
	if s.tag.empty && len(s.frames) == 0 {
		s.out.sink(Event{Kind: End, ID: id, Source: s.out.share(s.hold)})
		s.hold = shrink(s.hold)
		return
	}
	from := len(s.src)
	s.src = grow(s.src, s.hold)
	s.hold = shrink(s.hold)
	s.pushFrame(frame{id: id, parent: parent, name: s.tag.name, element: up.children[s.tag.node.lo], from: from, body: len(s.src)})
	if s.tag.empty {
		s.popFrame(len(s.src), false)
	}
}

// pushFrame opens a frame, with the buffers that one of its depth had before.
func (s *Scanner) pushFrame(f frame) {
	if n := len(s.frames); n < cap(s.frames) {
		old := s.frames[: n+1 : n+1][n]
		f.inner = old.inner[:0]
	}
	f.open()
	s.frames = append(s.frames, f)
}

// popFrame ends the innermost element, whose body goes up to an offset in src.
func (s *Scanner) popFrame(body int, unclosed bool) {
	last := len(s.frames) - 1
	f := &s.frames[last]
	s.looked += len(s.src) - f.from
	source := s.out.share(s.src[f.from:])
	text := source[f.body-f.from : body-f.from]
	if len(f.inner) > 0 {
		own := s.hold[:0] // nothing is held where an element ends
		at := f.body
		for _, in := range f.inner {
			own = append(own, s.src[at:in.from]...)
			at = int(in.to)
		}
		own = append(own, s.src[at:body]...)
		text = s.out.share(own)
		s.hold = shrink(own)
	}
	s.out.event(Event{Kind: End, ID: f.id, Parent: f.parent, Text: text, Source: source, Unclosed: unclosed})
	s.dropFrame()
}

// failFrame makes the innermost element its source.
func (s *Scanner) failFrame(reason string) {
	f := &s.frames[len(s.frames)-1]
	s.looked += len(s.src) - f.from
	s.fallBack(f.id, f.parent, reason, s.src[f.from:])
	s.dropFrame()
}

// dropFrame closes the innermost frame; its parent remembers where it was.
func (s *Scanner) dropFrame() {
	last := len(s.frames) - 1
	from := s.frames[last].from
	if f := &s.frames[last]; cap(f.inner) > keptBuffer/8 {
		f.inner = nil
	}
	s.frames = s.frames[:last]
	if last == 0 {
		s.src = shrink(s.src)
		return
	}
	up := &s.frames[last-1]
	up.inner = append(up.inner, innerTag{int32(from), int32(len(s.src))})
}

// scanTags passes the body of a tag up to its end.
func (s *Scanner) scanTags(p []byte) int {
	for i := 0; i < len(p); {
		if len(s.hold) == 0 {
			n := bytes.IndexByte(p[i:], '<')
			if n < 0 {
				n = len(p) - i
			}
			if n > 0 {
				s.tagBody(p[i : i+n])
				i += n
				continue
			}
			s.hold = append(s.hold, '<')
			i++
			continue
		}
		n := runeLen(p[i])
		if s.heldTag(p[i : i+n]) {
			i += n
		}
		if len(s.frames) == 0 {
			s.state = inInline
			return i
		}
	}
	return len(p)
}

// heldTag takes one more character of what may be a tag inside a tag. It
// returns false when it is none and the character has to be looked at again.
func (s *Scanner) heldTag(r []byte) bool {
	f := &s.frames[len(s.frames)-1]
	c := r[0]
	closing := len(s.hold) > 1 && s.hold[1] == '/'
	switch {
	case len(s.hold) == 1 && c == '/':
		s.hold = append(s.hold, c)
		return true
	case closing && c == '>':
		if depth := s.closes(bytes.TrimRight(s.hold[2:], " \t\r\n"), false); depth >= 0 {
			s.hold = append(s.hold, c)
			s.closeTag(depth)
			return true
		}
	case closing && len(s.hold) < s.cfg.MaxTag && s.closingGoesOn(c):
		s.hold = append(s.hold, c)
		return true
	case !closing && len(f.names) > 0 && len(s.frames) < maxDepth:
		if len(s.hold) == 1 {
			s.tag.begin(f.names)
		}
		switch s.tag.step(f.names, r, len(s.hold), s.cfg.MaxTag) {
		case scanOn:
			s.hold = append(s.hold, r...)
			return true
		case scanDone:
			s.hold = append(s.hold, r...)
			if len(s.src)-s.frames[0].body+len(s.hold) > s.cfg.MaxBody {
				s.failTags()
				s.release()
				return true
			}
			s.openTag(f.element)
			return true
		}
	}
	held := s.hold
	s.hold = s.hold[:0]
	s.looked += len(held)
	s.tagBody(held)
	return false
}

// closingGoesOn says whether the held closing tag can go on with c: with its
// name, or with blanks behind a whole one.
func (s *Scanner) closingGoesOn(c byte) bool {
	name := s.hold[2:]
	behind := len(name) > 0 && asciiBlank(name[len(name)-1])
	switch {
	case asciiBlank(c):
		return behind || s.closes(name, false) >= 0
	case behind:
		return false
	}
	return s.closes(append(name, c), true) >= 0
}

// closes returns which open tag, innermost first, is closed by a tag of that
// name; with prefix, by one whose name begins so. It is -1 for none. A raw body
// knows its own end only.
func (s *Scanner) closes(name []byte, prefix bool) int {
	for i := len(s.frames) - 1; i >= 0; i-- {
		f := &s.frames[i]
		if string(name) == f.name || prefix && len(name) < len(f.name) && f.name[:len(name)] == string(name) {
			return i
		}
		if f.spec.Raw {
			break
		}
	}
	return -1
}

// closeTag ends the tag at a depth; what is still open inside of it ends too.
func (s *Scanner) closeTag(depth int) {
	if s.frames[0].id == 0 {
		s.frames = s.frames[:0]
		s.release()
		return
	}
	for len(s.frames) > depth+1 {
		s.popFrame(len(s.src), true)
	}
	body := len(s.src)
	s.src = grow(s.src, s.hold)
	s.hold = s.hold[:0]
	s.popFrame(body, false)
}

// tagBody takes a piece of a body.
func (s *Scanner) tagBody(p []byte) {
	top := &s.frames[len(s.frames)-1]
	if top.id == 0 {
		s.text(p)
		return
	}
	// A child's closing tag may have gone beyond the bound.
	n := fitting(p, max(0, s.cfg.MaxBody-(len(s.src)-s.frames[0].body)))
	s.src = grow(s.src, p[:n])
	s.out.piece(Delta, top.id, p[:n])
	if n < len(p) {
		s.failTags()
		s.text(p[n:])
	}
}

// failTags makes the open tags their source when the outermost has become too
// long. What follows, up to the end of that one, is text: a frame without ID
// waits for it.
func (s *Scanner) failTags() {
	name := s.frames[0].name
	for len(s.frames) > 0 {
		s.failFrame(TooLong)
	}
	s.pushFrame(frame{name: name, element: &element{spec: TagSpec{Raw: true}}})
}

// endTags ends the open tags when the text does: a raw body was to be whole,
// others are what they have.
func (s *Scanner) endTags() {
	if s.frames[0].id == 0 {
		s.release()
		s.frames = s.frames[:0]
		return
	}
	held := s.hold
	s.hold = s.hold[:0]
	s.tagBody(held)
	for len(s.frames) > 0 && s.frames[0].id != 0 {
		if s.frames[len(s.frames)-1].spec.Raw || s.reason == Length {
			s.failFrame(Unterminated)
		} else {
			s.popFrame(len(s.src), true)
		}
	}
	s.frames = s.frames[:0]
}
