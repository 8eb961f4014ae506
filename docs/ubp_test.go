package docs

import (
	"bufio"
	"bytes"
	"encoding/json"
	"io"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
)

// curl is what a command of the page asks for.
func curl(t *testing.T, e example, base string) *http.Request {
	t.Helper()
	var words []string
	for _, m := range regexp.MustCompile(`'([^']*)'|([^\s\\]+)`).FindAllStringSubmatch(e.text, -1) {
		words = append(words, m[1]+m[2])
	}
	method, url, body, header := http.MethodGet, "", "", http.Header{}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-H":
			i++
			name, value, _ := strings.Cut(words[i], ": ")
			header.Set(name, value)
		case word == "-d":
			i++
			method, body = http.MethodPost, words[i]
		case strings.HasPrefix(word, "http"):
			url = strings.Replace(word, "http://127.0.0.1:8080", base, 1)
		case word != "-s" && word != "-sN":
			t.Fatalf("%s: %q is not understood", e, word)
		}
	}
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatalf("%s: %v", e, err)
	}
	req.Header = header
	return req
}

// ubpEvent is an event of the UI Block Protocol.
type ubpEvent struct {
	Type string
	Data map[string]json.RawMessage
}

func ubpEvents(t *testing.T, stream []byte) []ubpEvent {
	t.Helper()
	var list []ubpEvent
	lines := bufio.NewScanner(bytes.NewReader(stream))
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue
		}
		var e ubpEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		list = append(list, e)
	}
	return list
}

// TestBlockProtocolExample asks the demo model as docs/ubp.md does, compares
// the answer with the one that stands there, and goes on after a loss.
func TestBlockProtocolExample(t *testing.T) {
	cfg, err := inlay.Load("", nil)
	if err != nil {
		t.Fatal(err)
	}
	url := serve(t, cfg)

	asks, shown := examples(t, "sh ubp"), examples(t, "text ubp")
	if len(asks) != 3 || len(shown) != 1 {
		t.Fatalf("%d requests, %d streams", len(asks), len(shown))
	}
	do := func(i int, old ...string) (*http.Response, []byte) {
		t.Helper()
		e := asks[i]
		e.text = strings.NewReplacer(old...).Replace(e.text)
		resp, err := http.DefaultClient.Do(curl(t, e, url))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp, body
	}

	resp, stream := do(0)
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s\n%s", asks[0], resp.Status, stream)
	}
	want, got := ubpEvents(t, []byte(shown[0].text)), ubpEvents(t, stream)
	if len(got) < len(want) || got[0].Type != "start" || got[len(got)-1].Type != "done" {
		t.Fatalf("the stream is\n%s", stream)
	}
	rest := got
	for _, w := range want {
		at := slices.IndexFunc(rest, func(e ubpEvent) bool { return e.Type == w.Type })
		if at < 0 {
			t.Fatalf("there is no %s in its place:\n%s", w.Type, stream)
		}
		for _, name := range slices.Sorted(maps.Keys(w.Data)) {
			if _, ok := rest[at].Data[name]; !ok {
				t.Errorf("%s has no %s: %s", w.Type, name, rest[at].Data)
			}
		}
		switch w.Type {
		case "start":
			if string(rest[at].Data["supported_blocks"]) != string(w.Data["supported_blocks"]) {
				t.Errorf("supported_blocks %s, on the page %s", rest[at].Data["supported_blocks"], w.Data["supported_blocks"])
			}
		case "ui_block":
			for _, name := range []string{"namespace", "block_type", "version", "data", "position"} {
				if string(rest[at].Data[name]) != string(w.Data[name]) {
					t.Errorf("%s is %s, on the page %s", name, rest[at].Data[name], w.Data[name])
				}
			}
		}
		rest = rest[at+1:]
	}

	// After a loss.
	again, tail := do(1, "MESSAGE", resp.Header.Get("X-Message-Id"))
	_, seen, ok := strings.Cut(string(stream), "id: 7\n")
	if !ok || again.StatusCode != http.StatusOK {
		t.Fatalf("%s\n%s", again.Status, stream)
	}
	if after := ubpEvents(t, tail); !slices.EqualFunc(after, ubpEvents(t, []byte(seen[strings.Index(seen, "\n\n"):])), func(a, b ubpEvent) bool {
		return a.Type == b.Type && maps.EqualFunc(a.Data, b.Data, func(x, y json.RawMessage) bool { return string(x) == string(y) })
	}) {
		t.Errorf("after event 7:\n%s\nwas\n%s", tail, seen)
	}

	if said, _ := do(2); said.StatusCode != http.StatusNoContent {
		t.Errorf("%s: %s", asks[2], said.Status)
	}
}
