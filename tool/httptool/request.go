package httptool

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// Request declares an HTTP request. Path, the values of Query and those of
// Headers may use {{.args.name}}; what is filled in is escaped for its place.
type Request struct {
	// Method is GET when empty.
	Method string `json:"method"`
	// Path starts with / and is appended to the source's. A value may not
	// leave its segment.
	Path string `json:"path"`
	// Query parameters whose value is one placeholder are left out when the
	// argument is, and repeated when it is a list.
	Query map[string]string `json:"query"`
	// Headers that use an argument which was left out are not sent.
	Headers map[string]string `json:"headers"`
	// Body is a jq program over {args, user} whose result is sent as JSON.
	Body string `json:"body"`
}

// Call is a compiled Request of a source. It is safe for concurrent use.
type Call struct {
	src     *Source
	method  string
	path    *mapping.Template
	query   []named
	headers []named
	body    *mapping.Program
}

type named struct {
	name string
	text *mapping.Template
}

var methods = []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete}

// Compile checks a Request.
func (s *Source) Compile(r Request) (*Call, error) {
	c := &Call{src: s, method: r.Method}
	if c.method == "" {
		c.method = http.MethodGet
	}
	if !slices.Contains(methods, c.method) {
		return nil, fmt.Errorf("method %q: must be one of %s", r.Method, strings.Join(methods, ", "))
	}
	if !strings.HasPrefix(r.Path, "/") {
		return nil, fmt.Errorf("path %q: must start with /", r.Path)
	}
	var err error
	if c.path, err = mapping.CompileTemplate("path", r.Path); err != nil {
		return nil, err
	}
	if strings.ContainsAny(r.Path, "?#") {
		return nil, fmt.Errorf("path %q: must have neither ? nor #; use query", r.Path)
	}
	if err := checkPath(c.path.Literal()); err != nil {
		return nil, fmt.Errorf("path %q: %w", r.Path, err)
	}
	for _, k := range sortedKeys(r.Query) {
		t, err := mapping.CompileTemplate("query "+k, r.Query[k])
		if err != nil {
			return nil, err
		}
		c.query = append(c.query, named{k, t})
	}
	for _, k := range sortedKeys(r.Headers) {
		t, err := mapping.CompileTemplate("header "+k, r.Headers[k])
		if err != nil {
			return nil, err
		}
		if err := checkHeader(k, strings.ReplaceAll(t.Literal(), "\x00", "")); err != nil {
			return nil, fmt.Errorf("headers: %w", err)
		}
		c.headers = append(c.headers, named{k, t})
	}
	if r.Body != "" {
		if c.Safe() {
			return nil, fmt.Errorf("body: a %s request has none", c.method)
		}
		if c.body, err = mapping.CompileProgram("body", r.Body); err != nil {
			return nil, err
		}
	}
	return c, nil
}

func sortedKeys(m map[string]string) []string {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	return keys
}

// Safe says whether sending the request again changes nothing.
func (c *Call) Safe() bool { return c.method == http.MethodGet || c.method == http.MethodHead }

// checkPath refuses what servers read as another path than is written: dot
// segments in any spelling, empty segments, backslashes.
func checkPath(escaped string) error {
	for i, seg := range strings.Split(escaped, "/") {
		plain, err := url.PathUnescape(seg)
		switch {
		case err != nil:
			return err
		case plain == "." || plain == "..":
			return errors.New("dot segments are not allowed")
		case strings.ContainsAny(plain, `\/`):
			return errors.New("a segment holds a slash")
		case plain == "" && i > 0 && i < strings.Count(escaped, "/"):
			return errors.New("empty segments are not allowed")
		}
	}
	return nil
}

// errSegment says that a value would leave its path segment.
var errSegment = errors.New("the value does not fit into a path")

// pathValue escapes a value for a path segment. What some server between here
// and the data might decode into another path is refused rather than escaped.
func pathValue(v string) (string, error) {
	if v == "" || strings.ContainsAny(v, `/\%`) || strings.ContainsFunc(v, isControl) {
		return "", errSegment
	}
	return url.PathEscape(v), nil
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

// build makes the request. What is wrong with an argument is the model's to
// mend, so it is said in words.
func (c *Call) build(ctx context.Context, data map[string]any) (*http.Request, error) {
	path, err := c.path.Render(data, pathValue)
	if err == nil {
		err = checkPath(path)
	}
	if err != nil {
		return nil, argumentError("path", err)
	}
	q := make(url.Values)
	for _, p := range c.query {
		values, err := queryValues(p.text, data)
		if err != nil {
			return nil, argumentError("query "+p.name, err)
		}
		if values != nil {
			q[p.name] = values
		}
	}
	var body []byte
	if c.body != nil {
		if body, err = c.body.JSON(ctx, data); err != nil {
			return nil, argumentError("body", err)
		}
	}
	target := strings.TrimSuffix(c.src.base.String(), "/") + path
	if len(q) > 0 {
		target += "?" + q.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, c.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, argumentError("request", err)
	}
	// Whatever was filled in, the request goes where the source is.
	if !sameOrigin(req.URL, c.src.base) {
		return nil, argumentError("request", errors.New("it would leave its origin"))
	}
	for k, v := range c.src.headers {
		req.Header[k] = v
	}
	for _, h := range c.headers {
		v, err := h.text.Render(data, nil)
		if errors.Is(err, mapping.ErrMissing) {
			continue
		}
		if err == nil {
			err = checkHeader(h.name, v)
		}
		if err != nil {
			return nil, argumentError("header "+h.name, err)
		}
		req.Header.Set(h.name, v)
	}
	if req.Header.Get("Accept") == "" {
		req.Header.Set("Accept", "application/json")
	}
	if c.body != nil && req.Header.Get("Content-Type") == "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req, nil
}

func queryValues(t *mapping.Template, data map[string]any) ([]string, error) {
	path, ok := t.Single()
	if !ok {
		s, err := t.Render(data, nil)
		if err != nil {
			return nil, err
		}
		return []string{s}, nil
	}
	v, ok := mapping.Lookup(data, path)
	if !ok || v == nil {
		return nil, nil
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	out := make([]string, 0, len(list))
	for _, item := range list {
		s, err := mapping.Text(item)
		if err != nil {
			return nil, err
		}
		out = append(out, s)
	}
	return out, nil
}

func argumentError(where string, err error) error {
	var m *mapping.Message
	if errors.As(err, &m) {
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: m.Text, Err: ErrNotSent}
	}
	return &tool.Error{
		Code:    block.CodeDataFetchFailed,
		Message: "The request could not be made from these arguments.",
		Err:     fmt.Errorf("%w: %s: %w", ErrNotSent, where, err),
	}
}
