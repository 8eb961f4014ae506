package sqlite

import (
	"log/slog"
	"time"
)

// Synchronous is how far a commit goes before it counts as durable.
type Synchronous string

const (
	// Normal survives the death of the process at any moment. After a power
	// failure the last commits may be missing; the file stays sound.
	Normal Synchronous = "NORMAL"
	// Full survives power failures too and waits for the disk at each commit.
	Full Synchronous = "FULL"
)

// Options say where and how the store works. Zero values mean the defaults
// named here.
type Options struct {
	// Path is the database file. Its directory is created. Two files stand
	// beside it while it is open, and its lock.
	Path string
	// Synchronous is Normal unless set.
	Synchronous Synchronous
	// RetainLog is how long the events of ended messages are kept. Default 7
	// days; negative keeps them for ever.
	RetainLog time.Duration
	// MaxTailBytes bounds what memory holds of one running message. Default
	// 256 KiB.
	MaxTailBytes int
	// MaxBytes bounds the database file; beyond it writes end with
	// store.ErrFull. 0 leaves it to the disk.
	MaxBytes int64
	// BusyTimeout is how long a write waits for another program that has
	// locked the file. Default 5 s.
	BusyTimeout time.Duration
	// Logger gets what nobody waits for. Default slog.Default.
	Logger *slog.Logger

	// now is the clock; tests set it.
	now func() time.Time
	// maxJournal bounds the journal in bytes; tests set it.
	maxJournal int64
}

func (o Options) withDefaults() Options {
	if o.Synchronous == "" {
		o.Synchronous = Normal
	}
	if o.RetainLog == 0 {
		o.RetainLog = 7 * 24 * time.Hour
	}
	if o.MaxTailBytes <= 0 {
		o.MaxTailBytes = 256 << 10
	}
	if o.BusyTimeout <= 0 {
		o.BusyTimeout = 5 * time.Second
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.now == nil {
		o.now = time.Now
	}
	if o.maxJournal <= 0 {
		o.maxJournal = 64 << 20
	}
	return o
}
