package event

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

// envelopeJSON is an event as the vectors and logs under testdata spell it.
type envelopeJSON struct {
	V       int             `json:"v"`
	MsgID   string          `json:"msgId"`
	BlockID string          `json:"blockId"`
	Seq     uint64          `json:"seq"`
	Group   int             `json:"group"`
	At      int64           `json:"at"`
	Event   Type            `json:"event"`
	Data    json.RawMessage `json:"data"`
}

func (e envelopeJSON) event() Event {
	return Event{Seq: e.Seq, At: e.At, Group: e.Group, Type: e.Event, Msg: e.MsgID, Block: e.BlockID, Data: e.Data}
}

type vector struct {
	Name   string         `json:"name"`
	Events []envelopeJSON `json:"events"`
	Want   struct {
		Status       Status          `json:"status"`
		Seq          uint64          `json:"seq"`
		Blocks       json.RawMessage `json:"blocks"`
		FinishReason string          `json:"finishReason"`
		Reasoning    string          `json:"reasoning"`
		Error        *ErrorData      `json:"error"`
	} `json:"want"`
}

func vectors(t testing.TB) []vector {
	t.Helper()
	paths, err := filepath.Glob("../testdata/fold/*.json")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d vectors, %v", len(paths), err)
	}
	out := make([]vector, len(paths))
	for i, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(b, &out[i]); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	return out
}

func (v vector) check(t *testing.T, how string, st State) {
	t.Helper()
	w := v.Want
	if st.Status != w.Status || st.Seq != w.Seq || st.FinishReason != w.FinishReason || st.Reasoning != w.Reasoning {
		t.Errorf("%s: status %s, seq %d, finish %q, reasoning %q; want %s, %d, %q, %q", how,
			st.Status, st.Seq, st.FinishReason, st.Reasoning, w.Status, w.Seq, w.FinishReason, w.Reasoning)
	}
	if !reflect.DeepEqual(st.Err, w.Error) {
		t.Errorf("%s: error %+v, want %+v", how, st.Err, w.Error)
	}
	got, err := json.Marshal(st.Blocks)
	if err != nil {
		t.Fatal(err)
	}
	if !sameJSON(t, got, w.Blocks) {
		t.Errorf("%s: blocks\n%s\nwant\n%s", how, got, w.Blocks)
	}
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if err := json.Unmarshal(a, &x); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(b, &y); err != nil {
		t.Fatal(err)
	}
	return reflect.DeepEqual(x, y)
}

func foldAll(events []Event) State {
	f := NewFolder("")
	for _, e := range events {
		f.Apply(e)
	}
	return f.State()
}

func TestFoldVectors(t *testing.T) {
	all := vectors(t)
	for _, v := range all {
		t.Run(v.Name, func(t *testing.T) {
			events := make([]Event, len(v.Events))
			for i, e := range v.Events {
				events[i] = e.event()
			}
			v.check(t, "once", foldAll(events))

			st, err := Fold(func(yield func(Event, error) bool) {
				for _, e := range events {
					if !yield(e, nil) {
						return
					}
				}
			})
			if err != nil {
				t.Fatal(err)
			}
			v.check(t, "as a sequence", st)

			var twice []Event
			for _, e := range events {
				twice = append(twice, e, e)
			}
			v.check(t, "each twice", foldAll(twice))

			for i := range events {
				v.check(t, "suffix again", foldAll(slices.Concat(events, events[i:])))
			}

			// What is folded up to any point, as a snapshot, goes on the same.
			for i := range events {
				part := foldAll(events[:i])
				if part.Seq == 0 || part.FinishReason != "" || part.Err != nil || part.Reasoning != "" {
					continue
				}
				f := FromSnapshot(events[0].Msg, SnapshotData{Blocks: part.Blocks, Seq: part.Seq, Status: part.Status})
				for _, e := range events {
					f.Apply(e)
				}
				if v.Want.Reasoning == "" {
					v.check(t, "from a snapshot", f.State())
				}
			}
		})
	}
	t.Logf("%d vectors", len(all))
}

// goldenLogs returns the whole lawful logs under testdata.
func goldenLogs(t testing.TB) map[string][]Event {
	t.Helper()
	paths, err := filepath.Glob("../testdata/logs/*.jsonl")
	if err != nil || len(paths) < 25 {
		t.Fatalf("%d logs, %v", len(paths), err)
	}
	out := make(map[string][]Event)
	for _, p := range paths {
		b, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		var log []Event
		for line := range strings.Lines(string(b)) {
			var e envelopeJSON
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
			if e.V != 1 {
				t.Errorf("%s: version %d", p, e.V)
			}
			log = append(log, e.event())
		}
		out[strings.TrimSuffix(filepath.Base(p), ".jsonl")] = log
	}
	return out
}

func TestGoldenLogsAreLawful(t *testing.T) {
	all := goldenLogs(t)
	for name, log := range all {
		t.Run(name, func(t *testing.T) {
			g := NewGuard(log[0].Msg)
			f := NewFolder(log[0].Msg)
			var stored []byte
			for _, e := range log {
				resumed := ResumeGuard(e.Msg, f.State())
				if err := g.Check(e); err != nil {
					t.Fatal(err)
				}
				if e.Type != Start {
					if err := resumed.Check(e); err != nil {
						t.Fatalf("resumed: %v", err)
					}
				}
				f.Apply(e)
				stored = AppendFrame(stored, e)
			}
			if g.Open() || f.State().Open {
				t.Error("the last group is open")
			}
			for _, want := range log {
				got, rest, err := ReadFrame(stored)
				if err != nil {
					t.Fatal(err)
				}
				if !reflect.DeepEqual(got, want) {
					t.Errorf("stored and read: %+v, want %+v", got, want)
				}
				stored = rest
			}
			for _, b := range f.State().Blocks {
				if b.Status == block.StatusDone && b.Type != "text" && b.Fallback == "" {
					t.Errorf("block %s is done without a fallback", b.ID)
				}
			}
		})
	}
	t.Logf("%d logs", len(all))
}
