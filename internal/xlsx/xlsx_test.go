package xlsx

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

// file packs parts into a workbook; those not given are the usual ones.
func file(t testing.TB, parts map[string]string) []byte {
	t.Helper()
	usual := map[string]string{
		"_rels/.rels":                `<Relationships><Relationship Id="rId1" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument" Target="xl/workbook.xml"/></Relationships>`,
		"xl/workbook.xml":            `<workbook xmlns:r="x"><sheets><sheet name="One" sheetId="1" r:id="rId1"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId2" Type="x/sharedStrings" Target="/xl/sharedStrings.xml"/><Relationship Id="rId3" Type="x/styles" Target="styles.xml"/></Relationships>`,
		"xl/sharedStrings.xml":       `<sst><si><t>zero</t></si><si><r><t>o</t></r><r><rPr/><t xml:space="preserve">ne </t></r><rPh><t>aside</t></rPh></si><si><t/></si></sst>`,
		"xl/styles.xml":              `<styleSheet><numFmts><numFmt numFmtId="164" formatCode="yyyy&quot;年&quot;m\-d;@"/></numFmts><cellStyleXfs><xf numFmtId="14"/></cellStyleXfs><cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="22"/><xf numFmtId="21"/></cellXfs></styleSheet>`,
		"xl/worksheets/sheet1.xml":   `<worksheet><sheetData/></worksheet>`,
	}
	for k, v := range parts {
		usual[k] = v
	}
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range usual {
		if text == "absent" {
			continue
		}
		w, err := z.Create(name)
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func sheetFile(t testing.TB, sheet string) []byte {
	t.Helper()
	return file(t, map[string]string{"xl/worksheets/sheet1.xml": sheet})
}

func read(data []byte, name string, offset, limit int, lim Limits) (Page, error) {
	b, err := Open(bytes.NewReader(data), int64(len(data)), lim)
	if err != nil {
		return Page{}, err
	}
	return b.Rows(context.Background(), name, offset, limit)
}

func TestCells(t *testing.T) {
	data := sheetFile(t, `<?xml version="1.0" encoding="UTF-8"?><!-- a > b --><x:worksheet xmlns:x="y"><x:dimension ref="A1:G5"/><x:sheetData>
	<x:row r="1"><x:c r="A1" t="s"><x:v>0</x:v></x:c><x:c r="B1" t="s"><x:v>1</x:v></x:c><x:c r="D1" t="inlineStr"><x:is><x:r><x:t>in </x:t></x:r><x:r><x:t><![CDATA[<line>]]></x:t></x:r></x:is></x:c></x:row>
	<x:row><x:c><x:v>320</x:v></x:c><x:c><x:f>A2*2</x:f><x:v>-1.5E3</x:v></x:c><x:c t="b"><x:v>1</x:v></x:c><x:c t="b"><x:v>0</x:v></x:c><x:c t="e"><x:v>#DIV/0!</x:v></x:c><x:c t="str"><x:v>a &lt;&amp;&#x4e2d;&#10;b</x:v></x:c></x:row>
	<x:row r="4"><x:c r="A4" s="1"><x:v>46295</x:v></x:c><x:c r="B4" s="2"><x:v>46295.75</x:v></x:c><x:c r="C4" s="3"><x:v>1</x:v></x:c><x:c r="D4" s="4"><x:v>0.5</x:v></x:c><x:c r="E4" s="0"><x:v>46295</x:v></x:c><x:c r="F4" t="d"><x:v>2026-09-30</x:v></x:c></x:row>
	<x:row r="5"/></x:sheetData></x:worksheet>`)
	p, err := read(data, "", 0, 10, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"zero", "one ", nil, "in <line>"},
		{320.0, -1500.0, true, false, "#DIV/0!", "a <&中\nb"},
		{},
		{"2026-09-30", "2026-09-30T18:00:00", "1900-01-01", "12:00:00", 46295.0, "2026-09-30"},
		{},
	}
	if !reflect.DeepEqual(p.Rows, want) {
		t.Errorf("got\n%#v\nwant\n%#v", p.Rows, want)
	}
	if p.More || p.Total != 5 {
		t.Errorf("more %v, total %d", p.More, p.Total)
	}
}

func TestFormats(t *testing.T) {
	for code, want := range map[string]format{
		"General": plain, "0.00": plain, "#,##0": plain, "0.00E+00": plain, "@": plain, `"d"0`: plain, `\d0`: plain, "[Red]0": plain,
		"0%": plain, `_-* #,##0.00\ _€_-`: plain, "yyyy-mm-dd": date, "d/m/yy h:mm": date, "[$-409]mmm d": date, "[$-804]yyyy\"年\"": date,
		"mmmm": date, "h:mm:ss": timeOnly, "mm:ss": timeOnly, "[h]:mm": timeOnly, "[Red]h:mm": timeOnly, "G/通用格式": plain, `"open`: plain, "[open": plain, "": plain,
	} {
		if got := formatOf(code); got != want {
			t.Errorf("%q: %d, want %d", code, got, want)
		}
	}
	for n, want := range map[float64]string{0: "1899-12-31", 59: "1900-02-28", 61: "1900-03-01", 46295.5: "2026-09-30T12:00:00", maxSerial - 1: "9999-12-31"} {
		if got, ok := date.time(n, false); !ok || got != want {
			t.Errorf("%v: %s %v, want %s", n, got, ok, want)
		}
	}
	if got, _ := date.time(0, true); got != "1904-01-01" {
		t.Errorf("first day of 1904: %s", got)
	}
	if got, _ := timeOnly.time(1.5, false); got != "36:00:00" {
		t.Errorf("a day and a half: %s", got)
	}
	for _, n := range []float64{-1, maxSerial} {
		if got, ok := date.time(n, false); ok {
			t.Errorf("%v is %s", n, got)
		}
	}
}

func TestPages(t *testing.T) {
	var b strings.Builder
	b.WriteString("<worksheet><sheetData>")
	for i := 1; i <= 500; i++ {
		fmt.Fprintf(&b, `<row r="%d"><c r="A%d"><v>%d</v></c></row>`, i, i, i)
	}
	b.WriteString("</sheetData></worksheet>")
	data := sheetFile(t, b.String())
	for _, c := range []struct{ offset, limit, first, n int }{{0, 100, 1, 100}, {100, 100, 101, 100}, {450, 100, 451, 50}, {499, 1, 500, 1}, {500, 10, 0, 0}, {5000, 10, 0, 0}} {
		p, err := read(data, "One", c.offset, c.limit, Limits{})
		if err != nil {
			t.Fatal(err)
		}
		if len(p.Rows) != c.n || c.n > 0 && p.Rows[0][0] != float64(c.first) || p.More != (c.offset+c.limit < 500) {
			t.Errorf("%+v: %d rows, more %v", c, len(p.Rows), p.More)
		}
	}
	if _, err := read(data, "Two", 0, 1, Limits{}); !errors.Is(err, ErrNoSheet) {
		t.Errorf("unknown sheet: %v", err)
	}
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(errors.New("enough"))
	book, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := book.Rows(ctx, "One", 490, 10); err == nil || err.Error() != "enough" {
		t.Errorf("a reader that has left: %v", err)
	}
}

func TestSheets(t *testing.T) {
	data := file(t, map[string]string{
		"xl/workbook.xml":            `<workbook><workbookPr date1904="1"/><sheets><sheet name="A&amp;B" r:id="rId1"/><sheet name="Hidden" state="veryHidden" r:id="rId1"/><sheet name="Chart" r:id="rId4"/><sheet name="区域" r:id="rId5"/></sheets></workbook>`,
		"xl/_rels/workbook.xml.rels": `<Relationships><Relationship Id="rId1" Type="x/worksheet" Target="worksheets/sheet1.xml"/><Relationship Id="rId4" Type="x/chartsheet" Target="c.xml"/><Relationship Id="rId5" Type="x/worksheet" Target="/XL\Worksheets/../worksheets/Sheet1.xml"/><Relationship Id="rId9" Type="x/worksheet" TargetMode="External" Target="https://example.com/"/></Relationships>`,
	})
	b, err := Open(bytes.NewReader(data), int64(len(data)), Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if got := b.Sheets(); !reflect.DeepEqual(got, []string{"A&B", "区域"}) {
		t.Errorf("sheets %q", got)
	}
	if _, err := b.Rows(t.Context(), "区域", 0, 1); err != nil {
		t.Error(err)
	}
}

func TestBounds(t *testing.T) {
	long := strings.Repeat("长", 300)
	var cells strings.Builder
	for range 50 {
		fmt.Fprintf(&cells, `<c t="inlineStr"><is><t>%s&amp;</t></is></c>`, long)
	}
	p, err := read(sheetFile(t, `<worksheet><sheetData><row>`+cells.String()+`</row><row><c t="str"><v>`+strings.Repeat("&#20013;", 4000)+`</v></c></row></sheetData></worksheet>`), "", 0, 10, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Rows[0]) != 20 {
		t.Errorf("%d columns", len(p.Rows[0]))
	}
	for i, row := range p.Rows {
		s := row[0].(string)
		if n := len([]rune(s)); n != 200 || !strings.HasSuffix(s, "…") {
			t.Errorf("row %d: %d runes, ends %q", i, n, s[len(s)-3:])
		}
	}
	if got := cutRunes("four", 4); got != "four" {
		t.Error(got)
	}
	if got := cutRunes("fünf?", 4); got != "fün…" {
		t.Error(got)
	}
	if got := unescapeControls("a_x000D_b_xZZZZ_c_x00"); got != "a\rb_xZZZZ_c_x00" {
		t.Errorf("%q", got)
	}
}

// lie changes what the directory says of every entry.
func lie(data []byte, change func(entry []byte)) []byte {
	out := bytes.Clone(data)
	for i := 0; ; {
		at := bytes.Index(out[i:], []byte(dirSign))
		if at < 0 {
			return out
		}
		change(out[i+at:])
		i += at + 4
	}
}

func TestHostile(t *testing.T) {
	bomb := `<worksheet><sheetData><row><c t="str"><v>` + strings.Repeat("0", 30<<20) + `</v></c></row></sheetData></worksheet>`
	usual := sheetFile(t, `<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>`)
	var many bytes.Buffer
	z := zip.NewWriter(&many)
	for i := range 1001 {
		if _, err := z.Create(fmt.Sprintf("f%d", i)); err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	deep := strings.Repeat("<a>", 200)
	for name, c := range map[string]struct {
		data []byte
		want error
	}{
		"zip bomb":       {sheetFile(t, bomb), ErrLimit},
		"bomb that lies": {lie(sheetFile(t, bomb), func(e []byte) { binary.LittleEndian.PutUint32(e[24:], 100) }), ErrLimit},
		"too large in sum": {lie(usual, func(e []byte) {
			binary.LittleEndian.PutUint32(e[24:], 90<<20)
			binary.LittleEndian.PutUint32(e[20:], 100)
		}), ErrLimit},
		"entries that overlap":   {lie(usual, func(e []byte) { binary.LittleEndian.PutUint32(e[20:], uint32(len(usual)-1)) }), ErrLimit},
		"entry beyond the file":  {lie(usual, func(e []byte) { binary.LittleEndian.PutUint32(e[42:], uint32(len(usual)-5)) }), nil},
		"sizes of 2^62":          {lie(usual, func(e []byte) { binary.LittleEndian.PutUint32(e[20:], 1<<32-1) }), ErrFormat},
		"encrypted":              {lie(usual, func(e []byte) { e[8] |= 1 }), ErrFormat},
		"unknown packing":        {lie(usual, func(e []byte) { e[10] = 12 }), ErrFormat},
		"many entries":           {many.Bytes(), ErrLimit},
		"no zip":                 {[]byte("PK\x03\x04 and nothing else"), ErrFormat},
		"empty":                  {nil, ErrFormat},
		"cut off":                {usual[:len(usual)-40], ErrFormat},
		"entities":               {sheetFile(t, `<!DOCTYPE x [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]><worksheet>&b;</worksheet>`), ErrFormat},
		"unknown entity":         {sheetFile(t, `<worksheet><sheetData><row><c t="str"><v>&b;</v></c></row></sheetData></worksheet>`), ErrFormat},
		"nested":                 {sheetFile(t, "<worksheet>"+deep), ErrLimit},
		"endless tag":            {sheetFile(t, "<worksheet a='"+strings.Repeat("x y ", 40000)), ErrLimit},
		"tag that never ends":    {sheetFile(t, "<worksheet><sheetData><row"), ErrFormat},
		"sheet that never ends":  {sheetFile(t, "<worksheet><sheetData><row><c><v>1"), ErrFormat},
		"ends too often":         {sheetFile(t, "</worksheet>"), ErrFormat},
		"UTF-16":                 {sheetFile(t, "\xff\xfe<\x00w\x00"), ErrFormat},
		"no sheets":              {file(t, map[string]string{"xl/workbook.xml": "<workbook/>"}), ErrFormat},
		"no workbook":            {file(t, map[string]string{"xl/workbook.xml": "absent"}), ErrFormat},
		"sheet absent":           {file(t, map[string]string{"xl/worksheets/sheet1.xml": "absent"}), ErrFormat},
		"text that is not there": {sheetFile(t, `<worksheet><sheetData><row><c t="s"><v>-1</v></c></row></sheetData></worksheet>`), ErrFormat},
		"rows backwards":         {sheetFile(t, `<worksheet><sheetData><row r="5"/><row r="2"/></sheetData></worksheet>`), ErrFormat},
		"row of 2^40":            {sheetFile(t, `<worksheet><sheetData><row r="1099511627776"/></sheetData></worksheet>`), ErrFormat},
		"cell far away":          {sheetFile(t, `<worksheet><sheetData><row><c r="ZZZZZZ1"><v>1</v></c></row></sheetData></worksheet>`), ErrFormat},
	} {
		began := time.Now()
		p, err := read(c.data, "", 0, 100, Limits{})
		if err == nil {
			t.Errorf("%s: accepted: %d rows", name, len(p.Rows))
		} else if c.want != nil && !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s: took %v", name, d)
		}
	}
	// A row far down is not filled up to there.
	p, err := read(sheetFile(t, `<worksheet><sheetData><row r="1048576"><c><v>1</v></c></row></sheetData></worksheet>`), "", 0, 100, Limits{})
	if err != nil || len(p.Rows) != 100 || !p.More {
		t.Errorf("row at the end: %d rows, more %v, %v", len(p.Rows), p.More, err)
	}
}

// A reader whose bytes break off gives no half page.
func TestBrokenOff(t *testing.T) {
	data := workbook(t, 300, 5)
	for _, limit := range []int{10, len(data) / 4, len(data) / 2, len(data) - 100} {
		b, err := Open(failing{bytes.NewReader(data), int64(limit)}, int64(len(data)), Limits{})
		if err == nil {
			_, err = b.Rows(t.Context(), "", 0, 300)
		}
		if err == nil {
			t.Errorf("nothing failed with the first %d bytes broken", limit)
		}
	}
}

// failing breaks reads below a place, as the directory stands at the end.
type failing struct {
	r     io.ReaderAt
	below int64
}

func (f failing) ReadAt(p []byte, off int64) (int, error) {
	if off < f.below {
		return 0, errors.New("disk gone")
	}
	return f.r.ReadAt(p, off)
}

// workbook is written by another library.
func workbook(t testing.TB, rows, columns int) []byte {
	t.Helper()
	f := excelize.NewFile()
	w, err := f.NewStreamWriter("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		row := make([]any, columns)
		for j := range row {
			switch j % 3 {
			case 0:
				row[j] = fmt.Sprintf("区域 %d-%d", i, j)
			case 1:
				row[j] = rnd.Float64() * 1e6
			default:
				row[j] = i%2 == 0
			}
		}
		if err := w.SetRow(fmt.Sprintf("A%d", i+1), row); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What another library writes, streamed or not, is read as it reads it.
func TestAgainstExcelize(t *testing.T) {
	f := excelize.NewFile()
	day, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		t.Fatal(err)
	}
	code := "0.00%"
	percent, err := f.NewStyle(&excelize.Style{CustomNumFmt: &code})
	if err != nil {
		t.Fatal(err)
	}
	set := func(cell string, v any, style int) {
		if err := errors.Join(f.SetCellValue("Sheet1", cell, v), f.SetCellStyle("Sheet1", cell, cell, style)); err != nil {
			t.Fatal(err)
		}
	}
	set("A1", "=not a formula", 0)
	set("B1", "x\ty", 0)
	set("A2", time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC), day)
	set("B2", 0.25, percent)
	set("D2", true, 0)
	var b bytes.Buffer
	if _, err := f.WriteTo(&b); err != nil {
		t.Fatal(err)
	}
	p, err := read(b.Bytes(), "Sheet1", 0, 10, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{{"=not a formula", "x\ty"}, {"2026-09-30", 0.25, nil, true}}
	if !reflect.DeepEqual(p.Rows, want) {
		t.Errorf("got %#v", p.Rows)
	}

	data := workbook(t, 120, 4)
	p, err = read(data, "", 50, 3, Limits{})
	if err != nil {
		t.Fatal(err)
	}
	peer, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	rows, err := peer.GetRows("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range p.Rows {
		if row[0] != rows[50+i][0] || row[3] != rows[50+i][3] {
			t.Errorf("row %d: %v, %v", i, row, rows[50+i])
		}
	}
}

func TestKinds(t *testing.T) {
	for want, name := range map[Kind]string{KindWorkbook: "xl/workbook.xml", KindDocument: "word/document.xml", KindPresentation: "ppt/presentation.xml", KindOther: "other"} {
		data := file(t, map[string]string{"xl/workbook.xml": "absent", name: "<x/>"})
		if got, err := KindOf(bytes.NewReader(data), int64(len(data)), Limits{}); got != want || err != nil {
			t.Errorf("%s: %v %v", name, got, err)
		}
	}
}

// FuzzSheet: whatever a sheet holds, reading it ends, and keeps its bounds.
func FuzzSheet(f *testing.F) {
	f.Add(`<worksheet><sheetData><row r="1"><c r="A1" t="s"><v>0</v></c><c t="inlineStr"><is><t>x&amp;</t></is></c></row></sheetData></worksheet>`)
	f.Add(`<a b='c>d'><![CDATA[ ]]]]><!-- x --><?y z?></a>`)
	f.Fuzz(func(t *testing.T, sheet string) {
		check(t, sheetFile(t, sheet))
	})
}

// FuzzFile: so it does with any bytes at all.
func FuzzFile(f *testing.F) {
	f.Add(sheetFile(f, `<worksheet><sheetData><row><c><v>1</v></c></row></sheetData></worksheet>`))
	f.Fuzz(check)
}

func check(t *testing.T, data []byte) {
	p, err := read(data, "", 1, 5, Limits{Part: 1 << 20, Total: 4 << 20})
	if err != nil {
		return
	}
	if len(p.Rows) > 5 {
		t.Fatalf("%d rows", len(p.Rows))
	}
	for _, row := range p.Rows {
		if len(row) > 20 {
			t.Fatalf("%d columns", len(row))
		}
		for _, v := range row {
			if s, ok := v.(string); ok && len([]rune(s)) > 200 {
				t.Fatalf("a text of %d runes", len([]rune(s)))
			}
		}
	}
}
