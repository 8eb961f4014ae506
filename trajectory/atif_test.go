package trajectory

import (
	"bufio"
	"encoding/json"
	"os"
	"strings"
	"testing"
	"time"
)

func TestCases(t *testing.T) {
	f, err := os.Open("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		var c struct {
			Name, Expect, Reason string
			Document             json.RawMessage
		}
		if err := json.Unmarshal(sc.Bytes(), &c); err != nil {
			t.Fatal(err)
		}
		doc, err := Read(c.Document)
		if got := map[bool]string{true: "accept", false: "reject"}[err == nil]; got != c.Expect {
			t.Errorf("%s: %s, want %s (%s): %v", c.Name, got, c.Expect, c.Reason, err)
		}
		if err != nil {
			continue
		}
		again, err := json.Marshal(doc)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := Read(again); err != nil {
			t.Errorf("%s: written again it is refused: %v", c.Name, err)
		}
	}
	if n == 0 {
		t.Fatal("no cases")
	}
	t.Logf("%d cases", n)
}

func TestBuilder(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	b := NewBuilder("m_1", "c_1", Agent{Name: "inlay", Version: "dev", ModelName: "m"})
	b.User(at, "sales?", nil)
	b.Agent(Turn{At: at, Model: true, Reasoning: "look it up", Prompt: 10, Completion: 5, Thought: 2, Calls: []Call{
		{ID: "call_1", Function: "show", Arguments: json.RawMessage(`{"quarter":"2026Q3"}`), Blocks: []string{"b_1"}, Result: "East 320", Shown: true, Duration: time.Second},
		{ID: "call_2", Function: "show", Raw: `{"quarter":`, Result: "error: invalid_arguments", IsError: true},
	}})
	b.Agent(Turn{At: at, Model: true, Text: "East leads.", Prompt: 30, Completion: 4})
	raw, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(raw)
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%s", err, raw)
	}
	if got := *d.FinalMetrics.TotalPromptTokens; got != 40 {
		t.Errorf("total prompt tokens %d, want 40", got)
	}
	if got := string((*d.Steps[1].ToolCalls)[1].Arguments); got != "{}" {
		t.Errorf("unreadable arguments are written as %s, want {}", got)
	}
	c := Continue(d)
	c.Agent(Turn{At: at, Text: "", Calls: []Call{{ID: "call_1", Function: "show", Arguments: json.RawMessage(`{}`), Result: "again"}}})
	if raw, err = c.Encode(); err != nil {
		t.Fatal(err)
	}
	if d, err = Read(raw); err != nil || len(d.Steps) != 4 || *d.FinalMetrics.TotalPromptTokens != 40 {
		t.Errorf("continued: %d steps, %v", len(d.Steps), err)
	}
}

// TestSubagent expects what another agent did to stand in the document as one
// of its own, which the step that called it refers to.
func TestSubagent(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	sub := NewBuilder("m_1.recommender", "c_1", Agent{Name: "inlay-recommender", Version: "dev", ModelName: "small"})
	sub.System(at, "recommend")
	sub.Agent(Turn{At: at, Model: true, Prompt: 7, Completion: 3, Calls: []Call{
		{ID: "call_1", Function: "recommend", Arguments: json.RawMessage(`{"items":[]}`), Result: "silent"},
	}})
	doc := sub.Document()
	b := NewBuilder("m_1", "c_1", Agent{Name: "inlay", Version: "dev", ModelName: "m"})
	b.User(at, "sales?", nil)
	b.Agent(Turn{At: at, Model: true, Text: "East leads.", Prompt: 30, Completion: 4})
	b.Agent(Turn{At: at, Sub: &doc, SubResult: "silent"})
	raw, err := b.Encode()
	if err != nil {
		t.Fatal(err)
	}
	d, err := Read(raw)
	if err != nil {
		t.Fatalf("what was written is refused: %v\n%s", err, raw)
	}
	step := d.Steps[2]
	if *step.LLMCallCount != 0 || step.Metrics != nil {
		t.Errorf("the step counts %d model calls, %+v", *step.LLMCallCount, step.Metrics)
	}
	if refs := step.Observation.Results[0].SubagentRefs; len(refs) != 1 || refs[0].TrajectoryID != d.SubagentTrajectories[0].TrajectoryID {
		t.Errorf("the step refers to %+v", refs)
	}
	if got := d.SubagentTrajectories[0]; len(got.Steps) != 2 || *got.FinalMetrics.TotalPromptTokens != 7 {
		t.Errorf("embedded: %+v", got)
	}
	if got := *d.FinalMetrics.TotalPromptTokens; got != 30 {
		t.Errorf("%d prompt tokens in all, want 30: those of the other agent are its own", got)
	}
	again := Continue(d)
	if raw, err = again.Encode(); err != nil {
		t.Fatal(err)
	}
	if d, err = Read(raw); err != nil || len(d.SubagentTrajectories) != 1 {
		t.Errorf("continued: %d embedded, %v", len(d.SubagentTrajectories), err)
	}
}

func TestRedact(t *testing.T) {
	for _, c := range []struct{ name, in, gone string }{
		{"bearer", "Authorization: Bearer abcdefgh12345678", "abcdefgh12345678"},
		{"jwt", "token eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl end", "eyJzdWIi"},
		{"vendor key", "key sk-proj-abcdefghijklmnop1234", "abcdefghijklmnop1234"},
		{"member", `{"apiKey": "very secret", "region": "East"}`, "very secret"},
		{"image", "data:image/png;base64," + strings.Repeat("QUJD", 20), "QUJDQUJD"},
	} {
		if got := Redact(c.in); strings.Contains(got, c.gone) {
			t.Errorf("%s: %q still holds the secret", c.name, got)
		}
	}
	const plain = `{"region":"East","amount":320}`
	if got := Redact(plain); got != plain {
		t.Errorf("plain text changed to %q", got)
	}
}
