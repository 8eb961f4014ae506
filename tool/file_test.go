package tool_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"time"

	"github.com/xuri/excelize/v2"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

// shelf keeps files in memory.
type shelf struct {
	files   map[string][]byte
	aborted int
	fail    error
	new     tool.NewFile
}

type shelfFile struct {
	bytes.Buffer
	s    *shelf
	file tool.NewFile
	done bool
}

func (s *shelf) Create(_ context.Context, _ tool.Caller, f tool.NewFile) (tool.FileWriter, error) {
	s.new = f
	return &shelfFile{s: s, file: f}, nil
}

func (f *shelfFile) Write(p []byte) (int, error) {
	if f.s.fail != nil {
		return 0, f.s.fail
	}
	return f.Buffer.Write(p)
}

func (f *shelfFile) Commit(context.Context) (block.File, error) {
	f.done = true
	if f.s.files == nil {
		f.s.files = map[string][]byte{}
	}
	f.s.files[f.file.Name] = f.Bytes()
	return block.File{AssetID: "a_1", Name: f.file.Name, Mime: f.file.Mime, Size: int64(f.Len()), Preview: &block.FilePreview{Kind: "table", Rows: [][]any{{"x"}}, Sheet: "Sheet1"}}, nil
}

func (f *shelfFile) Abort() {
	if !f.done {
		f.s.aborted++
	}
}

type noArgs struct{}

// export runs a tool that announces a file and makes one.
func export(t *testing.T, ctx context.Context, s *shelf, run func(*tool.Out) error) (*tooltest.Run, error) {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "export", Description: "Export.", Block: &tool.BlockSpec{Type: "file", Title: "Export"}},
		func(_ context.Context, _ noArgs, out *tool.Out) error {
			if s != nil {
				out.UseFiles(s, "c_1")
			}
			return run(out)
		})
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Call(ctx, tl, `{}`, "b_1")
}

func rowsOf(rows ...block.Row) iter.Seq2[block.Row, error] {
	return func(yield func(block.Row, error) bool) {
		for _, r := range rows {
			if !yield(r, nil) {
				return
			}
		}
	}
}

var exportColumns = []block.TableColumn{{Field: "region", Label: "Region"}, {Field: "amount", Label: "=Amount", Type: "number", Unit: "CNY"}, {Field: "day", Type: "time"}}

func TestFileTable(t *testing.T) {
	rows := rowsOf(
		block.Row{"region": "East", "amount": -320.5, "day": "2026-09-30"},
		block.Row{"region": "=HYPERLINK(\"https://example.com\")", "amount": json.Number("7"), "day": 1790703000000.0},
		block.Row{"region": " ＋1", "amount": nil, "day": "soon"},
	)
	s := &shelf{}
	run, err := export(t, t.Context(), s, func(out *tool.Out) error {
		return out.File("Q3").Title("Q3 sales").Table(exportColumns, rows, 3).CSV()
	})
	if err != nil {
		t.Fatal(err)
	}
	const want = "\uFEFFRegion,'=Amount (CNY),day\r\n" +
		"East,-320.5,2026-09-30\r\n" +
		"\"'=HYPERLINK(\"\"https://example.com\"\")\",7,2026-09-29T17:30:00Z\r\n" +
		"' ＋1,,soon\r\n"
	if got := string(s.files["Q3.csv"]); got != want {
		t.Errorf("got %q\nwant %q", got, want)
	}
	if s.new.Mime != tool.MimeCSV || s.new.Conversation != "c_1" {
		t.Errorf("created as %+v", s.new)
	}
	b := run.Blocks[0]
	var f block.File
	if err := json.Unmarshal(b.Payload, &f); err != nil {
		t.Fatal(err)
	}
	if len(run.Blocks) != 1 || b.Status != block.StatusDone || f.Name != "Q3.csv" || f.Preview.Total != 4 || b.Meta.Title != "Q3 sales" {
		t.Errorf("block %+v, payload %s", b, b.Payload)
	}
	if !strings.Contains(run.Told, "Q3.csv") {
		t.Errorf("the model is told %q", run.Told)
	}

	_, err = export(t, t.Context(), s, func(out *tool.Out) error {
		return out.File("Q3.XLSX").Table(exportColumns, rows, 0).XLSX()
	})
	if err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(bytes.NewReader(s.files["Q3.XLSX"]))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = book.Close() }()
	got, err := book.GetRows("Sheet1")
	if err != nil {
		t.Fatal(err)
	}
	if fmt.Sprint(got) != `[[Region '=Amount (CNY) day] [East -320.5 2026-09-30] ['=HYPERLINK("https://example.com") 7 2026-09-29 17:30:00] [' ＋1  soon]]` {
		t.Errorf("workbook %v", got)
	}
	for _, cell := range []string{"A3", "B1"} {
		if formula, err := book.GetCellFormula("Sheet1", cell); formula != "" || err != nil {
			t.Errorf("%s is the formula %q, %v", cell, formula, err)
		}
	}
	if kind, err := book.GetCellType("Sheet1", "B2"); err != nil || kind == excelize.CellTypeInlineString || kind == excelize.CellTypeSharedString {
		t.Errorf("a number became a text: %v %v", kind, err)
	}
}

// Texts that a spreadsheet would run are made inert; nothing else is changed.
func TestInert(t *testing.T) {
	for in, changed := range map[string]bool{
		"=1+1": true, "+1": true, "-1": true, "@SUM(A1)": true, "\t=1": true, "\r=1": true, "\n": true, "\tx": true,
		"  =1": true, "\u3000=1": true, "\u00a0@x": true, "\ufeff=1": true, "\u200b=1": true, "＝1": true, "＋1": true, "－1": true, "＠x": true, " \u3000＝1": true, "\x00=1": true,
		"": false, "East": false, "1-1": false, "a=b": false, "e@example.com": false, "—": false, "'=1": false, "320": false, " x": false,
	} {
		s := &shelf{}
		if _, err := export(t, t.Context(), s, func(out *tool.Out) error {
			return out.File("x").Table([]block.TableColumn{{Field: "v"}}, rowsOf(block.Row{"v": in}), 1).XLSX()
		}); err != nil {
			t.Fatal(err)
		}
		book, err := excelize.OpenReader(bytes.NewReader(s.files["x.xlsx"]))
		if err != nil {
			t.Fatal(err)
		}
		got, err := book.GetCellValue("Sheet1", "A2")
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(got, "'") != (changed || in == "'=1") {
			t.Errorf("%q became %q", in, got)
		}
		if err := book.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Progress is shown a few times a second, whatever is reported.
func TestFileProgress(t *testing.T) {
	const every = 250 * time.Millisecond
	rows := func(yield func(block.Row, error) bool) {
		row := block.Row{"region": "East"}
		for began := time.Now(); time.Since(began) < 2*every; time.Sleep(time.Millisecond) {
			if !yield(row, nil) {
				return
			}
		}
		yield(row, nil) // whatever held the loop up, this one is late enough to be told
	}
	ctx := tool.WithCaller(t.Context(), tool.Caller{Lang: "zh"})
	began := time.Now()
	run, err := export(t, ctx, &shelf{}, func(out *tool.Out) error {
		return out.File("slow").Table(exportColumns, rows, 1_000_000).CSV()
	})
	if err != nil {
		t.Fatal(err)
	}
	patches := run.Blocks[0].Patches
	if n, most := len(patches), 1+int(time.Since(began)/every); n < 2 || n > most {
		t.Fatalf("%d reports, at least 2 and at most %d", n, most)
	}
	if got := string(patches[0]); got != `[{"op":"add","path":"","value":{"progress":{"done":0,"total":1000000,"stage":"正在写入","unit":"行"}}}]` {
		t.Errorf("first report %s", got)
	}
	if got := string(patches[1]); !strings.HasPrefix(got, `[{"op":"replace","path":"/progress/done","value":`) {
		t.Errorf("second report %s", got)
	}

	run, err = export(t, t.Context(), &shelf{}, func(out *tool.Out) error {
		f := out.File("x.bin")
		for _, stage := range []string{"Querying", "Querying"} {
			if err := f.Progress(1, 2, stage); err != nil {
				return err
			}
		}
		return f.Bytes("application/octet-stream", []byte("x"))
	})
	if err != nil || len(run.Blocks[0].Patches) != 1 {
		t.Errorf("%d reports, %v", len(run.Blocks[0].Patches), err)
	}
}

// A file that fails leaves nothing behind and says why.
func TestFileFails(t *testing.T) {
	broken := func(yield func(block.Row, error) bool) {
		if yield(block.Row{"region": "East"}, nil) {
			yield(nil, errors.New("connection lost: secret-host"))
		}
	}
	stopped, stop := context.WithCancel(t.Context())
	endless := func(yield func(block.Row, error) bool) {
		for i := 0; ; i++ {
			if i == 1000 {
				stop()
			}
			if !yield(block.Row{}, nil) {
				return
			}
		}
	}
	for name, c := range map[string]struct {
		ctx  context.Context
		s    *shelf
		run  func(*tool.Out) error
		code string
		is   error
	}{
		"rows fail": {t.Context(), &shelf{}, func(out *tool.Out) error {
			return out.File("x").Table(exportColumns, broken, 0).XLSX()
		}, tool.CodeFileFailed, nil},
		"store fails": {t.Context(), &shelf{fail: errors.New("disk full")}, func(out *tool.Out) error {
			return out.File("x").Table(exportColumns, rowsOf(block.Row{}), 0).XLSX()
		}, tool.CodeFileFailed, nil},
		"store says why": {t.Context(), &shelf{fail: &tool.Error{Code: tool.CodeFileTooLarge, Message: "Too large."}}, func(out *tool.Out) error {
			return out.File("x").Bytes("text/plain", []byte("x"))
		}, tool.CodeFileTooLarge, nil},
		"reader fails": {t.Context(), &shelf{}, func(out *tool.Out) error {
			return out.File("x").Copy("text/plain", io.MultiReader(strings.NewReader("half"), failingReader{}))
		}, tool.CodeFileFailed, nil},
		"stopped": {stopped, &shelf{}, func(out *tool.Out) error {
			return out.File("x").Table(exportColumns, endless, 0).CSV()
		}, "", context.Canceled},
	} {
		_, err := export(t, c.ctx, c.s, c.run)
		var own *tool.Error
		switch {
		case c.is != nil && !errors.Is(err, c.is):
			t.Errorf("%s: %v", name, err)
		case c.code != "" && (!errors.As(err, &own) || own.Code != c.code || strings.Contains(own.Message, "secret")):
			t.Errorf("%s: %v", name, err)
		}
		if c.s.aborted != 1 || len(c.s.files) != 0 {
			t.Errorf("%s: %d aborted, %d kept", name, c.s.aborted, len(c.s.files))
		}
	}
	var own *tool.Error
	if _, err := export(t, t.Context(), nil, func(out *tool.Out) error { return out.File("x").Bytes("text/plain", nil) }); !errors.As(err, &own) {
		t.Errorf("without a store: %v", err)
	}
}

type failingReader struct{}

func (failingReader) Read([]byte) (int, error) { return 0, errors.New("source gone") }
