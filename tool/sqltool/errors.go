package sqltool

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5/pgconn"
	"modernc.org/sqlite"
)

// refused says that the database answered and will answer the same again:
// trying once more cannot help.
func refused(err error) bool {
	var pg *pgconn.PgError
	if errors.As(err, &pg) {
		// Classes: connection, resources, operator intervention, system,
		// rolled back.
		for _, class := range []string{"08", "40", "53", "57", "58"} {
			if strings.HasPrefix(pg.Code, class) {
				return false
			}
		}
		return true
	}
	var my *mysql.MySQLError
	if errors.As(err, &my) {
		switch my.Number {
		case 1040, 1203, 1205, 1213, 1317, 3024: // full, lock wait, deadlock, interrupted, too slow
			return false
		}
		return true
	}
	var lite *sqlite.Error
	if errors.As(err, &lite) {
		switch lite.Code() & 0xff {
		case 5, 6, 9, 10, 14: // busy, locked, interrupted, I/O, cannot open
			return false
		}
		return true
	}
	return false
}
