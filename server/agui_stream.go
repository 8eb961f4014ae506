package server

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/sse"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/agui"
)

// aguiNames are what a client calls what is in a thread.
type aguiNames struct {
	// said are its names of the user's messages, by ours; given those of its
	// results of calls, by the calls' ids on the wire.
	said, given map[string]string
	// runs are its names of runs, by message and group.
	runs map[string]map[int]string
}

func (s *server) aguiNames(ctx context.Context, t aguiThread) (aguiNames, error) {
	n := aguiNames{said: make(map[string]string), given: make(map[string]string), runs: make(map[string]map[int]string)}
	list, err := s.Store.Aliases(ctx, t.Owner, agui.Name, t.ID)
	if err != nil {
		return n, wrap("read names", err)
	}
	for _, a := range list {
		name, ours := strings.CutPrefix(a.Foreign, t.ID+"/")
		switch {
		case !ours:
		case a.Kind == store.AliasRun:
			if n.runs[a.ID] == nil {
				n.runs[a.ID] = make(map[int]string)
			}
			n.runs[a.ID][a.Group] = name
		case a.Kind == store.AliasMessage && isOwn("m", a.ID):
			n.said[a.ID] = name // the last one of several that became one message
		case a.Kind == store.AliasMessage:
			n.given[a.ID] = name
		}
	}
	return n, nil
}

// aguiView is the view of a run's client.
func (s *server) aguiView(r *http.Request, in agui.Input) (wire.View, error) {
	v := s.view(r, agui.Name)
	v.Version = cmp.Or(r.URL.Query().Get("version"), in.Version())
	if _, err := agui.New(v, wire.Run{}); err != nil {
		return v, invalid("The dialect has no such version.", map[string]any{"field": "version", "reason": err.Error()})
	}
	return v, nil
}

// aguiEncoder makes the encoder of a message for a run's client.
func aguiEncoder(v wire.View, in agui.Input, t aguiThread, n aguiNames, msg string, has bool) (*agui.Encoder, error) {
	enc, err := agui.New(v, wire.Run{Msg: msg, Conversation: t.ID, ThreadID: in.ThreadID, RunIDs: n.runs[msg]})
	if err != nil {
		return nil, err
	}
	for call, id := range n.given {
		enc.Given(call, id, has)
	}
	return enc, nil
}

// aguiWriter writes frames, and holds each against what clients accept.
type aguiWriter struct {
	out   *sse.Writer
	guard *agui.Guard
	log   *slog.Logger
	msg   string
}

func (s *server) aguiWriter(r *http.Request, out *sse.Writer, v wire.View, msg string) *aguiWriter {
	return &aguiWriter{out, agui.NewGuard(v.Version), s.log.With("msg", msg, "trace", callOf(r).trace), msg}
}

func (w *aguiWriter) append(write func([]byte) ([]byte, error)) error {
	return w.out.Append(func(dst []byte) ([]byte, error) {
		at := len(dst)
		dst, err := write(dst)
		if err == nil {
			w.check(dst[at:])
		}
		return dst, err
	})
}

var textFrame = []byte(`data: {"type":"TEXT_MESSAGE_CONTENT"`)

// check tells of the first frame that a client would refuse: a mistake in this
// program. Deltas of texts, which most frames are, are not looked into.
func (w *aguiWriter) check(frames []byte) {
	for frame := range bytes.SplitSeq(frames, []byte("\n\n")) {
		if w.guard == nil || !bytes.HasPrefix(frame, []byte("data: ")) || bytes.HasPrefix(frame, textFrame) {
			continue
		}
		data, _, _ := bytes.Cut(frame[len("data: "):], []byte("\n"))
		if err := w.guard.Check(data); err != nil {
			w.log.Error("unlawful frame of AG-UI", "err", err)
			w.guard = nil
		}
	}
}

// aguiBrief answers with a run in which nothing is written.
func (s *server) aguiBrief(w http.ResponseWriter, r *http.Request, in agui.Input, b agui.Brief) error {
	v, err := s.aguiView(r, in)
	if err != nil {
		return err
	}
	b.Version, b.ThreadID, b.RunID = v.Version, in.ThreadID, cmp.Or(in.RunID, "connect")
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	return ended(ctx, out, s.aguiWriter(r, out, v, "").append(b.Append))
}

// aguiActed answers an action of which nothing stands in the log.
func (s *server) aguiActed(w http.ResponseWriter, r *http.Request, in agui.Input, t aguiThread, b *begun) error {
	m, err := s.Store.Message(r.Context(), callOf(r).owner, b.msg)
	if err != nil {
		return wrap("read message", err)
	}
	v, err := s.aguiView(r, in)
	if err != nil {
		return err
	}
	n, err := s.aguiNames(r.Context(), t)
	if err != nil {
		return err
	}
	enc, err := s.aguiFed(r, v, in, t, n, m)
	if err != nil {
		return err
	}
	enc.Did(b.answer)
	w.Header().Set("X-Message-Id", b.msg)
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	return ended(ctx, out, s.aguiWriter(r, out, v, b.msg).append(func(dst []byte) ([]byte, error) { return enc.Acted(dst, in.RunID, b.block) }))
}

// aguiStream sends the groups that a run is.
func (s *server) aguiStream(w http.ResponseWriter, r *http.Request, in agui.Input, t aguiThread, b *begun) error {
	v, err := s.aguiView(r, in)
	if err != nil {
		return err
	}
	n, err := s.aguiNames(r.Context(), t)
	if err != nil {
		return err
	}
	if n.runs[b.msg] == nil {
		n.runs[b.msg] = make(map[int]string)
	}
	for g := b.from; g <= b.to; g++ {
		n.runs[b.msg][g] = in.RunID
	}
	for call, id := range b.given {
		n.given[call] = id
	}
	// What this client gave it has.
	enc, err := aguiEncoder(v, in, t, n, b.msg, true)
	if err != nil {
		return err
	}
	enc.Did(b.answer)
	if b.answer != nil && b.user != "" {
		m, err := s.Store.Message(r.Context(), callOf(r).owner, b.user)
		if err != nil {
			return wrap("read message", err)
		}
		enc.Said(cmp.Or(n.said[m.ID], m.ID), textOf(m))
	}
	h := w.Header()
	h.Set("X-Message-Id", b.msg)
	if b.user != "" {
		h.Set("X-User-Message-Id", b.user)
	}
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	to := s.aguiWriter(r, out, v, b.msg)
	var spare []byte
	for ev, err := range s.Store.Tail(ctx, b.msg, 0) {
		if err != nil {
			if err = ended(ctx, out, err); err == nil && ctx.Err() == nil {
				err = to.append(aborted(enc))
			}
			return ended(ctx, out, err)
		}
		switch {
		case ev.Type == event.Snapshot && b.from == 1:
			err = to.append(func(dst []byte) ([]byte, error) { return enc.Append(dst, ev) })
		case ev.Group < b.from || ev.Type == event.Snapshot:
			// Read for what the encoder has to remember.
			spare, err = enc.Append(spare[:0], ev)
		case ev.Group <= b.to:
			err = to.append(func(dst []byte) ([]byte, error) { return enc.Append(dst, ev) })
		}
		if err != nil || ev.Group > b.to || ev.Group == b.to && ev.Type.Terminal() {
			if err != nil {
				return ended(ctx, out, err)
			}
			break
		}
	}
	return ended(ctx, out, to.append(func(dst []byte) ([]byte, error) {
		dst, err := enc.End(dst)
		if err != nil {
			return dst, err
		}
		return aborted(enc)(dst)
	}))
}

// aborted ends a run whose message is gone, or whose server ends.
func aborted(enc *agui.Encoder) func([]byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) {
		return enc.Abort(dst, turn.CodeInterrupted, "The answer was not finished.")
	}
}

// aguiConnect answers a client that comes, or comes back: all messages of the
// thread at once, and then what is written now, to its end. Nothing is sent for a
// thread that has none.
func (s *server) aguiConnect(w http.ResponseWriter, r *http.Request, in agui.Input) error {
	c, ctx := callOf(r), r.Context()
	if err := s.limiter.room(c.owner); err != nil {
		return err
	}
	v, err := s.aguiView(r, in)
	if err != nil {
		return err
	}
	conv, err := s.thread(ctx, c.owner, agui.Name, in.ThreadID)
	t := aguiThread{Conversation: conv}
	if err == nil {
		t.path, err = s.Store.Path(ctx, c.owner, conv.ID, "")
	}
	switch {
	case errors.Is(err, store.ErrNotFound) && !isOwn("c", in.ThreadID):
	case err != nil:
		return wrap("read conversation", err)
	}
	n := aguiNames{}
	if len(t.path) > 0 {
		if n, err = s.aguiNames(ctx, t); err != nil {
			return err
		}
	}
	var history []agui.Message
	var state json.RawMessage
	for i, m := range t.path {
		if m.Role == store.RoleUser {
			history = append(history, aguiUser(m, n))
			continue
		}
		if i == len(t.path)-1 {
			break
		}
		enc, err := s.aguiFed(r, v, in, t, n, m)
		if err != nil {
			return err
		}
		history = append(history, enc.Held()...)
		if now := enc.State(); now != nil {
			state = now
		}
	}
	leaf := t.leaf()
	if leaf.ID != "" {
		w.Header().Set("X-Conversation-Id", t.ID)
	}
	if leaf.Role == store.RoleAssistant {
		w.Header().Set("X-Message-Id", leaf.ID)
	}
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	switch {
	case leaf.ID == "":
		return nil
	case leaf.Role == store.RoleUser:
		b := agui.Brief{Version: v.Version, ThreadID: in.ThreadID, RunID: cmp.Or(in.RunID, "connect"), Messages: history}
		return ended(ctx, out, s.aguiWriter(r, out, v, "").append(b.Append))
	}
	enc, err := aguiEncoder(v, in, t, n, leaf.ID, false)
	if err != nil {
		return err
	}
	return ended(ctx, out, s.aguiRejoin(ctx, r, s.aguiWriter(r, out, v, leaf.ID), enc, leaf, history, state))
}

// aguiRejoin writes a message for a client that comes back.
func (s *server) aguiRejoin(ctx context.Context, r *http.Request, to *aguiWriter, enc *agui.Encoder, m store.Message, history []agui.Message, state json.RawMessage) error {
	msg := m.ID
	last, open, err := s.Store.Last(ctx, msg)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return wrap("read log", err)
	}
	rejoin := func() error {
		now, err := s.current(r, m)
		if err != nil {
			return wrap("read states", err)
		}
		enc.Update(now.Blocks)
		return to.append(func(dst []byte) ([]byte, error) { return enc.Rejoin(dst, history, state) })
	}
	if last == 0 {
		if err := rejoin(); err != nil {
			return err
		}
	}
	var spare []byte
	for ev, err := range s.Store.Tail(ctx, msg, 0) {
		if err != nil {
			if ctx.Err() == nil && (errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrClosed)) {
				return to.append(aborted(enc))
			}
			return err
		}
		if ev.Seq > last {
			if err := to.append(func(dst []byte) ([]byte, error) { return enc.Append(dst, ev) }); err != nil {
				return err
			}
			continue
		}
		if spare, err = enc.Append(spare[:0], ev); err != nil {
			return err
		}
		if ev.Seq < last {
			continue
		}
		if err := rejoin(); err != nil {
			return err
		}
		if !open {
			return nil
		}
	}
	return to.append(aborted(enc))
}

// aguiFed is the encoder of an answer that has read all of its log.
func (s *server) aguiFed(r *http.Request, v wire.View, in agui.Input, t aguiThread, n aguiNames, m store.Message) (*agui.Encoder, error) {
	enc, err := aguiEncoder(v, in, t, n, m.ID, false)
	if err != nil {
		return nil, err
	}
	var spare []byte
	for ev, err := range s.Store.Read(r.Context(), m.ID, 0) {
		if errors.Is(err, store.ErrNotFound) {
			break // it has no log
		}
		if err != nil {
			return nil, wrap("read log", err)
		}
		if spare, err = enc.Append(spare[:0], ev); err != nil {
			return nil, err
		}
	}
	if m, err = s.current(r, m); err != nil {
		return nil, wrap("read states", err)
	}
	enc.Update(m.Blocks)
	return enc, nil
}

// aguiUser is a user's message as the client has it.
func aguiUser(m store.Message, n aguiNames) agui.Message {
	out := agui.Message{ID: cmp.Or(n.said[m.ID], m.ID), Role: agui.RoleUser}
	var parts []any
	for _, b := range m.Blocks {
		var f struct{ AssetID, Name, Mime string }
		if b.Type == "text" || json.Unmarshal(b.Payload, &f) != nil || f.AssetID == "" {
			continue
		}
		typ := agui.PartDocument
		if b.Type == "image" {
			typ = agui.PartImage
		}
		for _, kind := range []string{agui.PartImage, agui.PartAudio, agui.PartVideo} {
			if strings.HasPrefix(f.Mime, kind+"/") {
				typ = kind
			}
		}
		source := map[string]string{"type": agui.SourceURL, "value": "/v1/assets/" + f.AssetID + "/content"}
		if f.Mime != "" {
			source["mimeType"] = f.Mime
		}
		part := map[string]any{"type": typ, "source": source}
		if f.Name != "" {
			part["metadata"] = map[string]string{"filename": f.Name}
		}
		parts = append(parts, part)
	}
	text := textOf(m)
	if parts == nil {
		out.Content = text
		return out
	}
	if text != "" {
		parts = append([]any{map[string]string{"type": agui.PartText, "text": text}}, parts...)
	}
	out.Content = parts
	return out
}
