package sse

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// serve runs handler on a loopback server and returns its address.
func serve(t *testing.T, handler http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(handler)
	t.Cleanup(s.Close)
	return s
}

func frame(s string) func([]byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) { return append(dst, s...), nil }
}

func get(t *testing.T, url string) *http.Response {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
	t.Cleanup(cancel)
	req, err := http.NewRequestWithContext(ctx, "GET", url, nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { res.Body.Close() })
	return res
}

func TestFramesArriveInOrderAndWhole(t *testing.T) {
	const n = 2000
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		w, err := Start(rw, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		for i := range n {
			if err := w.Append(frame(fmt.Sprintf("data: %d\n\n", i))); err != nil {
				t.Error(err)
			}
		}
		written, err := w.Close()
		if err != nil || written == 0 {
			t.Errorf("Close = %d, %v", written, err)
		}
		if err := w.Append(frame("data: late\n\n")); !errors.Is(err, ErrClosed) {
			t.Errorf("Append after Close = %v, want ErrClosed", err)
		}
	})
	res := get(t, s.URL)
	for name, want := range map[string]string{
		"Content-Type":      "text/event-stream",
		"Cache-Control":     "no-cache, no-transform",
		"X-Accel-Buffering": "no",
	} {
		if got := res.Header.Get(name); got != want {
			t.Errorf("%s = %q, want %q", name, got, want)
		}
	}
	got, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	var want bytes.Buffer
	for i := range n {
		fmt.Fprintf(&want, "data: %d\n\n", i)
	}
	if !bytes.Equal(got, want.Bytes()) {
		t.Errorf("got %d bytes, want %d", len(got), want.Len())
	}
}

func TestHeadersGoOutBeforeTheFirstFrame(t *testing.T) {
	release := make(chan struct{})
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		w, err := Start(rw, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		<-release
		_, _ = w.Close()
	})
	res := get(t, s.URL) // returns only when the headers are there
	close(release)
	if res.StatusCode != http.StatusOK {
		t.Errorf("status %d", res.StatusCode)
	}
}

func TestHeartbeatOnlyInSilence(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		w, err := Start(rw, Options{Heartbeat: 60 * time.Millisecond})
		if err != nil {
			t.Error(err)
			return
		}
		for range 10 { // busier than the heartbeat: no comment
			_ = w.Append(frame("data: x\n\n"))
			time.Sleep(15 * time.Millisecond)
		}
		_ = w.Append(frame("data: quiet\n\n"))
		time.Sleep(200 * time.Millisecond)
		_, _ = w.Close()
	})
	body, err := io.ReadAll(get(t, s.URL).Body)
	if err != nil {
		t.Fatal(err)
	}
	busy, quiet, _ := strings.Cut(string(body), "data: quiet\n\n")
	if strings.Contains(busy, ": ping") {
		t.Errorf("heartbeat in a busy stream: %q", busy)
	}
	if n := strings.Count(quiet, ": ping\n\n"); n < 2 || n > 4 {
		t.Errorf("%d heartbeats in 200 ms of silence, want about 3", n)
	}
}

func TestEncodeErrorLeavesNoHalfFrame(t *testing.T) {
	bad := errors.New("bad event")
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		w, err := Start(rw, Options{})
		if err != nil {
			t.Error(err)
			return
		}
		_ = w.Append(frame("data: 1\n\n"))
		err = w.Append(func(dst []byte) ([]byte, error) { return append(dst, "data: ha"...), bad })
		if !errors.Is(err, bad) {
			t.Errorf("Append = %v, want the encoder's error", err)
		}
		_ = w.Append(frame("data: 2\n\n"))
		_, _ = w.Close()
	})
	body, _ := io.ReadAll(get(t, s.URL).Body)
	if got, want := string(body), "data: 1\n\ndata: 2\n\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// A reader that takes nothing must hold neither memory nor a goroutine for
// ever: Append blocks at the bound, and the write deadline cuts it off.
func TestSlowReaderIsCut(t *testing.T) {
	const max = 64 << 10
	type result struct {
		accepted int
		err      error
		took     time.Duration
	}
	done := make(chan result, 1)
	var cuts atomic.Int32
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		w, err := Start(rw, Options{WriteTimeout: 300 * time.Millisecond, MaxPending: max, Cut: func() { cuts.Add(1) }})
		if err != nil {
			t.Error(err)
			return
		}
		began := time.Now()
		chunk := "data: " + strings.Repeat("x", 8<<10) + "\n\n"
		n := 0
		for n < 64<<20 {
			if err = w.Append(frame(chunk)); err != nil {
				break
			}
			n += len(chunk)
			w.mu.Lock()
			if len(w.buf) > max+len(chunk) {
				t.Errorf("%d bytes pending, bound is %d", len(w.buf), max)
			}
			w.mu.Unlock()
		}
		_, closeErr := w.Close()
		if closeErr == nil {
			t.Error("Close says nothing of the cut")
		}
		done <- result{n, err, time.Since(began)}
	})
	conn, err := net.Dial("tcp", s.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.(*net.TCPConn).SetReadBuffer(4 << 10)
	fmt.Fprintf(conn, "GET / HTTP/1.1\r\nHost: x\r\n\r\n")
	if _, err := bufio.NewReaderSize(conn, 16).ReadByte(); err != nil {
		t.Fatal(err)
	}
	select {
	case r := <-done:
		if r.err == nil {
			t.Errorf("a reader that takes nothing was sent %d bytes", r.accepted)
		}
		if n := cuts.Load(); n != 1 {
			t.Errorf("Cut called %d times, want 1", n)
		}
	case <-time.After(time.Minute):
		t.Fatal("the slow reader was not cut")
	}
}

// The deadline of a stream must not reach into the next request on the same
// connection.
func TestConnectionIsUsableAfterwards(t *testing.T) {
	s := serve(t, func(rw http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/slow" {
			time.Sleep(250 * time.Millisecond)
			fmt.Fprint(rw, "ok")
			return
		}
		w, err := Start(rw, Options{WriteTimeout: 100 * time.Millisecond})
		if err != nil {
			t.Error(err)
			return
		}
		_ = w.Append(frame("data: x\n\n"))
		_, _ = w.Close()
	})
	_, _ = io.ReadAll(get(t, s.URL).Body)
	body, err := io.ReadAll(get(t, s.URL+"/slow").Body)
	if err != nil || string(body) != "ok" {
		t.Errorf("next request: %q, %v", body, err)
	}
}

func BenchmarkAppend(b *testing.B) {
	rw := nullWriter{http.Header{}}
	w, err := Start(rw, Options{})
	if err != nil {
		b.Fatal(err)
	}
	f := frame("id: 12\nevent: text_delta\ndata: {\"delta\":\"East leads\"}\n\n")
	b.ReportAllocs()
	for b.Loop() {
		if err := w.Append(f); err != nil {
			b.Fatal(err)
		}
	}
	_, _ = w.Close()
}

type nullWriter struct{ h http.Header }

func (n nullWriter) Header() http.Header            { return n.h }
func (nullWriter) WriteHeader(int)                  {}
func (nullWriter) Write(b []byte) (int, error)      { return len(b), nil }
func (nullWriter) Flush()                           {}
func (nullWriter) SetWriteDeadline(time.Time) error { return nil }
