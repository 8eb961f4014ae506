package pdf

import (
	"bytes"
	"strconv"
)

// The objects of a file are nil, bool, float64, name, str, array, dict and ref.
type (
	name  string
	str   string
	array []any
	dict  map[name]any
	ref   int
	// word is an operator or anything else that is no object.
	word string
)

// maxNesting bounds arrays and dictionaries within each other.
const maxNesting = 64

// lexer reads objects and words from bytes that may be damaged anywhere.
type lexer struct {
	b  []byte
	at int
}

func space(c byte) bool {
	return c == ' ' || c == '\n' || c == '\r' || c == '\t' || c == '\f' || c == 0
}

func delimiter(c byte) bool {
	switch c {
	case '(', ')', '<', '>', '[', ']', '{', '}', '/', '%':
		return true
	}
	return false
}

func (l *lexer) skipSpace() {
	for l.at < len(l.b) {
		switch c := l.b[l.at]; {
		case space(c):
			l.at++
		case c == '%':
			for l.at < len(l.b) && l.b[l.at] != '\n' && l.b[l.at] != '\r' {
				l.at++
			}
		default:
			return
		}
	}
}

// object reads the next object or word; ok is false at the end.
func (l *lexer) object(depth int) (v any, ok bool) {
	l.skipSpace()
	if l.at >= len(l.b) || depth > maxNesting {
		return nil, false
	}
	c := l.b[l.at]
	switch {
	case c == '/':
		l.at++
		return l.name(), true
	case c == '(':
		l.at++
		return l.literal(), true
	case c == '[':
		l.at++
		return l.array(depth), true
	case bytes.HasPrefix(l.b[l.at:], []byte("<<")):
		l.at += 2
		return l.dict(depth), true
	case c == '<':
		l.at++
		return l.hex(), true
	case delimiter(c):
		l.at++
		if c == '>' && l.at < len(l.b) && l.b[l.at] == '>' {
			l.at++
			return word(">>"), true
		}
		return word(c), true
	}
	return l.plain(), true
}

// plain reads a number, a reference or a word.
func (l *lexer) plain() any {
	text := l.run()
	if n, err := strconv.Atoi(text); err == nil && n >= 0 && text[0] != '+' {
		// 12 0 R
		save := l.at
		l.skipSpace()
		if gen := l.run(); gen != "" && len(gen) <= 5 && allDigits(gen) {
			l.skipSpace()
			if l.at < len(l.b) && l.b[l.at] == 'R' && (l.at+1 == len(l.b) || space(l.b[l.at+1]) || delimiter(l.b[l.at+1])) {
				l.at++
				return ref(n)
			}
		}
		l.at = save
		return float64(n)
	}
	if f, err := strconv.ParseFloat(text, 64); err == nil && text[0] <= '9' {
		return f
	}
	switch text {
	case "null":
		return nil
	case "true":
		return true
	case "false":
		return false
	}
	return word(text)
}

func allDigits(s string) bool {
	for i := range len(s) {
		if s[i] < '0' || s[i] > '9' {
			return false
		}
	}
	return s != ""
}

// run reads up to the next space or delimiter.
func (l *lexer) run() string {
	start := l.at
	for l.at < len(l.b) && !space(l.b[l.at]) && !delimiter(l.b[l.at]) {
		l.at++
	}
	return string(l.b[start:l.at])
}

func (l *lexer) name() name {
	text := l.run()
	i := 0
	out := make([]byte, 0, len(text))
	for ; i < len(text); i++ {
		if text[i] == '#' && i+2 < len(text) {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, text[i])
	}
	return name(out)
}

func (l *lexer) hex() str {
	var out []byte
	high, half := byte(0), false
	for l.at < len(l.b) {
		c := l.b[l.at]
		l.at++
		if c == '>' {
			break
		}
		n, ok := nibble(c)
		if !ok {
			continue
		}
		if half {
			out = append(out, high<<4|n)
		}
		high, half = n, !half
	}
	if half {
		out = append(out, high<<4)
	}
	return str(out)
}

func nibble(c byte) (byte, bool) {
	switch {
	case c >= '0' && c <= '9':
		return c - '0', true
	case c >= 'a' && c <= 'f':
		return c - 'a' + 10, true
	case c >= 'A' && c <= 'F':
		return c - 'A' + 10, true
	}
	return 0, false
}

func (l *lexer) literal() str {
	var out []byte
	for open := 1; l.at < len(l.b); {
		c := l.b[l.at]
		l.at++
		switch c {
		case '(':
			open++
		case ')':
			if open--; open == 0 {
				return str(out)
			}
		case '\\':
			out = l.escape(out)
			continue
		}
		out = append(out, c)
	}
	return str(out)
}

func (l *lexer) escape(out []byte) []byte {
	if l.at >= len(l.b) {
		return out
	}
	c := l.b[l.at]
	l.at++
	switch c {
	case 'n':
		return append(out, '\n')
	case 'r':
		return append(out, '\r')
	case 't':
		return append(out, '\t')
	case 'b', 'f':
		return append(out, ' ')
	case '\n':
		return out
	case '\r':
		if l.at < len(l.b) && l.b[l.at] == '\n' {
			l.at++
		}
		return out
	}
	if c < '0' || c > '7' {
		return append(out, c)
	}
	n := int(c - '0')
	for i := 0; i < 2 && l.at < len(l.b) && l.b[l.at] >= '0' && l.b[l.at] <= '7'; i++ {
		n = n*8 + int(l.b[l.at]-'0')
		l.at++
	}
	return append(out, byte(n))
}

func (l *lexer) array(depth int) array {
	a := array{}
	for {
		v, ok := l.object(depth + 1)
		if !ok || v == word("]") {
			return a
		}
		if w, isWord := v.(word); isWord && breaksOff(w) {
			return a
		}
		a = append(a, v)
	}
}

func (l *lexer) dict(depth int) dict {
	d := dict{}
	for {
		k, ok := l.object(depth + 1)
		if !ok || k == word(">>") {
			return d
		}
		if w, isWord := k.(word); isWord && breaksOff(w) {
			return d
		}
		key, isName := k.(name)
		if !isName {
			continue
		}
		v, ok := l.object(depth + 1)
		if !ok || v == word(">>") {
			return d
		}
		d[key] = v
	}
}

// breaksOff says that an array or dictionary was never closed.
func breaksOff(w word) bool { return w == "endobj" || w == "stream" || w == "obj" }
