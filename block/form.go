package block

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// MaxFormUI is the size in bytes of a form's uiSchema.
const MaxFormUI = 32 << 10

// Form is the payload of a form block: fields to fill in. What happens with
// them is the block's action.
type Form struct {
	Title       string `json:"title"`
	Description string `json:"description,omitempty"`
	// Schema is a JSON Schema of type object that LintForm accepts.
	Schema json.RawMessage `json:"schema"`
	// UISchema says which fields are shown how; see LintUI.
	UISchema json.RawMessage `json:"uiSchema,omitempty"`
	// Defaults are values to begin with. Those of a finished form fit its
	// schema; Out.Form drops those that do not.
	Defaults    map[string]any `json:"defaults,omitempty"`
	SubmitLabel string         `json:"submitLabel,omitempty"`
}

func formType() Type {
	return Type{
		Name:        "form",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "Fields to fill in, judged by one schema in the browser and on the server.",
		Schema:      builtinSchema("form.v1.json"),
		Height:      320,
		Check:       checkForm,
		Fallback:    formText,
		Markdown:    formMarkdown,
		Summary:     formSummary,
	}
}

// fields are the parts of a payload that make up a form.
type fields struct {
	Schema   json.RawMessage `json:"schema"`
	UISchema json.RawMessage `json:"uiSchema"`
	Defaults json.RawMessage `json:"defaults"`
}

// check judges the parts under the names that the payload has them by.
func (f fields) check(v *violations, defaults string) {
	if f.UISchema != nil {
		v.under("/uiSchema", LintUI(f.UISchema))
	}
	if f.Schema == nil {
		return
	}
	s, err := CompileForm(f.Schema)
	if err != nil {
		v.under("/schema", err)
		return
	}
	var root struct {
		Type any `json:"type"`
	}
	if json.Unmarshal(f.Schema, &root) != nil || root.Type != "object" {
		v.add("/schema/type", `must be "object": a form has named fields`)
		return
	}
	if f.Defaults == nil {
		return
	}
	names, err := s.misfits(f.Defaults)
	if err != nil {
		v.add("/"+defaults, "%v", err)
	}
	for _, name := range names {
		if name == "" {
			v.add("/"+defaults, "does not fit the schema")
			continue
		}
		v.add(jsonx.Pointer(defaults, name), "does not fit the schema")
	}
}

// under adds the violations of a part of the payload.
func (v *violations) under(path string, err error) {
	var se *SchemaError
	switch {
	case err == nil:
	case errors.As(err, &se):
		for _, x := range se.Violations {
			v.add(path+x.Path, "%s", x.Message)
		}
	default:
		v.add(path, "%v", err)
	}
}

func checkForm(payload json.RawMessage) error {
	var f fields
	if err := json.Unmarshal(payload, &f); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	f.check(&v, "defaults")
	return v.err()
}

// formField is a field of a form in plain text.
type formField struct {
	name, label, typ string
	required         bool
	value            any // the default; nil for none
	secret           bool
}

// formFields lists the named fields of a form's schema, in the order in which
// they are shown as far as that can be told without drawing it.
func formFields(schema, ui json.RawMessage, defaults map[string]any) []formField {
	var s struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if json.Unmarshal(schema, &s) != nil {
		return nil
	}
	var hints map[string]json.RawMessage
	_ = json.Unmarshal(ui, &hints)
	var order []string
	_ = json.Unmarshal(hints["ui:order"], &order)
	names, props := ordered(s.Properties)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(place(order, a), place(order, b)) })
	var out []formField
	for _, name := range names {
		var p struct {
			Title   string `json:"title"`
			Type    any    `json:"type"`
			Default any    `json:"default"`
		}
		_ = json.Unmarshal(props[name], &p)
		var h struct {
			Title  string `json:"ui:title"`
			Widget string `json:"ui:widget"`
		}
		_ = json.Unmarshal(hints[name], &h)
		if h.Widget == "hidden" {
			continue
		}
		f := formField{
			name: name, label: oneLine(cmp.Or(h.Title, p.Title, name)), required: slices.Contains(s.Required, name),
			value: p.Default, secret: h.Widget == "password",
		}
		f.typ, _ = p.Type.(string)
		if v, ok := defaults[name]; ok {
			f.value = v
		}
		out = append(out, f)
	}
	return out
}

// place is where ui:order puts a name; what it does not list stands at its "*".
func place(order []string, name string) int {
	if i := slices.Index(order, name); i >= 0 {
		return i
	}
	if i := slices.Index(order, "*"); i >= 0 {
		return i
	}
	return len(order)
}

// ordered reads an object's members in the order of the document.
func ordered(raw json.RawMessage) (names []string, members map[string]json.RawMessage) {
	members = make(map[string]json.RawMessage)
	d := json.NewDecoder(bytes.NewReader(raw))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		return nil, members
	}
	for d.More() {
		t, err := d.Token()
		name, ok := t.(string)
		var v json.RawMessage
		if err != nil || !ok || d.Decode(&v) != nil {
			return names, members
		}
		if _, twice := members[name]; !twice {
			names = append(names, name)
		}
		members[name] = v
	}
	return names, members
}

// text writes a field's default: lists joined, objects left to the form.
func (f formField) text() string {
	switch {
	case f.value == nil:
		return ""
	case f.secret:
		return "•••"
	}
	if list, ok := f.value.([]any); ok {
		words := make([]string, len(list))
		for i, v := range list {
			words[i] = formField{value: v}.text()
		}
		return strings.Join(words, ", ")
	}
	if _, ok := f.value.(map[string]any); ok {
		return "…"
	}
	return plain(f.value)
}

func (f formField) line() string {
	s := f.label
	if f.required {
		s += " *"
	}
	if v := f.text(); v != "" {
		s += ": " + v
	}
	return s
}

func decodeForm(payload json.RawMessage) (f Form, list []formField, ok bool) {
	if decodePayload(payload, &f) != nil {
		return f, nil, false
	}
	return f, formFields(f.Schema, f.UISchema, f.Defaults), true
}

func formText(payload json.RawMessage) string {
	f, list, ok := decodeForm(payload)
	if !ok {
		return "[form]"
	}
	rows := make([]string, 0, fallbackRows)
	for _, x := range list[:min(len(list), fallbackRows)] {
		rows = append(rows, x.line())
	}
	if len(rows) == 0 {
		return cmp.Or(oneLine(f.Title), "[form]")
	}
	return figuresText(oneLine(f.Title), rows, "; ", len(list)-len(rows))
}

func formMarkdown(payload json.RawMessage) string {
	f, list, ok := decodeForm(payload)
	if !ok {
		return "[form]"
	}
	var b strings.Builder
	b.WriteString("**" + markdownText(f.Title) + "**\n")
	if f.Description != "" {
		b.WriteString("\n" + markdownText(f.Description) + "\n")
	}
	if len(list) > 0 {
		b.WriteByte('\n')
	}
	for _, x := range list {
		b.WriteString("- " + markdownText(x.line()) + "\n")
	}
	return b.String()
}

func formSummary(payload json.RawMessage) string {
	f, list, ok := decodeForm(payload)
	if !ok {
		return "[form]"
	}
	lines := []string{"form: " + oneLine(f.Title)}
	for _, x := range list[:min(len(list), 40)] {
		s := "field " + x.name
		if x.label != x.name {
			s += " (" + x.label + ")"
		}
		if x.typ != "" {
			s += ", " + x.typ
		}
		if x.required {
			s += ", required"
		}
		if v := x.text(); v != "" {
			s += ", filled in: " + clip(v, 200)
		}
		lines = append(lines, s)
	}
	return strings.Join(append(lines, "The user has not submitted it yet."), "\n")
}
