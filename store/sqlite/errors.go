package sqlite

import (
	"errors"
	"fmt"

	driver "modernc.org/sqlite"
	lib "modernc.org/sqlite/lib"

	"github.com/inlay-ui/inlay/store"
)

// wrap names the operation of an error and gives what SQLite reports the
// store's own meaning.
func wrap(op string, err error) error {
	if err == nil {
		return nil
	}
	var se *driver.Error
	if errors.As(err, &se) {
		switch primary(se) {
		case lib.SQLITE_FULL:
			return fmt.Errorf("sqlite: %s: %w: %w; free some space, nothing was lost", op, store.ErrFull, err)
		case lib.SQLITE_BUSY, lib.SQLITE_LOCKED:
			return fmt.Errorf("sqlite: %s: %w: %w; another program has locked the database", op, store.ErrBusy, err)
		case lib.SQLITE_CONSTRAINT:
			return fmt.Errorf("sqlite: %s: %w: %w", op, store.ErrConflict, err)
		}
	}
	return fmt.Errorf("sqlite: %s: %w", op, err)
}

// fatal reports whether an error may have ended the whole transaction, not
// just the statement.
func fatal(err error) bool {
	var se *driver.Error
	if !errors.As(err, &se) {
		return false
	}
	return primary(se) != lib.SQLITE_CONSTRAINT
}

func primary(e *driver.Error) int { return e.Code() & 0xff }

func isNotFound(err error) bool { return errors.Is(err, store.ErrNotFound) }
