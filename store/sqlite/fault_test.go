package sqlite

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

func delta(msg string, group int, seq uint64) event.Event {
	return event.Event{Seq: seq, At: int64(seq), Group: group, Type: event.TextDelta, Msg: msg, Block: "b_1",
		Data: json.RawMessage(fmt.Sprintf(`{"delta":"%s word %d"}`, msg, seq))}
}

func done(msg string, group int, seq uint64) event.Event {
	return event.Event{Seq: seq, At: int64(seq), Group: group, Type: event.Done, Msg: msg, Data: json.RawMessage(`{"finishReason":"stop","usage":{}}`)}
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// childPath names the database that a child process writes to until it is
// killed.
const childPath = "INLAY_TEST_SQLITE_CHILD"

func TestMain(m *testing.M) {
	if path := os.Getenv(childPath); path != "" {
		if err := writeUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	if path := os.Getenv(actingPath); path != "" {
		if err := actUntilKilled(path); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		return
	}
	os.Exit(m.Run())
}

// writeUntilKilled runs turns and prints each event once it is acknowledged:
// the message, its seq and whether it was the last.
func writeUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path, MaxTailBytes: 4000, maxJournal: 64 << 10})
	if err != nil {
		return err
	}
	unfinished, err := s.Unfinished(ctx)
	if err != nil {
		return err
	}
	// What an earlier life left is ended first.
	for _, msg := range unfinished {
		lease, last, err := s.Acquire(ctx, msg, "child", time.Minute)
		if err != nil {
			return err
		}
		if err := s.Append(ctx, lease, done(msg, lease.Group, last+1)); err != nil {
			return err
		}
		fmt.Printf("%s %d end\n", msg, last+1)
	}
	failed := make(chan error)
	for i := range 30 {
		go func() {
			for turn := 0; ; turn++ {
				msg := fmt.Sprintf("m_%d_%d_%d", os.Getpid(), i, turn)
				lease, _, err := s.Acquire(ctx, msg, "child", time.Minute)
				if err != nil {
					failed <- err
					return
				}
				n := 1 + rand.Uint64N(60)
				for seq := uint64(1); seq <= n; seq++ {
					e, word := delta(msg, 1, seq), "go"
					if seq == n {
						e, word = done(msg, 1, seq), "end"
					}
					if err := s.Append(ctx, lease, e); err != nil {
						failed <- err
						return
					}
					// One write per line, so that none is lost with the process.
					fmt.Fprintf(os.Stdout, "%s %d %s\n", msg, seq, word)
				}
				if err := s.Release(ctx, lease); err != nil {
					failed <- err
					return
				}
			}
		}()
	}
	return <-failed
}

// untilKilled runs the test binary with a variable set, kills it a moment
// after its first word and hands out the lines that it said.
func untilKilled(t *testing.T, env string, said func(line string)) {
	t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), env)
	out, err := cmd.StdoutPipe()
	must(t, err)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	must(t, cmd.Start())
	lines := bufio.NewReader(out)
	life := time.Duration(20+rand.IntN(200)) * time.Millisecond
	var timer *time.Timer
	for {
		line, err := lines.ReadString('\n')
		if timer == nil {
			timer = time.AfterFunc(life, func() { _ = cmd.Process.Kill() })
		}
		if errors.Is(err, io.EOF) {
			break
		}
		must(t, err)
		said(line)
	}
	timer.Stop()
	if err := cmd.Wait(); cmd.ProcessState.Exited() {
		t.Fatalf("the child was not killed but ended: %v\n%s", err, stderr.String())
	}
}

// TestKill kills a writing process at random moments. Every event that was
// acknowledged is there afterwards, without a gap, and what was running is
// listed.
func TestKill(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlay.db")
	acked := map[string]uint64{}
	ended := map[string]bool{}
	total := 0
	for round := range 8 {
		untilKilled(t, childPath+"="+path, func(line string) {
			var msg, word string
			var seq uint64
			if _, err := fmt.Sscan(line, &msg, &seq, &word); err != nil {
				t.Fatalf("%q: %v", line, err)
			}
			acked[msg] = max(acked[msg], seq)
			ended[msg] = ended[msg] || word == "end"
			total++
		})

		s := open(t, Options{Path: path})
		unfinished, err := s.Unfinished(t.Context())
		must(t, err)
		for msg, seq := range acked {
			var last event.Event
			for e, err := range s.Read(t.Context(), msg, 0) {
				must(t, err)
				if e.Seq != last.Seq+1 {
					t.Fatalf("round %d: %s goes from seq %d to %d", round, msg, last.Seq, e.Seq)
				}
				if want := delta(msg, 1, e.Seq); e.Type == event.TextDelta && string(e.Data) != string(want.Data) {
					t.Fatalf("round %d: %s seq %d has %s", round, msg, e.Seq, e.Data)
				}
				last = e
			}
			if last.Seq < seq {
				t.Fatalf("round %d: %s has %d events, %d were acknowledged", round, msg, last.Seq, seq)
			}
			if ended[msg] && !last.Type.Terminal() {
				t.Fatalf("round %d: %s lost its end", round, msg)
			}
			if listed := slices.Contains(unfinished, msg); listed == last.Type.Terminal() {
				t.Fatalf("round %d: %s ends with %s and Unfinished lists it: %v", round, msg, last.Type, listed)
			}
		}
		var n int
		must(t, s.scan(t.Context(), "SELECT count(*) FROM journal", nil, &n))
		if n != 0 {
			t.Fatalf("round %d: the journal has %d rows after a restart", round, n)
		}
		must(t, s.Close())
	}
	t.Logf("%d acknowledged events of %d messages, all there", total, len(acked))
}

// TestReopen restarts a store in an orderly way while turns run.
func TestReopen(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlay.db")
	s := open(t, Options{Path: path})
	lease, _, err := s.Acquire(t.Context(), "m_1", "one", time.Hour)
	must(t, err)
	must(t, s.Append(t.Context(), lease, delta("m_1", 1, 1), delta("m_1", 1, 2)))
	empty, _, err := s.Acquire(t.Context(), "m_empty", "one", time.Hour)
	must(t, err)
	must(t, s.Close())

	s = open(t, Options{Path: path})
	got, err := s.Unfinished(t.Context())
	must(t, err)
	if !slices.Equal(got, []string{"m_1", "m_empty"}) {
		t.Fatalf("Unfinished = %v", got)
	}
	for _, stale := range []store.Lease{lease, empty} {
		if err := s.Append(t.Context(), stale, delta(stale.Msg, 1, 3)); !errors.Is(err, store.ErrSequence) && !errors.Is(err, store.ErrStaleLease) {
			t.Fatalf("a lease of before the restart: %v", err)
		}
	}
	again, last, err := s.Acquire(t.Context(), "m_1", "one", time.Hour)
	must(t, err)
	if last != 2 || again.Group != 1 || again.Epoch <= lease.Epoch {
		t.Fatalf("lease %+v after seq %d", again, last)
	}
	if err := s.Release(t.Context(), again); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("release of a group without its end: %v", err)
	}
	must(t, s.Append(t.Context(), again, done("m_1", 1, 3)))
}

// TestOneOwner opens a database twice.
func TestOneOwner(t *testing.T) {
	path := filepath.Join(t.TempDir(), "data", "with space?#%.db")
	s := open(t, Options{Path: path})
	_, err := Open(t.Context(), Options{Path: path})
	if !errors.Is(err, ErrInUse) || !strings.Contains(err.Error(), fmt.Sprint("process ", os.Getpid())) {
		t.Fatalf("second Open: %v", err)
	}
	must(t, s.Close())
	must(t, open(t, Options{Path: path}).Close())
	if _, err := os.Stat(path); err != nil {
		t.Fatal(err)
	}
}

// TestNewerSchema refuses a database of a later release.
func TestNewerSchema(t *testing.T) {
	path := filepath.Join(t.TempDir(), "inlay.db")
	s := open(t, Options{Path: path})
	must(t, s.write(t.Context(), func(t *tx) error { _, err := t.exec("PRAGMA user_version = 9999"); return err }))
	must(t, s.Close())
	if _, err := Open(t.Context(), Options{Path: path}); err == nil || !strings.Contains(err.Error(), "newer release") {
		t.Fatalf("Open: %v", err)
	}
}

// TestFull fills the database to its limit while a reader listens: an append
// that fails is not seen, and goes through once there is room.
func TestFull(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{})
	setPages := func(n int) {
		must(t, s.write(ctx, func(t *tx) error {
			var got int
			return t.scan(fmt.Sprintf("PRAGMA max_page_count = %d", n), nil, &got)
		}))
	}
	var pages int
	must(t, s.write(ctx, func(t *tx) error { return t.scan("PRAGMA page_count", nil, &pages) }))
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	var seen atomic.Uint64
	var wg sync.WaitGroup
	wg.Go(func() {
		for e, err := range s.Tail(ctx, "m_1", 0) {
			if err != nil || !seen.CompareAndSwap(e.Seq-1, e.Seq) {
				t.Errorf("seq %d after %d: %v", e.Seq, seen.Load(), err)
				return
			}
		}
	})
	setPages(pages + 20)
	seq := uint64(1)
	big := func() event.Event {
		e := delta("m_1", 1, seq)
		e.Data = json.RawMessage(fmt.Sprintf(`{"delta":"%08000d"}`, seq))
		return e
	}
	for ; ; seq++ {
		if err = s.Append(ctx, lease, big()); err != nil {
			break
		}
		if seq > 1000 {
			t.Fatal("it never fills up")
		}
	}
	if !errors.Is(err, store.ErrFull) {
		t.Fatalf("append to a full disk: %v", err)
	}
	for range 3 {
		if err := s.Append(ctx, lease, big()); !errors.Is(err, store.ErrFull) {
			t.Fatalf("append to a full disk: %v", err)
		}
	}
	if err := s.CreateConversation(ctx, store.Conversation{ID: "c_1", Title: strings.Repeat("x", 20_000)}); !errors.Is(err, store.ErrFull) {
		t.Fatalf("record on a full disk: %v", err)
	}
	if last, open, err := s.Last(ctx, "m_1"); err != nil || last != seq-1 || !open {
		t.Fatalf("Last = %d, %v, %v, want %d", last, open, err, seq-1)
	}
	time.Sleep(10 * time.Millisecond)
	if got := seen.Load(); got != seq-1 {
		t.Fatalf("the reader saw seq %d, %d is stored", got, seq-1)
	}
	setPages(1 << 20)
	must(t, s.Append(ctx, lease, big()))
	must(t, s.Append(ctx, lease, done("m_1", 1, seq+1)))
	wg.Wait()
	if got := seen.Load(); got != seq+1 {
		t.Fatalf("the reader ended at seq %d, want %d", got, seq+1)
	}
}

// TestGivenBackAndDeleted has a lease given back, swept and its message deleted
// in one commit.
func TestGivenBackAndDeleted(t *testing.T) {
	ctx := t.Context()
	now := time.Now()
	var ahead atomic.Int64
	s := open(t, Options{now: func() time.Time { return now.Add(time.Duration(ahead.Load())) }})
	owner := store.Owner{Tenant: "t", User: "u"}
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Second)
	must(t, err)
	must(t, s.Begin(ctx, store.BeginTurn{
		Owner: owner, Conversation: store.Conversation{ID: "c_1", Owner: owner},
		Assistant: store.Message{ID: "m_1", Owner: owner, Conversation: "c_1", Role: store.RoleAssistant, Status: event.StatusRunning},
	}))
	must(t, s.Append(ctx, lease, event.Event{
		Msg: "m_1", Seq: 1, Group: 1, Type: event.Start, Data: json.RawMessage(`{}`),
	}, done("m_1", 1, 2)))
	hold := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.write(ctx, func(*tx) error { <-hold; return nil }) })
	time.Sleep(10 * time.Millisecond)
	ahead.Store(int64(time.Minute))
	for _, f := range []func() error{
		func() error { return s.Release(ctx, lease) },
		func() error { return s.sweepLeases(ctx) },
		func() error { return s.DeleteConversation(ctx, owner, "c_1") },
	} {
		wg.Go(func() {
			if err := f(); err != nil {
				t.Error(err)
			}
		})
		time.Sleep(10 * time.Millisecond) // each behind the one before
	}
	close(hold)
	wg.Wait()
	if _, err := s.MessageOf(ctx, "m_1"); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("the message: %v", err)
	}
	must(t, s.Ping(ctx))
}

// TestLocked has another program lock the file.
func TestLocked(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{BusyTimeout: 50 * time.Millisecond})
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	must(t, s.Append(ctx, lease, delta("m_1", 1, 1)))
	other, err := sql.Open("sqlite", s.dsn(false))
	must(t, err)
	defer other.Close()
	other.SetMaxOpenConns(1)
	// The write of a round of upkeep may come first.
	for {
		if _, err = other.Exec("BEGIN IMMEDIATE"); err == nil || !strings.Contains(err.Error(), "locked") {
			break
		}
	}
	must(t, err)
	if err := s.Append(ctx, lease, delta("m_1", 1, 2)); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("append to a locked file: %v", err)
	}
	if err := s.Ping(ctx); !errors.Is(err, store.ErrBusy) {
		t.Fatalf("ping of a locked file: %v", err)
	}
	n := 0
	for _, err := range s.Read(ctx, "m_1", 0) {
		must(t, err)
		n++
	}
	if n != 1 {
		t.Fatalf("%d events, want 1", n)
	}
	_, err = other.Exec("ROLLBACK")
	must(t, err)
	must(t, s.Append(ctx, lease, delta("m_1", 1, 2)))
}

// clock is a clock that tests set.
type clock struct {
	mu sync.Mutex
	t  time.Time
}

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.t
}

func (c *clock) add(d time.Duration) {
	c.mu.Lock()
	c.t = c.t.Add(d)
	c.mu.Unlock()
}

// TestClock sets the clock back and forth.
func TestClock(t *testing.T) {
	ctx := t.Context()
	c := &clock{t: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	s := open(t, Options{now: c.now})
	owner := store.Owner{Tenant: "acme", User: "alice"}
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: owner}))
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	must(t, s.Append(ctx, lease, delta("m_1", 1, 1)))

	c.add(-24 * time.Hour)
	// The lease is still held, nothing is unfinished, and it can be renewed.
	must(t, s.Append(ctx, lease, delta("m_1", 1, 2)))
	if _, _, err := s.Acquire(ctx, "m_1", "two", time.Minute); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("acquire a held lease: %v", err)
	}
	must(t, s.Renew(ctx, lease, time.Minute))
	// A new turn moves to the top though its time is before the others'.
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_2", Owner: owner}))
	before, err := s.Conversation(ctx, owner, "c_1")
	must(t, err)
	must(t, s.Begin(ctx, store.BeginTurn{Owner: owner, Conversation: store.Conversation{ID: "c_1"},
		Assistant: store.Message{ID: "m_2", Role: store.RoleAssistant, Status: event.StatusRunning}}))
	after, err := s.Conversation(ctx, owner, "c_1")
	must(t, err)
	if after.UpdatedAt.Before(before.UpdatedAt) {
		t.Fatalf("updated at %v after %v", after.UpdatedAt, before.UpdatedAt)
	}
	var cursor uint64
	feed, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	for e, err := range s.Feed(feed, owner, "c_1", 0) {
		must(t, err)
		if e.Cursor <= cursor {
			t.Fatalf("feed cursor %d after %d", e.Cursor, cursor)
		}
		cursor = e.Cursor
	}

	c.add(2 * time.Minute)
	got, err := s.Unfinished(ctx)
	must(t, err)
	if !slices.Equal(got, []string{"m_1"}) {
		t.Fatalf("Unfinished = %v", got)
	}
	next, last, err := s.Acquire(ctx, "m_1", "two", time.Minute)
	must(t, err)
	if last != 2 || next.Epoch <= lease.Epoch {
		t.Fatalf("lease %+v after seq %d", next, last)
	}
	must(t, s.Append(ctx, next, done("m_1", 1, 3)))
}

// TestUpkeep forgets what has had its time.
func TestUpkeep(t *testing.T) {
	ctx := t.Context()
	c := &clock{t: time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)}
	s := open(t, Options{now: c.now})
	begin := func(conversation string) error {
		return s.Begin(ctx, store.BeginTurn{Conversation: store.Conversation{ID: conversation}, IdempotencyKey: "key",
			Assistant: store.Message{ID: "m_" + conversation, Role: store.RoleAssistant, Status: event.StatusRunning}})
	}
	must(t, begin("c_1"))
	act := func() error {
		_, err := s.ReserveAction(ctx, store.ActionReserve{Call: store.ActionCall{ID: id.New("x"), Msg: "m_c_1", Block: "b_1", Key: "key", Holder: "one"}})
		return err
	}
	must(t, act())
	call, err := s.ActionCall(ctx, store.Owner{}, "key")
	must(t, err)
	_, _, err = s.FinishAction(ctx, store.ActionFinish{ID: call.ID, Holder: "one", Status: store.CallDone, At: c.now(), Audit: store.AuditEntry{ID: "l_1"}})
	must(t, err)
	lease, _, err := s.Acquire(ctx, "m_log", "one", time.Minute)
	must(t, err)
	must(t, s.Append(ctx, lease, delta("m_log", 1, 1), done("m_log", 1, 2)))
	must(t, s.upkeepRound(ctx))
	if err := begin("c_2"); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("known key: %v", err)
	}
	if err := act(); !errors.Is(err, store.ErrConflict) {
		t.Fatalf("known key of an action: %v", err)
	}
	if len(s.logs) != 1 {
		t.Fatalf("%d logs in memory, want the one not released", len(s.logs))
	}
	c.add(25 * time.Hour)
	must(t, s.upkeepRound(ctx))
	must(t, begin("c_2"))
	must(t, act())
	if len(s.logs) != 0 {
		t.Fatalf("%d logs in memory after their leases ran out", len(s.logs))
	}
	var first event.Event
	for e, err := range s.Read(ctx, "m_log", 0) {
		must(t, err)
		first = e
		break
	}
	if first.Type != event.TextDelta {
		t.Fatalf("first event %+v", first)
	}
	c.add(7 * 24 * time.Hour)
	must(t, s.upkeepRound(ctx))
	for e, err := range s.Read(ctx, "m_log", 0) {
		must(t, err)
		if e.Type != event.Snapshot || e.Seq != 2 {
			t.Fatalf("after seven days: %+v", e)
		}
	}
}

// TestMemory checks that memory is bounded while a message runs and free once
// it is over, and that the journal shrinks though one turn never ends.
func TestMemory(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{MaxTailBytes: 10_000, maxJournal: 100_000})
	idle, _, err := s.Acquire(ctx, "m_idle", "one", time.Minute)
	must(t, err)
	must(t, s.Append(ctx, idle, delta("m_idle", 1, 1)))
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	const n = 3000
	for seq := uint64(1); seq <= n; seq++ {
		must(t, s.Append(ctx, lease, delta("m_1", 1, seq)))
		if tail := s.tailOf("m_1"); tail.bytes > 10_000+1000 {
			t.Fatalf("%d bytes in memory after seq %d", tail.bytes, seq)
		}
	}
	var size int
	must(t, s.scan(ctx, "SELECT sum(length(frames)) FROM journal", nil, &size))
	if size > 110_000 {
		t.Fatalf("the journal holds %d bytes", size)
	}
	must(t, s.Append(ctx, lease, done("m_1", 1, n+1)))
	if s.tailOf("m_1") != nil {
		t.Fatal("the tail outlives its group")
	}
	must(t, s.Release(ctx, lease))
	if len(s.logs) != 1 {
		t.Fatalf("%d logs in memory, want the running one", len(s.logs))
	}
	next := uint64(1)
	for e, err := range s.Read(ctx, "m_1", 0) {
		must(t, err)
		if e.Seq != next {
			t.Fatalf("seq %d, want %d", e.Seq, next)
		}
		next++
	}
	if next != n+2 {
		t.Fatalf("%d events stored", next-1)
	}
	must(t, s.Append(ctx, idle, done("m_idle", 1, 2)))
}
