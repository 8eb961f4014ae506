package aisdk

import (
	"encoding/json"
	"net/url"
	"slices"
	"strconv"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// waits reports whether the message waits for somebody to run the call or to
// say whether it may run.
func (c *call) waits() bool { return !c.over && !c.agreed && (c.client || c.approval != "") }

// waits reports whether the client has calls to run.
func (e *Encoder) waits() bool {
	return slices.ContainsFunc(e.calls, func(c *call) bool { return c.client && c.waits() })
}

// approves reports whether a block is sent as the client's own kind of question
// whether a tool may run.
func (e *Encoder) approves(b block.Block) bool {
	caps := e.view.Caps
	return e.major >= 6 && block.ShortName(b.Type) == "confirm" && !(caps.Declared && caps.Can(b.Type, b.Version))
}

// callOf returns the tool part of a call.
func (e *Encoder) callOf(id string) *call {
	// Of two with one id the later one is meant.
	for _, c := range slices.Backward(e.calls) {
		if c.id == id {
			return c
		}
	}
	return nil
}

// toolInput is a call with what it is called with.
type toolInput struct {
	ToolCallID string `json:"toolCallId"`
	ToolName   string `json:"toolName"`
	// Title is the name for people, which major 5 does not know.
	Title string `json:"title,omitempty"`
	// ProviderExecuted keeps clients from running what the server runs.
	ProviderExecuted bool            `json:"providerExecuted,omitempty"`
	Input            json.RawMessage `json:"input"`
	// ToolMetadata says of a question what the client's own has no room for.
	ToolMetadata *struct {
		Inlay toolMetadata `json:"inlay"`
	} `json:"toolMetadata,omitempty"`
}

type toolMetadata struct {
	BlockID   string `json:"blockId"`
	Prompt    string `json:"prompt"`
	Detail    string `json:"detail,omitempty"`
	Severity  string `json:"severity,omitempty"`
	ExpiresAt int64  `json:"expiresAt,omitempty"`
}

// beginCall writes the part of a call, whole: a call whose input has only begun
// is what clients keep over a broken connection, and have twice after it.
func (e *Encoder) beginCall(dst []byte, c *call, in toolInput) ([]byte, error) {
	e.calls = append(e.calls, c)
	in.ToolCallID, in.ToolName, in.ProviderExecuted = c.id, c.name, !c.client
	if e.major < 6 {
		in.Title = ""
	}
	if len(in.Input) == 0 {
		in.Input = json.RawMessage("{}")
	}
	return members(dst, "tool-input-available", in)
}

// members writes a chunk of a type with the members of an object.
func members(dst []byte, typ string, v any) ([]byte, error) {
	data, err := jsonx.Marshal(v)
	if err != nil {
		return dst, err
	}
	dst = jsonx.AppendString(append(dst, `data: {"type":`...), typ)
	dst = append(dst, ',')
	dst = append(dst, data[1:]...)
	return append(dst, "\n\n"...), nil
}

// clientCall writes a call that the client is to run.
func (e *Encoder) clientCall(dst []byte, data json.RawMessage) ([]byte, error) {
	var d event.ClientToolCallData
	if json.Unmarshal(data, &d) != nil || d.ToolCallID == "" || d.Name == "" || e.callOf(d.ToolCallID) != nil {
		return dst, nil
	}
	return e.beginCall(dst, &call{id: d.ToolCallID, name: d.Name, client: true}, toolInput{Input: d.Arguments})
}

// toolPart writes a call of a tool of the server's, where the reader wants it as
// a part.
func (e *Encoder) toolPart(dst []byte, typ event.Type, d event.ToolCallData) ([]byte, error) {
	if typ != event.ToolCallStart || e.callOf(d.ToolCallID) != nil {
		return dst, nil
	}
	return e.beginCall(dst, &call{id: d.ToolCallID, name: d.Name, agreed: true}, toolInput{Title: d.Title})
}

// ran writes what became of a call that is a part.
func (e *Encoder) ran(dst []byte, id, status string) []byte {
	c := e.callOf(id)
	if c == nil || c.over || !c.client && !c.agreed {
		return dst
	}
	c.over = true
	if c.client {
		e.due = true
		if e.follows && status != event.ToolCancelled {
			return dst // the client knows better than the log
		}
	}
	switch status {
	case event.ToolOK:
		dst = e.outcome(dst, "tool-output-available", c)
		return append(dst, `,"output":{"status":"ok"}}`+"\n\n"...)
	case event.ToolError:
		dst = e.outcome(dst, "tool-output-error", c)
		return append(dst, `,"errorText":"The tool failed."}`+"\n\n"...)
	}
	dst = e.outcome(dst, "tool-output-error", c)
	return append(dst, `,"errorText":"The tool was not run to its end."}`+"\n\n"...)
}

// outcome begins a chunk that says what became of a call.
func (e *Encoder) outcome(dst []byte, typ string, c *call) []byte {
	dst = append(dst, `data: {"type":"`...)
	dst = append(dst, typ...)
	dst = jsonx.AppendString(append(dst, `","toolCallId":`...), c.id)
	if !c.client {
		dst = append(dst, `,"providerExecuted":true`...)
	}
	return dst
}

// question writes a question whether a tool may run, and what was answered.
func (e *Encoder) question(dst []byte, p *part, b block.Block) ([]byte, error) {
	if p.ask == nil {
		switch b.Status {
		case block.StatusLoading:
			return dst, nil
		case block.StatusError:
			// It was never asked.
			p.kind = hiddenPart
			return e.hidden(e.openText(dst, p), p, b), nil
		}
		var err error
		if dst, err = e.ask(dst, p, b); err != nil {
			return dst, err
		}
	}
	c := p.ask
	if c.over || c.agreed {
		return dst, nil
	}
	var state struct {
		Status string `json:"status"`
		Answer string `json:"answer"`
	}
	if json.Unmarshal(b.State, &state) != nil || state.Status == "" {
		return dst, nil // nobody has answered
	}
	c.agreed = state.Status == event.QuestionAnswered && state.Answer != "reject"
	if e.major >= 7 {
		dst = jsonx.AppendString(append(dst, `data: {"type":"tool-approval-response","approvalId":`...), c.approval)
		dst = append(append(dst, `,"approved":`...), strconv.FormatBool(c.agreed)...)
		if state.Status != event.QuestionAnswered {
			dst = jsonx.AppendString(append(dst, `,"reason":`...), state.Status)
		}
		dst = append(dst, "}\n\n"...)
	}
	if !c.agreed {
		c.over = true
		dst = append(jsonx.AppendString(append(dst, `data: {"type":"tool-output-denied","toolCallId":`...), c.id), "}\n\n"...)
	}
	return dst, nil
}

// ask writes the call that a question is about, and the request.
func (e *Encoder) ask(dst []byte, p *part, b block.Block) ([]byte, error) {
	var shown block.Confirm
	if json.Unmarshal(b.Payload, &shown) != nil {
		shown.Prompt = e.view.Registry.Stand(b)
	}
	c := &call{name: "confirm", approval: b.ID}
	if b.Meta != nil {
		c.id = b.Meta.ToolCallID
		if b.Meta.Tool != "" {
			c.name = b.Meta.Tool
		}
	}
	if c.id == "" || e.callOf(c.id) != nil {
		c.id = b.ID
	}
	p.ask = c
	in := toolInput{Title: shown.Prompt, Input: shown.Args}
	in.ToolMetadata = &struct {
		Inlay toolMetadata `json:"inlay"`
	}{toolMetadata{b.ID, shown.Prompt, shown.Detail, shown.Severity, shown.ExpiresAt}}
	dst, err := e.beginCall(dst, c, in)
	if err != nil {
		return dst, err
	}
	dst = jsonx.AppendString(append(dst, `data: {"type":"tool-approval-request","approvalId":`...), b.ID)
	dst = jsonx.AppendString(append(dst, `,"toolCallId":`...), c.id)
	return append(dst, "}\n\n"...), nil
}

// annotation writes where something comes from.
func (e *Encoder) annotation(dst []byte, ev event.Event) ([]byte, error) {
	var d struct {
		Kind  string `json:"kind"`
		URL   string `json:"url"`
		Title string `json:"title"`
	}
	if json.Unmarshal(ev.Data, &d) != nil || d.Kind != "source" {
		return dst, nil
	}
	if p := e.parts[ev.Block]; p == nil || p.kind != textPart && p.kind != dataPart {
		return dst, nil // of a block that the reader cannot draw
	}
	if u, err := url.Parse(d.URL); err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
		return dst, nil
	}
	e.sources++
	dst = append(dst, `data: {"type":"source-url","sourceId":"source-`...)
	dst = append(strconv.AppendInt(dst, int64(e.sources), 10), `","url":`...)
	dst = jsonx.AppendString(dst, d.URL)
	if d.Title != "" {
		dst = jsonx.AppendString(append(dst, `,"title":`...), d.Title)
	}
	return append(dst, "}\n\n"...), nil
}
