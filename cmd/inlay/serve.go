package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"syscall"

	"github.com/inlay-ui/inlay"
)

type serveCmd struct {
	Config string `help:"YAML file." type:"existingfile" placeholder:"FILE"`
	Addr   string `help:"Address to listen on; port 0 takes a free one. Default ${defaultAddr}." placeholder:"HOST:PORT"`
	Data   string `help:"Directory of the database and the files. Default ./inlay-data." placeholder:"DIR"`
	Dev    bool   `help:"One anonymous user, on loopback only."`
	NoOpen bool   `name:"no-open" help:"Do not open the page in a browser."`

	hint string // said once it listens
}

// load reads the file and the environment and lays the flags over them.
func (c *serveCmd) load(top *cli) (inlay.Config, error) {
	cfg, err := inlay.Load(c.Config, os.Environ())
	if err != nil {
		return inlay.Config{}, err
	}
	if c.Addr != "" {
		cfg.Addr = c.Addr
	}
	if c.Data != "" {
		cfg.Data = c.Data
	}
	cfg.Dev = cfg.Dev || c.Dev
	if top.LogFormat != "" {
		cfg.Log.Format = top.LogFormat
	}
	if top.LogLevel != "" {
		cfg.Log.Level = top.LogLevel
	}
	return cfg, nil
}

// Run serves until the context ends.
func (c *serveCmd) Run(ctx context.Context, top *cli) error {
	cfg, err := c.load(top)
	if err != nil {
		return err
	}
	return c.serve(ctx, cfg, inlay.New)
}

// serve makes an App and serves it until the context ends.
func (c *serveCmd) serve(ctx context.Context, cfg inlay.Config, open func(inlay.Config) (*inlay.App, error)) error {
	log, err := inlay.NewLogger(cfg.Log, os.Stderr)
	if err != nil {
		return err
	}
	cfg.Logger = log
	app, err := open(cfg)
	if err != nil {
		return err
	}
	ln, err := listen(ctx, cfg.Addr, log)
	if err != nil {
		return err
	}
	return app.Serve(ctx, ln, func() {
		url := "http://" + ln.Addr().String()
		fmt.Printf("inlay: listening on %s\n", url)
		if c.hint != "" {
			fmt.Printf("inlay: %s\n", c.hint)
		}
		if !c.NoOpen {
			openBrowser(url, log)
		}
	})
}

// listen opens the address. The default port, when busy, moves on to the next
// free one; an address that was asked for does not.
func listen(ctx context.Context, addr string, log *slog.Logger) (net.Listener, error) {
	asked := addr != ""
	if !asked {
		addr = inlay.DefaultAddr
	}
	var lc net.ListenConfig
	ln, err := lc.Listen(ctx, "tcp", addr)
	if err == nil {
		return ln, nil
	}
	if asked || !errors.Is(err, syscall.EADDRINUSE) {
		return nil, fmt.Errorf("listen on %s: %w", addr, err)
	}
	host, port, splitErr := net.SplitHostPort(addr)
	if splitErr != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, splitErr)
	}
	first, convErr := strconv.Atoi(port)
	if convErr != nil {
		return nil, fmt.Errorf("listen on %s: %w", addr, convErr)
	}
	for p := first + 1; p < first+100; p++ {
		next := net.JoinHostPort(host, strconv.Itoa(p))
		if ln, nextErr := lc.Listen(ctx, "tcp", next); nextErr == nil {
			log.Info("the default port is busy", "busy", addr, "using", next)
			return ln, nil
		}
	}
	return nil, fmt.Errorf("listen on %s and the 99 ports after it: %w", addr, err)
}

// openBrowser shows the page where there is a screen to show it on.
func openBrowser(url string, log *slog.Logger) {
	var cmd *exec.Cmd
	switch runtime.GOOS {
	case "darwin":
		cmd = exec.Command("open", url)
	case "windows":
		cmd = exec.Command("rundll32", "url.dll,FileProtocolHandler", url)
	default:
		if os.Getenv("DISPLAY") == "" && os.Getenv("WAYLAND_DISPLAY") == "" {
			return
		}
		cmd = exec.Command("xdg-open", url)
	}
	if err := cmd.Start(); err != nil {
		log.Debug("open browser", "err", err)
		return
	}
	go func() { _ = cmd.Wait() }()
}
