package block

import (
	"bytes"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"slices"
	"testing"
)

var update = flag.Bool("update", false, "write the golden texts of the gallery and the generated targets anew")

// galleryCase is a block as clients show it in the gallery and draw it in their
// tests.
type galleryCase struct {
	Name  string            `json:"name"`
	Title map[string]string `json:"title"`
	Block Block             `json:"block"`
}

type galleryFile struct {
	Name    string        `json:"name"`
	Type    string        `json:"type"`
	Version int           `json:"version"`
	Cases   []galleryCase `json:"cases"`
}

func gallery(t testing.TB) []galleryFile {
	t.Helper()
	paths, err := filepath.Glob("../testdata/gallery/*.json")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no gallery: %v", err)
	}
	files := make([]galleryFile, len(paths))
	for i, p := range paths {
		raw, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		d := json.NewDecoder(bytes.NewReader(raw))
		d.DisallowUnknownFields()
		if err := d.Decode(&files[i]); err != nil {
			t.Fatalf("%s: %v", p, err)
		}
	}
	return files
}

// texts is what is made of a payload for those who do not draw it.
type texts struct {
	Fallback string `json:"fallback"`
	Stand    string `json:"stand,omitempty"` // where it is not the fallback
	Markdown string `json:"markdown"`
	Summary  string `json:"summary"`
}

// TestGallery validates every finished block of the gallery and pins the texts
// that are made of it.
func TestGallery(t *testing.T) {
	r := builtins(t)
	got := make(map[string]texts)
	shown := make(map[string]bool)
	kinds := make(map[string]bool)
	for _, f := range gallery(t) {
		typ, ok := r.Lookup(f.Type, f.Version)
		if !ok || f.Name != f.Type {
			t.Errorf("%s: not a type of its own", f.Name)
			continue
		}
		shown[f.Type] = true
		names := make(map[string]bool)
		status := make(map[Status]int)
		for _, c := range f.Cases {
			if c.Name == "" || names[c.Name] || c.Title["en"] == "" || c.Title["zh"] == "" {
				t.Errorf("%s/%s: the name is there twice, or a title is missing", f.Type, c.Name)
			}
			names[c.Name] = true
			b := c.Block
			status[b.Status]++
			if b.Type != f.Type {
				t.Errorf("%s/%s: is a %s", f.Type, c.Name, b.Type)
			}
			if b.Status != StatusDone || b.Version != f.Version {
				continue
			}
			clean, err := r.Clean(b.Type, b.Version, b.Payload)
			if err != nil {
				t.Errorf("%s/%s: %v", f.Type, c.Name, err)
				continue
			}
			if again, err := r.Clean(b.Type, b.Version, clean); err != nil || !bytes.Equal(again, clean) {
				t.Errorf("%s/%s: cleaned twice it is another: %v", f.Type, c.Name, err)
			}
			for _, p := range []json.RawMessage{b.Payload, clean} {
				if err := r.Validate(b.Type, b.Version, p); err != nil {
					t.Errorf("%s/%s: %v", f.Type, c.Name, err)
				}
			}
			x := texts{Fallback: typ.Fallback(clean), Markdown: typ.Markdown(clean), Summary: typ.Summary(clean)}
			if b.Type != "text" && (x.Fallback == "" || b.Fallback != x.Fallback) {
				t.Errorf("%s/%s: fallback is %q, the payload's is %q", f.Type, c.Name, b.Fallback, x.Fallback)
			}
			if s := r.Stand(Block{Type: b.Type, Version: b.Version, Status: b.Status, Payload: clean}); s != x.Fallback {
				x.Stand = s
			}
			got[f.Type+"/"+c.Name] = x
			if b.Type == "chart" {
				var chart Chart
				if err := json.Unmarshal(clean, &chart); err != nil {
					t.Error(err)
				}
				kinds[string(chart.Type)] = true
			}
		}
		if status[StatusDone] < 3 || f.Type != "text" && (status[StatusLoading] == 0 || status[StatusError] == 0) {
			t.Errorf("%s: the states are not all shown: %v", f.Type, status)
		}
	}
	for _, typ := range r.Types() {
		if !shown[typ.Name] {
			t.Errorf("%s is not in the gallery", typ.Name)
		}
	}
	if len(kinds) != 17 {
		t.Errorf("%d forms of chart, want 17", len(kinds))
	}
	const path = "../testdata/gallery/texts.golden"
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	if err := enc.Encode(got); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if bytes.Equal(raw, b.Bytes()) {
		return
	}
	var want map[string]texts
	if err := json.Unmarshal(raw, &want); err != nil {
		t.Fatal(err)
	}
	for name, x := range got {
		if want[name] != x {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, x, want[name])
		}
	}
	if len(want) != len(got) {
		t.Errorf("%d cases, want %d", len(got), len(want))
	}
}

// TestEverythingIsWords: whatever comes as a payload, some text is made of it
// and nothing panics. Real payloads are spoilt, and given to other types.
func TestEverythingIsWords(t *testing.T) {
	r := builtins(t)
	types := r.Types()
	for _, f := range gallery(t) {
		own, _ := r.Lookup(f.Type, f.Version)
		for _, c := range f.Cases {
			for _, p := range mutations(c.Block.Payload) {
				words(own, p)
			}
		}
		for _, p := range mutations(f.Cases[0].Block.Payload) {
			for _, typ := range types {
				words(typ, p)
			}
		}
	}
}

func words(typ Type, p json.RawMessage) {
	if typ.Clean != nil {
		if clean, err := typ.Clean(p); err == nil {
			p = clean
		}
	}
	if typ.Check != nil {
		_ = typ.Check(p) // anything but a panic will do
	}
	typ.Fallback(p)
	typ.Markdown(p)
	typ.Summary(p)
	if typ.Link != nil {
		typ.Link(p)
	}
}

// mutations returns a payload and its like with one member replaced or gone.
func mutations(p json.RawMessage) []json.RawMessage {
	out := []json.RawMessage{p, nil}
	var members map[string]json.RawMessage
	if json.Unmarshal(p, &members) != nil {
		return out
	}
	junk := []string{`null`, `"x"`, `1e300`, `true`, `[]`, `{}`, `[null,1,"a",{"type":"x"},[[]]]`, `{"type":1,"items":{},"properties":[]}`}
	names := make([]string, 0, len(members))
	for name := range members {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		value := members[name]
		for _, j := range junk {
			members[name] = json.RawMessage(j)
			if b, err := json.Marshal(members); err == nil {
				out = append(out, b)
			}
		}
		members[name] = value
	}
	return out
}

func FuzzPayloads(f *testing.F) {
	r, err := NewRegistry(Builtins()...)
	if err != nil {
		f.Fatal(err)
	}
	types := r.Types()
	for _, g := range gallery(f) {
		for i, typ := range types {
			if typ.Name == g.Type {
				for _, c := range g.Cases {
					f.Add(uint8(i), []byte(c.Block.Payload))
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, n uint8, payload []byte) {
		typ := types[int(n)%len(types)]
		words(typ, payload)
		_ = r.Validate(typ.Name, typ.Version, payload) // refused or not, without a panic
	})
}
