package demo

import (
	"context"
	"fmt"
	"iter"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

type reportArgs struct {
	Quarter string `json:"quarter" jsonschema:"Calendar quarter, such as 2026Q3" pattern:"^[0-9]{4}Q[1-4]$"`
}

func (d *Demo) report() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "make_report",
		Description: "Make the report of one quarter as files (sample data): a workbook with the sales of every city, a PDF with the regions, and a picture.",
		Title:       map[string]string{"": "Make the report", "zh": "生成报表"},
		Block:       sampleBlock("file", 260),
	}, d.runReport)
}

// citySales are the sales of one city.
type citySales struct {
	region, regionZh, city, cityZh string
	amount, orders                 int
}

func (d *Demo) citySales(ctx context.Context, quarter string) ([]citySales, error) {
	rows, err := d.db.QueryContext(ctx, `SELECT region, region_zh, city, city_zh, amount, orders FROM sales
		WHERE quarter = ? ORDER BY sum(amount) OVER (PARTITION BY region) DESC, region, amount DESC`, quarter)
	if err != nil {
		return nil, fmt.Errorf("read sales: %w", err)
	}
	defer rows.Close()
	var list []citySales
	for rows.Next() {
		var c citySales
		if err := rows.Scan(&c.region, &c.regionZh, &c.city, &c.cityZh, &c.amount, &c.orders); err != nil {
			return nil, fmt.Errorf("read sales: %w", err)
		}
		list = append(list, c)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read sales: %w", err)
	}
	return list, nil
}

func (d *Demo) runReport(ctx context.Context, args reportArgs, out *tool.Out) error {
	w := words(ctx)
	sales, err := d.citySales(ctx, args.Quarter)
	if err != nil {
		return err
	}
	if len(sales) == 0 {
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: fmt.Sprintf(w("The sample data has no %s.", "示例数据中没有 %s。"), args.Quarter)}
	}
	var bars []bar
	rows := make([]block.Row, len(sales))
	for i, c := range sales {
		rows[i] = block.Row{"region": w(c.region, c.regionZh), "city": w(c.city, c.cityZh), "amount": c.amount, "orders": c.orders}
		if len(bars) == 0 || bars[len(bars)-1].label != c.region {
			bars = append(bars, bar{label: c.region})
		}
		bars[len(bars)-1].value += float64(c.amount)
	}
	columns := []block.TableColumn{
		{Field: "region", Label: w("Region", "区域")}, {Field: "city", Label: w("City", "城市")},
		{Field: "amount", Label: w("Sales", "销售额"), Type: "number", Unit: w("10k CNY", "万元")},
		{Field: "orders", Label: w("Orders", "订单数"), Type: "number"},
	}
	title := fmt.Sprintf(w("%s report (sample data)", "%s 报表（示例数据）"), args.Quarter)
	if err := out.File("sample-report-"+args.Quarter).Title(title).Table(columns, each(rows), len(rows)).XLSX(); err != nil {
		return err
	}
	lines := []string{args.Quarter + " sales by region (sample data)", "Made-up figures, in units of 10,000 CNY."}
	for _, b := range bars {
		lines = append(lines, fmt.Sprintf("%-8s %8.0f", b.label, b.value))
	}
	if err := out.File("sample-report-"+args.Quarter+".pdf").Title(fmt.Sprintf(w("%s in one page", "%s 一页摘要（英文）"), args.Quarter)).
		Bytes("application/pdf", writePDF(lines)); err != nil {
		return err
	}
	drawing, err := drawBars(args.Quarter+" sales by region (sample data, 10k CNY)", bars)
	if err != nil {
		return err
	}
	picture, err := out.Keep("sample-report-"+args.Quarter+".png", "image/png", drawing)
	if err != nil {
		return err
	}
	if err := out.Image(block.Image{
		AssetID: picture.AssetID, Width: barsWidth, Height: barsHeight,
		Alt:     fmt.Sprintf(w("Bars of the sales of %d regions in %s; %s sells the most.", "%[2]s 的 %[1]d 个区域销售额柱状图，%[3]s最高。"), len(bars), args.Quarter, w(sales[0].region, sales[0].regionZh)),
		Caption: w("Drawn on the server (sample data)", "由服务器绘制（示例数据）"),
	}); err != nil {
		return err
	}
	out.Remark("report: %s\ncities: %d\nbest region: %s", args.Quarter, len(sales), w(sales[0].region, sales[0].regionZh))
	return nil
}

// each yields rows that are there.
func each(rows []block.Row) iter.Seq2[block.Row, error] {
	return func(yield func(block.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}
