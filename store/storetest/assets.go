package storetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/internal/id"
	"github.com/inlay-ui/inlay/store"
)

func file(o store.Owner, name string, size int64) store.Asset {
	return store.Asset{
		ID: id.New("a"), Owner: o, Name: name, Mime: "text/csv", Size: size, SHA256: "00ff", Status: store.AssetReady,
		Origin: "upload", CreatedAt: noon, Facts: json.RawMessage(`{"rows":3}`),
	}
}

func testAsset(t *testing.T, s store.Store) {
	ctx := t.Context()
	a := file(alice, "销售 2026.csv", 12)
	a.Status, a.Size, a.SHA256, a.Facts = store.AssetPending, 0, "", nil
	check := func() {
		t.Helper()
		for name, read := range map[string]func() (store.Asset, error){
			"Asset":   func() (store.Asset, error) { return s.Asset(ctx, alice, a.ID) },
			"AssetOf": func() (store.Asset, error) { return s.AssetOf(ctx, a.ID) },
		} {
			if got, err := read(); err != nil || !reflect.DeepEqual(got, a) {
				t.Fatalf("%s\n%+v, want\n%+v (%v)", name, got, a, err)
			}
		}
	}
	must(t, s.PutAsset(ctx, a))
	check()
	a.Status, a.Size, a.SHA256, a.Mime, a.Facts = store.AssetScanning, 12, "00ff", "text/plain", json.RawMessage(`{"rows":3}`)
	must(t, s.PutAsset(ctx, a))
	check()
	// It is attached while it is scanned; who ends the scan does not know.
	scanned := a
	must(t, s.CreateConversation(ctx, store.Conversation{ID: "c_1", Owner: alice}))
	must(t, s.AttachAsset(ctx, alice, a.ID, "c_1"))
	must(t, s.AttachAsset(ctx, alice, a.ID, "c_2"))
	scanned.Status = store.AssetReady
	must(t, s.PutAsset(ctx, scanned))
	a.Status, a.Conversation = store.AssetReady, "c_1"
	check()
	must(t, s.DeleteAsset(ctx, alice, a.ID))
	for _, err := range []error{
		s.DeleteAsset(ctx, alice, a.ID),
		s.AttachAsset(ctx, alice, a.ID, "c_1"),
		second(s.Asset(ctx, alice, a.ID)),
		second(s.AssetOf(ctx, a.ID)),
	} {
		want(t, err, store.ErrNotFound)
	}
}

func second[T any](_ T, err error) error { return err }

func testAssetOwners(t *testing.T, s store.Store) {
	ctx := t.Context()
	a := file(alice, "a.csv", 100)
	must(t, s.PutAsset(ctx, a))
	must(t, s.PutAsset(ctx, file(alice, "b.csv", 20)))
	must(t, s.PutAsset(ctx, file(bob, "c.csv", 3)))
	for _, o := range []store.Owner{bob, eve, {}} {
		theirs := a
		theirs.Owner = o
		for name, err := range map[string]error{
			"PutAsset":    s.PutAsset(ctx, theirs),
			"Asset":       second(s.Asset(ctx, o, a.ID)),
			"AttachAsset": s.AttachAsset(ctx, o, a.ID, "c_1"),
			"DeleteAsset": s.DeleteAsset(ctx, o, a.ID),
		} {
			if !errors.Is(err, store.ErrNotFound) {
				t.Errorf("%s of %+v: error %v, want %v", name, o, err, store.ErrNotFound)
			}
		}
	}
	for o, bytes := range map[store.Owner]int64{alice: 120, bob: 3, eve: 0} {
		if got, err := s.AssetBytes(ctx, o); err != nil || got != bytes {
			t.Errorf("%+v has %d bytes, want %d (%v)", o, got, bytes, err)
		}
	}
	if got, err := s.Asset(ctx, alice, a.ID); err != nil || !reflect.DeepEqual(got, a) {
		t.Errorf("changed: %+v (%v)", got, err)
	}
}

func testStaleAssets(t *testing.T, s store.Store) {
	ctx := t.Context()
	put := func(o store.Owner, name string, age time.Duration, conversation string) store.Asset {
		t.Helper()
		a := file(o, name, 10)
		a.CreatedAt = noon.Add(-age)
		must(t, s.PutAsset(ctx, a))
		if conversation != "" {
			must(t, s.AttachAsset(ctx, o, a.ID, conversation))
		}
		return a
	}
	put(alice, "old", 5*time.Hour, "")
	put(bob, "older", 6*time.Hour, "")
	put(alice, "young", 0, "")
	put(alice, "used", 5*time.Hour, "c_1")
	gone := put(alice, "deleted with its conversation", time.Minute, "c_2")
	put(alice, "begins", time.Minute, "c_3")
	never := put(alice, "of a turn that never began", 4*time.Hour, "c_never")
	for _, c := range []string{"c_1", "c_2", "c_3"} {
		must(t, s.Begin(ctx, turn(alice, c, "", "question")))
	}
	generated := file(alice, "generated", 10)
	generated.Conversation = "c_2"
	must(t, s.PutAsset(ctx, generated))
	check := func(limit int, names ...string) []store.Asset {
		t.Helper()
		list, err := s.StaleAssets(ctx, noon.Add(-time.Hour), limit)
		must(t, err)
		var got []string
		for _, a := range list {
			got = append(got, a.Name)
		}
		if !slices.Equal(got, names) {
			t.Fatalf("stale: %v, want %v", got, names)
		}
		return list
	}
	check(10, "older", "old", "of a turn that never began")
	check(2, "older", "old")
	// The next turn may take what a failed one left.
	must(t, s.AttachAsset(ctx, alice, never.ID, "c_1"))
	check(10, "older", "old")

	must(t, s.DeleteConversation(ctx, alice, "c_2"))
	list := check(10, "older", "old", "deleted with its conversation", "generated")
	if list[2].Owner != alice || list[2].ID != gone.ID || string(list[2].Facts) != string(gone.Facts) {
		t.Fatalf("file %+v is not whole", list[2])
	}
	// It cannot be found, changed or counted any more, only deleted.
	for name, err := range map[string]error{
		"Asset":       second(s.Asset(ctx, alice, gone.ID)),
		"AssetOf":     second(s.AssetOf(ctx, gone.ID)),
		"PutAsset":    s.PutAsset(ctx, gone),
		"AttachAsset": s.AttachAsset(ctx, alice, gone.ID, "c_1"),
	} {
		if !errors.Is(err, store.ErrNotFound) {
			t.Errorf("%s of a file that is gone: error %v, want %v", name, err, store.ErrNotFound)
		}
	}
	if got, err := s.AssetBytes(ctx, alice); err != nil || got != 50 {
		t.Errorf("%d bytes (%v)", got, err)
	}
	for _, a := range list {
		must(t, s.DeleteAsset(ctx, a.Owner, a.ID))
	}
	check(10)
	for i := range 3 {
		put(alice, fmt.Sprint("same age ", i), 2*time.Hour, "")
	}
	check(2, "same age 0", "same age 1")
}
