package server

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/inlay-ui/inlay/web"
)

func gzipped(t *testing.T, s string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func pageFiles(t *testing.T) fstest.MapFS {
	return fstest.MapFS{
		".keep":                   {},
		"index.html":              {Data: []byte("<!doctype html>page")},
		"gallery.html.gz":         {Data: gzipped(t, "<!doctype html>gallery")},
		"favicon.svg":             {Data: []byte("<svg/>")},
		"assets/app-1a2b.js.gz":   {Data: gzipped(t, "script")},
		"assets/app-1a2b.js.br":   {Data: []byte("brotli of script")},
		"assets/page-1a2b.css":    {Data: []byte("style")},
		"assets/f-1a2b.woff2":     {Data: []byte("font")},
		"assets/page-1a2b.css.gz": {Data: gzipped(t, "style")},
	}
}

func TestPage(t *testing.T) {
	r := newRig(t, func(c *Config) {
		c.Web, c.Origins = pageFiles(t), []string{"https://app.example.com"}
		c.Allow.ImageHosts = []string{"img.example.com", "bad host;"}
	})
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	get := func(path, accept string, headers ...string) (*http.Response, string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), "GET", r.srv.URL+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		if accept != "" {
			req.Header.Set("Accept-Encoding", accept)
		}
		for i := 0; i+1 < len(headers); i += 2 {
			req.Header.Set(headers[i], headers[i+1])
		}
		res, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer res.Body.Close()
		b, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return res, string(b)
	}
	res, body := get("/", "br, gzip")
	if res.StatusCode != 200 || body != "<!doctype html>page" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("index: %d %q %v", res.StatusCode, body, res.Header)
	}
	csp := res.Header.Get("Content-Security-Policy")
	if res, body := get("/gallery", ""); res.StatusCode != 200 || body != "<!doctype html>gallery" || res.Header.Get("Content-Security-Policy") != csp || res.Header.Get("Cache-Control") != "no-store" || res.Header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("gallery: %d %q %v", res.StatusCode, body, res.Header)
	}
	for path, to := range map[string]string{"/gallery/": "/gallery", "/gallery/?type=text&lang=zh": "/gallery?type=text&lang=zh"} {
		res, body := get(path, "")
		if res.StatusCode != 200 || body != "<!doctype html>gallery" || res.Request.URL.RequestURI() != to || res.Request.Response.StatusCode != 301 {
			t.Errorf("%s: %d %q at %s", path, res.StatusCode, body, res.Request.URL)
		}
	}
	for _, w := range []string{"script-src 'self';", "frame-ancestors 'self' https://app.example.com", "default-src 'none'", "img-src 'self' data: blob: https://img.example.com;", "object-src 'none'"} {
		if !strings.Contains(csp, w) {
			t.Errorf("the policy lacks %q: %s", w, csp)
		}
	}
	if strings.Contains(csp, "unsafe-eval") || strings.Contains(csp, "script-src 'self' ") || strings.Contains(csp, "bad host") {
		t.Errorf("the policy is too lenient: %s", csp)
	}
	for _, h := range []string{"X-Content-Type-Options", "Referrer-Policy", "Permissions-Policy", "Cross-Origin-Opener-Policy"} {
		if res.Header.Get(h) == "" {
			t.Errorf("index has no %s", h)
		}
	}
	for _, c := range []struct{ accept, encoding, body string }{
		{"gzip, deflate, br", "br", "brotli of script"},
		{"gzip, br;q=0", "gzip", string(gzipped(t, "script"))},
		{"*", "br", "brotli of script"},
		{"*;q=0.1, br;q=0", "gzip", string(gzipped(t, "script"))},
		{"identity", "", "script"},
		{"", "", "script"},
		{"gzip;q=0", "", "script"},
		{"br;q=x", "", "script"},
	} {
		res, body := get("/assets/app-1a2b.js", c.accept)
		if res.StatusCode != 200 || body != c.body || res.Header.Get("Content-Encoding") != c.encoding || res.Header.Get("Content-Type") != "text/javascript; charset=utf-8" {
			t.Errorf("Accept-Encoding %q: %d %q %q", c.accept, res.StatusCode, res.Header.Get("Content-Encoding"), body)
		}
		if !strings.Contains(res.Header.Get("Cache-Control"), "immutable") || !strings.Contains(strings.Join(res.Header.Values("Vary"), ","), "Accept-Encoding") {
			t.Errorf("caching: %v", res.Header)
		}
		tag := res.Header.Get("ETag")
		if res, body := get("/assets/app-1a2b.js", c.accept, "If-None-Match", `"x", `+tag); res.StatusCode != 304 || body != "" {
			t.Errorf("with its own tag %s: %d", tag, res.StatusCode)
		}
		if res, _ := get("/assets/app-1a2b.js", "br;q=0, gzip;q=0.5, identity;q=0.1", "If-None-Match", `"other"`); res.StatusCode != 200 {
			t.Errorf("with another tag: %d", res.StatusCode)
		}
	}
	if res, body := get("/favicon.svg", ""); res.StatusCode != 200 || body != "<svg/>" || res.Header.Get("Content-Type") != "image/svg+xml" {
		t.Errorf("favicon: %d %q", res.StatusCode, body)
	}
	for _, path := range []string{"/index.html", "/gallery.html", "/gallery/x", "/.keep", "/assets/", "/assets/app-1a2b.js.gz", "/assets/none.js", "/conversation/1", "/%2e%2e/etc/passwd"} {
		if res, body := get(path, ""); res.StatusCode != 404 || !strings.Contains(body, `"not_found"`) {
			t.Errorf("%s: %d %q", path, res.StatusCode, body)
		}
	}
	if res := r.request("POST", "/favicon.svg", nil); res.StatusCode != 405 || res.Header.Get("Allow") != "GET, HEAD" {
		t.Errorf("POST: %d", res.StatusCode)
	}
	if res := r.request("HEAD", "/favicon.svg", nil); res.StatusCode != 200 || res.ContentLength != 6 {
		t.Errorf("HEAD: %d %d", res.StatusCode, res.ContentLength)
	}
}

func TestPageThatNotEveryClientReads(t *testing.T) {
	for name, files := range map[string]fstest.MapFS{
		"brotli only": {"index.html.br": {Data: []byte("x")}},
		"no gzip":     {"index.html.gz": {Data: []byte("x")}},
	} {
		if _, err := newPage(files); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestCrossOrigin(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Origins = []string{"https://app.example.com"} })
	for _, c := range []struct {
		origin, site string
		read         bool
		write        int
	}{
		{"", "", false, 201},
		{r.srv.URL, "same-origin", false, 201},
		{"https://app.example.com", "cross-site", true, 201},
		{"https://evil.example", "cross-site", false, 403},
		{"https://evil.example", "", false, 403},
		{"null", "cross-site", false, 403},
		{"https://app.example.com.evil.example", "cross-site", false, 403},
	} {
		headers := []string{"Origin", c.origin, "Sec-Fetch-Site", c.site}
		if c.origin == "" {
			headers = nil
		}
		res := r.request("GET", "/v1/conversations", nil, headers...)
		if got := res.Header.Get("Access-Control-Allow-Origin"); res.StatusCode != 200 || (got == c.origin && got != "") != c.read || got == "*" {
			t.Errorf("read from %q: %d, allowed %q", c.origin, res.StatusCode, got)
		}
		if c.read && (!strings.Contains(res.Header.Get("Access-Control-Expose-Headers"), "X-Message-Id") || res.Header.Get("Vary") == "") {
			t.Errorf("headers %v", res.Header)
		}
		res = r.request("POST", "/v1/conversations", nil, headers...)
		body := string(r.body(res))
		if res.StatusCode != c.write {
			t.Errorf("write from %q: %d, want %d", c.origin, res.StatusCode, c.write)
		}
		if c.write == 403 && (!strings.Contains(body, "the origin "+c.origin+" may not") || !strings.Contains(body, "auth.origins") || !strings.Contains(body, `"details":{"origin":"`+c.origin+`"}`)) {
			t.Errorf("write from %q: %s", c.origin, body)
		}
		res = r.request("OPTIONS", "/v1/chat", nil, append(headers, "Access-Control-Request-Method", "POST", "Authorization", "-")...)
		allowed := res.Header.Get("Access-Control-Allow-Headers")
		if c.read && (res.StatusCode != 204 || !strings.Contains(allowed, "X-Blocks") || !strings.Contains(allowed, "Last-Event-ID") || !strings.Contains(allowed, "Idempotency-Key")) {
			t.Errorf("preflight from %q: %d %q", c.origin, res.StatusCode, allowed)
		}
		if !c.read && allowed != "" {
			t.Errorf("preflight from %q: %q", c.origin, allowed)
		}
	}
}

// The page that is built in must live under the policy it is served with.
func TestBuiltPage(t *testing.T) {
	p, err := newPage(web.Dist)
	if err != nil {
		t.Fatal(err)
	}
	if p.names["index.html"] == nil {
		t.Log("the page is not built in")
		return
	}
	for _, name := range documents {
		f, ok := p.names[name]
		if !ok {
			t.Errorf("%s is not built in", name)
			continue
		}
		b, err := p.read(name, f, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range regexp.MustCompile(`(?s)<script([^>]*)>(.*?)</script>`).FindAllSubmatch(b, -1) {
			if !bytes.Contains(m[1], []byte("src=")) || len(bytes.TrimSpace(m[2])) > 0 {
				t.Errorf("an inline script, which the policy forbids: %s", m[0])
			}
		}
		for _, m := range regexp.MustCompile(`(?:src|href)="\./([^"]+)"`).FindAllSubmatch(b, -1) {
			if p.names[string(m[1])] == nil {
				t.Errorf("%s names %s, which is not there", name, m[1])
			}
		}
	}
}
