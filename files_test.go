package inlay_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/store/memory"
)

// open starts an App on a data directory and returns its address.
func openApp(t *testing.T, cfg inlay.Config) (url string, stop func()) {
	t.Helper()
	cfg.Log.Level = "error"
	app, err := inlay.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	h, err := app.Handler(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(h)
	return srv.URL, func() {
		srv.Close()
		if err := app.Close(); err != nil {
			t.Error(err)
		}
	}
}

func send(t *testing.T, method, url, kind, body string, into any) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", kind)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(res.Body)
	if err := res.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	if into != nil {
		if err := json.Unmarshal(b, into); err != nil {
			t.Fatalf("%s %s: %d %s", method, url, res.StatusCode, b)
		}
	}
	return res
}

// A file that was sent is there after a restart, with the keys that signed its
// address, and belongs to the message that names it.
func TestFilesSurviveARestart(t *testing.T) {
	data := t.TempDir()
	url, stop := openApp(t, inlay.Config{Data: data})
	var a struct{ ID string }
	send(t, "POST", url+"/v1/assets?name=Q3.csv", "text/csv", "region,amount\nEast,320\n", &a)
	res := send(t, "POST", url+"/v1/chat", "application/json", fmt.Sprintf(`{"input":{"text":"What is in it?","attachments":[%q]}}`, a.ID), nil)
	if res.StatusCode != 200 {
		t.Fatalf("chat: %d", res.StatusCode)
	}
	var link struct{ URL string }
	send(t, "GET", url+"/v1/assets/"+a.ID+"/url", "", "", &link)
	user := res.Header.Get("X-User-Message-Id")
	stop()

	url, stop = openApp(t, inlay.Config{Data: data})
	defer stop()
	got, err := http.Get(url + link.URL)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(got.Body)
	if err := got.Body.Close(); err != nil {
		t.Fatal(err)
	}
	if err != nil || string(b) != "region,amount\nEast,320\n" {
		t.Errorf("%d %q, %v", got.StatusCode, b, err)
	}
	var m struct{ Blocks []struct{ Type string } }
	send(t, "GET", url+"/v1/messages/"+user, "", "", &m)
	if len(m.Blocks) != 2 || m.Blocks[1].Type != "file" {
		t.Errorf("%+v", m)
	}
	if _, err := os.Stat(filepath.Join(data, "assets")); err != nil {
		t.Error(err)
	}
}

// A program that brings its own store leaves no files behind.
func TestFilesOfAProgram(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	t.Chdir(t.TempDir())
	url, stop := openApp(t, inlay.Config{Backend: memory.New()})
	var a struct{ ID string }
	send(t, "POST", url+"/v1/assets?name=a.txt", "text/plain", "hello", &a)
	if a.ID == "" {
		t.Error("the file was not taken")
	}
	stop()
	left, err := os.ReadDir(os.TempDir())
	if err != nil || len(left) != 0 {
		t.Errorf("left %v, %v", left, err)
	}
	if _, err := os.Stat(filepath.Join(inlay.DefaultData, "assets")); err == nil {
		t.Error("files were put into a directory nobody named")
	}
}

func TestAssetsConfig(t *testing.T) {
	for text, problem := range map[string]string{
		"assets: {url: 'ftp://x'}":                              "assets.url",
		"assets: {url: 's3://'}":                                "assets.url",
		"assets: {url: 's3://b?acl=public'}":                    "assets.url",
		"assets: {accept: [image]}":                             "assets.accept",
		"assets: {scan: {command: [/no/such/program]}}":         "assets.scan.command",
		"assets: {scan: {command: /no/such/program -}}":         "as a list",
		"assets: {max_byte: 5}":                                 "max_bytes",
		"assets: {scan: {comand: [x]}}":                         "command",
		"assets: {url: 's3://b/p?endpoint=https://s3.example'}": "",
		"assets: {url: 'file:files', max_bytes: 1000, accept: [image/*], view_expiry: 1m, scan: {command: [sh, -c, exit 0], timeout: 5s}}": "",
	} {
		file := filepath.Join(t.TempDir(), "inlay.yaml")
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		cfg, err := inlay.Load(file, nil)
		if err == nil {
			err = cfg.Check(t.Context())
		}
		if problem == "" && err != nil || problem != "" && (err == nil || !strings.Contains(err.Error(), problem)) {
			t.Errorf("%s: %v", text, err)
		}
	}
	// The limits reach the files.
	url, stop := openApp(t, inlay.Config{Data: t.TempDir(), Assets: inlay.AssetsConfig{MaxBytes: 10, MaxFiles: 3, Accept: []string{"text/*"}}})
	defer stop()
	var c struct {
		Uploads struct {
			MaxBytes, MaxFiles int
			Accept             []string
		}
	}
	send(t, "GET", url+"/v1/client-config", "", "", &c)
	if c.Uploads.MaxBytes != 10 || c.Uploads.MaxFiles != 3 || len(c.Uploads.Accept) != 1 {
		t.Errorf("%+v", c)
	}
	if res := send(t, "POST", url+"/v1/assets", "text/plain", strings.Repeat("x", 11), nil); res.StatusCode != 413 {
		t.Errorf("too large: %d", res.StatusCode)
	}
}
