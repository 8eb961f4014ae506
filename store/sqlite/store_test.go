package sqlite

import (
	"log/slog"
	"path/filepath"
	"testing"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/storetest"
)

// open opens a store whose log goes to the test's.
func open(t testing.TB, opt Options) *Store {
	t.Helper()
	if opt.Path == "" {
		opt.Path = filepath.Join(t.TempDir(), "inlay.db")
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
