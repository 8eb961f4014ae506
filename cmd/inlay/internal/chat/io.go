package chat

import (
	"bufio"
	"context"
	"io"
	"strings"

	"github.com/inlay-ui/inlay/internal/terminal"
)

// typed reads lines one at a time, and only when one is wanted: between two of
// them the terminal is nobody's.
type typed struct {
	lines   *bufio.Reader
	waiting chan answer // of a read that an interrupt has left behind
	off     bool        // nobody types: one question is answered, and Out has the answer alone
}

type answer struct {
	line string
	err  error
}

// read asks for a line. Ctrl+C gives errBack.
func (s *Session) read(ctx context.Context, prompt string, secret bool) (string, error) {
	s.prompt(prompt)
	if s.typed.waiting == nil {
		got := make(chan answer, 1)
		s.typed.waiting = got
		go func() {
			if secret && s.opt.Secret != nil {
				line, err := s.opt.Secret()
				got <- answer{line, err}
				return
			}
			line, err := s.typed.lines.ReadString('\n')
			if err == io.EOF && line != "" {
				err = nil
			}
			got <- answer{strings.TrimRight(line, "\r\n"), err}
		}()
	}
	select {
	case a := <-s.typed.waiting:
		s.typed.waiting = nil
		s.mu.Lock()
		s.noting = true
		s.mu.Unlock()
		return a.line, a.err
	case <-s.opt.Interrupts:
		s.end()
		return "", errBack
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// prompt writes what stands before what is typed.
func (s *Session) prompt(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if text == "> " && s.begun {
		text = "\n" + text
	}
	write(s.opt.Err, text)
}

// block writes a part of an answer, with an empty line before it.
func (s *Session) block(text string) {
	if text == "" || s.opt.JSON {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.begun {
		text = "\n" + text
	}
	s.begun, s.noting = true, false
	write(s.opt.Out, text)
	s.redraw()
}

// print writes a line that belongs to what stands above it.
func (s *Session) print(text string) {
	if s.opt.JSON {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.begun, s.noting = true, true
	write(s.opt.Out, text)
	s.redraw()
}

// raw writes a line as it is.
func (s *Session) raw(b []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	write(s.opt.Out, string(b))
}

// tell writes words of the session's own.
func (s *Session) tell(text string, style terminal.Style) {
	s.show(s.opt.Renderer.Text(text, style))
}

// show writes beside the answer what is drawn already.
func (s *Session) show(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	s.begun = s.begun || !s.typed.off
	write(s.opt.Err, text)
	s.redraw()
}

// note writes a quiet line.
func (s *Session) note(text string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	if s.begun && !s.noting && s.opt.Live {
		write(s.opt.Err, "\n")
	}
	s.begun, s.noting = s.begun || !s.typed.off, true
	write(s.opt.Err, s.opt.Renderer.Text(text, terminal.Dim))
	s.redraw()
}

// problem writes what went wrong.
func (s *Session) problem(text string) {
	s.status("")
	s.tell("✗ "+text, terminal.Danger)
}

// status shows in the last line of a terminal what is going on.
func (s *Session) status(text string) {
	if !s.opt.Live || s.opt.JSON {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if text = oneLine(text); text == s.shown {
		return
	}
	s.clear()
	s.shown = text
	s.redraw()
}

// clear takes the status line away; the lock is held.
func (s *Session) clear() {
	if s.shown != "" {
		write(s.opt.Err, "\r\x1b[K")
	}
}

// redraw writes the status line again; the lock is held.
func (s *Session) redraw() {
	if s.shown != "" {
		write(s.opt.Err, strings.TrimRight(s.opt.Renderer.Status("… "+s.shown), "\n"))
	}
}

// end leaves the line of the prompt.
func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clear()
	write(s.opt.Err, "\n")
}

// write writes to a terminal or a pipe; when that is gone nobody is there to be
// told.
func write(w io.Writer, s string) { _, _ = io.WriteString(w, s) }
