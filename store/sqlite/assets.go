package sqlite

import (
	"context"
	"time"

	"github.com/inlay-ui/inlay/store"
)

const assetColumns = "id, tenant, user, name, mime, size, sha256, status, origin, created, conversation, facts"

func scanAsset(row scanner) (store.Asset, error) {
	var a store.Asset
	var created int64
	err := row.Scan(&a.ID, &a.Owner.Tenant, &a.Owner.User, &a.Name, &a.Mime, &a.Size, &a.SHA256, &a.Status, &a.Origin,
		&created, &a.Conversation, (*[]byte)(&a.Facts))
	a.CreatedAt = fromNanos(created)
	return a, err
}

// PutAsset implements store.Assets.
func (s *Store) PutAsset(ctx context.Context, a store.Asset) error {
	if a.CreatedAt.IsZero() {
		a.CreatedAt = s.opt.now()
	}
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("INSERT INTO assets ("+assetColumns+`) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
			ON CONFLICT (id) DO UPDATE SET name = excluded.name, mime = excluded.mime, size = excluded.size,
				sha256 = excluded.sha256, status = excluded.status, origin = excluded.origin, created = excluded.created,
				conversation = CASE conversation WHEN '' THEN excluded.conversation ELSE conversation END,
				facts = excluded.facts
			WHERE tenant = excluded.tenant AND user = excluded.user AND gone = 0`,
			a.ID, a.Owner.Tenant, a.Owner.User, a.Name, a.Mime, a.Size, a.SHA256, a.Status, a.Origin,
			nanos(a.CreatedAt), a.Conversation, []byte(a.Facts))
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return wrap("store file "+a.ID, err)
	})
}

// Asset implements store.Assets.
func (s *Store) Asset(ctx context.Context, o store.Owner, id string) (store.Asset, error) {
	return s.asset(ctx, id, "id = ? AND gone = 0 AND tenant = ? AND user = ?", o.Tenant, o.User)
}

// AssetOf implements store.Assets.
func (s *Store) AssetOf(ctx context.Context, id string) (store.Asset, error) {
	return s.asset(ctx, id, "id = ? AND gone = 0")
}

func (s *Store) asset(ctx context.Context, id, where string, args ...any) (store.Asset, error) {
	var a store.Asset
	stmt, err := s.stmt(ctx, "SELECT "+assetColumns+" FROM assets WHERE "+where)
	if err == nil {
		a, err = scanAsset(stmt.QueryRowContext(ctx, append([]any{id}, args...)...))
	}
	return a, wrap("file "+id, s.rowErr(err))
}

// AttachAsset implements store.Assets.
func (s *Store) AttachAsset(ctx context.Context, o store.Owner, id, conversation string) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec(`UPDATE assets SET conversation =
				CASE WHEN EXISTS (SELECT 1 FROM conversations c WHERE c.id = assets.conversation) THEN conversation ELSE ? END
			WHERE id = ? AND tenant = ? AND user = ? AND gone = 0`, conversation, id, o.Tenant, o.User)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return wrap("attach file "+id, err)
	})
}

// DeleteAsset implements store.Assets.
func (s *Store) DeleteAsset(ctx context.Context, o store.Owner, id string) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("DELETE FROM assets WHERE id = ? AND tenant = ? AND user = ?", id, o.Tenant, o.User)
		if err == nil && n == 0 {
			err = store.ErrNotFound
		}
		return wrap("delete file "+id, err)
	})
}

// AssetBytes implements store.Assets.
func (s *Store) AssetBytes(ctx context.Context, o store.Owner) (int64, error) {
	var sum int64
	err := s.scan(ctx, "SELECT coalesce(sum(size), 0) FROM assets WHERE tenant = ? AND user = ? AND gone = 0",
		[]any{o.Tenant, o.User}, &sum)
	return sum, wrap("size of files", err)
}

// StaleAssets implements store.Assets.
func (s *Store) StaleAssets(ctx context.Context, before time.Time, limit int) ([]store.Asset, error) {
	var list []store.Asset
	err := s.each(ctx, "SELECT "+assetColumns+` FROM assets WHERE gone = 1 OR created < ?
			AND NOT EXISTS (SELECT 1 FROM conversations c WHERE c.id = assets.conversation)
		ORDER BY created, n LIMIT ?`, []any{nanos(before), max(limit, 0)}, func(row scanner) error {
		a, err := scanAsset(row)
		list = append(list, a)
		return err
	})
	return list, wrap("stale files", err)
}
