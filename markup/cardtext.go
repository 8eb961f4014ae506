package markup

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// maxTextFields is how many fields a card has in plain text.
const maxTextFields = 8

// headFields name a thing, the first of them that is there.
var headFields = []string{"title", "name", "label", idField}

// PlainText returns a fallback for the block type of a card whose fields nobody
// described: what it is called, and its fields in a line.
func PlainText(name string) func(payload json.RawMessage) string {
	return func(payload json.RawMessage) string {
		v, err := decode(payload)
		object, ok := v.(map[string]any)
		if err != nil || !ok {
			return "[" + name + "]"
		}
		head, used := name, ""
		for _, f := range headFields {
			if s := plainValue(object[f]); s != "" {
				head, used = s, f
				break
			}
		}
		names := make([]string, 0, len(object))
		for f := range object {
			if f != used && f != idField && plainValue(object[f]) != "" {
				names = append(names, f)
			}
		}
		slices.Sort(names)
		var fields []string
		for _, f := range names[:min(len(names), maxTextFields)] {
			fields = append(fields, f+" "+plainValue(object[f]))
		}
		if len(fields) == 0 {
			return head
		}
		return head + ": " + strings.Join(fields, ", ")
	}
}

// plainValue is a value in a line; "" for what has no line.
func plainValue(v any) string {
	switch v := v.(type) {
	case string:
		return strings.Join(strings.Fields(v), " ")
	case json.Number, bool:
		return fmt.Sprint(v)
	}
	return ""
}
