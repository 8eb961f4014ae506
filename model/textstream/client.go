package textstream

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// Kind is what Info calls such a model.
const Kind = "text"

// Config says where the endpoint is and how to talk to it.
type Config struct {
	// URL is where requests are posted.
	URL string
	// Name is what the model is called; the host of URL unless set.
	Name string
	// Body is the JSON of a request, with {{.Text}} (the question), {{.Messages}}
	// (the whole conversation with it, an array of {role, content}), {{.System}}
	// (the instructions, which are in nothing else), {{.Model}}, {{.User}} and
	// {{.Lang}}. Default DefaultBody.
	Body string
	// TextPath is a JSON Pointer (RFC 6901) to the text in the data of an event,
	// or in a document that is no stream; "" is all of it, a JSON string. nil: the
	// data is the text.
	TextPath *string
	// Events are the names of the events that have text; "message" are those
	// without a name. nil: all but those that keep a connection alive.
	Events []string
	// APIKey authorizes the requests; empty sends none.
	APIKey string
	// Token, instead of APIKey, returns the bearer token of a request, whose
	// context it gets. Its error ends the request.
	Token func(ctx context.Context) (string, error)
	// Headers are added to every request.
	Headers map[string]string
	// Person says for whom a request is, by its context; nil: for nobody.
	Person func(ctx context.Context) Person
	// IdleTimeout is how long the endpoint may be silent before and during an
	// answer; 0 is a minute. Comments keep a stream alive for ten times as long
	// at most.
	IdleTimeout time.Duration
	// Logger is told once where an answer does not have its text where TextPath
	// says, or looks as if one were missing; nil tells nobody.
	Logger *slog.Logger
	// HTTPClient runs the requests; nil uses one of the process. Redirects are
	// never followed.
	HTTPClient *http.Client
}

// Person is for whom a request is.
type Person struct{ User, Lang string }

// String describes the configuration without its secrets.
func (c Config) String() string {
	return fmt.Sprintf("text stream of %s, called %s", endpoint.Host(c.URL), c.Name)
}

// GoString is String.
func (c Config) GoString() string { return c.String() }

// Client is an endpoint that streams text. It is safe for concurrent use.
type Client struct {
	name   string
	url    *url.URL
	body   *body
	path   pointer // nil: the data is the text
	spelt  string  // the path as it was given
	log    *slog.Logger
	warned sync.Once
	events map[string]bool
	http   *http.Client
	idle   time.Duration
	person func(ctx context.Context) Person
	// authorize closes over the secrets, so that printing a Client cannot show
	// them.
	authorize func(context.Context, http.Header) (redact func(string) string, err error)
}

var _ model.Model = (*Client)(nil)

// New returns a client for the endpoint.
func New(cfg Config) (*Client, error) {
	c := &Client{name: cfg.Name, idle: cfg.IdleTimeout, http: endpoint.Client(cfg.HTTPClient), person: cfg.Person, log: cfg.Logger}
	var err error
	if c.url, err = endpoint.Address(cfg.URL); err != nil {
		return nil, fmt.Errorf("text stream: the address %w", err)
	}
	if c.name == "" {
		c.name = c.url.Host
	}
	if c.idle <= 0 {
		c.idle = endpoint.DefaultIdleTimeout
	}
	if c.person == nil {
		c.person = func(context.Context) Person { return Person{} }
	}
	if cfg.TextPath != nil {
		if c.path, err = parsePointer(*cfg.TextPath); err != nil {
			return nil, fmt.Errorf("text stream: %w", err)
		}
		c.spelt = *cfg.TextPath
	}
	if cfg.Events != nil {
		c.events = make(map[string]bool, len(cfg.Events))
		for _, name := range cfg.Events {
			c.events[name] = true
		}
	}
	template := cfg.Body
	if template == "" {
		template = DefaultBody
	}
	if c.body, err = compileBody(template); err != nil {
		return nil, fmt.Errorf("text stream: %w", err)
	}
	keys := endpoint.Credentials{Key: cfg.APIKey, Token: cfg.Token, Headers: cfg.Headers}
	if c.authorize, err = keys.Authorizer(c.url); err != nil {
		return nil, fmt.Errorf("text stream: %w", err)
	}
	return c, nil
}

// Info implements model.Model.
func (c *Client) Info() model.Info { return model.Info{Kind: Kind, Name: c.name} }

// String describes the client without its secrets.
func (c *Client) String() string {
	return fmt.Sprintf("text stream of %s, called %s", c.url.Host, c.name)
}

// Stream implements model.Model. Tools, and all else of the request that no
// value of the body stands for, are left out.
//
// An answer whose connection breaks is a response with FinishIncomplete, not an
// error; one that ends as HTTP answers end is complete, with or without an end
// mark.
func (c *Client) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	name := req.Name
	if name == "" {
		name = c.name
	}
	raw, err := c.body.render(req, name, c.person(ctx))
	if err != nil {
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: err.Error(), Err: err}
	}
	return endpoint.Exchange{
		HTTP: c.http, URL: c.url.String(), Host: c.url.Host, Body: raw, Idle: c.idle, Authorize: c.authorize,
		Accept: "text/event-stream, text/plain;q=0.9, application/json;q=0.5",
		Good:   func(status int) bool { return status >= 200 && status <= 299 },
		Read: func(head http.Header, body io.Reader, silence *endpoint.Silence, on func(model.Delta) error) (model.Response, error) {
			r := &reader{path: c.path, events: c.events, heard: silence.Data, on: on}
			resp, err := r.read(head.Get("Content-Type"), body)
			if r.odd != "" {
				c.warn(ctx, r.odd, r.sample)
			}
			return resp, err
		},
	}.Run(ctx, on)
}

// maxSample is how many bytes of an event the log is shown.
const maxSample = 200

// warn tells the log, the first time, that the text of an answer is not where it
// should be.
func (c *Client) warn(ctx context.Context, what oddity, event string) {
	if c.log == nil {
		return
	}
	c.warned.Do(func() {
		// An event may repeat what it was asked with.
		redact, err := c.authorize(ctx, make(http.Header))
		if err != nil {
			return
		}
		if event = redact(event); len(event) > maxSample {
			event = strings.ToValidUTF8(event[:maxSample], "") + "…"
		}
		args := []any{"upstream", c.url.Host, "event", event}
		if c.path != nil {
			args = append(args, "text_path", c.spelt)
		}
		c.log.Warn(string(what), args...)
	})
}
