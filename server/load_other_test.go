//go:build !unix

package server

// fileLimit returns 0 where the number of open files has no limit to ask for.
func fileLimit() int { return 0 }
