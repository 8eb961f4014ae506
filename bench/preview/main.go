// Command preview measures what it takes to show the first rows of a large
// workbook, beside a library for workbooks, and what a signed address costs.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/internal/xlsx"
)

func main() {
	rows := flag.Int("rows", 200_000, "rows of the workbook")
	columns := flag.Int("columns", 10, "columns of the workbook")
	rounds := flag.Int("rounds", 15, "rounds of each side")
	flag.Parse()
	if err := run(*rows, *columns, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "preview:", err)
		os.Exit(1)
	}
}

// figure is a line of the table; see bench/load.
type figure struct {
	Item   string  `json:"item"`
	What   string  `json:"what"`
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Digits int     `json:"digits"`
	Bar    float64 `json:"bar,omitempty"`
	Note   string  `json:"note"`
}

// shown is how many rows are previewed.
const shown = 100

func run(rows, columns, rounds int) error {
	dir, err := os.MkdirTemp("", "inlay-preview-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	// One workbook has its texts in the cells, the other shares them, as
	// spreadsheets do.
	files := map[string]string{}
	for _, shared := range []bool{false, true} {
		name := map[bool]string{false: "texts in cells", true: "shared texts"}[shared]
		files[name] = filepath.Join(dir, fmt.Sprintf("%v.xlsx", shared))
		if err := write(files[name], rows, columns, shared); err != nil {
			return fmt.Errorf("write a workbook: %w", err)
		}
	}
	out := json.NewEncoder(os.Stdout)
	for _, name := range []string{"texts in cells", "shared texts"} {
		path := files[name]
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		var own, peer []time.Duration
		var allocated uint64
		for range rounds { // in turn, so that both meet the same machine
			d, bytes, err := timed(func() error { return ours(path, columns) })
			if err != nil {
				return err
			}
			own, allocated = append(own, d), bytes
			if len(peer) < 5 {
				if d, _, err = timed(func() error { return theirs(path) }); err != nil {
					return err
				}
				peer = append(peer, d)
			}
		}
		ms := func(list []time.Duration) float64 {
			slices.Sort(list)
			return float64(list[len(list)/2].Microseconds()) / 1000
		}
		note := fmt.Sprintf("%d × %d cells, %.1f MB; slowest of %d %.1f ms, %.1f MB allocated", rows, columns, float64(info.Size())/1e6, rounds, float64(slices.Max(own).Microseconds())/1000, float64(allocated)/1e6)
		if err := out.Encode(figure{"preview", "first 100 rows, " + name, ms(own), "ms", 1, 20, note}); err != nil {
			return err
		}
		if err := out.Encode(figure{"preview", "the same with excelize", ms(peer), "ms", 0, 0, fmt.Sprintf("opened and read row by row; median of %d", len(peer))}); err != nil {
			return err
		}
	}
	ring, err := signing.New(signing.Generate())
	if err != nil {
		return err
	}
	parts := []string{"a_0199f6b0-0000-7000-8000-000000000000", "inline", "", "1790000000"}
	sig := ring.Sign("asset-content", parts...)
	for _, c := range []struct {
		what string
		do   func() bool
	}{
		{"sign an address", func() bool { return ring.Sign("asset-content", parts...) == sig }},
		{"check an address", func() bool { return ring.Verify("asset-content", sig, parts...) }},
	} {
		ok := true
		r := testing.Benchmark(func(b *testing.B) {
			for b.Loop() {
				ok = c.do() && ok
			}
		})
		if !ok {
			return fmt.Errorf("%s: wrong signature", c.what)
		}
		if err := out.Encode(figure{"signing", c.what, float64(r.NsPerOp()) / 1000, "µs", 2, 0, fmt.Sprintf("%d rounds", r.N)}); err != nil {
			return err
		}
	}
	return nil
}

func timed(f func() error) (time.Duration, uint64, error) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	began := time.Now()
	err := f()
	d := time.Since(began)
	runtime.ReadMemStats(&after)
	return d, after.TotalAlloc - before.TotalAlloc, err
}

// ours reads the rows as the product does: names of sheets, styles, shared
// texts and all.
func ours(path string, columns int) (err error) {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	info, err := f.Stat()
	if err != nil {
		return err
	}
	book, err := xlsx.Open(f, info.Size(), xlsx.Limits{})
	if err != nil {
		return err
	}
	page, err := book.Rows(context.Background(), "", 0, shown)
	if err != nil {
		return err
	}
	if len(page.Rows) != shown || len(page.Rows[shown-1]) != columns || page.Rows[shown-1][0] == nil {
		return fmt.Errorf("%d rows were read", len(page.Rows))
	}
	return nil
}

func theirs(path string) (err error) {
	f, err := excelize.OpenFile(path)
	if err != nil {
		return err
	}
	defer func() {
		if cerr := f.Close(); err == nil {
			err = cerr
		}
	}()
	rows, err := f.Rows(f.GetSheetList()[0])
	if err != nil {
		return err
	}
	for range shown {
		if !rows.Next() {
			return io.ErrUnexpectedEOF
		}
		if _, err := rows.Columns(); err != nil {
			return err
		}
	}
	return rows.Close()
}

// write makes a workbook of texts, numbers, dates and truth values.
func write(path string, rows, columns int, shared bool) error {
	f := excelize.NewFile()
	day, err := f.NewStyle(&excelize.Style{NumFmt: 14})
	if err != nil {
		return err
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	row := make([]any, columns)
	fill := func(i int) {
		for j := range row {
			switch j % 5 {
			case 0:
				row[j] = fmt.Sprintf("Region %d", i%5000)
			case 1:
				row[j] = excelize.Cell{StyleID: day, Value: 45000 + rnd.IntN(1500)}
			case 2:
				row[j] = fmt.Sprintf("客户 %d", rnd.IntN(100_000))
			case 3:
				row[j] = i%2 == 0
			default:
				row[j] = float64(rnd.IntN(1e8)) / 100
			}
		}
	}
	if !shared {
		w, err := f.NewStreamWriter("Sheet1")
		if err != nil {
			return err
		}
		for i := range rows {
			fill(i)
			if err := w.SetRow(fmt.Sprintf("A%d", i+1), row); err != nil {
				return err
			}
		}
		if err := w.Flush(); err != nil {
			return err
		}
	} else {
		for i := range rows {
			fill(i)
			for j, v := range row {
				if c, ok := v.(excelize.Cell); ok {
					row[j] = c.Value
				}
			}
			if err := f.SetSheetRow("Sheet1", fmt.Sprintf("A%d", i+1), &row); err != nil {
				return err
			}
		}
	}
	if err := f.SaveAs(path); err != nil {
		return err
	}
	return f.Close()
}
