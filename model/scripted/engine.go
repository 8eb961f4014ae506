package scripted

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/inlay-ui/inlay/model"
)

// op is one thing to be played; exactly one member is set.
type op struct {
	text, thought string
	call          *model.Call
	wait          time.Duration
	fail          *failure
}

// plan is what one request will be answered with.
type plan struct {
	scenario string
	id       string
	pace     float64
	ops      []op
	finish   model.Finish
	usage    model.Usage
}

// errMissingTool says that a scene cannot be played as written.
type errMissingTool string

func (e errMissingTool) Error() string { return "tool " + string(e) + " is not offered" }

// scope is what the templates of a scene see.
type scope struct {
	Lang    string
	R       map[string]any   // facts of the first good result, else of the first
	Results []map[string]any // facts of all results of the last step
	Error   map[string]any   // of the first failed result
	Missing string           // the tool that is needed and not offered
	// Argument is what is missing of the tool, when it is there otherwise.
	Argument string
	I        int // round of a say with times, from 1

	script *script
	req    model.Request
	asked  int             // index of the last user message
	tools  map[string]bool // see offer
	forced string          // the tool that must be called, if there are scenarios for that
}

// newScope reads the conversation.
func newScope(s *script, req model.Request) *scope {
	c := &scope{Lang: "en", script: s, req: req, asked: -1, tools: map[string]bool{}}
	for i, m := range req.Messages {
		if m.Role == model.RoleUser {
			c.asked = i
		}
	}
	if strings.ContainsFunc(c.worded(), func(r rune) bool { return unicode.Is(unicode.Han, r) }) {
		c.Lang = "zh"
	}
	if req.ToolChoice != model.ToolNone {
		for _, t := range req.Tools {
			offer(c.tools, t)
		}
	}
	if name := mustCall(req); slices.ContainsFunc(s.scenarios, func(sc *scenario) bool { return name != "" && sc.When.Forced == name }) {
		c.forced = name
	}
	return c
}

// mustCall names the tool that a request leaves no way around.
func mustCall(req model.Request) string {
	switch req.ToolChoice {
	case model.ToolAuto, model.ToolNone:
		return ""
	case model.ToolRequired:
		if len(req.Tools) == 1 {
			return req.Tools[0].Name
		}
		return ""
	}
	return string(req.ToolChoice)
}

// offer notes a tool by its name, and its arguments as name.argument; a tool
// whose schema lists none takes any, which is name.*.
func offer(tools map[string]bool, t model.ToolSpec) {
	tools[t.Name] = true
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
		Additional json.RawMessage            `json:"additionalProperties"`
	}
	err := json.Unmarshal(t.Parameters, &schema)
	if err != nil || len(schema.Properties) == 0 && string(schema.Additional) != "false" {
		tools[t.Name+".*"] = true
	}
	for arg := range schema.Properties {
		tools[t.Name+"."+arg] = true
	}
}

// offered reports whether there is a tool, or a tool.argument.
func offered(tools map[string]bool, name string) bool {
	tool, _, _ := strings.Cut(name, ".")
	return tools[name] || tools[tool+".*"]
}

// Offers reports whether a tool is offered, or an argument of it as
// tool.argument, so that a text can promise what it takes.
func (c *scope) Offers(name string) bool { return offered(c.tools, name) }

// question is what the user asked, without the files that came with it and what
// the application says.
func (c *scope) question() string {
	if c.asked < 0 {
		return ""
	}
	return questionIn(c.req.Messages[c.asked].Content)
}

func questionIn(content string) string {
	if m := quotedQuestion.FindStringSubmatch(content); m != nil {
		content = m[1]
	}
	asked, _, _ := strings.Cut(content, applicationMark)
	asked, _, _ = strings.Cut(asked, attachedMark)
	return strings.TrimSpace(asked)
}

// worded is the last question that has a language: a command such as
// /sales 2026Q3 is the same in all.
func (c *scope) worded() string {
	for i := c.asked; i >= 0; i-- {
		if q := questionIn(c.req.Messages[i].Content); c.req.Messages[i].Role == model.RoleUser && !strings.HasPrefix(q, "/") {
			return q
		}
	}
	return c.question()
}

// quotedQuestion finds what was asked in a request about an answer: there the
// question and the answer stand between fences of a line each.
var quotedQuestion = regexp.MustCompile(`(?s)^The user asked:\n[^\n]+\n(.*?)\n[^\n]+\n\nThe assistant answered:\n`)

// applicationMark begins what the application says behind a question.
const applicationMark = "[The application that the user sits in front of says "

// How a file stands in a question: its name in brackets, then what it says.
const attachedMark = "[attached: "

var attachedFile = regexp.MustCompile(`\[attached: ([^\]\n]*)\](?:\n--- what the file says ---\n([^\n]{0,120}))?`)

// Attached lists the files that came with the question: name and begin.
func (c *scope) Attached() []map[string]string {
	if c.asked < 0 {
		return nil
	}
	var list []map[string]string
	for _, m := range attachedFile.FindAllStringSubmatch(c.req.Messages[c.asked].Content, -1) {
		list = append(list, map[string]string{"name": m[1], "begin": strings.TrimSpace(m[2])})
	}
	return list
}

// Pictures counts the pictures that came with the question.
func (c *scope) Pictures() int {
	if c.asked < 0 {
		return 0
	}
	return len(c.req.Messages[c.asked].Images)
}

// turn counts the model calls since the question, and reads the results of the
// last step's tools.
func (c *scope) turn() int {
	n := 1
	for _, m := range c.req.Messages[c.asked+1:] {
		switch m.Role {
		case model.RoleAssistant:
			n++
			c.Results, c.Error = nil, nil
		case model.RoleTool:
			f := facts(m.Content)
			if e, bad := f["error"].(map[string]any); bad && c.Error == nil {
				c.Error = e
			}
			c.Results = append(c.Results, f)
		}
	}
	for _, f := range c.Results {
		if c.R == nil || c.R["error"] != nil && f["error"] == nil {
			c.R = f
		}
	}
	return n
}

// came reports whether the last step came to what an if says: error, or the
// code of one, when no tool of it succeeded, ok otherwise.
func (c *scope) came(want string) bool {
	if c.R == nil || c.R["error"] == nil {
		return want == "ok"
	}
	return want == "error" || want == c.Error["code"]
}

// Var reads a variable from the conversation.
func (c *scope) Var(name string) (string, error) {
	v, ok := c.script.variables[name]
	if !ok {
		return "", fmt.Errorf("there is no variable %q", name)
	}
	for i := c.asked; i >= 0; i-- {
		m := c.req.Messages[i]
		if m.Role == model.RoleUser || m.Role == model.RoleAssistant {
			for _, r := range v.Rules {
				if at := r.Find.FindStringSubmatchIndex(m.Content); at != nil {
					return string(r.Find.ExpandString(nil, r.As, m.Content, at)), nil
				}
			}
		}
		if v.Here {
			break
		}
	}
	return v.Default, nil
}

// Questions lists what can be asked with the tools that are offered and under
// the system prompt.
func (c *scope) Questions() []string { return c.script.questions(c.Lang, c.tools, c.req.Messages) }

func (s *script) questions(lang string, tools map[string]bool, told []model.Message) []string {
	var list []string
	for _, sc := range s.scenarios {
		if len(sc.Questions[lang]) > 0 && offersAll(tools, sc.When.Tools) && offersAll(tools, sc.Listed) && sc.When.told(told) {
			list = append(list, sc.Questions[lang][0])
		}
	}
	return list
}

func (s *script) find(name string) *scenario {
	for _, sc := range s.scenarios {
		if sc.name == name {
			return sc
		}
	}
	return nil
}

// offersAll reports whether all of the named tools are there.
func offersAll(tools map[string]bool, names []string) bool {
	return !slices.ContainsFunc(names, func(name string) bool { return !offered(tools, name) })
}

// told reports whether the system prompt is one that the condition wants.
func (w condition) told(messages []model.Message) bool {
	return w.System.Regexp == nil || slices.ContainsFunc(messages, func(m model.Message) bool {
		return m.Role == model.RoleSystem && w.System.in(m.Content)
	})
}

// fits reports whether the condition meets the question, tools aside.
func (w condition) fits(c *scope) bool {
	if w.Forced != c.forced {
		return false
	}
	if w.Not.in(c.question()) {
		return false
	}
	if !w.told(c.req.Messages) {
		return false
	}
	for _, p := range w.Match {
		if p.in(c.question()) {
			return true
		}
	}
	return w.Attached && len(c.Attached()) > 0
}

// choose finds the scenario for the question. Once an answer is under way its
// tools are not asked for again: they may have been withdrawn meanwhile.
func (c *scope) choose(turn int) *scenario {
	var lacking *scenario
	for _, sc := range c.script.scenarios {
		switch {
		case !sc.When.fits(c):
		case turn > 1 || offersAll(c.tools, sc.When.Tools):
			return sc
		case lacking == nil:
			lacking = sc
		}
	}
	if lacking == nil {
		return c.script.find(unknownScenario)
	}
	for _, name := range lacking.When.Tools {
		if !c.Offers(name) {
			c.Missing, c.Argument, _ = strings.Cut(name, ".")
			break
		}
	}
	return c.script.find(missingScenario)
}

// plan decides on the answer. forced names a scenario and may be empty.
func (s *script) plan(req model.Request, forced string) (*plan, error) {
	c := newScope(s, req)
	turn := c.turn()
	sc := c.choose(turn)
	if forced != "" {
		if sc = s.find(forced); sc == nil {
			return nil, &model.Error{Code: model.CodeBadRequest, Status: 400, Message: fmt.Sprintf("there is no scenario %q", forced)}
		}
	}
	if sc == nil {
		return nil, &model.Error{Code: model.CodeBadRequest, Status: 400, Message: "no scenario fits and none is called " + unknownScenario}
	}
	p := &plan{scenario: sc.name, id: hash(sc.name, req.Messages), pace: cmp.Or(sc.Pace, 1)}
	ops, err := c.scene(sc, turn, p.id)
	var missing errMissingTool
	if errors.As(err, &missing) {
		c.Missing = string(missing)
		if sc = s.find(missingScenario); sc != nil {
			ops, err = c.scene(sc, 1, p.id)
		}
	}
	if err != nil {
		return nil, &model.Error{Code: model.CodeBadResponse, Status: 500, Message: "scenario " + sc.name + ": " + err.Error(), Err: err}
	}
	p.ops, p.finish = ops, model.FinishStop
	in, out := 0, 0
	for _, m := range req.Messages {
		in += len(m.Content)
	}
	for _, o := range ops {
		out += len(o.text) + len(o.thought)
		if o.call != nil {
			p.finish = model.FinishToolCalls
			out += len(o.call.Name) + len(o.call.Raw)
		}
		if o.fail != nil && o.fail.Finish != "" {
			p.finish = model.Finish(o.fail.Finish)
		}
	}
	// About four bytes make a token; nothing more exact is claimed.
	p.usage = model.Usage{InputTokens: (in + 3) / 4, OutputTokens: (out + 3) / 4}
	return p, nil
}

// hash names an answer by its scenario and its messages.
func hash(scenario string, messages []model.Message) string {
	h := sha256.New()
	enc := json.NewEncoder(h)
	// Neither writing to a hash nor encoding plain structs fails.
	_ = enc.Encode(scenario)
	_ = enc.Encode(messages)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// scene turns the steps of the entry that fits into ops.
func (c *scope) scene(sc *scenario, turn int, id string) ([]op, error) {
	for _, t := range sc.Turns {
		if t.Turn != 0 && t.Turn != turn || t.If != "" && !c.came(t.If) || t.Has != "" && c.R[t.Has] == nil {
			continue
		}
		var ops []op
		paragraphs, calls := 0, 0
		say := func(s string) {
			if s == "" {
				return
			}
			if paragraphs++; paragraphs > 1 {
				s = "\n\n" + s
			}
			ops = append(ops, op{text: s})
		}
		for _, s := range t.Do {
			switch {
			case s.Say != nil:
				for c.I = 1; c.I <= max(s.Times, 1); c.I++ {
					say(c.paragraph(*s.Say))
				}
			case s.Think != nil:
				if thought := c.paragraph(*s.Think); thought != "" {
					ops = append(ops, op{thought: thought + "\n"})
				}
			case s.Fence != nil:
				say("```" + s.Fence.Name + "\n" + c.paragraph(*s.Fence.Body) + "\n```")
			case s.Placeholder != nil:
				card, err := c.expand(*s.Placeholder.ID)
				if err == nil {
					say("[(" + s.Placeholder.Card + ":" + card + ")]")
				}
			case s.Tag != nil:
				say(c.tag(*s.Tag))
			case s.Call != nil:
				call, err := c.call(*s.Call)
				if err != nil {
					return nil, err
				}
				calls++
				call.ID = fmt.Sprintf("call_%s_%d", id, calls)
				ops = append(ops, op{call: &call})
			case s.Wait > 0:
				ops = append(ops, op{wait: time.Duration(s.Wait)})
			case s.Fail != nil:
				ops = append(ops, op{fail: s.Fail})
			}
		}
		return ops, nil
	}
	return nil, nil
}

func (c *scope) expand(t text) (string, error) {
	var b strings.Builder
	if err := t.Execute(&b, c); err != nil {
		return "", err
	}
	return strings.TrimRight(b.String(), "\n"), nil
}

// paragraph joins the sentences that have all their facts.
func (c *scope) paragraph(w words) string {
	var kept []string
	for _, t := range w[c.Lang] {
		if s, err := c.expand(t); err == nil && s != "" {
			kept = append(kept, s)
		}
	}
	if c.Lang == "zh" {
		return strings.Join(kept, "")
	}
	return strings.Join(kept, " ")
}

func (c *scope) tag(t tag) string {
	var b strings.Builder
	b.WriteString("<" + t.Name)
	for _, name := range sortedKeys(t.Attrs) {
		if value, err := c.expand(t.Attrs[name]); err == nil {
			fmt.Fprintf(&b, " %s=%q", name, value)
		}
	}
	if t.Body == nil {
		return b.String() + "/>"
	}
	return b.String() + ">" + c.paragraph(*t.Body) + "</" + t.Name + ">"
}

// call builds a tool call.
func (c *scope) call(s callStep) (model.Call, error) {
	if !s.Unoffered && !c.tools[s.Tool] {
		return model.Call{}, errMissingTool(s.Tool)
	}
	call := model.Call{Name: s.Tool}
	if s.Raw != nil {
		raw, err := c.expand(*s.Raw)
		if err != nil {
			return call, err
		}
		call.Raw = raw
		var object map[string]json.RawMessage
		if err := json.Unmarshal([]byte(raw), &object); err != nil {
			call.Err = "the arguments are not a JSON object: " + err.Error()
		} else {
			call.Arguments = json.RawMessage(raw)
		}
		return call, nil
	}
	args, err := c.members(s.Args)
	if err != nil {
		return call, err
	}
	raw, err := json.Marshal(args)
	if err != nil {
		return call, fmt.Errorf("arguments of %s: %w", s.Tool, err)
	}
	call.Arguments, call.Raw = raw, string(raw)
	return call, nil
}

// members are the arguments that do not come out empty.
func (c *scope) members(args map[string]argument) (map[string]any, error) {
	values := map[string]any{}
	for name, a := range args {
		value, ok, err := c.argument(a)
		if err != nil {
			return nil, fmt.Errorf("argument %s: %w", name, err)
		}
		if ok {
			values[name] = value
		}
	}
	return values, nil
}

// argument is the value of an argument; ok is false for one to be left out.
func (c *scope) argument(a argument) (value any, ok bool, err error) {
	switch {
	case a.members != nil:
		value, err = c.members(a.members)
		return value, true, err
	case a.list != nil:
		list := make([]any, 0, len(a.list))
		for _, each := range a.list {
			value, ok, err := c.argument(each)
			if err != nil {
				return nil, false, err
			}
			if ok {
				list = append(list, value)
			}
		}
		return list, true, nil
	case a.template == nil:
		return a.value, true, nil
	}
	text, err := c.expand(*a.template)
	switch {
	case err != nil:
		return nil, false, err
	case a.literal:
		return json.RawMessage(text), true, nil
	}
	return text, text != "", nil
}
