package sqlite

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// ErrInUse says that another process, or another Store of this one, has the
// database open.
var ErrInUse = errors.New("database is in use")

// errHeld is what lockFile answers when somebody holds the lock.
var errHeld = errors.New("lock is held")

// fileLock makes one process the owner of a database. The system frees it when
// the process dies, however it dies; the file itself stays.
type fileLock struct{ f *os.File }

func acquireFileLock(path string) (*fileLock, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock file: %w", err)
	}
	if err := lockFile(f); err != nil {
		defer f.Close()
		if !errors.Is(err, errHeld) {
			return nil, fmt.Errorf("lock %s: %w", path, err)
		}
		holder := "another process"
		if b, err := os.ReadFile(path); err == nil {
			if pid := strings.TrimSpace(string(b)); pid != "" {
				holder = "process " + pid
			}
		}
		return nil, fmt.Errorf("%w by %s (lock %s): one process owns a data directory; stop it or choose another directory",
			ErrInUse, holder, path)
	}
	// The number is a hint for people; the lock does not depend on it.
	if err := f.Truncate(0); err == nil {
		_, _ = f.WriteAt([]byte(strconv.Itoa(os.Getpid())+"\n"), 0)
	}
	return &fileLock{f}, nil
}

func (l *fileLock) release() error { return l.f.Close() }
