package inlay

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/demo"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/turn"
)

// maxRecommend is the longest time that a recommender may be given: the stream
// of the answer stays open for it.
const maxRecommend = 30 * time.Second

// allowed is what answers may lead to: what is configured, and of what is not,
// the defaults.
func (c Config) allowed(withDemo bool) AllowConfig {
	a := c.Allow
	d := block.Destinations{Modals: block.DefaultModals(), Hosts: []string{"minara.ai", "www.minara.ai", "agent.minara.ai"}}
	if withDemo {
		d = demo.Allow()
	}
	for _, l := range []struct{ list, otherwise *[]string }{{&a.Routes, &d.Routes}, {&a.Slash, &d.Slash}, {&a.Modals, &d.Modals}, {&a.LinkHosts, &d.Hosts}} {
		if *l.list == nil {
			*l.list = *l.otherwise
		}
	}
	return a
}

func (a AllowConfig) destinations() block.Destinations {
	return block.Destinations{Routes: a.Routes, Slash: a.Slash, Modals: a.Modals, Hosts: a.LinkHosts}
}

// named reports whether places of the application are named, not only hosts.
func (a AllowConfig) named() bool { return len(a.Routes)+len(a.Slash)+len(a.Modals) > 0 }

// check finds destinations that nothing could ever lead to.
func (a AllowConfig) check() error {
	var errs []error
	for _, l := range []struct {
		key   string
		list  []string
		one   func(string) block.Destinations
		meant func(string) string
	}{
		{"routes", a.Routes, func(s string) block.Destinations { return block.Destinations{Routes: []string{s}} }, func(s string) string {
			if u, err := url.Parse(s); err == nil {
				s = u.Path
			}
			return "/" + strings.Trim(s, "/")
		}},
		{"slash", a.Slash, func(s string) block.Destinations { return block.Destinations{Slash: []string{s}} }, func(s string) string {
			verb, _, _ := strings.Cut(strings.TrimSpace(s), " ")
			return strings.ToLower(verb)
		}},
		{"modals", a.Modals, func(s string) block.Destinations { return block.Destinations{Modals: []string{s}} }, func(s string) string {
			return strings.Join(strings.Fields(strings.ToLower(s)), "_")
		}},
		{"link_hosts", a.LinkHosts, hosts, hostOf},
		{"image_hosts", a.ImageHosts, hosts, hostOf},
	} {
		for i, s := range l.list {
			err := l.one(s).Check()
			if err == nil {
				continue
			}
			why, meant := err.Error(), ""
			var schema *block.SchemaError
			if errors.As(err, &schema) && len(schema.Violations) > 0 {
				why = schema.Violations[0].Message
			}
			if m := l.meant(s); l.one(m).Check() == nil {
				meant = m
			}
			errs = append(errs, fmt.Errorf("allow.%s[%d]: %s%s", l.key, i, why, didYouMean(meant)))
		}
	}
	return errors.Join(errs...)
}

func hosts(s string) block.Destinations { return block.Destinations{Hosts: []string{s}} }

// hostOf is the host of what may be an address.
func hostOf(s string) string {
	s = strings.ToLower(strings.TrimSpace(s))
	if _, rest, ok := strings.Cut(s, "://"); ok {
		s = rest
	}
	s, _, _ = strings.Cut(s, "/")
	s, _, _ = strings.Cut(s, ":")
	return s
}

// checkAnswers finds what is wrong with where answers may lead, and with who
// says so.
func (c Config) checkAnswers() error {
	_, err := c.embed()
	errs := []error{c.Allow.check(), err}
	r := c.Recommender
	switch on := r.Enabled != nil && *r.Enabled; {
	case on && c.allowed(false).destinations().Empty():
		errs = append(errs, errors.New("recommender.enabled: the section allow leaves nothing to recommend; name routes, slash, modals or link_hosts there"))
	case r.Timeout < 0, r.Timeout > maxRecommend:
		errs = append(errs, fmt.Errorf("recommender.timeout: %s must be between 0s and %s", r.Timeout, maxRecommend))
	case r.Model != "" && c.Model.BaseURL == "" && c.LLM == nil:
		errs = append(errs, errors.New("recommender.model: it is a model of the endpoint at model.base_url, which is not set"))
	}
	l := c.Limits
	for _, n := range []struct {
		key   string
		value int
	}{{"session_blocks", l.SessionBlocks}, {"session_repeat_turns", l.SessionRepeatTurns}} {
		switch {
		case n.value < 0:
			errs = append(errs, fmt.Errorf("limits.%s: %d must not be negative", n.key, n.value))
		case n.value > 0 && !l.SessionCap:
			errs = append(errs, fmt.Errorf("limits.%s: without limits.session_cap: true it bounds nothing", n.key))
		}
	}
	return errors.Join(errs...)
}

// addRecommendations registers the recommendation of a next step, with the
// dialogs that it may open here.
func (a *App) addRecommendations(allow AllowConfig, withDemo bool) error {
	t := block.FeatureRecommendation(append([]string{}, allow.Modals...)...)
	t.ModelEmittable = a.cfg.Allow.named() || withDemo
	return a.registry.Register(t)
}

// recommender is the recommender that is configured; nil for none.
func (c Config) recommender(m model.Model, withDemo bool) *turn.Recommend {
	on := withDemo
	if c.Recommender.Enabled != nil {
		on = *c.Recommender.Enabled
	}
	if !on {
		return nil
	}
	if u, ok := m.(unbriefed); ok {
		m = u.Model // its prompt is all that makes a recommender
	}
	if name := c.Recommender.Model; name != "" {
		m = renamed{m, name}
	}
	return &turn.Recommend{Model: m, Timeout: c.Recommender.Timeout, Instructions: c.Recommender.Instructions}
}

// renamed is another model of the same endpoint.
type renamed struct {
	model.Model
	name string
}

// Info implements model.Model.
func (r renamed) Info() model.Info { return model.Info{Kind: r.Model.Info().Kind, Name: r.name} }

// Stream implements model.Model.
func (r renamed) Stream(ctx context.Context, req model.Request, on func(model.Delta) error) (model.Response, error) {
	req.Name = r.name
	return r.Model.Stream(ctx, req, on)
}
