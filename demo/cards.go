package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/markup"
)

// CardsShown is how many cards of an answer the demonstration wants to be shown.
const CardsShown = 4

// Cards returns what a model may write into its text: sample products and
// trains, of which it says no more than which. Prices, stocks, times and seats
// come from the sample data.
func (d *Demo) Cards() []markup.Card {
	var list []markup.Card
	for _, c := range markup.Presets() {
		switch c.Name {
		case "ProductCard":
			c.Example = json.RawMessage(`{"id":"watch-run","title":"Sample watch Run","reason":"Light, and its battery lasts two weeks."}`)
			c.Resolve, c.Actions = d.lookUpProducts, productActions
			c.Syntaxes = markup.Syntaxes()
			c.Streaming = true
		case "TrainCard":
			c.Example = json.RawMessage(`{"id":"S101","reason":"The first one in the morning."}`)
			c.Resolve = d.lookUpTrains
		default:
			continue
		}
		list = append(list, c)
	}
	return list
}

// lookUpProducts is what the sample shop says of its products.
func (d *Demo) lookUpProducts(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	raw, err := jsonx.Marshal(ids)
	if err != nil {
		return nil, fmt.Errorf("look up products: %w", err)
	}
	list, err := d.products(ctx, "id IN (SELECT value FROM json_each(?))", string(raw))
	if err != nil {
		return nil, err
	}
	w := words(ctx)
	found := make(map[string]json.RawMessage, len(list))
	for _, p := range list {
		found[p.id], err = jsonx.Marshal(block.ProductCard{
			ID: p.id, Title: p.name(w), Description: fmt.Sprintf(w("Sample product: %.0f days of battery, %d g.", "示例商品：续航 %.0f 天，重 %d 克。"), p.days, p.grams),
			Price: ptr(p.price), Currency: "CNY", Stock: ptr(p.stock),
		})
		if err != nil {
			return nil, fmt.Errorf("look up products: %w", err)
		}
	}
	return found, nil
}

// productActions are what can be done with the card of a product.
func productActions(ctx context.Context, payload json.RawMessage) ([]block.Action, error) {
	var p block.ProductCard
	if err := json.Unmarshal(payload, &p); err != nil {
		return nil, fmt.Errorf("actions of a product: %w", err)
	}
	id, err := jsonx.Marshal(p.ID)
	if err != nil {
		return nil, fmt.Errorf("actions of a product: %w", err)
	}
	w := words(ctx)
	more := block.Action{ID: "more", Kind: block.ActionPrompt, Label: w("Tell me more", "了解详情"), Prompt: fmt.Sprintf(w("Tell me more about %s", "介绍一下 %s"), p.Title)}
	if p.Stock == nil || *p.Stock == 0 {
		return []block.Action{more}, nil
	}
	return []block.Action{{
		ID: "addToBasket", Kind: block.ActionAPI, Action: "add_to_basket", Style: "primary",
		Label: w("Add to the sample basket", "加入示例购物车"), Params: map[string]json.RawMessage{"product": id},
	}, more}, nil
}

// railway is the time of the sample stations.
var railway = time.FixedZone("UTC+8", 8*60*60)

// lookUpTrains is what the sample railway says of its trains of tomorrow. It
// takes its time, so that the cards are seen to be filled late.
func (d *Demo) lookUpTrains(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	t := time.NewTimer(d.trainTime)
	defer t.Stop()
	select {
	case <-t.C:
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	found := make(map[string]json.RawMessage, len(ids))
	for _, id := range ids {
		card, err := d.train(ctx, id, time.Now().In(railway).AddDate(0, 0, 1))
		if err != nil {
			return nil, fmt.Errorf("look up train %s: %w", id, err)
		}
		if card == nil {
			continue
		}
		if found[id], err = jsonx.Marshal(card); err != nil {
			return nil, fmt.Errorf("look up train %s: %w", id, err)
		}
	}
	return found, nil
}

// train reads a train of a day; nil when there is none of that number.
func (d *Demo) train(ctx context.Context, number string, day time.Time) (*block.TrainCard, error) {
	w := words(ctx)
	rows, err := d.db.QueryContext(ctx, `SELECT origin, origin_zh, destination, destination_zh, departs, minutes, platform, status,
		class, class_zh, price, available FROM trains JOIN train_seats USING (number) WHERE number = ? ORDER BY rank`, number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	var card *block.TrainCard
	for rows.Next() {
		var from, fromZh, to, toZh, departs, platform, status, class, classZh string
		var minutes, left int
		var price float64
		if err := rows.Scan(&from, &fromZh, &to, &toZh, &departs, &minutes, &platform, &status, &class, &classZh, &price, &left); err != nil {
			return nil, err
		}
		if card == nil {
			leaves, err := time.ParseInLocation(time.DateOnly+" 15:04", day.Format(time.DateOnly)+" "+departs, railway)
			if err != nil {
				return nil, err
			}
			card = &block.TrainCard{
				ID: number, Date: day.Format(time.DateOnly), From: w(from, fromZh), To: w(to, toZh),
				Departure: leaves.Format(time.RFC3339), Arrival: leaves.Add(time.Duration(minutes) * time.Minute).Format(time.RFC3339),
				DurationMinutes: minutes, Platform: platform, Status: status,
			}
		}
		card.Seats = append(card.Seats, block.TrainSeat{Class: w(class, classZh), Offer: block.Offer{Price: ptr(price), Currency: "CNY", Available: ptr(left)}})
	}
	return card, rows.Err()
}
