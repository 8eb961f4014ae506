package tool

import (
	"encoding/csv"
	"io"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/internal/xlsx"
)

// newWorkbook begins a workbook of a table.
func (t *FileTable) newWorkbook(w io.Writer) (rowWriter, error) {
	widths := make([]int, len(t.columns))
	for i, c := range t.columns {
		widths[i] = 2 + 2*utf8.RuneCountInString(heading(c))
	}
	return xlsx.NewWriter(w, t.file.title, widths, true)
}

// csvWriter writes comma-separated values.
type csvWriter struct {
	w     *csv.Writer
	cells []string
}

func newCSV(w io.Writer) (*csvWriter, error) {
	if _, err := io.WriteString(w, "\uFEFF"); err != nil {
		return nil, err
	}
	c := &csvWriter{w: csv.NewWriter(w)}
	c.w.UseCRLF = true
	return c, nil
}

// Head implements rowWriter.
func (c *csvWriter) Head(cells []string) error { return c.w.Write(cells) }

// Row implements rowWriter.
func (c *csvWriter) Row(cells []any) error {
	c.cells = c.cells[:0]
	for _, v := range cells {
		c.cells = append(c.cells, csvText(v))
	}
	return c.w.Write(c.cells)
}

// Close implements rowWriter.
func (c *csvWriter) Close() error {
	c.w.Flush()
	return c.w.Error()
}
