package action

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// canonical writes JSON compact and with sorted keys, each of them once, so
// that equal payloads are equal bytes and everybody who reads it, schema and
// handler, reads the same.
func canonical(raw json.RawMessage) (json.RawMessage, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return json.RawMessage("{}"), nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode payload: %w", err)
	}
	if dec.More() {
		return nil, errors.New("decode payload: more than one value")
	}
	if v == nil {
		return json.RawMessage("{}"), nil
	}
	if tooDeep(v, MaxDepth) {
		return nil, fmt.Errorf("decode payload: nested more than %d deep", MaxDepth)
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, errors.New("decode payload: not an object")
	}
	return canonicalOf(v)
}

// MaxDepth is how deep a payload may be nested. Judging deeper ones by a schema
// that refers to itself takes longer than it is worth.
const MaxDepth = 64

func tooDeep(v any, left int) bool {
	switch v := v.(type) {
	case map[string]any:
		for _, m := range v {
			if left == 0 || tooDeep(m, left-1) {
				return true
			}
		}
	case []any:
		for _, m := range v {
			if left == 0 || tooDeep(m, left-1) {
				return true
			}
		}
	}
	return false
}

func canonicalOf(v any) (json.RawMessage, error) {
	b, err := jsonx.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("encode payload: %w", err)
	}
	return b, nil
}

func compact(raw json.RawMessage) (json.RawMessage, error) {
	var b bytes.Buffer
	if err := json.Compact(&b, raw); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}

// digest is how a payload is named where it must not be kept.
func digest(payload json.RawMessage) string {
	sum := sha256.Sum256(payload)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// fingerprint names what a key stands for.
func fingerprint(req *Request) string {
	h := sha256.New()
	for _, part := range []string{req.Msg, req.Block, req.Action, string(req.Payload)} {
		fmt.Fprintf(h, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(h.Sum(nil))
}

// secrets takes out of values what is a password: it is used and not kept. What
// is one the block's form says, and the action's own schemas.
func secrets(b block.Block, payload json.RawMessage, schemas ...json.RawMessage) json.RawMessage {
	type form struct {
		Schema   map[string]any `json:"schema"`
		UISchema map[string]any `json:"uiSchema"`
	}
	var forms []form
	if b.Type == "form" || b.Type == "confirm" || b.Type == "question" {
		var f form
		if json.Unmarshal(b.Payload, &f) != nil {
			return json.RawMessage("{}")
		}
		forms = append(forms, f)
	}
	for _, raw := range schemas {
		var f form
		if len(raw) > 0 && json.Unmarshal(raw, &f.Schema) != nil {
			return json.RawMessage("{}")
		}
		forms = append(forms, f)
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	if dec.Decode(&v) != nil {
		return json.RawMessage("{}")
	}
	found := false
	for _, f := range forms {
		found = strip(v, f.Schema, f.UISchema, f.Schema) || found
	}
	if !found {
		return payload
	}
	out, err := canonicalOf(v)
	if err != nil {
		return json.RawMessage("{}")
	}
	return out
}

// strip removes the members of v that are passwords by their schema or by the
// widget that draws them, and reports whether there were any.
func strip(v any, schema, ui, root map[string]any) bool {
	found := false
	switch v := v.(type) {
	case map[string]any:
		for name, member := range v {
			s, u := property(schema, name, root), section(ui, name)
			if isSecret(s, u) {
				delete(v, name)
				found = true
				continue
			}
			found = strip(member, s, u, root) || found
		}
	case []any:
		for i, item := range v {
			s, u := deref(section(deref(schema, root), "items"), root), section(ui, "items")
			if isSecret(s, u) {
				v[i] = ""
				found = true
				continue
			}
			found = strip(item, s, u, root) || found
		}
	}
	return found
}

func section(m map[string]any, name string) map[string]any {
	s, _ := m[name].(map[string]any)
	return s
}

// deref follows references into the schema's definitions, a few of them.
func deref(schema, root map[string]any) map[string]any {
	for range 8 {
		ref, _ := schema["$ref"].(string)
		to := map[string]any(nil)
		for _, place := range []string{"definitions", "$defs"} {
			if name, ok := strings.CutPrefix(ref, "#/"+place+"/"); ok {
				to = section(section(root, place), name)
			}
		}
		if to == nil {
			break
		}
		schema = to
	}
	return schema
}

// property finds the schema of a member, also in the branches of a schema.
func property(schema map[string]any, name string, root map[string]any) map[string]any {
	return propertyIn(schema, name, root, 8)
}

func propertyIn(schema map[string]any, name string, root map[string]any, depth int) map[string]any {
	schema = deref(schema, root)
	if depth == 0 || schema == nil {
		return nil
	}
	if p := deref(section(section(schema, "properties"), name), root); p != nil {
		return p
	}
	for _, word := range []string{"allOf", "anyOf", "oneOf"} {
		branches, _ := schema[word].([]any)
		for _, br := range branches {
			m, _ := br.(map[string]any)
			if p := propertyIn(m, name, root, depth-1); p != nil {
				return p
			}
		}
	}
	for _, word := range []string{"then", "else", "if"} {
		if p := propertyIn(section(schema, word), name, root, depth-1); p != nil {
			return p
		}
	}
	for _, d := range section(schema, "dependencies") {
		m, _ := d.(map[string]any)
		if p := propertyIn(m, name, root, depth-1); p != nil {
			return p
		}
	}
	for pattern, d := range section(schema, "patternProperties") {
		// One that only a browser can read is taken to mean every member.
		if re, err := regexp.Compile(pattern); err == nil && !re.MatchString(name) {
			continue
		}
		if m, ok := d.(map[string]any); ok {
			return deref(m, root)
		}
	}
	return deref(section(schema, "additionalProperties"), root)
}

func isSecret(schema, ui map[string]any) bool {
	if schema["format"] == "password" || schema["writeOnly"] == true {
		return true
	}
	options := section(ui, "ui:options")
	return ui["ui:widget"] == "password" || options["widget"] == "password" || options["inputType"] == "password"
}
