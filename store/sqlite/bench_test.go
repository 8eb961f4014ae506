//go:build unix

package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/event"
)

// sample is an event as a model's answer makes most of them: 160 bytes stored.
func sample(msg string, group int, seq uint64) event.Event {
	return event.Event{Seq: seq, At: int64(seq) * 50, Group: group, Type: event.TextDelta, Msg: msg,
		Block: "b_0198c0de-0000-7000-8000-000000000001", Data: sampleData}
}

var sampleData = json.RawMessage(`{"delta":"` + strings.Repeat("some words ", 9) + `"}`)

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	return float64(sorted[int(q*float64(len(sorted)-1))]) / float64(time.Millisecond)
}

// BenchmarkPaced runs many messages at 20 events a second each, every one with
// a live reader. A message ends after 200 events and another follows. append
// is the time until an event is durable, seen the time until its reader has
// it. The same load without a store shows what the machine itself costs, in
// CPU and in how late its timers are.
func BenchmarkPaced(b *testing.B) {
	for _, messages := range []int{200, 2000, 5000} {
		b.Run(strconv.Itoa(messages), func(b *testing.B) { benchmarkPaced(b, messages) })
	}
}

const (
	pace       = 50 * time.Millisecond
	turnEvents = 200
)

func benchmarkPaced(b *testing.B, messages int) {
	for b.Loop() {
		idle := paced(b, nil, messages, 2*time.Second)
		s := open(b, Options{})
		load := paced(b, s, messages, 5*time.Second)
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
		b.ReportMetric(quantile(load.appends, 0.5), "append-p50-ms")
		b.ReportMetric(quantile(load.appends, 0.99), "append-p99-ms")
		b.ReportMetric(quantile(load.seen, 0.5), "seen-p50-ms")
		b.ReportMetric(quantile(load.seen, 0.99), "seen-p99-ms")
		b.ReportMetric(load.perSecond, "events/s")
		b.ReportMetric(load.cpu, "cpu-µs/event")
		b.ReportMetric(idle.cpu, "cpu-µs/event-without-store")
		b.ReportMetric(quantile(idle.appends, 0.99), "late-p99-ms-without-store")
	}
	b.ReportMetric(0, "ns/op")
}

type measured struct {
	appends, seen  []time.Duration
	perSecond, cpu float64
}

// paced runs the load for a time; without a store it only keeps the pace.
func paced(b *testing.B, s *Store, messages int, d time.Duration) measured {
	ctx := context.Background()
	var mu sync.Mutex
	var m measured
	var wg sync.WaitGroup
	var events atomic.Int64
	var stop atomic.Bool
	start := time.Now()
	began := cpu()
	for i := range messages {
		wg.Go(func() {
			time.Sleep(time.Duration(rand.Int64N(int64(pace))))
			tick := time.NewTicker(pace)
			defer tick.Stop()
			var appends, seen []time.Duration
			var sent [turnEvents + 1]atomic.Int64
			// The first turns end at different times.
			n := 20 + rand.Uint64N(turnEvents-20)
			for turn := 0; !stop.Load(); turn++ {
				msg := fmt.Sprintf("m_0198c0de-0000-7000-8000-%06d%06d", i, turn)
				if s == nil {
					appends = append(appends, time.Since(<-tick.C))
					events.Add(1)
					continue
				}
				lease, _, err := s.Acquire(ctx, msg, "one", time.Minute)
				if err != nil {
					b.Error(err)
					return
				}
				var reader sync.WaitGroup
				reader.Go(func() {
					for e := range s.Tail(ctx, msg, 0) {
						if !stop.Load() {
							seen = append(seen, time.Since(start)-time.Duration(sent[e.Seq].Load()))
						}
					}
				})
				for seq := uint64(1); seq <= n; seq++ {
					<-tick.C
					e := sample(msg, 1, seq)
					if seq == n || stop.Load() {
						e.Type = event.Done
					}
					at := time.Since(start)
					sent[seq].Store(int64(at))
					if err := s.Append(ctx, lease, e); err != nil {
						b.Error(err)
						return
					}
					if !stop.Load() { // all messages end then at once
						appends = append(appends, time.Since(start)-at)
					}
					if e.Type == event.Done {
						break
					}
				}
				reader.Wait()
				if err := s.Release(ctx, lease); err != nil {
					b.Error(err)
					return
				}
				events.Add(int64(n))
				n = turnEvents
			}
			mu.Lock()
			m.appends = append(m.appends, appends...)
			m.seen = append(m.seen, seen...)
			mu.Unlock()
		})
	}
	time.Sleep(d)
	used, took := cpu()-began, time.Since(start)
	stop.Store(true)
	wg.Wait()
	count := float64(events.Load())
	if s != nil {
		count = float64(len(m.appends))
	}
	m.perSecond = count / took.Seconds()
	m.cpu = float64(used.Microseconds()) / count
	slices.Sort(m.appends)
	slices.Sort(m.seen)
	return m
}

// BenchmarkAppend has as many messages append as fast as they can.
func BenchmarkAppend(b *testing.B) {
	for _, messages := range []int{1, 200, 2000} {
		b.Run(strconv.Itoa(messages), func(b *testing.B) {
			ctx := context.Background()
			s := open(b, Options{})
			b.ReportAllocs()
			began := cpu()
			var left atomic.Int64
			left.Store(int64(b.N))
			b.ResetTimer()
			var wg sync.WaitGroup
			for i := range messages {
				wg.Go(func() {
					for turn := 0; left.Load() > 0; turn++ {
						msg := fmt.Sprintf("m_%d_%d", i, turn)
						lease, _, err := s.Acquire(ctx, msg, "one", time.Minute)
						if err != nil {
							b.Error(err)
							return
						}
						for seq := uint64(1); seq <= 1000; seq++ {
							e := sample(msg, 1, seq)
							if seq == 1000 || left.Add(-1) <= 0 {
								e.Type = event.Done
							}
							if err := s.Append(ctx, lease, e); err != nil {
								b.Error(err)
								return
							}
							if e.Type == event.Done {
								break
							}
						}
						if err := s.Release(ctx, lease); err != nil {
							b.Error(err)
							return
						}
					}
				})
			}
			wg.Wait()
			b.StopTimer()
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "events/s")
			b.ReportMetric(float64((cpu()-began).Microseconds())/float64(b.N), "cpu-µs/event")
		})
	}
}

// BenchmarkResume reads the second half of a message of 2,000 events, when it
// is over and while it runs.
func BenchmarkResume(b *testing.B) {
	ctx := context.Background()
	s := open(b, Options{})
	const n = 2000
	// Others around it, so that the file is no toy.
	for i := range 50 {
		benchMessage(b, s, fmt.Sprint("m_other_", i), n, true)
	}
	benchMessage(b, s, "m_ended", n, true)
	benchMessage(b, s, "m_running", n, false)
	for _, msg := range []string{"m_ended", "m_running"} {
		b.Run(strings.TrimPrefix(msg, "m_"), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				got := 0
				for _, err := range s.Read(ctx, msg, n/2) {
					if err != nil {
						b.Fatal(err)
					}
					got++
				}
				if got != n/2 {
					b.Fatalf("%d events", got)
				}
			}
		})
	}
}

func benchMessage(b *testing.B, s *Store, msg string, n uint64, ends bool) {
	b.Helper()
	lease, _, err := s.Acquire(context.Background(), msg, "one", time.Hour)
	if err != nil {
		b.Fatal(err)
	}
	for seq := uint64(1); seq <= n; seq++ {
		e := sample(msg, 1, seq)
		if ends && seq == n {
			e.Type = event.Done
		}
		if err := s.Append(context.Background(), lease, e); err != nil {
			b.Fatal(err)
		}
	}
	if ends {
		if err := s.Release(context.Background(), lease); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkOpen opens a database whose journal holds 1,000 running messages.
func BenchmarkOpen(b *testing.B) {
	dir := b.TempDir()
	path := filepath.Join(dir, "inlay.db")
	s := open(b, Options{Path: path})
	for i := range 1000 {
		benchMessage(b, s, fmt.Sprint("m_", i), 50, false)
	}
	// The files of a running process are what a dead one leaves.
	saved := filepath.Join(dir, "saved.db")
	for _, suffix := range []string{"", "-wal"} {
		data, err := os.ReadFile(path + suffix)
		if err != nil {
			b.Fatal(err)
		}
		if err := os.WriteFile(saved+suffix, data, 0o600); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		b.StopTimer()
		fresh := filepath.Join(b.TempDir(), "inlay.db")
		for _, suffix := range []string{"", "-wal"} {
			data, err := os.ReadFile(saved + suffix)
			if err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(fresh+suffix, data, 0o600); err != nil {
				b.Fatal(err)
			}
		}
		b.StartTimer()
		s := open(b, Options{Path: fresh})
		b.StopTimer()
		if got, err := s.Unfinished(context.Background()); err != nil || len(got) != 1000 {
			b.Fatalf("%d unfinished, %v", len(got), err)
		}
		s.Close()
		b.StartTimer()
	}
}

// BenchmarkIdleTail measures the memory of a reader that waits, without its
// goroutine's stack, which the memory of the runtime holds.
func BenchmarkIdleTail(b *testing.B) {
	const readers = 10_000
	for b.Loop() {
		s := open(b, Options{})
		ctx, cancel := context.WithCancel(context.Background())
		benchMessage(b, s, "m_1", 1, false)
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		var wg sync.WaitGroup
		var waiting atomic.Int64
		for range readers {
			wg.Go(func() {
				for range s.Tail(ctx, "m_1", 0) {
					waiting.Add(1)
				}
			})
		}
		for waiting.Load() < readers {
			time.Sleep(time.Millisecond)
		}
		time.Sleep(100 * time.Millisecond)
		runtime.GC()
		runtime.ReadMemStats(&after)
		b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/readers, "heap-B/tail")
		b.ReportMetric(float64(after.StackInuse-before.StackInuse)/readers, "stack-B/tail")
		cancel()
		wg.Wait()
		s.Close()
	}
	b.ReportMetric(0, "ns/op")
}
