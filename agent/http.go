package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"time"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// Config says where an agent is and how to talk to it.
type Config struct {
	// URL is where requests are posted.
	URL string
	// Name is what the agent is called; the host of URL unless set.
	Name string
	// APIKey authorizes the requests; empty sends none.
	APIKey string
	// Token, instead of APIKey, returns the bearer token of a request, whose
	// context it gets. Its error ends the request.
	Token func(ctx context.Context) (string, error)
	// Headers are added to every request.
	Headers map[string]string
	// IdleTimeout is how long the agent may be silent; 0 is a minute. Comments
	// keep a stream alive for ten times as long at most.
	IdleTimeout time.Duration
	// HTTPClient runs the requests; nil uses one of the process. Redirects are
	// never followed.
	HTTPClient *http.Client
}

// Protocol is how agents are spoken to over HTTP.
type Protocol struct {
	// Kind is what Info calls its agents, Title what people call it.
	Kind, Title string
	// Body is what is posted for a request.
	Body func(Request) ([]byte, error)
	// Read follows the answer to a request.
	Read func(Request) Reader
}

// Peer is an agent that is reached over HTTP. It implements Agent.
type Peer struct {
	protocol Protocol
	name     string
	url      *url.URL
	http     *http.Client
	idle     time.Duration
	// authorize closes over the secrets, so that printing a Peer cannot show
	// them.
	authorize func(context.Context, http.Header) (redact func(string) string, err error)
}

var _ Agent = (*Peer)(nil)

// NewPeer returns the agent at an address that speaks a protocol.
func NewPeer(protocol Protocol, cfg Config) (*Peer, error) {
	u, err := endpoint.Address(cfg.URL)
	if err != nil {
		return nil, fmt.Errorf("%s: the address of the agent %w", protocol.Kind, err)
	}
	p := &Peer{protocol: protocol, name: cfg.Name, url: u, http: endpoint.Client(cfg.HTTPClient), idle: cfg.IdleTimeout}
	if p.name == "" {
		p.name = u.Host
	}
	if p.idle <= 0 {
		p.idle = endpoint.DefaultIdleTimeout
	}
	keys := endpoint.Credentials{Key: cfg.APIKey, Token: cfg.Token, Headers: cfg.Headers}
	if p.authorize, err = keys.Authorizer(u); err != nil {
		return nil, fmt.Errorf("%s: %w", protocol.Kind, err)
	}
	return p, nil
}

// Info implements Agent.
func (p *Peer) Info() model.Info { return model.Info{Kind: p.protocol.Kind, Name: p.name} }

// String describes the agent without its secrets.
func (p *Peer) String() string {
	return fmt.Sprintf("%s agent at %s, called %s", p.protocol.Title, p.url.Host, p.name)
}

// Malformed is the failure of an agent whose answer is not its protocol's, or
// brings more than is followed.
func Malformed(format string, args ...any) error {
	return &model.Error{Code: model.CodeBadResponse, Message: fmt.Sprintf(format, args...)}
}

// Reader makes pieces of the data of a stream's frames.
type Reader interface {
	// Frame takes the data of one frame. over says that the run has ended.
	Frame(data []byte, on func(Piece) error) (over bool, err error)
	// End is called when the stream has ended.
	End() Outcome
}

// Run implements Agent.
func (p *Peer) Run(ctx context.Context, req Request, on func(Piece) error) (Outcome, error) {
	body, err := p.protocol.Body(req)
	if err != nil {
		return Outcome{}, &model.Error{Code: model.CodeBadRequest, Message: "the request could not be built", Err: err}
	}
	r := p.protocol.Read(req)
	// An Exchange hands on what models say; what the turn answers goes back
	// through it, so that an error of its own is not taken for the agent's.
	var answered error
	_, err = endpoint.Exchange{
		HTTP: p.http, URL: p.url.String(), Host: p.url.Host, Body: body, Idle: p.idle, Authorize: p.authorize,
		Accept: "text/event-stream",
		Good:   func(status int) bool { return status >= 200 && status <= 299 },
		Read: func(_ http.Header, body io.Reader, silence *endpoint.Silence, told func(model.Delta) error) (model.Response, error) {
			frames := endpoint.NewFrames(body)
			for {
				f, err := frames.Next()
				if errors.Is(err, io.EOF) {
					return model.Response{Finish: model.FinishStop}, nil
				}
				if err != nil {
					return model.Response{Finish: model.FinishIncomplete}, err
				}
				if len(f.Data) == 0 || f.Cut && !json.Valid(f.Data) {
					continue
				}
				silence.Data()
				over, err := r.Frame(f.Data, func(piece Piece) error {
					answered = on(piece)
					return told(model.Delta{Text: piece.Text})
				})
				if err != nil || over {
					return model.Response{Finish: model.FinishStop}, err
				}
			}
		},
	}.Run(ctx, func(model.Delta) error { return answered })
	return r.End(), err
}
