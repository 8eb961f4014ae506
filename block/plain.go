package block

import "encoding/json"

// NumberFormat is how a number is written in plain text, without regard to
// language: "12%", "699.00 CNY", "4210".
type NumberFormat struct {
	Format   ValueFormat
	Currency string // ISO 4217
	Decimals *int
	// PercentBase is as in ChartFormat.
	PercentBase int
}

// Text writes a number.
func (f NumberFormat) Text(v float64) string {
	return figure{format: f.Format, currency: f.Currency, decimals: f.Decimals, base: f.PercentBase}.write(v)
}

// Signed writes a number with a plus sign before what is above zero.
func (f NumberFormat) Signed(v float64) string {
	return figure{format: f.Format, currency: f.Currency, decimals: f.Decimals, base: f.PercentBase}.signed(v)
}

// Number reads a decoded JSON value as a number.
func Number(v any) (float64, bool) { return toFloat(v) }

// TimeText writes a value of time: ISO 8601 as it is, epoch milliseconds as a
// date, and with the time of day when that is not midnight and not only the
// date is wanted. An empty zone is UTC.
func TimeText(v any, zone string, dateOnly bool) string { return timeText(v, zone, dateOnly) }

// SizeText writes a number of bytes: "471 KB".
func SizeText(n int64) string { return sizeText(n) }

// Invisible reports whether a character is not seen but changes what is read
// or done: controls, marks of direction, characters without width, tags.
func Invisible(r rune) bool { return isInvisible(r) }

// Members reads an object's members, and their names in the order of the
// document. Of one that stands twice the first place and the last value count.
func Members(object json.RawMessage) (names []string, members map[string]json.RawMessage) {
	return ordered(object)
}

// FieldPlace is where a ui:order puts a field of a form; what it does not list
// stands at its "*", or at the end.
func FieldPlace(order []string, name string) int { return place(order, name) }
