package markup

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/nearest"
)

// DefaultTimeout is how long the data of a card may take unless its Card says
// otherwise.
const DefaultTimeout = 5 * time.Second

// DefaultHoldback is the Config.Holdback of a product that names none.
const DefaultHoldback = 256

// Resolver fetches what the server says of things that a model named by their
// ids, in one call for all of them. What it returns for an id is laid over what
// the model wrote; an id that it leaves out, or that is null, does not exist. With
// an error it may return what it has all the same: only the ids that it leaves
// out have failed then, each with its own error where they are IDErrors. Whose data it may read is in ctx, as it is for tools; ctx
// ends with the card's time, and when the user stops. Resolvers are safe for
// concurrent use.
type Resolver func(ctx context.Context, ids []string) (map[string]json.RawMessage, error)

// IDErrors are the errors of a Resolver by the id that each of them is about.
type IDErrors map[string]error

// Error implements error.
func (e IDErrors) Error() string {
	ids := slices.Sorted(maps.Keys(e))
	for i, id := range ids {
		ids[i] = fmt.Sprintf("%q: %v", id, e[id])
	}
	return strings.Join(ids, "; ")
}

// Unwrap returns the errors.
func (e IDErrors) Unwrap() []error {
	out := make([]error, 0, len(e))
	for _, id := range slices.Sorted(maps.Keys(e)) {
		out = append(out, e[id])
	}
	return out
}

// Card is a block type that a model may write into its text.
type Card struct {
	// Name is how the model writes it, such as ProductCard.
	Name string
	// Type is the block that the card becomes. Its Name may be left out: that of
	// ProductCard is app.product_card; and so may its Version, which is 1. Its
	// Schema is required. A field whose schema says "x-source": "server" is not
	// the model's to say: what it wrote there is dropped, and Resolve fills it.
	Type block.Type
	// Minor is the minor version of the schema.
	Minor int
	// Example is what the model is shown: the JSON of a card as it should write
	// it.
	Example json.RawMessage
	// Hint tells the model when to use the card.
	Hint string
	// Syntaxes are the ways in which it may be written. Default: a fence, and,
	// where Resolve fills it, a placeholder.
	Syntaxes []Syntax
	// Tag describes the element of a card that is written as a tag. Its payload
	// has the attributes as text, the body as "text" and the elements inside as
	// "children", each with its name as "tag".
	Tag TagSpec
	// Streaming shows the card while its body is being written.
	Streaming bool
	// Resolve fetches the server's part; nil when there is none.
	Resolve Resolver
	// Timeout is how long Resolve may take. Default 5 s.
	Timeout time.Duration
	// Actions are what a person can do with a finished card; nil for none.
	Actions func(ctx context.Context, payload json.RawMessage) ([]block.Action, error)
}

// writes reports whether the card may be written in a syntax.
func (c Card) writes(s Syntax) bool { return slices.Contains(c.Syntaxes, s) }

// Cards are the cards of an installation. They are safe for concurrent use;
// cards are normally added at start.
type Cards struct {
	mu    sync.RWMutex
	cards map[string][]*card // by name, ascending version
}

// card is a Card with what is read from its schema.
type card struct {
	Card
	schema *cardSchema
	// draft is the schema of a card of which the server will say more: nothing
	// is required yet.
	draft *block.Schema
}

// NewCards returns the given cards.
func NewCards(cards ...Card) (*Cards, error) {
	c := &Cards{cards: make(map[string][]*card)}
	if err := c.Add(cards...); err != nil {
		return nil, err
	}
	return c, nil
}

// Add adds cards. It fails for a name that no scanner would find, a version
// that is there already, a schema that cannot be filled and an example that
// would not be shown.
func (c *Cards) Add(cards ...Card) error {
	for _, given := range cards {
		made, err := newCard(given)
		if err != nil {
			return fmt.Errorf("card %q: %w", given.Name, err)
		}
		c.mu.Lock()
		have := c.cards[made.Name]
		taken := slices.ContainsFunc(have, func(h *card) bool { return h.Type.Version == made.Type.Version })
		if !taken {
			have = append(slices.Clone(have), made)
			sort.Slice(have, func(i, j int) bool { return have[i].Type.Version < have[j].Type.Version })
			c.cards[made.Name] = have
		}
		c.mu.Unlock()
		if taken {
			return fmt.Errorf("card %q: version %d is there already", given.Name, made.Type.Version)
		}
	}
	return nil
}

func newCard(c Card) (*card, error) {
	if !validName(c.Name) {
		return nil, errors.New("a name begins with a letter and has letters, digits, _, - and . only")
	}
	if err := c.fillType(); err != nil {
		return nil, err
	}
	if c.Syntaxes == nil {
		c.Syntaxes = []Syntax{Fence}
		if c.Resolve != nil {
			c.Syntaxes = append(c.Syntaxes, Placeholder)
		}
	}
	for _, s := range c.Syntaxes {
		if err := checkSyntax(s); err != nil {
			return nil, err
		}
	}
	if err := checkTag(c.Tag); err != nil {
		return nil, err
	}
	switch {
	case len(c.Syntaxes) == 0:
		return nil, errors.New("it can be written in no syntax")
	case c.Resolve == nil && c.writes(Placeholder):
		return nil, errors.New("a placeholder has no data but what a resolver fetches, and there is none")
	case c.Timeout < 0:
		return nil, fmt.Errorf("timeout %s must not be negative", c.Timeout)
	case c.Minor < 0:
		return nil, fmt.Errorf("minor version %d must not be negative", c.Minor)
	}
	if c.Timeout == 0 {
		c.Timeout = DefaultTimeout
	}
	made := &card{Card: c}
	var err error
	if made.schema, err = readSchema(c.Type.Schema); err != nil {
		return nil, err
	}
	if c.Resolve == nil {
		if name, ok := made.schema.unfilled(); ok {
			return nil, fmt.Errorf("the schema requires %q, which only the server may say, and there is no resolver that does", name)
		}
	}
	loose, err := made.schema.loose()
	if err != nil {
		return nil, err
	}
	if made.draft, err = block.CompileSchema("card/"+c.Name, loose); err != nil {
		return nil, err
	}
	if len(c.Example) == 0 {
		return nil, errors.New("an example is required")
	}
	if err := made.checkExample(); err != nil {
		return nil, fmt.Errorf("example: %w", err)
	}
	return made, nil
}

// checkTag finds elements that no scanner would find.
func checkTag(t TagSpec) error {
	if t.Raw && len(t.Children) > 0 {
		return errors.New("an element whose body is text has no elements inside")
	}
	for name, child := range t.Children {
		if !validName(name) {
			return fmt.Errorf("element %q: a name begins with a letter and has letters, digits, _, - and . only", name)
		}
		if err := checkTag(child); err != nil {
			return fmt.Errorf("element %q: %w", name, err)
		}
	}
	return nil
}

// fillType completes the block type.
func (c *Card) fillType() error {
	t := &c.Type
	if t.Name == "" {
		if t.Name = block.TypeNameOf(c.Name); !strings.Contains(t.Name, ".") {
			t.Name = block.AppNamespace + "." + t.Name
		}
	}
	t.Name = block.ShortName(t.Name)
	if t.Version == 0 {
		t.Version = 1
	}
	if t.Source == "" {
		t.Source = block.SourceApp
	}
	if t.Class == "" {
		t.Class = block.ClassDisplay
	}
	if t.Fallback == nil {
		return errors.New("its type has no fallback text")
	}
	if len(t.Schema) == 0 {
		return errors.New("its type has no schema")
	}
	if t.Name == "text" || t.ServerOnly {
		return fmt.Errorf("blocks of the type %s are not for a model to write", t.Name)
	}
	if _, err := block.ParseToken(fmt.Sprintf("%s@%d", t.FullName(), t.Version)); err != nil {
		return err
	}
	return nil
}

// Syntaxes returns all syntaxes.
func Syntaxes() []Syntax { return []Syntax{Fence, Placeholder, Tag} }

// ParseSyntax reads the name of a syntax.
func ParseSyntax(s string) (Syntax, error) { return Syntax(s), checkSyntax(Syntax(s)) }

func checkSyntax(s Syntax) error {
	if slices.Contains(Syntaxes(), s) {
		return nil
	}
	hint := ""
	if near := nearest.Of(string(s), []string{string(Fence), string(Placeholder), string(Tag)}); near != "" {
		hint = "; did you mean " + near + "?"
	}
	return fmt.Errorf("syntax %q: must be fence, placeholder or tag%s", s, hint)
}

// Len returns the number of names.
func (c *Cards) Len() int {
	if c == nil {
		return 0
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return len(c.cards)
}

// All returns the cards, ordered by name and version.
func (c *Cards) All() []Card {
	var out []Card
	for _, one := range c.all() {
		out = append(out, one.Card)
	}
	return out
}

func (c *Cards) all() []*card {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	var out []*card
	for _, have := range c.cards {
		out = append(out, have...)
	}
	sort.Slice(out, func(i, j int) bool {
		if out[i].Name != out[j].Name {
			return out[i].Name < out[j].Name
		}
		return out[i].Type.Version < out[j].Type.Version
	})
	return out
}

// Lookup returns the card of a name and a major version; 0 means the highest.
func (c *Cards) Lookup(name string, major int) (Card, bool) {
	found := c.lookup(name, major)
	if found == nil {
		return Card{}, false
	}
	return found.Card, true
}

func (c *Cards) lookup(name string, major int) *card {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	have := c.cards[name]
	if major == 0 && len(have) > 0 {
		return have[len(have)-1]
	}
	for _, h := range have {
		if h.Type.Version == major {
			return h
		}
	}
	return nil
}

// Versions returns the major versions of a card, ascending.
func (c *Cards) Versions(name string) []int {
	var out []int
	for _, one := range c.versions(name) {
		out = append(out, one.Type.Version)
	}
	return out
}

// versions are the cards of a name, ascending.
func (c *Cards) versions(name string) []*card {
	if c == nil {
		return nil
	}
	c.mu.RLock()
	defer c.mu.RUnlock()
	return c.cards[name] // never changed once it is there
}

// ServerFields returns where the fields of a card are that only the server may
// say, such as /price and /items/*/price.
func (c *Cards) ServerFields(name string, major int) []string {
	if found := c.lookup(name, major); found != nil {
		return found.schema.serverFields()
	}
	return nil
}

// ServerField reports whether a place in a card's payload is in a field that
// only the server may say.
func (c *Cards) ServerField(name string, major int, pointer string) bool {
	found := c.lookup(name, major)
	return found != nil && found.schema.isServer(pointer)
}

// Filled reports whether a card is filled by its resolver whatever it says: a
// placeholder is, and so is one that must name an id.
func (c *Cards) Filled(name string, major int, s Syntax) bool {
	found := c.lookup(name, major)
	return found != nil && found.Resolve != nil && (s == Placeholder || found.schema.identified())
}

// Config returns what a Scanner finds of the cards in a text of the given
// syntaxes.
func (c *Cards) Config(embed []Syntax) Config {
	cfg := Config{Holdback: DefaultHoldback}
	for _, one := range c.all() {
		for _, s := range embed {
			if !one.writes(s) {
				continue
			}
			switch s {
			case Fence:
				cfg.Fences = append(cfg.Fences, one.Name)
			case Placeholder:
				cfg.Placeholders = append(cfg.Placeholders, one.Name)
			case Tag:
				if cfg.Tags == nil {
					cfg.Tags = make(map[string]TagSpec)
				}
				cfg.Tags[one.Name] = one.Tag
			}
		}
	}
	cfg.Fences, cfg.Placeholders = slices.Compact(cfg.Fences), slices.Compact(cfg.Placeholders)
	return cfg
}

// TagBody is the payload of a card, or of an element inside one, that was
// written as a tag.
type TagBody struct {
	Meta     map[string]string
	Text     string
	Children []TagChild
}

// TagChild is an element inside a card that was written as a tag.
type TagChild struct {
	Name string
	TagBody
}

// Payload writes the element as the payload of a card.
func (b TagBody) Payload() (json.RawMessage, error) { return jsonx.Marshal(b.members("")) }

func (b TagBody) members(name string) map[string]any {
	m := make(map[string]any, len(b.Meta)+3)
	for k, v := range b.Meta {
		m[k] = v
	}
	if name != "" {
		m["tag"] = name
	}
	if strings.TrimSpace(b.Text) != "" {
		m["text"] = b.Text
	}
	if len(b.Children) > 0 {
		children := make([]any, len(b.Children))
		for i, child := range b.Children {
			children[i] = child.members(child.Name)
		}
		m["children"] = children
	}
	return m
}
