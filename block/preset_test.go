package block_test

import (
	"encoding/json"
	"io/fs"
	"strings"
	"testing"

	"github.com/inlay-ui/inlay/block"
)

// presets registers the presets beside the built-in types.
func presets(t *testing.T) *block.Registry {
	t.Helper()
	r, err := block.NewRegistry(append(block.Builtins(), block.Presets()...)...)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

var presetSamples = []struct {
	name, payload string
	// text, markdown and stand have these words.
	text, markdown, stand []string
}{
	{
		"app.product_card",
		`{"id":"p-17","title":"Sample watch Run","reason":"Light.","description":"For runners.","price":699,"originalPrice":799,"currency":"CNY","discount":"Sample week","stock":0,"rating":4.6,"url":"https://shop.example/p-17"}`,
		[]string{"Sample watch Run", "sold out", "Light.", "699 CNY", "Sample week", "4.6", "For runners."},
		[]string{"**Sample watch Run** (sold out)", "- price: 699 CNY"},
		[]string{"[Sample watch Run](<https://shop.example/p-17>): 699 CNY"},
	},
	{
		"app.product_list",
		`{"title":"Watches","items":[{"id":"a","title":"Run","price":699,"currency":"CNY","stock":3,"url":"https://shop.example/a"},{"id":"b","title":"Trail"}]}`,
		[]string{"Watches", "Run (in stock): price 699 CNY", "Trail"},
		[]string{"**Watches**", "**Run** (in stock)", "**Trail**"},
		[]string{"Watches"}, // not all of it leads somewhere
	},
	{
		"app.train_card",
		`{"id":"G1234","from":"Hangzhou East","to":"Shanghai Hongqiao","departure":"2026-10-01T10:00:00+08:00","arrival":"2026-10-01T10:59:00+08:00","durationMinutes":59,"status":"on_time","seats":[{"class":"second","price":73,"currency":"CNY","available":0},{"class":"first","available":4}]}`,
		[]string{"G1234 Hangzhou East → Shanghai Hongqiao (on time)", "2026-10-01 10:00 – 10:59", "59 min", "second 73 CNY, sold out", "first 4 left"},
		[]string{"- second: 73 CNY, sold out"},
		[]string{"G1234"},
	},
	{
		"app.flight_card",
		`{"id":"XX123","airline":"Sample Air","from":{"code":"HGH","name":"Sample City","terminal":"T3"},"to":{"code":"SHA"},"departure":"2026-10-01T23:30:00+08:00","arrival":"2026-10-02T01:35:00+08:00","durationMinutes":125,"fares":[{"cabin":"economy","price":480,"currency":"CNY","available":9}]}`,
		[]string{"XX123 Sample City (HGH) T3 → SHA", "Sample Air", "2026-10-01 23:30 – 2026-10-02 01:35", "2 h 5 min", "economy 480 CNY, 9 left"},
		[]string{"**XX123 Sample City (HGH) T3 → SHA**"},
		[]string{"XX123"},
	},
	{
		"app.hotel_card",
		`{"id":"h1","title":"Sample Inn","stars":4,"address":"1 Sample Street","rating":4.2,"checkIn":"2026-10-01","checkOut":"2026-10-03","rooms":[{"name":"Double","price":420,"currency":"CNY","available":2}]}`,
		[]string{"Sample Inn", "stars 4", "1 Sample Street", "2026-10-01 – 2026-10-03", "Double 420 CNY, 2 left"},
		[]string{"- Double: 420 CNY, 2 left"},
		[]string{"Sample Inn"},
	},
}

// Every preset takes its sample and writes it in words for those who do not
// draw it.
func TestPresets(t *testing.T) {
	r := presets(t)
	seen := make(map[string]bool)
	for _, c := range presetSamples {
		seen[c.name] = true
		payload := json.RawMessage(c.payload)
		if err := r.Validate(c.name, 1, payload); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		typ, _ := r.Lookup(c.name, 1)
		b := block.Block{Type: c.name, Version: 1, Status: block.StatusDone, Payload: payload}
		for what, got := range map[string]struct {
			text string
			want []string
		}{
			"fallback": {typ.Fallback(payload), c.text}, "summary": {typ.Summary(payload), c.text[:1]},
			"markdown": {r.Markdown(b), c.markdown}, "stand": {r.Stand(b), c.stand},
		} {
			for _, w := range got.want {
				if !strings.Contains(got.text, w) {
					t.Errorf("%s: %s lacks %q:\n%s", c.name, what, w, got.text)
				}
			}
		}
		if got := typ.Fallback(json.RawMessage(`[]`)); !strings.HasPrefix(got, "[") {
			t.Errorf("%s: text of what is no payload: %q", c.name, got)
		}
	}
	for _, p := range block.Presets() {
		if !seen[p.Name] {
			t.Errorf("%s: no sample", p.Name)
		}
	}
}

// What a shop must say itself is marked in every preset.
func TestPresetsMarkWhatIsTheServers(t *testing.T) {
	files, err := fs.Glob(block.PresetSchemas(), "*.json")
	if err != nil || len(files) != len(block.Presets()) {
		t.Fatalf("%d files of %d presets: %v", len(files), len(block.Presets()), err)
	}
	for _, f := range files {
		raw, err := fs.ReadFile(block.PresetSchemas(), f)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(raw), `"x-source": "server"`) {
			t.Errorf("%s: nothing is the server's", f)
		}
	}
}

func TestPresetsRefuse(t *testing.T) {
	r := presets(t)
	for _, c := range [][2]string{
		{"app.product_card", `{"id":"a"}`},
		{"app.product_card", `{"id":"a","title":"A","price":"cheap"}`},
		{"app.product_card", `{"id":"a","title":"A","url":"javascript:alert(1)"}`},
		{"app.product_card", `{"id":"a","title":"A","colour":"red"}`},
		{"app.product_list", `{"items":[]}`},
		{"app.product_list", `{"items":[{"id":"a","title":"A"},{"id":"a","title":"B"}]}`},
		{"app.product_list", `{"layout":"heap","items":[{"title":"A"}]}`},
		{"app.product_list", `{"items":[{"title":"A"},{"title":"B"}],"total":1}`},
		{"app.product_list", `{"items":[{"title":"A","actions":[{"id":"add"},{"id":"add"}]}]}`},
		{"app.product_list", `{"items":[{"title":"A","actions":[{"id":"add","params":{"deep":{}}}]}]}`},
		{"app.train_card", `{"id":"G1"}`},
	} {
		if r.Validate(c[0], 1, json.RawMessage(c[1])) == nil {
			t.Errorf("%s takes %s", c[0], c[1])
		}
	}
}

// A list says how it is laid out, how many there are in all and what can be done
// with each product; what can be done is the server's to say.
func TestProductListActions(t *testing.T) {
	r := presets(t)
	written := json.RawMessage(`{"layout":"grid","items":[{"id":"a","title":"A","price":1.50,"actions":[{"type":"api","name":"addToCart","params":{"itemId":"a"}},{"id":"keep"}]}],"total":12,"page":{"cursor":"1"}}`)
	const want = `{"items":[{"actions":[{"id":"addToCart","params":{"itemId":"a"}},{"id":"keep"}],"id":"a","price":1.50,"title":"A"}],"layout":"grid","page":{"cursor":"1"},"total":12}`
	clean, err := r.Clean("app.product_list", 1, written)
	if err != nil || string(clean) != want {
		t.Errorf("%v: %s", err, clean)
	}
	if err := r.Validate("app.product_list", 1, clean); err != nil {
		t.Error(err)
	}
	if again, err := r.Clean("app.product_list", 1, clean); err != nil || string(again) != want {
		t.Errorf("the second time: %v: %s", err, again)
	}
	typ, _ := r.Lookup("app.product_list", 1)
	if got := typ.Fallback(clean); !strings.Contains(got, "11") {
		t.Errorf("what is left out is not counted: %q", got)
	}
}
