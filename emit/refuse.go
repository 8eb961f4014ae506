package emit

import (
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/block"
)

// Refusal says that a block may not be shown on this stream.
type Refusal = block.Refusal

// The codes of Refusal.
const (
	CodeNotSupported    = block.RefusedNotSupported
	CodeUnknownType     = block.RefusedUnknownType
	CodeSchemaInvalid   = block.RefusedSchemaInvalid
	CodeTurnCap         = block.RefusedTurnCap
	CodeDuplicateAction = block.RefusedDuplicateAction
	CodeSessionCap      = block.RefusedSessionCap
)

// maxViolations is how many bytes of what is wrong with a payload a hint shows.
const maxViolations = 1 << 10

// inText is what can always be done instead of showing a block.
const inText = " Say it in text, with an inline Markdown link where it should lead somewhere: [label](url)."

// refuse is a Refusal whose hint ends with what to do instead.
func refuse(code, format string, args ...any) *Refusal {
	return &Refusal{Code: code, Hint: fmt.Sprintf(format, args...) + inText}
}

// invalid refuses a payload that does not fit its type.
func invalid(t block.Type, err error) *Refusal {
	why := err.Error()
	var schema *block.SchemaError
	if errors.As(err, &schema) {
		why = schema.Error()
	}
	return refuse(CodeSchemaInvalid, "The data does not fit %s: %s. Mend it and try once more, or leave it.", spelled(t.Name, t.Version), clip(why, maxViolations))
}

// spelled is a type with its version, as in capability tokens.
func spelled(name string, version int) string {
	if version == 0 {
		return name
	}
	return fmt.Sprintf("%s@%d", name, version)
}
