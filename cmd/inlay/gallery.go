package main

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/inlay-ui/inlay/web"
)

type galleryCmd struct {
	Out string `help:"Directory to write to; made where it is missing." default:"inlay-gallery" type:"path" placeholder:"DIR"`
}

// Run writes the gallery as files that any web server can hand out.
func (c *galleryCmd) Run() error {
	n, err := writeGallery(web.Dist, c.Out)
	if err != nil {
		return fmt.Errorf("gallery: %w", err)
	}
	fmt.Printf("inlay: %d files written to %s\n", n, c.Out)
	fmt.Println("Serve them with any web server; browsers do not run them from a file:// address.")
	return nil
}

// writeGallery writes the page's files, uncompressed, with the gallery in the
// place of the chat, and returns their number.
func writeGallery(files fs.FS, dir string) (int, error) {
	if files == nil {
		return 0, errors.New("this program was built without the page")
	}
	n, found := 0, false
	err := fs.WalkDir(files, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(path.Base(name), ".") {
			return err
		}
		plain := strings.TrimSuffix(name, ".gz")
		switch {
		case path.Ext(name) == ".br", name == "manifest.json", plain == "index.html":
			return nil
		case plain == "gallery.html":
			plain, found = "index.html", true
		}
		n++
		return writeFile(files, name, filepath.Join(dir, filepath.FromSlash(plain)))
	})
	if err != nil {
		return 0, err
	}
	if !found {
		return 0, errors.New("this program was built before the page was")
	}
	return n, nil
}

// writeFile copies a file out of the page, unpacking it when it is a .gz.
func writeFile(files fs.FS, name, to string) (err error) {
	src, err := files.Open(name)
	if err != nil {
		return err
	}
	defer src.Close()
	var r io.Reader = src
	if path.Ext(name) == ".gz" {
		z, err := gzip.NewReader(src)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		r = z
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return err
	}
	dst, err := os.Create(to)
	if err != nil {
		return err
	}
	defer func() {
		if closeErr := dst.Close(); err == nil {
			err = closeErr
		}
	}()
	if _, err := io.Copy(dst, r); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}
