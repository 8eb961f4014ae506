package server

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// modelFunc is a model made of a function; step counts the calls of a turn.
type modelFunc func(ctx context.Context, step int, req model.Request, say func(string) error) (model.Response, error)

func (modelFunc) Info() model.Info { return model.Info{Kind: "scripted", Name: "fault-1"} }

func (f modelFunc) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	step := 1
	for i := len(req.Messages) - 1; i >= 0 && req.Messages[i].Role != model.RoleUser; i-- {
		if req.Messages[i].Role == model.RoleAssistant {
			step++
		}
	}
	text := ""
	resp, err := f(ctx, step, req, func(s string) error {
		text += s
		return on(model.Delta{Text: s})
	})
	resp.Text = text
	if resp.Finish == "" {
		resp.Finish = model.FinishStop
		if len(resp.Calls) > 0 {
			resp.Finish = model.FinishToolCalls
		}
	}
	return resp, err
}

// calls makes a model that calls a tool and then says a word.
func calls(name string) modelFunc {
	return func(_ context.Context, step int, _ model.Request, say func(string) error) (model.Response, error) {
		if step == 1 {
			return model.Response{Calls: []model.Call{{ID: "call_1", Name: name, Arguments: json.RawMessage(`{}`), Raw: `{}`}}}, nil
		}
		return model.Response{}, say("There.")
	}
}

func says(text string) modelFunc {
	return func(_ context.Context, _ int, _ model.Request, say func(string) error) (model.Response, error) {
		return model.Response{}, say(text)
	}
}

func showing(t testing.TB, name string, run func(context.Context, struct{}, *tool.Out) error) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: name, Description: "Show something."}, run)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

// faultRig is a whole server with a model and tools of the test's own.
func faultRig(t testing.TB, st store.Store, m model.Model, tools []tool.Tool, limits turn.Limits, change ...func(*Config)) *rig {
	t.Helper()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	if limits.Coalesce == 0 {
		limits.Coalesce = -1
	}
	runner, err := turn.New(turn.Config{
		Store: st, Model: m, Tools: set, Registry: reg, Limits: limits, Logger: slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelError})),
	})
	if err != nil {
		t.Fatal(err)
	}
	return newRigOn(t, st, append([]func(*Config){func(c *Config) {
		c.Runner, c.Model, c.Logger = runner, m.Info(), slog.New(slog.NewTextHandler(t.Output(), &slog.HandlerOptions{Level: slog.LevelWarn}))
		t.Cleanup(func() {
			ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
			defer cancel()
			_ = runner.Shutdown(ctx)
		})
	}}, change...)...)
}

func (r *rig) handler() *server { return r.srv.Config.Handler.(*server) }

func onDisk(t testing.TB, opt sqlite.Options) *sqlite.Store {
	t.Helper()
	if opt.Path == "" {
		opt.Path = filepath.Join(t.TempDir(), "test.db")
	}
	st, err := sqlite.Open(context.Background(), opt)
	if err != nil {
		t.Fatal(err)
	}
	return st
}

// fill stores conversations of somebody else until there is no room, and
// returns what makes room again.
func fill(t *testing.T, st store.Store) (empty func()) {
	t.Helper()
	filler := store.Owner{Tenant: "t9", User: "filler"}
	var ids []string
	for size := 40_000; size > 0; {
		id := fmt.Sprintf("c_fill_%d_%d", size, len(ids))
		err := st.CreateConversation(context.Background(), store.Conversation{ID: id, Owner: filler, Title: strings.Repeat("x", size)})
		switch {
		case err == nil:
			ids = append(ids, id)
		case errors.Is(err, store.ErrFull):
			size /= 4
		default:
			t.Fatal(err)
		}
		if len(ids) > 10_000 {
			t.Fatal("it never fills up")
		}
	}
	return func() {
		for _, id := range ids {
			if err := st.DeleteConversation(context.Background(), filler, id); err != nil {
				t.Errorf("delete on a full disk: %v", err)
				return
			}
		}
	}
}

// A full disk refuses what it cannot keep by name, loses nothing, and is not
// the end.
func TestDiskFull(t *testing.T) {
	t.Run("before a turn", func(t *testing.T) {
		st := onDisk(t, sqlite.Options{MaxBytes: 1 << 20})
		r := faultRig(t, st, says("hi"), nil, turn.Limits{})
		first := r.ask("", "hello")
		r.rest(first)
		empty := fill(t, st)
		r.refused(507, "store_full", "POST", "/v1/chat", map[string]any{"input": map[string]string{"text": strings.Repeat("long ", 10_000)}})
		r.refused(507, "store_full", "POST", "/v1/conversations", map[string]any{"title": strings.Repeat("t", 200)})
		if m := want[messageBody](r, 200, "GET", "/v1/messages/"+first.msg(), nil); m.Status != event.StatusDone {
			t.Errorf("the first answer is %s", m.Status)
		}
		empty()
		if st := r.fold(r.ask(first.conversation(), "again")); st.Status != event.StatusDone {
			t.Errorf("with room again: %s %+v", st.Status, st.Err)
		}
	})
	t.Run("while a turn runs", func(t *testing.T) {
		gate := make(chan struct{})
		words := strings.Repeat("every word of it ", 2000)
		m := modelFunc(func(_ context.Context, _ int, _ model.Request, say func(string) error) (model.Response, error) {
			if err := say("First. "); err != nil {
				return model.Response{}, err
			}
			<-gate
			return model.Response{}, say(words)
		})
		st := onDisk(t, sqlite.Options{MaxBytes: 1 << 20})
		r := faultRig(t, st, m, nil, turn.Limits{})
		s := r.ask("", "go")
		r.until(s, "text_delta")
		empty := fill(t, st)
		time.AfterFunc(200*time.Millisecond, empty)
		close(gate)
		got := r.fold(s)
		var text string
		for _, b := range got.Blocks {
			_ = json.Unmarshal(b.Payload, &text)
		}
		if got.Status != event.StatusDone || text != "First. "+words {
			t.Errorf("%s with %d bytes: %+v", got.Status, len(text), got.Err)
		}
	})
	t.Run("for too long", func(t *testing.T) {
		gate := make(chan struct{})
		m := modelFunc(func(_ context.Context, _ int, _ model.Request, say func(string) error) (model.Response, error) {
			if err := say("First. "); err != nil {
				return model.Response{}, err
			}
			<-gate
			return model.Response{}, say(strings.Repeat("lost ", 2000))
		})
		st := onDisk(t, sqlite.Options{MaxBytes: 1 << 20})
		r := faultRig(t, st, m, nil, turn.Limits{Lease: 200 * time.Millisecond})
		runner := r.handler().Runner.(*turn.Runner)
		s := r.ask("", "go")
		r.until(s, "text_delta")
		empty := fill(t, st)
		close(gate)
		for runner.Running() > 0 {
			time.Sleep(20 * time.Millisecond)
		}
		time.Sleep(250 * time.Millisecond) // its lease runs out
		empty()
		if _, err := runner.Recover(t.Context()); err != nil {
			t.Fatal(err)
		}
		got := r.fold(s)
		if got.Status != event.StatusError || got.Err == nil || got.Err.Code != "store_full" || !got.Err.Retryable {
			t.Errorf("%s %+v", got.Status, got.Err)
		}
		if m := want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg(), nil); m.Error == nil || m.Error.Code != "store_full" || len(m.Blocks) != 1 {
			t.Errorf("stored: %+v", m)
		}
	})
}

// A database that another program has locked is busy, not broken.
func TestDatabaseLocked(t *testing.T) {
	gate := make(chan struct{})
	m := modelFunc(func(_ context.Context, _ int, req model.Request, say func(string) error) (model.Response, error) {
		if err := say("First. "); err != nil {
			return model.Response{}, err
		}
		<-gate
		return model.Response{}, say("Second.")
	})
	path := filepath.Join(t.TempDir(), "test.db")
	st := onDisk(t, sqlite.Options{Path: path, BusyTimeout: 50 * time.Millisecond})
	r := faultRig(t, st, m, nil, turn.Limits{})
	s := r.ask("", "go")
	r.until(s, "text_delta")
	unlock := lockFile(t, path)
	res := r.request("POST", "/v1/chat", map[string]any{"input": map[string]string{"text": "hello"}})
	b := r.body(res)
	if res.StatusCode != 503 || res.Header.Get("Retry-After") == "" || !bytes.Contains(b, []byte(`"store_busy"`)) {
		t.Errorf("a second turn: %d %s", res.StatusCode, b)
	}
	r.refused(503, "store_busy", "GET", "/readyz", nil)
	time.AfterFunc(300*time.Millisecond, unlock)
	close(gate)
	if got := r.fold(s); got.Status != event.StatusDone || len(got.Blocks) != 1 || string(got.Blocks[0].Payload) != `"First. Second."` {
		t.Errorf("%s %+v %s", got.Status, got.Err, got.Blocks[0].Payload)
	}
}

// lockFile locks a database as another program would.
func lockFile(t *testing.T, path string) (unlock func()) {
	t.Helper()
	db, err := sql.Open("sqlite", "file:"+(&url.URL{Path: path}).EscapedPath())
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { db.Close() })
	for range 1000 {
		if _, err = db.Exec("BEGIN IMMEDIATE"); err == nil {
			return func() { _, _ = db.Exec("ROLLBACK") }
		}
		time.Sleep(time.Millisecond)
	}
	t.Fatal(err)
	return nil
}

// narrow makes connections with small buffers, so that a reader that stops is
// noticed after little.
type narrow struct{ net.Listener }

func (l narrow) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if tc, ok := c.(*net.TCPConn); ok {
		_ = tc.SetWriteBuffer(4 << 10)
	}
	return c, err
}

// A reader that stops reading is cut off in time, costs the turn nothing, and
// reads the same bytes when it comes back.
func TestSlowReader(t *testing.T) {
	words := strings.Repeat("a word and 一个词 ", 40_000)
	st := memory.New()
	m := modelFunc(func(_ context.Context, _ int, _ model.Request, say func(string) error) (model.Response, error) {
		for part := range slices.Chunk([]byte(words), 997*4) {
			if err := say(string(part)); err != nil {
				return model.Response{}, err
			}
		}
		return model.Response{}, nil
	})
	r := faultRig(t, st, m, nil, turn.Limits{OutputBytes: 4 << 20}, func(c *Config) { c.WriteTimeout = time.Second })
	slow := httptest.NewUnstartedServer(r.srv.Config.Handler)
	slow.Listener = narrow{slow.Listener}
	slow.Start()
	defer slow.Close()

	conn, err := net.Dial("tcp", slow.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if err := conn.(*net.TCPConn).SetReadBuffer(4 << 10); err != nil {
		t.Fatal(err)
	}
	body := `{"input":{"text":"go"}}`
	fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer alice\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	began := time.Now()
	head := make([]byte, 4096)
	n, err := conn.Read(head)
	if err != nil {
		t.Fatal(err)
	}
	msg := ""
	for line := range strings.SplitSeq(string(head[:n]), "\r\n") {
		if v, ok := strings.CutPrefix(line, "X-Message-Id: "); ok {
			msg = v
		}
	}
	if msg == "" {
		t.Fatalf("no message: %s", head[:n])
	}
	// It reads nothing more. The turn ends all the same, and its place is free.
	for r.handler().limiter.open() > 0 || r.handler().Runner.(*turn.Runner).Running() > 0 {
		if time.Since(began) > time.Minute {
			t.Fatalf("after %v: %d streams open, %d turns running", time.Since(began), r.handler().limiter.open(), r.handler().Runner.(*turn.Runner).Running())
		}
		time.Sleep(10 * time.Millisecond)
	}
	part, err := io.ReadAll(conn)
	if err == nil && bytes.HasSuffix(part, []byte("0\r\n\r\n")) {
		t.Error("the stream was ended as if it were complete")
	}
	part = unchunk(t, append(slices.Clone(head[:n]), part...))
	whole := r.rest(r.stream(r.request("GET", "/v1/messages/"+msg+"/events", nil)))
	// Up to the last whole frame it is what everybody reads.
	part = part[:bytes.LastIndex(part, []byte("\n\n"))+2]
	if !strings.HasPrefix(whole, string(part)) {
		t.Fatalf("the slow reader got other bytes: …%.200s", part[max(0, len(part)-200):])
	}
	last := part[:len(part)-2]
	last = last[bytes.LastIndex(last, []byte("\n\n"))+2:]
	seq, _, _ := strings.Cut(strings.TrimPrefix(string(last), "id: "), "\n")
	if _, err := strconv.Atoi(seq); err != nil {
		t.Fatalf("last frame %q", last)
	}
	rest := r.rest(r.stream(r.request("GET", "/v1/messages/"+msg+"/events", nil, "Last-Event-ID", seq)))
	if string(part)+rest != whole {
		t.Errorf("resumed after %s: %d + %d bytes, want %d", seq, len(part), len(rest), len(whole))
	}
	if len(whole) < len(words) {
		t.Errorf("the whole stream has %d bytes", len(whole))
	}
}

// unchunk reads a chunked answer that may be cut off.
func unchunk(t *testing.T, raw []byte) []byte {
	t.Helper()
	i := bytes.Index(raw, []byte("\r\n\r\n"))
	if i < 0 {
		t.Fatalf("no head: %q", raw)
	}
	raw = raw[i+4:]
	var out []byte
	for {
		line, rest, ok := bytes.Cut(raw, []byte("\r\n"))
		n, err := strconv.ParseInt(string(line), 16, 64)
		if !ok || err != nil || n == 0 {
			return out
		}
		if int64(len(rest)) < n+2 {
			return append(out, rest[:min(int64(len(rest)), n)]...)
		}
		out, raw = append(out, rest[:n]...), rest[n+2:]
	}
}

// A result too large to show is refused by name; one that can be cut at its
// list is shown, in events of the promised size.
func TestHugeToolResult(t *testing.T) {
	deep := `{"columns":[{"field":"n","label":"N"}],"rows":[{"n":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}]}`
	for _, c := range []struct {
		name, code string
		run        func(context.Context, struct{}, *tool.Out) error
	}{
		{"in one piece", "PAYLOAD_TOO_LARGE", func(_ context.Context, _ struct{}, out *tool.Out) error {
			return out.Code(block.Code{Lang: "text", Source: strings.Repeat("x", 90_000)})
		}},
		{"of ten megabytes", "SCHEMA_INVALID", func(_ context.Context, _ struct{}, out *tool.Out) error {
			return out.Code(block.Code{Lang: "text", Source: strings.Repeat("x", 10<<20)})
		}},
		{"nested for ever", "SCHEMA_INVALID", func(_ context.Context, _ struct{}, out *tool.Out) error {
			return out.Block("table", 1, block.Meta{}, json.RawMessage(deep))
		}},
		{"half a document", "SCHEMA_INVALID", func(_ context.Context, _ struct{}, out *tool.Out) error {
			return out.Block("table", 1, block.Meta{}, json.RawMessage(`{"columns":[`))
		}},
		{"with many rows", "", func(_ context.Context, _ struct{}, out *tool.Out) error {
			rows := make([]block.Row, 3000)
			for i := range rows {
				rows[i] = block.Row{"n": i, "t": "\x00\u2028\xff<b> 行"}
			}
			return out.Table(block.Table{Columns: []block.TableColumn{{Field: "n", Label: "N"}, {Field: "t", Label: "T"}}, Rows: rows})
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := faultRig(t, memory.New(), calls("big"), []tool.Tool{showing(t, "big", c.run)}, turn.Limits{})
			s := r.ask("", "go")
			raw := r.rest(s)
			got := foldText(t, raw)
			if got.Status != event.StatusDone || len(got.Blocks) != 2 {
				t.Fatalf("%s %+v, %d blocks", got.Status, got.Err, len(got.Blocks))
			}
			code := ""
			if e := got.Blocks[0].Err; e != nil {
				code = e.Code
				if e.Retryable {
					t.Error("the same call would give the same result")
				}
			}
			if code != c.code {
				t.Errorf("code %q, want %q", code, c.code)
			}
			for frame := range strings.SplitSeq(raw, "\n\n") {
				if len(frame) > event.MaxSize {
					t.Errorf("a frame of %d bytes", len(frame))
				}
			}
			stored := want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg(), nil)
			if !bytes.Equal(stored.Blocks[0].Payload, got.Blocks[0].Payload) {
				t.Error("the stored block is not the one that was streamed")
			}
		})
	}
}

// A tool that panics, or whose error does, fails alone.
func TestToolPanics(t *testing.T) {
	for name, run := range map[string]func(context.Context, struct{}, *tool.Out) error{
		"panic": func(context.Context, struct{}, *tool.Out) error { panic("secret-detail") },
		"nil error": func(context.Context, struct{}, *tool.Out) error {
			var e *tool.Error
			return e
		},
	} {
		t.Run(name, func(t *testing.T) {
			spec := tool.Spec{Name: "bad", Description: "Fail.", Block: &tool.BlockSpec{Type: "chart", Title: "Sales"}}
			tl, err := tool.New(spec, run)
			if err != nil {
				t.Fatal(err)
			}
			r := faultRig(t, memory.New(), calls("bad"), []tool.Tool{tl}, turn.Limits{})
			raw := r.rest(r.ask("", "go"))
			got := foldText(t, raw)
			if got.Status != event.StatusDone || len(got.Blocks) != 2 || got.Blocks[0].Err == nil || got.Blocks[0].Err.Code != "TOOL_PANIC" {
				t.Errorf("%s %+v", got.Status, got.Blocks)
			}
			if strings.Contains(raw, "secret-detail") || strings.Contains(raw, "goroutine") {
				t.Error("the reader is told how")
			}
		})
	}
}

// A model that calls its tool again and again comes to its last step.
func TestModelThatLoops(t *testing.T) {
	var ran atomic.Int32
	m := modelFunc(func(_ context.Context, step int, req model.Request, say func(string) error) (model.Response, error) {
		args := fmt.Sprintf(`{"n":%d}`, step)
		return model.Response{Calls: []model.Call{{ID: "call", Name: "again", Arguments: json.RawMessage(args), Raw: args}}}, nil
	})
	tl, err := tool.New(tool.Spec{Name: "again", Description: "Do it."}, func(_ context.Context, _ struct {
		N int `json:"n"`
	}, out *tool.Out) error {
		ran.Add(1)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	r := faultRig(t, memory.New(), m, []tool.Tool{tl}, turn.Limits{Steps: 5})
	s := r.ask("", "go")
	got := r.fold(s)
	if got.Status != event.StatusDone || got.FinishReason != "max_steps" || ran.Load() != 4 {
		t.Errorf("%s %s after %d runs", got.Status, got.FinishReason, ran.Load())
	}
	if len(got.Tools) != 4 {
		t.Errorf("%d calls are named, though all had one id", len(got.Tools))
	}
	r.rest(r.ask(s.conversation(), "and again"))
}

// A model that writes HTML writes text: in the stream, in the record and in an
// exported page.
func TestModelHTML(t *testing.T) {
	const evil = "<script>alert(1)</script><img src=x onerror=alert(2)>\n\n[x](javascript:alert(3)) <!-- --> &lt;b&gt;\n\n![p](https://evil.example/p.png)\n\n<a href=\"javascript:alert(4)\">y</a>"
	r := faultRig(t, memory.New(), says(evil), nil, turn.Limits{})
	s := r.ask("", "<svg onload=alert(5)>")
	got := r.fold(s)
	var text string
	if err := json.Unmarshal(got.Blocks[0].Payload, &text); err != nil || text != evil {
		t.Errorf("%q, %v", text, err)
	}
	res := r.request("GET", "/v1/messages/"+s.msg(), nil)
	if b := r.body(res); res.Header.Get("X-Content-Type-Options") != "nosniff" || !strings.HasPrefix(res.Header.Get("Content-Type"), "application/json") {
		t.Errorf("%v %s", res.Header, b)
	}
	res = r.request("GET", "/v1/conversations/"+s.conversation()+"/export?format=html", nil)
	page := strings.ToLower(string(r.body(res)))
	for _, bad := range []string{"<script", "onerror=", "<svg", `href="javascript:`} {
		if strings.Contains(page, bad) && !strings.Contains(page, strings.ReplaceAll(bad, "<", "&lt;")) {
			t.Errorf("the page has %s: %s", bad, page)
		}
	}
	if !strings.Contains(res.Header.Get("Content-Security-Policy"), "sandbox") || !strings.Contains(res.Header.Get("Content-Disposition"), "attachment") {
		t.Errorf("%v", res.Header)
	}
}

// A clock that goes back by an hour at each look breaks nothing.
func TestClockBackwards(t *testing.T) {
	var looks atomic.Int64
	start := time.Now()
	now := func() time.Time { return start.Add(-time.Duration(looks.Add(1)) * time.Hour) }
	st := memory.NewAt(now)
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	set, err := tool.NewSet(testTools(t)...)
	if err != nil {
		t.Fatal(err)
	}
	runner, err := turn.New(turn.Config{Store: st, Model: testModel{}, Tools: set, Registry: reg, Now: now})
	if err != nil {
		t.Fatal(err)
	}
	r := newRigOn(t, st, func(c *Config) {
		c.Runner, c.Now = runner, now
		c.Limits = Limits{RequestsPerSecond: 50, TurnsPerMinute: 100}
	})
	s := r.ask("", "chart please")
	raw := r.rest(s)
	got := foldText(t, raw)
	if got.Status != event.StatusDone || len(got.Blocks) != 3 {
		t.Errorf("%s %+v", got.Status, got.Err)
	}
	last := int64(0)
	for part := range strings.SplitSeq(raw, `"at":`) {
		n, _, _ := strings.Cut(part, ",")
		if at, err := strconv.ParseInt(n, 10, 64); err == nil {
			if at < last {
				t.Errorf("at %d after %d", at, last)
			}
			last = at
		}
	}
	if again := r.fold(r.ask(s.conversation(), "chart again")); again.Status != event.StatusDone {
		t.Errorf("%s %+v", again.Status, again.Err)
	}
	if m := want[messageBody](r, 200, "GET", "/v1/messages/"+s.msg(), nil); m.Status != event.StatusDone || m.Seq != got.Seq {
		t.Errorf("%+v", m)
	}
}

// A request whose body never comes is given up.
func TestBodyThatNeverEnds(t *testing.T) {
	r := newRig(t, func(c *Config) { c.ReadTimeout = 200 * time.Millisecond })
	for name, start := range map[string]string{
		"length":  "Content-Length: 100\r\n\r\n{\"inp",
		"chunked": "Transfer-Encoding: chunked\r\n\r\n5\r\n{\"inp\r\n",
		"nobody":  "Content-Length: 100\r\nAuthorization: -\r\n\r\n",
	} {
		conn, err := net.Dial("tcp", r.srv.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		began := time.Now()
		_ = conn.SetDeadline(began.Add(time.Minute))
		auth := "Authorization: Bearer alice\r\n"
		if strings.Contains(start, "Authorization") {
			auth = ""
		}
		fmt.Fprintf(conn, "POST /v1/chat HTTP/1.1\r\nHost: x\r\n%sContent-Type: application/json\r\n%s", auth, start)
		b, err := io.ReadAll(conn)
		if d := time.Since(began); d > 30*time.Second {
			t.Errorf("%s: still open after %v: %v", name, d, err)
		}
		if !bytes.HasPrefix(b, []byte("HTTP/1.1 4")) {
			t.Errorf("%s: %q", name, b)
		}
	}
	// A stream that was asked for in time is not cut by it.
	s := r.ask("", "hold")
	r.until(s, "text_delta")
	time.Sleep(500 * time.Millisecond)
	want[map[string]string](r, 202, "POST", "/v1/messages/"+s.msg()+"/stop", nil)
	if got := r.fold(s); got.Status != event.StatusCancelled {
		t.Errorf("%s", got.Status)
	}
}

// What is searched for is text, whatever a query language makes of it.
func TestSearchIsText(t *testing.T) {
	for name, st := range map[string]store.Store{"memory": memory.New(), "sqlite": onDisk(t, sqlite.Options{})} {
		t.Run(name, func(t *testing.T) {
			r := faultRig(t, st, says(`The "quick" fox* AND NOT (brown) OR folded:x 东区领先 100%_`), nil, turn.Limits{})
			r.rest(r.ask("", "animals"))
			type page struct{ Items []conversationBody }
			for q, n := range map[string]int{
				`"quick"`: 1, `fox*`: 1, `AND NOT`: 1, `(brown)`: 1, `folded:x`: 1, `fox* "`: 1, `"`: 1, `'`: 0, `fox fix`: 0,
				"东": 1, "东区": 1, "区领先": 1, "西": 0, "100%_": 1, "%": 1, "qu_ck": 0, "\x00": 0, "\x00abc": 0, "abc\x00def": 0,
				"\xff\xfe\xfd": 0, "NEAR(fox brown)": 0, "^the": 0, "{folded}:fox": 0, "-fox": 0, "fox +": 0, strings.Repeat("a ", 400): 1,
				strings.Repeat(`"`, 900): 0, "\u202e": 0,
			} {
				got := want[page](r, 200, "GET", "/v1/conversations?q="+url.QueryEscape(q), nil)
				if len(got.Items) != n {
					t.Errorf("%q: %d found, want %d", q, len(got.Items), n)
				}
			}
		})
	}
}

// A turn is not begun for a reader whom the limit of streams refuses.
func TestNoTurnWithoutItsStream(t *testing.T) {
	r := newRig(t, func(c *Config) { c.Limits.StreamsPerUser = 1 })
	s := r.ask("", "hold")
	r.until(s, "text_delta")
	c := want[conversationBody](r, 201, "POST", "/v1/conversations", nil)
	r.refused(429, "rate_limited", "POST", "/v1/chat", map[string]any{"conversationId": c.ID, "input": map[string]string{"text": "hello"}})
	if got := want[conversationBody](r, 200, "GET", "/v1/conversations/"+c.ID, nil); got.Leaf != "" {
		t.Errorf("a turn was begun: %+v", got)
	}
}

// HEAD says what GET would, and holds no stream.
func TestHeadOfStreams(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "hold")
	r.until(s, "text_delta")
	for _, path := range []string{"/v1/messages/" + s.msg() + "/events", "/v1/conversations/" + s.conversation() + "/events"} {
		began := time.Now()
		res := r.request("HEAD", path, nil)
		if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" {
			t.Errorf("%s: %d %v", path, res.StatusCode, res.Header)
		}
		_, _ = io.Copy(io.Discard, res.Body)
		for r.handler().limiter.open() > 1 {
			if time.Since(began) > time.Minute {
				t.Fatalf("%s: %d streams are open", path, r.handler().limiter.open())
			}
			time.Sleep(5 * time.Millisecond)
		}
	}
}

// A title is one line that reads the way it is written.
func TestTitlesAreText(t *testing.T) {
	const evil = "a\u202etxt.exe\u2066 \x00\x1b[31m\r\nSet-Cookie: x=1"
	r := newRig(t)
	s := r.ask("", evil)
	r.rest(s)
	first := want[conversationBody](r, 200, "GET", "/v1/conversations/"+s.conversation(), nil)
	renamed := want[conversationBody](r, 200, "PATCH", "/v1/conversations/"+s.conversation(), map[string]string{"title": evil})
	for _, title := range []string{first.Title, renamed.Title} {
		if title != "a txt.exe [31m Set-Cookie: x=1" {
			t.Errorf("%q", title)
		}
	}
}
