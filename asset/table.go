package asset

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/internal/xlsx"
	"github.com/inlay-ui/inlay/store"
)

// sheetRows reads rows of a workbook.
func (l *Library) sheetRows(ctx context.Context, a store.Asset, r io.ReaderAt, sheet string, offset, limit, columns, runes int) (Preview, error) {
	lim := l.limits(a)
	lim.Columns, lim.CellRunes = columns, runes
	book, err := xlsx.Open(r, a.Size, lim)
	if err != nil {
		return Preview{}, err
	}
	names := book.Sheets()
	if sheet == "" {
		sheet = names[0]
	}
	page, err := book.Rows(ctx, sheet, offset, limit)
	if err != nil {
		return Preview{}, err
	}
	return Preview{
		Kind: kindTable, Sheets: names[:min(len(names), maxSheets)], Sheet: sheet,
		Rows: page.Rows, Offset: offset, Total: page.Total, More: page.More,
	}, nil
}

// maxSheets is how many names of sheets are told.
const maxSheets = 100

// csvRows reads rows of a text of values. With count it goes on to the end to
// know how many there are. When the time is up, what was read by then is the
// page, and there is more.
func (l *Library) csvRows(ctx context.Context, a store.Asset, r io.ReaderAt, offset, limit, columns, runes int, count bool) (Preview, string, error) {
	in, charset, err := decoded(r, a.Size)
	if err != nil {
		return Preview{}, "", err
	}
	values := newValues(in, columns, runes)
	if a.Mime == mimeTSV {
		values.comma = '\t'
	}
	p := Preview{Kind: kindTable, Rows: [][]any{}, Offset: offset}
	n := 0
	for ; ; n++ {
		counting := n >= offset+limit
		values.skip = counting
		row, err := values.row()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if ctx.Err() != nil && (counting || len(p.Rows) > 0) {
				p.More = true
				return p, charset, nil
			}
			return Preview{}, "", fmt.Errorf("read table: %w", err)
		}
		if counting {
			p.More = true
			if !count {
				return p, charset, nil
			}
		} else if n >= offset {
			p.Rows = append(p.Rows, row)
		}
	}
	p.Total = n
	return p, charset, nil
}

// values reads a text of values: separated by a comma, a semicolon, a
// tabulator or a bar, whichever the beginning speaks for; quoted or not.
// Nothing in it is an error, and what is kept of it is bounded.
type values struct {
	r              *bufio.Reader
	comma          byte // 0 until known
	columns, runes int
	skip           bool // rows are counted, not kept
	cell           []byte
}

func newValues(r io.Reader, columns, runes int) *values {
	return &values{r: bufio.NewReaderSize(r, 64<<10), columns: columns, runes: runes}
}

// row reads the next row; io.EOF at the end. Empty lines are no rows.
func (v *values) row() ([]any, error) {
	if v.comma == 0 {
		head, err := v.r.Peek(16 << 10)
		if err != nil && !errors.Is(err, io.EOF) {
			return nil, err
		}
		v.comma = commaOf(head)
	}
	for {
		c, err := v.r.ReadByte()
		if err != nil {
			return nil, err
		}
		if c == '\n' || c == '\r' {
			continue
		}
		if err := v.r.UnreadByte(); err != nil {
			return nil, err
		}
		break
	}
	row := []any{}
	for {
		last, quoted, err := v.field()
		if err != nil {
			return nil, err
		}
		if !v.skip && len(row) < v.columns {
			row = append(row, v.value(quoted))
		}
		if last {
			return row, nil
		}
	}
}

// field reads one value into v.cell; last says that its row ends with it.
func (v *values) field() (last, quoted bool, err error) {
	v.cell = v.cell[:0]
	c, err := v.r.ReadByte()
	if errors.Is(err, io.EOF) {
		return true, false, nil
	}
	if err == nil && c == '"' {
		quoted = true
		if err = v.quotedPart(); err == nil {
			c, err = v.r.ReadByte()
		}
	}
	for ; err == nil; c, err = v.r.ReadByte() {
		switch c {
		case v.comma:
			return false, quoted, nil
		case '\n':
			return true, quoted, nil
		case '\r':
			if next, err := v.r.Peek(1); err == nil && next[0] == '\n' {
				_, err = v.r.ReadByte()
				return true, quoted, err
			}
			return true, quoted, nil
		}
		v.keep(c)
	}
	if errors.Is(err, io.EOF) {
		err = nil
	}
	return true, quoted, err
}

// quotedPart reads up to the quote that is not doubled.
func (v *values) quotedPart() error {
	for {
		c, err := v.r.ReadByte()
		if err != nil {
			return err
		}
		if c == '"' {
			next, err := v.r.Peek(1)
			if err != nil || next[0] != '"' {
				return nil
			}
			if _, err := v.r.ReadByte(); err != nil {
				return err
			}
		}
		v.keep(c)
	}
}

func (v *values) keep(c byte) {
	if !v.skip && len(v.cell) < 4*(v.runes+1) {
		v.cell = append(v.cell, c)
	}
}

// value turns a cell into a number when it reads like one that would be
// written the same way again: codes with leading zeros stay texts.
func (v *values) value(quoted bool) any {
	s := strings.ToValidUTF8(string(v.cell), "")
	if !quoted && s != "" && len(s) <= 16 {
		if n, err := strconv.ParseFloat(s, 64); err == nil && strconv.FormatFloat(n, 'f', -1, 64) == s {
			return n
		}
	}
	if s == "" {
		return nil
	}
	return cutRunes(visible(s), v.runes)
}

// commaOf returns the separator that the first lines agree about most.
func commaOf(head []byte) byte {
	best, most := byte(','), 0
	for _, c := range []byte{',', ';', '\t', '|'} {
		if n := agreement(head, c); n > most {
			best, most = c, n
		}
	}
	return best
}

// agreement scores a separator: how often the first line has it, times how
// many lines have it equally often.
func agreement(head []byte, comma byte) int {
	first, same, n, quoted := -1, 0, 0, false
	lines := 0
	for i, c := range head {
		switch {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == comma:
			n++
		}
		if !quoted && (c == '\n' || i == len(head)-1) {
			if first < 0 {
				first = n
			}
			if n == first {
				same++
			}
			n = 0
			if lines++; lines == 50 {
				break
			}
		}
	}
	if first < 0 {
		// One quoted text up to the end.
		return bytes.Count(head, []byte{comma})
	}
	return first * same
}

func formatNumber(n float64) string {
	if n > -1e15 && n < 1e15 {
		return strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}
