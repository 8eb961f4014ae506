package markup

import (
	"encoding/json"
	"errors"
	"strconv"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// CardStream turns the body of a card that is being written into patches of
// what a model may say of it. It is not safe for concurrent use.
type CardStream struct {
	json   *JSONStream
	schema *cardSchema
	ops    []PatchOp
}

// Stream returns a CardStream of a card; nil for one that there is not.
func (c *Cards) Stream(name string, major int) *CardStream {
	found := c.lookup(name, major)
	if found == nil {
		return nil
	}
	return &CardStream{json: NewJSONStream(), schema: found.schema}
}

// Push takes the next piece of the body. After an error nothing more can be
// shown of it before it is whole.
func (s *CardStream) Push(text string) error {
	ops, err := s.json.Push([]byte(text))
	return errors.Join(s.keep(ops), err)
}

// Flush has Take return also what is not shown for every piece: the newest end
// of a long text.
func (s *CardStream) Flush() error { return s.keep(s.json.Flush()) }

// Behind reports whether Take, or Take behind Flush, has something to return.
func (s *CardStream) Behind() bool { return len(s.ops) > 0 || s.json.Behind() }

func (s *CardStream) keep(ops []PatchOp) error {
	for _, op := range ops {
		if err := s.add(op); err != nil {
			return err
		}
	}
	return nil
}

// add keeps an operation for Take, without what is not the model's to say.
func (s *CardStream) add(op PatchOp) error {
	of, ok := s.schema.place(op.Path)
	if !ok {
		return nil
	}
	v, err := decode(op.Value)
	if err != nil {
		return err
	}
	if v, dropped := s.schema.stripFrom(v, of, op.Path); len(dropped) > 0 {
		if op.Value, err = jsonx.Marshal(v); err != nil {
			return err
		}
	}
	if op.Path == "" {
		// What stands beside the fields, or around them, is none of them.
		if object, ok := v.(map[string]any); ok {
			if object, left := s.schema.knownFrom(object, of); left {
				if op.Value, err = jsonx.Marshal(object); err != nil {
					return err
				}
			}
		}
	}
	if last := len(s.ops) - 1; last >= 0 && s.ops[last].Path == op.Path && op.Op == "replace" {
		s.ops[last].Value = op.Value // a text that has grown
		return nil
	}
	s.ops = append(s.ops, op)
	return nil
}

// Take returns the patch of what has come since the last time; nil for nothing.
func (s *CardStream) Take() (json.RawMessage, error) {
	if len(s.ops) == 0 {
		return nil, nil
	}
	patch, err := jsonx.Marshal(s.ops)
	s.ops = nil
	return patch, err
}

// place returns the schemas of a place in a payload. ok is false where a model
// may say nothing.
func (s *cardSchema) place(pointer string) (of applied, ok bool) {
	of = s.at()
	for i, token := range tokens(pointer) {
		if i == 0 && len(s.member(of, token)) == 0 && (of.closed() || beside(token)) {
			return nil, false
		}
		next := s.inside(of, token)
		if n, err := strconv.Atoi(token); err == nil {
			next = append(next, s.item(of, n)...)
		}
		if next.server() {
			return nil, false
		}
		of = next
	}
	return of, true
}

// beside reports whether a member that is no field may stand beside the fields,
// or around them.
func beside(name string) bool {
	return name == dataField || name == versionField || name == uiVersionField || name == typeField || name == actionsField
}

// knownFrom is an object without the members that its closed schemas do not
// name, and those that stand beside the fields.
func (s *cardSchema) knownFrom(object map[string]any, of applied) (out map[string]any, left bool) {
	closed := of.closed()
	for name := range object {
		if (closed || beside(name)) && len(s.member(of, name)) == 0 {
			delete(object, name)
			left = true
		}
	}
	return object, left
}
