package block

import (
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A route is a path of the application that a page follows without loading
// anything. It must mean the same to every program on the way, so what
// browsers, routers and servers read in different ways is refused rather than
// cleaned: a route that is accepted is left unchanged by a browser and stays
// within its origin however often it is decoded.

// checkRoute returns the rule that a route breaks and why; "" when it breaks
// none.
func checkRoute(s string) (rule, reason string) {
	if len(s) > MaxRoute {
		return "R1", "longer than 512 characters"
	}
	if len(s) < 2 || s[0] != '/' || !isAlnum(s[1]) {
		return "R1", "begins with a slash and a letter or digit"
	}
	if !all(s, func(c byte) bool { return isAlnum(c) || strings.IndexByte("-._~!$&'()*+,;=:@/?#%", c) >= 0 }) {
		return "R1", "a character that must be escaped, or is refused"
	}
	if strings.Contains(s, "//") {
		return "R2", "two slashes in a row"
	}
	if strings.Count(s, "#") > 1 {
		return "R2", "a second #"
	}
	path, query, fragment := splitRoute(s)
	if strings.Contains(path, ";") {
		return "R2", "; in the path"
	}
	if !escapesWhole(s) {
		return "R3", "% without two hexadecimal digits"
	}
	decoded := unescape(s)
	if !utf8.ValidString(decoded) {
		return "R3", "escapes that are not UTF-8"
	}
	for i := 0; i < len(path); i++ {
		// UTF-8 has no byte below 0x80 within a character, so none of these
		// can be part of one.
		if path[i] == '%' && path[i+1] < '8' {
			return "R4", "an escaped ASCII character in the path"
		}
	}
	if why := lookAlike(decoded); why != "" {
		return "R5", why
	}
	if slices.ContainsFunc(strings.Split(path, "/"), onlyDots) {
		return "R6", "a segment of dots only"
	}
	if why := checkValues(query); why != "" {
		return "R7", why
	}
	if why := checkFragment(fragment); why != "" {
		return "R8", why
	}
	if strings.Contains(query, "'") || strings.HasSuffix(s, "#") || query == "" && strings.HasPrefix(s[len(path):], "?") {
		return "R9", "a browser would write it differently"
	}
	return "", ""
}

// splitRoute returns the parts of a route without ? and #.
func splitRoute(s string) (path, query, fragment string) {
	s, fragment, _ = strings.Cut(s, "#")
	path, query, _ = strings.Cut(s, "?")
	return path, query, fragment
}

// escapesWhole reports whether two hexadecimal digits follow every %.
func escapesWhole(s string) bool {
	for i := range len(s) {
		if s[i] == '%' && (i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2])) {
			return false
		}
	}
	return true
}

// unescape decodes what is escaped once, and leaves as it is what is not an
// escape. Many servers do; strict ones are content with less.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) && isHex(s[i+1]) && isHex(s[i+2]) {
			b = append(b, unhex(s[i+1])<<4|unhex(s[i+2]))
			i += 2
			continue
		}
		b = append(b, s[i])
	}
	return string(b)
}

func unhex(c byte) byte {
	switch {
	case c >= 'a':
		return c - 'a' + 10
	case c >= 'A':
		return c - 'A' + 10
	}
	return c - '0'
}

// eachDecoding calls f with the text decoded once, twice and so on until
// nothing is escaped any more, and returns the first complaint. Every step is
// shorter than the one before, so this ends.
func eachDecoding(s string, f func(string) string) string {
	for {
		next := unescape(s)
		if !utf8.ValidString(next) {
			return "escapes that are not UTF-8 when decoded again"
		}
		if why := f(next); why != "" {
			return why
		}
		if next == s {
			return ""
		}
		s = next
	}
}

// lookAlike complains about characters of decoded text that are invisible, or
// that software which normalises text turns into a separator.
func lookAlike(s string) string {
	for _, r := range s {
		if r < utf8.RuneSelf {
			continue
		}
		if isInvisible(r) {
			return "an invisible character"
		}
		switch r {
		case '\u2044', '\u2215', '\u2216', '\u29F5', '\u29F8', '\u2024', '\u2025', '\u2026':
			return "a character that looks like a separator"
		}
	}
	if isASCII(s) {
		return ""
	}
	for _, run := range strings.FieldsFunc(s, func(r rune) bool { return r < utf8.RuneSelf }) {
		if strings.ContainsFunc(norm.NFKC.String(run), func(r rune) bool {
			return strings.ContainsRune(`/\.;?#%@:`, r) || unicode.IsSpace(r)
		}) {
			return "a character that is normalised to a separator"
		}
	}
	return ""
}

func isASCII(s string) bool { return all(s, func(c byte) bool { return c < utf8.RuneSelf }) }

// onlyDots reports whether a segment is one or more dots.
func onlyDots(s string) bool { return s != "" && strings.Trim(s, ".") == "" }

// checkValues complains about a value of a query that a page which redirects
// to it would follow out of the application.
func checkValues(query string) string {
	for pair := range strings.FieldsFuncSeq(query, func(r rune) bool { return r == '&' || r == ';' }) {
		value := pair
		if _, v, ok := strings.Cut(pair, "="); ok {
			value = v
		}
		if why := eachDecoding(value, leadsAway); why != "" {
			return why
		}
		// The name, and what else is in the pair, is text.
		if why := eachDecoding(pair, hasControl); why != "" {
			return why
		}
	}
	return ""
}

func hasControl(s string) string {
	if strings.ContainsFunc(s, func(r rune) bool { return r < ' ' || isInvisible(r) }) {
		return "an escaped control character"
	}
	return ""
}

// leadsAway complains about a decoded value that a browser takes for an address
// of its own. Blanks before one do not count: browsers drop them, and a plus is
// one in a form.
func leadsAway(s string) string {
	s = strings.TrimLeft(norm.NFKC.String(s), " +")
	switch {
	case strings.HasPrefix(s, "//"), strings.HasPrefix(s, `/\`), strings.HasPrefix(s, `\`):
		return "a value that begins like an address elsewhere"
	case hasScheme(s):
		return "a value that begins with a scheme"
	}
	return ""
}

// hasScheme reports whether s begins as an address does: a letter, then
// letters, digits, + - or . up to a colon.
func hasScheme(s string) bool {
	scheme, _, ok := strings.Cut(s, ":")
	return ok && scheme != "" && isAlnum(scheme[0]) && !isDigit(scheme[0]) &&
		all(scheme, func(c byte) bool { return isAlnum(c) || strings.IndexByte("+-.", c) >= 0 })
}

// checkFragment complains about a fragment that a router which reads it as a
// path, with a query perhaps, would follow elsewhere.
func checkFragment(fragment string) string {
	if why := eachDecoding(fragment, func(s string) string {
		path, _, _ := strings.Cut(s, "?")
		switch {
		case strings.Contains(s, `\`):
			return `\ in the fragment`
		case slices.ContainsFunc(strings.Split(path, "/"), onlyDots):
			return "a segment of dots only in the fragment"
		}
		if why := hasControl(s); why != "" {
			return why
		}
		return leadsAway(s)
	}); why != "" {
		return why
	}
	// #next=… is a query without a question mark.
	if why := checkValues(fragment); why != "" {
		return why
	}
	_, query, _ := strings.Cut(fragment, "?")
	return checkValues(query)
}

// routePath is the path of a route as routes are compared by: without one
// slash at its end, escapes in one spelling.
func routePath(s string) string {
	path, _, _ := splitRoute(s)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return normalEscapes(path)
}

// routeKey is the path with the query in one order: by name, values of one name
// as they come.
func routeKey(s string) string {
	_, query, _ := splitRoute(s)
	pairs := strings.FieldsFunc(normalEscapes(query), func(r rune) bool { return r == '&' })
	slices.SortStableFunc(pairs, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return strings.Compare(nameA, nameB)
	})
	if len(pairs) == 0 {
		return routePath(s)
	}
	return routePath(s) + "?" + strings.Join(pairs, "&")
}

// normalEscapes writes escapes in one spelling (RFC 3986 §6.2.2): capitals, and
// none for letters, digits and -._~.
func normalEscapes(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	const capitals = "0123456789ABCDEF"
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '%' || i+2 >= len(s) || !isHex(s[i+1]) || !isHex(s[i+2]) {
			b = append(b, s[i])
			continue
		}
		c := unhex(s[i+1])<<4 | unhex(s[i+2])
		if isAlnum(c) || strings.IndexByte("-._~", c) >= 0 {
			b = append(b, c)
		} else {
			b = append(b, '%', capitals[c>>4], capitals[c&15])
		}
		i += 2
	}
	return string(b)
}
