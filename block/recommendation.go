package block

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// FeatureRecommendationName is the type of cards that name the next step after
// an answer.
const FeatureRecommendationName = "minara.feature_recommendation"

// Limits of a feature recommendation.
const (
	MaxRecommendationItems = 2
	MaxRecommendationLabel = 20 // characters
	MaxRecommendationHint  = 48 // characters
)

// DefaultModals are the modals that a feature recommendation may open unless
// the product says otherwise.
func DefaultModals() []string { return []string{"deposit", "withdraw"} }

// RecommendationIcons returns the icons that an item may have.
func RecommendationIcons() []string {
	return []string{"wallet", "deposit", "swap", "buy", "sell", "autopilot", "workflow", "chart", "search", "settings", "alert", "research"}
}

// Recommendation is the payload of a feature_recommendation block: one or two
// buttons, each a next step.
type Recommendation struct {
	Items []RecommendationItem `json:"items"`
}

// RecommendationItem is a button.
type RecommendationItem struct {
	// ID is [a-z][a-z0-9_-]{0,63}, unique in the block.
	ID    string `json:"id"`
	Label string `json:"label"`
	// Hint is one line beside the button.
	Hint string `json:"hint,omitempty"`
	// Icon is one of RecommendationIcons.
	Icon   string               `json:"icon,omitempty"`
	Action RecommendationAction `json:"action"`
}

// RecommendationAction is what a button does. Kind says which of the members
// counts.
type RecommendationAction struct {
	Kind    TargetKind      `json:"kind"`
	Target  string          `json:"target,omitempty"`  // route
	Command string          `json:"command,omitempty"` // slash
	Name    string          `json:"name,omitempty"`    // modal
	Params  json.RawMessage `json:"params,omitempty"`  // modal: an object
	URL     string          `json:"url,omitempty"`     // external
}

// ActionTo returns the action that leads to a target.
func ActionTo(t Target) RecommendationAction {
	a := RecommendationAction{Kind: t.Kind}
	switch t.Kind {
	case TargetRoute:
		a.Target = t.Value
	case TargetSlash:
		a.Command = t.Value
	case TargetModal:
		a.Name = t.Value
	case TargetExternal:
		a.URL = t.Value
	}
	return a
}

// To returns where the action leads.
func (a RecommendationAction) To() Target {
	_, value := a.member()
	return Target{Kind: a.Kind, Value: value}
}

// member is the member that says where the action leads.
func (a RecommendationAction) member() (name, value string) {
	switch a.Kind {
	case TargetRoute:
		return "target", a.Target
	case TargetSlash:
		return "command", a.Command
	case TargetModal:
		return "name", a.Name
	case TargetExternal:
		return "url", a.URL
	}
	return "kind", ""
}

// MarshalJSON writes the list that the schema requires even when it is not
// set.
func (r Recommendation) MarshalJSON() ([]byte, error) {
	type plain Recommendation
	if r.Items == nil {
		r.Items = []RecommendationItem{}
	}
	return jsonx.Marshal(plain(r))
}

// FeatureRecommendation returns the type of feature recommendations that may
// open the named modals: DefaultModals when no list is given, none when it is
// empty.
func FeatureRecommendation(modals ...string) Type {
	if modals == nil {
		modals = DefaultModals()
	}
	return Type{
		Name:        FeatureRecommendationName,
		Version:     1,
		Class:       ClassInteractive,
		Source:      SourceBuiltin,
		Description: "One or two buttons that lead to the next step after an answer.",
		Schema:      recommendationSchema(modals),
		Height:      96,
		Targets:     &Targets{List: recommendationTargets, Only: recommendationOnly},
		Check:       checkRecommendation,
		Fallback:    recommendationText,
		Link:        recommendationLinks,
		Markdown:    recommendationMarkdown,
		Summary:     recommendationSummary,
	}
}

// recommendationSchema is the published schema with the names of the modals.
func recommendationSchema(modals []string) json.RawMessage {
	raw := builtinSchema(FeatureRecommendationName + ".v1.json")
	if slices.Equal(modals, DefaultModals()) {
		return raw
	}
	var schema map[string]any
	if err := json.Unmarshal(raw, &schema); err != nil {
		panic(err) // the file is embedded and tested
	}
	defs := schema["$defs"].(map[string]any)
	if len(modals) > 0 {
		name := defs["modal"].(map[string]any)["properties"].(map[string]any)["name"].(map[string]any)
		name["enum"] = modals
	} else {
		delete(defs, "modal")
		action := defs["action"].(map[string]any)
		action["anyOf"] = slices.DeleteFunc(action["anyOf"].([]any), func(v any) bool {
			return v.(map[string]any)["$ref"] == "#/$defs/modal"
		})
	}
	out, err := jsonx.Marshal(schema)
	if err != nil {
		panic(err) // it was JSON before
	}
	return out
}

func checkRecommendation(payload json.RawMessage) error {
	var r Recommendation
	if err := decodePayload(payload, &r); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	if name := repeated(json.NewDecoder(bytes.NewReader(payload))); name != "" {
		// Here the last one counts, and nobody knows which one counts for those
		// who read it.
		v.add("", "the member %s is there more than once in an object", clip(name, 80))
		return v.err()
	}
	var ids unique
	first := make(map[string]int)
	for i, it := range r.Items {
		at := fmt.Sprintf("/items/%d", i)
		if !isModalName(it.ID) {
			v.add(at+"/id", "a small letter and up to 63 of a-z, 0-9, _ and -")
		}
		ids.check(&v, at+"/id", it.ID)
		if why := badWords(it.Label); why != "" {
			v.add(at+"/label", "%s", why)
		}
		if it.Hint != "" {
			if why := badWords(it.Hint); why != "" {
				v.add(at+"/hint", "%s", why)
			}
		}
		to := it.Action.To()
		if err := to.Check(); err != nil {
			member, _ := it.Action.member()
			v.add(at+"/action/"+member, "%v", err)
			continue
		}
		if err := checkModalParams(it.Action.Params); err != nil {
			v.add(at+"/action/params", "%v", err)
		}
		if k, ok := first[to.Key()]; ok {
			v.add(at+"/action", "leads where item %d does", k)
		} else {
			first[to.Key()] = i
		}
	}
	return v.err()
}

// badWords complains about a label or a hint: one line, something to see in
// it, and nothing that cannot be seen but what emoji are composed with.
func badWords(s string) string {
	blank := true
	for _, r := range s {
		if isInvisible(r) {
			if !joins(r) {
				return "a control or an invisible character"
			}
			continue
		}
		blank = blank && (unicode.IsSpace(r) || r == 0x2800) // the empty braille pattern
	}
	if blank {
		return "is blank"
	}
	return ""
}

// checkModalParams looks for members that a page could not take over safely,
// and for values too large for a button.
func checkModalParams(params json.RawMessage) error {
	if len(params) == 0 {
		return nil
	}
	if err := checkMembers(json.NewDecoder(bytes.NewReader(params)), 1); err != nil {
		return err
	}
	if n := plainSize(params); n > MaxModalBytes {
		return fmt.Errorf("%d bytes, at most %d", n, MaxModalBytes)
	}
	return nil
}

// plainSize is the length of a value as clients write it: without blanks, and
// no character escaped that need not be.
func plainSize(raw json.RawMessage) int {
	var v any
	if decodePayload(raw, &v) != nil {
		return len(raw)
	}
	b, err := jsonx.Marshal(v)
	if err != nil {
		return len(raw)
	}
	return len(b)
}

// checkMembers reads one value. Tokens, not a map: of a member that is there
// twice both count.
func checkMembers(d *json.Decoder, depth int) error {
	t, err := d.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			return io.ErrUnexpectedEOF
		}
		return err
	}
	open, ok := t.(json.Delim)
	if !ok {
		return nil
	}
	if depth > MaxModalDepth {
		return fmt.Errorf("more than %d objects and lists within each other", MaxModalDepth)
	}
	for d.More() {
		if open == '{' {
			name, err := d.Token()
			if err != nil {
				return err
			}
			switch name {
			case "__proto__", "constructor", "prototype":
				return fmt.Errorf("a member must not be called %s", name)
			}
		}
		if err := checkMembers(d, depth+1); err != nil {
			return err
		}
	}
	_, err = d.Token()
	return err
}

// repeated is the name of a member that an object of the next value has more
// than once; empty when there is none.
func repeated(d *json.Decoder) string {
	open, err := d.Token()
	if err != nil || open != json.Delim('{') && open != json.Delim('[') {
		return ""
	}
	seen := make(map[json.Token]bool)
	for d.More() {
		if open == json.Delim('{') {
			name, err := d.Token()
			if err != nil {
				return ""
			}
			if seen[name] {
				return fmt.Sprintf("%q", name)
			}
			seen[name] = true
		}
		if name := repeated(d); name != "" {
			return name
		}
	}
	_, _ = d.Token() // the end of what was opened
	return ""
}

func recommendationTargets(payload json.RawMessage) []Target {
	var r Recommendation
	if decodePayload(payload, &r) != nil {
		return nil
	}
	list := make([]Target, len(r.Items))
	for i, it := range r.Items {
		list[i] = it.Action.To()
	}
	return list
}

func recommendationOnly(payload json.RawMessage, items []int) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	var list []json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return nil, fmt.Errorf("items of a recommendation: %w", err)
	}
	if err := json.Unmarshal(members["items"], &list); err != nil {
		return nil, fmt.Errorf("items of a recommendation: %w", err)
	}
	kept := make([]json.RawMessage, 0, len(items))
	for i, it := range list {
		if slices.Contains(items, i) {
			kept = append(kept, it)
		}
	}
	for _, i := range items {
		if i < 0 || i >= len(list) {
			return nil, fmt.Errorf("items of a recommendation: there is no item %d", i)
		}
	}
	raw, err := jsonx.Marshal(kept)
	if err != nil {
		return nil, fmt.Errorf("items of a recommendation: %w", err)
	}
	members["items"] = raw
	return jsonx.Marshal(members)
}

// head is the label with the hint.
func (it RecommendationItem) head() string { return heading(it.Label, it.Hint) }

// recommendationText writes what each button says and where it leads, so far as
// a reader without buttons can go there.
func recommendationText(payload json.RawMessage) string {
	var r Recommendation
	if decodePayload(payload, &r) != nil || len(r.Items) == 0 {
		return "[" + FeatureRecommendationName + "]"
	}
	parts := make([]string, len(r.Items))
	for i, it := range r.Items {
		parts[i] = it.head()
		if to := it.Action.To(); to.Kind != TargetModal && to.Value != "" {
			parts[i] += ": " + oneLine(to.Value)
		}
	}
	return strings.Join(parts, "; ")
}

func recommendationMarkdown(payload json.RawMessage) string {
	var r Recommendation
	if decodePayload(payload, &r) != nil {
		return "[" + FeatureRecommendationName + "]"
	}
	return r.markdown()
}

// markdown lists the buttons: links where a reader can follow them, commands as
// code, dialogs by their label alone.
func (r Recommendation) markdown() string {
	var b strings.Builder
	for _, it := range r.Items {
		b.WriteString("- ")
		switch to := it.Action.To(); to.Kind {
		case TargetRoute, TargetExternal:
			// Never a link that would not have been a button.
			if to.Check() == nil {
				b.WriteString("[" + markdownText(it.Label) + "](" + linkTarget(to.Value) + ")")
				break
			}
			b.WriteString("**" + markdownText(it.Label) + "**")
		case TargetSlash:
			b.WriteString("**" + markdownText(it.Label) + "**: " + codeSpan(to.Value))
		default:
			b.WriteString("**" + markdownText(it.Label) + "**")
		}
		if it.Hint != "" {
			b.WriteString(" – " + markdownText(it.Hint))
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// recommendationLinks stands for the card on a stream: the list alone.
func recommendationLinks(payload json.RawMessage) string {
	var r Recommendation
	if decodePayload(payload, &r) != nil {
		return ""
	}
	return strings.TrimSuffix(r.markdown(), "\n")
}

// linkTarget writes an address between the parentheses of a Markdown link.
// Angle brackets hold what would end it there; a browser reads the escapes as
// the characters they stand for.
func linkTarget(s string) string {
	s = strings.NewReplacer("<", "%3C", ">", "%3E", "&", "&amp;").Replace(s)
	if strings.ContainsAny(s, "()") {
		return "<" + s + ">"
	}
	return s
}

// codeSpan writes one line of code within a line of Markdown.
func codeSpan(s string) string {
	s = oneLine(s)
	longest, run := 0, 0
	for i := range len(s) {
		if s[i] != '`' {
			run = 0
			continue
		}
		run++
		longest = max(longest, run)
	}
	ticks := strings.Repeat("`", longest+1)
	if longest > 0 {
		return ticks + " " + s + " " + ticks
	}
	return ticks + s + ticks
}

func recommendationSummary(payload json.RawMessage) string {
	var r Recommendation
	if decodePayload(payload, &r) != nil {
		return "[" + FeatureRecommendationName + "]"
	}
	lines := []string{fmt.Sprintf("buttons: %d", len(r.Items))}
	for _, it := range r.Items {
		line := "button " + it.head()
		if to := it.Action.To(); to.Value != "" {
			line += ": " + string(to.Kind) + " " + oneLine(to.Value)
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n")
}
