// Package wiretest is what the tests of every dialect share. It is imported by
// tests only.
package wiretest

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/event"
)

// Logs reads the golden logs of some directories, by their names.
func Logs(t testing.TB, dirs ...string) map[string][]event.Event {
	t.Helper()
	out := make(map[string][]event.Event)
	for _, dir := range dirs {
		paths, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
		if err != nil || len(paths) == 0 {
			t.Fatalf("no logs in %s: %v", dir, err)
		}
		for _, path := range paths {
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var events []event.Event
			for line := range bytes.Lines(b) {
				var e struct {
					MsgID, BlockID string
					Seq            uint64
					Group          int
					At             int64
					Event          event.Type
					Data           json.RawMessage
				}
				if err := json.Unmarshal(line, &e); err != nil {
					t.Fatalf("%s: %v", path, err)
				}
				events = append(events, event.Event{Seq: e.Seq, At: e.At, Group: e.Group, Type: e.Event, Msg: e.MsgID, Block: e.BlockID, Data: e.Data})
			}
			out[strings.TrimSuffix(filepath.Base(path), ".jsonl")] = events
		}
	}
	t.Logf("%d logs", len(out))
	return out
}
