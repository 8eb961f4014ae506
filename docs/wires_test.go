package docs

import (
	"encoding/json"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/wire/agui"
	"github.com/inlay-ui/inlay/wire/aisdk"
)

// TestRequestsOfNeighbours posts the requests of docs/wires.md to an installation
// with the sample data: each is answered with the chart that its client declares,
// and with text where it does not.
func TestRequestsOfNeighbours(t *testing.T) {
	yes := true
	url := serve(t, inlay.Config{Demo: &yes})
	for info, want := range map[string]struct{ route, chart, end string }{
		"json ag-ui":      {"/v1/ag-ui", `"activityType":"inlay.chart"`, `"type":"RUN_FINISHED"`},
		"json copilotkit": {"/v1/copilotkit", `"activityType":"inlay.chart"`, `"type":"RUN_FINISHED"`},
		"json ai-sdk":     {"/v1/ai-sdk/chat", `"type":"data-chart"`, "[DONE]"},
	} {
		e := onPage(t, "docs/wires.md", info)
		for _, declares := range []bool{true, false} {
			body := e.text
			if !declares {
				// Another question of another chat, of a client that says nothing.
				body = regexp.MustCompile(`-([12])"`).ReplaceAllString(body, `-other-$1"`)
				body = strings.Replace(body, `"capabilities"`, `"other"`, 1)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+want.route, strings.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			req.Header.Set("Content-Type", "application/json")
			resp, err := http.DefaultClient.Do(req)
			if err != nil {
				t.Fatal(err)
			}
			stream, err := io.ReadAll(resp.Body)
			resp.Body.Close()
			if err != nil || resp.StatusCode != http.StatusOK || !strings.Contains(string(stream), want.end) {
				t.Fatalf("%s: %d, %v\n%s", e, resp.StatusCode, err, stream)
			}
			if got := strings.Contains(string(stream), want.chart); got != declares {
				t.Errorf("%s: a chart: %t, declared: %t\n%s", e, got, declares, stream)
			}
			if !strings.Contains(string(stream), "East") {
				t.Errorf("%s: the figures are missing\n%s", e, stream)
			}
		}
	}
}

// TestAnswersOfNeighbours goes through what docs/wires.md gives to be tried: who
// is asked answers with the body of the page, in which the ids are put that came
// with the question.
func TestAnswersOfNeighbours(t *testing.T) {
	yes := true
	url := serve(t, inlay.Config{Demo: &yes})
	post := func(route, body string) (stream, msg string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, url+route, strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		resp, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		b, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK {
			t.Fatalf("%s: %d, %v\n%s\n%s", route, resp.StatusCode, err, body, b)
		}
		return string(b), resp.Header.Get("X-Message-Id")
	}
	body := func(info string) string { return onPage(t, "docs/wires.md", info).text }
	other := func(info, id, words string) string {
		return strings.NewReplacer("thread-1", id, "chat-1", id, "Show 2026Q3 sales by region", words, `"capabilities"`, `"other"`).Replace(body(info))
	}
	for _, tc := range []struct {
		route, ask, answer, want string
	}{
		{"/v1/ag-ui", other("json ag-ui", "thread-approval", "Approve an expense"), body("json ag-ui-approval"), "approved over"},
		{"/v1/ag-ui", other("json ag-ui", "thread-question", "Ask me which quarter to sum up"), body("json ag-ui-question"), "2026Q1"},
		{"/v1/ag-ui", other("json ag-ui", "thread-label", "Ask me which quarter to sum up"), strings.NewReplacer("thread-question", "thread-label", `{"choices": ["2"]}`, `"2026Q1"`).Replace(body("json ag-ui-question")), "2026Q1"},
		{"/v1/ag-ui", body("json ag-ui-tool"), body("json ag-ui-result"), "selected East"},
		{"/v1/ai-sdk/chat?aisdk=6", other("json ai-sdk", "chat-approval", "Approve an expense"), body("json ai-sdk-approval"), "approved over"},
		{"/v1/ai-sdk/chat?aisdk=6", body("json ai-sdk-tool"), body("json ai-sdk-output"), "selected East"},
	} {
		asked, msg := post(tc.route, tc.ask)
		answer := strings.ReplaceAll(tc.answer, "m_…", msg)
		for mark, id := range map[string]string{"b_…": `"(?:interrupts":\[\{"id|approvalId)":"(b_[^"]+)"`, "call_…": `"toolCallId":"(?:m_[^".]+\.)?(call_[^"]+)","(?:tool|toolCall)Name":"(?:approve_expense|read_selection)"`} {
			if !strings.Contains(answer, mark) {
				continue
			}
			m := regexp.MustCompile(id).FindStringSubmatch(asked)
			if m == nil {
				t.Fatalf("no %s in the answer to\n%s\n%s", mark, tc.ask, asked)
			}
			answer = strings.ReplaceAll(answer, mark, m[1])
		}
		stream, again := post(tc.route, answer)
		if again != msg || !strings.Contains(said(stream), tc.want) {
			t.Errorf("%s\n%s\nis not answered with %q\n%s", tc.route, answer, tc.want, stream)
		}
	}
	post("/v1/ag-ui", body("json ag-ui"))
	if stream, _ := post("/v1/ag-ui/connect", body("json ag-ui-connect")); !strings.Contains(stream, `"MESSAGES_SNAPSHOT"`) || !strings.Contains(stream, "Show 2026Q3 sales by region") {
		t.Errorf("connected: %s", stream)
	}
	if stopped, _ := post("/v1/ag-ui/stop", body("json ag-ui-stop")); !strings.Contains(stopped, `"status":"done"`) {
		t.Errorf("stopped: %s", stopped)
	}
}

// said are the texts of a stream, one after another.
func said(stream string) string {
	var text strings.Builder
	for line := range strings.Lines(stream) {
		var event struct{ Delta string }
		if data, ok := strings.CutPrefix(line, "data: "); ok && json.Unmarshal([]byte(data), &event) == nil {
			text.WriteString(event.Delta)
		}
	}
	return text.String()
}

// TestRoutesOfNeighbours demands that docs/wires.md names their routes.
func TestRoutesOfNeighbours(t *testing.T) {
	text := read(t, "docs/wires.md")
	found := regexp.MustCompile(`"(GET|POST)", "(/v1/(?:ag-ui|copilotkit|ai-sdk)[^"]*)"`).FindAllStringSubmatch(read(t, "server/agui.go")+read(t, "server/server.go"), -1)
	if len(found) < 12 {
		t.Fatalf("only %d routes", len(found))
	}
	for _, m := range found {
		if !strings.Contains(text, "`"+m[1]+" "+m[2]+"`") {
			t.Errorf("docs/wires.md does not name %s %s", m[1], m[2])
		}
	}
}

// TestWordsOfNeighboursAreDocumented looks for what the encoders write and what of
// a request is read.
func TestWordsOfNeighboursAreDocumented(t *testing.T) {
	written := regexp.MustCompile(`e\.(?:base|of)\((\w+),|Base\{Type: (\w+)\}|e\.delta\(dst, (\w+),|\bof\((\w+)\)`)
	var words []string
	for _, file := range []string{"wire/agui/agui.go", "wire/agui/brief.go"} {
		for _, m := range written.FindAllStringSubmatch(read(t, file), -1) {
			words = append(words, m[1]+m[2]+m[3]+m[4])
		}
	}
	names := make(map[string]string)
	for _, m := range regexp.MustCompile(`(?m)^\t(\w+)\s+(?:EventType )?= "([A-Z_]+)"`).FindAllStringSubmatch(read(t, "wire/agui/types.go"), -1) {
		names[m[1]] = m[2]
	}
	var types []string
	for _, w := range words {
		if name := names[w]; name != "" {
			types = append(types, name)
		}
	}
	slices.Sort(types)
	if types = slices.Compact(types); len(types) < 20 {
		t.Fatalf("only %d events of AG-UI: %v", len(types), types)
	}
	mentions(t, "docs/wires.md", types)

	var chunks []string
	for _, file := range []string{"wire/aisdk/aisdk.go", "wire/aisdk/tools.go"} {
		text := read(t, file)
		for _, m := range regexp.MustCompile(`"type":"([a-z-]+)"|"((?:text|reasoning|tool|source|start|finish)-[a-z-]+)"`).FindAllStringSubmatch(text, -1) {
			chunks = append(chunks, m[1]+m[2])
		}
	}
	slices.Sort(chunks)
	chunks = slices.DeleteFunc(slices.Compact(chunks), func(c string) bool { return c == "tool-calls" })
	if len(chunks) < 20 {
		t.Fatalf("only %d chunks of the AI SDK: %v", len(chunks), chunks)
	}
	mentions(t, "docs/wires.md", chunks)

	var members []string
	for _, typ := range []reflect.Type{reflect.TypeFor[agui.ForwardedAction](), reflect.TypeFor[aisdk.Action]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			members = append(members, name)
		}
	}
	page := read(t, "docs/wires.md")
	for _, name := range members {
		if !strings.Contains(page, name) {
			t.Errorf("docs/wires.md does not name the member %s of an action", name)
		}
	}
}

// neighbours are the packages of others that front ends have.
var neighbours = regexp.MustCompile(`^(?:npm:)?(@ag-ui/client|@copilotkit/[a-z-]+|ai|@ai-sdk/react|@assistant-ui/[a-z-]+)@?`)

// TestTestedVersions compares the versions of the page with those that the tests
// install.
func TestTestedVersions(t *testing.T) {
	_, section, ok := strings.Cut(read(t, "docs/wires.md"), "## Tested versions")
	if !ok {
		t.Fatal("no section of tested versions")
	}
	section, _, _ = strings.Cut(section, "\n## ")
	n := 0
	walk(t, func(path string) {
		dir, _ := filepath.Rel(root, filepath.Dir(path))
		if filepath.Base(path) != "package.json" || !strings.HasPrefix(filepath.ToSlash(dir), "conformance/") {
			return
		}
		b, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var p struct{ Dependencies map[string]string }
		if err := json.Unmarshal(b, &p); err != nil {
			t.Fatal(err)
		}
		for name, version := range p.Dependencies {
			// An alias has the package's own name before its version.
			if alias, ok := strings.CutPrefix(version, "npm:"); ok {
				at := strings.LastIndex(alias, "@")
				name, version = alias[:at], alias[at+1:]
			}
			m := neighbours.FindStringSubmatch(name)
			if m == nil || m[1] != name {
				continue
			}
			n++
			row := regexp.MustCompile("(?m)^\\| `" + regexp.QuoteMeta(name) + "` \\|.*$").FindString(section)
			if !strings.Contains(row, version) {
				t.Errorf("%s: docs/wires.md does not name %s %s", dir, name, version)
			}
		}
	})
	if n < 5 {
		t.Fatalf("only %d packages", n)
	}
}
