package terminal

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
)

// TestClean: what may reach a terminal of a text that wants to take it over.
func TestClean(t *testing.T) {
	for _, c := range []struct{ name, in, want string }{
		{"plain", "East leads with 320.\n第二行", "East leads with 320.\n第二行"},
		{"colours", "a\x1b[31mb\x1b[0mc", "abc"},
		{"clear the screen", "a\x1b[2J\x1b[Hb", "ab"},
		{"private modes", "a\x1b[?1049hb\x1b[>4;1mc", "abc"},
		{"title", "a\x1b]0;evil\x07b", "ab"},
		{"title ended by ST", "a\x1b]2;evil\x1b\\b", "ab"},
		{"title ended by C1", "a\x1b]2;evil\u009cb", "ab"},
		{"clipboard", "a\x1b]52;c;ZXZpbA==\x07b", "ab"},
		{"hidden address", "\x1b]8;;https://evil.example\x1b\\safe\x1b]8;;\x1b\\", "safe"},
		{"device control", "a\x1bP1$qm\x1b\\b", "ab"},
		{"application command", "a\x1b_evil\x1b\\b\x1b^evil\x1b\\c\x1bXevil\x1b\\d", "abcd"},
		{"reset", "a\x1bcb", "ab"},
		{"charset", "a\x1b(0b\x1b)Bc", "abc"},
		{"8-bit CSI", "a\u009b31mb", "ab"},
		{"8-bit OSC", "a\u009d0;evil\u009cb", "ab"},
		{"8-bit DCS", "a\u0090evil\u009cb\u0098evil\u009cc\u009eevil\u009cd\u009fevil\u009ce", "abcde"},
		{"other C1", "a\u0085b\u008dc\u0084d", "abcd"},
		{"a raw 8-bit byte", "a\x9b31mb", "a\ufffd31mb"},
		{"unfinished", "a\x1b", "a"},
		{"unfinished CSI", "a\x1b[31", "a"},
		{"a title that never ends is text", "a\x1b]0;evil\nb", "a0;evil\nb"},
		{"nested", "a\x1b]0;\x1b[31mb\x07c", "abc"},
		{"a sequence made of the rest", "a\x1b\x1b[[31mb", "a31mb"},
		{"bell, backspace, NUL, DEL", "a\x07b\x08c\x00d\x7fe", "abcde"},
		{"returns", "safe\rEVIL\r\nend", "safe\nEVIL\nend"},
		{"vertical tab, form feed", "a\vb\fc", "abc"},
		{"tab", "a\tb", "a    b"},
		{"direction", "a\u202eb\u2066c\u200fd", "abcd"},
		{"no width", "pay\u200bpal\u2060\ufeff", "paypal"},
		{"tags", "a\U000e0041b", "ab"},
		{"separators", "a\u2028b\u2029c", "a\nb\nc"},
		{"not UTF-8", "a\xff\xc0b", "a\ufffd\ufffdb"},
	} {
		if got := Clean(c.in); got != c.want {
			t.Errorf("%s: %q becomes %q, want %q", c.name, c.in, got, c.want)
		}
		if again := Clean(Clean(c.in)); again != Clean(c.in) {
			t.Errorf("%s: cleaned twice it is %q", c.name, again)
		}
	}
}

// evil stands in the place of every string of the gallery.
const evil = "\x1b[31mx\x1b]0;t\x07\u009b2J\u0090q\u009c\x07\x08\x00\u202e\r\x7f\u200b\x1b"

// TestNoControlReachesTheTerminal puts hostile strings in the place of every
// string of every block of the gallery, names of members included, and looks at
// what is drawn and listed.
func TestNoControlReachesTheTerminal(t *testing.T) {
	for _, color := range []bool{false, true} {
		r := New(Options{Width: 40, Color: color, Address: func(id string) string { return "http://x/" + id }})
		for _, f := range gallery(t) {
			for _, c := range f.Cases {
				b := c.Block
				b.Fallback, b.Type = b.Fallback+evil, f.Type
				b.Payload = spoilt(t, b.Payload, false)
				b.State = spoilt(t, b.State, false)
				for i := range b.Actions {
					b.Actions[i].Label += evil
				}
				if b.Meta != nil {
					b.Meta.Title += evil
				}
				if b.Err != nil {
					b.Err.Code += evil
					b.Err.Message += evil
				}
				checkDrawn(t, r, f.Type+"/"+c.Name, b)
				b.Payload = spoilt(t, c.Block.Payload, true)
				checkDrawn(t, r, f.Type+"/"+c.Name+" and its names", b)
				b.Type += evil
				checkDrawn(t, r, f.Type+"/"+c.Name+" and its type", b)
			}
		}
	}
}

func checkDrawn(t *testing.T, r *Renderer, name string, b block.Block) {
	t.Helper()
	out := r.Block(b) + r.State(b)
	for _, c := range r.Choices(b) {
		out += r.ChoiceLine(":1", c)
		fields := c.Fields
		if fields == nil {
			fields = Fields(c.Schema, c.UI, c.Defaults, c.Payload)
		}
		for _, f := range fields {
			out += r.Question(f, f.Default)
		}
	}
	if why := unsafe(out, r.width); why != "" {
		t.Errorf("%s: %s", name, why)
	}
}

// spoilt adds the hostile string to every string of a document that no schema
// takes by its value.
func spoilt(t *testing.T, raw json.RawMessage, names bool) json.RawMessage {
	t.Helper()
	if len(raw) == 0 {
		return raw
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	var walk func(v any, name string) any
	walk = func(v any, name string) any {
		switch v := v.(type) {
		case string:
			switch name {
			case "type", "kind", "field", "id", "$ref", "format", "status", "answer":
				return v
			}
			return evil + v + evil
		case []any:
			for i := range v {
				v[i] = walk(v[i], name)
			}
		case map[string]any:
			for k, e := range v {
				e = walk(e, k)
				delete(v, k)
				if names {
					switch k {
					case "type", "root", "children", "props", "items", "schema", "properties", "columns", "rows", "data", "series", "options":
					default:
						k += "\x1b[31m\u009b\u202e"
					}
				}
				v[k] = e
			}
		}
		return v
	}
	out, err := json.Marshal(walk(v, ""))
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// FuzzClean: nothing but text and line ends is left, and what is plain stays.
func FuzzClean(f *testing.F) {
	for _, s := range []string{evil, "plain", "\x1b]8;;x\x1b\\", "\x9b", "\x1b\x1b[[31m", "a\u009d\x1b\\", "宽字符\u0301"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		out := Clean(s)
		if !utf8.ValidString(out) {
			t.Fatalf("%q becomes %q: not UTF-8", s, out)
		}
		for _, r := range out {
			if r != '\n' && r != utf8.RuneError && block.Invisible(r) {
				t.Fatalf("%q becomes %q with %U", s, out, r)
			}
		}
		if Clean(out) != out {
			t.Fatalf("%q is %q, and then %q", s, out, Clean(out))
		}
		if clip(strings.ReplaceAll(out, "\n", " "), 10); Width(clip(strings.ReplaceAll(out, "\n", " "), 10)) > 10 {
			t.Fatalf("%q is not cut to 10 cells", out)
		}
	})
}

// FuzzBlock draws whatever comes as a block: no panic, no control character,
// no line that is too long.
func FuzzBlock(f *testing.F) {
	list := kinds()
	for _, g := range gallery(f) {
		for i, k := range list {
			if k.name != g.Type {
				continue
			}
			for _, c := range g.Cases {
				f.Add(uint8(i), uint8(i%3), []byte(c.Block.Payload), []byte(c.Block.State), c.Block.Fallback)
			}
		}
	}
	f.Add(uint8(0), uint8(1), []byte(`"`+strings.Repeat("> - ", 2000)+`"`), []byte(nil), "")
	f.Add(uint8(14), uint8(1), []byte(`{"root":`+strings.Repeat(`{"type":"row","children":[`, 30)+strings.Repeat(`]}`, 30)+`}`), []byte(nil), "")
	statuses := []block.Status{block.StatusLoading, block.StatusDone, block.StatusError}
	f.Fuzz(func(t *testing.T, n, status uint8, payload, state []byte, fallback string) {
		b := block.Block{
			ID: "b_1", Type: list[int(n)%len(list)].name, Version: 1, Status: statuses[int(status)%len(statuses)], Payload: payload, State: state, Fallback: fallback,
			Actions: []block.Action{{ID: "a", Label: fallback, Kind: block.ActionAPI, InputSchema: payload}, {ID: "submit", Label: "Send", Kind: block.ActionPrompt, Prompt: fallback}},
		}
		for _, opt := range []Options{{Width: 20}, {Width: 80, Color: true, Lang: "zh"}} {
			r := New(opt)
			out := r.Block(b)
			for _, c := range r.Choices(b) {
				out += r.ChoiceLine(":1", c)
			}
			if why := unsafe(out, opt.Width); why != "" {
				t.Fatalf("%s: %s", b.Type, why)
			}
		}
	})
}

func TestWidth(t *testing.T) {
	for s, want := range map[string]int{"": 0, "East": 4, "华东": 4, "ｱ": 1, "Ａ": 2, "e\u0301": 1, "🔔": 2, "日本 go": 7, "한글": 4} {
		if got := Width(s); got != want {
			t.Errorf("%q is %d cells wide, want %d", s, got, want)
		}
	}
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{{"abcdef", 6, "abcdef"}, {"abcdef", 4, "abc…"}, {"华东地区", 5, "华东…"}, {"华东地区", 4, "华…"}, {"abc", 0, ""}} {
		if got := clip(c.in, c.n); got != c.want {
			t.Errorf("%q cut to %d is %q, want %q", c.in, c.n, got, c.want)
		}
	}
	for _, c := range []struct {
		in   string
		n    int
		want string
	}{
		{"one two three", 8, "one two|three"},
		{"华东领先，其次是华南。", 8, "华东领|先，其次|是华南。"},
		{"unbreakablewordhere", 8, "unbreaka|blewordh|ere"},
		{"a\n\nb", 8, "a||b"},
	} {
		var got []string
		for _, l := range wrap([]span{{c.in, Plain}}, c.n) {
			s := ""
			for _, sp := range l {
				s += sp.text
			}
			got = append(got, strings.TrimRight(s, " "))
		}
		if strings.Join(got, "|") != c.want {
			t.Errorf("%q in %d cells is %q, want %q", c.in, c.n, strings.Join(got, "|"), c.want)
		}
	}
}
