package block

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// formats are the formats that a form's schema may name. Each is a rule so
// small that the server and the browser come to the same verdict; the vectors
// in testdata/form-formats.jsonl hold both to it. All of them are plain ASCII,
// none allows blanks around the value, and they judge strings only.
var formats = map[string]func(string) bool{
	"date":          isDate,
	"time":          isTime,
	"date-time":     isDateTime,
	"iso-time":      isISOTime,
	"iso-date-time": isISODateTime,
	"duration":      isDuration,
	"email":         isEmail,
	"hostname":      isHostname,
	"ipv4":          isIPv4,
	"ipv6":          isIPv6,
	"uri":           isURI,
	"uuid":          isUUID,
	"color":         isColor,
	"asset":         isAsset,
}

// Formats returns the names of the formats that a form's schema may use, in
// order.
func Formats() []string { return slices.Sorted(maps.Keys(formats)) }

// ValidFormat reports whether a string is of a format. ok is false for a
// format that is not one of Formats.
func ValidFormat(format, value string) (valid, ok bool) {
	f, ok := formats[format]
	return ok && f(value), ok
}

// registerFormats makes a compiler judge formats by the rules above instead of
// its own.
func registerFormats(c *jsonschema.Compiler) {
	for name, valid := range formats {
		c.RegisterFormat(&jsonschema.Format{Name: name, Validate: func(v any) error {
			if s, ok := v.(string); ok && !valid(s) {
				return fmt.Errorf("not a %s", name)
			}
			return nil
		}})
	}
	c.AssertFormat()
}

func isDigit(c byte) bool { return c >= '0' && c <= '9' }

func isHex(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F' }

func isAlnum(c byte) bool { return isDigit(c) || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

func all(s string, ok func(byte) bool) bool {
	for i := range len(s) {
		if !ok(s[i]) {
			return false
		}
	}
	return true
}

// digits reads exactly n digits at the start of s.
func digits(s string, n int) (v int, rest string, ok bool) {
	if len(s) < n || !all(s[:n], isDigit) {
		return 0, s, false
	}
	for i := range n {
		v = v*10 + int(s[i]-'0')
	}
	return v, s[n:], true
}

// isDate: YYYY-MM-DD, a day of the Gregorian calendar; the year is 0000 to
// 9999.
func isDate(s string) bool {
	if len(s) != len("2006-01-02") || s[4] != '-' || s[7] != '-' {
		return false
	}
	y, _, okY := digits(s, 4)
	m, _, okM := digits(s[5:], 2)
	d, _, okD := digits(s[8:], 2)
	if !okY || !okM || !okD || m < 1 || m > 12 {
		return false
	}
	days := [...]int{31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31}[m-1]
	if m == 2 && y%4 == 0 && (y%100 != 0 || y%400 == 0) {
		days = 29
	}
	return d >= 1 && d <= days
}

// clock reads HH:MM:SS with a fraction of one to nine digits; hours to 23, no
// leap seconds. With short the seconds may be missing.
func clock(s string, short bool) (rest string, ok bool) {
	h, rest, ok := digits(s, 2)
	if !ok || h > 23 || !strings.HasPrefix(rest, ":") {
		return s, false
	}
	m, rest, ok := digits(rest[1:], 2)
	if !ok || m > 59 {
		return s, false
	}
	if !strings.HasPrefix(rest, ":") {
		return rest, short
	}
	sec, rest, ok := digits(rest[1:], 2)
	if !ok || sec > 59 {
		return s, false
	}
	if fraction, has := strings.CutPrefix(rest, "."); has {
		n := 0
		for n < len(fraction) && isDigit(fraction[n]) {
			n++
		}
		if n < 1 || n > 9 {
			return s, false
		}
		rest = fraction[n:]
	}
	return rest, true
}

// isOffset: Z, or + or - and HH:MM with hours to 23.
func isOffset(s string) bool {
	if s == "Z" {
		return true
	}
	if len(s) != len("+00:00") || s[0] != '+' && s[0] != '-' || s[3] != ':' {
		return false
	}
	h, _, okH := digits(s[1:], 2)
	m, _, okM := digits(s[4:], 2)
	return okH && okM && h <= 23 && m <= 59
}

// isTime: HH:MM:SS, a fraction if wanted, and an offset.
func isTime(s string) bool {
	rest, ok := clock(s, false)
	return ok && isOffset(rest)
}

// isDateTime: a date, a capital T and a time.
func isDateTime(s string) bool {
	date, time, ok := strings.Cut(s, "T")
	return ok && isDate(date) && isTime(time)
}

// isISOTime: as time, but the seconds and the offset may be missing, as a
// field of a page writes it.
func isISOTime(s string) bool {
	rest, ok := clock(s, true)
	return ok && (rest == "" || isOffset(rest))
}

// isISODateTime: a date, a capital T and an iso-time.
func isISODateTime(s string) bool {
	date, time, ok := strings.Cut(s, "T")
	return ok && isDate(date) && isISOTime(time)
}

// isDuration: P and whole numbers of Y, M, D in this order, then T and those of
// H, M, S; or P and weeks alone. At least one number, at least one after T.
func isDuration(s string) bool {
	s, ok := strings.CutPrefix(s, "P")
	if !ok {
		return false
	}
	date, time, timed := strings.Cut(s, "T")
	if !timed && strings.HasSuffix(date, "W") {
		return len(date) > 1 && all(date[:len(date)-1], isDigit)
	}
	return (timed || date != "") && units(date, "YMD") && (!timed || time != "" && units(time, "HMS"))
}

// units reports whether s is numbers, each with one of the letters, in their
// order.
func units(s, letters string) bool {
	for s != "" {
		n := 0
		for n < len(s) && isDigit(s[n]) {
			n++
		}
		if n == 0 || n == len(s) {
			return false
		}
		at := strings.IndexByte(letters, s[n])
		if at < 0 {
			return false
		}
		s, letters = s[n+1:], letters[at+1:]
	}
	return true
}

// isEmail: name@domain; the name is 1 to 64 of letters, digits and
// !#$%&'*+/=?^_`{|}~- with single dots between, the domain a hostname of at
// least two labels; at most 254 in all.
func isEmail(s string) bool {
	name, domain, ok := strings.Cut(s, "@")
	if !ok || len(s) > 254 || len(name) == 0 || len(name) > 64 {
		return false
	}
	for part := range strings.SplitSeq(name, ".") {
		if part == "" || !all(part, func(c byte) bool { return isAlnum(c) || strings.IndexByte("!#$%&'*+/=?^_`{|}~-", c) >= 0 }) {
			return false
		}
	}
	return isHostname(domain) && strings.Contains(domain, ".")
}

// isHostname: labels of 1 to 63 letters, digits and hyphens, none at a label's
// begin or end, with dots between; at most 253 in all.
func isHostname(s string) bool {
	if s == "" || len(s) > 253 {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 || label[0] == '-' || label[len(label)-1] == '-' ||
			!all(label, func(c byte) bool { return isAlnum(c) || c == '-' }) {
			return false
		}
	}
	return true
}

// isIPv4: four numbers of 0 to 255 without leading zeros.
func isIPv4(s string) bool {
	parts := strings.Split(s, ".")
	if len(parts) != 4 {
		return false
	}
	for _, p := range parts {
		v, _, ok := digits(p, len(p))
		if !ok || p == "" || len(p) > 3 || len(p) > 1 && p[0] == '0' || v > 255 {
			return false
		}
	}
	return true
}

// isIPv6: eight groups of one to four hexadecimal digits; :: once, for one
// group or more; the last two groups may be an ipv4. No zone.
func isIPv6(s string) bool {
	head, tail, short := strings.Cut(s, "::")
	if strings.Contains(tail, "::") {
		return false
	}
	count := func(s string, last bool) (n int, ok bool) {
		if s == "" {
			return 0, true
		}
		groups := strings.Split(s, ":")
		for i, g := range groups {
			if last && i == len(groups)-1 && isIPv4(g) {
				n += 2
				continue
			}
			if g == "" || len(g) > 4 || !all(g, isHex) {
				return 0, false
			}
			n++
		}
		return n, true
	}
	a, okA := count(head, !short)
	b, okB := count(tail, true)
	if !okA || !okB {
		return false
	}
	if short {
		return a+b <= 7
	}
	return a == 8
}

// isURI: a scheme (a letter, then letters, digits, + - .), a colon and at least
// one of the characters of RFC 3986, percent-encoded ones included, with at
// most one #. After http: and https: a host must follow //.
func isURI(s string) bool {
	scheme, rest, ok := strings.Cut(s, ":")
	if !ok || scheme == "" || isDigit(scheme[0]) || !isAlnum(scheme[0]) || rest == "" ||
		!all(scheme, func(c byte) bool { return isAlnum(c) || strings.IndexByte("+-.", c) >= 0 }) {
		return false
	}
	hashes := 0
	for i := 0; i < len(rest); i++ {
		switch c := rest[i]; {
		case c == '%':
			if i+2 >= len(rest) || !isHex(rest[i+1]) || !isHex(rest[i+2]) {
				return false
			}
			i += 2
		case c == '#':
			hashes++
		case !isAlnum(c) && strings.IndexByte("-._~:/?[]@!$&'()*+,;=", c) < 0:
			return false
		}
	}
	if hashes > 1 {
		return false
	}
	if strings.EqualFold(scheme, "http") || strings.EqualFold(scheme, "https") {
		host, ok := strings.CutPrefix(rest, "//")
		return ok && host != "" && strings.IndexByte("/?#", host[0]) < 0
	}
	return true
}

// isUUID: 8-4-4-4-12 hexadecimal digits of either case.
func isUUID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i := range len(s) {
		if dash := i == 8 || i == 13 || i == 18 || i == 23; dash != (s[i] == '-') || !dash && !isHex(s[i]) {
			return false
		}
	}
	return true
}

// isColor: # and six hexadecimal digits.
func isColor(s string) bool { return len(s) == 7 && s[0] == '#' && all(s[1:], isHex) }

// isAsset: the id of an uploaded file, a_ and a UUID.
func isAsset(s string) bool {
	rest, ok := strings.CutPrefix(s, "a_")
	return ok && isUUID(rest)
}
