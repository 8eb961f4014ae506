package server

import (
	"encoding/json"
	"net/http"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/turn"
)

// typeBody is a block type as /v1/blocks lists it.
type typeBody struct {
	Type        string          `json:"type"`
	Version     int             `json:"version"`
	Class       block.Class     `json:"class"`
	Schema      json.RawMessage `json:"schema"`
	Description string          `json:"description"`
}

func (s *server) getBlocks(w http.ResponseWriter, _ *http.Request) error {
	types := s.Registry.Types()
	body := struct {
		Blocks []typeBody `json:"blocks"`
	}{make([]typeBody, len(types))}
	for i, t := range types {
		body.Blocks[i] = typeBody{t.Name, t.Version, t.Class, t.Schema, t.Description}
	}
	return writeJSON(w, http.StatusOK, body)
}

func (s *server) postBlockRetry(w http.ResponseWriter, r *http.Request) error {
	return s.rerun(w, r, false)
}

func (s *server) postBlockRefresh(w http.ResponseWriter, r *http.Request) error {
	return s.rerun(w, r, true)
}

// rerun runs the tool of one block again and answers with the events of it.
func (s *server) rerun(w http.ResponseWriter, r *http.Request, refresh bool) error {
	c := callOf(r)
	if err := s.limiter.room(c.owner); err != nil {
		return err
	}
	st, err := s.Runner.Rerun(r.Context(), turn.BlockRequest{
		Owner: c.owner, Caller: c.caller, Block: r.PathValue("blockId"), Refresh: refresh,
	})
	if err != nil {
		return wrap("run block again", err)
	}
	return s.started(w, r, st)
}
