package inlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/netip"
	"os"
	"sort"
	"strings"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/server"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
	"github.com/inlay-ui/inlay/turn"
)

// NewLogger returns the logger that a LogConfig describes.
func NewLogger(c LogConfig, w io.Writer) (*slog.Logger, error) {
	level := slog.LevelInfo
	if c.Level != "" {
		if err := level.UnmarshalText([]byte(c.Level)); err != nil {
			return nil, fmt.Errorf("log.level: %q must be debug, info, warn or error", c.Level)
		}
	}
	opt := &slog.HandlerOptions{Level: level}
	switch c.Format {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, opt)), nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, opt)), nil
	}
	return nil, fmt.Errorf("log.format: %q must be text or json", c.Format)
}

// devMode reports whether everybody is let in as one user.
func (c Config) devMode() bool {
	return c.Dev || c.Auth.Mode == "" || c.Auth.Mode == "dev"
}

func (c Config) turnLimits() turn.Limits {
	l := turn.Limits{
		Steps: c.Agent.MaxSteps, Calls: c.Agent.MaxCalls, Parallel: c.Agent.Parallel,
		Turn: c.Agent.Timeout, Tool: c.Agent.ToolTimeout,
		OutputBytes: c.Limits.OutputBytes, SummaryBytes: c.Limits.SummaryBytes, ContextBytes: c.Limits.ContextBytes,
		ClientTools: c.Limits.ClientTools, ClientToolBytes: c.Limits.ClientToolBytes, ClientContextBytes: c.Limits.ClientContextBytes,
		Blocks: c.Limits.Blocks, Optional: c.Limits.OptionalBlocks,
		Attachments: c.Assets.MaxFiles, Attempts: c.Limits.ModelAttempts, Coalesce: c.Limits.Coalesce,
	}
	if l.Attempts == 0 && c.Model.Kind == modelText {
		l.Attempts = 1 // the upstream may have done something already
	}
	if c.Limits.SessionCap {
		l.Session = &turn.SessionLimits{Blocks: c.Limits.SessionBlocks, Turns: c.Limits.SessionRepeatTurns}
	}
	return l
}

// undeclaredBlocks says whether clients of other protocols that declare nothing
// get every block.
func (c WiresConfig) undeclaredBlocks() (bool, error) {
	switch c.Undeclared {
	case "", "text":
		return false, nil
	case "blocks":
		return true, nil
	}
	return false, fmt.Errorf("wires.undeclared: %q must be text or blocks%s", c.Undeclared, didYouMean(nearest.Of(c.Undeclared, []string{"text", "blocks"})))
}

func (c Config) actionLimits() action.Limits {
	return action.Limits{
		Payload: c.Limits.ActionBytes, State: c.Limits.ActionStateBytes, Result: c.Limits.ActionResultBytes, Prompt: c.Limits.InputBytes,
		Confirm: c.Limits.ConfirmExpiry, Keep: c.Limits.RetainKeys,
	}
}

func (c Config) serverLimits() server.Limits {
	l := server.Limits{
		BodyBytes: c.Limits.BodyBytes, HistoryBytes: c.Limits.HistoryBytes, InputBytes: c.Limits.InputBytes, Streams: c.Limits.Streams,
		StreamsPerUser: c.Limits.StreamsPerUser, RequestsPerSecond: c.Limits.RequestsPerSecond, TurnsPerMinute: c.Limits.TurnsPerMinute,
	}
	if c.devMode() && c.Authenticate == nil {
		// Everybody is one user.
		off := func(v float64) float64 {
			if v == 0 {
				return -1
			}
			return v
		}
		l.StreamsPerUser = int(off(float64(l.StreamsPerUser)))
		l.RequestsPerSecond, l.TurnsPerMinute = off(l.RequestsPerSecond), off(l.TurnsPerMinute)
	}
	return l
}

// newAuth returns the identity check that the configuration names.
func (c Config) newAuth(ctx context.Context, log *slog.Logger) (server.Auth, error) {
	a := c.Auth
	if c.devMode() {
		if c.Dev && a.Mode != "" && a.Mode != "dev" {
			return nil, fmt.Errorf("auth.mode: %s and --dev exclude each other", a.Mode)
		}
		return server.DevAuth(), nil
	}
	switch a.Mode {
	case "jwt":
		if a.Secret == "" && a.SecretEnv == "" && a.SecretFile == "" && a.JWKSURL == "" && a.JWKSFile == "" {
			return nil, errors.New("auth: jwt needs auth.jwks_url, auth.jwks_file, or the secret of HS256: auth.secret_env, auth.secret_file or INLAY_AUTH_SECRET")
		}
		key, err := secret("auth.secret", a.Secret, a.SecretEnv, a.SecretFile)
		if err != nil {
			return nil, err
		}
		auth, err := server.JWTAuth(ctx, server.JWTOptions{
			Secret: []byte(key), JWKSURL: a.JWKSURL, JWKSFile: a.JWKSFile, Issuer: a.Issuer, Audience: a.Audience,
			UserClaim: a.UserClaim, TenantClaim: a.TenantClaim, Logger: log,
		})
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		return auth, nil
	case "proxy":
		o := server.ProxyOptions{UserHeader: a.UserHeader, TenantHeader: a.TenantHeader}
		for _, s := range a.TrustedProxies {
			p, err := netip.ParsePrefix(s)
			if err != nil {
				return nil, fmt.Errorf("auth.trusted_proxies: %w", err)
			}
			o.Trusted = append(o.Trusted, p)
		}
		auth, err := server.ProxyAuth(o)
		if err != nil {
			return nil, fmt.Errorf("auth: %w", err)
		}
		return auth, nil
	}
	return nil, fmt.Errorf("auth.mode: %q must be dev, jwt or proxy%s", a.Mode, didYouMean(nearest.Of(a.Mode, []string{"dev", "jwt", "proxy"})))
}

// sources are the data sources that are open.
type sources struct {
	sql  map[string]*sqltool.Source
	http map[string]*httptool.Source
}

func (s *sources) close() error {
	var errs []error
	for name, src := range s.sql {
		if err := src.Close(); err != nil {
			errs = append(errs, fmt.Errorf("close source %s: %w", name, err))
		}
	}
	return errors.Join(errs...)
}

func (c Config) openSources() (*sources, error) {
	s := &sources{sql: map[string]*sqltool.Source{}, http: map[string]*httptool.Source{}}
	for _, name := range sortedKeys(c.Sources) {
		src := c.Sources[name]
		var err error
		switch {
		case src.SQL != nil && src.HTTP != nil, src.SQL == nil && src.HTTP == nil:
			err = errors.New("exactly one of sql and http is required")
		case src.SQL != nil:
			var db *sqltool.Source
			if db, err = src.SQL.open(); err == nil {
				s.sql[name] = db
			}
		default:
			s.http[name], err = src.HTTP.open()
		}
		if err != nil {
			return nil, errors.Join(fmt.Errorf("sources.%s: %w", name, err), s.close())
		}
	}
	return s, nil
}

func (q *SQLSource) open() (*sqltool.Source, error) {
	dsn := q.DSN
	if q.DSNEnv != "" {
		if dsn != "" {
			return nil, errors.New("sql: dsn and dsn_env exclude each other")
		}
		if dsn = os.Getenv(q.DSNEnv); dsn == "" {
			return nil, fmt.Errorf("sql.dsn_env: the environment variable %s is not set", q.DSNEnv)
		}
	}
	src, err := sqltool.Open(sqltool.Config{
		DSN: dsn, ReadOnly: q.ReadOnly, MaxRows: q.MaxRows, MaxBytes: q.MaxBytes, Timeout: q.Timeout, MaxConns: q.MaxConns,
	})
	if err != nil {
		return nil, fmt.Errorf("sql: %w", err)
	}
	return src, nil
}

func (h *HTTPSource) open() (*httptool.Source, error) {
	token, err := secret("http.token", "", h.TokenEnv, h.TokenFile)
	if err != nil {
		return nil, err
	}
	src, err := httptool.Open(httptool.Config{
		BaseURL: h.BaseURL, Auth: h.Auth, Token: token, Headers: h.Headers, Timeout: h.Timeout, MaxBytes: h.MaxBytes,
	})
	if err != nil {
		return nil, fmt.Errorf("http: %w", err)
	}
	return src, nil
}

// names lists the sources.
func (s *sources) names() []string { return append(sortedKeys(s.sql), sortedKeys(s.http)...) }

// declaredTools makes the tools of the configuration and opens their sources,
// which the caller closes.
func (c Config) declaredTools() ([]tool.Tool, *sources, error) {
	s, err := c.openSources()
	if err != nil {
		return nil, nil, err
	}
	var tools []tool.Tool
	for i, tc := range c.Tools {
		t, err := tc.make(s)
		if err != nil {
			return nil, nil, errors.Join(fmt.Errorf("tools[%d]: %w", i, err), s.close())
		}
		tools = append(tools, t)
	}
	return tools, s, nil
}

func (tc ToolConfig) make(s *sources) (tool.Tool, error) {
	spec := tool.Spec{
		Name: tc.Name, Description: tc.Description, Title: tc.Title,
		Timeout: tc.Timeout, Exclusive: tc.Exclusive, Refreshable: tc.Refreshable,
	}
	if tc.Parameters != nil {
		raw, err := json.Marshal(tc.Parameters)
		if err != nil {
			return nil, fmt.Errorf("tool %q: parameters: %w", tc.Name, err)
		}
		spec.Parameters = raw
	}
	if tc.Ask != nil {
		ask, err := mapping.CompileAsk(fmt.Sprintf("tool %q", tc.Name), *tc.Ask)
		if err != nil {
			return nil, err
		}
		spec.Ask = ask
	}
	how := mapping.Config{Block: tc.Block, Summary: tc.Summary}
	db, isSQL := s.sql[tc.Source]
	origin, isHTTP := s.http[tc.Source]
	switch {
	case isSQL && tc.Query != "" && tc.Request == nil:
		return sqltool.New(db, sqltool.Def{Spec: spec, Query: tc.Query, Mapping: how})
	case isHTTP && tc.Request != nil && tc.Query == "":
		return httptool.New(origin, httptool.Def{Spec: spec, Request: *tc.Request, Mapping: how})
	case isSQL:
		return nil, fmt.Errorf("tool %q: its source %s is a database: query is required, and no request", tc.Name, tc.Source)
	case isHTTP:
		return nil, fmt.Errorf("tool %q: its source %s is an HTTP origin: request is required, and no query", tc.Name, tc.Source)
	}
	return nil, fmt.Errorf("tool %q: %w", tc.Name, s.undefined(tc.Source))
}

// undefined says that there is no source of a name.
func (s *sources) undefined(name string) error {
	names := s.names()
	if len(names) == 0 {
		return fmt.Errorf("source %q is not defined: there are no sources", name)
	}
	return fmt.Errorf("source %q is not defined (there are %s)%s", name, strings.Join(names, ", "), didYouMean(nearest.Of(name, names)))
}

func sortedKeys[V any](m map[string]V) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}
