package emit_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// log keeps what is appended and fails as it is told to.
type log struct {
	store.Log
	mu    sync.Mutex
	fail  []error
	gate  chan struct{}
	evs   []event.Event
	calls int
}

func (l *log) Append(ctx context.Context, _ store.Lease, evs ...event.Event) error {
	if l.gate != nil {
		<-l.gate
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.calls++
	if len(l.fail) > 0 {
		err := l.fail[0]
		l.fail = l.fail[1:]
		if err != nil {
			return err
		}
	}
	l.evs = append(l.evs, evs...)
	return nil
}

func (l *log) events() iter.Seq2[event.Event, error] {
	return func(yield func(event.Event, error) bool) {
		l.mu.Lock()
		evs := l.evs
		l.mu.Unlock()
		for _, ev := range evs {
			if !yield(ev, nil) {
				return
			}
		}
	}
}

func (l *log) types() string {
	var out []string
	for ev := range l.events() {
		out = append(out, string(ev.Type))
	}
	return strings.Join(out, " ")
}

func open(t *testing.T, l *log, cfg emit.Config) *emit.Stream {
	t.Helper()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	cfg.Log, cfg.Registry, cfg.Lease = l, reg, store.Lease{Msg: "m_1", Group: 1, Epoch: 1}
	s := emit.New(context.Background(), cfg)
	if err := s.Start(event.StartData{ConversationID: "c_1"}); err != nil {
		t.Fatal(err)
	}
	return s
}

func end(t *testing.T, s *emit.Stream) event.State {
	t.Helper()
	if _, err := s.Settle(context.Background(), block.Error{Code: "INTERRUPTED"}); err != nil {
		t.Fatal(err)
	}
	if err := s.Done(event.DoneData{FinishReason: "stop"}); err != nil {
		t.Fatal(err)
	}
	st, err := s.Close()
	if err != nil {
		t.Fatal(err)
	}
	return st
}

const table = `{"columns":[{"field":"n","label":"N"}],"rows":[]}`

func TestLawful(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	for _, w := range []string{"a", "b"} {
		if err := s.Text(w); err != nil {
			t.Fatal(err)
		}
	}
	b, err := s.Open(emit.Opening{Type: "table"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delta(json.RawMessage(`[{"op":"add","path":"","value":` + table + `}]`)); err != nil {
		t.Fatal(err)
	}
	if err := b.Delta(json.RawMessage(`[{"op":"remove","path":"/nope"}]`)); err == nil {
		t.Error("a patch that does not apply was written")
	}
	if err := b.Delta(json.RawMessage(`[{"op":"add","path":"/rows/-","value":{"n":1}}]`)); err != nil {
		t.Fatal(err)
	}
	if err := b.End(emit.Finished{}); err != nil {
		t.Fatal(err)
	}
	if err := b.End(emit.Finished{}); !errors.Is(err, emit.ErrClosed) {
		t.Errorf("a second end: %v", err)
	}
	st := end(t, s)
	if got, want := l.types(), "start text_delta text_delta text_end block_start block_delta block_delta block_end done"; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	g := event.NewGuard("m_1")
	for ev := range l.events() {
		if err := g.Check(ev); err != nil {
			t.Error(err)
		}
	}
	if string(st.Blocks[1].Payload) != strings.Replace(table, "[]}", `[{"n":1}]}`, 1) {
		t.Errorf("payload %s", st.Blocks[1].Payload)
	}
	if err := s.Text("late"); !errors.Is(err, emit.ErrClosed) {
		t.Errorf("text after the end: %v", err)
	}
}

// TestLargePayload expects a payload over one event's size only from deltas.
func TestLargePayload(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	b, err := s.Open(emit.Opening{Type: "table"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delta(json.RawMessage(`[{"op":"add","path":"","value":` + table + `}]`)); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		var ops []string
		for j := range 50 {
			ops = append(ops, fmt.Sprintf(`{"op":"add","path":"/rows/-","value":{"n":%d%030d}}`, i+1, j))
		}
		if err := b.Delta(json.RawMessage("[" + strings.Join(ops, ",") + "]")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.End(emit.Finished{}); err != nil {
		t.Fatal(err)
	}
	// One that comes in one piece is cut at its list.
	var rows []string
	for i := range 3000 {
		rows = append(rows, fmt.Sprintf(`{"n":%d}`, i), `{"n":null}`)
	}
	inOne := strings.Replace(table, `"rows":[]`, `"rows":[`+strings.Join(rows, ",")+`]`, 1)
	one, err := s.Open(emit.Opening{Type: "table"})
	if err != nil {
		t.Fatal(err)
	}
	if err := one.End(emit.Finished{Payload: json.RawMessage(inOne)}); err != nil {
		t.Fatal(err)
	}
	whole, err := s.Open(emit.Opening{Type: "code"})
	if err != nil {
		t.Fatal(err)
	}
	big, _ := json.Marshal(block.Code{Lang: "text", Source: strings.Repeat("x", emit.MaxPayload)})
	if err := whole.End(emit.Finished{Payload: big}); !errors.Is(err, emit.ErrTooLarge) {
		t.Errorf("a large payload in one piece: %v", err)
	}
	st := end(t, s)
	if n := strings.Count(string(st.Blocks[0].Payload), `"n":`); n != 2000 {
		t.Errorf("%d rows, want 2000", n)
	}
	for ev := range l.events() {
		if n := event.Size(ev); n > event.MaxSize {
			t.Errorf("event %d has %d bytes", ev.Seq, n)
		}
		if ev.Type == event.BlockEnd && !strings.Contains(string(ev.Data), `"built":true,"digest":"sha256:`) {
			t.Errorf("block_end %s", ev.Data)
		}
	}
	if got := string(st.Blocks[1].Payload); got != inOne {
		t.Errorf("the cut payload is put together as %d bytes, want %d", len(got), len(inOne))
	}
	if e := st.Blocks[2].Err; e == nil || e.Code != block.CodePayloadTooLarge {
		t.Errorf("error %+v", e)
	}
}

func TestCapsAndCapabilities(t *testing.T) {
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	l := &log{}
	s := open(t, l, emit.Config{Caps: reg.Negotiate("table@1", true), Cap: 2})
	code := func(o emit.Opening) string {
		b, err := s.Open(o)
		var r *emit.Refusal
		if errors.As(err, &r) {
			return r.Code
		}
		if err != nil {
			t.Fatal(err)
		}
		if !b.Drawable {
			return "degraded"
		}
		return "ok"
	}
	for _, c := range []struct {
		o    emit.Opening
		want string
	}{
		{emit.Opening{Type: "nope"}, emit.CodeUnknownType},
		{emit.Opening{Type: "chart", Version: 9}, emit.CodeUnknownType},
		{emit.Opening{Type: "chart", Producer: emit.ProducerModel}, emit.CodeNotSupported},
		{emit.Opening{Type: "chart", Producer: emit.ProducerMarkup}, "degraded"},
		{emit.Opening{Type: "table", Producer: emit.ProducerModel}, "ok"},
		{emit.Opening{Type: "table", Producer: emit.ProducerModel}, emit.CodeTurnCap},
		{emit.Opening{Type: "table"}, "ok"},
		{emit.Opening{Type: "chart"}, "degraded"},
		{emit.Opening{Type: "table"}, emit.CodeTurnCap},
	} {
		if got := code(c.o); got != c.want {
			t.Errorf("%+v: %s, want %s", c.o, got, c.want)
		}
	}
	end(t, s)
}

// TestBusyLog expects a log that is busy for a while to lose nothing, and one
// that is lost to be told to whoever writes.
func TestBusyLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{fail: []error{store.ErrBusy, store.ErrFull, nil}}
		s := open(t, l, emit.Config{})
		if err := s.Text("kept"); err != nil {
			t.Fatal(err)
		}
		end(t, s)
		if got := l.types(); got != "start text_delta text_end done" {
			t.Errorf("log %s", got)
		}

		l = &log{fail: []error{nil, store.ErrStaleLease}}
		s = open(t, l, emit.Config{})
		if err := s.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		_ = s.Text("lost")
		if err := s.Flush(t.Context()); !errors.Is(err, store.ErrStaleLease) {
			t.Errorf("flush: %v", err)
		}
		if err := s.Text("more"); !errors.Is(err, store.ErrStaleLease) {
			t.Errorf("text: %v", err)
		}
		if _, err := s.Close(); !errors.Is(err, store.ErrStaleLease) {
			t.Errorf("close: %v", err)
		}
	})
}

// TestJoining expects the first delta at once and later ones joined.
func TestJoining(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{}
		s := open(t, l, emit.Config{Coalesce: 30 * time.Millisecond})
		for range 100 {
			if err := s.Text("x"); err != nil {
				t.Fatal(err)
			}
			time.Sleep(time.Millisecond)
		}
		st := end(t, s)
		var text string
		_ = json.Unmarshal(st.Blocks[0].Payload, &text)
		deltas := strings.Count(l.types(), "text_delta")
		if len(text) != 100 || deltas < 3 || deltas > 6 {
			t.Errorf("%d bytes in %d deltas", len(text), deltas)
		}
	})
}

// TestSlowLogHoldsProducers expects memory to be bounded while the log stands
// still.
func TestSlowLogHoldsProducers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{gate: make(chan struct{})}
		s := open(t, l, emit.Config{})
		written := 0
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 1000 {
				if s.Text(strings.Repeat("x", 8<<10)) != nil {
					return
				}
				written++
			}
		}()
		synctest.Wait()
		if written > 300 { // one batch under way, one waiting
			t.Errorf("%d deltas were taken while nothing was stored", written)
		}
		close(l.gate)
		<-done
		if written != 1000 {
			t.Errorf("%d deltas written in the end", written)
		}
		end(t, s)
	})
}

// TestConcurrentBlocks expects many writers to keep one lawful log.
func TestConcurrentBlocks(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{Cap: 100})
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			b, err := s.Open(emit.Opening{Type: "table"})
			if err != nil {
				t.Error(err)
				return
			}
			_ = s.Text("t")
			if err := b.End(emit.Finished{Payload: json.RawMessage(table)}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
	end(t, s)
	g := event.NewGuard("m_1")
	for ev := range l.events() {
		if err := g.Check(ev); err != nil {
			t.Fatal(err)
		}
	}
}

// TestCharactersInPieces expects text that arrives cut inside characters to be
// joined, and bytes that are no text to end.
func TestCharactersInPieces(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"东区 📈 naïve", "东区 📈 naïve"},
		{"a\xff\xffb", "a\ufffd\ufffdb"},
		{"cut \xe4\xb8", "cut \ufffd\ufffd"},
		{strings.Repeat("\x80", 40<<10), strings.Repeat("\ufffd", 40<<10)},
		{strings.Repeat("é", 40<<10), strings.Repeat("é", 40<<10)},
	} {
		for _, piece := range []int{1, 3, len(c.in)} {
			if len(c.in) > 1000 && piece < 1000 {
				continue
			}
			l := &log{}
			s := open(t, l, emit.Config{})
			for in := c.in; in != ""; {
				n := min(piece, len(in))
				if err := s.Text(in[:n]); err != nil {
					t.Fatal(err)
				}
				if err := s.Reasoning(in[:n]); err != nil {
					t.Fatal(err)
				}
				in = in[n:]
			}
			st := end(t, s)
			var text string
			_ = json.Unmarshal(st.Blocks[0].Payload, &text)
			if text != c.want {
				t.Errorf("%.20q in pieces of %d: %.40q", c.in, piece, text)
			}
		}
	}
}

// TestOrderWhileTheLogIsBehind expects what is written while producers wait to
// keep its order.
func TestOrderWhileTheLogIsBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{gate: make(chan struct{})}
		s := open(t, l, emit.Config{Coalesce: 10 * time.Millisecond})
		var want strings.Builder
		say := func(text string) {
			want.WriteString(text)
			if err := s.Text(text); err != nil {
				t.Error(err)
			}
		}
		done := make(chan struct{})
		go func() {
			defer close(done)
			say("begin ")
			say("x")
			for i := range 6 {
				var b strings.Builder
				for j := range 60_000 {
					fmt.Fprintf(&b, "%d.%d ", i, j)
				}
				say(b.String())
			}
			if err := s.EndText(); err != nil {
				t.Error(err)
			}
		}()
		go func() {
			time.Sleep(time.Second)
			close(l.gate)
		}()
		<-done
		st := end(t, s)
		var text string
		_ = json.Unmarshal(st.Blocks[0].Payload, &text)
		if text != want.String() {
			t.Errorf("%d bytes of text, want %d, or another order", len(text), want.Len())
		}
	})
}

// TestMarkupIsNotInflated expects a payload's size to be its own.
func TestMarkupIsNotInflated(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	b, err := s.Open(emit.Opening{Type: "code", Meta: block.Meta{Title: strings.Repeat("长", 100_000)}})
	if err != nil {
		t.Fatal(err)
	}
	payload := json.RawMessage(`{"lang":"html","source":"` + strings.Repeat("<b>&</b>", 6500) + `"}`)
	if err := b.End(emit.Finished{Payload: payload}); err != nil {
		t.Fatal(err)
	}
	st := end(t, s)
	if string(st.Blocks[0].Payload) != string(payload) || len(st.Blocks[0].Meta.Title) > emit.MaxTitle {
		t.Errorf("payload of %d bytes, want %d; title of %d", len(st.Blocks[0].Payload), len(payload), len(st.Blocks[0].Meta.Title))
	}
}

// TestPayloadsAreCleaned: a signed address never reaches the log, neither in a
// whole payload nor in one that deltas built.
func TestPayloadsAreCleaned(t *testing.T) {
	const file = `{"assetId":"a_1","name":"q3.csv","mime":"text/csv","size":3,"url":"https://files.example.com/a_1?sig=secret"}`
	for name, finish := range map[string]func(b *emit.Block) error{
		"whole": func(b *emit.Block) error { return b.End(emit.Finished{Payload: json.RawMessage(file)}) },
		"built": func(b *emit.Block) error {
			if err := b.Delta(json.RawMessage(`[{"op":"add","path":"","value":` + file + `}]`)); err != nil {
				return err
			}
			return b.End(emit.Finished{})
		},
	} {
		l := &log{}
		s := open(t, l, emit.Config{})
		b, err := s.Open(emit.Opening{Type: "file"})
		if err != nil {
			t.Fatal(err)
		}
		if err := finish(b); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		st := end(t, s)
		var got block.File
		if err := json.Unmarshal(st.Blocks[0].Payload, &got); err != nil {
			t.Fatal(err)
		}
		if got.URL != "" || got.AssetID != "a_1" || got.Size != 3 {
			t.Errorf("%s: the payload is %+v", name, got)
		}
		for ev := range l.events() {
			if strings.Contains(string(ev.Data), "secret") {
				t.Errorf("%s: the log has %s", name, ev.Data)
			}
		}
	}
}

// TestLargeBuiltPayloadIsCleaned: what the log keeps of the deltas is clean as
// well.
func TestLargeBuiltPayloadIsCleaned(t *testing.T) {
	l := &log{}
	reg, err := block.NewRegistry(block.Type{
		Name: "app.rows", Version: 1, Class: block.ClassDisplay, Source: block.SourceApp, Schema: json.RawMessage(`{"type":"object"}`),
		Fallback: func(json.RawMessage) string { return "rows" },
		Clean: func(p json.RawMessage) (json.RawMessage, error) {
			return json.RawMessage(strings.Replace(string(p), `"secret":1,`, "", 1)), nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := emit.New(context.Background(), emit.Config{Log: l, Registry: reg, Lease: store.Lease{Msg: "m_1", Group: 1, Epoch: 1}})
	if err := s.Start(event.StartData{ConversationID: "c_1"}); err != nil {
		t.Fatal(err)
	}
	b, err := s.Open(emit.Opening{Type: "app.rows"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delta(json.RawMessage(`[{"op":"add","path":"","value":{"secret":1,"rows":[]}}]`)); err != nil {
		t.Fatal(err)
	}
	row := `{"op":"add","path":"/rows/-","value":"` + strings.Repeat("x", 10<<10) + `"}`
	for range 8 {
		if err := b.Delta(json.RawMessage("[" + row + "]")); err != nil {
			t.Fatal(err)
		}
	}
	if err := b.End(emit.Finished{}); err != nil {
		t.Fatal(err)
	}
	if st := end(t, s); strings.Contains(string(st.Blocks[0].Payload), "secret") || len(st.Blocks[0].Payload) < 80<<10 {
		t.Errorf("payload of %d bytes: %.60s", len(st.Blocks[0].Payload), st.Blocks[0].Payload)
	}
}

// TestServerOnly: what nobody's code made may not be of a type that only code
// makes.
func TestServerOnly(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	var refusal *emit.Refusal
	if _, err := s.Open(emit.Opening{Type: "echarts_raw", Producer: emit.ProducerModel}); !errors.As(err, &refusal) || refusal.Code != emit.CodeUnknownType {
		t.Errorf("optional: %v", err)
	}
	b, err := s.Open(emit.Opening{Type: "echarts_raw"})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.End(emit.Finished{Payload: json.RawMessage(`{"option":{"tooltip":{"formatter":"<img src=x>"}}}`)}); err == nil {
		t.Error("HTML in an option was logged")
	}
	end(t, s)
}

// TestWhatIsLeftOpen: a block that no tool made is not offered for a retry,
// which could only fail.
func TestWhatIsLeftOpen(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	for _, tool := range []string{"export", ""} {
		if _, err := s.Open(emit.Opening{Type: "file", Meta: block.Meta{Tool: tool}}); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := s.Settle(context.Background(), block.Error{Code: "INTERRUPTED", Retryable: true}); err != nil {
		t.Fatal(err)
	}
	st, err := event.Fold(l.events())
	if err != nil {
		t.Fatal(err)
	}
	if len(st.Blocks) != 2 || !st.Blocks[0].Err.Retryable || st.Blocks[1].Err.Retryable {
		t.Errorf("blocks %+v", st.Blocks)
	}
}
