package agui

import "strings"

// Members names the members of an event, optional ones with a question mark.
func Members(t EventType) []string {
	var out []string
	for member := range strings.FieldsSeq(members[t] + common) {
		name, _, _ := strings.Cut(member, ":")
		out = append(out, name)
	}
	return out
}
