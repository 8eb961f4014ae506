// Package sqlite keeps an installation's log and records in one SQLite file.
// It is the default backend.
//
// It owns the shape of that file, the one writer that commits to it and the
// memory that live readers read from. It may import store, event and block.
// It must never know of models, tools or HTTP.
//
// # How the log is written
//
// One goroutine writes. It takes whatever is pending, for all messages at
// once, commits it in one transaction and only then shows it to readers. There
// is no timer: while one commit runs the next one's work gathers.
//
// A commit appends one row to the journal, which holds the frames of every
// message that had events. When a message's group ends, its frames are written
// once as a chunk, a row of its own, in the transaction of the terminal event.
// Journal rows older than the oldest frame that is in no chunk yet are
// deleted. Opening the file reads what the journal still holds into chunks, so
// that afterwards the journal is empty.
//
// Memory holds the newest events of messages whose group is open, up to
// Options.MaxTailBytes each. What exceeds it is written as a chunk earlier, and
// a reader that is so far behind reads it from the file.
//
// # One process
//
// A lock file next to the database makes sure that one process owns it.
// Therefore leases and signals live in memory, and only their epochs are
// stored: when the file is opened nobody can hold a lease.
package sqlite
