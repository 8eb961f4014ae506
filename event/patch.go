package event

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	jsonpatch "github.com/evanphx/json-patch/v5"
)

// Limits of a patch.
const (
	// MaxPatchOps is the most operations in one patch.
	MaxPatchOps = 1000
	// MaxPayload is the largest payload that deltas may build.
	MaxPayload = 4 << 20
)

// ErrPatch is wrapped by every error about a patch.
var ErrPatch = errors.New("patch")

type patchOp struct {
	Op    string          `json:"op"`
	Path  *string         `json:"path"`
	From  *string         `json:"from,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`
}

// ApplyPatch applies an RFC 6902 patch to a payload and returns the new one;
// an absent payload counts as null. Either every operation applies or none
// does. Member names are matched exactly; empty ones and those by which
// JavaScript reaches an object's prototype are refused, so that every client
// can apply what the server applied.
func ApplyPatch(payload, patch json.RawMessage) (json.RawMessage, error) {
	ops, err := parsePatch(patch)
	if err != nil {
		return nil, err
	}
	doc := payload
	if len(bytes.TrimSpace(doc)) == 0 {
		doc = json.RawMessage("null")
	}
	for len(ops) > 0 {
		if op := ops[0]; whole(op) {
			if doc, err = applyWhole(doc, op); err != nil {
				return nil, err
			}
			ops = ops[1:]
		} else {
			n := 1
			if oddIndex(op) {
				if inArray(doc, op) {
					return nil, fmt.Errorf("%w: %s %q: not an index", ErrPatch, op.Op, *op.Path)
				}
			} else {
				for n < len(ops) && !whole(ops[n]) && !oddIndex(ops[n]) {
					n++
				}
			}
			if doc, err = applyParts(doc, ops[:n]); err != nil {
				return nil, err
			}
			ops = ops[n:]
		}
		if len(doc) > MaxPayload {
			return nil, fmt.Errorf("%w: the payload would exceed %d bytes", ErrPatch, MaxPayload)
		}
	}
	return doc, nil
}

func parsePatch(patch json.RawMessage) ([]patchOp, error) {
	if len(patch) > MaxPayload {
		return nil, fmt.Errorf("%w: larger than %d bytes", ErrPatch, MaxPayload)
	}
	var ops []patchOp
	if err := json.Unmarshal(patch, &ops); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	if ops == nil {
		return nil, fmt.Errorf("%w: not an array", ErrPatch)
	}
	if len(ops) > MaxPatchOps {
		return nil, fmt.Errorf("%w: more than %d operations", ErrPatch, MaxPatchOps)
	}
	for i, op := range ops {
		if err := op.check(); err != nil {
			return nil, fmt.Errorf("%w: operation %d: %w", ErrPatch, i, err)
		}
	}
	return ops, nil
}

func (op patchOp) check() error {
	if op.Path == nil {
		return errors.New("no path")
	}
	if err := checkPointer(*op.Path); err != nil {
		return err
	}
	switch op.Op {
	case "add", "replace", "test":
		if op.Value == nil {
			return errors.New("no value")
		}
	case "remove":
	case "move", "copy":
		if op.From == nil {
			return errors.New("no from")
		}
		if err := checkPointer(*op.From); err != nil {
			return err
		}
	default:
		return fmt.Errorf("unknown operation %q", op.Op)
	}
	return nil
}

// UnmarshalJSON keeps "value": null apart from no value.
func (op *patchOp) UnmarshalJSON(b []byte) error {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(b, &m); err != nil {
		return err
	}
	if m == nil {
		return errors.New("an operation is null")
	}
	for name, dst := range map[string]any{"op": &op.Op, "path": &op.Path, "from": &op.From} {
		if v, ok := m[name]; ok {
			if err := json.Unmarshal(v, dst); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
		}
	}
	op.Value = m["value"]
	return nil
}

func checkPointer(p string) error {
	if p == "" {
		return nil
	}
	if p[0] != '/' {
		return fmt.Errorf("%q does not start with a slash", p)
	}
	before := ""
	for tok := range strings.SplitSeq(p[1:], "/") {
		for i := range len(tok) {
			if tok[i] == '~' && (i+1 == len(tok) || tok[i+1] != '0' && tok[i+1] != '1') {
				return fmt.Errorf("%q has a wrong escape", p)
			}
		}
		tok = unescapeToken(tok)
		if tok == "" {
			return fmt.Errorf("%q has an empty member name", p)
		}
		if tok == "__proto__" || tok == "prototype" && before == "constructor" {
			return fmt.Errorf("%q reaches a prototype", p)
		}
		before = tok
	}
	return nil
}

func unescapeToken(t string) string {
	return strings.ReplaceAll(strings.ReplaceAll(t, "~1", "/"), "~0", "~")
}

// whole reports whether an operation is done here rather than by the library:
// those on the whole document, which it only knows as an object or an array,
// and tests, which it passes for a missing member.
func whole(op patchOp) bool {
	return *op.Path == "" || op.Op == "test" || op.From != nil && *op.From == "" && op.Op != "remove"
}

// oddIndex reports whether a pointer of the operation has a token that the
// library reads as an index though it is not spelled as one: +1, 01. It is
// only lawful as a member name.
func oddIndex(op patchOp) bool {
	odd := func(pointer *string) bool {
		if pointer == nil {
			return false
		}
		for tok := range strings.SplitSeq(*pointer, "/") {
			if i, err := strconv.Atoi(tok); err == nil && strconv.Itoa(i) != tok {
				return true
			}
		}
		return false
	}
	return odd(op.Path) || odd(op.From)
}

// inArray reports whether such a token would be an index in doc.
func inArray(doc json.RawMessage, op patchOp) bool {
	in := func(pointer *string) bool {
		if pointer == nil {
			return false
		}
		for end := 1; end < len(*pointer); end++ {
			start := end
			for end < len(*pointer) && (*pointer)[end] != '/' {
				end++
			}
			tok := (*pointer)[start:end]
			if i, err := strconv.Atoi(tok); err != nil || strconv.Itoa(i) == tok {
				continue
			}
			if parent, ok := at(doc, (*pointer)[:start-1]); ok && len(bytes.TrimSpace(parent)) > 0 && bytes.TrimSpace(parent)[0] == '[' {
				return true
			}
		}
		return false
	}
	return in(op.Path) || in(op.From)
}

func applyWhole(doc json.RawMessage, op patchOp) (json.RawMessage, error) {
	fail := func(why string) (json.RawMessage, error) {
		return nil, fmt.Errorf("%w: %s %q: %s", ErrPatch, op.Op, *op.Path, why)
	}
	switch op.Op {
	case "test":
		v, ok := at(doc, *op.Path)
		if !ok || !jsonEqual(v, op.Value) {
			return fail("the value differs")
		}
		return doc, nil
	case "add", "replace":
		return op.Value, nil
	case "copy", "move":
		if *op.Path == "" {
			v, ok := at(doc, *op.From)
			if !ok {
				return fail("nothing at " + *op.From)
			}
			return v, nil
		}
		if op.Op == "move" {
			return fail("a value cannot be moved into itself")
		}
		return applyParts(doc, []patchOp{{Op: "add", Path: op.Path, Value: doc}})
	}
	return fail("the whole payload cannot be removed")
}

func applyParts(doc json.RawMessage, ops []patchOp) (out json.RawMessage, err error) {
	doc = bytes.TrimSpace(doc)
	if doc[0] != '{' && doc[0] != '[' {
		return nil, fmt.Errorf("%w: %s %q: the payload has no members", ErrPatch, ops[0].Op, *ops[0].Path)
	}
	// The library reads patches of any origin; a panic in it must not end a
	// turn, so it counts as a patch that does not apply.
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("%w: %v", ErrPatch, r)
		}
	}()
	patch := make(jsonpatch.Patch, len(ops))
	for i, op := range ops {
		patch[i] = op.operation()
	}
	opt := jsonpatch.NewApplyOptions()
	opt.SupportNegativeIndices = false
	opt.AccumulatedCopySizeLimit = MaxPayload
	opt.EscapeHTML = false
	res, err := patch.ApplyWithOptions(doc, opt)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrPatch, err)
	}
	return res, nil
}

func (op patchOp) operation() jsonpatch.Operation {
	member := func(s string) *json.RawMessage {
		b, _ := json.Marshal(s) // a string always encodes
		return (*json.RawMessage)(&b)
	}
	o := jsonpatch.Operation{"op": member(op.Op), "path": member(*op.Path)}
	if op.From != nil {
		o["from"] = member(*op.From)
	}
	if op.Value != nil {
		v := op.Value
		o["value"] = &v
	}
	return o
}

// at returns the value that a pointer names.
func at(doc json.RawMessage, pointer string) (json.RawMessage, bool) {
	if pointer == "" {
		return doc, true
	}
	for tok := range strings.SplitSeq(pointer[1:], "/") {
		tok = unescapeToken(tok)
		doc = bytes.TrimSpace(doc)
		switch {
		case len(doc) > 0 && doc[0] == '{':
			var m map[string]json.RawMessage
			if json.Unmarshal(doc, &m) != nil {
				return nil, false
			}
			v, ok := m[tok]
			if !ok {
				return nil, false
			}
			doc = v
		case len(doc) > 0 && doc[0] == '[':
			var a []json.RawMessage
			i, err := strconv.ParseUint(tok, 10, 31)
			if err != nil || json.Unmarshal(doc, &a) != nil || i >= uint64(len(a)) {
				return nil, false
			}
			doc = a[i]
		default:
			return nil, false
		}
	}
	return doc, true
}

func jsonEqual(a, b json.RawMessage) bool {
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return deepEqual(x, y)
}

func deepEqual(x, y any) bool {
	switch x := x.(type) {
	case map[string]any:
		y, ok := y.(map[string]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for k, v := range x {
			w, ok := y[k]
			if !ok || !deepEqual(v, w) {
				return false
			}
		}
		return true
	case []any:
		y, ok := y.([]any)
		if !ok || len(x) != len(y) {
			return false
		}
		for i := range x {
			if !deepEqual(x[i], y[i]) {
				return false
			}
		}
		return true
	default:
		switch y.(type) {
		case map[string]any, []any:
			return false
		}
		return x == y
	}
}
