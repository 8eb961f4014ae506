package inlay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/inlay-ui/inlay/asset/s3"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
)

// Finding is one thing that Doctor looked at.
type Finding struct {
	// What was looked at.
	What string
	// Detail is what was found.
	Detail string
	// Err is why it will not work; nil when it will.
	Err error
	// Cure says how to mend Err.
	Cure string
}

// Check finds what can be found wrong with a configuration without touching
// the network or the data directory.
func (c Config) Check(ctx context.Context) error {
	app, err := New(c)
	if err != nil {
		return err
	}
	up, err := c.upstream()
	if err != nil {
		return err
	}
	if _, err := app.results(); err != nil {
		return err
	}
	if up == nil || c.hasModel() {
		if _, err := app.newModel(); err != nil {
			return err
		}
	}
	if c.Backend == nil {
		if _, err := c.databasePath(); err != nil {
			return err
		}
	}
	if err := c.Keys.check(); err != nil {
		return err
	}
	if err := c.Assets.check(); err != nil {
		return err
	}
	if _, err := c.Wires.undeclaredBlocks(); err != nil {
		return err
	}
	if c.Auth.JWKSURL == "" { // reading keys by URL is the doctor's
		if _, err := c.newAuth(ctx, slog.New(slog.DiscardHandler)); err != nil {
			return err
		}
	}
	tools, open, err := c.declaredTools()
	if err != nil {
		return err
	}
	set, err := tool.NewSet(tools...)
	if err == nil {
		err = c.checkActions(open, set)
	}
	err = errors.Join(err, app.declareCards(open))
	withDemo := app.withDemo(len(tools))
	if err := app.addRecommendations(c.allowed(withDemo), withDemo); err != nil {
		return errors.Join(err, open.close())
	}
	var known []string
	for _, t := range app.registry.Types() {
		known = append(known, block.ShortName(t.Name))
	}
	for i, tc := range c.Tools {
		if tc.Block == nil {
			continue
		}
		if _, ok := app.registry.Lookup(tc.Block.Type, tc.Block.Version); !ok {
			err = errors.Join(err, fmt.Errorf("tools[%d]: tool %q: block type %q is not registered%s", i, tc.Name, block.ShortName(tc.Block.Type), didYouMean(nearest.Of(block.ShortName(tc.Block.Type), known))))
		}
	}
	return errors.Join(err, open.close())
}

// checkActions makes the actions and queries of a configuration and forgets
// them.
func (c Config) checkActions(s *sources, tools *tool.Set) error {
	_, err := c.queries(s)
	if err != nil {
		return err
	}
	_, err = c.declaredActions(s, tools)
	return err
}

// Doctor looks at everything an installation needs: the configuration, the
// data directory, the address, the bucket of files, every source and the model,
// which is asked one short question.
func (c Config) Doctor(ctx context.Context) []Finding {
	var found []Finding
	note := func(what, detail string, err error, cure string) {
		if err == nil {
			cure = ""
		}
		found = append(found, Finding{What: what, Detail: detail, Err: err, Cure: cure})
	}
	if err := c.Check(ctx); err != nil {
		note("configuration", "", err, "mend the file or the environment as the message says")
		return found
	}
	note("configuration", fmt.Sprintf("sources: %d, tools: %d, cards: %d, actions: %d", len(c.Sources), len(c.Tools), len(c.Cards), len(c.Actions)), nil, "")
	data := c.Data
	if data == "" {
		data = DefaultData
	}
	note("data directory", data, writable(data), "make the directory writable or name another with --data")
	if c.Keys == (KeysConfig{}) && c.Backend == nil {
		file := filepath.Join(data, "keys.json")
		if err := (KeysConfig{File: file}).check(); err != nil {
			note("signing keys", file, err, "mend the file or take it away: a new one is made")
		}
	}
	c.pingBucket(ctx, note)
	addr, detail := c.Addr, c.Addr
	if addr == "" {
		addr, detail = DefaultAddr, DefaultAddr
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", addr)
	switch {
	case err == nil:
		err = ln.Close()
	case c.Addr == "" && errors.Is(err, syscall.EADDRINUSE):
		err, detail = nil, addr+" is busy; the next free port will be used"
	}
	note("address", detail, err, "stop what uses the port or name another with --addr")
	if c.Auth.JWKSURL != "" {
		_, err := c.newAuth(ctx, slog.New(slog.DiscardHandler))
		note("keys", c.Auth.JWKSURL, err, "check auth.jwks_url and the way to it")
	}
	c.pingSources(ctx, note)
	c.pingModel(ctx, note)
	return found
}

func writable(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	f, err := os.CreateTemp(dir, ".doctor-*")
	if err != nil {
		return err
	}
	return errors.Join(f.Close(), os.Remove(filepath.Clean(f.Name())))
}

func (c Config) pingBucket(ctx context.Context, note func(what, detail string, err error, cure string)) {
	o, err := s3.Parse(c.Assets.URL)
	if err != nil || c.Blobs != nil {
		return // files are on disk, or the program's own
	}
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	_, err = s3.Open(ctx, o)
	note("files", "bucket "+o.Bucket+" at "+o.Endpoint, err, "check the bucket's name, endpoint and region in assets.url, and AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY")
}

func (c Config) pingSources(ctx context.Context, note func(what, detail string, err error, cure string)) {
	s, err := c.openSources()
	if err != nil {
		note("sources", "", err, "mend the section sources")
		return
	}
	defer func() { _ = s.close() }()
	for _, name := range sortedKeys(s.sql) {
		ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
		note("source "+name, string(s.sql[name].Dialect()), s.sql[name].Ping(ctx), "check the dsn, the network and the database's own rights")
		cancel()
	}
	for _, name := range sortedKeys(s.http) {
		note("source "+name, c.Sources[name].HTTP.BaseURL+" (not called: a request may have effects)", nil, "")
	}
}

func (c Config) pingModel(ctx context.Context, note func(what, detail string, err error, cure string)) {
	app := &App{cfg: c}
	up, err := c.upstream()
	switch {
	case err != nil:
		note("agent", "", err, "mend the section agent")
		return
	case up != nil:
		note("agent", up.Info().Name+" at "+c.Agent.URL+" (not called: a run may have effects)", nil, "")
		if !c.hasModel() {
			return
		}
	}
	m, err := app.newModel()
	if err != nil {
		note("model", "", err, "mend the section model")
		return
	}
	info := m.Info()
	if c.Model.BaseURL == "" && c.LLM == nil {
		note("model", "the scripted demo model; set INLAY_MODEL_BASE_URL, INLAY_MODEL_NAME and INLAY_MODEL_API_KEY for a real one", nil, "")
		return
	}
	if c.LLM == nil && c.Model.Auth == modelForward {
		note("model", info.Name+" at "+c.Model.BaseURL+" (not asked: it takes the tokens of callers)", nil, "")
		return
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	ask := func(name string) error {
		_, err := m.Stream(ctx, model.Request{Name: name, Messages: []model.Message{{Role: model.RoleUser, Content: "Answer with the word ok."}}, MaxTokens: 64},
			func(model.Delta) error { return nil })
		return err
	}
	note("model", info.Name+" at "+c.Model.BaseURL, ask(""), "check model.base_url, model.name and the key")
	if name := c.Recommender.Model; name != "" {
		note("recommender", name+" at "+c.Model.BaseURL, ask(name), "check recommender.model")
	}
}
