package client_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/client"
	"github.com/inlay-ui/inlay/event"
)

// answer writes events from a number on as the server frames them.
func answer(w http.ResponseWriter, from int, names ...string) {
	for i, name := range names {
		seq := from + i
		if name == "" { // not for this reader
			fmt.Fprintf(w, "id: %d\n\n", seq)
			continue
		}
		fmt.Fprintf(w, ": ping\n\nid: %d\nevent: %s\ndata: {\"v\":1,\"msgId\":\"m_1\",\"seq\":%d,\"group\":1,\"at\":%d,\"data\":{}}\n\n", seq, name, seq, seq)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}

func serve(t *testing.T, h http.HandlerFunc) *client.Client {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	return &client.Client{URL: srv.URL + "/", Patience: 5 * time.Second}
}

func read(t *testing.T, ctx context.Context, s *client.Stream) ([]string, error) {
	t.Helper()
	var got []string
	for e, err := range s.Events(ctx) {
		if err != nil {
			return got, err
		}
		got = append(got, fmt.Sprintf("%d %s", e.Seq, e.Type))
	}
	return got, nil
}

// TestStreamGoesOnAfterCuts: however a connection ends, the next one begins
// after the last number, and no event is seen twice or missed.
func TestStreamGoesOnAfterCuts(t *testing.T) {
	var asked []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		last := r.Header.Get("Last-Event-ID")
		asked = append(asked, r.Method+" "+r.URL.Path+" "+last)
		switch len(asked) {
		case 1:
			w.Header().Set("X-Message-Id", "m_1")
			w.Header().Set("X-Conversation-Id", "c_1")
			answer(w, 1, "start", "text_delta") // ends cleanly, and too early
		case 2:
			answer(w, 3, "", "") // frames without events move the cursor
			panic(http.ErrAbortHandler)
		case 3:
			w.WriteHeader(http.StatusServiceUnavailable)
		case 4:
			answer(w, 4, "", "text_end") // one that was there already
			fmt.Fprint(w, "id: 6\nevent: do")
		default:
			answer(w, 6, "done")
		}
	})
	cuts, mended := 0, 0
	c.OnCut = func(err error) {
		if err != nil {
			cuts++
		} else {
			mended++
		}
	}
	s, err := c.Ask(t.Context(), client.Question{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	got, err := read(t, t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"1 start", "2 text_delta", "5 text_end", "6 done"}; !slices.Equal(got, want) {
		t.Errorf("events are %v, want %v", got, want)
	}
	want := []string{"POST /v1/chat ", "GET /v1/messages/m_1/events 2", "GET /v1/messages/m_1/events 4", "GET /v1/messages/m_1/events 4", "GET /v1/messages/m_1/events 5"}
	if !slices.Equal(asked, want) {
		t.Errorf("requests are %q, want %q", asked, want)
	}
	if cuts != 4 || mended != 3 || s.Last() != 6 || s.Conversation != "c_1" {
		t.Errorf("%d cuts, %d mended, last %d, conversation %s", cuts, mended, s.Last(), s.Conversation)
	}
}

// TestNothingWasLeft: a group that was open when a reader came, and that has left
// nothing, is no connection that was lost.
func TestNothingWasLeft(t *testing.T) {
	asked := 0
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if asked++; asked == 1 {
			return // ends cleanly, without an event
		}
		w.WriteHeader(http.StatusNoContent)
	})
	c.OnCut = func(err error) { t.Errorf("cut: %v", err) }
	if got, err := read(t, t.Context(), c.Follow("m_1", 7)); err != nil || len(got) > 0 || asked != 2 {
		t.Errorf("%v, %v, asked %d times", got, err, asked)
	}
}

// TestQuestionIsAskedOnce: a question whose answer is lost is sent again under
// the key that it had.
func TestQuestionIsAskedOnce(t *testing.T) {
	var keys []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		keys = append(keys, r.Header.Get("Idempotency-Key"))
		if len(keys) < 3 {
			panic(http.ErrAbortHandler)
		}
		answer(w, 1, "done")
	})
	c.Token, c.Blocks, c.Language = "secret", []string{"inlay.chart@1", "inlay.table@1"}, "zh"
	s, err := c.Ask(t.Context(), client.Question{Text: "x"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := read(t, t.Context(), s); err != nil {
		t.Error(err)
	}
	if len(keys) != 3 || keys[0] == "" || keys[0] != keys[1] || keys[1] != keys[2] {
		t.Errorf("keys are %q", keys)
	}
}

func TestSilentConnectionIsGivenUp(t *testing.T) {
	var n atomic.Int32
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if n.Add(1) == 1 {
			answer(w, 1, "start")
			<-r.Context().Done()
			return
		}
		answer(w, 2, "done")
	})
	c.Idle = 100 * time.Millisecond
	got, err := read(t, t.Context(), c.Follow("m_1", 0))
	if err != nil || !slices.Equal(got, []string{"1 start", "2 done"}) {
		t.Errorf("%v, %v", got, err)
	}
}

func TestStreamEnds(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/v1/messages/over/events":
			w.WriteHeader(http.StatusNoContent)
		case "/v1/messages/broken/events":
			fmt.Fprint(w, "id: 1\nevent: start\ndata: {\n\n")
		case "/v1/messages/long/events":
			answer(w, 1, "start", "text_delta")
			<-r.Context().Done()
		case "/v1/messages/gone/events":
			panic(http.ErrAbortHandler)
		default:
			w.WriteHeader(http.StatusNotFound)
			fmt.Fprint(w, `{"error":{"code":"not_found","message":"There is no such message.","retryable":false,"traceId":"t"}}`)
		}
	})
	if got, err := read(t, t.Context(), c.Follow("over", 7)); err != nil || len(got) > 0 {
		t.Errorf("nothing is left: %v, %v", got, err)
	}
	var e *client.Error
	if _, err := read(t, t.Context(), c.Follow("other", 0)); !errors.As(err, &e) || e.Code != "not_found" || e.TraceID != "t" || e.Status != 404 {
		t.Errorf("no such message: %v", err)
	}
	if _, err := read(t, t.Context(), c.Follow("broken", 0)); err == nil {
		t.Error("what is no event is read")
	}
	c.Patience = time.Nanosecond
	if _, err := read(t, t.Context(), c.Follow("gone", 0)); err == nil {
		t.Error("a server that is gone is waited for")
	}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n := 0
	var last error
	for _, err := range c.Follow("long", 0).Events(ctx) {
		last = err
		if n++; n == 2 {
			cancel()
		}
	}
	if !errors.Is(last, context.Canceled) || n != 3 {
		t.Errorf("cancelled after %d: %v", n, last)
	}
	for e := range c.Follow("long", 0).Events(t.Context()) {
		if e.Type == event.Start {
			break
		}
	}
}

func TestActions(t *testing.T) {
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		var body struct {
			ActionID, ConfirmToken string
			Payload                map[string]any
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		switch {
		case r.Header.Get("Authorization") != "Bearer secret":
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "<html>a proxy's own page</html>")
		case body.ActionID == "fill":
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":{"code":"action_payload_invalid","message":"x","details":{"violations":[{"path":"/a","message":"too short"}]}}}`)
		default:
			fmt.Fprint(w, `{"status":"done","msgId":"m_1","afterSeq":12,"feedback":{"successText":"Sent."}}`)
		}
	})
	var e *client.Error
	_, err := c.Act(t.Context(), client.Call{Action: "send"})
	if !errors.As(err, &e) || e.Status != 401 || !strings.Contains(err.Error(), "Unauthorized") {
		t.Errorf("without a token: %v", err)
	}
	c.Token = "secret"
	out, err := c.Act(t.Context(), client.Call{Message: "m_1", Block: "b_1", Action: "send", Key: client.NewKey(), Payload: map[string]any{"a": 1}})
	if err != nil || out.Status != "done" || out.AfterSeq == nil || *out.AfterSeq != 12 || out.Feedback.SuccessText != "Sent." {
		t.Errorf("%+v, %v", out, err)
	}
	_, err = c.Act(t.Context(), client.Call{Action: "fill"})
	if !errors.As(err, &e) || len(e.Violations()) != 1 || e.Violations()[0].Path != "/a" {
		t.Errorf("values that do not fit: %v", err)
	}
}

// TestTokenStaysWithItsServer: a redirect does not take it elsewhere.
func TestTokenStaysWithItsServer(t *testing.T) {
	var elsewhere atomic.Int32
	other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { elsewhere.Add(1) }))
	defer other.Close()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, other.URL, http.StatusTemporaryRedirect)
	})
	c.Token = "secret"
	if _, err := c.Ask(t.Context(), client.Question{Text: "x"}); err == nil {
		t.Error("a redirect is an answer")
	}
	if _, err := c.Config(t.Context()); err == nil {
		t.Error("a redirect is a configuration")
	}
	if elsewhere.Load() > 0 {
		t.Error("a redirect was followed")
	}
}

func ExampleClient() {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "id: 1\nevent: text_delta\ndata: {\"msgId\":\"m_1\",\"blockId\":\"b_1\",\"seq\":1,\"group\":1,\"at\":0,\"data\":{\"delta\":\"East leads.\"}}\n\n"+
			"id: 2\nevent: done\ndata: {\"msgId\":\"m_1\",\"seq\":2,\"group\":1,\"at\":1,\"data\":{\"finishReason\":\"stop\"}}\n\n")
	}))
	defer srv.Close()

	ctx := context.Background()
	c := &client.Client{URL: srv.URL, Blocks: []string{"inlay.chart@1"}}
	stream, err := c.Ask(ctx, client.Question{Text: "Show the Q3 sales by region"})
	if err != nil {
		panic(err)
	}
	folder := event.NewFolder("")
	for e, err := range stream.Events(ctx) {
		if err != nil {
			panic(err)
		}
		folder.Apply(e)
	}
	st := folder.State()
	fmt.Println(st.Status, string(st.Blocks[0].Payload))
	// Output: done "East leads."
}
