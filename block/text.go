package block

import "encoding/json"

// textType is Markdown. Its payload is a string, which grows by text_delta
// events while the model writes.
func textType() Type {
	return Type{
		Name:        "text",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "Markdown without raw HTML.",
		Schema:      builtinSchema("text.v1.json"),
		Height:      24,
		Fallback:    textOf,
		Markdown:    textOf,
		Summary:     textOf,
	}
}

func textOf(payload json.RawMessage) string {
	var s string
	if json.Unmarshal(payload, &s) != nil {
		return ""
	}
	return s
}
