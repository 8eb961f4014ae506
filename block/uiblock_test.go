package block

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"
)

type uiBlockRow struct {
	Event json.RawMessage
	Error string // the member that is wrong; empty when none is
}

func TestUIBlocks(t *testing.T) {
	for _, tt := range jsonl[uiBlockRow](t, "ui-blocks.jsonl") {
		u, err := ParseUIBlock(tt.Event)
		if tt.Error != "" {
			if !errors.Is(err, ErrInvalidUIBlock) {
				t.Errorf("%.200s: %+v, %v, want an error about %s", tt.Event, u, err, tt.Error)
			}
			continue
		}
		if err != nil {
			t.Errorf("%.200s: %v", tt.Event, err)
		}
	}
}

func TestUIBlock(t *testing.T) {
	u, err := ParseUIBlock(json.RawMessage(`{"id": "b1", "namespace": "acme.tools", "block_type": "quote", "version": "2.1.0-rc.1", "data": {"x": [1.50]},
		"position": "inline", "_meta": {"acme/theme": {"a": 1}, "minara/source": "skill"}}`))
	if err != nil {
		t.Fatal(err)
	}
	name, major := u.Type()
	if u.ID != "b1" || name != "acme.tools.quote" || major != 2 || u.Version != "2.1.0-rc.1" || u.Position != "inline" ||
		string(u.Data) != `{"x": [1.50]}` || string(u.Meta["acme/theme"]) != `{"a": 1}` || len(u.Meta) != 2 {
		t.Errorf("read as %+v, %s@%d", u, name, major)
	}
	if name, major := (UIBlock{Namespace: "inlay", BlockType: "chart", Version: "1.0.0"}).Type(); name != "chart" || major != 1 {
		t.Errorf("a built-in type is %s@%d", name, major)
	}
	for _, tt := range []struct {
		namespace string
		source    Source
		ok        bool
	}{
		{"acme", SourceExternal, true}, {"minaras", SourceExternal, true}, {"acme.minara", SourceExternal, true},
		{"minara", SourceExternal, false}, {"minara.tools", SourceExternal, false}, {"inlay", SourceExternal, false}, {"inlay.x", SourceExternal, false},
		{"minara", SourceApp, true}, {"inlay", SourceBuiltin, true},
	} {
		err := UIBlock{Namespace: tt.namespace}.CheckSource(tt.source)
		if (err == nil) != tt.ok || err != nil && !errors.Is(err, ErrInvalidUIBlock) {
			t.Errorf("%s from %s: %v", tt.namespace, tt.source, err)
		}
	}
}

// FuzzUIBlock: what is accepted names a type that a client could declare, and
// says the same when it is written again.
func FuzzUIBlock(f *testing.F) {
	for _, row := range jsonl[uiBlockRow](f, "ui-blocks.jsonl") {
		f.Add([]byte(row.Event))
	}
	for _, row := range jsonl[verdictRow](f, "feature-recommendation.jsonl") {
		if row.Kind == "envelope" {
			f.Add([]byte(row.Value))
		}
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		u, err := ParseUIBlock(raw)
		if err != nil {
			if !errors.Is(err, ErrInvalidUIBlock) {
				t.Fatalf("%v does not wrap ErrInvalidUIBlock", err)
			}
			return
		}
		noControls(t, u.ID)
		name, major := u.Type()
		if major < 1 || len(u.Data) == 0 {
			t.Fatalf("%s is %+v", raw, u)
		}
		token, err := ParseToken(Token{Namespace: u.Namespace, Name: u.BlockType, Major: major}.String())
		if err != nil || token.TypeName() != name {
			t.Fatalf("%s is of the type %s@%d: %v", raw, name, major, err)
		}
		members := map[string]any{"id": u.ID, "namespace": u.Namespace, "block_type": u.BlockType, "version": u.Version, "data": u.Data}
		if u.Position != "" {
			members["position"] = u.Position
		}
		if u.Meta != nil {
			members["_meta"] = u.Meta
		}
		var b strings.Builder
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		if err := enc.Encode(members); err != nil {
			t.Fatal(err)
		}
		again, err := ParseUIBlock(json.RawMessage(b.String()))
		if err != nil || again.ID != u.ID || again.Version != u.Version || again.Position != u.Position || len(again.Meta) != len(u.Meta) {
			t.Fatalf("%s is written again as %s: %+v, %v", raw, b.String(), again, err)
		}
	})
}
