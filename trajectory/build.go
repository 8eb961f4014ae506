package trajectory

import (
	"encoding/json"
	"fmt"
	"regexp"
	"time"
)

// Builder writes a document step by step. It is used by one goroutine.
type Builder struct {
	doc    Document
	totals struct {
		prompt, completion, cached int
		cost                       float64
	}
}

// NewBuilder begins the trajectory of one message.
func NewBuilder(msg, conversation string, agent Agent) *Builder {
	return &Builder{doc: Document{
		SchemaVersion: Version,
		SessionID:     conversation,
		TrajectoryID:  msg,
		Agent:         agent,
		Extra:         map[string]any{"msg_id": msg},
	}}
}

// Continue goes on with a stored document, for a follow-up of its message.
func Continue(doc Document) *Builder {
	b := &Builder{doc: doc}
	if m := doc.FinalMetrics; m != nil {
		b.totals.prompt = value(m.TotalPromptTokens)
		b.totals.completion = value(m.TotalCompletionTokens)
		b.totals.cached = value(m.TotalCachedTokens)
		if m.TotalCostUSD != nil {
			b.totals.cost = *m.TotalCostUSD
		}
	}
	return b
}

func value(n *int) int {
	if n == nil {
		return 0
	}
	return *n
}

// Call is one tool call of an agent's step with its result.
type Call struct {
	ID, Function string
	Arguments    json.RawMessage
	// Raw is the text of arguments that could not be read as an object.
	Raw      string
	Repaired bool
	Blocks   []string
	// Result is what the model was told.
	Result   string
	IsError  bool
	Shown    bool
	Duration time.Duration
	// Cause is the failure as the server saw it.
	Cause string
}

// Turn is one model call with the tools it ran, or with Model false a step
// that code made (a retry, a user's action).
type Turn struct {
	At        time.Time
	Model     bool
	Text      string
	Reasoning string
	Calls     []Call
	// Tokens and cost of the model call.
	Prompt, Completion, Cached, Thought int
	CostUSD                             float64
	// Sub is what another agent did in this step. It is embedded in the
	// document, and the step's observation, SubResult, refers to it. Its tokens
	// are its own and not added to the totals of this one.
	Sub       *Document
	SubResult string
	Extra     map[string]any
}

// User adds what the user said.
func (b *Builder) User(at time.Time, text string, extra map[string]any) {
	b.add(Step{Timestamp: stamp(at), Source: "user", Message: quote(text), Extra: extra})
}

// System adds the instructions.
func (b *Builder) System(at time.Time, text string) {
	b.add(Step{Timestamp: stamp(at), Source: "system", Message: quote(text)})
}

// Agent adds a step of the agent.
func (b *Builder) Agent(t Turn) {
	s := Step{Timestamp: stamp(t.At), Source: "agent", Message: quote(t.Text), Extra: t.Extra}
	n := 0
	if t.Model {
		n = 1
		m := &Metrics{PromptTokens: &t.Prompt, CompletionTokens: &t.Completion}
		if t.Cached > 0 {
			m.CachedTokens = &t.Cached
		}
		if t.CostUSD > 0 {
			m.CostUSD = &t.CostUSD
		}
		if t.Thought > 0 {
			m.Extra = map[string]any{"reasoning_tokens": t.Thought}
		}
		s.Metrics = m
		if t.Reasoning != "" {
			r := Redact(t.Reasoning)
			s.Reasoning = &r
		}
		b.totals.prompt += t.Prompt
		b.totals.completion += t.Completion
		b.totals.cached += t.Cached
		b.totals.cost += t.CostUSD
	}
	s.LLMCallCount = &n
	if len(t.Calls) > 0 {
		calls := make([]ToolCall, 0, len(t.Calls))
		obs := &Observation{Results: []Result{}}
		for _, c := range t.Calls {
			extra := map[string]any{}
			args := c.Arguments
			var object map[string]json.RawMessage
			if json.Unmarshal(args, &object) != nil || object == nil {
				args = json.RawMessage("{}")
				extra["arguments_raw"] = Redact(c.Raw)
			} else {
				args = json.RawMessage(Redact(string(args)))
				if !json.Valid(args) {
					args = json.RawMessage("{}")
				}
			}
			if c.Repaired {
				extra["repaired"] = true
			}
			if len(c.Blocks) > 0 {
				extra["block_id"] = c.Blocks[0]
			}
			calls = append(calls, ToolCall{ID: c.ID, Function: c.Function, Arguments: args, Extra: extra})
			id := c.ID
			res := map[string]any{"is_error": c.IsError, "duration_ms": c.Duration.Milliseconds(), "shown": c.Shown}
			if len(c.Blocks) > 0 {
				res["blocks"] = c.Blocks
			}
			if c.Cause != "" {
				res["cause"] = Redact(c.Cause)
			}
			obs.Results = append(obs.Results, Result{SourceCallID: &id, Content: quote(c.Result), Extra: res})
		}
		s.ToolCalls, s.Observation = &calls, obs
	}
	if t.Sub != nil {
		if s.Observation == nil {
			s.Observation = &Observation{Results: []Result{}}
		}
		s.Observation.Results = append(s.Observation.Results, Result{
			Content: quote(t.SubResult), SubagentRefs: []SubagentRef{{TrajectoryID: t.Sub.TrajectoryID, SessionID: t.Sub.SessionID}},
		})
		b.doc.SubagentTrajectories = append(b.doc.SubagentTrajectories, *t.Sub)
	}
	b.add(s)
}

func (b *Builder) add(s Step) {
	s.StepID = len(b.doc.Steps) + 1
	b.doc.Steps = append(b.doc.Steps, s)
}

// Document returns what was built, with its totals.
func (b *Builder) Document() Document {
	d := b.doc
	steps := len(d.Steps)
	t := b.totals
	d.FinalMetrics = &FinalMetrics{TotalPromptTokens: &t.prompt, TotalCompletionTokens: &t.completion, TotalSteps: &steps}
	if t.cached > 0 {
		d.FinalMetrics.TotalCachedTokens = &t.cached
	}
	if t.cost > 0 {
		d.FinalMetrics.TotalCostUSD = &t.cost
	}
	return d
}

// Encode validates the document and returns its JSON.
func (b *Builder) Encode() (json.RawMessage, error) {
	d := b.Document()
	if err := d.Validate(); err != nil {
		return nil, fmt.Errorf("trajectory of %s: %w", d.TrajectoryID, err)
	}
	raw, err := json.Marshal(d)
	if err != nil {
		return nil, fmt.Errorf("encode trajectory of %s: %w", d.TrajectoryID, err)
	}
	return raw, nil
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339Nano)
}

func quote(s string) json.RawMessage {
	raw, err := json.Marshal(Redact(s))
	if err != nil { // a string always encodes
		return json.RawMessage(`""`)
	}
	return raw
}

// secrets are the shapes that must not be kept: bearer tokens, JSON Web
// Tokens, keys of well-known services, inline images, and members whose name
// says secret.
var secrets = []struct {
	re   *regexp.Regexp
	with string
}{
	{regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`), "$1 [redacted]"},
	{regexp.MustCompile(`\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*`), "[redacted]"},
	{regexp.MustCompile(`\b(sk|pk|rk|ghp|gho|ghs|xox[abprs]|AKIA|AIza)[-_A-Za-z0-9]{16,}`), "[redacted]"},
	{regexp.MustCompile(`(?i)("[^"\\]*(?:password|passwd|secret|api_?key|access_?token|authorization)[^"\\]*"\s*:\s*)"(?:[^"\\]|\\.)*"`), `$1"[redacted]"`},
	{regexp.MustCompile(`data:image/[a-z+.-]+;base64,[A-Za-z0-9+/=]{32,}`), "[image]"},
}

// Redact replaces what looks like a secret. It is a net under the rule that
// tools keep secrets out of their words, not a promise.
func Redact(s string) string {
	for _, r := range secrets {
		s = r.re.ReplaceAllString(s, r.with)
	}
	return s
}
