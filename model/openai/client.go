package openai

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/tls"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/model"
)

// DefaultIdleTimeout is how long the endpoint may be silent.
const DefaultIdleTimeout = 60 * time.Second

const (
	// quietFactor times the idle timeout is how long comments alone keep a
	// stream alive.
	quietFactor = 10
	// afterFinish is how long the end mark may stay out once the endpoint
	// has said why the answer ends.
	afterFinish = 5 * time.Second
	// maxErrorBody limits what is read of an error answer.
	maxErrorBody = 64 << 10
)

// Config says where the endpoint is and how to talk to it.
type Config struct {
	// BaseURL is the address up to, without, /chat/completions. Query
	// parameters are kept. With the azure profile it may be the bare address
	// of the resource, with api-version as a query parameter.
	BaseURL string
	// APIKey authorizes the requests; empty sends none.
	APIKey string
	// Name is the model's id at the endpoint.
	Name string
	// Profile describes the vendor; the zero value is the openai profile.
	Profile Profile
	// HTTPClient runs the requests; nil uses one of the package's own.
	// Redirects are never followed.
	HTTPClient *http.Client
	// IdleTimeout is how long the endpoint may be silent before and during
	// an answer; 0 means DefaultIdleTimeout. Comments keep a stream alive
	// for ten times as long at most.
	IdleTimeout time.Duration
	// Headers are added to every request.
	Headers map[string]string
}

// String describes the configuration without its secrets.
func (c Config) String() string {
	return fmt.Sprintf("openai endpoint %s, model %s, profile %s", hostOf(c.BaseURL), c.Name, c.Profile.Name)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// Client is a model behind an OpenAI-compatible endpoint. It is safe for
// concurrent use.
type Client struct {
	name     string
	endpoint *url.URL
	profile  Profile
	http     *http.Client
	idle     time.Duration
	refused  refusedWishes
	// authorize and redact close over the secrets, so that printing a Client
	// cannot show them.
	authorize func(http.Header)
	redact    func(string) string
}

var _ model.Model = (*Client)(nil)

// New returns a client for the endpoint.
func New(cfg Config) (*Client, error) {
	c := &Client{name: cfg.Name, profile: cfg.Profile, idle: cfg.IdleTimeout}
	if c.profile.Name == "" && c.profile.MaxTokensParam == "" {
		c.profile = profiles[0]
	}
	if c.idle <= 0 {
		c.idle = DefaultIdleTimeout
	}
	u, err := url.Parse(strings.TrimSpace(cfg.BaseURL))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("openai: the base URL must be an absolute http or https address")
	case u.User != nil:
		return nil, errors.New("openai: the base URL must not carry a user or password")
	case cfg.Name == "":
		return nil, errors.New("openai: the model has no name")
	}
	if _, err := c.profile.idMapper(); err != nil {
		return nil, err
	}
	c.endpoint = u

	own := http.Client{Transport: sharedTransport()}
	if cfg.HTTPClient != nil {
		own = *cfg.HTTPClient
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own

	key, headers, keyHeader := cfg.APIKey, maps.Clone(cfg.Headers), c.profile.KeyHeader
	c.authorize = func(h http.Header) {
		switch {
		case key == "":
		case keyHeader != "":
			h.Set(keyHeader, key)
		default:
			h.Set("Authorization", "Bearer "+key)
		}
		for name, value := range headers {
			h.Set(name, value)
		}
	}
	var secrets []string
	for _, values := range u.Query() {
		secrets = append(secrets, values...)
	}
	for _, value := range headers {
		secrets = append(secrets, value)
	}
	c.redact = func(text string) string {
		if key != "" {
			text = strings.ReplaceAll(text, key, "[key]")
		}
		for _, s := range secrets {
			if len(s) >= 8 { // shorter ones are words, not secrets
				text = strings.ReplaceAll(text, s, "[hidden]")
			}
		}
		return text
	}
	return c, nil
}

// sharedTransport keeps connections for all clients of the process.
var sharedTransport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
})

// Info implements model.Model.
func (c *Client) Info() model.Info { return model.Info{Kind: "openai", Name: c.name} }

// String describes the client without its secrets.
func (c *Client) String() string {
	return fmt.Sprintf("openai endpoint %s, model %s, profile %s", c.endpoint.Host, c.name, c.profile.Name)
}

// Stream implements model.Model.
//
// A stream that ends without a finish reason and without an end mark is a
// response with FinishIncomplete and no calls, not an error; the pieces of its
// calls stand in Quirks.
//
// A request that is refused for a wish its answer can do without, a temperature
// or a forced call, is sent again without it, and so are later ones.
func (c *Client) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	name := req.Name
	if name == "" {
		name = c.name
	}
	for {
		req = c.refused.leaveOut(name, req)
		resp, err := c.stream(ctx, name, req, on)
		// An error after the first piece comes too late to begin anew.
		if err == nil || resp.FirstToken != 0 || !c.refused.learn(name, req, err) {
			return resp, err
		}
	}
}

// stream sends one request.
func (c *Client) stream(ctx context.Context, name string, req model.Request, on func(model.Delta) error) (model.Response, error) {
	body, err := c.profile.requestBody(name, req)
	if err != nil {
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: err.Error(), Err: err}
	}

	inner, cancel := context.WithCancelCause(ctx)
	finished := false // the connection goes on to be drained after the return
	defer func() {
		if !finished {
			cancel(nil)
		}
	}()
	silence := newSilence(c.idle, cancel)
	defer silence.stop()

	hreq, err := http.NewRequestWithContext(inner, http.MethodPost, c.url(name), bytes.NewReader(body))
	if err != nil {
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: "the request could not be built"}
	}
	hreq.Header.Set("Content-Type", "application/json")
	hreq.Header.Set("Accept", "text/event-stream")
	c.authorize(hreq.Header)

	start := time.Now()
	hresp, err := c.http.Do(hreq)
	if err != nil {
		return model.Response{}, c.failure(ctx, inner, err)
	}
	if hresp.StatusCode != http.StatusOK {
		defer hresp.Body.Close()
		return model.Response{}, c.refusal(hresp)
	}

	var first time.Duration
	r := newReader(c.profile, req.Tools, func(d model.Delta) error {
		if first == 0 {
			first = time.Since(start)
		}
		return on(d)
	}, newCallID)
	r.heard, r.finished = silence.data, silence.finished
	resp, err := r.read(silence.watch(hresp.Body))
	resp.FirstToken = first
	if err == nil && resp.Finish != model.FinishIncomplete {
		finished = true
		go drain(hresp.Body, cancel)
		return resp, nil
	}
	hresp.Body.Close()
	var known *model.Error
	switch {
	case err == nil || r.refused:
	case errors.As(err, &known):
		known.Message = c.redact(known.Message)
	default:
		err = c.failure(ctx, inner, err)
	}
	return resp, err
}

// url is where completions of the named model are.
func (c *Client) url(name string) string {
	u := *c.endpoint
	u.Path = strings.TrimSuffix(u.Path, "/")
	if c.profile.Deployments && u.Path == "" {
		u = *u.JoinPath("openai", "deployments", name)
	}
	if !strings.HasSuffix(u.Path, "/chat/completions") {
		u = *u.JoinPath("chat", "completions")
	}
	if c.profile.APIVersion != "" && strings.Contains(u.Path, "/deployments/") {
		q := u.Query()
		if q.Get("api-version") == "" {
			q.Set("api-version", c.profile.APIVersion)
		}
		u.RawQuery = q.Encode()
	}
	return u.String()
}

// refusal reads an answer that is not 200.
func (c *Client) refusal(resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return &model.Error{
			Code: model.CodeBadRequest, Status: resp.StatusCode,
			Message: "the endpoint redirects, which is not followed; set the base URL to the address it answers at",
		}
	}
	// What arrived of a broken body is still the best there is to say.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := readError(body)
	if strings.HasPrefix(strings.TrimSpace(e.message), "<") { // a proxy's HTML page
		e.message = ""
	}
	failed := e.toModel(resp.StatusCode)
	failed.Message = c.redact(failed.Message)
	failed.RetryAfter = retryAfter(resp.Header, time.Now())
	return failed
}

// failure words an error of the connection.
func (c *Client) failure(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("model: %w", ctx.Err())
	}
	if errors.Is(context.Cause(inner), errSilent) {
		return &model.Error{
			Code: model.CodeTimeout, Retryable: true, Err: errSilent,
			Message: fmt.Sprintf("%s sent nothing for %s", c.endpoint.Host, c.idle),
		}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // its text has the whole address
		err = wrapped.Err
	}
	var certificate *tls.CertificateVerificationError
	return &model.Error{
		Code:      model.CodeUnavailable,
		Message:   c.redact(fmt.Sprintf("%s: %v", c.endpoint.Host, err)),
		Retryable: !errors.As(err, &certificate),
	}
}

// drain reads the little that may follow an answer, so that the connection
// can be used again, but does not wait for an endpoint that keeps it open.
func drain(body io.ReadCloser, cancel context.CancelCauseFunc) {
	limit := time.AfterFunc(time.Second, func() { cancel(nil) })
	defer limit.Stop()
	defer cancel(nil)
	defer body.Close()
	// What is lost here is nothing but the connection.
	_, _ = io.Copy(io.Discard, io.LimitReader(body, 4<<10))
}

func newCallID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}

// hostOf is the part of an address that may be shown.
func hostOf(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Host
}

var errSilent = errors.New("the endpoint fell silent")

// silence cancels a request when nothing arrives for too long. Its clock
// stands still while what arrived is being dealt with.
type silence struct {
	idle   time.Duration
	quiet  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	since  time.Time // of the last data
	over   bool      // finish was seen
}

func newSilence(idle time.Duration, cancel context.CancelCauseFunc) *silence {
	return &silence{
		idle: idle, quiet: quietFactor * idle, since: time.Now(), cancel: cancel,
		timer: time.AfterFunc(idle, func() { cancel(errSilent) }),
	}
}

func (s *silence) stop() { s.timer.Stop() }

// data notes that a frame with data arrived.
func (s *silence) data() { s.since = time.Now() }

// finished shortens the wait for what may follow the finish.
func (s *silence) finished() { s.over = true }

// watch lets every byte count as life, unless they have been nothing but
// comments for too long.
func (s *silence) watch(r io.Reader) io.Reader { return watched{s, r} }

type watched struct {
	*silence
	r io.Reader
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	switch {
	case w.over:
		w.timer.Reset(min(w.idle, afterFinish))
	case time.Since(w.since) >= w.quiet:
		w.cancel(errSilent)
	default:
		w.timer.Reset(w.idle)
	}
	n, err := w.r.Read(p)
	w.timer.Stop()
	return n, err
}
