package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/inlay-ui/inlay/store"
)

var _ store.Store = (*Store)(nil)

// Store is an open database. Its methods may be called at the same time.
type Store struct {
	opt  Options
	path string
	lock *fileLock
	db   *sql.DB // for reading
	w    *writer
	wdb  *sql.DB // for the writer and the checkpointer, a connection each
	ckpt *checkpointer

	mu   sync.RWMutex
	logs map[string]*messageLog

	signals signals
	feeds   feeds

	stmtMu sync.RWMutex
	stmts  map[string]*sql.Stmt // of db, by their text

	closing   chan struct{}
	closeOnce sync.Once
	closeErr  error
	upkeep    sync.WaitGroup
}

// readConns is how many readers may look into the file at the same time.
const readConns = 4

// Open opens the database at opt.Path, which it creates if need be, and brings
// it to the newest schema. It fails with ErrInUse while another process has it.
func Open(ctx context.Context, opt Options) (*Store, error) {
	s := &Store{
		opt:     opt.withDefaults(),
		logs:    map[string]*messageLog{},
		signals: signals{boxes: map[string]*signalBox{}},
		feeds:   feeds{readers: map[string][]*feedReader{}},
		stmts:   map[string]*sql.Stmt{},
		closing: make(chan struct{}),
	}
	if opt.Path == "" {
		return nil, errors.New("sqlite: open: no path")
	}
	if s.opt.Synchronous != Normal && s.opt.Synchronous != Full {
		return nil, fmt.Errorf("sqlite: open %s: synchronous is %q, not %s or %s", opt.Path, opt.Synchronous, Normal, Full)
	}
	if err := s.open(ctx); err != nil {
		s.shut()
		return nil, fmt.Errorf("sqlite: open %s: %w", opt.Path, err)
	}
	go s.w.run()
	s.upkeep.Add(2)
	go s.keepUp()
	go s.ckpt.run()
	return s, nil
}

func (s *Store) open(ctx context.Context) error {
	path, err := filepath.Abs(s.opt.Path)
	if err != nil {
		return err
	}
	s.path = path
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return err
	}
	if s.lock, err = acquireFileLock(path + ".lock"); err != nil {
		return err
	}
	if s.wdb, err = sql.Open("sqlite", s.dsn(false)); err != nil {
		return err
	}
	s.wdb.SetMaxOpenConns(2)
	s.ckpt = newCheckpointer(s)
	conn, err := s.wdb.Conn(ctx)
	if err != nil {
		return wrap("connect", err)
	}
	s.w = newWriter(s, conn)
	if err := migrate(ctx, conn); err != nil {
		return wrap("migrate", err)
	}
	if err := recoverJournal(ctx, conn); err != nil {
		return wrap("recover", err)
	}
	s.w.journal.next = 1
	if err := s.loadOpen(ctx); err != nil {
		return wrap("recover", err)
	}
	if s.db, err = sql.Open("sqlite", s.dsn(true)); err != nil {
		return err
	}
	s.db.SetMaxOpenConns(readConns)
	s.db.SetMaxIdleConns(readConns)
	return nil
}

// dsn names the file and how a connection to it is set up.
func (s *Store) dsn(readOnly bool) string {
	path := filepath.ToSlash(s.path)
	if !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	pragmas := []string{
		fmt.Sprintf("busy_timeout(%d)", s.opt.BusyTimeout.Milliseconds()),
		"journal_mode(WAL)",
		"synchronous(" + string(s.opt.Synchronous) + ")",
		"temp_store(MEMORY)",
		"cache_size(-8192)",
		"journal_size_limit(67108864)",
		"wal_autocheckpoint(0)",
	}
	if readOnly {
		pragmas = append(pragmas, "query_only(1)")
	} else if s.opt.MaxBytes > 0 {
		pragmas = append(pragmas, fmt.Sprintf("max_page_count(%d)", max(s.opt.MaxBytes/pageBytes, 1)))
	}
	u := url.URL{Scheme: "file", Path: path, RawQuery: url.Values{"_pragma": pragmas}.Encode()}
	return u.String()
}

// Ping implements store.Store.
func (s *Store) Ping(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		// It changes a page, so that a full disk is noticed, and then again.
		var v int64
		if err := t.scan("PRAGMA application_id", nil, &v); err != nil {
			return wrap("ping", err)
		}
		_, err := t.exec(fmt.Sprintf("PRAGMA application_id = %d", (v+1)&1))
		return wrap("ping", err)
	})
}

// Close ends all readers, commits what was handed in and closes the file.
// Groups that are open stay so: the next Open lists them as unfinished.
func (s *Store) Close() error {
	s.closeOnce.Do(func() {
		close(s.closing)
		s.mu.RLock()
		for _, l := range s.logs {
			if l.tail != nil {
				l.tail.wake()
			}
		}
		s.mu.RUnlock()
		s.upkeep.Wait()
		s.w.close()
		s.closeErr = s.shut()
	})
	return s.closeErr
}

func (s *Store) shut() error {
	var errs []error
	if s.db != nil {
		errs = append(errs, s.db.Close())
	}
	if s.w != nil {
		for _, stmt := range s.w.stmts {
			errs = append(errs, stmt.Close())
		}
		errs = append(errs, s.w.conn.Close())
	}
	if s.wdb != nil {
		errs = append(errs, s.wdb.Close())
	}
	if s.lock != nil {
		errs = append(errs, s.lock.release())
	}
	return errors.Join(errs...)
}

// upkeepEvery is the time between two rounds of upkeep.
const upkeepEvery = 10 * time.Minute

// keyLife is how long an idempotency key is remembered.
const keyLife = 24 * time.Hour

// keepUp forgets from time to time what has had its time.
func (s *Store) keepUp() {
	defer s.upkeep.Done()
	ctx := context.Background()
	tick := time.NewTicker(upkeepEvery)
	defer tick.Stop()
	for {
		if err := s.upkeepRound(ctx); err != nil && !errors.Is(err, store.ErrClosed) {
			s.opt.Logger.Error("store upkeep failed; it is tried again later", "path", s.path, "error", err)
		}
		select {
		case <-s.closing:
			return
		case <-tick.C:
		}
	}
}

func (s *Store) upkeepRound(ctx context.Context) error {
	if err := s.sweepLeases(ctx); err != nil {
		return err
	}
	err := s.write(ctx, func(t *tx) error {
		_, err := t.exec("DELETE FROM idempotency WHERE created < ?", s.opt.now().Add(-keyLife).UnixNano())
		return wrap("forget idempotency keys", err)
	})
	if err != nil {
		return err
	}
	if err := s.TrimActions(ctx, s.opt.now().Add(-keyLife)); err != nil || s.opt.RetainLog < 0 {
		return err
	}
	return s.Trim(ctx, s.opt.now().Add(-s.opt.RetainLog))
}

func (s *Store) stmt(ctx context.Context, query string) (*sql.Stmt, error) {
	s.stmtMu.RLock()
	stmt := s.stmts[query]
	s.stmtMu.RUnlock()
	if stmt != nil {
		return stmt, nil
	}
	stmt, err := s.db.PrepareContext(ctx, query)
	if err != nil {
		return nil, err
	}
	s.stmtMu.Lock()
	defer s.stmtMu.Unlock()
	if first := s.stmts[query]; first != nil {
		_ = stmt.Close()
		return first, nil
	}
	s.stmts[query] = stmt
	return stmt, nil
}

// scan reads one row. Without one it answers store.ErrNotFound.
func (s *Store) scan(ctx context.Context, query string, args []any, dest ...any) error {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return s.closedOr(err)
	}
	err = stmt.QueryRowContext(ctx, args...).Scan(dest...)
	if errors.Is(err, sql.ErrNoRows) {
		return store.ErrNotFound
	}
	return s.closedOr(err)
}

// each calls fn for every row, which it scans.
func (s *Store) each(ctx context.Context, query string, args []any, fn func(scanner) error) error {
	stmt, err := s.stmt(ctx, query)
	if err != nil {
		return s.closedOr(err)
	}
	rows, err := stmt.QueryContext(ctx, args...)
	if err != nil {
		return s.closedOr(err)
	}
	return s.closedOr(eachRow(rows, fn))
}

// closedOr names the reason of errors that come from a closed database.
func (s *Store) closedOr(err error) error {
	if err == nil {
		return nil
	}
	if s.isClosed() {
		return fmt.Errorf("%w: %w", store.ErrClosed, err)
	}
	return err
}

func (s *Store) isClosed() bool {
	select {
	case <-s.closing:
		return true
	default:
		return false
	}
}
