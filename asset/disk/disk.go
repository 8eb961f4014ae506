// Package disk keeps blobs as files of one directory.
//
// A file appears under its name when it is whole and on the disk. It must never
// know what the files are.
package disk

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"runtime"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/store"
)

var _ asset.Blobs = (*Dir)(nil)

// Dir is a directory of blobs. Several processes may share it. It is safe for
// concurrent use.
type Dir struct{ root *os.Root }

// arriving is where files are that are not whole yet.
const arriving = "arriving"

// leftBehind is the age of unfinished files that nobody is writing any more.
const leftBehind = 24 * time.Hour

// Open opens a directory, which is made when it is not there, and removes what
// crashes left unfinished in it.
func Open(dir string) (*Dir, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, fmt.Errorf("open files: %w", err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("open files: %w", err)
	}
	d := &Dir{root}
	if err := d.sweep(); err != nil {
		return nil, errors.Join(fmt.Errorf("open files: %w", err), root.Close())
	}
	return d, nil
}

func (d *Dir) sweep() error {
	if err := d.root.MkdirAll(arriving, 0o700); err != nil {
		return err
	}
	list, err := fs.ReadDir(d.root.FS(), arriving)
	if err != nil {
		return err
	}
	for _, e := range list {
		info, err := e.Info()
		if err == nil && time.Since(info.ModTime()) > leftBehind {
			err = d.root.Remove(path.Join(arriving, e.Name()))
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Close closes the directory.
func (d *Dir) Close() error { return d.root.Close() }

// place returns where a blob is: ids begin with their time, so that their last
// digits spread over the directories.
func place(key string) (dir, file string, err error) {
	if err := asset.CheckKey(key); err != nil {
		return "", "", err
	}
	const idSize = len("a_00000000-0000-0000-0000-000000000000")
	dir = key[idSize-2 : idSize]
	return dir, path.Join(dir, key), nil
}

// Put implements asset.Blobs.
func (d *Dir) Put(ctx context.Context, key string, r io.Reader) (n int64, err error) {
	dir, file, err := place(key)
	if err != nil {
		return 0, err
	}
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	name := path.Join(arriving, hex.EncodeToString(random[:]))
	f, err := d.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return 0, failure("keep blob", err)
	}
	defer func() {
		if err != nil {
			_ = d.root.Remove(name) // what remains is swept away later
		}
	}()
	n, err = io.Copy(f, untilDone{ctx, r})
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return 0, failure("keep blob", err)
	}
	if err := d.root.MkdirAll(dir, 0o700); err != nil {
		return 0, failure("keep blob", err)
	}
	if err := d.root.Rename(name, file); err != nil {
		return 0, failure("keep blob", err)
	}
	// The name has to survive a loss of power too.
	for _, changed := range []string{dir, "."} {
		if err := d.syncDir(changed); err != nil {
			return 0, failure("keep blob", err)
		}
	}
	return n, nil
}

func (d *Dir) syncDir(name string) error {
	if runtime.GOOS == "windows" {
		return nil // directories cannot be synced there
	}
	f, err := d.root.Open(name)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// untilDone is a reader that ends with its context.
type untilDone struct {
	ctx context.Context
	r   io.Reader
}

// Read implements io.Reader.
func (u untilDone) Read(p []byte) (int, error) {
	if u.ctx.Err() != nil {
		return 0, context.Cause(u.ctx)
	}
	return u.r.Read(p)
}

// failure words an error in the errors of stores.
func failure(doing string, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return fmt.Errorf("%s: %w", doing, asset.ErrNoBlob)
	case isFull(err):
		return fmt.Errorf("%s: %w: %w", doing, store.ErrFull, err)
	}
	return fmt.Errorf("%s: %w", doing, err)
}

// file is a part of a file.
type file struct {
	*io.SectionReader
	f *os.File
}

// Close implements io.Closer.
func (f file) Close() error { return f.f.Close() }

// Open implements asset.Blobs.
func (d *Dir) Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error) {
	_, name, err := place(key)
	if err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if offset < 0 {
		return nil, fmt.Errorf("open blob: at %d", offset)
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, failure("open blob", err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(failure("open blob", err), f.Close())
	}
	rest := max(info.Size()-offset, 0)
	if length < 0 || length > rest {
		length = rest
	}
	return file{io.NewSectionReader(f, offset, length), f}, nil
}

// Stat implements asset.Blobs.
func (d *Dir) Stat(ctx context.Context, key string) (int64, error) {
	_, name, err := place(key)
	if err != nil {
		return 0, err
	}
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	info, err := d.root.Stat(name)
	if err != nil {
		return 0, failure("look for blob", err)
	}
	return info.Size(), nil
}

// Delete implements asset.Blobs.
func (d *Dir) Delete(ctx context.Context, key string) error {
	_, name, err := place(key)
	if err != nil {
		return err
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := d.root.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return failure("delete blob", err)
	}
	return nil
}
