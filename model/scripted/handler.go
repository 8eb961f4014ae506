package scripted

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/model"
)

const (
	// ScenarioHeader names a scenario to be played, whatever the question;
	// the answer carries the name of the one that was.
	ScenarioHeader = "X-Demo-Scenario"

	maxRequest = 8 << 20
	// created stands in every answer: nothing here looks at a clock.
	created = 1767225600
)

// Handler serves the model on POST /v1/chat/completions and GET /v1/models.
func (m *Model) Handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/chat/completions", m.completions)
	mux.HandleFunc("GET /v1/models", func(w http.ResponseWriter, r *http.Request) {
		writeJSON(w, http.StatusOK, map[string]any{
			"object": "list",
			"data":   []any{map[string]any{"id": Name, "object": "model", "created": created, "owned_by": "scripted"}},
		})
	})
	mux.HandleFunc("/", func(w http.ResponseWriter, r *http.Request) {
		refuse(w, http.StatusNotFound, "invalid_request_error", "not_found", "There is nothing at "+r.Method+" "+r.URL.Path+".")
	})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if m.opts.APIKey != "" && r.Header.Get("Authorization") != "Bearer "+m.opts.APIKey {
			refuse(w, http.StatusUnauthorized, "invalid_request_error", "invalid_api_key", "The API key is missing or wrong.")
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// The shapes of a request, as far as they are looked at.
type (
	wireRequest struct {
		Model         string        `json:"model"`
		Messages      []wireMessage `json:"messages"`
		Stream        bool          `json:"stream"`
		StreamOptions struct {
			IncludeUsage bool `json:"include_usage"`
		} `json:"stream_options"`
		Tools []struct {
			Function struct {
				Name       string          `json:"name"`
				Parameters json.RawMessage `json:"parameters"`
			} `json:"function"`
		} `json:"tools"`
		ToolChoice json.RawMessage `json:"tool_choice"`
		Seed       *int64          `json:"seed"`
	}
	wireMessage struct {
		Role       model.Role      `json:"role"`
		Content    json.RawMessage `json:"content"`
		ToolCallID string          `json:"tool_call_id"`
		ToolCalls  []wireCall      `json:"tool_calls"`
	}
	wireCall struct {
		Index    *int         `json:"index,omitempty"`
		ID       string       `json:"id,omitempty"`
		Type     string       `json:"type,omitempty"`
		Function wireFunction `json:"function"`
	}
	wireFunction struct {
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments"`
	}
)

func (in wireRequest) request() (model.Request, error) {
	req := model.Request{Seed: in.Seed}
	if len(in.Messages) == 0 {
		return req, errors.New("messages must not be empty")
	}
	for _, m := range in.Messages {
		msg := model.Message{Role: m.Role, CallID: m.ToolCallID}
		msg.Content, msg.Images = contentOf(m.Content)
		switch m.Role {
		case model.RoleSystem, model.RoleUser, model.RoleAssistant, model.RoleTool:
		case "developer":
			msg.Role = model.RoleSystem
		default:
			return req, errors.New("unknown role " + strconv.Quote(string(m.Role)))
		}
		for _, c := range m.ToolCalls {
			msg.Calls = append(msg.Calls, model.Call{ID: c.ID, Name: c.Function.Name, Raw: c.Function.Arguments})
		}
		req.Messages = append(req.Messages, msg)
	}
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, model.ToolSpec{Name: t.Function.Name, Parameters: t.Function.Parameters})
	}
	req.ToolChoice = choiceOf(in.ToolChoice)
	return req, nil
}

// choiceOf reads a tool choice: a word, or the function to be called.
func choiceOf(raw json.RawMessage) model.ToolChoice {
	var word string
	if json.Unmarshal(raw, &word) == nil {
		switch word {
		case "none":
			return model.ToolNone
		case "required", "any":
			return model.ToolRequired
		}
		return model.ToolAuto
	}
	var named struct {
		Function struct {
			Name string `json:"name"`
		} `json:"function"`
	}
	if json.Unmarshal(raw, &named) != nil {
		return model.ToolAuto
	}
	return model.ToolChoice(named.Function.Name)
}

// contentOf reads a message's text, given as a string or as parts, and the
// pictures among the parts.
func contentOf(raw json.RawMessage) (text string, pictures []model.Image) {
	if json.Unmarshal(raw, &text) == nil {
		return text, nil
	}
	var parts []struct {
		Text     string `json:"text"`
		ImageURL struct {
			URL string `json:"url"`
		} `json:"image_url"`
	}
	if json.Unmarshal(raw, &parts) != nil {
		return "", nil
	}
	var texts []string
	for _, p := range parts {
		if p.Text != "" {
			texts = append(texts, p.Text)
		}
		inline, _ := strings.CutPrefix(p.ImageURL.URL, "data:")
		mime, data, ok := strings.Cut(inline, ";base64,")
		if picture, err := base64.StdEncoding.DecodeString(data); ok && err == nil {
			pictures = append(pictures, model.Image{Mime: mime, Data: picture})
		}
	}
	return strings.Join(texts, "\n"), pictures
}

func (m *Model) completions(w http.ResponseWriter, r *http.Request) {
	var in wireRequest
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&in); err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "invalid_json", "The body is not a chat completion request: "+err.Error())
		return
	}
	if in.Model != Name {
		refuse(w, http.StatusNotFound, "invalid_request_error", "model_not_found", "The model is called "+Name+", not "+strconv.Quote(in.Model)+".")
		return
	}
	req, err := in.request()
	if err != nil {
		refuse(w, http.StatusBadRequest, "invalid_request_error", "invalid_messages", err.Error())
		return
	}
	p, err := m.script.plan(req, r.Header.Get(ScenarioHeader))
	if err != nil {
		refuseError(w, err)
		return
	}
	w.Header().Set(ScenarioHeader, p.scenario)
	seed := m.seed(req)
	if in.Stream {
		m.stream(r.Context(), w, p, seed, in.StreamOptions.IncludeUsage)
		return
	}
	m.whole(r.Context(), w, p, seed)
}

// whole answers with one JSON object.
func (m *Model) whole(ctx context.Context, w http.ResponseWriter, p *plan, seed int64) {
	message := map[string]any{"role": "assistant"}
	var text, thought strings.Builder
	var calls []wireCall
	err := m.play(ctx, p, seed, func(pc piece) error {
		text.WriteString(pc.text)
		thought.WriteString(pc.thought)
		if pc.start {
			calls = append(calls, wireCall{ID: pc.call.ID, Type: "function", Function: wireFunction{Name: pc.call.Name, Arguments: pc.call.Raw}})
		}
		return nil
	})
	switch {
	case errors.Is(err, errDropped), ctx.Err() != nil:
		panic(http.ErrAbortHandler)
	case err != nil:
		refuseError(w, err)
		return
	}
	message["content"] = text.String()
	if thought.Len() > 0 {
		message["reasoning_content"] = thought.String()
	}
	if len(calls) > 0 {
		message["tool_calls"] = calls
	}
	writeJSON(w, http.StatusOK, map[string]any{
		"id": "chatcmpl-" + p.id, "object": "chat.completion", "created": created, "model": Name,
		"choices": []any{map[string]any{"index": 0, "message": message, "finish_reason": p.finish}},
		"usage":   usage(p),
	})
}

// stream answers with server-sent events.
func (m *Model) stream(ctx context.Context, w http.ResponseWriter, p *plan, seed int64, withUsage bool) {
	out := &eventWriter{w: w, flush: http.NewResponseController(w).Flush, seed: seed, plan: p}
	calls := -1
	err := m.play(ctx, p, seed, func(pc piece) error {
		delta := map[string]any{}
		switch {
		case pc.text != "":
			delta["content"] = pc.text
		case pc.thought != "":
			delta["reasoning_content"] = pc.thought
		case pc.start:
			calls++
			delta["tool_calls"] = []wireCall{{Index: &calls, ID: pc.call.ID, Type: "function", Function: wireFunction{Name: pc.call.Name}}}
		default:
			delta["tool_calls"] = []wireCall{{Index: &calls, Function: wireFunction{Arguments: pc.args}}}
		}
		return out.choice(delta, nil)
	})
	var failed *model.Error
	switch {
	case errors.As(err, &failed) && !out.begun:
		refuseError(w, failed)
		return
	case errors.As(err, &failed):
		err = out.event(map[string]any{"error": errorBody(failed)})
		if err == nil {
			return
		}
	}
	if err == nil {
		err = out.choice(map[string]any{}, p.finish)
	}
	if err == nil && withUsage {
		err = out.chunk([]any{}, usage(p))
	}
	if err == nil {
		err = out.raw("data: [DONE]\n\n")
	}
	if err != nil { // dropped by the script, or the client has gone
		panic(http.ErrAbortHandler)
	}
}

// eventWriter writes events. Under a seed it also cuts the bytes on the wire,
// in the middle of characters and escapes too.
type eventWriter struct {
	w     http.ResponseWriter
	flush func() error
	seed  int64
	plan  *plan
	begun bool
	sent  int
}

func (e *eventWriter) choice(delta map[string]any, finish any) error {
	if !e.begun {
		delta["role"] = "assistant"
	}
	return e.chunk([]any{map[string]any{"index": 0, "delta": delta, "finish_reason": finish}}, nil)
}

func (e *eventWriter) chunk(choices []any, usage any) error {
	return e.event(map[string]any{
		"id": "chatcmpl-" + e.plan.id, "object": "chat.completion.chunk", "created": created, "model": Name,
		"choices": choices, "usage": usage,
	})
}

func (e *eventWriter) event(v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	return e.raw("data: " + string(data) + "\n\n")
}

func (e *eventWriter) raw(s string) error {
	if !e.begun {
		e.begun = true
		e.w.Header().Set("Content-Type", "text/event-stream")
		e.w.Header().Set("Cache-Control", "no-cache")
		e.w.Header().Set("X-Accel-Buffering", "no")
		e.w.WriteHeader(http.StatusOK)
	}
	for s != "" {
		n := len(s)
		if e.seed != 0 {
			// Cuts lie at firstCut and then every cutEvery bytes.
			n = min(n, cutEvery-(e.sent-firstCut(e.seed)+cutEvery)%cutEvery)
		}
		if _, err := io.WriteString(e.w, s[:n]); err != nil {
			return err
		}
		if err := e.flush(); err != nil {
			return err
		}
		e.sent += n
		s = s[n:]
	}
	return nil
}

func usage(p *plan) map[string]int {
	in, out := p.usage.InputTokens, p.usage.OutputTokens
	return map[string]int{"prompt_tokens": in, "completion_tokens": out, "total_tokens": in + out}
}

func errorBody(e *model.Error) map[string]string {
	kind, code := "invalid_request_error", "bad_request"
	switch {
	case e.Code == model.CodeRateLimited:
		kind, code = "rate_limit_error", "rate_limit_exceeded"
	case e.Code == model.CodeUnauthorized:
		code = "invalid_api_key"
	case e.Status >= 500:
		kind, code = "server_error", "server_error"
	}
	return map[string]string{"message": e.Message, "type": kind, "code": code}
}

func refuseError(w http.ResponseWriter, err error) {
	e := model.AsError(err)
	if e.RetryAfter > 0 {
		w.Header().Set("Retry-After", strconv.FormatFloat(e.RetryAfter.Seconds(), 'f', -1, 64))
	}
	status := e.Status
	if status == 0 {
		status = http.StatusInternalServerError
	}
	writeJSON(w, status, map[string]any{"error": errorBody(e)})
}

func refuse(w http.ResponseWriter, status int, kind, code, message string) {
	writeJSON(w, status, map[string]any{"error": map[string]string{"message": message, "type": kind, "code": code}})
}

func writeJSON(w http.ResponseWriter, status int, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		panic("scripted: write an answer: " + err.Error()) // plain maps and structs
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// A client that has gone cannot be told.
	_, _ = w.Write(append(data, '\n'))
}
