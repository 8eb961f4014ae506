package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"

	"github.com/inlay-ui/inlay/model"
)

// readArguments fills a call from the text of its arguments. Only three
// things are put right, all of them without guessing: nothing at all is an
// empty object, one value that arrived several times counts once, and raw
// control characters inside strings are escaped. Everything else that is not
// an object is an error for the model to correct.
func readArguments(call *model.Call, raw string) {
	call.Raw = raw
	args, err := argumentObject(raw)
	var syntax *json.SyntaxError
	if err != nil && (errors.As(err, &syntax) || errors.Is(err, io.ErrUnexpectedEOF)) {
		if escaped, changed := escapeControls(raw); changed {
			if fixed, fixedErr := argumentObject(escaped); fixedErr == nil {
				call.Arguments, call.Repaired = fixed, true
				return
			}
		}
	}
	if err != nil {
		call.Err = "the arguments are not a JSON object: " + err.Error()
		return
	}
	call.Arguments = args
}

func argumentObject(raw string) (json.RawMessage, error) {
	value, err := oneValue(raw)
	if err != nil {
		return nil, err
	}
	var inner string
	if value[0] == '"' && json.Unmarshal(value, &inner) == nil {
		if value, err = oneValue(inner); err != nil {
			return nil, err
		}
	}
	switch {
	case value[0] == '{':
		return value, nil
	case string(value) == "null":
		return json.RawMessage("{}"), nil
	}
	return nil, errors.New("it is another kind of value")
}

// oneValue reads text that holds one JSON value, or the same one several
// times in a row. Empty text is null.
func oneValue(text string) (json.RawMessage, error) {
	dec := json.NewDecoder(strings.NewReader(text))
	var first json.RawMessage
	for {
		var value json.RawMessage
		err := dec.Decode(&value)
		if err == io.EOF && first == nil {
			return json.RawMessage("null"), nil
		}
		if err == io.EOF {
			return first, nil
		}
		if err != nil {
			return nil, err
		}
		var compact bytes.Buffer
		if err := json.Compact(&compact, value); err != nil {
			return nil, err
		}
		if first != nil && !bytes.Equal(first, compact.Bytes()) {
			return nil, errors.New("several different values follow each other")
		}
		first = compact.Bytes()
	}
}

// escapeControls escapes control characters that stand raw inside JSON
// strings and reports whether there were any.
func escapeControls(text string) (string, bool) {
	var b strings.Builder
	inString, escaped, changed := false, false, false
	for i := range len(text) {
		c := text[i]
		if inString && c < 0x20 {
			const hex = "0123456789abcdef"
			if !escaped {
				b.WriteByte('\\')
			}
			switch c {
			case '\n':
				b.WriteByte('n')
			case '\r':
				b.WriteByte('r')
			case '\t':
				b.WriteByte('t')
			default:
				b.WriteString("u00")
				b.WriteByte(hex[c>>4])
				b.WriteByte(hex[c&15])
			}
			changed, escaped = true, false
			continue
		}
		switch {
		case escaped:
			escaped = false
		case inString && c == '\\':
			escaped = true
		case c == '"':
			inString = !inString
		}
		b.WriteByte(c)
	}
	return b.String(), changed
}
