package store

import (
	"context"
	"encoding/json"
	"time"
)

// AssetStatus is the life of a file.
type AssetStatus string

// The states of an Asset. Only a ready one is served.
const (
	AssetPending  AssetStatus = "pending"  // bytes are still arriving
	AssetScanning AssetStatus = "scanning" // the scan hook has it
	AssetReady    AssetStatus = "ready"
	AssetInfected AssetStatus = "infected"
	AssetFailed   AssetStatus = "error" // the scan or the writing failed
)

// Asset is one file. Its bytes are in a blob store under its id.
type Asset struct {
	// ID is "a_" and a UUIDv7.
	ID    string
	Owner Owner
	// Name is the file's name for people, without a path.
	Name string
	// Mime is what the bytes are, never what a client said.
	Mime string
	// Size is in bytes.
	Size int64
	// SHA256 is the hexadecimal digest of the bytes.
	SHA256 string
	Status AssetStatus
	// Origin is upload or generated.
	Origin    string
	CreatedAt time.Time
	// Conversation is where the file is used; empty for an upload that no
	// message has named yet.
	Conversation string
	// Facts are what was found out about the bytes (pages, pixels, sheets, the
	// first rows). Opaque here.
	Facts json.RawMessage
}

// Assets keeps what is known of files. Every method with an Owner answers
// ErrNotFound for another owner's id. The files of a deleted conversation
// cannot be found any more; they only remain for StaleAssets and DeleteAsset.
type Assets interface {
	// PutAsset creates or replaces the record. Its conversation stays once it
	// has one. ErrNotFound for a file that is another owner's, or went with its
	// conversation.
	PutAsset(ctx context.Context, a Asset) error
	Asset(ctx context.Context, o Owner, id string) (Asset, error)
	// AssetOf is Asset whoever owns it, for signed URLs.
	AssetOf(ctx context.Context, id string) (Asset, error)
	// AttachAsset says which conversation uses a file; the first one stays.
	// The conversation may be one that begins with the message.
	AttachAsset(ctx context.Context, o Owner, id, conversation string) error
	// DeleteAsset forgets the record.
	DeleteAsset(ctx context.Context, o Owner, id string) error
	// AssetBytes is the sum of the sizes of an owner's files.
	AssetBytes(ctx context.Context, o Owner) (int64, error)
	// StaleAssets lists files, of all owners, that no conversation uses and
	// that were created before a time, and those of deleted conversations
	// whenever they were created; oldest first, at most limit. One that
	// names a conversation which never began is used by none.
	StaleAssets(ctx context.Context, before time.Time, limit int) ([]Asset, error)
}
