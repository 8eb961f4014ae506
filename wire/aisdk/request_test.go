package aisdk_test

import (
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/wire/aisdk"
)

const said = `{"id":"u1","role":"user","parts":[{"type":"text","text":"Hello"}]}`

func ref[T any](v T) *T { return &v }

func TestParseRequest(t *testing.T) {
	for name, c := range map[string]struct {
		body string
		want aisdk.Request
	}{
		"submit": {`{"id":"c","messages":[` + said + `],"trigger":"submit-message","theirs":{"a":1}}`,
			aisdk.Request{Chat: "c", User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}}},
		"edit": {`{"id":"c","messages":[{"id":"s","role":"system"},` + said + `],"trigger":"submit-message","messageId":"u1"}`,
			aisdk.Request{Chat: "c", MessageID: "u1", Seen: []aisdk.Seen{{ID: "s", Role: "system"}}, User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}}},
		"regenerate": {`{"id":"c","messages":[` + said + `],"trigger":"regenerate-message","messageId":"m_1"}`,
			aisdk.Request{Chat: "c", Regenerate: true, MessageID: "m_1", User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}}},
		"the last alone": {`{"id":"c","messages":[],"message":` + said + `}`,
			aisdk.Request{Chat: "c", Alone: true, User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}}},
		"files and texts": {`{"id":"c","message":{"id":"u1","role":"user","parts":[{"type":"file","url":"data:,x","mediaType":"text/plain","filename":"x.txt"},{"type":"text","text":"One"},{"type":"text","text":" "},{"type":"data-x","data":1},{"type":"file"},{"type":"text","text":"Two"}]}}`,
			aisdk.Request{Chat: "c", Alone: true, User: &aisdk.UserMessage{ID: "u1", Text: "One\n\nTwo", Files: []aisdk.File{{URL: "data:,x", MediaType: "text/plain", Name: "x.txt"}}}}},
		"answers": {`{"id":"c","messageId":"m_1","messages":[` + said + `,{"id":"m_1","role":"assistant","parts":[{"type":"text","text":"x"},
			{"type":"tool-pay","toolCallId":"c1","state":"approval-responded","approval":{"id":"b_1","approved":true}},
			{"type":"dynamic-tool","toolName":"pay","toolCallId":"c2","state":"approval-responded","approval":{"id":"b_2","approved":false,"reason":"no"}},
			{"type":"tool-read","toolCallId":"c3","state":"output-available","output":{"a": "<b>"}},
			{"type":"tool-read","toolCallId":"c4","state":"output-available","output":"text"},
			{"type":"tool-read","toolCallId":"c5","state":"output-error","errorText":"broke"},
			{"type":"tool-read","toolCallId":"c6","state":"output-available","output":1,"providerExecuted":true},
			{"type":"tool-read","toolCallId":"c7","state":"output-available"},
			{"type":"tool-read","toolCallId":"c8","state":"input-available","input":{}},
			{"type":"data-x","state":"output-available","data":1}]},` + said + `]}`,
			aisdk.Request{Chat: "c", MessageID: "m_1", Seen: []aisdk.Seen{{ID: "u1", Role: "user"}, {ID: "m_1", Role: "assistant"}}, User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}, Assistant: "m_1",
				Approvals: []aisdk.Approval{{ID: "b_1", Approved: true}, {ID: "b_2", Reason: "no"}},
				Outputs:   []aisdk.Output{{Call: "c3", Content: `{"a":"<b>"}`}, {Call: "c4", Content: "text"}, {Call: "c5", Content: "broke", Failed: true}, {Call: "c7"}}}},
		"what the application adds": {`{"id":"c","message":` + said + `,"capabilities":["chart@1","x.y@2"],"system":"Be kind.","tools":{"b":{"description":"B","parameters":{"type":"object"}},"a":{}},"context":[{"description":"page","value":"/orders"}],"state":{"n":1}}`,
			aisdk.Request{Chat: "c", Alone: true, User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}, Capabilities: ref("chart@1,x.y@2"), System: "Be kind.",
				Tools:   []aisdk.Tool{{Name: "a"}, {Name: "b", Description: "B", Parameters: []byte(`{"type":"object"}`)}},
				Context: []aisdk.Context{{Description: "page", Value: "/orders"}}, State: []byte(`{"n":1}`)}},
		"tools as a list, nulls": {`{"id":"c","message":` + said + `,"capabilities":"","tools":[{"name":"a","inputSchema":{}}],"state":null,"action":null,"messages":null,"trigger":""}`,
			aisdk.Request{Chat: "c", Alone: true, User: &aisdk.UserMessage{ID: "u1", Text: "Hello"}, Capabilities: ref(""), Tools: []aisdk.Tool{{Name: "a", Parameters: []byte(`{}`)}}}},
		"a block again": {`{"id":"c","retryBlock":"b_1","messages":[{"id":"m_1","role":"assistant","parts":[]}]}`,
			aisdk.Request{Chat: "c", RetryBlock: "b_1", Assistant: "m_1"}},
		"an action": {`{"id":"c","action":{"blockId":"b_1","actionId":"submit","payload":{"a":1},"idempotencyKey":"12345678","other":1}}`,
			aisdk.Request{Chat: "c", Action: &aisdk.Action{BlockID: "b_1", ActionID: "submit", Payload: []byte(`{"a":1}`), IdempotencyKey: "12345678"}}},
	} {
		got, err := aisdk.ParseRequest([]byte(c.body))
		if err != nil || !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s: %+v, %v\nwant %+v", name, got, err, c.want)
		}
	}
}

func TestParseRequestRefuses(t *testing.T) {
	long := strings.Repeat("x", aisdk.MaxID+1)
	many := func(n int, one string) string { return strings.TrimSuffix(strings.Repeat(one+",", n), ",") }
	for name, c := range map[string]struct {
		body, field string
		limit       int
	}{
		"nothing":               {``, "", 0},
		"no object":             {`[1]`, "", 0},
		"broken":                {`{"id":"c"`, "", 0},
		"no UTF-8":              {"{\"id\":\"\xff\"}", "", 0},
		"no id":                 {`{"messages":[` + said + `]}`, "id", 0},
		"an id of a kind":       {`{"id":1}`, "id", 0},
		"a long id":             {`{"id":"` + long + `"}`, "id", aisdk.MaxID},
		"a long message id":     {`{"id":"c","messages":[{"id":"` + long + `","role":"user","parts":[]}]}`, "messages.0.id", aisdk.MaxID},
		"a trigger":             {`{"id":"c","trigger":"resume-stream"}`, "trigger", 0},
		"no messages":           {`{"id":"c","messages":[]}`, "messages", 0},
		"a message of a kind":   {`{"id":"c","messages":["hello"]}`, "messages.0", 0},
		"a role":                {`{"id":"c","messages":[{"role":"tool"}]}`, "messages.0.role", 0},
		"no parts":              {`{"id":"c","messages":[{"id":"u","role":"user"}]}`, "messages.0.parts", 0},
		"parts of a kind":       {`{"id":"c","messages":[{"id":"u","role":"user","parts":{}}]}`, "messages.0.parts", 0},
		"a part of a kind":      {`{"id":"c","messages":[{"id":"u","role":"user","parts":[{"type":"text","text":1}]}]}`, "messages.0.parts.text", 0},
		"a call without id":     {`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[{"type":"tool-a","state":"output-available"}]}]}`, "messages.0.parts.0.toolCallId", 0},
		"an undecided approval": {`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[{"type":"tool-a","state":"approval-responded","approval":{"id":"b"}}]}]}`, "messages.0.parts.0.approval.approved", 0},
		"an approval of none":   {`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[{"type":"tool-a","state":"approval-responded","approval":{}}]}]}`, "messages.0.parts.0.approval.id", 0},
		"many messages":         {`{"id":"c","messages":[` + many(aisdk.MaxMessages+1, said) + `]}`, "messages", aisdk.MaxMessages},
		"many parts":            {`{"id":"c","messages":[{"id":"u","role":"user","parts":[` + many(aisdk.MaxParts+1, `{"type":"x"}`) + `]}]}`, "messages.0.parts", aisdk.MaxParts},
		"many tools":            {`{"id":"c","messages":[` + said + `],"tools":[` + many(aisdk.MaxTools+1, `{"name":"a"}`) + `]}`, "tools", aisdk.MaxTools},
		"a tool of no name":     {`{"id":"c","messages":[` + said + `],"tools":[{}]}`, "tools.0.name", 0},
		"tools of a kind":       {`{"id":"c","messages":[` + said + `],"tools":7}`, "tools", 0},
		"capabilities":          {`{"id":"c","messages":[` + said + `],"capabilities":{}}`, "capabilities", 0},
	} {
		_, err := aisdk.ParseRequest([]byte(c.body))
		var wrong *aisdk.RequestError
		if !errors.As(err, &wrong) || wrong.Field != c.field || wrong.Limit != c.limit || wrong.Message == "" || !strings.Contains(err.Error(), wrong.Message) {
			t.Errorf("%s: %v, want field %q and limit %d", name, err, c.field, c.limit)
		}
	}
	// Of many answers the newest are taken.
	parts := make([]string, aisdk.MaxAnswers+5)
	for i := range parts {
		parts[i] = `{"type":"tool-a","toolCallId":"c` + strconv.Itoa(i) + `","state":"output-available","output":1}`
	}
	r, err := aisdk.ParseRequest([]byte(`{"id":"c","messages":[{"id":"m","role":"assistant","parts":[` + strings.Join(parts, ",") + `]}]}`))
	if err != nil || len(r.Outputs) != aisdk.MaxAnswers || r.Outputs[0].Call != "c5" {
		t.Errorf("%d outputs, %v", len(r.Outputs), err)
	}
}

func FuzzParseRequest(f *testing.F) {
	for _, seed := range []string{
		`{"id":"c","messages":[` + said + `],"trigger":"submit-message"}`,
		`{"id":"c","messages":[` + said + `,{"id":"m_1","role":"assistant","parts":[{"type":"tool-pay","toolCallId":"c1","state":"approval-responded","approval":{"id":"b_1","approved":true}},{"type":"tool-x","toolCallId":"c2","state":"output-available","output":{"a":[1]}}]}]}`,
		`{"id":"c","message":` + said + `,"capabilities":["chart@1"],"tools":{"a":{"parameters":{}}},"context":[{}],"state":1,"action":{"blockId":"b"}}`,
		`{"id":"c","retryBlock":"b_1"}`, `null`, `[]`, `{"id":null,"messages":[null]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		r, err := aisdk.ParseRequest(raw)
		if err != nil {
			var wrong *aisdk.RequestError
			if !errors.As(err, &wrong) || wrong.Message == "" {
				t.Fatalf("%v is no error of a request", err)
			}
			return
		}
		if r.Chat == "" || len(r.Chat) > aisdk.MaxID || len(r.MessageID) > aisdk.MaxID || len(r.Seen) > aisdk.MaxMessages || len(r.Outputs) > aisdk.MaxAnswers || len(r.Approvals) > aisdk.MaxAnswers {
			t.Fatalf("a limit was passed: %+v", r)
		}
		if r.User == nil && r.Assistant == "" && !r.Regenerate && r.RetryBlock == "" && r.RefreshBlock == "" && r.Action == nil && len(r.Approvals)+len(r.Outputs) > 0 {
			t.Fatalf("answers in no message: %+v", r)
		}
	})
}

// What a stream is collected to is what the log folds to.
func TestCollect(t *testing.T) {
	for name, events := range logs(t) {
		for reader, view := range readers(t) {
			stream := write(t, view, events, 0, true)
			m, err := aisdk.Collect([]byte(stream))
			if err != nil || m.ID != events[0].Msg {
				t.Fatalf("%s as %s: %v, %v", name, reader, m, err)
			}
			var got []string
			for _, p := range m.Parts[1:] {
				switch typ, _ := p["type"].(string); {
				case typ == "step-start":
					got = append(got, "step:")
				case typ == "text" || typ == "reasoning":
					text, _ := p["text"].(string)
					if got = append(got, typ+":"+text); p["state"] != "done" {
						t.Errorf("%s as %s: %v", name, reader, p)
					}
				case strings.HasPrefix(typ, "data-"):
					data, _ := p["data"].(map[string]any)
					status, _ := data["status"].(string)
					got = append(got, typ+":"+status)
				case strings.HasPrefix(typ, "tool-"):
					state, _ := p["state"].(string)
					got = append(got, typ+":"+state)
				default:
					url, _ := p["url"].(string)
					got = append(got, typ+":"+url)
				}
			}
			want := texts(check(t, reader, stream))
			for i, w := range want {
				if kind, states, ok := strings.Cut(w, ":"); ok && strings.HasPrefix(kind, "tool-") {
					words := strings.Fields(states)
					last := words[len(words)-1]
					switch {
					case last == "approval-request":
						last = "approval-requested"
					case strings.HasPrefix(last, "approved="):
						last = "approval-responded"
					}
					want[i] = kind + ":" + last
				}
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("%s as %s: %q, want %q", name, reader, got, want)
			}
		}
	}
	if _, err := aisdk.Collect([]byte("data: {\n\n")); err == nil {
		t.Error("a broken chunk")
	}
}
