package markup

import "strings"

// arenaSize is how many bytes of text share one allocation.
const arenaSize = 2 << 10

// output joins text and hands events to the sink. The strings of small pieces
// are cut from one allocation: streams come in pieces of a few bytes, and a
// string for each would be the greater part of the work.
type output struct {
	sink  func(Event)
	arena strings.Builder
	from  int // where in the arena the piece begins that was not sent yet
	kind  Kind
	id    int
}

// piece sends a piece of a text or a body, joined with the one before where it
// continues that.
func (o *output) piece(kind Kind, id int, p []byte) {
	if kind != o.kind || id != o.id {
		if len(p) == 0 {
			return
		}
		o.flush()
		o.kind, o.id = kind, id
	}
	if len(p) > o.arena.Cap()-o.arena.Len() {
		o.flush()
		if len(p) > arenaSize/4 {
			o.sink(Event{Kind: kind, ID: id, Text: string(p)})
			return
		}
		o.renew()
	}
	o.arena.Write(p)
}

func (o *output) renew() {
	o.arena = strings.Builder{}
	o.arena.Grow(arenaSize)
	o.from = 0
}

// flush sends the piece that waits. What a Builder holds does not change when
// more is written behind it, so its strings stay good.
func (o *output) flush() {
	if to := o.arena.Len(); to > o.from {
		text := o.arena.String()[o.from:]
		o.from = to
		o.sink(Event{Kind: o.kind, ID: o.id, Text: text})
	}
}

// event sends an event that is no piece.
func (o *output) event(e Event) {
	o.flush()
	o.sink(e)
}

// share returns p as a string, cut from the arena where it is small.
func (o *output) share(p []byte) string {
	if len(p) == 0 {
		return ""
	}
	if len(p) > arenaSize/4 {
		return string(p)
	}
	o.flush()
	if len(p) > o.arena.Cap()-o.arena.Len() {
		o.renew()
	}
	o.arena.Write(p)
	o.from = o.arena.Len()
	return o.arena.String()[o.from-len(p):]
}
