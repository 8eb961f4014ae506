// Package trajectory reads and writes what an agent did, in the Agent
// Trajectory Interchange Format (ATIF).
//
// A trajectory is kept apart from the message it belongs to and linked by the
// message's id. It imports nothing of the product; arguments and results of
// tools stand here and nowhere a client without the right could see them.
package trajectory

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Version is the schema version written. Documents of every version up to
// ATIF-v1.8 are read.
const Version = "ATIF-v1.7"

// Document is one trajectory. Members that ATIF does not know are refused on
// reading; whatever is ours stands in the Extra maps.
type Document struct {
	SchemaVersion          string         `json:"schema_version"`
	SessionID              string         `json:"session_id,omitempty"`
	TrajectoryID           string         `json:"trajectory_id,omitempty"`
	Agent                  Agent          `json:"agent"`
	Steps                  []Step         `json:"steps"`
	Notes                  string         `json:"notes,omitempty"`
	FinalMetrics           *FinalMetrics  `json:"final_metrics,omitempty"`
	ContinuedTrajectoryRef string         `json:"continued_trajectory_ref,omitempty"`
	Extra                  map[string]any `json:"extra,omitempty"`
	SubagentTrajectories   []Document     `json:"subagent_trajectories,omitempty"`
}

// Agent names who acted.
type Agent struct {
	Name            string            `json:"name"`
	Version         string            `json:"version"`
	ModelName       string            `json:"model_name,omitempty"`
	ToolDefinitions []json.RawMessage `json:"tool_definitions,omitempty"`
	Extra           map[string]any    `json:"extra,omitempty"`
}

// Step is one entry: what a system, user or agent said or did.
type Step struct {
	StepID          int             `json:"step_id"`
	Timestamp       string          `json:"timestamp,omitempty"`
	Source          string          `json:"source"`
	Message         json.RawMessage `json:"message"`
	ModelName       *string         `json:"model_name,omitempty"`
	ReasoningEffort json.RawMessage `json:"reasoning_effort,omitempty"`
	Reasoning       *string         `json:"reasoning_content,omitempty"`
	ToolCalls       *[]ToolCall     `json:"tool_calls,omitempty"`
	Observation     *Observation    `json:"observation,omitempty"`
	Metrics         *Metrics        `json:"metrics,omitempty"`
	IsCopiedContext *bool           `json:"is_copied_context,omitempty"`
	LLMCallCount    *int            `json:"llm_call_count,omitempty"`
	Extra           map[string]any  `json:"extra,omitempty"`
}

// ToolCall is one call of a tool.
type ToolCall struct {
	ID        string          `json:"tool_call_id"`
	Function  string          `json:"function_name"`
	Arguments json.RawMessage `json:"arguments"` // an object
	Extra     map[string]any  `json:"extra,omitempty"`
}

// Observation is what came back in a step.
type Observation struct {
	Results []Result `json:"results"`
}

// Result is what one tool call of the same step returned.
type Result struct {
	SourceCallID *string         `json:"source_call_id,omitempty"`
	Content      json.RawMessage `json:"content,omitempty"`
	SubagentRefs []SubagentRef   `json:"subagent_trajectory_ref,omitempty"`
	Extra        map[string]any  `json:"extra,omitempty"`
}

// SubagentRef points to another trajectory.
type SubagentRef struct {
	TrajectoryID   string         `json:"trajectory_id,omitempty"`
	TrajectoryPath string         `json:"trajectory_path,omitempty"`
	SessionID      string         `json:"session_id,omitempty"`
	Extra          map[string]any `json:"extra,omitempty"`
}

// Metrics are the costs of one model call. Reasoning tokens go to Extra.
type Metrics struct {
	PromptTokens       *int           `json:"prompt_tokens,omitempty"`
	CompletionTokens   *int           `json:"completion_tokens,omitempty"`
	CachedTokens       *int           `json:"cached_tokens,omitempty"`
	CostUSD            *float64       `json:"cost_usd,omitempty"`
	PromptTokenIDs     []int          `json:"prompt_token_ids,omitempty"`
	CompletionTokenIDs []int          `json:"completion_token_ids,omitempty"`
	Logprobs           []float64      `json:"logprobs,omitempty"`
	Extra              map[string]any `json:"extra,omitempty"`
}

// FinalMetrics sum up a trajectory.
type FinalMetrics struct {
	TotalPromptTokens     *int           `json:"total_prompt_tokens,omitempty"`
	TotalCompletionTokens *int           `json:"total_completion_tokens,omitempty"`
	TotalCachedTokens     *int           `json:"total_cached_tokens,omitempty"`
	TotalCostUSD          *float64       `json:"total_cost_usd,omitempty"`
	TotalSteps            *int           `json:"total_steps,omitempty"`
	Extra                 map[string]any `json:"extra,omitempty"`
}

// MaxDepth bounds how deeply subagent trajectories may nest.
const MaxDepth = 16

// Read parses a document of any known version and validates it.
func Read(raw []byte) (Document, error) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.DisallowUnknownFields()
	var d Document
	if err := dec.Decode(&d); err != nil {
		return Document{}, fmt.Errorf("read trajectory: %w", err)
	}
	if err := d.Validate(); err != nil {
		return Document{}, fmt.Errorf("read trajectory: %w", err)
	}
	return d, nil
}

// Validate checks the rules that hold across members.
func (d Document) Validate() error { return d.validate("", 0) }

func (d Document) validate(at string, depth int) error {
	if depth > MaxDepth {
		return fmt.Errorf("%s: subagent trajectories nest deeper than %d", at, MaxDepth)
	}
	minor, ok := minorOf(d.SchemaVersion)
	if !ok {
		return fmt.Errorf("%sschema_version: %q is not ATIF-v1.0 to ATIF-v1.8", at, d.SchemaVersion)
	}
	if minor <= 6 && d.SessionID == "" {
		return fmt.Errorf("%ssession_id: required up to ATIF-v1.6", at)
	}
	if d.Agent.Name == "" || d.Agent.Version == "" {
		return fmt.Errorf("%sagent: name and version are required", at)
	}
	if len(d.Steps) == 0 {
		return fmt.Errorf("%ssteps: at least one is required", at)
	}
	for i, s := range d.Steps {
		if err := s.validate(i+1, minor); err != nil {
			return fmt.Errorf("%ssteps[%d]: %w", at, i, err)
		}
	}
	if d.FinalMetrics != nil && d.FinalMetrics.TotalSteps != nil {
		// A total that differs from the steps present is lawful: a document may
		// be a part of a longer run.
		if n := *d.FinalMetrics.TotalSteps; n < 0 {
			return fmt.Errorf("%sfinal_metrics.total_steps: %d is negative", at, n)
		}
	}
	seen := make(map[string]bool)
	for i, sub := range d.SubagentTrajectories {
		where := fmt.Sprintf("%ssubagent_trajectories[%d].", at, i)
		if sub.TrajectoryID == "" {
			return fmt.Errorf("%strajectory_id: required on an embedded trajectory", where)
		}
		if seen[sub.TrajectoryID] {
			return fmt.Errorf("%strajectory_id: %q stands twice", where, sub.TrajectoryID)
		}
		seen[sub.TrajectoryID] = true
		if err := sub.validate(where, depth+1); err != nil {
			return err
		}
	}
	return nil
}

func minorOf(version string) (int, bool) {
	rest, ok := strings.CutPrefix(version, "ATIF-v1.")
	if !ok || len(rest) != 1 || rest[0] < '0' || rest[0] > '8' {
		return 0, false
	}
	return int(rest[0] - '0'), true
}

func (s Step) validate(want, minor int) error {
	if s.StepID != want {
		return fmt.Errorf("step_id: %d, want %d", s.StepID, want)
	}
	if !slices.Contains([]string{"system", "user", "agent"}, s.Source) {
		return fmt.Errorf("source: %q is not system, user or agent", s.Source)
	}
	if s.Timestamp != "" && !isTime(s.Timestamp) {
		return fmt.Errorf("timestamp: %q is not ISO 8601", s.Timestamp)
	}
	if err := content(s.Message, minor, false); err != nil {
		return fmt.Errorf("message: %w", err)
	}
	if s.Source != "agent" {
		for _, m := range []struct {
			name    string
			present bool
		}{
			{"model_name", s.ModelName != nil}, {"reasoning_effort", s.ReasoningEffort != nil},
			{"reasoning_content", s.Reasoning != nil}, {"tool_calls", s.ToolCalls != nil}, {"metrics", s.Metrics != nil},
		} {
			if m.present {
				return fmt.Errorf("%s: only agent steps may have it", m.name)
			}
		}
	}
	if s.ReasoningEffort != nil && s.ReasoningEffort[0] != '"' {
		if _, err := strconv.ParseFloat(string(s.ReasoningEffort), 64); err != nil {
			return errors.New("reasoning_effort: a string or a number is required")
		}
	}
	if s.LLMCallCount != nil {
		if *s.LLMCallCount < 0 {
			return fmt.Errorf("llm_call_count: %d is negative", *s.LLMCallCount)
		}
		if *s.LLMCallCount == 0 && (s.Metrics != nil || s.Reasoning != nil) {
			return errors.New("llm_call_count: a step without a model call has neither metrics nor reasoning_content")
		}
	}
	ids := make(map[string]bool)
	if s.ToolCalls != nil {
		for i, c := range *s.ToolCalls {
			if c.ID == "" || c.Function == "" {
				return fmt.Errorf("tool_calls[%d]: tool_call_id and function_name are required", i)
			}
			var object map[string]json.RawMessage
			if json.Unmarshal(c.Arguments, &object) != nil || object == nil {
				return fmt.Errorf("tool_calls[%d].arguments: an object is required", i)
			}
			ids[c.ID] = true
		}
	}
	if s.Observation == nil {
		return nil
	}
	if s.Observation.Results == nil {
		return errors.New("observation.results: required")
	}
	for i, r := range s.Observation.Results {
		if r.SourceCallID != nil && !ids[*r.SourceCallID] {
			return fmt.Errorf("observation.results[%d].source_call_id: %q names no tool call of this step", i, *r.SourceCallID)
		}
		if err := content(r.Content, minor, true); err != nil {
			return fmt.Errorf("observation.results[%d].content: %w", i, err)
		}
		for j, ref := range r.SubagentRefs {
			if ref.TrajectoryID == "" && ref.TrajectoryPath == "" && minor >= 7 {
				return fmt.Errorf("observation.results[%d].subagent_trajectory_ref[%d]: trajectory_id or trajectory_path is required", i, j)
			}
		}
	}
	return nil
}

func isTime(s string) bool {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02"} {
		if _, err := time.Parse(layout, s); err == nil {
			return true
		}
	}
	return false
}

type part struct {
	Type   string  `json:"type"`
	Text   *string `json:"text"`
	Source *struct {
		MediaType   string   `json:"media_type"`
		Path        string   `json:"path"`
		DurationSec *float64 `json:"duration_sec"`
	} `json:"source"`
}

var (
	imageTypes = []string{"image/jpeg", "image/png", "image/gif", "image/webp"}
	audioTypes = []string{"audio/wav", "audio/mpeg", "audio/mp4", "audio/aac", "audio/ogg", "audio/flac", "audio/webm", "audio/aiff"}
)

// content checks a string or a list of content parts.
func content(raw json.RawMessage, minor int, optional bool) error {
	trimmed := bytes.TrimSpace(raw)
	if len(trimmed) == 0 || bytes.Equal(trimmed, []byte("null")) {
		if optional {
			return nil
		}
		return errors.New("required")
	}
	if trimmed[0] == '"' {
		return nil
	}
	dec := json.NewDecoder(bytes.NewReader(trimmed))
	dec.DisallowUnknownFields()
	var parts []part
	if err := dec.Decode(&parts); err != nil {
		return fmt.Errorf("a string or content parts are required: %w", err)
	}
	for i, p := range parts {
		var types []string
		switch {
		case p.Type == "text":
			if p.Text == nil || p.Source != nil {
				return fmt.Errorf("[%d]: a text part has text and nothing else", i)
			}
			continue
		case p.Type == "image":
			types = imageTypes
		case p.Type == "audio" && minor >= 8:
			types = audioTypes
		default:
			return fmt.Errorf("[%d].type: %q is not known in this version", i, p.Type)
		}
		if p.Text != nil || p.Source == nil || p.Source.Path == "" {
			return fmt.Errorf("[%d]: an %s part has a source with a path and nothing else", i, p.Type)
		}
		if !slices.Contains(types, p.Source.MediaType) {
			return fmt.Errorf("[%d].source.media_type: %q is not allowed", i, p.Source.MediaType)
		}
		if p.Source.DurationSec != nil && (p.Type != "audio" || *p.Source.DurationSec < 0) {
			return fmt.Errorf("[%d].source.duration_sec: not allowed here", i)
		}
	}
	return nil
}
