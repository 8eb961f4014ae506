package markup

import (
	"maps"
	"slices"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// Source writes a card the way a model would have, to be read where the card is
// not shown: what any version of it knows as the server's is left out.
func (d Draft) Source() string {
	payload := d.Payload
	if d.said != nil {
		payload = d.said
	}
	if d.head != "" {
		return writeFenced(d.head, payload)
	}
	return writeFence(d.Card, payload)
}

// Shown is what is read where the card is not shown: its source as it was
// written, or, where that says something that is the server's, Source.
func (d Draft) Shown(written string) string {
	if d.other {
		return d.Source()
	}
	return written
}

// say fills in what of a card of the name may be shown in words.
func (c *Cards) say(d *Draft, name string) {
	if d.Placeholder || d.Payload == nil {
		return
	}
	v, err := decode(d.Payload)
	if err != nil {
		return
	}
	versions := c.versions(name)
	if len(versions) == 0 {
		return
	}
	names := make(map[string]bool)
	left := false
	for _, one := range versions {
		for _, field := range one.schema.serverFields() {
			if parts := tokens(field); parts[len(parts)-1] != "*" {
				names[parts[len(parts)-1]] = true
			}
		}
		var dropped []string
		v, dropped = one.schema.strip(v)
		left = left || len(dropped) > 0
	}
	known := d.schema
	if known == nil {
		known = versions[len(versions)-1].schema
	}
	left = known.misplaced(v, names) || left
	d.other = left || len(d.Dropped) > 0 || d.repeated
	if raw, err := jsonx.Marshal(v); err == nil && left {
		d.said = raw
	}
}

// misplaced takes the named members out of where a schema knows none, and
// reports whether there were any: what is the server's is not the model's to say
// because it stands in the wrong place.
func (s *cardSchema) misplaced(v any, names map[string]bool) (found bool) {
	var walk func(v any, of applied)
	walk = func(v any, of applied) {
		switch v := v.(type) {
		case map[string]any:
			for _, name := range slices.Sorted(maps.Keys(v)) {
				m := s.member(of, name)
				if len(m) == 0 && names[name] {
					delete(v, name)
					found = true
					continue
				}
				walk(v[name], m)
			}
		case []any:
			for i, one := range v {
				walk(one, s.element(of, i))
			}
		}
	}
	walk(v, s.at())
	return found
}
