//go:build unix

package server

import "syscall"

// fileLimit raises the number of open files as far as it may and returns it.
func fileLimit() int {
	var l syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 256
	}
	l.Cur = l.Max
	_ = syscall.Setrlimit(syscall.RLIMIT_NOFILE, &l) // as far as it may
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &l) != nil {
		return 256
	}
	return int(min(l.Cur, 1<<20))
}
