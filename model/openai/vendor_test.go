package openai

import (
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// TestVendorShapes reads minimal streams in the shapes that vendors are known
// to send.
func TestVendorShapes(t *testing.T) {
	const end = "[DONE]"
	tests := []struct {
		name            string
		chunks          []string
		text, reasoning string
		call            string
		id              string
		usage           model.Usage
		finish          model.Finish
	}{
		{
			name: "usage null everywhere, then a chunk without choices",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":"ok"},"logprobs":null,"finish_reason":null}],"usage":null}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}],"usage":null}`,
				`{"choices":[],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":4},"completion_tokens_details":{"reasoning_tokens":1}}}`, end,
			},
			text: "ok", finish: model.FinishStop, usage: model.Usage{InputTokens: 9, OutputTokens: 2, CachedTokens: 4, ReasoningTokens: 1},
		},
		{
			name: "usage in the last chunk with choices",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"content":"ok"},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":9,"completion_tokens":2,"prompt_cache_hit_tokens":5}}`, end,
			},
			text: "ok", finish: model.FinishStop, usage: model.Usage{InputTokens: 9, OutputTokens: 2, CachedTokens: 5},
		},
		{
			name: "filter results before anything else",
			chunks: []string{
				`{"choices":[],"created":0,"id":"","model":"","object":"","prompt_filter_results":[{"prompt_index":0}]}`,
				`{"choices":[{"index":0,"delta":{"content":"ok"},"content_filter_results":{"hate":{"filtered":false}},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}`, end,
			},
			text: "ok", finish: model.FinishStop,
		},
		{
			name: "reasoning, then null content beside a call in pieces without id",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":null,"reasoning_content":"hm"},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"city\":"}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"\"Oslo\"}"}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":""},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`, end,
			},
			reasoning: "hm", call: `{"city":"Oslo"}`, id: "c1", finish: model.FinishToolCalls, usage: model.Usage{InputTokens: 1, OutputTokens: 1},
		},
		{
			name: "later pieces with an empty id",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\""}}]},"finish_reason":null}],"usage":null}`,
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"index":0,"id":"","type":"function","function":{"arguments":":\"Oslo\"}"}}]},"finish_reason":null}],"usage":null}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"usage":null}`, end,
			},
			call: `{"city":"Oslo"}`, id: "c1", finish: model.FinishToolCalls,
		},
		{
			name: "reasoning under its other name, a whole call, usage beside",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","reasoning":"hm","channel":"analysis"},"finish_reason":null}],"x_groq":{"id":"r"}}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"id":"c1","type":"function","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"},"index":0}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}],"x_groq":{"id":"r","usage":{"prompt_tokens":3,"completion_tokens":4}}}`, end,
			},
			reasoning: "hm", call: `{"city":"Oslo"}`, id: "c1", finish: model.FinishToolCalls, usage: model.Usage{InputTokens: 3, OutputTokens: 4},
		},
		{
			name: "call without index, finish in the same chunk",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"role":"assistant","content":""},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":null,"tool_calls":[{"id":"AbCdEf123","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"tool_calls"}],"usage":{"prompt_tokens":5,"completion_tokens":6}}`, end,
			},
			call: `{"city":"Oslo"}`, id: "AbCdEf123", finish: model.FinishToolCalls, usage: model.Usage{InputTokens: 5, OutputTokens: 6},
		},
		{
			name: "first call has index 1",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"content":"Let me look."},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"c1","type":"function","function":{"name":"weather","arguments":""}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"function":{"arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}`, end,
			},
			text: "Let me look.", call: `{"city":"Oslo"}`, id: "c1", finish: model.FinishToolCalls,
		},
		{
			name: "sources beside the choices",
			chunks: []string{
				`{"citations":["https://a.example"],"search_results":[{"url":"https://a.example"}],"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"delta":{"role":"assistant","content":"ok"},"finish_reason":null}],"usage":{"prompt_tokens":1,"completion_tokens":1}}`,
				`{"choices":[{"index":0,"message":{"role":"assistant","content":"ok"},"delta":{"content":""},"finish_reason":"stop"}],"usage":{"prompt_tokens":1,"completion_tokens":2,"cost":{"total_cost":0.1}}}`, end,
			},
			text: "ok", finish: model.FinishStop, usage: model.Usage{InputTokens: 1, OutputTokens: 2},
		},
		{
			name: "length is kept with a whole call",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"c1","function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":"length"}]}`, end,
			},
			call: `{"city":"Oslo"}`, id: "c1", finish: model.FinishLength,
		},
		{
			name: "two calls in a row without id and index",
			chunks: []string{
				`{"choices":[{"index":0,"delta":{"tool_calls":[{"function":{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}}]},"finish_reason":null}]}`,
				`{"choices":[{"index":0,"delta":{"content":"x"},"finish_reason":"stop"}]}`, end,
			},
			text: "x", call: `{"city":"Oslo"}`, id: "call_1", finish: model.FinishToolCalls,
		},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var body strings.Builder
			for _, c := range test.chunks {
				body.WriteString("data: " + c + "\n\n")
			}
			got, err := readAll(profiles[0], weather, strings.NewReader(body.String()))
			if err != nil {
				t.Fatal(err)
			}
			resp := got.Response
			if resp.Text != test.text || resp.Reasoning != test.reasoning || resp.Finish != test.finish || resp.Usage != test.usage {
				t.Errorf("%+v", resp)
			}
			switch {
			case test.call == "":
				if len(resp.Calls) != 0 {
					t.Errorf("calls %+v", resp.Calls)
				}
			case len(resp.Calls) != 1 || string(resp.Calls[0].Arguments) != test.call || resp.Calls[0].ID != test.id:
				t.Errorf("calls %+v", resp.Calls)
			}
		})
	}
}

func TestFraming(t *testing.T) {
	chunk := func(text string) string {
		return `{"choices":[{"index":0,"delta":{"content":"` + text + `"},"finish_reason":null}]}`
	}
	tests := []struct {
		name, body, text string
		finish           model.Finish
		quirk            string
	}{
		{"data without a space", "data:" + chunk("a") + "\n\ndata:[DONE]\n\n", "a", model.FinishStop, "finish_missing"},
		{"pretty-printed over data lines", "data: {\"choices\":[{\"index\":0,\ndata: \"delta\":{\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", "a", model.FinishStop, ""},
		{"blank lines lost", "data: " + chunk("a") + "\ndata: " + chunk("b") + "\ndata: [DONE]\n", "ab", model.FinishStop, ""},
		{"id and event fields", "id: 1\nevent: result\n:HTTP_STATUS/200\ndata: " + chunk("a") + "\n\ndata: [DONE]\n\n", "a", model.FinishStop, ""},
		{"comment sent as data", "data: : keep-alive\n\ndata: " + chunk("a") + "\n\ndata: [DONE]\n\n", "a", model.FinishStop, "skipped_data 1"},
		{"cut in the middle of a frame", "data: " + chunk("a") + "\n\ndata: {\"choi", "a", model.FinishIncomplete, "cut_frame"},
		{"nothing at all", "", "", model.FinishIncomplete, ""},
		{"after the end mark", "data: " + chunk("a") + "\n\ndata: [DONE]\n\ndata: " + chunk("b") + "\n\n", "a", model.FinishStop, ""},
		{"members of a wrong kind", `data: {"id":1,"choices":[{"index":"0","delta":{"content":"a","tool_calls":{}},"finish_reason":7}],"usage":"x"}` + "\n\ndata: [DONE]\n\n", "a", model.FinishStop, "odd_type tool_calls"},
		{"a second choice", `data: {"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}` + "\n\ndata: [DONE]\n\n", "a", model.FinishStop, "other_choice"},
		{"unknown finish", `data: {"choices":[{"index":0,"delta":{"content":"a"},"finish_reason":"enough"}]}` + "\n\ndata: [DONE]\n\n", "a", model.FinishStop, "finish_unknown enough"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got, err := readAll(profiles[0], weather, strings.NewReader(test.body))
			if err != nil {
				t.Fatal(err)
			}
			if got.Text != test.text || got.Response.Finish != test.finish || !strings.Contains(strings.Join(got.Response.Quirks, ";"), test.quirk) {
				t.Errorf("%+v", got)
			}
		})
	}
	long := "data: {\"choices\":[{\"delta\":{\"content\":\"" + strings.Repeat("x", 3<<20) + "\"}}]}\n\ndata: [DONE]\n\n"
	if got, err := readAll(profiles[0], nil, strings.NewReader(long)); err != nil || len(got.Text) != 3<<20 {
		t.Errorf("a line of 3 MiB: %d bytes, %v", len(got.Text), err)
	}
	if _, err := readAll(profiles[0], nil, strings.NewReader("data: "+strings.Repeat("x", endpoint.MaxFrame+1))); err == nil || model.AsError(err).Code != model.CodeBadResponse {
		t.Errorf("a line over the limit: %v", err)
	}
}

// An endpoint that never comes to an end with what is only kept is cut off.
func TestEndlessCalls(t *testing.T) {
	long := strings.Repeat("x", 10_000)
	for name, piece := range map[string]string{
		"arguments": `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"","arguments":"` + long + `"}}]}}]}`,
		"names":     `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","function":{"name":"` + long + `"}}]}}]}`,
		"members":   `{"choices":[{"delta":{"unheard_of":"` + long + `"}}]}`,
		"of a call": `{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"c","extra":"` + long + `","function":{}}]}}]}`,
		"legacy":    `{"choices":[{"delta":{"function_call":{"name":"f","arguments":"` + long + `"}}}]}`,
		"calls":     `{"choices":[{"delta":{"tool_calls":[{"id":"c%d","function":{"name":"weather","arguments":"{}"}}]}}]}`,
	} {
		var body strings.Builder
		for i := range 400 {
			body.WriteString("data: " + strings.Replace(piece, "%d", strconv.Itoa(i), 1) + "\n\n")
		}
		got, err := readAll(profiles[0], weather, strings.NewReader(body.String()+"data: [DONE]\n\n"))
		if err == nil || model.AsError(err).Code != model.CodeBadResponse || model.AsError(err).Retryable {
			t.Errorf("%s: %d calls, %v", name, len(got.Response.Calls), err)
		}
	}
	// Many chunks in one frame are read in linear time.
	run := strings.Repeat(`{"choices":[{"delta":{"content":"word "}}]}`+"\ndata: ", 100_000)
	if got, err := readAll(profiles[0], nil, strings.NewReader("data: "+run+"[DONE]\n\n")); err != nil || len(got.Text) != 500_000 {
		t.Errorf("%d bytes, %v", len(got.Text), err)
	}
}

func TestArguments(t *testing.T) {
	for raw, want := range map[string]string{
		``:                         `{}`,
		"  \n":                     `{}`,
		`null`:                     `{}`,
		`"null"`:                   `{}`,
		`""`:                       `{}`,
		`{"a": 1}`:                 `{"a":1}`,
		`"{\"a\":1}"`:              `{"a":1}`,
		`{"a":1} {"a": 1}`:         `{"a":1}`,
		"{\"a\":\"x\ty\\\\\"}":     `{"a":"x\ty\\"}`,
		"{\"a\":\"x\x01\"}":        `{"a":"x\u0001"}`,
		`{"a":1}{"b":1}`:           "",
		`[1]`:                      "",
		`7`:                        "",
		`"text"`:                   "",
		`"\"{}\""`:                 "", // unwrapped once only
		`{"a":1`:                   "",
		`{'a':1}`:                  "",
		"{\"a\":\"x\ny":            "",
		"{\"a\":1}\nignored words": "",
	} {
		var c model.Call
		readArguments(&c, raw)
		if string(c.Arguments) != want || (c.Err == "") != (want != "") || c.Raw != raw {
			t.Errorf("%q: %+v, want %s", raw, c, want)
		}
	}
}
