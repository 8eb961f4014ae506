package server

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

// conversationBody is a conversation as clients get it.
type conversationBody struct {
	ID        string `json:"id"`
	Title     string `json:"title"`
	CreatedAt string `json:"createdAt"`
	UpdatedAt string `json:"updatedAt"`
	Running   string `json:"running,omitempty"`
	Leaf      string `json:"leaf,omitempty"`
}

func conversation(c store.Conversation) conversationBody {
	return conversationBody{
		ID: c.ID, Title: c.Title, CreatedAt: rfc3339(c.CreatedAt), UpdatedAt: rfc3339(c.UpdatedAt),
		Running: c.Running, Leaf: c.Leaf,
	}
}

// maxTitle is the longest title in characters.
const maxTitle = 200

// titleOf makes one line of what a client calls a conversation.
func titleOf(s string) (string, error) {
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	if utf8.RuneCountInString(s) > maxTitle {
		return "", invalid("The title is too long.", map[string]any{"field": "title", "limit": maxTitle})
	}
	return s, nil
}

func (s *server) getConversations(w http.ResponseWriter, r *http.Request) error {
	q := r.URL.Query()
	opt := store.ListOptions{Query: strings.TrimSpace(q.Get("q")), Cursor: q.Get("cursor")}
	if len(opt.Query) > 1000 {
		return invalid("The search is too long.", map[string]any{"field": "q", "limit": 1000})
	}
	if len(opt.Cursor) > 1000 {
		return invalid("There is no such page.", map[string]any{"field": "cursor"})
	}
	if v := q.Get("limit"); v != "" {
		n, err := strconv.Atoi(v)
		if err != nil || n < 1 || n > 200 {
			return invalid("limit must be 1 to 200.", map[string]any{"field": "limit"})
		}
		opt.Limit = n
	}
	list, next, err := s.Store.Conversations(r.Context(), callOf(r).owner, opt)
	if errors.Is(err, store.ErrNotFound) { // of a list only a page can be missing
		return invalid("There is no such page.", map[string]any{"field": "cursor"})
	}
	if err != nil {
		return wrap("list conversations", err)
	}
	body := struct {
		Items      []conversationBody `json:"items"`
		NextCursor string             `json:"nextCursor,omitempty"`
	}{make([]conversationBody, len(list)), next}
	for i, c := range list {
		body.Items[i] = conversation(c)
	}
	return writeJSON(w, http.StatusOK, body)
}

func (s *server) postConversation(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Title string `json:"title"`
	}
	if err := decode(r, &body, true); err != nil {
		return err
	}
	title, err := titleOf(body.Title)
	if err != nil {
		return err
	}
	now := s.Now()
	c := store.Conversation{ID: id.New("c"), Owner: callOf(r).owner, Title: title, CreatedAt: now, UpdatedAt: now}
	if err := s.Store.CreateConversation(r.Context(), c); err != nil {
		return wrap("create conversation", err)
	}
	w.Header().Set("Location", "/v1/conversations/"+c.ID)
	return writeJSON(w, http.StatusCreated, conversation(c))
}

func (s *server) getConversation(w http.ResponseWriter, r *http.Request) error {
	c, err := s.Store.Conversation(r.Context(), callOf(r).owner, r.PathValue("id"))
	if err != nil {
		return wrap("read conversation", err)
	}
	return writeJSON(w, http.StatusOK, conversation(c))
}

func (s *server) patchConversation(w http.ResponseWriter, r *http.Request) error {
	var body struct {
		Title *string `json:"title"`
		Leaf  *string `json:"leaf"`
	}
	if err := decode(r, &body, false); err != nil {
		return err
	}
	if body.Title == nil && body.Leaf == nil {
		return invalid("There is nothing to change.", map[string]any{"field": "title"})
	}
	owner, id := callOf(r).owner, r.PathValue("id")
	if body.Title != nil {
		title, err := titleOf(*body.Title)
		if err != nil {
			return err
		}
		if title == "" {
			return invalid("The title is empty.", map[string]any{"field": "title"})
		}
		if _, err := s.Store.RenameConversation(r.Context(), owner, id, title); err != nil {
			return wrap("rename conversation", err)
		}
	}
	if body.Leaf != nil {
		newest, err := s.Store.Newest(r.Context(), owner, id, *body.Leaf)
		if err != nil {
			return wrap("read branch", err)
		}
		if err := s.Store.SetLeaf(r.Context(), owner, id, newest); err != nil {
			return wrap("choose branch", err)
		}
	}
	c, err := s.Store.Conversation(r.Context(), owner, id)
	if err != nil {
		return wrap("read conversation", err)
	}
	return writeJSON(w, http.StatusOK, conversation(c))
}

// deleteConversation ends what still runs in a conversation and removes it.
func (s *server) deleteConversation(w http.ResponseWriter, r *http.Request) error {
	owner, cid := callOf(r).owner, r.PathValue("id")
	c, err := s.Store.Conversation(r.Context(), owner, cid)
	if err != nil {
		return wrap("read conversation", err)
	}
	if c.Running != "" {
		if _, err := s.Runner.Stop(r.Context(), owner, c.Running); err != nil && answerFor(err).status != http.StatusNotFound {
			return wrap("stop the running turn", err)
		}
	}
	if err := s.Store.DeleteConversation(r.Context(), owner, cid); err != nil {
		return wrap("delete conversation", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// path reads the messages from the root to the leaf that a request names.
func (s *server) path(r *http.Request) ([]store.Message, error) {
	owner, id, leaf := callOf(r).owner, r.PathValue("id"), r.URL.Query().Get("leaf")
	if leaf != "" {
		// A message inside the tree stands for its branch, down to the end.
		newest, err := s.Store.Newest(r.Context(), owner, id, leaf)
		if err != nil {
			return nil, wrap("read branch", err)
		}
		leaf = newest
	}
	list, err := s.Store.Path(r.Context(), owner, id, leaf)
	return list, wrap("read path", err)
}

func (s *server) getMessages(w http.ResponseWriter, r *http.Request) error {
	// The cursor is read before the messages: what changes in between comes
	// twice rather than never.
	last, err := s.Store.FeedCursor(r.Context(), callOf(r).owner, r.PathValue("id"))
	if err != nil {
		return wrap("read feed", err)
	}
	list, err := s.path(r)
	if err != nil {
		return err
	}
	body := struct {
		Items  []messageBody `json:"items"`
		Leaf   string        `json:"leaf"`
		Cursor uint64        `json:"cursor"`
	}{Items: make([]messageBody, len(list)), Cursor: last}
	for i, m := range list {
		if body.Items[i], err = s.message(r, m); err != nil {
			return err
		}
		body.Leaf = m.ID
	}
	return writeJSON(w, http.StatusOK, body)
}
