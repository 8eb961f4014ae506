package turn_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// script is a model that plays one step after the other and keeps what it was
// asked.
type script struct {
	mu    sync.Mutex
	steps []step
	asked []model.Request
}

type step struct {
	text, reasoning string
	calls           []model.Call
	finish          model.Finish
	err             error
	// hold blocks after the text until the context ends.
	hold bool
	// each sends the text in pieces of this many bytes.
	each int
}

func (s *script) Info() model.Info { return model.Info{Kind: "test", Name: "script"} }

func (s *script) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	s.mu.Lock()
	s.asked = append(s.asked, req)
	if len(s.steps) == 0 {
		s.mu.Unlock()
		return model.Response{}, &model.Error{Code: model.CodeBadRequest, Message: "the script is over"}
	}
	st := s.steps[0]
	if len(s.steps) > 1 || !st.hold {
		s.steps = s.steps[1:]
	}
	s.mu.Unlock()
	resp := model.Response{Text: st.text, Reasoning: st.reasoning, Calls: st.calls, Finish: st.finish, Usage: model.Usage{InputTokens: 10, OutputTokens: 5}}
	if resp.Finish == "" {
		resp.Finish = model.FinishStop
		if len(st.calls) > 0 {
			resp.Finish = model.FinishToolCalls
		}
	}
	if st.reasoning != "" {
		if err := on(model.Delta{Reasoning: st.reasoning}); err != nil {
			return resp, err
		}
	}
	for rest := st.text; rest != ""; {
		n := len(rest)
		if st.each > 0 {
			n = min(n, st.each)
		}
		if err := on(model.Delta{Text: rest[:n]}); err != nil {
			return resp, err
		}
		rest = rest[n:]
	}
	if st.hold {
		<-ctx.Done()
		return resp, ctx.Err()
	}
	return resp, st.err
}

func (s *script) requests() []model.Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]model.Request(nil), s.asked...)
}

func call(id, name, args string) model.Call {
	c := model.Call{ID: id, Name: name, Raw: args}
	if json.Valid([]byte(args)) {
		c.Arguments = json.RawMessage(args)
	} else {
		c.Err = "not valid JSON"
	}
	return c
}

type rig struct {
	t      *testing.T
	store  store.Store
	model  *script
	runner *turn.Runner
	tools  *tool.Set
	dir    string
}

var alice = store.Owner{Tenant: "t1", User: "alice"}

// emptyDatabase is the file of a store without anything in it. It is made once
// and copied: making it takes longer than most tests.
var emptyDatabase = sync.OnceValues(func() ([]byte, error) {
	dir, err := os.MkdirTemp("", "turn")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "empty.db")
	s, err := sqlite.Open(context.Background(), sqlite.Options{Path: path})
	if err != nil {
		return nil, err
	}
	if err := s.Close(); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

func newRig(t *testing.T, cfg turn.Config, tools []tool.Tool, steps ...step) *rig {
	t.Helper()
	r := &rig{t: t, model: &script{steps: steps}, dir: t.TempDir()}
	path := filepath.Join(r.dir, "test.db")
	empty, err := emptyDatabase()
	if err == nil {
		err = os.WriteFile(path, empty, 0o600)
	}
	if err != nil {
		t.Fatal(err)
	}
	if r.store, err = sqlite.Open(t.Context(), sqlite.Options{Path: path}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.store.Close() })
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cfg.Cards.All() {
		if err := reg.Register(c.Type); err != nil {
			t.Fatal(err)
		}
	}
	if r.tools, err = tool.NewSet(tools...); err != nil {
		t.Fatal(err)
	}
	cfg.Store, cfg.Tools, cfg.Registry = r.store, r.tools, reg
	if cfg.Model == nil {
		cfg.Model = r.model
	}
	if cfg.Limits.Coalesce == 0 {
		cfg.Limits.Coalesce = -1
	}
	if r.runner, err = turn.New(cfg); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		_ = r.runner.Shutdown(ctx)
	})
	return r
}

// ask runs a turn to its end and returns its events and its fold.
func (r *rig) ask(text string) (turn.Started, []event.Event, event.State) {
	r.t.Helper()
	s := r.start(turn.Request{Text: text})
	evs, st := r.wait(s)
	return s, evs, st
}

func (r *rig) start(req turn.Request) turn.Started {
	r.t.Helper()
	if req.Owner == (store.Owner{}) {
		req.Owner = alice
	}
	req.Caller.User, req.Caller.Tenant = req.Owner.User, req.Owner.Tenant
	s, err := r.runner.Start(r.t.Context(), req)
	if err != nil {
		r.t.Fatalf("start: %v", err)
	}
	return s
}

func (r *rig) wait(s turn.Started) ([]event.Event, event.State) {
	r.t.Helper()
	ctx, cancel := context.WithTimeout(r.t.Context(), 30*time.Second)
	defer cancel()
	var evs []event.Event
	f := event.NewFolder(s.Msg)
	g := event.NewGuard(s.Msg)
	for ev, err := range r.store.Tail(ctx, s.Msg, 0) {
		if err != nil {
			r.t.Fatalf("tail: %v", err)
		}
		if err := g.Check(ev); err != nil {
			r.t.Fatalf("unlawful: %v", err)
		}
		evs = append(evs, ev)
		f.Apply(ev)
	}
	if g.Open() {
		r.t.Fatal("the log has no end")
	}
	return evs, f.State()
}

func types(evs []event.Event) string {
	var out []string
	for _, ev := range evs {
		out = append(out, string(ev.Type))
	}
	return strings.Join(out, " ")
}

func (r *rig) lastTold() []string {
	reqs := r.model.requests()
	var told []string
	for _, m := range reqs[len(reqs)-1].Messages {
		if m.Role == model.RoleTool {
			told = append(told, m.Content)
		}
	}
	return told
}

type quarter struct {
	Quarter string `json:"quarter" pattern:"^[0-9]{4}Q[1-4]$"`
}

func sales(region string) block.Chart {
	return block.Chart{
		Type: "bar", Title: "Sales", X: &block.ChartX{Field: "region"},
		Series: []block.ChartSeries{{Field: "amount", Name: "Sales"}},
		Data:   []map[string]any{{"region": region, "amount": 320}, {"region": "South", "amount": 210}},
	}
}

func chartTool(t *testing.T, name string, run func(ctx context.Context, q quarter, out *tool.Out) error) tool.Tool {
	t.Helper()
	tl, err := tool.New(tool.Spec{
		Name: name, Description: "Show sales.", Refreshable: true,
		Title: map[string]string{"": "Looked up sales"},
		Block: &tool.BlockSpec{Type: "chart", Title: "Sales", Height: 320},
	}, run)
	if err != nil {
		t.Fatal(err)
	}
	return tl
}

func okTool(t *testing.T) tool.Tool {
	return chartTool(t, "show_sales", func(ctx context.Context, q quarter, out *tool.Out) error { return out.Chart(sales("East")) })
}

var errBackend = errors.New("dial tcp 10.0.0.1:5432: connection refused")

func text(st event.State) string {
	var out []string
	for _, b := range st.Blocks {
		if b.Type == "text" {
			var s string
			_ = json.Unmarshal(b.Payload, &s)
			out = append(out, s)
		} else {
			out = append(out, fmt.Sprintf("<%s %s>", b.Type, b.Status))
		}
	}
	return strings.Join(out, "|")
}
