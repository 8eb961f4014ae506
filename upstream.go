package inlay

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/agent/agui"
	"github.com/inlay-ui/inlay/agent/aisdk"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/mapping"
	"github.com/inlay-ui/inlay/turn"
)

// agentLoop is the AgentConfig.Kind of the installation's own loop.
const agentLoop = "loop"

// elsewhere says whether an agent elsewhere answers.
func (c Config) elsewhere() bool {
	return c.Upstream != nil || c.Agent.Kind != "" && c.Agent.Kind != agentLoop
}

// hasModel says whether a model is configured.
func (c Config) hasModel() bool { return c.LLM != nil || c.Model.BaseURL != "" }

// upstream returns the agent elsewhere that answers; nil for none.
func (c Config) upstream() (agent.Agent, error) {
	a := c.Agent
	if err := errors.Join(oneOf("agent.kind", a.Kind, agentLoop, agui.Kind, aisdk.Kind), oneOf("agent.auth", a.Auth, modelKey, modelForward)); err != nil {
		return nil, err
	}
	if !c.elsewhere() {
		if a.URL != "" || a.Name != "" || a.Auth != "" || a.APIKey != "" || a.APIKeyEnv != "" || a.APIKeyFile != "" || len(a.Headers)+len(a.Results) > 0 || a.IdleTimeout != 0 {
			return nil, errors.New("agent.kind: ag-ui or ai-sdk is required where agent says how an agent elsewhere is reached")
		}
		return nil, nil
	}
	on := func(b *bool) bool { return b != nil && *b }
	for key, wanted := range map[string]bool{
		"demo": on(c.Demo), "agent.ask_user": a.AskUser, "agent.system": a.System != "", "tools": len(c.Tools) > 0,
	} {
		if wanted {
			return nil, fmt.Errorf("%s: the agent elsewhere has instructions and tools of its own, which this would never reach; take it or agent.kind away", key)
		}
	}
	recommends := on(c.Recommender.Enabled)
	switch hasModel := c.hasModel(); {
	case recommends && !hasModel:
		return nil, errors.New("recommender.enabled: beside an agent elsewhere it needs a model of its own: model.base_url")
	case !recommends && hasModel:
		return nil, errors.New("model: an agent elsewhere answers, so that no model is asked; take one of model and agent.kind away")
	}
	if c.Upstream != nil {
		return c.Upstream, nil
	}
	key, err := secret("agent.api_key", a.APIKey, a.APIKeyEnv, a.APIKeyFile)
	if err != nil {
		return nil, err
	}
	cfg := agent.Config{URL: a.URL, Name: a.Name, APIKey: key, Headers: a.Headers, IdleTimeout: a.IdleTimeout}
	if a.Auth == modelForward {
		if key != "" {
			return nil, errors.New("agent.auth: forward sends the token of the caller, beside which there is no agent.api_key")
		}
		cfg.Token = callersToken
	}
	if a.URL == "" {
		return nil, fmt.Errorf("agent.url: required with agent.kind %s", a.Kind)
	}
	var opened agent.Agent
	if a.Kind == agui.Kind {
		opened, err = agui.New(cfg)
	} else {
		opened, err = aisdk.New(cfg)
	}
	if err != nil {
		return nil, fmt.Errorf("agent.url: %w", err)
	}
	return opened, nil
}

// results say how the results of the upstream agent's calls are shown.
func (a *App) results() (map[string]turn.ShowResult, error) {
	out := make(map[string]turn.ShowResult, len(a.cfg.Agent.Results))
	for _, name := range sortedKeys(a.cfg.Agent.Results) {
		how := a.cfg.Agent.Results[name]
		m, err := mapping.Compile(fmt.Sprintf("agent.results.%s", name), mapping.Config{Block: &how})
		if err != nil {
			return nil, err
		}
		if _, ok := a.registry.Lookup(how.Type, how.Version); !ok {
			var names []string
			for _, t := range a.registry.Types() {
				names = append(names, t.Name)
			}
			return nil, fmt.Errorf("agent.results.%s: there is no block type %q%s", name, how.Type, didYouMean(nearest.Of(how.Type, names)))
		}
		out[name] = shown(m)
	}
	return out, nil
}

// shown makes a block of a result: of its JSON, or of its text where it is none.
func shown(m *mapping.Mapper) turn.ShowResult {
	return func(ctx context.Context, raw json.RawMessage, content string, out *tool.Out) error {
		args, err := mapping.Decode(raw)
		if err != nil {
			return err
		}
		body, err := mapping.Decode([]byte(content))
		if err != nil {
			body = content
		}
		return m.Write(ctx, map[string]any{"args": args, "user": mapping.User(ctx), "body": body}, out)
	}
}

// info names what answers.
func (p *parts) info() model.Info {
	if p.upstream != nil {
		return p.upstream.Info()
	}
	return p.model.Info()
}
