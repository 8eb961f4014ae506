package storetest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/inlay-ui/inlay/store"
)

func thread(o store.Owner, foreign, conversation string) store.Alias {
	return store.Alias{Owner: o, Dialect: "sample", Kind: store.AliasThread, Foreign: foreign, ID: conversation, Conversation: conversation}
}

func testAlias(t *testing.T, s store.Store) {
	ctx := t.Context()
	put := func(a store.Alias) store.Alias {
		t.Helper()
		stored, err := s.PutAlias(ctx, a)
		must(t, err)
		return stored
	}
	of := func(a store.Alias) (store.Alias, error) { return s.AliasOf(ctx, a.Owner, a.Dialect, a.Kind, a.Foreign) }

	// A thread may be named before its conversation begins.
	first := thread(alice, "线程 1", "c_1")
	if got := put(first); got != first {
		t.Fatalf("stored %+v, want %+v", got, first)
	}
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: alice}))
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_bob", Owner: bob}))

	run := store.Alias{Owner: alice, Dialect: "sample", Kind: store.AliasRun, Foreign: "r", ID: "m_1", Group: 2, Conversation: "c_1"}
	msg := store.Alias{Owner: alice, Dialect: "sample", Kind: store.AliasMessage, Foreign: "r", ID: "m_2", Conversation: "c_1"}
	other := first
	other.Dialect, other.ID, other.Conversation = "other", "c_9", "c_9"
	theirs := thread(bob, first.Foreign, "c_bob")
	for _, a := range []store.Alias{run, msg, other, theirs} {
		if got := put(a); got != a {
			t.Fatalf("stored %+v, want %+v", got, a)
		}
	}
	// A known name keeps what it stands for.
	again := thread(alice, first.Foreign, "c_2")
	if got := put(again); got != first {
		t.Fatalf("named again: %+v, want %+v", got, first)
	}
	for _, a := range []store.Alias{first, run, msg, other, theirs} {
		if got, err := of(a); err != nil || got != a {
			t.Errorf("AliasOf: %+v, want %+v (%v)", got, a, err)
		}
	}
	if list, err := s.Aliases(ctx, alice, "sample", "c_1"); err != nil || !slices.Equal(list, []store.Alias{first, run, msg}) {
		t.Errorf("aliases %+v (%v)", list, err)
	}

	// Nobody names another's conversation, and nobody finds another's names.
	_, err := s.PutAlias(ctx, thread(bob, "mine", "c_1"))
	want(t, err, store.ErrNotFound)
	for _, o := range []store.Owner{bob, eve, {}} {
		a := run
		a.Owner = o
		if _, err := of(a); !errors.Is(err, store.ErrNotFound) {
			t.Errorf("AliasOf of %+v: error %v", o, err)
		}
		if list, err := s.Aliases(ctx, o, "sample", "c_1"); err != nil || len(list) > 0 {
			t.Errorf("aliases of %+v: %+v (%v)", o, list, err)
		}
	}

	longest := thread(alice, strings.Repeat("x", store.MaxForeign), "c_1")
	if got := put(longest); got != longest {
		t.Errorf("stored %+v", got)
	}
	bad := []store.Alias{thread(alice, "", "c_1"), thread(alice, longest.Foreign+"x", "c_1"), thread(alice, "y", ""), run, run}
	bad[3].Kind, bad[4].Dialect = "tool", ""
	for _, a := range bad {
		if _, err := s.PutAlias(ctx, a); err == nil {
			t.Errorf("stored %+v", a)
		}
	}
}

func testAliasRace(t *testing.T, s store.Store) {
	const crowd = 20
	got := make([]store.Alias, crowd)
	errs := make([]error, crowd)
	begin := make(chan struct{})
	var wg sync.WaitGroup
	for i := range crowd {
		wg.Go(func() {
			<-begin
			got[i], errs[i] = s.PutAlias(t.Context(), thread(alice, "thread", fmt.Sprint("c_", i)))
		})
	}
	close(begin)
	wg.Wait()
	won, err := s.AliasOf(t.Context(), alice, "sample", store.AliasThread, "thread")
	must(t, err)
	for i := range crowd {
		if errs[i] != nil || got[i] != won {
			t.Errorf("%d was told %+v, stored is %+v (%v)", i, got[i], won, errs[i])
		}
	}
}

func testAliasDelete(t *testing.T, s store.Store) {
	ctx := t.Context()
	for _, c := range []string{"c_1", "c_2"} {
		must(t, s.Begin(ctx, turn(alice, c, "", "question")))
		_, err := s.PutAlias(ctx, thread(alice, "of "+c, c))
		must(t, err)
	}
	must(t, s.DeleteConversation(ctx, alice, "c_1"))
	_, err := s.AliasOf(ctx, alice, "sample", store.AliasThread, "of c_1")
	want(t, err, store.ErrNotFound)
	if list, err := s.Aliases(ctx, alice, "sample", "c_1"); err != nil || len(list) > 0 {
		t.Errorf("aliases of the deleted: %+v (%v)", list, err)
	}
	if a, err := s.AliasOf(ctx, alice, "sample", store.AliasThread, "of c_2"); err != nil || a.ID != "c_2" {
		t.Errorf("alias of the other: %+v (%v)", a, err)
	}
	// The name is free again.
	if a, err := s.PutAlias(ctx, thread(alice, "of c_1", "c_3")); err != nil || a.ID != "c_3" {
		t.Errorf("named anew: %+v (%v)", a, err)
	}
}
