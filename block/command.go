package block

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxVerb is the length of a command's verb without its slash.
const maxVerb = 32

// checkCommand returns the rule that a slash command breaks and why. A command
// only ever fills the composer, where a person reads it before sending it: what
// they cannot see must not be in it.
func checkCommand(s string) (rule, reason string) {
	if utf8.RuneCountInString(s) > MaxCommand {
		return "S1", "longer than 256 characters"
	}
	verb, _, _ := strings.Cut(s, " ")
	verb, ok := strings.CutPrefix(verb, "/")
	if !ok || len(verb) > maxVerb || !isIdentifier(verb) {
		return "S1", "begins with a slash and a verb of a-z, 0-9, _ and -"
	}
	if !utf8.ValidString(s) || strings.ContainsFunc(s, isInvisible) {
		return "S1", "a control or an invisible character"
	}
	return "", ""
}

// commandKey is the verb with the words that are no amounts: what is bought,
// not how much of it.
func commandKey(s string) string {
	words := strings.Fields(strings.ToLower(s))
	key := words[:0]
	for i, w := range words {
		if i == 0 || !isAmount(w) {
			key = append(key, w)
		}
	}
	return strings.Join(key, " ")
}

// isAmount reports whether a word in small letters is a number: a sign of a
// currency if wanted, digits with . , and _ among them, and one of % k m b.
func isAmount(s string) bool {
	if r, n := utf8.DecodeRuneInString(s); unicode.Is(unicode.Sc, r) {
		s = s[n:]
	}
	if n := len(s); n > 0 && strings.IndexByte("%kmb", s[n-1]) >= 0 {
		s = s[:n-1]
	}
	return strings.ContainsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' }) &&
		all(s, func(c byte) bool { return isDigit(c) || c == '.' || c == ',' || c == '_' })
}
