package markup

import "slices"

// names is a trie in the form of a sorted list: the names with a given prefix
// stand next to each other, so a node is a range of the list and one more byte
// narrows it. Copying a list costs less than building nodes for every text.
type names []string

// node is the range of the names that begin with the n bytes seen.
type node struct{ lo, hi, n int }

// add takes names into the list, each once, and sorts it.
func (ns names) add(list ...string) names {
	for _, name := range list {
		if validName(name) {
			ns = append(ns, name)
		}
	}
	slices.Sort(ns)
	return slices.Compact(ns)
}

func validName(s string) bool {
	for i := range len(s) {
		if !nameByte(s[i]) || i == 0 && !letter(s[i]) {
			return false
		}
	}
	return s != ""
}

func letter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

func digit(c byte) bool { return '0' <= c && c <= '9' }

func nameByte(c byte) bool {
	return letter(c) || digit(c) || c == '_' || c == '-' || c == '.'
}

// root is the node of the empty prefix.
func (ns names) root() node { return node{hi: len(ns)} }

// step goes on by one byte. It returns false, and at as it was, when no name
// goes on so.
func (ns names) step(at node, c byte) (node, bool) {
	n, lo, hi := at.n, at.lo, at.hi
	if hi-lo == 1 { // which is soon the case
		if name := ns[lo]; len(name) > n && name[n] == c {
			return node{lo, hi, n + 1}, true
		}
		return at, false
	}
	// The first name that goes on with c, or with more.
	for to := hi; lo < to; {
		if mid := (lo + to) / 2; len(ns[mid]) > n && ns[mid][n] >= c {
			to = mid
		} else {
			lo = mid + 1
		}
	}
	if lo == hi || ns[lo][n] != c {
		return at, false
	}
	// The first one behind it that goes on with more.
	for from := lo + 1; from < hi; {
		if mid := (from + hi) / 2; ns[mid][n] > c {
			hi = mid
		} else {
			from = mid + 1
		}
	}
	return node{lo, hi, n + 1}, true
}

// name returns the name that ends at a node; "" where none does. It sorts
// before the names it is a prefix of.
func (ns names) name(at node) string {
	if at.n > 0 && at.lo < at.hi && len(ns[at.lo]) == at.n {
		return ns[at.lo]
	}
	return ""
}

// has says whether a name is in the list.
func (ns names) has(name []byte) bool {
	at, ok := ns.root(), true
	for _, c := range name {
		if at, ok = ns.step(at, c); !ok {
			return false
		}
	}
	return ns.name(at) != ""
}

// mayBegin says whether p, and next behind it, begins with a name of the list,
// or is too short to tell. What is next is a byte, end or more. A < is in no
// name, so that asked behind each < this looks at every byte once at most.
func (ns names) mayBegin(p []byte, next int) bool {
	at := ns.root()
	for _, c := range p {
		to, ok := ns.step(at, c)
		if !ok {
			return ns.name(at) != ""
		}
		at = to
	}
	if next == more || ns.name(at) != "" {
		return true
	}
	if next == end {
		return false
	}
	_, ok := ns.step(at, byte(next))
	return ok
}
