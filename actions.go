package inlay

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/inlay-ui/inlay/action"
	"github.com/inlay-ui/inlay/action/declared"
	"github.com/inlay-ui/inlay/internal/nearest"
	"github.com/inlay-ui/inlay/internal/signing"
	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/sqlite"
	"github.com/inlay-ui/inlay/tool"
	"github.com/inlay-ui/inlay/tool/httptool"
	"github.com/inlay-ui/inlay/tool/mapping"
)

// The words of actions.
type (
	// ActionDef is a registered action: what a button leads to.
	ActionDef = action.Def
	// ActionCall is one call of an action.
	ActionCall = action.Call
	// ActionResult is what a call came to.
	ActionResult = action.Result
	// ActionFeedback words the outcome of an action for people.
	ActionFeedback = action.Feedback
	// ActionConfirm is what a person is asked before an action runs.
	ActionConfirm = action.Confirm
	// Words is a text by language; "" is the default language.
	Words = action.Words
)

// What an action does, and how it is confirmed.
const (
	ReadEffect  = action.Read
	WriteEffect = action.Write

	ConfirmNone   = action.LevelNone
	ConfirmDialog = action.LevelDialog
	ConfirmToken  = action.LevelToken
)

// Ask is the question of an action in one language.
func Ask(question string) ActionConfirm { return ActionConfirm{Text: Words{"": question}} }

// Uncertain marks an error of an action after which it is not known whether the
// call was carried out.
func Uncertain(err error) error { return action.Uncertain(err) }

// NewAction makes an action of a function that gets the payload decoded and
// checked. The JSON Schema is derived from Payload as NewTool does it. It
// panics for a definition that is not whole, which is a mistake in the program;
// NewActionDef returns the error.
func NewAction[Payload any](def ActionDef, run func(ctx context.Context, call ActionCall, payload Payload, out *Out) (ActionResult, error)) ActionDef {
	d, err := NewActionDef(def, run)
	if err != nil {
		panic("inlay.NewAction: " + err.Error())
	}
	return d
}

// NewActionDef is NewAction that returns what is wrong.
func NewActionDef[Payload any](def ActionDef, run func(ctx context.Context, call ActionCall, payload Payload, out *Out) (ActionResult, error)) (ActionDef, error) {
	return action.Typed(def, run)
}

// AddActions registers actions, which blocks name by block.Action.Action. It
// fails after the App was opened and for a name that is taken.
func (a *App) AddActions(defs ...ActionDef) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.opened {
		return errors.New("inlay: actions must be added before the App is opened")
	}
	return a.actions.Add(defs...)
}

// ActionConfig declares an action without Go: a Request on an HTTP source, a
// Query on a writable SQL source, or a Tool.
type ActionConfig struct {
	// Label is the text of buttons, or texts by language.
	Label Words `json:"label"`
	// Schema is the JSON Schema of the payload; on a form without one the
	// form's own judges it.
	Schema map[string]any `json:"schema"`
	// Effect is read or write; made of method, source or tool when empty.
	Effect action.Effect `json:"effect"`
	// Confirm is a question, {text, level}, or none.
	Confirm ConfirmConfig `json:"confirm"`
	// Style is primary, default or danger.
	Style string `json:"style"`
	// Blocks are the types of block that may have the action; all when empty.
	Blocks     []string         `json:"blocks"`
	Permission PermissionConfig `json:"permission"`
	Rate       RateConfig       `json:"rate"`
	// Once locks the block after success. Default: on forms.
	Once       *bool         `json:"once"`
	Background bool          `json:"background"`
	Timeout    time.Duration `json:"timeout"`
	// Idempotent says that the other side knows a repeated Idempotency-Key.
	Idempotent bool `json:"idempotent"`

	Source  string            `json:"source"`
	Request *httptool.Request `json:"request"`
	Query   string            `json:"query"`
	// Tool names a tool that gets the payload as its arguments.
	Tool string `json:"tool"`
	// Lookup finds out about calls whose outcome is not known.
	Lookup *LookupConfig `json:"lookup"`

	// Result is none (default), update or append; a tool's is append.
	Result declared.Show  `json:"result"`
	Block  *mapping.Block `json:"block"`
	// Value is a jq program for what the client is answered.
	Value    string         `json:"value"`
	Feedback FeedbackConfig `json:"feedback"`
	// Report is next_turn (default) or none.
	Report action.Report `json:"report"`
}

// ConfirmConfig is how an action is confirmed.
type ConfirmConfig struct {
	Text Words `json:"text"`
	// Level is none, dialog (default with a text) or token.
	Level action.Level `json:"level"`
}

// PermissionConfig lets those in whose Claim has Any of the values; without
// values, those who have the claim.
type PermissionConfig struct {
	// Claim is a name, or a path joined by dots.
	Claim string   `json:"claim"`
	Any   []string `json:"any"`
}

// RateConfig bounds how often one user may do something.
type RateConfig struct {
	PerMinute int `json:"per_minute"`
}

// LookupConfig asks the action's source whether a call happened.
type LookupConfig struct {
	Request httptool.Request `json:"request"`
	// Happened is a jq program over {body, call, payload, user} that gives true
	// or false.
	Happened string `json:"happened"`
}

// FeedbackConfig words an outcome, in one or in several languages.
type FeedbackConfig struct {
	Success Words `json:"success"`
	Failure Words `json:"failure"`
}

// QueryConfig lets the model propose statements for a source, which people
// may run.
type QueryConfig struct {
	// Lang is the language of the statements; sql for a database.
	Lang        string `json:"lang"`
	Description string `json:"description"`
	// Label is the source's name for people.
	Label Words `json:"label"`
	// MaxRange bounds the time that a statement may look at; DefaultRange is
	// the time up to now when nobody says another, 1 h.
	MaxRange     time.Duration `json:"max_range"`
	DefaultRange time.Duration `json:"default_range"`
	// Request sends a statement to an HTTP source.
	Request *httptool.Request `json:"request"`
	// Block makes the block of the result; a database has a table without.
	Block *mapping.Block `json:"block"`
	// Open is a template of the address that shows the statement elsewhere.
	Open string `json:"open"`
}

// KeysConfig says where the keys are that sign confirmations and addresses.
type KeysConfig struct {
	// File is made with a new key when it is not there. Default
	// DATA/keys.json.
	File string `json:"file"`
	// Env names an environment variable that holds what the file would.
	Env string `json:"env"`
}

// open reads the keys. A program that brings its own Backend and names none
// gets keys that last as long as it does.
func (k KeysConfig) open(data string, lasting bool) (*signing.Ring, error) {
	switch {
	case k.File != "" && k.Env != "":
		return nil, errors.New("keys: file and env exclude each other")
	case k.Env != "":
		raw, err := secret("keys", "", k.Env, "")
		if err != nil {
			return nil, err
		}
		r, err := signing.Parse([]byte(raw))
		if err != nil {
			return nil, fmt.Errorf("keys.env: %w", err)
		}
		return r, nil
	case k.File == "" && !lasting:
		return signing.New(signing.Generate())
	case k.File == "":
		k.File = filepath.Join(data, "keys.json")
	}
	if err := os.MkdirAll(filepath.Dir(k.File), 0o700); err != nil {
		return nil, fmt.Errorf("keys.file: %w", err)
	}
	return signing.Load(k.File)
}

// check reads the keys where they are and makes none.
func (k KeysConfig) check() error {
	if k.Env != "" {
		_, err := k.open("", true)
		return err
	}
	if k.File == "" {
		return nil
	}
	raw, err := os.ReadFile(k.File)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // made when the server starts
	}
	if err == nil {
		_, err = signing.Parse(raw)
	}
	if err != nil {
		return fmt.Errorf("keys.file: %s: %w", k.File, err)
	}
	return nil
}

// permits says whether a caller's claims let them in.
func (p PermissionConfig) permits(c tool.Caller) bool {
	v, ok := c.Claims[p.Claim]
	if !ok {
		var at any = c.Claims
		for part := range strings.SplitSeq(p.Claim, ".") {
			m, isMap := at.(map[string]any)
			if at, ok = m[part]; !isMap || !ok {
				return false
			}
		}
		v = at
	}
	var have []string
	switch v := v.(type) {
	case string:
		have = append(strings.Fields(v), v)
	case []any:
		for _, item := range v {
			if s, ok := item.(string); ok {
				have = append(have, s)
			}
		}
	case []string:
		have = v
	case bool:
		if v {
			have = []string{"true"}
		}
	}
	if len(p.Any) == 0 {
		return len(have) > 0
	}
	return slices.ContainsFunc(have, func(s string) bool { return slices.Contains(p.Any, s) })
}

var errNotPermitted = errors.New("the caller's claims do not permit it")

// auditor says who may read the audit log of a whole tenant.
func (c Config) auditor() func(tool.Caller) bool {
	if c.Auth.Audit.Claim == "" {
		return nil
	}
	return c.Auth.Audit.permits
}

// declaredActions makes the actions of the configuration.
func (c Config) declaredActions(s *sources, tools *tool.Set) ([]action.Def, error) {
	var defs []action.Def
	for _, name := range sortedKeys(c.Actions) {
		d, err := c.Actions[name].make(name, s, tools)
		if err != nil {
			return nil, fmt.Errorf("actions.%s: %w", name, err)
		}
		defs = append(defs, d)
	}
	return defs, nil
}

func (ac ActionConfig) make(name string, s *sources, tools *tool.Set) (action.Def, error) {
	def := action.Def{
		Name: name, Label: ac.Label, Effect: ac.Effect, Confirm: action.Confirm{Level: ac.Confirm.Level, Text: ac.Confirm.Text},
		Style: ac.Style, Blocks: ac.Blocks, PerMinute: ac.Rate.PerMinute, Once: ac.Once, Background: ac.Background,
		Timeout: ac.Timeout, Idempotent: ac.Idempotent, Report: ac.Report,
		Feedback: action.Feedback{Success: ac.Feedback.Success, Failure: ac.Feedback.Failure},
	}
	if ac.Schema != nil {
		raw, err := json.Marshal(ac.Schema)
		if err != nil {
			return def, fmt.Errorf("schema: %w", err)
		}
		def.Schema = raw
	}
	switch p := ac.Permission; {
	case p.Claim != "":
		def.Permit = func(_ context.Context, c tool.Caller) error {
			if p.permits(c) {
				return nil
			}
			return errNotPermitted
		}
	case len(p.Any) > 0:
		return def, errors.New("permission: claim is missing")
	}
	show := declared.Options{Show: ac.Result, Block: ac.Block, Value: ac.Value}
	db, isSQL := s.sql[ac.Source]
	origin, isHTTP := s.http[ac.Source]
	var err error
	switch {
	case ac.Tool != "":
		if ac.Source != "" || ac.Request != nil || ac.Query != "" || ac.Block != nil || ac.Value != "" || ac.Lookup != nil {
			return def, errors.New("tool: takes no source, request, query, lookup, block or value")
		}
		def, err = declared.Tool(def, tools, ac.Tool, ac.Result)
	case isSQL && ac.Query != "" && ac.Request == nil:
		if ac.Lookup != nil {
			return def, errors.New("lookup: a database takes none; make the statement idempotent by :call.id")
		}
		def, err = declared.SQL(def, db, ac.Query, show)
	case isHTTP && ac.Request != nil && ac.Query == "":
		var look *declared.Lookup
		if ac.Lookup != nil {
			look = &declared.Lookup{Request: ac.Lookup.Request, Happened: ac.Lookup.Happened}
		}
		def, err = declared.HTTP(def, origin, *ac.Request, look, show)
	case isSQL:
		return def, fmt.Errorf("its source %s is a database: query is required, and no request", ac.Source)
	case isHTTP:
		return def, fmt.Errorf("its source %s is an HTTP origin: request is required, and no query", ac.Source)
	case ac.Source == "":
		return def, errors.New("source or tool is required")
	default:
		return def, fmt.Errorf("source %q is not defined%s", ac.Source, didYouMean(nearest.Of(ac.Source, s.names())))
	}
	if err != nil {
		return def, err
	}
	// A registry of its own says what is wrong before all are added.
	if _, err := action.NewRegistry(def); err != nil {
		return def, err
	}
	return def, nil
}

// queries are the sources whose statements may be proposed and run.
func (c Config) queries(s *sources) ([]declared.Query, error) {
	var list []declared.Query
	for _, name := range sortedKeys(c.Sources) {
		qc := c.Sources[name].Query
		if qc == nil {
			continue
		}
		q := declared.Query{
			Source: name, SQL: s.sql[name], HTTP: s.http[name], Lang: qc.Lang, Description: qc.Description, Label: qc.Label,
			MaxRange: qc.MaxRange, DefaultRange: qc.DefaultRange, Block: qc.Block, Open: qc.Open,
		}
		if qc.Request != nil {
			q.Request = *qc.Request
		} else if q.HTTP != nil {
			return nil, fmt.Errorf("sources.%s.query: request is required", name)
		}
		if _, err := declared.NewQueries(q); err != nil {
			return nil, fmt.Errorf("sources.%s: %w", name, err)
		}
		list = append(list, q)
	}
	return list, nil
}

// linkHosts are the hosts that links of answers may lead to: those that are
// allowed, and those that queries are opened at.
func linkHosts(allowed []string, queries []declared.Query) []string {
	for _, q := range queries {
		host, err := declared.OpenHost(q.Open)
		if err == nil && !slices.Contains(allowed, host) {
			allowed = append(slices.Clone(allowed), host)
		}
	}
	return allowed
}

// wordsHook reads a text where texts by language are expected, and a question
// or the word none where a confirmation is.
func wordsHook(from, to reflect.Type, v any) (any, error) {
	s, ok := v.(string)
	if !ok || from.Kind() != reflect.String {
		return v, nil
	}
	switch to {
	case reflect.TypeFor[Words]():
		return Words{"": s}, nil
	case reflect.TypeFor[ConfirmConfig]():
		if s == string(action.LevelNone) {
			return ConfirmConfig{Level: action.LevelNone}, nil
		}
		return ConfirmConfig{Text: Words{"": s}}, nil
	}
	return v, nil
}

// AuditFilter selects entries of the audit log; members that are zero select
// all.
type AuditFilter struct {
	// Since is the first moment that counts, Until the first that does not.
	Since, Until time.Time
	Tenant, User string
	// Action is the registered action's name.
	Action string
}

// ExportAudit writes the audit log of the configured store as JSON lines,
// oldest first. It works beside a running server.
func (c Config) ExportAudit(ctx context.Context, w io.Writer, f AuditFilter) error {
	path, err := c.databasePath()
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	enc := json.NewEncoder(out)
	q := store.AuditQuery{Owner: store.Owner{Tenant: f.Tenant, User: f.User}, Name: f.Action, Since: f.Since, Until: f.Until}
	err = sqlite.ReadAudit(ctx, path, q, func(e store.AuditEntry) error { return enc.Encode(e) })
	if errors.Is(err, store.ErrNotFound) {
		return fmt.Errorf("there is no database at %s; name the data directory of the server with --data, or its file with --config", path)
	}
	return errors.Join(err, out.Flush())
}
