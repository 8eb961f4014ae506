package sqlite

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"
)

// TestCheckpoint writes far more than the write-ahead log may hold.
func TestCheckpoint(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{})
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	data := json.RawMessage(fmt.Sprintf(`{"delta":"%s"}`, strings.Repeat("x", 60_000)))
	const n = 1500
	var longest int64
	for seq := uint64(1); seq <= n; seq++ {
		e := delta("m_1", 1, seq)
		e.Data = data
		must(t, s.Append(ctx, lease, e))
		if seq%50 == 0 {
			info, err := os.Stat(s.path + "-wal")
			must(t, err)
			longest = max(longest, info.Size())
		}
	}
	must(t, s.Append(ctx, lease, done("m_1", 1, n+1)))
	if longest > 100<<20 {
		t.Errorf("the write-ahead log grew to %d MB while %d MB were written", longest>>20, 2*n*len(data)>>20)
	}
	t.Logf("longest write-ahead log: %d MB", longest>>20)
}
