package block

import (
	"encoding/json"
	"fmt"
	"strings"
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

// ProductList is the payload of the preset app.product_list.
type ProductList struct {
	Title string        `json:"title,omitempty"`
	Items []ProductCard `json:"items"`
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
	t.Check = checkProductList
	return t
}

func checkProductList(payload json.RawMessage) error {
	var l ProductList
	if err := decodePayload(payload, &l); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	var ids unique
	for i, p := range l.Items {
		if p.ID != "" {
			ids.check(&v, fmt.Sprintf("/items/%d/id", i), p.ID)
		}
	}
	return v.err()
}

// list is the list as a list of cards.
func (l ProductList) list() CardList {
	list := CardList{Title: l.Title}
	for _, p := range l.Items {
		list.Items = append(list.Items, CardListItem{ID: p.ID, Card: p.card()})
	}
	return list
}
