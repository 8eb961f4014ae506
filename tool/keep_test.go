package tool_test

import (
	"errors"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

func TestKeep(t *testing.T) {
	s := &shelf{}
	var f block.File
	_, err := export(t, t.Context(), s, func(out *tool.Out) (err error) {
		f, err = out.Keep("watch.png", "image/png", []byte("picture"))
		return err
	})
	if err != nil || f.AssetID != "a_1" || string(s.files["watch.png"]) != "picture" || s.new.Conversation != "c_1" || s.new.Mime != "image/png" {
		t.Errorf("%+v, %v, %v", f, s.new, err)
	}
	for _, s := range []*shelf{nil, {fail: errors.New("the disk is full")}} {
		var te *tool.Error
		_, err := export(t, t.Context(), s, func(out *tool.Out) error {
			_, err := out.Keep("watch.png", "image/png", []byte("picture"))
			return err
		})
		if !errors.As(err, &te) || te.Code != tool.CodeFileFailed {
			t.Errorf("%v", err)
		}
		if s != nil && s.aborted != 1 {
			t.Errorf("%d files were aborted", s.aborted)
		}
	}
}
