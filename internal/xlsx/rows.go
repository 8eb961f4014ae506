package xlsx

import (
	"context"
	"math"
	"strconv"
	"strings"
)

// Sheets end at these.
const (
	maxRows    = 1 << 20
	maxColumns = 1 << 14
)

// rowReader gathers the rows of a page from the tags of a sheet.
type rowReader struct {
	ctx           context.Context
	b             *Book
	offset, limit int
	page          Page
	wanted        []wanted
	row           int // number of the last row, from 1
	seen          int
}

func (r *rowReader) tag(s *scanner) error {
	switch s.name {
	case "dimension":
		r.page.Total = lastRow(s.attr("ref", false))
	case "row":
		return r.readRow(s)
	}
	return nil
}

// lastRow reads the number behind the last reference of A1:J200000.
func lastRow(ref string) int {
	ref = ref[strings.LastIndexByte(ref, ':')+1:]
	n, err := strconv.Atoi(strings.TrimLeft(ref, "ABCDEFGHIJKLMNOPQRSTUVWXYZ$"))
	if err != nil || n < 1 || n > maxRows {
		return 0
	}
	return n
}

func (r *rowReader) readRow(s *scanner) error {
	if r.seen++; r.seen&255 == 0 && r.ctx.Err() != nil {
		return context.Cause(r.ctx)
	}
	r.row++
	if ref := s.attr("r", false); ref != "" {
		n, err := strconv.Atoi(ref)
		if err != nil || n < r.row || n > maxRows {
			return formatError("its rows are not in order")
		}
		r.row = n
	}
	if r.row > maxRows {
		return limitError("it has too many rows")
	}
	if r.row <= r.offset {
		return skipElement(s)
	}
	if r.row > r.offset+r.limit {
		r.pad(r.limit)
		r.page.More = true
		return errStop
	}
	r.pad(r.row - r.offset - 1)
	return r.readCells(s)
}

// pad adds the rows that the sheet leaves out.
func (r *rowReader) pad(to int) {
	for len(r.page.Rows) < to {
		r.page.Rows = append(r.page.Rows, []any{})
	}
}

func (r *rowReader) finish() {
	if r.page.Rows == nil {
		r.page.Rows = [][]any{}
	}
	if !r.page.More && len(r.page.Rows) > 0 {
		r.page.Total = r.offset + len(r.page.Rows)
	}
}

// skipElement reads up to the end of the element whose start was read.
func skipElement(s *scanner) error {
	for depth := 1; depth > 0; {
		k, err := s.next()
		if err != nil {
			return partEnd(err)
		}
		switch k {
		case startTag:
			depth++
		case endTag:
			depth--
		}
	}
	return nil
}

func (r *rowReader) readCells(s *scanner) error {
	index := len(r.page.Rows)
	cells := []any{}
	column := -1
	for {
		k, err := s.next()
		if err != nil {
			return partEnd(err)
		}
		switch {
		case k == endTag && s.name == "row":
			r.page.Rows = append(r.page.Rows, cells)
			return nil
		case k != startTag:
			continue
		case s.name != "c":
			if err := skipElement(s); err != nil {
				return err
			}
			continue
		}
		column++
		if ref := s.attr("r", false); ref != "" {
			if column = columnOf(ref); column < 0 {
				return formatError("a cell has no place")
			}
		}
		kind, style := s.attr("t", false), s.attr("s", false)
		if column >= r.b.a.lim.Columns {
			if err := skipElement(s); err != nil {
				return err
			}
			continue
		}
		value, shared, err := r.readCell(s, kind, style)
		if err != nil {
			return err
		}
		if value == nil && shared < 0 {
			continue
		}
		for len(cells) <= column {
			cells = append(cells, nil)
		}
		cells[column] = value
		if shared >= 0 {
			r.wanted = append(r.wanted, wanted{index: shared, row: index, column: column})
		}
	}
}

// columnOf reads the letters of a reference: A is 0. -1 when there are none.
func columnOf(ref string) int {
	n := 0
	for i := 0; i < len(ref) && ref[i] >= 'A' && ref[i] <= 'Z'; i++ {
		if n = n*26 + int(ref[i]-'A') + 1; n > maxColumns {
			return -1
		}
	}
	return n - 1
}

// readCell reads a cell up to its end. shared is the number of a shared text,
// or -1.
func (r *rowReader) readCell(s *scanner, kind, style string) (value any, shared int, err error) {
	var raw []byte
	for {
		k, err := s.next()
		if err != nil {
			return nil, -1, partEnd(err)
		}
		switch {
		case k == endTag && s.name == "c":
			value, shared, err = r.value(raw, kind, style)
			return value, shared, err
		case k == startTag && s.name == "is":
			text, err := r.b.readText(s, "is")
			if err != nil {
				return nil, -1, err
			}
			return text, -1, skipElement(s)
		case k == startTag && s.name == "v":
			if raw, err = readValue(s); err != nil {
				return nil, -1, err
			}
		case k == startTag:
			if err := skipElement(s); err != nil {
				return nil, -1, err
			}
		}
	}
}

func readValue(s *scanner) ([]byte, error) {
	var raw []byte
	for {
		k, err := s.next()
		switch {
		case err != nil:
			return nil, partEnd(err)
		case k == endTag:
			return raw, nil
		case k == startTag:
			if err := skipElement(s); err != nil {
				return nil, err
			}
		case len(raw) < s.keep:
			raw = append(raw, s.text...)
		}
	}
}

func (r *rowReader) value(raw []byte, kind, style string) (any, int, error) {
	if len(raw) == 0 {
		return nil, -1, nil
	}
	switch kind {
	case "s":
		n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil || n < 0 {
			return nil, -1, formatError("a cell refers to no text")
		}
		return nil, n, nil
	case "b":
		return string(raw) == "1" || string(raw) == "true", -1, nil
	case "str", "e", "d", "inlineStr":
		return r.b.cell(raw), -1, nil
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(string(raw)), 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		return r.b.cell(raw), -1, nil
	}
	if i, err := strconv.Atoi(style); err == nil && i >= 0 && i < len(r.b.formats) {
		if t, ok := r.b.formats[i].time(n, r.b.epoch); ok {
			return t, -1, nil
		}
	}
	return n, -1, nil
}
