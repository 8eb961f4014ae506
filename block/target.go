package block

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Limits of what a block may lead to.
const (
	MaxRoute      = 512     // bytes of a route
	MaxCommand    = 256     // characters of a slash command
	MaxURL        = 2048    // bytes of an external address
	MaxModalDepth = 3       // objects and lists within each other in a modal's parameters
	MaxModalBytes = 4 << 10 // of a modal's parameters
)

// Targets is what a type says about where its items lead. Producers nobody
// asked for show no destination twice and none that the product does not
// allow; for that their blocks are cut down item by item.
type Targets struct {
	// List returns where each item leads, in item order; nil for a payload
	// that is not of the type.
	List func(payload json.RawMessage) []Target
	// Only returns the payload with only the items of these indexes, in the
	// order they have in the payload.
	Only func(payload json.RawMessage, items []int) (json.RawMessage, error)
}

// TargetKind says how a target is gone to.
type TargetKind string

// The kinds of target.
const (
	TargetRoute    TargetKind = "route"    // a path of the application
	TargetSlash    TargetKind = "slash"    // a command put into the composer, never sent
	TargetModal    TargetKind = "modal"    // a dialog of the application, by name
	TargetExternal TargetKind = "external" // an https address, opened in a new tab
)

// TargetKinds returns the kinds of target in the order they are listed in.
func TargetKinds() []TargetKind {
	return []TargetKind{TargetRoute, TargetSlash, TargetModal, TargetExternal}
}

// Target is where something leads: a path, a command, the name of a modal or
// an address.
type Target struct {
	Kind  TargetKind
	Value string
}

// TargetError says which rule a target breaks. The rules are those of
// docs/blocks.md.
type TargetError struct {
	Kind TargetKind
	// Rule is the rule's name there: R4.
	Rule   string
	Reason string
}

// Error implements error.
func (e *TargetError) Error() string {
	return fmt.Sprintf("%s: %s (rule %s)", e.Kind, e.Reason, e.Rule)
}

// Check reports, as a *TargetError, the first rule of its kind that a target
// breaks. It judges the form only; what may be gone to is a matter of
// Destinations.
func (t Target) Check() error {
	var rule, reason string
	switch t.Kind {
	case TargetRoute:
		rule, reason = checkRoute(t.Value)
	case TargetSlash:
		rule, reason = checkCommand(t.Value)
	case TargetModal:
		if !isModalName(t.Value) {
			rule, reason = "M1", badModalName
		}
	case TargetExternal:
		_, rule, reason = parseAddress(t.Value)
	default:
		rule, reason = "D1", "no such kind of target"
	}
	if rule != "" {
		return &TargetError{Kind: t.Kind, Rule: rule, Reason: reason}
	}
	return nil
}

// Key is what tells targets apart: two with equal keys are one destination.
// The fragment of an address, the order of a query, the amounts in a command
// and the parameters of a modal do not make another one. Targets of different
// kinds are never the same.
func (t Target) Key() string {
	key := t.Value
	switch t.Kind {
	case TargetRoute:
		key = routeKey(t.Value)
	case TargetSlash:
		key = commandKey(t.Value)
	case TargetExternal:
		if a, rule, _ := parseAddress(t.Value); rule == "" {
			key = a.key()
		}
	}
	return string(t.Kind) + ":" + key
}

const badModalName = "the name of a modal is a small letter and up to 63 of a-z, 0-9, _ and -"

// isModalName is [a-z][a-z0-9_-]{0,63}.
func isModalName(s string) bool { return len(s) <= 64 && isIdentifier(s) }

// isIdentifier is [a-z][a-z0-9_-]*.
func isIdentifier(s string) bool {
	if s == "" || s[0] < 'a' || s[0] > 'z' {
		return false
	}
	return all(s, func(c byte) bool { return c >= 'a' && c <= 'z' || isDigit(c) || c == '_' || c == '-' })
}

// Destinations is what answers may lead to; everything else is refused. The
// zero value allows nothing.
type Destinations struct {
	// Routes are paths, or with /* at the end everything below one:
	// "/wallet", "/market/*".
	Routes []string
	// Slash are the verbs of commands, with or without the slash.
	Slash []string
	// Modals are names.
	Modals []string
	// Hosts are those of external addresses: "example.com", "*.example.com"
	// for every host below it, "*" for every host.
	Hosts []string
}

// Empty reports whether nothing at all is allowed.
func (d Destinations) Empty() bool {
	return len(d.Routes)+len(d.Slash)+len(d.Modals)+len(d.Hosts) == 0
}

// Allows returns nil for a well-formed target that is among the destinations.
func (d Destinations) Allows(t Target) error {
	if err := t.Check(); err != nil {
		return err
	}
	var in bool
	what := t.Value
	switch t.Kind {
	case TargetRoute:
		what = routePath(t.Value)
		in = slices.ContainsFunc(d.Routes, func(r string) bool { return routeWithin(what, r) })
	case TargetSlash:
		what, _, _ = strings.Cut(t.Value, " ")
		in = slices.ContainsFunc(d.Slash, func(verb string) bool { return "/"+strings.TrimPrefix(verb, "/") == what })
	case TargetModal:
		in = slices.Contains(d.Modals, t.Value)
	case TargetExternal:
		a, _, _ := parseAddress(t.Value)
		what = a.host
		in = slices.ContainsFunc(d.Hosts, func(host string) bool { return hostWithin(a.host, host) })
		if in && a.port != "" {
			return fmt.Errorf("external: only port 443 may be opened, not %s", a.port)
		}
	}
	if !in {
		return fmt.Errorf("%s: %s is not among the allowed destinations", t.Kind, what)
	}
	return nil
}

// routeWithin reports whether a path, as routePath writes it, is an allowed
// one, or below one that ends in /*.
func routeWithin(path, allowed string) bool {
	if below, ok := strings.CutSuffix(allowed, "/*"); ok {
		return strings.HasPrefix(path, strings.TrimSuffix(routePath(below+"/"), "/")+"/")
	}
	return path == routePath(allowed)
}

// hostWithin is the rule by which pages open links.
func hostWithin(host, allowed string) bool {
	allowed = strings.ToLower(allowed)
	if allowed == "*" {
		return true
	}
	if below, ok := strings.CutPrefix(allowed, "*"); ok && strings.HasPrefix(below, ".") {
		return strings.HasSuffix(host, below) && len(host) > len(below)
	}
	return host == allowed
}

// Check reports the destinations that nothing could ever match, each with the
// place it stands at: routes[2].
func (d Destinations) Check() error {
	var v violations
	each := func(name string, values []string, bad func(string) string) {
		for i, value := range values {
			if why := bad(value); why != "" {
				v.add(fmt.Sprintf("%s[%d]", name, i), "%q: %s", clip(value, 80), why)
			}
		}
	}
	each("routes", d.Routes, func(s string) string {
		if s == "/*" {
			return ""
		}
		s = strings.TrimSuffix(s, "/*")
		if strings.ContainsAny(s, "?#*") {
			return "a path, without query and fragment; /* at its end means everything below"
		}
		_, reason := checkRoute(s)
		return reason
	})
	each("slash", d.Slash, func(s string) string {
		if _, reason := checkCommand("/" + strings.TrimPrefix(s, "/")); reason != "" {
			return reason
		}
		if strings.Contains(s, " ") {
			return "a verb alone"
		}
		return ""
	})
	each("modals", d.Modals, func(s string) string {
		if isModalName(s) {
			return ""
		}
		return badModalName
	})
	each("link_hosts", d.Hosts, func(s string) string {
		if s == "*" || isHostname(strings.TrimPrefix(s, "*.")) {
			return ""
		}
		return "a host, *. and a host, or *"
	})
	return v.err()
}

// String lists the destinations for the model and for logs, one kind a line:
// "route: /wallet, /market/*".
func (d Destinations) String() string {
	var lines []string
	for _, k := range []struct {
		kind   TargetKind
		values []string
	}{{TargetRoute, d.Routes}, {TargetSlash, d.Slash}, {TargetModal, d.Modals}, {TargetExternal, d.Hosts}} {
		if len(k.values) == 0 {
			continue
		}
		values := slices.Clone(k.values)
		for i, v := range values {
			switch k.kind {
			case TargetSlash:
				values[i] = "/" + strings.TrimPrefix(v, "/")
			case TargetExternal:
				values[i] = "https://" + v
			}
		}
		lines = append(lines, string(k.kind)+": "+strings.Join(values, ", "))
	}
	return strings.Join(lines, "\n")
}
