package block

import (
	"encoding/json"
	"fmt"
	"strings"
)

// Code is the payload of a code block.
type Code struct {
	// Lang is the name of the language, such as go; text for none.
	Lang     string `json:"lang"`
	Source   string `json:"source"`
	Filename string `json:"filename,omitempty"`
}

func codeType() Type {
	return Type{
		Name:        "code",
		Version:     1,
		Class:       ClassDisplay,
		Source:      SourceBuiltin,
		Description: "Source code.",
		Schema:      builtinSchema("code.v1.json"),
		Height:      160,
		Fallback:    codeText,
		Markdown:    codeMarkdown,
		Summary:     codeSummary,
	}
}

func codeText(payload json.RawMessage) string {
	var c Code
	if json.Unmarshal(payload, &c) != nil {
		return "[code]"
	}
	if c.Filename != "" {
		return oneLine(c.Filename) + "\n" + c.Source
	}
	if c.Source == "" {
		return "[" + c.Lang + "]"
	}
	return c.Source
}

func codeMarkdown(payload json.RawMessage) string {
	var c Code
	if json.Unmarshal(payload, &c) != nil {
		return "[code]"
	}
	head := ""
	if c.Filename != "" {
		head = "**" + markdownText(c.Filename) + "**\n\n"
	}
	return head + fenced(c.Lang, c.Source)
}

// fenced writes a source as a fenced block. The fence is longer than any run
// of backticks in it.
func fenced(lang, source string) string {
	longest, run := 2, 0
	for i := range len(source) {
		if source[i] == '`' {
			run++
			longest = max(longest, run)
		} else {
			run = 0
		}
	}
	fence := strings.Repeat("`", longest+1)
	s := fence + lang + "\n" + source
	if !strings.HasSuffix(source, "\n") {
		s += "\n"
	}
	return s + fence + "\n"
}

func codeSummary(payload json.RawMessage) string {
	var c Code
	if json.Unmarshal(payload, &c) != nil {
		return "[code]"
	}
	lines := strings.Count(c.Source, "\n")
	if c.Source != "" && !strings.HasSuffix(c.Source, "\n") {
		lines++
	}
	s := fmt.Sprintf("lang: %s\nlines: %d", c.Lang, lines)
	if c.Filename != "" {
		s = "title: " + oneLine(c.Filename) + "\n" + s
	}
	return s
}
