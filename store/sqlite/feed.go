package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"slices"
	"sync"

	"github.com/inlay-ui/inlay/store"
)

// feeds wakes the readers of conversations' feeds. The events themselves are
// in the file.
type feeds struct {
	mu      sync.Mutex
	readers map[string][]*feedReader
}

type feedReader struct {
	wake chan struct{}
	// deleted is the cursor of the conversation's end, 0 while it exists.
	// Read and written under feeds.mu.
	deleted uint64
}

func (f *feeds) join(conversation string) *feedReader {
	r := &feedReader{wake: make(chan struct{}, 1)}
	f.mu.Lock()
	f.readers[conversation] = append(f.readers[conversation], r)
	f.mu.Unlock()
	return r
}

func (f *feeds) leave(conversation string, r *feedReader) {
	f.mu.Lock()
	defer f.mu.Unlock()
	rest := slices.DeleteFunc(f.readers[conversation], func(o *feedReader) bool { return o == r })
	if len(rest) == 0 {
		delete(f.readers, conversation)
	} else {
		f.readers[conversation] = rest
	}
}

// signal wakes a conversation's readers; deleted is the cursor of its end.
func (f *feeds) signal(conversation string, deleted uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, r := range f.readers[conversation] {
		r.deleted = max(r.deleted, deleted)
		select {
		case r.wake <- struct{}{}:
		default:
		}
	}
}

func (f *feeds) end(r *feedReader) uint64 {
	f.mu.Lock()
	defer f.mu.Unlock()
	return r.deleted
}

// FeedCursor implements store.Records.
func (s *Store) FeedCursor(ctx context.Context, o store.Owner, conversation string) (uint64, error) {
	if _, err := s.Conversation(ctx, o, conversation); err != nil {
		return 0, err
	}
	var last uint64
	err := s.each(ctx, "SELECT coalesce(max(cursor), 0) FROM feed WHERE conversation = ?", []any{conversation},
		func(row scanner) error { return row.Scan(&last) })
	return last, wrap("feed of conversation "+conversation, err)
}

// feed writes one event of a conversation and returns its cursor.
func (s *Store) feed(t *tx, conversation, typ string, data store.FeedData) (cursor uint64, err error) {
	b, err := json.Marshal(data)
	if err != nil {
		return 0, err
	}
	err = t.scan("INSERT INTO feed (conversation, type, data, created) VALUES (?, ?, ?, ?) RETURNING cursor",
		[]any{conversation, typ, b, s.opt.now().UnixNano()}, &cursor)
	if err != nil {
		return 0, wrap("write the feed of "+conversation, err)
	}
	if typ != store.FeedConversationDeleted {
		t.onCommit(func() { s.feeds.signal(conversation, 0) })
	}
	return cursor, nil
}

// feedPage is how many feed events are read at once.
const feedPage = 100

// Feed implements store.Records.
func (s *Store) Feed(ctx context.Context, o store.Owner, conversation string, after uint64) iter.Seq2[store.FeedEvent, error] {
	return func(yield func(store.FeedEvent, error) bool) {
		r := s.feeds.join(conversation)
		defer s.feeds.leave(conversation, r)
		if _, err := s.Conversation(ctx, o, conversation); err != nil {
			yield(store.FeedEvent{}, err)
			return
		}
		for {
			events, err := s.feedAfter(ctx, conversation, after)
			if err != nil {
				if ctx.Err() == nil {
					yield(store.FeedEvent{}, err)
				}
				return
			}
			for _, e := range events {
				after = e.Cursor
				if !yield(e, nil) {
					return
				}
			}
			if len(events) == feedPage {
				continue
			}
			if cursor := s.feeds.end(r); cursor > 0 {
				data, err := json.Marshal(store.FeedData{ID: conversation})
				yield(store.FeedEvent{Cursor: cursor, Type: store.FeedConversationDeleted, Data: data}, err)
				return
			}
			select {
			case <-r.wake:
			case <-ctx.Done():
				return
			case <-s.closing:
				yield(store.FeedEvent{}, store.ErrClosed)
				return
			}
		}
	}
}

func (s *Store) feedAfter(ctx context.Context, conversation string, after uint64) ([]store.FeedEvent, error) {
	var events []store.FeedEvent
	err := s.each(ctx, "SELECT cursor, type, data FROM feed WHERE conversation = ? AND cursor > ? ORDER BY cursor LIMIT ?",
		[]any{conversation, after, feedPage}, func(row scanner) error {
			var e store.FeedEvent
			err := row.Scan(&e.Cursor, &e.Type, (*[]byte)(&e.Data))
			events = append(events, e)
			return err
		})
	if errors.Is(err, context.Canceled) {
		return nil, err
	}
	return events, wrap("read the feed of "+conversation, err)
}
