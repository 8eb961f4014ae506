package docs

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

// TestBlockExamples validates the payloads that docs/blocks.md shows, at least
// one of each type, and looks for every member of their schemas on the page.
func TestBlockExamples(t *testing.T) {
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	page := read(t, "docs/blocks.md")
	for _, typ := range block.Builtins() {
		for _, e := range examples(t, "json block "+typ.Name) {
			payload, err := reg.Clean(typ.Name, typ.Version, json.RawMessage(e.text))
			if err != nil {
				t.Errorf("%s: %v", e, err)
			}
			for _, p := range []json.RawMessage{json.RawMessage(e.text), payload} {
				if err := reg.Validate(typ.Name, typ.Version, p); err != nil {
					t.Errorf("%s: %v", e, err)
				}
			}
		}
		var s struct {
			Properties map[string]json.RawMessage
		}
		if err := json.Unmarshal(typ.Schema, &s); err != nil {
			t.Fatal(err)
		}
		for _, m := range slices.Sorted(maps.Keys(s.Properties)) {
			if !strings.Contains(page, m) {
				t.Errorf("docs/blocks.md does not name %s of %s", m, typ.Name)
			}
		}
	}
}

// TestFormRulesAreDocumented looks for every format, control and option.
func TestFormRulesAreDocumented(t *testing.T) {
	mentions(t, "docs/blocks.md", slices.Concat(block.Formats(), block.FormWidgets(), block.FormOptions()))
}
