package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

func drawMetric(r *Renderer, b block.Block) ([]line, bool) {
	var m block.Metric
	if !decode(b.Payload, &m) {
		return nil, false
	}
	lines := r.heading(m.Title, "")
	labels, values := 0, 0
	texts := make([]string, len(m.Items))
	for i, it := range m.Items {
		texts[i] = r.value(it.Value, block.NumberFormat{Format: it.Format, Currency: it.Currency, Decimals: it.Decimals, PercentBase: it.PercentBase}, it.Unit)
		labels = max(labels, Width(oneLine(it.Label)))
		values = max(values, Width(texts[i]))
	}
	labels = min(labels, r.width/2)
	for i, it := range m.Items {
		l := pad(plain(clip(oneLine(it.Label), labels), Dim), labels, false)
		l = append(l, span{"  ", Plain})
		l = append(l, pad(plain(texts[i], Bold), min(values, r.width/3), true)...)
		if it.Delta != nil {
			text := block.NumberFormat{Format: it.DeltaFormat, PercentBase: it.PercentBase}.Signed(*it.Delta)
			mark, good := "▲ ", it.GoodWhen != "down"
			if *it.Delta < 0 {
				mark, good = "▼ ", !good
			}
			style := Success
			switch {
			case *it.Delta == 0:
				mark, style = "= ", Dim
			case it.GoodWhen == "neutral":
				style = Plain
			case !good:
				style = Danger
			}
			l = append(l, span{"  " + mark + text, style})
		}
		if room := r.width - l.width() - 2; len(it.Trend) > 1 && room >= 4 {
			l = append(l, span{"  " + spark(it.Trend, min(room, max(len(it.Trend), 4), 30)), Accent})
		}
		lines = append(lines, l)
	}
	if len(m.Items) == 0 {
		lines = append(lines, r.note("empty"))
	}
	return lines, true
}

// source draws source code; its lines are broken where the terminal ends.
func (r *Renderer) source(s string, most int) []line {
	s = strings.TrimRight(Clean(s), "\n")
	all := strings.Split(s, "\n")
	var lines []line
	for _, text := range all[:min(len(all), most)] {
		for _, part := range hard(text, r.width-2) {
			lines = append(lines, plain(part, Accent))
		}
	}
	lines = bar(lines, Dim)
	if len(all) > most {
		lines = append(lines, r.note("linesLeft", len(all)-most))
	}
	return lines
}

func drawCode(r *Renderer, b block.Block) ([]line, bool) {
	var c block.Code
	if !decode(b.Payload, &c) {
		return nil, false
	}
	head := oneLine(c.Filename)
	if lang := oneLine(c.Lang); lang != "" && lang != "text" {
		head = strings.TrimPrefix(head+" · "+lang, " · ")
	}
	var lines []line
	if head != "" {
		lines = wrap([]span{{head, Dim}}, r.width)
	}
	return append(lines, r.source(c.Source, maxCodeLines)...), true
}

func drawQuery(r *Renderer, b block.Block) ([]line, bool) {
	var q block.Query
	if !decode(b.Payload, &q) {
		return nil, false
	}
	lines := r.heading(q.Title, "")
	parts := []string{oneLine(q.Lang)}
	if s := oneLine(q.DataSource); s != "" {
		parts = append(parts, r.say("source")+" "+s)
	}
	if t := q.TimeRange; t != nil {
		parts = append(parts, oneLine(block.TimeText(t.From, "", false)+" – "+block.TimeText(t.To, "", false)))
	}
	lines = append(lines, wrap([]span{{strings.Join(parts, " · "), Dim}}, r.width)...)
	return append(lines, r.source(q.Statement, maxCodeLines)...), true
}

func drawFile(r *Renderer, b block.Block) ([]line, bool) {
	var f struct {
		block.File
		Progress *block.FileProgress `json:"progress"`
	}
	if !decode(b.Payload, &f) {
		return nil, false
	}
	if b.Status == block.StatusLoading && f.Progress != nil {
		return r.progress(cmp.Or(title(b), oneLine(f.Name)), *f.Progress), true
	}
	if f.Name == "" && f.AssetID == "" {
		return nil, false
	}
	about := " · " + block.SizeText(f.Size)
	if p := f.Preview; p != nil {
		switch {
		case p.Kind == "image" && p.Width > 0:
			about += fmt.Sprintf(" · %d × %d", p.Width, p.Height)
		case p.Kind == "pdf" && p.Pages > 0:
			about += " · " + r.say("pages", p.Pages)
		}
	}
	lines := wrap([]span{{"[" + r.say("file") + "] ", Dim}, {oneLine(f.Name), Bold}, {about, Dim}}, r.width)
	lines = append(lines, r.address(f.AssetID)...)
	if p := f.Preview; p != nil {
		lines = append(lines, r.preview(*p)...)
	}
	return lines, true
}

// address is the line that says where something is opened.
func (r *Renderer) address(asset string) []line {
	if asset == "" {
		return nil
	}
	var lines []line
	for _, part := range hard(oneLine(r.opt.Address(asset)), r.width) {
		lines = append(lines, plain(part, Underline))
	}
	return lines
}

func (r *Renderer) preview(p block.FilePreview) []line {
	const most = 6
	switch p.Kind {
	case "table":
		var g grid
		for i, row := range p.Rows {
			cells := make([]string, len(row))
			for k, v := range row {
				if v != nil {
					cells[k] = r.scalar(v)
				}
			}
			for len(g.columns) < len(cells) {
				g.columns = append(g.columns, gridColumn{})
			}
			switch {
			case i == 0:
				for k, c := range cells {
					g.columns[k].head = c
				}
			case i < most:
				g.rows = append(g.rows, cells)
			}
		}
		if len(g.columns) == 0 {
			return nil
		}
		g.total = max(p.Total, len(p.Rows)) - 1
		lines := g.draw(r)
		if len(p.Sheets) > 1 {
			lines = append(lines, wrap([]span{{r.say("sheets", oneLine(strings.Join(p.Sheets, ", "))), Dim}}, r.width)...)
		}
		return lines
	case "text":
		lines := r.source(p.Text, most)
		if p.Truncated {
			lines = append(lines, r.note("cut"))
		}
		return lines
	}
	return nil
}

// progress draws how far something is.
func (r *Renderer) progress(name string, p block.FileProgress) []line {
	spans := []span{{"… ", Dim}}
	if name != "" {
		spans = append(spans, span{name + "  ", Plain})
	}
	figures := block.FormatFloat(p.Done)
	if p.Total != nil && *p.Total > 0 {
		const n = 16
		filled := min(max(int(math.Round(n*p.Done / *p.Total)), 0), n)
		spans = append(spans, span{strings.Repeat("█", filled), Accent}, span{strings.Repeat("░", n-filled) + " ", Dim})
		figures += " / " + block.FormatFloat(*p.Total)
	}
	if u := oneLine(p.Unit); u != "" {
		figures += " " + u
	}
	if s := oneLine(p.Stage); s != "" {
		figures += " · " + s
	}
	return wrap(append(spans, span{figures, Dim}), r.width)
}

func drawImage(r *Renderer, b block.Block) ([]line, bool) {
	var i block.Image
	if !decode(b.Payload, &i) {
		return nil, false
	}
	spans := []span{{"[" + r.say("image") + "] ", Dim}, {cmp.Or(oneLine(i.Alt), r.say("unnamed")), Plain}}
	if i.Width > 0 && i.Height > 0 {
		spans = append(spans, span{fmt.Sprintf(" · %d × %d", i.Width, i.Height), Dim})
	}
	lines := append(wrap(spans, r.width), r.address(i.AssetID)...)
	if c := oneLine(i.Caption); c != "" {
		lines = append(lines, wrap([]span{{c, Dim}}, r.width)...)
	}
	return lines, true
}

var stepMarks = map[string]span{
	"pending": {"○ ", Dim}, "running": {"… ", Accent}, "done": {"✓ ", Success}, "error": {"✗ ", Danger}, "skipped": {"– ", Dim},
}

func drawSteps(r *Renderer, b block.Block) ([]line, bool) {
	var s block.Steps
	if !decode(b.Payload, &s) {
		return nil, false
	}
	lines := r.heading(s.Title, "")
	for _, it := range s.Items {
		mark, ok := stepMarks[it.Status]
		if !ok {
			mark = stepMarks["pending"]
		}
		spans := []span{{oneLine(it.Label), Plain}}
		if d := oneLine(it.Detail); d != "" {
			spans = append(spans, span{" (" + d + ")", Dim})
		}
		lines = append(lines, prefixed(wrap(spans, r.width-2), mark, span{"  ", Plain})...)
	}
	if len(s.Items) == 0 {
		lines = append(lines, r.note("empty"))
	}
	return lines, true
}

func drawRecommendation(r *Renderer, b block.Block) ([]line, bool) {
	var rec block.Recommendation
	if !decode(b.Payload, &rec) || len(rec.Items) == 0 {
		return nil, false
	}
	var lines []line
	for i, it := range rec.Items {
		spans := []span{{oneLine(it.Label), Bold}}
		if h := oneLine(it.Hint); h != "" {
			spans = append(spans, span{" — " + h, Plain})
		}
		if to := r.leads(it.Action); to != "" {
			spans = append(spans, span{" · " + to, Dim})
		}
		mark := fmt.Sprintf("%d. ", i+1)
		lines = append(lines, prefixed(wrap(spans, r.width-len(mark)), span{mark, Accent}, span{strings.Repeat(" ", len(mark)), Plain})...)
	}
	return lines, true
}

// leads words where a button leads.
func (r *Renderer) leads(a block.RecommendationAction) string {
	to := a.To()
	value := oneLine(to.Value)
	switch to.Kind {
	case block.TargetRoute, block.TargetExternal:
		return r.say("opens", value)
	case block.TargetSlash:
		return r.say("types", value)
	case block.TargetModal:
		return r.say("dialog", value)
	}
	return ""
}

// tones are the styles of a card's state.
var tones = map[string]Style{"info": Accent, "success": Success, "warning": Warning, "danger": Danger}

func (r *Renderer) card(c block.Card) []line {
	return bar(r.narrower(2).inside(c), Dim)
}

// inside are the lines of a card.
func (in *Renderer) inside(c block.Card) []line {
	spans := []span{{oneLine(c.Title), Bold}}
	if s := c.Status; s != nil && oneLine(s.Label) != "" {
		spans = append(spans, span{"  [" + oneLine(s.Label) + "]", tones[s.Tone]})
	}
	lines := wrap(spans, in.width)
	if s := oneLine(c.Subtitle); s != "" {
		lines = append(lines, wrap([]span{{s, Dim}}, in.width)...)
	}
	if i := c.Image; i != nil {
		lines = append(lines, wrap([]span{{"[" + in.say("image") + "] ", Dim}, {cmp.Or(oneLine(i.Alt), in.say("unnamed")), Dim}}, in.width)...)
	}
	var pairs [][2]string
	for _, f := range c.Fields {
		pairs = append(pairs, [2]string{oneLine(f.Label), in.value(f.Value,
			block.NumberFormat{Format: f.Format, Currency: f.Currency, Decimals: f.Decimals, PercentBase: f.PercentBase}, f.Unit)})
	}
	lines = append(lines, in.pairs(pairs)...)
	if c.Body != "" {
		lines = append(lines, in.markdown(c.Body)...)
	}
	return lines
}

// pairs draws labels with their values beside them.
func (r *Renderer) pairs(list [][2]string) []line {
	labels := 0
	for _, p := range list {
		labels = max(labels, Width(p[0]))
	}
	labels = min(labels, r.width*2/5)
	var lines []line
	for _, p := range list {
		label := pad(plain(clip(p[0], labels), Dim), labels, false)
		for i, l := range wrap([]span{{p[1], Plain}}, r.width-labels-2) {
			if i > 0 {
				label = pad(nil, labels, false)
			}
			lines = append(lines, append(append(label[:len(label):len(label)], span{"  ", Plain}), l...))
		}
	}
	return lines
}

func drawCard(r *Renderer, b block.Block) ([]line, bool) {
	var c block.Card
	if !decode(b.Payload, &c) {
		return nil, false
	}
	return r.card(c), true
}

// cardList reads a list of cards, whose items UnmarshalJSON of no type stands
// in the way of.
type cardList struct {
	Title string `json:"title"`
	Items []struct {
		block.Card
		Actions []placed `json:"actions"`
	} `json:"items"`
	Total int                 `json:"total"`
	Page  *block.CardListPage `json:"page"`
}

// placed is an action of the block as a part of its payload has it.
type placed struct {
	ID     string                     `json:"id"`
	Params map[string]json.RawMessage `json:"params"`
}

func drawCardList(r *Renderer, b block.Block) ([]line, bool) {
	var l cardList
	if !decode(b.Payload, &l) {
		return nil, false
	}
	return r.several(l.Title, len(l.Items), l.Total, func(i int) []line { return r.card(l.Items[i].Card) }), true
}

// several draws n cards below each other, of total.
func (r *Renderer) several(title string, n, total int, card func(i int) []line) []line {
	lines := r.heading(title, "")
	shown := min(n, maxCards)
	for i := range shown {
		if i > 0 {
			lines = append(lines, nil)
		}
		lines = append(lines, card(i)...)
	}
	switch total := max(total, n); {
	case total == 0:
		lines = append(lines, r.note("empty"))
	case total > shown:
		lines = append(lines, r.note("itemsOf", shown, total))
	}
	return lines
}
