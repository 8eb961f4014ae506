package tool

import (
	"context"
	"errors"

	"github.com/inlay-ui/inlay/block"
)

// Keep puts a file away without a block of its own, for blocks that refer to
// it by its AssetID: images, and the pictures of cards.
func (o *Out) Keep(name, mime string, b []byte) (block.File, error) {
	if o.files == nil {
		return block.File{}, &Error{Code: CodeFileFailed, Message: "This server keeps no files.", Err: errors.New("tool: no Files")}
	}
	w, err := o.files.Create(o.ctx, CallerFrom(o.ctx), NewFile{Name: name, Mime: mime, Conversation: o.conversation})
	if err != nil {
		return block.File{}, fileError(err)
	}
	defer w.Abort()
	if _, err := w.Write(b); err != nil {
		return block.File{}, fileError(err)
	}
	if err := context.Cause(o.ctx); err != nil {
		return block.File{}, err
	}
	made, err := w.Commit(o.ctx)
	if err != nil {
		return block.File{}, fileError(err)
	}
	return made, nil
}
