package chat

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/client"
	"github.com/inlay-ui/inlay/internal/terminal"
)

// choose does what stands under a number.
func (s *Session) choose(ctx context.Context, c terminal.Choice) error {
	r := s.opt.Renderer
	switch c.Kind {
	case terminal.ChoiceAct:
		return s.send(ctx, c, c.Payload, nil)
	case terminal.ChoiceFill:
		return s.fill(ctx, c)
	case terminal.ChoiceAnswer:
		payload, err := s.answer(ctx, c)
		if err != nil {
			return err
		}
		return s.send(ctx, c, payload, nil)
	case terminal.ChoiceRow:
		var b strings.Builder
		for i, row := range c.Rows {
			b.WriteString(r.ChoiceLine(fmt.Sprintf("%4d", i+1), terminal.Choice{Label: row.Label}))
		}
		s.block(b.String())
		for {
			line, err := s.read(ctx, s.say("rowAsk")+" ", false)
			if err != nil {
				return err
			}
			if line = strings.TrimSpace(line); line == "" {
				return errBack
			}
			if n, err := strconv.Atoi(line); err == nil && n >= 1 && n <= len(c.Rows) {
				return s.send(ctx, c, c.Rows[n-1].Payload, nil)
			}
			s.problem(s.say("badRow"))
		}
	case terminal.ChoiceRetry, terminal.ChoiceRefresh:
		begin := s.opt.Client.Retry
		if c.Kind == terminal.ChoiceRefresh {
			begin = s.opt.Client.Refresh
		}
		stream, err := begin(ctx, c.Block.ID)
		if err != nil {
			return err
		}
		return s.follow(ctx, s.view, stream)
	case terminal.ChoiceLink:
		s.lead(block.Target{Kind: block.TargetExternal, Value: c.Action.Href})
	case terminal.ChoiceFollow:
		s.lead(c.Target)
	}
	return nil
}

// lead goes where a button leads, as far as a terminal can.
func (s *Session) lead(to block.Target) {
	if err := s.destinations().Allows(to); err != nil {
		s.problem(s.say("notAllowed", oneLine(to.Value)))
		return
	}
	switch to.Kind {
	case block.TargetSlash:
		s.composer = to.Value
		s.note(s.say("composer", oneLine(to.Value)))
	case block.TargetRoute:
		s.note(s.say("address", oneLine(strings.TrimSuffix(s.opt.Client.URL, "/")+to.Value)))
	case block.TargetExternal:
		s.note(s.say("address", oneLine(to.Value)))
	default:
		s.note(s.say("page", oneLine(to.Value)))
	}
}

// sure asks whether something is to be done.
func (s *Session) sure(ctx context.Context, question string) (bool, error) {
	line, err := s.read(ctx, strings.TrimRight(s.opt.Renderer.Text(s.say("sure", oneLine(question)), terminal.Bold), "\n")+" ", false)
	if err != nil {
		return false, err
	}
	switch strings.ToLower(strings.TrimSpace(line)) {
	case "y", "yes", "是", "确认":
		return true, nil
	}
	return false, nil
}

// send runs an action and writes what comes of it. refused, if set, is asked
// what to do about values that the server does not take.
func (s *Session) send(ctx context.Context, c terminal.Choice, payload map[string]any, refused func([]client.Violation) error) error {
	if text := c.Action.Confirm; text != "" {
		ok, err := s.sure(ctx, text)
		if err != nil {
			return err
		}
		if !ok {
			return errBack
		}
	}
	call := client.Call{
		Message: s.view.msg, Block: c.Block.ID, Action: c.Action.ID, Payload: payload, Key: client.NewKey(),
	}
	for try := 0; ; try++ {
		out, err := s.opt.Client.Act(ctx, call)
		if err == nil {
			return s.came(ctx, c, out)
		}
		var e *client.Error
		if !errors.As(err, &e) {
			if try < 2 && ctx.Err() == nil { // the same key: it is done once
				continue
			}
			return err
		}
		switch e.Code {
		case "confirmation_required":
			var d client.Confirmation
			if jsonErr := json.Unmarshal(e.Details, &d); jsonErr != nil || d.ConfirmToken == "" {
				return err
			}
			// What was just agreed to in the same words is not asked twice.
			if d.Text != c.Action.Confirm || call.ConfirmToken != "" {
				ok, askErr := s.sure(ctx, cmp.Or(d.Text, c.Label))
				if askErr != nil {
					return askErr
				}
				if !ok {
					return errBack
				}
			}
			if call.ConfirmToken = d.ConfirmToken; try > 5 {
				return err
			}
			continue
		case "action_payload_invalid":
			if list := e.Violations(); len(list) > 0 && refused != nil {
				return refused(list)
			}
			for _, v := range e.Violations() {
				s.problem(oneLine(strings.TrimPrefix(v.Path, "/") + ": " + v.Message))
			}
			return err
		case "action_failed":
			return errors.New(cmp.Or(failureOf(e), e.Message))
		}
		return err
	}
}

// failureOf is what an action says of its failure.
func failureOf(e *client.Error) string {
	var d struct {
		Feedback block.Feedback `json:"feedback"`
	}
	_ = json.Unmarshal(e.Details, &d) // an error without details has no feedback
	switch said := d.Feedback.FailureToast; {
	case said == "" || said == e.Message || e.Message == e.Code:
		return said
	default:
		return said + " " + e.Message
	}
}

// came writes what came of an action: its words, and what it changed.
func (s *Session) came(ctx context.Context, c terminal.Choice, out client.Outcome) error {
	if out.Message != "" && out.Message != s.view.msg {
		// A prompt: the next turn.
		s.conversation = cmp.Or(out.Conversation, s.conversation)
		s.view = s.newView(out.Message)
		return s.follow(ctx, s.view, s.opt.Client.Follow(out.Message, 0))
	}
	said := ""
	if out.Feedback != nil {
		said = out.Feedback.SuccessText
	}
	if said == "" && c.Action.Feedback != nil && out.Status == "done" {
		said = c.Action.Feedback.SuccessText
	}
	// The log has the new state of the block, and what was appended.
	err := s.follow(ctx, s.view, s.opt.Client.Follow(s.view.msg, s.view.last))
	switch {
	case err != nil:
		return err
	case out.Status == "unknown":
		s.problem(s.say("unknown"))
	case out.Status == "done" && said == "" && c.Action.Kind == block.ActionAPI && len(out.Result) > 0 && out.Block == nil:
		s.note(s.say("done"))
	case out.Status == "done" && said != "":
		s.note("✓ " + oneLine(said))
	}
	return nil
}

// follow writes what is appended to a message.
func (s *Session) follow(ctx context.Context, v *view, stream *client.Stream) error {
	st, err := s.consume(ctx, v, stream)
	if err != nil {
		return err
	}
	s.finish(st)
	return nil
}

// answer asks for options, or for words.
func (s *Session) answer(ctx context.Context, c terminal.Choice) (map[string]any, error) {
	if len(c.Options) > 0 {
		var b strings.Builder
		for i, o := range c.Options {
			b.WriteString(s.opt.Renderer.ChoiceLine(fmt.Sprintf("%4d", i+1), terminal.Choice{Label: oneLine(o.Label), Of: oneLine(o.Description)}))
		}
		s.block(b.String())
	}
	ask := "own"
	switch {
	case len(c.Options) > 0 && c.AllowText:
		ask = "ownOr"
	case len(c.Options) > 0:
		ask = "pickSome"
	}
	for {
		line, err := s.read(ctx, s.say(ask)+" ", false)
		if err != nil {
			return nil, err
		}
		if line = strings.TrimSpace(line); line == "" {
			return nil, errBack
		}
		if chosen, ok := picked(line, c.Options); ok && (c.Multiple || len(chosen) == 1) {
			return map[string]any{"choices": chosen}, nil
		}
		if c.AllowText || len(c.Options) == 0 {
			return map[string]any{"text": line}, nil
		}
		s.problem(s.say("badRow"))
	}
}

// picked reads numbers of options.
func picked(line string, options []block.QuestionOption) ([]any, bool) {
	var ids []any
	seen := make(map[int]bool)
	for _, part := range strings.FieldsFunc(line, func(r rune) bool { return strings.ContainsRune(" ,，、", r) }) {
		n, err := strconv.Atoi(part)
		if err != nil || n < 1 || n > len(options) {
			return nil, false
		}
		if !seen[n] {
			seen[n] = true
			ids = append(ids, options[n-1].ID)
		}
	}
	return ids, len(ids) > 0
}

// maxRounds is how often a form is sent before one is left alone with it.
const maxRounds = 10

// fill asks for the fields of a form one by one and sends their values. Fields
// that the server does not take are asked for again.
func (s *Session) fill(ctx context.Context, c terminal.Choice) error {
	values := make(map[string]any)
	for _, from := range []map[string]any{c.Payload, c.Defaults} {
		if from == nil {
			continue
		}
		raw, err := json.Marshal(from)
		if err != nil {
			return fmt.Errorf("values of %s: %w", c.Label, err)
		}
		d := json.NewDecoder(strings.NewReader(string(raw)))
		d.UseNumber()
		if err := d.Decode(&values); err != nil {
			return fmt.Errorf("values of %s: %w", c.Label, err)
		}
	}
	asked := make(map[string]bool)
	for range maxRounds {
		if err := s.fields(ctx, c, values, asked); err != nil {
			return err
		}
		var wrong []client.Violation
		err := s.send(ctx, c, values, func(list []client.Violation) error {
			wrong = list
			return nil
		})
		if err != nil || wrong == nil {
			return err
		}
		s.problem(s.say("again"))
		fields := c.Fields
		if fields == nil {
			fields = terminal.Fields(c.Schema, c.UI, c.Defaults, values)
		}
		again := make(map[string]bool)
		for _, v := range wrong {
			label := strings.TrimPrefix(v.Path, "/")
			f, ok := terminal.FieldNamed(fields, v.Path)
			if !ok {
				// Of the whole form, or of a field that is missing: its name
				// stands in the message.
				for _, one := range fields {
					if one.At(values) == nil && one.Required {
						again[one.Pointer()] = true
					}
				}
			} else {
				label = f.Label
				again[f.Pointer()] = true
			}
			s.problem(oneLine(strings.TrimPrefix(label+": "+v.Message, ": ")))
		}
		if len(again) == 0 {
			clear(asked)
		}
		for p := range again {
			delete(asked, p)
		}
	}
	return errors.New(s.say("tooOften"))
}

// fields asks for what has not been asked for. What is answered may bring up
// further fields.
func (s *Session) fields(ctx context.Context, c terminal.Choice, values map[string]any, asked map[string]bool) error {
	for {
		list := c.Fields
		if list == nil {
			list = terminal.Fields(c.Schema, c.UI, c.Defaults, values)
		}
		var next *terminal.Field
		for i := range list {
			if !asked[list[i].Pointer()] {
				next = &list[i]
				break
			}
		}
		if next == nil {
			return nil
		}
		asked[next.Pointer()] = true
		if err := s.field(ctx, *next, values); err != nil {
			return err
		}
	}
}

func (s *Session) field(ctx context.Context, f terminal.Field, values map[string]any) error {
	r := s.opt.Renderer
	keep := f.At(values)
	if keep == nil {
		keep = f.Default
	}
	s.show(r.Question(f, keep))
	if f.Kind == terminal.FieldFile {
		if f.Required && keep == nil {
			return errors.New(s.say("noFile"))
		}
		return nil
	}
	for {
		typed, err := s.read(ctx, "  ", f.Secret)
		if err != nil {
			return err
		}
		v, wrong := r.Answer(f, typed, keep)
		if wrong == "" {
			f.Set(values, v)
			return nil
		}
		s.problem(wrong)
	}
}
