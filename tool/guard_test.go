package tool

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

func TestGuard(t *testing.T) {
	own := errors.New("own")
	if err := Guard(t.Context(), func() error { return own }); err != own {
		t.Errorf("%v", err)
	}
	if err := Guard(t.Context(), func() error { return nil }); err != nil {
		t.Errorf("%v", err)
	}
	var panicked *PanicError
	err := Guard(t.Context(), func() error { panic(strings.Repeat("é", maxPanic)) })
	if !errors.As(err, &panicked) || len(panicked.Stack) == 0 || strings.Count(err.Error(), "é") != maxPanic/2 {
		t.Errorf("%v", err)
	}
	// An error that panics when it is read is a panic of the code.
	if err := Guard(t.Context(), func() error { return (*PanicError)(nil) }); !errors.As(err, &panicked) {
		t.Errorf("%v", err)
	}
}

func TestGuardLeavesTheDeaf(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		late := errors.New("too late")
		ctx, cancel := context.WithTimeoutCause(t.Context(), time.Second, late)
		defer cancel()
		awake := make(chan struct{})
		began := time.Now()
		err := Guard(ctx, func() error { <-awake; return nil })
		if !errors.Is(err, ErrLeft) || !errors.Is(err, late) || time.Since(began) != time.Second+leaveAfter {
			t.Errorf("%v after %v", err, time.Since(began))
		}
		close(awake)
	})
}
