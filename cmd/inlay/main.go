// Command inlay serves assistants whose answers are made of blocks.
package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/inlay-ui/inlay"
)

type cli struct {
	Serve     serveCmd     `cmd:"" default:"withargs" help:"Serve the API and the chat page (the default)."`
	DemoModel demoModelCmd `cmd:"" name:"demo-model" help:"Serve the scripted demo model as an OpenAI-compatible endpoint."`
	Export    exportCmd    `cmd:"" help:"Write what the server keeps."`
	Validate  validateCmd  `cmd:"" help:"Check a configuration file and say what is wrong with it."`
	Doctor    doctorCmd    `cmd:"" help:"Check configuration, store, sources and model, and say how to mend what fails."`
	Chat      chatCmd      `cmd:"" help:"Talk to a server in the terminal."`
	Gallery   galleryCmd   `cmd:"" help:"Write the gallery of blocks as static files."`
	Proxy     proxyCmd     `cmd:"" help:"Serve what another back end answers in text, with the cards in it as blocks."`
	Cards     cardsCmd     `cmd:"" help:"Look at the cards that the model may write into its text."`

	LogFormat string           `name:"log-format" help:"Format of the log on stderr: text or json." enum:",text,json" default:""`
	LogLevel  string           `name:"log-level" help:"Least level that is logged: debug, info, warn or error." enum:",debug,info,warn,error" default:""`
	Version   kong.VersionFlag `help:"Print the version."`
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	var c cli
	parser := kong.Must(&c,
		kong.Name("inlay"),
		kong.Description("A generative-UI server for AI assistants."),
		kong.Vars{"version": inlay.Version(), "defaultAddr": inlay.DefaultAddr},
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	k, err := parser.Parse(os.Args[1:])
	if err != nil {
		// On stderr, and short: stdout may be a file of exported lines.
		fmt.Fprintf(os.Stderr, "inlay: %v\nRun \"inlay --help\" for the commands and \"inlay COMMAND --help\" for their flags.\n", err)
		os.Exit(2)
	}
	if err := k.Run(&c); err != nil {
		fmt.Fprintln(os.Stderr, "inlay:", err)
		os.Exit(1)
	}
}
