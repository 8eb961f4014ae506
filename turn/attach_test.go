package turn_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
)

// shelf is a store of files: pictures are called p…, texts t….
type shelf struct{ gone map[string]bool }

func (s shelf) Attach(_ context.Context, o store.Owner, id, conversation string) (turn.Attachment, error) {
	if o != alice || s.gone[id] || !strings.ContainsAny(id[:1], "pt") || conversation == "" {
		return turn.Attachment{}, fmt.Errorf("file %s: %w", id, store.ErrNotFound)
	}
	b := block.Block{ID: "b_" + id + conversation, Type: "file", Version: 1, Status: block.StatusDone, Rev: 1, Fallback: id + ".txt"}
	payload := any(block.File{AssetID: id, Name: id + ".txt", Mime: "text/plain", Size: 5})
	a := turn.Attachment{Text: "words of " + id}
	if id[0] == 'p' {
		b.Type, b.Fallback = "image", id+".png"
		payload = block.Image{AssetID: id, Alt: id + ".png"}
		a = turn.Attachment{Image: []byte("pixels of " + id), Mime: "image/png", Note: "It was made smaller."}
	}
	raw, err := json.Marshal(payload)
	b.Payload = raw
	a.Block = b
	return a, err
}

func TestAttachments(t *testing.T) {
	files := shelf{gone: map[string]bool{}}
	r := newRig(t, turn.Config{Files: files}, nil, step{text: "One."}, step{text: "Two."}, step{text: "Three."}, step{text: "Four."})
	s := r.start(turn.Request{Text: "compare", Attachments: []string{"t1", "p1"}})
	r.wait(s)
	user := r.record(s.User)
	if len(user.Blocks) != 3 || user.Blocks[1].Type != "file" || user.Blocks[2].Type != "image" || user.Status != event.StatusDone {
		t.Errorf("%+v", user.Blocks)
	}
	asked := r.model.requests()[0].Messages[1]
	for _, want := range []string{"compare\n", "[attached: t1.txt]", "words of t1", "[attached: p1.png]\nIt was made smaller."} {
		if !strings.Contains(asked.Content, want) {
			t.Errorf("%q, want %q", asked.Content, want)
		}
	}
	if len(asked.Images) != 1 || string(asked.Images[0].Data) != "pixels of p1" || asked.Images[0].Mime != "image/png" {
		t.Errorf("%+v", asked.Images)
	}
	// A message may be a file alone. What was shown before is shown again, the
	// newest first, as long as it is there.
	s = r.start(turn.Request{Conversation: s.Conversation, Attachments: []string{"p2", "p3", "p4"}})
	r.wait(s)
	if got := len(r.record(s.User).Blocks); got != 3 {
		t.Errorf("%d blocks", got)
	}
	files.gone["p2"] = true
	r.wait(r.start(turn.Request{Conversation: s.Conversation, Text: "and?", Attachments: []string{"p5"}}))
	var seen []string
	for _, m := range r.model.requests()[2].Messages {
		for _, img := range m.Images {
			seen = append(seen, strings.TrimPrefix(string(img.Data), "pixels of "))
		}
	}
	if got := strings.Join(seen, " "); got != "p1 p3 p4 p5" {
		t.Errorf("shown %s", got)
	}
	if !strings.Contains(r.model.requests()[2].Messages[1].Content, "words of t1") {
		t.Error("the text of an earlier file is lost")
	}
	for _, c := range []struct {
		req  turn.Request
		code string
	}{
		{turn.Request{Text: "x", Attachments: []string{"nothing"}}, turn.CodeNotFound},
		{turn.Request{Text: "x", Attachments: strings.Split(strings.Repeat("t1 ", 11), " ")}, turn.CodeInvalidRequest},
		{turn.Request{Text: " "}, turn.CodeInvalidRequest},
	} {
		c.req.Owner = alice
		_, err := r.runner.Start(t.Context(), c.req)
		wantCode(t, err, c.code)
	}
	r = newRig(t, turn.Config{}, nil, step{text: "One."})
	_, err := r.runner.Start(t.Context(), turn.Request{Owner: alice, Text: "x", Attachments: []string{"t1"}})
	wantCode(t, err, turn.CodeInvalidRequest)
}

// drawer keeps files that tools make.
type drawer struct{ made []string }

func (d *drawer) Create(_ context.Context, c tool.Caller, f tool.NewFile) (tool.FileWriter, error) {
	return &drawerFile{d: d, name: c.User + "/" + f.Conversation + "/" + f.Name}, nil
}

type drawerFile struct {
	strings.Builder
	d    *drawer
	name string
}

var _ io.Writer = (*drawerFile)(nil)

func (f *drawerFile) Commit(context.Context) (block.File, error) {
	f.d.made = append(f.d.made, f.name+"="+f.String())
	return block.File{AssetID: "a_1", Name: "x.txt", Mime: "text/plain", Size: int64(f.Len())}, nil
}

func (f *drawerFile) Abort() {}

func TestToolsMakeFiles(t *testing.T) {
	tl, err := tool.New(tool.Spec{Name: "export", Description: "Export."}, func(_ context.Context, _ struct{}, out *tool.Out) error {
		return out.File("x.txt").Bytes("text/plain", []byte("hello"))
	})
	if err != nil {
		t.Fatal(err)
	}
	var d drawer
	r := newRig(t, turn.Config{OutFiles: &d}, []tool.Tool{tl}, calls(call("c1", "export", "{}")), step{text: "There."})
	s, _, _ := r.ask("export")
	r.follow(s.Msg, func(ctx context.Context, f *turn.Follow) error {
		return f.Out(ctx, "x", nil, nil).File("y.txt").Bytes("text/plain", []byte("again"))
	})
	if _, st := r.wait(s); text(st) != "<file done>|There.|<file done>" {
		t.Error(text(st))
	}
	want := fmt.Sprintf("[alice/%s/x.txt=hello /%s/y.txt=again]", s.Conversation, s.Conversation)
	if got := fmt.Sprint(d.made); got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
