package server

import (
	"errors"
	"net/http"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// messageBody is a message as clients get it.
type messageBody struct {
	ID             string               `json:"id"`
	ConversationID string               `json:"conversationId"`
	Role           store.Role           `json:"role"`
	ParentID       string               `json:"parentId,omitempty"`
	CreatedAt      string               `json:"createdAt"`
	Status         event.Status         `json:"status"`
	Blocks         []block.Block        `json:"blocks"`
	Seq            uint64               `json:"seq"`
	FinishReason   string               `json:"finishReason,omitempty"`
	Usage          *event.Usage         `json:"usage,omitempty"`
	Error          *event.ErrorData     `json:"error,omitempty"`
	Model          *event.Model         `json:"model,omitempty"`
	Reasoning      string               `json:"reasoning,omitempty"`
	Tools          []event.ToolActivity `json:"tools,omitempty"`
	Siblings       []string             `json:"siblings"`
	Feedback       *feedback            `json:"feedback,omitempty"`
}

// feedback is what the reader thinks of a message.
type feedback struct {
	Rating  string `json:"rating,omitempty"`
	Comment string `json:"comment,omitempty"`
}

// rfc3339 writes a time of a record.
func rfc3339(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z07:00") }

// current returns a message with what its log and the states of its blocks hold
// beyond its record.
func (s *server) current(r *http.Request, m store.Message) (store.Message, error) {
	return store.Current(r.Context(), s.Store, m)
}

// message makes the body of a message for the reader of a request.
func (s *server) message(r *http.Request, m store.Message) (messageBody, error) {
	m, err := s.current(r, m)
	if err != nil {
		return messageBody{}, wrap("read log", err)
	}
	b := messageBody{
		ID: m.ID, ConversationID: m.Conversation, Role: m.Role, ParentID: m.Parent, CreatedAt: rfc3339(m.CreatedAt),
		Status: m.Status, Blocks: m.Blocks, Seq: m.Seq, FinishReason: m.FinishReason, Error: m.Err, Model: m.Model,
		Reasoning: m.Reasoning, Tools: m.Tools, Siblings: m.Siblings,
	}
	if m.Usage != (event.Usage{}) {
		b.Usage = &m.Usage
	}
	if f := m.Feedback; f != nil && (f.Rating != "" || f.Comment != "") {
		b.Feedback = &feedback{f.Rating, f.Comment}
	}
	if len(b.Siblings) == 0 {
		b.Siblings = []string{m.ID}
	}
	// What is read here and what is streamed must be the same to one reader.
	enc, err := s.encoder(r, m.ID, m.Conversation)
	if err != nil {
		return messageBody{}, err
	}
	b.Blocks = enc.Degrade(m.Blocks)
	return b, nil
}

// owned reads a message of the caller.
func (s *server) owned(r *http.Request) (store.Message, error) {
	m, err := s.Store.Message(r.Context(), callOf(r).owner, r.PathValue("id"))
	return m, wrap("read message", err)
}

func (s *server) getMessage(w http.ResponseWriter, r *http.Request) error {
	m, err := s.owned(r)
	if err != nil {
		return err
	}
	body, err := s.message(r, m)
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, body)
}

// reading is where a reader of a message begins.
type reading struct {
	msg, conversation string
	after             uint64
	// follow says that the reader has the message up to there, and takes what
	// was added to it as a stream of its own; rest that it goes on with the
	// stream that it was reading, in a dialect whose clients begin anew unless
	// they say so.
	follow, rest bool
	// acted is a message in which somebody did something: its blocks are sent as
	// they are now, which the log may not know. again is the block with which it
	// was done before, which is sent once more.
	acted *store.Message
	again string
}

func (at *reading) name(h http.Header) {
	h.Set("X-Message-Id", at.msg)
	h.Set("X-Conversation-Id", at.conversation)
}

// getEvents replays and follows a message. It holds nothing that the stream
// does not need: there may be ten thousand of them.
func (s *server) getEvents(w http.ResponseWriter, r *http.Request) error {
	at, err := s.reading(r)
	if err != nil {
		return err
	}
	if at == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	at.name(w.Header())
	return s.stream(w, r, at)
}

// reading finds out what a request for events wants to read; nil is nothing.
func (s *server) reading(r *http.Request) (*reading, error) {
	after, err := cursor(r)
	if err != nil {
		return nil, err
	}
	m, err := s.owned(r)
	if err != nil {
		return nil, err
	}
	last, open, err := s.Store.Last(r.Context(), m.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return nil, wrap("read log", err)
	}
	if err != nil || !open && after >= last { // a user's message has no log
		return nil, nil
	}
	if after > last {
		return nil, invalid("There is no such event yet.", map[string]any{"field": "after", "last": last})
	}
	return &reading{msg: m.ID, conversation: m.Conversation, after: after}, nil
}

func (s *server) getTrajectory(w http.ResponseWriter, r *http.Request) error {
	m, err := s.owned(r)
	if err != nil {
		return err
	}
	doc, err := s.Store.Trajectory(r.Context(), callOf(r).owner, m.ID)
	if err != nil {
		return wrap("read trajectory", err)
	}
	return writeJSON(w, http.StatusOK, doc)
}

func (s *server) postStop(w http.ResponseWriter, r *http.Request) error {
	running, err := s.Runner.Stop(r.Context(), callOf(r).owner, r.PathValue("id"))
	if err != nil {
		return wrap("stop", err)
	}
	if !running {
		return writeJSON(w, http.StatusOK, map[string]string{"status": "done"})
	}
	return writeJSON(w, http.StatusAccepted, map[string]string{"status": "stopping"})
}
