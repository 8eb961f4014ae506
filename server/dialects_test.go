package server

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
)

// TestDialects reads one message in every dialect, whole and cut after each of
// its events.
func TestDialects(t *testing.T) {
	r := newRig(t)
	s := r.ask("", "chart please")
	r.rest(s)
	path := "/v1/messages/" + s.msg() + "/events?capabilities=inlay.chart@1,inlay.table@1&dialect="
	id := regexp.MustCompile(`(?m)^id: (\d+)$`)
	for _, c := range []struct {
		dialect string
		// has is a piece of the stream that shows its shape.
		has   string
		whole bool
	}{
		{"native", "event: block_end\n", false},
		{"ubp", `{"type":"ui_block","data":{"id":`, false},
		{"cards", `"type":"append"`, false},
		{"agui", `"type":"RUN_FINISHED"`, false},
		{"agui&version=1", `"type":"RUN_FINISHED"`, false},
		{"aisdk", "data: [DONE]", true},
		{"aisdk&version=7", `"type":"data-chart"`, true},
	} {
		res := r.request("GET", path+c.dialect, nil)
		if h := res.Header.Get("x-vercel-ai-ui-message-stream"); (h == "v1") != c.whole {
			t.Errorf("%s: header %q", c.dialect, h)
		}
		whole := r.rest(r.stream(res))
		if !strings.Contains(whole, c.has) {
			t.Errorf("%s: no %s in\n%s", c.dialect, c.has, whole)
		}
		cuts := 0
		head := ""
		for frame := range strings.SplitAfterSeq(whole, "\n\n") {
			head += frame
			m := id.FindStringSubmatch(frame)
			if m == nil {
				continue
			}
			res := r.request("GET", path+c.dialect+"&after="+m[1], nil)
			if res.StatusCode == http.StatusNoContent {
				continue // the last event
			}
			cuts++
			got := r.rest(r.stream(res))
			if !c.whole {
				got = head + got
			}
			if got != whole {
				t.Fatalf("%s: cut after %s and resumed differs\n%s\nwhole\n%s", c.dialect, m[1], got, whole)
			}
		}
		if cuts < 5 {
			t.Errorf("%s: cut at %d places only", c.dialect, cuts)
		}
	}
	r.refused(400, "invalid_request", "GET", path+"aisdk&version=9", nil)
	r.refused(400, "invalid_request", "GET", path+"morse", nil)
}
