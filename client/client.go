// Package client reads a server's answers as events: the native dialect over
// HTTP, for Go programs.
//
// It owns the requests of a chat and the reading of a stream through every
// disconnect: a connection that ends before the answer does is opened again
// after the last event that came (Last-Event-ID), so that the events of a
// Stream are whole and in order however often the network failed. Fold them
// with event.Folder. It may import event and block, and must never know of the
// server's insides.
package client

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// Client is a server as one user sees it. Its zero value but for URL is ready
// to use; it is safe for concurrent use as long as its fields are not changed.
type Client struct {
	// URL is where the server is, without /v1.
	URL string
	// Token is the bearer token; empty sends none.
	Token string
	// Blocks are the capability tokens of what is drawn, such as inlay.chart@1.
	// Nil declares nothing: then every block comes whole.
	Blocks []string
	// Language is sent as Accept-Language.
	Language string
	// HTTP sends the requests; it must not have a timeout. The default follows
	// no redirects, because the token must not go elsewhere.
	HTTP *http.Client
	// OnCut, if set, is told of every disconnect that will be mended, and with
	// nil when it was.
	OnCut func(err error)
	// Idle is the silence after which a connection counts as lost; the server
	// sends something every 15 seconds. Default 40 s.
	Idle time.Duration
	// Patience is how long a stream is tried to be opened again without any
	// success before it is given up. Default 2 min.
	Patience time.Duration
}

var standard = &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}

// maxAnswer bounds what is read of an answer that is no stream.
const maxAnswer = 32 << 20

// Error is an answer of the server that is not a success. Codes are those of
// schema/errors.json.
type Error struct {
	Status    int    `json:"-"`
	Code      string `json:"code"`
	Message   string `json:"message"`
	Retryable bool   `json:"retryable"`
	TraceID   string `json:"traceId"`
	// Details depend on the code.
	Details json.RawMessage `json:"details"`
}

// Error implements error.
func (e *Error) Error() string {
	return cmp.Or(e.Message, http.StatusText(e.Status)) + " (" + cmp.Or(e.Code, strconv.Itoa(e.Status)) + ")"
}

// Confirmation is the Details of the code confirmation_required.
type Confirmation struct {
	ConfirmToken string `json:"confirmToken"`
	Text         string `json:"text"`
	Reason       string `json:"reason"`
}

// Violation is what the server does not take of the values of an action: the
// Details of the code action_payload_invalid have a list of them.
type Violation struct {
	Path    string `json:"path"`
	Message string `json:"message"`
}

// Violations returns what is wrong with the values of an action.
func (e *Error) Violations() []Violation {
	var d struct {
		Violations []Violation `json:"violations"`
	}
	_ = json.Unmarshal(e.Details, &d) // an error without details has no violations
	return d.Violations
}

// Message is a stored message.
type Message struct {
	ID             string           `json:"id"`
	ConversationID string           `json:"conversationId"`
	Role           string           `json:"role"`
	Status         event.Status     `json:"status"`
	Blocks         []block.Block    `json:"blocks"`
	Seq            uint64           `json:"seq"`
	FinishReason   string           `json:"finishReason"`
	Error          *event.ErrorData `json:"error"`
}

// Config is what a client must know of the server.
type Config struct {
	Title string `json:"title"`
	Model struct {
		Kind string `json:"kind"`
		Name string `json:"name"`
	} `json:"model"`
	Demo        bool `json:"demo"`
	Suggestions []struct {
		Text string `json:"text"`
	} `json:"suggestions"`
	Allow struct {
		Routes    []string `json:"routes"`
		Slash     []string `json:"slash"`
		Modals    []string `json:"modals"`
		LinkHosts []string `json:"link_hosts"`
	} `json:"allow"`
	Auth struct {
		Mode string `json:"mode"`
	} `json:"auth"`
}

// Question is what a turn begins with.
type Question struct {
	// Conversation is gone on with; empty begins one.
	Conversation string
	Text         string
	// Key is the Idempotency-Key under which the question is asked once however
	// often it is sent. Ask makes one when it is empty.
	Key string
}

// Call is an action of a block that a person wants done.
type Call struct {
	Message string
	Block   string
	Action  string
	Payload map[string]any
	// Key makes sure that it is done once: 8 to 255 printable characters, new
	// for every press of the button and the same when the call is repeated.
	Key string
	// ConfirmToken is that of a Confirmation.
	ConfirmToken string
	// Rev is the block's Rev that was seen; 0 is not checked.
	Rev int
}

// Outcome is what came of a call.
type Outcome struct {
	// Status is done, unknown (it may have happened) or accepted (it goes on in
	// the message).
	Status       string          `json:"status"`
	Result       json.RawMessage `json:"result"`
	Message      string          `json:"msgId"`
	Conversation string          `json:"conversationId"`
	UserMessage  string          `json:"userMessageId"`
	AfterSeq     *uint64         `json:"afterSeq"`
	Feedback     *block.Feedback `json:"feedback"`
	Block        *block.Block    `json:"block"`
}

// Config returns what the server says of itself.
func (c *Client) Config(ctx context.Context) (Config, error) {
	var out Config
	return out, c.get(ctx, "/v1/client-config", &out)
}

// Message returns a message with its blocks, as this client draws them.
func (c *Client) Message(ctx context.Context, id string) (Message, error) {
	var out Message
	return out, c.get(ctx, "/v1/messages/"+url.PathEscape(id), &out)
}

// Messages returns the messages of a conversation, the first one first.
func (c *Client) Messages(ctx context.Context, conversation string) ([]Message, error) {
	var out struct {
		Items []Message `json:"items"`
	}
	return out.Items, c.get(ctx, "/v1/conversations/"+url.PathEscape(conversation)+"/messages", &out)
}

// Ask asks a question and returns its answer as it is written.
func (c *Client) Ask(ctx context.Context, q Question) (*Stream, error) {
	body := map[string]any{"input": map[string]any{"text": q.Text}}
	if q.Conversation != "" {
		body["conversationId"] = q.Conversation
	}
	key := q.Key
	if key == "" {
		key = NewKey()
	}
	return c.begin(ctx, "/v1/chat", body, key)
}

// Retry has a failed block filled again and returns the events of that.
func (c *Client) Retry(ctx context.Context, blockID string) (*Stream, error) {
	return c.begin(ctx, "/v1/chat/blocks/"+url.PathEscape(blockID)+"/retry", nil, "")
}

// Refresh has a block's data fetched anew and returns the events of that.
func (c *Client) Refresh(ctx context.Context, blockID string) (*Stream, error) {
	return c.begin(ctx, "/v1/chat/blocks/"+url.PathEscape(blockID)+"/refresh", nil, "")
}

// Follow reads the events of a message after a number, and those to come.
func (c *Client) Follow(message string, after uint64) *Stream {
	return &Stream{Message: message, client: c, last: after}
}

// Stop ends a turn; what follows is in its events.
func (c *Client) Stop(ctx context.Context, message string) error {
	return c.post(ctx, "/v1/messages/"+url.PathEscape(message)+"/stop", nil, nil)
}

// Act runs an action. An *Error of the code confirmation_required has a
// Confirmation in its Details: after asking, the same Call is sent with the
// token.
func (c *Client) Act(ctx context.Context, call Call) (Outcome, error) {
	body := map[string]any{"msgId": call.Message, "blockId": call.Block, "actionId": call.Action, "idempotencyKey": call.Key}
	if len(call.Payload) > 0 {
		body["payload"] = call.Payload
	}
	if call.ConfirmToken != "" {
		body["confirmToken"] = call.ConfirmToken
	}
	if call.Rev > 0 {
		body["rev"] = call.Rev
	}
	var out Outcome
	return out, c.post(ctx, "/v1/chat/actions", body, &out)
}

func (c *Client) get(ctx context.Context, path string, into any) error {
	return c.call(ctx, http.MethodGet, path, nil, into)
}

func (c *Client) post(ctx context.Context, path string, body, into any) error {
	return c.call(ctx, http.MethodPost, path, body, into)
}

func (c *Client) call(ctx context.Context, method, path string, body, into any) error {
	ctx, cancel := context.WithTimeout(ctx, c.idle()+20*time.Second)
	defer cancel()
	resp, err := c.send(ctx, method, path, body, nil)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if resp.StatusCode >= 300 {
		return failure(resp)
	}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer))
	if err != nil {
		return fmt.Errorf("%s %s: %w", method, path, err)
	}
	if into == nil || len(raw) == 0 {
		return nil
	}
	if err := json.Unmarshal(raw, into); err != nil {
		return fmt.Errorf("%s %s: is this an Inlay server? %w", method, path, err)
	}
	return nil
}

// send sends a request; its answer's body must be closed.
func (c *Client) send(ctx context.Context, method, path string, body any, head map[string]string) (*http.Response, error) {
	var r io.Reader
	if body != nil {
		raw, err := json.Marshal(body)
		if err != nil {
			return nil, fmt.Errorf("%s %s: encode: %w", method, path, err)
		}
		r = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, strings.TrimSuffix(c.URL, "/")+path, r)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	if body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.Language != "" {
		req.Header.Set("Accept-Language", c.Language)
	}
	if c.Blocks != nil {
		req.Header.Set("X-Blocks", strings.Join(c.Blocks, ","))
	}
	for name, value := range head {
		req.Header.Set(name, value)
	}
	h := c.HTTP
	if h == nil {
		h = standard
	}
	resp, err := h.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s %s: %w", method, path, err)
	}
	return resp, nil
}

// failure reads the error that an answer is.
func failure(resp *http.Response) error {
	e := &Error{Status: resp.StatusCode}
	raw, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	if err == nil {
		var d struct {
			Error *Error `json:"error"`
		}
		d.Error = e
		_ = json.Unmarshal(raw, &d) // another server's page has a status only
	}
	return e
}

func (c *Client) idle() time.Duration {
	if c.Idle > 0 {
		return c.Idle
	}
	return 40 * time.Second
}
