package markup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// sourceKeyword is the member of a schema that says who may say a field.
const sourceKeyword = "x-source"

// sourceServer is its value for fields that are the server's.
const sourceServer = "server"

// sourceLike is what the keyword looks like when it is mistyped.
var sourceLike = regexp.MustCompile(`(?i)^x[-_ ]?sources?$`)

// idField is the member that names what a card is about.
const idField = "id"

// maxNested is how deep a schema's fields are listed for people.
const maxNested = 6

// cardSchema is a card's JSON Schema as it is walked beside a payload, to see
// which fields are whose. What it does not understand it leaves alone: the
// compiled schema judges the result.
type cardSchema struct{ root map[string]any }

// applied are the schemas that hold for one value together.
type applied []map[string]any

func readSchema(raw json.RawMessage) (*cardSchema, error) {
	v, err := decode(raw)
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	root, ok := v.(map[string]any)
	if !ok {
		return nil, errors.New("schema: must be an object")
	}
	s := &cardSchema{root: root}
	if s.at().server() {
		return nil, errors.New("schema: the whole card is marked as the server's; mark its fields")
	}
	if err := checkSources(root, ""); err != nil {
		return nil, err
	}
	if err := s.checkRefs(root, ""); err != nil {
		return nil, err
	}
	return s, nil
}

// checkRefs finds references behind which a mark would not be seen.
func (s *cardSchema) checkRefs(v any, path string) error {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			here := path + jsonx.Pointer(key)
			if ref, ok := v[key].(string); ok && (key == "$dynamicRef" || key == "$ref" && s.target(ref) == nil) {
				return fmt.Errorf("schema: %s: %q must be a $ref with a JSON Pointer into the schema itself, such as #/$defs/price", here, ref)
			}
			if err := s.checkRefs(v[key], here); err != nil {
				return err
			}
		}
	case []any:
		for i, one := range v {
			if err := s.checkRefs(one, path+jsonx.Pointer(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkSources finds marks that mean nothing.
func checkSources(v any, path string) error {
	switch v := v.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if _, isSchema := v[key].(map[string]any); isSchema || !sourceLike.MatchString(key) {
				continue // a field may be called so
			}
			switch {
			case key != sourceKeyword:
				return fmt.Errorf("schema: %s: %q means nothing; did you mean %s?", orRoot(path), key, sourceKeyword)
			case v[key] != sourceServer && v[key] != "model":
				return fmt.Errorf("schema: %s: %s %q must be server or model", orRoot(path), sourceKeyword, fmt.Sprint(v[key]))
			}
		}
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if err := checkSources(v[key], path+jsonx.Pointer(key)); err != nil {
				return err
			}
		}
	case []any:
		for i, one := range v {
			if err := checkSources(one, path+jsonx.Pointer(strconv.Itoa(i))); err != nil {
				return err
			}
		}
	}
	return nil
}

func orRoot(path string) string {
	if path == "" {
		return "the root"
	}
	return path
}

// decode reads JSON, numbers as they are written.
func decode(raw json.RawMessage) (any, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, err
	}
	if dec.More() {
		return nil, errors.New("more than one value")
	}
	return v, nil
}

// at returns the schemas of the payload itself.
func (s *cardSchema) at() applied { return s.all(s.root) }

// all returns a schema with all that hold where it does, perhaps.
func (s *cardSchema) all(schema any) applied { return s.gather(schema, perhaps) }

// certain returns a schema with those that hold wherever it does: not one of
// several, and not under a condition.
func (s *cardSchema) certain(schema any) applied { return s.gather(schema, surely) }

// gather returns a schema with what it refers to and with those within it that
// parts names.
func (s *cardSchema) gather(schema any, parts func(one map[string]any) []any) applied {
	var out applied
	seen := make(map[string]bool)
	var add func(schema any)
	add = func(schema any) {
		one, ok := schema.(map[string]any)
		if !ok {
			return
		}
		out = append(out, one)
		if ref, ok := one["$ref"].(string); ok && !seen[ref] {
			seen[ref] = true
			add(s.target(ref))
		}
		for _, of := range parts(one) {
			add(of)
		}
	}
	add(schema)
	return out
}

// surely are the schemas that hold where the one that has them does.
func surely(one map[string]any) []any {
	list, _ := one["allOf"].([]any)
	return list
}

// perhaps are all schemas that may hold where the one that has them does.
func perhaps(one map[string]any) []any {
	var out []any
	for _, keyword := range []string{"allOf", "anyOf", "oneOf"} {
		list, _ := one[keyword].([]any)
		out = append(out, list...)
	}
	for _, keyword := range []string{"if", "then", "else"} {
		out = append(out, one[keyword])
	}
	dependent, _ := one["dependentSchemas"].(map[string]any)
	for _, of := range dependent {
		out = append(out, of)
	}
	return out
}

// target finds what a reference into the schema itself points to.
func (s *cardSchema) target(ref string) any {
	pointer, ok := strings.CutPrefix(ref, "#")
	if !ok || pointer != "" && pointer[0] != '/' {
		return nil
	}
	pointer, err := url.PathUnescape(pointer)
	if err != nil {
		return nil
	}
	var at any = s.root
	for _, token := range tokens(pointer) {
		switch v := at.(type) {
		case map[string]any:
			at = v[token]
		case []any:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(v) {
				return nil
			}
			at = v[i]
		default:
			return nil
		}
	}
	return at
}

// tokens are the parts of a JSON Pointer.
func tokens(pointer string) []string {
	if pointer == "" {
		return nil
	}
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, p := range parts {
		parts[i] = strings.ReplaceAll(strings.ReplaceAll(p, "~1", "/"), "~0", "~")
	}
	return parts
}

// member returns the schemas of a member of an object.
func (s *cardSchema) member(of applied, name string) applied {
	var out applied
	for _, one := range of {
		properties, _ := one["properties"].(map[string]any)
		schema, named := properties[name]
		if named {
			out = append(out, s.all(schema)...)
		}
		patterns, _ := one["patternProperties"].(map[string]any)
		for pattern, schema := range patterns {
			// A pattern that Go cannot read may match: rather too much is the
			// server's than too little.
			re, err := regexp.Compile(pattern)
			if err != nil || re.MatchString(name) {
				named = true
				out = append(out, s.all(schema)...)
			}
		}
		if !named {
			out = append(out, s.all(one["additionalProperties"])...)
			out = append(out, s.all(one["unevaluatedProperties"])...)
		}
	}
	return out.once()
}

// element returns the schemas of an element of a list.
func (s *cardSchema) element(of applied, i int) applied {
	var out applied
	for _, one := range of {
		first, _ := one["prefixItems"].([]any)
		if i < len(first) {
			out = append(out, s.all(first[i])...)
		} else {
			out = append(out, s.all(one["items"])...)
			out = append(out, s.all(one["unevaluatedItems"])...)
		}
		out = append(out, s.all(one["contains"])...)
	}
	return out.once()
}

// inside returns the schemas of a member of an object that a model wrote. One
// that stands where a list is due is taken for an element of it, and for the
// list with names in place of numbers, so that a wrong shape hides nothing of
// the server's.
func (s *cardSchema) inside(of applied, name string) applied {
	out := s.member(of, name)
	if elements := s.element(of, 0); len(elements) > 0 {
		out = append(append(out, elements...), s.member(elements, name)...)
	}
	return out.once()
}

// item returns the schemas of an element of a list that a model wrote. One that
// stands where an object is due is taken for a list of such.
func (s *cardSchema) item(of applied, i int) applied {
	return append(s.element(of, i), of...).once()
}

// once are the schemas, each once: there are only so many, however deep a value
// of a schema that contains itself is.
func (a applied) once() applied {
	seen := make(map[uintptr]bool, len(a))
	return slices.DeleteFunc(a, func(one map[string]any) bool {
		at := reflect.ValueOf(one).Pointer()
		known := seen[at]
		seen[at] = true
		return known
	})
}

func (a applied) server() bool {
	return slices.ContainsFunc(a, func(one map[string]any) bool { return one[sourceKeyword] == sourceServer })
}

// properties are the members that the schemas name.
func (a applied) properties() []string {
	names := make(map[string]bool)
	for _, one := range a {
		if properties, ok := one["properties"].(map[string]any); ok {
			for name := range properties {
				names[name] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// closed reports whether only named members are allowed.
func (a applied) closed() bool {
	return slices.ContainsFunc(a, func(one map[string]any) bool {
		return one["additionalProperties"] == false || one["unevaluatedProperties"] == false
	})
}

// filled reports whether the server says some of an object's members.
func (s *cardSchema) filled(of applied) bool {
	return slices.ContainsFunc(of.properties(), func(name string) bool { return s.member(of, name).server() })
}

// isServer reports whether a place is in a field of the server's.
func (s *cardSchema) isServer(pointer string) bool {
	at := s.at()
	for _, token := range tokens(pointer) {
		next := s.inside(at, token)
		if i, err := strconv.Atoi(token); err == nil {
			next = append(next, s.item(at, i)...)
		} else if token == "-" {
			next = append(next, s.item(at, 0)...)
		}
		if next.server() {
			return true
		}
		at = next
	}
	return false
}

// serverFields lists the fields of the server's; * stands for every element of
// a list.
func (s *cardSchema) serverFields() []string {
	var out []string
	var walk func(of applied, path string, depth int)
	walk = func(of applied, path string, depth int) {
		if depth > maxNested { // a schema that contains itself
			return
		}
		for _, name := range of.properties() {
			m, here := s.member(of, name), path+jsonx.Pointer(name)
			if m.server() {
				out = append(out, here)
				continue
			}
			walk(m, here, depth+1)
		}
		switch items := s.element(of, 0); {
		case items.server():
			out = append(out, path+"/*")
		case len(items) > 0:
			walk(items, path+"/*", depth+1)
		}
	}
	walk(s.at(), "", 0)
	return out
}

// unfilled finds a member that is required of the server and of nobody else.
func (s *cardSchema) unfilled() (name string, found bool) {
	var walk func(of applied, depth int)
	walk = func(of applied, depth int) {
		if depth > maxNested || found {
			return
		}
		for _, one := range of {
			required, _ := one["required"].([]any)
			for _, r := range required {
				if n, ok := r.(string); ok && s.member(of, n).server() {
					name, found = n, true
					return
				}
			}
		}
		for _, n := range of.properties() {
			if m := s.member(of, n); !m.server() {
				walk(m, depth+1)
			}
		}
		walk(s.element(of, 0), depth+1)
	}
	walk(s.at(), 0)
	return name, found
}

// identified reports whether something that the server says more of must name
// its id.
func (s *cardSchema) identified() bool {
	found := false
	var walk func(of applied, root bool, depth int)
	walk = func(of applied, root bool, depth int) {
		if depth > maxNested || found {
			return
		}
		if root || s.filled(of) {
			found = slices.ContainsFunc(of, func(one map[string]any) bool {
				required, _ := one["required"].([]any)
				return slices.Contains(required, any(idField))
			})
		}
		for _, name := range of.properties() {
			if m := s.member(of, name); !m.server() {
				walk(m, false, depth+1)
			}
		}
		walk(s.element(of, 0), false, depth+1)
	}
	walk(s.at(), true, 0)
	return found
}

// loose is the schema with nothing required.
func (s *cardSchema) loose() (json.RawMessage, error) {
	var without func(v any) any
	without = func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			out := make(map[string]any, len(v))
			for k, one := range v {
				if _, list := one.([]any); list && k == "required" {
					continue
				}
				out[k] = without(one)
			}
			return out
		case []any:
			out := make([]any, len(v))
			for i, one := range v {
				out[i] = without(one)
			}
			return out
		}
		return v
	}
	return jsonx.Marshal(without(s.root))
}

// strip takes out of a value what only the server may say, and returns where
// that was. What stands in the member that may be around the fields is a value
// like it.
func (s *cardSchema) strip(v any) (any, []string) {
	of := s.at()
	v, dropped := s.stripFrom(v, of, "")
	path := ""
	for around, ok := v.(map[string]any); ok && len(s.member(of, dataField)) == 0; {
		inside, there := around[dataField]
		if !there {
			break
		}
		path += jsonx.Pointer(dataField)
		rest, more := s.stripFrom(inside, of, path)
		around[dataField], dropped = rest, append(dropped, more...)
		around, ok = rest.(map[string]any)
	}
	return v, dropped
}

// stripFrom is strip for a value at a path, with its schemas.
func (s *cardSchema) stripFrom(v any, of applied, path string) (any, []string) {
	var dropped []string
	var walk func(v any, of applied, path string) any
	walk = func(v any, of applied, path string) any {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				m, here := s.inside(of, name), path+jsonx.Pointer(name)
				if m.server() {
					dropped = append(dropped, here)
					delete(v, name)
					continue
				}
				v[name] = walk(v[name], m, here)
			}
		case []any:
			kept := v[:0]
			for i, one := range v {
				e, here := s.item(of, i), path+jsonx.Pointer(strconv.Itoa(i))
				if e.server() {
					dropped = append(dropped, here)
					continue
				}
				kept = append(kept, walk(one, e, here))
			}
			return kept
		}
		return v
	}
	return walk(v, of, path), dropped
}

// known takes out of a value the members that closed objects of the schema do
// not name, and returns where they were.
func (s *cardSchema) known(v any) (any, []string) {
	var left []string
	var walk func(v any, of applied, path string)
	walk = func(v any, of applied, path string) {
		switch v := v.(type) {
		case map[string]any:
			closed := of.closed()
			for _, name := range slices.Sorted(maps.Keys(v)) {
				m, here := s.member(of, name), path+jsonx.Pointer(name)
				if len(m) == 0 && closed && !slices.Contains(of.properties(), name) {
					left = append(left, here)
					delete(v, name)
					continue
				}
				walk(v[name], m, here)
			}
		case []any:
			for i, one := range v {
				walk(one, s.element(of, i), path+jsonx.Pointer(strconv.Itoa(i)))
			}
		}
	}
	walk(v, s.at(), "")
	return v, left
}

// ids are the ids of the objects of which the server says more: the payload
// itself, and objects inside it of which fields are the server's.
func (s *cardSchema) ids(v any) []string {
	var out []string
	s.objects(v, func(o map[string]any, _ bool) bool {
		if id, ok := idOf(o); ok && !slices.Contains(out, id) {
			out = append(out, id)
		}
		return true
	})
	return out
}

// objects calls f with the objects that the server says more of. Where f
// returns false the object is taken out of the list it stands in.
func (s *cardSchema) objects(v any, f func(o map[string]any, root bool) bool) any {
	var walk func(v any, of applied, root bool) (any, bool)
	walk = func(v any, of applied, root bool) (any, bool) {
		switch v := v.(type) {
		case map[string]any:
			stays := true
			if root || s.filled(of) {
				stays = f(v, root)
			}
			for _, name := range slices.Sorted(maps.Keys(v)) {
				if m := s.member(of, name); !m.server() {
					v[name], _ = walk(v[name], m, false)
				}
			}
			return v, stays
		case []any:
			kept := make([]any, 0, len(v))
			for i, one := range v {
				if with, stays := walk(one, s.element(of, i), false); stays {
					kept = append(kept, with)
				}
			}
			return kept, true
		}
		return v, true
	}
	out, _ := walk(v, s.at(), true)
	return out
}

// idOf reads the id of an object, as it stands in placeholders too.
func idOf(o map[string]any) (string, bool) {
	var id string
	switch v := o[idField].(type) {
	case string:
		id = v
	case json.Number:
		id = v.String()
	}
	return id, id != "" && len(id) <= DefaultMaxID && !strings.ContainsFunc(id, unicode.IsControl)
}
