package sqlite

import (
	"slices"
	"sync"

	"github.com/inlay-ui/inlay/event"
)

// tail is the newest part of a running message in memory, and who reads it.
//
// Only the writer changes it. Elements of events are never overwritten, so a
// reader may go on with the slice it got after mu is released.
type tail struct {
	mu sync.Mutex
	// first is the seq of events[0], or of the next event when there is none.
	first  uint64
	events []event.Event
	// chunked is how many of events are in a chunk already: they are kept for
	// readers only.
	chunked int
	bytes   int
	// over says that the group has ended and nothing will come any more.
	over bool
	// deleted says that the message was deleted.
	deleted bool
	readers []chan struct{}
}

// eventOverhead is what an event weighs in memory besides its data.
const eventOverhead = 128

func weight(e event.Event) int { return len(e.Data) + eventOverhead }

// after returns the events after a seq. With ok unset they are no longer here.
func (t *tail) after(seq uint64) (evs []event.Event, over, deleted, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if seq+1 < t.first {
		return nil, t.over, t.deleted, false
	}
	if i := seq + 1 - t.first; i < uint64(len(t.events)) {
		evs = t.events[i:len(t.events):len(t.events)]
	}
	return evs, t.over, t.deleted, true
}

// last is the seq of the last event that readers may see.
func (t *tail) last() uint64 {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.first + uint64(len(t.events)) - 1
}

// join returns a channel that gets a word when there may be something new.
func (t *tail) join() chan struct{} {
	wake := make(chan struct{}, 1)
	t.mu.Lock()
	t.readers = append(t.readers, wake)
	t.mu.Unlock()
	return wake
}

func (t *tail) leave(wake chan struct{}) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.readers, wake); i >= 0 {
		end := len(t.readers) - 1
		t.readers[i], t.readers[end] = t.readers[end], nil
		t.readers = t.readers[:end]
	}
}

func (t *tail) wakeLocked() {
	for _, r := range t.readers {
		nudge(r)
	}
}

// wake makes the readers look around.
func (t *tail) wake() {
	t.mu.Lock()
	t.wakeLocked()
	t.mu.Unlock()
}

// nudge leaves a word in a channel unless one is there already.
func nudge(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

// publish shows committed events to the readers.
func (t *tail) publish(evs []event.Event, over bool) {
	t.mu.Lock()
	t.events = append(t.events, evs...)
	for _, e := range evs {
		t.bytes += weight(e)
	}
	t.over = t.over || over
	t.wakeLocked()
	t.mu.Unlock()
}

// end ends the readers of a message that is gone.
func (t *tail) end() {
	t.mu.Lock()
	t.over, t.deleted = true, true
	t.wakeLocked()
	t.mu.Unlock()
}

// stored marks all events as being in a chunk and forgets the oldest of them
// until no more than keep bytes are left.
func (t *tail) stored(keep int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	drop := 0
	for t.bytes > keep && drop < len(t.events) {
		t.bytes -= weight(t.events[drop])
		drop++
	}
	if drop > 0 {
		// A new array, so that the old events can be freed.
		t.events = append(make([]event.Event, 0, 2*(len(t.events)-drop)), t.events[drop:]...)
		t.first += uint64(drop)
	}
	t.chunked = len(t.events)
}
