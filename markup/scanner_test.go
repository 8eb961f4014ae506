package markup

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"
)

// caseConfig is a configuration as the case files spell it.
type caseConfig struct {
	Cards        []string                                                   `json:"cards"`
	Placeholders []string                                                   `json:"placeholders"`
	Tags         map[string]caseTag                                         `json:"tags"`
	MaxBody      int                                                        `json:"maxBody"`
	MaxInfo      int                                                        `json:"maxInfo"`
	MaxTag       int                                                        `json:"maxTag"`
	MaxID        int                                                        `json:"maxId"`
	Holdback     int                                                        `json:"holdback"`
	Lenient      struct{ CloseInline, OpenInline, FenceAsObjectArray bool } `json:"lenient"`
	Reason       string                                                     `json:"reason"`
}

type caseTag struct {
	Children map[string]caseTag `json:"children"`
	Raw      bool               `json:"raw"`
}

func (t caseTag) spec() TagSpec { return TagSpec{Children: specs(t.Children), Raw: t.Raw} }

func specs(tags map[string]caseTag) map[string]TagSpec {
	if tags == nil {
		return nil
	}
	out := make(map[string]TagSpec)
	for name, t := range tags {
		out[name] = t.spec()
	}
	return out
}

func (c caseConfig) config() Config {
	return Config{
		Fences: c.Cards, Placeholders: c.Placeholders, Tags: specs(c.Tags),
		MaxBody: c.MaxBody, MaxInfo: c.MaxInfo, MaxTag: c.MaxTag, MaxID: c.MaxID, Holdback: c.Holdback,
		Lenient: Lenient{c.Lenient.CloseInline, c.Lenient.OpenInline, c.Lenient.FenceAsObjectArray},
	}
}

func (c caseConfig) reason() Reason {
	switch c.Reason {
	case "length":
		return Length
	case "abort":
		return Abort
	}
	return Stop
}

// caseEvent is an event as the case files spell it.
type caseEvent struct {
	E        string            `json:"e"`
	ID       int               `json:"id,omitempty"`
	Parent   int               `json:"parent,omitempty"`
	Syntax   Syntax            `json:"syntax,omitempty"`
	Type     string            `json:"type,omitempty"`
	Meta     map[string]string `json:"meta,omitempty"`
	Text     string            `json:"text,omitempty"`
	Payload  any               `json:"payload,omitempty"`
	Unclosed bool              `json:"unclosed,omitempty"`
	Reason   string            `json:"reason,omitempty"`
}

func spell(t testing.TB, events []Event) []caseEvent {
	out := []caseEvent{}
	for _, e := range events {
		c := caseEvent{
			E: e.Kind.String(), ID: e.ID, Syntax: e.Syntax, Type: e.Type, Meta: e.Meta,
			Text: e.Text, Unclosed: e.Unclosed, Reason: e.Reason,
		}
		if e.Kind == Start {
			c.Parent = e.Parent
		}
		if e.Payload != nil {
			if err := json.Unmarshal(e.Payload, &c.Payload); err != nil {
				t.Fatalf("payload %q: %v", e.Payload, err)
			}
		}
		out = append(out, c)
	}
	return out
}

type markupCase struct {
	Name     string      `json:"name"`
	Input    *string     `json:"input"`
	InputHex string      `json:"input_hex"`
	Config   caseConfig  `json:"config"`
	Expected []caseEvent `json:"expected"`
}

func (c markupCase) input(t testing.TB) string {
	if c.Input != nil {
		return *c.Input
	}
	b, err := hex.DecodeString(c.InputHex)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func readCases(t testing.TB, file string) []markupCase {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var out []markupCase
	lines := bufio.NewScanner(f)
	for lines.Scan() {
		var c markupCase
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			t.Fatalf("%s: row %d: %v", file, len(out)+1, err)
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return out
}

// run scans an input cut at the given offsets and joins the events.
func run(cfg Config, reason Reason, input string, cuts ...int) []Event {
	return join(runApart(cfg, reason, input, cuts...))
}

func runApart(cfg Config, reason Reason, input string, cuts ...int) []Event {
	var events []Event
	s := NewScanner(cfg, func(e Event) { events = append(events, e) })
	at := 0
	for _, cut := range cuts {
		s.Push([]byte(input[at:cut]))
		at = cut
	}
	s.Push([]byte(input[at:]))
	s.Close(reason)
	return events
}

// join joins neighbouring texts, and neighbouring deltas of one block.
func join(events []Event) []Event {
	var out []Event
	for _, e := range events {
		if n := len(out); n > 0 && (e.Kind == Text || e.Kind == Delta) && out[n-1].Kind == e.Kind && out[n-1].ID == e.ID {
			out[n-1].Text += e.Text
			continue
		}
		out = append(out, e)
	}
	return out
}

// everyByte returns the cuts between all bytes.
func everyByte(input string) []int {
	var cuts []int
	for i := 1; i < len(input); i++ {
		cuts = append(cuts, i)
	}
	return cuts
}

func randomCuts(r *rand.Rand, n int) []int {
	var cuts []int
	for at := 0; ; {
		at += r.IntN(9)
		if at >= n {
			return cuts
		}
		cuts = append(cuts, at)
	}
}

// sourceOf puts an input together again from what was found in it.
func sourceOf(events []Event) string {
	var b strings.Builder
	for _, e := range events {
		switch {
		case e.Kind == Text, e.Kind == Fallback && e.Parent == 0:
			b.WriteString(e.Text)
		case e.Kind == End && e.Parent == 0:
			b.WriteString(e.Source)
		}
	}
	return b.String()
}

// repaired is the input as the scanner sees it.
func repaired(input string) string {
	var r repair
	return string(r.next([]byte(input))) + string(r.end())
}

// checkGrammar holds events to the order that Kind promises.
func checkGrammar(events []Event) error {
	open := map[int]int{}
	last := 0
	for i, e := range events {
		switch e.Kind {
		case Text:
			if len(open) > 0 {
				return fmt.Errorf("event %d: text while %v are open", i, open)
			}
			if e.Text == "" {
				return fmt.Errorf("event %d: empty text", i)
			}
		case Start:
			if last++; e.ID != last {
				return fmt.Errorf("event %d: id %d after %d", i, e.ID, last-1)
			}
			if _, ok := open[e.Parent]; e.Parent != 0 && !ok {
				return fmt.Errorf("event %d: parent %d is not open", i, e.Parent)
			}
			open[e.ID] = e.Parent
		case Delta, End, Fallback:
			parent, ok := open[e.ID]
			if !ok {
				return fmt.Errorf("event %d: %v of %d, which is not open", i, e.Kind, e.ID)
			}
			if e.Kind == Delta {
				break
			}
			if parent != e.Parent {
				return fmt.Errorf("event %d: parent %d, was %d", i, e.Parent, parent)
			}
			delete(open, e.ID)
			for id, parent := range open {
				if parent == e.ID {
					return fmt.Errorf("event %d: %d ends before its child %d", i, e.ID, id)
				}
			}
		}
		if !utf8.ValidString(e.Text) {
			return fmt.Errorf("event %d: cut within a character: %q", i, e.Text)
		}
	}
	if len(open) > 0 {
		return fmt.Errorf("%v never ended", open)
	}
	return nil
}

// checkLaws holds the scanner, for one input, to what holds for all.
func checkLaws(t testing.TB, cfg Config, reason Reason, input string, cuts []int) []Event {
	t.Helper()
	whole := runApart(cfg, reason, input)
	if err := checkGrammar(whole); err != nil {
		t.Fatalf("%q: %v", input, err)
	}
	want := join(whole)
	if got := sourceOf(want); got != repaired(input) {
		t.Fatalf("not lossless:\n in  %q\n out %q", repaired(input), got)
	}
	pieces := runApart(cfg, reason, input, cuts...)
	if err := checkGrammar(pieces); err != nil {
		t.Fatalf("%q cut at %v: %v", input, cuts, err)
	}
	if got := join(pieces); !reflect.DeepEqual(got, want) {
		t.Fatalf("%q depends on its chunks\n whole %+v\n at %v\n cut   %+v", input, want, cuts, got)
	}
	return want
}

func TestCases(t *testing.T) {
	total := 0
	for _, file := range []string{"testdata/markdown-cards.jsonl", "testdata/more-cards.jsonl"} {
		for _, c := range readCases(t, file) {
			total++
			t.Run(c.Name, func(t *testing.T) {
				input := c.input(t)
				cfg, reason := c.Config.config(), c.Config.reason()
				check := func(cuts ...int) {
					t.Helper()
					got := spell(t, checkLaws(t, cfg, reason, input, cuts))
					if !reflect.DeepEqual(got, c.Expected) {
						g, _ := json.Marshal(got)
						w, _ := json.Marshal(c.Expected)
						t.Fatalf("cut at %v\n got  %s\n want %s", cuts, g, w)
					}
				}
				check()
				for i := 1; i < len(input); i++ {
					check(i)
				}
				check(everyByte(input)...)
				r := rand.New(rand.NewPCG(1, uint64(len(input))))
				for range 40 {
					check(randomCuts(r, len(input))...)
				}
			})
		}
	}
	t.Logf("%d cases", total)
}

// The numbers of rows that the laws are held to must not shrink unseen.
func TestCasesAreThere(t *testing.T) {
	for file, least := range map[string]int{"testdata/markdown-cards.jsonl": 77, "testdata/more-cards.jsonl": 128} {
		if n := len(readCases(t, file)); n < least {
			t.Errorf("only %d cases in %s", n, file)
		}
	}
}
