package tool

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Out is what a tool writes to: blocks for the user, a summary for the model.
// Its methods may be called from one goroutine at a time.
type Out struct {
	ctx  context.Context
	sink Sink
	reg  *block.Registry

	mu       sync.Mutex
	prepared Handle   // the block announced by Spec.Block, not yet used
	spec     Opening  // what prepared was opened as
	made     []Made   // blocks finished so far, in order
	notes    []string // what the tool tells the model itself
	remarks  []string // told besides notes or what code computed
	fallback string   // for the next block
	actions  []block.Action
	refused  []string // why blocks were not shown, for the model

	files        Files // where File puts files
	conversation string
}

// Made is a block that a tool has finished.
type Made struct {
	ID      string
	Type    string
	Version int
	Payload json.RawMessage
	Summary string
}

// NewOut returns an Out over a sink. prepared is the block announced before
// the run and may be nil.
func NewOut(ctx context.Context, reg *block.Registry, sink Sink, prepared Handle, spec Opening) *Out {
	return &Out{ctx: ctx, sink: sink, reg: reg, prepared: prepared, spec: spec}
}

// Context returns the context of the run.
func (o *Out) Context() context.Context { return o.ctx }

// BlockID returns the id of the block announced before the run; "" when none
// was, or when it has been filled already.
func (o *Out) BlockID() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.prepared == nil {
		return ""
	}
	return o.prepared.ID()
}

// Update makes the block that was acted on the next one to be filled: it is
// put back to loading in its place, and the next block of its type that is
// written replaces what it showed. ErrNoBlock when there is no such block.
func (o *Out) Update() error {
	r, ok := o.sink.(Reopener)
	if !ok {
		return ErrNoBlock
	}
	h, opening, err := r.Reopen()
	if err != nil {
		return err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prepared, o.spec = h, opening
	return nil
}

// Summary tells the model something in the tool's own words. Without it the
// model is told what code computes from the payloads.
func (o *Out) Summary(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(args) == 0 {
		o.notes = append(o.notes, format)
		return
	}
	o.notes = append(o.notes, fmt.Sprintf(format, args...))
}

// Remark tells the model something besides the summary, also when that is
// computed: that rows were left out, say.
func (o *Out) Remark(format string, args ...any) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.remarks = append(o.remarks, fmt.Sprintf(format, args...))
}

// Fallback sets the plain text of the next block.
func (o *Out) Fallback(text string) { o.fallback = text }

// Actions attaches actions to the next block.
func (o *Out) Actions(actions ...block.Action) { o.actions = append(o.actions, actions...) }

// Chart shows a chart. Rows beyond what a chart may hold are sampled, slices
// beyond a pie's are added up; the chart says so.
func (o *Out) Chart(c block.Chart) error {
	if c.Version == 0 {
		c.Version = 1
	}
	return o.typed("chart", c.Title, c.Fit())
}

// Table shows a table.
func (o *Out) Table(t block.Table) error { return o.typed("table", t.Caption, t) }

// Metric shows key figures.
func (o *Out) Metric(m block.Metric) error { return o.typed("metric", "", m) }

// Code shows source code.
func (o *Out) Code(c block.Code) error { return o.typed("code", c.Filename, c) }

func (o *Out) typed(name, title string, payload any) error {
	raw, err := jsonx.Marshal(payload)
	if err != nil {
		return fmt.Errorf("encode %s payload: %w", name, err)
	}
	return o.Block(name, 1, block.Meta{Title: title}, raw)
}

// Block shows a block of any registered type. Version 0 means the highest
// registered. The block announced by the tool's Spec is filled first when the
// types agree; further calls make further blocks.
func (o *Out) Block(name string, version int, meta block.Meta, payload json.RawMessage) error {
	h, err := o.handle(name, version, meta)
	if err != nil {
		return err
	}
	if h == nil { // refused; the model is told
		o.mu.Lock()
		o.fallback, o.actions = "", nil
		o.mu.Unlock()
		return nil
	}
	return o.Finish(h, name, version, Finished{Payload: payload, Meta: meta})
}

// Start opens a block to be built step by step: Delta, then Finish. A nil
// Handle without an error says that the block was refused for this client.
func (o *Out) Start(name string, version int, meta block.Meta) (Handle, error) {
	return o.handle(name, version, meta)
}

// Finish ends a block that Start opened.
func (o *Out) Finish(h Handle, name string, version int, f Finished) error {
	o.mu.Lock()
	if f.Fallback == "" {
		f.Fallback = o.fallback
	}
	if f.Actions == nil {
		f.Actions = o.actions
	}
	o.fallback, o.actions = "", nil
	o.mu.Unlock()
	if block.ShortName(name) == "tree" {
		f.Actions = withTreeActions(f.Actions, f.Payload)
	}
	clean, err := o.reg.Clean(name, version, f.Payload)
	if err != nil {
		return err
	}
	f.Payload = clean
	end := h.End
	if f.Payload == nil {
		end = h.EndBuilt
	}
	shown, err := end(f)
	if err != nil {
		return o.unlessRefused(err)
	}
	o.leftOut(shown.Left...)
	if shown.Payload != nil {
		f.Payload = shown.Payload // also for what the trajectory keeps
	}
	m := Made{ID: h.ID(), Type: block.ShortName(name), Version: version, Payload: f.Payload}
	if t, ok := o.reg.Lookup(name, version); ok && f.Payload != nil {
		switch {
		case t.Summary != nil:
			m.Summary = t.Summary(f.Payload)
		case f.Fallback != "" && len(shown.Left) == 0:
			m.Summary = f.Fallback
		default:
			m.Summary = t.Fallback(f.Payload)
		}
	}
	o.mu.Lock()
	o.made = append(o.made, m)
	o.mu.Unlock()
	return nil
}

func (o *Out) handle(name string, version int, meta block.Meta) (Handle, error) {
	o.mu.Lock()
	h := o.prepared
	if h != nil && block.ShortName(o.spec.Type) == block.ShortName(name) && (version == 0 || version == o.spec.Version) {
		o.prepared = nil
		o.mu.Unlock()
		return h, nil
	}
	o.mu.Unlock()
	h, err := o.sink.Open(Opening{Type: name, Version: version, Meta: meta})
	if err != nil {
		return nil, o.unlessRefused(err)
	}
	return h, nil
}

// unlessRefused returns an error, except a refusal, of which the model is told.
func (o *Out) unlessRefused(err error) error {
	var refusal *Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	o.leftOut(refusal.Error())
	return nil
}

// leftOut tells the model what is not shown.
func (o *Out) leftOut(why ...string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.refused = append(o.refused, why...)
}

// Refusal is a Sink's answer when a block may not be shown on this stream.
type Refusal = block.Refusal

// UI reads the answer shape {toolId, content, ui:{type, version, data,
// actions?}} of a tool that describes its own block: ui becomes a block,
// content its summary and its fallback where none is given. A type that is not
// registered is shown as content.
func (o *Out) UI(answer json.RawMessage) error {
	var a struct {
		ToolID  string `json:"toolId"`
		Content string `json:"content"`
		UI      *struct {
			Type    string          `json:"type"`
			Version json.RawMessage `json:"version"`
			Data    json.RawMessage `json:"data"`
			Actions []block.Action  `json:"actions"`
		} `json:"ui"`
	}
	if err := json.Unmarshal(answer, &a); err != nil {
		return fmt.Errorf("read tool answer: %w", err)
	}
	if a.Content != "" {
		o.Summary("%s", a.Content)
	}
	if a.UI == nil {
		return nil
	}
	major, minor := versionOf(a.UI.Version)
	name := block.TypeNameOf(a.UI.Type)
	t, ok := o.reg.Lookup(name, major)
	if !ok {
		o.Summary("The block type %q version %d is not registered; its text was shown instead.", a.UI.Type, major)
		return o.text(a.Content)
	}
	if t.ServerOnly {
		o.Summary("Blocks of the type %q are made by the server's own code only; its text was shown instead.", a.UI.Type)
		return o.text(a.Content)
	}
	if o.fallback == "" {
		o.fallback = a.Content
	}
	o.Actions(a.UI.Actions...)
	return o.Block(name, major, block.Meta{SchemaMinor: minor}, a.UI.Data)
}

func (o *Out) text(s string) error {
	if s == "" {
		return nil
	}
	raw, err := json.Marshal(s)
	if err != nil {
		return fmt.Errorf("encode text: %w", err)
	}
	return o.Block("text", 1, block.Meta{}, raw)
}

// UIBlock shows a block that is given as an event of the UI Block Protocol, as
// skills and connectors answer: {id, namespace, block_type, version, data,
// position?, _meta?}. position and the members of _meta are kept, save those of
// the namespace inlay/; the id is not, the block gets one of ours. A block that
// may not be shown is left out, and the model is told why.
func (o *Out) UIBlock(raw json.RawMessage) error {
	refuse := func(code, format string, args ...any) error {
		return o.unlessRefused(&Refusal{Code: code, Hint: fmt.Sprintf(format, args...) + " Tell the user in text what it would have shown."})
	}
	u, err := block.ParseUIBlock(raw)
	if err != nil {
		return refuse(block.RefusedSchemaInvalid, "The tool's answer is no block: %v.", err)
	}
	name, version := u.Type()
	t, ok := o.reg.Lookup(name, version)
	switch {
	case !ok:
		return refuse(block.RefusedUnknownType, "There is no block type %s@%d.", name, version)
	case t.ServerOnly:
		return refuse(block.RefusedUnknownType, "Blocks of the type %s are made by the server's own code only.", name)
	}
	data, err := o.reg.Clean(t.Name, t.Version, u.Data)
	if err == nil {
		err = o.reg.Validate(t.Name, t.Version, data)
	}
	if err != nil {
		return refuse(block.RefusedSchemaInvalid, "The tool's data does not fit %s@%d: %v.", name, version, err)
	}
	return o.Block(t.Name, t.Version, block.Meta{Position: u.Position, Vendor: u.Meta}, data)
}

// Sub says that the tool calls another, or does a step that is worth a line of
// its own: the page shows name or title, how it ended and how long it took, and
// nothing else of it. The function that it returns must be called with how it
// ended; a run that ends before that ends it. Both are safe for concurrent use.
// Outside of a call, as in an action, nothing is shown.
func (o *Out) Sub(name, title string) (end func(err error)) {
	if s, ok := o.sink.(SubCaller); ok {
		return s.Sub(name, title)
	}
	return func(error) {}
}

// versionOf reads "M.m", "M" or a number; anything else is 1.0.
func versionOf(raw json.RawMessage) (major, minor int) {
	s := strings.Trim(string(raw), `"`)
	if n, _ := fmt.Sscanf(s, "%d.%d", &major, &minor); n >= 1 && major >= 1 {
		return major, minor
	}
	return 1, 0
}

// Result is what a run left behind, for the turn.
type Result struct {
	Made    []Made
	Notes   []string
	Refused []string
	// Unused is the announced block when the tool did not fill it.
	Unused Handle
}

// Result returns what was written so far. Remarks stand in the notes or, when
// the summary is left to code, in that of the last block.
func (o *Out) Result() Result {
	o.mu.Lock()
	defer o.mu.Unlock()
	r := Result{Made: slices.Clone(o.made), Notes: slices.Clone(o.notes), Refused: o.refused, Unused: o.prepared}
	if len(o.remarks) == 0 {
		return r
	}
	if last := len(r.Made) - 1; last >= 0 && len(r.Notes) == 0 {
		r.Made[last].Summary = strings.TrimSpace(r.Made[last].Summary + "\n" + strings.Join(o.remarks, "\n"))
		return r
	}
	r.Notes = append(r.Notes, o.remarks...)
	return r
}
