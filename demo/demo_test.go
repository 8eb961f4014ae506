package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

// loaded is a database after its first start; loading it for every test would
// be most of their time.
var loaded = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "demo")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	d, err := Open(context.Background(), dir)
	if err != nil {
		return nil, err
	}
	if err := d.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(filepath.Join(dir, FileName))
})

func open(t *testing.T) *Demo {
	t.Helper()
	file, err := loaded()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, FileName), file, 0o600); err != nil {
		t.Fatal(err)
	}
	d, err := Open(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	d.exportTime, d.stepTime = 300*time.Millisecond, 10*time.Millisecond
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return d
}

func caller(t *testing.T, lang string) context.Context {
	return tool.WithCaller(t.Context(), tool.Caller{Tenant: "t", User: "u", Lang: lang})
}

func find(t *testing.T, d *Demo, name string) tool.Tool {
	t.Helper()
	set, err := tool.NewSet(d.Tools()...)
	if err != nil {
		t.Fatal(err)
	}
	tl, _, ok := set.Lookup(name)
	if !ok {
		t.Fatalf("no tool %s", name)
	}
	return tl
}

func call(t *testing.T, d *Demo, lang, name, args string) *tooltest.Run {
	t.Helper()
	run, err := tooltest.Call(caller(t, lang), find(t, d, name), args, "")
	if err != nil {
		t.Fatalf("%s %s: %v", name, args, err)
	}
	for _, b := range run.Blocks {
		if b.Status != block.StatusDone {
			t.Fatalf("%s %s: block is %s", name, args, b.Status)
		}
	}
	return run
}

func chartOf(t *testing.T, b *tooltest.Block) block.Chart {
	t.Helper()
	var c block.Chart
	if err := json.Unmarshal(b.Payload, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestSalesChart(t *testing.T) {
	d := open(t)
	for _, kind := range []string{"bar", "line", "pie"} {
		run := call(t, d, "en", "show_sales_chart", `{"quarter":"2026Q3","chartType":"`+kind+`"}`)
		c := chartOf(t, run.Blocks[0])
		if string(c.Type) != kind || c.Title != "2026Q3 sales by region" || c.Subtitle != "Sample data" {
			t.Errorf("%+v", c)
		}
		if got := fmt.Sprint(c.Data); got != "[map[amount:320 region:East] map[amount:210 region:South] map[amount:180 region:North] map[amount:140 region:West]]" {
			t.Error(got)
		}
		a := run.Blocks[0].Actions
		if len(a) != 1 || a[0].ID != "drill" || a[0].Kind != block.ActionPrompt || a[0].Prompt != "Show the cities of {{region}} in 2026Q3" {
			t.Errorf("%+v", a)
		}
		if c.OnSelect == nil || c.OnSelect.ActionID != "drill" || c.OnSelect.Params["region"] != "region" {
			t.Errorf("%+v", c.OnSelect)
		}
		if m := run.Blocks[0].Meta; m.Title != c.Title || m.Source != "Sample data" {
			t.Errorf("%+v", m)
		}
		if !strings.Contains(run.Told, "total 850") {
			t.Errorf("told %q", run.Told)
		}
	}
	run := call(t, d, "zh-CN", "show_sales_chart", `{"quarter":"2026Q3"}`)
	if c := chartOf(t, run.Blocks[0]); c.Data[0]["region"] != "华东" || c.Unit != "万元" || !strings.Contains(run.Blocks[0].Actions[0].Prompt, "{{region}}") {
		t.Errorf("%+v", c)
	}
	_, err := tooltest.Call(caller(t, "en"), find(t, d, "show_sales_chart"), `{"quarter":"1999Q1"}`, "")
	var te *tool.Error
	if !errors.As(err, &te) || te.Message != "The sample data has no 1999Q1." || te.Retryable {
		t.Errorf("%v", err)
	}
}

func TestRegionDetail(t *testing.T) {
	d := open(t)
	for _, region := range []string{"East", "east", "华东"} {
		run := call(t, d, "en", "show_region_detail", `{"quarter":"2026Q3","region":"`+region+`"}`)
		c := chartOf(t, run.Blocks[0])
		if c.Title != "East: 2026Q3 sales by city" || len(c.Data) != 4 || c.Data[0]["city"] != "Shanghai" {
			t.Errorf("%+v", c)
		}
	}
	run := call(t, d, "zh", "show_region_detail", `{"quarter":"2026Q3","region":"East"}`)
	if c := chartOf(t, run.Blocks[0]); c.Title != "华东 2026Q3 各城市销售额" || c.Data[0]["city"] != "上海" {
		t.Errorf("%+v", c)
	}
	if _, err := tooltest.Call(caller(t, "en"), find(t, d, "show_region_detail"), `{"quarter":"2026Q3","region":"Mars"}`, ""); err == nil {
		t.Error("Mars has sales")
	}
}

func TestSalesSummary(t *testing.T) {
	d := open(t)
	run := call(t, d, "en", "show_sales_summary", `{"quarter":"2026Q3"}`)
	var m block.Metric
	if err := json.Unmarshal(run.Blocks[0].Payload, &m); err != nil {
		t.Fatal(err)
	}
	if m.Items[0].Value != 850.0 || m.Items[0].Delta == nil || len(m.Items[0].Trend) != 8 || *m.Items[0].Trend[7] != 850 {
		t.Errorf("%+v", m.Items[0])
	}
	// The first quarter has none before it.
	run = call(t, d, "zh", "show_sales_summary", `{"quarter":"2024Q1"}`)
	if strings.Contains(string(run.Blocks[0].Payload), "delta\"") {
		t.Errorf("%s", run.Blocks[0].Payload)
	}
}

func TestListOrders(t *testing.T) {
	d := open(t)
	for args, want := range map[string]struct{ rows, patches int }{
		``:              {20, 0},
		`{"limit":100}`: {100, 0},
		`{"limit":101}`: {101, 3},
		`{"limit":500}`: {500, 6},
	} {
		run := call(t, d, "en", "list_orders", args)
		b := run.Blocks[0]
		var tb block.Table
		if err := json.Unmarshal(b.Payload, &tb); err != nil {
			t.Fatal(err)
		}
		if len(run.Blocks) != 1 || len(tb.Rows) != want.rows || len(b.Patches) != want.patches {
			t.Errorf("%s: %d rows, %d patches", args, len(tb.Rows), len(b.Patches))
		}
		for _, p := range b.Patches {
			if len(p) > 60<<10 {
				t.Errorf("%s: a patch of %d bytes", args, len(p))
			}
		}
		if !strings.Contains(run.Told, fmt.Sprintf("rows: %d", want.rows)) {
			t.Errorf("%s: told %q", args, run.Told)
		}
		if tb.Rows[0]["placed"].(string) < tb.Rows[len(tb.Rows)-1]["placed"].(string) {
			t.Errorf("%s: not the latest first", args)
		}
	}
	if _, err := tooltest.Call(t.Context(), find(t, d, "list_orders"), `{"limit":501}`, ""); err == nil {
		t.Error("501 orders")
	}
}

func TestGovernmentData(t *testing.T) {
	d := open(t)
	run := call(t, d, "en", "show_unemployment", "")
	c := chartOf(t, run.Blocks[0])
	if len(c.Data) != 122 || len(c.Series) != 6 || c.X.Type != "time" || c.Data[0]["month"] != "2000-01-01" {
		t.Errorf("%d rows, %d series, first %v", len(c.Data), len(c.Series), c.Data[0])
	}
	for _, r := range c.Data {
		for _, s := range c.Series {
			if r[s.Field] == nil {
				t.Fatalf("no %s in %v", s.Field, r["month"])
			}
		}
	}
	if len(run.Blocks[0].Payload) > 32<<10 {
		t.Errorf("%d bytes", len(run.Blocks[0].Payload))
	}
	run = call(t, d, "zh", "show_airports_by_state", `{"top":3}`)
	if c := chartOf(t, run.Blocks[0]); len(c.Data) != 3 || c.Data[0]["state"] != "AK" {
		t.Errorf("%v", c.Data)
	}
	if c := chartOf(t, call(t, d, "en", "show_airports_by_state", "").Blocks[0]); len(c.Data) != 10 {
		t.Errorf("%d states", len(c.Data))
	}
}

func TestServerErrors(t *testing.T) {
	d := open(t)
	run := call(t, d, "en", "show_server_errors", "")
	if len(run.Blocks) != 1 || !strings.Contains(run.Told, "server errors: 0") {
		t.Errorf("%d blocks, told %q", len(run.Blocks), run.Told)
	}
	log, now := d.RequestLog(), time.Now()
	for range 7 {
		log.Record(now, "GET", "/v1/conversations", 200, 1.5)
	}
	log.Record(now.Add(-3*time.Minute), "POST", "/v1/chat", 503, 20)
	log.Record(now.Add(-4*time.Minute), "POST", "/v1/chat", 503, 40)
	log.Record(now.Add(-4*time.Minute), "GET", "/v1/messages/{id}", 404, 1)
	log.Record(now.Add(-2*time.Hour), "GET", "/", 500, 1)
	run = call(t, d, "en", "show_server_errors", `{"minutes":30}`)
	if !strings.Contains(run.Told, "requests: 10") || !strings.Contains(run.Told, "server errors: 2") || len(run.Blocks) != 2 {
		t.Fatalf("%d blocks, told %q", len(run.Blocks), run.Told)
	}
	if c := chartOf(t, run.Blocks[0]); len(c.Data) != 30 {
		t.Errorf("%d bars", len(c.Data))
	}
	var tb block.Table
	if err := json.Unmarshal(run.Blocks[1].Payload, &tb); err != nil {
		t.Fatal(err)
	}
	if len(tb.Rows) != 1 || tb.Rows[0]["route"] != "POST /v1/chat" || tb.Rows[0]["count"] != 2.0 || tb.Rows[0]["ms"] != 30.0 {
		t.Errorf("%v", tb.Rows)
	}
	run = call(t, d, "zh", "show_server_errors", `{"minutes":1440}`)
	if c := chartOf(t, run.Blocks[0]); len(c.Data) != 60 || !strings.Contains(run.Told, "server errors: 3") {
		t.Errorf("%d bars, told %q", len(c.Data), run.Told)
	}
}

func TestBrokenSource(t *testing.T) {
	d := open(t)
	tl := find(t, d, "broken_source")
	try := func(block string) error {
		_, err := tooltest.Call(caller(t, "en"), tl, "", block)
		return err
	}
	var te *tool.Error
	if err := try("b_one"); !errors.As(err, &te) || !te.Retryable {
		t.Fatalf("first try: %v", err)
	}
	if err := try("b_two"); err == nil {
		t.Error("another block answered at the first try")
	}
	if err := try("b_one"); err != nil {
		t.Errorf("second try: %v", err)
	}
}

func TestSlowReport(t *testing.T) {
	d := open(t)
	begun := time.Now()
	run := call(t, d, "en", "slow_report", `{"seconds":1}`)
	if took := time.Since(begun); took < 700*time.Millisecond || took > 20*time.Second {
		t.Errorf("took %s", took)
	}
	if n := len(run.Blocks[0].Patches); n != 6 {
		t.Errorf("%d patches", n)
	}
	if p := string(run.Blocks[0].Payload); strings.Count(p, `"done"`) != 5 {
		t.Error(p)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begun = time.Now()
	if _, err := tooltest.Call(ctx, find(t, d, "slow_report"), `{"seconds":30}`, ""); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("stopped: %v", err)
	}
	if took := time.Since(begun); took > 10*time.Second {
		t.Errorf("stopped after %s", took)
	}
}

func TestOpenAgain(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data #1")
	ctx := t.Context()
	d, err := Open(ctx, dir)
	if err != nil {
		t.Fatal(err)
	}
	d.RequestLog().Record(time.Now(), "GET", "/", 200, 1)
	if _, err := d.db.Exec("DELETE FROM sales WHERE quarter < '2026'"); err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	count := func(table string) (n int) {
		t.Helper()
		d, err = Open(ctx, dir)
		if err != nil {
			t.Fatal(err)
		}
		defer d.Close()
		db := d.db
		if table == "http_requests" {
			db = d.logDB
		}
		if err := db.QueryRow("SELECT count(*) FROM " + table).Scan(&n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	if n := count("http_requests"); n != 1 {
		t.Errorf("%d requests after closing", n)
	}
	if n := count("sales"); n != 64 {
		t.Errorf("the data was loaded again: %d rows", n)
	}
	db, err := openFile(filepath.Join(dir, FileName))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.Exec("PRAGMA user_version = 0"); err != nil {
		t.Fatal(err)
	}
	db.Close()
	if n := count("sales"); n != 192 {
		t.Errorf("another version was not loaded: %d rows", n)
	}
	if n := count("http_requests"); n != 1 {
		t.Errorf("the request log did not outlive the data: %d", n)
	}
	if _, err := os.Stat(filepath.Join(dir, FileName)); err != nil {
		t.Error(err)
	}
}

func TestRequestLogBounds(t *testing.T) {
	d := open(t)
	l := d.RequestLog()
	if _, err := d.logDB.Exec(`WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i+1 FROM n WHERE i < 100500)
		INSERT INTO http_requests (at, method, route, status, ms) SELECT ?, 'GET', '/', 200, 1 FROM n`, time.Now().UnixMilli()); err != nil {
		t.Fatal(err)
	}
	l.Record(time.Now().Add(-25*time.Hour), "GET", "/old", 200, 1)
	if err := l.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	var n, old int
	if err := d.logDB.QueryRow("SELECT count(*), total(route = '/old') FROM http_requests").Scan(&n, &old); err != nil {
		t.Fatal(err)
	}
	if n > keepRequests || old != 0 {
		t.Errorf("%d requests, %d old", n, old)
	}
	// Record returns at once even when nothing is written.
	full := &RequestLog{in: make(chan request, 1)}
	full.Record(time.Now(), "GET", "/", 200, 1)
	full.Record(time.Now(), "GET", "/", 200, 1)
	if full.Dropped() != 1 {
		t.Errorf("dropped %d", full.Dropped())
	}
}

func TestTools(t *testing.T) {
	d := open(t)
	names := map[string]bool{}
	for _, tl := range d.Tools() {
		s := tl.Spec()
		names[s.Name] = true
		if s.Description == "" || s.Title[""] == "" || s.Title["zh"] == "" || s.Block == nil {
			t.Errorf("%s is not described", s.Name)
		}
	}
	for _, n := range []string{
		"show_sales_chart", "show_region_detail", "show_sales_summary", "list_orders", "show_unemployment",
		"show_airports_by_state", "show_server_errors", "broken_source", "slow_report",
	} {
		if !names[n] {
			t.Errorf("no tool %s", n)
		}
	}
	if en, zh := d.Suggestions("en"), d.Suggestions("zh-CN"); len(en) == 0 || len(en) != len(zh) {
		t.Errorf("%d and %d suggestions", len(en), len(zh))
	}
}

func TestAllow(t *testing.T) {
	allow := Allow()
	if err := allow.Check(); err != nil {
		t.Error(err)
	}
	for _, target := range []block.Target{
		{Kind: block.TargetRoute, Value: "/gallery"}, {Kind: block.TargetSlash, Value: "/sales 2026Q3"},
		{Kind: block.TargetModal, Value: "deposit"}, {Kind: block.TargetModal, Value: "withdraw"},
		{Kind: block.TargetExternal, Value: "https://www.bls.gov/cps/"}, {Kind: block.TargetExternal, Value: "https://data.gov/"},
	} {
		if err := allow.Allows(target); err != nil {
			t.Errorf("%+v: %v", target, err)
		}
	}
	for _, target := range []block.Target{
		{Kind: block.TargetRoute, Value: "/c/other"}, {Kind: block.TargetSlash, Value: "/buy"},
		{Kind: block.TargetModal, Value: "settings"}, {Kind: block.TargetExternal, Value: "https://bls.gov.example/"},
	} {
		if allow.Allows(target) == nil {
			t.Errorf("%+v is allowed", target)
		}
	}
}
