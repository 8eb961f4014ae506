package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"time"

	"github.com/MicahParks/keyfunc/v3"
	"github.com/golang-jwt/jwt/v5"
	"golang.org/x/time/rate"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// JWTOptions configure identity by signed tokens. Exactly one of Secret,
// JWKSURL and JWKSFile is given.
type JWTOptions struct {
	// Secret is shared with the issuer: tokens are HS256 with at least 32
	// bytes of it.
	Secret []byte
	// JWKSURL is where the issuer publishes its keys (https, or http on this
	// machine). They are read again every hour and for a key that is not
	// known.
	JWKSURL string
	// JWKSFile holds the keys instead.
	JWKSFile string
	// Algorithms are those accepted from a key set. Default RS256, ES256 and
	// EdDSA.
	Algorithms []string
	// Issuer and Audience are demanded when set.
	Issuer, Audience string
	// UserClaim names the user. Default "sub".
	UserClaim string
	// TenantClaim names the tenant; a token without it is refused. Empty means
	// that all users are of the tenant "default".
	TenantClaim string
	// Leeway forgives clocks that differ. Default 30 s.
	Leeway time.Duration
	// Client reads JWKSURL. Default: a client with a timeout of 10 s.
	Client *http.Client
	// Logger is told when JWKSURL cannot be read. Nil discards.
	Logger *slog.Logger
	// Now replaces the clock in tests.
	Now func() time.Time
}

type jwtAuth struct {
	opt    JWTOptions
	parser *jwt.Parser
	key    jwt.Keyfunc
}

// JWTAuth takes the user from a bearer token in the Authorization header. ctx
// ends the reading of a key set by URL.
func JWTAuth(ctx context.Context, o JWTOptions) (Auth, error) {
	sources := 0
	for _, given := range []bool{len(o.Secret) > 0, o.JWKSURL != "", o.JWKSFile != ""} {
		if given {
			sources++
		}
	}
	if sources != 1 {
		return nil, errors.New("jwt identity takes exactly one of a secret, a key set URL and a key set file")
	}
	if o.UserClaim == "" {
		o.UserClaim = "sub"
	}
	if o.Leeway == 0 {
		o.Leeway = 30 * time.Second
	}
	if o.Client == nil {
		o.Client = &http.Client{Timeout: 10 * time.Second}
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	a := &jwtAuth{opt: o}
	algorithms := o.Algorithms
	switch {
	case len(o.Secret) > 0:
		if len(o.Secret) < 32 {
			return nil, errors.New("a jwt secret must have at least 32 bytes")
		}
		algorithms = []string{"HS256"}
		a.key = func(*jwt.Token) (any, error) { return o.Secret, nil }
	default:
		if len(algorithms) == 0 {
			algorithms = []string{"RS256", "ES256", "EdDSA"}
		}
		// With a key set, HS256 would let anyone sign with a public key.
		for _, alg := range algorithms {
			if !slices.Contains([]string{"RS256", "RS384", "RS512", "PS256", "PS384", "PS512", "ES256", "ES384", "ES512", "EdDSA"}, alg) {
				return nil, fmt.Errorf("jwt algorithm %q cannot be used with a key set", alg)
			}
		}
		key, err := keySet(ctx, o)
		if err != nil {
			return nil, err
		}
		a.key = key
	}
	options := []jwt.ParserOption{
		jwt.WithValidMethods(algorithms), jwt.WithExpirationRequired(), jwt.WithLeeway(o.Leeway), jwt.WithStrictDecoding(),
	}
	if o.Issuer != "" {
		options = append(options, jwt.WithIssuer(o.Issuer))
	}
	if o.Audience != "" {
		options = append(options, jwt.WithAudience(o.Audience))
	}
	if o.Now != nil {
		options = append(options, jwt.WithTimeFunc(o.Now))
	}
	a.parser = jwt.NewParser(options...)
	return a, nil
}

func keySet(ctx context.Context, o JWTOptions) (jwt.Keyfunc, error) {
	if o.JWKSFile != "" {
		b, err := os.ReadFile(o.JWKSFile)
		if err != nil {
			return nil, fmt.Errorf("read key set: %w", err)
		}
		k, err := keyfunc.NewJWKSetJSON(b)
		if err != nil {
			return nil, fmt.Errorf("key set %s: %w", o.JWKSFile, err)
		}
		return k.Keyfunc, nil
	}
	u, err := url.Parse(o.JWKSURL)
	if err != nil || u.Host == "" || u.Scheme != "https" && (u.Scheme != "http" || !loopbackHost(u.Host)) {
		return nil, fmt.Errorf("key set URL %q must be https", o.JWKSURL)
	}
	k, err := keyfunc.NewDefaultOverrideCtx(ctx, []string{o.JWKSURL}, keyfunc.Override{
		Client:      o.Client,
		HTTPTimeout: 10 * time.Second,
		// Tokens with made-up key ids must neither flood the issuer nor hold
		// requests.
		RefreshUnknownKID: rate.NewLimiter(rate.Every(10*time.Second), 1),
		RefreshErrorHandlerFunc: func(u string) func(context.Context, error) {
			return func(_ context.Context, err error) { o.Logger.Warn("read key set", "url", u, "err", err) }
		},
		RateLimitWaitMax: 3 * time.Second, // the reading included
	})
	if err != nil {
		return nil, fmt.Errorf("key set %s: %w", o.JWKSURL, err)
	}
	return k.Keyfunc, nil
}

// Mode implements Auth.
func (*jwtAuth) Mode() string { return "jwt" }

// Authenticate implements Auth.
func (a *jwtAuth) Authenticate(r *http.Request) (tool.Caller, store.Owner, error) {
	fail := func(err error) (tool.Caller, store.Owner, error) { return tool.Caller{}, store.Owner{}, err }
	raw := bearer(r)
	if raw == "" {
		return fail(errNoCredentials)
	}
	claims := jwt.MapClaims{}
	parsed, err := a.parser.ParseWithClaims(raw, claims, a.key)
	if err != nil {
		return fail(fmt.Errorf("token: %w", err))
	}
	if _, ok := parsed.Header["crit"]; ok { // RFC 7515 §4.1.11
		return fail(errors.New("token: it demands an extension that is not known here"))
	}
	user, err := claim(claims, a.opt.UserClaim)
	if err != nil {
		return fail(err)
	}
	o := store.Owner{Tenant: defaultTenant, User: user}
	if a.opt.TenantClaim != "" {
		if o.Tenant, err = claim(claims, a.opt.TenantClaim); err != nil {
			return fail(err)
		}
	}
	return tool.Caller{Tenant: o.Tenant, User: o.User, Token: raw, Claims: claims}, o, nil
}

func claim(claims jwt.MapClaims, name string) (string, error) {
	s, ok := claims[name].(string)
	if !ok {
		return "", fmt.Errorf("token: the claim %q is missing or no string", name)
	}
	s, err := identifier(s)
	if err != nil {
		return "", fmt.Errorf("token: claim %q: %w", name, err)
	}
	return s, nil
}
