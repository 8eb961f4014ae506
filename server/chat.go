package server

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/turn"
)

// chatBody is the body of POST /v1/chat.
type chatBody struct {
	ConversationID string        `json:"conversationId,omitempty"`
	Input          *chatInput    `json:"input,omitempty"`
	RegenerateOf   string        `json:"regenerateOf,omitempty"`
	EditOf         string        `json:"editOf,omitempty"`
	Messages       []chatMessage `json:"messages,omitempty"`
}

type chatInput struct {
	Text        string   `json:"text"`
	Attachments []string `json:"attachments,omitempty"`
}

type chatMessage struct {
	Role    string `json:"role"`
	Content string `json:"content"`
}

// streamBody is the body of POST /v1/chat/stream: that of POST /v1/chat, with
// the name that the UI Block Protocol has for a conversation besides ours.
type streamBody struct {
	chatBody
	SessionID string `json:"session_id,omitempty"`
}

// postChat starts a turn and answers with its stream.
func (s *server) postChat(w http.ResponseWriter, r *http.Request) error {
	var body chatBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	return s.chat(w, r, body)
}

// postChatStream does so for clients of the UI Block Protocol.
func (s *server) postChatStream(w http.ResponseWriter, r *http.Request) error {
	var body streamBody
	if err := decode(r, &body, false); err != nil {
		return err
	}
	if own := body.ConversationID; own != "" && body.SessionID != "" && own != body.SessionID {
		return invalid("session_id and conversationId name two conversations.", map[string]any{"field": "session_id"})
	}
	body.ConversationID = cmp.Or(body.ConversationID, body.SessionID)
	return s.chat(w, r, body.chatBody)
}

func (s *server) chat(w http.ResponseWriter, r *http.Request, body chatBody) error {
	if err := s.limiter.room(callOf(r).owner); err != nil {
		return err
	}
	st, err := s.startChat(r, body)
	if err != nil {
		return err
	}
	return s.started(w, r, st)
}

func (s *server) startChat(r *http.Request, body chatBody) (turn.Started, error) {
	c := callOf(r)
	req := turn.Request{Owner: c.owner, Caller: c.caller, Caps: s.caps(r)}
	if err := s.fill(&req, body); err != nil {
		return turn.Started{}, err
	}
	if _, sent := r.Header["Idempotency-Key"]; sent {
		key := r.Header.Get("Idempotency-Key")
		if !printable(key, 1) {
			return turn.Started{}, invalid("Idempotency-Key must be 1 to 255 printable characters.", map[string]any{"field": "Idempotency-Key"})
		}
		fp, err := fingerprint(body)
		if err != nil {
			return turn.Started{}, err
		}
		req.IdempotencyKey, req.Fingerprint = "chat:"+key, fp
	}
	st, err := s.Runner.Start(r.Context(), req)
	return st, wrap("start turn", err)
}

// fill checks a body and makes a turn's request of it.
func (s *server) fill(req *turn.Request, body chatBody) error {
	field := func(name, message string) error { return invalid(message, map[string]any{"field": name}) }
	if body.Messages != nil {
		if body.ConversationID != "" || body.Input != nil || body.RegenerateOf != "" || body.EditOf != "" {
			return field("messages", "messages stands alone: no conversation belongs to it.")
		}
		history, err := s.history(body.Messages)
		req.History = history
		return err
	}
	if body.RegenerateOf != "" {
		if body.Input != nil || body.EditOf != "" {
			return field("regenerateOf", "An answer is written anew for the same message: input and editOf must be absent.")
		}
		req.Conversation, req.RegenerateOf = body.ConversationID, body.RegenerateOf
		return nil
	}
	if body.Input == nil || strings.TrimSpace(body.Input.Text) == "" && len(body.Input.Attachments) == 0 {
		return field("input.text", "The message is empty.")
	}
	if err := s.attachments(body.Input.Attachments); err != nil {
		return err
	}
	if err := s.length("input.text", body.Input.Text); err != nil {
		return err
	}
	req.Conversation, req.Text, req.EditOf = body.ConversationID, body.Input.Text, body.EditOf
	req.Attachments = body.Input.Attachments
	return nil
}

// attachments checks how many files a message has; whether they are there and
// the user's is found out when the turn begins.
func (s *server) attachments(ids []string) error {
	switch most := s.uploads().MaxFiles; {
	case len(ids) == 0:
		return nil
	case s.Files == nil:
		a := notFound()
		a.details = map[string]any{"field": "input.attachments"}
		return a
	case len(ids) > most:
		return invalid("The message has too many files.", map[string]any{"field": "input.attachments", "limit": most})
	}
	return nil
}

func (s *server) length(field, text string) error {
	if len(text) <= s.Limits.InputBytes {
		return nil
	}
	return &answer{
		status: http.StatusRequestEntityTooLarge, code: codeTooLarge, message: "The message is too long.",
		details: map[string]any{"field": field, "limit": s.Limits.InputBytes},
	}
}

// history checks the messages of a stateless request.
func (s *server) history(list []chatMessage) ([]model.Message, error) {
	out := make([]model.Message, len(list))
	for i, m := range list {
		field := fmt.Sprintf("messages.%d", i)
		role := model.Role(m.Role)
		switch role {
		case model.RoleSystem, model.RoleUser, model.RoleAssistant:
		default:
			return nil, invalid("A role is system, user or assistant.", map[string]any{"field": field + ".role"})
		}
		if strings.TrimSpace(m.Content) == "" {
			return nil, invalid("A message is empty.", map[string]any{"field": field + ".content"})
		}
		if role == model.RoleUser {
			if err := s.length(field+".content", m.Content); err != nil {
				return nil, err
			}
		}
		out[i] = model.Message{Role: role, Content: m.Content}
	}
	if len(out) == 0 || out[len(out)-1].Role != model.RoleUser {
		return nil, invalid("The last message must be the user's.", map[string]any{"field": "messages"})
	}
	return out, nil
}

// fingerprint is a digest of what a request asks for.
func fingerprint(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("fingerprint: %w", err)
	}
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), nil
}

// printable reports whether an idempotency key is printable ASCII of a length
// from least to 255.
func printable(key string, least int) bool {
	if len(key) < least || len(key) > 255 {
		return false
	}
	for i := range len(key) {
		if key[i] < ' ' || key[i] > '~' {
			return false
		}
	}
	return true
}
