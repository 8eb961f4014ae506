package server

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/turn"
	"github.com/inlay-ui/inlay/wire"
	"github.com/inlay-ui/inlay/wire/aisdk"
)

// The routes of the AI SDK's chat transport. Its client posts everything it has
// with every request; what counts of it is the last message, where that is the
// user's, and what somebody answered in the message of the assistant's that
// waits. Of the rest only the ids count: they say after which answer the client
// wants to go on.

// variant reads which of a dialect's forms a request wants.
func variant(r *http.Request, view *wire.View) error {
	if view.Dialect != aisdk.Name {
		return nil
	}
	q := r.URL.Query()
	if v := q.Get("aisdk"); v != "" {
		if view.Version != "" && view.Version != v {
			return invalid("aisdk and version name two majors.", map[string]any{"field": "aisdk"})
		}
		view.Version = v
	}
	switch q.Get("tools") {
	case "", "activity":
	case "parts":
		view.ToolParts = true
	case "none":
		view.Tools = false
	default:
		return invalid("tools must be activity, parts or none.", map[string]any{"field": "tools"})
	}
	return nil
}

// sdkRequest is a request to the chat, on its way to a turn.
type sdkRequest struct {
	*server
	r *http.Request
	w http.ResponseWriter
	o store.Owner
	aisdk.Request
	c store.Conversation
}

// postSDK answers a request of the chat transport with the stream of what it
// began.
func (s *server) postSDK(w http.ResponseWriter, r *http.Request) error {
	raw, err := payload(r, false)
	if err != nil {
		return err
	}
	q := &sdkRequest{server: s, r: r, w: w, o: callOf(r).owner}
	if q.Request, err = aisdk.ParseRequest(raw); err != nil {
		return sdkError(err)
	}
	callOf(r).declared = q.Capabilities
	if err := s.declared(r); err != nil {
		return err
	}
	// The reader is known to be one before anything begins.
	if _, err := s.reader(r, &reading{}); err != nil {
		return err
	}
	if err := s.limiter.room(q.o); err != nil {
		return err
	}
	switch {
	case q.Action != nil:
		return q.act()
	case q.RetryBlock != "" || q.RefreshBlock != "":
		return q.rerun()
	case q.Regenerate:
		return q.regenerate()
	case q.Assistant != "":
		return q.answer()
	case q.User != nil:
		return q.ask()
	}
	return invalid("The last message must be the user's, or an assistant's in which something was answered.", map[string]any{"field": "messages"})
}

// sdkError words what is wrong with a request.
func sdkError(err error) error {
	var wrong *aisdk.RequestError
	if !errors.As(err, &wrong) {
		return err
	}
	if wrong.Field == "" {
		return &answer{status: http.StatusBadRequest, code: codeInvalidJSON, message: wrong.Message}
	}
	details := map[string]any{"field": wrong.Field}
	if wrong.Limit > 0 {
		details["limit"] = wrong.Limit
	}
	return invalid(wrong.Message, details)
}

// known finds the conversation; it must be there.
func (q *sdkRequest) known() (err error) {
	q.c, err = q.thread(q.r.Context(), q.o, aisdk.Name, q.Chat)
	return err
}

func (q *sdkRequest) called(name string) (store.Message, bool, error) {
	if name == "" {
		return store.Message{}, false, nil
	}
	return q.server.called(q.r.Context(), q.o, aisdk.Name, q.c.ID, name)
}

// start begins a turn and answers with its stream.
func (q *sdkRequest) start(req turn.Request) error {
	c := callOf(q.r)
	req.Owner, req.Caller, req.Caps = q.o, c.caller, q.caps(q.r)
	req.Tools, req.Context, req.State = q.brought()
	if err := q.release(); err != nil {
		return err
	}
	st, err := q.Runner.Start(q.r.Context(), req)
	if err != nil {
		return wrap("start turn", err)
	}
	if q.User != nil {
		q.callMessage(q.r.Context(), q.o, aisdk.Name, st.Conversation, q.User.ID, st.User)
	}
	return q.started(q.w, q.r, st)
}

// brought is what the client brings to a turn.
func (q *sdkRequest) brought() (tools []turn.ClientTool, about []turn.ContextEntry, state json.RawMessage) {
	for _, t := range q.Tools {
		tools = append(tools, turn.ClientTool(t))
	}
	for _, c := range q.Context {
		about = append(about, turn.ContextEntry(c))
	}
	if q.System != "" {
		about = append(about, turn.ContextEntry{Description: "What the application says of itself", Value: q.System})
	}
	return tools, about, q.State
}

// release ends the turn that waits for calls of the client's which it will not
// run any more, because it asks for something else.
func (q *sdkRequest) release() error {
	if q.c.Leaf == "" {
		return nil
	}
	waiting, err := q.Runner.Waiting(q.r.Context(), q.o, q.c.Leaf)
	if err != nil || len(waiting.Calls) == 0 {
		return wrap("read what the turn waits for", err)
	}
	_, err = q.Runner.Stop(q.r.Context(), q.o, q.c.Leaf)
	return wrap("stop", err)
}

// ask answers a user's message: a new one, or one that the client has posted
// before, edited or not.
func (q *sdkRequest) ask() (err error) {
	ctx := q.r.Context()
	if err := q.length("messages", q.User.Text); err != nil {
		return err
	}
	if q.c, err = q.beginThread(ctx, q.o, aisdk.Name, q.Chat); err != nil {
		return err
	}
	was, ok, err := q.called(q.User.ID)
	if err != nil {
		return err
	}
	if ok && was.Role == store.RoleUser {
		if was, err = q.shown(was); err != nil {
			return err
		}
		if q.same(was) {
			return q.again(was)
		}
		return q.begin(turn.Request{EditOf: was.ID})
	}
	req, err := q.branch()
	if err != nil {
		return err
	}
	if q.User.ID != "" {
		// The same message posted twice begins one turn.
		sum := sha256.Sum256([]byte(q.c.ID + "\n" + q.User.ID))
		req.IdempotencyKey = "aisdk:" + hex.EncodeToString(sum[:])
		if req.Fingerprint, err = fingerprint(q.User); err != nil {
			return err
		}
	}
	return q.begin(req)
}

// begin begins the turn of a user's message.
func (q *sdkRequest) begin(req turn.Request) error {
	if strings.TrimSpace(q.User.Text) == "" && len(q.User.Files) == 0 {
		return invalid("The message is empty.", map[string]any{"field": "messages"})
	}
	files := make([]foreignFile, len(q.User.Files))
	for i, f := range q.User.Files {
		files[i] = foreignFile{f.URL, f.MediaType, f.Name}
	}
	ids, links, err := q.take(q.r, "messages.files", files)
	if err != nil {
		return err
	}
	req.Conversation, req.NewConversation = q.c.ID, req.EditOf == ""
	req.Text, req.Attachments = withLinks(q.User.Text, links), ids
	if err := q.length("messages", req.Text); err != nil {
		return err
	}
	return q.start(req)
}

// shown is a message or that of its siblings which is on the path that is
// shown: what a client still calls by the name of the message that was edited.
func (q *sdkRequest) shown(m store.Message) (store.Message, error) {
	if len(m.Siblings) < 2 {
		return m, nil
	}
	path, err := q.Store.Path(q.r.Context(), q.o, q.c.ID, "")
	if err != nil {
		return m, wrap("read conversation", err)
	}
	for _, on := range path {
		if slices.Contains(m.Siblings, on.ID) {
			return on, nil
		}
	}
	return m, nil
}

// same reports whether a user's message is what is posted now.
func (q *sdkRequest) same(m store.Message) bool {
	text, files := "", 0
	for _, b := range m.Blocks {
		if b.Type == "text" {
			text = q.Registry.Text(b)
		} else {
			files++
		}
	}
	if files > 0 || len(q.User.Files) > 0 {
		// What is in a file is not compared, but its number and the text are.
		return files == len(q.User.Files) && text == q.User.Text
	}
	return text == q.User.Text
}

// again answers a message that was posted before: with what is being or was
// answered, and with another answer when that one failed or the message was
// edited on purpose.
func (q *sdkRequest) again(user store.Message) error {
	ctx := q.r.Context()
	msg, err := q.answerOf(ctx, q.o, q.c, user.ID)
	if err != nil {
		return err
	}
	if msg == "" {
		return q.begin(turn.Request{EditOf: user.ID})
	}
	m, err := q.Store.Message(ctx, q.o, msg)
	if err != nil {
		return wrap("read message", err)
	}
	anew := q.MessageID == q.User.ID || m.Status == event.StatusError || m.Status == event.StatusCancelled
	if m.Status != event.StatusRunning && anew {
		return q.start(turn.Request{Conversation: q.c.ID, RegenerateOf: msg})
	}
	return q.started(q.w, q.r, turn.Started{Msg: msg, Conversation: q.c.ID, User: user.ID})
}

// looks is how many of the newest messages that a client has are looked up.
const looks = 50

// branch finds out after which answer a new message comes: after the last one
// that its client has. Where that is not the last of the path that is shown, the
// message becomes a sibling of the one that came after it.
func (q *sdkRequest) branch() (req turn.Request, err error) {
	ctx := q.r.Context()
	if q.Alone || q.c.Leaf == "" {
		return req, nil
	}
	path, err := q.Store.Path(ctx, q.o, q.c.ID, "")
	if err != nil || len(path) == 0 {
		return req, wrap("read conversation", err)
	}
	for i := len(q.Seen) - 1; i >= max(0, len(q.Seen)-looks); i-- {
		m, ok, err := q.called(q.Seen[i].ID)
		if err != nil {
			return req, err
		}
		if !ok {
			continue
		}
		last := m.ID
		if m.Role == store.RoleUser { // the client has no answer to it
			if m, err = q.shown(m); err != nil {
				return req, err
			}
			if last, err = q.answerOf(ctx, q.o, q.c, m.ID); err != nil {
				return req, err
			}
		}
		at := slices.IndexFunc(path, func(m store.Message) bool { return m.ID == last })
		switch {
		case last == "" || last == q.c.Leaf:
		case at >= 0 && at+1 < len(path):
			req.EditOf = path[at+1].ID
		case q.c.Running == "":
			if err := q.Store.SetLeaf(ctx, q.o, q.c.ID, last); err != nil {
				return req, wrap("go on after an earlier answer", err)
			}
		}
		return req, nil
	}
	// It has nothing of what was said: this is another beginning.
	req.EditOf = path[0].ID
	return req, nil
}

// regenerate writes an answer anew.
func (q *sdkRequest) regenerate() error {
	err := q.known()
	if errors.Is(err, store.ErrNotFound) && q.User != nil {
		return q.ask() // the question never arrived
	}
	if err != nil {
		return err
	}
	name := q.MessageID
	if name == "" && q.User != nil {
		name = q.User.ID
	}
	m, ok, err := q.called(name)
	if err == nil && !ok && q.User != nil {
		m, ok, err = q.called(q.User.ID)
	}
	switch {
	case err != nil:
		return err
	case !ok && q.User != nil:
		return q.ask()
	case !ok:
		return notFound()
	}
	answer := m.ID
	if m.Role == store.RoleUser {
		if m, err = q.shown(m); err != nil {
			return err
		}
		if answer, err = q.answerOf(q.r.Context(), q.o, q.c, m.ID); err != nil {
			return err
		}
	}
	q.User = nil // nothing is called anything new
	return q.start(turn.Request{Conversation: q.c.ID, RegenerateOf: answer})
}

// waits finds the message that a request is about, which the client has as it is
// now.
func (q *sdkRequest) waits() (store.Message, error) {
	if err := q.known(); err != nil {
		return store.Message{}, err
	}
	m, ok, err := q.called(q.Assistant)
	if err == nil && (!ok || m.Role != store.RoleAssistant) {
		err = notFound()
	}
	return m, err
}

// followed answers with what was added to a message that the client has.
func (q *sdkRequest) followed(msg string, after uint64) error {
	at := &reading{msg: msg, conversation: q.c.ID, after: after, follow: true}
	at.name(q.w.Header())
	return q.stream(q.w, q.r, at)
}

// answer hands a turn that waits what was answered in its message. What nobody
// asked for is left out; where that is all, the request is refused, or clients
// that send by themselves would do so for ever.
func (q *sdkRequest) answer() error {
	m, err := q.waits()
	if err != nil {
		return err
	}
	if len(q.Approvals)+len(q.Outputs) == 0 {
		return invalid("Nothing was answered in the last message.", map[string]any{"field": "messages"})
	}
	ctx := q.r.Context()
	waiting, err := q.Runner.Waiting(ctx, q.o, m.ID)
	if err != nil {
		return wrap("read what the turn waits for", err)
	}
	outputs := slices.DeleteFunc(q.Outputs, func(o aisdk.Output) bool {
		return !slices.ContainsFunc(waiting.Calls, func(c turn.WaitingCall) bool { return c.ID == o.Call })
	})
	open := func(a aisdk.Approval) bool {
		return slices.ContainsFunc(waiting.Questions, func(w turn.WaitingQuestion) bool { return w.Block == a.ID && w.Type == "confirm" })
	}
	approvals := slices.DeleteFunc(slices.Clone(q.Approvals), func(a aisdk.Approval) bool { return !open(a) })
	if len(outputs)+len(approvals) == 0 {
		// An answer that was given before is answered as it was then.
		approvals = slices.DeleteFunc(q.Approvals, func(a aisdk.Approval) bool {
			b, ok := m.Block(a.ID)
			return !ok || b.Type != "confirm"
		})
	}
	if len(outputs)+len(approvals) == 0 {
		if m.Status != event.StatusPaused {
			return &turn.Error{Code: turn.CodeNotPaused, Message: "The answer does not wait for anything any more."}
		}
		return invalid("Nobody asked for what was answered.", map[string]any{"field": "messages"})
	}
	var after []uint64
	if len(outputs) > 0 {
		tools, about, state := q.brought()
		req := turn.SupplyRequest{
			Owner: q.o, Caller: callOf(q.r).caller, Msg: m.ID, Tools: tools, Context: about, State: state, Caps: q.caps(q.r),
		}
		for _, o := range outputs {
			req.Results = append(req.Results, turn.ClientResult(o))
		}
		st, err := q.Runner.Supply(ctx, req)
		if err != nil {
			return wrap("supply results", err)
		}
		after = append(after, st.After)
	}
	for _, a := range approvals {
		if len(after) > 0 {
			// What the answer before it let run comes first.
			if err := q.settle(ctx, m.ID, after[len(after)-1]); err != nil {
				return err
			}
		}
		n, err := q.approve(m, a)
		if err != nil {
			return err
		}
		after = append(after, n)
	}
	return q.followed(m.ID, slices.Min(after))
}

// settle waits until nothing is written to a message any more.
func (q *sdkRequest) settle(ctx context.Context, msg string, after uint64) error {
	for _, err := range q.Store.Tail(ctx, msg, after) {
		if err != nil {
			return wrap("read log", err)
		}
	}
	return nil
}

// approve answers the question of a confirm block, as its buttons do.
func (q *sdkRequest) approve(m store.Message, a aisdk.Approval) (after uint64, err error) {
	req := action.Request{Msg: m.ID, Block: a.ID, Action: tool.Approve}
	if !a.Approved {
		req.Action = tool.Reject
		if reason := strings.TrimSpace(a.Reason); reason != "" {
			if req.Payload, err = json.Marshal(map[string]string{"reason": reason}); err != nil {
				return 0, wrap("encode reason", err)
			}
		}
	}
	// The same answer given twice is one.
	sum := sha256.Sum256(append([]byte(a.ID+"\n"+req.Action+"\n"), req.Payload...))
	req.Key = "aisdk:" + hex.EncodeToString(sum[:])
	return q.do(req)
}

// do runs an action of a block and returns the number of the event after which
// the message has what came of it.
func (q *sdkRequest) do(req action.Request) (uint64, error) {
	c := callOf(q.r)
	if q.c.Running == req.Msg {
		return 0, &turn.Error{Code: turn.CodeTurnRunning, Message: "The answer is still being written.", Retryable: true, Msg: req.Msg}
	}
	// What was done just before may still be written down.
	last, open, err := q.Store.Last(q.r.Context(), req.Msg)
	if err == nil && open {
		if err := q.settle(q.r.Context(), req.Msg, last); err != nil {
			return 0, err
		}
		last, _, err = q.Store.Last(q.r.Context(), req.Msg)
	}
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return 0, wrap("read log", err)
	}
	req.Owner, req.Caller, req.TraceID, req.Caps = q.o, c.caller, c.trace, q.caps(q.r)
	a, err := q.Actions.Do(q.r.Context(), req)
	if err != nil {
		return 0, q.actionError(q.r, req.Msg, err)
	}
	if a.Replayed {
		q.w.Header().Set("Idempotency-Replayed", "true")
	}
	var body struct {
		AfterSeq *uint64 `json:"afterSeq"`
	}
	if json.Unmarshal(a.Body, &body) == nil && body.AfterSeq != nil {
		last = min(last, *body.AfterSeq)
	}
	return last, nil
}

// act runs an action of a block of the message that the client has. An action
// that asks something is a message of the user's, and no part of this one.
func (q *sdkRequest) act() error {
	if q.Assistant == "" {
		q.Assistant = q.Action.MsgID
	}
	m, err := q.waits()
	if err != nil {
		return err
	}
	a := q.Action
	if a.MsgID != "" && a.MsgID != m.ID {
		return invalid("The block is in another message than the one that the client goes on with.", map[string]any{"field": "action.msgId"})
	}
	key, err := actionKey(q.r, a.IdempotencyKey)
	if err != nil {
		return err
	}
	if b, ok := m.Block(a.BlockID); ok && slices.ContainsFunc(b.Actions, func(on block.Action) bool { return on.ID == a.ActionID && on.Kind == block.ActionPrompt }) {
		return invalid("What the action asks is sent as a message of the user's.", map[string]any{"field": "action.actionId"})
	}
	after, err := q.do(action.Request{
		Msg: m.ID, Block: a.BlockID, Action: a.ActionID, Payload: a.Payload, Key: key, Rev: a.Rev, ConfirmToken: a.ConfirmToken,
	})
	if err != nil {
		return err
	}
	at := &reading{msg: m.ID, conversation: q.c.ID, after: after, follow: true, acted: &m}
	if q.w.Header().Get("Idempotency-Replayed") != "" {
		at.again = a.BlockID
	}
	at.name(q.w.Header())
	return q.stream(q.w, q.r, at)
}

// rerun runs the tool of a block again.
func (q *sdkRequest) rerun() error {
	m, err := q.waits()
	if err != nil {
		return err
	}
	id := cmp.Or(q.RetryBlock, q.RefreshBlock)
	if _, ok := m.Block(id); !ok {
		return notFound()
	}
	st, err := q.Runner.Rerun(q.r.Context(), turn.BlockRequest{Owner: q.o, Caller: callOf(q.r).caller, Block: id, Refresh: q.RetryBlock == ""})
	if err != nil {
		return wrap("run again", err)
	}
	return q.followed(m.ID, st.After)
}

// getSDKStream writes what is being answered, from its beginning; 204 when
// nothing is. A chat that does not exist yet is one where nothing is answered.
func (s *server) getSDKStream(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	if err := foreignName("id", name); err != nil {
		return err
	}
	after, err := cursor(r)
	if err != nil {
		return err
	}
	if _, err := s.reader(r, &reading{}); err != nil {
		return err
	}
	c, err := s.thread(r.Context(), callOf(r).owner, aisdk.Name, name)
	if errors.Is(err, store.ErrNotFound) && !looksOwn(name) {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	if err != nil {
		return err
	}
	msg, err := s.written(r.Context(), c)
	if err != nil {
		return err
	}
	at := &reading{msg: msg, conversation: c.ID, after: after, rest: after > 0}
	if msg == "" && after > 0 && c.Leaf != "" {
		// Who has read a part is told the rest, also when that is all there is.
		at.msg = c.Leaf
	}
	if at.msg != "" && after > 0 {
		last, open, err := s.Store.Last(r.Context(), at.msg)
		switch {
		case err != nil && !errors.Is(err, store.ErrNotFound):
			return wrap("read log", err)
		case after > last:
			return invalid("There is no such event yet.", map[string]any{"field": "after", "last": last})
		case !open && after == last:
			at.msg = ""
		}
	}
	if at.msg == "" {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	at.name(w.Header())
	return s.stream(w, r, at)
}

// postSDKStop ends what is being answered; the client's own stop only closes
// its connection.
func (s *server) postSDKStop(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	if err := foreignName("id", name); err != nil {
		return err
	}
	raw, err := payload(r, true)
	if err != nil {
		return err
	}
	var body struct {
		MessageID string `json:"messageId"`
	}
	if raw != nil && json.Unmarshal(raw, &body) != nil {
		return invalid("messageId must be the message that is to stop.", map[string]any{"field": "messageId"})
	}
	return s.stopThread(w, r, aisdk.Name, name, body.MessageID)
}

// getSDKMessages writes a chat as its client has it.
func (s *server) getSDKMessages(w http.ResponseWriter, r *http.Request) error {
	name := r.PathValue("id")
	if err := foreignName("id", name); err != nil {
		return err
	}
	o := callOf(r).owner
	if _, err := s.reader(r, &reading{}); err != nil {
		return err
	}
	c, err := s.thread(r.Context(), o, aisdk.Name, name)
	if err != nil {
		return err
	}
	path, err := s.Store.Path(r.Context(), o, c.ID, "")
	if err != nil {
		return wrap("read conversation", err)
	}
	aliases, err := s.Store.Aliases(r.Context(), o, aisdk.Name, c.ID)
	if err != nil {
		return wrap("read names", err)
	}
	names := make(map[string]string)
	for _, a := range aliases {
		if a.Kind == store.AliasMessage {
			names[a.ID] = a.Foreign
		}
	}
	list := make([]aisdk.UIMessage, 0, len(path))
	for _, m := range path {
		var ui aisdk.UIMessage
		if m.Role == store.RoleUser {
			ui, err = aisdk.UserUIMessage(s.Registry, sdkName(names, m), m.Blocks)
		} else {
			ui, err = s.sdkMessage(r, m)
		}
		if err != nil {
			return err
		}
		list = append(list, ui)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"messages": list})
}

// sdkName is what the client calls a user's message: by the name that it gave,
// which after an edit is that of the message before it.
func sdkName(names map[string]string, m store.Message) string {
	if name := names[m.ID]; name != "" {
		return name
	}
	for _, sibling := range m.Siblings {
		if name := names[sibling]; name != "" {
			return name
		}
	}
	return m.ID
}

// sdkMessage makes of an answer what its reader would have of its stream.
func (s *server) sdkMessage(r *http.Request, m store.Message) (aisdk.UIMessage, error) {
	enc, err := s.reader(r, &reading{msg: m.ID, conversation: m.Conversation})
	if err != nil {
		return aisdk.UIMessage{}, err
	}
	var stream []byte
	for ev, err := range s.Store.Read(r.Context(), m.ID, 0) {
		if err == nil {
			stream, err = enc.Append(stream, ev)
		}
		if err != nil {
			return aisdk.UIMessage{}, wrap("read log", err)
		}
	}
	if stream, err = s.updated(r.Context(), stream, enc, m, ""); err != nil {
		return aisdk.UIMessage{}, err
	}
	if _, open, err := s.Store.Last(r.Context(), m.ID); err == nil && !open {
		if stream, err = enc.End(stream); err != nil {
			return aisdk.UIMessage{}, wrap("read log", err)
		}
	}
	ui, err := aisdk.Collect(stream)
	if ui.ID == "" {
		ui.ID = m.ID
	}
	return ui, wrap("collect message", err)
}
