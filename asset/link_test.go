package asset_test

import (
	"bytes"
	"errors"
	"io"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/store"
)

func (r *rig) link(t *testing.T, id, disposition, variant string) url.Values {
	t.Helper()
	l, err := r.Link(t.Context(), alice, id, disposition, variant)
	if err != nil {
		t.Fatal(err)
	}
	q, err := url.ParseQuery(l.Query)
	if err != nil {
		t.Fatal(err)
	}
	return q
}

func (r *rig) content(t *testing.T, id string, q url.Values) ([]byte, *asset.Content, error) {
	t.Helper()
	c, err := r.Content(t.Context(), asset.Claim{ID: id, Query: q})
	if err != nil {
		return nil, nil, err
	}
	data, err := io.ReadAll(c)
	if err := errors.Join(err, c.Close()); err != nil {
		t.Fatal(err)
	}
	return data, c, nil
}

func TestLink(t *testing.T) {
	r := newRig(t)
	data := pngOf(t, picture(600, 300))
	a := r.upload(t, "图 1.png", data)
	got, c, err := r.content(t, a.ID, r.link(t, a.ID, asset.Inline, ""))
	if err != nil || !bytes.Equal(got, data) {
		t.Fatalf("%d bytes, %v", len(got), err)
	}
	if c.Mime != "image/png" || c.Disposition != `inline; filename="_ 1.png"; filename*=UTF-8''%E5%9B%BE%201.png` || c.ETag != `"`+a.SHA256+`"` || !c.Expires.Equal(r.clock.now().Add(5*time.Minute)) {
		t.Errorf("%+v", c)
	}
	thumb, c, err := r.content(t, a.ID, r.link(t, a.ID, asset.Inline, asset.VariantThumb))
	if err != nil || c.Mime != "image/jpeg" || int64(len(thumb)) != c.Size || c.ETag == `"`+a.SHA256+`"` {
		t.Errorf("thumbnail: %d bytes, %+v, %v", len(thumb), c, err)
	}
	l, err := r.Link(t.Context(), alice, a.ID, asset.Attachment, "")
	if err != nil || l.Disposition != asset.Attachment || !l.Expires.Equal(r.clock.now().Add(15*time.Minute)) {
		t.Errorf("%+v, %v", l, err)
	}
	if _, err := r.Link(t.Context(), bob, a.ID, asset.Inline, ""); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another's file: %v", err)
	}
	text := r.upload(t, "a.txt", []byte("x"))
	if _, err := r.Link(t.Context(), alice, text.ID, asset.Inline, asset.VariantThumb); !errors.Is(err, asset.ErrPreview) {
		t.Errorf("the thumbnail of a text: %v", err)
	}
}

// What a browser might run is only ever saved, whatever is asked for.
func TestNeverInline(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.Accept = []string{"*/*"}; c.ImagePixels = 100 })
	for name, data := range map[string]string{
		"a.svg": "<svg xmlns='http://www.w3.org/2000/svg'><script>alert(1)</script></svg>", "a.html": "<html><script>x</script>", "a.xml": "<?xml version='1.0'?><a/>",
		"a.csv": "a,b\n1,2\n", "a.zip": string(zipOf(t, map[string]string{"a": "b"})), "large.png": string(pngOf(t, picture(20, 20))), "pdf-no.bin": "\x00\x01",
	} {
		a := r.upload(t, name, []byte(data))
		l, err := r.Link(t.Context(), alice, a.ID, asset.Inline, "")
		if err != nil || l.Disposition != asset.Attachment {
			t.Errorf("%s (%s): %+v, %v", name, a.Mime, l, err)
		}
		_, c, err := r.content(t, a.ID, r.link(t, a.ID, asset.Inline, ""))
		if err != nil || !strings.HasPrefix(c.Disposition, "attachment; ") {
			t.Errorf("%s: %+v, %v", name, c, err)
		}
	}
	for name, data := range map[string]string{"a.txt": "hello", "a.pdf": onePagePDF, "small.png": string(pngOf(t, picture(5, 5)))} {
		a := r.upload(t, name, []byte(data))
		if l, err := r.Link(t.Context(), alice, a.ID, asset.Inline, ""); err != nil || l.Disposition != asset.Inline {
			t.Errorf("%s: %+v, %v", name, l, err)
		}
	}
}

// Whatever is changed in an address, it is not believed any more.
func TestTamperedAddress(t *testing.T) {
	r := newRig(t)
	a, other := r.upload(t, "a.txt", []byte("a")), r.upload(t, "b.txt", []byte("b"))
	good := r.link(t, a.ID, asset.Inline, "")
	if _, _, err := r.content(t, a.ID, good); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.content(t, other.ID, good); !errors.Is(err, asset.ErrAddress) {
		t.Errorf("another file: %v", err)
	}
	for key, value := range good {
		for i := range len(value[0]) {
			for _, c := range []byte("0Az_-.9~") {
				if value[0][i] == c {
					continue
				}
				bad := url.Values{}
				for k, v := range good {
					bad.Set(k, v[0])
				}
				changed := []byte(value[0])
				changed[i] = c
				bad.Set(key, string(changed))
				if _, _, err := r.content(t, a.ID, bad); !errors.Is(err, asset.ErrAddress) {
					t.Errorf("%s=%s: %v", key, changed, err)
				}
			}
		}
	}
	for name, change := range map[string]func(url.Values){
		"no signature":    func(q url.Values) { q.Del("sig") },
		"no time":         func(q url.Values) { q.Del("exp") },
		"no disposition":  func(q url.Values) { q.Del("d") },
		"other variant":   func(q url.Values) { q.Set("variant", "thumb") },
		"attachment":      func(q url.Values) { q.Set("d", "attachment") },
		"longer time":     func(q url.Values) { q.Set("exp", q.Get("exp")+"0") },
		"time with space": func(q url.Values) { q.Set("exp", " "+q.Get("exp")) },
	} {
		q := r.link(t, a.ID, asset.Inline, "")
		change(q)
		if _, _, err := r.content(t, a.ID, q); !errors.Is(err, asset.ErrAddress) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// A new key does not end the addresses of the old one; taking that out does.
func TestAddressRotation(t *testing.T) {
	old := signing.Generate()
	var keys *signing.Ring
	r := newRig(t, func(c *asset.Config) {
		var err error
		if keys, err = signing.New(old); err != nil {
			t.Fatal(err)
		}
		c.Keys = keys
	})
	a := r.upload(t, "a.txt", []byte("a"))
	q := r.link(t, a.ID, asset.Inline, "")
	rotated, err := signing.New(signing.Generate(), old)
	if err != nil {
		t.Fatal(err)
	}
	r.Library.Keys = rotated
	if _, _, err := r.content(t, a.ID, q); err != nil {
		t.Errorf("after a rotation: %v", err)
	}
	if r.Library.Keys, err = signing.New(signing.Generate()); err != nil {
		t.Fatal(err)
	}
	if _, _, err := r.content(t, a.ID, q); !errors.Is(err, asset.ErrAddress) {
		t.Errorf("without the old key: %v", err)
	}
}

// An address ends. Only a download in parts that has begun before may go on,
// for a minute.
func TestExpiry(t *testing.T) {
	r := newRig(t)
	a := r.upload(t, "a.txt", []byte("0123456789"))
	q := r.link(t, a.ID, asset.Inline, "")
	fresh := r.link(t, a.ID, asset.Attachment, "")
	etag := `"` + a.SHA256 + `"`
	ask := func(q url.Values, part bool, ifRange string) error {
		c, err := r.Content(t.Context(), asset.Claim{ID: a.ID, Query: q, Part: part, IfRange: ifRange})
		if err == nil {
			err = c.Close()
		}
		return err
	}
	r.clock.forward(5*time.Minute - time.Second)
	if err := ask(q, false, ""); err != nil {
		t.Errorf("in time: %v", err)
	}
	r.clock.forward(time.Second)
	if err := ask(q, false, ""); !errors.Is(err, asset.ErrExpired) {
		t.Errorf("the whole file, too late: %v", err)
	}
	r.clock.forward(59 * time.Second)
	if err := ask(q, true, ""); err != nil {
		t.Errorf("the rest of a download: %v", err)
	}
	r.clock.forward(time.Second)
	for _, err := range []error{ask(q, true, ""), ask(q, true, etag)} {
		if !errors.Is(err, asset.ErrExpired) {
			t.Errorf("after the grace: %v", err)
		}
	}
	// A part of a download that this process has not seen begin is known by
	// its ETag.
	r.clock.forward(9*time.Minute + 10*time.Second)
	if err := ask(fresh, true, ""); !errors.Is(err, asset.ErrExpired) {
		t.Errorf("a download that begins too late: %v", err)
	}
	if err := ask(fresh, true, `"other"`); !errors.Is(err, asset.ErrExpired) {
		t.Errorf("a part of another version: %v", err)
	}
	if err := ask(fresh, true, etag); err != nil {
		t.Errorf("a part of this version: %v", err)
	}
}

func TestContentSeeks(t *testing.T) {
	r := newRig(t)
	a := r.upload(t, "a.txt", []byte("0123456789"))
	c, err := r.Content(t.Context(), asset.Claim{ID: a.ID, Query: r.link(t, a.ID, asset.Inline, "")})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Close() }()
	for _, step := range []struct {
		offset int64
		whence int
		at     int64
		want   string
	}{{0, io.SeekEnd, 10, ""}, {3, io.SeekStart, 3, "34"}, {2, io.SeekCurrent, 7, "78"}, {-2, io.SeekEnd, 8, "89"}, {50, io.SeekStart, 50, ""}} {
		at, err := c.Seek(step.offset, step.whence)
		if err != nil || at != step.at {
			t.Fatalf("%+v: at %d, %v", step, at, err)
		}
		p := make([]byte, 2)
		n, err := io.ReadFull(c, p)
		if string(p[:n]) != step.want || step.want == "" && !errors.Is(err, io.EOF) {
			t.Errorf("%+v: %q, %v", step, p[:n], err)
		}
	}
	if _, err := c.Seek(-1, io.SeekStart); err == nil {
		t.Error("a place before the beginning")
	}
}

// Bytes that are gone or too few are not served as if they were all.
func TestDamagedStore(t *testing.T) {
	r := newRig(t)
	a := r.upload(t, "a.txt", []byte(strings.Repeat("0123456789", 100)))
	q := r.link(t, a.ID, asset.Inline, "")
	r.blobs.set(func(f *faulty) { f.breakAt = 500 })
	c, err := r.Content(t.Context(), asset.Claim{ID: a.ID, Query: q})
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.Copy(io.Discard, c); n != 500 || err == nil || c.Err() == nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	r.blobs.set(func(f *faulty) { f.breakAt = 0 })
	if _, err := r.Blobs.Put(t.Context(), a.ID, strings.NewReader("short")); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Content(t.Context(), asset.Claim{ID: a.ID, Query: q}); err == nil {
		t.Error("a file that is too short was begun")
	}
	if err := r.Blobs.Delete(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Content(t.Context(), asset.Claim{ID: a.ID, Query: q}); !errors.Is(err, asset.ErrNoBlob) {
		t.Errorf("a file that is gone: %v", err)
	}
}

func TestDispositionHeader(t *testing.T) {
	for in, want := range map[string]string{
		"a b.txt":      `attachment; filename="a b.txt"`,
		"Q3报表.xlsx":    `attachment; filename="Q3__.xlsx"; filename*=UTF-8''Q3%E6%8A%A5%E8%A1%A8.xlsx`,
		`a"b\c.txt`:    `attachment; filename="a_b_c.txt"; filename*=UTF-8''a%22b%5Cc.txt`,
		"100%.txt":     `attachment; filename="100_.txt"; filename*=UTF-8''100%25.txt`,
		"a\r\nX: y":    `attachment; filename="a__X: y"; filename*=UTF-8''a%0D%0AX%3A%20y`,
		"it's (1).txt": `attachment; filename="it's (1).txt"`,
	} {
		if got := asset.DispositionHeader(asset.Attachment, in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}
