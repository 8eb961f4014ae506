package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/client"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/terminal"
	"github.com/inlay-ui/inlay/model/scripted"
)

// startApp runs the demonstration behind HTTP and returns its address.
func startApp(t *testing.T) string {
	t.Helper()
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
	return srv.URL
}

// screen is what a person sees, and waits for.
type screen struct {
	*testing.T
	mu   sync.Mutex
	cond *sync.Cond
	text bytes.Buffer
	at   int // up to where it was read
}

func newScreen(t *testing.T) *screen {
	s := &screen{T: t}
	s.cond = sync.NewCond(&s.mu)
	return s
}

func (s *screen) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.cond.Broadcast()
	return s.text.Write(p)
}

func (s *screen) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.text.String()
}

// see waits for a text after the one seen last.
func (s *screen) see(want string) {
	s.Helper()
	deadline := time.Now().Add(30 * time.Second)
	timer := time.AfterFunc(31*time.Second, s.cond.Broadcast)
	defer timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if i := strings.Index(s.text.String()[s.at:], want); i >= 0 {
			s.at += i + len(want)
			return
		}
		if time.Now().After(deadline) {
			s.Fatalf("never seen: %q after\n%s", want, s.text.String())
		}
		s.cond.Wait()
	}
}

// talk is a session that is typed into.
type talk struct {
	*screen
	in         *io.PipeWriter
	interrupts chan struct{}
	ended      chan error
}

func startTalk(t *testing.T, address string, change func(*Options)) *talk {
	t.Helper()
	in, typing := io.Pipe()
	s := newScreen(t)
	opt := Options{
		Client:   &client.Client{URL: address, Blocks: terminal.Declaration(), Language: "en"},
		Renderer: terminal.New(terminal.Options{Width: 80}), Lang: "en", In: in, Out: s, Err: s,
	}
	k := &talk{screen: s, in: typing, interrupts: make(chan struct{}), ended: make(chan error, 1)}
	opt.Interrupts = k.interrupts
	if change != nil {
		change(&opt)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { k.ended <- New(opt).Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		typing.Close()
	})
	k.see("> ")
	return k
}

func (k *talk) say(line string) {
	k.Helper()
	if _, err := io.WriteString(k.in, line+"\n"); err != nil {
		k.Fatal(err)
	}
}

// leave ends the input and wants a good end.
func (k *talk) leave() {
	k.Helper()
	k.in.Close()
	select {
	case err := <-k.ended:
		if err != nil {
			k.Error(err)
		}
	case <-time.After(20 * time.Second):
		k.Fatal("it does not end")
	}
}

// number finds the number that stands before a label.
func (k *talk) number(label string) string {
	k.Helper()
	all := regexp.MustCompile(`(?m)^(:\d+) +`+regexp.QuoteMeta(label)).FindAllStringSubmatch(k.String(), -1)
	if len(all) == 0 {
		k.Fatalf("no number for %q in\n%s", label, k.String())
	}
	return all[len(all)-1][1]
}

func TestQuestionBecomesBars(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Show the Q3 sales by region")
	k.see("2026Q3 sales by region (10k CNY)")
	k.see("East   ████████")
	k.see("320")
	k.see("· Look up sales by region\n") // the tool, in one quiet line
	k.see(":1 ")
	k.see("> ")
	k.say(":1") // a click on one of the bars
	k.see("East")
	k.see("Which one?")
	k.say("9")
	k.see("Choose one of the numbers.")
	k.say("2")
	k.see("South")
	k.see("█")
	k.see("> ")
	k.say(":99")
	k.see("There is nothing under :99.")
	k.say(":nonsense")
	k.see("is no command")
	k.say(":help")
	k.see(":again")
	k.leave()
}

func TestFormIsFilledAndSubmitted(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Export the order details")
	k.see("│ Export the order details")
	k.see(":1 Fill in: Export the order details")
	k.see("> ")
	k.say(":1")
	k.see("Days of the orders *")
	k.see("Enter keeps 2026-07-01 – 2026-09-30")
	k.say("2026-08-01")
	k.see("Write two dates.")
	k.say("2026-08-01 2026-08-31")
	k.see("Which orders")
	k.see("2) One region")
	k.say("2")
	k.see("Region *") // asked for because of the answer before
	k.say("east")
	k.see("File")
	k.say("CSV") // neither a number nor a label, but the value
	k.see("Reason *")
	k.say("")
	k.see("An answer is needed.")
	k.say("x")
	k.see("Export the order details as filled in? [y/N]")
	k.say("y")
	k.see("The server does not take this")
	k.see("Reason:")
	k.see("Reason *")
	k.say("Sample review")
	k.see("[y/N]")
	k.say("y")
	k.see("[file] ")
	k.see(".csv")
	k.see("/content")
	k.see("> ")
	k.say(":again")
	k.see("> ")
	if strings.Contains(k.String()[strings.LastIndex(k.String(), "/content"):], "Fill in") {
		t.Error("the form can be filled in again")
	}
	k.leave()
}

func TestFormIsLeft(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Export the order details")
	k.see(":1 Fill in")
	k.see("> ")
	k.say(":1")
	k.see("Days of the orders")
	k.interrupts <- struct{}{}
	k.see("Left as it is.")
	k.see("> ")
	k.say(":again") // the line that was being typed
	k.see(":1 Fill in")
	k.leave()
}

func TestApprovalIsAnswered(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Approve an expense")
	k.see("│ ! Approve the sample expense E-1004")
	k.see("The answer waits for you")
	k.see("> ")
	k.say(k.number("Approve"))
	k.see("✓ Approved")
	k.see("E-1004 is approved over 2150.00 CNY.")
	k.see("> ")

	k.say("Approve an expense")
	k.see("The answer waits for you")
	k.see("> ")
	k.say(k.number("Change"))
	k.see("Number")
	k.see("Enter keeps E-1003")
	k.say("")
	k.see("Amount")
	k.say("12")
	k.see("Reason")
	k.say("Only a part")
	k.see("is approved over 12.00 CNY.")
	k.leave()
}

func TestQuestionIsAnswered(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Ask me which quarter to sum up")
	k.see("Which quarter shall be summed up?")
	k.see("> ")
	k.say(k.number("2026Q2"))
	k.see("✓ Answered")
	k.see("key figures")
	k.leave()
}

func TestStop(t *testing.T) {
	k := startTalk(t, startApp(t), nil)
	k.say("Run the slow report")
	k.see("it can be stopped at any time")
	k.interrupts <- struct{}{}
	k.see("Stopping.")
	k.see("Stopped.")
	k.see("> ")
	k.say("Show the Q3 sales by region") // and the conversation goes on
	k.see("320")
	k.see("> ")

	k.say("Run the slow report")
	k.see("it can be stopped at any time")
	k.interrupts <- struct{}{}
	k.interrupts <- struct{}{}
	select {
	case err := <-k.ended:
		if !errors.Is(err, ErrLeft) {
			t.Errorf("left with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the second interrupt does not leave")
	}
}

// cutting is a proxy that cuts every stream after so many bytes.
func cutting(t *testing.T, address string, after int) (string, *atomic.Int32) {
	t.Helper()
	to, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	var cuts atomic.Int32
	proxy := httputil.NewSingleHostReverseProxy(to)
	proxy.FlushInterval, proxy.ErrorLog = -1, log.New(io.Discard, "", 0)
	proxy.ModifyResponse = func(r *http.Response) error {
		if strings.HasPrefix(r.Header.Get("Content-Type"), "text/event-stream") {
			r.Body = &cutBody{ReadCloser: r.Body, left: after, cuts: &cuts}
		}
		return nil
	}
	proxy.ErrorHandler = func(w http.ResponseWriter, _ *http.Request, _ error) { w.WriteHeader(http.StatusBadGateway) }
	srv := httptest.NewServer(proxy)
	t.Cleanup(srv.Close)
	return srv.URL, &cuts
}

type cutBody struct {
	io.ReadCloser
	left int
	cuts *atomic.Int32
}

func (b *cutBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		b.cuts.Add(1)
		return 0, io.ErrUnexpectedEOF
	}
	n, err := b.ReadCloser.Read(p[:min(len(p), b.left)])
	b.left -= n
	return n, err
}

// once asks one question as a pipe does.
func once(t *testing.T, address, question string, change func(*Options)) (string, string, error) {
	t.Helper()
	var out, side bytes.Buffer
	opt := Options{
		Client:   &client.Client{URL: address, Blocks: terminal.Declaration(), Language: "en"},
		Renderer: terminal.New(terminal.Options{Width: 80}), Lang: "en", In: strings.NewReader(""), Out: &out, Err: &side,
	}
	if change != nil {
		change(&opt)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	err := New(opt).Once(ctx, question)
	return out.String(), side.String(), err
}

// TestResumeAfterCuts: an answer whose connection is cut again and again is
// the same as one that came in one piece.
func TestResumeAfterCuts(t *testing.T) {
	address := startApp(t)
	want, _, err := once(t, address, "Show the Q3 sales by region", nil)
	if err != nil {
		t.Fatal(err)
	}
	through, cuts := cutting(t, address, 1500)
	got, side, err := once(t, through, "Show the Q3 sales by region", nil)
	if err != nil {
		t.Fatal(err)
	}
	if cuts.Load() < 2 {
		t.Errorf("only %d cuts", cuts.Load())
	}
	if got != want {
		t.Errorf("cut it is\n%s\nwhole\n%s", got, want)
	}
	if !strings.Contains(side, "Connected again.") {
		t.Errorf("nobody was told:\n%s", side)
	}
}

func TestOneQuestion(t *testing.T) {
	address := startApp(t)
	out, side, err := once(t, address, "Show the Q3 sales by region", nil)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(out, "East   ████") || strings.Contains(out, ":1") || strings.ContainsRune(out, 0x1b) {
		t.Errorf("the answer is\n%s", out)
	}
	if !strings.Contains(side, "· ") || strings.Contains(out, "· Look") {
		t.Errorf("the activity is %q", side)
	}
	if _, _, err := once(t, address, "Approve an expense", nil); err == nil || !strings.Contains(err.Error(), "--conversation c_") {
		t.Errorf("of an answer that waits: %v", err)
	}
	out, _, err = once(t, address, "Q3 各区域销售怎么样", func(o *Options) {
		o.Lang, o.Client.Language, o.Renderer = "zh", "zh", terminal.New(terminal.Options{Width: 60, Lang: "zh"})
	})
	if err != nil || !strings.Contains(out, "华东") {
		t.Errorf("in Chinese: %v\n%s", err, out)
	}
}

func TestConversationGoesOn(t *testing.T) {
	address := startApp(t)
	k := startTalk(t, address, nil)
	k.say("Approve an expense")
	k.see("The answer waits for you")
	k.see("> ")
	k.leave()
	_, _, err := once(t, address, "Approve an expense", nil)
	id := regexp.MustCompile(`c_[0-9a-f-]+`).FindString(fmt.Sprint(err))
	again := startTalk(t, address, func(o *Options) { o.Conversation = id })
	for _, want := range []string{"You:", "Approve an expense", "│ ! Approve the sample expense", "The answer waits"} {
		if !strings.Contains(again.String(), want) {
			t.Errorf("%q is not shown again:\n%s", want, again.String())
		}
	}
	again.say(again.number("Reject"))
	again.see("✗ Rejected")
	again.see("nothing was paid")
	again.leave()
}

func TestJSONLines(t *testing.T) {
	out, _, err := once(t, startApp(t), "Show the Q3 sales by region", func(o *Options) { o.JSON = true })
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	folder := event.NewFolder("")
	var names []string
	for _, l := range lines {
		var e jsonLine
		if err := json.Unmarshal([]byte(l), &e); err != nil {
			t.Fatalf("%q: %v", l, err)
		}
		names = append(names, e.Event)
		folder.Apply(event.Event{Seq: e.Seq, At: e.At, Group: e.Group, Type: event.Type(e.Event), Msg: e.Msg, Block: e.Block, Data: e.Data})
	}
	if names[0] != "start" || names[len(names)-1] != "done" || !slices.Contains(names, "block_end") {
		t.Errorf("events are %v", names)
	}
	if st := folder.State(); st.Status != event.StatusDone || len(st.Blocks) < 2 {
		t.Errorf("they fold to %+v", st)
	}
}

// TestConfirmationToken: an action that the server wants confirmed is sent
// again with its token, under the same key, after the person has agreed to the
// server's words.
func TestConfirmationToken(t *testing.T) {
	var calls []map[string]any
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/client-config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"title":"Sample","model":{"kind":"scripted","name":"demo"}}`)
	})
	mux.HandleFunc("POST /v1/chat", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Message-Id", "m_1")
		for i, e := range []string{
			`event: block_end|{"type":"card","version":1,"payload":{"title":"Sample order"},"fallback":"x","actions":[{"id":"pay","label":"Pay","kind":"api","confirm":"Pay now?"}]}`,
			`event: done|{"finishReason":"stop"}`,
		} {
			name, data, _ := strings.Cut(e, "|")
			fmt.Fprintf(w, "id: %d\n%s\ndata: {\"msgId\":\"m_1\",\"blockId\":\"b_1\",\"seq\":%d,\"group\":1,\"data\":%s}\n\n", i+1, name, i+1, data)
		}
	})
	mux.HandleFunc("GET /v1/messages/m_1/events", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	mux.HandleFunc("POST /v1/chat/actions", func(w http.ResponseWriter, r *http.Request) {
		var body map[string]any
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		calls = append(calls, body)
		if body["confirmToken"] != "token-1" {
			w.WriteHeader(http.StatusPreconditionRequired)
			fmt.Fprint(w, `{"error":{"code":"confirmation_required","message":"x","details":{"confirmToken":"token-1","text":"Pay 12 CNY to the sample shop?","reason":"missing"}}}`)
			return
		}
		fmt.Fprint(w, `{"status":"done","msgId":"m_1","feedback":{"successText":"Paid."}}`)
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	k := startTalk(t, srv.URL, nil)
	k.say("pay")
	k.see(":1 Pay")
	k.see("> ")
	k.say(":1")
	k.see("Pay now? [y/N]")
	k.say("y")
	k.see("Pay 12 CNY to the sample shop? [y/N]")
	k.say("n")
	k.see("Left as it is.")
	k.say(":1")
	k.see("Pay now? [y/N]")
	k.say("y")
	k.see("Pay 12 CNY")
	k.say("y")
	k.see("✓ Paid.")
	k.leave()
	if len(calls) != 3 || calls[1]["idempotencyKey"] != calls[2]["idempotencyKey"] || calls[0]["idempotencyKey"] == calls[1]["idempotencyKey"] {
		t.Errorf("the calls were %v", calls)
	}
}

// hostile is a server whose every word wants to take over the terminal.
func hostile(t *testing.T) string {
	t.Helper()
	const evil = "\x1b[31mred\x1b[0m\x1b]0;title\x07\x1b]8;;https://evil.example\x1b\\link\x1b]8;;\x1b\\\u009b2J\u0090dcs\u009c\x1b[2J\x1bc\x07\x08\x00\u202eback\r\nline\x7f\u200b"
	text := func(v any) string {
		raw, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		return string(raw)
	}
	type object = map[string]any
	type event struct {
		name, block string
		data        object
	}
	table := object{"caption": evil, "columns": []object{{"field": "a", "label": evil}}, "rows": []object{{"a": evil}}}
	form := object{"title": evil, "schema": object{"type": "object", "properties": object{"a": object{"type": "string", "title": evil}}}}
	events := []event{
		{"start", "", object{"conversationId": "c_1", "ts": 1}},
		{"tool_call_start", "", object{"toolCallId": "t", "name": evil, "title": evil}},
		{"tool_call_end", "", object{"toolCallId": "t", "name": evil, "status": "ok", "durationMs": 1200}},
		{"text_delta", "b_1", object{"delta": evil + "\n\n# " + evil + "\n\n```" + evil + "\n" + evil + "\n```\n&#27;[31m &#x9b;2J"}},
		{"text_end", "b_1", object{}},
		{"block_start", "b_2", object{"type": "table", "version": 1, "meta": object{"title": evil}}},
		{"block_end", "b_2", object{"type": "table", "version": 1, "payload": table, "fallback": evil,
			"actions": []object{{"id": "x", "label": evil, "kind": "api"}, {"id": "l", "label": evil, "kind": "link", "href": "https://x.example/" + evil}}}},
		{"block_end", "b_3", object{"type": "form", "version": 1, "payload": form, "fallback": evil, "actions": []object{{"id": "submit", "label": evil, "kind": "api", "confirm": evil}}}},
		{"block_end", "b_4", object{"type": "tree", "version": 1, "payload": object{"root": object{"type": "text", "props": object{"value": evil}}}, "fallback": evil}},
		{"block_end", "b_5", object{"type": "acme." + "unknown", "version": 1, "payload": object{"x": evil}, "fallback": evil}},
		{"block_start", "b_6", object{"type": "chart", "version": 1, "meta": object{"title": evil}}},
		{"block_error", "b_6", object{"code": evil, "message": evil, "retryable": true, "fallback": evil}},
		{"block_state", "b_2", object{"rev": 2, "state": object{"status": "done", "text": evil}}},
		{"error", "", object{"code": evil, "message": evil, "retryable": false}},
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/client-config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, text(object{"title": evil, "model": object{"kind": evil, "name": evil}, "suggestions": []object{{"text": evil}}}))
	})
	mux.HandleFunc("POST /v1/chat", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		w.Header().Set("X-Message-Id", "m_1")
		w.Header().Set("X-Conversation-Id", "c_1")
		for i, e := range events {
			fmt.Fprintf(w, "id: %d\nevent: %s\ndata: %s\n\n", i+1, e.name,
				text(object{"v": 1, "msgId": "m_1", "blockId": e.block, "seq": i + 1, "group": 1, "at": i, "data": e.data}))
		}
	})
	mux.HandleFunc("POST /v1/chat/actions", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadRequest)
		fmt.Fprint(w, text(object{"error": object{"code": "action_payload_invalid", "message": evil,
			"details": object{"violations": []object{{"path": "/" + evil, "message": evil}, {"path": "/a", "message": evil}}}}}))
	})
	srv := httptest.NewServer(mux)
	t.Cleanup(srv.Close)
	return srv.URL
}

// TestNothingTakesOverTheTerminal: whatever a server sends, what is written has
// no control character but line ends and the few sequences of the client's own.
func TestNothingTakesOverTheTerminal(t *testing.T) {
	address := hostile(t)
	for _, colour := range []bool{false, true} {
		k := startTalk(t, address, func(o *Options) {
			o.Renderer = terminal.New(terminal.Options{Width: 60, Color: colour})
			o.Live = colour
		})
		k.say("anything")
		k.see("Fill in")
		k.see("> ")
		k.say(k.numberOf("Fill in"))
		k.see("(Enter skips)")
		k.say("value")
		k.see("[y/N]")
		k.say("y")
		k.see("does not take this")
		k.see("(Enter")
		k.interrupts <- struct{}{}
		k.see("> ")
		k.say(":1")
		k.see("> ")
		k.leave()
		checkSafe(t, k.String())
	}
	out, side, err := once(t, address, "anything", nil)
	if err == nil {
		t.Error("a failed answer is no answer")
	}
	checkSafe(t, out+side+err.Error()+"\n")
	out, _, _ = once(t, address, "anything", func(o *Options) { o.JSON = true })
	checkSafe(t, out)
}

func (k *talk) numberOf(label string) string {
	bare := own.ReplaceAllString(k.String(), "")
	all := regexp.MustCompile(`(:\d+) +`+regexp.QuoteMeta(label)).FindAllStringSubmatch(bare, -1)
	if len(all) == 0 {
		k.Fatalf("no number for %q in\n%s", label, bare)
	}
	return all[len(all)-1][1]
}

// own are the sequences that the client writes itself.
var own = regexp.MustCompile("\x1b\\[[0-9]+(;[0-9]+)*m|\r\x1b\\[K")

func checkSafe(t *testing.T, out string) {
	t.Helper()
	for _, r := range own.ReplaceAllString(out, "") {
		if r != '\n' && r != 0xfffd && block.Invisible(r) {
			t.Fatalf("the character %U was written:\n%q", r, out)
		}
	}
	if strings.Contains(own.ReplaceAllString(out, ""), "evil.example\x1b") {
		t.Error("an address was hidden")
	}
}

func TestErrorsNameTheCure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	c := &client.Client{URL: nobody}
	s := New(Options{Client: c, Renderer: terminal.New(terminal.Options{}), Lang: "en", In: strings.NewReader("")})
	_, err = c.Config(t.Context())
	if got := s.Explain(err); !strings.Contains(got, "inlay serve") {
		t.Errorf("nobody listens: %s", got)
	}
	for code, want := range map[string]string{"turn_running": "wait for it or stop it", "rate_limited": "(rate_limited)"} {
		if got := s.Explain(&client.Error{Status: 409, Code: code}); !strings.Contains(got, want) {
			t.Errorf("%s: %s", code, got)
		}
	}
	if got := s.Explain(&client.Error{Status: 401, Code: "unauthorized"}); !strings.Contains(got, "--token-env") {
		t.Errorf("unauthorized: %s", got)
	}
}

func TestParagraphs(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "",
		"one":                         "",
		"one\n\n":                     "",
		"one\n\nt":                    "one\n\n",
		"one\n\ntwo\n\nthree":         "one\n\ntwo\n\n",
		"- a\n\n  b":                  "",
		"- a\n\n  b\n\nc":             "- a\n\n  b\n\n",
		"```\na\n\nb\n":               "",
		"```\na\n\nb\n```\n\nafter":   "```\na\n\nb\n```\n\n",
		"~~~go\na\n\n```\n\nb\n~~~\n": "",
		"一段\n\n二":                     "一段\n\n",
	} {
		if got := text[:paragraphs(text)]; got != want {
			t.Errorf("of %q whole is %q, want %q", text, got, want)
		}
	}
}

// TestWhereButtonsLead: a terminal goes where it can, and only where the
// product allows; a command is never sent by itself.
func TestWhereButtonsLead(t *testing.T) {
	var asked []string
	mux := http.NewServeMux()
	mux.HandleFunc("GET /v1/client-config", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"title":"Sample","model":{"kind":"scripted","name":"demo"},
			"allow":{"routes":["/market/*"],"slash":["buy"],"modals":["deposit"],"link_hosts":["shop.example.com"]}}`)
	})
	card := func(items string) string {
		return `{"type":"minara.feature_recommendation","version":1,"payload":{"items":[` + items + `]},"fallback":"x"}`
	}
	blocks := []string{
		card(`{"id":"a","label":"Buy","action":{"kind":"slash","command":"/buy 1 SAMPLE"}},{"id":"b","label":"Market","action":{"kind":"route","target":"/market/x"}}`),
		card(`{"id":"c","label":"Deposit","action":{"kind":"modal","name":"deposit"}},{"id":"d","label":"Shop","action":{"kind":"external","url":"https://shop.example.com/a"}}`),
		card(`{"id":"e","label":"Elsewhere","action":{"kind":"external","url":"https://evil.example/a"}},{"id":"f","label":"Admin","action":{"kind":"route","target":"/admin"}}`),
	}
	mux.HandleFunc("POST /v1/chat", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Input struct{ Text string } }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		asked = append(asked, body.Input.Text)
		w.Header().Set("X-Message-Id", fmt.Sprintf("m_%d", len(asked)))
		for i, b := range blocks {
			fmt.Fprintf(w, "id: %d\nevent: block_end\ndata: {\"blockId\":\"b_%d\",\"seq\":%d,\"group\":1,\"data\":%s}\n\n", i+1, i, i+1, b)
		}
		fmt.Fprint(w, "id: 9\nevent: done\ndata: {\"seq\":9,\"group\":1,\"data\":{\"finishReason\":\"stop\"}}\n\n")
	})
	srv := httptest.NewServer(mux)
	defer srv.Close()
	k := startTalk(t, srv.URL, nil)
	k.say("hello")
	k.see(":6 Admin")
	for _, c := range []struct{ number, want string }{
		{":2", "Open in a browser: " + srv.URL + "/market/x"},
		{":3", "Only the page can open this: deposit"},
		{":4", "Open in a browser: https://shop.example.com/a"},
		{":5", "not among those that are allowed"},
		{":6", "not among those that are allowed"},
		{":1", "Enter sends /buy 1 SAMPLE"},
	} {
		k.see("> ")
		k.say(c.number)
		k.see(c.want)
	}
	k.see("> ")
	if len(asked) != 1 {
		t.Errorf("a command was sent by itself: %q", asked)
	}
	k.say("")
	k.see("> ")
	k.leave()
	if !slices.Equal(asked, []string{"hello", "/buy 1 SAMPLE"}) {
		t.Errorf("asked was %q", asked)
	}
}
