package demo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image/color"
	"strconv"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// product is a sample product.
type product struct {
	id, en, zh   string
	price, days  float64 // days of its battery
	grams, stock int
	strap        string // its colour as hex digits
}

func (p product) name(w func(en, zh string) string) string { return w(p.en, p.zh) }

// products reads the sample products whose condition holds; "" is all of them.
func (d *Demo) products(ctx context.Context, where string, args ...any) ([]product, error) {
	query := "SELECT id, en, zh, price, days, grams, stock, strap FROM products"
	if where != "" {
		query += " WHERE " + where
	}
	rows, err := d.db.QueryContext(ctx, query+" ORDER BY rowid", args...)
	if err != nil {
		return nil, fmt.Errorf("read products: %w", err)
	}
	defer rows.Close()
	var list []product
	for rows.Next() {
		var p product
		if err := rows.Scan(&p.id, &p.en, &p.zh, &p.price, &p.days, &p.grams, &p.stock, &p.strap); err != nil {
			return nil, fmt.Errorf("read products: %w", err)
		}
		list = append(list, p)
	}
	if err := rows.Err(); err != nil {
		return nil, fmt.Errorf("read products: %w", err)
	}
	return list, nil
}

// productNamed finds a product by its id or one of its names.
func (d *Demo) productNamed(ctx context.Context, name string) (product, bool, error) {
	list, err := d.products(ctx, "?1 IN (id, zh) OR lower(?1) = lower(en)", name)
	if err != nil || len(list) == 0 {
		return product{}, false, err
	}
	return list[0], true, nil
}

func (p product) fields(w func(en, zh string) string) []block.CardField {
	return []block.CardField{
		{Label: w("Price", "价格"), Value: p.price, Format: block.FormatCurrency, Currency: "CNY", Decimals: ptr(0)},
		{Label: w("Battery", "续航"), Value: p.days, Unit: w("days", "天")},
		{Label: w("Weight", "重量"), Value: p.grams, Unit: "g"},
	}
}

func (p product) status(w func(en, zh string) string) *block.CardStatus {
	switch {
	case p.stock == 0:
		return &block.CardStatus{Label: w("sold out", "缺货"), Tone: "danger"}
	case p.stock < 50:
		return &block.CardStatus{Label: w("few left", "库存紧张"), Tone: "warning"}
	}
	return &block.CardStatus{Label: w("in stock", "有货"), Tone: "success"}
}

// picture keeps a drawing of the product. A server that keeps no files shows
// the card without one.
func (p product) picture(w func(en, zh string) string, out *tool.Out) (*block.CardImage, error) {
	rgb, err := strconv.ParseUint(p.strap, 16, 24)
	if err != nil {
		return nil, fmt.Errorf("colour of %s: %w", p.id, err)
	}
	drawing, err := drawWatch(color.NRGBA{uint8(rgb >> 16), uint8(rgb >> 8), uint8(rgb), 0xff})
	if err != nil {
		return nil, err
	}
	f, err := out.Keep(p.id+".png", "image/png", drawing)
	var te *tool.Error
	if errors.As(err, &te) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &block.CardImage{AssetID: f.AssetID, Alt: fmt.Sprintf(w("Drawing of %s", "%s示意图"), p.name(w)), Width: watchSize, Height: watchSize}, nil
}

type compareArgs struct {
	Layout string `json:"layout,omitempty" jsonschema:"grid unless the user asks for another form" enum:"grid,carousel,list"`
}

func (d *Demo) compareProducts() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "compare_products",
		Description: "Show the sample watches for runners side by side as cards. A button on each asks for more about it.",
		Title:       map[string]string{"": "Compare products", "zh": "比较商品"},
		Block:       sampleBlock("card_list", 320),
	}, d.runCompareProducts)
}

func (d *Demo) runCompareProducts(ctx context.Context, args compareArgs, out *tool.Out) error {
	w := words(ctx)
	if args.Layout == "" {
		args.Layout = "grid"
	}
	l := block.CardList{Title: w("Watches for runners (sample data)", "跑步手表（示例数据）"), Layout: args.Layout}
	list, err := d.products(ctx, "")
	if err != nil {
		return err
	}
	for _, p := range list {
		image, err := p.picture(w, out)
		if err != nil {
			return err
		}
		l.Items = append(l.Items, block.CardListItem{
			ID: p.id, Card: block.Card{Title: p.name(w), Image: image, Fields: p.fields(w), Status: p.status(w)},
			Actions: []block.CardItemAction{{ID: "more", Params: map[string]any{"name": p.name(w)}}},
		})
	}
	out.Actions(block.Action{
		ID: "more", Kind: block.ActionPrompt, Label: w("Tell me more", "了解详情"),
		Prompt: w("Tell me more about {{name}}", "介绍一下 {{name}}"),
	})
	return out.CardList(l)
}

type productArgs struct {
	Product string `json:"product" jsonschema:"The name of the product as the list shows it, or its id"`
}

func (d *Demo) showProduct() (tool.Tool, error) {
	return tool.New(tool.Spec{
		Name:        "show_product",
		Description: "Show one of the sample watches with what can be done with it: watch its stock, put it into the sample basket.",
		Title:       map[string]string{"": "Look up the product", "zh": "查询商品"},
		Block:       sampleBlock("card", 280),
	}, d.runShowProduct)
}

func (d *Demo) runShowProduct(ctx context.Context, args productArgs, out *tool.Out) error {
	w := words(ctx)
	p, ok, err := d.productNamed(ctx, args.Product)
	if err != nil {
		return err
	}
	if !ok {
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: fmt.Sprintf(w("There is no sample product %q.", "没有示例商品“%s”。"), args.Product)}
	}
	if err := d.showProductCard(ctx, p, out); err != nil {
		return err
	}
	return d.showOffer(w, p, out)
}

// showProductCard writes the card with the button that turns watching on and
// off.
func (d *Demo) showProductCard(ctx context.Context, p product, out *tool.Out) error {
	w := words(ctx)
	var watching bool
	if err := d.db.QueryRowContext(ctx, "SELECT count(*) > 0 FROM watched WHERE owner = ? AND product = ?",
		owner(tool.CallerFrom(ctx)), p.id).Scan(&watching); err != nil {
		return fmt.Errorf("read watched product: %w", err)
	}
	image, err := p.picture(w, out)
	if err != nil {
		return err
	}
	c := block.Card{
		Title: p.name(w), Subtitle: w("Sample product", "示例商品"), Image: image, Fields: p.fields(w), Status: p.status(w),
		Body: w("A made-up watch: neither its price nor its battery is real.", "虚构的手表：价格和续航都不是真的。"),
	}
	label := w("Watch its stock", "关注库存")
	if watching {
		label = w("Stop watching", "取消关注")
		c.Fields = append(c.Fields, block.CardField{Label: w("Stock", "库存"), Value: w("watched", "已关注")})
	}
	out.Actions(block.Action{
		ID: "watch", Kind: block.ActionAPI, Action: "watch_product", Label: label,
		Params: map[string]json.RawMessage{"product": json.RawMessage(fmt.Sprintf("%q", p.id)), "on": json.RawMessage(fmt.Sprint(!watching))},
	})
	return out.Card(c)
}

// showOffer writes the same as a tree: parts that any client can draw.
func (d *Demo) showOffer(w func(en, zh string) string, p product, out *tool.Out) error {
	text := func(look, value string) block.TreeNode {
		return block.TreeNode{Type: "text", Props: map[string]any{"value": value, "style": look}}
	}
	out.Actions(block.Action{
		ID: "addToBasket", Kind: block.ActionAPI, Action: "add_to_basket", Label: w("Add to the sample basket", "加入示例购物车"),
	})
	return out.Tree(block.Tree{
		Title: w("Offer (sample data)", "示例优惠"),
		Root: block.TreeNode{Type: "card", Children: []block.TreeNode{
			text("title", p.name(w)),
			{Type: "row", Props: map[string]any{"justify": "between"}, Children: []block.TreeNode{
				text("price", fmt.Sprintf("¥%.0f", p.price)),
				{Type: "badge", Props: map[string]any{"value": p.status(w).Label, "tone": p.status(w).Tone}},
			}},
			{Type: "divider"},
			text("caption", w("Nothing is sold here: it is a sample.", "仅为示例，不会产生交易。")),
			{Type: "button", Props: map[string]any{"text": w("Add to the sample basket", "加入示例购物车")},
				Action: &block.TreeAction{ID: "addToBasket", Params: map[string]any{"product": p.id}}},
		}},
	})
}

type watchPayload struct {
	Product string `json:"product"`
	On      bool   `json:"on"`
}

func (d *Demo) watchProduct() (action.Def, error) {
	return action.Typed(action.Def{
		Name:       "watch_product",
		Label:      bilingual("Watch its stock", "关注库存"),
		Effect:     action.Write,
		Confirm:    action.Confirm{Level: action.LevelNone}, // the same button undoes it
		Idempotent: true,
		PerMinute:  60,
		Feedback:   action.Feedback{Failure: bilingual("It was not changed.", "没有修改成功。")},
	}, func(ctx context.Context, c action.Call, req watchPayload, out *tool.Out) (action.Result, error) {
		w := words(ctx)
		p, ok, err := d.productNamed(ctx, req.Product)
		if err != nil {
			return action.Result{}, err
		}
		if !ok {
			return action.Result{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: w("The product is gone.", "商品不存在了。")}
		}
		statement, text := "DELETE FROM watched WHERE owner = ? AND product = ?", w("%s is not watched any more.", "已取消关注%s。")
		if req.On {
			statement, text = "INSERT INTO watched (owner, product) VALUES (?, ?) ON CONFLICT DO NOTHING", w("%s is watched.", "已关注%s。")
		}
		if _, err := d.db.ExecContext(ctx, statement, owner(c.Caller), p.id); err != nil {
			return action.Result{}, fmt.Errorf("watch product: %w", err)
		}
		res := action.Result{Value: map[string]any{"watching": req.On}, Text: fmt.Sprintf(text, p.name(w))}
		if out.Update() != nil {
			return res, nil // done, and only not shown
		}
		return res, d.showProductCard(ctx, p, out)
	})
}

type basketPayload struct {
	Product string `json:"product"`
}

func (d *Demo) addToBasket() (action.Def, error) {
	return action.Typed(action.Def{
		Name:    "add_to_basket",
		Label:   bilingual("Add to the sample basket", "加入示例购物车"),
		Effect:  action.Write,
		Confirm: action.Confirm{Level: action.LevelNone}, // a basket binds nobody
		// A call that comes twice is one piece in the basket.
		Idempotent: true,
		PerMinute:  60,
		Feedback:   action.Feedback{Failure: bilingual("It could not be added.", "加入失败，请稍后重试。")},
	}, func(ctx context.Context, c action.Call, req basketPayload, _ *tool.Out) (action.Result, error) {
		w := words(ctx)
		p, ok, err := d.productNamed(ctx, req.Product)
		if err != nil {
			return action.Result{}, err
		}
		if !ok || p.stock == 0 {
			return action.Result{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: w("It is sold out.", "已经缺货。")}
		}
		if _, err := d.db.ExecContext(ctx, "INSERT INTO basket (call, owner, product, at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
			c.ID, owner(c.Caller), p.id, time.Now().UnixMilli()); err != nil {
			return action.Result{}, fmt.Errorf("add to basket: %w", err)
		}
		var n int
		if err := d.db.QueryRowContext(ctx, "SELECT count(*) FROM basket WHERE owner = ?", owner(c.Caller)).Scan(&n); err != nil {
			return action.Result{}, fmt.Errorf("count basket: %w", err)
		}
		return action.Result{Value: map[string]any{"pieces": n}, Text: fmt.Sprintf(w("Pieces in the sample basket: %d.", "示例购物车中共 %d 件。"), n)}, nil
	})
}
