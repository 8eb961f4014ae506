package markup

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/inlay-ui/inlay/internal/jsonx"
)

// ErrJSON is wrapped by every error of a JSONStream.
var ErrJSON = errors.New("partial JSON")

// maxJSONDepth is how deep arrays and objects may be nested.
const maxJSONDepth = 100

// PatchOp is one operation of an RFC 6902 patch: add or replace.
type PatchOp struct {
	Op    string          `json:"op"`
	Path  string          `json:"path"`
	Value json.RawMessage `json:"value"`
}

// JSONStream turns JSON that is still being written into patches. What the
// patches build is at every moment a part of the whole that may be shown: a
// value never changes its type, a number or literal appears when it is
// complete, strings and arrays only grow, a member appears when the type of its
// value is known. (12 on its way to 1200 is never seen.) A string is never cut
// within a character or an escape.
//
// What was built begins as null. A member that occurs twice is an error, as
// two readers could see two values. It is not safe for concurrent use.
type JSONStream struct {
	raw    []byte // the whole text
	repair repair
	ops    []PatchOp
	err    error
	state  jsonState
	stack  []jsonFrame

	token []byte // a number, literal or key so far
	str   jsonString

	// While op.Value is being built, built is its text so far and depth how
	// many frames were open before it.
	op    PatchOp
	built []byte
	depth int
	busy  bool
}

// jsonState says what may come next.
type jsonState uint8

const (
	jsonValue  jsonState = iota // a value
	jsonFirst                   // a value, or the end of the array
	jsonKey                     // a key
	jsonKeyEnd                  // a key, or the end of the object
	jsonColon
	jsonNext // a comma, or the end of the frame
	jsonInString
	jsonInKey
	jsonInToken // in a number or literal
	jsonDone
)

// jsonFrame is an open array or object.
type jsonFrame struct {
	object bool
	key    string // of the member that is being read
	index  int    // of the item that is being read
	keys   map[string]struct{}
	filled bool // something was written into it
}

// jsonString is the string that is being read.
type jsonString struct {
	text    []byte // as written, without what might be half of a character
	pending []byte // an escape, or half of a surrogate pair
	shown   int    // how much of text the patches have shown; -1: nothing, not even its type
	escape  int    // bytes of the escape in hand; 0 outside of one
}

// NewJSONStream returns a JSONStream at the beginning of a text.
func NewJSONStream() *JSONStream {
	// NUL is no text of JSON, nor is what it would become.
	return &JSONStream{repair: repair{keepNUL: true}}
}

// Push takes the next piece of the text, cut anywhere, and returns what it adds
// to what was built. Bytes that are no UTF-8 become U+FFFD. With an error come
// the operations for all that stands before it, however that was cut; after it
// Push returns nothing else.
func (j *JSONStream) Push(p []byte) ([]PatchOp, error) {
	if j.err != nil {
		return nil, j.err
	}
	j.ops = nil
	j.scan(j.repair.next(p))
	j.show()
	return j.ops, j.err
}

// Flush returns the operations that show what Push has kept back of a text that
// is still open, because it had grown by little since it was shown.
func (j *JSONStream) Flush() []PatchOp {
	if !j.Behind() {
		return nil
	}
	j.ops = nil
	j.str.shown = len(j.str.text)
	j.ops = append(j.ops, PatchOp{Op: "replace", Path: j.path(), Value: j.str.quoted(nil)})
	return j.ops
}

// Behind reports whether Flush has something to show.
func (j *JSONStream) Behind() bool {
	return j.err == nil && j.state == jsonInString && j.str.shown >= 0 && len(j.str.text) > j.str.shown
}

// Close ends the text and returns it, if it was one whole JSON value.
func (j *JSONStream) Close() (json.RawMessage, error) {
	if j.err != nil {
		return nil, j.err
	}
	if rest := j.repair.end(); len(rest) > 0 {
		j.scan(rest)
	}
	if j.err == nil && j.state == jsonInToken && len(j.stack) == 0 {
		j.endToken()
	}
	if j.err == nil && j.state != jsonDone {
		j.err = fmt.Errorf("%w: %w", ErrJSON, io.ErrUnexpectedEOF)
	}
	if j.err != nil {
		return nil, j.err
	}
	return j.raw, nil
}

func (j *JSONStream) fail(format string, args ...any) {
	if j.err == nil {
		j.err = fmt.Errorf("%w: byte %d: %s", ErrJSON, len(j.raw), fmt.Sprintf(format, args...))
	}
}

func (j *JSONStream) scan(p []byte) {
	for i := 0; i < len(p) && j.err == nil; {
		if j.state == jsonInString && j.str.escape == 0 && len(j.str.pending) == 0 {
			if n := plainString(p[i:]); n > 0 {
				j.raw = append(j.raw, p[i:i+n]...)
				j.str.text = append(j.str.text, p[i:i+n]...)
				i += n
				continue
			}
		}
		if j.take(p[i]) {
			j.raw = append(j.raw, p[i])
			i++
		}
	}
}

// plainString returns how many bytes at the beginning of p are text of a
// string and nothing else.
func plainString(p []byte) int {
	for i, c := range p {
		if c == '"' || c == '\\' || c < ' ' {
			return i
		}
	}
	return len(p)
}

// take takes one byte. It returns false when the byte has to be looked at
// again, as it is not part of what it ended.
func (j *JSONStream) take(c byte) bool {
	switch j.state {
	case jsonInString:
		j.stringByte(c)
		return true
	case jsonInKey:
		j.keyByte(c)
		return true
	case jsonInToken:
		if letter(c) || digit(c) || c == '-' || c == '+' || c == '.' {
			if j.token = append(j.token, c); !tokenBegins(j.token) {
				j.fail("not a number or literal")
			}
			return true
		}
		j.endToken()
		return false
	}
	if c == ' ' || c == '\t' || c == '\r' || c == '\n' {
		return true
	}
	switch {
	case j.state == jsonColon && c == ':':
		j.state = jsonValue
	case j.state == jsonNext && c == ',':
		j.nextItem()
	case (j.state == jsonNext || j.state == jsonFirst) && c == ']' && !j.top().object,
		(j.state == jsonNext || j.state == jsonKeyEnd) && c == '}' && j.top().object:
		j.endFrame(c)
	case (j.state == jsonKey || j.state == jsonKeyEnd) && c == '"':
		j.state = jsonInKey
		j.token = append(j.token[:0], c)
		j.str.escape = 0
	case j.state == jsonValue || j.state == jsonFirst:
		j.beginValue(c)
	default:
		j.fail("unexpected %q", c)
	}
	return true
}

func (j *JSONStream) top() *jsonFrame { return &j.stack[len(j.stack)-1] }

func (j *JSONStream) nextItem() {
	f := j.top()
	if f.object {
		j.state = jsonKey
		return
	}
	f.index++
	j.state = jsonValue
}

func (j *JSONStream) beginValue(c byte) {
	switch {
	case c == '{', c == '[':
		if len(j.stack) == maxJSONDepth {
			j.fail("nested deeper than %d", maxJSONDepth)
			return
		}
		j.openValue()
		j.built = append(j.built, c)
		j.stack = append(j.stack, jsonFrame{object: c == '{'})
		if j.state = jsonFirst; c == '{' {
			j.state = jsonKeyEnd
		}
	case c == '"':
		j.state = jsonInString
		j.str = jsonString{text: j.str.text[:0], pending: j.str.pending[:0], shown: -1}
	case digit(c), c == '-', c == 't', c == 'f', c == 'n':
		j.state = jsonInToken
		j.token = append(j.token[:0], c)
	default:
		j.fail("unexpected %q", c)
	}
}

// openValue makes room for a value: inside the value that is being built, or
// in an operation of its own.
func (j *JSONStream) openValue() {
	if j.busy {
		f := j.top()
		if f.filled {
			j.built = append(j.built, ',')
		}
		if f.object {
			j.built = append(jsonx.AppendString(j.built, f.key), ':')
		}
	} else {
		j.busy, j.depth = true, len(j.stack)
		j.op = PatchOp{Op: "add", Path: j.path()}
		j.built = nil
	}
	if len(j.stack) > 0 {
		j.top().filled = true
	}
}

// closeValue ends the operation when its value is complete.
func (j *JSONStream) closeValue() {
	if j.busy && len(j.stack) == j.depth {
		j.flush()
	}
	if j.state = jsonNext; len(j.stack) == 0 {
		j.state = jsonDone
	}
}

func (j *JSONStream) flush() {
	j.op.Value = j.built
	j.ops = append(j.ops, j.op)
	j.busy, j.built = false, nil
}

func (j *JSONStream) endFrame(c byte) {
	j.stack = j.stack[:len(j.stack)-1]
	if j.busy {
		j.built = append(j.built, c)
	}
	j.closeValue()
}

// path is the JSON Pointer of the value that is being read.
func (j *JSONStream) path() string {
	tokens := make([]string, len(j.stack))
	for i, f := range j.stack {
		if f.object {
			tokens[i] = f.key
		} else {
			tokens[i] = strconv.Itoa(f.index)
		}
	}
	return jsonx.Pointer(tokens...)
}

func (j *JSONStream) endToken() {
	if !json.Valid(j.token) {
		j.fail("not a number or literal")
		return
	}
	j.openValue()
	j.built = append(j.built, j.token...)
	j.closeValue()
}

// maxNumber is how long a number may be written.
const maxNumber = 1 << 10

// tokenBegins says whether a number or literal can begin so.
func tokenBegins(b []byte) bool {
	for _, word := range []string{"true", "false", "null"} {
		if b[0] == word[0] {
			return len(b) <= len(word) && word[:len(b)] == string(b)
		}
	}
	return len(b) <= maxNumber
}

func (j *JSONStream) keyByte(c byte) {
	switch {
	case c < ' ':
		j.fail("control character in a key")
	case j.str.escape > 0:
		if !escapeGoesOn(j.str.escape, c) {
			j.fail("unknown escape")
			return
		}
		if j.str.escape++; j.str.escape == 6 || j.str.escape == 2 && c != 'u' {
			j.str.escape = 0
		}
	case c == '\\':
		j.str.escape = 1
	case c == '"':
		j.token = append(j.token, c)
		j.endKey()
		return
	}
	j.token = append(j.token, c)
}

func (j *JSONStream) endKey() {
	f := j.top()
	if err := json.Unmarshal(j.token, &f.key); err != nil {
		j.fail("key: %v", err)
		return
	}
	if _, twice := f.keys[f.key]; twice {
		j.fail("key %q occurs twice", f.key)
		return
	}
	if f.keys == nil {
		f.keys = make(map[string]struct{})
	}
	f.keys[f.key] = struct{}{}
	j.state = jsonColon
}

// escapeGoesOn reports whether c may be the next byte of an escape of which
// there are n.
func escapeGoesOn(n int, c byte) bool {
	if n == 1 {
		return strings.IndexByte(`"\/bfnrtu`, c) >= 0
	}
	return digit(c) || c|0x20 >= 'a' && c|0x20 <= 'f'
}

// stringByte takes a byte of a string value.
func (j *JSONStream) stringByte(c byte) {
	s := &j.str
	switch {
	case c < ' ':
		j.fail("control character in a string")
	case s.escape > 0:
		if !escapeGoesOn(s.escape, c) {
			j.fail("unknown escape")
			return
		}
		s.pending = append(s.pending, c)
		if s.escape++; s.escape == 6 || s.escape == 2 && c != 'u' {
			s.endEscape()
		}
	case c == '\\':
		s.escape = 1
		s.pending = append(s.pending, c)
	default:
		// No second half follows that would make the first a character.
		s.settle()
		if c == '"' {
			j.endString()
			return
		}
		s.text = append(s.text, c)
	}
}

// lone is what half of a surrogate pair becomes that is alone.
const lone = `\ufffd`

// endEscape ends an escape. The first half of a surrogate pair waits for the
// second.
func (s *jsonString) endEscape() {
	s.escape = 0
	last := s.pending[max(0, len(s.pending)-6):]
	first := len(s.pending) - len(last)
	if len(s.pending) < 6 || last[1] != 'u' {
		// A short escape, perhaps behind half of a pair.
		if len(s.pending) > 2 {
			s.text = append(append(s.text, lone...), s.pending[6:]...)
		} else {
			s.text = append(s.text, s.pending...)
		}
		s.pending = s.pending[:0]
		return
	}
	half := surrogate(last)
	switch {
	case half == 1:
		if first > 0 {
			s.text = append(s.text, lone...)
			s.pending = slices.Delete(s.pending, 0, first)
		}
		return
	case half == 2 && first > 0:
		s.text = append(s.text, s.pending...)
	case half == 2:
		s.text = append(s.text, lone...)
	default:
		if first > 0 {
			s.text = append(s.text, lone...)
		}
		s.text = append(s.text, last...)
	}
	s.pending = s.pending[:0]
}

// settle gives up the wait for the second half of a pair.
func (s *jsonString) settle() {
	if len(s.pending) > 0 {
		s.text = append(s.text, lone...)
		s.pending = s.pending[:0]
	}
}

// surrogate says whether \uXXXX is the first or the second half of a pair.
func surrogate(escape []byte) int {
	if escape[2]|0x20 != 'd' {
		return 0
	}
	switch c := escape[3] | 0x20; {
	case c >= '8' && c <= '9', c == 'a', c == 'b':
		return 1
	case c >= 'c' && c <= 'f':
		return 2
	}
	return 0
}

// quoted returns what may be shown of the string, closed.
func (s *jsonString) quoted(dst []byte) []byte {
	dst = append(dst, '"')
	dst = append(dst, s.text...)
	return append(dst, '"')
}

func (j *JSONStream) endString() {
	s := &j.str
	if s.shown < 0 {
		j.openValue()
		j.built = s.quoted(j.built)
	} else if s.shown < len(s.text) {
		j.ops = append(j.ops, PatchOp{Op: "replace", Path: j.path(), Value: s.quoted(nil)})
	}
	j.closeValue()
}

// show closes, for now, what was read of open values, so that it can be shown.
// An open string is shown again only when it has grown by an eighth: a patch
// cannot append, and showing it each time would be quadratic. Before an error it
// is shown for the last time.
func (j *JSONStream) show() {
	s := &j.str
	if j.state == jsonInString {
		n := len(s.text)
		switch {
		case s.shown < 0:
			j.openValue()
			j.built = s.quoted(j.built)
			s.shown = n
		case n > s.shown && (n-s.shown >= s.shown/8 || j.err != nil):
			j.ops = append(j.ops, PatchOp{Op: "replace", Path: j.path(), Value: s.quoted(nil)})
			s.shown = n
		}
	}
	if j.busy {
		for i := len(j.stack) - 1; i >= j.depth; i-- {
			if j.stack[i].object {
				j.built = append(j.built, '}')
			} else {
				j.built = append(j.built, ']')
			}
		}
		j.flush()
	}
}
