package block

import (
	"encoding/json"
	"strings"
)

// Metric is the payload of a metric block: key figures.
type Metric struct {
	Title string       `json:"title,omitempty"`
	Items []MetricItem `json:"items"`
}

// MetricItem is one key figure.
type MetricItem struct {
	Label string `json:"label"`
	// Value is a number, a string or nil (not known).
	Value    any         `json:"value"`
	Unit     string      `json:"unit,omitempty"`
	Format   ValueFormat `json:"format,omitempty"`
	Currency string      `json:"currency,omitempty"` // ISO 4217
	Decimals *int        `json:"decimals,omitempty"`
	// PercentBase is as in ChartFormat and holds for Delta too.
	PercentBase int `json:"percentBase,omitempty"`
	// Delta is the change against what is compared with.
	Delta       *float64    `json:"delta,omitempty"`
	DeltaFormat ValueFormat `json:"deltaFormat,omitempty"` // number or percent
	// GoodWhen says which direction is good: up (the default), down or neutral.
	GoodWhen string `json:"goodWhen,omitempty"`
	// Trend is values over time, oldest first; nil is a gap.
	Trend []*float64 `json:"trend,omitempty"`
}

func metricType() Type {
	return Type{
		Name:        "metric",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "Key figures with change and trend.",
		Schema:      builtinSchema("metric.v1.json"),
		Height:      112,
		Fallback:    metricText,
		Markdown:    metricMarkdown,
		Summary:     metricSummary,
	}
}

// text writes the value and the change of a figure.
func (m MetricItem) text() (value, delta string) {
	fig := figure{format: m.Format, currency: m.Currency, decimals: m.Decimals, base: m.PercentBase}
	if f, ok := toFloat(m.Value); ok {
		value = fig.write(f)
	} else {
		value = plain(m.Value)
	}
	if m.Unit != "" {
		value += " " + oneLine(m.Unit)
	}
	if m.Delta != nil {
		delta = figure{format: m.DeltaFormat, base: m.PercentBase}.signed(*m.Delta)
	}
	return value, delta
}

func metricLines(payload json.RawMessage, item func(label, value, delta string) string) (title string, lines []string, ok bool) {
	var m Metric
	if decodePayload(payload, &m) != nil {
		return "", nil, false
	}
	for _, it := range m.Items {
		value, delta := it.text()
		lines = append(lines, item(oneLine(it.Label), value, delta))
	}
	return oneLine(m.Title), lines, true
}

func metricText(payload json.RawMessage) string {
	title, lines, ok := metricLines(payload, func(label, value, delta string) string {
		if delta != "" {
			value += " (" + delta + ")"
		}
		return label + " " + value
	})
	if !ok {
		return "[metric]"
	}
	return figuresText(title, lines, ", ", 0)
}

func metricMarkdown(payload json.RawMessage) string {
	title, lines, ok := metricLines(payload, func(label, value, delta string) string {
		s := "- " + markdownText(label) + ": **" + markdownText(value) + "**"
		if delta != "" {
			s += " (" + markdownText(delta) + ")"
		}
		return s
	})
	if !ok {
		return "[metric]"
	}
	if title != "" {
		title = "**" + markdownText(title) + "**\n\n"
	}
	return title + strings.Join(lines, "\n") + "\n"
}

func metricSummary(payload json.RawMessage) string {
	title, lines, ok := metricLines(payload, func(label, value, delta string) string {
		if delta != "" {
			value += " (" + delta + ")"
		}
		return "item " + label + ": " + value
	})
	if !ok {
		return "[metric]"
	}
	if title != "" {
		lines = append([]string{"title: " + title}, lines...)
	}
	return strings.Join(lines, "\n")
}
