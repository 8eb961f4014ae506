package xlsx

import (
	"archive/zip"
	"bufio"
	"encoding/xml"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
	"unicode/utf8"
)

// MaxRows is how many rows a sheet can have.
const MaxRows = maxRows

// maxText is how many UTF-16 units a cell can hold.
const maxText = 32_767

// Writer writes a workbook with one sheet, row by row: nothing is held but
// the row being written. It is not safe for concurrent use.
type Writer struct {
	zip   *zip.Writer
	sheet *bufio.Writer
	rows  int
	err   error
}

// The styles of cells, by their place in styles.xml.
const (
	styleHead = 1
	styleDay  = 2
	styleTime = 3
)

const (
	xmlHead   = `<?xml version="1.0" encoding="UTF-8" standalone="yes"?>` + "\n"
	mainSpace = `http://schemas.openxmlformats.org/spreadsheetml/2006/main`
	relSpace  = `http://schemas.openxmlformats.org/officeDocument/2006/relationships`
	packSpace = `http://schemas.openxmlformats.org/package/2006/relationships`
)

// NewWriter begins a workbook. The widths of the columns are in characters;
// with head the first row is a heading that stays in view.
func NewWriter(w io.Writer, sheet string, widths []int, head bool) (*Writer, error) {
	z := zip.NewWriter(w)
	for _, p := range []struct{ name, text string }{
		{"[Content_Types].xml", `<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">` +
			`<Default Extension="rels" ContentType="application/vnd.openxmlformats-package.relationships+xml"/>` +
			`<Override PartName="/xl/workbook.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.sheet.main+xml"/>` +
			`<Override PartName="/xl/worksheets/sheet1.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.worksheet+xml"/>` +
			`<Override PartName="/xl/styles.xml" ContentType="application/vnd.openxmlformats-officedocument.spreadsheetml.styles+xml"/></Types>`},
		{"_rels/.rels", `<Relationships xmlns="` + packSpace + `"><Relationship Id="rId1" Type="` + relSpace + `/officeDocument" Target="xl/workbook.xml"/></Relationships>`},
		{"xl/workbook.xml", `<workbook xmlns="` + mainSpace + `" xmlns:r="` + relSpace + `"><sheets><sheet name="` + escaped(SheetName(sheet)) + `" sheetId="1" r:id="rId1"/></sheets></workbook>`},
		{"xl/_rels/workbook.xml.rels", `<Relationships xmlns="` + packSpace + `"><Relationship Id="rId1" Type="` + relSpace + `/worksheet" Target="worksheets/sheet1.xml"/>` +
			`<Relationship Id="rId2" Type="` + relSpace + `/styles" Target="styles.xml"/></Relationships>`},
		{"xl/styles.xml", `<styleSheet xmlns="` + mainSpace + `"><numFmts count="2"><numFmt numFmtId="164" formatCode="yyyy\-mm\-dd"/><numFmt numFmtId="165" formatCode="yyyy\-mm\-dd\ hh:mm:ss"/></numFmts>` +
			`<fonts count="2"><font><sz val="11"/><name val="Calibri"/></font><font><b/><sz val="11"/><name val="Calibri"/></font></fonts>` +
			`<fills count="2"><fill><patternFill patternType="none"/></fill><fill><patternFill patternType="gray125"/></fill></fills>` +
			`<borders count="1"><border><left/><right/><top/><bottom/><diagonal/></border></borders>` +
			`<cellStyleXfs count="1"><xf numFmtId="0" fontId="0" fillId="0" borderId="0"/></cellStyleXfs>` +
			`<cellXfs count="4"><xf numFmtId="0" fontId="0" fillId="0" borderId="0" xfId="0"/><xf numFmtId="0" fontId="1" fillId="0" borderId="0" xfId="0" applyFont="1"/>` +
			`<xf numFmtId="164" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/><xf numFmtId="165" fontId="0" fillId="0" borderId="0" xfId="0" applyNumberFormat="1"/></cellXfs>` +
			`<cellStyles count="1"><cellStyle name="Normal" xfId="0" builtinId="0"/></cellStyles></styleSheet>`},
	} {
		part, err := z.Create(p.name)
		if err == nil {
			_, err = io.WriteString(part, xmlHead+p.text)
		}
		if err != nil {
			return nil, fmt.Errorf("write workbook: %w", err)
		}
	}
	part, err := z.Create("xl/worksheets/sheet1.xml")
	if err != nil {
		return nil, fmt.Errorf("write workbook: %w", err)
	}
	x := &Writer{zip: z, sheet: bufio.NewWriterSize(part, readSize)}
	x.put(xmlHead, `<worksheet xmlns="`, mainSpace, `">`)
	if head {
		x.put(`<sheetViews><sheetView workbookViewId="0"><pane ySplit="1" topLeftCell="A2" activePane="bottomLeft" state="frozen"/></sheetView></sheetViews>`)
	}
	if len(widths) > 0 {
		x.put("<cols>")
		for i, n := range widths {
			at := strconv.Itoa(i + 1)
			x.put(`<col min="`, at, `" max="`, at, `" width="`, strconv.Itoa(min(max(n, 8), 80)), `" customWidth="1"/>`)
		}
		x.put("</cols>")
	}
	x.put("<sheetData>")
	return x, x.err
}

// SheetName makes a name that a sheet may have.
func SheetName(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || strings.ContainsRune(`[]:*?/\`, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, ""))
	s = strings.Trim(strings.TrimSpace(s), "'")
	for utf16Len(s) > maxSheetName {
		_, size := utf8.DecodeLastRuneInString(s)
		s = s[:len(s)-size]
	}
	if s == "" || strings.EqualFold(s, "history") {
		return "Sheet1"
	}
	return s
}

func utf16Len(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

func (w *Writer) put(parts ...string) {
	for _, p := range parts {
		if w.err == nil {
			_, w.err = w.sheet.WriteString(p)
		}
	}
}

// Head writes a row of headings.
func (w *Writer) Head(cells []string) error {
	return w.row(len(cells), func(i int) { w.text(cells[i], styleHead) })
}

// Row writes a row of string, bool, float64, int64, time.Time and nil. Texts
// are texts, whatever they begin with.
func (w *Writer) Row(cells []any) error {
	return w.row(len(cells), func(i int) {
		switch v := cells[i].(type) {
		case nil:
			w.put("<c/>")
		case string:
			w.text(v, 0)
		case bool:
			if v {
				w.put(`<c t="b"><v>1</v></c>`)
			} else {
				w.put(`<c t="b"><v>0</v></c>`)
			}
		case int64:
			// Beyond 2^53 digits would be lost: such a number is a text.
			if v > 1<<53 || v < -(1<<53) {
				w.text(strconv.FormatInt(v, 10), 0)
			} else {
				w.put("<c><v>", strconv.FormatInt(v, 10), "</v></c>")
			}
		case float64:
			if math.IsNaN(v) || math.IsInf(v, 0) {
				w.text(strconv.FormatFloat(v, 'g', -1, 64), 0)
			} else {
				w.put("<c><v>", strconv.FormatFloat(v, 'g', -1, 64), "</v></c>")
			}
		case time.Time:
			w.time(v)
		default:
			w.err = fmt.Errorf("write workbook: a cell cannot hold a %T", v)
		}
	})
}

func (w *Writer) row(n int, cell func(int)) error {
	if w.rows++; w.rows > MaxRows {
		return fmt.Errorf("%w: a sheet has at most %d rows", ErrLimit, MaxRows)
	}
	w.put("<row>")
	for i := range n {
		cell(i)
	}
	w.put("</row>")
	if w.err != nil {
		return fmt.Errorf("write workbook: %w", w.err)
	}
	return nil
}

func (w *Writer) text(s string, style int) {
	if len(s) > maxText {
		if u := utf16.Encode([]rune(s)); len(u) > maxText {
			s = strings.ToValidUTF8(string(utf16.Decode(u[:maxText-1])), "") + "…"
		}
	}
	w.put(`<c t="inlineStr"`)
	if style > 0 {
		w.put(` s="`, strconv.Itoa(style), `"`)
	}
	w.put(`><is><t xml:space="preserve">`)
	if w.err == nil {
		w.err = xml.EscapeText(w.sheet, []byte(s))
	}
	w.put("</t></is></c>")
}

// time writes a time as the clock on its wall shows it: workbooks have no time
// zones.
func (w *Writer) time(t time.Time) {
	wall := time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), t.Second(), t.Nanosecond(), time.UTC)
	days := wall.Sub(time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)).Hours() / 24
	if days < 61 || days >= maxSerial {
		w.text(t.Format("2006-01-02 15:04:05"), 0)
		return
	}
	style := styleTime
	if wall.Equal(wall.Truncate(24 * time.Hour)) {
		style = styleDay
	}
	w.put(`<c s="`, strconv.Itoa(style), `"><v>`, strconv.FormatFloat(days, 'f', -1, 64), "</v></c>")
}

func escaped(s string) string {
	var b strings.Builder
	_ = xml.EscapeText(&b, []byte(s)) // a Builder never fails
	return b.String()
}

// Close ends the workbook; it does not close the writer below.
func (w *Writer) Close() error {
	w.put("</sheetData></worksheet>")
	if w.err == nil {
		w.err = w.sheet.Flush()
	}
	if w.err == nil {
		w.err = w.zip.Close()
	}
	if w.err != nil {
		return fmt.Errorf("write workbook: %w", w.err)
	}
	return nil
}
