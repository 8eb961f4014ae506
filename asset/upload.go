package asset

import (
	"bufio"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"math"
	"time"

	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/internal/xlsx"
	"github.com/inlay-ui/inlay/store"
)

// The origins of files.
const (
	OriginUpload    = "upload"
	OriginGenerated = "generated"
)

// uploadsAtOnce is how many files one user may be sending at the same time.
const uploadsAtOnce = 8

// cleanupTime is how long it may take to remove what a failed upload left.
const cleanupTime = 10 * time.Second

// Upload takes a file from an owner. What it is called is cleaned, what it is
// is found out; nobody can get it before it is scanned, when a scan is
// configured: then its status is scanning.
func (l *Library) Upload(ctx context.Context, o store.Owner, name string, r io.Reader) (store.Asset, error) {
	done, err := l.uploading(o)
	if err != nil {
		return store.Asset{}, err
	}
	defer done()
	name = CleanName(name)
	head := bufio.NewReaderSize(r, headSize)
	first, err := head.Peek(headSize)
	switch {
	case err != nil && !errors.Is(err, io.EOF):
		return store.Asset{}, fmt.Errorf("receive file: %w", err)
	case len(first) == 0:
		return store.Asset{}, ErrEmpty
	}
	// What certainly is not taken is not received. Zip files show at their end
	// what they are.
	if kind := typeOfHead(first, name); kind != mimeZip && !l.accepts(kind) {
		return store.Asset{}, &TypeError{kind}
	}
	first = append([]byte(nil), first...)
	a, err := l.begin(ctx, o, name, OriginUpload, l.MaxBytes)
	if err != nil {
		return store.Asset{}, err
	}
	if _, err = l.Blobs.Put(ctx, a.ID, a.count(head)); err != nil {
		err = fmt.Errorf("receive file: %w", err)
	} else {
		err = l.settle(ctx, a, first)
	}
	if err != nil {
		l.drop(ctx, a.Asset)
		return store.Asset{}, err
	}
	if a.Status == store.AssetScanning {
		l.scanLater(a.Asset)
	}
	return a.Asset, nil
}

// uploading counts an owner's uploads.
func (l *Library) uploading(o store.Owner) (done func(), err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.uploads[o] >= uploadsAtOnce {
		return nil, ErrBusy
	}
	l.uploads[o]++
	return func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.uploads[o]--; l.uploads[o] == 0 {
			delete(l.uploads, o)
		}
	}, nil
}

// arrival is a file whose bytes are on their way.
type arrival struct {
	store.Asset
	sum  hash.Hash
	room int64 // of the owner
	most int64 // of one file
}

// begin records a file of which there is nothing yet.
func (l *Library) begin(ctx context.Context, o store.Owner, name, origin string, most int64) (*arrival, error) {
	room, err := l.room(ctx, o)
	if err != nil {
		return nil, err
	}
	if room <= 0 {
		return nil, ErrQuota
	}
	a := &arrival{
		Asset: store.Asset{
			ID: id.New("a"), Owner: o, Name: name, Mime: mimeUnknown, Status: store.AssetPending,
			Origin: origin, CreatedAt: l.Now(),
		},
		sum: sha256.New(), room: room, most: most,
	}
	if err := l.Records.PutAsset(ctx, a.Asset); err != nil {
		return nil, fmt.Errorf("record file: %w", err)
	}
	return a, nil
}

// room is how many bytes more an owner may keep.
func (l *Library) room(ctx context.Context, o store.Owner) (int64, error) {
	if l.QuotaBytes < 0 {
		return math.MaxInt64, nil
	}
	used, err := l.Records.AssetBytes(ctx, o)
	if err != nil {
		return 0, fmt.Errorf("count files: %w", err)
	}
	return l.QuotaBytes - used, nil
}

// count returns a reader that counts, digests and bounds what passes.
func (a *arrival) count(r io.Reader) io.Reader { return &counter{r, a} }

type counter struct {
	r io.Reader
	a *arrival
}

// Read implements io.Reader.
func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	if more := c.a.add(p[:n]); more != nil {
		return 0, more
	}
	return n, err
}

func (a *arrival) add(p []byte) error {
	a.Size += int64(len(p))
	switch {
	case a.Size > a.most:
		return ErrTooLarge
	case a.Size > a.room:
		return ErrQuota
	}
	_, _ = a.sum.Write(p) // a hash never fails
	return nil
}

// settle finds out what has arrived and records it.
func (l *Library) settle(ctx context.Context, a *arrival, head []byte) error {
	a.SHA256 = hex.EncodeToString(a.sum.Sum(nil))
	r, err := l.open(ctx, a.ID, a.Size)
	if err != nil {
		return fmt.Errorf("read file back: %w", err)
	}
	kind, err := l.typeOf(ctx, r, head, a.Name, l.limits(a.Asset))
	if err := errors.Join(err, r.Close()); err != nil {
		return fmt.Errorf("read file back: %w", err)
	}
	if a.Origin == OriginUpload {
		if !l.accepts(kind) {
			return &TypeError{kind}
		}
		a.Mime = kind
	} else {
		a.Mime = madeType(a.Mime, kind)
	}
	if l.Scan != nil && a.Origin == OriginUpload {
		a.Status = store.AssetScanning
	} else if err := l.examine(ctx, &a.Asset); err != nil {
		return err
	}
	return l.record(ctx, a.Asset)
}

// record stores a file that has arrived, unless its owner's room was used up
// meanwhile.
func (l *Library) record(ctx context.Context, a store.Asset) error {
	l.commit.Lock()
	defer l.commit.Unlock()
	room, err := l.room(ctx, a.Owner)
	if err != nil {
		return err
	}
	if a.Size > room {
		return ErrQuota
	}
	if err := l.Records.PutAsset(ctx, a); err != nil {
		return fmt.Errorf("record file: %w", err)
	}
	return nil
}

// drop removes what a failed upload left, also when its sender has gone.
func (l *Library) drop(ctx context.Context, a store.Asset) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), cleanupTime)
	defer cancel()
	if err := l.forget(ctx, a); err != nil {
		// It is removed later: no message names it.
		l.Logger.Warn("remove a failed upload", "asset", a.ID, "err", err)
	}
}

// examineTime is how long looking into one file may take.
const examineTime = 10 * time.Second

// examine finds out what can be shown of a file and makes it ready. A file
// that cannot be read is ready too: it can still be downloaded.
func (l *Library) examine(ctx context.Context, a *store.Asset) error {
	select {
	case l.looking <- struct{}{}:
	case <-ctx.Done():
		return fmt.Errorf("examine file: %w", context.Cause(ctx))
	}
	defer func() { <-l.looking }()
	facts, err := l.facts(ctx, a)
	if err != nil {
		return err
	}
	if a.Origin == OriginUpload && !l.accepts(a.Mime) {
		return &TypeError{a.Mime}
	}
	if a.Facts, err = json.Marshal(facts); err != nil {
		return fmt.Errorf("examine file: %w", err)
	}
	a.Status = store.AssetReady
	return nil
}

// limits bound what a workbook may make its reader do; those that this server
// made may be packed as tightly as they come out.
func (l *Library) limits(a store.Asset) xlsx.Limits {
	if a.Origin == OriginGenerated {
		return xlsx.Limits{Ratio: 2000, Total: 4 << 30, Part: 4 << 30}
	}
	return xlsx.Limits{}
}
