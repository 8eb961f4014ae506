package server

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// origins are the pages of other origins that may call this server.
type origins struct {
	list    []string
	protect *http.CrossOriginProtection
}

func newOrigins(list []string) (*origins, error) {
	o := &origins{protect: http.NewCrossOriginProtection()}
	for _, origin := range list {
		u, err := url.Parse(origin)
		if err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http" || origin != u.Scheme+"://"+u.Host {
			return nil, fmt.Errorf("server: origin %q must look like https://app.example.com", origin)
		}
		// Browsers write origins in lower case; this one goes into headers.
		if origin != strings.ToLower(origin) || strings.ContainsAny(origin, "*;,'\" ") {
			return nil, fmt.Errorf("server: origin %q must be one host in lower case", origin)
		}
		if err := o.protect.AddTrustedOrigin(origin); err != nil {
			return nil, fmt.Errorf("server: origin %q: %w", origin, err)
		}
		o.list = append(o.list, origin)
	}
	return o, nil
}

const (
	corsMethods = "GET, POST, PATCH, DELETE"
	corsHeaders = "Accept, Accept-Language, Authorization, Content-Type, Idempotency-Key, If-None-Match, If-Range, Last-Event-ID, Range, Traceparent, X-Blocks"
	corsExposed = "X-Message-Id, X-Conversation-Id, X-User-Message-Id, X-Trace-Id, Retry-After, Content-Disposition, Content-Length, Accept-Ranges, Content-Range, ETag, Idempotency-Replayed, X-Last-Event-Id, X-Next-Cursor"
)

// headers sets what every answer has and lets the listed origins read it. It
// reports whether the request was a preflight and has been answered.
func (o *origins) headers(w http.ResponseWriter, r *http.Request) (preflight bool) {
	h := w.Header()
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Add("Vary", "Origin")
	origin := r.Header.Get("Origin")
	listed := origin != "" && slices.Contains(o.list, origin)
	if listed {
		h.Set("Access-Control-Allow-Origin", origin)
		h.Set("Access-Control-Allow-Credentials", "true")
		h.Set("Access-Control-Expose-Headers", corsExposed)
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	if r.Method != http.MethodOptions || r.Header.Get("Access-Control-Request-Method") == "" {
		return false
	}
	if listed {
		h.Set("Access-Control-Allow-Methods", corsMethods)
		h.Set("Access-Control-Allow-Headers", corsHeaders)
		h.Set("Access-Control-Max-Age", "7200")
	}
	w.WriteHeader(http.StatusNoContent)
	return true
}

// foreign refuses writes from pages of other origins that are not listed. It
// reports whether it did.
func (s *server) foreign(w http.ResponseWriter, r *http.Request) bool {
	err := s.origins.protect.Check(r)
	if err == nil {
		return false
	}
	a := &answer{status: http.StatusForbidden, code: codeForbidden, message: "Pages of other sites may not call the server.", err: err}
	if origin := r.Header.Get("Origin"); origin != "" {
		a.message = "Pages of the origin " + origin + " may not call the server: it is not one of auth.origins."
		a.details = map[string]any{"origin": origin}
	}
	s.fail(w, r, a)
	return true
}

// contentSecurityPolicy is the page's: scripts are its own files, nothing
// inline; styles may be inline because charts and formulas set them.
func contentSecurityPolicy(o *origins, allow Allow) string {
	images := []string{"'self'", "data:", "blob:"}
	for _, host := range allow.ImageHosts {
		if host == "*" {
			images = append(images, "https:")
		} else if !strings.ContainsAny(host, "; ,'\"") {
			images = append(images, "https://"+host)
		}
	}
	ancestors := append([]string{"'self'"}, o.list...)
	return strings.Join([]string{
		"default-src 'none'",
		"script-src 'self'",
		"style-src 'self' 'unsafe-inline'",
		"img-src " + strings.Join(images, " "),
		"font-src 'self'",
		"connect-src 'self'",
		"worker-src 'self' blob:",
		"manifest-src 'self'",
		"media-src 'self' blob:",
		"frame-src 'none'",
		"object-src 'none'",
		"base-uri 'none'",
		"form-action 'none'",
		"frame-ancestors " + strings.Join(ancestors, " "),
	}, "; ")
}
