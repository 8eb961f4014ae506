package asset_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	"io"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/asset"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/tooltest"
)

var aliceCalls = tool.Caller{Tenant: "t1", User: "alice"}

// export runs a tool that makes a file in the library.
func export(t *testing.T, ctx context.Context, r *rig, run func(*tool.Out) error) (*tooltest.Run, error) {
	t.Helper()
	tl, err := tool.New(tool.Spec{Name: "export", Description: "Export.", Block: &tool.BlockSpec{Type: "file", Title: "Export"}},
		func(_ context.Context, _ struct{}, out *tool.Out) error {
			out.UseFiles(r.Library, "c_1")
			return run(out)
		})
	if err != nil {
		t.Fatal(err)
	}
	return tooltest.Call(tool.WithCaller(ctx, aliceCalls), tl, `{}`, "b_1")
}

func sales(n int) func(func(block.Row, error) bool) {
	return func(yield func(block.Row, error) bool) {
		for i := range n {
			if !yield(block.Row{"region": fmt.Sprintf("Region %d", i), "amount": 1}, nil) {
				return
			}
		}
	}
}

var salesColumns = []block.TableColumn{{Field: "region", Label: "Region"}, {Field: "amount", Label: "Amount", Type: "number"}}

// A file that a tool makes is the caller's, belongs to the conversation and
// can be seen before it is fetched.
func TestMadeFile(t *testing.T) {
	r := newRig(t)
	run, err := export(t, t.Context(), r, func(out *tool.Out) error {
		return out.File("../Q3报表").Title("Sales").Table(salesColumns, sales(20_000), 20_000).XLSX()
	})
	if err != nil {
		t.Fatal(err)
	}
	var f block.File
	if err := json.Unmarshal(run.Blocks[0].Payload, &f); err != nil {
		t.Fatal(err)
	}
	if f.Name != "Q3报表.xlsx" || f.Preview.Kind != "table" || len(f.Preview.Rows) != 100 || f.Preview.Total != 20_001 || f.Preview.Sheet != "Sales" {
		t.Errorf("%s %+v", f.Name, f.Preview)
	}
	a, err := r.Asset(t.Context(), alice, f.AssetID)
	if err != nil || a.Status != store.AssetReady || a.Origin != asset.OriginGenerated || a.Conversation != "c_1" || a.Size != f.Size {
		t.Errorf("%+v, %v", a, err)
	}
	if _, err := r.Asset(t.Context(), bob, f.AssetID); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("another's file: %v", err)
	}
	p, err := r.Preview(t.Context(), alice, f.AssetID, asset.PreviewQuery{Offset: 19_999, Limit: 10})
	if err != nil || len(p.Rows) != 2 || p.Rows[1][0] != "Region 19999" {
		t.Errorf("%+v, %v", p, err)
	}
}

// Whatever ends the making of a file, nothing of it is left.
func TestMadeFileFails(t *testing.T) {
	stopped, stop := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx    context.Context
		change func(*asset.Config)
		blobs  func(*faulty)
		run    func(*tool.Out) error
		code   string
	}{
		"rows fail": {run: func(out *tool.Out) error {
			return out.File("x").Table(salesColumns, func(yield func(block.Row, error) bool) {
				_ = yield(block.Row{}, nil) && yield(nil, errors.New("connection lost"))
			}, 0).CSV()
		}, code: tool.CodeFileFailed},
		"disk full": {blobs: func(f *faulty) { f.fail, f.room = fmt.Errorf("write: %w", store.ErrFull), 10_000 }, run: func(out *tool.Out) error {
			return out.File("x").Table(salesColumns, sales(100_000), 0).XLSX()
		}, code: tool.CodeFileFailed},
		"too large": {change: func(c *asset.Config) { c.MaxMadeBytes = 1000 }, run: func(out *tool.Out) error {
			return out.File("x").Copy("text/plain", strings.NewReader(strings.Repeat("x", 5000)))
		}, code: tool.CodeFileTooLarge},
		"quota": {change: func(c *asset.Config) { c.QuotaBytes = 1000 }, run: func(out *tool.Out) error {
			return out.File("x").Bytes("text/plain", make([]byte, 5000))
		}, code: tool.CodeFileFailed},
		"no type": {run: func(out *tool.Out) error { return out.File("x").Bytes("text", nil) }, code: tool.CodeFileFailed},
		"stopped": {ctx: stopped, run: func(out *tool.Out) error {
			return out.File("x").Copy("text/plain", io.MultiReader(strings.NewReader("half"), stopping(stop), endless{}))
		}},
	} {
		if c.change == nil {
			c.change = func(*asset.Config) {}
		}
		if c.ctx == nil {
			c.ctx = t.Context()
		}
		r := newRig(t, c.change)
		if c.blobs != nil {
			r.blobs.set(c.blobs)
		}
		_, err := export(t, c.ctx, r, c.run)
		var own *tool.Error
		if err == nil || c.code != "" && (!errors.As(err, &own) || own.Code != c.code) {
			t.Errorf("%s: %v", name, err)
		}
		r.wantNothing(t, name)
	}
}

type stopping func()

func (s stopping) Read([]byte) (int, error) { s(); return 0, io.EOF }

type endless struct{}

func (endless) Read(p []byte) (int, error) { clear(p); return len(p), nil }

func TestMadeTypes(t *testing.T) {
	r := newRig(t)
	for said, want := range map[string]string{"text/html": "text/html", "image/png": "application/octet-stream", "application/pdf": "application/pdf", "text/plain; charset=utf-8": "text/plain"} {
		run, err := export(t, t.Context(), r, func(out *tool.Out) error { return out.File("x").Bytes(said, []byte("<html><script>alert(1)</script>")) })
		if err != nil {
			t.Fatal(err)
		}
		var f block.File
		if err := json.Unmarshal(run.Blocks[0].Payload, &f); err != nil || f.Mime != want {
			t.Errorf("%s: %s, %v", said, f.Mime, err)
		}
		if l, err := r.Link(t.Context(), alice, f.AssetID, asset.Inline, ""); want == "text/html" && (err != nil || l.Disposition != asset.Attachment) {
			t.Errorf("%s: %+v, %v", said, l, err)
		}
	}
}

// What the model is given of a file, and what the message shows.
func TestAttach(t *testing.T) {
	for name, c := range map[string]struct {
		data       []byte
		text, note string
		kind       string
	}{
		"a.csv":       {[]byte("region;amount\n\"East; North\";320\n"), "region,amount\nEast; North,320\n", "", "file"},
		"a.xlsx":      {workbook(t, 2), "Sheet Q3:\nRegion,Amount\n区域 0,0\n区域 1,1.5", "", "file"},
		"long.xlsx":   {workbook(t, 1000), "", "the first 200 rows", "file"},
		"a.txt":       {[]byte("East leads."), "East leads.", "", "file"},
		"long.txt":    {[]byte(strings.Repeat("East leads. ", 10_000)), "", "Only the beginning", "file"},
		"a.pdf":       {[]byte(onePagePDF), "East leads with 320", "", "file"},
		"scan.pdf":    {[]byte(strings.Replace(onePagePDF, "(East leads with 320) Tj", "0 0 10 10 re f          ", 1)), "", "1 pages without text", "file"},
		"broken.pdf":  {[]byte("%PDF-1.7"), "", "could not be read", "file"},
		"picture.png": {pngOf(t, picture(3000, 1000)), "", "", "image"},
	} {
		r := newRig(t)
		a := r.upload(t, name, c.data)
		out, err := r.Attach(t.Context(), alice, a.ID, "c_1")
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if c.text != "" && out.Text != c.text || !strings.Contains(out.Note, c.note) || c.note == "" && out.Note != "" || len(out.Text) > 40<<10 {
			t.Errorf("%s: text %.100q, note %q", name, out.Text, out.Note)
		}
		if out.Block.Type != c.kind || out.Block.Status != block.StatusDone || out.Block.Fallback != name {
			t.Errorf("%s: block %+v", name, out.Block)
		}
		reg, err := block.NewRegistry(block.Builtins()...)
		if err != nil {
			t.Fatal(err)
		}
		if err := reg.Validate(out.Block.Type, 1, out.Block.Payload); err != nil {
			t.Errorf("%s: %v: %s", name, err, out.Block.Payload)
		}
		if c.kind == "image" {
			m, _, err := image.Decode(bytes.NewReader(out.Image))
			if err != nil || m.Bounds().Size() != image.Pt(1536, 512) || out.Mime != "image/jpeg" {
				t.Errorf("%s: the model gets %s, %v", name, out.Mime, err)
			}
		}
		if a, err := r.Asset(t.Context(), alice, a.ID); err != nil || a.Conversation != "c_1" {
			t.Errorf("%s: %+v, %v", name, a, err)
		}
		if _, err := r.Attach(t.Context(), bob, a.ID, "c_1"); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s: another's file: %v", name, err)
		}
	}
}
