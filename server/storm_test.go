package server

import (
	"context"
	"encoding/json"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/turn"
)

// TestStorm has many clients do everything to the same few conversations at
// once: ask, stop, retry, refresh, regenerate, edit, rename, read, leave and
// delete. Nothing fails that was not refused by name, and what is left is
// whole.
func TestStorm(t *testing.T) {
	st := onDisk(t, sqlite.Options{})
	var mu sync.Mutex
	var convs, msgs, users, blocks []string
	pick := func(list *[]string) string {
		mu.Lock()
		defer mu.Unlock()
		if len(*list) == 0 {
			return "none"
		}
		return (*list)[rand.IntN(len(*list))]
	}
	learn := func(list *[]string, id string) {
		mu.Lock()
		defer mu.Unlock()
		if id != "" {
			*list = append(*list, id)
		}
	}
	r := faultRig(t, st, testModel{}, testTools(t), turn.Limits{})
	for range 6 {
		s := r.ask("", "fail")
		r.rest(s)
		convs, msgs, users = append(convs, s.conversation()), append(msgs, s.msg()), append(users, s.userMsg())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	do := func(ctx context.Context, method, path string, body any) {
		var in io.Reader
		if body != nil {
			raw, err := json.Marshal(body)
			if err != nil {
				t.Error(err)
				return
			}
			in = strings.NewReader(string(raw))
		}
		req, err := http.NewRequestWithContext(ctx, method, r.srv.URL+path, in)
		if err != nil {
			t.Error(err)
			return
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Authorization", "Bearer alice")
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			return // the client has left
		}
		defer res.Body.Close()
		learn(&convs, res.Header.Get("X-Conversation-Id"))
		learn(&msgs, res.Header.Get("X-Message-Id"))
		learn(&users, res.Header.Get("X-User-Message-Id"))
		b, err := io.ReadAll(res.Body)
		if err != nil {
			return
		}
		if res.StatusCode >= 500 {
			t.Errorf("%s %s: %d %s", method, path, res.StatusCode, b)
		}
		for part := range strings.SplitSeq(string(b), `"blockId":"`) {
			if id, _, ok := strings.Cut(part, `"`); ok && strings.HasPrefix(id, "b_") && strings.Contains(part, "block_start") {
				learn(&blocks, id)
			}
		}
	}
	ask := func(c, text string) map[string]any {
		body := map[string]any{"input": map[string]string{"text": text}}
		if c != "" {
			body["conversationId"] = c
		}
		return body
	}
	questions := []string{"hello", "chart", "fail", "chart", "hold"}
	var wg sync.WaitGroup
	for range 32 {
		wg.Go(func() {
			for ctx.Err() == nil {
				one, leave := context.WithTimeout(ctx, time.Duration(50+rand.IntN(1000))*time.Millisecond)
				switch rand.IntN(14) {
				case 0:
					do(one, "POST", "/v1/chat", ask("", questions[rand.IntN(5)]))
				case 1, 2:
					do(one, "POST", "/v1/chat", ask(pick(&convs), questions[rand.IntN(5)]))
				case 3, 4:
					do(ctx, "POST", "/v1/messages/"+pick(&msgs)+"/stop", nil)
				case 5:
					do(one, "POST", "/v1/chat/blocks/"+pick(&blocks)+"/retry", nil)
				case 6:
					do(one, "POST", "/v1/chat/blocks/"+pick(&blocks)+"/refresh", nil)
				case 7:
					do(one, "POST", "/v1/chat", map[string]any{"regenerateOf": pick(&msgs)})
				case 8:
					body := ask("", "chart")
					body["editOf"] = pick(&users)
					do(one, "POST", "/v1/chat", body)
				case 9:
					do(one, "GET", "/v1/messages/"+pick(&msgs)+"/events", nil)
				case 10:
					do(one, "GET", "/v1/conversations/"+pick(&convs)+"/messages", nil)
				case 11:
					do(one, "GET", "/v1/conversations/"+pick(&convs)+"/events", nil)
				case 12:
					do(ctx, "PATCH", "/v1/conversations/"+pick(&convs), map[string]string{"title": "t"})
				case 13:
					if rand.IntN(4) == 0 {
						do(ctx, "DELETE", "/v1/conversations/"+pick(&convs), nil)
					}
				}
				leave()
			}
		})
	}
	wg.Wait()
	runner := r.handler().Runner.(*turn.Runner)
	down, stop := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer stop()
	if err := runner.Shutdown(down); err != nil {
		t.Fatal(err)
	}
	r.srv.CloseClientConnections()
	r.srv.Close() // waits for the handlers whose clients have left
	n := 0
	for next := ""; ; {
		list, more, err := st.Conversations(t.Context(), store.Owner{Tenant: "t1", User: "alice"}, store.ListOptions{Cursor: next, Limit: 200})
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range list {
			n++
			if c.Running != "" {
				t.Errorf("%s still runs", c.ID)
			}
			mu.Lock()
			all := append([]string(nil), msgs...)
			mu.Unlock()
			for _, id := range all {
				m, err := st.MessageOf(t.Context(), id)
				if err != nil || m.Conversation != c.ID {
					continue
				}
				checkLog(t, st, m)
			}
		}
		if next = more; next == "" {
			break
		}
	}
	t.Logf("%d conversations are left of %d messages", n, len(msgs))
}

// checkLog holds a message that has ended against its log.
func checkLog(t *testing.T, st store.Store, m store.Message) {
	t.Helper()
	g, f := event.NewGuard(m.ID), event.NewFolder(m.ID)
	for ev, err := range st.Read(t.Context(), m.ID, 0) {
		if err == nil {
			err = g.Check(ev)
		}
		if err != nil {
			t.Errorf("%s: %v", m.ID, err)
			return
		}
		f.Apply(ev)
	}
	got := f.State()
	a, _ := json.Marshal(m.Blocks)
	b, _ := json.Marshal(got.Blocks)
	if g.Open() || m.Status != got.Status || m.Seq != got.Seq || string(a) != string(b) {
		t.Errorf("%s: the record is %s at %d, the log %s at %d, open %v", m.ID, m.Status, m.Seq, got.Status, got.Seq, g.Open())
	}
}
