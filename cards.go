package inlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/action/declared"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/demo"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/turn/resolver"
)

// The words of cards.
type (
	// TextCard is a block type that the model may write into its text.
	TextCard = markup.Card
	// CardResolver fetches what only the server may say of cards.
	CardResolver = markup.Resolver

	// ProductCard is the payload of the preset of that name.
	ProductCard = block.ProductCard
	// ProductList is the payload of the preset of that name.
	ProductList = block.ProductList
	// TrainCard is the payload of the preset of that name.
	TrainCard = block.TrainCard
	// FlightCard is the payload of the preset of that name.
	FlightCard = block.FlightCard
	// HotelCard is the payload of the preset of that name.
	HotelCard = block.HotelCard
)

// PresetCard returns one of the cards that come with the product (ProductCard,
// ProductList, TrainCard, FlightCard, HotelCard), filled by resolve. It panics
// for another name, which is a mistake in the program.
func PresetCard(name string, resolve CardResolver) TextCard {
	c, err := markup.Preset(name)
	if err != nil {
		panic("inlay.PresetCard: " + err.Error())
	}
	c.Resolve = resolve
	return c
}

// AddCards adds cards that the model may write into its text, and registers
// their block types. It fails after the App was opened.
func (a *App) AddCards(cards ...TextCard) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return errors.New("inlay: cards must be added before the App is opened")
	}
	return a.addCards(cards...)
}

func (a *App) addCards(cards ...TextCard) error {
	for _, c := range cards {
		if err := a.cards.Add(c); err != nil {
			return err
		}
		// As it was completed.
		added, _ := a.cards.Lookup(c.Name, max(c.Type.Version, 1))
		known, ok := a.registry.Lookup(added.Type.Name, added.Type.Version)
		if ok && string(known.Schema) == string(added.Type.Schema) {
			continue // another way to a block of its type
		}
		if err := a.registry.Register(added.Type); err != nil {
			return fmt.Errorf("card %q: %w", c.Name, err)
		}
	}
	return nil
}

// addDemoCards adds the cards of the demonstration whose names are free.
func (a *App) addDemoCards(d *demo.Demo) error {
	for _, c := range d.Cards() {
		if _, taken := a.cards.Lookup(c.Name, 0); taken {
			continue
		}
		if err := a.addCards(c); err != nil {
			return fmt.Errorf("add the cards of the demonstration: %w", err)
		}
	}
	return nil
}

// CardConfig declares a card without Go: its schema, and a Query on an SQL
// source or a Request on an HTTP source that fetches what only the server may
// say. Either Preset or Name is required.
type CardConfig struct {
	// Preset is ProductCard, ProductList, TrainCard, FlightCard or HotelCard;
	// what is set beside it replaces what it brings.
	Preset string `json:"preset"`
	// Name is how the model writes it, such as OrderCard.
	Name string `json:"name"`
	// Type is a registered block type that the card is written for; without it
	// the card has a type of its own, app.order_card for OrderCard.
	Type string `json:"type"`
	// Version is "major" or "major.minor" of the schema. Default "1.0".
	Version     string `json:"version"`
	Description string `json:"description"`
	// Schema is the JSON Schema of the card; "x-source": "server" marks what is
	// not the model's to say.
	Schema map[string]any `json:"schema"`
	// Example is a card as the model should write it.
	Example map[string]any `json:"example"`
	// Hint tells the model when to use it.
	Hint string `json:"hint"`
	// Syntaxes are fence, placeholder and tag. Default: fence, and placeholder
	// where there is a source.
	Syntaxes []string `json:"syntaxes"`
	// Raw makes the body of a card that is written as a tag text up to its
	// closing tag; Children are the elements that it may have inside instead.
	Raw      bool                   `json:"raw"`
	Children map[string]ChildConfig `json:"children"`
	// Streaming shows the card while it is being written.
	Streaming bool `json:"streaming"`
	// Height is the estimated height in CSS pixels.
	Height int `json:"height"`
	// Fallback is the plain text of a card: text with {{.field}}.
	Fallback string            `json:"fallback"`
	Source   string            `json:"source"`
	Query    string            `json:"query"`
	Request  *httptool.Request `json:"request"`
	// Payload is a jq program that makes the payload of what was fetched.
	Payload string `json:"payload"`
	// Actions is a jq program over {payload, user} that makes the actions, or a
	// list of their names.
	Actions mapping.Actions `json:"actions"`
	// Timeout is how long the data may take. Default 5 s.
	Timeout time.Duration `json:"timeout"`
}

// ChildConfig declares an element inside a card that is written as a tag.
type ChildConfig struct {
	// Raw makes its body text up to its closing tag.
	Raw bool `json:"raw"`
}

// embed are the syntaxes in which the model may write cards; nil for the
// default.
func (c Config) embed() ([]markup.Syntax, error) {
	if c.Agent.Embed == nil {
		return nil, nil
	}
	list := make([]markup.Syntax, len(c.Agent.Embed))
	for i, s := range c.Agent.Embed {
		var err error
		if list[i], err = markup.ParseSyntax(s); err != nil {
			return nil, fmt.Errorf("agent.embed[%d]: %w", i, err)
		}
	}
	return list, nil
}

// declareCards adds the cards of the configuration.
func (a *App) declareCards(s *sources) error {
	known, err := a.knownActions()
	if err != nil {
		return err
	}
	for i, cc := range a.cfg.Cards {
		card, err := cc.make(s, a.registry)
		if err == nil {
			err = a.addCards(card)
		}
		if err == nil {
			added, _ := a.cards.Lookup(card.Name, max(card.Type.Version, 1))
			err = cc.checkActions(added, known)
		}
		if err != nil {
			return fmt.Errorf("cards[%d]: %w", i, err)
		}
	}
	return nil
}

// knownActions are the actions that a button may call, with the types of block
// that may have each; all when there are none. Those of the program are among
// them once they were added.
func (a *App) knownActions() (map[string][]string, error) {
	known := make(map[string][]string)
	for _, name := range a.actions.Names() {
		known[name] = nil
	}
	if a.withDemo(max(len(a.cfg.Tools), a.tools.Len())) {
		defs, err := demo.ActionDefs()
		if err != nil {
			return nil, err
		}
		for _, d := range defs {
			known[d.Name] = d.Blocks
		}
	}
	for name, ac := range a.cfg.Actions {
		known[name] = ac.Blocks
	}
	for _, s := range a.cfg.Sources {
		if s.Query != nil {
			known[declared.RunQuery] = []string{"query"}
		}
	}
	return known, nil
}

// checkTime bounds a program that is tried at the example of its card.
const checkTime = time.Second

// checkActions finds buttons of a card that lead nowhere. Of a program those are
// known that it makes of the card's example.
func (cc CardConfig) checkActions(card TextCard, known map[string][]string) error {
	if card.Actions == nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), checkTime)
	defer cancel()
	list, err := card.Actions(ctx, card.Example)
	if err != nil {
		if json.Valid([]byte(cc.Actions)) { // a list, and no program that wants more than the example
			return fmt.Errorf("card %q: actions: %w", card.Name, err)
		}
		return nil
	}
	for i, act := range list {
		if act.Kind != block.ActionAPI && act.Kind != "" {
			continue
		}
		name := act.Action
		if name == "" {
			name = act.ID
		}
		blocks, ok := known[name]
		switch {
		case !ok:
			return fmt.Errorf("card %q: actions[%d]: action %q is not registered%s", card.Name, i, name, among(name, sortedKeys(known)))
		case len(blocks) > 0 && !slices.Contains(blocks, card.Type.Name):
			return fmt.Errorf("card %q: actions[%d]: action %q is for blocks of the type %s, and not for %s", card.Name, i, name, strings.Join(blocks, ", "), card.Type.Name)
		}
	}
	return nil
}

// among says what there is instead of a name.
func among(name string, names []string) string {
	if len(names) == 0 {
		return ": there are no actions"
	}
	return fmt.Sprintf(" (there are %s)%s", strings.Join(names, ", "), didYouMean(nearest.Of(name, names)))
}

func (cc CardConfig) make(s *sources, types *block.Registry) (TextCard, error) {
	card, err := cc.begin(types)
	if err != nil {
		return card, err
	}
	wrong := func(format string, args ...any) (TextCard, error) {
		return card, fmt.Errorf("card %q: %w", card.Name, fmt.Errorf(format, args...))
	}
	if cc.Example != nil {
		if card.Example, err = jsonx.Marshal(cc.Example); err != nil {
			return wrong("example: %w", err)
		}
	}
	if cc.Hint != "" {
		card.Hint = cc.Hint
	}
	if cc.Description != "" && cc.Type == "" {
		card.Type.Description = cc.Description
	}
	if cc.Height > 0 && cc.Type == "" {
		card.Type.Height = cc.Height
	}
	if cc.Fallback != "" {
		if cc.Type != "" {
			return wrong("fallback: that of %s stands", cc.Type)
		}
		t, err := mapping.CompileTemplate("fallback", cc.Fallback)
		if err != nil {
			return wrong("%w", err)
		}
		card.Type.Fallback = func(payload json.RawMessage) string {
			v, err := mapping.Decode(payload)
			if err != nil {
				return "[" + card.Name + "]"
			}
			return t.Loose(v, nil)
		}
	}
	if cc.Syntaxes != nil {
		card.Syntaxes = make([]markup.Syntax, len(cc.Syntaxes))
		for i, name := range cc.Syntaxes {
			if card.Syntaxes[i], err = markup.ParseSyntax(name); err != nil {
				return wrong("syntaxes[%d]: %w", i, err)
			}
		}
	}
	card.Tag.Raw = cc.Raw
	for name, child := range cc.Children {
		if card.Tag.Children == nil {
			card.Tag.Children = make(map[string]markup.TagSpec)
		}
		card.Tag.Children[name] = markup.TagSpec{Raw: child.Raw}
	}
	if cc.Actions != "" {
		if card.Actions, err = resolver.Actions(cc.Actions); err != nil {
			return wrong("%w", err)
		}
	}
	card.Streaming, card.Timeout = cc.Streaming, cc.Timeout
	if card.Resolve, err = cc.resolver(s); err != nil {
		return wrong("%w", err)
	}
	return card, nil
}

// begin is the card with its type: a preset, another name for a registered
// type, or one of its own.
func (cc CardConfig) begin(types *block.Registry) (TextCard, error) {
	named := fmt.Sprintf("card %q", cc.Name)
	if cc.Preset != "" {
		switch {
		case cc.Schema != nil, cc.Type != "", cc.Version != "":
			return TextCard{}, fmt.Errorf("preset %q: its schema, type and version stand; declare a card of another name instead", cc.Preset)
		}
		card, err := markup.Preset(cc.Preset)
		if err == nil && cc.Name != "" && cc.Name != card.Name {
			err = fmt.Errorf("preset %q: its name stands; leave name out", cc.Preset)
		}
		return card, err
	}
	if cc.Name == "" {
		return TextCard{}, errors.New("a name or a preset is required")
	}
	major, minor, err := markup.Version(cc.Version)
	if err != nil {
		return TextCard{}, fmt.Errorf("%s: version: %w", named, err)
	}
	card := TextCard{Name: cc.Name, Minor: minor}
	if cc.Type != "" {
		if cc.Schema != nil {
			return card, fmt.Errorf("%s: schema: that of %s stands", named, cc.Type)
		}
		version := 0 // the highest
		if cc.Version != "" {
			version = major
		}
		var ok bool
		if card.Type, ok = types.Lookup(block.TypeNameOf(cc.Type), version); !ok {
			var known []string
			for _, t := range types.Types() {
				known = append(known, t.Name)
			}
			return card, fmt.Errorf("%s: block type %q is not registered%s", named, cc.Type, didYouMean(nearest.Of(cc.Type, known)))
		}
		return card, nil
	}
	if cc.Schema == nil {
		return card, fmt.Errorf("%s: a schema, a type or a preset is required", named)
	}
	schema, err := jsonx.Marshal(cc.Schema)
	if err != nil {
		return card, fmt.Errorf("%s: schema: %w", named, err)
	}
	card.Type = block.Type{Version: major, Schema: schema, Description: cc.Description, Fallback: markup.PlainText(cc.Name)}
	return card, nil
}

// resolver is what fills the card; nil when nothing does.
func (cc CardConfig) resolver(s *sources) (CardResolver, error) {
	o := resolver.Options{Payload: cc.Payload}
	db, isSQL := s.sql[cc.Source]
	origin, isHTTP := s.http[cc.Source]
	switch {
	case cc.Source == "":
		if cc.Query != "" || cc.Request != nil || cc.Payload != "" {
			return nil, errors.New("source: required with query, request or payload")
		}
		return nil, nil
	case isSQL && cc.Query != "" && cc.Request == nil:
		return resolver.SQL(db, cc.Query, o)
	case isHTTP && cc.Request != nil && cc.Query == "":
		return resolver.HTTP(origin, *cc.Request, o)
	case isSQL:
		return nil, fmt.Errorf("its source %s is a database: query is required, and no request", cc.Source)
	case isHTTP:
		return nil, fmt.Errorf("its source %s is an HTTP origin: request is required, and no query", cc.Source)
	}
	return nil, s.undefined(cc.Source)
}

// proxied makes an App with the cards of NewProxy, which has no upstream.
func proxied(upstreamData bool) func(Config) (*App, error) {
	return func(c Config) (*App, error) {
		off := false
		c.Demo = &off
		app, err := New(c)
		if err != nil {
			return nil, err
		}
		return app, app.addProxyCards(upstreamData)
	}
}

// cardsOf opens what the cards of a configuration need and calls use with them
// and the syntaxes in which they may be written. Nothing is called that they
// name.
func (c Config) cardsOf(open func(Config) (*App, error), use func(cards *markup.Cards, types *block.Registry, embed []markup.Syntax) error) error {
	app, err := open(c)
	if err != nil {
		return err
	}
	return app.useCards(use)
}

func (a *App) useCards(use func(cards *markup.Cards, types *block.Registry, embed []markup.Syntax) error) error {
	c := a.cfg
	open, err := c.openSources()
	if err != nil {
		return err
	}
	err = a.declareCards(open)
	if err == nil {
		embed, _ := c.embed() // checked by New
		if embed == nil {
			embed = []markup.Syntax{markup.Fence, markup.Placeholder}
		}
		err = use(a.cards, a.registry, embed)
	}
	return errors.Join(err, open.close())
}

// CardPrompt returns what the model is told of the cards of a configuration;
// "" when it has none.
func (c Config) CardPrompt() (prompt string, err error) { return c.cardPrompt(New) }

// ProxyCardPrompt is CardPrompt for a configuration behind NewProxy, which has
// cards where the configuration has none.
func (c Config) ProxyCardPrompt(upstreamData bool) (prompt string, err error) {
	return c.cardPrompt(proxied(upstreamData))
}

func (c Config) cardPrompt(open func(Config) (*App, error)) (prompt string, err error) {
	err = c.cardsOf(open, func(cards *markup.Cards, _ *block.Registry, embed []markup.Syntax) error {
		prompt = cards.Prompt(embed, nil)
		return nil
	})
	return prompt, err
}

// CardFinding is one part of a text that CheckCards looked at.
type CardFinding struct {
	// Name is the card's; "" for text between cards.
	Name string
	// Syntax is how it was written.
	Syntax string
	// Text is the text, or what stands for the card in plain text.
	Text string
	// Reason says why the card is not shown, such as bad_json, and Err what is
	// wrong with it; "" and nil for one that is.
	Reason string
	Err    error
	// Source is the card as it was written.
	Source string
	// Dropped are its fields that only the server may say; IDs are looked up.
	Dropped, IDs []string
	// Unversioned says that it names no version, and is taken for 1.0.
	Unversioned bool
}

// CheckCards reads a text as a model's and says what would be shown of it. Data
// of cards is not fetched.
func (c Config) CheckCards(text string) (found []CardFinding, err error) {
	return c.checkCards(New, text)
}

// CheckProxyCards is CheckCards for a configuration behind NewProxy.
func (c Config) CheckProxyCards(upstreamData bool, text string) (found []CardFinding, err error) {
	return c.checkCards(proxied(upstreamData), text)
}

func (c Config) checkCards(open func(Config) (*App, error), text string) (found []CardFinding, err error) {
	err = c.cardsOf(open, func(cards *markup.Cards, types *block.Registry, embed []markup.Syntax) error {
		r := markup.NewReader(cards, embed, func(f markup.Found) {
			switch f.Kind {
			case markup.Text:
				if last := len(found) - 1; last >= 0 && found[last].Name == "" {
					found[last].Text += f.Text
				} else {
					found = append(found, CardFinding{Text: f.Text})
				}
			case markup.End:
				found = append(found, checkCard(cards, types, f))
			case markup.Fallback:
				found = append(found, CardFinding{Name: f.Written.Name, Syntax: string(f.Syntax), Source: f.Source, Reason: f.Reason, Err: errors.New(strings.ReplaceAll(f.Reason, "_", " "))})
			}
		})
		r.Push(text)
		r.Close(markup.Stop)
		return nil
	})
	return found, err
}

func checkCard(cards *markup.Cards, types *block.Registry, f markup.Found) CardFinding {
	out := CardFinding{Name: f.Written.Name, Syntax: string(f.Syntax), Source: f.Source}
	d, err := cards.Draft(f.Written)
	out.Dropped, out.Unversioned = d.Dropped, d.Unversioned && !d.Placeholder
	if err == nil {
		if out.IDs = d.IDs(); len(out.IDs) == 0 {
			err = types.Validate(d.Card.Type.Name, d.Card.Type.Version, d.Payload)
			out.Reason = markup.SchemaInvalid
		}
	}
	var failure *markup.Failure
	switch {
	case errors.As(err, &failure):
		out.Reason, out.Err = failure.Reason, failure.Err
	case err != nil:
		out.Err = err
	default:
		out.Reason = ""
		if len(out.IDs) == 0 {
			out.Text = d.Card.Type.Fallback(d.Payload)
		}
	}
	return out
}
