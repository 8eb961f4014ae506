package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func startSQLite(t *testing.T) (write, read *Source) {
	path := filepath.Join(t.TempDir(), "odd ?#% name.db")
	write = open(t, Config{DSN: "sqlite:" + path, ReadOnly: new(bool)})
	return write, open(t, Config{DSN: "sqlite:" + path, MaxRows: 3, Timeout: 2 * time.Second})
}

func run(t *testing.T, s *Source, query string, values ...any) *Result {
	t.Helper()
	res, err := try(s, query, values...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return res
}

func try(s *Source, query string, values ...any) (*Result, error) {
	st, err := s.Prepare(query)
	if err != nil {
		return nil, err
	}
	return s.Run(context.Background(), st, values)
}

func rowsJSON(t *testing.T, r *Result) string {
	t.Helper()
	b, err := json.Marshal(r.Rows)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

type kind struct {
	name  string
	start func(*testing.T) (write, read *Source)
	// table makes table v with one row; types is that row as JSON.
	table, insert, types string
	slow                 string
	// writes begin as if they read. Each changes, or gives, one row, and there are
	// as many rows in the end.
	writes []string
}

var kinds = []kind{
	{
		name:  "sqlite",
		start: startSQLite,
		table: `CREATE TABLE v (i INTEGER, big INTEGER, f REAL, d DECIMAL(20,4), s TEXT, b BLOB, at DATETIME, day DATE, j JSON, n TEXT)`,
		insert: `INSERT INTO v VALUES (7, 9007199254740993, 0.1, 12.5, 'it''s', x'00ff', '2026-03-01T10:20:30Z', '2026-03-01',
			'{"a":[1,2]}', NULL)`,
		types: `[{"at":"2026-03-01T10:20:30Z","b":"AP8=","big":"9007199254740993","d":12.5,"day":"2026-03-01","f":0.1,"i":7,"j":{"a":[1,2]},"n":null,"s":"it's"}]`,
		slow:  `WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c) SELECT max(n) AS m FROM c`,
		writes: []string{
			"WITH x AS (SELECT 7 AS a) UPDATE v SET n = NULL WHERE i IN (SELECT a FROM x)",
			"WITH x AS (SELECT 70 AS a) INSERT INTO v (i) SELECT a FROM x",
			"WITH x AS (SELECT 70 AS a) DELETE FROM v WHERE i IN (SELECT a FROM x) RETURNING i",
		},
	},
	{
		name:  "postgres",
		start: startPostgres,
		table: `CREATE TABLE v (i int, big bigint, f float8, d numeric(40,4), d2 numeric, s text, b bytea, at timestamptz, day date, j jsonb, n text, u uuid, ok boolean)`,
		insert: `INSERT INTO v VALUES (7, 9007199254740993, 0.1, 12.5, 123456789012345678.9, 'it''s', '\x00ff', '2026-03-01T11:20:30+01',
			'2026-03-01', '{"a":[1,2]}', NULL, 'a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11', true)`,
		types: `[{"at":"2026-03-01T10:20:30Z","b":"AP8=","big":"9007199254740993","d":12.5,"d2":"123456789012345678.9","day":"2026-03-01","f":0.1,"i":7,"j":{"a":[1,2]},"n":null,"ok":true,"s":"it's","u":"a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11"}]`,
		slow:  `SELECT 1 AS one FROM pg_sleep(30)`,
		writes: []string{
			"WITH x AS (SELECT 7 AS a) UPDATE v SET n = NULL WHERE i IN (SELECT a FROM x)",
			"WITH made AS (INSERT INTO v (i) VALUES (70) RETURNING i) SELECT i FROM made",
			"WITH gone AS (DELETE FROM v WHERE i = 70 RETURNING i) SELECT i FROM gone",
			"SELECT i INTO copied FROM v",
			"SELECT i FROM v FOR UPDATE",
			"EXPLAIN ANALYZE UPDATE v SET n = NULL",
		},
	},
	{
		name:  "mysql",
		start: startMySQL,
		table: `CREATE TABLE v (i int, big bigint, f double, d decimal(20,4), d2 decimal(30,1), s varchar(20), b blob, at datetime, day date, n text)`,
		insert: `INSERT INTO v VALUES (7, 9007199254740993, 0.1, 12.5, 123456789012345678.9, 'it''s', x'00ff', '2026-03-01 10:20:30',
			'2026-03-01', NULL)`,
		types: `[{"at":"2026-03-01T10:20:30Z","b":"AP8=","big":"9007199254740993","d":12.5,"d2":"123456789012345678.9","day":"2026-03-01","f":0.1,"i":7,"n":null,"s":"it's"}]`,
		slow:  `SELECT sleep(30) AS s`,
	},
}

// The same questions to real databases of every kind.
func TestDatabases(t *testing.T) {
	for _, k := range kinds {
		t.Run(k.name, func(t *testing.T) {
			write, read := k.start(t)
			run(t, write, k.table)
			if res := run(t, write, k.insert); res.Affected != 1 {
				t.Errorf("affected %d rows", res.Affected)
			}
			if got := rowsJSON(t, run(t, read, "SELECT * FROM v")); got != k.types {
				t.Errorf("types\n got %s\nwant %s", got, k.types)
			}
			if res := run(t, read, "SELECT i FROM v WHERE s = :s AND i > :i", "it's", json.Number("3.0")); len(res.Rows) != 1 {
				t.Errorf("bound values: %d rows", len(res.Rows))
			}
			if res := run(t, read, "SELECT i FROM v WHERE n = :n", nil); len(res.Rows) != 0 || res.Rows == nil {
				t.Errorf("NULL: %v", res.Rows)
			}
			if res := run(t, read, "SELECT i FROM v WHERE s = :s", "x' OR '1'='1"); len(res.Rows) != 0 {
				t.Error("a value became SQL")
			}
			for _, q := range []string{"DELETE FROM v", "UPDATE v SET i = 1", "DROP TABLE v", "PRAGMA query_only = 0", "SET x = 1", "BEGIN"} {
				if _, err := read.Prepare(q); err == nil {
					t.Errorf("a read-only source prepared %s", q)
				}
			}
			// Past the first check the database itself refuses.
			if _, err := read.Run(t.Context(), &Statement{SQL: "DELETE FROM v", Verb: "DELETE"}, nil); err == nil {
				t.Error("the database let a read-only source delete")
			}
			for _, q := range k.writes {
				if _, err := read.Prepare(q); err == nil {
					t.Errorf("a read-only source prepared %s", q)
				}
				st, err := Parse(read.Dialect(), q)
				if err != nil {
					t.Fatal(err)
				}
				if _, err := read.Run(t.Context(), st, nil); err == nil {
					t.Errorf("the database let a read-only source run %s", q)
				}
				res, err := try(write, q)
				if err != nil || st.Reads() || st.rows() != (len(res.Rows) > 0) || !st.rows() && res.Affected != 1 {
					t.Errorf("%s: %+v, %v; it reads %v, gives rows %v", q, res, err, st.Reads(), st.rows())
				}
			}
			for i := range 5 {
				run(t, write, "INSERT INTO v (i, s) VALUES (:i, :s)", json.Number("10"), strings.Repeat("x", i))
			}
			res := run(t, read, "SELECT i FROM v ORDER BY i")
			if len(res.Rows) != 3 || !res.Truncated {
				t.Errorf("%d rows, truncated %v", len(res.Rows), res.Truncated)
			}
			begun := time.Now()
			_, err := try(read, k.slow)
			if !errors.Is(err, context.DeadlineExceeded) {
				t.Errorf("slow query: %v", err)
			}
			if d := time.Since(begun); d > 10*time.Second {
				t.Errorf("a slow query ended after %s", d)
			}
			if _, err := try(read, "SELECT 1 AS a, 2 AS a"); err == nil || !strings.Contains(err.Error(), "two columns") {
				t.Errorf("equal names: %v", err)
			}
			_, err = try(read, "SELECT nothing FROM v")
			if err == nil || !refused(err) {
				t.Errorf("wrong column: %v", err)
			}
			if res := run(t, read, "SELECT count(*) AS n FROM v"); rowsJSON(t, res) != `[{"n":6}]` {
				t.Errorf("after all: %s", rowsJSON(t, res))
			}
		})
	}
}

func TestPostgresLists(t *testing.T) {
	_, read := startPostgres(t)
	res := run(t, read, "SELECT x FROM generate_series(1, 9) x WHERE x = ANY(:ids) ORDER BY x",
		[]any{json.Number("2"), json.Number("4")})
	if got := rowsJSON(t, res); got != `[{"x":2},{"x":4}]` {
		t.Error(got)
	}
	res = run(t, read, "SELECT x FROM unnest(ARRAY['a','b']) x WHERE x = ANY(:names)", []any{"b"})
	if got := rowsJSON(t, res); got != `[{"x":"b"}]` {
		t.Error(got)
	}
}

func TestSQLiteLists(t *testing.T) {
	_, read := writtenSQLite(t)
	res := run(t, read, "SELECT value AS x FROM json_each(:ids)", []any{json.Number("2"), json.Number("4")})
	if got := rowsJSON(t, res); got != `[{"x":2},{"x":4}]` {
		t.Error(got)
	}
}

func writtenSQLite(t *testing.T) (write, read *Source) {
	write, read = startSQLite(t)
	run(t, write, "CREATE TABLE t (a INTEGER)")
	return write, read
}

// A read-only source never makes the file it was pointed at.
func TestSQLiteMissingFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "absent.db")
	src := open(t, Config{DSN: "sqlite:" + path})
	if _, err := try(src, "SELECT 1 AS a"); err == nil {
		t.Error("a missing file was opened")
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made")
	}
}

func TestMaxBytes(t *testing.T) {
	write, _ := writtenSQLite(t)
	write.maxBytes = 3000
	res := run(t, write, "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n+1 FROM c WHERE n < 50) SELECT printf('%.*c', 900, 'x') AS s FROM c")
	if !res.Truncated || len(res.Rows) != 3 {
		t.Errorf("%d rows, truncated %v", len(res.Rows), res.Truncated)
	}
}

// A statement that makes values larger than any answer is refused by the
// database before it has taken the memory. What lies in the tables is not bound
// by that.
func TestHugeValues(t *testing.T) {
	write, read := writtenSQLite(t)
	run(t, write, "CREATE TABLE files (name TEXT, body BLOB)")
	run(t, write, "INSERT INTO files VALUES ('a', zeroblob(20000000))")
	for _, query := range []string{
		"SELECT length(hex(zeroblob(400000000))) AS n",
		"SELECT length(replace(hex(zeroblob(2000000)), '0', 'aaaaaaaaaaaaaaaaaaaa')) AS n",
		"SELECT length(printf('%.*c', 900000000, 'x')) AS n",
	} {
		if res, err := try(read, query); err == nil || !strings.Contains(err.Error(), "too big") {
			t.Errorf("%s: %v, %v", query, res, err)
		}
	}
	if got := rowsJSON(t, run(t, read, "SELECT name FROM files ORDER BY name")); got != `[{"name":"a"}]` {
		t.Error(got)
	}
}

func TestDSN(t *testing.T) {
	cfg, err := mysqlConfig("mysql://ann:p%40ss@db.example.com/shop?charset=utf8mb4&multiStatements=true&interpolateParams=true&timeout=3s")
	if err != nil {
		t.Fatal(err)
	}
	if cfg.User != "ann" || cfg.Passwd != "p@ss" || cfg.Addr != "db.example.com:3306" || cfg.DBName != "shop" {
		t.Errorf("%+v", cfg)
	}
	if cfg.MultiStatements || cfg.InterpolateParams || !cfg.ParseTime || cfg.Timeout != 3*time.Second {
		t.Errorf("multiStatements %v, interpolateParams %v, parseTime %v, timeout %v", cfg.MultiStatements, cfg.InterpolateParams, cfg.ParseTime, cfg.Timeout)
	}
	for dsn, secret := range map[string]string{
		"oracle://x":                        "",
		"sqlite:":                           "",
		"mysql://a:hush@host:port:x/db":     "hush",
		"postgres://a:hush@host:badport/db": "hush",
		"mysql://a:hush@h/db?timeout=x":     "hush",
	} {
		_, err := Open(Config{DSN: dsn})
		if err == nil {
			t.Errorf("%s: accepted", dsn)
		} else if secret != "" && strings.Contains(err.Error(), secret) {
			t.Errorf("the error names the password: %v", err)
		}
	}
}

func TestDecimal(t *testing.T) {
	for in, want := range map[string]any{
		"12.50":                                json.Number("12.5"),
		"0.1":                                  json.Number("0.1"),
		"-3":                                   json.Number("-3"),
		"123456789012345678.9":                 "123456789012345678.9",
		"0.1000000000000000055511151231257827": "0.1000000000000000055511151231257827",
		"NaN":                                  nil,
	} {
		if got := decimal(in); got != want {
			t.Errorf("%s: got %v (%T)", in, got, got)
		}
	}
}
