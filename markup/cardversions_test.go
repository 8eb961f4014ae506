package markup_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/markup"
)

// cardVersionRow is a fence with a version in some place. The reader in the
// browser reads the rows too.
type cardVersionRow struct {
	Name    string                  `json:"name"`
	Schemas map[int]json.RawMessage `json:"schemas"`
	// Version stands behind the name in the fence; "" for none.
	Version string `json:"version"`
	Body    string `json:"body"`
	// Reason says why it is no card; "" when it is one. Of a version that there
	// is not the page has the block, and no renderer.
	Reason string `json:"reason"`
	// Major and Minor are the version that it is read as.
	Major int `json:"major"`
	Minor int `json:"minor"`
	// Payload are its fields.
	Payload json.RawMessage `json:"payload"`
}

func TestCardVersionsAsInTheBrowser(t *testing.T) {
	raw, err := os.ReadFile("testdata/card-versions.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var row cardVersionRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		t.Run(row.Name, func(t *testing.T) { checkCardVersion(t, row) })
	}
}

func checkCardVersion(t *testing.T, row cardVersionRow) {
	var list []markup.Card
	for version, schema := range row.Schemas {
		c := simple("OpenCard", string(schema), `{}`)
		c.Type.Version = version
		list = append(list, c)
	}
	cards := cardsOf(t, list...)
	d, err := cards.Draft(markup.Written{Name: "OpenCard", Version: row.Version, Body: json.RawMessage(row.Body)})
	if err == nil {
		err = judge(t, d)
	}
	var failure *markup.Failure
	reason := ""
	if errors.As(err, &failure) {
		reason = failure.Reason
	}
	if reason != row.Reason {
		t.Fatalf("%v, want %q", err, row.Reason)
	}
	if shown := d.Shown(row.Body); strings.Contains(shown, "666") {
		t.Errorf("what is the server's is shown in words: %s", shown)
	}
	if reason != "" {
		return
	}
	if d.Card.Type.Version != row.Major || d.Minor != row.Minor {
		t.Errorf("version %d.%d, want %d.%d", d.Card.Type.Version, d.Minor, row.Major, row.Minor)
	}
	if !sameJSON(t, d.Payload, row.Payload) {
		t.Errorf("payload %s, want %s", d.Payload, row.Payload)
	}
}
