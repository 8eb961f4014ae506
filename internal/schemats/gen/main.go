// Command gen publishes the JSON Schemas of the built-in blocks and of the
// presets under schema/ and writes the TypeScript types made from them. Run it by `go generate
// ./schema`.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/schemats"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, "gen:", err)
		os.Exit(1)
	}
}

// run works in the directory schema/, where go generate starts it.
func run() error {
	for dir, files := range map[string]fs.FS{"blocks": block.Schemas(), "presets": block.PresetSchemas()} {
		names, err := fs.Glob(files, "*.json")
		if err != nil {
			return err
		}
		for _, name := range names {
			b, err := fs.ReadFile(files, name)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
				return err
			}
		}
	}
	ts, err := schemats.Payloads()
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join("..", "web", "packages", "client", "src", "payloads.gen.ts"), ts, 0o644)
}
