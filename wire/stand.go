package wire

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Failed returns what a reader is told of the failure of a block that it cannot
// draw: the code and whether trying again may help, in words that say nothing
// of the block. nil stays nil.
func Failed(err *block.Error) *block.Error {
	if err == nil {
		return nil
	}
	return &block.Error{Code: err.Code, Message: "This part of the answer could not be shown.", Retryable: err.Retryable}
}

// Question returns what a reader is told of a question whose block it cannot
// draw: that the turn waits, how long, and what came of it. What is asked is
// the text that stands for the block.
func Question(data json.RawMessage) (json.RawMessage, error) {
	var d event.QuestionData
	if err := json.Unmarshal(data, &d); err != nil {
		return nil, err
	}
	return jsonx.Marshal(event.QuestionData{QuestionID: d.QuestionID, ExpiresAt: d.ExpiresAt, Status: d.Status})
}
