package agui_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/wire/agui"
)

// What a client of each generation sends, with nothing left out.
const (
	input1 = `{"threadId":"t","runId":"r","protocolVersion":"1.0","parentRunId":"p",
	"messages":[
	 {"id":"d","role":"developer","content":"Be brief."},{"id":"s","role":"system","content":"Be brief."},
	 {"id":"u1","role":"user","content":"Show sales","name":"Ada","metadata":{"a":1}},
	 {"id":"a1","role":"assistant","content":"Here.","toolCalls":[{"id":"c1","type":"function","function":{"name":"open","arguments":"{}"}}]},
	 {"id":"x1","role":"activity","activityType":"inlay.chart","content":{"id":"x1"}},
	 {"id":"r1","role":"reasoning","content":"Hm."},
	 {"id":"o1","role":"tool","toolCallId":"c1","content":[{"type":"text","text":"opened"}],"error":"too late"},
	 {"id":"u2","role":"user","content":[{"type":"text","text":"What is this?"},{"type":"text","text":"And this?"},
	  {"type":"image","source":{"type":"data","value":"iVBO","mimeType":"image/png"},"metadata":{"filename":"a.png"}},
	  {"type":"document","source":{"type":"url","value":"https://example.com/a.pdf"}},
	  {"type":"audio","source":{"type":"file","value":"a_1","provider":"inlay","mimeType":"audio/wav"},"id":"z"},
	  {"type":"image","source":{"type":"url","value":"data:image/gif;base64,R0lG"}}]}],
	"tools":[{"name":"open","description":"Opens a page.","parameters":{"type":"object"},"metadata":{}},{"name":"bare","description":""}],
	"context":[{"description":"page","value":"orders"},{"description":"n","value":{"n":1}}],
	"state":{"n":1},
	"resume":[{"interruptId":"b_1","status":"resolved","payload":{"approved":true},"metadata":{}},{"interruptId":"b_2","status":"cancelled"}],
	"forwardedProps":{"theirs":[1],"capabilities":["chart@1"],"inlay":{"capabilities":["table@1","chart@1"],
	 "action":{"msgId":"m","blockId":"b","actionId":"go","payload":{"a":1},"idempotencyKey":"12345678","rev":2}}}}`
	input0 = `{"threadId":"t","runId":"r","state":{ },"tools":[],"context":[],"forwardedProps":{},
	"messages":[{"id":"u","role":"user","content":[{"type":"binary","mimeType":"image/png","data":"iVBO","filename":"a.png"},
	 {"type":"binary","mimeType":"application/pdf","url":"https://example.com/a.pdf"},{"type":"binary","mimeType":"video/mp4","id":"a_2"}]}]}`
)

func TestParseInput(t *testing.T) {
	in, err := agui.ParseInput([]byte(input1))
	if err != nil {
		t.Fatal(err)
	}
	if in.ThreadID != "t" || in.RunID != "r" || in.ParentRunID != "p" || in.Version() != agui.Version1 || len(in.Messages) != 8 || string(in.State) != `{"n":1}` {
		t.Errorf("%+v", in)
	}
	want := agui.InputMessage{ID: "u2", Role: "user", Parts: []agui.Part{
		{Type: "text", Text: "What is this?"}, {Type: "text", Text: "And this?"},
		{Type: "image", Source: agui.Source{Kind: "data", Value: "iVBO", MimeType: "image/png"}, Name: "a.png"},
		{Type: "document", Source: agui.Source{Kind: "url", Value: "https://example.com/a.pdf"}},
		{Type: "audio", Source: agui.Source{Kind: "file", Value: "a_1", MimeType: "audio/wav"}},
		{Type: "image", Source: agui.Source{Kind: "data", Value: "R0lG", MimeType: "image/gif"}},
	}}
	if got := in.Messages[7]; !reflect.DeepEqual(got, want) || got.Text() != "What is this?\n\nAnd this?" {
		t.Errorf("%+v", got)
	}
	if got := in.Messages[6]; got.ToolCallID != "c1" || got.Error != "too late" || got.Text() != "opened" {
		t.Errorf("%+v", got)
	}
	if got := in.Tools; len(got) != 2 || got[0].Name != "open" || string(got[0].Parameters) != `{"type":"object"}` || got[1].Parameters != nil {
		t.Errorf("%+v", got)
	}
	if got := fmt.Sprint(in.Context); got != `[{page orders} {n {"n":1}}]` {
		t.Errorf("%s", got)
	}
	if got := in.Resume; len(got) != 2 || got[0].Cancelled || string(got[0].Payload) != `{"approved":true}` || !got[1].Cancelled || got[1].Payload != nil {
		t.Errorf("%+v", got)
	}
	f := in.Forwarded
	if !f.Declared || f.Capabilities != "table@1,chart@1" || f.Action == nil || f.Action.ActionID != "go" || f.Action.Rev != 2 {
		t.Errorf("%+v", f)
	}

	in, err = agui.ParseInput([]byte(input0))
	if err != nil || in.Version() != "" || in.State != nil || in.Forwarded.Declared {
		t.Fatalf("%+v, %v", in, err)
	}
	parts := []agui.Part{
		{Type: "image", Source: agui.Source{Kind: "data", Value: "iVBO", MimeType: "image/png"}, Name: "a.png"},
		{Type: "document", Source: agui.Source{Kind: "url", Value: "https://example.com/a.pdf", MimeType: "application/pdf"}},
		{Type: "video", Source: agui.Source{Kind: "file", Value: "a_2", MimeType: "video/mp4"}},
	}
	if !reflect.DeepEqual(in.Messages[0].Parts, parts) {
		t.Errorf("%+v", in.Messages[0].Parts)
	}
	for body, want := range map[string]string{
		`{"threadId":"t","forwardedProps":{"capabilities":"a.b@1, c.d@2"}}`:                               "a.b@1, c.d@2",
		`{"threadId":"t","forwardedProps":{"capabilities":[]}}`:                                           "",
		`{"threadId":"t","forwardedProps":{"inlay":{"capabilities":""},"capabilities":["chart@1"]}}`:      "",
		`{"threadId":"t","forwardedProps":{"inlay":{"capabilities":null},"capabilities":["chart@1"]}}`:    "chart@1",
		`{"threadId":"t","messages":null,"resume":null,"forwardedProps":{"capabilities":["chart@1",""]}}`: "chart@1,",
	} {
		in, err := agui.ParseInput([]byte(body))
		if err != nil || !in.Forwarded.Declared || in.Forwarded.Capabilities != want {
			t.Errorf("%s: %+v, %v", body, in.Forwarded, err)
		}
	}
}

func TestParseInputRefuses(t *testing.T) {
	long := strings.Repeat("x", agui.MaxID+1)
	many := func(n int, entry string) string { return "[" + strings.Repeat(entry+",", n) + entry + "]" }
	for body, field := range map[string]string{
		`[]`: "", `null`: "", `"x"`: "",
		`{"runId":"r"}`:                        "threadId",
		`{"threadId":""}`:                      "threadId",
		`{"threadId":7}`:                       "threadId",
		`{"threadId":"` + long + `"}`:          "threadId",
		`{"threadId":"a\nb"}`:                  "threadId",
		`{"threadId":"t","runId":[]}`:          "runId",
		`{"threadId":"t","protocolVersion":1}`: "protocolVersion",
		`{"threadId":"t","messages":{}}`:       "messages",
		`{"threadId":"t","messages":` + many(agui.MaxMessages, `0`) + `}`:                                                 "messages",
		`{"threadId":"t","messages":[7]}`:                                                                                 "messages.0",
		`{"threadId":"t","messages":[{"id":"u"}]}`:                                                                        "messages.0.role",
		`{"threadId":"t","messages":[{"role":"user","content":7}]}`:                                                       "messages.0.content",
		`{"threadId":"t","messages":[{"role":"user","content":` + many(agui.MaxParts, `{}`) + `}]}`:                       "messages.0.content",
		`{"threadId":"t","messages":[{"role":"user","content":[7]}]}`:                                                     "messages.0.content.0",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"hologram"}]}]}`:                                   "messages.0.content.0.type",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"image"}]}]}`:                                      "messages.0.content.0.source",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"image","source":{"type":"disk","value":"/"}}]}]}`: "messages.0.content.0.source.type",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"image","source":{"type":"url"}}]}]}`:              "messages.0.content.0.source.value",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"binary","mimeType":"image/png"}]}]}`:              "messages.0.content.0",
		`{"threadId":"t","messages":[{"role":"user","content":[{"type":"binary","data":"x"}]}]}`:                          "messages.0.content.0.mimeType",
		`{"threadId":"t","messages":[{"role":"tool","content":"x"}]}`:                                                     "messages.0.toolCallId",
		`{"threadId":"t","messages":[{"role":"tool","toolCallId":"c","error":7}]}`:                                        "messages.0.error",
		`{"threadId":"t","tools":[{"description":"d"}]}`:                                                                  "tools.0.name",
		`{"threadId":"t","tools":[{"name":"n","parameters":[]}]}`:                                                         "tools.0.parameters",
		`{"threadId":"t","tools":` + many(agui.MaxTools, `{}`) + `}`:                                                      "tools",
		`{"threadId":"t","context":[7]}`:                                                                                  "context.0",
		`{"threadId":"t","context":[{"description":7}]}`:                                                                  "context.0.description",
		`{"threadId":"t","resume":[{"status":"resolved"}]}`:                                                               "resume.0.interruptId",
		`{"threadId":"t","resume":[{"interruptId":"b","status":"done"}]}`:                                                 "resume.0.status",
		`{"threadId":"t","resume":[{"interruptId":"b","status":"resolved"},{"interruptId":"b","status":"resolved"}]}`:     "resume.1.interruptId",
		`{"threadId":"t","forwardedProps":[]}`:                                                                            "forwardedProps",
		`{"threadId":"t","forwardedProps":{"inlay":7}}`:                                                                   "forwardedProps.inlay",
		`{"threadId":"t","forwardedProps":{"inlay":{"capabilties":[]}}}`:                                                  "forwardedProps.inlay.capabilties",
		`{"threadId":"t","forwardedProps":{"capabilities":[7]}}`:                                                          "forwardedProps.capabilities",
		`{"threadId":"t","forwardedProps":{"inlay":{"action":{"blockId":"b"}}}}`:                                          "forwardedProps.inlay.action",
		`{"threadId":"t","forwardedProps":{"inlay":{"action":{"blockId":"b","actionId":"a","user":"root"}}}}`:             "forwardedProps.inlay.action",
		`{"threadId":"t","forwardedProps":{"inlay":{"retryBlock":7}}}`:                                                    "forwardedProps.inlay.retryBlock",
		`{"threadId":"t","forwardedProps":{"inlay":{"retryBlock":"b","editOf":"m"}}}`:                                     "forwardedProps.inlay",
	} {
		_, err := agui.ParseInput([]byte(body))
		var e *agui.InputError
		if !errors.As(err, &e) || e.Field != field || e.Message == "" || !strings.Contains(err.Error(), e.Message) {
			t.Errorf("%.120s: %v, want a mistake in %q", body, err, field)
		}
	}
}

// Whatever arrives, it is read or refused, and what was read is within the
// limits.
func FuzzParseInput(f *testing.F) {
	for _, s := range []string{input1, input0, `{}`, `{"threadId":"t"}`, `{"threadId":"t","messages":[{"role":"user","content":[{"type":"text"}]}]}`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		if !json.Valid(data) {
			t.Skip()
		}
		in, err := agui.ParseInput(data)
		var e *agui.InputError
		if err != nil {
			if !errors.As(err, &e) {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		if in.ThreadID == "" || len(in.ThreadID) > agui.MaxID || len(in.RunID) > agui.MaxID || len(in.Resume) > agui.MaxResume {
			t.Fatalf("%+v", in)
		}
		for _, m := range in.Messages {
			_ = m.Text()
			if len(m.Parts) > agui.MaxParts || m.Role == "tool" && m.ToolCallID == "" {
				t.Fatalf("%+v", m)
			}
		}
		for _, tool := range in.Tools {
			if tool.Parameters != nil && !json.Valid(tool.Parameters) {
				t.Fatalf("%s", tool.Parameters)
			}
		}
	})
}
