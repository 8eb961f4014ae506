// Package tooltest runs tools in tests without a model, a log or a server.
//
// It may import block, event and tool. It must never be imported by anything
// but tests.
package tooltest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/tool"
)

// Block is a block that a tool made.
type Block struct {
	block.Block
	// Patches are the deltas that were sent, in order.
	Patches []json.RawMessage
	// Announced says that the block was opened before the run.
	Announced bool
}

// Run is what a run of a tool left behind.
type Run struct {
	Blocks []*Block
	// Result is what the turn gets to see.
	Result tool.Result
	// Told is the text of the summary: notes, or what code computed.
	Told string
}

// Call runs a tool as a turn would: the arguments are checked, the announced
// block is opened, payloads are validated. blockID names the announced block;
// empty takes a new name. The error is the tool's own or an *tool.ArgumentError.
func Call(ctx context.Context, t tool.Tool, args, blockID string) (*Run, error) {
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		return nil, err
	}
	return CallWith(ctx, reg, t, args, blockID)
}

// CallWith is Call with a registry of the caller's own.
func CallWith(ctx context.Context, reg *block.Registry, t tool.Tool, args, blockID string) (*Run, error) {
	spec := t.Spec()
	check, err := tool.NewCheck(spec)
	if err != nil {
		return nil, err
	}
	checked, err := check.Args(json.RawMessage(args))
	if err != nil {
		return nil, err
	}
	s := &sink{reg: reg}
	var prepared tool.Handle
	var opening tool.Opening
	if b := spec.Block; b != nil {
		meta := block.Meta{Title: b.Title, EstimatedHeight: b.Height, Source: b.SourceFor(ctx)}
		if b.TitleFrom != nil {
			meta.Title = b.TitleFrom(ctx, checked)
		}
		h, err := s.open(tool.Opening{Type: b.Type, Version: b.Version, Meta: meta})
		if err != nil {
			return nil, err
		}
		h.b.Announced = true
		if blockID != "" {
			h.b.ID = blockID
		}
		prepared, opening = h, tool.Opening{Type: h.b.Type, Version: h.b.Version}
	}
	out := tool.NewOut(ctx, reg, s, prepared, opening)
	err = t.Run(ctx, checked, out)
	run := &Run{Blocks: s.blocks, Result: out.Result()}
	told := run.Result.Notes
	if len(told) == 0 {
		for _, m := range run.Result.Made {
			told = append(told, m.Summary)
		}
	}
	run.Told = strings.Join(told, "\n")
	return run, err
}

type sink struct {
	reg    *block.Registry
	blocks []*Block
}

// Open implements tool.Sink.
func (s *sink) Open(o tool.Opening) (tool.Handle, error) { return s.open(o) }

func (s *sink) open(o tool.Opening) (*handle, error) {
	t, ok := s.reg.Lookup(o.Type, o.Version)
	if !ok {
		return nil, &tool.Refusal{Code: "ui_block_unknown_type", Hint: o.Type + " is not registered"}
	}
	b := &Block{Block: block.Block{
		ID: fmt.Sprintf("b_%d", len(s.blocks)+1), Type: t.Name, Version: t.Version,
		Status: block.StatusLoading, Rev: 1, Meta: &o.Meta,
	}}
	s.blocks = append(s.blocks, b)
	return &handle{s.reg, b}, nil
}

type handle struct {
	reg *block.Registry
	b   *Block
}

// ID implements tool.Handle.
func (h *handle) ID() string { return h.b.ID }

var errFinished = errors.New("the block is finished")

// Delta implements tool.Handle.
func (h *handle) Delta(patch json.RawMessage) error {
	if h.b.Status != block.StatusLoading {
		return errFinished
	}
	payload, err := event.ApplyPatch(h.b.Payload, patch)
	if err != nil {
		return err
	}
	h.b.Payload = payload
	h.b.Patches = append(h.b.Patches, patch)
	return nil
}

// End implements tool.Handle.
func (h *handle) End(f tool.Finished) (tool.Shown, error) {
	if h.b.Status != block.StatusLoading {
		return tool.Shown{}, errFinished
	}
	payload, err := h.reg.Clean(h.b.Type, h.b.Version, f.Payload)
	if err != nil {
		return tool.Shown{}, err
	}
	f.Payload = payload
	if err := h.reg.Validate(h.b.Type, h.b.Version, f.Payload); err != nil {
		return tool.Shown{}, err
	}
	h.b.Payload = f.Payload
	h.finish(f)
	return tool.Shown{Payload: payload}, nil
}

// EndBuilt implements tool.Handle.
func (h *handle) EndBuilt(f tool.Finished) (tool.Shown, error) {
	if h.b.Status != block.StatusLoading {
		return tool.Shown{}, errFinished
	}
	if err := h.reg.Validate(h.b.Type, h.b.Version, h.b.Payload); err != nil {
		return tool.Shown{}, err
	}
	h.finish(f)
	return tool.Shown{}, nil
}

func (h *handle) finish(f tool.Finished) {
	h.b.Status = block.StatusDone
	h.b.Fallback = f.Fallback
	if h.b.Fallback == "" {
		h.b.Fallback = h.reg.FallbackText(h.b.Type, h.b.Version, h.b.Payload)
	}
	h.b.Actions = f.Actions
	h.b.State = f.State
	if f.Meta.Title != "" {
		h.b.Meta.Title = f.Meta.Title
	}
	if f.Meta.Source != "" {
		h.b.Meta.Source = f.Meta.Source
	}
	h.b.Meta.SchemaMinor = f.Meta.SchemaMinor
	if f.Meta.Position != "" {
		h.b.Meta.Position = f.Meta.Position
	}
	if f.Meta.Vendor != nil {
		h.b.Meta.Vendor = f.Meta.Vendor
	}
}

// Fail implements tool.Handle.
func (h *handle) Fail(e block.Error, fallback string) error {
	if h.b.Status != block.StatusLoading {
		return errFinished
	}
	h.b.Status, h.b.Err, h.b.Fallback = block.StatusError, &e, fallback
	return nil
}
