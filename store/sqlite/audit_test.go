package sqlite_test

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
)

// The audit log is read beside the process that writes it, and after it.
func TestReadAudit(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlay.db")
	read := func(q store.AuditQuery) []string {
		t.Helper()
		var ids []string
		if err := sqlite.ReadAudit(t.Context(), path, q, func(e store.AuditEntry) error {
			ids = append(ids, e.ID)
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		return ids
	}
	if err := sqlite.ReadAudit(t.Context(), path, store.AuditQuery{}, nil); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("no file: %v", err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("reading made a file")
	}
	s, err := sqlite.Open(t.Context(), sqlite.Options{Path: path})
	if err != nil {
		t.Fatal(err)
	}
	at := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for i, id := range []string{"l_1", "l_2", "l_3"} {
		if err := s.AppendAudit(t.Context(), store.AuditEntry{ID: id, At: at.Add(time.Duration(i) * time.Hour), Tenant: "t", User: []string{"ann", "bob"}[i%2], Name: "pay", Decision: "allowed"}); err != nil {
			t.Fatal(err)
		}
	}
	if got := read(store.AuditQuery{}); len(got) != 3 || got[0] != "l_1" {
		t.Errorf("beside the owner: %v", got)
	}
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if got := read(store.AuditQuery{Owner: store.Owner{User: "ann"}, Since: at.Add(time.Hour)}); len(got) != 1 || got[0] != "l_3" {
		t.Errorf("afterwards: %v", got)
	}
	stop := errors.New("stop")
	if err := sqlite.ReadAudit(t.Context(), path, store.AuditQuery{}, func(store.AuditEntry) error { return stop }); !errors.Is(err, stop) {
		t.Errorf("the reader's own error: %v", err)
	}
}
