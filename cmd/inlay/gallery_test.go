package main

import (
	"bytes"
	"compress/gzip"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/inlay-ui/inlay/web"
)

func packed(t *testing.T, s string) *fstest.MapFile {
	t.Helper()
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	if _, err := z.Write([]byte(s)); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return &fstest.MapFile{Data: b.Bytes()}
}

func TestGalleryIsWrittenForPlainServers(t *testing.T) {
	files := fstest.MapFS{
		".keep":               {},
		"manifest.json":       {Data: []byte("{}")},
		"index.html.gz":       packed(t, "chat"),
		"index.html.br":       {Data: []byte("brotli")},
		"gallery.html.gz":     packed(t, "gallery"),
		"gallery.html.br":     {Data: []byte("brotli")},
		"assets/app-1a.js.gz": packed(t, "script"),
		"assets/hills-1a.png": {Data: []byte("picture")},
	}
	dir := filepath.Join(t.TempDir(), "new", "gallery")
	for range 2 { // a second time over the first
		n, err := writeGallery(files, dir)
		if err != nil {
			t.Fatal(err)
		}
		if n != 3 {
			t.Errorf("%d files", n)
		}
	}
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		b, err := os.ReadFile(name)
		rel, relErr := filepath.Rel(dir, name)
		if relErr != nil {
			return relErr
		}
		got[filepath.ToSlash(rel)] = string(b)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"index.html": "gallery", "assets/app-1a.js": "script", "assets/hills-1a.png": "picture"}
	if len(got) != len(want) {
		t.Errorf("written: %v", got)
	}
	for name, text := range want {
		if got[name] != text {
			t.Errorf("%s is %q", name, got[name])
		}
	}
}

func TestGalleryWithoutAPage(t *testing.T) {
	for name, files := range map[string]fs.FS{
		"built without it": nil,
		"not built":        fstest.MapFS{".keep": {}},
		"damaged":          fstest.MapFS{"gallery.html.gz": {Data: []byte("no gzip")}},
	} {
		if _, err := writeGallery(files, t.TempDir()); err == nil {
			t.Errorf("%s: written", name)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := writeGallery(fstest.MapFS{"gallery.html": {}}, file); err == nil {
		t.Error("written into a file")
	}
}

// What is written must be whole: every file that a file names is there.
func TestGalleryOfThisProgram(t *testing.T) {
	if web.Dist == nil {
		t.Log("built without the page")
		return
	}
	if _, err := fs.Stat(web.Dist, "index.html.gz"); err != nil {
		t.Log("the page is not built in")
		return
	}
	dir := t.TempDir()
	if _, err := writeGallery(web.Dist, dir); err != nil {
		t.Fatal(err)
	}
	scripts, err := filepath.Glob(filepath.Join(dir, "assets", "*.js"))
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile(`(?:\./|assets/)([A-Za-z0-9_.-]+\.(?:js|mjs|css|png|pdf|xlsx|txt|wasm))\b`)
	seen := 0
	for _, f := range append(scripts, filepath.Join(dir, "index.html")) {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, m := range named.FindAllSubmatch(b, -1) {
			names = append(names, string(m[1]))
		}
		slices.Sort(names)
		for _, name := range slices.Compact(names) {
			// Only names with a hash are of the build.
			if !regexp.MustCompile(`-[A-Za-z0-9_-]{8}\.`).MatchString(name) {
				continue
			}
			seen++
			if _, err := os.Stat(filepath.Join(dir, "assets", name)); err != nil {
				t.Errorf("%s names %s: %v", filepath.Base(f), name, err)
			}
		}
		if strings.Contains(string(b), "sourceMappingURL") {
			t.Errorf("%s names a source map", f)
		}
	}
	if seen < 5 {
		t.Errorf("only %d names were found", seen)
	}
}
