package openai

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// reader puts one answer together from the pieces of its stream.
type reader struct {
	on     func(model.Delta) error
	tools  map[string]model.ToolSpec
	newID  func() string
	filter *dialect
	// heard is told of every frame with data, finished when the endpoint has
	// said why it ends. Either may be nil.
	heard, finished func()

	text, reasoning strings.Builder
	slots           []*slot
	textCalls       []model.Call
	extra           pieces
	usage           model.Usage
	finish          string
	quirks          []string
	skipped         int
	kept            int  // bytes of calls and of what is only echoed
	streamed        bool // a delta has arrived
	refused         bool // on returned an error
}

// The bounds of one answer's calls, together with what is only echoed. Text is
// bounded by whoever it is handed to.
const (
	maxKept  = 2 << 20
	maxCalls = 128
)

// keep counts what is held until the answer is complete: an endpoint that
// never comes to an end must not fill the memory.
func (r *reader) keep(n int) error {
	if r.kept += n; r.kept <= maxKept && len(r.slots) <= maxCalls {
		return nil
	}
	return &model.Error{Code: model.CodeBadResponse, Message: "the calls of the answer are too many or too long"}
}

// slot gathers the pieces of one tool call.
type slot struct {
	index     *int
	id        string
	name      string
	args      strings.Builder
	custom    bool
	announced bool
	extra     pieces
}

// pieces gathers what arrived for members that are only echoed.
type pieces map[string][]json.RawMessage

func newReader(p Profile, tools []model.ToolSpec, on func(model.Delta) error, newID func() string) *reader {
	r := &reader{tools: make(map[string]model.ToolSpec, len(tools)), newID: newID}
	r.on = func(d model.Delta) error {
		err := on(d)
		r.refused = r.refused || err != nil
		return err
	}
	for _, t := range tools {
		r.tools[t.Name] = t
	}
	r.filter = newDialect(p, r.tools)
	r.filter.text = func(s string) error {
		r.text.WriteString(s)
		return r.on(model.Delta{Text: s})
	}
	r.filter.reasoning = r.think
	r.filter.call = func(c model.Call) error {
		c.ID = r.newID()
		r.textCalls = append(r.textCalls, c)
		return r.on(model.Delta{CallStarted: c.Name})
	}
	return r
}

// The shapes of the wire, as far as every chunk has them.
type (
	chunk struct {
		Choices []choice        `json:"choices"`
		Usage   json.RawMessage `json:"usage"`
		Error   json.RawMessage `json:"error"`
		Code    json.RawMessage `json:"code"`
		Message json.RawMessage `json:"message"`
		Groq    struct {
			Usage json.RawMessage `json:"usage"`
		} `json:"x_groq"`
	}
	choice struct {
		Index        int             `json:"index"`
		Delta        members         `json:"delta"`
		Message      members         `json:"message"`
		FinishReason string          `json:"finish_reason"`
		Usage        json.RawMessage `json:"usage"`
		Error        json.RawMessage `json:"error"`
	}
	members  map[string]json.RawMessage
	toolCall struct {
		Index    *int            `json:"index"`
		ID       string          `json:"id"`
		Function functionCall    `json:"function"`
		Custom   json.RawMessage `json:"custom"`
	}
	functionCall struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
)

// read reads a body to its end mark or to its end. The response holds what
// arrived, whatever the error.
func (r *reader) read(body io.Reader) (model.Response, error) {
	f := endpoint.NewFrames(body)
	plain, err := f.IsJSON()
	var done bool
	switch {
	case err != nil:
		err = r.broken(err)
	case plain:
		done, err = r.readJSON(f)
	default:
		done, err = r.readStream(f)
	}
	return r.end(done, err)
}

// readStream reads frames until the end mark. done is false when the stream
// ended without one.
func (r *reader) readStream(f *endpoint.Frames) (done bool, err error) {
	for {
		fr, err := f.Next()
		if err != nil {
			return false, r.broken(err)
		}
		if len(fr.Data) > 0 && r.heard != nil {
			r.heard()
		}
		if fr.Event == "error" {
			return false, endpoint.ReadError(fr.Data).Model(0)
		}
		if done, err = r.frame(fr); done || err != nil {
			return done, err
		}
	}
}

// frame reads the data of one frame: one chunk, or several where the blank
// lines between frames got lost.
func (r *reader) frame(fr endpoint.Frame) (done bool, err error) {
	for {
		data := bytes.TrimSpace(fr.Data)
		switch {
		case len(data) == 0:
			return false, nil
		case bytes.HasPrefix(data, []byte("[DONE]")):
			return true, nil
		case data[0] != '{':
			r.skipped++
			return false, nil
		}
		c, rest, err := r.parse(data)
		if err != nil {
			if fr.Cut {
				r.quirk("cut_frame")
				return false, nil
			}
			return false, &model.Error{Code: model.CodeBadResponse, Message: "a chunk of the stream is not JSON", Retryable: true, Err: err}
		}
		if err := r.chunk(c, data); err != nil {
			return false, err
		}
		fr.Data = rest
	}
}

// parse reads the first chunk of data and returns what follows it.
func (r *reader) parse(data []byte) (c chunk, rest []byte, err error) {
	// Reading all of a long run of chunks for each of them would never end.
	if len(data) <= 64<<10 {
		if err := r.decode(data, &c); err == nil {
			return c, nil, nil
		}
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	var first json.RawMessage
	if err := dec.Decode(&first); err != nil {
		return chunk{}, nil, err
	}
	err = r.decode(first, &c)
	return c, data[dec.InputOffset():], err
}

// decode reads one value into v. A member of an unexpected kind is left out,
// it does not spoil the rest.
func (r *reader) decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var kind *json.UnmarshalTypeError
	if errors.As(err, &kind) {
		r.quirk("odd_type " + kind.Field)
		return nil
	}
	return err
}

// readJSON reads an answer that came as one JSON object.
func (r *reader) readJSON(f *endpoint.Frames) (done bool, err error) {
	body, err := f.Rest()
	if err != nil {
		return false, r.broken(err)
	}
	r.quirk("not_streamed")
	var c chunk
	if err := r.decode(body, &c); err != nil {
		return false, &model.Error{Code: model.CodeBadResponse, Message: "the answer is not JSON", Retryable: true, Err: err}
	}
	if err := r.chunk(c, body); err != nil {
		return false, err
	}
	if len(c.Choices) == 0 {
		return false, endpoint.ReadError(body).Model(0)
	}
	return true, nil
}

// broken turns the end of a body into an error, or into nil when the answer
// is merely over: complete if its finish was seen, else incomplete.
func (r *reader) broken(err error) error {
	switch {
	case err == io.EOF:
		return nil
	case errors.Is(err, io.ErrUnexpectedEOF), r.finish != "":
		r.quirk("connection_closed")
		return nil
	case errors.Is(err, endpoint.ErrTooLong):
		return &model.Error{Code: model.CodeBadResponse, Message: err.Error(), Err: err}
	}
	return err
}

// chunk takes one chunk in; raw is its text.
func (r *reader) chunk(c chunk, raw []byte) error {
	if !endpoint.IsNull(c.Error) {
		return r.failed(c, endpoint.ReadError(c.Error))
	}
	if len(c.Choices) == 0 && endpoint.Scalar(c.Code) != "" && endpoint.Scalar(c.Message) != "" {
		return endpoint.ReadError(raw).Model(0)
	}
	r.readUsage(c.Groq.Usage)
	r.readUsage(c.Usage)
	for _, ch := range c.Choices {
		if ch.Index != 0 {
			r.quirk("other_choice")
			continue
		}
		if !endpoint.IsNull(ch.Error) {
			return r.failed(c, endpoint.ReadError(ch.Error))
		}
		delta := ch.Delta
		if len(delta) == 0 && len(ch.Message) > 0 && !r.streamed {
			delta = ch.Message
			r.quirk("message_for_delta")
		}
		if len(delta) > 0 {
			r.streamed = true
			if err := r.delta(delta); err != nil {
				return err
			}
		}
		r.readUsage(ch.Usage)
		if ch.FinishReason != "" && r.finish == "" {
			r.finish = ch.FinishReason
			if r.finished != nil {
				r.finished()
			}
		}
	}
	return nil
}

// failed takes in what arrived beside an error and returns the error.
func (r *reader) failed(c chunk, e endpoint.Error) error {
	for _, ch := range c.Choices {
		if ch.Index == 0 {
			if err := r.delta(ch.Delta); err != nil {
				return err
			}
		}
	}
	return e.Model(0)
}

// responseOnly are members of a message that no endpoint takes back.
var responseOnly = map[string]bool{"annotations": true, "audio": true, "citations": true, "search_results": true}

// delta takes in one piece of the assistant message. Reasoning comes before
// text and text before calls, whatever the order of the members.
func (r *reader) delta(d members) error {
	thought := text(d["reasoning_content"])
	if thought == "" {
		thought = text(d["reasoning"])
	}
	if err := r.think(thought); err != nil {
		return err
	}
	if err := r.content(d["content"]); err != nil {
		return err
	}
	if refusal := text(d["refusal"]); refusal != "" {
		r.quirk("refusal")
		if err := r.filter.feed(refusal); err != nil {
			return err
		}
	}
	if calls := d["tool_calls"]; !endpoint.IsNull(calls) {
		if err := r.calls(calls); err != nil {
			return err
		}
	}
	if legacy := d["function_call"]; !endpoint.IsNull(legacy) {
		r.quirk("function_call")
		zero := 0
		entry := toolCall{Index: &zero}
		if json.Unmarshal(legacy, &entry.Function) == nil {
			if err := r.call(entry, nil, false); err != nil {
				return err
			}
		}
	}
	for name, value := range d {
		switch name {
		case "role", "content", "reasoning_content", "reasoning", "refusal", "tool_calls", "function_call":
		default:
			if responseOnly[name] {
				continue
			}
			if err := r.keep(len(value)); err != nil {
				return err
			}
			r.extra = r.extra.add(name, value)
		}
	}
	return nil
}

// text returns a JSON string; anything else is empty.
func text(raw json.RawMessage) string {
	var s string
	if len(raw) == 0 || raw[0] != '"' || json.Unmarshal(raw, &s) != nil {
		return ""
	}
	return s
}

func (r *reader) think(s string) error {
	if s == "" {
		return nil
	}
	r.reasoning.WriteString(s)
	return r.on(model.Delta{Reasoning: s})
}

// content takes in text, which may come as a list of typed parts.
func (r *reader) content(raw json.RawMessage) error {
	if len(raw) == 0 || raw[0] != '[' {
		if s := text(raw); s != "" {
			return r.filter.feed(s)
		}
		return nil
	}
	r.quirk("content_parts")
	var parts []members
	if json.Unmarshal(raw, &parts) != nil {
		return nil
	}
	for _, p := range parts {
		thought := text(p["thinking"])
		var inner []members
		if json.Unmarshal(p["thinking"], &inner) == nil {
			for _, t := range inner {
				thought += text(t["text"])
			}
		}
		if err := r.think(thought); err != nil {
			return err
		}
		if s := text(p["text"]); s != "" {
			if err := r.filter.feed(s); err != nil {
				return err
			}
		}
	}
	return nil
}

// calls takes in the pieces of tool calls of one chunk.
func (r *reader) calls(raw json.RawMessage) error {
	var entries []json.RawMessage
	if json.Unmarshal(raw, &entries) != nil {
		r.quirk("odd_type tool_calls")
		return nil
	}
	for i, e := range entries {
		var entry toolCall
		if err := r.decode(e, &entry); err != nil {
			return fmt.Errorf("model: read a tool call: %w", err)
		}
		var all members
		if json.Unmarshal(e, &all) != nil { // an entry that is no object
			continue
		}
		for _, known := range []string{"index", "id", "type", "function", "custom"} {
			delete(all, known)
		}
		if err := r.call(entry, all, i > 0); err != nil {
			return err
		}
	}
	return nil
}

// call takes in one piece of a tool call; later says that it is not the first
// of its chunk.
func (r *reader) call(entry toolCall, extra members, later bool) error {
	fn := entry.Function
	custom := !endpoint.IsNull(entry.Custom)
	if custom {
		var in struct {
			Name  string          `json:"name"`
			Input json.RawMessage `json:"input"`
		}
		if json.Unmarshal(entry.Custom, &in) == nil {
			fn = functionCall{Name: in.Name, Arguments: in.Input}
		}
	}
	s := r.slot(entry.Index, entry.ID, fn.Name, later)
	if err := r.keep(len(fn.Name) + len(fn.Arguments)); err != nil {
		return err
	}
	s.custom = s.custom || custom
	if s.id == "" {
		s.id = entry.ID
	}
	switch {
	case fn.Name == "" || fn.Name == s.name:
	case s.name == "" || !r.offered(s.name):
		s.name += fn.Name
	default:
		r.quirk("renamed_call")
	}
	if args := fn.Arguments; !endpoint.IsNull(args) {
		if args[0] == '"' {
			s.args.WriteString(text(args))
		} else {
			r.quirk("arguments_not_text")
			s.args.Write(args)
		}
	}
	for name, value := range extra {
		if err := r.keep(len(value)); err != nil {
			return err
		}
		s.extra = s.extra.add(name, value)
	}
	if !s.announced && r.offered(s.name) {
		s.announced = true
		return r.on(model.Delta{CallStarted: s.name})
	}
	return nil
}

func (r *reader) offered(name string) bool {
	_, ok := r.tools[name]
	return ok
}

// slot finds the call that a piece belongs to, or opens a new one. An id that
// is known decides; a new id opens a call unless it only completes one; then
// the index counts; without either the piece goes to the last call, unless it
// brings a name that cannot be a part of that call's.
func (r *reader) slot(index *int, id, name string, later bool) *slot {
	var last, byIndex *slot
	for _, s := range r.slots {
		if id != "" && s.id == id {
			return s
		}
		if index != nil && s.index != nil && *s.index == *index {
			byIndex = s
		}
		last = s
	}
	opened := func() *slot {
		s := &slot{index: index}
		r.slots = append(r.slots, s)
		return s
	}
	switch {
	case id != "":
		if byIndex != nil && (name == "" || byIndex.id == "" && byIndex.name == "") {
			return byIndex
		}
		return opened()
	case index != nil:
		if byIndex == nil || name != "" && r.complete(byIndex) && (later || name != byIndex.name) {
			return opened()
		}
		return byIndex
	case last == nil, name != "" && (later || r.offered(last.name) && (name != last.name || r.complete(last))):
		return opened()
	}
	return last
}

// complete reports whether a call could be run as it is.
func (r *reader) complete(s *slot) bool {
	return r.offered(s.name) && json.Valid([]byte(s.args.String()))
}

// readUsage takes usage in. The last one counts: some endpoints repeat a
// running total in every chunk.
func (r *reader) readUsage(raw json.RawMessage) {
	if endpoint.IsNull(raw) {
		return
	}
	var u struct {
		Prompt        int     `json:"prompt_tokens"`
		Completion    int     `json:"completion_tokens"`
		Cached        int     `json:"cached_tokens"`
		CacheHit      int     `json:"prompt_cache_hit_tokens"`
		Cost          float64 `json:"cost"`
		PromptDetails struct {
			Cached int `json:"cached_tokens"`
		} `json:"prompt_tokens_details"`
		OutputDetails struct {
			Reasoning int `json:"reasoning_tokens"`
		} `json:"completion_tokens_details"`
	}
	if err := r.decode(raw, &u); err != nil {
		return
	}
	if u.Prompt == 0 && u.Completion == 0 {
		return
	}
	r.usage = model.Usage{
		InputTokens:     u.Prompt,
		OutputTokens:    u.Completion,
		CachedTokens:    max(u.Cached, u.CacheHit, u.PromptDetails.Cached),
		ReasoningTokens: u.OutputDetails.Reasoning,
		CostUSD:         u.Cost,
	}
}

// quirk notes a deviation once.
func (r *reader) quirk(name string) {
	if !slices.Contains(r.quirks, name) {
		r.quirks = append(r.quirks, name)
	}
}

// end finishes the answer: done says that the end mark was seen, err that it
// failed.
func (r *reader) end(done bool, err error) (model.Response, error) {
	finish, known := finishOf(r.finish)
	whole := err == nil && (done || r.finish != "")
	if whole && finish == "" {
		err = &model.Error{Code: model.CodeUnavailable, Message: "the endpoint gave up: " + endpoint.Cut(r.finish, 100), Retryable: true}
		whole = false
	}
	if !r.refused {
		if flushErr := r.filter.flush(whole && finish != model.FinishLength); flushErr != nil && err == nil {
			err, whole = flushErr, false
		}
	}
	resp := model.Response{
		FinishRaw: r.finish,
		Usage:     r.usage,
		Extra:     r.extra.join(),
	}
	switch {
	case !whole:
		resp.Finish = model.FinishIncomplete
		r.noteUnfinished()
	default:
		if r.finish == "" {
			r.quirk("finish_missing")
		} else if !known {
			r.quirk("finish_unknown " + endpoint.Cut(r.finish, 100))
		}
		var callErr error
		if resp.Calls, callErr = r.finishedCalls(); callErr != nil {
			err, resp.Calls, finish = callErr, nil, model.FinishIncomplete
		}
		resp.Finish = finish
		switch {
		case finish == model.FinishStop && len(resp.Calls) > 0:
			resp.Finish = model.FinishToolCalls
		case finish == model.FinishToolCalls && len(resp.Calls) == 0:
			resp.Finish = model.FinishStop
			r.quirk("finish_without_calls")
		}
	}
	if r.skipped > 0 {
		r.quirk(fmt.Sprintf("skipped_data %d", r.skipped))
	}
	resp.Text, resp.Reasoning, resp.Quirks = r.text.String(), r.reasoning.String(), r.quirks
	return resp, err
}

// finishOf maps an endpoint's word. An empty result is a failure; known is
// false for a word that is taken as stop without being understood.
func finishOf(word string) (f model.Finish, known bool) {
	switch strings.ToLower(word) {
	case "", "stop", "eos", "end_turn", "eos_token", "stop_sequence":
		return model.FinishStop, true
	case "length", "max_tokens", "max_output_tokens", "model_length":
		return model.FinishLength, true
	case "tool_calls", "tool_call", "tool_use", "function_call":
		return model.FinishToolCalls, true
	case "content_filter", "sensitive", "safety", "recitation", "prohibited_content", "blocklist":
		return model.FinishContentFilter, true
	case "error", "insufficient_system_resource", "network_error", "malformed_function_call":
		return "", true
	}
	return model.FinishStop, false
}

// finishedCalls reads the arguments of all calls. Pieces that never got a
// name nor arguments are dropped.
func (r *reader) finishedCalls() ([]model.Call, error) {
	var calls []model.Call
	for _, s := range r.slots {
		raw := s.args.String()
		if s.name == "" && strings.TrimSpace(raw) == "" {
			r.quirk("empty_call")
			continue
		}
		c := model.Call{ID: s.id, Name: s.name, Extra: s.extra.join()}
		if c.ID == "" {
			c.ID = r.newID()
			r.quirk("call_without_id")
		}
		switch {
		case s.custom:
			c.Raw, c.Err = raw, "a custom tool was called, but only functions are offered"
		case s.name == "":
			c.Raw, c.Err = raw, "the call has no name"
		default:
			readArguments(&c, raw)
		}
		if c.Repaired {
			r.quirk("arguments_repaired")
		}
		calls = append(calls, c)
		if !s.announced && s.name != "" {
			s.announced = true
			if err := r.on(model.Delta{CallStarted: s.name}); err != nil {
				return nil, err
			}
		}
	}
	return append(calls, r.textCalls...), nil
}

// noteUnfinished keeps the pieces of calls that must not be run.
func (r *reader) noteUnfinished() {
	for _, s := range r.slots {
		if s.name != "" || s.args.Len() > 0 {
			r.quirks = append(r.quirks, "unfinished_call "+s.name+" "+endpoint.Cut(s.args.String(), 200))
		}
	}
	for _, c := range r.textCalls {
		r.quirks = append(r.quirks, "unfinished_call "+c.Name+" "+endpoint.Cut(c.Raw, 200))
	}
}

// add keeps one piece of a member.
func (p pieces) add(name string, value json.RawMessage) pieces {
	if endpoint.IsNull(value) {
		return p
	}
	if p == nil {
		p = pieces{}
	}
	p[name] = append(p[name], value)
	return p
}

// join puts the pieces together: lists are strung together, of everything
// else the last piece counts.
func (p pieces) join() map[string]json.RawMessage {
	if p == nil {
		return nil
	}
	whole := make(map[string]json.RawMessage, len(p))
	for name, values := range p {
		whole[name] = values[len(values)-1]
		var entries []json.RawMessage
		for _, v := range values {
			var list []json.RawMessage
			if json.Unmarshal(v, &list) != nil {
				entries = nil
				break
			}
			entries = append(entries, list...)
		}
		if len(entries) == 0 {
			continue
		}
		if list, err := json.Marshal(joinDetails(entries)); err == nil {
			whole[name] = list
		}
	}
	return whole
}

// detailText names the member that holds the text of a reasoning detail.
var detailText = map[string]string{"reasoning.text": "text", "reasoning.summary": "summary"}

// joinDetails makes one entry of consecutive pieces of one reasoning text,
// because endpoints check signatures against the whole.
func joinDetails(entries []json.RawMessage) []json.RawMessage {
	var out []json.RawMessage
	var open members // the entry being joined
	var whole strings.Builder
	var field string
	closeOpen := func() {
		if open == nil {
			return
		}
		if joined, err := json.Marshal(whole.String()); err == nil {
			open[field] = joined
		}
		if entry, err := json.Marshal(open); err == nil {
			out = append(out, entry)
		}
		open = nil
		whole.Reset()
	}
	for _, e := range entries {
		var m members
		if json.Unmarshal(e, &m) != nil || detailText[text(m["type"])] == "" {
			closeOpen()
			out = append(out, e)
			continue
		}
		if open != nil && (text(open["type"]) != text(m["type"]) || string(open["index"]) != string(m["index"])) {
			closeOpen()
		}
		if open == nil {
			open, field = members{}, detailText[text(m["type"])]
		}
		whole.WriteString(text(m[field]))
		for name, value := range m {
			if !endpoint.IsNull(value) || open[name] == nil {
				open[name] = value
			}
		}
	}
	closeOpen()
	return out
}
