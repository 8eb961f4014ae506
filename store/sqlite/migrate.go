package sqlite

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"strconv"
	"strings"
)

//go:embed migrations/*.sql
var migrations embed.FS

// migrate brings the database to the newest shape. Each file is one
// transaction; user_version is the number of the last one.
func migrate(ctx context.Context, conn *sql.Conn) error {
	var have int
	if err := conn.QueryRowContext(ctx, "PRAGMA user_version").Scan(&have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	names, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	newest := 0
	for _, name := range names {
		number, _, _ := strings.Cut(strings.TrimPrefix(name, "migrations/"), "_")
		v, err := strconv.Atoi(number)
		if err != nil {
			return fmt.Errorf("migration %s has no number", name)
		}
		newest = max(newest, v)
		if v <= have {
			continue
		}
		text, err := migrations.ReadFile(name)
		if err != nil {
			return err
		}
		script := fmt.Sprintf("BEGIN IMMEDIATE;\n%s\nPRAGMA user_version = %d;\nCOMMIT;", text, v)
		if _, err := conn.ExecContext(ctx, script); err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
			return fmt.Errorf("migration %s: %w", name, err)
		}
	}
	if have > newest {
		return fmt.Errorf("the database has schema version %d, this program knows %d: it was written by a newer release", have, newest)
	}
	return nil
}
