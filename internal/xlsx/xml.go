package xlsx

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"
)

// kind is what the scanner came upon.
type kind int

const (
	startTag kind = iota
	endTag
	textRun
)

const (
	maxTag   = 64 << 10
	maxDepth = 128
	readSize = 32 << 10
)

// scanner reads the little of XML that workbooks are written in: elements,
// attributes and text in UTF-8. There are no document types, so no entities
// but the five that XML itself has, and everything it keeps is bounded.
type scanner struct {
	r    io.Reader
	buf  []byte
	rest []byte // of buf, not yet read
	err  error

	// What next came upon.
	name  string // local name of a tag
	empty bool   // of a start tag: its end follows at once
	tag   []byte // attributes of a start tag
	text  []byte

	// keep is how many bytes of a run of text are kept.
	keep  int
	cut   bool // the last run of text was longer
	depth int
	ends  bool // an empty element still has to end
	names map[string]string
}

func newScanner(r io.Reader, keep int) (*scanner, error) {
	s := &scanner{r: r, buf: make([]byte, readSize), keep: keep, names: make(map[string]string)}
	for len(s.rest) < 4 && s.fill() {
		continue
	}
	if bytes.HasPrefix(s.rest, []byte{0xFE, 0xFF}) || bytes.HasPrefix(s.rest, []byte{0xFF, 0xFE}) || bytes.HasPrefix(s.rest, []byte("<\x00")) {
		return nil, formatError("a part is not in UTF-8")
	}
	s.rest = bytes.TrimPrefix(s.rest, []byte("\xEF\xBB\xBF"))
	return s, nil
}

// fill reads more bytes behind those not yet read.
func (s *scanner) fill() bool {
	if s.err != nil {
		return false
	}
	n := copy(s.buf, s.rest)
	for tries := 0; tries < 100; tries++ {
		m, err := s.r.Read(s.buf[n:])
		s.rest, s.err = s.buf[:n+m], err
		if m > 0 {
			return true
		}
		if err != nil {
			return false
		}
	}
	s.err = io.ErrNoProgress
	return false
}

// failure is why there is nothing more to read.
func (s *scanner) failure() error {
	if errors.Is(s.err, io.EOF) {
		return formatError("a part ends too early")
	}
	return s.err
}

// next goes on to the next tag or run of text; io.EOF at the end.
func (s *scanner) next() (kind, error) {
	if s.ends {
		s.ends = false
		s.depth--
		return endTag, nil
	}
	for {
		if len(s.rest) == 0 && !s.fill() {
			if s.depth > 0 || !errors.Is(s.err, io.EOF) {
				return 0, s.failure()
			}
			return 0, io.EOF
		}
		if s.rest[0] != '<' {
			return textRun, s.readText()
		}
		k, skip, err := s.readTag()
		if err != nil || !skip {
			return k, err
		}
	}
}

// readText reads up to the next tag.
func (s *scanner) readText() error {
	s.text, s.cut = s.text[:0], false
	for {
		i := bytes.IndexByte(s.rest, '<')
		if i >= 0 {
			s.collect(s.rest[:i])
			s.rest = s.rest[i:]
			break
		}
		s.collect(s.rest)
		s.rest = nil
		if !s.fill() {
			if !errors.Is(s.err, io.EOF) {
				return s.failure()
			}
			break
		}
	}
	if s.cut {
		// An entity that was cut in two goes as a whole.
		if i := bytes.LastIndexByte(s.text, '&'); i >= 0 && bytes.IndexByte(s.text[i:], ';') < 0 {
			s.text = s.text[:i]
		}
	}
	var err error
	s.text, err = unescape(s.text)
	return err
}

// collect keeps of a text what may be kept.
func (s *scanner) collect(b []byte) {
	if room := max(s.keep-len(s.text), 0); len(b) > room {
		b, s.cut = b[:room], true
	}
	s.text = append(s.text, b...)
}

// readTag reads one tag. skip says that it was a comment or the like.
func (s *scanner) readTag() (k kind, skip bool, err error) {
	if err := s.need(9); err != nil {
		return 0, false, err
	}
	switch {
	case bytes.HasPrefix(s.rest, []byte("<?")):
		return 0, true, s.skipTo("?>")
	case bytes.HasPrefix(s.rest, []byte("<!--")):
		s.rest = s.rest[4:]
		return 0, true, s.skipTo("-->")
	case bytes.HasPrefix(s.rest, []byte("<![CDATA[")):
		s.rest = s.rest[9:]
		return textRun, false, s.readCDATA()
	case bytes.HasPrefix(s.rest, []byte("<!")):
		return 0, false, formatError("a part has a document type")
	}
	body, err := s.readBody()
	if err != nil {
		return 0, false, err
	}
	if len(body) > 0 && body[0] == '/' {
		if s.depth--; s.depth < 0 {
			return 0, false, formatError("an element ends that did not begin")
		}
		s.name = s.local(bytes.TrimSpace(body[1:]))
		return endTag, false, nil
	}
	if s.depth++; s.depth > maxDepth {
		return 0, false, limitError("elements are nested too deeply")
	}
	s.empty = len(body) > 0 && body[len(body)-1] == '/'
	if s.empty {
		body = body[:len(body)-1]
		s.ends = true
	}
	i := bytes.IndexAny(body, " \t\r\n")
	if i < 0 {
		i = len(body)
	}
	s.name, s.tag = s.local(body[:i]), body[i:]
	return startTag, false, nil
}

// need makes sure of n bytes, or of all there are.
func (s *scanner) need(n int) error {
	for len(s.rest) < n && s.fill() {
		continue
	}
	if s.err != nil && !errors.Is(s.err, io.EOF) {
		return s.err
	}
	return nil
}

// readBody reads a tag up to its end; a > in quotes does not end it.
func (s *scanner) readBody() ([]byte, error) {
	at, quote := 1, byte(0)
	for {
		for ; at < len(s.rest); at++ {
			switch c := s.rest[at]; {
			case quote != 0:
				if c == quote {
					quote = 0
				}
			case c == '"' || c == '\'':
				quote = c
			case c == '>':
				body := s.rest[1:at]
				s.rest = s.rest[at+1:]
				return body, nil
			case c == '<':
				return nil, formatError("a tag is damaged")
			}
		}
		if len(s.rest) >= maxTag {
			return nil, limitError("a tag is too long")
		}
		if len(s.rest) == len(s.buf) {
			s.buf = append(s.buf, make([]byte, len(s.buf))...)
		}
		if !s.fill() {
			return nil, s.failure()
		}
	}
}

func (s *scanner) readCDATA() error {
	s.text = s.text[:0]
	for {
		if i := bytes.Index(s.rest, []byte("]]>")); i >= 0 {
			s.text = append(s.text, s.rest[:min(i, max(s.keep-len(s.text), 0))]...)
			s.rest = s.rest[i+3:]
			return nil
		}
		n := max(len(s.rest)-2, 0) // the last two may begin the end
		s.text = append(s.text, s.rest[:min(n, max(s.keep-len(s.text), 0))]...)
		s.rest = s.rest[n:]
		if !s.fill() {
			return s.failure()
		}
	}
}

func (s *scanner) skipTo(end string) error {
	for {
		if i := bytes.Index(s.rest, []byte(end)); i >= 0 {
			s.rest = s.rest[i+len(end):]
			return nil
		}
		s.rest = s.rest[max(len(s.rest)-len(end)+1, 0):]
		if !s.fill() {
			return s.failure()
		}
	}
}

// maxNames bounds how many names are kept; workbooks have a few dozen.
const maxNames = 256

// local returns a name without its prefix.
func (s *scanner) local(b []byte) string {
	if i := bytes.IndexByte(b, ':'); i >= 0 {
		b = b[i+1:]
	}
	if n, ok := s.names[string(b)]; ok {
		return n
	}
	n := string(b)
	if len(s.names) < maxNames {
		s.names[n] = n
	}
	return n
}

// attr returns an attribute of the start tag by its local name. prefixed asks
// for one with a prefix (r:id beside id).
func (s *scanner) attr(name string, prefixed bool) string {
	b := s.tag
	for {
		eq := bytes.IndexByte(b, '=')
		if eq < 0 {
			return ""
		}
		key := bytes.TrimSpace(b[:eq])
		b = bytes.TrimLeft(b[eq+1:], " \t\r\n")
		if len(b) == 0 || b[0] != '"' && b[0] != '\'' {
			return ""
		}
		end := bytes.IndexByte(b[1:], b[0])
		if end < 0 {
			return ""
		}
		value := b[1 : end+1]
		b = b[end+2:]
		colon := bytes.IndexByte(key, ':')
		if string(key[colon+1:]) == name && (colon >= 0) == prefixed {
			// The text is short and needed beyond the next tag.
			v, err := unescape(bytes.Clone(value))
			if err != nil {
				return ""
			}
			return string(v)
		}
	}
}

var errEntity = formatError("a part refers to an entity that XML does not have")

// unescape replaces the entities of XML in place.
func unescape(b []byte) ([]byte, error) {
	i := bytes.IndexByte(b, '&')
	if i < 0 {
		return b, nil
	}
	out := b[:i]
	for b = b[i:]; len(b) > 0; {
		if b[0] != '&' {
			n := bytes.IndexByte(b, '&')
			if n < 0 {
				n = len(b)
			}
			out = append(out, b[:n]...)
			b = b[n:]
			continue
		}
		semi := bytes.IndexByte(b[:min(len(b), 12)], ';')
		if semi < 0 {
			return nil, errEntity
		}
		r, ok := entity(string(b[1:semi]))
		if !ok {
			return nil, errEntity
		}
		// Never longer than what it replaces.
		out = utf8.AppendRune(out, r)
		b = b[semi+1:]
	}
	return out, nil
}

func entity(name string) (rune, bool) {
	switch name {
	case "amp":
		return '&', true
	case "lt":
		return '<', true
	case "gt":
		return '>', true
	case "quot":
		return '"', true
	case "apos":
		return '\'', true
	}
	digits, ok := strings.CutPrefix(name, "#")
	if !ok {
		return 0, false
	}
	base := 10
	if hex, ok := strings.CutPrefix(digits, "x"); ok {
		digits, base = hex, 16
	}
	n, err := strconv.ParseUint(digits, base, 32)
	if err != nil || n > utf8.MaxRune || n == 0 {
		return 0, false
	}
	return rune(n), true
}
