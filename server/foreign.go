package server

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"unicode"

	"github.com/google/uuid"

	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/wire/agui"
	"github.com/inlay-ui/inlay/wire/aisdk"
)

// The clients of other protocols choose the names of their threads and messages,
// and send what they take for the whole conversation with every request. Here
// are what the routes of those protocols share: a name is looked up in its
// owner's own book (store.Aliases), and of what a client says happened before
// nothing is believed.

// neighbours are the dialects of clients that know no block of ours and cannot
// say so: unless one declares what it draws, blocks reach it as text.
var neighbours = []string{agui.Name, aisdk.Name}

// isOwn reports whether a name has the form of our own ids with a prefix, which
// a client can only have from us.
func isOwn(prefix, name string) bool {
	rest, ok := strings.CutPrefix(name, prefix+"_")
	return ok && len(rest) == 36 && uuid.Validate(rest) == nil
}

// looksOwn reports whether a name has the form of any id of ours.
func looksOwn(name string) bool { return len(name) > 1 && name[1] == '_' && isOwn(name[:1], name) }

// foreignName checks a name that a client gave.
func foreignName(field, name string) error {
	if name == "" || len(name) > store.MaxForeign {
		return invalid(fmt.Sprintf("%s must have 1 to %d bytes.", field, store.MaxForeign), map[string]any{"field": field, "limit": store.MaxForeign})
	}
	return nil
}

// thread returns the conversation that a client calls by a name, or by its id.
// store.ErrNotFound when there is none.
func (s *server) thread(ctx context.Context, o store.Owner, dialect, name string) (store.Conversation, error) {
	conversation := name
	if !isOwn("c", name) {
		a, err := s.Store.AliasOf(ctx, o, dialect, store.AliasThread, name)
		if err != nil {
			return store.Conversation{}, wrap("read thread", err)
		}
		conversation = a.ID
	}
	c, err := s.Store.Conversation(ctx, o, conversation)
	return c, wrap("read conversation", err)
}

// beginThread is thread for a request that may begin the conversation: a name
// that is not known stands for a new one from now on. Of many requests with one
// new name all get the same. The conversation has no messages while it is only a
// name.
func (s *server) beginThread(ctx context.Context, o store.Owner, dialect, name string) (store.Conversation, error) {
	if isOwn("c", name) {
		return s.thread(ctx, o, dialect, name)
	}
	own := id.New("c")
	a, err := s.Store.PutAlias(ctx, store.Alias{Owner: o, Dialect: dialect, Kind: store.AliasThread, Foreign: name, ID: own, Conversation: own})
	if err != nil {
		return store.Conversation{}, wrap("name thread", err)
	}
	c, err := s.Store.Conversation(ctx, o, a.ID)
	if errors.Is(err, store.ErrNotFound) {
		return store.Conversation{ID: a.ID, Owner: o}, nil
	}
	return c, wrap("read conversation", err)
}

// called returns the message of a conversation that a client calls by a name, or
// by its id; false when it has none of that name.
func (s *server) called(ctx context.Context, o store.Owner, dialect, conversation, name string) (store.Message, bool, error) {
	msg := name
	if !isOwn("m", name) {
		a, err := s.Store.AliasOf(ctx, o, dialect, store.AliasMessage, name)
		switch {
		case errors.Is(err, store.ErrNotFound), err == nil && a.Conversation != conversation:
			return store.Message{}, false, nil
		case err != nil:
			return store.Message{}, false, wrap("read name of message", err)
		}
		msg = a.ID
	}
	m, err := s.Store.Message(ctx, o, msg)
	if errors.Is(err, store.ErrNotFound) || err == nil && m.Conversation != conversation {
		return store.Message{}, false, nil
	}
	return m, err == nil, wrap("read message", err)
}

// callMessage keeps what a client calls a message. It is no harm when that is
// not known: the next request is taken as a client's that says it anew.
func (s *server) callMessage(ctx context.Context, o store.Owner, dialect, conversation, name, msg string) {
	if name == "" || name == msg || isOwn("m", name) || len(name) > store.MaxForeign {
		return
	}
	if _, err := s.Store.PutAlias(context.WithoutCancel(ctx), store.Alias{
		Owner: o, Dialect: dialect, Kind: store.AliasMessage, Foreign: name, ID: msg, Conversation: conversation,
	}); err != nil {
		s.log.Warn("keep the name of a message", "dialect", dialect, "msg", msg, "err", err)
	}
}

// foreignFile is a file within a message of a client's.
type foreignFile struct{ url, mediaType, name string }

// take makes of a message's files what belongs to it here: those that came with
// it are stored as the user's own, those that are stored already are found by
// their address, and all others are links in the text, which nobody fetches.
func (s *server) take(r *http.Request, field string, files []foreignFile) (ids []string, links string, err error) {
	var lines []string
	for i, f := range files {
		at := map[string]any{"field": fmt.Sprintf("%s.%d", field, i)}
		if body, ok := strings.CutPrefix(f.url, "data:"); ok {
			if s.Files == nil {
				return nil, "", invalid("Files are not taken here.", at)
			}
			if most := s.uploads().MaxFiles; len(ids) >= most {
				return nil, "", invalid("The message has too many files.", map[string]any{"field": field, "limit": most})
			}
			kind, content, err := dataURL(body)
			if err != nil {
				return nil, "", invalid("The file could not be read.", at)
			}
			a, err := s.Files.Upload(r.Context(), callOf(r).owner, nameOfFile(f.name, cmp.Or(kind, f.mediaType)), content)
			if err != nil {
				return nil, "", s.assetError("upload", err)
			}
			ids = append(ids, a.ID)
			continue
		}
		u, err := url.Parse(f.url)
		if err != nil {
			return nil, "", invalid("The address of a file is malformed.", at)
		}
		if asset, ok := strings.CutPrefix(u.Path, "/v1/assets/"); ok && (u.Host == "" || u.Host == r.Host) {
			if asset, _, _ = strings.Cut(asset, "/"); isOwn("a", asset) {
				ids = append(ids, asset)
				continue
			}
		}
		if u.Scheme != "https" && u.Scheme != "http" || u.Host == "" {
			return nil, "", invalid("A file is a data URL, one of the user's own files or a web address.", at)
		}
		name := cmp.Or(strings.Map(func(r rune) rune {
			if unicode.IsControl(r) || strings.ContainsRune("[]()\\<>", r) {
				return ' '
			}
			return r
		}, f.name), u.Host)
		lines = append(lines, "["+name+"](<"+u.String()+">)")
	}
	return ids, strings.Join(lines, "\n"), s.attachments(ids)
}

// dataURL reads what follows the scheme of a data URL.
func dataURL(body string) (kind string, content io.Reader, err error) {
	head, data, ok := strings.Cut(body, ",")
	if !ok {
		return "", nil, errors.New("a data URL without data")
	}
	if kind, ok = strings.CutSuffix(head, ";base64"); ok {
		return kind, base64.NewDecoder(base64.StdEncoding, strings.NewReader(data)), nil
	}
	plain, err := url.PathUnescape(data)
	return head, strings.NewReader(plain), err
}

// nameOfFile is what a file is called that came without a name.
func nameOfFile(name, kind string) string {
	if name != "" {
		return name
	}
	kind, _, _ = mime.ParseMediaType(kind)
	if known, err := mime.ExtensionsByType(kind); err == nil && len(known) > 0 {
		return "file" + slices.Min(known)
	}
	return "file"
}

// withLinks is a text with links after it.
func withLinks(text, links string) string {
	if text == "" || links == "" {
		return text + links
	}
	return text + "\n\n" + links
}

// written returns the message of a conversation that is being written now: its
// running turn, or the last message while something is appended to it. Empty for
// none.
func (s *server) written(ctx context.Context, c store.Conversation) (string, error) {
	for _, msg := range slices.Compact([]string{c.Running, c.Leaf}) {
		if msg == "" {
			continue
		}
		_, open, err := s.Store.Last(ctx, msg)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return "", wrap("read log", err)
		}
		if open {
			return msg, nil
		}
	}
	return "", nil
}

// answerOf returns the answer to a user's message: the one on the path that is
// shown, else the newest. Empty for none.
func (s *server) answerOf(ctx context.Context, o store.Owner, c store.Conversation, user string) (string, error) {
	path, err := s.Store.Path(ctx, o, c.ID, "")
	if err != nil {
		return "", wrap("read conversation", err)
	}
	i := slices.IndexFunc(path, func(m store.Message) bool { return m.ID == user })
	if i < 0 {
		newest, err := s.Store.Newest(ctx, o, c.ID, user)
		if err != nil {
			return "", wrap("read conversation", err)
		}
		if path, err = s.Store.Path(ctx, o, c.ID, newest); err != nil {
			return "", wrap("read conversation", err)
		}
		i = slices.IndexFunc(path, func(m store.Message) bool { return m.ID == user })
	}
	if i < 0 || i+1 >= len(path) {
		return "", nil
	}
	return path[i+1].ID, nil
}

// stopThread stops what is written to a client's thread, or its paused turn. A
// client that has read of another message than the one that runs now names it,
// so that a stop that comes late stops nothing else.
func (s *server) stopThread(w http.ResponseWriter, r *http.Request, dialect, name, message string) error {
	running, err := s.haltThread(r, dialect, name, message)
	if err != nil {
		return err
	}
	if !running {
		return writeJSON(w, http.StatusOK, map[string]string{"status": "done"})
	}
	return writeJSON(w, http.StatusAccepted, map[string]string{"status": "stopping"})
}

// haltThread is stopThread without its answer: whether there was something to
// stop.
func (s *server) haltThread(r *http.Request, dialect, name, message string) (running bool, err error) {
	o := callOf(r).owner
	c, err := s.thread(r.Context(), o, dialect, name)
	if err != nil {
		return false, err
	}
	msg, err := s.written(r.Context(), c)
	if err != nil {
		return false, err
	}
	if msg == "" {
		msg = c.Leaf // it may be paused
	}
	if msg == "" || message != "" && message != msg {
		return false, nil
	}
	running, err = s.Runner.Stop(r.Context(), o, msg)
	return running, wrap("stop", err)
}
