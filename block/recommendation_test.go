package block

import (
	"encoding/json"
	"errors"
	"slices"
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

// text is the row's value where it is a string.
func (r verdictRow) text() (string, bool) {
	var s string
	err := json.Unmarshal(r.Value, &s)
	return s, err == nil
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
	reg := recommending(t)
	validate := func(payload json.RawMessage) error { return reg.Validate(FeatureRecommendationName, 1, payload) }
	counts := make(map[string]int)
	for _, row := range jsonl[verdictRow](t, "feature-recommendation.jsonl") {
		counts[row.Kind]++
		judge := func(what string, err error, verdict string) {
			t.Helper()
			if (err == nil) != (verdict == "accept") {
				t.Errorf("%s %q (%s), %s: %v, want %s", row.Kind, row.Name, row.Reason, what, err, verdict)
			}
		}
		s, isString := row.text()
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

// TestRecommendations: each payload breaks a rule at the path, or none.
func TestRecommendations(t *testing.T) {
	type row struct {
		Payload json.RawMessage
		Path    *string
	}
	reg := recommending(t)
	for _, tt := range jsonl[row](t, "recommendations.jsonl") {
		err := reg.Validate(FeatureRecommendationName, 1, tt.Payload)
		if tt.Path == nil {
			if err != nil {
				t.Errorf("%.200s: %v", tt.Payload, err)
			}
			continue
		}
		var se *SchemaError
		if !errors.As(err, &se) || !slices.ContainsFunc(se.Violations, func(v Violation) bool { return v.Path == *tt.Path }) {
			t.Errorf("%.200s: %v, want a violation at %q", tt.Payload, err, *tt.Path)
		}
	}
	// What a map would hide.
	for _, params := range []string{`{"a":1,"__proto__":2,"__proto__":3}`, `{"pro\u0074otype":1}`, `{"a":{"constructor":1,"constructor":2}}`} {
		if reg.Validate(FeatureRecommendationName, 1, card(json.RawMessage(`{"kind":"modal","name":"deposit","params":`+params+`}`))) == nil {
			t.Errorf("%s is accepted", params)
		}
	}
}

// TestViolationsOfAnAction: what is wrong is told of the kind that is meant, so
// that a model can mend it.
func TestViolationsOfAnAction(t *testing.T) {
	reg := recommending(t)
	for action, want := range map[string]string{
		`{"kind":"route","target":"/a","url":"x"}`:     "/items/0/action: additional properties 'url' not allowed",
		`{"kind":"modal","name":"pay"}`:                "/items/0/action/name: value must be one of 'deposit', 'withdraw'",
		`{"kind":"slash"}`:                             "/items/0/action: missing property 'command'",
		`{"kind":"route","target":"/a/../b"}`:          "/items/0/action/target: route: a segment of dots only (rule R6)",
		`{"kind":"external","url":"https://a@b"}`:      "/items/0/action/url: external: a user in the address (rule X1)",
		`{"kind":"pay","name":"deposit"}`:              "/items/0/action/kind: value must be 'route'; /items/0/action/kind: value must be 'slash'; /items/0/action/kind: value must be 'modal'; /items/0/action/kind: value must be 'external'",
		`{"kind":"modal","name":"deposit","params":1}`: "/items/0/action/params: got number, want object",
	} {
		err := reg.Validate(FeatureRecommendationName, 1, card(json.RawMessage(action)))
		if err == nil || err.Error() != want {
			t.Errorf("%s:\ngot  %v\nwant %s", action, err, want)
		}
	}
}

func TestModalsOfARecommendation(t *testing.T) {
	opens := func(modal string) json.RawMessage {
		return card(json.RawMessage(`{"kind":"modal","name":"` + modal + `"}`))
	}
	for _, tt := range []struct {
		typ     Type
		yes, no []string
	}{
		{FeatureRecommendation(), []string{"deposit", "withdraw"}, []string{"invite"}},
		{FeatureRecommendation("invite"), []string{"invite"}, []string{"deposit", "withdraw"}},
		{FeatureRecommendation([]string{}...), nil, []string{"deposit", "withdraw", "invite"}},
	} {
		r, err := NewRegistry(tt.typ)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range tt.yes {
			if err := r.Validate(FeatureRecommendationName, 1, opens(m)); err != nil {
				t.Error(err)
			}
		}
		for _, m := range tt.no {
			if r.Validate(FeatureRecommendationName, 1, opens(m)) == nil {
				t.Errorf("%v opens %s", tt.yes, m)
			}
		}
		if err := r.Validate(FeatureRecommendationName, 1, card(json.RawMessage(`{"kind":"route","target":"/a"}`))); err != nil {
			t.Error(err)
		}
		if tt.typ.ModelEmittable || tt.typ.Targets == nil {
			t.Errorf("the type is %+v", tt.typ)
		}
	}
}

func TestItemsOfARecommendation(t *testing.T) {
	typ := FeatureRecommendation()
	payload := encode(t, Recommendation{Items: []RecommendationItem{
		{ID: "a", Label: "A", Icon: "buy", Action: ActionTo(Target{TargetSlash, "/buy 1 BTC"})},
		{ID: "b", Label: "B", Hint: "b", Action: RecommendationAction{Kind: TargetModal, Name: "deposit", Params: json.RawMessage(`{"a": [1.50]}`)}},
	}})
	if err := recommending(t).Validate(typ.Name, 1, payload); err != nil {
		t.Fatal(err)
	}
	if got, want := typ.Targets.List(payload), []Target{{TargetSlash, "/buy 1 BTC"}, {TargetModal, "deposit"}}; !slices.Equal(got, want) {
		t.Errorf("leads to %v, want %v", got, want)
	}
	for _, tt := range []struct {
		items []int
		want  string
	}{
		{[]int{0, 1}, string(payload)},
		{[]int{1, 0}, string(payload)},
		{[]int{0}, `{"items":[{"id":"a","label":"A","icon":"buy","action":{"kind":"slash","command":"/buy 1 BTC"}}]}`},
		{[]int{1}, `{"items":[{"id":"b","label":"B","hint":"b","action":{"kind":"modal","name":"deposit","params":{"a":[1.50]}}}]}`},
		{nil, `{"items":[]}`},
	} {
		if got, err := typ.Targets.Only(payload, tt.items); err != nil || string(got) != tt.want {
			t.Errorf("only %v is %s, %v, want %s", tt.items, got, err, tt.want)
		}
	}
	for _, items := range [][]int{{2}, {-1}, {0, 5}} {
		if got, err := typ.Targets.Only(payload, items); err == nil {
			t.Errorf("only %v is %s", items, got)
		}
	}
	for _, junk := range []string{``, `5`, `{}`, `{"items":5}`} {
		if got, err := typ.Targets.Only(json.RawMessage(junk), []int{0}); err == nil {
			t.Errorf("an item of %q is %s", junk, got)
		}
		if got := typ.Targets.List(json.RawMessage(junk)); len(got) > 0 {
			t.Errorf("%q leads to %v", junk, got)
		}
	}
	for _, kind := range TargetKinds() {
		if to := ActionTo(Target{kind, "x"}).To(); to != (Target{kind, "x"}) {
			t.Errorf("an action to %s x leads to %v", kind, to)
		}
	}
	if got := encode(t, Recommendation{}); string(got) != `{"items":[]}` {
		t.Errorf("no items are %s", got)
	}
}

// TestRecommendationInMarkdown: what stands for the buttons is a list whose
// links and code end where they should, and no link that a button would not be.
func TestRecommendationInMarkdown(t *testing.T) {
	typ := FeatureRecommendation()
	for _, tt := range []struct {
		to    Target
		label string
		want  string
	}{
		{Target{TargetRoute, "/a(b)?x=1"}, "[x](y) *z*", `- [\[x\](y) \*z\*](</a(b)?x=1>) – hint`},
		{Target{TargetRoute, "/a?x=1&copy;=2"}, "Go", "- [Go](/a?x=1&amp;copy;=2) – hint"},
		{Target{TargetExternal, "https://a.example/<b>"}, "Go", "- [Go](https://a.example/%3Cb%3E) – hint"},
		{Target{TargetExternal, "javascript:alert(1)"}, "Go", "- **Go** – hint"},
		{Target{TargetRoute, "//a.example"}, "Go", "- **Go** – hint"},
		{Target{TargetSlash, "/say `a` ``b``"}, "Say", "- **Say**: ``` /say `a` ``b`` ``` – hint"},
		{Target{TargetModal, "deposit"}, "# Deposit", "- **# Deposit** – hint"},
		{Target{"other", "x"}, "Go", "- **Go** – hint"},
	} {
		payload := encode(t, Recommendation{Items: []RecommendationItem{{ID: "a", Label: tt.label, Hint: "hint", Action: ActionTo(tt.to)}}})
		if got := typ.Link(payload); got != tt.want {
			t.Errorf("%v stands as %s, want %s", tt.to, got, tt.want)
		}
		if got := typ.Markdown(payload); got != tt.want+"\n" {
			t.Errorf("%v is exported as %s, want %s", tt.to, got, tt.want)
		}
	}
}

// TestLimitsOfARecommendation: the published schema and the program name the
// same limits and icons.
func TestLimitsOfARecommendation(t *testing.T) {
	type limits struct {
		MaxItems, MaxLength int
		Enum                []string
	}
	var schema struct {
		Properties struct{ Items limits }
		Defs       map[string]struct{ Properties map[string]limits } `json:"$defs"`
	}
	if err := json.Unmarshal(FeatureRecommendation().Schema, &schema); err != nil {
		t.Fatal(err)
	}
	item := schema.Defs["item"].Properties
	for what, pair := range map[string][2]int{
		"items":   {schema.Properties.Items.MaxItems, MaxRecommendationItems},
		"label":   {item["label"].MaxLength, MaxRecommendationLabel},
		"hint":    {item["hint"].MaxLength, MaxRecommendationHint},
		"route":   {schema.Defs["route"].Properties["target"].MaxLength, MaxRoute},
		"command": {schema.Defs["slash"].Properties["command"].MaxLength, MaxCommand},
		"url":     {schema.Defs["external"].Properties["url"].MaxLength, MaxURL},
	} {
		if pair[0] != pair[1] {
			t.Errorf("%s: %d in the schema, %d in the program", what, pair[0], pair[1])
		}
	}
	if icons := item["icon"].Enum; !slices.Equal(icons, RecommendationIcons()) {
		t.Errorf("icons %v in the schema, %v in the program", icons, RecommendationIcons())
	}
	if modals := schema.Defs["modal"].Properties["name"].Enum; !slices.Equal(modals, DefaultModals()) {
		t.Errorf("modals %v in the schema, %v in the program", modals, DefaultModals())
	}
}

// TestNoMemberTwice: readers of JSON do not agree on which of two members of one
// name counts, so what is judged here need not be what a client follows.
func TestNoMemberTwice(t *testing.T) {
	r := recommending(t)
	const item = `{"id":"a","label":"A","action":{"kind":"route","target":"/wallet"}}`
	for name, payload := range map[string]string{
		"target":  `{"items":[{"id":"a","label":"A","action":{"kind":"route","target":"//evil.example","target":"/wallet"}}]}`,
		"action":  `{"items":[{"id":"a","label":"A","action":{"kind":"route","target":"//evil.example"},"action":{"kind":"route","target":"/wallet"}}]}`,
		"items":   `{"items":[{"id":"a","label":"A","action":{"kind":"route","target":"//evil.example"}}],"items":[` + item + `]}`,
		"escaped": `{"items":[{"id":"a","label":"A","action":{"kind":"route","t\u0061rget":"//evil.example","target":"/wallet"}}]}`,
		"params":  `{"items":[{"id":"a","label":"A","action":{"kind":"modal","name":"deposit","params":{"a":[{"b":1,"b":2}]}}}]}`,
	} {
		if err := r.Validate(FeatureRecommendationName, 1, json.RawMessage(payload)); err == nil || !strings.Contains(err.Error(), "more than once") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if err := r.Validate(FeatureRecommendationName, 1, json.RawMessage(`{"items":[`+item+`,`+strings.NewReplacer(`"a"`, `"b"`, "wallet", "other").Replace(item)+`]}`)); err != nil {
		t.Error(err)
	}
}
