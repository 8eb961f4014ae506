package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// client sends requests to one server, a connection of its own for each, so
// that the generator costs little beside what it measures.
type client struct {
	host string
}

func newClient(base string) (*client, error) {
	u, err := url.Parse(base)
	if err != nil {
		return nil, err
	}
	return &client{host: u.Host}, nil
}

// stream is one open response.
type stream struct {
	conn   net.Conn
	status int
	header map[string]string
	body   *bufio.Reader
}

// open sends a request and reads the head of the response.
func (c *client) open(method, path, body string) (*stream, error) {
	conn, err := net.DialTimeout("tcp", c.host, 30*time.Second)
	if err != nil {
		return nil, err
	}
	s := &stream{conn: conn, header: map[string]string{}}
	if err := s.request(c.host, method, path, body); err != nil {
		conn.Close()
		return nil, err
	}
	return s, nil
}

// request sends a request on the connection of s, which may have answered
// another one before.
func (s *stream) request(host, method, path, body string) error {
	head := fmt.Sprintf("%s %s HTTP/1.1\r\nHost: %s\r\n", method, path, host)
	if body != "" {
		head += "Content-Type: application/json\r\nContent-Length: " + strconv.Itoa(len(body)) + "\r\n"
	}
	if _, err := io.WriteString(s.conn, head+"\r\n"+body); err != nil {
		return err
	}
	r := bufio.NewReaderSize(s.conn, 4096)
	line, err := r.ReadString('\n')
	if err != nil {
		return fmt.Errorf("status line: %w", err)
	}
	if _, err := fmt.Sscanf(line, "HTTP/1.1 %d", &s.status); err != nil {
		return fmt.Errorf("status line %q: %w", line, err)
	}
	clear(s.header)
	for {
		if line, err = r.ReadString('\n'); err != nil {
			return err
		}
		if line = strings.TrimRight(line, "\r\n"); line == "" {
			break
		}
		name, value, _ := strings.Cut(line, ":")
		s.header[strings.ToLower(name)] = strings.TrimSpace(value)
	}
	switch {
	case s.header["transfer-encoding"] == "chunked":
		r = bufio.NewReaderSize(httputil.NewChunkedReader(r), 4096)
	case s.header["content-length"] != "":
		n, err := strconv.ParseInt(s.header["content-length"], 10, 64)
		if err != nil {
			return err
		}
		r = bufio.NewReader(io.LimitReader(r, n))
	}
	s.body = r
	if s.status != 200 {
		text, _ := io.ReadAll(r)
		return fmt.Errorf("%s %s: status %d: %s", method, path, s.status, text)
	}
	return nil
}

func (s *stream) close() { _ = s.conn.Close() }

var (
	dataLine = []byte("data: ")
	deltaKey = []byte(`"delta":"`)
)

// delta returns the text of a line with a delta in it, of either dialect. The
// texts of the measurements need no escapes.
func delta(line []byte) ([]byte, bool) {
	if !bytes.HasPrefix(line, dataLine) {
		return nil, false
	}
	i := bytes.Index(line, deltaKey)
	if i < 0 {
		return nil, false
	}
	text := line[i+len(deltaKey):]
	if i = bytes.IndexByte(text, '"'); i < 0 {
		return nil, false
	}
	return text[:i], true
}

// read reads a stream to its end and calls on for every delta. It returns the
// number of bytes.
func (s *stream) read(on func(text []byte) error) (int64, error) {
	var n int64
	for {
		line, err := s.body.ReadSlice('\n')
		n += int64(len(line))
		if errors.Is(err, bufio.ErrBufferFull) {
			line = bytes.Clone(line)
			var rest []byte
			rest, err = s.body.ReadBytes('\n')
			n += int64(len(rest))
			line = append(line, rest...)
		}
		if text, ok := delta(line); ok {
			if err := on(text); err != nil {
				return n, err
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

var errEnough = errors.New("enough")

// readText reads so many bytes of text and leaves the stream open.
func (s *stream) readText(size int) error {
	_, err := s.read(func(text []byte) error {
		if size -= len(text); size <= 0 {
			return errEnough
		}
		return nil
	})
	switch {
	case errors.Is(err, errEnough):
		return nil
	case err == nil:
		return io.ErrUnexpectedEOF
	}
	return err
}

// readTo reads to the line that names an event of the native dialect.
func (s *stream) readTo(event string) error {
	want := "event: " + event
	for {
		line, err := s.body.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read to %s: %w", event, err)
		}
		if strings.TrimRight(line, "\n") == want {
			return nil
		}
	}
}
