package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

func decode(t *testing.T, s string) any {
	t.Helper()
	v, err := Decode([]byte(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestProgram(t *testing.T) {
	t.Setenv("INLAY_SECRET", "hush")
	for _, c := range []struct{ source, in, want string }{
		{".a", `{"a":12345678901234567890}`, "12345678901234567890"},
		{".a", `{"a":1.10}`, "1.10"},
		{".rows | map(.n) | add", `{"rows":[{"n":1},{"n":2.5}]}`, "3.5"},
		{"[.a[] | select(. > 1)]", `{"a":[1,2,3]}`, "[2,3]"},
		{`{"s": "<b>&\u2028"}`, `null`, "{\"s\":\"<b>&\u2028\"}"},
		{"env | length", `null`, "0"},
		{"$ENV.INLAY_SECRET", `null`, "null"},
		{".missing", `{}`, "null"},
	} {
		p, err := CompileProgram("test", c.source)
		if err != nil {
			t.Fatalf("%s: %v", c.source, err)
		}
		got, err := p.JSON(t.Context(), decode(t, c.in))
		if err != nil || string(got) != c.want {
			t.Errorf("%s: got %s %v, want %s", c.source, got, err, c.want)
		}
	}
}

func TestProgramRefuses(t *testing.T) {
	for _, source := range []string{"", " ", ".a[", "nothing", "input", "inputs", `import "x" as x; 1`, `include "x"; 1`, "$undefined"} {
		if _, err := CompileProgram("test", source); err == nil {
			t.Errorf("%q: compiled", source)
		}
	}
	for source, want := range map[string]string{
		"empty":                       "no result",
		"1, 2":                        "more than one result",
		".a.b":                        "jq",
		"halt":                        "halt",
		`"x" * 2000000`:               "larger than",
		"{} | error":                  "jq",
		`error("in plain words")`:     "in plain words",
		`.a as [$x] | $x | tonumber`:  "jq",
		`[limit(3; repeat(1))] | .[]`: "more than one result",
	} {
		p, err := CompileProgram("test", source)
		if err != nil {
			t.Fatal(err)
		}
		_, err = p.JSON(t.Context(), decode(t, `{"a":"text"}`))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", source, err, want)
		}
		var m *Message
		if errors.As(err, &m) != (source == `error("in plain words")`) {
			t.Errorf("%s: %T", source, err)
		}
	}
}

func TestProgramEnds(t *testing.T) {
	p, err := CompileProgram("test", "last(repeat(1))")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	begun := time.Now()
	if _, err := p.Run(ctx, nil); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if d := time.Since(begun); d > 5*time.Second {
		t.Errorf("ended after %s", d)
	}
}

func TestTemplate(t *testing.T) {
	data := map[string]any{"args": decode(t, `{"a":"x/y","n":12345678901234567890,"ok":true,"list":[1],"nil":null,"o":{"deep-1":"d"}}`)}
	for source, want := range map[string]string{
		"":                           "",
		"plain {x}":                  "plain {x}",
		"{{.args.a}}":                "x/y",
		"{{ .args.n }}-{{.args.ok}}": "12345678901234567890-true",
		"<{{.args.o.deep-1}}>":       "<d>",
	} {
		tp, err := CompileTemplate("test", source)
		if err != nil {
			t.Fatalf("%q: %v", source, err)
		}
		if got, err := tp.Render(data, nil); err != nil || got != want {
			t.Errorf("%q: got %q %v", source, got, err)
		}
	}
	for _, source := range []string{"{{.args.none}}", "{{.args.nil}}", "{{.args.a.b}}"} {
		tp, err := CompileTemplate("test", source)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := tp.Render(data, nil); !errors.Is(err, ErrMissing) {
			t.Errorf("%s: %v", source, err)
		}
	}
	tp, err := CompileTemplate("test", "{{.args.list}}")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tp.Render(data, nil); err == nil {
		t.Error("a list was written as text")
	}
	for _, source := range []string{
		"{{", "}}", "{{.a", "{{}}", "{{a}}", "{{.}}", "{{.a | html}}", "{{printf .a}}", "{{if .a}}", "{{range .a}}x{{end}}", `{{.a "b"}}`,
		"{{template \"x\"}}", "{{.a..b}}", "{{call .f}}", "{{$}}", "{{/* c */}}",
	} {
		if _, err := CompileTemplate("test", source); err == nil {
			t.Errorf("%q: compiled", source)
		}
	}
}

func mapped(t *testing.T, c Config, data string) (*tooltest.Run, error) {
	t.Helper()
	m, err := Compile("tool t", c)
	if err != nil {
		t.Fatal(err)
	}
	tl, err := tool.New(tool.Spec{Name: "t", Block: m.BlockSpec()}, func(ctx context.Context, _ struct{}, out *tool.Out) error {
		return m.Write(ctx, decode(t, data).(map[string]any), out)
	})
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Call(t.Context(), tl, "", "")
}

const chartProgram = `{version: 1, type: "bar", title: "Sales", x: {field: "r"}, series: [{field: "n", name: "N"}], data: .rows}`

func TestMapper(t *testing.T) {
	const data = `{"args":{},"user":{"lang":"en"},"rows":[{"r":"East","n":3},{"r":"West","n":4}]}`
	run, err := mapped(t, Config{Block: &Block{
		Type: "chart", Title: "Loading", Source: "Sample", Payload: chartProgram,
		Fallback: `"\(.rows | length) regions"`,
		Actions:  `[{"id": "drill", "label": "Go", "kind": "prompt", "prompt": "Show {{r}}"}]`,
	}}, data)
	if err != nil {
		t.Fatal(err)
	}
	b := run.Blocks[0]
	if b.Fallback != "2 regions" || len(b.Actions) != 1 || b.Actions[0].Prompt != "Show {{r}}" || b.Meta.Title != "Sales" || b.Meta.Source != "Sample" {
		t.Errorf("%+v %+v", b, b.Meta)
	}
	if !strings.Contains(run.Told, "total 7") {
		t.Errorf("told %q", run.Told)
	}
	run, err = mapped(t, Config{Block: &Block{Type: "chart", Payload: chartProgram}, Summary: `"best: \(.rows[1].r)"`}, data)
	if err != nil || run.Told != "best: West" {
		t.Errorf("told %q %v", run.Told, err)
	}
	run, err = mapped(t, Config{Block: &Block{Type: "chart", Payload: "null"}}, data)
	if err != nil || run.Result.Unused == nil || !strings.Contains(run.Told, "nothing to show") {
		t.Errorf("told %q %v", run.Told, err)
	}
	run, err = mapped(t, Config{Summary: "auto"}, data)
	if err != nil || len(run.Blocks) != 0 || !strings.HasPrefix(run.Told, "2 rows; n: total 7, min 3, max 4.\n{\"n\":3,\"r\":\"East\"}") {
		t.Errorf("told %q %v", run.Told, err)
	}
	run, err = mapped(t, Config{}, `{"body":{"state":"open"}}`)
	if err != nil || run.Told != `{"state":"open"}` {
		t.Errorf("told %q %v", run.Told, err)
	}
}

func TestMapperFails(t *testing.T) {
	for name, c := range map[string]struct {
		config  Config
		message string
	}{
		"words":   {Config{Block: &Block{Type: "chart", Payload: `error("No such quarter.")`}}, "No such quarter."},
		"fault":   {Config{Block: &Block{Type: "chart", Payload: `.rows.x`}}, "The answer of the data source could not be shown."},
		"actions": {Config{Block: &Block{Type: "chart", Payload: chartProgram, Actions: `[{"idd": 1}]`}}, "The answer of the data source could not be shown."},
	} {
		_, err := mapped(t, c.config, `{"rows":[{"r":"a","n":1}]}`)
		var te *tool.Error
		if !errors.As(err, &te) || te.Message != c.message || te.Retryable || te.Code != block.CodeDataFetchFailed {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := mapped(t, Config{Block: &Block{Type: "chart", Payload: `{version: 2}`}}, `{}`)
	var se *block.SchemaError
	if !errors.As(err, &se) {
		t.Errorf("a payload of the wrong shape: %v", err)
	}
	for name, c := range map[string]Config{
		"no type":    {Block: &Block{Payload: "."}},
		"no payload": {Block: &Block{Type: "chart"}},
		"bad jq":     {Block: &Block{Type: "chart", Payload: ".["}},
		"bad title":  {Block: &Block{Type: "chart", Payload: ".", Title: "{{.rows.x}}"}},
		"bad sum":    {Summary: ".["},
	} {
		if _, err := Compile("tool t", c); err == nil || !strings.HasPrefix(err.Error(), "tool t: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTitle(t *testing.T) {
	m, err := Compile("t", Config{Block: &Block{Type: "ProductCard", Payload: ".", Title: "Sales of {{.args.q}}"}})
	if err != nil {
		t.Fatal(err)
	}
	spec := m.BlockSpec()
	if spec.Type != "app.product_card" || spec.TitleFrom(t.Context(), json.RawMessage(`{"q":"2026Q3"}`)) != "Sales of 2026Q3" {
		t.Errorf("%+v", spec)
	}
	if got := spec.TitleFrom(t.Context(), json.RawMessage(`{}`)); got != "" {
		t.Errorf("a title with a gap: %q", got)
	}
}

func TestDescribeIsBounded(t *testing.T) {
	rows := make([]any, 500)
	for i := range rows {
		rows[i] = map[string]any{"text": strings.Repeat("长", 200), "n": json.Number("1")}
	}
	s := Describe(rows)
	if len(s) > describeBytes+800 || !strings.Contains(s, "500 rows; n: total 500") || !strings.Contains(s, "The first 20") {
		t.Errorf("%d bytes: %.120s", len(s), s)
	}
	if s := Describe(strings.Repeat("长", 5000)); len(s) > describeBytes+3 || !strings.HasSuffix(s, "…") {
		t.Errorf("%d bytes", len(s))
	}
}

// A user's claims are there for programs; the token is not.
func TestUser(t *testing.T) {
	ctx := tool.WithCaller(t.Context(), tool.Caller{
		User: "ann", Tenant: "acme", Token: "hush", Lang: "zh", Claims: map[string]any{"groups": []string{"a"}, "n": 1},
	})
	p, err := CompileProgram("test", ".")
	if err != nil {
		t.Fatal(err)
	}
	got, err := p.JSON(ctx, User(ctx))
	if err != nil || string(got) != `{"claims":{"groups":["a"],"n":1},"id":"ann","lang":"zh","tenant":"acme"}` {
		t.Errorf("%s %v", got, err)
	}
}
