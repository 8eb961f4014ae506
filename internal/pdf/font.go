package pdf

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
)

// font turns the codes of a text into runes.
type font struct {
	// codes is what the font says itself (ToUnicode), by code; width is how
	// many bytes a code has there, by its first byte.
	codes  map[string]string
	ranges []codeRange
	width  [256]byte
	// single is for fonts with codes of one byte.
	single   [256]string
	advances [256]float64
	// wide fonts have codes of two bytes; whole decodes their texts at once.
	wide  bool
	whole func(string) string
}

type codeRange struct {
	low, high int
	bytes     int
	to        []uint16
}

// Bounds of a font's own table.
const (
	maxCodes  = 1 << 16
	maxRanges = 1 << 12
)

func (f *file) font(v any) *font {
	r, isRef := v.(ref)
	if isRef {
		if known, ok := f.fonts[r]; ok {
			return known
		}
	}
	made := f.newFont(f.dict(v))
	if isRef {
		f.fonts[r] = made
	}
	return made
}

func (f *file) newFont(d dict) *font {
	out := &font{wide: d["Subtype"] == name("Type0")}
	if s, ok := f.get(d["ToUnicode"]).(stream); ok {
		out.readTable(f, f.unpack(s))
	}
	if out.wide {
		encoding, _ := f.get(d["Encoding"]).(name)
		out.whole = wholeDecoder(string(encoding))
		return out
	}
	base := charmap.Windows1252
	var differences array
	switch e := f.get(d["Encoding"]).(type) {
	case name:
		if e == "MacRomanEncoding" {
			base = charmap.Macintosh
		}
	case dict:
		if f.get(e["BaseEncoding"]) == name("MacRomanEncoding") {
			base = charmap.Macintosh
		}
		differences, _ = f.get(e["Differences"]).(array)
	}
	for i := range out.single {
		if r := base.DecodeByte(byte(i)); r >= ' ' && r != '\uFFFD' {
			out.single[i] = string(r)
		}
	}
	first, _ := f.get(d["FirstChar"]).(float64)
	widths, _ := f.get(d["Widths"]).(array)
	for i, v := range widths[:min(len(widths), 256)] {
		if n, ok := f.get(v).(float64); ok && first >= 0 && int(first)+i < 256 {
			out.advances[int(first)+i] = n
		}
	}
	code := 0
	for _, v := range differences {
		switch v := f.get(v).(type) {
		case float64:
			code = int(v)
		case name:
			if text := glyph(string(v)); text != "" && code >= 0 && code < 256 {
				out.single[code] = text
			}
			code++
		}
	}
	return out
}

// wholeDecoder knows the encodings of East Asian fonts that say what their
// codes mean.
func wholeDecoder(name string) func(string) string {
	switch {
	case strings.Contains(name, "UCS2"), strings.Contains(name, "UTF16"):
		return utf16Text
	case strings.HasPrefix(name, "GB"):
		return decoder(simplifiedchinese.GB18030)
	}
	return nil
}

func decoder(e encoding.Encoding) func(string) string {
	return func(s string) string {
		t, err := e.NewDecoder().String(s)
		if err != nil {
			return ""
		}
		return t
	}
}

func utf16Text(s string) string {
	u := make([]uint16, len(s)/2)
	for i := range u {
		u[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return string(utf16.Decode(u))
}

// glyph returns what the name of a glyph stands for, as far as names say it.
func glyph(name string) string {
	if len(name) == 1 {
		return name
	}
	if t, ok := glyphs[name]; ok {
		return t
	}
	hex, ok := strings.CutPrefix(name, "uni")
	if !ok {
		if hex, ok = strings.CutPrefix(name, "u"); !ok {
			return ""
		}
	}
	n, err := strconv.ParseUint(hex, 16, 32)
	if err != nil || len(hex) < 4 || n > 0x10FFFF {
		return ""
	}
	return string(rune(n))
}

// glyphPairs are names of glyphs, each followed by what it stands for.
const glyphPairs = `exclam ! quotedbl " numbersign # dollar $ percent % ampersand & quotesingle '
parenleft ( parenright ) asterisk * plus + comma , hyphen - period . slash / zero 0 one 1 two 2 three 3 four 4
five 5 six 6 seven 7 eight 8 nine 9 colon : semicolon ; less < equal = greater > question ? at @ bracketleft [
backslash \ bracketright ] asciicircum ^ underscore _ braceleft { bar | braceright } asciitilde ~
quoteleft ‘ quoteright ’ quotedblleft “ quotedblright ” endash – emdash — bullet • ellipsis … fi fi fl fl ff ff
ffi ffi ffl ffl euro € Euro € sterling £ yen ¥ section § degree ° copyright © registered ® trademark ™
adieresis ä odieresis ö udieresis ü Adieresis Ä Odieresis Ö Udieresis Ü germandbls ß eacute é egrave è agrave à
ccedilla ç ecircumflex ê acircumflex â ocircumflex ô icircumflex î ucircumflex û ntilde ñ aacute á iacute í
oacute ó uacute ú minus − multiply × divide ÷ plusminus ±`

var glyphs = func() map[string]string {
	m := map[string]string{"space": " ", "nbspace": " ", "nonbreakingspace": " "}
	fields := strings.Fields(glyphPairs)
	for i := 0; i+1 < len(fields); i += 2 {
		m[fields[i]] = fields[i+1]
	}
	return m
}()

// readTable reads the table that a font has itself (a ToUnicode CMap).
func (t *font) readTable(f *file, b []byte) {
	l := lexer{b: b}
	var args array
	t.codes = make(map[string]string)
	for f.tick() == nil {
		v, ok := l.object(0)
		if !ok {
			return
		}
		op, isWord := v.(word)
		if !isWord {
			if args = append(args, v); len(args) > 3*maxCodes {
				return
			}
			continue
		}
		switch op {
		case "endcodespacerange":
			for i := 0; i+1 < len(args); i += 2 {
				low, ok1 := args[i].(str)
				high, ok2 := args[i+1].(str)
				if !ok1 || !ok2 || len(low) != len(high) || len(low) == 0 || len(low) > 4 {
					continue
				}
				for c := int(low[0]); c <= int(high[0]); c++ {
					t.width[c] = byte(len(low))
				}
			}
		case "endbfchar":
			for i := 0; i+1 < len(args) && len(t.codes) < maxCodes; i += 2 {
				from, ok1 := args[i].(str)
				to, ok2 := args[i+1].(str)
				if ok1 && ok2 {
					t.codes[string(from)] = utf16Text(string(to))
				}
			}
		case "endbfrange":
			t.addRanges(args)
		}
		args = args[:0]
	}
}

func (t *font) addRanges(args array) {
	for i := 0; i+2 < len(args) && len(t.ranges) < maxRanges; i += 3 {
		low, ok1 := args[i].(str)
		high, ok2 := args[i+1].(str)
		if !ok1 || !ok2 || len(low) != len(high) || len(low) == 0 || len(low) > 4 {
			continue
		}
		switch to := args[i+2].(type) {
		case str:
			if len(to) >= 2 && len(to) <= 32 {
				t.ranges = append(t.ranges, codeRange{low: codeOf(low), high: codeOf(high), bytes: len(low), to: units(to)})
			}
		case array:
			for j, v := range to {
				if text, ok := v.(str); ok && len(t.codes) < maxCodes {
					t.codes[codeText(codeOf(low)+j, len(low))] = utf16Text(string(text))
				}
			}
		}
	}
}

func codeOf(s str) int {
	n := 0
	for i := range len(s) {
		n = n<<8 | int(s[i])
	}
	return n
}

func codeText(n, size int) string {
	b := make([]byte, size)
	for i := size - 1; i >= 0; i-- {
		b[i] = byte(n)
		n >>= 8
	}
	return string(b)
}

func units(s str) []uint16 {
	u := make([]uint16, len(s)/2)
	for i := range u {
		u[i] = uint16(s[2*i])<<8 | uint16(s[2*i+1])
	}
	return u
}

// text returns what a text in this font says; codes without a meaning are left
// out.
func (t *font) text(s string) string {
	if t.whole != nil && len(t.codes) == 0 && len(t.ranges) == 0 {
		return t.whole(s)
	}
	var out strings.Builder
	for len(s) > 0 {
		n := int(t.width[s[0]])
		if n == 0 {
			n = 1
			if t.wide {
				n = 2
			}
		}
		n = min(n, len(s))
		out.WriteString(t.code(s[:n]))
		s = s[n:]
	}
	return out.String()
}

func (t *font) code(c string) string {
	if text, ok := t.codes[c]; ok {
		return text
	}
	n := codeOf(str(c))
	for _, r := range t.ranges {
		if n >= r.low && n <= r.high && len(c) == r.bytes {
			u := slices.Clone(r.to)
			u[len(u)-1] += uint16(n - r.low)
			return t.remember(c, string(utf16.Decode(u)))
		}
	}
	if len(c) == 1 && !t.wide {
		return t.single[c[0]]
	}
	return t.remember(c, "")
}

// remember spares the next look through the ranges.
func (t *font) remember(c, text string) string {
	if t.codes != nil && len(t.codes) < 2*maxCodes {
		t.codes[c] = text
	}
	return text
}

// advance estimates how wide a text is, in thousandths of the font's size.
func (t *font) advance(codes, text string) float64 {
	sum := 0.0
	if !t.wide {
		for i := range len(codes) {
			if n := t.advances[codes[i]]; n > 0 {
				sum += n
			} else {
				sum += halfWidth
			}
		}
		return sum
	}
	for _, r := range text {
		if r >= firstWide {
			sum += 2 * halfWidth
		} else {
			sum += halfWidth
		}
	}
	return sum
}

// Without better knowledge letters are half as wide as high, ideographs, which
// begin here, as wide as high.
const (
	halfWidth = 500
	firstWide = 0x2E80
)
