package endpoint

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/model"
)

// maxErrorBody limits what is read of an error answer.
const maxErrorBody = 64 << 10

// Client returns an HTTP client that follows no redirect, so that nothing that
// is sent to one origin reaches another. It is made of base, or of one transport
// for the process.
func Client(base *http.Client) *http.Client {
	own := http.Client{Transport: sharedTransport()}
	if base != nil {
		own = *base
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

// sharedTransport keeps connections for all models of the process.
var sharedTransport = sync.OnceValue(func() *http.Transport {
	t := http.DefaultTransport.(*http.Transport).Clone()
	t.MaxIdleConnsPerHost = 64
	return t
})

// Credentials say how requests are authorized.
type Credentials struct {
	// Key is the same for all of them; "" for none.
	Key string
	// KeyHeader carries Key by itself; "" for Authorization: Bearer.
	KeyHeader string
	// Token returns, instead of Key, the bearer token of one request, whose
	// context it gets. Its error ends the request.
	Token func(ctx context.Context) (string, error)
	// Headers are added to every request.
	Headers map[string]string
}

// Authorizer returns what authorizes a request to an address. It returns what
// takes the request's secrets out of a text, to which the values of the address's
// query belong. The credentials are closed over, so that printing whatever keeps
// the authorizer cannot show them.
func (c Credentials) Authorizer(to *url.URL) (func(ctx context.Context, h http.Header) (redact func(text string) string, err error), error) {
	secrets := slices.Concat(slices.Collect(maps.Values(to.Query()))...)
	for name, value := range c.Headers {
		if c.Token != nil && http.CanonicalHeaderKey(name) == "Authorization" {
			return nil, errors.New("the header Authorization carries the token of each request and cannot be set beside it")
		}
		secrets = append(secrets, value)
	}
	if c.Token != nil && c.Key != "" {
		return nil, errors.New("a key and the token of each request exclude each other")
	}
	headers := maps.Clone(c.Headers)
	return func(ctx context.Context, h http.Header) (func(string) string, error) {
		key := c.Key
		if c.Token != nil {
			var err error
			if key, err = c.Token(ctx); err != nil {
				return nil, err
			}
		}
		switch {
		case key == "":
		case c.KeyHeader != "" && c.Token == nil:
			h.Set(c.KeyHeader, key)
		default:
			h.Set("Authorization", "Bearer "+key)
		}
		for name, value := range headers {
			h.Set(name, value)
		}
		return redactor(key, secrets), nil
	}, nil
}

// redactor returns what takes a key out of a text, and other values that are
// long enough to be secrets.
func redactor(key string, others []string) func(text string) string {
	return func(text string) string {
		if key != "" {
			text = strings.ReplaceAll(text, key, "[key]")
		}
		for _, s := range others {
			if len(s) >= 8 { // shorter ones are words
				text = strings.ReplaceAll(text, s, "[hidden]")
			}
		}
		return text
	}
}

// Unseen stands for the images of a message where the model does not see.
func Unseen(n int) string {
	if n == 1 {
		return "[An image was attached; this model cannot see it.]"
	}
	return fmt.Sprintf("[%d images were attached; this model cannot see them.]", n)
}

// Address reads where requests go. Its error begins with "must".
func Address(text string) (*url.URL, error) {
	u, err := url.Parse(strings.TrimSpace(text))
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return nil, errors.New("must be an absolute http or https address")
	case u.User != nil:
		return nil, errors.New("must not carry a user or password")
	}
	return u, nil
}

// Host is the part of an address that may be shown.
func Host(address string) string {
	u, err := url.Parse(address)
	if err != nil {
		return "(unreadable address)"
	}
	return u.Host
}

// peer is the other side of a request, as errors speak of it.
type peer struct {
	host string
	// idle is how long it may be silent.
	idle time.Duration
	// redact takes secrets out of a text.
	redact func(text string) string
}

// refusal reads what is no answer by its status.
func (p peer) refusal(resp *http.Response) error {
	if resp.StatusCode >= 300 && resp.StatusCode < 400 {
		return &model.Error{
			Code: model.CodeBadRequest, Status: resp.StatusCode,
			Message: "the endpoint redirects, which is not followed; configure the address that it answers at",
		}
	}
	// What arrived of a broken body is still the best there is to say.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody))
	e := ReadError(body)
	if strings.HasPrefix(strings.TrimSpace(e.Message), "<") { // a proxy's HTML page
		e.Message = ""
	}
	failed := e.Model(resp.StatusCode)
	failed.Message = p.redact(failed.Message)
	failed.RetryAfter = RetryAfter(resp.Header, time.Now())
	return failed
}

// failure words an error of the connection. ctx is the caller's, inner what
// Silence ends.
func (p peer) failure(ctx, inner context.Context, err error) error {
	if ctx.Err() != nil {
		return fmt.Errorf("model: %w", ctx.Err())
	}
	if errors.Is(context.Cause(inner), errSilent) {
		return &model.Error{
			Code: model.CodeTimeout, Retryable: true, Err: errSilent,
			Message: fmt.Sprintf("%s sent nothing for %s", p.host, p.idle),
		}
	}
	var wrapped *url.Error
	if errors.As(err, &wrapped) { // its text has the whole address
		err = wrapped.Err
	}
	var certificate *tls.CertificateVerificationError
	return &model.Error{
		Code:      model.CodeUnavailable,
		Message:   p.redact(fmt.Sprintf("%s: %v", p.host, err)),
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
