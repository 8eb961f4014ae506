package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// RunQuery is the name of the action that runs the statement of a query block.
const RunQuery = "run_query"

// MaxStatement bounds a statement in bytes.
const MaxStatement = 16 << 10

// Query is a source whose statements the model may propose and people may run.
// Exactly one of SQL and HTTP is set.
type Query struct {
	// Source is the source's name; blocks carry it as dataSource.
	Source string
	SQL    *sqltool.Source
	HTTP   *httptool.Source
	// Request sends a statement to HTTP: templates and programs see
	// {args: {statement, from, to, lang}, user, call}.
	Request httptool.Request
	// Lang is the language of the statements, such as sql or promql.
	Lang string
	// Description tells the model what can be asked.
	Description string
	// MaxRange bounds the time that a statement may look at: 0 does not. With
	// it, SQL statements must use :from and :to.
	MaxRange time.Duration
	// DefaultRange is the time up to now when nobody says another. Default
	// 1 h.
	DefaultRange time.Duration
	// Block makes the block of the result; nil makes a table of rows.
	Block *mapping.Block
	// Open is a template of the address that shows the statement in another
	// product: https, its host written out. Empty offers none.
	Open string
	// Label is the source's name for people.
	Label action.Words
	// Now is for tests.
	Now func() time.Time
}

// query is a compiled Query.
type query struct {
	Query
	call   *httptool.Call
	mapper *mapping.Mapper
	open   *mapping.Template
}

// Queries are the sources that can be asked.
type Queries struct{ byName map[string]*query }

// NewQueries compiles sources.
func NewQueries(list ...Query) (*Queries, error) {
	qs := &Queries{byName: make(map[string]*query)}
	for _, q := range list {
		c, err := q.compile()
		if err != nil {
			return nil, fmt.Errorf("query of source %q: %w", q.Source, err)
		}
		if qs.byName[q.Source] != nil {
			return nil, fmt.Errorf("query of source %q: it is there twice", q.Source)
		}
		qs.byName[q.Source] = c
	}
	return qs, nil
}

func (q Query) compile() (*query, error) {
	c := &query{Query: q}
	var err error
	switch {
	case (q.SQL == nil) == (q.HTTP == nil):
		return nil, errors.New("one of SQL and HTTP is needed")
	case q.SQL != nil && !q.SQL.ReadOnly():
		return nil, errors.New("statements that a model proposes run on read-only sources only")
	case q.SQL != nil && (q.Request.Path != "" || q.Request.Method != ""):
		return nil, errors.New("request: a database takes none")
	case q.HTTP != nil && q.Block == nil:
		return nil, errors.New("block: the answer of an HTTP source needs one")
	case q.MaxRange < 0 || q.DefaultRange < 0:
		return nil, errors.New("a range must not be negative")
	}
	if q.HTTP != nil {
		if c.call, err = q.HTTP.Compile(q.Request); err != nil {
			return nil, fmt.Errorf("request: %w", err)
		}
	}
	if c.Lang == "" {
		c.Lang = "sql"
		if q.HTTP != nil {
			return nil, errors.New("lang: the language of the statements is needed")
		}
	}
	if c.DefaultRange == 0 {
		c.DefaultRange = time.Hour
	}
	if c.MaxRange > 0 {
		c.DefaultRange = min(c.DefaultRange, c.MaxRange)
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if q.Block != nil {
		if c.mapper, err = mapping.Compile("query of "+q.Source, mapping.Config{Block: q.Block}); err != nil {
			return nil, err
		}
	}
	if q.Open != "" {
		if c.open, err = mapping.CompileTemplate("open", q.Open); err != nil {
			return nil, err
		}
		if _, err := OpenHost(q.Open); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// OpenHost returns the host of an address template. It must be written out: a
// value cannot choose where a link leads.
func OpenHost(template string) (string, error) {
	before, _, _ := strings.Cut(template, "{{")
	u, err := url.Parse(before)
	rest, _ := strings.CutPrefix(before, "https://")
	if err != nil || u.Scheme != "https" || u.Host == "" || u.User != nil || !strings.Contains(rest, "/") {
		return "", fmt.Errorf("open %q: must begin with https://, a host and a /", template)
	}
	return u.Hostname(), nil
}

// Len returns the number of sources.
func (qs *Queries) Len() int { return len(qs.byName) }

// Action is run_query: it runs the statement that stands in the stored block,
// never one that a request brings, within the time that the source allows.
func (qs *Queries) Action() action.Def {
	return action.Def{
		Name: RunQuery, Effect: action.Read, Blocks: []string{"query"}, PerMinute: 30,
		Label:    action.Words{"": "Run", "zh": "执行"},
		Schema:   runSchema("", ""),
		Feedback: action.Feedback{Failure: action.Words{"": "The query could not be run.", "zh": "查询执行失败。"}},
		Check:    qs.check,
		Run:      qs.run,
	}
}

// runSchema is the schema of run_query's payload: another time range. It says
// how long the range may be, and which is taken when there is none, in words
// that judge nothing; empty ones are left out.
func runSchema(longest, standard string) json.RawMessage {
	notes := ""
	if longest != "" {
		notes += `,"x-max-range":"` + longest + `"`
	}
	if standard != "" {
		notes += `,"x-default-range":"` + standard + `"`
	}
	return json.RawMessage(`{"type":"object","properties":{"timeRange":{"type":"object","properties":{` +
		`"from":{"type":["string","number"],"maxLength":64},"to":{"type":["string","number"],"maxLength":64}},` +
		`"required":["from","to"],"additionalProperties":false` + notes + `}},"additionalProperties":false}`)
}

// spanText writes a duration as relative times have it, such as 24h; empty for 0.
func spanText(d time.Duration) string {
	for _, u := range []string{"d", "h", "m", "s"} {
		size := units[u].size
		// A day is better known as 24 hours.
		if n := d / size; d%size == 0 && n > 0 && (u != "d" || n > 1) {
			return strconv.Itoa(int(n)) + u
		}
	}
	return ""
}

// stored is what a query block holds.
type stored struct {
	Lang       string     `json:"lang"`
	Statement  string     `json:"statement"`
	Title      string     `json:"title,omitempty"`
	TimeRange  *timeRange `json:"timeRange,omitempty"`
	DataSource string     `json:"dataSource,omitempty"`
}

type timeRange struct {
	From any `json:"from"`
	To   any `json:"to"`
}

func refuse(format string, a ...any) error {
	return &tool.Error{Code: block.CodeDataFetchFailed, Message: fmt.Sprintf(format, a...)}
}

// asked reads what a call asks for: whose statement, and between which times.
// ranged says that an error is about times that the call brought.
func (qs *Queries) asked(ctx context.Context, c action.Call) (q *query, b stored, from, to time.Time, ranged bool, err error) {
	var asked struct {
		TimeRange *timeRange `json:"timeRange"`
	}
	lang := tool.CallerFrom(ctx).Lang
	if err = errors.Join(json.Unmarshal(c.Block.Payload, &b), json.Unmarshal(c.Payload, &asked)); err != nil {
		err = &tool.Error{Code: block.CodeSchemaInvalid, Message: words["unreadable"].For(lang), Err: err}
		return q, b, from, to, false, err
	}
	if q = qs.byName[b.DataSource]; q == nil {
		return q, b, from, to, false, refuse("%s", words["source"].For(lang))
	}
	ranged = asked.TimeRange != nil
	if !ranged {
		asked.TimeRange = b.TimeRange
	}
	from, to, err = q.between(asked.TimeRange, lang)
	return q, b, from, to, ranged, err
}

// check refuses a time range that the person chose and the source does not
// take. What is wrong with the block itself is a failure of the run.
func (qs *Queries) check(ctx context.Context, c action.Call) error {
	if _, _, _, _, ranged, err := qs.asked(ctx, c); ranged {
		return err
	}
	return nil
}

func (qs *Queries) run(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
	q, b, from, to, _, err := qs.asked(ctx, c)
	if err != nil {
		return action.Result{}, err
	}
	lang := tool.CallerFrom(ctx).Lang
	args := map[string]any{"statement": b.Statement, "lang": b.Lang, "from": iso(from), "to": iso(to)}
	data, err := dataOf(ctx, c)
	if err != nil {
		return action.Result{}, err
	}
	data["args"], data["payload"] = args, args
	if q.SQL != nil {
		return action.Result{}, q.runSQL(ctx, b, data, out)
	}
	answer, err := q.call.DoWith(ctx, data, headers(c))
	if err != nil {
		return action.Result{}, unanswered(lang, err)
	}
	if data["body"], err = mapping.Decode(answer); err != nil {
		return action.Result{}, unanswered(lang, err)
	}
	return action.Result{}, q.mapper.Write(ctx, data, out)
}

// unanswered says for people why a source gave no answer. What a declaration
// says itself of a request that it does not send stays.
func unanswered(lang string, err error) error {
	e := &tool.Error{Code: block.CodeDataFetchFailed, Err: err}
	var own *tool.Error
	if errors.As(err, &own) {
		e.Code, e.Retryable = own.Code, own.Retryable
		if own.Code == block.CodeDataFetchFailed && own.Err == httptool.ErrNotSent {
			return err
		}
	}
	var status *httptool.StatusError
	word := "failed"
	switch {
	case e.Code == block.CodeToolTimeout, errors.Is(err, context.DeadlineExceeded):
		word = "slow"
	case e.Code == block.CodePayloadTooLarge:
		word = "large"
	case e.Code == block.CodeNotAuthorized && errors.Is(err, httptool.ErrNotSent):
		word = "signin"
	case e.Code == block.CodeNotAuthorized:
		word = "forbidden"
	case errors.Is(err, httptool.ErrNotSent) && e.Retryable:
		word = "away"
	case errors.As(err, &status) && status.Status == http.StatusTooManyRequests:
		word = "crowded"
	case errors.As(err, &status) && status.Status < http.StatusInternalServerError:
		word = "statement"
	}
	e.Message = words[word].For(lang)
	return e
}

func iso(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000Z") }

// prepare reads a statement and says where its values come from.
func (q *query) prepare(statement string) (*sqltool.Statement, [][]string, error) {
	st, err := q.SQL.Prepare(statement)
	if err != nil {
		return nil, nil, refuse("The statement is refused: %v.", err)
	}
	paths := make([][]string, len(st.Names))
	for i, n := range st.Names {
		switch n {
		case "from", "to":
			paths[i] = []string{"args", n}
		case "user.id", "user.tenant", "user.lang":
			paths[i] = strings.Split(n, ".")
		default:
			return nil, nil, refuse("The statement is refused: :%s is not known; there are :from and :to.", n)
		}
	}
	if q.MaxRange > 0 && !(slices.Contains(st.Names, "from") && slices.Contains(st.Names, "to")) {
		return nil, nil, refuse("The statement is refused: it must keep to the time between :from and :to.")
	}
	return st, paths, nil
}

func (q *query) runSQL(ctx context.Context, b stored, data map[string]any, out *tool.Out) error {
	lang := tool.CallerFrom(ctx).Lang
	st, paths, err := q.prepare(b.Statement)
	if err != nil {
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: words["statement"].For(lang), Err: err}
	}
	values := make([]any, len(paths))
	for i, p := range paths {
		values[i], _ = mapping.Lookup(data, p)
	}
	res, err := q.SQL.Run(ctx, st, values)
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &tool.Error{Code: block.CodeToolTimeout, Message: words["slow"].For(lang), Retryable: true, Err: err}
	case err != nil:
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: words["failed"].For(lang), Err: err}
	}
	if res.Truncated {
		out.Remark("The result was cut after %d rows; there are more.", len(res.Rows))
	}
	if q.mapper != nil {
		data["rows"], data["truncated"] = res.Rows, res.Truncated
		return q.mapper.Write(ctx, data, out)
	}
	return out.Table(tableOf(b.Title, res))
}

// tableOf shows rows as they came.
func tableOf(title string, res *sqltool.Result) block.Table {
	t := block.Table{Caption: title, Rows: []block.Row{}}
	for _, r := range res.Rows {
		row, _ := r.(map[string]any)
		t.Rows = append(t.Rows, block.Row(row))
	}
	for _, name := range res.Columns {
		t.Columns = append(t.Columns, columnOf(name, t.Rows))
	}
	return t
}

// between resolves a time range and holds it to what the source allows. Its
// refusals are in the language.
func (q *query) between(r *timeRange, lang string) (from, to time.Time, err error) {
	now := q.Now()
	if r == nil {
		return now.Add(-q.DefaultRange), now, nil
	}
	if from, err = instant(r.From, now); err == nil {
		to, err = instant(r.To, now)
	}
	switch {
	case err != nil && lang == "":
		return from, to, refuse("The time range cannot be read: %v.", err)
	case err != nil:
		return from, to, refuse("%s", words["range"].For(lang))
	case !from.Before(to):
		return from, to, refuse("%s", words["backwards"].For(lang))
	case q.MaxRange > 0 && to.Sub(from) > q.MaxRange:
		return from, to, refuse(words["long"].For(lang), lengthText(q.MaxRange, lang))
	}
	return from, to, nil
}

// lengthText writes a duration for people.
func lengthText(d time.Duration, lang string) string {
	span := spanText(d)
	if span == "" {
		return d.String()
	}
	n, unit := span[:len(span)-1], span[len(span)-1:]
	return n + " " + units[unit].words.For(lang)
}

var relative = regexp.MustCompile(`^now(?:([+-])(\d{1,6})([smhdw]))?$`)

var units = map[string]struct {
	size  time.Duration
	words action.Words
}{
	"s": {time.Second, action.Words{"": "s", "zh": "秒"}},
	"m": {time.Minute, action.Words{"": "min", "zh": "分钟"}},
	"h": {time.Hour, action.Words{"": "h", "zh": "小时"}},
	"d": {24 * time.Hour, action.Words{"": "d", "zh": "天"}},
	"w": {7 * 24 * time.Hour, action.Words{"": "w", "zh": "周"}},
}

// instant reads ISO 8601, epoch milliseconds or a time relative to now.
func instant(v any, now time.Time) (time.Time, error) {
	switch v := v.(type) {
	case float64:
		if v < 0 || v > 1e14 {
			return now, fmt.Errorf("%v is no time", v)
		}
		return time.UnixMilli(int64(v)), nil
	case string:
		if m := relative.FindStringSubmatch(v); m != nil {
			if m[1] == "" {
				return now, nil
			}
			n, err := strconv.Atoi(m[2])
			if err != nil {
				return now, err
			}
			d := time.Duration(n) * units[m[3]].size
			if d/units[m[3]].size != time.Duration(n) {
				return now, fmt.Errorf("%s is too far away", v)
			}
			if m[1] == "-" {
				d = -d
			}
			return now.Add(d), nil
		}
		for _, layout := range []string{time.RFC3339Nano, "2006-01-02T15:04:05.999999999", "2006-01-02T15:04", "2006-01-02"} {
			if t, err := time.Parse(layout, v); err == nil {
				return t, nil
			}
		}
		return now, fmt.Errorf("%.40q is no time", v)
	}
	return now, errors.New("a time is text or a number")
}

// queryArgs are what the model says of a query.
type queryArgs struct {
	Statement string `json:"statement" jsonschema:"The statement, complete and read-only."`
	Title     string `json:"title,omitempty" jsonschema:"What it finds out, in a few words."`
	From      string `json:"from,omitempty" jsonschema:"Begin of the time range: ISO 8601, or relative such as now-1h."`
	To        string `json:"to,omitempty" jsonschema:"End of the time range: ISO 8601, or now."`
}

// Tools are the tools query_<source>, by which the model proposes statements.
// They run nothing: the person sees the statement and may run it.
func (qs *Queries) Tools() ([]tool.Tool, error) {
	names := make([]string, 0, len(qs.byName))
	for n := range qs.byName {
		names = append(names, n)
	}
	slices.Sort(names)
	var tools []tool.Tool
	for _, n := range names {
		q := qs.byName[n]
		label := q.Label.For("")
		if label == "" {
			label = n
		}
		description := fmt.Sprintf("Propose a %s statement about %s. It is shown to the user, who may run it; it is not run by you and you do not see its result.", q.Lang, label)
		if q.SQL != nil {
			description += fmt.Sprintf(" One read-only statement in the SQL of %s; :from and :to stand for the time range, as ISO 8601 in UTC.", q.SQL.Dialect())
		}
		if q.MaxRange > 0 {
			description += " The time range is at most " + lengthText(q.MaxRange, "") + "."
		}
		if q.Description != "" {
			description += "\n" + q.Description
		}
		t, err := tool.New(tool.Spec{
			Name: "query_" + n, Description: description,
			Title: map[string]string{"": "Query " + label, "zh": "查询" + q.Label.For("zh")},
			Block: &tool.BlockSpec{Type: "query"},
		}, q.propose)
		if err != nil {
			return nil, err
		}
		tools = append(tools, t)
	}
	return tools, nil
}

func (q *query) propose(ctx context.Context, a queryArgs, out *tool.Out) error {
	if len(a.Statement) > MaxStatement {
		return refuse("The statement is longer than %d bytes.", MaxStatement)
	}
	if strings.TrimSpace(a.Statement) == "" {
		return refuse("The statement is empty.")
	}
	if q.SQL != nil {
		if _, _, err := q.prepare(a.Statement); err != nil {
			return err
		}
	}
	b := stored{Lang: q.Lang, Statement: a.Statement, Title: a.Title, DataSource: q.Source}
	if a.From != "" || a.To != "" {
		r := timeRange{From: a.From, To: a.To}
		if a.From == "" {
			return refuse("A time range needs from.")
		}
		if a.To == "" {
			r.To = "now"
		}
		b.TimeRange = &r
	}
	from, to, err := q.between(b.TimeRange, "")
	if err != nil {
		return err
	}
	payload, err := jsonx.Marshal(b)
	if err != nil {
		return fmt.Errorf("encode query: %w", err)
	}
	lang := tool.CallerFrom(ctx).Lang
	out.Actions(
		block.Action{
			ID: "run", Action: RunQuery, Kind: block.ActionAPI, Style: "primary",
			InputSchema: runSchema(spanText(q.MaxRange), spanText(q.DefaultRange)),
		},
		block.Action{ID: "copy", Kind: block.ActionLocal, Label: action.Words{"": "Copy", "zh": "复制"}.For(lang)},
	)
	if q.open != nil {
		data := map[string]any{"args": map[string]any{"statement": a.Statement, "lang": q.Lang, "from": iso(from), "to": iso(to)}, "user": mapping.User(ctx)}
		href, err := q.open.Render(data, func(v string) (string, error) { return url.QueryEscape(v), nil })
		if err != nil {
			return fmt.Errorf("open: %w", err)
		}
		out.Actions(block.Action{ID: "open", Kind: block.ActionLink, Href: href, Label: action.Words{"": "Open", "zh": "打开"}.For(lang)})
	}
	out.Summary("The statement is shown to the user, who may run it. It was not run; its result is not known.")
	return out.Block("query", 0, block.Meta{Title: a.Title, Source: q.Label.For(lang)}, payload)
}
