// Command micro writes events at a pace to every connection, either with the
// product's SSE writer or straight to the hijacked connection, and nothing
// else: what the writer itself costs.
package main

import (
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"strconv"
	"time"

	"github.com/inlay-ui/inlay/event"
	"github.com/inlay-ui/inlay/internal/sse"
)

func main() {
	mode := flag.String("mode", "natural", "natural (internal/sse) or raw (hijacked connection)")
	every := flag.Duration("every", 50*time.Millisecond, "time between two events")
	events := flag.Int("events", 200, "events per connection")
	flag.Parse()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Fprintln(os.Stderr, "micro:", err)
		os.Exit(1)
	}
	serve := natural
	if *mode == "raw" {
		serve = raw
	}
	fmt.Printf("ready http://%s\n", ln.Addr())
	err = http.Serve(ln, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		if err := serve(w, *every, *events); err != nil {
			fmt.Fprintln(os.Stderr, "micro:", err)
		}
	}))
	fmt.Fprintln(os.Stderr, "micro:", err)
	os.Exit(1)
}

var data = event.TextData("East leads with a third of all sales. ")

// frame is an event of the usual size.
func frame(dst []byte, seq int) []byte {
	dst = append(dst, "id: "...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	dst = append(dst, "\nevent: text_delta\ndata: {\"v\":1,\"msgId\":\"m_0198c0de-0000-7000-8000-000000000001\",\"seq\":"...)
	dst = strconv.AppendInt(dst, int64(seq), 10)
	dst = append(dst, `,"data":`...)
	dst = append(dst, data...)
	return append(dst, "}\n\n"...)
}

func natural(rw http.ResponseWriter, every time.Duration, events int) error {
	w, err := sse.Start(rw, sse.Options{})
	if err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for i := range events {
		<-tick.C
		if err := w.Append(func(dst []byte) ([]byte, error) { return frame(dst, i), nil }); err != nil {
			break
		}
	}
	_, err = w.Close()
	return err
}

func raw(rw http.ResponseWriter, every time.Duration, events int) error {
	conn, _, err := http.NewResponseController(rw).Hijack()
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n")); err != nil {
		return err
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	var buf []byte
	for i := range events {
		<-tick.C
		buf = frame(buf[:0], i)
		if _, err := conn.Write(buf); err != nil {
			return err
		}
	}
	return nil
}
