package server

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/cards"
)

// getCards answers with a message as it stands, in one packet of card messages.
// The header says after which event the packets that follow it begin: packets
// have numbers of their own, of which the log knows nothing.
func (s *server) getCards(w http.ResponseWriter, r *http.Request) error {
	m, err := s.owned(r)
	if err != nil {
		return err
	}
	enc, err := cards.New(s.view(r, cards.Name), wire.Run{Msg: m.ID, Conversation: m.Conversation})
	if err != nil {
		return fmt.Errorf("card messages: %w", err)
	}
	seq, err := s.catchUp(r, m, enc)
	if err != nil {
		return err
	}
	packet, err := enc.Full()
	if err != nil {
		return err
	}
	(&reading{msg: m.ID, conversation: m.Conversation}).name(w.Header())
	w.Header().Set("X-Last-Event-Id", strconv.FormatUint(seq, 10))
	return writeRaw(w, http.StatusOK, append(packet, '\n'))
}

// catchUp feeds an encoder what its message's log holds, or the record of a
// message that has none, and returns the last event's number.
func (s *server) catchUp(r *http.Request, m store.Message, enc wire.Encoder) (seq uint64, err error) {
	var spare []byte // a reader who begins here is not sent what was before
	for ev, err := range s.Store.Read(r.Context(), m.ID, 0) {
		if errors.Is(err, store.ErrNotFound) && seq == 0 {
			snap := store.Snapshot(m)
			_, err := enc.Begin(spare, &snap)
			return m.Seq, err
		}
		if err != nil {
			return 0, wrap("read log", err)
		}
		if spare, err = enc.Append(spare[:0], ev); err != nil {
			return 0, err
		}
		seq = ev.Seq
	}
	return seq, nil
}
