package main

import (
	"bytes"
	"io"
	"net"
	"os"
	"strings"
	"testing"
	"time"
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
