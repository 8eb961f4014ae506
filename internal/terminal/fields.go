package terminal

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// FieldKind is how a field is answered.
type FieldKind int

// The kinds of field.
const (
	FieldText FieldKind = iota
	FieldNumber
	FieldInteger
	FieldBool
	FieldChoice  // one of Options
	FieldChoices // several of Options
	FieldList    // texts or numbers, separated by commas
	FieldRange   // two dates
	FieldJSON    // what has no better form in a line
	FieldFile    // cannot be answered here
)

// Field is one question of a form.
type Field struct {
	// Path is where the answer stands in the form's values.
	Path     []string
	Label    string
	Help     string
	Kind     FieldKind
	Options  []Option
	Required bool
	// Secret says that what is typed must not be seen.
	Secret bool
	// Default is the value to keep; nil for none.
	Default any
	// numbers says that a list holds numbers.
	numbers bool
}

// Option is an answer to choose.
type Option struct {
	Value any
	Label string
}

// maxFieldDepth is how deep objects are taken apart.
const maxFieldDepth = 6

// formSchema is what is read of a form's schema.
type formSchema struct {
	Type        any                        `json:"type"`
	Title       string                     `json:"title"`
	Description string                     `json:"description"`
	Format      string                     `json:"format"`
	Default     any                        `json:"default"`
	Const       json.RawMessage            `json:"const"`
	Enum        []any                      `json:"enum"`
	OneOf       []json.RawMessage          `json:"oneOf"`
	AllOf       []json.RawMessage          `json:"allOf"`
	Ref         string                     `json:"$ref"`
	Items       json.RawMessage            `json:"items"`
	MaxItems    *int                       `json:"maxItems"`
	Properties  json.RawMessage            `json:"properties"`
	Required    []string                   `json:"required"`
	ReadOnly    bool                       `json:"readOnly"`
	WriteOnly   bool                       `json:"writeOnly"`
	If          json.RawMessage            `json:"if"`
	Then        json.RawMessage            `json:"then"`
	Else        json.RawMessage            `json:"else"`
	Definitions map[string]json.RawMessage `json:"definitions"`
}

// Fields lists the questions of a form in the order in which they are asked,
// given the values so far: some are only asked when others have been answered
// in some way. defaults are the values to begin with.
func Fields(schema, ui json.RawMessage, defaults, values map[string]any) []Field {
	var root formSchema
	if !decode(schema, &root) {
		return nil
	}
	s := formReader{definitions: root.Definitions}
	return s.fields(root, ui, nil, defaults, values)
}

type formReader struct{ definitions map[string]json.RawMessage }

// read reads a schema, following its reference.
func (f formReader) read(raw json.RawMessage) (formSchema, bool) {
	for range maxFieldDepth {
		var s formSchema
		if !decode(raw, &s) {
			return s, false
		}
		name, ok := strings.CutPrefix(s.Ref, "#/definitions/")
		if !ok {
			return s, true
		}
		raw = f.definitions[name]
	}
	return formSchema{}, false
}

// fields lists the questions of an object.
func (f formReader) fields(s formSchema, ui json.RawMessage, path []string, defaults, values map[string]any) []Field {
	names, properties := block.Members(s.Properties)
	required := slices.Clone(s.Required)
	f.conditional(s, values, &names, properties, &required, 0)
	var hints map[string]json.RawMessage
	_ = json.Unmarshal(ui, &hints)
	var order []string
	_ = json.Unmarshal(hints["ui:order"], &order)
	slices.SortStableFunc(names, func(a, b string) int { return cmp.Compare(block.FieldPlace(order, a), block.FieldPlace(order, b)) })
	var out []Field
	for _, name := range names {
		p, ok := f.read(properties[name])
		if !ok {
			continue
		}
		out = append(out, f.field(p, hints[name], append(slices.Clone(path), name), slices.Contains(required, name), defaults[name], values[name])...)
	}
	return out
}

// conditional adds what if, then, else and allOf ask for.
func (f formReader) conditional(s formSchema, values map[string]any, names *[]string, properties map[string]json.RawMessage, required *[]string, depth int) {
	add := func(raw json.RawMessage) {
		sub, ok := f.read(raw)
		if !ok || depth > maxFieldDepth {
			return
		}
		more, props := block.Members(sub.Properties)
		for _, name := range more {
			if _, known := properties[name]; !known {
				*names = append(*names, name)
				properties[name] = props[name]
			}
		}
		*required = append(*required, sub.Required...)
		f.conditional(sub, values, names, properties, required, depth+1)
	}
	for _, raw := range s.AllOf {
		add(raw)
	}
	if s.If == nil {
		return
	}
	if f.holds(s.If, values) {
		if s.Then != nil {
			add(s.Then)
		}
	} else if s.Else != nil {
		add(s.Else)
	}
}

// holds reports whether values fit a condition.
func (f formReader) holds(raw json.RawMessage, values map[string]any) bool {
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		return string(raw) == "true"
	}
	if len(f.definitions) > 0 {
		defs, err := json.Marshal(f.definitions)
		if err != nil {
			return false
		}
		members["definitions"] = defs
	}
	whole, err := json.Marshal(members)
	if err != nil {
		return false
	}
	s, err := block.CompileForm(whole)
	if err != nil {
		return false
	}
	if values == nil {
		values = map[string]any{}
	}
	doc, err := json.Marshal(values)
	return err == nil && s.Validate(doc) == nil
}

// field makes the question of a property, or the questions of an object's.
func (f formReader) field(s formSchema, ui json.RawMessage, path []string, required bool, first, value any) []Field {
	var hint struct {
		Title       string   `json:"ui:title"`
		Widget      string   `json:"ui:widget"`
		Help        string   `json:"ui:help"`
		Description string   `json:"ui:description"`
		EnumNames   []string `json:"ui:enumNames"`
		ReadOnly    bool     `json:"ui:readonly"`
		Disabled    bool     `json:"ui:disabled"`
		Options     struct {
			Title     string   `json:"title"`
			Widget    string   `json:"widget"`
			Help      string   `json:"help"`
			EnumNames []string `json:"enumNames"`
		} `json:"ui:options"`
	}
	_ = json.Unmarshal(ui, &hint)
	widget := cmp.Or(hint.Widget, hint.Options.Widget)
	if widget == "hidden" || s.ReadOnly || hint.ReadOnly || hint.Disabled || len(s.Const) > 0 {
		return nil
	}
	if first == nil {
		first = s.Default
	}
	out := Field{
		Path:     path,
		Label:    cmp.Or(oneLine(hint.Title), oneLine(hint.Options.Title), oneLine(s.Title), oneLine(path[len(path)-1])),
		Help:     cmp.Or(oneLine(hint.Help), oneLine(hint.Options.Help), oneLine(hint.Description), oneLine(s.Description)),
		Required: required, Default: first, Secret: widget == "password" || s.WriteOnly,
	}
	names := hint.EnumNames
	if names == nil {
		names = hint.Options.EnumNames
	}
	out.Options = f.options(s, names)
	switch {
	case len(out.Options) > 0:
		out.Kind = FieldChoice
	case widget == "file" || s.Format == "asset":
		out.Kind = FieldFile
	default:
		switch typeOf(s) {
		case "object":
			if len(path) > maxFieldDepth || len(s.Properties) == 0 {
				out.Kind = FieldJSON
				break
			}
			sub, _ := first.(map[string]any)
			now, _ := value.(map[string]any)
			fields := f.fields(s, ui, path, sub, now)
			if !required { // an object that nobody must fill in
				for i := range fields {
					fields[i].Required = false
				}
			}
			return fields
		case "array":
			f.array(s, ui, widget, &out)
		case "boolean":
			out.Kind = FieldBool
		case "integer":
			out.Kind = FieldInteger
		case "number":
			out.Kind = FieldNumber
		}
	}
	return []Field{out}
}

func (f formReader) array(s formSchema, ui json.RawMessage, widget string, out *Field) {
	items, ok := f.read(s.Items)
	var hints struct {
		Items struct {
			EnumNames []string `json:"ui:enumNames"`
		} `json:"items"`
	}
	_ = json.Unmarshal(ui, &hints)
	switch opts := f.options(items, hints.Items.EnumNames); {
	case !ok:
		out.Kind = FieldJSON
	case widget == "file" || items.Format == "asset":
		out.Kind = FieldFile
	case len(opts) > 0:
		out.Kind, out.Options = FieldChoices, opts
	case widget == "dateRange":
		out.Kind = FieldRange
	case typeOf(items) == "string":
		out.Kind = FieldList
	case typeOf(items) == "integer" || typeOf(items) == "number":
		out.Kind, out.numbers = FieldList, true
	default:
		out.Kind = FieldJSON
	}
}

// options lists the values that a schema names.
func (f formReader) options(s formSchema, names []string) []Option {
	var out []Option
	for i, v := range s.Enum {
		o := Option{Value: v, Label: New(Options{}).scalar(v)}
		if i < len(names) && oneLine(names[i]) != "" {
			o.Label = oneLine(names[i])
		}
		out = append(out, o)
	}
	if len(out) > 0 {
		return out
	}
	for _, raw := range s.OneOf {
		one, ok := f.read(raw)
		var v any
		if !ok || len(one.Const) == 0 || !decode(one.Const, &v) {
			return nil
		}
		out = append(out, Option{v, cmp.Or(oneLine(one.Title), New(Options{}).scalar(v))})
	}
	return out
}

// typeOf is the type of a schema's values, the first that is not null.
func typeOf(s formSchema) string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		for _, v := range t {
			if name, ok := v.(string); ok && name != "null" {
				return name
			}
		}
	}
	if len(s.Properties) > 0 {
		return "object"
	}
	return ""
}

// At returns the value of a field among a form's values.
func (f Field) At(values map[string]any) any {
	var v any = values
	for _, name := range f.Path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[name]
	}
	return v
}

// Set puts the value of a field into a form's values; nil takes it out.
func (f Field) Set(values map[string]any, v any) {
	m := values
	for _, name := range f.Path[:len(f.Path)-1] {
		sub, ok := m[name].(map[string]any)
		if !ok {
			if v == nil {
				return
			}
			sub = make(map[string]any)
		} else {
			sub = maps.Clone(sub)
		}
		m[name] = sub
		m = sub
	}
	name := f.Path[len(f.Path)-1]
	if v == nil {
		delete(m, name)
		return
	}
	m[name] = v
}

// Pointer is where the field's value stands, as violations name it.
func (f Field) Pointer() string {
	return "/" + strings.Join(f.Path, "/")
}

// Question words what a field asks, with the options to choose among and how
// it is answered. keep is the value that stands unless another is typed.
func (r *Renderer) Question(f Field, keep any) string {
	spans := []span{{f.Label, Bold}}
	if f.Required {
		spans = append(spans, span{" *", Danger})
	}
	if f.Help != "" {
		spans = append(spans, span{" — " + f.Help, Dim})
	}
	lines := wrap(spans, r.width)
	for i, o := range f.Options {
		mark := strconv.Itoa(i+1) + ") "
		lines = append(lines, prefixed(wrap([]span{{o.Label, Plain}}, r.width-2-len(mark)), span{"  " + mark, Accent}, span{strings.Repeat(" ", len(mark)+2), Plain})...)
	}
	var hints []string
	switch f.Kind {
	case FieldBool:
		hints = append(hints, r.say("ask.yesno"))
	case FieldChoice:
		hints = append(hints, r.say("ask.pick"))
	case FieldChoices:
		hints = append(hints, r.say("ask.picks"))
	case FieldList:
		hints = append(hints, r.say("ask.list"))
	case FieldRange:
		hints = append(hints, r.say("ask.range"))
	case FieldJSON:
		hints = append(hints, "JSON")
	case FieldFile:
		return r.paint(append(lines, wrap([]span{{r.say("ask.file"), Dim}}, r.width)...))
	}
	switch {
	case keep != nil:
		hints = append(hints, r.say("ask.keep", r.shown(f, keep)))
	case !f.Required:
		hints = append(hints, r.say("ask.skip"))
	}
	if len(hints) > 0 {
		lines = append(lines, wrap([]span{{"(" + strings.Join(hints, "; ") + ")", Dim}}, r.width)...)
	}
	return r.paint(r.fit(lines))
}

// shown words a value of a field.
func (r *Renderer) shown(f Field, v any) string {
	if f.Secret {
		return "•••"
	}
	if list, ok := v.([]any); ok {
		if f.Kind == FieldRange && len(list) == 2 {
			return r.scalar(list[0]) + " – " + r.scalar(list[1])
		}
		var parts []string
		for _, e := range list {
			parts = append(parts, f.label(r, e))
		}
		return strings.Join(parts, ", ")
	}
	return f.label(r, v)
}

// label is the option that a value is, or the value.
func (f Field) label(r *Renderer, v any) string {
	for _, o := range f.Options {
		if same(o.Value, v) {
			return o.Label
		}
	}
	return r.scalar(v)
}

// same compares two decoded JSON values.
func same(a, b any) bool {
	x, errA := json.Marshal(a)
	y, errB := json.Marshal(b)
	return errA == nil && errB == nil && bytes.Equal(x, y)
}

// Answer reads what was typed for a field. An empty text keeps what stands
// there. wrong says, in the reader's language, what cannot be read; whether the
// value is a good one is the server's matter.
func (r *Renderer) Answer(f Field, typed string, keep any) (value any, wrong string) {
	typed = strings.TrimSpace(typed)
	if typed == "" {
		if keep == nil && f.Required && f.Kind != FieldFile {
			return nil, r.say("bad.need")
		}
		return keep, ""
	}
	switch f.Kind {
	case FieldNumber, FieldInteger:
		return r.number(typed, f.Kind == FieldInteger)
	case FieldBool:
		switch strings.ToLower(typed) {
		case "y", "yes", "true", "1", "是", "对", "好":
			return true, ""
		case "n", "no", "false", "0", "否", "不":
			return false, ""
		}
		return nil, r.say("bad.yesno")
	case FieldChoice:
		v, ok := f.pick(typed)
		if !ok {
			return nil, r.say("bad.pick")
		}
		return v, ""
	case FieldChoices:
		list := []any{}
		for _, part := range parts(typed) {
			v, ok := f.pick(part)
			if !ok {
				return nil, r.say("bad.pick")
			}
			if !slices.ContainsFunc(list, func(o any) bool { return same(o, v) }) {
				list = append(list, v)
			}
		}
		return list, ""
	case FieldList:
		list := []any{}
		for _, part := range parts(typed) {
			if !f.numbers {
				list = append(list, part)
				continue
			}
			v, wrong := r.number(part, false)
			if wrong != "" {
				return nil, wrong
			}
			list = append(list, v)
		}
		return list, ""
	case FieldRange:
		words := strings.FieldsFunc(typed, func(c rune) bool { return strings.ContainsRune(" ,，–~至/", c) })
		if len(words) != 2 {
			return nil, r.say("bad.range")
		}
		return []any{words[0], words[1]}, ""
	case FieldJSON:
		var v any
		if !json.Valid([]byte(typed)) || !decode(json.RawMessage(typed), &v) {
			return nil, r.say("bad.json")
		}
		return v, ""
	case FieldFile:
		return keep, ""
	}
	return typed, ""
}

func (r *Renderer) number(typed string, whole bool) (any, string) {
	if !json.Valid([]byte(typed)) || strings.Trim(typed, "0123456789+-.eE") != "" {
		return nil, r.say("bad.number")
	}
	if whole {
		if _, err := strconv.ParseInt(typed, 10, 64); err != nil {
			return nil, r.say("bad.whole")
		}
	}
	return json.Number(typed), ""
}

// pick finds an option by its number, its label or its value.
func (f Field) pick(typed string) (any, bool) {
	if n, err := strconv.Atoi(typed); err == nil && n >= 1 && n <= len(f.Options) {
		return f.Options[n-1].Value, true
	}
	for _, o := range f.Options {
		if s, ok := o.Value.(string); strings.EqualFold(o.Label, typed) || ok && strings.EqualFold(s, typed) {
			return o.Value, true
		}
	}
	return nil, false
}

func parts(typed string) []string {
	var out []string
	for _, p := range strings.FieldsFunc(typed, func(c rune) bool { return strings.ContainsRune(",，、", c) }) {
		if p = strings.TrimSpace(p); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// FieldNamed returns the field that a violation's path stands in.
func FieldNamed(fields []Field, path string) (Field, bool) {
	best, found := Field{}, false
	for _, f := range fields {
		if p := f.Pointer(); path == p || strings.HasPrefix(path, p+"/") {
			best, found = f, true
		}
	}
	return best, found
}
