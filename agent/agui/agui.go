// Package agui runs agents that speak AG-UI over HTTP, of version 1.0 and of the
// generation before it.
//
// One run is one POST of a RunAgentInput, answered by a stream of events. What is
// read of it: texts, reasoning, tool calls with their results, activities, state,
// interrupts and the end, whole or in chunks. Steps, sub-agents, custom and raw
// events and snapshots of messages are passed over, as are events that are not
// known.
//
// It may import agent and model. It must never know what becomes of a piece.
package agui

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	jsonpatch "github.com/evanphx/json-patch/v5"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/model"
)

// Kind is what Info calls such an agent.
const Kind = "ag-ui"

// protocolVersion is the version that requests are written in.
const protocolVersion = "1.0"

var protocol = agent.Protocol{
	Kind: Kind, Title: "AG-UI", Body: input,
	Read: func(req agent.Request) agent.Reader { return newReader(req) },
}

// New returns the agent at an address that speaks AG-UI.
func New(cfg agent.Config) (*agent.Peer, error) { return agent.NewPeer(protocol, cfg) }

type object = map[string]any

// input is the RunAgentInput of a request.
func input(req agent.Request) ([]byte, error) {
	in := object{
		"threadId": req.Thread, "runId": req.Run, "protocolVersion": protocolVersion,
		"messages": messages(req.Thread, req.Messages), "tools": tools(req.Tools), "context": entries(req.Context),
		"state": object{}, "forwardedProps": object{},
	}
	if len(req.Capabilities) > 0 {
		in["forwardedProps"] = object{"capabilities": req.Capabilities}
	}
	if req.State != nil {
		in["state"] = req.State
	}
	if len(req.Replies) > 0 {
		in["resume"] = replies(req.Replies)
	}
	return jsonx.Marshal(in)
}

// messages are what was said. Their ids follow from their places, so that a
// message has the same one in every run.
func messages(thread string, said []model.Message) []object {
	out := make([]object, 0, len(said))
	for i, m := range said {
		o := object{"id": fmt.Sprintf("%s.%d", thread, i), "role": m.Role, "content": m.Content}
		switch m.Role {
		case model.RoleUser:
			if len(m.Images) > 0 {
				o["content"] = parts(m)
			}
		case model.RoleAssistant:
			var calls []object
			for _, c := range m.Calls {
				calls = append(calls, object{
					"id": c.ID, "type": "function", "function": object{"name": c.Name, "arguments": text(c.Arguments)},
				})
			}
			if calls != nil {
				o["toolCalls"] = calls
			}
		case model.RoleTool:
			o["toolCallId"] = m.CallID
		}
		out = append(out, o)
	}
	return out
}

func parts(m model.Message) []object {
	var out []object
	if m.Content != "" {
		out = append(out, object{"type": "text", "text": m.Content})
	}
	for _, img := range m.Images {
		out = append(out, object{"type": "image", "source": object{"type": "data", "value": img.Data, "mimeType": img.Mime}})
	}
	return out
}

func text(arguments json.RawMessage) string {
	if len(arguments) == 0 {
		return "{}"
	}
	return string(arguments)
}

func tools(list []model.ToolSpec) []object {
	out := make([]object, 0, len(list))
	for _, t := range list {
		o := object{"name": t.Name, "description": t.Description}
		if t.Parameters != nil {
			o["parameters"] = t.Parameters
		}
		out = append(out, o)
	}
	return out
}

func entries(list []agent.Entry) []object {
	out := make([]object, 0, len(list))
	for _, e := range list {
		out = append(out, object{"description": e.Description, "value": e.Value})
	}
	return out
}

func replies(list []agent.Reply) []object {
	var out []object
	for _, r := range list {
		o := object{"interruptId": r.Interrupt, "status": "resolved"}
		switch {
		case r.Cancelled:
			o["status"] = "cancelled"
		case r.Approval && r.Reason != "":
			o["payload"] = object{"approved": r.Approved, "reason": r.Reason}
		case r.Approval:
			o["payload"] = object{"approved": r.Approved}
		case r.Payload != nil:
			o["payload"] = r.Payload
		}
		out = append(out, o)
	}
	return out
}

// event has the members that are read of any event.
type event struct {
	Type         string          `json:"type"`
	MessageID    string          `json:"messageId"`
	Role         string          `json:"role"`
	Delta        json.RawMessage `json:"delta"`
	ToolCallID   string          `json:"toolCallId"`
	ToolCallName string          `json:"toolCallName"`
	Content      json.RawMessage `json:"content"`
	Error        string          `json:"error"`
	ActivityType string          `json:"activityType"`
	Replace      *bool           `json:"replace"`
	Patch        json.RawMessage `json:"patch"`
	Snapshot     json.RawMessage `json:"snapshot"`
	Message      string          `json:"message"`
	Code         string          `json:"code"`
	Outcome      *outcome        `json:"outcome"`
	Usage        json.RawMessage `json:"usage"`
}

type outcome struct {
	Type       string      `json:"type"`
	Interrupts []interrupt `json:"interrupts"`
}

type interrupt struct {
	ID             string          `json:"id"`
	Reason         string          `json:"reason"`
	Message        string          `json:"message"`
	ToolCallID     string          `json:"toolCallId"`
	ResponseSchema json.RawMessage `json:"responseSchema"`
	ExpiresAt      string          `json:"expiresAt"`
	Metadata       json.RawMessage `json:"metadata"`
}

type usage struct {
	InputTokens     tokens `json:"inputTokens"`
	OutputTokens    tokens `json:"outputTokens"`
	CachedTokens    tokens `json:"cachedInputTokens"`
	ReasoningTokens tokens `json:"reasoningTokens"`
}

// tokens is a number of tokens as an agent states it; what is none is 0.
type tokens int

// UnmarshalJSON implements json.Unmarshaler.
func (n *tokens) UnmarshalJSON(b []byte) error {
	f, err := strconv.ParseFloat(string(b), 64)
	if *n = 0; err == nil && f > 0 && f < 1<<40 {
		*n = tokens(f)
	}
	return nil
}

// reader follows one run.
type reader struct {
	calls *agent.Calls
	// text and call are what a chunk without an id goes on with.
	text, call string
	state      json.RawMessage
	activities map[string]*activity
	size       int // of all activities
	out        agent.Outcome
}

type activity struct {
	kind    string
	content json.RawMessage
}

func newReader(req agent.Request) *reader {
	r := &reader{
		calls: agent.NewCalls(req), state: req.State, activities: make(map[string]*activity), out: agent.Outcome{Finish: model.FinishIncomplete},
	}
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

// read are the events whose members are read. All others may have members of any
// form.
var read = map[string]bool{
	"TEXT_MESSAGE_START": true, "TEXT_MESSAGE_CHUNK": true, "TEXT_MESSAGE_CONTENT": true, "TEXT_MESSAGE_END": true,
	"REASONING_MESSAGE_CONTENT": true, "REASONING_MESSAGE_CHUNK": true, "THINKING_TEXT_MESSAGE_CONTENT": true,
	"TOOL_CALL_START": true, "TOOL_CALL_CHUNK": true, "TOOL_CALL_ARGS": true, "TOOL_CALL_END": true, "TOOL_CALL_RESULT": true,
	"ACTIVITY_SNAPSHOT": true, "ACTIVITY_DELTA": true, "STATE_SNAPSHOT": true, "STATE_DELTA": true, "RUN_FINISHED": true,
}

// Frame implements agent.Reader.
func (r *reader) Frame(data []byte, on func(agent.Piece) error) (over bool, err error) {
	var ev event
	err = json.Unmarshal(data, &ev)
	if ev.Type == "" || err != nil && read[ev.Type] {
		return false, agent.Malformed("a frame of the stream is no event")
	}
	switch ev.Type {
	case "TEXT_MESSAGE_START":
		return false, r.startText(ev, on)
	case "TEXT_MESSAGE_CHUNK":
		if ev.MessageID != "" && ev.MessageID != r.text {
			if err := r.startText(ev, on); err != nil {
				return false, err
			}
		}
		return false, r.said(agent.Text, ev, on)
	case "TEXT_MESSAGE_CONTENT":
		return false, r.said(agent.Text, ev, on)
	case "TEXT_MESSAGE_END":
		r.text = ""
		return false, on(agent.Piece{Kind: agent.TextEnd})
	case "REASONING_MESSAGE_CONTENT", "REASONING_MESSAGE_CHUNK", "THINKING_TEXT_MESSAGE_CONTENT":
		return false, r.said(agent.Reasoning, ev, on)
	case "TOOL_CALL_START":
		return false, r.startCall(ev, on)
	case "TOOL_CALL_CHUNK":
		if ev.ToolCallID != "" && ev.ToolCallID != r.call {
			if err := r.startCall(ev, on); err != nil {
				return false, err
			}
		}
		ev.ToolCallID = r.call
		return false, r.arguments(ev)
	case "TOOL_CALL_ARGS":
		return false, r.arguments(ev)
	case "TOOL_CALL_END":
		return false, r.whole(ev.ToolCallID, on)
	case "TOOL_CALL_RESULT":
		return false, r.result(ev, on)
	case "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA":
		return false, r.activity(ev, on)
	case "STATE_SNAPSHOT":
		if len(ev.Snapshot) > agent.MaxContent {
			return false, agent.Malformed("a state of %d bytes", len(ev.Snapshot))
		}
		r.state = ev.Snapshot
		return false, on(agent.Piece{Kind: agent.State, JSON: r.state})
	case "STATE_DELTA":
		state, err := patched(r.state, ev.Delta)
		if err != nil {
			return false, nil // what does not apply changes nothing
		}
		r.state = state
		return false, on(agent.Piece{Kind: agent.State, JSON: r.state})
	case "RUN_ERROR":
		return true, failure(ev)
	case "RUN_FINISHED":
		return true, r.finished(ev, on)
	}
	return false, nil
}

func (r *reader) startText(ev event, on func(agent.Piece) error) error {
	if err := r.closeCall(on); err != nil {
		return err
	}
	r.text = ev.MessageID
	if ev.Role != "" && ev.Role != "assistant" {
		r.text = "" // what others said is known
	}
	return nil
}

func (r *reader) said(kind agent.Kind, ev event, on func(agent.Piece) error) error {
	var delta string
	if len(ev.Delta) > 0 && json.Unmarshal(ev.Delta, &delta) != nil {
		return agent.Malformed("%s without a text", ev.Type)
	}
	if delta == "" || kind == agent.Text && (r.text == "" || ev.MessageID != "" && ev.MessageID != r.text) {
		return nil
	}
	return on(agent.Piece{Kind: kind, Text: delta})
}

func (r *reader) startCall(ev event, on func(agent.Piece) error) error {
	if err := r.closeCall(on); err != nil {
		return err
	}
	fresh, err := r.calls.Start(ev.ToolCallID, ev.ToolCallName)
	if err != nil {
		return err
	}
	if r.call = ev.ToolCallID; !fresh {
		return nil
	}
	return on(agent.Piece{Kind: agent.CallStart, ID: ev.ToolCallID, Name: ev.ToolCallName})
}

func (r *reader) arguments(ev event) error {
	var delta string
	if len(ev.Delta) > 0 && json.Unmarshal(ev.Delta, &delta) != nil {
		return agent.Malformed("%s without a text", ev.Type)
	}
	if err := r.calls.Arguments(ev.ToolCallID, delta); err != nil {
		return err
	}
	return nil
}

// closeCall ends the call whose chunks came last: chunks have no end.
func (r *reader) closeCall(on func(agent.Piece) error) error {
	id := r.call
	r.call = ""
	return r.whole(id, on)
}

func (r *reader) whole(id string, on func(agent.Piece) error) error {
	if r.call == id {
		r.call = ""
	}
	if p, ok := r.calls.Whole(id); ok {
		return on(p)
	}
	return nil
}

func (r *reader) result(ev event, on func(agent.Piece) error) error {
	if err := r.whole(ev.ToolCallID, on); err != nil {
		return err
	}
	if len(ev.Content) > agent.MaxContent {
		return agent.Malformed("a result of %d bytes", len(ev.Content))
	}
	content, err := contentText(ev.Content)
	if err != nil {
		return agent.Malformed("a result that is neither text nor parts")
	}
	if p, ok := r.calls.Result(ev.ToolCallID, content, ev.Error != ""); ok {
		return on(p)
	}
	return nil
}

// contentText is the text of a content: itself, or that of its parts.
func contentText(raw json.RawMessage) (string, error) {
	var s string
	if len(raw) == 0 || json.Unmarshal(raw, &s) == nil {
		return s, nil
	}
	var list []struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return "", err
	}
	for _, p := range list {
		if p.Type == "text" {
			s += p.Text
		}
	}
	return s, nil
}

func (r *reader) activity(ev event, on func(agent.Piece) error) error {
	if ev.MessageID == "" || ev.ActivityType == "" {
		return agent.Malformed("%s without an id or a type", ev.Type)
	}
	a := r.activities[ev.MessageID]
	content := ev.Content
	switch {
	case ev.Type == "ACTIVITY_DELTA" && a == nil:
		return nil
	case ev.Type == "ACTIVITY_DELTA":
		var err error
		if content, err = patched(a.content, ev.Patch); err != nil {
			return nil
		}
	case a != nil && ev.Replace != nil && !*ev.Replace:
		return nil
	}
	before := 0
	if a != nil {
		before = len(a.content)
	}
	if r.size += len(content) - before; r.size > agent.MaxContent || len(r.activities) >= agent.MaxCalls && a == nil {
		return agent.Malformed("more activities than are followed")
	}
	if a != nil && bytes.Equal(a.content, content) {
		return nil
	}
	r.activities[ev.MessageID] = &activity{ev.ActivityType, content}
	return on(agent.Piece{Kind: agent.Part, ID: ev.MessageID, Name: ev.ActivityType, JSON: content})
}

// patched applies a JSON Patch (RFC 6902) to a document.
func patched(doc, patch json.RawMessage) (out json.RawMessage, err error) {
	// A panic of the library is a patch that does not apply.
	defer func() {
		if r := recover(); r != nil {
			out, err = nil, fmt.Errorf("apply a patch: %v", r)
		}
	}()
	if len(doc) == 0 {
		doc = json.RawMessage("null")
	}
	p, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, err
	}
	// Few operations may copy a document into itself again and again.
	opt := jsonpatch.NewApplyOptions()
	opt.AccumulatedCopySizeLimit = agent.MaxContent
	opt.EscapeHTML = false
	out, err = p.ApplyWithOptions(doc, opt)
	if err == nil && len(out) > agent.MaxContent {
		err = errors.New("too large")
	}
	return out, err
}

func failure(ev event) error {
	message := ev.Message
	if ev.Code != "" {
		message = ev.Code + ": " + message
	}
	return &model.Error{Code: model.CodeUnavailable, Message: message}
}

func (r *reader) finished(ev event, on func(agent.Piece) error) error {
	if err := r.closeCall(on); err != nil {
		return err
	}
	r.out.Finish = model.FinishStop
	var used []usage
	_ = json.Unmarshal(ev.Usage, &used) // an answer is one without them too
	for _, u := range used[:min(len(used), agent.MaxCalls)] {
		r.out.Usage.InputTokens += int(u.InputTokens)
		r.out.Usage.OutputTokens += int(u.OutputTokens)
		r.out.Usage.CachedTokens += int(u.CachedTokens)
		r.out.Usage.ReasoningTokens += int(u.ReasoningTokens)
	}
	if ev.Outcome == nil {
		return nil
	}
	r.out.Cancelled = ev.Outcome.Type == "cancelled"
	if ev.Outcome.Type != "interrupt" {
		return nil
	}
	if len(ev.Outcome.Interrupts) == 0 || len(ev.Outcome.Interrupts) > agent.MaxCalls {
		return agent.Malformed("an interrupt that asks nothing, or too much")
	}
	for _, i := range ev.Outcome.Interrupts {
		if i.ID == "" || len(i.ID) > agent.MaxID {
			return agent.Malformed("an interrupt with an id of %d bytes", len(i.ID))
		}
		if slices.ContainsFunc(r.out.Interrupts, func(o agent.Interrupt) bool { return o.ID == i.ID }) {
			continue
		}
		out := agent.Interrupt{
			ID: i.ID, Call: i.ToolCallID, Message: i.Message, Schema: i.ResponseSchema,
		}
		// Where the agent is another installation, its metadata say more.
		var more struct {
			Inlay struct {
				Detail string          `json:"detail"`
				Args   json.RawMessage `json:"args"`
			} `json:"inlay"`
		}
		if json.Unmarshal(i.Metadata, &more) == nil {
			out.Detail, out.Args = more.Inlay.Detail, more.Inlay.Args
		}
		// Approvals are answered in the form that the protocol suggests for them,
		// whatever schema they state.
		out.Approval = i.Reason == "confirmation" || i.Reason == "tool_call" || i.Reason != "input_required" && len(i.ResponseSchema) == 0
		if at, err := time.Parse(time.RFC3339, i.ExpiresAt); err == nil {
			out.Expires = at
		}
		r.out.Interrupts = append(r.out.Interrupts, out)
	}
	return nil
}
