package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

func TestCapabilityTokens(t *testing.T) {
	raw, err := os.ReadFile("../testdata/capability-tokens.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(raw)) {
		var c struct {
			Kind, Value, Expect, Reason, Namespace string
			BlockType                              string `json:"block_type"`
			Major                                  int
			Accepted                               []string
			Rejected                               int
		}
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatal(err)
		}
		n++
		switch c.Kind {
		case "token":
			got, err := ParseToken(c.Value)
			if c.Expect == "reject" {
				if !errors.Is(err, ErrInvalidToken) {
					t.Errorf("%q (%s): %+v, %v, want ErrInvalidToken", c.Value, c.Reason, got, err)
				}
				continue
			}
			if want := (Token{c.Namespace, c.BlockType, c.Major}); err != nil || got != want {
				t.Errorf("%q (%s): %+v, %v, want %+v", c.Value, c.Reason, got, err, want)
			}
		case "list":
			tokens, rejected := ParseTokens(c.Value, false)
			got := make([]string, len(tokens))
			for i, tok := range tokens {
				got[i] = tok.String()
			}
			if !slices.Equal(got, c.Accepted) || len(rejected) != c.Rejected {
				t.Errorf("%.60q (%s): accepted %v, rejected %v", c.Value, c.Reason, got, rejected)
			}
		default:
			t.Errorf("unknown kind %q", c.Kind)
		}
	}
	t.Logf("%d rows", n)
}

func TestNegotiate(t *testing.T) {
	r := builtins(t)
	for _, v := range []int{1, 2} {
		if err := r.Register(Type{Name: "app.seat", Version: v, Source: SourceApp, Schema: json.RawMessage(`{}`), Fallback: func(json.RawMessage) string { return "seat" }}); err != nil {
			t.Fatal(err)
		}
	}
	tests := []struct {
		list     string
		short    bool
		want     string
		rejected string
	}{
		{"", true, "", ""},
		{"chart@1, table@1 ,\tcode@1", true, "inlay.chart@1 inlay.code@1 inlay.table@1", ""},
		{"inlay.chart@1,chart@1", true, "inlay.chart@1", ""},
		{"chart@1", false, "", "chart@1"},
		{"inlay.chart@1", false, "inlay.chart@1", ""},
		{"chart@2,made_up@1", true, "", ""},
		{"app.seat@1,app.seat@2,app.seat@3", true, "app.seat@2", ""},
		{"app.seat@1", true, "app.seat@1", ""},
		{"chart,Chart@1,chart@1", true, "inlay.chart@1", "chart Chart@1"},
	}
	for _, tt := range tests {
		c := r.Negotiate(tt.list, tt.short)
		got := make([]string, len(c.Tokens))
		for i, tok := range c.Tokens {
			got[i] = tok.String()
		}
		if s := strings.Join(got, " "); s != tt.want {
			t.Errorf("%q: %s, want %s", tt.list, s, tt.want)
		}
		if s := strings.Join(c.Rejected, " "); s != tt.rejected {
			t.Errorf("%q: rejected %s, want %s", tt.list, s, tt.rejected)
		}
		if !c.Declared || !c.Can("text", 1) {
			t.Errorf("%q: a declaration always has text: %+v", tt.list, c)
		}
		for _, typ := range r.Types() {
			in := slices.ContainsFunc(c.Tokens, func(tok Token) bool { return tok.TypeName() == typ.Name && tok.Major == typ.Version })
			if typ.Name != "text" && c.Can(typ.FullName(), typ.Version) != in {
				t.Errorf("%q: Can(%s, %d) is %v", tt.list, typ.FullName(), typ.Version, !in)
			}
		}
	}
	if c := (Caps{}); !c.Can("chart", 1) {
		t.Error("who declares nothing is sent every block")
	}
	if all := r.All(); len(all.Tokens) != len(r.Types()) || !all.Can("chart", 1) {
		t.Errorf("All is %+v", all)
	}
	long := strings.Repeat("x", 1000)
	if c := r.Negotiate(strings.Repeat(long+",", 1000), true); len(c.Rejected) != MaxTokens || len(c.Rejected[0]) > 210 {
		t.Errorf("%d rejected tokens kept, the first has %d bytes", len(c.Rejected), len(c.Rejected[0]))
	}
}

func FuzzParseToken(f *testing.F) {
	for _, s := range []string{"inlay.chart@1", "a.b.c@2147483647", "a@1", ".@1", "a.b@01", "a.b@1\n", "a.b@٣"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		tok, err := ParseToken(s)
		if err != nil {
			if !errors.Is(err, ErrInvalidToken) {
				t.Fatalf("%v does not wrap ErrInvalidToken", err)
			}
			return
		}
		if tok.String() != s {
			t.Fatalf("%q is written back as %q", s, tok.String())
		}
		if tok.Namespace == "" || tok.Name == "" || tok.Major < 1 || strings.Contains(tok.Name, ".") || strings.ContainsAny(s, ", \t\r\n") {
			t.Fatalf("%q gives %+v", s, tok)
		}
	})
}

// TestTokenLimits: each limit is kept, and what is over one takes nothing else
// with it.
func TestTokenLimits(t *testing.T) {
	long := strings.Repeat("a", MaxTokenSegment)
	for s, ok := range map[string]bool{
		long + "." + long + "@1":         true,
		long + "a.b@1":                   false,
		"a." + long + "b@1":              false,
		"a." + long + "." + long + "@1":  true,
		"a.b@2147483647":                 true,
		"a.b@2147483648":                 false,
		"a.b@" + strings.Repeat("9", 40): false,
		"a.b@1.0.0":                      false,
		"a.b@+1":                         false,
		"a.b@1@1":                        false,
		"a..b@1":                         false,
		"a.b.@1":                         false,
		"a.b@１":                          false,
		"а.b@1":                          false, // a Cyrillic а
		"a.b\u200b@1":                    false,
		"a.b@1\n":                        false,
	} {
		if _, err := ParseToken(s); (err == nil) != ok {
			t.Errorf("%.80q: %v, want accepted: %v", s, err, ok)
		}
	}

	many := make([]string, MaxTokens+3)
	for i := range many {
		many[i] = fmt.Sprintf("acme.t%d@1", i)
	}
	tokens, rejected := ParseTokens("Bad,"+strings.Join(many, ","), false)
	if len(tokens) != MaxTokens || tokens[MaxTokens-1].String() != many[MaxTokens-1] ||
		!slices.Equal(rejected, append([]string{"Bad"}, many[MaxTokens:]...)) {
		t.Errorf("%d tokens, the rest is %v", len(tokens), rejected)
	}
}

// TestSameTokenTwice: saying something again, or in another order, changes
// nothing.
func TestSameTokenTwice(t *testing.T) {
	r := builtins(t)
	want := r.Negotiate("inlay.chart@1,minara.feature_recommendation@1", false)
	for _, list := range []string{
		"minara.feature_recommendation@1,inlay.chart@1",
		"inlay.chart@1,minara.feature_recommendation@1,inlay.chart@1,inlay.chart@2,minara.feature_recommendation@9",
		",,inlay.chart@1,,minara.feature_recommendation@1,",
	} {
		if got := r.Negotiate(list, false); !slices.Equal(got.Tokens, want.Tokens) || len(got.Rejected) > 0 {
			t.Errorf("%s: %v, %v, want %v", list, got.Tokens, got.Rejected, want.Tokens)
		}
	}
	if len(want.Tokens) != 2 || !want.Can(FeatureRecommendationName, 1) || want.Can(FeatureRecommendationName, 2) {
		t.Errorf("negotiated %v", want.Tokens)
	}
	if r.Negotiate("feature_recommendation@1", true).Can(FeatureRecommendationName, 1) {
		t.Error("a short name is one of the built-in namespace only")
	}
}
