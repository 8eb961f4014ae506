package emit_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

func registry(t *testing.T) *block.Registry {
	t.Helper()
	reg, err := block.NewRegistry(block.Builtins()...)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

// target is where a test's item leads: a path, a command, an address, or the
// name of a modal.
func target(s string) block.Target {
	switch {
	case strings.HasPrefix(s, "https://"):
		return block.Target{Kind: block.TargetExternal, Value: s}
	case !strings.HasPrefix(s, "/"):
		return block.Target{Kind: block.TargetModal, Value: s}
	case strings.Contains(s, " "):
		return block.Target{Kind: block.TargetSlash, Value: s}
	}
	return block.Target{Kind: block.TargetRoute, Value: s}
}

// card is a feature recommendation whose items lead to the given places.
func card(to ...string) json.RawMessage {
	var r block.Recommendation
	for i, s := range to {
		r.Items = append(r.Items, block.RecommendationItem{ID: fmt.Sprintf("i%d", i), Label: "Go on", Action: block.ActionTo(target(s))})
	}
	raw, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	return raw
}

// places are where the items of a card lead.
func places(t *testing.T, payload json.RawMessage) []string {
	t.Helper()
	var r block.Recommendation
	if err := json.Unmarshal(payload, &r); err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, it := range r.Items {
		out = append(out, it.Action.To().Value)
	}
	return out
}

func suggestion(to ...string) (emit.Opening, emit.Finished) {
	return emit.Opening{Type: block.FeatureRecommendationName, Producer: emit.ProducerRecommender}, emit.Finished{Payload: card(to...)}
}

func codeOf(t *testing.T, err error) string {
	t.Helper()
	if err == nil {
		return "shown"
	}
	var r *emit.Refusal
	if !errors.As(err, &r) {
		t.Fatalf("not a refusal: %v", err)
	}
	return r.Code
}

func lawful(t *testing.T, l *log) {
	t.Helper()
	g := event.NewGuard("m_1")
	for ev := range l.events() {
		if err := g.Check(ev); err != nil {
			t.Fatal(err)
		}
	}
}

// TestShow: a block that is complete at once is one event of the log, with its
// producer, behind what was said before it.
func TestShow(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	if err := s.Text("You can deposit now."); err != nil {
		t.Fatal(err)
	}
	o, f := suggestion("deposit")
	o.Meta = block.Meta{Position: "after_text", Vendor: map[string]json.RawMessage{"minara/reason": json.RawMessage(`"it helps"`)}}
	shown, err := s.Show(o, f)
	if err != nil {
		t.Fatal(err)
	}
	st := end(t, s)
	if got, want := l.types(), "start text_delta text_end block_end done"; got != want {
		t.Errorf("log %s, want %s", got, want)
	}
	b := st.Blocks[1]
	if b.ID != shown.ID || b.Status != block.StatusDone || b.Fallback == "" || !bytes.Equal(b.Payload, shown.Payload) {
		t.Errorf("block %+v, shown %+v", b, shown)
	}
	if m := b.Meta; m.Producer != emit.ProducerRecommender || m.Position != "after_text" || string(m.Vendor["minara/reason"]) != `"it helps"` {
		t.Errorf("meta %+v", m)
	}
	lawful(t, l)
}

// TestRefusals: every step of the way has its code, says what to do instead,
// comes before the next one, leaves no trace and takes no place.
func TestRefusals(t *testing.T) {
	reg := registry(t)
	draws := reg.Negotiate("minara.feature_recommendation@1,table@1", true)
	allow := &block.Destinations{Routes: []string{"/wallet", "/market/*"}, Slash: []string{"buy"}, Modals: []string{"deposit"}, Hosts: []string{"minara.ai"}}
	const name = block.FeatureRecommendationName
	full := func(t *testing.T, s *emit.Stream) {
		for _, to := range []string{"/market/a", "/market/b"} {
			o, f := suggestion(to)
			if _, err := s.Show(o, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	one := func(to ...string) func(t *testing.T, s *emit.Stream) {
		return func(t *testing.T, s *emit.Stream) {
			o, f := suggestion(to...)
			if _, err := s.Show(o, f); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, c := range []struct {
		what   string
		before func(t *testing.T, s *emit.Stream)
		cfg    emit.Config
		typ    string
		data   json.RawMessage
		code   string
		hint   string
	}{
		{what: "no such type", typ: "minara.nothing", data: card("/nowhere"), code: emit.CodeUnknownType, hint: "minara.nothing"},
		{what: "made by code only", typ: "echarts_raw", data: card("/nowhere"), code: emit.CodeUnknownType, hint: "server's own code"},
		{what: "not declared", typ: "chart", data: card("/nowhere"), code: emit.CodeNotSupported, hint: "chart"},
		{what: "wrong form", typ: name, data: json.RawMessage(`{"items":[]}`), before: full, code: emit.CodeSchemaInvalid, hint: "/items"},
		{what: "no payload", typ: name, code: emit.CodeSchemaInvalid},
		{what: "two of them already", typ: name, data: card("/nowhere"), before: full, code: emit.CodeTurnCap, hint: "2 blocks"},
		{what: "none at all", typ: name, data: card("/wallet"), cfg: emit.Config{OptionalCap: -1}, code: emit.CodeTurnCap},
		{what: "not allowed", typ: name, data: card("/admin", "https://evil.example"), code: emit.CodeSchemaInvalid, hint: "route: /wallet, /market/*"},
		{what: "nothing is allowed", typ: name, data: card("/wallet"), cfg: emit.Config{Allow: &block.Destinations{}}, code: emit.CodeSchemaInvalid, hint: "none is allowed"},
		{what: "offered already", typ: name, data: card("/wallet/"), before: one("/wallet"), code: emit.CodeDuplicateAction, hint: "leads there already"},
		{what: "same command, other amount", typ: name, data: card("/buy 999 BTC"), before: one("/buy 100 BTC"), code: emit.CodeDuplicateAction},
		{what: "one not allowed, one offered", typ: name, data: card("/admin", "/wallet"), before: one("/wallet"), code: emit.CodeDuplicateAction, hint: "/admin"},
		{what: "offered already, conversation full", typ: name, data: card("/wallet"), before: one("/wallet"), cfg: emit.Config{Session: &emit.Session{Blocks: 19}}, code: emit.CodeDuplicateAction},
		{what: "conversation full", typ: name, data: card("/wallet"), cfg: emit.Config{Session: &emit.Session{Blocks: 20}}, code: emit.CodeSessionCap, hint: "20 such blocks"},
		{what: "conversation full, no targets", typ: "table", data: json.RawMessage(table), cfg: emit.Config{Session: &emit.Session{Blocks: 3, Most: 3}}, code: emit.CodeSessionCap},
		{what: "full with the turn's own", typ: name, data: card("deposit"), before: one("/wallet"), cfg: emit.Config{Session: &emit.Session{Blocks: 2, Most: 3}}, code: emit.CodeSessionCap},
		{what: "led there a turn ago", typ: name, data: card("/wallet"), cfg: emit.Config{Session: &emit.Session{Recent: map[string]bool{target("/wallet").Key(): true}}}, code: emit.CodeSessionCap, hint: "shortly before"},
		{what: "another amount", typ: name, data: card("/buy 5 ETH"), before: one("/buy 5 BTC"), code: "shown"},
		{what: "room for the last", typ: name, data: card("/wallet"), before: one("deposit"), cfg: emit.Config{Session: &emit.Session{Blocks: 18}}, code: "shown"},
	} {
		t.Run(c.what, func(t *testing.T) {
			l := &log{}
			c.cfg.Caps = draws
			if c.cfg.Allow == nil {
				c.cfg.Allow = allow
			}
			s := open(t, l, c.cfg)
			if c.before != nil {
				c.before(t, s)
			}
			if err := s.Flush(t.Context()); err != nil {
				t.Fatal(err)
			}
			had := l.types()
			shown, err := s.Show(emit.Opening{Type: c.typ, Producer: emit.ProducerModel}, emit.Finished{Payload: c.data})
			if got := codeOf(t, err); got != c.code {
				t.Fatalf("%s, want %s: %v", got, c.code, err)
			}
			if c.code == "shown" {
				end(t, s)
				return
			}
			if hint := err.(*emit.Refusal).Hint; !strings.Contains(hint, c.hint) || !strings.Contains(hint, "[label](url)") {
				t.Errorf("the model is told %q", hint)
			}
			if shown.ID != "" {
				t.Errorf("shown %+v", shown)
			}
			end(t, s)
			if got := l.types(); got != had+" done" {
				t.Errorf("log %s, before %s", got, had)
			}
			lawful(t, l)
		})
	}
}

// TestRefusedGivesBackItsPlace: what is not shown takes no place, at once or at
// its end.
func TestRefusedGivesBackItsPlace(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{OptionalCap: 2})
	show := func(to string) error {
		o, f := suggestion(to)
		_, err := s.Show(o, f)
		return err
	}
	if err := show("/wallet"); err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if got := codeOf(t, show("/wallet")); got != emit.CodeDuplicateAction {
			t.Fatal(got)
		}
		o, f := suggestion("/wallet")
		b, err := s.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if got := codeOf(t, show("/market")); got != emit.CodeTurnCap {
			t.Errorf("%s while another block has the place", got)
		}
		if got := codeOf(t, b.End(f)); got != emit.CodeDuplicateAction {
			t.Fatal(got)
		}
		if err := b.End(f); !errors.Is(err, emit.ErrClosed) {
			t.Errorf("a second end: %v", err)
		}
	}
	// A producer that gives up gives its place back too.
	o, _ := suggestion()
	b, err := s.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Fail(block.Error{Code: block.CodeDataFetchFailed}, ""); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Open(o); err != nil { // left open: it is gone with the turn
		t.Fatal(err)
	}
	if got := len(end(t, s).Blocks); got != 1 {
		t.Errorf("%d blocks", got)
	}
	if got := l.types(); got != "start block_end done" {
		t.Errorf("log %s", got)
	}
}

// TestItemsAreLeftOut: what may be shown is, and the maker is told of the rest;
// words that speak of the whole go with it.
func TestItemsAreLeftOut(t *testing.T) {
	s := open(t, &log{}, emit.Config{Allow: &block.Destinations{Routes: []string{"/wallet", "/market"}}})
	o, f := suggestion("/wallet", "/admin")
	f.Fallback = "Go to /wallet or /admin."
	shown, err := s.Show(o, f)
	if err != nil {
		t.Fatal(err)
	}
	if got := places(t, shown.Payload); !slices.Equal(got, []string{"/wallet"}) {
		t.Errorf("leads to %v", got)
	}
	if len(shown.Left) != 1 || !strings.HasPrefix(shown.Left[0], emit.CodeSchemaInvalid+": item 2 (route /admin): ") || !strings.HasSuffix(shown.Left[0], ". Allowed are:\nroute: /wallet, /market\nand nothing else.") {
		t.Errorf("left %q", shown.Left)
	}
	// The same from a tool, by Open and End.
	b, err := s.Open(emit.Opening{Type: block.FeatureRecommendationName})
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Delta(json.RawMessage(`[{"op":"add","path":"","value":` + string(card("/wallet", "/market")) + `}]`)); err != nil {
		t.Fatal(err)
	}
	if err := b.End(emit.Finished{}); err != nil {
		t.Fatal(err)
	}
	got := b.Shown()
	if !slices.Equal(places(t, got.Payload), []string{"/market"}) || len(got.Left) != 1 || !strings.HasPrefix(got.Left[0], emit.CodeDuplicateAction+": item 1 (route /wallet): ") {
		t.Errorf("shown %s, left %q", got.Payload, got.Left)
	}
	st := end(t, s)
	if got := st.Blocks[0].Fallback; strings.Contains(got, "/admin") || !strings.Contains(got, "/wallet") {
		t.Errorf("fallback %q", got)
	}
	if st.Blocks[0].Meta.Producer != emit.ProducerRecommender || st.Blocks[1].Meta.Producer != "" {
		t.Errorf("producers %q and %q", st.Blocks[0].Meta.Producer, st.Blocks[1].Meta.Producer)
	}
}

// TestTargetsAreJudgedForEveryType: a type of the application's own has its
// targets judged as the built-in one has; items that lead nowhere are none of
// the pipeline's business.
func TestTargetsAreJudgedForEveryType(t *testing.T) {
	reg, err := block.NewRegistry(block.Type{
		Name: "acme.links", Version: 1, Class: block.ClassDisplay, Source: block.SourceApp,
		Schema: json.RawMessage(`{"type":"array","items":{"type":"string"}}`), Fallback: func(p json.RawMessage) string { return string(p) },
		Targets: &block.Targets{
			List: func(p json.RawMessage) (out []block.Target) {
				var list []string
				_ = json.Unmarshal(p, &list)
				for _, s := range list {
					to := block.Target{Kind: block.TargetRoute, Value: s}
					if s == "" {
						to = block.Target{}
					}
					out = append(out, to)
				}
				return out
			},
			Only: func(p json.RawMessage, items []int) (json.RawMessage, error) {
				var list, kept []string
				if err := json.Unmarshal(p, &list); err != nil {
					return nil, err
				}
				for _, i := range items {
					kept = append(kept, list[i])
				}
				return json.Marshal(kept)
			},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	s := emit.New(t.Context(), emit.Config{Log: &log{}, Registry: reg, Lease: store.Lease{Msg: "m_1", Group: 1, Epoch: 1}})
	if err := s.Start(event.StartData{ConversationID: "c_1"}); err != nil {
		t.Fatal(err)
	}
	shown, err := s.Show(emit.Opening{Type: "acme.links"}, emit.Finished{Payload: json.RawMessage(`["/a","","//evil.example","/a/","","/b"]`)})
	if err != nil {
		t.Fatal(err)
	}
	if string(shown.Payload) != `["/a","","","/b"]` || len(shown.Left) != 2 {
		t.Errorf("shown %s, left %q", shown.Payload, shown.Left)
	}
	if _, err := s.Show(emit.Opening{Type: "acme.links"}, emit.Finished{Payload: json.RawMessage(`["//evil.example"]`)}); codeOf(t, err) != emit.CodeSchemaInvalid {
		t.Errorf("an address as a route: %v", err)
	}
	end(t, s)
}

// TestToolsBlocksThatLead: a tool's block is not optional. It is shown to those
// who cannot draw it, as their readers' fallback, fails where everybody sees it,
// and what it leads to counts for what comes after it.
func TestToolsBlocksThatLead(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{Caps: registry(t).Negotiate("table@1", true), OptionalCap: 1, Session: &emit.Session{
		Blocks: 20, Recent: map[string]bool{target("/wallet").Key(): true},
	}})
	o := emit.Opening{Type: block.FeatureRecommendationName, Meta: block.Meta{ToolCallID: "t_1", Producer: "forged"}}
	b, err := s.Open(o)
	if err != nil || b.Drawable {
		t.Fatalf("drawable %v, %v", b, err)
	}
	if err := s.Flush(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := l.types(); got != "start" {
		t.Errorf("before its end the log has %s", got)
	}
	if err := b.End(emit.Finished{Payload: card("/wallet")}); err != nil {
		t.Fatal(err)
	}
	again, err := s.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := again.End(emit.Finished{Payload: card("/wallet#top")}); codeOf(t, err) != emit.CodeDuplicateAction {
		t.Errorf("the same place again: %v", err)
	}
	for _, fail := range []func(*emit.Block) error{
		func(b *emit.Block) error { return b.Fail(block.Error{Code: block.CodeToolTimeout}, "") },
		func(b *emit.Block) error {
			var schema *block.SchemaError
			if err := b.End(emit.Finished{Payload: json.RawMessage(`{}`)}); !errors.As(err, &schema) {
				t.Errorf("a payload of the wrong form: %v", err)
			}
			return nil
		},
	} {
		b, err := s.Open(o)
		if err != nil {
			t.Fatal(err)
		}
		if err := fail(b); err != nil {
			t.Fatal(err)
		}
	}
	st := end(t, s)
	if got := l.types(); got != "start block_end block_start block_error block_start block_error done" {
		t.Errorf("log %s", got)
	}
	if st.Blocks[0].Meta.Producer != "" {
		t.Errorf("a tool's block says that %q made it", st.Blocks[0].Meta.Producer)
	}
	lawful(t, l)
}

// group opens the next group of the message that a log holds.
func group(t *testing.T, l *log, cfg emit.Config) *emit.Stream {
	t.Helper()
	f, last, n := event.NewFolder("m_1"), uint64(0), 0
	for ev := range l.events() {
		f.Apply(ev)
		last, n = ev.Seq, ev.Group
	}
	cfg.Log, cfg.Registry, cfg.Folder, cfg.Last = l, registry(t), f, last
	cfg.Lease = store.Lease{Msg: "m_1", Group: n + 1, Epoch: uint64(n + 1)}
	return emit.New(context.Background(), cfg)
}

func pause(t *testing.T, s *emit.Stream) {
	t.Helper()
	if err := s.Done(event.DoneData{FinishReason: event.FinishPaused}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Close(); err != nil {
		t.Fatal(err)
	}
}

// TestCapsOutliveAPause: a turn that goes on after a pause has the places that
// are left, and leads nowhere twice. A follow-up has places of its own for the
// blocks of its tools; blocks nobody asked for count in the whole message.
func TestCapsOutliveAPause(t *testing.T) {
	l := &log{}
	cfg := emit.Config{Cap: 3, OptionalCap: 2}
	byTool := func(s *emit.Stream, call string) string {
		_, err := s.Show(emit.Opening{Type: "table", Meta: block.Meta{ToolCallID: call}}, emit.Finished{Payload: json.RawMessage(table)})
		return codeOf(t, err)
	}
	byModel := func(s *emit.Stream, to string) string {
		o, f := suggestion(to)
		_, err := s.Show(o, f)
		return codeOf(t, err)
	}
	want := func(what, got, want string) {
		t.Helper()
		if got != want {
			t.Errorf("%s: %s, want %s", what, got, want)
		}
	}
	s := open(t, l, cfg)
	want("first table", byTool(s, "t_1"), "shown")
	want("second table", byTool(s, "t_2"), "shown")
	want("first card", byModel(s, "/wallet"), "shown")
	pause(t, s)

	// While it is paused, something is done with a block.
	s = group(t, l, cfg)
	for range 3 {
		want("table of an action", byTool(s, ""), "shown")
	}
	want("fourth table of an action", byTool(s, ""), emit.CodeTurnCap)
	pause(t, s)

	on := cfg
	on.Continues = true
	s = group(t, l, on)
	want("third table", byTool(s, "t_3"), "shown")
	want("fourth table", byTool(s, "t_4"), emit.CodeTurnCap)
	want("the same place", byModel(s, "/wallet"), emit.CodeDuplicateAction)
	want("second card", byModel(s, "/market"), "shown")
	want("third card", byModel(s, "deposit"), emit.CodeTurnCap)
	end(t, s)

	s = group(t, l, cfg)
	want("card of a follow-up", byModel(s, "deposit"), emit.CodeTurnCap)
	want("table of a follow-up", byTool(s, ""), "shown")
	end(t, s)
	lawful(t, l)
}

// TestRefreshMayLeadWhereItDid: a block that is filled again is not in its own
// way, gives free what it does not lead to any more, and stands as it was when
// nothing of the new one may be shown.
func TestRefreshMayLeadWhereItDid(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	var ids []string
	for _, to := range []string{"/wallet", "/market"} {
		shown, err := s.Show(emit.Opening{Type: block.FeatureRecommendationName}, emit.Finished{Payload: card(to)})
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, shown.ID)
	}
	end(t, s)
	s = group(t, l, emit.Config{})
	again, err := s.Open(emit.Opening{ID: ids[0], Type: block.FeatureRecommendationName})
	if err != nil {
		t.Fatal(err)
	}
	if err := again.End(emit.Finished{Payload: card("/wallet", "/market")}); err != nil {
		t.Fatal(err)
	}
	if got := places(t, again.Shown().Payload); !slices.Equal(got, []string{"/wallet"}) {
		t.Errorf("filled again it leads to %v", got)
	}
	end(t, s)
	s = group(t, l, emit.Config{})
	for _, to := range []string{"/market", "/research"} {
		b, err := s.Open(emit.Opening{ID: ids[0], Type: block.FeatureRecommendationName})
		if err != nil {
			t.Fatal(err)
		}
		want := "shown"
		if to == "/market" {
			want = emit.CodeDuplicateAction
		}
		if got := codeOf(t, b.End(emit.Finished{Payload: card(to)})); got != want {
			t.Errorf("to %s: %s, want %s", to, got, want)
		}
	}
	if _, err := s.Show(emit.Opening{Type: block.FeatureRecommendationName}, emit.Finished{Payload: card("/wallet")}); err != nil {
		t.Errorf("the place that was given free: %v", err)
	}
	st := end(t, s)
	if got := places(t, st.Blocks[0].Payload); !slices.Equal(got, []string{"/research"}) {
		t.Errorf("in the end it leads to %v", got)
	}
	lawful(t, l)
}

// TestVendorMembers: what vendors say of a block is kept as it is, up to its
// size, and cannot pass for what encoders say of it.
func TestVendorMembers(t *testing.T) {
	s := open(t, &log{}, emit.Config{})
	o, f := suggestion("/wallet")
	o.Meta.Vendor = map[string]json.RawMessage{
		"minara/source": json.RawMessage(`{ "a": [1, 2] }`), "inlay/actions": json.RawMessage(`[]`),
		"acme/long": json.RawMessage(`"` + strings.Repeat("x", emit.MaxVendor) + `"`), "acme/no": json.RawMessage(`{`),
	}
	if _, err := s.Show(o, f); err != nil {
		t.Fatal(err)
	}
	got := end(t, s).Blocks[0].Meta.Vendor
	if len(got) != 1 || string(got["minara/source"]) != `{"a":[1,2]}` {
		t.Errorf("kept %s", got)
	}
}

// TestShowLarge: a block too large for one event is built by deltas, in a log
// that is lawful; one too large for that is refused.
func TestShowLarge(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{})
	rows := strings.Repeat(`{"n":"`+strings.Repeat("x", 100)+`"},`, 900)
	big := json.RawMessage(strings.Replace(table, `"rows":[]`, `"rows":[`+rows[:len(rows)-1]+`]`, 1))
	vendor := map[string]json.RawMessage{"acme/note": json.RawMessage(`"` + strings.Repeat("y", 4000) + `"`)}
	if _, err := s.Show(emit.Opening{Type: "table", Producer: emit.ProducerConnector, Meta: block.Meta{Vendor: vendor}}, emit.Finished{Payload: big}); err != nil {
		t.Fatal(err)
	}
	code, err := json.Marshal(block.Code{Lang: "text", Source: strings.Repeat("x", emit.MaxPayload)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Show(emit.Opening{Type: "code", Producer: emit.ProducerModel}, emit.Finished{Payload: code}); codeOf(t, err) != emit.CodeSchemaInvalid {
		t.Errorf("a large payload in one piece: %v", err)
	}
	// Just too large with what its vendor says of it.
	code, err = json.Marshal(block.Code{Lang: "text", Source: strings.Repeat("x", emit.MaxPayload-3000)})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Show(emit.Opening{Type: "code", Meta: block.Meta{Vendor: vendor}}, emit.Finished{Payload: code}); codeOf(t, err) != emit.CodeSchemaInvalid {
		t.Errorf("a payload with no room: %v", err)
	}
	st := end(t, s)
	if len(st.Blocks) != 1 || !bytes.Equal(st.Blocks[0].Payload, big) {
		t.Errorf("%d blocks", len(st.Blocks))
	}
	lawful(t, l)
}

// TestPipelineIsLawful has many producers show, open, end and drop blocks at
// once, over pauses and follow-ups, and expects what no single case can show:
// never more blocks than their cap, no place led to twice or without leave,
// every shown block and no refused one in a log that is lawful.
func TestPipelineIsLawful(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			rnd := rand.New(rand.NewPCG(seed, 7))
			cfg := emit.Config{
				Cap: 1 + rnd.IntN(12), OptionalCap: 1 + rnd.IntN(4),
				Allow: &block.Destinations{Routes: []string{"/a/*"}, Slash: []string{"buy"}, Modals: []string{"deposit", "withdraw"}, Hosts: []string{"minara.ai"}},
			}
			if rnd.IntN(2) == 0 {
				cfg.Session = &emit.Session{Blocks: rnd.IntN(5), Most: 5, Recent: map[string]bool{target("/a/0").Key(): true}}
			}
			l := &log{}
			s := open(t, l, cfg)
			shown := make(map[string]bool)
			for round := range 1 + rnd.IntN(3) {
				if round > 0 {
					pause(t, s)
					cfg.Continues = true
					s = group(t, l, cfg)
				}
				produce(t, rnd, s, shown)
			}
			st := end(t, s)
			lawful(t, l)
			judge(t, cfg, st, shown)
		})
	}
}

// produce runs some producers to their end and notes what they were told is
// shown.
func produce(t *testing.T, rnd *rand.Rand, s *emit.Stream, shown map[string]bool) {
	places := []string{"/a/0", "/a/1", "/a/1/", "/a/2?x=1", "/buy 1 BTC", "/buy 2 BTC", "/buy 1 ETH", "deposit", "withdraw", "https://minara.ai/x", "/b", "https://evil.example/x"}
	var mu sync.Mutex
	saw := func(id string, err error) {
		mu.Lock()
		defer mu.Unlock()
		var refusal *emit.Refusal
		if err != nil && !errors.As(err, &refusal) {
			t.Error(err)
		}
		shown[id] = shown[id] || err == nil
	}
	var wg sync.WaitGroup
	for i := range 1 + rnd.IntN(6) {
		rnd := rand.New(rand.NewPCG(rnd.Uint64(), uint64(i)))
		wg.Go(func() {
			for range 1 + rnd.IntN(6) {
				to := []string{places[rnd.IntN(len(places))], "/a/9"}
				if rnd.IntN(2) == 0 {
					to = to[:1]
				}
				o, f := suggestion(to...)
				if rnd.IntN(2) == 0 {
					o.Producer, o.Meta.ToolCallID = "", "t_1"
				}
				if rnd.IntN(4) == 0 {
					o.Type, f.Payload = "table", json.RawMessage(table)
				}
				if rnd.IntN(6) == 0 {
					_ = s.Text("and ")
				}
				if rnd.IntN(2) == 0 {
					got, err := s.Show(o, f)
					saw(got.ID, err)
					continue
				}
				b, err := s.Open(o)
				if err != nil {
					saw("", err)
					continue
				}
				if rnd.IntN(5) == 0 {
					if err := b.Fail(block.Error{Code: block.CodeCancelled}, ""); err != nil {
						t.Error(err)
					}
					continue
				}
				saw(b.ID(), b.End(f))
			}
		})
	}
	wg.Wait()
	if err := s.EndText(); err != nil {
		t.Error(err)
	}
}

// judge checks a message that was made under cfg.
func judge(t *testing.T, cfg emit.Config, st event.State, shown map[string]bool) {
	t.Helper()
	tools, optional := 0, 0
	led := make(map[string]string)
	for _, b := range st.Blocks {
		if b.Type == "text" {
			continue
		}
		if b.Meta.Producer != "" {
			optional++
		} else {
			tools++
		}
		if b.Status == block.StatusDone && !shown[b.ID] {
			t.Errorf("%s was refused and is there", b.ID)
		}
		delete(shown, b.ID)
		if b.Type != block.FeatureRecommendationName || b.Status != block.StatusDone {
			continue
		}
		for _, to := range places(t, b.Payload) {
			key := target(to).Key()
			if other, twice := led[key]; twice {
				t.Errorf("%s and %s lead to %s", other, b.ID, key)
			}
			led[key] = b.ID
			if err := cfg.Allow.Allows(target(to)); err != nil {
				t.Error(err)
			}
			if b.Meta.Producer != "" && cfg.Session != nil && cfg.Session.Recent[key] {
				t.Errorf("%s leads again to %s", b.ID, key)
			}
		}
	}
	if tools > cfg.Cap || optional > cfg.OptionalCap {
		t.Errorf("%d blocks of tools and %d others, at most %d and %d", tools, optional, cfg.Cap, cfg.OptionalCap)
	}
	if cfg.Session != nil && cfg.Session.Blocks+optional > cfg.Session.Most {
		t.Errorf("%d blocks in the conversation, at most %d", cfg.Session.Blocks+optional, cfg.Session.Most)
	}
	for id, there := range shown {
		if there {
			t.Errorf("%s was said to be shown and is not there", id)
		}
	}
}

// TestParallelProducers: of many that want the last place, or to lead to the
// same one, one gets it.
func TestParallelProducers(t *testing.T) {
	for what, c := range map[string]struct {
		cap  int
		to   func(i int) string
		code string
	}{
		"the last place": {cap: 1, to: func(i int) string { return fmt.Sprintf("/a/%d", i) }, code: emit.CodeTurnCap},
		"the same place": {cap: 50, to: func(int) string { return "/a" }, code: emit.CodeDuplicateAction},
	} {
		t.Run(what, func(t *testing.T) {
			s := open(t, &log{}, emit.Config{Cap: c.cap, OptionalCap: c.cap})
			codes := make(chan string, 40)
			var wg sync.WaitGroup
			for i := range cap(codes) {
				wg.Go(func() {
					o, f := suggestion(c.to(i))
					if i%2 == 0 {
						_, err := s.Show(o, f)
						codes <- codeOf(t, err)
						return
					}
					b, err := s.Open(o)
					if err == nil {
						err = b.End(f)
					}
					codes <- codeOf(t, err)
				})
			}
			wg.Wait()
			close(codes)
			got := make(map[string]int)
			for code := range codes {
				got[code]++
			}
			if got["shown"] != 1 || got[c.code] != cap(codes)-1 {
				t.Errorf("%v", got)
			}
			if n := len(end(t, s).Blocks); n != 1 {
				t.Errorf("%d blocks", n)
			}
		})
	}
}

// TestShowThatCannotBeWritten: what the log does not take leads nowhere, and
// has no place.
func TestShowThatCannotBeWritten(t *testing.T) {
	l := &log{}
	s := open(t, l, emit.Config{OptionalCap: 1})
	o, f := suggestion("/wallet")
	f.Actions = []block.Action{{ID: "a", Kind: block.ActionPrompt, Prompt: strings.Repeat("x", event.MaxSize)}}
	if _, err := s.Show(o, f); !errors.Is(err, &event.GuardError{Rule: event.RuleSize}) {
		t.Fatalf("an event too large: %v", err)
	}
	f.Actions = nil
	if _, err := s.Show(o, f); err != nil {
		t.Errorf("the same without what was too large: %v", err)
	}
	end(t, s)
	if got := l.types(); got != "start block_end done" {
		t.Errorf("log %s", got)
	}
}

// TestTurnEndsWhileABlockIsShown: a block that waits for the log when its turn
// ends is ended with it.
func TestTurnEndsWhileABlockIsShown(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &log{gate: make(chan struct{})}
		s := open(t, l, emit.Config{})
		rows := strings.Repeat(`{"n":"`+strings.Repeat("x", 1500)+`"},`, 500)
		if err := s.Text(strings.Repeat("x", 1<<20-64<<10)); err != nil { // nearly as much as may wait
			t.Fatal(err)
		}
		big := json.RawMessage(strings.Replace(table, `"rows":[]`, `"rows":[`+rows[:len(rows)-1]+`]`, 1))
		var err error
		done := make(chan struct{})
		go func() {
			defer close(done)
			_, err = s.Show(emit.Opening{Type: "table", Producer: emit.ProducerConnector}, emit.Finished{Payload: big})
		}()
		synctest.Wait()
		go func() {
			synctest.Wait()
			close(l.gate)
		}()
		st := end(t, s)
		<-done
		if !errors.Is(err, emit.ErrClosed) {
			t.Errorf("shown after the end: %v", err)
		}
		if len(st.Blocks) != 2 || st.Blocks[1].Status != block.StatusError {
			t.Errorf("blocks %+v", st.Blocks)
		}
		lawful(t, l)
	})
}
