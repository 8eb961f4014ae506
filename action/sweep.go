package action

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
)

// sweepStates is how many states one sweep brings to the log, sweepUnknown how
// many calls of unknown outcome are taken over from processes of before.
const (
	sweepStates  = 200
	sweepUnknown = 1000
)

// Sweep finds out about calls that a crash cut off, asks again about those of
// unknown outcome, and writes states to the log that are not there yet. It is
// called at start and every few seconds.
func (g *Gateway) Sweep(ctx context.Context) error {
	if !g.enter() {
		return nil
	}
	defer g.wg.Done()
	var errs []error
	calls, err := g.cfg.Store.ExpiredActions(ctx, g.cfg.Now())
	if err != nil {
		errs = append(errs, fmt.Errorf("list unfinished actions: %w", err))
	}
	for _, call := range calls {
		errs = append(errs, g.sweepCall(ctx, call.ID, false))
	}
	if err := g.adopt(ctx); err != nil {
		errs = append(errs, err)
	}
	for _, id := range g.due() {
		errs = append(errs, g.sweepCall(ctx, id, true))
	}
	states, err := g.cfg.Store.UnloggedStates(ctx, sweepStates)
	if err != nil {
		errs = append(errs, fmt.Errorf("list states: %w", err))
	}
	type place struct {
		owner store.Owner
		msg   string
	}
	var places []place
	for _, st := range states {
		if p := (place{st.Owner, st.Msg}); !slices.Contains(places, p) {
			places = append(places, p)
		}
	}
	for _, p := range places {
		_, err := g.cfg.Turns.Follow(ctx, turn.FollowRequest{Owner: p.owner, Msg: p.msg, Cause: "states"}, func(ctx context.Context, f *turn.Follow) error {
			g.writeStates(ctx, f, p.owner, p.msg)
			return nil
		})
		// A message that something writes to has its turn later.
		if err != nil && codeOf(err) != turn.CodeTurnRunning && codeOf(err) != turn.CodeNotFound {
			errs = append(errs, fmt.Errorf("write states of %s: %w", p.msg, err))
		}
	}
	return errors.Join(errs...)
}

func (g *Gateway) sweepCall(ctx context.Context, id string, wasUnknown bool) error {
	call, err := g.take(ctx, id)
	if errors.Is(err, store.ErrConflict) {
		g.mu.Lock()
		delete(g.unknown, id)
		g.mu.Unlock()
		return nil // somebody else has it
	}
	if err != nil {
		return fmt.Errorf("take over action %s: %w", id, err)
	}
	if _, _, err := g.settle(ctx, call, wasUnknown); err != nil && codeOf(err) != CodeRunning {
		return fmt.Errorf("settle action %s: %w", id, err)
	}
	return nil
}

// adopt keeps in mind, at start and then rarely, the calls of unknown outcome
// that a process which is gone had in mind.
func (g *Gateway) adopt(ctx context.Context) error {
	now := g.cfg.Now()
	g.mu.Lock()
	due := g.adopted.IsZero() || now.Sub(g.adopted) >= doubtMost
	g.mu.Unlock()
	if !due {
		return nil
	}
	calls, err := g.cfg.Store.UnknownActions(ctx, now.Add(-g.cfg.Limits.Keep), sweepUnknown)
	if err != nil {
		return fmt.Errorf("list actions of unknown outcome: %w", err)
	}
	g.mu.Lock()
	g.adopted = now
	g.mu.Unlock()
	for _, call := range calls {
		g.mu.Lock()
		_, known := g.unknown[call.ID]
		g.mu.Unlock()
		if !known {
			reg, _ := g.cfg.Actions.named(call.Name)
			g.remember(call, reg)
		}
	}
	return nil
}

// due lists the calls that are asked about again now.
func (g *Gateway) due() []string {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.cfg.Now()
	var ids []string
	for id, d := range g.unknown {
		if !now.Before(d.next) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Trim forgets calls and their keys after their time.
func (g *Gateway) Trim(ctx context.Context) error {
	if err := g.cfg.Store.TrimActions(ctx, g.cfg.Now().Add(-g.cfg.Limits.Keep)); err != nil {
		return fmt.Errorf("forget old actions: %w", err)
	}
	return nil
}
