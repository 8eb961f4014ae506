package demo

import (
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

type chartTypesArgs struct {
	Group string `json:"group" jsonschema:"compare: bars, lines, areas, combined axes and the like; distribute: shares, spread and flow" enum:"compare,distribute"`
}

func (d *Demo) chartTypes() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_chart_types",
		Description: "Show the kinds of charts that there are, one group at a time, each with sample data that suits it.",
		Title:       map[string]string{"": "Draw the charts", "zh": "绘制图表"},
		Block:       sampleBlock("chart", 320),
		Refreshable: true,
	}, d.runChartTypes)
}

func (d *Demo) runChartTypes(ctx context.Context, args chartTypesArgs, out *tool.Out) error {
	w := words(ctx)
	s, err := d.readSample(ctx, w)
	if err != nil {
		return err
	}
	charts := s.compare(w)
	if args.Group == "distribute" {
		charts = s.distribute(w)
	}
	var kinds []string
	for _, c := range charts {
		c.Subtitle = w("Sample data", "示例数据")
		if err := out.Chart(c); err != nil {
			return err
		}
		kinds = append(kinds, string(c.Type))
	}
	out.Summary("charts: %d\nkinds: %s", len(charts), strings.Join(kinds, ", "))
	return nil
}

// sample is what the kinds of charts are drawn from.
type sample struct {
	quarters []string                  // in their order
	regions  []string                  // the best first
	sales    map[string]map[string]int // by quarter and region
	cities   []citySales               // of the last quarter
	orders   []sampleOrder             // the oldest first
	counts   map[string]int            // orders by quarter
}

type sampleOrder struct {
	day, city, product, status string
	quantity                   int
	amount                     float64
}

func (d *Demo) readSample(ctx context.Context, w func(en, zh string) string) (*sample, error) {
	s := &sample{sales: map[string]map[string]int{}, counts: map[string]int{}}
	rows, err := d.db.QueryContext(ctx, `SELECT quarter, `+w("region", "region_zh")+`, sum(amount), sum(orders) FROM sales
		GROUP BY quarter, region ORDER BY quarter`)
	if err != nil {
		return nil, fmt.Errorf("read sales: %w", err)
	}
	defer rows.Close()
	for rows.Next() {
		var quarter, region string
		var amount, orders int
		if err := rows.Scan(&quarter, &region, &amount, &orders); err != nil {
			return nil, fmt.Errorf("read sales: %w", err)
		}
		if s.sales[quarter] == nil {
			s.sales[quarter] = map[string]int{}
			s.quarters = append(s.quarters, quarter)
		}
		s.sales[quarter][region] = amount
		s.counts[quarter] += orders
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read sales: %w", err)
	}
	if len(s.quarters) < 8 {
		return nil, &tool.Error{Code: block.CodeDataFetchFailed, Message: w("The sample data is not there.", "示例数据不存在。")}
	}
	last := s.sales[s.last()]
	for r := range last {
		s.regions = append(s.regions, r)
	}
	slices.SortFunc(s.regions, func(a, b string) int { return last[b] - last[a] })
	if s.cities, err = d.citySales(ctx, s.last()); err != nil {
		return nil, err
	}
	for i, c := range s.cities {
		s.cities[i].region, s.cities[i].city = w(c.region, c.regionZh), w(c.city, c.cityZh)
	}
	orders, err := d.db.QueryContext(ctx, `SELECT strftime('%Y-%m-%d', placed), city, product, status, quantity, amount FROM orders ORDER BY placed, number`)
	if err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	defer orders.Close()
	for orders.Next() {
		var o sampleOrder
		if err := orders.Scan(&o.day, &o.city, &o.product, &o.status, &o.quantity, &o.amount); err != nil {
			return nil, fmt.Errorf("read order: %w", err)
		}
		s.orders = append(s.orders, o)
	}
	if err := orders.Err(); err != nil {
		return nil, fmt.Errorf("read orders: %w", err)
	}
	return s, nil
}

func (s *sample) last() string { return s.quarters[len(s.quarters)-1] }

// total is what all regions sold in a quarter.
func (s *sample) total(quarter string) (n int) {
	for _, amount := range s.sales[quarter] {
		n += amount
	}
	return n
}

// byQuarter has one row a quarter and one series a region.
func (s *sample) byQuarter() (rows []block.Row, series []block.ChartSeries) {
	for i, r := range s.regions {
		series = append(series, block.ChartSeries{Field: fmt.Sprintf("r%d", i+1), Name: r})
	}
	for _, q := range s.quarters {
		row := block.Row{"quarter": q}
		for i, r := range s.regions {
			row[fmt.Sprintf("r%d", i+1)] = s.sales[q][r]
		}
		rows = append(rows, row)
	}
	return rows, series
}

// compare are the charts that compare values, along time or not.
func (s *sample) compare(w func(en, zh string) string) []block.Chart {
	unit, amount := w("10k CNY", "万元"), w("Sales", "销售额")
	rows, series := s.byQuarter()
	recent := rows[len(rows)-4:]
	quarter := func() *block.ChartX { return &block.ChartX{Field: "quarter", Title: w("Quarter", "季度")} }
	target := float64(s.total(s.last()))/float64(len(s.regions)) + 0.5

	combo := make([]block.Row, len(s.quarters))
	steps := []block.Row{{"quarter": s.quarters[len(s.quarters)-4], "change": s.total(s.quarters[len(s.quarters)-4])}}
	for i, q := range s.quarters {
		combo[i] = block.Row{"quarter": q, "sales": s.total(q), "orders": s.counts[q]}
		if i > len(s.quarters)-4 {
			steps = append(steps, block.Row{"quarter": q, "change": s.total(q) - s.total(s.quarters[i-1])})
		}
	}
	byRegion := make([]block.Row, len(s.regions))
	for i, r := range s.regions {
		byRegion[i] = block.Row{"region": r, "now": s.sales[s.last()][r], "before": s.sales[s.quarters[len(s.quarters)-5]][r]}
	}
	return []block.Chart{
		{
			Type: block.ChartBar, Title: w("Bars with a target line", "柱状图与目标线"), Unit: unit, X: &block.ChartX{Field: "region", Title: w("Region", "区域")},
			Series: []block.ChartSeries{{Field: "now", Name: amount}}, Data: byRegion,
			Refs: []block.ChartRef{{Axis: "y", Value: math.Floor(target), Label: w("Target (sample)", "目标（示例）")}},
		},
		{Type: block.ChartBar, Title: w("Stacked bars in percent", "百分比堆叠柱状图"), Stack: block.StackPercent, X: quarter(), Series: series, Data: recent},
		{Type: block.ChartLine, Title: w("Lines", "折线图"), Unit: unit, X: quarter(), Series: series, Data: rows, Zoom: true},
		{Type: block.ChartArea, Title: w("Stacked areas", "堆叠面积图"), Unit: unit, Stack: block.StackNormal, X: quarter(), Series: series, Data: rows},
		{
			Type: block.ChartCombo, Title: w("Two axes", "双轴组合图"), X: quarter(),
			Y: &block.ChartAxis{Title: amount, Unit: unit}, Y2: &block.ChartAxis{Title: w("Orders", "订单数")},
			Series: []block.ChartSeries{
				{Field: "sales", Name: amount, Type: "bar", Axis: "y", Unit: unit},
				{Field: "orders", Name: w("Orders", "订单数"), Type: "line", Axis: "y2"},
			},
			Data: combo,
		},
		{
			Type: block.ChartWaterfall, Title: w("Changes in steps", "瀑布图"), Unit: unit, X: quarter(),
			Series: []block.ChartSeries{{Field: "change", Name: w("Change", "变化")}}, Data: steps,
		},
		{
			Type: block.ChartRadar, Title: w("Radar", "雷达图"), Unit: unit, X: &block.ChartX{Field: "region"},
			Series: []block.ChartSeries{{Field: "now", Name: s.last()}, {Field: "before", Name: s.quarters[len(s.quarters)-5], Dashed: true}}, Data: byRegion,
		},
		{
			Type: block.ChartGauge, Title: w("Gauge", "仪表盘"), ValueFormat: block.FormatPercent, Format: &block.ChartFormat{Decimals: ptr(0)},
			Y:      &block.ChartAxis{Min: ptr(0.0), Max: ptr(1.5)},
			Series: []block.ChartSeries{{Field: "share", Name: w("Sample target met", "示例目标完成率")}},
			Data:   []block.Row{{"share": math.Round(float64(s.total(s.last()))/800*100) / 100}},
		},
		s.candles(w),
	}
}

// candles are the amounts of orders that follow each other.
func (s *sample) candles(w func(en, zh string) string) block.Chart {
	c := block.Chart{
		Type: block.ChartCandlestick, Title: w("Candles: the first, highest, lowest and last of 40 orders", "K 线图：每 40 单的首单、最高、最低与末单金额"),
		ValueFormat: block.FormatCurrency, Format: &block.ChartFormat{Currency: "CNY", Decimals: ptr(0)},
		X:      &block.ChartX{Field: "from", Type: "time", TimeZone: "UTC", Title: w("First day", "起始日")},
		Encode: &block.ChartEncode{Open: "open", High: "high", Low: "low", Close: "close"},
	}
	const perCandle = 40
	for part := range slices.Chunk(s.orders, perCandle) {
		row := block.Row{"from": part[0].day, "open": part[0].amount, "close": part[len(part)-1].amount}
		high, low := part[0].amount, part[0].amount
		for _, o := range part {
			high, low = max(high, o.amount), min(low, o.amount)
		}
		row["high"], row["low"] = high, low
		c.Data = append(c.Data, row)
	}
	return c
}

// distribute are the charts of shares, spread and flow.
func (s *sample) distribute(w func(en, zh string) string) []block.Chart {
	unit, amount := w("10k CNY", "万元"), w("Sales", "销售额")
	var regions, heat, tree, bubbles []block.Row
	for _, r := range s.regions {
		regions = append(regions, block.Row{"region": r, "amount": s.sales[s.last()][r]})
		for _, q := range s.quarters[len(s.quarters)-6:] {
			heat = append(heat, block.Row{"quarter": q, "region": r, "amount": s.sales[q][r]})
		}
		tree = append(tree, block.Row{"name": r, "parent": nil, "amount": nil})
	}
	for _, c := range s.cities {
		tree = append(tree, block.Row{"name": c.city, "parent": c.region, "amount": c.amount})
		bubbles = append(bubbles, block.Row{
			"orders": c.orders, "amount": c.amount, "each": math.Round(float64(c.amount) * 1e4 / float64(c.orders)), "region": c.region, "city": c.city,
		})
	}
	status := map[string]int{}
	var scatter []block.Row
	for i, o := range s.orders {
		status[o.status]++
		if i%4 == 0 {
			scatter = append(scatter, block.Row{"quantity": o.quantity, "amount": o.amount, "product": o.product})
		}
	}
	// What is delivered was shipped, and what was shipped was paid.
	paid := status["paid"] + status["shipped"] + status["delivered"]
	funnel := []block.Row{
		{"stage": w("placed", "下单"), "orders": len(s.orders)}, {"stage": w("paid", "付款"), "orders": paid},
		{"stage": w("shipped", "发货"), "orders": paid - status["paid"]}, {"stage": w("delivered", "送达"), "orders": status["delivered"]},
	}
	region := func() *block.ChartX { return &block.ChartX{Field: "region", Title: w("Region", "区域")} }
	one := []block.ChartSeries{{Field: "amount", Name: amount}}
	money := &block.ChartFormat{Currency: "CNY", Decimals: ptr(0)}
	return []block.Chart{
		{Type: block.ChartPie, Title: w("Pie", "饼图"), Unit: unit, X: region(), Series: one, Data: regions},
		{Type: block.ChartDonut, Title: w("Donut", "环形图"), Unit: unit, X: region(), Series: one, Data: regions},
		{Type: block.ChartFunnel, Title: w("Funnel of the sample orders", "示例订单漏斗"), X: &block.ChartX{Field: "stage"}, Series: []block.ChartSeries{{Field: "orders", Name: w("Orders", "订单数")}}, Data: funnel},
		{
			Type: block.ChartTreemap, Title: w("Regions and their cities", "区域与城市"), Unit: unit, X: &block.ChartX{Field: "name"},
			Encode: &block.ChartEncode{Parent: "parent"}, Series: one, Data: tree,
		},
		{
			Type: block.ChartHeatmap, Title: w("Heat map", "热力图"), Unit: unit, X: &block.ChartX{Field: "quarter", Title: w("Quarter", "季度")},
			Encode: &block.ChartEncode{Y: "region"}, Series: one, Data: heat,
		},
		{
			Type: block.ChartScatter, Title: w("Points", "散点图"), ValueFormat: block.FormatCurrency, Format: money, X: &block.ChartX{Field: "quantity", Type: "number", Title: w("Pieces", "件数")},
			Encode: &block.ChartEncode{Color: "product"}, Series: []block.ChartSeries{{Field: "amount", Name: w("Amount", "金额")}}, Data: scatter,
		},
		{
			Type: block.ChartBubble, Title: w("Bubbles: the size is the mean order", "气泡图：大小为平均订单额"), Unit: unit, X: &block.ChartX{Field: "orders", Type: "number", Title: w("Orders", "订单数")},
			Encode: &block.ChartEncode{Size: "each", Color: "region"}, Series: one, Data: bubbles,
		},
		s.spread(w),
		s.boxes(w, money),
	}
}

// spread counts the orders by their amount.
func (s *sample) spread(w func(en, zh string) string) block.Chart {
	const width = 2000
	counts := map[int]int{}
	most := 0
	for _, o := range s.orders {
		b := int(o.amount) / width
		counts[b]++
		most = max(most, b)
	}
	c := block.Chart{
		Type: block.ChartHistogram, Title: w("Spread of the amounts", "订单金额分布"), X: &block.ChartX{Field: "amount", Title: w("Amount (CNY)", "金额（元）")},
		Series: []block.ChartSeries{{Field: "orders", Name: w("Orders", "订单数")}},
	}
	for b := range most + 1 {
		c.Data = append(c.Data, block.Row{"amount": fmt.Sprintf("%d–%d", b*width, (b+1)*width), "orders": counts[b]})
	}
	return c
}

// boxes show the quartiles of the amounts of every product.
func (s *sample) boxes(w func(en, zh string) string, money *block.ChartFormat) block.Chart {
	amounts := map[string][]float64{}
	for _, o := range s.orders {
		amounts[o.product] = append(amounts[o.product], o.amount)
	}
	c := block.Chart{
		Type: block.ChartBoxplot, Title: w("Quartiles of the amounts by product", "各商品订单金额的四分位"), ValueFormat: block.FormatCurrency, Format: money,
		X:      &block.ChartX{Field: "product", Title: w("Product", "商品")},
		Encode: &block.ChartEncode{Min: "min", Q1: "q1", Median: "median", Q3: "q3", Max: "max"},
	}
	for _, product := range slices.Sorted(maps.Keys(amounts)) {
		list := amounts[product]
		slices.Sort(list)
		at := func(q float64) float64 { return list[int(math.Round(q*float64(len(list)-1)))] }
		c.Data = append(c.Data, block.Row{"product": product, "min": at(0), "q1": at(0.25), "median": at(0.5), "q3": at(0.75), "max": at(1)})
	}
	return c
}
