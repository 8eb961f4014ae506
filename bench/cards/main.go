//go:build unix

// Command cards measures what it costs to find cards in an answer that streams,
// beside a parser that splits and repairs Markdown for drawing, in turn in the same
// run, and what long and hostile texts cost beside others.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/markup"
)

func main() {
	node := flag.String("node", "", "the peers' Node program; empty: without them")
	script := flag.String("script", "bench/peer/cards.mjs", "the peers")
	rounds := flag.Int("rounds", 3, "rounds of each side")
	flag.Parse()
	err := beside(*node, *script, *rounds)
	if err == nil {
		err = alone()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "cards:", err)
		os.Exit(1)
	}
}

// figure is a line of the table; see bench/load.
type figure struct {
	Item   string  `json:"item"`
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Digits int     `json:"digits"`
	Bar    float64 `json:"bar,omitempty"`
	Note   string  `json:"note"`
}

func print(list ...figure) error {
	out := json.NewEncoder(os.Stdout)
	for _, f := range list {
		f.Item = "cards"
		if err := out.Encode(f); err != nil {
			return err
		}
	}
	return nil
}

// answer is a likely mixture of text, code, lists, tables and cards.
func answer(n int) string {
	const chapter = "## Trip %d\n\nThe early train [(TrainCard:G%d)] is **direct**, 早班直达，适合赶时间。 See `[(TrainCard:x)]` in the [docs](https://a.example/b?c=1).\n\n" +
		"1. First look at the hotel: [(HotelCard:h-%d)]\n2. Then compare:\n\n   ```ProductCard\n   {\"id\": \"p-%d\", \"title\": \"手表\", \"note\": \"for running\"}\n   ```\n\n" +
		"> A quoted remark that goes on for a while, as remarks do, over more than\n> one line, with *emphasis* and a 中文 word.\n\n" +
		"```go\nfunc main() { fmt.Println(\"[(TrainCard:no)]\") }\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n" +
		"<artifact id=\"a%d\" title=\"Setup\">\n  <action type=\"shell\">npm ci</action>\n</artifact>\n\n" +
		"A longer paragraph without anything in it but words, which is what most of an answer is made of; it makes the mixture of the whole a likely one. 大多数回答都是这样的文字，没有卡片，也没有代码。\n\n"
	var b strings.Builder
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, chapter, i, i, i, i, i)
	}
	return b.String()
}

// appendSize is how many characters come at once.
const appendSize = 4

// cut cuts a text into pieces of so many characters; 0 is the whole at once.
func cut(text string, size int) (pieces [][]byte) {
	rest := []byte(text)
	if size == 0 {
		return [][]byte{rest}
	}
	for len(rest) > 0 {
		n := 0
		for range size {
			_, k := utf8.DecodeRune(rest[n:])
			n += k
		}
		pieces, rest = append(pieces, rest[:n]), rest[n:]
	}
	return pieces
}

// scan reads a text and returns how many cards were in it.
func scan(pieces [][]byte) int {
	cards, _ := count(pieces)
	return cards
}

func count(pieces [][]byte) (cards, events int) {
	s := markup.NewScanner(markup.Config{
		Fences: []string{"ProductCard"}, Placeholders: []string{"TrainCard", "HotelCard"}, Holdback: markup.DefaultHoldback,
		Tags: map[string]markup.TagSpec{"artifact": {Children: map[string]markup.TagSpec{"action": {Raw: true}}}},
	}, func(e markup.Event) {
		events++
		if e.Kind == markup.Start {
			cards++
		}
	})
	for _, p := range pieces {
		s.Push(p)
	}
	s.Close(markup.Stop)
	return cards, events
}

// spent is the CPU time of this process.
func spent() (time.Duration, error) {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0, fmt.Errorf("read CPU time: %w", err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano()), nil
}

// ours is the CPU time of one scan in ms.
func ours(pieces [][]byte) (float64, error) {
	before, err := spent()
	if err != nil {
		return 0, err
	}
	for n := 1; ; n++ {
		if scan(pieces) == 0 {
			return 0, errors.New("no cards were found")
		}
		now, err := spent()
		if err != nil {
			return 0, err
		}
		if took := now - before; took > 500*time.Millisecond {
			return took.Seconds() * 1e3 / float64(n), nil
		}
	}
}

// peers is what their script says, in ms.
type peers struct{ Streamdown, PortLast float64 }

func beside(node, script string, rounds int) error {
	text := answer(32 << 10)
	pieces := cut(text, appendSize)
	if _, err := ours(pieces); err != nil { // warm
		return err
	}
	dir, err := os.MkdirTemp("", "inlay-cards-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	file := filepath.Join(dir, "answer.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return err
	}
	var own, streamdown, port []float64
	for range rounds { // in turn, so that all meet the same machine
		took, err := ours(pieces)
		if err != nil {
			return err
		}
		own = append(own, took)
		if node == "" {
			continue
		}
		cmd := exec.Command(node, "--experimental-transform-types", "--no-warnings", script, file)
		cmd.Stderr = os.Stderr
		raw, err := cmd.Output()
		if err != nil {
			return fmt.Errorf("run the peers: %w", err)
		}
		var p peers
		if err := json.Unmarshal(raw, &p); err != nil {
			return fmt.Errorf("read what the peers say: %w", err)
		}
		streamdown, port = append(streamdown, p.Streamdown), append(port, p.PortLast)
	}
	mine := median(own)
	if err := print(figure{What: "CPU to find the cards of 32 KiB in appends of 4 characters", Value: mine, Unit: "ms", Digits: 2}); err != nil || node == "" {
		return err
	}
	return print(
		figure{What: "the same beside streamdown's block split and remend", Value: mine / median(streamdown), Unit: "x", Digits: 5, Bar: 1.0 / 1000, Note: fmt.Sprintf("%.0f ms", median(streamdown))},
		figure{What: "in the browser's port: the last appends, median", Value: median(port), Unit: "ms", Digits: 3, Bar: 4},
	)
}

func median(list []float64) float64 {
	slices.Sort(list)
	return list[len(list)/2]
}

// hostile are texts made to cost much. Those named by what is
// repeated are what a search of random combinations of marks found to cost most.
func hostile(n int) map[string]string {
	times := func(s string) string { return strings.Repeat(s, n/len(s)+1) }
	texts := map[string]string{
		"open placeholders":   times("[(TrainCard:x"),
		"open tags":           times("<artifact a"),
		"open attributes":     times("<artifact a=\"" + strings.Repeat("x", 4000)),
		"brackets":            times("["),
		"less-thans":          times("<"),
		"ticks and cards":     times("` [(TrainCard:G1)] `` "),
		"quoted lines":        times(strings.Repeat("> ", 40) + "x\n"),
		"list lines":          times(strings.Repeat("- ", 30) + "x\n\n"),
		"fence openers":       times("```ProductCard\n"),
		"almost closers":      "````ProductCard\n" + times("```\n"),
		"closings":            "<artifact>" + times("</artifac "),
		"children":            times("<artifact>" + strings.Repeat("<action></action>", 1000) + "</artifact>"),
		"html":                times("<a b=\"c\" "),
		"html comment":        "a <!--" + times(" <-"),
		"html blocks":         times("<div>\n<pre>\n-->\n"),
		"almost html blocks":  times("</textarea]:~\n\n"),
		"verbatim blocks":     "<div>\n" + times("<script<a \n</pre>\n"),
		"link targets":        times("](a\"("),
		"definitions":         times("[a]: /b\n"),
		"newlines":            times("\n"),
		"invalid bytes":       times("\xff"),
		"whole placeholders":  times("[(TrainCard:G1)]"),
		"whole tags":          times("<artifact/>"),
		"tags with attribute": times("<artifact a/>"),
	}
	for _, unit := range []string{
		"\n\n><a\n`", "\n`\n\n<a\n\n* <a ", "\n\n`\xff\n\n<!\n- `\xff\n<!", "`\n\n<!\n", "`\n`\n",
		"\n<", "\n<a", "<a\n<\n", "- <\n", "> <a\n",
	} {
		texts[strconv.Quote(unit)] = times(unit)
	}
	return texts
}

// compared is the CPU time for a byte of one text, and of another, in ns, and how
// many times the one is the other.
type compared struct{ one, other, ratio float64 }

// perByte compares two texts: medians of many short rounds in turn, so that both
// sides of a round meet the same machine.
func perByte(one, other [][]byte, rounds int) (compared, error) {
	var all [3][]float64
	for range rounds {
		var took [2]float64
		for i, pieces := range [2][][]byte{one, other} {
			size := 0
			for _, p := range pieces {
				size += len(p)
			}
			times := max(1, (64<<10)/size)
			before, err := spent()
			if err != nil {
				return compared{}, err
			}
			for range times {
				count(pieces)
			}
			now, err := spent()
			if err != nil {
				return compared{}, err
			}
			took[i] = float64(now-before) / float64(times*size)
		}
		all[0], all[1] = append(all[0], took[0]), append(all[1], took[1])
		all[2] = append(all[2], took[0]/took[1])
	}
	return compared{median(all[0]), median(all[1]), median(all[2])}, nil
}

// alone compares texts with each other.
func alone() error {
	sizes, err := perByte(cut(answer(1<<20), appendSize), cut(answer(8<<10), appendSize), 9)
	if err != nil {
		return err
	}
	list := []figure{{What: "time for a byte at 1 MiB beside 8 KiB", Value: sizes.ratio, Unit: "x", Digits: 2, Bar: 1.3, Note: fmt.Sprintf("%.0f and %.0f ns", sizes.one, sizes.other)}}
	text := strings.Repeat("A longer paragraph without anything in it but words, 大多数回答都是这样的文字。\n\n", 340)
	texts := hostile(32 << 10)
	for _, how := range []struct {
		size int
		name string
	}{{appendSize, "in appends of 4 characters"}, {1, "in appends of 1 character"}, {0, "all at once"}} {
		prose := cut(text, how.size)
		worst, most, plain := "", compared{}, []float64(nil)
		for _, name := range slices.Sorted(maps.Keys(texts)) {
			c, err := perByte(cut(texts[name], how.size), prose, 25)
			if err != nil {
				return err
			}
			if plain = append(plain, c.other); c.ratio > most.ratio {
				worst, most = name, c
			}
		}
		list = append(list,
			figure{What: "time for a byte of prose, " + how.name, Value: median(plain), Unit: "ns", Digits: 1},
			figure{What: "the worst hostile text beside it", Value: most.ratio, Unit: "x", Digits: 1, Bar: 5, Note: fmt.Sprintf("%s: %.0f and %.1f ns", worst, most.one, most.other)},
		)
	}
	pieces, events := cut(answer(32<<10), appendSize), 0
	allocated := testing.AllocsPerRun(20, func() { _, events = count(pieces) })
	return print(append(list, figure{What: "allocations for an event", Value: allocated / float64(events), Digits: 2, Bar: 1})...)
}
