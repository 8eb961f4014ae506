package markup

import (
	"encoding/json"
	"flag"
	"fmt"
	"hash"
	"hash/fnv"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// The rows of these files are read by the reader in the browser too: both take
// a text for the same JSON, or find it wrong at the same character, and show the
// same of it until then.

var update = flag.Bool("update", false, "write the sums of random JSON anew")

// jsonRow is a text and what becomes of it, however it is cut.
type jsonRow struct {
	Text string `json:"text"`
	// Built is what the patches build; absent: nothing.
	Built json.RawMessage `json:"built"`
	// At is how many characters stand before the one that is wrong.
	At *int `json:"at"`
	// Whole says that the text is one value.
	Whole bool `json:"whole"`
}

func testdata[T any](t *testing.T, name string) []T {
	t.Helper()
	raw, err := os.ReadFile("testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	for line := range strings.Lines(string(raw)) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// applyOps is RFC 6902 for what a JSONStream says, without the limits that logs
// have.
func applyOps(t *testing.T, doc any, ops []PatchOp) any {
	t.Helper()
	for _, op := range ops {
		v, err := decode(op.Value)
		if err != nil {
			t.Fatalf("%s: %v", op.Value, err)
		}
		path := tokens(op.Path)
		if len(path) == 0 {
			doc = v
			continue
		}
		set := func(v any) { doc = v }
		at := doc
		for _, token := range path {
			switch in := at.(type) {
			case map[string]any:
				if _, there := in[token]; there == (op.Op == "add") && len(path) == 1 {
					t.Fatalf("%s %s of %v", op.Op, op.Path, doc)
				}
				at = in[token]
				set = func(v any) { in[token] = v }
			case []any:
				i, err := strconv.Atoi(token)
				if err != nil || i > len(in) {
					t.Fatalf("%s %s of %v", op.Op, op.Path, doc)
				}
				put := set
				if i == len(in) {
					set = func(v any) { put(append(in, v)) }
					continue
				}
				at = in[i]
				set = func(v any) { in[i] = v }
			default:
				t.Fatalf("%s %s of %v", op.Op, op.Path, doc)
			}
		}
		set(v)
	}
	return doc
}

// readJSON pushes pieces and returns at which of them the text was wrong, or -1,
// what was built, and the whole.
func readJSON(t *testing.T, pieces []string) (wrong int, built, whole any) {
	t.Helper()
	j := NewJSONStream()
	for i, piece := range pieces {
		ops, err := j.Push([]byte(piece))
		built = applyOps(t, built, ops)
		if err != nil {
			if more, again := j.Push([]byte(" ")); len(more) > 0 || again == nil {
				t.Errorf("%q: %v, %v after an error", pieces, more, again)
			}
			return i, built, nil
		}
	}
	raw, err := j.Close()
	if err != nil {
		return -1, built, nil
	}
	v, err := decode(raw)
	if err != nil {
		t.Fatalf("%q is taken for JSON: %v", raw, err)
	}
	return -1, built, []any{v}
}

// plain writes a value in the one way in which both sides do.
func plain(t *testing.T, v any) string {
	t.Helper()
	switch v := v.(type) {
	case map[string]any:
		parts := make([]string, 0, len(v))
		for _, name := range slices.Sorted(maps.Keys(v)) {
			parts = append(parts, plain(t, name)+":"+plain(t, v[name]))
		}
		return "{" + strings.Join(parts, ",") + "}"
	case []any:
		parts := make([]string, len(v))
		for i, one := range v {
			parts[i] = plain(t, one)
		}
		return "[" + strings.Join(parts, ",") + "]"
	case json.Number:
		f, err := v.Float64()
		if err != nil {
			return "null" // there is no such number
		}
		return plain(t, f+0) // no zero is less than zero
	}
	raw, err := jsonx.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}

func TestJSONVectors(t *testing.T) {
	for _, row := range testdata[jsonRow](t, "json-stream.jsonl") {
		t.Run(row.Text[:min(len(row.Text), 40)], func(t *testing.T) {
			want := ""
			if row.Built != nil {
				v, err := decode(row.Built)
				if err != nil {
					t.Fatal(err)
				}
				want = plain(t, v)
			}
			characters := strings.Split(row.Text, "")
			next := dice(7)
			for n := range 6 {
				pieces := [][]string{{row.Text}, characters}[n%2]
				if n > 1 {
					pieces = pieced(characters, next)
				}
				wrong, built, whole := readJSON(t, pieces)
				if (wrong >= 0) != (row.At != nil) || n == 1 && row.At != nil && wrong != *row.At {
					t.Errorf("%q: wrong at %d", pieces, wrong)
				}
				got := ""
				if built != nil {
					got = plain(t, built)
				}
				if got != want || (whole != nil) != row.Whole {
					t.Errorf("%q: built %s, want %s; whole: %v", pieces, got, want, whole)
				}
			}
		})
	}
}

// What the other reader cannot be given: bytes that are no text.
func TestJSONStreamOfBytes(t *testing.T) {
	for text, want := range map[string]string{
		"[\"a\xff\"]":        `["a` + "\ufffd" + `"]`,
		"[\"\xf0\x9f\"]":     `["` + "\ufffd" + `"]`,
		"{\"\xc3\":1}":       `{"` + "\ufffd" + `":1}`,
		"\"a\xe5\xa5\"":      `"a` + "\ufffd" + `"`,
		"[\"a\xed\xa0\x80\"": `["a` + strings.Repeat("\ufffd", 3) + `"]`,
	} {
		for _, cuts := range [][]int{nil, everyByte(text)} {
			built, _, _ := builtApart(t, text, cuts)
			if got := plain(t, built); got != want {
				t.Errorf("%q cut at %v: %s, want %s", text, cuts, got, want)
			}
		}
	}
	for _, text := range []string{"{}\xf0", "\xef\xbb\xbf{}", "[\xff]"} {
		j := NewJSONStream()
		_, err := j.Push([]byte(text))
		if _, end := j.Close(); err == nil && end == nil {
			t.Errorf("%q is JSON", text)
		}
	}
}

func builtApart(t *testing.T, text string, cuts []int) (built any, wrong int, whole any) {
	t.Helper()
	var pieces []string
	at := 0
	for _, cut := range append(slices.Clone(cuts), len(text)) {
		pieces = append(pieces, text[at:cut])
		at = cut
	}
	wrong, built, whole = readJSON(t, pieces)
	return built, wrong, whole
}

// dice is a generator of numbers that is the same in both languages.
func dice(seed uint32) func(n int) int {
	state := seed
	return func(n int) int {
		state += 0x6d2b79f5
		x := (state ^ state>>15) * (state | 1)
		x ^= x + (x^x>>7)*(x|61)
		return int((x ^ x>>14) % uint32(n))
	}
}

// pieced joins characters to pieces at random.
func pieced(characters []string, next func(int) int) []string {
	var out []string
	for at := 0; at < len(characters); {
		to := min(len(characters), at+1+next(8))
		out = append(out, strings.Join(characters[at:to], ""))
		at = to
	}
	return out
}

// What random texts are made of.
var (
	jsonParts = []string{"a", "word ", "好", "😀", "é", "\\n", "\\\"", "\\\\", "\\u4e2d", "\\ud83d\\ude00", "\\ud83d", "\\ude00", "\\/", "{", "]", ",", "\u0000", "\n", "\\x", "\\u00g"}
	jsonWords = []string{"0", "-1", "1200", "3.25", "1e3", "-0.5E-2", "true", "false", "null", "01", "1.", "-", "nul", "truex", "1e999"}
	jsonMarks = []string{"{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\n", "1", "_", "x", "\u0000", "\u001f", "\ufeff", "\ufffd", "true", "\"a\"", "//", "'"}
)

// randomText writes JSON with a mistake here and there.
func randomText(next func(int) int) string {
	var out []string
	var value func(depth int)
	text := func(parts int) {
		out = append(out, `"`)
		for n := next(6); n > 0; n-- {
			out = append(out, jsonParts[next(parts)])
		}
		out = append(out, `"`)
	}
	value = func(depth int) {
		kind := next(9)
		if depth == 0 && kind < 5 {
			kind += 4
		}
		out = append(out, []string{"", "", " ", "\n"}[next(4)])
		switch {
		case kind < 3:
			out = append(out, "{")
			for n, i := next(4), 0; i < n; i++ {
				if i > 0 {
					out = append(out, ",")
				}
				text(14)
				out = append(out, ":")
				value(depth - 1)
			}
			out = append(out, "}")
		case kind < 5:
			out = append(out, "[")
			for n, i := next(4), 0; i < n; i++ {
				if i > 0 {
					out = append(out, ",")
				}
				value(depth - 1)
			}
			out = append(out, "]")
		case kind < 7:
			// Now and then one that is wrong.
			if next(12) > 0 {
				text(16)
			} else {
				text(len(jsonParts))
			}
		default:
			if next(12) > 0 {
				out = append(out, jsonWords[next(9)])
			} else {
				out = append(out, jsonWords[next(len(jsonWords))])
			}
		}
	}
	value(4)
	if next(3) == 0 {
		out[next(len(out))] = jsonMarks[next(len(jsonMarks))]
	}
	if next(5) == 0 {
		out = out[:next(len(out)+1)]
	}
	return strings.Join(out, "")
}

// digestOf reads random texts in two ways each, and returns a sum of all that
// came of them.
func digestOf(t *testing.T, seed uint32, count int) string {
	t.Helper()
	next := dice(seed)
	sum := fnv.New32a()
	for range count {
		addDigest(t, sum, randomText(next), next)
	}
	return fmt.Sprintf("%08x", sum.Sum32())
}

// readToTheEnd is readJSON, with all that there is of a text that is open at the
// end: how often that is told on the way is not the same on both sides.
func readToTheEnd(t *testing.T, pieces []string) (wrong int, built, whole any) {
	t.Helper()
	if wrong, built, whole = readJSON(t, pieces); wrong < 0 && whole == nil {
		_, built, _ = readJSON(t, append(slices.Clone(pieces), "\x01"))
	}
	return wrong, built, whole
}

func addDigest(t *testing.T, sum hash.Hash32, text string, next func(int) int) {
	t.Helper()
	characters := strings.Split(text, "")
	wrong, built, whole := readToTheEnd(t, characters)
	again, builtAgain, wholeAgain := readToTheEnd(t, pieced(characters, next))
	line := fmt.Sprintf("%d %s %s", wrong, plain(t, built), plain(t, whole))
	if plain(t, built) != plain(t, builtAgain) || plain(t, whole) != plain(t, wholeAgain) || (wrong < 0) != (again < 0) {
		t.Errorf("%q: %s; in other pieces %d %s", text, line, again, plain(t, builtAgain))
	}
	fmt.Fprintln(sum, line)
}

// The sums of random texts are those of the reader in the browser.
func TestJSONRandomDigests(t *testing.T) {
	type row struct {
		Seed   uint32 `json:"seed"`
		Count  int    `json:"count"`
		Digest string `json:"digest"`
	}
	const name = "json-stream-random.jsonl"
	if *update {
		var out strings.Builder
		for seed := uint32(1); seed <= 10; seed++ {
			fmt.Fprintf(&out, "{\"seed\":%d,\"count\":400,\"digest\":%q}\n", seed, digestOf(t, seed, 400))
		}
		if err := os.WriteFile("testdata/"+name, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for _, r := range testdata[row](t, name) {
		if got := digestOf(t, r.Seed, r.Count); got != r.Digest {
			t.Errorf("seed %d: %s, want %s", r.Seed, got, r.Digest)
		}
	}
}
