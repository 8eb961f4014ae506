package cards

import (
	"encoding/json"
	"slices"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

const treeType = "tree"

// node is a part of a tree whose action says by itself what it does.
type node struct {
	Type     string         `json:"type"`
	Props    map[string]any `json:"props,omitempty"`
	Children []node         `json:"children,omitempty"`
	Action   *nodeAction    `json:"action,omitempty"`
}

// nodeAction is what an action of the block is in the spelling of cards, as far
// as it fits a node; the card has the rest under the same name.
type nodeAction struct {
	Type     block.ActionKind `json:"type,omitempty"`
	Name     string           `json:"name"`
	ID       string           `json:"id,omitempty"`
	Params   map[string]any   `json:"params,omitempty"`
	Href     string           `json:"href,omitempty"`
	Confirm  string           `json:"confirm,omitempty"`
	Feedback *block.Feedback  `json:"feedback,omitempty"`
}

// spelled returns a tree whose nodes name actions as cards do, where the log has
// their ids. What would not be a tree of its version any more stays as it is.
func (e *Encoder) spelled(b block.Block, payload json.RawMessage) json.RawMessage {
	var members map[string]json.RawMessage
	var root block.TreeNode
	if json.Unmarshal(payload, &members) != nil || json.Unmarshal(members["root"], &root) != nil || !acts(root) {
		return payload
	}
	raw, err := jsonx.Marshal(spelledNode(b, root))
	if err != nil {
		return payload
	}
	members["root"] = raw
	if raw, err = jsonx.Marshal(members); err != nil || e.view.Registry.Validate(b.Type, b.Version, raw) != nil {
		return payload
	}
	return raw
}

func acts(n block.TreeNode) bool {
	return n.Action != nil || slices.ContainsFunc(n.Children, acts)
}

func spelledNode(b block.Block, n block.TreeNode) node {
	out := node{Type: n.Type, Props: n.Props}
	for _, c := range n.Children {
		out.Children = append(out.Children, spelledNode(b, c))
	}
	if n.Action == nil {
		return out
	}
	out.Action = &nodeAction{Name: n.Action.ID, Params: n.Action.Params}
	if i := slices.IndexFunc(b.Actions, func(a block.Action) bool { return a.ID == n.Action.ID }); i >= 0 {
		a := b.Actions[i]
		out.Action.Type, out.Action.Href, out.Action.Confirm, out.Action.Feedback = a.Kind, a.Href, a.Confirm, a.Feedback
		out.Action.Name, out.Action.ID = named(a)
	}
	return out
}
