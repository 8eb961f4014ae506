package demo

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

func (d *Demo) makeTools() ([]tool.Tool, error) {
	var tools []tool.Tool
	for _, def := range []sqltool.Def{salesChart, regionDetail, unemployment, airports} {
		t, err := sqltool.New(d.source, def)
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	for _, make := range []func() (tool.Tool, error){
		d.salesSummary, d.listOrders, d.serverErrors, d.brokenSource, slowReport,
		d.exportForm, d.report, d.listExpenses, d.approveExpense, d.compareProducts, d.showProduct, d.orderFlow, d.chartTypes, d.rollout,
	} {
		t, err := make()
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, nil
}

// words chooses between the two languages of the demonstration.
func words(ctx context.Context) func(en, zh string) string {
	zhCaller := isChinese(tool.CallerFrom(ctx).Lang)
	return func(en, zh string) string {
		if zhCaller {
			return zh
		}
		return en
	}
}

func ptr[T any](v T) *T { return &v }

type summaryArgs struct {
	Quarter string `json:"quarter" jsonschema:"Calendar quarter, such as 2026Q3" pattern:"^[0-9]{4}Q[1-4]$"`
}

func (d *Demo) salesSummary() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_sales_summary",
		Description: "Show the key figures of one quarter: sales with the change against the quarter before, orders, best region (sample data).",
		Title:       map[string]string{"": "Sum up sales", "zh": "汇总销售数据"},
		Block:       &tool.BlockSpec{Type: "metric", Source: "Sample data", Sources: map[string]string{"zh": "示例数据"}},
		Refreshable: true,
	}, d.runSalesSummary)
}

func (d *Demo) runSalesSummary(ctx context.Context, args summaryArgs, out *tool.Out) error {
	w := words(ctx)
	rows, err := d.db.QueryContext(ctx,
		"SELECT quarter, sum(amount), sum(orders) FROM sales WHERE quarter <= ? GROUP BY quarter ORDER BY quarter DESC LIMIT 8", args.Quarter)
	if err != nil {
		return fmt.Errorf("read sales: %w", err)
	}
	defer rows.Close()
	// Newest first.
	var quarters []string
	var amounts, orders []float64
	for rows.Next() {
		var q string
		var a, o float64
		if err := rows.Scan(&q, &a, &o); err != nil {
			return fmt.Errorf("read sales: %w", err)
		}
		quarters, amounts, orders = append(quarters, q), append(amounts, a), append(orders, o)
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read sales: %w", err)
	}
	if len(quarters) == 0 || quarters[0] != args.Quarter {
		return &tool.Error{
			Code:    block.CodeDataFetchFailed,
			Message: fmt.Sprintf(w("The sample data has no %s.", "示例数据中没有 %s。"), args.Quarter),
		}
	}
	var best string
	var bestAmount float64
	column := w("region", "region_zh")
	err = d.db.QueryRowContext(ctx,
		"SELECT "+column+", sum(amount) AS a FROM sales WHERE quarter = ? GROUP BY region ORDER BY a DESC LIMIT 1", args.Quarter).Scan(&best, &bestAmount)
	if err != nil {
		return fmt.Errorf("read best region: %w", err)
	}
	sales := block.MetricItem{
		Label: w("Sales", "销售额"), Value: amounts[0], Unit: w("10k CNY", "万元"),
		Delta: change(amounts), DeltaFormat: block.FormatPercent, Trend: trend(amounts),
	}
	count := block.MetricItem{
		Label: w("Orders", "订单数"), Value: orders[0],
		Delta: change(orders), DeltaFormat: block.FormatPercent, Trend: trend(orders),
	}
	share := block.MetricItem{
		Label: fmt.Sprintf(w("Share of %s, the best region", "销售额最高的区域（%s）占比"), best),
		Value: bestAmount / amounts[0], Format: block.FormatPercent, Decimals: ptr(1),
	}
	return out.Metric(block.Metric{
		Title: fmt.Sprintf(w("%s sales (sample data)", "%s 销售情况（示例数据）"), args.Quarter),
		Items: []block.MetricItem{sales, count, share},
	})
}

// change is the change of the first value against the second, as a share.
func change(newestFirst []float64) *float64 {
	if len(newestFirst) < 2 || newestFirst[1] == 0 {
		return nil
	}
	return ptr(math.Round((newestFirst[0]/newestFirst[1]-1)*1e4) / 1e4)
}

func trend(newestFirst []float64) []*float64 {
	out := make([]*float64, len(newestFirst))
	for i, v := range newestFirst {
		out[len(out)-1-i] = ptr(v)
	}
	return out
}

type ordersArgs struct {
	Limit int    `json:"limit,omitempty" jsonschema:"How many orders; 20 unless the user names a number" minimum:"1" maximum:"500"`
	Sort  string `json:"sort,omitempty" jsonschema:"amount for the largest orders, latest (the default) for the newest" enum:"latest,amount"`
}

// ordersBatch is how many rows are sent at once.
const ordersBatch = 100

func (d *Demo) listOrders() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "list_orders",
		Description: "List the latest or the largest orders as a table (sample data).",
		Title:       map[string]string{"": "Read orders", "zh": "读取订单"},
		Block:       &tool.BlockSpec{Type: "table", Source: "Sample data", Sources: map[string]string{"zh": "示例数据"}, Height: 420},
		Refreshable: true,
	}, d.runListOrders)
}

func (d *Demo) runListOrders(ctx context.Context, args ordersArgs, out *tool.Out) error {
	w := words(ctx)
	if args.Limit == 0 {
		args.Limit = 20
	}
	order, caption := "placed DESC, number DESC", w("The latest %d orders (sample data)", "最近 %d 个订单（示例数据）")
	if args.Sort == "amount" {
		order, caption = "amount DESC, number", w("The %d largest orders (sample data)", "金额最高的 %d 个订单（示例数据）")
	}
	t := d.ordersTable(w)
	t.Caption = fmt.Sprintf(caption, args.Limit)
	rows := d.readOrders(ctx, w, "true", order+" LIMIT ?", args.Limit)
	if args.Limit <= ordersBatch {
		for r, err := range rows {
			if err != nil {
				return err
			}
			t.Rows = append(t.Rows, r)
		}
		return out.Table(t)
	}
	h, err := out.Start("table", 1, block.Meta{Title: t.Caption})
	if err != nil || h == nil {
		return err
	}
	if err := patch(h, op{"add", "", t}); err != nil {
		return err
	}
	var next []op
	for r, err := range rows {
		if err != nil {
			return err
		}
		t.Rows = append(t.Rows, r)
		if next = append(next, op{"add", "/rows/-", r}); len(next) == ordersBatch {
			if err := patch(h, next...); err != nil {
				return err
			}
			next = next[:0]
		}
	}
	if len(next) > 0 {
		if err := patch(h, next...); err != nil {
			return err
		}
	}
	return finishBuilt(out, h, "table", t.Caption, t)
}

func statusName(s string, w func(en, zh string) string) string {
	switch s {
	case "delivered":
		return w("delivered", "已送达")
	case "shipped":
		return w("shipped", "已发货")
	case "paid":
		return w("paid", "已付款")
	case "cancelled":
		return w("cancelled", "已取消")
	}
	return s
}

// op is an operation of a JSON Patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

func patch(h tool.Handle, ops ...op) error {
	raw, err := json.Marshal(ops)
	if err != nil {
		return fmt.Errorf("encode patch: %w", err)
	}
	return h.Delta(raw)
}

// finishBuilt ends a block that deltas built, and tells the model what code
// computes from it: the payload itself is not sent again.
func finishBuilt(out *tool.Out, h tool.Handle, name, title string, payload any) error {
	raw, err := json.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s: %w", name, err)
	}
	if err := out.Finish(h, name, 1, tool.Finished{Meta: block.Meta{Title: title}}); err != nil {
		return err
	}
	for _, bt := range block.Builtins() {
		if bt.Name == name && bt.Summary != nil {
			out.Summary("%s", bt.Summary(raw))
		}
	}
	return nil
}

type errorsArgs struct {
	Minutes int `json:"minutes,omitempty" jsonschema:"How far to look back; 30 unless the user says otherwise" minimum:"1" maximum:"1440"`
}

func (d *Demo) serverErrors() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_server_errors",
		Description: "Show the requests of this very server by status over the last minutes, and the routes that failed with server errors. This is live data, not a sample.",
		Title:       map[string]string{"": "Read the request log", "zh": "读取请求日志"},
		Block:       &tool.BlockSpec{Type: "chart", Source: "Request log of this server", Sources: map[string]string{"zh": "本服务器的请求日志"}},
		Refreshable: true,
	}, d.runServerErrors)
}

func (d *Demo) runServerErrors(ctx context.Context, args errorsArgs, out *tool.Out) error {
	w := words(ctx)
	if args.Minutes == 0 {
		args.Minutes = 30
	}
	if err := d.requests.Flush(ctx); err != nil {
		return fmt.Errorf("write request log: %w", err)
	}
	// At most 60 bars, on whole minutes.
	step := time.Duration((args.Minutes+59)/60) * time.Minute
	bars := (args.Minutes + int(step/time.Minute) - 1) / int(step/time.Minute)
	end := time.Now().Truncate(time.Minute).Add(time.Minute)
	begin := end.Add(-time.Duration(bars) * step)
	counts := make([][3]int, bars)
	total, failed, refused := 0, 0, 0
	rows, err := d.logDB.QueryContext(ctx, `SELECT (at - ?1) / ?2, iif(status >= 500, 2, iif(status >= 400, 1, 0)) AS class, count(*)
		FROM http_requests WHERE at >= ?1 AND at < ?3 GROUP BY 1, 2`, begin.UnixMilli(), step.Milliseconds(), end.UnixMilli())
	if err != nil {
		return fmt.Errorf("read request log: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var bar, class, n int
		if err := rows.Scan(&bar, &class, &n); err != nil {
			return fmt.Errorf("read request log: %w", err)
		}
		counts[bar][class] = n
		total += n
		switch class {
		case 2:
			failed += n
		case 1:
			refused += n
		}
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read request log: %w", err)
	}
	data := make([]block.Row, bars)
	for i, c := range counts {
		at := begin.Add(time.Duration(i) * step).UTC().Format(time.RFC3339)
		data[i] = block.Row{"time": at, "ok": c[0], "refused": c[1], "failed": c[2]}
	}
	err = out.Chart(block.Chart{
		Type: block.ChartBar, Stack: block.StackNormal,
		Title:    fmt.Sprintf(w("Requests of the last %d minutes", "最近 %d 分钟的请求"), args.Minutes),
		Subtitle: fmt.Sprintf(w("%d requests, %d server errors", "%d 个请求，%d 个服务器错误"), total, failed),
		X:        &block.ChartX{Field: "time", Type: "time", Title: w("Time", "时间")},
		Series: []block.ChartSeries{
			{Field: "failed", Name: w("Server errors (5xx)", "服务器错误 (5xx)"), Color: "bad"},
			{Field: "refused", Name: w("Refused (4xx)", "被拒绝 (4xx)"), Color: "warn"},
			{Field: "ok", Name: w("Answered", "成功"), Color: "good"},
		},
		Data: data,
	})
	if err != nil {
		return err
	}
	out.Remark("minutes: %d\nrequests: %d\nserver errors: %d\nrefused: %d", args.Minutes, total, failed, refused)
	if failed == 0 {
		return nil
	}
	return d.showFailedRoutes(ctx, begin, end, out)
}

func (d *Demo) showFailedRoutes(ctx context.Context, begin, end time.Time, out *tool.Out) error {
	w := words(ctx)
	rows, err := d.logDB.QueryContext(ctx, `SELECT method, route, status, count(*), max(at), avg(ms) FROM http_requests
		WHERE at >= ? AND at < ? AND status >= 500 GROUP BY 1, 2, 3 ORDER BY 4 DESC, 5 DESC LIMIT 50`, begin.UnixMilli(), end.UnixMilli())
	if err != nil {
		return fmt.Errorf("read request log: %w", err)
	}
	defer rows.Close()
	t := block.Table{
		Columns: []block.TableColumn{
			{Field: "route", Label: w("Route", "路由")},
			{Field: "status", Label: w("Status", "状态码"), Align: "end"},
			{Field: "count", Label: w("Count", "次数"), Type: "number"},
			{Field: "last", Label: w("Last", "最近一次"), Type: "time", Format: block.FormatDateTime},
			{Field: "ms", Label: w("Mean time", "平均耗时"), Type: "number", Unit: "ms", Decimals: ptr(1)},
		},
		Caption: w("Routes that failed", "出错的路由"),
	}
	for rows.Next() {
		var method, route string
		var status, count int
		var last int64
		var ms float64
		if err := rows.Scan(&method, &route, &status, &count, &last, &ms); err != nil {
			return fmt.Errorf("read request log: %w", err)
		}
		t.Rows = append(t.Rows, block.Row{
			"route": strings.TrimSpace(method + " " + route), "status": fmt.Sprint(status), "count": count,
			"last": time.UnixMilli(last).UTC().Format(time.RFC3339), "ms": math.Round(ms*10) / 10,
		})
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read request log: %w", err)
	}
	return out.Table(t)
}

func (d *Demo) brokenSource() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "broken_source",
		Description: "Read from a sample source that fails at the first try and answers at the second. It shows how a failed block is tried again.",
		Title:       map[string]string{"": "Read an unreliable source", "zh": "读取不稳定的数据源"},
		Block:       &tool.BlockSpec{Type: "metric", Source: "Sample data", Sources: map[string]string{"zh": "示例数据"}},
	}, d.runBrokenSource)
}

func (d *Demo) runBrokenSource(ctx context.Context, _ struct{}, out *tool.Out) error {
	w := words(ctx)
	again, err := d.triedBefore(ctx, out.BlockID())
	if err != nil {
		return err
	}
	if !again {
		return &tool.Error{
			Code:      block.CodeDataFetchFailed,
			Message:   w("The sample source did not answer. It does so once on purpose; try again.", "示例数据源没有响应。这是有意为之的一次失败，请重试。"),
			Retryable: true,
		}
	}
	return out.Metric(block.Metric{
		Title: w("Unreliable source (sample data)", "不稳定的数据源（示例数据）"),
		Items: []block.MetricItem{
			{Label: w("Answered at try", "成功时的尝试次数"), Value: 2},
			{Label: w("Sample reading", "示例读数"), Value: 42, Unit: "°C"},
		},
	})
}

// triedBefore notes the try of a block and says whether it is not the first. A
// client that was not shown a block has no id to go by: its tries fail and
// succeed in turn.
func (d *Demo) triedBefore(ctx context.Context, blockID string) (bool, error) {
	c := tool.CallerFrom(ctx)
	key := blockID
	if key == "" {
		key = c.Tenant + "/" + c.User
	}
	tx, err := d.db.BeginTx(ctx, nil)
	if err != nil {
		return false, fmt.Errorf("note try: %w", err)
	}
	defer tx.Rollback()
	var at int64
	err = tx.QueryRowContext(ctx, "SELECT at FROM broken_source WHERE key = ?", key).Scan(&at)
	again := err == nil
	switch {
	case errors.Is(err, sql.ErrNoRows):
		_, err = tx.ExecContext(ctx, "INSERT INTO broken_source (key, at) VALUES (?, ?)", key, time.Now().UnixMilli())
	case err == nil && blockID == "":
		_, err = tx.ExecContext(ctx, "DELETE FROM broken_source WHERE key = ?", key)
	}
	if err == nil {
		_, err = tx.ExecContext(ctx, "DELETE FROM broken_source WHERE at < ?", time.Now().Add(-7*24*time.Hour).UnixMilli())
	}
	if err == nil {
		err = tx.Commit()
	}
	if err != nil {
		return false, fmt.Errorf("note try: %w", err)
	}
	return again, nil
}

type slowArgs struct {
	Seconds int `json:"seconds,omitempty" jsonschema:"How long it takes; 10 unless the user says otherwise" minimum:"1" maximum:"30"`
}

func slowReport() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "slow_report",
		Description: "Make a sample report that takes some seconds and shows its progress. It can be stopped.",
		Title:       map[string]string{"": "Make a report", "zh": "生成报告"},
		Block:       &tool.BlockSpec{Type: "table", Source: "Sample data", Sources: map[string]string{"zh": "示例数据"}, Height: 260},
		Timeout:     45 * time.Second,
	}, runSlowReport)
}

func runSlowReport(ctx context.Context, args slowArgs, out *tool.Out) error {
	w := words(ctx)
	if args.Seconds == 0 {
		args.Seconds = 10
	}
	waits, runs, ends := w("waiting", "等待中"), w("running", "进行中"), w("done", "完成")
	t := block.Table{
		Columns: []block.TableColumn{
			{Field: "step", Label: w("Step", "步骤")},
			{Field: "progress", Label: w("Progress", "进度"), Type: "number", Format: block.FormatPercent, Decimals: ptr(0)},
			{Field: "state", Label: w("State", "状态")},
		},
		Caption: fmt.Sprintf(w("Sample report, %d seconds", "示例报告，%d 秒"), args.Seconds),
	}
	for _, name := range []string{
		w("Read the sample orders", "读取示例订单"), w("Check them", "检查数据"), w("Sum them up", "汇总"),
		w("Compare with the quarter before", "与上一季度比较"), w("Write the report", "撰写报告"),
	} {
		t.Rows = append(t.Rows, block.Row{"step": name, "progress": 0.0, "state": waits})
	}
	h, err := out.Start("table", 1, block.Meta{Title: t.Caption})
	if err != nil || h == nil {
		return err
	}
	if err := patch(h, op{"add", "", t}); err != nil {
		return err
	}
	// Four looks a second at most: more is not progress but noise.
	ticks := max(args.Seconds*4/len(t.Rows), 1)
	pause := time.Duration(args.Seconds) * time.Second / time.Duration(ticks*len(t.Rows))
	tick := time.NewTicker(pause)
	defer tick.Stop()
	for i, row := range t.Rows {
		for n := 1; n <= ticks; n++ {
			select {
			case <-ctx.Done():
				return ctx.Err()
			case <-tick.C:
			}
			row["progress"], row["state"] = float64(n)/float64(ticks), runs
			if n == ticks {
				row["state"] = ends
			}
			if err := patch(h, op{"replace", fmt.Sprintf("/rows/%d", i), row}); err != nil {
				return err
			}
		}
	}
	return finishBuilt(out, h, "table", t.Caption, t)
}
