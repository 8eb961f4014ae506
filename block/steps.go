package block

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Steps is the payload of a steps block: how far a long job is.
type Steps struct {
	Title string     `json:"title,omitempty"`
	Items []StepItem `json:"items"`
}

// StepItem is one step of a job.
type StepItem struct {
	ID    string `json:"id"`
	Label string `json:"label"`
	// Status is pending, running, done, error or skipped.
	Status string `json:"status"`
	Detail string `json:"detail,omitempty"`
}

// MarshalJSON writes the list that the schema requires even when it is not
// set.
func (s Steps) MarshalJSON() ([]byte, error) {
	type plain Steps
	if s.Items == nil {
		s.Items = []StepItem{}
	}
	return json.Marshal(plain(s))
}

func stepsType() Type {
	return Type{
		Name:        "steps",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "The steps of a long job and how far each is.",
		Schema:      builtinSchema("steps.v1.json"),
		Height:      160,
		Check:       checkSteps,
		Fallback:    stepsText,
		Markdown:    stepsMarkdown,
		Summary:     stepsSummary,
	}
}

// stepMarks are the states of steps in plain text.
var stepMarks = map[string]string{"pending": "○", "running": "…", "done": "✓", "error": "✗", "skipped": "–"}

func checkSteps(payload json.RawMessage) error {
	var s Steps
	if err := decodePayload(payload, &s); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	var ids unique
	for i, it := range s.Items {
		ids.check(&v, fmt.Sprintf("/items/%d/id", i), it.ID)
	}
	return v.err()
}

func (s StepItem) text() string {
	t := stepMarks[s.Status] + " " + oneLine(s.Label)
	if s.Detail != "" {
		t += " (" + oneLine(s.Detail) + ")"
	}
	return strings.TrimSpace(t)
}

func stepsText(payload json.RawMessage) string {
	var s Steps
	if decodePayload(payload, &s) != nil {
		return "[steps]"
	}
	rows := make([]string, len(s.Items))
	for i, it := range s.Items {
		rows[i] = it.text()
	}
	return figuresText(oneLine(s.Title), rows, "; ", 0)
}

func stepsMarkdown(payload json.RawMessage) string {
	var s Steps
	if decodePayload(payload, &s) != nil {
		return "[steps]"
	}
	var b strings.Builder
	if s.Title != "" {
		b.WriteString("**" + markdownText(s.Title) + "**\n\n")
	}
	for i, it := range s.Items {
		fmt.Fprintf(&b, "%d. %s\n", i+1, markdownText(it.text()))
	}
	return b.String()
}

func stepsSummary(payload json.RawMessage) string {
	var s Steps
	if decodePayload(payload, &s) != nil {
		return "[steps]"
	}
	var lines []string
	if s.Title != "" {
		lines = append(lines, "title: "+oneLine(s.Title))
	}
	for _, it := range s.Items {
		line := it.Status + ": " + oneLine(it.Label)
		if it.Detail != "" {
			line += " (" + oneLine(it.Detail) + ")"
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
