package sqltool

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Dialect is the SQL of a database.
type Dialect string

// The dialects.
const (
	SQLite   Dialect = "sqlite"
	Postgres Dialect = "postgres"
	MySQL    Dialect = "mysql"
)

// Statement is one SQL statement with named parameters, rewritten for its
// database. The values never become part of the text: they are bound.
type Statement struct {
	// SQL has the placeholders of the dialect: $1 for PostgreSQL, ? else.
	SQL string
	// Names are the parameters in the order of the placeholders. With
	// PostgreSQL a name used twice has one placeholder.
	Names []string
	// Verb is the first word in capitals, SELECT or the like.
	Verb string
	// Returning says that a statement which writes gives rows.
	Returning bool

	main    string // behind WITH, the verb of the statement itself
	writes  string // what a statement that begins as if it read does beside
	into    bool   // the rows go somewhere else
	analyze bool   // EXPLAIN runs what it explains
}

// Parse reads one statement. Parameters are written :name or :name.member;
// quoted text, comments and the casts of PostgreSQL (::) are left alone. It
// refuses a second statement and the database's own placeholders.
func Parse(d Dialect, source string) (*Statement, error) {
	if !slices.Contains([]Dialect{SQLite, Postgres, MySQL}, d) {
		return nil, fmt.Errorf("unknown SQL dialect %q", d)
	}
	p := &parser{d: d, in: source, st: &Statement{}}
	if err := p.run(); err != nil {
		return nil, err
	}
	return p.st, nil
}

type parser struct {
	d     Dialect
	in    string
	i     int
	out   strings.Builder
	st    *Statement
	depth int  // of [ ] in PostgreSQL, where a colon makes a slice
	paren int  // of ( )
	ended bool // after the semicolon
	prev  byte // last byte that was neither space nor comment

	last  string // the word just before, in capitals; "" behind anything else
	maybe string // a verb behind a parenthesis, until it is seen whether it is one
}

func (p *parser) run() error {
	for p.i < len(p.in) {
		c := p.in[p.i]
		if c == 0 {
			return errors.New("the statement has a NUL byte")
		}
		if isSpace(c) {
			p.emit(1)
			continue
		}
		if n, err := p.comment(); err != nil {
			return err
		} else if n > 0 {
			// A comment separates words and says nothing else.
			p.out.WriteByte(' ')
			p.i += n
			continue
		}
		if p.ended {
			return errors.New("only one statement is allowed")
		}
		if c == ';' {
			p.ended = true
			p.i++
			continue
		}
		if n, err := p.quoted(); err != nil {
			return err
		} else if n > 0 {
			p.settle(true)
			p.prev, p.last = c, ""
			p.emit(n)
			continue
		}
		if isWordStart(c) {
			n := p.word(p.i)
			p.sawWord(p.in[p.i : p.i+n])
			p.prev = p.in[p.i+n-1]
			p.emit(n)
			continue
		}
		p.settle(false)
		p.last = ""
		if isDigit(c) {
			n := 1
			for p.i+n < len(p.in) && (isWordPart(p.in[p.i+n]) || p.in[p.i+n] == '.') {
				n++
			}
			p.prev = c
			p.emit(n)
			continue
		}
		if c == ':' {
			done, err := p.colon()
			if err != nil {
				return err
			}
			if done {
				continue
			}
		}
		if err := p.refusePlaceholder(c); err != nil {
			return err
		}
		switch c {
		case '(':
			if p.paren == 0 && p.prev == ')' && p.st.Verb == "WITH" && p.st.main == "" {
				p.st.main = "SELECT" // nothing else stands in parentheses
			}
			p.paren++
		case ')':
			p.paren--
		}
		if p.d == Postgres {
			switch c {
			case '[':
				p.depth++
			case ']':
				p.depth--
			}
		}
		p.prev = c
		p.emit(1)
	}
	p.st.SQL = strings.TrimSpace(p.out.String())
	if p.st.SQL == "" {
		return errors.New("the statement is empty")
	}
	return nil
}

func (p *parser) emit(n int) {
	p.out.WriteString(p.in[p.i : p.i+n])
	p.i += n
}

func (p *parser) at(s string) bool { return strings.HasPrefix(p.in[p.i:], s) }

// comment returns the length of the comment at the cursor.
func (p *parser) comment() (int, error) {
	rest := p.in[p.i:]
	line := p.at("--")
	if line && p.d == MySQL && len(rest) > 2 && rest[2] > ' ' {
		line = false // 1--1 is arithmetic there
	}
	if p.d == MySQL && p.at("#") {
		line = true
	}
	if line {
		if n := strings.IndexByte(rest, '\n'); n >= 0 {
			return n + 1, nil
		}
		return len(rest), nil
	}
	if !p.at("/*") {
		return 0, nil
	}
	if p.d == MySQL && (p.at("/*!") || p.at("/*M!")) {
		return 0, errors.New("comments that MySQL executes are not allowed")
	}
	depth, n := 1, 2
	for n < len(rest) {
		switch {
		case strings.HasPrefix(rest[n:], "*/"):
			depth, n = depth-1, n+2
			if depth == 0 {
				return n, nil
			}
		case p.d == Postgres && strings.HasPrefix(rest[n:], "/*"):
			depth, n = depth+1, n+2
		default:
			n++
		}
	}
	return 0, errors.New("a comment does not end")
}

// quoted returns the length of the quoted text at the cursor.
func (p *parser) quoted() (int, error) {
	rest := p.in[p.i:]
	switch c := rest[0]; c {
	case '\'':
		backslash := p.d == MySQL || p.d == Postgres && (p.prev == 'E' || p.prev == 'e') && p.afterPrefixE()
		return quotedLen(rest, c, backslash)
	case '"':
		return quotedLen(rest, c, p.d == MySQL)
	case '`':
		if p.d == Postgres {
			return 0, nil
		}
		return quotedLen(rest, c, false)
	case '[':
		if p.d != SQLite {
			return 0, nil
		}
		n := strings.IndexByte(rest, ']')
		if n < 0 {
			return 0, errors.New("a name in [ ] does not end")
		}
		return n + 1, nil
	case '$':
		if p.d != Postgres {
			return 0, nil
		}
		n := 1
		for n < len(rest) && isWordPart(rest[n]) && !(n == 1 && isDigit(rest[n])) {
			n++
		}
		if n == len(rest) || rest[n] != '$' {
			return 0, nil
		}
		tag := rest[:n+1]
		end := strings.Index(rest[n+1:], tag)
		if end < 0 {
			return 0, errors.New("a dollar-quoted text does not end")
		}
		return n + 1 + end + len(tag), nil
	}
	return 0, nil
}

// afterPrefixE says that the quote at the cursor belongs to E'…': the word
// before it is the single letter.
func (p *parser) afterPrefixE() bool {
	if p.i == 0 || p.in[p.i-1] != 'E' && p.in[p.i-1] != 'e' {
		return false
	}
	return p.i == 1 || !isWordPart(p.in[p.i-2])
}

func quotedLen(s string, quote byte, backslash bool) (int, error) {
	for n := 1; n < len(s); n++ {
		switch {
		case s[n] == '\\' && backslash:
			n++
		case s[n] == quote:
			if n+1 < len(s) && s[n+1] == quote {
				n++
				continue
			}
			return n + 1, nil
		}
	}
	return 0, fmt.Errorf("quoted text does not end: %c", quote)
}

// colon reads a parameter. It returns false when the colon is SQL's own.
func (p *parser) colon() (bool, error) {
	switch {
	case p.at("::"), p.at(":="):
		p.prev = ':'
		p.emit(2)
		return true, nil
	case p.depth > 0:
		return false, nil
	}
	start := p.i + 1
	if start >= len(p.in) || !isWordStart(p.in[start]) {
		return false, errors.New("a : without a parameter name")
	}
	end := start + p.word(start)
	for end+1 < len(p.in) && p.in[end] == '.' && isWordStart(p.in[end+1]) {
		end += 1 + p.word(end+1)
	}
	name := p.in[start:end]
	if p.d == Postgres {
		at := slices.Index(p.st.Names, name)
		if at < 0 {
			at = len(p.st.Names)
			p.st.Names = append(p.st.Names, name)
		}
		p.out.WriteString("$" + strconv.Itoa(at+1))
	} else {
		p.st.Names = append(p.st.Names, name)
		p.out.WriteByte('?')
	}
	p.i, p.prev = end, 'x'
	return true, nil
}

// refusePlaceholder refuses the database's own placeholders: nothing would
// ever be bound to them.
func (p *parser) refusePlaceholder(c byte) error {
	next := byte(0)
	if p.i+1 < len(p.in) {
		next = p.in[p.i+1]
	}
	switch {
	case c == '?' && p.d != Postgres,
		c == '$' && p.d == Postgres && isDigit(next),
		(c == '$' || c == '@') && p.d == SQLite:
		return fmt.Errorf("write parameters as :name, not as %c", c)
	}
	return nil
}

// writeVerbs begin statements that write, also behind WITH.
var writeVerbs = []string{"INSERT", "UPDATE", "DELETE", "MERGE", "REPLACE"}

func (p *parser) sawWord(w string) {
	w = strings.ToUpper(w)
	p.settle(true)
	before := p.last
	p.last = w
	if p.prev == '.' || before == "AS" {
		return // a name, whatever it is called
	}
	st := p.st
	if st.Verb == "" {
		st.Verb = w
		return
	}
	switch w {
	case "RETURNING":
		st.Returning = st.Returning || p.paren == 0
	case "INTO":
		// What inserts says so before.
		st.into = true
	case "ANALYZE", "ANALYSE":
		st.analyze = st.analyze || st.Verb == "EXPLAIN"
	case "SHARE":
		if before == "FOR" || before == "KEY" || before == "IN" {
			p.does("FOR SHARE")
		}
	}
	if w == "UPDATE" && (before == "FOR" || before == "KEY") {
		p.does("FOR UPDATE")
		return
	}
	verb := slices.Contains(writeVerbs, w)
	switch {
	case st.Verb == "WITH" && st.main == "" && p.paren == 0 && (w == "SELECT" || p.prev == ')' && (verb || w == "VALUES" || w == "TABLE")):
		// A name of WITH stands behind the word, or a comma.
		st.main = w
		if verb {
			p.does(w)
		}
	case st.Verb == "EXPLAIN" && p.paren == 0 && (verb || w == "CREATE") && st.main == "":
		st.main = w
	case p.d == Postgres && p.prev == '(' && verb && w != "REPLACE":
		p.maybe = w // WITH gone AS (DELETE FROM …)
	}
}

// does notes what a statement does beside reading, the first such thing.
func (p *parser) does(what string) {
	if p.st.writes == "" {
		p.st.writes = what
	}
}

// settle decides whether a word behind a parenthesis was a verb: a word or a
// quoted name follows then, and not what follows the name of a column.
func (p *parser) settle(named bool) {
	if p.maybe != "" && named {
		p.does(p.maybe)
	}
	p.maybe = ""
}

// word returns the length of the word at i.
func (p *parser) word(i int) int {
	n := 0
	for i+n < len(p.in) && isWordPart(p.in[i+n]) {
		n++
	}
	return n
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
func isDigit(c byte) bool { return c >= '0' && c <= '9' }
func isWordStart(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c == '_' || c >= 0x80
}
func isWordPart(c byte) bool { return isWordStart(c) || isDigit(c) }

// readVerbs are the statements a read-only source accepts. The database
// enforces the rest; this list keeps out what changes the connection.
var readVerbs = []string{"SELECT", "WITH", "VALUES", "TABLE", "SHOW", "EXPLAIN", "DESCRIBE", "DESC"}

// Reads reports whether the statement only reads. One that writes behind WITH,
// puts its rows INTO something, locks them or has EXPLAIN run what writes does
// not.
func (s *Statement) Reads() bool {
	return slices.Contains(readVerbs, s.Verb) && s.writes == "" && !s.into && (s.Verb != "EXPLAIN" || !s.analyze || s.main == "")
}

// What names what the statement does, such as DELETE, or WITH … DELETE.
func (s *Statement) What() string {
	switch {
	case !slices.Contains(readVerbs, s.Verb):
		return s.Verb
	case s.writes != "":
		return s.Verb + " … " + s.writes
	case s.into:
		return s.Verb + " … INTO"
	case s.Verb == "EXPLAIN" && s.analyze && s.main != "":
		return "EXPLAIN ANALYZE " + s.main
	}
	return s.Verb
}

// rows says whether running the statement is expected to give rows.
func (s *Statement) rows() bool {
	if s.Returning {
		return true
	}
	return slices.Contains(readVerbs, s.Verb) && (s.Verb == "EXPLAIN" || !slices.Contains(writeVerbs, s.main) && !s.into)
}
