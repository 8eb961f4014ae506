package sqlite

import (
	"context"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/storetest"
)

// empty is the file of a store without anything in it. It is made once and
// copied: making it takes longer than most tests.
var empty = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "sqlite")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := Open(context.Background(), Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// open opens a store whose log goes to the test's: that of a path, or an empty
// one.
func open(t testing.TB, opt Options) *Store {
	t.Helper()
	if opt.Path == "" {
		opt.Path = filepath.Join(t.TempDir(), "inlay.db")
		file, err := empty()
		if err == nil {
			err = os.WriteFile(opt.Path, file, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	opt.Logger = slog.New(slog.NewTextHandler(t.Output(), nil))
	s, err := Open(t.Context(), opt)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return open(t, Options{}) })
}

// TestStoreTight runs the contract with so little memory that every reader
// meets the file, and a journal that spills all the time.
func TestStoreTight(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store {
		return open(t, Options{MaxTailBytes: 400, maxJournal: 1, Synchronous: Full})
	})
}
