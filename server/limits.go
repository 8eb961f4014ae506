package server

import (
	"net/http"
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/inlay-ui/inlay/store"
)

// Limits bound what one client may ask for. Zero values mean the defaults
// named here; negative ones switch a limit off.
type Limits struct {
	// BodyBytes bounds a request body. Default 1 MiB.
	BodyBytes int64
	// HistoryBytes bounds the body of a request of AG-UI or the AI SDK, whose
	// clients send all of their conversation each time. Default 16 MiB.
	HistoryBytes int64
	// InputBytes bounds one message of a user. Default 64 KiB.
	InputBytes int
	// StreamsPerUser is how many streams one user may have open. Default 256.
	StreamsPerUser int
	// Streams is how many streams the whole server may have open. Default
	// 20,000.
	Streams int
	// RequestsPerSecond is what one user may send on average, twice as many at
	// once. Default 100.
	RequestsPerSecond float64
	// TurnsPerMinute is how many turns, retries, refreshes and actions one
	// user may start on average, half as many at once. Default 120.
	TurnsPerMinute float64
}

func (l Limits) withDefaults() Limits {
	if l.BodyBytes == 0 {
		l.BodyBytes = 1 << 20
	}
	if l.BodyBytes < 0 {
		l.BodyBytes = 1 << 40
	}
	if l.HistoryBytes == 0 {
		l.HistoryBytes = 16 << 20
	}
	if l.HistoryBytes < 0 {
		l.HistoryBytes = 1 << 40
	}
	if l.InputBytes == 0 {
		l.InputBytes = 64 << 10
	}
	if l.InputBytes < 0 {
		l.InputBytes = 1 << 30
	}
	if l.StreamsPerUser == 0 {
		l.StreamsPerUser = 256
	}
	if l.Streams == 0 {
		l.Streams = 20_000
	}
	if l.RequestsPerSecond == 0 {
		l.RequestsPerSecond = 100
	}
	if l.TurnsPerMinute == 0 {
		l.TurnsPerMinute = 120
	}
	return l
}

// user is what the limiter knows of one user.
type user struct {
	requests *rate.Limiter
	turns    *rate.Limiter
	streams  int
	seen     time.Time
}

// limiter counts requests and streams by user.
type limiter struct {
	limits Limits
	now    func() time.Time

	mu      sync.Mutex
	users   map[store.Owner]*user
	streams int
	swept   time.Time
}

func newLimiter(l Limits, now func() time.Time) *limiter {
	return &limiter{limits: l, now: now, users: make(map[store.Owner]*user), swept: now()}
}

// A user not seen for so long is forgotten; both buckets are full by then.
const forget = 10 * time.Minute

// of returns a user's entry; the lock is held.
func (l *limiter) of(o store.Owner) *user {
	now := l.now()
	if now.Sub(l.swept) > forget {
		l.swept = now
		for k, u := range l.users {
			if u.streams == 0 && now.Sub(u.seen) > forget {
				delete(l.users, k)
			}
		}
	}
	u, ok := l.users[o]
	if !ok {
		u = &user{
			requests: bucket(l.limits.RequestsPerSecond, 2*l.limits.RequestsPerSecond),
			turns:    bucket(l.limits.TurnsPerMinute/60, l.limits.TurnsPerMinute/2),
		}
		l.users[o] = u
	}
	u.seen = now
	return u
}

func bucket(perSecond, burst float64) *rate.Limiter {
	if perSecond < 0 {
		return rate.NewLimiter(rate.Inf, 0)
	}
	return rate.NewLimiter(rate.Limit(perSecond), max(int(burst), 1))
}

// allow counts a request, and a turn if it is to start one.
func (l *limiter) allow(o store.Owner, starts bool) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	u := l.of(o)
	buckets := []*rate.Limiter{u.requests}
	if starts {
		buckets = append(buckets, u.turns)
	}
	for _, b := range buckets {
		now := l.now()
		res := b.ReserveN(now, 1)
		if wait := res.DelayFrom(now); wait > 0 {
			res.CancelAt(now)
			return &answer{
				status: http.StatusTooManyRequests, code: codeRateLimited,
				message: "Too many requests. Please wait a moment.", retryable: true, after: wait,
			}
		}
	}
	return nil
}

// stream takes a place for one stream; release gives it back.
func (l *limiter) stream(o store.Owner) (release func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.roomLocked(o); err != nil {
		return nil, err
	}
	u := l.of(o)
	u.streams++
	l.streams++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		u.streams--
		l.streams--
	}, nil
}

// room reports whether there is a place for one stream more, before something
// is begun that nobody could read.
func (l *limiter) room(o store.Owner) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.roomLocked(o)
}

func (l *limiter) roomLocked(o store.Owner) error {
	if max := l.limits.StreamsPerUser; max > 0 && l.of(o).streams >= max {
		return tooManyStreams(http.StatusTooManyRequests)
	}
	if max := l.limits.Streams; max > 0 && l.streams >= max {
		return tooManyStreams(http.StatusServiceUnavailable)
	}
	return nil
}

func tooManyStreams(status int) error {
	return &answer{
		status: status, code: codeRateLimited,
		message: "Too many streams are open.", retryable: true, after: 5 * time.Second,
	}
}

// open returns the number of open streams.
func (l *limiter) open() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.streams
}
