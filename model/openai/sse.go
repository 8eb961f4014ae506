package openai

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// maxFrame limits one line, one frame and one plain JSON body.
const maxFrame = 16 << 20

var errTooLong = errors.New("a line of the stream is longer than 16 MiB")

// frame is one event of the stream.
type frame struct {
	event string
	data  []byte
	// cut says that the stream ended before the blank line that closes a
	// frame.
	cut bool
}

// frames reads server-sent events. Lines end in LF, CRLF or a lone CR, and a
// line is handed on as soon as its end is seen: nothing waits for the byte
// after a CR.
type frames struct {
	r      *bufio.Reader
	line   []byte
	skipLF bool
	start  bool
	end    error
}

func newFrames(r io.Reader) *frames {
	return &frames{r: bufio.NewReader(r), start: true}
}

// isJSON reports whether the body is one JSON object instead of a stream: its
// first byte after a byte order mark and blanks is a brace.
func (f *frames) isJSON() (bool, error) {
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
func (f *frames) skipBOM() error {
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

// rest reads the remaining body.
func (f *frames) rest() ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(f.r, maxFrame+1))
	if err == nil && len(data) > maxFrame {
		err = errTooLong
	}
	return data, err
}

// readLine returns the next line without its end; the slice is valid until
// the next call. A last line without an end is returned with a nil error, the
// reader's error follows on the next call.
func (f *frames) readLine() ([]byte, error) {
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
		if len(f.line)+i > maxFrame {
			return nil, errTooLong
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
func (f *frames) discard(n int) {
	if _, err := f.r.Discard(n); err != nil {
		panic("openai: buffered bytes are gone: " + err.Error())
	}
}

// next returns the next frame with data or an event name. Comments, blank
// frames and fields that are not used here are passed over. A frame that the
// end of the stream cuts off is returned too; the error comes with the next
// call.
func (f *frames) next() (frame, error) {
	var fr frame
	lines := 0
	for {
		line, err := f.readLine()
		switch {
		case err != nil && lines > 0:
			fr.cut = true
			return fr, nil
		case err != nil:
			return frame{}, err
		case len(line) == 0 && (len(fr.data) > 0 || fr.event != ""):
			return fr, nil
		case len(line) == 0:
			fr, lines = frame{}, 0
			continue
		}
		name, value, _ := bytes.Cut(line, []byte(":"))
		value = bytes.TrimPrefix(value, []byte(" "))
		switch string(name) {
		case "data":
			if len(fr.data)+len(value) >= maxFrame {
				return frame{}, errTooLong
			}
			if len(fr.data) > 0 {
				fr.data = append(fr.data, '\n')
			}
			fr.data = append(fr.data, value...)
			lines++
		case "event":
			fr.event = string(value)
		}
	}
}
