package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
)

// Actions runs what people do with blocks; *action.Gateway implements it.
type Actions interface {
	Do(ctx context.Context, req action.Request) (action.Answer, error)
}

// actionBody is the body of POST /v1/chat/actions.
type actionBody struct {
	MsgID          string          `json:"msgId"`
	BlockID        string          `json:"blockId"`
	ActionID       string          `json:"actionId"`
	Payload        json.RawMessage `json:"payload,omitempty"`
	IdempotencyKey string          `json:"idempotencyKey,omitempty"`
	Rev            int             `json:"rev,omitempty"`
	ConfirmToken   string          `json:"confirmToken,omitempty"`
	TraceID        string          `json:"traceId,omitempty"`
}

// postAction runs an action of a block.
func (s *server) postAction(w http.ResponseWriter, r *http.Request) error {
	var body actionBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	key, err := actionKey(r, body.IdempotencyKey)
	if err != nil {
		return err
	}
	c := callOf(r)
	if t := body.TraceID; t != "" {
		if !isTrace(t) {
			return invalid("traceId must be 32 hexadecimal digits.", map[string]any{"field": "traceId"})
		}
		// The header, if there is one, names the same trace or goes before.
		if r.Header.Get("Traceparent") == "" {
			c.trace = t
			w.Header().Set("X-Trace-Id", t)
		}
	}
	a, err := s.Actions.Do(r.Context(), action.Request{
		Owner: c.owner, Caller: c.caller, Msg: body.MsgID, Block: body.BlockID, Action: body.ActionID, Payload: body.Payload,
		Key: key, Rev: body.Rev, ConfirmToken: body.ConfirmToken, TraceID: c.trace, Caps: s.caps(r),
	})
	if err != nil {
		return s.actionError(r, body.MsgID, err)
	}
	if a.Replayed {
		w.Header().Set("Idempotency-Replayed", "true")
	}
	return writeRaw(w, a.Status, a.Body)
}

// actionKey is the idempotency key of the body or of the header, which must
// agree when both are there.
func actionKey(r *http.Request, inBody string) (string, error) {
	key := inBody
	if h := strings.TrimSpace(r.Header.Get("Idempotency-Key")); h != "" {
		// The header's value is a string in quotes by its standard, and often
		// written without.
		if q, err := strconv.Unquote(h); err == nil && h[0] == '"' {
			h = q
		}
		if key != "" && key != h {
			return "", invalid("The header Idempotency-Key and idempotencyKey differ.", map[string]any{"field": "idempotencyKey"})
		}
		key = h
	}
	if !printable(key, 8) {
		return "", invalid("idempotencyKey must be 8 to 255 printable characters.", map[string]any{"field": "idempotencyKey"})
	}
	return key, nil
}

// actionError shows a block that has changed as the reader can draw it.
func (s *server) actionError(r *http.Request, msg string, err error) error {
	var own *action.Error
	if !errors.As(err, &own) {
		return wrap("run action", err)
	}
	b, ok := own.Details["block"].(block.Block)
	if !ok {
		return err
	}
	enc, encErr := s.encoder(r, msg, "")
	if encErr != nil {
		return encErr
	}
	shown := *own
	shown.Details = map[string]any{"block": enc.Degrade([]block.Block{b})[0]}
	return &shown
}

func isTrace(s string) bool {
	return len(s) == 32 && strings.Trim(s, "0123456789abcdef") == "" && strings.Trim(s, "0") != ""
}

// actionStatuses are the HTTP statuses of the gateway's codes.
var actionStatuses = map[string]int{
	action.CodeInvalid:         http.StatusBadRequest,
	action.CodeTooLarge:        http.StatusRequestEntityTooLarge,
	action.CodeUnsupportedKind: http.StatusBadRequest,
	action.CodePayloadInvalid:  http.StatusBadRequest,
	action.CodeForbidden:       http.StatusForbidden,
	action.CodeNotFound:        http.StatusNotFound,
	action.CodeSubmitted:       http.StatusConflict,
	action.CodeRunning:         http.StatusConflict,
	action.CodeStale:           http.StatusPreconditionFailed,
	action.CodeKeyReused:       http.StatusUnprocessableEntity,
	action.CodeConfirm:         http.StatusPreconditionRequired,
	action.CodeRateLimited:     http.StatusTooManyRequests,
	action.CodeFailed:          http.StatusBadGateway,
}

// telemetryBody is the body of POST /v1/telemetry/block-action.
type telemetryBody struct {
	BlockID string `json:"blockId"`
	ItemID  string `json:"itemId"`
	// Action is the kind of what was used, or the item's whole action, of which
	// the kind counts.
	Action json.RawMessage `json:"action"`
}

// kind returns the kind of action; empty when there is none.
func (b telemetryBody) kind() (string, error) {
	var action struct {
		Kind string `json:"kind"`
	}
	if len(b.Action) > 0 && b.Action[0] == '"' {
		err := json.Unmarshal(b.Action, &action.Kind)
		return action.Kind, err
	}
	if len(b.Action) > 0 {
		if err := json.Unmarshal(b.Action, &action); err != nil {
			return "", err
		}
	}
	return action.Kind, nil
}

// The longest members of telemetry in bytes.
const maxTelemetry = 200

// telemetryActions are the values of the counter's label; others count as
// other, so that nobody can make it grow.
var telemetryActions = map[string]bool{
	"route": true, "slash": true, "modal": true, "external": true,
	"link": true, "local": true, "prompt": true, "api": true, "copy": true, "download": true, "dismiss": true,
}

// postTelemetry notes that something in a block was used. It is always 204 when
// well-formed, so that no client waits for it or learns anything from it.
func (s *server) postTelemetry(w http.ResponseWriter, r *http.Request) error {
	var body telemetryBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	kind, err := body.kind()
	if err != nil {
		return invalid("action must be a kind of action, or an action with one.", map[string]any{"field": "action"})
	}
	for _, f := range []struct {
		name, value string
		needed      bool
	}{{"blockId", body.BlockID, true}, {"itemId", body.ItemID, false}, {"action", kind, true}} {
		if f.needed && f.value == "" {
			return invalid(f.name+" is missing.", map[string]any{"field": f.name})
		}
		if len(f.value) > maxTelemetry || strings.ContainsFunc(f.value, unicode.IsControl) {
			return invalid(f.name+" must be at most 200 printable characters.", map[string]any{"field": f.name})
		}
	}
	c := callOf(r)
	s.log.Info("block action", "block", body.BlockID, "item", body.ItemID, "action", kind, "user", c.owner.User, "tenant", c.owner.Tenant, "trace", c.trace)
	if s.Metrics != nil {
		s.Metrics.blockAction(kind)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// feedbackBody is the body of POST /v1/messages/{id}/feedback.
type feedbackBody struct {
	Rating  *string `json:"rating"`
	Comment string  `json:"comment,omitempty"`
}

// maxComment is the longest comment in characters.
const maxComment = 2000

// postFeedback keeps what a person thinks of an answer.
func (s *server) postFeedback(w http.ResponseWriter, r *http.Request) error {
	m, err := s.owned(r)
	if err != nil {
		return err
	}
	var body feedbackBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	f := store.Feedback{Comment: strings.TrimSpace(body.Comment), At: s.Now()}
	if body.Rating != nil {
		f.Rating = *body.Rating
	}
	switch {
	case m.Role != store.RoleAssistant:
		return invalid("Only an answer can be rated.", map[string]any{"field": "id"})
	case f.Rating != "up" && f.Rating != "down" && body.Rating != nil:
		return invalid("rating must be up, down or null.", map[string]any{"field": "rating"})
	case utf8.RuneCountInString(f.Comment) > maxComment:
		return invalid("comment must be at most 2000 characters.", map[string]any{"field": "comment", "limit": maxComment})
	}
	if err := s.Store.PutFeedback(r.Context(), callOf(r).owner, m.ID, f); err != nil {
		return wrap("store feedback", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getAudit lists what was done with blocks and what was refused: one's own, or
// with scope=tenant everybody's of the tenant for those who may.
func (s *server) getAudit(w http.ResponseWriter, r *http.Request) error {
	c, q := callOf(r), r.URL.Query()
	aq := store.AuditQuery{Owner: c.owner, Conversation: q.Get("conversation"), Name: q.Get("action"), Cursor: q.Get("cursor")}
	switch q.Get("scope") {
	case "", "own":
	case "tenant":
		if s.Auditor == nil || !s.Auditor(c.caller) {
			return &answer{status: http.StatusForbidden, code: codeForbidden, message: "You may read your own entries only."}
		}
		aq.Owner.User = q.Get("user")
	default:
		return invalid("scope must be own or tenant.", map[string]any{"field": "scope"})
	}
	if q.Has("user") && q.Get("scope") != "tenant" {
		return invalid("user needs scope=tenant.", map[string]any{"field": "user"})
	}
	for name, to := range map[string]*time.Time{"from": &aq.Since, "to": &aq.Until} {
		v := q.Get(name)
		if v == "" {
			continue
		}
		t, err := time.Parse(time.RFC3339, v)
		if err != nil {
			return invalid(name+" must be a time such as 2026-09-01T00:00:00Z.", map[string]any{"field": name})
		}
		*to = t
	}
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 1000 {
			return invalid("limit must be 1 to 1000.", map[string]any{"field": "limit"})
		}
		aq.Limit = n
	}
	format := q.Get("format")
	if format != "" && format != "json" && format != "jsonl" {
		return invalid("format must be json or jsonl.", map[string]any{"field": "format"})
	}
	entries, next, err := s.Store.Audit(r.Context(), aq)
	if err != nil {
		return wrap("read audit log", err)
	}
	if format != "jsonl" {
		if entries == nil {
			entries = []store.AuditEntry{}
		}
		body := map[string]any{"items": entries}
		if next != "" {
			body["nextCursor"] = next
		}
		return writeJSON(w, http.StatusOK, body)
	}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	for _, e := range entries {
		if err := enc.Encode(e); err != nil {
			return wrap("encode entry", err)
		}
	}
	h := w.Header()
	h.Set("Content-Type", "application/jsonl; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(out.Len()))
	h.Set("Content-Disposition", `attachment; filename="audit.jsonl"`)
	h.Set("Cache-Control", "no-store")
	if next != "" {
		h.Set("X-Next-Cursor", next)
	}
	w.WriteHeader(http.StatusOK)
	_, err = w.Write(out.Bytes())
	return wrap("write audit log", err)
}
