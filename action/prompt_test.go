package action

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

func TestPromptText(t *testing.T) {
	b := block.Block{Payload: json.RawMessage(`{"rows":[{"a":"x\u202ey\nz","b":true,"c":1e3}]}`)}
	got, err := promptText(b, block.Action{Prompt: "{{a}}|{{b}}|{{c}}|{{fixed}}|{{ not a name }}", Params: map[string]json.RawMessage{"fixed": json.RawMessage(`7`)}},
		json.RawMessage(`{"a":"x\u202ey\nz","b":true,"c":1000}`))
	if err != nil || got != "xy z|true|1000|7|{{ not a name }}" {
		t.Errorf("got %q, %v", got, err)
	}
	// A value that looks like a template is a value.
	b.Payload = json.RawMessage(`["{{b}}","secret"]`)
	got, err = promptText(b, block.Action{Prompt: "{{a}}"}, json.RawMessage(`{"a":"{{b}}","b":"secret"}`))
	if err != nil || got != "{{b}}" {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err = promptText(b, block.Action{Label: "Do it"}, nil); err != nil || got != "Do it" {
		t.Errorf("without a template: %q, %v", got, err)
	}
	act := block.Action{Prompt: "{{a}}", InputSchema: json.RawMessage(`{"type":"object","required":["a"],"properties":{"a":{"const":"secret"}}}`)}
	if got, err = promptText(b, act, json.RawMessage(`{"a":"secret"}`)); err != nil || got != "secret" {
		t.Errorf("by schema: %q, %v", got, err)
	}
	for _, payload := range []string{``, `{"a":"{{b}}"}`} {
		if _, err = promptText(b, act, json.RawMessage(payload)); err == nil {
			t.Errorf("%q fits the schema", payload)
		}
	}
	// What the schema lists was shown; what it merely allows was not.
	act = block.Action{Prompt: "{{a}} {{b}} {{c}} {{d}}", InputSchema: json.RawMessage(`{"type":"object","required":["a"],"properties":{
		"a":{"enum":["east",2]},"b":{"const":"only"},"c":{"oneOf":[{"const":true,"title":"Yes"}]},"d":{"type":"string"}}}`)}
	if got, err = promptText(b, act, json.RawMessage(`{"a":2,"b":"only","c":true,"d":"secret"}`)); err != nil || got != "2 only true secret" {
		t.Errorf("choices: %q, %v", got, err)
	}
	for payload, path := range map[string]string{
		`{}`:           "",
		`{"a":"west"}`: "/a",
		`{"a":"east","b":"only","c":true,"d":"new text"}`: "/d",
		`{"a":"east","b":"only","c":true,"d":"only"}`:     "/d",
		`{"a":"east","b":"only","c":true}`:                "/d",
		`{"a":"east","b":"only","c":true,"x/y":"z"}`:      "/x~1y",
	} {
		_, err := promptText(b, act, json.RawMessage(payload))
		var own *Error
		if !errors.As(err, &own) || own.Code != CodePayloadInvalid {
			t.Errorf("%s: %v", payload, err)
			continue
		}
		if list := own.Details["violations"].([]map[string]string); len(list) != 1 || list[0]["path"] != path {
			t.Errorf("%s: violations %v", payload, list)
		}
	}
	if !isLocked(json.RawMessage(`{"locked":true}`)) || isLocked(nil) || isLocked(json.RawMessage(`{"locked":false}`)) || isLocked(json.RawMessage(`7`)) {
		t.Error("locked")
	}
}
