package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/inlay-ui/inlay/store"
)

// getFeed follows the changes of one conversation, for lists and for the same
// conversation on another device.
func (s *server) getFeed(w http.ResponseWriter, r *http.Request) error {
	after, err := cursor(r)
	if err != nil {
		return err
	}
	owner, cid := callOf(r).owner, r.PathValue("id")
	if _, err := s.Store.Conversation(r.Context(), owner, cid); err != nil {
		return wrap("read conversation", err)
	}
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	if r.Method == http.MethodHead {
		return nil
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.serving, cancel)()
	// Some proxies hold the headers back until there is a body.
	comment := func(dst []byte) ([]byte, error) { return append(dst, ": feed\n\n"...), nil }
	if err := out.Append(comment); err != nil {
		return ended(ctx, out, err)
	}
	for ev, err := range s.Store.Feed(ctx, owner, cid, after) {
		if err != nil {
			return ended(ctx, out, err)
		}
		data, err := s.feedData(r, cid, ev)
		if err != nil {
			return ended(ctx, out, err)
		}
		err = out.Append(func(dst []byte) ([]byte, error) {
			dst = append(dst, "id: "...)
			dst = strconv.AppendUint(dst, ev.Cursor, 10)
			if data == nil { // gone meanwhile: a later event says so
				return append(dst, "\n\n"...), nil
			}
			dst = append(dst, "\nevent: "...)
			dst = append(dst, ev.Type...)
			dst = append(dst, "\ndata: "...)
			dst = append(dst, data...)
			return append(dst, "\n\n"...), nil
		})
		if err != nil {
			return ended(ctx, out, err)
		}
	}
	return nil
}

// feedData makes the data of a feed event: what changed, as it is now.
func (s *server) feedData(r *http.Request, cid string, ev store.FeedEvent) ([]byte, error) {
	var d store.FeedData
	if len(ev.Data) > 0 {
		if err := json.Unmarshal(ev.Data, &d); err != nil {
			return nil, fmt.Errorf("feed event %d: %w", ev.Cursor, err)
		}
	}
	var v any
	switch ev.Type {
	case store.FeedMessageCreated:
		m, err := s.Store.Message(r.Context(), callOf(r).owner, d.MsgID)
		if err != nil {
			return gone(err)
		}
		body, err := s.message(r, m)
		if err != nil {
			return gone(err)
		}
		v = map[string]any{"message": body}
	case store.FeedConversationUpdated:
		c, err := s.Store.Conversation(r.Context(), callOf(r).owner, cid)
		if err != nil {
			return gone(err)
		}
		v = map[string]any{"conversation": conversation(c)}
	case store.FeedConversationDeleted:
		v = map[string]any{"id": cid}
	default:
		v = d
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("feed event %d: %w", ev.Cursor, err)
	}
	return bytes.TrimSpace(b), nil
}

func gone(err error) ([]byte, error) {
	if errors.Is(err, store.ErrNotFound) {
		return nil, nil
	}
	return nil, err
}
