package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"

	"github.com/inlay-ui/inlay"
)

const cardsFile = `
cards:
  - name: NoteCard
    schema: { type: object, required: [title], properties: { title: { type: string }, secret: { x-source: server } } }
    example: { title: Remember. }
`

func TestCardsCheck(t *testing.T) {
	dir := t.TempDir()
	config := filepath.Join(dir, "inlay.yaml")
	if err := os.WriteFile(config, []byte(cardsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	cfg, err := inlay.Load(config, nil)
	if err != nil {
		t.Fatal(err)
	}
	found, err := cfg.CheckCards("Look:\n```NoteCard\n{\"title\":\"a note\",\"secret\":1}\n```\n```NoteCard@9\n{}\n```\n")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	if failed := printCards(&out, found); failed != 1 {
		t.Errorf("%d failed", failed)
	}
	const want = `text  6 bytes: "Look:\n"
card  NoteCard (fence): "a note"
      left out, as only the server may say it: /secret
      names no version and is taken for 1.0
FAIL  NoteCard (fence): version_downgrade: NoteCard has no major version 9; the highest is 1
      shown in its place: "` + "```NoteCard@9\\n{}\\n```\\n" + `"
`
	if out.String() != want {
		t.Errorf("%s\nwant\n%s", &out, want)
	}
	text := filepath.Join(dir, "answer.md")
	if err := os.WriteFile(text, []byte("```NoteCard\n{}\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&cardsCheckCmd{File: text, cardsFlags: cardsFlags{Config: config}}).Run(); err == nil || !strings.Contains(err.Error(), "1 of the cards") {
		t.Errorf("%v", err)
	}
	if err := (&cardsPromptCmd{cardsFlags{Config: config}}).Run(); err != nil {
		t.Error(err)
	}
	for _, without := range []interface{ Run() error }{&cardsPromptCmd{}, &cardsCheckCmd{File: text}} {
		if err := without.Run(); err == nil || !strings.Contains(err.Error(), "has no cards") {
			t.Errorf("%T: %v", without, err)
		}
	}
}

// TestCardsOfTheProxy: what a back end behind inlay proxy must know can be
// printed without one, and its text checked.
func TestCardsOfTheProxy(t *testing.T) {
	var c cli
	parser, err := kong.New(&c, kong.Vars{"version": "test", "defaultAddr": inlay.DefaultAddr})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := parser.Parse([]string{"cards", "prompt", "--presets"}); err != nil || !c.Cards.Prompt.Presets {
		t.Fatalf("%v: %+v", err, c.Cards.Prompt)
	}
	_, prompt, err := c.Cards.Prompt.load()
	if err != nil || !strings.Contains(prompt, "## ProductCard") || !strings.Contains(prompt, "## chart") || strings.Contains(prompt, "## TrainCard") || !strings.Contains(prompt, "Filled in by the server: ") {
		t.Errorf("%v\n%s", err, prompt)
	}
	own := cardsFlags{OwnData: true}
	if _, prompt, err = own.load(); err != nil || !strings.Contains(prompt, "## TrainCard") || strings.Contains(prompt, "Filled in by the server") {
		t.Errorf("%v\n%s", err, prompt)
	}
	config := filepath.Join(t.TempDir(), "inlay.yaml")
	if err := os.WriteFile(config, []byte(cardsFile), 0o600); err != nil {
		t.Fatal(err)
	}
	with := cardsFlags{Config: config, Presets: true}
	if _, prompt, err = with.load(); err != nil || !strings.Contains(prompt, "## NoteCard") || strings.Contains(prompt, "ProductCard") {
		t.Errorf("the cards of a configuration are not the ones: %v\n%s", err, prompt)
	}
	text := filepath.Join(t.TempDir(), "answer.md")
	if err := os.WriteFile(text, []byte(prompt+"\n```ProductCard\n{\"title\":5}\n```\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := (&cardsCheckCmd{File: text, cardsFlags: cardsFlags{Presets: true}}).Run(); err == nil || !strings.Contains(err.Error(), "1 of the cards") {
		t.Errorf("%v", err)
	}
	for _, one := range []struct {
		cmd  proxyCmd
		want string
	}{
		{proxyCmd{}, "inlay cards prompt --presets"},
		{proxyCmd{OwnData: true, Config: "a b.yaml"}, `inlay cards prompt --presets --upstream-data --config "a b.yaml"`},
	} {
		if got := one.cmd.hint(); !strings.HasSuffix(got, one.want) {
			t.Errorf("%s", got)
		}
	}
}
