package openai

import (
	"encoding/json"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/model"
)

// maxTextCall limits a tool call that is written in the text.
const maxTextCall = 1 << 20

const (
	thinkOpen  = "<think>"
	thinkClose = "</think>"
	callOpen   = "<tool_call>"
	callClose  = "</tool_call>"
	blanks     = " \t\r\n"
)

// dialect takes the text of an answer apart into text, reasoning and tool
// calls, as far as the profile asks for it. It holds back what may still
// become a tag; the pieces it hands on add up to the same strings however the
// text was cut.
type dialect struct {
	kind      TextTools
	tools     map[string]model.ToolSpec
	text      func(string) error
	reasoning func(string) error
	call      func(model.Call) error

	think     thinkState
	thinkHeld string
	thinkLead bool // nothing but blanks so far inside the tag

	held     string
	inCall   bool
	searched int  // bytes of held already searched for the closing tag
	skip     bool // blanks after a call are dropped
}

type thinkState int

const (
	thinkOff     thinkState = iota
	thinkStart              // only blanks so far, a tag may follow
	thinkOpened             // the template opened the tag, the text may repeat it
	thinkInside             // until the closing tag
	thinkPending            // closed, blanks before the answer are dropped
)

func newDialect(p Profile, tools map[string]model.ToolSpec) *dialect {
	d := &dialect{tools: tools}
	if len(tools) > 0 {
		d.kind = p.TextTools
	}
	switch {
	case p.ThinkPrefilled:
		d.think = thinkOpened
	case p.ThinkTags:
		d.think = thinkStart
	}
	return d
}

// feed takes the next piece of text.
func (d *dialect) feed(s string) error {
	if d.think == thinkOff {
		return d.plain(s)
	}
	d.thinkHeld += s
	for {
		switch d.think {
		case thinkOff:
			s, d.thinkHeld = d.thinkHeld, ""
			return d.plain(s)

		case thinkStart, thinkOpened:
			t := strings.TrimLeft(d.thinkHeld, blanks)
			if rest, ok := strings.CutPrefix(t, thinkOpen); ok {
				d.thinkHeld, d.think, d.thinkLead = rest, thinkInside, true
				continue
			}
			if strings.HasPrefix(thinkOpen, t) {
				return nil
			}
			if d.think == thinkOpened {
				d.think, d.thinkLead = thinkInside, true
			} else {
				d.think = thinkOff
			}

		case thinkInside:
			if d.thinkLead {
				d.thinkHeld = strings.TrimLeft(d.thinkHeld, blanks)
				d.thinkLead = d.thinkHeld == ""
			}
			before, after, closed := strings.Cut(d.thinkHeld, thinkClose)
			if !closed {
				n := len(d.thinkHeld) - partial(d.thinkHeld, thinkClose)
				n = len(strings.TrimRight(d.thinkHeld[:n], blanks))
				s, d.thinkHeld = d.thinkHeld[:n], d.thinkHeld[n:]
				return d.thought(s)
			}
			if err := d.thought(strings.TrimRight(before, blanks)); err != nil {
				return err
			}
			d.thinkHeld, d.think = after, thinkPending

		case thinkPending:
			d.thinkHeld = strings.TrimLeft(d.thinkHeld, blanks)
			if d.thinkHeld == "" {
				return nil
			}
			d.think = thinkOff
		}
	}
}

func (d *dialect) thought(s string) error {
	if s == "" {
		return nil
	}
	return d.reasoning(s)
}

// plain takes text that is not reasoning.
func (d *dialect) plain(s string) error {
	if d.kind == TextToolsOff {
		return d.emit(s)
	}
	d.held += s
	return d.scan(false, false)
}

// scan hands on what is decided in held. At the end of the answer nothing
// stays held; whole says that the answer ended as it should, so that a call
// may lack its closing tag.
func (d *dialect) scan(end, whole bool) error {
	for {
		if d.skip {
			d.held = strings.TrimLeft(d.held, blanks)
			d.skip = d.held == ""
		}
		if !d.inCall {
			before, after, found := strings.Cut(d.held, callOpen)
			if !found {
				keep := partial(d.held, callOpen)
				if end {
					keep = 0
				}
				n := len(d.held) - keep
				s := d.held[:n]
				d.held = d.held[n:]
				return d.emit(s)
			}
			if err := d.emit(before); err != nil {
				return err
			}
			d.held, d.inCall, d.searched = after, true, 0
		}

		body, rest := d.held, ""
		i := strings.Index(d.held[d.searched:], callClose)
		if i >= 0 {
			i += d.searched
			body, rest = d.held[:i], d.held[i+len(callClose):]
		}
		switch {
		case len(body) > maxTextCall+len(callClose), i > maxTextCall:
		case i < 0 && !end:
			d.searched = max(0, len(d.held)-len(callClose)+1)
			return nil
		case i < 0 && !whole:
		default:
			if call, ok := d.parse(body); ok {
				d.held, d.inCall, d.skip = rest, false, true
				if err := d.call(call); err != nil {
					return err
				}
				continue
			}
		}
		// Not a call of an offered tool: the tag was text. What follows it
		// may still hold one.
		d.inCall = false
		if err := d.emit(callOpen); err != nil {
			return err
		}
	}
}

func (d *dialect) emit(s string) error {
	if s == "" {
		return nil
	}
	return d.text(s)
}

// flush ends the answer.
func (d *dialect) flush(whole bool) error {
	held := d.thinkHeld
	d.thinkHeld = ""
	switch d.think {
	case thinkStart:
		d.think = thinkOff
		if err := d.plain(held); err != nil {
			return err
		}
	case thinkOpened, thinkInside:
		if err := d.thought(strings.TrimRight(held, blanks)); err != nil {
			return err
		}
	}
	return d.scan(true, whole)
}

// partial returns how many bytes at the end of s may be the beginning of tag.
func partial(s, tag string) int {
	for n := min(len(s), len(tag)-1); n > 0; n-- {
		if strings.HasSuffix(s, tag[:n]) {
			return n
		}
	}
	return 0
}

// parse reads the inside of a tool call tag. ok is false unless it is a call
// of an offered tool.
func (d *dialect) parse(body string) (model.Call, bool) {
	if d.kind == TextToolsQwenXML {
		return d.parseXML(body)
	}
	return d.parseJSON(body)
}

func (d *dialect) parseJSON(body string) (model.Call, bool) {
	var in struct {
		Name       string          `json:"name"`
		Arguments  json.RawMessage `json:"arguments"`
		Parameters json.RawMessage `json:"parameters"`
	}
	repaired := false
	if json.Unmarshal([]byte(body), &in) != nil {
		var fixed string
		if fixed, repaired = escapeControls(body); json.Unmarshal([]byte(fixed), &in) != nil {
			return model.Call{}, false
		}
	}
	if _, ok := d.tools[in.Name]; !ok {
		return model.Call{}, false
	}
	if in.Arguments == nil {
		in.Arguments = in.Parameters
	}
	call := model.Call{Name: in.Name}
	readArguments(&call, string(in.Arguments))
	call.Repaired = call.Repaired || repaired
	return call, true
}

// parseXML reads <function=NAME> with one <parameter=KEY> for each argument.
// The values are bare text; the tool's schema says which of them are JSON.
func (d *dialect) parseXML(body string) (model.Call, bool) {
	body, ok := strings.CutPrefix(strings.TrimSpace(body), "<function=")
	if !ok {
		return model.Call{}, false
	}
	name, rest, ok := strings.Cut(body, ">")
	tool, offered := d.tools[name]
	if !ok || !offered {
		return model.Call{}, false
	}
	rest, _, ok = cutLast(rest, "</function>")
	if !ok {
		return model.Call{}, false
	}
	args := map[string]json.RawMessage{}
	for {
		rest = strings.TrimSpace(rest)
		if rest == "" {
			break
		}
		if rest, ok = strings.CutPrefix(rest, "<parameter="); !ok {
			return model.Call{}, false
		}
		var key, value string
		if key, rest, ok = strings.Cut(rest, ">"); !ok {
			return model.Call{}, false
		}
		if value, rest, ok = strings.Cut(rest, "</parameter>"); !ok {
			return model.Call{}, false
		}
		value = strings.TrimSuffix(strings.TrimPrefix(value, "\n"), "\n")
		args[key] = typedValue(tool.Parameters, key, value)
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return model.Call{}, false
	}
	return model.Call{Name: name, Arguments: raw, Raw: string(raw)}, true
}

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}

// typedValue is a value as JSON: as it stands when the schema knows the
// argument, does not let it be a string and the value is JSON, else a string.
func typedValue(schema json.RawMessage, key, value string) json.RawMessage {
	var s struct {
		Properties map[string]struct {
			Type any `json:"type"`
		} `json:"properties"`
	}
	if json.Unmarshal(schema, &s) == nil && json.Valid([]byte(value)) {
		switch t := s.Properties[key].Type.(type) {
		case string:
			if t != "string" {
				return json.RawMessage(value)
			}
		case []any:
			if !slices.Contains(t, any("string")) {
				return json.RawMessage(value)
			}
		}
	}
	text, err := json.Marshal(value)
	if err != nil { // a string always can be marshalled
		return json.RawMessage(`""`)
	}
	return text
}
