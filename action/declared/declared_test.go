package declared

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

func origin(t *testing.T, h http.HandlerFunc, auth httptool.Auth) *httptool.Source {
	t.Helper()
	srv := httptest.NewServer(h)
	t.Cleanup(srv.Close)
	s, err := httptool.Open(httptool.Config{BaseURL: srv.URL, Auth: auth, Timeout: time.Second})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func call(payload string) action.Call {
	return action.Call{
		ID: "x_0190a1b2-c3d4-7e5f-8a9b-0c1d2e3f4a5b", Action: "a", TraceID: "aaaabbbbccccddddeeeeffff00001111", Payload: json.RawMessage(payload),
		Block: block.Block{ID: "b_1", Type: "table", Payload: json.RawMessage(`{"n":1}`)}, Params: map[string]json.RawMessage{"p": json.RawMessage(`2`)},
		Msg: "m_1", Conversation: "c_1",
	}
}

// run calls an action without a gateway; blocks it shows are refused.
func run(t *testing.T, d action.Def, payload string) (action.Result, error) {
	t.Helper()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	ctx := tool.WithCaller(t.Context(), tool.Caller{Tenant: "t1", User: "ann", Token: "secret", Lang: "en"})
	return d.Run(ctx, call(payload), tool.NewOut(ctx, reg, noBlocks{}, nil, tool.Opening{}))
}

type noBlocks struct{}

func (noBlocks) Open(tool.Opening) (tool.Handle, error) { return nil, errors.New("the log is gone") }

// certain says whether an error of a write means that nothing happened.
func certain(err error) bool {
	var own *tool.Error
	return errors.As(err, &own) && !strings.HasPrefix(err.Error(), "outcome unknown")
}

// What a failed request says about what happened.
func TestHTTPOutcomes(t *testing.T) {
	var status atomic.Int32
	src := origin(t, func(w http.ResponseWriter, r *http.Request) {
		switch n := int(status.Load()); n {
		case -1:
			panic(http.ErrAbortHandler)
		case -2:
			time.Sleep(1500 * time.Millisecond)
		case -3:
			fmt.Fprint(w, "done")
		default:
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(n)
			fmt.Fprint(w, `{"id":7}`)
		}
	}, httptool.AuthNone)
	write := action.Def{Name: "a", Confirm: action.Confirm{Level: action.LevelNone}}
	d, err := HTTP(write, src, httptool.Request{Method: "POST", Path: "/x", Body: ".payload"}, nil, Options{Value: ".body.id"})
	if err != nil || d.Effect != action.Write {
		t.Fatal(err, d.Effect)
	}
	for _, c := range []struct {
		status  int
		certain bool
		words   string
		code    string
	}{
		{400, true, "refused", ""}, {401, true, "not allowed", block.CodeNotAuthorized}, {403, true, "not allowed", block.CodeNotAuthorized},
		{404, true, "does not exist", ""}, {409, true, "refused", ""}, {410, true, "does not exist", ""}, {422, true, "refused", ""}, {429, true, "busy", ""},
		{408, false, "", ""}, {500, false, "", ""}, {502, false, "", ""}, {503, false, "", ""}, {504, false, "", ""}, {-1, false, "", ""}, {-2, false, "", ""},
	} {
		status.Store(int32(c.status))
		_, err := run(t, d, `{}`)
		var own *tool.Error
		if err == nil || certain(err) != c.certain || c.certain && (!errors.As(err, &own) || !strings.Contains(own.Message, c.words) || c.code != "" && own.Code != c.code) {
			t.Errorf("%d: %v", c.status, err)
		}
	}
	// It was carried out, whatever can be read of the answer.
	for _, n := range []int32{200, 201, -3} {
		status.Store(n)
		res, err := run(t, d, `{}`)
		if err != nil || n > 0 && string(res.Value.(json.RawMessage)) != "7" || n < 0 && res.Value != nil {
			t.Errorf("%d: %v %v", n, res, err)
		}
	}
	gone := httptest.NewServer(http.NotFoundHandler())
	closed, err := httptool.Open(httptool.Config{BaseURL: gone.URL})
	gone.Close()
	if err != nil {
		t.Fatal(err)
	}
	if d, err = HTTP(write, closed, httptool.Request{Method: "POST", Path: "/x"}, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	var own *tool.Error
	if _, err := run(t, d, `{}`); !certain(err) || !errors.As(err, &own) || !own.Retryable || !strings.Contains(own.Message, "reached") {
		t.Errorf("connection refused: %v", err)
	}
	// What cannot be sent with these values is not the service's fault; words of
	// the declaration stand.
	for payload, words := range map[string]string{`{"order":".."}`: "these values", `{"order":""}`: "these values", `{"order":"1"}`: "Choose a date."} {
		if d, err = HTTP(write, src, httptool.Request{Method: "POST", Path: "/x/{{.payload.order}}", Body: `error("Choose a date.")`}, nil, Options{}); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, d, payload); !certain(err) || !errors.As(err, &own) || own.Retryable || !strings.Contains(own.Message, words) {
			t.Errorf("%s: %v", payload, err)
		}
	}
}

// The token goes to the source and nowhere else; the call can be recognised.
func TestHTTPHeaders(t *testing.T) {
	var got http.Header
	var body map[string]any
	src := origin(t, func(w http.ResponseWriter, r *http.Request) {
		got = r.Header.Clone()
		_ = json.NewDecoder(r.Body).Decode(&body)
		if r.URL.Path == "/away" {
			http.Redirect(w, r, "https://evil.example/", http.StatusTemporaryRedirect)
		}
	}, httptool.AuthForward)
	def := action.Def{Name: "a", Confirm: action.Confirm{Level: action.LevelNone}}
	d, err := HTTP(def, src, httptool.Request{Method: "POST", Path: "/x", Body: "{payload, params, user: .user.id, block: .block.payload, call: .call}"}, nil, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, d, `{"n":1}`); err != nil {
		t.Fatal(err)
	}
	c := call("")
	if got.Get("Authorization") != "Bearer secret" || got.Get("Idempotency-Key") != c.ID || got.Get("X-Trace-Id") != c.TraceID || got.Get("Traceparent") != "00-"+c.TraceID+"-8a9b0c1d2e3f4a5b-01" {
		t.Errorf("headers %v", got)
	}
	raw, err := json.Marshal(body)
	if err != nil || string(raw) != `{"block":{"n":1},"call":{"conversation":"c_1","id":"`+c.ID+`","message":"m_1","trace_id":"`+c.TraceID+`"},"params":{"p":2},"payload":{"n":1},"user":"ann"}` {
		t.Errorf("body %s", raw)
	}
	if d, err = HTTP(def, src, httptool.Request{Method: "POST", Path: "/away"}, nil, Options{}); err != nil {
		t.Fatal(err)
	}
	if _, err := run(t, d, `{}`); err == nil || certain(err) {
		t.Errorf("a redirect: %v", err)
	}
	// Without a token nothing is sent.
	got = nil
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Run(context.Background(), c, tool.NewOut(context.Background(), reg, noBlocks{}, nil, tool.Opening{})); !certain(err) || got != nil {
		t.Errorf("without a token: %v", err)
	}
}

func TestHTTPLookup(t *testing.T) {
	status, answer := 200, `{"state":"queued"}`
	src := origin(t, func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, call("").ID) {
			status = 400
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}, httptool.AuthNone)
	def := action.Def{Name: "a", Confirm: action.Confirm{Level: action.LevelNone}}
	look := &Lookup{Request: httptool.Request{Path: "/by-key/{{.call.id}}"}, Happened: `if .body.state == "?" then 7 else .body.state == "queued" end`}
	d, err := HTTP(def, src, httptool.Request{Method: "POST", Path: "/x"}, look, Options{Value: ".body.state"})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		status   int
		answer   string
		happened bool
		err      bool
	}{
		{200, `{"state":"queued"}`, true, false}, {200, `{"state":"cancelled"}`, false, false}, {404, `{}`, false, false}, {410, `{}`, false, false},
		{500, `{}`, false, true}, {401, `{}`, false, true}, {200, `{"state":"?"}`, false, true},
	} {
		status, answer = c.status, c.answer
		happened, res, err := d.Lookup(t.Context(), call(`{}`))
		if happened != c.happened || (err != nil) != c.err || happened && string(res.Value.(json.RawMessage)) != `"queued"` {
			t.Errorf("%d %s: %v %v %v", c.status, c.answer, happened, res, err)
		}
	}
}

// What goes wrong after a write happened is not the write's failure; a read
// that cannot be shown failed.
func TestShownTooLate(t *testing.T) {
	src := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{}`)
	}, httptool.AuthNone)
	o := Options{Show: ShowAppend, Block: &mapping.Block{Type: "table", Payload: `{columns: [{field: "a", label: "A"}], rows: []}`}, Value: "error(\"no\")"}
	for effect, fails := range map[action.Effect]bool{action.Write: false, action.Read: true} {
		for _, value := range []string{"", o.Value} {
			o.Value = value
			d, err := HTTP(action.Def{Name: "a", Effect: effect, Confirm: action.Confirm{Level: action.LevelNone}}, src, httptool.Request{Method: "POST", Path: "/x"}, nil, o)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := run(t, d, `{}`); (err != nil) != fails {
				t.Errorf("%s, value %q: %v", effect, value, err)
			}
		}
	}
}

func TestSQL(t *testing.T) {
	no := false
	db, err := sqltool.Open(sqltool.Config{DSN: "sqlite:" + filepath.Join(t.TempDir(), "x.db"), ReadOnly: &no})
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	def := action.Def{Name: "a", Confirm: action.Confirm{Level: action.LevelNone}, Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	make := func(query string, idempotent bool) action.Def {
		t.Helper()
		d := def
		d.Idempotent = idempotent
		d, err := SQL(d, db, query, Options{Value: "{affected, rows}"})
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	st, err := db.Prepare("CREATE TABLE x (n INTEGER, who TEXT, call TEXT UNIQUE, CHECK (n < 10))")
	if err == nil {
		_, err = db.Run(t.Context(), st, nil)
	}
	if err != nil {
		t.Fatal(err)
	}
	insert := make("INSERT INTO x VALUES (:n, :user.id, :call.id) ON CONFLICT DO NOTHING", true)
	for i, want := range []string{`{"affected":1,"rows":[]}`, `{"affected":0,"rows":[]}`} { // the same call twice
		if res, err := run(t, insert, `{"n":1}`); err != nil || string(res.Value.(json.RawMessage)) != want {
			t.Errorf("%d: %v %s", i, err, res.Value)
		}
	}
	if res, err := run(t, make("UPDATE x SET n = :n WHERE who = :user.id RETURNING n", false), `{"n":2}`); err != nil || string(res.Value.(json.RawMessage)) != `{"affected":0,"rows":[{"n":2}]}` {
		t.Errorf("%v %s", err, res.Value)
	}
	if _, err := run(t, make("UPDATE x SET n = :n WHERE who = 'bob'", false), `{"n":3}`); !certain(err) || !strings.Contains(err.Error(), "Nothing was changed") {
		t.Errorf("somebody else's: %v", err)
	}
	if _, err := run(t, make("UPDATE x SET n = :n", false), `{"n":10}`); !certain(err) || strings.Contains(err.(*tool.Error).Message, "CHECK") {
		t.Errorf("refused by the database: %v", err)
	}
	for _, bad := range []string{"UPDATE x SET n = :m", "UPDATE x SET n = :user.secret", "UPDATE x SET n = :call.token", "UPDATE x SET n = ?", "SELECT 1; SELECT 2"} {
		if _, err := SQL(def, db, bad, Options{}); err == nil {
			t.Errorf("%s: taken", bad)
		}
	}
}

func TestInstant(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	for v, want := range map[any]string{
		"now": "2026-09-01T12:00:00.000Z", "now-1h": "2026-09-01T11:00:00.000Z", "now+30m": "2026-09-01T12:30:00.000Z", "now-2d": "2026-08-30T12:00:00.000Z",
		"now-1w": "2026-08-25T12:00:00.000Z", "now-90s": "2026-09-01T11:58:30.000Z", "2026-08-01": "2026-08-01T00:00:00.000Z",
		"2026-08-01T10:00:00+02:00": "2026-08-01T08:00:00.000Z", "2026-08-01T10:00": "2026-08-01T10:00:00.000Z", 1.7e12: "2023-11-14T22:13:20.000Z",
	} {
		if got, err := instant(v, now); err != nil || iso(got) != want {
			t.Errorf("%v: %s %v, want %s", v, iso(got), err, want)
		}
	}
	for _, v := range []any{"", "yesterday", "now-", "now-1y", "now-1", "now - 1h", "now-9999999h", "now-999999w", "now+99999w", "2026-13-01", -1.0, 1e300, nil, true, []any{}} {
		if got, err := instant(v, now); err == nil {
			t.Errorf("%v was read as %s", v, iso(got))
		}
	}
}

func TestOpenHost(t *testing.T) {
	if h, err := OpenHost("https://logs.example.com/search?q={{.args.statement}}"); err != nil || h != "logs.example.com" {
		t.Errorf("%s %v", h, err)
	}
	for _, bad := range []string{
		"", "http://logs.example.com/", "https://{{.args.statement}}/x", "https://logs.example.com{{.args.statement}}", "https://logs.{{.user.id}}.example/",
		"https://a@logs.example.com/", "javascript:alert(1)", "//logs.example.com/", "https:///x",
	} {
		if h, err := OpenHost(bad); err == nil {
			t.Errorf("%q leads to %s", bad, h)
		}
	}
}

// The button of a statement says how long its time may be; what it says judges
// nothing by itself.
func TestRunSchema(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "", time.Millisecond: "", 90 * time.Second: "90s", 30 * time.Minute: "30m", 90 * time.Minute: "90m", time.Hour: "1h",
		24 * time.Hour: "24h", 48 * time.Hour: "2d", 168 * time.Hour: "7d",
	} {
		got := spanText(d)
		if got != want {
			t.Errorf("%s: %q, want %q", d, got, want)
		}
		if at, err := instant("now-"+got, time.Unix(1e9, 0)); want != "" && (err != nil || time.Unix(1e9, 0).Sub(at) != d) {
			t.Errorf("%s is read as %s, %v", got, at, err)
		}
	}
	raw := runSchema("7d", "1h")
	var schema struct {
		Properties struct {
			TimeRange map[string]any `json:"timeRange"`
		} `json:"properties"`
	}
	if err := json.Unmarshal(raw, &schema); err != nil || schema.Properties.TimeRange["x-max-range"] != "7d" || schema.Properties.TimeRange["x-default-range"] != "1h" {
		t.Errorf("%s: %v", raw, err)
	}
	if raw := string(runSchema("", "")); strings.Contains(raw, "x-") {
		t.Errorf("without limits: %s", raw)
	}
	s, err := block.CompileSchema("run", raw)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Validate(json.RawMessage(`{"timeRange":{"from":"now-30d","to":"now"}}`)); err != nil {
		t.Errorf("a note judges: %v", err)
	}
	if err := s.Validate(json.RawMessage(`{"statement":"x"}`)); err == nil {
		t.Error("a statement is taken")
	}
}

// The buttons of the gallery's statements are those that the server writes.
func TestGalleryRuns(t *testing.T) {
	raw, err := os.ReadFile("../../testdata/gallery/query.json")
	if err != nil {
		t.Fatal(err)
	}
	var file struct {
		Cases []struct {
			Block block.Block `json:"block"`
		} `json:"cases"`
	}
	if err := json.Unmarshal(raw, &file); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, c := range file.Cases {
		for _, a := range c.Block.Actions {
			if a.Action != RunQuery {
				continue
			}
			var one bytes.Buffer
			if err := json.Compact(&one, a.InputSchema); err != nil {
				t.Fatal(err)
			}
			got = append(got, one.String())
		}
	}
	if want := []string{string(runSchema("24h", "1h")), string(runSchema("", "1h"))}; !slices.Equal(got, want) {
		t.Errorf("got %q", got)
	}
}

// Refusals of statements are in the person's language.
func TestQueryRefusals(t *testing.T) {
	now := time.Date(2026, 9, 1, 12, 0, 0, 0, time.UTC)
	q := &query{Query: Query{MaxRange: 48 * time.Hour, DefaultRange: time.Hour, Now: func() time.Time { return now }}}
	for _, c := range []struct{ from, to, lang, want string }{
		{"now-3d", "now", "zh", "时间范围超过上限 2 天。"},
		{"now-3d", "now", "en", "The time range is longer than 2 d."},
		{"now", "now-1h", "zh", "时间范围的结束时间早于开始时间。"},
		{"yesterday", "now", "zh", "无法识别所选的时间范围。"},
		{"yesterday", "now", "en", "The time range cannot be read."},
		{"yesterday", "now", "", `The time range cannot be read: "yesterday" is no time.`},
	} {
		_, _, err := q.between(&timeRange{From: c.from, To: c.to}, c.lang)
		var own *tool.Error
		if !errors.As(err, &own) || own.Message != c.want || own.Code != block.CodeDataFetchFailed {
			t.Errorf("%s to %s in %q: %v", c.from, c.to, c.lang, err)
		}
	}
	status, answer := 200, ""
	src := origin(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(status)
		fmt.Fprint(w, answer)
	}, httptool.AuthForward)
	qs, err := NewQueries(Query{
		Source: "logs", Lang: "x", HTTP: src, Request: httptool.Request{Path: "/q", Query: map[string]string{"q": "{{.args.statement}}"}},
		Block: &mapping.Block{Type: "table", Payload: `{columns: [], rows: []}`},
	})
	if err != nil {
		t.Fatal(err)
	}
	c := call(`{}`)
	press := func(lang, token string) *tool.Error {
		t.Helper()
		ctx := tool.WithCaller(t.Context(), tool.Caller{Tenant: "t1", User: "ann", Token: token, Lang: lang})
		_, err := qs.Action().Run(ctx, c, nil)
		var own *tool.Error
		if !errors.As(err, &own) {
			t.Fatalf("%d: %v", status, err)
		}
		return own
	}
	c.Block.Payload = json.RawMessage(`{"statement":"s","dataSource":"gone"}`)
	if e := press("zh", "x"); e.Message != "该数据源已不存在。" {
		t.Errorf("an unknown source: %v", e)
	}
	if err := qs.Action().Check(t.Context(), c); err != nil {
		t.Errorf("the block is wrong, not the values: %v", err)
	}
	c.Block.Payload = json.RawMessage(`{"statement":"s","dataSource":"logs","timeRange":{"from":"never","to":"now"}}`)
	for payload, want := range map[string]string{
		`{}`: "", `{"timeRange":{"from":"now-1h","to":"now"}}`: "", `{"timeRange":{"from":"now","to":"now-1h"}}`: "时间范围的结束时间早于开始时间。",
	} {
		asked := c
		asked.Payload = json.RawMessage(payload)
		err := qs.Action().Check(tool.WithCaller(t.Context(), tool.Caller{Lang: "zh"}), asked)
		var own *tool.Error
		if want == "" && err != nil || want != "" && (!errors.As(err, &own) || own.Message != want) {
			t.Errorf("%s: %v", payload, err)
		}
	}
	c.Block.Payload = json.RawMessage(`{"statement":"s","dataSource":"logs"}`)
	if e := press("zh", ""); e.Code != block.CodeNotAuthorized || e.Message != "请先登录后再操作。" {
		t.Errorf("without a token: %v", e)
	}
	for _, w := range []struct {
		status int
		answer string
		code   string
		want   string
		again  bool
	}{
		{400, `{}`, block.CodeDataFetchFailed, "数据源拒绝执行该语句。", false},
		{403, `{}`, block.CodeNotAuthorized, "你没有执行此操作的权限。", false},
		{429, `{}`, block.CodeDataFetchFailed, "数据源繁忙。", true},
		{503, `{}`, block.CodeDataFetchFailed, "查询失败。", true},
		{200, `{`, block.CodeDataFetchFailed, "查询失败。", false},
	} {
		status, answer = w.status, w.answer
		if e := press("zh", "x"); e.Code != w.code || e.Message != w.want || e.Retryable != w.again {
			t.Errorf("%d: %s %q %v", w.status, e.Code, e.Message, e.Retryable)
		}
	}
	if e := press("en", "x"); e.Message != "The query failed." {
		t.Errorf("in English: %v", e)
	}
}
