package block

import (
	"strings"
	"testing"
	"time"
)

func TestPatterns(t *testing.T) {
	tests := []struct {
		pattern, value string
		want           bool
	}{
		{`^a$`, "a\n", false}, {`^.$`, "\u2028", false}, {`^.$`, "\r", false}, {`^.$`, "😀", true}, {`^[^a]$`, "😀", true},
		{`^\d$`, "\u0661", false}, {`^\w$`, "é", false}, {`^\s$`, "\u00a0", true}, {`^\s$`, "\ufeff", true}, {`^\s$`, "\u0085", false},
		{`\bé`, "é", false}, {`é\b`, "éa", true}, {`\b`, "é", false}, {`^a\Bé`, "aé", false}, {`^é\Bé`, "éé", true},
		{`^(?=.*\d).{4,}$`, "abc1", true}, {`^(?!x)\w+$`, "xa", false}, {`^\p{L}+$`, "比", true}, {`^[\p{L}\p{N}]+$`, "a1٣", true},
		{`^\P{Lu}$`, "A", false}, {`^\u4e00$`, "一", true}, {`^\x41\cA\0$`, "A\x01\x00", true}, {`^[\b\-\]]+$`, "\b-]", true},
		{`^[a-]$`, "-", true}, {`^[-a]$`, "-", true}, {`^[a-c-e]$`, "-", true}, {`^[a-c-e]$`, "d", false}, {`^[😀-😂]$`, "😁", true},
		{`^a{2,}?$`, "aaa", true}, {`^a{0,2000}$`, "a", true}, {`^(?<y>\d+)-(?<m>\d+)$`, "1-2", true}, {`a#b c`, "a#b c", true},
		{`^a\/b$`, "a/b", true}, {``, "x", true}, {`^(|a)$`, "a", true}, {`^1\.5$`, "1x5", false},
		{`^[a-z0-9]+(-[a-z0-9]+)*$`, "a-b-c", true}, {`^\d{1,3}(\.\d{1,3}){3}$`, "10.0.0.1", true}, {`^\p{L}+(\s\p{L}+)*$`, "Ada Lovelace", true},
		{`^([A-Z]{2}\d{4},?)+$`, "AB1234,CD5678", true}, {`^(\d{4}){3}$`, "123412341234", true},
	}
	for _, tt := range tests {
		re, err := compileFormPattern(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got, err := re.MatchString(tt.value); err != nil || got != tt.want {
			t.Errorf("%s on %q: %v, %v, want %v", tt.pattern, tt.value, got, err, tt.want)
		}
	}
}

func TestPatternsRefused(t *testing.T) {
	for _, p := range []string{
		`a\-b`, `\e`, `\_`, `\ `, `\1(a)`, `(a)\1`, `(?<a>x)\k<a>`, `(?<=a)b`, `(?<!a)b`, `(?i)a`, `(?#x)a`, `(?'y'a)`, `(?>a)`,
		`[`, `[]`, `[^]`, `[a`, `[b-a]`, `[\d-x]`, `[[a]]`, `[[:alpha:]]`, `a{`, `a{,2}`, `a{2,1}`, `a{1,10001}`, `}`, `]`, `a++`, `a{2}{3}`, `*a`,
		`(?=a)*`, `^*`, `(`, `)`, `a)`, `\`, `\u{1F600}`, `\ud83d\ude00`, `\u12`, `\x1`, `\c1`, `\07`, `\p{Han}`, `\p{Script=Han}`, `\p{C}`, `\pL`, `\p`,
		`(?<a>x)(?<a>y)`, `(?<1>x)`, `(?<>x)`, "\xff", strings.Repeat("a", MaxFormPattern+1), strings.Repeat("(", 40) + strings.Repeat(")", 40),
	} {
		if err := CheckPattern(p); err == nil {
			t.Errorf("%s: accepted", p)
		}
	}
}

// TestPatternBombs: what takes exponential time is refused, also where no
// repetition is written within another, and judging it takes no time.
func TestPatternBombs(t *testing.T) {
	begin := time.Now()
	for _, p := range []string{
		`^(a+)+$`, `^(a*)*$`, `(a|a)*b`, `(a|ab|b)*c`, `([a-z]|\w)+!`, `(.*)*x`, `(\w+\s?)+$`, `(a?b?)*c`, `((ab)*)*c`, `(x+x+)+y`,
		`(a{1,100}){1,100}b`, `(a{0,60}){0,60}$`, `^(([a-z])+.)+[A-Z]([a-z])+$`, `(?=(a+)+b)a`, `(b|a|a)*c`, `(\d+|\d+\.)+$`, `(a+){2,}$`,
		`((a|b)+|c)*d|(a+)+e`, strings.Repeat(`(a{1,40}){1,40}`, 10), `(` + strings.Repeat(`[a-z]|`, 70) + `x)*y`,
	} {
		if err := CheckPattern(p); err == nil {
			t.Errorf("%s: accepted", p)
		}
	}
	if d := time.Since(begin); d > time.Minute {
		t.Errorf("took %v", d)
	}
}

// TestPatternsAreJudgedQuickly: the judgement itself is no bomb.
func TestPatternsAreJudgedQuickly(t *testing.T) {
	for _, p := range []string{
		strings.Repeat(`(\p{L}|\P{Lu}|\w|.){0,40}`, 18), `((` + strings.Repeat(`\p{L}|`, 70) + `\w){40}){40}`, `(` + strings.Repeat(`[^a]{0,40}`, 50) + `)*`,
		strings.Repeat("(", 30) + `a{40}` + strings.Repeat("){40}", 30), `(` + strings.Repeat(`(a|b)?`, 80) + `)+`, strings.Repeat(`.?`, 250) + "x",
		`((((((a{40}){40}){40}){40}){40}){40}){40}`, strings.Repeat(`[\p{L}\P{N}-a]?`, 30),
	} {
		begin := time.Now()
		err := CheckPattern(p)
		if d := time.Since(begin); d > 30*time.Second {
			t.Errorf("%.60s took %v: %v", p, d, err)
		}
	}
}

func FuzzPatterns(f *testing.F) {
	f.Add(`^(a|b{2,3})+[^c-e]\d(?=x)$`)
	f.Add(`(a+)+`)
	f.Add(`[\p{L}-]`)
	f.Fuzz(func(t *testing.T, p string) {
		if CheckPattern(p) != nil {
			return
		}
		re, err := compileFormPattern(p)
		if err != nil {
			t.Fatalf("%q is accepted but does not compile: %v", p, err)
		}
		re.MatchTimeout = PatternTimeout
		_, _ = re.MatchString("aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab!") // a time-out is an error, no hang
	})
}
