package block

// Refusal says that a block is not shown, and why. Nobody but whoever made the
// block is told: the message has no trace of it.
type Refusal struct {
	// Code is one of the Refused constants.
	Code string
	// Hint says what to do instead, for the model.
	Hint string
}

// Error implements error.
func (r *Refusal) Error() string { return r.Code + ": " + r.Hint }

// The codes of a Refusal (protocol §5). All of them are listed, with words for
// people, in schema/errors.json.
const (
	RefusedUnknownType     = "ui_block_unknown_type"
	RefusedNotSupported    = "ui_block_not_supported_by_client"
	RefusedSchemaInvalid   = "ui_block_schema_invalid"
	RefusedTurnCap         = "ui_block_turn_cap_reached"
	RefusedDuplicateAction = "ui_block_duplicate_action"
	RefusedSessionCap      = "ui_block_session_cap_reached"
)
