package memory_test

import (
	"testing"

	"github.com/inlay-ui/inlay/store"
	"github.com/inlay-ui/inlay/store/memory"
	"github.com/inlay-ui/inlay/store/storetest"
)

func TestStore(t *testing.T) {
	storetest.Run(t, func(t *testing.T) store.Store { return memory.New() })
}
