package store

import (
	"context"
	"errors"
	"fmt"
)

// The kinds of Alias: what a foreign name stands for.
const (
	AliasThread  = "thread"  // a conversation
	AliasRun     = "run"     // one group of a message
	AliasMessage = "message" // a message
)

// MaxForeign is the longest foreign name, in bytes.
const MaxForeign = 256

// Alias is the name that a client of a foreign dialect gave to something of its
// owner's. Clients there choose the ids of threads, runs and messages; here they
// are names in their owner's own book, and never ids.
type Alias struct {
	Owner   Owner
	Dialect string
	// Kind is one of the Alias constants.
	Kind string
	// Foreign is the client's name, 1 to MaxForeign bytes. One owner has it once
	// per dialect and kind, whatever the conversation.
	Foreign string
	// ID is the conversation or the message, Group the number of a run's group.
	ID    string
	Group int
	// Conversation is where the named thing is: the alias goes when that goes. It
	// may be one that has not begun yet.
	Conversation string
}

// Validate says what keeps an alias from being stored.
func (a Alias) Validate() error {
	switch {
	case a.Kind != AliasThread && a.Kind != AliasRun && a.Kind != AliasMessage:
		return fmt.Errorf("alias: unknown kind %q", a.Kind)
	case a.Foreign == "" || len(a.Foreign) > MaxForeign:
		return fmt.Errorf("alias: a foreign name has 1 to %d bytes, this one %d", MaxForeign, len(a.Foreign))
	case a.Dialect == "" || a.ID == "" || a.Conversation == "":
		return errors.New("alias: dialect, id and conversation are required")
	}
	return nil
}

// Aliases keeps the names that foreign clients gave. Another owner's name is
// another name.
type Aliases interface {
	// PutAlias stores an alias unless its foreign name is known, and returns what
	// is stored: of many at once one wins, and all are told which. ErrNotFound when
	// the conversation is another owner's.
	PutAlias(ctx context.Context, a Alias) (Alias, error)
	// AliasOf returns what a foreign name stands for.
	AliasOf(ctx context.Context, o Owner, dialect, kind, foreign string) (Alias, error)
	// Aliases returns the names that a dialect has in a conversation, of all
	// kinds, in the order they were stored.
	Aliases(ctx context.Context, o Owner, dialect, conversation string) ([]Alias, error)
}
