package block

import (
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"path"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// jsonl reads a file of vectors, one a line, that server and clients share.
func jsonl[T any](t testing.TB, name string) []T {
	t.Helper()
	raw, err := os.ReadFile("../testdata/" + name)
	if err != nil {
		t.Fatal(err)
	}
	var rows []T
	for line := range strings.Lines(string(raw)) {
		var row T
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		rows = append(rows, row)
	}
	return rows
}

// TestRules: each target breaks the rule, or none.
func TestRules(t *testing.T) {
	type row struct {
		Kind        TargetKind
		Value, Rule string
	}
	rows := append(jsonl[row](t, "targets.jsonl"),
		// What JSON cannot hold.
		row{TargetRoute, "/a\xff", "R1"}, row{TargetSlash, "/buy \xff", "S1"})
	broken := make(map[string]int)
	for _, tt := range rows {
		broken[tt.Rule]++
		err := Target{tt.Kind, tt.Value}.Check()
		var te *TargetError
		switch {
		case tt.Rule == "" && err != nil:
			t.Errorf("%s %.80q: %v, want none", tt.Kind, tt.Value, err)
		case tt.Rule != "" && !errors.As(err, &te):
			t.Errorf("%s %.80q: %v, want rule %s", tt.Kind, tt.Value, err, tt.Rule)
		case tt.Rule != "" && (te.Rule != tt.Rule || te.Kind != tt.Kind || !strings.Contains(err.Error(), tt.Rule)):
			t.Errorf("%s %.80q: %v, want rule %s", tt.Kind, tt.Value, err, tt.Rule)
		}
	}
	for _, rule := range []string{"R1", "R2", "R3", "R4", "R5", "R6", "R7", "R8", "R9", "S1", "M1", "X1", "D1"} {
		if broken[rule] == 0 {
			t.Errorf("nothing breaks rule %s", rule)
		}
	}
}

// TestKeys: the targets of a row are one destination, and no other row's.
func TestKeys(t *testing.T) {
	rows := jsonl[[]Target](t, "target-keys.jsonl")
	seen := make(map[string]int)
	for i, row := range rows {
		for _, target := range row {
			if err := target.Check(); err != nil {
				t.Errorf("%s %s: %v", target.Kind, target.Value, err)
			}
			key := target.Key()
			if key != row[0].Key() {
				t.Errorf("%s %s has the key %q, want %q", target.Kind, target.Value, key, row[0].Key())
			}
			if before, ok := seen[key]; ok && before != i {
				t.Errorf("%s %s is taken for %s", target.Kind, target.Value, rows[before][0].Value)
			}
			seen[key] = i
		}
	}
}

func TestDestinations(t *testing.T) {
	d := Destinations{
		Routes: []string{"/wallet", "/market/*", "/help/"},
		Slash:  []string{"/buy", "sell"},
		Modals: []string{"deposit"},
		Hosts:  []string{"minara.ai", "*.Example.com"},
	}
	if err := d.Check(); err != nil {
		t.Error(err)
	}
	tests := []struct {
		kind TargetKind
		ok   []string
		no   []string
	}{
		{TargetRoute,
			[]string{"/wallet", "/wallet/", "/wallet?tab=1", "/wallet#x", "/market/btc", "/market/btc/eth", "/market/a/?x", "/help"},
			[]string{"/wallet/deposit", "/Wallet", "/market", "/market/", "/markets/a", "/walletx", "/market/../wallet", "/helpme"}},
		{TargetSlash, []string{"/buy", "/buy 1", "/sell x"}, []string{"/buyer 1", "/swap", "/buy\t1"}},
		{TargetModal, []string{"deposit"}, []string{"withdraw", "Deposit"}},
		{TargetExternal,
			[]string{"https://minara.ai", "https://MINARA.ai:443/x", "https://a.example.com", "https://a.b.example.com/"},
			[]string{"https://www.minara.ai", "https://example.com", "https://minara.ai:8443/", "https://minara.ai./", "https://xexample.com", "https://.example.com", "http://minara.ai"}},
		{"mailto", nil, []string{"a@minara.ai"}},
	}
	for _, tt := range tests {
		for _, v := range tt.ok {
			if err := d.Allows(Target{tt.kind, v}); err != nil {
				t.Errorf("%s %s: %v", tt.kind, v, err)
			}
		}
		for _, v := range tt.no {
			if err := d.Allows(Target{tt.kind, v}); err == nil {
				t.Errorf("%s %s is allowed", tt.kind, v)
			}
		}
		for _, v := range append(tt.ok, tt.no...) {
			if (Destinations{}).Allows(Target{tt.kind, v}) == nil {
				t.Errorf("%s %s is allowed by nothing", tt.kind, v)
			}
		}
	}
	everywhere := Destinations{Routes: []string{"/*"}, Hosts: []string{"*"}}
	for _, target := range []Target{{TargetRoute, "/a"}, {TargetRoute, "/a/b?x=1"}, {TargetExternal, "https://x.example/"}} {
		if err := everywhere.Allows(target); err != nil {
			t.Error(err)
		}
	}
	if everywhere.Check() != nil || everywhere.Empty() || d.Empty() || !(Destinations{}).Empty() {
		t.Error("what is empty, or wrong, is not told")
	}
	const want = "route: /wallet, /market/*, /help/\nslash: /buy, /sell\nmodal: deposit\nexternal: https://minara.ai, https://*.Example.com"
	if got := d.String(); got != want {
		t.Errorf("told as\n%s\nwant\n%s", got, want)
	}
	if s := (Destinations{}).String(); s != "" {
		t.Errorf("nothing is told as %q", s)
	}
}

func TestDestinationsThatMatchNothing(t *testing.T) {
	for place, d := range map[string]Destinations{
		"routes[0]":     {Routes: []string{"wallet"}},
		"routes[1]":     {Routes: []string{"/a", "/a?x=1"}},
		"routes[2]":     {Routes: []string{"/a", "/*", "/a/*/b"}},
		"slash[0]":      {Slash: []string{"/buy BTC"}},
		"slash[1]":      {Slash: []string{"buy", "//buy"}},
		"modals[0]":     {Modals: []string{"De posit"}},
		"link_hosts[0]": {Hosts: []string{"https://minara.ai"}},
		"link_hosts[1]": {Hosts: []string{"*", "*."}},
	} {
		if err := d.Check(); err == nil || !strings.HasPrefix(err.Error(), place+": ") {
			t.Errorf("%+v: %v, want an error at %s", d, err, place)
		}
	}
}

// seeds adds the values of the vectors and of the rules' own rows.
func seeds(f *testing.F, kind string, more ...string) {
	f.Helper()
	for _, row := range jsonl[verdictRow](f, "feature-recommendation.jsonl") {
		if row.Kind == kind {
			if s, ok := row.text(); ok {
				f.Add(s)
			}
		}
	}
	for _, s := range more {
		f.Add(s)
	}
}

// noControls: what is accepted has nothing in it that is not seen.
func noControls(t *testing.T, s string) {
	t.Helper()
	if !utf8.ValidString(s) || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) || r == 0x200B || r == 0x2060 || r == 0xFEFF
	}) {
		t.Fatalf("%q has a control character", s)
	}
}

// FuzzRoute: a route that is accepted stays in the application, however often
// it is decoded and whatever is normalised on the way.
func FuzzRoute(f *testing.F) {
	seeds(f, "route", "/a?x=%2525252F", "/a/%e2%80%a4", "/a#/%2e%2e", "/a?'", "/a?next=%20/%5Cb")
	origin, err := url.Parse("https://app.example/start")
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target := Target{TargetRoute, s}
		key := target.Key() // of anything, without a panic
		if target.Check() != nil {
			if (Destinations{Routes: []string{"/*"}}).Allows(target) == nil {
				t.Fatalf("%q is refused and allowed", s)
			}
			return
		}
		if err := (Destinations{Routes: []string{"/*"}}).Allows(target); err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		if again := (Target{TargetRoute, strings.TrimPrefix(key, "route:")}).Key(); again != key {
			t.Fatalf("%q: the key %q has the key %q", s, key, again)
		}
		noControls(t, s)
		u, err := origin.Parse(s)
		if err != nil {
			t.Fatalf("%q is no address: %v", s, err)
		}
		if u.Scheme != "https" || u.Host != "app.example" || u.User != nil || u.Opaque != "" {
			t.Fatalf("%q leads to %s", s, u)
		}
		if written := u.EscapedPath(); !strings.HasPrefix(s, written) {
			t.Fatalf("%q: the path is changed to %q", s, written)
		}
		p := u.EscapedPath()
		for range 5 {
			p = unescape(p)
			for _, form := range []string{p, norm.NFKC.String(p)} {
				if strings.ContainsAny(form, `\?#%;`) || strings.Contains(form, "//") || strings.Count(form, "/") != strings.Count(u.EscapedPath(), "/") {
					t.Fatalf("%q comes to the path %q", s, form)
				}
				if clean := path.Clean(form); clean != form && clean+"/" != form {
					t.Fatalf("%q comes to the path %q, which is %q", s, form, clean)
				}
				noControls(t, form)
			}
		}
		for _, values := range u.Query() {
			for _, v := range values {
				for range 5 {
					noControls(t, v)
					if away, err := origin.Parse(strings.TrimLeft(v, " ")); err == nil && (away.Host != "app.example" || away.Scheme != "https") {
						t.Fatalf("%q has a value that leads to %s", s, away)
					}
					v = unescape(v)
				}
			}
		}
	})
}

// FuzzCommand: a command is one line of what is seen, and keeps its verb.
func FuzzCommand(f *testing.F) {
	seeds(f, "slash", "/buy $1k BTC", "/buy \u200d", "/buy\n1")
	f.Fuzz(func(t *testing.T, s string) {
		target := Target{TargetSlash, s}
		key := target.Key()
		if target.Check() != nil {
			return
		}
		noControls(t, s)
		if utf8.RuneCountInString(s) > MaxCommand {
			t.Fatalf("%q is too long", s)
		}
		verb, _, _ := strings.Cut(s, " ")
		if k := strings.TrimPrefix(key, "slash:"); k != verb && !strings.HasPrefix(k, verb+" ") {
			t.Fatalf("%q has the key %q", s, key)
		}
		if again := (Target{TargetSlash, strings.TrimPrefix(key, "slash:")}).Key(); again != key {
			t.Fatalf("%q: the key %q has the key %q", s, key, again)
		}
		if more := (Target{TargetSlash, s + " 12.5%"}).Key(); more != key {
			t.Fatalf("%q: with an amount the key is %q", s, more)
		}
		if err := (Destinations{Slash: []string{verb}}).Allows(target); err != nil {
			t.Fatal(err)
		}
	})
}

// FuzzAddress: an address that is accepted has the host that other programs
// read in it, and no user.
func FuzzAddress(f *testing.F) {
	seeds(f, "external", "https://a.example:443/%2e%2e/b?c#d", "https://a.example:0/", "https://a@b", "https://a.example/../..")
	f.Fuzz(func(t *testing.T, s string) {
		target := Target{TargetExternal, s}
		key := target.Key()
		if target.Check() != nil {
			if (Destinations{Hosts: []string{"*"}}).Allows(target) == nil {
				t.Fatalf("%q is refused and allowed", s)
			}
			return
		}
		noControls(t, s)
		u, err := url.Parse(s)
		if err != nil {
			// net/url is stricter about escapes than browsers are.
			if u, err = url.Parse(strings.ReplaceAll(s, "%", "")); err != nil {
				t.Fatalf("%q is no address: %v", s, err)
			}
		}
		if u.Scheme != "https" || u.User != nil || u.Hostname() == "" {
			t.Fatalf("%q is %#v", s, u)
		}
		if again := (Target{TargetExternal, "https://" + strings.TrimPrefix(key, "external:")}).Key(); again != key {
			t.Fatalf("%q: the key %q has the key %q", s, key, again)
		}
		port := u.Port()
		if ok := (Destinations{Hosts: []string{u.Hostname()}}).Allows(target) == nil; ok != (port == "" || strings.TrimLeft(port, "0") == "443") {
			t.Fatalf("%q at port %q is allowed: %v", s, port, ok)
		}
	})
}
