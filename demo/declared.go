package demo

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// The tools of this file have no Go in them: the same SQL and jq could stand
// in a configuration file.

const quarterSchema = `{"type": "string", "pattern": "^[0-9]{4}Q[1-4]$", "description": "Calendar quarter, such as 2026Q3"}`

var salesChart = sqltool.Def{
	Spec: tool.Spec{
		Name:        "show_sales_chart",
		Description: "Show the sales of every region in one quarter as a chart (sample data). A click on a region asks for its cities.",
		Title:       map[string]string{"": "Look up sales by region", "zh": "查询各区域销售额"},
		Parameters: json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["quarter"], "properties": {
			"quarter": ` + quarterSchema + `,
			"chartType": {"enum": ["bar", "line", "pie"], "description": "bar unless the user asks for another form"}}}`),
	},
	Query: `SELECT iif(:user.lang LIKE 'zh%', region_zh, sales.region) AS region, sum(amount) AS amount
		FROM sales WHERE quarter = :quarter GROUP BY sales.region ORDER BY amount DESC`,
	Mapping: mapping.Config{Block: &mapping.Block{
		Type: "chart", Title: "{{.args.quarter}} sales by region", Titles: map[string]string{"zh": "{{.args.quarter}} 各区域销售额"}, Source: "Sample data", Sources: map[string]string{"zh": "示例数据"},
		Payload: `(.user.lang | startswith("zh")) as $zh | .args.quarter as $q
			| if .rows == [] then error(if $zh then "示例数据中没有 \($q)。" else "The sample data has no \($q)." end) else . end
			| {version: 1, type: (.args.chartType // "bar"),
				title: (if $zh then "\($q) 各区域销售额" else "\($q) sales by region" end),
				subtitle: (if $zh then "示例数据" else "Sample data" end),
				unit: (if $zh then "万元" else "10k CNY" end),
				x: {field: "region", title: (if $zh then "区域" else "Region" end)},
				series: [{field: "amount", name: (if $zh then "销售额" else "Sales" end)}],
				data: .rows,
				onSelect: {actionId: "drill", params: {region: "region"}},
				source: {tool: "show_sales_chart", rowCount: (.rows | length)}}`,
		Actions: `(.user.lang | startswith("zh")) as $zh
			| [{id: "drill", kind: "prompt", label: (if $zh then "查看城市" else "Show cities" end),
				prompt: (if $zh then "查看 {{region}} 在 \(.args.quarter) 的各城市销售额" else "Show the cities of {{region}} in \(.args.quarter)" end)}]`,
	}},
}

var regionDetail = sqltool.Def{
	Spec: tool.Spec{
		Name:        "show_region_detail",
		Description: "Show the sales of one region in one quarter by city as a chart (sample data).",
		Title:       map[string]string{"": "Look up sales by city", "zh": "查询各城市销售额"},
		Parameters: json.RawMessage(`{"type": "object", "additionalProperties": false, "required": ["quarter", "region"], "properties": {
			"quarter": ` + quarterSchema + `,
			"region": {"type": "string", "minLength": 1, "maxLength": 40, "description": "East, South, North or West; 华东, 华南, 华北 or 西南"}}}`),
	},
	Query: `SELECT iif(:user.lang LIKE 'zh%', city_zh, city) AS city, amount, orders, iif(:user.lang LIKE 'zh%', region_zh, region) AS region
		FROM sales WHERE quarter = :quarter AND (region = :region COLLATE NOCASE OR region_zh = :region) ORDER BY amount DESC`,
	Mapping: mapping.Config{Block: &mapping.Block{
		Type: "chart", Title: "{{.args.region}}: {{.args.quarter}} sales by city", Titles: map[string]string{"zh": "{{.args.region}} {{.args.quarter}} 各城市销售额"}, Source: "Sample data", Sources: map[string]string{"zh": "示例数据"},
		Payload: `(.user.lang | startswith("zh")) as $zh | .args as {$quarter, $region}
			| if .rows == [] then error(if $zh then "示例数据中没有“\($region)” \($quarter)。" else "The sample data has no region \"\($region)\" in \($quarter)." end) else . end
			| {version: 1, type: "bar",
				title: (if $zh then "\(.rows[0].region) \($quarter) 各城市销售额" else "\(.rows[0].region): \($quarter) sales by city" end),
				subtitle: (if $zh then "示例数据" else "Sample data" end),
				unit: (if $zh then "万元" else "10k CNY" end),
				x: {field: "city", title: (if $zh then "城市" else "City" end)},
				series: [{field: "amount", name: (if $zh then "销售额" else "Sales" end)}],
				data: [.rows[] | {city, amount}],
				source: {tool: "show_region_detail", rowCount: (.rows | length)}}`,
	}},
}

var unemployment = sqltool.Def{
	Spec: tool.Spec{
		Name:        "show_unemployment",
		Description: "Show the U.S. unemployment rate of six industries by month, January 2000 to February 2010.",
		Title:       map[string]string{"": "Look up unemployment", "zh": "查询失业率"},
	},
	Query: `SELECT month || '-01' AS month,
			max(iif(industry = 'Construction', rate, NULL)) AS construction,
			max(iif(industry = 'Manufacturing', rate, NULL)) AS manufacturing,
			max(iif(industry = 'Leisure and hospitality', rate, NULL)) AS leisure,
			max(iif(industry = 'Finance', rate, NULL)) AS finance,
			max(iif(industry = 'Education and Health', rate, NULL)) AS education,
			max(iif(industry = 'Government', rate, NULL)) AS government
		FROM unemployment GROUP BY unemployment.month ORDER BY 1`,
	Mapping: mapping.Config{Block: &mapping.Block{
		Type: "chart", Title: "U.S. unemployment by industry", Titles: map[string]string{"zh": "美国各行业失业率"}, Source: "U.S. Bureau of Labor Statistics", Sources: map[string]string{"zh": "美国劳工统计局"}, Height: 360,
		Payload: `(.user.lang | startswith("zh")) as $zh
			| {version: 1, type: "line",
				title: (if $zh then "美国各行业失业率" else "U.S. unemployment rate by industry" end),
				subtitle: (if $zh then "2000 年 1 月至 2010 年 2 月，未经季节调整" else "January 2000 to February 2010, not seasonally adjusted" end),
				valueFormat: "percent", format: {percentBase: 100, decimals: 1},
				x: {field: "month", type: "time", timeZone: "UTC", title: (if $zh then "月份" else "Month" end)}, y: {zero: true}, zoom: true,
				series: [["construction", "Construction", "建筑业"], ["manufacturing", "Manufacturing", "制造业"],
					["leisure", "Leisure and hospitality", "休闲与酒店业"], ["finance", "Finance", "金融业"],
					["education", "Education and health", "教育与医疗"], ["government", "Government", "政府"]]
					| map({field: .[0], name: (if $zh then .[2] else .[1] end)}),
				data: .rows,
				source: {tool: "show_unemployment", rowCount: (.rows | length)}}`,
	}},
}

var airports = sqltool.Def{
	Spec: tool.Spec{
		Name:        "show_airports_by_state",
		Description: "Show the U.S. states and territories with the most airports.",
		Title:       map[string]string{"": "Count airports", "zh": "统计机场数量"},
		Parameters: json.RawMessage(`{"type": "object", "additionalProperties": false, "properties": {
			"top": {"type": "integer", "minimum": 1, "maximum": 60, "description": "How many states; 10 unless the user names a number"}}}`),
	},
	Query: `SELECT state, count(*) AS airports FROM airports GROUP BY state ORDER BY airports DESC, state LIMIT coalesce(:top, 10)`,
	Mapping: mapping.Config{Block: &mapping.Block{
		Type: "chart", Title: "Airports by state", Titles: map[string]string{"zh": "各州机场数量"}, Source: "U.S. Department of Transportation", Sources: map[string]string{"zh": "美国交通部"}, Height: 360,
		Payload: `(.user.lang | startswith("zh")) as $zh | (.rows | length) as $n
			| {version: 1, type: "bar", orientation: "horizontal",
				title: (if $zh then "机场最多的 \($n) 个州" else "The \($n) states with the most airports" end),
				x: {field: "state", title: (if $zh then "州" else "State" end)},
				series: [{field: "airports", name: (if $zh then "机场" else "Airports" end)}],
				data: .rows,
				source: {tool: "show_airports_by_state", rowCount: $n}}`,
	}},
}
