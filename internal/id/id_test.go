package id

import (
	"sort"
	"strings"
	"testing"
)

func TestNew(t *testing.T) {
	var ids []string
	seen := map[string]bool{}
	for range 1000 {
		s := New("m")
		if !strings.HasPrefix(s, "m_") || len(s) != 2+36 || seen[s] {
			t.Fatalf("%q", s)
		}
		seen[s] = true
		ids = append(ids, s)
	}
	if !sort.StringsAreSorted(ids) {
		t.Error("ids do not sort by their time")
	}
}
