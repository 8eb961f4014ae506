// Package xlsx reads the first rows of workbooks that strangers have sent. It
// unpacks nothing ahead: of a sheet it reads as far as the rows that were
// asked for, of the shared texts as far as those rows need. Every size is held
// against a limit before and while it is read.
//
// Its Writer writes plain tables, row by row. It must never grow into a library
// for workbooks.
package xlsx

import (
	"context"
	"errors"
	"fmt"
	"io"
	"path"
	"strconv"
	"strings"
)

// Limits bound what a workbook may make its reader do. Zero values mean the
// defaults named here.
type Limits struct {
	// Entries is how many files the package may have. Default 1,000.
	Entries int
	// Ratio is how many times its packed size an entry may have. Default 100.
	Ratio int
	// Total is the sum of all entries in bytes. Default 512 MiB.
	Total int64
	// Part is the size of one entry in bytes. Default 128 MiB.
	Part int64
	// CellRunes is how long a text of a cell is kept. Default 200.
	CellRunes int
	// Columns is how many columns of a row are kept. Default 20.
	Columns int
}

func (l Limits) withDefaults() Limits {
	def := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	def(&l.Entries, 1000)
	def(&l.Ratio, 100)
	def(&l.CellRunes, 200)
	def(&l.Columns, 20)
	if l.Total <= 0 {
		l.Total = 512 << 20
	}
	if l.Part <= 0 {
		l.Part = 128 << 20
	}
	return l
}

// ErrFormat says that a file is no workbook or is damaged; ErrLimit that it
// would make its reader do more than allowed.
var (
	ErrFormat  = errors.New("not a workbook")
	ErrLimit   = errors.New("workbook exceeds a limit")
	ErrNoSheet = errors.New("no such sheet")
)

func formatError(why string) error { return fmt.Errorf("%w: %s", ErrFormat, why) }
func limitError(why string) error  { return fmt.Errorf("%w: %s", ErrLimit, why) }

// Book is an open workbook. It is not safe for concurrent use.
type Book struct {
	a      *archive
	sheets []sheet
	texts  string // the part with the shared texts
	styles string
	epoch  bool // dates count from 1904

	formats []format // by style, once read
}

type sheet struct{ name, part string }

// Page is a run of rows of one sheet.
type Page struct {
	// Rows hold string, float64, bool or nil. Rows and cells that the sheet
	// leaves out are there; cells at the end of a row may be missing.
	Rows [][]any
	// Total is how many rows the sheet says it has; 0 when it does not say.
	Total int
	// More says that there are rows after these.
	More bool
}

// Kind says what a package of office files is.
type Kind int

// The kinds of packages.
const (
	KindOther Kind = iota
	KindWorkbook
	KindDocument
	KindPresentation
)

// KindOf looks into the directory of a zip file.
func KindOf(r io.ReaderAt, size int64, lim Limits) (Kind, error) {
	a, err := openArchive(r, size, lim.withDefaults())
	if err != nil {
		return KindOther, err
	}
	for name := range a.parts {
		switch {
		case name == "xl/workbook.xml":
			return KindWorkbook, nil
		case name == "word/document.xml":
			return KindDocument, nil
		case name == "ppt/presentation.xml":
			return KindPresentation, nil
		}
	}
	return KindOther, nil
}

// Open reads the directory of a workbook and the names of its sheets.
func Open(r io.ReaderAt, size int64, lim Limits) (*Book, error) {
	a, err := openArchive(r, size, lim.withDefaults())
	if err != nil {
		return nil, err
	}
	b := &Book{a: a}
	top, err := b.relations("_rels/.rels", "")
	if err != nil {
		return nil, err
	}
	book := "xl/workbook.xml"
	for _, rel := range top {
		if rel.kind == "officeDocument" {
			book = rel.target
		}
	}
	dir, file := path.Split(book)
	rels, err := b.relations(dir+"_rels/"+file+".rels", dir)
	if err != nil {
		return nil, err
	}
	for _, rel := range rels {
		switch rel.kind {
		case "sharedStrings":
			b.texts = rel.target
		case "styles":
			b.styles = rel.target
		}
	}
	if err := b.readBook(book, rels); err != nil {
		return nil, err
	}
	return b, nil
}

// relation is where one part refers to another.
type relation struct{ kind, target string }

// relations reads a part with references, which are relative to dir.
func (b *Book) relations(name, dir string) (map[string]relation, error) {
	rels := make(map[string]relation)
	err := b.scan(name, 0, func(s *scanner) error {
		if s.name != "Relationship" || s.attr("TargetMode", false) == "External" {
			return nil
		}
		target := strings.ReplaceAll(s.attr("Target", false), `\`, "/")
		if !strings.HasPrefix(target, "/") {
			target = dir + target
		}
		kind := s.attr("Type", false)
		rels[s.attr("Id", false)] = relation{kind[strings.LastIndexByte(kind, '/')+1:], partName(target)}
		return nil
	})
	return rels, err
}

func (b *Book) readBook(name string, rels map[string]relation) error {
	err := b.scan(name, 0, func(s *scanner) error {
		switch s.name {
		case "workbookPr":
			v := s.attr("date1904", false)
			b.epoch = v == "1" || v == "true"
		case "sheet":
			state := s.attr("state", false)
			rel := rels[s.attr("id", true)]
			if rel.kind == "worksheet" && state != "hidden" && state != "veryHidden" {
				b.sheets = append(b.sheets, sheet{cutRunes(s.attr("name", false), maxSheetName), rel.target})
			}
		}
		return nil
	})
	if err == nil && len(b.sheets) == 0 {
		err = formatError("it has no sheet")
	}
	return err
}

// maxSheetName is how long a sheet's name may be.
const maxSheetName = 31

// errStop ends a scan before the end of its part.
var errStop = errors.New("stop")

// scan calls on for every start tag of a part. Callbacks may read on with
// next.
func (b *Book) scan(name string, keep int, on func(*scanner) error) error {
	r, err := b.a.open(name)
	if err != nil {
		return err
	}
	s, err := newScanner(r, keep)
	if err != nil {
		return err
	}
	for {
		k, err := s.next()
		if err == io.EOF {
			return nil
		}
		if err == nil && k == startTag {
			err = on(s)
		}
		if err == errStop {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// Sheets returns the names of the sheets that are not hidden.
func (b *Book) Sheets() []string {
	names := make([]string, len(b.sheets))
	for i, s := range b.sheets {
		names[i] = s.name
	}
	return names
}

// Rows returns limit rows of a sheet from offset on. The empty name is the
// first sheet's.
func (b *Book) Rows(ctx context.Context, name string, offset, limit int) (Page, error) {
	at := -1
	for i, s := range b.sheets {
		if s.name == name || name == "" && i == 0 {
			at = i
			break
		}
	}
	if at < 0 {
		return Page{}, fmt.Errorf("%w: %q", ErrNoSheet, name)
	}
	if err := b.readStyles(); err != nil {
		return Page{}, err
	}
	r := rowReader{ctx: ctx, b: b, offset: offset, limit: limit}
	// Every rune of a text takes at most 4 bytes, more when it is escaped.
	if err := b.scan(b.sheets[at].part, 10*b.a.lim.CellRunes, r.tag); err != nil {
		return Page{}, err
	}
	r.finish()
	if err := b.fillTexts(ctx, r.wanted); err != nil {
		return Page{}, err
	}
	for _, w := range r.wanted {
		r.page.Rows[w.row][w.column] = w.text
	}
	return r.page, nil
}

// wanted is a cell whose text stands among the shared ones.
type wanted struct {
	index, row, column int
	text               string
}

// fillTexts reads the shared texts up to the last one that is wanted.
func (b *Book) fillTexts(ctx context.Context, list []wanted) error {
	if len(list) == 0 {
		return nil
	}
	if b.texts == "" {
		return formatError("it has no shared texts")
	}
	byIndex := make(map[int][]*wanted, len(list))
	last := 0
	for i := range list {
		w := &list[i]
		byIndex[w.index] = append(byIndex[w.index], w)
		last = max(last, w.index)
	}
	index := 0
	return b.scan(b.texts, 10*b.a.lim.CellRunes, func(s *scanner) error {
		if s.name != "si" {
			return nil
		}
		if index&1023 == 0 && ctx.Err() != nil {
			return context.Cause(ctx)
		}
		text, err := b.readText(s, "si")
		if err != nil {
			return err
		}
		for _, w := range byIndex[index] {
			w.text = text
		}
		if index++; index > last {
			return errStop
		}
		return nil
	})
}

// readText joins the runs of a text up to the end of its element; how it is
// pronounced (rPh) is left out.
func (b *Book) readText(s *scanner, end string) (string, error) {
	var text []byte
	inText, aside := false, 0
	for {
		k, err := s.next()
		if err != nil {
			return "", partEnd(err)
		}
		switch {
		case k == startTag && s.name == "rPh":
			aside++
		case k == startTag && s.name == "t":
			inText = true
		case k == textRun && inText && aside == 0 && len(text) < s.keep:
			text = append(text, s.text...)
		case k == endTag && s.name == "rPh":
			aside--
		case k == endTag && s.name == "t":
			inText = false
		case k == endTag && s.name == end:
			return b.cell(text), nil
		}
	}
}

func partEnd(err error) error {
	if err == io.EOF {
		return formatError("a part ends too early")
	}
	return err
}

// cell makes a text of bytes: valid, without the escapes of control
// characters, of bounded length.
func (b *Book) cell(raw []byte) string {
	s := strings.ToValidUTF8(string(raw), "\uFFFD")
	if strings.Contains(s, "_x") {
		s = unescapeControls(s)
	}
	return cutRunes(s, b.a.lim.CellRunes)
}

// cutRunes cuts a text after so many runes and says so with an ellipsis.
func cutRunes(s string, most int) string {
	if len(s) <= most {
		return s
	}
	n := 0
	for i := range s {
		if n == most-1 {
			rest := s[i:]
			for j := range rest {
				if j > 0 { // more than one rune is left
					return s[:i] + "…"
				}
			}
			return s
		}
		n++
	}
	return s
}

// unescapeControls reads _xHHHH_, the way workbooks write what XML cannot.
func unescapeControls(s string) string {
	var b strings.Builder
	for {
		i := strings.Index(s, "_x")
		if i < 0 || len(s)-i < 7 {
			break
		}
		n, err := strconv.ParseUint(s[i+2:i+6], 16, 16)
		if err != nil || s[i+6] != '_' || n >= 0xD800 && n < 0xE000 {
			b.WriteString(s[:i+2])
			s = s[i+2:]
			continue
		}
		b.WriteString(s[:i])
		b.WriteRune(rune(n))
		s = s[i+7:]
	}
	b.WriteString(s)
	return b.String()
}
