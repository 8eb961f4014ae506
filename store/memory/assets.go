package memory

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/inlay-ui/inlay/store"
)

// asset is gone when its conversation was deleted.
type asset struct {
	store.Asset
	n    int64
	gone bool
}

func (s *Store) assetOf(o store.Owner, id string) (*asset, error) {
	if a := s.assets[id]; a != nil && a.Owner == o && !a.gone {
		return a, nil
	}
	return nil, notFound("file", id)
}

// PutAsset implements store.Assets.
func (s *Store) PutAsset(ctx context.Context, a store.Asset) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if a.CreatedAt.IsZero() {
		a.CreatedAt = s.now()
	}
	a.CreatedAt = a.CreatedAt.UTC()
	if s.assets[a.ID] == nil {
		s.order++
		s.assets[a.ID] = &asset{Asset: a, n: s.order}
		return nil
	}
	old, err := s.assetOf(a.Owner, a.ID)
	if err != nil {
		return err
	}
	a.Conversation = cmp.Or(old.Conversation, a.Conversation)
	old.Asset = a
	return nil
}

// Asset implements store.Assets.
func (s *Store) Asset(ctx context.Context, o store.Owner, id string) (store.Asset, error) {
	if err := s.lock(ctx); err != nil {
		return store.Asset{}, err
	}
	defer s.mu.Unlock()
	a, err := s.assetOf(o, id)
	if err != nil {
		return store.Asset{}, err
	}
	return a.Asset, nil
}

// AssetOf implements store.Assets.
func (s *Store) AssetOf(ctx context.Context, id string) (store.Asset, error) {
	if err := s.lock(ctx); err != nil {
		return store.Asset{}, err
	}
	defer s.mu.Unlock()
	if a := s.assets[id]; a != nil && !a.gone {
		return a.Asset, nil
	}
	return store.Asset{}, notFound("file", id)
}

// AttachAsset implements store.Assets.
func (s *Store) AttachAsset(ctx context.Context, o store.Owner, id, conversation string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	a, err := s.assetOf(o, id)
	if err != nil {
		return err
	}
	if s.conversations[a.Conversation] == nil {
		a.Conversation = conversation
	}
	return nil
}

// DeleteAsset implements store.Assets.
func (s *Store) DeleteAsset(ctx context.Context, o store.Owner, id string) error {
	if err := s.lock(ctx); err != nil {
		return err
	}
	defer s.mu.Unlock()
	if a := s.assets[id]; a == nil || a.Owner != o {
		return notFound("file", id)
	}
	delete(s.assets, id)
	return nil
}

// AssetBytes implements store.Assets.
func (s *Store) AssetBytes(ctx context.Context, o store.Owner) (int64, error) {
	if err := s.lock(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	var sum int64
	for _, a := range s.assets {
		if a.Owner == o && !a.gone {
			sum += a.Size
		}
	}
	return sum, nil
}

// StaleAssets implements store.Assets.
func (s *Store) StaleAssets(ctx context.Context, before time.Time, limit int) ([]store.Asset, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var stale []*asset
	for _, a := range s.assets {
		if a.gone || a.CreatedAt.Before(before) && s.conversations[a.Conversation] == nil {
			stale = append(stale, a)
		}
	}
	slices.SortFunc(stale, func(a, b *asset) int {
		return cmp.Or(a.CreatedAt.Compare(b.CreatedAt), cmp.Compare(a.n, b.n))
	})
	var list []store.Asset
	for _, a := range stale[:min(len(stale), max(limit, 0))] {
		list = append(list, a.Asset)
	}
	return list, nil
}
