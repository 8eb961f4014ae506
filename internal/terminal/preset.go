package terminal

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
)

// The cards that come with the product and that a program or a configuration
// switches on.
const (
	productCardName = block.AppNamespace + ".product_card"
	productListName = block.AppNamespace + ".product_list"
	trainCardName   = block.AppNamespace + ".train_card"
	flightCardName  = block.AppNamespace + ".flight_card"
	hotelCardName   = block.AppNamespace + ".hotel_card"
)

// few is how many left are told to be few.
const few = 9

// field adds a line to a card, unless there is nothing in it.
func field(c *block.Card, label, value string) {
	if value != "" {
		c.Fields = append(c.Fields, block.CardField{Label: label, Value: value})
	}
}

// money writes a price; nothing for one that is not known.
func money(v *float64, currency string) string {
	if v == nil {
		return ""
	}
	if currency == "" {
		return block.FormatFloat(*v)
	}
	return block.NumberFormat{Format: block.FormatCurrency, Currency: currency}.Text(*v)
}

// rating writes what others think of a thing.
func rating(v *float64) string {
	if v == nil {
		return ""
	}
	return block.FormatFloat(*v) + " / 5"
}

// preset draws a card with the address of its page and that of its picture,
// which a person may open.
func (r *Renderer) preset(c block.Card, picture, page string) []line {
	in := r.narrower(2)
	lines := in.inside(c)
	for _, to := range []struct{ word, url string }{{"image", picture}, {"opens", page}} {
		url := oneLine(to.url)
		if !strings.HasPrefix(url, "https://") {
			continue
		}
		if to.word == "image" {
			url = "[" + in.say("image") + "] " + url
		}
		for _, part := range hard(url, in.width) {
			lines = append(lines, plain(part, Underline))
		}
	}
	return bar(lines, Dim)
}

func drawProductCard(r *Renderer, b block.Block) ([]line, bool) {
	var p block.ProductCard
	if !decode(b.Payload, &p) || oneLine(p.Title) == "" {
		return nil, false
	}
	return r.product(p), true
}

func (r *Renderer) product(p block.ProductCard) []line {
	c := block.Card{Title: p.Title, Subtitle: p.Reason, Body: p.Description}
	price := p.Price
	if price == nil {
		price = p.ItemPrice
	}
	text := money(price, p.Currency)
	if text != "" && p.OriginalPrice != nil && *p.OriginalPrice > *price {
		text += " (" + r.say("was", money(p.OriginalPrice, p.Currency)) + ")"
	}
	field(&c, r.say("price"), text)
	field(&c, r.say("discount"), oneLine(p.Discount))
	field(&c, r.say("rating"), rating(p.Rating))
	if p.Stock != nil {
		c.Status = r.stock(*p.Stock)
	}
	return r.preset(c, p.ImageURL, p.URL)
}

// stock words how many there are.
func (r *Renderer) stock(n int) *block.CardStatus {
	switch {
	case n <= 0:
		return &block.CardStatus{Label: r.say("soldOut"), Tone: "danger"}
	case n <= few:
		return &block.CardStatus{Label: r.say("few", n), Tone: "warning"}
	}
	return &block.CardStatus{Label: r.say("stock", n), Tone: "success"}
}

func drawProductList(r *Renderer, b block.Block) ([]line, bool) {
	var l block.ProductList
	if !decode(b.Payload, &l) {
		return nil, false
	}
	if b.Status == block.StatusLoading { // the last one is being written
		for len(l.Items) > 0 && oneLine(l.Items[len(l.Items)-1].Title) == "" {
			l.Items = l.Items[:len(l.Items)-1]
		}
		if len(l.Items) == 0 {
			return r.heading(l.Title, ""), oneLine(l.Title) != ""
		}
	}
	return r.several(l.Title, len(l.Items), l.Total, func(i int) []line { return r.product(l.Items[i].ProductCard) }), true
}

// trip is a train or a flight.
type trip struct {
	number, from, to, reason string
	departure, arrival       string
	date                     string
	minutes                  int
	status                   string
	extra                    [][2]string // words and values of its own
	offers                   []offer
	url                      string
}

// offer is one thing of several that can be had.
type offer struct {
	name string
	block.Offer
}

// trip reads a block that is one.
func (r *Renderer) trip(b block.Block) (trip, bool) {
	switch b.Type {
	case trainCardName:
		var p block.TrainCard
		if !decode(b.Payload, &p) {
			break
		}
		t := trip{
			number: p.ID, from: p.From, to: p.To, reason: p.Reason, departure: p.Departure, arrival: p.Arrival, date: p.Date,
			minutes: p.DurationMinutes, status: p.Status, extra: [][2]string{{"platform", p.Platform}}, url: p.URL,
		}
		for _, s := range p.Seats {
			t.offers = append(t.offers, offer{s.Class, s.Offer})
		}
		return t, t.title() != ""
	case flightCardName:
		var p block.FlightCard
		if !decode(b.Payload, &p) {
			break
		}
		t := trip{
			number: p.ID, from: airport(p.From), to: airport(p.To), reason: p.Reason, departure: p.Departure, arrival: p.Arrival, date: p.Date,
			minutes: p.DurationMinutes, status: p.Status, extra: [][2]string{{"airline", p.Airline}, {"gate", p.Gate}}, url: p.URL,
		}
		for _, f := range p.Fares {
			t.offers = append(t.offers, offer{f.Cabin, f.Offer})
		}
		return t, t.title() != ""
	}
	return trip{}, false
}

// airport words a place of a flight.
func airport(p block.FlightPlace) string {
	s := oneLine(p.Code)
	if name := oneLine(p.Name); name != "" {
		s = strings.TrimSuffix(name+" ("+s+")", " ()")
	}
	return oneLine(s + " " + p.Terminal)
}

// title is its number with where it goes.
func (t trip) title() string {
	s := oneLine(t.number)
	if from, to := oneLine(t.from), oneLine(t.to); from != "" || to != "" {
		s += " " + cmp.Or(from, "…") + " → " + cmp.Or(to, "…")
	}
	return oneLine(s)
}

func drawTrainCard(r *Renderer, b block.Block) ([]line, bool)  { return r.drawTrip(b) }
func drawFlightCard(r *Renderer, b block.Block) ([]line, bool) { return r.drawTrip(b) }

func (r *Renderer) drawTrip(b block.Block) ([]line, bool) {
	t, ok := r.trip(b)
	if !ok {
		return nil, false
	}
	c := block.Card{Title: t.title(), Subtitle: t.reason}
	if label := r.word("trip." + t.status); label != "" {
		c.Status = &block.CardStatus{Label: label, Tone: tripTones[t.status]}
	}
	field(&c, r.say("time"), times(t))
	field(&c, r.say("duration"), r.minutes(t.minutes))
	for _, e := range t.extra {
		field(&c, r.say(e[0]), oneLine(e[1]))
	}
	r.offers(&c, t.offers)
	return r.preset(c, "", t.url), true
}

var tripTones = map[string]string{"on_time": "success", "delayed": "warning", "boarding": "info", "cancelled": "danger"}

// times writes when something leaves and arrives, by the clocks of its places.
func times(t trip) string {
	from, err := time.Parse(time.RFC3339, t.departure)
	if err != nil {
		if s := strings.Trim(oneLine(t.departure)+" – "+oneLine(t.arrival), " –"); s != "" {
			return s
		}
		return oneLine(t.date)
	}
	s := from.Format("2006-01-02 15:04")
	to, err := time.Parse(time.RFC3339, t.arrival)
	switch {
	case err != nil:
	case to.Format(time.DateOnly) == from.Format(time.DateOnly):
		s += " – " + to.Format("15:04")
	default:
		s += " – " + to.Format("2006-01-02 15:04")
	}
	return s
}

func (r *Renderer) minutes(n int) string {
	switch {
	case n <= 0:
		return ""
	case n < 60:
		return r.say("minutes", n)
	}
	return r.say("hours", n/60, n%60)
}

// offers adds what can be had, each with its price and what is left.
func (r *Renderer) offers(c *block.Card, list []offer) {
	for _, o := range list {
		var words []string
		if price := money(o.Price, o.Currency); price != "" {
			words = append(words, price)
		}
		switch {
		case o.Available == nil:
		case *o.Available <= 0:
			words = append(words, r.say("soldOut"))
		default:
			words = append(words, r.say("left", *o.Available))
		}
		c.Fields = append(c.Fields, block.CardField{Label: o.name, Value: cmp.Or(strings.Join(words, " · "), "–")})
	}
}

func drawHotelCard(r *Renderer, b block.Block) ([]line, bool) {
	var p block.HotelCard
	if !decode(b.Payload, &p) || oneLine(p.Title) == "" {
		return nil, false
	}
	c := block.Card{Title: p.Title, Subtitle: p.Reason, Body: p.Description}
	if p.Stars > 0 {
		field(&c, r.say("stars"), fmt.Sprintf("%d / 5", p.Stars))
	}
	field(&c, r.say("rating"), rating(p.Rating))
	field(&c, r.say("address"), oneLine(p.Address))
	field(&c, r.say("checkIn"), oneLine(p.CheckIn))
	field(&c, r.say("checkOut"), oneLine(p.CheckOut))
	field(&c, r.say("amenities"), oneLine(strings.Join(p.Amenities, " · ")))
	var rooms []offer
	for _, room := range p.Rooms {
		rooms = append(rooms, offer{room.Name, room.Offer})
	}
	r.offers(&c, rooms)
	return r.preset(c, p.ImageURL, p.URL), true
}
