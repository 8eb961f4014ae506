package block

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/dlclark/regexp2"
)

// Limits of a pattern in a form's schema.
const (
	// MaxFormPattern is its length in bytes.
	MaxFormPattern = 512
	// maxRepeat bounds the counts of {n,m}.
	maxRepeat = 10000
	// maxPositions and maxSteps bound the search for patterns that take
	// exponential time.
	maxPositions = 1500
	maxSteps     = 1_000_000
	// maxGroups bounds how deep groups are nested.
	maxGroups = 32
)

// CheckPattern reports what is wrong with a pattern for a form. Such a pattern
// must mean the same to the browser (ECMAScript with the flag u) and to the
// server, and must not take exponential time on any string. It may use
// characters, classes, \d \w \s and their opposites, \p{…} with a general
// category, ^ $ \b \B, groups, alternatives, look-ahead and counts; not back
// references, look-behind or flags.
func CheckPattern(pattern string) error {
	_, err := formPattern(pattern)
	return err
}

// compileFormPattern compiles a pattern that CheckPattern accepts.
func compileFormPattern(pattern string) (*regexp2.Regexp, error) {
	translated, err := formPattern(pattern)
	if err != nil {
		return nil, err
	}
	re, err := regexp2.Compile(translated, regexp2.ECMAScript|regexp2.Unicode)
	if err != nil {
		return nil, fmt.Errorf("pattern: %w", err)
	}
	return re, nil
}

// formPattern checks a pattern and writes it so that the server's engine reads
// it as a browser does.
func formPattern(pattern string) (string, error) {
	if len(pattern) > MaxFormPattern {
		return "", fmt.Errorf("%d bytes, at most %d", len(pattern), MaxFormPattern)
	}
	if !utf8.ValidString(pattern) {
		return "", errors.New("not valid UTF-8")
	}
	p := patternParser{rest: pattern}
	n, err := p.alternatives(0)
	if err != nil {
		return "", err
	}
	if p.rest != "" {
		return "", errors.New("a ) without its (")
	}
	for _, part := range append(p.looks, n) {
		if err := ambiguous(part); err != nil {
			return "", err
		}
	}
	if _, err := regexp2.Compile(n.text(), regexp2.ECMAScript|regexp2.Unicode); err != nil {
		return "", fmt.Errorf("the server cannot read it: %w", err)
	}
	return n.text(), nil
}

// runes is a set of characters: sorted ranges that do not touch.
type runes []unicode.Range32

func single(lo, hi rune) runes { return runes{{Lo: uint32(lo), Hi: uint32(hi), Stride: 1}} }

func union(sets ...runes) runes {
	var all runes
	for _, s := range sets {
		all = append(all, s...)
	}
	slices.SortFunc(all, func(a, b unicode.Range32) int { return int(int64(a.Lo) - int64(b.Lo)) })
	var out runes
	for _, r := range all {
		if n := len(out); n > 0 && r.Lo <= out[n-1].Hi+1 {
			out[n-1].Hi = max(out[n-1].Hi, r.Hi)
			continue
		}
		out = append(out, r)
	}
	return out
}

func (s runes) not() runes {
	var out runes
	next := uint32(0)
	for _, r := range s {
		if r.Lo > next {
			out = append(out, unicode.Range32{Lo: next, Hi: r.Lo - 1, Stride: 1})
		}
		next = r.Hi + 1
	}
	if next <= unicode.MaxRune {
		out = append(out, unicode.Range32{Lo: next, Hi: unicode.MaxRune, Stride: 1})
	}
	return out
}

func (s runes) meets(t runes) bool {
	for i, k := 0, 0; i < len(s) && k < len(t); {
		switch {
		case s[i].Hi < t[k].Lo:
			i++
		case t[k].Hi < s[i].Lo:
			k++
		default:
			return true
		}
	}
	return false
}

var (
	digitRunes = single('0', '9')
	wordRunes  = union(digitRunes, single('A', 'Z'), single('_', '_'), single('a', 'z'))
	spaceRunes = union(single('\t', '\r'), single(' ', ' '), single(0xA0, 0xA0), single(0x1680, 0x1680), single(0x2000, 0x200A),
		single(0x2028, 0x2029), single(0x202F, 0x202F), single(0x205F, 0x205F), single(0x3000, 0x3000), single(0xFEFF, 0xFEFF))
	lineRunes = union(single('\n', '\n'), single('\r', '\r'), single(0x2028, 0x2029))
)

// categories are the general categories that both engines know and agree on;
// those of characters that are not assigned are left out.
const categories = " L Lu Ll Lt Lm Lo M Mn Mc Me N Nd Nl No P Pc Pd Ps Pe Pi Pf Po S Sm Sc Sk So Z Zs Zl Zp Cc Cf "

var categorySets sync.Map // of runes by name

func category(name string) (runes, bool) {
	if name == "" || !strings.Contains(categories, " "+name+" ") {
		return nil, false
	}
	if s, ok := categorySets.Load(name); ok {
		return s.(runes), true
	}
	var out runes
	t := unicode.Categories[name]
	for _, r := range t.R16 {
		for c := uint32(r.Lo); c <= uint32(r.Hi); c += uint32(r.Stride) {
			out = append(out, unicode.Range32{Lo: c, Hi: c, Stride: 1})
		}
	}
	for _, r := range t.R32 {
		for c := r.Lo; c <= r.Hi; c += r.Stride {
			out = append(out, unicode.Range32{Lo: c, Hi: c, Stride: 1})
		}
	}
	s, _ := categorySets.LoadOrStore(name, union(out))
	return s.(runes), true
}

// patternOp is the kind of a piece of a pattern.
type patternOp int

const (
	opChar   patternOp = iota // one character of a set
	opAssert                  // ^, $, \b, \B: matches without a character
	opLook                    // (?=…) and (?!…)
	opCat
	opAlt
	opRepeat
	opGroup
)

// piece is a node of a parsed pattern.
type piece struct {
	op       patternOp
	raw      string // opChar, opAssert: as the server's engine reads it; opLook, opGroup: what opens it
	set      runes
	subs     []*piece
	min, max int // opRepeat; max -1 is without end
	lazy     bool
}

// text writes the piece for the server's engine.
func (n *piece) text() string {
	var b strings.Builder
	n.write(&b)
	return b.String()
}

func (n *piece) write(b *strings.Builder) {
	switch n.op {
	case opChar, opAssert:
		b.WriteString(n.raw)
	case opLook, opGroup:
		b.WriteString(n.raw)
		n.subs[0].write(b)
		b.WriteByte(')')
	case opCat:
		for _, s := range n.subs {
			s.write(b)
		}
	case opAlt:
		for i, s := range n.subs {
			if i > 0 {
				b.WriteByte('|')
			}
			s.write(b)
		}
	case opRepeat:
		n.subs[0].write(b)
		switch {
		case n.min == 0 && n.max == 1:
			b.WriteByte('?')
		case n.max == -1:
			fmt.Fprintf(b, "{%d,}", n.min)
		default:
			fmt.Fprintf(b, "{%d,%d}", n.min, n.max)
		}
		if n.lazy {
			b.WriteByte('?')
		}
	}
}

type patternParser struct {
	rest   string
	looks  []*piece // bodies of look-aheads
	groups []string // names
}

func (p *patternParser) eat(prefix string) bool {
	rest, ok := strings.CutPrefix(p.rest, prefix)
	if ok {
		p.rest = rest
	}
	return ok
}

func (p *patternParser) alternatives(depth int) (*piece, error) {
	if depth > maxGroups {
		return nil, fmt.Errorf("groups are nested deeper than %d", maxGroups)
	}
	n := &piece{op: opAlt}
	for {
		s, err := p.sequence(depth)
		if err != nil {
			return nil, err
		}
		n.subs = append(n.subs, s)
		if !p.eat("|") {
			break
		}
	}
	if len(n.subs) == 1 {
		return n.subs[0], nil
	}
	return n, nil
}

func (p *patternParser) sequence(depth int) (*piece, error) {
	n := &piece{op: opCat}
	for p.rest != "" && p.rest[0] != '|' && p.rest[0] != ')' {
		s, err := p.term(depth)
		if err != nil {
			return nil, err
		}
		n.subs = append(n.subs, s)
	}
	return n, nil
}

func (p *patternParser) term(depth int) (*piece, error) {
	atom, err := p.atom(depth)
	if err != nil {
		return nil, err
	}
	lo, hi, ok, err := p.count()
	if err != nil || !ok {
		return atom, err
	}
	if atom.op == opAssert || atom.op == opLook {
		return nil, errors.New("an assertion cannot be repeated")
	}
	n := &piece{op: opRepeat, min: lo, max: hi, subs: []*piece{atom}}
	n.lazy = p.eat("?")
	if p.rest != "" && strings.IndexByte("*+?{", p.rest[0]) >= 0 {
		return nil, fmt.Errorf("nothing to repeat before %q", p.rest[:1])
	}
	return n, nil
}

// count reads a quantifier.
func (p *patternParser) count() (lo, hi int, ok bool, err error) {
	switch {
	case p.eat("*"):
		return 0, -1, true, nil
	case p.eat("+"):
		return 1, -1, true, nil
	case p.eat("?"):
		return 0, 1, true, nil
	case !p.eat("{"):
		return 0, 0, false, nil
	}
	body, rest, closed := strings.Cut(p.rest, "}")
	if !closed {
		return 0, 0, false, errors.New(`a { that is no count: write \{`)
	}
	p.rest = rest
	first, second, two := strings.Cut(body, ",")
	if lo, ok = number(first); !ok {
		return 0, 0, false, fmt.Errorf(`{%s} is no count: write \{`, body)
	}
	switch {
	case !two:
		hi = lo
	case second == "":
		hi = -1
	default:
		if hi, ok = number(second); !ok {
			return 0, 0, false, fmt.Errorf("{%s} is no count", body)
		}
	}
	if lo > maxRepeat || hi > maxRepeat {
		return 0, 0, false, fmt.Errorf("a count of more than %d", maxRepeat)
	}
	if hi >= 0 && hi < lo {
		return 0, 0, false, fmt.Errorf("the count {%s} is the wrong way round", body)
	}
	return lo, hi, true, nil
}

func number(s string) (int, bool) {
	if s == "" || len(s) > 9 || !all(s, isDigit) {
		return 0, false
	}
	n, err := strconv.Atoi(s)
	return n, err == nil
}

func (p *patternParser) atom(depth int) (*piece, error) {
	c := p.rest[0]
	switch c {
	case '^', '$':
		p.rest = p.rest[1:]
		return &piece{op: opAssert, raw: string(c)}, nil
	case '.':
		p.rest = p.rest[1:]
		return &piece{op: opChar, raw: `[^\n\r\u2028\u2029]`, set: lineRunes.not()}, nil
	case '(':
		return p.group(depth)
	case '[':
		return p.class()
	case '\\':
		return p.escape()
	case '*', '+', '?':
		return nil, fmt.Errorf("nothing to repeat before %q", c)
	case '{', '}', ']':
		return nil, fmt.Errorf(`%q must be written \%c`, c, c)
	}
	r, size := utf8.DecodeRuneInString(p.rest)
	p.rest = p.rest[size:]
	return &piece{op: opChar, raw: literalRune(r), set: single(r, r)}, nil
}

// literalRune writes a character so that it means nothing else.
func literalRune(r rune) string {
	if r > unicode.MaxASCII || isAlnum(byte(r)) {
		return string(r)
	}
	return fmt.Sprintf(`\x%02x`, r)
}

func (p *patternParser) group(depth int) (*piece, error) {
	n := &piece{op: opGroup, raw: "(?:"}
	switch {
	case p.eat("(?:"):
	case p.eat("(?="):
		n.op, n.raw = opLook, "(?="
	case p.eat("(?!"):
		n.op, n.raw = opLook, "(?!"
	case strings.HasPrefix(p.rest, "(?<=") || strings.HasPrefix(p.rest, "(?<!"):
		return nil, errors.New("look-behind is not known to every browser")
	case p.eat("(?<"):
		name, rest, ok := strings.Cut(p.rest, ">")
		if !ok || name == "" || isDigit(name[0]) || !all(name, func(c byte) bool { return isAlnum(c) || c == '_' }) {
			return nil, errors.New("the name of a group must be letters, digits and _")
		}
		if slices.Contains(p.groups, name) {
			return nil, fmt.Errorf("two groups are called %s", name)
		}
		p.groups = append(p.groups, name)
		p.rest = rest
	case strings.HasPrefix(p.rest, "(?"):
		return nil, errors.New("after (? only :, =, ! and <name> are known")
	default:
		p.rest = p.rest[1:]
	}
	body, err := p.alternatives(depth + 1)
	if err != nil {
		return nil, err
	}
	if !p.eat(")") {
		return nil, errors.New("a ( without its )")
	}
	if n.op == opLook {
		p.looks = append(p.looks, body)
	}
	n.subs = []*piece{body}
	return n, nil
}

// The server's engine counts letters of all scripts as parts of a word; a
// browser does not.
const (
	wordBoundary   = `(?:(?<=\w)(?!\w)|(?<!\w)(?=\w))`
	noWordBoundary = `(?:(?<=\w)(?=\w)|(?<!\w)(?!\w))`
)

// escape reads an escape outside a class.
func (p *patternParser) escape() (*piece, error) {
	switch {
	case p.eat(`\b`):
		return &piece{op: opAssert, raw: wordBoundary}, nil
	case p.eat(`\B`):
		return &piece{op: opAssert, raw: noWordBoundary}, nil
	case p.eat(`\k`):
		return nil, errors.New("back references are not allowed")
	}
	if len(p.rest) > 1 && p.rest[1] >= '1' && p.rest[1] <= '9' {
		return nil, errors.New("back references are not allowed")
	}
	set, raw, _, err := p.escaped(false)
	if err != nil {
		return nil, err
	}
	return &piece{op: opChar, raw: raw, set: set}, nil
}

// escaped reads an escape that stands for characters. char is the character
// when it is one alone, else -1.
func (p *patternParser) escaped(class bool) (set runes, raw string, char rune, err error) {
	if len(p.rest) < 2 {
		return nil, "", -1, errors.New(`a \ at the end`)
	}
	c := p.rest[1]
	named := func(set runes) (runes, string, rune, error) {
		raw := p.rest[:2]
		p.rest = p.rest[2:]
		return set, raw, -1, nil
	}
	one := func(r rune, n int) (runes, string, rune, error) {
		p.rest = p.rest[n:]
		return single(r, r), literalRune(r), r, nil
	}
	switch c {
	case 'd':
		return named(digitRunes)
	case 'D':
		return named(digitRunes.not())
	case 'w':
		return named(wordRunes)
	case 'W':
		return named(wordRunes.not())
	case 's':
		return named(spaceRunes)
	case 'S':
		return named(spaceRunes.not())
	case 'p', 'P':
		body, _, ok := strings.Cut(p.rest[2:], "}")
		name, braced := strings.CutPrefix(body, "{")
		set, known := category(name)
		if !ok || !braced || !known {
			return nil, "", -1, fmt.Errorf(`\%c takes a general category such as {L} or {Lu}`, c)
		}
		raw = p.rest[:len(`\p{}`)+len(name)]
		p.rest = p.rest[len(raw):]
		if c == 'P' {
			set = set.not()
		}
		return set, raw, -1, nil
	case 't':
		return one('\t', 2)
	case 'n':
		return one('\n', 2)
	case 'v':
		return one('\v', 2)
	case 'f':
		return one('\f', 2)
	case 'r':
		return one('\r', 2)
	case '0':
		if len(p.rest) > 2 && isDigit(p.rest[2]) {
			return nil, "", -1, errors.New(`\0 before a digit`)
		}
		return one(0, 2)
	case 'c':
		if len(p.rest) > 2 && isAlnum(p.rest[2]) && !isDigit(p.rest[2]) {
			return one(rune(p.rest[2]&0x1f), 3)
		}
		return nil, "", -1, errors.New(`\c must be followed by a letter`)
	case 'x', 'u':
		n := 4
		if c == 'u' {
			n = 6
		}
		if len(p.rest) < n || !all(p.rest[2:n], isHex) {
			return nil, "", -1, fmt.Errorf(`\%c must be followed by %d hexadecimal digits`, c, n-2)
		}
		v, err := strconv.ParseUint(p.rest[2:n], 16, 32)
		if err != nil {
			return nil, "", -1, err
		}
		if v >= 0xD800 && v <= 0xDFFF {
			return nil, "", -1, errors.New("half of a surrogate pair: write the character itself")
		}
		return one(rune(v), n)
	case 'b':
		if class {
			return one('\b', 2)
		}
	case '-':
		if class {
			return one('-', 2)
		}
		return nil, "", -1, errors.New(`\- means nothing to a browser outside [ ]: write -`)
	}
	if strings.IndexByte(`^$\.*+?()[]{}|/`, c) >= 0 {
		return one(rune(c), 2)
	}
	r, _ := utf8.DecodeRuneInString(p.rest[1:])
	return nil, "", -1, fmt.Errorf(`\%c means nothing to a browser: write %c`, r, r)
}

// class reads [ ].
func (p *patternParser) class() (*piece, error) {
	p.rest = p.rest[1:]
	not := p.eat("^")
	var sets []runes
	var raw strings.Builder
	atom := func() (runes, string, rune, error) {
		switch {
		case p.rest == "":
			return nil, "", -1, errors.New("a [ without its ]")
		case p.rest[0] == '\\':
			return p.escaped(true)
		case p.rest[0] == '[':
			return nil, "", -1, errors.New(`in a class [ must be written \[`)
		}
		r, size := utf8.DecodeRuneInString(p.rest)
		p.rest = p.rest[size:]
		return single(r, r), literalRune(r), r, nil
	}
	for !p.eat("]") {
		set, text, lo, err := atom()
		if err != nil {
			return nil, err
		}
		if len(p.rest) > 1 && p.rest[0] == '-' && p.rest[1] != ']' {
			p.rest = p.rest[1:]
			_, last, hi, err := atom()
			if err != nil {
				return nil, err
			}
			if lo < 0 || hi < 0 {
				return nil, errors.New(`a range must be between two characters: write \- for a hyphen`)
			}
			if hi < lo {
				return nil, fmt.Errorf("the range %c-%c is the wrong way round", lo, hi)
			}
			set, text = single(lo, hi), text+"-"+last
		}
		sets = append(sets, set)
		raw.WriteString(text)
	}
	if len(sets) == 0 {
		return nil, errors.New("an empty class")
	}
	n := &piece{op: opChar, set: union(sets...), raw: "[" + raw.String() + "]"}
	if not {
		n.set, n.raw = n.set.not(), "[^"+raw.String()+"]"
	}
	return n, nil
}

// automaton is the position automaton of a pattern: a state for each
// character of it, an edge where one may follow another. It answers whether a
// string can be read in exponentially many ways, which is what makes an engine
// that tries them one after the other hang.
type automaton struct {
	sets  []runes
	next  [][]int
	edges []bitset // next again, for a look-up
	twice [][2]int // edges that are there for two reasons
	steps int
}

// bitset is a set of states.
type bitset [(maxPositions + 63) / 64]uint64

func (b *bitset) has(i int) bool { return b[i/64]&(1<<(i%64)) != 0 }

func (b *bitset) add(i int) { b[i/64] |= 1 << (i % 64) }

// fragment is a part of an automaton.
type fragment struct {
	first, last []int
	empty       bool // may match nothing
}

var errComplicated = errors.New("too complicated: shorten it, or use maxLength")

// ambiguous reports an error when the pattern takes exponential time on some
// string.
func ambiguous(n *piece) error {
	a := new(automaton)
	if _, err := a.build(n); err != nil {
		return err
	}
	return a.check()
}

func (a *automaton) link(from, to []int) error {
	if a.steps += len(from) * len(to); a.steps > maxSteps {
		return errComplicated
	}
	for _, f := range from {
		for _, t := range to {
			if a.edges[f].has(t) {
				a.twice = append(a.twice, [2]int{f, t})
				continue
			}
			a.edges[f].add(t)
			a.next[f] = append(a.next[f], t)
		}
	}
	return nil
}

func (a *automaton) build(n *piece) (fragment, error) {
	switch n.op {
	case opChar:
		if len(a.sets) == maxPositions {
			return fragment{}, errComplicated
		}
		at := []int{len(a.sets)}
		a.sets, a.next, a.edges = append(a.sets, n.set), append(a.next, nil), append(a.edges, bitset{})
		return fragment{first: at, last: at}, nil
	case opGroup:
		return a.build(n.subs[0])
	case opCat:
		f := fragment{empty: true}
		for _, s := range n.subs {
			g, err := a.build(s)
			if err != nil {
				return f, err
			}
			if f, err = a.cat(f, g); err != nil {
				return f, err
			}
		}
		return f, nil
	case opAlt:
		var f fragment
		for _, s := range n.subs {
			g, err := a.build(s)
			if err != nil {
				return f, err
			}
			f = fragment{slices.Concat(f.first, g.first), slices.Concat(f.last, g.last), f.empty || g.empty}
		}
		return f, nil
	case opRepeat:
		return a.repeat(n.subs[0], n.min, n.max)
	}
	return fragment{empty: true}, nil // an assertion
}

func (a *automaton) cat(f, g fragment) (fragment, error) {
	if err := a.link(f.last, g.first); err != nil {
		return f, err
	}
	out := fragment{first: f.first, last: g.last, empty: f.empty && g.empty}
	if f.empty {
		out.first = slices.Concat(f.first, g.first)
	}
	if g.empty {
		out.last = slices.Concat(f.last, g.last)
	}
	return out, nil
}

// repeat writes a count out: x{2,4} is xx(x(x)?)?. Large counts are taken to
// be without end, which can only make a pattern look worse than it is.
func (a *automaton) repeat(n *piece, lo, hi int) (fragment, error) {
	const most = 64
	if lo > most {
		lo, hi = most, -1
	}
	if hi > most {
		hi = -1
	}
	f := fragment{empty: true}
	for i := range lo {
		g, err := a.build(n)
		if err != nil {
			return f, err
		}
		if i == lo-1 && hi == -1 { // the last goes on without end
			if err := a.link(g.last, g.first); err != nil {
				return f, err
			}
		}
		if f, err = a.cat(f, g); err != nil {
			return f, err
		}
	}
	switch {
	case hi == -1 && lo == 0:
		g, err := a.build(n)
		if err != nil {
			return f, err
		}
		if err := a.link(g.last, g.first); err != nil {
			return f, err
		}
		g.empty = true
		return g, nil
	case hi > lo:
		optional := fragment{empty: true}
		for range hi - lo {
			g, err := a.build(n)
			if err != nil {
				return f, err
			}
			if optional, err = a.cat(g, optional); err != nil {
				return f, err
			}
			optional.empty = true
		}
		return a.cat(f, optional)
	}
	return f, nil
}

var errExponential = errors.New("some strings take exponential time: a repetition within a repetition can read them in many ways")

// check looks for a state that a string leads back to itself on two ways.
func (a *automaton) check() error {
	component := components(len(a.next), func(v int) []int { return a.next[v] })
	for _, e := range a.twice {
		if component[e[0]] == component[e[1]] {
			return errExponential
		}
	}
	// The pairs of states that one string leads to from one state.
	n := len(a.next)
	// Copies of a repeated piece share their set: what is known of two sets is
	// known of all their copies.
	known := make(map[[2]*unicode.Range32]bool)
	meets := func(p, q int) bool {
		s, t := a.sets[p], a.sets[q]
		if len(s) == 0 || len(t) == 0 {
			return false
		}
		m, ok := known[[2]*unicode.Range32{&s[0], &t[0]}]
		if !ok {
			a.steps += len(s) + len(t)
			m = s.meets(t)
			known[[2]*unicode.Range32{&s[0], &t[0]}] = m
		}
		return m
	}
	pair := make(map[int]int) // p*n+q to its number
	var pairs [][2]int
	var edges [][]int
	get := func(p, q int) int {
		key := p*n + q
		at, ok := pair[key]
		if !ok {
			at = len(pairs)
			pair[key] = at
			pairs = append(pairs, [2]int{p, q})
			edges = append(edges, nil)
		}
		return at
	}
	for v := range n {
		get(v, v)
	}
	for at := 0; at < len(pairs); at++ {
		p, q := pairs[at][0], pairs[at][1]
		for _, x := range a.next[p] {
			if component[x] != component[p] {
				continue
			}
			for _, y := range a.next[q] {
				if a.steps++; a.steps > maxSteps {
					return errComplicated
				}
				if component[y] == component[p] && meets(x, y) {
					to := get(x, y)
					edges[at] = append(edges[at], to)
				}
			}
		}
	}
	together := components(len(pairs), func(v int) []int { return edges[v] })
	diagonal := make(map[int]bool)
	for at, pq := range pairs {
		if pq[0] == pq[1] {
			diagonal[together[at]] = true
		}
	}
	for at, pq := range pairs {
		if pq[0] != pq[1] && diagonal[together[at]] {
			return errExponential
		}
	}
	return nil
}

// components numbers the strongly connected components of a graph (Tarjan,
// without recursion).
func components(n int, next func(int) []int) []int {
	const unseen = -1
	index, low, out := make([]int, n), make([]int, n), make([]int, n)
	for i := range n {
		index[i], out[i] = unseen, unseen
	}
	type frame struct{ v, edge int }
	var stack []int
	count, number := 0, 0
	for root := range n {
		if index[root] != unseen {
			continue
		}
		calls := []frame{{root, 0}}
		for len(calls) > 0 {
			f := &calls[len(calls)-1]
			if f.edge == 0 {
				index[f.v], low[f.v] = count, count
				count++
				stack = append(stack, f.v)
			}
			if edges := next(f.v); f.edge < len(edges) {
				w := edges[f.edge]
				f.edge++
				if index[w] == unseen {
					calls = append(calls, frame{w, 0})
				} else if out[w] == unseen {
					low[f.v] = min(low[f.v], index[w])
				}
				continue
			}
			v := f.v
			calls = calls[:len(calls)-1]
			if len(calls) > 0 {
				u := calls[len(calls)-1].v
				low[u] = min(low[u], low[v])
			}
			if low[v] != index[v] {
				continue
			}
			for {
				w := stack[len(stack)-1]
				stack = stack[:len(stack)-1]
				out[w] = number
				if w == v {
					break
				}
			}
			number++
		}
	}
	return out
}
