package sqlite

import (
	"context"
	"database/sql"
	"sync"
	"sync/atomic"
)

// checkpointer moves what commits left in the write-ahead log into the
// database, so that the writer need not wait for the disk. It copies while the
// writer goes on; therefore it never reaches the end of the log, and when the
// log has grown too long the writer itself copies the little that is left,
// after which the log starts anew.
type checkpointer struct {
	s *Store
	// nudge gets a word when enough was written.
	nudge chan struct{}
	// finish asks the writer to copy the rest.
	finish atomic.Bool
	// mu is held while one of them copies.
	mu sync.Mutex
}

const (
	// checkpointBytes is how much is written between two rounds.
	checkpointBytes = 4 << 20
	// walPages is the length of the log from which on it is to start anew.
	walPages = 4 << 10
	// walBytes is the length at which the writer waits for it, so that a slow
	// disk slows the writer down instead of filling up.
	walBytes = 64 << 20
)

func newCheckpointer(s *Store) *checkpointer {
	return &checkpointer{s: s, nudge: make(chan struct{}, 1)}
}

// wrote is told by the writer that so much was written.
func (c *checkpointer) wrote() {
	select {
	case c.nudge <- struct{}{}:
	default:
	}
}

// run copies until the store closes.
func (c *checkpointer) run() {
	defer c.s.upkeep.Done()
	for {
		select {
		case <-c.s.closing:
			return
		case <-c.nudge:
		}
		if err := c.round(); err != nil && !c.s.isClosed() {
			c.failed(err)
		}
	}
}

func (c *checkpointer) round() error {
	ctx := context.Background()
	conn, err := c.s.wdb.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	c.mu.Lock()
	defer c.mu.Unlock()
	pages, err := checkpoint(ctx, conn)
	if err != nil || pages < walPages {
		return err
	}
	// Once more, so that little is left to the writer.
	if _, err := checkpoint(ctx, conn); err != nil {
		return err
	}
	c.finish.Store(true)
	return nil
}

// finishWith copies the rest from the writer's goroutine.
func (c *checkpointer) finishWith(conn *sql.Conn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.finish.Store(false)
	if _, err := checkpoint(context.Background(), conn); err != nil {
		c.failed(err)
	}
}

func (c *checkpointer) failed(err error) {
	c.s.opt.Logger.Warn("checkpoint failed; the write-ahead log grows until one succeeds",
		"path", c.s.path, "error", err)
}

// checkpoint copies what it can without making anybody wait and returns the
// length of the log.
func checkpoint(ctx context.Context, conn *sql.Conn) (pages int64, err error) {
	var busy, copied int64
	err = conn.QueryRowContext(ctx, "PRAGMA wal_checkpoint(PASSIVE)").Scan(&busy, &pages, &copied)
	return pages, wrap("checkpoint", err)
}
