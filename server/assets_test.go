package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"image/png"
	"io"
	"log/slog"
	"mime/multipart"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/asset/disk"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// testFiles is the file store of a rig's turns, if it has one.
type testFiles struct{ lib *asset.Library }

func (f *testFiles) Attach(ctx context.Context, o store.Owner, id, conversation string) (turn.Attachment, error) {
	if f.lib == nil {
		return turn.Attachment{}, store.ErrNotFound
	}
	a, err := f.lib.Attach(ctx, o, id, conversation)
	var status *asset.StatusError
	if errors.As(err, &status) {
		return turn.Attachment{}, &turn.Error{Code: codeAssetNotReady, Message: "The file is not available yet.", Retryable: true}
	}
	return turn.Attachment(a), err
}

func (f *testFiles) Create(ctx context.Context, c tool.Caller, n tool.NewFile) (tool.FileWriter, error) {
	if f.lib == nil {
		return nil, errors.New("no files")
	}
	return f.lib.Create(ctx, c, n)
}

// fileRig is a rig with files, whose time can be moved.
type fileRig struct {
	*rig
	lib   *asset.Library
	blobs *slowBlobs
	ahead atomic.Int64 // nanoseconds
}

// slowBlobs are blobs that can be made to break off or to wait.
type slowBlobs struct {
	asset.Blobs
	mu      sync.Mutex
	breakAt int64
	full    bool
}

func (b *slowBlobs) set(change func(*slowBlobs)) {
	b.mu.Lock()
	defer b.mu.Unlock()
	change(b)
}

func (b *slowBlobs) Put(ctx context.Context, key string, r io.Reader) (int64, error) {
	b.mu.Lock()
	full := b.full
	b.mu.Unlock()
	if full {
		return 0, fmt.Errorf("write: %w", store.ErrFull)
	}
	return b.Blobs.Put(ctx, key, r)
}

func (b *slowBlobs) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	r, err := b.Blobs.Open(ctx, key, offset, length)
	b.mu.Lock()
	defer b.mu.Unlock()
	if err != nil || b.breakAt == 0 {
		return r, err
	}
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(r, b.breakAt), brokenReader{}), r}, nil
}

type brokenReader struct{}

func (brokenReader) Read([]byte) (int, error) { return 0, errors.New("disk gone") }

func newFileRig(t *testing.T, change func(*asset.Config), more ...func(*Config)) *fileRig {
	t.Helper()
	f := &fileRig{}
	now := func() time.Time { return time.Now().Add(time.Duration(f.ahead.Load())) }
	dir, err := disk.Open(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := dir.Close(); err != nil {
			t.Error(err)
		}
	})
	ring, err := signing.New(signing.Generate())
	if err != nil {
		t.Fatal(err)
	}
	st := memory.New()
	f.blobs = &slowBlobs{Blobs: dir}
	cfg := asset.Config{Blobs: f.blobs, Records: st, Keys: ring, Now: now}
	if change != nil {
		change(&cfg)
	}
	if f.lib, err = asset.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.lib.Wait)
	f.rig = newRigOn(t, st, append([]func(*Config){func(c *Config) { c.Files, c.Now = f.lib, now }}, more...)...)
	return f
}

// form is a multipart body with one file.
func form(t *testing.T, field, name string, data []byte) (body, kind string) {
	t.Helper()
	var b bytes.Buffer
	w := multipart.NewWriter(&b)
	p, err := w.CreateFormFile(field, name)
	if err == nil {
		_, err = p.Write(data)
	}
	if err == nil {
		err = w.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return b.String(), w.FormDataContentType()
}

func (f *fileRig) upload(t *testing.T, name string, data []byte) assetBody {
	t.Helper()
	body, kind := form(t, "file", name, data)
	return want[assetBody](f.rig, 201, "POST", "/v1/assets", body, "Content-Type", kind)
}

type urlBody struct {
	URL         string
	ExpiresAt   int64
	Disposition string
}

func (f *fileRig) url(t *testing.T, id, query string) string {
	t.Helper()
	return want[urlBody](f.rig, 200, "GET", "/v1/assets/"+id+"/url"+query, nil).URL
}

// get fetches an address without an identity.
func (f *fileRig) get(t *testing.T, address string, headers ...string) (*http.Response, []byte) {
	t.Helper()
	res := f.request("GET", address, nil, append([]string{"Authorization", "-"}, headers...)...)
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res, b
}

func pngBytes(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestUploadAndFetch(t *testing.T) {
	f := newFileRig(t, nil)
	data := []byte("region,amount\nEast,320\n")
	a := f.upload(t, "../Q3报表.csv", data)
	if a.Name != "Q3报表.csv" || a.Mime != "text/csv" || a.Size != int64(len(data)) || a.Status != store.AssetReady || a.Preview.Kind != "table" || len(a.Preview.Rows) != 2 {
		t.Errorf("%+v", a)
	}
	raw := want[assetBody](f.rig, 201, "POST", "/v1/assets?name=b.csv", string(data), "Content-Type", "text/html")
	if raw.Name != "b.csv" || raw.Mime != "text/csv" || raw.SHA256 != a.SHA256 {
		t.Errorf("%+v", raw)
	}
	if got := want[assetBody](f.rig, 200, "GET", "/v1/assets/"+a.ID, nil); got.ID != a.ID || got.Preview == nil {
		t.Errorf("%+v", got)
	}
	u := want[urlBody](f.rig, 200, "GET", "/v1/assets/"+a.ID+"/url", nil)
	if u.Disposition != "attachment" || u.ExpiresAt < time.Now().Add(14*time.Minute).UnixMilli() {
		t.Errorf("%+v", u)
	}
	if old := want[urlBody](f.rig, 200, "GET", "/assets/"+a.ID+"/url", nil); !strings.HasPrefix(old.URL, "/v1/assets/"+a.ID+"/content?") {
		t.Errorf("%+v", old)
	}
	res, got := f.get(t, u.URL)
	if res.StatusCode != 200 || !bytes.Equal(got, data) {
		t.Fatalf("%d %q", res.StatusCode, got)
	}
	for name, value := range map[string]string{
		"Content-Type":                 "text/csv; charset=utf-8",
		"Content-Disposition":          `attachment; filename="Q3__.csv"; filename*=UTF-8''Q3%E6%8A%A5%E8%A1%A8.csv`,
		"Content-Security-Policy":      "default-src 'none'; sandbox; frame-ancestors 'none'",
		"X-Content-Type-Options":       "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Referrer-Policy":              "no-referrer",
		"Accept-Ranges":                "bytes",
		"Etag":                         `"` + a.SHA256 + `"`,
		"Content-Length":               fmt.Sprint(len(data)),
	} {
		if got := res.Header.Get(name); got != value {
			t.Errorf("%s: %q, want %q", name, got, value)
		}
	}
	if age := res.Header.Get("Cache-Control"); !strings.HasPrefix(age, "private, max-age=") || age == "private, max-age=0" {
		t.Errorf("Cache-Control: %s", age)
	}
	if res := f.request("DELETE", "/v1/assets/"+a.ID, nil); res.StatusCode != 204 {
		t.Errorf("delete: %d", res.StatusCode)
	}
	f.refused(404, "not_found", "GET", u.URL, nil)
	f.refused(404, "not_found", "GET", "/v1/assets/"+a.ID, nil)
}

func TestRanges(t *testing.T) {
	f := newFileRig(t, nil)
	a := f.upload(t, "a.txt", []byte("0123456789"))
	u := f.url(t, a.ID, "")
	etag := `"` + a.SHA256 + `"`
	for _, c := range []struct {
		method, header, value string
		status                int
		body, contentRange    string
	}{
		{"GET", "Range", "bytes=2-4", 206, "234", "bytes 2-4/10"},
		{"GET", "Range", "bytes=7-", 206, "789", "bytes 7-9/10"},
		{"GET", "Range", "bytes=-3", 206, "789", "bytes 7-9/10"},
		{"GET", "Range", "bytes=0-0", 206, "0", "bytes 0-0/10"},
		{"GET", "Range", "bytes=10-", 416, "", "bytes */10"},
		{"GET", "Range", "bytes=4-2", 416, "", ""},
		{"GET", "If-None-Match", etag, 304, "", ""},
		{"GET", "If-None-Match", `"other"`, 200, "0123456789", ""},
		{"GET", "If-Match", `"other"`, 412, "", ""},
		{"HEAD", "Accept", "*/*", 200, "", ""},
		{"HEAD", "Range", "bytes=2-4", 206, "", "bytes 2-4/10"},
	} {
		res := f.request(c.method, u, nil, "Authorization", "-", c.header, c.value)
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		if res.StatusCode != c.status || c.status < 400 && string(b) != c.body || c.contentRange != "" && res.Header.Get("Content-Range") != c.contentRange {
			t.Errorf("%s %s: %s: %d %q %s", c.method, c.header, c.value, res.StatusCode, b, res.Header.Get("Content-Range"))
		}
	}
	// A part of another version than the client has is the whole file.
	for ifRange, status := range map[string]int{etag: 206, `"other"`: 200, `W/` + etag: 200} {
		if res, _ := f.get(t, u, "Range", "bytes=2-4", "If-Range", ifRange); res.StatusCode != status {
			t.Errorf("If-Range %s: %d, want %d", ifRange, res.StatusCode, status)
		}
	}
	if res, b := f.get(t, u, "Range", "bytes=0-1,8-9"); res.StatusCode != 206 || !strings.HasPrefix(res.Header.Get("Content-Type"), "multipart/byteranges") || !strings.Contains(string(b), "01") || !strings.Contains(string(b), "89") {
		t.Errorf("two parts: %d %s", res.StatusCode, b)
	}
}

// What is refused, and that nothing of it is left.
func TestRefusedFiles(t *testing.T) {
	f := newFileRig(t, func(c *asset.Config) { c.MaxBytes, c.QuotaBytes = 100_000, 150_000 })
	post := func(status int, code, body, kind string) map[string]any {
		t.Helper()
		return f.refused(status, code, "POST", "/v1/assets", body, "Content-Type", kind)
	}
	one := func(name string, data []byte) (string, string) { return form(t, "file", name, data) }
	body, kind := one("a.txt", bytes.Repeat([]byte("x"), 100_001))
	if d := post(413, "asset_too_large", body, kind); d["limit"] != 100_000.0 {
		t.Errorf("details %v", d)
	}
	post(413, "asset_too_large", strings.Repeat("x", 400_000), "application/octet-stream")
	body, kind = one("a.png", []byte("<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>"))
	if d := post(415, "asset_type_refused", body, kind); d["mime"] != "image/svg+xml" {
		t.Errorf("details %v", d)
	}
	post(400, "invalid_request", "", "application/octet-stream")
	body, kind = form(t, "other", "a.txt", []byte("x"))
	post(400, "invalid_request", body, kind)
	post(400, "invalid_request", "no form", "multipart/form-data; boundary=x")
	post(400, "invalid_request", "--x--\r\n", "multipart/form-data; boundary=x")
	post(400, "invalid_request", "x", "multipart/form-data")
	body, kind = one("a.txt", []byte(strings.Repeat("cut off ", 1000)))
	post(400, "invalid_request", body[:4000], kind)
	twice := strings.Replace(body, "\r\n--"+boundaryOf(kind)+"--\r\n", "", 1) + "\r\n" + body
	post(400, "invalid_request", twice, kind)
	if n, err := f.store.AssetBytes(t.Context(), store.Owner{Tenant: "t1", User: "alice"}); n != 0 || err != nil {
		t.Errorf("%d bytes are left, %v", n, err)
	}
	f.upload(t, "a.txt", bytes.Repeat([]byte("x"), 90_000))
	body, kind = one("b.txt", bytes.Repeat([]byte("x"), 90_000))
	post(507, "asset_quota", body, kind)
	f.blobs.set(func(b *slowBlobs) { b.full = true })
	body, kind = one("c.txt", []byte("x"))
	post(507, "store_full", body, kind)
	f.as("").refused(401, "unauthorized", "POST", "/v1/assets", "x", "Content-Type", "text/plain")
	none := newRig(t)
	none.refused(404, "not_found", "POST", "/v1/assets", "x", "Content-Type", "text/plain")
}

func boundaryOf(kind string) string { return kind[strings.LastIndex(kind, "=")+1:] }

// An upload whose sender goes away or stands still does not stay.
func TestUploadCutOff(t *testing.T) {
	f := newFileRig(t, nil, func(c *Config) { c.ReadTimeout = 300 * time.Millisecond })
	for name, leave := range map[string]bool{"sender goes": true, "sender stands still": false} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(conn, "POST /v1/assets?name=a.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Length: 50000\r\n\r\n%s", strings.Repeat("half ", 2000))
		if err != nil {
			t.Fatal(err)
		}
		if leave {
			if err := conn.Close(); err != nil {
				t.Fatal(err)
			}
		} else {
			answer, err := io.ReadAll(conn)
			if err != nil || !strings.Contains(string(answer), "invalid_request") {
				t.Errorf("%s: %q, %v", name, answer, err)
			}
			_ = conn.Close()
		}
		deadline := time.Now().Add(time.Minute)
		for {
			list, err := f.store.StaleAssets(t.Context(), time.Now().Add(time.Hour), 10)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			if time.Now().After(deadline) {
				t.Fatalf("%s: left %+v", name, list)
			}
			time.Sleep(10 * time.Millisecond)
		}
	}
}

// A body that cannot be read is its sender's, and leaves nothing.
func TestUploadGarbled(t *testing.T) {
	f := newFileRig(t, nil)
	for _, body := range []string{"zz\r\n", "5\r\nhello\r\nzz\r\n", "ffffffffffffffffff\r\n"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(f.srv.URL, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		_, err = fmt.Fprintf(conn, "POST /v1/assets?name=a.txt HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n%s", body)
		if err != nil {
			t.Fatal(err)
		}
		answer, err := io.ReadAll(conn)
		if err != nil || !strings.HasPrefix(string(answer), "HTTP/1.1 400 ") || !strings.Contains(string(answer), "invalid_request") {
			t.Errorf("%q: %q, %v", body, answer, err)
		}
		_ = conn.Close()
	}
	if list, err := f.store.StaleAssets(t.Context(), time.Now().Add(time.Hour), 10); err != nil || len(list) > 0 {
		t.Errorf("left %+v, %v", list, err)
	}
}

// Another's file is not found, whatever is done with it.
func TestFileIsolation(t *testing.T) {
	f := newFileRig(t, nil)
	a := f.upload(t, "a.txt", []byte("secret"))
	mallory := f.as("mallory")
	for _, c := range [][2]string{{"GET", ""}, {"DELETE", ""}, {"GET", "/url"}, {"GET", "/preview"}, {"GET", "/content"}} {
		mallory.refused(404, "not_found", c[0], "/v1/assets/"+a.ID+c[1], nil)
		f.as("").refused(401, "unauthorized", c[0], "/v1/assets/"+a.ID+c[1], nil)
	}
	mallory.refused(404, "not_found", "POST", "/v1/chat", map[string]any{"input": map[string]any{"text": "read it", "attachments": []string{a.ID}}})
	for _, id := range []string{"a_none", "..", "a_%2e%2e%2f%2e%2e%2fetc%2fpasswd", "%00", a.ID + "x", strings.ToUpper(a.ID)} {
		if res := f.request("GET", "/v1/assets/"+id+"/url", nil); res.StatusCode != 404 {
			t.Errorf("%s: %d", id, res.StatusCode)
		}
	}
}

func TestSignedAddresses(t *testing.T) {
	f := newFileRig(t, nil)
	a := f.upload(t, "a.png", pngBytes(t, 40, 20))
	u := f.url(t, a.ID, "?disposition=inline")
	if res, _ := f.get(t, u); res.StatusCode != 200 || !strings.HasPrefix(res.Header.Get("Content-Disposition"), "inline; ") || res.Header.Get("Content-Type") != "image/png" {
		t.Errorf("%d %v", res.StatusCode, res.Header)
	}
	if res, b := f.get(t, f.url(t, a.ID, "?variant=thumb")); res.StatusCode != 200 || len(b) == 0 || res.Header.Get("Content-Type") != "image/jpeg" {
		t.Errorf("thumbnail: %d %v", res.StatusCode, res.Header)
	}
	// Every changed byte, as far as it is still an address.
	path, query, _ := strings.Cut(u, "?")
	values, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	for key := range values {
		for i := range len(values.Get(key)) {
			bad := []byte(values.Get(key))
			bad[i] ^= 1
			q, _ := url.ParseQuery(query)
			q.Set(key, string(bad))
			f.refused(403, "asset_url_invalid", "GET", path+"?"+q.Encode(), nil, "Authorization", "-")
		}
	}
	f.refused(403, "asset_url_invalid", "GET", path+"?sig=", nil, "Authorization", "-")
	f.refused(403, "asset_url_invalid", "GET", strings.Replace(u, "/content", "x/content", 1), nil, "Authorization", "-")
	f.refused(404, "not_found", "GET", "/v1/assets/"+f.upload(t, "b.txt", []byte("x")).ID+"/url?variant=thumb", nil)
	f.refused(400, "invalid_request", "GET", "/v1/assets/"+a.ID+"/url?variant=x", nil)
	f.refused(400, "invalid_request", "GET", "/v1/assets/"+a.ID+"/url?disposition=x", nil)

	// Over: a new address is asked for. A download in parts goes on for a
	// minute.
	f.ahead.Store(int64(5*time.Minute + 10*time.Second))
	f.refused(410, "asset_url_expired", "GET", u, nil, "Authorization", "-")
	if res, b := f.get(t, u, "Range", "bytes=4-"); res.StatusCode != 206 || res.Header.Get("Cache-Control") != "private, max-age=0" {
		t.Errorf("the rest of a download: %d %s", res.StatusCode, b)
	}
	f.ahead.Store(int64(6*time.Minute + time.Second))
	f.refused(410, "asset_url_expired", "GET", u, nil, "Authorization", "-", "Range", "bytes=4-")
	if res, _ := f.get(t, f.url(t, a.ID, "")); res.StatusCode != 200 {
		t.Errorf("a new address: %d", res.StatusCode)
	}
}

// The stable address leads whoever may to a signed one.
func TestStableAddress(t *testing.T) {
	f := newFileRig(t, nil)
	a := f.upload(t, "a.txt", []byte("hello"))
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	req, err := http.NewRequestWithContext(t.Context(), "GET", f.srv.URL+"/v1/assets/"+a.ID+"/content", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer alice")
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	f.body(res)
	if res.StatusCode != 302 || res.Header.Get("Cache-Control") != "no-store" {
		t.Fatalf("%d %v", res.StatusCode, res.Header)
	}
	if res, b := f.get(t, res.Header.Get("Location")); res.StatusCode != 200 || string(b) != "hello" {
		t.Errorf("%d %s", res.StatusCode, b)
	}
}

// A signature never comes into a log.
func TestSignaturesAreNotLogged(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	f := newFileRig(t, nil, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	a := f.upload(t, "a.txt", []byte("x"))
	u := f.url(t, a.ID, "")
	f.get(t, u)
	f.get(t, u+"x")
	f.ahead.Store(int64(time.Hour))
	f.get(t, u)
	mu.Lock()
	defer mu.Unlock()
	_, query, _ := strings.Cut(u, "?")
	q, err := url.ParseQuery(query)
	if err != nil {
		t.Fatal(err)
	}
	if text := log.String(); strings.Contains(text, q.Get("sig")) || strings.Contains(text, "sig=") || !strings.Contains(text, "/content") {
		t.Errorf("log:\n%s", text)
	}
}

// A user whose files are too many cannot fill the log with the server's errors.
func TestQuotaIsNoFailure(t *testing.T) {
	var mu sync.Mutex
	var log bytes.Buffer
	f := newFileRig(t, func(c *asset.Config) { c.QuotaBytes = 10 }, func(c *Config) {
		c.Logger = slog.New(slog.NewTextHandler(writerFunc(func(p []byte) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			return log.Write(p)
		}), nil))
	})
	f.refused(507, "asset_quota", "POST", "/v1/assets?name=a.txt", "more than ten bytes", "Content-Type", "text/plain")
	mu.Lock()
	defer mu.Unlock()
	if strings.Contains(log.String(), "ERROR") {
		t.Errorf("log:\n%s", log.String())
	}
}

// Bytes that break off do not look like a whole file.
func TestBrokenBlob(t *testing.T) {
	f := newFileRig(t, nil)
	a := f.upload(t, "a.txt", bytes.Repeat([]byte("0123456789"), 100_000))
	u := f.url(t, a.ID, "")
	f.blobs.set(func(b *slowBlobs) { b.breakAt = 400_000 })
	for _, header := range []string{"", "bytes=10-"} {
		res := f.request("GET", u, nil, "Authorization", "-", "Range", header)
		b, err := io.ReadAll(res.Body)
		if err == nil || len(b) > 400_000 {
			t.Errorf("range %q: %d bytes and no error", header, len(b))
		}
	}
	f.blobs.set(func(b *slowBlobs) { b.breakAt = 0 })
	if err := f.blobs.Delete(t.Context(), a.ID); err != nil {
		t.Fatal(err)
	}
	f.refused(500, "internal", "GET", u, nil, "Authorization", "-")
}

// A reader that takes nothing is cut off.
func TestSlowDownload(t *testing.T) {
	f := newFileRig(t, func(c *asset.Config) { c.MaxBytes = 64 << 20 }, func(c *Config) { c.WriteTimeout = 300 * time.Millisecond })
	a := f.upload(t, "a.txt", bytes.Repeat([]byte("0123456789"), 3<<20))
	conn, err := net.Dial("tcp", strings.TrimPrefix(f.srv.URL, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if tcp, ok := conn.(*net.TCPConn); ok {
		if err := tcp.SetReadBuffer(4 << 10); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: x\r\n\r\n", f.url(t, a.ID, "")); err != nil {
		t.Fatal(err)
	}
	time.Sleep(1500 * time.Millisecond)
	if err := conn.SetReadDeadline(time.Now().Add(10 * time.Second)); err != nil {
		t.Fatal(err)
	}
	n, err := io.Copy(io.Discard, conn)
	if n >= a.Size || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%d bytes came, %v", n, err)
	}
}

func TestPreviewPages(t *testing.T) {
	f := newFileRig(t, nil)
	var csv strings.Builder
	for i := range 300 {
		fmt.Fprintf(&csv, "row,%d\n", i)
	}
	a := f.upload(t, "a.csv", []byte(csv.String()))
	p := want[asset.Preview](f.rig, 200, "GET", "/v1/assets/"+a.ID+"/preview?offset=250&limit=100", nil)
	if p.Kind != "table" || len(p.Rows) != 50 || p.Offset != 250 || p.More || p.Total != 300 {
		t.Errorf("%d rows from %d of %d, more %v", len(p.Rows), p.Offset, p.Total, p.More)
	}
	if p := want[asset.Preview](f.rig, 200, "GET", "/v1/assets/"+a.ID+"/preview", nil); len(p.Rows) != 100 || !p.More {
		t.Errorf("%d rows, more %v", len(p.Rows), p.More)
	}
	for _, q := range []string{"offset=-1", "offset=x", "limit=0", "limit=501", "limit=+5", "offset=99999999999999"} {
		f.refused(400, "invalid_request", "GET", "/v1/assets/"+a.ID+"/preview?"+q, nil)
	}
	f.refused(404, "not_found", "GET", "/v1/assets/"+a.ID+"/preview?sheet=x", nil)
}

// heldScan waits until it is told what to find.
type heldScan struct{ verdict chan bool }

func (s heldScan) Scan(_ context.Context, r io.Reader) (bool, error) {
	if _, err := io.Copy(io.Discard, r); err != nil {
		return false, err
	}
	return <-s.verdict, nil
}

func TestScannedFiles(t *testing.T) {
	scan := heldScan{make(chan bool)}
	f := newFileRig(t, func(c *asset.Config) { c.Scan = scan })
	for verdict, status := range map[bool]store.AssetStatus{true: store.AssetReady, false: store.AssetInfected} {
		a := f.upload(t, "a.txt", []byte("x"))
		if a.Status != store.AssetScanning || a.Preview != nil {
			t.Errorf("%+v", a)
		}
		path := "/v1/assets/" + a.ID
		if d := f.refused(409, "asset_not_ready", "GET", path+"/url", nil); d["status"] != "scanning" {
			t.Errorf("details %v", d)
		}
		f.refused(409, "asset_not_ready", "GET", path+"/preview", nil)
		f.refused(409, "asset_not_ready", "POST", "/v1/chat", map[string]any{"input": map[string]any{"text": "read it", "attachments": []string{a.ID}}})
		scan.verdict <- verdict
		for i := 0; want[assetBody](f.rig, 200, "GET", path, nil).Status != status; i++ {
			if i > 500 {
				t.Fatalf("never %s", status)
			}
			time.Sleep(5 * time.Millisecond)
		}
		if verdict {
			f.url(t, a.ID, "")
		} else {
			f.refused(410, "asset_infected", "GET", path+"/url", nil)
		}
	}
}

// A message with files shows them and tells the model of them.
func TestAttachments(t *testing.T) {
	f := newFileRig(t, func(c *asset.Config) { c.MaxFiles = 2 })
	text, picture := f.upload(t, "a.csv", []byte("region,amount\nEast,320\n")), f.upload(t, "b.png", pngBytes(t, 30, 20))
	body := map[string]any{"input": map[string]any{"text": "echo", "attachments": []string{text.ID, picture.ID}}}
	s := f.stream(f.request("POST", "/v1/chat", body))
	f.rest(s)
	m := want[messageBody](f.rig, 200, "GET", "/v1/messages/"+s.userMsg(), nil)
	if len(m.Blocks) != 3 || m.Blocks[1].Type != "file" || m.Blocks[2].Type != "image" {
		t.Fatalf("%+v", m.Blocks)
	}
	var shown block.File
	if err := json.Unmarshal(m.Blocks[1].Payload, &shown); err != nil || shown.AssetID != text.ID || shown.URL != "" || shown.Preview.Kind != "table" {
		t.Errorf("%+v, %v", shown, err)
	}
	if a, err := f.lib.Asset(t.Context(), store.Owner{Tenant: "t1", User: "alice"}, text.ID); err != nil || a.Conversation != s.conversation() {
		t.Errorf("%+v, %v", a, err)
	}
	d := f.refused(400, "invalid_request", "POST", "/v1/chat", map[string]any{"input": map[string]any{"text": "x", "attachments": []string{text.ID, text.ID, text.ID}}})
	if d["field"] != "input.attachments" || d["limit"] != 2.0 {
		t.Errorf("details %v", d)
	}
	f.refused(404, "not_found", "POST", "/v1/chat", map[string]any{"input": map[string]any{"text": "x", "attachments": []string{"a_none"}}})
}

// Pages of listed origins may read files and what says which part they have.
func TestFilesAcrossOrigins(t *testing.T) {
	f := newFileRig(t, nil, func(c *Config) { c.Origins = []string{"https://app.example.com"} })
	a := f.upload(t, "a.txt", []byte("0123456789"))
	res, _ := f.get(t, f.url(t, a.ID, ""), "Origin", "https://app.example.com", "Range", "bytes=1-2")
	exposed := res.Header.Get("Access-Control-Expose-Headers")
	for _, name := range []string{"Accept-Ranges", "Content-Range", "Content-Length", "ETag", "Content-Disposition"} {
		if !strings.Contains(exposed, name) {
			t.Errorf("%s is not exposed: %s", name, exposed)
		}
	}
	if res.Header.Get("Access-Control-Allow-Origin") != "https://app.example.com" || res.Header.Get("Cross-Origin-Resource-Policy") != "cross-origin" {
		t.Errorf("%v", res.Header)
	}
	res, _ = f.get(t, f.url(t, a.ID, ""), "Origin", "https://evil.example.com")
	if res.Header.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("%v", res.Header)
	}
	body, kind := form(t, "file", "a.txt", []byte("x"))
	f.refused(403, "forbidden", "POST", "/v1/assets", body, "Content-Type", kind, "Origin", "https://evil.example.com", "Sec-Fetch-Site", "cross-site")
}

func TestUploadsInClientConfig(t *testing.T) {
	type config struct{ Uploads uploadsBody }
	if c := want[config](newFileRig(t, nil).rig, 200, "GET", "/v1/client-config", nil); !c.Uploads.Enabled || c.Uploads.MaxBytes != 25<<20 || c.Uploads.MaxFiles != 10 || len(c.Uploads.Accept) < 8 {
		t.Errorf("%+v", c)
	}
	if c := want[config](newRig(t), 200, "GET", "/v1/client-config", nil); c.Uploads.Enabled {
		t.Errorf("%+v", c)
	}
}
