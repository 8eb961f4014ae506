// Package pdf counts the pages of PDF files that strangers have sent and reads
// their text, as far as it is there as text.
//
// It looks for objects in the whole file instead of believing its tables, so
// damaged files are read too, and bounds everything it unpacks. It draws
// nothing and must never grow into a library for PDF.
package pdf

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
)

// Limits bound what a file may make its reader do. Zero values mean the
// defaults named here.
type Limits struct {
	// Bytes is the size of the file. Default 64 MiB.
	Bytes int64
	// Unpacked is what all streams together may unpack to. Default 64 MiB.
	Unpacked int
	// Pages is how many pages' text is read. Default 200; negative reads none.
	Pages int
	// Text is how long the text may be, in bytes. Default 256 KiB.
	Text int
}

func (l Limits) withDefaults() Limits {
	if l.Bytes <= 0 {
		l.Bytes = 64 << 20
	}
	if l.Unpacked <= 0 {
		l.Unpacked = 64 << 20
	}
	if l.Pages == 0 {
		l.Pages = 200
	}
	if l.Text <= 0 {
		l.Text = 256 << 10
	}
	return l
}

// ErrFormat says that a file is no PDF or holds no pages that can be found;
// ErrLimit that it is larger than may be read.
var (
	ErrFormat = errors.New("not a PDF file")
	ErrLimit  = errors.New("PDF file exceeds a limit")
)

// Document is what was found in a file.
type Document struct {
	// Pages is the number of pages; 0 when it cannot be known.
	Pages int
	// Text is the text of the first pages, form feeds between them.
	Text string
	// Cut says that there is more text.
	Cut bool
	// Encrypted files keep their text for themselves.
	Encrypted bool
}

// Bounds of what is looked at.
const (
	maxObjects = 500_000
	maxPages   = 100_000
)

type stream struct {
	dict dict
	raw  []byte
}

type file struct {
	ctx     context.Context
	lim     Limits
	left    int // bytes that may still be unpacked
	steps   int
	objects map[ref]any
	root    any
	encrypt bool
	fonts   map[ref]*font
}

// Read reads a file.
func Read(ctx context.Context, r io.ReaderAt, size int64, lim Limits) (doc Document, err error) {
	lim = lim.withDefaults()
	if size > lim.Bytes {
		return doc, fmt.Errorf("%w: %d bytes, at most %d", ErrLimit, size, lim.Bytes)
	}
	b := make([]byte, size)
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return doc, fmt.Errorf("read PDF file: %w", err)
	}
	if !bytes.Contains(b[:min(len(b), 1024)], []byte("%PDF-")) {
		return doc, ErrFormat
	}
	f := &file{ctx: ctx, lim: lim, left: lim.Unpacked, objects: make(map[ref]any), fonts: make(map[ref]*font)}
	if err := f.index(b); err != nil {
		return doc, err
	}
	doc.Encrypted = f.encrypt
	pages, err := f.pages()
	if err != nil {
		return doc, err
	}
	doc.Pages = len(pages)
	if f.encrypt || lim.Pages < 0 {
		return doc, nil
	}
	if doc.Pages == 0 {
		return doc, fmt.Errorf("%w: no pages", ErrFormat)
	}
	doc.Text, doc.Cut, err = f.text(pages)
	return doc, err
}

// tick ends the work when nobody waits for it any more.
func (f *file) tick() error {
	if f.steps++; f.steps&1023 == 0 && f.ctx.Err() != nil {
		return fmt.Errorf("read PDF file: %w", context.Cause(f.ctx))
	}
	return nil
}

// index finds the objects of a file. Of two with one number the later counts.
func (f *file) index(b []byte) error {
	trailer := -1 // where the next one is
	for at := 0; ; {
		if err := f.tick(); err != nil {
			return err
		}
		if trailer < at {
			if trailer = bytes.Index(b[at:], []byte("trailer")); trailer < 0 {
				trailer = len(b)
			} else {
				trailer += at
			}
		}
		i := bytes.Index(b[at:], []byte("obj"))
		if i < 0 {
			i = len(b) - at
		}
		if trailer < at+i {
			at = trailer + len("trailer")
			l := lexer{b: b, at: at}
			if v, ok := l.object(0); ok {
				f.trailer(v)
				at = max(at, l.at)
			}
			continue
		}
		if at+i == len(b) {
			return nil
		}
		num, ok := numberBefore(b, at+i)
		at += i + len("obj")
		if !ok {
			continue
		}
		if len(f.objects) >= maxObjects {
			return fmt.Errorf("%w: more than %d objects", ErrLimit, maxObjects)
		}
		l := lexer{b: b, at: at}
		v, ok := l.object(0)
		if !ok {
			return nil
		}
		d, isDict := v.(dict)
		if raw, end, ok := streamAt(b, l.at, d); isDict && ok {
			at = end
			f.stream(num, stream{d, raw})
			continue
		}
		at = max(at, l.at)
		f.objects[num] = v
	}
}

// numberBefore reads the 12 of "12 0 obj".
func numberBefore(b []byte, at int) (ref, bool) {
	back := func(at int, ok func(byte) bool) int {
		for at > 0 && ok(b[at-1]) {
			at--
		}
		return at
	}
	digit := func(c byte) bool { return c >= '0' && c <= '9' }
	genEnd := back(at, space)
	gen := back(genEnd, digit)
	numEnd := back(gen, space)
	num := back(numEnd, digit)
	if gen == genEnd || numEnd == gen || num == numEnd || numEnd-num > 8 {
		return 0, false
	}
	n := 0
	for _, c := range b[num:numEnd] {
		n = n*10 + int(c-'0')
	}
	return ref(n), true
}

// streamAt returns the bytes of a stream that begins here, by its length if
// that is true, else by where it ends.
func streamAt(b []byte, at int, d dict) (raw []byte, end int, ok bool) {
	l := lexer{b: b, at: at}
	l.skipSpace()
	rest, ok := bytes.CutPrefix(b[l.at:], []byte("stream"))
	if !ok {
		return nil, 0, false
	}
	rest = bytes.TrimPrefix(rest, []byte("\r"))
	rest = bytes.TrimPrefix(rest, []byte("\n"))
	start := len(b) - len(rest)
	if n, isNumber := d["Length"].(float64); isNumber && n >= 0 && n <= float64(len(rest)) {
		after := lexer{b: b, at: start + int(n)}
		after.skipSpace()
		if bytes.HasPrefix(b[after.at:], []byte("endstream")) {
			return rest[:int(n)], after.at, true
		}
	}
	i := bytes.Index(rest, []byte("endstream"))
	if i < 0 {
		return rest, len(b), true
	}
	return rest[:i], start + i, true
}

// stream keeps a stream, or what is packed in it.
func (f *file) stream(num ref, s stream) {
	switch s.dict["Type"] {
	case name("XRef"):
		f.trailer(s.dict)
		return
	case name("ObjStm"):
		f.unpackObjects(s)
		return
	}
	f.objects[num] = s
}

func (f *file) trailer(v any) {
	d, ok := v.(dict)
	if !ok {
		return
	}
	if root, ok := d["Root"].(ref); ok {
		f.root = root
	}
	if d["Encrypt"] != nil {
		f.encrypt = true
	}
}

// unpackObjects reads the objects of an object stream.
func (f *file) unpackObjects(s stream) {
	n, ok1 := s.dict["N"].(float64)
	first, ok2 := s.dict["First"].(float64)
	b := f.unpack(s)
	if !ok1 || !ok2 || first < 0 || first > float64(len(b)) {
		return
	}
	head := lexer{b: b[:int(first)]}
	for i := 0; i < int(n) && len(f.objects) < maxObjects; i++ {
		num, ok1 := head.number()
		off, ok2 := head.number()
		if !ok1 || !ok2 {
			return
		}
		if off += int(first); off >= len(b) {
			continue
		}
		l := lexer{b: b, at: off}
		if v, ok := l.object(0); ok {
			f.objects[ref(num)] = v
		}
	}
}

// number reads one whole number that is not part of a reference.
func (l *lexer) number() (int, bool) {
	l.skipSpace()
	text := l.run()
	if !allDigits(text) || len(text) > 9 {
		return 0, false
	}
	n := 0
	for i := range len(text) {
		n = n*10 + int(text[i]-'0')
	}
	return n, true
}

// get follows references, which may lead in circles.
func (f *file) get(v any) any {
	for range 16 {
		r, ok := v.(ref)
		if !ok {
			return v
		}
		v = f.objects[r]
	}
	return nil
}

func (f *file) dict(v any) dict {
	switch v := f.get(v).(type) {
	case dict:
		return v
	case stream:
		return v.dict
	}
	return nil
}

// page is one page with the resources that it has inherited.
type page struct {
	dict      dict
	resources dict
}

// pages walks the tree of pages. Without a tree it takes the pages it finds.
func (f *file) pages() ([]page, error) {
	catalog := f.dict(f.root)
	if catalog == nil || catalog["Pages"] == nil {
		for _, v := range f.objects {
			if d, ok := v.(dict); ok && d["Type"] == name("Catalog") && d["Pages"] != nil {
				catalog = d
				break
			}
		}
	}
	var list []page
	seen := make(map[ref]bool)
	var walk func(v any, resources dict, depth int) error
	walk = func(v any, resources dict, depth int) error {
		if err := f.tick(); err != nil {
			return err
		}
		if r, ok := v.(ref); ok {
			if seen[r] {
				return nil
			}
			seen[r] = true
		}
		d := f.dict(v)
		if d == nil || depth > maxNesting || len(list) >= maxPages {
			return nil
		}
		if own := f.dict(d["Resources"]); own != nil {
			resources = own
		}
		kids, inner := f.get(d["Kids"]).(array)
		if !inner {
			if d["Type"] == name("Page") || d["Contents"] != nil || d["MediaBox"] != nil {
				list = append(list, page{d, resources})
			}
			return nil
		}
		for _, kid := range kids {
			if err := walk(kid, resources, depth+1); err != nil {
				return err
			}
		}
		return nil
	}
	if catalog == nil {
		return nil, nil
	}
	err := walk(catalog["Pages"], nil, 0)
	return list, err
}

// text reads the text of the first pages.
func (f *file) text(pages []page) (text string, cut bool, err error) {
	var out strings.Builder
	for i, p := range pages {
		if i >= f.lim.Pages || out.Len() >= f.lim.Text {
			cut = true
			break
		}
		if i > 0 {
			out.WriteByte('\f')
		}
		w := writer{f: f}
		if err := w.content(f.contents(p.dict["Contents"]), p.resources, 0); err != nil {
			return "", false, err
		}
		out.WriteString(strings.TrimSpace(w.out.String()))
		cut = cut || w.full
	}
	if f.ctx.Err() != nil {
		return "", false, fmt.Errorf("read PDF file: %w", context.Cause(f.ctx))
	}
	text = ligatures.Replace(strings.ToValidUTF8(out.String(), "\uFFFD"))
	if len(text) > f.lim.Text {
		text, cut = strings.ToValidUTF8(text[:f.lim.Text], ""), true
	}
	return text, cut || f.left <= 0, nil
}

// ligatures are letters drawn together, which nobody types.
var ligatures = strings.NewReplacer("ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st", "ﬆ", "st")

// contents joins the streams of a page.
func (f *file) contents(v any) []byte {
	switch v := f.get(v).(type) {
	case stream:
		return f.unpack(v)
	case array:
		var all []byte
		for _, part := range v[:min(len(v), 1000)] {
			if s, ok := f.get(part).(stream); ok {
				all = append(append(all, f.unpack(s)...), '\n')
			}
		}
		return all
	}
	return nil
}
