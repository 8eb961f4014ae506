package inlay

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"

	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/openai"
	"github.com/inlay-ui/inlay/model/scripted"
	"github.com/inlay-ui/inlay/model/textstream"
	"github.com/inlay-ui/inlay/tool"
)

// The values of ModelConfig.Kind and ModelConfig.Auth.
const (
	modelOpenAI  = "openai"
	modelText    = textstream.Kind
	modelKey     = "key"
	modelForward = "forward"
)

// oneOf refuses a word that is none of those known; "" is the first of them.
func oneOf(key, word string, known ...string) error {
	for _, k := range known {
		if word == k || word == "" {
			return nil
		}
	}
	last := len(known) - 1
	return fmt.Errorf("%s: %q must be %s or %s%s", key, word, strings.Join(known[:last], ", "), known[last], didYouMean(nearest.Of(word, known)))
}

func (a *App) newModel() (model.Model, error) {
	if a.cfg.LLM != nil {
		return a.cfg.LLM, nil
	}
	if a.cfg.Model.BaseURL == "" {
		m := a.cfg.Model
		if m.Name != "" || m.APIKey != "" || m.APIKeyEnv != "" || m.APIKeyFile != "" || m.Kind != "" || m.Auth != "" {
			return nil, errors.New("model.base_url: required when a model is configured (or INLAY_MODEL_BASE_URL)")
		}
		return scripted.New(scripted.Options{Timing: scripted.HumanSpeed()})
	}
	if a.cfg.Model.Kind == modelText {
		on := func(b *bool) bool { return b != nil && *b }
		for key, wanted := range map[string]bool{
			"demo": on(a.cfg.Demo), "recommender.enabled": on(a.cfg.Recommender.Enabled), "agent.ask_user": a.cfg.Agent.AskUser,
		} {
			if wanted {
				return nil, fmt.Errorf("%s: it needs a model that calls tools, which one of model.kind text does not", key)
			}
		}
	}
	return a.cfg.openModel(a.log)
}

// openModel returns the model at the configured endpoint. log is told of answers
// in which its text is not where it should be.
func (c Config) openModel(log *slog.Logger) (model.Model, error) {
	switch m := c.Model; {
	case c.Agent.System == "":
	case m.OmitSystem:
		return nil, errors.New("agent.system: model.omit_system leaves it out; take one of them away")
	case m.Kind == modelText && !strings.Contains(m.Body, ".System"):
		return nil, errors.New("agent.system: model.body has no {{.System}}, so that it would reach nobody")
	}
	return c.Model.open(log)
}

// open returns the model at the endpoint.
func (m ModelConfig) open(log *slog.Logger) (model.Model, error) {
	if err := errors.Join(oneOf("model.kind", m.Kind, modelOpenAI, modelText), oneOf("model.auth", m.Auth, modelKey, modelForward)); err != nil {
		return nil, err
	}
	key, err := secret("model.api_key", m.APIKey, m.APIKeyEnv, m.APIKeyFile)
	if err != nil {
		return nil, err
	}
	var token func(context.Context) (string, error)
	if m.Auth == modelForward {
		if key != "" {
			return nil, errors.New("model.auth: forward sends the token of the caller, beside which there is no model.api_key")
		}
		token = callersToken
	}
	var opened model.Model
	if m.Kind == modelText {
		opened, err = m.text(key, token, log)
	} else {
		opened, err = m.openai(key, token)
	}
	if err == nil && m.OmitSystem {
		opened = unbriefed{opened}
	}
	return opened, err
}

func (m ModelConfig) openai(key string, token func(context.Context) (string, error)) (model.Model, error) {
	if m.Name == "" {
		return nil, errors.New("model.name: required with model.base_url (or INLAY_MODEL_NAME)")
	}
	if m.Body != "" || m.TextPath != nil || m.TextEvents != nil {
		return nil, errors.New("model: body, text_path and text_events are for model.kind text")
	}
	if m.Profile == "" {
		m.Profile = "openai"
	}
	profile, err := openai.LookupProfile(m.Profile)
	if err != nil {
		return nil, fmt.Errorf("model.profile: %w", err)
	}
	client, err := openai.New(openai.Config{BaseURL: m.BaseURL, APIKey: key, Token: token, Name: m.Name, Profile: profile, IdleTimeout: m.IdleTimeout, Headers: m.Headers})
	if err != nil {
		return nil, err
	}
	if m.Name == scripted.Name {
		return labelled{client}, nil
	}
	return client, nil
}

func (m ModelConfig) text(key string, token func(context.Context) (string, error), log *slog.Logger) (model.Model, error) {
	if m.Profile != "" {
		return nil, errors.New("model.profile: vendors differ for model.kind openai only")
	}
	client, err := textstream.New(textstream.Config{
		URL: m.BaseURL, Name: m.Name, Body: m.Body, TextPath: m.TextPath, Events: m.TextEvents,
		APIKey: key, Token: token, Headers: m.Headers, IdleTimeout: m.IdleTimeout, Logger: log,
		Person: func(ctx context.Context) textstream.Person {
			c := tool.CallerFrom(ctx)
			return textstream.Person{User: c.User, Lang: c.Lang}
		},
	})
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	return client, nil
}

// callersToken is the bearer token of whoever a turn is run for.
func callersToken(ctx context.Context) (string, error) {
	if token := tool.CallerFrom(ctx).Token; token != "" {
		return token, nil
	}
	return "", &model.Error{Code: model.CodeUnauthorized, Message: "the request came without a bearer token, which model.auth forward passes on"}
}

// labelled is the demo model reached over HTTP: it must be recognisable as
// what it is there too.
type labelled struct{ model.Model }

// Info implements model.Model.
func (labelled) Info() model.Info { return model.Info{Kind: "scripted", Name: scripted.Name} }

// unbriefed is a model that has its own instructions and gets none of ours.
type unbriefed struct{ model.Model }

// Stream implements model.Model.
func (u unbriefed) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	if len(req.Messages) > 0 && req.Messages[0].Role == model.RoleSystem {
		req.Messages = req.Messages[1:]
	}
	return u.Model.Stream(ctx, req, on)
}
