package block

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Card is the payload of a card block: one thing with its figures. What can be
// done with it are the block's actions.
type Card struct {
	Title    string      `json:"title"`
	Subtitle string      `json:"subtitle,omitempty"`
	Image    *CardImage  `json:"image,omitempty"`
	Fields   []CardField `json:"fields,omitempty"`
	// Body is Markdown.
	Body   string      `json:"body,omitempty"`
	Status *CardStatus `json:"status,omitempty"`
}

// CardImage is a card's picture, by reference.
type CardImage struct {
	AssetID string `json:"assetId"`
	Alt     string `json:"alt"`
	Width   int    `json:"width,omitempty"`
	Height  int    `json:"height,omitempty"`
}

// CardField is a label with its value.
type CardField struct {
	Label string `json:"label"`
	// Value is a number, a string, a bool or nil (not known).
	Value    any         `json:"value"`
	Format   ValueFormat `json:"format,omitempty"`
	Unit     string      `json:"unit,omitempty"`
	Currency string      `json:"currency,omitempty"` // ISO 4217
	Decimals *int        `json:"decimals,omitempty"`
	// PercentBase is as in ChartFormat.
	PercentBase int `json:"percentBase,omitempty"`
}

// CardStatus is a word on the state of things. Tone is neutral, info, success,
// warning or danger.
type CardStatus struct {
	Label string `json:"label"`
	Tone  string `json:"tone"`
}

func cardType() Type {
	return Type{
		Name:        "card",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "One thing with its figures and what can be done with it.",
		Schema:      builtinSchema("card.v1.json"),
		Height:      160,
		Fallback:    cardText,
		Markdown:    cardMarkdown,
		Summary:     cardSummary,
	}
}

// value writes a field's value.
func (f CardField) value() string {
	var s string
	switch n, ok := toFloat(f.Value); {
	case f.Format == FormatDate || f.Format == FormatDateTime:
		s = timeText(f.Value, "", f.Format == FormatDate)
	case ok:
		s = figure{format: f.Format, currency: f.Currency, decimals: f.Decimals, base: f.PercentBase}.write(n)
	default:
		s = plain(f.Value)
	}
	if f.Unit != "" {
		s += " " + oneLine(f.Unit)
	}
	return s
}

// head is the title with the state.
func (c Card) head() string {
	if c.Status == nil {
		return oneLine(c.Title)
	}
	return heading(c.Title, c.Status.Label)
}

// line writes the card in one line.
func (c Card) line() string {
	parts := make([]string, 0, len(c.Fields)+1)
	if c.Subtitle != "" {
		parts = append(parts, oneLine(c.Subtitle))
	}
	for _, f := range c.Fields {
		parts = append(parts, oneLine(f.Label)+" "+f.value())
	}
	if len(parts) == 0 {
		return c.head()
	}
	return c.head() + ": " + strings.Join(parts, ", ")
}

func cardText(payload json.RawMessage) string {
	var c Card
	if decodePayload(payload, &c) != nil {
		return "[card]"
	}
	return c.text()
}

// text writes the card as plain text.
func (c Card) text() string {
	s := c.line()
	if body := strings.TrimSpace(c.Body); body != "" {
		s += "\n" + body
	}
	return s
}

func (c Card) markdown() string {
	var b strings.Builder
	b.WriteString("**" + markdownText(c.Title) + "**")
	if c.Status != nil {
		b.WriteString(" (" + markdownText(c.Status.Label) + ")")
	}
	if c.Subtitle != "" {
		b.WriteString("  \n" + markdownText(c.Subtitle))
	}
	b.WriteByte('\n')
	if len(c.Fields) > 0 {
		b.WriteByte('\n')
	}
	for _, f := range c.Fields {
		b.WriteString("- " + markdownText(f.Label) + ": " + markdownText(f.value()) + "\n")
	}
	if body := strings.TrimSpace(c.Body); body != "" {
		b.WriteString("\n" + body + "\n")
	}
	return b.String()
}

func cardMarkdown(payload json.RawMessage) string {
	var c Card
	if decodePayload(payload, &c) != nil {
		return "[card]"
	}
	return c.markdown()
}

func cardSummary(payload json.RawMessage) string {
	var c Card
	if decodePayload(payload, &c) != nil {
		return "[card]"
	}
	return c.summary("card")
}

// summary writes the card for a model, under what it is.
func (c Card) summary(name string) string {
	lines := []string{name + ": " + c.head()}
	if c.Subtitle != "" {
		lines = append(lines, oneLine(c.Subtitle))
	}
	for _, f := range c.Fields {
		lines = append(lines, oneLine(f.Label)+": "+f.value())
	}
	return strings.Join(lines, "\n")
}

// CardList is the payload of a card_list block.
type CardList struct {
	Title  string         `json:"title,omitempty"`
	Layout string         `json:"layout,omitempty"` // list (the default), grid or carousel
	Items  []CardListItem `json:"items"`
	// Total is how many items there are in all, when these are not all.
	Total int           `json:"total,omitempty"`
	Page  *CardListPage `json:"page,omitempty"`
}

// CardListItem is a card of a list.
type CardListItem struct {
	ID string `json:"id,omitempty"`
	Card
	// Actions are those of the block that are shown on this item.
	Actions []CardItemAction `json:"actions,omitempty"`
}

// CardItemAction is an action of the block with what this item posts to it.
type CardItemAction struct {
	ID     string         `json:"id"`
	Params map[string]any `json:"params,omitempty"`
}

// CardListPage says where the next items are.
type CardListPage struct {
	Cursor string `json:"cursor,omitempty"`
}

// MarshalJSON writes the list that the schema requires even when it is not
// set.
func (l CardList) MarshalJSON() ([]byte, error) {
	type plain CardList
	if l.Items == nil {
		l.Items = []CardListItem{}
	}
	return json.Marshal(plain(l))
}

func cardListType() Type {
	return Type{
		Name:        "card_list",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "Several cards as a list, a grid or a carousel.",
		Schema:      builtinSchema("card_list.v1.json"),
		Height:      280,
		Check:       checkCardList,
		Fallback:    cardListText,
		Markdown:    cardListMarkdown,
		Summary:     cardListSummary,
	}
}

func checkCardList(payload json.RawMessage) error {
	var l CardList
	if err := decodePayload(payload, &l); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	return l.check()
}

// check judges what a schema cannot say of a list.
func (l CardList) check() error {
	var v violations
	var ids unique
	for i, it := range l.Items {
		if it.ID != "" {
			ids.check(&v, fmt.Sprintf("/items/%d/id", i), it.ID)
		}
		var actions unique
		for k, a := range it.Actions {
			actions.check(&v, fmt.Sprintf("/items/%d/actions/%d/id", i, k), a.ID)
		}
	}
	if l.Total > 0 && l.Total < len(l.Items) {
		v.add("/total", "%d is less than the %d items here", l.Total, len(l.Items))
	}
	return v.err()
}

// unique is a set of ids that may each be used once.
type unique map[string]bool

func (u *unique) check(v *violations, path, id string) {
	if *u == nil {
		*u = make(unique)
	}
	if (*u)[id] {
		v.add(path, "%q is used twice", id)
	}
	(*u)[id] = true
}

func (l CardList) total() int { return max(l.Total, len(l.Items)) }

func cardListText(payload json.RawMessage) string {
	var l CardList
	if decodePayload(payload, &l) != nil {
		return "[card_list]"
	}
	return l.text()
}

// text writes the list as plain text.
func (l CardList) text() string {
	rows := make([]string, 0, fallbackRows)
	for _, it := range l.Items[:min(len(l.Items), fallbackRows)] {
		rows = append(rows, it.line())
	}
	return figuresText(oneLine(l.Title), rows, "; ", l.total()-len(rows))
}

func cardListMarkdown(payload json.RawMessage) string {
	var l CardList
	if decodePayload(payload, &l) != nil {
		return "[card_list]"
	}
	return l.markdown()
}

func (l CardList) markdown() string {
	parts := make([]string, 0, len(l.Items)+1)
	if l.Title != "" {
		parts = append(parts, "**"+markdownText(l.Title)+"**\n")
	}
	for _, it := range l.Items {
		parts = append(parts, it.markdown())
	}
	if l.total() > len(l.Items) {
		parts = append(parts, fmt.Sprintf("%d / %d\n", len(l.Items), l.total()))
	}
	return strings.Join(parts, "\n")
}

func cardListSummary(payload json.RawMessage) string {
	var l CardList
	if decodePayload(payload, &l) != nil {
		return "[card_list]"
	}
	return l.summary("")
}

// summary writes the list for a model, under what it is.
func (l CardList) summary(name string) string {
	var lines []string
	if name != "" {
		lines = append(lines, name)
	}
	if l.Title != "" {
		lines = append(lines, "title: "+oneLine(l.Title))
	}
	lines = append(lines, fmt.Sprintf("items: %d", len(l.Items)))
	if l.total() > len(l.Items) {
		lines = append(lines, fmt.Sprintf("items in source: %d", l.total()))
	}
	for _, it := range l.Items[:min(len(l.Items), fallbackRows)] {
		id := ""
		if it.ID != "" {
			id = it.ID + " "
		}
		lines = append(lines, "item "+id+it.line())
	}
	return strings.Join(lines, "\n")
}
