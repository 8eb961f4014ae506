//go:build !unix

package disk

import (
	"errors"
	"syscall"
)

// diskFull is ERROR_DISK_FULL of Windows.
const diskFull = syscall.Errno(112)

// isFull says whether an error is that of a disk without room.
func isFull(err error) bool { return errors.Is(err, diskFull) }
