package scripted

import (
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"time"
	"unicode"

	"github.com/inlay-ui/inlay/model"
)

// Timing is the pace of an answer. The zero value plays as fast as it can and
// skips all waits.
type Timing struct {
	// FirstToken is the time before the first piece.
	FirstToken time.Duration
	// PerSecond is the number of pieces in a second; 0 is no limit.
	PerSecond float64
	// Waits plays the waits that scenarios ask for.
	Waits bool
	// StallAfter bytes of text the answer stands still for StallFor.
	StallAfter int
	StallFor   time.Duration
	// DropAfter bytes of text the connection is cut; 0 is never.
	DropAfter int
}

// HumanSpeed is the pace of the demo.
func HumanSpeed() Timing {
	return Timing{FirstToken: 350 * time.Millisecond, PerSecond: 45, Waits: true}
}

// errDropped says that the answer breaks off here.
var errDropped = errors.New("scripted: the connection is cut")

// piece is the smallest part of an answer; exactly one of its first three
// members is set. For a piece of a call, start marks the first one.
type piece struct {
	text, thought, args string
	call                *model.Call
	start               bool
}

// play hands the pieces of a plan on at the pace of the timing. It returns
// errDropped, an error of the script, an error of emit, or that of ctx.
func (m *Model) play(ctx context.Context, p *plan, seed int64, emit func(piece) error) error {
	pace := m.opts.Timing
	if err := sleep(ctx, pace.FirstToken); err != nil {
		return err
	}
	said, stalled := 0, false
	send := func(pc piece) error {
		if pace.PerSecond > 0 {
			if err := sleep(ctx, time.Duration(float64(time.Second)/(pace.PerSecond*p.pace))); err != nil {
				return err
			}
		}
		if pace.DropAfter > 0 && said >= pace.DropAfter {
			return errDropped
		}
		if pace.StallFor > 0 && !stalled && said >= pace.StallAfter {
			stalled = true
			if err := sleep(ctx, pace.StallFor); err != nil {
				return err
			}
		}
		said += len(pc.text)
		return emit(pc)
	}
	each := func(s string, f func(string) piece) error {
		for part := range pieces(s, seed) {
			if err := send(f(part)); err != nil {
				return err
			}
		}
		return nil
	}
	for _, o := range p.ops {
		var err error
		switch {
		case o.text != "":
			err = each(o.text, func(s string) piece { return piece{text: s} })
		case o.thought != "":
			err = each(o.thought, func(s string) piece { return piece{thought: s} })
		case o.call != nil:
			if err = send(piece{call: o.call, start: true}); err == nil {
				err = each(o.call.Raw, func(s string) piece { return piece{call: o.call, args: s} })
			}
		case o.wait > 0 && pace.Waits:
			err = sleep(ctx, o.wait)
		case o.fail != nil:
			switch {
			case o.fail.Finish != "":
				return nil
			case o.fail.Drop:
				return errDropped
			case !o.fail.Once || m.firstTime(p.id):
				return o.fail.error()
			}
		}
		if err != nil {
			return err
		}
	}
	return ctx.Err()
}

// error is what a failing endpoint would have answered.
func (f *failure) error() *model.Error {
	e := &model.Error{Code: model.CodeBadRequest, Message: f.Message, Status: f.Status, RetryAfter: time.Duration(f.RetryAfter)}
	switch {
	case f.Status == http.StatusUnauthorized || f.Status == http.StatusForbidden:
		e.Code = model.CodeUnauthorized
	case f.Status == http.StatusTooManyRequests:
		e.Code, e.Retryable = model.CodeRateLimited, true
	case f.Status >= 500:
		e.Code, e.Retryable = model.CodeUnavailable, true
	}
	return e
}

// firstTime tells the first request of a kind from its repetition. The third
// counts as a first again, so that a scenario can be shown twice.
func (m *Model) firstTime(id string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.failed[id] {
		delete(m.failed, id)
		return false
	}
	if len(m.failed) >= 1024 {
		clear(m.failed)
	}
	m.failed[id] = true
	return true
}

func sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// cutEvery is the length of a piece under a seed. Over as many seeds every
// place between two characters becomes a cut.
const cutEvery = 16

// pieces cuts text for streaming: at the edges of words and after six
// characters without a seed, else after as many characters as the seed says
// and then every sixteen.
func pieces(s string, seed int64) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		n, limit := 0, firstCut(seed)
		start := 0
		for i, r := range s {
			full := n >= limit
			if seed == 0 {
				full = n >= 6 || n > 0 && unicode.IsSpace(r) || n >= 2 && unicode.Is(unicode.Han, r)
			}
			if full && i > start {
				if !yield(s[start:i]) {
					return
				}
				start, n, limit = i, 0, cutEvery
			}
			n++
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

// firstCut is the length of the first piece.
func firstCut(seed int64) int { return 1 + int(uint64(seed-1)%cutEvery) }

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }
