package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
)

// Files is where uploaded files are.
type Files interface {
	// Attach makes an owner's file part of a conversation and returns what a
	// message shows and the model reads of it. store.ErrNotFound for another
	// owner's; an *Error is told to the user as it is.
	Attach(ctx context.Context, o store.Owner, id, conversation string) (Attachment, error)
}

// Attachment is a file as part of a message.
type Attachment struct {
	// Block is a file or image block, done.
	Block block.Block
	// Text is for the model, bounded.
	Text string
	// Image is a picture for the model, of the type Mime.
	Image []byte
	Mime  string
	// Note says to the model what it is not given.
	Note string
}

// maxImages is how many pictures of a conversation the model is shown, the
// newest.
const maxImages = 4

// attach reads the files of a request. Their texts share half of the context.
func (r *Runner) attach(ctx context.Context, req Request, conversation string) ([]Attachment, error) {
	if len(req.Attachments) == 0 {
		return nil, nil
	}
	if r.cfg.Files == nil {
		return nil, &Error{Code: CodeInvalidRequest, Message: "This server takes no files."}
	}
	if most := r.cfg.Limits.Attachments; len(req.Attachments) > most {
		return nil, &Error{Code: CodeInvalidRequest, Message: fmt.Sprintf("A message has at most %d files.", most)}
	}
	var list []Attachment
	room := r.cfg.Limits.ContextBytes / 2
	for _, assetID := range req.Attachments {
		a, err := r.cfg.Files.Attach(ctx, req.Owner, assetID, conversation)
		if errors.Is(err, store.ErrNotFound) {
			return nil, &Error{Code: CodeNotFound, Message: "An attached file does not exist.", Err: err}
		}
		if err != nil {
			return nil, storeError("attach file", err)
		}
		a.Text = clip(a.Text, max(room, 0))
		room -= len(a.Text)
		list = append(list, a)
	}
	return list, nil
}

// withFiles is a question as the model reads it: the text and what the files
// say.
func withFiles(text string, files []Attachment) string {
	parts := []string{text}
	if strings.TrimSpace(text) == "" {
		parts = nil
	}
	for _, f := range files {
		name := strings.ReplaceAll(f.Block.Fallback, "\n", " ")
		part := fmt.Sprintf("[attached: %s]", name)
		if f.Note != "" {
			part += "\n" + f.Note
		}
		if f.Text != "" {
			part += fmt.Sprintf("\n--- what the file says ---\n%s\n--- end of %s ---", f.Text, name)
		}
		parts = append(parts, part)
	}
	return strings.Join(parts, "\n\n")
}

// pictures are those that the model is shown with the questions of a
// conversation, by message: the newest of them. files are those of the last
// question, which have been read.
func (r *Runner) pictures(ctx context.Context, o store.Owner, path []store.Message, last *store.Message, files []Attachment) map[string][]model.Image {
	found := make(map[string][]model.Image)
	n := 0
	for _, f := range files {
		if len(f.Image) > 0 && n < maxImages {
			found[last.ID] = append(found[last.ID], model.Image{Mime: f.Mime, Data: f.Image})
			n++
		}
	}
	if r.cfg.Files == nil {
		return found
	}
	for i := len(path) - 1; i >= 0; i-- {
		m := path[i]
		if m.Role != store.RoleUser || last != nil && m.ID == last.ID {
			continue
		}
		for _, b := range m.Blocks {
			var shown block.Image
			if n >= maxImages || b.Type != "image" || json.Unmarshal(b.Payload, &shown) != nil {
				continue
			}
			a, err := r.cfg.Files.Attach(ctx, o, shown.AssetID, m.Conversation)
			if err != nil || len(a.Image) == 0 {
				r.cfg.Logger.Info("a picture of the conversation is not shown to the model", "asset", shown.AssetID, "err", err)
				continue
			}
			found[m.ID] = append(found[m.ID], model.Image{Mime: a.Mime, Data: a.Image})
			n++
		}
	}
	return found
}
