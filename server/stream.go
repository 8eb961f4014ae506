package server

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"strconv"

	"github.com/inlay-ui/inlay/internal/sse"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/native"
)

// view is what the reader of a request may see, in a dialect.
func (s *server) view(r *http.Request, dialect string) wire.View {
	return wire.View{
		Dialect: dialect, Caps: s.caps(r), Registry: s.Registry, Locale: callOf(r).lang, Tools: true, Reasoning: true,
	}
}

// encoder makes the encoder of a message's reader.
func (s *server) encoder(r *http.Request, msg, conversation string) (*native.Encoder, error) {
	return native.New(s.view(r, native.Name), wire.Run{Msg: msg, Conversation: conversation})
}

// reader makes the encoder that a stream is written by.
func (s *server) reader(r *http.Request, at *reading) (wire.Encoder, error) {
	name := cmp.Or(callOf(r).dialect, native.Name)
	view := s.view(r, name)
	view.Version = r.URL.Query().Get("version")
	if err := variant(r, &view); err != nil {
		return nil, err
	}
	enc, err := dialects[name](view, wire.Run{Msg: at.msg, Conversation: at.conversation})
	if err != nil {
		return nil, invalid("The dialect has no such version.", map[string]any{"field": "version", "reason": err.Error()})
	}
	return enc, nil
}

// started answers with the stream of what a request began.
func (s *server) started(w http.ResponseWriter, r *http.Request, st turn.Started) error {
	at := &reading{msg: st.Msg, conversation: st.Conversation, after: st.After}
	at.name(w.Header())
	if st.User != "" {
		w.Header().Set("X-User-Message-Id", st.User)
	}
	return s.stream(w, r, at)
}

// stream sends a message's events after a seq, until nothing is being written
// to it any more.
func (s *server) stream(w http.ResponseWriter, r *http.Request, at *reading) error {
	enc, err := s.reader(r, at)
	if err != nil {
		return err
	}
	if h, ok := enc.(wire.Headerer); ok {
		name, value := h.Header()
		w.Header().Set(name, value)
	}
	out, ctx, end, err := s.open(w, r)
	if err != nil {
		return err
	}
	defer end()
	if r.Method == http.MethodHead {
		return nil
	}
	from, had := at.after, at.after
	if !enc.Stateless() {
		from = 0
	}
	if whole, ok := enc.(wire.WholeReplayer); ok && whole.WholeReplay() && !at.rest && !at.follow {
		had = 0
	}
	follow := func() error { return nil }
	if f, ok := enc.(wire.Follower); ok && at.follow {
		follow = func() error {
			follow = func() error { return nil }
			return out.Append(f.Follow)
		}
	}
	var spare []byte
	begin := func(dst []byte) ([]byte, error) { return enc.Begin(dst, nil) }
	if had > 0 {
		if spare, err = begin(spare); err != nil {
			return err
		}
	} else if err := out.Append(begin); err != nil {
		return ended(ctx, out, err)
	}
	for ev, err := range s.Store.Tail(ctx, at.msg, from) {
		if err != nil {
			return ended(ctx, out, err)
		}
		if ev.Seq <= had {
			// Read again only for what the encoder has to remember.
			if spare, err = enc.Append(spare[:0], ev); err != nil {
				return err
			}
			continue
		}
		if err := follow(); err != nil {
			return ended(ctx, out, err)
		}
		if err := out.Append(func(dst []byte) ([]byte, error) { return enc.Append(dst, ev) }); err != nil {
			return ended(ctx, out, err)
		}
	}
	if err := follow(); err != nil {
		return ended(ctx, out, err)
	}
	if at.acted != nil {
		if err := out.Append(func(dst []byte) ([]byte, error) { return s.updated(ctx, dst, enc, *at.acted, at.again) }); err != nil {
			return ended(ctx, out, err)
		}
	}
	return ended(ctx, out, out.Append(enc.End))
}

// updated writes the blocks of a message that are ahead of its log.
func (s *server) updated(ctx context.Context, dst []byte, enc wire.Encoder, m store.Message, again string) ([]byte, error) {
	u, ok := enc.(wire.Updater)
	if !ok {
		return dst, nil
	}
	m, err := store.Current(ctx, s.Store, m)
	if err != nil {
		return dst, err
	}
	for _, b := range m.Blocks {
		if dst, err = u.Update(dst, b, b.ID == again); err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// open takes a place among the user's streams and starts one. ctx ends when
// the reader is gone; end must be called.
func (s *server) open(w http.ResponseWriter, r *http.Request) (out *sse.Writer, ctx context.Context, end func(), err error) {
	release, err := s.limiter.stream(callOf(r).owner)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel := context.WithCancel(r.Context())
	out, err = sse.Start(w, sse.Options{Heartbeat: s.Heartbeat, WriteTimeout: s.WriteTimeout, Cut: cancel})
	if err != nil {
		cancel()
		release()
		return nil, nil, nil, err
	}
	return out, ctx, func() {
		_, _ = out.Close() // a reader that was cut off comes back by itself
		cancel()
		release()
	}, nil
}

// ended tells the end of a reader, which is no failure, from one of the store.
func ended(ctx context.Context, out *sse.Writer, err error) error {
	if err == nil || ctx.Err() != nil || out.Err() != nil {
		return nil
	}
	if errors.Is(err, store.ErrNotFound) || errors.Is(err, store.ErrClosed) {
		return nil // deleted meanwhile, or the server ends
	}
	return err
}

// cursor returns the number that a reader wants to go on after: the header of
// a reconnecting EventSource, or the parameter.
func cursor(r *http.Request) (uint64, error) {
	for _, c := range []struct{ name, value string }{
		{"Last-Event-ID", r.Header.Get("Last-Event-ID")},
		{"after", r.URL.Query().Get("after")},
	} {
		if c.value == "" {
			continue
		}
		n, err := strconv.ParseUint(c.value, 10, 63)
		if err != nil {
			return 0, invalid(c.name+" must be the number of an event.", map[string]any{"field": c.name})
		}
		return n, nil
	}
	return 0, nil
}
