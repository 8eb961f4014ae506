package resolver_test

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
	"github.com/inlay-ui/inlay/turn/resolver"
)

// shop is a database with three products.
func shop(t *testing.T, readOnly bool) *sqltool.Source {
	t.Helper()
	file := filepath.Join(t.TempDir(), "shop.db")
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), `CREATE TABLE products (id, title, price REAL, owner);
		INSERT INTO products VALUES ('a', 'A', 1.5, 'alice'), ('b', 'B', 2, 'alice'), ('c', 'C', 3, 'bob')`); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	src, err := sqltool.Open(sqltool.Config{DSN: "sqlite:" + file, ReadOnly: &readOnly})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = src.Close() })
	return src
}

func asAlice(t *testing.T) context.Context {
	return tool.WithCaller(t.Context(), tool.Caller{User: "alice", Token: "secret"})
}

// ask asks for ids and writes what is found in one line.
func ask(t *testing.T, r markup.Resolver, ids ...string) (string, error) {
	t.Helper()
	found, err := r(asAlice(t), ids)
	var out []string
	for id, raw := range found {
		out = append(out, id+"="+string(raw))
	}
	slices.Sort(out)
	return strings.Join(out, " "), err
}

func TestSQL(t *testing.T) {
	src := shop(t, true)
	for name, c := range map[string]struct {
		query, payload string
		ids            []string
		want           string
	}{
		"one row":     {"SELECT title, price FROM products WHERE id = :id", "", []string{"a", "x"}, `a={"price":1.5,"title":"A"} x=null`},
		"program":     {"SELECT price FROM products WHERE id = :id", `if .rows == [] then null else {p: .rows[0].price, id: .args.id} end`, []string{"b", "x"}, `b={"id":"b","p":2} x=null`},
		"at once":     {"SELECT id, title FROM products WHERE id IN (SELECT value FROM json_each(:ids))", "", []string{"a", "b", "x"}, `a={"id":"a","title":"A"} b={"id":"b","title":"B"}`},
		"by program":  {"SELECT id, price FROM products WHERE id IN (SELECT value FROM json_each(:ids))", `.rows | map({(.id): {price}}) | add`, []string{"a", "c"}, `a={"price":1.5} c={"price":3}`},
		"the caller":  {"SELECT id, title FROM products WHERE id IN (SELECT value FROM json_each(:ids)) AND owner = :user.id", "", []string{"a", "c"}, `a={"id":"a","title":"A"}`},
		"an injected": {"SELECT title FROM products WHERE id = :id", "", []string{"a' OR 1=1 --"}, `a' OR 1=1 --=null`},
	} {
		r, err := resolver.SQL(src, c.query, resolver.Options{Payload: c.payload})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if got, err := ask(t, r, c.ids...); err != nil || got != c.want {
			t.Errorf("%s: %s, %v\nwant %s", name, got, err, c.want)
		}
	}
	for query, want := range map[string]string{
		"SELECT 1": "uses neither id nor ids",
		"SELECT title FROM products WHERE id = :id AND :ids <> ''": "not for both",
		"SELECT :user.token, :id":                                  ":user.token",
		"SELECT :name, :id":                                        ":name: there is :id or :ids",
		"SELECT":                                                   "query",
	} {
		if _, err := resolver.SQL(src, query, resolver.Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", query, err, want)
		}
	}
	if _, err := resolver.SQL(src, "SELECT :id", resolver.Options{Payload: ".["}); err == nil {
		t.Error("a program that is none is taken")
	}
	if _, err := resolver.SQL(shop(t, false), "DELETE FROM products WHERE id = :id", resolver.Options{}); err == nil || !strings.Contains(err.Error(), "not by DELETE") {
		t.Errorf("a statement that writes: %v", err)
	}
	r, err := resolver.SQL(src, "SELECT nothing FROM nowhere WHERE :id = 1", resolver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, r, "a"); err == nil {
		t.Error("a query that fails has no error")
	}
}

// Many ids are asked for some at a time.
func TestManyIDs(t *testing.T) {
	var calls atomic.Int32
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls.Add(1)
		ids := r.URL.Query()["id"]
		if len(ids) > resolver.MaxIDs {
			t.Errorf("%d ids at once", len(ids))
		}
		body := make(map[string]any)
		for _, id := range ids {
			body[id] = map[string]any{"n": id}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(body)
	}))
	defer srv.Close()
	src, err := httptool.Open(httptool.Config{BaseURL: srv.URL})
	if err != nil {
		t.Fatal(err)
	}
	r, err := resolver.HTTP(src, httptool.Request{Path: "/p", Query: map[string]string{"id": "{{.args.ids}}"}}, resolver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	ids := make([]string, resolver.MaxIDs+5)
	for i := range ids {
		ids[i] = fmt.Sprint("p", i)
	}
	found, err := r(asAlice(t), ids)
	if err != nil || len(found) != len(ids) || calls.Load() != 2 {
		t.Errorf("%d found in %d calls, %v", len(found), calls.Load(), err)
	}
}

func TestHTTP(t *testing.T) {
	var token atomic.Value
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		token.Store(r.Header.Get("Authorization"))
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		switch r.URL.Path {
		case "/p/a":
			_, _ = io.WriteString(w, `{"title":"A"}`)
		case "/p/bad":
			w.WriteHeader(http.StatusInternalServerError)
		case "/p/null":
			_, _ = io.WriteString(w, `null`)
		case "/list":
			_, _ = fmt.Fprintf(w, `[{"id":7,"got":%s}]`, body)
		case "/odd":
			_, _ = io.WriteString(w, `["a"]`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer srv.Close()
	src, err := httptool.Open(httptool.Config{BaseURL: srv.URL, Auth: httptool.AuthForward})
	if err != nil {
		t.Fatal(err)
	}
	r, err := resolver.HTTP(src, httptool.Request{Path: "/p/{{.args.id}}"}, resolver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	// What fails is not what there is not.
	got, err := ask(t, r, "a", "bad", "null", "x")
	var te *tool.Error
	if got != `a={"title":"A"} null=null x=null` || !errors.As(err, &te) || !te.Retryable {
		t.Errorf("%s, %v", got, err)
	}
	var own markup.IDErrors
	if !errors.As(err, &own) || len(own) != 1 || own["bad"] == nil || !strings.Contains(err.Error(), `"bad": `) {
		t.Errorf("not told apart: %v", err)
	}
	if token.Load() != "Bearer secret" {
		t.Errorf("asked as %v", token.Load())
	}
	if _, err := r(t.Context(), []string{"a"}); !errors.As(err, &te) || te.Code != "NOT_AUTHORIZED" {
		t.Errorf("asked by nobody: %v", err)
	}
	r, err = resolver.HTTP(src, httptool.Request{Method: "POST", Path: "/list", Body: "{want: .args.ids}"}, resolver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := ask(t, r, "7", "8"); err != nil || got != `7={"got":{"want":["7","8"]},"id":7}` {
		t.Errorf("%s, %v", got, err)
	}
	r, err = resolver.HTTP(src, httptool.Request{Path: "/odd", Query: map[string]string{"id": "{{.args.ids}}"}}, resolver.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, r, "7"); err == nil {
		t.Error("an answer without ids is read")
	}
	r, err = resolver.HTTP(src, httptool.Request{Path: "/p/{{.args.id}}"}, resolver.Options{Payload: `error("Closed today.")`})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := ask(t, r, "a"); !errors.As(err, &te) || te.Message != "Closed today." {
		t.Errorf("words of the program: %v", err)
	}
	for _, req := range []httptool.Request{{Path: "/p"}, {Path: "p"}, {Path: "/{{.args.id}}", Query: map[string]string{"x": "{{.args.ids}}"}}, {Method: "PUT", Path: "/{{.args.id}}"}} {
		if _, err := resolver.HTTP(src, req, resolver.Options{}); err == nil {
			t.Errorf("%+v is taken", req)
		}
	}
}

func TestActions(t *testing.T) {
	f, err := resolver.Actions(mapping.Actions(`["watch", {id: "more", kind: "prompt", prompt: "More about \(.payload.id) for \(.user.id)"}]`))
	if err != nil {
		t.Fatal(err)
	}
	list, err := f(asAlice(t), json.RawMessage(`{"id":"a"}`))
	if err != nil || len(list) != 2 || list[0].ID != "watch" || list[1].Prompt != "More about a for alice" {
		t.Errorf("%+v %v", list, err)
	}
	if _, err := resolver.Actions("["); err == nil {
		t.Error("a program that is none is taken")
	}
}
