package native_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/native"
	"github.com/inlay-ui/inlay/wire/wiretest"
)

var update = flag.Bool("update", false, "write the golden streams anew")

// logs reads the golden logs that every reader of events is tested with.
func logs(t testing.TB) map[string][]event.Event {
	t.Helper()
	return wiretest.Logs(t, "../../testdata/logs")
}

// readers are those whose streams are golden.
func readers(t *testing.T) map[string]wire.View {
	t.Helper()
	r, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	return map[string]wire.View{
		"whole":  {Registry: r, Tools: true, Reasoning: true},
		"text":   {Registry: r, Caps: r.Negotiate("", true)},
		"charts": {Registry: r, Caps: r.Negotiate("chart@1", true), Tools: true, Reasoning: true},
	}
}

// write encodes a log as a reader gets it who has read up to a seq.
func write(t *testing.T, view wire.View, events []event.Event, after uint64) string {
	t.Helper()
	enc, err := native.New(view, wire.Run{Msg: events[0].Msg})
	if err != nil {
		t.Fatal(err)
	}
	var out, none []byte
	for _, ev := range events {
		if ev.Seq <= after {
			if enc.Stateless() {
				continue
			}
			if none, err = enc.Append(none[:0], ev); err != nil {
				t.Fatal(err)
			}
			continue
		}
		if out, err = enc.Append(out, ev); err != nil {
			t.Fatal(err)
		}
	}
	return string(out)
}

func TestGolden(t *testing.T) {
	for name, events := range logs(t) {
		if len(events) > 50 {
			continue // the properties below hold for it too
		}
		for _, reader := range []string{"whole", "text"} {
			got := write(t, readers(t)[reader], events, 0)
			path := filepath.Join("testdata", name+"."+reader+".sse")
			if *update {
				if err := os.MkdirAll("testdata", 0o755); err != nil {
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
				t.Errorf("%s as %s is written\n%s\nwant\n%s", name, reader, got, want)
			}
		}
	}
}

// What a client folds from the stream is what the log folds to.
func TestLogsFoldAlike(t *testing.T) {
	for name, events := range logs(t) {
		f := event.NewFolder("")
		for _, ev := range events {
			f.Apply(ev)
		}
		want := f.State()
		for reader, view := range readers(t) {
			got := fold(t, write(t, view, events, 0))
			if got.Seq != want.Seq || got.Status != want.Status || got.FinishReason != want.FinishReason || len(got.Blocks) != len(want.Blocks) {
				t.Errorf("%s as %s: %d %s %s, want %d %s %s", name, reader, got.Seq, got.Status, got.FinishReason, want.Seq, want.Status, want.FinishReason)
				continue
			}
			for i, b := range got.Blocks {
				full := want.Blocks[i]
				if b.ID != full.ID || b.Status != full.Status {
					t.Errorf("%s as %s: block %d is %s %s, want %s %s", name, reader, i, b.ID, b.Status, full.ID, full.Status)
				}
				if view.Caps.Can(full.Type, full.Version) {
					if fmt.Sprintf("%+v", b) != fmt.Sprintf("%+v", full) && marshal(t, b) != marshal(t, full) {
						t.Errorf("%s as %s: block %s is\n%s\nwant\n%s", name, reader, b.ID, marshal(t, b), marshal(t, full))
					}
				} else if b.Type != "text" {
					t.Errorf("%s as %s: block %s is sent as %s", name, reader, b.ID, b.Type)
				}
			}
		}
	}
}

func TestLogsCutAnywhere(t *testing.T) {
	cuts := 0
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			whole := write(t, view, events, 0)
			for n := 1; n < len(events); n++ {
				cuts++
				head := write(t, view, events[:n], 0)
				if head+write(t, view, events, events[n-1].Seq) != whole {
					t.Fatalf("%s as %s: cut after %d and resumed differs", name, reader, events[n-1].Seq)
				}
			}
		}
	}
	t.Logf("%d cuts", cuts)
}

func fold(t *testing.T, stream string) event.State {
	t.Helper()
	f := event.NewFolder("")
	for part := range strings.SplitSeq(strings.TrimSuffix(stream, "\n\n"), "\n\n") {
		lines := strings.Split(part, "\n")
		if len(lines) != 3 {
			var seq uint64
			if _, err := fmt.Sscanf(part, "id: %d", &seq); err != nil || len(lines) != 1 {
				t.Fatalf("frame %q", part)
			}
			// The number moves on, nothing else.
			f.Apply(event.Event{Seq: seq, Type: "skipped"})
			continue
		}
		var e struct {
			MsgID, BlockID string
			Seq            uint64
			Group          int
			At             int64
			Data           json.RawMessage
		}
		if err := json.Unmarshal([]byte(strings.TrimPrefix(lines[2], "data: ")), &e); err != nil {
			t.Fatalf("frame %q: %v", part, err)
		}
		f.Apply(event.Event{Seq: e.Seq, At: e.At, Group: e.Group, Type: event.Type(strings.TrimPrefix(lines[1], "event: ")), Msg: e.MsgID, Block: e.BlockID, Data: e.Data})
	}
	return f.State()
}

func marshal(t *testing.T, v any) string {
	t.Helper()
	b, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}
