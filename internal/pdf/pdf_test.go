package pdf

import (
	"bytes"
	"compress/zlib"
	"context"
	"encoding/ascii85"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

const (
	catalog = "1 0 obj\n<</Type/Catalog/Pages 2 0 R>>\nendobj\n"
	tree    = "2 0 obj\n<</Type/Pages/Kids[3 0 R]/Count 1/Resources<</Font<</F1 5 0 R>>>>>>\nendobj\n"
	leaf    = "3 0 obj\n<</Type/Page/Parent 2 0 R/Contents 4 0 R/MediaBox[0 0 595 842]>>\nendobj\n"
	helv    = "5 0 obj\n<</Type/Font/Subtype/Type1/BaseFont/Helvetica/Encoding/WinAnsiEncoding>>\nendobj\n"
	trailer = "trailer\n<</Root 1 0 R/Size 6>>\nstartxref\n0\n%%EOF\n"
)

func flate(s string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(s))
	_ = z.Close()
	return b.String()
}

func streamOf(num int, dict, body string) string {
	return fmt.Sprintf("%d 0 obj\n<<%s/Length %d>>\nstream\n%s\nendstream\nendobj\n", num, dict, len(body), body)
}

func document(parts ...string) []byte {
	return []byte("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n" + strings.Join(parts, "") + trailer)
}

func onePage(content string, more ...string) []byte {
	return document(append([]string{catalog, tree, leaf, helv, streamOf(4, "/Filter/FlateDecode", flate(content))}, more...)...)
}

func read(b []byte, lim Limits) (Document, error) {
	return Read(context.Background(), bytes.NewReader(b), int64(len(b)), lim)
}

func TestText(t *testing.T) {
	a85 := make([]byte, 1000)
	a85 = a85[:ascii85.Encode(a85, []byte(flate("BT /F1 9 Tf 0 -9 Td (packed twice) Tj ET")))]
	for name, c := range map[string]struct {
		data []byte
		want string
	}{
		"lines": {onePage(`BT /F1 12 Tf 72 720 Td (Q3 sales \(sample\)) Tj 0 -14 Td (East 320) Tj T* (South\040210) Tj (North) ' ET`),
			"Q3 sales (sample)\nEast 320\nSouth 210\nNorth"},
		"gaps":    {onePage(`BT /F1 12 Tf [(W)80(orld)-600(peace)] TJ 80 0 Td <21> Tj ET`), "World peace !"},
		"accents": {onePage("BT /F1 12 Tf (caf\351 \200 5) Tj ET"), "café € 5"},
		"several streams": {document(catalog, tree, helv, "3 0 obj <</Type/Page/Contents[4 0 R 7 0 R]>> endobj ",
			streamOf(4, "", "BT /F1 1 Tf (one) Tj"), streamOf(7, "/Filter[/A85 /Fl]", string(a85)+"~>")), "one\npacked twice"},
		"differences": {onePage(`BT /F2 1 Tf (\001\002\003) Tj ET`,
			"2 0 obj<</Type/Pages/Kids[3 0 R]/Resources<</Font<</F2<</Subtype/Type1/Encoding<</Differences[1/A/eacute/uni4E2D]>>>>>>>>>>endobj\n"), "Aé中"},
		"ToUnicode": {onePage(`BT /F2 1 Tf <000100020003000A000B> Tj ET`,
			"2 0 obj<</Type/Pages/Kids[3 0 R]/Resources<</Font<</F2 8 0 R>>>>>>endobj 8 0 obj<</Subtype/Type0/Encoding/Identity-H/ToUnicode 9 0 R>>endobj\n",
			streamOf(9, "/Filter/FlateDecode", flate(`begincmap 1 begincodespacerange <0000><FFFF> endcodespacerange
				2 beginbfchar <0001><534E> <0002><4E1C> endbfchar 2 beginbfrange <0003><0005><0041> <000A><000B>[<0031><D83DDE00>] endbfrange`))), "华东A1😀"},
		"GBK": {onePage("BT /F2 1 Tf (\xbb\xaa\xb6\xab 320) Tj ET",
			"2 0 obj<</Type/Pages/Kids[3 0 R]/Resources<</Font<</F2<</Subtype/Type0/Encoding/GBK-EUC-H>>>>>>>>endobj\n"), "华东 320"},
		"forms": {document(catalog, "2 0 obj<</Type/Pages/Kids[3 0 R]/Resources<</Font<</F1 5 0 R>>/XObject<</X 6 0 R>>>>>>endobj ", leaf, helv, streamOf(4, "", "/X Do"),
			streamOf(6, "/Subtype/Form", "BT /F1 1 Tf (inside) Tj ET /X Do")), strings.TrimSpace(strings.Repeat("inside", 6))},
		"inline picture": {onePage("BI /W 1 /H 1 ID \x00(EI) EI BT /F1 1 Tf (after) Tj ET"), "after"},
		"no text":        {onePage("0 0 m 10 10 l S"), ""},
		"wrong length":   {document(catalog, tree, leaf, helv, "4 0 obj<</Length 3>>stream\nBT /F1 1 Tf (whole) Tj ET\nendstream endobj "), "whole"},
	} {
		doc, err := read(c.data, Limits{})
		if err != nil || doc.Pages != 1 || doc.Text != c.want {
			t.Errorf("%s: %d pages, %q, %v; want %q", name, doc.Pages, doc.Text, err, c.want)
		}
	}
}

// Objects packed in a stream, with a table of objects that is predicted.
func TestPackedObjects(t *testing.T) {
	objects := "1 0 2 33 3 90 <</Type/Catalog/Pages 2 0 R>>   "
	first := strings.Index(objects, "<<")
	objects = strings.Replace(objects, "   ", "", 1)
	second := len(objects) - first
	objects += "<</Type/Pages/Kids[3 0 R 3 0 R 7 0 R]/Count 2>>"
	third := len(objects) - first
	objects += "<</Type/Page>>"
	head := fmt.Sprintf("1 0 2 %d 3 %d ", second, third)
	body := head + objects[first:]
	data := []byte("%PDF-1.5\n" + streamOf(9, fmt.Sprintf("/Type/ObjStm/N 3/First %d/Filter/FlateDecode", len(head)), flate(body)) +
		"7 0 obj<</Type/Page>>endobj " + streamOf(10, "/Type/XRef/Root 1 0 R/Size 11/W[1 2 1]", "xxxx"))
	doc, err := read(data, Limits{})
	if err != nil || doc.Pages != 2 {
		t.Errorf("%d pages, %v", doc.Pages, err)
	}
	if got := string(unpredict([]byte{2, 1, 2, 2, 1, 1, 1, 5, 5, 3, 2, 2, 4, 1, 1}, dict{"Predictor": 12.0, "Columns": 2.0})); got != "\x01\x02\x02\x03\x05\x0a\x04\x09\x05\x0a" {
		t.Errorf("prediction: %q", got)
	}
}

func TestBoundsAndDamage(t *testing.T) {
	bomb := flate(strings.Repeat(" ", 100<<20))
	circle := document(catalog, "2 0 obj<</Type/Pages/Kids[2 0 R 3 0 R]>>endobj 3 0 obj<</Type/Pages/Kids[2 0 R]>>endobj 8 0 obj 8 0 R endobj ")
	var many strings.Builder
	for i := range 300 {
		fmt.Fprintf(&many, "%d 0 obj<</Type/Page/Contents 4 0 R>>endobj ", 100+i)
	}
	var kids strings.Builder
	for i := range 300 {
		fmt.Fprintf(&kids, "%d 0 R ", 100+i)
	}
	long := document(catalog, "2 0 obj<</Type/Pages/Kids["+kids.String()+"]/Resources<</Font<</F1 5 0 R>>>>>>endobj ", many.String(), helv, streamOf(4, "", "BT /F1 1 Tf (p) Tj ET"))
	for name, c := range map[string]struct {
		data  []byte
		lim   Limits
		pages int
		fails error
		cut   bool
	}{
		"bomb":              {data: onePage("", streamOf(4, "/Filter/FlateDecode", bomb)), pages: 1, cut: true},
		"bomb twice packed": {data: onePage("", streamOf(4, "/Filter[/FlateDecode/FlateDecode]", flate(bomb))), pages: 1, cut: true},
		"bomb of objects":   {data: onePage("", streamOf(9, "/Type/ObjStm/N 99999999/First 1/Filter/FlateDecode", bomb)), pages: 1, cut: true},
		"circle of pages":   {data: circle, fails: ErrFormat},
		"many pages":        {data: long, pages: 300, cut: true},
		"encrypted":         {data: []byte(strings.Replace(string(onePage("")), "/Size 6", "/Size 6/Encrypt 7 0 R", 1)), pages: 1},
		"too large":         {data: onePage(""), lim: Limits{Bytes: 10}, fails: ErrLimit},
		"text too long":     {data: onePage("BT /F1 1 Tf (" + strings.Repeat("长", 100) + ") Tj ET"), lim: Limits{Text: 10}, pages: 1, cut: true},
		"nested":            {data: document(catalog, "2 0 obj "+strings.Repeat("[", 100_000)+strings.Repeat("<<", 100_000)), fails: ErrFormat},
		"html":              {data: []byte("<html>%PD"), fails: ErrFormat},
		"only a header":     {data: []byte("%PDF-1.7\n"), fails: ErrFormat},
		"empty":             {data: nil, fails: ErrFormat},
		"no end of stream":  {data: document(catalog, tree, leaf, "4 0 obj<</Length 999999>>stream\nBT"), pages: 1},
		"unknown filter":    {data: onePage("", streamOf(4, "/Filter/DCTDecode", "x")), pages: 1},
		"broken filter":     {data: onePage("", streamOf(4, "/Filter/FlateDecode", "x")), pages: 1},
		"lengths that lie":  {data: onePage("", "4 0 obj<</Length -5>>stream\nendstream endobj 6 0 obj<</Length 1e300>>stream\nendstream endobj "), pages: 1},
	} {
		began := time.Now()
		doc, err := read(c.data, c.lim)
		if doc.Pages != c.pages || doc.Cut != c.cut || c.fails != nil && !errors.Is(err, c.fails) || c.fails == nil && err != nil {
			t.Errorf("%s: %d pages, cut %v, %v", name, doc.Pages, doc.Cut, err)
		}
		if d := time.Since(began); d > time.Minute {
			t.Errorf("%s: took %v", name, d)
		}
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	endless := onePage(strings.Repeat("q ", 20<<20))
	if _, err := Read(ctx, bytes.NewReader(endless), int64(len(endless)), Limits{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody waits any more: %v", err)
	}
}

// Files that other programs have made.
func TestSamples(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "*.pdf"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	for _, name := range files {
		b, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		doc, err := read(b, Limits{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want, err := os.ReadFile(strings.TrimSuffix(name, ".pdf") + ".txt")
		if err != nil {
			t.Fatal(err)
		}
		if doc.Text != strings.TrimSuffix(string(want), "\n") {
			t.Errorf("%s: %d pages, %q", name, doc.Pages, doc.Text)
		}
	}
}

// FuzzRead: whatever a file holds, reading it ends without a panic.
func FuzzRead(f *testing.F) {
	f.Add(onePage(`BT /F1 12 Tf [(a)-300<62>] TJ ET`))
	f.Add(document(catalog, tree, leaf, "4 0 obj[<</A#20/B(\\101\\)>>]endobj"))
	f.Fuzz(func(t *testing.T, b []byte) {
		doc, err := read(b, Limits{Unpacked: 1 << 20, Text: 1 << 10})
		if err == nil && len(doc.Text) > 1<<10 {
			t.Fatalf("%d bytes of text", len(doc.Text))
		}
	})
}
