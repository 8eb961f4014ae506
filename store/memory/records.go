package memory

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

type records struct {
	conversations map[string]*conversation
	messages      map[string]*message
	calls         map[string]store.BlockCall
	trajectories  map[string][]byte
	keys          map[key]begun
	turns         map[string]store.TurnState
	assets        map[string]*asset
	aliases       map[aliasKey]alias
	actions
}

// conversation and message carry their place in the order of creation.
type conversation struct {
	store.Conversation
	n    int64
	feed []feedEntry
	gone uint64 // the cursor of its end
}

type message struct {
	store.Message
	n int64
}

type feedEntry struct {
	store.FeedEvent
	at time.Time
}

type key struct {
	owner store.Owner
	key   string
}

type begun struct {
	store.ReplayError
	fingerprint string
}

func notFound(kind, id string) error {
	return fmt.Errorf("memory: %s %s: %w", kind, id, store.ErrNotFound)
}

func (s *Store) conversationOf(o store.Owner, id string) (*conversation, error) {
	if c := s.conversations[id]; c != nil && c.Owner == o {
		return c, nil
	}
	return nil, notFound("conversation", id)
}

func (s *Store) messageOf(o store.Owner, id string) (*message, error) {
	if m := s.messages[id]; m != nil && m.Owner == o {
		return m, nil
	}
	return nil, notFound("message", id)
}

func (s *Store) tell(c *conversation, typ string, data store.FeedData) {
	s.cursor++
	b, err := json.Marshal(data)
	if err != nil {
		panic("memory: feed data cannot be encoded: " + err.Error()) // it has strings and numbers only
	}
	c.feed = append(c.feed, feedEntry{store.FeedEvent{Cursor: s.cursor, Type: typ, Data: b}, s.now()})
	s.wake()
}

func (s *Store) create(c store.Conversation) (*conversation, error) {
	if s.conversations[c.ID] != nil {
		return nil, fmt.Errorf("memory: conversation %s exists: %w", c.ID, store.ErrConflict)
	}
	if c.CreatedAt.IsZero() {
		c.CreatedAt = s.now()
	}
	if c.UpdatedAt.IsZero() {
		c.UpdatedAt = c.CreatedAt
	}
	c.CreatedAt, c.UpdatedAt = c.CreatedAt.UTC(), c.UpdatedAt.UTC()
	s.order++
	stored := &conversation{Conversation: c, n: s.order}
	s.conversations[c.ID] = stored
	s.tell(stored, store.FeedConversationUpdated, store.FeedData{ID: c.ID})
	return stored, nil
}

func (s *Store) touch(c *conversation) {
	if now := s.now().UTC(); now.After(c.UpdatedAt) {
		c.UpdatedAt = now
	}
	s.tell(c, store.FeedConversationUpdated, store.FeedData{ID: c.ID})
}

// check refuses a message that cannot be inserted.
func (s *Store) check(m store.Message, parent func(string) bool) error {
	if s.messages[m.ID] != nil {
		return fmt.Errorf("memory: message %s exists: %w", m.ID, store.ErrConflict)
	}
	if m.Parent == "" || parent(m.Parent) {
		return nil
	}
	return notFound("parent", m.Parent)
}

func (s *Store) insert(c *conversation, m store.Message) {
	if m.CreatedAt.IsZero() {
		m.CreatedAt = s.now()
	}
	m.CreatedAt = m.CreatedAt.UTC()
	m.Blocks = append([]block.Block{}, m.Blocks...)
	m.Siblings, m.Feedback = nil, nil
	s.order++
	s.messages[m.ID] = &message{m, s.order}
	s.tell(c, store.FeedMessageCreated, store.FeedData{MsgID: m.ID})
}

// Begin implements store.Records.
func (s *Store) Begin(ctx context.Context, b store.BeginTurn) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	k := key{b.Owner, b.IdempotencyKey}
	if first, ok := s.keys[k]; ok && b.IdempotencyKey != "" {
		replay := first.ReplayError
		replay.Same = first.fingerprint == b.Fingerprint
		return fmt.Errorf("memory: begin: %w", &replay)
	}
	c := s.conversations[b.Conversation.ID]
	switch {
	case c != nil && c.Owner != b.Owner:
		return notFound("conversation", b.Conversation.ID)
	case c != nil && c.Running != "":
		return fmt.Errorf("memory: begin: %w", &store.RunningError{Msg: c.Running})
	}
	// Everything is checked before anything is written.
	inside := func(id string) bool {
		m := s.messages[id]
		return m != nil && m.Conversation == b.Conversation.ID
	}
	question := b.Assistant.Parent
	if b.User != nil {
		if err := s.check(*b.User, inside); err != nil {
			return err
		}
		question = b.User.ID
	}
	err := s.check(b.Assistant, func(id string) bool { return inside(id) || b.User != nil && id == b.User.ID })
	if err != nil {
		return err
	}
	if c == nil {
		fresh := b.Conversation
		fresh.Owner, fresh.Running, fresh.Leaf = b.Owner, "", ""
		if c, err = s.create(fresh); err != nil {
			return err
		}
	}
	if b.User != nil {
		m := *b.User
		m.Owner, m.Conversation = b.Owner, c.ID
		s.insert(c, m)
	}
	m := b.Assistant
	m.Owner, m.Conversation = b.Owner, c.ID
	s.insert(c, m)
	c.Running, c.Leaf = m.ID, m.ID
	if c.Title == "" {
		c.Title = b.Conversation.Title
	}
	if b.IdempotencyKey != "" {
		s.keys[k] = begun{store.ReplayError{Msg: m.ID, User: question, Conversation: c.ID}, b.Fingerprint}
	}
	s.tell(c, store.FeedTurnStarted, store.FeedData{MsgID: m.ID})
	s.touch(c)
	return nil
}

// PutMessage implements store.Records.
func (s *Store) PutMessage(ctx context.Context, m store.Message) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	old, err := s.messageOf(m.Owner, m.ID)
	if err != nil {
		return err
	}
	if m.Seq < old.Seq {
		return fmt.Errorf("memory: store message %s: seq %d after %d: %w", m.ID, m.Seq, old.Seq, store.ErrConflict)
	}
	old.Status, old.Blocks, old.Seq = m.Status, append([]block.Block{}, m.Blocks...), m.Seq
	old.FinishReason, old.Usage, old.Err, old.Model, old.Exchange = m.FinishReason, m.Usage, m.Err, m.Model, m.Exchange
	old.Reasoning, old.Tools = m.Reasoning, m.Tools
	c := s.conversations[old.Conversation]
	s.tell(c, store.FeedMessageUpdated, store.FeedData{MsgID: m.ID, Seq: m.Seq, Status: m.Status})
	if m.Status != event.StatusRunning && c.Running == m.ID {
		c.Running = ""
	}
	s.touch(c)
	return nil
}

// CreateConversation implements store.Records.
func (s *Store) CreateConversation(ctx context.Context, c store.Conversation) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	_, err := s.create(c)
	return err
}

// Conversation implements store.Records.
func (s *Store) Conversation(ctx context.Context, o store.Owner, id string) (store.Conversation, error) {
	if err := s.lock(ctx); err != nil {
		return store.Conversation{}, err
	}
	defer s.mu.Unlock()
	c, err := s.conversationOf(o, id)
	if err != nil {
		return store.Conversation{}, err
	}
	return c.Conversation, nil
}

// Conversations implements store.Records.
func (s *Store) Conversations(ctx context.Context, o store.Owner, opt store.ListOptions) ([]store.Conversation, string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	words := strings.Fields(strings.ToLower(opt.Query))
	var all []*conversation
	for _, c := range s.conversations {
		if c.Owner == o && !c.Hidden && s.matches(c, words) {
			all = append(all, c)
		}
	}
	newest := func(a, b *conversation) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.n, a.n))
	}
	slices.SortFunc(all, newest)
	if opt.Cursor != "" {
		updated, n, ok := strings.Cut(opt.Cursor, "-")
		at, err := strconv.ParseInt(updated, 10, 64)
		order, err2 := strconv.ParseInt(n, 10, 64)
		if !ok || err != nil || err2 != nil {
			return nil, "", notFound("cursor", opt.Cursor)
		}
		last := &conversation{Conversation: store.Conversation{UpdatedAt: time.Unix(0, at)}, n: order}
		all = slices.DeleteFunc(all, func(c *conversation) bool { return newest(last, c) >= 0 })
	}
	limit := opt.Limit
	if limit <= 0 {
		limit = 50
	}
	var next string
	if limit = min(limit, 200); len(all) > limit {
		all = all[:limit]
		c := all[limit-1]
		next = fmt.Sprintf("%d-%d", c.UpdatedAt.UnixNano(), c.n)
	}
	var list []store.Conversation
	for _, c := range all {
		list = append(list, c.Conversation)
	}
	return list, next, nil
}

// matches reports whether all words stand in the title or in one message.
func (s *Store) matches(c *conversation, words []string) bool {
	in := func(text string) bool {
		text = strings.ToLower(text)
		return !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(text, w) })
	}
	if in(c.Title) {
		return true
	}
	for _, m := range s.messages {
		if m.Conversation != c.ID {
			continue
		}
		var text strings.Builder
		for _, b := range m.Blocks {
			var payload string
			if json.Unmarshal(b.Payload, &payload) == nil {
				text.WriteString(payload + "\n")
			}
			if b.Meta != nil {
				text.WriteString(b.Meta.Title + "\n")
			}
			text.WriteString(b.Fallback + "\n")
		}
		if in(text.String()) {
			return true
		}
	}
	return false
}

// RenameConversation implements store.Records.
func (s *Store) RenameConversation(ctx context.Context, o store.Owner, id, title string) (store.Conversation, error) {
	if err := s.lock(ctx); err != nil {
		return store.Conversation{}, err
	}
	defer s.mu.Unlock()
	c, err := s.conversationOf(o, id)
	if err != nil {
		return store.Conversation{}, err
	}
	c.Title = title
	s.tell(c, store.FeedConversationUpdated, store.FeedData{ID: id})
	return c.Conversation, nil
}

// SetLeaf implements store.Records.
func (s *Store) SetLeaf(ctx context.Context, o store.Owner, id, leaf string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	c, err := s.conversationOf(o, id)
	if err != nil {
		return err
	}
	if m := s.messages[leaf]; m == nil || m.Conversation != id {
		return notFound("message", leaf)
	}
	c.Leaf = leaf
	s.tell(c, store.FeedConversationUpdated, store.FeedData{ID: id})
	return nil
}

// DeleteConversation implements store.Records.
func (s *Store) DeleteConversation(ctx context.Context, o store.Owner, id string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, err := s.conversationOf(o, id); err != nil {
		return err
	}
	s.drop(id)
	return nil
}

// drop removes a conversation and everything that belongs to it.
func (s *Store) drop(id string) {
	c := s.conversations[id]
	for msg, m := range s.messages {
		if m.Conversation == id {
			delete(s.messages, msg)
			if l := s.logs[msg]; l != nil {
				l.wake()
			}
			delete(s.logs, msg)
			delete(s.signals, msg)
			delete(s.trajectories, msg)
			delete(s.turns, msg)
		}
	}
	s.dropActions(id)
	for k, a := range s.aliases {
		if a.Conversation == id {
			delete(s.aliases, k)
		}
	}
	for _, a := range s.assets {
		a.gone = a.gone || a.Conversation == id
	}
	for b, call := range s.calls {
		if s.messages[call.Message] == nil {
			delete(s.calls, b)
		}
	}
	for k, first := range s.keys {
		if first.Conversation == id {
			delete(s.keys, k)
		}
	}
	delete(s.conversations, id)
	s.cursor++
	c.gone = s.cursor
	s.wake()
}

// siblings returns the messages beside m, itself included.
func (s *Store) siblings(m *message) []string {
	var all []*message
	for _, o := range s.messages {
		if o.Conversation == m.Conversation && o.Parent == m.Parent && o.Role == m.Role {
			all = append(all, o)
		}
	}
	slices.SortFunc(all, func(a, b *message) int { return cmp.Compare(a.n, b.n) })
	var ids []string
	for _, o := range all {
		ids = append(ids, o.ID)
	}
	return ids
}

func (s *Store) view(m *message) store.Message {
	v := bare(m)
	v.Siblings = s.siblings(m)
	return v
}

// bare is what is read of a message, without its siblings.
func bare(m *message) store.Message {
	v := m.Message
	v.Blocks = slices.Clone(v.Blocks)
	if v.Feedback != nil {
		f := *v.Feedback
		v.Feedback = &f
	}
	return v
}

// Message implements store.Records.
func (s *Store) Message(ctx context.Context, o store.Owner, id string) (store.Message, error) {
	if err := s.lock(ctx); err != nil {
		return store.Message{}, err
	}
	defer s.mu.Unlock()
	m, err := s.messageOf(o, id)
	if err != nil {
		return store.Message{}, err
	}
	return s.view(m), nil
}

// MessageOf implements store.Records.
func (s *Store) MessageOf(ctx context.Context, id string) (store.Message, error) {
	if err := s.lock(ctx); err != nil {
		return store.Message{}, err
	}
	defer s.mu.Unlock()
	m := s.messages[id]
	if m == nil {
		return store.Message{}, notFound("message", id)
	}
	return bare(m), nil
}

// RunningMessages implements store.Records.
func (s *Store) RunningMessages(ctx context.Context) ([]store.Message, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var running []*message
	for _, m := range s.messages {
		if m.Status == event.StatusRunning {
			running = append(running, m)
		}
	}
	slices.SortFunc(running, func(a, b *message) int { return cmp.Compare(a.n, b.n) })
	var list []store.Message
	for _, m := range running {
		list = append(list, bare(m))
	}
	return list, nil
}

// Newest implements store.Records.
func (s *Store) Newest(ctx context.Context, o store.Owner, conversation, from string) (string, error) {
	if err := s.lock(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	if _, err := s.conversationOf(o, conversation); err != nil {
		return "", err
	}
	first := s.messages[from]
	if first == nil || first.Conversation != conversation {
		return "", notFound("message", from)
	}
	newest := first
	for _, m := range s.messages {
		if m.Conversation != conversation || m.n <= newest.n {
			continue
		}
		for up := m; up != nil; up = s.messages[up.Parent] {
			if up == first {
				newest = m
				break
			}
		}
	}
	return newest.ID, nil
}

// Path implements store.Records.
func (s *Store) Path(ctx context.Context, o store.Owner, conversation, leaf string) ([]store.Message, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	c, err := s.conversationOf(o, conversation)
	if err != nil {
		return nil, err
	}
	if leaf == "" {
		leaf = c.Leaf
	}
	var path []store.Message
	for id := leaf; id != ""; {
		m := s.messages[id]
		if m == nil || m.Conversation != conversation {
			return nil, notFound("message", id)
		}
		path = append(path, s.view(m))
		id = m.Parent
	}
	slices.Reverse(path)
	return path, nil
}

// PutBlockCall implements store.Records.
func (s *Store) PutBlockCall(ctx context.Context, c store.BlockCall) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	m, err := s.messageOf(c.Owner, c.Message)
	if err != nil {
		return err
	}
	if old, ok := s.calls[c.Block]; ok && old.Message != c.Message {
		return fmt.Errorf("memory: block %s is of another message: %w", c.Block, store.ErrConflict)
	}
	c.Conversation = m.Conversation
	s.calls[c.Block] = c
	return nil
}

// BlockCall implements store.Records.
func (s *Store) BlockCall(ctx context.Context, o store.Owner, block string) (store.BlockCall, error) {
	if err := s.lock(ctx); err != nil {
		return store.BlockCall{}, err
	}
	defer s.mu.Unlock()
	c, ok := s.calls[block]
	if !ok || c.Owner != o {
		return store.BlockCall{}, notFound("call of block", block)
	}
	return c, nil
}

// PutTrajectory implements store.Records.
func (s *Store) PutTrajectory(ctx context.Context, o store.Owner, msg string, doc json.RawMessage) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if _, err := s.messageOf(o, msg); err != nil {
		return err
	}
	s.trajectories[msg] = bytes.Clone(doc)
	return nil
}

// Trajectory implements store.Records.
func (s *Store) Trajectory(ctx context.Context, o store.Owner, msg string) (json.RawMessage, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	doc, ok := s.trajectories[msg]
	if _, err := s.messageOf(o, msg); err != nil || !ok {
		return nil, notFound("trajectory of", msg)
	}
	return doc, nil
}

// FeedCursor implements store.Records.
func (s *Store) FeedCursor(ctx context.Context, o store.Owner, id string) (uint64, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	c, err := s.conversationOf(o, id)
	if err != nil || len(c.feed) == 0 {
		return 0, err
	}
	return c.feed[len(c.feed)-1].Cursor, nil
}

// Feed implements store.Records.
func (s *Store) Feed(ctx context.Context, o store.Owner, id string, after uint64) iter.Seq2[store.FeedEvent, error] {
	return func(yield func(store.FeedEvent, error) bool) {
		var c *conversation
		for {
			if err := s.lock(ctx); err != nil {
				if ctx.Err() == nil {
					yield(store.FeedEvent{}, err)
				}
				return
			}
			var err error
			if c == nil {
				c, err = s.conversationOf(o, id)
			}
			if err != nil {
				s.mu.Unlock()
				yield(store.FeedEvent{}, err)
				return
			}
			var fresh []store.FeedEvent
			for _, e := range c.feed {
				if e.Cursor > after {
					fresh = append(fresh, e.FeedEvent)
				}
			}
			gone, changed := c.gone, s.changed
			s.mu.Unlock()
			if gone > 0 {
				data, err := json.Marshal(store.FeedData{ID: id})
				yield(store.FeedEvent{Cursor: gone, Type: store.FeedConversationDeleted, Data: data}, err)
				return
			}
			for _, e := range fresh {
				after = e.Cursor
				if !yield(e, nil) {
					return
				}
			}
			select {
			case <-changed:
			case <-ctx.Done():
				return
			}
		}
	}
}
