package xlsx

import (
	"math"
	"strconv"
	"strings"
	"time"
)

// format is what the number format of a style makes of a number.
type format int

const (
	plain    format = iota
	date            // a day, with its time when it has one
	timeOnly        // a time of the day, or a duration
)

// maxStyles bounds how many styles are read; a workbook may have 65,490.
const maxStyles = 1 << 16

// readStyles reads which styles show numbers as dates, once.
func (b *Book) readStyles() error {
	if b.formats != nil || b.styles == "" {
		return nil
	}
	b.formats = []format{}
	custom := make(map[string]format)
	inCells := false
	return b.scan(b.styles, 0, func(s *scanner) error {
		switch s.name {
		case "numFmt":
			if len(custom) < maxStyles {
				custom[s.attr("numFmtId", false)] = formatOf(s.attr("formatCode", false))
			}
		case "cellStyleXfs", "dxfs":
			inCells = false
		case "cellXfs":
			inCells = true
		case "xf":
			if !inCells {
				return nil
			}
			if len(b.formats) == maxStyles {
				return limitError("it has too many styles")
			}
			id := s.attr("numFmtId", false)
			f, ok := custom[id]
			if !ok {
				f = builtinFormat(id)
			}
			b.formats = append(b.formats, f)
		case "cellStyles":
			return errStop
		}
		return nil
	})
}

// builtinFormat knows the numbers that need no code, those of East Asian
// versions among them.
func builtinFormat(id string) format {
	n, err := strconv.Atoi(id)
	switch {
	case err != nil:
		return plain
	case n >= 14 && n <= 17, n == 22, n >= 27 && n <= 31, n == 36, n >= 50 && n <= 54, n == 57, n == 58:
		return date
	case n >= 18 && n <= 21, n >= 32 && n <= 35, n >= 45 && n <= 47, n == 55, n == 56:
		return timeOnly
	}
	return plain
}

// formatOf reads a format code: what stands in quotes, in brackets or behind a
// backslash is no format.
func formatOf(code string) format {
	code, _, _ = strings.Cut(code, ";")
	days, hours := false, false
	for i := 0; i < len(code); i++ {
		switch c := code[i]; c {
		case '\\', '_', '*':
			i++
		case '"':
			end := strings.IndexByte(code[i+1:], '"')
			if end < 0 {
				end = len(code)
			}
			i += end + 1
		case '[':
			end := strings.IndexByte(code[i:], ']')
			if end < 0 {
				return plain
			}
			switch strings.ToLower(code[i+1 : i+end]) {
			case "h", "hh", "m", "mm", "s", "ss":
				hours = true
			}
			i += end
		case 'd', 'D', 'y', 'Y', 'e', 'E':
			// An E of 0.00E+00 is no era.
			if (c == 'E' || c == 'e') && i+1 < len(code) && (code[i+1] == '+' || code[i+1] == '-') {
				return plain
			}
			days = true
		case 'h', 'H', 's', 'S':
			hours = true
		case 'm', 'M':
			// Months or minutes: alone they are months.
			if !hours && !strings.ContainsAny(code, "hHsS") {
				days = true
			}
		case '0', '#', '?':
			if !days && !hours {
				return plain
			}
		case 'G', 'g':
			if strings.EqualFold(code[i:min(i+7, len(code))], "General") {
				return plain
			}
		}
	}
	switch {
	case days:
		return date
	case hours:
		return timeOnly
	}
	return plain
}

// Days are counted up to the end of the year 9999.
const maxSerial = 2958466

// time returns a number as the time that its format shows, in ISO 8601.
func (f format) time(n float64, from1904 bool) (string, bool) {
	if f == plain || n < 0 || n >= maxSerial {
		return "", false
	}
	days, fraction := math.Modf(n)
	seconds := int(math.Round(fraction * 86400))
	if f == timeOnly {
		all := int(days)*86400 + seconds
		return pad(all/3600) + ":" + pad(all/60%60) + ":" + pad(all%60), true
	}
	epoch := time.Date(1899, 12, 30, 0, 0, 0, 0, time.UTC)
	switch {
	case from1904:
		epoch = time.Date(1904, 1, 1, 0, 0, 0, 0, time.UTC)
	case n < 60:
		// Workbooks have a 29th of February 1900: before it the count is one
		// day less.
		epoch = epoch.AddDate(0, 0, 1)
	}
	t := epoch.AddDate(0, 0, int(days)).Add(time.Duration(seconds) * time.Second)
	if seconds == 0 {
		return t.Format("2006-01-02"), true
	}
	return t.Format("2006-01-02T15:04:05"), true
}

func pad(n int) string {
	if n < 10 {
		return "0" + strconv.Itoa(n)
	}
	return strconv.Itoa(n)
}
