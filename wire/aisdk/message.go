package aisdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/url"
	"strings"

	"github.com/inlay-ui/inlay/block"
)

// UIMessage is a message as the client has it.
type UIMessage struct {
	ID       string           `json:"id"`
	Role     string           `json:"role"`
	Metadata map[string]any   `json:"metadata,omitempty"`
	Parts    []map[string]any `json:"parts"`
}

// UserUIMessage is a user's message: its text and its files, whose addresses are
// stable and ask who they are asked by.
func UserUIMessage(r *block.Registry, id string, blocks []block.Block) (UIMessage, error) {
	m := UIMessage{ID: id, Role: "user", Parts: []map[string]any{}}
	for _, b := range blocks {
		var f block.File
		if block.ShortName(b.Type) == "file" && json.Unmarshal(b.Payload, &f) == nil && f.AssetID != "" {
			m.Parts = append(m.Parts, map[string]any{
				"type": "file", "url": "/v1/assets/" + url.PathEscape(f.AssetID) + "/content", "mediaType": f.Mime, "filename": f.Name,
			})
			continue
		}
		m.Parts = append(m.Parts, map[string]any{"type": "text", "text": r.Text(b)})
	}
	return m, nil
}

// Collect makes of a stream that an Encoder wrote the message that the client
// has when it has read it. A stream without its end is a message that is still
// being written.
func Collect(stream []byte) (UIMessage, error) {
	m := UIMessage{Role: "assistant", Parts: []map[string]any{}}
	c := collector{m: &m, open: make(map[string]map[string]any), texts: make(map[string]*growing)}
	for line := range bytes.Lines(stream) {
		data, ok := bytes.CutPrefix(bytes.TrimSuffix(line, []byte("\n")), []byte("data: "))
		if !ok || bytes.Equal(data, []byte("[DONE]")) {
			continue
		}
		var chunk map[string]any
		dec := json.NewDecoder(bytes.NewReader(data))
		dec.UseNumber()
		if err := dec.Decode(&chunk); err != nil {
			return m, fmt.Errorf("aisdk: read own chunk: %w", err)
		}
		c.apply(chunk)
	}
	for _, g := range c.texts {
		g.part["text"] = g.text.String()
	}
	return m, nil
}

// collector applies chunks as the client does.
type collector struct {
	m *UIMessage
	// open are parts by what later chunks call them.
	open map[string]map[string]any
	// texts are the parts that grow.
	texts map[string]*growing
}

// growing is the text of a part.
type growing struct {
	part map[string]any
	text strings.Builder
}

func (c *collector) add(key string, part map[string]any) {
	c.open[key] = part
	c.m.Parts = append(c.m.Parts, part)
}

func (c *collector) apply(chunk map[string]any) {
	typ, _ := chunk["type"].(string)
	id, _ := chunk["id"].(string)
	call, _ := chunk["toolCallId"].(string)
	if meta, ok := chunk["messageMetadata"].(map[string]any); ok {
		if c.m.Metadata == nil {
			c.m.Metadata = make(map[string]any)
		}
		for name, value := range meta {
			c.m.Metadata[name] = value
		}
	}
	kind, what, _ := strings.Cut(typ, "-")
	switch {
	case typ == "start":
		c.m.ID, _ = chunk["messageId"].(string)
	case typ == "start-step":
		c.add("", map[string]any{"type": "step-start"})
	case kind == "text" || kind == "reasoning":
		key := kind + " " + id
		if what == "start" {
			g := &growing{part: map[string]any{"type": kind, "text": "", "state": "streaming"}}
			c.texts[key] = g
			c.m.Parts = append(c.m.Parts, g.part)
		}
		switch g := c.texts[key]; {
		case g == nil:
		case what == "delta":
			delta, _ := chunk["delta"].(string)
			g.text.WriteString(delta)
		case what == "end":
			g.part["text"], g.part["state"] = g.text.String(), "done"
			delete(c.texts, key)
		}
	case kind == "data":
		if chunk["transient"] == true {
			return
		}
		if part := c.open[typ+" "+id]; part != nil {
			part["data"] = chunk["data"]
			return
		}
		c.add(typ+" "+id, map[string]any{"type": typ, "id": id, "data": chunk["data"]})
	case typ == "file" || typ == "source-url":
		c.add("", chunk)
	case typ == "tool-input-available":
		name, _ := chunk["toolName"].(string)
		part := map[string]any{"type": "tool-" + name, "toolCallId": call, "state": what, "input": chunk["input"]}
		for _, member := range []string{"title", "providerExecuted", "toolMetadata"} {
			if v, ok := chunk[member]; ok {
				part[member] = v
			}
		}
		c.add("call "+call, part)
	case typ == "tool-approval-response":
		approval, _ := chunk["approvalId"].(string)
		if part := c.open["approval "+approval]; part != nil {
			answer := map[string]any{"id": approval, "approved": chunk["approved"]}
			if reason, ok := chunk["reason"]; ok {
				answer["reason"] = reason
			}
			part["state"], part["approval"] = "approval-responded", answer
		}
	case kind == "tool":
		c.tool(what, c.open["call "+call], chunk)
	}
}

// tool brings a tool part to its next state.
func (c *collector) tool(what string, part, chunk map[string]any) {
	if part == nil {
		return
	}
	switch what {
	case "approval-request":
		approval, _ := chunk["approvalId"].(string)
		part["state"], part["approval"] = "approval-requested", map[string]any{"id": approval}
		c.open["approval "+approval] = part
	case "output-available":
		part["state"], part["output"] = what, chunk["output"]
	case "output-error":
		part["state"], part["errorText"] = what, chunk["errorText"]
	case "output-denied":
		part["state"] = what
	}
}
