package server

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
)

// The codes of files.
const (
	codeAssetTooLarge    = "asset_too_large"
	codeAssetTypeRefused = "asset_type_refused"
	codeAssetQuota       = "asset_quota"
	codeAssetNotReady    = "asset_not_ready"
	codeAssetInfected    = "asset_infected"
	codeAssetURLInvalid  = "asset_url_invalid"
	codeAssetURLExpired  = "asset_url_expired"
)

// assetBody is a file as clients see it.
type assetBody struct {
	ID        string             `json:"id"`
	Name      string             `json:"name"`
	Mime      string             `json:"mime"`
	Size      int64              `json:"size"`
	SHA256    string             `json:"sha256,omitempty"`
	Status    store.AssetStatus  `json:"status"`
	CreatedAt time.Time          `json:"createdAt"`
	Preview   *block.FilePreview `json:"preview,omitempty"`
	Width     int                `json:"width,omitempty"`
	Height    int                `json:"height,omitempty"`
	Pages     int                `json:"pages,omitempty"`
}

func assetOf(a store.Asset) assetBody {
	b := assetBody{ID: a.ID, Name: a.Name, Mime: a.Mime, Size: a.Size, SHA256: a.SHA256, Status: a.Status, CreatedAt: a.CreatedAt.UTC()}
	if a.Status == store.AssetReady {
		p := asset.FactsOf(a).Preview
		b.Preview, b.Width, b.Height, b.Pages = &p, p.Width, p.Height, p.Pages
	}
	return b
}

// assetError words what package asset refuses.
func (s *server) assetError(doing string, err error) error {
	var kind *asset.TypeError
	var status *asset.StatusError
	var large *http.MaxBytesError
	a := &answer{err: fmt.Errorf("%s: %w", doing, err)}
	switch {
	case err == nil:
		return nil
	case errors.As(err, &large), errors.Is(err, asset.ErrTooLarge):
		a.status, a.code, a.message = http.StatusRequestEntityTooLarge, codeAssetTooLarge, "The file is too large."
		a.details = map[string]any{"limit": s.Files.MaxBytes}
	case errors.As(err, &kind):
		a.status, a.code, a.message = http.StatusUnsupportedMediaType, codeAssetTypeRefused, "Files of this type are not accepted."
		a.details = map[string]any{"mime": kind.Mime, "accept": s.Files.Accept}
	case errors.Is(err, asset.ErrQuota):
		a.status, a.code, a.message = http.StatusInsufficientStorage, codeAssetQuota, "There is no room left for your files."
	case errors.Is(err, asset.ErrEmpty):
		return invalid("The file is empty.", map[string]any{"field": "file"})
	case errors.Is(err, asset.ErrBusy):
		a.status, a.code, a.message = http.StatusTooManyRequests, codeRateLimited, "Too many files are being sent at once."
		a.retryable, a.after = true, time.Second
	case errors.As(err, &status) && status.Status == store.AssetInfected:
		a.status, a.code, a.message = http.StatusGone, codeAssetInfected, "The file was found to be harmful and is not available."
	case errors.As(err, &status):
		a.status, a.code, a.message = http.StatusConflict, codeAssetNotReady, "The file is not available yet."
		a.details = map[string]any{"status": status.Status}
		if status.Status != store.AssetFailed {
			a.retryable, a.after = true, time.Second
		}
	case errors.Is(err, asset.ErrAddress):
		a.status, a.code, a.message = http.StatusForbidden, codeAssetURLInvalid, "The address of the file is not valid."
	case errors.Is(err, asset.ErrExpired):
		a.status, a.code, a.message, a.retryable = http.StatusGone, codeAssetURLExpired, "The address of the file has expired.", true
	case errors.Is(err, asset.ErrPreview), errors.Is(err, asset.ErrNoSheet):
		n := notFound()
		n.err = a.err
		return n
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, os.ErrDeadlineExceeded), errors.Is(err, multipart.ErrMessageTooLarge):
		b := invalid("The file did not arrive whole.", map[string]any{"field": "file"})
		b.err = a.err
		return b
	default:
		return wrap(doing, err)
	}
	return a
}

// postAsset takes one file: as the part "file" of a form, or as the body.
func (s *server) postAsset(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	if r.ContentLength > s.uploadLimit() {
		// Not even begun: the answer comes before the bytes.
		return s.assetError("upload", asset.ErrTooLarge)
	}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "multipart/form-data" {
		return s.postForm(w, r, params["boundary"])
	}
	a, err := s.Files.Upload(r.Context(), callOf(r).owner, r.URL.Query().Get("name"), r.Body)
	if err != nil {
		return s.assetError("upload", err)
	}
	return created(w, a)
}

func created(w http.ResponseWriter, a store.Asset) error {
	w.Header().Set("Location", "/v1/assets/"+a.ID)
	return writeJSON(w, http.StatusCreated, assetOf(a))
}

// postForm takes the one file of a form, as it arrives.
func (s *server) postForm(w http.ResponseWriter, r *http.Request, boundary string) error {
	oneFile := func() error {
		return invalid("A form has one part, called file.", map[string]any{"field": "file"})
	}
	if boundary == "" {
		return oneFile()
	}
	parts := multipart.NewReader(r.Body, boundary)
	part, err := parts.NextPart()
	if errors.Is(err, io.EOF) {
		return oneFile()
	}
	if err != nil {
		return s.assetError("upload", broken(err))
	}
	if part.FormName() != "file" {
		return oneFile()
	}
	owner := callOf(r).owner
	a, err := s.Files.Upload(r.Context(), owner, part.FileName(), part)
	if err != nil {
		return s.assetError("upload", err)
	}
	if _, err = parts.NextPart(); errors.Is(err, io.EOF) {
		return created(w, a)
	}
	// What follows was not to be sent; what came before it is not kept.
	if drop := s.Files.Delete(r.Context(), owner, a.ID); drop != nil {
		s.log.Warn("remove a refused upload", "asset", a.ID, "err", drop)
	}
	if err != nil {
		return s.assetError("upload", broken(err))
	}
	return oneFile()
}

// broken marks an error of a body or form as one of its sender: neither
// net/http nor mime/multipart has a type for them.
func broken(err error) error {
	var large *http.MaxBytesError
	if errors.As(err, &large) || errors.Is(err, os.ErrDeadlineExceeded) {
		return err
	}
	return fmt.Errorf("%w: %w", io.ErrUnexpectedEOF, err)
}

// formRoom is what a form may have beside its file.
const formRoom = 64 << 10

// uploadLimit bounds the body of an upload.
func (s *server) uploadLimit() int64 {
	if s.Files == nil {
		return s.Limits.BodyBytes
	}
	return s.Files.MaxBytes + formRoom
}

// arriving is the body of an upload: it may take long as a whole, but must not
// stand still.
type arriving struct {
	io.ReadCloser
	rc    *http.ResponseController
	wait  time.Duration
	until time.Time
}

// Read implements io.Reader.
func (b *arriving) Read(p []byte) (int, error) {
	if now := time.Now(); b.until.Sub(now) < b.wait*3/4 {
		b.until = now.Add(b.wait)
		_ = b.rc.SetReadDeadline(b.until) // none can be set: none was
	}
	n, err := b.ReadCloser.Read(p)
	switch {
	case err == io.EOF:
		_ = b.rc.SetReadDeadline(time.Time{})
	case err != nil:
		err = broken(err)
	}
	return n, err
}

func (s *server) limitUpload(w http.ResponseWriter, b io.ReadCloser) io.ReadCloser {
	return &arriving{
		ReadCloser: http.MaxBytesReader(w, b, s.uploadLimit()),
		rc:         http.NewResponseController(w), wait: s.ReadTimeout,
	}
}

func (s *server) getAsset(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	a, err := s.Files.Asset(r.Context(), callOf(r).owner, r.PathValue("id"))
	if err != nil {
		return s.assetError("read file", err)
	}
	return writeJSON(w, http.StatusOK, assetOf(a))
}

func (s *server) deleteAsset(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	if err := s.Files.Delete(r.Context(), callOf(r).owner, r.PathValue("id")); err != nil {
		return s.assetError("delete file", err)
	}
	w.WriteHeader(http.StatusNoContent)
	return nil
}

// getAssetURL hands out a new address of a file.
func (s *server) getAssetURL(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	disposition, variant, err := appearance(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	l, err := s.Files.Link(r.Context(), callOf(r).owner, id, disposition, variant)
	if err != nil {
		return s.assetError("sign address", err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{
		"url": contentURL(id, l), "expiresAt": l.Expires.UnixMilli(), "disposition": l.Disposition,
	})
}

func contentURL(id string, l asset.Link) string { return "/v1/assets/" + id + "/content?" + l.Query }

// appearance reads how a file is wanted.
func appearance(r *http.Request) (disposition, variant string, err error) {
	q := r.URL.Query()
	disposition, variant = q.Get("disposition"), q.Get("variant")
	switch disposition {
	case "":
		disposition = asset.Inline
	case asset.Inline, asset.Attachment:
	default:
		return "", "", invalid("disposition is inline or attachment.", map[string]any{"field": "disposition"})
	}
	if variant != "" && variant != asset.VariantThumb {
		return "", "", invalid("variant is thumb.", map[string]any{"field": "variant"})
	}
	return disposition, variant, nil
}

// getAssetContent serves a signed address. Whoever has no signature but an
// identity is sent to a new one.
func (s *server) getAssetContent(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	q := r.URL.Query()
	if !q.Has("sig") {
		return s.redirectToContent(w, r)
	}
	c, err := s.Files.Content(r.Context(), asset.Claim{
		ID: r.PathValue("id"), Query: q, Part: r.Header.Get("Range") != "", IfRange: r.Header.Get("If-Range"),
	})
	if err != nil {
		return s.assetError("serve file", err)
	}
	defer func() {
		if err := c.Close(); err != nil {
			s.log.Warn("close file", "asset", r.PathValue("id"), "err", err)
		}
	}()
	s.serve(w, r, c)
	return nil
}

// redirectToContent authenticates by itself: the route is public.
func (s *server) redirectToContent(w http.ResponseWriter, r *http.Request) error {
	if err := s.identify(r, false); err != nil {
		return err
	}
	disposition, variant, err := appearance(r)
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	l, err := s.Files.Link(r.Context(), callOf(r).owner, id, disposition, variant)
	if err != nil {
		return s.assetError("sign address", err)
	}
	h := w.Header()
	h.Set("Cache-Control", "no-store")
	h.Set("Location", contentURL(id, l))
	w.WriteHeader(http.StatusFound)
	return nil
}

// serve answers with a file, or the part of it that was asked for.
func (s *server) serve(w http.ResponseWriter, r *http.Request, c *asset.Content) {
	h := w.Header()
	h.Set("Content-Type", c.Mime)
	h.Set("Content-Disposition", c.Disposition)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox; frame-ancestors 'none'")
	h.Set("ETag", c.ETag)
	rest := max(c.Expires.Sub(s.Now()), 0)
	h.Set("Cache-Control", "private, max-age="+strconv.Itoa(int(rest.Seconds())))
	if len(s.origins.list) > 0 {
		// Pages of other origins show pictures without naming theirs; the
		// signature is what lets them.
		h.Set("Cross-Origin-Resource-Policy", "cross-origin")
	}
	timed := &timedWriter{ResponseWriter: w, rc: http.NewResponseController(w), wait: s.WriteTimeout}
	http.ServeContent(timed, r, "", time.Time{}, c)
	if err := c.Err(); err != nil && r.Context().Err() == nil {
		s.log.Error("file broke off", "asset", r.PathValue("id"), "trace", callOf(r).trace, "err", err)
		// Only cutting the connection tells the client that the rest is missing.
		panic(http.ErrAbortHandler)
	}
}

// timedWriter cuts off a reader that takes nothing for a while.
type timedWriter struct {
	http.ResponseWriter
	rc    *http.ResponseController
	wait  time.Duration
	until time.Time
}

// Write implements http.ResponseWriter.
func (w *timedWriter) Write(p []byte) (int, error) {
	if now := time.Now(); w.until.Sub(now) < w.wait*3/4 {
		w.until = now.Add(w.wait)
		_ = w.rc.SetWriteDeadline(w.until) // a writer of tests has none
	}
	return w.ResponseWriter.Write(p)
}

// getAssetPreview pages through what can be shown of a file.
func (s *server) getAssetPreview(w http.ResponseWriter, r *http.Request) error {
	if s.Files == nil {
		return notFound()
	}
	q := r.URL.Query()
	offset, err := wholeParam(q.Get("offset"), "offset", 0, 0, 1<<30)
	if err != nil {
		return err
	}
	limit, err := wholeParam(q.Get("limit"), "limit", 100, 1, asset.MaxPage)
	if err != nil {
		return err
	}
	p, err := s.Files.Preview(r.Context(), callOf(r).owner, r.PathValue("id"), asset.PreviewQuery{Sheet: q.Get("sheet"), Offset: offset, Limit: limit})
	if err != nil {
		return s.assetError("preview file", err)
	}
	return writeJSON(w, http.StatusOK, p)
}

// wholeParam reads a whole number of a query.
func wholeParam(s, name string, absent, least, most int) (int, error) {
	if s == "" {
		return absent, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < least || n > most || strings.HasPrefix(s, "+") {
		return 0, invalid(fmt.Sprintf("%s is a number from %d to %d.", name, least, most), map[string]any{"field": name})
	}
	return n, nil
}

// uploadsBody tells the page what may be sent.
type uploadsBody struct {
	Enabled  bool     `json:"enabled"`
	MaxBytes int64    `json:"maxBytes"`
	MaxFiles int      `json:"maxFiles"`
	Accept   []string `json:"accept"`
}

func (s *server) uploads() uploadsBody {
	if s.Files == nil {
		return uploadsBody{Accept: []string{}}
	}
	return uploadsBody{true, s.Files.MaxBytes, s.Files.MaxFiles, s.Files.Accept}
}
