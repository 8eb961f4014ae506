package xlsx

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"
)

func write(t testing.TB, sheet string, head []string, rows ...[]any) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, sheet, []int{10, 200}, true)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Head(head); err != nil {
		t.Fatal(err)
	}
	for _, r := range rows {
		if err := w.Row(r); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// What is written is read the same by this package and by another library.
func TestWriter(t *testing.T) {
	day := time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	data := write(t, "Q3: a/b", []string{"Region", "=1+1"},
		[]any{"华东 <&\" ", 320.5, true, nil, int64(-7)},
		[]any{day, day.Add(18*time.Hour + 30*time.Minute), "line\nbreak\x01", int64(1 << 60), false},
		[]any{time.Date(1850, 1, 1, 0, 0, 0, 0, time.UTC), strings.Repeat("長", 40_000)})
	p, err := read(data, "", 0, 10, Limits{CellRunes: 40_000})
	if err != nil {
		t.Fatal(err)
	}
	want := [][]any{
		{"Region", "=1+1"},
		{"华东 <&\" ", 320.5, true, nil, -7.0},
		{"2026-09-30", "2026-09-30T18:30:00", "line\nbreak\uFFFD", "1152921504606846976", false},
		{"1850-01-01 00:00:00", strings.Repeat("長", maxText-1) + "…"},
	}
	if !reflect.DeepEqual(p.Rows, want) {
		t.Errorf("got %#v", p.Rows[:3])
	}
	peer, err := excelize.OpenReader(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = peer.Close() }()
	if got := peer.GetSheetList(); !reflect.DeepEqual(got, []string{"Q3  a b"}) {
		t.Errorf("sheets %q", got)
	}
	rows, err := peer.GetRows("Q3  a b")
	if err != nil {
		t.Fatal(err)
	}
	if got := rows[1]; !reflect.DeepEqual(got, []string{"华东 <&\" ", "320.5", "TRUE", "", "-7"}) {
		t.Errorf("another library reads %q", got)
	}
	if got := rows[2][:2]; !reflect.DeepEqual(got, []string{"2026-09-30", "2026-09-30 18:30:00"}) {
		t.Errorf("another library reads %q", got)
	}
	if formula, err := peer.GetCellFormula("Q3  a b", "B1"); formula != "" || err != nil {
		t.Errorf("a text became the formula %q, %v", formula, err)
	}
}

func TestSheetName(t *testing.T) {
	for in, want := range map[string]string{"": "Sheet1", "Q3": "Q3", `[]:*?/\`: "Sheet1", "'x'": "x", "History": "Sheet1", strings.Repeat("😀", 20): strings.Repeat("😀", 15), "a\x00\xff": "a"} {
		if got := SheetName(in); got != want {
			t.Errorf("%q: %q, want %q", in, got, want)
		}
	}
}

type brokenWriter struct{ left int }

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, errors.New("disk full")
	}
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	for _, room := range []int{0, 500, 3000} {
		w, err := NewWriter(&brokenWriter{room}, "x", nil, false)
		for i := 0; err == nil && i < 100_000; i++ {
			err = w.Row([]any{float64(i) * 1.1})
		}
		if err == nil {
			err = w.Close()
		}
		if err == nil || !strings.Contains(err.Error(), "disk full") {
			t.Errorf("room for %d: %v", room, err)
		}
	}
	w, err := NewWriter(&bytes.Buffer{}, "x", nil, false)
	if err != nil {
		t.Fatal(err)
	}
	w.rows = MaxRows
	if err := w.Row(nil); !errors.Is(err, ErrLimit) {
		t.Errorf("a row too many: %v", err)
	}
	w.rows = 0
	if err := w.Row([]any{struct{}{}}); err == nil {
		t.Error("a cell of an unknown kind was accepted")
	}
}
