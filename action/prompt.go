package action

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/turn"
)

// maxParam is the longest value of a prompt's parameter in characters.
const maxParam = 200

// prompt begins a turn whose user message the server makes from the action's
// own template. The turn keeps the idempotency key.
func (g *Gateway) prompt(ctx context.Context, c *check) (Answer, error) {
	text, err := promptText(c.block, c.act, c.req.Payload)
	if err != nil {
		return Answer{}, err
	}
	if len(text) > g.cfg.Limits.Prompt {
		return Answer{}, &Error{Code: CodeInvalid, Message: "The message is too long.", Details: map[string]any{"field": "payload", "limit": g.cfg.Limits.Prompt}}
	}
	st, err := g.cfg.Turns.Start(ctx, turn.Request{
		Owner: c.req.Owner, Caller: c.req.Caller, Conversation: c.msg.Conversation, Text: text, Caps: c.req.Caps,
		IdempotencyKey: "action:" + c.req.Key, Fingerprint: c.print,
	})
	if err != nil {
		return Answer{}, fmt.Errorf("start turn: %w", err)
	}
	if !st.Joined {
		e := g.entry(c)
		e.ID, e.Decision, e.Outcome, e.RevAfter = id.New("l"), "allowed", "prompt", c.state.Rev
		if err := g.cfg.Store.AppendAudit(ctx, e); err != nil {
			g.cfg.Logger.Error("write audit log", "err", err)
		}
	}
	body, err := encode(answerBody{Status: "accepted", MsgID: st.Msg, ConversationID: st.Conversation, UserMessageID: st.User, TraceID: c.req.TraceID})
	return Answer{Status: http.StatusAccepted, Body: body, Replayed: st.Joined}, err
}

var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}`)

// promptText fills an action's template. A value comes from the action itself
// or, for what the person chose in the block, from the request: then it must
// be one of the block's own values, so that nobody can put words into the
// message that the server never showed. What the action's schema lists as
// choices of the value was shown, too.
func promptText(b block.Block, act block.Action, payload json.RawMessage) (string, error) {
	if act.InputSchema != nil {
		schema, err := block.CompileSchema("action", act.InputSchema)
		if err != nil {
			return "", fmt.Errorf("schema of action %s: %w", act.ID, err)
		}
		in := payload
		if len(bytes.TrimSpace(in)) == 0 {
			in = json.RawMessage(`{}`)
		}
		if err := schema.Validate(in); err != nil {
			return "", payloadInvalid(err)
		}
	}
	given := map[string]json.RawMessage{}
	if p := bytes.TrimSpace(payload); len(p) > 0 && string(p) != "null" {
		if err := json.Unmarshal(p, &given); err != nil {
			return "", invalid("payload", "payload must be an object of names and values.")
		}
	}
	values := make(map[string]string, len(given)+len(act.Params))
	var shown map[string]bool
	listed := choices(act.InputSchema)
	refuse := func(name, message string) error {
		if listed == nil {
			return invalid("payload."+clean(name), message)
		}
		return payloadInvalid(&block.SchemaError{Violations: []block.Violation{{Path: "/" + pointer.Replace(clean(name)), Message: message}}})
	}
	for name, raw := range given {
		if _, fixed := act.Params[name]; fixed {
			continue // the server's own value stands
		}
		v, ok := scalar(raw)
		if !ok || utf8.RuneCountInString(v) > maxParam {
			return "", refuse(name, "The value of "+clean(name)+" must be one short text, number or yes or no.")
		}
		if shown == nil {
			shown = map[string]bool{}
			scalars(b.Payload, shown)
		}
		if !shown[v] && !listed[name][v] {
			return "", refuse(name, "The value of "+clean(name)+" is not one of the block's.")
		}
		values[name] = v
	}
	for name, raw := range act.Params {
		if v, ok := scalar(raw); ok {
			values[name] = v
		}
	}
	missing := ""
	text := placeholder.ReplaceAllStringFunc(act.Prompt, func(m string) string {
		name := placeholder.FindStringSubmatch(m)[1]
		v, ok := values[name]
		if !ok {
			missing = name
		}
		return clean(v)
	})
	if missing != "" {
		return "", refuse(missing, "The action needs a value for "+missing+".")
	}
	if strings.TrimSpace(text) == "" {
		text = act.Label
	}
	return text, nil
}

// pointer escapes a name for a JSON Pointer.
var pointer = strings.NewReplacer("~", "~0", "/", "~1")

// choices are the values that a schema lists for each of its members, nil
// without a schema.
func choices(schema json.RawMessage) map[string]map[string]bool {
	if schema == nil {
		return nil
	}
	type listing struct {
		Const json.RawMessage   `json:"const"`
		Enum  []json.RawMessage `json:"enum"`
	}
	var s struct {
		Properties map[string]struct {
			listing
			OneOf []listing `json:"oneOf"`
			AnyOf []listing `json:"anyOf"`
		} `json:"properties"`
	}
	found := map[string]map[string]bool{}
	if json.Unmarshal(schema, &s) != nil {
		return found
	}
	for name, p := range s.Properties {
		values := map[string]bool{}
		for _, l := range slices.Concat([]listing{p.listing}, p.OneOf, p.AnyOf) {
			for _, raw := range append(l.Enum, l.Const) {
				if v, ok := scalar(raw); ok {
					values[v] = true
				}
			}
		}
		found[name] = values
	}
	return found
}

// scalar returns a JSON string, number or boolean as people read it.
func scalar(raw json.RawMessage) (string, bool) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if dec.Decode(&v) != nil {
		return "", false
	}
	return scalarText(v)
}

func scalarText(v any) (string, bool) {
	switch v := v.(type) {
	case string:
		return v, true
	case json.Number:
		// 320, 320.0 and 3.2e2 are one number, which a browser writes as 320.
		if f, err := v.Float64(); err == nil && math.Abs(f) < 1<<53 {
			return strconv.FormatFloat(f, 'f', -1, 64), true
		}
		return v.String(), true
	case bool:
		if v {
			return "true", true
		}
		return "false", true
	}
	return "", false
}

// scalars collects every scalar in a payload.
func scalars(payload json.RawMessage, into map[string]bool) {
	dec := json.NewDecoder(bytes.NewReader(payload))
	dec.UseNumber()
	for {
		tok, err := dec.Token()
		if err != nil {
			return
		}
		if v, ok := scalarText(tok); ok {
			into[v] = true
		}
	}
}

// clean strips what could break out of the place a value is put into: control
// characters, line ends and the marks that turn text around.
func clean(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\t', r == '\u2028', r == '\u2029':
			return ' '
		case unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
}
