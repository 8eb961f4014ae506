package emit

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

// maxAllowed is how many bytes of the destinations a hint lists.
const maxAllowed = 1 << 10

// Session is what a conversation has been shown before the turn, of blocks that
// no tool was asked for.
type Session struct {
	// Blocks is how many there were.
	Blocks int
	// Most is how many there may be; 0 means DefaultSessionCap.
	Most int
	// Recent are the keys of the targets that the last turns led to: a block
	// that no tool was asked for does not lead there again so soon.
	Recent map[string]bool
}

// most is how many blocks there may be.
func (s *Session) most() int {
	if s.Most == 0 {
		return DefaultSessionCap
	}
	return s.Most
}

// recall takes up what the message has shown so far.
func (s *Stream) recall(blocks []block.Block) {
	for _, b := range blocks {
		switch {
		case b.Meta == nil:
		case b.Meta.Producer != "":
			s.optional++
		case s.cfg.Continues && b.Meta.ToolCallID != "":
			s.count++
		}
		t, ok := s.cfg.Registry.Lookup(b.Type, b.Version)
		if !ok || t.Targets == nil || len(b.Payload) == 0 {
			continue
		}
		for _, target := range t.Targets.List(b.Payload) {
			if target != (block.Target{}) {
				s.seen[target.Key()] = b.ID
			}
		}
	}
}

// claim makes a block the one that leads to the targets of keys, and to no
// others. It returns where it led before.
func (s *Stream) claim(id string, keys []string) (before []string) {
	maps.DeleteFunc(s.seen, func(key, owner string) bool {
		if owner == id {
			before = append(before, key)
		}
		return owner == id
	})
	for _, key := range keys {
		s.seen[key] = id
	}
	return before
}

// session refuses a block that no tool was asked for when the conversation has
// seen enough of them.
func (b *Block) session() error {
	session := b.s.cfg.Session
	if session == nil || b.place == nil || b.meta.Producer == "" {
		return nil
	}
	// Its own place is taken already.
	if most := session.most(); session.Blocks+b.s.optional > most {
		return refuse(CodeSessionCap, "This conversation has been shown %d such blocks, as many as it may be.", most)
	}
	return nil
}

// Full reports whether no block can be shown any more that no tool was asked
// for: what makes one need not begin.
func (s *Stream) Full() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if session := s.cfg.Session; session != nil && session.Blocks+s.optional >= session.most() {
		return true
	}
	return s.optional >= s.cfg.OptionalCap
}

// led is a payload with only the items that lead where they may.
type led struct {
	payload json.RawMessage
	keys    []string // of the targets that are left
	left    []string // as in Shown
}

// lead leaves out the items of a payload that lead where they may not, or where
// something before them leads. *Refusal when none is left.
func (b *Block) lead(payload json.RawMessage) (led, error) {
	if b.typ.Targets == nil {
		return led{payload: payload}, nil
	}
	targets := b.typ.Targets.List(payload)
	out, kept := led{payload: payload}, []int(nil)
	// What emptied the block last names the refusal.
	last := (*Refusal)(nil)
	order := []string{CodeSchemaInvalid, CodeDuplicateAction, CodeSessionCap}
	for i, t := range targets {
		if t == (block.Target{}) { // it leads nowhere
			kept = append(kept, i)
			continue
		}
		why := b.mayLead(t, out.keys)
		if why == nil {
			kept, out.keys = append(kept, i), append(out.keys, t.Key())
			continue
		}
		out.left = append(out.left, fmt.Sprintf("%s: item %d (%s %s): %s", why.Code, i+1, t.Kind, clip(t.Value, MaxTitle), why.Hint))
		if last == nil || slices.Index(order, why.Code) > slices.Index(order, last.Code) {
			last = why
		}
	}
	if last == nil {
		return out, nil
	}
	if len(kept) == 0 {
		return out, refuse(last.Code, "Nothing of the block is left. %s", strings.Join(out.left, "\n"))
	}
	only, err := b.typ.Targets.Only(payload, kept)
	if err == nil {
		only, err = b.s.fit(b.typ, only)
	}
	if err != nil {
		return out, fmt.Errorf("leave items of %s out: %w", b.typ.Name, err)
	}
	out.payload = only
	return out, nil
}

// mayLead says why an item may not lead to a target; nil when it may. own are
// the keys of the items before it.
func (b *Block) mayLead(t block.Target, own []string) *Refusal {
	if err := t.Check(); err != nil {
		return &Refusal{Code: CodeSchemaInvalid, Hint: err.Error()}
	}
	if allow := b.s.cfg.Allow; allow != nil {
		if err := allow.Allows(t); err != nil {
			return &Refusal{Code: CodeSchemaInvalid, Hint: err.Error() + allowed(*allow)}
		}
	}
	key := t.Key()
	owner, taken := b.s.seen[key]
	switch {
	case taken && owner != b.id, slices.Contains(own, key):
		return &Refusal{Code: CodeDuplicateAction, Hint: "This answer leads there already."}
	case b.meta.Producer != "" && b.s.cfg.Session != nil && b.s.cfg.Session.Recent[key]:
		return &Refusal{Code: CodeSessionCap, Hint: "An answer shortly before led there already."}
	}
	return nil
}

// allowed lists the destinations for the hint of a refusal.
func allowed(d block.Destinations) string {
	if d.Empty() {
		return "; none is allowed."
	}
	return ". Allowed are:\n" + clip(d.String(), maxAllowed) + "\nand nothing else."
}

// vendor are the members of Meta that belong to vendors, as far as they fit.
// Those of our own namespace are written by encoders and by nobody else.
func vendor(members map[string]json.RawMessage) map[string]json.RawMessage {
	var kept map[string]json.RawMessage
	size := 0
	for _, key := range slices.Sorted(maps.Keys(members)) {
		var value bytes.Buffer
		if strings.HasPrefix(key, "inlay/") || json.Compact(&value, members[key]) != nil {
			continue
		}
		more := memberSize(key, value.Bytes())
		if size+more > MaxVendor {
			continue
		}
		if kept == nil {
			kept = make(map[string]json.RawMessage)
		}
		kept[key] = value.Bytes()
		size += more
	}
	return kept
}

// vendorSize is how many bytes the members of vendors take in an event, at
// most.
func vendorSize(members map[string]json.RawMessage) int {
	size := 0
	for key, value := range members {
		size += memberSize(key, value)
	}
	return size
}

func memberSize(key string, value json.RawMessage) int {
	return len(jsonx.AppendString(nil, key)) + len(value) + len(`:,`)
}
