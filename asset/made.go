package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

var _ tool.Files = (*Library)(nil)

// Create implements tool.Files.
func (l *Library) Create(ctx context.Context, c tool.Caller, f tool.NewFile) (tool.FileWriter, error) {
	kind, _, err := mime.ParseMediaType(f.Mime)
	if err != nil || !strings.Contains(kind, "/") {
		return nil, fmt.Errorf("create file: %q is no media type", f.Mime)
	}
	a, err := l.begin(ctx, store.Owner{Tenant: c.Tenant, User: c.User}, CleanName(f.Name), OriginGenerated, l.MaxMadeBytes)
	if err != nil {
		return nil, madeError(err)
	}
	a.Mime, a.Conversation = kind, f.Conversation
	r, w := io.Pipe()
	m := &made{l: l, ctx: ctx, a: a, w: w, put: make(chan error, 1)}
	go func() {
		_, err := l.Blobs.Put(ctx, a.ID, r)
		_ = r.CloseWithError(err) // ends a writer that waits; never fails
		m.put <- err
	}()
	return m, nil
}

// made is a file that a tool is writing.
type made struct {
	l    *Library
	ctx  context.Context
	a    *arrival
	head []byte
	w    *io.PipeWriter
	put  chan error
	once sync.Once
}

// Write implements io.Writer.
func (m *made) Write(p []byte) (int, error) {
	if err := m.a.add(p); err != nil {
		return 0, madeError(err)
	}
	if room := headSize - len(m.head); room > 0 {
		m.head = append(m.head, p[:min(room, len(p))]...)
	}
	n, err := m.w.Write(p)
	if err != nil {
		return n, madeError(err)
	}
	return n, nil
}

// Commit implements tool.FileWriter.
func (m *made) Commit(ctx context.Context) (block.File, error) {
	err := errors.New("file was ended before")
	m.once.Do(func() { err = m.finish(ctx) })
	if err != nil {
		return block.File{}, madeError(err)
	}
	return FileOf(m.a.Asset), nil
}

func (m *made) finish(ctx context.Context) error {
	_ = m.w.Close() // never fails
	err := <-m.put
	if err != nil {
		err = fmt.Errorf("write file: %w", err)
	} else {
		err = m.l.settle(ctx, m.a, m.head)
	}
	if err != nil {
		m.l.drop(ctx, m.a.Asset)
	}
	return err
}

// Abort implements tool.FileWriter.
func (m *made) Abort() {
	m.once.Do(func() {
		_ = m.w.CloseWithError(errAborted) // never fails
		<-m.put
		m.l.drop(m.ctx, m.a.Asset)
	})
}

var errAborted = errors.New("file was given up")

// madeError words what people and the model are told of.
func madeError(err error) error {
	var own *tool.Error
	switch {
	case errors.As(err, &own):
		return err
	case errors.Is(err, ErrTooLarge):
		return &tool.Error{Code: tool.CodeFileTooLarge, Message: "The file would be too large.", Err: err}
	case errors.Is(err, ErrQuota), errors.Is(err, store.ErrFull):
		return &tool.Error{Code: tool.CodeFileFailed, Message: "There is no room left for files.", Err: err}
	}
	return err
}

// madeType is the type of a file that a tool has made. Tools are believed, but
// for what browsers show: that must be what it says.
func madeType(said, found string) string {
	if inline(said) && said != mimeText && said != found && decodable(said) {
		return mimeUnknown
	}
	return said
}
