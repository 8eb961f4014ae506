// Package arch holds the module to its import order (docs/architecture.md).
package arch

import (
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/inlay-ui/inlay"

// order lists the layers; a package may import packages of earlier layers
// only. The root package, written ".", comes last.
var order = []string{
	"block", "event", "store", "emit", "markup", "a2ui", "model", "agent", "tool", "asset",
	"trajectory", "turn", "action", "connector", "wire", "server", ".",
}

// beside lists what stands beside the layers and what each of it may import.
// internal packages are checked apart: they may import block and each other.
// schema is data without imports, so everything may import it.
var beside = map[string][]string{
	"client": {"block", "event"},
	"demo":   {"block", "markup", "tool", "action"},
	"schema": {},
	"web":    {},
}

// shared are folders below a layer that its other folders may import.
var shared = map[string]bool{"tool/mapping": true, "model/endpoint": true}

// above may import everything and be imported by nothing.
var above = []string{"cmd", "bench", "docs", "e2e", "examples"}

// testOnly may be imported by tests only.
var testOnly = []string{"store/storetest", "tool/tooltest", "asset/blobtest"}

// layer splits a package path into its layer and its folder below it.
func layer(pkg string) (top, folder string) {
	top, folder, _ = strings.Cut(pkg, "/")
	return top, folder
}

// verdict says why a package may not import another; "" when it may.
func verdict(from, to string) string {
	fromTop, fromFolder := layer(from)
	toTop, toFolder := layer(to)
	if slices.Contains(testOnly, to) {
		return "it is for tests only"
	}
	if slices.Contains(above, toTop) && toTop != fromTop {
		return "it stands above the packages"
	}
	if slices.Contains(above, fromTop) || toTop == "internal" || toTop == "schema" {
		return ""
	}
	if fromTop == "internal" {
		if toTop == "block" {
			return ""
		}
		return "internal packages know of block at most"
	}
	if allowed, ok := beside[fromTop]; ok {
		if slices.Contains(allowed, toTop) {
			return ""
		}
		return fromTop + " may import " + strings.Join(allowed, ", ") + " only"
	}
	if _, ok := beside[toTop]; ok {
		if from == "." {
			return ""
		}
		return toTop + " is for the root package"
	}
	f, t := slices.Index(order, fromTop), slices.Index(order, toTop)
	switch {
	case f < 0:
		return fromTop + " has no place in the order"
	case t < 0:
		return toTop + " has no place in the order"
	case t > f:
		return "it points upward"
	case t < f:
		return ""
	}
	// Within one layer a folder builds on its parent, and on what is shared.
	if fromFolder == "" {
		return "a package does not know its implementations"
	}
	if toFolder == "" || shared[to] || strings.HasPrefix(from+"/", to+"/") {
		return ""
	}
	return "siblings do not know each other"
}

func TestImports(t *testing.T) {
	files := 0
	for file, imports := range importsOf(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		files++
		from := filepath.ToSlash(filepath.Dir(file))
		for _, to := range imports {
			if why := verdict(from, to); why != "" {
				t.Errorf("%s: import of %s: %s", file, to, why)
			}
		}
	}
	if files < 50 {
		t.Fatalf("only %d files found", files)
	}
}

// Tests may use anything that does not import what they test; what they may
// not do either is to reach into the programs above.
func TestImportsOfTests(t *testing.T) {
	for file, imports := range importsOf(t, func(name string) bool { return strings.HasSuffix(name, "_test.go") }) {
		from, _ := layer(filepath.ToSlash(filepath.Dir(file)))
		for _, to := range imports {
			if top, _ := layer(to); slices.Contains(above, top) && top != from {
				t.Errorf("%s: import of %s: it stands above the packages", file, to)
			}
		}
	}
}

// TestVerdict keeps the test above from passing for want of rules.
func TestVerdict(t *testing.T) {
	for _, c := range []struct {
		from, to string
		allowed  bool
	}{
		{"event", "block", true},
		{"block", "event", false},
		{"store", "emit", false},
		{"turn", "server", false},
		{"server", "turn", true},
		{"store/sqlite", "store", true},
		{"store/sqlite", "store/memory", false},
		{"store", "store/sqlite", false},
		{"tool/sqltool", "tool/mapping", true},
		{"tool/sqltool", "tool/httptool", false},
		{"wire/native", "wire", true},
		{"wire/other", "wire/native", false},
		{"server", "wire/native", true},
		{"cmd/inlay", "cmd/inlay/internal/chat", true},
		{"server", "cmd/inlay/internal/chat", false},
		{"client", "event", true},
		{"client", "server", false},
		{"internal/terminal", "block", true},
		{"internal/terminal", "event", false},
		{"demo", "tool/sqltool", true},
		{"demo", "turn", false},
		{"turn", "demo", false},
		{".", "demo", true},
		{".", "server", true},
		{"server", ".", false},
		{"cmd/inlay", ".", true},
		{".", "cmd/inlay", false},
		{"internal/sse", "server", false},
		{"turn", "internal/id", true},
		{"store/memory", "store/storetest", false},
		{"novel", "block", false},
		{"turn", "novel", false},
	} {
		if why := verdict(c.from, c.to); (why == "") != c.allowed {
			t.Errorf("%s → %s: %q", c.from, c.to, why)
		}
	}
}

// TestEveryLayerSaysWhatItIs demands of every package a comment that begins
// with its name.
func TestEveryLayerSaysWhatItIs(t *testing.T) {
	documented := make(map[string]bool)
	root := filepath.FromSlash("../..")
	for file := range importsOf(t, func(name string) bool { return !strings.HasSuffix(name, "_test.go") }) {
		f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, file), nil, parser.PackageClauseOnly|parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		dir := filepath.Dir(file)
		want := "Package " + f.Name.Name + " "
		if f.Name.Name == "main" {
			want = "Command "
		}
		documented[dir] = documented[dir] || strings.HasPrefix(f.Doc.Text(), want)
	}
	for dir, ok := range documented {
		if !ok {
			t.Errorf("%s: no package comment", dir)
		}
	}
}

// importsOf returns, by file, which packages of this module the module's files
// import, as paths below the module; the root package is ".".
func importsOf(t *testing.T, want func(name string) bool) map[string][]string {
	t.Helper()
	root := filepath.FromSlash("../..")
	found := make(map[string][]string)
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path == root {
				return nil
			}
			if name == "node_modules" || name == "testdata" || strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_") {
				return filepath.SkipDir
			}
			if _, err := os.Stat(filepath.Join(path, "go.mod")); err == nil {
				return filepath.SkipDir // another module
			}
			return nil
		}
		if filepath.Ext(name) != ".go" || !want(name) {
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, path)
		if err != nil {
			return err
		}
		imports := []string{}
		for _, spec := range f.Imports {
			to, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return fmt.Errorf("%s: %w", rel, err)
			}
			if to == module {
				imports = append(imports, ".")
			} else if below, ok := strings.CutPrefix(to, module+"/"); ok {
				imports = append(imports, below)
			}
		}
		found[rel] = imports
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return found
}
