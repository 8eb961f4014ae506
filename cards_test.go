package inlay_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/model"
)

// cardsYAML declares a card of a database, one of an HTTP origin, a preset, one
// without a source and another way to write a built-in block.
const cardsYAML = `
demo: false
agent: { embed: [fence, placeholder] }
limits: { optional_blocks: 10 }
sources:
  shop: { sql: { dsn: "sqlite:SHOP" } }
  rail: { http: { base_url: "RAIL" } }
actions:
  pay: { source: rail, request: { method: POST, path: /pay }, confirm: "Pay?" }
  run_nothing: { source: rail, request: { path: /run }, blocks: [table] }
cards:
  - preset: ProductCard
    source: shop
    query: SELECT id, title, price, 'CNY' AS currency, stock FROM products WHERE id IN (SELECT value FROM json_each(:ids))
    timeout: 2s
    hint: Only of watches.
  - preset: TrainCard
    source: rail
    request: { path: "/trains/{{.args.id}}" }
    payload: '{id: .args.id, from: .body.a, to: .body.b, departure: .body.dep, arrival: .body.arr}'
  - name: OrderCard
    version: "1.2"
    description: An order.
    schema:
      type: object
      additionalProperties: false
      required: [id]
      properties:
        id: { type: string }
        note: { type: string }
        total: { type: number, x-source: server }
        owner: { type: string, x-source: server }
    example: { id: A-1, note: On its way. }
    fallback: "Order {{.id}}: {{.total}}"
    source: shop
    query: SELECT total, :user.id AS owner FROM orders WHERE id = :id
    actions: '[{id: "more", kind: "prompt", label: "More", prompt: "More about \(.payload.id)"}]'
    syntaxes: [fence]
    streaming: true
    height: 120
  - name: NoteCard
    schema: { type: object, required: [title], properties: { title: { type: string } } }
    example: { title: Remember. }
  - name: Chart
    type: chart
    example: { version: 1, type: bar, x: { field: a }, series: [ { field: b, name: B } ], data: [ { a: East, b: 1 } ] }
`

// moreAction is where cardsYAML has actions.
const moreAction = `actions: '[{id: "more", kind: "prompt", label: "More", prompt: "More about \(.payload.id)"}]'`

// says is a model that gives one answer.
type says string

func (says) Info() model.Info { return model.Info{Kind: "test", Name: "says"} }

func (s says) Stream(_ context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	text := string(s)
	if text == "" {
		text = req.Messages[0].Content
	}
	return model.Response{Text: text, Finish: model.FinishStop}, on(model.Delta{Text: text})
}

// cardsConfig is cardsYAML with sources that exist.
func cardsConfig(t *testing.T) inlay.Config {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE products (id, title, price REAL, stock INTEGER);
		INSERT INTO products VALUES ('p-1', 'Watch Run', 699, 3), ('p-2', 'Watch Trail', 1299, 0);
		CREATE TABLE orders (id, total REAL); INSERT INTO orders VALUES ('A-1', 120.5)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	rail := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/trains/G1":
			_, _ = io.WriteString(w, `{"a":"Hangzhou","b":"Shanghai","dep":"2026-10-01T10:00:00+08:00","arr":"2026-10-01T11:00:00+08:00"}`)
		case "/trains/G500":
			w.WriteHeader(http.StatusInternalServerError)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(rail.Close)
	cfg, err := inlay.Load(write(t, strings.NewReplacer("SHOP", file, "RAIL", rail.URL).Replace(cardsYAML)), nil)
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

// blocksOf runs one turn and returns the blocks of the answer.
func blocksOf(t *testing.T, cfg inlay.Config, llm model.Model, prepare ...func(a *inlay.App) error) []map[string]any {
	t.Helper()
	cfg.Data, cfg.LLM, cfg.Log.Level = t.TempDir(), llm, "error"
	app, err := inlay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range prepare {
		if err := f(app); err != nil {
			t.Fatal(err)
		}
	}
	h := serve(t, app)
	status, head, raw := h.call("POST", "/v1/chat", map[string]any{"input": map[string]string{"text": "go"}})
	if status != http.StatusOK {
		t.Fatalf("/v1/chat: %d %s", status, raw)
	}
	msg := head.Get("X-Message-Id")
	if status, _, raw = h.call("GET", "/v1/messages/"+msg, nil); status != http.StatusOK {
		t.Fatalf("/v1/messages/%s: %d %s", msg, status, raw)
	}
	var m struct {
		Blocks []map[string]any `json:"blocks"`
	}
	if err := json.Unmarshal(raw, &m); err != nil {
		t.Fatal(err)
	}
	return m.Blocks
}

// TestDeclaredCards runs an answer with every kind of declared card.
func TestDeclaredCards(t *testing.T) {
	cfg := cardsConfig(t)
	if err := cfg.Check(t.Context()); err != nil {
		t.Fatal(err)
	}
	blocks := blocksOf(t, cfg, says("A [(ProductCard:p-1)] B [(ProductCard:p-2)] C [(ProductCard:no)] D [(TrainCard:G1)] E [(TrainCard:G404)] F [(TrainCard:G500)]\n"+
		"```OrderCard\n{\"id\":\"A-1\",\"note\":\"n\",\"total\":1}\n```\n```NoteCard\n{\"title\":\"t\"}\n```\n"+
		"```Chart\n{\"version\":1,\"type\":\"bar\",\"x\":{\"field\":\"a\"},\"series\":[{\"field\":\"b\",\"name\":\"B\"}],\"data\":[{\"a\":\"East\",\"b\":1}]}\n```\n[(OrderCard:A-1)]"))
	var got []string
	for _, b := range blocks {
		if b["type"] == "text" {
			continue
		}
		s := b["type"].(string)
		if e, ok := b["error"].(map[string]any); ok {
			s += " " + e["code"].(string)
		}
		got = append(got, s)
	}
	if want := []string{
		"app.product_card", "app.product_card", "app.product_card NOT_FOUND", "app.train_card", "app.train_card NOT_FOUND", "app.train_card DATA_FETCH_FAILED",
		"app.order_card", "app.note_card", "chart",
	}; !slices.Equal(got, want) {
		t.Fatalf("%q\nwant %q", got, want)
	}
	find := func(typ string) map[string]any {
		return blocks[slices.IndexFunc(blocks, func(b map[string]any) bool { return b["type"] == typ })]
	}
	if p := find("app.product_card")["payload"].(map[string]any); p["price"] != 699.0 || p["title"] != "Watch Run" {
		t.Errorf("product %v", p)
	}
	if p := find("app.train_card")["payload"].(map[string]any); p["from"] != "Hangzhou" {
		t.Errorf("train %v", p)
	}
	o := find("app.order_card")
	if p := o["payload"].(map[string]any); p["total"] != 120.5 || p["note"] != "n" || p["owner"] == "" {
		t.Errorf("order %v", p)
	}
	if o["fallback"] != "Order A-1: 120.5" || o["actions"].([]any)[0].(map[string]any)["prompt"] != "More about A-1" || o["meta"].(map[string]any)["estimatedHeight"] != 120.0 {
		t.Errorf("order %v", o)
	}
	if last := blocks[len(blocks)-1]; last["type"] != "text" || last["payload"] != "[(OrderCard:A-1)]" {
		t.Errorf("a card in a syntax that it has not: %v", last)
	}
}

// TestCardsOfAProgram adds cards by Go.
func TestCardsOfAProgram(t *testing.T) {
	resolve := func(_ context.Context, ids []string) (map[string]json.RawMessage, error) {
		return map[string]json.RawMessage{ids[0]: json.RawMessage(`{"title":"Sample Inn","stars":4}`)}, nil
	}
	demo := false
	blocks := blocksOf(t, inlay.Config{Demo: &demo}, says("[(HotelCard:h1)]"), func(a *inlay.App) error {
		return a.AddCards(inlay.PresetCard("HotelCard", resolve))
	})
	if len(blocks) != 1 || blocks[0]["type"] != "app.hotel_card" || blocks[0]["payload"].(map[string]any)["stars"] != 4.0 {
		t.Errorf("%v", blocks)
	}
	app, err := inlay.New(inlay.Config{Data: t.TempDir(), Demo: &demo})
	if err != nil {
		t.Fatal(err)
	}
	if err := app.AddCards(inlay.PresetCard("HotelCard", resolve)); err != nil {
		t.Fatal(err)
	}
	if err := app.AddCards(inlay.PresetCard("HotelCard", resolve)); err == nil {
		t.Error("a card is added twice")
	}
}

// TestCardConfigErrors expects errors that name the key and what was meant.
func TestCardConfigErrors(t *testing.T) {
	for _, c := range []struct{ old, now, want string }{
		{"embed: [fence, placeholder]", "embed: [fense]", `agent.embed[0]: syntax "fense": must be fence, placeholder or tag; did you mean fence?`},
		{"preset: ProductCard", "preset: ProdctCard", `cards[0]: there is no preset "ProdctCard" (there are ProductCard, ProductList, TrainCard, FlightCard, HotelCard); did you mean ProductCard?`},
		{"source: shop\n    query: SELECT id", "source: shops\n    query: SELECT id", `cards[0]: card "ProductCard": source "shops" is not defined (there are shop, rail); did you mean shop?`},
		{"json_each(:ids)", "json_each(:list)", `cards[0]: card "ProductCard": query: :list: there is :id or :ids`},
		{"SELECT id, title", "UPDATE products SET id = :ids; --", `cards[0]: card "ProductCard": query: `},
		{`{ path: "/trains/{{.args.id}}" }`, `{ path: "/trains" }`, `cards[1]: card "TrainCard": request: it uses neither id nor ids`},
		{`{ path: "/trains/{{.args.id}}" }`, `{ method: DELETE, path: "/trains/{{.args.id}}" }`, `with GET or POST, not with DELETE`},
		{"payload: '{id", "payload: '{{id", `cards[1]: card "TrainCard": payload: jq`},
		{"name: OrderCard", "names: OrderCard", `unknown key "cards[2].names"; did you mean cards[2].name?`},
		{`version: "1.2"`, `version: one`, `cards[2]: card "OrderCard": version: "one" is no version`},
		{"x-source: server }\n        owner", "x-source: sever }\n        owner", `x-source "sever" must be server or model`},
		{"example: { id: A-1, note: On its way. }", "example: { id: A-1, total: 1 }", `cards[2]: card "OrderCard": example: /total is not for the model to say`},
		{"example: { id: A-1, note: On its way. }", "", `cards[2]: card "OrderCard": an example is required`},
		{"syntaxes: [fence]", "syntaxes: [fence, plcaeholder]", `syntaxes[1]: syntax "plcaeholder": must be fence, placeholder or tag; did you mean placeholder?`},
		{"fallback: \"Order {{.id}}", "fallback: \"Order {{id}}", `card "OrderCard": fallback: {{id}} is not a path`},
		{"actions: '[{id", "actions: '[{{id", `card "OrderCard": actions: jq`},
		{moreAction, "actions: [pay, payy]", `cards[2]: card "OrderCard": actions[1]: action "payy" is not registered (there are pay, run_nothing); did you mean pay?`},
		{moreAction, "actions: [run_nothing]", `cards[2]: card "OrderCard": actions[0]: action "run_nothing" is for blocks of the type table, and not for app.order_card`},
		{moreAction, `actions: '[{id: "x", action: (if .payload.note then "nope" else "pay" end)}]'`, `cards[2]: card "OrderCard": actions[0]: action "nope" is not registered`},
		{moreAction, "actions: [5]", `cards[2]: card "OrderCard": actions: `},
		{"type: chart", "type: chrat", `cards[4]: card "Chart": block type "chrat" is not registered; did you mean chart?`},
		{"name: NoteCard", "name: OrderCard", `cards[3]: card "OrderCard": version 1 is there already`},
		{"timeout: 2s", "timeout: 2", "not a duration"},
		{"timeout: 2s", "timeout: -2s", "must not be negative"},
		{moreAction, "actions: [pay]", ""},
		{moreAction, `actions: '[{id: "pay", label: .payload.nothing.here[0:2]}, if .payload.note > 5 then "nope" else empty end]'`, `action "nope" is not`},
	} {
		text := strings.NewReplacer("SHOP", "shop.db", "RAIL", "https://rail.example.com").Replace(cardsYAML)
		if !strings.Contains(text, c.old) {
			t.Fatalf("%q is not there", c.old)
		}
		cfg, err := inlay.Load(write(t, strings.Replace(text, c.old, c.now, 1)), nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		if err == nil && c.want != "" || err != nil && (c.want == "" || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v\nwant %s", c.now, err, c.want)
		}
	}
}

// TestCardsCallTheDemonstration: a button may call an action of the sample data
// while that is on, and of nothing else.
func TestCardsCallTheDemonstration(t *testing.T) {
	for name, want := range map[string]string{"add_to_basket": "", "nope": `card "ProductCard": actions[0]: action "nope" is not registered (there are add_to_basket, `} {
		cfg, err := inlay.Load(write(t, "cards: [{preset: ProductCard, actions: ["+name+"]}]"), nil)
		if err != nil {
			t.Fatal(err)
		}
		cfg.Data = t.TempDir()
		open := func() error {
			app, err := inlay.New(cfg)
			if err == nil {
				err = app.Open(t.Context())
				_ = app.Close()
			}
			return err
		}
		_, checked := cfg.CheckCards("")
		for how, err := range map[string]error{"validate": cfg.Check(t.Context()), "cards check": checked, "serve": open()} {
			if (err != nil) != (want != "") || err != nil && !strings.Contains(err.Error(), want) {
				t.Errorf("%s of %s: %v", how, name, err)
			}
		}
	}
}

// TestCheckCards reads the model's text as the turn does.
func TestCheckCards(t *testing.T) {
	cfg := cardsConfig(t)
	prompt, err := cfg.CardPrompt()
	if err != nil || !strings.Contains(prompt, "## OrderCard") || !strings.Contains(prompt, "Only of watches.") {
		t.Fatalf("%s %v", prompt, err)
	}
	found, err := cfg.CheckCards(prompt)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range found {
		if f.Err != nil {
			t.Errorf("of the prompt itself %s is not shown: %v", f.Name, f.Err)
		}
	}
	found, err = cfg.CheckCards("Hi\n```NoteCard\n{\"title\":\"t\"}\n```\n```NoteCard\n{}\n```\n```OrderCard@1.1\n{\"id\":\"A-1\",\"total\":5}\n```\n```NoteCard\n{")
	if err != nil || len(found) != 5 {
		t.Fatalf("%+v %v", found, err)
	}
	if f := found[1]; f.Err != nil || f.Text != "t" || !f.Unversioned {
		t.Errorf("%+v", f)
	}
	if f := found[2]; f.Err == nil || f.Reason != "schema" {
		t.Errorf("%+v", f)
	}
	if f := found[3]; f.Err != nil || !slices.Equal(f.IDs, []string{"A-1"}) || !slices.Equal(f.Dropped, []string{"/total"}) || f.Unversioned {
		t.Errorf("%+v", f)
	}
	if f := found[4]; f.Reason != "unterminated" || f.Source != "```NoteCard\n{" {
		t.Errorf("%+v", f)
	}
}
