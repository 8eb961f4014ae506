package asset

import (
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/internal/pdf"
	"github.com/inlay-ui/inlay/store"
)

// Bounds of what the model is given of a file.
const (
	attachText    = 32 << 10 // bytes
	attachRows    = 200
	attachColumns = 30
	attachSheets  = 5
	attachPages   = 50
)

// Attached is a file as part of a message: what the message shows and what the
// model is given of it.
type Attached struct {
	// Block is a file or image block, done.
	Block block.Block
	// Text is for the model, bounded; empty for pictures and what cannot be
	// read.
	Text string
	// Image is a picture for the model, of the type Mime.
	Image []byte
	Mime  string
	// Note says to the model what it is not given.
	Note string
}

// Attach makes an owner's file part of a conversation and returns it as part
// of a message. *StatusError when it is not ready.
func (l *Library) Attach(ctx context.Context, o store.Owner, assetID, conversation string) (Attached, error) {
	a, err := l.ready(ctx, o, assetID)
	if err != nil {
		return Attached{}, err
	}
	if err := l.Records.AttachAsset(ctx, o, assetID, conversation); err != nil {
		return Attached{}, err
	}
	out, err := attachedBlock(a)
	if err != nil {
		return Attached{}, err
	}
	within, cancel := context.WithTimeout(ctx, examineTime)
	defer cancel()
	select {
	case l.looking <- struct{}{}:
	case <-within.Done():
		return Attached{}, fmt.Errorf("read attachment: %w", context.Cause(within))
	}
	defer func() { <-l.looking }()
	r, err := l.open(within, a.ID, a.Size)
	if err != nil {
		return Attached{}, fmt.Errorf("read attachment: %w", err)
	}
	err = errors.Join(l.read(within, a, r, &out), r.Close())
	switch {
	case err == nil:
	case ctx.Err() == nil && (within.Err() != nil || isDamage(err)):
		l.Logger.Info("attachment cannot be read", "asset", a.ID, "mime", a.Mime, "err", err)
		out.Text, out.Image = "", nil
		out.Note = "The file could not be read; only its name, type and size are known."
	default:
		return Attached{}, fmt.Errorf("read attachment: %w", err)
	}
	return out, nil
}

// attachedBlock is what a message shows of a file.
func attachedBlock(a store.Asset) (Attached, error) {
	file := FileOf(a)
	b := block.Block{ID: id.New("b"), Type: "file", Version: 1, Status: block.StatusDone, Rev: 1}
	var payload any = file
	if p := file.Preview; p.Kind == kindImage && FactsOf(a).Thumb != nil {
		b.Type = "image"
		payload = block.Image{AssetID: a.ID, Alt: a.Name, Width: p.Width, Height: p.Height}
	}
	raw, err := jsonx.Marshal(payload)
	if err != nil {
		return Attached{}, fmt.Errorf("encode attachment: %w", err)
	}
	b.Payload = raw
	b.Fallback = a.Name
	return Attached{Block: b}, nil
}

// read fills in what the model is given.
func (l *Library) read(ctx context.Context, a store.Asset, r *random, out *Attached) (err error) {
	defer l.caught(a, &err)
	switch {
	case decodable(a.Mime):
		small, _, err := l.shrink(ctx, r, a, modelSide)
		if err != nil {
			return err
		}
		out.Image, out.Mime, err = encode(small)
		return err
	case a.Mime == mimePDF:
		doc, err := pdf.Read(ctx, r, a.Size, pdf.Limits{Pages: attachPages, Text: attachText})
		switch {
		case err != nil:
			return err
		case doc.Encrypted:
			out.Note = "The PDF file is encrypted; its text cannot be read."
		case strings.TrimSpace(doc.Text) == "":
			out.Note = fmt.Sprintf("The PDF file has %d pages without text, probably scanned pictures.", doc.Pages)
		case doc.Cut:
			out.Note = fmt.Sprintf("Only the beginning of the %d pages is given.", doc.Pages)
		}
		out.Text = strings.ReplaceAll(doc.Text, "\f", "\n\n")
		return nil
	case a.Mime == mimeXLSX:
		return l.readSheets(ctx, a, r, out)
	case tableText(a.Mime):
		p, _, err := l.csvRows(ctx, a, r, 0, attachRows, attachColumns, pageRunes, false)
		if err != nil {
			return err
		}
		var b strings.Builder
		if n := tableLines(&b, p.Rows); p.More || n < len(p.Rows) {
			out.Note = partNote(n, FactsOf(a).Preview.Total)
		}
		out.Text = b.String()
		return nil
	case plainText(a.Mime):
		text, _, more, err := firstText(r, a.Size, attachText)
		if more {
			out.Note = "Only the beginning of the file is given."
		}
		out.Text = text
		return err
	}
	out.Note = "Files of this type cannot be read; only its name, type and size are known."
	return nil
}

func (l *Library) readSheets(ctx context.Context, a store.Asset, r *random, out *Attached) error {
	var b strings.Builder
	var notes []string
	names := []string{""}
	for i := 0; i < len(names) && i < attachSheets && b.Len() < attachText; i++ {
		p, err := l.sheetRows(ctx, a, r, names[i], 0, attachRows, attachColumns, pageRunes)
		if err != nil {
			return err
		}
		if i == 0 {
			names = p.Sheets
		}
		fmt.Fprintf(&b, "Sheet %s:\n", p.Sheet)
		if n := tableLines(&b, p.Rows); p.More || n < len(p.Rows) {
			notes = append(notes, "sheet "+p.Sheet+": "+partNote(n, p.Total))
		}
		b.WriteByte('\n')
	}
	if len(names) > attachSheets {
		notes = append(notes, fmt.Sprintf("%d of %d sheets are given", attachSheets, len(names)))
	}
	out.Text, out.Note = strings.TrimSpace(b.String()), strings.Join(notes, "; ")
	return nil
}

func partNote(n, total int) string {
	if total > n {
		return fmt.Sprintf("the first %d of %d rows are given", n, total)
	}
	return fmt.Sprintf("only the first %d rows are given", n)
}

// tableLines writes rows as comma-separated values until there is enough. It
// returns how many it wrote.
func tableLines(b *strings.Builder, rows [][]any) int {
	w := csv.NewWriter(b)
	for i, row := range rows {
		cells := make([]string, max(len(row), 1))
		for k, v := range row {
			if v != nil {
				cells[k] = cellText(v)
			}
		}
		_ = w.Write(cells) // a Builder never fails
		w.Flush()
		if b.Len() > attachText {
			return i + 1
		}
	}
	return len(rows)
}

func cellText(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return formatNumber(v)
	}
	return fmt.Sprint(v)
}
