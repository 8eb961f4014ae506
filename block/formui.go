package block

import (
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/nearest"
)

// formWidgets are the controls that a form may ask for.
var formWidgets = []string{
	"checkbox", "checkboxes", "color", "date", "dateRange", "datetime", "file", "hidden", "password", "radio", "range", "select", "switch",
	"text", "textarea", "time", "updown",
}

// FormWidgets returns the controls that uiSchema may name.
func FormWidgets() []string { return slices.Clone(formWidgets) }

type uiShape int

const (
	uiText uiShape = iota
	uiBool
	uiWidget
	uiNames
	uiStrings
	uiCount
	uiSubmit
	uiOptions
	uiAutocomplete
)

// formOptions are what uiSchema may say of a field, as "ui:name" or as a member
// of "ui:options".
var formOptions = map[string]uiShape{
	"widget": uiWidget, "order": uiNames, "title": uiText, "description": uiText, "help": uiText, "placeholder": uiText,
	"disabled": uiBool, "readonly": uiBool, "autofocus": uiBool, "autocomplete": uiAutocomplete, "enumNames": uiStrings, "enumDisabled": uiStrings,
	"addable": uiBool, "removable": uiBool, "orderable": uiBool, "inline": uiBool, "label": uiBool, "unit": uiText, "prefix": uiText,
	"columns": uiCount, "rows": uiCount, "accept": uiText, "submitText": uiText, "submitButtonOptions": uiSubmit, "options": uiOptions,
}

// FormOptions returns the names of what uiSchema may say of a field.
func FormOptions() []string { return slices.Sorted(maps.Keys(formOptions)) }

// LintUI reports, as a *SchemaError, what a uiSchema says that no client reads:
// it may nest like the schema (names of properties, items) and hold "ui:" and
// one of FormOptions.
func LintUI(ui json.RawMessage) error {
	var v violations
	switch {
	case len(ui) > MaxFormUI:
		v.add("", "%d bytes, at most %d", len(ui), MaxFormUI)
		return v.err()
	case depthOf(ui) > MaxFormDepth:
		v.add("", "nested deeper than %d", MaxFormDepth)
		return v.err()
	}
	doc, err := decodeJSON(ui)
	if err != nil {
		v.add("", "%v", err)
		return v.err()
	}
	lintUI(&v, nil, doc)
	return v.err()
}

func lintUI(v *violations, path []string, doc any) {
	bad := func(path []string, format string, args ...any) { v.add(jsonx.Pointer(path...), format, args...) }
	m, ok := doc.(map[string]any)
	if !ok {
		bad(path, "must be an object")
		return
	}
	for _, k := range slices.Sorted(maps.Keys(m)) {
		p := at(path, k)
		name, ui := strings.CutPrefix(k, "ui:")
		switch {
		case slices.Contains(protoNames, k):
			bad(p, "every object of a browser has a member %s: choose another name", k)
		case !ui:
			lintUI(v, p, m[k])
		default:
			lintOption(v, path, p, name, m[k])
		}
	}
}

func lintOption(v *violations, field, path []string, name string, val any) {
	bad := func(format string, args ...any) { v.add(jsonx.Pointer(path...), format, args...) }
	shape, known := formOptions[name]
	if !known {
		cure := "leave it out"
		if near := nearest.Of(name, FormOptions()); near != "" {
			cure = "did you mean ui:" + near + "?"
		}
		bad("ui:%s is not known: %s", name, cure)
		return
	}
	s, isText := val.(string)
	switch shape {
	case uiText:
		if !isText || len(s) > 2000 {
			bad("must be a text of at most 2000 bytes")
		}
	case uiAutocomplete:
		if !isText || s == "" || len(s) > 100 || !all(s, func(c byte) bool { return isAlnum(c) || c == '-' || c == ' ' }) {
			bad("must be words such as given-name or one-time-code")
		}
	case uiBool:
		if _, ok := val.(bool); !ok {
			bad("must be true or false")
		}
	case uiWidget:
		if !slices.Contains(formWidgets, s) {
			cure := "known are " + strings.Join(formWidgets, ", ")
			if near := nearest.Of(s, formWidgets); near != "" {
				cure = "did you mean " + near + "?"
			}
			bad("the widget %q is not known: %s", clip(s, 40), cure)
		}
	case uiNames, uiStrings:
		list, ok := val.([]any)
		if !ok || len(list) > MaxFormEnum {
			bad("must be a list")
			return
		}
		for i, e := range list {
			if _, ok := e.(string); !ok && (shape == uiNames || name == "enumNames") {
				v.add(jsonx.Pointer(at(path, strconv.Itoa(i))...), "must be a text")
			}
		}
	case uiCount:
		if n, ok := number64(val); !ok || n != math.Trunc(n) || n < 1 || n > 40 {
			bad("must be a whole number from 1 to 40")
		}
	case uiSubmit:
		m, ok := val.(map[string]any)
		if !ok || len(field) > 0 {
			bad("must be an object, at the root")
			return
		}
		for k, e := range m {
			if _, text := e.(string); k != "submitText" || !text {
				v.add(jsonx.Pointer(at(path, k)...), "only submitText, a text, is known")
			}
		}
	case uiOptions:
		m, ok := val.(map[string]any)
		if !ok {
			bad("must be an object")
			return
		}
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if k == "options" {
				v.add(jsonx.Pointer(at(path, k)...), "options do not nest")
				continue
			}
			lintOption(v, field, at(path, k), k, m[k])
		}
	}
}
