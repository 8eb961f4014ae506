package asset_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/color"
	"image/gif"
	"image/jpeg"
	"image/png"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/asset/disk"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/internal/xlsx"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
)

var (
	alice = store.Owner{Tenant: "t1", User: "alice"}
	bob   = store.Owner{Tenant: "t1", User: "bob"}
)

// clock is a time that tests move.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) forward(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.t = c.t.Add(d)
}

// rig is a library on a directory of its own.
type rig struct {
	*asset.Library
	store store.Store
	blobs *faulty
	clock *clock
}

func newRig(t testing.TB, change ...func(*asset.Config)) *rig {
	t.Helper()
	dir, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ring, err := signing.New(signing.Generate())
	if err != nil {
		t.Fatal(err)
	}
	r := &rig{blobs: &faulty{Blobs: dir}, clock: &clock{t: time.Date(2026, 11, 30, 12, 0, 0, 0, time.UTC)}}
	r.store = memory.NewAt(r.clock.now)
	cfg := asset.Config{Blobs: r.blobs, Records: r.store, Keys: ring, Now: r.clock.now}
	for _, c := range change {
		c(&cfg)
	}
	if r.Library, err = asset.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		r.Wait()
		if err := errors.Join(dir.Close(), r.store.Close()); err != nil {
			t.Error(err)
		}
	})
	return r
}

// faulty is a store of blobs that can be made to fail.
type faulty struct {
	asset.Blobs
	mu sync.Mutex
	// room is how many bytes a Put takes before it fails, when fail is set.
	room int
	fail error
	// forward hides that blobs can be read at any place.
	forward bool
	// breakAt makes reads fail behind so many bytes.
	breakAt int
	// wait is how long each piece keeps its reader waiting.
	wait time.Duration
}

func (f *faulty) set(change func(*faulty)) {
	f.mu.Lock()
	defer f.mu.Unlock()
	change(f)
}

func (f *faulty) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	f.mu.Lock()
	fail, room := f.fail, f.room
	f.mu.Unlock()
	if fail != nil {
		r = io.MultiReader(io.LimitReader(r, int64(room)), failing{fail})
	}
	return f.Blobs.Put(ctx, key, r)
}

func (f *faulty) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := f.Blobs.Open(ctx, key, offset, length)
	f.mu.Lock()
	defer f.mu.Unlock()
	switch {
	case err != nil:
		return nil, err
	case f.breakAt > 0:
		return struct {
			io.Reader
			io.Closer
		}{io.MultiReader(io.LimitReader(r, int64(f.breakAt)), failing{errors.New("disk gone")}), r}, nil
	case f.wait > 0:
		return slow{r, f.wait}, nil
	case f.forward:
		return struct{ io.ReadCloser }{r}, nil
	}
	return r, nil
}

// slow is a blob that comes after a while.
type slow struct {
	io.ReadCloser
	wait time.Duration
}

func (s slow) Read(p []byte) (int, error) {
	time.Sleep(s.wait)
	return s.ReadCloser.Read(p)
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// upload sends a file and wants it to be taken.
func (r *rig) upload(t testing.TB, name string, data []byte) store.Asset {
	t.Helper()
	a, err := r.Upload(t.Context(), alice, name, bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return a
}

// blobs counts what is kept for a user.
func (r *rig) bytes(t testing.TB, o store.Owner) int64 {
	t.Helper()
	n, err := r.store.AssetBytes(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func picture(w, h int) *image.RGBA {
	m := image.NewRGBA(image.Rect(0, 0, w, h))
	for y := range h {
		for x := range w {
			m.Set(x, y, color.RGBA{uint8(x * 255 / w), uint8(y * 255 / h), 128, 255})
		}
	}
	return m
}

func pngOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func gifOf(t testing.TB, m image.Image) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := gif.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// jpegOf encodes a picture with an EXIF part that says how the camera was held
// and where.
func jpegOf(t testing.TB, m image.Image, orientation byte) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := jpeg.Encode(&b, m, nil); err != nil {
		t.Fatal(err)
	}
	exif := "Exif\x00\x00MM\x00*\x00\x00\x00\x08\x00\x02" +
		"\x01\x0F\x00\x02\x00\x00\x00\x04GPS!" + "\x01\x12\x00\x03\x00\x00\x00\x01\x00" + string(rune(orientation)) + "\x00\x00\x00\x00\x00\x00"
	head := []byte{0xFF, 0xD8, 0xFF, 0xE1, byte((len(exif) + 2) >> 8), byte(len(exif) + 2)}
	return append(append(head, exif...), b.Bytes()[2:]...)
}

func workbook(t testing.TB, rows int) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := xlsx.NewWriter(&b, "Q3", nil, false)
	if err == nil {
		err = w.Head([]string{"Region", "Amount"})
	}
	for i := 0; err == nil && i < rows; i++ {
		err = w.Row([]any{fmt.Sprintf("区域 %d", i), float64(i) * 1.5})
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func zipOf(t testing.TB, files map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range files {
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

const onePagePDF = "%PDF-1.7\n1 0 obj<</Type/Catalog/Pages 2 0 R>>endobj 2 0 obj<</Type/Pages/Kids[3 0 R]/Count 1>>endobj " +
	"3 0 obj<</Type/Page/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>endobj 4 0 obj<</Length 37>>stream\nBT /F1 12 Tf (East leads with 320) Tj ET\nendstream endobj " +
	"5 0 obj<</Type/Font/Subtype/Type1>>endobj trailer<</Root 1 0 R>>\n%%EOF\n"
