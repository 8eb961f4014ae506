package terminal

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
)

var update = flag.Bool("update", false, "write the golden drawings anew")

type galleryCase struct {
	Name  string      `json:"name"`
	Block block.Block `json:"block"`
}

type galleryFile struct {
	Type  string        `json:"type"`
	Cases []galleryCase `json:"cases"`
}

// gallery reads the blocks that every renderer is held to.
func gallery(t testing.TB) []galleryFile {
	t.Helper()
	var paths []string
	for _, dir := range []string{"../../testdata/gallery/*.json", "../../testdata/gallery/cards/*.json"} {
		found, err := filepath.Glob(dir)
		if err != nil || len(found) == 0 {
			t.Fatalf("no gallery in %s: %v", dir, err)
		}
		paths = append(paths, found...)
	}
	files := make([]galleryFile, len(paths))
	for i, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(raw, &files[i]); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	return files
}

// TestGallery draws every block of the gallery on a wide terminal and on a
// narrow one and compares with what was drawn before.
func TestGallery(t *testing.T) {
	for _, width := range []int{80, 40} {
		r := New(Options{Width: width, Address: func(id string) string { return "http://127.0.0.1:8080/v1/assets/" + id + "/content" }})
		var b bytes.Buffer
		seen := make(map[string]bool)
		for _, f := range gallery(t) {
			seen[f.Type] = true
			for _, c := range f.Cases {
				out := r.Block(c.Block)
				if strings.TrimSpace(out) == "" && len(c.Block.Payload) > len(`""`) {
					t.Errorf("%s/%s is drawn as nothing", f.Type, c.Name)
				}
				if why := unsafe(out, width); why != "" {
					t.Errorf("%s/%s: %s", f.Type, c.Name, why)
				}
				fmt.Fprintf(&b, "=== %s/%s\n%s", f.Type, c.Name, out)
				for i, ch := range r.Choices(c.Block) {
					b.WriteString(r.ChoiceLine(fmt.Sprintf(":%d", i+1), ch))
				}
			}
		}
		for _, typ := range append(block.Builtins(), block.Presets()...) {
			if !seen[typ.Name] {
				t.Errorf("%s is not drawn", typ.Name)
			}
		}
		golden(t, fmt.Sprintf("testdata/gallery-%d.golden", width), b.Bytes())
	}
}

// TestColours draws the same with colours: without them it is the same text.
func TestColours(t *testing.T) {
	plain, coloured := New(Options{Width: 60}), New(Options{Width: 60, Color: true})
	any := false
	for _, f := range gallery(t) {
		for _, c := range f.Cases {
			want, got := plain.Block(c.Block), coloured.Block(c.Block)
			bare := styles.ReplaceAllString(got, "")
			any = any || bare != got
			if trimmed(bare) != trimmed(want) {
				t.Errorf("%s/%s: with colours it is\n%s\nwithout\n%s", f.Type, c.Name, bare, want)
			}
			if strings.ContainsRune(want, 0x1b) {
				t.Errorf("%s/%s: an escape sequence without colours", f.Type, c.Name)
			}
		}
	}
	if !any {
		t.Error("nothing has a colour")
	}
}

func trimmed(s string) string { return regexp.MustCompile(` +\n`).ReplaceAllString(s, "\n") }

// TestChinese draws every block in Chinese, within the width.
func TestChinese(t *testing.T) {
	r := New(Options{Width: 30, Lang: "zh", Color: true})
	for _, f := range gallery(t) {
		for _, c := range f.Cases {
			if why := unsafe(r.Block(c.Block), 30); why != "" {
				t.Errorf("%s/%s: %s", f.Type, c.Name, why)
			}
		}
	}
	failed := r.Block(block.Block{Type: "chart", Version: 1, Status: block.StatusError, Err: &block.Error{Code: "TOOL_TIMEOUT"}})
	if !strings.Contains(failed, "获取数据超时") {
		t.Errorf("a failure is worded %q", failed)
	}
}

// TestEveryTypeIsDeclared: what is declared is what is drawn, and of the
// built-in types and the presets only the one that needs a browser's library is
// left out.
func TestEveryTypeIsDeclared(t *testing.T) {
	tokens := strings.Join(Declaration(), ",")
	if _, rejected := block.ParseTokens(tokens, false); len(rejected) > 0 {
		t.Errorf("rejected: %v", rejected)
	}
	for _, typ := range append(block.Builtins(), block.Presets()...) {
		name := typ.Name
		if !strings.Contains(name, ".") {
			name = "inlay." + name
		}
		if got := strings.Contains(","+tokens+",", ","+name+"@1,"); got == (typ.Name == "echarts_raw") {
			t.Errorf("%s: declared %v", typ.Name, got)
		}
	}
}

// TestPresetCards: the figures of a preset are drawn in the reader's language, and
// what can be done with it, or with one of its products, has a number.
func TestPresetCards(t *testing.T) {
	for _, c := range []struct {
		lang, file, name string
		want             []string
	}{
		{"en", "app.product_card", "product", []string{"699 CNY (before 799.5 CNY)", "[120 in stock]", "https://shop.example.com/p/12345", ":1 Add to basket", ":2 Similar ones"}},
		{"zh", "app.product_card", "zh", []string{"[仅剩 3 件]", "限时优惠", ":1 加入购物车"}},
		{"en", "app.product_list", "actions", []string{"2 of 9", ":1 Add to basket — Sample watch Run", ":2 Add to basket — Sample watch Trail"}},
		{"en", "app.train_card", "train", []string{"G1234 Hangzhou East → Shanghai Hongqiao  [On time]", "10:00 – 11:05", "1 h 5 min", "117 CNY · 6 left", "219.5 CNY · Sold out", ":1 Book a seat — G1234 Hangzhou East"}},
		{"zh", "app.train_card", "zh", []string{"[晚点]", "1 小时 5 分钟", "商务座"}},
		{"en", "app.flight_card", "flight", []string{"XX123 ", ":1 Book"}},
		{"en", "app.hotel_card", "hotel", []string{"Sample Inn", "Check-in", ":1 Book a room"}},
	} {
		r := New(Options{Width: 100, Lang: c.lang})
		out := ""
		for _, f := range gallery(t) {
			for _, one := range f.Cases {
				if f.Type != c.file || one.Name != c.name {
					continue
				}
				out = r.Block(one.Block)
				for i, ch := range r.Choices(one.Block) {
					out += r.ChoiceLine(fmt.Sprintf(":%d", i+1), ch)
				}
			}
		}
		for _, w := range c.want {
			if !strings.Contains(out, w) {
				t.Errorf("%s/%s lacks %q:\n%s", c.file, c.name, w, out)
			}
		}
	}
}

func golden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(got, want) {
		return
	}
	g, w := strings.Split(string(got), "\n"), strings.Split(string(want), "\n")
	for i := range g {
		if i >= len(w) || g[i] != w[i] {
			at := ""
			if i < len(w) {
				at = w[i]
			}
			t.Fatalf("%s:%d: %q, was %q; -update writes it anew", path, i+1, g[i], at)
		}
	}
	t.Fatalf("%s: shorter than before", path)
}

// styles are the only sequences that are ever written.
var styles = regexp.MustCompile("\x1b\\[[0-9]+(;[0-9]+)*m")

// unsafe says what of an output must not reach a terminal of that width.
func unsafe(out string, width int) string {
	bare := styles.ReplaceAllString(out, "")
	if !utf8.ValidString(bare) {
		return "not UTF-8"
	}
	for _, r := range bare {
		if r != '\n' && r != utf8.RuneError && block.Invisible(r) {
			return fmt.Sprintf("the character %U", r)
		}
	}
	for _, l := range strings.Split(bare, "\n") {
		if n := Width(l); n > width {
			return fmt.Sprintf("%d cells in a line of %d: %q", n, width, l)
		}
	}
	if out != "" && !strings.HasSuffix(out, "\n") {
		return "the last line does not end"
	}
	return ""
}
