package action

import (
	"sync"
	"time"

	"golang.org/x/time/rate"

	"github.com/inlay-ui/inlay/store"
)

// rates counts the calls of each user and action in this process.
type rates struct {
	mu    *sync.Mutex
	users map[rateKey]*rate.Limiter
	swept time.Time
}

type rateKey struct {
	owner store.Owner
	name  string
}

func newRates() rates { return rates{mu: new(sync.Mutex), users: make(map[rateKey]*rate.Limiter)} }

// sweepRates is how often full buckets are forgotten.
const sweepRates = 10 * time.Minute

// take counts a call and returns how long to wait when there were too many.
func (r *rates) take(o store.Owner, name string, perMinute int, now time.Time) time.Duration {
	if perMinute == 0 {
		return 0
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if now.Sub(r.swept) > sweepRates {
		r.swept = now
		for k, l := range r.users {
			if l.TokensAt(now) >= float64(l.Burst()) {
				delete(r.users, k)
			}
		}
	}
	k := rateKey{o, name}
	l := r.users[k]
	if l == nil {
		l = rate.NewLimiter(rate.Limit(float64(perMinute)/60), perMinute)
		r.users[k] = l
	}
	res := l.ReserveN(now, 1)
	if wait := res.DelayFrom(now); wait > 0 {
		res.CancelAt(now)
		return wait
	}
	return 0
}
