package server

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/ed25519"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"encoding/base64"
	"encoding/json"
	"errors"
	"log/slog"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"

	"github.com/inlay-ui/inlay/store"
)

func request(remote, host string, headers ...string) *http.Request {
	r := httptest.NewRequest("GET", "/v1/conversations", nil)
	r.RemoteAddr, r.Host = remote, host
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	return r
}

func TestDevAuth(t *testing.T) {
	for _, c := range []struct {
		r  *http.Request
		ok bool
	}{
		{request("127.0.0.1:5000", "localhost:8080"), true},
		{request("127.0.0.1:5000", "127.0.0.1:8080"), true},
		{request("[::1]:5000", "[::1]:8080"), true},
		{request("[::ffff:127.0.0.1]:5000", "app.localhost."), true},
		{request("127.0.0.1:5000", "localhost:8080", "X-Forwarded-For", "127.0.0.1, ::1"), true},
		{request("192.0.2.1:5000", "localhost:8080"), false},
		{request("bad", "localhost"), false},
		{request("127.0.0.1:5000", "evil.example"), false}, // a name pointed at this machine
		{request("127.0.0.1:5000", "localhost.evil.example"), false},
		{request("127.0.0.1:5000", "localhost:8080", "X-Forwarded-For", "203.0.113.9"), false},
		{request("127.0.0.1:5000", "localhost:8080", "X-Forwarded-For", "127.0.0.1", "X-Forwarded-For", "unknown"), false},
		{request("127.0.0.1:5000", "localhost:8080", "X-Real-Ip", "203.0.113.9"), false},
		{request("127.0.0.1:5000", "localhost:8080", "Forwarded", "for=203.0.113.9"), false},
	} {
		_, o, err := DevAuth().Authenticate(c.r)
		if c.ok != (err == nil) || c.ok && o.User == "" || !c.ok && !errors.Is(err, ErrForbidden) {
			t.Errorf("%s %s %v: %v", c.r.RemoteAddr, c.r.Host, c.r.Header, err)
		}
	}
	r := newRig(t, func(c *Config) { c.Auth = DevAuth() })
	r.rest(r.ask("", "hello"))
	res := r.request("GET", "/v1/conversations", nil, "X-Forwarded-For", "203.0.113.9")
	if res.StatusCode != 403 {
		t.Errorf("from elsewhere: %d", res.StatusCode)
	}
}

func TestProxyAuth(t *testing.T) {
	a, err := ProxyAuth(ProxyOptions{Trusted: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, TenantHeader: "X-Tenant"})
	if err != nil {
		t.Fatal(err)
	}
	caller, o, err := a.Authenticate(request("10.1.2.3:99", "x", "X-Forwarded-User", " ann ", "X-Tenant", "acme", "Authorization", "bearer tok"))
	if err != nil || o != (store.Owner{Tenant: "acme", User: "ann"}) || caller.Token != "tok" || caller.User != "ann" {
		t.Errorf("%+v %+v %v", caller, o, err)
	}
	for name, r := range map[string]*http.Request{
		"not from the proxy": request("192.0.2.1:99", "x", "X-Forwarded-User", "ann", "X-Tenant", "acme"),
		"no user":            request("10.1.2.3:99", "x", "X-Tenant", "acme"),
		"no tenant":          request("10.1.2.3:99", "x", "X-Forwarded-User", "ann"),
		"two users":          request("10.1.2.3:99", "x", "X-Forwarded-User", "ann", "X-Forwarded-User", "root", "X-Tenant", "acme"),
		"empty user":         request("10.1.2.3:99", "x", "X-Forwarded-User", " ", "X-Tenant", "acme"),
		"control characters": request("10.1.2.3:99", "x", "X-Forwarded-User", "a\x01b", "X-Tenant", "acme"),
		"long":               request("10.1.2.3:99", "x", "X-Forwarded-User", strings.Repeat("a", 256), "X-Tenant", "acme"),
		"bad address":        request("pipe", "x", "X-Forwarded-User", "ann", "X-Tenant", "acme"),
	} {
		if _, _, err := a.Authenticate(r); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
	if _, err := ProxyAuth(ProxyOptions{}); err == nil {
		t.Error("a proxy identity that trusts everyone")
	}
}

var secret = []byte("0123456789abcdef0123456789abcdef")

// critical is a token with an extension that readers must know.
func critical(t *testing.T, key any, claims jwt.MapClaims) string {
	t.Helper()
	tok := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)
	tok.Header["crit"] = []string{"b64"}
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func token(t *testing.T, method jwt.SigningMethod, key any, kid string, claims jwt.MapClaims) string {
	t.Helper()
	tok := jwt.NewWithClaims(method, claims)
	if kid != "" {
		tok.Header["kid"] = kid
	}
	s, err := tok.SignedString(key)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func bearerRequest(tok string) *http.Request {
	return request("192.0.2.1:1", "x", "Authorization", "Bearer "+tok)
}

func TestJWTSecret(t *testing.T) {
	now := time.Now()
	a, err := JWTAuth(t.Context(), JWTOptions{Secret: secret, Issuer: "https://id.example.com", Audience: "inlay", TenantClaim: "org", UserClaim: "email"})
	if err != nil {
		t.Fatal(err)
	}
	good := func() jwt.MapClaims {
		return jwt.MapClaims{"email": "ann@example.com", "org": "acme", "iss": "https://id.example.com", "aud": []string{"other", "inlay"}, "exp": now.Add(time.Hour).Unix(), "nbf": now.Add(-time.Minute).Unix(), "role": "admin"}
	}
	tok := token(t, jwt.SigningMethodHS256, secret, "", good())
	caller, o, err := a.Authenticate(bearerRequest(tok))
	if err != nil || o != (store.Owner{Tenant: "acme", User: "ann@example.com"}) || caller.Token != tok || caller.Claims["role"] != "admin" {
		t.Fatalf("%+v %v", o, err)
	}
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	_ = public
	change := func(name string, value any) string {
		c := good()
		if value == nil {
			delete(c, name)
		} else {
			c[name] = value
		}
		return token(t, jwt.SigningMethodHS256, secret, "", c)
	}
	for name, tok := range map[string]string{
		"none":            token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "", good()),
		"HS512":           token(t, jwt.SigningMethodHS512, secret, "", good()),
		"EdDSA":           token(t, jwt.SigningMethodEdDSA, private, "", good()),
		"critical":        critical(t, secret, good()),
		"another secret":  token(t, jwt.SigningMethodHS256, []byte("another secret of thirty-two byt"), "", good()),
		"expired":         change("exp", now.Add(-time.Minute).Unix()),
		"no exp":          change("exp", nil),
		"not yet":         change("nbf", now.Add(time.Hour).Unix()),
		"another issuer":  change("iss", "https://evil.example"),
		"no issuer":       change("iss", nil),
		"not for us":      change("aud", "other"),
		"no user":         change("email", nil),
		"a number":        change("email", 7),
		"an empty user":   change("email", ""),
		"no tenant":       change("org", nil),
		"cut":             tok[:len(tok)-3],
		"altered":         tok[:len(tok)-1] + "!",
		"words":           "hello",
		"nothing":         "",
		"payload swapped": strings.Join([]string{strings.Split(tok, ".")[0], strings.Split(change("email", "root"), ".")[1], strings.Split(tok, ".")[2]}, "."),
	} {
		if _, o, err := a.Authenticate(bearerRequest(tok)); err == nil {
			t.Errorf("%s was taken for %+v", name, o)
		}
	}
	if _, _, err := a.Authenticate(request("192.0.2.1:1", "x", "Authorization", "Basic "+tok)); err == nil {
		t.Error("a token under another scheme was taken")
	}

	var log bytes.Buffer
	r := newRig(t, func(c *Config) {
		c.Auth = a
		c.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	want[any](r.as(tok), 200, "GET", "/v1/conversations", nil)
	expired := change("exp", 1)
	res := r.as(expired).request("GET", "/v1/conversations", nil)
	if b := r.body(res); res.StatusCode != 401 || res.Header.Get("WWW-Authenticate") != "Bearer" || strings.Contains(string(b), "expired") {
		t.Errorf("%d %s", res.StatusCode, b)
	}
	r.srv.Close() // waits for what is still being logged
	if s := log.String(); !strings.Contains(s, "token refused") || !strings.Contains(s, "expired") || strings.Contains(s, expired) {
		t.Errorf("the operator is told %q", s)
	}
}

func TestJWTDefaults(t *testing.T) {
	a, err := JWTAuth(t.Context(), JWTOptions{Secret: secret})
	if err != nil {
		t.Fatal(err)
	}
	// A clock that differs a little is forgiven.
	tok := token(t, jwt.SigningMethodHS256, secret, "", jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(-10 * time.Second).Unix()})
	if _, o, err := a.Authenticate(bearerRequest(tok)); err != nil || o != (store.Owner{Tenant: "default", User: "ann"}) {
		t.Errorf("%+v %v", o, err)
	}
	for name, o := range map[string]JWTOptions{
		"nothing":       {},
		"two sources":   {Secret: secret, JWKSFile: "x"},
		"short secret":  {Secret: secret[:31]},
		"http":          {JWKSURL: "http://id.example.com/jwks"},
		"no URL":        {JWKSURL: "jwks"},
		"no file":       {JWKSFile: filepath.Join(t.TempDir(), "none")},
		"HS256 of keys": {JWKSFile: "x", Algorithms: []string{"RS256", "HS256"}},
		"none of keys":  {JWKSFile: "x", Algorithms: []string{"none"}},
	} {
		if _, err := JWTAuth(t.Context(), o); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}

func b64(b []byte) string { return base64.RawURLEncoding.EncodeToString(b) }

// jwks writes public keys as a key set.
func jwks(t *testing.T, keys map[string]crypto.PublicKey) []byte {
	t.Helper()
	var list []map[string]string
	for kid, k := range keys {
		switch k := k.(type) {
		case *rsa.PublicKey:
			list = append(list, map[string]string{"kty": "RSA", "kid": kid, "n": b64(k.N.Bytes()), "e": b64(big.NewInt(int64(k.E)).Bytes())})
		case *ecdsa.PublicKey:
			point, err := k.Bytes()
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, map[string]string{"kty": "EC", "crv": "P-256", "kid": kid, "x": b64(point[1:33]), "y": b64(point[33:])})
		case ed25519.PublicKey:
			list = append(list, map[string]string{"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": b64(k)})
		}
	}
	b, err := json.Marshal(map[string]any{"keys": list})
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func TestJWKS(t *testing.T) {
	rsaKey, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	ecKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	edPublic, edKey, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	keys := map[string]crypto.PublicKey{"r": &rsaKey.PublicKey, "e": &ecKey.PublicKey, "d": edPublic}
	claims := jwt.MapClaims{"sub": "ann", "exp": time.Now().Add(time.Hour).Unix()}

	file := filepath.Join(t.TempDir(), "jwks.json")
	if err := os.WriteFile(file, jwks(t, keys), 0o600); err != nil {
		t.Fatal(err)
	}
	var published atomic.Pointer[[]byte]
	set := jwks(t, map[string]crypto.PublicKey{"r": &rsaKey.PublicKey})
	published.Store(&set)
	var reads atomic.Int32
	issuer := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		reads.Add(1)
		_, _ = w.Write(*published.Load())
	}))
	defer issuer.Close()

	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	byURL, err := JWTAuth(ctx, JWTOptions{JWKSURL: issuer.URL})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := byURL.Authenticate(bearerRequest(token(t, jwt.SigningMethodRS256, rsaKey, "r", claims))); err != nil {
		t.Errorf("by URL: %v", err)
	}
	// The issuer has new keys: they are read once, not for every made-up id.
	set2 := jwks(t, keys)
	published.Store(&set2)
	if _, _, err := byURL.Authenticate(bearerRequest(token(t, jwt.SigningMethodES256, ecKey, "e", claims))); err != nil {
		t.Errorf("a new key: %v", err)
	}
	before := reads.Load()
	began := time.Now()
	for range 20 {
		if _, _, err := byURL.Authenticate(bearerRequest(token(t, jwt.SigningMethodES256, ecKey, "made-up", claims))); err == nil {
			t.Error("a made-up key id was taken")
		}
	}
	if n := reads.Load() - before; n > 1 || time.Since(began) > 15*time.Second {
		t.Errorf("20 made-up key ids made %d reads in %v", n, time.Since(began))
	}

	a, err := JWTAuth(t.Context(), JWTOptions{JWKSFile: file})
	if err != nil {
		t.Fatal(err)
	}
	for name, tok := range map[string]string{
		"RS256": token(t, jwt.SigningMethodRS256, rsaKey, "r", claims),
		"ES256": token(t, jwt.SigningMethodES256, ecKey, "e", claims),
		"EdDSA": token(t, jwt.SigningMethodEdDSA, edKey, "d", claims),
	} {
		if _, _, err := a.Authenticate(bearerRequest(tok)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	pem := b64(rsaKey.PublicKey.N.Bytes())
	for name, tok := range map[string]string{
		"HS256 with a public key": token(t, jwt.SigningMethodHS256, []byte(pem), "r", claims),
		"RS512":                   token(t, jwt.SigningMethodRS512, rsaKey, "r", claims),
		"none":                    token(t, jwt.SigningMethodNone, jwt.UnsafeAllowNoneSignatureType, "r", claims),
		"another key's id":        token(t, jwt.SigningMethodES256, ecKey, "r", claims),
		"an unknown id":           token(t, jwt.SigningMethodES256, ecKey, "x", claims),
	} {
		if _, _, err := a.Authenticate(bearerRequest(tok)); err == nil {
			t.Errorf("%s was taken", name)
		}
	}
}
