package markup

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/nearest"
)

// presets are the cards of block.Presets, but for their types.
var presets = map[string]Card{
	"app.product_card": {
		Name:    "ProductCard",
		Hint:    "Use it when you recommend one product.",
		Example: json.RawMessage(`{"id":"p-17","title":"Sample watch Run","reason":"Light, and its battery lasts two weeks."}`),
	},
	"app.product_list": {
		Name:     "ProductList",
		Hint:     "Use it when the user chooses between several products; give them in the order in which you recommend them.",
		Example:  json.RawMessage(`{"title":"Watches for runners","items":[{"id":"p-17","title":"Sample watch Run","reason":"The lightest."},{"id":"p-18","title":"Sample watch Trail"}]}`),
		Syntaxes: []Syntax{Fence},
	},
	"app.train_card": {
		Name:    "TrainCard",
		Hint:    "Use it when you name a train that the user could take.",
		Example: json.RawMessage(`{"id":"G1234","date":"2026-10-01","reason":"The first one that is direct."}`),
	},
	"app.flight_card": {
		Name:    "FlightCard",
		Hint:    "Use it when you name a flight that the user could take.",
		Example: json.RawMessage(`{"id":"XX123","date":"2026-10-01","reason":"It arrives before noon."}`),
	},
	"app.hotel_card": {
		Name:    "HotelCard",
		Hint:    "Use it when you recommend one hotel.",
		Example: json.RawMessage(`{"id":"h-12","title":"Sample Inn","checkIn":"2026-10-01","checkOut":"2026-10-03","reason":"Five minutes from the station."}`),
	},
}

// Presets returns cards for what many products show: ProductCard, ProductList,
// TrainCard, FlightCard, HotelCard. Each wants a Resolve, which fetches by the
// id what only the server may say; the trains and flights cannot be without.
func Presets() []Card {
	var out []Card
	for _, t := range block.Presets() {
		c := presets[t.Name]
		c.Type = t
		out = append(out, c)
	}
	return out
}

// Preset returns the preset of a name.
func Preset(name string) (Card, error) {
	var names []string
	for _, c := range Presets() {
		if c.Name == name {
			return c, nil
		}
		names = append(names, c.Name)
	}
	hint := ""
	if near := nearest.Of(name, names); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return Card{}, fmt.Errorf("there is no preset %q (there are %s)%s", name, strings.Join(names, ", "), hint)
}
