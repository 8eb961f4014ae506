package endpoint

import (
	"net/http"
	"strings"
	"testing"
	"time"
)

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	for header, want := range map[string]time.Duration{
		"Retry-After: 2":   2 * time.Second,
		"Retry-After: 0.5": 500 * time.Millisecond,
		"Retry-After: Fri, 02 Jan 2026 03:05:05 GMT": time.Minute,
		"Retry-After: Fri, 02 Jan 2026 03:00:00 GMT": 0,
		"Retry-After-Ms: 30":                         30 * time.Millisecond,
		"Retry-After: soon":                          0,
	} {
		name, value, _ := strings.Cut(header, ": ")
		if got := RetryAfter(http.Header{name: {value}}, now); got != want {
			t.Errorf("%s: %v, want %v", header, got, want)
		}
	}
}
