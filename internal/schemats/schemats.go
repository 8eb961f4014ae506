// Package schemats writes TypeScript types from the JSON Schemas of block
// payloads, so that clients and server cannot disagree about a payload.
//
// It knows the keywords that those schemas use and refuses the rest of JSON
// Schema rather than guess; it must never become a validator.
package schemats

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// lineWidth is where long unions are broken, as the formatter of the web code
// does.
const lineWidth = 100

type schema struct {
	Title       string             `json:"title"`
	Description string             `json:"description"`
	Type        any                `json:"type"`
	Const       any                `json:"const"`
	Enum        []any              `json:"enum"`
	Ref         string             `json:"$ref"`
	Items       *schema            `json:"items"`
	AnyOf       []*schema          `json:"anyOf"`
	Properties  ordered            `json:"properties"`
	Required    []string           `json:"required"`
	Additional  json.RawMessage    `json:"additionalProperties"`
	Defs        map[string]*schema `json:"$defs"`
}

// ordered is an object's members in the order of the document.
type ordered []property

type property struct {
	name string
	*schema
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *ordered) UnmarshalJSON(b []byte) error {
	d := json.NewDecoder(bytes.NewReader(b))
	if _, err := d.Token(); err != nil {
		return err
	}
	for d.More() {
		name, err := d.Token()
		if err != nil {
			return err
		}
		p := property{name: fmt.Sprint(name), schema: new(schema)}
		if err := d.Decode(p.schema); err != nil {
			return err
		}
		*o = append(*o, p)
	}
	return nil
}

// Set is a directory of schemas, whose files are named "chart.v1.json".
type Set struct {
	// Index is the name of the map that leads from "chart@1" to the payload's
	// type, and About what is said of it.
	Index, About string
	Files        fs.FS
}

// TypeScript returns the declarations for every schema of the sets, and the map
// of each. Schemas of all sets may share a type when they agree on it.
func TypeScript(sets ...Set) ([]byte, error) {
	var b bytes.Buffer
	declared := make(map[string]string)
	b.WriteString("// Generated from the JSON Schemas of the block payloads by `go generate ./schema`. Do not edit.\n")
	for _, set := range sets {
		if err := set.write(&b, declared); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}

func (s Set) write(b *bytes.Buffer, declared map[string]string) error {
	names, err := fs.Glob(s.Files, "*.json")
	if err != nil {
		return err
	}
	slices.Sort(names)
	var index bytes.Buffer
	fmt.Fprintf(&index, "\n/** %s */\nexport interface %s {\n", s.About, s.Index)
	for _, name := range names {
		raw, err := fs.ReadFile(s.Files, name)
		if err != nil {
			return err
		}
		g := generator{out: b, declared: declared}
		if err := json.Unmarshal(raw, &g.root); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := g.document(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		typ, version, ok := strings.Cut(strings.TrimSuffix(path.Base(name), ".json"), ".v")
		if !ok {
			return fmt.Errorf("%s: no version in the name", name)
		}
		fmt.Fprintf(&index, "  %q: %s;\n", typ+"@"+version, g.root.Title)
	}
	index.WriteString("}\n")
	b.Write(index.Bytes())
	return nil
}

// Payloads returns the declarations for the payloads of the built-in blocks and
// of the presets.
func Payloads() ([]byte, error) {
	return TypeScript(
		Set{"PayloadTypes", "The payload of each built-in block type, by its capability.", block.Schemas()},
		Set{"PresetPayloadTypes", "The payload of each preset card, by its capability.", block.PresetSchemas()},
	)
}

type generator struct {
	out  *bytes.Buffer
	root schema
	// declared has the text of every type so far. Two schemas may share one,
	// when they agree on it.
	declared map[string]string
}

func (g *generator) document() error {
	if err := g.declare(&g.root); err != nil {
		return err
	}
	keys := make([]string, 0, len(g.root.Defs))
	for k := range g.root.Defs {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	for _, k := range keys {
		if d := g.root.Defs[k]; d.Title != "" {
			if err := g.declare(d); err != nil {
				return fmt.Errorf("$defs/%s: %w", k, err)
			}
		}
	}
	return nil
}

func (g *generator) declare(s *schema) error {
	if s.Title == "" {
		return fmt.Errorf("no title to name the type by")
	}
	text, err := g.declaration(s)
	if err != nil {
		return err
	}
	if before, ok := g.declared[s.Title]; ok {
		if before != text {
			return fmt.Errorf("another schema has a different %s", s.Title)
		}
		return nil
	}
	g.declared[s.Title] = text
	g.out.WriteString(text)
	return nil
}

func (g *generator) declaration(s *schema) (string, error) {
	var b strings.Builder
	b.WriteByte('\n')
	comment(&b, "", s.Description)
	if len(s.Properties) == 0 {
		t, err := g.expr(s, true)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(&b, "export type %s = %s;\n", s.Title, t)
		return b.String(), nil
	}
	fmt.Fprintf(&b, "export interface %s {\n", s.Title)
	for _, p := range s.Properties {
		t, err := g.expr(p.schema, false)
		if err != nil {
			return "", fmt.Errorf("%s: %w", p.name, err)
		}
		comment(&b, "  ", p.Description)
		optional := "?"
		if slices.Contains(s.Required, p.name) {
			optional = ""
		}
		line := fmt.Sprintf("  %s%s: %s;\n", p.name, optional, t)
		if len(line) > lineWidth+1 && strings.Contains(t, " | ") {
			line = fmt.Sprintf("  %s%s:\n    | %s;\n", p.name, optional, strings.ReplaceAll(t, " | ", "\n    | "))
		}
		b.WriteString(line)
	}
	if len(s.Additional) > 0 && string(s.Additional) != "false" {
		b.WriteString("  [name: string]: unknown;\n")
	}
	b.WriteString("}\n")
	return b.String(), nil
}

func comment(b *strings.Builder, indent, text string) {
	if text != "" {
		fmt.Fprintf(b, "%s/** %s */\n", indent, strings.ReplaceAll(text, "*/", "* /"))
	}
}

// expr writes a schema as a type expression; titled schemas by their name
// unless body is set.
func (g *generator) expr(s *schema, body bool) (string, error) {
	switch {
	case s.Ref != "":
		name, ok := strings.CutPrefix(s.Ref, "#/$defs/")
		d := g.root.Defs[name]
		if !ok || d == nil {
			return "", fmt.Errorf("unknown reference %s", s.Ref)
		}
		return g.expr(d, false)
	case s.Title != "" && !body:
		return s.Title, nil
	case s.Const != nil:
		return literal(s.Const)
	case len(s.AnyOf) > 0:
		parts := make([]string, len(s.AnyOf))
		for i, v := range s.AnyOf {
			var err error
			if parts[i], err = g.expr(v, false); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, " | "), nil
	case len(s.Enum) > 0:
		parts := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			var err error
			if parts[i], err = literal(v); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, " | "), nil
	}
	switch t := s.Type.(type) {
	case string:
		return g.named(s, t)
	case []any:
		parts := make([]string, len(t))
		for i, v := range t {
			var err error
			if parts[i], err = g.named(s, fmt.Sprint(v)); err != nil {
				return "", err
			}
		}
		return strings.Join(parts, " | "), nil
	}
	return "", fmt.Errorf("no type")
}

func (g *generator) named(s *schema, t string) (string, error) {
	switch t {
	case "string", "number", "boolean", "null":
		return t, nil
	case "integer":
		return "number", nil
	case "array":
		if s.Items == nil {
			return "", fmt.Errorf("an array without items")
		}
		item, err := g.expr(s.Items, false)
		if err != nil {
			return "", err
		}
		if strings.Contains(item, " ") {
			item = "(" + item + ")"
		}
		return item + "[]", nil
	case "object":
		if string(s.Additional) == "true" {
			return "Record<string, unknown>", nil
		}
		var values schema
		if len(s.Additional) == 0 || json.Unmarshal(s.Additional, &values) != nil {
			return "", fmt.Errorf("an object without members")
		}
		v, err := g.expr(&values, false)
		if err != nil {
			return "", err
		}
		return "Record<string, " + v + ">", nil
	}
	return "", fmt.Errorf("unknown type %q", t)
}

func literal(v any) (string, error) {
	switch v.(type) {
	case string, float64, bool:
		b, err := json.Marshal(v)
		return string(b), err
	}
	return "", fmt.Errorf("unknown constant %v", v)
}
