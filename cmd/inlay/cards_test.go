package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

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
	if err := (&cardsCheckCmd{File: text, Config: config}).Run(); err == nil || !strings.Contains(err.Error(), "1 of the cards") {
		t.Errorf("%v", err)
	}
	if err := (&cardsPromptCmd{Config: config}).Run(); err != nil {
		t.Error(err)
	}
	for _, without := range []interface{ Run() error }{&cardsPromptCmd{}, &cardsCheckCmd{File: text}} {
		if err := without.Run(); err == nil || !strings.Contains(err.Error(), "has no cards") {
			t.Errorf("%T: %v", without, err)
		}
	}
}
