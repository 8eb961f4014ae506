package markup

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/block"
	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Why a card that the scanner found whole is not shown as one, beside the
// reasons of a Fallback.
const (
	// SchemaInvalid: the payload does not fit the card's schema.
	SchemaInvalid = "schema"
	// VersionDowngrade: it is of a major version that is not registered.
	VersionDowngrade = "version_downgrade"
	// UnsupportedBlock: there is no card of that name.
	UnsupportedBlock = "unsupported_block"
	// HydrateTimeout: the server's part did not arrive in time.
	HydrateTimeout = "hydrate_timeout"
)

// ErrUnknownID is wrapped by errors about ids that the resolver does not know.
var ErrUnknownID = errors.New("there is nothing with this id")

// Failure is a card that cannot be shown, and why.
type Failure struct {
	// Reason is one of the reasons of this package.
	Reason string
	Err    error
}

// Error implements error.
func (f *Failure) Error() string { return f.Reason + ": " + f.Err.Error() }

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

func fail(reason, format string, args ...any) error {
	return &Failure{Reason: reason, Err: fmt.Errorf(format, args...)}
}

// Written is a card as it was written.
type Written struct {
	Name string
	// Version is what stands after an @, if anything does.
	Version string
	// ID is the identifier of a placeholder; Body is nil then.
	ID string
	// Body is a JSON object.
	Body json.RawMessage
}

// Draft is a card as far as a model may say it.
type Draft struct {
	Card Card
	// Payload is without what only the server may say. That of a placeholder is
	// its id.
	Payload json.RawMessage
	// Dropped is where something was left out that only the server may say, as
	// JSON Pointers.
	Dropped []string
	// Unknown is where something was left out that a higher minor version
	// knows and this one does not.
	Unknown []string
	// Minor is the minor version that the card declared.
	Minor int
	// Unversioned says that it declared none and is taken for 1.0.
	Unversioned bool
	// Placeholder says that it was one.
	Placeholder bool

	schema *cardSchema
	head   string // of its source, when it was not read to its end
	// repeated says that some member stood twice, of which the last one counts.
	repeated bool
	// said is the payload as it may be shown in words, other whether that is
	// not all that was written.
	said  json.RawMessage
	other bool
}

var versionForm = regexp.MustCompile(`^([0-9]{1,6})(?:\.([0-9]{1,6}))?(?:\.[0-9]{1,6})?$`)

// Version reads "major" or "major.minor"; nothing is 1.0.
func Version(s string) (major, minor int, err error) {
	if s == "" {
		return 1, 0, nil
	}
	m := versionForm.FindStringSubmatch(s)
	if m == nil {
		return 0, 0, fmt.Errorf("%q is no version such as 1.0", s)
	}
	if major, _ = strconv.Atoi(m[1]); major == 0 {
		return 0, 0, fmt.Errorf("%q: versions begin with 1.0", s)
	}
	minor, _ = strconv.Atoi("0" + m[2])
	return major, minor, nil
}

// Draft reads a card that was written. Its errors are *Failure.
func (c *Cards) Draft(w Written) (Draft, error) {
	d, err := c.draft(w)
	c.say(&d, w.Name)
	return d, err
}

func (c *Cards) draft(w Written) (Draft, error) {
	d := Draft{Placeholder: w.Body == nil}
	body := map[string]any{idField: w.ID}
	if !d.Placeholder {
		v, err := decode(w.Body)
		if err != nil {
			return d, &Failure{Reason: BadJSON, Err: err}
		}
		var ok bool
		if body, ok = v.(map[string]any); !ok {
			return d, fail(NotObject, "the body is no object")
		}
	}
	highest := c.lookup(w.Name, 0)
	if highest == nil {
		return d, fail(UnsupportedBlock, "there is no card %q", w.Name)
	}
	// What stands beside the fields is judged by the version that the fence
	// names, or by that of cards that name none.
	known := highest
	if major, _, err := Version(w.Version); err == nil {
		if named := c.lookup(w.Name, major); named != nil {
			known = named
		}
	}
	version, fields, less, err := unwrap(w, body, known)
	if err != nil {
		return known.unread(d, w, body), err
	}
	major, minor, err := Version(version)
	if err != nil {
		return known.unread(d, w, body), &Failure{Reason: SchemaInvalid, Err: err}
	}
	one := c.lookup(w.Name, major)
	if one == nil {
		return known.unread(d, w, body), fail(VersionDowngrade, "%s has no major version %d; the highest is %d", w.Name, major, highest.Type.Version)
	}
	body = fields
	d.Card, d.schema, d.Minor, d.Unversioned = one.Card, one.schema, minor, version == ""
	var payload any = body
	if !d.Placeholder {
		payload, d.Dropped = one.schema.strip(payload)
		if minor > one.Minor {
			payload, d.Unknown = one.schema.known(payload)
		}
	}
	if d.Payload, err = jsonx.Marshal(payload); err != nil {
		return d, &Failure{Reason: BadJSON, Err: err}
	}
	seen := look(w.Body)
	d.repeated = seen.repeats
	if !d.Placeholder && len(d.Dropped)+len(d.Unknown) == 0 && !less && !d.repeated && !halfPair.Match(w.Body) {
		d.Payload = w.Body // as it was written
	}
	if seen.deep {
		return d, fail(SchemaInvalid, "nested deeper than %d", maxJSONDepth)
	}
	if len(d.IDs()) > 0 && !d.Placeholder {
		if err := one.draft.Validate(d.Payload); err != nil {
			return d, &Failure{Reason: SchemaInvalid, Err: err}
		}
	}
	return d, nil
}

// unread is the draft of a card that is not read any further: what the nearest
// of its versions knows as the server's is left out.
func (c *card) unread(d Draft, w Written, body map[string]any) Draft {
	if d.Placeholder {
		return d
	}
	d.repeated = look(w.Body).repeats
	rest, dropped := c.schema.strip(body)
	payload, err := jsonx.Marshal(rest)
	if err != nil {
		return d
	}
	d.Payload, d.Dropped = payload, dropped
	d.head = w.Name
	if w.Version != "" {
		d.head += "@" + w.Version
	}
	return d
}

// looked is what a JSON text has that readers take differently.
type looked struct {
	repeats bool // a member twice in an object
	deep    bool // values nested deeper than a body that is shown while it is written
}

func look(raw json.RawMessage) (out looked) {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	type open struct {
		members map[string]bool // nil: a list
		value   bool            // what comes next is no name
	}
	var stack []open
	for {
		token, err := dec.Token()
		if err != nil {
			return out
		}
		last := len(stack) - 1
		if name, isText := token.(string); isText && last >= 0 && stack[last].members != nil && !stack[last].value {
			out.repeats = out.repeats || stack[last].members[name]
			stack[last].members[name], stack[last].value = true, true
			continue
		}
		switch token {
		case json.Delim('}'), json.Delim(']'):
			stack = stack[:last]
			continue
		}
		if last >= 0 {
			stack[last].value = false
		}
		switch token {
		case json.Delim('{'):
			stack = append(stack, open{members: make(map[string]bool)})
		case json.Delim('['):
			stack = append(stack, open{})
		}
		out.deep = out.deep || len(stack) > maxJSONDepth
	}
}

// halfPair is an escape that may be half of a character. What is no character
// then, readers take differently too.
var halfPair = regexp.MustCompile(`\\u[dD][89a-fA-F]`)

// The members that say the version of a card and what it is, beside its fields
// or around them.
const (
	versionField = "schemaVersion"
	typeField    = "type"
	dataField    = "data"
	actionsField = "actions"
	// uiVersionField is what a tool's answer calls the version. It is read around
	// the fields only: beside them many a card has a version of its own.
	uiVersionField = "version"
)

// unwrap reads the version of a card and takes its fields out of what may stand
// around them: {"type": …, "schemaVersion": …, "data": {…}}, or the ui of a
// tool's answer, {"type": …, "version": …, "data": {…}}. What a schema knows as a
// field is one. less says that the fields are not all that was written.
func unwrap(w Written, body map[string]any, known *card) (version string, fields map[string]any, less bool, err error) {
	version, fields = w.Version, body
	if w.Body == nil {
		return version, fields, false, nil
	}
	isField := func(name string) bool {
		return len(known.schema.member(known.schema.at(), name)) > 0
	}
	data, wrapped := body[dataField].(map[string]any)
	for name := range body {
		switch name {
		case dataField, versionField, typeField, actionsField, uiVersionField:
			wrapped = wrapped && !isField(name)
		default:
			wrapped = false
		}
	}
	if name, ok := body[typeField].(string); ok && wrapped && name != w.Name {
		return "", nil, false, fail(SchemaInvalid, "/type: it is a %s in a fence of %s", name, w.Name)
	}
	member := versionField
	if _, ok := body[member]; !ok && wrapped {
		member = uiVersionField
	}
	if own, ok := body[member]; ok && !isField(member) {
		if version == "" {
			switch own := own.(type) {
			case string:
				version = own
			case json.Number:
				version = own.String()
			default:
				return "", nil, false, fail(SchemaInvalid, "/%s: must be text such as 1.0", member)
			}
		}
		if !wrapped {
			less = true
			fields = make(map[string]any, len(body))
			for k, v := range body {
				if k != versionField {
					fields[k] = v
				}
			}
		}
	}
	if wrapped {
		less, fields = true, data
	}
	return version, fields, less, nil
}

// IDs are the ids of which the resolver says more; none for a card that has no
// resolver.
func (d Draft) IDs() []string {
	if d.Card.Resolve == nil {
		return nil
	}
	v, err := decode(d.Payload)
	if err != nil {
		return nil
	}
	return d.schema.ids(v)
}

// Fill lays what a resolver found over the draft. Of a list, elements that do
// not exist are left out, and their ids returned. An error that wraps
// ErrUnknownID says that nothing is left.
func (d Draft) Fill(found map[string]json.RawMessage) (payload json.RawMessage, missing []string, err error) {
	v, err := decode(d.Payload)
	if err != nil {
		return nil, nil, fmt.Errorf("decode the draft: %w", err)
	}
	gone, unnamed := false, 0
	var lay []func() // what was found; a list in it is not looked up in turn
	v = d.schema.objects(v, func(o map[string]any, root bool) bool {
		id, ok := idOf(o)
		if !ok || err != nil {
			if !root {
				unnamed++
			}
			return true
		}
		raw, ok := found[id]
		if !ok || string(raw) == "null" {
			missing = append(missing, id)
			gone = gone || root
			return false
		}
		more, decodeErr := decode(raw)
		object, ok := more.(map[string]any)
		if decodeErr != nil || !ok {
			err = fmt.Errorf("what the resolver says of %q is no object", id)
			return true
		}
		lay = append(lay, func() {
			if root && d.Placeholder && len(d.schema.member(d.schema.at(), idField)) == 0 {
				delete(o, idField) // the schema has no such field
			}
			for name, value := range object {
				o[name] = value
			}
		})
		return true
	})
	switch {
	case err != nil:
		return nil, missing, err
	case gone, len(lay)+unnamed == 0 && len(missing) > 0:
		return nil, missing, fmt.Errorf("%w: %s", ErrUnknownID, strings.Join(missing, ", "))
	}
	for _, f := range lay {
		f()
	}
	payload, err = jsonx.Marshal(v)
	return payload, missing, err
}

// Source writes a block of a card the way a model would have: what is the
// server's is left out. It is "" for what is no card.
func (c *Cards) Source(typeName string, version int, payload json.RawMessage) string {
	for _, one := range c.all() {
		if one.Type.Name != block.ShortName(typeName) || one.Type.Version != version {
			continue
		}
		v, err := decode(payload)
		if err != nil {
			return ""
		}
		v, _ = one.schema.strip(v)
		raw, err := jsonx.Marshal(v)
		if err != nil {
			return ""
		}
		return writeFence(one.Card, raw)
	}
	return ""
}
