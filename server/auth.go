package server

import (
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"unicode"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// Auth finds out who sent a request.
type Auth interface {
	// Authenticate returns the caller, on whose behalf tools run, and the
	// owner of what the request reads and writes. Its error is answered with
	// 401 and nothing of its text; an error that wraps ErrForbidden with 403.
	Authenticate(r *http.Request) (tool.Caller, store.Owner, error)
	// Mode names the kind of identity for the page: "dev", "jwt", "proxy" or
	// another word.
	Mode() string
}

// ErrForbidden is wrapped by Auth errors that no other credentials would mend.
var ErrForbidden = errors.New("forbidden")

var errNoCredentials = errors.New("no credentials")

func authError(err error) error {
	if errors.Is(err, ErrForbidden) {
		return &answer{status: http.StatusForbidden, code: codeForbidden, message: "This server answers only to its own machine.", err: err}
	}
	return &answer{status: http.StatusUnauthorized, code: codeUnauthorized, message: "Please sign in.", err: err}
}

// DevAuth takes everybody for one anonymous user, as long as the request comes
// from this machine and asks for it by a loopback name: a page of another site
// whose name was pointed here must not read what is stored.
func DevAuth() Auth { return devAuth{} }

type devAuth struct{}

func (devAuth) Mode() string { return "dev" }

func (devAuth) Authenticate(r *http.Request) (tool.Caller, store.Owner, error) {
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil || !peer.Addr().Unmap().IsLoopback() {
		return tool.Caller{}, store.Owner{}, fmt.Errorf("%w: dev identity for %s", ErrForbidden, r.RemoteAddr)
	}
	if !loopbackHost(r.Host) {
		return tool.Caller{}, store.Owner{}, fmt.Errorf("%w: dev identity under the name %q", ErrForbidden, r.Host)
	}
	// A proxy on this machine says for whom it asks.
	for _, list := range r.Header.Values("X-Forwarded-For") {
		for hop := range strings.SplitSeq(list, ",") {
			if a, err := netip.ParseAddr(strings.TrimSpace(hop)); err != nil || !a.Unmap().IsLoopback() {
				return tool.Caller{}, store.Owner{}, fmt.Errorf("%w: dev identity for %q through a proxy", ErrForbidden, hop)
			}
		}
	}
	// Other ways of saying it are not worth telling apart.
	for _, name := range []string{"Forwarded", "X-Real-Ip"} {
		if v := r.Header.Get(name); v != "" {
			return tool.Caller{}, store.Owner{}, fmt.Errorf("%w: dev identity for %q through a proxy", ErrForbidden, v)
		}
	}
	o := store.Owner{Tenant: "dev", User: "dev"}
	return tool.Caller{Tenant: o.Tenant, User: o.User, Token: bearer(r)}, o, nil
}

func loopbackHost(host string) bool {
	if h, _, err := net.SplitHostPort(host); err == nil {
		host = h
	}
	host = strings.ToLower(strings.TrimSuffix(strings.Trim(host, "[]"), "."))
	if host == "localhost" || strings.HasSuffix(host, ".localhost") {
		return true
	}
	a, err := netip.ParseAddr(host)
	return err == nil && a.Unmap().IsLoopback()
}

// ProxyOptions configure identity by the headers of a trusted proxy.
type ProxyOptions struct {
	// Trusted are the networks from which the headers are believed. Required.
	Trusted []netip.Prefix
	// UserHeader names the user. Default X-Forwarded-User.
	UserHeader string
	// TenantHeader names the tenant; empty means that all users are of the
	// tenant "default".
	TenantHeader string
}

// ProxyAuth believes the headers of a proxy that has authenticated the user.
// The proxy must remove these headers from what clients send.
func ProxyAuth(o ProxyOptions) (Auth, error) {
	if len(o.Trusted) == 0 {
		return nil, errors.New("proxy identity needs the networks of the proxies it trusts, such as 10.0.0.0/8 (auth.trusted_proxies)")
	}
	if o.UserHeader == "" {
		o.UserHeader = "X-Forwarded-User"
	}
	return proxyAuth{o}, nil
}

type proxyAuth struct{ ProxyOptions }

func (proxyAuth) Mode() string { return "proxy" }

func (p proxyAuth) Authenticate(r *http.Request) (tool.Caller, store.Owner, error) {
	fail := func(format string, args ...any) (tool.Caller, store.Owner, error) {
		return tool.Caller{}, store.Owner{}, fmt.Errorf(format, args...)
	}
	peer, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return fail("peer address %q", r.RemoteAddr)
	}
	trusted := false
	for _, n := range p.Trusted {
		trusted = trusted || n.Contains(peer.Addr().Unmap())
	}
	if !trusted {
		return fail("%s is no trusted proxy", peer.Addr())
	}
	user, err := one(r, p.UserHeader)
	if err != nil {
		return fail("%w", err)
	}
	o := store.Owner{Tenant: defaultTenant, User: user}
	if p.TenantHeader != "" {
		if o.Tenant, err = one(r, p.TenantHeader); err != nil {
			return fail("%w", err)
		}
	}
	return tool.Caller{Tenant: o.Tenant, User: o.User, Token: bearer(r)}, o, nil
}

const defaultTenant = "default"

// one returns the only value of a header. A second one may come from the
// client rather than the proxy.
func one(r *http.Request, name string) (string, error) {
	values := r.Header.Values(name)
	if len(values) == 0 {
		return "", fmt.Errorf("%w: no %s header", errNoCredentials, name)
	}
	if len(values) > 1 {
		return "", fmt.Errorf("%d %s headers", len(values), name)
	}
	return identifier(strings.TrimSpace(values[0]))
}

// identifier checks a name that becomes part of an owner.
func identifier(s string) (string, error) {
	if s == "" {
		return "", errNoCredentials
	}
	if len(s) > 255 || strings.ContainsFunc(s, unicode.IsControl) {
		return "", errors.New("a name of a user or tenant is too long or has control characters")
	}
	return s, nil
}

// bearer returns the token of the Authorization header, or nothing.
func bearer(r *http.Request) string {
	scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !strings.EqualFold(scheme, "Bearer") {
		return ""
	}
	return strings.TrimSpace(token)
}
