// Package sqltool makes tools of SQL statements declared in configuration.
//
// It owns the sources (SQLite, PostgreSQL, MySQL), the reading of statements
// with :name parameters, the limits of a query and the way rows become JSON.
// It may import block, tool and tool/mapping. It must never put a value into
// the text of a statement.
package sqltool

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"modernc.org/sqlite" // the driver "sqlite" too
	sqlite3 "modernc.org/sqlite/lib"
)

// Config describes a database.
type Config struct {
	// DSN is sqlite:PATH, postgres://… or mysql://user:password@host:port/db.
	DSN string `json:"dsn"`
	// ReadOnly makes the database refuse writes. It is the default.
	ReadOnly *bool `json:"read_only"`
	// MaxRows bounds the rows of one query; what is more is cut and said so.
	// Default 1000.
	MaxRows int `json:"max_rows"`
	// MaxBytes bounds the values of one query likewise. Default 4 MiB.
	MaxBytes int `json:"max_bytes"`
	// Timeout bounds one query. Default 10 s.
	Timeout time.Duration `json:"timeout"`
	// MaxConns bounds the connections. Default 4.
	MaxConns int `json:"max_conns"`
}

// Source is an open database. It is safe for concurrent use.
type Source struct {
	db       *sql.DB
	dialect  Dialect
	readOnly bool
	maxRows  int
	maxBytes int
	timeout  time.Duration
}

// Open opens a database. No connection is made yet: a database that is down
// fails the queries, not the start.
func Open(c Config) (*Source, error) {
	s := &Source{
		readOnly: c.ReadOnly == nil || *c.ReadOnly,
		maxRows:  or(c.MaxRows, 1000),
		maxBytes: or(c.MaxBytes, 4<<20),
		timeout:  or(c.Timeout, 10*time.Second),
	}
	var err error
	s.db, s.dialect, err = connect(c.DSN, s.readOnly)
	if err != nil {
		return nil, err
	}
	n := or(c.MaxConns, 4)
	s.db.SetMaxOpenConns(n)
	s.db.SetMaxIdleConns(n)
	s.db.SetConnMaxIdleTime(5 * time.Minute)
	return s, nil
}

func or[T int | time.Duration](v, def T) T {
	if v <= 0 {
		return def
	}
	return v
}

func connect(dsn string, readOnly bool) (*sql.DB, Dialect, error) {
	scheme, rest, _ := strings.Cut(dsn, ":")
	switch scheme {
	case "sqlite":
		path := strings.TrimPrefix(rest, "//")
		if path == "" {
			return nil, "", errors.New("sqlite: the DSN names no file")
		}
		db, err := sql.Open("sqlite", sqliteURI(path, readOnly))
		if err != nil {
			return nil, "", fmt.Errorf("open sqlite %s: %w", path, err)
		}
		return db, SQLite, nil
	case "postgres", "postgresql":
		cfg, err := pgx.ParseConfig(dsn)
		if err != nil {
			return nil, "", fmt.Errorf("postgres DSN: %w", err) // pgx hides the password
		}
		return stdlib.OpenDB(*cfg), Postgres, nil
	case "mysql":
		cfg, err := mysqlConfig(dsn)
		if err != nil {
			return nil, "", err
		}
		c, err := mysql.NewConnector(cfg)
		if err != nil {
			return nil, "", fmt.Errorf("mysql DSN: %w", err)
		}
		return sql.OpenDB(c), MySQL, nil
	}
	return nil, "", fmt.Errorf("a DSN starts with sqlite:, postgres:// or mysql://, not with %q", scheme+":")
}

// sqliteURI names a file as SQLite's URI, with what makes it read-only.
func sqliteURI(path string, readOnly bool) string {
	q := url.Values{"_pragma": {"busy_timeout(5000)"}}
	if readOnly {
		q.Set("mode", "ro")
		q.Add("_pragma", "query_only(1)")
	} else {
		q.Add("_pragma", "foreign_keys(1)")
	}
	return "file:" + strings.NewReplacer("%", "%25", "?", "%3f", "#", "%23").Replace(path) + "?" + q.Encode()
}

// mysqlConfig reads mysql://user:password@host:port/db?key=value.
func mysqlConfig(dsn string) (*mysql.Config, error) {
	u, err := url.Parse(dsn)
	if err != nil {
		// The error of url.Parse quotes the DSN, which holds the password.
		return nil, errors.New("mysql DSN: not a URL like mysql://user:password@host:3306/database")
	}
	cfg := mysql.NewConfig()
	if q := u.RawQuery; q != "" {
		// The driver's own parser knows its parameters.
		if cfg, err = mysql.ParseDSN("/?" + q); err != nil {
			return nil, fmt.Errorf("mysql DSN: %w", err)
		}
	}
	cfg.User = u.User.Username()
	cfg.Passwd, _ = u.User.Password()
	cfg.Net = "tcp"
	cfg.Addr = u.Host
	if u.Port() == "" {
		cfg.Addr = u.Hostname() + ":3306"
	}
	cfg.DBName = strings.TrimPrefix(u.Path, "/")
	cfg.ParseTime = true
	cfg.Loc = time.UTC
	// A statement is one statement and its values are bound, never written in.
	cfg.MultiStatements = false
	cfg.InterpolateParams = false
	cfg.AllowAllFiles = false
	return cfg, nil
}

// Close closes the connections.
func (s *Source) Close() error { return s.db.Close() }

// Ping tries a connection.
func (s *Source) Ping(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	return s.db.PingContext(ctx)
}

// Dialect returns the SQL of the database.
func (s *Source) Dialect() Dialect { return s.dialect }

// ReadOnly says whether the source refuses writes.
func (s *Source) ReadOnly() bool { return s.readOnly }

// Prepare reads a statement for this source.
func (s *Source) Prepare(source string) (*Statement, error) {
	st, err := Parse(s.dialect, source)
	if err != nil {
		return nil, err
	}
	if s.readOnly && !st.Reads() {
		return nil, fmt.Errorf("a read-only source runs queries only, not %s", st.What())
	}
	return st, nil
}

// Result is what a statement gave.
type Result struct {
	Columns []string
	// Rows are decoded JSON, one object each.
	Rows []any
	// Truncated says that rows were left out for the limits.
	Truncated bool
	// Affected counts the rows that a statement without rows changed.
	Affected int64
}

// ErrCommit is wrapped by errors of a commit: whether the statement was carried
// out is not known. After any other error it was not.
var ErrCommit = errors.New("commit")

// Run runs a statement in a transaction. values has one entry for each of its names, as decoded
// JSON.
func (s *Source) Run(ctx context.Context, st *Statement, values []any) (*Result, error) {
	if len(values) != len(st.Names) {
		return nil, fmt.Errorf("%d values for %d parameters", len(values), len(st.Names))
	}
	args := make([]any, len(values))
	for i, v := range values {
		var err error
		if args[i], err = bindable(s.dialect, v); err != nil {
			return nil, fmt.Errorf(":%s: %w", st.Names[i], err)
		}
	}
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	tx, done, err := s.begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("begin: %w", err)
	}
	defer done()
	defer tx.Rollback()
	res, err := s.run(ctx, tx, st, args)
	if err != nil {
		// A query cut by the deadline fails in the words of the driver.
		if ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, err
	}
	if s.readOnly {
		return res, nil
	}
	if err := tx.Commit(); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrCommit, err)
	}
	return res, nil
}

// begin begins a transaction; done gives back what it holds when it has ended.
func (s *Source) begin(ctx context.Context) (tx *sql.Tx, done func(), err error) {
	if s.dialect != SQLite || !s.readOnly {
		tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: s.readOnly})
		return tx, func() {}, err
	}
	// SQLite's connections are read-only themselves; its driver has no such
	// transactions. It works in this process: no value in a query may be larger
	// than the answer may be.
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return nil, nil, err
	}
	if _, err = sqlite.Limit(conn, sqlite3.SQLITE_LIMIT_LENGTH, s.maxBytes); err == nil {
		tx, err = conn.BeginTx(ctx, nil)
	}
	if err != nil {
		return nil, nil, errors.Join(err, conn.Close())
	}
	return tx, func() { _ = conn.Close() }, nil // it goes back; never fails then
}

func (s *Source) run(ctx context.Context, tx *sql.Tx, st *Statement, args []any) (*Result, error) {
	if !st.rows() {
		r, err := tx.ExecContext(ctx, st.SQL, args...)
		if err != nil {
			return nil, err
		}
		n, err := r.RowsAffected()
		if err != nil {
			return nil, fmt.Errorf("affected rows: %w", err)
		}
		return &Result{Rows: []any{}, Affected: n}, nil
	}
	rows, err := tx.QueryContext(ctx, st.SQL, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	cols, err := rows.ColumnTypes()
	if err != nil {
		return nil, fmt.Errorf("columns: %w", err)
	}
	res := &Result{Rows: []any{}}
	kinds := make([]string, len(cols))
	seen := make(map[string]bool, len(cols))
	for i, c := range cols {
		if seen[c.Name()] {
			return nil, fmt.Errorf("two columns are named %q; use AS", c.Name())
		}
		seen[c.Name()] = true
		res.Columns = append(res.Columns, c.Name())
		kinds[i], _, _ = strings.Cut(strings.ToUpper(c.DatabaseTypeName()), "(")
	}
	cells := make([]any, len(cols))
	into := make([]any, len(cols))
	for i := range cells {
		into[i] = &cells[i]
	}
	size := 0
	for rows.Next() {
		if len(res.Rows) == s.maxRows {
			res.Truncated = true
			return res, nil
		}
		if err := rows.Scan(into...); err != nil {
			return nil, fmt.Errorf("read row: %w", err)
		}
		row := make(map[string]any, len(cols))
		for i, name := range res.Columns {
			row[name] = jsonValue(cells[i], kinds[i])
			size += len(name) + weight(cells[i])
		}
		if size > s.maxBytes {
			res.Truncated = true
			return res, nil
		}
		res.Rows = append(res.Rows, row)
	}
	return res, rows.Err()
}

func weight(v any) int {
	switch v := v.(type) {
	case string:
		return len(v)
	case []byte:
		return len(v) * 4 / 3
	}
	return 8
}
