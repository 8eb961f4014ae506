package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
)

// The codes of requests that were refused before anything began. Those of
// turns are in package turn; all are in schema/errors.json.
const (
	codeInvalidJSON      = "invalid_json"
	codeUnknownField     = "unknown_field"
	codeUnsupportedMedia = "unsupported_media_type"
	codeTooLarge         = "request_too_large"
	codeUnauthorized     = "unauthorized"
	codeForbidden        = "forbidden"
	codeRateLimited      = "rate_limited"
	codeMethodNotAllowed = "method_not_allowed"
	codeInvalidToken     = "invalid_capability_token"
)

// answer is an error that is told to the client.
type answer struct {
	status    int
	code      string
	message   string
	retryable bool
	// after is when to come back; 0 leaves it open.
	after   time.Duration
	details map[string]any
	// err is the cause, for the log only.
	err error
}

// Error implements error.
func (a *answer) Error() string {
	if a.err != nil {
		return a.code + ": " + a.message + ": " + a.err.Error()
	}
	return a.code + ": " + a.message
}

// Unwrap returns the cause.
func (a *answer) Unwrap() error { return a.err }

func invalid(message string, details map[string]any) *answer {
	return &answer{status: http.StatusBadRequest, code: turn.CodeInvalidRequest, message: message, details: details}
}

func notFound() *answer {
	return &answer{status: http.StatusNotFound, code: turn.CodeNotFound, message: "Not found."}
}

// statuses are the HTTP statuses of turns' codes.
var statuses = map[string]int{
	turn.CodeTurnRunning:    http.StatusConflict,
	turn.CodeInterrupted:    http.StatusServiceUnavailable,
	turn.CodeTurnTimeout:    http.StatusGatewayTimeout,
	turn.CodeNotFound:       http.StatusNotFound,
	turn.CodeInvalidRequest: http.StatusBadRequest,
	turn.CodeKeyReused:      http.StatusUnprocessableEntity,
	turn.CodeNotRetryable:   http.StatusConflict,
	turn.CodeNotRefreshable: http.StatusConflict,
	turn.CodeNotPaused:      http.StatusConflict,
	turn.CodePayloadInvalid: http.StatusBadRequest,
	turn.CodeStoreFull:      http.StatusInsufficientStorage,
	turn.CodeStoreBusy:      http.StatusServiceUnavailable,
	turn.CodeShuttingDown:   http.StatusServiceUnavailable,
	turn.CodeInternal:       http.StatusInternalServerError,
	codeAssetNotReady:       http.StatusConflict,
	codeAssetInfected:       http.StatusGone,
}

// answerFor turns any error into what the client is told. What has no words
// for people is internal.
func answerFor(err error) *answer {
	var a *answer
	if errors.As(err, &a) {
		return a
	}
	var ae *action.Error
	if errors.As(err, &ae) {
		a := &answer{status: actionStatuses[ae.Code], code: ae.Code, message: ae.Message, retryable: ae.Retryable, after: ae.After, details: ae.Details, err: err}
		if a.status == 0 {
			a.status = http.StatusInternalServerError
		}
		return a
	}
	var te *turn.Error
	if errors.As(err, &te) {
		a := &answer{status: statuses[te.Code], code: te.Code, message: te.Message, retryable: te.Retryable, err: err}
		if a.status == 0 {
			a.status = http.StatusInternalServerError
		}
		if te.Msg != "" && te.Code == turn.CodeTurnRunning {
			a.details = map[string]any{"msgId": te.Msg}
		}
		if a.status == http.StatusServiceUnavailable || te.Code == turn.CodeTurnRunning {
			a.after = time.Second
		}
		return a
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		a := notFound()
		a.err = err
		return a
	case errors.Is(err, store.ErrFull):
		return &answer{status: http.StatusInsufficientStorage, code: turn.CodeStoreFull, message: "The server has no room to store this.", retryable: true, err: err}
	case errors.Is(err, store.ErrBusy):
		return &answer{status: http.StatusServiceUnavailable, code: turn.CodeStoreBusy, message: "The server's store is busy.", retryable: true, after: time.Second, err: err}
	}
	return &answer{status: http.StatusInternalServerError, code: turn.CodeInternal, message: "The server failed.", retryable: true, err: err}
}

// errorBody is the body of every error.
type errorBody struct {
	Error struct {
		Code      string         `json:"code"`
		Message   string         `json:"message"`
		Retryable bool           `json:"retryable"`
		TraceID   string         `json:"traceId"`
		Details   map[string]any `json:"details,omitempty"`
	} `json:"error"`
}

// fail answers with an error, or only logs it when an answer has begun or
// nobody is there to read it.
func (s *server) fail(w http.ResponseWriter, r *http.Request, err error) {
	c := callOf(r)
	a := answerFor(err)
	switch {
	case r.Context().Err() != nil && errors.Is(err, context.Canceled):
		s.log.Debug("client left", "route", c.route, "trace", c.trace, "err", err)
		return
	case a.status >= http.StatusInternalServerError && a.code != codeAssetQuota:
		s.log.Error("request failed", "route", c.route, "trace", c.trace, "code", a.code, "err", err)
	case a.status == http.StatusUnauthorized && r.Header.Get("Authorization") != "":
		// Whoever set the identity up must learn why a token does not do; the
		// client is not told.
		s.log.Info("token refused", "route", c.route, "trace", c.trace, "err", err)
	default:
		s.log.Debug("request refused", "route", c.route, "trace", c.trace, "code", a.code, "err", err)
	}
	if c.rec.status != 0 {
		return
	}
	var body errorBody
	body.Error.Code, body.Error.Message, body.Error.Retryable = a.code, a.message, a.retryable
	body.Error.TraceID, body.Error.Details = c.trace, a.details
	if a.after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(int(max(a.after.Seconds(), 1)+0.5)))
	}
	if a.status == http.StatusUnauthorized {
		w.Header().Set("WWW-Authenticate", "Bearer")
	}
	_ = writeJSON(w, a.status, body) // nobody is left to tell of a failed write
}

// writeJSON answers with a JSON body.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	b, err := json.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode answer: %w", err)
	}
	return writeRaw(w, status, append(b, '\n'))
}

// writeRaw answers with a body that is JSON already.
func writeRaw(w http.ResponseWriter, status int, b []byte) error {
	h := w.Header()
	h.Set("Content-Type", "application/json; charset=utf-8")
	h.Set("Content-Length", strconv.Itoa(len(b)))
	if h.Get("Cache-Control") == "" {
		h.Set("Cache-Control", "no-store")
	}
	w.WriteHeader(status)
	if _, err := w.Write(b); err != nil {
		return fmt.Errorf("write answer: %w", err)
	}
	return nil
}
