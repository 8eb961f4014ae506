// Package chat is the terminal client: questions are typed, answers are drawn
// as text, and what can be done with them stands under numbers.
//
// It owns the conversation with the person. It knows the server by package
// client alone and draws by internal/terminal.
package chat

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/client"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/terminal"
)

// Options are what a session is made of.
type Options struct {
	Client   *client.Client
	Renderer *terminal.Renderer
	// Lang is en or zh.
	Lang string
	// In is where lines are typed.
	In io.Reader
	// Out is where answers are written, Err where all else is.
	Out, Err io.Writer
	// Live says that Out and Err are a terminal, whose last line may be written
	// anew.
	Live bool
	// JSON writes the events as JSON lines instead of drawing them.
	JSON bool
	// Conversation is gone on with.
	Conversation string
	// Interrupts has a value for each Ctrl+C.
	Interrupts <-chan struct{}
	// Secret reads a line that is not shown; nil reads it as any other.
	Secret func() (string, error)
}

// Session is one conversation at a terminal.
type Session struct {
	opt          Options
	conversation string
	config       client.Config
	view         *view // the last answer
	choices      []terminal.Choice
	composer     string // a command that Enter sends
	typed        typed

	mu     sync.Mutex // of what is written
	begun  bool       // something was written
	shown  string     // the status line
	noting bool       // the last thing written was a note
}

// ErrLeft is returned when Ctrl+C was pressed twice.
var ErrLeft = errors.New("interrupted")

// errBack ends what was asked for and goes back to the prompt.
var errBack = errors.New("left as it was")

// New returns a Session.
func New(opt Options) *Session {
	s := &Session{opt: opt, conversation: opt.Conversation}
	s.typed.lines = bufio.NewReader(opt.In)
	opt.Client.OnCut = func(err error) {
		if err != nil {
			s.status(s.say("cut"))
		} else {
			s.note(s.say("back"))
		}
	}
	return s
}

// Once asks one question, writes the answer and returns nil if it was one.
func (s *Session) Once(ctx context.Context, question string) error {
	s.typed.off = true
	st, err := s.ask(ctx, question)
	switch {
	case err != nil:
		return err
	case st.Status == event.StatusPaused:
		return errors.New(s.say("pausedOnce", s.conversation))
	case st.Status != event.StatusDone:
		return errors.New(s.outcome(st))
	}
	if s.view != nil && len(s.view.folder.State().Blocks) == 0 && !s.opt.JSON {
		return errors.New(s.say("failedTurn", "–"))
	}
	return nil
}

// Run talks until the input ends.
func (s *Session) Run(ctx context.Context) error {
	if err := s.begin(ctx); err != nil {
		return err
	}
	for {
		line, err := s.read(ctx, "> ", false)
		switch {
		case errors.Is(err, io.EOF), errors.Is(err, errBack):
			s.end()
			return nil
		case err != nil:
			return err
		}
		line = strings.TrimSpace(line)
		composed := s.composer
		s.composer = ""
		if line == "" {
			line = composed
		}
		switch {
		case line == "":
			continue
		case strings.HasPrefix(line, ":"):
			leave, err := s.command(ctx, line)
			if err != nil && !s.survives(err) {
				return err
			}
			if leave {
				s.end()
				return nil
			}
			continue
		}
		if _, err := s.ask(ctx, line); err != nil && !s.survives(err) {
			return err
		}
	}
}

// survives tells of an error that the conversation goes on after.
func (s *Session) survives(err error) bool {
	switch {
	case errors.Is(err, errBack):
		s.note(s.say("left"))
		return true
	case errors.Is(err, io.EOF):
		return true // the next read ends the conversation
	case errors.Is(err, ErrLeft), errors.Is(err, context.Canceled):
		return false
	}
	s.problem(s.Explain(err))
	return true
}

// Explain words an error, with the cure where there is one.
func (s *Session) Explain(err error) string {
	var e *client.Error
	var u *url.Error
	switch {
	case errors.As(err, &e):
		switch {
		case e.Status == http.StatusUnauthorized && s.opt.Client.Token == "":
			return s.say("unauth")
		case e.Code == "turn_running":
			return s.say("busy")
		}
		if text := s.opt.Renderer.Code(e.Code); text != "" {
			return text + " (" + e.Code + ")"
		}
		return oneLine(e.Error())
	case errors.As(err, &u):
		return s.say("unreachable", s.opt.Client.URL) + " " + oneLine(u.Err.Error())
	}
	return oneLine(err.Error())
}

// begin says where one is.
func (s *Session) begin(ctx context.Context) error {
	var err error
	if s.config, err = s.opt.Client.Config(ctx); err != nil {
		return errors.New(s.Explain(err))
	}
	name := s.config.Model.Name
	if s.config.Model.Kind == "scripted" {
		name = s.say("demo")
	}
	s.tell(s.say("hello", oneLine(s.config.Title), oneLine(name)), terminal.Bold)
	s.tell(s.say("hint"), terminal.Dim)
	if s.conversation != "" {
		return s.history(ctx)
	}
	for i, q := range s.config.Suggestions {
		if i < 3 {
			s.tell(s.say("try", oneLine(q.Text)), terminal.Dim)
		}
	}
	return nil
}

// history shows the end of a conversation and reads on where an answer is
// still being written.
func (s *Session) history(ctx context.Context) error {
	list, err := s.opt.Client.Messages(ctx, s.conversation)
	if err != nil {
		return errors.New(s.Explain(err))
	}
	const most = 2
	if n := len(list) - most; n > 0 {
		s.note(s.say("earlier", n))
		list = list[n:]
	}
	for _, m := range list {
		if m.Role == "user" {
			for _, b := range m.Blocks {
				s.block(s.opt.Renderer.Text(s.say("you")+":", terminal.Dim) + s.opt.Renderer.Block(b))
			}
			continue
		}
		s.view = s.newView(m.ID)
		s.view.folder = event.FromSnapshot(m.ID, event.SnapshotData{Blocks: m.Blocks, Seq: m.Seq, Status: m.Status, Error: m.Error, FinishReason: m.FinishReason})
		s.view.last = m.Seq
		s.view.snapshot()
		running := m.Status == event.StatusRunning
		s.view.advance(!running)
		if running {
			st, err := s.consume(ctx, s.view, s.opt.Client.Follow(m.ID, m.Seq))
			if err != nil {
				return err
			}
			s.finish(st)
			continue
		}
		s.finish(s.view.folder.State())
	}
	return nil
}

// command runs a line that begins with a colon.
func (s *Session) command(ctx context.Context, line string) (leave bool, err error) {
	name := strings.ToLower(strings.TrimSpace(line[1:]))
	if n, convErr := strconv.Atoi(name); convErr == nil {
		if n < 1 || n > len(s.choices) {
			s.problem(s.say("noChoice", line))
			return false, nil
		}
		return false, s.choose(ctx, s.choices[n-1])
	}
	switch name {
	case "q", "quit", "exit":
		return true, nil
	case "help", "h", "?":
		s.tell(s.say("help"), terminal.Plain)
	case "again":
		if s.list(); len(s.choices) == 0 {
			s.note(s.say("noChoices"))
		}
	case "new":
		s.conversation, s.view, s.choices = "", nil, nil
		s.note(s.say("new"))
	default:
		s.problem(s.say("badCommand", oneLine(line)))
	}
	return false, nil
}

// ask asks a question and writes its answer.
func (s *Session) ask(ctx context.Context, text string) (event.State, error) {
	s.choices = nil
	stream, err := s.opt.Client.Ask(ctx, client.Question{Conversation: s.conversation, Text: text})
	if err != nil {
		return event.State{}, err
	}
	s.conversation = cmp.Or(stream.Conversation, s.conversation)
	s.view = s.newView(stream.Message)
	st, err := s.consume(ctx, s.view, stream)
	if err != nil {
		return st, err
	}
	s.finish(st)
	return st, nil
}

// consume writes the events of a stream. Ctrl+C stops the turn; a second one
// leaves.
func (s *Session) consume(ctx context.Context, v *view, stream *client.Stream) (event.State, error) {
	reading, leave := context.WithCancelCause(ctx)
	defer leave(nil)
	stopped := make(chan struct{})
	defer close(stopped)
	go func() {
		for n := 0; ; n++ {
			select {
			case <-stopped:
				return
			case <-reading.Done():
				return
			case <-s.opt.Interrupts:
			}
			if n > 0 {
				leave(ErrLeft)
				return
			}
			s.note(s.say("stopping"))
			go func() {
				if err := s.opt.Client.Stop(ctx, v.msg); err != nil && ctx.Err() == nil {
					s.problem(s.Explain(err))
				}
			}()
		}
	}()
	for e, err := range stream.Events(reading) {
		if err != nil {
			s.status("")
			if errors.Is(context.Cause(reading), ErrLeft) {
				return event.State{}, ErrLeft
			}
			return v.folder.State(), err
		}
		v.apply(e)
	}
	s.status("")
	return v.folder.State(), nil
}

// finish says how an answer ended and lists what can be done with it.
func (s *Session) finish(st event.State) {
	if s.opt.JSON {
		s.collect()
		return
	}
	if text := s.outcome(st); text != "" && text != s.view.told && !s.typed.off {
		s.view.told = text
		if st.Status == event.StatusError {
			s.problem(text)
		} else {
			s.note(text)
		}
	}
	s.collect()
	s.list()
}

// outcome words how an answer ended; empty when it just did.
func (s *Session) outcome(st event.State) string {
	switch st.Status {
	case event.StatusError:
		why := ""
		if st.Err != nil {
			why = cmp.Or(s.opt.Renderer.Code(st.Err.Code), oneLine(st.Err.Message)) + " (" + oneLine(st.Err.Code) + ")"
		}
		return s.say("failedTurn", why)
	case event.StatusCancelled:
		return s.say("stopped")
	case event.StatusPaused:
		return s.say("paused")
	}
	switch st.FinishReason {
	case event.FinishLength:
		return s.say("length")
	case event.FinishMaxSteps:
		return s.say("steps")
	case event.FinishContentFilter:
		return s.say("filter")
	}
	return ""
}

// collect gathers what can be done with the last answer.
func (s *Session) collect() {
	s.choices = nil
	if s.view == nil {
		return
	}
	for _, b := range s.view.folder.State().Blocks {
		s.choices = append(s.choices, s.opt.Renderer.Choices(b)...)
	}
}

// list writes the numbers.
func (s *Session) list() {
	if s.typed.off {
		return
	}
	var b strings.Builder
	for i, c := range s.choices {
		b.WriteString(s.opt.Renderer.ChoiceLine(fmt.Sprintf(":%d", i+1), c))
	}
	if b.Len() > 0 {
		s.block(b.String())
	}
}

// destinations are where answers may lead.
func (s *Session) destinations() block.Destinations {
	a := s.config.Allow
	return block.Destinations{Routes: a.Routes, Slash: a.Slash, Modals: a.Modals, Hosts: a.LinkHosts}
}
