package docs

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/demo"
)

const guide = "docs/extending.md"

// step is one fence of the guide: a file, lines of a file, or a command.
type step struct {
	line         int
	lang, title  string
	where, place string // after or before the line, or at the end
	before, text string // before is what the guide says ahead of the fence
}

func (s step) String() string { return fmt.Sprintf("%s:%d", guide, s.line) }

var (
	fenceHead = regexp.MustCompile("^(```|~~~)([a-z]+)(?: complete)?(?: title=\"([^\"]+)\")?(?: (after|before|at)=\"([^\"]+)\")?$")
	oneSpace  = regexp.MustCompile(`\s+`)
)

// steps returns the fences of one section of the guide.
func steps(t *testing.T, section string) []step {
	t.Helper()
	var list []step
	var open *step
	end, here, prose := "", "", ""
	for i, line := range strings.Split(read(t, guide), "\n") {
		head := fenceHead.FindStringSubmatch(line)
		switch {
		case open != nil && line == end:
			list = append(list, *open)
			open, prose = nil, ""
		case open != nil:
			open.text += line + "\n"
		case head != nil:
			end = head[1]
			open = &step{line: i + 1, lang: head[2], title: head[3], where: head[4], place: head[5], before: prose}
			if here != section {
				open = &step{} // a fence of another section
			}
		case strings.HasPrefix(line, "```") || strings.HasPrefix(line, "~~~"):
			t.Fatalf("%s:%d: a fence that no test understands: %s", guide, i+1, line)
		default:
			if h, ok := strings.CutPrefix(line, "## "); ok {
				here = h
			}
			prose += line + "\n"
		}
	}
	list = slices.DeleteFunc(list, func(s step) bool { return s.line == 0 })
	if len(list) == 0 {
		t.Fatalf("%s has no steps in %q", guide, section)
	}
	return list
}

// follow does what a step says in a copy of the repository.
func (s step) follow(t *testing.T, dir string, env []string) {
	t.Helper()
	if s.lang == "sh" {
		run(t, dir, env, "sh", "-ec", s.text)
		return
	}
	if s.title == "" {
		t.Fatalf("%s: belongs to no file", s)
	}
	name := filepath.Join(dir, filepath.FromSlash(s.title))
	if s.where == "" {
		if _, err := os.Stat(name); !errors.Is(err, fs.ErrNotExist) {
			t.Fatalf("%s: %s is there already", s, s.title)
		}
		write(t, name, s.text)
		return
	}
	// People read the sentence, not the attributes of the fence.
	if said := oneSpace.ReplaceAllString(s.before, " "); !strings.Contains(said, "`"+s.title+"`") || s.where != "at" && !strings.Contains(said, s.where+" the line `"+s.place+"`") {
		t.Fatalf("%s: the text does not say where these lines go", s)
	}
	b, err := os.ReadFile(name)
	if err != nil {
		t.Fatalf("%s: %v", s, err)
	}
	if s.where == "at" {
		write(t, name, string(b)+s.text)
		return
	}
	lines := strings.SplitAfter(string(b), "\n")
	at := -1
	for i, line := range lines {
		if strings.TrimSpace(line) != s.place {
			continue
		}
		if at >= 0 {
			t.Fatalf("%s: %s has the line %q twice", s, s.title, s.place)
		}
		at = i
	}
	if at < 0 {
		t.Fatalf("%s: %s has no line %q", s, s.title, s.place)
	}
	if s.where == "after" {
		at++
	}
	write(t, name, strings.Join(slices.Insert(lines, at, s.text), ""))
}

func write(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// run runs a command that must succeed.
func run(t *testing.T, dir string, env []string, name string, args ...string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, env
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(append([]string{name}, args...), " "), err, out)
		t.FailNow()
	}
}

// copyRepository copies what the repository holds, new files too, and links
// what was installed for the packages of web/.
func copyRepository(t *testing.T) string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--deduplicate")
	list.Dir = root
	out, err := list.Output()
	if err != nil {
		t.Fatalf("list the repository's files: %v", err)
	}
	dir := t.TempDir()
	for _, name := range strings.FieldsFunc(string(out), func(r rune) bool { return r == 0 }) {
		b, err := os.ReadFile(filepath.Join(root, name))
		if errors.Is(err, fs.ErrNotExist) {
			continue // removed, and not committed yet
		}
		if err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, name), string(b))
	}
	modules, err := filepath.Abs(filepath.Join(root, "web", "node_modules"))
	if err != nil {
		t.Fatal(err)
	}
	entries, err := os.ReadDir(modules)
	if err != nil {
		t.Fatalf("the packages of web/ are not installed, run make web-deps: %v", err)
	}
	link := func(from, to string) {
		if err := os.Symlink(from, to); err != nil {
			t.Fatal(err)
		}
	}
	into := filepath.Join(dir, "web", "node_modules")
	if err := os.MkdirAll(filepath.Join(into, "@inlay-ui"), 0o755); err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Name() != "@inlay-ui" && !strings.HasPrefix(e.Name(), ".vite") {
			link(filepath.Join(modules, e.Name()), filepath.Join(into, e.Name()))
		}
	}
	for _, name := range []string{"client", "react"} {
		link(filepath.Join(dir, "web", "packages", name), filepath.Join(into, "@inlay-ui", name))
	}
	return dir
}

// TestExtending adds a block type in each of the two ways of the guide, by its
// fences alone, and asks the server and the client for them.
func TestExtending(t *testing.T) {
	t.Parallel()
	dir := copyRepository(t)
	env := os.Environ()
	for _, s := range steps(t, "In this repository") {
		s.follow(t, dir, env)
	}
	places := map[string]string{"main.go": "ticket/main.go", "main_test.go": "ticket/main_test.go", "ticket.tsx": "web/packages/react/test/ticket.tsx"}
	for _, s := range steps(t, "In a program of one's own") {
		if places[s.title] == "" {
			t.Fatalf("%s: %q is in no program", s, s.title)
		}
		s.title = places[s.title]
		s.follow(t, dir, env)
	}
	probe, err := os.ReadFile("testdata/extending.test.tsx")
	if err != nil {
		t.Fatal(err)
	}
	write(t, filepath.Join(dir, "web", "packages", "react", "test", "extending.test.tsx"), string(probe))

	t.Run("the server", func(t *testing.T) {
		t.Parallel()
		run(t, dir, env, "go", "build", "-ldflags", "-s -w", "-o", "bin/", "./cmd/inlay", "./ticket")
		d, err := demo.Open(t.Context(), filepath.Join(dir, "inlay-data"))
		if err != nil {
			t.Fatal(err)
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		// A second tool, which shows whatever the model writes.
		config, err := os.ReadFile(filepath.Join(dir, "inlay.yaml"))
		if err != nil {
			t.Fatal(err)
		}
		config = append(config, "  - {name: raw, description: Show, source: shop, query: SELECT 1, parameters: {type: object}, block: {type: rating, payload: .args}}\n"...)
		write(t, filepath.Join(dir, "inlay.yaml"), string(config))

		env := append(slices.Clone(env), "INLAY_MODEL_BASE_URL="+toolCaller(t), "INLAY_MODEL_NAME=sample")
		url := start(t, dir, env, filepath.Join(dir, "bin", "inlay"), "serve", "--config", "inlay.yaml", "--no-open")
		wantType(t, url, "rating", 1)
		wantBlock(t, url, "rating@1", `rate_region {"region":"East"}`, `"block_type":"rating"`, `"payload":{"stars":`, `"fallback":"East: `)
		for _, wrong := range []string{`{"subject":"W","stars":6}`, `{"subject":"","stars":1}`, `{"stars":1}`, `{"subject":"W","stars":1,"colour":"red"}`} {
			wantBlock(t, url, "rating@1", "raw "+wrong, `event: block_error`, `"code":"SCHEMA_INVALID"`)
		}
		wantBlock(t, url, "chart@1", `rate_region {"region":"East"}`, `"type":"text","version":1,"payload":"East: `)

		url = start(t, t.TempDir(), env, filepath.Join(dir, "bin", "ticket"))
		wantType(t, url, "acme.ticket", 1)
		wantBlock(t, url, "acme.ticket@1", `show_ticket {"number":"T-1"}`, `"namespace":"acme","block_type":"ticket"`, `"payload":{"number":"T-1","subject":"Sample subject"}`)

		run(t, dir, env, "go", "test", "-vet", "off", "-run", "Gallery|Builtins|Published|Stale|EverythingIsWords|Show", "./ticket", "./block", "./schema", "./internal/schemats")
		run(t, dir, env, "go", "test", "-vet", "off", "-ldflags", "-s -w", "-run", "TestBlock.*(Examples|Documented)", "./docs")
	})
	t.Run("the client", func(t *testing.T) {
		t.Parallel()
		web := filepath.Join(dir, "web")
		checker, err := filepath.Abs("testdata/typecheck.mjs")
		if err != nil {
			t.Fatal(err)
		}
		const tests, src = "packages/react/test/", "packages/react/src/blocks/"
		run(t, web, env, "node", checker, src+"index.ts", src+"payloads.ts", src+"RatingBlock.tsx", tests+"ticket.tsx")
		run(t, web, env, "npx", "biome", "check", "packages/react/src", tests+"ticket.tsx")
		run(t, web, env, "npx", "vitest", "run", "-t", "rating|words|guide", tests+"gallery.test.tsx", tests+"words.test.ts", tests+"extending.test.tsx")
	})
}

// toolCaller starts a model that makes the call that the user's message names,
// and then says that it is done.
func toolCaller(t *testing.T) (url string) {
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req struct {
			Messages []struct {
				Role    string
				Content json.RawMessage
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&req); err != nil || len(req.Messages) == 0 {
			http.Error(w, "no messages", http.StatusBadRequest)
			return
		}
		type object map[string]any
		delta, reason := object{"role": "assistant", "content": "Done."}, "stop"
		if last := req.Messages[len(req.Messages)-1]; last.Role == "user" {
			var text string
			if err := json.Unmarshal(last.Content, &text); err != nil {
				http.Error(w, err.Error(), http.StatusBadRequest)
				return
			}
			name, args, _ := strings.Cut(text, " ")
			call := object{"index": 0, "id": "call_1", "type": "function", "function": object{"name": name, "arguments": args}}
			delta, reason = object{"role": "assistant", "tool_calls": []object{call}}, "tool_calls"
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, choice := range []object{{"index": 0, "delta": delta}, {"index": 0, "delta": object{}, "finish_reason": reason}} {
			b, err := json.Marshal(object{"id": "a", "object": "chat.completion.chunk", "model": "sample", "choices": []object{choice}})
			if err != nil {
				panic(err) // maps of strings and numbers
			}
			fmt.Fprintf(w, "data: %s\n\n", b)
		}
		fmt.Fprint(w, "data: [DONE]\n\n")
	}))
	t.Cleanup(srv.Close)
	return srv.URL
}

// wantType demands that GET /v1/blocks lists a type.
func wantType(t *testing.T, url, name string, version int) {
	t.Helper()
	var list struct {
		Blocks []struct {
			Type    string
			Version int
			Schema  json.RawMessage
		}
	}
	if err := json.Unmarshal(request(t, "GET", url+"/v1/blocks", "", nil), &list); err != nil {
		t.Fatal(err)
	}
	for _, b := range list.Blocks {
		if b.Type == name && b.Version == version && bytes.Contains(b.Schema, []byte(`"subject"`)) {
			return
		}
	}
	t.Errorf("%s@%d is not listed", name, version)
}

// wantBlock lets the model make a call and looks for parts of the stream.
func wantBlock(t *testing.T, url, capability, call string, parts ...string) {
	t.Helper()
	body, err := json.Marshal(map[string]any{"input": map[string]string{"text": call}})
	if err != nil {
		t.Fatal(err)
	}
	stream := request(t, "POST", url+"/v1/chat", string(body), map[string]string{"X-Blocks": capability})
	for _, part := range append(parts, `"finishReason":"stop"`) {
		if !bytes.Contains(stream, []byte(part)) {
			t.Errorf("%s: the stream has no %s:\n%s", call, part, stream)
		}
	}
}

// request makes a request that must succeed and returns the body of the answer.
func request(t *testing.T, method, url, body string, header map[string]string) []byte {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	b, err := io.ReadAll(resp.Body)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("%s %s: %s, %v\n%s", method, url, resp.Status, err, b)
	}
	return b
}
