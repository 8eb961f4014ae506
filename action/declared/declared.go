// Package declared makes actions of configuration: an HTTP request, an SQL
// statement on a writable source, or a registered tool; and the action that
// runs the statement of a query block.
//
// It may import action, block, tool, tool/httptool, tool/sqltool and
// tool/mapping. It must never put a value into the text of a statement, nor
// send the caller's token anywhere but to its source.
package declared

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// Show says what becomes of the block and the message.
type Show string

// The ways to show a result.
const (
	ShowNone   Show = "none"   // nothing but the block's state
	ShowUpdate Show = "update" // the block acted on is filled again
	ShowAppend Show = "append" // a new block is appended to the message
)

// Options is what all kinds of declared action have. Programs and templates see
// {payload, args, params, user, block, call} and, of an answer, rows or body;
// args is payload under the name that tools know.
type Options struct {
	// Show is none when empty.
	Show Show
	// Block makes the block of update and append.
	Block *mapping.Block
	// Value is a jq program for what the client is answered; nothing when
	// empty.
	Value string
	// Logger is told when something was done and cannot be shown.
	Logger *slog.Logger
}

// output is a compiled Options.
type output struct {
	show   Show
	mapper *mapping.Mapper
	value  *mapping.Program
	log    *slog.Logger
}

func (o Options) compile(name string) (*output, error) {
	out := &output{show: o.Show, log: o.Logger}
	if out.log == nil {
		out.log = slog.New(slog.DiscardHandler)
	}
	switch out.show {
	case "":
		out.show = ShowNone
	case ShowNone, ShowUpdate, ShowAppend:
	default:
		return nil, fmt.Errorf("action %q: result %q: must be none, update or append", name, o.Show)
	}
	if (o.Block != nil) != (out.show != ShowNone) {
		return nil, fmt.Errorf("action %q: result %s: update and append need a block, none takes none", name, out.show)
	}
	var err error
	if o.Block != nil {
		if out.mapper, err = mapping.Compile("action "+name, mapping.Config{Block: o.Block}); err != nil {
			return nil, err
		}
	}
	if o.Value != "" {
		if out.value, err = mapping.CompileProgram("action "+name+": value", o.Value); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// write shows an answer. The call of a write has happened by then: what goes
// wrong here is logged and not the call's failure.
func (o *output) write(ctx context.Context, effect action.Effect, c action.Call, data map[string]any, out *tool.Out) (action.Result, error) {
	res := action.Result{}
	err := func() error {
		if o.value != nil {
			v, err := o.value.JSON(ctx, data)
			if err != nil {
				return err
			}
			if string(v) != "null" {
				res.Value = v
			}
		}
		if o.show == ShowNone {
			return nil
		}
		if o.show == ShowUpdate {
			if err := out.Update(); err != nil {
				return err
			}
		}
		return o.mapper.Write(ctx, data, out)
	}()
	if err != nil && effect == action.Write {
		o.log.Error("an action was carried out, and its answer cannot be shown", "action", c.Action, "call", c.ID, "err", err)
		return res, nil
	}
	return res, err
}

// dataOf is what programs and templates see of a call.
func dataOf(ctx context.Context, c action.Call) (map[string]any, error) {
	payload, err := mapping.Decode(c.Payload)
	if err != nil {
		return nil, err
	}
	var shown any
	if len(c.Block.Payload) > 0 {
		if shown, err = mapping.Decode(c.Block.Payload); err != nil {
			return nil, err
		}
	}
	params := make(map[string]any, len(c.Params))
	for name, raw := range c.Params {
		if params[name], err = mapping.Decode(raw); err != nil {
			return nil, err
		}
	}
	return map[string]any{
		"payload": payload, "args": payload, "params": params, "user": mapping.User(ctx),
		"block": map[string]any{"id": c.Block.ID, "type": c.Block.Type, "payload": shown},
		"call":  map[string]any{"id": c.ID, "trace_id": c.TraceID, "message": c.Msg, "conversation": c.Conversation},
	}, nil
}

// headers lets a business system recognise a call and follow its trace.
func headers(c action.Call) http.Header {
	h := http.Header{"Idempotency-Key": {c.ID}}
	if len(c.TraceID) == 32 && len(c.ID) > 16 {
		h.Set("X-Trace-Id", c.TraceID)
		h.Set("Traceparent", "00-"+c.TraceID+"-"+span(c.ID)+"-01")
	}
	return h
}

// span makes the id of the call's span of its id, so that attempts share it.
func span(id string) string {
	hex := strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'a' && r <= 'f' {
			return r
		}
		return -1
	}, id)
	for len(hex) < 16 {
		hex += "1"
	}
	return hex[len(hex)-16:]
}

// Lookup asks a source whether a call happened.
type Lookup struct {
	// Request must be a GET; {{.call.id}} is the key that the call was sent
	// with.
	Request httptool.Request
	// Happened is a jq program over {body, call, payload, user} that says
	// whether the call was carried out; every answer 2xx means so when empty.
	// 404 and 410 mean that it was not, and will not be.
	Happened string
}

// HTTP makes an action of a request. def.Effect is made of the method when
// empty.
func HTTP(def action.Def, src *httptool.Source, req httptool.Request, look *Lookup, o Options) (action.Def, error) {
	fail := func(what string, err error) (action.Def, error) {
		return def, fmt.Errorf("action %q: %s: %w", def.Name, what, err)
	}
	call, err := src.Compile(req)
	if err != nil {
		return fail("request", err)
	}
	if def.Effect == "" {
		def.Effect = action.Write
		if call.Safe() {
			def.Effect = action.Read
		}
	}
	if def.Effect == action.Read && !call.Safe() && def.Confirm.Level == "" && len(def.Confirm.Text) == 0 {
		def.Confirm.Level = action.LevelNone
	}
	show, err := o.compile(def.Name)
	if err != nil {
		return def, err
	}
	if look != nil {
		if def.Lookup, err = lookup(src, *look, show, def.Name); err != nil {
			return fail("lookup", err)
		}
	}
	effect := def.Effect
	def.Run = func(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
		data, err := dataOf(ctx, c)
		if err != nil {
			return action.Result{}, &tool.Error{Code: block.CodeSchemaInvalid, Err: err}
		}
		answer, err := call.DoWith(ctx, data, headers(c))
		if errors.Is(err, httptool.ErrAnswer) && effect == action.Write {
			show.log.Warn("an action was carried out, and its answer cannot be read", "action", c.Action, "call", c.ID, "err", err)
			return action.Result{}, nil
		}
		if err != nil {
			return action.Result{}, sent(ctx, effect, err)
		}
		if data["body"], err = mapping.Decode(answer); err != nil {
			data["body"] = nil
		}
		return show.write(ctx, effect, c, data, out)
	}
	return def, nil
}

func lookup(src *httptool.Source, l Lookup, show *output, name string) (func(context.Context, action.Call) (bool, action.Result, error), error) {
	call, err := src.Compile(l.Request)
	if err != nil {
		return nil, err
	}
	if !call.Safe() {
		return nil, errors.New("the request must be a GET")
	}
	var judge *mapping.Program
	if l.Happened != "" {
		if judge, err = mapping.CompileProgram("action "+name+": lookup", l.Happened); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, c action.Call) (bool, action.Result, error) {
		data, err := dataOf(tool.WithCaller(ctx, c.Caller), c)
		if err != nil {
			return false, action.Result{}, err
		}
		answer, err := call.DoWith(tool.WithCaller(ctx, c.Caller), data, headers(c))
		var status *httptool.StatusError
		if errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusGone) {
			return false, action.Result{}, nil
		}
		if err != nil {
			return false, action.Result{}, err
		}
		if data["body"], err = mapping.Decode(answer); err != nil {
			data["body"] = nil
		}
		if judge != nil {
			v, err := judge.Run(ctx, data)
			if err != nil {
				return false, action.Result{}, err
			}
			if yes, ok := v.(bool); !ok {
				return false, action.Result{}, fmt.Errorf("lookup: happened gave a %T, not true or false", v)
			} else if !yes {
				return false, action.Result{}, nil
			}
		}
		res := action.Result{}
		if show.value != nil {
			if v, err := show.value.JSON(ctx, data); err == nil && string(v) != "null" {
				res.Value = v
			}
		}
		return true, res, nil
	}, nil
}

// sent says in words for people, and for the gateway, what is known after a
// request that failed.
func sent(ctx context.Context, effect action.Effect, err error) error {
	var status *httptool.StatusError
	var own *tool.Error
	if effect == action.Read || !errors.As(err, &own) {
		return err
	}
	lang := tool.CallerFrom(ctx).Lang
	refusal := func(w string, code string, retryable bool) error {
		return &tool.Error{Code: code, Message: words[w].For(lang), Retryable: retryable, Err: err}
	}
	switch {
	case errors.Is(err, httptool.ErrNotSent) && own.Code == block.CodeNotAuthorized:
		return refusal("signin", block.CodeNotAuthorized, false)
	case own.Err == httptool.ErrNotSent:
		return err // the declaration's own words
	case errors.Is(err, httptool.ErrNotSent) && !own.Retryable:
		return refusal("unfit", own.Code, false)
	case errors.Is(err, httptool.ErrNotSent):
		return refusal("unreachable", own.Code, true)
	case !errors.As(err, &status):
		return action.Uncertain(err)
	}
	switch n := status.Status; {
	case n == http.StatusUnauthorized || n == http.StatusForbidden:
		return refusal("forbidden", block.CodeNotAuthorized, false)
	case n == http.StatusTooManyRequests:
		return refusal("busy", own.Code, true)
	case n == http.StatusNotFound || n == http.StatusGone:
		return refusal("missing", own.Code, false)
	case n >= 400 && n < 500 && n != http.StatusRequestTimeout:
		return refusal("refused", own.Code, false)
	}
	return action.Uncertain(err)
}

var words = map[string]action.Words{
	"signin":      {"": "You need to sign in to do this.", "zh": "请先登录后再操作。"},
	"forbidden":   {"": "You are not allowed to do this.", "zh": "你没有执行此操作的权限。"},
	"unreachable": {"": "The service could not be reached. Nothing was changed.", "zh": "暂时无法连接业务系统，未做任何修改。"},
	"unfit":       {"": "This cannot be done with these values. Nothing was changed.", "zh": "无法用这些值执行该操作，未做任何修改。"},
	"busy":        {"": "The service is busy. Nothing was changed.", "zh": "业务系统繁忙，未做任何修改。"},
	"missing":     {"": "What this is about does not exist any more.", "zh": "操作对象已不存在。"},
	"refused":     {"": "The service refused this. Nothing was changed.", "zh": "业务系统拒绝了此操作，未做任何修改。"},
	"unchanged":   {"": "Nothing was changed: it does not exist any more, or is not yours.", "zh": "未做任何修改：对象已不存在，或不属于你。"},
	"unreadable":  {"": "The query cannot be read.", "zh": "无法读取该查询。"},
	"source":      {"": "There is no such data source any more.", "zh": "该数据源已不存在。"},
	"statement":   {"": "The data source refuses this statement.", "zh": "数据源拒绝执行该语句。"},
	"range":       {"": "The time range cannot be read.", "zh": "无法识别所选的时间范围。"},
	"backwards":   {"": "The time range ends before it begins.", "zh": "时间范围的结束时间早于开始时间。"},
	"long":        {"": "The time range is longer than %s.", "zh": "时间范围超过上限 %s。"},
	"slow":        {"": "The query took too long.", "zh": "查询超时。"},
	"failed":      {"": "The query failed.", "zh": "查询失败。"},
	"away":        {"": "The data source could not be reached.", "zh": "暂时无法连接数据源。"},
	"large":       {"": "The answer of the data source is too large.", "zh": "数据源返回的数据过大。"},
	"crowded":     {"": "The data source is busy.", "zh": "数据源繁忙。"},
	"database":    {"": "This could not be saved. Nothing was changed.", "zh": "保存失败，未做任何修改。"},
}

// SQL makes an action of one statement, run in a transaction. :name is a
// member of the payload, :user.id and the like are the caller's, :call.id is
// the call's own key. def.Effect is write on a writable source when empty.
func SQL(def action.Def, src *sqltool.Source, query string, o Options) (action.Def, error) {
	st, err := src.Prepare(query)
	if err != nil {
		return def, fmt.Errorf("action %q: query: %w", def.Name, err)
	}
	if def.Effect == "" {
		def.Effect = action.Write
		if src.ReadOnly() {
			def.Effect = action.Read
		}
	}
	if def.Effect == action.Write && src.ReadOnly() {
		return def, fmt.Errorf("action %q: its source is read-only; set read_only: false to write", def.Name)
	}
	paths, err := namesOf(st, def.Schema)
	if err != nil {
		return def, fmt.Errorf("action %q: query: %w", def.Name, err)
	}
	show, err := o.compile(def.Name)
	if err != nil {
		return def, err
	}
	effect, idempotent := def.Effect, def.Idempotent
	def.Run = func(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
		data, err := dataOf(ctx, c)
		if err != nil {
			return action.Result{}, &tool.Error{Code: block.CodeSchemaInvalid, Err: err}
		}
		values := make([]any, len(paths))
		for i, p := range paths {
			values[i], _ = mapping.Lookup(data, p)
		}
		res, err := src.Run(ctx, st, values)
		lang := tool.CallerFrom(ctx).Lang
		switch {
		case errors.Is(err, sqltool.ErrCommit):
			return action.Result{}, action.Uncertain(err)
		case err != nil:
			// It was rolled back.
			return action.Result{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: words["database"].For(lang), Err: rolledBack{err}}
		case effect == action.Write && !idempotent && res.Affected == 0 && len(res.Rows) == 0:
			return action.Result{}, &tool.Error{Code: block.CodeDataFetchFailed, Message: words["unchanged"].For(lang)}
		}
		data["rows"], data["truncated"], data["affected"] = res.Rows, res.Truncated, int(res.Affected)
		return show.write(ctx, effect, c, data, out)
	}
	return def, nil
}

// rolledBack keeps an error's words and hides what else it is: a deadline that
// cut a transaction off before its commit changed nothing.
type rolledBack struct{ err error }

func (r rolledBack) Error() string { return "rolled back: " + r.err.Error() }

func namesOf(st *sqltool.Statement, schema json.RawMessage) ([][]string, error) {
	var known struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if schema != nil {
		if err := json.Unmarshal(schema, &known); err != nil {
			return nil, fmt.Errorf("schema: %w", err)
		}
	}
	paths := make([][]string, len(st.Names))
	for i, n := range st.Names {
		path := strings.Split(n, ".")
		switch {
		case path[0] == "user" && len(path) > 1:
			if k := path[1]; k != "id" && k != "tenant" && k != "lang" && k != "claims" {
				return nil, fmt.Errorf(":%s: the caller has id, tenant, lang and claims", n)
			}
			paths[i] = path
		case path[0] == "call" && len(path) > 1:
			if k := path[1]; k != "id" && k != "trace_id" {
				return nil, fmt.Errorf(":%s: the call has id and trace_id", n)
			}
			paths[i] = path
		default:
			if _, ok := known.Properties[path[0]]; schema != nil && !ok {
				return nil, fmt.Errorf(":%s is not a member of the schema", n)
			}
			paths[i] = append([]string{"payload"}, path...)
		}
	}
	return paths, nil
}

// Tool makes an action that runs a registered tool with the payload as its
// arguments. The schema is the tool's when def has none; its blocks are
// appended, or fill the block acted on again.
func Tool(def action.Def, tools *tool.Set, name string, show Show) (action.Def, error) {
	t, check, ok := tools.Lookup(name)
	if !ok {
		return def, fmt.Errorf("action %q: there is no tool %q", def.Name, name)
	}
	spec := t.Spec()
	if def.Schema == nil {
		def.Schema = tool.Parameters(spec)
	}
	if def.Effect == "" {
		def.Effect = action.Write
		if spec.Refreshable {
			def.Effect = action.Read
		}
	}
	if def.Timeout == 0 {
		def.Timeout = spec.Timeout
	}
	switch show {
	case "", ShowAppend, ShowUpdate:
	case ShowNone:
		return def, fmt.Errorf("action %q: a tool shows what it makes: append or update", def.Name)
	default:
		return def, fmt.Errorf("action %q: result %q: must be update or append", def.Name, show)
	}
	def.Run = func(ctx context.Context, c action.Call, out *tool.Out) (action.Result, error) {
		args, err := check.Args(c.Payload)
		if err != nil {
			return action.Result{}, err
		}
		if show == ShowUpdate {
			if err := out.Update(); err != nil {
				return action.Result{}, &tool.Error{Message: "The block cannot be filled again.", Err: err}
			}
		}
		return action.Result{}, t.Run(ctx, args, out)
	}
	return def, nil
}
