package sqlite

import (
	"context"
	"database/sql"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/store"
)

const conversationColumns = "id, tenant, user, title, created, updated, leaf, running, hidden"

func scanConversation(row scanner, more ...any) (store.Conversation, error) {
	var c store.Conversation
	var created, updated int64
	err := row.Scan(append([]any{&c.ID, &c.Owner.Tenant, &c.Owner.User, &c.Title, &created, &updated,
		&c.Leaf, &c.Running, &c.Hidden}, more...)...)
	c.CreatedAt, c.UpdatedAt = fromNanos(created), fromNanos(updated)
	return c, err
}

func nanos(t time.Time) int64 {
	switch {
	case t.IsZero():
		return 0
	// What a whole number of nanoseconds cannot say is before or after all.
	case t.Before(time.Unix(0, math.MinInt64)):
		return math.MinInt64
	case t.After(time.Unix(0, math.MaxInt64)):
		return math.MaxInt64
	}
	return t.UnixNano()
}

func fromNanos(n int64) time.Time {
	if n == 0 {
		return time.Time{}
	}
	return time.Unix(0, n).UTC()
}

// CreateConversation implements store.Records.
func (s *Store) CreateConversation(ctx context.Context, c store.Conversation) error {
	return s.write(ctx, func(t *tx) error { return s.insertConversation(t, c) })
}

func (s *Store) insertConversation(t *tx, c store.Conversation) error {
	now := s.opt.now()
	if c.CreatedAt.IsZero() {
		c.CreatedAt = now
	}
	if c.UpdatedAt.IsZero() {
		c.UpdatedAt = c.CreatedAt
	}
	_, err := t.exec(`INSERT INTO conversations (id, tenant, user, title, folded, created, updated, leaf, running, hidden)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Owner.Tenant, c.Owner.User, c.Title, fold(c.Title),
		nanos(c.CreatedAt), nanos(c.UpdatedAt), c.Leaf, c.Running, c.Hidden)
	if err != nil {
		return wrap("create conversation "+c.ID, err)
	}
	_, err = s.feed(t, c.ID, store.FeedConversationUpdated, store.FeedData{ID: c.ID})
	return err
}

// Conversation implements store.Records.
func (s *Store) Conversation(ctx context.Context, o store.Owner, id string) (store.Conversation, error) {
	var c store.Conversation
	stmt, err := s.stmt(ctx, "SELECT "+conversationColumns+" FROM conversations WHERE id = ? AND tenant = ? AND user = ?")
	if err == nil {
		c, err = scanConversation(stmt.QueryRowContext(ctx, id, o.Tenant, o.User))
	}
	return c, wrap("conversation "+id, s.rowErr(err))
}

// touch moves a conversation to the top of its owner's list. Its time never
// goes back, whatever the clock does.
func (s *Store) touch(t *tx, id string) error {
	_, err := t.exec("UPDATE conversations SET updated = max(updated, ?) WHERE id = ?", s.opt.now().UnixNano(), id)
	return wrap("update conversation "+id, err)
}

// RenameConversation implements store.Records.
func (s *Store) RenameConversation(ctx context.Context, o store.Owner, id, title string) (store.Conversation, error) {
	err := s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE conversations SET title = ?, folded = ? WHERE id = ? AND tenant = ? AND user = ?",
			title, fold(title), id, o.Tenant, o.User)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return wrap("rename conversation "+id, err)
		}
		_, err = s.feed(t, id, store.FeedConversationUpdated, store.FeedData{ID: id})
		return err
	})
	if err != nil {
		return store.Conversation{}, err
	}
	return s.Conversation(ctx, o, id)
}

// SetLeaf implements store.Records.
func (s *Store) SetLeaf(ctx context.Context, o store.Owner, id, leaf string) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE conversations SET leaf = ?1 WHERE id = ?2 AND tenant = ?3 AND user = ?4
			AND EXISTS (SELECT 1 FROM messages WHERE id = ?1 AND conversation = ?2)`, leaf, id, o.Tenant, o.User)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		if err != nil {
			return wrap("set the leaf of conversation "+id, err)
		}
		_, err = s.feed(t, id, store.FeedConversationUpdated, store.FeedData{ID: id})
		return err
	})
}

// DeleteConversation implements store.Records.
func (s *Store) DeleteConversation(ctx context.Context, o store.Owner, id string) error {
	return s.write(ctx, func(t *tx) error {
		var n int
		err := t.scan("SELECT 1 FROM conversations WHERE id = ? AND tenant = ? AND user = ?", []any{id, o.Tenant, o.User}, &n)
		if err == nil {
			err = s.deleteConversation(t, id)
		}
		return wrap("delete conversation "+id, err)
	})
}

// deleteConversation removes a conversation and everything that belongs to it.
func (s *Store) deleteConversation(t *tx, id string) error {
	var msgs []string
	err := t.each("SELECT id FROM messages WHERE conversation = ?", []any{id}, func(row scanner) error {
		var msg string
		err := row.Scan(&msg)
		msgs = append(msgs, msg)
		return err
	})
	if err != nil {
		return err
	}
	const mine = "(SELECT id FROM messages WHERE conversation = ?)"
	for _, query := range []string{
		"DELETE FROM chunks WHERE log IN (SELECT id FROM logs WHERE msg IN " + mine + ")",
		"DELETE FROM logs WHERE msg IN " + mine,
		"DELETE FROM trajectories WHERE message IN " + mine,
		"DELETE FROM block_calls WHERE message IN " + mine,
		"DELETE FROM block_states WHERE message IN " + mine,
		"DELETE FROM turn_states WHERE message IN " + mine,
		"DELETE FROM action_calls WHERE conversation = ?",
		"DELETE FROM aliases WHERE conversation = ?",
		"UPDATE assets SET gone = 1 WHERE conversation = ?",
		"DELETE FROM messages WHERE conversation = ?",
		"DELETE FROM idempotency WHERE conversation = ?",
		"DELETE FROM conversations WHERE id = ?",
	} {
		if _, err := t.exec(query, id); err != nil {
			return err
		}
	}
	// The cursor of the end comes from a row that goes with the others.
	cursor, err := s.feed(t, id, store.FeedConversationDeleted, store.FeedData{ID: id})
	if err != nil {
		return err
	}
	if _, err := t.exec("DELETE FROM feed WHERE conversation = ?", id); err != nil {
		return err
	}
	t.onCommit(func() { s.feeds.signal(id, cursor) })
	for _, msg := range msgs {
		s.forgetLog(t, msg)
	}
	return nil
}

// forgetLog ends what memory has of a deleted message: its lease is lost, its
// readers end.
func (s *Store) forgetLog(t *tx, msg string) {
	s.mu.Lock()
	l := s.logs[msg]
	delete(s.logs, msg)
	s.mu.Unlock()
	if l == nil {
		return
	}
	l.deleted = true
	t.onUndo(func() {
		s.mu.Lock()
		s.logs[msg] = l
		s.mu.Unlock()
		l.deleted = false
	})
	t.onCommit(func() {
		t.w.journal.unpin(l)
		s.signals.clear(msg)
		s.drop(l)
	})
	if tail := l.tail; tail != nil {
		t.onCommit(tail.end)
	}
}

// Conversations implements store.Records.
func (s *Store) Conversations(ctx context.Context, o store.Owner, opt store.ListOptions) ([]store.Conversation, string, error) {
	limit := opt.Limit
	if limit <= 0 {
		limit = 50
	}
	limit = min(limit, 200)
	query := "SELECT " + conversationColumns + ", n FROM conversations WHERE tenant = ? AND user = ? AND hidden = 0"
	args := []any{o.Tenant, o.User}
	if opt.Cursor != "" {
		updated, n, err := parseCursor(opt.Cursor)
		if err != nil {
			return nil, "", err
		}
		query += " AND (updated, n) < (?, ?)"
		args = append(args, updated, n)
	}
	if where, more := searchTerms(opt.Query).where(o); where != "" {
		query += " AND " + where
		args = append(args, more...)
	}
	query += " ORDER BY updated DESC, n DESC LIMIT ?"
	args = append(args, limit+1)

	// Not s.each: the text of a search differs with its words.
	rows, err := s.db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, "", wrap("list conversations", s.closedOr(err))
	}
	var list []store.Conversation
	var next string
	err = eachRow(rows, func(row scanner) error {
		var n int64
		c, err := scanConversation(row, &n)
		if err != nil {
			return err
		}
		if len(list) < limit {
			list = append(list, c)
			next = formatCursor(c.UpdatedAt, n)
			return nil
		}
		limit = -1 // there is another page
		return nil
	})
	if err != nil {
		return nil, "", wrap("list conversations", s.closedOr(err))
	}
	if limit != -1 {
		next = ""
	}
	return list, next, nil
}

func formatCursor(updated time.Time, n int64) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "%d %d", nanos(updated), n))
}

func parseCursor(s string) (updated, n int64, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err == nil {
		_, err = fmt.Sscanf(string(b), "%d %d", &updated, &n)
	}
	if err != nil {
		return 0, 0, fmt.Errorf("sqlite: list conversations: %w: the cursor %q is not one of this store", store.ErrNotFound, s)
	}
	return updated, n, nil
}

// terms are the words of a search, folded. A conversation matches when all of
// them stand in its title, or all of them in one of its messages.
type terms []string

func searchTerms(query string) terms {
	words := strings.Fields(fold(query))
	return words[:min(len(words), maxTerms)]
}

// maxTerms is how many words of a search count.
const maxTerms = 16

// fold gives text the form in which search compares it.
func fold(text string) string { return strings.ToLower(text) }

// indexed is how many characters a word needs for the index to find it.
const indexed = 3

func (ts terms) where(o store.Owner) (string, []any) {
	if len(ts) == 0 {
		return "", nil
	}
	var titles, texts, match []string
	var titleArgs, textArgs []any
	for _, t := range ts {
		titles = append(titles, "instr(folded, ?) > 0")
		titleArgs = append(titleArgs, t)
		// The query language of the index ends at a NUL.
		if utf8.RuneCountInString(t) >= indexed && !strings.Contains(t, "\x00") {
			match = append(match, `"`+strings.ReplaceAll(t, `"`, `""`)+`"`)
			continue
		}
		texts = append(texts, "instr(folded, ?) > 0")
		textArgs = append(textArgs, t)
	}
	if len(match) > 0 {
		texts = append(texts, "n IN (SELECT rowid FROM message_index WHERE message_index MATCH ?)")
		textArgs = append(textArgs, strings.Join(match, " AND "))
	}
	where := "(" + strings.Join(titles, " AND ") +
		" OR id IN (SELECT conversation FROM messages WHERE tenant = ? AND user = ? AND " + strings.Join(texts, " AND ") + "))"
	return where, append(append(titleArgs, o.Tenant, o.User), textArgs...)
}

// rowErr gives the absence of a row the store's own name.
func (s *Store) rowErr(err error) error {
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return s.closedOr(err)
}
