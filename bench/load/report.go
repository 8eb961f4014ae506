package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"text/tabwriter"
)

// figure is one line of the table.
type figure struct {
	Item string `json:"item"`
	What string `json:"what"`
	// Value is printed with Digits after the point.
	Value  float64 `json:"value"`
	Unit   string  `json:"unit"`
	Digits int     `json:"digits,omitempty"`
	// Bar is the most that Value may be; 0 means that there is none.
	Bar float64 `json:"bar,omitempty"`
	// Note says what Value was made of.
	Note string `json:"note,omitempty"`
}

// results collects figures in a file, one per line, so that several programs
// can add theirs.
type results struct{ path string }

func (r results) add(f figure) error {
	b, err := json.Marshal(f)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(r.path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(b, '\n'))
	if cerr := file.Close(); err == nil {
		err = cerr
	}
	return err
}

// report prints the table to stdout and to a file beside the figures, and
// returns how many bars were missed.
func (r results) report() (missed int, err error) {
	in, err := os.Open(r.path)
	if err != nil {
		return 0, err
	}
	defer in.Close()
	table, err := os.Create(filepath.Join(filepath.Dir(r.path), "table.txt"))
	if err != nil {
		return 0, err
	}
	defer table.Close()
	w := tabwriter.NewWriter(io.MultiWriter(os.Stdout, table), 0, 4, 2, ' ', 0)
	fmt.Fprintln(w, "ITEM\tMEASURED\tFIGURE\tBAR\t\tFROM")
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		var f figure
		if err := json.Unmarshal(lines.Bytes(), &f); err != nil {
			return missed, fmt.Errorf("%s: %w", r.path, err)
		}
		bar, verdict := "-", ""
		if f.Bar != 0 {
			bar, verdict = fmt.Sprintf("≤ %g", f.Bar), "met"
			if f.Value > f.Bar {
				verdict = "MISSED"
				missed++
			}
		}
		fmt.Fprintf(w, "%s\t%s\t%.*f %s\t%s\t%s\t%s\n", f.Item, f.What, f.Digits, f.Value, f.Unit, bar, verdict, f.Note)
	}
	if err := lines.Err(); err != nil {
		return missed, err
	}
	return missed, w.Flush()
}

// goBench turns the output of go test -bench into figures.
func goBench(in io.Reader, out io.Writer) error {
	enc := json.NewEncoder(out)
	pkg := ""
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		f := strings.Fields(lines.Text())
		if len(f) == 2 && f[0] == "pkg:" {
			pkg = path.Base(path.Dir(f[1])) + "/" + path.Base(f[1])
		}
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		name := strings.TrimPrefix(strings.TrimRight(f[0], "-0123456789"), "Benchmark")
		value, err := strconv.ParseFloat(f[2], 64)
		if err != nil {
			return fmt.Errorf("%q: %w", lines.Text(), err)
		}
		note := ""
		if len(f) >= 8 {
			note = strings.Join(f[len(f)-4:], " ")
		}
		if err := enc.Encode(figure{Item: "encode", What: pkg + " " + name, Value: value, Unit: f[3], Note: note}); err != nil {
			return err
		}
	}
	return lines.Err()
}
