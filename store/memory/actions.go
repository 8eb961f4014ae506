package memory

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/store"
)

// actions are what people did.
type actions struct {
	actionCalls map[string]*actionCall
	actionKeys  map[key]string // ids of calls
	nonces      map[string]time.Time
	states      map[string]*blockState
	audit       []store.AuditEntry // by id
}

// actionCall carries its place in the order of creation.
type actionCall struct {
	store.ActionCall
	n int64
}

// blockState names the exclusive call that runs; empty when none does.
type blockState struct {
	store.BlockState
	holder string
	n      int64
}

// stateOf returns the state of a block, which is a new one when nobody acted
// on the block yet.
func (s *Store) stateOf(c store.ActionCall) blockState {
	if st := s.states[c.Block]; st != nil {
		return *st
	}
	s.order++
	return blockState{BlockState: store.BlockState{Block: c.Block, Msg: c.Msg, Owner: c.Owner, Rev: 1, Logged: 1}, n: s.order}
}

// ActionCall implements store.Actions.
func (s *Store) ActionCall(ctx context.Context, o store.Owner, k string) (store.ActionCall, error) {
	if err := s.lock(ctx); err != nil {
		return store.ActionCall{}, err
	}
	defer s.mu.Unlock()
	if c := s.actionCalls[s.actionKeys[key{o, k}]]; c != nil {
		return c.ActionCall, nil
	}
	return store.ActionCall{}, notFound("call of key", k)
}

// BlockState implements store.Actions.
func (s *Store) BlockState(ctx context.Context, o store.Owner, block string) (store.BlockState, error) {
	if err := s.lock(ctx); err != nil {
		return store.BlockState{}, err
	}
	defer s.mu.Unlock()
	if st := s.states[block]; st != nil && st.Owner == o {
		return st.BlockState, nil
	}
	return store.BlockState{}, notFound("state of block", block)
}

// BlockStates implements store.Actions.
func (s *Store) BlockStates(ctx context.Context, o store.Owner, msg string) ([]store.BlockState, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if _, err := s.messageOf(o, msg); err != nil {
		return nil, err
	}
	return s.statesWhere(func(st *blockState) bool { return st.Msg == msg }), nil
}

// statesWhere returns the states that match, in the order of their creation.
func (s *Store) statesWhere(match func(*blockState) bool) []store.BlockState {
	var found []*blockState
	for _, st := range s.states {
		if match(st) {
			found = append(found, st)
		}
	}
	slices.SortFunc(found, func(a, b *blockState) int { return cmp.Compare(a.n, b.n) })
	var list []store.BlockState
	for _, st := range found {
		list = append(list, st.BlockState)
	}
	return list
}

// ReserveAction implements store.Actions.
func (s *Store) ReserveAction(ctx context.Context, r store.ActionReserve) (store.BlockState, error) {
	if err := s.lock(ctx); err != nil {
		return store.BlockState{}, err
	}
	defer s.mu.Unlock()
	refuse := func(err error) (store.BlockState, error) {
		return store.BlockState{}, fmt.Errorf("memory: reserve action %s: %w", r.Call.ID, err)
	}
	c := r.Call
	k := key{c.Owner, c.Key}
	if first := s.actionCalls[s.actionKeys[k]]; first != nil {
		return refuse(&store.CallError{Call: first.ActionCall})
	}
	m, err := s.messageOf(c.Owner, c.Msg)
	if err != nil {
		return store.BlockState{}, err
	}
	if s.actionCalls[c.ID] != nil {
		return refuse(fmt.Errorf("its id exists: %w", store.ErrConflict))
	}
	if _, used := s.nonces[r.Nonce]; used {
		return refuse(store.ErrTokenUsed)
	}
	st := s.stateOf(c)
	switch {
	case st.Msg != c.Msg:
		return refuse(fmt.Errorf("block %s is of another message: %w", c.Block, store.ErrConflict))
	case r.Rev != 0 && r.Rev != st.Rev, r.Exclusive && (st.Locked || st.Pending):
		return refuse(&store.StateError{State: st.BlockState})
	}
	c.Conversation, c.Status = m.Conversation, store.CallRunning
	c.HTTPStatus, c.Answer, c.Report, c.FinishedAt = 0, nil, "", time.Time{}
	c.StartedAt, c.LeaseUntil = c.StartedAt.UTC(), c.LeaseUntil.UTC()
	s.order++
	s.actionCalls[c.ID] = &actionCall{c, s.order}
	if c.Key != "" {
		s.actionKeys[k] = c.ID
	}
	if r.Nonce != "" {
		s.nonces[r.Nonce] = r.NonceUntil
	}
	if r.Exclusive {
		st.State, st.Call, st.Pending, st.holder = r.State, c.ID, true, c.ID
		st.Rev++
		s.states[c.Block] = &st
	}
	return st.BlockState, nil
}

// held returns a call that runs under a holder.
func (s *Store) held(id, holder string) (*actionCall, error) {
	if c := s.actionCalls[id]; c != nil && c.Status == store.CallRunning && c.Holder == holder {
		return c, nil
	}
	return nil, fmt.Errorf("memory: the lease of %s on action %s: %w", holder, id, store.ErrStaleLease)
}

// RenewAction implements store.Actions.
func (s *Store) RenewAction(ctx context.Context, id, holder string, until time.Time) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	c, err := s.held(id, holder)
	if err != nil {
		return err
	}
	c.LeaseUntil = until.UTC()
	return nil
}

// FinishAction implements store.Actions.
func (s *Store) FinishAction(ctx context.Context, f store.ActionFinish) (store.ActionCall, store.BlockState, error) {
	if err := s.lock(ctx); err != nil {
		return store.ActionCall{}, store.BlockState{}, err
	}
	defer s.mu.Unlock()
	refuse := func(err error) (store.ActionCall, store.BlockState, error) {
		return store.ActionCall{}, store.BlockState{}, fmt.Errorf("memory: finish action %s: %w", f.ID, err)
	}
	if f.Status != store.CallDone && f.Status != store.CallUnknown {
		return refuse(fmt.Errorf("%q is no end", f.Status))
	}
	held, err := s.held(f.ID, f.Holder)
	if err != nil {
		return store.ActionCall{}, store.BlockState{}, err
	}
	c := held.ActionCall
	st := s.stateOf(c)
	acted := s.states[c.Block] != nil
	if st.holder == c.ID {
		st.Pending, st.holder = false, ""
	}
	if f.State != nil {
		st.State, st.Locked, st.Call = f.State, f.Locked, c.ID
		st.Rev++
		acted = true
	}
	c.Status, c.HTTPStatus, c.Report, c.FinishedAt = f.Status, f.HTTPStatus, f.Report, f.At.UTC()
	c.Answer = nil
	if f.Answer != nil {
		if c.Answer, err = f.Answer(st.BlockState); err != nil {
			return refuse(err)
		}
	}
	entry := f.Audit
	if entry.RevAfter == 0 {
		entry.RevAfter = st.Rev
	}
	if err := s.appendAudit(entry); err != nil {
		return refuse(err)
	}
	held.ActionCall = c
	if acted {
		s.states[c.Block] = &st
	}
	return c, st.BlockState, nil
}

// TakeAction implements store.Actions.
func (s *Store) TakeAction(ctx context.Context, id, holder string, now, until time.Time) (store.ActionCall, error) {
	if err := s.lock(ctx); err != nil {
		return store.ActionCall{}, err
	}
	defer s.mu.Unlock()
	c := s.actionCalls[id]
	if c == nil || c.Status != store.CallUnknown && !c.expired(now) {
		return store.ActionCall{}, fmt.Errorf("memory: take action %s: it is not left alone: %w", id, store.ErrConflict)
	}
	c.Status, c.Holder, c.LeaseUntil = store.CallRunning, holder, until.UTC()
	return c.ActionCall, nil
}

func (c *actionCall) expired(now time.Time) bool {
	return c.Status == store.CallRunning && !now.Before(c.LeaseUntil)
}

// callsWhere returns the calls that match, in the order that compare says.
func (s *Store) callsWhere(match func(*actionCall) bool, compare func(a, b *actionCall) int) []*actionCall {
	var found []*actionCall
	for _, c := range s.actionCalls {
		if match(c) {
			found = append(found, c)
		}
	}
	slices.SortFunc(found, compare)
	return found
}

// ExpiredActions implements store.Actions.
func (s *Store) ExpiredActions(ctx context.Context, now time.Time) ([]store.ActionCall, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.ActionCall
	for _, c := range s.callsWhere(
		func(c *actionCall) bool { return c.expired(now) },
		func(a, b *actionCall) int { return cmp.Or(a.LeaseUntil.Compare(b.LeaseUntil), cmp.Compare(a.n, b.n)) },
	) {
		list = append(list, c.ActionCall)
	}
	return list, nil
}

// UnknownActions implements store.Actions.
func (s *Store) UnknownActions(ctx context.Context, since time.Time, limit int) ([]store.ActionCall, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var list []store.ActionCall
	for _, c := range s.callsWhere(
		func(c *actionCall) bool { return c.Status == store.CallUnknown && !c.FinishedAt.Before(since) },
		func(a, b *actionCall) int { return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(a.n, b.n)) },
	) {
		list = append(list, c.ActionCall)
	}
	return list[:min(len(list), max(limit, 0))], nil
}

// UnloggedStates implements store.Actions.
func (s *Store) UnloggedStates(ctx context.Context, limit int) ([]store.BlockState, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	list := s.statesWhere(func(st *blockState) bool { return st.Rev > st.Logged && !st.Pending })
	return list[:min(len(list), max(limit, 0))], nil
}

// MarkLogged implements store.Actions.
func (s *Store) MarkLogged(ctx context.Context, block string, rev int) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if st := s.states[block]; st != nil {
		st.Logged = max(st.Logged, rev)
	}
	return nil
}

// TakeReports implements store.Actions.
func (s *Store) TakeReports(ctx context.Context, o store.Owner, conversation string) ([]string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var reports []string
	for _, c := range s.callsWhere(
		func(c *actionCall) bool {
			return c.Owner == o && c.Conversation == conversation && c.Status != store.CallRunning && c.Report != ""
		},
		func(a, b *actionCall) int { return cmp.Or(a.FinishedAt.Compare(b.FinishedAt), cmp.Compare(a.n, b.n)) },
	) {
		reports = append(reports, c.Report)
		c.Report = ""
	}
	return reports, nil
}

// AppendAudit implements store.Actions.
func (s *Store) AppendAudit(ctx context.Context, e store.AuditEntry) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	return s.appendAudit(e)
}

func compareEntry(e store.AuditEntry, id string) int { return strings.Compare(e.ID, id) }

func (s *Store) appendAudit(e store.AuditEntry) error {
	i, known := slices.BinarySearchFunc(s.audit, e.ID, compareEntry)
	if known {
		return fmt.Errorf("memory: audit entry %s exists: %w", e.ID, store.ErrConflict)
	}
	e.At = e.At.UTC()
	s.audit = slices.Insert(s.audit, i, e)
	return nil
}

// Audit implements store.Actions.
func (s *Store) Audit(ctx context.Context, q store.AuditQuery) ([]store.AuditEntry, string, error) {
	if err := s.lock(ctx); err != nil {
		return nil, "", err
	}
	defer s.mu.Unlock()
	limit := q.Limit
	if limit <= 0 {
		limit = 100
	}
	limit = min(limit, 1000)
	from, known := slices.BinarySearchFunc(s.audit, q.Cursor, compareEntry)
	if known {
		from++
	}
	is := func(want, have string) bool { return want == "" || want == have }
	var list []store.AuditEntry
	for _, e := range s.audit[from:] {
		switch {
		case !is(q.Owner.Tenant, e.Tenant), !is(q.Owner.User, e.User), !is(q.Conversation, e.Conversation), !is(q.Name, e.Name):
		case e.At.Before(q.Since), !q.Until.IsZero() && !e.At.Before(q.Until):
		case len(list) == limit:
			return list, list[limit-1].ID, nil
		default:
			list = append(list, e)
		}
	}
	return list, "", nil
}

// TrimActions implements store.Actions.
func (s *Store) TrimActions(ctx context.Context, before time.Time) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	for id, c := range s.actionCalls {
		if c.Status == store.CallRunning || !c.FinishedAt.Before(before) {
			continue
		}
		delete(s.actionKeys, key{c.Owner, c.Key})
		if c.Report == "" {
			delete(s.actionCalls, id)
		}
		c.Key, c.Payload, c.Answer = "", nil, nil
	}
	for nonce, until := range s.nonces {
		if until.Before(before) {
			delete(s.nonces, nonce)
		}
	}
	return nil
}

// dropActions forgets what people did in a conversation whose messages are
// gone.
func (s *Store) dropActions(conversation string) {
	for id, c := range s.actionCalls {
		if c.Conversation == conversation {
			delete(s.actionKeys, key{c.Owner, c.Key})
			delete(s.actionCalls, id)
		}
	}
	for block, st := range s.states {
		if s.messages[st.Msg] == nil {
			delete(s.states, block)
		}
	}
}
