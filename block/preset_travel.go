package block

// TrainCard is the payload of the preset app.train_card. What comes after
// Reason is the railway's to say.
type TrainCard struct {
	// ID is the number of the train.
	ID     string `json:"id"`
	Date   string `json:"date,omitempty"`
	Reason string `json:"reason,omitempty"`
	From   string `json:"from"`
	To     string `json:"to"`
	// Departure and Arrival are RFC 3339 in the stations' own time.
	Departure       string      `json:"departure"`
	Arrival         string      `json:"arrival"`
	DurationMinutes int         `json:"durationMinutes,omitempty"`
	Platform        string      `json:"platform,omitempty"`
	Status          string      `json:"status,omitempty"`
	Seats           []TrainSeat `json:"seats,omitempty"`
	URL             string      `json:"url,omitempty"`
}

// TrainSeat is a class of seats.
type TrainSeat struct {
	Class string `json:"class"`
	Offer
}

func trainCardType() Type {
	return preset(AppNamespace+".train_card", "A train with its times and what seats are left.", 180, TrainCard.card)
}

func (t TrainCard) card() Card {
	c := Card{Title: t.ID + " " + t.From + " → " + t.To, Subtitle: t.Reason, Status: travelStatus(t.Status)}
	c.add("time", journey(t.Departure, t.Arrival))
	c.add("duration", minutes(t.DurationMinutes))
	c.add("platform", t.Platform)
	for _, s := range t.Seats {
		c.Fields = append(c.Fields, s.field(s.Class))
	}
	return c
}

// FlightCard is the payload of the preset app.flight_card. What comes after
// Reason is the airline's to say.
type FlightCard struct {
	// ID is the number of the flight.
	ID      string      `json:"id"`
	Date    string      `json:"date,omitempty"`
	Reason  string      `json:"reason,omitempty"`
	Airline string      `json:"airline,omitempty"`
	From    FlightPlace `json:"from"`
	To      FlightPlace `json:"to"`
	// Departure and Arrival are RFC 3339 in the airports' own time.
	Departure       string       `json:"departure"`
	Arrival         string       `json:"arrival"`
	DurationMinutes int          `json:"durationMinutes,omitempty"`
	Gate            string       `json:"gate,omitempty"`
	Status          string       `json:"status,omitempty"`
	Fares           []FlightFare `json:"fares,omitempty"`
	URL             string       `json:"url,omitempty"`
}

// FlightPlace is an airport.
type FlightPlace struct {
	Code     string `json:"code"` // IATA
	Name     string `json:"name,omitempty"`
	Terminal string `json:"terminal,omitempty"`
}

func (p FlightPlace) text() string {
	s := p.Code
	if p.Name != "" {
		s = p.Name + " (" + p.Code + ")"
	}
	if p.Terminal != "" {
		s += " " + p.Terminal
	}
	return s
}

// FlightFare is a cabin.
type FlightFare struct {
	Cabin string `json:"cabin"`
	Offer
}

func flightCardType() Type {
	return preset(AppNamespace+".flight_card", "A flight with its times and fares.", 180, FlightCard.card)
}

func (f FlightCard) card() Card {
	c := Card{Title: f.ID + " " + f.From.text() + " → " + f.To.text(), Subtitle: f.Reason, Status: travelStatus(f.Status)}
	c.add("airline", f.Airline)
	c.add("time", journey(f.Departure, f.Arrival))
	c.add("duration", minutes(f.DurationMinutes))
	c.add("gate", f.Gate)
	for _, s := range f.Fares {
		c.Fields = append(c.Fields, s.field(s.Cabin))
	}
	return c
}

// HotelCard is the payload of the preset app.hotel_card. What comes after
// CheckOut is the hotel's to say.
type HotelCard struct {
	ID          string      `json:"id,omitempty"` // empty where none is known
	Title       string      `json:"title"`
	Description string      `json:"description,omitempty"`
	Reason      string      `json:"reason,omitempty"`
	CheckIn     string      `json:"checkIn,omitempty"`
	CheckOut    string      `json:"checkOut,omitempty"`
	Stars       int         `json:"stars,omitempty"`
	Address     string      `json:"address,omitempty"`
	ImageURL    string      `json:"imageUrl,omitempty"`
	Rating      *float64    `json:"rating,omitempty"`
	Amenities   []string    `json:"amenities,omitempty"`
	Rooms       []HotelRoom `json:"rooms,omitempty"`
	URL         string      `json:"url,omitempty"`
}

// HotelRoom is a kind of room with its rate per night.
type HotelRoom struct {
	Name string `json:"name"`
	Offer
}

func hotelCardType() Type {
	return preset(AppNamespace+".hotel_card", "A hotel with its rooms and rates.", 240, HotelCard.card)
}

func (h HotelCard) card() Card {
	c := Card{Title: h.Title, Subtitle: h.Reason, Body: h.Description}
	if h.Stars > 0 {
		stars := float64(h.Stars)
		c.addNumber("stars", &stars)
	}
	c.add("address", h.Address)
	c.addNumber("rating", h.Rating)
	if h.CheckIn != "" && h.CheckOut != "" {
		c.add("stay", h.CheckIn+" – "+h.CheckOut)
	}
	for _, r := range h.Rooms {
		c.Fields = append(c.Fields, r.field(r.Name))
	}
	return c
}
