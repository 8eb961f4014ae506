package declared

import (
	"encoding/json"
	"regexp"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
)

// columnOf says how a column of rows is drawn, by all values that it has; those
// that are not there say nothing, and of values of several kinds each is drawn
// as it came.
func columnOf(name string, rows []block.Row) block.TableColumn {
	c := block.TableColumn{Field: name, Label: name}
	kind := ""
	for _, r := range rows {
		v := r[name]
		if v == nil {
			continue
		}
		k := kindOf(v)
		switch {
		case kind == "", kind == k:
			kind = k
		case isInstant(kind) && isInstant(k):
			kind = kindTime // dates among times
		case isNumber(kind) && isNumber(k):
			kind = kindNumber // an epoch among numbers is a number
		default:
			return c
		}
	}
	switch kind {
	case kindEpoch, kindNumber:
		switch {
		case kind == kindEpoch && epochName.MatchString(name):
			c.Type = "time"
		case labelName.MatchString(name):
			c.Align = "end" // a name in digits, which has no thousands
		default:
			c.Type = "number"
		}
	case kindDate:
		c.Type, c.Format = "time", block.FormatDate
	case kindTime, kindBoolean:
		c.Type = kind
	}
	return c
}

// The kinds of values.
const (
	kindText    = "text"
	kindNumber  = "number"
	kindEpoch   = "epoch" // a number that may be epoch milliseconds
	kindDate    = "date"
	kindTime    = "time"
	kindBoolean = "boolean"
)

func isInstant(kind string) bool { return kind == kindDate || kind == kindTime }

func isNumber(kind string) bool { return kind == kindNumber || kind == kindEpoch }

// epochName are the names of columns whose large numbers are times rather than
// bytes or money.
var epochName = regexp.MustCompile(`(?:^|_)(?i:at|ts|time|timestamp|date|day|epoch|created|updated)(?:_?(?i:ms|millis))?$|[a-z](?:At|Ts|Time|Timestamp|Date)(?:Ms)?$`)

// labelName are the names of columns whose numbers count nothing.
var labelName = regexp.MustCompile(`(?:^|_)(?i:id|year)$|[a-z](?:Id|ID|Year)$`)

// The years 2001 to 2099 in epoch milliseconds.
const (
	epochFrom = 1e12
	epochTo   = 4.1e12
)

func kindOf(v any) string {
	switch v := v.(type) {
	case bool:
		return kindBoolean
	case json.Number:
		if n, err := v.Int64(); err == nil && n >= epochFrom && n < epochTo {
			return kindEpoch
		}
		return kindNumber
	case string:
		if len(v) < len(time.DateOnly) || !strings.HasPrefix(v[4:], "-") {
			return kindText
		}
		if _, err := time.Parse(time.DateOnly, v); err == nil {
			return kindDate
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04"} {
			if _, err := time.Parse(layout, v); err == nil {
				return kindTime
			}
		}
	}
	return kindText
}
