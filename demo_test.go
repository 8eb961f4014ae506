package inlay_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/openai"
	"github.com/inlay-ui/inlay/model/scripted"
)

// demoServer is the demonstration behind HTTP, answering at once.
type demoServer struct {
	*testing.T
	url string
	// all declares every block type there is.
	all string
}

func startDemo(t *testing.T, llm model.Model) *demoServer {
	t.Helper()
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
	d := &demoServer{T: t, url: srv.URL}
	var list struct {
		Blocks []struct {
			Type    string
			Version int
		}
	}
	_, raw := d.call("GET", "/v1/blocks", nil, nil)
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	var tokens []string
	for _, b := range list.Blocks {
		tokens = append(tokens, b.Type+"@"+strconv.Itoa(b.Version))
	}
	d.all = strings.Join(tokens, ",")
	return d
}

func (d *demoServer) call(method, path string, head map[string]string, body any) (http.Header, []byte) {
	d.Helper()
	raw, err := json.Marshal(body)
	if err != nil {
		d.Fatal(err)
	}
	req, err := http.NewRequestWithContext(d.Context(), method, d.url+path, bytes.NewReader(raw))
	if err != nil {
		d.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range head {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		d.Fatal(err)
	}
	defer resp.Body.Close()
	got, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode >= 300 {
		d.Fatalf("%s %s: %d %s, %v", method, path, resp.StatusCode, got, err)
	}
	return resp.Header, got
}

// demoAnswer is a whole answer and the stream that it came by.
type demoAnswer struct {
	Status event.Status
	Blocks []block.Block
	stream string
}

// kinds are the types of the blocks.
func (a demoAnswer) kinds() []string {
	kinds := []string{}
	for _, b := range a.Blocks {
		kinds = append(kinds, b.Type)
	}
	return kinds
}

// text is what the answer says.
func (a demoAnswer) text() string {
	var all []string
	for _, b := range a.Blocks {
		var text string
		if b.Type == "text" && json.Unmarshal(b.Payload, &text) == nil {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

// ask asks a question as a client that draws the named types; nil declares
// nothing.
func (d *demoServer) ask(lang, question string, blocks *string) demoAnswer {
	d.Helper()
	head := map[string]string{"Accept-Language": lang}
	if blocks != nil {
		head["X-Blocks"] = *blocks
	}
	got, stream := d.call("POST", "/v1/chat", head, map[string]any{"input": map[string]string{"text": question}})
	a := demoAnswer{stream: string(stream)}
	_, raw := d.call("GET", "/v1/messages/"+got.Get("X-Message-Id"), head, nil)
	if err := json.Unmarshal(raw, &a); err != nil {
		d.Fatal(err)
	}
	return a
}

func newScripted(t *testing.T) *scripted.Model {
	t.Helper()
	m, err := scripted.New(scripted.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestDemoAnswersItsSuggestions asks what the empty page offers, in both
// languages, and expects whole answers made of finished blocks.
func TestDemoAnswersItsSuggestions(t *testing.T) {
	d := startDemo(t, newScripted(t))
	seen := map[string]bool{}
	for _, lang := range []string{"en", "zh"} {
		var config struct{ Suggestions []struct{ Text string } }
		_, raw := d.call("GET", "/v1/client-config", map[string]string{"Accept-Language": lang}, nil)
		if err := json.Unmarshal(raw, &config); err != nil || len(config.Suggestions) < 8 {
			t.Fatalf("%s: %s, %v", lang, raw, err)
		}
		for _, s := range config.Suggestions {
			a, shown := d.ask(lang, s.Text, &d.all), false
			for _, b := range a.Blocks {
				seen[b.Type] = true
				shown = shown || b.Type != "text"
				// Two of them show a failure, and say so.
				if b.Status != block.StatusDone && b.Fallback != "[(TrainCard:S999)]" && !strings.Contains(s.Text, "fails once") && !strings.Contains(s.Text, "失败一次") {
					t.Errorf("%s: a %s is %s: %+v", s.Text, b.Type, b.Status, b.Err)
				}
			}
			if a.Status != event.StatusDone && a.Status != event.StatusPaused || !shown {
				t.Errorf("%s: %s with %v", s.Text, a.Status, a.kinds())
			}
		}
	}
	for _, kind := range []string{"text", "chart", "table", "query", "form", "file", "image", "card_list", "confirm", "app.product_card", "app.train_card", block.FeatureRecommendationName} {
		if !seen[kind] {
			t.Errorf("no suggestion shows a %s", kind)
		}
	}
}

// card reads the buttons of an answer's card: where each leads.
func (d *demoServer) card(a demoAnswer) (b block.Block, r block.Recommendation, targets []string) {
	d.Helper()
	for _, each := range a.Blocks {
		if each.Type != block.FeatureRecommendationName {
			continue
		}
		if b.ID != "" {
			d.Errorf("two cards: %v", a.kinds())
		}
		b = each
		if err := json.Unmarshal(b.Payload, &r); err != nil {
			d.Error(err)
		}
		for _, i := range r.Items {
			to := i.Action.To()
			targets = append(targets, string(to.Kind)+" "+to.Value)
		}
	}
	return b, r, targets
}

// TestDemoLeadsOn expects, after answers that lead somewhere, one card at the
// end for clients that draw it, and nothing for others and after other
// answers. It is the same with the model behind its own endpoint.
func TestDemoLeadsOn(t *testing.T) {
	profile, err := openai.LookupProfile("openai")
	if err != nil {
		t.Fatal(err)
	}
	remote, err := openai.New(openai.Config{
		BaseURL: "http://demo.invalid/v1", Name: scripted.Name, Profile: profile,
		HTTPClient: &http.Client{Transport: scripted.RoundTripper(newScripted(t).Handler())},
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, llm := range map[string]model.Model{"in the process": newScripted(t), "over the wire": remote} {
		t.Run(name, func(t *testing.T) {
			d := startDemo(t, llm)
			for _, test := range []struct {
				lang, question, label string
				targets               []string
			}{
				{"en", "How do I deposit?", "Open the deposit", []string{"modal deposit"}},
				{"zh", "怎么入金？", "打开入金", []string{"modal deposit"}},
				{"en", "How do I withdraw?", "Open the withdrawal", []string{"modal withdraw"}},
				{"zh", "怎么提现", "打开提现", []string{"modal withdraw"}},
				{"en", "Where can I see all block types?", "Open the gallery", []string{"route /gallery"}},
				{"zh", "在哪里可以看到所有的块类型", "打开组件库", []string{"route /gallery"}},
				{"en", "Which commands are there?", "Sales of 2026Q3", []string{"slash /sales 2026Q3"}},
				{"zh", "有哪些命令", "2026Q3 销售额", []string{"slash /sales 2026Q3"}},
				{"en", "Where does the data come from?", "Labor statistics", []string{"external https://www.bls.gov/cps/", "external https://data.gov/"}},
				{"zh", "数据从哪里来", "美国劳工统计局", []string{"external https://www.bls.gov/cps/", "external https://data.gov/"}},
			} {
				a := d.ask(test.lang, test.question, &d.all)
				b, r, targets := d.card(a)
				if a.Status != event.StatusDone || !slices.Equal(a.kinds(), []string{"text", block.FeatureRecommendationName}) || !slices.Equal(targets, test.targets) || r.Items[0].Label != test.label {
					t.Errorf("%s: %s, %v, %+v", test.question, a.Status, a.kinds(), r)
					continue
				}
				if b.Meta.Producer != emit.ProducerRecommender || b.Meta.Position != "after_text" || b.Fallback == "" {
					t.Errorf("%s: %+v", test.question, b)
				}
				// The text ends before the card is thought of, and the answer after it.
				ended, shown, done := strings.Index(a.stream, "event: text_end\n"), strings.Index(a.stream, "event: block_end\n"), strings.Index(a.stream, "event: done\n")
				if ended < 0 || shown < ended || done < shown || strings.Contains(a.stream, "event: block_start\n") {
					t.Errorf("%s: %s", test.question, a.stream)
				}
			}
			for _, question := range []string{
				"What is this?", "Show me the SQL", "给我看 SQL", "Think before you answer", "Show what Markdown can do", "Show the Q3 sales by region", "/sales 2026Q3",
			} {
				if a := d.ask("en", question, &d.all); a.Status != event.StatusDone || slices.Contains(a.kinds(), block.FeatureRecommendationName) {
					t.Errorf("%s: %v", question, a.kinds())
				}
			}
			others := "chart@1,table@1"
			for _, blocks := range []*string{nil, &others} {
				a := d.ask("en", "How do I deposit?", blocks)
				if a.Status != event.StatusDone || !slices.Equal(a.kinds(), []string{"text"}) || strings.Contains(a.stream, "event: block_end") {
					t.Errorf("without the capability: %v, %s", a.kinds(), a.stream)
				}
			}
		})
	}
}

// TestDemoShowsACardItself asks the question on which the model shows a card
// by its own hand, and answers with a link where the client draws none.
func TestDemoShowsACardItself(t *testing.T) {
	d := startDemo(t, newScripted(t))
	others := "chart@1,table@1"
	for _, test := range []struct{ lang, question, link string }{
		{"en", "Take me to the block gallery", "[the block gallery](/gallery)"},
		{"zh", "打开组件库", "[组件库](/gallery)"},
	} {
		a := d.ask(test.lang, test.question, &d.all)
		b, _, targets := d.card(a)
		if !slices.Equal(a.kinds(), []string{"text", block.FeatureRecommendationName, "text"}) || !slices.Equal(targets, []string{"route /gallery"}) || b.Meta.Producer != emit.ProducerModel || strings.Contains(a.text(), test.link) {
			t.Errorf("%s: %v, %+v, %q", test.question, a.kinds(), b, a.text())
		}
		for _, blocks := range []*string{nil, &others} {
			if a := d.ask(test.lang, test.question, blocks); slices.Contains(a.kinds(), block.FeatureRecommendationName) || !strings.Contains(a.text(), test.link) {
				t.Errorf("%s without the capability: %v, %q", test.question, a.kinds(), a.text())
			}
		}
	}
}

// TestDemoTakesItsCommand sends what the card of commands puts into the box.
func TestDemoTakesItsCommand(t *testing.T) {
	d := startDemo(t, newScripted(t))
	for lang, title := range map[string]string{"en": "2026Q3 sales by region", "zh": "2026Q3 各区域销售额"} {
		a := d.ask(lang, "/sales 2026Q3", &d.all)
		i := slices.IndexFunc(a.Blocks, func(b block.Block) bool { return b.Type == "chart" })
		if a.Status != event.StatusDone || i < 0 || a.Blocks[i].Status != block.StatusDone || !strings.Contains(string(a.Blocks[i].Payload), title) {
			t.Errorf("%s: %s with %v", lang, a.Status, a.kinds())
		}
	}
}

// blocksOf are the blocks of a type, in their order.
func (a demoAnswer) blocksOf(kind string) (list []block.Block) {
	for _, b := range a.Blocks {
		if b.Type == kind {
			list = append(list, b)
		}
	}
	return list
}

// TestDemoRecommendsByCards asks for a watch: the answer has a card in each of
// the three ways to write one, where the text has it, with the shop's price.
func TestDemoRecommendsByCards(t *testing.T) {
	d := startDemo(t, newScripted(t))
	type product struct {
		id, title string
		price     float64
		stock     int
	}
	for _, test := range []struct {
		lang, question, button string
		want                   []product
	}{
		{"en", "Recommend a running watch", "Add to the sample basket", []product{{"watch-run", "Sample watch Run", 699, 120}, {"watch-trail", "Sample watch Trail", 1299, 34}, {"watch-lite", "Sample watch Lite", 399, 310}}},
		{"zh", "推荐跑步手表", "加入示例购物车", []product{{"watch-run", "示例手表 跑步款", 699, 120}, {"watch-trail", "示例手表 越野款", 1299, 34}, {"watch-lite", "示例手表 轻量款", 399, 310}}},
	} {
		a := d.ask(test.lang, test.question, &d.all)
		if got := strings.Join(a.kinds(), " "); a.Status != event.StatusDone || got != "text app.product_card text app.product_card text app.product_card text" {
			t.Fatalf("%s: %s, %s", test.question, a.Status, got)
		}
		for i, b := range a.blocksOf("app.product_card") {
			var p block.ProductCard
			if err := json.Unmarshal(b.Payload, &p); err != nil {
				t.Fatal(err)
			}
			if p.Price == nil || p.Stock == nil || (product{p.ID, p.Title, *p.Price, *p.Stock}) != test.want[i] || p.Currency != "CNY" || b.Status != block.StatusDone || b.Meta.Producer != emit.ProducerMarkup {
				t.Errorf("%s: %s", test.question, b.Payload)
			}
			if (p.Reason != "") != (i == 0) {
				t.Errorf("%s: the reason of %s is %q", test.question, p.ID, p.Reason)
			}
			if len(b.Actions) != 2 || b.Actions[0].Label != test.button || string(b.Actions[0].Params["product"]) != strconv.Quote(p.ID) {
				t.Errorf("%s: %+v", test.question, b.Actions)
			}
		}
		if strings.Contains(a.stream, `"price":1,`) || strings.Contains(a.stream, `"price":1}`) {
			t.Errorf("%s: the price of the text is in the stream", test.question)
		}
		// For a client that does not draw the cards the model writes none.
		others := "chart@1,card_list@1"
		if a := d.ask(test.lang, test.question, &others); slices.Contains(a.kinds(), "app.product_card") || strings.Contains(a.text(), "ProductCard") || a.Status != event.StatusDone {
			t.Errorf("%s without the capability: %v, %q", test.question, a.kinds(), a.text())
		}
	}
}

// TestDemoShowsBrokenCards asks for cards with mistakes: of each its source is
// left, and the answer goes on.
func TestDemoShowsBrokenCards(t *testing.T) {
	d := startDemo(t, newScripted(t))
	for lang, question := range map[string]string{"en": "Recommend a watch and make mistakes", "zh": "推荐手表，故意写错卡片"} {
		a := d.ask(lang, question, &d.all)
		cards := a.blocksOf("app.product_card")
		if a.Status != event.StatusDone || len(cards) != 3 {
			t.Fatalf("%s: %s with %v", question, a.Status, a.kinds())
		}
		for i, want := range []struct{ code, source string }{
			{block.CodeSchemaInvalid, "{\"id\": watch-run}"}, {block.CodeNotFound, "[(ProductCard:watch-none)]"}, {block.CodeSchemaInvalid, "\"title\":\""},
		} {
			if b := cards[i]; b.Err == nil || b.Err.Code != want.code || b.Err.Retryable || !strings.Contains(b.Fallback, want.source) {
				t.Errorf("%s: %+v, want %+v", question, b, want)
			}
		}
		if !strings.Contains(a.text(), "```GadgetCard\n{\"id\":\"watch-run\"}\n```") {
			t.Errorf("%s: an unknown name is not code: %q", question, a.text())
		}
	}
}

// TestDemoFillsTrainsLate asks for trains: the text ends before their data
// comes, two cards are filled where they stand and a number that there is not
// falls back to its source.
func TestDemoFillsTrainsLate(t *testing.T) {
	d := startDemo(t, newScripted(t))
	for lang, test := range map[string]struct{ question, to, class string }{
		"en": {"The train to Shanghai tomorrow", "Shanghai (sample)", "Second class"},
		"zh": {"明天去上海的高铁", "上海（示例）", "二等座"},
	} {
		a := d.ask(lang, test.question, &d.all)
		cards := a.blocksOf("app.train_card")
		if a.Status != event.StatusDone || len(cards) != 3 {
			t.Fatalf("%s: %s with %v", test.question, a.Status, a.kinds())
		}
		for i, id := range []string{"S101", "S103"} {
			var c block.TrainCard
			if err := json.Unmarshal(cards[i].Payload, &c); err != nil {
				t.Fatal(err)
			}
			if c.ID != id || c.To != test.to || len(c.Seats) < 2 || c.Seats[0].Class != test.class || c.Seats[0].Available == nil || c.Departure == "" || cards[i].Status != block.StatusDone {
				t.Errorf("%s: %s", test.question, cards[i].Payload)
			}
		}
		if b := cards[2]; b.Err == nil || b.Err.Code != block.CodeNotFound || b.Fallback != "[(TrainCard:S999)]" {
			t.Errorf("%s: %+v", test.question, b)
		}
		opened, said, filled := strings.Index(a.stream, "event: block_start\n"), strings.LastIndex(a.stream, "event: text_end\n"), strings.Index(a.stream, "event: block_end\n")
		if opened < 0 || said < opened || filled < said {
			t.Errorf("%s: a card opened at %d, the text ended at %d, a card was filled at %d", test.question, opened, said, filled)
		}
	}
}
