package inlay

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/asset/disk"
	"github.com/inlay-ui/inlay/asset/s3"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/turn"
)

// AssetsConfig says where files are kept and which are taken.
type AssetsConfig struct {
	// URL is file:DIR or s3://bucket/prefix?endpoint=…&region=…. Default
	// file:DATA/assets.
	URL string `json:"url"`
	// MaxBytes bounds one upload. Default 25 MiB.
	MaxBytes int64 `json:"max_bytes"`
	// MaxMadeBytes bounds a file that a tool makes. Default 256 MiB.
	MaxMadeBytes int64 `json:"max_made_bytes"`
	// MaxFiles is how many files one message may have. Default 10.
	MaxFiles int `json:"max_files"`
	// QuotaBytes bounds all files of one user. Default 1 GiB; negative: no
	// limit.
	QuotaBytes int64 `json:"quota_bytes"`
	// Accept are the types that are taken; image/* stands for all pictures,
	// */* for everything. Default: pictures, PDF, workbooks and text.
	Accept []string `json:"accept"`
	// ViewExpiry and DownloadExpiry are how long addresses last that show a
	// file and that save it. Default 5 and 15 min.
	ViewExpiry     time.Duration `json:"view_expiry"`
	DownloadExpiry time.Duration `json:"download_expiry"`
	// ImagePixels bounds pictures that are opened. Default 50 million.
	ImagePixels int `json:"image_pixels"`
	// KeepUnused is how long an upload stays that no message has named.
	// Default 24 h.
	KeepUnused time.Duration `json:"keep_unused"`
	Scan       ScanConfig    `json:"scan"`
}

// ScanConfig names a program that looks at uploads before anybody gets them.
type ScanConfig struct {
	// Command reads the file from its standard input and ends with 0 for a
	// clean file and 1 for an infected one. Empty: nothing is scanned.
	Command []string `json:"command"`
	// Timeout bounds one run. Default 1 min.
	Timeout time.Duration `json:"timeout"`
}

// check finds what is wrong with the configuration without opening anything.
func (c AssetsConfig) check() error {
	switch {
	case c.URL == "", strings.HasPrefix(c.URL, "file:"):
	case strings.HasPrefix(c.URL, "s3:"):
		if _, err := s3.Parse(c.URL); err != nil {
			return fmt.Errorf("assets.url: %w", err)
		}
	default:
		scheme, _, _ := strings.Cut(c.URL, ":")
		return fmt.Errorf("assets.url: %q is no place for files; use file:DIR or s3://bucket", scheme)
	}
	for _, a := range c.Accept {
		if !asset.ValidAccept(a) {
			return fmt.Errorf("assets.accept: %q is no type such as image/png, image/* or */*", a)
		}
	}
	if len(c.Scan.Command) > 0 {
		if _, err := exec.LookPath(c.Scan.Command[0]); err != nil {
			if strings.ContainsAny(c.Scan.Command[0], " \t") {
				return fmt.Errorf("assets.scan.command: %w; write the program and its arguments as a list: [clamdscan, -]", err)
			}
			return fmt.Errorf("assets.scan.command: %w", err)
		}
	}
	return nil
}

// openFiles opens the files of an installation. A program that brings its own
// Backend and names no place for them gets one that lasts as long as it does.
func (a *App) openFiles(ctx context.Context, p *parts) error {
	c := a.cfg.Assets
	if err := c.check(); err != nil {
		return err
	}
	blobs := a.cfg.Blobs
	if blobs == nil {
		var err error
		if blobs, err = a.openBlobs(ctx, p); err != nil {
			return err
		}
	}
	cfg := asset.Config{
		Blobs: blobs, Records: p.store, Keys: p.keys, Logger: a.log,
		MaxBytes: c.MaxBytes, MaxMadeBytes: c.MaxMadeBytes, MaxFiles: c.MaxFiles, QuotaBytes: c.QuotaBytes, Accept: c.Accept,
		ViewExpiry: c.ViewExpiry, DownloadExpiry: c.DownloadExpiry, ImagePixels: c.ImagePixels, KeepUnused: c.KeepUnused,
	}
	if len(c.Scan.Command) > 0 {
		cfg.Scan = asset.Command{Args: c.Scan.Command, Timeout: c.Scan.Timeout}
	}
	var err error
	if p.files, err = asset.New(cfg); err != nil {
		return err
	}
	p.closers = append(p.closers, func() error { p.files.Wait(); return nil })
	return nil
}

func (a *App) openBlobs(ctx context.Context, p *parts) (asset.Blobs, error) {
	url := a.cfg.Assets.URL
	if strings.HasPrefix(url, "s3:") {
		o, err := s3.Parse(url)
		if err != nil {
			return nil, fmt.Errorf("assets.url: %w", err)
		}
		b, err := s3.Open(ctx, o)
		if err != nil {
			return nil, fmt.Errorf("assets.url: %w", err)
		}
		return b, nil
	}
	dir := strings.TrimPrefix(strings.TrimPrefix(url, "file:"), "//")
	switch {
	case url == "" && a.cfg.Backend != nil:
		tmp, err := os.MkdirTemp("", "inlay-assets-")
		if err != nil {
			return nil, fmt.Errorf("open files: %w", err)
		}
		p.closers = append(p.closers, func() error { return os.RemoveAll(tmp) })
		dir = tmp
	case url == "":
		dir = filepath.Join(a.cfg.Data, "assets")
	}
	d, err := disk.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("assets.url: %w", err)
	}
	p.closers = append(p.closers, d.Close)
	return d, nil
}

// attachments gives turns the files that people attach.
type attachments struct{ files *asset.Library }

// Attach implements turn.Files.
func (f attachments) Attach(ctx context.Context, o store.Owner, id, conversation string) (turn.Attachment, error) {
	a, err := f.files.Attach(ctx, o, id, conversation)
	var status *asset.StatusError
	if errors.As(err, &status) {
		if status.Status == store.AssetInfected {
			return turn.Attachment{}, &turn.Error{Code: "asset_infected", Message: "The file was found to be harmful and is not available.", Err: err}
		}
		return turn.Attachment{}, &turn.Error{Code: "asset_not_ready", Message: "The file is not available yet.", Retryable: true, Err: err}
	}
	return turn.Attachment(a), err
}
