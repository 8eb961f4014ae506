package markup

import (
	"bytes"
	"unicode/utf8"
)

const replacement = "\uFFFD"

// repair makes valid UTF-8 without NUL of bytes that come in pieces. What is
// invalid becomes U+FFFD, one for each longest beginning of a character that
// could not go on, which is how browsers decode. An unfinished character at
// the end of a piece waits for the next.
type repair struct {
	keepNUL bool
	joined  []byte // what waits, before the piece it was joined with
	waits   int    // how many bytes of joined wait
	out     []byte
}

// next returns the piece repaired, which is the piece itself where it is
// sound. The result is good until the next call.
func (r *repair) next(p []byte) []byte {
	if r.waits > 0 {
		r.joined = append(r.joined[:r.waits], p...)
		p = r.joined
	}
	r.waits = 0
	if utf8.Valid(p) && (r.keepNUL || bytes.IndexByte(p, 0) < 0) {
		return p
	}
	r.out = r.out[:0]
	from, i := 0, 0
	for i < len(p) {
		if 0 < p[i] && p[i] < utf8.RuneSelf {
			i++
			continue
		}
		c, n := utf8.DecodeRune(p[i:])
		if c == utf8.RuneError && n == 1 {
			n = malformed(p[i:])
		} else if c != 0 || r.keepNUL {
			i += n
			continue
		}
		r.out = append(r.out, p[from:i]...)
		if i+n == len(p) && !utf8.FullRune(p[i:]) {
			r.joined = append(r.joined[:0], p[i:]...)
			r.waits = n
			return r.out
		}
		r.out = append(r.out, replacement...)
		i += n
		from = i
	}
	r.out = append(r.out, p[from:]...)
	return r.out
}

// end returns what an unfinished character becomes when nothing follows.
func (r *repair) end() []byte {
	if r.waits == 0 {
		return nil
	}
	r.waits = 0
	return []byte(replacement)
}

// malformed returns how many bytes of p, which begins with no character, are
// the beginning of one; at least 1.
func malformed(p []byte) int {
	for n := min(len(p), utf8.UTFMax-1); n > 1; n-- {
		if !utf8.FullRune(p[:n]) {
			return n
		}
	}
	return 1
}

// runeLen is the length of the character that begins with c, in sound text.
func runeLen(c byte) int {
	switch {
	case c < 0xC0:
		return 1
	case c < 0xE0:
		return 2
	case c < 0xF0:
		return 3
	}
	return 4
}

// fitting returns how many of the first n bytes of p are whole characters.
func fitting(p []byte, n int) int {
	if n >= len(p) {
		return len(p)
	}
	for n > 0 && !utf8.RuneStart(p[n]) {
		n--
	}
	return n
}
