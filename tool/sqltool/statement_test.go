package sqltool

import (
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, c := range []struct {
		name  string
		d     Dialect
		in    string
		sql   string
		names []string
	}{
		{"plain", SQLite, "SELECT a FROM t WHERE q = :quarter", "SELECT a FROM t WHERE q = ?", []string{"quarter"}},
		{"postgres numbers repeat", Postgres, "SELECT :a, :b, :a", "SELECT $1, $2, $1", []string{"a", "b"}},
		{"mysql repeats the mark", MySQL, "SELECT :a, :a", "SELECT ?, ?", []string{"a", "a"}},
		{"members", Postgres, "SELECT :range.from, :user.claims.org", "SELECT $1, $2", []string{"range.from", "user.claims.org"}},
		{"quoted text", SQLite, "SELECT ':no', 'it''s :no', :yes", "SELECT ':no', 'it''s :no', ?", []string{"yes"}},
		{"quoted names", SQLite, "SELECT \":a\", `:b`, [:c], :d", "SELECT \":a\", `:b`, [:c], ?", []string{"d"}},
		{"comments", SQLite, "SELECT 1 -- :no ; no\n, /* :no ; */ :yes", "SELECT 1  ,   ?", []string{"yes"}},
		{"nested comment", Postgres, "SELECT /* a /* :b */ :c */ :d", "SELECT   $1", []string{"d"}},
		{"comment does not nest", MySQL, "SELECT /* a /* b */ :d", "SELECT   ?", []string{"d"}},
		{"mysql hash comment", MySQL, "SELECT :a # :b\n", "SELECT ?", []string{"a"}},
		{"mysql minus minus", MySQL, "SELECT 1--:a", "SELECT 1--?", []string{"a"}},
		{"cast", Postgres, "SELECT :a::date, b::text", "SELECT $1::date, b::text", []string{"a"}},
		{"slice", Postgres, "SELECT a[1:n], :b", "SELECT a[1:n], $1", []string{"b"}},
		{"assign", MySQL, "SELECT @x := :a", "SELECT @x := ?", []string{"a"}},
		{"mysql backslash", MySQL, `SELECT 'it\'s :no', :a`, `SELECT 'it\'s :no', ?`, []string{"a"}},
		{"sqlite has no backslash", SQLite, `SELECT '\', :a, '''`, "", nil},
		{"sqlite backslash is plain", SQLite, `SELECT '\', :a`, `SELECT '\', ?`, []string{"a"}},
		{"postgres escape text", Postgres, `SELECT E'\' :no', :a`, `SELECT E'\' :no', $1`, []string{"a"}},
		{"postgres plain text", Postgres, `SELECT '\', :a`, `SELECT '\', $1`, []string{"a"}},
		{"word ending in e is no prefix", Postgres, `SELECT date'\', :a`, `SELECT date'\', $1`, []string{"a"}},
		{"dollar quotes", Postgres, "SELECT $$ :no ; $$, $x$ $$ :no $x$, :a", "SELECT $$ :no ; $$, $x$ $$ :no $x$, $1", []string{"a"}},
		{"json operator", Postgres, "SELECT j ? 'k' WHERE a = :a", "SELECT j ? 'k' WHERE a = $1", []string{"a"}},
		{"trailing semicolon", SQLite, "SELECT 1; -- done\n", "SELECT 1", nil},
		{"numbers", SQLite, "SELECT 1e5, 1.5, x1 FROM t LIMIT :n", "SELECT 1e5, 1.5, x1 FROM t LIMIT ?", []string{"n"}},
		{"unicode", SQLite, "SELECT 金额 FROM t WHERE 城市 = :城市", "SELECT 金额 FROM t WHERE 城市 = ?", []string{"城市"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			st, err := Parse(c.d, c.in)
			if c.sql == "" {
				if err == nil {
					t.Fatalf("accepted as %q", st.SQL)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if st.SQL != c.sql || !slices.Equal(st.Names, c.names) {
				t.Errorf("got %q %q, want %q %q", st.SQL, st.Names, c.sql, c.names)
			}
			if st.Verb != "SELECT" {
				t.Errorf("verb %q", st.Verb)
			}
		})
	}
}

func TestParseRefuses(t *testing.T) {
	for _, c := range []struct {
		d        Dialect
		in, want string
	}{
		{SQLite, "SELECT 1; DELETE FROM t", "only one statement"},
		{SQLite, "SELECT 1;;SELECT 2", "only one statement"},
		{SQLite, `SELECT '\'; DROP TABLE t; -- '`, "only one statement"},
		{SQLite, "", "empty"},
		{SQLite, " -- nothing", "empty"},
		{SQLite, "SELECT 'open", "does not end"},
		{Postgres, "SELECT $a$ open", "does not end"},
		{SQLite, "SELECT /* open", "does not end"},
		{SQLite, "SELECT ?", "write parameters as :name"},
		{MySQL, "SELECT ?", "write parameters as :name"},
		{SQLite, "SELECT @a", "write parameters as :name"},
		{SQLite, "SELECT $a", "write parameters as :name"},
		{Postgres, "SELECT $1", "write parameters as :name"},
		{MySQL, "SELECT /*!50000 1 */", "not allowed"},
		{SQLite, "SELECT a : b", "without a parameter name"},
		{SQLite, "SELECT \x00", "NUL"},
		{"oracle", "SELECT 1", "unknown SQL dialect"},
	} {
		_, err := Parse(c.d, c.in)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s %q: got %v, want %q", c.d, c.in, err, c.want)
		}
	}
}

// TestReads: what begins as a query may write all the same.
func TestReads(t *testing.T) {
	all := []Dialect{SQLite, Postgres, MySQL}
	pg := []Dialect{Postgres}
	for _, c := range []struct {
		ds   []Dialect
		in   string
		what string // what it does; "" for reading
		rows bool
	}{
		{all, "SELECT 1", "", true},
		{all, "(SELECT 1) UNION (SELECT 2)", "", true},
		{all, "VALUES (1)", "", true},
		{all, "WITH x AS (SELECT 1 AS a) SELECT * FROM x", "", true},
		{all, "WITH x(a) AS (SELECT 1), y AS (SELECT 2) SELECT replace('a', 'b', 'c') FROM x, y", "", true},
		{all, "WITH x AS (SELECT 1) (SELECT * FROM x)", "", true},
		{all, "WITH x AS (SELECT replace(replace(a, 'b', 'c'), 'd', 'e') FROM t) SELECT * FROM x", "", true},
		{all, "SELECT 'DELETE FROM t', \"INTO\" /* INTO x */ FROM t -- FOR UPDATE", "", true},
		{all, "SELECT t.update, t.into, 1 AS into FROM t", "", true},
		{pg, "WITH update AS (SELECT 1), delete AS (SELECT 2) SELECT * FROM update, delete", "", true},
		{pg, "SELECT coalesce(update, 1), sum(delete) FROM t", "", true},
		{pg, "SELECT substring(a FOR 3) FROM t", "", true},
		{all, "EXPLAIN DELETE FROM t", "", true},
		{all, "EXPLAIN SELECT 1", "", true},
		{all, "SHOW TABLES", "", true},
		{pg, "WITH RECURSIVE c AS (SELECT 1) SEARCH BREADTH FIRST BY a SET o SELECT * FROM c", "", true},

		{all, "DELETE FROM t", "DELETE", false},
		{all, "INSERT INTO t SELECT 1", "INSERT", false},
		{all, "DELETE FROM t RETURNING a", "DELETE", true},
		{all, "WITH x AS (SELECT 1 AS a) DELETE FROM t WHERE a IN (SELECT a FROM x)", "WITH … DELETE", false},
		{all, "with x as (select 1 as a)\n-- so\nupdate t set a = 1", "WITH … UPDATE", false},
		{all, "WITH x AS (SELECT 1) INSERT INTO t SELECT * FROM x", "WITH … INSERT", false},
		{all, "WITH x AS (SELECT 1)/**/REPLACE INTO t SELECT * FROM x", "WITH … REPLACE", false},
		{all, "WITH x AS (SELECT 1) DELETE FROM t RETURNING a", "WITH … DELETE", true},
		{pg, "WITH gone AS (DELETE FROM t RETURNING a) SELECT * FROM gone", "WITH … DELETE", true},
		{pg, "WITH gone AS MATERIALIZED ( /* all */ DELETE/**/FROM t RETURNING a), x AS (SELECT 1) SELECT * FROM gone", "WITH … DELETE", true},
		{pg, "WITH u AS (UPDATE \"t\" SET a = 1 RETURNING a) INSERT INTO log SELECT a FROM u", "WITH … UPDATE", false},
		{pg, "SELECT * INTO copy FROM t", "SELECT … INTO", false},
		{pg, "WITH x AS (SELECT 1) SELECT * INTO copy FROM x", "WITH … INTO", false},
		{[]Dialect{MySQL}, "SELECT a INTO OUTFILE '/tmp/x' FROM t", "SELECT … INTO", false},
		{[]Dialect{MySQL}, "SELECT a FROM t LOCK IN SHARE MODE", "SELECT … FOR SHARE", true},
		{[]Dialect{Postgres, MySQL}, "SELECT a FROM t FOR UPDATE", "SELECT … FOR UPDATE", true},
		{pg, "SELECT a FROM t FOR NO KEY UPDATE SKIP LOCKED", "SELECT … FOR UPDATE", true},
		{pg, "SELECT a FROM (SELECT a FROM t FOR KEY SHARE) x", "SELECT … FOR SHARE", true},
		{pg, "EXPLAIN ANALYZE DELETE FROM t", "EXPLAIN ANALYZE DELETE", true},
		{pg, "EXPLAIN (ANALYZE, COSTS off) CREATE TABLE x AS SELECT 1", "EXPLAIN ANALYZE CREATE", true},
	} {
		for _, d := range c.ds {
			st, err := Parse(d, c.in)
			if err != nil {
				t.Errorf("%s %q: %v", d, c.in, err)
				continue
			}
			if st.Reads() != (c.what == "") || st.rows() != c.rows || c.what != "" && st.What() != c.what {
				t.Errorf("%s %q: reads %v, rows %v, %q", d, c.in, st.Reads(), st.rows(), st.What())
			}
		}
	}
}

// A statement that Parse accepts has nothing of a value in it, whatever the
// text: what is outside the parameters comes through unchanged.
func FuzzParse(f *testing.F) {
	f.Add("SELECT :a FROM t -- x\n WHERE 'b'';' = \"c\" AND d::text = [e]")
	f.Add("SELECT $$x$$, E'\\'' , /* /* */ */ :a.b")
	f.Fuzz(func(t *testing.T, in string) {
		for _, d := range []Dialect{SQLite, Postgres, MySQL} {
			st, err := Parse(d, in)
			if err != nil {
				continue
			}
			again, err := Parse(d, st.SQL)
			if len(st.Names) == 0 && (err != nil || again.SQL != st.SQL) {
				t.Errorf("%s: %q became %q, read again %v %v", d, in, st.SQL, again, err)
			}
		}
	})
}
