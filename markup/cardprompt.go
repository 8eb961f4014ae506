package markup

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// cardRules is what a model is told of cards, before each of them.
const cardRules = `# Cards

You can put cards into your answer where one shows better than words what you speak of. Only the cards listed here exist; what looks like another one is shown as plain text.`

// fenceRules, placeholderRules and tagRules say how a card is written.
const (
	fenceRules = `A card is a fenced code block. The word after the opening fence is the name of the card exactly as it stands here, the body is one JSON object, and fence and body stand on lines of their own:
- names of members in camelCase as listed, text in double quotes; no comments, no commas before a closing bracket, nothing around the object
- one object per fence; for the next card write the next fence`
	placeholderRules = `A card that has an id can be written within a sentence as a placeholder, [(Name:id)], without blanks. It shows everything there is about that id, so nothing else has to be written.`
	tagRules         = `A card that is shown as a tag below is written as that element: attributes in double quotes, the elements inside it as shown, the closing tag always.`
	serverRules      = `What is listed as filled in by the server you leave out: it comes from the business system by the id, and what you write there is thrown away. Use only ids that a tool or the user has given you.`
	closingRules     = `Do not repeat in text what a card shows, and do not use the name of a card for other code.`
)

// Prompt writes what a model has to know to write the cards that draws accepts
// (nil: all) in the given syntaxes; "" when there are none.
func (c *Cards) Prompt(embed []Syntax, draws func(t block.Type) bool) string {
	var about []string
	used := make(map[Syntax]bool)
	server := false
	for _, one := range c.all() {
		if draws != nil && !draws(one.Type) {
			continue
		}
		var ways []Syntax
		for _, s := range []Syntax{Fence, Placeholder, Tag} {
			if slices.Contains(embed, s) && one.writes(s) {
				ways, used[s] = append(ways, s), true
			}
		}
		if len(ways) == 0 {
			continue
		}
		server = server || len(one.schema.serverFields()) > 0
		about = append(about, one.prompt(ways))
	}
	if len(about) == 0 {
		return ""
	}
	parts := []string{cardRules}
	for _, s := range []Syntax{Fence, Placeholder, Tag} {
		if used[s] {
			parts = append(parts, map[Syntax]string{Fence: fenceRules, Placeholder: placeholderRules, Tag: tagRules}[s])
		}
	}
	if server {
		parts = append(parts, serverRules)
	}
	parts = append(parts, closingRules)
	return strings.Join(append(parts, about...), "\n\n")
}

// prompt describes one card with its example.
func (c *card) prompt(ways []Syntax) string {
	var b strings.Builder
	b.WriteString("## " + spelling(c.Card) + "\n")
	if s := strings.TrimSpace(c.Type.Description); s != "" {
		b.WriteString(s + "\n")
	}
	if s := strings.TrimSpace(c.Hint); s != "" {
		b.WriteString(s + "\n")
	}
	if slices.Contains(ways, Fence) {
		if fields := c.schema.fields(c.schema.at(), c.schema.certain(c.schema.root), "", 0, true); len(fields) > 0 {
			b.WriteString(strings.Join(fields, "\n") + "\n")
		}
	}
	if fields := c.schema.serverFields(); len(fields) > 0 {
		for i, f := range fields {
			fields[i] = strings.ReplaceAll(strings.TrimPrefix(f, "/"), "/", ".")
		}
		b.WriteString("Filled in by the server: " + strings.Join(fields, ", ") + "\n")
	}
	for _, s := range ways {
		if example, ok := c.example(s); ok {
			b.WriteString(strings.TrimRight(example, "\n") + "\n")
		}
	}
	return strings.TrimRight(b.String(), "\n")
}

// fields lists the members that a model may write. sure are those schemas of
// the value that hold whatever else is in the card, and present says that the
// value has to be there: a member is required only where both are so, and
// required in what is optional where the first alone is.
func (s *cardSchema) fields(of, sure applied, indent string, depth int, present bool) []string {
	if depth > 2 {
		return nil
	}
	required, sometimes := sure.required(), of.required()
	var out []string
	for _, name := range of.properties() {
		m := s.member(of, name)
		if m.server() {
			continue
		}
		line := indent + "- " + name + ": " + m.kind()
		switch {
		case required[name] && present:
			line += ", required"
		case required[name]:
			line += ", required in it"
		case sometimes[name] && depth == 0:
			line += ", required in some forms"
		}
		if about := m.word("description"); about != "" {
			line += "; " + strings.TrimRight(about, ".")
		}
		out = append(out, line)
		inside, surely := m, s.certainMember(sure, name)
		if items := s.element(m, 0); len(items) > 0 {
			inside, surely = items, s.certainElement(surely)
		}
		out = append(out, s.fields(inside, surely, indent+"  ", depth+1, present && required[name])...)
	}
	return out
}

// required are the members that a value must have.
func (a applied) required() map[string]bool {
	out := make(map[string]bool)
	for _, one := range a {
		list, _ := one["required"].([]any)
		for _, r := range list {
			if name, ok := r.(string); ok {
				out[name] = true
			}
		}
	}
	return out
}

// certainMember returns the schemas that always hold for a member of an object.
func (s *cardSchema) certainMember(of applied, name string) applied {
	var out applied
	for _, one := range of {
		properties, _ := one["properties"].(map[string]any)
		out = append(out, s.certain(properties[name])...)
	}
	return out
}

// certainElement returns the schemas that always hold for the elements of a
// list.
func (s *cardSchema) certainElement(of applied) applied {
	var out applied
	for _, one := range of {
		if first, _ := one["prefixItems"].([]any); len(first) > 0 {
			out = append(out, s.certain(first[0])...)
		} else {
			out = append(out, s.certain(one["items"])...)
		}
	}
	return out
}

// kind words what a value has to be.
func (a applied) kind() string {
	for _, one := range a {
		if values, ok := one["enum"].([]any); ok {
			raw, err := jsonx.Marshal(values)
			if err == nil {
				return "one of " + strings.Trim(string(raw), "[]")
			}
		}
		if value, ok := one["const"]; ok {
			if raw, err := jsonx.Marshal(value); err == nil {
				return string(raw)
			}
		}
	}
	for _, one := range a {
		switch t := one["type"].(type) {
		case string:
			if t == "string" {
				return "text"
			}
			return t
		case []any:
			words := make([]string, len(t))
			for i, w := range t {
				words[i] = fmt.Sprint(w)
			}
			return strings.Join(words, " or ")
		}
	}
	return "any value"
}

// word is a keyword of the schemas whose value is text.
func (a applied) word(keyword string) string {
	for _, one := range a {
		if s, ok := one[keyword].(string); ok {
			return s
		}
	}
	return ""
}

// spelling is a card's name as a fence has it: with the version where that is
// not the first.
func spelling(c Card) string {
	if c.Type.Version == 1 {
		return c.Name
	}
	return fmt.Sprintf("%s@%d.%d", c.Name, c.Type.Version, c.Minor)
}

// example writes the card's example in a syntax.
func (c *card) example(s Syntax) (text string, ok bool) {
	switch s {
	case Fence:
		return writeFence(c.Card, c.Example), true
	case Tag:
		return c.exampleTag()
	default:
		v, err := decode(c.Example)
		if err != nil {
			return "", false
		}
		object, _ := v.(map[string]any)
		id, ok := idOf(object)
		return "[(" + c.Name + ":" + id + ")]", ok
	}
}

// writeFence writes a card as a fence that its body cannot close.
func writeFence(c Card, payload json.RawMessage) string { return writeFenced(spelling(c), payload) }

// writeFenced writes a fence that begins with head.
func writeFenced(head string, payload json.RawMessage) string {
	var body bytes.Buffer
	if json.Indent(&body, payload, "", "  ") != nil {
		body.Reset()
		body.Write(payload)
	}
	// No line of indented JSON begins with a backtick.
	return "```" + head + "\n" + body.String() + "\n```\n"
}

// exampleTag writes the example as an element.
func (c *card) exampleTag() (string, bool) {
	v, err := decode(c.Example)
	object, ok := v.(map[string]any)
	if err != nil || !ok {
		return "", false
	}
	var b strings.Builder
	writeTag(&b, c.Name, object)
	return b.String(), true
}

var escaped = strings.NewReplacer("&", "&amp;", `"`, "&quot;", "<", "&lt;", ">", "&gt;")

func writeTag(b *strings.Builder, name string, members map[string]any) {
	b.WriteString("<" + name)
	for _, key := range slices.Sorted(maps.Keys(members)) {
		if value, ok := members[key].(string); ok && key != "text" && key != "tag" {
			b.WriteString(" " + key + `="` + escaped.Replace(value) + `"`)
		}
	}
	b.WriteString(">")
	if text, ok := members["text"].(string); ok {
		b.WriteString(text)
	}
	children, _ := members["children"].([]any)
	for _, one := range children {
		child, _ := one.(map[string]any)
		if tag, ok := child["tag"].(string); ok {
			writeTag(b, tag, child)
		}
	}
	b.WriteString("</" + name + ">")
}
