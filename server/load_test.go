package server

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Many readers that wait for something cost little memory each, and all of
// them hear of it when it comes.
func TestIdleStreams(t *testing.T) {
	n := 10_000
	if testing.Short() || raceDetector {
		n = 1000
	}
	if limit := fileLimit(); limit > 0 && 2*n+200 > limit {
		n = (limit - 200) / 2 // both ends of each connection are in this process
	}
	r := newRig(t, func(c *Config) { c.Limits.Streams = -1 })
	s := r.ask("", "hold")
	r.until(s, "text_delta")
	path := "/v1/messages/" + s.msg() + "/events?after=2"

	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	var ended atomic.Int32
	var wg, ready sync.WaitGroup
	gate := make(chan struct{}, 200) // connections being made at once
	for range n {
		wg.Add(1)
		ready.Add(1)
		gate <- struct{}{}
		go func() {
			defer wg.Done()
			open := false
			defer func() {
				if !open {
					<-gate
					ready.Done()
				}
			}()
			conn, err := net.Dial("tcp", r.srv.Listener.Addr().String())
			if err != nil {
				t.Error(err)
				return
			}
			defer conn.Close()
			fmt.Fprintf(conn, "GET %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer alice\r\n\r\n", path)
			in := bufio.NewReaderSize(conn, 512)
			if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, "200") {
				t.Errorf("%q %v", line, err)
				return
			}
			open = true
			<-gate
			ready.Done()
			for {
				line, err := in.ReadString('\n')
				if err != nil {
					return
				}
				if strings.HasPrefix(line, "event: done") {
					ended.Add(1)
					return
				}
			}
		}()
	}
	ready.Wait()
	opened := time.Since(began)
	for range 3 { // stacks shrink by half at a time
		runtime.GC()
	}
	runtime.ReadMemStats(&after)
	each := (after.HeapInuse + after.StackInuse - before.HeapInuse - before.StackInuse) / uint64(n)
	res := r.request("POST", "/v1/messages/"+s.msg()+"/stop", nil)
	if res.StatusCode != http.StatusAccepted {
		t.Errorf("stop: %d", res.StatusCode)
	}
	began = time.Now()
	wg.Wait()
	t.Logf("%d idle streams: opened in %v, %d KiB each with the client's end, all told in %v", n, opened.Round(time.Millisecond), each>>10, time.Since(began).Round(time.Millisecond))
	if got := ended.Load(); int(got) != n {
		t.Errorf("%d of %d readers saw the end", got, n)
	}
	if each > 44<<10 && !raceDetector {
		t.Errorf("%d KiB for each idle stream", each>>10)
	}
}
