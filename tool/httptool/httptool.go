// Package httptool makes tools of HTTP requests declared in configuration.
//
// It owns the sources (one origin each, with its identity and limits), the
// requests built from templates and the reading of answers. It may import
// block, tool and tool/mapping. It must never send anything, the caller's
// token above all, to another origin than its source's.
package httptool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// Auth says as whom a source is called.
type Auth string

// The ways to authenticate.
const (
	AuthNone    Auth = "none"
	AuthForward Auth = "forward" // the caller's bearer token
	AuthBearer  Auth = "bearer"  // the source's own Token
)

// Config describes an HTTP source.
type Config struct {
	// BaseURL is scheme, host and the path every request starts with.
	BaseURL string `json:"base_url"`
	// Auth is none when empty.
	Auth Auth `json:"auth"`
	// Token is the secret of AuthBearer.
	Token string `json:"-"`
	// Headers are sent with every request.
	Headers map[string]string `json:"headers"`
	// Timeout bounds one request with its answer. Default 10 s.
	Timeout time.Duration `json:"timeout"`
	// MaxBytes bounds an answer, unpacked. Default 4 MiB.
	MaxBytes int64 `json:"max_bytes"`
	// Transport replaces the default one.
	Transport http.RoundTripper `json:"-"`
}

// Source is an HTTP origin. It is safe for concurrent use.
type Source struct {
	base     *url.URL
	auth     Auth
	token    string
	headers  http.Header
	timeout  time.Duration
	maxBytes int64
	client   *http.Client
}

// Open checks a Config. It sends nothing.
func Open(c Config) (*Source, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("base_url: %w", err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, fmt.Errorf("base_url %q: must start with http:// or https://", u.Redacted())
	case u.Host == "":
		return nil, fmt.Errorf("base_url %q: names no host", u.Redacted())
	case u.User != nil:
		return nil, errors.New("base_url: must not hold a password; use auth")
	case u.RawQuery != "" || u.Fragment != "" || u.ForceQuery:
		return nil, fmt.Errorf("base_url %q: must have neither query nor fragment", u)
	}
	if err := checkPath(u.EscapedPath()); err != nil {
		return nil, fmt.Errorf("base_url %q: %w", u, err)
	}
	s := &Source{base: u, auth: c.Auth, token: c.Token, timeout: c.Timeout, maxBytes: c.MaxBytes}
	switch s.auth {
	case "":
		s.auth = AuthNone
	case AuthNone, AuthForward:
	case AuthBearer:
		if c.Token == "" {
			return nil, errors.New("auth bearer: the token is missing")
		}
	default:
		return nil, fmt.Errorf("auth %q: must be none, forward or bearer", c.Auth)
	}
	if c.Token != "" && s.auth != AuthBearer {
		return nil, fmt.Errorf("auth %s takes no token of the source's own", s.auth)
	}
	if s.timeout <= 0 {
		s.timeout = 10 * time.Second
	}
	if s.maxBytes <= 0 {
		s.maxBytes = 4 << 20
	}
	s.headers = make(http.Header)
	for k, v := range c.Headers {
		if err := checkHeader(k, v); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		s.headers.Set(k, v)
	}
	s.client = &http.Client{Transport: c.Transport, CheckRedirect: s.checkRedirect}
	if s.client.Transport == nil {
		s.client.Transport = http.DefaultTransport.(*http.Transport).Clone()
	}
	return s, nil
}

// errRedirect says that a redirect was not followed.
var errRedirect = errors.New("redirect refused")

func (s *Source) checkRedirect(req *http.Request, via []*http.Request) error {
	switch {
	case s.auth == AuthForward:
		// The token was given for one address, not for where that points.
		return fmt.Errorf("%w: the caller's token does not follow redirects", errRedirect)
	case !sameOrigin(req.URL, s.base):
		return fmt.Errorf("%w: it leads to another origin", errRedirect)
	case via[0].Method != http.MethodGet && via[0].Method != http.MethodHead:
		return fmt.Errorf("%w: the request is not a GET", errRedirect)
	case len(via) >= 5:
		return fmt.Errorf("%w: too many", errRedirect)
	}
	return nil
}

func sameOrigin(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && port(a) == port(b)
}

func port(u *url.URL) string {
	switch p := u.Port(); {
	case p != "":
		return p
	case u.Scheme == "https":
		return "443"
	default:
		return "80"
	}
}

// ownHeaders belong to the connection or to authentication.
var ownHeaders = map[string]bool{
	"Authorization": true, "Proxy-Authorization": true, "Host": true, "Connection": true, "Content-Length": true,
	"Transfer-Encoding": true, "Te": true, "Trailer": true, "Upgrade": true, "Keep-Alive": true, "Proxy-Connection": true,
	"Accept-Encoding": true,
}

func checkHeader(name, value string) error {
	switch {
	case !httpguts.ValidHeaderFieldName(name):
		return fmt.Errorf("%q is not a header name", name)
	case ownHeaders[http.CanonicalHeaderKey(name)]:
		return fmt.Errorf("%s cannot be set; it follows from auth and the request", name)
	case !httpguts.ValidHeaderFieldValue(value):
		return fmt.Errorf("the value of %s has characters that headers cannot carry", name)
	}
	return nil
}

// Def declares a tool that sends one request.
type Def struct {
	// Spec names the tool. Its Block is made from Mapping.
	Spec    tool.Spec
	Request Request
	// Mapping makes the block and the summary of {args, user, body}. Without a
	// block, an answer of the shape {toolId, content, ui} describes its own.
	Mapping mapping.Config
}

// New makes the tool. A tool whose request is not a GET is not run again for a
// failed block unless its Spec says Refreshable.
func New(src *Source, def Def) (tool.Tool, error) {
	name := def.Spec.Name
	if _, err := tool.NewCheck(def.Spec); err != nil {
		return nil, err
	}
	call, err := src.Compile(def.Request)
	if err != nil {
		return nil, fmt.Errorf("tool %q: request: %w", name, err)
	}
	m, err := mapping.Compile("tool "+name, def.Mapping)
	if err != nil {
		return nil, err
	}
	spec := def.Spec
	spec.Block = m.BlockSpec()
	if call.Safe() {
		spec.Refreshable = true
	} else if !spec.Refreshable {
		spec.Unrepeatable = true
	}
	return &requestTool{spec: spec, call: call, mapper: m}, nil
}

type requestTool struct {
	spec   tool.Spec
	call   *Call
	mapper *mapping.Mapper
}

func (t *requestTool) Spec() tool.Spec { return t.spec }

func (t *requestTool) Run(ctx context.Context, raw json.RawMessage, out *tool.Out) error {
	args, err := mapping.Decode(raw)
	if err != nil {
		return err
	}
	data := map[string]any{"args": args, "user": mapping.User(ctx)}
	answer, err := t.call.Do(ctx, data)
	if err != nil {
		return err
	}
	if !t.mapper.HasBlock() && describesItself(answer) {
		return out.UI(answer)
	}
	body, err := mapping.Decode(answer)
	if err != nil {
		return badAnswer(err)
	}
	data["body"] = body
	return t.mapper.Write(ctx, data, out)
}

// describesItself recognises the answer {toolId, content, ui}.
func describesItself(answer json.RawMessage) bool {
	var a struct {
		ToolID  *string `json:"toolId"`
		Content *string `json:"content"`
		UI      *struct {
			Type string `json:"type"`
		} `json:"ui"`
	}
	if json.Unmarshal(answer, &a) != nil {
		return false
	}
	return a.UI != nil && a.UI.Type != "" || a.ToolID != nil && a.Content != nil
}

// Do sends the request for the caller in ctx and returns the JSON of the
// answer; an empty answer is null. data is {args, user, …} as decoded JSON. Its
// errors are *tool.Error or end with ctx.
func (c *Call) Do(ctx context.Context, data map[string]any) (json.RawMessage, error) {
	return c.DoWith(ctx, data, nil)
}

// DoWith is Do with further headers, which go before those of the request. How
// far a request came that failed is in the error: errors.Is ErrNotSent,
// errors.As *StatusError, errors.Is ErrAnswer; anything else is not known.
func (c *Call) DoWith(ctx context.Context, data map[string]any, extra http.Header) (json.RawMessage, error) {
	s := c.src
	parent := ctx
	ctx, cancel := context.WithTimeout(ctx, s.timeout)
	defer cancel()
	req, err := c.build(ctx, data)
	if err != nil {
		return nil, err
	}
	for k, v := range extra {
		if ownHeaders[http.CanonicalHeaderKey(k)] {
			return nil, argumentError("header "+k, errors.New("it follows from auth and the request"))
		}
		req.Header[http.CanonicalHeaderKey(k)] = v
	}
	if !c.Safe() {
		// net/http sends a request again by itself when its connection breaks
		// and a header says Idempotency-Key. Whether that is so is not for it
		// to decide: a body that cannot be had twice is sent once.
		req.Body, req.GetBody = io.NopCloser(req.Body), nil
	}
	switch s.auth {
	case AuthBearer:
		req.Header.Set("Authorization", "Bearer "+s.token)
	case AuthForward:
		token := tool.CallerFrom(ctx).Token
		if token == "" {
			return nil, &tool.Error{Code: block.CodeNotAuthorized, Message: "You need to sign in to read this data.", Err: ErrNotSent}
		}
		req.Header.Set("Authorization", "Bearer "+token)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		return nil, sendError(parent, err)
	}
	defer resp.Body.Close()
	if err := statusError(resp); err != nil {
		return nil, err
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, s.maxBytes+1))
	if err != nil {
		return nil, sendError(parent, fmt.Errorf("%w: %w", ErrAnswer, err))
	}
	if int64(len(raw)) > s.maxBytes {
		return nil, &tool.Error{
			Code:    block.CodePayloadTooLarge,
			Message: "The answer of the data source is too large.",
			Err:     fmt.Errorf("%w: more than %d bytes", ErrAnswer, s.maxBytes),
		}
	}
	if len(raw) == 0 {
		return json.RawMessage("null"), nil
	}
	media, _, err := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || media != "application/json" && !strings.HasSuffix(media, "+json") {
		return nil, badAnswer(fmt.Errorf("the content type is %q, not JSON", resp.Header.Get("Content-Type")))
	}
	if !json.Valid(raw) {
		return nil, badAnswer(errors.New("the body is not valid JSON"))
	}
	return raw, nil
}

func badAnswer(err error) error {
	return &tool.Error{Code: block.CodeDataFetchFailed, Message: "The data source gave an answer that cannot be read.", Err: fmt.Errorf("%w: %w", ErrAnswer, err)}
}

// How far a request came, for those who must know whether it was carried out.
var (
	// ErrNotSent is wrapped by errors of requests that never left.
	ErrNotSent = errors.New("the request was not sent")
	// ErrAnswer is wrapped by errors of requests that were carried out, whose
	// answer cannot be read.
	ErrAnswer = errors.New("the answer cannot be read")
)

// StatusError is an answer with a status outside 2xx.
type StatusError struct{ Status int }

// Error implements error.
func (e *StatusError) Error() string {
	return "status " + strconv.Itoa(e.Status) + " " + http.StatusText(e.Status)
}

// sendError words a request that got no answer. The error of net/http names
// the URL, which may hold arguments: it stays in Err.
func sendError(parent context.Context, err error) error {
	var timeout interface{ Timeout() bool }
	var dial *net.OpError
	if errors.As(err, &dial) && dial.Op == "dial" {
		err = fmt.Errorf("%w: %w", ErrNotSent, err)
	}
	switch {
	case parent.Err() != nil && !errors.Is(parent.Err(), context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", parent.Err(), err)
	case errors.Is(err, errRedirect):
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: "The data source points to another address, which is not followed.", Err: err}
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return &tool.Error{Code: block.CodeToolTimeout, Message: "The data source took too long.", Retryable: true, Err: err}
	}
	return &tool.Error{Code: block.CodeDataFetchFailed, Message: "The data source could not be reached.", Retryable: true, Err: err}
}

// statusError turns a status outside 2xx into the error for it.
func statusError(resp *http.Response) error {
	n := resp.StatusCode
	if n >= 200 && n < 300 {
		return nil
	}
	e := &tool.Error{Code: block.CodeDataFetchFailed, Err: &StatusError{Status: n}}
	switch {
	case n == http.StatusUnauthorized || n == http.StatusForbidden:
		e.Code, e.Message = block.CodeNotAuthorized, "You are not allowed to read this data."
	case n == http.StatusNotFound || n == http.StatusGone:
		e.Message = "The data source has nothing under this name."
	case n == http.StatusRequestTimeout || n == http.StatusTooManyRequests:
		e.Message, e.Retryable = "The data source is busy.", true
	case n >= 500:
		e.Message, e.Retryable = "The data source failed.", true
	default:
		e.Message = "The data source refused the request."
	}
	return e
}
