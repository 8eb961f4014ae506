package store

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
)

// Current returns a message of o's with what is known beyond its record: the
// record is written when a turn or follow-up ends, the log is ahead of it, and
// the states of blocks that were acted on are ahead of the log.
func Current(ctx context.Context, s Store, m Message) (Message, error) {
	if m.Role != RoleAssistant {
		return m, nil
	}
	last, _, err := s.Last(ctx, m.ID)
	switch {
	case errors.Is(err, ErrNotFound), err == nil && last <= m.Seq:
	case err != nil:
		return m, fmt.Errorf("read log: %w", err)
	default:
		st, err := event.Fold(s.Read(ctx, m.ID, 0))
		if err != nil {
			return m, fmt.Errorf("read log: %w", err)
		}
		if st.Seq > m.Seq {
			m = folded(m, st)
		}
	}
	// Only blocks that can be acted on have a state of their own.
	if !slices.ContainsFunc(m.Blocks, func(b block.Block) bool {
		return len(b.Actions) > 0 || b.Rev > 1 || b.Type == "confirm" || b.Type == "question"
	}) {
		return m, nil
	}
	states, err := s.BlockStates(ctx, m.Owner, m.ID)
	if err != nil {
		return m, fmt.Errorf("read states: %w", err)
	}
	m.Blocks = slices.Clone(m.Blocks)
	for _, st := range states {
		i := slices.IndexFunc(m.Blocks, func(b block.Block) bool { return b.ID == st.Block })
		if i >= 0 && st.Rev > m.Blocks[i].Rev {
			m.Blocks[i].Rev, m.Blocks[i].State = st.Rev, st.State
		}
	}
	return m, nil
}

func folded(m Message, st event.State) Message {
	m.Reasoning, m.Tools = st.Reasoning, st.Tools
	m.Seq, m.Blocks, m.Status = st.Seq, st.Blocks, st.Status
	m.FinishReason, m.Usage, m.Err = st.FinishReason, st.Usage, st.Err
	if st.Start.Model != nil {
		m.Model = st.Start.Model
	}
	return m
}
