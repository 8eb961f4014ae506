package jsonx

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

// standard is the reference: encoding/json with HTML escaping off.
func standard(t *testing.T, s string) string {
	t.Helper()
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	if err := e.Encode(s); err != nil {
		t.Fatal(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func FuzzAppendString(f *testing.F) {
	for _, s := range []string{"", "plain", "a\"b\\c/", "\x00\x1f\b\f\n\r\t\x7f", "销售额 📈 e\u0301", "<script>&amp;</script>", "\u2028\u2029", "bad \xff\xc3", "\xed\xa0\x80", "tail \xf0\x9f\x98"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := string(AppendString([]byte("x"), s))
		if want := "x" + standard(t, s); got != want {
			t.Fatalf("AppendString(%q) = %s, want %s", s, got, want)
		}
		if b := string(AppendEscaped(nil, []byte(s))); `x"`+b+`"` != got {
			t.Fatalf("bytes and string differ: %s, %s", b, got)
		}
		var back string
		if err := json.Unmarshal([]byte(got[1:]), &back); err != nil {
			t.Fatalf("not JSON: %s: %v", got, err)
		}
		if utf8.ValidString(s) && back != s {
			t.Fatalf("read back %q, want %q", back, s)
		}
		if Plain(s) != (string(AppendEscaped(nil, s)) == s && utf8.ValidString(s)) {
			t.Fatalf("Plain(%q) = %v", s, Plain(s))
		}
	})
}

func TestAppendStringJoins(t *testing.T) {
	text := "Umsatz \"Ost\" 东区\n📈\u2028 end"
	var parts []byte
	for _, r := range text {
		parts = AppendEscaped(parts, string(r))
	}
	if got, want := string(parts), string(AppendEscaped(nil, text)); got != want {
		t.Errorf("joined %s, want %s", got, want)
	}
}

func TestAppendStringDoesNotAllocate(t *testing.T) {
	dst := make([]byte, 0, 256)
	if n := testing.AllocsPerRun(100, func() { dst = AppendString(dst[:0], "东区 leads\n with 320") }); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

func TestMarshal(t *testing.T) {
	got, err := Marshal(map[string]string{"html": "<b>&</b>", "text": "各区域\n"})
	if err != nil || string(got) != `{"html":"<b>&</b>","text":"各区域\n"}` {
		t.Errorf("%s, %v", got, err)
	}
	if _, err := Marshal(func() {}); err == nil {
		t.Error("a function was encoded")
	}
}

func TestPointer(t *testing.T) {
	if got := Pointer("a/b", "c~d", "0"); got != "/a~1b/c~0d/0" {
		t.Error(got)
	}
	if got := Pointer(); got != "" {
		t.Error(got)
	}
}
