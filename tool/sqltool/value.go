package sqltool

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/tool/mapping"
)

// maxExact is the largest integer that JavaScript's numbers hold exactly.
const maxExact = 1<<53 - 1

// jsonValue turns what a driver scanned into decoded JSON: times as RFC 3339,
// decimals as numbers when a double holds every digit of them and as text
// otherwise, bytes as base64. kind is the database's name of the column type.
func jsonValue(v any, kind string) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case int64:
		return integer(v)
	case int32:
		return integer(int64(v))
	case int16:
		return integer(int64(v))
	case uint64:
		if v > maxExact {
			return strconv.FormatUint(v, 10)
		}
		return integer(int64(v))
	case float32:
		return float(strconv.FormatFloat(float64(v), 'g', -1, 32), float64(v))
	case float64:
		return float(strconv.FormatFloat(v, 'g', -1, 64), v)
	case time.Time:
		if kind == "DATE" {
			return v.Format(time.DateOnly)
		}
		return v.UTC().Format(time.RFC3339Nano)
	case string:
		return text(v, kind)
	case []byte:
		if isText(kind) {
			return text(string(v), kind)
		}
		return base64.StdEncoding.EncodeToString(v)
	case [16]byte:
		h := hex.EncodeToString(v[:])
		return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
	case fmt.Stringer:
		return v.String()
	}
	return fmt.Sprint(v)
}

// isText says whether a column that a driver hands over as bytes holds text.
func isText(kind string) bool {
	switch kind {
	case "", "BYTEA", "BLOB", "TINYBLOB", "MEDIUMBLOB", "LONGBLOB", "BINARY", "VARBINARY", "BIT", "GEOMETRY", "VECTOR":
		return false
	}
	return true
}

func text(s, kind string) any {
	switch {
	case kind == "NUMERIC" || strings.Contains(kind, "DECIMAL"):
		return decimal(s)
	case kind == "JSON" || kind == "JSONB":
		if v, err := mapping.Decode([]byte(s)); err == nil && s != "" {
			return v
		}
	}
	if !utf8.ValidString(s) {
		return strings.ToValidUTF8(s, "\uFFFD")
	}
	return s
}

func integer(n int64) any {
	if n > maxExact || n < -maxExact {
		return strconv.FormatInt(n, 10)
	}
	return json.Number(strconv.FormatInt(n, 10))
}

func float(s string, f float64) any {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	return json.Number(s)
}

// decimal writes a decimal as a number when reading it back as a double and
// writing the shortest form gives the same value.
func decimal(s string) any {
	f, err := strconv.ParseFloat(s, 64)
	if err != nil {
		return s
	}
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return nil
	}
	short := strconv.FormatFloat(f, 'f', -1, 64)
	a, ok1 := new(big.Rat).SetString(s)
	b, ok2 := new(big.Rat).SetString(short)
	if !ok1 || !ok2 || a.Cmp(b) != 0 {
		return s
	}
	return json.Number(short)
}

// bindable turns a checked argument into what a driver takes.
func bindable(d Dialect, v any) (any, error) {
	switch v := v.(type) {
	case nil, string, bool:
		return v, nil
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return n, nil
		}
		f, err := v.Float64()
		if err != nil {
			return nil, fmt.Errorf("the number %s is out of range", v)
		}
		// 3.0 is an integer to JSON Schema and must be one to the database.
		if f == math.Trunc(f) && math.Abs(f) <= maxExact {
			return int64(f), nil
		}
		return f, nil
	case []any:
		if d == Postgres {
			if list, ok := stringsOf(v); ok {
				return list, nil
			}
			if list, ok := integersOf(v); ok {
				return list, nil
			}
		}
	}
	// Other databases take lists apart with json_each and the like.
	raw, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode argument: %w", err)
	}
	return string(raw), nil
}

func stringsOf(v []any) ([]string, bool) {
	out := make([]string, 0, len(v))
	for _, item := range v {
		s, ok := item.(string)
		if !ok {
			return nil, false
		}
		out = append(out, s)
	}
	return out, true
}

func integersOf(v []any) ([]int64, bool) {
	out := make([]int64, 0, len(v))
	for _, item := range v {
		n, ok := item.(json.Number)
		if !ok {
			return nil, false
		}
		i, err := n.Int64()
		if err != nil {
			return nil, false
		}
		out = append(out, i)
	}
	return out, true
}
