package inlay_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
)

// backend is another back end, which streams text.
type backend struct {
	*httptest.Server
	mu     sync.Mutex
	bodies []string
	auth   []string
	// ended is sent to when a request is over.
	ended chan struct{}
}

func newBackend(t *testing.T, answer http.HandlerFunc) *backend {
	b := &backend{ended: make(chan struct{}, 100)}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() { b.ended <- struct{}{} }()
		raw, _ := io.ReadAll(r.Body)
		b.mu.Lock()
		b.bodies, b.auth = append(b.bodies, string(raw)), append(b.auth, r.Header.Get("Authorization"))
		b.mu.Unlock()
		answer(w, r)
	}))
	t.Cleanup(b.Close)
	return b
}

// asked are the requests so far.
func (b *backend) asked() (bodies, auth []string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return append([]string(nil), b.bodies...), append([]string(nil), b.auth...)
}

// over waits until a request is.
func (b *backend) over(t *testing.T) {
	t.Helper()
	select {
	case <-b.ended:
	case <-time.After(20 * time.Second):
		t.Fatal("the back end goes on")
	}
}

// inPieces streams a text as events of so many bytes.
func inPieces(text string, n int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for rest := text; rest != ""; {
			piece := rest[:min(n, len(rest))]
			rest = rest[len(piece):]
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(piece, "\n", "\ndata: "))
			w.(http.Flusher).Flush()
		}
		io.WriteString(w, "data: [DONE]\n\n")
	}
}

// proxied starts a proxy.
func proxied(t *testing.T, cfg inlay.Config, ownData bool) *house {
	t.Helper()
	cfg.Logger, cfg.Data = slog.New(slog.DiscardHandler), t.TempDir()
	app, err := inlay.NewProxy(cfg, ownData)
	if err != nil {
		t.Fatal(err)
	}
	return serve(t, app)
}

func textAt(b *backend) inlay.Config {
	return inlay.Config{Model: inlay.ModelConfig{Kind: "text", BaseURL: b.URL}}
}

// told is a message as it is kept.
type told struct {
	ID, Conversation, Status, FinishReason string
	Error                                  struct{ Code, Message string }
	Blocks                                 []struct {
		ID, Type, Status, Fallback string
		Payload                    json.RawMessage
	}
}

func (m told) shape() string {
	var list []string
	for _, b := range m.Blocks {
		s := b.Type
		if b.Status != "done" {
			s += ":" + b.Status
		}
		list = append(list, s)
	}
	return strings.Join(list, " ")
}

func (m told) text(i int) string {
	var s string
	_ = json.Unmarshal(m.Blocks[i].Payload, &s) // "" is no text that is waited for
	return s
}

// question asks and returns the answer and its conversation.
func (h *house) question(conversation, text string, headers ...string) told {
	h.t.Helper()
	body := map[string]any{"input": map[string]string{"text": text}}
	if conversation != "" {
		body["conversationId"] = conversation
	}
	status, header, b := h.call("POST", "/v1/chat", body, headers...)
	if status != 200 {
		h.t.Fatalf("%d %s", status, b)
	}
	m := h.message(header.Get("X-Message-Id"))
	m.Conversation = header.Get("X-Conversation-Id")
	return m
}

func (h *house) message(id string) (m told) {
	h.t.Helper()
	_, _, b := h.call("GET", "/v1/messages/"+id, nil)
	if err := json.Unmarshal(b, &m); err != nil {
		h.t.Fatalf("%v %s", err, b)
	}
	return m
}

const pitch = "这款手表适合你：\n\n```ProductCard\n" + `{"id": "p-17", "title": "示例手表 \"Run\"", "description": "轻，续航两周", "price": 1299}` + "\n```\n\n支持分期，点开看详情。"

// TestProxyFindsCards: text, a card, text, however the back end cuts it, and
// what only the server may say is not believed.
func TestProxyFindsCards(t *testing.T) {
	for _, n := range []int{1, 2, 3, 5, 7, 11, 1000} {
		b := newBackend(t, inPieces(pitch, n))
		m := proxied(t, textAt(b), false).question("", "推荐一款手表")
		if m.Status != "done" || m.FinishReason != "stop" || m.shape() != "text app.product_card text" && m.shape() != "text product_card text" {
			t.Fatalf("%d: %s %+v", n, m.shape(), m)
		}
		if m.text(0) != "这款手表适合你：\n\n" || !strings.HasSuffix(m.text(2), "支持分期，点开看详情。") {
			t.Errorf("%d: %q, %q", n, m.text(0), m.text(2))
		}
		var card map[string]any
		if err := json.Unmarshal(m.Blocks[1].Payload, &card); err != nil || !reflect.DeepEqual(card, map[string]any{"id": "p-17", "title": `示例手表 "Run"`, "description": "轻，续航两周"}) {
			t.Errorf("%d: %v %v", n, card, err)
		}
		if bodies, _ := b.asked(); len(bodies) != 1 || bodies[0] != `{"messages": [{"role":"user","content":"推荐一款手表"}]}` {
			t.Errorf("%d: %s", n, bodies)
		}
	}
}

// TestProxyOfASystemThatKnows: what the back end says of prices stands, in the
// spelling of others too.
func TestProxyOfASystemThatKnows(t *testing.T) {
	fences := "```ProductCard\n" + `{"title":"Sample watch","itemPrice":9999,"imageUrl":"https://img.example.com/w.jpg","discount":"10 % off"}` + "\n```\n\n" +
		"```ProductCard\n" + `{"id":"p-1","title":"Sample band","price":5,"currency":"EUR"}` + "\n```\n\n" +
		"```TrainCard\n" + `{"id":"G1","from":"A","to":"B","departure":"2026-10-01T10:00:00Z","arrival":"2026-10-01T11:00:00Z"}` + "\n```\n\n" +
		"```FlightCard\n" + `{"id":"XX1","from":{"code":"AAA"},"to":{"code":"BBB"},"departure":"2026-10-01T10:00:00Z","arrival":"2026-10-01T11:00:00Z"}` + "\n```\n\n" +
		"```HotelCard\n" + `{"title":"Sample Inn","stars":4,"rooms":[{"name":"Double","price":90,"currency":"EUR"}]}` + "\n```\n\n" +
		"```ProductList\n" + `{"items":[{"title":"Sample watch","price":7}]}` + "\n```\n\n" +
		"```chart\n" + `{"version":1,"type":"bar","x":{"field":"region"},"series":[{"field":"amount","name":"Sales"}],"data":[{"region":"East","amount":320}]}` + "\n```\n"
	b := newBackend(t, inPieces(fences, 9))
	m := proxied(t, textAt(b), false).question("", "Hello")
	if got := strings.ReplaceAll(m.shape(), "app.", ""); got != "product_card product_card text hotel_card product_list chart" || string(m.Blocks[0].Payload) != `{"title":"Sample watch"}` || strings.Contains(string(m.Blocks[4].Payload), "price") {
		t.Errorf("not believed: %s %+v", got, m)
	}
	m = proxied(t, textAt(b), true).question("", "Hello")
	if got := strings.ReplaceAll(m.shape(), "app.", ""); got != "product_card product_card train_card flight_card hotel_card product_list chart" {
		t.Fatalf("%s %+v", got, m)
	}
	for i, want := range []string{`"itemPrice":9999`, `"price":5`, `"departure"`, `"arrival"`, `"stars":4`, `"price":7`, `"amount":320`} {
		if !strings.Contains(strings.ReplaceAll(string(m.Blocks[i].Payload), " ", ""), want) {
			t.Errorf("%d: %s", i, m.Blocks[i].Payload)
		}
	}
}

// TestProxyDialects: the answer in every dialect, and after a lost connection.
func TestProxyDialects(t *testing.T) {
	b := newBackend(t, inPieces(pitch, 4))
	h := proxied(t, textAt(b), false)
	ask := map[string]any{"input": map[string]string{"text": "Hello"}}
	for path, want := range map[string][]string{
		"/v1/chat": {"event: block_start", "event: block_end", `"type":"app.product_card"`, `"finishReason":"stop"`},
		"/v1/chat/stream?capabilities=app.product_card@1": {`"type":"ui_block"`, `"p-17"`},
		"/v1/chat/cards": {`"type":"append"`, `"p-17"`, `"type":"done"`},
	} {
		status, head, body := h.call("POST", path, ask)
		for _, w := range want {
			if status != 200 || !strings.Contains(string(body), w) {
				t.Errorf("%s: %d, no %s in\n%s", path, status, w, body)
			}
		}
		if msg := head.Get("X-Message-Id"); path == "/v1/chat" {
			_, _, rest := h.call("GET", "/v1/messages/"+msg+"/events?after=4", nil)
			if at := strings.Index(string(body), "id: 5\n"); at < 0 || string(rest) != string(body[at:]) {
				t.Errorf("it does not go on where it was:\n%s\nof\n%s", rest, body)
			}
		}
	}
	// Who does not draw the card reads what stands for it, and those who do have
	// it of the same answer.
	if m := h.question("", "Hello", "X-Blocks", "chart@1"); m.shape() != "text app.product_card text" {
		t.Errorf("%s", m.shape())
	}
}

// TestProxyWithoutTextPath: a flag that was forgotten is named in the log.
func TestProxyWithoutTextPath(t *testing.T) {
	b := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		io.WriteString(w, "data: {\"delta\":\"Hello\"}\n\ndata: [DONE]\n\n")
	})
	var log strings.Builder
	cfg := textAt(b)
	cfg.Logger, cfg.Data = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelWarn})), t.TempDir()
	app, err := inlay.NewProxy(cfg, false)
	if err != nil {
		t.Fatal(err)
	}
	if m := serve(t, app).question("", "Hello"); m.Status != "done" || !strings.Contains(log.String(), "--text-path") {
		t.Errorf("%s %s", m.Status, log.String())
	}
}

// TestProxyForThoseWhoDoNotDraw: a client that draws other blocks, and those of
// other protocols, which declare nothing, read what stands for a card.
func TestProxyForThoseWhoDoNotDraw(t *testing.T) {
	cfg := inlay.Config{Cards: []inlay.CardConfig{{
		Name: "OrderCard", Description: "An order.", Fallback: "Order {{.id}}: {{.note}}", Example: map[string]any{"id": "A-1", "note": "It leaves today."},
		Schema: map[string]any{"type": "object", "required": []any{"id"}, "additionalProperties": false, "properties": map[string]any{
			"id": map[string]any{"type": "string"}, "note": map[string]any{"type": "string"}, "total": map[string]any{"type": "number", "x-source": "server"}}},
	}}}
	b := newBackend(t, inPieces("Yes:\n\n```OrderCard\n{\"id\":\"A-7\",\"note\":\"It is on its way.\",\"total\":1}\n```\n\nAnything else?", 5))
	cfg.Model = textAt(b).Model
	h := proxied(t, cfg, false)
	question := []map[string]any{{"id": "u1", "role": "user", "content": "Where is it?", "parts": []map[string]any{{"type": "text", "text": "Where is it?"}}}}
	for name, c := range map[string]struct {
		path   string
		body   map[string]any
		blocks string
	}{
		"native": {"/v1/chat", map[string]any{"input": map[string]string{"text": "Where is it?"}}, "app.product_card@1"},
		"AG-UI":  {"/v1/ag-ui", map[string]any{"threadId": "t1", "runId": "r1", "messages": question, "tools": []any{}, "context": []any{}, "state": map[string]any{}, "forwardedProps": map[string]any{}}, ""},
		"AI SDK": {"/v1/ai-sdk/chat", map[string]any{"id": "c1", "messages": question, "trigger": "submit-message"}, ""},
		"cards":  {"/v1/chat/cards", map[string]any{"input": map[string]string{"text": "Where is it?"}}, "app.product_card@1"},
	} {
		var head []string
		if c.blocks != "" {
			head = []string{"X-Blocks", c.blocks}
		}
		status, _, raw := h.call("POST", c.path, c.body, head...)
		if got := string(raw); status != 200 || !strings.Contains(got, "Order A-7: It is on its way.") || strings.Contains(got, "```") || strings.Contains(got, "total") {
			t.Errorf("%s: %d\n%s", name, status, got)
		}
	}
	// The answer keeps it for those who draw it.
	if m := h.question("", "Where is it?", "X-Blocks", ""); m.shape() != "text app.order_card text" || m.Blocks[1].Fallback != "Order A-7: It is on its way." {
		t.Errorf("%s %+v", m.shape(), m.Blocks)
	}
}

// TestProxyRemembers: the back end is given what was said before, as it had
// written it, or the last question alone.
func TestProxyRemembers(t *testing.T) {
	b := newBackend(t, inPieces(pitch, 6))
	cfg := textAt(b)
	cfg.Model.Body = `{"q": {{.Text}}, "history": {{.Messages}}, "user": "{{.User}}", "lang": "{{.Lang}}"}`
	h := proxied(t, cfg, false)
	first := h.question("", "Hello")
	h.question(first.Conversation, "More", "Accept-Language", "zh")
	bodies, _ := b.asked()
	var sent struct {
		Q, User, Lang string
		History       []struct{ Role, Content string }
	}
	if len(bodies) != 2 || json.Unmarshal([]byte(bodies[1]), &sent) != nil {
		t.Fatal(bodies)
	}
	if sent.Q != "More" || sent.User != "dev" || sent.Lang != "zh" || len(sent.History) != 3 || sent.History[1].Role != "assistant" || sent.History[1].Content != pitch {
		t.Errorf("%+v", sent)
	}
}

func TestProxyPassesTheTokenOn(t *testing.T) {
	for _, kind := range []string{"text", "openai"} {
		status := http.StatusOK
		b := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
			if status != http.StatusOK {
				http.Error(w, "not "+r.Header.Get("Authorization"), status)
				return
			}
			if kind == "text" {
				inPieces("Hi", 9)(w, r)
				return
			}
			io.WriteString(w, `data: {"choices":[{"index":0,"delta":{"content":"Hi"},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
		})
		cfg := inlay.Config{Model: inlay.ModelConfig{Kind: kind, BaseURL: b.URL, Auth: "forward", Name: "some-model"}}
		h := proxied(t, cfg, false)
		if m := h.question("", "Hello", "Authorization", "Bearer token-of-ann"); m.shape() != "text" || m.text(0) != "Hi" {
			t.Errorf("%s: %+v", kind, m)
		}
		if m := h.question("", "Hello"); m.Error.Code != "model_unauthorized" {
			t.Errorf("%s without a token: %+v", kind, m)
		}
		if _, auth := b.asked(); !reflect.DeepEqual(auth, []string{"Bearer token-of-ann"}) {
			t.Errorf("%s: %q", kind, auth)
		}
		status = http.StatusForbidden
		if m := h.question("", "Hello", "Authorization", "Bearer token-of-bob"); m.Error.Code != "model_unauthorized" || strings.Contains(fmt.Sprint(m), "token-of-bob") {
			t.Errorf("%s refused: %+v", kind, m)
		}
	}
}

// TestProxyFailures: what fails is said in words, what was shown stays, and
// nothing is asked twice.
func TestProxyFailures(t *testing.T) {
	half := "Half of it.\n\n```ProductCard\n{\"id\":"
	for _, c := range []struct {
		name   string
		answer http.HandlerFunc
		code   string
		shape  string
	}{
		{"down", func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "busy", http.StatusServiceUnavailable) }, "model_unavailable", ""},
		{"a page", func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			io.WriteString(w, "<html>")
		}, "model_bad_response", ""},
		{"elsewhere", func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "http://192.0.2.1/", http.StatusTemporaryRedirect)
		}, "model_bad_request", ""},
		{"an error in the stream", func(w http.ResponseWriter, _ *http.Request) {
			io.WriteString(w, "data: Half\n\nevent: error\ndata: {\"message\":\"it broke\"}\n\n")
		}, "model_unavailable", "text"},
		{"nothing", func(w http.ResponseWriter, _ *http.Request) { io.WriteString(w, "data: [DONE]\n\n") }, "model_empty_answer", ""},
		{"cut within a card", func(w http.ResponseWriter, _ *http.Request) {
			fmt.Fprintf(w, "data: %s\n\n", strings.ReplaceAll(half, "\n", "\ndata: "))
			w.(http.Flusher).Flush()
			panic(http.ErrAbortHandler)
		}, "model_incomplete", "text product_card:error"},
		{"silence", func(w http.ResponseWriter, r *http.Request) {
			io.WriteString(w, "data: Half\n\n")
			w.(http.Flusher).Flush()
			<-r.Context().Done()
		}, "model_timeout", "text"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBackend(t, c.answer)
			cfg := textAt(b)
			cfg.Model.IdleTimeout = 300 * time.Millisecond
			m := proxied(t, cfg, false).question("", "Hello")
			if m.Status != "error" || m.Error.Code != c.code || m.Error.Message == "" || strings.ReplaceAll(m.shape(), "app.", "") != c.shape {
				t.Errorf("%s, %+v", m.shape(), m)
			}
			if bodies, _ := b.asked(); len(bodies) != 1 {
				t.Errorf("asked %d times", len(bodies))
			}
		})
	}
}

// endless streams until nobody reads any more.
func endless(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	for r.Context().Err() == nil {
		if _, err := io.WriteString(w, "data: and so on \n\n"); err != nil {
			return
		}
		w.(http.Flusher).Flush()
	}
}

func TestProxyBoundsAnswers(t *testing.T) {
	b := newBackend(t, endless)
	cfg := textAt(b)
	cfg.Limits.OutputBytes = 10_000
	m := proxied(t, cfg, false).question("", "Hello")
	if m.Status != "done" || m.FinishReason != "length" || len(m.text(0)) > 10_000 || len(m.text(0)) < 9_000 {
		t.Errorf("%s %s, %d bytes", m.Status, m.FinishReason, len(m.text(0)))
	}
	b.over(t)
}

func TestProxyStops(t *testing.T) {
	b := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: Half\n\n")
		w.(http.Flusher).Flush()
		<-r.Context().Done()
	})
	h := proxied(t, textAt(b), false)
	req, err := http.NewRequestWithContext(t.Context(), "POST", h.url+"/v1/chat", strings.NewReader(`{"input":{"text":"Hello"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	msg := res.Header.Get("X-Message-Id")
	for lines := bufio.NewScanner(res.Body); lines.Scan() && !strings.Contains(lines.Text(), "Half"); {
	}
	if status, _, body := h.call("POST", "/v1/messages/"+msg+"/stop", nil); status/100 != 2 {
		t.Fatalf("%d %s", status, body)
	}
	b.over(t)
	if _, err := io.Copy(io.Discard, res.Body); err != nil {
		t.Fatal(err)
	}
	if m := h.message(msg); m.Status != "cancelled" {
		t.Errorf("%+v", m)
	}
}

// TestProxyOfAnEndpoint: one of chat completions is offered no tools, and told
// how cards are written unless it has a prompt of its own.
func TestProxyOfAnEndpoint(t *testing.T) {
	b := newBackend(t, func(w http.ResponseWriter, _ *http.Request) {
		for _, piece := range strings.SplitAfter(pitch, " ") {
			raw, err := json.Marshal(piece)
			if err != nil {
				panic(err)
			}
			fmt.Fprintf(w, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s}}]}\n\n", raw)
		}
		io.WriteString(w, `data: {"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`+"\n\ndata: [DONE]\n\n")
	})
	on := true
	for _, omit := range []bool{false, true} {
		cfg := inlay.Config{
			Model: inlay.ModelConfig{BaseURL: b.URL + "/v1", Name: "some-model", OmitSystem: omit},
			Agent: inlay.AgentConfig{AskUser: true}, Recommender: inlay.RecommenderConfig{Enabled: &on},
			Allow: inlay.AllowConfig{Routes: []string{"/wallet"}},
		}
		m := proxied(t, cfg, false).question("", "Hello")
		if got := strings.ReplaceAll(m.shape(), "app.", ""); got != "text product_card text" {
			t.Errorf("%s", got)
		}
		bodies, _ := b.asked()
		last := bodies[len(bodies)-1]
		if strings.Contains(last, `"tools"`) || strings.Contains(last, "tool_choice") || strings.Contains(last, "## ProductCard") == omit || strings.Contains(last, `"system"`) == omit {
			t.Errorf("omit %v: %s", omit, last)
		}
		if want := map[bool]int{false: 1, true: 2}[omit]; len(bodies) != want {
			t.Errorf("%d requests, want %d: it recommends", len(bodies), want)
		}
	}
}

// TestTextModelInAFile: the same back end behind serve, with the cards of the
// file.
func TestTextModelInAFile(t *testing.T) {
	b := newBackend(t, func(w http.ResponseWriter, r *http.Request) {
		io.WriteString(w, "data: {\"delta\":\"Look:\\n\"}\n\nevent: meta\ndata: {\"delta\":\"no\"}\n\ndata: {\"delta\":\"```OrderCard\\n{\\\"id\\\":\\\"A-1\\\",\\\"total\\\":7}\\n```\\n\"}\n\nevent: done\ndata: {}\n\n")
	})
	file := `
model:
  kind: text
  base_url: ` + b.URL + `
  name: order-desk
  body: '{"query": "{{.Text}}", "rules": "{{.System}}"}'
  text_path: /delta
  text_events: [message]
agent: { system: Be brief. }
cards:
  - name: OrderCard
    schema: { type: object, required: [id], properties: { id: { type: string }, total: { type: number } } }
    example: { id: A-1 }
`
	cfg, err := inlay.Load(write(t, file), nil)
	if err == nil {
		err = cfg.Check(t.Context())
	}
	if err != nil {
		t.Fatal(err)
	}
	h := start(t, cfg, nil)
	m := h.question("", "Hello")
	if got := strings.ReplaceAll(m.shape(), "app.", ""); got != "text order_card" && got != "text order_card text" {
		t.Errorf("%s %+v", got, m)
	}
	bodies, _ := b.asked()
	if len(bodies) != 1 || !strings.Contains(bodies[0], "Be brief.") || !strings.Contains(bodies[0], "## OrderCard") {
		t.Errorf("%q", bodies)
	}
	for want, change := range map[string][2]string{
		`model.kind: "txt" must be openai or text; did you mean text?`: {"kind: text", "kind: txt"},
		`model.auth: "forwrd"`: {"name: order-desk", "auth: forwrd"},
		"model: body, text_path and text_events are for model.kind text":            {"kind: text", "kind: openai"},
		"model.profile: vendors differ":                                             {"name: order-desk", "profile: glm"},
		"no JSON Pointer":                                                           {"text_path: /delta", "text_path: delta"},
		"there is no {{.Query}}":                                                    {"{{.Text}}", "{{.Query}}"},
		"agent.system: model.body has no {{.System}}":                               {`"{{.System}}"`, `"none"`},
		"agent.system: model.omit_system leaves it out":                             {"name: order-desk", "omit_system: true"},
		"agent.ask_user: it needs a model that calls tools":                         {"system: Be brief.", "ask_user: true"},
		"demo: it needs a model that calls tools":                                   {"model:", "demo: true\nmodel:"},
		"model.api_key: the environment variable INLAY_TEST_NO_SUCH_KEY is not set": {"name: order-desk", "api_key_env: INLAY_TEST_NO_SUCH_KEY"},
		"model.base_url: required":                                                  {"base_url: " + b.URL, ""},
	} {
		cfg, err := inlay.Load(write(t, strings.Replace(file, change[0], change[1], 1)), nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", change[1], err, want)
		}
	}
	cfg.Model.Auth, cfg.Model.APIKey = "forward", "sample"
	if err := cfg.Check(t.Context()); err == nil || !strings.Contains(err.Error(), "model.auth: forward") {
		t.Errorf("a key and a token: %v", err)
	}
	if _, err := inlay.NewProxy(inlay.Config{}, false); err == nil || !strings.Contains(err.Error(), "model.base_url") {
		t.Errorf("a proxy of nothing: %v", err)
	}
}
