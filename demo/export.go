package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// The range of days that the sample orders are of.
const firstOrder, lastOrder = "2026-07-01", "2026-09-30"

// regions are those of the sample, in English and Chinese.
var regions = [][2]string{{"East", "华东"}, {"South", "华南"}, {"North", "华北"}, {"West", "西南"}}

type exportFormArgs struct {
	From     string `json:"from,omitempty" jsonschema:"First day, such as 2026-07-01, if the user named one" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	To       string `json:"to,omitempty" jsonschema:"Last day, such as 2026-09-30, if the user named one" pattern:"^[0-9]{4}-[0-9]{2}-[0-9]{2}$"`
	Region   string `json:"region,omitempty" jsonschema:"The one region, if the user named one" enum:"East,South,North,West"`
	Format   string `json:"format,omitempty" jsonschema:"The kind of file, if the user named one" enum:"xlsx,csv"`
	Reason   string `json:"reason,omitempty" jsonschema:"What the user needs the details for, in their own words, if they said so"`
	FailOnce bool   `json:"failOnce,omitempty" jsonschema:"True only when the user wants to see an export that fails at the first try"`
}

func (d *Demo) exportForm() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_export_form",
		Description: "Show the form by which the user exports the order details to a file (sample data). Fill in what the user has said already; the user completes and submits it.",
		Title:       map[string]string{"": "Prepare the export", "zh": "准备导出"},
		Block:       sampleBlock("form", 420),
	}, d.runExportForm)
}

func (d *Demo) runExportForm(ctx context.Context, args exportFormArgs, out *tool.Out) error {
	w := words(ctx)
	type object = map[string]any
	choice := func(value, en, zh string) object { return object{"const": value, "title": w(en, zh)} }
	var regionChoices []object
	for _, r := range regions {
		regionChoices = append(regionChoices, choice(r[0], r[0], r[1]))
	}
	schema, err := json.Marshal(object{
		"type": "object", "required": []string{"range", "scope", "format", "reason"},
		"properties": object{
			"range": object{
				"type": "array", "title": w("Days of the orders", "下单日期"), "minItems": 2, "maxItems": 2,
				"items": object{"type": "string", "format": "date"},
			},
			"scope": object{"title": w("Which orders", "范围"), "type": "string", "default": "all", "oneOf": []object{
				choice("all", "All regions", "全部区域"), choice("region", "One region", "单个区域"),
			}},
			"format": object{"title": w("File", "文件格式"), "type": "string", "default": "xlsx", "oneOf": []object{
				choice("xlsx", "Workbook (XLSX)", "Excel 工作簿（XLSX）"), choice("csv", "Text (CSV)", "文本（CSV）"),
			}},
			"reason": object{"title": w("Reason", "用途"), "type": "string", "minLength": 2, "maxLength": 200},
		},
		// The region is asked for when it is wanted.
		"if": object{"properties": object{"scope": object{"const": "region"}}, "required": []string{"scope"}},
		"then": object{
			"properties": object{"region": object{"title": w("Region", "区域"), "type": "string", "oneOf": regionChoices}},
			"required":   []string{"region"},
		},
	})
	if err != nil {
		return fmt.Errorf("encode form: %w", err)
	}
	ui, err := json.Marshal(object{
		"ui:order": []string{"range", "scope", "region", "format", "reason"},
		"range":    object{"ui:widget": "dateRange"},
		"scope":    object{"ui:widget": "radio"},
		"format":   object{"ui:widget": "radio"},
		"reason": object{"ui:widget": "textarea", "ui:placeholder": w("For the quarterly review", "例如：季度复盘"),
			"ui:help": w("Kept with the export.", "会随导出记录一起保存。")},
	})
	if err != nil {
		return fmt.Errorf("encode form: %w", err)
	}
	f := block.Form{
		Title:       w("Export the order details", "导出订单明细"),
		Description: w("Sample orders of July to September 2026. You are asked once more before it starts.", "2026 年 7 月至 9 月的示例订单。提交前会再确认一次。"),
		Schema:      schema, UISchema: ui, SubmitLabel: w("Export", "导出"),
		Defaults: map[string]any{
			"range": []string{cmp.Or(args.From, firstOrder), cmp.Or(args.To, lastOrder)}, "scope": "all", "format": cmp.Or(args.Format, "xlsx"),
		},
	}
	if args.Region != "" {
		f.Defaults["scope"], f.Defaults["region"] = "region", args.Region
	}
	if args.Reason != "" {
		f.Defaults["reason"] = args.Reason
	}
	submit := block.Action{ID: "submit", Label: f.SubmitLabel, Kind: block.ActionAPI, Action: "export_orders", Style: "primary"}
	if args.FailOnce {
		submit.Params = map[string]json.RawMessage{"failOnce": json.RawMessage("true")}
	}
	out.Actions(submit)
	return out.Form(f)
}

func (d *Demo) exportOrders() action.Def {
	return action.Def{
		Name:       "export_orders",
		Label:      bilingual("Export", "导出"),
		Effect:     action.Write,
		Blocks:     []string{"form"},
		Confirm:    action.Confirm{Level: action.LevelDialog, Text: bilingual("Export the order details as filled in?", "确认按所填内容导出订单明细？")},
		Background: true,
		// The same orders make the same file: nothing outside is changed.
		Idempotent: true,
		PerMinute:  20,
		Timeout:    time.Minute,
		Feedback:   action.Feedback{Success: bilingual("The export is ready.", "导出已完成。"), Failure: bilingual("The export failed. You may submit it again.", "导出失败，可以再次提交。")},
		Run:        d.runExport,
		Lookup: func(context.Context, action.Call) (bool, action.Result, error) {
			return false, action.Result{}, nil // a file that was cut off was never there
		},
	}
}

type exportRequest struct {
	Range  [2]string `json:"range"`
	Scope  string    `json:"scope"`
	Region string    `json:"region"`
	Format string    `json:"format"`
	Reason string    `json:"reason"`
}

func (d *Demo) runExport(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
	w := words(ctx)
	var req exportRequest
	if err := json.Unmarshal(c.Payload, &req); err != nil {
		return action.Result{}, &tool.Error{Code: block.CodeSchemaInvalid, Message: w("The values do not fit.", "填写的内容不符合要求。"), Err: err}
	}
	if string(c.Params["failOnce"]) == "true" {
		again, err := d.triedBefore(ctx, c.Block.ID)
		if err != nil {
			return action.Result{}, err
		}
		if !again {
			return action.Result{}, &tool.Error{
				Code:      block.CodeDataFetchFailed,
				Message:   w("The sample source broke off. It does so once on purpose; submit the form again.", "示例数据源中断了。这是有意为之的一次失败，请再次提交。"),
				Retryable: true,
			}
		}
	}
	// Until the file is whole there is nothing: what is stopped was not done.
	stopped := func(err error) error {
		if ctx.Err() == nil {
			return err
		}
		return &tool.Error{Code: block.CodeCancelled, Message: w("The export was stopped. You may submit it again.", "导出已停止，可以再次提交。"), Retryable: true, Err: err}
	}
	where, args := req.where()
	var orders []block.Row
	for r, err := range d.readOrders(ctx, w, where, "placed, number", args...) {
		if err != nil {
			return action.Result{}, stopped(err)
		}
		orders = append(orders, r)
	}
	total := len(orders)
	if total == 0 {
		return action.Result{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: w("There are no sample orders of these days.", "所选日期内没有示例订单。")}
	}
	t := d.ordersTable(w)
	file := out.File("sample-orders-" + req.Range[0] + "-" + req.Range[1]).
		Title(fmt.Sprintf(w("Order details, %s to %s (sample data)", "订单明细，%s 至 %s（示例数据）"), req.Range[0], req.Range[1]))
	table := file.Table(t.Columns, slowly(ctx, orders, d.exportTime), total)
	var err error
	if req.Format == "csv" {
		err = table.CSV()
	} else {
		err = table.XLSX()
	}
	if err != nil {
		return action.Result{}, stopped(err)
	}
	value := map[string]any{"rows": total, "format": req.Format}
	res := action.Result{Value: value, Text: fmt.Sprintf(w("%d orders were exported.", "已导出 %d 条订单。"), total)}
	for _, m := range out.Result().Made {
		var f block.File
		if json.Unmarshal(m.Payload, &f) == nil && f.AssetID != "" {
			value["assetId"], value["name"] = f.AssetID, f.Name
		}
	}
	return res, nil
}

// where is the condition of the orders that are asked for.
func (r exportRequest) where() (string, []any) {
	where, args := "date(placed) BETWEEN ? AND ?", []any{r.Range[0], r.Range[1]}
	if r.Scope == "region" {
		where += " AND city IN (SELECT city FROM sales WHERE region = ?)"
		args = append(args, r.Region)
	}
	return where, args
}

// slowly hands rows on at the pace of a source that takes some time for all.
func slowly(ctx context.Context, rows []block.Row, whole time.Duration) iter.Seq2[block.Row, error] {
	const pause = 50 * time.Millisecond
	each := max(len(rows)/max(int(whole/pause), 1), 1)
	return func(yield func(block.Row, error) bool) {
		for i, r := range rows {
			if i%each == each-1 {
				select {
				case <-ctx.Done():
					yield(nil, context.Cause(ctx))
					return
				case <-time.After(pause):
				}
			}
			if !yield(r, nil) {
				return
			}
		}
	}
}

// ordersTable is the heading of a table of orders.
func (d *Demo) ordersTable(w func(en, zh string) string) block.Table {
	return block.Table{Columns: []block.TableColumn{
		{Field: "number", Label: w("Order", "订单号"), Width: 130},
		{Field: "placed", Label: w("Placed", "下单日期"), Type: "time", Format: block.FormatDate},
		{Field: "customer", Label: w("Customer", "客户")},
		{Field: "city", Label: w("City", "城市")},
		{Field: "product", Label: w("Product", "商品")},
		{Field: "quantity", Label: w("Quantity", "数量"), Type: "number"},
		{Field: "amount", Label: w("Amount", "金额"), Type: "number", Format: block.FormatCurrency, Currency: "CNY"},
		{Field: "status", Label: w("Status", "状态")},
	}}
}

// readOrders reads the orders that meet a condition, which never holds what
// somebody wrote.
func (d *Demo) readOrders(ctx context.Context, w func(en, zh string) string, where, order string, args ...any) iter.Seq2[block.Row, error] {
	return func(yield func(block.Row, error) bool) {
		rows, err := d.db.QueryContext(ctx, `SELECT number, strftime('%Y-%m-%d', placed), customer, city, product, quantity, amount, status
			FROM orders WHERE `+where+` ORDER BY `+order, args...)
		if err != nil {
			yield(nil, fmt.Errorf("read orders: %w", err))
			return
		}
		defer rows.Close()
		for rows.Next() {
			var number, placed, customer, city, product, status string
			var quantity int
			var amount float64
			if err := rows.Scan(&number, &placed, &customer, &city, &product, &quantity, &amount, &status); err != nil {
				yield(nil, fmt.Errorf("read order: %w", err))
				return
			}
			r := block.Row{
				"number": number, "placed": placed, "customer": customer, "city": city, "product": product,
				"quantity": quantity, "amount": amount, "status": statusName(status, w),
			}
			if !yield(r, nil) {
				return
			}
		}
		if err := rows.Err(); err != nil {
			yield(nil, fmt.Errorf("read orders: %w", err))
		}
	}
}
