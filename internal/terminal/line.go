package terminal

import (
	"strings"
	"unicode/utf8"
)

// Style is how a text stands out. It is said by what the text is; without
// colour there is none.
type Style uint8

// The styles, which may be joined.
const (
	Plain Style = 0
	Bold  Style = 1 << (iota - 1)
	Dim
	Italic
	Underline
	Accent
	Success
	Warning
	Danger
)

// sgr are the sequences of the styles: the only ones ever written.
var sgr = [...]string{"1", "2", "3", "4", "36", "32", "33", "31"}

func (s Style) sgr() string {
	var codes []string
	for i, code := range sgr {
		if s&(1<<i) != 0 {
			codes = append(codes, code)
		}
	}
	return "\x1b[" + strings.Join(codes, ";") + "m"
}

// span is a piece of text in one style.
type span struct {
	text  string
	style Style
}

// line is one line.
type line []span

func (l line) width() int {
	n := 0
	for _, s := range l {
		n += Width(s.text)
	}
	return n
}

// plain is a line of one span, or of none.
func plain(text string, style Style) line {
	if text == "" {
		return nil
	}
	return line{{text, style}}
}

// paint writes lines. Whatever they were made of is cleaned here once more.
func (r *Renderer) paint(lines []line) string {
	var b strings.Builder
	for _, l := range lines {
		var out []span
		for _, s := range l {
			if text := strings.ReplaceAll(Clean(s.text), "\n", " "); text != "" {
				out = append(out, span{text, s.style})
			}
		}
		for len(out) > 0 { // no blanks at the end
			last := &out[len(out)-1]
			if last.text = strings.TrimRight(last.text, " "); last.text != "" {
				break
			}
			out = out[:len(out)-1]
		}
		for _, s := range out {
			if r.opt.Color && s.style != Plain {
				b.WriteString(s.style.sgr() + s.text + "\x1b[0m")
			} else {
				b.WriteString(s.text)
			}
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// closers may not begin a line.
const closers = "，。、；：！？）】》」』”’…,.;:!?)]}%"

// wrap breaks a text into lines of so many cells. LF begins a new one; words
// stay whole where they fit; a line may end after a wide character.
func wrap(spans []span, n int) []line {
	n = max(n, 2)
	w := wrapper{width: n}
	for _, s := range spans {
		for _, r := range s.text {
			w.put(r, s.style)
		}
	}
	w.flush()
	w.end()
	return w.lines
}

type cell struct {
	r     rune
	style Style
}

type wrapper struct {
	width int
	lines []line
	cur   []cell
	used  int
	word  []cell
	wide  bool // the word ends with a wide character, which may end a line
}

func (w *wrapper) put(r rune, style Style) {
	switch {
	case r == '\n':
		w.flush()
		w.end()
		return
	case r == ' ':
		w.flush()
		if w.used < w.width && w.used > 0 {
			w.cur = append(w.cur, cell{r, style})
			w.used++
		} else if w.used == 0 && len(w.lines) == 0 {
			w.cur = append(w.cur, cell{r, style})
			w.used++
		}
		return
	}
	c := cells(r)
	if (c == 2 || w.wide) && c > 0 && !strings.ContainsRune(closers, r) {
		w.flush()
	}
	w.word = append(w.word, cell{r, style})
	if c > 0 {
		w.wide = c == 2
	}
}

// flush puts the word into the line, or into the next one where it does not
// fit.
func (w *wrapper) flush() {
	n := 0
	for _, c := range w.word {
		n += cells(c.r)
	}
	if w.used > 0 && w.used+n > w.width {
		w.end()
	}
	for _, c := range w.word {
		if w.used+cells(c.r) > w.width {
			w.end()
		}
		w.cur = append(w.cur, c)
		w.used += cells(c.r)
	}
	w.word, w.wide = w.word[:0], false
}

func (w *wrapper) end() {
	var l line
	for i := 0; i < len(w.cur); {
		j := i
		b := make([]byte, 0, len(w.cur)-i)
		for ; j < len(w.cur) && w.cur[j].style == w.cur[i].style; j++ {
			b = utf8.AppendRune(b, w.cur[j].r)
		}
		l = append(l, span{string(b), w.cur[i].style})
		i = j
	}
	w.lines = append(w.lines, l)
	w.cur, w.used = w.cur[:0], 0
}

// hard breaks a line of source after so many cells, wherever that is.
func hard(s string, n int) []string {
	n = max(n, 2)
	var out []string
	start, used := 0, 0
	for i, r := range s {
		if c := cells(r); used+c > n {
			out = append(out, s[start:i])
			start, used = i, c
		} else {
			used += c
		}
	}
	return append(out, s[start:])
}

// prefixed puts a prefix before every line.
func prefixed(lines []line, first, rest span) []line {
	out := make([]line, len(lines))
	for i, l := range lines {
		p := rest
		if i == 0 {
			p = first
		}
		out[i] = append(line{p}, l...)
	}
	return out
}

// bar marks lines as one thing, at their left.
func bar(lines []line, style Style) []line {
	p := span{"│ ", style}
	return prefixed(lines, p, p)
}

// pad fills a line with blanks up to so many cells; end puts them before.
func pad(l line, n int, end bool) line {
	gap := n - l.width()
	if gap <= 0 {
		return l
	}
	blank := span{strings.Repeat(" ", gap), Plain}
	if end {
		return append(line{blank}, l...)
	}
	return append(l[:len(l):len(l)], blank)
}
