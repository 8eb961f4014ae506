package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/inlay-ui/inlay/store"
)

// auditWhere is the condition that a query's entries meet, with its values.
func auditWhere(q store.AuditQuery) (string, []any) {
	where, args := []string{"id > ?"}, []any{q.Cursor}
	for _, c := range []struct{ column, value string }{
		{"tenant", q.Owner.Tenant}, {"user", q.Owner.User}, {"conversation", q.Conversation}, {"name", q.Name},
	} {
		if c.value != "" {
			where, args = append(where, c.column+" = ?"), append(args, c.value)
		}
	}
	if !q.Since.IsZero() {
		where, args = append(where, "at >= ?"), append(args, nanos(q.Since))
	}
	if !q.Until.IsZero() {
		where, args = append(where, "at < ?"), append(args, nanos(q.Until))
	}
	return strings.Join(where, " AND "), args
}

// ReadAudit reads the audit log of a database file, oldest first, beside the
// process that owns the file: it takes no lock and changes nothing. q.Limit
// does not count.
func ReadAudit(ctx context.Context, path string, q store.AuditQuery, each func(store.AuditEntry) error) error {
	fail := func(err error) error { return fmt.Errorf("sqlite: read the audit log of %s: %w", path, err) }
	full, err := filepath.Abs(path)
	if err != nil {
		return fail(err)
	}
	if _, err := os.Stat(full); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return fail(store.ErrNotFound)
		}
		return fail(err)
	}
	// A reader of a write-ahead log must be able to open its index for writing:
	// it is the connection that refuses to write, not the file.
	db, err := sql.Open("sqlite", (&Store{path: full, opt: Options{}.withDefaults()}).dsn(true))
	if err != nil {
		return fail(err)
	}
	defer db.Close()
	where, args := auditWhere(q)
	rows, err := db.QueryContext(ctx, "SELECT entry FROM audit WHERE "+where+" ORDER BY id", args...)
	if err != nil {
		return fail(err)
	}
	defer rows.Close()
	for rows.Next() {
		var raw []byte
		var e store.AuditEntry
		if err := rows.Scan(&raw); err != nil {
			return fail(err)
		}
		if err := json.Unmarshal(raw, &e); err != nil {
			return fail(err)
		}
		if err := each(e); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil {
		return fail(err)
	}
	return nil
}
