package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// process is a server under measurement.
type process struct {
	*client
	cmd     *exec.Cmd
	base    string
	control string // of our own server
}

// start runs a server and waits until it says that it is ready.
func start(dir, name string, args ...string) (*process, error) {
	cmd := exec.Command(name, args...)
	cmd.Env = append(os.Environ(), "NODE_ENV=production")
	log, err := os.Create(dir + "/server.log")
	if err != nil {
		return nil, err
	}
	defer log.Close()
	cmd.Stderr = log
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	p := &process{cmd: cmd}
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) < 2 || words[0] != "ready" {
		p.stop()
		return nil, fmt.Errorf("start %s: said %q: %w", name, line, err)
	}
	p.base = words[1]
	if len(words) > 2 {
		p.control = words[2]
	}
	p.client, err = newClient(p.base)
	return p, err
}

func (p *process) stop() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM)
	gone := time.AfterFunc(3*time.Second, func() { _ = p.cmd.Process.Kill() })
	_ = p.cmd.Wait()
	gone.Stop()
}

// cpu returns the time that the process has used.
func (p *process) cpu() (time.Duration, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	// The name in parentheses may hold spaces.
	f := strings.Fields(string(b[strings.LastIndexByte(string(b), ')')+1:]))
	user, err := strconv.ParseInt(f[11], 10, 64)
	if err != nil {
		return 0, err
	}
	system, err := strconv.ParseInt(f[12], 10, 64)
	if err != nil {
		return 0, err
	}
	return time.Duration(user+system) * (time.Second / 100), nil
}

// rss returns the resident memory in bytes.
func (p *process) rss() (int64, error) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/statm", p.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	pages, err := strconv.ParseInt(strings.Fields(string(b))[1], 10, 64)
	return pages * int64(os.Getpagesize()), err
}

// settled returns the resident memory once it has stopped growing.
func (p *process) settled() (int64, error) {
	last, err := p.rss()
	for range 20 {
		if err != nil {
			return 0, err
		}
		time.Sleep(500 * time.Millisecond)
		var now int64
		now, err = p.rss()
		if now-last < 256<<10 {
			return now, err
		}
		last = now
	}
	return last, err
}

// openGate lets the answers go on that wait for it.
func (p *process) openGate() error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodPost, p.control+"/open", nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	return res.Body.Close()
}

// memory writes what our server says of its own memory, and its heap profile,
// to a directory.
func (p *process) memory(dir, name string) error {
	for file, path := range map[string]string{".txt": "/memory", ".heap": "/debug/pprof/heap?gc=1", ".goroutines": "/debug/pprof/goroutine"} {
		if err := save(filepath.Join(dir, name+file), p.control+path); err != nil {
			return err
		}
	}
	return nil
}

// save fetches a URL into a file.
func save(file, url string) error {
	req, err := http.NewRequestWithContext(context.Background(), http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, res.Body)
	return errors.Join(err, out.Close())
}
