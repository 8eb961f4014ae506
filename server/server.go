package server

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net/http"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// Turns starts, stops and repeats what is written to the log. *turn.Runner
// implements it; errors with a stable code are *turn.Error.
type Turns interface {
	Start(ctx context.Context, req turn.Request) (turn.Started, error)
	Stop(ctx context.Context, owner store.Owner, msg string) (running bool, err error)
	Rerun(ctx context.Context, req turn.BlockRequest) (turn.Started, error)
	Supply(ctx context.Context, req turn.SupplyRequest) (turn.Started, error)
	Waiting(ctx context.Context, owner store.Owner, msg string) (turn.Waiting, error)
}

// Config is what a server is made of. Runner, Actions, Store, Registry and Auth
// are required.
type Config struct {
	Runner   Turns
	Actions  Actions
	Store    store.Store
	Registry *block.Registry
	// Files takes and serves files; nil has none.
	Files *asset.Library
	Auth  Auth
	// Auditor says who may read the audit log of their whole tenant; nil lets
	// nobody. One's own entries everybody may read.
	Auditor func(tool.Caller) bool
	// Model is named to the page.
	Model model.Info
	// Allow lists where the page may lead to.
	Allow Allow
	// SampleData says that the sample data is served, to which sample dialogs of
	// the page belong.
	SampleData bool
	// Suggestions and Title are worded for a language, "en" or "zh". Nil means
	// none and "Inlay".
	Suggestions func(lang string) []string
	Title       func(lang string) string
	// StrictCapabilities refuses a request with a malformed capability, which
	// is otherwise dropped and named in the start event.
	StrictCapabilities bool
	// UndeclaredBlocks sends every block to clients of AG-UI and the AI SDK that
	// declare nothing. Otherwise blocks reach them as text: such a client shows
	// nothing where it gets something that it does not know.
	UndeclaredBlocks bool
	// ShowToolDetails lets the page link to trajectories.
	ShowToolDetails bool
	Limits          Limits
	// Web is the built page; nil serves none.
	Web fs.FS
	// Origins are pages of other origins that may call this server and embed
	// its page, such as "https://app.example.com".
	Origins []string
	// Heartbeat is the silence after which a stream is sent a comment. Default
	// 15 s.
	Heartbeat time.Duration
	// WriteTimeout cuts off a reader that takes nothing for so long. Default
	// 30 s.
	WriteTimeout time.Duration
	// ReadTimeout is how long a request's body may take to arrive. Default
	// 30 s.
	ReadTimeout time.Duration
	// Metrics are served at /metrics; nil serves none.
	Metrics *Metrics
	Logger  *slog.Logger
	// RequestLog is told of every answered request; nil means Logger.
	RequestLog func(RequestInfo)
	// Draining, when closed, makes /readyz answer 503 and ends the feeds,
	// which would keep a shutdown waiting.
	Draining <-chan struct{}
	// Version is the product's, for /openapi.json.
	Version string
	Now     func() time.Time
}

// Allow lists where the page may lead to; everything else it refuses.
type Allow struct {
	Routes     []string `json:"routes"`
	Slash      []string `json:"slash"`
	Modals     []string `json:"modals"`
	LinkHosts  []string `json:"link_hosts"`
	ImageHosts []string `json:"image_hosts"`
}

// RequestInfo is one answered request. It holds no query and no header.
type RequestInfo struct {
	Method string
	// Path is as requested, Route the pattern that answered.
	Path, Route string
	Status      int
	Bytes       int64
	Duration    time.Duration
	TraceID     string
}

type server struct {
	Config
	limiter *limiter
	origins *origins
	page    *page
	routes  []route
	mux     *http.ServeMux
	log     *slog.Logger
	csp     string
	openapi func() ([]byte, error)
	// serving ends when Draining is closed.
	serving context.Context
}

// handler answers a request, or returns an error that is answered for it. An
// error after the first byte is only logged.
type handler func(w http.ResponseWriter, r *http.Request) error

// access says who may call a route.
type access int

const (
	public access = iota
	authenticated
	// working routes start something that costs: they count against the
	// user's turns.
	working
	// uploading routes take bodies of their own size.
	uploading
	// conversing routes are working ones whose clients send all of a
	// conversation, and files within it.
	conversing
	// rejoining routes start nothing, with such a body.
	rejoining
)

// route is one entry of the API; /openapi.json describes each of them.
type route struct {
	method, path string
	access       access
	handle       handler
}

// New returns the handler of a whole installation.
func New(cfg Config) (http.Handler, error) {
	if cfg.Runner == nil || cfg.Actions == nil || cfg.Store == nil || cfg.Registry == nil || cfg.Auth == nil {
		return nil, errors.New("server: runner, actions, store, registry and auth are required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Suggestions == nil {
		cfg.Suggestions = func(string) []string { return nil }
	}
	if cfg.Title == nil {
		cfg.Title = func(string) string { return "Inlay" }
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	if cfg.ReadTimeout <= 0 {
		cfg.ReadTimeout = 30 * time.Second
	}
	if cfg.WriteTimeout <= 0 {
		cfg.WriteTimeout = 30 * time.Second
	}
	cfg.Limits = cfg.Limits.withDefaults()
	s := &server{Config: cfg, log: cfg.Logger, limiter: newLimiter(cfg.Limits, cfg.Now)}
	var err error
	if s.origins, err = newOrigins(cfg.Origins); err != nil {
		return nil, err
	}
	if s.page, err = newPage(cfg.Web); err != nil {
		return nil, err
	}
	s.serving = context.Background()
	if cfg.Draining != nil {
		serving, drain := context.WithCancel(s.serving)
		s.serving = serving
		go func() {
			<-cfg.Draining
			drain()
		}()
	}
	s.csp = contentSecurityPolicy(s.origins, cfg.Allow)
	s.openapi = description(cfg.Version)
	s.routes = s.table()
	s.mux = http.NewServeMux()
	for _, rt := range s.routes {
		s.mux.Handle(rt.method+" "+rt.path, s.endpoint(rt))
	}
	s.mux.Handle("/", s.endpoint(route{path: "/", access: public, handle: s.getRest}))
	if s.Metrics != nil {
		s.Metrics.streams(s.limiter.open)
	}
	return s, nil
}

// table lists every route.
func (s *server) table() []route {
	routes := []route{
		{"POST", "/v1/chat", working, s.postChat},
		{"POST", "/v1/chat/stream", working, s.postChatStream},
		{"POST", "/v1/chat/cards", working, s.postChat},
		{"POST", "/v1/chat/actions", working, s.postAction},
		{"POST", "/v1/chat/blocks/{blockId}/retry", working, s.postBlockRetry},
		{"POST", "/v1/chat/blocks/{blockId}/refresh", working, s.postBlockRefresh},
		{"GET", "/v1/messages/{id}", authenticated, s.getMessage},
		{"GET", "/v1/messages/{id}/events", authenticated, s.getEvents},
		{"GET", "/v1/messages/{id}/cards", authenticated, s.getCards},
		{"GET", "/v1/messages/{id}/trajectory", authenticated, s.getTrajectory},
		{"POST", "/v1/messages/{id}/stop", authenticated, s.postStop},
		{"POST", "/v1/messages/{id}/feedback", authenticated, s.postFeedback},
		{"POST", "/v1/telemetry/block-action", authenticated, s.postTelemetry},
		{"GET", "/v1/audit", authenticated, s.getAudit},
		{"GET", "/v1/conversations", authenticated, s.getConversations},
		{"POST", "/v1/conversations", authenticated, s.postConversation},
		{"GET", "/v1/conversations/{id}", authenticated, s.getConversation},
		{"PATCH", "/v1/conversations/{id}", authenticated, s.patchConversation},
		{"DELETE", "/v1/conversations/{id}", authenticated, s.deleteConversation},
		{"GET", "/v1/conversations/{id}/messages", authenticated, s.getMessages},
		{"GET", "/v1/conversations/{id}/events", authenticated, s.getFeed},
		{"GET", "/v1/conversations/{id}/export", authenticated, s.getExport},
		{"POST", "/v1/ai-sdk/chat", conversing, s.postSDK},
		{"GET", "/v1/ai-sdk/chat/{id}/stream", authenticated, s.getSDKStream},
		{"POST", "/v1/ai-sdk/chat/{id}/stop", authenticated, s.postSDKStop},
		{"GET", "/v1/ai-sdk/chat/{id}/messages", authenticated, s.getSDKMessages},
		{"POST", "/v1/assets", uploading, s.postAsset},
		{"GET", "/v1/assets/{id}", authenticated, s.getAsset},
		{"DELETE", "/v1/assets/{id}", authenticated, s.deleteAsset},
		{"GET", "/v1/assets/{id}/url", authenticated, s.getAssetURL},
		{"GET", "/v1/assets/{id}/content", public, s.getAssetContent},
		{"GET", "/v1/assets/{id}/preview", authenticated, s.getAssetPreview},
		{"GET", "/v1/blocks", authenticated, s.getBlocks},
		{"GET", "/v1/client-config", authenticated, s.getClientConfig},
		{"GET", "/openapi.json", public, s.getOpenAPI},
		{"GET", "/healthz", public, s.getHealth},
		{"GET", "/readyz", public, s.getReady},
	}
	routes = append(routes, s.aguiRoutes()...)
	if s.Metrics != nil {
		routes = append(routes, route{"GET", "/metrics", public, s.getMetrics})
	}
	for _, rt := range routes {
		// Clients written before the API had a version call these.
		if alias, ok := unprefixed(rt.path); ok {
			rt.path = alias
			routes = append(routes, rt)
		}
	}
	return routes
}

// endpoint makes a handler of a route: identity, rate, then the route itself.
func (s *server) endpoint(rt route) http.Handler {
	name := strings.TrimSpace(rt.method + " " + rt.path)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		err := s.admit(w, r, name, rt)
		if err == nil {
			err = rt.handle(w, r)
		}
		if err != nil {
			s.fail(w, r, err)
		}
	})
}

// admit finds out who sent a request and whether it may be answered now.
func (s *server) admit(w http.ResponseWriter, r *http.Request, name string, rt route) error {
	c, a := callOf(r), rt.access
	c.route, c.quiet = name, a == public
	if r.Body != nil && r.Body != http.NoBody {
		switch a {
		case uploading:
			r.Body = s.limitUpload(w, r.Body)
		case conversing, rejoining:
			r.Body = s.limitBody(w, r.Body, s.Limits.HistoryBytes)
		default:
			r.Body = s.limitBody(w, r.Body, s.Limits.BodyBytes)
		}
	}
	if a == public {
		return nil
	}
	if err := s.identify(r, a == working || a == conversing); err != nil {
		return err
	}
	var err error
	if c.dialect, err = speaks(rt.path, r); err != nil {
		return err
	}
	return s.declared(r)
}

// identify finds out who sent a request and counts it.
func (s *server) identify(r *http.Request, starts bool) error {
	c := callOf(r)
	caller, owner, err := s.Auth.Authenticate(r)
	if err != nil {
		return authError(err)
	}
	caller.Lang = c.lang
	c.caller, c.owner = caller, owner
	return s.limiter.allow(owner, starts)
}

// wrap names what was being done when an error came, unless the error is an
// answer already.
func wrap(doing string, err error) error {
	var a *answer
	if err == nil || errors.As(err, &a) {
		return err
	}
	return fmt.Errorf("%s: %w", doing, err)
}
