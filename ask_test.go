package inlay_test

import (
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
)

const asks = `
agent: { ask_user: true }
sources: { erp: { http: { base_url: "https://erp.example.com" } } }
tools:
  - name: refund
    description: Refund an order.
    parameters: { type: object, properties: { amount: { type: number } } }
    source: erp
    request: { method: POST, path: /refunds }
    block: { type: metric, payload: ".body", actions: [receipt, again] }
    ask: { prompt: "Refund {{.args.amount}}?", prompts: { zh: "退款？" }, severity: danger, when: .args.amount > 5, edit: true, expires_in: 8h }
`

// TestDeclaredAsk reads tools that ask from YAML.
func TestDeclaredAsk(t *testing.T) {
	c, err := inlay.Load(write(t, asks), nil)
	if err != nil {
		t.Fatal(err)
	}
	a := c.Tools[0].Ask
	if !c.Agent.AskUser || a == nil || a.Severity != "danger" || !a.Edit || a.ExpiresIn != 8*time.Hour || a.Prompts["zh"] != "退款？" {
		t.Errorf("%+v", a)
	}
	if got := string(c.Tools[0].Block.Actions); got != `["receipt","again"]` {
		t.Errorf("actions %s", got)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	for _, bad := range []struct{ old, now, want string }{
		{"severity: danger", "severity: grave", `tool "refund": ask: severity "grave"`},
		{"when: .args.amount > 5", `when: ".["`, "ask.when"},
		{`prompt: "Refund {{.args.amount}}?"`, `prompt: ""`, "a prompt is required"},
	} {
		c, err := inlay.Load(write(t, strings.Replace(asks, bad.old, bad.now, 1)), nil)
		if err == nil {
			err = c.Check(t.Context())
		}
		if err == nil || !strings.Contains(err.Error(), bad.want) {
			t.Errorf("%s: %v, want %q", bad.now, err, bad.want)
		}
	}
}
