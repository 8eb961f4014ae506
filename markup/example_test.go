package markup_test

import (
	"encoding/json"
	"fmt"

	"github.com/inlay-ui/inlay/markup"
)

// A stream comes in pieces that know nothing of cards; the events do.
func ExampleScanner() {
	s := markup.NewScanner(markup.Config{
		Fences:       []string{"ProductCard"},
		Placeholders: []string{"TrainCard"},
	}, func(e markup.Event) {
		switch e.Kind {
		case markup.Start:
			fmt.Printf("start %d: %s by %s %v\n", e.ID, e.Type, e.Syntax, e.Meta)
		case markup.End:
			fmt.Printf("end %d: %q\n", e.ID, e.Payload)
		default:
			fmt.Printf("%v: %q\n", e.Kind, e.Text)
		}
	})
	for _, piece := range []string{
		"Take [(Train", "Card:G1234)], not `[(TrainCard:x)]`.\n\n``", "`ProductCard\n", "{\"id\": \"p", "-17\"}\n```\n",
	} {
		s.Push([]byte(piece))
	}
	s.Close(markup.Stop)
	// Output:
	// text: "Take "
	// start 1: TrainCard by placeholder map[id:G1234]
	// end 1: ""
	// text: ", not `[(TrainCard:x)]`.\n\n"
	// start 2: ProductCard by fence map[]
	// delta: "{\"id\": \"p"
	// delta: "-17\"}\n"
	// end 2: "{\"id\": \"p-17\"}"
}

// An open body is shown while it is written: 12, which will be 1200, is not.
func ExampleJSONStream() {
	j := markup.NewJSONStream()
	for _, piece := range []string{`{"title":"Wa`, `tch","price":12`, `00}`} {
		ops, err := j.Push([]byte(piece))
		if err != nil {
			fmt.Println(err)
			return
		}
		patch, _ := json.Marshal(ops)
		fmt.Println(string(patch))
	}
	whole, err := j.Close()
	fmt.Println(string(whole), err)
	// Output:
	// [{"op":"add","path":"","value":{"title":"Wa"}}]
	// [{"op":"replace","path":"/title","value":"Watch"}]
	// [{"op":"add","path":"/price","value":1200}]
	// {"title":"Watch","price":1200} <nil>
}
