// Command server is the product with a model in its own process that answers
// as fast, or as slowly, as a measurement wants. Everything else is the real
// thing: configuration, HTTP, turns, log and store.
//
// The question says what the answer is: "deltas=500 every=50ms". With -recommend
// a recommender looks at every answer for that long and then suggests a page.
// With -cards what the answer has of cards becomes cards, otherwise it stays text.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"net/http/pprof"
	"os"
	"os/signal"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store/memory"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "server:", err)
		os.Exit(1)
	}
}

func run() error {
	addr := flag.String("addr", "127.0.0.1:0", "where to listen")
	data := flag.String("data", "", "data directory; a temporary one when empty")
	backend := flag.String("store", "sqlite", "sqlite or memory")
	coalesce := flag.Duration("coalesce", 0, "limits.coalesce: 0 is the default, -1ns is off")
	recommend := flag.Duration("recommend", 0, "time that the recommender takes; 0 is none")
	cards := flag.Bool("cards", false, "read cards in the answers")
	flag.Parse()

	dir := *data
	if dir == "" {
		var err error
		if dir, err = os.MkdirTemp("", "inlay-bench-"); err != nil {
			return err
		}
		defer os.RemoveAll(dir)
	}
	off := false
	llm := &fixed{gate: make(chan struct{}), recommend: *recommend}
	recommends := *recommend > 0
	cfg := inlay.Config{
		Data: dir, LLM: llm, Demo: &off, Limits: inlay.LimitsConfig{Coalesce: *coalesce},
		Allow:       inlay.AllowConfig{Routes: []string{"/sales"}},
		Recommender: inlay.RecommenderConfig{Enabled: &recommends, Timeout: 30 * time.Second},
	}
	switch *backend {
	case "sqlite":
	case "memory":
		cfg.Backend = memory.New()
	default:
		return fmt.Errorf("-store: %q is neither sqlite nor memory", *backend)
	}
	if *cards {
		cfg.Limits.Blocks, cfg.Limits.OptionalBlocks = 1000, 1000
	}
	app, err := inlay.New(cfg)
	if err != nil {
		return err
	}
	if *cards {
		if err := app.AddCards(inlay.PresetCard("ProductCard", product), inlay.PresetCard("TrainCard", train)); err != nil {
			return err
		}
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	listen := net.ListenConfig{}
	ln, err := listen.Listen(ctx, "tcp", *addr)
	if err != nil {
		return err
	}
	side, err := listen.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go func() {
		if err := http.Serve(side, llm.control()); err != nil && !errors.Is(err, net.ErrClosed) {
			fmt.Fprintln(os.Stderr, "server:", err)
		}
	}()
	return app.Serve(ctx, ln, func() {
		fmt.Printf("ready http://%s http://%s\n", ln.Addr(), side.Addr())
	})
}

// fixed answers with numbered words.
type fixed struct {
	mu        sync.Mutex
	gate      chan struct{}
	recommend time.Duration
}

// control opens the gate, tells what memory is used for and serves profiles.
func (m *fixed) control() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /open", func(http.ResponseWriter, *http.Request) {
		m.mu.Lock()
		defer m.mu.Unlock()
		close(m.gate)
		m.gate = make(chan struct{})
	})
	mux.HandleFunc("GET /memory", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Has("gc") {
			debug.FreeOSMemory()
		}
		var s runtime.MemStats
		runtime.ReadMemStats(&s)
		fmt.Fprintf(w, "heap %d stack %d idle %d sys %d goroutines %d\n", s.HeapAlloc, s.StackInuse, s.HeapIdle-s.HeapReleased, s.Sys-s.HeapReleased, runtime.NumGoroutine())
	})
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	return mux
}

// Info implements model.Model.
func (*fixed) Info() model.Info { return model.Info{Kind: "bench", Name: "in-process"} }

// answer is what a question asks for.
type answer struct {
	deltas int
	every  time.Duration
	// size is the length of a delta.
	size int
	// stamp puts the time into each delta.
	stamp bool
	// gate waits for the gate to open after that many deltas; 0 does not wait.
	// If that is more than one, those before come without delay.
	gate int
	// markdown writes marked-up text instead of one line, cards such text with
	// cards in it.
	markdown, cards bool
	// park waits for the turn to be stopped after the last one.
	park bool
}

func parse(text string) (answer, error) {
	a := answer{size: 6}
	for word := range strings.FieldsSeq(text) {
		name, value, _ := strings.Cut(word, "=")
		var err error
		switch name {
		case "deltas":
			a.deltas, err = strconv.Atoi(value)
		case "size":
			a.size, err = strconv.Atoi(value)
		case "every":
			a.every, err = time.ParseDuration(value)
		case "stamp":
			a.stamp = true
		case "markdown":
			a.markdown = true
		case "cards":
			a.cards = true
		case "gate":
			a.gate = 1
			if value != "" {
				a.gate, err = strconv.Atoi(value)
			}
		case "park":
			a.park = true
		}
		if err != nil {
			return a, err
		}
	}
	return a, nil
}

// filler is what deltas are cut from.
var filler = strings.Repeat("East leads with a third of all sales, North follows and South is last. ", 64)

// markup is filler with all that Markdown has, about 1,000 characters.
const markup = `## Sales of the third quarter

East leads with **a third** of all sales, *North* follows and South is last. The figures are in thousands, see ` + "`sales.csv`" + `.

1. East grew by 12 % over the year before, most of it in September.
2. North kept its level although two shops were closed for weeks.
3. South fell by 4 %; the new shop opens in October.

| Region | Sales | Share |
| ------ | ----: | ----: |
| East   | 1,204 |  34 % |
| North  |   963 |  27 % |
| South  |   412 |  12 % |

` + "```sql\nSELECT region, sum(amount)\nFROM sales\nGROUP BY region\nORDER BY 2 DESC;\n```" + `

> Sums may differ by one because they are rounded.

`

// chapter is a part of an answer with cards, about 1,000 characters.
const chapter = `## Day %[1]d

The early train is **direct** and has a quiet car, so it suits who wants to work on the way; the later one is cheaper and *slower*. 早班直达，适合赶时间的人。

[(TrainCard:S-%[1]d)]

Things to take along, see also the [list](https://example.com/list?day=%[1]d):

1. A watch whose battery lasts for the whole trip, as there is nowhere to charge it.
2. Shoes for wet weather. It rains on ` + "`2 of 3`" + ` days at this time of the year.

` + "```ProductCard\n{\"id\": \"p-%[1]d\", \"title\": \"Sample watch %[1]d\", \"reason\": \"Light, and made for running.\"}\n```" + `

| Train | Leaves | Price |
| ----- | -----: | ----: |
| S-%[1]d | 07:05 | 120.00 |
| L-%[1]d | 09:40 | 85.50 |

` + "```sh\ncurl -s https://example.com/trains |\n  jq '.[] | select(.day == %[1]d)'\n```" + `

> Prices are samples and may differ from those at the counter.

The rest of the day needs no plan: the old town is small, everything is within reach on foot, and most of what is worth seeing is free. 老城很小，步行即可。

`

// days are at least n characters of an answer with cards.
func days(n int) []rune {
	var text []rune
	for day := 1; len(text) < n; day++ {
		text = append(text, []rune(fmt.Sprintf(chapter, day))...)
	}
	return text
}

// product is what the server says of products.
func product(_ context.Context, ids []string) (map[string]json.RawMessage, error) {
	return each(ids, func(id string) any {
		price, stock := 899.0, 12
		return inlay.ProductCard{ID: id, Title: "Sample watch", Description: "A sample.", Price: &price, Currency: "CNY", Stock: &stock}
	})
}

// train is what the server says of trains.
func train(_ context.Context, ids []string) (map[string]json.RawMessage, error) {
	return each(ids, func(id string) any {
		return inlay.TrainCard{ID: id, From: "Sample East", To: "Sample West", Departure: "2026-12-01T07:05:00+08:00", Arrival: "2026-12-01T09:20:00+08:00"}
	})
}

func each(ids []string, payload func(id string) any) (map[string]json.RawMessage, error) {
	found := make(map[string]json.RawMessage, len(ids))
	for _, id := range ids {
		raw, err := json.Marshal(payload(id))
		if err != nil {
			return nil, err
		}
		found[id] = raw
	}
	return found, nil
}

// Stream implements model.Model.
func (m *fixed) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	if req.ToolChoice != model.ToolAuto {
		return m.suggest(ctx, req)
	}
	a, err := parse(req.Messages[len(req.Messages)-1].Content)
	if err != nil {
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: err.Error()}
	}
	m.mu.Lock()
	gate := m.gate
	m.mu.Unlock()
	var text strings.Builder
	var tick *time.Ticker
	if a.every > 0 {
		tick = time.NewTicker(a.every)
		defer tick.Stop()
	}
	filler, at := filler, 0
	if a.markdown {
		filler = strings.Repeat(markup, 8)
	}
	var chapters []rune
	if a.cards {
		chapters = days(a.deltas * a.size)
	}
	for i := range a.deltas {
		if i > 0 && i == a.gate {
			select {
			case <-gate:
			case <-ctx.Done():
				return model.Response{Text: text.String()}, ctx.Err()
			}
		}
		if tick != nil && (a.gate <= 1 || i >= a.gate) {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return model.Response{Text: text.String()}, ctx.Err()
			}
		}
		var piece string
		if a.cards {
			piece = string(chapters[i*a.size : (i+1)*a.size])
		} else {
			if at+a.size > len(filler) {
				at = 0
			}
			piece = filler[at : at+a.size]
			at += a.size
		}
		if a.stamp {
			piece = strconv.FormatInt(time.Now().UnixNano(), 10) + " " + piece
		}
		text.WriteString(piece)
		if err := on(model.Delta{Text: piece}); err != nil {
			return model.Response{Text: text.String()}, err
		}
	}
	if a.park {
		<-ctx.Done()
		return model.Response{Text: text.String()}, ctx.Err()
	}
	return model.Response{Text: text.String(), Finish: model.FinishStop, Usage: model.Usage{InputTokens: 10, OutputTokens: a.deltas}}, nil
}

// suggest answers the recommender after its time.
func (m *fixed) suggest(ctx context.Context, req model.Request) (model.Response, error) {
	select {
	case <-ctx.Done():
		return model.Response{}, ctx.Err()
	case <-time.After(m.recommend):
	}
	const arguments = `{"items":[{"label":"Sales","hint":null,"icon":"chart","kind":"route","target":"/sales"}],"reason":"it was asked for"}`
	return model.Response{
		Calls:  []model.Call{{ID: "1", Name: string(req.ToolChoice), Arguments: []byte(arguments), Raw: arguments}},
		Finish: model.FinishToolCalls, Usage: model.Usage{InputTokens: 10, OutputTokens: 10},
	}, nil
}
