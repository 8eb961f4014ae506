package block

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Limits of capability tokens (protocol §5).
const (
	MaxTokens       = 256
	MaxTokenSegment = 64
)

// ErrInvalidToken is wrapped by errors about malformed capability tokens.
var ErrInvalidToken = errors.New("invalid capability token")

// Token is one block type at one major version: "namespace.name@major".
type Token struct {
	Namespace string
	Name      string
	Major     int
}

// String returns the wire form.
func (t Token) String() string {
	return t.Namespace + "." + t.Name + "@" + strconv.Itoa(t.Major)
}

// TypeName returns the name of the token's type as the registry knows it.
func (t Token) TypeName() string { return ShortName(t.Namespace + "." + t.Name) }

// ParseToken parses one token by the strict grammar: lower-case segments of
// [a-z0-9_-], at least two of them, split from the name on the last dot, and a
// major version without a leading zero that fits 31 bits.
func ParseToken(s string) (Token, error) {
	bad := func(why string) (Token, error) {
		return Token{}, fmt.Errorf("%w %q: %s", ErrInvalidToken, clip(s, 200), why)
	}
	name, version, ok := strings.Cut(s, "@")
	if !ok {
		return bad("no @version")
	}
	if version == "" || version[0] == '0' {
		return bad("the version must be a positive number without leading zeros")
	}
	for i := range len(version) {
		if version[i] < '0' || version[i] > '9' {
			return bad("the version must be digits only")
		}
	}
	major, err := strconv.ParseInt(version, 10, 64)
	if err != nil || major > math.MaxInt32 {
		return bad("the version is too large")
	}
	dot := strings.LastIndexByte(name, '.')
	if dot < 0 {
		return bad("no namespace")
	}
	for _, seg := range strings.Split(name, ".") {
		if seg == "" {
			return bad("empty segment")
		}
		if len(seg) > MaxTokenSegment {
			return bad("segment longer than 64 characters")
		}
		for i := range len(seg) {
			c := seg[i]
			if !(c >= 'a' && c <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '-') {
				return bad("segments are [a-z0-9_-]+")
			}
		}
	}
	return Token{Namespace: name[:dot], Name: name[dot+1:], Major: int(major)}, nil
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// Caps is what one reader can draw. The zero value has declared nothing.
type Caps struct {
	// Declared says that the reader sent a declaration, even an empty one.
	Declared bool
	// Tokens is the intersection with the registry, the highest common major
	// of each type, in registry order.
	Tokens []Token
	// Rejected are the malformed tokens as they came, each cut to 200 bytes.
	Rejected []string

	majors map[string]int // by short name
}

// Can reports whether the reader draws the type at the version. A reader that
// declared nothing is taken to draw every built-in and to show fallbacks for
// the rest itself.
func (c Caps) Can(name string, version int) bool {
	if name == "text" {
		return true
	}
	if !c.Declared {
		return true
	}
	return c.majors[ShortName(name)] == version
}

// ParseTokens parses a comma-separated list. Malformed tokens, and all beyond
// MaxTokens, are rejected without harm to the others; empty elements are
// skipped. With short, as in the X-Blocks header, names without a namespace
// are built-ins and blanks around a token do not count.
func ParseTokens(list string, short bool) (tokens []Token, rejected []string) {
	reject := func(item string) {
		if len(rejected) < MaxTokens {
			rejected = append(rejected, clip(item, 200))
		}
	}
	for item := range strings.SplitSeq(list, ",") {
		if short {
			item = strings.Trim(item, " \t")
		}
		if item == "" {
			continue
		}
		full := item
		if short && !strings.Contains(item, ".") {
			full = BuiltinNamespace + "." + item
		}
		t, err := ParseToken(full)
		if err != nil || len(tokens) == MaxTokens {
			reject(item)
			continue
		}
		tokens = append(tokens, t)
	}
	return tokens, rejected
}

// Negotiate intersects a list, parsed by ParseTokens, with the registry.
// Tokens of types that are not registered fall out silently; of two majors of
// one type the highest common one stays.
func (r *Registry) Negotiate(list string, short bool) Caps {
	tokens, rejected := ParseTokens(list, short)
	c := Caps{Declared: true, Rejected: rejected, majors: make(map[string]int)}
	for _, t := range tokens {
		if _, ok := r.Lookup(t.TypeName(), t.Major); ok {
			c.majors[t.TypeName()] = max(c.majors[t.TypeName()], t.Major)
		}
	}
	for _, t := range r.Types() {
		if c.majors[t.Name] == t.Version {
			ns, name := t.Namespace()
			c.Tokens = append(c.Tokens, Token{Namespace: ns, Name: name, Major: t.Version})
		}
	}
	return c
}

// All is the declaration of a reader that draws every registered type.
func (r *Registry) All() Caps {
	c := Caps{majors: make(map[string]int)}
	for _, t := range r.Types() {
		ns, name := t.Namespace()
		c.majors[t.Name] = t.Version
		c.Tokens = append(c.Tokens, Token{Namespace: ns, Name: name, Major: t.Version})
	}
	return c
}
