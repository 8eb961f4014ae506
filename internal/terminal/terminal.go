// Package terminal draws blocks as text: the second renderer of the product,
// beside the page's, which shows that blocks say what things are and never how
// a browser draws them.
//
// It owns the drawing of every built-in block type for a terminal of some
// width, with colour or without, the list of what a person can do with a
// block, and the reading of typed answers. What reaches the terminal has
// passed Clean: no escape sequence and no control character of a block's
// content ever does. It may import block and schema, which is data.
package terminal

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// Options say what is drawn on.
type Options struct {
	// Width is the number of cells of a line, at least 20; 80 when it is 0.
	Width int
	// Color allows the sequences of colours and styles.
	Color bool
	// Lang is en or zh: the language of the renderer's own words.
	Lang string
	// Address returns where a person opens the file of an id. Without it the
	// server's path is shown.
	Address func(asset string) string
}

// Renderer draws blocks. It is safe for concurrent use.
type Renderer struct {
	opt   Options
	width int
}

// New returns a Renderer.
func New(opt Options) *Renderer {
	if opt.Width <= 0 {
		opt.Width = 80
	}
	opt.Width = max(opt.Width, 20)
	if opt.Lang != "zh" {
		opt.Lang = "en"
	}
	if opt.Address == nil {
		opt.Address = func(asset string) string { return "/v1/assets/" + asset + "/content" }
	}
	return &Renderer{opt: opt, width: opt.Width}
}

// narrower is the renderer of what stands beside n cells.
func (r *Renderer) narrower(n int) *Renderer {
	c := *r
	c.width = max(r.width-n, 4)
	return &c
}

// drawer draws a payload; false when it cannot.
type drawer func(r *Renderer, b block.Block) ([]line, bool)

// kind is a type that this renderer draws.
type kind struct {
	name  string
	major int
	draw  drawer
}

func kinds() []kind {
	return []kind{
		{"text", 1, drawText},
		{"chart", 1, drawChart},
		{"table", 1, drawTable},
		{"metric", 1, drawMetric},
		{"code", 1, drawCode},
		{"query", 1, drawQuery},
		{"file", 1, drawFile},
		{"image", 1, drawImage},
		{"card", 1, drawCard},
		{"card_list", 1, drawCardList},
		{"form", 1, drawForm},
		{"confirm", 1, drawConfirm},
		{"question", 1, drawQuestion},
		{"steps", 1, drawSteps},
		{"tree", 1, drawTree},
		{block.FeatureRecommendationName, 1, drawRecommendation},
		{productCardName, 1, drawProductCard},
		{productListName, 1, drawProductList},
		{trainCardName, 1, drawTrainCard},
		{flightCardName, 1, drawFlightCard},
		{hotelCardName, 1, drawHotelCard},
	}
}

func kindOf(b block.Block) (kind, bool) {
	list := kinds()
	i := slices.IndexFunc(list, func(k kind) bool { return k.name == b.Type && k.major == b.Version })
	if i < 0 {
		return kind{}, false
	}
	return list[i], true
}

// Declaration returns the capability tokens of what is drawn, as X-Blocks takes
// them. Charts that only a browser's library draws are not among them: the
// server then sends their words.
func Declaration() []string {
	var tokens []string
	for _, k := range kinds() {
		name := k.name
		if !strings.Contains(name, ".") {
			name = "inlay." + name
		}
		tokens = append(tokens, name+"@1")
	}
	return tokens
}

// Block draws a block, with a line end after each line. A block of a type or a
// version that is not known is drawn as its fallback.
func (r *Renderer) Block(b block.Block) string { return r.paint(r.block(b)) }

func (r *Renderer) block(b block.Block) []line {
	var lines []line
	k, known := kindOf(b)
	drawn := false
	if known && len(b.Payload) > 0 && string(b.Payload) != "null" && (b.Status != block.StatusError || b.Type == "text") {
		lines, drawn = k.draw(r, b)
	}
	switch {
	case b.Status == block.StatusLoading:
		if drawn && len(lines) > 0 && b.Type != "file" {
			lines = append(lines, r.note("loading"))
		} else if !drawn || len(lines) == 0 {
			lines = []line{{{"… " + cmp.Or(title(b), r.say("loading")), Dim}}}
		}
	case b.Status == block.StatusError:
		if !drawn {
			lines = r.failed(b)
		} else {
			lines = append(lines, r.failed(block.Block{Err: b.Err, Meta: b.Meta})...)
		}
	case !drawn:
		lines = r.fallback(b)
	}
	if b.Status == block.StatusDone {
		lines = append(lines, r.stands(b)...)
	}
	return r.fit(lines)
}

// fit is the last guard of the width: what is still too long is broken.
func (r *Renderer) fit(lines []line) []line {
	out := lines[:0:0]
	for _, l := range lines {
		if l.width() <= r.width {
			out = append(out, l)
			continue
		}
		out = append(out, wrap(l, r.width)...)
	}
	return out
}

// title names a block whose payload is not there yet.
func title(b block.Block) string {
	if b.Meta == nil {
		return ""
	}
	return oneLine(b.Meta.Title)
}

// failed says that a block could not be filled, and what stands in its place.
func (r *Renderer) failed(b block.Block) []line {
	text := r.say("failed")
	if t := title(b); t != "" {
		text = t + ": " + text
	}
	if b.Err != nil {
		if why := r.why(*b.Err); why != "" {
			text += " " + why
		}
		text += " (" + oneLine(b.Err.Code) + ")"
	}
	lines := prefixed(wrap([]span{{text, Danger}}, r.width-2), span{"✗ ", Danger}, span{"  ", Plain})
	if b.Fallback != "" {
		lines = append(lines, r.prose(b.Fallback)...)
	}
	return lines
}

// why words an error by its code. A code that a tool made up, and what a tool
// says of data that it could not fetch, are told in the tool's own words.
func (r *Renderer) why(e block.Error) string {
	own := oneLine(e.Message)
	if e.Code == block.CodeDataFetchFailed && own != "" && own != errorWords()[e.Code].English {
		return own
	}
	return cmp.Or(r.Code(e.Code), own)
}

// fallback draws the words that stand for a block.
func (r *Renderer) fallback(b block.Block) []line {
	if b.Fallback == "" {
		name := cmp.Or(title(b), oneLine(b.Type))
		return wrap([]span{{"[" + name + "] " + r.say("undrawn"), Dim}}, r.width)
	}
	lines := r.prose(b.Fallback)
	if b.Type == "echarts_raw" {
		lines = append(lines, wrap([]span{{r.say("browser"), Dim}}, r.width)...)
	}
	return lines
}

// prose is plain text in lines.
func (r *Renderer) prose(s string) []line {
	s = strings.Trim(Clean(s), "\n")
	if s == "" {
		return nil
	}
	var lines []line
	for text := range strings.SplitSeq(s, "\n") {
		lines = append(lines, wrap([]span{{text, Plain}}, r.width)...)
	}
	return lines
}

// stands says what has been done with a block, and how old its data is.
func (r *Renderer) stands(b block.Block) []line {
	var lines []line
	if s, ok := stateOf(b); ok {
		style, mark := Success, "✓ "
		switch s.Status {
		case "failed", "unknown":
			style, mark = Danger, "✗ "
		case "expired", "cancelled", "submitting":
			style, mark = Dim, "… "
		}
		if s.Status == "answered" && s.Answer == "reject" {
			style, mark = Warning, "✗ "
		}
		text := oneLine(s.Text)
		if text == "" {
			text = r.word("state." + s.Status)
			if a := r.word("answer." + s.Answer); s.Status == "answered" && a != "" {
				text = a
			}
		}
		if text != "" {
			if s.At > 0 {
				text += " · " + block.TimeText(float64(s.At), "", false)
			}
			lines = append(lines, prefixed(wrap([]span{{text, style}}, r.width-2), span{mark, style}, span{"  ", Plain})...)
		}
	}
	if b.Err != nil && b.Status == block.StatusDone {
		lines = append(lines, r.failed(block.Block{Err: b.Err})...)
	}
	if b.Meta != nil && b.Meta.Truncated {
		lines = append(lines, r.note("cut"))
	}
	return lines
}

// State draws what has been done with a block; empty when that is nothing.
func (r *Renderer) State(b block.Block) string { return r.paint(r.fit(r.stands(b))) }

// state is what actions leave on a block.
type state struct {
	Status string          `json:"status"`
	Locked bool            `json:"locked"`
	Answer string          `json:"answer"`
	Text   string          `json:"text"`
	At     int64           `json:"at"`
	Values json.RawMessage `json:"values"`
}

func stateOf(b block.Block) (state, bool) {
	var s state
	if len(b.State) == 0 {
		return s, false
	}
	if b.State[0] == '"' {
		return s, json.Unmarshal(b.State, &s.Status) == nil && s.Status != ""
	}
	return s, json.Unmarshal(b.State, &s) == nil && s.Status != ""
}

// note is a line of the renderer's own.
func (r *Renderer) note(key string, args ...any) line {
	return line{{r.say(key, args...), Dim}}
}

// heading is a title with what qualifies it.
func (r *Renderer) heading(title, unit string) []line {
	title, unit = oneLine(title), oneLine(unit)
	if title == "" && unit == "" {
		return nil
	}
	spans := []span{{title, Bold}}
	if unit != "" {
		if title != "" {
			unit = " (" + unit + ")"
		}
		spans = append(spans, span{unit, Dim})
	}
	return wrap(spans, r.width)
}

// decode reads a payload with its numbers kept as written.
func decode(payload json.RawMessage, into any) bool {
	d := json.NewDecoder(strings.NewReader(string(payload)))
	d.UseNumber()
	return d.Decode(into) == nil
}

// scalar writes a decoded JSON value as one line.
func (r *Renderer) scalar(v any) string {
	switch v := v.(type) {
	case nil:
		return "–"
	case string:
		return oneLine(v)
	case bool:
		if v {
			return r.say("yes")
		}
		return r.say("no")
	case []any:
		words := make([]string, len(v))
		for i, e := range v {
			words[i] = r.scalar(e)
		}
		return strings.Join(words, ", ")
	case map[string]any:
		raw, err := json.Marshal(v)
		if err != nil {
			return "…"
		}
		return oneLine(string(raw))
	}
	if f, ok := block.Number(v); ok {
		return block.FormatFloat(f)
	}
	return "–"
}

// value writes a value by its format.
func (r *Renderer) value(v any, f block.NumberFormat, unit string) string {
	var s string
	switch n, ok := block.Number(v); {
	case f.Format == block.FormatDate || f.Format == block.FormatDateTime:
		s = oneLine(block.TimeText(v, "", f.Format == block.FormatDate))
	case ok:
		s = f.Text(n)
	default:
		s = r.scalar(v)
	}
	if u := oneLine(unit); u != "" && s != "–" {
		s += " " + u
	}
	return oneLine(s)
}
