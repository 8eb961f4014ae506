package sqlite

import (
	"errors"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
)

// TestDamage takes away and spoils what the file holds: readers get an error,
// not a gap.
func TestDamage(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "inlay.db")
	s := open(t, Options{Path: path})
	for _, msg := range []string{"m_missing", "m_spoiled", "m_whole"} {
		lease, _, err := s.Acquire(ctx, msg, "one", time.Minute)
		must(t, err)
		must(t, s.Append(ctx, lease, delta(msg, 1, 1), done(msg, 1, 2)))
		must(t, s.Release(ctx, lease))
	}
	must(t, s.write(ctx, func(t *tx) error {
		if _, err := t.exec("DELETE FROM chunks WHERE log = (SELECT id FROM logs WHERE msg = 'm_missing')"); err != nil {
			return err
		}
		_, err := t.exec("UPDATE chunks SET frames = x'ff' WHERE log = (SELECT id FROM logs WHERE msg = 'm_spoiled')")
		return err
	}))
	read := func(msg string) error {
		for _, err := range s.Read(ctx, msg, 0) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	if err := read("m_missing"); err == nil || !strings.Contains(err.Error(), "missing from the file") {
		t.Errorf("read without chunks: %v", err)
	}
	if err := read("m_spoiled"); !errors.Is(err, event.ErrFrame) {
		t.Errorf("read of spoiled frames: %v", err)
	}
	must(t, read("m_whole"))

	must(t, s.write(ctx, func(t *tx) error {
		_, err := t.exec("INSERT INTO journal (id, frames) VALUES (1000, x'01ff')")
		return err
	}))
	must(t, s.Close())
	if _, err := Open(ctx, Options{Path: path}); !errors.Is(err, errShort) {
		t.Fatalf("open with a spoiled journal: %v", err)
	}
}
