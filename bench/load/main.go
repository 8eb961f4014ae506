// Command load puts load on servers that it starts, its own product's and its
// peers', and writes what they used. It is a process of its own so that what
// it costs is not counted.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// bench is where things are and what is measured.
type bench struct {
	results
	out string // directory of results
	bin string // directory of our binaries
	// node and peer are the program and script of the other side; without
	// them only our own side is measured.
	node, peer string
	// profile has profiles of our server written beside the results.
	profile bool
}

// items are the measurements by name, in the order they run.
var items = []struct {
	name string
	run  func(*bench) error
}{
	{"path", (*bench).wholePath},
	{"memory", (*bench).memory},
	{"idle", (*bench).idle},
	{"latency", (*bench).latency},
	{"store", (*bench).storeCost},
	{"writer", (*bench).writer},
	{"resume", (*bench).resume},
	{"recommender", (*bench).recommender},
}

func main() {
	b := &bench{}
	flag.StringVar(&b.out, "out", "bench/out", "directory of the results")
	flag.StringVar(&b.bin, "bin", "bench/out/bin", "directory of the servers")
	flag.StringVar(&b.node, "node", "", "node program; empty leaves the peer out")
	flag.StringVar(&b.peer, "peer", "bench/peer/server.mjs", "the peer's script")
	flag.BoolVar(&b.profile, "profile", false, "write CPU profiles of our server beside the results")
	only := flag.String("only", "", "items to measure, separated by commas; empty means all")
	gobench := flag.Bool("gobench", false, "turn the output of go test -bench on stdin into figures on stdout")
	report := flag.Bool("report", false, "print the table instead of measuring")
	flag.Parse()
	b.results.path = filepath.Join(b.out, "figures.jsonl")
	if *gobench {
		if err := goBench(os.Stdin, os.Stdout); err != nil {
			fmt.Fprintln(os.Stderr, "load:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(b, *only, *report); err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(1)
	}
}

func run(b *bench, only string, report bool) error {
	if report {
		missed, err := b.report()
		if err == nil && missed > 0 {
			err = fmt.Errorf("%d bars missed", missed)
		}
		return err
	}
	var errs []error
	for _, item := range items {
		if only != "" && !slices.Contains(strings.Split(only, ","), item.name) {
			continue
		}
		fmt.Fprintln(os.Stderr, "measuring", item.name)
		if err := item.run(b); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", item.name, err))
		}
	}
	return errors.Join(errs...)
}

// ours starts our server.
func (b *bench) ours(args ...string) (*process, error) {
	return start(b.out, filepath.Join(b.bin, "server"), args...)
}
