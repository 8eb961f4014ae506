package asset

import (
	"context"
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
)

// Preview is a page of what can be shown of a file.
type Preview struct {
	Kind   string   `json:"kind"`
	Sheets []string `json:"sheets,omitempty"`
	Sheet  string   `json:"sheet,omitempty"`
	Rows   [][]any  `json:"rows,omitempty"`
	Text   string   `json:"text,omitempty"`
	// Offset is the first row or line of this page, from 0.
	Offset int `json:"offset"`
	// Total is how many there are in all, where that is known.
	Total int `json:"total,omitempty"`
	// More says that there are more behind these; Truncated says so of a text.
	More      bool `json:"more"`
	Truncated bool `json:"truncated,omitempty"`
	Pages     int  `json:"pages,omitempty"`
	Width     int  `json:"width,omitempty"`
	Height    int  `json:"height,omitempty"`
}

// PreviewQuery selects a page.
type PreviewQuery struct {
	// Sheet is the first one when empty.
	Sheet string
	// Offset is the first row or line, from 0; Limit is how many, at most
	// MaxPage. 0 means 100.
	Offset, Limit int
}

// Bounds of a page of a preview.
const (
	MaxPage     = 500
	pageColumns = block.MaxPreviewColumns
	pageRunes   = 500
	pageBytes   = 1 << 20
)

// Preview returns a page of an owner's file.
func (l *Library) Preview(ctx context.Context, o store.Owner, id string, q PreviewQuery) (Preview, error) {
	a, err := l.ready(ctx, o, id)
	if err != nil {
		return Preview{}, err
	}
	if q.Limit <= 0 {
		q.Limit = 100
	}
	q.Limit, q.Offset = min(q.Limit, MaxPage), max(q.Offset, 0)
	known := FactsOf(a).Preview
	p := Preview{Kind: known.Kind, Pages: known.Pages, Width: known.Width, Height: known.Height}
	if known.Kind != kindTable && known.Kind != kindText {
		return p, nil
	}
	within, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	r, err := l.open(within, a.ID, a.Size)
	if err != nil {
		return Preview{}, fmt.Errorf("preview file: %w", err)
	}
	switch {
	case a.Mime == mimeXLSX:
		p, err = l.sheetRows(within, a, r, q.Sheet, q.Offset, q.Limit, pageColumns, pageRunes)
	case q.Sheet != "":
		err = ErrNoSheet
	case known.Kind == kindTable:
		p, _, err = l.csvRows(within, a, r, q.Offset, q.Limit, pageColumns, pageRunes, false)
		if p.Total == 0 {
			p.Total = known.Total
		}
	default:
		p, err = l.textLines(within, a, r, q.Offset, min(q.Limit, pageLines))
	}
	if err := errors.Join(err, r.Close()); err != nil {
		if isDamage(err) {
			return Preview{}, fmt.Errorf("%w: %w", ErrPreview, err)
		}
		return Preview{}, fmt.Errorf("preview file: %w", err)
	}
	if p.Kind == kindTable {
		p.shorten()
	}
	return p, nil
}

// shorten leaves out the last rows until the rest fits; the next page begins
// with them.
func (p *Preview) shorten() {
	size := 0
	for i, row := range p.Rows {
		for _, v := range row {
			size += 16
			if s, ok := v.(string); ok {
				size += len(s)
			}
		}
		if size > pageBytes && i > 0 {
			p.Rows, p.More = p.Rows[:i], true
			return
		}
	}
}
