package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

const messageColumns = `id, conversation, tenant, user, role, parent, created, status, blocks, seq,
	finish, usage, err, model, exchange, activity, feedback`

// activity is what a message says of how it came to be, in one column.
type activity struct {
	Reasoning string               `json:"reasoning,omitempty"`
	Tools     []event.ToolActivity `json:"tools,omitempty"`
}

func scanMessage(row scanner) (store.Message, error) {
	var m store.Message
	var created int64
	var blocks, usage, failure, model, exchange, acts, feedback []byte
	var act activity
	err := row.Scan(&m.ID, &m.Conversation, &m.Owner.Tenant, &m.Owner.User, &m.Role, &m.Parent, &created,
		&m.Status, &blocks, &m.Seq, &m.FinishReason, &usage, &failure, &model, &exchange, &acts, &feedback)
	if err != nil {
		return m, err
	}
	m.CreatedAt = fromNanos(created)
	m.Exchange = exchange
	for _, part := range []struct {
		data []byte
		into any
	}{{blocks, &m.Blocks}, {usage, &m.Usage}, {failure, &m.Err}, {model, &m.Model}, {acts, &act}, {feedback, &m.Feedback}} {
		if part.data == nil {
			continue
		}
		if err := json.Unmarshal(part.data, part.into); err != nil {
			return m, fmt.Errorf("message %s: %w", m.ID, err)
		}
	}
	m.Reasoning, m.Tools = act.Reasoning, act.Tools
	return m, nil
}

// messageParts are the columns that a turn changes.
type messageParts struct {
	blocks, usage, failure, model, exchange, activity []byte
	folded                                            string
}

func encodeMessage(m store.Message) (messageParts, error) {
	var p messageParts
	var err error
	encode := func(v any) []byte {
		b, e := json.Marshal(v)
		if err == nil && e != nil {
			err = fmt.Errorf("message %s: %w", m.ID, e)
		}
		return b
	}
	blocks := m.Blocks
	if blocks == nil {
		blocks = []block.Block{}
	}
	p.blocks, p.usage = encode(blocks), encode(m.Usage)
	if m.Err != nil {
		p.failure = encode(m.Err)
	}
	if m.Model != nil {
		p.model = encode(m.Model)
	}
	p.exchange = m.Exchange
	if m.Reasoning != "" || len(m.Tools) > 0 {
		p.activity = encode(activity{m.Reasoning, m.Tools})
	}
	p.folded = fold(messageText(m.Blocks))
	return p, err
}

// messageText is what search finds of a message: its text, and the title and
// fallback text of its other blocks.
func messageText(blocks []block.Block) string {
	var lines []string
	for _, b := range blocks {
		var text string
		if json.Unmarshal(b.Payload, &text) == nil && text != "" {
			lines = append(lines, text)
		}
		if b.Meta != nil && b.Meta.Title != "" {
			lines = append(lines, b.Meta.Title)
		}
		if b.Fallback != "" {
			lines = append(lines, b.Fallback)
		}
	}
	return strings.Join(lines, "\n")
}

func (s *Store) insertMessage(t *tx, m store.Message) error {
	if m.CreatedAt.IsZero() {
		m.CreatedAt = s.opt.now()
	}
	p, err := encodeMessage(m)
	if err != nil {
		return err
	}
	if m.Parent != "" {
		var n int
		err := t.scan("SELECT 1 FROM messages WHERE id = ? AND conversation = ?", []any{m.Parent, m.Conversation}, &n)
		if err != nil {
			return wrap("parent "+m.Parent, err)
		}
	}
	_, err = t.exec(`INSERT INTO messages (id, conversation, tenant, user, role, parent, created, status, blocks, seq,
		finish, usage, err, model, exchange, activity, folded) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		m.ID, m.Conversation, m.Owner.Tenant, m.Owner.User, m.Role, m.Parent, nanos(m.CreatedAt), m.Status, p.blocks,
		m.Seq, m.FinishReason, p.usage, p.failure, p.model, p.exchange, p.activity, p.folded)
	if err != nil {
		return wrap("store message "+m.ID, err)
	}
	_, err = s.feed(t, m.Conversation, store.FeedMessageCreated, store.FeedData{MsgID: m.ID})
	return err
}

// Begin implements store.Records.
func (s *Store) Begin(ctx context.Context, b store.BeginTurn) error {
	return s.write(ctx, func(t *tx) error { return s.begin(t, b) })
}

func (s *Store) begin(t *tx, b store.BeginTurn) error {
	o, conv := b.Owner, b.Conversation.ID
	if b.IdempotencyKey != "" {
		var first store.ReplayError
		var fingerprint string
		err := t.scan(`SELECT message, question, conversation, fingerprint FROM idempotency
			WHERE tenant = ? AND user = ? AND key = ?`, []any{o.Tenant, o.User, b.IdempotencyKey},
			&first.Msg, &first.User, &first.Conversation, &fingerprint)
		if err == nil {
			first.Same = fingerprint == b.Fingerprint
			return fmt.Errorf("sqlite: begin: %w", &first)
		}
		if !isNotFound(err) {
			return wrap("begin", err)
		}
	}
	var owner store.Owner
	var running string
	err := t.scan("SELECT tenant, user, running FROM conversations WHERE id = ?", []any{conv},
		&owner.Tenant, &owner.User, &running)
	switch {
	case isNotFound(err):
		c := b.Conversation
		c.Owner, c.Running, c.Leaf = o, "", ""
		if err := s.insertConversation(t, c); err != nil {
			return err
		}
	case err != nil:
		return wrap("begin", err)
	case owner != o:
		return wrap("begin in conversation "+conv, store.ErrNotFound)
	case running != "":
		return fmt.Errorf("sqlite: begin: %w", &store.RunningError{Msg: running})
	}
	question := b.Assistant.Parent
	if b.User != nil {
		m := *b.User
		m.Owner, m.Conversation = o, conv
		if err := s.insertMessage(t, m); err != nil {
			return err
		}
		question = m.ID
	}
	m := b.Assistant
	m.Owner, m.Conversation = o, conv
	if err := s.insertMessage(t, m); err != nil {
		return err
	}
	if _, err := t.exec("UPDATE conversations SET running = ?, leaf = ? WHERE id = ?", m.ID, m.ID, conv); err != nil {
		return wrap("begin", err)
	}
	if title := b.Conversation.Title; title != "" {
		if _, err := t.exec("UPDATE conversations SET title = ?, folded = ? WHERE id = ? AND title = ''", title, fold(title), conv); err != nil {
			return wrap("begin", err)
		}
	}
	if err := s.touch(t, conv); err != nil {
		return err
	}
	if b.IdempotencyKey != "" {
		_, err := t.exec(`INSERT INTO idempotency (tenant, user, key, fingerprint, conversation, message, question, created)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
			o.Tenant, o.User, b.IdempotencyKey, b.Fingerprint, conv, m.ID, question, s.opt.now().UnixNano())
		if err != nil {
			return wrap("begin", err)
		}
	}
	if _, err := s.feed(t, conv, store.FeedTurnStarted, store.FeedData{MsgID: m.ID}); err != nil {
		return err
	}
	_, err = s.feed(t, conv, store.FeedConversationUpdated, store.FeedData{ID: conv})
	return err
}

// PutMessage implements store.Records.
func (s *Store) PutMessage(ctx context.Context, m store.Message) error {
	p, err := encodeMessage(m)
	if err != nil {
		return err
	}
	return s.write(ctx, func(t *tx) error { return s.putMessage(t, m, p) })
}

func (s *Store) putMessage(t *tx, m store.Message, p messageParts) error {
	var conv string
	var seq uint64
	err := t.scan("SELECT conversation, seq FROM messages WHERE id = ? AND tenant = ? AND user = ?",
		[]any{m.ID, m.Owner.Tenant, m.Owner.User}, &conv, &seq)
	if err != nil {
		return wrap("store message "+m.ID, err)
	}
	if m.Seq < seq {
		return fmt.Errorf("sqlite: store message %s: seq %d after %d: %w", m.ID, m.Seq, seq, store.ErrConflict)
	}
	_, err = t.exec(`UPDATE messages SET status = ?, blocks = ?, seq = ?, finish = ?, usage = ?, err = ?, model = ?,
		exchange = ?, activity = ?, folded = ? WHERE id = ?`,
		m.Status, p.blocks, m.Seq, m.FinishReason, p.usage, p.failure, p.model, p.exchange, p.activity, p.folded, m.ID)
	if err != nil {
		return wrap("store message "+m.ID, err)
	}
	if _, err := s.feed(t, conv, store.FeedMessageUpdated, store.FeedData{MsgID: m.ID, Seq: m.Seq, Status: m.Status}); err != nil {
		return err
	}
	if m.Status != event.StatusRunning {
		if _, err := t.exec("UPDATE conversations SET running = '' WHERE id = ? AND running = ?", conv, m.ID); err != nil {
			return wrap("end the turn of conversation "+conv, err)
		}
	}
	if err := s.touch(t, conv); err != nil {
		return err
	}
	_, err = s.feed(t, conv, store.FeedConversationUpdated, store.FeedData{ID: conv})
	return err
}

// Message implements store.Records.
func (s *Store) Message(ctx context.Context, o store.Owner, id string) (store.Message, error) {
	var m store.Message
	stmt, err := s.stmt(ctx, "SELECT "+messageColumns+" FROM messages WHERE id = ? AND tenant = ? AND user = ?")
	if err == nil {
		m, err = scanMessage(stmt.QueryRowContext(ctx, id, o.Tenant, o.User))
	}
	if err != nil {
		return m, wrap("message "+id, s.rowErr(err))
	}
	err = s.each(ctx, "SELECT id FROM messages WHERE conversation = ? AND parent = ? AND role = ? ORDER BY n",
		[]any{m.Conversation, m.Parent, m.Role}, func(row scanner) error {
			var sibling string
			err := row.Scan(&sibling)
			m.Siblings = append(m.Siblings, sibling)
			return err
		})
	return m, wrap("message "+id, err)
}

// Newest implements store.Records.
func (s *Store) Newest(ctx context.Context, o store.Owner, conversation, from string) (string, error) {
	if _, err := s.Conversation(ctx, o, conversation); err != nil {
		return "", err
	}
	newest := ""
	err := s.each(ctx, `WITH RECURSIVE branch (id, n) AS (
			SELECT id, n FROM messages WHERE id = ? AND conversation = ?
			UNION SELECT m.id, m.n FROM messages m JOIN branch b ON m.parent = b.id WHERE m.conversation = ?)
		SELECT id FROM branch ORDER BY n DESC LIMIT 1`, []any{from, conversation, conversation},
		func(row scanner) error { return row.Scan(&newest) })
	if err != nil {
		return "", wrap("branch of message "+from, err)
	}
	if newest == "" {
		return "", wrap("branch of message "+from, store.ErrNotFound)
	}
	return newest, nil
}

// MessageOf implements store.Records.
func (s *Store) MessageOf(ctx context.Context, id string) (store.Message, error) {
	var m store.Message
	stmt, err := s.stmt(ctx, "SELECT "+messageColumns+" FROM messages WHERE id = ?")
	if err == nil {
		m, err = scanMessage(stmt.QueryRowContext(ctx, id))
	}
	return m, wrap("message "+id, s.rowErr(err))
}

// RunningMessages implements store.Records.
func (s *Store) RunningMessages(ctx context.Context) ([]store.Message, error) {
	var list []store.Message
	err := s.each(ctx, "SELECT "+messageColumns+" FROM messages WHERE status = 'running' ORDER BY n", nil,
		func(row scanner) error {
			m, err := scanMessage(row)
			list = append(list, m)
			return err
		})
	return list, wrap("running messages", err)
}

// Path implements store.Records.
func (s *Store) Path(ctx context.Context, o store.Owner, conversation, leaf string) ([]store.Message, error) {
	c, err := s.Conversation(ctx, o, conversation)
	if err != nil {
		return nil, err
	}
	if leaf == "" {
		leaf = c.Leaf
	}
	if leaf == "" {
		return nil, nil
	}
	type place struct{ parent, role string }
	tree := map[string]place{}
	siblings := map[place][]string{}
	err = s.each(ctx, "SELECT id, parent, role FROM messages WHERE conversation = ? ORDER BY n", []any{conversation},
		func(row scanner) error {
			var id string
			var p place
			err := row.Scan(&id, &p.parent, &p.role)
			tree[id] = p
			siblings[p] = append(siblings[p], id)
			return err
		})
	if err != nil {
		return nil, wrap("path of conversation "+conversation, err)
	}
	if _, ok := tree[leaf]; !ok {
		return nil, wrap("path to message "+leaf, store.ErrNotFound)
	}
	var ids []string
	for id := leaf; id != "" && len(ids) < len(tree); id = tree[id].parent {
		ids = append(ids, id)
	}
	slices.Reverse(ids)
	wanted, err := json.Marshal(ids)
	if err != nil {
		return nil, err
	}
	found := make(map[string]store.Message, len(ids))
	err = s.each(ctx, "SELECT "+messageColumns+" FROM messages WHERE id IN (SELECT value FROM json_each(?))", []any{string(wanted)},
		func(row scanner) error {
			m, err := scanMessage(row)
			found[m.ID] = m
			return err
		})
	if err != nil {
		return nil, wrap("path of conversation "+conversation, err)
	}
	path := make([]store.Message, 0, len(ids))
	for _, id := range ids {
		m, ok := found[id]
		if !ok {
			return nil, wrap("path of conversation "+conversation, store.ErrNotFound) // deleted just now
		}
		m.Siblings = siblings[tree[id]]
		path = append(path, m)
	}
	return path, nil
}
