package memory

import (
	"cmp"
	"context"
	"slices"

	"github.com/inlay-ui/inlay/store"
)

type aliasKey struct {
	owner                  store.Owner
	dialect, kind, foreign string
}

type alias struct {
	store.Alias
	n int64
}

// PutAlias implements store.Aliases.
func (s *Store) PutAlias(ctx context.Context, a store.Alias) (store.Alias, error) {
	if err := a.Validate(); err != nil {
		return store.Alias{}, err
	}
	if err := s.lock(ctx); err != nil {
		return store.Alias{}, err
	}
	defer s.mu.Unlock()
	k := aliasKey{a.Owner, a.Dialect, a.Kind, a.Foreign}
	if known, ok := s.aliases[k]; ok {
		return known.Alias, nil
	}
	if c := s.conversations[a.Conversation]; c != nil && c.Owner != a.Owner {
		return store.Alias{}, notFound("conversation", a.Conversation)
	}
	s.order++
	s.aliases[k] = alias{a, s.order}
	return a, nil
}

// AliasOf implements store.Aliases.
func (s *Store) AliasOf(ctx context.Context, o store.Owner, dialect, kind, foreign string) (store.Alias, error) {
	if err := s.lock(ctx); err != nil {
		return store.Alias{}, err
	}
	defer s.mu.Unlock()
	a, ok := s.aliases[aliasKey{o, dialect, kind, foreign}]
	if !ok {
		return store.Alias{}, notFound("alias", foreign)
	}
	return a.Alias, nil
}

// Aliases implements store.Aliases.
func (s *Store) Aliases(ctx context.Context, o store.Owner, dialect, conversation string) ([]store.Alias, error) {
	if err := s.lock(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var found []alias
	for k, a := range s.aliases {
		if k.owner == o && k.dialect == dialect && a.Conversation == conversation {
			found = append(found, a)
		}
	}
	slices.SortFunc(found, func(a, b alias) int { return cmp.Compare(a.n, b.n) })
	var list []store.Alias
	for _, a := range found {
		list = append(list, a.Alias)
	}
	return list, nil
}
