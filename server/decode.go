package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"reflect"
	"strings"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/internal/nearest"
)

// decode reads a JSON body strictly into v, a pointer to a struct. With
// optional, an empty body leaves v as it is.
func decode(r *http.Request, v any, optional bool) error {
	body, err := payload(r, optional)
	if err != nil || body == nil {
		return err
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return decodeError(err, v, int64(len(body)))
	}
	if _, err := dec.Token(); err != io.EOF {
		return &answer{
			status: http.StatusBadRequest, code: codeInvalidJSON, message: "There is something after the JSON object.",
			details: map[string]any{"offset": dec.InputOffset()},
		}
	}
	return nil
}

// payload reads a body that is to be JSON. With optional, an empty one is nil.
func payload(r *http.Request, optional bool) ([]byte, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		var large *http.MaxBytesError
		if errors.As(err, &large) {
			return nil, &answer{
				status: http.StatusRequestEntityTooLarge, code: codeTooLarge,
				message: "The request is too large.", details: map[string]any{"limit": large.Limit},
			}
		}
		return nil, &answer{status: http.StatusBadRequest, code: codeInvalidJSON, message: "The request body did not arrive whole.", err: err}
	}
	if optional && len(bytes.TrimSpace(body)) == 0 {
		return nil, nil
	}
	if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
		return nil, &answer{
			status: http.StatusUnsupportedMediaType, code: codeUnsupportedMedia,
			message: "The request body must be application/json.",
		}
	}
	if !utf8.Valid(body) {
		return nil, &answer{status: http.StatusBadRequest, code: codeInvalidJSON, message: "The request body is not UTF-8."}
	}
	return body, nil
}

// decodeError words an error of encoding/json.
func decodeError(err error, v any, size int64) error {
	var syntax *json.SyntaxError
	var kind *json.UnmarshalTypeError
	switch {
	case errors.As(err, &syntax):
		return &answer{
			status: http.StatusBadRequest, code: codeInvalidJSON, message: "The request body is not valid JSON: " + syntax.Error() + ".",
			details: map[string]any{"offset": syntax.Offset},
		}
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return &answer{
			status: http.StatusBadRequest, code: codeInvalidJSON, message: "The request body ends too early.",
			details: map[string]any{"offset": size},
		}
	case errors.As(err, &kind) && kind.Field == "":
		return invalid("The request body must be a JSON object.", map[string]any{"offset": kind.Offset})
	case errors.As(err, &kind):
		return invalid("The field "+kind.Field+" has the wrong type.", map[string]any{"field": kind.Field, "offset": kind.Offset})
	}
	// encoding/json has no type for this error.
	if quoted, ok := strings.CutPrefix(err.Error(), "json: unknown field "); ok {
		var name string
		if json.Unmarshal([]byte(quoted), &name) != nil {
			name = strings.Trim(quoted, `"`)
		}
		if len(name) > 100 {
			name = strings.ToValidUTF8(name[:100], "")
		}
		details := map[string]any{"field": name}
		message := "Unknown field " + name + "."
		if near := nearest.Of(name, fields(reflect.TypeOf(v))); near != "" {
			details["nearest"] = near
			message += " Did you mean " + near + "?"
		}
		return &answer{status: http.StatusBadRequest, code: codeUnknownField, message: message, details: details}
	}
	return invalid("The request body could not be read.", nil)
}

// fields lists the JSON names in a type, those of nested structs included.
func fields(t reflect.Type) []string {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return nil
	}
	var out []string
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" {
			out = append(out, name)
		}
		out = append(out, fields(f.Type)...)
	}
	return out
}
