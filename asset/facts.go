package asset

import (
	"context"
	"errors"
	"fmt"
	"io"
	"runtime/debug"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/pdf"
	"github.com/inlay-ui/inlay/internal/xlsx"
	"github.com/inlay-ui/inlay/store"
)

// The kinds of previews.
const (
	kindImage = "image"
	kindTable = "table"
	kindPDF   = "pdf"
	kindText  = "text"
	kindNone  = "none"
)

// Bounds of the preview that a block carries.
const (
	previewRows    = block.MaxPreviewRows
	previewColumns = 20
	previewRunes   = 200
	previewText    = 4 << 10
)

var (
	// errDamaged is an error of a file, not of the server.
	errDamaged = errors.New("file cannot be read")
	// errNoPicture says that something only looks like a picture.
	errNoPicture = errors.New("not a picture")
)

// facts finds out what can be shown of a file. Whatever the file holds, the
// answer comes, and in bounded time; errors are those of the server's own. What
// turns out to be no picture loses that type: it may be something else too.
func (l *Library) facts(ctx context.Context, a *store.Asset) (Facts, error) {
	none := Facts{Preview: block.FilePreview{Kind: kindNone}}
	within, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	r, err := l.open(within, a.ID, a.Size)
	if err != nil {
		return none, fmt.Errorf("examine file: %w", err)
	}
	f, err := l.look(within, *a, r)
	err = errors.Join(err, r.Close())
	switch {
	case ctx.Err() != nil:
		return none, fmt.Errorf("examine file: %w", context.Cause(ctx))
	case err == nil:
		return f, nil
	case errors.Is(err, errNoPicture):
		a.Mime = mimeUnknown
		return none, nil
	case within.Err() != nil, isDamage(err):
		l.Logger.Info("file without a preview", "asset", a.ID, "mime", a.Mime, "err", err)
		return none, nil
	}
	return none, fmt.Errorf("examine file: %w", err)
}

// isDamage says whether an error is the file's own.
func isDamage(err error) bool {
	for _, own := range []error{errDamaged, xlsx.ErrFormat, xlsx.ErrLimit, pdf.ErrFormat, pdf.ErrLimit, io.ErrUnexpectedEOF} {
		if errors.Is(err, own) {
			return true
		}
	}
	return false
}

// caught, deferred, makes a panic of what reads a file the file's own damage.
func (l *Library) caught(a store.Asset, err *error) {
	if v := recover(); v != nil {
		l.Logger.Error("panic over a file", "asset", a.ID, "mime", a.Mime, "panic", fmt.Sprint(v), "stack", string(debug.Stack()))
		*err = fmt.Errorf("%w: panic", errDamaged)
	}
}

// look reads a file. A panic of what reads it is the file's.
func (l *Library) look(ctx context.Context, a store.Asset, r *random) (f Facts, err error) {
	defer l.caught(a, &err)
	f.Preview.Kind = kindNone
	switch {
	case decodable(a.Mime):
		return l.lookAtImage(ctx, a, r)
	case a.Mime == mimePDF:
		doc, err := pdf.Read(ctx, r, a.Size, pdf.Limits{Pages: -1})
		if err == nil && doc.Pages > 0 {
			f.Preview = block.FilePreview{Kind: kindPDF, Pages: doc.Pages}
		}
		return f, err
	case a.Mime == mimeXLSX:
		p, err := l.sheetRows(ctx, a, r, "", 0, previewRows, previewColumns, previewRunes)
		if err == nil {
			f.Preview = block.FilePreview{Kind: kindTable, Rows: fit(p.Rows), Sheets: p.Sheets, Sheet: p.Sheet, Total: total(p)}
		}
		return f, err
	case tableText(a.Mime):
		p, charset, err := l.csvRows(ctx, a, r, 0, previewRows, previewColumns, previewRunes, true)
		if err == nil {
			f.Preview = block.FilePreview{Kind: kindTable, Rows: fit(p.Rows), Total: total(p)}
			f.Charset = charset
		}
		return f, err
	case plainText(a.Mime):
		text, charset, more, err := firstText(r, a.Size, previewText)
		if err == nil {
			f.Preview = block.FilePreview{Kind: kindText, Text: text, Truncated: more}
			f.Charset = charset
		}
		return f, err
	}
	return f, nil
}

// total is how many rows there are in all, when these are not all.
func total(p Preview) int {
	if p.Total > len(p.Rows) {
		return p.Total
	}
	return 0
}

func tableText(kind string) bool { return kind == mimeCSV || kind == mimeTSV }

func plainText(kind string) bool {
	return kind == mimeText || kind == mimeMarkdown || kind == mimeJSON || strings.HasPrefix(kind, "text/x-")
}

// fit leaves out the last rows until the rest may stand in a block.
func fit(rows [][]any) [][]any {
	if rows == nil {
		rows = [][]any{}
	}
	size := len("[]")
	for i, row := range rows {
		raw, err := jsonx.Marshal(row)
		if err != nil {
			return rows[:i]
		}
		if size += len(raw) + 1; size > block.MaxPreviewBytes-512 {
			return rows[:i]
		}
	}
	return rows
}
