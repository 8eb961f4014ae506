package server

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
	"github.com/inlay-ui/inlay/wire/agui"
)

// The routes of AG-UI. A run is one request of a client: it says what is new at
// the end of its messages, in resume or in forwardedProps, and reads what comes
// of it. Everything else that it says has happened is not looked at: what
// happened is in the store.

// aguiRoutes are the routes of AG-UI and of the runtime of CopilotKit.
func (s *server) aguiRoutes() []route {
	return []route{
		{"POST", "/v1/ag-ui", conversing, s.postAgui},
		{"POST", "/v1/ag-ui/connect", rejoining, s.postAguiConnect},
		{"POST", "/v1/ag-ui/stop", authenticated, s.postAguiStop},
		{"GET", "/v1/ag-ui/capabilities", authenticated, s.getAguiCapabilities},
		{"GET", "/v1/copilotkit/info", authenticated, s.getCopilotInfo},
		{"POST", "/v1/copilotkit", conversing, s.postCopilot},
		{"POST", "/v1/copilotkit/agent/{id}/run", conversing, s.postCopilotRun},
		{"POST", "/v1/copilotkit/agent/{id}/connect", rejoining, s.postCopilotConnect},
		{"POST", "/v1/copilotkit/agent/{id}/stop/{thread}", authenticated, s.postCopilotStop},
	}
}

func (s *server) postAgui(w http.ResponseWriter, r *http.Request) error {
	in, err := s.aguiInput(r)
	if err != nil {
		return err
	}
	return s.aguiRun(w, r, in)
}

func (s *server) postAguiConnect(w http.ResponseWriter, r *http.Request) error {
	in, err := s.aguiInput(r)
	if err != nil {
		return err
	}
	return s.aguiConnect(w, r, in)
}

// aguiStop is the body of POST /v1/ag-ui/stop.
type aguiStop struct {
	ThreadID string `json:"threadId"`
}

// postAguiStop stops what is written to a thread. A client that only leaves stops
// nothing.
func (s *server) postAguiStop(w http.ResponseWriter, r *http.Request) error {
	var body aguiStop
	if err := decode(r, &body, false); err != nil {
		return err
	}
	if err := foreignName("threadId", body.ThreadID); err != nil {
		return err
	}
	return s.stopThread(w, r, agui.Name, body.ThreadID, "")
}

// aguiInput reads the body of a run.
func (s *server) aguiInput(r *http.Request) (agui.Input, error) {
	body, err := payload(r, false)
	if err != nil {
		return agui.Input{}, err
	}
	return s.aguiParse(r, body)
}

// aguiParse reads a run, and what its client draws.
func (s *server) aguiParse(r *http.Request, body []byte) (agui.Input, error) {
	if !json.Valid(body) {
		var v struct{}
		return agui.Input{}, decodeError(json.Unmarshal(body, &v), &v, int64(len(body)))
	}
	in, err := agui.ParseInput(body)
	var wrong *agui.InputError
	if errors.As(err, &wrong) {
		details := map[string]any{}
		if wrong.Field != "" {
			details["field"] = wrong.Field
		}
		return in, invalid(strings.TrimSpace(wrong.Field+" "+wrong.Message)+".", details)
	}
	if err != nil {
		return in, wrap("read run", err)
	}
	if in.Forwarded.Declared {
		callOf(r).declared = &in.Forwarded.Capabilities
	}
	return in, s.declared(r)
}

// aguiThread is the thread of a run.
type aguiThread struct {
	store.Conversation
	// path are the messages that are shown; empty when nothing was said yet.
	path []store.Message
}

// leaf is the last answer.
func (t aguiThread) leaf() store.Message {
	if len(t.path) == 0 {
		return store.Message{}
	}
	return t.path[len(t.path)-1]
}

// name is what a client's own id is called in the book of its owner, in which
// every thread has names of its own.
func (t aguiThread) name(id string) string { return t.ID + "/" + id }

// begun is what a run of a client is: groups of a message.
type begun struct {
	msg, user string
	from, to  int
	// answer is that of the action that began it, block the one that was acted on.
	answer json.RawMessage
	block  string
	// given are the messages of the client with what came of its calls, by the
	// calls' ids on the wire.
	given map[string]string
}

// aguiRun answers a run.
func (s *server) aguiRun(w http.ResponseWriter, r *http.Request, in agui.Input) error {
	if in.RunID == "" {
		return invalid("runId is missing.", map[string]any{"field": "runId"})
	}
	c := callOf(r)
	if _, err := s.aguiView(r, in); err != nil {
		return err
	}
	if err := s.limiter.room(c.owner); err != nil {
		return err
	}
	t, err := s.aguiThread(r.Context(), c.owner, in)
	if err != nil {
		return err
	}
	if t.ID != "" {
		w.Header().Set("X-Conversation-Id", t.ID)
		a, err := s.Store.AliasOf(r.Context(), c.owner, agui.Name, store.AliasRun, t.name(in.RunID))
		if err == nil {
			return s.aguiJoin(w, r, in, t, a)
		}
		if !errors.Is(err, store.ErrNotFound) {
			return wrap("read run", err)
		}
	}
	b, err := s.aguiBegin(r, in, t)
	var refused *aguiRefusal
	if errors.As(err, &refused) {
		return s.aguiBrief(w, r, in, agui.Brief{Code: refused.code, Message: refused.message})
	}
	if err != nil {
		return err
	}
	if b == nil {
		return s.aguiBrief(w, r, in, agui.Brief{})
	}
	if b.to == 0 {
		return s.aguiActed(w, r, in, t, b)
	}
	if _, err := s.Store.PutAlias(context.WithoutCancel(r.Context()), store.Alias{
		Owner: c.owner, Dialect: agui.Name, Kind: store.AliasRun, Foreign: t.name(in.RunID), ID: b.msg, Group: b.to, Conversation: t.ID,
	}); err != nil {
		s.log.Warn("keep the name of a run", "msg", b.msg, "err", err)
	}
	return s.aguiStream(w, r, in, t, b)
}

// aguiThread finds the thread of a run. A name that is not known becomes one when
// somebody says something in it, and not before.
func (s *server) aguiThread(ctx context.Context, o store.Owner, in agui.Input) (aguiThread, error) {
	conv, err := s.thread(ctx, o, agui.Name, in.ThreadID)
	if errors.Is(err, store.ErrNotFound) && !isOwn("c", in.ThreadID) {
		tail := aguiTail(in.Messages)
		if len(tail) == 0 || tail[0].Role != agui.RoleUser || len(in.Resume) > 0 || in.Forwarded.Action != nil || in.Forwarded.RetryBlock+in.Forwarded.RefreshBlock != "" {
			return aguiThread{Conversation: store.Conversation{Owner: o}}, nil
		}
		conv, err = s.beginThread(ctx, o, agui.Name, in.ThreadID)
	}
	t := aguiThread{Conversation: conv}
	if err == nil && !conv.CreatedAt.IsZero() {
		t.path, err = s.Store.Path(ctx, o, conv.ID, "")
	}
	return t, wrap("read thread", err)
}

// aguiRefusal is why a run fails that AG-UI has an end for: the client learns of
// it as it learns of every run.
type aguiRefusal struct{ code, message string }

// Error implements error.
func (e *aguiRefusal) Error() string { return e.code + ": " + e.message }

// aguiJoin answers a run that was begun before, by a request that came twice.
func (s *server) aguiJoin(w http.ResponseWriter, r *http.Request, in agui.Input, t aguiThread, a store.Alias) error {
	m, err := s.Store.Message(r.Context(), callOf(r).owner, a.ID)
	if err != nil {
		return wrap("read message", err)
	}
	tail, f := aguiTail(in.Messages), in.Forwarded
	says := len(tail) > 0 && tail[len(tail)-1].Role == agui.RoleUser && len(in.Resume) == 0 &&
		f.Action == nil && f.RetryBlock+f.RefreshBlock+f.RegenerateOf == ""
	if a.Group == 1 && says {
		said, known, err := s.aguiCalled(r.Context(), t, tail[len(tail)-1].ID)
		if err != nil {
			return err
		}
		question, err := s.Store.Message(r.Context(), callOf(r).owner, m.Parent)
		if err != nil {
			return wrap("read message", err)
		}
		// An edit in place keeps the client's id, and is another message here.
		if known && said.ID != m.Parent && said.Parent != "" || !known && tail[len(tail)-1].ID != "" || !saidBy(tail, textOf(question)) {
			return &turn.Error{Code: turn.CodeKeyReused, Message: "The run's id was used for another message.", Msg: m.ID}
		}
	}
	return s.aguiStream(w, r, in, t, &begun{msg: m.ID, user: m.Parent, from: a.Group, to: a.Group})
}

// saidBy reports whether the last of a client's messages say a text. What has
// files may: they are kept apart from the words, or as links among them.
func saidBy(tail []agui.InputMessage, text string) bool {
	said := ""
	for _, m := range slices.Backward(tail) {
		if m.HasFiles() {
			return true
		}
		if words := m.Text(); strings.TrimSpace(words) != "" {
			said = strings.TrimSuffix(words+"\n\n"+said, "\n\n")
		}
		if strings.TrimSpace(said) == strings.TrimSpace(text) {
			return true
		}
	}
	return said == ""
}

// aguiCalled is called for a message's id in the names of a thread.
func (s *server) aguiCalled(ctx context.Context, t aguiThread, id string) (store.Message, bool, error) {
	if id == "" {
		return store.Message{}, false, nil
	}
	if !isOwn("m", id) {
		id = t.name(id)
	}
	if len(id) > store.MaxForeign {
		return store.Message{}, false, nil
	}
	return s.called(ctx, t.Owner, agui.Name, t.ID, id)
}

// aguiTail are the messages that a request ends with and that the server did not
// write: the user's, or results of calls.
func aguiTail(messages []agui.InputMessage) []agui.InputMessage {
	end := len(messages)
	begin := end
	for begin > 0 {
		m := messages[begin-1]
		if m.Role != agui.RoleUser && m.Role != agui.RoleTool || begin < end && m.Role != messages[begin].Role {
			break
		}
		begin--
	}
	return messages[begin:end]
}

// aguiBegin begins what a run asks for; nil when it asks for nothing.
func (s *server) aguiBegin(r *http.Request, in agui.Input, t aguiThread) (*begun, error) {
	c, ctx := callOf(r), r.Context()
	switch f := in.Forwarded; {
	case f.Action != nil:
		return s.aguiAction(r, in, t)
	case f.RetryBlock != "" || f.RefreshBlock != "":
		id := cmp.Or(f.RetryBlock, f.RefreshBlock)
		made, err := s.Store.BlockCall(ctx, c.owner, id)
		if err == nil && made.Conversation != t.ID {
			err = store.ErrNotFound
		}
		if err != nil {
			return nil, wrap("read block", err)
		}
		st, err := s.Runner.Rerun(ctx, turn.BlockRequest{Owner: c.owner, Caller: c.caller, Block: id, Refresh: f.RefreshBlock != ""})
		return inGroup(st), wrap("run block again", err)
	}
	var waits turn.Waiting
	var err error
	leaf := t.leaf()
	if leaf.Status == event.StatusPaused {
		if waits, err = s.Runner.Waiting(ctx, c.owner, leaf.ID); err != nil {
			return nil, wrap("read what the turn waits for", err)
		}
	}
	if len(in.Resume) > 0 {
		return s.aguiResume(r, in, t, waits)
	}
	tail := aguiTail(in.Messages)
	f := in.Forwarded
	if len(tail) == 0 && f.RegenerateOf == "" {
		return nil, nil
	}
	if len(waits.Questions) > 0 {
		return nil, &aguiRefusal{turn.CodeInvalidRequest, "The thread waits for answers: resume must answer every open interrupt."}
	}
	if f.RegenerateOf == "" && f.EditOf == "" && tail[0].Role == agui.RoleTool {
		b, err := s.aguiSupply(r, in, t, waits, tail)
		if err == nil && b == nil {
			err = &turn.Error{Code: turn.CodeNotPaused, Message: "The thread does not wait for the result of this call.", Msg: leaf.ID}
		}
		return b, err
	}
	return s.aguiAsk(r, in, t, waits, tail)
}

// inGroup is what a single group is.
func inGroup(st turn.Started) *begun {
	group := max(st.Group, 1)
	return &begun{msg: st.Msg, user: st.User, from: group, to: group}
}

// aguiSupply hands in what came of the client's calls; nil when none of them is
// waited for.
func (s *server) aguiSupply(r *http.Request, in agui.Input, t aguiThread, waits turn.Waiting, tail []agui.InputMessage) (*begun, error) {
	c, leaf := callOf(r), t.leaf()
	var results []turn.ClientResult
	given := make(map[string]string)
	for _, m := range tail {
		if m.Role != agui.RoleTool {
			continue
		}
		// On the wire a call is named within its message.
		call := strings.TrimPrefix(m.ToolCallID, leaf.ID+".")
		if !slices.ContainsFunc(waits.Calls, func(w turn.WaitingCall) bool { return w.ID == call }) ||
			slices.ContainsFunc(results, func(r turn.ClientResult) bool { return r.Call == call }) {
			continue
		}
		res := turn.ClientResult{Call: call, Content: m.Text(), Failed: m.Error != ""}
		if res.Failed && res.Content == "" {
			res.Content = m.Error
		}
		results = append(results, res)
		if m.ID != "" && len(t.name(m.ID)) <= store.MaxForeign {
			given[leaf.ID+"."+call] = m.ID
		}
	}
	if len(results) == 0 {
		return nil, nil
	}
	st, err := s.Runner.Supply(r.Context(), turn.SupplyRequest{
		Owner: c.owner, Caller: c.caller, Msg: leaf.ID, Results: results,
		Tools: aguiTools(in), Context: aguiContext(in), State: in.State, Caps: s.caps(r),
	})
	if err != nil {
		return nil, wrap("supply results", err)
	}
	for call, id := range given {
		if _, err := s.Store.PutAlias(context.WithoutCancel(r.Context()), store.Alias{
			Owner: c.owner, Dialect: agui.Name, Kind: store.AliasMessage, Foreign: t.name(id), ID: call, Conversation: t.ID,
		}); err != nil {
			s.log.Warn("keep the name of a result", "msg", leaf.ID, "err", err)
		}
	}
	b := inGroup(st)
	b.given = given
	return b, nil
}

func aguiTools(in agui.Input) []turn.ClientTool {
	out := make([]turn.ClientTool, len(in.Tools))
	for i, t := range in.Tools {
		out[i] = turn.ClientTool(t)
	}
	return out
}

func aguiContext(in agui.Input) []turn.ContextEntry {
	out := make([]turn.ContextEntry, len(in.Context))
	for i, c := range in.Context {
		out[i] = turn.ContextEntry(c)
	}
	return out
}

// aguiAsk begins a turn for what the user says: a new message, one in place of an
// earlier one, or an answer anew.
func (s *server) aguiAsk(r *http.Request, in agui.Input, t aguiThread, waits turn.Waiting, tail []agui.InputMessage) (*begun, error) {
	c, ctx := callOf(r), r.Context()
	req := turn.Request{
		Owner: c.owner, Caller: c.caller, Caps: s.caps(r), Conversation: t.ID, NewConversation: true,
		Tools: aguiTools(in), Context: aguiContext(in), State: in.State,
		RegenerateOf: in.Forwarded.RegenerateOf, EditOf: in.Forwarded.EditOf,
	}
	var fresh []agui.InputMessage
	if req.RegenerateOf == "" {
		var err error
		if fresh, err = s.aguiPlace(ctx, in, t, tail, &req); err != nil {
			return nil, err
		}
		if fresh == nil && req.RegenerateOf == "" {
			return nil, nil
		}
	}
	if fresh != nil {
		if err := s.aguiText(r, &req, len(in.Messages)-len(tail), tail, fresh); err != nil {
			return nil, err
		}
	}
	if len(waits.Calls) > 0 {
		// Whoever asks something else does not run what it was asked to run.
		if err := s.aguiDrop(ctx, t.leaf().ID); err != nil {
			return nil, err
		}
	}
	var err error
	req.IdempotencyKey = "agui:" + t.name(in.RunID)
	if req.Fingerprint, err = fingerprint([]any{tail, req.RegenerateOf, req.EditOf}); err != nil {
		return nil, err
	}
	st, err := s.Runner.Start(ctx, req)
	if err != nil {
		return nil, wrap("start turn", err)
	}
	for _, m := range fresh {
		if name := t.name(m.ID); m.ID != "" && !isOwn("m", m.ID) && len(name) <= store.MaxForeign {
			s.callMessage(ctx, c.owner, agui.Name, t.ID, name, st.User)
		}
	}
	return inGroup(st), nil
}

// aguiPlace finds out where what the user says belongs, and which of the last
// messages say it. A known message that ends the request is answered anew, or
// was changed; what follows a message that others follow here takes the place of
// the next one. Without any message that is known here, what is said comes last.
func (s *server) aguiPlace(ctx context.Context, in agui.Input, t aguiThread, tail []agui.InputMessage, req *turn.Request) ([]agui.InputMessage, error) {
	if len(tail) == 0 { // editOf without a message
		return nil, invalid("messages has nothing that the user says.", map[string]any{"field": "messages"})
	}
	at := func(m store.Message) int {
		return slices.IndexFunc(t.path, func(p store.Message) bool {
			return p.ID == m.ID || p.Role == m.Role && p.Parent == m.Parent
		})
	}
	last := len(t.path) - 1
	place, fresh := last, tail
	for i := len(in.Messages) - 1; i >= 0; i-- {
		m := in.Messages[i]
		if m.Role == agui.RoleTool {
			m.ID, _, _ = strings.Cut(m.ToolCallID, ".")
		}
		known, ok, err := s.aguiCalled(ctx, t, m.ID)
		if err != nil {
			return nil, err
		}
		if !ok {
			if known, ok = ofBlock(t.path, m.ID); !ok {
				continue
			}
		}
		found := at(known)
		if found < 0 {
			continue
		}
		if i < len(in.Messages)-len(tail) { // of the history
			place = found
			break
		}
		if i == len(in.Messages)-1 && req.EditOf == "" {
			return s.aguiAgain(ctx, t, known, m, req)
		}
		// Words that were said before and those that came after them.
		place, fresh = found, in.Messages[i+1:]
		break
	}
	if req.EditOf == "" && place < last {
		i := slices.IndexFunc(t.path[place+1:], func(m store.Message) bool { return m.Role == store.RoleUser })
		if i >= 0 {
			req.EditOf = t.path[place+1+i].ID
		}
	}
	return fresh, nil
}

// ofBlock finds the message of a path that a block belongs to, or a call.
func ofBlock(path []store.Message, id string) (store.Message, bool) {
	id, _, _ = strings.Cut(id, "~")
	msg, _, _ := strings.Cut(id, ".")
	i := slices.IndexFunc(path, func(m store.Message) bool {
		_, ok := m.Block(id)
		return ok || m.ID == msg
	})
	if i < 0 {
		return store.Message{}, false
	}
	return path[i], true
}

// aguiAgain is for a request that ends with a message that is known: it is
// answered anew, or, if its words are others now, in place of the known one.
func (s *server) aguiAgain(ctx context.Context, t aguiThread, known store.Message, m agui.InputMessage, req *turn.Request) ([]agui.InputMessage, error) {
	if said := m.Text(); said != "" && strings.TrimSpace(said) != strings.TrimSpace(textOf(known)) && !m.HasFiles() {
		req.EditOf = known.ID
		return []agui.InputMessage{m}, nil
	}
	var err error
	req.RegenerateOf, err = s.answerOf(ctx, t.Owner, t.Conversation, known.ID)
	return nil, err
}

// textOf is what a user's message says.
func textOf(m store.Message) string {
	var texts []string
	for _, b := range m.Blocks {
		var text string
		if b.Type == "text" && json.Unmarshal(b.Payload, &text) == nil {
			texts = append(texts, text)
		}
	}
	return strings.Join(texts, "\n\n")
}

// aguiText puts words and files of messages into a turn's request.
func (s *server) aguiText(r *http.Request, req *turn.Request, before int, tail, fresh []agui.InputMessage) error {
	var texts []string
	var files []foreignFile
	first := before + len(tail) - len(fresh)
	for _, m := range fresh {
		if text := m.Text(); strings.TrimSpace(text) != "" {
			texts = append(texts, text)
		}
		for _, p := range m.Parts {
			f := foreignFile{mediaType: p.Source.MimeType, name: p.Name}
			switch {
			case p.Type == agui.PartText:
				continue
			case p.Source.Kind == agui.SourceData:
				f.url = "data:" + p.Source.MimeType + ";base64," + p.Source.Value
			case p.Source.Kind == agui.SourceFile:
				f.url = "/v1/assets/" + p.Source.Value
			default:
				f.url = p.Source.Value
			}
			files = append(files, f)
		}
	}
	field := fmt.Sprintf("messages.%d.content", first)
	text := strings.Join(texts, "\n\n")
	if err := s.length(field, text); err != nil {
		return err
	}
	ids, links, err := s.take(r, field, files)
	if err != nil {
		return err
	}
	req.Text, req.Attachments = withLinks(text, links), ids
	if strings.TrimSpace(req.Text) == "" && len(ids) == 0 {
		return invalid("The message is empty.", map[string]any{"field": field})
	}
	return nil
}

// aguiDrop stops a paused turn, and waits until that is written.
func (s *server) aguiDrop(ctx context.Context, msg string) error {
	if _, err := s.Runner.Stop(ctx, callOwner(ctx), msg); err != nil {
		return wrap("stop the paused turn", err)
	}
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	last, _, err := s.Store.Last(ctx, msg)
	if err != nil {
		return wrap("read log", err)
	}
	for _, err := range s.Store.Tail(ctx, msg, last) {
		if err != nil {
			return wrap("read log", err)
		}
	}
	return nil
}

// callOwner is the owner of a request.
func callOwner(ctx context.Context) store.Owner {
	c, ok := ctx.Value(callKey{}).(*call)
	if !ok { // a handler outside the chain: a mistake in this package
		panic("server: request without a call")
	}
	return c.owner
}

// aguiAction does something with a block.
func (s *server) aguiAction(r *http.Request, in agui.Input, t aguiThread) (*begun, error) {
	c, f := callOf(r), in.Forwarded.Action
	msg := f.MsgID
	if msg == "" {
		m, ok := ofBlock(t.path, f.BlockID)
		if !ok {
			return nil, notFound()
		}
		msg = m.ID
	}
	key := cmp.Or(f.IdempotencyKey, "agui:"+t.name(in.RunID))
	if !printable(key, 8) {
		return nil, invalid("idempotencyKey must be 8 to 255 printable characters.", map[string]any{"field": "forwardedProps.inlay.action.idempotencyKey"})
	}
	return s.aguiDo(r, t, action.Request{
		Owner: c.owner, Caller: c.caller, Msg: msg, Block: f.BlockID, Action: f.ActionID, Payload: f.Payload,
		Key: key, Rev: f.Rev, ConfirmToken: f.ConfirmToken, TraceID: c.trace, Caps: s.caps(r),
	})
}

// aguiDo runs an action and finds out what it writes.
func (s *server) aguiDo(r *http.Request, t aguiThread, req action.Request) (*begun, error) {
	if m, err := s.Store.Message(r.Context(), req.Owner, req.Msg); err != nil {
		return nil, wrap("read message", err)
	} else if m.Conversation != t.ID {
		return nil, notFound()
	}
	a, err := s.Actions.Do(r.Context(), req)
	if err != nil {
		return nil, s.actionError(r, req.Msg, err)
	}
	var body struct {
		MsgID, UserMessageID string
		AfterSeq             *uint64
		Error                *struct {
			Code, Message string
			Retryable     bool
			Details       map[string]any
		}
	}
	if err := json.Unmarshal(a.Body, &body); err != nil {
		return nil, fmt.Errorf("read the answer of an action: %w", err)
	}
	if e := body.Error; e != nil {
		return nil, &answer{status: a.Status, code: e.Code, message: e.Message, retryable: e.Retryable, details: e.Details}
	}
	b := &begun{msg: req.Msg, block: req.Block, answer: json.RawMessage(strings.TrimSpace(string(a.Body)))}
	switch {
	case body.UserMessageID != "": // it began a turn
		b.msg, b.user, b.from, b.to = body.MsgID, body.UserMessageID, 1, 1
	case body.AfterSeq != nil:
		group, err := s.groupAfter(r.Context(), body.MsgID, *body.AfterSeq)
		if err != nil {
			return nil, err
		}
		b.msg, b.from, b.to = body.MsgID, group, group
	}
	return b, nil
}

// groupAfter is the group of the first event after a seq, which may be still to
// come; 0 when there is none.
func (s *server) groupAfter(ctx context.Context, msg string, after uint64) (int, error) {
	for ev, err := range s.Store.Tail(ctx, msg, after) {
		if err != nil {
			return 0, wrap("read log", err)
		}
		return ev.Group, nil
	}
	return 0, nil
}

// aguiResume answers the interrupts of a paused turn, all of them, through the
// gateway: who may, how often and what is kept of it holds here as everywhere.
func (s *server) aguiResume(r *http.Request, in agui.Input, t aguiThread, waits turn.Waiting) (*begun, error) {
	c, ctx, leaf := callOf(r), r.Context(), t.leaf()
	for _, q := range waits.Questions {
		if !slices.ContainsFunc(in.Resume, func(e agui.ResumeEntry) bool { return e.InterruptID == q.Block }) {
			return nil, &aguiRefusal{turn.CodeInvalidRequest, "resume must answer every open interrupt; " + q.Block + " is not answered."}
		}
	}
	// Nothing is done before it is known that all of it can be.
	type reply struct {
		action  string
		payload json.RawMessage
		ends    bool // the turn
	}
	replies := make([]reply, len(in.Resume))
	for i, e := range in.Resume {
		b, ok := leaf.Block(e.InterruptID)
		if !ok {
			return nil, &aguiRefusal{turn.CodeNotFound, "There is no interrupt " + e.InterruptID + "."}
		}
		if e.Cancelled && b.Type == "question" {
			replies[i].ends = true
			continue
		}
		var err error
		if replies[i].action, replies[i].payload, err = aguiAnswer(b, e); err != nil {
			return nil, err
		}
	}
	var out *begun
	join := func(b *begun) {
		if b.to == 0 {
			return
		}
		if out == nil {
			out = b
			return
		}
		out.from, out.to = min(out.from, b.from), max(out.to, b.to)
	}
	if tail := aguiTail(in.Messages); len(tail) > 0 && tail[0].Role == agui.RoleTool {
		b, err := s.aguiSupply(r, in, t, waits, tail)
		if err != nil {
			return nil, err
		}
		if b != nil {
			join(b)
		}
	}
	for i, e := range in.Resume {
		if replies[i].ends {
			return s.aguiCancel(ctx, t, out)
		}
		done, err := s.aguiDo(r, t, action.Request{
			Owner: c.owner, Caller: c.caller, Msg: leaf.ID, Block: e.InterruptID, Action: replies[i].action, Payload: replies[i].payload,
			Key: "agui:" + e.InterruptID, TraceID: c.trace, Caps: s.caps(r),
		})
		if err != nil {
			if a := answerFor(err); a.status < http.StatusInternalServerError {
				return nil, &aguiRefusal{a.code, a.message}
			}
			return nil, err
		}
		join(done)
	}
	if out != nil {
		out.answer = nil
	}
	return out, nil
}

// aguiCancel ends a turn whose question the person does not answer.
func (s *server) aguiCancel(ctx context.Context, t aguiThread, so *begun) (*begun, error) {
	leaf := t.leaf()
	last, _, err := s.Store.Last(ctx, leaf.ID)
	if err != nil {
		return nil, wrap("read log", err)
	}
	if _, err := s.Runner.Stop(ctx, t.Owner, leaf.ID); err != nil {
		return nil, wrap("stop the paused turn", err)
	}
	group, err := s.groupAfter(ctx, leaf.ID, last)
	if err != nil || group == 0 {
		return so, err
	}
	b := &begun{msg: leaf.ID, user: leaf.Parent, from: group, to: group}
	if so != nil {
		b.from = min(so.from, group)
	}
	return b, nil
}

// aguiAnswer makes the action of a question of the answer to its interrupt: of a
// confirmation {approved, editedArgs, reason}, of a question what its form takes.
// A plain yes, no, word or text does where it is clear what it means.
func aguiAnswer(b block.Block, e agui.ResumeEntry) (string, json.RawMessage, error) {
	var members map[string]json.RawMessage
	_ = json.Unmarshal(e.Payload, &members) // it need not be an object
	var word string
	if json.Unmarshal(e.Payload, &word) != nil {
		_ = json.Unmarshal(members["answer"], &word)
	}
	if b.Type != "confirm" {
		if word == "" || len(members) > 1 {
			return tool.Reply, e.Payload, nil
		}
		for _, a := range b.Actions {
			var form struct {
				Properties map[string]json.RawMessage `json:"properties"`
			}
			if a.ID != tool.Reply || json.Unmarshal(a.InputSchema, &form) != nil {
				continue
			}
			var reply any
			option, ok := optionOf(b, word)
			switch {
			case form.Properties["answer"] != nil:
				return tool.Reply, e.Payload, nil
			case form.Properties["choices"] != nil && ok:
				reply = map[string][]string{"choices": {option}}
			default:
				reply = map[string]string{"text": word}
			}
			raw, err := json.Marshal(reply)
			return tool.Reply, raw, err
		}
		return tool.Reply, e.Payload, nil
	}
	if e.Cancelled {
		return tool.Reject, nil, nil
	}
	var approved bool
	if json.Unmarshal(e.Payload, &approved) != nil && json.Unmarshal(members["approved"], &approved) != nil {
		switch word {
		case tool.Approve, tool.Reject, tool.Edit:
			approved = word != tool.Reject
		default:
			return "", nil, &aguiRefusal{turn.CodePayloadInvalid, "A confirmation is answered with {approved: true} or {approved: false}."}
		}
	}
	edited := members["editedArgs"]
	switch {
	case !approved:
		var payload json.RawMessage
		if reason := members["reason"]; reason != nil {
			payload = json.RawMessage(`{"reason":` + string(reason) + `}`)
		}
		return tool.Reject, payload, nil
	case edited != nil && string(edited) != "null":
		return tool.Edit, edited, nil
	case word == tool.Edit:
		return "", nil, &aguiRefusal{turn.CodePayloadInvalid, "A change needs editedArgs."}
	}
	return tool.Approve, nil, nil
}

// optionOf finds the option of a question that a word is: by its id, or by its
// label where only one has it.
func optionOf(b block.Block, word string) (id string, ok bool) {
	var q block.Question
	if json.Unmarshal(b.Payload, &q) != nil {
		return "", false
	}
	n := 0
	for _, o := range q.Options {
		if o.ID == word {
			return word, true
		}
		if o.Label == word {
			id = o.ID
			n++
		}
	}
	return id, n == 1
}
