package block

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Limits of a file's preview.
const (
	MaxPreviewRows    = 100
	MaxPreviewColumns = 50
	MaxPreviewBytes   = 32 << 10
)

// File is the payload of a file block: a reference, never the content. While
// the file is produced the block is loading and its payload is a FileProgress
// under "progress".
type File struct {
	AssetID string `json:"assetId"`
	Name    string `json:"name"`
	Mime    string `json:"mime"`
	Size    int64  `json:"size"` // bytes
	// URL is accepted and dropped before anything is stored: clients ask for a
	// signed address when they need one.
	URL     string       `json:"url,omitempty"`
	Preview *FilePreview `json:"preview,omitempty"`
}

// FilePreview is what can be shown of a file without loading it. Kind says
// which of the members count.
type FilePreview struct {
	Kind   string `json:"kind"`             // image, table, pdf, text or none
	Width  int    `json:"width,omitempty"`  // image: pixels
	Height int    `json:"height,omitempty"` // image: pixels
	// Rows are the first rows of a table, the heading among them.
	Rows   [][]any  `json:"rows,omitempty"`
	Sheets []string `json:"sheets,omitempty"` // table: the names of all sheets
	Sheet  string   `json:"sheet,omitempty"`  // table: the sheet that Rows are of
	Total  int      `json:"total,omitempty"`  // table: rows of the sheet in all
	Pages  int      `json:"pages,omitempty"`  // pdf
	Text   string   `json:"text,omitempty"`   // text: its beginning
	// Truncated says that there is more text.
	Truncated bool `json:"truncated,omitempty"`
}

// MarshalJSON writes the members that the kind requires even when they are
// zero.
func (p FilePreview) MarshalJSON() ([]byte, error) {
	type plain FilePreview
	switch p.Kind {
	case "table":
		if p.Rows == nil {
			p.Rows = [][]any{}
		}
		return jsonx.Marshal(struct {
			plain
			Rows [][]any `json:"rows"`
		}{plain(p), p.Rows})
	case "pdf":
		return jsonx.Marshal(struct {
			plain
			Pages int `json:"pages"`
		}{plain(p), p.Pages})
	case "text":
		return jsonx.Marshal(struct {
			plain
			Text string `json:"text"`
		}{plain(p), p.Text})
	}
	return jsonx.Marshal(plain(p))
}

// FileProgress is how far a file is, in the payload {"progress": …} of a file
// block that is still loading.
type FileProgress struct {
	Done  float64  `json:"done"`
	Total *float64 `json:"total,omitempty"`
	Stage string   `json:"stage,omitempty"` // for people
	Unit  string   `json:"unit,omitempty"`
}

func fileType() Type {
	return Type{
		Name:        "file",
		Version:     1,
		Class:       ClassResource,
		Source:      SourceBuiltin,
		Description: "A file by reference, with a preview.",
		Schema:      builtinSchema("file.v1.json"),
		Height:      96,
		Clean:       cleanFile,
		Check:       checkFile,
		Fallback:    fileText,
		Link:        fileLink,
		Markdown:    fileMarkdown,
		Summary:     fileSummary,
	}
}

// cleanFile drops url: signed addresses are neither logged nor stored.
func cleanFile(payload json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(payload, &members); err != nil {
		return payload, nil // for the schema to refuse
	}
	if _, ok := members["url"]; !ok {
		return payload, nil
	}
	delete(members, "url")
	return jsonx.Marshal(members)
}

func checkFile(payload json.RawMessage) error {
	var f struct {
		File
		Preview  map[string]json.RawMessage `json:"preview"`
		Progress json.RawMessage            `json:"progress"`
	}
	if err := decodePayload(payload, &f); err != nil {
		return &SchemaError{Violations: []Violation{{Message: err.Error()}}}
	}
	var v violations
	if f.Progress != nil {
		v.add("/progress", "a finished file has no progress")
	}
	if f.Name != baseName(f.Name) {
		v.add("/name", "must be a name without a directory")
	}
	members := map[string][]string{
		"image": {"width", "height"}, "table": {"rows", "sheets", "sheet", "total"}, "pdf": {"pages"}, "text": {"text", "truncated"},
	}
	var kind string
	_ = json.Unmarshal(f.Preview["kind"], &kind)
	for name := range f.Preview {
		if name != "kind" && !slices.Contains(members[kind], name) {
			v.add(jsonx.Pointer("preview", name), "is no part of a preview of the kind %s", kind)
		}
	}
	if size := len(f.Preview["rows"]) + len(f.Preview["text"]); size > MaxPreviewBytes {
		v.add("/preview", "%d bytes, at most %d", size, MaxPreviewBytes)
	}
	return v.err()
}

// baseName is what follows the last separator of either kind.
func baseName(s string) string { return s[strings.LastIndexAny(s, `/\`)+1:] }

// sizeText writes a number of bytes for people: 471 KB.
func sizeText(n int64) string {
	if n < 1024 {
		return strconv.FormatInt(n, 10) + " B"
	}
	v, unit := float64(n), 0
	for v >= 1023.5 && unit < 5 {
		v, unit = v/1024, unit+1
	}
	digits := 0
	if v < 9.95 {
		digits = 1
	}
	return strings.TrimSuffix(strconv.FormatFloat(v, 'f', digits, 64), ".0") + " " + [...]string{"B", "KB", "MB", "GB", "TB", "PB"}[unit]
}

// contentPath is where a reader with the right to it gets a file.
func contentPath(asset string) string { return "/v1/assets/" + asset + "/content" }

func fileText(payload json.RawMessage) string {
	var f File
	if decodePayload(payload, &f) != nil {
		return "[file]"
	}
	return oneLine(f.Name) + " (" + sizeText(f.Size) + ")"
}

func fileLink(payload json.RawMessage) string {
	var f File
	if decodePayload(payload, &f) != nil || f.AssetID == "" {
		return ""
	}
	return "[" + markdownText(f.Name) + "](" + contentPath(f.AssetID) + ") (" + sizeText(f.Size) + ")"
}

func fileMarkdown(payload json.RawMessage) string {
	var f File
	if decodePayload(payload, &f) != nil {
		return "[file]"
	}
	s := cmp.Or(fileLink(payload), fileText(payload)) + "\n"
	if f.Preview == nil {
		return s
	}
	switch f.Preview.Kind {
	case "table":
		width := 0
		for _, r := range f.Preview.Rows {
			width = max(width, len(r))
		}
		if width == 0 {
			return s
		}
		rows := make([][]string, len(f.Preview.Rows))
		for i, r := range f.Preview.Rows {
			rows[i] = make([]string, width)
			for k, cell := range r {
				if cell != nil {
					rows[i][k] = plain(cell)
				}
			}
		}
		s += "\n" + markdownTable(rows[0], make([]bool, width), rows[1:])
		if f.Preview.Total > len(rows) {
			s += fmt.Sprintf("\n%d / %d\n", len(rows), f.Preview.Total)
		}
	case "text":
		s += "\n" + fenced("text", f.Preview.Text)
	}
	return s
}

func fileSummary(payload json.RawMessage) string {
	var f File
	if decodePayload(payload, &f) != nil {
		return "[file]"
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, "file: %s\ntype: %s\nsize: %s", oneLine(f.Name), f.Mime, sizeText(f.Size))
	if p := f.Preview; p != nil {
		switch p.Kind {
		case "image":
			fmt.Fprintf(&b, "\npixels: %d × %d", p.Width, p.Height)
		case "table":
			fmt.Fprintf(&b, "\nrows, the heading included: %d", max(p.Total, len(p.Rows)))
			if len(p.Sheets) > 1 {
				fmt.Fprintf(&b, "\nsheets: %s", oneLine(strings.Join(p.Sheets, ", ")))
			}
		case "pdf":
			fmt.Fprintf(&b, "\npages: %d", p.Pages)
		}
	}
	return b.String()
}
