package endpoint

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/inlay-ui/inlay/model"
)

// Exchange is one request to an endpoint and the reading of its answer.
type Exchange struct {
	HTTP *http.Client
	// URL is where Body, which is JSON, is posted; Host is what errors call it.
	URL, Host string
	Body      []byte
	// Accept is the header of that name.
	Accept string
	// Idle is how long the endpoint may be silent.
	Idle time.Duration
	// Authorize is what Credentials made.
	Authorize func(context.Context, http.Header) (redact func(string) string, err error)
	// Good reports whether another status than 200 is that of an answer; nil: none.
	Good func(status int) bool
	// Read reads the answer. body counts for silence by itself; data and what
	// finishes an answer are told to it.
	Read func(head http.Header, body io.Reader, silence *Silence, on func(model.Delta) error) (model.Response, error)
}

// Run sends the request and reads the answer. A response with FinishIncomplete
// is one whose connection is of no use any more. Errors hold no secrets; one of
// on is returned as Read returns it.
func (x Exchange) Run(ctx context.Context, on func(model.Delta) error) (model.Response, error) {
	inner, cancel := context.WithCancelCause(ctx)
	finished := false // the connection goes on to be drained after the return
	defer func() {
		if !finished {
			cancel(nil)
		}
	}()
	silence := NewSilence(x.Idle, cancel)
	defer silence.Stop()

	req, err := http.NewRequestWithContext(inner, http.MethodPost, x.URL, bytes.NewReader(x.Body))
	if err != nil {
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: "the request could not be built"}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("Accept", x.Accept)
	redact, err := x.Authorize(ctx, req.Header)
	if err != nil {
		return model.Response{}, err
	}

	peer := peer{host: x.Host, idle: x.Idle, redact: redact}
	start := time.Now()
	answer, err := x.HTTP.Do(req)
	if err != nil {
		return model.Response{}, peer.failure(ctx, inner, err)
	}
	if ok := answer.StatusCode == http.StatusOK || x.Good != nil && x.Good(answer.StatusCode); !ok {
		defer answer.Body.Close()
		return model.Response{}, peer.refusal(answer)
	}

	var first time.Duration
	refused := false // by on
	resp, err := x.Read(answer.Header, silence.Watch(answer.Body), silence, func(d model.Delta) error {
		if first == 0 {
			first = time.Since(start)
		}
		err := on(d)
		refused = refused || err != nil
		return err
	})
	resp.FirstToken = first
	if err == nil && resp.Finish != model.FinishIncomplete {
		finished = true
		go drain(answer.Body, cancel)
		return resp, nil
	}
	answer.Body.Close()
	var known *model.Error
	switch {
	case err == nil || refused:
	case errors.As(err, &known):
		known.Message = redact(known.Message)
	default:
		err = peer.failure(ctx, inner, err)
	}
	return resp, err
}
