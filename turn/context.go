package turn

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
)

// rules is the part of the system prompt that every installation shares: what
// the model must know of how its answer is shown.
const rules = `Your text is shown as Markdown without HTML. Tools show charts, tables and figures to the user themselves, with real data; what a tool has shown is on the user's screen already. Comment on it, and do not repeat its numbers as a table or list. Use only figures that a tool returned or the user gave; if a tool failed, say so. Never make up data, links or images.`

// system is the system prompt of a turn. reports are what people did since the
// last answer, one line each; cards says how cards are written, if there are any.
func (r *Runner) system(reports []string, cards string) string {
	parts := []string{rules, "Today is " + r.cfg.Now().UTC().Format("2006-01-02") + "."}
	if cards != "" {
		parts = append(parts, cards)
	}
	if len(reports) > 0 {
		parts = append(parts, "Since your last answer the user did this with what was shown. It is done; do not do it again:\n- "+strings.Join(reports, "\n- "))
	}
	if s := strings.TrimSpace(r.cfg.System); s != "" {
		parts = append([]string{s}, parts...)
	}
	return strings.Join(parts, "\n\n")
}

// maxReport is the longest report of what people did that the model is told.
const maxReport = 1 << 10

// report takes what people did with blocks since the last answer.
func (t *run) report(ctx context.Context) {
	lines, err := t.r.cfg.Store.TakeReports(ctx, t.message.Owner, t.message.Conversation)
	if err != nil {
		t.log.Warn("read what was done since the last answer", "err", err)
		return
	}
	for _, l := range lines {
		t.reports = append(t.reports, clip(strings.Join(strings.Fields(l), " "), maxReport))
	}
}

// remind reads the history of a turn that goes on.
func (t *run) remind(ctx context.Context) error {
	var path []store.Message
	if t.given == nil {
		var err error
		if path, err = t.r.cfg.Store.Path(ctx, t.message.Owner, t.message.Conversation, t.message.Parent); err != nil {
			return err
		}
	}
	t.history = history(path, t.given, t.r.pictures(ctx, t.message.Owner, path, nil, nil), t.r.cfg.Limits.ContextBytes, t.r.cfg.Registry)
	t.waiting = t.r.waiting(ctx, path)
	return nil
}

// waiting are the calls that the paused answers of a conversation wait to make,
// and since when.
func (r *Runner) waiting(ctx context.Context, path []store.Message) map[string]string {
	var calls map[string]string
	for _, m := range path {
		if m.Status != event.StatusPaused {
			continue
		}
		s, _, err := r.stateOf(ctx, m.ID)
		if err != nil || s == nil {
			continue // the history says so all the same
		}
		for _, sl := range s.Step {
			if q := sl.Question; q.open() {
				if calls == nil {
					calls = make(map[string]string)
				}
				calls[callKey(q.Tool, q.Args)] = q.Asked.UTC().Format(time.RFC3339)
			}
		}
	}
	return calls
}

// history is what the model reads before it answers: the conversation up to
// and with the question, without its oldest turns where it is longer than
// most bytes. A turn, with its calls and their results, is kept whole or left
// out. pictures are shown with the messages they belong to.
func history(path []store.Message, given []model.Message, pictures map[string][]model.Image, most int, reg *block.Registry) []model.Message {
	if given != nil {
		return fit(turnsOf(given), most)
	}
	var turns [][]model.Message
	for _, m := range path {
		turns = add(turns, m, pictures[m.ID], reg)
	}
	return fit(turns, most)
}

func add(turns [][]model.Message, m store.Message, pictures []model.Image, reg *block.Registry) [][]model.Message {
	var said []model.Message
	if len(m.Exchange) > 0 {
		if json.Unmarshal(m.Exchange, &said) != nil {
			said = nil
		}
	}
	if m.Role == store.RoleUser {
		asked := model.Message{Role: model.RoleUser}
		if len(said) == 1 {
			asked.Content = said[0].Content
		} else {
			asked.Content = textOf(m, reg)
		}
		asked.Images = pictures
		return append(turns, []model.Message{asked})
	}
	if len(turns) == 0 {
		turns = append(turns, nil)
	}
	last := len(turns) - 1
	if len(said) > 0 {
		turns[last] = append(turns[last], said...)
		return turns
	}
	if text := textOf(m, reg); text != "" {
		turns[last] = append(turns[last], model.Message{Role: model.RoleAssistant, Content: text})
	}
	return turns
}

func textOf(m store.Message, reg *block.Registry) string {
	var parts []string
	for _, b := range m.Blocks {
		if s := reg.Text(b); s != "" {
			parts = append(parts, s)
		}
	}
	return strings.Join(parts, "\n\n")
}

// turnsOf cuts a flat list into turns, each begun by a user message.
func turnsOf(list []model.Message) [][]model.Message {
	var turns [][]model.Message
	for _, m := range list {
		if m.Role == model.RoleUser || len(turns) == 0 {
			turns = append(turns, nil)
		}
		turns[len(turns)-1] = append(turns[len(turns)-1], m)
	}
	return turns
}

// fit joins the newest turns that fit; the last one always stays, and so do
// instructions before the first question.
func fit(turns [][]model.Message, most int) []model.Message {
	var out []model.Message
	if len(turns) > 0 {
		for len(turns[0]) > 0 && turns[0][0].Role == model.RoleSystem {
			out = append(out, turns[0][0])
			most -= sizeOf(turns[0][0])
			turns = append([][]model.Message{turns[0][1:]}, turns[1:]...)
		}
	}
	first, size := len(turns), 0
	for first > 0 {
		n := 0
		for _, m := range turns[first-1] {
			n += sizeOf(m)
		}
		if size+n > most && first < len(turns) {
			break
		}
		size += n
		first--
	}
	for _, t := range turns[first:] {
		out = append(out, t...)
	}
	return out
}

func sizeOf(m model.Message) int {
	n := len(m.Content) + len(m.Reasoning) + 16
	for _, c := range m.Calls {
		n += len(c.Name) + len(c.Arguments)
	}
	return n
}

// lastUser is the text of the last user message.
func lastUser(list []model.Message) string {
	for i := len(list) - 1; i >= 0; i-- {
		if list[i].Role == model.RoleUser {
			return list[i].Content
		}
	}
	return ""
}

// answered gives every call of the exchange a result: a call without one makes
// endpoints refuse the whole conversation.
func answered(list []model.Message) []model.Message {
	have := make(map[string]bool)
	for _, m := range list {
		if m.Role == model.RoleTool {
			have[m.CallID] = true
		}
	}
	var out []model.Message
	for i, m := range list {
		out = append(out, m)
		if len(m.Calls) == 0 {
			continue
		}
		// Results follow their calls: what is missing goes behind what is there.
		if i+1 < len(list) && list[i+1].Role == model.RoleTool {
			continue
		}
		for _, c := range m.Calls {
			if !have[c.ID] {
				out = append(out, model.Message{Role: model.RoleTool, CallID: c.ID, Content: "error: CANCELLED The call was cancelled by the user and may or may not have run."})
			}
		}
	}
	return out
}
