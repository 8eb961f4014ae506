package block

import (
	"encoding/json"
	"fmt"
	"strings"
)

// MaxConfirmArgs is the size in bytes of the arguments that a confirm block
// shows.
const MaxConfirmArgs = 16 << 10

// Confirm is the payload of a confirm block: whether something may be done.
type Confirm struct {
	Prompt   string `json:"prompt"`
	Detail   string `json:"detail,omitempty"`   // Markdown
	Severity string `json:"severity,omitempty"` // info (the default), warning or danger
	// Args is what will be done, exactly: an object.
	Args json.RawMessage `json:"args,omitempty"`
	// Options are the answers offered; approve and reject when empty.
	Options []ConfirmOption `json:"options,omitempty"`
	// Schema says that Args may be edited, and how; LintForm accepts it.
	Schema   json.RawMessage `json:"schema,omitempty"`
	UISchema json.RawMessage `json:"uiSchema,omitempty"`
	// ArgsDigest is the hash of the arguments that the answer is bound to.
	ArgsDigest string `json:"argsDigest,omitempty"`
	ExpiresAt  int64  `json:"expiresAt,omitempty"` // epoch milliseconds
}

// ConfirmOption is an answer that is offered.
type ConfirmOption struct {
	ID    string `json:"id"` // approve, reject or edit
	Label string `json:"label,omitempty"`
	Style string `json:"style,omitempty"` // primary, default or danger
}

func confirmType() Type {
	return Type{
		Name:        "confirm",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "A question whether something may be done, with the exact arguments.",
		Schema:      builtinSchema("confirm.v1.json"),
		Height:      180,
		Check:       checkConfirm,
		Fallback:    confirmText,
		Markdown:    confirmMarkdown,
		Summary:     confirmSummary,
	}
}

func checkConfirm(payload json.RawMessage) error {
	var c Confirm
	if err := json.Unmarshal(payload, &c); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	if len(c.Args) > MaxConfirmArgs {
		v.add("/args", "%d bytes, at most %d", len(c.Args), MaxConfirmArgs)
	}
	fields{Schema: c.Schema, UISchema: c.UISchema, Defaults: c.Args}.check(&v, "args")
	var ids unique
	for i, o := range c.Options {
		ids.check(&v, fmt.Sprintf("/options/%d/id", i), o.ID)
		if o.ID == "edit" && c.Schema == nil {
			v.add(fmt.Sprintf("/options/%d/id", i), "arguments can be edited by a schema only")
		}
	}
	return v.err()
}

// args lists the arguments as label and value.
func (c Confirm) args() []formField {
	names, members := ordered(c.Args)
	labels := make(map[string]formField)
	for _, f := range formFields(c.Schema, c.UISchema, nil) {
		labels[f.name] = f
	}
	out := make([]formField, 0, len(names))
	for _, name := range names {
		f := formField{name: name, label: oneLine(name)}
		if l, ok := labels[name]; ok {
			f.label, f.secret = l.label, l.secret
		}
		_ = decodePayload(members[name], &f.value)
		out = append(out, f)
	}
	return out
}

func confirmText(payload json.RawMessage) string {
	var c Confirm
	if json.Unmarshal(payload, &c) != nil {
		return "[confirm]"
	}
	args := c.args()
	rows := make([]string, 0, fallbackRows)
	for _, a := range args[:min(len(args), fallbackRows)] {
		rows = append(rows, a.line())
	}
	s := oneLine(c.Prompt)
	if c.Detail != "" {
		s += "\n" + strings.TrimSpace(c.Detail)
	}
	if len(rows) > 0 {
		s += "\n" + figuresText("", rows, "; ", len(args)-len(rows))
	}
	return s
}

func confirmMarkdown(payload json.RawMessage) string {
	var c Confirm
	if json.Unmarshal(payload, &c) != nil {
		return "[confirm]"
	}
	var b strings.Builder
	b.WriteString("**" + markdownText(c.Prompt) + "**\n")
	if c.Detail != "" {
		b.WriteString("\n" + strings.TrimSpace(c.Detail) + "\n")
	}
	for i, a := range c.args() {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + markdownText(a.line()) + "\n")
	}
	return b.String()
}

func confirmSummary(payload json.RawMessage) string {
	var c Confirm
	if json.Unmarshal(payload, &c) != nil {
		return "[confirm]"
	}
	lines := []string{"asked to confirm: " + oneLine(c.Prompt)}
	for _, a := range c.args() {
		lines = append(lines, clip(a.line(), 300))
	}
	return strings.Join(lines, "\n")
}

// Question is the payload of a question block: options or a schema; with
// neither the answer is free text.
type Question struct {
	Prompt  string           `json:"prompt"`
	Detail  string           `json:"detail,omitempty"` // Markdown
	Options []QuestionOption `json:"options,omitempty"`
	// Multiple says that more than one option may be chosen.
	Multiple bool `json:"multiple,omitempty"`
	// AllowText says that words of one's own may be given besides the options.
	AllowText bool `json:"allowText,omitempty"`
	// Schema makes the question a form; LintForm accepts it.
	Schema    json.RawMessage `json:"schema,omitempty"`
	UISchema  json.RawMessage `json:"uiSchema,omitempty"`
	ExpiresAt int64           `json:"expiresAt,omitempty"` // epoch milliseconds
}

// QuestionOption is an answer that is offered.
type QuestionOption struct {
	ID          string `json:"id"`
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

func questionType() Type {
	return Type{
		Name:        "question",
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "A question to the person, answered by options, by a form or in words.",
		Schema:      builtinSchema("question.v1.json"),
		Height:      180,
		Check:       checkQuestion,
		Fallback:    questionText,
		Markdown:    questionMarkdown,
		Summary:     questionSummary,
	}
}

func checkQuestion(payload json.RawMessage) error {
	var q Question
	if err := json.Unmarshal(payload, &q); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	fields{Schema: q.Schema, UISchema: q.UISchema}.check(&v, "")
	if len(q.Options) > 0 && q.Schema != nil {
		v.add("/schema", "a question has options or a schema, not both")
	}
	if q.Multiple && len(q.Options) == 0 {
		v.add("/multiple", "there are no options to choose several of")
	}
	var ids unique
	for i, o := range q.Options {
		ids.check(&v, fmt.Sprintf("/options/%d/id", i), o.ID)
	}
	return v.err()
}

func (q Question) answers() []string {
	var out []string
	for _, o := range q.Options {
		out = append(out, heading(o.Label, o.Description))
	}
	for _, f := range formFields(q.Schema, q.UISchema, nil) {
		out = append(out, f.line())
	}
	return out
}

func questionText(payload json.RawMessage) string {
	var q Question
	if decodePayload(payload, &q) != nil {
		return "[question]"
	}
	s := oneLine(q.Prompt)
	if q.Detail != "" {
		s += "\n" + strings.TrimSpace(q.Detail)
	}
	if list := q.answers(); len(list) > 0 {
		s += "\n" + figuresText("", list[:min(len(list), fallbackRows)], " / ", len(list)-fallbackRows)
	}
	return s
}

func questionMarkdown(payload json.RawMessage) string {
	var q Question
	if decodePayload(payload, &q) != nil {
		return "[question]"
	}
	var b strings.Builder
	b.WriteString("**" + markdownText(q.Prompt) + "**\n")
	if q.Detail != "" {
		b.WriteString("\n" + strings.TrimSpace(q.Detail) + "\n")
	}
	for i, a := range q.answers() {
		if i == 0 {
			b.WriteByte('\n')
		}
		b.WriteString("- " + markdownText(a) + "\n")
	}
	return b.String()
}

func questionSummary(payload json.RawMessage) string {
	var q Question
	if decodePayload(payload, &q) != nil {
		return "[question]"
	}
	lines := []string{"asked: " + oneLine(q.Prompt)}
	for _, o := range q.Options {
		lines = append(lines, "option "+o.ID+": "+oneLine(o.Label))
	}
	for _, f := range formFields(q.Schema, q.UISchema, nil) {
		lines = append(lines, "field "+f.name+": "+f.label)
	}
	return strings.Join(lines, "\n")
}
