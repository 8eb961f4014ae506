package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/inlay-ui/inlay"
)

// parsed reads a command line.
func parsed(t *testing.T, args ...string) *proxyCmd {
	t.Helper()
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": "test", "defaultAddr": inlay.DefaultAddr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse(append([]string{"proxy"}, args...)); err != nil {
		t.Fatal(err)
	}
	return &c.Proxy
}

// listening runs a command that serves and returns its address. The test waits
// for its end.
func listening(t *testing.T, run func(ctx context.Context) error) string {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stdout := os.Stdout
	os.Stdout = w
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() {
		ended <- run(ctx)
		w.Close()
	}()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		os.Stdout = stdout
		r.Close()
	})
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if url, ok := strings.CutPrefix(lines.Text(), "inlay: listening on "); ok {
			return url
		}
	}
	t.Fatal("it does not listen")
	return ""
}

// TestProxy: one command before a back end that streams text, and our clients
// get text, a card, text.
func TestProxy(t *testing.T) {
	const said = "Look at this one:\n\n```ProductCard\n{\n  \"id\": \"p-17\",\n  \"title\": \"Sample watch 手表\"\n}\n```\n\nIt lasts two weeks."
	var mu sync.Mutex
	var got []string
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		got = append(got, r.URL.Path, r.Header.Get("Authorization"), r.Header.Get("X-Team"), string(body))
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		runes := []rune(said)
		for n := 1; len(runes) > 0; n = n%4 + 1 { // in odd pieces
			piece, err := json.Marshal(string(runes[:min(n, len(runes))]))
			if err != nil {
				panic(err)
			}
			runes = runes[min(n, len(runes)):]
			fmt.Fprintf(w, ": wait\r\n\r\ndata: {\"choices\": [{\"delta\":\r\ndata: {\"content\": %s}}]}\r\n\r\n", piece)
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "event: done\r\ndata: {}\r\n\r\n")
	}))
	defer upstream.Close()
	t.Setenv("SAMPLE_KEY", "sample-key")
	cmd := parsed(t, "--upstream", upstream.URL+"/bot", "--format", "text", "--text-path", "/choices/0/delta/content", "--body", `{"query":"{{.Text}}"}`,
		"--key-env", "SAMPLE_KEY", "--header", "X-Team=a;b=c", "--addr", "127.0.0.1:0", "--data", t.TempDir())
	url := listening(t, func(ctx context.Context) error { return cmd.Run(ctx, &cli{LogLevel: "error"}) })

	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat", strings.NewReader(`{"input":{"text":"Which \"watch\"?"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	stream, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var kinds []string
	for line := range strings.Lines(string(stream)) {
		if kind, ok := strings.CutPrefix(strings.TrimSpace(line), "event: "); ok && (len(kinds) == 0 || kinds[len(kinds)-1] != kind) {
			kinds = append(kinds, kind)
		}
	}
	if want := []string{"start", "text_delta", "text_end", "block_start", "block_end", "text_delta", "text_end", "done"}; !reflect.DeepEqual(kinds, want) {
		t.Errorf("%d %q\n%s", res.StatusCode, kinds, stream)
	}
	if !strings.Contains(string(stream), `"title":"Sample watch 手表"`) {
		t.Errorf("no card:\n%s", stream)
	}
	mu.Lock()
	defer mu.Unlock()
	if want := []string{"/bot", "Bearer sample-key", "a;b=c", `{"query":"Which \"watch\"?"}`}; !reflect.DeepEqual(got, want) {
		t.Errorf("asked %q", got)
	}
}

func TestProxyNamesTheCure(t *testing.T) {
	for want, args := range map[string][]string{
		"such as http://":           {},
		"--format text":             {"--upstream", "http://127.0.0.1:1", "--body", "{}"},
		"--model":                   {"--upstream", "http://127.0.0.1:1"},
		"is not set":                {"--upstream", "http://127.0.0.1:1", "--key-env", "INLAY_TEST_NO_SUCH_KEY"},
		"absolute http":             {"--upstream", "localhost", "--format", "text"},
		"no JSON Pointer":           {"--upstream", "http://127.0.0.1:1", "--format", "text", "--text-path", "delta"},
		"does not become JSON":      {"--upstream", "http://127.0.0.1:1", "--format", "text", "--body", "q={{.Text}}"},
		"beside which there is no":  {"--upstream", "http://127.0.0.1:1", "--format", "text", "--auth", "forward", "--header", "Authorization=x", "--key-env", "PATH"},
		"carries the token of each": {"--upstream", "http://127.0.0.1:1", "--format", "text", "--auth", "forward", "--header", "Authorization=x"},
	} {
		cmd := parsed(t, append(args, "--addr", "127.0.0.1:0", "--data", t.TempDir())...)
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		if err := cmd.Run(ctx, &cli{LogLevel: "error"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
		cancel()
	}
}

// TestProxyTakesTheFile: flags go before the section model of the file, whose
// other sections are in force.
func TestProxyTakesTheFile(t *testing.T) {
	m := inlay.ModelConfig{Kind: "text", BaseURL: "http://h/a", Name: "a", Headers: map[string]string{"X-A": "1", "X-B": "1"}, APIKeyFile: "f"}
	t.Setenv("SAMPLE_KEY", "sample-key")
	if err := parsed(t, "--upstream", "http://h/b", "--header", "X-B=2", "--key-env", "SAMPLE_KEY", "--text-path=", "--text-event", "delta", "--text-event", "message", "--omit-system").lay(&m); err != nil {
		t.Fatal(err)
	}
	if m.TextPath == nil || *m.TextPath != "" {
		t.Errorf("%v", m.TextPath)
	}
	m.TextPath = nil
	if want := (inlay.ModelConfig{Kind: "text", BaseURL: "http://h/b", Name: "a", Headers: map[string]string{"X-A": "1", "X-B": "2"}, APIKeyEnv: "SAMPLE_KEY", TextEvents: []string{"delta", "message"}, OmitSystem: true}); !reflect.DeepEqual(m, want) {
		t.Errorf("%+v", m)
	}
}
