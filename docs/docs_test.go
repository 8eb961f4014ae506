// Package docs tests the documentation: its examples run, its tables are
// complete, and what it points to is there.
package docs

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"go/parser"
	"go/token"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"gopkg.in/yaml.v3"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/demo"
	"github.com/inlay-ui/inlay/schema"
	"github.com/inlay-ui/inlay/server"
)

const root = ".."

// pages are the Markdown files of the repository, as paths below it.
func pages(t *testing.T) []string {
	t.Helper()
	var list []string
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/decisions/*.md"} {
		found, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range found {
			rel, err := filepath.Rel(root, f)
			if err != nil {
				t.Fatal(err)
			}
			list = append(list, filepath.ToSlash(rel))
		}
	}
	if len(list) < 15 {
		t.Fatalf("only %d pages found", len(list))
	}
	return list
}

func read(t *testing.T, page string) string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(page)))
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// example is a fenced block of a page.
type example struct {
	page string
	line int
	info string
	text string
}

func (e example) String() string { return fmt.Sprintf("%s:%d", e.page, e.line) }

// examples returns the fenced blocks with an info string, such as
// "go complete".
func examples(t *testing.T, info string) []example {
	t.Helper()
	var list []example
	for _, page := range pages(t) {
		var open *example
		for i, line := range strings.Split(read(t, page), "\n") {
			fence, ok := strings.CutPrefix(line, "```")
			switch {
			case ok && open == nil:
				info, _, _ := strings.Cut(fence, " title=")
				open = &example{page: page, line: i + 1, info: strings.TrimSpace(info)}
			case ok:
				if open.info == info {
					list = append(list, *open)
				}
				open = nil
			case open != nil:
				open.text += line + "\n"
			}
		}
		if open != nil {
			t.Errorf("%s: a fence is not closed", page)
		}
	}
	if len(list) == 0 {
		t.Fatalf("no examples %q", info)
	}
	return list
}

// TestConfigurations loads and checks every whole configuration.
func TestConfigurations(t *testing.T) {
	list := examples(t, "yaml complete")
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{"keys.json": `{"keys":[]}`, "llm.key": "sample"} {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("LLM_API_KEY", "sample")
	t.Setenv("ORDERS_DSN", "sqlite:orders.db")
	for _, e := range list {
		file := "inlay.yaml"
		if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := inlay.Load(file, nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		if err != nil {
			t.Errorf("%s: %v", e, err)
		}
	}
}

// TestFirstTool starts the configurations of the first tool and asks their
// question.
func TestFirstTool(t *testing.T) {
	var list []example
	for _, e := range examples(t, "yaml complete") {
		if strings.Contains(e.text, "show_sales_chart") {
			list = append(list, e)
		}
	}
	if len(list) < 3 {
		t.Fatalf("only %d examples with the tool", len(list))
	}
	t.Chdir(t.TempDir())
	d, err := demo.Open(t.Context(), "inlay-data")
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		t.Run(e.page, func(t *testing.T) {
			file := fmt.Sprintf("inlay%d.yaml", i)
			if err := os.WriteFile(file, []byte(e.text), 0o600); err != nil {
				t.Fatal(err)
			}
			cfg, err := inlay.Load(file, nil)
			if err != nil {
				t.Fatal(err)
			}
			wantChart(t, serve(t, cfg))
		})
	}
}

// serve runs an installation until the test ends, in a directory of its own, and
// returns its address.
func serve(t *testing.T, cfg inlay.Config) string {
	t.Helper()
	cfg.Data, cfg.Log.Level = t.TempDir(), "error"
	app, err := inlay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := app.Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	t.Cleanup(func() {
		srv.Close()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	})
	return srv.URL
}

// wantChart asks for the sales of a quarter and expects a chart with figures.
func wantChart(t *testing.T, url string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url+"/v1/chat", strings.NewReader(`{"input":{"text":"Show 2026Q3 sales by region"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	stream, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"event: block_end", `"type":"chart"`, `"amount":`, `"finishReason":"stop"`} {
		if !strings.Contains(string(stream), want) {
			t.Fatalf("status %d, the stream has no %s:\n%s", resp.StatusCode, want, stream)
		}
	}
}

// TestGoPrograms builds every whole program; those of the first tool are
// started and asked.
func TestGoPrograms(t *testing.T) {
	list := examples(t, "go complete")
	top, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{make(map[string]string)}
	names := make([]string, len(list))
	for i, e := range list {
		names[i] = fmt.Sprintf("example%d", i)
		src := filepath.Join(dir, names[i]+".go")
		if err := os.WriteFile(src, []byte(e.text), 0o600); err != nil {
			t.Fatal(err)
		}
		overlay.Replace[filepath.Join(top, "docs", names[i], "main.go")] = src
	}
	raw, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	overlayFile := filepath.Join(dir, "overlay.json")
	if err := os.WriteFile(overlayFile, raw, 0o600); err != nil {
		t.Fatal(err)
	}
	for i, e := range list {
		t.Run(e.String(), func(t *testing.T) {
			bin := filepath.Join(dir, names[i])
			build := exec.CommandContext(t.Context(), "go", "build", "-ldflags", "-s -w", "-overlay", overlayFile, "-o", bin, "./docs/"+names[i])
			build.Dir = top
			if out, err := build.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			if strings.Contains(e.text, "show_sales_chart") {
				wantChart(t, start(t, t.TempDir(), os.Environ(), bin))
			}
		})
	}
}

// TestFirstCommand builds the program with Go alone, starts it with nothing
// configured and asks the first suggestion.
func TestFirstCommand(t *testing.T) {
	bin := filepath.Join(t.TempDir(), "inlay")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", bin, "./cmd/inlay")
	build.Dir = root
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	wantChart(t, start(t, t.TempDir(), os.Environ(), bin, "--no-open"))
}

var listening = regexp.MustCompile(`http://127\.0\.0\.1:[0-9]+`)

// start starts a program on a free port in a directory, and interrupts it at
// the end of the test.
func start(t *testing.T, dir string, env []string, bin string, args ...string) (url string) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, bin, args...)
	cmd.Dir = dir
	cmd.Env = append(slices.Clone(env), "INLAY_ADDR=127.0.0.1:0")
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 20 * time.Second
	out, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stdout, cmd.Stderr = in, in
	err = cmd.Start()
	in.Close()
	if err != nil {
		t.Fatal(err)
	}
	var seen []string
	lines := bufio.NewScanner(out)
	for url == "" && lines.Scan() {
		seen = append(seen, lines.Text())
		url = listening.FindString(lines.Text())
	}
	drained := make(chan struct{})
	go func() {
		_, _ = io.Copy(io.Discard, out) // until it has ended
		close(drained)
	}()
	t.Cleanup(func() {
		cancel()
		_ = cmd.Wait() // it was interrupted
		<-drained
		out.Close()
	})
	if url == "" {
		t.Fatalf("the program did not listen:\n%s", strings.Join(seen, "\n"))
	}
	return url
}

// keysOf lists the keys of the configuration as the documentation writes them.
func keysOf(typ reflect.Type, path string) []string {
	var keys []string
	for i := range typ.NumField() {
		name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
		if name == "" || name == "-" {
			continue
		}
		here := name
		if path != "" {
			here = path + "." + name
		}
		ft := typ.Field(i).Type
		for ft.Kind() == reflect.Pointer || ft.Kind() == reflect.Slice || ft.Kind() == reflect.Map {
			switch {
			case ft.Kind() == reflect.Slice && ft.Elem().Kind() == reflect.Struct:
				here += "[]"
			case ft.Kind() == reflect.Map && ft.Elem().Kind() == reflect.Struct:
				here += ".NAME"
			}
			ft = ft.Elem()
		}
		if ft.Kind() == reflect.Struct {
			keys = append(keys, keysOf(ft, here)...)
			continue
		}
		keys = append(keys, here)
	}
	return keys
}

// TestEveryKeyIsDocumented compares docs/configuration.md with Config, both
// ways.
func TestEveryKeyIsDocumented(t *testing.T) {
	documented := make(map[string]bool)
	firstCell := regexp.MustCompile("^\\| ((?:`[^`]+`(?:, )?)+) \\|")
	code := regexp.MustCompile("`([^`]+)`")
	section := ""
	for _, line := range strings.Split(read(t, "docs/configuration.md"), "\n") {
		if h, ok := strings.CutPrefix(line, "## "); ok {
			section = h
		}
		m := firstCell.FindStringSubmatch(line)
		if m == nil || section == "Command line" || section == "For Go programs only" {
			continue
		}
		for _, k := range code.FindAllStringSubmatch(m[1], -1) {
			documented[k[1]] = true
		}
	}
	keys := keysOf(reflect.TypeFor[inlay.Config](), "")
	if len(keys) < 60 {
		t.Fatalf("only %d keys", len(keys))
	}
	for _, k := range keys {
		if !documented[k] {
			t.Errorf("%s is not documented", k)
		}
		delete(documented, k)
	}
	for k := range documented {
		t.Errorf("%s is documented and does not exist", k)
	}
}

// TestGoMembersAreDocumented does so for what only programs can set.
func TestGoMembersAreDocumented(t *testing.T) {
	text := read(t, "docs/configuration.md")
	typ := reflect.TypeFor[inlay.Config]()
	for i := range typ.NumField() {
		if f := typ.Field(i); f.Tag.Get("json") == "-" && !strings.Contains(text, "| `"+f.Name+"` |") {
			t.Errorf("Config.%s is not documented", f.Name)
		}
	}
}

// mentions demands of a page that it names each word in backquotes.
func mentions(t *testing.T, page string, words []string) {
	t.Helper()
	if len(words) == 0 {
		t.Fatal("nothing to look for")
	}
	text := read(t, page)
	for _, w := range words {
		if !strings.Contains(text, "`"+w+"`") && !strings.Contains(text, "`"+w+" ") && !strings.Contains(text, " "+w+"`") {
			t.Errorf("%s does not name `%s`", page, w)
		}
	}
}

func TestBlockTypesAreDocumented(t *testing.T) {
	var words []string
	for _, typ := range block.Builtins() {
		words = append(words, typ.Name)
		if typ.Name != "chart" {
			continue
		}
		var s struct {
			Properties struct {
				Type struct{ Enum []string }
			}
		}
		if err := json.Unmarshal(typ.Schema, &s); err != nil {
			t.Fatal(err)
		}
		words = append(words, s.Properties.Type.Enum...)
	}
	mentions(t, "docs/blocks.md", words)
	if n := strconv.Itoa(len(words) - len(block.Builtins())); !strings.Contains(read(t, "README.md"), n+" forms") {
		t.Errorf("README.md does not speak of %s forms of chart", n)
	}
}

func TestEventsAndCodesAreDocumented(t *testing.T) {
	raw, err := schema.Files.ReadFile("events.json")
	if err != nil {
		t.Fatal(err)
	}
	var words []string
	for _, m := range regexp.MustCompile(`"const": ?"([a-z_]+)"`).FindAllStringSubmatch(string(raw), -1) {
		words = append(words, m[1])
	}
	for code := range schema.Errors() {
		words = append(words, code)
	}
	mentions(t, "docs/protocol.md", words)
}

// TestRoutesAreDocumented compares docs/protocol.md with the description of
// the API.
func TestRoutesAreDocumented(t *testing.T) {
	var api struct {
		Paths map[string]map[string]any `yaml:"paths"`
	}
	if err := yaml.Unmarshal([]byte(read(t, "server/openapi.yaml")), &api); err != nil {
		t.Fatal(err)
	}
	text := read(t, "docs/protocol.md")
	n := 0
	for path, methods := range api.Paths {
		for method := range methods {
			if method == "parameters" {
				continue
			}
			n++
			if !strings.Contains(text, "`"+strings.ToUpper(method)+" "+path) {
				t.Errorf("docs/protocol.md does not name %s %s", strings.ToUpper(method), path)
			}
		}
	}
	if n < 15 {
		t.Fatalf("only %d routes", n)
	}
}

func TestProfilesAreDocumented(t *testing.T) {
	mentions(t, "docs/models.md", inlay.Profiles())
	if n := strconv.Itoa(len(inlay.Profiles())); !strings.Contains(read(t, "README.md"), n+" vendor profiles") {
		t.Errorf("README.md does not speak of %s profiles", n)
	}
}

func TestMetricsAreDocumented(t *testing.T) {
	m := server.NewMetrics()
	m.TurnEnded("done", time.Second)
	families, err := m.Registry().Gather()
	if err != nil {
		t.Fatal(err)
	}
	text := read(t, "docs/operations.md")
	var seen int
	for _, f := range families {
		if name := f.GetName(); strings.HasPrefix(name, "inlay_") {
			seen++
			if !strings.Contains(text, "`"+name+"`") {
				t.Errorf("docs/operations.md does not name %s", name)
			}
		}
	}
	if seen < 4 {
		t.Fatalf("only %d metrics", seen)
	}
	for _, name := range regexp.MustCompile("`inlay_([a-z_]+)`").FindAllStringSubmatch(text, -1) {
		if src := read(t, "server/metrics.go"); !strings.Contains(src, `"`+name[1]+`"`) {
			t.Errorf("docs/operations.md names inlay_%s, which does not exist", name[1])
		}
	}
}

// TestTokensAreDocumented compares docs/web.md with the style sheet, both ways.
func TestTokensAreDocumented(t *testing.T) {
	token := regexp.MustCompile(`--inlay-[a-z0-9-]+`)
	set := func(text string) []string {
		list := token.FindAllString(text, -1)
		slices.Sort(list)
		return slices.Compact(list)
	}
	doc, css := set(read(t, "docs/web.md")), set(read(t, "web/packages/react/src/styles/tokens.css"))
	if !slices.Equal(doc, css) {
		t.Errorf("docs/web.md names\n%v\nthe style sheet has\n%v", doc, css)
	}
}

// TestTypeScriptImports demands that the packages export what the examples
// import.
func TestTypeScriptImports(t *testing.T) {
	exports := make(map[string]string)
	for name, dir := range map[string]string{"@inlay-ui/client": "client", "@inlay-ui/react": "react"} {
		text := read(t, "web/packages/"+dir+"/src/index.ts")
		for _, m := range regexp.MustCompile(`export type \* from "\./([^"]+)"`).FindAllStringSubmatch(text, -1) {
			text += read(t, "web/packages/"+dir+"/src/"+m[1])
		}
		exports[name] = text
	}
	exports["@inlay-ui/client/markup"] = read(t, "web/packages/client/src/markup.ts")
	for _, entry := range []string{"markup", "validate"} {
		exports["@inlay-ui/client/"+entry] = read(t, "web/packages/client/src/"+entry+".ts")
	}
	for _, name := range []string{"ag-ui", "ai-sdk"} {
		exports["@inlay-ui/"+name] = read(t, "web/packages/"+name+"/src/index.ts")
		exports["@inlay-ui/"+name+"/react"] = read(t, "web/packages/"+name+"/src/react.tsx")
	}
	statement := regexp.MustCompile(`import (?:type )?\{([^}]+)\} from "(@inlay-ui/[a-z/-]+)"`)
	n := 0
	for _, e := range slices.Concat(examples(t, "tsx complete"), examples(t, "ts complete")) {
		for _, m := range statement.FindAllStringSubmatch(e.text, -1) {
			for _, name := range strings.Split(m[1], ",") {
				name = strings.TrimPrefix(strings.TrimSpace(name), "type ")
				n++
				if !regexp.MustCompile(`\b` + regexp.QuoteMeta(name) + `\b`).MatchString(exports[m[2]]) {
					t.Errorf("%s: %s does not export %s", e, m[2], name)
				}
			}
		}
	}
	if n < 8 {
		t.Fatalf("only %d imports", n)
	}
}

var link = regexp.MustCompile(`\]\(([^)\s]+)\)`)

// TestLinks follows every link to a file of the repository.
func TestLinks(t *testing.T) {
	n := 0
	for _, page := range pages(t) {
		for _, m := range link.FindAllStringSubmatch(read(t, page), -1) {
			target, _, _ := strings.Cut(m[1], "#")
			if target == "" || strings.Contains(target, "://") {
				continue
			}
			n++
			if _, err := os.Stat(filepath.Join(root, filepath.Dir(page), target)); err != nil {
				t.Errorf("%s: link to %s: %v", page, m[1], err)
			}
		}
	}
	if n < 40 {
		t.Fatalf("only %d links", n)
	}
}

// TestIndex demands that every page can be found from docs/README.md.
func TestIndex(t *testing.T) {
	index := read(t, "docs/README.md")
	decisions := read(t, "docs/decisions/README.md")
	for _, page := range pages(t) {
		if name, ok := strings.CutPrefix(page, "docs/decisions/"); ok {
			if name != "README.md" && !strings.Contains(decisions, "("+name+")") {
				t.Errorf("docs/decisions/README.md does not list %s", name)
			}
			continue
		}
		if name, ok := strings.CutPrefix(page, "docs/"); ok && name != "README.md" && !strings.Contains(index, "("+name+")") {
			t.Errorf("docs/README.md does not list %s", name)
		}
	}
}

var reference = regexp.MustCompile("`([A-Za-z0-9_./-]+\\.(?:go|ts|tsx|mjs)): ([^`]+)`")

// TestReferences looks up every test that is named as proof. Each row of a table
// whose last column is "test" names one.
func TestReferences(t *testing.T) {
	for _, page := range []string{"docs/requirements.md", "docs/threat-model.md", "docs/ubp.md"} {
		n, proven, head := 0, false, true
		for i, line := range strings.Split(read(t, page), "\n") {
			isRow := strings.HasPrefix(line, "|")
			refs := reference.FindAllStringSubmatch(line, -1)
			if isRow && head {
				proven = strings.HasSuffix(line, "| test |")
			}
			if isRow && !head && proven && !strings.HasPrefix(line, "|---") && len(refs) == 0 {
				t.Errorf("%s:%d: no test", page, i+1)
			}
			head = !isRow
			for _, r := range refs {
				n++
				if why := missing(r[1], r[2]); why != "" {
					t.Errorf("%s:%d: %s: %s: %s", page, i+1, r[1], r[2], why)
				}
			}
		}
		if n < 30 {
			t.Errorf("%s: only %d references", page, n)
		}
	}
}

// missing says why a test is not there.
func missing(file, name string) string {
	b, err := os.ReadFile(filepath.Join(root, filepath.FromSlash(file)))
	if err != nil {
		return "there is no such file"
	}
	text := string(b)
	if strings.HasSuffix(file, ".go") {
		name, sub, hasSub := strings.Cut(name, "/")
		if !strings.Contains(text, "func "+name+"(") {
			return "there is no such function"
		}
		if hasSub && !strings.Contains(text, `"`+sub+`"`) {
			return "there is no such subtest"
		}
		return ""
	}
	for _, quote := range []string{`"`, "`", "'"} {
		if strings.Contains(text, quote+name+quote) || quote == "`" && strings.Contains(text, quote+name) {
			return ""
		}
	}
	return "there is no such title"
}

// TestDependencies compares docs/decisions/dependencies.md with what the code
// imports and the packages name, both ways.
func TestDependencies(t *testing.T) {
	text := read(t, "docs/decisions/dependencies.md")
	goPart, npmPart, ok := strings.Cut(text, "## npm")
	if !ok {
		t.Fatal("no section npm")
	}
	listed := func(part string) map[string]bool {
		set := make(map[string]bool)
		for _, line := range strings.Split(part, "\n") {
			cell, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
			if !strings.HasPrefix(line, "| `") {
				continue
			}
			for _, m := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(cell, -1) {
				set[m[1]] = true
			}
		}
		return set
	}
	compare := func(what string, used, known map[string]bool) {
		t.Helper()
		for name := range used {
			if !known[name] {
				t.Errorf("%s %s has no reason", what, name)
			}
		}
		for name := range known {
			if !used[name] {
				t.Errorf("%s %s is listed and not used", what, name)
			}
		}
	}
	compare("module", modules(t), listed(goPart))
	compare("package", npmPackages(t), listed(npmPart))
}

// modules returns the modules of go.mod that the code imports itself.
func modules(t *testing.T) map[string]bool {
	t.Helper()
	required := regexp.MustCompile(`(?m)^\s+(\S+) v\S+`).FindAllStringSubmatch(read(t, "go.mod"), -1)
	used := make(map[string]bool)
	walk(t, func(path string) {
		if filepath.Ext(path) != ".go" {
			return
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		for _, spec := range f.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			best := ""
			for _, m := range required {
				if (imported == m[1] || strings.HasPrefix(imported, m[1]+"/")) && len(m[1]) > len(best) {
					best = m[1]
				}
			}
			first, _, _ := strings.Cut(imported, "/")
			switch {
			case best != "":
				used[best] = true
			case strings.Contains(first, ".") && !strings.HasPrefix(imported, "github.com/inlay-ui/inlay"):
				t.Errorf("%s imports %s, which is not in go.mod", path, imported)
			}
		}
	})
	return used
}

// npmPackages returns what the package.json files name, our own packages left
// out.
func npmPackages(t *testing.T) map[string]bool {
	t.Helper()
	used := make(map[string]bool)
	walk(t, func(path string) {
		if filepath.Base(path) != "package.json" {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p struct {
			Dependencies, DevDependencies, PeerDependencies map[string]string
		}
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatalf("%s: %v", path, err)
		}
		for _, list := range []map[string]string{p.Dependencies, p.DevDependencies, p.PeerDependencies} {
			for name := range list {
				if !strings.HasPrefix(name, "@inlay-ui/") {
					used[name] = true
				}
			}
		}
	})
	return used
}

// walk visits the files of the module.
func walk(t *testing.T, visit func(path string)) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (name == "node_modules" || name == "testdata" || name == "dist" || strings.HasPrefix(name, ".")) {
				return filepath.SkipDir
			}
			if path == filepath.Join(root, "tools") {
				return filepath.SkipDir // a module of its own
			}
			return nil
		}
		visit(path)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
