// Package inlay serves assistants whose answers are not a string of Markdown
// but an ordered array of blocks: text, charts, tables, key figures, code.
//
// An App is a whole installation: the agent loop against any OpenAI-compatible
// model, the tools that fetch real data, the durable log that every reader
// resumes from, the HTTP API and the chat page. Embedding one takes a few
// lines:
//
//	app, err := inlay.New(inlay.Config{})
//	if err != nil { … }
//	err = app.AddTools(inlay.NewTool("show_sales", "Show sales of a quarter.",
//		func(ctx context.Context, args Args, out *inlay.Out) error {
//			return out.Chart(inlay.Chart{ … })
//		}))
//	if err != nil { … }
//	err = app.ListenAndServe(ctx)
//
// The packages below are its parts, each usable alone: block and event are the
// vocabulary, turn the agent loop, store the log and records, wire the
// dialects, server the HTTP API.
package inlay

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/action/declared"
	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/demo"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/server"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
	"github.com/inlay-ui/inlay/web"
)

// The words of tools and blocks, so that most programs import one package.
type (
	// Tool is one thing the model may call.
	Tool = tool.Tool
	// Out is what a tool writes to.
	Out = tool.Out
	// ToolSpec describes a tool.
	ToolSpec = tool.Spec
	// BlockSpec announces the block of a tool.
	BlockSpec = tool.BlockSpec
	// ToolError is a failure that a tool words itself.
	ToolError = tool.Error
	// Caller is on whose behalf a tool runs.
	Caller = tool.Caller

	// BlockType is a registered block type.
	BlockType = block.Type
	// Meta is what a client may need beside a block's payload.
	Meta = block.Meta
	// Action is something a person can do with a block.
	Action = block.Action
	// Chart is the payload of a chart.
	Chart = block.Chart
	// ChartX is the field that a chart's values are laid out by.
	ChartX = block.ChartX
	// ChartSeries is one series of a chart.
	ChartSeries = block.ChartSeries
	// Table is the payload of a table.
	Table = block.Table
	// TableColumn is one column of a table.
	TableColumn = block.TableColumn
	// MetricItem is one key figure.
	MetricItem = block.MetricItem
	// Metric is the payload of key figures.
	Metric = block.Metric
	// Code is the payload of source code.
	Code = block.Code
	// Query is the payload of a statement that can be run.
	Query = block.Query
	// QueryTimeRange is the time that a query looks at.
	QueryTimeRange = block.QueryTimeRange
	// File is the payload of a file, by reference.
	File = block.File
	// Image is the payload of a picture, by reference.
	Image = block.Image
	// Card is the payload of one thing with its figures.
	Card = block.Card
	// CardField is a label with its value.
	CardField = block.CardField
	// CardStatus is a word on a card's state.
	CardStatus = block.CardStatus
	// CardImage is a card's picture.
	CardImage = block.CardImage
	// CardList is the payload of several cards.
	CardList = block.CardList
	// CardListItem is a card of a list.
	CardListItem = block.CardListItem
	// CardItemAction is an action of the block as shown on an item.
	CardItemAction = block.CardItemAction
	// Recommendation is the payload of one or two next steps.
	Recommendation = block.Recommendation
	// RecommendationItem is one of them: a button.
	RecommendationItem = block.RecommendationItem
	// RecommendationAction is where a button leads.
	RecommendationAction = block.RecommendationAction
	// Form is the payload of fields to fill in.
	Form = block.Form
	// Confirm is the payload of a question whether something may be done.
	Confirm = block.Confirm
	// Question is the payload of a question to the person.
	Question = block.Question
	// Steps is the payload of a job's steps.
	Steps = block.Steps
	// StepItem is one step of a job.
	StepItem = block.StepItem
	// Tree is the payload of an interface made of known parts.
	Tree = block.Tree
	// TreeNode is one part of a tree.
	TreeNode = block.TreeNode
	// TreeAction is what a click on a part does.
	TreeAction = block.TreeAction
	// ECharts is the payload of a chart made by code.
	ECharts = block.ECharts
)

// CallerFrom returns on whose behalf a tool runs.
func CallerFrom(ctx context.Context) Caller { return tool.CallerFrom(ctx) }

// NewTool makes a tool of a function. The JSON Schema of its arguments is
// derived from Args; run gets them decoded and checked. It panics when no
// schema can be derived, which is a mistake in the program; NewToolSpec
// returns the error and takes the rest of a tool's description.
func NewTool[Args any](name, description string, run func(ctx context.Context, args Args, out *Out) error) Tool {
	t, err := tool.New(tool.Spec{Name: name, Description: description}, run)
	if err != nil {
		panic("inlay.NewTool: " + err.Error())
	}
	return t
}

// NewToolSpec makes a tool of a function with a whole Spec: an announced
// block, a title for people, a time limit.
func NewToolSpec[Args any](spec ToolSpec, run func(ctx context.Context, args Args, out *Out) error) (Tool, error) {
	return tool.New(spec, run)
}

// Version is the module's version, or "dev" in a working copy.
func Version() string {
	if bi, ok := debug.ReadBuildInfo(); ok {
		if bi.Main.Path == modulePath && bi.Main.Version != "" && bi.Main.Version != "(devel)" {
			return bi.Main.Version
		}
		for _, d := range bi.Deps {
			if d.Path == modulePath {
				return d.Version
			}
		}
	}
	return "dev"
}

const modulePath = "github.com/inlay-ui/inlay"

// App is a whole installation. Tools and block types are added first; then it
// is opened, by Handler, Serve or ListenAndServe.
type App struct {
	cfg      Config
	log      *slog.Logger
	registry *block.Registry
	tools    *tool.Set
	actions  *action.Registry
	cards    *markup.Cards

	mu     sync.Mutex
	opened bool
	parts  *parts
}

// parts is what an opened App is made of.
type parts struct {
	log   *slog.Logger
	store store.Store
	model model.Model // nil where upstream answers and nothing else asks one
	// upstream answers instead of model; nil for none.
	upstream agent.Agent
	demo     *demo.Demo
	runner   *turn.Runner
	// keys sign what the server hands out and later believes.
	keys    *signing.Ring
	files   *asset.Library
	gateway *action.Gateway
	queries []declared.Query
	handler http.Handler
	drain   chan struct{}
	// live ends with Close; what works in the background for as long as the
	// App is open hangs on it.
	live    context.Context
	closers []func() error
}

// New checks a configuration and returns an App. Nothing is opened yet.
func New(cfg Config) (*App, error) {
	if cfg.Data == "" {
		cfg.Data = DefaultData
	}
	log := cfg.Logger
	if log == nil {
		var err error
		if log, err = NewLogger(cfg.Log, os.Stderr); err != nil {
			return nil, err
		}
	}
	if err := cfg.checkAnswers(); err != nil {
		return nil, err
	}
	// What dialogs a recommendation may open is known when the App is opened.
	builtins := slices.DeleteFunc(block.Builtins(), func(t block.Type) bool { return t.Name == block.FeatureRecommendationName })
	reg, err := block.NewRegistry(builtins...)
	if err != nil {
		return nil, fmt.Errorf("register built-in blocks: %w", err)
	}
	set, err := tool.NewSet()
	if err != nil {
		return nil, err
	}
	actions, err := action.NewRegistry()
	if err != nil {
		return nil, err
	}
	cards, err := markup.NewCards()
	if err != nil {
		return nil, err
	}
	return &App{cfg: cfg, log: log, registry: reg, tools: set, actions: actions, cards: cards}, nil
}

// AddTools adds tools. It fails after the App was opened, for a name that is
// taken and for arguments without a valid schema.
func (a *App) AddTools(tools ...Tool) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return errors.New("inlay: tools must be added before the App is opened")
	}
	return a.tools.Add(tools...)
}

// AddBlocks registers block types of the program's own.
func (a *App) AddBlocks(types ...BlockType) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return errors.New("inlay: block types must be added before the App is opened")
	}
	for _, t := range types {
		if t.Source == "" {
			t.Source = block.SourceApp
		}
		if err := a.registry.Register(t); err != nil {
			return err
		}
	}
	return nil
}

// Open opens the store and everything that stands on it, and ends what a crash
// left unfinished. Handler, Serve and ListenAndServe call it.
func (a *App) Open(ctx context.Context) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return nil
	}
	live, end := context.WithCancel(context.WithoutCancel(ctx))
	p := &parts{log: a.log, drain: make(chan struct{}), live: live, closers: []func() error{func() error { end(); return nil }}}
	if err := a.open(ctx, p); err != nil {
		return errors.Join(err, p.close())
	}
	a.parts, a.opened = p, true
	return nil
}

func (a *App) open(ctx context.Context, p *parts) error {
	var err error
	if p.store, err = a.openStore(ctx); err != nil {
		return err
	}
	p.closers = append(p.closers, p.store.Close)
	if p.upstream, err = a.cfg.upstream(); err != nil {
		return err
	}
	if p.upstream == nil || a.cfg.hasModel() {
		if p.model, err = a.newModel(); err != nil {
			return err
		}
	}
	if p.keys, err = a.cfg.Keys.open(a.cfg.Data, a.cfg.Backend == nil); err != nil {
		return err
	}
	if err := a.openFiles(ctx, p); err != nil {
		return err
	}
	tools, open, err := a.cfg.declaredTools()
	if err != nil {
		return err
	}
	p.closers = append(p.closers, open.close)
	if err := a.tools.Add(tools...); err != nil {
		return err
	}
	if p.queries, err = a.cfg.queries(open); err != nil {
		return err
	}
	if err := a.declareCards(open); err != nil {
		return err
	}
	embed, err := a.cfg.embed()
	if err != nil {
		return err
	}
	withDemo := a.withDemo(a.tools.Len())
	allow := a.cfg.allowed(withDemo)
	if err := a.addRecommendations(allow, withDemo); err != nil {
		return err
	}
	if withDemo {
		if p.demo, err = demo.Open(ctx, a.cfg.Data); err != nil {
			return fmt.Errorf("open the sample data: %w", err)
		}
		p.closers = append(p.closers, p.demo.Close)
		if err := a.tools.Add(p.demo.Tools()...); err != nil {
			return err
		}
		if err := a.actions.Add(p.demo.Actions()...); err != nil {
			return err
		}
		p.queries = append(p.queries, p.demo.Queries()...)
		if err := a.addDemoCards(p.demo); err != nil {
			return err
		}
	}
	if err := a.addActions(p, open); err != nil {
		return err
	}
	emits := a.cfg.Agent.EmitUIBlock
	limits := a.cfg.turnLimits()
	if withDemo {
		if embed == nil {
			embed = markup.Syntaxes()
		}
		limits.Optional = cmp.Or(limits.Optional, demo.CardsShown)
	}
	metrics := server.NewMetrics()
	results, err := a.results()
	if err != nil {
		return err
	}
	if p.runner, err = turn.New(turn.Config{
		Store: p.store, Model: p.model, Upstream: p.upstream, Results: results, Tools: a.tools, Registry: a.registry,
		System: a.cfg.Agent.System, Version: Version(), Limits: limits,
		Instance: id.New("i"), Logger: a.log, Observer: metrics, Actions: a.actions,
		Files: attachments{p.files}, OutFiles: p.files,
		AskUser:      a.cfg.Agent.AskUser || withDemo,
		ClientTools:  a.cfg.Agent.ClientTools == nil || *a.cfg.Agent.ClientTools,
		Destinations: allow.destinations(), EmitBlocks: emits == nil || *emits, Recommend: a.cfg.recommender(p.model, withDemo),
		Cards: a.cards, Embed: embed,
	}); err != nil {
		return err
	}
	n, err := p.runner.Recover(ctx)
	if err != nil {
		return fmt.Errorf("end unfinished turns: %w", err)
	}
	if n > 0 {
		a.log.Info("ended turns that a crash had cut off", "turns", n)
	}
	if p.gateway, err = action.New(action.Config{
		Store: p.store, Turns: p.runner, Actions: a.actions, Blocks: a.registry, Signer: p.keys, Files: p.files, Limits: a.cfg.actionLimits(),
		Instance: id.New("i"), Logger: a.log, Observer: metrics,
	}); err != nil {
		return err
	}
	if err := p.gateway.Sweep(ctx); err != nil {
		return fmt.Errorf("settle unfinished actions: %w", err)
	}
	info := p.info()
	a.log.Info("ready", "model", info.Name, "kind", info.Kind, "tools", a.tools.Len(), "actions", a.actions.Len(), "cards", a.cards.Len(), "sample_data", withDemo, "data", a.cfg.Data)
	if info.Kind == "scripted" {
		a.log.Info("the scripted demo model answers; for a real one set INLAY_MODEL_BASE_URL, INLAY_MODEL_NAME and INLAY_MODEL_API_KEY, or model: in a YAML file")
	}
	p.handler, err = a.newHandler(p, allow, metrics)
	return err
}

// withDemo says whether the sample data is on beside so many tools.
func (a *App) withDemo(tools int) bool {
	if a.cfg.Demo != nil {
		return *a.cfg.Demo
	}
	return tools == 0 && a.cfg.Model.Kind != modelText && !a.cfg.elsewhere() // its tools would not be called
}

// addActions registers what needs the tools and sources that are open: the
// declared actions and those of queries.
func (a *App) addActions(p *parts, open *sources) error {
	if len(p.queries) > 0 {
		queries, err := declared.NewQueries(p.queries...)
		if err != nil {
			return err
		}
		tools, err := queries.Tools()
		if err == nil {
			err = a.tools.Add(tools...)
		}
		if err == nil {
			err = a.actions.Add(queries.Action())
		}
		if err != nil {
			return err
		}
	}
	defs, err := a.cfg.declaredActions(open, a.tools)
	if err != nil {
		return err
	}
	return a.actions.Add(defs...)
}

// databasePath is the file of the embedded store.
func (c Config) databasePath() (string, error) {
	url := c.Store.URL
	if url == "" {
		data := c.Data
		if data == "" {
			data = DefaultData
		}
		url = "sqlite:" + filepath.Join(data, "inlay.db")
	}
	path, ok := strings.CutPrefix(url, "sqlite:")
	if !ok {
		scheme, _, _ := strings.Cut(url, ":")
		return "", fmt.Errorf("store.url: %q is not a store; use sqlite:PATH", scheme)
	}
	return strings.TrimPrefix(path, "//"), nil
}

func (a *App) openStore(ctx context.Context) (store.Store, error) {
	if a.cfg.Backend != nil {
		return a.cfg.Backend, nil
	}
	path, err := a.cfg.databasePath()
	if err != nil {
		return nil, err
	}
	opt := sqlite.Options{Path: path, RetainLog: a.cfg.Limits.RetainLog, Logger: a.log}
	switch a.cfg.Store.Synchronous {
	case "", "normal":
		opt.Synchronous = sqlite.Normal
	case "full":
		opt.Synchronous = sqlite.Full
	default:
		return nil, fmt.Errorf("store.synchronous: %q must be normal or full", a.cfg.Store.Synchronous)
	}
	s, err := sqlite.Open(ctx, opt)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	return s, nil
}

func (a *App) newHandler(p *parts, allowed AllowConfig, metrics *server.Metrics) (http.Handler, error) {
	auth := a.cfg.Authenticate
	if auth == nil {
		var err error
		if auth, err = a.cfg.newAuth(p.live, a.log); err != nil {
			return nil, err
		}
	}
	undeclared, err := a.cfg.Wires.undeclaredBlocks()
	if err != nil {
		return nil, err
	}
	allow := server.Allow(allowed)
	allow.LinkHosts = linkHosts(allow.LinkHosts, p.queries)
	cfg := server.Config{
		Runner: p.runner, Actions: p.gateway, Auditor: a.cfg.auditor(), Store: p.store, Files: p.files, Registry: a.registry, Auth: auth, Model: p.info(),
		Allow: allow, SampleData: p.demo != nil, Limits: a.cfg.serverLimits(), Web: web.Dist,
		Origins: a.cfg.Auth.Origins, Heartbeat: a.cfg.Limits.Heartbeat, WriteTimeout: a.cfg.Limits.WriteTimeout,
		StrictCapabilities: a.cfg.Capabilities.Strict, UndeclaredBlocks: undeclared, ShowToolDetails: a.cfg.devMode(),
		Metrics: metrics, Logger: a.log, Draining: p.drain, Version: Version(),
		Suggestions: func(lang string) []string {
			if s, ok := byLang(a.cfg.Suggestions, lang); ok {
				return s
			}
			if p.demo != nil {
				return p.demo.Suggestions(lang)
			}
			return nil
		},
		Title: func(lang string) string {
			if t, ok := byLang(a.cfg.Title, lang); ok {
				return t
			}
			return "Inlay"
		},
	}
	if p.demo != nil {
		cfg.RequestLog = func(r server.RequestInfo) {
			p.demo.RequestLog().Record(time.Now(), r.Method, r.Route, r.Status, float64(r.Duration.Microseconds())/1000)
		}
	}
	return server.New(cfg)
}

func byLang[T any](m map[string]T, lang string) (T, bool) {
	if v, ok := m[lang]; ok {
		return v, true
	}
	v, ok := m[""]
	return v, ok
}

// Handler opens the App and returns its HTTP handler, for programs that have a
// server of their own. They call Maintain beside it and Close at their end.
func (a *App) Handler(ctx context.Context) (http.Handler, error) {
	if err := a.Open(ctx); err != nil {
		return nil, err
	}
	return a.parts.handler, nil
}

// maintainEvery is how often turns of dead owners are ended; trimEvery how
// often a Backend is told to forget old logs.
const (
	maintainEvery = 5 * time.Second
	trimEvery     = 10 * time.Minute
)

// Maintain ends turns whose owner died, settles actions that a crash cut off,
// forgets old logs and keys and removes unused files, until ctx ends.
func (a *App) Maintain(ctx context.Context) {
	tick := time.NewTicker(maintainEvery)
	defer tick.Stop()
	trimmed, forgotten := time.Now(), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		if _, err := a.parts.runner.Recover(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("end unfinished turns", "err", err)
		}
		if err := a.parts.gateway.Sweep(ctx); err != nil && ctx.Err() == nil {
			a.log.Error("settle unfinished actions", "err", err)
		}
		if time.Since(forgotten) > trimEvery {
			forgotten = time.Now()
			if err := a.parts.gateway.Trim(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("forget old actions", "err", err)
			}
			if n, err := a.parts.files.Clean(ctx); err != nil && ctx.Err() == nil {
				a.log.Error("remove unused files", "err", err)
			} else if n > 0 {
				a.log.Info("removed unused files", "files", n)
			}
		}
		// The store that Open opened forgets by itself.
		if a.cfg.Backend == nil || time.Since(trimmed) < trimEvery {
			continue
		}
		trimmed = time.Now()
		keep := a.cfg.Limits.RetainLog
		if keep == 0 {
			keep = 7 * 24 * time.Hour
		}
		if keep > 0 {
			if err := a.parts.store.Trim(ctx, time.Now().Add(-keep)); err != nil && ctx.Err() == nil {
				a.log.Error("forget old logs", "err", err)
			}
		}
	}
}

// ListenAndServe opens the App and serves on Config.Addr until ctx ends.
func (a *App) ListenAndServe(ctx context.Context) error {
	addr := a.cfg.Addr
	if addr == "" {
		addr = DefaultAddr
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", addr, err)
	}
	return a.Serve(ctx, ln, func() { a.log.Info("listening", "url", "http://"+ln.Addr().String()) })
}

// closeTime is how long actions may go on when an App is closed.
const closeTime = 2 * time.Second

// drainTime is how long running turns may go on after ctx of Serve has ended.
const drainTime = 10 * time.Second

// Serve opens the App and serves on a listener until ctx ends. ready, which
// may be nil, is called once requests are answered. Running turns then have a
// few seconds to end; their readers can go on after a restart.
func (a *App) Serve(ctx context.Context, ln net.Listener, ready func()) error {
	if a.cfg.devMode() && a.cfg.Authenticate == nil && !isLoopback(ln.Addr()) {
		return errors.Join(fmt.Errorf("listen on %s: without authentication only loopback addresses are allowed; "+
			"configure auth.mode (jwt or proxy) or listen on 127.0.0.1", ln.Addr()), ln.Close())
	}
	if err := a.Open(ctx); err != nil {
		return errors.Join(err, ln.Close())
	}
	srv := &http.Server{
		Handler: a.parts.handler, ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute,
		MaxHeaderBytes: 64 << 10, ErrorLog: slog.NewLogLogger(a.log.Handler(), slog.LevelDebug),
	}
	maintain, stopMaintain := context.WithCancel(context.WithoutCancel(ctx))
	var wg sync.WaitGroup
	wg.Go(func() { a.Maintain(maintain) })
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	if ready != nil {
		ready()
	}
	var err error
	select {
	case err = <-failed:
		err = fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
		a.log.Info("shutting down", "running", a.parts.runner.Running())
	}
	drain, cancel := context.WithTimeout(context.WithoutCancel(ctx), drainTime)
	defer cancel()
	close(a.parts.drain)
	if err := a.parts.gateway.Close(drain); err != nil {
		a.log.Warn("shut down", "err", err)
	}
	_ = a.parts.runner.Shutdown(drain) // it ends what does not end by itself
	if shutErr := srv.Shutdown(drain); shutErr != nil {
		_ = srv.Close()
	}
	stopMaintain()
	wg.Wait()
	return errors.Join(err, a.Close())
}

func isLoopback(addr net.Addr) bool {
	tcp, ok := addr.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// Close closes what Open opened. Turns still running are ended as interrupted.
func (a *App) Close() error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.parts == nil {
		return nil
	}
	p := a.parts
	a.parts = nil
	return p.close()
}

func (p *parts) close() error {
	var errs []error
	if p.gateway != nil {
		// A handler that runs on is given a moment; its call is settled after the
		// next start.
		soon, cancel := context.WithTimeout(context.Background(), closeTime)
		if err := p.gateway.Close(soon); err != nil {
			p.log.Warn("close", "err", err)
		}
		cancel()
	}
	if p.runner != nil {
		now, cancel := context.WithCancel(context.Background())
		cancel()
		errs = append(errs, p.runner.Shutdown(now))
	}
	for i := len(p.closers) - 1; i >= 0; i-- {
		errs = append(errs, p.closers[i]())
	}
	return errors.Join(errs...)
}
