package demo

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/png"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/pdf"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

// shelf keeps files in memory.
type shelf map[string][]byte

type shelfFile struct {
	bytes.Buffer
	s shelf
	f tool.NewFile
}

func (s shelf) Create(_ context.Context, _ tool.Caller, f tool.NewFile) (tool.FileWriter, error) {
	return &shelfFile{s: s, f: f}, nil
}

func (f *shelfFile) Commit(context.Context) (block.File, error) {
	f.s[f.f.Name] = f.Bytes()
	return block.File{AssetID: "a_" + f.f.Name, Name: f.f.Name, Mime: f.f.Mime, Size: int64(f.Len())}, nil
}

func (f *shelfFile) Abort() {}

// filed is a tool whose files go to a shelf.
type filed struct {
	tool.Tool
	s shelf
}

func (f filed) Run(ctx context.Context, args json.RawMessage, out *tool.Out) error {
	out.UseFiles(f.s, "c_1")
	return f.Tool.Run(ctx, args, out)
}

// callWithFiles runs a tool on a server that keeps files.
func callWithFiles(t *testing.T, d *Demo, lang, name, args string) (*tooltest.Run, shelf) {
	t.Helper()
	s := shelf{}
	run, err := tooltest.Call(caller(t, lang), filed{find(t, d, name), s}, args, "")
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	return run, s
}

func decode[T any](t *testing.T, raw json.RawMessage) T {
	t.Helper()
	var v T
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

// acted is what an action left behind.
type acted struct {
	action.Result
	blocks []*tooltest.Block
	files  shelf
}

// act runs an action as the gateway does once it has let a request in. acting
// is the block that out.Update fills again.
func act(t *testing.T, d *Demo, lang, name string, c action.Call) (acted, error) {
	t.Helper()
	i := slices.IndexFunc(d.Actions(), func(a action.Def) bool { return a.Name == name })
	if i < 0 {
		t.Fatalf("no action %s", name)
	}
	ctx := caller(t, lang)
	c.Caller = tool.CallerFrom(ctx)
	if c.Payload == nil {
		c.Payload = json.RawMessage("{}")
	}
	var a acted
	a.files = shelf{}
	// A tool stands in for the message: it has a sink and nothing of its own.
	stage, err := tool.New(tool.Spec{Name: "act", Description: "x"}, func(ctx context.Context, _ struct{}, out *tool.Out) (err error) {
		a.Result, err = d.Actions()[i].Run(ctx, c, out)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	run, err := tooltest.Call(ctx, filed{stage, a.files}, "{}", "")
	if run != nil {
		a.blocks = run.Blocks
	}
	return a, err
}

func TestExportForm(t *testing.T) {
	d := open(t)
	run := call(t, d, "en", "show_export_form", `{"from":"2026-08-01","region":"South","format":"csv","reason":"a sample review"}`)
	f := decode[block.Form](t, run.Blocks[0].Payload)
	if got := fmt.Sprint(f.Defaults); got != "map[format:csv range:[2026-08-01 2026-09-30] reason:a sample review region:South scope:region]" {
		t.Error(got)
	}
	a := run.Blocks[0].Actions
	if len(a) != 1 || a[0].Action != "export_orders" || a[0].Kind != block.ActionAPI || a[0].Params != nil {
		t.Errorf("%+v", a)
	}
	// What the model makes up is left out, and it is told.
	run = call(t, d, "zh", "show_export_form", `{"from":"2026-13-41"}`)
	if f := decode[block.Form](t, run.Blocks[0].Payload); f.Title != "导出订单明细" || f.Defaults["range"] != nil || !strings.Contains(run.Told, "range") {
		t.Errorf("%+v, told %q", f.Defaults, run.Told)
	}
	schema, err := block.CompileForm(f.Schema)
	if err != nil {
		t.Fatal(err)
	}
	for payload, fits := range map[string]bool{
		`{"range":["2026-07-01","2026-07-31"],"scope":"all","format":"xlsx","reason":"review"}`:                    true,
		`{"range":["2026-07-01","2026-07-31"],"scope":"region","format":"xlsx","reason":"review"}`:                 false,
		`{"range":["2026-07-01","2026-07-31"],"scope":"region","region":"East","format":"xlsx","reason":"review"}`: true,
		`{"range":["2026-07-01","2026-07-31"],"scope":"region","region":"Mars","format":"xlsx","reason":"review"}`: false,
		`{"range":["2026-07-01"],"scope":"all","format":"xlsx","reason":"review"}`:                                 false,
		`{"range":["2026-07-01","soon"],"scope":"all","format":"xlsx","reason":"review"}`:                          false,
	} {
		if err := schema.Validate(json.RawMessage(payload)); (err == nil) != fits {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

func TestExportOrders(t *testing.T) {
	d := open(t)
	payload := `{"range":["2026-07-01","2026-07-31"],"scope":"region","region":"East","format":"%s","reason":"review"}`
	for _, format := range []string{"csv", "xlsx"} {
		a, err := act(t, d, "en", "export_orders", action.Call{ID: "k1", Payload: json.RawMessage(fmt.Sprintf(payload, format))})
		if err != nil || len(a.blocks) != 1 || a.blocks[0].Type != "file" || len(a.files) != 1 {
			t.Fatalf("%+v, %v", a, err)
		}
		if first := string(a.blocks[0].Patches[0]); !strings.Contains(first, `"progress"`) || len(a.blocks[0].Patches) < 2 {
			t.Errorf("%d patches, the first is %s", len(a.blocks[0].Patches), first)
		}
		for name, data := range a.files {
			if !strings.HasSuffix(name, "."+format) || !bytes.Contains(data, []byte("PK")) && format == "xlsx" {
				t.Errorf("%s: %d bytes", name, len(data))
			}
			if format == "csv" {
				lines := strings.Count(string(data), "\r\n")
				if !strings.Contains(a.Text, fmt.Sprint(lines-1)) || lines < 10 || strings.Contains(string(data), "Chengdu") {
					t.Errorf("%d lines, told %q", lines, a.Text)
				}
			}
		}
	}
	var te *tool.Error
	_, err := act(t, d, "zh", "export_orders", action.Call{Payload: json.RawMessage(`{"range":["1999-01-01","1999-01-02"],"scope":"all","format":"csv","reason":"复盘"}`)})
	if !errors.As(err, &te) || te.Message != "所选日期内没有示例订单。" {
		t.Errorf("%v", err)
	}
	// Stopped half-way.
	d.exportTime = 30 * time.Second
	ctx, cancel := context.WithTimeout(caller(t, "en"), 200*time.Millisecond)
	defer cancel()
	i := slices.IndexFunc(d.Actions(), func(a action.Def) bool { return a.Name == "export_orders" })
	stage, err := tool.New(tool.Spec{Name: "act", Description: "x"}, func(ctx context.Context, _ struct{}, out *tool.Out) error {
		_, err := d.Actions()[i].Run(ctx, action.Call{Payload: json.RawMessage(fmt.Sprintf(payload, "csv"))}, out)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tooltest.Call(ctx, filed{stage, shelf{}}, "{}", ""); !errors.As(err, &te) || te.Code != block.CodeCancelled {
		t.Errorf("stopped: %v", err)
	}
	d.exportTime = 100 * time.Millisecond
	// The export that fails once.
	c := action.Call{
		Block: block.Block{ID: "b_form"}, Params: map[string]json.RawMessage{"failOnce": json.RawMessage("true")},
		Payload: json.RawMessage(`{"range":["2026-09-01","2026-09-02"],"scope":"all","format":"csv","reason":"review"}`),
	}
	if _, err := act(t, d, "en", "export_orders", c); !errors.As(err, &te) || !te.Retryable {
		t.Errorf("first try: %v", err)
	}
	if _, err := act(t, d, "en", "export_orders", c); err != nil {
		t.Errorf("second try: %v", err)
	}
}

func TestReport(t *testing.T) {
	d := open(t)
	for _, lang := range []string{"en", "zh"} {
		run, files := callWithFiles(t, d, lang, "make_report", `{"quarter":"2026Q3"}`)
		if len(run.Blocks) != 3 || run.Blocks[0].Type != "file" || run.Blocks[1].Type != "file" || run.Blocks[2].Type != "image" {
			t.Fatalf("%+v", run.Blocks)
		}
		if pic := decode[block.Image](t, run.Blocks[2].Payload); pic.AssetID != "a_sample-report-2026Q3.png" || !strings.Contains(pic.Alt, "4") {
			t.Errorf("%+v", pic)
		}
		if cfg, err := png.DecodeConfig(bytes.NewReader(files["sample-report-2026Q3.png"])); err != nil || cfg.Width != barsWidth {
			t.Errorf("%+v, %v", cfg, err)
		}
		info, err := pdf.Read(t.Context(), bytes.NewReader(files["sample-report-2026Q3.pdf"]), int64(len(files["sample-report-2026Q3.pdf"])), pdf.Limits{})
		if err != nil || info.Pages != 1 || !strings.Contains(info.Text, "East") {
			t.Errorf("%+v, %v", info, err)
		}
	}
	var te *tool.Error
	if _, err := tooltest.Call(caller(t, "en"), find(t, d, "make_report"), `{"quarter":"1999Q1"}`, ""); !errors.As(err, &te) {
		t.Errorf("%v", err)
	}
}

func TestApproveExpense(t *testing.T) {
	d := open(t)
	run := call(t, d, "en", "list_expenses", "")
	if tb := decode[block.Table](t, run.Blocks[0].Payload); len(tb.Rows) != 4 || !strings.Contains(run.Told, "next to approve: E-1004") {
		t.Errorf("%d rows, told %q", len(tb.Rows), run.Told)
	}
	approve := find(t, d, "approve_expense")
	if err := block.LintForm(tool.Parameters(approve.Spec())); err != nil {
		t.Errorf("the arguments cannot be edited: %v", err)
	}
	args := `{"number":"E-1004","amount":2000,"reason":"in budget"}`
	ask, err := approve.Spec().Ask(caller(t, "zh"), json.RawMessage(args))
	if err != nil || ask == nil || !ask.Edit || ask.Severity != "warning" || !strings.Contains(ask.Prompt, "E-1004") || !strings.Contains(ask.Detail, "2150.00") {
		t.Errorf("%+v, %v", ask, err)
	}
	var te *tool.Error
	if _, err := tooltest.Call(caller(t, "en"), approve, `{"number":"E-1004","amount":2151,"reason":"more"}`, ""); !errors.As(err, &te) || te.Code != "AMOUNT_TOO_HIGH" {
		t.Errorf("more than was claimed: %v", err)
	}
	run = call(t, d, "en", "approve_expense", args)
	if c := decode[block.Card](t, run.Blocks[0].Payload); c.Status.Tone != "success" || c.Fields[2].Value != 2000.0 || !strings.Contains(run.Told, "approved amount: 2000.00") {
		t.Errorf("%+v, told %q", c, run.Told)
	}
	if _, err := tooltest.Call(caller(t, "en"), approve, args, ""); !errors.As(err, &te) || te.Code != "ALREADY_DECIDED" {
		t.Errorf("a second time: %v", err)
	}
	if _, err := approve.Spec().Ask(caller(t, "en"), json.RawMessage(args)); !errors.As(err, &te) {
		t.Errorf("asked for what is decided: %v", err)
	}
	// Everybody has samples of their own.
	other := tool.WithCaller(t.Context(), tool.Caller{Tenant: "t", User: "other"})
	if ask, err := approve.Spec().Ask(other, json.RawMessage(args)); err != nil || ask == nil {
		t.Errorf("%v", err)
	}
}

func TestDeleteExpenses(t *testing.T) {
	d := open(t)
	call(t, d, "en", "list_expenses", "")
	i := slices.IndexFunc(d.Actions(), func(a action.Def) bool { return a.Name == "delete_expenses" })
	def := d.Actions()[i]
	ctx := caller(t, "en")
	c := action.Call{ID: "k1", Caller: tool.CallerFrom(ctx)}
	if happened, _, err := def.Lookup(ctx, c); happened || err != nil {
		t.Errorf("before: %t, %v", happened, err)
	}
	a, err := act(t, d, "en", "delete_expenses", action.Call{ID: "k1"})
	if err != nil || a.Text != "4 sample expenses were deleted." {
		t.Errorf("%+v, %v", a, err)
	}
	if happened, res, err := def.Lookup(ctx, c); !happened || err != nil || res.Text != a.Text {
		t.Errorf("after: %t, %+v, %v", happened, res, err)
	}
	if run := call(t, d, "en", "list_expenses", ""); len(decode[block.Table](t, run.Blocks[0].Payload).Rows) != 0 {
		t.Error("there are expenses left")
	}
	if _, err := act(t, d, "en", "restore_expenses", action.Call{ID: "k2"}); err != nil {
		t.Error(err)
	}
	// The same call again deletes nothing more.
	if a, err := act(t, d, "zh", "delete_expenses", action.Call{ID: "k1"}); err != nil || a.Text != "已删除 4 张示例报销单。" {
		t.Errorf("%+v, %v", a, err)
	}
	if run := call(t, d, "en", "list_expenses", ""); len(decode[block.Table](t, run.Blocks[0].Payload).Rows) != 4 {
		t.Error("the samples were not put back")
	}
}

func TestProducts(t *testing.T) {
	d := open(t)
	run, files := callWithFiles(t, d, "en", "compare_products", `{"layout":"carousel"}`)
	l := decode[block.CardList](t, run.Blocks[0].Payload)
	if len(l.Items) != 4 || l.Layout != "carousel" || l.Items[0].Image == nil || len(files) != 4 || l.Items[1].Actions[0].Params["name"] != "Sample watch Trail" {
		t.Errorf("%+v", l)
	}
	// Without files the cards have no pictures.
	run = call(t, d, "zh", "compare_products", "")
	if l := decode[block.CardList](t, run.Blocks[0].Payload); l.Items[0].Image != nil || l.Layout != "grid" {
		t.Errorf("%+v", l)
	}
	watching := func(name string) (string, json.RawMessage) {
		run := call(t, d, "en", "show_product", fmt.Sprintf(`{"product":%q}`, name))
		if len(run.Blocks) != 2 || run.Blocks[0].Type != "card" || run.Blocks[1].Type != "tree" || run.Blocks[1].Actions[0].Action != "add_to_basket" {
			t.Fatalf("%+v", run.Blocks)
		}
		a := run.Blocks[0].Actions[0]
		return a.Label, a.Params["on"]
	}
	for _, want := range []string{"Watch its stock", "Stop watching", "Watch its stock"} {
		label, on := watching("示例手表 跑步款")
		if label != want {
			t.Errorf("%q, want %q", label, want)
		}
		if a, err := act(t, d, "en", "watch_product", action.Call{Payload: json.RawMessage(`{"product":"watch-run","on":` + string(on) + `}`)}); err != nil || a.Text == "" {
			t.Error(err)
		}
	}
	for i, id := range []string{"k1", "k1", "k2"} {
		a, err := act(t, d, "en", "add_to_basket", action.Call{ID: id, Payload: json.RawMessage(`{"product":"watch-lite"}`)})
		if want := fmt.Sprintf("Pieces in the sample basket: %d.", 1+i/2); err != nil || a.Text != want {
			t.Errorf("%q, %v, want %q", a.Text, err, want)
		}
	}
	var te *tool.Error
	if _, err := act(t, d, "en", "add_to_basket", action.Call{ID: "k3", Payload: json.RawMessage(`{"product":"watch-swim"}`)}); !errors.As(err, &te) {
		t.Errorf("sold out: %v", err)
	}
}

func TestEveryChartTypeIsShown(t *testing.T) {
	d := open(t)
	for _, lang := range []string{"en", "zh"} {
		seen := map[block.ChartType]bool{}
		for _, group := range []string{"compare", "distribute"} {
			run := call(t, d, lang, "show_chart_types", `{"group":"`+group+`"}`)
			// No more blocks than a turn may show.
			if len(run.Blocks) > 16 || !strings.Contains(run.Told, fmt.Sprintf("charts: %d", len(run.Blocks))) {
				t.Errorf("%d blocks, told %q", len(run.Blocks), run.Told)
			}
			for _, b := range run.Blocks {
				c := chartOf(t, b)
				seen[c.Type] = true
				if len(c.Data) == 0 || c.Truncated != nil {
					t.Errorf("%s: %d rows", c.Type, len(c.Data))
				}
			}
		}
		for _, kind := range []block.ChartType{
			block.ChartBar, block.ChartLine, block.ChartArea, block.ChartPie, block.ChartDonut, block.ChartScatter, block.ChartBubble, block.ChartCombo,
			block.ChartHistogram, block.ChartHeatmap, block.ChartFunnel, block.ChartRadar, block.ChartGauge, block.ChartTreemap, block.ChartWaterfall,
			block.ChartBoxplot, block.ChartCandlestick,
		} {
			if !seen[kind] {
				t.Errorf("%s: no %s", lang, kind)
			}
		}
	}
}

func TestFlowAndRollout(t *testing.T) {
	d := open(t)
	run := call(t, d, "zh", "show_order_flow", "")
	if p := string(run.Blocks[0].Payload); !strings.Contains(p, "sankey") || !strings.Contains(p, "华东") || !strings.Contains(run.Told, "orders: 500") {
		t.Errorf("%s, told %q", p, run.Told)
	}
	run = call(t, d, "en", "roll_out", `{"fail":true}`)
	s := decode[block.Steps](t, run.Blocks[0].Payload)
	var states []string
	for _, it := range s.Items {
		states = append(states, it.Status)
	}
	if got := fmt.Sprint(states); got != "[done done done error skipped]" || len(run.Blocks[0].Patches) < 9 {
		t.Errorf("%s, %d patches", got, len(run.Blocks[0].Patches))
	}
}

func TestQueries(t *testing.T) {
	d := open(t)
	q := d.Queries()
	if len(q) != 1 || q[0].Source != "requests" || q[0].SQL == nil || !q[0].SQL.ReadOnly() {
		t.Fatalf("%+v", q)
	}
	// A statement finds the log and nothing else.
	for statement, ok := range map[string]bool{
		"SELECT status, count(*) AS n FROM requests WHERE time BETWEEN '2026' AND '2027' GROUP BY status": true,
		"SELECT * FROM expenses": false,
		"DELETE FROM requests":   false,
	} {
		st, err := q[0].SQL.Prepare(statement)
		if err == nil {
			_, err = q[0].SQL.Run(t.Context(), st, nil)
		}
		if (err == nil) != ok {
			t.Errorf("%s: %v", statement, err)
		}
	}
}

// TestActions expects everything that a block offers to be registered.
func TestActions(t *testing.T) {
	d := open(t)
	reg, err := action.NewRegistry(d.Actions()...)
	if err != nil {
		t.Fatal(err)
	}
	offered := 0
	for name, args := range map[string]string{
		"show_export_form": "{}", "list_expenses": "{}", "compare_products": "{}", "show_product": `{"product":"watch-run"}`,
	} {
		for _, b := range call(t, d, "zh", name, args).Blocks {
			for _, a := range b.Actions {
				offered++
				r, err := reg.Resolve(caller(t, "zh"), a, b.Type)
				if err != nil || r.Label == "" {
					t.Errorf("%s: %+v, %v", name, r, err)
				}
			}
		}
	}
	if offered != 6 {
		t.Errorf("%d actions are offered", offered)
	}
	for _, a := range d.Actions() {
		if a.Label[""] == "" || a.Label["zh"] == "" || (a.Confirm.Level != action.LevelNone) != (a.Confirm.Text["zh"] != "") {
			t.Errorf("%s is not worded", a.Name)
		}
	}
}
