package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/inlay-ui/inlay"
)

type validateCmd struct {
	File string `arg:"" type:"existingfile" help:"YAML file."`
}

// Run checks a configuration file without touching anything it names.
func (c *validateCmd) Run(ctx context.Context) error {
	cfg, err := inlay.Load(c.File, os.Environ())
	if err != nil {
		return err
	}
	if err := cfg.Check(ctx); err != nil {
		return fmt.Errorf("%s: %w", c.File, err)
	}
	fmt.Printf("%s: ok (sources: %d, tools: %d, cards: %d, actions: %d)\n", c.File, len(cfg.Sources), len(cfg.Tools), len(cfg.Cards), len(cfg.Actions))
	return nil
}

type doctorCmd struct {
	Config string `help:"YAML file." type:"existingfile" placeholder:"FILE"`
	Addr   string `help:"Address that the server would listen on." placeholder:"HOST:PORT"`
	Data   string `help:"Data directory." placeholder:"DIR"`
}

// Run prints what works, what does not, and how to mend it.
func (c *doctorCmd) Run(ctx context.Context, top *cli) error {
	serve := serveCmd{Config: c.Config, Addr: c.Addr, Data: c.Data}
	cfg, err := serve.load(top)
	if err != nil {
		return err
	}
	failed := 0
	for _, f := range cfg.Doctor(ctx) {
		if f.Err == nil {
			fmt.Printf("ok    %-16s %s\n", f.What, f.Detail)
			continue
		}
		failed++
		fmt.Printf("FAIL  %-16s %s\n      %v\n      cure: %s\n", f.What, f.Detail, f.Err, f.Cure)
	}
	if failed > 0 {
		return errors.New("the installation will not work as configured")
	}
	return nil
}
