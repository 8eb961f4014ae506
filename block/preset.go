package block

import (
	"embed"
	"encoding/json"
	"fmt"
	"io/fs"
	"strings"
	"time"
)

//go:embed schema/presets/*.json
var presetFiles embed.FS

// Presets returns types for what many products show: a product, a list of
// them, a train, a flight, a hotel. They are no built-in types: an installation
// registers those that it uses. In their schemas "x-source": "server" marks what
// a model must not make up.
func Presets() []Type {
	return []Type{productCardType(), productListType(), trainCardType(), flightCardType(), hotelCardType()}
}

// PresetSchemas returns the JSON Schemas of the presets as files named
// "app.product_card.v1.json".
func PresetSchemas() fs.FS {
	sub, err := fs.Sub(presetFiles, "schema/presets")
	if err != nil {
		panic(err) // the directory is embedded above
	}
	return sub
}

// preset is a type that writes its texts as the card, or the list of cards, does
// that it is for those who do not draw it.
func preset[P any, C interface {
	text() string
	markdown() string
	summary(name string) string
}](name, description string, height int, card func(p P) C) Type {
	schema, err := presetFiles.ReadFile("schema/presets/" + name + ".v1.json")
	if err != nil {
		panic(err) // the file is embedded above
	}
	write := func(text func(c C) string) func(payload json.RawMessage) string {
		return func(payload json.RawMessage) string {
			var p P
			if decodePayload(payload, &p) != nil {
				return "[" + name + "]"
			}
			return text(card(p))
		}
	}
	return Type{
		Name: name, Version: 1, Class: ClassDisplay, Source: SourceApp, Description: description, Schema: schema, Height: height,
		Fallback: write(C.text), Markdown: write(C.markdown), Summary: write(func(c C) string { return c.summary(name) }),
	}
}

// Offer is one thing of several that can be had: a class of seats, a room.
type Offer struct {
	Price    *float64 `json:"price,omitempty"`
	Currency string   `json:"currency,omitempty"` // ISO 4217
	// Available is how many are left; 0 is sold out, nil not known.
	Available *int `json:"available,omitempty"`
}

// field writes the offer as a field of a card.
func (o Offer) field(name string) CardField {
	var words []string
	if o.Price != nil {
		words = append(words, money(*o.Price, o.Currency))
	}
	switch {
	case o.Available == nil:
	case *o.Available == 0:
		words = append(words, "sold out")
	default:
		words = append(words, fmt.Sprintf("%d left", *o.Available))
	}
	f := CardField{Label: name}
	if len(words) > 0 {
		f.Value = strings.Join(words, ", ")
	}
	return f
}

func money(v float64, currency string) string {
	if currency == "" {
		return figure{}.write(v)
	}
	return figure{format: FormatCurrency, currency: currency}.write(v)
}

// add appends a field that has a value.
func (c *Card) add(label, value string) {
	if value != "" {
		c.Fields = append(c.Fields, CardField{Label: label, Value: value})
	}
}

func (c *Card) addNumber(label string, v *float64) {
	if v != nil {
		c.Fields = append(c.Fields, CardField{Label: label, Value: *v})
	}
}

// journey writes when something leaves and arrives, in the times of its places:
// "2026-10-01 10:00 – 11:05".
func journey(departure, arrival string) string {
	from, err := time.Parse(time.RFC3339, departure)
	if err != nil {
		return strings.Trim(departure+" – "+arrival, " –")
	}
	s := from.Format("2006-01-02 15:04")
	to, err := time.Parse(time.RFC3339, arrival)
	switch {
	case err != nil:
	case to.Format(time.DateOnly) == from.Format(time.DateOnly):
		s += " – " + to.Format("15:04")
	default:
		s += " – " + to.Format("2006-01-02 15:04")
	}
	return s
}

// travelStates are the states of a journey in words, with their tone.
var travelStates = map[string]CardStatus{
	"on_time":   {"on time", "success"},
	"delayed":   {"delayed", "warning"},
	"boarding":  {"boarding", "info"},
	"departed":  {"departed", "neutral"},
	"arrived":   {"arrived", "neutral"},
	"cancelled": {"cancelled", "danger"},
}

func travelStatus(state string) *CardStatus {
	if s, ok := travelStates[state]; ok {
		return &s
	}
	return nil
}

func minutes(n int) string {
	switch {
	case n <= 0:
		return ""
	case n < 60:
		return fmt.Sprintf("%d min", n)
	}
	return fmt.Sprintf("%d h %d min", n/60, n%60)
}
