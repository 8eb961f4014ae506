package block

import (
	"strconv"
	"strings"
)

// address is an external address, as far as it is told apart by.
type address struct {
	host string // in small letters
	port string // "" for 443
	rest string // path and query, as they come
}

// parseAddress reads an external address: https, printable ASCII, a host of
// letters, digits, dots and hyphens, a port perhaps, and no user. It returns
// the rule it breaks and why; "" when it breaks none.
func parseAddress(s string) (a address, rule, reason string) {
	bad := func(why string) (address, string, string) { return address{}, "X1", why }
	if len(s) > MaxURL {
		return bad("longer than 2048 characters")
	}
	rest, ok := strings.CutPrefix(s, "https://")
	if !ok {
		return bad("begins with https://")
	}
	if !all(s, func(c byte) bool { return c > ' ' && c < 0x7F && c != '\\' }) {
		return bad(`a blank, a control character, \ or one that is not ASCII`)
	}
	rest, _, _ = strings.Cut(rest, "#")
	authority := rest
	if i := strings.IndexAny(rest, "/?"); i >= 0 {
		authority, a.rest = rest[:i], rest[i:]
	} else {
		a.rest = ""
	}
	if strings.Contains(authority, "@") {
		return bad("a user in the address")
	}
	host, port, hasPort := strings.Cut(authority, ":")
	if host == "" || !all(host, func(c byte) bool { return isAlnum(c) || c == '.' || c == '-' }) {
		return bad("a host of letters, digits, dots and hyphens")
	}
	if hasPort {
		n, err := strconv.ParseUint(port, 10, 16)
		if err != nil || !all(port, isDigit) {
			return bad("a port that is none")
		}
		if n != 443 {
			a.port = strconv.FormatUint(n, 10)
		}
	}
	a.host = strings.ToLower(host)
	return a, "", ""
}

// key is the address as a browser would write it, without the fragment.
func (a address) key() string {
	path, query, hasQuery := strings.Cut(a.rest, "?")
	s := a.host
	if a.port != "" {
		s += ":" + a.port
	}
	s += normalEscapes(withoutDots(path))
	if hasQuery && query != "" {
		s += "?" + normalEscapes(query)
	}
	return s
}

// withoutDots follows the . and .. of a path as browsers do, escaped ones
// included.
func withoutDots(path string) string {
	segments := strings.Split(strings.TrimPrefix(path, "/"), "/")
	kept := make([]string, 0, len(segments))
	for i, seg := range segments {
		last := i == len(segments)-1
		switch strings.ReplaceAll(strings.ToLower(seg), "%2e", ".") {
		case ".":
		case "..":
			if len(kept) > 0 {
				kept = kept[:len(kept)-1]
			}
		default:
			kept = append(kept, seg)
			continue
		}
		if last {
			kept = append(kept, "") // what remains is a directory
		}
	}
	return "/" + strings.Join(kept, "/")
}
