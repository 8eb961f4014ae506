package markup_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/markup"
)

// cardFillRow is a card and what is said of the ids in it. The reader in the
// browser reads the rows too: it is told ServerFields in place of the schema.
type cardFillRow struct {
	Name         string                     `json:"name"`
	Schema       json.RawMessage            `json:"schema"`
	ServerFields []string                   `json:"serverFields"`
	Body         string                     `json:"body"`
	Found        map[string]json.RawMessage `json:"found"`
	// Asked are the ids that are asked for, sorted.
	Asked   []string        `json:"asked"`
	Payload json.RawMessage `json:"payload"`
	// Error is NOT_FOUND where nothing is left, DATA for data that is none.
	Error string `json:"error"`
}

func TestCardsAreFilledAsInTheBrowser(t *testing.T) {
	raw, err := os.ReadFile("testdata/card-fill.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var row cardFillRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		t.Run(row.Name, func(t *testing.T) { checkCardFill(t, row) })
	}
}

func checkCardFill(t *testing.T, row cardFillRow) {
	c := simple("OpenCard", string(row.Schema), `{"id":"a"}`)
	c.Resolve = func(context.Context, []string) (map[string]json.RawMessage, error) { return nil, nil }
	cards := cardsOf(t, c)
	if got := cards.ServerFields("OpenCard", 1); !slices.Equal(got, row.ServerFields) {
		t.Errorf("fields are %v", got)
	}
	d, err := cards.Draft(markup.Written{Name: "OpenCard", Body: json.RawMessage(row.Body)})
	if err != nil {
		t.Fatal(err)
	}
	asked := d.IDs()
	slices.Sort(asked)
	if !slices.Equal(asked, row.Asked) {
		t.Errorf("asked for %q, want %q", asked, row.Asked)
	}
	payload, _, err := d.Fill(row.Found)
	switch {
	case row.Error == "NOT_FOUND":
		if !errors.Is(err, markup.ErrUnknownID) {
			t.Errorf("%s, %v", payload, err)
		}
	case row.Error != "":
		if err == nil || errors.Is(err, markup.ErrUnknownID) {
			t.Errorf("%s, %v", payload, err)
		}
	case err != nil || !sameJSON(t, payload, row.Payload):
		t.Errorf("%s, %v\nwant %s", payload, err, row.Payload)
	}
}
