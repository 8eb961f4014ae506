package scripted

import (
	"encoding/json"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// The lines of a result that are more than a key and a value.
var (
	seriesLine = regexp.MustCompile(`^series (.+?): total (.+?), max (.+?) \((.+)\), min (.+?) \((.+)\)(?:, change first→last (.+))?$`)
	itemLine   = regexp.MustCompile(`^item (.+?): (.+)$`)
	keyLine    = regexp.MustCompile(`^([A-Za-z][\w ]{0,40}): *(.*)$`)
	labelled   = regexp.MustCompile(`^(.+) (\S+)$`)
	unitOf     = regexp.MustCompile(`\(([^()]+)\)$`)
	leading    = regexp.MustCompile(`^[^0-9]{0,3}[0-9.,]+`)
)

// facts reads what a tool told the model. The members are
//
//	title, rows          and every other line "key: value"
//	unit                 what stands in brackets at the end of the title
//	columns              a list
//	series, s            all series and the first one: name, total, max,
//	                     maxLabel, min, minLabel, change
//	peak                 the series with the highest max
//	top, top1 … top3     label and value
//	items, item1 …       label and value
//	error                code and message; retryable is true or false
//	answer               what the user answered
//
// Values are copied as they stand, so that prose made of them shows nothing
// that the tool did not say.
func facts(content string) map[string]any {
	f := map[string]any{}
	var series, items []map[string]any
	for line := range strings.Lines(plainText(content)) {
		line = strings.TrimSpace(line)
		if m := seriesLine.FindStringSubmatch(line); m != nil {
			s := map[string]any{"name": m[1], "total": m[2], "max": m[3], "maxLabel": m[4], "min": m[5], "minLabel": m[6]}
			if m[7] != "" {
				s["change"] = m[7]
			}
			series = append(series, s)
			continue
		}
		if m := itemLine.FindStringSubmatch(line); m != nil {
			items = append(items, map[string]any{"label": m[1], "value": m[2]})
			continue
		}
		m := keyLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		key, value := strings.ReplaceAll(m[1], " ", "_"), m[2]
		if _, known := f[key]; known {
			continue
		}
		switch key {
		case "The_user_answered":
			f["answer"] = value
		case "error":
			code, message, _ := strings.Cut(value, " ")
			f[key] = map[string]any{"code": code, "message": message}
		case "columns":
			f[key] = strings.Split(value, ", ")
		default:
			f[key] = value
		}
	}
	if title, ok := f["title"].(string); ok {
		if m := unitOf.FindStringSubmatch(title); m != nil {
			f["unit"] = m[1]
		}
	}
	unit := ""
	if len(series) > 0 {
		f["series"], f["s"], f["peak"] = series, series[0], peak(series)
		if max, ok := series[0]["max"].(string); ok {
			unit = leading.ReplaceAllString(max, "")
		}
	}
	if line, ok := f["top"].(string); ok {
		delete(f, "top")
		numbered(f, "top", "top", labels(line, unit))
	}
	numbered(f, "items", "item", items)
	return f
}

// numbered puts entries into f as a list and one by one.
func numbered(f map[string]any, list, each string, entries []map[string]any) {
	if len(entries) > 0 {
		f[list] = entries
	}
	for i, e := range entries {
		f[each+strconv.Itoa(i+1)] = e
	}
}

// labels reads "East 320; South 280". A unit with blanks in it follows every
// value and must not be taken for one.
func labels(line, unit string) []map[string]any {
	var out []map[string]any
	for entry := range strings.SplitSeq(line, "; ") {
		bare := strings.TrimSuffix(strings.TrimSpace(entry), unit)
		if m := labelled.FindStringSubmatch(bare); m != nil {
			out = append(out, map[string]any{"label": m[1], "value": m[2] + strings.TrimPrefix(entry, bare)})
		}
	}
	return out
}

// peak is the series with the highest maximum.
func peak(series []map[string]any) map[string]any {
	best, high := series[0], 0.0
	for i, s := range series {
		text, _ := s["max"].(string)
		v, err := strconv.ParseFloat(strings.ReplaceAll(leading.FindString(text), ",", ""), 64)
		if err == nil && (i == 0 || v > high) {
			best, high = s, v
		}
	}
	return best
}

// plainText returns content, or all texts in it when it is JSON.
func plainText(content string) string {
	trimmed := strings.TrimSpace(content)
	if trimmed == "" || trimmed[0] != '{' && trimmed[0] != '[' && trimmed[0] != '"' {
		return content
	}
	var v any
	if json.Unmarshal([]byte(trimmed), &v) != nil {
		return content
	}
	var lines []string
	var walk func(key string, v any)
	walk = func(key string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for _, k := range slices.Sorted(maps.Keys(v)) {
				walk(k, v[k])
			}
		case []any:
			for _, inner := range v {
				walk("", inner)
			}
		case string:
			lines = append(lines, v)
			if key != "" {
				lines = append(lines, key+": "+v)
			}
		case float64:
			lines = append(lines, key+": "+strconv.FormatFloat(v, 'f', -1, 64))
		case bool:
			lines = append(lines, key+": "+strconv.FormatBool(v))
		}
	}
	walk("", v)
	return strings.Join(lines, "\n")
}
