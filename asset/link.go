package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/store"
)

// Dispositions of a file: shown in the browser's own window, or saved.
const (
	Inline     = "inline"
	Attachment = "attachment"
)

// VariantThumb is the small picture of a picture.
const VariantThumb = "thumb"

// purpose is what addresses are signed for.
const purpose = "asset-content"

// Link is a signed address of a file. Whoever has it has the file until it
// expires; it is never logged or stored.
type Link struct {
	// Query belongs behind the path of the file's content.
	Query       string
	Expires     time.Time
	Disposition string
}

// Link returns a new address of an owner's file. What browsers might run is
// never to be shown inline: then the disposition is attachment.
func (l *Library) Link(ctx context.Context, o store.Owner, id, disposition, variant string) (Link, error) {
	a, err := l.ready(ctx, o, id)
	if err != nil {
		return Link{}, err
	}
	if variant == VariantThumb && FactsOf(a).Thumb == nil {
		return Link{}, ErrPreview
	}
	life := l.ViewExpiry
	if disposition != Inline || !shown(a.Mime, FactsOf(a)) {
		disposition, life = Attachment, l.DownloadExpiry
	}
	until := l.Now().Add(life).Truncate(time.Second)
	exp := strconv.FormatInt(until.Unix(), 10)
	q := url.Values{"exp": {exp}, "sig": {l.Keys.Sign(purpose, id, disposition, variant, exp)}}
	if disposition == Inline {
		q.Set("d", Inline)
	}
	if variant != "" {
		q.Set("variant", variant)
	}
	return Link{Query: q.Encode(), Expires: until, Disposition: disposition}, nil
}

// grace is how long after its end an address serves the rest of a download
// that has begun before.
const grace = 60 * time.Second

// Claim is what a request says of the content it wants.
type Claim struct {
	ID    string
	Query url.Values
	// Part says that the request asks for a part of the file; IfRange is the
	// ETag of the version of which it has another part, if it says so.
	Part    bool
	IfRange string
}

// Content checks a signed address and returns what it stands for. The address
// is checked before anything is looked up.
func (l *Library) Content(ctx context.Context, c Claim) (*Content, error) {
	disposition := Attachment
	if d := c.Query.Get("d"); d != "" {
		disposition = d
	}
	variant, exp, sig := c.Query.Get("variant"), c.Query.Get("exp"), c.Query.Get("sig")
	if !l.Keys.Verify(purpose, sig, c.ID, disposition, variant, exp) {
		return nil, ErrAddress
	}
	unix, err := strconv.ParseInt(exp, 10, 64)
	if err != nil {
		return nil, ErrAddress // nobody signs such a time
	}
	until := time.Unix(unix, 0)
	late := l.Now().Sub(until)
	if late >= grace || late >= 0 && !c.Part {
		return nil, ErrExpired
	}
	a, err := l.Records.AssetOf(ctx, c.ID)
	if err != nil {
		return nil, err
	}
	if a.Status != store.AssetReady {
		return nil, &StatusError{a.Status}
	}
	content, err := l.content(ctx, a, disposition, variant)
	if err != nil {
		return nil, err
	}
	content.Expires = until
	if late >= 0 && c.IfRange != content.ETag && !l.begun.seen(sig) {
		return nil, ErrExpired
	}
	l.begun.add(sig, until.Add(grace), l.Now())
	return content, nil
}

// Content is a file, or a variant of it, ready to be served. It is read like a
// file; its Close must be called.
type Content struct {
	// ETag is strong and quoted.
	ETag        string
	Mime        string // with its charset
	Disposition string // the whole header
	Size        int64
	Expires     time.Time

	ctx   context.Context
	blobs Blobs
	key   string
	at    int64
	open  io.ReadCloser
	err   error
}

func (l *Library) content(ctx context.Context, a store.Asset, disposition, variant string) (*Content, error) {
	facts := FactsOf(a)
	c := &Content{ctx: ctx, blobs: l.Blobs, key: a.ID, Size: a.Size, Mime: a.Mime, ETag: `"` + a.SHA256 + `"`}
	name := a.Name
	switch {
	case variant == VariantThumb && facts.Thumb != nil:
		c.key, c.Size, c.Mime = thumbKey(a.ID), facts.Thumb.Size, facts.Thumb.Mime
		c.ETag = `"` + facts.Thumb.SHA256 + `"`
		name = "thumb-" + strings.TrimSuffix(name, "."+extension(name)) + "." + strings.TrimPrefix(facts.Thumb.Mime, "image/")
	case variant != "":
		return nil, ErrPreview
	}
	if disposition != Inline || !shown(a.Mime, facts) {
		disposition = Attachment
	}
	if strings.HasPrefix(c.Mime, "text/") {
		charset := facts.Charset
		if charset == "" {
			charset = "utf-8"
		}
		c.Mime = mime.FormatMediaType(c.Mime, map[string]string{"charset": charset})
	}
	c.Disposition = DispositionHeader(disposition, name)
	// What is not there must not begin to be served.
	size, err := l.Blobs.Stat(ctx, c.key)
	if err != nil {
		return nil, fmt.Errorf("open file: %w", err)
	}
	if size != c.Size {
		return nil, fmt.Errorf("open file: %d bytes are stored, %d were received", size, c.Size)
	}
	return c, nil
}

func extension(name string) string {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[i+1:]
	}
	return ""
}

// Seek implements io.Seeker.
func (c *Content) Seek(offset int64, whence int) (int64, error) {
	switch whence {
	case io.SeekCurrent:
		offset += c.at
	case io.SeekEnd:
		offset += c.Size
	}
	if offset < 0 {
		return 0, errors.New("seek before the beginning")
	}
	if offset != c.at && c.open != nil {
		if err := c.Close(); err != nil {
			return 0, err
		}
	}
	c.at = offset
	return offset, nil
}

// Read implements io.Reader.
func (c *Content) Read(p []byte) (int, error) {
	if c.err != nil {
		return 0, c.err
	}
	if c.at >= c.Size {
		return 0, io.EOF
	}
	if c.open == nil {
		if c.open, c.err = c.blobs.Open(c.ctx, c.key, c.at, c.Size-c.at); c.err != nil {
			return 0, c.err
		}
	}
	n, err := c.open.Read(p)
	c.at += int64(n)
	if err == io.EOF && c.at < c.Size {
		err = io.ErrUnexpectedEOF
	}
	if err != nil && err != io.EOF {
		c.err = err
	}
	return n, err
}

// Err is why reading has failed; what was served then is not whole.
func (c *Content) Err() error { return c.err }

// Close implements io.Closer.
func (c *Content) Close() error {
	if c.open == nil {
		return nil
	}
	err := c.open.Close()
	c.open = nil
	return err
}

// DispositionHeader writes a Content-Disposition (RFC 6266): the name as ASCII
// for old clients and, where it is more than that, as RFC 8187 has it.
func DispositionHeader(disposition, name string) string {
	var ascii, long strings.Builder
	plain := true
	for i := 0; i < len(name); i++ {
		c := name[i]
		switch {
		case c == '"' || c == '\\' || c == '%' || c < ' ' || c == 0x7F:
			ascii.WriteByte('_')
			plain = false
		case c >= 0x80:
			plain = false
			if c >= 0xC0 { // one for each character
				ascii.WriteByte('_')
			}
		default:
			ascii.WriteByte(c)
		}
		if attrChar(c) {
			long.WriteByte(c)
		} else {
			fmt.Fprintf(&long, "%%%02X", c)
		}
	}
	out := disposition + `; filename="` + ascii.String() + `"`
	if !plain {
		out += "; filename*=UTF-8''" + long.String()
	}
	return out
}

// attrChar are the bytes that RFC 8187 leaves as they are.
func attrChar(c byte) bool {
	switch {
	case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9':
		return true
	}
	return strings.IndexByte("!#$&+-.^_`|~", c) >= 0
}

// begun remembers the addresses that were used in time, for the grace of
// downloads in parts.
type begun struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// maxBegun is how many are remembered; beyond it the ETag has to do.
const maxBegun = 10_000

func newBegun() *begun { return &begun{until: make(map[string]time.Time)} }

func (b *begun) seen(sig string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	_, ok := b.until[sig]
	return ok
}

func (b *begun) add(sig string, until, now time.Time) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if _, ok := b.until[sig]; !ok && len(b.until) >= maxBegun {
		for k, t := range b.until {
			if now.After(t) {
				delete(b.until, k)
			}
		}
		if len(b.until) >= maxBegun {
			return
		}
	}
	b.until[sig] = until
}
