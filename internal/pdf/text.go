package pdf

import (
	"bytes"
	"math"
	"strings"
)

// writer runs the text operators of a page and writes what they show.
type writer struct {
	f    *file
	out  strings.Builder
	full bool

	font *font
	// x, y is where the line begins, end where its text ends by estimate; size
	// is the size of the font, scale what it is multiplied by.
	x, y, end            float64
	size, scale, leading float64
	lastY                float64
}

// maxForms bounds forms within forms.
const maxForms = 6

// maxOperands bounds what stands before an operator.
const maxOperands = 1024

func (w *writer) content(b []byte, resources dict, depth int) error {
	l := lexer{b: b}
	var args array
	for {
		if err := w.f.tick(); err != nil {
			return err
		}
		if w.out.Len() > w.f.lim.Text {
			w.full = true
			return nil
		}
		v, ok := l.object(0)
		if !ok {
			return nil
		}
		op, isWord := v.(word)
		if !isWord {
			if len(args) < maxOperands {
				args = append(args, v)
			}
			continue
		}
		switch op {
		case "BI":
			l.skipImage()
		case "Do":
			if err := w.form(args, resources, depth); err != nil {
				return err
			}
		default:
			w.operator(op, args, resources)
		}
		args = args[:0]
	}
}

// skipImage goes on behind an inline picture.
func (l *lexer) skipImage() {
	for {
		i := bytes.Index(l.b[l.at:], []byte("EI"))
		if i < 0 {
			l.at = len(l.b)
			return
		}
		l.at += i + 2
		if i > 0 && space(l.b[l.at-3]) && (l.at == len(l.b) || space(l.b[l.at])) {
			return
		}
	}
}

// form shows what a form holds.
func (w *writer) form(args array, resources dict, depth int) error {
	if depth >= maxForms || len(args) == 0 {
		return nil
	}
	key, _ := args[len(args)-1].(name)
	s, ok := w.f.get(w.f.dict(resources["XObject"])[key]).(stream)
	if !ok || w.f.get(s.dict["Subtype"]) != name("Form") {
		return nil
	}
	if own := w.f.dict(s.dict["Resources"]); own != nil {
		resources = own
	}
	font := w.font
	err := w.content(w.f.unpack(s), resources, depth+1)
	w.font = font
	return err
}

func numbers(args array, n int) ([]float64, bool) {
	if len(args) < n {
		return nil, false
	}
	out := make([]float64, n)
	for i, v := range args[len(args)-n:] {
		f, ok := v.(float64)
		if !ok || math.IsNaN(f) || math.IsInf(f, 0) {
			return nil, false
		}
		out[i] = f
	}
	return out, true
}

func (w *writer) operator(op word, args array, resources dict) {
	switch op {
	case "BT":
		w.x, w.y, w.scale = 0, 0, 1
	case "Tf":
		if len(args) >= 2 {
			key, _ := args[len(args)-2].(name)
			if v := w.f.dict(resources["Font"])[key]; v != nil {
				w.font = w.f.font(v)
			}
			if n, ok := numbers(args, 1); ok {
				w.size = math.Abs(n[0])
			}
		}
	case "TL":
		if n, ok := numbers(args, 1); ok {
			w.leading = n[0]
		}
	case "Td", "TD":
		if n, ok := numbers(args, 2); ok {
			if op == "TD" {
				w.leading = -n[1]
			}
			w.move(w.x+n[0]*w.scale, w.y+n[1]*w.scale)
		}
	case "Tm":
		if n, ok := numbers(args, 6); ok {
			w.scale = max(math.Abs(n[0]), math.Abs(n[1]))
			w.move(n[4], n[5])
		}
	case "T*":
		w.newLine()
	case "'", `"`:
		w.newLine()
		w.show(args)
	case "Tj":
		w.show(args)
	case "TJ":
		if len(args) > 0 {
			w.showList(args[len(args)-1])
		}
	}
}

func (w *writer) newLine() {
	leading := w.leading
	if leading == 0 {
		leading = max(w.size, 1)
	}
	w.move(w.x, w.y-leading*w.scale)
}

// move goes to another place: to another line, or further on in this one.
func (w *writer) move(x, y float64) {
	em := w.size * w.scale
	switch {
	case math.Abs(y-w.lastY) > em/4:
		w.separate('\n')
	case x-w.end > em*wordGap/1000:
		w.separate(' ')
	}
	w.x, w.y, w.lastY, w.end = x, y, y, x
}

func (w *writer) separate(c byte) {
	s := w.out.String()
	if s == "" || s[len(s)-1] == '\n' || c == ' ' && s[len(s)-1] == ' ' {
		return
	}
	w.out.WriteByte(c)
}

func (w *writer) show(args array) {
	if len(args) == 0 {
		return
	}
	if s, ok := args[len(args)-1].(str); ok {
		w.write(s)
	}
}

// A gap this wide, in thousandths of the font's size, stands for a space.
const wordGap = 200

func (w *writer) showList(v any) {
	list, _ := v.(array)
	for _, v := range list {
		switch v := v.(type) {
		case str:
			w.write(v)
		case float64:
			if v < -wordGap {
				w.separate(' ')
			}
			w.end -= v / 1000 * w.size * w.scale
		}
	}
}

func (w *writer) write(s str) {
	if w.font == nil {
		return
	}
	text := w.font.text(string(s))
	w.end += w.font.advance(string(s), text) / 1000 * w.size * w.scale
	for _, r := range text {
		if r >= ' ' || r == '\t' || r == '\n' {
			w.out.WriteRune(r)
		}
	}
}
