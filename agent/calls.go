package agent

import (
	"encoding/json"
	"slices"

	"github.com/inlay-ui/inlay/model"
)

// Calls follows the calls of one run, whose arguments arrive in pieces. Errors are
// those of Malformed.
type Calls struct {
	tools []model.ToolSpec // the client's
	list  []*call
	byID  map[string]*call
}

type call struct {
	id, name    string
	args        []byte
	whole, done bool
	before      bool // it is of an earlier run
}

// NewCalls follows the calls of a request's run, and those of its messages that
// have no result yet: an agent that goes on after a question says what came of
// them.
func NewCalls(req Request) *Calls {
	c := &Calls{tools: req.Tools, byID: make(map[string]*call)}
	open := make(map[string]model.Call)
	var order []string
	for _, m := range req.Messages {
		for _, call := range m.Calls {
			open[call.ID] = call
			order = append(order, call.ID)
		}
		delete(open, m.CallID)
	}
	for _, id := range order {
		call, ok := open[id]
		if !ok {
			continue
		}
		if fresh, err := c.Start(id, call.Name); err == nil && fresh {
			c.byID[id].args, c.byID[id].whole, c.byID[id].before = call.Arguments, true, true
		}
	}
	return c
}

// Start notes a call. It reports whether it is a new one.
func (c *Calls) Start(id, name string) (bool, error) {
	if id == "" || name == "" {
		return false, Malformed("a call without id or name")
	}
	if c.byID[id] != nil {
		return false, nil
	}
	if len(id) > MaxID {
		return false, Malformed("more than is followed: an id of %d bytes", len(id))
	}
	if len(c.list) >= MaxCalls {
		return false, Malformed("more than is followed: %d calls", MaxCalls)
	}
	k := &call{id: id, name: name}
	c.list, c.byID[id] = append(c.list, k), k
	return true, nil
}

// Arguments adds a piece to the arguments of a call.
func (c *Calls) Arguments(id, piece string) error {
	k := c.byID[id]
	if k == nil || k.whole {
		return nil // of a call that is not followed
	}
	if k.args = append(k.args, piece...); len(k.args) > MaxArguments {
		return Malformed("more than is followed: arguments of %d bytes", len(k.args))
	}
	return nil
}

// Replace puts whole arguments in the place of the pieces of a call.
func (c *Calls) Replace(id, args string) error {
	if k := c.byID[id]; k != nil && !k.whole && args != "" {
		k.args = nil
		return c.Arguments(id, args)
	}
	return nil
}

// Whole ends the arguments of a call. ok is false when they were whole already.
func (c *Calls) Whole(id string) (p Piece, ok bool) {
	k := c.byID[id]
	if k == nil || k.whole {
		return Piece{}, false
	}
	k.whole = true
	return Piece{Kind: CallArguments, ID: k.id, Name: k.name, JSON: arguments(k.args)}, true
}

// Result notes what came of a call. ok is false when that is known already, or
// the call is not.
func (c *Calls) Result(id, content string, failed bool) (p Piece, ok bool) {
	k := c.byID[id]
	if k == nil || k.done {
		return Piece{}, false
	}
	k.done = true
	return Piece{Kind: CallResult, ID: k.id, Name: k.name, Text: content, Failed: failed}, true
}

// Left are the calls of the client's tools that have no result.
func (c *Calls) Left() []model.Call {
	var out []model.Call
	for _, k := range c.list {
		client := slices.ContainsFunc(c.tools, func(t model.ToolSpec) bool { return t.Name == k.name })
		if client && !k.done && k.whole && !k.before {
			out = append(out, model.Call{ID: k.id, Name: k.name, Arguments: arguments(k.args)})
		}
	}
	return out
}

// arguments is the object that a text of arguments is; what is none is {}.
func arguments(text []byte) json.RawMessage {
	var members map[string]json.RawMessage
	if json.Unmarshal(text, &members) != nil || members == nil {
		return json.RawMessage("{}")
	}
	return text
}
