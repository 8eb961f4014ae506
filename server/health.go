package server

import (
	"context"
	"net/http"
	"time"

	"github.com/inlay-ui/inlay/turn"
)

// product names this server to who looks for one at an address.
const product = "inlay"

// getHealth says that the process answers, and what it is.
func (s *server) getHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok", "product": product})
}

// getReady says whether requests should be sent here.
func (s *server) getReady(w http.ResponseWriter, r *http.Request) error {
	if s.serving.Err() != nil {
		return &answer{status: http.StatusServiceUnavailable, code: turn.CodeShuttingDown, message: "The server is shutting down.", retryable: true}
	}
	ctx, cancel := context.WithTimeout(r.Context(), 2*time.Second)
	defer cancel()
	if err := s.Store.Ping(ctx); err != nil {
		return &answer{status: http.StatusServiceUnavailable, code: turn.CodeStoreBusy, message: "The store does not answer.", retryable: true, err: err}
	}
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ready"})
}
