package terminal

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"

	"github.com/inlay-ui/inlay/block"
)

// Clean returns what may be written to a terminal of a text that others wrote:
// escape sequences, control characters and all that is not seen but changes
// what is read are taken out, tabs become four blanks, and what is not UTF-8
// becomes U+FFFD. Lines end with LF; it is the only control character left.
func Clean(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	b.Grow(len(s))
	for i := 0; i < len(s); {
		r, n := utf8.DecodeRuneInString(s[i:])
		i += n
		switch {
		case r == utf8.RuneError:
			b.WriteRune(utf8.RuneError)
		case r == '\n':
			b.WriteByte('\n')
		case r == '\r':
			if !strings.HasPrefix(s[i:], "\n") {
				b.WriteByte('\n')
			}
		case r == '\t':
			b.WriteString("    ")
		case r == 0x2028 || r == 0x2029:
			b.WriteByte('\n')
		case r == 0x1b:
			i += sequence(s[i:])
		case r == 0x9b: // CSI as one character
			i += parameters(s[i:])
		case r == 0x90 || r == 0x98 || r == 0x9d || r == 0x9e || r == 0x9f:
			i += command(s[i:])
		case block.Invisible(r):
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// clean reports whether there is nothing to take out.
func clean(s string) bool {
	for _, r := range s {
		if r != '\n' && (block.Invisible(r) || r == utf8.RuneError) {
			return false
		}
	}
	return true
}

// sequence is the length of the escape sequence that s goes on with after ESC.
func sequence(s string) int {
	if s == "" {
		return 0
	}
	switch c := s[0]; {
	case c == '[':
		return 1 + parameters(s[1:])
	case c == ']' || c == 'P' || c == 'X' || c == '^' || c == '_':
		return 1 + command(s[1:])
	case c >= 0x20 && c <= 0x2f: // intermediates, then one more
		n := 1
		for n < len(s) && s[n] >= 0x20 && s[n] <= 0x2f {
			n++
		}
		if n < len(s) && s[n] >= 0x30 && s[n] <= 0x7e {
			n++
		}
		return n
	case c >= 0x30 && c <= 0x7e:
		return 1
	}
	return 0
}

// parameters is the length of what follows CSI: parameters, intermediates and
// the character that ends it.
func parameters(s string) int {
	n := 0
	for n < len(s) && s[n] >= 0x20 && s[n] <= 0x3f {
		n++
	}
	if n < len(s) && s[n] >= 0x40 && s[n] <= 0x7e {
		n++
	}
	return n
}

// command is the length of what follows OSC, DCS and their like, to the end of
// the string, which is BEL or ST. What never ends is text.
func command(s string) int {
	for i, r := range s {
		switch {
		case r == 0x07:
			return i + 1
		case r == 0x9c:
			return i + utf8.RuneLen(r)
		case r == 0x1b:
			if strings.HasPrefix(s[i:], "\x1b\\") {
				return i + 2
			}
			return i
		case r == '\n':
			return 0
		}
	}
	return 0
}

// oneLine is a text as one line.
func oneLine(s string) string { return strings.Join(strings.Fields(Clean(s)), " ") }

// Width is how many cells of a terminal a text takes: two for a wide character
// of East Asia or an emoji, none for a mark that combines.
func Width(s string) int {
	n := 0
	for _, r := range s {
		n += cells(r)
	}
	return n
}

func cells(r rune) int {
	if r >= 0x20 && r < 0x7f {
		return 1
	}
	if block.Invisible(r) && r != utf8.RuneError || unicode.In(r, unicode.Mn, unicode.Me) || r >= 0x1160 && r <= 0x11ff {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// clip cuts a text to so many cells; what is cut ends with an ellipsis.
func clip(s string, n int) string {
	if Width(s) <= n {
		return s
	}
	if n <= 0 {
		return ""
	}
	at, used := 0, 0
	for i, r := range s {
		if used+cells(r) > n-1 {
			break
		}
		used += cells(r)
		at = i + utf8.RuneLen(r)
	}
	return strings.TrimRight(s[:at], " ") + "…"
}
