package tool

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"time"
)

// leaveAfter is how long a tool's code may go on after its context has ended
// before it is left alone.
const leaveAfter = 2 * time.Second

// maxPanic is how many bytes of a panic's value its words show.
const maxPanic = 1 << 10

// ErrLeft says that code still runs, long after its time. What it writes from
// now on must not be read.
var ErrLeft = errors.New("left running after its time")

// PanicError is a panic of a tool's code.
type PanicError struct {
	Value any
	Stack []byte
}

// Error implements error.
func (e *PanicError) Error() string {
	value := fmt.Sprint(e.Value)
	if len(value) > maxPanic {
		value = strings.ToValidUTF8(value[:maxPanic], "") + "…"
	}
	return fmt.Sprintf("panic: %s\n%s", value, e.Stack)
}

// Guard runs a tool's code so that neither its panic nor its deafness to ctx
// can hold the caller. It returns run's error, a *PanicError, or, two seconds
// after ctx has ended, ErrLeft with the cause of that end.
func Guard(ctx context.Context, run func() error) error {
	done := make(chan error, 1)
	go func() {
		defer func() {
			if p := recover(); p != nil {
				done <- &PanicError{Value: p, Stack: debug.Stack()}
			}
		}()
		err := run()
		if err != nil {
			// A nil pointer in an error panics when it is read: better here.
			_ = err.Error()
		}
		done <- err
	}()
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-done:
		return err
	case <-time.After(leaveAfter):
		return fmt.Errorf("%w: %w", ErrLeft, context.Cause(ctx))
	}
}
