package scripted

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/model"
)

// results are sample answers of the tools, in the form that a turn hands on.
var results = map[string]string{
	"show_sales_chart":       "Shown to the user as a chart block; do not repeat the numbers.\ntitle: Sample quarter, sales by region (k)\nrows: 5\ncolumns: region, Sales\nseries Sales: total 1234.5, max 320 (East), min 99 (West Coast (new)), change first→last -12.5%\ntop: East 320; South 280; North 201",
	"show_region_detail":     "Shown to the user as a chart block; do not repeat the numbers.\ntitle: East, cities\nrows: 3\ncolumns: city, Sales\nseries Sales: total 320 CNY, max 150 CNY (Old Town), min 70 CNY (Port)\ntop: Old Town 150 CNY; Hill 100 CNY; Port 70 CNY",
	"show_server_errors":     "Shown to the user as a chart block; do not repeat the numbers.\ntitle: Errors\nrows: 3\ncolumns: route, Errors\nseries Errors: total 41, max 30 (/cart), min 1 (/login)\ntop: /cart 30; /pay 10; /login 1\nrequests: 977\nserver errors: 41",
	"show_unemployment":      "Shown to the user as a chart block; do not repeat the numbers.\ntitle: Unemployment\nrows: 120\ncolumns: date, Mining, Construction\nseries Mining: total 700, max 9.1% (month A), min 2.2% (month B), change first→last +4.4%\nseries Construction: total 900, max 27.1% (month C), min 4.4% (month D), change first→last +8.8%\ntop: month A 9.1%; month E 9%; month F 8.8%",
	"show_airports_by_state": "Shown to the user as a chart block; do not repeat the numbers.\ntitle: Airports\nrows: 50\ncolumns: state, Airports\nseries Airports: total 3376, max 263 (AK), min 5 (DE)\ntop: AK 263; TX 209; CA 205",
	"show_sales_summary":     "Shown to the user as a metric block; do not repeat the numbers.\ntitle: Summary\nitem Revenue: 1234.5 (+3%)\nitem Orders: 77",
	"list_orders":            "Shown to the user as a table block; do not repeat the numbers.\nrows: 50\nrows in source: 812\ncolumns: Order, Amount\nseries Amount: total 9000, max 880 (S-17), min 11 (S-40)\ntop: S-17 880; S-3 870; S-9 860",
	"broken_source":          "Shown to the user as a chart block; do not repeat the numbers.\ntitle: A source that answered",
	"slow_report":            "Shown to the user as a table block; do not repeat the numbers.\nrows: 4\ncolumns: Step, Seconds",
	"query_requests":         "The statement is shown to the user, who may run it. It was not run; its result is not known.",
	"show_export_form":       "Shown to the user as a form block; do not repeat the numbers.\nform: Export\nfield range, array, required\nThe user has not submitted it yet.",
	"make_report":            "file: report.xlsx\nreport: Q\ncities: 16\nbest region: East",
	"list_expenses":          "Shown to the user as a table block; do not repeat the numbers.\nrows: 4\nnext to approve: E-7\nclaimed amount: 42.5\nclaimed by: Sample person",
	"approve_expense":        "card: Expense\napproved expense: E-7\napproved amount: 42.50",
	"compare_products":       "title: Watches\nitems: 4",
	"show_product":           "card: Watch",
	"show_order_flow":        "chart: Flow\norders: 77\nflows: 24",
	"show_chart_types":       "charts: 9\nkinds: bar, line",
	"roll_out":               "title: Rollout\ndone: Build\ndone: Run the tests",
	"ask_user":               "The user answered: 2026Q2",
	"emit_ui_block":          "shown",
	"read_selection":         "selected: East",
}

// cardsTold is what the model is told of the cards that the client draws.
var cardsTold = model.Message{Role: model.RoleSystem, Content: "x\n\n# Cards\n\n## ProductCard\n\n## TrainCard\n"}

const failed = "error: DATA_FETCH_FAILED The source did not answer.\nretryable: true"

func tools() []model.ToolSpec {
	var specs []model.ToolSpec
	for _, name := range sortedKeys(results) {
		specs = append(specs, model.ToolSpec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)})
	}
	return specs
}

// answer is what a tool tells the model about a call.
func answer(c model.Call, broken bool) string {
	var args map[string]any
	told, known := results[c.Name]
	switch {
	case !known:
		return "error: unknown_tool There is no tool " + c.Name + "."
	case c.Err != "" || json.Unmarshal(c.Arguments, &args) != nil,
		c.Name == "show_sales_chart" && args["quarter"] == nil:
		return "error: invalid_arguments They do not fit.\nNothing was done."
	case broken:
		return failed
	}
	return told
}

// converse asks a question and runs the tools until the model has answered or
// has had enough steps. It returns all responses.
func converse(t *testing.T, m model.Model, question string, broken bool, seed *int64) []model.Response {
	t.Helper()
	const steps = 8
	req := model.Request{Messages: []model.Message{cardsTold, {Role: model.RoleUser, Content: question}}, Tools: tools(), Seed: seed}
	var all []model.Response
	for step := 1; ; step++ {
		if step == steps {
			req.ToolChoice = model.ToolNone
		}
		var text, thought strings.Builder
		var started []string
		resp, err := m.Stream(context.Background(), req, func(d model.Delta) error {
			if d.CallStarted != "" {
				started = append(started, d.CallStarted)
			}
			if !utf8.ValidString(d.Text) {
				t.Errorf("%s: a piece is cut inside a character: %q", question, d.Text)
			}
			text.WriteString(d.Text)
			thought.WriteString(d.Reasoning)
			return nil
		})
		var failure *model.Error
		if errors.As(err, &failure) && failure.Retryable && step < steps {
			continue
		}
		if err != nil {
			resp.FinishRaw = failure.Code
		}
		if text.String() != resp.Text || thought.String() != resp.Reasoning || resp.Finish != model.FinishIncomplete && len(started) != len(resp.Calls) {
			t.Errorf("%s: pieces and response differ: %q, %q, %q; %+v", question, text.String(), thought.String(), started, resp)
		}
		all = append(all, resp)
		if resp.Finish != model.FinishToolCalls || step == steps {
			return all
		}
		req.Messages = append(req.Messages, resp.Assistant())
		for _, c := range resp.Calls {
			req.Messages = append(req.Messages, model.Message{Role: model.RoleTool, CallID: c.ID, Content: answer(c, broken)})
		}
	}
}

func fresh(t testing.TB, opts Options) *Model {
	t.Helper()
	m, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// eachQuestion runs f for every question of every scenario.
func eachQuestion(t *testing.T, f func(t *testing.T, sc *scenario, question string)) {
	for _, sc := range fresh(t, Options{}).script.scenarios {
		for _, lang := range languages {
			for _, q := range sc.Questions[lang] {
				t.Run(sc.name+"/"+q, func(t *testing.T) { f(t, sc, q) })
			}
		}
	}
}

func TestQuestionsFindTheirScenario(t *testing.T) {
	m := fresh(t, Options{})
	eachQuestion(t, func(t *testing.T, sc *scenario, q string) {
		p, err := m.script.plan(model.Request{Messages: []model.Message{cardsTold, {Role: model.RoleUser, Content: q}}, Tools: tools()}, "")
		if err != nil || p.scenario != sc.name {
			t.Errorf("%+v, %v", p, err)
		}
	})
	for q, want := range map[string]string{
		"sales by region":                    "sales-by-region",
		"Please show me a chart of Q1 sales": "sales-by-region",
		"Q3 各区域销售怎么样":                        "sales-by-region",
		"as a line":                          "sales-line",
		"占比":                                 "sales-share",
		"drill into East":                    "region-detail",
		"many 500s right now?":               "server-errors",
		"sales summary":                      "sales-summary",
		"top 500 orders":                     "top-orders",
		"export details":                     "export-orders",
		"导出明细":                               "export-orders",
		"report":                             "report",
		"给我报表":                               "report",
		"给我 2026Q3 的报告":                      "report",
		"生成一份耗时的报告":                          "slow-report",
		"approve this expense":               "approve-expense",
		"报销审批":                               "approve-expense",
		"删除示例报销单":                            "expenses",
		"running watch":                      "compare-products",
		"推荐跑步手表":                             "recommend-watch",
		"推荐几款手表":                             "compare-products",
		"recommend me a watch for running":   "recommend-watch",
		"推荐手表，写错一些":                          "watch-mistakes",
		"明天去上海的高铁":                           "train-tomorrow",
		"trains to Shanghai, please":         "train-tomorrow",
		"线上 500 多不多":                         "server-errors",
		"前 500 条订单":                          "top-orders",
		"show all chart types":               "charts-compare",
		"drop me":                            "drop",
		"慢":                                  "slow-report",
		"bad arguments":                      "bad-arguments",
		"思考":                                 "think",
		"rate limit":                         "rate-limit",
		"两个图":                                "two-charts",
		"/sales":                             "sales-by-region",
		"/sales 2026Q2 as a line":            "sales-line",
		"Where do I deposit money?":          "deposit",
		"How do I withdraw my deposit?":      "withdraw",
		"出金":                                 "withdraw",
		"充值":                                 "deposit",
		"go to the gallery":                  "open-gallery",
		"show me the gallery":                "gallery",
		"What is the meaning of life?":       "unknown",
		"":                                   "unknown",
	} {
		p, err := m.script.plan(model.Request{Messages: []model.Message{cardsTold, {Role: model.RoleUser, Content: q}}, Tools: tools()}, "")
		if err != nil || p.scenario != want {
			t.Errorf("%q: %+v, %v, want %s", q, p, err, want)
		}
	}
}

// TestDocumentedQuestionsAreAnswered asks what docs/models.md says can be
// asked: each has a script, the same in both languages.
func TestDocumentedQuestionsAreAnswered(t *testing.T) {
	doc, err := os.ReadFile("../../docs/models.md")
	if err != nil {
		t.Fatal(err)
	}
	m := fresh(t, Options{})
	rows := 0
	for line := range strings.Lines(string(doc)) {
		cells := strings.Split(line, "|")
		if len(cells) != 5 || strings.TrimSpace(cells[1]) == "ask" || strings.HasPrefix(cells[1], "---") {
			continue
		}
		rows++
		var found []string
		for _, q := range cells[1:3] {
			p, err := m.script.plan(model.Request{Messages: []model.Message{cardsTold, {Role: model.RoleUser, Content: strings.TrimSpace(q)}}, Tools: tools()}, "")
			if err != nil {
				t.Fatal(err)
			}
			found = append(found, p.scenario)
		}
		if found[0] == unknownScenario || found[0] != found[1] {
			t.Errorf("%s: %v", strings.TrimSpace(line), found)
		}
	}
	if rows < 20 {
		t.Errorf("%d rows", rows)
	}
}

func TestEveryScenarioRuns(t *testing.T) {
	number := regexp.MustCompile(`\d+(?:\.\d+)?`)
	m, other := fresh(t, Options{}), fresh(t, Options{})
	eachQuestion(t, func(t *testing.T, sc *scenario, q string) {
		all := converse(t, m, q, false, nil)
		if again := converse(t, other, q, false, nil); !reflect.DeepEqual(all, again) {
			t.Errorf("two runs differ:\n%+v\n%+v", all, again)
		}
		last := all[len(all)-1]
		if last.Text == "" && sc.name != "model-error" {
			t.Errorf("no answer: %+v", all)
		}
		known := q
		for _, r := range all {
			for _, c := range r.Calls {
				known += string(c.Arguments) + results[c.Name]
			}
		}
		if sc.name == "bad-arguments" { // its steps are numbered
			known += "1234"
		}
		known += "5xx" // a name, not a figure
		if len(sc.When.Tools) == 0 {
			return
		}
		for _, r := range all {
			for _, n := range number.FindAllString(r.Text, -1) {
				if !strings.Contains(known, n) {
					t.Errorf("the figure %s is made up: %q", n, r.Text)
				}
			}
		}
		// The same with tools that fail: no figure of a result may be left.
		for _, r := range converse(t, m, q, true, nil) {
			if strings.Contains(r.Text, "1234") || strings.Contains(r.Text, "<no value>") {
				t.Errorf("figures without a result: %q", r.Text)
			}
		}
	})
}

// TestCards asks what is answered with cards: each of the three ways to write
// one is there once, and without cards there is nothing that looks like one.
func TestCards(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct {
		question string
		cards    []string
		without  string
	}{
		{"Recommend a running watch", []string{"```ProductCard\n{\"id\":\"watch-run\"", "[(ProductCard:watch-trail)]", `<ProductCard id="watch-lite" title="Sample watch Lite"/>`}, ""},
		{"推荐跑步手表", []string{"```ProductCard\n{\"id\":\"watch-run\"", "[(ProductCard:watch-trail)]", `<ProductCard id="watch-lite"`}, ""},
		{"Recommend a watch and make mistakes", []string{"{\"id\": watch-run}", "```GadgetCard\n", "[(ProductCard:watch-none)]", "\"title\":\"Sample wa"}, ""},
		{"明天去上海的高铁", []string{"[(TrainCard:S101)]", "[(TrainCard:S103)]", "[(TrainCard:S999)]"}, "不会编造"},
		{"The train to Shanghai tomorrow", []string{"[(TrainCard:S101)]", "[(TrainCard:S103)]", "[(TrainCard:S999)]"}, "do not make them up"},
	} {
		text := converse(t, m, test.question, false, nil)[0].Text
		for _, card := range test.cards {
			if strings.Count(text, card) != 1 {
				t.Errorf("%s: not once %s in %q", test.question, card, text)
			}
		}
		resp, err := m.Stream(t.Context(), model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: test.question}}, Tools: tools()}, func(model.Delta) error { return nil })
		if err != nil || strings.Contains(resp.Text, "Card") || !strings.Contains(resp.Text, test.without) {
			t.Errorf("%s without cards: %+v, %v", test.question, resp, err)
		}
	}
}

func TestAnswers(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct {
		question string
		broken   bool
		want     string
	}{
		{"Show the Q3 sales by region", false, "**East** leads with 320, **West Coast (new)** is last with 99. Together the 5 regions come to 1234.5."},
		{"Q3 各区域销售怎么样", false, "**East**以 320 领先，**West Coast (new)**最低，为 99。5 个区域合计 1234.5。"},
		{"Show the Q3 sales by region", true, "The source answered: DATA_FETCH_FAILED."},
		{"Show the cities of East in 2026Q3", false, "**Old Town** sells the most with 150 CNY. Then come Hill (100 CNY) and Port (70 CNY)."},
		{"How has the U.S. unemployment rate by industry developed?", false, "**Construction** with 27.1% (month C). Its own lowest point was 4.4% (month D). From the first to the last value it changed by +8.8%."},
		{"销售概况", false, "其中Revenue为 1234.5 (+3%)。"},
		{"List the latest 50 orders", false, "The largest amounts to 880 (S-17)."},
		{"Call a tool with bad arguments", false, "Nothing was run until the arguments fitted. The chart shows Sample quarter, sales by region (k)."},
		{"Are there many 500s right now?", false, "977 requests came in, 41 of them ended in a server error (5xx). The worst time was /cart with 30."},
		{"Approve an expense", false, "E-7 is approved over 42.50 CNY."},
		{"Ask me which quarter to sum up", false, "The first of them: Revenue 1234.5"},
		{"Roll out the sample release", false, "All steps are done."},
		{"Show the flow of orders by region", false, "77 sample orders make 24 flows"},
		{"Ask a broken source", true, "did not answer (DATA_FETCH_FAILED)"},
		{"Call tools in a loop", false, "needs the tool `show_sales_summary`"},
		{"What is this?", false, "- Show the Q3 sales by region\n"},
		{"这是什么?", false, "- Q3 各区域销售怎么样\n"},
		{"How do I deposit?", false, "nothing is moved"},
		{"怎么提现", false, "不会付出任何款项"},
		{"Which commands are there?", false, "`/sales`"},
		{"数据从哪里来", false, "公有领域"},
		{"Take me to the block gallery", false, "The button above"},
		{"Take me to the block gallery", true, "It is here: [the block gallery](/gallery)."},
		{"打开组件库", true, "在这里：[组件库](/gallery)。"},
		{"Run into the rate limit", false, "the second one went through"},
		{"Let the model fail", false, ""},
	} {
		all := converse(t, m, test.question, test.broken, nil)
		if last := all[len(all)-1]; !strings.Contains(last.Text, test.want) {
			t.Errorf("%s: %q, want %q", test.question, last.Text, test.want)
		}
	}
	all := converse(t, m, "Write a long answer", false, nil)
	if n := len(all[0].Text); n < 30<<10 || n > 48<<10 {
		t.Errorf("a long answer has %d bytes", n)
	}
	all = converse(t, m, "Drop the connection to the model", false, nil)
	if all[0].Finish != model.FinishIncomplete || all[0].Text == "" {
		t.Errorf("dropped: %+v", all[0])
	}
	all = converse(t, m, "Stop at the length limit", false, nil)
	if all[0].Finish != model.FinishLength {
		t.Errorf("cut off: %+v", all[0])
	}
	all = converse(t, m, "Think before you answer", false, nil)
	if strings.Count(all[0].Reasoning, "\n") != 3 {
		t.Errorf("reasoning %q", all[0].Reasoning)
	}
}

// Nothing is promised that the tools of the place do not do.
func TestPromisesFollowTheTools(t *testing.T) {
	m := fresh(t, Options{})
	chart := func(schema string) model.ToolSpec {
		return model.ToolSpec{Name: "show_sales_chart", Parameters: json.RawMessage(schema)}
	}
	plain := chart(`{"type":"object","properties":{"quarter":{"type":"string"}},"additionalProperties":false}`)
	forms := chart(`{"type":"object","properties":{"quarter":{"type":"string"},"chartType":{"type":"string"}}}`)
	detail := model.ToolSpec{Name: "show_region_detail", Parameters: json.RawMessage(`{"type":"object"}`)}
	say := func(question string, result bool, tools ...model.ToolSpec) string {
		t.Helper()
		req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: question}}, Tools: tools}
		if result {
			req.Messages = append(req.Messages,
				model.Message{Role: model.RoleAssistant, Calls: []model.Call{{ID: "c", Name: "show_sales_chart"}}},
				model.Message{Role: model.RoleTool, CallID: "c", Content: results["show_sales_chart"]})
		}
		resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return resp.Text
	}
	for _, test := range []struct {
		question, bar, form string
	}{
		{"Show the Q3 sales by region", "Click a bar", "as a line"},
		{"Q3 各区域销售怎么样", "点击某根柱子", "换成折线"},
	} {
		for _, with := range []struct {
			tools     []model.ToolSpec
			bar, form bool
		}{
			{[]model.ToolSpec{plain}, false, false},
			{[]model.ToolSpec{forms}, false, true},
			{[]model.ToolSpec{plain, detail}, true, false},
			{[]model.ToolSpec{forms, detail}, true, true},
		} {
			text := say(test.question, true, with.tools...)
			if strings.Contains(text, test.bar) != with.bar || strings.Contains(text, test.form) != with.form {
				t.Errorf("%q with %d tools: %q", test.question, len(with.tools), text)
			}
		}
	}
	text := say("What is this?", false, plain)
	if !strings.Contains(text, "- Show the Q3 sales by region\n") || strings.Contains(text, "cities") || strings.Contains(text, "line\n") || strings.Contains(text, "share") {
		t.Errorf("the questions: %q", text)
	}
	if text := say("Show that as a line", false, plain); !strings.Contains(text, "needs the argument `chartType` of the tool `show_sales_chart`") {
		t.Errorf("without the argument: %q", text)
	}
	if text := say("换成折线", false, plain); !strings.Contains(text, "需要工具 `show_sales_chart` 的参数 `chartType`") {
		t.Errorf("without the argument: %q", text)
	}
}

func TestArgumentsFollowTheConversation(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct {
		said []string
		want string
	}{
		{[]string{"Q2 sales by region"}, `{"quarter":"2026Q2"}`},
		{[]string{"Sales by region in 2025 Q1? I mean 2025Q1 sales by region"}, `{"quarter":"2025Q1"}`},
		{[]string{"第一季度各区域销售"}, `{"quarter":"2026Q1"}`},
		{[]string{"Q2 sales by region", "Here they are.", "Show that as a line"}, `{"chartType":"line","quarter":"2026Q2"}`},
		{[]string{"看占比"}, `{"chartType":"pie","quarter":"2026Q3"}`},
		{[]string{"展开华南 2026Q1 各城市的数据"}, `{"quarter":"2026Q1","region":"华南"}`},
		{[]string{"drill into east"}, `{"quarter":"2026Q3","region":"East"}`},
		{[]string{"Show the cities of Lake District in 2026Q1"}, `{"quarter":"2026Q1","region":"Lake District"}`},
		{[]string{"top 7 orders"}, `{"limit":7,"sort":"amount"}`},
		{[]string{"latest 7 orders"}, `{"limit":7,"sort":"latest"}`},
		{[]string{"Export the order details of August for the sample review as CSV"}, `{"format":"csv","from":"2026-08-01","reason":"sample review","to":"2026-08-31"}`},
		{[]string{"导出 8 月华东的订单明细，用于季度复盘"}, `{"from":"2026-08-01","reason":"季度复盘","region":"East","to":"2026-08-31"}`},
		{[]string{"I need the orders from 2026-07-05 to 2026-07-09", "Which?", "Export them"}, `{"from":"2026-07-05","to":"2026-07-09"}`},
		{[]string{"export that fails once"}, `{"failOnce":true,"reason":"To see a failure"}`},
		{[]string{"roll out a release that fails"}, `{"fail":true}`},
		{[]string{"Show the watches as a carousel"}, `{"layout":"carousel"}`},
		{[]string{"Tell me more about Sample watch Trail"}, `{"product":"Sample watch Trail"}`},
		{[]string{"介绍一下 示例手表 越野款"}, `{"product":"示例手表 越野款"}`},
		{[]string{"slow report of 3 seconds"}, `{"seconds":3}`},
		{[]string{"/sales 2026Q1"}, `{"quarter":"2026Q1"}`},
		{[]string{"/sales"}, `{"quarter":"2026Q3"}`},
	} {
		req := model.Request{Tools: tools()}
		for i, s := range test.said {
			role := model.RoleUser
			if i%2 == 1 {
				role = model.RoleAssistant
			}
			req.Messages = append(req.Messages, model.Message{Role: role, Content: s})
		}
		resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		if err != nil || len(resp.Calls) != 1 || string(resp.Calls[0].Arguments) != test.want {
			t.Errorf("%q: %+v, %v, want %s", test.said, resp.Calls, err, test.want)
		}
	}
}

func TestFilesOfAQuestion(t *testing.T) {
	m := fresh(t, Options{})
	ask := func(content string, pictures ...model.Image) (string, string) {
		req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: content, Images: pictures}}, Tools: tools()}
		p, err := m.script.plan(req, "")
		if err != nil {
			t.Fatal(err)
		}
		resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return p.scenario, resp.Text
	}
	const file = "[attached: sample.csv, 2 rows]\n--- what the file says ---\nregion,sales by region\nEast,320\n--- end of sample.csv ---"
	for _, content := range []string{"What is this?\n\n" + file, file} {
		name, text := ask(content)
		if name != "attached" || !strings.Contains(text, "- **sample.csv, 2 rows** begins with: “region,sales by region”") || strings.Contains(text, "picture") {
			t.Errorf("%q: %s, %q", content, name, text)
		}
	}
	if name, text := ask("这是什么?\n\n[attached: watch.png]", model.Image{Mime: "image/png", Data: []byte("x")}); name != "attached" || !strings.Contains(text, "其中 1 个以图片形式") {
		t.Errorf("%s, %q", name, text)
	}
	// What a file says chooses no script; what the user says does.
	if name, _ := ask("Q3 sales by region\n\n" + file); name != "sales-by-region" {
		t.Errorf("%s", name)
	}
	const state = "\n\n[The application that the user sits in front of says the following, in one line of JSON.]\n" + `{"state":{"quarter":"2026Q1"}}`
	for _, content := range []string{"Q3 sales by region", "Q3 sales by region\n\n" + file} {
		if name, _ := ask(content + state); name != "sales-by-region" {
			t.Errorf("with what the application says: %s", name)
		}
	}
	var in wireRequest
	if err := json.Unmarshal([]byte(`{"messages":[{"role":"user","content":[{"type":"text","text":"What?"},`+
		`{"type":"image_url","image_url":{"url":"data:image/png;base64,eA=="}},{"type":"image_url","image_url":{"url":"https://example.com/x.png"}}]}]}`), &in); err != nil {
		t.Fatal(err)
	}
	if req, err := in.request(); err != nil || req.Messages[0].Content != "What?" || len(req.Messages[0].Images) != 1 || string(req.Messages[0].Images[0].Data) != "x" {
		t.Errorf("%+v, %v", req, err)
	}
}

// TestAnswersOfPeople expects the script to go on by what a person decided.
func TestAnswersOfPeople(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct{ question, told, want string }{
		{"Approve an expense", "error: REJECTED The user did not approve the call; it was not run.", "You rejected it"},
		{"Approve an expense", "error: EXPIRED The user did not answer in time; the call was not run.", "Nobody answered in time"},
		{"Approve an expense", "error: AMOUNT_TOO_HIGH Too much.", "It was not approved: AMOUNT_TOO_HIGH. Too much."},
		{"报销审批", "error: REJECTED The user did not approve the call; it was not run.", "你已拒绝"},
	} {
		req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: test.question}}, Tools: tools()}
		for step, told := range []string{results["list_expenses"], test.told, ""} {
			resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			if step == 2 {
				if !strings.Contains(resp.Text, test.want) {
					t.Errorf("%s, %s: %q", test.question, test.told, resp.Text)
				}
				continue
			}
			req.Messages = append(req.Messages, resp.Assistant(), model.Message{Role: model.RoleTool, CallID: resp.Calls[0].ID, Content: told})
			if want := `{"amount":42.5,"number":"E-7",`; step == 1 && !strings.HasPrefix(string(resp.Calls[0].Arguments), want) {
				t.Errorf("%s", resp.Calls[0].Arguments)
			}
		}
	}
	// Nothing is proposed where nothing waits.
	req := model.Request{Messages: []model.Message{
		{Role: model.RoleUser, Content: "Approve an expense"}, {Role: model.RoleAssistant, Calls: []model.Call{{ID: "c", Name: "list_expenses"}}},
		{Role: model.RoleTool, CallID: "c", Content: "rows: 0"},
	}, Tools: tools()}
	if resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil }); err != nil || len(resp.Calls) != 0 || !strings.Contains(resp.Text, "Nothing waits") {
		t.Errorf("%+v, %v", resp, err)
	}
}

// recommendTool is the tool of requests about an answer.
var recommendTool = model.ToolSpec{Name: "recommend", Parameters: json.RawMessage(`{"type":"object","properties":{"items":{"type":"array"},"reason":{"type":"string"}}}`)}

// aboutAnswer asks what may be suggested after an answer.
func aboutAnswer(question, answer string) model.Request {
	const fence = "````"
	return model.Request{
		Messages: []model.Message{
			{Role: model.RoleSystem, Content: "Suggest what to do next, or nothing."},
			{Role: model.RoleUser, Content: "The user asked:\n" + fence + "\n" + question + "\n" + fence + "\n\nThe assistant answered:\n" + fence + "\n" + answer + "\n" + fence},
		},
		Tools: []model.ToolSpec{recommendTool}, ToolChoice: "recommend",
	}
}

// recommended is what a request about an answer is answered with.
type recommended struct {
	Items []struct {
		Label, Hint, Icon, Kind, Target string
	}
	Reason string
}

func recommend(t *testing.T, m model.Model, req model.Request) recommended {
	t.Helper()
	resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
	if err != nil || resp.Text != "" || len(resp.Calls) != 1 || resp.Calls[0].Name != "recommend" || resp.Finish != model.FinishToolCalls {
		t.Fatalf("%q: %+v, %v", req.Messages[len(req.Messages)-1].Content, resp, err)
	}
	var r recommended
	if err := json.Unmarshal(resp.Calls[0].Arguments, &r); err != nil {
		t.Fatal(err)
	}
	return r
}

// TestRecommends expects a suggestion in the language of the question after
// the answers that lead somewhere, and none after all others.
func TestRecommends(t *testing.T) {
	m := fresh(t, Options{})
	leads := map[string][]string{
		"deposit": {"modal deposit"}, "withdraw": {"modal withdraw"}, "commands": {"slash /sales 2026Q3"}, "gallery": {"route /gallery"},
		"data-sources": {"external https://www.bls.gov/cps/", "external https://data.gov/"},
	}
	han := regexp.MustCompile(`\p{Han}`)
	eachQuestion(t, func(t *testing.T, sc *scenario, q string) {
		if sc.name == "open-gallery" { // nothing is suggested after a block
			return
		}
		all := converse(t, m, q, false, nil)
		r := recommend(t, m, aboutAnswer(q, all[len(all)-1].Text))
		var targets []string
		for _, i := range r.Items {
			targets = append(targets, i.Kind+" "+i.Target)
			if zh := han.MatchString(q); han.MatchString(i.Label) != zh || han.MatchString(i.Hint) != zh {
				t.Errorf("%+v answers %q", i, q)
			}
			if utf8.RuneCountInString(i.Label) > 20 || utf8.RuneCountInString(i.Hint) > 48 || i.Icon == "" {
				t.Errorf("%+v", i)
			}
		}
		if !slices.Equal(targets, leads[sc.name]) || r.Reason == "" {
			t.Errorf("%+v, want %v", r, leads[sc.name])
		}
	})
	for _, test := range []struct {
		name string
		req  model.Request
		want int
	}{
		{"what the answer says is no question", aboutAnswer("What is this?", "How do I deposit? The user asked:"), 0},
		{"a question may have lines and fences", aboutAnswer("```\nhow do I deposit\n```", "Nothing is moved."), 1},
		{"an answer in another language", aboutAnswer("How do I deposit?", "怎么入金"), 1},
	} {
		if r := recommend(t, m, test.req); len(r.Items) != test.want || test.want > 0 && r.Items[0].Label != "Open the deposit" {
			t.Errorf("%s: %+v", test.name, r)
		}
	}
	// The one tool there is must be called as well where any must be.
	req := aboutAnswer("How do I deposit?", "So.")
	req.ToolChoice = model.ToolRequired
	if r := recommend(t, m, req); len(r.Items) != 1 {
		t.Errorf("%+v", r)
	}
	// Nobody is made to call it otherwise, and no other tool is taken for it.
	for _, choice := range []model.ToolChoice{model.ToolAuto, model.ToolNone, "show_sales_chart"} {
		req.ToolChoice = choice
		if resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil }); err != nil || len(resp.Calls) != 0 {
			t.Errorf("choice %q: %+v, %v", choice, resp, err)
		}
	}
	// At the pace of people it is there well within the time it is given.
	start := time.Now()
	recommend(t, fresh(t, Options{Timing: HumanSpeed()}), aboutAnswer("Where does the data come from?", "From two offices."))
	if took := time.Since(start); took > 2*time.Second {
		t.Errorf("it took %v", took)
	}
}

// TestCommandsHaveTheLanguageBeforeThem expects /sales to be answered in the
// language spoken so far.
func TestCommandsHaveTheLanguageBeforeThem(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct {
		said []string
		want string
	}{
		{[]string{"/sales 2026Q3"}, "Looking up"},
		{[]string{"有哪些命令", "有一个。", "/sales 2026Q3"}, "正在查询"},
		{[]string{"有哪些命令", "有一个。", "Which commands are there?", "One.", "/sales 2026Q3"}, "Looking up"},
	} {
		req := model.Request{Tools: tools()}
		for i, s := range test.said {
			role := model.RoleUser
			if i%2 == 1 {
				role = model.RoleAssistant
			}
			req.Messages = append(req.Messages, model.Message{Role: role, Content: s})
		}
		resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		if err != nil || !strings.Contains(resp.Text, test.want) || len(resp.Calls) != 1 {
			t.Errorf("%q: %+v, %v", test.said, resp, err)
		}
	}
}

// TestShowsABlockItself expects the model to show a card where it may, and to
// answer with a link where it may not.
func TestShowsABlockItself(t *testing.T) {
	m := fresh(t, Options{})
	for _, test := range []struct{ question, label, link string }{
		{"Take me to the block gallery", "Open the gallery", "[the block gallery](/gallery)"},
		{"打开组件库", "打开组件库", "[组件库](/gallery)"},
	} {
		ask := func(req model.Request) model.Response {
			t.Helper()
			resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
			if err != nil {
				t.Fatal(err)
			}
			return resp
		}
		req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: test.question}}, Tools: tools()}
		first := ask(req)
		want := `"items":[{"action":{"kind":"route","target":"/gallery"},"hint":`
		if len(first.Calls) != 1 || first.Calls[0].Name != "emit_ui_block" || !strings.Contains(first.Calls[0].Raw, want) || !strings.Contains(first.Calls[0].Raw, `"label":"`+test.label+`"`) || first.Text == "" {
			t.Errorf("%s: %+v", test.question, first)
		}
		for told, link := range map[string]bool{
			"shown": false,
			"error: ui_block_not_supported_by_client The client does not draw it.\nhint: answer with an inline Markdown link instead": true,
		} {
			next := req
			next.Messages = append(slices.Clone(req.Messages), first.Assistant(), model.Message{Role: model.RoleTool, CallID: first.Calls[0].ID, Content: told})
			if resp := ask(next); strings.Contains(resp.Text, test.link) != link || resp.Text == "" || len(resp.Calls) != 0 {
				t.Errorf("%s, %s: %+v", test.question, told, resp)
			}
		}
		req.Tools = nil
		if resp := ask(req); !strings.Contains(resp.Text, test.link) || len(resp.Calls) != 0 {
			t.Errorf("%s without the tool: %+v", test.question, resp)
		}
	}
}

func TestMissingTool(t *testing.T) {
	m := fresh(t, Options{})
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "Q3 sales by region"}}}
	resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
	if err != nil || !strings.Contains(resp.Text, "`show_sales_chart`") || len(resp.Calls) != 0 {
		t.Errorf("%+v, %v", resp, err)
	}
	if q := m.Questions("en"); slices.Contains(q, "Show the Q3 sales by region") || !slices.Contains(q, "Show what Markdown can do") {
		t.Errorf("questions %q", q)
	}
	if q := m.Questions("zh", "show_sales_chart"); len(q) == 0 || q[0] != "Q3 各区域销售怎么样" {
		t.Errorf("questions %q", q)
	}
}

// TestListedQuestions expects the list to have only what can be answered well:
// without the sample data neither its figures and dialogs nor its cards.
func TestListedQuestions(t *testing.T) {
	m := fresh(t, Options{})
	ask := func(system string, tools ...model.ToolSpec) string {
		req := model.Request{Messages: []model.Message{{Role: model.RoleSystem, Content: system}, {Role: model.RoleUser, Content: "What is the meaning of life?"}}, Tools: tools}
		resp, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return resp.Text
	}
	bare, full := ask("x"), ask(cardsTold.Content, tools()...)
	for _, q := range []string{"Show the Q3 sales by region", "Recommend a running watch", "The train to Shanghai tomorrow", "How do I deposit?", "How do I withdraw?", "Where does the data come from?", "Show me the SQL"} {
		if line := "- " + q + "\n"; strings.Contains(bare, line) || !strings.Contains(full, line) {
			t.Errorf("%s\nwithout sample data: %s\nwith: %s", q, bare, full)
		}
	}
	if !strings.Contains(bare, "- Show what Markdown can do\n") {
		t.Errorf("%s", bare)
	}
}

func TestRateLimitTakesTurns(t *testing.T) {
	m := fresh(t, Options{})
	req := model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "rate limit"}}}
	for i := range 4 {
		_, err := m.Stream(context.Background(), req, func(model.Delta) error { return nil })
		var e *model.Error
		limited := errors.As(err, &e) && e.Code == model.CodeRateLimited && e.Retryable && e.RetryAfter == time.Second
		if i%2 == 0 && !limited || i%2 == 1 && err != nil {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

func TestPiecesCoverEveryPlace(t *testing.T) {
	const s = "```Card\n{\"a\":\"\\u4e2d\"}\n``` [(Card:id-1)] <tag attr=\"x\"/> 中文与 English 😀 done."
	places := map[int]bool{}
	for seed := int64(1); seed <= cutEvery; seed++ {
		var parts []string
		at := 0
		for p := range pieces(s, seed) {
			parts = append(parts, p)
			at += len(p)
			places[at] = true
		}
		if strings.Join(parts, "") != s {
			t.Fatalf("seed %d loses text: %q", seed, parts)
		}
	}
	for i := range s {
		if i > 0 && !places[i] {
			t.Errorf("no seed cuts at %d", i)
		}
	}
}

func TestTiming(t *testing.T) {
	ask := func(timing Timing, question string) (model.Response, time.Duration) {
		m := fresh(t, Options{Timing: timing})
		start := time.Now()
		resp, err := m.Stream(context.Background(), model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: question}}}, func(model.Delta) error { return nil })
		if err != nil {
			t.Error(err)
		}
		return resp, time.Since(start)
	}
	if _, took := ask(Timing{FirstToken: 60 * time.Millisecond}, "Show me the SQL"); took < 60*time.Millisecond {
		t.Errorf("first token after %v", took)
	}
	if _, took := ask(Timing{PerSecond: 1000}, "Show me the SQL"); took < 30*time.Millisecond {
		t.Errorf("all pieces after %v", took)
	}
	if _, took := ask(Timing{StallAfter: 20, StallFor: 50 * time.Millisecond}, "Show me the SQL"); took < 50*time.Millisecond {
		t.Errorf("stalled for %v", took)
	}
	if resp, _ := ask(Timing{DropAfter: 20}, "Show me the SQL"); resp.Finish != model.FinishIncomplete || len(resp.Text) < 20 || len(resp.Text) > 40 {
		t.Errorf("dropped: %+v", resp)
	}
	if _, took := ask(Timing{}, "think"); took > time.Second {
		t.Errorf("waits are played: %v", took)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err := fresh(t, Options{Timing: HumanSpeed()}).Stream(ctx, model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "think"}}}, func(model.Delta) error { return nil })
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("cancelled: %v", err)
	}
	refuse := errors.New("no more")
	_, err = fresh(t, Options{}).Stream(context.Background(), model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "think"}}}, func(model.Delta) error { return refuse })
	if err != refuse {
		t.Errorf("an error of the caller: %v", err)
	}
}

func TestOwnScenarios(t *testing.T) {
	own := fstest.MapFS{
		"cards.yaml": {Data: []byte(`
order: 1
questions: {en: [Show a card], zh: [看卡片]}
when: {match: {en: 'card', zh: '卡片'}, system: 'cards on'}
turns:
  - do:
      - fence: {name: Card, body: '{"id": "w-1"}'}
      - placeholder: {card: Card, id: '{{.Var "card"}}'}
      - tag: {name: my-card, attrs: {id: w-2, kind: '{{.Lang}}'}}
      - tag: {name: my-card, body: {en: inside, zh: 里面}}
      - say: {en: ['Kept.', '{{.R.nothing}} left out.'], zh: ['{{.R.nothing}}']}
`)},
		"think.yaml": {Data: []byte("when: {match: {en: think}}\nturns: [{do: [{say: Mine.}]}]\n")},
		"_more.yaml": {Data: []byte("card: {default: c-7}\n")},
	}
	m := fresh(t, Options{Scenarios: own})
	ask := func(system, question string) string {
		resp, err := m.Stream(context.Background(), model.Request{Messages: []model.Message{{Role: model.RoleSystem, Content: system}, {Role: model.RoleUser, Content: question}}}, func(model.Delta) error { return nil })
		if err != nil {
			t.Fatal(err)
		}
		return resp.Text
	}
	want := "```Card\n{\"id\": \"w-1\"}\n```\n\n[(Card:c-7)]\n\n<my-card id=\"w-2\" kind=\"en\"/>\n\n<my-card>inside</my-card>\n\nKept."
	if got := ask("cards on", "a card"); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := ask("", "a card"); !strings.Contains(got, "no script fits") {
		t.Errorf("without the mark in the system prompt: %q", got)
	}
	if got := ask("", "think"); got != "Mine." {
		t.Errorf("a replaced scenario: %q", got)
	}
	for name, file := range map[string]string{
		"no turns":       "order: 1",
		"unknown member": "turns: [{do: [{shout: x}]}]",
		"two in one":     "turns: [{do: [{say: x, wait: 1s}]}]",
		"bad template":   "turns: [{do: [{say: '{{'}]}]",
		"bad expression": "when: {match: {en: '('}}\nturns: [{do: []}]",
		"no Chinese":     "turns: [{do: [{say: {en: x}}]}]",
		"bad condition":  "turns: [{if: maybe, do: []}]",
		"bad duration":   "turns: [{do: [{wait: long}]}]",
	} {
		if _, err := New(Options{Scenarios: fstest.MapFS{"x.yaml": {Data: []byte(file)}}}); err == nil || !strings.Contains(err.Error(), "x.yaml") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestNestedArguments(t *testing.T) {
	m := fresh(t, Options{Scenarios: fstest.MapFS{"nested.yaml": {Data: []byte(`
when: {match: {en: nested}}
turns:
  - do:
      - call:
          tool: t
          unoffered: true
          args:
            list: [1, 'a {{.Lang}}', '{{if eq .Lang "zh"}}left out{{end}}', {n: !number '{{len .Lang}}', gone: '{{""}}', none: null}]
            empty: []
            object: {deep: {flag: !bool 'true{{""}}'}}
`)}}})
	resp, err := m.Stream(context.Background(), model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "nested"}}}, func(model.Delta) error { return nil })
	want := `{"empty":[],"list":[1,"a en",{"n":2,"none":null}],"object":{"deep":{"flag":true}}}`
	if err != nil || len(resp.Calls) != 1 || string(resp.Calls[0].Arguments) != want {
		t.Errorf("%+v, %v, want %s", resp.Calls, err, want)
	}
}

func TestFacts(t *testing.T) {
	f := facts("Shown.\ntitle: T: x\nrows in source: 9\nseries A: total 10 EUR, max 7 EUR (a (b)), min 3 EUR (c)\ntop: Q1 2026 7 EUR; c 3 EUR\nitem X: 4\nerror: CODE some words\nretryable: true")
	for path, want := range map[string]any{
		"title": "T: x", "rows_in_source": "9", "s.maxLabel": "a (b)", "s.total": "10 EUR", "top1.label": "Q1 2026", "top1.value": "7 EUR",
		"top2.label": "c", "item1.value": "4", "error.code": "CODE", "error.message": "some words", "retryable": "true",
	} {
		var v any = f
		for _, p := range strings.Split(path, ".") {
			v = v.(map[string]any)[p]
		}
		if v != want {
			t.Errorf("%s is %v, want %v", path, v, want)
		}
	}
	if f := facts(`{"facts":"title: T\nrows: 3","n":4,"ok":true}`); f["title"] != "T" || f["rows"] != "3" || f["n"] != "4" || f["ok"] != "true" {
		t.Errorf("JSON: %v", f)
	}
	if f := facts("max: East 320"); f["max"] != "East 320" {
		t.Errorf("plain line: %v", f)
	}
}

// What an application says behind a question is not a part of it.
func TestApplicationIsNoQuestion(t *testing.T) {
	const question = "How do I deposit?"
	said := question + "\n\n[The application that the user sits in front of says the following, in one line of JSON. It is data.]\n{\"state\":{\"page\":\"sales by region\"}}"
	if got := questionIn(said); got != question {
		t.Errorf("%q", got)
	}
}
