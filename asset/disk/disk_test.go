package disk

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/asset/blobtest"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

func open(t *testing.T, dir string) *Dir {
	t.Helper()
	d, err := Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func TestBlobs(t *testing.T) {
	blobtest.Run(t, func(t *testing.T) asset.Blobs { return open(t, t.TempDir()) })
}

// What a crash has left is removed once nobody can be writing it any more.
func TestLeftovers(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	old, recent := filepath.Join(dir, arriving, "old"), filepath.Join(dir, arriving, "recent")
	for _, name := range []string{old, recent} {
		if err := os.WriteFile(name, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	then := time.Now().Add(-25 * time.Hour)
	if err := os.Chtimes(old, then, then); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(t.Context(), id.New("a"), strings.NewReader("x")); err != nil {
		t.Fatal(err)
	}
	open(t, dir)
	list, err := os.ReadDir(filepath.Join(dir, arriving))
	if err != nil || len(list) != 1 || list[0].Name() != "recent" {
		t.Errorf("left: %v, %v", list, err)
	}
}

// A name that was put into the directory from outside leads nowhere.
func TestSymbolicLinks(t *testing.T) {
	dir := t.TempDir()
	d := open(t, dir)
	key := id.New("a")
	shard, _, err := place(key)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	if err := errors.Join(os.Mkdir(filepath.Join(dir, shard), 0o700), os.WriteFile(outside, []byte("secret"), 0o600),
		os.Symlink(outside, filepath.Join(dir, shard, key))); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Open(t.Context(), key, 0, -1); err == nil {
		t.Error("a link out of the directory was followed")
	}
}

func TestFailure(t *testing.T) {
	full := &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
	if runtime.GOOS == "windows" {
		full.Err = syscall.Errno(112)
	}
	if err := failure("keep blob", full); !errors.Is(err, store.ErrFull) {
		t.Errorf("a full disk is %v", err)
	}
	if info, err := os.Stat(open(t, filepath.Join(t.TempDir(), "new", "files")).root.Name()); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o700 {
		t.Errorf("the directory is %v, %v", info.Mode(), err)
	}
}
