package openai

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// requestBody writes the body of a streamed completion.
func (p Profile) requestBody(name string, req model.Request) ([]byte, error) {
	messages, err := p.messages(req.Messages)
	if err != nil {
		return nil, err
	}
	body := map[string]any{"model": name, "messages": messages, "stream": true}
	if p.StreamOptions {
		body["stream_options"] = map[string]any{"include_usage": true}
	}
	if len(req.Tools) > 0 {
		body["tools"] = p.toolList(req.Tools)
		if choice := p.toolChoice(req.ToolChoice, len(req.Tools)); choice != nil {
			body["tool_choice"] = choice
		}
		if p.ParallelToolCalls && !forced(req.ToolChoice) {
			body["parallel_tool_calls"] = true
		}
	}
	if req.MaxTokens > 0 && p.MaxTokensParam != "" {
		body[p.MaxTokensParam] = req.MaxTokens
	}
	if req.Temperature != nil && !p.FixedTemperature {
		body["temperature"] = *req.Temperature
	}
	if req.Seed != nil && p.SeedParam != "" {
		body[p.SeedParam] = *req.Seed
	}
	if req.User != "" && p.UserParam != "" {
		body[p.UserParam] = req.User
	}
	data, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("openai: write the request: %w", err)
	}
	return data, nil
}

func (p Profile) toolList(specs []model.ToolSpec) []any {
	tools := make([]any, len(specs))
	for i, t := range specs {
		parameters := t.Parameters
		if len(parameters) == 0 {
			parameters = json.RawMessage(`{"type":"object","properties":{}}`)
		}
		fn := map[string]any{"name": t.Name, "description": t.Description, "parameters": parameters}
		if p.StrictSchema || p.StrictTools && t.Strict {
			fn["strict"] = true
		}
		tools[i] = map[string]any{"type": "function", "function": fn}
	}
	return tools
}

// forced reports whether the choice names the tool to be called.
func forced(c model.ToolChoice) bool {
	return c != model.ToolAuto && c != model.ToolNone && c != model.ToolRequired
}

// toolChoice is how a choice among so many tools is written; nil leaves it to
// the model.
func (p Profile) toolChoice(c model.ToolChoice, tools int) any {
	switch {
	case c == model.ToolAuto:
		return nil
	case c == model.ToolNone:
		return "none"
	case forced(c) && p.ToolChoiceNamed:
		return map[string]any{"type": "function", "function": map[string]any{"name": string(c)}}
	case p.ToolChoiceRequired == "" || forced(c) && tools > 1:
		return nil
	}
	return p.ToolChoiceRequired
}

func (p Profile) messages(in []model.Message) ([]any, error) {
	ids, err := p.idMapper()
	if err != nil {
		return nil, err
	}
	lastUser := -1
	for i, m := range in {
		if m.Role == model.RoleUser {
			lastUser = i
		}
	}
	out := make([]any, len(in))
	for i, m := range in {
		msg := map[string]any{"role": string(m.Role), "content": m.Content}
		switch m.Role {
		case model.RoleSystem:
			if p.DeveloperRole {
				msg["role"] = "developer"
			}
		case model.RoleUser:
			switch {
			case len(m.Images) == 0:
			case p.Images:
				msg["content"] = contentParts(m)
			default:
				msg["content"] = strings.TrimSpace(m.Content + "\n\n" + endpoint.Unseen(len(m.Images)))
			}
		case model.RoleTool:
			msg["tool_call_id"] = ids(m.CallID)
		case model.RoleAssistant:
			for name, value := range m.Extra {
				if _, taken := msg[name]; !taken {
					msg[name] = value
				}
			}
			if m.Content == "" && p.EmptyContent == EmptyNull && len(m.Calls) > 0 {
				msg["content"] = nil
			}
			if len(m.Calls) > 0 {
				msg["tool_calls"] = callList(m.Calls, ids)
			}
			echo := p.ReasoningEcho == EchoAlways || p.ReasoningEcho == EchoInToolTurn && i > lastUser
			if echo && m.Reasoning != "" {
				field := p.ReasoningField
				if field == "" {
					field = "reasoning_content"
				}
				msg[field] = m.Reasoning
			}
		}
		out[i] = msg
	}
	return out, nil
}

func contentParts(m model.Message) []any {
	var parts []any
	if m.Content != "" {
		parts = append(parts, map[string]any{"type": "text", "text": m.Content})
	}
	for _, img := range m.Images {
		url := "data:" + img.Mime + ";base64," + base64.StdEncoding.EncodeToString(img.Data)
		parts = append(parts, map[string]any{"type": "image_url", "image_url": map[string]any{"url": url}})
	}
	return parts
}

// callList writes the calls of an assistant message. Arguments that could not
// be read go back as an empty object: many endpoints parse them and refuse the
// whole conversation otherwise, and the tool message quotes them anyway.
func callList(calls []model.Call, ids func(string) string) []any {
	list := make([]any, len(calls))
	for i, c := range calls {
		arguments := string(c.Arguments)
		if arguments == "" {
			arguments = "{}"
		}
		entry := map[string]any{}
		for name, value := range c.Extra {
			entry[name] = value
		}
		entry["id"] = ids(c.ID)
		entry["type"] = "function"
		entry["function"] = map[string]any{"name": c.Name, "arguments": arguments}
		list[i] = entry
	}
	return list
}

// idMapper returns how call ids are written for this endpoint.
func (p Profile) idMapper() (func(string) string, error) {
	if p.ToolIDPattern == "" {
		return func(id string) string { return id }, nil
	}
	pattern, err := regexp.Compile(p.ToolIDPattern)
	if err != nil {
		return nil, fmt.Errorf("openai: tool_id_pattern: %w", err)
	}
	return func(id string) string {
		if pattern.MatchString(id) {
			return id
		}
		const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
		short := make([]byte, 9)
		sum := sha256.Sum256([]byte(id))
		for i := range short {
			short[i] = alphabet[int(sum[i])%len(alphabet)]
		}
		return string(short)
	}, nil
}
