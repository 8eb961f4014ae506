package turn

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/emit"
	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/markup"
	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/tool"
)

// Observer is told what happens, for metrics. Its methods must return at once.
type Observer interface {
	TurnStarted()
	// TurnEnded names the message's final status.
	TurnEnded(status string, d time.Duration)
	// ModelCall reports one completion; first is the time to its first piece.
	ModelCall(name string, d, first time.Duration, u model.Usage, err error)
	// ToolCall reports one run; status is ok, error or cancelled.
	ToolCall(name, status string, d time.Duration)
	// Recommended reports what the recommender came to, one of the Outcome
	// constants, and how long it took.
	Recommended(outcome string, d time.Duration)
	// Card reports what became of a card in the model's text: the type of its
	// block, one of the Card constants or a reason of package markup, and how
	// many fields were left out that only the server may say.
	Card(blockType, outcome string, dropped int)
	// Events reports how many events one commit made durable.
	Events(n int)
}

// Config is what a Runner needs. Store, Model, Tools and Registry are
// required; Upstream stands for a Model.
type Config struct {
	Store store.Store
	Model model.Model
	// Upstream is an agent elsewhere that answers instead of the loop over Model
	// and Tools. nil for none.
	Upstream agent.Agent
	// Results show what came of calls of the upstream agent, by the name of its
	// tool. The result of one that is not here is shown where it says itself how:
	// an object with ui, as tools answer.
	Results  map[string]ShowResult
	Tools    *tool.Set
	Registry *block.Registry
	// System is the product's own part of the system prompt.
	System string
	// Agent names the product in trajectories, with its version.
	Agent, Version string
	Limits         Limits
	// Actions completes the api actions that tools attach to blocks; nil knows
	// none, and such actions are left out.
	Actions Actions
	// Files is where the files are that people attach; nil takes none.
	Files Files
	// OutFiles is where tools put the files they make; nil keeps none.
	OutFiles tool.Files
	// AskUser offers the model a tool by which it asks the person a question.
	AskUser bool
	// ClientTools lets clients bring tools that they run themselves.
	ClientTools bool
	// Destinations is where the blocks of answers may lead. The zero value lets
	// none of them lead anywhere.
	Destinations block.Destinations
	// EmitBlocks offers the model a tool by which it shows blocks itself, of
	// those types that allow it and that the client has declared.
	EmitBlocks bool
	// Cards are those that the model may write into its text; nil for none.
	Cards *markup.Cards
	// Embed are the syntaxes in which it may. nil: fences and placeholders; an
	// empty list leaves all of the text as it is.
	Embed []markup.Syntax
	// Recommend makes a recommender look at finished answers; nil makes none.
	Recommend *Recommend
	// Instance names this process as the owner of leases; it must differ from
	// every other process's, also from this one's before a restart.
	Instance string
	Logger   *slog.Logger
	Observer Observer
	Now      func() time.Time
}

// Runner runs turns. It is safe for concurrent use.
type Runner struct {
	cfg      Config
	askCheck *tool.Check
	// recommends is the request of the recommender, without an answer.
	recommends model.Request
	// emitCheck checks the arguments of emit_ui_block.
	emitCheck *tool.Check

	mu      sync.Mutex
	running map[string]*active // by message
	// lost is why messages were left without their end, for recovery to say.
	lost    map[string]event.ErrorData
	closing bool
	wg      sync.WaitGroup
}

// active is a turn or follow-up that runs here.
type active struct {
	// stop ends it.
	stop context.CancelCauseFunc
	// answered says that the answer is whole: what still runs is not waited for
	// by who asks the next question. hurry then ends that early.
	answered bool
	hurry    context.CancelCauseFunc
	// over is closed when nothing of it runs any more.
	over chan struct{}
}

var (
	errStopped  = errors.New("stopped by the user")
	errNext     = errors.New("the next question was asked")
	errShutdown = errors.New("the server is shutting down")
	errTimeout  = errors.New("the turn took too long")
	errLease    = errors.New("the lease was lost")
)

// New returns a Runner.
func New(cfg Config) (*Runner, error) {
	if cfg.Store == nil || cfg.Model == nil && cfg.Upstream == nil || cfg.Tools == nil || cfg.Registry == nil {
		return nil, errors.New("turn: store, model or upstream, tools and registry are required")
	}
	if cfg.Logger == nil {
		cfg.Logger = slog.New(slog.DiscardHandler)
	}
	if cfg.Observer == nil {
		cfg.Observer = noObserver{}
	}
	if cfg.Now == nil {
		cfg.Now = time.Now
	}
	if cfg.Instance == "" {
		cfg.Instance = id.New("i")
	}
	if cfg.Agent == "" {
		cfg.Agent = "inlay"
	}
	if cfg.Version == "" {
		cfg.Version = "dev"
	}
	cfg.Limits = cfg.Limits.withDefaults()
	if cfg.Recommend != nil {
		rec := *cfg.Recommend
		if rec.Model == nil {
			rec.Model = cfg.Model
		}
		if rec.Model == nil {
			return nil, errors.New("turn: a recommender beside an upstream needs a model of its own")
		}
		rec.Timeout = cmp.Or(rec.Timeout, DefaultRecommendTimeout)
		cfg.Recommend = &rec
	}
	r := &Runner{cfg: cfg, running: make(map[string]*active), lost: make(map[string]event.ErrorData)}
	if cfg.AskUser {
		check, err := tool.NewCheck(askUser.Spec())
		if err != nil {
			return nil, fmt.Errorf("turn: %w", err)
		}
		r.askCheck = check
	}
	if cfg.EmitBlocks {
		var err error
		if r.emitCheck, err = newEmitCheck(); err != nil {
			return nil, fmt.Errorf("turn: %w", err)
		}
	}
	if cfg.Recommend != nil {
		var err error
		if r.recommends, err = r.recommendRequest(); err != nil {
			return nil, fmt.Errorf("turn: %w", err)
		}
	}
	return r, nil
}

// lookup finds a tool by name; one of the installation comes before the built-in
// one of its name.
func (r *Runner) lookup(name string) (tool.Tool, *tool.Check, bool) {
	if found, check, ok := r.cfg.Tools.Lookup(name); ok {
		return found, check, true
	}
	if r.cfg.AskUser && name == askUser.Spec().Name {
		return askUser, r.askCheck, true
	}
	return nil, nil, false
}

// specs are the tools that the model may call, the installation's own first: a
// built-in one of the same name is not offered.
func (t *run) specs() []tool.Spec {
	specs := t.r.cfg.Tools.Specs()
	offer := func(own tool.Spec) {
		if !slices.ContainsFunc(specs, func(s tool.Spec) bool { return s.Name == own.Name }) {
			specs = append(specs, own)
		}
	}
	if t.r.cfg.AskUser {
		offer(askUser.Spec())
	}
	if t.emitted != nil {
		offer(*t.emitted)
	}
	for _, own := range t.client.tools {
		offer(own.spec())
	}
	return specs
}

func (l Limits) withDefaults() Limits {
	num := func(v *int, d int) {
		if *v <= 0 {
			*v = d
		}
	}
	dur := func(v *time.Duration, d time.Duration) {
		if *v == 0 {
			*v = d
		}
	}
	num(&l.Steps, 8)
	num(&l.Calls, 16)
	num(&l.Parallel, 4)
	num(&l.OutputBytes, 1<<20)
	num(&l.SummaryBytes, 4<<10)
	num(&l.ContextBytes, 256<<10)
	num(&l.Blocks, emit.DefaultCap)
	if l.Optional == 0 {
		l.Optional = emit.DefaultOptionalCap
	}
	num(&l.Attachments, 10)
	num(&l.Attempts, 3)
	num(&l.ClientTools, 32)
	num(&l.ClientToolBytes, 16<<10)
	num(&l.ClientContextBytes, 64<<10)
	dur(&l.Turn, 5*time.Minute)
	dur(&l.Tool, 30*time.Second)
	dur(&l.Coalesce, 30*time.Millisecond)
	dur(&l.Lease, 10*time.Second)
	l.Coalesce = max(l.Coalesce, 0)
	if l.Session != nil {
		s := *l.Session
		num(&s.Blocks, 20)
		num(&s.Turns, 5)
		l.Session = &s
	}
	return l
}

// Running returns the number of turns and follow-ups that run now.
func (r *Runner) Running() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.running)
}

// Start begins a turn and returns as soon as its first event is durable. The
// turn goes on without the caller: ctx bounds only the beginning. An answer that
// is whole does not stand in the way: what its turn does after that is cut
// short. Errors are *Error.
func (r *Runner) Start(ctx context.Context, req Request) (Started, error) {
	for again := 0; ; again++ {
		s, err := r.start(ctx, req)
		var running *store.RunningError
		if err == nil || again == maxHurry || !errors.As(err, &running) || !r.hurry(ctx, running.Msg) {
			return s, err
		}
		// What was read of the conversation lacked that answer: once more.
	}
}

// maxHurry is how many turns a request may find in its way one after the other,
// each with its answer whole.
const maxHurry = 8

func (r *Runner) start(ctx context.Context, req Request) (Started, error) {
	if r.isClosing() {
		return Started{}, &Error{Code: CodeShuttingDown, Message: "The server is shutting down.", Retryable: true}
	}
	brought, err := r.bring(req.Tools, req.Context, req.State)
	if err != nil {
		return Started{}, err
	}
	b, path, files, err := r.plan(ctx, req)
	if err != nil {
		return Started{}, err
	}
	msg := b.Assistant.ID
	lease, _, err := r.cfg.Store.Acquire(ctx, msg, r.cfg.Instance, r.cfg.Limits.Lease)
	if err != nil {
		return Started{}, storeError("acquire lease", err)
	}
	if err := r.cfg.Store.Begin(ctx, b); err != nil {
		r.release(lease)
		var replay *store.ReplayError
		if errors.As(err, &replay) {
			if !replay.Same {
				return Started{}, &Error{Code: CodeKeyReused, Message: "The idempotency key was used for another request.", Msg: replay.Msg, Err: err}
			}
			return Started{Msg: replay.Msg, Conversation: replay.Conversation, User: replay.User, Group: 1, Joined: true}, nil
		}
		var running *store.RunningError
		if errors.As(err, &running) {
			return Started{}, &Error{Code: CodeTurnRunning, Message: "An answer is still being written in this conversation.", Retryable: true, Msg: running.Msg, Err: err}
		}
		return Started{}, storeError("begin turn", err)
	}
	started := Started{Msg: msg, Conversation: b.Conversation.ID, User: b.Assistant.Parent, Group: lease.Group}

	t := r.newRun(lease, b.Assistant, req.Caller, req.Caps, r.session(path), brought)
	t.given = req.History
	if b.User != nil {
		path = append(path, *b.User)
	}
	t.history = history(path, req.History, r.pictures(ctx, req.Owner, path, b.User, files), r.cfg.Limits.ContextBytes, r.cfg.Registry)
	t.waiting = r.waiting(ctx, path)
	t.failedCards(path)
	t.report(ctx)
	return started, r.launch(ctx, t, t.converse)
}

// hurry ends what the turn of a message does after its answer is whole, and
// waits until nothing of it runs any more. It reports false when the answer is
// still being written.
func (r *Runner) hurry(ctx context.Context, msg string) bool {
	a := r.cutShort(msg)
	switch {
	case a == nil:
		return r.hurryElsewhere(ctx, msg)
	case !a.answered:
		return false
	}
	select {
	case <-a.over:
		return true
	case <-ctx.Done():
		return false
	}
}

// cutShort ends what a turn that runs here does after its answer is whole, and
// returns the turn as it was; nil for none.
func (r *Runner) cutShort(msg string) *active {
	r.mu.Lock()
	defer r.mu.Unlock()
	a := r.running[msg]
	if a == nil {
		return nil
	}
	if a.hurry != nil {
		a.hurry(errNext)
	}
	was := *a
	return &was
}

// hurryWait is how long another instance is given to end a turn whose answer is
// whole.
const hurryWait = 2 * time.Second

// hurryElsewhere is hurry for a turn that another instance runs, or that has
// ended since it was found in the way. That the text has ended is all that is
// known of it here.
func (r *Runner) hurryElsewhere(ctx context.Context, msg string) bool {
	asked := false
	for end := time.Now().Add(hurryWait); time.Now().Before(end); {
		m, err := r.cfg.Store.MessageOf(ctx, msg)
		if err != nil || m.Status != event.StatusRunning {
			return err == nil
		}
		if !asked {
			if !r.textEnded(ctx, msg) || r.cfg.Store.Send(ctx, msg, store.Signal{Kind: store.SignalNext}) != nil {
				return false
			}
			asked = true
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(retryEvery):
		}
	}
	return false
}

// textEnded reports whether the end of a text is the last that a message's log
// says.
func (r *Runner) textEnded(ctx context.Context, msg string) bool {
	last, open, err := r.cfg.Store.Last(ctx, msg)
	if err != nil || !open || last == 0 {
		return false
	}
	for ev, err := range r.cfg.Store.Read(ctx, msg, last-1) {
		if err != nil {
			return false
		}
		if ev.Seq == last {
			return ev.Type == event.TextEnd
		}
	}
	return false
}

// answered says that the answer of a run is whole. hurry, which may be nil, ends
// what the run does now.
func (t *run) answered(hurry context.CancelCauseFunc) {
	t.r.mu.Lock()
	defer t.r.mu.Unlock()
	if a := t.r.running[t.message.ID]; a != nil {
		a.answered, a.hurry = true, hurry
	}
}

func (r *Runner) runs(msg string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, ok := r.running[msg]
	return ok
}

// plan resolves what a request means into the records of a new turn, the
// messages before it and the files of the question.
func (r *Runner) plan(ctx context.Context, req Request) (store.BeginTurn, []store.Message, []Attachment, error) {
	now := r.cfg.Now()
	info := r.cfg.info()
	b := store.BeginTurn{
		Owner:          req.Owner,
		IdempotencyKey: req.IdempotencyKey,
		Fingerprint:    req.Fingerprint,
		Conversation:   store.Conversation{ID: req.Conversation, Owner: req.Owner, CreatedAt: now, UpdatedAt: now, Hidden: req.History != nil},
		Assistant: store.Message{
			ID: id.New("m"), Owner: req.Owner, Role: store.RoleAssistant, CreatedAt: now, Status: event.StatusRunning,
			Model: &event.Model{Kind: info.Kind, Name: info.Name},
		},
	}
	text := req.Text
	if req.History != nil {
		text = lastUser(req.History)
	}
	var parent string
	var path []store.Message
	var files []Attachment
	switch {
	case req.RegenerateOf != "":
		m, err := r.cfg.Store.Message(ctx, req.Owner, req.RegenerateOf)
		if err != nil {
			return b, nil, nil, storeError("read the answer to be written anew", err)
		}
		if m.Role != store.RoleAssistant || m.Parent == "" {
			return b, nil, nil, &Error{Code: CodeInvalidRequest, Message: "regenerateOf must name an assistant message."}
		}
		if err := within(req, m); err != nil {
			return b, nil, nil, err
		}
		b.Conversation.ID, b.Assistant.Parent = m.Conversation, m.Parent
		if path, err = r.cfg.Store.Path(ctx, req.Owner, m.Conversation, m.Parent); err != nil {
			return b, nil, nil, storeError("read the conversation", err)
		}
	case req.EditOf != "":
		m, err := r.cfg.Store.Message(ctx, req.Owner, req.EditOf)
		if err != nil {
			return b, nil, nil, storeError("read the message to be edited", err)
		}
		if m.Role != store.RoleUser {
			return b, nil, nil, &Error{Code: CodeInvalidRequest, Message: "editOf must name a user message."}
		}
		if err := within(req, m); err != nil {
			return b, nil, nil, err
		}
		b.Conversation.ID, parent = m.Conversation, m.Parent
		if parent != "" {
			if path, err = r.cfg.Store.Path(ctx, req.Owner, m.Conversation, parent); err != nil {
				return b, nil, nil, storeError("read the conversation", err)
			}
		}
	case req.Conversation != "":
		c, err := r.cfg.Store.Conversation(ctx, req.Owner, req.Conversation)
		if req.NewConversation && errors.Is(err, store.ErrNotFound) {
			break
		}
		if err != nil {
			return b, nil, nil, storeError("read the conversation", err)
		}
		parent = c.Leaf
		if parent != "" {
			if path, err = r.cfg.Store.Path(ctx, req.Owner, c.ID, parent); err != nil {
				return b, nil, nil, storeError("read the conversation", err)
			}
		}
	default:
		b.Conversation.ID = id.New("c")
	}
	if req.RegenerateOf == "" {
		if strings.TrimSpace(text) == "" && len(req.Attachments) == 0 {
			return b, nil, nil, &Error{Code: CodeInvalidRequest, Message: "The message is empty."}
		}
		var err error
		if files, err = r.attach(ctx, req, b.Conversation.ID); err != nil {
			return b, nil, nil, err
		}
		b.User = &store.Message{
			ID: id.New("m"), Conversation: b.Conversation.ID, Owner: req.Owner, Role: store.RoleUser, Parent: parent,
			CreatedAt: now, Status: event.StatusDone,
		}
		if err := ask(b.User, text, files); err != nil {
			return b, nil, nil, err
		}
		b.Assistant.Parent = b.User.ID
	}
	b.Conversation.Title = title(text)
	if b.Conversation.Title == "" && len(files) > 0 {
		b.Conversation.Title = title(files[0].Block.Fallback)
	}
	b.Conversation.Leaf = b.Assistant.ID
	b.Assistant.Conversation = b.Conversation.ID
	return b, path, files, nil
}

// ask fills in what a user message shows and, where that is more than its text,
// what the model reads of it.
func ask(m *store.Message, text string, files []Attachment) error {
	if strings.TrimSpace(text) != "" {
		m.Blocks = []block.Block{textBlock(text)}
	}
	if len(files) == 0 {
		return nil
	}
	for _, f := range files {
		m.Blocks = append(m.Blocks, f.Block)
	}
	raw, err := json.Marshal([]model.Message{{Role: model.RoleUser, Content: withFiles(text, files)}})
	if err != nil {
		return storeError("encode the question", err)
	}
	m.Exchange = raw
	return nil
}

// within checks that a message belongs to the conversation that a request
// names, if it names one.
func within(req Request, m store.Message) error {
	if req.Conversation == "" || req.Conversation == m.Conversation {
		return nil
	}
	return &Error{Code: CodeNotFound, Message: "The conversation has no such message."}
}

func textBlock(text string) block.Block {
	payload, err := json.Marshal(text)
	if err != nil { // a string always encodes
		payload = json.RawMessage(`""`)
	}
	return block.Block{ID: id.New("b"), Type: "text", Version: 1, Status: block.StatusDone, Rev: 1, Payload: payload}
}

// title makes a conversation's title of its first question: one line of at
// most 60 characters, cut at a space where there is one.
func title(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) {
			return ' '
		}
		return r
	}, text)
	text = strings.Join(strings.Fields(text), " ")
	const most = 60
	runes := []rune(text)
	if len(runes) <= most {
		return text
	}
	cut := string(runes[:most])
	if i := strings.LastIndexByte(cut, ' '); i > most/2 {
		cut = cut[:i]
	}
	return cut + "…"
}

// storeError turns a store's error into one with a stable code.
func storeError(doing string, err error) *Error {
	var te *Error
	switch {
	case errors.As(err, &te):
		return te
	case errors.Is(err, store.ErrNotFound):
		return &Error{Code: CodeNotFound, Message: "Not found.", Err: fmt.Errorf("%s: %w", doing, err)}
	case errors.Is(err, store.ErrFull):
		return &Error{Code: CodeStoreFull, Message: "The server has no room to store the answer.", Retryable: true, Err: fmt.Errorf("%s: %w", doing, err)}
	case errors.Is(err, store.ErrBusy):
		return &Error{Code: CodeStoreBusy, Message: "The server's store is busy.", Retryable: true, Err: fmt.Errorf("%s: %w", doing, err)}
	case errors.Is(err, store.ErrConflict):
		return &Error{Code: CodeTurnRunning, Message: "Something is still being written here.", Retryable: true, Err: fmt.Errorf("%s: %w", doing, err)}
	}
	return &Error{Code: CodeInternal, Message: "The server failed.", Retryable: true, Err: fmt.Errorf("%s: %w", doing, err)}
}

// Stop asks the turn or follow-up that writes a message to end, on whichever
// instance runs it; a turn that is paused is ended here. It reports whether
// there was anything to stop.
func (r *Runner) Stop(ctx context.Context, owner store.Owner, msg string) (bool, error) {
	m, err := r.cfg.Store.Message(ctx, owner, msg)
	if err != nil {
		return false, storeError("read message", err)
	}
	_, open, err := r.cfg.Store.Last(ctx, msg)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return false, storeError("read log", err)
	}
	if open {
		if err := r.signalStop(ctx, owner, msg); err != nil {
			return false, storeError("send stop", err)
		}
	}
	if m.Status != event.StatusPaused {
		return open, nil
	}
	err = r.stopPaused(ctx, owner, msg)
	var te *Error
	if errors.As(err, &te) && te.Code == CodeNotPaused {
		return open, nil
	}
	return err == nil, err
}

func (r *Runner) signalStop(ctx context.Context, owner store.Owner, msg string) error {
	r.mu.Lock()
	a, here := r.running[msg]
	r.mu.Unlock()
	if here {
		a.stop(errStopped)
		return nil
	}
	return r.cfg.Store.Send(ctx, msg, store.Signal{Kind: store.SignalStop, By: owner.User})
}

// Shutdown refuses new turns and waits for the running ones, those whose answer
// is whole the shortest. When ctx ends they are ended as interrupted.
func (r *Runner) Shutdown(ctx context.Context) error {
	r.mu.Lock()
	r.closing = true
	for _, a := range r.running {
		if a.hurry != nil {
			a.hurry(errShutdown)
		}
	}
	r.mu.Unlock()
	idle := make(chan struct{})
	go func() {
		r.wg.Wait()
		close(idle)
	}()
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
	}
	r.mu.Lock()
	for _, a := range r.running {
		a.stop(errShutdown)
	}
	r.mu.Unlock()
	<-idle
	return nil
}

func (r *Runner) isClosing() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.closing
}

func (r *Runner) release(lease store.Lease) {
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := r.cfg.Store.Release(ctx, lease); err != nil {
		r.cfg.Logger.Warn("release lease", "msg", lease.Msg, "err", err)
	}
}

type noObserver struct{}

func (noObserver) TurnStarted()                                                       {}
func (noObserver) TurnEnded(string, time.Duration)                                    {}
func (noObserver) ModelCall(string, time.Duration, time.Duration, model.Usage, error) {}
func (noObserver) ToolCall(string, string, time.Duration)                             {}
func (noObserver) Recommended(string, time.Duration)                                  {}
func (noObserver) Card(string, string, int)                                           {}
func (noObserver) Events(int)                                                         {}
