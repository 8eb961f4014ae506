//go:build unix

// Command durability measures in one process what it adds to an event to be
// stored before anybody sees it: from the model's delta to a reader of the
// log, through package emit and the store, with text not gathered.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/store/sqlite"
)

func main() {
	messages := flag.Int("messages", 2000, "messages at once")
	length := flag.Duration("length", 8*time.Second, "how long")
	every := flag.Duration("every", 50*time.Millisecond, "time between two deltas of a message")
	profile := flag.String("cpuprofile", "", "write a profile of the stored side to this file")
	flag.Parse()
	if err := run(*messages, *length, *every, *profile); err != nil {
		fmt.Fprintln(os.Stderr, "durability:", err)
		os.Exit(1)
	}
}

// figure is a line of the table; see bench/load.
type figure struct {
	Item   string  `json:"item"`
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Digits int     `json:"digits"`
	Bar    float64 `json:"bar,omitempty"`
	Note   string  `json:"note"`
}

func run(messages int, length, every time.Duration, profile string) error {
	dir, err := os.MkdirTemp("", "inlay-durability-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for _, side := range []struct {
		name     string
		open     func() (store.Store, error)
		p50, p99 float64
	}{
		{"memory", func() (store.Store, error) { return memory.New(), nil }, 0, 0},
		{"sqlite", func() (store.Store, error) {
			return sqlite.Open(context.Background(), sqlite.Options{Path: filepath.Join(dir, "inlay.db")})
		}, 1, 40},
	} {
		s, err := side.open()
		if err != nil {
			return err
		}
		l := load{store: s, registry: reg, every: every, deltas: int(length / every)}
		stop, err := startProfile(side.name, profile)
		if err != nil {
			return err
		}
		used, err := l.run(messages)
		stop()
		if cerr := s.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return fmt.Errorf("%s: %w", side.name, err)
		}
		slices.Sort(l.late)
		note := fmt.Sprintf("%d messages × %.0f/s, CPU %.1f µs each", messages, float64(time.Second)/float64(every), float64(used.Microseconds())/float64(messages*l.deltas))
		for _, q := range []struct{ q, bar float64 }{{0.5, side.p50}, {0.99, side.p99}} {
			ms := float64(l.late[int(q.q*float64(len(l.late)-1))]) / float64(time.Millisecond)
			if err := out.Encode(figure{"durability", fmt.Sprintf("delta to reader, %d messages, %s, p%g", messages, side.name, q.q*100), ms, "ms", 3, q.bar, note}); err != nil {
				return err
			}
		}
	}
	return nil
}

// startProfile profiles the stored side when a file is named.
func startProfile(side, file string) (stop func(), err error) {
	if side != "sqlite" || file == "" {
		return func() {}, nil
	}
	f, err := os.Create(file)
	if err != nil {
		return nil, err
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() {
		pprof.StopCPUProfile()
		_ = f.Close()
	}, nil
}

type load struct {
	store    store.Store
	registry *block.Registry
	every    time.Duration
	deltas   int

	began time.Time
	mu    sync.Mutex
	late  []time.Duration
}

// run writes all messages and returns the CPU time used.
func (l *load) run(messages int) (time.Duration, error) {
	before := cpu()
	l.began = time.Now() // what all of them cost at the beginning is not counted as late
	var wg sync.WaitGroup
	errs := make(chan error, messages)
	for i := range messages {
		wg.Go(func() {
			if err := l.message(fmt.Sprintf("m_0198c0de-0000-7000-8000-%012d", i)); err != nil {
				errs <- err
			}
		})
	}
	wg.Wait()
	used := cpu() - before
	select {
	case err := <-errs:
		return used, err
	default:
		return used, nil
	}
}

// message writes one message at the pace and reads it at the same time.
func (l *load) message(msg string) error {
	ctx := context.Background()
	time.Sleep(time.Duration(rand.Int64N(int64(time.Second))))
	lease, _, err := l.store.Acquire(ctx, msg, "bench", time.Hour)
	if err != nil {
		return err
	}
	out := emit.New(ctx, emit.Config{Log: l.store, Lease: lease, Registry: l.registry})
	if err := out.Start(event.StartData{ConversationID: "c"}); err != nil {
		return err
	}
	if err := out.Flush(ctx); err != nil {
		return err
	}
	start := time.Now()
	sent := make([]time.Duration, l.deltas+2) // by seq, written before the event is
	late := make([]time.Duration, 0, l.deltas)
	var reader sync.WaitGroup
	var readErr error
	reader.Go(func() {
		for ev, err := range l.store.Tail(ctx, msg, 1) {
			if err != nil {
				readErr = err
				return
			}
			if ev.Type == event.TextDelta && time.Since(l.began) > 2*time.Second {
				late = append(late, time.Since(start)-sent[ev.Seq])
			}
		}
	})
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for i := range l.deltas {
		<-tick.C
		sent[i+2] = time.Since(start)
		if err := out.Text("East leads with a third of all sales. "); err != nil {
			return err
		}
	}
	if _, err := out.Settle(ctx, block.Error{}); err != nil {
		return err
	}
	if err := out.Done(event.DoneData{FinishReason: event.FinishStop}); err != nil {
		return err
	}
	if _, err := out.Close(); err != nil {
		return err
	}
	reader.Wait()
	l.mu.Lock()
	l.late = append(l.late, late...)
	l.mu.Unlock()
	if readErr != nil {
		return readErr
	}
	return l.store.Release(ctx, lease)
}

func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
