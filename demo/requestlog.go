package demo

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"time"
)

// The bounds of the request log.
const (
	keepRequests = 100_000
	keepFor      = 24 * time.Hour
	waiting      = 4096 // requests not yet written
	batch        = 500
	writeEvery   = time.Second
	pruneEvery   = time.Minute
)

// logTables is what the log is kept in, and the view that is asked about it.
const logTables = `
CREATE TABLE IF NOT EXISTS http_requests (id INTEGER PRIMARY KEY, at INTEGER NOT NULL, method TEXT NOT NULL, route TEXT NOT NULL,
	status INTEGER NOT NULL, ms REAL NOT NULL);
CREATE INDEX IF NOT EXISTS http_requests_at ON http_requests (at);
CREATE VIEW IF NOT EXISTS requests AS
	SELECT strftime('%Y-%m-%dT%H:%M:%fZ', at / 1000.0, 'unixepoch') AS time, method, route, status, ms FROM http_requests;`

// RequestLog keeps the server's latest requests: the last 24 hours, at most
// 100,000 of them.
type RequestLog struct {
	db      *sql.DB
	in      chan request
	flushes chan chan error
	done    chan struct{}
	ended   chan struct{}
	once    sync.Once
	err     error // of the last write; read after ended
	dropped atomic.Int64
}

type request struct {
	at            int64
	method, route string
	status        int
	ms            float64
}

func newRequestLog(db *sql.DB) *RequestLog {
	l := &RequestLog{
		db: db, in: make(chan request, waiting), flushes: make(chan chan error),
		done: make(chan struct{}), ended: make(chan struct{}),
	}
	go l.run()
	return l
}

// Record notes one request. It never waits: when more come than can be
// written, some are left out and counted. route is the pattern, not the path,
// so that no ids are kept.
func (l *RequestLog) Record(ts time.Time, method, route string, status int, ms float64) {
	select {
	case l.in <- request{ts.UnixMilli(), method, route, status, ms}:
	default:
		l.dropped.Add(1)
	}
}

// Dropped returns how many requests were left out.
func (l *RequestLog) Dropped() int64 { return l.dropped.Load() }

// Flush writes what was recorded before the call.
func (l *RequestLog) Flush(ctx context.Context) error {
	answer := make(chan error, 1)
	select {
	case l.flushes <- answer:
	case <-l.ended:
		return l.err
	case <-ctx.Done():
		return ctx.Err()
	}
	select {
	case err := <-answer:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (l *RequestLog) close() error {
	l.once.Do(func() { close(l.done) })
	<-l.ended
	return l.err
}

func (l *RequestLog) run() {
	defer close(l.ended)
	tick := time.NewTicker(writeEvery)
	defer tick.Stop()
	var held []request
	var pruned time.Time
	write := func() error {
		err := l.write(held)
		held = held[:0]
		if now := time.Now(); err == nil && now.Sub(pruned) > pruneEvery {
			pruned = now
			err = l.prune(now)
		}
		l.err = err
		return err
	}
	drain := func() {
		for {
			select {
			case r := <-l.in:
				held = append(held, r)
			default:
				return
			}
		}
	}
	for {
		select {
		case r := <-l.in:
			if held = append(held, r); len(held) >= batch {
				_ = write() // kept in l.err; the next flush tells
			}
		case <-tick.C:
			if len(held) > 0 {
				_ = write()
			}
		case answer := <-l.flushes:
			drain()
			answer <- write()
		case <-l.done:
			drain()
			_ = write()
			return
		}
	}
}

func (l *RequestLog) write(rs []request) error {
	if len(rs) == 0 {
		return nil
	}
	tx, err := l.db.Begin()
	if err != nil {
		return fmt.Errorf("write request log: %w", err)
	}
	defer tx.Rollback()
	st, err := tx.Prepare("INSERT INTO http_requests (at, method, route, status, ms) VALUES (?, ?, ?, ?, ?)")
	if err != nil {
		return fmt.Errorf("write request log: %w", err)
	}
	defer st.Close()
	for _, r := range rs {
		if _, err := st.Exec(r.at, r.method, r.route, r.status, r.ms); err != nil {
			return fmt.Errorf("write request log: %w", err)
		}
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("write request log: %w", err)
	}
	return nil
}

func (l *RequestLog) prune(now time.Time) error {
	_, err := l.db.Exec(`DELETE FROM http_requests WHERE at < ? OR id <= (SELECT max(id) FROM http_requests) - ?`,
		now.Add(-keepFor).UnixMilli(), keepRequests)
	if err != nil {
		return fmt.Errorf("prune request log: %w", err)
	}
	return nil
}
