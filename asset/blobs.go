package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
)

// ErrNoBlob says that there is nothing under a key.
var ErrNoBlob = errors.New("no such blob")

// Blobs keeps bytes under keys. Implementations are safe for concurrent use
// and held to asset/blobtest. Keys that CheckKey refuses are refused by every
// method; store.ErrFull says that there is no room.
type Blobs interface {
	// Put keeps everything that r yields and returns how much it was. Under the
	// key there is what was there before until all of it is; when r, the
	// context or the store fails, it stays so.
	Put(ctx context.Context, key string, r io.Reader) (int64, error)
	// Open returns length bytes from offset on, all of them for a negative
	// length. What it returns may implement io.ReaderAt, with offset 0.
	// ErrNoBlob when there is nothing.
	Open(ctx context.Context, key string, offset, length int64) (io.ReadCloser, error)
	// Stat returns how many bytes there are. ErrNoBlob when there is nothing.
	Stat(ctx context.Context, key string) (int64, error)
	// Delete removes what there is; no error when there is nothing.
	Delete(ctx context.Context, key string) error
}

// keys are ids, with a word behind for what belongs to them.
var keys = regexp.MustCompile(`^[a-z]_[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(\.[a-z]{1,16})?$`)

// CheckKey refuses what is no key: keys become names of files.
func CheckKey(key string) error {
	if len(key) > 64 || !keys.MatchString(key) {
		return fmt.Errorf("%q is no key of a blob", key)
	}
	return nil
}

func thumbKey(id string) string { return id + ".thumb" }

// random reads a blob at any place. Stores that can only be read forwards are
// read in pieces, of which the last few are kept.
type random struct {
	ctx   context.Context
	blobs Blobs
	key   string
	size  int64

	whole io.ReadCloser // when it is an io.ReaderAt
	parts []piece       // newest last
}

type piece struct {
	at   int64
	data []byte
}

const (
	pieceSize = 256 << 10
	keepParts = 8
)

// open returns a reader of a blob at any place.
func (l *Library) open(ctx context.Context, key string, size int64) (*random, error) {
	r := &random{ctx: ctx, blobs: l.Blobs, key: key, size: size}
	whole, err := l.Blobs.Open(ctx, key, 0, -1)
	if err != nil {
		return nil, err
	}
	if _, ok := whole.(io.ReaderAt); ok {
		r.whole = whole
		return r, nil
	}
	return r, whole.Close()
}

// Close implements io.Closer.
func (r *random) Close() error {
	if r.whole == nil {
		return nil
	}
	return r.whole.Close()
}

// ReadAt implements io.ReaderAt; it fails once the context has ended.
func (r *random) ReadAt(p []byte, off int64) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if off < 0 {
		return 0, fmt.Errorf("read at %d", off)
	}
	if at, ok := r.whole.(io.ReaderAt); ok {
		return at.ReadAt(p, off)
	}
	n := 0
	for n < len(p) {
		if off >= r.size {
			return n, io.EOF
		}
		data, err := r.piece(off - off%pieceSize)
		if err != nil {
			return n, err
		}
		m := copy(p[n:], data[off%pieceSize:])
		n += m
		off += int64(m)
	}
	return n, nil
}

func (r *random) piece(at int64) ([]byte, error) {
	for _, p := range r.parts {
		if p.at == at {
			return p.data, nil
		}
	}
	rc, err := r.blobs.Open(r.ctx, r.key, at, min(pieceSize, r.size-at))
	if err != nil {
		return nil, err
	}
	data := make([]byte, min(pieceSize, r.size-at))
	_, err = io.ReadFull(rc, data)
	if err := errors.Join(err, rc.Close()); err != nil {
		return nil, fmt.Errorf("read blob: %w", err)
	}
	if len(r.parts) == keepParts {
		r.parts = append(r.parts[:0], r.parts[1:]...)
	}
	r.parts = append(r.parts, piece{at, data})
	return data, nil
}
