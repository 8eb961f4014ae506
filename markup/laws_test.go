package markup

import (
	"fmt"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/text"
)

// allOn is a configuration with every syntax.
func allOn() Config {
	return Config{
		Fences:       []string{"ProductCard", "FlightCard", "Product"},
		Placeholders: []string{"TrainCard", "HotelCard", "Train"},
		Tags: map[string]TagSpec{
			"artifact": {Children: map[string]TagSpec{"action": {Raw: true}, "step": {Children: map[string]TagSpec{"action": {Raw: true}}}}},
			"note":     {Raw: true},
		},
	}
}

// configs are configurations under which the laws are tried.
func configs() []Config {
	small := allOn()
	small.MaxBody, small.MaxInfo, small.MaxTag, small.MaxID = 24, 20, 30, 6
	held := allOn()
	held.Holdback = 40
	lenient := allOn()
	lenient.Lenient = Lenient{CloseInline: true, OpenInline: true, FenceAsObjectArray: true}
	lenient.Holdback = 256
	small.Holdback = 32
	smallLenient := small
	smallLenient.Lenient = lenient.Lenient
	noTags := allOn()
	noTags.Tags = nil
	return []Config{allOn(), small, held, lenient, smallLenient, noTags, {}}
}

// fragments are what hostile documents are made of: all that means something to
// CommonMark or to the scanner, whole and cut.
var fragments = []string{
	"\n", "\n", "\n\n", "\r\n", "\r", " ", "  ", "    ", "\t", "> ", ">", "- ", "* ", "+ ", "1. ", "2) ", "10. ", "-", "---\n", "===\n", "***\n", "- - -\n",
	"# ", "####### ", "`", "``", "```", "````", "~~~", "~~~~", "```ProductCard\n", "~~~FlightCard\n", "````ProductCard@1.2 a=b\n", "```Product", "```\n", "~~~\n", "```js\n",
	"{\"id\":\"c1\"}\n", "{\"a\":[1,{}]}", "{", "}", "[(TrainCard:G1)]", "[(HotelCard:上海)]", "[(Train", "[(TrainCard:", ")]", "[", "]", "(", ")", "](", "]:", "[a]: /x\n", "](/x", " \"t", "'",
	"\\", "\\\\", "<artifact id=\"a\">", "</artifact>", "<action>", "</action>", "<step a='1'>", "</step>", "<note>", "</note>", "<artifact", "<b title=\"", "\">", "<http://a/", "<a", ">", "<!--", "-->", "<div>\n", "</div>", "<pre>", "</pre>", "<?", "?>", "<x>\n", "<a@b.c>",
	"abc", "x", "好", "😀", "&lt;", "=", "\"", "\x00", "\xff", "\xe4\xb8", "*", "_", "~", strings.Repeat("-", 130), strings.Repeat(" ", 130), strings.Repeat("`", 130),
}

// hostile makes a document of fragments.
func hostile(r *rand.Rand) string {
	var b strings.Builder
	for range 1 + r.IntN(40) {
		b.WriteString(fragments[r.IntN(len(fragments))])
	}
	return b.String()
}

// structured makes a document that is more like what people write: containers,
// nested, around paragraphs, fences and lists, sometimes with a line amiss.
func structured(r *rand.Rand) string {
	var b strings.Builder
	n := 0
	card := func() string {
		n++
		return fmt.Sprintf("[(TrainCard:G%d)]", n)
	}
	inline := func() string {
		var parts []string
		for range 1 + r.IntN(4) {
			switch r.IntN(16) {
			case 0:
				parts = append(parts, "`"+card()+"`")
			case 1:
				parts = append(parts, "`` "+card()+" ` ``")
			case 2:
				parts = append(parts, "`")
			case 3:
				parts = append(parts, "\\`", card())
			case 4:
				parts = append(parts, "<b title=\"`\">")
			case 5:
				parts = append(parts, "[x](/y`)")
			case 6:
				parts = append(parts, "<http://x.y/`>")
			case 7:
				parts = append(parts, "\\"+card())
			case 8:
				parts = append(parts, "**bold**")
			case 9:
				parts = append(parts, "[l](/a \"t"+card()+"\")")
			default:
				parts = append(parts, card())
			}
		}
		return strings.Join(parts, " ")
	}
	var blocks func(prefix string, depth int)
	line := func(prefix, text string) {
		if r.IntN(12) == 0 {
			// A line that lost part of its prefix.
			prefix = prefix[:r.IntN(len(prefix)+1)]
		}
		b.WriteString(prefix + text)
		b.WriteString([]string{"\n", "\n", "\n", "\r\n"}[r.IntN(4)])
	}
	blocks = func(prefix string, depth int) {
		for range 1 + r.IntN(3) {
			switch k := r.IntN(14); {
			case k < 3:
				for range 1 + r.IntN(3) {
					line(prefix, strings.Repeat(" ", r.IntN(5))+inline())
				}
			case k == 3:
				line(prefix, "# "+inline())
			case k == 4:
				mark := strings.Repeat([]string{"`", "~"}[r.IntN(2)], 3+r.IntN(3))
				line(prefix, strings.Repeat(" ", r.IntN(4))+mark+[]string{"", "js", "ProductCard", " Product", "ProductCard@1 a=b"}[r.IntN(5)])
				for range r.IntN(3) {
					line(prefix, []string{card(), "{}", "", "```", "~~~~", "    x"}[r.IntN(6)])
				}
				if r.IntN(4) > 0 {
					line(prefix, mark)
				}
			case k == 5:
				line(prefix, "    "+inline())
			case k == 6:
				line(prefix, []string{"---", "* * *", "===", "- - -", "___"}[r.IntN(5)])
			case k == 7:
				line(prefix, []string{"<div>", "<x>", "<!-- a", "-->", "<pre>", "</pre>", "[a]: /b `", "[a]: /b"}[r.IntN(8)])
			case k < 10 && depth > 0:
				blocks(prefix+[]string{"> ", ">", "> > "}[r.IntN(3)], depth-1)
			case k < 13 && depth > 0:
				marker := []string{"- ", "* ", "1. ", "2) ", "-   ", "10. ", "-\t", "+     "}[r.IntN(8)]
				line(prefix, marker+[]string{inline(), "", "```ProductCard", "- " + inline()}[r.IntN(4)])
				blocks(prefix+strings.Repeat(" ", len(marker)), depth-1)
			}
			if r.IntN(2) == 0 {
				line(prefix, "")
			}
		}
	}
	blocks("", 3)
	return b.String()
}

func TestLawsOnRandomDocuments(t *testing.T) {
	rounds := 1500
	if testing.Short() {
		rounds = 200
	}
	r := rand.New(rand.NewPCG(7, 7))
	for range rounds {
		for _, doc := range []string{hostile(r), structured(r)} {
			cfg := configs()[r.IntN(7)]
			reason := Reason(r.IntN(3))
			checkLaws(t, cfg, reason, doc, everyByte(doc))
			checkLaws(t, cfg, reason, doc, randomCuts(r, len(doc)))
		}
	}
}

// found is where in a document something was recognised.
type found struct {
	at, end int
	syntax  Syntax
}

// recognised returns what was recognised at top level, and where.
func recognised(events []Event) []found {
	var out []found
	at := 0
	syntax := map[int]Syntax{}
	for _, e := range events {
		switch {
		case e.Kind == Start:
			syntax[e.ID] = e.Syntax
		case e.Kind == Text:
			at += len(e.Text)
		case e.Parent != 0:
		case e.Kind == End:
			out = append(out, found{at, at + len(e.Source), syntax[e.ID]})
			at += len(e.Source)
		case e.Kind == Fallback:
			out = append(out, found{at, at + len(e.Text), syntax[e.ID]})
			at += len(e.Text)
		}
	}
	return out
}

// commonMark says, byte by byte, what a document is to a whole parser: 't' for
// text, 'f' for the info string of a fence, 0 for everything else.
func commonMark(doc string) []byte {
	kinds := make([]byte, len(doc))
	mark := func(seg text.Segment, kind byte) {
		for i := seg.Start; i < seg.Stop && i < len(kinds); i++ {
			kinds[i] = kind
		}
	}
	source := []byte(doc)
	root := goldmark.DefaultParser().Parse(text.NewReader(source))
	_ = ast.Walk(root, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if !entering {
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.CodeSpan:
			return ast.WalkSkipChildren, nil
		case *ast.Text:
			mark(n.Segment, 't')
		case *ast.FencedCodeBlock:
			if n.Info != nil {
				mark(n.Info.Segment, 'f')
			}
		}
		return ast.WalkContinue, nil
	})
	return kinds
}

// beyondOracle is what the parser that the scanner is held against reads
// otherwise than CommonMark: empty list items, tabs behind markers, and what
// follows a </pre> that nothing opened.
var beyondOracle = regexp.MustCompile(`(?m)(^|[>\s])([-+*]|[0-9]+[.)])[ \r]*$|\t|</pre>`)

// falseCards returns what was recognised that a whole parser does not take for
// text, or for a fence.
func falseCards(cfg Config, doc string) []string {
	var out []string
	kinds := commonMark(doc)
	for _, f := range recognised(run(cfg, Stop, doc)) {
		source := doc[f.at:f.end]
		switch f.syntax {
		case Placeholder:
			// The brackets themselves may make the text of a link or reference.
			for i := f.at + 1; i < f.end-1; i++ {
				if kinds[i] != 't' {
					out = append(out, source)
					break
				}
			}
		case Fence:
			first, _, _ := strings.Cut(source, "\n")
			name := strings.Index(first, "Product")
			if n := strings.Index(first, "Flight"); name < 0 {
				name = n
			}
			if kinds[f.at+name] != 'f' {
				out = append(out, source)
			}
		}
	}
	return out
}

func TestNoFalseCards(t *testing.T) {
	rounds := 3000
	if testing.Short() {
		rounds = 300
	}
	r := rand.New(rand.NewPCG(11, 5))
	docs, found := 0, 0
	for _, holdback := range []int{0, 256} {
		cfg := allOn()
		cfg.Tags, cfg.Holdback = nil, holdback
		for range rounds {
			for _, doc := range []string{structured(r), strings.ReplaceAll(repaired(hostile(r)), "\r", "")} {
				if beyondOracle.MatchString(doc) {
					continue
				}
				docs++
				found += len(recognised(run(cfg, Stop, doc)))
				if wrong := falseCards(cfg, doc); len(wrong) > 0 {
					t.Fatalf("%q\n  recognised but no text: %q", doc, wrong)
				}
			}
		}
	}
	if t.Logf("%d cards in %d documents", found, docs); found < docs {
		t.Error("hardly a card was found")
	}
}
