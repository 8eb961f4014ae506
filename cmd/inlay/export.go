package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/inlay-ui/inlay"
)

type exportCmd struct {
	Audit exportAuditCmd `cmd:"" help:"Write the audit log of actions as JSON lines, also while the server runs."`
}

type exportAuditCmd struct {
	Config string `help:"YAML file." type:"existingfile" placeholder:"FILE"`
	Data   string `help:"Data directory." placeholder:"DIR"`
	Since  string `help:"First moment that counts: 2026-09-01 or 2026-09-01T08:00:00Z." placeholder:"TIME"`
	Until  string `help:"First moment that does not." placeholder:"TIME"`
	Tenant string `help:"Entries of one tenant."`
	User   string `help:"Entries of one user."`
	Action string `help:"Entries of one registered action." placeholder:"NAME"`
}

// Run writes the entries to stdout.
func (c *exportAuditCmd) Run(ctx context.Context, top *cli) error {
	serve := serveCmd{Config: c.Config, Data: c.Data}
	cfg, err := serve.load(top)
	if err != nil {
		return err
	}
	f := inlay.AuditFilter{Tenant: c.Tenant, User: c.User, Action: c.Action}
	if f.Since, err = moment("since", c.Since); err != nil {
		return err
	}
	if f.Until, err = moment("until", c.Until); err != nil {
		return err
	}
	return cfg.ExportAudit(ctx, os.Stdout, f)
}

// moment reads a day, which begins at midnight UTC, or a time.
func moment(flag, s string) (time.Time, error) {
	if s == "" {
		return time.Time{}, nil
	}
	for _, layout := range []string{time.RFC3339, "2006-01-02"} {
		if t, err := time.Parse(layout, s); err == nil {
			return t, nil
		}
	}
	return time.Time{}, fmt.Errorf("--%s: %q is not a time such as 2026-09-01 or 2026-09-01T08:00:00Z", flag, s)
}
