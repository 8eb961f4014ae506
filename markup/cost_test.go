package markup

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"unicode/utf8"
	"unsafe"
)

// answer returns a text of about n bytes as models write them: prose, lists,
// code, tables and all kinds of cards.
func answer(n int) string {
	const chapter = "## Trip %d\n\nThe early train [(TrainCard:G%d)] is **direct**, 早班直达，适合赶时间。 See `[(TrainCard:x)]` in the [docs](https://a.example/b?c=1).\n\n" +
		"1. First look at the hotel: [(HotelCard:h-%d)]\n2. Then compare:\n\n   ```ProductCard@1.2 title=\"Pick %d\"\n   {\"id\": \"p-%d\", \"title\": \"手表\", \"tags\": [\"a\", \"b\"],\n    \"note\": \"for running\"}\n   ```\n\n" +
		"> A quoted remark that goes on for a while, as remarks do, over more than\n> one line, with *emphasis* and a 中文 word.\n\n" +
		"```go\nfunc main() { fmt.Println(\"[(TrainCard:no)]\") }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
		"<artifact id=\"a%d\" title=\"Setup\">\n  <action type=\"shell\">npm ci</action>\n</artifact>\n\n" +
		"A longer paragraph without anything in it but words, which is what most of an answer is made of; it is here to make the mixture of the whole a likely one. 大多数回答都是这样的文字，没有卡片，也没有代码。\n\n"
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, chapter, i, i, i, i, i, i)
	}
	return b.String()[:fitting([]byte(b.String()), n)]
}

// prose returns text without marks.
func prose(n int) string {
	const paragraph = "A longer paragraph without anything in it but words, 大多数回答都是这样的文字。\n\n"
	return strings.Repeat(paragraph, n/len(paragraph)+1)
}

// hostileInputs are texts made to cost much.
func hostileInputs(n int) map[string]string {
	times := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	return map[string]string{
		"open placeholders":    times("[(TrainCard:x"),
		"open names":           times("[(TrainCar"),
		"open tags":            times("<artifact a"),
		"open attributes":      times("<artifact a=\"" + strings.Repeat("x", 4000)),
		"brackets":             times("["),
		"less-thans":           times("<"),
		"ticks":                times("` `` ``` "),
		"ticks and cards":      times("` [(TrainCard:G1)] `` "),
		"backslashes":          times("\\"),
		"quotes":               times("> "),
		"quoted lines":         times(strings.Repeat("> ", 40) + "x\n"),
		"lists":                times("- "),
		"list lines":           times(strings.Repeat("- ", 30) + "x\n\n"),
		"digits":               times("123456789. "),
		"fence openers":        times("```ProductCard\n"),
		"open fences":          "```ProductCard\n" + times("{\"a\":\"b\"}\n"),
		"almost closers":       "````ProductCard\n" + times("```\n"),
		"long closers":         "```js\n" + times(strings.Repeat("`", 120)+"x\n"),
		"info strings":         times("```ProductCard " + strings.Repeat("a=b ", 300) + "\n"),
		"runs":                 times("`"),
		"rules":                times("-"),
		"blanks":               times(" "),
		"newlines":             times("\n"),
		"tabs":                 times("\t"),
		"open bodies":          "<artifact>" + times("<action"),
		"closings":             "<artifact>" + times("</artifac "),
		"spaced closings":      "<artifact>" + times("</artifact"+strings.Repeat(" ", 3000)+"x"),
		"children":             times("<artifact>" + strings.Repeat("<action></action>", 1000) + "</artifact>"),
		"nested":               times("<artifact><step><action>" + strings.Repeat("x", 1000) + "</action></step></artifact>"),
		"html":                 times("<a b=\"c\" "),
		"html blocks":          times("<div>\n<pre>\n-->\n"),
		"almost html blocks":   times("</textarea]:~\n\n"),
		"verbatim blocks":      "<div>\n" + times("<script<a \n</pre>\n"),
		"short lines":          times("<a\n<\n"),
		"short paragraphs":     times("\n`\n\n<a\n\n* <a "),
		"short quotes":         times("\n\n><a\n`"),
		"whole tags":           times("<artifact a/>"),
		"link targets":         times("](a\"("),
		"definitions":          times("[a]: /b\n"),
		"invalid bytes":        times("\xff"),
		"cut characters":       times("\xe4\xb8"),
		"nul":                  times("\x00"),
		"prefixed":             times("<artifac"),
		"quoted bodies":        times("> ```ProductCard\n" + strings.Repeat("> x\n", 500) + "> ```\n"),
		"tabbed bodies":        times("> ```ProductCard\n" + strings.Repeat(">\t\tx\n", 500) + "> ```\n"),
		"html comment":         "a <!--" + times(" <-"),
		"attributes of a page": "a <b c=\"" + times("<[(TrainCard:G1)]"),
	}
}

// scanIn scans a text in pieces of so many characters, which may be cut; 0 is
// the whole at once.
func scanIn(cfg Config, text string, size int, sink func(Event)) *Scanner {
	s := NewScanner(cfg, sink)
	b := []byte(text)
	for len(b) > 0 && size > 0 {
		n := 0
		for range size {
			_, k := utf8.DecodeRune(b[n:])
			n += k
		}
		s.Push(b[:n])
		b = b[n:]
	}
	if len(b) > 0 {
		s.Push(b)
	}
	return s
}

// Every byte is looked at a fixed number of times, whatever the text. The
// bytes looked at are counted, so the test does not depend on the machine.
func TestWorkIsLinear(t *testing.T) {
	const n = 32 << 10
	inputs := hostileInputs(n)
	inputs["answer"] = answer(n)
	inputs["prose"] = prose(n)
	for _, cfg := range configs() {
		for name, text := range inputs {
			s := scanIn(cfg, text, 1, func(Event) {})
			s.Close(Stop)
			// Invalid bytes become three each.
			if most := 6*len(repaired(text)) + 1000; s.looked > most {
				t.Errorf("%s: %d bytes looked at for %d", name, s.looked, len(text))
			}
		}
	}
}

// What the scanner keeps is bounded by what is open.
func TestRetainedIsBounded(t *testing.T) {
	const n = 48 << 10
	inputs := hostileInputs(n)
	inputs["answer"] = answer(n)
	for _, cfg := range []Config{allOn(), configs()[2], configs()[3]} {
		for name, text := range inputs {
			for _, size := range []int{1, 4, 0} {
				s := scanIn(cfg, text, size, func(Event) {})
				open := len(s.src) + len(s.hold) + len(s.tag.text)
				if got := s.retained(); got > open+open/16+8<<10 {
					t.Errorf("%s in pieces of %d: %d bytes kept, %d open", name, size, got, open)
				}
			}
		}
	}
}

// retained is how many bytes the scanner's buffers have.
func (s *Scanner) retained() int {
	n := cap(s.line) + cap(s.hold) + cap(s.src) + cap(s.tag.text) + cap(s.fence.closer.held)
	n += cap(s.repair.joined) + cap(s.repair.out) + s.out.arena.Cap() + cap(s.inline.span.back)
	n += cap(s.conts)*int(unsafe.Sizeof(container{})) + cap(s.opened)*int(unsafe.Sizeof(container{}))
	n += cap(s.inline.span.items) * int(unsafe.Sizeof(spanItem{}))
	n += cap(s.tag.attrs) * int(unsafe.Sizeof(tagAttr{}))
	n += cap(s.frames) * int(unsafe.Sizeof(frame{}))
	for _, f := range s.frames[:cap(s.frames)] {
		n += cap(f.inner) * int(unsafe.Sizeof(innerTag{}))
	}
	return n
}

// allocations returns how many allocations there are for each event of a text,
// and how many events. Buffers that any text needs once are not counted: it is
// what a text twice as long costs more.
func allocations(cfg Config, text string, size int) (each float64, events int) {
	count := func(text string) (float64, int) {
		events := 0
		scanIn(cfg, text, size, func(Event) { events++ }).Close(Stop)
		return testing.AllocsPerRun(3, func() { scanIn(cfg, text, size, func(Event) {}).Close(Stop) }), events
	}
	total, events := count(text)
	twice, more := count(text + "\n\n" + text)
	return (twice - total) / float64(more-events), events
}

func TestAtMostOneAllocationForEachEvent(t *testing.T) {
	for name, text := range map[string]string{
		"answer":       answer(32 << 10),
		"prose":        prose(32 << 10),
		"placeholders": strings.Repeat("[(TrainCard:G1)] ", 500),
		"fences":       strings.Repeat("```ProductCard\n{\"id\":\"c1\"}\n```\n", 500),
		"tags":         strings.Repeat("<artifact id=\"a\" title=\"b\"><action type=\"shell\">npm ci</action></artifact>\n", 500),
		"held back":    strings.Repeat("a ` b [(TrainCard:G1)]\n\n", 500),
	} {
		for _, size := range []int{1, 4, 64, 0} {
			cfg := allOn()
			cfg.Holdback = 256
			if each, events := allocations(cfg, text, size); each > 1 {
				t.Errorf("%s in pieces of %d: %.2f allocations for each of %d events", name, size, each, events)
			} else {
				t.Logf("%s in pieces of %d: %.3f allocations for each of %d events", name, size, each, events)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, c := range append(readCases(f, "testdata/markdown-cards.jsonl"), readCases(f, "testdata/more-cards.jsonl")...) {
		f.Add(c.input(f), uint64(len(c.Name)))
	}
	r := rand.New(rand.NewPCG(2, 3))
	for i := range 20 {
		f.Add(hostile(r), uint64(i))
		f.Add(structured(r), uint64(i))
	}
	f.Fuzz(func(t *testing.T, doc string, seed uint64) {
		r := rand.New(rand.NewPCG(seed, 1))
		cfgs := configs()
		cfg := cfgs[r.IntN(len(cfgs))]
		reason := Reason(r.IntN(3))
		checkLaws(t, cfg, reason, doc, randomCuts(r, len(doc)))
		checkLaws(t, cfg, reason, doc, everyByte(doc))
	})
}
