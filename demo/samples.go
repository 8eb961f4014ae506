package demo

import (
	"context"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

func (d *Demo) orderFlow() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_order_flow",
		Description: "Show which products the regions order, as flows from region to product (sample data).",
		Title:       map[string]string{"": "Add up the flows", "zh": "汇总订单流向"},
		Block:       sampleBlock("echarts_raw", 420),
		Refreshable: true,
	}, d.runOrderFlow)
}

func (d *Demo) runOrderFlow(ctx context.Context, _ struct{}, out *tool.Out) error {
	w := words(ctx)
	rows, err := d.db.QueryContext(ctx, `SELECT `+w("region", "region_zh")+`, product, count(*) FROM orders
		JOIN (SELECT DISTINCT city, region, region_zh FROM sales) USING (city) GROUP BY region, product ORDER BY region, product`)
	if err != nil {
		return fmt.Errorf("read flows: %w", err)
	}
	defer rows.Close()
	type object = map[string]any
	var nodes, links []object
	known := map[string]bool{}
	node := func(name string) {
		if !known[name] {
			known[name] = true
			nodes = append(nodes, object{"name": name})
		}
	}
	total := 0
	for rows.Next() {
		var region, product string
		var n int
		if err := rows.Scan(&region, &product, &n); err != nil {
			return fmt.Errorf("read flow: %w", err)
		}
		node(region)
		node(product)
		links = append(links, object{"source": region, "target": product, "value": n})
		total += n
	}
	if err := rows.Err(); err != nil {
		return fmt.Errorf("read flows: %w", err)
	}
	err = out.ECharts(block.ECharts{
		Title: w("Orders by region and product (sample data)", "各区域订购的商品（示例数据）"), Height: 420,
		Option: object{
			"tooltip": object{"trigger": "item"},
			"series": []object{{
				"type": "sankey", "name": w("Orders", "订单"), "data": nodes, "links": links,
				"emphasis": object{"focus": "adjacency"}, "lineStyle": object{"color": "gradient", "opacity": 0.35},
			}},
		},
	})
	if err != nil {
		return err
	}
	out.Remark("orders: %d\nflows: %d", total, len(links))
	return nil
}

type rolloutArgs struct {
	Fail bool `json:"fail,omitempty" jsonschema:"True only when the user wants to see a rollout that fails"`
}

func (d *Demo) rollout() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "roll_out",
		Description: "Roll out a sample release step by step and show how far it is. Nothing real is changed.",
		Title:       map[string]string{"": "Roll out the sample release", "zh": "发布示例版本"},
		Block:       sampleBlock("steps", 220),
		Timeout:     30 * time.Second,
	}, d.runRollout)
}

func (d *Demo) runRollout(ctx context.Context, args rolloutArgs, out *tool.Out) error {
	w := words(ctx)
	s := block.Steps{Title: w("Rollout of a sample release", "示例版本发布"), Items: []block.StepItem{
		{ID: "build", Label: w("Build", "构建"), Status: "pending"},
		{ID: "test", Label: w("Run the tests", "运行测试"), Status: "pending"},
		{ID: "tenth", Label: w("Roll out to 10 % of the machines", "灰度 10% 的机器"), Status: "pending"},
		{ID: "watch", Label: w("Watch the errors", "观察错误率"), Status: "pending"},
		{ID: "all", Label: w("Roll out to all machines", "全量发布"), Status: "pending"},
	}}
	h, err := out.Start("steps", 1, block.Meta{Title: s.Title})
	if err != nil || h == nil {
		return err
	}
	if err := patch(h, op{"add", "", s}); err != nil {
		return err
	}
	set := func(i int, status, detail string) error {
		s.Items[i].Status, s.Items[i].Detail = status, detail
		return patch(h, op{"replace", fmt.Sprintf("/items/%d", i), s.Items[i]})
	}
	failed := false
	for i := range s.Items {
		if failed {
			if err := set(i, "skipped", ""); err != nil {
				return err
			}
			continue
		}
		if err := set(i, "running", ""); err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(d.stepTime):
		}
		status, detail := "done", ""
		if failed = args.Fail && s.Items[i].ID == "watch"; failed {
			status, detail = "error", w("Too many sample errors, on purpose.", "示例错误过多，这是有意为之。")
		}
		if err := set(i, status, detail); err != nil {
			return err
		}
	}
	return finishBuilt(out, h, "steps", s.Title, s)
}
