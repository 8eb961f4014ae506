//go:build unix

package asset_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/asset"
)

func TestScanCommand(t *testing.T) {
	for script, want := range map[string]string{
		"grep -q clean":       "true <nil>",
		"! grep -q clean":     "false <nil>",
		"exit 1":              "false <nil>",
		"cat >/dev/null":      "true <nil>",
		"exit 2":              "false scan: exit status 2",
		"echo no >&2; exit 2": "false scan: exit status 2: no",
		"exec sleep 600":      "false scan: context deadline exceeded",
		"kill -9 $$; exit 0":  "false scan: signal: killed",
	} {
		limit := time.Minute
		if strings.Contains(script, "sleep") {
			limit = 500 * time.Millisecond
		}
		clean, err := asset.Command{Args: []string{"sh", "-c", script}, Timeout: limit}.Scan(t.Context(), strings.NewReader("a clean file"))
		if got := fmt.Sprint(clean, " ", err); got != want {
			t.Errorf("%s: %s, want %s", script, got, want)
		}
	}
	if _, err := (asset.Command{}).Scan(t.Context(), strings.NewReader("")); err == nil {
		t.Error("no command scans nothing")
	}
	if _, err := (asset.Command{Args: []string{"/no/such/program"}}).Scan(t.Context(), strings.NewReader("")); err == nil {
		t.Error("a program that is not there finds files clean")
	}
}
