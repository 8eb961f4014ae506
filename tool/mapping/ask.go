package mapping

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/tool"
)

// Ask says when and how a person is asked before a declared tool runs. Texts
// may use {{.args.name}} and {{.user.id}}; a value that is missing leaves a gap.
type Ask struct {
	// Prompt is the question, Detail says more in Markdown; Prompts and Details
	// are such texts by language.
	Prompt  string            `json:"prompt"`
	Prompts map[string]string `json:"prompts"`
	Detail  string            `json:"detail"`
	Details map[string]string `json:"details"`
	// Severity is info (the default), warning or danger.
	Severity string `json:"severity"`
	// When is a jq program over {args, user} that gives true where the person
	// must be asked; always when empty.
	When string `json:"when"`
	// Edit lets the person change the arguments.
	Edit bool `json:"edit"`
	// ExpiresIn is how long the question stands; 0 means a day.
	ExpiresIn time.Duration `json:"expires_in"`
}

// CompileAsk compiles an Ask into what a tool's Spec has. name appears in
// errors.
func CompileAsk(name string, a Ask) (func(ctx context.Context, args json.RawMessage) (*tool.Ask, error), error) {
	if a.Prompt == "" {
		return nil, fmt.Errorf("%s: ask: a prompt is required", name)
	}
	if !slices.Contains([]string{"", "info", "warning", "danger"}, a.Severity) {
		return nil, fmt.Errorf("%s: ask: severity %q is not one of info, warning and danger", name, a.Severity)
	}
	if a.ExpiresIn < 0 {
		return nil, fmt.Errorf("%s: ask: expires_in is negative", name)
	}
	prompts, err := askTexts(name+": ask.prompt", a.Prompt, a.Prompts)
	if err != nil {
		return nil, err
	}
	details, err := askTexts(name+": ask.detail", a.Detail, a.Details)
	if err != nil {
		return nil, err
	}
	var when *Program
	if a.When != "" {
		if when, err = CompileProgram(name+": ask.when", a.When); err != nil {
			return nil, err
		}
	}
	return func(ctx context.Context, args json.RawMessage) (*tool.Ask, error) {
		v, err := Decode(args)
		if err != nil {
			return nil, err
		}
		data := map[string]any{"args": v, "user": User(ctx)}
		if when != nil {
			must, err := when.Run(ctx, data)
			if err != nil {
				return nil, failure(err)
			}
			yes, ok := must.(bool)
			if !ok {
				return nil, fmt.Errorf("%s: ask.when gave a %T, not true or false", name, must)
			}
			if !yes {
				return nil, nil
			}
		}
		lang := tool.CallerFrom(ctx).Lang
		return &tool.Ask{
			Prompt: prompts.in(lang).Loose(data, nil), Detail: details.in(lang).Loose(data, literal),
			Severity: a.Severity, Edit: a.Edit, ExpiresIn: a.ExpiresIn,
		}, nil
	}, nil
}

// literal writes a value into Markdown as the characters it is: arguments come
// from the model, and must not draw a link or a heading in a question.
func literal(s string) string {
	var b strings.Builder
	for _, r := range strings.Join(strings.Fields(s), " ") {
		if strings.ContainsRune("\\`*_{}[]()<>#+-!|~&", r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

// texts are templates by language, "" being the default.
type texts map[string]*Template

func askTexts(name, source string, more map[string]string) (texts, error) {
	all := texts{}
	add := func(lang, source string) error {
		t, err := CompileTemplate(name, source)
		if err != nil {
			return err
		}
		for _, p := range t.Paths() {
			if p[0] != "args" && p[0] != "user" {
				return fmt.Errorf("%s: only .args and .user are known before the tool ran", name)
			}
		}
		all[lang] = t
		return nil
	}
	if err := add("", source); err != nil {
		return nil, err
	}
	for lang, source := range more {
		if err := add(lang, source); err != nil {
			return nil, err
		}
	}
	return all, nil
}

func (t texts) in(lang string) *Template {
	if found, ok := t[lang]; ok {
		return found
	}
	return t[""]
}
