package sqlite

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

var alice = store.Owner{Tenant: "acme", User: "alice"}

// begin starts a turn without a question.
func begin(ctx context.Context, s *Store, conversation, msg string) error {
	return s.Begin(ctx, store.BeginTurn{Owner: alice, Conversation: store.Conversation{ID: conversation},
		Assistant: store.Message{ID: msg, Role: store.RoleAssistant, Status: event.StatusRunning}})
}

func exclusive(msg, block, key string) store.ActionReserve {
	return store.ActionReserve{
		Call: store.ActionCall{ID: id.New("x"), Owner: alice, Msg: msg, Block: block, Action: "submit", Key: key,
			Holder: "one", StartedAt: time.Now(), LeaseUntil: time.Now().Add(time.Minute)},
		Exclusive: true, State: json.RawMessage(`"submitting"`),
	}
}

func ending(call string, status store.CallStatus, at time.Time) store.ActionFinish {
	return store.ActionFinish{
		ID: call, Holder: "one", Status: status, HTTPStatus: 200, At: at, State: json.RawMessage(`"` + status + `"`),
		Answer: func(st store.BlockState) ([]byte, error) { return fmt.Appendf(nil, `{"rev": %d}`, st.Rev), nil },
		Audit:  store.AuditEntry{ID: id.New("l"), At: at, Tenant: alice.Tenant, User: alice.User, Call: call, Decision: "allowed"},
	}
}

// TestReopenActions restarts a store in which one call has ended, one runs and
// a turn waits for a person.
func TestReopenActions(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "inlay.db")
	s := open(t, Options{Path: path})
	must(t, begin(ctx, s, "c_1", "m_1"))
	must(t, s.PutTurnState(ctx, store.TurnState{Msg: "m_1", Owner: alice, Paused: true, ExpiresAt: time.Now(), Data: json.RawMessage(`{"step":2}`)}))
	must(t, s.PutMessage(ctx, store.Message{ID: "m_1", Owner: alice, Status: event.StatusPaused}))
	ended, running := exclusive("m_1", "b_ended", "key-ended"), exclusive("m_1", "b_running", "key-running")
	ended.Nonce, ended.NonceUntil = "nonce", time.Now().Add(time.Minute)
	for _, r := range []store.ActionReserve{ended, running} {
		_, err := s.ReserveAction(ctx, r)
		must(t, err)
	}
	_, _, err := s.FinishAction(ctx, ending(ended.Call.ID, store.CallDone, time.Now()))
	must(t, err)
	must(t, s.Close())

	s = open(t, Options{Path: path})
	if expired, err := s.ExpiredActions(ctx, time.Now()); err != nil || len(expired) != 0 {
		t.Fatalf("the lease of %+v is over with the process (%v)", expired, err)
	}
	late := time.Now().Add(2 * time.Minute)
	expired, err := s.ExpiredActions(ctx, late)
	must(t, err)
	if len(expired) != 1 || expired[0].ID != running.Call.ID || !expired[0].LeaseUntil.Equal(running.Call.LeaseUntil) {
		t.Fatalf("expired %+v", expired)
	}
	_, err = s.ReserveAction(ctx, ended)
	var known *store.CallError
	if !errors.As(err, &known) || string(known.Call.Answer) != `{"rev": 3}` {
		t.Fatalf("the answer of before the restart: %v", err)
	}
	again := exclusive("m_1", "b_running", "key-again")
	_, err = s.ReserveAction(ctx, again)
	var state *store.StateError
	if !errors.As(err, &state) || !state.State.Pending {
		t.Fatalf("a block that is held: %v", err)
	}
	again.Call.Block, again.Nonce = "b_other", "nonce"
	if _, err = s.ReserveAction(ctx, again); !errors.Is(err, store.ErrTokenUsed) {
		t.Fatalf("a confirmation that was used: %v", err)
	}
	// Its first holder lives on under another name, or not at all.
	_, err = s.TakeAction(ctx, running.Call.ID, "two", late, late.Add(time.Minute))
	must(t, err)
	if msgs, err := s.PausedBefore(ctx, late); err != nil || len(msgs) != 1 {
		t.Fatalf("paused %v (%v)", msgs, err)
	}
	must(t, s.ResumeTurn(ctx, alice, "m_1"))
}

// actingPath names the database in which a child process acts until it is
// killed.
const actingPath = "INLAY_TEST_SQLITE_ACTING"

// actors is how many act at the same time, each on a block of its own.
const actors = 8

// actUntilKilled calls actions and prints each step once it is acknowledged.
// What an earlier life left is ended first, with an unknown outcome.
func actUntilKilled(path string) error {
	ctx := context.Background()
	s, err := Open(ctx, Options{Path: path})
	if err != nil {
		return err
	}
	late := time.Now().Add(time.Hour)
	left, err := s.ExpiredActions(ctx, late)
	if err != nil {
		return err
	}
	for _, c := range left {
		if _, err := s.TakeAction(ctx, c.ID, "one", late, late); err != nil {
			return err
		}
		if _, _, err := s.FinishAction(ctx, ending(c.ID, store.CallUnknown, late)); err != nil {
			return err
		}
	}
	failed := make(chan error)
	for i := range actors {
		go func() {
			for {
				r := exclusive("m_1", fmt.Sprint("b_", i), id.New("key"))
				if _, err := s.ReserveAction(ctx, r); err != nil {
					failed <- err
					return
				}
				fmt.Fprintf(os.Stdout, "%s running\n", r.Call.Key)
				if _, _, err := s.FinishAction(ctx, ending(r.Call.ID, store.CallDone, time.Now())); err != nil {
					failed <- err
					return
				}
				fmt.Fprintf(os.Stdout, "%s done\n", r.Call.Key)
			}
		}()
	}
	return <-failed
}

// TestKillActing kills an acting process at random moments. What was
// acknowledged is there afterwards, and calls, states of blocks and the audit
// log tell the same story.
func TestKillActing(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "inlay.db")
	s := open(t, Options{Path: path})
	must(t, begin(ctx, s, "c_1", "m_1"))
	must(t, s.Close())
	acked := map[string]store.CallStatus{}
	running := 0
	for round := range 5 {
		untilKilled(t, actingPath+"="+path, func(line string) {
			key, word, _ := strings.Cut(strings.TrimSpace(line), " ")
			acked[key] = store.CallStatus(word)
		})
		s := open(t, Options{Path: path})
		counts := map[store.CallStatus]int{}
		must(t, s.each(ctx, "SELECT status, count(*) FROM action_calls GROUP BY status", nil, func(row scanner) error {
			var status store.CallStatus
			var n int
			err := row.Scan(&status, &n)
			counts[status] = n
			return err
		}))
		running += counts[store.CallRunning]
		for key, status := range acked {
			c, err := s.ActionCall(ctx, alice, key)
			if err != nil || status == store.CallDone && c.Status != store.CallDone {
				t.Fatalf("round %d: %s was acknowledged as %s and is %+v (%v)", round, key, status, c, err)
			}
			if (c.Status == store.CallRunning) != (c.Answer == nil) {
				t.Fatalf("round %d: %s is %s with answer %q", round, key, c.Status, c.Answer)
			}
		}
		var entries int
		must(t, s.scan(ctx, "SELECT count(*) FROM audit", nil, &entries))
		if entries != counts[store.CallDone]+counts[store.CallUnknown] {
			t.Fatalf("round %d: %d audit entries of %v", round, entries, counts)
		}
		states, err := s.BlockStates(ctx, alice, "m_1")
		must(t, err)
		changes, pending := 0, 0
		for _, st := range states {
			changes += st.Rev - 1
			if st.Pending {
				pending++
			}
			if st.Pending != (string(st.State) == `"submitting"`) {
				t.Fatalf("round %d: state %+v", round, st)
			}
		}
		if pending != counts[store.CallRunning] || changes != 2*entries+pending {
			t.Fatalf("round %d: %d changes of states and %d held blocks of %v", round, changes, pending, counts)
		}
		must(t, s.Close())
	}
	t.Logf("%d acknowledged calls, %d of them cut short", len(acked), running)
}

// TestMigrate opens a file as the first release wrote it.
func TestMigrate(t *testing.T) {
	ctx := t.Context()
	path := filepath.Join(t.TempDir(), "inlay.db")
	db, err := sql.Open("sqlite", path)
	must(t, err)
	for _, name := range []string{"0001_log.sql", "0002_records.sql"} {
		script, err := migrations.ReadFile("migrations/" + name)
		must(t, err)
		_, err = db.Exec(string(script))
		must(t, err)
	}
	_, err = db.Exec(`PRAGMA user_version = 2;
		INSERT INTO conversations (id, tenant, user, title, folded, created, updated, leaf, running, hidden)
			VALUES ('c_1', 'acme', 'alice', 'Sample', 'sample', 1, 2, 'm_1', '', 0);
		INSERT INTO messages (id, conversation, tenant, user, role, parent, created, status, blocks, seq, finish, usage, folded)
			VALUES ('m_1', 'c_1', 'acme', 'alice', 'assistant', '', 1, 'done', '[{"id":"b_1","type":"text"}]', 7, 'stop', '{}', 'findable')`)
	must(t, err)
	must(t, db.Close())

	s := open(t, Options{Path: path})
	m, err := s.Message(ctx, alice, "m_1")
	must(t, err)
	if m.Seq != 7 || len(m.Blocks) != 1 || m.Feedback != nil {
		t.Fatalf("message %+v", m)
	}
	must(t, s.PutFeedback(ctx, alice, "m_1", store.Feedback{Rating: "up"}))
	_, err = s.ReserveAction(ctx, exclusive("m_1", "b_1", "key"))
	must(t, err)
	m.Blocks = append(m.Blocks, block.Block{ID: "b_2", Type: "text", Payload: json.RawMessage(`"and searched"`)})
	must(t, s.PutMessage(ctx, m))
	found, _, err := s.Conversations(ctx, alice, store.ListOptions{Query: "searched"})
	if err != nil || len(found) != 1 {
		t.Fatalf("found %+v (%v)", found, err)
	}
}

// TestAuditStays tries to change what the audit log has.
func TestAuditStays(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{})
	must(t, s.AppendAudit(ctx, store.AuditEntry{ID: "l_1", User: "alice"}))
	for _, query := range []string{"UPDATE audit SET user = 'bob'", "DELETE FROM audit"} {
		err := s.write(ctx, func(t *tx) error { _, err := t.exec(query); return wrap(query, err) })
		if err == nil || !strings.Contains(err.Error(), "append-only") {
			t.Errorf("%s: %v", query, err)
		}
	}
	if list, _, err := s.Audit(ctx, store.AuditQuery{}); err != nil || len(list) != 1 || list[0].User != "alice" {
		t.Errorf("audit log %+v (%v)", list, err)
	}
}

// TestDeleteLeavesNothing counts the rows that a deleted conversation leaves,
// also where no method looks any more.
func TestDeleteLeavesNothing(t *testing.T) {
	ctx := t.Context()
	s := open(t, Options{})
	must(t, begin(ctx, s, "c_1", "m_1"))
	must(t, s.PutTurnState(ctx, store.TurnState{Msg: "m_1", Owner: alice}))
	must(t, s.PutBlockCall(ctx, store.BlockCall{Block: "b_1", Message: "m_1", Owner: alice}))
	must(t, s.PutTrajectory(ctx, alice, "m_1", json.RawMessage(`{}`)))
	lease, _, err := s.Acquire(ctx, "m_1", "one", time.Minute)
	must(t, err)
	must(t, s.Append(ctx, lease, delta("m_1", 1, 1), done("m_1", 1, 2)))
	r := exclusive("m_1", "b_1", "key")
	_, err = s.ReserveAction(ctx, r)
	must(t, err)
	_, _, err = s.FinishAction(ctx, ending(r.Call.ID, store.CallDone, time.Now()))
	must(t, err)
	_, err = s.PutAlias(ctx, store.Alias{Owner: alice, Dialect: "sample", Kind: store.AliasThread, Foreign: "t", ID: "c_1", Conversation: "c_1"})
	must(t, err)
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	for _, table := range []string{
		"conversations", "messages", "logs", "chunks", "block_calls", "trajectories", "idempotency", "feed",
		"turn_states", "action_calls", "block_states", "aliases",
	} {
		var n int
		must(t, s.scan(ctx, "SELECT count(*) FROM "+table, nil, &n))
		if n != 0 {
			t.Errorf("%s has %d rows", table, n)
		}
	}
}
