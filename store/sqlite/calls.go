package sqlite

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/inlay-ui/inlay/store"
)

// owned checks that a message exists and is the owner's.
func (t *tx) owned(o store.Owner, msg string) error {
	var n int
	return t.scan("SELECT 1 FROM messages WHERE id = ? AND tenant = ? AND user = ?", []any{msg, o.Tenant, o.User}, &n)
}

// PutBlockCall implements store.Records.
func (s *Store) PutBlockCall(ctx context.Context, c store.BlockCall) error {
	return s.write(ctx, func(t *tx) error {
		err := t.owned(c.Owner, c.Message)
		var n int64
		if err == nil {
			n, err = t.exec(`INSERT INTO block_calls (block, message, tool, arguments, call) VALUES (?, ?, ?, ?, ?)
				ON CONFLICT (block) DO UPDATE SET tool = excluded.tool, arguments = excluded.arguments, call = excluded.call
				WHERE message = excluded.message`,
				c.Block, c.Message, c.Tool, []byte(c.Arguments), c.ToolCallID)
		}
		if err == nil && n == 0 {
			err = fmt.Errorf("it is of another message: %w", store.ErrConflict)
		}
		return wrap("store the call of block "+c.Block, err)
	})
}

// BlockCall implements store.Records.
func (s *Store) BlockCall(ctx context.Context, o store.Owner, block string) (store.BlockCall, error) {
	c := store.BlockCall{Block: block, Owner: o}
	err := s.scan(ctx, `SELECT c.message, m.conversation, c.tool, c.arguments, c.call
		FROM block_calls c JOIN messages m ON m.id = c.message
		WHERE c.block = ? AND m.tenant = ? AND m.user = ?`, []any{block, o.Tenant, o.User},
		&c.Message, &c.Conversation, &c.Tool, (*[]byte)(&c.Arguments), &c.ToolCallID)
	if err != nil {
		return store.BlockCall{}, wrap("call of block "+block, err)
	}
	return c, nil
}

// PutTrajectory implements store.Records.
func (s *Store) PutTrajectory(ctx context.Context, o store.Owner, msg string, doc json.RawMessage) error {
	return s.write(ctx, func(t *tx) error {
		err := t.owned(o, msg)
		if err == nil {
			_, err = t.exec(`INSERT INTO trajectories (message, doc) VALUES (?, ?)
				ON CONFLICT (message) DO UPDATE SET doc = excluded.doc`, msg, []byte(doc))
		}
		return wrap("store the trajectory of "+msg, err)
	})
}

// Trajectory implements store.Records.
func (s *Store) Trajectory(ctx context.Context, o store.Owner, msg string) (json.RawMessage, error) {
	var doc []byte
	err := s.scan(ctx, `SELECT t.doc FROM trajectories t JOIN messages m ON m.id = t.message
		WHERE t.message = ? AND m.tenant = ? AND m.user = ?`, []any{msg, o.Tenant, o.User}, &doc)
	return doc, wrap("trajectory of "+msg, err)
}
