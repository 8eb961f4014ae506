package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"github.com/inlay-ui/inlay/model/scripted"
)

type demoModelCmd struct {
	Addr string `help:"Address to listen on; port 0 takes a free one." default:"127.0.0.1:8090" placeholder:"HOST:PORT"`
	Fast bool   `help:"Answer at once instead of at reading speed."`
	Seed int64  `help:"Cut the answers at other places; 0 cuts between words."`
}

// Run serves the demo model until the context ends.
func (c *demoModelCmd) Run(ctx context.Context) error {
	opt := scripted.Options{Seed: c.Seed, Timing: scripted.HumanSpeed()}
	if c.Fast {
		opt.Timing = scripted.Timing{}
	}
	m, err := scripted.New(opt)
	if err != nil {
		return err
	}
	ln, err := (&net.ListenConfig{}).Listen(ctx, "tcp", c.Addr)
	if err != nil {
		return fmt.Errorf("listen on %s: %w", c.Addr, err)
	}
	srv := &http.Server{Handler: m.Handler(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(ln) }()
	fmt.Printf("inlay: listening on http://%s\n", ln.Addr())
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
	defer cancel()
	if err := srv.Shutdown(end); errors.Is(err, context.DeadlineExceeded) {
		return srv.Close()
	} else if err != nil {
		return err
	}
	return nil
}
