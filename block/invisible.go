package block

import "unicode"

// invisible are the characters that are not seen but change what is read or
// done: controls, separators of lines, marks of direction, characters without
// width, tags, and those that stand for broken text. The table is spelt out so
// that every client can hold the same one; the Unicode version of a library
// would not agree.
var invisible = &unicode.RangeTable{
	R16: []unicode.Range16{
		{Lo: 0x0000, Hi: 0x001F, Stride: 1}, // C0
		{Lo: 0x007F, Hi: 0x009F, Stride: 1}, // DEL, C1
		{Lo: 0x00AD, Hi: 0x00AD, Stride: 1}, // soft hyphen
		{Lo: 0x034F, Hi: 0x034F, Stride: 1}, // combining grapheme joiner
		{Lo: 0x061C, Hi: 0x061C, Stride: 1}, // Arabic letter mark
		{Lo: 0x115F, Hi: 0x1160, Stride: 1}, // Hangul fillers
		{Lo: 0x17B4, Hi: 0x17B5, Stride: 1}, // Khmer inherent vowels
		{Lo: 0x180B, Hi: 0x180F, Stride: 1}, // Mongolian selectors and separator
		{Lo: 0x200B, Hi: 0x200F, Stride: 1}, // zero width space, joiners, direction marks
		{Lo: 0x2028, Hi: 0x202E, Stride: 1}, // line and paragraph separator, embeddings, overrides
		{Lo: 0x2060, Hi: 0x206F, Stride: 1}, // word joiner, invisible operators, isolates
		{Lo: 0x3164, Hi: 0x3164, Stride: 1}, // Hangul filler
		{Lo: 0xFE00, Hi: 0xFE0F, Stride: 1}, // variation selectors
		{Lo: 0xFEFF, Hi: 0xFEFF, Stride: 1}, // byte order mark
		{Lo: 0xFFA0, Hi: 0xFFA0, Stride: 1}, // half width Hangul filler
		{Lo: 0xFFF0, Hi: 0xFFFF, Stride: 1}, // annotations, replacement, no characters
	},
	R32: []unicode.Range32{
		{Lo: 0x1BCA0, Hi: 0x1BCA3, Stride: 1}, // shorthand controls
		{Lo: 0x1D173, Hi: 0x1D17A, Stride: 1}, // musical controls
		{Lo: 0xE0000, Hi: 0xE0FFF, Stride: 1}, // tags, more variation selectors
	},
	LatinOffset: 3,
}

func isInvisible(r rune) bool { return unicode.Is(invisible, r) }

// joins reports the invisible characters that emoji are composed with: the
// zero width joiner and the selectors of text and emoji style.
func joins(r rune) bool { return r == 0x200D || r == 0xFE0E || r == 0xFE0F }
