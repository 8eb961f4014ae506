package scripted

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/model"
)

// Name is the id of the demo model.
const Name = "demo-scripted-1"

// Options configure a Model. The zero value is fit for tests: everything at
// once.
type Options struct {
	// Scenarios adds scenario files to the embedded ones or replaces them.
	Scenarios fs.FS
	// Timing is the pace of the answers.
	Timing Timing
	// Seed selects the places where answers are cut, unless a request has a
	// seed of its own. Without any the pieces are words.
	Seed int64
	// APIKey is what the handler wants as a bearer token; empty wants none.
	APIKey string
}

// Model answers from scripts. It is safe for concurrent use.
type Model struct {
	opts   Options
	script *script

	mu     sync.Mutex
	failed map[string]bool // answers that failed once and are to succeed next
}

var _ model.Model = (*Model)(nil)

// New returns a model with the embedded scenarios and those of the options.
func New(opts Options) (*Model, error) {
	s, err := load(opts.Scenarios)
	if err != nil {
		return nil, err
	}
	return &Model{opts: opts, script: s, failed: map[string]bool{}}, nil
}

// Info implements model.Model.
func (m *Model) Info() model.Info { return model.Info{Kind: "scripted", Name: Name} }

// Questions lists the questions of a language, zh or en, that the model
// answers with the named tools, whatever their arguments, and no system prompt,
// in the order of the scenarios.
func (m *Model) Questions(lang string, tools ...string) []string {
	offered := map[string]bool{}
	for _, t := range tools {
		offer(offered, model.ToolSpec{Name: t})
	}
	if lang != "zh" {
		lang = "en"
	}
	return m.script.questions(lang, offered, nil)
}

// Stream implements model.Model.
func (m *Model) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	p, err := m.script.plan(req, "")
	if err != nil {
		return model.Response{}, err
	}
	resp := model.Response{Finish: model.FinishIncomplete, FirstToken: m.opts.Timing.FirstToken}
	var calls []model.Call
	var text, thought strings.Builder
	err = m.play(ctx, p, m.seed(req), func(pc piece) error {
		text.WriteString(pc.text)
		thought.WriteString(pc.thought)
		d := model.Delta{Text: pc.text, Reasoning: pc.thought}
		switch {
		case pc.start:
			calls = append(calls, *pc.call)
			d.CallStarted = pc.call.Name
		case pc.call != nil:
			return nil
		}
		return on(d)
	})
	resp.Text, resp.Reasoning = text.String(), thought.String()
	switch {
	case errors.Is(err, errDropped):
		return resp, nil
	case err != nil && ctx.Err() != nil:
		return resp, fmt.Errorf("model: %w", ctx.Err())
	case err != nil:
		return resp, err
	}
	resp.Calls, resp.Finish, resp.FinishRaw, resp.Usage = calls, p.finish, string(p.finish), p.usage
	return resp, nil
}

func (m *Model) seed(req model.Request) int64 {
	if req.Seed != nil {
		return *req.Seed
	}
	return m.opts.Seed
}
