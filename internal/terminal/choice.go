package terminal

import (
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// ChoiceKind is what becomes of a choice.
type ChoiceKind int

// The kinds of choice.
const (
	// ChoiceAct posts Action with Payload.
	ChoiceAct ChoiceKind = iota
	// ChoiceFill asks for Fields first and posts their values.
	ChoiceFill
	// ChoiceAnswer asks for one of the Options, or for words.
	ChoiceAnswer
	// ChoiceRow asks for one of the Rows and posts its payload.
	ChoiceRow
	// ChoiceRetry and ChoiceRefresh have the block's tool run again.
	ChoiceRetry
	ChoiceRefresh
	// ChoiceLink shows where Action leads.
	ChoiceLink
	// ChoiceFollow goes where Target leads.
	ChoiceFollow
)

// Choice is something that a person can do with a block.
type Choice struct {
	Kind  ChoiceKind
	Block block.Block
	// Label is what it is called, and Of what it is about, if that is not the
	// whole block.
	Label, Of string
	Action    block.Action
	// Payload is what is posted before anything was asked for.
	Payload map[string]any

	// Of ChoiceFill: the form that is asked for. Fields that stand in Defaults
	// are not left out when they are not changed.
	Schema, UI json.RawMessage
	Defaults   map[string]any
	// Fields are asked for instead of those of a schema.
	Fields []Field

	// Of ChoiceAnswer.
	Options   []block.QuestionOption
	Multiple  bool
	AllowText bool

	// Of ChoiceRow.
	Rows []Row

	// Of ChoiceFollow.
	Target block.Target
}

// Row is one of the things to choose among.
type Row struct {
	Label   string
	Payload map[string]any
}

// Choices lists what can be done with a block as it stands.
func (r *Renderer) Choices(b block.Block) []Choice {
	c := chooser{r: r, b: b}
	name := c.name()
	if b.Status == block.StatusError {
		if b.Err != nil && b.Err.Retryable && b.ID != "" {
			c.out = append(c.out, Choice{Kind: ChoiceRetry, Block: b, Label: r.say("retry", name)})
		}
		return c.out
	}
	if b.Status != block.StatusDone {
		return nil
	}
	if k, known := kindOf(b); known {
		switch k.name {
		case "form":
			c.form()
		case "confirm":
			c.confirm()
		case "question":
			c.question()
		case "tree":
			c.tree()
		case "card_list", productListName:
			c.cards()
		case "chart":
			c.chart()
		case block.FeatureRecommendationName:
			c.recommendation()
		default:
			c.rest(nil)
		}
	}
	if b.Meta != nil && b.Meta.CanRefresh {
		c.out = append(c.out, Choice{Kind: ChoiceRefresh, Block: b, Label: r.say("refresh", name)})
	}
	return c.out
}

type chooser struct {
	r   *Renderer
	b   block.Block
	out []Choice
}

// name is what a block is called among others.
func (c *chooser) name() string {
	var p struct{ Title, Caption, Prompt, Name string }
	_ = json.Unmarshal(c.b.Payload, &p)
	if t, ok := c.r.trip(c.b); ok {
		p.Title = t.title()
	}
	return clip(cmp.Or(oneLine(p.Title), oneLine(p.Caption), oneLine(p.Prompt), oneLine(p.Name), title(c.b), oneLine(c.b.Type)), 40)
}

// off reports whether an action cannot be done now.
func off(a block.Action, b block.Block) bool {
	s, ok := stateOf(b)
	if !ok {
		return false
	}
	if a.DisabledWhen != "" {
		return s.Status == a.DisabledWhen || s.Locked && a.DisabledWhen == "locked"
	}
	return a.Kind == block.ActionAPI && (s.Locked || s.Status == "submitting")
}

func (c *chooser) find(id string) (block.Action, bool) {
	for _, a := range c.b.Actions {
		if a.ID == id {
			return a, true
		}
	}
	return block.Action{}, false
}

// payload is an action's own parameters with those of a place.
func payload(a block.Action, given map[string]json.RawMessage) map[string]any {
	out := make(map[string]any)
	for _, m := range []map[string]json.RawMessage{a.Params, given} {
		for name, raw := range m {
			var v any
			if decode(raw, &v) {
				out[name] = v
			}
		}
	}
	return out
}

// act adds an action as it is, or with the values that it lacks asked for.
func (c *chooser) act(a block.Action, given map[string]json.RawMessage, of string) {
	if off(a, c.b) {
		return
	}
	ch := Choice{Kind: ChoiceAct, Block: c.b, Label: oneLine(a.Label), Of: of, Action: a, Payload: payload(a, given)}
	switch a.Kind {
	case block.ActionLink:
		if a.Href == "" {
			return
		}
		ch.Kind = ChoiceLink
	case block.ActionAPI, block.ActionPrompt:
		missing, ok := lacking(a, ch.Payload)
		if !ok {
			return // it needs what only a part of the block knows
		}
		if len(missing) > 0 {
			ch.Kind, ch.Fields = ChoiceFill, missing
		}
	default:
		return // of kind local: nothing that a terminal does
	}
	c.out = append(c.out, ch)
}

// lacking lists the values that an action needs and does not have; false when
// nobody can be asked for one of them.
func lacking(a block.Action, have map[string]any) ([]Field, bool) {
	need := make(map[string]bool)
	for _, name := range placesOf(a.Prompt) {
		need[name] = true
	}
	var s formSchema
	if len(a.InputSchema) > 0 {
		decode(a.InputSchema, &s)
	}
	for _, name := range s.Required {
		need[name] = true
	}
	for name := range have {
		delete(need, name)
	}
	if len(need) == 0 {
		return nil, true
	}
	var out []Field
	for _, f := range Fields(a.InputSchema, nil, nil, have) {
		if need[f.Path[0]] {
			f.Required = true
			out = append(out, f)
		}
	}
	for name := range need {
		if !slices.ContainsFunc(out, func(f Field) bool { return f.Path[0] == name && f.Kind != FieldFile }) {
			return nil, false
		}
	}
	return out, true
}

// placesOf lists the {{name}} of a prompt.
func placesOf(prompt string) []string {
	var out []string
	for {
		_, rest, ok := strings.Cut(prompt, "{{")
		if !ok {
			return out
		}
		name, after, ok := strings.Cut(rest, "}}")
		if !ok {
			return out
		}
		if name = strings.TrimSpace(name); name != "" && !strings.ContainsAny(name, " {}") {
			out = append(out, name)
		}
		prompt = after
	}
}

// rest adds the actions that are not taken by a part of the block, the one that
// loads what comes next with its cursor.
func (c *chooser) rest(taken map[string]bool) {
	var p struct {
		Page struct {
			Cursor string `json:"cursor"`
		} `json:"page"`
	}
	_ = json.Unmarshal(c.b.Payload, &p)
	for _, a := range c.b.Actions {
		if taken[a.ID] {
			continue
		}
		if _, takes := propertiesOf(a)["cursor"]; takes && a.Kind == block.ActionAPI {
			if p.Page.Cursor != "" && !off(a, c.b) {
				pl := payload(a, nil)
				pl["cursor"] = p.Page.Cursor
				c.out = append(c.out, Choice{Block: c.b, Label: cmp.Or(oneLine(a.Label), c.r.say("page")), Action: a, Payload: pl})
			}
			continue
		}
		c.act(a, nil, c.name())
	}
}

func propertiesOf(a block.Action) map[string]json.RawMessage {
	var s formSchema
	if len(a.InputSchema) == 0 || !decode(a.InputSchema, &s) {
		return nil
	}
	_, members := block.Members(s.Properties)
	return members
}

func (c *chooser) form() {
	var f block.Form
	if !decode(c.b.Payload, &f) {
		return
	}
	// The action that sends the form: submit, else the first that the server
	// runs.
	submit := ""
	for _, want := range []func(block.Action) bool{
		func(a block.Action) bool { return a.ID == "submit" },
		func(a block.Action) bool { return a.Style == "primary" },
		func(block.Action) bool { return true },
	} {
		for _, a := range c.b.Actions {
			if submit == "" && a.Kind == block.ActionAPI && want(a) {
				submit = a.ID
			}
		}
	}
	if a, ok := c.find(submit); ok && !off(a, c.b) {
		c.out = append(c.out, Choice{
			Kind: ChoiceFill, Block: c.b, Label: c.r.say("fill", c.name()), Of: cmp.Or(oneLine(f.SubmitLabel), oneLine(a.Label)),
			Action: a, Payload: map[string]any{}, Schema: f.Schema, UI: f.UISchema, Defaults: f.Defaults,
		})
	}
	c.rest(map[string]bool{submit: true})
}

// answerable is the action of an answer: the block's, or one that stands for
// it.
func (c *chooser) answerable(id string) (block.Action, bool) {
	a, ok := c.find(id)
	if !ok {
		a = block.Action{ID: id, Label: c.r.word(id), Kind: block.ActionAPI}
	}
	return a, !off(a, c.b)
}

func (c *chooser) confirm() {
	var p block.Confirm
	if !decode(c.b.Payload, &p) {
		return
	}
	for _, o := range confirmOptions(c.r, c.b, p) {
		a, ok := c.answerable(o.ID)
		if !ok {
			continue
		}
		ch := Choice{Block: c.b, Label: o.Label, Of: c.name(), Action: a, Payload: map[string]any{}}
		if o.ID == "edit" {
			if p.Schema == nil {
				continue
			}
			ch.Kind, ch.Schema, ch.UI, ch.Defaults = ChoiceFill, p.Schema, p.UISchema, object(p.Args)
		}
		c.out = append(c.out, ch)
	}
	c.rest(map[string]bool{"approve": true, "reject": true, "edit": true})
}

func (c *chooser) question() {
	var q block.Question
	if !decode(c.b.Payload, &q) {
		return
	}
	a, ok := c.answerable("answer")
	if !ok {
		return
	}
	ch := Choice{Kind: ChoiceAnswer, Block: c.b, Label: oneLine(cmp.Or(a.Label, c.r.say("answer"))), Of: c.name(), Action: a, Payload: map[string]any{}}
	switch {
	case q.Schema != nil:
		ch.Kind, ch.Schema, ch.UI = ChoiceFill, q.Schema, q.UISchema
		c.out = append(c.out, ch)
	case len(q.Options) > 0 && !q.Multiple:
		// Each answer is a choice of its own.
		for _, o := range q.Options {
			one := ch
			one.Kind, one.Label, one.Payload = ChoiceAct, oneLine(o.Label), map[string]any{"choices": []any{o.ID}}
			c.out = append(c.out, one)
		}
		if q.AllowText {
			ch.AllowText = true
			c.out = append(c.out, ch)
		}
	default:
		ch.Options, ch.Multiple, ch.AllowText = q.Options, q.Multiple, q.AllowText || len(q.Options) == 0
		c.out = append(c.out, ch)
	}
	c.rest(map[string]bool{"answer": true})
}

func (c *chooser) cards() {
	var l struct {
		Items []struct {
			Title   string   `json:"title"`
			Actions []placed `json:"actions"`
		} `json:"items"`
	}
	if !decode(c.b.Payload, &l) {
		return
	}
	taken := make(map[string]bool)
	for i, it := range l.Items {
		for _, p := range it.Actions {
			a, ok := c.find(p.ID)
			if !ok {
				continue
			}
			taken[p.ID] = true
			if i < maxCards {
				c.act(a, p.Params, clip(oneLine(it.Title), 40))
			}
		}
	}
	c.rest(taken)
}

// tree adds the actions of a tree's nodes, each once with the same values, and
// asks for the inputs of the tree that the action takes.
func (c *chooser) tree() {
	var t block.Tree
	if deep(c.b.Payload) || !decode(c.b.Payload, &t) {
		return
	}
	var inputs []Field
	type button struct {
		node  block.TreeNode
		label string
	}
	var buttons []button
	var walk func(n block.TreeNode, depth int)
	walk = func(n block.TreeNode, depth int) {
		switch n.Type {
		case "input", "textarea", "select", "checkbox", "switch":
			if f, ok := c.r.treeField(n); ok {
				inputs = append(inputs, f)
			}
		}
		if n.Action != nil {
			buttons = append(buttons, button{n, c.r.treeWords(n)})
		}
		for _, child := range n.Children {
			if depth < block.MaxTreeDepth {
				walk(child, depth+1)
			}
		}
	}
	walk(t.Root, 1)
	taken := make(map[string]bool)
	for _, b := range buttons {
		a, ok := c.find(b.node.Action.ID)
		if !ok || off(a, c.b) {
			continue
		}
		taken[a.ID] = true
		if b.label != "" {
			a.Label = b.label
		}
		given := maps.Clone(b.node.Action.Params)
		takes := propertiesOf(a)
		ch := Choice{Kind: ChoiceAct, Block: c.b, Label: oneLine(a.Label), Action: a, Payload: payload(a, nil)}
		maps.Copy(ch.Payload, given)
		for _, f := range inputs {
			_, has := ch.Payload[f.Path[0]]
			_, wanted := takes[f.Path[0]]
			if !has && (wanted || takes == nil) && a.Kind == block.ActionAPI {
				ch.Kind, ch.Fields = ChoiceFill, append(ch.Fields, f)
			}
		}
		if a.Kind == block.ActionLink {
			ch.Kind = ChoiceLink
		}
		if a.Kind != block.ActionLocal {
			c.out = append(c.out, ch)
		}
	}
	c.rest(taken)
}

// chart adds the action that a click on one of its data runs.
func (c *chooser) chart() {
	var p chart
	if !decode(c.b.Payload, &p.Chart) || p.OnSelect == nil {
		c.rest(nil)
		return
	}
	defer c.rest(map[string]bool{p.OnSelect.ActionID: true})
	a, ok := c.find(p.OnSelect.ActionID)
	if !ok || off(a, c.b) {
		return
	}
	ch := Choice{Kind: ChoiceRow, Block: c.b, Label: c.r.say("point", oneLine(a.Label)), Action: a, Of: c.name()}
	for i, row := range p.Data {
		pl := payload(a, nil)
		for name, field := range p.OnSelect.Params {
			if v, ok := row[field]; ok && v != nil {
				pl[name] = v
			}
		}
		label := p.label(c.r, i)
		if !slices.ContainsFunc(ch.Rows, func(o Row) bool { return o.Label == label && same(o.Payload, pl) }) {
			ch.Rows = append(ch.Rows, Row{label, pl})
		}
		if len(ch.Rows) == maxBars {
			break
		}
	}
	if len(ch.Rows) > 0 {
		c.out = append(c.out, ch)
	}
}

func (c *chooser) recommendation() {
	var rec block.Recommendation
	if !decode(c.b.Payload, &rec) {
		return
	}
	for _, it := range rec.Items {
		to := it.Action.To()
		if to.Check() == nil {
			c.out = append(c.out, Choice{Kind: ChoiceFollow, Block: c.b, Label: oneLine(it.Label), Of: oneLine(it.Hint), Target: to, Action: block.Action{ID: it.ID}})
		}
	}
}

// ChoiceLine draws a choice under its number.
func (r *Renderer) ChoiceLine(number string, c Choice) string {
	spans := []span{{c.Label, Plain}}
	if c.Of != "" && c.Of != c.Label && !strings.Contains(c.Label, c.Of) {
		spans = append(spans, span{" — " + c.Of, Dim})
	}
	n := Width(number) + 1
	return r.paint(prefixed(wrap(spans, r.width-n), span{number + " ", Accent}, span{strings.Repeat(" ", n), Plain}))
}

// Text draws a text in one style, wrapped.
func (r *Renderer) Text(s string, style Style) string {
	var lines []line
	for part := range strings.SplitSeq(strings.TrimRight(Clean(s), "\n"), "\n") {
		lines = append(lines, wrap([]span{{part, style}}, r.width)...)
	}
	return r.paint(lines)
}

// Status draws one line that says what is going on, cut to the width.
func (r *Renderer) Status(s string) string {
	return r.paint([]line{{{clip(oneLine(s), r.width-1), Dim}}})
}
