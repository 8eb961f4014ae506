package openai

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// DefaultIdleTimeout is how long the endpoint may be silent.
const DefaultIdleTimeout = endpoint.DefaultIdleTimeout

// Config says where the endpoint is and how to talk to it.
type Config struct {
	// BaseURL is the address up to, without, /chat/completions. Query
	// parameters are kept. With the azure profile it may be the bare address
	// of the resource, with api-version as a query parameter.
	BaseURL string
	// APIKey authorizes the requests; empty sends none.
	APIKey string
	// Token, instead of APIKey, returns the bearer token of a request, whose
	// context it gets. Its error ends the request.
	Token func(ctx context.Context) (string, error)
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
	return fmt.Sprintf("openai endpoint %s, model %s, profile %s", endpoint.Host(c.BaseURL), c.Name, c.Profile.Name)
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
	// authorize closes over the secrets, so that printing a Client cannot show
	// them.
	authorize func(context.Context, http.Header) (redact func(string) string, err error)
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
	u, err := endpoint.Address(cfg.BaseURL)
	if err != nil {
		return nil, fmt.Errorf("openai: the base URL %w", err)
	}
	if cfg.Name == "" {
		return nil, errors.New("openai: the model has no name")
	}
	if _, err := c.profile.idMapper(); err != nil {
		return nil, err
	}
	c.endpoint = u

	c.http = endpoint.Client(cfg.HTTPClient)

	keys := endpoint.Credentials{Key: cfg.APIKey, KeyHeader: c.profile.KeyHeader, Token: cfg.Token, Headers: cfg.Headers}
	if c.authorize, err = keys.Authorizer(u); err != nil {
		return nil, fmt.Errorf("openai: %w", err)
	}
	return c, nil
}

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

	return endpoint.Exchange{
		HTTP: c.http, URL: c.url(name), Host: c.endpoint.Host, Body: body, Idle: c.idle, Authorize: c.authorize,
		Accept: "text/event-stream",
		Read: func(_ http.Header, answer io.Reader, silence *endpoint.Silence, on func(model.Delta) error) (model.Response, error) {
			r := newReader(c.profile, req.Tools, on, newCallID)
			r.heard, r.finished = silence.Data, silence.Finished
			return r.read(answer)
		},
	}.Run(ctx, on)
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

func newCallID() string {
	var b [12]byte
	rand.Read(b[:]) // never fails
	return "call_" + hex.EncodeToString(b[:])
}
