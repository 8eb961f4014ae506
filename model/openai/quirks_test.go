package openai

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/inlay-ui/inlay/model"
)

// quirk is one row of testdata/quirks.jsonl: a stream as some endpoint sends
// it and what has to be read from it.
type quirk struct {
	Name      string          `json:"name"`
	SSE       []string        `json:"sse"`
	LineEnd   string          `json:"line_end"`
	Profile   json.RawMessage `json:"profile"`
	Tools     []string        `json:"tools"`
	Text      string          `json:"expected_text"`
	Reasoning string          `json:"expected_reasoning"`
	Finish    string          `json:"expected_finish"`
	Error     string          `json:"expected_error"`
	MustEcho  []string        `json:"must_echo"`
	Usage     *struct {
		Prompt     int `json:"prompt_tokens"`
		Completion int `json:"completion_tokens"`
	} `json:"expected_usage"`
	Calls []struct {
		ID           string          `json:"id"`
		Name         string          `json:"name"`
		Arguments    json.RawMessage `json:"arguments"`
		Bad          bool            `json:"arguments_error"`
		Raw          string          `json:"raw"`
		Input        string          `json:"input"`
		Repaired     bool            `json:"repaired"`
		ExtraContent json.RawMessage `json:"extra_content"`
	} `json:"expected_tool_calls"`
}

func quirks(t testing.TB) []quirk {
	file, err := os.Open("testdata/quirks.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var rows []quirk
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var q quirk
		if err := json.Unmarshal(lines.Bytes(), &q); err != nil {
			t.Fatal(err)
		}
		rows = append(rows, q)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return rows
}

func (q quirk) body(lineEnd string) string {
	if q.LineEnd != "" && lineEnd == "\n" {
		lineEnd = q.LineEnd
	}
	body := strings.Join(q.SSE, lineEnd)
	if q.SSE[len(q.SSE)-1] == "" {
		body += lineEnd
	}
	return body
}

func (q quirk) profile(t testing.TB) Profile {
	p := profiles[0]
	if q.Profile != nil {
		if err := json.Unmarshal(q.Profile, &p); err != nil {
			t.Fatal(err)
		}
	}
	if strings.HasPrefix(q.Name, "think_") {
		p.ThinkTags = true
	}
	return p
}

func (q quirk) tools() []model.ToolSpec {
	names := q.Tools
	for _, c := range q.Calls {
		if q.Tools == nil && c.Input == "" {
			names = append(names, c.Name)
		}
	}
	specs := make([]model.ToolSpec, len(names))
	for i, n := range names {
		specs[i].Name = n
	}
	return specs
}

// result is what a reader made of a stream, with the pieces put together.
type result struct {
	Text, Reasoning string
	Started         []string
	Response        model.Response
	Err             string
}

func readAll(p Profile, tools []model.ToolSpec, body io.Reader) (result, error) {
	var got result
	n := 0
	r := newReader(p, tools, func(d model.Delta) error {
		got.Text += d.Text
		got.Reasoning += d.Reasoning
		if d.CallStarted != "" {
			got.Started = append(got.Started, d.CallStarted)
		}
		return nil
	}, func() string {
		n++
		return fmt.Sprintf("call_%d", n)
	})
	resp, err := r.read(body)
	got.Response = resp
	if err != nil {
		got.Err = err.Error()
	}
	return got, err
}

func TestQuirks(t *testing.T) {
	rows := quirks(t)
	t.Logf("%d rows", len(rows))
	for _, q := range rows {
		t.Run(q.Name, func(t *testing.T) {
			want, err := readAll(q.profile(t), q.tools(), strings.NewReader(q.body("\n")))
			q.check(t, want, err)
			for _, end := range []string{"\n", "\r\n", "\r"} {
				body := q.body(end)
				got, _ := readAll(q.profile(t), q.tools(), iotest.OneByteReader(strings.NewReader(body)))
				if !reflect.DeepEqual(got, want) {
					t.Fatalf("line end %q, byte by byte: got %+v, want %+v", end, got, want)
				}
				if end != "\n" {
					continue
				}
				for i := range body {
					parts := io.MultiReader(strings.NewReader(body[:i]), strings.NewReader(body[i:]))
					if got, _ := readAll(q.profile(t), q.tools(), parts); !reflect.DeepEqual(got, want) {
						t.Fatalf("line end %q, cut at %d: got %+v, want %+v", end, i, got, want)
					}
				}
			}
			marked := "\xEF\xBB\xBF" + q.body("\n")
			if got, _ := readAll(q.profile(t), q.tools(), strings.NewReader(marked)); !reflect.DeepEqual(got, want) {
				t.Fatalf("with a byte order mark: got %+v, want %+v", got, want)
			}
		})
	}
}

func (q quirk) check(t *testing.T, got result, err error) {
	t.Helper()
	resp := got.Response
	if resp.Text != q.Text || got.Text != q.Text {
		t.Errorf("text %q (streamed %q), want %q", resp.Text, got.Text, q.Text)
	}
	if resp.Reasoning != q.Reasoning || got.Reasoning != q.Reasoning {
		t.Errorf("reasoning %q (streamed %q), want %q", resp.Reasoning, got.Reasoning, q.Reasoning)
	}
	if q.Finish == "error" {
		if err == nil {
			t.Fatal("no error")
		}
		if e := model.AsError(err); !strings.Contains(e.Message, q.Error) || !e.Retryable || resp.Calls != nil {
			t.Errorf("error %+v, want %q, retryable", e, q.Error)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if string(resp.Finish) != q.Finish {
		t.Errorf("finish %q, want %q", resp.Finish, q.Finish)
	}
	if q.Usage != nil && (resp.Usage.InputTokens != q.Usage.Prompt || resp.Usage.OutputTokens != q.Usage.Completion) {
		t.Errorf("usage %+v, want %+v", resp.Usage, *q.Usage)
	}
	if len(resp.Calls) != len(q.Calls) || len(got.Started) != len(q.Calls) {
		t.Fatalf("calls %+v, started %q, want %+v", resp.Calls, got.Started, q.Calls)
	}
	ids := map[string]bool{}
	for i, want := range q.Calls {
		c := resp.Calls[i]
		if c.Name != want.Name || c.ID == "" || want.ID != "" && c.ID != want.ID || ids[c.ID] {
			t.Errorf("call %+v, want %+v", c, want)
		}
		ids[c.ID] = true
		switch {
		case want.Bad:
			if c.Err == "" || c.Arguments != nil || c.Raw != want.Raw {
				t.Errorf("call %+v should be unreadable", c)
			}
		case want.Input != "":
			if c.Err == "" || c.Raw != want.Input {
				t.Errorf("custom call %+v should be refused", c)
			}
		default:
			if c.Err != "" || !sameJSON(c.Arguments, want.Arguments) || c.Repaired != want.Repaired {
				t.Errorf("call %+v, want arguments %s", c, want.Arguments)
			}
		}
		if want.ExtraContent != nil && !sameJSON(c.Extra["extra_content"], want.ExtraContent) {
			t.Errorf("extra %s, want %s", c.Extra["extra_content"], want.ExtraContent)
		}
	}
	q.checkEcho(t, resp)
}

// checkEcho sends the answer back as the next request would.
func (q quirk) checkEcho(t *testing.T, resp model.Response) {
	t.Helper()
	if q.MustEcho == nil {
		return
	}
	p, err := LookupProfile("deepseek")
	if err != nil {
		t.Fatal(err)
	}
	body, err := p.requestBody("m", model.Request{Messages: []model.Message{{Role: model.RoleUser, Content: "x"}, resp.Assistant()}})
	if err != nil {
		t.Fatal(err)
	}
	for _, member := range q.MustEcho {
		member = strings.TrimPrefix(strings.Fields(member)[0], "tool_calls[].")
		if !bytes.Contains(body, []byte(`"`+member+`":`)) {
			t.Errorf("%s is not sent back: %s", member, body)
		}
	}
}

func sameJSON(a, b []byte) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// FuzzReader checks that no stream makes the reader panic and that it reads
// the same from it however the bytes arrive.
func FuzzReader(f *testing.F) {
	for _, q := range quirks(f) {
		f.Add([]byte(q.body("\n")), uint8(len(q.Name)))
		f.Add([]byte(q.body("\r")), uint8(0))
	}
	f.Add([]byte("data: {\"choices\":[{\"delta\":{\"content\":\"<think>a</think>b<tool_call>{}\"}}]}\n\n"), uint8(7))
	tools := []model.ToolSpec{{Name: "f"}, {Name: "get_weather", Parameters: json.RawMessage(`{"properties":{"city":{"type":"string"}}}`)}}
	f.Fuzz(func(t *testing.T, body []byte, setting uint8) {
		p := Profile{ThinkTags: setting&1 != 0, ThinkPrefilled: setting&2 != 0}
		switch setting >> 2 & 3 {
		case 1:
			p.TextTools = TextToolsHermes
		case 2:
			p.TextTools = TextToolsQwenXML
		}
		whole, err := readAll(p, tools, bytes.NewReader(body))
		single, _ := readAll(p, tools, iotest.OneByteReader(bytes.NewReader(body)))
		if !reflect.DeepEqual(whole, single) {
			t.Fatalf("whole: %+v\nbyte by byte: %+v", whole, single)
		}
		if whole.Text != whole.Response.Text || whole.Reasoning != whole.Response.Reasoning {
			t.Fatalf("streamed and final text differ: %+v", whole)
		}
		if (err != nil || whole.Response.Finish == model.FinishIncomplete) && whole.Response.Calls != nil {
			t.Fatalf("calls of an answer that is not whole: %+v", whole)
		}
		for _, c := range whole.Response.Calls {
			if c.ID == "" || (c.Err == "") != json.Valid(c.Arguments) {
				t.Fatalf("call %+v", c)
			}
		}
	})
}
