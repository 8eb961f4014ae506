package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/inlay-ui/inlay"
)

type cardsCmd struct {
	Prompt cardsPromptCmd `cmd:"" help:"Print what the model is told of the cards that it may write."`
	Check  cardsCheckCmd  `cmd:"" help:"Read a Markdown text as a model's and say what would be shown of it."`
}

// cardsFlags say which cards are meant.
type cardsFlags struct {
	Config  string `help:"YAML file with the cards." type:"existingfile" placeholder:"FILE"`
	Presets bool   `help:"Take the cards of inlay proxy where the configuration has none: ProductCard, ProductList, HotelCard and chart."`
	OwnData bool   `name:"upstream-data" help:"As inlay proxy has it: prices, stock and the like may stand in the text. TrainCard and FlightCard are cards too."`
}

// load reads the configuration, and returns what is told of its cards, of which
// there must be some.
func (f *cardsFlags) load() (cfg inlay.Config, prompt string, err error) {
	if cfg, err = inlay.Load(f.Config, os.Environ()); err != nil {
		return cfg, "", err
	}
	if f.proxy() {
		prompt, err = cfg.ProxyCardPrompt(f.OwnData)
	} else {
		prompt, err = cfg.CardPrompt()
	}
	if err == nil && prompt == "" {
		err = errors.New("the configuration has no cards that could be written: see the sections cards and agent.embed, or take those of inlay proxy with --presets")
	}
	return cfg, prompt, err
}

func (f *cardsFlags) proxy() bool { return f.Presets || f.OwnData }

type cardsPromptCmd struct{ cardsFlags }

// Run prints the part of the system prompt that is made of the cards.
func (c *cardsPromptCmd) Run() error {
	_, prompt, err := c.load()
	if err != nil {
		return err
	}
	fmt.Println(prompt)
	return nil
}

type cardsCheckCmd struct {
	File string `arg:"" help:"Markdown file, or - for standard input."`
	cardsFlags
}

// maxChecked bounds the text that is read.
const maxChecked = 8 << 20

// Run prints every part of the text and what becomes of it. Cards that would
// not be shown make it fail.
func (c *cardsCheckCmd) Run() error {
	cfg, _, err := c.load()
	if err != nil {
		return err // without cards every text would pass
	}
	in := io.Reader(os.Stdin)
	if c.File != "-" {
		f, err := os.Open(c.File)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxChecked+1))
	if err != nil {
		return fmt.Errorf("read %s: %w", c.File, err)
	}
	if len(text) > maxChecked {
		return fmt.Errorf("%s is larger than %d bytes", c.File, maxChecked)
	}
	var found []inlay.CardFinding
	if c.proxy() {
		found, err = cfg.CheckProxyCards(c.OwnData, string(text))
	} else {
		found, err = cfg.CheckCards(string(text))
	}
	if err != nil {
		return err
	}
	if failed := printCards(os.Stdout, found); failed > 0 {
		return fmt.Errorf("%d of the cards would not be shown", failed)
	}
	return nil
}

// printCards writes what was found and returns how many cards are not shown.
func printCards(w io.Writer, found []inlay.CardFinding) (failed int) {
	for _, f := range found {
		switch {
		case f.Name == "":
			fmt.Fprintf(w, "text  %d bytes: %s\n", len(f.Text), inLine(f.Text))
		case f.Err != nil:
			failed++
			fmt.Fprintf(w, "FAIL  %s (%s): %s: %v\n      shown in its place: %s\n", f.Name, f.Syntax, f.Reason, f.Err, inLine(f.Source))
		case len(f.IDs) > 0:
			fmt.Fprintf(w, "card  %s (%s): looked up by %s\n", f.Name, f.Syntax, strings.Join(f.IDs, ", "))
		default:
			fmt.Fprintf(w, "card  %s (%s): %s\n", f.Name, f.Syntax, inLine(f.Text))
		}
		if len(f.Dropped) > 0 {
			fmt.Fprintf(w, "      left out, as only the server may say it: %s\n", strings.Join(f.Dropped, ", "))
		}
		if f.Unversioned {
			fmt.Fprintln(w, "      names no version and is taken for 1.0")
		}
	}
	return failed
}

// inLine is the beginning of a text in one line.
func inLine(s string) string {
	const most = 80
	s = fmt.Sprintf("%q", s)
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return s
}
