package textstream

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// pointer is a JSON Pointer (RFC 6901), taken apart.
type pointer []string

var unescape = strings.NewReplacer("~1", "/", "~0", "~")

func parsePointer(s string) (pointer, error) {
	if s == "" {
		return pointer{}, nil
	}
	rest, ok := strings.CutPrefix(s, "/")
	if !ok {
		return nil, fmt.Errorf("text_path: %q is no JSON Pointer such as /delta or /choices/0/delta/content", s)
	}
	p := pointer(strings.Split(rest, "/"))
	for i, token := range p {
		p[i] = unescape.Replace(token)
	}
	return p, nil
}

// in returns what the pointer leads to; nil where there is nothing. The error is
// that of a document that is not JSON.
func (p pointer) in(doc []byte) (json.RawMessage, error) {
	var at json.RawMessage
	if err := json.Unmarshal(doc, &at); err != nil {
		return nil, err
	}
	for _, token := range p {
		var object map[string]json.RawMessage
		var list []json.RawMessage
		switch {
		case json.Unmarshal(at, &object) == nil:
			at = object[token]
		case json.Unmarshal(at, &list) == nil:
			i, err := strconv.Atoi(token)
			if err != nil || i < 0 || i >= len(list) {
				return nil, nil
			}
			at = list[i]
		default:
			return nil, nil
		}
		if at == nil {
			return nil, nil
		}
	}
	return at, nil
}
