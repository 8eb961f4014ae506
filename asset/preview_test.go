package asset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif"
	_ "image/jpeg"
	_ "image/png"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/block"
)

func previewOf(t *testing.T, r *rig, name string, data []byte) block.FilePreview {
	t.Helper()
	f := asset.FileOf(r.upload(t, name, data))
	raw, err := json.Marshal(f)
	if err != nil {
		t.Fatal(err)
	}
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	if err := reg.Validate("file", 1, raw); err != nil {
		t.Errorf("%s: the block's payload: %v\n%s", name, err, raw)
	}
	return *f.Preview
}

func TestPreviews(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want block.FilePreview
	}{
		"a.csv":         {[]byte("区域,销售额\n华东,320\n华南,210.5\n\n\"a \"\"b\"\", c\",007\r\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"区域", "销售额"}, {"华东", 320.0}, {"华南", 210.5}, {`a "b", c`, "007"}}}},
		"bom.csv":       {[]byte("\xEF\xBB\xBFa;b\n1,5;2\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"a", "b"}, {"1,5", 2.0}}}},
		"gb.csv":        {[]byte("\xc7\xf8\xd3\xf2,\xcf\xfa\xca\xdb\xb6\xee\n\xbb\xaa\xb6\xab,320\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"区域", "销售额"}, {"华东", 320.0}}}},
		"latin.csv":     {[]byte("name,city\nJos\xe9,K\xf6ln\nRen\xe9e,Z\xfcrich\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"name", "city"}, {"José", "Köln"}, {"Renée", "Zürich"}}}},
		"utf16.csv":     {[]byte("\xFF\xFEa\x00,\x00b\x00\n\x001\x00,\x002\x00"), block.FilePreview{Kind: "table", Rows: [][]any{{"a", "b"}, {1.0, 2.0}}}},
		"a.tsv":         {[]byte("a\tb,c\n1\t\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"a", "b,c"}, {1.0, nil}}}},
		"open.csv":      {[]byte("a,b\n\"never closed,1\n2,3"), block.FilePreview{Kind: "table", Rows: [][]any{{"a", "b"}, {"never closed,1\n2,3"}}}},
		"formula.csv":   {[]byte("a\n=1+1\n@SUM(A1)\n"), block.FilePreview{Kind: "table", Rows: [][]any{{"a"}, {"=1+1"}, {"@SUM(A1)"}}}},
		"a.txt":         {[]byte("East leads.\x1b[31m\n"), block.FilePreview{Kind: "text", Text: "East leads.\uFFFD[31m\n"}},
		"a.md":          {[]byte("# Title\n"), block.FilePreview{Kind: "text", Text: "# Title\n"}},
		"long.txt":      {[]byte(strings.Repeat("长", 3000)), block.FilePreview{Kind: "text", Text: strings.Repeat("长", 1365), Truncated: true}},
		"a.pdf":         {[]byte(onePagePDF), block.FilePreview{Kind: "pdf", Pages: 1}},
		"broken.pdf":    {[]byte("%PDF-1.7 and nothing else"), block.FilePreview{Kind: "none"}},
		"a.png":         {pngOf(t, picture(30, 20)), block.FilePreview{Kind: "image", Width: 30, Height: 20}},
		"turned.jpg":    {jpegOf(t, picture(30, 20), 6), block.FilePreview{Kind: "image", Width: 20, Height: 30}},
		"a.xlsx":        {workbook(t, 2), block.FilePreview{Kind: "table", Rows: [][]any{{"Region", "Amount"}, {"区域 0", 0.0}, {"区域 1", 1.5}}, Sheets: []string{"Q3"}, Sheet: "Q3"}},
		"broken.xlsx":   {zipOf(t, map[string]string{"xl/workbook.xml": "<!DOCTYPE a><a/>", "_rels/.rels": "<a/>"}), block.FilePreview{Kind: "none"}},
		"not-text.json": {[]byte(`{"a":1}`), block.FilePreview{Kind: "text", Text: `{"a":1}`}},
	} {
		r := newRig(t)
		got := previewOf(t, r, name, c.data)
		if !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v\nwant %+v", name, got, c.want)
		}
	}
}

// What a block carries of a file is bounded, whatever the file is like.
func TestPreviewBounds(t *testing.T) {
	r := newRig(t)
	wide := strings.Repeat(strings.Repeat("列", 500)+",", 300)
	var many strings.Builder
	for i := range 5000 {
		fmt.Fprintf(&many, "%d,%s\n", i, strings.Repeat("x", 100))
	}
	for name, data := range map[string]string{"wide.csv": strings.Repeat(wide+"\n", 5), "many.csv": many.String(), "quote.csv": `a,b` + "\n" + `"` + strings.Repeat("x\n", 1<<18)} {
		p := previewOf(t, r, name, []byte(data))
		raw, err := json.Marshal(p)
		if err != nil {
			t.Fatal(err)
		}
		widest := 0
		for _, row := range p.Rows {
			widest = max(widest, len(row))
		}
		if len(p.Rows) == 0 || len(p.Rows) > 100 || widest > 20 || len(raw) > 32<<10 {
			t.Errorf("%s: %d rows of up to %d columns, %d bytes", name, len(p.Rows), widest, len(raw))
		}
		if name == "many.csv" && p.Total != 5000 {
			t.Errorf("%s: %d rows in all", name, p.Total)
		}
	}
}

// A file that takes too long to read is shown as far as it was read.
func TestPreviewOutOfTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := newRig(t)
		r.blobs.set(func(f *faulty) { f.wait = 3 * time.Second })
		data := []byte(strings.Repeat(strings.Repeat("x", 100<<10)+",1\n", 30))
		a := r.upload(t, "slow.csv", data)
		began := time.Now()
		p := asset.FactsOf(a).Preview
		if p.Kind != "table" || len(p.Rows) == 0 || len(p.Rows) >= 30 || p.Total != 0 {
			t.Errorf("%s: %d rows of %d", p.Kind, len(p.Rows), p.Total)
		}
		page, err := r.Preview(t.Context(), alice, a.ID, asset.PreviewQuery{})
		if err != nil || len(page.Rows) == 0 || len(page.Rows) >= 30 || !page.More {
			t.Errorf("%d rows, more %v, %v", len(page.Rows), page.More, err)
		}
		if d := time.Since(began); d > 15*time.Second {
			t.Errorf("a page took %v", d)
		}
		// Nobody waits for the rest of a page that begins too far down.
		if _, err := r.Preview(t.Context(), alice, a.ID, asset.PreviewQuery{Offset: 29}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the last row: %v", err)
		}
	})
}

func TestThumbnails(t *testing.T) {
	for name, c := range map[string]struct {
		data []byte
		want image.Point
		mime string
	}{
		"wide.png":   {pngOf(t, picture(3000, 300)), image.Pt(512, 51), "image/jpeg"},
		"high.jpg":   {jpegOf(t, picture(300, 900), 1), image.Pt(170, 512), "image/jpeg"},
		"turned.jpg": {jpegOf(t, picture(900, 300), 8), image.Pt(170, 512), "image/jpeg"},
		"small.png":  {pngOf(t, picture(5, 3)), image.Pt(5, 3), "image/jpeg"},
		"glass.png":  {pngOf(t, image.NewRGBA(image.Rect(0, 0, 9, 9))), image.Pt(9, 9), "image/png"},
		"line.png":   {pngOf(t, picture(4000, 1)), image.Pt(512, 1), "image/jpeg"},
		"a.gif":      {gifOf(t, picture(20, 20)), image.Pt(20, 20), "image/jpeg"},
	} {
		r := newRig(t)
		a := r.upload(t, name, c.data)
		data, content, err := r.content(t, a.ID, r.link(t, a.ID, asset.Inline, asset.VariantThumb))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		m, _, err := image.Decode(bytes.NewReader(data))
		if err != nil || m.Bounds().Size() != c.want || content.Mime != c.mime {
			t.Errorf("%s: %v %s, %v; want %v %s", name, m.Bounds().Size(), content.Mime, err, c.want, c.mime)
		}
		if bytes.Contains(data, []byte("Exif")) || bytes.Contains(data, []byte("GPS")) {
			t.Errorf("%s: the thumbnail says where it was taken", name)
		}
	}
}

// All eight ways to hold a camera put the dark corner where it was.
func TestOrientation(t *testing.T) {
	for how := byte(1); how <= 8; how++ {
		// Only the corner that is to come out top left is bright.
		m := image.NewRGBA(image.Rect(0, 0, 40, 20))
		corner := map[byte]image.Point{1: {0, 0}, 2: {1, 0}, 3: {1, 1}, 4: {0, 1}, 5: {0, 0}, 6: {0, 1}, 7: {1, 1}, 8: {1, 0}}[how]
		for y := range 20 {
			for x := range 40 {
				m.Pix[m.PixOffset(x, y)+3] = 255
				if (x >= 20) == (corner.X == 1) && (y >= 10) == (corner.Y == 1) {
					m.Pix[m.PixOffset(x, y)] = 255
				}
			}
		}
		r := newRig(t)
		a := r.upload(t, "a.jpg", jpegOf(t, m, how))
		data, _, err := r.content(t, a.ID, r.link(t, a.ID, asset.Inline, asset.VariantThumb))
		if err != nil {
			t.Fatal(err)
		}
		thumb, _, err := image.Decode(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		b := thumb.Bounds()
		bright := func(x, y int) bool { red, _, _, _ := thumb.At(x, y).RGBA(); return red > 0x8000 }
		if !bright(4, 4) || bright(b.Dx()-5, 4) || bright(4, b.Dy()-5) || bright(b.Dx()-5, b.Dy()-5) || (b.Dx() < b.Dy()) != (how >= 5) {
			t.Errorf("held as %d: %v", how, b)
		}
	}
}

// Pictures with more pixels than allowed are measured, not opened.
func TestPixelLimit(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.ImagePixels = 1000 })
	a := r.upload(t, "a.png", pngOf(t, picture(100, 100)))
	if p := asset.FactsOf(a); p.Preview.Width != 100 || p.Thumb != nil {
		t.Errorf("%+v", p)
	}
	// Sixteen bits a channel take twice the memory.
	deep := r.upload(t, "deep.png", pngOf(t, image.NewNRGBA64(image.Rect(0, 0, 30, 20))))
	if p := asset.FactsOf(deep); p.Preview.Width != 30 || p.Thumb != nil {
		t.Errorf("%+v", p)
	}
	flat := r.upload(t, "flat.png", pngOf(t, image.NewNRGBA64(image.Rect(0, 0, 20, 20))))
	if asset.FactsOf(flat).Thumb == nil {
		t.Error("a small picture was not opened")
	}
	// A header may say what it likes: nothing is made ready for it.
	huge := pngOf(t, picture(1, 1))
	copy(huge[16:], "\x7f\xff\xff\xff\x7f\xff\xff\xff")
	if _, err := r.Upload(t.Context(), alice, "huge.png", bytes.NewReader(huge)); err == nil {
		t.Error("a picture with a broken header was taken for one")
	}
	if out, err := r.Attach(t.Context(), alice, a.ID, "c_1"); err != nil || out.Image != nil || out.Note == "" {
		t.Errorf("the model gets %+v, %v", out, err)
	}
}

func TestPreviewPages(t *testing.T) {
	var csv strings.Builder
	for i := range 1200 {
		fmt.Fprintf(&csv, "row,%d\n", i)
	}
	for _, forward := range []bool{false, true} {
		r := newRig(t)
		r.blobs.set(func(f *faulty) { f.forward = forward })
		book, table := r.upload(t, "a.xlsx", workbook(t, 1199)), r.upload(t, "a.csv", []byte(csv.String()))
		text := r.upload(t, "a.txt", []byte("one\ntwo\r\n"+strings.Repeat("x", 3000)+"\nfour"))
		for _, a := range []string{book.ID, table.ID} {
			for _, c := range []struct{ offset, limit, n int }{{0, 0, 100}, {100, 50, 50}, {1190, 100, 10}, {1200, 10, 0}, {0, 10_000, 500}} {
				p, err := r.Preview(t.Context(), alice, a, asset.PreviewQuery{Offset: c.offset, Limit: c.limit})
				if err != nil || len(p.Rows) != c.n || p.Offset != c.offset || p.More != (c.offset+c.n < 1200) {
					t.Errorf("%+v: %d rows from %d, more %v, %v", c, len(p.Rows), p.Offset, p.More, err)
				}
			}
		}
		p, err := r.Preview(t.Context(), alice, text.ID, asset.PreviewQuery{Offset: 1, Limit: 2})
		if err != nil || !strings.HasPrefix(p.Text, "two\r\nxxx") || !strings.HasSuffix(p.Text, "x…\n") || len([]rune(p.Text)) != 5+2000+1 || !p.More {
			t.Errorf("%d runes, %.20q, more %v, %v", len([]rune(p.Text)), p.Text, p.More, err)
		}
		if _, err := r.Preview(t.Context(), alice, book.ID, asset.PreviewQuery{Sheet: "Other"}); !errors.Is(err, asset.ErrNoSheet) {
			t.Errorf("a sheet that is not there: %v", err)
		}
		if _, err := r.Preview(t.Context(), bob, book.ID, asset.PreviewQuery{}); err == nil {
			t.Error("another's file was shown")
		}
		pdf := r.upload(t, "a.pdf", []byte(onePagePDF))
		if p, err := r.Preview(t.Context(), alice, pdf.ID, asset.PreviewQuery{}); err != nil || p.Kind != "pdf" || p.Pages != 1 {
			t.Errorf("%+v, %v", p, err)
		}
	}
}

// FuzzText: whatever the bytes of a text or a table are, they come to an end.
func FuzzText(f *testing.F) {
	f.Add([]byte("a,b\n\"c\"\"d\",e\n"), true)
	f.Add([]byte("\xFF\xFEa\x00\n\x00"), false)
	f.Add([]byte("\xbb\xaa;\t|\r\r\n\""), true)
	r := newRig(f, func(c *asset.Config) { c.Accept = []string{"*/*"}; c.QuotaBytes = -1 })
	f.Fuzz(func(t *testing.T, data []byte, table bool) {
		name := "a.txt"
		if table {
			name = "a.csv"
		}
		if len(data) == 0 {
			return
		}
		a := r.upload(t, name, data)
		p := asset.FactsOf(a).Preview
		for _, row := range p.Rows {
			if len(row) > 20 {
				t.Fatalf("%d columns", len(row))
			}
			for _, v := range row {
				if s, ok := v.(string); ok && (len([]rune(s)) > 200 || strings.ToValidUTF8(s, "") != s) {
					t.Fatalf("cell %q", s)
				}
			}
		}
		if len(p.Text) > 4<<10 || strings.ToValidUTF8(p.Text, "") != p.Text {
			t.Fatalf("text %q", p.Text)
		}
		if _, err := r.Preview(t.Context(), alice, a.ID, asset.PreviewQuery{Offset: 1, Limit: 2}); err != nil {
			t.Fatal(err)
		}
		if err := r.Delete(t.Context(), alice, a.ID); err != nil {
			t.Fatal(err)
		}
	})
}
