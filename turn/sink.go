package turn

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// Actions completes the actions that tools attach to blocks by name.
type Actions interface {
	// Resolve returns an api action as clients get it, with the words, the
	// confirmation and the schema that were registered for it, in the language
	// of ctx's caller. An error says that there is no such action for blocks of
	// the type.
	Resolve(ctx context.Context, a block.Action, blockType string) (block.Action, error)
}

// sink opens the blocks of one run of a tool, or of one Out of a follow-up, and
// remembers them.
type sink struct {
	t   *run
	log *slog.Logger
	// call is the id of the tool call; empty in a follow-up without one.
	call string
	// tool and args are how the first block can be made again.
	tool        string
	args        json.RawMessage
	refreshable bool
	// acted is the block that Reopen puts back to loading.
	acted *block.Block

	mu      sync.Mutex
	closed  bool
	made    bool // the first new block was opened
	blocks  []*emit.Block
	refused []string // actions that were left out, for the model
	subs    []*sub   // calls that the tool made and that have not ended
	counted int      // how many it made
}

// sub is a call that a tool made.
type sub struct {
	call  event.ToolCallData
	began time.Time
}

func (t *run) sinkOf(p *pending) *sink {
	return &sink{
		t: t, log: t.log.With("tool", p.spec.Name), call: p.call.ID,
		tool: p.spec.Name, args: p.args, refreshable: p.spec.Refreshable,
	}
}

// Open implements tool.Sink.
func (s *sink) Open(o tool.Opening) (tool.Handle, error) {
	b, err := s.open(context.Background(), "", o)
	if err != nil {
		return nil, err
	}
	return handle{b, s}, nil
}

// Reopen implements tool.Reopener.
func (s *sink) Reopen() (tool.Handle, tool.Opening, error) {
	if s.acted == nil {
		return nil, tool.Opening{}, tool.ErrNoBlock
	}
	o := tool.Opening{Type: s.acted.Type, Version: s.acted.Version}
	o.Meta.RefreshedAt = s.t.r.cfg.Now().UnixMilli()
	b, err := s.open(context.Background(), s.acted.ID, o)
	if err != nil {
		return nil, o, err
	}
	return handle{b, s}, o, nil
}

// open opens a new block, or again the one of an id.
func (s *sink) open(ctx context.Context, again string, o tool.Opening) (*emit.Block, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, emit.ErrClosed
	}
	if again == "" {
		o.Meta.ToolCallID, o.Meta.Tool = s.call, s.tool
		o.Meta.CanRefresh = s.refreshable
	}
	o.Meta.FetchedAt = s.t.r.cfg.Now().UnixMilli()
	b, err := s.t.out.Open(emit.Opening{ID: again, Type: o.Type, Version: o.Version, Meta: o.Meta})
	if err != nil {
		return nil, err
	}
	s.blocks = append(s.blocks, b)
	// Blocks beside the first one belong to the call as a whole: only the first
	// can be made again.
	if again == "" && s.tool != "" && !s.made {
		m := s.t.message
		call := store.BlockCall{Block: b.ID(), Message: m.ID, Conversation: m.Conversation, Owner: m.Owner, Tool: s.tool, Arguments: s.args, ToolCallID: s.call}
		if err := s.t.r.cfg.Store.PutBlockCall(ctx, call); err != nil && ctx.Err() == nil {
			s.log.Error("store block call", "block", b.ID(), "err", err)
		}
	}
	s.made = s.made || again == ""
	return b, nil
}

// drop forgets a block that is not shown.
func (s *sink) drop(b *emit.Block) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blocks = slices.DeleteFunc(s.blocks, func(have *emit.Block) bool { return have == b })
}

// Sub implements tool.SubCaller. Calls of what is no call itself have no place
// to be shown at.
func (s *sink) Sub(name, title string) func(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed || s.call == "" {
		return func(error) {}
	}
	s.counted++
	c := &sub{began: time.Now(), call: event.ToolCallData{
		ToolCallID: fmt.Sprintf("%s.%d", s.call, s.counted), Name: clipName(name), Title: title,
	}}
	if err := s.t.out.SubToolStart(c.call); err != nil {
		return func(error) {} // the group is over or its log lost
	}
	s.subs = append(s.subs, c)
	return func(err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if i := slices.Index(s.subs, c); i >= 0 {
			s.subs = slices.Delete(s.subs, i, i+1)
			s.endSub(c, statusOf(err))
		}
	}
}

// endSub says how a call of the tool ended. The lock is held.
func (s *sink) endSub(c *sub, status string) {
	c.call.Title, c.call.Status, c.call.DurationMs = "", status, time.Since(c.began).Milliseconds()
	// An error here means the log is lost, which the loop finds out itself.
	_ = s.t.out.SubToolEnd(c.call)
}

// statusOf is how a call that returned err has ended.
func statusOf(err error) string {
	switch {
	case err == nil:
		return event.ToolOK
	case errors.Is(err, context.Canceled), errors.Is(err, errStopped):
		return event.ToolCancelled
	}
	return event.ToolError
}

// close refuses further blocks: the run is over, and so are the calls that it
// has left open, in the way it ended itself.
func (s *sink) close(status string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for _, c := range s.subs {
		s.endSub(c, status)
	}
	s.subs = nil
}

func (s *sink) ids() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ids []string
	for _, b := range s.blocks {
		ids = append(ids, b.ID())
	}
	return ids
}

// fail ends every block that the run left open.
func (s *sink) fail(e block.Error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, b := range s.blocks {
		// ErrClosed is a block that is finished already.
		if err := b.Fail(e, ""); err != nil && !errors.Is(err, emit.ErrClosed) {
			s.log.Error("end block", "block", b.ID(), "err", err)
		}
	}
}

// undrawn says what stands in the place of a block that the stream which
// started the turn does not draw: "" when it does.
func (s *sink) undrawn(m tool.Made) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.IndexFunc(s.blocks, func(b *emit.Block) bool { return b.ID() == m.ID })
	if i < 0 || s.blocks[i].Drawable {
		return ""
	}
	if t := s.blocks[i].Type(); t.Link != nil && m.Payload != nil && t.Link(m.Payload) != "" {
		return "a link"
	}
	return "its plain text"
}

// refusals are the actions that were left out.
func (s *sink) refusals() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.refused)
}

// actions are those that a finished block may have, complete. What was not
// registered here is no action, whoever attached it.
func (s *sink) actions(t block.Type, list []block.Action) []block.Action {
	var out []block.Action
	for _, a := range list {
		done, err := s.action(t, a)
		if err != nil {
			s.log.Warn("action left out", "block_type", t.Name, "action", a.ID, "err", err)
			s.mu.Lock()
			s.refused = append(s.refused, fmt.Sprintf("the button %q: %v", a.ID, err))
			s.mu.Unlock()
			continue
		}
		out = append(out, done)
	}
	return out
}

func (s *sink) action(t block.Type, a block.Action) (block.Action, error) {
	switch a.Kind {
	case block.ActionAPI, "":
		resolver := s.t.r.cfg.Actions
		if resolver == nil || t.Source == block.SourceExternal {
			return a, errors.New("it is not registered")
		}
		return resolver.Resolve(tool.WithCaller(context.Background(), s.t.caller), a, t.Name)
	case block.ActionLink:
		if !strings.HasPrefix(a.Href, "https://") {
			return a, errors.New("its link is not https")
		}
	}
	return a, nil
}

// handle is an open block as tools see it.
type handle struct {
	b *emit.Block
	s *sink
}

// ID implements tool.Handle.
func (h handle) ID() string { return h.b.ID() }

// Delta implements tool.Handle.
func (h handle) Delta(patch json.RawMessage) error { return h.b.Delta(patch) }

// End implements tool.Handle.
func (h handle) End(f tool.Finished) (tool.Shown, error) {
	err := h.b.End(emit.Finished{Payload: f.Payload, Fallback: f.Fallback, Actions: h.s.actions(h.b.Type(), f.Actions), State: f.State, Meta: f.Meta})
	var refusal *emit.Refusal
	if errors.As(err, &refusal) {
		h.s.drop(h.b)
	}
	if err != nil {
		return tool.Shown{}, err
	}
	shown := h.b.Shown()
	return tool.Shown{Payload: shown.Payload, Left: shown.Left}, nil
}

// EndBuilt implements tool.Handle.
func (h handle) EndBuilt(f tool.Finished) (tool.Shown, error) {
	f.Payload = nil
	return h.End(f)
}

// Fail implements tool.Handle.
func (h handle) Fail(e block.Error, fallback string) error { return h.b.Fail(e, fallback) }
