package server

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
)

// page is the built chat page. Its files may be there plain, as .br or as .gz;
// the binary carries what the build wrote and each client gets what it reads.
type page struct {
	files fs.FS
	names map[string]*file
}

// file is one file of the page under its plain name.
type file struct {
	plain, br, gz bool
	etag          string
}

// newPage lists the page's files; nil makes a server without a page.
func newPage(files fs.FS) (*page, error) {
	p := &page{files: files, names: make(map[string]*file)}
	if files == nil {
		return p, nil
	}
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		if strings.HasPrefix(path.Base(name), ".") {
			return nil
		}
		base, ext := name, path.Ext(name)
		if ext == ".br" || ext == ".gz" {
			base = strings.TrimSuffix(name, ext)
		}
		f := p.names[base]
		if f == nil {
			f = &file{}
			p.names[base] = f
		}
		switch ext {
		case ".br":
			f.br = true
		case ".gz":
			f.gz = true
		default:
			f.plain = true
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("server: read page: %w", err)
	}
	for name, f := range p.names {
		if !f.plain && !f.gz {
			return nil, fmt.Errorf("server: the page's %s is there as .br only: not every client reads it", name)
		}
		b, err := p.read(name, f, "")
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(b)
		f.etag = `"` + base64.RawURLEncoding.EncodeToString(sum[:12])
	}
	return p, nil
}

// read returns a file in an encoding: "br", "gzip" or "" for plain.
func (p *page) read(name string, f *file, encoding string) ([]byte, error) {
	switch {
	case encoding == "br":
		return fs.ReadFile(p.files, name+".br")
	case encoding == "gzip":
		return fs.ReadFile(p.files, name+".gz")
	case f.plain:
		return fs.ReadFile(p.files, name)
	}
	b, err := fs.ReadFile(p.files, name+".gz")
	if err != nil {
		return nil, err
	}
	z, err := gzip.NewReader(bytes.NewReader(b))
	if err != nil {
		return nil, fmt.Errorf("server: page file %s: %w", name, err)
	}
	b, err = io.ReadAll(z)
	if err != nil {
		return nil, fmt.Errorf("server: page file %s: %w", name, err)
	}
	return b, nil
}

// documents are the page's HTML files, by the path that each is served under;
// all of them get the page's policy.
var documents = map[string]string{
	"/":        "index.html",
	"/gallery": "gallery.html",
}

// getRest serves the page's files and answers for every path that is no route.
func (s *server) getRest(w http.ResponseWriter, r *http.Request) error {
	if allowed := s.methods(r); len(allowed) > 0 {
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		return &answer{status: http.StatusMethodNotAllowed, code: codeMethodNotAllowed, message: "The method is not allowed here."}
	}
	name, ok := documents[r.URL.Path]
	if to, known := strings.CutSuffix(r.URL.Path, "/"); !ok && known && documents[to] != "" {
		// Relative, as the page itself may stand below some path.
		to = "../" + path.Base(to)
		if r.URL.RawQuery != "" {
			to += "?" + r.URL.RawQuery
		}
		w.Header().Set("Location", to)
		w.WriteHeader(http.StatusMovedPermanently)
		return nil
	}
	if !ok {
		name = strings.TrimPrefix(r.URL.Path, "/")
		ok = path.Ext(name) != ".html"
	}
	f, found := s.page.names[name]
	if !ok || !found {
		return notFound()
	}
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		w.Header().Set("Allow", "GET, HEAD")
		return &answer{status: http.StatusMethodNotAllowed, code: codeMethodNotAllowed, message: "The method is not allowed here."}
	}
	return s.serveFile(w, r, name, f)
}

// methods lists the methods under which a path is a route.
func (s *server) methods(r *http.Request) []string {
	var out []string
	for _, m := range []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodDelete} {
		probe := &http.Request{Method: m, URL: r.URL, Host: r.Host}
		if _, pattern := s.mux.Handler(probe); pattern != "/" && pattern != "" {
			out = append(out, m)
		}
	}
	return out
}

func (s *server) serveFile(w http.ResponseWriter, r *http.Request, name string, f *file) error {
	h := w.Header()
	h.Set("Content-Type", contentType(name))
	h.Add("Vary", "Accept-Encoding")
	document := path.Ext(name) == ".html"
	switch {
	case document:
		h.Set("Cache-Control", "no-store")
		h.Set("Content-Security-Policy", s.csp)
		h.Set("Referrer-Policy", "same-origin")
		h.Set("Cross-Origin-Opener-Policy", "same-origin")
		h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
		if len(s.Origins) > 0 {
			h.Set("Cross-Origin-Resource-Policy", "cross-origin")
		}
	case strings.HasPrefix(name, "assets/"):
		// Their names change with their content.
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	default:
		h.Set("Cache-Control", "public, max-age=3600")
	}
	encoding := negotiate(r.Header.Values("Accept-Encoding"), f)
	etag := f.etag + `"`
	if encoding != "" {
		etag = f.etag + "-" + encoding + `"`
		h.Set("Content-Encoding", encoding)
	}
	h.Set("ETag", etag)
	if !document && slices.Contains(strings.Split(strings.ReplaceAll(r.Header.Get("If-None-Match"), " ", ""), ","), etag) {
		h.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return nil
	}
	b, err := s.page.read(name, f, encoding)
	if err != nil {
		h.Del("Content-Encoding")
		if errors.Is(err, fs.ErrNotExist) {
			return notFound()
		}
		return err
	}
	h.Set("Content-Length", strconv.Itoa(len(b)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodHead {
		return nil
	}
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write page file: %w", err)
	}
	return nil
}

// negotiate returns the best encoding that the client takes and the build
// wrote.
func negotiate(accept []string, f *file) string {
	takes := map[string]bool{}
	for _, list := range accept {
		for item := range strings.SplitSeq(list, ",") {
			name, params, _ := strings.Cut(strings.ToLower(strings.TrimSpace(item)), ";")
			q := 1.0
			if v, ok := strings.CutPrefix(strings.ReplaceAll(params, " ", ""), "q="); ok {
				q, _ = strconv.ParseFloat(v, 64) // a malformed weight counts as none
			}
			takes[strings.TrimSpace(name)] = q > 0
		}
	}
	take := func(name string) bool {
		v, named := takes[name]
		return v || !named && takes["*"]
	}
	switch {
	case f.br && take("br"):
		return "br"
	case f.gz && take("gzip"):
		return "gzip"
	}
	return ""
}

// contentType knows the page's files without the system's tables.
func contentType(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js", ".mjs":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".json", ".map":
		return "application/json; charset=utf-8"
	case ".webmanifest":
		return "application/manifest+json"
	case ".svg":
		return "image/svg+xml"
	case ".png":
		return "image/png"
	case ".ico":
		return "image/x-icon"
	case ".woff2":
		return "font/woff2"
	case ".wasm":
		return "application/wasm"
	case ".txt":
		return "text/plain; charset=utf-8"
	}
	if t := mime.TypeByExtension(path.Ext(name)); t != "" {
		return t
	}
	return "application/octet-stream"
}
