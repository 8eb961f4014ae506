// Package aisdk runs agents that answer with a UI message stream (v1), as servers
// of the npm package ai do, majors 5, 6 and 7.
//
// One run is one POST of a chat, answered by a stream of chunks. What is read of
// it: texts, reasoning, tool calls with their results, approvals, data parts and
// the end. Steps, sources, files, metadata and transient data are passed over, as
// are chunks that are not known.
//
// It may import agent and model. It must never know what becomes of a piece.
package aisdk

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/model"
)

// Kind is what Info calls such an agent.
const Kind = "ai-sdk"

var protocol = agent.Protocol{
	Kind: Kind, Title: "AI SDK", Body: chat,
	Read: func(req agent.Request) agent.Reader { return newReader(req) },
}

// New returns the agent at an address that answers with a UI message stream.
func New(cfg agent.Config) (*agent.Peer, error) { return agent.NewPeer(protocol, cfg) }

type object = map[string]any

// chat is the body that the package's own transport posts; tools, context and
// state stand beside it where there are any.
func chat(req agent.Request) ([]byte, error) {
	body := object{"id": req.Thread, "trigger": "submit-message", "messages": messages(req)}
	if len(req.Tools) > 0 {
		tools := make(object, len(req.Tools))
		for _, t := range req.Tools {
			o := object{"description": t.Description}
			if t.Parameters != nil {
				o["parameters"] = t.Parameters
			}
			tools[t.Name] = o
		}
		body["tools"] = tools
	}
	if len(req.Context) > 0 {
		var list []object
		for _, e := range req.Context {
			list = append(list, object{"description": e.Description, "value": e.Value})
		}
		body["context"] = list
	}
	if req.State != nil {
		body["state"] = req.State
	}
	if len(req.Capabilities) > 0 {
		body["capabilities"] = req.Capabilities
	}
	return jsonx.Marshal(body)
}

// messages are what was said as UI messages: what the agent said and called
// between two questions is one of them.
func messages(req agent.Request) []object {
	var out []object
	var parts []object // of the agent's message that is being made
	calls := make(map[string]object)
	flush := func() {
		if len(parts) > 0 {
			out = append(out, object{"id": fmt.Sprintf("%s.%d", req.Thread, len(out)), "role": "assistant", "parts": parts})
			parts = nil
		}
	}
	for _, m := range req.Messages {
		switch m.Role {
		case model.RoleAssistant:
			if m.Content != "" {
				parts = append(parts, object{"type": "text", "text": m.Content, "state": "done"})
			}
			for _, c := range m.Calls {
				part := object{"type": "tool-" + c.Name, "toolCallId": c.ID, "state": "input-available", "input": c.Arguments}
				if len(c.Arguments) == 0 {
					part["input"] = object{}
				}
				calls[c.ID] = part
				parts = append(parts, part)
			}
		case model.RoleTool:
			if part := calls[m.CallID]; part != nil {
				part["state"], part["output"] = "output-available", value(m.Content)
			}
		default:
			flush()
			out = append(out, object{"id": fmt.Sprintf("%s.%d", req.Thread, len(out)), "role": m.Role, "parts": said(m)})
		}
	}
	for _, r := range req.Replies {
		if part := calls[r.Call]; part != nil {
			approval := object{"id": r.Interrupt, "approved": r.Approved}
			if r.Reason != "" {
				approval["reason"] = r.Reason
			}
			part["state"], part["approval"] = "approval-responded", approval
		}
	}
	flush()
	if last := len(out) - 1; last >= 0 && req.Message != "" && out[last]["role"] == "assistant" {
		out[last]["id"] = req.Message
	}
	return out
}

func said(m model.Message) []object {
	parts := []object{{"type": "text", "text": m.Content}}
	for _, img := range m.Images {
		url := "data:" + img.Mime + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
		parts = append(parts, object{"type": "file", "mediaType": img.Mime, "url": url})
	}
	return parts
}

// value is the JSON that a text is, or the text.
func value(text string) any {
	if raw := json.RawMessage(text); json.Valid(raw) {
		return raw
	}
	return text
}

// chunk has the members that are read of any chunk.
type chunk struct {
	Type           string          `json:"type"`
	ID             string          `json:"id"`
	Delta          string          `json:"delta"`
	ToolCallID     string          `json:"toolCallId"`
	ToolName       string          `json:"toolName"`
	InputTextDelta string          `json:"inputTextDelta"`
	Input          json.RawMessage `json:"input"`
	Output         json.RawMessage `json:"output"`
	Preliminary    bool            `json:"preliminary"`
	ErrorText      string          `json:"errorText"`
	ApprovalID     string          `json:"approvalId"`
	MessageID      string          `json:"messageId"`
	Title          string          `json:"title"`
	ToolMetadata   json.RawMessage `json:"toolMetadata"`
	Data           json.RawMessage `json:"data"`
	Transient      bool            `json:"transient"`
	FinishReason   string          `json:"finishReason"`
}

// reader follows one run.
type reader struct {
	calls *agent.Calls
	asked map[string]asked // what is said of calls, by their ids
	parts int              // data parts without an id
	size  int              // of all data
	out   agent.Outcome
}

// asked is what a call's chunk says of the question that may follow.
type asked struct{ title, detail string }

func newReader(req agent.Request) *reader {
	r := &reader{calls: agent.NewCalls(req), out: agent.Outcome{Finish: model.FinishIncomplete}}
	return r
}

// End implements agent.Reader.
func (r *reader) End() agent.Outcome {
	out := r.out
	if out.Finish == model.FinishStop {
		out.Calls = r.calls.Left()
	}
	return out
}

// read are the chunks whose members are read, beside those of data. All others may
// have members of any form.
var read = map[string]bool{
	"text-delta": true, "text-end": true, "reasoning-delta": true, "tool-input-start": true, "tool-input-delta": true,
	"tool-input-available": true, "tool-input-error": true, "tool-output-error": true, "tool-output-denied": true,
	"tool-output-available": true, "tool-approval-request": true, "finish": true, "start": true,
}

// Frame implements agent.Reader.
func (r *reader) Frame(data []byte, on func(agent.Piece) error) (over bool, err error) {
	if string(data) == "[DONE]" {
		r.finish("")
		return true, nil
	}
	var c chunk
	err = json.Unmarshal(data, &c)
	if _, isData := strings.CutPrefix(c.Type, "data-"); c.Type == "" || err != nil && (read[c.Type] || isData) {
		return false, agent.Malformed("a frame of the stream is no chunk")
	}
	switch c.Type {
	case "start":
		if len(c.MessageID) <= agent.MaxID {
			r.out.Message = c.MessageID
		}
	case "text-delta":
		return false, delta(on, agent.Text, c.Delta)
	case "text-end":
		return false, on(agent.Piece{Kind: agent.TextEnd})
	case "reasoning-delta":
		return false, delta(on, agent.Reasoning, c.Delta)
	case "tool-input-start":
		return false, r.start(c, on)
	case "tool-input-delta":
		if err := r.calls.Arguments(c.ToolCallID, c.InputTextDelta); err != nil {
			return false, err
		}
	case "tool-input-available":
		return false, r.input(c, on)
	case "tool-input-error", "tool-output-error":
		if err := r.input(c, on); err != nil {
			return false, err
		}
		return false, r.result(c, c.ErrorText, true, on)
	case "tool-output-denied":
		return false, r.result(c, "The call was not approved.", true, on)
	case "tool-output-available":
		if c.Preliminary {
			return false, nil
		}
		if len(c.Output) > agent.MaxContent {
			return false, agent.Malformed("a result of %d bytes", len(c.Output))
		}
		var text string
		if json.Unmarshal(c.Output, &text) != nil {
			text = string(c.Output)
		}
		return false, r.result(c, text, false, on)
	case "tool-approval-request":
		if slices.ContainsFunc(r.out.Interrupts, func(i agent.Interrupt) bool { return i.ID == c.ApprovalID }) {
			return false, nil
		}
		if c.ApprovalID == "" || max(len(c.ApprovalID), len(c.ToolCallID)) > agent.MaxID || len(r.out.Interrupts) >= agent.MaxCalls {
			return false, agent.Malformed("an approval without an id, or too many")
		}
		about := r.asked[c.ToolCallID]
		r.out.Interrupts = append(r.out.Interrupts, agent.Interrupt{
			ID: c.ApprovalID, Call: c.ToolCallID, Approval: true, Message: about.title, Detail: about.detail,
		})
	case "error":
		return true, &model.Error{Code: model.CodeUnavailable, Message: c.ErrorText}
	case "abort":
		r.out.Cancelled = true
		r.finish("")
		return true, nil
	case "finish":
		r.finish(c.FinishReason)
		return true, nil
	default:
		if name, ok := strings.CutPrefix(c.Type, "data-"); ok && !c.Transient {
			return false, r.part(c, name, on)
		}
	}
	return false, nil
}

func delta(on func(agent.Piece) error, kind agent.Kind, text string) error {
	if text == "" {
		return nil
	}
	return on(agent.Piece{Kind: kind, Text: text})
}

func (r *reader) start(c chunk, on func(agent.Piece) error) error {
	fresh, err := r.calls.Start(c.ToolCallID, c.ToolName)
	if err != nil {
		return err
	}
	if !fresh {
		return nil
	}
	return on(agent.Piece{Kind: agent.CallStart, ID: c.ToolCallID, Name: c.ToolName})
}

// input is a call whose arguments are whole. They stand in the chunk, whatever
// came of them before.
func (r *reader) input(c chunk, on func(agent.Piece) error) error {
	if c.ToolName != "" {
		if err := r.start(c, on); err != nil {
			return err
		}
	}
	if err := r.calls.Replace(c.ToolCallID, string(c.Input)); err != nil {
		return err
	}
	p, ok := r.calls.Whole(c.ToolCallID)
	if !ok {
		return nil
	}
	// Where the agent is another installation, its metadata say more.
	var more struct {
		Inlay struct {
			Detail string `json:"detail"`
		} `json:"inlay"`
	}
	if json.Unmarshal(c.ToolMetadata, &more) != nil {
		more.Inlay.Detail = ""
	}
	if c.Title != "" || more.Inlay.Detail != "" {
		if r.asked == nil {
			r.asked = make(map[string]asked)
		}
		r.asked[c.ToolCallID] = asked{c.Title, more.Inlay.Detail}
	}
	return on(p)
}

func (r *reader) result(c chunk, content string, failed bool, on func(agent.Piece) error) error {
	if p, ok := r.calls.Result(c.ToolCallID, content, failed); ok {
		return on(p)
	}
	return nil
}

func (r *reader) part(c chunk, name string, on func(agent.Piece) error) error {
	if r.size += len(c.Data); r.size > 4*agent.MaxContent || len(c.Data) > agent.MaxContent {
		return agent.Malformed("more data than is followed")
	}
	id := c.ID
	if id == "" {
		r.parts++
		id = fmt.Sprintf("part %d", r.parts)
	}
	return on(agent.Piece{Kind: agent.Part, ID: name + " " + id, Name: name, JSON: c.Data})
}

func (r *reader) finish(reason string) {
	switch reason {
	case "length":
		r.out.Finish = model.FinishLength
	case "content-filter":
		r.out.Finish = model.FinishContentFilter
	default:
		r.out.Finish = model.FinishStop
	}
}
