package sqltool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// Def declares a tool that runs one statement.
type Def struct {
	// Spec names the tool. Its Block is made from Mapping.
	Spec tool.Spec
	// Query is one SQL statement. :name is an argument, :range.from a member
	// of one; :user.id, :user.tenant, :user.lang and :user.claims.… are the
	// caller's. An argument that was left out is NULL.
	Query string
	// Mapping makes the block and the summary of {args, user, rows,
	// truncated, affected}.
	Mapping mapping.Config
}

// New makes the tool. Every parameter must be an argument that the tool's
// schema names.
func New(src *Source, def Def) (tool.Tool, error) {
	name := def.Spec.Name
	if _, err := tool.NewCheck(def.Spec); err != nil {
		return nil, err
	}
	st, err := src.Prepare(def.Query)
	if err != nil {
		return nil, fmt.Errorf("tool %q: query: %w", name, err)
	}
	var schema struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	if err := json.Unmarshal(tool.Parameters(def.Spec), &schema); err != nil {
		return nil, fmt.Errorf("tool %q: parameters: %w", name, err)
	}
	paths := make([][]string, len(st.Names))
	for i, n := range st.Names {
		path := strings.Split(n, ".")
		if path[0] == "user" && len(path) > 1 {
			if k := path[1]; k != "id" && k != "tenant" && k != "lang" && k != "claims" {
				return nil, fmt.Errorf("tool %q: query: :%s: the caller has id, tenant, lang and claims", name, n)
			}
			paths[i] = path
			continue
		}
		if _, ok := schema.Properties[path[0]]; !ok {
			return nil, fmt.Errorf("tool %q: query: :%s is not among the tool's parameters", name, n)
		}
		paths[i] = append([]string{"args"}, path...)
	}
	m, err := mapping.Compile("tool "+name, def.Mapping)
	if err != nil {
		return nil, err
	}
	spec := def.Spec
	spec.Block = m.BlockSpec()
	if src.readOnly {
		spec.Refreshable = true
	} else if !st.Reads() {
		spec.Unrepeatable = true
	}
	return &queryTool{src: src, spec: spec, st: st, paths: paths, mapper: m}, nil
}

type queryTool struct {
	src    *Source
	spec   tool.Spec
	st     *Statement
	paths  [][]string // of the statement's names in {args, user}
	mapper *mapping.Mapper
}

func (t *queryTool) Spec() tool.Spec { return t.spec }

func (t *queryTool) Run(ctx context.Context, raw json.RawMessage, out *tool.Out) error {
	args, err := mapping.Decode(raw)
	if err != nil {
		return err
	}
	data := map[string]any{"args": args, "user": mapping.User(ctx)}
	values := make([]any, len(t.paths))
	for i, p := range t.paths {
		values[i], _ = mapping.Lookup(data, p)
	}
	res, err := t.src.Run(ctx, t.st, values)
	if err != nil {
		return queryError(err)
	}
	data["rows"] = res.Rows
	data["truncated"] = res.Truncated
	data["affected"] = int(res.Affected)
	if err := t.mapper.Write(ctx, data, out); err != nil {
		return err
	}
	if res.Truncated {
		out.Remark("The result was cut after %d rows; there are more.", len(res.Rows))
	}
	return nil
}

// queryError words a failure without the database's own text, which may name
// tables and hosts.
func queryError(err error) error {
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return &tool.Error{Code: block.CodeToolTimeout, Message: "The query took too long.", Retryable: true, Err: err}
	case errors.Is(err, context.Canceled):
		return err
	}
	return &tool.Error{
		Code:      block.CodeDataFetchFailed,
		Message:   "The data could not be read.",
		Retryable: !refused(err),
		Err:       err,
	}
}
