package asset

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os/exec"
	"time"

	"github.com/inlay-ui/inlay/store"
)

// Scanner looks for harm in a file. It returns false for an infected one, and
// an error when it cannot tell.
type Scanner interface {
	Scan(ctx context.Context, r io.Reader) (clean bool, err error)
}

// Command scans with a program that reads the file from its standard input and
// ends with 0 for a clean file and 1 for an infected one, as those of ClamAV
// do.
type Command struct {
	Args []string
	// Timeout bounds one run. Default 1 min.
	Timeout time.Duration
}

// Scan implements Scanner.
func (c Command) Scan(ctx context.Context, r io.Reader) (bool, error) {
	if len(c.Args) == 0 {
		return false, errors.New("scan: no command")
	}
	limit := c.Timeout
	if limit <= 0 {
		limit = time.Minute
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.Args[0], c.Args[1:]...)
	cmd.Stdin = r
	cmd.WaitDelay = time.Second
	var said head
	cmd.Stderr = &said
	err := cmd.Run()
	var exit *exec.ExitError
	switch {
	case err == nil:
		return true, nil
	case ctx.Err() != nil:
		return false, fmt.Errorf("scan: %w", context.Cause(ctx))
	case errors.As(err, &exit) && exit.ExitCode() == 1:
		return false, nil
	}
	if text := bytes.TrimSpace(said); len(text) > 0 {
		return false, fmt.Errorf("scan: %w: %s", err, text)
	}
	return false, fmt.Errorf("scan: %w", err)
}

// head keeps the beginning of what is written to it.
type head []byte

func (h *head) Write(p []byte) (int, error) {
	*h = append(*h, p[:min(len(p), 500-len(*h))]...)
	return len(p), nil
}

// scanLater scans a file after the request was answered, unless that is under
// way.
func (l *Library) scanLater(a store.Asset) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.scanning[a.ID] {
		return
	}
	l.scanning[a.ID] = true
	l.background.Go(func() {
		l.scan(context.Background(), a)
		l.mu.Lock()
		delete(l.scanning, a.ID)
		l.mu.Unlock()
	})
}

// scan decides what becomes of a file.
func (l *Library) scan(ctx context.Context, a store.Asset) {
	clean, err := l.scanBytes(ctx, a)
	switch {
	case err != nil:
		l.Logger.Error("scan file", "asset", a.ID, "err", err)
		a.Status = store.AssetFailed
	case !clean:
		l.Logger.Warn("infected file", "asset", a.ID, "tenant", a.Owner.Tenant, "user", a.Owner.User, "sha256", a.SHA256)
		a.Status = store.AssetInfected
		if err := l.Blobs.Delete(ctx, a.ID); err != nil {
			l.Logger.Error("delete infected file", "asset", a.ID, "err", err)
		}
	default:
		if err := l.examine(ctx, &a); err != nil {
			l.Logger.Error("examine file", "asset", a.ID, "err", err)
			a.Status = store.AssetFailed
		}
	}
	// Nothing is put back that was deleted meanwhile.
	if _, err := l.Records.AssetOf(ctx, a.ID); errors.Is(err, store.ErrNotFound) {
		return
	}
	if err := l.Records.PutAsset(ctx, a); err != nil {
		l.Logger.Error("store the state of a file", "asset", a.ID, "err", err)
	}
}

func (l *Library) scanBytes(ctx context.Context, a store.Asset) (clean bool, err error) {
	if l.Scan == nil { // it was configured when the file came
		return true, nil
	}
	r, err := l.Blobs.Open(ctx, a.ID, 0, -1)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	return l.Scan.Scan(ctx, r)
}
