package sqlite

import (
	"context"
	"iter"
	"sync"

	"github.com/inlay-ui/inlay/store"
)

// signals holds the words to running turns. They need no storage: the turn
// they are for runs in this process or not at all.
type signals struct {
	mu    sync.Mutex
	boxes map[string]*signalBox
}

// signalBox is one message's: what nobody has seen yet, and who waits.
type signalBox struct {
	unseen   []store.Signal
	watchers int
	wake     chan struct{}
}

func (g *signals) box(msg string) *signalBox {
	b := g.boxes[msg]
	if b == nil {
		b = &signalBox{wake: make(chan struct{}, 1)}
		g.boxes[msg] = b
	}
	return b
}

func (g *signals) send(msg string, sig store.Signal) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.box(msg)
	b.unseen = append(b.unseen, sig)
	select {
	case b.wake <- struct{}{}:
	default:
	}
}

// clear forgets what was meant for a group that is over.
func (g *signals) clear(msg string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if b := g.boxes[msg]; b != nil {
		b.unseen = nil
		if b.watchers == 0 {
			delete(g.boxes, msg)
		}
	}
}

func (g *signals) join(msg string) *signalBox {
	g.mu.Lock()
	defer g.mu.Unlock()
	b := g.box(msg)
	b.watchers++
	return b
}

func (g *signals) leave(msg string, b *signalBox) {
	g.mu.Lock()
	defer g.mu.Unlock()
	b.watchers--
	if b.watchers == 0 && len(b.unseen) == 0 {
		delete(g.boxes, msg)
	}
}

func (g *signals) next(b *signalBox) (store.Signal, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(b.unseen) == 0 {
		return store.Signal{}, false
	}
	sig := b.unseen[0]
	b.unseen = b.unseen[1:]
	if len(b.unseen) > 0 {
		// Another watcher may be waiting for the rest.
		select {
		case b.wake <- struct{}{}:
		default:
		}
	}
	return sig, true
}

// Send implements store.Signals.
func (s *Store) Send(ctx context.Context, msg string, sig store.Signal) error {
	_, open, err := s.Last(ctx, msg)
	if err != nil || !open {
		return err
	}
	s.signals.send(msg, sig)
	return nil
}

// Watch implements store.Signals.
func (s *Store) Watch(ctx context.Context, msg string) iter.Seq2[store.Signal, error] {
	return func(yield func(store.Signal, error) bool) {
		b := s.signals.join(msg)
		defer s.signals.leave(msg, b)
		for {
			for {
				sig, ok := s.signals.next(b)
				if !ok {
					break
				}
				if !yield(sig, nil) {
					return
				}
			}
			select {
			case <-b.wake:
			case <-ctx.Done():
				return
			case <-s.closing:
				yield(store.Signal{}, store.ErrClosed)
				return
			}
		}
	}
}
