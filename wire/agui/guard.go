package agui

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Rule names a law of AG-UI streams that an event broke.
type Rule string

// The rules that a Guard keeps.
const (
	RuleShape     Rule = "shape"      // not an event of the vocabulary, or a member of it is wrong
	RuleVersion   Rule = "version"    // lawful in version 1.0 only
	RuleFirst     Rule = "first"      // the first event opens no run
	RuleRunOpen   Rule = "run_open"   // a run is started while another is open
	RuleRunOver   Rule = "run_over"   // an event between two runs
	RuleOpenTwice Rule = "open_twice" // opened while it is open
	RuleNotOpen   Rule = "not_open"   // continued or closed while it is not open
	RuleOpenAtEnd Rule = "open_at_end"
	RuleOwner     Rule = "owner"   // another subagent's, or none's
	RuleReused    Rule = "reused"  // a subagent's id is used again
	RuleKind      Rule = "kind"    // a message id is used for another kind of message
	RuleUnknown   Rule = "unknown" // a patch of an activity that was never sent
)

// GuardError says which rule an event broke.
type GuardError struct {
	Rule Rule
	Type EventType
	// Detail says how, for people.
	Detail string
}

// Error implements error.
func (e *GuardError) Error() string {
	return fmt.Sprintf("%s: %s: %s", e.Type, e.Rule, e.Detail)
}

// Is makes errors.Is match a GuardError of the same rule.
func (e *GuardError) Is(target error) bool {
	t, ok := target.(*GuardError)
	return ok && t.Rule == e.Rule
}

// Guard holds a stream to what the clients of both generations accept without
// an error or a warning: their order of events and the closed shape of each. A
// Guard is for one goroutine.
type Guard struct {
	v1 bool
	// any says that an event came; active, that a run is open; failed, that the
	// last one ended with RUN_ERROR.
	any, active, failed bool

	open    map[part]string // to the subagent it belongs to, "" is the agent
	owners  map[part]string // the same, for the whole run
	agents  map[string]bool // subagents of the run, true while they are open
	chunked map[string]string
	kinds   map[string]string // of message ids, in the whole stream
}

// part is something that is opened and closed.
type part struct{ kind, id string }

// NewGuard returns the guard of a stream for a View's version.
func NewGuard(version string) *Guard {
	g := &Guard{v1: version == "1" || strings.HasPrefix(version, "1."), kinds: make(map[string]string)}
	g.reset()
	return g
}

func (g *Guard) reset() {
	g.open, g.owners = make(map[part]string), make(map[part]string)
	g.agents, g.chunked = make(map[string]bool), make(map[string]string)
}

// members are the members of each event: "?" for an optional one, and its
// kind: s string, o object, a array, b boolean, n integer, v any value, x any
// value but null.
var members = map[EventType]string{
	RunStarted:              "threadId:s runId:s protocolVersion?:s parentRunId?:s input?:o",
	RunFinished:             "threadId:s runId:s result?:x outcome?:o usage?:a",
	RunError:                "message:s code?:s usage?:a",
	StepStarted:             "stepName:s subagentRunId?:s",
	StepFinished:            "stepName:s subagentRunId?:s",
	TextMessageStart:        "messageId:s role?:s name?:s subagentRunId?:s",
	TextMessageContent:      "messageId:s delta:s subagentRunId?:s",
	TextMessageEnd:          "messageId:s subagentRunId?:s",
	TextMessageChunk:        "messageId?:s role?:s delta?:s name?:s subagentRunId?:s",
	ToolCallStart:           "toolCallId:s toolCallName:s parentMessageId?:s subagentRunId?:s",
	ToolCallArgs:            "toolCallId:s delta:s subagentRunId?:s",
	ToolCallEnd:             "toolCallId:s subagentRunId?:s",
	ToolCallChunk:           "toolCallId?:s toolCallName?:s parentMessageId?:s delta?:s subagentRunId?:s",
	ToolCallResult:          "messageId:s toolCallId:s content:x role?:s subagentRunId?:s",
	StateSnapshot:           "snapshot:v subagentRunId?:s",
	StateDelta:              "delta:a subagentRunId?:s",
	MessagesSnapshot:        "messages:a",
	ActivitySnapshot:        "messageId:s activityType:s content:o replace?:b subagentRunId?:s",
	ActivityDelta:           "messageId:s activityType:s patch:a subagentRunId?:s",
	Raw:                     "event:v source?:s subagentRunId?:s",
	Custom:                  "name:s value:v subagentRunId?:s",
	ReasoningStart:          "messageId:s subagentRunId?:s",
	ReasoningEnd:            "messageId:s subagentRunId?:s",
	ReasoningMessageStart:   "messageId:s role:s subagentRunId?:s",
	ReasoningMessageContent: "messageId:s delta:s subagentRunId?:s",
	ReasoningMessageEnd:     "messageId:s subagentRunId?:s",
	ReasoningMessageChunk:   "messageId?:s delta?:s subagentRunId?:s",
	ReasoningEncryptedValue: "subtype:s entityId:s encryptedValue:s subagentRunId?:s",
	SubagentStarted:         "subagentRunId:s name:s description?:s parentSubagentRunId?:s parentToolCallId?:s parentMessageId?:s",
	SubagentFinished:        "subagentRunId:s result?:x outcome?:o",
	SubagentError:           "subagentRunId:s message:s code?:s",
}

const common = " type:s timestamp?:n rawEvent?:x metadata?:o"

// words are the members that take one of a few words.
var words = map[EventType]map[string][]string{
	TextMessageStart:        {"role": {"developer", "system", "assistant", "user"}},
	TextMessageChunk:        {"role": {"developer", "system", "assistant", "user"}},
	ToolCallResult:          {"role": {"tool"}},
	ReasoningMessageStart:   {"role": {"reasoning"}},
	ReasoningEncryptedValue: {"subtype": {"tool-call", "message"}},
}

// message is an event as the rules of order read it.
type message struct {
	Type                EventType
	MessageID           string
	ToolCallID          string
	ToolCallName        string
	ParentMessageID     string
	StepName            string
	SubagentRunID       *string
	ParentSubagentRunID *string
	Subtype, EntityID   string
	Content             json.RawMessage
	Outcome             *Outcome
	Messages            []Message
	Input               struct{ Messages []Message }
	Patch, Delta        json.RawMessage
}

// Check accepts the next event of the stream, or returns a *GuardError.
func (g *Guard) Check(data []byte) error {
	var m message
	if err := shape(data); err != nil {
		return err
	}
	if err := json.Unmarshal(data, &m); err != nil {
		return &GuardError{Rule: RuleShape, Type: m.Type, Detail: err.Error()}
	}
	refuse := func(r Rule, format string, args ...any) error {
		return &GuardError{Rule: r, Type: m.Type, Detail: fmt.Sprintf(format, args...)}
	}
	switch {
	case !g.any && m.Type != RunStarted && m.Type != RunError:
		return refuse(RuleFirst, "a stream begins with a run")
	case g.active && m.Type == RunStarted:
		return refuse(RuleRunOpen, "the run before has not ended")
	case g.any && !g.active && m.Type != RunStarted && (m.Type != RunError || g.failed):
		return refuse(RuleRunOver, "the run has ended")
	}
	if !g.v1 {
		if o := m.Outcome; m.Type == RunFinished && o != nil && (o.Type == OutcomeCancelled || o.PendingToolCallIDs != nil) {
			return refuse(RuleVersion, "outcome %s", o.Type)
		}
		if m.Type == ToolCallResult && m.Content[0] == '[' {
			return refuse(RuleVersion, "content in parts")
		}
	}
	g.any = true
	return g.order(m, refuse)
}

func (g *Guard) order(m message, refuse func(Rule, string, ...any) error) error {
	owner := ""
	if m.SubagentRunID != nil {
		owner = "s" + *m.SubagentRunID // an empty id is one too
	}
	// owned refuses a part that belongs to another. Without a subagent of its
	// own an event is whoever's its part is.
	owned := func(p part) error {
		if have, ok := g.owners[p]; ok && owner != "" && have != owner {
			return refuse(RuleOwner, "%s %s", p.kind, p.id)
		}
		return nil
	}
	begin := func(p part) error {
		if _, ok := g.open[p]; ok {
			return refuse(RuleOpenTwice, "%s %s", p.kind, p.id)
		}
		if err := owned(p); err != nil {
			return err
		}
		if _, ok := g.owners[p]; !ok {
			g.owners[p] = owner
		}
		g.open[p] = owner
		return nil
	}
	proceed := func(p part, end bool) error {
		if _, ok := g.open[p]; !ok {
			return refuse(RuleNotOpen, "%s %s", p.kind, p.id)
		}
		if end {
			delete(g.open, p)
		}
		return owned(p)
	}
	kind := func(kind string) error {
		if have, ok := g.kinds[m.MessageID]; ok && have != kind {
			return refuse(RuleKind, "message %s is a %s message", m.MessageID, have)
		}
		g.kinds[m.MessageID] = kind
		return nil
	}
	chunk := func(kind, id string, named bool) error {
		if id == "" {
			if g.chunked[kind] == "" {
				return refuse(RuleNotOpen, "the first chunk of a %s names it", kind)
			}
			return nil
		}
		if g.chunked[kind] == id {
			return nil
		}
		if !named {
			return refuse(RuleNotOpen, "the first chunk of a %s names it", kind)
		}
		if _, ok := g.open[part{kind, id}]; ok {
			return refuse(RuleOpenTwice, "%s %s", kind, id)
		}
		g.chunked[kind] = id
		return owned(part{kind, id})
	}
	text, call := part{"text", m.MessageID}, part{"tool call", m.ToolCallID}
	thought, span := part{"reasoning", m.MessageID}, part{"reasoning span", m.MessageID}

	switch m.Type {
	case RunStarted:
		g.reset()
		g.active, g.failed = true, false
		g.seed(m.Input.Messages, false)
	case MessagesSnapshot:
		g.seed(m.Messages, true)
	case RunError:
		g.active, g.failed = false, true
	case RunFinished:
		if len(g.open) > 0 {
			var names []string
			for p := range g.open {
				names = append(names, p.kind+" "+p.id)
			}
			slices.Sort(names)
			return refuse(RuleOpenAtEnd, "%s", strings.Join(names, ", "))
		}
		for id, open := range g.agents {
			if open {
				return refuse(RuleOpenAtEnd, "subagent %s", id)
			}
		}
		if o := m.Outcome; o != nil && o.Type == OutcomeInterrupt && len(o.Interrupts) == 0 {
			return refuse(RuleShape, "an interrupt without interrupts")
		}
		g.active = false
	case StepStarted, StepFinished:
		// Two subagents may have a step of the same name.
		step := part{"step", owner + "/" + m.StepName}
		if m.Type == StepStarted {
			return begin(step)
		}
		return proceed(step, true)
	case TextMessageStart:
		if err := kind("text"); err != nil {
			return err
		}
		return begin(text)
	case TextMessageContent, TextMessageEnd:
		return proceed(text, m.Type == TextMessageEnd)
	case TextMessageChunk:
		return chunk("text", m.MessageID, true)
	case ToolCallStart:
		if parent, ok := g.owners[part{"text", m.ParentMessageID}]; ok && m.ParentMessageID != "" {
			if owner != "" && owner != parent {
				return refuse(RuleOwner, "message %s", m.ParentMessageID)
			}
			owner = parent
		}
		return begin(call)
	case ToolCallArgs, ToolCallEnd:
		return proceed(call, m.Type == ToolCallEnd)
	case ToolCallChunk:
		return chunk("tool call", m.ToolCallID, m.ToolCallName != "")
	case ToolCallResult:
		g.owners[text] = owner
		return kind("tool")
	case ReasoningStart:
		return begin(span)
	case ReasoningEnd:
		return proceed(span, true)
	case ReasoningMessageStart:
		if err := kind("reasoning"); err != nil {
			return err
		}
		return begin(thought)
	case ReasoningMessageContent, ReasoningMessageEnd:
		return proceed(thought, m.Type == ReasoningMessageEnd)
	case ReasoningMessageChunk:
		return chunk("reasoning", m.MessageID, true)
	case ReasoningEncryptedValue:
		kinds := []string{"text", "reasoning"}
		if m.Subtype == "tool-call" {
			kinds = []string{"tool call"}
		}
		for _, kind := range kinds {
			if err := owned(part{kind, m.EntityID}); err != nil {
				return err
			}
		}
	case ActivitySnapshot:
		g.owners[part{"activity", m.MessageID}] = owner
		return kind("activity")
	case ActivityDelta:
		if g.kinds[m.MessageID] != "activity" {
			return refuse(RuleUnknown, "no activity %s", m.MessageID)
		}
		return owned(part{"activity", m.MessageID})
	case SubagentStarted:
		if open, ok := g.agents[*m.SubagentRunID]; ok {
			if open {
				return refuse(RuleOpenTwice, "subagent %s", *m.SubagentRunID)
			}
			return refuse(RuleReused, "subagent %s", *m.SubagentRunID)
		}
		if p := m.ParentSubagentRunID; p != nil {
			if _, ok := g.agents[*p]; !ok {
				return refuse(RuleNotOpen, "subagent %s", *p)
			}
		}
		g.agents[*m.SubagentRunID] = true
	case SubagentFinished, SubagentError:
		if !g.agents[*m.SubagentRunID] {
			return refuse(RuleNotOpen, "subagent %s", *m.SubagentRunID)
		}
		g.agents[*m.SubagentRunID] = false
	}
	return nil
}

// seed takes the owners of messages that came as history. A snapshot puts them
// in place of what was known.
func (g *Guard) seed(messages []Message, replace bool) {
	own := func(p part, owner string) {
		if _, ok := g.owners[p]; replace || !ok {
			g.owners[p] = owner
		}
	}
	for _, m := range messages {
		owner, kind := "", "text"
		if m.SubagentRunID != "" {
			owner = "s" + m.SubagentRunID
		}
		if m.Role == RoleActivity || m.Role == RoleReasoning || m.Role == RoleTool {
			kind = m.Role
		}
		g.kinds[m.ID] = kind
		if kind == RoleTool {
			kind = "text"
		}
		own(part{kind, m.ID}, owner)
		for _, c := range m.ToolCalls {
			own(part{"tool call", c.ID}, owner)
		}
	}
}

var pointer = regexp.MustCompile(`^(/([^/~]|~[01])*)*$`)

// shape holds an event to the members of its type.
func shape(data []byte) error {
	var all map[string]json.RawMessage
	var typ EventType
	refuse := func(format string, args ...any) error {
		return &GuardError{Rule: RuleShape, Type: typ, Detail: fmt.Sprintf(format, args...)}
	}
	if bytes.ContainsAny(data, "\r\n") {
		return refuse("a line end in the frame")
	}
	if json.Unmarshal(data, &all) != nil || json.Unmarshal(all["type"], &typ) != nil {
		return refuse("no event")
	}
	list, ok := members[typ]
	if !ok {
		return refuse("unknown event")
	}
	known := make(map[string]bool)
	for member := range strings.FieldsSeq(list + common) {
		name, kind, _ := strings.Cut(member, ":")
		name, optional := strings.CutSuffix(name, "?")
		known[name] = true
		v, ok := all[name]
		if !ok {
			if !optional {
				return refuse("%s is missing", name)
			}
			continue
		}
		if !isKind(kind[0], v) {
			return refuse("%s is %.40s", name, v)
		}
		if allowed := words[typ][name]; allowed != nil {
			var s string
			if json.Unmarshal(v, &s) != nil || !slices.Contains(allowed, s) {
				return refuse("%s is %.40s", name, v)
			}
		}
	}
	for name := range all {
		if !known[name] {
			return refuse("%s is not a member", name)
		}
	}
	if typ == ToolCallResult && all["content"][0] != '"' && all["content"][0] != '[' {
		return refuse("content is %.40s", all["content"])
	}
	if raw, ok := all["outcome"]; ok {
		if err := outcomeShape(typ, raw); err != "" {
			return refuse("outcome: %s", err)
		}
	}
	if raw, ok := all["patch"]; ok {
		return patchShape(raw, refuse)
	}
	if typ == StateDelta {
		return patchShape(all["delta"], refuse)
	}
	return nil
}

// outcomeShape says what is wrong with an outcome.
func outcomeShape(typ EventType, raw json.RawMessage) string {
	var o struct {
		Type               string            `json:"type"`
		PendingToolCallIDs *[]string         `json:"pendingToolCallIds"`
		Interrupts         []json.RawMessage `json:"interrupts"`
		InterruptIDs       *[]string         `json:"interruptIds"`
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&o); err != nil {
		return err.Error()
	}
	allowed := []string{OutcomeSuccess, OutcomeInterrupt, OutcomeCancelled}
	if typ == SubagentFinished {
		allowed = []string{OutcomeSuccess, OutcomeSuspended}
	}
	switch {
	case !slices.Contains(allowed, o.Type):
		return "the type is " + o.Type
	case o.PendingToolCallIDs != nil && o.Type != OutcomeSuccess, o.Interrupts != nil && o.Type != OutcomeInterrupt, o.InterruptIDs != nil && o.Type != OutcomeSuspended:
		return "a member of another outcome"
	}
	for _, raw := range o.Interrupts {
		var i map[string]json.RawMessage
		if json.Unmarshal(raw, &i) != nil || !isKind('s', i["id"]) || !isKind('s', i["reason"]) {
			return "an interrupt needs id and reason"
		}
		for name, v := range i {
			if string(v) == "null" {
				return "an interrupt's " + name + " is null"
			}
		}
	}
	return ""
}

func patchShape(raw json.RawMessage, refuse func(string, ...any) error) error {
	var ops []map[string]json.RawMessage
	if err := json.Unmarshal(raw, &ops); err != nil {
		return refuse("patch: %v", err)
	}
	for _, op := range ops {
		var name, path string
		if json.Unmarshal(op["op"], &name) != nil || json.Unmarshal(op["path"], &path) != nil || !pointer.MatchString(path) {
			return refuse("patch: op %s, path %s", op["op"], op["path"])
		}
		switch name {
		case "add", "replace", "test":
			if op["value"] == nil {
				return refuse("patch: %s without a value", name)
			}
		case "move", "copy":
			var from string
			if json.Unmarshal(op["from"], &from) != nil || !pointer.MatchString(from) {
				return refuse("patch: from %s", op["from"])
			}
		case "remove":
		default:
			return refuse("patch: op %s", name)
		}
	}
	return nil
}

// isKind reports whether a value is of a kind of the table members.
func isKind(kind byte, v json.RawMessage) bool {
	if len(v) == 0 {
		return false
	}
	switch kind {
	case 's':
		return v[0] == '"'
	case 'o':
		return v[0] == '{'
	case 'a':
		return v[0] == '['
	case 'b':
		return v[0] == 't' || v[0] == 'f'
	case 'n':
		var n int64
		const safe = 1<<53 - 1
		return json.Unmarshal(v, &n) == nil && -safe <= n && n <= safe && string(v) != "null"
	case 'x':
		return string(v) != "null"
	}
	return true
}
