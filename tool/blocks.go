package tool

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Query shows a statement that can be copied, run or opened elsewhere.
func (o *Out) Query(q block.Query) error { return o.typed("query", q.Title, q) }

// Image shows a picture by the id of its file.
func (o *Out) Image(i block.Image) error { return o.typed("image", "", i) }

// Card shows one thing with its figures. What can be done with it is attached
// by Actions.
func (o *Out) Card(c block.Card) error { return o.typed("card", c.Title, c) }

// CardList shows several cards.
func (o *Out) CardList(l block.CardList) error { return o.typed("card_list", l.Title, l) }

// Recommendation shows one or two buttons that lead to a next step. Those that
// lead where the product does not allow it, or where the answer leads already,
// are left out, and the model is told.
func (o *Out) Recommendation(r block.Recommendation) error {
	return o.typed(block.FeatureRecommendationName, "", r)
}

// Steps shows how far a long job is. A job that goes on while it is watched is
// shown by Start, Delta and Finish.
func (o *Out) Steps(s block.Steps) error { return o.typed("steps", s.Title, s) }

// Tree shows an interface made of known parts. Actions that its nodes name must
// be attached by Actions.
func (o *Out) Tree(t block.Tree) error { return o.typed("tree", t.Title, t) }

// ECharts shows a chart of a form that Chart does not have. Its option must be
// made by code: never by a model, nor of what a model wrote.
func (o *Out) ECharts(e block.ECharts) error { return o.typed("echarts_raw", e.Title, e) }

// Form shows fields to fill in. actions are the names of the registered actions
// that it can be sent to, the first of them the one that is meant. Defaults
// that do not fit the schema are left out, and the model is told of them: it
// may have made them up.
func (o *Out) Form(f block.Form, actions ...string) error {
	if len(f.Defaults) > 0 {
		raw, err := json.Marshal(f.Defaults)
		if err != nil {
			return fmt.Errorf("encode the defaults of a form: %w", err)
		}
		_, dropped, err := block.FitDefaults(f.Schema, raw)
		if err != nil {
			return fmt.Errorf("schema of the form %q: %w", f.Title, err)
		}
		if len(dropped) > 0 {
			f.Defaults = maps.Clone(f.Defaults)
			for _, name := range dropped {
				delete(f.Defaults, name)
			}
			o.misfits(dropped)
		}
	}
	for i, name := range actions {
		a := block.Action{ID: name, Kind: block.ActionAPI}
		if i == 0 {
			a.Style, a.Label = "primary", f.SubmitLabel
		}
		o.Actions(a)
	}
	return o.typed("form", f.Title, f)
}

// misfits tells the model which defaults of a form were left out.
func (o *Out) misfits(names []string) {
	o.Remark("These values do not fit the form and were left empty: %s.", strings.Join(names, ", "))
}

// fitted is a form's payload without the defaults that do not fit its schema.
func (o *Out) fitted(payload json.RawMessage) (json.RawMessage, error) {
	var members map[string]json.RawMessage
	if json.Unmarshal(payload, &members) != nil || members["defaults"] == nil {
		return payload, nil
	}
	fit, dropped, err := block.FitDefaults(members["schema"], members["defaults"])
	if err != nil || len(dropped) == 0 {
		return payload, nil // what is wrong with it is said when it is written
	}
	o.misfits(dropped)
	if members["defaults"] = fit; fit == nil {
		delete(members, "defaults")
	}
	return jsonx.Marshal(members)
}

// Mapped is Block for a payload that was made of another's data by a mapping
// instead of by code: types that only code may make are refused, and defaults
// of a form that do not fit it are left out as by Form.
func (o *Out) Mapped(name string, version int, meta block.Meta, payload json.RawMessage) error {
	if t, ok := o.reg.Lookup(name, version); ok && t.ServerOnly {
		return fmt.Errorf("blocks of the type %s are made by the server's own code only", t.Name)
	}
	if block.ShortName(name) == "form" {
		var err error
		if payload, err = o.fitted(payload); err != nil {
			return fmt.Errorf("encode form: %w", err)
		}
	}
	return o.Block(name, version, meta, payload)
}

// withTreeActions adds the actions that a tree's nodes declare themselves.
// Those attached to the block under the same id win.
func withTreeActions(actions []block.Action, payload json.RawMessage) []block.Action {
	for _, a := range block.TreeActions(payload) {
		if !slices.ContainsFunc(actions, func(b block.Action) bool { return b.ID == a.ID }) {
			actions = append(actions, a)
		}
	}
	return actions
}
