package scripted

import (
	"net/http/httptest"
	"strings"
	"testing"
)

// cutRecorder remembers where its bytes were cut.
type cutRecorder struct {
	*httptest.ResponseRecorder
	places map[int]bool
}

// Write implements http.ResponseWriter.
func (c *cutRecorder) Write(p []byte) (int, error) {
	n, err := c.ResponseRecorder.Write(p)
	c.places[c.Body.Len()] = true
	return n, err
}

// WriteString hides that of the embedded recorder.
func (c *cutRecorder) WriteString(s string) (int, error) { return c.Write([]byte(s)) }

func TestBytesAreCutEverywhere(t *testing.T) {
	s := "data: {\"content\":\"中文 \\u003c 😀 \\\"\"}\n\n" + strings.Repeat("x", 40)
	places := map[int]bool{}
	for seed := int64(1); seed <= cutEvery; seed++ {
		w := &cutRecorder{httptest.NewRecorder(), places}
		e := &eventWriter{w: w, flush: func() error { return nil }, seed: seed}
		if err := e.raw(s); err != nil || w.Body.String() != s {
			t.Fatalf("seed %d: %v, %q", seed, err, w.Body)
		}
	}
	for i := 1; i <= len(s); i++ {
		if !places[i] {
			t.Errorf("no seed cuts at byte %d", i)
		}
	}
}
