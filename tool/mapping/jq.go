// Package mapping turns what a declared tool fetched into a block and a
// summary: jq programs and text templates over {args, user, rows, body}.
//
// It is what tool/httptool and tool/sqltool share. It may import block and
// tool. It must never fetch anything itself.
package mapping

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/itchyny/gojq"
)

// The limits of one jq run.
const (
	Timeout        = 2 * time.Second
	MaxOutputBytes = 1 << 20
)

// Program is a compiled jq program. It can reach neither the environment nor
// files, modules or further input. It is safe for concurrent use.
type Program struct {
	name string
	code *gojq.Code
}

// CompileProgram compiles jq. name appears in errors.
func CompileProgram(name, source string) (*Program, error) {
	if strings.TrimSpace(source) == "" {
		return nil, fmt.Errorf("%s: the jq program is empty", name)
	}
	q, err := gojq.Parse(source)
	if err != nil {
		return nil, fmt.Errorf("%s: jq: %w", name, err)
	}
	// Without options $ENV is empty, import fails and input does not compile.
	code, err := gojq.Compile(q)
	if err != nil {
		return nil, fmt.Errorf("%s: jq: %w", name, err)
	}
	return &Program{name: name, code: code}, nil
}

// Message is a failure that a program words itself with error("…").
type Message struct{ Text string }

// Error implements error.
func (m *Message) Error() string { return m.Text }

// Run runs the program on a value made of what encoding/json decodes to, with
// json.Number for numbers. It must give exactly one result. A string that the
// program passes to error is returned as a *Message.
func (p *Program) Run(ctx context.Context, input any) (any, error) {
	ctx, cancel := context.WithTimeout(ctx, Timeout)
	defer cancel()
	iter := p.code.RunWithContext(ctx, input)
	v, ok := iter.Next()
	if !ok {
		return nil, fmt.Errorf("%s: jq gave no result", p.name)
	}
	if err, ok := v.(error); ok {
		return nil, p.wrap(err)
	}
	if extra, ok := iter.Next(); ok {
		if err, ok := extra.(error); ok {
			return nil, p.wrap(err)
		}
		return nil, fmt.Errorf("%s: jq gave more than one result; use [ … ] to collect them", p.name)
	}
	return v, nil
}

func (p *Program) wrap(err error) error {
	var halt *gojq.HaltError
	if errors.As(err, &halt) {
		return fmt.Errorf("%s: jq: halt is not available", p.name)
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("%s: jq took longer than %s: %w", p.name, Timeout, err)
	}
	// Only error("…") gives an error whose value is a string: gojq's own
	// failures have other types.
	var ve gojq.ValueError
	if errors.As(err, &ve) {
		if text, ok := ve.Value().(string); ok && err.Error() == "error: "+text {
			return &Message{text}
		}
	}
	return fmt.Errorf("%s: jq: %w", p.name, err)
}

// JSON runs the program and encodes its result, at most MaxOutputBytes of it.
func (p *Program) JSON(ctx context.Context, input any) (json.RawMessage, error) {
	v, err := p.Run(ctx, input)
	if err != nil {
		return nil, err
	}
	raw, err := gojq.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("%s: encode the result of jq: %w", p.name, err)
	}
	if len(raw) > MaxOutputBytes {
		return nil, fmt.Errorf("%s: the result of jq is larger than %d bytes", p.name, MaxOutputBytes)
	}
	return raw, nil
}
