package block_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

// TestPresetGallery: the gallery shows each preset in every state, its finished
// cards are valid, and what stands for them is what is written there.
func TestPresetGallery(t *testing.T) {
	r := presets(t)
	for _, typ := range block.Presets() {
		raw, err := os.ReadFile(filepath.Join("..", "testdata", "gallery", "cards", typ.Name+".json"))
		if err != nil {
			t.Error(err)
			continue
		}
		var file struct {
			Name, Type string
			Version    int
			Cases      []struct {
				Name  string
				Title map[string]string
				Block block.Block
			}
		}
		if err := json.Unmarshal(raw, &file); err != nil {
			t.Fatalf("%s: %v", typ.Name, err)
		}
		if file.Name != typ.Name || file.Type != typ.Name || file.Version != typ.Version {
			t.Errorf("%s: the file is of %s, type %s, version %d", typ.Name, file.Name, file.Type, file.Version)
		}
		var late, source, partial, chinese bool
		done := 0
		for _, c := range file.Cases {
			b, name := c.Block, typ.Name+"/"+c.Name
			if b.Type != typ.Name || c.Title["en"] == "" || c.Title["zh"] == "" {
				t.Errorf("%s: type %s, titles %v", name, b.Type, c.Title)
			}
			switch {
			case b.Status == block.StatusLoading:
				partial = partial || b.Payload != nil
			case b.Err != nil:
				late = late || b.Err.Code == block.CodeHydrateTimeout && b.Err.Retryable
				source = source || b.Err.Code == block.CodeSchemaInvalid && (strings.HasPrefix(b.Fallback, "```") || strings.HasPrefix(b.Fallback, "[("))
			case b.Version == typ.Version:
				done++
				chinese = chinese || c.Name == "zh"
				if err := r.Validate(b.Type, b.Version, b.Payload); err != nil {
					t.Errorf("%s: %v", name, err)
				}
				if got := typ.Fallback(b.Payload); got != b.Fallback {
					t.Errorf("%s: the fallback is\n%q\nand not\n%q", name, got, b.Fallback)
				}
			}
		}
		if done < 3 || !late || !source || !partial || !chinese {
			t.Errorf("%s: %d finished, late %v, source %v, partial %v, in Chinese %v", typ.Name, done, late, source, partial, chinese)
		}
	}
}
