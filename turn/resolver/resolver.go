// Package resolver makes resolvers of cards of configuration: an SQL statement
// or an HTTP request fetches what only the server may say.
//
// It may import markup, tool, tool/httptool, tool/sqltool and tool/mapping. It
// must never put an id into the text of a statement, nor send the caller's token
// anywhere but to its source.
package resolver

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/tool/sqltool"
)

// MaxIDs is how many ids one call asks for.
const MaxIDs = 100

// atOnce is how many calls one resolver makes at the same time.
const atOnce = 4

// Options is what all kinds of resolver have. Programs see {args, user} and, of
// an answer, rows or body; args is {id} or {ids}, whichever the statement or the
// request uses.
type Options struct {
	// Payload is a jq program. Of one id it makes the payload, null for an id
	// that there is not; of several an object that has the payload of each under
	// its id. Without it a row, or the body, is the payload.
	Payload string
}

// fetch asks for what programs see as rows or body.
type fetch func(ctx context.Context, args map[string]any) (name string, answer any, err error)

type resolver struct {
	fetch   fetch
	many    bool // one call for all ids
	payload *mapping.Program
}

// SQL makes a resolver of a statement with :id or :ids.
func SQL(src *sqltool.Source, query string, o Options) (markup.Resolver, error) {
	st, err := src.Prepare(query)
	if err != nil {
		return nil, fmt.Errorf("query: %w", err)
	}
	if !st.Reads() {
		return nil, fmt.Errorf("query: a card is filled by what is read, not by %s", st.What())
	}
	uses := make(map[string]bool)
	paths := make([][]string, len(st.Names))
	for i, n := range st.Names {
		path := strings.Split(n, ".")
		switch {
		case n == "id" || n == "ids":
			uses[n] = true
			paths[i] = []string{"args", n}
		case path[0] == "user" && len(path) > 1 && slices.Contains([]string{"id", "tenant", "lang", "claims"}, path[1]):
			paths[i] = path
		default:
			return nil, fmt.Errorf("query: :%s: there is :id or :ids, and :user.id, :user.tenant, :user.lang and :user.claims", n)
		}
	}
	return newResolver("query", uses, o, func(ctx context.Context, args map[string]any) (string, any, error) {
		data := map[string]any{"args": args, "user": mapping.User(ctx)}
		values := make([]any, len(paths))
		for i, p := range paths {
			values[i], _ = mapping.Lookup(data, p)
		}
		res, err := src.Run(ctx, st, values)
		if err != nil {
			return "", nil, err
		}
		return "rows", res.Rows, nil
	})
}

// usesID finds what a request says of ids.
var usesID = regexp.MustCompile(`\.args\.(ids?)\b`)

// HTTP makes a resolver of a request with {{.args.id}} or {{.args.ids}}.
func HTTP(src *httptool.Source, req httptool.Request, o Options) (markup.Resolver, error) {
	call, err := src.Compile(req)
	if err != nil {
		return nil, fmt.Errorf("request: %w", err)
	}
	if !call.Safe() && req.Method != http.MethodPost {
		return nil, fmt.Errorf("request: a card is filled by what is read, with GET or POST, not with %s", req.Method)
	}
	uses := make(map[string]bool)
	find := func(texts ...string) {
		for _, s := range texts {
			for _, m := range usesID.FindAllStringSubmatch(s, -1) {
				uses[m[1]] = true
			}
		}
	}
	find(req.Path, req.Body)
	for _, m := range []map[string]string{req.Query, req.Headers} {
		for _, v := range m {
			find(v)
		}
	}
	return newResolver("request", uses, o, func(ctx context.Context, args map[string]any) (string, any, error) {
		raw, err := call.Do(ctx, map[string]any{"args": args, "user": mapping.User(ctx)})
		var status *httptool.StatusError
		if errors.As(err, &status) && (status.Status == http.StatusNotFound || status.Status == http.StatusGone) {
			return "body", nil, nil // there is nothing with the id
		}
		if err != nil {
			return "", nil, err
		}
		body, err := mapping.Decode(raw)
		return "body", body, err
	})
}

func newResolver(what string, uses map[string]bool, o Options, f fetch) (markup.Resolver, error) {
	switch {
	case uses["id"] && uses["ids"]:
		return nil, fmt.Errorf("%s: it asks for one id or for several, not for both", what)
	case len(uses) == 0:
		return nil, fmt.Errorf("%s: it uses neither id nor ids of the cards", what)
	}
	r := &resolver{fetch: f, many: uses["ids"]}
	if o.Payload != "" {
		var err error
		if r.payload, err = mapping.CompileProgram("payload", o.Payload); err != nil {
			return nil, err
		}
	}
	if r.many {
		return r.batches, nil
	}
	return r.each, nil
}

// batches asks for all ids, MaxIDs at a time.
func (r *resolver) batches(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	found := make(map[string]json.RawMessage, len(ids))
	for part := range slices.Chunk(ids, MaxIDs) {
		list := make([]any, len(part))
		for i, id := range part {
			list[i] = id
		}
		answer, err := r.ask(ctx, map[string]any{"ids": list})
		if err != nil {
			return found, err
		}
		byID, err := index(answer)
		if err != nil {
			return found, err
		}
		for _, id := range part {
			if v, ok := byID[id]; ok {
				if err := keep(found, id, v); err != nil {
					return found, err
				}
			}
		}
	}
	return found, nil
}

// each asks for one id after the other, a few at the same time.
func (r *resolver) each(ctx context.Context, ids []string) (map[string]json.RawMessage, error) {
	found := make(map[string]json.RawMessage, len(ids))
	var mu sync.Mutex
	failed := make(markup.IDErrors)
	var calls sync.WaitGroup
	places := make(chan struct{}, atOnce)
	for _, id := range ids {
		places <- struct{}{}
		calls.Go(func() {
			defer func() { <-places }()
			answer, err := r.ask(ctx, map[string]any{"id": id})
			if rows, ok := answer.([]any); ok && r.payload == nil {
				answer = nil
				if len(rows) > 0 {
					answer = rows[0]
				}
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				err = keep(found, id, answer)
			}
			if err != nil {
				failed[id] = err
			}
		})
	}
	calls.Wait()
	if len(failed) > 0 {
		return found, failed
	}
	return found, nil
}

// ask makes one call and what the payload program makes of it.
func (r *resolver) ask(ctx context.Context, args map[string]any) (any, error) {
	name, answer, err := r.fetch(ctx, args)
	if err != nil || answer == nil || r.payload == nil {
		return answer, err
	}
	v, err := r.payload.Run(ctx, map[string]any{"args": args, "user": mapping.User(ctx), name: answer})
	var own *mapping.Message
	if errors.As(err, &own) {
		return nil, &tool.Error{Code: block.CodeDataFetchFailed, Message: own.Text}
	}
	return v, err
}

// index is an answer about several ids by id: an object as it is, or a list of
// objects that have theirs.
func index(answer any) (map[string]any, error) {
	switch answer := answer.(type) {
	case nil:
		return nil, nil
	case map[string]any:
		return answer, nil
	case []any:
		out := make(map[string]any, len(answer))
		for _, one := range answer {
			object, ok := one.(map[string]any)
			if !ok {
				return nil, errors.New("the answer is a list of what are no objects")
			}
			id, err := mapping.Text(object["id"])
			if err != nil {
				return nil, errors.New("the answer is a list of objects without an id")
			}
			out[id] = object
		}
		return out, nil
	}
	return nil, fmt.Errorf("the answer is neither an object nor a list of objects")
}

// keep keeps what there is of an id; null says that there is nothing, also
// beside an error.
func keep(found map[string]json.RawMessage, id string, v any) error {
	raw, err := jsonx.Marshal(v)
	if err != nil {
		return fmt.Errorf("encode what there is of %q: %w", id, err)
	}
	found[id] = raw
	return nil
}

// Actions compiles a program that makes the actions of a finished card from
// {payload, user}.
func Actions(a mapping.Actions) (func(ctx context.Context, payload json.RawMessage) ([]block.Action, error), error) {
	program, err := mapping.CompileActions("actions", a)
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, payload json.RawMessage) ([]block.Action, error) {
		v, err := mapping.Decode(payload)
		if err != nil {
			return nil, err
		}
		return program(ctx, map[string]any{"payload": v, "user": mapping.User(ctx)})
	}, nil
}
