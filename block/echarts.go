package block

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Limits of an ECharts option.
const (
	MaxEChartsBytes = 48 << 10
	MaxEChartsDepth = 24
)

// ECharts is the payload of an echarts_raw block: an ECharts option for the
// forms that a chart does not have, such as a Sankey diagram or a map. Code of
// the server only may show one.
type ECharts struct {
	// Option is a map, a struct or raw JSON. It is merged over the theme; see
	// docs/blocks.md for what it may not hold.
	Option any    `json:"option"`
	Title  string `json:"title,omitempty"`
	Height int    `json:"height,omitempty"` // CSS pixels
}

// rawECharts is a payload with its option as it came.
type rawECharts struct {
	Option json.RawMessage `json:"option"`
	Title  string          `json:"title"`
}

func echartsType() Type {
	return Type{
		Name:        "echarts_raw",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "An ECharts option for rare forms, made by code of the server only.",
		Schema:      builtinSchema("echarts_raw.v1.json"),
		Height:      360,
		ServerOnly:  true,
		Check:       checkECharts,
		Fallback:    echartsText,
		Markdown:    echartsMarkdown,
		Summary:     echartsSummary,
	}
}

var (
	functionLike = regexp.MustCompile(`(?i)^\s*(async\b\s*)?(function\b|\([^()]*\)\s*=>|[\w$]+\s*=>)|\bfunction\s*[\w$]*\s*\(|\bnew\s+Function\b|\beval\s*\(|=>\s*[{(]`)
	markupLike   = regexp.MustCompile(`(?i)<\s*[/!?a-z]|&(#|[a-z]+;)`)
	addressLike  = regexp.MustCompile(`(?i)^\s*([a-z][a-z0-9+.-]*:\s*//|//|data:|blob:|javascript:|vbscript:|file:|mailto:)|image://|javascript\s*:`)
)

// echartsKeys are members that an option may not have, with the reason.
var echartsKeys = map[string]string{
	"graphic":      "may draw over the page",
	"dataView":     "lets readers edit the data as text",
	"extraCssText": "is CSS",
	"renderItem":   "must be a function",
	"link":         "is an address",
	"sublink":      "is an address",
	"className":    "is for the page's style sheet",
	"appendTo":     "reaches into the page",
	"appendToBody": "reaches into the page",
	"image":        "loads a picture",
	"renderMode":   "may switch to HTML",
	"__proto__":    "is a member of every object",
	"constructor":  "is a member of every object",
	"prototype":    "is a member of every object",
}

func checkECharts(payload json.RawMessage) error {
	var v violations
	if len(payload) > MaxEChartsBytes {
		v.add("", "%d bytes, at most %d", len(payload), MaxEChartsBytes)
		return v.err()
	}
	if depthOf(payload) > MaxEChartsDepth {
		v.add("/option", "nested deeper than %d", MaxEChartsDepth)
		return v.err()
	}
	var e struct{ Option any }
	if err := decodePayload(payload, &e); err != nil {
		v.add("", "%v", err)
		return v.err()
	}
	scanOption(&v, []string{"option"}, e.Option)
	return v.err()
}

// scanOption refuses, wherever it stands, what would run, load or be read as
// markup. An option from JSON can hold no functions; strings that look like
// them are refused in case some code would make them such.
func scanOption(v *violations, path []string, x any) {
	switch x := x.(type) {
	case map[string]any:
		for _, k := range slices.Sorted(maps.Keys(x)) {
			p := at(path, k)
			if why, ok := echartsKeys[k]; ok {
				v.add(jsonx.Pointer(p...), "%s %s: leave it out", k, why)
				continue
			}
			if len(k) > 2 && strings.HasPrefix(strings.ToLower(k), "on") && k[2] >= 'A' && k[2] <= 'Z' || strings.EqualFold(k, "onclick") {
				v.add(jsonx.Pointer(p...), "%s must be a function: leave it out", k)
				continue
			}
			scanOption(v, p, x[k])
		}
	case []any:
		for i, e := range x {
			scanOption(v, at(path, strconv.Itoa(i)), e)
		}
	case string:
		name := ""
		for _, t := range slices.Backward(path) {
			if _, err := strconv.Atoi(t); err != nil {
				name = t
				break
			}
		}
		switch {
		case functionLike.MatchString(x):
			v.add(jsonx.Pointer(path...), "looks like a function")
		case addressLike.MatchString(x) && !strings.HasPrefix(x, "path://"): // path:// is a shape
			v.add(jsonx.Pointer(path...), "is an address: nothing is loaded or opened by a chart")
		case markupLike.MatchString(x) && (strings.Contains(strings.ToLower(name), "formatter") || strings.ContainsAny(x, "<")):
			v.add(jsonx.Pointer(path...), "looks like HTML")
		}
	}
}

// series lists what an option draws: name or form, and how many data.
func (e rawECharts) series() []string {
	type series struct {
		Type, Name string
		Data       []json.RawMessage
		Nodes      []json.RawMessage
	}
	var o struct{ Series json.RawMessage }
	if json.Unmarshal(e.Option, &o) != nil {
		return nil
	}
	var list []series
	if json.Unmarshal(o.Series, &list) != nil {
		list = make([]series, 1)
		if json.Unmarshal(o.Series, &list[0]) != nil {
			return nil
		}
	}
	var out []string
	for _, s := range list {
		words := oneLine(s.Name)
		if words == "" {
			words = oneLine(s.Type)
		} else if s.Type != "" {
			words += ", " + oneLine(s.Type)
		}
		if n := max(len(s.Data), len(s.Nodes)); n > 0 {
			words += fmt.Sprintf(" (%d)", n)
		}
		out = append(out, words)
	}
	return out
}

func echartsText(payload json.RawMessage) string {
	var e rawECharts
	if json.Unmarshal(payload, &e) != nil {
		return "[echarts_raw]"
	}
	list := e.series()
	if e.Title == "" && len(list) == 0 {
		return "[echarts_raw]"
	}
	if e.Title != "" && len(list) == 0 {
		return oneLine(e.Title)
	}
	return figuresText(oneLine(e.Title), list[:min(len(list), fallbackRows)], "; ", len(list)-fallbackRows)
}

func echartsMarkdown(payload json.RawMessage) string {
	return "**" + markdownText(echartsText(payload)) + "**\n"
}

func echartsSummary(payload json.RawMessage) string {
	var e rawECharts
	if json.Unmarshal(payload, &e) != nil {
		return "[echarts_raw]"
	}
	lines := []string{"chart: " + cmp.Or(oneLine(e.Title), "untitled")}
	list := e.series()
	for _, s := range list[:min(len(list), fallbackRows)] {
		lines = append(lines, "series "+s)
	}
	return strings.Join(lines, "\n")
}
