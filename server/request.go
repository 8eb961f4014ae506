package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"runtime/debug"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/language"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/wire/ubp"
)

// call is what is known of one request.
type call struct {
	began time.Time
	trace string
	route string
	// quiet routes are probes and the page's files.
	quiet bool
	lang  string
	// dialect is what events are written in; empty is our own.
	dialect string
	// declared is what the body of a request says its client draws; nil when it
	// says nothing.
	declared *string
	caller   tool.Caller
	owner    store.Owner
	rec      *recorder
}

type callKey struct{}

func callOf(r *http.Request) *call {
	c, ok := r.Context().Value(callKey{}).(*call)
	if !ok { // a handler outside the chain: a mistake in this package
		panic("server: request without a call")
	}
	return c
}

// recorder notes what was answered.
type recorder struct {
	http.ResponseWriter
	status int
	bytes  int64
}

// WriteHeader implements http.ResponseWriter.
func (w *recorder) WriteHeader(status int) {
	if w.status == 0 && status >= 200 {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *recorder) Write(b []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	n, err := w.ResponseWriter.Write(b)
	w.bytes += int64(n)
	return n, err
}

// Unwrap lets http.ResponseController reach the connection.
func (w *recorder) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// ServeHTTP names the request, finds its route, recovers from panics and
// writes the access line. There is no chain of handlers around the routes: a
// stream would hold the stack of each of them for as long as it is open.
func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c := &call{began: time.Now(), trace: traceID(r), lang: languageOf(r), rec: &recorder{ResponseWriter: w}}
	r = r.WithContext(context.WithValue(r.Context(), callKey{}, c))
	w.Header().Set("X-Trace-Id", c.trace)
	defer s.finish(r, c)
	if s.origins.headers(c.rec, r) || s.foreign(c.rec, r) {
		return
	}
	s.mux.ServeHTTP(c.rec, r)
}

// finish ends a request, whether its handler returned or panicked.
func (s *server) finish(r *http.Request, c *call) {
	failure := recover()
	if failure != nil && failure != http.ErrAbortHandler {
		s.log.Error("panic", "route", c.route, "trace", c.trace, "panic", fmt.Sprint(failure), "stack", string(debug.Stack()))
		if c.rec.status == 0 {
			s.fail(c.rec, r, fmt.Errorf("panic: %v", failure))
			failure = nil
		}
	}
	s.answered(r, c, time.Since(c.began))
	if failure != nil {
		// An answer has begun: only cutting the connection tells the client
		// that the rest is missing.
		panic(http.ErrAbortHandler)
	}
}

func (s *server) answered(r *http.Request, c *call, d time.Duration) {
	info := RequestInfo{
		Method: r.Method, Path: r.URL.Path, Route: c.route, Status: c.rec.status,
		Bytes: c.rec.bytes, Duration: d, TraceID: c.trace,
	}
	if info.Status == 0 { // the client left before there was an answer
		info.Status = 499
	}
	if s.Metrics != nil {
		s.Metrics.request(info)
	}
	if s.RequestLog != nil {
		s.RequestLog(info)
		return
	}
	level := s.log.Info
	if info.Status < 500 && c.quiet {
		level = s.log.Debug
	}
	level("request", "method", info.Method, "path", info.Path, "status", info.Status,
		"bytes", info.Bytes, "ms", d.Milliseconds(), "trace", info.TraceID)
}

// body is a request's body with a bound on its size and on the time it takes.
type body struct {
	io.ReadCloser
	rc *http.ResponseController
}

// limitBody bounds a body: one that never ends would hold its connection for
// ever. The answer may take longer, as streams do.
func (s *server) limitBody(w http.ResponseWriter, b io.ReadCloser, limit int64) io.ReadCloser {
	rc := http.NewResponseController(w)
	if err := rc.SetReadDeadline(time.Now().Add(s.ReadTimeout)); err != nil {
		s.log.Debug("no read deadline", "err", err) // a writer of tests
	}
	return &body{http.MaxBytesReader(w, b, limit), rc}
}

// Read implements io.Reader. What follows the body has no deadline.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err == io.EOF {
		_ = b.rc.SetReadDeadline(time.Time{}) // none can be set: none was
	}
	return n, err
}

// traceID takes the trace of a well-formed traceparent header, or makes one.
func traceID(r *http.Request) string {
	if p := r.Header.Get("Traceparent"); len(p) >= 55 && p[2] == '-' && p[35] == '-' && p[:2] != "ff" && (len(p) == 55 || p[:2] != "00") {
		id := p[3:35]
		if strings.Trim(id, "0123456789abcdef") == "" && strings.Trim(id, "0") != "" {
			return id
		}
	}
	var b [16]byte
	_, _ = rand.Read(b[:]) // never fails
	return hex.EncodeToString(b[:])
}

var languages = language.NewMatcher([]language.Tag{language.English, language.Chinese})

// languageOf returns the best of the languages that the product speaks.
func languageOf(r *http.Request) string {
	want := r.Header.Get("Accept-Language")
	if want == "" || len(want) > 1024 {
		return "en"
	}
	tags, _, err := language.ParseAcceptLanguage(want)
	if err != nil {
		return "en"
	}
	if _, i, confidence := languages.Match(tags...); i == 1 && confidence != language.No {
		return "zh"
	}
	return "en"
}

// caps returns what the client of a request says it can draw: the X-Blocks
// header, or the capabilities parameter where no header can be set.
//
// In the UI Block Protocol the parameter is the declaration, and goes before
// the header. It has that protocol's grammar, which knows no short names and no
// blanks, and a client that declares nothing draws nothing. Clients of AG-UI and
// of the AI SDK may declare in the body of their request too; one that declares
// nothing draws nothing either, unless the installation says that its front end
// draws everything.
func (s *server) caps(r *http.Request) block.Caps {
	header, inHeader := r.Header["X-Blocks"]
	param, inQuery := capabilities(r.URL.RawQuery)
	strict := callOf(r).dialect == ubp.Name
	switch {
	case inQuery && (strict || !inHeader):
		return s.Registry.Negotiate(strings.Join(param, ","), !strict)
	case inHeader:
		return s.Registry.Negotiate(strings.Join(header, ","), true)
	case strict:
		return s.Registry.Negotiate("", false)
	case callOf(r).declared != nil:
		return s.Registry.Negotiate(*callOf(r).declared, true)
	case slices.Contains(neighbours, callOf(r).dialect) && !s.UndeclaredBlocks:
		return s.Registry.Negotiate("", true)
	}
	return block.Caps{}
}

// capabilities are the values of that parameter of a query. One that cannot be
// decoded is a declaration all the same, of a token that is malformed: net/url
// drops it, and whoever declares nothing is sent every block.
func capabilities(query string) (values []string, ok bool) {
	for pair := range strings.SplitSeq(query, "&") {
		name, value, _ := strings.Cut(pair, "=")
		if name, err := url.QueryUnescape(name); err != nil || name != "capabilities" {
			continue
		}
		if plain, err := url.QueryUnescape(value); err == nil {
			value = plain
		}
		values, ok = append(values, value), true
	}
	return values, ok
}

// declared refuses a malformed capability where the installation wants it so.
func (s *server) declared(r *http.Request) error {
	if !s.StrictCapabilities {
		return nil
	}
	if bad := s.caps(r).Rejected; len(bad) > 0 {
		return &answer{
			status: http.StatusBadRequest, code: codeInvalidToken,
			message: fmt.Sprintf("The capability %q is malformed; capabilities are namespace.name@major.", bad[0]),
			details: map[string]any{"rejected": bad},
		}
	}
	return nil
}

// unprefixed returns the path without its version for those routes that
// answer there too.
func unprefixed(path string) (string, bool) {
	if path == "/v1/assets/{id}/url" {
		return "/assets/{id}/url", true
	}
	rest, ok := strings.CutPrefix(path, "/v1/chat")
	if !ok {
		return "", false
	}
	return "/chat" + rest, true
}
