package action

import (
	"encoding/json"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/store"
)

// The statuses of a block's state as the gateway writes it.
const (
	stateSubmitting = "submitting"
	stateDone       = "done"
	stateFailed     = "failed"
	stateUnknown    = "unknown"
)

// state is what the gateway writes about a block that an action holds.
type state struct {
	Status   string          `json:"status"`
	Locked   bool            `json:"locked"`
	ActionID string          `json:"actionId,omitempty"`
	At       int64           `json:"at"`
	CallID   string          `json:"callId,omitempty"`
	Text     string          `json:"text,omitempty"`
	Values   json.RawMessage `json:"values,omitempty"`
	Result   json.RawMessage `json:"result,omitempty"`
	// Truncated says that values or result were too large to be kept here.
	Truncated bool `json:"truncated,omitempty"`
}

// encode writes a state with the block's own members beside it, within limit
// bytes: values go first, then the result, then what is the block's own.
func (s state) encode(own json.RawMessage, limit int) json.RawMessage {
	for {
		raw := s.merged(own)
		switch {
		case len(raw) <= limit:
			return raw
		case s.Values != nil:
			s.Values, s.Truncated = nil, true
		case s.Result != nil:
			s.Result, s.Truncated = nil, true
		case own != nil:
			own, s.Truncated = nil, true
		default:
			s.Text = ""
			return s.merged(nil)
		}
	}
}

func (s state) merged(own json.RawMessage) json.RawMessage {
	raw, err := jsonx.Marshal(s)
	if err != nil { // its parts are valid JSON
		return json.RawMessage(`{"status":"` + s.Status + `","locked":true,"at":0}`)
	}
	var members, mine map[string]json.RawMessage
	if len(own) == 0 || json.Unmarshal(own, &members) != nil || json.Unmarshal(raw, &mine) != nil {
		return raw
	}
	for k, v := range mine {
		members[k] = v
	}
	if all, err := jsonx.Marshal(members); err == nil {
		return all
	}
	return raw
}

// isLocked reports whether a state says that nothing more can be done.
func isLocked(raw json.RawMessage) bool {
	var st struct {
		Locked bool `json:"locked"`
	}
	return json.Unmarshal(raw, &st) == nil && st.Locked
}

// resultOf is the result that a state holds.
func resultOf(raw json.RawMessage) json.RawMessage {
	var st struct {
		Result json.RawMessage `json:"result"`
	}
	_ = json.Unmarshal(raw, &st) // none then
	return st.Result
}

func statusOf(raw json.RawMessage) string {
	var st struct {
		Status string `json:"status"`
	}
	_ = json.Unmarshal(raw, &st) // none then
	return st.Status
}

// stateOf is the state of a block nobody acted on: the one it was made with.
func stateOf(o store.Owner, msg string, b block.Block) store.BlockState {
	rev := max(b.Rev, 1)
	return store.BlockState{Block: b.ID, Msg: msg, Owner: o, Rev: rev, State: b.State, Locked: isLocked(b.State), Logged: rev}
}
