package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// TestGeneratedTargets compares the verdicts on targets put together at random
// with those of testdata/targets-generated.jsonl, which the client's tests
// hold its own rules to: what nobody thought of when the vectors were written.
// With -update it writes the file.
func TestGeneratedTargets(t *testing.T) {
	const file = "../testdata/targets-generated.jsonl"
	var b bytes.Buffer
	for _, target := range generatedTargets(1500) {
		row := struct {
			Kind  TargetKind `json:"kind"`
			Value string     `json:"value"`
			Rule  string     `json:"rule,omitempty"`
			Key   string     `json:"key,omitempty"`
		}{Kind: target.Kind, Value: target.Value}
		var te *TargetError
		switch err := target.Check(); {
		case err == nil:
			row.Key = target.Key()
		case errors.As(err, &te):
			row.Rule = te.Rule
		default:
			t.Fatal(err)
		}
		if err := json.NewEncoder(&b).Encode(row); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(file, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	got, lines := strings.Split(b.String(), "\n"), strings.Split(string(want), "\n")
	if len(got) != len(lines) {
		t.Fatalf("%d rows, the file has %d: go test ./block -run TestGeneratedTargets -update", len(got), len(lines))
	}
	for i, row := range got {
		if row != lines[i] {
			t.Errorf("row %d:\n got %s\nwant %s", i+1, row, lines[i])
		}
	}
}

// generatedTargets puts n targets together, the same ones every time.
func generatedTargets(n int) []Target {
	r := rand.New(rand.NewPCG(4, 2))
	pick := func(list []string) string { return list[r.IntN(len(list))] }
	odd := []string{"\u00a0", "\u3000", "／", "：", "？", "\u2025", "\u2044", "\u202e", "\u200b", "\u200d", "é", "比", "\u0085", "🚀", "\u2028", "\ufeff", "ﬀ", "\u00a8", "İ", "Σ", "\u0301", "℀", "\u00ad"}
	escaped := func(s string) string {
		var b strings.Builder
		for i := range len(s) {
			fmt.Fprintf(&b, []string{"%%%02x", "%%%02X"}[r.IntN(2)], s[i])
		}
		return b.String()
	}
	kinds := []struct {
		kind  TargetKind
		begin []string
		parts []string
	}{
		{TargetRoute, []string{"/a", "/a?x=", "/a?next=", "/a#", "/a/", ""}, []string{"/", "/b", "B", "1", ".", "..", "//", `\`, "?", "?x=", "&next=", "#", "#a", ";", ":", "'", "%", "%2", "%25", "%2e", "%2F", "%5c", "%0a", "%252f", "%25252e", "https:", "javascript:", "+", " ", "@", "~", "%c0%ae", "%ed%a0%80", "%ff", "%27", "%3a"}},
		{TargetSlash, []string{"/buy", "/buy ", ""}, []string{" ", "  ", "100", "1,000.5", "$2k", "5%", "BTC", "btc", "€3", "-", "_", "a", "\n", "k", ".", "½"}},
		{TargetExternal, []string{"https://a.test", "https://A.test/", "https://", ""}, []string{"a.test", "EXAMPLE.com", ".", "..", "/", "/b", "//", ":443", ":8443", ":0443", ":65536", ":", "@", "?", "#", "&a=", "%2e", "%2E%2e", "%41", "%zz", `\`, " ", "[", "-"}},
		{TargetModal, []string{"d", ""}, []string{"eposit", "-", "_", "1", "A", " "}},
	}
	seen := make(map[Target]bool)
	targets := make([]Target, 0, n)
	for len(targets) < n {
		k := kinds[[]int{0, 0, 0, 0, 0, 1, 1, 2, 2, 3}[r.IntN(10)]]
		value := pick(k.begin)
		for range r.IntN(5) {
			switch r.IntN(20) {
			case 0:
				value += pick(odd)
			case 1:
				value += escaped(pick(odd))
			case 2:
				value += escaped(escaped(pick(append(odd, "/", ".", `\`))))
			default:
				value += pick(k.parts)
			}
		}
		target := Target{Kind: k.kind, Value: value}
		if !seen[target] {
			seen[target] = true
			targets = append(targets, target)
		}
	}
	return targets
}
