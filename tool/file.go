package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// The types of the files that a table is written to.
const (
	MimeXLSX = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
	MimeCSV  = "text/csv"
)

// Codes of files that could not be made.
const (
	CodeFileFailed   = "FILE_FAILED"
	CodeFileTooLarge = "FILE_TOO_LARGE"
)

// Files is where tools put the files they make.
type Files interface {
	// Create begins a file of the caller. Nobody can see it before Commit.
	Create(ctx context.Context, c Caller, f NewFile) (FileWriter, error)
}

// NewFile describes a file about to be made.
type NewFile struct {
	// Name is for people; it is cleaned of what no file may be called.
	Name string
	Mime string
	// Conversation is where the file is shown, and with which it goes.
	Conversation string
}

// FileWriter takes the bytes of one file.
type FileWriter interface {
	io.Writer
	// Commit makes the file whole and returns its block's payload.
	Commit(ctx context.Context) (block.File, error)
	// Abort forgets what was written; after Commit it does nothing.
	Abort()
}

// UseFiles says where File puts files, and to which conversation they belong.
func (o *Out) UseFiles(f Files, conversation string) {
	o.files, o.conversation = f, conversation
}

// File begins a file for the user. Nothing is shown before the file has
// content or progress.
func (o *Out) File(name string) *File { return &File{out: o, name: name} }

// File makes one file: Bytes, Copy or Table write it and show its block. While
// it is written the block shows how far it is; when it fails nothing of it is
// left, and the error becomes the block's.
type File struct {
	out   *Out
	name  string
	title string

	handle  Handle
	opened  bool
	last    time.Time
	patched block.FileProgress
	began   bool
}

// progressEvery is the least time between two reports of progress.
const progressEvery = 250 * time.Millisecond

// Title heads the block; without it the file's name does.
func (f *File) Title(title string) *File {
	f.title = title
	return f
}

// Progress says how much of the work is done, of total when that is known (0:
// it is not), and in which stage, in the user's language. It may be called as
// often as there is something to say; a few of the calls are shown.
func (f *File) Progress(done, total int, stage string) error {
	return f.progress(float64(done), float64(total), stage, "")
}

func (f *File) progress(done, total float64, stage, unit string) error {
	if err := context.Cause(f.out.ctx); err != nil {
		return err
	}
	if err := f.open(); err != nil || f.handle == nil {
		return err
	}
	now := time.Now()
	if f.began && now.Sub(f.last) < progressEvery {
		return nil
	}
	p := block.FileProgress{Done: done, Stage: stage, Unit: unit}
	if total > 0 {
		p.Total = &total
	}
	patch, err := f.patch(p)
	if err != nil || patch == nil {
		return err
	}
	f.last, f.patched, f.began = now, p, true
	return f.handle.Delta(patch)
}

// operation is one step of an RFC 6902 patch.
type operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// patch returns what changes the shown progress into p; nil when nothing does.
func (f *File) patch(p block.FileProgress) (json.RawMessage, error) {
	if !f.began {
		return jsonx.Marshal([]operation{{"add", "", map[string]any{"progress": p}}})
	}
	var ops []operation
	if p.Done != f.patched.Done {
		ops = append(ops, operation{"replace", "/progress/done", p.Done})
	}
	if p.Total != nil && (f.patched.Total == nil || *p.Total != *f.patched.Total) {
		ops = append(ops, operation{"add", "/progress/total", *p.Total})
	}
	if p.Stage != f.patched.Stage {
		ops = append(ops, operation{"add", "/progress/stage", p.Stage})
	}
	if p.Unit != f.patched.Unit {
		ops = append(ops, operation{"add", "/progress/unit", p.Unit})
	}
	if ops == nil {
		return nil, nil
	}
	return jsonx.Marshal(ops)
}

// open announces the block; a nil handle says that it was refused.
func (f *File) open() error {
	if f.opened {
		return nil
	}
	h, err := f.out.handle("file", 1, f.meta())
	if err != nil {
		return err
	}
	f.handle, f.opened = h, true
	return nil
}

func (f *File) meta() block.Meta { return block.Meta{Title: f.title} }

// Bytes makes a file of bytes.
func (f *File) Bytes(mime string, b []byte) error {
	return f.write(mime, func(w io.Writer) (int, error) {
		_, err := w.Write(b)
		return 0, err
	})
}

// Copy makes a file of what r yields.
func (f *File) Copy(mime string, r io.Reader) error {
	return f.write(mime, func(w io.Writer) (int, error) {
		buf := make([]byte, 64<<10)
		for done := 0; ; {
			n, err := r.Read(buf)
			if n > 0 {
				if _, err := w.Write(buf[:n]); err != nil {
					return 0, err
				}
				done += n
				if err := f.progress(float64(done), 0, "", f.word("bytes", "字节")); err != nil {
					return 0, err
				}
			}
			if err == io.EOF {
				return 0, nil
			}
			if err != nil {
				return 0, err
			}
		}
	})
}

// write runs fill between the beginning and the end of a file. fill returns
// how many rows a table has in all.
func (f *File) write(mime string, fill func(io.Writer) (int, error)) error {
	if f.out.files == nil {
		return &Error{Code: CodeFileFailed, Message: "This server keeps no files.", Err: errors.New("tool: no Files")}
	}
	if err := f.open(); err != nil {
		return err
	}
	if f.handle == nil {
		return nil // refused; the model is told
	}
	ctx := f.out.ctx
	w, err := f.out.files.Create(ctx, CallerFrom(ctx), NewFile{Name: f.name, Mime: mime, Conversation: f.out.conversation})
	if err != nil {
		return fileError(err)
	}
	defer w.Abort()
	rows, err := fill(w)
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil {
		return fileError(err)
	}
	made, err := w.Commit(ctx)
	if err != nil {
		return fileError(err)
	}
	if p := made.Preview; p != nil && p.Kind == "table" && rows > 0 {
		p.Total = rows
	}
	payload, err := jsonx.Marshal(made)
	if err != nil {
		return fmt.Errorf("encode file payload: %w", err)
	}
	return f.out.Finish(f.handle, "file", 1, Finished{Payload: payload, Meta: f.meta()})
}

// fileError words a failure, unless somebody has worded it already or it is
// that of the run's end.
func fileError(err error) error {
	var own *Error
	if errors.As(err, &own) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	return &Error{Code: CodeFileFailed, Message: "The file could not be made.", Retryable: true, Err: err}
}

// word chooses between the product's languages.
func (f *File) word(en, zh string) string {
	if CallerFrom(f.out.ctx).Lang == "zh" {
		return zh
	}
	return en
}

// Table takes the rows of a file. An error among the rows ends the file. total
// is how many rows there will be; 0 when that is not known.
func (f *File) Table(columns []block.TableColumn, rows iter.Seq2[block.Row, error], total int) *FileTable {
	return &FileTable{file: f, columns: columns, rows: rows, total: total}
}

// FileTable is a table on its way into a file. Texts that a spreadsheet would
// run as formulas are made inert, headings among them; numbers stay numbers.
type FileTable struct {
	file    *File
	columns []block.TableColumn
	rows    iter.Seq2[block.Row, error]
	total   int
}

// rowWriter is a kind of file that tables are written to.
type rowWriter interface {
	Head(cells []string) error
	Row(cells []any) error
	Close() error
}

// XLSX writes a workbook with one sheet.
func (t *FileTable) XLSX() error {
	return t.write(MimeXLSX, ".xlsx", t.newWorkbook)
}

// CSV writes comma-separated values in UTF-8 with a byte order mark, without
// which spreadsheets take them for another encoding.
func (t *FileTable) CSV() error {
	return t.write(MimeCSV, ".csv", func(w io.Writer) (rowWriter, error) { return newCSV(w) })
}

func (t *FileTable) write(mime, ext string, begin func(io.Writer) (rowWriter, error)) error {
	f := t.file
	if !strings.EqualFold(f.name[max(len(f.name)-len(ext), 0):], ext) {
		f.name += ext
	}
	stage, unit := f.word("Writing rows", "正在写入"), f.word("rows", "行")
	return f.write(mime, func(w io.Writer) (int, error) {
		if err := f.progress(0, float64(t.total), stage, unit); err != nil {
			return 0, err
		}
		rw, err := begin(w)
		if err != nil {
			return 0, err
		}
		head := make([]string, len(t.columns))
		for i, c := range t.columns {
			head[i] = inert(heading(c))
		}
		if err := rw.Head(head); err != nil {
			return 0, err
		}
		cells, done := make([]any, len(t.columns)), 0
		for row, err := range t.rows {
			if err != nil {
				return 0, err
			}
			for i, c := range t.columns {
				cells[i] = cellOf(c, row[c.Field])
			}
			if err := rw.Row(cells); err != nil {
				return 0, err
			}
			done++
			if err := f.progress(float64(done), float64(t.total), stage, unit); err != nil {
				return 0, err
			}
		}
		return done + 1, rw.Close()
	})
}

func heading(c block.TableColumn) string {
	s := c.Label
	if s == "" {
		s = c.Field
	}
	if c.Unit != "" {
		s += " (" + c.Unit + ")"
	}
	return s
}

// cellOf turns a value into what both kinds of files can hold: string, bool,
// float64, int64, time.Time or nil.
func cellOf(c block.TableColumn, v any) any {
	switch v := v.(type) {
	case nil, bool:
		return v
	case string:
		if c.Type == "time" {
			if t, ok := timeOf(v); ok {
				return t
			}
		}
		return inert(v)
	case float64:
		if c.Type == "time" && math.Abs(v) < 1e15 {
			return time.UnixMilli(int64(v)).UTC()
		}
		return v
	case float32:
		return float64(v)
	case int:
		return integer(c, int64(v))
	case int32:
		return integer(c, int64(v))
	case int64:
		return integer(c, v)
	case json.Number:
		if n, err := v.Int64(); err == nil {
			return integer(c, n)
		}
		if n, err := v.Float64(); err == nil {
			return n
		}
		return inert(v.String())
	case time.Time:
		return v
	case fmt.Stringer:
		return inert(v.String())
	}
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return inert(fmt.Sprint(v))
	}
	return inert(string(raw))
}

func integer(c block.TableColumn, n int64) any {
	if c.Type == "time" {
		return time.UnixMilli(n).UTC()
	}
	return n
}

// timeOf reads the times of ISO 8601 that tables hold.
func timeOf(s string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, true
		}
	}
	return time.Time{}, false
}

// formulaStarts begin a formula, in their full-width forms too.
const formulaStarts = "=+-@＝＋－＠"

// inert makes a text one that no spreadsheet runs: what would begin a formula,
// also behind spaces, gets an apostrophe before it.
func inert(s string) string {
	if s == "" {
		return s
	}
	trimmed := strings.TrimLeftFunc(s, blank)
	if trimmed != "" && strings.ContainsRune(formulaStarts, firstRune(trimmed)) || s[0] == '\t' || s[0] == '\r' || s[0] == '\n' {
		return "'" + s
	}
	return s
}

func firstRune(s string) rune {
	for _, r := range s {
		return r
	}
	return 0
}

// blank are the runes that spreadsheets pass over: white space, zero width
// and control characters.
func blank(r rune) bool {
	switch r {
	case ' ', '\u00A0', '\u3000', '\uFEFF', '\u200B', '\u200C', '\u200D', '\u2060', '\u1680', '\u202F', '\u205F', '\u2028', '\u2029', '\u0085':
		return true
	}
	return r < ' ' || r >= '\u2000' && r <= '\u200A'
}

// csvText writes a number as spreadsheets read it.
func csvText(v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case string:
		return v
	case bool:
		return strconv.FormatBool(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case time.Time:
		if v.Equal(v.Truncate(24 * time.Hour)) {
			return v.Format("2006-01-02")
		}
		return v.Format("2006-01-02T15:04:05Z07:00")
	}
	return fmt.Sprint(v)
}
