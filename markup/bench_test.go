package markup

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// benchmark scans a text in pieces of so many characters and reports the time
// for each byte: the numbers of one run are to be compared with each other.
func benchmark(b *testing.B, cfg Config, text string, size int) {
	b.Helper()
	var pieces [][]byte
	for rest := []byte(text); len(rest) > 0; {
		n := len(rest)
		if size > 0 {
			n = 0
			for range size {
				_, k := utf8.DecodeRune(rest[n:])
				n += k
			}
		}
		pieces = append(pieces, rest[:n])
		rest = rest[n:]
	}
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	events := 0
	sink := func(Event) { events++ }
	kept := 0
	for b.Loop() {
		s := NewScanner(cfg, sink)
		for _, p := range pieces {
			s.Push(p)
		}
		kept = s.retained() - len(s.src)
		s.Close(Stop)
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(text)), "ns/byte")
	b.ReportMetric(float64(events)/float64(b.N), "events/op")
	b.ReportMetric(float64(kept), "kept-B")
}

func sizes() []int { return []int{8 << 10, 32 << 10, 1 << 20} }

// BenchmarkAnswer is a likely mixture in pieces of four characters: time for
// each byte must not grow with the text, and allocations stay below events.
func BenchmarkAnswer(b *testing.B) {
	for _, n := range sizes() {
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) { benchmark(b, allOn(), answer(n), 4) })
	}
}

// BenchmarkAnswerPieces is the mixture in pieces of other sizes.
func BenchmarkAnswerPieces(b *testing.B) {
	text := answer(32 << 10)
	for _, size := range []int{1, 64, 0} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmark(b, allOn(), text, size) })
	}
}

// BenchmarkProse is what hostile texts are compared with.
func BenchmarkProse(b *testing.B) {
	for _, size := range []int{1, 4} {
		b.Run(fmt.Sprint(size), func(b *testing.B) { benchmark(b, allOn(), prose(32<<10), size) })
	}
}

// BenchmarkHostile are texts made to cost much: none may cost more than five
// times as much for a byte as prose in pieces of the same size.
func BenchmarkHostile(b *testing.B) {
	for name, text := range hostileInputs(32 << 10) {
		for _, size := range []int{1, 4} {
			b.Run(fmt.Sprintf("%s/%d", strings.ReplaceAll(name, " ", "-"), size), func(b *testing.B) {
				cfg := allOn()
				cfg.Holdback = 256
				benchmark(b, cfg, text, size)
			})
		}
	}
}

// BenchmarkJSONStream is an open body in pieces of four bytes.
func BenchmarkJSONStream(b *testing.B) {
	for _, n := range []int{8 << 10, 64 << 10} {
		var body strings.Builder
		body.WriteString(`{"items":[`)
		for i := 0; body.Len() < n; i++ {
			if i > 0 {
				body.WriteByte(',')
			}
			fmt.Fprintf(&body, `{"id":"p-%d","title":"手表 for running","price":%d,"tags":["a","b"]}`, i, i)
		}
		body.WriteString(`]}`)
		text := []byte(body.String())
		b.Run(fmt.Sprintf("%dKiB", n>>10), func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			b.ReportAllocs()
			for b.Loop() {
				j := NewJSONStream()
				for at := 0; at < len(text); at += 4 {
					if _, err := j.Push(text[at:min(at+4, len(text))]); err != nil {
						b.Fatal(err)
					}
				}
				if _, err := j.Close(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
