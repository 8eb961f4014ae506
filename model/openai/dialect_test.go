package openai

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/inlay-ui/inlay/model"
)

// stream is a body that carries the pieces as text deltas.
func stream(finish string, pieces ...string) string {
	var b strings.Builder
	for _, p := range pieces {
		text, err := json.Marshal(p)
		if err != nil {
			panic(err)
		}
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":%s},\"finish_reason\":null}]}\n\n", text)
	}
	if finish != "" {
		fmt.Fprintf(&b, "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":%q}]}\n\ndata: [DONE]\n\n", finish)
	}
	return b.String()
}

var weather = []model.ToolSpec{{
	Name:       "weather",
	Parameters: json.RawMessage(`{"type":"object","properties":{"city":{"type":"string"},"days":{"type":"integer"},"units":{"type":["string","null"]}}}`),
}}

func TestDialects(t *testing.T) {
	const call = `<tool_call>{"name":"weather","arguments":{"city":"Oslo"}}</tool_call>`
	tests := []struct {
		name            string
		profile         Profile
		in              string
		finish          string
		text, reasoning string
		calls           []string
	}{
		{name: "off by default", in: "<think>a</think>b" + call, text: "<think>a</think>b" + call},
		{name: "think", profile: Profile{ThinkTags: true}, in: " \n<think>\na b\n</think>\n\nc", text: "c", reasoning: "a b"},
		{name: "think later is text", profile: Profile{ThinkTags: true}, in: "Use `<think>x</think>`.", text: "Use `<think>x</think>`."},
		{name: "think twice", profile: Profile{ThinkTags: true}, in: "<think>a</think><think>b</think>", text: "<think>b</think>", reasoning: "a"},
		{name: "think cut", profile: Profile{ThinkTags: true}, in: "<think>a</thi", reasoning: "a</thi"},
		{name: "half a tag", profile: Profile{ThinkTags: true}, in: " <thi", text: " <thi"},
		{name: "prefilled", profile: Profile{ThinkPrefilled: true}, in: "a < b\n</think>\nc", text: "c", reasoning: "a < b"},
		{name: "prefilled and repeated", profile: Profile{ThinkPrefilled: true}, in: "<think>a</think>c", text: "c", reasoning: "a"},
		{name: "hermes", profile: Profile{TextTools: TextToolsHermes}, in: "Hm.\n" + call + "\n" + call + "\n", text: "Hm.\n", calls: []string{`{"city":"Oslo"}`, `{"city":"Oslo"}`}},
		{name: "hermes, text around", profile: Profile{TextTools: TextToolsHermes}, in: "The <tool_call> tag: " + call + " Done.", text: "The <tool_call> tag: Done.", calls: []string{`{"city":"Oslo"}`}},
		{name: "hermes without closing tag", profile: Profile{TextTools: TextToolsHermes}, in: strings.TrimSuffix(call, callClose), calls: []string{`{"city":"Oslo"}`}},
		{name: "hermes cut by length", profile: Profile{TextTools: TextToolsHermes}, in: strings.TrimSuffix(call, callClose), finish: "length", text: strings.TrimSuffix(call, callClose)},
		{name: "hermes, arguments as text", profile: Profile{TextTools: TextToolsHermes}, in: `<tool_call>{"name":"weather","arguments":"{\"city\":\"Oslo\"}"}</tool_call>`, calls: []string{`{"city":"Oslo"}`}},
		{name: "hermes, not JSON", profile: Profile{TextTools: TextToolsHermes}, in: "<tool_call>{oops}</tool_call>", text: "<tool_call>{oops}</tool_call>"},
		{name: "tag inside thinking", profile: Profile{ThinkTags: true, TextTools: TextToolsHermes}, in: "<think>" + call + "</think>No.", text: "No.", reasoning: call},
		{name: "qwen", profile: Profile{TextTools: TextToolsQwenXML}, in: "<tool_call>\n<function=weather>\n<parameter=city>\n42\n</parameter>\n<parameter=days>\n3\n</parameter>\n<parameter=units>\nnull\n</parameter>\n</function>\n</tool_call>", calls: []string{`{"city":"42","days":3,"units":"null"}`}},
		{name: "qwen, other tool", profile: Profile{TextTools: TextToolsQwenXML}, in: "<tool_call><function=rm></function></tool_call>", text: "<tool_call><function=rm></function></tool_call>"},
		{name: "qwen, no arguments", profile: Profile{TextTools: TextToolsQwenXML}, in: "<tool_call><function=weather></function></tool_call>", calls: []string{`{}`}},
		{name: "call too long", profile: Profile{TextTools: TextToolsHermes}, in: "<tool_call>" + strings.Repeat("x", maxTextCall+1) + callClose, text: "<tool_call>" + strings.Repeat("x", maxTextCall+1) + callClose},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if test.finish == "" {
				test.finish = "stop"
			}
			got, err := readAll(test.profile, weather, strings.NewReader(stream(test.finish, test.in)))
			if err != nil {
				t.Fatal(err)
			}
			var calls []string
			for _, c := range got.Response.Calls {
				calls = append(calls, string(c.Arguments))
			}
			if got.Text != test.text || got.Reasoning != test.reasoning || !reflect.DeepEqual(calls, test.calls) {
				t.Errorf("text %q, reasoning %q, calls %q", got.Text, got.Reasoning, calls)
			}
			if (got.Response.Finish == model.FinishToolCalls) != (len(calls) > 0) {
				t.Errorf("finish %s with calls %q", got.Response.Finish, calls)
			}
		})
	}
}

// TestDialectChunks checks that the cuts of the text make no difference.
func TestDialectChunks(t *testing.T) {
	parts := []string{
		"<think>", "</think>", "<tool_call>", "</tool_call>", "<thi", "nk>", "</", "<tool_", " ", "\n", "text", "文字", "<",
		`{"name":"weather","arguments":{"city":"Oslo"}}`, "<function=weather>", "<parameter=days>3</parameter>", "</function>",
	}
	rapid.Check(t, func(t *rapid.T) {
		p := Profile{
			ThinkTags:      rapid.Bool().Draw(t, "think"),
			ThinkPrefilled: rapid.Bool().Draw(t, "prefilled"),
			TextTools:      rapid.SampledFrom([]TextTools{TextToolsOff, TextToolsHermes, TextToolsQwenXML}).Draw(t, "tools"),
		}
		finish := rapid.SampledFrom([]string{"", "stop", "length"}).Draw(t, "finish")
		in := strings.Join(rapid.SliceOfN(rapid.SampledFrom(parts), 0, 12).Draw(t, "text"), "")
		whole, err := readAll(p, weather, strings.NewReader(stream(finish, in)))
		if err != nil {
			t.Fatal(err)
		}
		var pieces []string
		for rest := []rune(in); len(rest) > 0; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "cut")
			pieces = append(pieces, string(rest[:n]))
			rest = rest[n:]
		}
		cutUp, err := readAll(p, weather, strings.NewReader(stream(finish, pieces...)))
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(whole, cutUp) {
			t.Fatalf("%q:\nwhole  %+v\ncut up %+v", in, whole, cutUp)
		}
	})
}
