package markup

import (
	"errors"
	"fmt"
	"maps"

	"github.com/inlay-ui/inlay/block"
)

// Found is one thing that a Reader found in a text, in the order of the text.
// Cards do not contain cards: an element inside a tag belongs to it.
type Found struct {
	// Kind is as in Event.
	Kind Kind
	// ID counts the cards of a text; 0 for Text.
	ID int
	// Syntax and Written are of a Start; Written.Body is known at the End.
	Syntax  Syntax
	Written Written
	// Title is what the text itself calls the card; "" for nothing.
	Title string
	// Text is the piece of a Text or a Delta.
	Text string
	// Source is the card as it stood in the text, at an End or a Fallback.
	Source string
	// Unclosed says that a whole card ended without its closing mark.
	Unclosed bool
	// Reason says why a Fallback is one.
	Reason string
}

// Reader takes a text apart into cards and what is between them. It is not
// safe for concurrent use.
type Reader struct {
	scanner *Scanner
	sink    func(Found)
	open    map[int]*opened // by the scanner's id
}

// opened is a block that the scanner has opened.
type opened struct {
	event  Event
	parent *opened
	body   TagBody
}

// NewReader returns a Reader of the cards that may be written in the given
// syntaxes.
func NewReader(cards *Cards, embed []Syntax, sink func(Found)) *Reader {
	return newReader(cards.Config(embed), sink)
}

func newReader(cfg Config, sink func(Found)) *Reader {
	r := &Reader{sink: sink, open: make(map[int]*opened)}
	r.scanner = NewScanner(cfg, r.event)
	return r
}

// Push takes the next piece of the text.
func (r *Reader) Push(text string) { r.scanner.Push([]byte(text)) }

// Close ends the text.
func (r *Reader) Close(reason Reason) { r.scanner.Close(reason) }

func (r *Reader) event(e Event) {
	switch e.Kind {
	case Text:
		r.sink(Found{Kind: Text, Text: e.Text})
	case Start:
		o := &opened{event: e, parent: r.open[e.Parent]}
		o.body.Meta = maps.Clone(e.Meta)
		r.open[e.ID] = o
		if o.parent == nil {
			r.sink(o.found(Start))
		}
	case Delta:
		o := r.open[e.ID]
		if o != nil && o.parent == nil && o.event.Syntax == Fence {
			f := o.found(Delta)
			f.Text = e.Text
			r.sink(f)
		}
	case End, Fallback:
		o := r.open[e.ID]
		delete(r.open, e.ID)
		if o != nil {
			r.end(o, e)
		}
	}
}

// end hands on a card that is over, and gives an element inside one to what it
// stands in.
func (r *Reader) end(o *opened, e Event) {
	o.body.Text = e.Text
	if e.Kind == Fallback {
		o.body.Text = "" // its source, which is the body of what it stands in
	}
	if o.parent != nil {
		if e.Kind == End {
			o.parent.body.Children = append(o.parent.body.Children, TagChild{Name: o.event.Type, TagBody: o.body})
		}
		return
	}
	f := o.found(e.Kind)
	f.Source, f.Unclosed, f.Reason = e.Source, e.Unclosed, e.Reason
	if e.Kind == Fallback {
		f.Source = e.Text
		r.sink(f)
		return
	}
	switch o.event.Syntax {
	case Fence:
		f.Written.Body = e.Payload
	case Tag:
		body, err := o.body.Payload()
		if err != nil { // text and maps of it always encode
			f.Kind, f.Reason = Fallback, BadJSON
			break
		}
		f.Written.Body = body
	}
	r.sink(f)
}

// found is what is known of a card from its beginning.
func (o *opened) found(kind Kind) Found {
	f := Found{Kind: kind, ID: o.event.ID, Syntax: o.event.Syntax, Written: Written{Name: o.event.Type}}
	switch o.event.Syntax {
	case Fence:
		f.Written.Version, f.Title = o.event.Meta[MetaVersion], o.event.Meta["title"]
	case Placeholder:
		f.Written.ID = o.event.Meta[MetaID]
	}
	return f
}

// checkExample says why the example would not be shown, in one of the syntaxes
// in which it is.
func (c *card) checkExample() error {
	own := &Cards{cards: map[string][]*card{c.Name: {c}}}
	for _, s := range c.Syntaxes {
		text, ok := c.example(s)
		if !ok {
			return fmt.Errorf("it cannot be written as a %s: it has no id", s)
		}
		var ended []Found
		other := ""
		r := NewReader(own, []Syntax{s}, func(f Found) {
			switch f.Kind {
			case End, Fallback:
				ended = append(ended, f)
			case Text:
				other += f.Text
			}
		})
		r.Push("\n" + text)
		r.Close(Stop)
		switch {
		case len(ended) != 1 || other != "\n":
			return fmt.Errorf("written as a %s it is not read as one card", s)
		case ended[0].Kind == Fallback:
			return fmt.Errorf("written as a %s it is not read as a card: %s", s, ended[0].Reason)
		}
		if err := c.checkDraft(own, ended[0].Written); err != nil {
			return err
		}
	}
	return nil
}

func (c *card) checkDraft(own *Cards, w Written) error {
	d, err := own.Draft(w)
	var failure *Failure
	switch {
	case errors.As(err, &failure):
		return failure.Err
	case len(d.Dropped) > 0:
		return fmt.Errorf("%s is not for the model to say", d.Dropped[0])
	case len(d.Unknown) > 0:
		return fmt.Errorf("%s is not in the schema", d.Unknown[0])
	case d.Placeholder || len(d.IDs()) > 0:
		return nil
	}
	full, err := block.CompileSchema("card/"+c.Name, c.Type.Schema)
	if err != nil {
		return err
	}
	if err := full.Validate(d.Payload); err != nil {
		return err
	}
	if c.Type.Check != nil {
		return c.Type.Check(d.Payload)
	}
	return nil
}
