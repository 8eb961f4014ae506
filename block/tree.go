package block

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Limits of a tree.
const (
	MaxTreeDepth = 50
	MaxTreeNodes = 2000
)

// Tree is the payload of a tree block: an interface made of known parts. It
// says what the parts are, never how a browser shows them, so that any client
// can draw it.
type Tree struct {
	Title string   `json:"title,omitempty"`
	Root  TreeNode `json:"root"`
}

// TreeNode is one part of a tree: card, row, column, text, image, button,
// input, divider, list and others. A client draws one that it does not know as
// its words.
type TreeNode struct {
	Type string `json:"type"`
	// Props are words and numbers, or a list of options. Looks are named by
	// tokens such as text.title.
	Props    map[string]any `json:"props,omitempty"`
	Children []TreeNode     `json:"children,omitempty"`
	// Action is what a click does.
	Action *TreeAction `json:"action,omitempty"`
}

// TreeAction names an action of the block, with what this node posts to it.
type TreeAction struct {
	ID     string         `json:"id"`
	Params map[string]any `json:"params,omitempty"`
}

// UnmarshalJSON reads every spelling of a node: a string is a text, scalars
// beside type are props, and an action is an id, {id, params} or {type, name,
// params} as cards write it.
func (n *TreeNode) UnmarshalJSON(b []byte) error {
	*n = TreeNode{}
	if len(b) > 0 && b[0] == '"' {
		var s string
		if err := json.Unmarshal(b, &s); err != nil {
			return err
		}
		n.Type, n.Props = "text", map[string]any{"value": s}
		return nil
	}
	var members map[string]json.RawMessage
	if err := json.Unmarshal(b, &members); err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(members)) {
		raw := members[name]
		var err error
		switch name {
		case "type":
			err = json.Unmarshal(raw, &n.Type)
		case "props":
			var props map[string]any
			if err = decodePayload(raw, &props); err == nil {
				for k, v := range props {
					n.set(k, v)
				}
			}
		case "children":
			err = json.Unmarshal(raw, &n.Children)
		case "action":
			a := new(TreeAction)
			if err = json.Unmarshal(raw, a); err == nil {
				n.Action = a
			}
		default:
			var v any
			if err = decodePayload(raw, &v); err == nil {
				switch v.(type) {
				case map[string]any, []any:
					return fmt.Errorf("%s of a node must be a word or a number", name)
				}
				if _, given := n.Props[name]; !given { // what props says wins
					n.set(name, v)
				}
			}
		}
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	if n.Type == "" {
		return errors.New("a node without a type")
	}
	return nil
}

func (n *TreeNode) set(name string, v any) {
	if n.Props == nil {
		n.Props = make(map[string]any)
	}
	n.Props[name] = v
}

// UnmarshalJSON reads an action in each of its spellings.
func (a *TreeAction) UnmarshalJSON(b []byte) error {
	if len(b) > 0 && b[0] == '"' {
		return json.Unmarshal(b, &a.ID)
	}
	var s struct {
		ID, Name string
		Params   json.RawMessage
	}
	if err := json.Unmarshal(b, &s); err != nil {
		return err
	}
	a.ID = s.ID
	if a.ID == "" {
		a.ID = s.Name
	}
	if a.ID == "" {
		return errors.New("an action without an id")
	}
	if s.Params == nil {
		return nil
	}
	return decodePayload(s.Params, &a.Params)
}

// TreeActions returns the actions that a tree's nodes declare themselves, in
// the spelling of cards: {type, name, params, text, …}. They must be attached
// to the block; a node that only names an action declares none.
func TreeActions(payload json.RawMessage) []Action {
	var t struct{ Root json.RawMessage }
	if json.Unmarshal(payload, &t) != nil {
		return nil
	}
	var out []Action
	seen := make(map[string]bool)
	var walk func(raw json.RawMessage, depth int)
	walk = func(raw json.RawMessage, depth int) {
		var n struct {
			Text     any
			Props    map[string]any
			Children []json.RawMessage
			Action   json.RawMessage
		}
		if depth > MaxTreeDepth || json.Unmarshal(raw, &n) != nil {
			return
		}
		var a struct {
			ID, Name, Text, Prompt, Href, Confirm string
			Type                                  ActionKind
			Feedback                              *Feedback
		}
		if json.Unmarshal(n.Action, &a) == nil && a.Type != "" {
			id := a.ID
			if id == "" {
				id = a.Name
			}
			label := a.Text
			for _, v := range []any{n.Text, n.Props["text"], n.Props["label"], id} {
				if s, ok := v.(string); ok && label == "" {
					label = s
				}
			}
			if id != "" && !seen[id] {
				seen[id] = true
				act := Action{ID: id, Label: label, Kind: a.Type, Prompt: a.Prompt, Href: a.Href, Confirm: a.Confirm, Feedback: a.Feedback}
				if a.Name != id {
					act.Action = a.Name
				}
				out = append(out, act)
			}
		}
		for _, c := range n.Children {
			walk(c, depth+1)
		}
	}
	walk(t.Root, 1)
	return out
}

func treeType() Type {
	return Type{
		Name:        "tree",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "An interface made of known parts, for every kind of client.",
		Schema:      builtinSchema("tree.v1.json"),
		Height:      240,
		Clean:       cleanTree,
		Check:       checkTree,
		Fallback:    treeText,
		Markdown:    treeMarkdown,
		Summary:     treeSummary,
	}
}

// cleanTree writes a tree in one spelling, so that clients need to know one.
func cleanTree(payload json.RawMessage) (json.RawMessage, error) {
	if depthOf(payload) > 4*MaxTreeDepth {
		return payload, nil // for the check to refuse
	}
	var members map[string]json.RawMessage
	var t Tree
	if json.Unmarshal(payload, &members) != nil || decodePayload(payload, &t) != nil {
		return payload, nil // for the schema to refuse
	}
	root, err := jsonx.Marshal(t.Root)
	if err != nil {
		return nil, err
	}
	members["root"] = root
	return jsonx.Marshal(members)
}

var (
	treeToken = regexp.MustCompile(`^[a-z][A-Za-z0-9_.-]{0,63}$`)
	// browserWords are props that only a browser would understand.
	browserWords = regexp.MustCompile(`(?i)^(on[a-z]+|class|classname|css|innerhtml|dangerouslysetinnerhtml)$`)
	// treeLooks are props that say how a part looks, under the names that they
	// go by elsewhere too.
	treeLooks   = regexp.MustCompile(`(?i)(colou?r|background|spacing|gap|padding|margin|border|radius|shadow|font)$`)
	treeAddress = regexp.MustCompile(`^(https://[^\s"'<>\\]+|[A-Za-z0-9_.-]{1,128})$`)
)

func checkTree(payload json.RawMessage) error {
	var v violations
	if depthOf(payload) > 4*MaxTreeDepth {
		v.add("/root", "nested deeper than %d", MaxTreeDepth)
		return v.err()
	}
	var t Tree
	if err := decodePayload(payload, &t); err != nil {
		v.add("/root", "%v", err)
		return v.err()
	}
	nodes := 0
	var walk func(path string, n TreeNode, depth int)
	walk = func(path string, n TreeNode, depth int) {
		if nodes++; nodes > MaxTreeNodes || depth > MaxTreeDepth {
			return
		}
		for _, name := range slices.Sorted(maps.Keys(n.Props)) {
			s, text := n.Props[name].(string)
			p := path + "/props" + jsonx.Pointer(name)
			switch {
			case browserWords.MatchString(name):
				v.add(p, "is for browsers only: name looks by a token, and what a click does by action")
			case name == "style" || name == "color" || name == "spacing":
				if !text || !treeToken.MatchString(s) {
					v.add(p, "must be a token such as title or color.primary, never CSS")
				}
			case text && treeLooks.MatchString(name) && !treeToken.MatchString(s):
				v.add(p, "must be a token such as color.primary or spacing.medium, never CSS")
			case name == "src" || name == "href" || name == "url":
				if !text || !treeAddress.MatchString(s) {
					v.add(p, "must be an https address or the id of a file")
				}
			}
		}
		for i, c := range n.Children {
			walk(fmt.Sprintf("%s/children/%d", path, i), c, depth+1)
		}
		if len(n.Children) > 0 && depth == MaxTreeDepth {
			v.add(path+"/children", "nested deeper than %d", MaxTreeDepth)
		}
	}
	walk("/root", t.Root, 1)
	if nodes > MaxTreeNodes {
		v.add("/root", "more than %d nodes", MaxTreeNodes)
	}
	return v.err()
}

// treeWords are the props that are words for people, in the order in which
// they are said.
var treeWords = []string{"title", "label", "text", "value", "alt"}

// words lists what a node says itself.
func (n TreeNode) words() string {
	var parts []string
	for _, name := range treeWords {
		switch v := n.Props[name].(type) {
		case nil, map[string]any, []any:
		default:
			if s := plain(v); s != "" {
				parts = append(parts, s)
			}
		}
	}
	return strings.Join(parts, " ")
}

// lines calls f with each node that says something, at its depth among them.
func (n TreeNode) lines(depth int, f func(depth int, n TreeNode, words string)) {
	if depth > MaxTreeDepth {
		return
	}
	if w := n.words(); w != "" {
		f(depth, n, w)
		depth++
	}
	for _, c := range n.Children {
		c.lines(depth, f)
	}
}

func decodeTree(payload json.RawMessage) (t Tree, ok bool) {
	return t, depthOf(payload) <= 4*MaxTreeDepth && decodePayload(payload, &t) == nil
}

func (n TreeNode) said(words string) string {
	if n.Action != nil || n.Type == "button" {
		return "[" + words + "]"
	}
	return words
}

func treeText(payload json.RawMessage) string {
	t, ok := decodeTree(payload)
	if !ok {
		return "[tree]"
	}
	var parts []string
	t.Root.lines(0, func(_ int, n TreeNode, words string) { parts = append(parts, n.said(words)) })
	if len(parts) == 0 && t.Title == "" {
		return "[tree]"
	}
	const most = 40
	return figuresText(oneLine(t.Title), parts[:min(len(parts), most)], "; ", len(parts)-most)
}

func treeMarkdown(payload json.RawMessage) string {
	t, ok := decodeTree(payload)
	if !ok {
		return "[tree]"
	}
	var b strings.Builder
	if t.Title != "" {
		b.WriteString("**" + markdownText(t.Title) + "**\n\n")
	}
	t.Root.lines(0, func(depth int, n TreeNode, words string) {
		b.WriteString(strings.Repeat("  ", depth) + "- " + markdownText(n.said(words)) + "\n")
	})
	if b.Len() == 0 {
		return "[tree]"
	}
	return b.String()
}

func treeSummary(payload json.RawMessage) string {
	t, ok := decodeTree(payload)
	if !ok {
		return "[tree]"
	}
	lines := []string{"interface: " + clip(treeText(payload), 1000)}
	var ids []string
	var actions func(n TreeNode, depth int)
	actions = func(n TreeNode, depth int) {
		if n.Action != nil && !slices.Contains(ids, n.Action.ID) {
			ids = append(ids, n.Action.ID)
		}
		for _, c := range n.Children {
			if depth < MaxTreeDepth {
				actions(c, depth+1)
			}
		}
	}
	actions(t.Root, 1)
	if len(ids) > 0 {
		lines = append(lines, "actions: "+strings.Join(ids, ", "))
	}
	return strings.Join(lines, "\n")
}
