package pdf

import (
	"bytes"
	"compress/zlib"
	"encoding/ascii85"
	"io"

	"golang.org/x/image/tiff/lzw"
)

// unpack returns what a stream holds, or the part of it that can be read. It
// is nil for what is no text: pictures, fonts, and when enough was unpacked.
func (f *file) unpack(s stream) []byte {
	filters, params := f.list(s.dict["Filter"]), f.list(s.dict["DecodeParms"])
	b := s.raw
	switch {
	case len(filters) > 4:
		return nil
	case len(filters) == 0:
		// Read as often as it is referred to, it costs what others cost.
		if f.left -= len(b); f.left < 0 {
			return nil
		}
	}
	for i, filter := range filters {
		var param dict
		if i < len(params) {
			param = f.dict(params[i])
		}
		var r io.Reader
		switch f.get(filter) {
		case name("FlateDecode"), name("Fl"):
			z, err := zlib.NewReader(bytes.NewReader(b))
			if err != nil {
				return nil
			}
			r = z
		case name("LZWDecode"), name("LZW"):
			r = lzw.NewReader(bytes.NewReader(b), lzw.MSB, 8)
		case name("ASCII85Decode"), name("A85"):
			b, _, _ = bytes.Cut(bytes.TrimPrefix(bytes.TrimSpace(b), []byte("<~")), []byte("~>"))
			r = ascii85.NewDecoder(bytes.NewReader(b))
		case name("ASCIIHexDecode"), name("AHx"):
			l := lexer{b: b}
			r = bytes.NewReader([]byte(l.hex()))
		default:
			return nil
		}
		b = f.read(r)
		b = unpredict(b, param)
	}
	return b
}

// list makes a list of what may be one thing or several.
func (f *file) list(v any) array {
	switch v := f.get(v).(type) {
	case nil:
		return nil
	case array:
		return v
	default:
		return array{v}
	}
}

// read reads as much as may still be unpacked. What a damaged stream gives
// before the damage is kept.
func (f *file) read(r io.Reader) []byte {
	if f.left <= 0 || f.ctx.Err() != nil {
		return nil
	}
	b, _ := io.ReadAll(io.LimitReader(r, int64(f.left))) // the rest of a damaged stream is lost
	f.left -= len(b)
	return b
}

// unpredict undoes the prediction of PNG, which tables of objects use.
func unpredict(b []byte, param dict) []byte {
	predictor, _ := param["Predictor"].(float64)
	if predictor < 10 {
		return b
	}
	number := func(key name, def int) int {
		if n, ok := param[key].(float64); ok && n >= 1 && n <= 1<<16 {
			return int(n)
		}
		return def
	}
	bpp := max(number("Colors", 1)*number("BitsPerComponent", 8)/8, 1)
	width := max(number("Columns", 1)*number("Colors", 1)*number("BitsPerComponent", 8)/8, 1)
	above := make([]byte, width)
	var out []byte
	for len(b) > width {
		kind, row := b[0], b[1:width+1]
		b = b[width+1:]
		for i := range row {
			var left, corner byte
			if i >= bpp {
				left, corner = row[i-bpp], above[i-bpp]
			}
			switch kind {
			case 1:
				row[i] += left
			case 2:
				row[i] += above[i]
			case 3:
				row[i] += byte((int(left) + int(above[i])) / 2)
			case 4:
				row[i] += paeth(left, above[i], corner)
			}
		}
		out = append(out, row...)
		above = row
	}
	return out
}

func paeth(a, b, c byte) byte {
	p := int(a) + int(b) - int(c)
	pa, pb, pc := abs(p-int(a)), abs(p-int(b)), abs(p-int(c))
	switch {
	case pa <= pb && pa <= pc:
		return a
	case pb <= pc:
		return b
	}
	return c
}

func abs(n int) int {
	if n < 0 {
		return -n
	}
	return n
}
