package block

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// Query is the payload of a query block: a statement that can be copied, run
// or opened elsewhere.
type Query struct {
	// Lang is the name of the language, such as sql, promql or lucene.
	Lang      string          `json:"lang"`
	Statement string          `json:"statement"`
	Title     string          `json:"title,omitempty"`
	TimeRange *QueryTimeRange `json:"timeRange,omitempty"`
	// DataSource names the configured source that the statement runs on.
	DataSource string `json:"dataSource,omitempty"`
}

// QueryTimeRange is the time that a statement looks at. Each end is an ISO
// 8601 string, epoch milliseconds, or relative: "now", "now-1h".
type QueryTimeRange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

func queryType() Type {
	return Type{
		Name:        "query",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "A statement in a query language, to be copied or run.",
		Schema:      builtinSchema("query.v1.json"),
		Height:      140,
		Check:       checkQuery,
		Fallback:    queryText,
		Markdown:    queryMarkdown,
		Summary:     querySummary,
	}
}

var relativeTime = regexp.MustCompile(`^now(?:-([1-9][0-9]{0,5})([smhdw]))?$`)

var timeUnits = map[string]time.Duration{
	"s": time.Second, "m": time.Minute, "h": time.Hour, "d": 24 * time.Hour, "w": 7 * 24 * time.Hour,
}

// ResolveTime turns one end of a time range into a time: ISO 8601 (UTC where it
// names no zone), epoch milliseconds, "now", or "now-" and a number with one of
// the units s, m, h, d and w.
func ResolveTime(v any, now time.Time) (time.Time, error) {
	if ms, ok := toFloat(v); ok {
		if !validTime(v) {
			return time.Time{}, fmt.Errorf("%v is no time in epoch milliseconds", v)
		}
		return time.UnixMilli(int64(ms)).UTC(), nil
	}
	s, ok := v.(string)
	if !ok {
		return time.Time{}, fmt.Errorf("%v is no time", v)
	}
	if m := relativeTime.FindStringSubmatch(s); m != nil {
		if m[1] == "" {
			return now, nil
		}
		n, err := strconv.ParseInt(m[1], 10, 64)
		if err != nil || n > math.MaxInt64/int64(timeUnits[m[2]]) {
			return time.Time{}, fmt.Errorf("%q is too long ago", s)
		}
		return now.Add(-time.Duration(n) * timeUnits[m[2]]), nil
	}
	for _, layout := range timeLayouts {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("%q is no time: write ISO 8601, epoch milliseconds, now or now-1h", clip(s, 40))
}

func checkQuery(payload json.RawMessage) error {
	var q Query
	if err := decodePayload(payload, &q); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	if q.TimeRange == nil {
		return nil
	}
	var v violations
	// A fixed moment will do: two relative times have the same order at any.
	now := time.Date(2100, 1, 1, 0, 0, 0, 0, time.UTC)
	from, errFrom := ResolveTime(q.TimeRange.From, now)
	to, errTo := ResolveTime(q.TimeRange.To, now)
	if errFrom != nil {
		v.add("/timeRange/from", "%v", errFrom)
	}
	if errTo != nil {
		v.add("/timeRange/to", "%v", errTo)
	}
	if errFrom == nil && errTo == nil && isRelative(q.TimeRange.From) == isRelative(q.TimeRange.To) && to.Before(from) {
		v.add("/timeRange/to", "is before from")
	}
	return v.err()
}

// isRelative reports whether an end of a range depends on the moment.
func isRelative(v any) bool {
	s, ok := v.(string)
	return ok && strings.HasPrefix(s, "now")
}

// text writes the range: "now-1h – now".
func (r *QueryTimeRange) text() string {
	if r == nil {
		return ""
	}
	return timeText(r.From, "", false) + " – " + timeText(r.To, "", false)
}

func queryText(payload json.RawMessage) string {
	var q Query
	if decodePayload(payload, &q) != nil {
		return "[query]"
	}
	s := q.Statement
	if h := heading(cmp.Or(q.Title, q.Lang), q.TimeRange.text()); h != "" {
		s = h + "\n" + s
	}
	return s
}

func queryMarkdown(payload json.RawMessage) string {
	var q Query
	if decodePayload(payload, &q) != nil {
		return "[query]"
	}
	head := ""
	if h := heading(q.Title, q.TimeRange.text()); h != "" {
		head = "**" + markdownText(h) + "**\n\n"
	}
	return head + fenced(q.Lang, q.Statement)
}

func querySummary(payload json.RawMessage) string {
	var q Query
	if decodePayload(payload, &q) != nil {
		return "[query]"
	}
	var lines []string
	line := func(name, value string) {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	line("title", oneLine(q.Title))
	line("lang", q.Lang)
	line("source", oneLine(q.DataSource))
	line("time", q.TimeRange.text())
	line("statement", clip(q.Statement, 2000))
	return strings.Join(lines, "\n")
}
