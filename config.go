package inlay

import (
	"log/slog"
	"time"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/openai"
	"github.com/inlay-ui/inlay/server"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// The address and the data directory of an installation that names none.
const (
	DefaultAddr = "127.0.0.1:8080"
	DefaultData = "inlay-data"
)

// Config is everything an installation can be told. The zero value runs: all
// embedded, the demo model, one anonymous user on loopback. The same names, in
// lower case with underscores, are the keys of the YAML file.
type Config struct {
	// Addr is where ListenAndServe listens. Default 127.0.0.1:8080.
	Addr string `json:"addr"`
	// Data is the directory of the database and the files. Default
	// ./inlay-data.
	Data string `json:"data"`
	// Dev lets everybody in as one anonymous user, on loopback only. It is the
	// default while Auth names no mode.
	Dev bool `json:"dev"`
	// Title heads the page, by language; "" is the default language.
	Title map[string]string `json:"title"`
	// Suggestions are the questions of an empty page, by language.
	Suggestions map[string][]string `json:"suggestions"`
	// Demo adds the sample data, its tools and its questions. Default: on while
	// no tool was added or declared.
	Demo *bool `json:"demo"`

	Model        ModelConfig             `json:"model"`
	Agent        AgentConfig             `json:"agent"`
	Sources      map[string]SourceConfig `json:"sources"`
	Tools        []ToolConfig            `json:"tools"`
	Cards        []CardConfig            `json:"cards"`
	Actions      map[string]ActionConfig `json:"actions"`
	Keys         KeysConfig              `json:"keys"`
	Capabilities CapabilitiesConfig      `json:"capabilities"`
	Wires        WiresConfig             `json:"wires"`
	Allow        AllowConfig             `json:"allow"`
	Recommender  RecommenderConfig       `json:"recommender"`
	Auth         AuthConfig              `json:"auth"`
	Limits       LimitsConfig            `json:"limits"`
	Store        StoreConfig             `json:"store"`
	Assets       AssetsConfig            `json:"assets"`
	Log          LogConfig               `json:"log"`

	// What follows is for Go programs only.

	// Logger gets the server's own log; default: Log on stderr.
	Logger *slog.Logger `json:"-"`
	// LLM answers instead of what Model names.
	LLM model.Model `json:"-"`
	// Upstream answers instead of the loop over a model and tools, and instead of
	// what Agent names.
	Upstream agent.Agent `json:"-"`
	// Backend keeps conversations instead of what Store names. It is closed
	// with the App.
	Backend store.Store `json:"-"`
	// Blobs keeps the bytes of files instead of what Assets names.
	Blobs asset.Blobs `json:"-"`
	// Authenticate says who may come in instead of Auth.
	Authenticate server.Auth `json:"-"`
}

// ModelConfig names the model. Without a BaseURL the demo model answers.
type ModelConfig struct {
	// Kind is openai (default), an endpoint of chat completions, or text, any
	// endpoint at BaseURL that streams text. One of kind text calls no tools.
	Kind    string `json:"kind"`
	BaseURL string `json:"base_url"`
	// Auth is key (default): APIKey is sent, if there is one; or forward: the
	// bearer token of whoever asks.
	Auth string `json:"auth"`
	// APIKey is the secret itself. It is never read from a file; use
	// APIKeyEnv or APIKeyFile there.
	APIKey string `json:"api_key"`
	// APIKeyEnv names an environment variable that holds the secret.
	APIKeyEnv string `json:"api_key_env"`
	// APIKeyFile names a file that holds the secret.
	APIKeyFile string `json:"api_key_file"`
	Name       string `json:"name"`
	// Profile is the vendor's dialect; default openai.
	Profile string `json:"profile"`
	// IdleTimeout is how long the endpoint may be silent. Default 60 s.
	IdleTimeout time.Duration     `json:"idle_timeout"`
	Headers     map[string]string `json:"headers"`
	// OmitSystem leaves the system prompt out, for an endpoint that has its own.
	OmitSystem bool `json:"omit_system"`
	// Body is the JSON that is sent to a model of kind text, with {{.Text}},
	// {{.Messages}}, {{.System}}, {{.Model}}, {{.User}} and {{.Lang}}. Default
	// {"messages": {{.Messages}}}.
	Body string `json:"body"`
	// TextPath is a JSON Pointer to the text in the events of such a model; nil:
	// their data is the text.
	TextPath *string `json:"text_path"`
	// TextEvents are the names of its events that have text. Default: all that
	// are not known to have none.
	TextEvents []string `json:"text_events"`
}

// AgentConfig bounds and instructs the agent, or says where one is that answers
// instead.
type AgentConfig struct {
	// Kind is loop (default), which asks Model and runs Tools; ag-ui or ai-sdk, an
	// agent at URL that speaks that protocol.
	Kind string `json:"kind"`
	URL  string `json:"url"`
	// Name is what the agent is called; the host of URL unless set.
	Name string `json:"name"`
	// Auth is key (default): APIKey is sent, if there is one; or forward: the
	// bearer token of whoever asks.
	Auth string `json:"auth"`
	// APIKey is the secret itself. It is never read from a file; use APIKeyEnv or
	// APIKeyFile there.
	APIKey     string            `json:"api_key"`
	APIKeyEnv  string            `json:"api_key_env"`
	APIKeyFile string            `json:"api_key_file"`
	Headers    map[string]string `json:"headers"`
	// IdleTimeout is how long the agent may be silent. Default 60 s.
	IdleTimeout time.Duration `json:"idle_timeout"`
	// Results say how what came of the agent's calls is shown, by the name of its
	// tool: programs over {args, user, body}.
	Results map[string]mapping.Block `json:"results"`
	// System is the product's own part of the system prompt.
	System string `json:"system"`
	// MaxSteps is the number of model calls of a turn. Default 8.
	MaxSteps int `json:"max_steps"`
	// MaxCalls is the number of tool calls of a turn. Default 16.
	MaxCalls int `json:"max_calls"`
	// Parallel is how many tools run at once. Default 4.
	Parallel int `json:"parallel"`
	// Timeout bounds a turn. Default 5 min.
	Timeout time.Duration `json:"timeout"`
	// ToolTimeout bounds a tool that names no time of its own. Default 30 s.
	ToolTimeout time.Duration `json:"tool_timeout"`
	// AskUser lets the model ask the user a question and wait for the answer.
	// The sample data does so by itself.
	AskUser bool `json:"ask_user"`
	// EmitUIBlock lets the model show blocks that it makes itself, of the types
	// that allow it. Default true: of the built-in types only the
	// recommendation of a next step may, where Allow names destinations.
	EmitUIBlock *bool `json:"emit_ui_block"`
	// ClientTools lets clients of AG-UI and the AI SDK bring tools that they run
	// themselves. Default true.
	ClientTools *bool `json:"client_tools"`
	// Embed are the syntaxes in which the model may write cards into its text:
	// fence, placeholder and tag. nil: fence and placeholder, once there are
	// cards; an empty list leaves all text as it is.
	Embed []string `json:"embed"`
}

// SourceConfig is where tools get data and actions lead: exactly one of SQL and
// HTTP is set.
type SourceConfig struct {
	SQL  *SQLSource  `json:"sql"`
	HTTP *HTTPSource `json:"http"`
	// Query lets the model propose statements for it.
	Query *QueryConfig `json:"query"`
}

// SQLSource is a database.
type SQLSource struct {
	// DSN is sqlite:PATH, postgres://… or mysql://…. DSNEnv names an
	// environment variable that holds it, for one with a password.
	DSN    string `json:"dsn"`
	DSNEnv string `json:"dsn_env"`
	// ReadOnly makes the database refuse writes. Default true.
	ReadOnly *bool         `json:"read_only"`
	MaxRows  int           `json:"max_rows"`
	MaxBytes int           `json:"max_bytes"`
	Timeout  time.Duration `json:"timeout"`
	MaxConns int           `json:"max_conns"`
}

// HTTPSource is an HTTP origin.
type HTTPSource struct {
	BaseURL string `json:"base_url"`
	// Auth is none, forward (the caller's bearer token) or bearer.
	Auth httptool.Auth `json:"auth"`
	// TokenEnv and TokenFile hold the secret of bearer.
	TokenEnv  string            `json:"token_env"`
	TokenFile string            `json:"token_file"`
	Headers   map[string]string `json:"headers"`
	Timeout   time.Duration     `json:"timeout"`
	MaxBytes  int64             `json:"max_bytes"`
}

// ToolConfig declares a tool without Go: a Query on an SQL source or a Request
// on an HTTP source.
type ToolConfig struct {
	Name        string `json:"name"`
	Description string `json:"description"`
	// Parameters is the JSON Schema of the arguments.
	Parameters map[string]any    `json:"parameters"`
	Title      map[string]string `json:"title"`
	Source     string            `json:"source"`
	Query      string            `json:"query"`
	Request    *httptool.Request `json:"request"`
	Block      *mapping.Block    `json:"block"`
	// Summary is auto (default) or a jq program.
	Summary     string        `json:"summary"`
	Timeout     time.Duration `json:"timeout"`
	Exclusive   bool          `json:"exclusive"`
	Refreshable bool          `json:"refreshable"`
	// Ask says when a person is asked before the tool runs.
	Ask *mapping.Ask `json:"ask"`
}

// CapabilitiesConfig says how declarations of clients are judged.
type CapabilitiesConfig struct {
	// Strict refuses a request with a malformed token instead of dropping it.
	Strict bool `json:"strict"`
}

// WiresConfig says what clients of other protocols are taken for.
type WiresConfig struct {
	// Undeclared is what a client of AG-UI or of the AI SDK gets that does not
	// say which blocks it draws: text (default), or blocks, where the front end
	// is the installation's own and draws them all.
	Undeclared string `json:"undeclared"`
}

// AllowConfig lists what answers may lead to. A list that is not set (nil) has
// the default named here, or with the sample data what its page has; one that is
// empty allows nothing.
type AllowConfig struct {
	// Routes are paths of the application, "/wallet", or everything below one,
	// "/market/*". Default none.
	Routes []string `json:"routes"`
	// Slash are the verbs of commands. Default none.
	Slash []string `json:"slash"`
	// Modals are names of dialogs. Default deposit and withdraw.
	Modals []string `json:"modals"`
	// LinkHosts are hosts of links, "example.com", "*.example.com" or "*".
	// Default minara.ai, www.minara.ai and agent.minara.ai.
	LinkHosts []string `json:"link_hosts"`
	// ImageHosts are hosts of images that are loaded. Default none.
	ImageHosts []string `json:"image_hosts"`
}

// RecommenderConfig is what looks at finished answers and may show, below them,
// one or two buttons that lead to a next step: a short model call of its own.
type RecommenderConfig struct {
	// Enabled switches it on. The sample data does so by itself.
	Enabled *bool `json:"enabled"`
	// Model is the id of another model at the same endpoint, best a small and
	// quick one. Default: that of Config.Model.
	Model string `json:"model"`
	// Timeout is how long it may think. Default 3 s, at most 30 s.
	Timeout time.Duration `json:"timeout"`
	// Instructions are the product's own part of its prompt.
	Instructions string `json:"instructions"`
}

// AuthConfig says who may come in.
type AuthConfig struct {
	// Mode is dev, jwt or proxy.
	Mode string `json:"mode"`
	// Secret is the shared secret of HS256; never read from a file.
	Secret     string `json:"secret"`
	SecretEnv  string `json:"secret_env"`
	SecretFile string `json:"secret_file"`
	// JWKSURL and JWKSFile hold the public keys of RS256, ES256 and EdDSA.
	JWKSURL  string `json:"jwks_url"`
	JWKSFile string `json:"jwks_file"`
	Audience string `json:"audience"`
	Issuer   string `json:"issuer"`
	// UserClaim is sub unless named. With TenantClaim a token without that
	// claim is refused; without it all users are of one tenant.
	UserClaim   string `json:"user_claim"`
	TenantClaim string `json:"tenant_claim"`
	// UserHeader, TenantHeader and TrustedProxies belong to proxy.
	UserHeader     string   `json:"user_header"`
	TenantHeader   string   `json:"tenant_header"`
	TrustedProxies []string `json:"trusted_proxies"`
	// Origins may call the server from other pages, or embed it.
	Origins []string `json:"origins"`
	// Audit lets some users read the audit log of their whole tenant.
	Audit PermissionConfig `json:"audit"`
}

// LimitsConfig bounds requests, streams and stores.
type LimitsConfig struct {
	// BodyBytes bounds a request's body. Default 1 MiB.
	BodyBytes int64 `json:"body_bytes"`
	// HistoryBytes bounds the body of a request of AG-UI or the AI SDK, whose
	// clients send all of their conversation each time. Default 16 MiB.
	HistoryBytes int64 `json:"history_bytes"`
	// InputBytes bounds a user message. Default 64 KiB.
	InputBytes int `json:"input_bytes"`
	// OutputBytes bounds the text of one turn. Default 1 MiB.
	OutputBytes int `json:"output_bytes"`
	// SummaryBytes bounds what the model is told of one tool. Default 4 KiB.
	SummaryBytes int `json:"summary_bytes"`
	// ContextBytes bounds the conversation given to the model. Default 256 KiB.
	ContextBytes int `json:"context_bytes"`
	// ClientTools is how many tools a client may bring, ClientToolBytes bounds
	// the description and parameters of one. Default 32 and 16 KiB.
	ClientTools     int `json:"client_tools"`
	ClientToolBytes int `json:"client_tool_bytes"`
	// ClientContextBytes bounds what a client says of its application: context
	// and state together. Default 64 KiB.
	ClientContextBytes int `json:"client_context_bytes"`
	// Blocks is how many blocks tools may show in a turn. Default 16.
	Blocks int `json:"blocks"`
	// OptionalBlocks is how many blocks a turn may show that no tool was asked
	// for. Default 2; negative: none.
	OptionalBlocks int `json:"optional_blocks"`
	// SessionCap bounds such blocks over a whole conversation too: SessionBlocks
	// of them (default 20), and none that leads where one of the last
	// SessionRepeatTurns answers (default 5) led.
	SessionCap         bool `json:"session_cap"`
	SessionBlocks      int  `json:"session_blocks"`
	SessionRepeatTurns int  `json:"session_repeat_turns"`
	// StreamsPerUser bounds the open streams of one user. Default 256; no limit
	// in dev mode, where everybody is one user. Negative switches it off.
	StreamsPerUser int `json:"streams_per_user"`
	// Streams bounds the open streams of the whole server. Default 20,000.
	Streams int `json:"streams"`
	// RequestsPerSecond is what one user may send on average. Default 100; no
	// limit in dev mode. Negative switches it off.
	RequestsPerSecond float64 `json:"requests_per_second"`
	// TurnsPerMinute is how many turns, retries and actions one user may start
	// on average. Default 120; no limit in dev mode. Negative switches it off.
	TurnsPerMinute float64 `json:"turns_per_minute"`
	// Coalesce is the time text is gathered before it is sent. Default 30 ms;
	// negative switches it off.
	Coalesce time.Duration `json:"coalesce"`
	// Heartbeat is the silence after which a comment is sent. Default 15 s.
	Heartbeat time.Duration `json:"heartbeat"`
	// WriteTimeout is how long a reader may stall one write. Default 30 s.
	WriteTimeout time.Duration `json:"write_timeout"`
	// ModelAttempts is how often a model call is tried. Default 3.
	ModelAttempts int `json:"model_attempts"`
	// ActionBytes bounds the payload of an action. Default 256 KiB.
	ActionBytes int `json:"action_bytes"`
	// ActionStateBytes bounds what is kept of it on the block. Default 16 KiB,
	// at most 48.
	ActionStateBytes int `json:"action_state_bytes"`
	// ActionResultBytes bounds what an action gives back. Default 64 KiB.
	ActionResultBytes int `json:"action_result_bytes"`
	// ConfirmExpiry is the life of a confirmation of level token. Default 5 min.
	ConfirmExpiry time.Duration `json:"confirm_expiry"`
	// RetainKeys is how long idempotency keys of actions are known. Default
	// 24 h.
	RetainKeys time.Duration `json:"retain_keys"`
	// RetainLog is how long the events of finished messages are kept. Default
	// 7 days, negative for ever; the messages themselves stay.
	RetainLog time.Duration `json:"retain_log"`
}

// StoreConfig says where conversations are kept.
type StoreConfig struct {
	// URL is sqlite:PATH. Default sqlite:DATA/inlay.db.
	URL string `json:"url"`
	// Synchronous is normal (default: survives a crash of the process) or full
	// (survives a loss of power too).
	Synchronous string `json:"synchronous"`
}

// LogConfig shapes the server's own log.
type LogConfig struct {
	// Format is text (default) or json.
	Format string `json:"format"`
	// Level is debug, info (default), warn or error.
	Level string `json:"level"`
}

// Profiles are the vendor dialects that ModelConfig.Profile may name.
func Profiles() []string { return openai.ProfileNames() }
