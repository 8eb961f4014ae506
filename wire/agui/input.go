package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// The limits of a request. What an installation allows beyond them is less.
const (
	// MaxID is the longest id that a client gives, in bytes.
	MaxID = 200
	// MaxMessages is how many messages a request may have.
	MaxMessages = 10_000
	// MaxTools, MaxContext and MaxResume are how many entries each list may have.
	MaxTools, MaxContext, MaxResume = 256, 256, 256
	// MaxParts is how many parts a message may have.
	MaxParts = 64
)

// Input is a RunAgentInput of either generation. Members that are null are
// absent. Nothing in it is true because the client says so.
type Input struct {
	ThreadID string
	// RunID is empty where the request had none.
	RunID       string
	ParentRunID string
	// ProtocolVersion is what the client speaks; those before 1.0 do not say.
	ProtocolVersion string
	Messages        []InputMessage
	Tools           []InputTool
	Context         []InputContext
	// State is the application's; nil for none, which clients send as {}.
	State     json.RawMessage
	Resume    []ResumeEntry
	Forwarded Forwarded
}

// Version is the version of a View for this client: that of a client of 1.0 or
// later, which say so, or none.
func (in Input) Version() string {
	if strings.HasPrefix(in.ProtocolVersion, "1.") {
		return Version1
	}
	return ""
}

// InputMessage is a message as the client holds it.
type InputMessage struct {
	ID, Role string
	// Parts are what a user's message consists of. Of other messages, and where
	// the client sent a text, there is one part of type text.
	Parts []Part
	// ToolCallID and Error are of tool messages.
	ToolCallID, Error string
}

// Text is the texts of a message, in paragraphs.
func (m InputMessage) Text() string {
	var texts []string
	for _, p := range m.Parts {
		if p.Type == PartText && p.Text != "" {
			texts = append(texts, p.Text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// The types of a Part. The other ones are files.
const (
	PartText     = "text"
	PartImage    = "image"
	PartAudio    = "audio"
	PartVideo    = "video"
	PartDocument = "document"
)

// The kinds of a Source.
const (
	SourceData = "data" // base64
	SourceURL  = "url"
	SourceFile = "file" // the id of a file that the server knows
)

// Part is a part of a message. The binary parts of old clients are parts of the
// types that came after them.
type Part struct {
	Type string
	Text string
	// Source is of parts that are files.
	Source Source
	// Name is the file's, where the client said it.
	Name string
}

// Source is where a file is.
type Source struct {
	Kind, Value, MimeType string
}

// InputTool is a tool that the client runs.
type InputTool struct {
	Name, Description string
	// Parameters is a JSON Schema; nil for none.
	Parameters json.RawMessage
}

// InputContext is something that the application says.
type InputContext struct{ Description, Value string }

// ResumeEntry answers an interrupt.
type ResumeEntry struct {
	InterruptID string
	// Cancelled says that the person does not answer.
	Cancelled bool
	// Payload is the answer; nil for none.
	Payload json.RawMessage
}

// Forwarded is what of forwardedProps is ours.
type Forwarded struct {
	// Capabilities are the blocks that the client draws; Declared says that it
	// told, be it none.
	Capabilities string
	Declared     bool
	// Action is done instead of a turn.
	Action *ForwardedAction
	// RetryBlock and RefreshBlock run the tool of a block again.
	RetryBlock, RefreshBlock string
	// RegenerateOf and EditOf say it in our ids where the messages do not.
	RegenerateOf, EditOf string
}

// ForwardedAction is an action of a block.
type ForwardedAction struct {
	MsgID          string          `json:"msgId,omitempty"`
	BlockID        string          `json:"blockId"`
	ActionID       string          `json:"actionId"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotencyKey,omitempty"`
	Rev            int             `json:"rev,omitempty"`
	ConfirmToken   string          `json:"confirmToken,omitempty"`
}

// InputError says what is wrong with a request.
type InputError struct {
	// Field is the member, with dots.
	Field   string
	Message string
}

// Error implements error.
func (e *InputError) Error() string {
	if e.Field == "" {
		return e.Message
	}
	return e.Field + ": " + e.Message
}

func wrong(field, format string, args ...any) *InputError {
	return &InputError{Field: field, Message: fmt.Sprintf(format, args...)}
}

// object is a JSON object of which members are taken by type.
type object struct {
	at      string
	members map[string]json.RawMessage
}

// objectOf reads an object. Clients of this protocol may say more than is known:
// members that nobody asks for do no harm.
func objectOf(at string, raw json.RawMessage) (object, error) {
	o := object{at: at}
	if err := json.Unmarshal(raw, &o.members); err != nil || o.members == nil {
		return o, wrong(at, "must be an object")
	}
	return o, nil
}

func (o object) path(name string) string {
	if o.at == "" {
		return name
	}
	return o.at + "." + name
}

// get returns a member; nil when it is absent or null.
func (o object) get(name string) json.RawMessage {
	if raw := o.members[name]; string(raw) != "null" {
		return raw
	}
	return nil
}

func (o object) text(name string, needed bool, most int) (string, error) {
	raw := o.get(name)
	var s string
	switch {
	case raw == nil && needed:
		return "", wrong(o.path(name), "is missing")
	case raw == nil:
		return "", nil
	case json.Unmarshal(raw, &s) != nil:
		return "", wrong(o.path(name), "must be a text")
	case s == "" && needed:
		return "", wrong(o.path(name), "is empty")
	case most > 0 && len(s) > most:
		return "", wrong(o.path(name), "is longer than %d bytes", most)
	}
	return s, nil
}

func (o object) list(name string, most int) ([]json.RawMessage, error) {
	raw := o.get(name)
	var list []json.RawMessage
	switch {
	case raw == nil:
		return nil, nil
	case json.Unmarshal(raw, &list) != nil:
		return nil, wrong(o.path(name), "must be a list")
	case len(list) > most:
		return nil, wrong(o.path(name), "has more than %d entries", most)
	}
	return list, nil
}

// texts reads several texts, of which those in most have a longest length.
func (o object) texts(into map[string]*string, needed ...string) error {
	for _, name := range needed {
		if o.get(name) == nil {
			return wrong(o.path(name), "is missing")
		}
	}
	for name, to := range into {
		s, err := o.text(name, false, 0)
		if err != nil {
			return err
		}
		*to = s
	}
	return nil
}

// ParseInput reads the body of a run: valid JSON in UTF-8. Errors are
// *InputError.
func ParseInput(data []byte) (Input, error) {
	var in Input
	o, err := objectOf("", data)
	if err != nil {
		return in, wrong("", "the request body must be a JSON object")
	}
	for _, f := range []struct {
		name   string
		to     *string
		needed bool
	}{{"threadId", &in.ThreadID, true}, {"runId", &in.RunID, false}, {"parentRunId", &in.ParentRunID, false}, {"protocolVersion", &in.ProtocolVersion, false}} {
		if *f.to, err = o.text(f.name, f.needed, MaxID); err != nil {
			return in, err
		}
		if strings.ContainsFunc(*f.to, func(r rune) bool { return r < ' ' }) {
			return in, wrong(f.name, "has control characters")
		}
	}
	// A client without a state sends an empty one.
	if in.State = o.get("state"); strings.Join(strings.Fields(string(in.State)), "") == "{}" {
		in.State = nil
	}
	for _, read := range []func(object) error{in.messages, in.tools, in.context, in.resume} {
		if err := read(o); err != nil {
			return in, err
		}
	}
	if raw := o.get("forwardedProps"); raw != nil {
		if in.Forwarded, err = forwarded(raw); err != nil {
			return in, err
		}
	}
	return in, nil
}

func (in *Input) messages(o object) error {
	list, err := o.list("messages", MaxMessages)
	if err != nil {
		return err
	}
	for i, raw := range list {
		m, err := objectOf(fmt.Sprintf("messages.%d", i), raw)
		if err != nil {
			return err
		}
		var out InputMessage
		if err := m.texts(map[string]*string{"id": &out.ID, "role": &out.Role, "toolCallId": &out.ToolCallID}, "role"); err != nil {
			return err
		}
		switch out.Role {
		case RoleUser, RoleTool:
			if out.Parts, err = m.parts(); err != nil {
				return err
			}
			if out.Role == RoleUser {
				break
			}
			if out.Error, err = m.text("error", false, 0); err != nil {
				return err
			}
			if out.ToolCallID == "" {
				return wrong(m.path("toolCallId"), "is missing")
			}
		}
		in.Messages = append(in.Messages, out)
	}
	return nil
}

// parts reads a content, which is a text or a list of parts.
func (o object) parts() ([]Part, error) {
	raw := o.get("content")
	if raw == nil {
		return nil, nil
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		return []Part{{Type: PartText, Text: text}}, nil
	}
	list, err := o.list("content", MaxParts)
	if err != nil {
		var e = wrong(o.path("content"), "must be a text or a list of parts")
		if len(raw) > 0 && raw[0] == '[' {
			return nil, err
		}
		return nil, e
	}
	var out []Part
	for i, raw := range list {
		p, err := objectOf(fmt.Sprintf("%s.content.%d", o.at, i), raw)
		if err != nil {
			return nil, err
		}
		part, err := p.part()
		if err != nil {
			return nil, err
		}
		out = append(out, part)
	}
	return out, nil
}

func (o object) part() (Part, error) {
	var p Part
	typ, err := o.text("type", true, 0)
	if err != nil {
		return p, err
	}
	switch p.Type = typ; typ {
	case PartText:
		p.Text, err = o.text("text", false, 0)
		return p, err
	case PartImage, PartAudio, PartVideo, PartDocument:
		return p, o.source(&p)
	case "binary":
		return p, o.binary(&p)
	}
	return p, wrong(o.path("type"), "is not known: there are text, image, audio, video and document")
}

func (o object) source(p *Part) error {
	if o.get("source") == nil {
		return wrong(o.path("source"), "is missing")
	}
	src, err := objectOf(o.path("source"), o.get("source"))
	if err != nil {
		return err
	}
	if err := src.texts(map[string]*string{"type": &p.Source.Kind, "value": &p.Source.Value, "mimeType": &p.Source.MimeType}, "type", "value"); err != nil {
		return err
	}
	switch p.Source.Kind {
	case SourceData, SourceURL, SourceFile:
	default:
		return wrong(src.path("type"), "is not known: there are data, url and file")
	}
	if raw := o.get("metadata"); raw != nil {
		var meta struct{ Filename, Name string }
		if json.Unmarshal(raw, &meta) == nil { // it is open: nothing in it must be ours
			if p.Name = meta.Filename; p.Name == "" {
				p.Name = meta.Name
			}
		}
	}
	p.Source.undata()
	return nil
}

// undata takes a data: address for what it is.
func (s *Source) undata() {
	rest, ok := strings.CutPrefix(s.Value, "data:")
	head, body, found := strings.Cut(rest, ",")
	head, encoded := strings.CutSuffix(head, ";base64")
	if !ok || !found || !encoded {
		return
	}
	s.Kind, s.Value = SourceData, body
	if s.MimeType == "" {
		s.MimeType = head
	}
}

// binary reads a part of the generation before.
func (o object) binary(p *Part) error {
	var id, url, data string
	if err := o.texts(map[string]*string{"mimeType": &p.Source.MimeType, "id": &id, "url": &url, "data": &data, "filename": &p.Name}, "mimeType"); err != nil {
		return err
	}
	p.Type = PartDocument
	for _, kind := range []string{PartImage, PartAudio, PartVideo} {
		if strings.HasPrefix(p.Source.MimeType, kind+"/") {
			p.Type = kind
		}
	}
	switch {
	case data != "":
		p.Source.Kind, p.Source.Value = SourceData, data
	case url != "":
		p.Source.Kind, p.Source.Value = SourceURL, url
	case id != "":
		p.Source.Kind, p.Source.Value = SourceFile, id
	default:
		return wrong(o.at, "has neither data nor url nor id")
	}
	p.Source.undata()
	return nil
}

func (in *Input) tools(o object) error {
	list, err := o.list("tools", MaxTools)
	if err != nil {
		return err
	}
	for i, raw := range list {
		t, err := objectOf(fmt.Sprintf("tools.%d", i), raw)
		if err != nil {
			return err
		}
		var out InputTool
		if out.Name, err = t.text("name", true, 0); err != nil {
			return err
		}
		if out.Description, err = t.text("description", false, 0); err != nil {
			return err
		}
		if out.Parameters = t.get("parameters"); out.Parameters != nil && out.Parameters[0] != '{' {
			return wrong(t.path("parameters"), "must be an object")
		}
		in.Tools = append(in.Tools, out)
	}
	return nil
}

func (in *Input) context(o object) error {
	list, err := o.list("context", MaxContext)
	if err != nil {
		return err
	}
	for i, raw := range list {
		c, err := objectOf(fmt.Sprintf("context.%d", i), raw)
		if err != nil {
			return err
		}
		var out InputContext
		if out.Description, err = c.text("description", false, 0); err != nil {
			return err
		}
		// Some clients put values in as they are.
		if raw := c.get("value"); raw != nil && json.Unmarshal(raw, &out.Value) != nil {
			out.Value = string(raw)
		}
		in.Context = append(in.Context, out)
	}
	return nil
}

func (in *Input) resume(o object) error {
	list, err := o.list("resume", MaxResume)
	if err != nil {
		return err
	}
	seen := make(map[string]bool)
	for i, raw := range list {
		r, err := objectOf(fmt.Sprintf("resume.%d", i), raw)
		if err != nil {
			return err
		}
		var out ResumeEntry
		if out.InterruptID, err = r.text("interruptId", true, MaxID); err != nil {
			return err
		}
		if seen[out.InterruptID] {
			return wrong(r.path("interruptId"), "is answered twice")
		}
		seen[out.InterruptID] = true
		status, err := r.text("status", true, 0)
		if err != nil {
			return err
		}
		if status != "resolved" && status != "cancelled" {
			return wrong(r.path("status"), "must be resolved or cancelled")
		}
		out.Cancelled, out.Payload = status == "cancelled", r.get("payload")
		in.Resume = append(in.Resume, out)
	}
	return nil
}

// forwarded reads what of forwardedProps is ours. The rest is between the
// application and itself.
func forwarded(raw json.RawMessage) (Forwarded, error) {
	var f Forwarded
	o, err := objectOf("forwardedProps", raw)
	if err != nil {
		return f, err
	}
	own := object{at: o.path(key)}
	if raw := o.get(key); raw != nil {
		if own, err = objectOf(own.at, raw); err != nil {
			return f, err
		}
	}
	for name := range own.members {
		switch name {
		case "capabilities", "action", "retryBlock", "refreshBlock", "regenerateOf", "editOf":
		default:
			return f, wrong(own.path(name), "is not known")
		}
	}
	for _, o := range []object{own, o} {
		if f.Declared {
			break
		}
		if f.Capabilities, f.Declared, err = o.capabilities(); err != nil {
			return f, err
		}
	}
	for name, to := range map[string]*string{"retryBlock": &f.RetryBlock, "refreshBlock": &f.RefreshBlock, "regenerateOf": &f.RegenerateOf, "editOf": &f.EditOf} {
		if *to, err = own.text(name, false, MaxID); err != nil {
			return f, err
		}
	}
	if raw := own.get("action"); raw != nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.DisallowUnknownFields()
		f.Action = new(ForwardedAction)
		if err := dec.Decode(f.Action); err != nil {
			return f, wrong(own.path("action"), "is no action: %s", strings.TrimPrefix(err.Error(), "json: "))
		}
		if f.Action.BlockID == "" || f.Action.ActionID == "" {
			return f, wrong(own.path("action"), "blockId and actionId are required")
		}
	}
	said := 0
	for _, s := range []bool{f.Action != nil, f.RetryBlock != "", f.RefreshBlock != "", f.RegenerateOf != "", f.EditOf != ""} {
		if s {
			said++
		}
	}
	if said > 1 {
		return f, wrong(own.at, "asks for more than one thing")
	}
	return f, nil
}

// capabilities are a list of tokens, or one text of them with commas.
func (o object) capabilities() (tokens string, declared bool, err error) {
	raw := o.get("capabilities")
	if raw == nil {
		return "", false, nil
	}
	var list []string
	if json.Unmarshal(raw, &tokens) != nil {
		if json.Unmarshal(raw, &list) != nil {
			return "", false, wrong(o.path("capabilities"), "must be a list of tokens")
		}
		tokens = strings.Join(list, ",")
	}
	return tokens, true, nil
}

// HasFiles reports whether there is more than text in a message.
func (m InputMessage) HasFiles() bool {
	for _, p := range m.Parts {
		if p.Type != PartText {
			return true
		}
	}
	return false
}
