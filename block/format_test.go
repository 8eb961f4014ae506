package block

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// lines decodes every line of a file of vectors.
func lines[T any](t testing.TB, path string) []T {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var out []T
	for line := range strings.Lines(string(raw)) {
		var v T
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatalf("%s: %v in %s", path, err, line)
		}
		out = append(out, v)
	}
	return out
}

// TestFormats holds the rules to the vectors that the browser's are held to.
func TestFormats(t *testing.T) {
	seen := make(map[string][2]int)
	for _, v := range lines[struct {
		Format, Value string
		OK            bool
	}](t, "../testdata/form-formats.jsonl") {
		got, known := ValidFormat(v.Format, v.Value)
		if !known {
			t.Errorf("%s is no format", v.Format)
		}
		if got != v.OK {
			t.Errorf("%s %q: %v, want %v", v.Format, v.Value, got, v.OK)
		}
		n := seen[v.Format]
		if v.OK {
			n[0]++
		} else {
			n[1]++
		}
		seen[v.Format] = n
	}
	for _, f := range Formats() {
		if n := seen[f]; n[0] == 0 || n[1] < 5 {
			t.Errorf("%s: %d good and %d bad vectors are too few", f, n[0], n[1])
		}
	}
	if _, known := ValidFormat("phone-cn", "x"); known {
		t.Error("phone-cn is a format")
	}
}

func FuzzFormats(f *testing.F) {
	f.Add("2026-01-01T00:00:00Z")
	f.Add("::1.2.3.4")
	f.Add("https://[::1]/%41")
	f.Fuzz(func(t *testing.T, s string) {
		for _, name := range Formats() {
			if ok, _ := ValidFormat(name, s); ok {
				for i := range len(s) {
					if s[i] <= ' ' || s[i] > '~' {
						t.Errorf("%s accepts %q, which is not plain ASCII", name, s)
					}
				}
			}
		}
	})
}
