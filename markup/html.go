package markup

import (
	"bytes"
	"slices"
)

// htmlState says where in raw HTML or an autolink the scanner is.
type htmlState uint8

const (
	htmlOff       htmlState = iota
	htmlNone                // it is no HTML, but may be a mail address
	htmlOpen                // behind the <
	htmlName                // a tag's name, or an autolink's scheme
	htmlURI                 // an autolink behind its scheme
	htmlBlanks              // between attributes
	htmlKey                 // an attribute's name
	htmlAfterKey            // behind it
	htmlEquals              // before its value
	htmlBare                // a value without quotes
	htmlQuoted              // one in quotes
	htmlValued              // behind one in quotes
	htmlSlash               // before the > of an empty tag
	htmlClose               // behind the </
	htmlCloseName           // the name of a closing tag
	htmlCloseEnd            // behind it
	htmlBang                // behind the <!
	htmlDash                // behind the <!-
	htmlComment             // a comment
	htmlQuestion            // a processing instruction
	htmlDeclare             // a declaration
	htmlCData               // a CDATA section, or what may become one
)

// mailState says where in an address in angle brackets the scanner is.
type mailState uint8

const (
	mailOff mailState = iota
	mailLocal
	mailDot    // a part of the domain begins
	mailPart   // in one
	mailHyphen // behind its hyphen
)

const (
	// maxScheme is how long the scheme of an autolink may be.
	maxScheme = 32
	// maxMailPart is how long a part of a mail address's domain may be.
	maxMailPart = 63
)

// htmlScan follows what may be raw HTML or an autolink within a line. It is not
// text, and a backtick in it opens no code span, which is known only at its
// end; so it is followed beside the text that it may turn out not to be.
type htmlScan struct {
	state  htmlState
	mail   mailState
	quote  byte
	size   int32
	part   int32 // the length of the part of a mail address's domain
	scheme bool  // the name may be a scheme
	name   bool  // the name may be a tag's
	tag    bool  // it is an opening or closing tag
	lead   bool  // a paragraph begins with it
	inner  bool  // HTML or a link might have begun inside, which was not followed
}

func (h *htmlScan) on() bool { return h.state != htmlOff }

func (h *htmlScan) begin(lead bool) {
	*h = htmlScan{state: htmlOpen, mail: mailLocal, lead: lead}
}

// step takes the first byte of one more character.
func (h *htmlScan) step(c byte) scanned {
	switch {
	case h.state == htmlOff:
		return scanOff
	case h.mail == mailOff:
		return h.stepHTML(c)
	}
	mail, html := scanOn, scanFailed
	if h.mail != mailLocal || !lessBytes[c] { // which go on with it
		mail = h.stepMail(c)
	}
	if h.state != htmlNone {
		html = h.stepHTML(c)
	}
	switch {
	case mail == scanDone, html == scanDone:
		return scanDone
	case html == scanOn:
		return scanOn
	case mail == scanOn:
		h.state = htmlNone
		return scanOn
	}
	return scanFailed
}

// inWord says whether all that letters and digits do here is to make it longer.
func (h *htmlScan) inWord() bool {
	if h.mail > mailLocal {
		return false
	}
	switch h.state {
	case htmlName:
		return h.name
	case htmlURI, htmlKey, htmlBare, htmlQuoted, htmlCloseName, htmlComment, htmlQuestion, htmlDeclare:
		return true
	}
	return false
}

// word takes n letters and digits where inWord holds.
func (h *htmlScan) word(n int) {
	switch h.state {
	case htmlName:
		h.size += int32(n)
		h.scheme = h.scheme && h.size <= maxScheme
	case htmlComment, htmlQuestion:
		h.size = 0 // what was there of the end
	}
}

func (h *htmlScan) stepHTML(c byte) scanned {
	blank := c == ' ' || c == '\t' || c == '\r' || c == '\n'
	switch h.state {
	case htmlOpen:
		switch {
		case letter(c):
			h.state, h.size, h.scheme, h.name = htmlName, 1, true, true
		case c == '/':
			h.state = htmlClose
		case c == '!':
			h.state = htmlBang
		case c == '?':
			h.state, h.size = htmlQuestion, 0
		default:
			return scanFailed
		}
	case htmlName:
		if c == ':' && h.scheme && h.size >= 2 {
			h.state = htmlURI
			break
		}
		word := letter(c) || digit(c) || c == '-'
		if h.name && !word {
			if blank || c == '/' || c == '>' {
				return h.attribute(c, blank)
			}
		}
		h.size++
		h.name = h.name && word
		h.scheme = h.scheme && h.size <= maxScheme && (word || c == '+' || c == '.')
		if !h.name && !h.scheme {
			return scanFailed
		}
	case htmlURI:
		switch {
		case c == '>':
			return scanDone
		case c <= ' ', c == '<', c == 0x7F:
			return scanFailed
		}
	case htmlBlanks:
		if blank {
			break
		}
		return h.key(c)
	case htmlKey:
		switch {
		case letter(c), digit(c), c == '_', c == '.', c == ':', c == '-':
		case c == '=':
			h.state = htmlEquals
		case blank:
			h.state = htmlAfterKey
		default:
			return h.attribute(c, blank)
		}
	case htmlAfterKey:
		switch {
		case blank:
		case c == '=':
			h.state = htmlEquals
		default:
			return h.key(c)
		}
	case htmlEquals:
		switch {
		case blank:
		case c == '"', c == '\'':
			h.state, h.quote = htmlQuoted, c
		case c == '=', c == '<', c == '>', c == '`':
			return scanFailed
		default:
			h.state = htmlBare
		}
	case htmlBare:
		switch {
		case blank:
			h.state = htmlBlanks
		case c == '>':
			h.tag = true
			return scanDone
		case c == '"', c == '\'', c == '=', c == '<', c == '`':
			return scanFailed
		}
	case htmlQuoted:
		if c == h.quote {
			h.state = htmlValued
		}
		h.inner = h.inner || c == '<'
	case htmlValued:
		return h.attribute(c, blank)
	case htmlSlash:
		if c == '>' {
			h.tag = true
			return scanDone
		}
		return scanFailed
	case htmlClose:
		if !letter(c) {
			return scanFailed
		}
		h.state = htmlCloseName
	case htmlCloseName, htmlCloseEnd:
		switch {
		case c == '>':
			h.tag = true
			return scanDone
		case blank:
			h.state = htmlCloseEnd
		case h.state == htmlCloseEnd, !letter(c) && !digit(c) && c != '-':
			return scanFailed
		}
	case htmlBang:
		switch {
		case c == '-':
			h.state = htmlDash
		case c == '[':
			h.state, h.size = htmlCData, 0
		case letter(c):
			h.state = htmlDeclare
		default:
			return scanFailed
		}
	case htmlDash:
		if c != '-' {
			return scanFailed
		}
		// The dashes that open an empty comment also close it: <!-->, <!--->.
		h.state, h.size = htmlComment, 2
	case htmlComment:
		h.inner = h.inner || c == '<'
		switch {
		case c == '-':
			h.size = min(h.size+1, 2)
		case c == '>' && h.size >= 2:
			return scanDone
		default:
			h.size = 0
		}
	case htmlQuestion:
		h.inner = h.inner || c == '<'
		if c == '>' && h.size > 0 {
			return scanDone
		}
		h.size = 0
		if c == '?' {
			h.size = 1
		}
	case htmlDeclare:
		h.inner = h.inner || c == '<'
		if c == '>' {
			return scanDone
		}
	case htmlCData:
		h.inner = h.inner || c == '<'
		return h.cdata(c)
	}
	return scanOn
}

// attribute takes what follows a name or a value.
func (h *htmlScan) attribute(c byte, blank bool) scanned {
	switch {
	case blank:
		h.state = htmlBlanks
	case c == '/':
		h.state = htmlSlash
	case c == '>':
		h.tag = true
		return scanDone
	default:
		return scanFailed
	}
	return scanOn
}

// key takes what follows blanks: another attribute, or the end.
func (h *htmlScan) key(c byte) scanned {
	if letter(c) || c == '_' || c == ':' {
		h.state = htmlKey
		return scanOn
	}
	return h.attribute(c, false)
}

const cdataOpen = "CDATA["

// cdata takes a byte of a CDATA section; size counts the bytes of its opening,
// and then, beyond those, of its end.
func (h *htmlScan) cdata(c byte) scanned {
	if int(h.size) < len(cdataOpen) {
		if c != cdataOpen[h.size] {
			return scanFailed
		}
		h.size++
		return scanOn
	}
	switch {
	case c == ']':
		h.size = min(h.size+1, int32(len(cdataOpen)+2))
	case c == '>' && int(h.size) == len(cdataOpen)+2:
		return scanDone
	default:
		h.size = int32(len(cdataOpen))
	}
	return scanOn
}

func (h *htmlScan) stepMail(c byte) scanned {
	word := letter(c) || digit(c)
	switch h.mail {
	case mailLocal: // which ends here
		if h.mail = mailOff; c == '@' && h.state != htmlOpen {
			h.mail = mailDot
		}
	case mailDot:
		if h.mail, h.part = mailPart, 1; !word {
			h.mail = mailOff
		}
	case mailPart, mailHyphen:
		h.part++
		switch {
		case h.part > maxMailPart && c != '.' && c != '>':
			h.mail = mailOff
		case word:
			h.mail = mailPart
		case c == '-':
			h.mail = mailHyphen
		case c == '.' && h.mail == mailPart:
			h.mail = mailDot
		case c == '>' && h.mail == mailPart:
			return scanDone
		default:
			h.mail = mailOff
		}
	}
	if h.mail == mailOff {
		return scanFailed
	}
	return scanOn
}

// The kinds of HTML blocks, as CommonMark numbers them.
const (
	htmlVerbatim = iota + 1 // <script>, <pre>, <style>, <textarea>
	htmlCommented
	htmlInstruction
	htmlDeclaration
	htmlCharacters
	htmlElement  // of a list of names; up to a blank line
	htmlTagAlone // a line that consists of any other tag; up to a blank line
)

// htmlBlock is the open HTML block. Nothing in it is text.
type htmlBlock struct {
	kind int
	// last are the last bytes of the line's pieces so far, among which the
	// block's end may begin.
	last [maxHTMLEnd - 1]byte
	size int
	over bool // the line has the block's end
}

// maxHTMLEnd is how long the end of an HTML block is at most.
const maxHTMLEnd = len("</textarea>")

func (b *htmlBlock) begin(kind int) { *b = htmlBlock{kind: kind} }

// The elements that begin an HTML block.
var (
	verbatimEnds = []string{"</pre>", "</script>", "</style>", "</textarea>"}
	blockNames   = new(elementTrie).
			add(htmlVerbatim, "pre", "script", "style", "textarea").
			add(htmlElement,
			"address", "article", "aside", "base", "basefont", "blockquote", "body",
			"caption", "center", "col", "colgroup", "dd", "details", "dialog", "dir",
			"div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form",
			"frame", "frameset", "h1", "h2", "h3", "h4", "h5", "h6", "head", "header",
			"hr", "html", "iframe", "legend", "li", "link", "main", "menu", "menuitem",
			"nav", "noframes", "ol", "optgroup", "option", "p", "param", "search",
			"section", "summary", "table", "tbody", "td", "tfoot", "th", "thead",
			"title", "tr", "track", "ul",
		)
)

// elementTrie finds the names that begin an HTML block: whatever the name, a
// byte of it is one step. It is built once; compare names, which is built for
// every text.
type elementTrie struct{ nodes []elementNode }

type elementNode struct {
	next [26 + 10]uint16 // for a letter or digit; 0, which is the root, for none
	kind int             // the kind of block that the name which ends here begins
}

// elementByte is where in elementNode.next a byte is, -1 for nowhere.
func elementByte(c byte) int {
	switch c = lower(c); {
	case 'a' <= c && c <= 'z':
		return int(c - 'a')
	case digit(c):
		return int(c-'0') + 26
	}
	return -1
}

func (t *elementTrie) add(kind int, list ...string) *elementTrie {
	if t.nodes == nil {
		t.nodes = make([]elementNode, 1)
	}
	for _, name := range list {
		at := 0
		for i := range len(name) {
			next := &t.nodes[at].next[elementByte(name[i])]
			if at = int(*next); at == 0 {
				at = len(t.nodes)
				*next = uint16(at)
				t.nodes = append(t.nodes, elementNode{})
			}
		}
		t.nodes[at].kind = kind
	}
	return t
}

// step goes on by one byte. It returns 0 when no name goes on so.
func (t *elementTrie) step(at int, c byte) int {
	i := elementByte(c)
	if i < 0 {
		return 0
	}
	return int(t.nodes[at].next[i])
}

// openerScan follows the bytes that decide whether an HTML block begins, from
// behind the <.
type openerScan struct {
	from int // where in the held line it begins; 0 without one
	name int // where in blockNames the name so far is
}

// step says whether c can be one more such byte, behind those seen.
func (o *openerScan) step(seen []byte, c byte) bool {
	n := len(seen)
	switch {
	case n == 0 && (c == '!' || c == '?' || c == '/'):
		return true
	case n == 0:
	case seen[0] == '!':
		return n == 1 && letter(c) || goesOn("!--", seen, c) || goesOn("![CDATA[", seen, c)
	case seen[0] == '?', n > 1 && seen[n-1] == '/':
		return false
	case c == '/':
		return seen[n-1] != '/'
	}
	name := blockNames.step(o.name, c)
	if name != 0 {
		o.name = name
	}
	return name != 0
}

// none says whether what was seen is no name that begins a block. Where it is
// not sure htmlKind tells.
func (o *openerScan) none(seen []byte) bool {
	return len(seen) == 0 || letter(seen[0]) && blockNames.nodes[o.name].kind == 0
}

// goesOn says whether an opener begins with what was seen and then c.
func goesOn(opener string, seen []byte, c byte) bool {
	n := len(seen)
	return n < len(opener) && opener[n] == c && opener[:n] == string(seen)
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c | 0x20
	}
	return c
}

// htmlKind returns which kind of HTML block begins with rest, which begins with
// a <; 0 for none or one that only the whole line can tell.
func (s *Scanner) htmlKind(rest []byte, next int) int {
	if len(rest) < 2 {
		return 0
	}
	switch rest[1] {
	case '?':
		return htmlInstruction
	case '!':
		switch b := rest[2:]; {
		case bytes.HasPrefix(b, []byte("--")):
			return htmlCommented
		case bytes.HasPrefix(b, []byte("[CDATA[")):
			return htmlCharacters
		case len(b) > 0 && letter(b[0]):
			return htmlDeclaration
		}
		return 0
	}
	word, closing := bytes.CutPrefix(rest[1:], []byte("/"))
	n, at := 0, 0
	for n < len(word) && elementByte(word[n]) >= 0 {
		if at = blockNames.step(at, word[n]); at == 0 {
			return 0
		}
		n++
	}
	kind := blockNames.nodes[at].kind
	if kind == 0 || !closing && s.tags.names.has(word[:n]) {
		return 0
	}
	after := next
	if n < len(word) {
		after = int(word[n])
	}
	slash := after == '/' && n+1 == len(word) && next == '>'
	ends := after == end || after == ' ' || after == '\t' || after == '\r' || after == '>'
	switch {
	case ends && !closing && kind == htmlVerbatim, (ends || slash) && kind == htmlElement:
		return kind
	}
	return 0
}

// scanHTML passes a line of an HTML block and looks for the block's end.
func (s *Scanner) scanHTML(p []byte) int {
	n := bytes.IndexByte(p, '\n') + 1
	line := p
	if n > 0 {
		line = p[:n]
	}
	s.text(line)
	if b := &s.html; b.kind < htmlElement {
		if !b.over {
			b.look(line)
		}
		if n > 0 {
			if b.over {
				b.kind = 0
			}
			b.size = 0
		}
	}
	if n == 0 {
		return len(p)
	}
	s.nextLine()
	return n
}

// look finds the block's end in a piece of a line.
func (b *htmlBlock) look(p []byte) {
	for at := 0; ; {
		n := bytes.IndexByte(p[at:], '>')
		if n < 0 {
			break
		}
		if at += n + 1; b.endsAt(p, at) {
			b.over = true
			return
		}
	}
	keep := p[max(0, len(p)-len(b.last)):]
	drop := max(0, b.size+len(keep)-len(b.last))
	b.size = copy(b.last[:], b.last[drop:b.size])
	b.size += copy(b.last[b.size:], keep)
}

// endsAt says whether the block ends with the > before at in a piece.
func (b *htmlBlock) endsAt(p []byte, at int) bool {
	tail := p[max(0, at-maxHTMLEnd):at]
	if at < maxHTMLEnd {
		var joined [2 * maxHTMLEnd]byte
		n := copy(joined[:], b.last[:b.size])
		n += copy(joined[n:], tail)
		tail = joined[:n]
	}
	switch b.kind {
	case htmlVerbatim:
		return slices.ContainsFunc(verbatimEnds, func(end string) bool { return hasLowerSuffix(tail, end) })
	case htmlCommented:
		return bytes.HasSuffix(tail, []byte("-->"))
	case htmlInstruction:
		return bytes.HasSuffix(tail, []byte("?>"))
	case htmlCharacters:
		return bytes.HasSuffix(tail, []byte("]]>"))
	}
	return true
}

// hasLowerSuffix says whether b, made lower case, ends with a suffix.
func hasLowerSuffix(b []byte, suffix string) bool {
	from := len(b) - len(suffix)
	if from < 0 {
		return false
	}
	for i := len(suffix) - 1; i >= 0; i-- {
		if lower(b[from+i]) != suffix[i] {
			return false
		}
	}
	return true
}
