package mapping

import (
	"encoding/json"
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of Describe.
const (
	describeRows  = 20
	describeBytes = 4 << 10
)

// Describe tells a model of an answer that no block shows: for rows their
// number, the totals and extremes of numeric columns and the first rows, for
// anything else the JSON itself, cut at 4 KiB.
func Describe(v any) string {
	rows, ok := records(v)
	if !ok {
		raw, err := json.Marshal(v)
		if err != nil {
			return fmt.Sprintf("an answer that cannot be written as JSON: %v", err)
		}
		return cut(string(raw), describeBytes)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%d rows", len(rows))
	if len(rows) == 0 {
		return b.String() + "."
	}
	for _, c := range columnStats(rows) {
		fmt.Fprintf(&b, "; %s: total %s, min %s, max %s", c.name, number(c.sum), number(c.min), number(c.max))
	}
	b.WriteString(".")
	shown := min(len(rows), describeRows)
	if shown < len(rows) {
		fmt.Fprintf(&b, " The first %d:", shown)
	}
	for _, r := range rows[:shown] {
		raw, err := json.Marshal(r)
		if err != nil {
			continue
		}
		if b.Len()+len(raw) > describeBytes {
			b.WriteString("\n…")
			break
		}
		b.WriteString("\n")
		b.Write(raw)
	}
	return b.String()
}

func records(v any) ([]map[string]any, bool) {
	list, ok := v.([]any)
	if !ok {
		return nil, false
	}
	rows := make([]map[string]any, 0, len(list))
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			return nil, false
		}
		rows = append(rows, m)
	}
	return rows, true
}

type stats struct {
	name          string
	sum, min, max float64
}

// columnStats covers the columns that hold only numbers and nulls.
func columnStats(rows []map[string]any) []stats {
	byName := make(map[string]*stats)
	mixed := make(map[string]bool)
	for _, r := range rows {
		for k, v := range r {
			if v == nil || mixed[k] {
				continue
			}
			f, ok := float(v)
			if !ok {
				mixed[k] = true
				continue
			}
			s := byName[k]
			if s == nil {
				s = &stats{name: k, min: math.Inf(1), max: math.Inf(-1)}
				byName[k] = s
			}
			s.sum += f
			s.min, s.max = min(s.min, f), max(s.max, f)
		}
	}
	var out []stats
	for k, s := range byName {
		if !mixed[k] {
			out = append(out, *s)
		}
	}
	sort.Slice(out, func(i, j int) bool { return out[i].name < out[j].name })
	return out
}

func float(v any) (float64, bool) {
	switch v := v.(type) {
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float64:
		return v, true
	case int:
		return float64(v), true
	case int64:
		return float64(v), true
	}
	return 0, false
}

// number writes a sum without the dust of binary fractions.
func number(f float64) string {
	s := strconv.FormatFloat(f, 'f', 6, 64)
	return strings.TrimSuffix(strings.TrimRight(s, "0"), ".")
}

func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
