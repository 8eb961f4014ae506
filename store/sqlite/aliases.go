package sqlite

import (
	"context"
	"errors"

	"github.com/inlay-ui/inlay/store"
)

const aliasColumns = "tenant, user, dialect, kind, name, id, grp, conversation"

func aliasFields(a *store.Alias) []any {
	return []any{&a.Owner.Tenant, &a.Owner.User, &a.Dialect, &a.Kind, &a.Foreign, &a.ID, &a.Group, &a.Conversation}
}

const aliasByName = "SELECT " + aliasColumns + " FROM aliases WHERE tenant = ? AND user = ? AND dialect = ? AND kind = ? AND name = ?"

// PutAlias implements store.Aliases.
func (s *Store) PutAlias(ctx context.Context, a store.Alias) (store.Alias, error) {
	if err := a.Validate(); err != nil {
		return store.Alias{}, err
	}
	var stored store.Alias
	err := s.write(ctx, func(t *tx) error {
		stored = store.Alias{}
		name := []any{a.Owner.Tenant, a.Owner.User, a.Dialect, a.Kind, a.Foreign}
		err := t.scan(aliasByName, name, aliasFields(&stored)...)
		if !errors.Is(err, store.ErrNotFound) {
			return wrap("alias "+a.Foreign, err)
		}
		var others int
		err = t.scan("SELECT count(*) FROM conversations WHERE id = ? AND (tenant <> ? OR user <> ?)",
			[]any{a.Conversation, a.Owner.Tenant, a.Owner.User}, &others)
		if err == nil && others > 0 {
			err = store.ErrNotFound
		}
		if err == nil {
			_, err = t.exec("INSERT INTO aliases ("+aliasColumns+") VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
				append(name, a.ID, a.Group, a.Conversation)...)
			stored = a
		}
		return wrap("store alias "+a.Foreign, err)
	})
	if err != nil {
		return store.Alias{}, err
	}
	return stored, nil
}

// AliasOf implements store.Aliases.
func (s *Store) AliasOf(ctx context.Context, o store.Owner, dialect, kind, foreign string) (store.Alias, error) {
	var a store.Alias
	err := s.scan(ctx, aliasByName, []any{o.Tenant, o.User, dialect, kind, foreign}, aliasFields(&a)...)
	if err != nil {
		return store.Alias{}, wrap("alias "+foreign, err)
	}
	return a, nil
}

// Aliases implements store.Aliases.
func (s *Store) Aliases(ctx context.Context, o store.Owner, dialect, conversation string) ([]store.Alias, error) {
	var list []store.Alias
	err := s.each(ctx, "SELECT "+aliasColumns+` FROM aliases
		WHERE conversation = ? AND tenant = ? AND user = ? AND dialect = ? ORDER BY n`,
		[]any{conversation, o.Tenant, o.User, dialect}, func(row scanner) error {
			var a store.Alias
			err := row.Scan(aliasFields(&a)...)
			list = append(list, a)
			return err
		})
	return list, wrap("aliases of conversation "+conversation, err)
}
