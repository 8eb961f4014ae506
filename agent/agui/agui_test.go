package agui_test

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
	"github.com/inlay-ui/inlay/agent/agui"
	"github.com/inlay-ui/inlay/model"
)

// serve runs an agent that answers with these events, and returns what was posted.
func serve(t *testing.T, events ...string) (*agent.Peer, *[]byte) {
	t.Helper()
	var posted []byte
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		posted, _ = io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "text/event-stream")
		for _, ev := range events {
			fmt.Fprintf(w, "id: 1\nevent: message\ndata: %s\n\n: keep-alive\n\n", ev)
		}
	}))
	t.Cleanup(s.Close)
	a, err := agui.New(agent.Config{URL: s.URL, Name: "planner"})
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
		agent.CallArguments: "arguments", agent.CallResult: "result", agent.Part: "part", agent.State: "state",
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

const (
	begun = `{"type":"RUN_STARTED","threadId":"c","runId":"r"}`
	ended = `{"type":"RUN_FINISHED","threadId":"c","runId":"r"}`
)

func TestRead(t *testing.T) {
	tools := []model.ToolSpec{{Name: "open_page"}}
	for _, tt := range []struct {
		name   string
		events []string
		want   string
		calls  int
	}{
		{"texts", []string{
			`{"type":"TEXT_MESSAGE_START","messageId":"m1","role":"assistant"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"Hel"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":""}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"m1","delta":"lo"}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"m1"}`,
		}, "text|||Hel|\ntext|||lo|\nend||||", 0},
		{"chunks", []string{
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m1","delta":"Hel"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","delta":"lo"}`,
			`{"type":"TOOL_CALL_CHUNK","toolCallId":"c1","toolCallName":"find","delta":"{\"a\""}`,
			`{"type":"TOOL_CALL_CHUNK","delta":":1}"}`,
			`{"type":"TEXT_MESSAGE_CHUNK","messageId":"m2","delta":"!"}`,
		}, "text|||Hel|\ntext|||lo|\nstart|c1|find||\narguments|c1|find||{\"a\":1}\ntext|||!|", 0},
		{"what others said is not the answer", []string{
			`{"type":"TEXT_MESSAGE_START","messageId":"u","role":"user"}`,
			`{"type":"TEXT_MESSAGE_CONTENT","messageId":"u","delta":"my own words"}`,
			`{"type":"TEXT_MESSAGE_END","messageId":"u"}`,
		}, "end||||", 0},
		{"calls", []string{
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"find","parentMessageId":"m1"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"{\"q\":"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c1","delta":"\"x\"}"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m2","toolCallId":"c1","content":"found"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m3","toolCallId":"c1","content":"twice"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m4","toolCallId":"forged","content":"nothing"}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c2","toolCallName":"parts"}`,
			`{"type":"TOOL_CALL_RESULT","messageId":"m5","toolCallId":"c2","content":[{"type":"text","text":"a"},{"type":"image"},{"type":"text","text":"b"}]}`,
			`{"type":"TOOL_CALL_START","toolCallId":"c3","toolCallName":"bad"}`,
			`{"type":"TOOL_CALL_ARGS","toolCallId":"c3","delta":"no json"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c3"}`,
		}, "start|c1|find||\narguments|c1|find||{\"q\":\"x\"}\nresult|c1|find|found|\n" +
			"start|c2|parts||\narguments|c2|parts||{}\nresult|c2|parts|ab|\nstart|c3|bad||\narguments|c3|bad||{}", 0},
		{"a call left to the client", []string{
			`{"type":"TOOL_CALL_START","toolCallId":"c1","toolCallName":"open_page"}`,
			`{"type":"TOOL_CALL_END","toolCallId":"c1"}`,
		}, "start|c1|open_page||\narguments|c1|open_page||{}", 1},
		{"activities", []string{
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"inlay.chart","content":{"status":"loading"}}`,
			`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"inlay.chart","patch":[{"op":"add","path":"/n","value":1}]}`,
			`{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"inlay.chart","patch":[{"op":"remove","path":"/nowhere"}]}`,
			`{"type":"ACTIVITY_DELTA","messageId":"unknown","activityType":"x","patch":[]}`,
			`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"inlay.chart","replace":false,"content":{}}`,
		}, "part|a|inlay.chart||{\"status\":\"loading\"}\npart|a|inlay.chart||{\"status\":\"loading\",\"n\":1}", 0},
		{"state", []string{
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/n","value":2}]}`,
			`{"type":"STATE_DELTA","delta":[{"op":"replace","path":"/nowhere","value":2}]}`,
			`{"type":"STATE_SNAPSHOT","snapshot":{"z":1}}`,
		}, "state||||{\"n\":2}\nstate||||{\"z\":1}", 0},
		{"what is not known, and reasoning", []string{
			`{"type":"STEP_STARTED","stepName":"s"}`, `{"type":"RAW","event":{}}`, `{"type":"FROM_THE_FUTURE","x":1}`,
			`{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"Hm."}`, `{"type":"MESSAGES_SNAPSHOT","messages":[]}`,
		}, "reasoning|||Hm.|", 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := serve(t, append(append([]string{begun}, tt.events...), ended, `{"type":"RUN_ERROR","message":"too late"}`)...)
			got, out, err := run(t, a, agent.Request{Thread: "c", Run: "r", State: json.RawMessage(`{"n":1}`), Tools: tools})
			if err != nil || out.Finish != model.FinishStop {
				t.Fatalf("finish %q: %v", out.Finish, err)
			}
			if got != tt.want {
				t.Errorf("got\n%s\nwant\n%s", got, tt.want)
			}
			if len(out.Calls) != tt.calls {
				t.Errorf("calls %+v", out.Calls)
			}
		})
	}
}

func TestEnds(t *testing.T) {
	for _, tt := range []struct {
		name, event, code string
		check             func(agent.Outcome) bool
	}{
		{"broken off", `{"type":"STEP_STARTED","stepName":"s"}`, "", func(o agent.Outcome) bool { return o.Finish == model.FinishIncomplete }},
		{"error", `{"type":"RUN_ERROR","message":"no","code":"x"}`, model.CodeUnavailable, nil},
		{"no event", `[1]`, model.CodeBadResponse, nil},
		{"no type", `{"a":1}`, model.CodeBadResponse, nil},
		{"delta of another kind", `{"type":"REASONING_MESSAGE_CONTENT","messageId":"m","delta":{"a":1}}`, model.CodeBadResponse, nil},
		{"call without a name", `{"type":"TOOL_CALL_START","toolCallId":"c"}`, model.CodeBadResponse, nil},
		{"interrupt that asks nothing", `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[]}}`, model.CodeBadResponse, nil},
		{"cancelled", `{"type":"RUN_FINISHED","outcome":{"type":"cancelled"}}`, "", func(o agent.Outcome) bool { return o.Cancelled && o.Finish == model.FinishStop }},
		{"interrupts", `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"i","reason":"tool_call","toolCallId":"c","message":"Sure?","expiresAt":"2030-01-02T03:04:05Z"},{"id":"j","reason":"input_required","responseSchema":{"type":"object"}}]}}`, "",
			func(o agent.Outcome) bool {
				return len(o.Interrupts) == 2 && o.Interrupts[0].Approval && o.Interrupts[0].Call == "c" && o.Interrupts[0].Expires.Year() == 2030 &&
					!o.Interrupts[1].Approval && string(o.Interrupts[1].Schema) == `{"type":"object"}`
			}},
		{"usage", `{"type":"RUN_FINISHED","usage":[{"inputTokens":3,"outputTokens":1},{"inputTokens":4}]}`, "",
			func(o agent.Outcome) bool { return o.Usage.InputTokens == 7 && o.Usage.OutputTokens == 1 }},
	} {
		t.Run(tt.name, func(t *testing.T) {
			a, _ := serve(t, begun, tt.event)
			_, out, err := run(t, a, agent.Request{Thread: "c", Run: "r"})
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

func TestRequest(t *testing.T) {
	a, posted := serve(t, begun, ended)
	_, _, err := run(t, a, agent.Request{
		Thread: "c", Run: "r.2", State: json.RawMessage(`{"n":1}`),
		Messages: []model.Message{
			{Role: model.RoleUser, Content: "What is this?", Images: []model.Image{{Mime: "image/png", Data: []byte("png")}}},
			{Role: model.RoleAssistant, Content: "Let me look.", Calls: []model.Call{{ID: "k", Name: "find", Arguments: json.RawMessage(`{"q":1}`)}}},
			{Role: model.RoleTool, CallID: "k", Content: "found"},
		},
		Tools:   []model.ToolSpec{{Name: "open", Description: "Opens.", Parameters: json.RawMessage(`{"type":"object"}`)}},
		Context: []agent.Entry{{Description: "page", Value: "home"}},
		Replies: []agent.Reply{
			{Interrupt: "i", Approval: true, Approved: true}, {Interrupt: "j", Payload: json.RawMessage(`{"x":1}`)},
			{Interrupt: "k", Cancelled: true}, {Interrupt: "l", Approval: true, Reason: "no"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	var got, want any
	if err := json.Unmarshal(*posted, &got); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(`{
		"threadId": "c", "runId": "r.2", "protocolVersion": "1.0", "state": {"n": 1}, "forwardedProps": {},
		"messages": [
			{"id": "c.0", "role": "user", "content": [{"type": "text", "text": "What is this?"}, {"type": "image", "source": {"type": "data", "mimeType": "image/png", "value": "cG5n"}}]},
			{"id": "c.1", "role": "assistant", "content": "Let me look.", "toolCalls": [{"id": "k", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}}]},
			{"id": "c.2", "role": "tool", "toolCallId": "k", "content": "found"}
		],
		"tools": [{"name": "open", "description": "Opens.", "parameters": {"type": "object"}}],
		"context": [{"description": "page", "value": "home"}],
		"resume": [
			{"interruptId": "i", "status": "resolved", "payload": {"approved": true}}, {"interruptId": "j", "status": "resolved", "payload": {"x": 1}},
			{"interruptId": "k", "status": "cancelled"}, {"interruptId": "l", "status": "resolved", "payload": {"approved": false, "reason": "no"}}
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

// A call of an earlier run has its result in this one.
func TestResultOfAnEarlierCall(t *testing.T) {
	a, _ := serve(t, begun, `{"type":"TOOL_CALL_RESULT","messageId":"m","toolCallId":"k","content":"booked"}`, ended)
	got, _, err := run(t, a, agent.Request{Thread: "c", Run: "r", Messages: []model.Message{
		{Role: model.RoleAssistant, Calls: []model.Call{{ID: "k", Name: "book"}}},
	}})
	if want := "result|k|book|booked|"; err != nil || got != want {
		t.Errorf("got %q, want %q: %v", got, want, err)
	}
}

func TestLimits(t *testing.T) {
	long := strings.Repeat("x", agent.MaxArguments+1)
	var many []string
	for i := range agent.MaxCalls + 1 {
		many = append(many, fmt.Sprintf(`{"type":"TOOL_CALL_START","toolCallId":"c%d","toolCallName":"n"}`, i))
	}
	for name, events := range map[string][]string{
		"arguments": {`{"type":"TOOL_CALL_START","toolCallId":"c","toolCallName":"n"}`, `{"type":"TOOL_CALL_ARGS","toolCallId":"c","delta":"` + long + `"}`},
		"calls":     many,
		"content":   {`{"type":"ACTIVITY_SNAPSHOT","messageId":"a","activityType":"x","content":{"t":"` + strings.Repeat("x", agent.MaxContent) + `"}}`},
	} {
		a, _ := serve(t, append([]string{begun}, events...)...)
		_, _, err := run(t, a, agent.Request{Thread: "c", Run: "r"})
		var known *model.Error
		if !errors.As(err, &known) || known.Code != model.CodeBadResponse {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestOnEndsTheRun(t *testing.T) {
	a, _ := serve(t, begun, `{"type":"REASONING_MESSAGE_CONTENT","messageId":"r","delta":"Hm."}`, ended)
	mine := errors.New("enough")
	if _, err := a.Run(t.Context(), agent.Request{}, func(agent.Piece) error { return mine }); !errors.Is(err, mine) {
		t.Errorf("error %v", err)
	}
}

func TestAddresses(t *testing.T) {
	for _, bad := range []string{"", "agent.example", "ftp://agent.example", "https://user:pass@agent.example"} {
		if _, err := agui.New(agent.Config{URL: bad}); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
	a, err := agui.New(agent.Config{URL: "https://agent.example/run?key=hush", APIKey: "hush2"})
	if err != nil {
		t.Fatal(err)
	}
	if s := fmt.Sprintf("%v %+v %#v", a, a.Info(), a.Info()); strings.Contains(s, "hush") {
		t.Errorf("a secret is shown: %s", s)
	}
}

func FuzzFrames(f *testing.F) {
	f.Add(`{"type":"TOOL_CALL_CHUNK","toolCallId":"c","toolCallName":"n","delta":"{"}`, `{"type":"ACTIVITY_DELTA","messageId":"a","activityType":"x","patch":[]}`)
	f.Add(`{"type":"STATE_DELTA","delta":null}`, `{"type":"TOOL_CALL_RESULT","toolCallId":"c","content":[{}]}`)
	f.Fuzz(func(t *testing.T, one, two string) {
		r := agui.NewReader(agent.Request{})
		for _, frame := range []string{begun, one, two, one, ended} {
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

// What an agent sends beyond all measure takes no more than the limits say.
func TestHostile(t *testing.T) {
	copies := strings.Repeat(`{"op":"copy","from":"/a","path":"/a/0"},`, 40)
	copies = "[" + strings.TrimSuffix(copies, ",") + "]"
	got, _, err := run(t, first(serve(t, begun,
		`{"type":"ACTIVITY_SNAPSHOT","messageId":"p","activityType":"table","content":{"a":["xxxxxxxx"]}}`,
		`{"type":"ACTIVITY_DELTA","messageId":"p","activityType":"table","patch":`+copies+`}`,
		`{"type":"STATE_SNAPSHOT","snapshot":{"a":["xxxxxxxx"]}}`, `{"type":"STATE_DELTA","delta":`+copies+`}`,
		`{"type":"CUSTOM","message":{},"code":5}`, `{"type":"FUTURE","delta":1,"role":[]}`, ended)), agent.Request{})
	if want := "part|p|table||{\"a\":[\"xxxxxxxx\"]}\nstate||||{\"a\":[\"xxxxxxxx\"]}"; err != nil || got != want {
		t.Errorf("%s, %v", got, err)
	}
	for name, event := range map[string]string{
		"id of a call":       `{"type":"TOOL_CALL_START","toolCallId":"` + strings.Repeat("x", agent.MaxID+1) + `","toolCallName":"n"}`,
		"id of an interrupt": `{"type":"RUN_FINISHED","outcome":{"type":"interrupt","interrupts":[{"id":"` + strings.Repeat("x", agent.MaxID+1) + `"}]}}`,
	} {
		var known *model.Error
		if _, _, err := run(t, first(serve(t, begun, event)), agent.Request{}); !errors.As(err, &known) || known.Code != model.CodeBadResponse {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, out, err := run(t, first(serve(t, begun, `{"type":"RUN_FINISHED","usage":[{"inputTokens":-4,"outputTokens":9223372036854775807},{"inputTokens":"x","outputTokens":7.0}],"outcome":{"type":"interrupt","interrupts":[{"id":"i"},{"id":"i"}]}}`)), agent.Request{})
	if err != nil || out.Usage != (model.Usage{OutputTokens: 7}) || len(out.Interrupts) != 1 {
		t.Errorf("%+v, %v", out, err)
	}
}

func first(a *agent.Peer, _ *[]byte) *agent.Peer { return a }
