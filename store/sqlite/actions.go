package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/inlay-ui/inlay/store"
)

const actionColumns = `id, tenant, user, key, fingerprint, conversation, message, block, action, name, payload,
	trace, lang, status, http, answer, holder, lease, started, finished, report`

func scanAction(row scanner) (store.ActionCall, error) {
	var c store.ActionCall
	var lease, started, finished int64
	err := row.Scan(&c.ID, &c.Owner.Tenant, &c.Owner.User, &c.Key, &c.Fingerprint, &c.Conversation, &c.Msg, &c.Block,
		&c.Action, &c.Name, (*[]byte)(&c.Payload), &c.TraceID, &c.Lang, &c.Status, &c.HTTPStatus, &c.Answer,
		&c.Holder, &lease, &started, &finished, &c.Report)
	c.LeaseUntil, c.StartedAt, c.FinishedAt = fromNanos(lease), fromNanos(started), fromNanos(finished)
	return c, err
}

const stateColumns = `s.block, s.message, m.tenant, m.user, s.rev, s.state, s.locked, s.call, s.running, s.logged`

// blockState names the exclusive call that runs; empty when none does.
type blockState struct {
	store.BlockState
	running string
}

func scanState(row scanner) (blockState, error) {
	var st blockState
	err := row.Scan(&st.Block, &st.Msg, &st.Owner.Tenant, &st.Owner.User, &st.Rev, (*[]byte)(&st.State),
		&st.Locked, &st.Call, &st.running, &st.Logged)
	st.Pending = st.running != ""
	return st, err
}

// ActionCall implements store.Actions.
func (s *Store) ActionCall(ctx context.Context, o store.Owner, key string) (store.ActionCall, error) {
	var c store.ActionCall
	stmt, err := s.stmt(ctx, "SELECT "+actionColumns+" FROM action_calls WHERE tenant = ? AND user = ? AND key = ? AND key <> ''")
	if err == nil {
		c, err = scanAction(stmt.QueryRowContext(ctx, o.Tenant, o.User, key))
	}
	return c, wrap("call of key "+key, s.rowErr(err))
}

// BlockState implements store.Actions.
func (s *Store) BlockState(ctx context.Context, o store.Owner, block string) (store.BlockState, error) {
	var st blockState
	stmt, err := s.stmt(ctx, "SELECT "+stateColumns+` FROM block_states s JOIN messages m ON m.id = s.message
		WHERE s.block = ? AND m.tenant = ? AND m.user = ?`)
	if err == nil {
		st, err = scanState(stmt.QueryRowContext(ctx, block, o.Tenant, o.User))
	}
	return st.BlockState, wrap("state of block "+block, s.rowErr(err))
}

// BlockStates implements store.Actions.
func (s *Store) BlockStates(ctx context.Context, o store.Owner, msg string) ([]store.BlockState, error) {
	var n int
	err := s.scan(ctx, "SELECT 1 FROM messages WHERE id = ? AND tenant = ? AND user = ?", []any{msg, o.Tenant, o.User}, &n)
	if err != nil {
		return nil, wrap("states of message "+msg, err)
	}
	list, err := s.statesWhere(ctx, "s.message = ? ORDER BY s.n", msg)
	return list, wrap("states of message "+msg, err)
}

func (s *Store) statesWhere(ctx context.Context, where string, args ...any) ([]store.BlockState, error) {
	var list []store.BlockState
	query := "SELECT " + stateColumns + " FROM block_states s JOIN messages m ON m.id = s.message WHERE " + where
	err := s.each(ctx, query, args, func(row scanner) error {
		st, err := scanState(row)
		list = append(list, st.BlockState)
		return err
	})
	return list, err
}

// action reads one call within the transaction.
func (t *tx) action(where string, args ...any) (c store.ActionCall, err error) {
	err = store.ErrNotFound
	each := t.each("SELECT "+actionColumns+" FROM action_calls WHERE "+where, args, func(row scanner) error {
		c, err = scanAction(row)
		return err
	})
	if each != nil {
		err = each
	}
	return c, err
}

// state reads the state of a call's block within the transaction: a new one
// when nobody acted on the block yet, which is not stored.
func (t *tx) state(c store.ActionCall) (st blockState, stored bool, err error) {
	st.BlockState = store.BlockState{Block: c.Block, Msg: c.Msg, Owner: c.Owner, Rev: 1, Logged: 1}
	err = t.each("SELECT "+stateColumns+" FROM block_states s JOIN messages m ON m.id = s.message WHERE s.block = ?",
		[]any{c.Block}, func(row scanner) error {
			var err error
			st, err = scanState(row)
			stored = true
			return err
		})
	return st, stored, err
}

func (t *tx) putState(st blockState) error {
	_, err := t.exec(`INSERT INTO block_states (block, message, rev, state, locked, call, running, logged)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?)
		ON CONFLICT (block) DO UPDATE SET rev = excluded.rev, state = excluded.state, locked = excluded.locked,
			call = excluded.call, running = excluded.running`,
		st.Block, st.Msg, st.Rev, []byte(st.State), st.Locked, st.Call, st.running, st.Logged)
	return err
}

// ReserveAction implements store.Actions.
func (s *Store) ReserveAction(ctx context.Context, r store.ActionReserve) (store.BlockState, error) {
	var st blockState
	err := s.write(ctx, func(t *tx) (err error) {
		st, err = t.reserve(r)
		return wrap("reserve action "+r.Call.ID, err)
	})
	if err != nil {
		return store.BlockState{}, err
	}
	return st.BlockState, nil
}

func (t *tx) reserve(r store.ActionReserve) (st blockState, err error) {
	c := r.Call
	if c.Key != "" {
		first, err := t.action("tenant = ? AND user = ? AND key = ? AND key <> ''", c.Owner.Tenant, c.Owner.User, c.Key)
		if err == nil {
			return st, &store.CallError{Call: first}
		}
		if !isNotFound(err) {
			return st, err
		}
	}
	err = t.scan("SELECT conversation FROM messages WHERE id = ? AND tenant = ? AND user = ?",
		[]any{c.Msg, c.Owner.Tenant, c.Owner.User}, &c.Conversation)
	if err != nil {
		return st, err
	}
	if r.Nonce != "" {
		n, err := t.exec("INSERT INTO action_nonces (nonce, until) VALUES (?, ?) ON CONFLICT DO NOTHING",
			r.Nonce, nanos(r.NonceUntil))
		if err != nil {
			return st, err
		}
		if n == 0 {
			return st, store.ErrTokenUsed
		}
	}
	if st, _, err = t.state(c); err != nil {
		return st, err
	}
	switch {
	case st.Msg != c.Msg:
		return st, fmt.Errorf("block %s is of another message: %w", c.Block, store.ErrConflict)
	case r.Rev != 0 && r.Rev != st.Rev, r.Exclusive && (st.Locked || st.Pending):
		return st, &store.StateError{State: st.BlockState}
	}
	_, err = t.exec(`INSERT INTO action_calls (id, tenant, user, key, fingerprint, conversation, message, block,
			action, name, payload, trace, lang, status, holder, lease, started)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		c.ID, c.Owner.Tenant, c.Owner.User, c.Key, c.Fingerprint, c.Conversation, c.Msg, c.Block,
		c.Action, c.Name, []byte(c.Payload), c.TraceID, c.Lang, store.CallRunning, c.Holder, nanos(c.LeaseUntil), nanos(c.StartedAt))
	if err != nil || !r.Exclusive {
		return st, err
	}
	st.State, st.Call, st.Pending, st.running = r.State, c.ID, true, c.ID
	st.Rev++
	return st, t.putState(st)
}

// RenewAction implements store.Actions.
func (s *Store) RenewAction(ctx context.Context, id, holder string, until time.Time) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("UPDATE action_calls SET lease = ? WHERE id = ? AND holder = ? AND status = 'running'",
			nanos(until), id, holder)
		if err == nil && n == 0 {
			err = store.ErrStaleLease
		}
		return wrap("renew action "+id, err)
	})
}

// FinishAction implements store.Actions.
func (s *Store) FinishAction(ctx context.Context, f store.ActionFinish) (store.ActionCall, store.BlockState, error) {
	var c store.ActionCall
	var st blockState
	err := s.write(ctx, func(t *tx) (err error) {
		c, st, err = t.finish(f)
		return wrap("finish action "+f.ID, err)
	})
	if err != nil {
		return store.ActionCall{}, store.BlockState{}, err
	}
	return c, st.BlockState, nil
}

func (t *tx) finish(f store.ActionFinish) (store.ActionCall, blockState, error) {
	if f.Status != store.CallDone && f.Status != store.CallUnknown {
		return store.ActionCall{}, blockState{}, fmt.Errorf("%q is no end", f.Status)
	}
	c, err := t.action("id = ? AND holder = ? AND status = 'running'", f.ID, f.Holder)
	if isNotFound(err) {
		err = store.ErrStaleLease
	}
	if err != nil {
		return c, blockState{}, err
	}
	st, acted, err := t.state(c)
	if err != nil {
		return c, st, err
	}
	if st.running == c.ID {
		st.Pending, st.running = false, ""
	}
	if f.State != nil {
		st.State, st.Locked, st.Call = f.State, f.Locked, c.ID
		st.Rev++
		acted = true
	}
	if acted {
		if err := t.putState(st); err != nil {
			return c, st, err
		}
	}
	c.Status, c.HTTPStatus, c.Report, c.FinishedAt = f.Status, f.HTTPStatus, f.Report, fromNanos(nanos(f.At))
	c.Answer = nil
	if f.Answer != nil {
		if c.Answer, err = f.Answer(st.BlockState); err != nil {
			return c, st, err
		}
	}
	_, err = t.exec("UPDATE action_calls SET status = ?, http = ?, answer = ?, finished = ?, report = ? WHERE id = ?",
		c.Status, c.HTTPStatus, c.Answer, nanos(c.FinishedAt), c.Report, c.ID)
	if err != nil {
		return c, st, err
	}
	entry := f.Audit
	if entry.RevAfter == 0 {
		entry.RevAfter = st.Rev
	}
	return c, st, t.audit(entry)
}

// TakeAction implements store.Actions.
func (s *Store) TakeAction(ctx context.Context, id, holder string, now, until time.Time) (store.ActionCall, error) {
	var c store.ActionCall
	err := s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE action_calls SET status = 'running', holder = ?, lease = ?
			WHERE id = ? AND (status = 'unknown' OR status = 'running' AND lease <= ?)`, holder, nanos(until), id, nanos(now))
		if err == nil && n == 0 {
			err = fmt.Errorf("it is not left alone: %w", store.ErrConflict)
		}
		if err == nil {
			c, err = t.action("id = ?", id)
		}
		return wrap("take action "+id, err)
	})
	if err != nil {
		return store.ActionCall{}, err
	}
	return c, nil
}

// ExpiredActions implements store.Actions.
func (s *Store) ExpiredActions(ctx context.Context, now time.Time) ([]store.ActionCall, error) {
	var list []store.ActionCall
	err := s.each(ctx, "SELECT "+actionColumns+" FROM action_calls WHERE status = 'running' AND lease <= ? ORDER BY lease, n",
		[]any{nanos(now)}, func(row scanner) error {
			c, err := scanAction(row)
			list = append(list, c)
			return err
		})
	return list, wrap("expired actions", err)
}

// UnknownActions implements store.Actions.
func (s *Store) UnknownActions(ctx context.Context, since time.Time, limit int) ([]store.ActionCall, error) {
	var list []store.ActionCall
	err := s.each(ctx, "SELECT "+actionColumns+` FROM action_calls
		WHERE status <> 'running' AND status = 'unknown' AND finished >= ? ORDER BY finished, n LIMIT ?`,
		[]any{nanos(since), max(limit, 0)}, func(row scanner) error {
			c, err := scanAction(row)
			list = append(list, c)
			return err
		})
	return list, wrap("actions of unknown outcome", err)
}

// UnloggedStates implements store.Actions.
func (s *Store) UnloggedStates(ctx context.Context, limit int) ([]store.BlockState, error) {
	list, err := s.statesWhere(ctx, "s.rev > s.logged AND s.running = '' ORDER BY s.n LIMIT ?", max(limit, 0))
	return list, wrap("unlogged states", err)
}

// MarkLogged implements store.Actions.
func (s *Store) MarkLogged(ctx context.Context, block string, rev int) error {
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec("UPDATE block_states SET logged = max(logged, ?) WHERE block = ?", rev, block)
		return wrap("mark the state of block "+block, err)
	})
}

// TakeReports implements store.Actions.
func (s *Store) TakeReports(ctx context.Context, o store.Owner, conversation string) ([]string, error) {
	const due = " conversation = ? AND tenant = ? AND user = ? AND status <> 'running' AND report <> ''"
	args := []any{conversation, o.Tenant, o.User}
	// Mostly there are none, which costs no commit.
	var n int
	err := s.scan(ctx, "SELECT 1 FROM action_calls WHERE"+due+" LIMIT 1", args, &n)
	if isNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, wrap("reports of conversation "+conversation, err)
	}
	var reports []string
	err = s.write(ctx, func(t *tx) error {
		reports = nil
		err := t.each("SELECT report FROM action_calls WHERE"+due+" ORDER BY finished, n", args, func(row scanner) error {
			var report string
			err := row.Scan(&report)
			reports = append(reports, report)
			return err
		})
		if err == nil {
			_, err = t.exec("UPDATE action_calls SET report = '' WHERE"+due, args...)
		}
		return wrap("reports of conversation "+conversation, err)
	})
	if err != nil {
		return nil, err
	}
	return reports, nil
}

// AppendAudit implements store.Actions.
func (s *Store) AppendAudit(ctx context.Context, e store.AuditEntry) error {
	return s.write(ctx, func(t *tx) error { return t.audit(e) })
}

func (t *tx) audit(e store.AuditEntry) error {
	e.At = e.At.UTC()
	b, err := json.Marshal(e)
	if err == nil {
		_, err = t.exec("INSERT INTO audit (id, at, tenant, user, conversation, name, entry) VALUES (?, ?, ?, ?, ?, ?, ?)",
			e.ID, nanos(e.At), e.Tenant, e.User, e.Conversation, e.Name, b)
	}
	return wrap("audit entry "+e.ID, err)
}

// Audit implements store.Actions.
func (s *Store) Audit(ctx context.Context, q store.AuditQuery) ([]store.AuditEntry, string, error) {
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	where, args := auditWhere(q)
	var list []store.AuditEntry
	err := s.each(ctx, "SELECT entry FROM audit WHERE "+where+" ORDER BY id LIMIT ?",
		append(args, limit+1), func(row scanner) error {
			var b []byte
			err := row.Scan(&b)
			var e store.AuditEntry
			if err == nil {
				err = json.Unmarshal(b, &e)
			}
			list = append(list, e)
			return err
		})
	if err != nil {
		return nil, "", wrap("read the audit log", err)
	}
	if len(list) > limit {
		return list[:limit], list[limit-1].ID, nil
	}
	return list, "", nil
}

// TrimActions implements store.Actions.
func (s *Store) TrimActions(ctx context.Context, before time.Time) error {
	limit := nanos(before)
	for more := true; more; {
		err := s.write(ctx, func(t *tx) error {
			n, err := t.exec(`DELETE FROM action_calls WHERE n IN (SELECT n FROM action_calls
				WHERE status <> 'running' AND finished < ? AND report = '' LIMIT ?)`, limit, trimStep)
			more = n == trimStep
			return wrap("forget calls of actions", err)
		})
		if err != nil {
			return err
		}
	}
	return s.write(ctx, func(t *tx) error {
		_, err := t.exec(`UPDATE action_calls SET key = '', payload = NULL, answer = NULL
			WHERE status <> 'running' AND finished < ? AND key <> ''`, limit)
		if err == nil {
			_, err = t.exec("DELETE FROM action_nonces WHERE until < ?", limit)
		}
		return wrap("forget keys of actions", err)
	})
}
