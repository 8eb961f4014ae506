package scripted

import (
	"fmt"
	"io"
	"net/http"
	"sync"
)

// RoundTripper runs requests against a handler without a network. The body is
// streamed; a handler that panics with http.ErrAbortHandler cuts it off as a
// closed connection would.
func RoundTripper(h http.Handler) http.RoundTripper { return roundTripper{h} }

type roundTripper struct{ handler http.Handler }

// RoundTrip implements http.RoundTripper.
func (t roundTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	body, out := io.Pipe()
	w := &pipeWriter{header: http.Header{}, out: out, started: make(chan struct{})}
	in := r.Clone(r.Context())
	if in.Body == nil {
		in.Body = http.NoBody
	}
	in.RequestURI = in.URL.RequestURI()
	go func() {
		defer func() {
			end := error(nil)
			if p := recover(); p == http.ErrAbortHandler {
				end = io.ErrUnexpectedEOF
			} else if p != nil {
				end = fmt.Errorf("scripted: handler panic: %v", p)
			}
			w.WriteHeader(http.StatusOK)
			out.CloseWithError(end)
			in.Body.Close()
		}()
		t.handler.ServeHTTP(w, in)
	}()
	stop := make(chan struct{})
	go func() {
		select {
		case <-r.Context().Done():
			out.CloseWithError(r.Context().Err())
		case <-stop:
		}
	}()
	select {
	case <-w.started:
	case <-r.Context().Done():
		close(stop)
		return nil, r.Context().Err()
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)), StatusCode: w.status,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: w.sent, Body: &pipeBody{body, sync.OnceFunc(func() { close(stop) })}, ContentLength: -1, Request: r,
	}, nil
}

// pipeWriter is a response writer whose body goes through a pipe.
type pipeWriter struct {
	header  http.Header
	sent    http.Header
	status  int
	out     *io.PipeWriter
	started chan struct{}
}

// Header implements http.ResponseWriter.
func (w *pipeWriter) Header() http.Header { return w.header }

// WriteHeader implements http.ResponseWriter.
func (w *pipeWriter) WriteHeader(status int) {
	if w.status == 0 {
		w.status, w.sent = status, w.header.Clone()
		close(w.started)
	}
}

// Write implements http.ResponseWriter.
func (w *pipeWriter) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	return w.out.Write(p)
}

// Flush implements http.Flusher.
func (w *pipeWriter) Flush() { w.WriteHeader(http.StatusOK) }

type pipeBody struct {
	*io.PipeReader
	stop func()
}

// Close implements io.Closer.
func (b *pipeBody) Close() error {
	b.stop()
	return b.PipeReader.Close()
}
