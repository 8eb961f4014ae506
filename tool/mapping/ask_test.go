package mapping

import (
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

func TestAsk(t *testing.T) {
	ask, err := CompileAsk("tool pay", Ask{
		Prompt: "Pay {{.args.amount}} to {{.args.to}}?", Prompts: map[string]string{"zh": "向 {{.args.to}} 付款 {{.args.amount}}？"},
		Detail: "For {{.args.to}}: {{.args.why}}. Asked by {{.user.id}}, {{.args.parts}}.", Severity: "warning", When: ".args.amount > 10 or .user.id == \"bob\"", Edit: true, ExpiresIn: time.Hour,
	})
	if err != nil {
		t.Fatal(err)
	}
	run := func(user, lang, args string) (*tool.Ask, error) {
		return ask(tool.WithCaller(t.Context(), tool.Caller{User: user, Lang: lang}), json.RawMessage(args))
	}
	a, err := run("alice", "en", `{"amount":12345678901234567890,"to":"[Ann](https://evil.example)\n# now","parts":[1,"x"]}`)
	if err != nil {
		t.Fatal(err)
	}
	if a.Prompt != "Pay 12345678901234567890 to [Ann](https://evil.example)\n# now?" || a.Severity != "warning" || !a.Edit || a.ExpiresIn != time.Hour {
		t.Errorf("%+v", a)
	}
	if want := `For \[Ann\]\(https://evil.example\) \# now: …. Asked by alice, \[1,"x"\].`; a.Detail != want {
		t.Errorf("%s, want %s", a.Detail, want)
	}
	if a, err = run("alice", "zh", `{"amount":11,"to":"Ann"}`); err != nil || a.Prompt != "向 Ann 付款 11？" {
		t.Errorf("%+v, %v", a, err)
	}
	if a, err = run("alice", "en", `{"amount":10,"to":"Ann"}`); err != nil || a != nil {
		t.Errorf("asked about little: %+v, %v", a, err)
	}
	if a, err = run("bob", "en", `{"amount":1,"to":"Ann"}`); err != nil || a == nil {
		t.Errorf("bob is not asked: %v", err)
	}
	odd, err := CompileAsk("tool pay", Ask{Prompt: "?", When: ".args.amount"})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := odd(t.Context(), json.RawMessage(`{"amount":0}`)); err == nil {
		t.Error("a number was taken for yes or no")
	}
	limit, err := CompileAsk("tool pay", Ask{Prompt: "?", When: `if .args.amount > 5 then error("At most 5.") else true end`})
	if err != nil {
		t.Fatal(err)
	}
	var te *tool.Error
	if _, err := limit(t.Context(), json.RawMessage(`{"amount":6}`)); !errors.As(err, &te) || te.Message != "At most 5." {
		t.Errorf("%v", err)
	}
	for name, bad := range map[string]Ask{
		"no prompt":      {Detail: "x"},
		"severity":       {Prompt: "x", Severity: "grave"},
		"jq":             {Prompt: "x", When: ".["},
		"template":       {Prompt: "{{x}}"},
		"unknown values": {Prompt: "x", Details: map[string]string{"zh": "{{.rows.a}}"}},
		"expiry":         {Prompt: "x", ExpiresIn: -1},
	} {
		if _, err := CompileAsk("tool pay", bad); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func TestActionsByName(t *testing.T) {
	const data = `{"args":{},"rows":[{"r":"East","n":3}]}`
	run, err := mapped(t, Config{Block: &Block{Type: "chart", Payload: chartProgram,
		Actions: `["submit_export", {"id": "why", "label": "Why?", "kind": "prompt"}]`}}, data)
	if err != nil {
		t.Fatal(err)
	}
	got := run.Blocks[0].Actions
	if len(got) != 2 || got[0].ID != "submit_export" || got[0].Kind != "" || got[1].Kind != block.ActionPrompt {
		t.Errorf("%+v", got)
	}
	for _, bad := range []Actions{`[1]`, `"submit_export"`, `[{"idd": 1}]`} {
		if _, err := mapped(t, Config{Block: &Block{Type: "chart", Payload: chartProgram, Actions: bad}}, data); err == nil {
			t.Errorf("%s was taken", bad)
		}
	}
}
