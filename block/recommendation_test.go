package block

import (
	"encoding/json"
	"os"
	"strings"
	"testing"
)

// verdictRow is a row of testdata/feature-recommendation.jsonl. Renderer is
// what a client says at the click, where that is another verdict.
type verdictRow struct {
	Kind, Name, Expect, Reason string
	Value                      json.RawMessage
	Renderer                   string   `json:"expect_renderer"`
	Hosts                      []string `json:"allow_hosts"`
	A, B                       RecommendationAction
}

// recommending is a registry with the type, whose modals are the usual ones.
func recommending(t testing.TB) *Registry {
	t.Helper()
	r, err := NewRegistry(FeatureRecommendation())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// card is a payload of one item with the action.
func card(action json.RawMessage) json.RawMessage {
	return json.RawMessage(`{"items":[{"id":"a","label":"Go","action":` + string(action) + `}]}`)
}

// TestFeatureRecommendationVectors: the verdicts that server and clients agree
// on. Targets are judged twice, alone and as what the registry is given.
func TestFeatureRecommendationVectors(t *testing.T) {
	raw, err := os.ReadFile("../testdata/feature-recommendation.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	reg := recommending(t)
	validate := func(payload json.RawMessage) error { return reg.Validate(FeatureRecommendationName, 1, payload) }
	counts := make(map[string]int)
	for line := range strings.Lines(string(raw)) {
		var row verdictRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatal(err)
		}
		counts[row.Kind]++
		judge := func(what string, err error, verdict string) {
			t.Helper()
			if (err == nil) != (verdict == "accept") {
				t.Errorf("%s %q (%s), %s: %v, want %s", row.Kind, row.Name, row.Reason, what, err, verdict)
			}
		}
		var s string
		isString := json.Unmarshal(row.Value, &s) == nil
		action := func(kind TargetKind, member string) json.RawMessage {
			return card(json.RawMessage(`{"kind":"` + string(kind) + `","` + member + `":` + string(row.Value) + `}`))
		}
		switch row.Kind {
		case "route":
			judge("schema", validate(action(TargetRoute, "target")), row.Expect)
			if isString {
				judge("target", Target{TargetRoute, s}.Check(), row.Expect)
			}
		case "slash":
			judge("schema", validate(action(TargetSlash, "command")), row.Expect)
			if isString {
				judge("target", Target{TargetSlash, s}.Check(), row.Expect)
			}
		case "external":
			judge("schema", validate(action(TargetExternal, "url")), row.Expect)
			if isString {
				judge("target", Target{TargetExternal, s}.Check(), row.Expect)
				judge("renderer", Destinations{Hosts: row.Hosts}.Allows(Target{TargetExternal, s}), row.Renderer)
			}
		case "modal":
			judge("schema", validate(card(row.Value)), row.Expect)
		case "data":
			judge("schema", validate(row.Value), row.Expect)
		case "envelope":
			judge("event", fromOutside(reg, row.Value), row.Expect)
		case "dedup":
			if same := row.A.To().Key() == row.B.To().Key(); same != (row.Expect == "same") {
				t.Errorf("dedup %q (%s): %q and %q, want %s", row.Name, row.Reason, row.A.To().Key(), row.B.To().Key(), row.Expect)
			}
		default:
			t.Errorf("unknown kind %q", row.Kind)
		}
	}
	t.Logf("rows: %v", counts)
}

// fromOutside takes a UI block up as a producer does: form, source, registry.
// The row says by _source where the event comes from.
func fromOutside(reg *Registry, event json.RawMessage) error {
	source := SourceApp
	var members map[string]json.RawMessage
	if json.Unmarshal(event, &members) == nil && members["_source"] != nil {
		if err := json.Unmarshal(members["_source"], &source); err != nil {
			return err
		}
		delete(members, "_source")
		var err error
		if event, err = json.Marshal(members); err != nil {
			return err
		}
	}
	u, err := ParseUIBlock(event)
	if err != nil {
		return err
	}
	if err := u.CheckSource(source); err != nil {
		return err
	}
	name, major := u.Type()
	return reg.Validate(name, major, u.Data)
}
