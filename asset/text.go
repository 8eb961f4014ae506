package asset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"golang.org/x/text/encoding"
	"golang.org/x/text/encoding/charmap"
	"golang.org/x/text/encoding/simplifiedchinese"
	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"github.com/inlay-ui/inlay/store"
)

// sampleSize is how much of a text says how it is encoded.
const sampleSize = 64 << 10

// charsetOf guesses the encoding of a text by its first bytes: a byte order
// mark, then whether it is valid UTF-8, then whether it is valid GB 18030, and
// Windows-1252, in which everything is valid.
func charsetOf(sample []byte, whole bool) (name string, e encoding.Encoding) {
	switch {
	case bytes.HasPrefix(sample, []byte("\xEF\xBB\xBF")):
		return "utf-8", unicode.UTF8BOM
	case bytes.HasPrefix(sample, []byte("\xFF\xFE")):
		return "utf-16le", unicode.UTF16(unicode.LittleEndian, unicode.UseBOM)
	case bytes.HasPrefix(sample, []byte("\xFE\xFF")):
		return "utf-16be", unicode.UTF16(unicode.BigEndian, unicode.UseBOM)
	case validUTF8(sample, whole):
		return "utf-8", unicode.UTF8
	}
	decoded, err := simplifiedchinese.GB18030.NewDecoder().Bytes(sample)
	// The last character of a sample may be cut in two.
	if err == nil && bytes.Count(decoded, []byte("\uFFFD")) <= 1 && !bytes.Contains(decoded[:max(len(decoded)-8, 0)], []byte("\uFFFD")) && mostlyHan(decoded) {
		return "gb18030", simplifiedchinese.GB18030
	}
	return "windows-1252", charmap.Windows1252
}

// mostlyHan says whether the letters beyond ASCII are Chinese: text in Western
// European languages often is valid GB 18030 too, with odd ideographs.
func mostlyHan(b []byte) bool {
	wide, common := 0, 0
	for _, r := range string(b) {
		switch {
		case r < 0x80:
		case r >= 0x4E00 && r <= 0x9FFF, r >= 0x3000 && r <= 0x303F, r >= 0xFF00 && r <= 0xFFEF:
			wide++
			common++
		default:
			wide++
		}
	}
	return common*10 >= wide*8
}

func validUTF8(b []byte, whole bool) bool {
	if !whole {
		// Not more than one character is cut off at the end.
		for i := 1; i <= utf8.UTFMax && i <= len(b); i++ {
			if utf8.RuneStart(b[len(b)-i]) {
				if !utf8.FullRune(b[len(b)-i:]) {
					b = b[:len(b)-i]
				}
				break
			}
		}
	}
	return utf8.Valid(b)
}

// decoded returns the text of a file in UTF-8, without a byte order mark.
func decoded(r io.ReaderAt, size int64) (text io.Reader, charset string, err error) {
	sample := make([]byte, min(size, sampleSize))
	if n, err := r.ReadAt(sample, 0); n < len(sample) {
		return nil, "", fmt.Errorf("read text: %w", err)
	}
	charset, e := charsetOf(sample, size <= sampleSize)
	if charset == "utf-8" { // as it is, without its byte order mark
		from := int64(len(sample) - len(bytes.TrimPrefix(sample, []byte("\xEF\xBB\xBF"))))
		return io.NewSectionReader(r, from, size-from), charset, nil
	}
	return transform.NewReader(io.NewSectionReader(r, 0, size), e.NewDecoder()), charset, nil
}

// firstText returns at most size bytes from the beginning of a text.
func firstText(r io.ReaderAt, size int64, most int) (text, charset string, more bool, err error) {
	in, charset, err := decoded(r, size)
	if err != nil {
		return "", "", false, err
	}
	b, err := io.ReadAll(io.LimitReader(in, int64(most)+1))
	if err != nil {
		return "", "", false, fmt.Errorf("read text: %w", err)
	}
	if more = len(b) > most; more {
		b = b[:most]
		b = bytes.ToValidUTF8(b, nil) // the last character may be cut in two
	}
	return visible(string(b)), charset, more, nil
}

// visible replaces what no text has: control characters other than those of
// lines.
func visible(s string) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' && r != '\n' && r != '\t' && r != '\r' || r == 0x7F {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, "\uFFFD"))
}

// Bounds of one page of a text.
const (
	pageLines = 500
	lineRunes = 2000
)

// textLines returns limit lines from offset on.
func (l *Library) textLines(ctx context.Context, a store.Asset, r *random, offset, limit int) (Preview, error) {
	in, _, err := decoded(r, a.Size)
	if err != nil {
		return Preview{}, err
	}
	p := Preview{Kind: kindText, Offset: offset}
	lines := bufio.NewReaderSize(in, 64<<10)
	var b strings.Builder
	for n := 0; ; n++ {
		if n&1023 == 0 && ctx.Err() != nil {
			return Preview{}, fmt.Errorf("read text: %w", context.Cause(ctx))
		}
		line, err := readLine(lines)
		if errors.Is(err, io.EOF) && line == "" {
			break
		}
		if err != nil && !errors.Is(err, io.EOF) {
			return Preview{}, fmt.Errorf("read text: %w", err)
		}
		if n >= offset+limit {
			p.More, p.Truncated = true, true
			break
		}
		if n >= offset {
			b.WriteString(visible(line))
		}
	}
	p.Text = b.String()
	return p, nil
}

// readLine reads a line with its end; of a long one the rest is left out.
func readLine(r *bufio.Reader) (string, error) {
	var line []byte
	for {
		part, err := r.ReadSlice('\n')
		if room := lineRunes*utf8.UTFMax - len(line); room > 0 {
			line = append(line, part[:min(room, len(part))]...)
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		s := cutRunes(string(line), lineRunes)
		if len(part) > 0 && part[len(part)-1] == '\n' && !strings.HasSuffix(s, "\n") {
			s += "\n"
		}
		return s, err
	}
}

// cutRunes cuts a text after so many runes and says so with an ellipsis.
func cutRunes(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n++; n == most {
			return s[:i] + "…"
		}
	}
	return s
}
