package block

import (
	"encoding/json"
	"math"
	"strconv"
	"strings"
	"time"
)

// ValueFormat says how clients write a number.
type ValueFormat string

// The value formats. FormatDate and FormatDateTime are for table columns only.
const (
	FormatNumber   ValueFormat = "number"
	FormatPercent  ValueFormat = "percent"
	FormatCurrency ValueFormat = "currency"
	FormatCompact  ValueFormat = "compact"
	FormatBytes    ValueFormat = "bytes"
	FormatDuration ValueFormat = "duration" // seconds
	FormatDate     ValueFormat = "date"
	FormatDateTime ValueFormat = "datetime"
)

// none is written for a value that is not there.
const none = "–"

// FormatFloat writes a number for people without regard to language: no
// exponent, no grouping, the dot as decimal mark, and no more digits than a
// sum of decimal figures can mean.
func FormatFloat(v float64) string {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return none
	}
	if v == math.Trunc(v) && math.Abs(v) < 1<<53 {
		if v == 0 {
			return "0" // not -0
		}
		return strconv.FormatInt(int64(v), 10)
	}
	r, err := strconv.ParseFloat(strconv.FormatFloat(v, 'g', 12, 64), 64)
	if err != nil {
		r = v
	}
	return strconv.FormatFloat(r, 'f', -1, 64)
}

// figure is the format of a number in plain text.
type figure struct {
	format   ValueFormat
	currency string
	decimals *int
	base     int // of a percentage; 0 is 1
}

func (f figure) write(v float64) string {
	suffix := ""
	switch f.format {
	case FormatPercent:
		if f.base != 100 {
			v *= 100
		}
		suffix = "%"
	case FormatCurrency:
		if f.currency != "" {
			suffix = " " + f.currency
		}
	}
	if f.decimals != nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
		return strconv.FormatFloat(v, 'f', *f.decimals, 64) + suffix
	}
	return FormatFloat(v) + suffix
}

// signed is write with a plus sign before what is not negative.
func (f figure) signed(v float64) string {
	s := f.write(v)
	if v > 0 {
		return "+" + s
	}
	return s
}

// toFloat reads a decoded JSON scalar as a number.
func toFloat(v any) (float64, bool) {
	switch v := v.(type) {
	case float64:
		return v, true
	case json.Number:
		f, err := v.Float64()
		return f, err == nil
	case float32:
		return float64(v), true
	case int:
		return float64(v), true
	case int8:
		return float64(v), true
	case int16:
		return float64(v), true
	case int32:
		return float64(v), true
	case int64:
		return float64(v), true
	case uint:
		return float64(v), true
	case uint8:
		return float64(v), true
	case uint16:
		return float64(v), true
	case uint32:
		return float64(v), true
	case uint64:
		return float64(v), true
	}
	return 0, false
}

// plain writes a decoded JSON scalar as one line of text.
func plain(v any) string {
	switch v := v.(type) {
	case nil:
		return none
	case string:
		return oneLine(v)
	case bool:
		return strconv.FormatBool(v)
	}
	if f, ok := toFloat(v); ok {
		return FormatFloat(f)
	}
	return none
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

// timeText writes a time value: ISO strings as they are, epoch milliseconds as
// a date, or as date and time when they are not midnight.
func timeText(v any, zone string, dateOnly bool) string {
	ms, ok := toFloat(v)
	if !ok {
		return plain(v)
	}
	loc := time.UTC
	if zone != "" {
		if l, err := time.LoadLocation(zone); err == nil {
			loc = l
		}
	}
	t := time.UnixMilli(int64(ms)).In(loc)
	if dateOnly || t.Hour() == 0 && t.Minute() == 0 && t.Second() == 0 {
		return t.Format(time.DateOnly)
	}
	return t.Format("2006-01-02 15:04")
}

var timeLayouts = []string{
	time.DateOnly, time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02T15:04Z07:00", "2006-01", "2006",
}

// validTime reports whether v is ISO 8601 or epoch milliseconds within the
// range of JavaScript's dates.
func validTime(v any) bool {
	if f, ok := toFloat(v); ok {
		return math.Abs(f) <= 8.64e15 && f == math.Trunc(f)
	}
	s, ok := v.(string)
	if !ok {
		return false
	}
	for _, layout := range timeLayouts {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

// markdownEscaper keeps cell text from being read as Markdown.
var markdownEscaper = strings.NewReplacer(
	`\`, `\\`, "|", `\|`, "`", "\\`", "*", `\*`, "_", `\_`, "[", `\[`, "]", `\]`, "<", `\<`, ">", `\>`, "~", `\~`, "&", `\&`,
)

func markdownText(s string) string { return markdownEscaper.Replace(oneLine(s)) }

// markdownTable writes a GFM table. right says which columns are aligned to
// the right.
func markdownTable(head []string, right []bool, rows [][]string) string {
	var b strings.Builder
	line := func(cells []string) {
		b.WriteByte('|')
		for _, c := range cells {
			b.WriteByte(' ')
			b.WriteString(markdownText(c))
			b.WriteString(" |")
		}
		b.WriteByte('\n')
	}
	line(head)
	b.WriteByte('|')
	for i := range head {
		if right[i] {
			b.WriteString(" ---: |")
		} else {
			b.WriteString(" --- |")
		}
	}
	b.WriteByte('\n')
	for _, r := range rows {
		line(r)
	}
	return b.String()
}

// decodePayload decodes a payload with its numbers kept as written.
func decodePayload(payload json.RawMessage, into any) error {
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	return d.Decode(into)
}
