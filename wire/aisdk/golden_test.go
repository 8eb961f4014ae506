package aisdk_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/aisdk"
	"github.com/inlay-ui/inlay/wire/wiretest"
)

var update = flag.Bool("update", false, "write the golden streams anew")

// logs reads the golden logs that every reader of events is tested with, and
// those of this dialect.
func logs(t testing.TB) map[string][]event.Event {
	t.Helper()
	return wiretest.Logs(t, "../../testdata/logs", "testdata/logs")
}

// readers are those whose streams are golden.
func readers(t testing.TB) map[string]wire.View {
	t.Helper()
	r, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]wire.View{
		"v5":      {Registry: r, Tools: true, Reasoning: true},
		"v6":      {Registry: r, Version: "6", Tools: true, Reasoning: true},
		"v7":      {Registry: r, Version: "7", Tools: true, Reasoning: true},
		"v7parts": {Registry: r, Version: "7", Tools: true, Reasoning: true, ToolParts: true},
		"text":    {Registry: r, Caps: r.Negotiate("", true)},
		"charts":  {Registry: r, Caps: r.Negotiate("chart@1", true), Tools: true},
	}
}

// write encodes a log as a reader gets it who has read up to a seq; end says
// that it reads to the end of the stream.
func write(t testing.TB, view wire.View, events []event.Event, after uint64, end bool) string {
	t.Helper()
	enc := encoder(t, view, events[0].Msg)
	out, err := enc.Begin(nil, nil)
	if err != nil || len(out) > 0 {
		t.Fatalf("Begin wrote %q, %v", out, err)
	}
	for _, ev := range events {
		if ev.Seq <= after {
			out = out[:0]
		}
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
		if ev.Seq <= after {
			out = out[:0]
		}
	}
	if end {
		if out, err = enc.End(out); err != nil {
			t.Fatal(err)
		}
	}
	return string(out)
}

func encoder(t testing.TB, view wire.View, msg string) *aisdk.Encoder {
	t.Helper()
	enc, err := aisdk.New(view, wire.Run{Msg: msg})
	if err != nil {
		t.Fatal(err)
	}
	return enc
}

// The golden streams are also what the published clients read in
// conformance/aisdk. A stream that is not there is that of v5.
func TestGolden(t *testing.T) {
	for name, events := range logs(t) {
		v5 := write(t, readers(t)["v5"], events, 0, true)
		for reader, view := range readers(t) {
			got := write(t, view, events, 0, true)
			check(t, reader, got)
			if strings.HasPrefix(reader, "v") && reader != "v5" && got == v5 {
				if _, err := os.Stat(golden(name, reader+".txt")); !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("%s as %s is that of v5, and there: %v", name, reader, err)
				}
				continue
			}
			compare(t, golden(name, reader+".txt"), got)
		}
		compare(t, golden(name, "fold.json"), folds(t, events))
	}
}

func golden(name, suffix string) string {
	return filepath.Join("testdata", "golden", name+"."+suffix)
}

func compare(t *testing.T, path, got string) {
	t.Helper()
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s is now\n%s\nwant\n%s", path, got, want)
	}
}

// folds are the message after each group, as event.Folder has it.
func folds(t *testing.T, events []event.Event) string {
	t.Helper()
	type group struct {
		Blocks []block.Block `json:"blocks"`
	}
	var out struct {
		Message      string               `json:"message"`
		Start        event.StartData      `json:"start"`
		Status       event.Status         `json:"status"`
		FinishReason string               `json:"finishReason,omitempty"`
		Usage        event.Usage          `json:"usage"`
		Error        *event.ErrorData     `json:"error,omitempty"`
		Reasoning    string               `json:"reasoning,omitempty"`
		Tools        []event.ToolActivity `json:"tools,omitempty"`
		Groups       []group              `json:"groups"`
	}
	f := event.NewFolder("")
	for _, ev := range events {
		f.Apply(ev)
		if ev.Type.Terminal() {
			out.Groups = append(out.Groups, group{f.State().Blocks})
		}
	}
	st := f.State()
	out.Message, out.Start, out.Status, out.FinishReason, out.Usage = events[0].Msg, st.Start, st.Status, st.FinishReason, st.Usage
	out.Error, out.Reasoning, out.Tools = st.Err, st.Reasoning, st.Tools
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(out); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func TestLogsCutAnywhere(t *testing.T) {
	cuts := 0
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			whole := write(t, view, events, 0, true)
			if again := write(t, view, events, 0, true); again != whole {
				t.Fatalf("%s as %s differs from itself", name, reader)
			}
			for n := 1; n <= len(events); n += 1 + len(events)/30 {
				cuts++
				head := write(t, view, events[:n], 0, false)
				if head+write(t, view, events, events[n-1].Seq, true) != whole {
					t.Fatalf("%s as %s: cut after %d and resumed differs", name, reader, events[n-1].Seq)
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

// A stream that ends before its group does says so.
func TestEveryPrefixIsAWholeStream(t *testing.T) {
	for _, events := range logs(t) {
		for reader, view := range readers(t) {
			for n := 1; n <= len(events); n += 1 + len(events)/30 {
				frames := check(t, reader, write(t, view, events[:n], 0, true))
				last := frames[len(frames)-1]["type"]
				if open := !events[n-1].Type.Terminal(); open && last != "error" {
					t.Fatalf("a stream cut off after %s ends with %s", events[n-1].Type, last)
				}
			}
		}
	}
}

// Events that came before, and those of other messages, change nothing.
func TestRepeatedEventsAreIgnored(t *testing.T) {
	for name, events := range logs(t) {
		view := readers(t)["v5"]
		enc := encoder(t, view, events[0].Msg)
		var out []byte
		var err error
		for i, ev := range events {
			if out, err = enc.Append(out, ev); err != nil {
				t.Fatal(err)
			}
			for _, again := range []event.Event{ev, events[i/2], {Seq: ev.Seq + 1, Msg: "m_other", Type: event.TextDelta, Block: "b", Data: event.TextData("x")}} {
				if more, err := enc.Append(nil, again); err != nil || len(more) > 0 {
					t.Fatalf("%s: %s again wrote %q, %v", name, again.Type, more, err)
				}
			}
		}
		if out, err = enc.End(out); err != nil || string(out) != write(t, view, events, 0, true) {
			t.Errorf("%s differs, %v", name, err)
		}
	}
}
