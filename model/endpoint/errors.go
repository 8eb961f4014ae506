package endpoint

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/model"
)

// Error is what can be read from an error in its many spellings.
type Error struct {
	// Status is a status of HTTP that it names; 0 for none.
	Status  int
	Code    string
	Message string
}

// ReadError reads an error object, string, body or list of one.
func ReadError(raw json.RawMessage) Error {
	var e Error
	var list []json.RawMessage
	if json.Unmarshal(raw, &list) == nil && len(list) > 0 {
		raw = list[0]
	}
	var text string
	if json.Unmarshal(raw, &text) == nil {
		e.Message = text
		return e
	}
	var members map[string]json.RawMessage
	if json.Unmarshal(raw, &members) != nil {
		e.Message = strings.TrimSpace(string(raw))
		return e
	}
	if inner, ok := members["error"]; ok && !IsNull(inner) {
		inside := ReadError(inner)
		if inside.Message != "" || inside.Code != "" {
			return inside
		}
	}
	for _, name := range []string{"message", "detail", "msg", "error_description"} {
		if e.Message = Scalar(members[name]); e.Message != "" {
			break
		}
	}
	for _, name := range []string{"code", "type", "status", "param"} {
		word := Scalar(members[name])
		if n, err := strconv.Atoi(word); err == nil && n >= 400 && n < 600 {
			e.Status = n
		} else if word != "" {
			e.Code = strings.TrimSpace(e.Code + " " + word)
		}
	}
	return e
}

// Scalar returns a JSON string or number as text; anything else is empty.
func Scalar(raw json.RawMessage) string {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return ""
	}
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	}
	return ""
}

// IsNull reports whether a member is missing or null.
func IsNull(raw json.RawMessage) bool {
	return len(raw) == 0 || string(raw) == "null"
}

// Model puts an endpoint's error into the words of package model. A status
// that the endpoint names inside its answer counts when HTTP said nothing.
func (e Error) Model(status int) *model.Error {
	if status == 0 || status == http.StatusOK {
		status = e.Status
	}
	message := Cut(e.Message, 500)
	if message == "" {
		message = http.StatusText(status)
	}
	if message == "" {
		message = "the endpoint reported an error without a message"
	}
	err := &model.Error{Code: model.CodeBadRequest, Message: message, Status: status}
	words := strings.ToLower(e.Code + " " + e.Message)
	switch {
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		err.Code = model.CodeUnauthorized
	case status == http.StatusTooManyRequests:
		err.Code, err.Retryable = model.CodeRateLimited, !hasAny(words, quotaWords)
	case status == http.StatusRequestTimeout:
		err.Code, err.Retryable = model.CodeTimeout, true
	case status == http.StatusConflict || status >= 500:
		err.Code, err.Retryable = model.CodeUnavailable, status != http.StatusNotImplemented
	case status == http.StatusRequestEntityTooLarge || hasAny(words, contextWords):
		err.Code = model.CodeContextTooLong
	case hasAny(words, policyWords):
		err.Code = model.CodeContentRejected
	case status != 0:
	case hasAny(words, rateWords):
		err.Code, err.Retryable = model.CodeRateLimited, !hasAny(words, quotaWords)
	case hasAny(words, keyWords):
		err.Code = model.CodeUnauthorized
	case hasAny(words, requestWords):
	default:
		err.Code, err.Retryable = model.CodeUnavailable, true
	}
	return err
}

// The words by which endpoints tell one failure from another.
var (
	contextWords = []string{"context_length", "context length", "maximum context", "context window", "prompt is too long", "too many tokens", "exceed_context_size", "reduce the length"}
	policyWords  = []string{"content_filter", "content_policy", "content policy", "data_inspection_failed", "datainspectionfailed", "responsible_ai", "sensitive", "moderation"}
	quotaWords   = []string{"insufficient_quota", "exceeded your current quota", "billing", "arrearage", "insufficient balance"}
	rateWords    = []string{"rate_limit", "rate limit", "too many requests", "ratelimit", "throttl"}
	keyWords     = []string{"invalid_api_key", "invalidapikey", "authentication", "unauthorized", "permission_denied"}
	requestWords = []string{"invalid_request", "invalid request", "invalidparameter", "invalid_argument", "bad_request", "not_found"}
)

func hasAny(text string, words []string) bool {
	for _, w := range words {
		if strings.Contains(text, w) {
			return true
		}
	}
	return false
}

// RetryAfter reads how long the endpoint asks to wait: milliseconds in
// retry-after-ms, seconds or an HTTP date in Retry-After.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	wait := time.Duration(0)
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		wait = time.Duration(ms * float64(time.Millisecond))
	} else if s, err := strconv.ParseFloat(h.Get("Retry-After"), 64); err == nil {
		wait = time.Duration(s * float64(time.Second))
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = at.Sub(now)
	}
	return max(wait, 0)
}

// Cut shortens text to at most n bytes without cutting a character.
func Cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "…"
}
