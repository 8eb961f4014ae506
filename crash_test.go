package inlay_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/model"
)

// serveEnv makes the test binary be a server: its value is the data directory.
const serveEnv = "CRASH_TEST_DATA"

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveEnv); dir != "" {
		if err := serveForCrashTest(dir); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

func serveForCrashTest(dir string) error {
	app, err := inlay.New(inlay.Config{Data: dir, LLM: talker{}, Limits: inlay.LimitsConfig{Coalesce: -1}, Log: inlay.LogConfig{Level: "error"}})
	if err != nil {
		return err
	}
	type none struct{}
	if err := app.AddTools(inlay.NewTool("show_numbers", "Shows numbers.", func(ctx context.Context, _ none, out *inlay.Out) error {
		time.Sleep(time.Duration(rand.IntN(20)) * time.Millisecond)
		return out.Metric(inlay.Metric{Items: []inlay.MetricItem{{Label: "n", Value: 42.0}}})
	})); err != nil {
		return err
	}
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	return app.Serve(ctx, ln, func() { fmt.Println("http://" + ln.Addr().String()) })
}

// talker calls its tool, then talks until it is stopped.
type talker struct{}

func (talker) Info() model.Info { return model.Info{Kind: "test", Name: "talker"} }

func (talker) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	last := req.Messages[len(req.Messages)-1]
	if last.Content == "short" {
		return model.Response{Text: "Short.", Finish: model.FinishStop}, on(model.Delta{Text: "Short."})
	}
	if last.Role == model.RoleUser {
		return model.Response{Finish: model.FinishToolCalls, Calls: []model.Call{{ID: "c1", Name: "show_numbers", Arguments: json.RawMessage("{}")}}}, nil
	}
	for i := 0; ; i++ {
		if err := on(model.Delta{Text: "word" + strconv.Itoa(i) + " "}); err != nil {
			return model.Response{}, err
		}
		select {
		case <-ctx.Done():
			return model.Response{}, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
}

type child struct {
	cmd *exec.Cmd
	url string
}

func startChild(t *testing.T, dir string) *child {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), serveEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("the server did not start: %v", err)
	}
	go func() { _, _ = io.Copy(io.Discard, out) }()
	return &child{cmd: cmd, url: strings.TrimSpace(line)}
}

// received is what one client saw: the data of each frame by its id.
type received struct {
	msg, conversation string
	mu                sync.Mutex
	frames            map[uint64]string
}

func (r *received) count() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.frames)
}

// read collects frames until the stream ends, however it ends.
func (r *received) read(body io.Reader) {
	sc := bufio.NewScanner(body)
	sc.Buffer(nil, 1<<20)
	var id uint64
	for sc.Scan() {
		switch line := sc.Text(); {
		case strings.HasPrefix(line, "id: "):
			id, _ = strconv.ParseUint(line[4:], 10, 64)
		case strings.HasPrefix(line, "data: "):
			r.mu.Lock()
			r.frames[id] = line[6:]
			r.mu.Unlock()
		}
	}
}

func ask(ctx context.Context, url, conversation, text string) (*http.Response, error) {
	body, err := json.Marshal(map[string]any{"conversationId": conversation, "input": map[string]string{"text": text}})
	if conversation == "" {
		body, err = json.Marshal(map[string]any{"input": map[string]string{"text": text}})
	}
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, "POST", url+"/v1/chat", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	return http.DefaultClient.Do(req)
}

// TestKill9 kills the server under load at random moments and expects every
// event that any client had received to be in the log of the next one, without
// a gap, every message to have an end, and every conversation to go on.
func TestKill9(t *testing.T) {
	rounds, streams := 4, 20
	if testing.Short() {
		rounds = 1
	}
	dir := t.TempDir()
	for round := range rounds {
		c := startChild(t, dir)
		var wg sync.WaitGroup
		all := make([]*received, streams)
		for i := range streams {
			all[i] = &received{frames: map[uint64]string{}}
		}
		for i, r := range all {
			wg.Go(func() {
				resp, err := ask(t.Context(), c.url, "", fmt.Sprintf("question %d", i))
				if err != nil {
					return // killed before the answer
				}
				defer resp.Body.Close()
				r.msg, r.conversation = resp.Header.Get("X-Message-Id"), resp.Header.Get("X-Conversation-Id")
				r.read(resp.Body)
			})
		}
		// The moment is counted in events, so that a slow machine is killed in
		// the middle of its work too.
		moment, late := 1+rand.IntN(4000), time.Now().Add(20*time.Second)
		for seen := 0; seen < moment && time.Now().Before(late); {
			time.Sleep(time.Millisecond)
			seen = 0
			for _, r := range all {
				seen += r.count()
			}
		}
		if err := c.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = c.cmd.Wait()
		wg.Wait()

		c = startChild(t, dir)
		checked, events := 0, 0
		for _, r := range all {
			if r.msg == "" {
				continue
			}
			checked++
			resp, err := http.Get(c.url + "/v1/messages/" + r.msg + "/events?after=0")
			if err != nil || resp.StatusCode != 200 {
				t.Fatalf("round %d: read %s again: %v %v", round, r.msg, resp, err)
			}
			again := &received{frames: map[uint64]string{}}
			again.read(resp.Body)
			resp.Body.Close()
			for id, data := range r.frames {
				if again.frames[id] != data {
					t.Errorf("round %d: event %d of %s was shown and is lost or changed\n%s\n%s", round, id, r.msg, data, again.frames[id])
				}
			}
			n := uint64(len(again.frames))
			for id := uint64(1); id <= n; id++ {
				if _, ok := again.frames[id]; !ok {
					t.Errorf("round %d: gap at %d of %d in %s", round, id, n, r.msg)
				}
			}
			if last := again.frames[n]; !strings.Contains(last, "turn_interrupted") {
				t.Errorf("round %d: %s ends with %s", round, r.msg, last)
			}
			events += len(r.frames)
			short, err := ask(t.Context(), c.url, r.conversation, "short")
			if err != nil || short.StatusCode != 200 {
				t.Fatalf("round %d: the conversation does not go on: %v %v", round, short, err)
			}
			body, _ := io.ReadAll(short.Body)
			short.Body.Close()
			if !bytes.Contains(body, []byte(`"finishReason":"stop"`)) {
				t.Errorf("round %d: the next answer: %s", round, body)
			}
		}
		t.Logf("round %d: %d messages, %d events received before the kill", round, checked, events)
		if checked == 0 || events == 0 {
			t.Errorf("round %d proved nothing", round)
		}
		if err := c.cmd.Process.Signal(syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := c.cmd.Wait(); err != nil {
			t.Errorf("round %d: the server did not end cleanly: %v", round, err)
		}
	}
}
