package docs

import (
	"context"
	"database/sql"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/turn"
)

// onPage is the only example of a page with an info string.
func onPage(t *testing.T, page, info string) example {
	t.Helper()
	var list []example
	for _, e := range examples(t, info) {
		if e.page == page {
			list = append(list, e)
		}
	}
	if len(list) != 1 {
		t.Fatalf("%s: %d examples %q", page, len(list), info)
	}
	return list[0]
}

// answering is a model that gives one answer.
type answering string

func (answering) Info() model.Info { return model.Info{Kind: "test", Name: "answering"} }

func (a answering) Stream(_ context.Context, _ model.Request, on func(model.Delta) error) (model.Response, error) {
	return model.Response{Text: string(a), Finish: model.FinishStop}, on(model.Delta{Text: string(a)})
}

// TestCardsOfThePage loads the configuration of docs/cards.md over a database
// and lets a model answer with the text that stands there.
func TestCardsOfThePage(t *testing.T) {
	config, text := onPage(t, "docs/cards.md", "yaml complete"), onPage(t, "docs/cards.md", "`md").text
	t.Chdir(t.TempDir())
	db, err := sql.Open("sqlite", "file:shop.db")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE products (id TEXT, title TEXT, price REAL, stock INTEGER);
		INSERT INTO products VALUES ('p-17', 'Sample watch Run', 699, 3), ('p-18', 'Sample watch Trail', 1299, 0), ('p-19', 'Sample watch Lite', 399, 8);
		CREATE TABLE orders (id TEXT, state TEXT, total REAL); INSERT INTO orders VALUES ('A-1', 'open', 120.5)`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("inlay.yaml", []byte(config.text), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := inlay.Load("inlay.yaml", nil)
	if err != nil {
		t.Fatal(err)
	}
	prompt, err := cfg.CardPrompt()
	for _, want := range []string{"## ProductCard", "## OrderCard", "[(Name:id)]", "A-1"} {
		if err != nil || !strings.Contains(prompt, want) {
			t.Errorf("%s: the prompt lacks %q, %v:\n%s", config, want, err, prompt)
		}
	}
	found, err := cfg.CheckCards(text)
	if err != nil {
		t.Fatal(err)
	}
	var syntaxes []string
	for _, f := range found {
		if f.Name != "" {
			syntaxes = append(syntaxes, f.Syntax)
		}
		if f.Err != nil {
			t.Errorf("%+v", f)
		}
	}
	if !slices.Equal(syntaxes, []string{"fence", "placeholder", "tag"}) {
		t.Errorf("%v", syntaxes)
	}
	cfg.Limits.OptionalBlocks, cfg.LLM = 3, answering(text)
	url := serve(t, cfg)
	ask := func(method, path, body string) (http.Header, []byte) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, url+path, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		raw, err := io.ReadAll(resp.Body)
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d %s, %v", path, resp.StatusCode, raw, err)
		}
		return resp.Header, raw
	}
	head, _ := ask("POST", "/v1/chat", `{"input":{"text":"Which watch?"}}`)
	_, raw := ask("GET", "/v1/messages/"+head.Get("X-Message-Id"), "")
	var message struct {
		Blocks []struct {
			Type    string
			Payload json.RawMessage
		}
	}
	if err := json.Unmarshal(raw, &message); err != nil {
		t.Fatalf("%s: %v", raw, err)
	}
	var prices []float64
	for _, b := range message.Blocks {
		var p inlay.ProductCard
		if b.Type == "app.product_card" && json.Unmarshal(b.Payload, &p) == nil && p.Price != nil {
			prices = append(prices, *p.Price)
		}
	}
	if want := []float64{699, 1299, 399}; !slices.Equal(prices, want) {
		t.Errorf("prices %v, want %v: %s", prices, want, raw)
	}
}

// TestOutcomesOfCardsAreDocumented looks for everything that can become of a
// card.
func TestOutcomesOfCardsAreDocumented(t *testing.T) {
	words := []string{
		turn.CardShown, turn.CardRefused, turn.CardUnknown, turn.CardFailed, turn.CardCut, markup.BadJSON, markup.NotObject, markup.TooLong,
		markup.Unterminated, markup.SchemaInvalid, markup.VersionDowngrade, markup.UnsupportedBlock, markup.HydrateTimeout,
	}
	for _, s := range markup.Syntaxes() {
		words = append(words, string(s))
	}
	for _, c := range markup.Presets() {
		words = append(words, c.Name)
	}
	mentions(t, "docs/cards.md", words)
}
