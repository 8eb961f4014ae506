package server

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/turn"
)

// actionBody is the body of POST /v1/chat/actions.
type actionBody struct {
	MsgID          string          `json:"msgId"`
	BlockID        string          `json:"blockId"`
	ActionID       string          `json:"actionId"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotencyKey"`
}

// maxParam is the longest value of a parameter in characters.
const maxParam = 200

// postAction runs an action of a block. A prompt action becomes a user message
// whose text the server makes from the action's own template.
func (s *server) postAction(w http.ResponseWriter, r *http.Request) error {
	var body actionBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	for _, f := range []struct{ name, value string }{{"msgId", body.MsgID}, {"blockId", body.BlockID}, {"actionId", body.ActionID}} {
		if f.value == "" {
			return invalid(f.name+" is missing.", map[string]any{"field": f.name})
		}
	}
	if !printable(body.IdempotencyKey, 8) {
		return invalid("idempotencyKey must be 8 to 255 printable characters.", map[string]any{"field": "idempotencyKey"})
	}
	c := callOf(r)
	m, err := s.Store.Message(r.Context(), c.owner, body.MsgID)
	if err != nil {
		return wrap("read message", err)
	}
	if m, err = s.current(r, m); err != nil {
		return wrap("read log", err)
	}
	b, act, err := find(m.Blocks, body.BlockID, body.ActionID)
	if err != nil {
		return err
	}
	if act.Kind != block.ActionPrompt {
		return &answer{
			status: http.StatusBadRequest, code: codeUnsupportedAction,
			message: "Actions of this kind are not run by the server.", details: map[string]any{"kind": act.Kind},
		}
	}
	text, err := promptText(b, act, body.Payload)
	if err != nil {
		return err
	}
	if err := s.length("payload", text); err != nil {
		return err
	}
	fp, err := fingerprint(body)
	if err != nil {
		return err
	}
	st, err := s.Runner.Start(r.Context(), turn.Request{
		Owner: c.owner, Caller: c.caller, Conversation: m.Conversation, Text: text, Caps: s.caps(r),
		IdempotencyKey: "action:" + body.IdempotencyKey, Fingerprint: fp,
	})
	if err != nil {
		return wrap("start turn", err)
	}
	return writeJSON(w, http.StatusAccepted, map[string]string{
		"msgId": st.Msg, "conversationId": st.Conversation, "userMessageId": st.User,
	})
}

// find returns the action of a block that may be run now: one that the server
// attached to that very block.
func find(blocks []block.Block, id, action string) (block.Block, block.Action, error) {
	refuse := &answer{status: http.StatusNotFound, code: codeActionNotFound, message: "There is no such action here."}
	i := slices.IndexFunc(blocks, func(b block.Block) bool { return b.ID == id })
	if i < 0 || blocks[i].Status != block.StatusDone {
		return block.Block{}, block.Action{}, refuse
	}
	b := blocks[i]
	j := slices.IndexFunc(b.Actions, func(a block.Action) bool { return a.ID == action })
	if j < 0 || locked(b.State) {
		return block.Block{}, block.Action{}, refuse
	}
	return b, b.Actions[j], nil
}

// locked reports whether a block's state says that nothing can be done with it
// any more.
func locked(state json.RawMessage) bool {
	var st struct {
		Locked bool `json:"locked"`
	}
	return json.Unmarshal(state, &st) == nil && st.Locked
}

var placeholder = regexp.MustCompile(`\{\{\s*([A-Za-z_][A-Za-z0-9_.-]*)\s*\}\}`)

// promptText fills an action's template. A value comes from the action itself
// or, for what the person chose in the block, from the request: then it must
// be one of the block's own values, so that nobody can put words into the
// message that the server never showed.
func promptText(b block.Block, act block.Action, payload json.RawMessage) (string, error) {
	if act.InputSchema != nil {
		schema, err := block.CompileSchema("action", act.InputSchema)
		if err != nil {
			return "", wrap("schema of action "+act.ID, err)
		}
		in := payload
		if len(bytes.TrimSpace(in)) == 0 {
			in = json.RawMessage(`{}`)
		}
		if err := schema.Validate(in); err != nil {
			return "", invalid("The values do not fit the action: "+err.Error()+".", map[string]any{"field": "payload"})
		}
	}
	given := map[string]json.RawMessage{}
	if p := bytes.TrimSpace(payload); len(p) > 0 && string(p) != "null" {
		if err := json.Unmarshal(p, &given); err != nil {
			return "", invalid("payload must be an object of names and values.", map[string]any{"field": "payload"})
		}
	}
	values := make(map[string]string, len(given)+len(act.Params))
	var shown map[string]bool
	for name, raw := range given {
		if _, fixed := act.Params[name]; fixed {
			continue // the server's own value stands
		}
		v, ok := scalar(raw)
		if !ok || utf8.RuneCountInString(v) > maxParam {
			return "", invalid("The value of "+clean(name)+" must be one short text, number or yes or no.", map[string]any{"field": "payload." + clean(name)})
		}
		if shown == nil {
			shown = map[string]bool{}
			scalars(b.Payload, shown)
		}
		if !shown[v] {
			return "", invalid("The value of "+clean(name)+" is not one of the block's.", map[string]any{"field": "payload." + clean(name)})
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
		return "", invalid("The action needs a value for "+missing+".", map[string]any{"field": "payload." + missing})
	}
	if strings.TrimSpace(text) == "" {
		text = act.Label
	}
	return text, nil
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
