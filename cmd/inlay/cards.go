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

type cardsPromptCmd struct {
	Config string `help:"YAML file." type:"existingfile" placeholder:"FILE"`
}

// Run prints the part of the system prompt that is made of the cards.
func (c *cardsPromptCmd) Run() error {
	cfg, err := inlay.Load(c.Config, os.Environ())
	if err != nil {
		return err
	}
	prompt, err := cardPrompt(cfg)
	if err != nil {
		return err
	}
	fmt.Println(prompt)
	return nil
}

// cardPrompt returns what the model is told of the cards, of which there must
// be some.
func cardPrompt(cfg inlay.Config) (string, error) {
	prompt, err := cfg.CardPrompt()
	if err == nil && prompt == "" {
		err = errors.New("the configuration has no cards that could be written: see the sections cards and agent.embed")
	}
	return prompt, err
}

type cardsCheckCmd struct {
	File   string `arg:"" help:"Markdown file, or - for standard input."`
	Config string `help:"YAML file with the cards." type:"existingfile" placeholder:"FILE"`
}

// maxChecked bounds the text that is read.
const maxChecked = 8 << 20

// Run prints every part of the text and what becomes of it. Cards that would
// not be shown make it fail.
func (c *cardsCheckCmd) Run() error {
	cfg, err := inlay.Load(c.Config, os.Environ())
	if err != nil {
		return err
	}
	if _, err := cardPrompt(cfg); err != nil {
		return err // every text would pass
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
	found, err := cfg.CheckCards(string(text))
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
