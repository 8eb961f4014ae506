package markup

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/event"
)

// builtBy pushes a text in pieces, applies every patch, holds each step to the
// invariants, and returns what was built and the whole.
func builtBy(t testing.TB, text string, cuts ...int) (built any, whole json.RawMessage, err error) {
	t.Helper()
	j := NewJSONStream()
	var payload json.RawMessage
	var before any
	at := 0
	for _, cut := range append(cuts, len(text)) {
		ops, perr := j.Push([]byte(text[at:cut]))
		at = cut
		for len(ops) > 0 {
			n := min(len(ops), event.MaxPatchOps)
			patch, merr := json.Marshal(ops[:n])
			if merr != nil {
				t.Fatalf("%q: %v", text, merr)
			}
			ops = ops[n:]
			if payload, merr = event.ApplyPatch(payload, patch); merr != nil {
				t.Fatalf("%q cut at %v: patch %s: %v", text, cuts, patch, merr)
			}
			var after any
			if merr = json.Unmarshal(payload, &after); merr != nil {
				t.Fatalf("%q: %v", text, merr)
			}
			if merr = grew(before, after, ""); before != nil && merr != nil {
				t.Fatalf("%q cut at %v: %v", text, cuts, merr)
			}
			before = after
		}
		if perr != nil {
			return before, nil, perr
		}
	}
	whole, err = j.Close()
	return before, whole, err
}

// grew says in what a value is no continuation of the one before.
func grew(before, after any, at string) error {
	if reflect.TypeOf(before) != reflect.TypeOf(after) {
		return fmt.Errorf("%s was %T, is %T", at, before, after)
	}
	switch b := before.(type) {
	case map[string]any:
		for k, v := range b {
			w, ok := after.(map[string]any)[k]
			if !ok {
				return fmt.Errorf("%s/%s vanished", at, k)
			}
			if err := grew(v, w, at+"/"+k); err != nil {
				return err
			}
		}
	case []any:
		a := after.([]any)
		if len(a) < len(b) {
			return fmt.Errorf("%s shrank", at)
		}
		for i := range b {
			if err := grew(b[i], a[i], fmt.Sprintf("%s/%d", at, i)); err != nil {
				return err
			}
		}
	case string:
		if !strings.HasPrefix(after.(string), b) {
			return fmt.Errorf("%s was %q, is %q", at, b, after)
		}
		if strings.Contains(b, "\uFFFD") {
			return fmt.Errorf("%s was cut within a character: %q", at, b)
		}
	default:
		if before != after {
			return fmt.Errorf("%s was %v, is %v", at, before, after)
		}
	}
	return nil
}

// randomJSON writes a random value without lone surrogates.
func randomJSON(r *rand.Rand, depth int) string {
	blank := []string{"", " ", "\n", "\t "}[r.IntN(4)]
	switch k := r.IntN(9); {
	case k < 3 && depth > 0:
		var parts []string
		for i := range r.IntN(5) {
			parts = append(parts, fmt.Sprintf("%s\"k%d%s\"%s:%s", blank, i, []string{"", "/", "~", "\\u00e9", "好"}[r.IntN(5)], blank, randomJSON(r, depth-1)))
		}
		return "{" + strings.Join(parts, ",") + blank + "}"
	case k < 5 && depth > 0:
		var parts []string
		for range r.IntN(5) {
			parts = append(parts, randomJSON(r, depth-1))
		}
		return "[" + strings.Join(parts, ",") + blank + "]"
	case k < 7:
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString([]string{"a", "word ", "好", "😀", `\n`, `\"`, `\\`, `\u4e2d`, `\ud83d\ude00`, `\/`, "{", "]", ","}[r.IntN(13)])
		}
		return blank + `"` + b.String() + `"`
	case k == 7:
		return []string{"0", "-1", "1200", "3.25", "1e3", "-0.5E-2"}[r.IntN(6)] + blank
	}
	return []string{"true", "false", "null"}[r.IntN(3)]
}

func TestJSONStreamBuildsTheWhole(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 1))
	for range 400 {
		text := randomJSON(r, 4)
		var want any
		if err := json.Unmarshal([]byte(text), &want); err != nil {
			t.Fatal(err)
		}
		for _, cuts := range [][]int{nil, everyByte(text), randomCuts(r, len(text)), randomCuts(r, len(text))} {
			built, whole, err := builtBy(t, text, cuts...)
			if err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if string(whole) != text {
				t.Fatalf("whole is %q, was %q", whole, text)
			}
			// A number that ends the text is complete only with the text.
			if len(text) > 0 && (text[0] == '{' || text[0] == '[' || text[0] == '"') && !reflect.DeepEqual(built, want) {
				t.Fatalf("%q cut at %v: built %v, want %v", text, cuts, built, want)
			}
		}
	}
}

// What Push keeps back of a long text, Flush shows, and what is built stays part
// of the whole.
func TestJSONStreamFlush(t *testing.T) {
	text := `{"a":[{"text":"` + strings.Repeat("long ", 40) + `\ud83d\ude00中"}],"n":1200}`
	j := NewJSONStream()
	built := json.RawMessage("null")
	apply := func(ops []PatchOp) {
		if len(ops) == 0 {
			return
		}
		patch, err := json.Marshal(ops)
		if err == nil {
			built, err = event.ApplyPatch(built, patch)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	kept := 0
	for i := range len(text) {
		ops, err := j.Push([]byte(text[i : i+1]))
		if err != nil {
			t.Fatal(err)
		}
		apply(ops)
		if i%3 > 0 {
			continue
		}
		before, behind := string(built), j.Behind()
		apply(j.Flush())
		if behind != (before != string(built)) || j.Behind() || j.Flush() != nil {
			t.Fatalf("behind %v: %s became %s", behind, before, built)
		}
		if behind {
			kept++
		}
		if at := strings.LastIndex(text[:i+1], "long"); at >= 0 && !strings.Contains(text[:i+1], `\u`) && !strings.Contains(string(built), text[15:i+1]) {
			t.Fatalf("of %s only %s is shown", text[:i+1], built)
		}
	}
	apply(j.Flush())
	var got, want any
	if json.Unmarshal(built, &got) != nil || json.Unmarshal([]byte(text), &want) != nil || !reflect.DeepEqual(got, want) || kept == 0 {
		t.Errorf("%s, %d times something was kept back", built, kept)
	}
}

// What is seen of a text that is cut, as a table: nothing that could still
// change its meaning.
func TestJSONStreamShowsOnlyWhatIsSure(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{``, ``},
		{`{`, `{}`},
		{`{"k`, `{}`},
		{`{"k"`, `{}`},
		{`{"k":`, `{}`},
		{`{"k":nul`, `{}`},
		{`{"k":null`, `{}`},
		{`{"k":null,`, `{"k":null}`},
		{`{"k":12`, `{}`},
		{`{"k":12 `, `{"k":12}`},
		{`{"k":1200}`, `{"k":1200}`},
		{`{"k":"`, `{"k":""}`},
		{`{"k":"a\`, `{"k":"a"}`},
		{`{"k":"a\u4e`, `{"k":"a"}`},
		{`{"k":"a\u4e2d`, `{"k":"a中"}`},
		{`{"k":"a\ud83d`, `{"k":"a"}`},
		{`{"k":"a\ud83d\ude0`, `{"k":"a"}`},
		{`{"k":"a\ud83d\ude00`, `{"k":"a😀"}`},
		{"{\"k\":\"a\xf0\x9f", `{"k":"a"}`},
		{`{"k":[`, `{"k":[]}`},
		{`{"k":[1,[2,{"a":"b`, `{"k":[1,[2,{"a":"b"}]]}`},
		{`[1,2`, `[1]`},
		{`"ab`, `"ab"`},
		{`7`, ``},
	} {
		for _, cuts := range [][]int{nil, everyByte(c.text)} {
			built, _, _ := builtBy(t, c.text, cuts...)
			got := ""
			if built != nil {
				b, err := json.Marshal(built)
				if err != nil {
					t.Fatal(err)
				}
				got = string(b)
			}
			if got != c.want {
				t.Errorf("%q cut at %v shows %s, want %s", c.text, cuts, got, c.want)
			}
		}
	}
}

func TestJSONStreamRefuses(t *testing.T) {
	for _, text := range []string{
		`{"a":1,"a":2}`, `{"a":1,"\u0061":2}`, `{a:1}`, `{'a':1}`, `{"a" 1}`, `{"a":1,}`, `[1,]`, `[1 2]`, `{,}`, `]`, `}`, `[}`, `{]`,
		`{"a":tru}`, `{"a":truee}`, `{"a":01}`, `{"a":1.}`, `{"a":1e}`, `{"a":-}`, `{"a":+1}`, `{"a":.5}`, `{"a":NaN}`,
		"{\"a\":\"\n\"}", `{"a":"\x"}`, `{"a":"\u12g4"}`, "{\"a\n\":1}", `{"\x":1}`, `{}{}`, `{} x`, `"a" "b"`, `// c`,
		strings.Repeat("[", maxJSONDepth+1), `[` + strings.Repeat("1", maxNumber+1) + `]`,
	} {
		for _, cuts := range [][]int{nil, everyByte(text)} {
			if _, _, err := builtBy(t, text, cuts...); !errors.Is(err, ErrJSON) {
				t.Errorf("%q cut at %v: error is %v", text, cuts, err)
			}
		}
	}
	for _, text := range []string{``, ` `, `{`, `{"a"`, `{"a":`, `[1`, `"`, `tru`, `-`} {
		j := NewJSONStream()
		if _, err := j.Push([]byte(text)); err != nil {
			t.Errorf("%q: %v", text, err)
		}
		if _, err := j.Close(); !errors.Is(err, ErrJSON) {
			t.Errorf("%q is whole: %v", text, err)
		}
	}
}

func TestJSONStreamRepairsLoneSurrogates(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"\ud83dx"}`:       "\uFFFDx",
		`{"a":"\ude00x"}`:       "\uFFFDx",
		`{"a":"\ud83d\ud83d."}`: "\uFFFD\uFFFD.",
		`{"a":"\ud83d\n"}`:      "\uFFFD\n",
		`{"a":"\ud83d\u0041"}`:  "\uFFFDA",
		`{"a":"\ud83d"}`:        "\uFFFD",
	} {
		for _, cuts := range [][]int{nil, everyByte(text)} {
			j := NewJSONStream()
			var payload json.RawMessage
			at := 0
			for _, cut := range append(cuts, len(text)) {
				ops, err := j.Push([]byte(text[at:cut]))
				if err != nil {
					t.Fatalf("%q: %v", text, err)
				}
				at = cut
				patch, _ := json.Marshal(append([]PatchOp{}, ops...))
				if strings.Contains(string(patch), `\ud`) {
					t.Errorf("%q: half of a pair is passed on: %s", text, patch)
				}
				if payload, err = event.ApplyPatch(payload, patch); err != nil {
					t.Fatal(err)
				}
			}
			var got struct{ A string }
			if err := json.Unmarshal(payload, &got); err != nil || got.A != want {
				t.Errorf("%q cut at %v: %q, %v", text, cuts, got.A, err)
			}
		}
	}
}

// A long string in small pieces must not be sent again and again in whole.
func TestJSONStreamOfALongStringIsLinear(t *testing.T) {
	sent := func(n int) int {
		j := NewJSONStream()
		total := 0
		for _, piece := range strings.SplitAfter(`{"a":"`+strings.Repeat("word ", n/5)+`"}`, " ") {
			ops, err := j.Push([]byte(piece))
			if err != nil {
				t.Fatal(err)
			}
			for _, op := range ops {
				total += len(op.Value)
			}
		}
		if _, err := j.Close(); err != nil {
			t.Fatal(err)
		}
		return total
	}
	if small, large := sent(2<<10), sent(64<<10); large > 40*small || large > 12*(64<<10) {
		t.Errorf("%d bytes for 2 KiB, %d for 64 KiB", small, large)
	}
}

func FuzzJSONStream(f *testing.F) {
	f.Add(`{"a":[1,true,"\ud83d\ude00"],"b":{"c":null}}`, uint64(1))
	f.Add(`{"a":"\ud83d\u0041","":[[]]}`, uint64(2))
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		if !utf8.ValidString(text) {
			text = strings.ToValidUTF8(text, "?")
		}
		r := rand.New(rand.NewPCG(seed, 0))
		whole := NewJSONStream()
		wholeOps, wholeErr := whole.Push([]byte(text))
		j := NewJSONStream()
		var err error
		at := 0
		for _, cut := range append(randomCuts(r, len(text)), len(text)) {
			if _, err = j.Push([]byte(text[at:cut])); err != nil {
				break
			}
			at = cut
		}
		if (err == nil) != (wholeErr == nil) {
			t.Fatalf("%q: in pieces %v, whole %v", text, err, wholeErr)
		}
		if err != nil {
			return
		}
		a, errA := j.Close()
		b, errB := whole.Close()
		if (errA == nil) != (errB == nil) || string(a) != string(b) {
			t.Fatalf("%q: in pieces %q %v, whole %q %v", text, a, errA, b, errB)
		}
		if errA == nil && !json.Valid(a) {
			t.Fatalf("%q is taken for JSON", text)
		}
		for _, op := range wholeOps {
			if !json.Valid(op.Value) {
				t.Fatalf("%q: value %s", text, op.Value)
			}
		}
	})
}
