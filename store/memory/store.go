package memory

import (
	"context"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/store"
)

var _ store.Store = (*Store)(nil)

// Store is a store in memory. Its methods may be called at the same time.
type Store struct {
	now func() time.Time

	mu      sync.Mutex
	changed chan struct{} // closed and replaced with every change but of a log's events
	closed  bool
	epoch   uint64
	cursor  uint64
	order   int64
	logs    map[string]*messageLog
	signals map[string][]store.Signal
	records
}

// New returns an empty store.
func New() *Store { return NewAt(time.Now) }

// NewAt returns an empty store that takes the time from now.
func NewAt(now func() time.Time) *Store {
	return &Store{
		now:     now,
		changed: make(chan struct{}),
		logs:    map[string]*messageLog{},
		signals: map[string][]store.Signal{},
		records: records{
			conversations: map[string]*conversation{},
			messages:      map[string]*message{},
			calls:         map[string]store.BlockCall{},
			trajectories:  map[string][]byte{},
			keys:          map[key]begun{},
			turns:         map[string]store.TurnState{},
			assets:        map[string]*asset{},
			aliases:       map[aliasKey]alias{},
			actions: actions{
				actionCalls: map[string]*actionCall{},
				actionKeys:  map[key]string{},
				nonces:      map[string]time.Time{},
				states:      map[string]*blockState{},
			},
		},
	}
}

// lock locks the store for one call.
func (s *Store) lock(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return store.ErrClosed
	}
	return nil
}

// wake tells everyone who waits that something changed. It needs the lock.
func (s *Store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	s.mu.Unlock()
	return nil
}

// Close implements store.Store.
func (s *Store) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.closed = true
		s.wake()
		for _, l := range s.logs {
			l.wake()
		}
	}
	return nil
}
