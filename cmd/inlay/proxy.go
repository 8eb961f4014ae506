package main

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"os"
	"slices"
	"strconv"

	"github.com/inlay-ui/inlay"
)

type proxyCmd struct {
	Upstream string `help:"Address of the back end: of an OpenAI-compatible endpoint, without /chat/completions, or of one that streams text, whole. Default model.base_url." placeholder:"URL"`
	Format   string `help:"What it speaks: openai (default), or text: server-sent events whose data is text or JSON that holds it, or plain text." enum:",openai,text" default:""`
	Model    string `help:"Id of the model; required with openai." placeholder:"NAME"`

	Auth     string            `help:"What authorizes the requests: key (default), if there is one, or forward: the bearer token of whoever asks." enum:",key,forward" default:""`
	KeyEnv   string            `name:"key-env" help:"Variable that holds the key for the back end." placeholder:"NAME"`
	Header   map[string]string `help:"Header sent with every request; may be repeated." placeholder:"NAME=VALUE" mapsep:"none"`
	OmitSys  bool              `name:"omit-system" help:"Send no system prompt: the back end has its own. Without it one with openai says how cards are written."`
	OwnData  bool              `name:"upstream-data" help:"Take prices, stock, links and the like from the text: it is that of a system that knows them. Without it the cards leave them out."`
	Body     string            `help:"text: JSON of a request, with {{.Text}}, {{.Messages}}, {{.System}}, {{.Model}}, {{.User}} and {{.Lang}}." placeholder:"JSON"`
	TextPath *string           `name:"text-path" help:"text: JSON Pointer to the text in the data of an event, such as /delta. Without it the data is the text." placeholder:"POINTER"`
	Events   []string          `name:"text-event" help:"text: name of an event that has text, message for those without a name; may be repeated. Default all." placeholder:"NAME"`

	Config string `help:"YAML file: cards, sources, allow, auth, limits and the rest." type:"existingfile" placeholder:"FILE"`
	Addr   string `help:"Address to listen on; port 0 takes a free one. Default ${defaultAddr}." placeholder:"HOST:PORT"`
	Data   string `help:"Directory of the database and the files. Default ./inlay-data." placeholder:"DIR"`
	Dev    bool   `help:"One anonymous user, on loopback only."`
}

// Run serves until the context ends.
func (c *proxyCmd) Run(ctx context.Context, top *cli) error {
	serve := serveCmd{Config: c.Config, Addr: c.Addr, Data: c.Data, Dev: c.Dev, NoOpen: true, hint: c.hint()}
	cfg, err := serve.load(top)
	if err != nil {
		return err
	}
	if err := c.lay(&cfg.Model); err != nil {
		return err
	}
	return serve.serve(ctx, cfg, func(cfg inlay.Config) (*inlay.App, error) { return inlay.NewProxy(cfg, c.OwnData) })
}

// hint says where a back end that has a prompt of its own finds what to say in it
// of the cards.
func (c *proxyCmd) hint() string {
	s := "what the back end must know to write cards: inlay cards prompt --presets"
	if c.OwnData {
		s += " --upstream-data"
	}
	if c.Config != "" {
		s += " --config " + strconv.Quote(c.Config)
	}
	return s
}

// lay lays the flags over the section model of the configuration.
func (c *proxyCmd) lay(m *inlay.ModelConfig) error {
	if c.KeyEnv != "" {
		if os.Getenv(c.KeyEnv) == "" {
			return errors.New("--key-env: the variable " + c.KeyEnv + " is not set")
		}
		m.APIKey, m.APIKeyEnv, m.APIKeyFile = "", c.KeyEnv, ""
	}
	m.BaseURL, m.Kind, m.Name = cmp.Or(c.Upstream, m.BaseURL), cmp.Or(c.Format, m.Kind), cmp.Or(c.Model, m.Name)
	m.Auth, m.Body = cmp.Or(c.Auth, m.Auth), cmp.Or(c.Body, m.Body)
	m.OmitSystem = m.OmitSystem || c.OmitSys
	if c.TextPath != nil {
		m.TextPath = c.TextPath
	}
	if c.Events != nil {
		m.TextEvents = slices.Clone(c.Events)
	}
	if len(c.Header) > 0 {
		headers := maps.Clone(m.Headers)
		if headers == nil {
			headers = make(map[string]string)
		}
		maps.Copy(headers, c.Header)
		m.Headers = headers
	}
	switch {
	case m.BaseURL == "":
		return errors.New("--upstream: the address of the back end is required, such as http://127.0.0.1:9000/chat")
	case m.Kind != "text" && (c.Body != "" || c.TextPath != nil || c.Events != nil):
		return errors.New("--body, --text-path and --text-event go with --format text")
	case m.Kind != "text" && m.Name == "":
		return errors.New("--model: the id of the model is required, unless the back end speaks --format text")
	}
	return nil
}
