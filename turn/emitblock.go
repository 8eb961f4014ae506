package turn

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/tool"
)

// emitName is the built-in tool by which the model shows a block that it makes
// itself.
const emitName = "emit_ui_block"

// emitRules is what the model is told of the tool, before the types.
const emitRules = `Shows the user one block that you make yourself, behind what you have written so far. Use it only where a block helps more than words, and do not repeat in text what it shows. When it is refused nothing is shown: do what the result says, and do not try the same again.

The types, with the JSON Schema of their data:`

// emitArgs are the arguments of emit_ui_block.
type emitArgs struct {
	Type     string          `json:"type"`
	Data     json.RawMessage `json:"data"`
	Position string          `json:"position"`
}

// emitSchema is the schema of the arguments with the types to choose from; with
// none it takes any, and the block's own checks say what is wrong with it.
func emitSchema(types []string) (json.RawMessage, error) {
	type object = map[string]any
	typ := object{"type": "string", "description": "type and version of the block"}
	if len(types) > 0 {
		typ["enum"] = types
	}
	return jsonx.Marshal(object{
		"type": "object", "additionalProperties": false, "required": []string{"type", "data"},
		"properties": object{
			"type": typ,
			"data": object{"type": "object", "description": "what the block shows, after the schema of its type"},
			"position": object{
				"type": "string", "enum": []string{"after_text", "inline", "before_text"},
				"description": "how the block stands to the text; a matter of style, it is shown where it comes",
			},
		},
	})
}

// newEmitCheck is the check of the arguments before the block is looked at.
func newEmitCheck() (*tool.Check, error) {
	schema, err := emitSchema(nil)
	if err != nil {
		return nil, err
	}
	return tool.NewCheck(tool.Spec{Name: emitName, Parameters: schema})
}

// emitSpec is the tool as it is offered to a client: with the types that the
// model may emit and the client has said it draws. ok is false when there are
// none, or when none of them has a place in any answer.
func (r *Runner) emitSpec(caps block.Caps) (spec tool.Spec, ok bool) {
	if !r.cfg.EmitBlocks || !caps.Declared || r.cfg.Limits.Optional < 0 {
		return spec, false
	}
	var names []string
	about := []string{emitRules}
	for _, t := range r.cfg.Registry.Types() {
		if !t.ModelEmittable || t.ServerOnly || t.Name == "text" || !caps.Can(t.Name, t.Version) {
			continue
		}
		if t.Targets != nil && r.cfg.Destinations.Empty() {
			continue // none of its items could lead anywhere
		}
		name := fmt.Sprintf("%s@%d", t.FullName(), t.Version)
		names = append(names, name)
		about = append(about, fmt.Sprintf("%s: %s\n%s", name, t.Description, compact(t.Schema)))
		if t.Targets != nil {
			about = append(about, "Its items may lead here and nowhere else; * stands for anything in its place:\n"+r.cfg.Destinations.String())
		}
	}
	if len(names) == 0 {
		return spec, false
	}
	schema, err := emitSchema(names)
	if err != nil { // lists of words always encode
		r.cfg.Logger.Error("schema of "+emitName, "err", err)
		return spec, false
	}
	return tool.Spec{
		Name: emitName, Description: strings.Join(about, "\n\n"), Parameters: schema,
		Title: map[string]string{"": "Make a block", "zh": "制作内容块"},
	}, true
}

// compact is JSON without blanks.
func compact(raw json.RawMessage) string {
	var b bytes.Buffer
	if json.Compact(&b, raw) != nil {
		return string(raw)
	}
	return b.String()
}

// emitBlock runs a call of emit_ui_block. What is refused leaves no trace in the
// message: the model is told the code and what to do instead.
func (t *run) emitBlock(p *pending) {
	began := t.r.cfg.Now()
	shown, err := t.showEmitted(p)
	p.out.took = t.r.cfg.Now().Sub(began)
	status := event.ToolOK
	var refusal *emit.Refusal
	switch {
	case errors.As(err, &refusal):
		status = event.ToolError
		p.refuse(t.r.cfg.Limits.SummaryBytes, "error: %s %s", refusal.Code, refusal.Hint)
	case err != nil:
		status = event.ToolError
		p.refuse(t.r.cfg.Limits.SummaryBytes, "error: %s The block could not be shown. Answer in text.", block.CodeInterrupted)
		p.out.cause = clip(err.Error(), maxCause)
		t.log.Error("show the model's block", "err", err)
	default:
		told := "Shown to the user; do not repeat it in text."
		for _, l := range shown.Left {
			told += "\nNot shown: " + l
		}
		p.out.told, p.out.blocks = clip(told, t.r.cfg.Limits.SummaryBytes), []string{shown.ID}
	}
	t.r.cfg.Observer.ToolCall(emitName, status, p.out.took)
	t.toolEnd(p, status)
}

func (t *run) showEmitted(p *pending) (emit.Shown, error) {
	var args emitArgs
	if err := json.Unmarshal(p.args, &args); err != nil {
		return emit.Shown{}, fmt.Errorf("decode arguments of %s: %w", emitName, err)
	}
	name, version := spelling(args.Type)
	known, ok := t.r.cfg.Registry.Lookup(name, version)
	if ok && !known.ModelEmittable {
		return emit.Shown{}, &emit.Refusal{Code: emit.CodeUnknownType, Hint: fmt.Sprintf("Blocks of the type %s are made by tools only. Answer in text, or call a tool that shows one.", known.Name)}
	}
	return t.out.Show(emit.Opening{
		Type: name, Version: version, Producer: emit.ProducerModel,
		Meta: block.Meta{Position: args.Position, ToolCallID: p.call.ID, Tool: emitName},
	}, emit.Finished{Payload: args.Data})
}

// spelling reads a type as models write it: inlay.card@1, card@1, card.
func spelling(s string) (name string, version int) {
	full := s
	if !strings.Contains(s, ".") {
		full = block.BuiltinNamespace + "." + s
	}
	if token, err := block.ParseToken(full); err == nil {
		return token.TypeName(), token.Major
	}
	return s, 0
}
