package aisdk

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// The limits of a request, beside that of its body.
const (
	// MaxID is the longest id of a chat, message, call or approval, in bytes.
	MaxID = 256
	// MaxMessages is how many messages a request may hold.
	MaxMessages = 10_000
	// MaxParts is how many parts a message may have that counts.
	MaxParts = 10_000
	// MaxAnswers is how many approvals and outputs one request may answer.
	MaxAnswers = 100
	// MaxTools is how many tools of its own a client may offer.
	MaxTools = 256
)

// Request is what a client of the chat transport posts: all of its messages, of
// which only those count that say something new.
//
// What the client says that the assistant said is not in it, nor are results of
// tools that the server ran. Approvals and outputs are what somebody answers;
// whether anybody asked for them is the server's to know.
type Request struct {
	// Chat is the client's name for the conversation.
	Chat string
	// Regenerate asks for another answer instead of one to a new message.
	Regenerate bool
	// MessageID is the message that the request is about, where it says so: the
	// user's message that was edited, the answer that goes on or is written anew.
	MessageID string
	// Seen are the messages before the last, oldest first.
	Seen []Seen
	// Alone says that the client sent its last message only.
	Alone bool
	// User is the last message, when it is the user's.
	User *UserMessage
	// Assistant is the assistant's message that Approvals and Outputs are in.
	Assistant string
	Approvals []Approval
	Outputs   []Output
	// Capabilities is what the client says it draws; nil when it says nothing.
	Capabilities *string
	// System is what a client's own instructions are; Tools what it can run.
	System string
	Tools  []Tool
	// Context and State are what the application says of itself.
	Context []Context
	State   json.RawMessage
	// RetryBlock and RefreshBlock name a block whose tool is to run again.
	RetryBlock, RefreshBlock string
	// Action is what somebody did with a block.
	Action *Action
}

// Seen is a message that the client has.
type Seen struct{ ID, Role string }

// UserMessage is what a user wrote.
type UserMessage struct {
	ID string
	// Text is its text parts, with an empty line between them.
	Text  string
	Files []File
}

// File is a file part of a user's message.
type File struct {
	// URL is a data URL or an address.
	URL       string
	MediaType string
	Name      string
}

// Approval is an answer to the question whether a tool may run.
type Approval struct {
	ID       string
	Approved bool
	Reason   string
}

// Output is what came of a call that the client ran.
type Output struct {
	Call string
	// Content is the output, a text as it is and anything else as JSON, or what
	// went wrong when Failed.
	Content string
	Failed  bool
}

// Tool is a tool that the client can run.
type Tool struct {
	Name, Description string
	// Parameters is a JSON Schema; nil for none.
	Parameters json.RawMessage
}

// Context is one thing that the application says of where its user is.
type Context struct {
	Description string `json:"description"`
	Value       string `json:"value"`
}

// Action is what somebody did with a block, as POST /v1/chat/actions has it.
type Action struct {
	MsgID          string          `json:"msgId"`
	BlockID        string          `json:"blockId"`
	ActionID       string          `json:"actionId"`
	Payload        json.RawMessage `json:"payload"`
	IdempotencyKey string          `json:"idempotencyKey"`
	Rev            int             `json:"rev"`
	ConfirmToken   string          `json:"confirmToken"`
}

// RequestError says what is wrong with a request.
type RequestError struct {
	// Field is the member that is wrong; empty for the whole.
	Field   string
	Message string
	// Limit is the limit that was passed; 0 for another fault.
	Limit int
}

// Error implements error.
func (e *RequestError) Error() string {
	if e.Field == "" {
		return "aisdk: " + e.Message
	}
	return "aisdk: " + e.Field + ": " + e.Message
}

func wrong(field, format string, args ...any) *RequestError {
	return &RequestError{Field: field, Message: fmt.Sprintf(format, args...)}
}

func tooMany(field string, limit int) *RequestError {
	return &RequestError{Field: field, Message: fmt.Sprintf("There are more than %d.", limit), Limit: limit}
}

// body is a request as it is posted. Members that are not listed are the
// application's own.
type body struct {
	ID           string            `json:"id"`
	Messages     []json.RawMessage `json:"messages"`
	Message      json.RawMessage   `json:"message"`
	Trigger      string            `json:"trigger"`
	MessageID    string            `json:"messageId"`
	Capabilities json.RawMessage   `json:"capabilities"`
	System       string            `json:"system"`
	Tools        json.RawMessage   `json:"tools"`
	Context      []Context         `json:"context"`
	State        json.RawMessage   `json:"state"`
	RetryBlock   string            `json:"retryBlock"`
	RefreshBlock string            `json:"refreshBlock"`
	Action       *Action           `json:"action"`
}

type message struct {
	ID    string          `json:"id"`
	Role  string          `json:"role"`
	Parts json.RawMessage `json:"parts"`
}

// ParseRequest reads the body of a request of the clients of all three majors.
// Errors are *RequestError.
func ParseRequest(raw []byte) (Request, error) {
	var b body
	if !utf8.Valid(raw) {
		return Request{}, wrong("", "The request body is not UTF-8.")
	}
	if err := json.Unmarshal(raw, &b); err != nil {
		return Request{}, decoding("", err)
	}
	r := Request{
		Chat: b.ID, MessageID: b.MessageID, System: b.System, Context: b.Context,
		RetryBlock: b.RetryBlock, RefreshBlock: b.RefreshBlock, Action: b.Action,
	}
	switch b.Trigger {
	case "", "submit-message":
	case "regenerate-message":
		r.Regenerate = true
	default:
		return r, wrong("trigger", "trigger must be submit-message or regenerate-message.")
	}
	for _, f := range []struct{ name, value string }{
		{"id", b.ID}, {"messageId", b.MessageID}, {"retryBlock", b.RetryBlock}, {"refreshBlock", b.RefreshBlock},
	} {
		if err := checkID(f.name, f.value, f.name == "id"); err != nil {
			return r, err
		}
	}
	if isSet(b.State) {
		r.State = b.State
	}
	if err := r.capabilities(b.Capabilities); err != nil {
		return r, err
	}
	if err := r.tools(b.Tools); err != nil {
		return r, err
	}
	if len(b.Messages) == 0 && isSet(b.Message) {
		b.Messages, r.Alone = []json.RawMessage{b.Message}, true
	}
	return r, r.messages(b.Messages)
}

// decoding words an error of encoding/json.
func decoding(field string, err error) *RequestError {
	var kind *json.UnmarshalTypeError
	if e, ok := err.(*json.UnmarshalTypeError); ok { //nolint:errorlint // json never wraps it
		kind = e
	}
	switch {
	case kind == nil:
		return wrong(field, "The request body is not valid JSON: %v.", err)
	case kind.Field == "" && field == "":
		return wrong("", "The request body must be a JSON object.")
	case kind.Field == "":
		return wrong(field, "%s has the wrong type.", field)
	case field != "":
		field += "."
	}
	return wrong(field+kind.Field, "%s has the wrong type.", field+kind.Field)
}

// isSet reports whether a member is there and not null.
func isSet(raw json.RawMessage) bool { return len(raw) > 0 && !bytes.Equal(raw, []byte("null")) }

func checkID(field, id string, needed bool) error {
	switch {
	case id == "" && needed:
		return wrong(field, "%s is missing.", field)
	case len(id) > MaxID:
		return &RequestError{Field: field, Message: fmt.Sprintf("%s must have at most %d bytes.", field, MaxID), Limit: MaxID}
	}
	return nil
}

// capabilities reads a list of tokens, as an array or with commas.
func (r *Request) capabilities(raw json.RawMessage) error {
	if !isSet(raw) {
		return nil
	}
	var list []string
	var text string
	if json.Unmarshal(raw, &list) != nil {
		if json.Unmarshal(raw, &text) != nil {
			return wrong("capabilities", "capabilities must be a list of tokens.")
		}
	} else {
		text = strings.Join(list, ",")
	}
	r.Capabilities = &text
	return nil
}

// tools reads what the client can run: by name, as the transport of
// assistant-ui sends it, or as a list.
func (r *Request) tools(raw json.RawMessage) error {
	if !isSet(raw) {
		return nil
	}
	type spec struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
		InputSchema json.RawMessage `json:"inputSchema"`
	}
	add := func(field string, s spec) error {
		if err := checkID(field, s.Name, true); err != nil {
			return err
		}
		t := Tool{Name: s.Name, Description: s.Description}
		for _, schema := range []json.RawMessage{s.Parameters, s.InputSchema} {
			if isSet(schema) {
				t.Parameters = schema
				break
			}
		}
		r.Tools = append(r.Tools, t)
		return nil
	}
	var list []spec
	if json.Unmarshal(raw, &list) == nil {
		if len(list) > MaxTools {
			return tooMany("tools", MaxTools)
		}
		for i, s := range list {
			if err := add(fmt.Sprintf("tools.%d.name", i), s); err != nil {
				return err
			}
		}
		return nil
	}
	var byName map[string]spec
	if err := json.Unmarshal(raw, &byName); err != nil {
		return wrong("tools", "tools must be tools by their names.")
	}
	if len(byName) > MaxTools {
		return tooMany("tools", MaxTools)
	}
	names := make([]string, 0, len(byName))
	for name := range byName {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		s := byName[name]
		s.Name = name
		if err := add("tools", s); err != nil {
			return err
		}
	}
	return nil
}

// messages reads the ids of all messages, and what is in the one that counts.
func (r *Request) messages(list []json.RawMessage) error {
	if len(list) > MaxMessages {
		return tooMany("messages", MaxMessages)
	}
	if len(list) == 0 && r.RetryBlock == "" && r.RefreshBlock == "" && r.Action == nil {
		return wrong("messages", "There is no message.")
	}
	all := make([]message, len(list))
	for i, raw := range list {
		field := fmt.Sprintf("messages.%d", i)
		if err := json.Unmarshal(raw, &all[i]); err != nil {
			return decoding(field, err)
		}
		if err := checkID(field+".id", all[i].ID, false); err != nil {
			return err
		}
		switch all[i].Role {
		case "user", "assistant", "system":
		default:
			return wrong(field+".role", "A role is user, assistant or system.")
		}
		if i < len(list)-1 {
			r.Seen = append(r.Seen, Seen{all[i].ID, all[i].Role})
		}
	}
	if len(all) == 0 {
		return nil
	}
	at := len(all) - 1
	if all[at].Role == "user" {
		user, err := readUser(fmt.Sprintf("messages.%d", at), all[at])
		if err != nil {
			return err
		}
		r.User = user
		if r.Regenerate || r.MessageID == "" || r.MessageID == user.ID {
			return nil
		}
	}
	if r.Regenerate {
		return nil
	}
	// Answers are in the message that the request is about, which need not be the
	// last one.
	if i := slices.IndexFunc(all, func(m message) bool { return m.ID == r.MessageID && m.Role == "assistant" }); i >= 0 && r.MessageID != "" {
		at = i
	}
	if all[at].Role != "assistant" {
		return nil
	}
	r.Assistant = all[at].ID
	return r.answers(fmt.Sprintf("messages.%d", at), all[at])
}

// readUser reads what a user wrote.
func readUser(field string, m message) (*UserMessage, error) {
	parts, err := readParts[struct {
		Type      string `json:"type"`
		Text      string `json:"text"`
		URL       string `json:"url"`
		MediaType string `json:"mediaType"`
		Filename  string `json:"filename"`
	}](field, m)
	if err != nil {
		return nil, err
	}
	u := &UserMessage{ID: m.ID}
	var texts []string
	for _, p := range parts {
		switch p.Type {
		case "text":
			if strings.TrimSpace(p.Text) != "" {
				texts = append(texts, p.Text)
			}
		case "file":
			if p.URL != "" {
				u.Files = append(u.Files, File{URL: p.URL, MediaType: p.MediaType, Name: p.Filename})
			}
		}
	}
	u.Text = strings.Join(texts, "\n\n")
	return u, nil
}

// readParts reads the parts of a message.
func readParts[P any](field string, m message) ([]P, error) {
	var parts []P
	if !isSet(m.Parts) {
		return nil, wrong(field+".parts", "A message has parts.")
	}
	if err := json.Unmarshal(m.Parts, &parts); err != nil {
		return nil, decoding(field+".parts", err)
	}
	if len(parts) > MaxParts {
		return nil, tooMany(field+".parts", MaxParts)
	}
	return parts, nil
}

// answers reads what somebody answered in a message of the assistant's.
func (r *Request) answers(field string, m message) error {
	parts, err := readParts[struct {
		Type             string          `json:"type"`
		ToolCallID       string          `json:"toolCallId"`
		State            string          `json:"state"`
		Output           json.RawMessage `json:"output"`
		ErrorText        string          `json:"errorText"`
		ProviderExecuted bool            `json:"providerExecuted"`
		Approval         *struct {
			ID       string `json:"id"`
			Approved *bool  `json:"approved"`
			Reason   string `json:"reason"`
		} `json:"approval"`
	}](field, m)
	if err != nil {
		return err
	}
	for i, p := range parts {
		if p.Type != "dynamic-tool" && !strings.HasPrefix(p.Type, "tool-") {
			continue
		}
		at := fmt.Sprintf("%s.parts.%d", field, i)
		switch {
		case p.State == "approval-responded" && p.Approval != nil:
			if err := checkID(at+".approval.id", p.Approval.ID, true); err != nil {
				return err
			}
			if p.Approval.Approved == nil {
				return wrong(at+".approval.approved", "%s.approval.approved is missing.", at)
			}
			r.Approvals = append(r.Approvals, Approval{ID: p.Approval.ID, Approved: *p.Approval.Approved, Reason: p.Approval.Reason})
		case (p.State == "output-available" || p.State == "output-error") && !p.ProviderExecuted:
			if err := checkID(at+".toolCallId", p.ToolCallID, true); err != nil {
				return err
			}
			out := Output{Call: p.ToolCallID, Content: p.ErrorText, Failed: p.State == "output-error"}
			if !out.Failed {
				out.Content = content(p.Output)
			}
			r.Outputs = append(r.Outputs, out)
		}
	}
	// The newest are those that can be asked for.
	r.Approvals = r.Approvals[max(0, len(r.Approvals)-MaxAnswers):]
	r.Outputs = r.Outputs[max(0, len(r.Outputs)-MaxAnswers):]
	return nil
}

// content writes an output for a model.
func content(output json.RawMessage) string {
	if !isSet(output) {
		return ""
	}
	var text string
	if json.Unmarshal(output, &text) == nil {
		return text
	}
	compact, err := jsonx.Marshal(output)
	if err != nil { // it was decoded
		return ""
	}
	return string(compact)
}
