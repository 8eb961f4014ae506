package ubp_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/ubp"
	"github.com/inlay-ui/inlay/wire/wiretest"
)

var update = flag.Bool("update", false, "write the golden streams anew")

// logs reads the golden logs that every reader of events is tested with.
func logs(t testing.TB) map[string][]event.Event {
	t.Helper()
	return wiretest.Logs(t, "../../testdata/logs")
}

// registry knows the built-in types and those that the logs use beside them,
// but for one.
func registry(t testing.TB) *block.Registry {
	t.Helper()
	types := block.Builtins()
	for _, name := range []string{"app.product_card"} {
		types = append(types, block.Type{
			Name: name, Version: 1, Schema: json.RawMessage(`{}`), Description: "A sample type.",
			Fallback: func(json.RawMessage) string { return "sample of " + name },
		})
	}
	r, err := block.NewRegistry(types...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// views are readers: one that draws all there is, one that draws charts, one
// that declared to draw nothing and one that declared nothing.
func views(t testing.TB) map[string]wire.View {
	t.Helper()
	r := registry(t)
	var tokens []string
	for _, token := range r.All().Tokens {
		tokens = append(tokens, token.String())
	}
	return map[string]wire.View{
		"whole":  {Registry: r, Caps: r.Negotiate(strings.Join(tokens, ","), false), Tools: true, Reasoning: true},
		"charts": {Registry: r, Caps: r.Negotiate("inlay.chart@1,Bad", false)},
		"text":   {Registry: r, Caps: r.Negotiate("", false), Tools: true},
		"silent": {Registry: r},
	}
}

// write encodes a log as a reader gets it who has read up to a seq. It holds
// the encoder to one frame with an id for each event.
func write(t testing.TB, view wire.View, events []event.Event, after uint64) string {
	t.Helper()
	enc, err := ubp.New(view, wire.Run{Msg: events[0].Msg})
	if err != nil {
		t.Fatal(err)
	}
	out, err := enc.Begin(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, ev := range events {
		keep := len(out)
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out[keep:], []byte("\n\n")); n != 1 {
			t.Fatalf("event %d is %d frames: %s", ev.Seq, n, out[keep:])
		}
		if ev.Seq <= after {
			out = out[:keep]
		}
	}
	if out, err = enc.End(out); err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// golden compares a file with what it should hold.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", "golden", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s holds\n%s\nwant\n%s", name, want, got)
	}
}

// The streams of the logs, and beside them what the logs fold to: the client
// of conformance/ubp reads the one and must come to the other.
func TestGolden(t *testing.T) {
	for name, events := range logs(t) {
		for _, reader := range []string{"whole", "text"} {
			golden(t, name+"."+reader+".txt", write(t, views(t)[reader], events, 0))
		}
		f := event.NewFolder("")
		for _, ev := range events {
			f.Apply(ev)
		}
		st := f.State()
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		enc.SetIndent("", " ")
		err := enc.Encode(map[string]any{
			"start": st.Start, "seq": st.Seq, "status": st.Status, "finishReason": st.FinishReason,
			"usage": st.Usage, "error": st.Err, "blocks": st.Blocks, "tools": st.Tools,
		})
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".fold.json", b.String())
	}
}
