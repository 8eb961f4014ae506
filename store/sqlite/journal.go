package sqlite

import (
	"container/list"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/inlay-ui/inlay/event"
)

// journal knows which rows the journal table has and which logs still need
// them. It belongs to the writer's goroutine.
type journal struct {
	next int64 // the id of the next row
	size int64
	rows []journalRow
	// pins has one entry per log with frames that are only here, in the order
	// of their first row.
	pins list.List
}

type journalRow struct {
	id, size int64
}

// pin is the first row that a log needs.
type pin struct {
	log *messageLog
	row int64
}

// pruneStep is how many rows gather before they are deleted, so that most
// commits delete nothing.
const pruneStep = 64

// pruneMost is how many rows one commit deletes at most, so that the end of a
// long turn, which may free thousands, holds nobody up.
const pruneMost = 128

// holdersStep is how many logs are made to let go of the journal per commit.
const holdersStep = 32

func (j *journal) add(row journalRow) {
	if row.size == 0 {
		return
	}
	j.next = row.id + 1
	j.size += row.size
	j.rows = append(j.rows, row)
}

func (j *journal) pin(l *messageLog, row journalRow) {
	if l.pin == nil {
		l.pin = j.pins.PushBack(pin{l, row.id})
	}
}

func (j *journal) unpin(l *messageLog) {
	if l.pin != nil {
		j.pins.Remove(l.pin)
		l.pin = nil
	}
}

// prunable returns the last row that nobody needs, if it is worth a statement.
func (j *journal) prunable() (upto int64, ok bool) {
	if len(j.rows) == 0 {
		return 0, false
	}
	upto = j.next - 1
	if front := j.pins.Front(); front != nil {
		upto = front.Value.(pin).row - 1
	}
	first := j.rows[0].id
	return min(upto, first+pruneMost-1), upto-first+1 >= pruneStep
}

func (j *journal) pruned(upto int64) {
	n := 0
	for n < len(j.rows) && j.rows[n].id <= upto {
		j.size -= j.rows[n].size
		n++
	}
	j.rows = j.rows[n:]
}

// holders returns logs that keep the journal from shrinking when it is bigger
// than limit.
func (j *journal) holders(limit int64) []*messageLog {
	if j.size <= limit {
		return nil
	}
	var logs []*messageLog
	for e := j.pins.Front(); e != nil && len(logs) < holdersStep; e = e.Next() {
		logs = append(logs, e.Value.(pin).log)
	}
	return logs
}

// recoverJournal moves what the journal holds into chunks and empties it. It
// runs while the database is opened, in one transaction. Frames that are in a
// chunk already, or whose log is gone, are passed over.
func recoverJournal(ctx context.Context, conn *sql.Conn) (err error) {
	if _, err := conn.ExecContext(ctx, "BEGIN IMMEDIATE"); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			_, _ = conn.ExecContext(ctx, "ROLLBACK")
		}
	}()
	type open struct {
		seq    uint64 // the last seq in a chunk
		frames []byte
		first  uint64
		at     int64 // of the last event
	}
	logs := map[int64]*open{}
	rows, err := conn.QueryContext(ctx, "SELECT id, last_seq FROM logs WHERE open = 1")
	if err != nil {
		return err
	}
	err = eachRow(rows, func(row scanner) error {
		var id int64
		var l open
		if err := row.Scan(&id, &l.seq); err != nil {
			return err
		}
		logs[id] = &l
		return nil
	})
	if err != nil {
		return err
	}
	rows, err = conn.QueryContext(ctx, "SELECT id, frames FROM journal ORDER BY id")
	if err != nil {
		return err
	}
	err = eachRow(rows, func(row scanner) error {
		var n int64
		var b []byte
		if err := row.Scan(&n, &b); err != nil {
			return err
		}
		for len(b) > 0 {
			id, frames, rest, err := cutEntry(b)
			if err != nil {
				return fmt.Errorf("journal row %d: %w", n, err)
			}
			b = rest
			l := logs[id]
			for l != nil && len(frames) > 0 {
				e, rest, err := event.ReadFrame(frames)
				if err != nil {
					return fmt.Errorf("journal row %d: %w", n, err)
				}
				frame := frames[:len(frames)-len(rest)]
				frames = rest
				switch next := l.seq + 1; {
				case e.Seq < next:
					continue
				case e.Seq > next:
					return fmt.Errorf("journal row %d: log %d goes from seq %d to %d", n, id, l.seq, e.Seq)
				case l.first == 0:
					l.first = e.Seq
				}
				l.frames = append(l.frames, frame...)
				l.seq, l.at = e.Seq, e.At
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	for id, l := range logs {
		if l.first == 0 {
			continue
		}
		if _, err := conn.ExecContext(ctx, "INSERT INTO chunks (log, first_seq, last_seq, frames) VALUES (?, ?, ?, ?)",
			id, l.first, l.seq, l.frames); err != nil {
			return err
		}
		if _, err := conn.ExecContext(ctx, "UPDATE logs SET last_seq = ?, last_at = ? WHERE id = ?",
			l.seq, l.at, id); err != nil {
			return err
		}
	}
	if _, err := conn.ExecContext(ctx, "DELETE FROM journal"); err != nil {
		return err
	}
	_, err = conn.ExecContext(ctx, "COMMIT")
	return err
}

var errShort = errors.New("cut short")

// cutEntry splits the first log's frames off a journal row.
func cutEntry(b []byte) (log int64, frames, rest []byte, err error) {
	id, n := binary.Uvarint(b)
	if n <= 0 {
		return 0, nil, nil, errShort
	}
	size, m := binary.Uvarint(b[n:])
	if m <= 0 || size > uint64(len(b)-n-m) {
		return 0, nil, nil, errShort
	}
	b = b[n+m:]
	return int64(id), b[:size], b[size:], nil
}
