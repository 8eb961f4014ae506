package markup_test

import (
	"encoding/json"
	"errors"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/inlay-ui/inlay/markup"
)

// serverFieldRow is a card that a model wrote, of which the server says some.
// The reader in the browser reads the rows too: it is told ServerFields in place
// of schemas.
type serverFieldRow struct {
	Name string `json:"name"`
	// Schemas are those of the versions of the card.
	Schemas map[int]json.RawMessage `json:"schemas"`
	// ServerFields are what Cards.ServerFields says of each.
	ServerFields map[int][]string `json:"serverFields"`
	// Version stands behind the name in the fence; "" for none.
	Version string `json:"version"`
	Body    string `json:"body"`
	// Payload is what may be said of it. Fails says that it is not a card of its
	// version, and shown in words alone.
	Payload json.RawMessage `json:"payload"`
	Fails   bool            `json:"fails"`
	// Words are what is read where it is not drawn; absent: as it was written.
	Words json.RawMessage `json:"words"`
}

func sameJSON(t *testing.T, a, b []byte) bool {
	t.Helper()
	var x, y any
	if json.Unmarshal(a, &x) != nil || json.Unmarshal(b, &y) != nil {
		return false
	}
	return reflect.DeepEqual(x, y)
}

func TestServerFieldsAsInTheBrowser(t *testing.T) {
	raw, err := os.ReadFile("testdata/server-fields.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(raw)) {
		var row serverFieldRow
		if err := json.Unmarshal([]byte(line), &row); err != nil {
			t.Fatalf("%s: %v", line, err)
		}
		t.Run(row.Name, func(t *testing.T) { checkServerFields(t, row) })
	}
}

func checkServerFields(t *testing.T, row serverFieldRow) {
	var list []markup.Card
	for version, schema := range row.Schemas {
		c := simple("OpenCard", string(schema), `{}`)
		c.Type.Version = version
		list = append(list, c)
	}
	cards := cardsOf(t, list...)
	for version := range row.Schemas {
		if got := cards.ServerFields("OpenCard", version); !slices.Equal(got, row.ServerFields[version]) {
			t.Errorf("fields of version %d are %v", version, got)
		}
	}
	head := "OpenCard"
	if row.Version != "" {
		head += "@" + row.Version
	}
	source := "```" + head + "\n" + row.Body + "\n```\n"
	var found []markup.Found
	r := markup.NewReader(cards, []markup.Syntax{markup.Fence}, func(f markup.Found) {
		if f.Kind != markup.Delta {
			found = append(found, f)
		}
	})
	r.Push(source)
	r.Close(markup.Stop)
	if len(found) != 2 || found[1].Kind != markup.End || found[1].Source != source {
		t.Fatalf("found %+v", found)
	}
	d, err := cards.Draft(found[1].Written)
	if err == nil {
		err = judge(t, d)
	}
	var failure *markup.Failure
	if errors.As(err, &failure) != row.Fails {
		t.Errorf("failure %v", err)
	}
	if !sameJSON(t, d.Payload, row.Payload) {
		t.Errorf("payload %s, want %s", d.Payload, row.Payload)
	}
	shown := d.Shown(source)
	if row.Words == nil {
		if shown != source {
			t.Errorf("words %s", shown)
		}
	} else if _, body, _ := strings.Cut(shown, "\n"); !sameJSON(t, []byte(strings.TrimSuffix(body, "```\n")), row.Words) {
		t.Errorf("words %s, want %s", shown, row.Words)
	}
	if strings.Contains(string(d.Payload), "666") || strings.Contains(shown, "666") {
		t.Errorf("what is the server's is shown: %s %s", d.Payload, shown)
	}
	major, _, err := markup.Version(row.Version)
	if err != nil {
		return
	}
	for n := 1; n <= 5; n += 4 {
		s := cards.Stream("OpenCard", major)
		for at := 0; s != nil && at < len(row.Body); at += n {
			err := s.Push(row.Body[at:min(at+n, len(row.Body))])
			patch, takeErr := s.Take()
			if takeErr != nil || strings.Contains(string(patch), "666") {
				t.Errorf("shown while it is written: %s, %v", patch, takeErr)
			}
			if err != nil {
				break
			}
		}
	}
}

// A schema that contains itself is no more work for a body that is deep.
func TestServerFieldsOfDeepBodies(t *testing.T) {
	schema := `{"type":"object","properties":{"price":{"x-source":"server"},"items":{"$ref":"#/$defs/list"}},
		"$defs":{"list":{"items":{"anyOf":[{"$ref":"#/$defs/list"},{"$ref":"#"}]},"contains":{"$ref":"#/$defs/list"},"additionalProperties":{"$ref":"#/$defs/list"}}}}`
	cards := cardsOf(t, simple("OpenCard", schema, `{}`))
	deep := `{"items":` + strings.Repeat(`[{"a":`, 40) + `{"price":6667}` + strings.Repeat(`}]`, 40) + `}`
	begin := time.Now()
	d, err := cards.Draft(markup.Written{Name: "OpenCard", Body: json.RawMessage(deep)})
	if err != nil || strings.Contains(string(d.Payload), "6667") {
		t.Errorf("%s, %v", d.Payload, err)
	}
	if took := time.Since(begin); took > 5*time.Second {
		t.Errorf("%s", took)
	}
}
