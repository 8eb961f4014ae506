// Package blobtest is the contract of asset.Blobs as tests.
//
// It may import asset. It must never be imported by anything but tests.
package blobtest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/internal/id"
)

// Run holds a kind of Blobs to its contract. open returns an empty one.
func Run(t *testing.T, open func(t *testing.T) asset.Blobs) {
	for _, c := range []struct {
		name string
		test func(*testing.T, asset.Blobs)
	}{
		{"what is put is there", roundTrip},
		{"parts", parts},
		{"keys", badKeys},
		{"what breaks off leaves what was there", brokenOff},
		{"at the same time", together},
	} {
		t.Run(c.name, func(t *testing.T) { c.test(t, open(t)) })
	}
}

func put(t *testing.T, b asset.Blobs, key string, data []byte) {
	t.Helper()
	// A reader of which nothing is known but that it can be read.
	n, err := b.Put(t.Context(), key, struct{ io.Reader }{bytes.NewReader(data)})
	if err != nil || n != int64(len(data)) {
		t.Fatalf("put %d bytes: %d, %v", len(data), n, err)
	}
}

func read(t *testing.T, b asset.Blobs, key string, offset, length int64) []byte {
	t.Helper()
	r, err := b.Open(t.Context(), key, offset, length)
	if err != nil {
		t.Fatal(err)
	}
	data, err := io.ReadAll(r)
	if err := errors.Join(err, r.Close()); err != nil {
		t.Fatal(err)
	}
	return data
}

func absent(t *testing.T, b asset.Blobs, key string) {
	t.Helper()
	if _, err := b.Stat(t.Context(), key); !errors.Is(err, asset.ErrNoBlob) {
		t.Errorf("stat of what is not there: %v", err)
	}
	for _, offset := range []int64{0, 1} {
		r, err := b.Open(t.Context(), key, offset, -1)
		if err == nil {
			_, err = io.ReadAll(r)
			_ = r.Close()
		}
		if !errors.Is(err, asset.ErrNoBlob) {
			t.Errorf("open of what is not there: %v", err)
		}
	}
	if err := b.Delete(t.Context(), key); err != nil {
		t.Errorf("delete of what is not there: %v", err)
	}
}

func sample(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	data := make([]byte, n)
	for i := range data {
		data[i] = byte(r.Uint32())
	}
	return data
}

func roundTrip(t *testing.T, b asset.Blobs) {
	key := id.New("a")
	absent(t, b, key)
	for _, n := range []int{0, 1, 100_000, 17<<20 + 5} {
		data := sample(n)
		put(t, b, key, data)
		if size, err := b.Stat(t.Context(), key); err != nil || size != int64(n) {
			t.Errorf("size %d, %v; want %d", size, err, n)
		}
		if !bytes.Equal(read(t, b, key, 0, -1), data) {
			t.Errorf("%d bytes came back otherwise", n)
		}
	}
	put(t, b, key+".thumb", []byte("small"))
	if err := b.Delete(t.Context(), key); err != nil {
		t.Fatal(err)
	}
	absent(t, b, key)
	if got := read(t, b, key+".thumb", 0, -1); string(got) != "small" {
		t.Errorf("what belongs to it went too: %q", got)
	}
}

func parts(t *testing.T, b asset.Blobs) {
	key := id.New("a")
	data := sample(300_000)
	put(t, b, key, data)
	for _, c := range []struct{ offset, length, n int64 }{
		{0, 1, 1}, {0, 0, 0}, {299_999, -1, 1}, {299_999, 100, 1}, {300_000, -1, 0}, {400_000, 10, 0}, {1000, 65_536, 65_536}, {1000, -1, 299_000},
	} {
		got := read(t, b, key, c.offset, c.length)
		from := min(c.offset, int64(len(data)))
		if !bytes.Equal(got, data[from:from+c.n]) {
			t.Errorf("%+v: %d bytes", c, len(got))
		}
	}
	r, err := b.Open(t.Context(), key, 0, -1)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := r.(io.ReaderAt); ok {
		p := make([]byte, 10)
		if n, err := at.ReadAt(p, 1234); n != 10 || err != nil || !bytes.Equal(p, data[1234:1244]) {
			t.Errorf("read at a place: %d, %v", n, err)
		}
	}
	if err := r.Close(); err != nil {
		t.Error(err)
	}
	if _, err := b.Open(t.Context(), key, -1, 5); err == nil {
		t.Error("a place before the beginning was accepted")
	}
}

func badKeys(t *testing.T, b asset.Blobs) {
	good := id.New("a")
	for _, key := range []string{
		"", ".", "..", "/etc/passwd", "../" + good, good + "/..", good + "/x", "a_../../../../etc/passwd", strings.ToUpper(good), good + ".", good + ".thumb.x",
		good + "\x00", good + "\n", "\n" + good, good[:20], good + good, `a_..\..\x`, good + ".THUMB", "a_" + strings.Repeat("0", 36), good + " ",
	} {
		if _, err := b.Put(t.Context(), key, strings.NewReader("x")); err == nil {
			t.Errorf("put under %q", key)
		}
		if _, err := b.Open(t.Context(), key, 0, -1); err == nil || errors.Is(err, asset.ErrNoBlob) {
			t.Errorf("open of %q: %v", key, err)
		}
		if _, err := b.Stat(t.Context(), key); err == nil || errors.Is(err, asset.ErrNoBlob) {
			t.Errorf("stat of %q: %v", key, err)
		}
		if err := b.Delete(t.Context(), key); err == nil {
			t.Errorf("delete of %q", key)
		}
	}
}

var errBroken = errors.New("the sender has gone")

// broken yields n bytes and then an error.
func broken(n int) io.Reader {
	return io.MultiReader(io.LimitReader(zeros{}, int64(n)), failing{})
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

type failing struct{}

func (failing) Read([]byte) (int, error) { return 0, errBroken }

func brokenOff(t *testing.T, b asset.Blobs) {
	key := id.New("a")
	for _, n := range []int{0, 1000, 9 << 20} {
		if _, err := b.Put(t.Context(), key, broken(n)); !errors.Is(err, errBroken) {
			t.Errorf("after %d bytes: %v", n, err)
		}
		absent(t, b, key)
	}
	put(t, b, key, []byte("whole"))
	if _, err := b.Put(t.Context(), key, broken(1000)); !errors.Is(err, errBroken) {
		t.Errorf("over another: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	started := make(chan struct{})
	go func() {
		<-started
		cancel()
	}()
	if _, err := b.Put(ctx, key, &slow{started: started}); err == nil {
		t.Error("a reader that has left was not noticed")
	}
	if got := read(t, b, key, 0, -1); string(got) != "whole" {
		t.Errorf("what was there is %q now", got)
	}
}

// slow yields bytes for ever and says when it was first read.
type slow struct {
	started chan struct{}
	once    sync.Once
}

func (s *slow) Read(p []byte) (int, error) {
	s.once.Do(func() { close(s.started) })
	clear(p)
	return len(p), nil
}

// together: of several that put under one key, one wins as a whole.
func together(t *testing.T, b asset.Blobs) {
	key := id.New("a")
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			data := bytes.Repeat([]byte(fmt.Sprint(i)), 50_000)
			if _, err := b.Put(t.Context(), key, bytes.NewReader(data)); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	got := read(t, b, key, 0, -1)
	if len(got) != 50_000 || strings.Trim(string(got), string(got[:1])) != "" {
		t.Errorf("%d bytes of several", len(got))
	}
}
