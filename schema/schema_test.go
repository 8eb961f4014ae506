package schema_test

import (
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/schema"
)

func TestBlockSchemasArePublished(t *testing.T) {
	for dir, files := range map[string]fs.FS{"blocks/": block.Schemas(), "presets/": block.PresetSchemas()} {
		names, err := fs.Glob(files, "*.json")
		if err != nil || len(names) == 0 {
			t.Fatalf("%v, %v", names, err)
		}
		published, err := fs.Glob(schema.Files, dir+"*.json")
		if err != nil {
			t.Fatal(err)
		}
		if len(published) != len(names) {
			t.Errorf("published %v, want %v", published, names)
		}
		for _, name := range names {
			want, err := fs.ReadFile(files, name)
			if err != nil {
				t.Fatal(err)
			}
			got, err := fs.ReadFile(schema.Files, dir+name)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != string(want) {
				t.Errorf("%s%s is stale: run go generate ./schema", dir, name)
			}
		}
	}
}

func TestErrorsAreWorded(t *testing.T) {
	form := regexp.MustCompile(`^([A-Z][A-Z0-9]*(_[A-Z0-9]+)*|[a-z][a-z0-9]*(_[a-z0-9]+)*)$`)
	for code, e := range schema.Errors() {
		if !form.MatchString(code) {
			t.Errorf("%s is in mixed case", code)
		}
		if !strings.HasSuffix(e.English, ".") || !strings.HasSuffix(e.Chinese, "。") {
			t.Errorf("%s: not two sentences: %q, %q", code, e.English, e.Chinese)
		}
	}
}

// TestCodesInUseAreListed walks the program for constants named Code… and for
// members named Code or code that are set to a string, and looks them up.
func TestCodesInUseAreListed(t *testing.T) {
	listed := schema.Errors()
	found := 0
	fset := token.NewFileSet()
	err := filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && (d.Name() == "node_modules" || d.Name() == ".git" || strings.HasSuffix(d.Name(), "test") || d.Name() == "testdata") {
			return filepath.SkipDir
		}
		if !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, path, nil, parser.SkipObjectResolution)
		if err != nil {
			return err
		}
		check := func(v ast.Expr) {
			lit, ok := v.(*ast.BasicLit)
			if !ok || lit.Kind != token.STRING {
				return
			}
			code, err := strconv.Unquote(lit.Value)
			if err != nil || code == "" {
				return
			}
			found++
			if _, ok := listed[code]; !ok {
				t.Errorf("%s: the code %q is not in errors.json", fset.Position(lit.Pos()), code)
			}
		}
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ValueSpec:
				for i, name := range n.Names {
					if strings.HasPrefix(name.Name, "Code") && i < len(n.Values) {
						check(n.Values[i])
					}
				}
			case *ast.KeyValueExpr:
				if key, ok := n.Key.(*ast.Ident); ok && key.Name == "Code" {
					check(n.Value)
				}
			}
			return true
		})
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 15 {
		t.Errorf("only %d codes found: the walk is broken", found)
	}
}

type def struct {
	Ref        string          `json:"$ref"`
	Type       any             `json:"type"`
	Properties map[string]*def `json:"properties"`
	Required   []string        `json:"required"`
	Items      *def            `json:"items"`
}

// TestEventSchemasAreThoseOfTheStructs compares members, required ones and
// JSON types of each published schema with the Go struct that is encoded.
func TestEventSchemasAreThoseOfTheStructs(t *testing.T) {
	b, err := schema.Files.ReadFile("events.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]*def `json:"$defs"`
	}
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	for name, v := range map[string]any{
		"start": event.StartData{}, "text_delta": event.TextDeltaData{}, "reasoning_delta": event.TextDeltaData{},
		"block_start": event.BlockStartData{}, "block_delta": event.BlockDeltaData{}, "block_end": event.BlockEndData{},
		"block_error": event.BlockErrorData{}, "block_state": event.BlockStateData{}, "tool_call": event.ToolCallData{},
		"client_tool_call": event.ClientToolCallData{}, "state": event.StateData{},
		"snapshot": event.SnapshotData{}, "done": event.DoneData{}, "error": event.ErrorData{}, "usage": event.Usage{},
		"model": event.Model{}, "block": block.Block{}, "meta": block.Meta{}, "action": block.Action{}, "error_info": block.Error{},
	} {
		d := doc.Defs[name]
		if d == nil {
			t.Errorf("%s: no schema", name)
			continue
		}
		want := make(map[string]bool)
		typ := reflect.TypeOf(v)
		for i := range typ.NumField() {
			f := typ.Field(i)
			tag, opts, _ := strings.Cut(f.Tag.Get("json"), ",")
			want[tag] = true
			p := d.Properties[tag]
			if p == nil {
				t.Errorf("%s.%s: not in the schema", name, tag)
				continue
			}
			if optional := opts == "omitempty"; optional == slices.Contains(d.Required, tag) {
				t.Errorf("%s.%s: optional is %v in Go, not so in the schema", name, tag, optional)
			}
			if got, wantType := p.Type, jsonType(f.Type); p.Ref == "" && got != nil && wantType != "" && got != wantType {
				t.Errorf("%s.%s: %v in the schema, %s in Go", name, tag, got, wantType)
			}
		}
		for p := range d.Properties {
			perStream := name == "start" && (p == "supported_blocks" || p == "rejected_capabilities")
			if !want[p] && !perStream {
				t.Errorf("%s.%s: not in the Go struct", name, p)
			}
		}
	}
	for _, typ := range []event.Type{
		event.Start, event.TextDelta, event.TextEnd, event.ReasoningDelta, event.BlockStart, event.BlockDelta,
		event.BlockEnd, event.BlockError, event.BlockState, event.ToolCallStart, event.ToolCallEnd, event.SubToolStart,
		event.SubToolEnd, event.ClientToolCall, event.AppState, event.PendingQuestionStart, event.PendingQuestionEnd, event.Annotation, event.Snapshot,
		event.Done, event.Error,
	} {
		if doc.Defs[string(typ)] == nil {
			t.Errorf("event %s has no schema", typ)
		}
	}
}

func jsonType(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "string"
	case reflect.Bool:
		return "boolean"
	case reflect.Int, reflect.Int64, reflect.Uint64:
		return "integer"
	case reflect.Float64:
		return "number"
	case reflect.Map:
		return "object"
	case reflect.Slice:
		if t.Elem().Kind() == reflect.Uint8 {
			return "" // raw JSON
		}
		return "array"
	}
	return ""
}

// TestLogsAreOfTheSchemas checks the data of every event in the golden logs.
func TestLogsAreOfTheSchemas(t *testing.T) {
	b, err := schema.Files.ReadFile("events.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc map[string]json.RawMessage
	if err := json.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	compiled := make(map[string]*block.Schema)
	of := func(name string) *block.Schema {
		if s, ok := compiled[name]; ok {
			return s
		}
		one, err := json.Marshal(map[string]any{"$defs": doc["$defs"], "$ref": "#/$defs/" + name})
		if err != nil {
			t.Fatal(err)
		}
		s := block.MustCompileSchema(name, one)
		compiled[name] = s
		return s
	}
	logs, err := filepath.Glob("../testdata/logs/*.jsonl")
	if err != nil || len(logs) == 0 {
		t.Fatalf("no logs: %v", err)
	}
	n := 0
	for _, path := range logs {
		raw, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(raw)) {
			var e struct {
				Event string          `json:"event"`
				Data  json.RawMessage `json:"data"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
			if err := of(e.Event).Validate(e.Data); err != nil {
				t.Errorf("%s: %s: %v", path, e.Event, err)
			}
			if err := of("envelope").Validate(json.RawMessage(line)); err != nil {
				t.Errorf("%s: envelope: %v", path, err)
			}
			n++
		}
	}
	t.Logf("%d events in %d logs", n, len(logs))
}
