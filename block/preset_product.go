package block

import (
	"encoding/json"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// ProductCard is the payload of the preset app.product_card. What comes after
// Reason is the shop's to say.
type ProductCard struct {
	// ID is empty where none is known.
	ID          string `json:"id,omitempty"`
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Reason is why it is the right one.
	Reason   string   `json:"reason,omitempty"`
	ImageURL string   `json:"imageUrl,omitempty"`
	Price    *float64 `json:"price,omitempty"`
	// ItemPrice is what some call the price; Price goes before it.
	ItemPrice *float64 `json:"itemPrice,omitempty"`
	// OriginalPrice is the price before a discount.
	OriginalPrice *float64 `json:"originalPrice,omitempty"`
	Currency      string   `json:"currency,omitempty"` // ISO 4217
	Discount      string   `json:"discount,omitempty"`
	// Stock is how many there are; 0 is sold out, nil not known.
	Stock  *int     `json:"stock,omitempty"`
	Rating *float64 `json:"rating,omitempty"`
	URL    string   `json:"url,omitempty"`
}

func productCardType() Type {
	t := preset(AppNamespace+".product_card", "A product with what the shop says of it.", 200, ProductCard.card)
	t.Link = func(payload json.RawMessage) string {
		var p ProductCard
		if decodePayload(payload, &p) != nil || p.URL == "" {
			return ""
		}
		return p.link() + p.rest()
	}
	return t
}

func (p ProductCard) card() Card {
	c := Card{Title: p.Title, Subtitle: p.Reason, Body: p.Description}
	c.add("price", p.price())
	c.add("discount", p.Discount)
	c.addNumber("rating", p.Rating)
	if p.Stock != nil {
		c.Status = stockStatus(*p.Stock)
	}
	return c
}

func stockStatus(n int) *CardStatus {
	if n == 0 {
		return &CardStatus{Label: "sold out", Tone: "danger"}
	}
	return &CardStatus{Label: "in stock", Tone: "success"}
}

func (p ProductCard) link() string { return linkTo(p.Title, p.URL) }

// rest is what follows the link in a line.
func (p ProductCard) rest() string {
	if price := p.price(); price != "" {
		return ": " + price
	}
	return ""
}

// price writes the price; "" where it is not known.
func (p ProductCard) price() string {
	v := p.Price
	if v == nil {
		v = p.ItemPrice
	}
	if v == nil {
		return ""
	}
	return money(*v, p.Currency)
}

// linkTo writes a Markdown link.
func linkTo(label, url string) string {
	return "[" + markdownText(oneLine(label)) + "](<" + strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "", "\r", "").Replace(url) + ">)"
}

// ProductList is the payload of the preset app.product_list. Total and Page are
// the shop's to say.
type ProductList struct {
	Title  string            `json:"title,omitempty"`
	Layout string            `json:"layout,omitempty"` // carousel (the default), list or grid
	Items  []ProductListItem `json:"items"`
	// Total is how many products there are in all, when these are not all.
	Total int           `json:"total,omitempty"`
	Page  *CardListPage `json:"page,omitempty"`
}

// ProductListItem is a product of a list.
type ProductListItem struct {
	ProductCard
	// Actions are those of the block that are shown on this product. They are the
	// shop's to say.
	Actions []CardItemAction `json:"actions,omitempty"`
}

func productListType() Type {
	t := preset(AppNamespace+".product_list", "Several products side by side.", 280, ProductList.list)
	t.Link = func(payload json.RawMessage) string {
		var l ProductList
		if decodePayload(payload, &l) != nil {
			return ""
		}
		var lines []string
		for _, p := range l.Items {
			if p.URL == "" {
				return ""
			}
			lines = append(lines, "- "+p.link()+p.rest())
		}
		return strings.Join(lines, "\n")
	}
	t.Clean = cleanProductList
	t.Check = func(payload json.RawMessage) error {
		var l ProductList
		if err := decodePayload(payload, &l); err != nil {
			return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
		}
		return l.list().check()
	}
	return t
}

// cleanProductList writes the actions of products by their id: shops that have
// an action of their own in mind write {"type": "api", "name": …, "params": …}.
func cleanProductList(payload json.RawMessage) (json.RawMessage, error) {
	var root any
	if decodePayload(payload, &root) != nil {
		return payload, nil
	}
	list, _ := root.(map[string]any)
	items, _ := list["items"].([]any)
	changed := false
	for _, one := range items {
		item, _ := one.(map[string]any)
		actions, _ := item["actions"].([]any)
		for i, one := range actions {
			a, _ := one.(map[string]any)
			name, ok := a["name"].(string)
			if !ok || a["id"] != nil {
				continue
			}
			placed := map[string]any{"id": name}
			if params, ok := a["params"]; ok {
				placed["params"] = params
			}
			actions[i], changed = placed, true
		}
	}
	if !changed {
		return payload, nil
	}
	return jsonx.Marshal(root)
}

// list is the list as a list of cards.
func (l ProductList) list() CardList {
	list := CardList{Title: l.Title, Layout: l.Layout, Total: l.Total, Page: l.Page}
	for _, p := range l.Items {
		list.Items = append(list.Items, CardListItem{ID: p.ID, Card: p.card(), Actions: p.Actions})
	}
	return list
}
