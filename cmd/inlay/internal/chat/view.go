package chat

import (
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/terminal"
)

// view writes one message while it arrives. Blocks are written in their order,
// each when it is complete; text by paragraphs.
type view struct {
	s      *Session
	msg    string
	folder *event.Folder
	order  []string
	known  map[string]bool
	texts  map[string]*strings.Builder
	used   int             // bytes of the current text block that are written
	next   int             // the first block of order that is not written
	again  map[string]bool // written blocks that are filled anew
	rev    map[string]int
	titles map[string]string // of the calls that run
	last   uint64
	told   string // how it ended, as far as that was said
}

func (s *Session) newView(msg string) *view {
	return &view{
		s: s, msg: msg, folder: event.NewFolder(msg), known: make(map[string]bool), texts: make(map[string]*strings.Builder),
		again: make(map[string]bool), rev: make(map[string]int), titles: make(map[string]string),
	}
}

// apply takes one event and writes what it completes.
func (v *view) apply(e event.Event) {
	if e.Seq <= v.last {
		return
	}
	v.last = e.Seq
	v.folder.Apply(e)
	if v.s.opt.JSON {
		v.s.raw(appendJSON(nil, e))
		return
	}
	if e.Block != "" && !v.known[e.Block] {
		if _, ok := v.folder.Block(e.Block); ok {
			v.known[e.Block] = true
			v.order = append(v.order, e.Block)
		}
	}
	switch e.Type {
	case event.Snapshot:
		v.snapshot()
	case event.TextDelta:
		v.quiet()
		var d event.TextDeltaData
		if json.Unmarshal(e.Data, &d) == nil {
			v.text(e.Block).WriteString(d.Delta)
		}
	case event.BlockStart:
		if v.written(e.Block) {
			v.again[e.Block] = true
		}
		if b, ok := v.folder.Block(e.Block); ok && b.Meta != nil {
			v.s.status(b.Meta.Title)
		}
	case event.BlockDelta:
		if b, ok := v.folder.Block(e.Block); ok && !v.written(e.Block) && (b.Type == "file" || b.Type == "steps") && v.s.opt.Live {
			v.s.status(lastLine(v.s.opt.Renderer.Block(b)))
		}
	case event.BlockEnd, event.BlockError:
		v.quiet()
		if v.again[e.Block] {
			delete(v.again, e.Block)
			if b, ok := v.folder.Block(e.Block); ok {
				v.block(b)
			}
		}
	case event.BlockState:
		if b, ok := v.folder.Block(e.Block); ok && v.written(e.Block) && b.Rev != v.rev[e.Block] && !strings.Contains(string(b.State), `"submitting"`) {
			v.rev[e.Block] = b.Rev
			if text := v.s.opt.Renderer.State(b); text != "" {
				v.s.print(text)
			}
		}
	case event.ToolCallStart, event.SubToolStart, event.ToolCallEnd, event.SubToolEnd:
		v.tool(e)
	}
	v.advance(e.Type.Terminal())
}

func (v *view) text(id string) *strings.Builder {
	b := v.texts[id]
	if b == nil {
		b = new(strings.Builder)
		v.texts[id] = b
	}
	return b
}

func (v *view) written(id string) bool {
	for _, one := range v.order[:min(v.next, len(v.order))] {
		if one == id {
			return true
		}
	}
	return false
}

// snapshot takes the place of events that the server has forgotten.
func (v *view) snapshot() {
	for _, b := range v.folder.State().Blocks {
		if !v.known[b.ID] {
			v.known[b.ID] = true
			v.order = append(v.order, b.ID)
		}
		var text string
		if b.Type == "text" && json.Unmarshal(b.Payload, &text) == nil {
			v.text(b.ID).Reset()
			v.text(b.ID).WriteString(text)
		}
	}
}

// advance writes what can be written. At the end of a group nothing waits any
// more.
func (v *view) advance(end bool) {
	for v.next < len(v.order) {
		id := v.order[v.next]
		b, ok := v.folder.Block(id)
		if !ok {
			v.next++
			continue
		}
		open := b.Status == block.StatusLoading && !end
		if b.Type == "text" {
			rest := v.text(id).String()[min(v.used, v.text(id).Len()):]
			n := len(rest)
			if open {
				n = paragraphs(rest)
			}
			v.used += n
			if ready := rest[:n]; strings.TrimSpace(ready) != "" {
				v.s.block(v.s.opt.Renderer.Markdown(ready))
			}
			if open {
				return
			}
			if b.Err != nil {
				v.block(block.Block{ID: b.ID, Type: "text", Version: 1, Status: b.Status, Err: b.Err})
			}
		} else if open {
			return
		} else {
			v.block(b)
		}
		v.used = 0
		v.next++
	}
}

func (v *view) block(b block.Block) {
	v.rev[b.ID] = b.Rev
	v.s.block(v.s.opt.Renderer.Block(b))
}

// quiet takes the status away, or has it name a call that still runs.
func (v *view) quiet() {
	for _, name := range v.titles {
		v.s.status(name)
		return
	}
	v.s.status("")
}

// tool says in one line what the tools do.
func (v *view) tool(e event.Event) {
	var d event.ToolCallData
	if json.Unmarshal(e.Data, &d) != nil {
		return
	}
	name := d.Title
	if name == "" {
		name = v.titles[d.ToolCallID]
	}
	if name == "" {
		name = d.Name
	}
	name = oneLine(name)
	switch e.Type {
	case event.ToolCallStart, event.SubToolStart:
		v.titles[d.ToolCallID] = name
		v.s.status(name)
	default:
		delete(v.titles, d.ToolCallID)
		v.quiet()
		mark := "· "
		if d.Status == event.ToolError {
			mark = "✗ "
		}
		line := mark + name
		if d.DurationMs >= 100 {
			line += fmt.Sprintf(" · %s s", strconv.FormatFloat(float64(d.DurationMs)/1000, 'f', 1, 64))
		}
		v.s.note(line)
	}
}

// paragraphs is how many bytes of an unfinished text are whole paragraphs: what
// follows cannot change them. A blank line within a fence or before an indented
// line ends none.
func paragraphs(s string) int {
	whole, at, fence := 0, 0, ""
	blank := false
	for at < len(s) {
		end := strings.IndexByte(s[at:], '\n')
		if end < 0 {
			// The last line may go on: it is only known to be no indentation.
			if blank && fence == "" && s[at] != ' ' && s[at] != '\t' {
				whole = at
			}
			break
		}
		text := s[at : at+end]
		trimmed := strings.TrimSpace(text)
		switch {
		case fence != "":
			if strings.HasPrefix(trimmed, fence) && strings.Trim(trimmed, fence[:1]) == "" {
				fence = ""
			}
			blank = false
		case trimmed == "":
			blank = true
		default:
			if blank && text[0] != ' ' && text[0] != '\t' {
				whole = at
			}
			blank = false
			if n := len(trimmed) - len(strings.TrimLeft(trimmed, "`")); n >= 3 {
				fence = trimmed[:n]
			} else if n := len(trimmed) - len(strings.TrimLeft(trimmed, "~")); n >= 3 {
				fence = trimmed[:n]
			}
		}
		at += end + 1
	}
	return whole
}

func lastLine(s string) string {
	s = strings.TrimRight(s, "\n")
	return s[strings.LastIndexByte(s, '\n')+1:]
}

func oneLine(s string) string { return strings.Join(strings.Fields(terminal.Clean(s)), " ") }
