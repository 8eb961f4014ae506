package textstream

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// DefaultBody is the request of a Config without Body.
const DefaultBody = `{"messages": {{.Messages}}}`

// body makes the JSON of requests.
type body struct{ parts []part }

// part is a piece of a template: what stands in it, then a value.
type part struct {
	text  string
	value string // its name; "" for the last part
	// quoted says that the value stands within a JSON string.
	quoted bool
}

// The values of templates.
const (
	valueText     = "Text"
	valueMessages = "Messages"
	valueSystem   = "System"
	valueModel    = "Model"
	valueUser     = "User"
	valueLang     = "Lang"
)

var values = []string{valueText, valueMessages, valueSystem, valueModel, valueUser, valueLang}

// compileBody reads a template of JSON. {{.Text}} within a JSON string is
// escaped for it; outside of one it is a JSON string itself.
func compileBody(template string) (*body, error) {
	b := &body{}
	inString, escaped := false, false
	for {
		before, after, found := strings.Cut(template, "{{")
		for i := range len(before) {
			switch c := before[i]; {
			case escaped:
				escaped = false
			case inString && c == '\\':
				escaped = true
			case c == '"':
				inString = !inString
			}
		}
		if !found {
			b.parts = append(b.parts, part{text: before})
			break
		}
		inside, rest, closed := strings.Cut(after, "}}")
		name, isValue := strings.CutPrefix(strings.TrimSpace(inside), ".")
		switch {
		case !closed:
			return nil, errors.New("body: {{ without }}")
		case !isValue || !slices.Contains(values, name):
			hint := ""
			if near := nearest.Of(name, values); near != "" {
				hint = "; did you mean {{." + near + "}}?"
			}
			return nil, fmt.Errorf("body: there is no {{%s}} (there are {{.%s}})%s", strings.TrimSpace(inside), strings.Join(values, "}}, {{."), hint)
		}
		b.parts = append(b.parts, part{text: before, value: name, quoted: inString})
		template = rest
	}
	raw, err := b.render(model.Request{}, "", Person{})
	if err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(raw, &v); err != nil {
		return nil, fmt.Errorf("body: it does not become JSON: %w", err)
	}
	return b, nil
}

// render makes the request of what is to be answered.
func (b *body) render(req model.Request, name string, p Person) ([]byte, error) {
	system, said := conversation(req)
	var out []byte
	for _, part := range b.parts {
		out = append(out, part.text...)
		var text string
		switch part.value {
		case "":
			continue
		case valueMessages:
			raw, err := jsonx.Marshal(said)
			if err != nil {
				return nil, fmt.Errorf("body: %w", err)
			}
			if !part.quoted {
				out = append(out, raw...)
				continue
			}
			text = string(raw)
		case valueText:
			text = question(said)
		case valueSystem:
			text = system
		case valueModel:
			text = name
		case valueUser:
			text = p.User
		case valueLang:
			text = p.Lang
		}
		if part.quoted {
			out = jsonx.AppendEscaped(out, text)
		} else {
			out = jsonx.AppendString(out, text)
		}
	}
	return out, nil
}

// said is one message as other back ends know them.
type said struct {
	Role    model.Role `json:"role"`
	Content string     `json:"content"`
}

// conversation is what was said, in words alone, and the instructions before it.
func conversation(req model.Request) (system string, list []said) {
	list = []said{}
	for i, m := range req.Messages {
		content := m.Content
		if n := len(m.Images); n > 0 {
			content = strings.TrimSpace(content + "\n\n" + endpoint.Unseen(n))
		}
		switch {
		case m.Role == model.RoleSystem && i == 0:
			system = content
		case m.Role == model.RoleTool, content == "":
			// The calls of another model, and what came of them.
		default:
			list = append(list, said{m.Role, content})
		}
	}
	return system, list
}

// question is what was said last by the user.
func question(list []said) string {
	for _, m := range slices.Backward(list) {
		if m.Role == model.RoleUser {
			return m.Content
		}
	}
	return ""
}
