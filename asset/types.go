package asset

import (
	"context"
	"errors"
	"fmt"
	"image"
	"io"
	"mime"
	"path"
	"strings"

	"github.com/gabriel-vasile/mimetype"

	"github.com/inlay-ui/inlay/internal/xlsx"
)

// The types that something is known about.
const (
	mimeUnknown  = "application/octet-stream"
	mimeZip      = "application/zip"
	mimePDF      = "application/pdf"
	mimeXLSX     = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	mimeDOCX     = "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	mimePPTX     = "application/vnd.openxmlformats-officedocument.presentationml.presentation"
	mimeText     = "text/plain"
	mimeCSV      = "text/csv"
	mimeTSV      = "text/tab-separated-values"
	mimeMarkdown = "text/markdown"
	mimeJSON     = "application/json"
)

// headSize is how much of a file says what it is.
const headSize = 3072

// plainNames choose among kinds of plain text, which nothing but their names
// tells apart.
var plainNames = map[string]string{".csv": mimeCSV, ".tsv": mimeTSV, ".tab": mimeTSV, ".md": mimeMarkdown, ".markdown": mimeMarkdown, ".json": mimeJSON}

// markup are the kinds of text that browsers run.
var markup = []string{"text/html", "text/xml", "image/svg+xml", "application/xhtml+xml"}

// typeOfHead says what the first bytes of a file look like. The name decides
// among kinds of plain text only.
func typeOfHead(head []byte, name string) string {
	found := mimetype.Detect(head)
	plain := false
	for m := found; m != nil; m = m.Parent() {
		for _, k := range markup {
			if m.Is(k) {
				return baseType(m.String())
			}
		}
		plain = plain || m.Is(mimeText)
		if m.Is(mimeZip) {
			return mimeZip
		}
	}
	kind := baseType(found.String())
	if !plain {
		return kind
	}
	if looksLikeMarkup(head) {
		return "text/html"
	}
	switch kind {
	case mimeCSV, mimeTSV, mimeJSON:
		return kind
	}
	if named, ok := plainNames[strings.ToLower(path.Ext(name))]; ok {
		return named
	}
	return mimeText
}

// looksLikeMarkup is stricter than browsers are: a document may stand behind
// what is no part of it.
func looksLikeMarkup(head []byte) bool {
	s := strings.ToLower(string(head))
	for _, tag := range []string{"<!doctype html", "<html", "<script", "<svg", "<iframe", "<?xml"} {
		if strings.Contains(s, tag) {
			return true
		}
	}
	return false
}

func baseType(s string) string {
	if base, _, err := mime.ParseMediaType(s); err == nil {
		return base
	}
	return mimeUnknown
}

// typeOf says what a file is. Where a type is only as good as its content, the
// content is looked at: a picture that has no size is no picture, a zip file
// is a workbook when it holds one.
func (l *Library) typeOf(ctx context.Context, r *random, head []byte, name string, lim xlsx.Limits) (string, error) {
	kind := typeOfHead(head, name)
	switch {
	case kind == mimeZip:
		k, err := xlsx.KindOf(r, r.size, lim)
		if err != nil && !errors.Is(err, xlsx.ErrFormat) && !errors.Is(err, xlsx.ErrLimit) {
			return "", err
		}
		switch k {
		case xlsx.KindWorkbook:
			return mimeXLSX, nil
		case xlsx.KindDocument:
			return mimeDOCX, nil
		case xlsx.KindPresentation:
			return mimePPTX, nil
		}
		return mimeZip, nil
	case decodable(kind):
		_, format, err := image.DecodeConfig(io.NewSectionReader(r, 0, r.size))
		if ctx.Err() != nil {
			return "", fmt.Errorf("read picture: %w", context.Cause(ctx))
		}
		if err != nil || "image/"+format != kind {
			return mimeUnknown, nil
		}
	}
	return kind, nil
}

// decodable says whether pictures of a type can be opened.
func decodable(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp":
		return true
	}
	return false
}

// accepts says whether a type is taken.
func (l *Library) accepts(kind string) bool {
	for _, a := range l.Accept {
		if a == "*/*" || a == kind {
			return true
		}
		if group, ok := strings.CutSuffix(a, "/*"); ok && strings.HasPrefix(kind, group+"/") {
			return true
		}
	}
	return false
}

// ValidAccept says whether Config.Accept may have an entry.
func ValidAccept(s string) bool {
	switch {
	case s == "*/*":
		return true
	case strings.HasSuffix(s, "/"):
		return false
	}
	base, params, err := mime.ParseMediaType(strings.TrimSuffix(s, "*") + "x")
	group, kind, ok := strings.Cut(base, "/")
	return err == nil && len(params) == 0 && ok && group != "" && group != "*" && kind != "" && s == strings.ToLower(s) && strings.Count(s, "*") <= 1
}

// inline says whether browsers may show a type in their own window. SVG, HTML
// and XML, which can run scripts, are never among these.
func inline(kind string) bool {
	switch kind {
	case "image/png", "image/jpeg", "image/gif", "image/webp", "image/avif", mimePDF, "video/mp4", "video/webm", mimeText,
		"audio/mpeg", "audio/mp4", "audio/ogg", "audio/wav", "audio/webm", "audio/flac", "audio/aac":
		return true
	}
	return false
}

// shown says whether a file may be shown in the browser's own window: pictures
// only when they could be opened here, because others may be something else
// too.
func shown(kind string, f Facts) bool {
	return inline(kind) && (!decodable(kind) || f.Thumb != nil)
}
