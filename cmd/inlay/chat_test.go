package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay"
)

// runChat runs the command with the server in this program.
func runChat(t *testing.T, c chatCmd, piped string) (out, side string, err error) {
	t.Helper()
	var o, e bytes.Buffer
	c.out, c.err = &o, &e
	r, w, pipeErr := os.Pipe()
	if pipeErr != nil {
		t.Fatal(pipeErr)
	}
	if _, writeErr := io.WriteString(w, piped); writeErr != nil {
		t.Fatal(writeErr)
	}
	w.Close()
	stdin := os.Stdin
	os.Stdin = r
	defer func() {
		os.Stdin = stdin
		r.Close()
	}()
	done := make(chan error, 1)
	go func() { done <- c.run(t.Context(), &cli{}, nil) }()
	select {
	case err = <-done:
	case <-time.After(time.Minute):
		t.Fatal("it does not end")
	}
	return o.String(), e.String(), err
}

// TestChatAnswersOneQuestion: as an argument and through a pipe, with the
// embedded server and its demo model.
func TestChatAnswersOneQuestion(t *testing.T) {
	data := t.TempDir()
	out, side, err := runChat(t, chatCmd{Question: "Show the Q3 sales by region", Data: data, Lang: "en"}, "")
	if err != nil || !strings.Contains(out, "East   ████") {
		t.Errorf("%v\n%s\n%s", err, out, side)
	}
	out, side, err = runChat(t, chatCmd{Data: data, Lang: "zh", Width: 60}, "Q3 各区域销售怎么样\n")
	if err != nil || !strings.Contains(out, "华东") || strings.Contains(out, "查询各区域的销售数据 ·") {
		t.Errorf("%v\n%s\n%s", err, out, side)
	}
	if strings.ContainsRune(out+side, 0x1b) {
		t.Error("colours in a pipe")
	}
	if _, _, err := runChat(t, chatCmd{Question: "Approve an expense", Data: data, Lang: "en"}, ""); err == nil {
		t.Error("an answer that waits for a person is no failure")
	}
}

// TestChatShowsCards: a terminal draws the cards that come with the product, and
// so its model is told of them and the cards are filled.
func TestChatShowsCards(t *testing.T) {
	data := t.TempDir()
	out, side, err := runChat(t, chatCmd{Question: "Recommend a running watch", Data: data, Lang: "en", Width: 100}, "")
	if err != nil || !strings.Contains(out, "│ Sample watch Run") || !strings.Contains(out, "699 CNY") || strings.Contains(out, "ProductCard") {
		t.Errorf("%v\n%s\n%s", err, out, side)
	}
	out, side, err = runChat(t, chatCmd{Question: "明天去上海的高铁", Data: data, Lang: "zh", Width: 100}, "")
	if err != nil || !strings.Contains(out, "│ S101 ") || !strings.Contains(out, "│ 二等座") {
		t.Errorf("%v\n%s\n%s", err, out, side)
	}
}

// TestChatFindsTheServer: without flags it talks to the server that runs on this
// machine, also to one that wants a token, and to nothing else that answers there.
func TestChatFindsTheServer(t *testing.T) {
	for mode, auth := range map[string]inlay.AuthConfig{"dev": {}, "jwt": {Mode: "jwt", Secret: "sample-secret-of-thirty-two-bytes"}} {
		app, err := inlay.New(inlay.Config{Data: t.TempDir(), Auth: auth, Log: inlay.LogConfig{Level: "error"}})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := app.Close(); err != nil {
				t.Error(err)
			}
		})
		h, err := app.Handler(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		there := httptest.NewServer(h)
		t.Cleanup(there.Close)
		c := chatCmd{usual: there.URL}
		address, _, err := c.server(t.Context(), &cli{})
		if err != nil || address != there.URL {
			t.Errorf("%s: %q, %v", mode, address, err)
		}
		if mode != "dev" {
			continue
		}
		out, side, err := runChat(t, chatCmd{Question: "Show the Q3 sales by region", usual: there.URL, Lang: "en"}, "")
		if err != nil || !strings.Contains(out, "East   ████") {
			t.Errorf("%v\n%s\n%s", err, out, side)
		}
	}
	for name, body := range map[string]string{"another product": `{"status":"ok"}`, "a page": "<html>inlay", "long": `{"a":"` + strings.Repeat("x", 8<<10) + `","product":"inlay"}`} {
		other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) }))
		t.Cleanup(other.Close)
		if answers(t.Context(), other.URL) {
			t.Errorf("%s is taken for a server", name)
		}
	}
}

func TestChatNamesTheCure(t *testing.T) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	nobody := "http://" + ln.Addr().String()
	ln.Close()
	for _, c := range []struct {
		name  string
		cmd   chatCmd
		piped string
		want  string
	}{
		{"nobody listens", chatCmd{Question: "x", URL: nobody, Lang: "en"}, "", "inlay serve"},
		{"no address", chatCmd{Question: "x", URL: "localhost"}, "", "such as http://"},
		{"two servers", chatCmd{Question: "x", URL: nobody, Data: "d"}, "", "leave --config and --data out"},
		{"no token", chatCmd{Question: "x", URL: nobody, TokenEnv: "INLAY_TEST_NO_SUCH_TOKEN"}, "", "is not set"},
		{"no question", chatCmd{URL: nobody}, " \n", "no question"},
	} {
		if _, _, err := runChat(t, c.cmd, c.piped); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", c.name, err)
		}
	}
}

func TestLanguageOfTheEnvironment(t *testing.T) {
	for _, c := range []struct{ all, lang, want string }{
		{"", "", "en"}, {"", "zh_CN.UTF-8", "zh"}, {"C.UTF-8", "zh_CN.UTF-8", "en"}, {"zh_TW", "en_US", "zh"}, {"", "de_DE", "en"},
	} {
		env := map[string]string{"LC_ALL": c.all, "LANG": c.lang}
		if got := language(func(name string) string { return env[name] }); got != c.want {
			t.Errorf("%v: %s", c, got)
		}
	}
}
