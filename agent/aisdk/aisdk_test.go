package aisdk_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/agent/aisdk"
	"github.com/inlay-ui/inlay/model"
)

// serve runs an agent that answers with these chunks, and returns what was posted.
func serve(t *testing.T, chunks ...string) (*agent.Peer, *[]byte) {
	t.Helper()
	var posted []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, c := range chunks {
			fmt.Fprintf(w, "data: %s\n\n", c)
		}
	}))
	t.Cleanup(s.Close)
	a, err := aisdk.New(agent.Config{URL: s.URL, Name: "planner"})
	if err != nil {
		t.Fatal(err)
	}
	return a, &posted
}

func run(t *testing.T, a *agent.Peer, req agent.Request) (string, agent.Outcome, error) {
	t.Helper()
	var lines []string
	names := map[agent.Kind]string{
		agent.Text: "text", agent.Reasoning: "reasoning", agent.TextEnd: "end", agent.CallStart: "start",
		agent.CallArguments: "arguments", agent.CallResult: "result", agent.Part: "part",
	}
	out, err := a.Run(t.Context(), req, func(p agent.Piece) error {
		line := strings.Join([]string{names[p.Kind], p.ID, p.Name, p.Text, string(p.JSON)}, "|")
		if p.Failed {
			line += "|failed"
		}
		lines = append(lines, line)
		return nil
	})
	return strings.Join(lines, "\n"), out, err
}

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name   string
		chunks []string
		want   string
	}{
		{"texts and thoughts", []string{
			`{"type":"start","messageId":"m"}`, `{"type":"start-step"}`,
			`{"type":"reasoning-start","id":"r"}`, `{"type":"reasoning-delta","id":"r","delta":"Hm."}`, `{"type":"reasoning-end","id":"r"}`,
			`{"type":"text-start","id":"t"}`, `{"type":"text-delta","id":"t","delta":"Hel"}`, `{"type":"text-delta","id":"t","delta":""}`,
			`{"type":"text-delta","id":"t","delta":"lo"}`, `{"type":"text-end","id":"t"}`, `{"type":"finish-step"}`,
		}, "reasoning|||Hm.|\ntext|||Hel|\ntext|||lo|\nend||||"},
		{"calls", []string{
			`{"type":"tool-input-start","toolCallId":"c1","toolName":"find"}`, `{"type":"tool-input-delta","toolCallId":"c1","inputTextDelta":"{\"a\""}`,
			`{"type":"tool-input-available","toolCallId":"c1","toolName":"find","input":{"a":1}}`,
			`{"type":"tool-output-available","toolCallId":"c1","output":{"half":true},"preliminary":true}`,
			`{"type":"tool-output-available","toolCallId":"c1","output":{"found":1}}`,
			`{"type":"tool-input-available","toolCallId":"c2","toolName":"say","input":{}}`, `{"type":"tool-output-available","toolCallId":"c2","output":"plain"}`,
			`{"type":"tool-input-error","toolCallId":"c3","toolName":"bad","input":{},"errorText":"no such argument"}`,
			`{"type":"tool-output-available","toolCallId":"forged","output":1}`,
		}, "start|c1|find||\narguments|c1|find||{\"a\":1}\nresult|c1|find|{\"found\":1}|\nstart|c2|say||\narguments|c2|say||{}\nresult|c2|say|plain|\n" +
			"start|c3|bad||\narguments|c3|bad||{}\nresult|c3|bad|no such argument||failed"},
		{"data", []string{
			`{"type":"data-chart","id":"d","data":{"status":"loading"}}`, `{"type":"data-chart","id":"d","data":{"status":"done"}}`,
			`{"type":"data-note","data":{"a":1}}`, `{"type":"data-progress","data":{"p":1},"transient":true}`,
		}, "part|chart d|chart||{\"status\":\"loading\"}\npart|chart d|chart||{\"status\":\"done\"}\npart|note part 1|note||{\"a\":1}"},
		{"what is not known", []string{`{"type":"source-url","sourceId":"s","url":"https://a.example"}`, `{"type":"from-the-future"}`, `{"type":"message-metadata","messageMetadata":{}}`}, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := serve(t, append(tt.chunks, `{"type":"finish","finishReason":"stop"}`, `[DONE]`)...)
			got, out, err := run(t, a, agent.Request{Thread: "c"})
			if err != nil || out.Finish != model.FinishStop || len(out.Calls) > 0 {
				t.Fatalf("outcome %+v: %v", out, err)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	tools := []model.ToolSpec{{Name: "open"}}
	for _, tt := range []struct {
		name, code string
		chunks     []string
		check      func(agent.Outcome) bool
	}{
		{"broken off", "", []string{`{"type":"start"}`}, func(o agent.Outcome) bool { return o.Finish == model.FinishIncomplete }},
		{"done without finish", "", []string{`[DONE]`}, func(o agent.Outcome) bool { return o.Finish == model.FinishStop }},
		{"length", "", []string{`{"type":"finish","finishReason":"length"}`}, func(o agent.Outcome) bool { return o.Finish == model.FinishLength }},
		{"abort", "", []string{`{"type":"abort"}`}, func(o agent.Outcome) bool { return o.Cancelled }},
		{"error", model.CodeUnavailable, []string{`{"type":"error","errorText":"no"}`}, nil},
		{"no chunk", model.CodeBadResponse, []string{`"x"`}, nil},
		{"approval", "", []string{
			`{"type":"tool-input-available","toolCallId":"c","toolName":"book","input":{}}`, `{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}`, `{"type":"finish"}`,
		}, func(o agent.Outcome) bool {
			return len(o.Interrupts) == 1 && o.Interrupts[0].ID == "a" && o.Interrupts[0].Call == "c" && o.Interrupts[0].Approval
		}},
		{"the client's call", "", []string{
			`{"type":"tool-input-available","toolCallId":"c","toolName":"open","input":{"p":1}}`, `{"type":"finish","finishReason":"tool-calls"}`,
		}, func(o agent.Outcome) bool { return len(o.Calls) == 1 && string(o.Calls[0].Arguments) == `{"p":1}` }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := serve(t, tt.chunks...)
			_, out, err := run(t, a, agent.Request{Thread: "c", Tools: tools})
			var known *model.Error
			if errors.As(err, &known); (known == nil) != (tt.code == "") || known != nil && known.Code != tt.code {
				t.Fatalf("error %v, want code %q", err, tt.code)
			}
			if tt.check != nil && !tt.check(out) {
				t.Errorf("outcome %+v", out)
			}
		})
	}
}

func TestHostile(t *testing.T) {
	a, _ := serve(t, `{"type":"custom-thing","id":1,"delta":{}}`, `{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}`,
		`{"type":"tool-approval-request","approvalId":"a","toolCallId":"c"}`, `{"type":"finish"}`)
	if _, out, err := run(t, a, agent.Request{}); err != nil || len(out.Interrupts) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
	a, _ = serve(t, `{"type":"tool-approval-request","approvalId":"`+strings.Repeat("x", agent.MaxID+1)+`"}`)
	var known *model.Error
	if _, _, err := run(t, a, agent.Request{}); !errors.As(err, &known) || known.Code != model.CodeBadResponse {
		t.Errorf("%v", err)
	}
}

func TestRequest(t *testing.T) {
	a, posted := serve(t, `[DONE]`)
	_, _, err := run(t, a, agent.Request{
		Thread: "c", State: json.RawMessage(`{"n":1}`), Context: []agent.Entry{{Description: "page", Value: "home"}},
		Messages: []model.Message{
			{Role: model.RoleUser, Content: "Book it.", Images: []model.Image{{Mime: "image/png", Data: []byte("png")}}},
			{Role: model.RoleAssistant, Content: "Let me look.", Calls: []model.Call{{ID: "k", Name: "find", Arguments: json.RawMessage(`{"q":1}`)}}},
			{Role: model.RoleTool, CallID: "k", Content: `{"found":1}`},
			{Role: model.RoleAssistant, Calls: []model.Call{{ID: "l", Name: "book"}}},
		},
		Tools:   []model.ToolSpec{{Name: "open", Description: "Opens.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Replies: []agent.Reply{{Interrupt: "i", Call: "l", Approval: true, Reason: "no"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(*posted, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"id": "c", "trigger": "submit-message", "state": {"n": 1}, "context": [{"description": "page", "value": "home"}],
		"tools": {"open": {"description": "Opens.", "parameters": {"type": "object"}}},
		"messages": [
			{"id": "c.0", "role": "user", "parts": [{"type": "text", "text": "Book it."}, {"type": "file", "mediaType": "image/png", "url": "data:image/png;base64,cG5n"}]},
			{"id": "c.1", "role": "assistant", "parts": [
				{"type": "text", "text": "Let me look.", "state": "done"},
				{"type": "tool-find", "toolCallId": "k", "state": "output-available", "input": {"q": 1}, "output": {"found": 1}},
				{"type": "tool-book", "toolCallId": "l", "state": "approval-responded", "input": {}, "approval": {"id": "i", "approved": false, "reason": "no"}}
			]}
		]
	}`), &want); err != nil {
		t.Fatal(err)
	}
	g, _ := json.MarshalIndent(got, "", " ")
	w, _ := json.MarshalIndent(want, "", " ")
	if string(g) != string(w) {
		t.Errorf("posted\n%s\nwant\n%s", g, w)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(`{"type":"tool-input-available","toolCallId":"c","toolName":"n","input":"{"}`, `{"type":"data-x","id":"a","data":null}`)
	f.Add(`{"type":"tool-output-available","toolCallId":"c","output":[1]}`, `{"type":"tool-approval-request","approvalId":"a"}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		r := aisdk.NewReader(agent.Request{})
		for _, frame := range []string{one, two, one, `{"type":"finish"}`} {
			over, err := r.Frame([]byte(frame), func(p agent.Piece) error {
				if p.JSON != nil && !json.Valid(p.JSON) {
					t.Errorf("a piece of what is no JSON: %q", p.JSON)
				}
				return nil
			})
			if over || err != nil {
				break
			}
		}
		r.End()
	})
}
