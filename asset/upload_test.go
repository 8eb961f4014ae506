package asset_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/store"
)

// Types are those of the bytes; names decide among kinds of plain text only.
func TestTypes(t *testing.T) {
	gifScript := "GIF89a\x01\x00\x01\x00\x00\x00\x00=1;alert(1)//"
	for _, c := range []struct {
		name string
		data []byte
		want string
	}{
		{"a.png", pngOf(t, picture(4, 4)), "image/png"},
		{"a.exe", pngOf(t, picture(4, 4)), "image/png"},
		{"a.jpg", jpegOf(t, picture(4, 4), 1), "image/jpeg"},
		{"a.gif", gifOf(t, picture(4, 4)), "image/gif"},
		{"gif-and-script.gif", []byte(gifScript), "application/octet-stream"},
		{"cut-off.png", pngOf(t, picture(4, 4))[:20], "application/octet-stream"},
		{"a.pdf", []byte(onePagePDF), "application/pdf"},
		{"pdf-and-html.html", []byte("%PDF-1.7\n<html><script>alert(1)</script></html>"), "application/pdf"},
		{"a.xlsx", workbook(t, 1), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"a.csv", workbook(t, 1), "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"},
		{"a.docx", zipOf(t, map[string]string{"word/document.xml": "<x/>"}), "application/vnd.openxmlformats-officedocument.wordprocessingml.document"},
		{"a.xlsx", zipOf(t, map[string]string{"other": "x"}), "application/zip"},
		{"a.csv", []byte("a;b\n1;2\n"), "text/csv"},
		{"a.tsv", []byte("a\tb\n1\t2\n"), "text/tab-separated-values"},
		{"a.md", []byte("# Title\n"), "text/markdown"},
		{"a.json", []byte(`{"a": 1}`), "application/json"},
		{"a.txt", []byte("Hello"), "text/plain"},
		{"a.py", []byte("#!/usr/bin/python\nprint(1)\n"), "text/plain"},
		{"gb.txt", []byte("\xbb\xaa\xb6\xab\xc1\xec\xcf\xc8\n"), "text/plain"},
		{"a.csv", []byte("<html><body>x</body></html>"), "text/html"},
		{"late.txt", []byte("harmless\n\n\n<script>alert(1)</script>"), "text/html"},
		{"bom.txt", []byte("\xEF\xBB\xBF<!DOCTYPE html><p>x"), "text/html"},
		{"a.png", []byte(`<svg xmlns="http://www.w3.org/2000/svg"><script>alert(1)</script></svg>`), "image/svg+xml"},
		{"a.txt", []byte(`<?xml version="1.0"?><a/>`), "text/xml"},
		{"a.txt", []byte("\x7fELF\x02\x01\x01"), "application/x-elf"},
		{"a.txt", []byte{0, 1, 2, 3}, "application/octet-stream"},
	} {
		r := newRig(t, func(c *asset.Config) { c.Accept = []string{"*/*"} })
		if a := r.upload(t, c.name, c.data); a.Mime != c.want {
			t.Errorf("%s %.12q: %s, want %s", c.name, c.data, a.Mime, c.want)
		}
	}
}

func TestUpload(t *testing.T) {
	r := newRig(t)
	data := []byte("region,amount\nEast,320\n")
	a := r.upload(t, `C:\data\..\Q3.csv`, data)
	sum := sha256.Sum256(data)
	if a.Name != "Q3.csv" || a.Size != int64(len(data)) || a.SHA256 != hex.EncodeToString(sum[:]) || a.Status != store.AssetReady || a.Origin != asset.OriginUpload {
		t.Errorf("%+v", a)
	}
	stored, err := r.Asset(t.Context(), alice, a.ID)
	if err != nil || stored.SHA256 != a.SHA256 || string(stored.Facts) == "" {
		t.Errorf("%+v, %v", stored, err)
	}
	for _, other := range []store.Owner{bob, {Tenant: "t2", User: "alice"}} {
		if _, err := r.Asset(t.Context(), other, a.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another's file: %v", err)
		}
		if err := r.Delete(t.Context(), other, a.ID); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("another's file was deleted: %v", err)
		}
	}
	if err := r.Delete(t.Context(), alice, a.ID); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Blobs.Stat(t.Context(), a.ID); !errors.Is(err, asset.ErrNoBlob) {
		t.Errorf("the bytes of a deleted file: %v", err)
	}
}

func TestRefusedUploads(t *testing.T) {
	bomb := zipOf(t, map[string]string{"xl/workbook.xml": strings.Repeat(" ", 40<<20)})
	for name, c := range map[string]struct {
		data io.Reader
		want error
	}{
		"empty":       {strings.NewReader(""), asset.ErrEmpty},
		"too large":   {io.MultiReader(strings.NewReader("text"), bytes.NewReader(bytes.Repeat([]byte("x"), 1<<20))), asset.ErrTooLarge},
		"html":        {strings.NewReader("<!doctype html>"), &asset.TypeError{}},
		"svg":         {strings.NewReader("<svg/>"), &asset.TypeError{}},
		"program":     {strings.NewReader("MZ\x90\x00\x03\x00\x00\x00\x04\x00\x00\x00\xff\xff\x00\x00"), &asset.TypeError{}},
		"zip":         {bytes.NewReader(zipOf(t, map[string]string{"a": "b"})), &asset.TypeError{}},
		"zip bomb":    {bytes.NewReader(bomb), &asset.TypeError{}},
		"broken off":  {io.MultiReader(strings.NewReader("half"), failing{io.ErrUnexpectedEOF}), io.ErrUnexpectedEOF},
		"broken late": {io.MultiReader(strings.NewReader(strings.Repeat("half", 2000)), failing{io.ErrUnexpectedEOF}), io.ErrUnexpectedEOF},
	} {
		r := newRig(t, func(c *asset.Config) { c.MaxBytes = 512 << 10 })
		_, err := r.Upload(t.Context(), alice, "a.txt", c.data)
		var kind *asset.TypeError
		if errors.As(c.want, &kind) {
			if !errors.As(err, &kind) {
				t.Errorf("%s: %v", name, err)
			}
		} else if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
		r.wantNothing(t, name)
	}
}

// wantNothing demands that nothing is left of an upload.
func (r *rig) wantNothing(t *testing.T, name string) {
	t.Helper()
	r.clock.forward(48 * time.Hour)
	list, err := r.store.StaleAssets(t.Context(), r.clock.now(), 100)
	if err != nil || len(list) != 0 {
		t.Errorf("%s: left %+v, %v", name, list, err)
	}
}

// A store that fails in the middle leaves nothing that could be had.
func TestFullDisk(t *testing.T) {
	r := newRig(t)
	r.blobs.set(func(f *faulty) { f.fail, f.room = fmt.Errorf("write: %w", store.ErrFull), 1000 })
	_, err := r.Upload(t.Context(), alice, "a.txt", strings.NewReader(strings.Repeat("x", 100_000)))
	if !errors.Is(err, store.ErrFull) {
		t.Errorf("full disk: %v", err)
	}
	r.blobs.set(func(f *faulty) { f.fail = nil })
	r.wantNothing(t, "full disk")
	// The sender's leaving does not keep it from being cleaned up.
	ctx, cancel := context.WithCancel(t.Context())
	_, err = r.Upload(ctx, alice, "a.txt", io.MultiReader(strings.NewReader(strings.Repeat("x", 10_000)), leaving(cancel)))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("sender left: %v", err)
	}
	r.wantNothing(t, "sender left")
}

type leaving func()

func (l leaving) Read([]byte) (int, error) { l(); return 0, context.Canceled }

func TestQuota(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.QuotaBytes = 10_000 })
	text := func(n int) []byte { return []byte(strings.Repeat("x", n)) }
	r.upload(t, "a.txt", text(6000))
	if _, err := r.Upload(t.Context(), alice, "b.txt", bytes.NewReader(text(5000))); !errors.Is(err, asset.ErrQuota) {
		t.Errorf("over the quota: %v", err)
	}
	if _, err := r.Upload(t.Context(), bob, "b.txt", bytes.NewReader(text(5000))); err != nil {
		t.Errorf("another user's room: %v", err)
	}
	r.upload(t, "c.txt", text(4000))
	if n := r.bytes(t, alice); n != 10_000 {
		t.Errorf("%d bytes are kept", n)
	}
	if _, err := r.Upload(t.Context(), alice, "d.txt", strings.NewReader("x")); !errors.Is(err, asset.ErrQuota) {
		t.Errorf("full: %v", err)
	}
}

// Uploads at the same time cannot use the same room twice.
func TestQuotaTogether(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.QuotaBytes = 10_000 })
	var wg sync.WaitGroup
	start := make(chan struct{})
	for range 8 {
		wg.Go(func() {
			<-start
			_, err := r.Upload(context.Background(), alice, "a.txt", strings.NewReader(strings.Repeat("x", 4000)))
			if err != nil && !errors.Is(err, asset.ErrQuota) {
				t.Error(err)
			}
		})
	}
	close(start)
	wg.Wait()
	if n := r.bytes(t, alice); n != 8000 {
		t.Errorf("%d bytes are kept", n)
	}
}

func TestUploadsAtOnce(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	var wg sync.WaitGroup
	var sending sync.WaitGroup
	for range 8 {
		sending.Add(1)
		wg.Go(func() {
			var once sync.Once
			_, err := r.Upload(context.Background(), alice, "a.txt", readerFunc(func(p []byte) (int, error) {
				once.Do(sending.Done)
				<-hold
				return copy(p, "x"), io.EOF
			}))
			if err != nil {
				t.Error(err)
			}
		})
	}
	sending.Wait()
	if _, err := r.Upload(t.Context(), alice, "a.txt", strings.NewReader("x")); !errors.Is(err, asset.ErrBusy) {
		t.Errorf("one more: %v", err)
	}
	if _, err := r.Upload(t.Context(), bob, "a.txt", strings.NewReader("x")); err != nil {
		t.Errorf("another user: %v", err)
	}
	close(hold)
	wg.Wait()
	r.upload(t, "a.txt", []byte("x"))
}

type readerFunc func([]byte) (int, error)

func (f readerFunc) Read(p []byte) (int, error) { return f(p) }

func TestAccept(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.Accept = []string{"image/*", "text/plain"} })
	r.upload(t, "a", pngOf(t, picture(2, 2)))
	r.upload(t, "a", []byte("x"))
	if _, err := r.Upload(t.Context(), alice, "a.md", strings.NewReader("# x")); err == nil {
		t.Error("a type that is not named was taken")
	}
	for _, bad := range []string{"", "png", "image/", "*/png", "image/png;q=1", "image/**", "IMAGE/png"} {
		if _, err := asset.New(asset.Config{Blobs: r.Blobs, Records: r.store, Keys: r.Keys, Accept: []string{bad}}); err == nil {
			t.Errorf("%q was accepted as a type", bad)
		}
	}
}

func TestCleanName(t *testing.T) {
	for in, want := range map[string]string{
		"Q3报表.xlsx": "Q3报表.xlsx", "": "file", "..": "file", "../../etc/passwd": "passwd", `..\..\boot.ini`: "boot.ini", "/": "file", "a/": "file",
		"evil\u202Egnp.exe": "evilgnp.exe", "a\u200Bb\u2066c\u2069.txt": "abc.txt", "a\x00b\x1b[31m.txt": "ab[31m.txt", "line\nbreak.txt": "linebreak.txt", "tab\tx.txt": "tabx.txt",
		"CON": "_CON", "con.txt": "_con.txt", "COM1.log": "_COM1.log", "LPT¹": "_LPT¹", "com10": "com10", "nul .txt": "_nul .txt", "console": "console",
		"  a  b .txt. ": "a b .txt", ".htaccess": "htaccess", "a<b>:c|d?e*.txt": "a_b__c_d_e_.txt", `say "hi".txt`: "say _hi_.txt",
		"a\u2028b": "ab", "e\u0301.txt": "é.txt", "a／b＼c": "a_b_c", "\xff\xfeabc": "abc", "\uE000": "file",
		strings.Repeat("长", 200) + ".csv":    strings.Repeat("长", 65) + ".csv",
		strings.Repeat("a", 300) + ".tar.gz": strings.Repeat("a", 113) + ".tar" + ".gz",
		"a." + strings.Repeat("b", 300):      "a." + strings.Repeat("b", 118),
	} {
		got := asset.CleanName(in)
		if strings.HasSuffix(in, ".tar.gz") {
			if !strings.HasSuffix(got, ".gz") || len(got) > 120 {
				t.Errorf("%.20q: %q", in, got)
			}
			continue
		}
		if got != want {
			t.Errorf("%.40q: %q, want %q", in, got, want)
		}
	}
}

// FuzzCleanName: whatever a client calls a file, the name is one.
func FuzzCleanName(f *testing.F) {
	for _, s := range []string{"a.txt", "../x", "CON", "\u202Ea", strings.Repeat("长", 300), "a.\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, in string) {
		got := asset.CleanName(in)
		if got == "" || got == "." || got == ".." || strings.ContainsAny(got, "/\\\x00\r\n\"<>|?*:") || len(got) > 201 || strings.ToValidUTF8(got, "") != got {
			t.Fatalf("%q became %q", in, got)
		}
		if strings.TrimSpace(got) != got {
			t.Fatalf("%q became %q, with spaces around", in, got)
		}
		if again := asset.CleanName(got); again != got {
			t.Fatalf("%q became %q and then %q", in, got, again)
		}
	})
}

// scanner answers as told.
type scanner struct {
	mu     sync.Mutex
	answer func(data []byte) (bool, error)
}

func (s *scanner) Scan(_ context.Context, r io.Reader) (bool, error) {
	data, err := io.ReadAll(r)
	if err != nil {
		return false, err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.answer(data)
}

// Nobody gets a file before it is scanned, and an infected one never.
func TestScan(t *testing.T) {
	for name, c := range map[string]struct {
		answer func([]byte) (bool, error)
		want   store.AssetStatus
	}{
		"clean":    {func(b []byte) (bool, error) { return string(b) == "a,b\n1,2\n", nil }, store.AssetReady},
		"infected": {func([]byte) (bool, error) { return false, nil }, store.AssetInfected},
		"no idea":  {func([]byte) (bool, error) { return false, errors.New("scanner is down") }, store.AssetFailed},
	} {
		release := make(chan struct{})
		s := &scanner{answer: func(b []byte) (bool, error) { <-release; return c.answer(b) }}
		r := newRig(t, func(cfg *asset.Config) { cfg.Scan = s })
		a := r.upload(t, "a.csv", []byte("a,b\n1,2\n"))
		if a.Status != store.AssetScanning {
			t.Errorf("%s: %s before the scan", name, a.Status)
		}
		var status *asset.StatusError
		_, linkErr := r.Link(t.Context(), alice, a.ID, asset.Inline, "")
		_, previewErr := r.Preview(t.Context(), alice, a.ID, asset.PreviewQuery{})
		_, attachErr := r.Attach(t.Context(), alice, a.ID, "c_1")
		for _, err := range []error{linkErr, previewErr, attachErr} {
			if !errors.As(err, &status) || status.Status != store.AssetScanning {
				t.Errorf("%s: before the scan: %v", name, err)
			}
		}
		close(release)
		r.Wait()
		a, err := r.Asset(t.Context(), alice, a.ID)
		if err != nil || a.Status != c.want {
			t.Errorf("%s: %s, %v", name, a.Status, err)
		}
		_, err = r.Link(t.Context(), alice, a.ID, asset.Inline, "")
		if (err == nil) != (c.want == store.AssetReady) {
			t.Errorf("%s: after the scan: %v", name, err)
		}
		if c.want == store.AssetInfected {
			if _, err := r.Blobs.Stat(t.Context(), a.ID); !errors.Is(err, asset.ErrNoBlob) {
				t.Errorf("an infected file is kept: %v", err)
			}
		}
	}
}

// A scan that a crash has cut off is done when somebody asks for the file.
func TestScanAfterCrash(t *testing.T) {
	r := newRig(t, func(c *asset.Config) { c.Scan = &scanner{answer: func([]byte) (bool, error) { return true, nil }} })
	a := r.upload(t, "a.txt", []byte("x"))
	r.Wait()
	a.Status = store.AssetScanning
	if err := r.store.PutAsset(t.Context(), a); err != nil {
		t.Fatal(err)
	}
	if a, err := r.Asset(t.Context(), alice, a.ID); err != nil || a.Status != store.AssetScanning {
		t.Fatalf("%s, %v", a.Status, err)
	}
	r.Wait()
	if a, err := r.Asset(t.Context(), alice, a.ID); err != nil || a.Status != store.AssetReady {
		t.Errorf("%s, %v", a.Status, err)
	}
}

// Uploads that no message names go after a day, those of deleted conversations
// at once, the others stay.
func TestClean(t *testing.T) {
	r := newRig(t)
	unused, used, deleted := r.upload(t, "a.png", pngOf(t, picture(8, 8))), r.upload(t, "b.txt", []byte("b")), r.upload(t, "c.txt", []byte("c"))
	for conversation, a := range map[string]store.Asset{"c_kept": used, "c_gone": deleted} {
		if err := r.store.CreateConversation(t.Context(), store.Conversation{ID: conversation, Owner: alice}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.Attach(t.Context(), alice, a.ID, conversation); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := r.Clean(t.Context()); n != 0 || err != nil {
		t.Errorf("cleaned %d at once, %v", n, err)
	}
	if err := r.store.DeleteConversation(t.Context(), alice, "c_gone"); err != nil {
		t.Fatal(err)
	}
	if n, err := r.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("cleaned %d of a deleted conversation, %v", n, err)
	}
	r.clock.forward(25 * time.Hour)
	if n, err := r.Clean(t.Context()); n != 1 || err != nil {
		t.Errorf("cleaned %d unused, %v", n, err)
	}
	for key, there := range map[string]bool{unused.ID: false, unused.ID + ".thumb": false, deleted.ID: false, used.ID: true} {
		if _, err := r.Blobs.Stat(t.Context(), key); (err == nil) != there {
			t.Errorf("%s: %v", key, err)
		}
	}
}
