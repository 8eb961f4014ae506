package mapping

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/tool"
)

// Config says what becomes of a declared tool's answer.
type Config struct {
	// Block is what the user sees; nil for tools whose answer only the model
	// reads.
	Block *Block `json:"block"`
	// Summary is what the model is told: "" or "auto" for figures computed by
	// code, or a jq program.
	Summary string `json:"summary"`
}

// Block says how an answer becomes a block. Programs are jq over {args, user,
// rows | body, truncated}.
type Block struct {
	Type    string `json:"type"`
	Version int    `json:"version"` // 0 means the highest registered
	// Title of the skeleton; may use {{.args.name}}.
	Title string `json:"title"`
	// Titles are such titles by language, for callers of another one.
	Titles map[string]string `json:"titles"`
	// Height is the estimated height in CSS pixels.
	Height int `json:"height"`
	// Source names where the data comes from, for people; Sources does so by
	// language.
	Source  string            `json:"source"`
	Sources map[string]string `json:"sources"`
	// Payload makes the payload; null shows no block.
	Payload string `json:"payload"`
	// Fallback, when set, makes the plain text of the block.
	Fallback string `json:"fallback"`
	// Actions, when set, makes the array of actions: the names of registered
	// ones, or whole actions. A JSON array is such a program.
	Actions Actions `json:"actions"`
}

// Actions is a jq program that makes actions. In YAML it may be a list of their
// names instead.
type Actions string

// CompileActions compiles a program of actions. name appears in errors.
func CompileActions(name string, a Actions) (func(ctx context.Context, data map[string]any) ([]block.Action, error), error) {
	program, err := CompileProgram(name, string(a))
	if err != nil {
		return nil, err
	}
	return func(ctx context.Context, data map[string]any) ([]block.Action, error) {
		raw, err := program.JSON(ctx, data)
		if err != nil {
			return nil, err
		}
		return readActions(raw)
	}, nil
}

// Mapper is a compiled Config. It is safe for concurrent use.
type Mapper struct {
	block                      *Block
	titles                     map[string]*Template // by language
	payload, fallback, actions *Program
	summary                    *Program
}

// Compile compiles a Config. name appears in errors.
func Compile(name string, c Config) (*Mapper, error) {
	m := &Mapper{}
	var err error
	program := func(what, source string) *Program {
		if err != nil || source == "" {
			return nil
		}
		var p *Program
		p, err = CompileProgram(name+": "+what, source)
		return p
	}
	if c.Summary != "auto" {
		m.summary = program("summary", c.Summary)
	}
	if b := c.Block; b != nil {
		if b.Type == "" {
			return nil, fmt.Errorf("%s: block: a type is required", name)
		}
		if b.Payload == "" {
			return nil, fmt.Errorf("%s: block: a payload program is required", name)
		}
		own := *b
		own.Type = block.TypeNameOf(own.Type)
		m.block = &own
		m.payload = program("block.payload", b.Payload)
		m.fallback = program("block.fallback", b.Fallback)
		m.actions = program("block.actions", string(b.Actions))
		if err == nil {
			m.titles, err = compileTitles(name, b)
		}
	}
	if err != nil {
		return nil, err
	}
	return m, nil
}

func compileTitles(name string, b *Block) (map[string]*Template, error) {
	sources := map[string]string{"": b.Title}
	for lang, title := range b.Titles {
		sources[lang] = title
	}
	titles := make(map[string]*Template, len(sources))
	for lang, source := range sources {
		t, err := CompileTemplate(name+": block.title", source)
		if err != nil {
			return nil, err
		}
		for _, p := range t.Paths() {
			if p[0] != "args" {
				return nil, fmt.Errorf("%s: block.title: only .args is known before the tool ran", name)
			}
		}
		titles[lang] = t
	}
	return titles, nil
}

// HasBlock says whether the answer becomes a block.
func (m *Mapper) HasBlock() bool { return m.block != nil }

// BlockSpec returns what announces the block; nil when there is none.
func (m *Mapper) BlockSpec() *tool.BlockSpec {
	b := m.block
	if b == nil {
		return nil
	}
	return &tool.BlockSpec{
		Type:    b.Type,
		Version: b.Version,
		Height:  b.Height,
		Source:  b.Source,
		Sources: b.Sources,
		TitleFrom: func(ctx context.Context, args json.RawMessage) string {
			v, err := Decode(args)
			if err != nil {
				return ""
			}
			// A title with a gap is worse than none; the payload brings its own.
			s, err := m.title(ctx).Render(map[string]any{"args": v}, nil)
			if err != nil {
				return ""
			}
			return s
		},
	}
}

// Write shows the block and tells the model. data is {args, user, rows | body}
// as decoded JSON.
func (m *Mapper) Write(ctx context.Context, data map[string]any, out *tool.Out) error {
	if m.summary != nil {
		s, err := m.summary.Run(ctx, data)
		if err != nil {
			return failure(err)
		}
		if err := tell(out, s); err != nil {
			return err
		}
	}
	if m.block == nil {
		if m.summary == nil {
			answer, ok := data["rows"]
			if !ok {
				answer = data["body"]
			}
			out.Summary("%s", Describe(answer))
		}
		return nil
	}
	payload, err := m.payload.JSON(ctx, data)
	if err != nil {
		return failure(err)
	}
	if bytes.Equal(payload, []byte("null")) {
		if m.summary == nil {
			out.Summary("The tool found nothing to show.")
		}
		return nil
	}
	if m.fallback != nil {
		v, err := m.fallback.Run(ctx, data)
		if err != nil {
			return failure(err)
		}
		text, err := Text(v)
		if err != nil {
			return failure(fmt.Errorf("block.fallback: %w", err))
		}
		out.Fallback(text)
	}
	if m.actions != nil {
		raw, err := m.actions.JSON(ctx, data)
		if err != nil {
			return failure(err)
		}
		actions, err := readActions(raw)
		if err != nil {
			return failure(fmt.Errorf("block.actions: %w", err))
		}
		out.Actions(actions...)
	}
	meta := block.Meta{Title: titleOf(payload), Source: m.BlockSpec().SourceFor(ctx)}
	if meta.Title == "" {
		meta.Title, _ = m.title(ctx).Render(data, nil)
	}
	return out.Mapped(m.block.Type, m.block.Version, meta, payload)
}

// readActions reads an array of actions, of which a string is the name of a
// registered one.
func readActions(raw json.RawMessage) ([]block.Action, error) {
	var list []json.RawMessage
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, err
	}
	actions := make([]block.Action, len(list))
	for i, one := range list {
		to := any(&actions[i])
		if one[0] == '"' {
			to = &actions[i].ID
		}
		dec := json.NewDecoder(bytes.NewReader(one))
		dec.DisallowUnknownFields()
		if err := dec.Decode(to); err != nil {
			return nil, err
		}
	}
	return actions, nil
}

// title is the title for the caller's language.
func (m *Mapper) title(ctx context.Context) *Template {
	if t, ok := m.titles[tool.CallerFrom(ctx).Lang]; ok {
		return t
	}
	return m.titles[""]
}

// titleOf reads the title that a payload brings.
func titleOf(payload json.RawMessage) string {
	var p struct {
		Title   any `json:"title"`
		Caption any `json:"caption"`
	}
	if json.Unmarshal(payload, &p) != nil {
		return ""
	}
	if s, ok := p.Title.(string); ok {
		return s
	}
	s, _ := p.Caption.(string)
	return s
}

func tell(out *tool.Out, v any) error {
	if v == nil {
		return nil
	}
	if s, err := Text(v); err == nil {
		out.Summary("%s", s)
		return nil
	}
	raw, err := json.Marshal(v)
	if err != nil {
		return failure(fmt.Errorf("summary: %w", err))
	}
	out.Summary("%s", raw)
	return nil
}

// failure is what a mapping that does not work is to the user: a fault of the
// declaration that no retry mends. The words of error("…") are shown.
func failure(err error) error {
	var m *Message
	if errors.As(err, &m) {
		return &tool.Error{Code: block.CodeDataFetchFailed, Message: m.Text}
	}
	return &tool.Error{Code: block.CodeDataFetchFailed, Message: "The answer of the data source could not be shown.", Err: err}
}

// Decode decodes JSON with json.Number for numbers, so that none loses digits.
func Decode(raw []byte) (any, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		return map[string]any{}, nil
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var v any
	if err := dec.Decode(&v); err != nil {
		return nil, fmt.Errorf("decode JSON: %w", err)
	}
	if dec.More() {
		return nil, errors.New("decode JSON: more than one value")
	}
	return v, nil
}

// User is the caller as programs and templates see it: {id, tenant, lang,
// claims}. The token is not part of it.
func User(ctx context.Context) map[string]any {
	c := tool.CallerFrom(ctx)
	u := map[string]any{"id": c.User, "tenant": c.Tenant, "lang": c.Lang, "claims": map[string]any{}}
	if len(c.Claims) == 0 {
		return u
	}
	// Claims may hold any Go type; through JSON they have those jq knows.
	if raw, err := json.Marshal(c.Claims); err == nil {
		if v, err := Decode(raw); err == nil {
			u["claims"] = v
		}
	}
	return u
}
