package terminal

import (
	"cmp"
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
)

// formRows draws the fields of a form with their values.
func (r *Renderer) formRows(fields []Field, values map[string]any) []line {
	var pairs [][2]string
	for _, f := range fields {
		label := f.Label
		if f.Required {
			label += " *"
		}
		v := f.At(values)
		if v == nil {
			v = f.Default
		}
		text := "–"
		if v != nil {
			text = r.shown(f, v)
		} else if len(f.Options) > 0 {
			names := make([]string, len(f.Options))
			for i, o := range f.Options {
				names[i] = o.Label
			}
			text = "( " + counted(r, names) + " )"
		}
		pairs = append(pairs, [2]string{label, text})
	}
	return r.pairs(pairs)
}

// object reads values by name; nil when there are none.
func object(raw json.RawMessage) map[string]any {
	var m map[string]any
	if len(raw) == 0 || !decode(raw, &m) {
		return nil
	}
	return m
}

func drawForm(r *Renderer, b block.Block) ([]line, bool) {
	var f block.Form
	if !decode(b.Payload, &f) || f.Schema == nil {
		return nil, false
	}
	in := r.narrower(2)
	lines := in.heading(f.Title, "")
	if d := oneLine(f.Description); d != "" {
		lines = append(lines, wrap([]span{{d, Dim}}, in.width)...)
	}
	values := f.Defaults
	if s, ok := stateOf(b); ok && s.Locked {
		if sent := object(s.Values); sent != nil {
			values = sent
		}
	}
	lines = append(lines, in.formRows(Fields(f.Schema, f.UISchema, f.Defaults, values), values)...)
	return bar(lines, Accent), true
}

func drawConfirm(r *Renderer, b block.Block) ([]line, bool) {
	var c block.Confirm
	if !decode(b.Payload, &c) || c.Prompt == "" {
		return nil, false
	}
	style, mark := Accent, "? "
	switch c.Severity {
	case "warning":
		style, mark = Warning, "! "
	case "danger":
		style, mark = Danger, "!! "
	}
	in := r.narrower(2)
	lines := wrap([]span{{mark, style}, {oneLine(c.Prompt), Bold}}, in.width)
	lines = append(lines, in.markdown(c.Detail)...)
	labels := make(map[string]string)
	for _, f := range Fields(c.Schema, c.UISchema, nil, object(c.Args)) {
		if len(f.Path) == 1 {
			labels[f.Path[0]] = f.Label
			if f.Secret {
				labels[f.Path[0]] = f.Label + " •"
			}
		}
	}
	args := c.Args
	if s, ok := stateOf(b); ok && s.Answer == "edit" && object(s.Values) != nil {
		args = s.Values
	}
	names, members := block.Members(args)
	var pairs [][2]string
	for _, name := range names {
		var v any
		if decode(members[name], &v) {
			pairs = append(pairs, [2]string{cmp.Or(labels[name], oneLine(name)), in.scalar(v)})
		}
	}
	lines = append(lines, in.pairs(pairs)...)
	if _, answered := stateOf(b); !answered {
		var spans []span
		for _, o := range confirmOptions(r, b, c) {
			spans = append(spans, span{"[ " + o.Label + " ] ", optionStyle(o)})
		}
		lines = append(lines, wrap(spans, in.width)...)
		lines = append(lines, in.open(c.ExpiresAt)...)
	}
	return bar(lines, style), true
}

func optionStyle(o block.ConfirmOption) Style {
	switch o.Style {
	case "primary":
		return Accent
	case "danger":
		return Danger
	}
	return Plain
}

// open says until when a question may be answered.
func (r *Renderer) open(expiresAt int64) []line {
	if expiresAt <= 0 {
		return nil
	}
	return wrap([]span{{r.say("until", block.TimeText(float64(expiresAt), "", false)+" UTC"), Dim}}, r.width)
}

// confirmOptions are the answers that a confirm block takes, with their words.
func confirmOptions(r *Renderer, b block.Block, c block.Confirm) []block.ConfirmOption {
	options := c.Options
	if len(options) == 0 {
		options = []block.ConfirmOption{{ID: "approve"}, {ID: "reject"}}
	}
	out := make([]block.ConfirmOption, 0, len(options))
	for _, o := range options {
		for _, a := range b.Actions {
			if a.ID == o.ID {
				o.Label, o.Style = cmp.Or(o.Label, a.Label), cmp.Or(o.Style, a.Style)
			}
		}
		o.Label = cmp.Or(oneLine(o.Label), r.word(o.ID), oneLine(o.ID))
		out = append(out, o)
	}
	return out
}

func drawQuestion(r *Renderer, b block.Block) ([]line, bool) {
	var q block.Question
	if !decode(b.Payload, &q) || q.Prompt == "" {
		return nil, false
	}
	in := r.narrower(2)
	lines := wrap([]span{{"? ", Accent}, {oneLine(q.Prompt), Bold}}, in.width)
	lines = append(lines, in.markdown(q.Detail)...)
	s, answered := stateOf(b)
	values := object(s.Values)
	chosen := make(map[string]bool)
	if list, ok := values["choices"].([]any); ok {
		for _, v := range list {
			if id, ok := v.(string); ok {
				chosen[id] = true
			}
		}
	}
	for _, o := range q.Options {
		mark := span{"( ) ", Dim}
		if q.Multiple {
			mark.text = "[ ] "
		}
		if chosen[o.ID] {
			mark = span{mark.text[:1] + "x" + mark.text[2:], Success}
		}
		spans := []span{{oneLine(o.Label), Plain}}
		if d := oneLine(o.Description); d != "" {
			spans = append(spans, span{" — " + d, Dim})
		}
		lines = append(lines, prefixed(wrap(spans, in.width-4), mark, span{"    ", Plain})...)
	}
	if q.Schema != nil {
		lines = append(lines, in.formRows(Fields(q.Schema, q.UISchema, nil, values), values)...)
	}
	if text, ok := values["text"].(string); ok && q.Schema == nil && text != "" {
		lines = append(lines, in.prose(text)...)
	}
	if !answered {
		var notes []string
		if q.Multiple {
			notes = append(notes, in.say("several"))
		}
		if q.AllowText {
			notes = append(notes, in.say("answerHow"))
		}
		for _, n := range notes {
			lines = append(lines, wrap([]span{{n, Dim}}, in.width)...)
		}
		lines = append(lines, in.open(q.ExpiresAt)...)
	}
	return bar(lines, Accent), true
}
