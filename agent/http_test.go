package agent_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/agent"
	"github.com/inlay-ui/inlay/agent/agui"
	"github.com/inlay-ui/inlay/agent/aisdk"
)

// What is said to one address, and the key that goes with it, reaches no other.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, status := range []int{http.StatusMovedPermanently, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		var reached bool
		other := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { reached = true }))
		far := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, other.URL, status) }))
		cfg := agent.Config{URL: far.URL, APIKey: "sample-key", Headers: map[string]string{"X-Gateway": "sample-header"}}
		one, err := agui.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		two, err := aisdk.New(cfg)
		if err != nil {
			t.Fatal(err)
		}
		for _, a := range []agent.Agent{one, two} {
			_, err := a.Run(t.Context(), agent.Request{Thread: "t", Run: "r"}, func(agent.Piece) error { return nil })
			if err == nil || reached {
				t.Errorf("%T, %d: %v, the other one was reached: %t", a, status, err, reached)
			}
			if told := fmt.Sprintf("%v %+v %#v", err, a, a); strings.Contains(told, "sample-key") || strings.Contains(told, "sample-header") {
				t.Errorf("%T, %d: a secret is shown: %s", a, status, told)
			}
		}
		far.Close()
		other.Close()
	}
}
