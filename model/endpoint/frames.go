package endpoint

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxFrame limits one line, one frame and one plain body.
const MaxFrame = 16 << 20

// ErrTooLong is a line, a frame or a plain body beyond 16 MiB.
var ErrTooLong = errors.New("a line of the stream is longer than 16 MiB")

// Frame is one event of a stream.
type Frame struct {
	Event string
	// Data are its data lines, joined by LF; nil for an event without any.
	Data []byte
	// Cut says that the stream ended before the blank line that closes a
	// frame.
	Cut bool
}

// Frames reads server-sent events. Lines end in LF, CRLF or a lone CR, and a
// line is handed on as soon as its end is seen: nothing waits for the byte
// after a CR.
type Frames struct {
	// Odd counts the lines so far that are of no field of server-sent events:
	// mostly what follows a line end that the sender wrote into its data.
	Odd int

	r      *bufio.Reader
	line   []byte
	skipLF bool
	start  bool
	end    error
}

// NewFrames reads the events of a body.
func NewFrames(r io.Reader) *Frames {
	return &Frames{r: bufio.NewReader(r), start: true}
}

// IsJSON reports whether the body is one JSON object instead of a stream: its
// first byte after a byte order mark and blanks is a brace.
func (f *Frames) IsJSON() (bool, error) {
	if err := f.skipBOM(); err != nil {
		return false, err
	}
	for {
		b, err := f.r.ReadByte()
		if err != nil {
			return false, err
		}
		switch b {
		case ' ', '\t', '\r', '\n':
		default:
			return b == '{', f.r.UnreadByte()
		}
	}
}

// skipBOM drops a UTF-8 byte order mark at the very start.
func (f *Frames) skipBOM() error {
	if !f.start {
		return nil
	}
	f.start = false
	head, err := f.r.Peek(1)
	if err != nil {
		return err
	}
	if head[0] != 0xEF {
		return nil
	}
	if head, _ = f.r.Peek(3); bytes.Equal(head, []byte("\xEF\xBB\xBF")) {
		_, err = f.r.Discard(3)
	}
	return err
}

// Rest reads the remaining body.
func (f *Frames) Rest() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f.r, MaxFrame+1))
	if err == nil && len(data) > MaxFrame {
		err = ErrTooLong
	}
	return data, err
}

// readLine returns the next line without its end; the slice is valid until
// the next call. A last line without an end is returned with a nil error, the
// reader's error follows on the next call.
func (f *Frames) readLine() ([]byte, error) {
	f.line = f.line[:0]
	if f.end != nil {
		return nil, f.end
	}
	for {
		if _, err := f.r.Peek(1); err != nil {
			f.end = err
			if len(f.line) > 0 {
				return f.line, nil
			}
			return nil, err
		}
		buf, _ := f.r.Peek(f.r.Buffered())
		if f.skipLF {
			f.skipLF = false
			if buf[0] == '\n' {
				f.discard(1)
				continue
			}
		}
		i := bytes.IndexByte(buf, '\n')
		if i < 0 {
			i = len(buf)
		}
		if cr := bytes.IndexByte(buf[:i], '\r'); cr >= 0 {
			i = cr
		}
		if len(f.line)+i > MaxFrame {
			return nil, ErrTooLong
		}
		f.line = append(f.line, buf[:i]...)
		if i == len(buf) {
			f.discard(i)
			continue
		}
		f.skipLF = buf[i] == '\r'
		f.discard(i + 1)
		return f.line, nil
	}
}

// discard drops n bytes that are known to be buffered.
func (f *Frames) discard(n int) {
	if _, err := f.r.Discard(n); err != nil {
		panic("endpoint: buffered bytes are gone: " + err.Error())
	}
}

// Next returns the next frame with data or an event name. Comments, blank
// frames and fields that are not used here are passed over. A frame that the
// end of the stream cuts off is returned too; the error comes with the next
// call.
func (f *Frames) Next() (Frame, error) {
	var fr Frame
	for {
		line, err := f.readLine()
		switch {
		case err != nil && fr.Data != nil:
			fr.Cut = true
			return fr, nil
		case err != nil:
			return Frame{}, err
		case len(line) == 0 && (fr.Data != nil || fr.Event != ""):
			return fr, nil
		case len(line) == 0:
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(fr.Data)+len(value) >= MaxFrame {
				return Frame{}, ErrTooLong
			}
			if fr.Data == nil {
				fr.Data = make([]byte, 0, len(value))
			} else {
				fr.Data = append(fr.Data, '\n')
			}
			fr.Data = append(fr.Data, value...)
		case "event":
			fr.Event = string(value)
		case "", "id", "retry":
		default:
			f.Odd++
		}
	}
}
