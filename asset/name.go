package asset

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Bounds of a file's name.
const (
	maxName      = 120 // runes
	maxNameBytes = 200
	maxExtension = 16 // bytes, the dot included
)

// CleanName makes a name that a file may have everywhere of what a client
// calls it: no directory, no control characters, none that turn the text
// around, no name that a system keeps for itself, of bounded length. What has
// no name left is called file.
func CleanName(s string) string {
	s = strings.ToValidUTF8(s, "")
	s = s[strings.LastIndexAny(s, `/\`)+1:]
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.Is(unicode.Cc, r), unicode.Is(unicode.Cf, r), unicode.Is(unicode.Co, r), unicode.Is(unicode.Zl, r), unicode.Is(unicode.Zp, r):
			return -1
		case unicode.IsSpace(r):
			return ' '
		case strings.ContainsRune(`<>:"|?*`, r), lookalike(r):
			return '_'
		}
		return r
	}, s)
	// Composed last: what was taken out may have kept marks from their letters.
	s = strings.Join(strings.Fields(norm.NFC.String(s)), " ")
	s = cutName(strings.Trim(s, ". "))
	if reserved(s) {
		s = "_" + s
	}
	if s == "" {
		return "file"
	}
	return s
}

// lookalike are runes that are taken for the separators of a path.
func lookalike(r rune) bool {
	switch r {
	case '∕', '⁄', '／', '＼', '⧵', '⧸', '⧹', '﹨':
		return true
	}
	return false
}

// cutName shortens a name before its extension.
func cutName(s string) string {
	if len(s) <= maxNameBytes && utf8.RuneCountInString(s) <= maxName {
		return s
	}
	ext := ""
	if i := strings.LastIndexByte(s, '.'); i > 0 && len(s)-i <= maxExtension {
		s, ext = s[:i], s[i:]
	}
	for len(s)+len(ext) > maxNameBytes || utf8.RuneCountInString(s)+len(ext) > maxName {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	return strings.TrimRight(s, ". ") + ext
}

// reserved names are devices, whatever their extension.
func reserved(s string) bool {
	base, _, _ := strings.Cut(strings.ToUpper(s), ".")
	base = strings.TrimRight(base, " ")
	switch base {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$":
		return true
	}
	for _, prefix := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(base, prefix); ok && utf8.RuneCountInString(n) == 1 && strings.ContainsAny(n, "0123456789¹²³") {
			return true
		}
	}
	return false
}
