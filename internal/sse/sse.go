// Package sse writes server-sent events to one reader.
//
// It owns the headers, the batching, the heartbeat and the bounds of a stream.
// It must never know what is in a frame.
package sse

import (
	"errors"
	"fmt"
	"net/http"
	"sync"
	"time"
)

// Options bound one stream. Zero values mean the defaults named here.
type Options struct {
	// Heartbeat is the silence after which a comment is sent, so that proxies
	// keep the connection and the reader can tell it from a dead one.
	// Default 15 s.
	Heartbeat time.Duration
	// WriteTimeout is how long one write may take before the reader is cut
	// off, or up to a quarter less. It can go on where it was. Default 30 s.
	WriteTimeout time.Duration
	// MaxPending is how many bytes may wait for a slow reader before Append
	// blocks. Default 256 KiB.
	MaxPending int
	// Cut is called once when the reader cannot be written to any more, for
	// ending whatever the frames come from.
	Cut func()
	// Status is the response's status. Default 200.
	Status int
}

// ErrClosed is returned by Append after Close.
var ErrClosed = errors.New("sse: stream is closed")

var ping = []byte(": ping\n\n")

// Writer sends frames to one reader. Whatever gathers while a write is under
// way goes out with the next one: a fast stream costs few writes, a slow one
// has no delay. An idle stream holds neither a buffer nor a goroutine.
type Writer struct {
	rw  http.ResponseWriter
	rc  *http.ResponseController
	opt Options

	mu      sync.Mutex
	wake    sync.Cond // the flusher took the buffer or ended
	buf     []byte
	active  bool // a flusher runs
	closed  bool
	err     error
	last    time.Time // of the last write
	timer   *time.Timer
	written int64

	until time.Time // the deadline of writes; the flusher's own
}

// The buffers of streams that have something to send.
var buffers = sync.Pool{New: func() any { b := make([]byte, 0, 4096); return &b }}

// A buffer that grew beyond this is not kept.
const keep = 64 << 10

// Start sends the headers of an event stream and returns its Writer, which
// must be closed before the handler returns.
func Start(rw http.ResponseWriter, opt Options) (*Writer, error) {
	if opt.Heartbeat <= 0 {
		opt.Heartbeat = 15 * time.Second
	}
	if opt.WriteTimeout <= 0 {
		opt.WriteTimeout = 30 * time.Second
	}
	if opt.MaxPending <= 0 {
		opt.MaxPending = 256 << 10
	}
	if opt.Status == 0 {
		opt.Status = http.StatusOK
	}
	w := &Writer{rw: rw, rc: http.NewResponseController(rw), opt: opt, last: time.Now()}
	w.wake.L = &w.mu
	h := rw.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache, no-transform")
	h.Set("X-Accel-Buffering", "no")
	h.Del("Content-Length")
	rw.WriteHeader(opt.Status)
	if err := w.deadline(); err != nil {
		return nil, err
	}
	if err := w.rc.Flush(); err != nil {
		return nil, fmt.Errorf("sse: start: %w", err)
	}
	w.mu.Lock() // beat looks at timer too
	w.timer = time.AfterFunc(opt.Heartbeat, w.beat)
	w.mu.Unlock()
	return w, nil
}

// Append lets encode add frames to the stream. It blocks only while a slow
// reader has more than MaxPending bytes waiting. Frames must be whole.
func (w *Writer) Append(encode func(dst []byte) ([]byte, error)) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for len(w.buf) > w.opt.MaxPending && w.err == nil && !w.closed {
		w.wake.Wait()
	}
	if w.err != nil {
		return w.err
	}
	if w.closed {
		return ErrClosed
	}
	if w.buf == nil {
		w.buf = (*buffers.Get().(*[]byte))[:0]
	}
	before := len(w.buf)
	buf, err := encode(w.buf)
	if err != nil {
		w.buf = buf[:before]
		return err
	}
	w.buf = buf
	if len(buf) > 0 && !w.active {
		w.active = true
		go w.flush()
	}
	return nil
}

// Err returns why the reader was cut off, or nil.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Close sends what is pending and ends the stream. It returns the number of
// bytes written and why the reader was cut off, if it was.
func (w *Writer) Close() (int64, error) {
	w.mu.Lock()
	w.closed = true
	for w.active {
		w.wake.Wait()
	}
	w.timer.Stop()
	w.release(w.buf)
	w.buf = nil
	written, err := w.written, w.err
	w.mu.Unlock()
	// The connection may serve another request: its writes have no deadline of
	// ours.
	_ = w.rc.SetWriteDeadline(time.Time{})
	return written, err
}

// beat sends a comment when nothing was sent for the length of a heartbeat.
func (w *Writer) beat() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.closed || w.err != nil {
		return
	}
	wait := w.opt.Heartbeat - time.Since(w.last)
	if wait > 0 {
		w.timer.Reset(wait)
		return
	}
	if !w.active {
		if w.buf == nil {
			w.buf = (*buffers.Get().(*[]byte))[:0]
		}
		w.buf = append(w.buf, ping...)
		w.active = true
		go w.flush()
	}
	w.timer.Reset(w.opt.Heartbeat)
}

// flush writes until nothing is pending.
func (w *Writer) flush() {
	w.mu.Lock()
	for w.err == nil && len(w.buf) > 0 {
		out := w.buf
		w.buf = nil
		w.wake.Broadcast()
		w.mu.Unlock()
		err := w.write(out)
		w.mu.Lock()
		w.release(out)
		w.last = time.Now()
		if err != nil {
			w.err = err
			break
		}
		w.written += int64(len(out))
	}
	w.active = false
	cut := w.err != nil
	w.wake.Broadcast()
	w.mu.Unlock()
	if cut && w.opt.Cut != nil {
		w.opt.Cut()
	}
}

func (w *Writer) write(out []byte) error {
	if err := w.deadline(); err != nil {
		return err
	}
	if _, err := w.rw.Write(out); err != nil {
		return fmt.Errorf("sse: write: %w", err)
	}
	if err := w.rc.Flush(); err != nil {
		return fmt.Errorf("sse: flush: %w", err)
	}
	return nil
}

// deadline gives the next write its time. To move a deadline costs about as
// much as to encode an event, so it is moved when a quarter of it has passed.
func (w *Writer) deadline() error {
	now := time.Now()
	if w.until.Sub(now) > w.opt.WriteTimeout*3/4 {
		return nil
	}
	w.until = now.Add(w.opt.WriteTimeout)
	err := w.rc.SetWriteDeadline(w.until)
	if err != nil && !errors.Is(err, http.ErrNotSupported) {
		return fmt.Errorf("sse: set write deadline: %w", err)
	}
	return nil
}

// release gives a buffer back; the lock is held or the stream has ended.
func (w *Writer) release(b []byte) {
	if b != nil && cap(b) <= keep {
		b = b[:0]
		buffers.Put(&b)
	}
}
