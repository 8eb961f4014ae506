package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"

	"github.com/inlay-ui/inlay"
	"github.com/inlay-ui/inlay/client"
	"github.com/inlay-ui/inlay/cmd/inlay/internal/chat"
	"github.com/inlay-ui/inlay/internal/terminal"
)

type chatCmd struct {
	Question string `arg:"" optional:"" help:"Ask this one question, write the answer and end; so does a question on a piped input. The exit code is 0 when it was answered."`

	URL          string `name:"url" help:"Server to talk to, such as http://127.0.0.1:8080. Without it, --config and --data the one on this machine is taken, if there is one; else one runs in this program." placeholder:"URL"`
	TokenEnv     string `help:"Variable that holds the token for the server." placeholder:"NAME"`
	Config       string `help:"YAML file of the server in this program." type:"existingfile" placeholder:"FILE"`
	Data         string `help:"Data directory of the server in this program. Default ./inlay-data." placeholder:"DIR"`
	Conversation string `help:"Go on with this conversation." placeholder:"ID"`
	Lang         string `help:"Language: en or zh. Default that of the environment." enum:",en,zh" default:""`
	JSON         bool   `name:"json" help:"Write the events of answers as JSON lines."`
	Width        int    `help:"Cells of a line. Default that of the terminal, or 80." placeholder:"N"`

	// Where it runs; the standard files when nil.
	in       io.Reader
	out, err io.Writer
	// usual is where a server of this machine listens; the default address when
	// empty.
	usual string
}

// Run asks one question or talks until the input ends.
func (c *chatCmd) Run(_ context.Context, top *cli) error {
	// Ctrl+C stops an answer here, and does not end the program at once.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	keys := make(chan os.Signal, 4)
	signal.Notify(keys, os.Interrupt)
	defer signal.Stop(keys)
	interrupts := make(chan struct{})
	go func() {
		for {
			select {
			case <-keys:
			case <-ctx.Done():
				return
			}
			select {
			case interrupts <- struct{}{}:
			case <-ctx.Done():
				return
			case <-time.After(time.Second): // nothing was running that it could stop
			}
		}
	}()
	return c.run(ctx, top, interrupts)
}

func (c *chatCmd) run(ctx context.Context, top *cli, interrupts <-chan struct{}) error {
	if c.URL != "" && (c.Config != "" || c.Data != "") {
		return errors.New("--url names another server: leave --config and --data out, or --url")
	}
	typed := c.in == nil && term.IsTerminal(int(os.Stdin.Fd()))
	question := strings.TrimSpace(c.Question)
	once := question != "" || !typed && c.in == nil
	if once && question == "" {
		raw, err := io.ReadAll(io.LimitReader(os.Stdin, 1<<20))
		if err != nil {
			return fmt.Errorf("read the question: %w", err)
		}
		if question = strings.TrimSpace(string(raw)); question == "" {
			return errors.New("no question: write it behind the command or into its input, or start it in a terminal")
		}
	}
	opt, live := c.options()
	opt.Lang = cmp.Or(c.Lang, language(os.Getenv))
	srv := &client.Client{Blocks: terminal.Declaration(), Language: opt.Lang}
	if c.TokenEnv != "" {
		if srv.Token = os.Getenv(c.TokenEnv); srv.Token == "" {
			return fmt.Errorf("--token-env: the variable %s is not set", c.TokenEnv)
		}
	}
	address, end, err := c.server(ctx, top)
	if err != nil {
		return err
	}
	srv.URL = address
	opt.Address = func(asset string) string {
		return strings.TrimSuffix(address, "/") + "/v1/assets/" + url.PathEscape(asset) + "/content"
	}
	s := chat.New(chat.Options{
		Client: srv, Renderer: terminal.New(opt), Lang: opt.Lang, In: cmp.Or[io.Reader](c.in, os.Stdin), Out: c.stdout(), Err: c.stderr(),
		Live: live && !once, JSON: c.JSON, Conversation: c.Conversation, Interrupts: interrupts, Secret: secret(typed),
	})
	if once {
		err = s.Once(ctx, question)
	} else {
		err = s.Run(ctx)
	}
	if err != nil && !errors.Is(err, chat.ErrLeft) {
		err = errors.New(s.Explain(err))
	}
	return errors.Join(err, end())
}

func (c *chatCmd) stdout() io.Writer {
	if c.out != nil {
		return c.out
	}
	return os.Stdout
}

func (c *chatCmd) stderr() io.Writer {
	if c.err != nil {
		return c.err
	}
	return os.Stderr
}

// options says what is drawn on. live says that the terminal shows both what
// is answered and what is going on.
func (c *chatCmd) options() (opt terminal.Options, live bool) {
	opt.Width = c.Width
	if c.out != nil || !term.IsTerminal(int(os.Stdout.Fd())) || os.Getenv("TERM") == "dumb" {
		return opt, false
	}
	if w, _, err := term.GetSize(int(os.Stdout.Fd())); err == nil && opt.Width <= 0 {
		opt.Width = min(w, 120)
	}
	opt.Color = os.Getenv("NO_COLOR") == ""
	return opt, term.IsTerminal(int(os.Stderr.Fd()))
}

// language is that of the environment.
func language(env func(string) string) string {
	for _, name := range []string{"LC_ALL", "LC_MESSAGES", "LANG"} {
		if v := env(name); v != "" {
			if strings.HasPrefix(strings.ToLower(v), "zh") {
				return "zh"
			}
			return "en"
		}
	}
	return "en"
}

// secret reads a line that the terminal does not show.
func secret(typed bool) func() (string, error) {
	if !typed {
		return nil
	}
	return func() (string, error) {
		b, err := term.ReadPassword(int(os.Stdin.Fd()))
		fmt.Fprintln(os.Stderr)
		return string(b), err
	}
}

// server finds the server to talk to: the named one, else the one that runs on
// this machine at the usual address, else one in this program, which end shuts
// down.
func (c *chatCmd) server(ctx context.Context, top *cli) (address string, end func() error, err error) {
	nothing := func() error { return nil }
	if c.URL != "" {
		u, err := url.Parse(c.URL)
		if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return "", nil, fmt.Errorf("--url %s: write an address such as http://%s", strconv.Quote(c.URL), inlay.DefaultAddr)
		}
		return strings.TrimSuffix(c.URL, "/"), nothing, nil
	}
	if c.Config == "" && c.Data == "" {
		if usual := cmp.Or(c.usual, "http://"+inlay.DefaultAddr); answers(ctx, usual) {
			return usual, nothing, nil
		}
	}
	return c.embed(ctx, top)
}

// answers reports whether an Inlay server listens at an address.
func answers(ctx context.Context, address string) bool {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/healthz", nil)
	if err != nil {
		return false
	}
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return false
	}
	defer resp.Body.Close()
	var health struct {
		Product string `json:"product"`
	}
	err = json.NewDecoder(io.LimitReader(resp.Body, 4<<10)).Decode(&health)
	return err == nil && resp.StatusCode == http.StatusOK && health.Product == "inlay"
}

// embed runs a server in this program, as serve does, on a free port of
// loopback.
func (c *chatCmd) embed(ctx context.Context, top *cli) (address string, end func() error, err error) {
	serve := serveCmd{Config: c.Config, Data: c.Data, Addr: "127.0.0.1:0"}
	cfg, err := serve.load(top)
	if err != nil {
		return "", nil, err
	}
	if top.LogLevel == "" && cfg.Log.Level == "" {
		cfg.Log.Level = "error" // a conversation is no place for a log
	}
	log, err := inlay.NewLogger(cfg.Log, c.stderr())
	if err != nil {
		return "", nil, err
	}
	cfg.Logger = log
	app, err := inlay.New(cfg)
	if err != nil {
		return "", nil, err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", cfg.Addr)
	if err != nil {
		return "", nil, fmt.Errorf("listen on %s: %w", cfg.Addr, err)
	}
	running, stop := context.WithCancel(ctx)
	ready, ended := make(chan struct{}), make(chan error, 1)
	go func() { ended <- app.Serve(running, ln, func() { close(ready) }) }()
	select {
	case <-ready:
	case err := <-ended:
		stop()
		return "", nil, fmt.Errorf("run a server here: %w", err)
	}
	return "http://" + ln.Addr().String(), func() error {
		stop()
		return <-ended
	}, nil
}
