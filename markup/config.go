package markup

// The limits that hold where Config names none, in bytes.
const (
	DefaultMaxBody = 64 << 10
	DefaultMaxInfo = 1 << 10
	DefaultMaxTag  = 4 << 10
	DefaultMaxID   = 128
)

// Config says which syntaxes and names a Scanner recognises. Names begin with
// a letter and consist of ASCII letters, digits and "_", "-", "."; others are
// never found.
type Config struct {
	// Fences are the names that make a code fence a card; nil switches the
	// syntax off.
	Fences []string
	// Placeholders are the names before the identifier of a placeholder; nil
	// switches the syntax off.
	Placeholders []string
	// Tags are the elements at top level; nil switches the syntax off.
	Tags map[string]TagSpec
	// MaxBody limits the body of a fence and what is inside a tag at top level.
	MaxBody int
	// MaxInfo limits the info string of a fence.
	MaxInfo int
	// MaxTag limits an opening or closing tag.
	MaxTag int
	// MaxID limits the identifier of a placeholder.
	MaxID int
	// Holdback is how many bytes of text, from a placeholder on, may wait for
	// the answer to whether the backtick before it begins a code span. With 0
	// such a placeholder is text.
	Holdback int
	// Lenient accepts what models are known to write wrongly.
	Lenient Lenient
}

// TagSpec describes a registered element.
type TagSpec struct {
	// Children are the elements recognised directly inside.
	Children map[string]TagSpec
	// Raw makes everything up to the exact closing tag the body; it has no
	// children then.
	Raw bool
}

// Lenient holds deviations from CommonMark and from the card format, all off
// by default.
type Lenient struct {
	// CloseInline lets a fence end on the line on which its object does:
	// {"id": 1}```
	CloseInline bool
	// OpenInline lets a fence begin within a line of text. Its three backticks
	// would be a code span otherwise.
	OpenInline bool
	// FenceAsObjectArray accepts a fence whose body is an array of objects. The
	// payload is that array.
	FenceAsObjectArray bool
}

func (c Config) withDefaults() Config {
	for _, limit := range []struct {
		at      *int
		initial int
	}{
		{&c.MaxBody, DefaultMaxBody},
		{&c.MaxInfo, DefaultMaxInfo},
		{&c.MaxTag, DefaultMaxTag},
		{&c.MaxID, DefaultMaxID},
	} {
		if *limit.at <= 0 {
			*limit.at = limit.initial
		}
	}
	return c
}
