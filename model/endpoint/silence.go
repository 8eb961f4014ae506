package endpoint

import (
	"context"
	"errors"
	"io"
	"time"
)

// DefaultIdleTimeout is how long an endpoint may be silent.
const DefaultIdleTimeout = 60 * time.Second

const (
	// quietFactor times the idle timeout is how long comments alone keep a
	// stream alive.
	quietFactor = 10
	// afterFinish is how long the end mark may stay out once the endpoint
	// has said why the answer ends.
	afterFinish = 5 * time.Second
)

var errSilent = errors.New("the endpoint fell silent")

// Silence cancels a request when nothing arrives for too long. Its clock
// stands still while what arrived is being dealt with.
type Silence struct {
	idle   time.Duration
	quiet  time.Duration
	timer  *time.Timer
	cancel context.CancelCauseFunc
	since  time.Time // of the last data
	over   bool      // finish was seen
}

// NewSilence starts to wait for a first byte.
func NewSilence(idle time.Duration, cancel context.CancelCauseFunc) *Silence {
	return &Silence{
		idle: idle, quiet: quietFactor * idle, since: time.Now(), cancel: cancel,
		timer: time.AfterFunc(idle, func() { cancel(errSilent) }),
	}
}

// Stop ends the watch.
func (s *Silence) Stop() { s.timer.Stop() }

// Data notes that a frame with data arrived.
func (s *Silence) Data() { s.since = time.Now() }

// Finished shortens the wait for what may follow the finish.
func (s *Silence) Finished() { s.over = true }

// Watch lets every byte count as life, unless they have been nothing but
// comments for too long.
func (s *Silence) Watch(r io.Reader) io.Reader { return watched{s, r} }

type watched struct {
	*Silence
	r io.Reader
}

// Read implements io.Reader.
func (w watched) Read(p []byte) (int, error) {
	switch {
	case w.over:
		w.timer.Reset(min(w.idle, afterFinish))
	case time.Since(w.since) >= w.quiet:
		w.cancel(errSilent)
	default:
		w.timer.Reset(w.idle)
	}
	n, err := w.r.Read(p)
	w.timer.Stop()
	return n, err
}
