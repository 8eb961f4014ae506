// Package markup finds cards in Markdown that a model is still writing.
//
// It owns the three ways in which text can hold a card (a fence, a placeholder,
// a tag), the scanner that tells them from the text around them while it
// streams, and the tokenizer that turns the open body of a card into patches.
// It may import block, event, store, emit and internal packages; the scanner
// itself needs none of them. It must never know of models, agents, storage or
// HTTP, never keep a whole answer in memory, and never execute or fetch what a
// card says: bodies and attributes are data.
//
// # Laws
//
// Three things hold for every input, and the tests hold the scanner to them:
//
//   - Lossless: the texts, and the sources of the blocks at top level, in
//     order, are the input (after NUL and invalid UTF-8 became U+FFFD).
//   - Independent of chunks: however the input is cut, the events are the
//     same once neighbouring texts, and neighbouring deltas of one block, are
//     joined.
//   - No false card: what is recognised is text in the eyes of CommonMark, or
//     the opening of a fence. Nothing is recognised in code spans, in fenced
//     or indented code, after a backslash, in raw HTML, in the destination of
//     a link. Where that could not be known within the bounded look-ahead, the
//     scanner takes text for text.
//
// # The three syntaxes
//
// A fence is a code fence whose info string begins with a registered name,
// perhaps with a version and attributes, and whose body is one JSON object:
//
//	```ProductCard@1.2 title="Our pick"
//	{"id": "p-17"}
//	```
//
// CommonMark's rules hold: indentation, containers, the closer at least as long
// as the opener. Other fences are ordinary code and stay text.
//
// A placeholder is a registered name and an identifier, within a line:
//
//	The train [(TrainCard:G1234)] is direct.
//
// A tag is a registered element; its children are elements only inside it:
//
//	<artifact id="a1" title="Setup"><action type="shell">npm ci</action></artifact>
//
// A raw body ends at its exact closing tag. Anything but registered children
// and the closing tag belongs to the body as written, blank lines and fences
// included.
//
// # Bounds
//
// Text waits only as long as it could still become a card, and never longer
// than [Config] allows: a fence's info string, a tag, an identifier, and 128
// bytes at the beginning of a line. A body that outgrows Config.MaxBody falls
// back to its source. Every byte is looked at a small, fixed number of times.
//
// # Where the scanner is stricter than CommonMark
//
// A backtick without a partner suppresses recognition up to the end of its
// paragraph, as whether it has one is known only there; Config.Holdback lifts
// that for placeholders. The same holds after backticks inside what may be a
// link's destination or an unfinished HTML tag. A carriage return alone does
// not end a line. A line nested deeper than a hundred columns of container
// markers ends recognition for the rest of the text.
package markup
