package textstream

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/inlay-ui/inlay/model"
	"github.com/inlay-ui/inlay/model/endpoint"
)

// reader finds the text of one answer.
type reader struct {
	on     func(model.Delta) error
	path   pointer
	events map[string]bool
	// heard is told of everything that is no comment.
	heard func()

	text    strings.Builder
	tail    []byte // the beginning of a character whose rest is to come
	end     string // what said that the answer is over
	quirks  []string
	without int  // events in which there was no text where it should be
	refused bool // on returned an error
	// odd says that the text is not where it should be, and sample is the event
	// that shows it.
	odd    oddity
	sample string
}

// oddity is what the log is told of an answer.
type oddity string

const (
	isJSON    oddity = "the model's answer is JSON: say with --text-path (model.text_path) where in it the text is, such as /delta"
	plainJSON oddity = "the model's answer is JSON that calls itself text/plain: send it as text/event-stream or application/json, and say with --text-path (model.text_path) where in it the text is, such as /delta"
	notJSON   oddity = "an event of the model is not JSON, in which --text-path (model.text_path) could be: leave it out where the data is the text"
	elsewhere oddity = "no event of the model's answer has text at --text-path (model.text_path): say where it is"
)

// isObject reports whether data is a JSON object.
func isObject(data []byte) bool {
	data = bytes.TrimSpace(data)
	return len(data) > 0 && data[0] == '{' && json.Valid(data)
}

// lacks remembers the first event in which there is no text.
func (r *reader) lacks(doc []byte) {
	if r.without++; r.without == 1 {
		r.sample = string(doc)
	}
}

// alive are events that keep a connection, unless Events names them.
var alive = map[string]bool{"ping": true, "heartbeat": true, "keepalive": true, "keep-alive": true}

// over are events that end an answer.
var over = map[string]bool{"done": true, "end": true}

// read reads a body to its end mark or to its end. The response holds what
// arrived, whatever the error.
func (r *reader) read(contentType string, from io.Reader) (model.Response, error) {
	kind, _, _ := mime.ParseMediaType(contentType) // "" where it cannot be read
	buf := bufio.NewReader(from)
	var err error
	switch {
	case kind == "text/html":
		err = bad("the answer is a web page, not a stream of text")
	case kind == "text/plain" && !isEvents(buf):
		err = r.plain(buf)
		if head, _, _ := strings.Cut(strings.TrimSpace(r.text.String()), "\n"); isObject([]byte(head)) || isObject([]byte(r.text.String())) {
			r.odd, r.sample = plainJSON, r.text.String()
		}
	default:
		frames := endpoint.NewFrames(buf)
		var document bool
		if document, err = frames.IsJSON(); document {
			err = r.document(frames)
		} else if err == nil {
			err = r.stream(frames)
		}
	}
	finish := model.FinishStop
	switch {
	case err == nil, r.refused:
	case err == io.EOF:
		err = nil
	case errors.Is(err, io.ErrUnexpectedEOF):
		r.quirk("connection_closed")
		err, finish = nil, model.FinishIncomplete
	case errors.Is(err, endpoint.ErrTooLong):
		err = &model.Error{Code: model.CodeBadResponse, Message: err.Error(), Err: err}
	}
	if err == nil && len(r.tail) > 0 {
		r.quirk("cut_character")
		err = r.say("", true)
	}
	if err == nil && finish == model.FinishStop && r.text.Len() == 0 && r.without > 0 {
		r.odd = elsewhere
		err = bad("none of its %d events has text where text_path says", r.without)
	}
	if err != nil {
		finish = model.FinishIncomplete
	}
	return model.Response{Text: r.text.String(), Finish: finish, FinishRaw: r.end, Quirks: r.quirks}, err
}

func bad(format string, args ...any) error {
	return &model.Error{Code: model.CodeBadResponse, Message: fmt.Sprintf(format, args...)}
}

func (r *reader) quirk(name string) {
	if !slices.Contains(r.quirks, name) {
		r.quirks = append(r.quirks, name)
	}
}

// isEvents reports whether a text that calls itself plain begins as
// server-sent events do.
func isEvents(buf *bufio.Reader) bool {
	for n := 1; ; n++ {
		head, err := buf.Peek(n)
		if err != nil {
			return false
		}
		possible := false
		for _, field := range []string{":", "data:", "event:", "id:", "retry:"} {
			if field == string(head) {
				return true
			}
			possible = possible || strings.HasPrefix(field, string(head))
		}
		if !possible {
			return false
		}
	}
}

// plain reads a body that is the text.
func (r *reader) plain(from io.Reader) error {
	piece := make([]byte, 4<<10)
	for {
		n, err := from.Read(piece)
		if n > 0 {
			r.heard()
			if err := r.say(string(piece[:n]), false); err != nil {
				return err
			}
		}
		if err != nil {
			return err
		}
	}
}

// document reads an answer that is one JSON document.
func (r *reader) document(frames *endpoint.Frames) error {
	doc, err := frames.Rest()
	if err != nil {
		return err
	}
	r.quirk("not_streamed")
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) != nil {
		return bad("the answer is neither a stream nor JSON")
	}
	if r.path == nil {
		if err := reported(doc); err != nil {
			return err
		}
		r.odd, r.sample = isJSON, string(doc)
		return bad("the answer is JSON, not a stream of text: say with text_path where its text is")
	}
	return r.piece(doc)
}

// stream reads server-sent events.
func (r *reader) stream(frames *endpoint.Frames) error {
	for {
		fr, err := frames.Next()
		if frames.Odd > 0 {
			r.quirk("line_end_in_data")
		}
		if err != nil {
			return err
		}
		if fr.Data != nil {
			r.heard()
		}
		if fr.Cut {
			r.quirk("cut_frame")
		}
		name := fr.Event
		if name == "" {
			name = "message"
		}
		switch mark := bytes.TrimSpace(fr.Data); {
		case string(mark) == "[DONE]":
			r.end = "[DONE]"
			return nil
		case name == "error":
			return endpoint.ReadError(fr.Data).Model(0)
		case r.events[name]:
		case over[name]:
			r.end = name
			return nil
		case fr.Data == nil, alive[name], r.events != nil:
			continue
		}
		if r.path == nil {
			if r.text.Len() == 0 && isObject(fr.Data) {
				r.odd, r.sample = isJSON, string(fr.Data)
			}
			err = r.say(string(fr.Data), false)
		} else {
			err = r.event(fr)
		}
		if err != nil {
			return err
		}
	}
}

// event takes the text from JSON.
func (r *reader) event(fr endpoint.Frame) error {
	if len(bytes.TrimSpace(fr.Data)) == 0 {
		return nil
	}
	if fr.Cut && !json.Valid(fr.Data) {
		return io.ErrUnexpectedEOF
	}
	return r.piece(fr.Data)
}

// piece takes the text from a document.
func (r *reader) piece(doc []byte) error {
	at, err := r.path.in(doc)
	if err != nil {
		r.odd, r.sample = notJSON, string(doc)
		return bad("an event is not JSON, as text_path wants it")
	}
	var text *string
	switch {
	case at == nil:
		if err := reported(doc); err != nil {
			return err
		}
		r.lacks(doc)
		return nil
	case json.Unmarshal(at, &text) != nil:
		r.quirk("odd_type")
		r.lacks(doc)
		return nil
	case text == nil:
		return nil
	}
	return r.say(*text, false)
}

// reported is the error that a document reports; nil for none.
func reported(doc []byte) error {
	var object map[string]json.RawMessage
	if json.Unmarshal(doc, &object) != nil {
		return nil
	}
	switch raw := object["error"]; string(raw) {
	case "", "null", "false", `""`, "{}", "[]", "0":
	default:
		return endpoint.ReadError(doc).Model(0)
	}
	if e := endpoint.ReadError(doc); e.Status != 0 && e.Message != "" {
		return e.Model(0)
	}
	return nil
}

// say hands on a piece of text. What a sender cut within a character waits for
// its rest, of which there is none when the text is over.
func (r *reader) say(piece string, last bool) error {
	if len(r.tail) > 0 {
		piece, r.tail = string(r.tail)+piece, nil
	}
	if n := incomplete(piece); n > 0 && !last {
		r.tail = []byte(piece[len(piece)-n:])
		piece = piece[:len(piece)-n]
	}
	if piece == "" {
		return nil
	}
	piece = strings.ToValidUTF8(piece, "\uFFFD")
	r.text.WriteString(piece)
	err := r.on(model.Delta{Text: piece})
	r.refused = r.refused || err != nil
	return err
}

// incomplete is how many bytes at the end begin a character and are not all of
// it.
func incomplete(s string) int {
	for n := 1; n < utf8.UTFMax && n <= len(s); n++ {
		c := s[len(s)-n]
		if utf8.RuneStart(c) {
			if utf8.FullRuneInString(s[len(s)-n:]) {
				return 0
			}
			return n
		}
	}
	return 0
}
