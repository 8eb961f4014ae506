package inlay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model/scripted"
)

// TestDemoAnswersItsSuggestions asks what the empty page offers, in both
// languages, and expects whole answers made of finished blocks.
func TestDemoAnswersItsSuggestions(t *testing.T) {
	llm, err := scripted.New(scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	app, err := inlay.New(inlay.Config{Data: t.TempDir(), LLM: llm, Log: inlay.LogConfig{Level: "error"}})
	if err != nil {
		t.Fatal(err)
	}
	h, err := app.Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	call := func(method, path, lang string, body any) (http.Header, []byte) {
		t.Helper()
		raw, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		req, err := http.NewRequestWithContext(t.Context(), method, srv.URL+path, bytes.NewReader(raw))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("Accept-Language", lang)
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		got, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode >= 300 {
			t.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, got, err)
		}
		return resp.Header, got
	}
	seen := map[string]bool{}
	for _, lang := range []string{"en", "zh"} {
		var config struct{ Suggestions []struct{ Text string } }
		_, raw := call("GET", "/v1/client-config", lang, nil)
		if err := json.Unmarshal(raw, &config); err != nil || len(config.Suggestions) < 8 {
			t.Fatalf("%s: %s, %v", lang, raw, err)
		}
		for _, s := range config.Suggestions {
			head, _ := call("POST", "/v1/chat", lang, map[string]any{"input": map[string]string{"text": s.Text}})
			var m struct {
				Status event.Status
				Blocks []block.Block
			}
			_, raw := call("GET", "/v1/messages/"+head.Get("X-Message-Id"), lang, nil)
			if err := json.Unmarshal(raw, &m); err != nil {
				t.Fatal(err)
			}
			kinds, shown := []string{}, false
			for _, b := range m.Blocks {
				kinds = append(kinds, b.Type)
				seen[b.Type] = true
				shown = shown || b.Type != "text"
				// One of them shows a failure, and says so.
				if b.Status != block.StatusDone && !strings.Contains(s.Text, "fails once") && !strings.Contains(s.Text, "失败一次") {
					t.Errorf("%s: a %s is %s: %+v", s.Text, b.Type, b.Status, b.Err)
				}
			}
			if m.Status != event.StatusDone && m.Status != event.StatusPaused || !shown {
				t.Errorf("%s: %s with %v", s.Text, m.Status, kinds)
			}
		}
	}
	for _, kind := range []string{"text", "chart", "table", "query", "form", "file", "image", "card_list", "confirm"} {
		if !seen[kind] {
			t.Errorf("no suggestion shows a %s", kind)
		}
	}
}
