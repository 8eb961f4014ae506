package main

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"
)

// ask is the body of a question to our server.
func ask(words string) string { return fmt.Sprintf(`{"input":{"text":%q}}`, words) }

// askPeer is the body that useChat sends.
func askPeer(words string) string {
	return fmt.Sprintf(`{"id":"c","trigger":"submit-message","messages":[{"id":"m","role":"user","parts":[{"type":"text","text":%q}]}]}`, words)
}

// all runs fn n times at once and waits for all of them.
func all(n int, fn func(i int) error) error {
	var wg sync.WaitGroup
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() { errs[i] = fn(i) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

// burst has n streams send deltas as fast as they come and returns the CPU
// time per delta and the time it took.
func burst(p *process, path, body string, n, deltas int) (perDelta, took time.Duration, err error) {
	before, err := p.cpu()
	if err != nil {
		return 0, 0, err
	}
	began := time.Now()
	err = all(n, func(int) error {
		s, err := p.open("POST", path, body)
		if err != nil {
			return err
		}
		defer s.close()
		got := 0
		if _, err := s.read(func(text []byte) error { got += len(text); return nil }); err != nil {
			return err
		}
		if want := deltas * 6; got != want {
			return fmt.Errorf("%d bytes of text, want %d", got, want)
		}
		return nil
	})
	took = time.Since(began)
	after, cerr := p.cpu()
	return (after - before) / time.Duration(n*deltas), took, errors.Join(err, cerr)
}

func micros(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }
func millis(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[int(q*float64(len(sorted)-1))]
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return quantile(d, 0.5)
}

// wholePath compares the CPU time per delta of the model, from the model to
// the socket, log included on our side.
func (b *bench) wholePath() error {
	const streams, deltas, rounds = 200, 500, 2
	words := fmt.Sprintf("deltas=%d", deltas)
	type side struct {
		name, path, body string
		p                *process
		cpu              []time.Duration
		took             []time.Duration
	}
	var sides []*side
	add := func(name, path, body string, p *process, err error) error {
		if err == nil {
			sides = append(sides, &side{name: name, path: path, body: body, p: p})
		}
		return err
	}
	defer func() {
		for _, s := range sides {
			s.p.stop()
		}
	}()
	p, err := b.ours("-coalesce", "-1ns")
	if err := add("inlay, coalescing off", "/v1/chat", ask(words), p, err); err != nil {
		return err
	}
	p, err = b.ours()
	if err := add("inlay, defaults", "/v1/chat", ask(words), p, err); err != nil {
		return err
	}
	if b.node != "" {
		for _, path := range []string{"/response", "/pipe"} {
			p, err := start(b.out, b.node, b.peer)
			if err := add("AI SDK "+path[1:], path, askPeer(words), p, err); err != nil {
				return err
			}
		}
	}
	for _, s := range sides { // compiled and warm
		if _, _, err := burst(s.p, s.path, s.body, 20, deltas); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	for range rounds {
		for _, s := range sides {
			cpu, took, err := burst(s.p, s.path, s.body, streams, deltas)
			if err != nil {
				return fmt.Errorf("%s: %w", s.name, err)
			}
			s.cpu, s.took = append(s.cpu, cpu), append(s.took, took)
		}
	}
	for _, s := range sides {
		if err := b.add(figure{
			Item: "path", What: "CPU per delta, " + s.name, Value: micros(median(s.cpu)), Unit: "µs", Digits: 2,
			Note: fmt.Sprintf("%d × %d deltas in %.1f s", streams, deltas, median(s.took).Seconds()),
		}); err != nil {
			return err
		}
	}
	if len(sides) < 4 {
		return nil
	}
	peer := median(sides[2].cpu)
	for i, bar := range []float64{1.0 / 5, 1.0 / 10} {
		if err := b.add(figure{
			Item: "path", What: sides[i].name + " / AI SDK response", Value: float64(median(sides[i].cpu)) / float64(peer),
			Unit: "×", Digits: 3, Bar: bar,
		}); err != nil {
			return err
		}
		if err := b.add(figure{
			Item: "path", What: sides[i].name + " / AI SDK pipe", Value: float64(median(sides[i].cpu)) / float64(median(sides[3].cpu)),
			Unit: "×", Digits: 3,
		}); err != nil {
			return err
		}
	}
	return nil
}

// park has n streams opened that stay open and returns what the server's
// memory grew by for each.
func park(p *process, n int, open func(i int) (*stream, error)) (perStream float64, streams []*stream, err error) {
	before, err := p.settled()
	if err != nil {
		return 0, nil, err
	}
	streams = make([]*stream, n)
	slots := make(chan struct{}, 64)
	err = all(n, func(i int) error {
		slots <- struct{}{}
		defer func() { <-slots }()
		s, err := open(i)
		if err != nil {
			return err
		}
		streams[i] = s
		return nil
	})
	if err != nil {
		return 0, streams, err
	}
	after, err := p.settled()
	return float64(after-before) / float64(n), streams, err
}

func closeAll(streams []*stream) {
	for _, s := range streams {
		if s != nil {
			s.close()
		}
	}
}

// memory compares what an open stream whose model is silent costs, turn
// included: just begun, and in the middle of its answer.
func (b *bench) memory() error {
	for _, deltas := range []int{1, 250} {
		own, err := b.parked(deltas, "inlay")
		if err != nil || b.node == "" {
			return err
		}
		peer, err := b.parked(deltas, "AI SDK")
		if err != nil {
			return err
		}
		if err := b.add(figure{Item: "memory", What: fmt.Sprintf("inlay / AI SDK, after %d deltas", deltas), Value: own / peer, Unit: "×", Digits: 3, Bar: 0.25}); err != nil {
			return err
		}
	}
	return nil
}

// parked returns the memory of one stream that stands still.
func (b *bench) parked(deltas int, side string) (float64, error) {
	const streams = 300
	words := fmt.Sprintf("deltas=%d park", deltas)
	path, body := "/v1/chat", ask(words)
	p, err := (*process)(nil), error(nil)
	if side == "inlay" {
		p, err = b.ours()
	} else {
		path, body = "/response", askPeer(words)
		p, err = start(b.out, b.node, b.peer)
	}
	if err != nil {
		return 0, err
	}
	defer p.stop()
	open := func(int) (*stream, error) {
		s, err := p.open("POST", path, body)
		if err != nil {
			return nil, err
		}
		return s, s.readText(deltas * 6)
	}
	// What is made only once is not a stream's, and the memory that the first
	// ones leave free is used up before it is counted.
	_, first, err := park(p, streams/3, open)
	defer func() { closeAll(first) }()
	if err != nil {
		return 0, err
	}
	per, more, err := park(p, streams, open)
	defer func() { closeAll(more) }()
	if err == nil && p.control != "" {
		err = p.memory(b.out, fmt.Sprintf("memory-turns-%d", deltas))
	}
	if err != nil {
		return 0, err
	}
	return per, b.add(figure{Item: "memory", What: fmt.Sprintf("turn and its stream, silent after %d deltas, %s", deltas, side), Value: per / 1024, Unit: "KiB", Digits: 1,
		Note: fmt.Sprintf("%d streams", streams)})
}

// idle measures what many readers of running messages cost, before and after
// events went through them.
func (b *bench) idle() error {
	const messages, readers, events = 100, 10_000, 20
	p, err := b.ours()
	if err != nil {
		return err
	}
	defer p.stop()
	ids := make([]string, messages)
	turns := make([]*stream, messages)
	defer func() { closeAll(turns) }()
	if err := all(messages, func(i int) error {
		s, err := p.open("POST", "/v1/chat", ask(fmt.Sprintf("deltas=%d every=500ms size=40 gate park", events)))
		if err != nil {
			return err
		}
		turns[i], ids[i] = s, s.header["x-message-id"]
		return nil
	}); err != nil {
		return err
	}
	per, open, err := park(p, readers, func(i int) (*stream, error) {
		s, err := p.open("GET", "/v1/messages/"+ids[i%messages]+"/events", "")
		if err != nil {
			return nil, err
		}
		return s, s.readText(40)
	})
	defer func() { closeAll(open) }()
	if err != nil {
		return err
	}
	if err := b.add(figure{Item: "idle", What: "open reader, never loaded", Value: per / 1024, Unit: "KiB", Digits: 1, Bar: 32, Note: fmt.Sprintf("%d readers of %d messages", readers, messages)}); err != nil {
		return err
	}
	if err := p.memory(b.out, "memory-readers"); err != nil {
		return err
	}
	before, err := p.rss()
	if err != nil {
		return err
	}
	base := float64(before) - per*readers
	var seen atomic.Int64
	began := time.Now()
	go func() {
		for _, s := range open {
			go func() { _, _ = s.read(func([]byte) error { seen.Add(1); return nil }) }()
		}
	}()
	for _, s := range turns {
		go func() { _, _ = s.read(func([]byte) error { return nil }) }()
	}
	if err := p.openGate(); err != nil {
		return err
	}
	for seen.Load() < readers*(events-1) {
		if time.Since(began) > 60*time.Second {
			return fmt.Errorf("%d of %d events were read", seen.Load(), readers*(events-1))
		}
		time.Sleep(100 * time.Millisecond)
	}
	took := time.Since(began)
	after, err := p.settled()
	if err != nil {
		return err
	}
	return b.add(figure{Item: "idle", What: "open reader, after load", Value: (float64(after) - base) / readers / 1024, Unit: "KiB", Digits: 1, Bar: 56,
		Note: fmt.Sprintf("%d events each in %.1f s", events-1, took.Seconds())})
}

// paced has n streams send deltas at a pace and returns how late each was
// read once all had begun, and the CPU time per delta.
func paced(p *process, n int, every, length time.Duration) (late []time.Duration, perDelta time.Duration, err error) {
	deltas := int(length / every)
	body := ask(fmt.Sprintf("deltas=%d every=%s size=32 stamp", deltas, every))
	var mu sync.Mutex
	before, err := p.cpu()
	if err != nil {
		return nil, 0, err
	}
	ramp := min(2*time.Second, length/4)
	steady := time.Now().Add(ramp * 3 / 2).UnixNano()
	err = all(n, func(i int) error {
		// They must neither begin nor tick at once.
		time.Sleep(ramp * time.Duration(i) / time.Duration(n))
		s, err := p.open("POST", "/v1/chat", body)
		if err != nil {
			return err
		}
		defer s.close()
		own := make([]time.Duration, 0, deltas)
		if _, err := s.read(func(text []byte) error {
			now := time.Now().UnixNano()
			if len(text) < 19 {
				return fmt.Errorf("no time in %q", text)
			}
			at, err := strconv.ParseInt(string(text[:19]), 10, 64)
			if now > steady {
				own = append(own, time.Duration(now-at))
			}
			return err
		}); err != nil {
			return err
		}
		mu.Lock()
		defer mu.Unlock()
		late = append(late, own...)
		return nil
	})
	after, cerr := p.cpu()
	slices.Sort(late)
	return late, (after - before) / time.Duration(n*deltas), errors.Join(err, cerr)
}

// latency measures how long a delta takes from the model to a reader in
// another process.
func (b *bench) latency() error {
	const streams = 500
	p, err := b.ours("-coalesce", "-1ns")
	if err != nil {
		return err
	}
	defer p.stop()
	if _, _, err := paced(p, 50, 50*time.Millisecond, time.Second); err != nil {
		return err
	}
	if b.profile {
		go func() { _ = save(filepath.Join(b.out, "latency.cpu"), p.control+"/debug/pprof/profile?seconds=6") }()
	}
	late, cpu, err := paced(p, streams, 50*time.Millisecond, 10*time.Second)
	if err != nil {
		return err
	}
	for _, q := range []float64{0.5, 0.99} {
		if err := b.add(figure{Item: "latency", What: fmt.Sprintf("model to reader over loopback, p%g", q*100), Value: millis(quantile(late, q)), Unit: "ms", Digits: 2,
			Note: fmt.Sprintf("%d streams × 20/s, %d deltas, coalescing off, CPU %.1f µs each", streams, len(late), micros(cpu))}); err != nil {
			return err
		}
	}
	return nil
}

// storeCost compares the same server with its log in a file and in memory.
func (b *bench) storeCost() error {
	const streams, rounds = 500, 2
	names := []string{"sqlite", "memory"}
	procs := make([]*process, len(names))
	defer func() {
		for _, p := range procs {
			if p != nil {
				p.stop()
			}
		}
	}()
	used := make([][]time.Duration, len(names))
	for i, name := range names {
		p, err := b.ours("-coalesce", "-1ns", "-store", name)
		if err != nil {
			return err
		}
		procs[i] = p
		if _, _, err := paced(p, 50, 50*time.Millisecond, time.Second); err != nil {
			return err
		}
	}
	for range rounds {
		for i, p := range procs {
			_, cpu, err := paced(p, streams, 50*time.Millisecond, 6*time.Second)
			if err != nil {
				return err
			}
			used[i] = append(used[i], cpu)
		}
	}
	return b.ratio("store", "CPU per event, whole path", names, used, 2.2, fmt.Sprintf("%d streams × 20/s, coalescing off", streams))
}

// ratio reports two sides and their ratio.
func (b *bench) ratio(item, what string, names []string, used [][]time.Duration, bar float64, note string) error {
	for i, name := range names {
		if err := b.add(figure{Item: item, What: what + ", " + name, Value: micros(median(used[i])), Unit: "µs", Digits: 2, Note: note}); err != nil {
			return err
		}
	}
	return b.add(figure{Item: item, What: names[0] + " / " + names[1], Value: float64(median(used[0])) / float64(median(used[1])), Unit: "×", Digits: 2, Bar: bar})
}

// writer compares the SSE writer with writes straight to the connection.
func (b *bench) writer() error {
	const streams, events, rounds = 2000, 100, 3
	names := []string{"natural", "raw"}
	used := make([][]time.Duration, len(names))
	for range rounds {
		for i, name := range names {
			p, err := start(b.out, filepath.Join(b.bin, "micro"), "-mode", name, "-events", strconv.Itoa(events))
			if err != nil {
				return err
			}
			cpu, err := readPaced(p, streams, events)
			p.stop()
			if err != nil {
				return err
			}
			used[i] = append(used[i], cpu)
		}
	}
	return b.ratio("writer", "CPU per event, SSE writer only", names, used, 1.25, fmt.Sprintf("%d streams × 20/s", streams))
}

// readPaced reads n streams of the micro server and returns its CPU time per
// event, connecting left out.
func readPaced(p *process, n, events int) (time.Duration, error) {
	streams := make([]*stream, n)
	defer func() { closeAll(streams) }()
	slots := make(chan struct{}, 64)
	if err := all(n, func(i int) error {
		slots <- struct{}{}
		defer func() { <-slots }()
		s, err := p.open("GET", "/", "")
		streams[i] = s
		return err
	}); err != nil {
		return 0, err
	}
	before, err := p.cpu()
	if err != nil {
		return 0, err
	}
	var seen atomic.Int64
	err = all(n, func(i int) error {
		_, err := streams[i].read(func([]byte) error { seen.Add(1); return nil })
		return err
	})
	if err != nil {
		return 0, err
	}
	after, err := p.cpu()
	if err != nil {
		return 0, err
	}
	if seen.Load() != int64(n*events) {
		return 0, fmt.Errorf("%d events, want %d", seen.Load(), n*events)
	}
	return (after - before) / time.Duration(n*events), nil
}

// resume measures how long the second half of a long answer takes to be read
// again, after its end and while it runs.
func (b *bench) resume() error {
	const deltas, repeats = 2000, 200
	for _, running := range []bool{false, true} {
		p, err := b.ours("-coalesce", "-1ns")
		if err != nil {
			return err
		}
		defer p.stop()
		words, state := fmt.Sprintf("deltas=%d size=24", deltas), "ended"
		if running {
			words, state = words+" park", "running"
		}
		s, err := p.open("POST", "/v1/chat", ask(words))
		if err != nil {
			return err
		}
		defer s.close()
		// An answer that runs ends with its last delta; the next line would
		// never come.
		got := 0
		enough := errEnough
		if _, err := s.read(func([]byte) error {
			if got++; running && got == deltas {
				return enough
			}
			return nil
		}); err != nil && !errors.Is(err, enough) {
			return err
		}
		path := "/v1/messages/" + s.header["x-message-id"] + "/events?after=" + strconv.Itoa(deltas/2)
		took := make([]time.Duration, 0, repeats)
		for range repeats {
			began := time.Now()
			r, err := p.open("GET", path, "")
			if err != nil {
				return err
			}
			n := 0
			_, err = r.read(func([]byte) error {
				if n++; running && n == deltas/2+1 {
					return enough
				}
				return nil
			})
			took = append(took, time.Since(began))
			r.close()
			if err != nil && !errors.Is(err, enough) {
				return err
			}
			if n != deltas/2+1 {
				return fmt.Errorf("%d deltas after the middle", n)
			}
		}
		slices.Sort(took)
		for _, q := range []float64{0.5, 0.99} {
			if err := b.add(figure{Item: "resume", What: fmt.Sprintf("second half of 2,000 events, %s, p%g", state, q*100), Value: millis(quantile(took, q)), Unit: "ms", Digits: 2, Bar: 5,
				Note: fmt.Sprintf("%d repeats, request to last byte", repeats)}); err != nil {
				return err
			}
		}
	}
	return nil
}

// recommender compares when the end of the text is read with a recommender that
// thinks for a while behind it and without one, for a client that draws what it
// suggests.
func (b *bench) recommender() error {
	const deltas, answers, thinks = 100, 100, 100 * time.Millisecond
	names := []string{"with a recommender", "without"}
	args := [][]string{{"-recommend", thinks.String()}, nil}
	ends := make([][]time.Duration, len(names))
	var rest []time.Duration
	procs := make([]*process, len(names))
	defer func() {
		for _, p := range procs {
			if p != nil {
				p.stop()
			}
		}
	}()
	for i := range procs {
		p, err := b.ours(append([]string{"-coalesce", "-1ns"}, args[i]...)...)
		if err != nil {
			return err
		}
		procs[i] = p
	}
	for n := range answers + 10 {
		for i, p := range procs {
			began := time.Now()
			s, err := p.open("POST", "/v1/chat?capabilities=minara.feature_recommendation@1", ask(fmt.Sprintf("deltas=%d", deltas)))
			if err != nil {
				return err
			}
			err = s.readTo("text_end")
			end := time.Now()
			if err == nil && i == 0 {
				err = s.readTo("block_end") // the suggestion
			}
			if err == nil {
				err = s.readTo("done")
			}
			s.close()
			if err != nil {
				return fmt.Errorf("%s: %w", names[i], err)
			}
			if n < 10 { // compiled and warm
				continue
			}
			ends[i] = append(ends[i], end.Sub(began))
			if i == 0 {
				rest = append(rest, time.Since(end))
			}
		}
	}
	note := fmt.Sprintf("%d answers of %d deltas in turn, request to the end of the text read", answers, deltas)
	for i, name := range names {
		if err := b.add(figure{Item: "recommender", What: "end of the text, " + name + ", p50", Value: millis(median(ends[i])), Unit: "ms", Digits: 2, Note: note}); err != nil {
			return err
		}
	}
	if err := b.add(figure{Item: "recommender", What: "end of the text, with / without", Value: float64(median(ends[0])) / float64(median(ends[1])), Unit: "×", Digits: 2, Bar: 1.1}); err != nil {
		return err
	}
	return b.add(figure{Item: "recommender", What: "end of the turn after the end of the text, p50", Value: millis(median(rest)), Unit: "ms", Digits: 1,
		Note: fmt.Sprintf("the recommender thinks for %s", thinks)})
}
