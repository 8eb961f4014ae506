package sqlite

import (
	"context"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// mend brings the records in line with the log after the process died between
// a turn's terminal event and its record: such a message still says that it
// runs, though no group of it is open. Messages whose group is open are left
// to Unfinished.
func (s *Store) mend(ctx context.Context) error {
	var stale []store.Message
	err := s.each(ctx, `SELECT `+messageColumns+` FROM messages WHERE status = 'running'
		AND NOT EXISTS (SELECT 1 FROM logs WHERE logs.msg = messages.id AND logs.open = 1)`, nil,
		func(row scanner) error {
			m, err := scanMessage(row)
			stale = append(stale, m)
			return err
		})
	if err != nil {
		return wrap("mend", err)
	}
	for _, m := range stale {
		state, err := event.Fold(s.Read(ctx, m.ID, 0))
		if err != nil && !isNotFound(err) {
			return wrap("mend message "+m.ID, err)
		}
		m.Blocks, m.Seq, m.Status = state.Blocks, state.Seq, state.Status
		m.FinishReason, m.Usage, m.Err = state.FinishReason, state.Usage, state.Err
		if m.Status == event.StatusRunning || m.Status == "" {
			m.Status = event.StatusError
			m.Err = &event.ErrorData{Code: "turn_interrupted", Message: "The turn was interrupted.", Retryable: true}
		}
		if err := s.PutMessage(ctx, m); err != nil {
			return err
		}
		s.opt.Logger.Info("message record rebuilt from its log", "msg", m.ID, "seq", m.Seq, "status", string(m.Status))
	}
	return nil
}
