package arch

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestSequentialPackages holds the packages that `make test` runs without the
// race detector to the reason for it: they and their tests start nothing that
// runs beside them, so there is nothing that it could find.
func TestSequentialPackages(t *testing.T) {
	makefile, err := os.ReadFile("../../Makefile")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^sequential = \$\(shell \$\(GO\) list (.+)\)$`).FindSubmatch(makefile)
	if m == nil {
		t.Fatal("the Makefile lists no sequential packages")
	}
	for _, pattern := range strings.Fields(string(m[1])) {
		dir, below := strings.CutSuffix(pattern, "/...")
		root := filepath.Join("../..", dir)
		files := 0
		err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
			switch {
			case err != nil:
				return err
			case d.IsDir() && path != root && (!below || d.Name() == "testdata"):
				return filepath.SkipDir
			case strings.HasSuffix(path, ".go"):
				files++
				staysAlone(t, path)
			}
			return nil
		})
		if err != nil || files == 0 {
			t.Errorf("%s: %d files, %v", pattern, files, err)
		}
	}
}

// staysAlone fails for a file that starts a goroutine, or imports what does.
func staysAlone(t *testing.T, path string) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range file.Imports {
		name, err := strconv.Unquote(spec.Path.Value)
		if err != nil {
			t.Fatal(err)
		}
		if slices.Contains([]string{"database/sql", "net", "net/http", "net/http/httptest", "os/exec", "testing/synctest"}, name) {
			t.Errorf("%s imports %s", path, name)
		}
	}
	ast.Inspect(file, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.GoStmt:
			t.Errorf("%s: a goroutine", fset.Position(n.Pos()))
		case *ast.SelectorExpr:
			if slices.Contains([]string{"Parallel", "RunParallel", "Go", "AfterFunc"}, n.Sel.Name) {
				t.Errorf("%s: %s", fset.Position(n.Pos()), n.Sel.Name)
			}
		}
		return true
	})
}
