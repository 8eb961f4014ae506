// Package asset keeps files: what people upload and what tools make.
//
// It owns their bytes (Blobs, of which asset/disk and asset/s3 are two kinds),
// what is found out about them (type, size, pages, pixels, first rows), the
// signed addresses they are fetched by and the rules of what is taken and how
// it is served. It may import block, store and tool. It must never know of
// turns, models or HTTP handlers, and it believes nothing that a client says
// of a file but its name, which it cleans.
package asset

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/internal/xlsx"
	"github.com/inlay-ui/inlay/store"
)

// What a file can be refused for, beside store.ErrNotFound and store.ErrFull.
var (
	ErrTooLarge = errors.New("file is too large")
	ErrEmpty    = errors.New("file is empty")
	ErrQuota    = errors.New("no room left for this user's files")
	ErrBusy     = errors.New("too many uploads at once")
	// ErrAddress refuses an address that was not signed by this server,
	// ErrExpired one whose time is over.
	ErrAddress = errors.New("address is not valid")
	ErrExpired = errors.New("address has expired")
	// ErrPreview says that there is nothing of the file that could be shown so.
	ErrPreview = errors.New("there is no such preview")
	// ErrNoSheet says that a workbook has no sheet of that name.
	ErrNoSheet = xlsx.ErrNoSheet
)

// TypeError refuses a file for what it is.
type TypeError struct{ Mime string }

// Error implements error.
func (e *TypeError) Error() string { return "files of the type " + e.Mime + " are not taken" }

// StatusError says that a file cannot be had in its state.
type StatusError struct{ Status store.AssetStatus }

// Error implements error.
func (e *StatusError) Error() string { return "file is " + string(e.Status) }

// Config is what a Library is made of. Blobs, Records and Keys are required;
// zero limits mean the defaults named here.
type Config struct {
	Blobs   Blobs
	Records store.Assets
	Keys    *signing.Ring
	// Scan looks at the bytes of uploads before anybody gets them; nil scans
	// nothing.
	Scan Scanner

	// MaxBytes bounds one upload. Default 25 MiB.
	MaxBytes int64
	// MaxMadeBytes bounds a file that a tool makes. Default 256 MiB.
	MaxMadeBytes int64
	// MaxFiles is how many files one message may have. Default 10.
	MaxFiles int
	// QuotaBytes bounds all files of one user. Default 1 GiB; negative
	// switches it off.
	QuotaBytes int64
	// Accept are the types that are taken; a type ends in /* for all of its
	// kind, and */* takes everything. Default DefaultAccept.
	Accept []string
	// ViewExpiry and DownloadExpiry are how long addresses last. Default 5 and
	// 15 min.
	ViewExpiry     time.Duration
	DownloadExpiry time.Duration
	// ImagePixels bounds pictures that are opened. Default 50 million.
	ImagePixels int
	// KeepUnused is how long an upload stays that no message has named. Default
	// 24 h.
	KeepUnused time.Duration

	Logger *slog.Logger
	Now    func() time.Time
}

// DefaultAccept are the types that are taken unless configured otherwise:
// those that can be shown, or be read by the model.
func DefaultAccept() []string {
	return []string{
		"image/png", "image/jpeg", "image/gif", "image/webp", mimePDF, mimeXLSX,
		mimeCSV, mimeTSV, mimeMarkdown, mimeJSON, mimeText,
	}
}

func (c Config) withDefaults() Config {
	bytes := func(v *int64, d int64) {
		if *v == 0 {
			*v = d
		}
	}
	bytes(&c.MaxBytes, 25<<20)
	bytes(&c.MaxMadeBytes, 256<<20)
	bytes(&c.QuotaBytes, 1<<30)
	if c.MaxFiles == 0 {
		c.MaxFiles = 10
	}
	if c.Accept == nil {
		c.Accept = DefaultAccept()
	}
	times := func(v *time.Duration, d time.Duration) {
		if *v <= 0 {
			*v = d
		}
	}
	times(&c.ViewExpiry, 5*time.Minute)
	times(&c.DownloadExpiry, 15*time.Minute)
	times(&c.KeepUnused, 24*time.Hour)
	if c.ImagePixels <= 0 {
		c.ImagePixels = 50_000_000
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	return c
}

// Library is all files of an installation. It is safe for concurrent use.
type Library struct {
	Config
	begun *begun

	// looking bounds how many files are opened at once: pictures take memory.
	looking chan struct{}
	// background is what goes on after a request was answered.
	background sync.WaitGroup

	mu       sync.Mutex
	uploads  map[store.Owner]int
	scanning map[string]bool
	// commit makes counting an owner's bytes and adding to them one step.
	commit sync.Mutex
}

// New returns a Library.
func New(cfg Config) (*Library, error) {
	if cfg.Blobs == nil || cfg.Records == nil || cfg.Keys == nil {
		return nil, errors.New("asset: blobs, records and keys are required")
	}
	cfg = cfg.withDefaults()
	for _, a := range cfg.Accept {
		if !ValidAccept(a) {
			return nil, fmt.Errorf("asset: %q is no type such as image/png, image/* or */*", a)
		}
	}
	return &Library{
		Config: cfg, begun: newBegun(), looking: make(chan struct{}, 2),
		uploads: make(map[store.Owner]int), scanning: make(map[string]bool),
	}, nil
}

// Wait returns when nothing goes on in the background any more.
func (l *Library) Wait() { l.background.Wait() }

// Facts are what was found out about a file's bytes. They are kept with its
// record.
type Facts struct {
	Preview block.FilePreview `json:"preview"`
	// Charset is the encoding of a text.
	Charset string `json:"charset,omitempty"`
	// Thumb is a small picture of a picture, kept beside it.
	Thumb *Thumb `json:"thumb,omitempty"`
}

// Thumb is a small picture.
type Thumb struct {
	Mime   string `json:"mime"`
	Size   int64  `json:"size"`
	SHA256 string `json:"sha256"`
}

// FactsOf reads what is kept with a record.
func FactsOf(a store.Asset) Facts {
	f := Facts{Preview: block.FilePreview{Kind: kindNone}}
	if len(a.Facts) > 0 && json.Unmarshal(a.Facts, &f) != nil {
		return Facts{Preview: block.FilePreview{Kind: kindNone}}
	}
	return f
}

// FileOf returns the payload of a file's block.
func FileOf(a store.Asset) block.File {
	p := FactsOf(a).Preview
	return block.File{AssetID: a.ID, Name: a.Name, Mime: a.Mime, Size: a.Size, Preview: &p}
}

// Asset returns the record of an owner's file.
func (l *Library) Asset(ctx context.Context, o store.Owner, id string) (store.Asset, error) {
	a, err := l.Records.Asset(ctx, o, id)
	if err != nil {
		return store.Asset{}, err
	}
	if a.Status == store.AssetScanning {
		l.scanLater(a) // unless it is under way: a crash may have cut it off
	}
	return a, nil
}

// ready returns an owner's file that may be read.
func (l *Library) ready(ctx context.Context, o store.Owner, id string) (store.Asset, error) {
	a, err := l.Asset(ctx, o, id)
	if err == nil && a.Status != store.AssetReady {
		err = &StatusError{a.Status}
	}
	return a, err
}

// Delete removes an owner's file.
func (l *Library) Delete(ctx context.Context, o store.Owner, id string) error {
	a, err := l.Records.Asset(ctx, o, id)
	if err != nil {
		return err
	}
	return l.forget(ctx, a)
}

// forget removes the bytes of a file, then its record: whatever fails in
// between is done again.
func (l *Library) forget(ctx context.Context, a store.Asset) error {
	for _, key := range []string{thumbKey(a.ID), a.ID} {
		if err := l.Blobs.Delete(ctx, key); err != nil {
			return fmt.Errorf("delete file %s: %w", a.ID, err)
		}
	}
	err := l.Records.DeleteAsset(ctx, a.Owner, a.ID)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("delete file %s: %w", a.ID, err)
	}
	return nil
}

// cleanAtOnce is how many files one Clean removes at most.
const cleanAtOnce = 1000

// Clean removes uploads that no message has named in time and files of deleted
// conversations. It returns how many; when there are very many, the rest is
// left to the next call.
func (l *Library) Clean(ctx context.Context) (int, error) {
	list, err := l.Records.StaleAssets(ctx, l.Now().Add(-l.KeepUnused), cleanAtOnce)
	if err != nil {
		return 0, fmt.Errorf("list unused files: %w", err)
	}
	n := 0
	var errs []error
	for _, a := range list {
		if err := l.forget(ctx, a); err != nil {
			errs = append(errs, err) // the others can go all the same
			continue
		}
		n++
	}
	return n, errors.Join(errs...)
}
