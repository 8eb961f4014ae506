package client

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/inlay-ui/inlay/event"
)

// NewKey returns a key for a Question or a Call.
func NewKey() string { return rand.Text() }

// maxFrame is the largest event that is read; the server's are at most 64 KiB
// but for snapshots.
const maxFrame = 32 << 20

// Stream is the events of a message. It is read once; one that is not read is
// given up by the end of the context that it was begun with.
type Stream struct {
	// Message, Conversation and UserMessage are ids; of Follow the first alone
	// is known.
	Message      string
	Conversation string
	UserMessage  string

	client *Client
	resp   *http.Response // the connection that is open already; nil for none
	cancel context.CancelFunc
	last   uint64
	cut    bool // the last connection was lost
}

// errEvent is wrapped by errors about what is no event at all, which is read no
// better a second time.
var errEvent = errors.New("not an event")

// begin sends a request that is answered by a stream. It is sent again while
// the network fails it, if it has a key under which it counts once.
func (c *Client) begin(ctx context.Context, path string, body any, key string) (*Stream, error) {
	head := make(map[string]string)
	if key != "" {
		head["Idempotency-Key"] = key
	}
	for try := 0; ; try++ {
		live, cancel := context.WithCancel(ctx)
		// The answer begins at once, but the connection lives as long as it is
		// read.
		timer := time.AfterFunc(c.idle(), cancel)
		resp, err := c.send(live, http.MethodPost, path, body, head)
		timer.Stop()
		if err == nil && resp.StatusCode == http.StatusOK {
			h := resp.Header
			return &Stream{
				Message: h.Get("X-Message-Id"), Conversation: h.Get("X-Conversation-Id"), UserMessage: h.Get("X-User-Message-Id"),
				client: c, resp: resp, cancel: cancel,
			}, nil
		}
		if err == nil {
			err = failure(resp)
			resp.Body.Close()
		}
		cancel()
		if key == "" || try >= 2 || !passing(err) || ctx.Err() != nil {
			return nil, err
		}
		if !pause(ctx, try) {
			return nil, ctx.Err()
		}
	}
}

// passing reports whether trying again may help.
func passing(err error) bool {
	if errors.Is(err, errEvent) {
		return false
	}
	var e *Error
	if errors.As(err, &e) {
		return e.Status == http.StatusBadGateway && e.Code == "" || e.Status == http.StatusServiceUnavailable || e.Status == http.StatusGatewayTimeout
	}
	return true
}

// pause waits before the next try, longer each time.
func pause(ctx context.Context, try int) bool {
	wait := 250 * time.Millisecond << min(try, 5)
	select {
	case <-ctx.Done():
		return false
	case <-time.After(min(wait, 8*time.Second)):
		return true
	}
}

// Last is the number of the last event that was read.
func (s *Stream) Last() uint64 { return s.last }

// Events yields the events until the answer's end. An error ends them: of the
// context, an *Error of the server's, or a disconnect that could not be mended.
func (s *Stream) Events(ctx context.Context) iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		lost := time.Now()
		for try := 0; ; try++ {
			before := s.last
			over, stopped, err := s.read(ctx, yield)
			switch {
			case stopped || over && err == nil:
				return
			case ctx.Err() != nil:
				yield(event.Event{}, ctx.Err())
				return
			}
			if err == nil && try == 0 && s.last == before {
				// What was being written when this was asked has left nothing: an
				// action that changed no block. Whether more is to come is asked.
				continue
			}
			if err == nil {
				err = io.ErrUnexpectedEOF
			}
			if s.last != before {
				try, lost = 0, time.Now()
			}
			if !passing(err) || time.Since(lost) > s.client.patience() {
				yield(event.Event{}, fmt.Errorf("read message %s: %w", s.Message, err))
				return
			}
			s.cut = true
			if s.client.OnCut != nil {
				s.client.OnCut(err)
			}
			if !pause(ctx, try) {
				yield(event.Event{}, ctx.Err())
				return
			}
		}
	}
}

func (c *Client) patience() time.Duration {
	if c.Patience > 0 {
		return c.Patience
	}
	return 2 * time.Minute
}

// read reads one connection. over says that the answer has ended, stopped that
// the reader wants no more.
func (s *Stream) read(ctx context.Context, yield func(event.Event, error) bool) (over, stopped bool, err error) {
	resp, cancel := s.resp, s.cancel
	s.resp, s.cancel = nil, nil
	if resp == nil {
		var live context.Context
		live, cancel = context.WithCancel(ctx)
		timer := time.AfterFunc(s.client.idle(), cancel)
		resp, err = s.client.send(live, http.MethodGet, "/v1/messages/"+s.Message+"/events", nil,
			map[string]string{"Last-Event-ID": strconv.FormatUint(s.last, 10), "Accept": "text/event-stream"})
		timer.Stop()
		if err != nil {
			cancel()
			return false, false, err
		}
	}
	defer cancel()
	defer resp.Body.Close()
	stop := context.AfterFunc(ctx, cancel)
	defer stop()
	switch {
	case resp.StatusCode == http.StatusNoContent:
		return true, false, nil
	case resp.StatusCode != http.StatusOK:
		return false, false, failure(resp)
	}
	if s.cut && s.client.OnCut != nil {
		s.client.OnCut(nil)
	}
	s.cut = false
	var silent atomic.Bool
	timer := time.AfterFunc(s.client.idle(), func() { silent.Store(true); cancel() })
	defer timer.Stop()
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(make([]byte, 0, 64<<10), maxFrame)
	var f frame
	for lines.Scan() {
		timer.Reset(s.client.idle())
		if text := lines.Text(); text != "" {
			f.line(text)
			continue
		}
		e, ok, err := f.event()
		id := f.id
		f = frame{}
		if err != nil {
			return false, false, err
		}
		if ok && e.Seq > s.last {
			s.last = e.Seq
			over = e.Type.Terminal()
			if e.Msg != "" && s.Message == "" {
				s.Message = e.Msg
			}
			if !yield(e, nil) {
				return false, true, nil
			}
		} else if id > s.last {
			s.last = id // an event that is not for this reader
		}
	}
	if silent.Load() {
		return over, false, errors.New("the connection was silent")
	}
	if err := lines.Err(); err != nil && !over {
		return false, false, err
	}
	return over, false, nil
}

// frame is one event of the stream's text.
type frame struct {
	id   uint64
	name string
	data strings.Builder
	has  bool
}

func (f *frame) line(s string) {
	name, value, _ := strings.Cut(s, ":")
	value = strings.TrimPrefix(value, " ")
	switch name {
	case "id":
		if n, err := strconv.ParseUint(value, 10, 64); err == nil {
			f.id = n
		}
	case "event":
		f.name = value
	case "data":
		if f.has {
			f.data.WriteByte('\n')
		}
		f.data.WriteString(value)
		f.has = true
	}
}

// envelope is the data of a frame.
type envelope struct {
	Msg   string          `json:"msgId"`
	Block string          `json:"blockId"`
	Seq   uint64          `json:"seq"`
	Group int             `json:"group"`
	At    int64           `json:"at"`
	Data  json.RawMessage `json:"data"`
}

func (f *frame) event() (event.Event, bool, error) {
	if !f.has {
		return event.Event{}, false, nil
	}
	var e envelope
	if err := json.Unmarshal([]byte(f.data.String()), &e); err != nil {
		return event.Event{}, false, fmt.Errorf("%w: %d: %w", errEvent, f.id, err)
	}
	return event.Event{Seq: e.Seq, At: e.At, Group: e.Group, Type: event.Type(f.name), Msg: e.Msg, Block: e.Block, Data: e.Data}, true, nil
}
