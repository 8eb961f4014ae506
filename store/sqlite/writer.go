package sqlite

import (
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/store"
)

// op is one thing that waits to be committed: events of one log, or a function
// that writes records.
type op struct {
	// An append has a log, its lease and its events with their frames.
	log    *messageLog
	lease  store.Lease
	evs    []event.Event
	frames []byte
	ends   bool // the last event is terminal

	// Any other write is a function.
	fn func(*tx) error

	err  error
	done chan struct{}
}

var opPool = sync.Pool{New: func() any { return &op{done: make(chan struct{}, 1)} }}

func newOp() *op { return opPool.Get().(*op) }

func (o *op) free() {
	frames, done := o.frames, o.done
	if cap(frames) > 64<<10 {
		frames = nil
	}
	*o = op{frames: frames[:0], done: done}
	opPool.Put(o)
}

// maxBatch bounds the frames of one commit.
const maxBatch = 8 << 20

// writer commits what the store's callers hand in. Its goroutine is the only
// one that writes to the database and the only one that changes logs.
type writer struct {
	s    *Store
	conn *sql.Conn
	// stmts are the prepared statements of conn, by their text.
	stmts map[string]*sql.Stmt

	mu      sync.Mutex
	pending []*op
	closed  bool
	wake    chan struct{}
	stopped chan struct{}

	// What follows belongs to the goroutine.
	tx      tx
	journal journal
	epoch   uint64 // the last one given to a lease
	written int    // bytes of this batch
	recent  int    // bytes since the checkpointer was told
	// last and began are the last log that was appended to, and when its
	// commit began.
	last  *messageLog
	began time.Time
	// unfinished is the length of the write-ahead log, roughly.
	unfinished int
	touched    []*messageLog // logs with appends in this batch
	buf        []byte        // the journal row
	chunk      []byte        // frames of a chunk
}

func newWriter(s *Store, conn *sql.Conn) *writer {
	w := &writer{
		s: s, conn: conn,
		stmts:   map[string]*sql.Stmt{},
		wake:    make(chan struct{}, 1),
		stopped: make(chan struct{}),
	}
	w.tx.w = w
	return w
}

// do hands in an op and waits until it is committed or refused.
func (w *writer) do(o *op) error {
	w.mu.Lock()
	if w.closed {
		w.mu.Unlock()
		o.free()
		return store.ErrClosed
	}
	w.pending = append(w.pending, o)
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-o.done
	err := o.err
	o.free()
	return err
}

// write runs fn in the writer's next transaction. What fn changes in memory it
// must register with tx.onUndo or leave to tx.onCommit.
func (s *Store) write(ctx context.Context, fn func(*tx) error) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	o := newOp()
	o.fn = fn
	return s.w.do(o)
}

func (w *writer) run() {
	defer close(w.stopped)
	var batch []*op
	for range w.wake {
		for {
			var closed bool
			batch, closed = w.take(batch[:0])
			if len(batch) == 0 {
				if closed {
					return
				}
				break
			}
			if wait := w.crowd(batch); wait > 0 {
				time.Sleep(wait)
				batch, _ = w.take(batch)
			}
			w.commit(batch)
			w.checkpoint()
		}
	}
}

// gatherTime is how far the commits of a crowd are apart at least. A commit
// costs many times what one more event in it does.
const gatherTime = 500 * time.Microsecond

// crowd returns how long to wait for more events before a batch is committed:
// a little when different messages are written to in quick succession, not at
// all when one writes alone or somebody waits for a record.
func (w *writer) crowd(batch []*op) time.Duration {
	last, since := w.last, time.Since(w.began)
	w.last, w.began = batch[len(batch)-1].log, time.Now()
	for _, o := range batch {
		if o.log == nil {
			return 0
		}
	}
	if last == nil || last == batch[0].log || since >= gatherTime {
		return 0
	}
	wait := gatherTime - since
	w.began = w.began.Add(wait)
	return wait
}

// take moves pending ops to batch.
func (w *writer) take(batch []*op) ([]*op, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	n, size := 0, 0
	for n < len(w.pending) && size < maxBatch {
		size += len(w.pending[n].frames)
		n++
	}
	batch = append(batch, w.pending[:n]...)
	rest := copy(w.pending, w.pending[n:])
	clear(w.pending[rest:])
	w.pending = w.pending[:rest]
	return batch, w.closed
}

// close ends the goroutine once everything handed in is committed.
func (w *writer) close() {
	w.mu.Lock()
	w.closed = true
	w.mu.Unlock()
	select {
	case w.wake <- struct{}{}:
	default:
	}
	<-w.stopped
}

// commit makes a batch durable, then shows it to readers, then tells the
// callers. When it fails nothing of the batch is stored or seen.
func (w *writer) commit(batch []*op) {
	w.tx.reset()
	row, err := w.attempt(batch)
	if err != nil {
		w.rollback()
		w.tx.undo(0)
		for _, o := range batch {
			if o.err == nil {
				o.err = err
			}
		}
	} else {
		w.publish(batch, row)
	}
	for _, l := range w.touched {
		clear(l.staged)
		l.staged = l.staged[:0]
		l.chunked = false
	}
	clear(w.touched)
	w.touched = w.touched[:0]
	for _, o := range batch {
		o.done <- struct{}{}
	}
}

// pageBytes is what a commit writes at least, besides its frames.
const pageBytes = 4 << 10

// checkpoint sees to it that what was committed gets out of the write-ahead
// log.
func (w *writer) checkpoint() {
	w.written += pageBytes
	w.unfinished += w.written
	if w.recent += w.written; w.recent > checkpointBytes {
		w.recent = 0
		w.s.ckpt.wrote()
	}
	w.written = 0
	if w.s.ckpt.finish.Load() || w.unfinished > walBytes {
		w.unfinished = 0
		w.s.ckpt.finishWith(w.conn)
	}
}

// attempt runs a batch as one transaction and returns its journal row.
func (w *writer) attempt(batch []*op) (journalRow, error) {
	var row journalRow
	if _, err := w.tx.exec("BEGIN IMMEDIATE"); err != nil {
		return row, wrap("begin", err)
	}
	for _, o := range batch {
		var err error
		if o.log != nil {
			err = w.stage(o)
		} else {
			err = w.call(o)
		}
		if err != nil {
			return row, err
		}
	}
	if err := w.spill(); err != nil {
		return row, err
	}
	w.buf = w.buf[:0]
	for _, l := range w.touched {
		if l.chunked {
			continue
		}
		for _, o := range l.staged {
			w.buf = binary.AppendUvarint(w.buf, uint64(l.id))
			w.buf = binary.AppendUvarint(w.buf, uint64(len(o.frames)))
			w.buf = append(w.buf, o.frames...)
		}
	}
	if len(w.buf) > 0 {
		row = journalRow{id: w.journal.next, size: int64(len(w.buf))}
		w.written += len(w.buf)
		if _, err := w.tx.exec("INSERT INTO journal (id, frames) VALUES (?, ?)", row.id, w.buf); err != nil {
			return row, wrap("append to the journal", err)
		}
	}
	if upto, ok := w.journal.prunable(); ok {
		if _, err := w.tx.exec("DELETE FROM journal WHERE id <= ?", upto); err != nil {
			return row, wrap("prune the journal", err)
		}
		w.tx.onCommit(func() { w.journal.pruned(upto) })
	}
	if _, err := w.tx.exec("COMMIT"); err != nil {
		return row, wrap("commit", err)
	}
	return row, nil
}

// stage checks an append against its log as it will be after the ops before
// it. A refusal is the op's own; only a failed statement fails the batch.
func (w *writer) stage(o *op) error {
	l := o.log
	switch {
	case l.deleted || l.epoch != o.lease.Epoch || l.owner != o.lease.Owner || l.group != o.lease.Group:
		o.err = errStale(o.lease)
		return nil
	case l.ended:
		o.err = errSequence(o.lease.Msg, "the group has its terminal event")
		return nil
	case o.evs[0].Seq != l.seq+1:
		o.err = errSequence(o.lease.Msg, "seq %d after %d", o.evs[0].Seq, l.seq)
		return nil
	}
	w.tx.undoes = append(w.tx.undoes, undo{log: l, seq: l.seq, at: l.at})
	last := o.evs[len(o.evs)-1]
	l.seq, l.at = last.Seq, last.At
	if len(l.staged) == 0 {
		w.touched = append(w.touched, l)
	}
	l.staged = append(l.staged, o)
	if !o.ends {
		return nil
	}
	l.ended = true
	if err := w.writeChunk(l); err != nil {
		return err
	}
	_, err := w.tx.exec("UPDATE logs SET open = 0, last_seq = ?, last_at = ?, ended = ? WHERE id = ?",
		l.seq, l.at, w.s.opt.now().UnixNano(), l.id)
	return wrap("end the group of "+l.msg, err)
}

// writeChunk writes all frames of a log that are in no chunk yet.
func (w *writer) writeChunk(l *messageLog) error {
	l.chunked = true
	first := l.tail.first + uint64(l.tail.chunked)
	if l.seq < first {
		return nil
	}
	w.chunk = w.chunk[:0]
	for _, e := range l.tail.events[l.tail.chunked:] {
		e.Msg = ""
		w.chunk = event.AppendFrame(w.chunk, e)
	}
	for _, o := range l.staged {
		w.chunk = append(w.chunk, o.frames...)
	}
	w.written += len(w.chunk)
	_, err := w.tx.exec("INSERT INTO chunks (log, first_seq, last_seq, frames) VALUES (?, ?, ?, ?)",
		l.id, first, l.seq, w.chunk)
	if cap(w.chunk) > maxBatch {
		w.chunk = nil
	}
	return wrap("write the events of "+l.msg, err)
}

// spill writes chunks of logs that are too big for memory, and of those that
// hold up the journal.
func (w *writer) spill() error {
	for _, l := range w.touched {
		if l.ended || l.deleted {
			continue
		}
		size := l.tail.bytes
		for _, o := range l.staged {
			size += len(o.frames) + eventOverhead*len(o.evs)
		}
		if size > w.s.opt.MaxTailBytes {
			if err := w.spillLog(l); err != nil {
				return err
			}
		}
	}
	for _, l := range w.journal.holders(w.s.opt.maxJournal) {
		if l.chunked || l.deleted {
			continue
		}
		if len(l.staged) == 0 {
			w.touched = append(w.touched, l)
		}
		if err := w.spillLog(l); err != nil {
			return err
		}
	}
	return nil
}

func (w *writer) spillLog(l *messageLog) error {
	if err := w.writeChunk(l); err != nil {
		return err
	}
	_, err := w.tx.exec("UPDATE logs SET last_seq = ?, last_at = ? WHERE id = ?", l.seq, l.at, l.id)
	return wrap("spill the events of "+l.msg, err)
}

// call runs an op's function within a savepoint: its failure takes back what
// it did and nothing else.
func (w *writer) call(o *op) error {
	if _, err := w.tx.exec("SAVEPOINT op"); err != nil {
		return wrap("begin", err)
	}
	undoes, commits := len(w.tx.undoes), len(w.tx.commits)
	err := o.fn(&w.tx)
	if err == nil {
		_, err = w.tx.exec("RELEASE op")
		return wrap("commit", err)
	}
	if fatal(err) {
		return err
	}
	o.err = err
	w.tx.undo(undoes)
	w.tx.commits = w.tx.commits[:commits]
	if _, err := w.tx.exec("ROLLBACK TO op"); err != nil {
		return wrap("roll back", err)
	}
	_, err = w.tx.exec("RELEASE op")
	return wrap("roll back", err)
}

// rollback ends a failed transaction. SQLite may have done so already.
func (w *writer) rollback() {
	_, _ = w.tx.exec("ROLLBACK")
}

// publish makes a committed batch visible.
func (w *writer) publish(batch []*op, row journalRow) {
	w.journal.add(row)
	for _, fn := range w.tx.commits {
		fn()
	}
	for _, l := range w.touched {
		if l.deleted {
			w.journal.unpin(l)
			continue
		}
		for _, o := range l.staged {
			l.tail.publish(o.evs, o.ends)
		}
		switch {
		case l.ended:
			w.journal.unpin(l)
			w.s.ended(l)
		case l.chunked:
			w.journal.unpin(l)
			l.tail.stored(w.s.opt.MaxTailBytes / 2)
		default:
			w.journal.pin(l, row)
		}
	}
}

// tx is the transaction that an op's function writes in.
type tx struct {
	w       *writer
	undoes  []undo
	commits []func()
}

// undo takes back one change in memory: of a log's position, or fn.
type undo struct {
	log *messageLog
	seq uint64
	at  int64
	fn  func()
}

func (t *tx) reset() {
	clear(t.undoes)
	clear(t.commits)
	t.undoes, t.commits = t.undoes[:0], t.commits[:0]
}

// undo takes back the changes from the n-th on, newest first.
func (t *tx) undo(n int) {
	for i := len(t.undoes) - 1; i >= n; i-- {
		u := t.undoes[i]
		if u.fn != nil {
			u.fn()
			continue
		}
		u.log.seq, u.log.at, u.log.ended = u.seq, u.at, false
	}
	t.undoes = t.undoes[:n]
}

// onUndo registers what takes back a change in memory.
func (t *tx) onUndo(fn func()) { t.undoes = append(t.undoes, undo{fn: fn}) }

// onCommit registers what follows the commit.
func (t *tx) onCommit(fn func()) { t.commits = append(t.commits, fn) }

func (t *tx) stmt(query string) (*sql.Stmt, error) {
	if s, ok := t.w.stmts[query]; ok {
		return s, nil
	}
	s, err := t.w.conn.PrepareContext(context.Background(), query)
	if err != nil {
		return nil, err
	}
	t.w.stmts[query] = s
	return s, nil
}

// exec runs a statement and returns how many rows it changed.
func (t *tx) exec(query string, args ...any) (int64, error) {
	s, err := t.stmt(query)
	if err != nil {
		return 0, err
	}
	res, err := s.Exec(args...)
	if err != nil {
		return 0, err
	}
	return res.RowsAffected()
}

// scan reads one row. Without one it answers store.ErrNotFound.
func (t *tx) scan(query string, args []any, dest ...any) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	err = s.QueryRow(args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return err
}

// each calls fn for every row, which it scans.
func (t *tx) each(query string, args []any, fn func(row scanner) error) error {
	s, err := t.stmt(query)
	if err != nil {
		return err
	}
	rows, err := s.Query(args...)
	if err != nil {
		return err
	}
	return eachRow(rows, fn)
}

// scanner is a row.
type scanner interface{ Scan(dest ...any) error }

func eachRow(rows *sql.Rows, fn func(scanner) error) error {
	defer rows.Close()
	for rows.Next() {
		if err := fn(rows); err != nil {
			return err
		}
	}
	return rows.Err()
}
