package cards

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// gap stands between the blocks of a message.
const gap = "\n\n"

// render joins the segments and notes where each begins.
func (e *Encoder) render() []byte {
	out := make([]byte, 0, len(e.md)+256)
	var last *segment
	for _, s := range e.segs {
		s.size, s.was = len(s.text), s.fence
		if s.size == 0 {
			continue
		}
		if last != nil {
			out = append(out, last.close()...)
			out = append(out, gap...)
		}
		s.from = len(out)
		out = append(out, s.text...)
		last = s
	}
	return out
}

// sync tells the reader how the text changed with a segment: an append where
// it only grew, else a replacement of a piece that is there once.
func (e *Encoder) sync(s *segment) {
	old, before := e.md, *s
	e.md = e.render()
	if bytes.Equal(old, e.md) {
		return
	}
	if rest, ok := bytes.CutPrefix(e.md, old); ok {
		raw, err := jsonx.Marshal(struct {
			Markdown string `json:"markdown"`
		}{string(rest)})
		if err != nil {
			panic(err) // a string
		}
		e.put(typeAppend, raw)
		return
	}
	from, end := differ(old, e.md)
	if before.was && before.size > 0 {
		// A card is replaced as a whole.
		from, end = min(from, before.from), max(end, before.from+before.size)
	}
	from, end = once(old, from, end)
	tail := len(old) - end
	replacement := string(e.md[from : len(e.md)-tail])
	e.patch(op{Op: "replace-substring", Path: "/markdown", Substring: string(old[from:end]), Replacement: &replacement})
}

// differ returns the piece of old that became another in text; both before and
// after it they are alike. It is not cut within a character.
func differ(old, text []byte) (from, end int) {
	for from < len(old) && from < len(text) && old[from] == text[from] {
		from++
	}
	from = back(old, from)
	tail := 0
	for tail < len(old)-from && tail < len(text)-from && old[len(old)-1-tail] == text[len(text)-1-tail] {
		tail++
	}
	return from, forward(old, len(old)-tail)
}

// once widens a piece of a text until the text has it in one place only.
func once(s []byte, from, end int) (int, int) {
	for n := 0; ; n = 2*n + 16 {
		a, b := back(s, max(from-n, 0)), forward(s, min(end+n, len(s)))
		piece := s[a:b]
		if len(piece) > 0 && bytes.Index(s, piece) == a && !bytes.Contains(s[a+1:], piece) || a == 0 && b == len(s) {
			return a, b
		}
	}
}

// back and forward move an offset to the begin of a character.
func back(s []byte, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i--
	}
	return i
}

func forward(s []byte, i int) int {
	for i > 0 && i < len(s) && !utf8.RuneStart(s[i]) {
		i++
	}
	return i
}

// close returns what must follow a segment before another can begin.
func (s *segment) close() string {
	if s.fence {
		return ""
	}
	if s.closer == nil {
		c := closer(string(s.text))
		s.closer = &c
	}
	return *s.closer
}

// closer returns what ends a code block or HTML that a text leaves open and
// that would swallow the cards after it; "" when nothing is open. A model that
// was cut off leaves such texts.
func closer(s string) string {
	if !strings.Contains(s, "```") && !strings.Contains(s, "~~~") && !strings.Contains(s, "<") || ends(s) {
		return ""
	}
	line := "\n"
	if strings.HasSuffix(s, "\n") {
		line = ""
	}
	for _, end := range []string{
		strings.Repeat("`", max(longest(s, '`'), 3)), strings.Repeat("~", max(longest(s, '~'), 3)),
		"-->", "?>", "]]>", ">", "</script>", "</pre>", "</style>", "</textarea>",
	} {
		if ends(s + line + end) {
			return line + end
		}
	}
	return ""
}

// longest returns the length of the longest run of a character.
func longest(s string, c byte) (n int) {
	run := 0
	for i := range len(s) {
		if s[i] != c {
			run = 0
			continue
		}
		run++
		n = max(n, run)
	}
	return n
}

var parser = goldmark.DefaultParser()

// probe is a paragraph of its own wherever one can begin.
const probe = "x"

// ends reports whether a block that follows a text stands by itself.
func ends(s string) bool {
	source := []byte(s + gap + probe)
	last, ok := parser.Parse(text.NewReader(source)).LastChild().(*ast.Paragraph)
	return ok && string(last.Lines().Value(source)) == probe
}
